/* M-MLTL as published: G = Xs Ys' as it is, a random start, a number of sweeps, mu as given.
 *
 *   min over U, V   |G - U V'|^2 + mu |U'delta|^2 + g1 |U|^2 + g2 |V|^2,   delta = mean(Xs) - mean(Xt)      (7)
 *   repeat:  V <- G'U (U'U + g2 I)^-1                                                                        (9)
 *            U <- (mu delta delta' + g1 I) U + U V'V = G V                                                  (11)
 *
 * then a RankSVM on the latent features U'x of the source. X M X' of (6) is delta delta', a matrix of rank one, which
 * turns the d x d Sylvester equation (11) into two g x g systems; bartels-stewart solves it as printed. The sweeps are
 * far from the minimum after hundreds of them, so the result depends on the start: mmltl.c solves the problem.
 *
 * Jiang, Liu, Shu, Xu, Wu, Guo: Multi-label Transfer Learning via Maximum Mean Discrepancy, Information and Control
 * 2016. */
#include <float.h>
#include <math.h>

#include "learn/mmd.h"
#include "methods/shared/rank.h"
#include "prepare/problem.h"

typedef struct paper_options {
    int mmd, sylvester;
    double mu, g1, g2, C;
    int64_t g, sweeps, epochs;
} paper_options;

static const ferry_opt paper_opts[] = {
    FERRY_OPT_ONE_OF(paper_options, mmd, "on|off", "on",
                     "off: no term that brings the domains together (MLTL)"),
    FERRY_OPT(paper_options, REAL, mu, 30, 0, DBL_MAX, "its weight"),
    FERRY_OPT(paper_options, INT, g, 0, 0, 1e6, "latent features; 0: as many as labels"),
    FERRY_OPT(paper_options, REAL, g1, 1, DBL_MIN, DBL_MAX, "weight of |U|^2"),
    FERRY_OPT(paper_options, REAL, g2, 1, DBL_MIN, DBL_MAX, "weight of |V|^2"),
    FERRY_OPT(paper_options, INT, sweeps, 50, 1, 1e9, "times that V and U are found"),
    FERRY_OPT_ONE_OF(paper_options, sylvester, "exact|bartels-stewart", "exact",
                     "how U is found; bartels-stewart is slow"),
    FERRY_OPT(paper_options, REAL, C, 1, DBL_MIN, 1e9,
              "cost of a label that comes after one it should precede"),
    FERRY_OPT(paper_options, INT, epochs, 100, 1, 1e9, "most passes over the instances"),
};

/* By what a column holds, in which rows it is above its mean: neither its place nor how many there are decide. 0 where it
 * holds nothing. */
static void start(scope *s, const examples *e, block u)
{
    const int64_t d = e->x.cols;
    const uint8_t *used = columns_used(s, e->x);
    const double *mark = row_marks(s, e->x.rows, e->x.n, e->key);
    double *mean = NEW(s, double, d), *at = NEW(s, double, d);
    ferry_rng rng;

    for (int turn = 0; turn < 2; turn++) {
        for (int64_t i = 0; i < e->x.n; i++) {
            const ferry_row r = row_at(e->x, i);
            for (int64_t c = 0; c < r.n; c++) {
                const int64_t j = r.index ? r.index[c] : c;
                const double v = r.value[c];
                if (turn == 0)
                    mean[j] += v / (double)e->x.rows.n;
                else if (v != 0 && v - mean[j] > 1e-9 * fabs(mean[j])) /* not by rounding */
                    at[j] += mark[i];
            }
        }
        sums(s, e->x.rows, d, turn == 0 ? mean : at);
    }
    for (int64_t j = 0; j < d; j++) {
        ferry_i_rng_for(scope_ctx(s), &rng, "mmltl");
        ferry_i_rng_seed(&rng, ferry_i_rng_u64(&rng), (uint64_t)at[j]);
        for (int64_t c = 0; c < u.k; c++)
            ROW(u, j)[c] = used[j] ? ferry_i_rng_normal(&rng) : 0;
    }
}

/* Steps 3 to 6 of the paper's algorithm 1, from a random U. How many, and whether progress said finish. */
static bool sweep(scope *s, const paper_options *o, const examples *e, const mmd_problem *p,
                  block u)
{
    const block v = block_new(s, HERE(p->g.k), p->g.k, u.k);
    const mmd_work w = mmd_work_new(s, p, u.k);
    int64_t sweeps = 0;
    double objective = NAN;
    bool finish = false;

    start(s, e, u);
    while (sweeps < o->sweeps && !finish) {
        mmd_v_step(s, p, &w, u, v); /* (9) */
        if (o->sylvester == 1)
            mmd_u_step_sylvester(s, p, v, u); /* (11) */
        else
            mmd_u_step(s, p, &w, v, u);
        objective = mmd_objective(s, p, &w, u, v); /* (7) */
        finish = progress(s, "mmltl", ++sweeps, o->sweeps, objective);
    }
    report_real(s, "sweeps", (double)sweeps);
    report_real(s, "fit_objective", objective);
    return finish;
}

static bool subspace(scope *s, const paper_options *o, const examples *e, matrix xt,
                     block u)
{
    const mmd_labels y = {e->x.n, e->y.k, e->y.on, false};
    mmd_problem p = mmd_relation(s, e->x, &y, xt);
    const double delta2 = square_sum(s, p.delta);

    p.mu = o->mmd == 1 ? 0 : o->mu;
    p.g1 = o->g1;
    p.g2 = o->g2;
    if (!isfinite(p.mu * delta2))
        scope_fail(s, FERRY_ENUMERIC, "mmltl-paper: mu |delta|^2 is too large");
    report_real(s, "delta", sqrt(delta2));
    report_real(s, "mu", p.mu);
    return sweep(s, o, e, &p, u);
}

/* The RankSVM takes instances always in one order, until no pair moves. */
static void paper_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const paper_options *o = options;
    const ranker_options how = {.C = o->C, .epochs = o->epochs, .scale = true};
    const int64_t g = o->g > 0 ? o->g : p->classes;
    ranked *m = state;
    examples e = training_examples(s, p);

    report_sources(s, p, &e);
    m->u = block_new(keep, HERE(p->cols), p->cols, g);
    const bool stop = subspace(s, o, &e, target(p)->x, m->u);
    const block zs = block_new(s, e.x.rows, e.x.n, g);
    mul(s, e.x, m->u, zs);
    e.y.on = replicate_items(s, e.x.rows, e.x.n, (size_t)e.y.k, e.y.on);
    if (e.key) e.key = replicate_items(s, e.x.rows, e.x.n, sizeof *e.key, e.key);
    e.x = matrix_of(s, replicate(s, zs));
    ranked_fit(s, keep, &how, &e, NULL, stop, m);
}

const method method_mmltl_paper = {
    .name = "mmltl-paper",
    .summary = "mmltl as published: plain sweeps from a random start",
    .reference = "Jiang et al., Multi-label Transfer Learning via Maximum Mean "
                 "Discrepancy, Information and Control 2016",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,
    .wants = {.as = JOINED, .beside = true, .scale_default = "none"},
    METHOD_OPTIONS(paper_opts, paper_options),
    .state = &ranked_table,
    .asked = true,
    .fit = paper_fit,
    .scores = ranked_scores,
    .decide = ranked_decide,
};
