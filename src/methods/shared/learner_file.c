/* A learner as tensors of a model: "<prefix>.form" says what it is, "<prefix>.w" has its
 * weights, "<prefix>.x", ".labels" and ".weight" the rows of nearest neighbours. */
#include "methods/shared/learner_file.h"

#include <stdio.h>
#include <string.h>

typedef char tensor_name[64];

/* "PREFIX.PART". Prefixes are ours and short; a longer one would be cut, not overrun. */
static const char *named(tensor_name name, const char *prefix, const char *part)
{
    (void)snprintf(name, sizeof(tensor_name), "%s.%s", prefix, part);
    return name;
}

/* knn: the rows it keeps; classes as 64-bit numbers, as all integers in a file. */
static ferry_status save_rows(ferry_ctx *ctx, const ferry_learner *l, const char *prefix,
                              ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t n = l->x->rows;
    int64_t *wide = NULL;
    tensor_name name;

    FERRY_TRY(ferry_i_dict_put_matrix(ctx, dict, named(name, prefix, "x"), l->x));
    if (l->weight)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, named(name, prefix, "weight"), 1, n,
                                         l->weight));
    if (l->numbers) {
        FERRY_TRY(
            ferry_i_dict_put_reals(ctx, dict, named(name, prefix, "labels"), 1, n, l->num));
        goto done;
    }
    FERRY_NEW(ctx, wide, n);
    for (int64_t i = 0; i < n; i++)
        wide[i] = l->cls[i];
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, named(name, prefix, "labels"), n, wide));
done:
    ferry_i_free(wide);
    return st;
}

/* Linear models keep k x (d + 1) weights, a constant for each output. "seen" says which
 * classes had an instance at fit: a class without one must not win by its zero weights. */
ferry_status ferry_i_learner_save(ferry_ctx *ctx, const ferry_learner *l,
                                  const char *prefix, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t form[] = {l->kind, l->numbers, l->k, l->d, l->neighbours};
    tensor_name name;

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, named(name, prefix, "form"), 5, form));
    if (l->kind == FERRY_LEARNER_KNN)
        FERRY_TRY(save_rows(ctx, l, prefix, dict));
    else
        FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, named(name, prefix, "w"), l->k,
                                         l->d + 1, l->lin ? l->lin->w : l->w));
    if (l->lin)
        FERRY_TRY(ferry_i_dict_put_bytes(ctx, dict, named(name, prefix, "seen"), l->k,
                                         l->lin->seen));
done:
    return st;
}

/* A class beyond k would write outside the scores. */
static ferry_status load_labels(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                ferry_learner *l)
{
    ferry_status st = FERRY_OK;
    const int64_t *wide = NULL;
    int64_t n = l->x->rows;

    if (l->numbers) return ferry_i_dict_reals_copy(ctx, dict, name, 1, n, &l->num);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, name, &n, &wide));
    FERRY_NEW(ctx, l->cls, n);
    for (int64_t i = 0; i < n; i++) {
        FERRY_NEED(ctx, 0 <= wide[i] && wide[i] < l->k, FERRY_EDATA,
                   "tensor %s: entry %lld is %lld, not in [0, %lld)", name, (long long)i,
                   (long long)wide[i], (long long)l->k);
        l->cls[i] = (int32_t)wide[i];
    }
done:
    return st;
}

/* The counterpart of save_rows. More neighbours than rows would read past the rows. */
static ferry_status load_rows(ferry_ctx *ctx, const ferry_dict *dict, const char *prefix,
                              ferry_learner *l)
{
    ferry_status st = FERRY_OK;
    tensor_name name;

    FERRY_TRY(ferry_i_dict_matrix(ctx, dict, named(name, prefix, "x"), &l->x));
    const int64_t n = l->x->rows;
    FERRY_NEED(ctx, l->x->cols == l->d && 1 <= l->neighbours && l->neighbours <= n,
               FERRY_EDATA, "tensor %s is %lld x %lld, which does not go with %s.form",
               name, (long long)n, (long long)l->x->cols, prefix);
    if (ferry_i_dict_has(dict, named(name, prefix, "weight")))
        FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, name, 1, n, &l->weight));
    FERRY_TRY(load_labels(ctx, dict, named(name, prefix, "labels"), l));
done:
    return st;
}

/* Ridge keeps its weights in the learner itself, logistic regression in a ferry_linear. */
static ferry_status load_weights(ferry_ctx *ctx, const ferry_dict *dict, const char *prefix,
                                 ferry_learner *l)
{
    ferry_status st = FERRY_OK;
    const bool ridge = l->kind == FERRY_LEARNER_RIDGE;
    const uint8_t *seen = NULL;
    int64_t k = l->k;
    tensor_name name;

    if (!ridge) {
        FERRY_TRY(ferry_i_dict_bytes(ctx, dict, named(name, prefix, "seen"), &k, &seen));
        FERRY_NEW(ctx, l->lin, 1);
        *l->lin = (ferry_linear){.kind = FERRY_LINEAR_LOGREG, .k = k, .d = l->d};
        FERRY_NEW(ctx, l->lin->seen, k);
        memcpy(l->lin->seen, seen, (size_t)k);
    }
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, named(name, prefix, "w"), k, l->d + 1,
                                      ridge ? &l->w : &l->lin->w));
done:
    return st;
}

/* "form" first: it says which tensors there must be and how large. */
ferry_status ferry_i_learner_load(ferry_ctx *ctx, const ferry_dict *dict,
                                  const char *prefix, ferry_learner **out)
{
    ferry_status st = FERRY_OK;
    const int64_t *form = NULL;
    int64_t five = 5;
    ferry_learner *l = NULL;
    tensor_name name;

    *out = NULL;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, named(name, prefix, "form"), &five, &form));
    FERRY_NEED(ctx,
               /* Numbers have one output, and logistic regression has none for them. */
               FERRY_LEARNER_KNN <= form[0] && form[0] <= FERRY_LEARNER_RIDGE &&
                   form[2] > 0 && form[3] > 0 && form[3] < INT32_MAX &&
                   (form[1] ? form[2] == 1 && form[0] != FERRY_LEARNER_LOGREG : true),
               FERRY_EDATA, "tensor %s describes no learner", name);
    FERRY_NEW(ctx, l, 1);
    l->kind = (ferry_learner_kind)form[0];
    l->numbers = form[1] != 0;
    l->k = form[2];
    l->d = form[3];
    l->neighbours = form[4];
    if (l->kind == FERRY_LEARNER_KNN)
        FERRY_TRY(load_rows(ctx, dict, prefix, l));
    else
        FERRY_TRY(load_weights(ctx, dict, prefix, l));
    FERRY_MOVE(*out, l);
done:
    ferry_i_learner_free(l);
    return st;
}
