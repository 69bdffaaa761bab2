/* The two-level hedge (hedge.h): a round of it, the offline part, and its state. */
#include "learn/hedge.h"

#include <math.h>
#include <string.h>

#include "learn/cdspp_spaces.h"
#include "learn/learner.h"

/* ---- weights ---- */

/* beta1^M_S / (beta1^M_S + beta1^M_T), without powers that may underflow. */
double hedge_u(const hedge *h, int64_t i)
{
    return 1 / (1 + pow(h->beta1, (double)(h->source[i].mt - h->source[i].ms)));
}

/* beta2^M_i / sum_j beta2^M_j, as one over sums of differences. */
double hedge_alpha(const hedge *h, int64_t i)
{
    double all = 0;

    for (int64_t j = 0; j < h->n; j++)
        all += pow(h->beta2, (double)(h->source[j].mi - h->source[i].mi));
    return 1 / all;
}

double hedge_bound(double beta, double experts, double fewest)
{
    if (experts <= 1) return fewest; /* it is the one: beta, then 1, plays no part */
    if (beta >= 1) return INFINITY;
    return fewest * (1 + beta) / (2 * beta) + log(experts) / (1 - beta);
}

/* ---- scores ---- */

/* The same at fit and online, or W_S would see rows of another kind than it learned from. */
static void after_projection(const hedge *h, int64_t i, double *z)
{
    const block mu = h->mu[i].b;

    for (int64_t c = 0; h->post == HEDGE_POST_CENTRED && c < mu.k; c++)
        z[c] -= mu.at[c];
    if (h->post != HEDGE_POST_NONE) row_unit(mu.k, z);
}

/* The target's scores beside source i: one row of its own for losses, else the same. */
static double *target_scores(const hedge *h, const hedge_scores *f, int64_t i)
{
    return f->ft + (h->rule == HEDGE_LOSSES ? i * h->k : 0);
}

/* Where the codes of Q number `which` begin: there are few. */
static int64_t codes_at(const hedge *h, int64_t which)
{
    int64_t from = 0;

    for (int64_t g = 0; g < which; g++)
        from += h->codes[g].b.n;
    return from;
}

void hedge_mix(const hedge *h, hedge_scores *f)
{
    const int64_t k = h->k;
    double *z = f->z;

    if (k > 0) memset(f->total, 0, (size_t)k * sizeof *f->total);
    for (int64_t i = 0; i < h->n; i++) {
        const block r = h->r[i].b;
        double *fs = f->fs + i * k, *fi = f->f + i * k, *ft = target_scores(h, f, i);
        const ferry_row code = {r.k, NULL, f->c + codes_at(h, h->source[i].codes)};
        row_scores(r.n, r.k, r.at, code, z); /* z = R'c = Pt'x */
        after_projection(h, i, z);
        const ferry_row in = {r.n, NULL, z};
        pa_scores(&h->ws[i], in, fs);
        if (h->wt) pa_scores(&h->wt[i], in, ft);
        const double u = f->u[i] = hedge_u(h, i), alpha = f->alpha[i] = hedge_alpha(h, i);
        for (int64_t y = 0; y < k; y++) {
            fi[y] = u * fs[y] + (1 - u) * ft[y]; /* f_i = u_i fS_i + v_i fT */
            f->total[y] += alpha * fi[y];        /* F = sum_i alpha_i f_i */
        }
        z += r.n;
    }
}

void hedge_score(const hedge *h, ferry_row x, hedge_scores *f)
{
    double *c = f->c;

    for (int64_t g = 0; g < h->n_codes; g++) {
        const block q = h->codes[g].b;
        row_scores(q.n, q.k, q.at, x, c); /* c(x) = Q'x */
        c += q.n;
    }
    if (h->rule == HEDGE_MISTAKES) pa_scores(&h->target, x, f->ft);
    hedge_mix(h, f);
    f->rounded = false;
}

/* What each learner says, to be judged when the label comes: argmax of fT, of each fS_i, of each f_i. */
static void take_votes(const hedge *h, const hedge_scores *f, int32_t *votes)
{
    votes[0] = row_argmax(h->k, f->ft);
    for (int64_t i = 0; i < h->n; i++) {
        votes[1 + i] = row_argmax(h->k, f->fs + i * h->k);
        votes[1 + h->n + i] = row_argmax(h->k, f->f + i * h->k);
    }
}

/* ---- a label ---- */

/* max(0, 1 - f_y + the best of the others) */
static double loss_of(int64_t k, const double *f, int32_t y)
{
    double best = -INFINITY;

    for (int64_t c = 0; c < k; c++)
        if (c != y) best = fmax(best, f[c]);
    return fmax(0, 1 - f[y] + best);
}

static void count_mistakes(hedge *h, int32_t y, const int32_t *votes)
{
    for (int64_t i = 0; i < h->n; i++) {
        h->source[i].mt += votes[0] != y;
        h->source[i].ms += votes[1 + i] != y;
        h->source[i].mi += votes[1 + h->n + i] != y;
    }
}

/* OMTL-MC: the larger loss of a pair counts, and that of a source above the whole's. On a tie neither weight falls.
 * Votes given earlier cannot be used: losses need all scores, so a late label is judged by the scores of now. */
static void count_losses(hedge *h, int32_t y, const hedge_scores *f)
{
    const double all = loss_of(h->k, f->total, y);

    for (int64_t i = 0; i < h->n; i++) {
        const double source = loss_of(h->k, f->fs + i * h->k, y),
                     target = loss_of(h->k, target_scores(h, f, i), y);
        h->source[i].ms += source > target;
        h->source[i].mt += target > source;
        h->source[i].mi += loss_of(h->k, f->f + i * h->k, y) > all;
    }
}

/* Mistakes first, from what was said before; then the step of the target's learner. The paper's listing has the step
 * first, so that a mistake of the target is hardly ever counted. */
static void learn_mistakes(hedge *h, hedge_scores *f, const stream_label *l)
{
    if (!l->votes) take_votes(h, f, f->votes);
    count_mistakes(h, l->cls, l->votes ? l->votes : f->votes);
    /* x'x is a pass over x, which only a loss needs */
    const double xx = loss_of(h->k, f->ft, l->cls) > 0 ? row_norm2(l->x) : 0;
    const pa_step step = pa_learn(&h->target, l->x, xx, l->cls, f->ft);
    if (f->screen && step.tau != 0) hedge_screen_step(h, f->screen, l->cls, step.r);
}

static void learn_losses(hedge *h, hedge_scores *f, int32_t y)
{
    const double *z = f->z;

    count_losses(h, y, f);
    for (int64_t i = 0; i < h->n; i++) {
        const ferry_row in = {h->source[i].rank, NULL, z};
        (void)pa_learn(&h->wt[i], in, row_norm2(in), y, target_scores(h, f, i));
        z += h->source[i].rank;
    }
}

/* The label of the row at hand finds its scores still there; any other row is scored with the weights of now. */
static void learn_label(scope *s, scope *keep, void *state, void *scratch,
                        const stream_label *l)
{
    hedge *h = state;
    hedge_scores *f = scratch;

    (void)s, (void)keep;
    if (!l->seen)
        hedge_score(h, l->x, f);
    else if (f->rounded)
        hedge_screen_exact(h, f->screen, l->x, l->cls, f);
    if (h->rule == HEDGE_LOSSES)
        learn_losses(h, f, l->cls);
    else
        learn_mistakes(h, f, l);
}

/* ---- the stream ---- */

static int64_t columns(const void *state)
{
    return ((const hedge *)state)->codes[0].b.k;
}

/* The rule of losses judges by scores of the moment and needs none. */
static int64_t votes_size(const void *state)
{
    const hedge *h = state;

    return h->rule == HEDGE_MISTAKES ? 2 * h->n + 1 : 0;
}

static void *scores_new(scope *s, const void *state, int64_t k, bool learns, bool dense)
{
    const hedge *h = state;
    const int64_t codes = codes_at(h, h->n_codes);
    int64_t ranks = 0;
    hedge_scores *f = NEW(s, hedge_scores, 1);

    for (int64_t i = 0; i < h->n; i++)
        ranks += h->source[i].rank;
    f->c = NEW(s, double, codes + ranks + (3 * h->n + 2) * k + 2 * h->n);
    f->ft = f->c + codes;
    f->z = f->ft + (h->n + 1) * k;
    f->fs = f->z + ranks;
    f->f = f->fs + h->n * k;
    f->total = f->f + h->n * k;
    f->u = f->total + k;
    f->alpha = f->u + h->n;
    f->votes = NEW(s, int32_t, 2 * h->n + 1);
    if (learns && dense && hedge_can_screen(h)) f->screen = hedge_screen_new(s, h, k, f);
    return f;
}

static void look(const void *state, void *scratch, ferry_row x, double *score)
{
    const hedge *h = state;
    hedge_scores *f = scratch;

    hedge_score(h, x, f);
    if (h->k > 0) memcpy(score, f->total, (size_t)h->k * sizeof *score);
}

static void see(void *state, void *scratch, ferry_row x, double *score, int32_t *votes)
{
    const hedge *h = state;

    look(h, scratch, x, score);
    if (votes && h->rule == HEDGE_MISTAKES) take_votes(h, scratch, votes);
}

static int32_t answer_alone(void *state, void *scratch, ferry_row x, int32_t *votes)
{
    const hedge *h = state;
    hedge_scores *f = scratch;

    if (!f->screen) return -1;
    const int32_t cls = hedge_screen_score(h, f->screen, x, f);
    f->rounded = cls >= 0;
    for (int64_t i = 0; votes && cls >= 0 && i <= 2 * h->n; i++)
        votes[i] = f->votes[i];
    return cls;
}

/* What each learner counts in the whole: u_i alpha_i, and the rest for the target's. */
static int64_t parts(const void *state, const char **names, double *w)
{
    const hedge *h = state;

    if (!w) return h->n + 1;
    names[0] = "target";
    w[0] = 1;
    for (int64_t i = 0; i < h->n; i++) {
        names[1 + i] = ferry_i_ids_at(h->names, i);
        w[1 + i] = hedge_u(h, i) * hedge_alpha(h, i);
        w[0] -= w[1 + i];
    }
    return h->n + 1;
}

/* Theorem 1: of the whole, by the best pair. Theorem 2: of the pair that is nearest to (or furthest above) its bound. */
static int64_t counts(const void *state, const char **names, double *w)
{
    static const char *const told[] = {"best_pair", "bound", "pair", "pair_bound"};
    const hedge *h = state;
    double least = INFINITY, slack = INFINITY;

    if (h->rule != HEDGE_MISTAKES) return 0;
    if (!w) return FERRY_COUNT(told);
    for (int64_t i = 0; i < FERRY_COUNT(told); i++)
        names[i] = told[i];
    for (int64_t i = 0; i < h->n; i++) {
        const hedge_source *o = &h->source[i];
        const double made = (double)o->mi,
                     bound = hedge_bound(h->beta1, 2, fmin((double)o->ms, (double)o->mt));
        least = fmin(least, made);
        if (i > 0 && !(bound - made < slack)) continue;
        slack = bound - made;
        w[2] = made;
        w[3] = bound;
    }
    w[0] = least;
    w[1] = hedge_bound(h->beta2, (double)h->n, least);
    return FERRY_COUNT(told);
}

const online hedge_online = {.classes = "het:2",
                             .columns = columns,
                             .votes = votes_size,
                             .scratch = scores_new,
                             .look = look,
                             .see = see,
                             .answer = answer_alone,
                             .learn = learn_label,
                             .parts = parts,
                             .counts = counts};

/* ---- offline ---- */

/* The offline part at work. */
typedef struct fitting {
    scope *s, *keep;
    const hedge_options *o;
    const domain *t;
    hedge *h;
} fitting;

/* rows[0 .. the result) <- at most per_class (0: all) rows of each class, ascending: the first ones of each by their
 * keys. */
static int64_t draw_rows(const fitting *a, const domain *d, int64_t *rows)
{
    const int64_t most = a->o->per_class, *order = NULL;
    int64_t *count = NEW(a->s, int64_t, a->h->k), n = 0;
    uint8_t *drawn = NEW(a->s, uint8_t, d->n);

    if (most > 0) order = rows_by_key(a->s, d->n, d->key);
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t at = order ? order[i] : i;
        drawn[at] = !order || count[d->y.cls[at]]++ < most;
    }
    for (int64_t i = 0; i < d->n; i++)
        if (drawn[i]) rows[n++] = i;
    return n;
}

/* A learner after one PA pass over the rows in the order of their keys: they stand domain by domain, and such a learner
 * remembers best what it saw last. */
static pa pass(const fitting *a, matrix z, const int32_t *y, const uint64_t *key)
{
    const int64_t k = a->h->k;
    const row_pass by = row_pass_new(a->s, z.n, key, k, y);
    pa p = pa_new(a->keep, (pa_kind)a->o->variant, a->o->C, k, z.cols, false);
    double *f = NEW(a->s, double, k);

    for (int64_t i = 0; i < z.n; i++) {
        const ferry_row x = row_at(z, by.row[i]);
        pa_scores(&p, x, f);
        (void)pa_learn(&p, x, row_norm2(x), by.number[y[by.row[i]]], f);
    }
    pa_renumber(a->s, &p, by.number);
    return p;
}

/* The number of the codes Q of c, added when no earlier source has the same: equal class counts give equal bits, since
 * the source enters Q by nothing else. Transposed, so that a code is one row: a sparse x reads few numbers of each. */
static int64_t find_codes(const fitting *a, const cdspp_spaces *c)
{
    hedge *h = a->h;
    const int64_t n = c->shared, d = a->t->x.cols;
    block q = block_new(a->keep, HERE(n), n, d);
    int64_t which = 0;

    for (int64_t j = 0; j < d; j++)
        for (int64_t i = 0; i < n; i++)
            ROW(q, i)[j] = ROW(c->q, j)[i];
    for (; which < h->n_codes; which++) {
        const block old = h->codes[which].b;
        if (old.n == n && memcmp(old.at, q.at, (size_t)(n * d) * sizeof *q.at) == 0) break;
    }
    if (which < h->n_codes)
        scope_drop(a->keep, q.at);
    else
        h->codes[h->n_codes++].b = q;
    return which;
}

/* [Ps'Xs, Pt'Xt]' of source i, its mean kept; then what comes after the projection. */
static matrix project(const fitting *a, const cdspp_spaces *c, matrix xs, int64_t i)
{
    const matrix xt = a->t->x;
    const int64_t n = xs.n + xt.n, rank = c->rank;
    const matrix z = matrix_dense(a->s, HERE(n), n, rank);
    double *at = z.m->dense, *mu = a->h->mu[i].b.at;

    mul(a->s, xs, c->ps, (block){xs.rows, xs.n, rank, at});
    mul(a->s, xt, c->pt, (block){xt.rows, xt.n, rank, at + xs.n * rank});
    for (int64_t e = 0; e < n * rank; e++)
        mu[e % rank] += at[e] / (double)n;
    for (int64_t r = 0; r < n; r++)
        after_projection(a->h, i, at + r * rank);
    return z;
}

/* Z has both domains' labels: one learner sees the two as one domain. The target's learner of the rule of losses sees
 * the target's part of z alone, whose rows stand last. */
static void learn_source(const fitting *a, const cdspp_spaces *c, matrix xs,
                         const int32_t *ys, const uint64_t *key, int64_t i)
{
    hedge *h = a->h;
    const domain *t = a->t;
    int32_t *y = NEW(a->s, int32_t, xs.n + t->n);
    uint64_t *keys = NEW(a->s, uint64_t, xs.n + t->n);
    block r = block_new(a->keep, HERE(c->rank), c->rank, c->shared);

    h->mu[i].b = block_new(a->keep, HERE(1), 1, c->rank);
    for (int64_t e = 0; e < c->rank; e++)
        for (int64_t j = 0; j < c->shared; j++)
            ROW(r, e)[j] = AT(c->r, j, e);
    h->r[i].b = r;
    h->source[i] = (hedge_source){.codes = find_codes(a, c), .rank = c->rank};
    for (int64_t e = 0; e < xs.n + t->n; e++) {
        y[e] = e < xs.n ? ys[e] : t->y.cls[e - xs.n];
        keys[e] = e < xs.n ? key[e] : t->key[e - xs.n];
    }
    const matrix z = project(a, c, xs, i);
    h->ws[i] = pass(a, z, y, keys);
    if (h->rule != HEDGE_LOSSES) return;
    int64_t *own = NEW(a->s, int64_t, t->n);
    for (int64_t e = 0; e < t->n; e++)
        own[e] = xs.n + e;
    h->wt[i] = pass(a, take_rows(a->s, z, t->n, own, false), t->y.cls, t->key);
}

/* Source d as number h->n, or left out when it has no class of the target. */
static void add_source(const fitting *a, const domain *d)
{
    hedge *h = a->h;
    int64_t *rows = NEW(a->s, int64_t, d->n);
    const int64_t n = draw_rows(a, d, rows);
    const matrix xs = take_rows(a->s, d->x, n, rows, false);
    int32_t *ys = NEW(a->s, int32_t, n);
    uint64_t *key = NEW(a->s, uint64_t, n);

    for (int64_t i = 0; i < n; i++) {
        ys[i] = d->y.cls[rows[i]];
        key[i] = d->key[rows[i]];
    }
    const cdspp_problem p = {{xs.m, ys}, {a->t->x.m, a->t->y.cls}, h->k, a->o->alpha};
    /* dim 0: all directions with a positive eigenvalue. Rank 0: no class in common. */
    const cdspp_spaces c = cdspp_solve(a->s, &p, 0);
    if (c.rank == 0) {
        ferry_i_log(scope_ctx(a->s), FERRY_WARN,
                    "%s: source '%s' has no labelled class of the target's; left out",
                    scope_ctx(a->s)->fitting, d->name);
        return;
    }
    if (ferry_i_ids_add(h->names, d->name, NULL) < 0)
        scope_check(a->s, ferry_i_nomem(scope_ctx(a->s)));
    learn_source(a, &c, xs, ys, key, h->n++);
}

/* beta for a known number of rounds (the paper's setting, equations 33 and 39 with T for the unknown number of
 * mistakes), or as set. */
static double beta_of(double horizon, double experts, double beta)
{
    return horizon > 0 ? sqrt(horizon) / (sqrt(horizon) + sqrt(log(experts))) : beta;
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

static void make_lists(scope *s, scope *keep, int64_t most, hedge *h)
{
    h->names = ferry_i_ids_new();
    if (!h->names) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(keep, free_ids, h->names);
    h->codes = NEW(keep, hedge_block, most);
    h->source = NEW(keep, hedge_source, most);
    h->r = NEW(keep, hedge_block, most);
    h->mu = NEW(keep, hedge_block, most);
    h->ws = NEW(keep, pa, most);
    if (h->rule == HEDGE_LOSSES) h->wt = NEW(keep, pa, most);
}

void hedge_fit(scope *s, scope *keep, const problem *p, hedge_rule rule,
               const hedge_options *o, hedge *h)
{
    const char *name = scope_ctx(s)->fitting;
    const fitting a = {s, keep, o, target(p), h};

    *h = (hedge){.rule = rule, .post = o->post, .k = p->classes};
    make_lists(s, keep, p->n_sources, h);
    for (int i = 0; i < p->n_sources; i++) {
        const int64_t mark = scope_mark(s);
        add_source(&a, &p->d[i]);
        scope_release(s, mark);
        (void)progress(s, name, i + 1, p->n_sources, NAN);
    }
    if (h->n == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "%s needs a source with a class that the target's labelled rows have",
                   name);
    if (rule == HEDGE_MISTAKES) h->target = pass(&a, a.t->x, a.t->y.cls, a.t->key);
    h->beta1 = beta_of(o->horizon, 2, o->beta1);
    h->beta2 = beta_of(o->horizon, (double)h->n, o->beta2);
    report_real(s, "sources", (double)h->n);
    report_real(s, "instances", (double)a.t->n);
}

/* ---- the state ---- */

static bool source_fits(const hedge *h, int64_t i)
{
    const hedge_source *o = &h->source[i];
    const block r = h->r[i].b;

    return o->codes < h->n_codes && r.n == o->rank && r.k == h->codes[o->codes].b.n &&
           h->mu[i].b.n == 1 && h->mu[i].b.k == o->rank && h->ws[i].w.k == o->rank &&
           (!h->wt || h->wt[i].w.k == o->rank);
}

static void check_hedge(scope *s, const void *state)
{
    const hedge *h = state;
    const int64_t d = h->codes[0].b.k;

    if (!(h->beta1 > 0 && h->beta1 <= 1 && h->beta2 > 0 && h->beta2 <= 1))
        scope_fail(s, FERRY_EDATA, "tensor beta: %g %g", h->beta1, h->beta2);
    if ((h->rule == HEDGE_LOSSES) != (h->wt != NULL) ||
        (h->rule == HEDGE_MISTAKES) != (h->target.w.at != NULL) ||
        (h->target.w.at && h->target.w.k != d))
        scope_fail(s, FERRY_EDATA, "tensor het: rule %lld and other learners",
                   (long long)h->rule);
    for (int64_t g = 0; g < h->n_codes; g++)
        if (h->codes[g].b.k != d)
            scope_fail(s, FERRY_EDATA, "tensor codes.%lld: %lld columns, not %lld",
                       (long long)g, (long long)h->codes[g].b.k, (long long)d);
    for (int64_t i = 0; i < h->n; i++)
        if (!source_fits(h, i))
            scope_fail(s, FERRY_EDATA, "tensor source.%lld: rank %lld, codes %lld",
                       (long long)i, (long long)h->source[i].rank,
                       (long long)h->source[i].codes);
}

static const field block_fields[] = {
    FIELD_AS(hedge_block, BLOCK, b, "", .rows = SIZE(hedge_block, b.n),
             .cols = SIZE(hedge_block, b.k)),
};
static const table block_table = TABLE(hedge_block, block_fields);

static const field source_fields[] = {
    FIELD_AS(hedge_source, INT, codes, ":0", .lo = 0, .hi = INT32_MAX),
    FIELD_AS(hedge_source, INT, rank, ":1", .lo = 1, .hi = INT32_MAX),
    FIELD_AS(hedge_source, INT, ms, ":2", .lo = 0, .hi = 9e18),
    FIELD_AS(hedge_source, INT, mt, ":3", .lo = 0, .hi = 9e18),
    FIELD_AS(hedge_source, INT, mi, ":4", .lo = 0, .hi = 9e18),
};
static const table source_table = TABLE(hedge_source, source_fields);

static const field hedge_fields[] = {
    FIELD_AS(hedge, INT, rule, "het:0", .lo = HEDGE_MISTAKES, .hi = HEDGE_LOSSES + 1),
    FIELD_AS(hedge, INT, post, "het:1", .lo = HEDGE_POST_NONE,
             .hi = HEDGE_POST_CENTRED + 1),
    FIELD_AS(hedge, INT, k, "het:2", .rows = CLASSES, .lo = 1, .hi = INT32_MAX),
    FIELD_AS(hedge, INT, n, "het:3", .lo = 1, .hi = INT32_MAX),
    FIELD_AS(hedge, INT, n_codes, "het:4", .lo = 1, .hi = INT32_MAX),
    FIELD_AS(hedge, REAL, beta1, "beta:0"),
    FIELD_AS(hedge, REAL, beta2, "beta:1"),
    FIELD_AS(hedge, IDS, names, "sources", .rows = SIZE(hedge, n)),
    ARRAY(hedge, LIST, codes, .rows = SIZE(hedge, n_codes), .of = &block_table),
    ARRAY(hedge, LIST, source, .rows = SIZE(hedge, n), .of = &source_table),
    FIELD_AS(hedge, LIST, r, "source.r", .rows = SIZE(hedge, n), .of = &block_table),
    FIELD_AS(hedge, LIST, mu, "source.mu", .rows = SIZE(hedge, n), .of = &block_table),
    FIELD_AS(hedge, LIST, ws, "source.ws", .rows = SIZE(hedge, n), .of = &pa_table),
    FIELD_AS(hedge, LIST, wt, "source.wt", .rows = SIZE(hedge, n), .of = &pa_table,
             .optional = true),
    FIELD_AS(hedge, STRUCT, target, "pa", .of = &pa_table, .optional = true),
};
const table hedge_table = {sizeof(hedge), hedge_fields, FERRY_COUNT(hedge_fields),
                           check_hedge, NULL};
