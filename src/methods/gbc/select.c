/* GBC: what cross-validation over the labelled instances decides: number of trees, weights
 * of the views, average or additive, lambda0 and lambda1 when asked, and what graphs do to
 * the answers. All folds step together, so that one look tells whether more trees help. */
#include <math.h>
#include <string.h>

#include "methods/gbc/gbc.h"

void ferry_i_gbc_plan_clear(gbc_plan *p)
{
    ferry_i_free(p->w);
    ferry_i_free(p->view_loss);
    ferry_i_free(p->wg);
    ferry_i_free(p->held);
    *p = (gbc_plan){0};
}

/* ---- folds ---- */

/* The labelled instances in turn to the folds, class by class, in random order. */
static ferry_status deal(ferry_ctx *ctx, const gbc_problem *g, int64_t folds, int32_t **out)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(g->n, sizeof *order), next = 0, n = 0;
    int32_t *fold = ferry_i_calloc(g->n, sizeof *fold);
    ferry_rng rng;

    *out = fold;
    FERRY_HAVE(ctx, order && fold);
    ferry_i_rng_for(ctx, &rng, "gbc folds");
    for (int64_t x = 0; x < g->n; x++) {
        fold[x] = -1;
        if (g->labelled[x]) order[n++] = x;
    }
    ferry_i_rng_shuffle(&rng, n, order);
    for (int64_t c = 0; c <= g->k; c++) /* one against the rest; then those of no class */
        for (int64_t i = 0; i < n; i++) {
            const int64_t x = order[i];
            const bool mine = c == g->k || !g->logistic || g->y[x * g->k + c] > 0;
            if (mine && fold[x] < 0) fold[x] = (int32_t)(next++ % folds);
        }
done:
    ferry_i_free(order);
    return st;
}

/* ---- one setting, all folds ---- */

typedef struct fold_runs {
    int64_t folds;
    gbc_run **run;
    uint8_t **labelled; /* of each: all but the fold */
    const int32_t *fold;
    const gbc_problem *g;
} fold_runs;

static void close_runs(fold_runs *r)
{
    for (int64_t i = 0; i < r->folds; i++) {
        if (r->run) ferry_i_gbc_run_free(r->run[i]);
        if (r->labelled) ferry_i_free(r->labelled[i]);
    }
    ferry_i_free(r->run);
    ferry_i_free(r->labelled);
    r->run = NULL;
    r->labelled = NULL;
}

static ferry_status open_runs(ferry_ctx *ctx, const gbc_settings *o, const gbc_problem *g,
                              ferry_view *const *views, const int32_t *fold, int64_t folds,
                              fold_runs *r)
{
    ferry_status st = FERRY_OK;
    const bool semi = g->lambda0 > 0 || (g->lambda1 > 0 && g->q > 0);

    *r = (fold_runs){.folds = folds, .fold = fold, .g = g};
    FERRY_NEW(ctx, r->run, folds);
    FERRY_NEW(ctx, r->labelled, folds);
    for (int64_t i = 0; i < folds; i++) {
        gbc_problem part = *g;
        part.labelled = r->labelled[i] = ferry_i_calloc(g->n, 1);
        FERRY_HAVE(ctx, r->labelled[i]);
        for (int64_t x = 0; x < g->n; x++)
            r->labelled[i][x] = g->labelled[x] && fold[x] != i;
        FERRY_TRY(ferry_i_gbc_run_new(ctx, o, &part, views, semi ? NULL : g->labelled, NULL,
                                      &r->run[i]));
    }
done:
    return st;
}

/* Scores of x by the run that has not seen its label. */
static const double *held_out(const fold_runs *r, int64_t i, int64_t x)
{
    return r->run[r->fold[x]]->f[i] + x * r->g->k;
}

static double loss_at(const gbc_problem *g, const double *f, int64_t x)
{
    double sum = 0;

    for (int64_t j = 0; j < g->k; j++)
        sum += ferry_i_gbc_loss(g->logistic, f[j], g->y[x * g->k + j]);
    return sum / (double)g->k;
}

/* Held-out loss of each view; of nothing but the base score. */
static void view_losses(const fold_runs *r, double *loss, double *constant)
{
    const gbc_problem *g = r->g;
    double sum = 0, count = 0;

    for (int64_t i = 0; i < g->p; i++) {
        double own = 0, n = 0;
        for (int64_t x = 0; x < g->n; x++)
            if (g->labelled[x] && g->mask[i * g->n + x]) {
                own += loss_at(g, held_out(r, i, x), x);
                n++;
            }
        loss[i] = n > 0 ? own / n : NAN;
    }
    for (int64_t x = 0; x < g->n; x++)
        if (g->labelled[x]) {
            sum += loss_at(g, r->run[r->fold[x]]->forest->f0, x);
            count++;
        }
    *constant = count > 0 ? sum / count : NAN;
}

/* Held-out loss of all views together. */
static double joint_loss(const fold_runs *r, bool additive, const double *w, double stretch,
                         double *f)
{
    const gbc_problem *g = r->g;
    double sum = 0, count = 0;

    for (int64_t x = 0; x < g->n; x++) {
        double weight = 0;
        if (!g->labelled[x]) continue;
        memset(f, 0, (size_t)g->k * sizeof *f);
        for (int64_t i = 0; i < (additive ? 1 : g->p); i++) {
            const double one = additive ? 1 : g->mask[i * g->n + x] ? w[i] : 0;
            const double *from = held_out(r, i, x);
            weight += one;
            for (int64_t j = 0; j < g->k; j++)
                f[j] += one * from[j];
        }
        for (int64_t j = 0; j < g->k; j++) {
            const double f0 = r->run[r->fold[x]]->forest->f0[j];
            f[j] = weight > 0 ? f0 + stretch * (f[j] / weight - f0) : f0;
        }
        sum += loss_at(g, f, x);
        count++;
    }
    return sum / count;
}

/* Weights from held-out losses. A view without labelled instances has shown no skill. */
static void weigh(gbc_rule rule, int64_t p, const double *loss, double constant, double *w)
{
    bool known = false;

    for (int64_t i = 0; i < p; i++)
        known = known || !isnan(loss[i]);
    for (int64_t i = 0; i < p; i++)
        w[i] = isnan(loss[i]) && known ? constant : loss[i];
    if (rule == GBC_RULE_EQUAL)
        for (int64_t i = 0; i < p; i++)
            w[i] = 1 / (double)p;
    else
        ferry_i_gbc_skill(p, w, constant, w);
}

/* What came out of one setting. */
typedef struct outcome {
    double loss;
    int64_t trees;
    double *w, *view_loss; /* p */
    double constant, stretch;
} outcome;

/* Step all folds until more trees do not help. The runs stay as they are then. */
static ferry_status cross(ferry_ctx *ctx, const gbc_select *s, const gbc_settings *o,
                          fold_runs *r, outcome *best)
{
    /* Each view's scores are what is expected of y given that view: their mean varies too
     * little, the more so the more the views complement each other. */
    static const double stretches[] = {1.25, 1.5, 2, 2.5, 3, 4};
    ferry_status st = FERRY_OK;
    const int64_t p = r->g->p;
    double constant = NAN, least = INFINITY;
    double *w = ferry_i_calloc(p, sizeof *w), *loss = ferry_i_calloc(p, sizeof *loss);
    double *f = ferry_i_calloc(r->g->k, sizeof *f);
    bool finish = false;

    best->loss = INFINITY;
    best->trees = 0;
    FERRY_HAVE(ctx, w && loss && f);
    for (int64_t t = 1; t <= s->trees && t - best->trees <= s->patience && !finish; t++) {
        for (int64_t i = 0; i < r->folds; i++)
            FERRY_TRY(ferry_i_gbc_run_step(ctx, r->run[i]));
        if (!o->additive) {
            view_losses(r, loss, &constant);
            weigh(s->rule, p, loss, constant, w);
        }
        const double now = joint_loss(r, o->additive, w, 1, f);
        if (now < least) {
            least = now;
            *best = (outcome){now, t, best->w, best->view_loss, constant, 1};
            memcpy(best->w, w, (size_t)p * sizeof *w);
            memcpy(best->view_loss, loss, (size_t)p * sizeof *loss);
            for (int64_t e = 0; !o->additive && p > 1 && e < FERRY_COUNT(stretches); e++) {
                const double wider = joint_loss(r, false, w, stretches[e], f);
                if (!(wider < best->loss)) continue;
                best->loss = wider;
                best->stretch = stretches[e];
            }
        }
        FERRY_TRY(
            ferry_i_progress(ctx, "gbc: cross-validation", t, s->trees, NAN, &finish));
    }
done:
    ferry_i_free(w);
    ferry_i_free(loss);
    ferry_i_free(f);
    return st;
}

/* ---- graphs at prediction ---- */

typedef struct candidate {
    gbc_correct correct;
    double strength;
} candidate;

/* What each fold's trees answer for all instances, and what follows from it. */
typedef struct answers {
    double **p;        /* folds: n x m */
    uint8_t *viewless; /* n */
    double *truth;     /* n x m, of labelled instances */
    double *residual;
} answers;

static void free_answers(answers *a, int64_t folds)
{
    for (int64_t i = 0; a->p && i < folds; i++)
        ferry_i_free(a->p[i]);
    ferry_i_free(a->p);
    ferry_i_free(a->viewless);
    ferry_i_free(a->truth);
    ferry_i_free(a->residual);
}

static ferry_status answer_all(ferry_ctx *ctx, const gbc_goal *goal, const fold_runs *r,
                               const outcome *best, ferry_view *const *views, answers *a)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = r->g;
    const int64_t n = g->n, m = goal->classes;

    a->p = ferry_i_calloc(r->folds, sizeof *a->p);
    a->viewless = ferry_i_calloc(n, 1);
    a->truth = ferry_i_calloc(n * m, sizeof *a->truth);
    a->residual = ferry_i_calloc(n * m, sizeof *a->residual);
    FERRY_HAVE(ctx, a->p && a->viewless && a->truth && a->residual);
    for (int64_t i = 0; i < r->folds; i++) {
        ferry_i_gbc_forest_cut(r->run[i]->forest, best->trees);
        a->p[i] = ferry_i_calloc(n * m, sizeof(double));
        FERRY_HAVE(ctx, a->p[i]);
        FERRY_TRY(ferry_i_gbc_answers(ctx, goal, r->run[i]->forest, best->w, best->stretch,
                                      n, views, a->p[i], a->viewless));
    }
    for (int64_t x = 0; x < n; x++) {
        if (!g->labelled[x]) continue;
        ferry_i_gbc_goal_truth(goal, g->y + x * g->k, a->truth + x * m);
        for (int64_t j = 0; j < m; j++)
            a->residual[x * m + j] = a->truth[x * m + j] - a->p[r->fold[x]][x * m + j];
    }
done:
    return st;
}

/* Loss of an answer: -log of the probability, or the square. */
static double answer_loss(const gbc_goal *goal, const double *answer, const double *truth)
{
    double sum = 0;

    if (goal->goal == FERRY_REGRESS) return (answer[0] - truth[0]) * (answer[0] - truth[0]);
    for (int64_t j = 0; j < goal->classes; j++)
        sum += answer[j] * truth[j];
    return -log(fmax(sum, 1e-6));
}

/* Held-out loss with this correction: of each fold by the labels of the others. */
static ferry_status try_correct(ferry_ctx *ctx, const gbc_goal *goal, const fold_runs *r,
                                const answers *a, const double *wg, candidate c,
                                double *loss)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = r->g;
    const int64_t n = g->n, m = goal->classes;
    double *now = ferry_i_calloc(n * m, sizeof *now), sum = 0, count = 0;
    int64_t *at = ferry_i_calloc(n, sizeof *at);
    const gbc_labels l = {at, a->truth, a->residual};

    FERRY_HAVE(ctx, now && at);
    for (int64_t i = 0; i < r->folds; i++) {
        memcpy(now, a->p[i], (size_t)(n * m) * sizeof *now);
        for (int64_t x = 0; x < n; x++)
            at[x] = g->labelled[x] && r->fold[x] != i ? x : -1;
        FERRY_TRY(ferry_i_gbc_correct(ctx, c.correct, c.strength, g->q, g->graph, wg, n, m,
                                      goal->goal == FERRY_CLASSIFY, &l, a->viewless, now,
                                      NULL));
        for (int64_t x = 0; x < n; x++)
            if (g->labelled[x] && r->fold[x] == i) {
                sum += answer_loss(goal, now + x * m, a->truth + x * m);
                count++;
            }
    }
    *loss = sum / count;
done:
    ferry_i_free(now);
    ferry_i_free(at);
    return st;
}

/* Weights of the graphs: root rule on the mean squared difference of the held-out answers
 * of labelled instances (their labels) and their neighbours' answers. */
static ferry_status weigh_graphs(ferry_ctx *ctx, const gbc_goal *goal, const fold_runs *r,
                                 const answers *a, double *wg)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = r->g;
    const int64_t m = goal->classes;
    double *loss = ferry_i_calloc(g->q, sizeof *loss);

    FERRY_HAVE(ctx, loss);
    for (int64_t t = 0; t < g->q; t++) {
        const ferry_matrix *b = g->graph[t];
        double top = 0, sum = 0;
        for (int64_t x = 0; x < g->n; x++)
            for (int64_t e = b->start[x]; g->labelled[x] && e < b->start[x + 1]; e++) {
                const int64_t v = b->index[e];
                const double *there =
                    g->labelled[v] ? a->truth + v * m : a->p[r->fold[x]] + v * m;
                for (int64_t j = 0; j < m; j++)
                    top += b->value[e] * (there[j] - a->truth[x * m + j]) *
                           (there[j] - a->truth[x * m + j]);
                sum += b->value[e];
            }
        loss[t] = sum > 0 ? top / sum : NAN;
    }
    ferry_i_gbc_root(g->q, loss, wg);
done:
    ferry_i_free(loss);
    return st;
}

static ferry_status choose_correct(ferry_ctx *ctx, const gbc_select *s,
                                   const gbc_goal *goal, const fold_runs *r,
                                   const outcome *best, ferry_view *const *views,
                                   gbc_plan *p)
{
    static const candidate all[] = {
        {GBC_CORRECT_RESIDUAL, 2}, {GBC_CORRECT_SMOOTH, 0.2}, {GBC_CORRECT_SMOOTH, 0.4},
        {GBC_CORRECT_SMOOTH, 0.6}, {GBC_CORRECT_SMOOTH, 0.8}, {GBC_CORRECT_SMOOTH, 0.9},
    };
    ferry_status st = FERRY_OK;
    const gbc_problem *g = r->g;
    answers a = {0};
    double loss = 0;

    FERRY_TRY(answer_all(ctx, goal, r, best, views, &a));
    FERRY_NEW(ctx, p->held, g->n * goal->classes);
    for (int64_t x = 0; x < g->n; x++)
        if (g->labelled[x])
            memcpy(p->held + x * goal->classes, a.p[r->fold[x]] + x * goal->classes,
                   (size_t)goal->classes * sizeof *p->held);
    FERRY_TRY(weigh_graphs(ctx, goal, r, &a, p->wg));
    FERRY_TRY(try_correct(ctx, goal, r, &a, p->wg, (candidate){GBC_CORRECT_NO, 0},
                          &p->plain_loss));
    p->corrected_loss = s->correct == GBC_CORRECT_AUTO ? p->plain_loss : INFINITY;
    p->correct = GBC_CORRECT_NO;
    for (int64_t c = 0; s->correct != GBC_CORRECT_NO && c < FERRY_COUNT(all); c++) {
        if (s->correct != GBC_CORRECT_AUTO && s->correct != all[c].correct) continue;
        FERRY_TRY(try_correct(ctx, goal, r, &a, p->wg, all[c], &loss));
        if (!(loss < p->corrected_loss)) continue;
        p->corrected_loss = loss;
        p->correct = all[c].correct;
        p->strength = all[c].strength;
    }
done:
    free_answers(&a, r->folds);
    return st;
}

/* ---- all of it ---- */

static ferry_status outcome_new(ferry_ctx *ctx, int64_t p, outcome *o)
{
    ferry_status st = FERRY_OK;

    *o = (outcome){.loss = INFINITY, .constant = NAN, .stretch = 1};
    FERRY_NEW(ctx, o->w, p);
    FERRY_NEW(ctx, o->view_loss, p);
done:
    return st;
}

static void outcome_clear(outcome *o)
{
    ferry_i_free(o->w);
    ferry_i_free(o->view_loss);
}

/* lambda0 and lambda1 from a grid, by full runs on every fold. */
static ferry_status tune(ferry_ctx *ctx, const gbc_select *s, const gbc_problem *g,
                         ferry_view *const *views, const int32_t *fold, gbc_plan *p)
{
    static const double grid0[] = {0, 0.1, 0.3}, grid1[] = {0, 0.1, 0.3, 1};
    ferry_status st = FERRY_OK;
    const int64_t n0 = g->p > 1 && !p->o.additive ? FERRY_COUNT(grid0) : 1;
    const int64_t n1 = g->q > 0 ? FERRY_COUNT(grid1) : 1;
    double least = INFINITY;
    fold_runs r = {0};
    outcome o = {0};

    for (int64_t e = 0; e < n0 * n1; e++) {
        gbc_problem part = *g;
        part.lambda0 = fmin(1, grid0[e / n1] * s->unit);
        part.lambda1 = fmin(1, grid1[e % n1] * s->unit);
        FERRY_TRY(outcome_new(ctx, g->p, &o));
        FERRY_TRY(open_runs(ctx, &p->o, &part, views, fold, s->folds, &r));
        FERRY_TRY(cross(ctx, s, &p->o, &r, &o));
        if (o.loss < least) {
            least = o.loss;
            p->lambda0 = part.lambda0;
            p->lambda1 = part.lambda1;
            p->trees = o.trees;
        }
        close_runs(&r);
        outcome_clear(&o);
        o = (outcome){0};
    }
done:
    close_runs(&r);
    outcome_clear(&o);
    return st;
}

ferry_status ferry_i_gbc_choose(ferry_ctx *ctx, const gbc_select *s, const gbc_goal *goal,
                                const gbc_problem *g, ferry_view *const *views, gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    fold_runs runs[2] = {{0}, {0}};
    outcome out[2] = {{.loss = 0}, {.loss = 0}};
    int32_t *fold = NULL;
    gbc_problem plain = *g;

    plain.lambda0 = plain.lambda1 = 0;
    FERRY_NEW(ctx, p->w, g->p);
    FERRY_NEW(ctx, p->view_loss, g->p);
    FERRY_NEW(ctx, p->wg, g->q);
    FERRY_TRY(deal(ctx, g, s->folds, &fold));
    for (int additive = 0; additive < 2; additive++) {
        gbc_settings o = p->o;
        o.additive = additive;
        o.weights = GBC_FIXED;
        FERRY_TRY(outcome_new(ctx, g->p, &out[additive]));
        /* The average is always needed: it tells the skill of the views. */
        if (additive && (s->combine == GBC_AVERAGE || g->p == 1)) continue;
        FERRY_TRY(open_runs(ctx, &o, &plain, views, fold, s->folds, &runs[additive]));
        FERRY_TRY(cross(ctx, s, &o, &runs[additive], &out[additive]));
    }
    p->average_loss = out[0].loss;
    p->additive_loss = isfinite(out[1].loss) ? out[1].loss : NAN;
    p->constant_loss = out[0].constant;
    memcpy(p->w, out[0].w, (size_t)g->p * sizeof *p->w);
    memcpy(p->view_loss, out[0].view_loss, (size_t)g->p * sizeof *p->view_loss);
    p->o.additive = s->combine == GBC_ADDITIVE ||
                    (s->combine == GBC_COMBINE_AUTO && out[1].loss < out[0].loss);
    if (g->p == 1) p->o.additive = false;
    const int chosen = p->o.additive;
    p->trees = out[chosen].trees;
    p->stretch = out[chosen].stretch;
    if (g->q > 0)
        FERRY_TRY(choose_correct(ctx, s, goal, &runs[chosen], &out[chosen], views, p));
    close_runs(&runs[0]);
    close_runs(&runs[1]);
    if (s->tune) FERRY_TRY(tune(ctx, s, g, views, fold, p));
done:
    close_runs(&runs[0]);
    close_runs(&runs[1]);
    outcome_clear(&out[0]);
    outcome_clear(&out[1]);
    ferry_i_free(fold);
    return st;
}
