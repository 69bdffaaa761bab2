/* mindtl: options, the steps of a fit, descriptor (mindtl.h has the problem).
 *
 * Mode ferry stands in ferry.c. The others: ratings of the target; a codebook (mode soft:
 * several copies) of each source; the nearest sources first if asked for; then the target by
 * hard groups (mode paper) or soft ones. cbt, talmud and the controls are this fit with
 * other settings. */
#include "methods/mindtl/mindtl.h"

#include <math.h>

#include "learn/learn.h"

static const ferry_opt mindtl_opts[] = {CODEBOOK_OPTS_ALL};

enum { ORDER_TASK, ORDER_NEAREST };

/* Relatives and controls put their own name into `as`, for messages and progress. */
static const char *name_of(const codebook_options *o)
{
    return o->as ? o->as : "mindtl";
}

/* Sources used, and (order nearest) looked at. All of them must be looked at to know which
 * are the nearest. */
static int64_t sources_used(const ferry_task *task, const codebook_options *o)
{
    const int64_t n = ferry_i_task_count_role(task, FERRY_SOURCE);

    if (o->sourceless) return 1;
    return o->use > 0 && o->use < n ? o->use : n;
}

static int64_t sources_seen(const ferry_task *task, const codebook_options *o)
{
    return o->order == ORDER_TASK || o->sourceless
               ? sources_used(task, o)
               : ferry_i_task_count_role(task, FERRY_SOURCE);
}

/* The limit is that of the exact simplex problem, which tries every support. */
static ferry_status mindtl_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    ferry_status st = FERRY_OK;
    const codebook_options *o = options;
    const int64_t sources = sources_used(task, o);

    FERRY_TRY(ferry_i_rating_fits(ctx, name_of(o), task));
    FERRY_NEED(ctx, sources <= FERRY_SIMPLEX_MOST, FERRY_ENEEDS,
               "%s takes at most %d sources; this task has %lld", name_of(o),
               FERRY_SIMPLEX_MOST, (long long)sources);
done:
    return st;
}

/* Steps that the progress callback will hear of, when no loop ends early. Mode soft fits
 * the target twice, with and without the ratings held out: hence the 2. */
static int64_t steps_of(const codebook_options *o, int64_t sources)
{
    const bool factors = o->mode == MODE_PAPER && o->extract != EXTRACT_KMEANS;
    const int64_t books = sources * o->copies;
    const int64_t target =
        o->mode == MODE_PAPER ? o->starts * o->iters : 2 * books * o->iters;

    return books * o->restarts * (1 + (factors ? o->sweeps : 0)) + target;
}

/* Jokes from -10 to 10 and stars from 1 to 5 meet in one codebook: the user should know.
 */
static void say_range(ferry_ctx *ctx, const ferry_domain *d, const ferry_ratings *r)
{
    if (d->ratings->lo == r->lo && d->ratings->hi == r->hi) return;
    ferry_i_log(ctx, FERRY_WARN,
                "source '%s': ratings from %g to %g are mapped to the target's %g to %g",
                d->name, d->ratings->lo, d->ratings->hi, r->lo, r->hi);
}

/* Algorithm 1: codebooks of all sources, the copies of one after another.
 *
 * book has sources x copies places, zero on entry; the caller frees the r of each, also
 * after a failure. A control (shuffled, random, grid) replaces what was learned. */
static ferry_status make_books(ferry_ctx *ctx, const ferry_task *task,
                               const mindtl_problem *p, codebook *book)
{
    ferry_status st = FERRY_OK;
    const codebook_options *o = p->o;

    for (int64_t n = 0; n < p->sources * o->copies; n++) {
        const ferry_domain *d = ferry_i_task_role(task, FERRY_SOURCE, n / o->copies);
        if (o->sourceless) {
            book[n] = (codebook){o->k, o->l, NULL};
            FERRY_NEW(ctx, book[n].r, o->k * o->l);
        } else {
            if (n % o->copies == 0) say_range(ctx, d, p->r);
            FERRY_TRY(ferry_i_mindtl_codebook(ctx, d, p->r, o, n, p->run, &book[n]));
        }
        if (o->control) o->control(ctx, (codebook_mode)o->mode, p->r, n, &book[n]);
    }
done:
    return st;
}

static void swap_books(int64_t copies, codebook *a, codebook *b)
{
    for (int64_t c = 0; c < copies; c++) {
        const codebook t = a[c];
        a[c] = b[c];
        b[c] = t;
    }
}

/* Sources by distance: names and books (with all copies) in that order, which goes to the
 * diagnostics. d is NaN for all when nothing can be held out: no comparison is true then,
 * and the order stays as it is in the task. */
static ferry_status by_distance(ferry_ctx *ctx, const mindtl_problem *p, const char **name,
                                codebook *book)
{
    ferry_status st = FERRY_OK;
    const int64_t copies = p->o->copies;
    double *d = NULL;

    FERRY_NEW(ctx, d, p->sources);
    FERRY_TRY(ferry_i_mindtl_distances(ctx, p, d));
    for (int64_t s = 1; s < p->sources; s++) { /* few: insertion, stable */
        for (int64_t t = s; t > 0 && d[t] < d[t - 1]; t--) {
            const double distance = d[t];
            const char *word = name[t];
            d[t] = d[t - 1];
            d[t - 1] = distance;
            name[t] = name[t - 1];
            name[t - 1] = word;
            swap_books(copies, book + t * copies, book + (t - 1) * copies);
        }
    }
    if (isfinite(d[0])) ferry_i_diag_named(ctx, "distance", p->sources, name, d);
done:
    ferry_i_free(d);
    return st;
}

/* The weight of each source by name, and its error on the ratings held out. Weights of
 * patterns, in the order of the sources: what a user can judge a source by. */
static ferry_status tell(ferry_ctx *ctx, const mindtl_problem *p, const char *const *name,
                         const double *w, const double *rmse)
{
    ferry_status st = FERRY_OK;
    ferry_text note = {0};

    ferry_i_diag_named(ctx, "weights", p->sources, name, w);
    for (int64_t s = 0; s < p->sources; s++)
        ferry_i_text_addf(&note, "%s'%s' %.2f", s > 0 ? ", " : "weights: ", name[s], w[s]);
    FERRY_HAVE(ctx, !note.failed);
    if (!p->o->sourceless) ferry_i_diag_text(ctx, "note", note.s);
    if (p->o->mode == MODE_SOFT && isfinite(rmse[0]))
        ferry_i_diag_named(ctx, "validation-rmse", p->sources, name, rmse);
done:
    ferry_i_text_free(&note);
    return st;
}

/* Codebooks of the sources first, then the target; cbt, talmud and the controls come here
 * too, with settings of theirs (shared/codebook.h). Mode paper has one copy a source: the
 * published method knows no averaging. */
static ferry_status fit_codebooks(ferry_ctx *ctx, const ferry_task *task,
                                  const codebook_options *options, void **state,
                                  ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    codebook_options o = *options;
    const int64_t sources = sources_used(task, &o), seen = sources_seen(task, &o);
    rating_data d = {0};
    codebook *book = NULL;
    const char **name = NULL;
    double *w = NULL, *rmse = NULL;
    rating_model *m = NULL;

    *state = NULL;
    if (o.mode == MODE_PAPER) o.copies = 1;
    mindtl_run run = {name_of(&o), 0, steps_of(&o, seen), false};
    FERRY_NEW(ctx, book, seen * o.copies);
    FERRY_NEW(ctx, name, seen);
    FERRY_NEW(ctx, w, 2 * sources);
    rmse = w + sources;
    for (int64_t s = 0; s < seen; s++)
        name[s] = o.sourceless ? "grid" : ferry_i_task_role(task, FERRY_SOURCE, s)->name;

    /* The sources' patterns (algorithm 1); the nearest first, if that is wanted. */
    FERRY_TRY(ferry_i_rating_data(ctx, task, &d));
    mindtl_problem p = {&o, d.r, &d.x, seen, book, &run};
    FERRY_TRY(make_books(ctx, task, &p, book));
    if (o.order == ORDER_NEAREST && seen > 1) FERRY_TRY(by_distance(ctx, &p, name, book));

    /* The target from as many of them as are used: algorithm 2, or soft groups. */
    p.sources = sources;
    if (o.mode == MODE_PAPER)
        FERRY_TRY(ferry_i_mindtl_fit_hard(ctx, &p, &d.x, w, &m, rep));
    else
        FERRY_TRY(ferry_i_mindtl_fit_soft(ctx, &p, &d.x, w, rmse, &m, rep));
    FERRY_TRY(ferry_i_rating_model_rated(ctx, &d.x, m));
    FERRY_TRY(tell(ctx, &p, name, w, rmse));
    FERRY_MOVE(*state, m);
done:
    ferry_i_rating_model_free(m);
    for (int64_t n = 0; book && n < seen * o.copies; n++)
        ferry_i_free(book[n].r);
    ferry_i_rating_data_clear(&d);
    FERRY_FREE(book, name, w);
    return st;
}

static ferry_status mindtl_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                               void **state, ferry_fit_info *rep)
{
    const codebook_options *o = options;

    return o->mode == MODE_FERRY
               ? ferry_i_mindtl_ferry(ctx, task, o, sources_used(task, o), state, rep)
               : fit_codebooks(ctx, task, o, state, rep);
}

const ferry_method ferry_i_method_mindtl = {
    .name = "mindtl",
    .summary = "what several incomplete sources know about ratings, for the target",
    .reference =
        "He et al., Robust Transfer Learning for Cross-domain Collaborative Filtering "
        "Using Multiple Rating Patterns Approximation, WSDM 2018",
    .kind = FERRY_KIND_TRANSFER,
    .control = "shuffled-codebook",
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    CODEBOOK_METHOD(mindtl_opts, mindtl_fits, mindtl_fit),
};
