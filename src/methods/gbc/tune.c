/* GBC: what cross-validation over the labelled instances decides:
 *
 *   number of trees, weights of the views       by the held-out loss of their average
 *   average or additive, stretch of the average by the held-out loss of both
 *   lambda0 and lambda1                         when asked, from a grid
 *   what graphs do to the answers               by the held-out loss of corrected answers
 *   shares of trees, lines and labels alone     by that of their mixture (answers.c)
 *
 * All folds step together, so that one look tells whether more trees help. Weights from
 * training loss would not do: boosting drives that down on noise as well.
 *
 * The folds are the same for every question, so that differences are not those of the draw.
 * Held-out scores of an instance come from the one run that has not seen its label. */
#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "methods/gbc/gbc.h"

void ferry_i_gbc_plan_clear(gbc_plan *p)
{
    FERRY_FREE(p->w, p->view_loss, p->wg);
    for (int64_t k = 0; k < GBC_KINDS; k++)
        FERRY_FREE(p->held[k], p->mixed[k]);
    *p = (gbc_plan){0};
}

/* Stratified, so that a rare class is in as many folds as it can be: by the first score that says
 * yes (one against the rest), then those of no class. Unlabelled: fold -1. The stream has its own
 * name: drawing here moves no other random number. */
static ferry_status deal(ferry_ctx *ctx, const gbc_problem *g, int64_t folds, int32_t *fold)
{
    ferry_status st = FERRY_OK;
    int32_t *cls = NULL;

    FERRY_NEW(ctx, cls, g->n);
    for (int64_t x = 0; x < g->n; x++) {
        int32_t c = 0;
        while (g->logistic && c < g->k && !(g->y[x * g->k + c] > 0))
            c++;
        cls[x] = g->labelled[x] ? c : -1;
    }
    FERRY_TRY(ferry_i_folds(ctx, "gbc folds", g->n, cls, folds, fold));
done:
    ferry_i_free(cls);
    return st;
}

/* One setting on all folds, and what came out of it. Averages also tell the views' losses;
 * additive trials have one source. */
typedef struct trial {
    const gbc_tuning *s;
    const int32_t *fold;
    gbc_problem g; /* with the setting's lambdas */
    bool additive;
    gbc_run **run;
    uint8_t **labelled; /* of each run: all but the fold */
    /* Of the least loss so far; both of length p. */
    double *w, *view_loss;
    double loss, constant, stretch; /* the least so far, and what it was reached with */
    int64_t trees;
} trial;

/* Also of one that was never made. */
static void trial_clear(trial *r)
{
    for (int64_t i = 0; r->s && i < r->s->folds; i++) {
        if (r->run) ferry_i_gbc_run_free(r->run[i]);
        if (r->labelled) ferry_i_free(r->labelled[i]);
    }
    FERRY_FREE(r->run, r->labelled, r->w, r->view_loss);
    *r = (trial){0};
}

/* Runs that have not seen their fold's labels. Without terms for unlabelled instances the
 * scores of these are not kept up: nobody asks. The runs' arrays `labelled` belong to the
 * trial, everything else of the problem is shared. */
static ferry_status trial_new(ferry_ctx *ctx, const gbc_tuning *s, const gbc_settings *o,
                              const double *lambda, const int32_t *fold, trial *r)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = s->g;
    const bool semi = lambda[0] > 0 || (lambda[1] > 0 && g->q > 0);

    *r = (trial){.s = s,
                 .fold = fold,
                 .g = *g,
                 .additive = o->grow.additive,
                 .loss = INFINITY,
                 .constant = NAN,
                 .stretch = 1};
    r->g.lambda0 = lambda[0];
    r->g.lambda1 = lambda[1];
    FERRY_NEW(ctx, r->w, g->p);
    FERRY_NEW(ctx, r->view_loss, g->p);
    FERRY_NEW(ctx, r->run, s->folds);
    FERRY_NEW(ctx, r->labelled, s->folds);
    for (int64_t i = 0; i < s->folds; i++) {
        gbc_problem part = r->g;
        FERRY_NEW(ctx, r->labelled[i], g->n);
        part.labelled = r->labelled[i];
        for (int64_t x = 0; x < g->n; x++)
            r->labelled[i][x] = g->labelled[x] && fold[x] != i;
        FERRY_TRY(ferry_i_gbc_run_new(ctx, o, &part, s->views, semi ? NULL : g->labelled,
                                      NULL, &r->run[i]));
        r->run[i]->b->told = g->labelled;
    }
done:
    return st;
}

/* Scores of x, base scores of its fold: by the run that has not seen its label. One
 * function for every view: i is 0 in an additive trial. */
static const double *held_out(const trial *r, int64_t i, int64_t x)
{
    return r->run[r->fold[x]]->b->f[i] + x * r->g.k;
}

static const double *held_base(const trial *r, int64_t x)
{
    return r->run[r->fold[x]]->b->forest->f0;
}

/* L of instance x under scores f, mean over the k. */
static double loss_at(const gbc_problem *g, const double *f, int64_t x)
{
    double sum = 0;

    for (int64_t j = 0; j < g->k; j++)
        sum += ferry_i_loss(g->logistic, f[j], g->y[x * g->k + j]);
    return sum / (double)g->k;
}

/* Held-out loss of each view; of nothing but the base score. A view answers for the
 * labelled instances that it has; NaN without any. The constant answers for all. Their
 * ratio is the skill that weighs the view. */
static void view_losses(const trial *r, double *loss, double *constant)
{
    const gbc_problem *g = &r->g;
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
            sum += loss_at(g, held_base(r, x), x);
            count++;
        }
    *constant = count > 0 ? sum / count : NAN;
}

/* Held-out loss of all views together. f: k, scratch.
 *   f(x) = f0 + stretch (sum_i w_i f_i(x) / sum_i w_i - f0)
 * An instance that no view of weight has is answered by f0. Stretch 1 is the plain mean. */
static double joint_loss(const trial *r, const double *w, double stretch, double *f)
{
    const gbc_problem *g = &r->g;
    double sum = 0, count = 0;

    for (int64_t x = 0; x < g->n; x++) {
        double weight = 0;
        if (!g->labelled[x]) continue;
        memset(f, 0, (size_t)g->k * sizeof *f);
        for (int64_t i = 0; i < (r->additive ? 1 : g->p); i++) {
            const double one = r->additive ? 1 : g->mask[i * g->n + x] ? w[i] : 0;
            const double *from = held_out(r, i, x);
            weight += one;
            for (int64_t j = 0; j < g->k; j++)
                f[j] += one * from[j];
        }
        for (int64_t j = 0; j < g->k; j++) {
            const double f0 = held_base(r, x)[j];
            f[j] = weight > 0 ? f0 + stretch * (f[j] / weight - f0) : f0;
        }
        sum += loss_at(g, f, x);
        count++;
    }
    return sum / count;
}

/* Weights from held-out losses. A view without labelled instances has shown no skill. NaN
 * would count as the mean of the other views, which is too kind: it gets the constant's
 * loss, hence weight 0. Where no loss is known at all, the weights are equal. */
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

/* Step all folds until more trees do not help. The runs stay as they are then.
 *
 * The count of trees that is kept is that of the least loss with stretch 1; stretches are
 * tried only there, since they cost a pass each and the best one moves slowly. Cost: folds
 * x trees iterations at most. */
static ferry_status step_all(ferry_ctx *ctx, trial *r)
{
    /* Each view's scores are what is expected of y given that view: their mean varies too
     * little, the more so the more the views complement each other. */
    static const double stretches[] = {1.25, 1.5, 2, 2.5, 3, 4};
    ferry_status st = FERRY_OK;
    const gbc_tuning *s = r->s;
    const int64_t p = r->g.p;
    double constant = NAN, least = INFINITY, *w = NULL, *loss = NULL, *f = NULL;
    bool finish = false;

    FERRY_NEW(ctx, w, p);
    FERRY_NEW(ctx, loss, p);
    FERRY_NEW(ctx, f, r->g.k);
    for (int64_t t = 1; t <= s->trees && t - r->trees <= s->patience && !finish; t++) {
        for (int64_t i = 0; i < s->folds; i++)
            FERRY_TRY(ferry_i_gbc_run_step(ctx, r->run[i]));
        if (!r->additive) {
            view_losses(r, loss, &constant);
            weigh(s->rule, p, loss, constant, w);
        }
        const double now = joint_loss(r, w, 1, f);
        if (now < least) {
            least = r->loss = now;
            r->trees = t;
            r->constant = constant;
            r->stretch = 1;
            memcpy(r->w, w, (size_t)p * sizeof *w);
            memcpy(r->view_loss, loss, (size_t)p * sizeof *loss);
            for (int64_t e = 0; !r->additive && p > 1 && e < FERRY_COUNT(stretches); e++) {
                const double wider = joint_loss(r, w, stretches[e], f);
                if (!(wider < r->loss)) continue;
                r->loss = wider;
                r->stretch = stretches[e];
            }
        }
        FERRY_TRY(
            ferry_i_progress(ctx, "gbc: cross-validation", t, s->trees, NAN, &finish));
    }
done:
    FERRY_FREE(w, loss, f);
    return st;
}

/* The forests cut to the best number of trees, asked about all instances. Trees beyond the
 * best number came from patience. The cut is for good: the runs step no further after
 * it. */
static ferry_status answer_all(ferry_ctx *ctx, const trial *r, gbc_answers *a)
{
    ferry_status st = FERRY_OK;
    const gbc_tuning *s = r->s;

    FERRY_TRY(ferry_i_gbc_answers_new(ctx, s, r->fold, a));
    for (int64_t i = 0; i < s->folds; i++) {
        const boosted trees = {*s->outputs, r->run[i]->b->forest, r->w, r->stretch, NULL};
        ferry_i_forest_cut(trees.forest, r->trees);
        FERRY_TRY(
            ferry_i_boosted_answers(ctx, &trees, a->n, s->views, a->p[i], a->viewless));
    }
done:
    return st;
}

/* lambda0 and lambda1 from a grid, by full runs on every fold. The least loss decides;
 * equal losses go to the smaller lambdas, which come first. Consensus has a grid only where
 * there are views to agree. Twelve settings at most, each as dear as a fit of all folds. */
static ferry_status choose_lambdas(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                                   gbc_plan *p)
{
    static const double grid0[] = {0, 0.1, 0.3}, grid1[] = {0, 0.1, 0.3, 1};
    ferry_status st = FERRY_OK;
    const int64_t n0 = s->g->p > 1 && !p->o.grow.additive ? FERRY_COUNT(grid0) : 1;
    const int64_t n1 = s->g->q > 0 ? FERRY_COUNT(grid1) : 1;
    double least = INFINITY;
    trial r = {0};

    for (int64_t e = 0; e < n0 * n1; e++) {
        const double lambda[] = {fmin(1, grid0[e / n1] * s->unit),
                                 fmin(1, grid1[e % n1] * s->unit)};
        trial_clear(&r);
        FERRY_TRY(trial_new(ctx, s, &p->o, lambda, fold, &r));
        FERRY_TRY(step_all(ctx, &r));
        if (!(r.loss < least)) continue;
        least = r.loss;
        p->lambda0 = lambda[0];
        p->lambda1 = lambda[1];
        p->trees = r.trees;
    }
done:
    trial_clear(&r);
    return st;
}

/* Average and additive both run to their best, then the graphs are asked. The trials hold
 * folds x views x n scores each: they are freed before anything else is made. chosen->w is
 * not used for additive answers. */
static ferry_status try_trees(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                              gbc_plan *p)
{
    static const double none[] = {0, 0}; /* lambdas: skill is told by the labels alone */
    ferry_status st = FERRY_OK;
    const int64_t views = s->g->p;
    trial way[2] = {{.loss = INFINITY}, {.loss = INFINITY}};
    gbc_answers a = {0};

    for (int additive = 0; additive < 2; additive++) {
        gbc_settings o = p->o;
        o.grow.additive = additive;
        o.weights = GBC_FIXED;
        /* The average is always needed: it tells the skill of the views. */
        if (additive && (s->combine == GBC_AVERAGE || views == 1)) continue;
        FERRY_TRY(trial_new(ctx, s, &o, none, fold, &way[additive]));
        FERRY_TRY(step_all(ctx, &way[additive]));
    }
    p->average_loss = way[0].loss;
    p->additive_loss = isfinite(way[1].loss) ? way[1].loss : NAN;
    p->constant_loss = way[0].constant;
    memcpy(p->w, way[0].w, (size_t)views * sizeof *p->w);
    memcpy(p->view_loss, way[0].view_loss, (size_t)views * sizeof *p->view_loss);
    p->o.grow.additive =
        views > 1 && (s->combine == GBC_ADDITIVE ||
                      (s->combine == GBC_COMBINE_AUTO && way[1].loss < way[0].loss));
    trial *chosen = &way[p->o.grow.additive];
    p->trees = chosen->trees;
    p->stretch = chosen->stretch;
    if (s->g->q == 0 && s->learner == GBC_TREE) goto done; /* nothing left to ask */
    FERRY_TRY(answer_all(ctx, chosen, &a));
    FERRY_TRY(ferry_i_gbc_weigh_graphs(ctx, &a, p->wg));
    FERRY_TRY(
        ferry_i_gbc_consider(ctx, &a, GBC_TREES, (gbc_part){.share = 1, .stretch = 1}, p));
done:
    ferry_i_gbc_answers_clear(&a);
    trial_clear(&way[0]);
    trial_clear(&way[1]);
    return st;
}

ferry_status ferry_i_gbc_try_labels(ferry_ctx *ctx, const gbc_tuning *s,
                                    const int32_t *fold, gbc_kind kind, gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    gbc_answers a = {0};
    double *prior = NULL;

    FERRY_TRY(ferry_i_gbc_answers_new(ctx, s, fold, &a));
    FERRY_NEW(ctx, prior, a.m);
    for (int64_t i = 0; i < s->folds; i++) {
        double count = 0;
        memset(prior, 0, (size_t)a.m * sizeof *prior);
        for (int64_t x = 0; x < a.n; x++) {
            if (!s->g->labelled[x] || fold[x] == i) continue;
            for (int64_t j = 0; j < a.m; j++)
                prior[j] += a.truth[x * a.m + j];
            count++;
        }
        for (int64_t e = 0; e < a.n * a.m; e++)
            a.p[i][e] = prior[e % a.m] / fmax(count, 1);
    }
    FERRY_TRY(ferry_i_gbc_consider(ctx, &a, kind, (gbc_part){.stretch = 1}, p));
done:
    ferry_i_gbc_answers_clear(&a);
    ferry_i_free(prior);
    return st;
}

static ferry_status mix(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                        gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    gbc_answers a = {0};

    FERRY_TRY(ferry_i_gbc_answers_new(ctx, s, fold, &a));
    FERRY_TRY(ferry_i_gbc_mix(ctx, &a, p));
done:
    ferry_i_gbc_answers_clear(&a);
    return st;
}

/* Every part by itself, its answers as graphs correct them; then their shares; then the
 * lambdas. */
ferry_status ferry_i_gbc_tune(ferry_ctx *ctx, const gbc_tuning *s, gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    int32_t *fold = NULL;

    FERRY_NEW(ctx, p->w, s->g->p);
    FERRY_NEW(ctx, p->view_loss, s->g->p);
    FERRY_NEW(ctx, p->wg, s->g->q);
    FERRY_NEW(ctx, fold, s->g->n);
    FERRY_TRY(deal(ctx, s->g, s->folds, fold));
    if (s->learner != GBC_LINEAR) FERRY_TRY(try_trees(ctx, s, fold, p));
    if (s->learner != GBC_TREE) FERRY_TRY(ferry_i_gbc_try_lines(ctx, s, fold, p));
    if (s->learner == GBC_LEARNER_AUTO && s->correct != GBC_CORRECT_NO) {
        if (s->g->q > 0) FERRY_TRY(ferry_i_gbc_try_labels(ctx, s, fold, GBC_LABELS, p));
        FERRY_TRY(ferry_i_gbc_try_near(ctx, s, fold, p));
    }
    if (s->learner != GBC_TREE) FERRY_TRY(mix(ctx, s, fold, p));
    if (s->lambdas && s->learner == GBC_TREE) FERRY_TRY(choose_lambdas(ctx, s, fold, p));
done:
    ferry_i_free(fold);
    return st;
}
