/* mindtl: rating patterns from several incomplete sources; cbt and talmud, which it grew
 * from; and the controls that tell what the patterns are worth.
 *
 * mode ferry:  x_ij = mu + a_i + b_j + sum_n w_n (Pu_n R_n Pv_n')_ij
 *              R_n from the residuals of source n after its biases, Pu and Pv soft, w_n in
 *              [0, 1.5] by least squares on ratings held out
 * mode paper:  x_ij = sum_n lambda_n R_n[u_n(i), v_n(j)], ratings as they are
 *
 * Both are a model of ratings with short rows p, q (methods/ratings). */
#include <math.h>

#include "learn/learn.h"
#include "methods/mindtl/method.h"

/* ---- options ---- */

#define COMMON                                                                             \
    FERRY_OPT(mindtl_options, INT, k, 10, 1, 1000, "groups of users"),                     \
        FERRY_OPT(mindtl_options, INT, l, 10, 1, 1000, "groups of items"),                 \
        FERRY_OPT_ONE_OF(mindtl_options, extract, "ionmtf|onmtf|dc-onmtf|kmeans",          \
                         "ionmtf", "how mode paper finds the groups of a source"),         \
        FERRY_OPT_ONE_OF(                                                                  \
            mindtl_options, update, "paper|orth", "paper",                                 \
            "updates of ionmtf: as published, or towards orthogonal columns"),             \
        FERRY_OPT(mindtl_options, INT, sweeps, 60, 0, 1e6, "sweeps of ionmtf and onmtf"),  \
        FERRY_OPT(mindtl_options, INT, polish, 20, 0, 1e6,                                 \
                  "most sweeps of two-way k-means after it"),                              \
        FERRY_OPT(mindtl_options, INT, restarts, 3, 1, 1e6,                                \
                  "starts of an extraction; the best is kept"),                            \
        FERRY_OPT(mindtl_options, REAL, beta, 5, 0, 1e9,                                   \
                  "ratings that draw a block's mean to its row and column"),               \
        FERRY_OPT(mindtl_options, INT, most, 400, 0, 1e9,                                  \
                  "users and items of a source, those with most ratings; 0: all"),         \
        FERRY_OPT_ONE_OF(mindtl_options, order, "task|nearest", "task",                    \
                         "sources as the task has them, or by the error of each alone on " \
                         "ratings held out"),                                              \
        FERRY_OPT(mindtl_options, INT, use, 0, 0, 1000,                                    \
                  "sources used, the first in that order; 0: all"),                        \
        FERRY_OPT(mindtl_options, INT, starts, 1, 1, 1e6,                                  \
                  "mode paper: starts over the target, all but the first random; the "     \
                  "best is kept"),                                                         \
        FERRY_OPT(mindtl_options, INT, iters, 20, 1, 1e6, "sweeps over the target")

#define SOLVER                                                                             \
    FERRY_OPT_ONE_OF(mindtl_options, lambda, "simplex|sgd|ls", "simplex",                  \
                     "mode paper: weights of the sources")

static const ferry_opt mindtl_opts[] = {
    FERRY_OPT_ONE_OF(mindtl_options, mode, "ferry|paper", "ferry",
                     "soft groups of residuals, or hard groups of ratings as published"),
    COMMON,
    SOLVER,
    FERRY_OPT(mindtl_options, INT, copies, 3, 1, 1000,
              "mode ferry: codebooks of a source that are averaged"),
    FERRY_OPT(mindtl_options, REAL, bias, 5, 0, 1e9,
              "mode ferry: ratings of size 0 that shrink a bias"),
    FERRY_OPT(mindtl_options, REAL, hold, 0.1, 0, 0.5,
              "mode ferry: share of ratings held out to weigh the sources"),
};
static const ferry_opt hard_opts[] = {COMMON};

/* ---- fit ---- */

typedef struct variant {
    const char *name;
    mindtl_book book;
    bool hard;    /* mode paper whatever the options say */
    int64_t most; /* sources used; 0: all */
    int solver;   /* -1: as the options say */
} variant;

static const variant is_mindtl = {"mindtl", BOOK_SOURCE, false, 0, -1};
static const variant is_cbt = {"cbt", BOOK_SOURCE, true, 1, LAMBDA_SIMPLEX};
static const variant is_talmud = {"talmud", BOOK_SOURCE, true, 0, LAMBDA_LS};
static const variant is_random = {"random-codebook", BOOK_RANDOM, false, 0, -1};
static const variant is_shuffled = {"shuffled-codebook", BOOK_SHUFFLED, false, 0, -1};
static const variant is_grid = {"additive-grid", BOOK_GRID, true, 0, LAMBDA_SIMPLEX};

enum { ORDER_TASK, ORDER_NEAREST };

/* Sources used, and (order nearest) looked at. */
static int64_t sources_used(const variant *v, const ferry_task *task,
                            const mindtl_options *o)
{
    const int64_t n = ferry_i_task_count_role(task, FERRY_SOURCE);
    const int64_t most = v->most > 0 ? v->most : o->use;

    if (v->book == BOOK_GRID) return 1;
    return most > 0 && most < n ? most : n;
}

static int64_t sources_seen(const variant *v, const ferry_task *task,
                            const mindtl_options *o)
{
    return o->order == ORDER_TASK || v->book == BOOK_GRID
               ? sources_used(v, task, o)
               : ferry_i_task_count_role(task, FERRY_SOURCE);
}

static ferry_status fits(ferry_ctx *ctx, const variant *v, const ferry_task *task,
                         const mindtl_options *o)
{
    ferry_status st = FERRY_OK;
    const ferry_ratings *r = NULL;

    FERRY_TRY(ferry_i_rating_target(ctx, v->name, task, &r));
    FERRY_NEED(ctx, sources_used(v, task, o) <= FERRY_SIMPLEX_MOST, FERRY_ENEEDS,
               "%s takes at most %d sources; this task has %lld", v->name,
               FERRY_SIMPLEX_MOST, (long long)sources_used(v, task, o));
done:
    return st;
}

static void say_scale(ferry_ctx *ctx, const ferry_domain *d, const ferry_ratings *r)
{
    if (d->ratings->lo == r->lo && d->ratings->hi == r->hi) return;
    ferry_i_log(ctx, FERRY_WARN,
                "source '%s': ratings from %g to %g are mapped to the target's %g to %g",
                d->name, d->ratings->lo, d->ratings->hi, r->lo, r->hi);
}

/* Codebooks of all sources, the copies of one after another. */
static ferry_status make_books(ferry_ctx *ctx, const variant *v, const ferry_task *task,
                               const ferry_ratings *r, const mindtl_options *o,
                               int64_t sources, mindtl_run *run, mindtl_codebook *book)
{
    ferry_status st = FERRY_OK;
    const mindtl_mode mode = (mindtl_mode)o->mode;

    for (int64_t n = 0; n < sources * o->copies; n++) {
        const ferry_domain *d = ferry_i_task_role(task, FERRY_SOURCE, n / o->copies);
        if (v->book == BOOK_GRID) {
            book[n] = (mindtl_codebook){o->k, o->l, ferry_i_calloc(o->k * o->l, 8)};
            FERRY_HAVE(ctx, book[n].r);
        } else {
            if (n % o->copies == 0) say_scale(ctx, d, r);
            FERRY_TRY(ferry_i_mindtl_codebook(ctx, d, r, o, mode, n, run, &book[n]));
        }
        if (v->book != BOOK_SOURCE)
            ferry_i_mindtl_control(ctx, v->book, mode, r, n, &book[n]);
    }
done:
    return st;
}

/* Sources by distance: names and books (with all copies) in that order, which goes to the
 * diagnostics. */
static ferry_status by_distance(ferry_ctx *ctx, const ferry_ratings *r,
                                const mindtl_options *o, int64_t sources, mindtl_run *run,
                                const char **name, mindtl_codebook *book)
{
    ferry_status st = FERRY_OK;
    double *d = ferry_i_calloc(sources, sizeof *d);

    FERRY_HAVE(ctx, d);
    FERRY_TRY(ferry_i_mindtl_distances(ctx, r, o, sources, book, run, d));
    for (int64_t s = 1; s < sources; s++) { /* few: insertion, stable */
        for (int64_t t = s; t > 0 && d[t] < d[t - 1]; t--) {
            const double distance = d[t];
            const char *word = name[t];
            d[t] = d[t - 1];
            d[t - 1] = distance;
            name[t] = name[t - 1];
            name[t - 1] = word;
            for (int64_t c = 0; c < o->copies; c++) {
                const mindtl_codebook b = book[t * o->copies + c];
                book[t * o->copies + c] = book[(t - 1) * o->copies + c];
                book[(t - 1) * o->copies + c] = b;
            }
        }
    }
    if (isfinite(d[0])) ferry_i_diag_named(ctx, "distance", sources, name, d);
done:
    ferry_i_free(d);
    return st;
}

/* The weight of each source by name, and its error on the ratings held out. */
static ferry_status tell(ferry_ctx *ctx, const variant *v, int64_t sources,
                         const char *const *name, const double *w, const double *rmse,
                         bool soft)
{
    ferry_status st = FERRY_OK;
    ferry_text note = {0};

    ferry_i_diag_named(ctx, "weights", sources, name, w);
    for (int64_t s = 0; s < sources; s++)
        ferry_i_text_addf(&note, "%s'%s' %.2f", s > 0 ? ", " : "weights: ", name[s], w[s]);
    FERRY_HAVE(ctx, !note.failed);
    if (v->book != BOOK_GRID) ferry_i_diag_text(ctx, "note", note.s);
    if (soft && isfinite(rmse[0]))
        ferry_i_diag_named(ctx, "validation-rmse", sources, name, rmse);
done:
    ferry_i_text_free(&note);
    return st;
}

/* Steps that the progress callback will hear of, when no loop ends early. */
static int64_t steps_of(const mindtl_options *o, int64_t sources)
{
    const bool factors = o->mode == MODE_PAPER && o->extract != EXTRACT_KMEANS;
    const int64_t books = sources * o->copies;
    const int64_t target =
        o->mode == MODE_PAPER ? o->starts * o->iters : 2 * books * o->iters;

    return books * o->restarts * (1 + (factors ? o->sweeps : 0)) + target;
}

static ferry_status fit(ferry_ctx *ctx, const variant *v, const ferry_task *task,
                        const void *options, void **state, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    mindtl_options o = *(const mindtl_options *)options;
    const ferry_ratings *r = NULL;
    const int64_t sources = sources_used(v, task, &o), seen = sources_seen(v, task, &o);
    mindtl_codebook *book = NULL;
    const char **name = ferry_i_calloc(seen, sizeof *name);
    double *w = ferry_i_calloc(2 * sources, sizeof *w);
    rating_model *m = NULL;

    *state = NULL;
    if (v->hard) o.mode = MODE_PAPER;
    if (v->solver >= 0) o.lambda = v->solver;
    if (o.mode == MODE_PAPER) o.copies = 1;
    mindtl_run run = {v->name, 0, steps_of(&o, seen), false};
    FERRY_NEW(ctx, book, seen * o.copies);
    FERRY_HAVE(ctx, w && name);
    FERRY_TRY(ferry_i_rating_target(ctx, v->name, task, &r));
    for (int64_t s = 0; s < seen; s++)
        name[s] =
            v->book == BOOK_GRID ? "grid" : ferry_i_task_role(task, FERRY_SOURCE, s)->name;
    FERRY_TRY(make_books(ctx, v, task, r, &o, seen, &run, book));
    if (o.order == ORDER_NEAREST && seen > 1)
        FERRY_TRY(by_distance(ctx, r, &o, seen, &run, name, book));
    if (o.mode == MODE_PAPER)
        FERRY_TRY(ferry_i_mindtl_fit_hard(ctx, r, &o, (mindtl_solver)o.lambda, sources,
                                          book, &run, w, &m, rep));
    else
        FERRY_TRY(ferry_i_mindtl_fit_soft(ctx, r, &o, sources, book, &run, w, w + sources,
                                          &m, rep));
    FERRY_TRY(tell(ctx, v, sources, name, w, w + sources, o.mode == MODE_FERRY));
    *state = m;
    m = NULL;
done:
    ferry_i_rating_model_free(m);
    for (int64_t n = 0; book && n < seen * o.copies; n++)
        ferry_i_free(book[n].r);
    ferry_i_free(book);
    ferry_i_free(name);
    ferry_i_free(w);
    return st;
}

/* ---- descriptors ---- */

/* What the descriptor of a variant calls. */
#define FIT_AS(name)                                                                       \
    static ferry_status name##_fits(ferry_ctx *ctx, const ferry_task *task,                \
                                    const void *options)                                   \
    {                                                                                      \
        return fits(ctx, &is_##name, task, options);                                       \
    }                                                                                      \
    static ferry_status name##_fit(ferry_ctx *ctx, const ferry_task *task,                 \
                                   const void *options, void **state, ferry_report *rep)   \
    {                                                                                      \
        return fit(ctx, &is_##name, task, options, state, rep);                            \
    }
FIT_AS(mindtl)
FIT_AS(cbt)
FIT_AS(talmud)
FIT_AS(random)
FIT_AS(shuffled)
FIT_AS(grid)

const ferry_method ferry_i_method_mindtl = {
    .name = "mindtl",
    .summary = "rating patterns of several incomplete sources, blended for the target",
    .reference =
        "He et al., Robust Transfer Learning for Cross-domain Collaborative Filtering "
        "Using Multiple Rating Patterns Approximation, WSDM 2018",
    .kind = FERRY_KIND_TRANSFER,
    .control = "shuffled-codebook",
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .options = mindtl_opts,
    .n_options = FERRY_COUNT(mindtl_opts),
    .options_size = sizeof(mindtl_options),
    .fits = mindtl_fits,
    .fit = mindtl_fit,
    FERRY_RATING_MODEL,
};

const ferry_method ferry_i_method_cbt = {
    .name = "cbt",
    .summary = "codebook transfer: the rating pattern of the first source, hard groups",
    .reference = "Li, Yang and Xue, Can Movies and Books Collaborate?, IJCAI 2009",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .options = hard_opts,
    .n_options = FERRY_COUNT(hard_opts),
    .options_size = sizeof(mindtl_options),
    .fits = cbt_fits,
    .fit = cbt_fit,
    FERRY_RATING_MODEL,
};

const ferry_method ferry_i_method_talmud = {
    .name = "talmud",
    .summary = "rating patterns of all sources, hard groups, least-squares weights",
    .reference = "Moreno, Shapira, Rokach and Shani, TALMUD, CIKM 2012",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .options = hard_opts,
    .n_options = FERRY_COUNT(hard_opts),
    .options_size = sizeof(mindtl_options),
    .fits = talmud_fits,
    .fit = talmud_fit,
    FERRY_RATING_MODEL,
};

const ferry_method ferry_i_method_random_codebook = {
    .name = "random-codebook",
    .summary = "mindtl with random numbers as codebooks",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .options = mindtl_opts,
    .n_options = FERRY_COUNT(mindtl_opts),
    .options_size = sizeof(mindtl_options),
    .fits = random_fits,
    .fit = random_fit,
    FERRY_RATING_MODEL,
};

const ferry_method ferry_i_method_shuffled_codebook = {
    .name = "shuffled-codebook",
    .summary = "mindtl with the entries of its codebooks shuffled",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    .options = mindtl_opts,
    .n_options = FERRY_COUNT(mindtl_opts),
    .options_size = sizeof(mindtl_options),
    .fits = shuffled_fits,
    .fit = shuffled_fit,
    FERRY_RATING_MODEL,
};

const ferry_method ferry_i_method_additive_grid = {
    .name = "additive-grid",
    .summary = "a codebook that has seen no source: user level plus item level",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_RATE,
    .needs = FERRY_NEED_RATINGS,
    .options = hard_opts,
    .n_options = FERRY_COUNT(hard_opts),
    .options_size = sizeof(mindtl_options),
    .fits = grid_fits,
    .fit = grid_fit,
    FERRY_RATING_MODEL,
};
