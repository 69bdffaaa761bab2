/* A selector as a .ferry file: tensors in the safetensors layout, like a model's. */
#include <math.h>
#include <string.h>

#include "model/dict.h"
#include "select/select.h"

/* In the order of the fields of select_trust, which is copied as an array of doubles. */
static const char *const trust_names[] = {
    "domains",     "triples", "positive", "direct", "gain",   "gain_sd",    "accuracy",
    "accuracy_sd", "auc",     "again",    "both",   "chance", "correlation"};
enum { N_TRUST = sizeof(select_trust) / sizeof(double) };
_Static_assert(FERRY_COUNT(trust_names) == N_TRUST, "every number of the trust has a name");

/* Numbers that could not be measured are left out of the file, which holds finite ones. */
ferry_status ferry_selector_save(ferry_ctx *ctx, const ferry_selector *s, const char *path)
{
    FERRY_ARGS(ctx, s, path);

    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;
    const double settings[] = {
        (double)s->o.sample,     (double)s->o.neighbours, s->o.t, s->o.tail, s->o.C,
        (double)s->o.propagation};
    double trust[N_TRUST];

    /* select_trust is doubles and nothing else; the static assertion above counts them. */
    memcpy(trust, &s->trust, sizeof trust);
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_dict_put_text(ctx, dict, "ferry.kind", "selector"));
    FERRY_TRY(ferry_i_dict_put_text(ctx, dict, "ferry.version", ferry_version()));
    FERRY_TRY(ferry_i_dict_put_text(ctx, dict, "view", s->o.view));
    FERRY_TRY(
        ferry_i_dict_put_reals(ctx, dict, "settings", 1, FERRY_COUNT(settings), settings));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "beta", 1, SELECT_FEATURES + 1, s->m.beta));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "mean", 1, SELECT_FEATURES, s->m.mean));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "sd", 1, SELECT_FEATURES, s->m.sd));
    for (int64_t i = 0; i < N_TRUST; i++) {
        char name[40] = "trust.";
        strcat(name, trust_names[i]);
        if (isfinite(trust[i]))
            FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, name, 1, 1, &trust[i]));
    }
    FERRY_TRY(ferry_i_dict_save(ctx, dict, path));
done:
    ferry_i_dict_free(dict);
    return st;
}

/* n finite numbers by name. */
static ferry_status row(ferry_ctx *ctx, const ferry_dict *dict, const char *name, int64_t n,
                        double *to)
{
    ferry_status st = FERRY_OK;
    const double *data = NULL;
    int64_t rows = 1;

    FERRY_TRY(ferry_i_dict_reals(ctx, dict, name, &rows, &n, &data));
    memcpy(to, data, (size_t)n * sizeof *to);
done:
    return st;
}

/* What is absent was not measured. */
static ferry_status unpack_trust(ferry_ctx *ctx, const ferry_dict *dict, select_trust *out)
{
    ferry_status st = FERRY_OK;
    double trust[N_TRUST];

    for (int64_t i = 0; i < N_TRUST; i++) {
        char name[40] = "trust.";
        strcat(name, trust_names[i]);
        trust[i] = NAN;
        if (ferry_i_dict_has(dict, name)) FERRY_TRY(row(ctx, dict, name, 1, &trust[i]));
    }
    memcpy(out, trust, sizeof trust);
done:
    return st;
}

/* A selector computes with its settings as given: each is checked against the range that
 * training allows. */
static ferry_status unpack(ferry_ctx *ctx, const ferry_dict *dict, ferry_selector *s)
{
    ferry_status st = FERRY_OK;
    const char *kind = ferry_i_dict_text(dict, "ferry.kind");
    const char *view = ferry_i_dict_text(dict, "view");
    double v[6];

    FERRY_NEED(ctx, kind && strcmp(kind, "selector") == 0, FERRY_EDATA,
               "is no selector (ferry select -o FILE makes one)");
    FERRY_TRY(row(ctx, dict, "settings", 6, v));
    FERRY_NEED(ctx,
               v[0] >= 4 && v[0] <= 1e6 && v[1] >= 1 && v[1] <= 1000 && v[3] >= 0 &&
                   v[3] <= 1 && v[4] >= 1e-9 && v[4] <= 1e9 && (v[5] == 0 || v[5] == 1),
               FERRY_EDATA, "is corrupt: tensor settings is out of range");
    /* Whole numbers were saved as doubles, exactly: they are below 2^53. */
    s->o.sample = (int64_t)v[0];
    s->o.neighbours = (int64_t)v[1];
    s->o.t = v[2];
    s->o.tail = v[3];
    s->o.C = v[4];
    s->o.propagation = (int)v[5];
    FERRY_NEED(ctx, view, FERRY_EDATA, "is corrupt: says no view");
    FERRY_HAVE(ctx, s->o.view = ferry_i_strdup(view));
    FERRY_TRY(row(ctx, dict, "beta", SELECT_FEATURES + 1, s->m.beta));
    FERRY_TRY(row(ctx, dict, "mean", SELECT_FEATURES, s->m.mean));
    FERRY_TRY(row(ctx, dict, "sd", SELECT_FEATURES, s->m.sd));
    for (int j = 0; j < SELECT_FEATURES; j++)
        FERRY_NEED(ctx, s->m.sd[j] > 0, FERRY_EDATA,
                   "is corrupt: a deviation is not above 0");
    FERRY_TRY(unpack_trust(ctx, dict, &s->trust));
done:
    return st;
}

/* *out is new. Messages of unpack begin with "is ..." and get the path in front. */
ferry_status ferry_selector_load(ferry_ctx *ctx, const char *path, ferry_selector **out)
{
    FERRY_ARGS_OUT(ctx, out, out, path);

    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;
    ferry_selector *s = ferry_i_calloc(1, sizeof *s);

    FERRY_HAVE(ctx, s);
    FERRY_TRY(ferry_i_dict_load(ctx, path, &dict));
    st = unpack(ctx, dict, s);
    if (st != FERRY_OK) {
        st = ferry_i_prefix(ctx, st, "%s", path);
        goto done;
    }
    FERRY_MOVE(*out, s);
done:
    ferry_i_dict_free(dict);
    ferry_selector_free(s);
    return st;
}
