/* A selector as a .ferry file: tensors in the safetensors layout, like a model's. */
#include <math.h>
#include <string.h>

#include "select/select.h"
#include "state/dict.h"

/* In the order of the fields of select_trust, which is copied as an array of doubles. */
static const char *const trust_names[] = {
    "domains",     "triples", "positive", "direct", "gain",   "gain_sd",    "accuracy",
    "accuracy_sd", "auc",     "again",    "both",   "chance", "correlation"};
enum { N_TRUST = sizeof(select_trust) / sizeof(double) };
_Static_assert(FERRY_COUNT(trust_names) == N_TRUST, "every number of the trust has a name");

static void free_dict(void *dict)
{
    ferry_i_dict_free(dict);
}

typedef struct saving {
    const ferry_selector *s;
    const char *path;
} saving;

/* Numbers that could not be measured are left out of the file, which holds finite ones. */
static void save_body(scope *s, void *arg)
{
    const ferry_selector *from = ((const saving *)arg)->s;
    const select_options *o = &from->o;
    const double settings[] = {
        (double)o->sample, (double)o->neighbours, o->t, o->tail, o->C, o->propagation};
    const struct {
        const char *name;
        int64_t n;
        const double *at;
    } rows[] = {{"settings", FERRY_COUNT(settings), settings},
                {"beta", SELECT_FEATURES + 1, from->m.beta},
                {"mean", SELECT_FEATURES, from->m.mean},
                {"sd", SELECT_FEATURES, from->m.sd}};
    ferry_ctx *ctx = scope_ctx(s);
    ferry_dict *dict = NULL;
    double trust[N_TRUST];

    memcpy(trust, &from->trust, sizeof trust); /* doubles and nothing else: counted above */
    scope_check(s, ferry_i_dict_new(ctx, &dict));
    scope_defer(s, free_dict, dict);
    scope_check(s, ferry_i_dict_put_text(ctx, dict, "ferry.kind", "selector"));
    scope_check(s, ferry_i_dict_put_text(ctx, dict, "ferry.version", ferry_version()));
    scope_check(s, ferry_i_dict_put_text(ctx, dict, "view", o->view));
    for (int64_t i = 0; i < FERRY_COUNT(rows); i++)
        scope_check(
            s, ferry_i_dict_put_reals(ctx, dict, rows[i].name, 1, rows[i].n, rows[i].at));
    for (int64_t i = 0; i < N_TRUST; i++)
        if (isfinite(trust[i]))
            scope_check(s, ferry_i_dict_put_reals(ctx, dict,
                                                  scope_text(s, "trust.%s", trust_names[i]),
                                                  1, 1, &trust[i]));
    scope_check(s, ferry_i_dict_save(ctx, dict, ((const saving *)arg)->path));
}

ferry_status ferry_i_selector_save(ferry_ctx *ctx, const ferry_selector *s,
                                   const char *path)
{
    FERRY_ARGS(ctx, s, path);
    return scope_run(ctx, save_body, &(saving){s, path});
}

/* n finite numbers by name. */
static void read_row(scope *s, const ferry_dict *dict, const char *name, int64_t n,
                     double *to)
{
    const double *data = NULL;
    int64_t rows = 1;

    scope_check(s, ferry_i_dict_reals(scope_ctx(s), dict, name, &rows, &n, &data));
    memcpy(to, data, (size_t)n * sizeof *to);
}

typedef struct unpacking {
    const ferry_dict *dict;
    ferry_selector *to;
} unpacking;

/* A selector computes with its settings as given: each is checked against the range that training allows. Of the trust
 * what is absent was not measured. Whole numbers were saved as doubles, exactly: they are below 2^53. */
static void unpack(scope *s, void *arg)
{
    const unpacking *u = arg;
    const ferry_dict *dict = u->dict;
    ferry_selector *to = u->to;
    const char *kind = ferry_i_dict_text(dict, "ferry.kind"),
               *view = ferry_i_dict_text(dict, "view");
    double v[6], trust[N_TRUST];

    if (!kind || strcmp(kind, "selector") != 0)
        scope_fail(s, FERRY_EDATA, "is no selector (ferry select -o FILE makes one)");
    read_row(s, dict, "settings", 6, v);
    if (!(v[0] >= 4 && v[0] <= 1e6 && v[1] >= 1 && v[1] <= 1000 && v[3] >= 0 && v[3] <= 1 &&
          v[4] >= 1e-9 && v[4] <= 1e9 && (v[5] == 0 || v[5] == 1)))
        scope_fail(s, FERRY_EDATA, "is corrupt: tensor settings is out of range");
    if (!view) scope_fail(s, FERRY_EDATA, "is corrupt: says no view");
    to->o = (select_options){.sample = (int64_t)v[0],
                             .neighbours = (int64_t)v[1],
                             .t = v[2],
                             .tail = v[3],
                             .C = v[4],
                             .propagation = (int)v[5],
                             .view = scope_text(to->keep, "%s", view)};
    read_row(s, dict, "beta", SELECT_FEATURES + 1, to->m.beta);
    read_row(s, dict, "mean", SELECT_FEATURES, to->m.mean);
    read_row(s, dict, "sd", SELECT_FEATURES, to->m.sd);
    for (int j = 0; j < SELECT_FEATURES; j++)
        if (!(to->m.sd[j] > 0))
            scope_fail(s, FERRY_EDATA, "is corrupt: a deviation is not above 0");
    for (int64_t i = 0; i < N_TRUST; i++) {
        const char *name = scope_text(s, "trust.%s", trust_names[i]);
        trust[i] = NAN;
        if (ferry_i_dict_has(dict, name)) read_row(s, dict, name, 1, &trust[i]);
    }
    memcpy(&to->trust, trust, sizeof trust);
}

/* Messages of unpack begin with "is ..." and get the path in front. */
static void load_body(scope *s, void *arg)
{
    select_making *a = arg;
    ferry_dict *dict = NULL;

    scope_bind(a->keep, s);
    a->selector = NEW(a->keep, ferry_selector, 1);
    a->selector->keep = a->keep;
    scope_check(s, ferry_i_dict_load(scope_ctx(s), a->path, &dict));
    scope_defer(s, free_dict, dict);
    const ferry_status st = scope_try(s, NULL, unpack, &(unpacking){dict, a->selector});
    if (st != FERRY_OK) scope_check(s, ferry_i_prefix(scope_ctx(s), st, "%s", a->path));
}

ferry_status ferry_i_selector_load(ferry_ctx *ctx, const char *path, ferry_selector **out)
{
    FERRY_ARGS_OUT(ctx, out, out, path);

    select_making a = {.path = path};
    const ferry_status st = select_make(ctx, load_body, &a);
    *out = a.selector;
    return st;
}
