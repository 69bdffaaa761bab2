/* place: options, fit, descriptor (place.h has the problem). */
#include "methods/place/place.h"
#include "learn/pa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct place_options {
    int scale, name;
    int64_t neighbours, most;
    const char *prior;
} place_options;

enum { NAME_AUTO, NAME_ALWAYS };

static const ferry_opt place_opts[] = {
    FERRY_OPT_SCALE(place_options),
    FERRY_OPT_ONE_OF(place_options, name, "auto|always", "auto",
                     "classes without a label get their names: where the test on the seen "
                     "classes says that the source's geometry holds, or in any case"),
    FERRY_OPT(place_options, INT, neighbours, 10, 1, 1000,
              "nearest rows to which a row passes its label"),
    FERRY_OPT_STRING(place_options, prior, "",
                     "known shares of classes, \"cat=0.2,dog=0.1\"; the others share the "
                     "rest alike. Empty: all alike"),
    FERRY_OPT(place_options, INT, most, 20000, 100, 1e6,
              "rows among which labels spread; of more a sample is drawn and the others "
              "ask their nearest in it (cost grows with the square)"),
};

/* ---- what it applies to ---- */

/* has (k) <- whether domain d has a label of the class. */
static void classes_of(const ferry_domain *d, int64_t k, uint8_t *has)
{
    memset(has, 0, (size_t)k);
    for (int64_t i = 0; d->labels && i < d->labels->n; i++)
        if (ferry_i_labels_has(d->labels, i)) has[d->labels->cls[i]] = 1;
}

/* Some class that a source has and the target's labels do not. */
static ferry_status place_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const int64_t k = ferry_i_ids_count(task->names);
    const ferry_domain *t = NULL, *s = NULL;
    uint8_t *seen = NULL, *has = NULL;
    int64_t missing = 0;

    (void)options;
    FERRY_NEW(ctx, seen, k);
    FERRY_NEW(ctx, has, k);
    FERRY_TRY(ferry_i_task_target(ctx, task, &t));
    classes_of(t, k, seen);
    for (int64_t i = 0; (s = ferry_i_task_role(task, FERRY_SOURCE, i)); i++) {
        classes_of(s, k, has);
        for (int64_t c = 0; c < k; c++)
            missing += has[c] && !seen[c];
    }
    FERRY_NEED(ctx, missing > 0, FERRY_ENEEDS,
               "place is for classes that have no label in the target; here every class of "
               "the sources has one");
done:
    FERRY_FREE(seen, has);
    return st;
}

/* ---- options ---- */

/* share (k) <- what `prior` says: "name=share,...". Classes that it does not name share the
 * rest alike. */
static ferry_status parse_prior(ferry_ctx *ctx, const char *text, const ferry_ids *names,
                                double *share)
{
    ferry_status st = FERRY_OK;
    const int64_t k = ferry_i_ids_count(names);
    int64_t left = k;
    double rest = 1;
    char *copy = NULL, *at = NULL;

    for (int64_t c = 0; c < k; c++)
        share[c] = -1;
    FERRY_HAVE(ctx, copy = ferry_i_strdup(text));
    for (char *item = strtok_r(copy, ",", &at); item; item = strtok_r(NULL, ",", &at)) {
        char *equals = strrchr(item, '='), *end = NULL;
        const double x = equals ? strtod(equals + 1, &end) : NAN;
        FERRY_NEED(ctx, equals && end != equals + 1 && *end == 0 && x > 0 && x < 1,
                   FERRY_EINVAL,
                   "place: prior: expected NAME=SHARE with a share between 0 "
                   "and 1, not '%s'",
                   item);
        *equals = 0;
        while (*item == ' ')
            item++;
        const int64_t c = ferry_i_ids_find(names, item);
        FERRY_NEED(ctx, c >= 0 && share[c] < 0, FERRY_EINVAL, "place: prior: '%s' is %s",
                   item, c < 0 ? "no class" : "there twice");
        share[c] = x;
        rest -= x;
        left--;
    }
    FERRY_NEED(ctx, left == 0 || rest > 0, FERRY_EINVAL,
               "place: prior: the shares leave nothing for the other %lld classes",
               (long long)left);
    for (int64_t c = 0; c < k; c++)
        if (share[c] < 0) share[c] = rest / (double)left;
done:
    ferry_i_free(copy);
    return st;
}

/* ---- sources ---- */

/* One source's geometry over the target's rows. */
typedef struct guide {
    ferry_small *b;
    uint8_t *has;
    place_fit fit;
} guide;

static void guide_clear(guide *g)
{
    ferry_i_small_free(g->b);
    ferry_i_free(g->has);
    ferry_i_placing_fit_clear(&g->fit);
    *g = (guide){0};
}

static ferry_status guide_new(ferry_ctx *ctx, const ferry_rows *s, const place_rows *t,
                              guide *g)
{
    ferry_status st = FERRY_OK;
    place_axes a = {0};
    ferry_block *z = NULL;
    ferry_rng rng;

    FERRY_TRY(ferry_i_placing_axes(ctx, s, &a));
    FERRY_TRY(ferry_i_placing_project(ctx, s, &a, &z));
    const place_rows rows = {z, s->cls, t->k};
    FERRY_NEW(ctx, g->has, t->k);
    for (int64_t i = 0; i < s->n; i++)
        if (s->cls[i] >= 0) g->has[s->cls[i]] = 1;
    FERRY_TRY(ferry_i_placing_gram(ctx, &rows, &g->b));
    FERRY_TRY(ferry_i_placing_krige(ctx, t, g->b, g->has, &g->fit));
    ferry_i_rng_for(ctx, &rng, "place");
    FERRY_TRY(ferry_i_placing_test(ctx, g->b, &rng, &g->fit));
done:
    ferry_i_placing_axes_clear(&a);
    ferry_i_block_free(z);
    return st;
}

/* *best: the source with the largest R2; all are told. */
static ferry_status choose_source(ferry_ctx *ctx, const ferry_prepared *p,
                                  const place_rows *t, guide *best)
{
    ferry_status st = FERRY_OK;
    const char **name = NULL;
    double *r2 = NULL, *pv = NULL;
    int64_t n = p->n_sources, at = -1;
    guide g = {0};
    bool finish = false;

    FERRY_NEW(ctx, name, n);
    FERRY_NEW(ctx, r2, n);
    FERRY_NEW(ctx, pv, n);
    for (int64_t i = 0; i < n; i++) {
        FERRY_TRY(guide_new(ctx, &p->rows[i], t, &g));
        name[i] = p->rows[i].domain->name;
        r2[i] = g.fit.r2;
        pv[i] = g.fit.p;
        if (at < 0 || r2[i] > r2[at]) {
            const guide old = *best;
            *best = g;
            g = old;
            at = i;
        }
        guide_clear(&g);
        FERRY_TRY(ferry_i_progress(ctx, "place", i + 1, n + 2, NAN, &finish));
    }
    /* The best of n tests is n times as likely to be good by chance. */
    best->fit.p = fmin(1, best->fit.p * (double)n);
    ferry_i_diag_named(ctx, "R2", n, name, r2);
    ferry_i_diag_named(ctx, "p", n, name, pv);
    ferry_i_diag_text(ctx, "source", name[at]);
done:
    guide_clear(&g);
    FERRY_FREE(name, r2, pv);
    return st;
}

/* ---- may missing classes be named ---- */

typedef enum naming {
    PLACED, /* by name */
    APART,  /* the test failed: groups without names */
    NEVER   /* too few seen classes for a test: no row gets a missing class */
} naming;

static naming decide(ferry_ctx *ctx, const place_options *o, const place_fit *f)
{
    const bool enough = f->m >= PLACE_SEEN;
    const naming how = o->name == NAME_ALWAYS      ? PLACED
                       : !enough                   ? NEVER
                       : f->p <= 0.05 && f->r2 > 0 ? PLACED
                                                   : APART;

    ferry_i_diag_text(ctx, "naming",
                      how == PLACED  ? "placed"
                      : how == APART ? "set apart"
                                     : "not decided");
    if (how == NEVER)
        ferry_i_log(
            ctx, FERRY_WARN,
            "place: cannot be decided with %lld seen classes (%d are needed): no row "
            "gets a class without a label",
            (long long)f->m, PLACE_SEEN);
    if (how == APART)
        ferry_i_log(ctx, FERRY_WARN,
                    "place: the source's geometry does not hold for the seen classes (R2 "
                    "%.2f, p %.3f): rows of other classes are set apart as ?1, ?2, ... "
                    "without names",
                    f->r2, f->p);
    return how;
}

/* Means without the source's geometry, or without the missing classes altogether. */
static ferry_status forget_geometry(ferry_ctx *ctx, naming how, const place_rows *t,
                                    guide *g)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < g->b->rows; i++)
        for (int64_t j = 0; j < g->b->rows; j++)
            FERRY_AT(g->b, i, j) = i == j;
    for (int64_t c = 0; how == NEVER && c < t->k; c++)
        g->has[c] = g->has[c] && g->fit.count[c] > 0;
    ferry_i_placing_fit_clear(&g->fit);
    FERRY_TRY(ferry_i_placing_krige(ctx, t, g->b, g->has, &g->fit));
done:
    return st;
}

/* ---- answers ---- */

/* Shares of the classes, rows to sum 1, and the nearest mean where no label came. */
static void finish_answers(const place_rows *t, const place_fit *f, const double *share,
                           ferry_block *answer)
{
    for (int64_t i = 0; i < answer->rows; i++) {
        double *a = FERRY_ROW(answer, i), sum = 0;
        for (int64_t c = 0; c < t->k; c++) {
            a[c] = fmax(a[c], 0) * share[c] * (double)t->k;
            sum += a[c];
        }
        for (int64_t c = 0; sum > 0 && c < t->k; c++)
            a[c] /= sum;
        if (!(sum > 0)) a[ferry_i_placing_nearest(f, t->z->k, FERRY_ROW(t->z, i))] = 1;
    }
}

/* Steps 4 to 6 from the means; tells how many rows each class without a label got. */
static ferry_status answer_rows(ferry_ctx *ctx, const ferry_task *task,
                                const place_options *o, const place_rows *t, place_fit *f,
                                place_model *m)
{
    ferry_status st = FERRY_OK;
    int64_t *row = NULL, seeds = 0, n = 0;
    int32_t *cls = NULL;
    double *share = NULL, *got = NULL;
    const char **name = NULL;

    FERRY_NEW(ctx, share, t->k);
    FERRY_NEW(ctx, got, t->k);
    FERRY_NEW(ctx, name, t->k);
    FERRY_TRY(parse_prior(ctx, o->prior, task->names, share));
    FERRY_TRY(ferry_i_placing_lloyd(ctx, t, f));
    FERRY_TRY(ferry_i_placing_seeds(ctx, t, f, &row, &cls, &seeds));
    FERRY_TRY(ferry_i_block_new(ctx, t->z->rows, t->k, &m->answer));
    FERRY_TRY(ferry_i_placing_spread(ctx, t, o->neighbours, seeds, row, cls, &m->width,
                                     m->answer));
    finish_answers(t, f, share, m->answer);
    for (int64_t c = 0; c < t->k; c++) {
        if (f->count[c] > 0 || !f->known[c]) continue;
        for (int64_t i = 0; i < t->z->rows; i++)
            got[n] += ferry_i_argmax(t->k, FERRY_ROW(m->answer, i)) == c;
        name[n++] = ferry_i_ids_at(task->names, c);
    }
    if (n > 0) ferry_i_diag_named(ctx, "rows_placed", n, name, got);
done:
    FERRY_FREE(row, cls, share, got, name);
    return st;
}

/* ---- fit ---- */

/* The target's rows on their axes, at most `most` of them: all that are labelled, and of the
 * others as many as there is room for. */
static ferry_status target_rows(ferry_ctx *ctx, const ferry_rows *t, int64_t most,
                                place_model *m, int32_t **y)
{
    ferry_status st = FERRY_OK;
    ferry_block *z = NULL;
    int64_t *order = NULL, n = 0;
    ferry_rng rng;

    FERRY_TRY(ferry_i_placing_axes(ctx, t, &m->axes));
    FERRY_TRY(ferry_i_placing_project(ctx, t, &m->axes, &z));
    FERRY_NEW(ctx, order, t->n);
    for (int64_t i = 0; i < t->n; i++)
        if (t->cls[i] >= 0) order[n++] = i;
    const int64_t labelled = n;
    for (int64_t i = 0; i < t->n; i++)
        if (t->cls[i] < 0) order[n++] = i;
    ferry_i_rng_for(ctx, &rng, "place.rows");
    if (n > most) ferry_i_rng_shuffle(&rng, n - labelled, order + labelled);
    n = n > most ? (labelled > most ? labelled : most) : n;
    FERRY_NEED(ctx, n >= 2, FERRY_ENEEDS, "place: the target has fewer than 2 rows");
    FERRY_NEW(ctx, *y, n);
    FERRY_TRY(ferry_i_block_new(ctx, n, z->k, &m->z));
    for (int64_t i = 0; i < n; i++) {
        (*y)[i] = t->cls[order[i]];
        memcpy(FERRY_ROW(m->z, i), FERRY_ROW(z, order[i]), (size_t)z->k * sizeof *z->data);
    }
    ferry_i_diag_real(ctx, "rows", (double)n);
done:
    ferry_i_block_free(z);
    ferry_i_free(order);
    return st;
}

static ferry_status place_fit_task(ferry_ctx *ctx, const ferry_task *task,
                                   const void *options, void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const place_options *o = options;
    const ferry_wants wants = {.method = "place",
                               .domains = FERRY_SOURCES | FERRY_THE_TARGET,
                               .layout = FERRY_APART,
                               .scale = o->scale,
                               .shift = true,
                               .taught = true};
    place_model *m = NULL;
    guide g = {0};
    int32_t *y = NULL;

    (void)rep;
    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    m->k = ferry_i_ids_count(task->names);
    m->neighbours = o->neighbours;
    FERRY_NEW(ctx, m->group, m->k);
    FERRY_TRY(ferry_i_prepare(ctx, task, &wants, &m->prepared));
    FERRY_TRY(target_rows(ctx, ferry_i_prepared_target(m->prepared), o->most, m, &y));
    const place_rows t = {m->z, y, m->k};
    FERRY_TRY(choose_source(ctx, m->prepared, &t, &g));
    const naming how = decide(ctx, o, &g.fit);
    if (how != PLACED) FERRY_TRY(forget_geometry(ctx, how, &t, &g));
    FERRY_TRY(answer_rows(ctx, task, o, &t, &g.fit, m));
    int32_t groups = 0;
    for (int64_t c = 0; how == APART && c < m->k; c++)
        if (g.fit.known[c] && !(g.fit.count[c] > 0)) m->group[c] = ++groups;
    ferry_i_prepared_forget(m->prepared);
    FERRY_MOVE(*state, m);
done:
    guide_clear(&g);
    ferry_i_free(y);
    ferry_i_placing_free(m);
    return st;
}

const ferry_method ferry_i_method_place = {
    .name = "place",
    .summary = "classes without a target label, placed by the geometry of the source's",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_VIEW,
    FERRY_OPTIONS(place_opts, place_options),
    .names_classes = true,
    .fits = place_fits,
    .fit = place_fit_task,
    .predict = ferry_i_placing_predict,
    FERRY_STATE(place_model, ferry_i_placing_file, ferry_i_placing_free),
};
