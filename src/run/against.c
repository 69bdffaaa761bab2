/* What methods are held against, and how sure the difference is: question 1 of the verdict (verdict.c).
 *
 * The reference is what would be deployed without the source: T, which the answer blends of the ways that see no source, in
 * every repeat by the labels that it shows (policy.h). It is scored like any method, and nothing in it was picked on hidden
 * labels. Where there is no answer, or no label to choose by, it is the baseline with the best mean. The best in hindsight is
 * the best by mean of the ways without transfer (target only or pooled): a method that is better than it needs no excuse.
 *
 * The table: each transfer method that uses its source against either, both sides, corrected for their number (step_down.c). The baseline
 * with the best mean was picked on the same numbers, which makes `worse` easier: where it is the reference, p-values on that
 * side count B times.
 *
 * The primary comparison, alone: in every cell the transfer method that the labels of other repeats say is best
 * (ferry_i_primary_cells), or the one that the task names, against the best in hindsight. Nothing is paid for having chosen. If it is the same
 * method everywhere, that method's own tests need no correction. */
#include <math.h>
#include <string.h>

#include "run/run.h"

static const double ALPHA = 0.05;

/* ---- one comparison ---- */

/* Whether every repeat hid the same: then repeats are copies but for the methods' own chance. */
static bool is_fixed(const ferry_results *rs)
{
    const size_t n = (size_t)ferry_i_score_entries(rs);

    for (int64_t r = 1; r < rs->run.repeats; r++)
        if (memcmp(rs->scored[0], rs->scored[r], n) != 0) return false;
    return true;
}

/* repeats x n: which labels the methods saw. */
static void fill_seen(const ferry_results *rs, uint8_t *seen)
{
    const int64_t n = ferry_i_score_entries(rs);

    for (int64_t r = 0; r < rs->run.repeats; r++)
        for (int64_t i = 0; i < n; i++)
            seen[r * n + i] = !rs->scored[r][i] && ferry_i_score_known(rs, i);
}

/* effect and mean (may be NULL): n and repeats numbers to fill. */
static ferry_status cross(ferry_ctx *ctx, const ferry_results *rs, double *const *a,
                          double *const *b, double *effect, double *mean,
                          ferry_crossed *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_score_entries(rs), repeats = rs->run.repeats;
    const double sign = ferry_i_results_sign(rs);
    double *diff = NULL;
    uint8_t *seen = NULL;

    FERRY_NEW(ctx, diff, repeats * n);
    FERRY_NEW(ctx, seen, repeats * n);
    fill_seen(rs, seen);
    for (int64_t r = 0; r < repeats; r++)
        for (int64_t i = 0, k = 0; i < n; i++) {
            diff[r * n + i] = NAN;
            if (!rs->scored[r][i]) continue;
            if (a[r] && b[r]) diff[r * n + i] = sign * (a[r][k] - b[r][k]);
            k++;
        }
    const ferry_differences in = {.repeats = repeats,
                                  .n = n,
                                  .diff = diff,
                                  .cluster = {rs->ratings ? rs->ratings->user : NULL,
                                              rs->ratings ? rs->ratings->item : NULL},
                                  .seen = seen,
                                  .hands = rs->hands.hands,
                                  .folds = rs->hands.folds,
                                  .fixed = is_fixed(rs),
                                  .ordered = rs->run.goal == FERRY_STREAM,
                                  .effect = effect,
                                  .mean = mean};
    FERRY_TRY(ferry_i_crossed(ctx, &in, out));
done:
    FERRY_FREE(diff, seen);
    return st;
}

ferry_status ferry_i_results_cross(ferry_ctx *ctx, const ferry_results *rs,
                                   double *const *a, double *const *b, ferry_crossed *out)
{
    return cross(ctx, rs, a, b, NULL, NULL, out);
}

/* ---- against what ---- */

static bool is_baseline(const ferry_entry *r)
{
    return !r->pub.reason && r->pub.kind == FERRY_KIND_BASELINE;
}

/* The best by mean without transfer: of the target-only and pooled ones, if there are any. */
static int64_t best_in_hindsight(const ferry_results *rs, int64_t n, const int64_t *order)
{
    for (int any = 0; any < 2; any++)
        for (int64_t i = 0; i < n; i++) {
            const ferry_entry *r = &rs->result[order[i]];
            if (is_baseline(r) && (any || r->pub.uses == FERRY_USES_TARGET_ONLY ||
                                   r->pub.uses == FERRY_USES_POOLED))
                return order[i];
        }
    return -1;
}

/* Whether T was scored in every repeat, and chosen by labels. */
static bool has_policy(const ferry_results *rs)
{
    const ferry_policy_runs *k = rs->policy;
    bool all = k && k->t_rows && rs->run.visible > 0 && k->repeats >= rs->run.repeats;

    for (int64_t r = 0; all && r < rs->run.repeats; r++)
        all = k->t_rows[r] != NULL;
    return all;
}

static double *const *reference_rows(const ferry_results *rs)
{
    if (rs->by_policy) return rs->policy->t_rows;
    return rs->run.best_baseline >= 0 ? rs->result[rs->run.best_baseline].rows : NULL;
}

/* ---- all comparisons ---- */

static ferry_status compare(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r,
                            ferry_tested *t)
{
    ferry_status st = FERRY_OK;
    ferry_crossed *c = &r->test;
    ferry_result *v = &r->pub;

    FERRY_TRY(cross(ctx, rs, r->rows, reference_rows(rs), t ? t->effect : NULL,
                    t ? t->mean : NULL, c));
    if (t) t->c = *c;
    v->pairs = c->repeats;
    if (c->n == 0) goto done;
    v->baseline = rs->run.reference;
    v->gain = c->mu;
    v->low = isfinite(c->low) ? c->low : NAN;
    v->high = isfinite(c->high) ? c->high : NAN;
    v->bound = isfinite(c->bound) ? c->bound : NAN;
    v->most = isfinite(c->most) ? c->most : NAN;
    v->se = c->se;
    v->df = c->df;
    v->fixed = is_fixed(rs);
    v->p_compare = c->se > 0 ? fmin(1, 2 * fmin(c->p_better, c->p_worse)) : NAN;
done:
    return st;
}

static ferry_status compare_best(ferry_ctx *ctx, const ferry_results *rs, ferry_entry *r,
                                 ferry_tested *t)
{
    ferry_status st = FERRY_OK;
    ferry_crossed *c = &r->hindsight;
    ferry_result *v = &r->pub;

    FERRY_TRY(cross(ctx, rs, r->rows, rs->result[rs->run.best_baseline].rows, t->effect,
                    t->mean, c));
    t->c = *c;
    if (c->n == 0) goto done;
    v->over_best = c->mu;
    v->over_best_low = isfinite(c->low) ? c->low : NAN;
    v->over_best_high = isfinite(c->high) ? c->high : NAN;
done:
    return st;
}

static void free_tested(int64_t n, ferry_tested *t)
{
    for (int64_t i = 0; t && i < n; i++)
        FERRY_FREE(t[i].effect, t[i].mean);
    ferry_i_free(t);
}

static ferry_status new_tested(ferry_ctx *ctx, const ferry_results *rs, int64_t n,
                               ferry_tested **out)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, *out, n);
    for (int64_t i = 0; i < n; i++) {
        FERRY_NEW(ctx, (*out)[i].effect, ferry_i_score_entries(rs));
        FERRY_NEW(ctx, (*out)[i].mean, rs->run.repeats);
    }
done:
    return st;
}

/* Every method that has numbers against the reference; transfer methods also against the best in hindsight, and how their tests go
 * together. */
static ferry_status compare_all(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_score_entries(rs);
    ferry_tested *t[2] = {NULL, NULL};
    int64_t judged = 0, m = 0;

    for (int64_t i = 0; i < rs->n; i++)
        judged += ferry_i_results_judged(&rs->result[i]);
    for (int k = 0; k < 2; k++) {
        FERRY_TRY(new_tested(ctx, rs, judged, &t[k]));
        FERRY_NEW(ctx, rs->law[k], judged * judged);
    }
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (r->pub.reason || (!rs->by_policy && i == rs->run.best_baseline)) continue;
        const bool test = ferry_i_results_judged(r);
        FERRY_TRY(compare(ctx, rs, r, test ? &t[0][m] : NULL));
        if (!test) continue;
        FERRY_TRY(compare_best(ctx, rs, r, &t[1][m]));
        m++;
    }
    for (int k = 0; k < 2; k++)
        ferry_i_together(judged, n, rs->run.repeats, t[k], rs->law[k]);
done:
    free_tested(judged, t[0]);
    free_tested(judged, t[1]);
    return st;
}

bool ferry_i_results_judged(const ferry_entry *r)
{
    return !r->pub.reason && r->pub.kind == FERRY_KIND_TRANSFER;
}

static ferry_status name_reference(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;

    rs->run.reference =
        ferry_i_strdup(rs->by_policy ? ferry_i_uses_name(FERRY_USES_TARGET_ONLY)
                                     : rs->result[rs->run.best_baseline].pub.name);
    FERRY_HAVE(ctx, rs->run.reference);
    rs->run.reference_mean =
        rs->by_policy ? ferry_i_mean(rs->run.repeats, rs->policy->t)
                      : ferry_i_result_mean(rs, &rs->result[rs->run.best_baseline], 0);
done:
    return st;
}

ferry_status ferry_i_results_compare(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(rs->n, sizeof *order);

    rs->run.best = rs->run.best_baseline = -1;
    FERRY_HAVE(ctx, order);
    const int64_t n = ferry_i_results_rank(rs, order);
    if (rs->n_metrics == 0) goto done;
    for (int64_t i = n - 1; i >= 0; i--) /* a control is never the best */
        if (rs->result[order[i]].pub.uses != FERRY_USES_CONTROL) rs->run.best = order[i];
    rs->run.best_baseline = best_in_hindsight(rs, n, order);
    rs->by_policy = has_policy(rs);
    if (rs->run.best_baseline < 0) goto done;
    FERRY_TRY(name_reference(ctx, rs));
    FERRY_TRY(compare_all(ctx, rs));
    FERRY_TRY(ferry_i_results_correct(ctx, rs));
done:
    ferry_i_free(order);
    return st;
}

/* ---- the table: corrected for the number of methods ---- */

/* B, which pays for having picked the best of them. */
static double count_baselines(const ferry_results *rs)
{
    double n = 0;

    for (int64_t i = 0; i < rs->n; i++)
        n += is_baseline(&rs->result[i]);
    return n;
}

bool ferry_i_results_in_level(const ferry_entry *r)
{
    return ferry_i_results_judged(r) && !r->unused;
}

typedef struct family {
    int64_t n;
    ferry_entry **member;
    double *law[2], *better, *worse, *best;
} family;

/* used: of the methods that use their source. */
static ferry_status new_family(ferry_ctx *ctx, ferry_results *rs, bool used, family *f)
{
    ferry_status st = FERRY_OK;
    int64_t *place = NULL, judged = 0, m = 0;

    FERRY_NEW(ctx, place, rs->n);
    FERRY_NEW(ctx, f->member, rs->n);
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        if (!ferry_i_results_judged(r)) continue;
        if (!used || ferry_i_results_in_level(r)) {
            place[f->n] = judged;
            f->member[f->n++] = r;
        }
        judged++;
    }
    FERRY_NEW(ctx, f->better, f->n);
    FERRY_NEW(ctx, f->worse, f->n);
    FERRY_NEW(ctx, f->best, f->n);
    for (int k = 0; k < 2; k++) {
        FERRY_NEW(ctx, f->law[k], f->n * f->n);
        for (m = 0; m < f->n; m++)
            for (int64_t o = 0; o < f->n; o++)
                f->law[k][m * f->n + o] = rs->law[k][place[m] * judged + place[o]];
    }
done:
    ferry_i_free(place);
    return st;
}

static void free_family(family *f)
{
    ferry_i_free((void *)f->member);
    FERRY_FREE(f->law[0], f->law[1], f->better, f->worse, f->best);
}

static ferry_status correct_among(ferry_ctx *ctx, ferry_results *rs, bool used)
{
    ferry_status st = FERRY_OK;
    const double pays = rs->by_policy ? 1 : count_baselines(rs);
    family f = {0};

    FERRY_TRY(new_family(ctx, rs, used, &f));
    for (int64_t m = 0; m < f.n; m++) {
        const ferry_entry *r = f.member[m];
        const bool paired = r->pub.pairs > 0;
        f.better[m] = paired ? r->test.p_better : 1;
        f.worse[m] = paired ? fmin(1, pays * r->test.p_worse) : 1;
        f.best[m] = paired ? r->hindsight.p_better : 1;
    }
    FERRY_TRY(ferry_i_step_down(ctx, f.n, f.law[0], f.better));
    FERRY_TRY(ferry_i_step_down(ctx, f.n, f.law[0], f.worse));
    FERRY_TRY(ferry_i_step_down(ctx, f.n, f.law[1], f.best));
    for (int64_t m = 0; m < f.n; m++) {
        ferry_entry *r = f.member[m];
        const bool up = r->pub.gain > 0;
        if (r->primary_one && r->pub.pairs > 0) { /* a question of its own */
            f.better[m] = r->test.p_better;
            f.best[m] = r->hindsight.p_better;
        }
        r->better = f.better[m] < ALPHA;
        r->worse = f.worse[m] < ALPHA;
        r->pub.p = r->pub.pairs == 0 ? 1
                   : up              ? r->test.p_better
                                     : fmin(1, pays * r->test.p_worse);
        r->pub.p_holm = up ? f.better[m] : f.worse[m];
        r->pub.p_best = f.best[m];
    }
done:
    free_family(&f);
    return st;
}

/* ---- the primary comparison ---- */

/* What the primary method of each cell adds, packed as rows are; a repeat in which some cell has none: NULL. */
static ferry_status assemble(ferry_ctx *ctx, const ferry_results *rs,
                             ferry_entry *const *of, const int32_t *cell, double **rows)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_score_entries(rs);

    for (int64_t r = 0; r < rs->run.repeats; r++) {
        bool whole = true;
        FERRY_NEW(ctx, rows[r], rs->count[r]);
        for (int64_t i = 0, k = 0; i < n && whole; i++) {
            if (!rs->scored[r][i]) continue;
            const int32_t m = cell[r * n + i];
            whole = m >= 0 && of[m]->rows[r];
            if (whole) rows[r][k] = of[m]->rows[r][k];
            k++;
        }
        if (whole) continue;
        ferry_i_free(rows[r]);
        rows[r] = NULL;
    }
done:
    return st;
}

/* Which of them is primary most often, and in what share of the cells. */
static int64_t most_often(const ferry_results *rs, int64_t n_of, const int32_t *cell,
                          double *part)
{
    const int64_t n = ferry_i_score_entries(rs);
    int64_t best = 0, most = 0, all = 0;

    for (int64_t m = 0; m < n_of; m++) {
        int64_t count = 0;
        for (int64_t r = 0; r < rs->run.repeats; r++)
            for (int64_t i = 0; i < n; i++)
                count += rs->scored[r][i] && cell[r * n + i] == m;
        all += count;
        if (count <= most) continue;
        most = count;
        best = m;
    }
    *part = all > 0 ? (double)most / (double)all : NAN;
    return best;
}

/* The transfer methods that may be primary, with what the visible labels say of them: repeats x methods. */
static ferry_status candidates(ferry_ctx *ctx, ferry_results *rs, ferry_entry **of,
                               double **cv, int64_t *n_of)
{
    ferry_status st = FERRY_OK;
    const ferry_policy_runs *k = rs->policy;
    int64_t *place = NULL, n = 0;

    FERRY_NEW(ctx, place, rs->n);
    for (int64_t i = 0; i < rs->n; i++) {
        ferry_entry *r = &rs->result[i];
        bool any = rs->named == i + 1;
        for (int64_t s = 0; k && rs->named == 0 && s < rs->run.repeats; s++)
            any = any || (k->validated && !isnan(k->validated[s * rs->n + i]));
        if (!any || !ferry_i_results_in_level(r) || r->pub.pairs == 0) continue;
        place[n] = i;
        of[n++] = r;
    }
    FERRY_NEW(ctx, *cv, rs->run.repeats * n);
    for (int64_t s = 0; s < rs->run.repeats; s++)
        for (int64_t m = 0; m < n; m++)
            (*cv)[s * n + m] = rs->named > 0 ? 0 : k->validated[s * rs->n + place[m]];
    *n_of = n;
done:
    ferry_i_free(place);
    return st;
}

static void conclude(ferry_results *rs, const ferry_crossed *c, ferry_primary *p)
{
    p->gain = c->mu;
    p->low = isfinite(c->low) ? c->low : NAN;
    p->high = isfinite(c->high) ? c->high : NAN;
    p->most = isfinite(c->most) ? c->most : NAN;
    p->p = c->p_better;
    p->repeats = c->repeats;
    p->level = ALPHA;
    if (rs->looks > 0) p->level = ferry_i_look_level(rs->looks - 1);
    p->decided = p->p < p->level;
    if (!p->decided)
        ferry_i_crossed_needed(c, p->level, &p->needed_repeats, &p->needed_rows);
}

static ferry_status find_primary(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_score_entries(rs), repeats = rs->run.repeats;
    ferry_entry **of = NULL;
    double *cv = NULL, **rows = NULL, part = NAN;
    int32_t *cell = NULL;
    uint8_t *seen = NULL;
    int64_t n_of = 0;
    ferry_crossed c = {0};

    for (int64_t i = 0; i < rs->n; i++)
        rs->result[i].primary_one = false;
    ferry_i_free((ferry_primary *)rs->run.primary);
    rs->run.primary = NULL;
    FERRY_NEW(ctx, of, rs->n);
    FERRY_TRY(candidates(ctx, rs, of, &cv, &n_of));
    if (n_of == 0) goto done;
    FERRY_NEW(ctx, cell, repeats * n);
    FERRY_NEW(ctx, seen, repeats * n);
    FERRY_NEW(ctx, rows, repeats);
    fill_seen(rs, seen);
    if (rs->named == 0) /* else cells are all 0 */
        FERRY_TRY(ferry_i_primary_cells(ctx, repeats, n, n_of, cv, seen, cell));
    FERRY_TRY(assemble(ctx, rs, of, cell, rows));
    FERRY_TRY(cross(ctx, rs, rows, rs->result[rs->run.best_baseline].rows, NULL, NULL, &c));
    if (c.n == 0) goto done;
    ferry_primary *p = NULL;
    FERRY_NEW(ctx, p, 1);
    rs->run.primary = p;
    ferry_entry *r = of[most_often(rs, n_of, cell, &part)];
    r->primary_one = part == 1;
    *p = (ferry_primary){
        .size = sizeof *p, .name = r->pub.name, .share = part, .named = rs->named > 0};
    conclude(rs, &c, p);
done:
    for (int64_t r2 = 0; rows && r2 < repeats; r2++)
        ferry_i_free(rows[r2]);
    FERRY_FREE(cv, cell, seen);
    ferry_i_free((void *)rows);
    ferry_i_free((void *)of);
    return st;
}

ferry_status ferry_i_results_correct(ferry_ctx *ctx, ferry_results *rs)
{
    ferry_status st = FERRY_OK;

    if (rs->run.best_baseline < 0) return FERRY_OK;
    FERRY_TRY(find_primary(ctx, rs));
    FERRY_TRY(correct_among(ctx, rs, false)); /* what stays of unused ones */
    FERRY_TRY(correct_among(ctx, rs, true));
done:
    return st;
}

double ferry_i_look_level(int64_t look)
{
    static const double levels[] = {.01, .02, .035};

    return levels[look < 0 ? 0 : look < FERRY_LOOKS ? look : FERRY_LOOKS - 1];
}
