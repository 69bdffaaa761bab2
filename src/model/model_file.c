/* Models as .ferry files. The library's own parts have names that begin with "ferry.", the
 * rest belongs to the method (docs/model-file.md). A file is untrusted:
 * whatever it says is checked before it is used. */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "model/model.h"

/* ---- saving ---- */

/* Settings as JSON text under a name. JSON needs UTF-8. */
static ferry_status pack_opts(ferry_ctx *ctx, ferry_dict *dict, const char *name,
                              const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    json_t *object = json_object();
    char *text = NULL;

    FERRY_HAVE(ctx, object);
    for (int64_t i = 0; ferry_opts_at(opts, i); i++) {
        const ferry_setting *s = ferry_opts_at(opts, i);
        FERRY_NEED(ctx, json_object_set_new(object, s->key, json_string(s->value)) == 0,
                   FERRY_EINVAL, "cannot save option %s: not UTF-8 text", s->key);
    }
    FERRY_TRY(ferry_i_json_dump(ctx, object, JSON_COMPACT, &text));
    FERRY_TRY(ferry_i_dict_put_text(ctx, dict, name, text));
done:
    ferry_i_free(text);
    json_decref(object);
    return st;
}

/* "ferry.view.I.PART" */
static const char *part_name(char buf[64], int64_t i, const char *part)
{
    (void)snprintf(buf, 64, "ferry.view.%lld.%s", (long long)i, part);
    return buf;
}

/* Names and columns of all views as two tensors, the rest of a view under its number. */
static ferry_status pack_views(ferry_ctx *ctx, const ferry_model *m, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = ferry_i_ids_new();
    int64_t *cols = ferry_i_calloc(m->n_views, sizeof *cols);
    char buf[64];

    FERRY_HAVE(ctx, names && cols);
    for (int64_t i = 0; i < m->n_views; i++) {
        const ferry_view *v = m->views[i];
        cols[i] = v->x->cols;
        FERRY_HAVE(ctx, ferry_i_ids_add(names, v->name, NULL) >= 0);
        if (v->features)
            FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, part_name(buf, i, "features"),
                                           v->features));
        if (v->read) FERRY_TRY(pack_opts(ctx, dict, part_name(buf, i, "read"), v->read));
        if (v->idf)
            FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, part_name(buf, i, "idf"), 1,
                                             cols[i], v->idf));
    }
    FERRY_TRY(ferry_i_dict_put_ids(ctx, dict, "ferry.views", names));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "ferry.columns", m->n_views, cols));
done:
    ferry_i_ids_free(names);
    ferry_i_free(cols);
    return st;
}

ferry_status ferry_i_method_save(ferry_ctx *ctx, const ferry_method *method,
                                 const void *state, ferry_dict *dict)
{
    return ferry_i_io_save(ctx, method->file, state, dict);
}

ferry_status ferry_i_method_load(ferry_ctx *ctx, const ferry_method *method,
                                 const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    void *s = ferry_i_calloc(1, method->state_size);

    *state = NULL;
    FERRY_HAVE(ctx, s);
    if (method->next) *(const struct method **)s = method->next; /* methods/frame.h */
    FERRY_TRY(ferry_i_io_load(ctx, method->file, dict, s));
    FERRY_MOVE(*state, s);
done:
    method->free(s);
    return st;
}

/* The library's part first, then whatever the method says. */
ferry_status ferry_i_model_pack(ferry_ctx *ctx, const ferry_model *m, ferry_dict *dict)
{
    if (!m->method->file)
        return ferry_i_fail(ctx, FERRY_EINVAL, "models of %s cannot be saved",
                            m->method->name);
    FERRY_PASS(ferry_i_dict_put_text(ctx, dict, "ferry.method", m->method->name));
    FERRY_PASS(ferry_i_dict_put_text(ctx, dict, "ferry.goal", ferry_goal_name(m->goal)));
    FERRY_PASS(pack_opts(ctx, dict, "ferry.options", m->opts));
    FERRY_PASS(ferry_i_dict_put_text(ctx, dict, "ferry.diagnostics", m->diagnostics));
    if (m->names) FERRY_PASS(ferry_i_dict_put_ids(ctx, dict, "ferry.names", m->names));
    FERRY_PASS(pack_views(ctx, m, dict));
    if (m->inputs)
        FERRY_PASS(ferry_i_dict_put_reals(ctx, dict, "ferry.inputs", 3,
                                          m->views[0]->x->cols, m->inputs));
    return ferry_i_method_save(ctx, m->method, m->state, dict);
}

/* The dict first, then the bytes in one go, to a file (path) or to memory: a state that cannot be
 * packed leaves no file. */
static ferry_status save(ferry_ctx *ctx, const ferry_model *model, const char *path,
                         char **out, int64_t *n)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;
    const char *what = path ? path : "memory";

    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    st = ferry_i_model_pack(ctx, model, dict);
    if (st != FERRY_OK) (void)ferry_i_prefix(ctx, st, "%s", what);
    if (st == FERRY_OK)
        st = path ? ferry_i_dict_save(ctx, dict, path)
                  : ferry_i_dict_print(ctx, dict, what, out, n);
done:
    ferry_i_dict_free(dict);
    return st;
}

ferry_status ferry_model_save(ferry_ctx *ctx, const ferry_model *model, const char *path)
{
    FERRY_ARGS(ctx, model, path);
    return save(ctx, model, path, NULL, NULL);
}

ferry_status ferry_model_to_memory(ferry_ctx *ctx, const ferry_model *model, char **out,
                                   int64_t *n)
{
    FERRY_ARGS_OUT(ctx, out, out, model, n);
    return save(ctx, model, NULL, out, n);
}

/* ---- loading ---- */

/* Settings from JSON text; a missing text gives NULL. */
static ferry_status unpack_opts(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                ferry_opts **out)
{
    ferry_status st = FERRY_OK;
    const char *text = ferry_i_dict_text(dict, name);
    json_t *json = NULL;

    *out = NULL;
    if (!text) return FERRY_OK;
    FERRY_TRY(ferry_i_json_parse(ctx, text, (int64_t)strlen(text), JSON_REJECT_DUPLICATES,
                                 NULL, &json));
    FERRY_NEED(ctx, json_is_object(json), FERRY_EDATA, "'%s' is not a JSON object", name);
    FERRY_TRY(ferry_i_opts_from_json(ctx, json, out));
done:
    json_decref(json);
    return st;
}

/* Reader options are checked now, so that reading new data cannot fail on them. */
static ferry_status unpack_read(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                ferry_opts **out)
{
    ferry_read_settings settings;

    FERRY_PASS(unpack_opts(ctx, dict, name, out));
    if (*out)
        FERRY_PASS(ferry_i_opts_parse(ctx, name, ferry_i_read_table, ferry_i_read_table_n,
                                      *out, &settings));
    return FERRY_OK;
}

/* Parts that are absent are absent in the view: not every view has names or weights. */
static ferry_status unpack_view(ferry_ctx *ctx, const ferry_dict *dict, int64_t i,
                                const char *name, int64_t cols, ferry_model *m)
{
    ferry_status st = FERRY_OK;
    ferry_ids *features = NULL;
    ferry_opts *read = NULL;
    const double *idf = NULL;
    char buf[64];

    FERRY_NEED(ctx, cols >= 0 && cols <= INT32_MAX, FERRY_EDATA,
               "view '%s' has %lld columns", name, (long long)cols);
    if (ferry_i_dict_has(dict, part_name(buf, i, "features"))) {
        FERRY_TRY(ferry_i_dict_ids(ctx, dict, buf, &features));
        FERRY_NEED(ctx, ferry_i_ids_count(features) == cols, FERRY_EDATA,
                   "view '%s' has %lld columns and %lld feature names", name,
                   (long long)cols, (long long)ferry_i_ids_count(features));
    }
    FERRY_TRY(unpack_read(ctx, dict, part_name(buf, i, "read"), &read));
    if (ferry_i_dict_has(dict, part_name(buf, i, "idf"))) {
        int64_t one = 1;
        FERRY_TRY(ferry_i_dict_reals(ctx, dict, buf, &one, &cols, &idf));
    }
    FERRY_TRY(ferry_i_model_add_view(ctx, m, name, cols, features, read, idf));
done:
    ferry_i_ids_free(features);
    ferry_opts_free(read);
    return st;
}

/* As many columns as names, or the file is wrong. */
static ferry_status unpack_views(ferry_ctx *ctx, const ferry_dict *dict, ferry_model *m)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = NULL;
    const int64_t *cols = NULL;

    FERRY_TRY(ferry_i_dict_ids(ctx, dict, "ferry.views", &names));
    int64_t n = ferry_i_ids_count(names);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "ferry.columns", &n, &cols));
    for (int64_t i = 0; i < n; i++)
        FERRY_TRY(unpack_view(ctx, dict, i, ferry_i_ids_at(names, i), cols[i], m));
done:
    ferry_i_ids_free(names);
    return st;
}

/* What the inputs looked like at fit, where the file says. */
static ferry_status unpack_inputs(ferry_ctx *ctx, const ferry_dict *dict, ferry_model *m)
{
    ferry_status st = FERRY_OK;
    const double *inputs = NULL;
    int64_t three = 3;

    if (m->n_views != 1 || !ferry_i_dict_has(dict, "ferry.inputs")) goto done;
    int64_t cols = m->views[0]->x->cols;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "ferry.inputs", &three, &cols, &inputs));
    FERRY_NEW(ctx, m->inputs, 3 * cols);
    if (cols > 0) memcpy(m->inputs, inputs, (size_t)(3 * cols) * sizeof *inputs);
done:
    return st;
}

static bool has_option(const ferry_method *m, const char *name)
{
    for (int64_t i = 0; i < m->n_options; i++)
        if (strcmp(m->options[i].name, name) == 0) return true;
    return false;
}

/* A file of 0.2 may name a mode, which is a method of its own now: *method. Of the options those that it has stay; the
 * others were of other modes. */
static ferry_status unpack_mode(ferry_ctx *ctx, const ferry_method **method,
                                ferry_opts **opts)
{
    ferry_status st = FERRY_OK;
    const char *mode = *opts ? ferry_opts_get(*opts, "mode") : NULL;
    ferry_opts *own = NULL;
    char name[128];

    if (!mode || has_option(*method, "mode")) return FERRY_OK;
    (void)snprintf(name, sizeof name, "%s-%s", (*method)->name, mode);
    if (strcmp(mode, "ferry") != 0 && strcmp(mode, "fleet") != 0)
        *method = ferry_i_method_find(name);
    FERRY_NEED(ctx, *method, FERRY_EDATA,
               "is a model of method '%s', which ferry %s does not have", name,
               ferry_version());
    FERRY_TRY(ferry_opts_new(ctx, &own));
    for (int64_t i = 0; ferry_opts_at(*opts, i); i++) {
        const ferry_setting *s = ferry_opts_at(*opts, i);
        if (has_option(*method, s->key))
            FERRY_TRY(ferry_opts_set(ctx, own, s->key, s->value));
    }
    ferry_opts_free(*opts);
    FERRY_MOVE(*opts, own);
done:
    ferry_opts_free(own);
    return st;
}

/* The method, which must be the wanted one (if any) and one that we have, and its options. */
static ferry_status unpack_method(ferry_ctx *ctx, const ferry_dict *dict,
                                  const char *wanted, const ferry_method **out,
                                  ferry_opts **opts)
{
    ferry_status st = FERRY_OK;
    const char *name = ferry_i_dict_text(dict, "ferry.method");

    *out = NULL;
    FERRY_NEED(ctx, !ferry_i_dict_text(dict, "ferry.kind"), FERRY_EDATA,
               "is no model but a %s", ferry_i_dict_text(dict, "ferry.kind"));
    FERRY_NEED(ctx, name, FERRY_EDATA, "is corrupt: says no method");
    *out = ferry_i_method_find(name);
    FERRY_NEED(ctx, *out && (*out)->file, FERRY_EDATA,
               "is a model of method '%s', which ferry %s does not have", name,
               ferry_version());
    FERRY_TRY(unpack_opts(ctx, dict, "ferry.options", opts));
    FERRY_TRY(unpack_mode(ctx, out, opts));
    FERRY_NEED(ctx, !wanted || strcmp((*out)->name, wanted) == 0, FERRY_EDATA,
               "is a model of method '%s', expected '%s'", (*out)->name, wanted);
    for (int64_t i = 0; ferry_opts_at(*opts, i); i++) /* an earlier version's */
        FERRY_NEED(
            ctx, has_option(*out, ferry_opts_at(*opts, i)->key), FERRY_EDATA,
            "is a model of %s with the option %s, which ferry %s does not have: fit it "
            "again",
            (*out)->name, ferry_opts_at(*opts, i)->key, ferry_version());
done:
    return st;
}

/* Goals are bits, in files they are words. */
static ferry_status unpack_goal(ferry_ctx *ctx, const ferry_dict *dict,
                                const ferry_method *method, ferry_goal *out)
{
    ferry_status st = FERRY_OK;
    const char *name = ferry_i_dict_text(dict, "ferry.goal");
    unsigned bit = FERRY_CLASSIFY;

    FERRY_NEED(ctx, name, FERRY_EDATA, "is corrupt: says no goal");
    while (bit <= FERRY_STREAM && strcmp(ferry_goal_name((ferry_goal)bit), name) != 0)
        bit *= 2;
    FERRY_NEED(ctx, bit & method->goals, FERRY_EDATA,
               "is corrupt: its goal is '%s', which method '%s' does not serve", name,
               method->name);
    *out = (ferry_goal)bit;
done:
    return st;
}

/* Kept as text, but it must be what its readers expect: an object. */
static ferry_status unpack_diagnostics(ferry_ctx *ctx, const ferry_dict *dict,
                                       ferry_model *m)
{
    ferry_status st = FERRY_OK;
    const char *text = ferry_i_dict_text(dict, "ferry.diagnostics");
    json_t *json = NULL;

    if (text)
        FERRY_TRY(ferry_i_json_parse(ctx, text, (int64_t)strlen(text), 0, NULL, &json));
    FERRY_NEED(ctx, json_is_object(json), FERRY_EDATA,
               "is corrupt: its diagnostics are not a JSON object");
    FERRY_TRY(ferry_i_model_set_diagnostics(ctx, m, json));
done:
    json_decref(json);
    return st;
}

/* The method decides how its tensors are read, so it comes first. */
static ferry_status unpack(ferry_ctx *ctx, const ferry_dict *dict, const char *wanted,
                           ferry_model **out)
{
    ferry_status st = FERRY_OK;
    const ferry_method *method = NULL;
    ferry_goal goal = FERRY_CLASSIFY;
    ferry_opts *opts = NULL;
    ferry_ids *names = NULL;
    ferry_model *m = NULL;

    FERRY_TRY(unpack_method(ctx, dict, wanted, &method, &opts));
    FERRY_TRY(unpack_goal(ctx, dict, method, &goal));
    if (ferry_i_goal_named(goal))
        FERRY_TRY(ferry_i_dict_ids(ctx, dict, "ferry.names", &names));
    FERRY_TRY(ferry_i_model_new(ctx, method, opts, goal, names, &m));
    FERRY_TRY(unpack_diagnostics(ctx, dict, m));
    FERRY_TRY(unpack_views(ctx, dict, m));
    FERRY_TRY(unpack_inputs(ctx, dict, m));
    FERRY_TRY(ferry_i_method_load(ctx, method, dict, &m->state));
    FERRY_MOVE(*out, m);
done:
    ferry_model_free(m);
    ferry_i_ids_free(names);
    ferry_opts_free(opts);
    return st;
}

/* `what` is mostly a path; messages inside begin with "is ..." or name a tensor. */
ferry_status ferry_i_model_unpack(ferry_ctx *ctx, const char *what, const ferry_dict *dict,
                                  const char *method, ferry_model **out)
{
    *out = NULL;
    const ferry_status st = unpack(ctx, dict, method, out);
    /* A bad option or number in a file is bad input, whatever it would be in a call. */
    const ferry_status code = st == FERRY_OK || st == FERRY_ENOMEM ? st : FERRY_EDATA;
    return code == FERRY_OK ? code : ferry_i_prefix(ctx, code, "%s", what);
}

/* From a file, or from n bytes when path is NULL. */
static ferry_status load(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                         const char *method, ferry_model **out)
{
    ferry_status st = FERRY_OK;
    ferry_dict *dict = NULL;
    const char *what = path ? path : "memory";

    FERRY_TRY(path ? ferry_i_dict_load(ctx, path, &dict)
                   : ferry_i_dict_parse(ctx, what, (const uint8_t *)bytes, n, &dict));
    FERRY_TRY(ferry_i_model_unpack(ctx, what, dict, method, out));
done:
    ferry_i_dict_free(dict);
    return st;
}

ferry_status ferry_model_load(ferry_ctx *ctx, const char *path, const char *method,
                              ferry_model **out)
{
    FERRY_ARGS_OUT(ctx, out, out, path);
    return load(ctx, path, NULL, 0, method, out);
}

ferry_status ferry_model_from_memory(ferry_ctx *ctx, const char *bytes, int64_t n,
                                     const char *method, ferry_model **out)
{
    FERRY_ARGS_OUT(ctx, out, out, bytes);
    if (n < 0)
        return ferry_i_fail(ctx, FERRY_EINVAL, "a model of %lld bytes", (long long)n);
    return load(ctx, NULL, bytes, n, method, out);
}
