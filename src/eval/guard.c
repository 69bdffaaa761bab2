/* The guard: in each repeat, which method's prediction would one take?
 *
 * With visible target labels: the best by cross-validation on them alone (nested in the
 * repeat's split, so that what is scored was never looked at). Without: by reverse
 * validation (the target with its predicted labels becomes the source and the first source
 * the target, whose labels are known) and, where a method cannot be turned round, by how
 * far its predictions under other seeds agree. Methods judged to harm are not taken. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "methods/method.h"

enum { FOLDS = 5, SEEDS = 3 };

/* ---- one fit ---- */

/* Fit and predict; *p stays NULL when the method cannot. */
static ferry_status predict_with(ferry_ctx *ctx, const ferry_task *task,
                                 const ferry_entry *e, ferry_prediction **p)
{
    ferry_status st = FERRY_OK;
    ferry_model *model = NULL;
    const ferry_domain *target = NULL;

    *p = NULL;
    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    st = ferry_i_fit(ctx, task, e->how, e->opts, &model, NULL);
    if (st == FERRY_OK) st = ferry_predict(ctx, model, target, p);
    if (st == FERRY_ENEEDS || st == FERRY_ENUMERIC) st = FERRY_OK;
done:
    ferry_model_free(model);
    return st;
}

/* task with domain `at` (stolen) in place of its own. */
static ferry_status with_domain(ferry_ctx *ctx, const ferry_task *task, int64_t at,
                                ferry_domain *d, ferry_task **out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_task_resolved(ctx, task, out));
    ferry_domain_free((*out)->domains[at]);
    (*out)->domains[at] = d;
    d = NULL;
done:
    ferry_domain_free(d);
    return st;
}

static int64_t target_place(const ferry_task *task)
{
    int64_t i = 0;

    while (task->domains[i]->role != FERRY_TARGET)
        i++;
    return i;
}

/* ---- cross-validation ---- */

/* Places of the visible labels (ratings) of the target, shuffled. */
static ferry_status visible(ferry_ctx *ctx, const ferry_domain *d, int64_t **out,
                            int64_t *n)
{
    const int64_t size = d->ratings ? d->ratings->n : ferry_domain_id_count(d);
    int64_t *at = ferry_i_calloc(size, sizeof *at);
    ferry_rng rng;

    *out = at;
    *n = 0;
    if (!at) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < size; i++)
        if (d->ratings ? !isnan(d->ratings->value[i]) : ferry_i_labels_has(d->labels, i))
            at[(*n)++] = i;
    ferry_i_rng_for(ctx, &rng, "guard");
    ferry_i_rng_shuffle(&rng, *n, at);
    /* classes in turn, so that every fold has some of each */
    if (d->labels && d->labels->kind == FERRY_LABEL_CLASS && !d->ratings)
        for (int64_t i = 1; i < *n; i++) {
            const int64_t one = at[i];
            int64_t k = i;
            for (; k > 0 && d->labels->cls[at[k - 1]] > d->labels->cls[one]; k--)
                at[k] = at[k - 1];
            at[k] = one;
        }
    return FERRY_OK;
}

/* The split with every folds-th visible label, from `fold` on, hidden; mask marks them. */
static ferry_status hide_fold(ferry_ctx *ctx, const ferry_task *split, int64_t n,
                              const int64_t *at, int64_t folds, int64_t fold, uint8_t *mask,
                              int64_t *count, ferry_task **out)
{
    ferry_status st = FERRY_OK;
    const int64_t place = target_place(split);
    const ferry_domain *d = split->domains[place];
    ferry_labels *labels = NULL;
    ferry_ratings *ratings = NULL;
    ferry_domain *less = NULL;

    *count = 0;
    memset(mask, 0, (size_t)(d->ratings ? d->ratings->n : ferry_domain_id_count(d)));
    if (d->ratings)
        FERRY_TRY(ferry_i_ratings_copy(ctx, d->ratings, &ratings));
    else
        FERRY_TRY(ferry_i_labels_copy(ctx, d->labels, &labels));
    for (int64_t i = fold; i < n; i += folds) {
        if (ratings)
            ratings->value[at[i]] = NAN;
        else
            ferry_i_labels_hide(labels, at[i]);
        mask[at[i]] = 1;
        ++*count;
    }
    if (ratings) {
        st = ferry_i_domain_with_ratings(ctx, d, ratings, &less);
        ratings = NULL;
    } else {
        st = ferry_i_domain_with_labels(ctx, d, labels, &less);
        labels = NULL;
    }
    FERRY_TRY(st);
    FERRY_TRY(with_domain(ctx, split, place, less, out));
done:
    ferry_i_labels_free(labels);
    ferry_i_ratings_free(ratings);
    return st;
}

/* Mean of the deciding metric over the folds for every method; NaN for those that
 * cannot. */
static ferry_status cross_validate(ferry_ctx *ctx, const ferry_results *rs,
                                   const ferry_task *split, uint8_t *mask, double *metric,
                                   double *score)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = split->domains[target_place(split)];
    ferry_task *less = NULL;
    ferry_prediction *p = NULL;
    int64_t *at = NULL, n = 0, count = 0;
    bool finish = false;

    FERRY_TRY(visible(ctx, d, &at, &n));
    const int64_t folds = n < FOLDS ? n : FOLDS;
    for (int64_t i = 0; i < rs->n; i++)
        score[i] = rs->result[i].pub.reason || rs->result[i].pub.kind == FERRY_KIND_CONTROL
                       ? NAN
                       : 0;
    for (int64_t f = 0; f < folds; f++) {
        FERRY_TRY(hide_fold(ctx, split, n, at, folds, f, mask, &count, &less));
        for (int64_t i = 0; i < rs->n; i++) {
            if (isnan(score[i])) continue;
            FERRY_TRY(ferry_i_progress(ctx, "guard", f, folds, NAN, &finish));
            FERRY_TRY(predict_with(ctx, less, &rs->result[i], &p));
            metric[0] = NAN;
            if (p) FERRY_TRY(ferry_i_score(ctx, rs, p, mask, count, metric, NULL));
            score[i] += metric[0] / (double)folds;
            ferry_prediction_free(p);
            p = NULL;
        }
        ferry_task_free(less);
        less = NULL;
    }
done:
    ferry_prediction_free(p);
    ferry_task_free(less);
    ferry_i_free(at);
    return st;
}

/* ---- without labels ---- */

/* Labels of the target as predicted, in the task's numbering; NULL when there are none. */
static ferry_status predicted_labels(ferry_ctx *ctx, const ferry_task *task,
                                     const ferry_prediction *p, ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_labels *l = NULL;

    *out = NULL;
    if (!p->cls && !p->value) return FERRY_OK;
    FERRY_TRY(ferry_i_labels_new(ctx, p->cls ? FERRY_LABEL_CLASS : FERRY_LABEL_NUMBER, p->n,
                                 p->cls ? task->names : NULL, &l));
    for (int64_t i = 0; i < p->n; i++) {
        if (p->cls && p->cls[i] >= 0)
            l->cls[i] = (int32_t)ferry_i_ids_find(task->names, p->names[p->cls[i]]);
        if (p->value) l->num[i] = p->value[i];
    }
    *out = l;
done:
    return st;
}

/* Share of the first source's labels (or minus the mean squared error) that come back. */
static ferry_status come_back(const ferry_domain *source, const ferry_prediction *p,
                              const ferry_ids *names, double *score)
{
    const ferry_labels *l = source->labels;
    double sum = 0, n = 0;

    for (int64_t i = 0; i < p->n; i++) {
        if (!ferry_i_labels_has(l, i)) continue;
        n++;
        if (p->cls)
            sum +=
                p->cls[i] >= 0 && ferry_i_ids_find(names, p->names[p->cls[i]]) == l->cls[i];
        else
            sum -= (p->value[i] - l->num[i]) * (p->value[i] - l->num[i]);
    }
    *score = n > 0 ? sum / n : NAN;
    return FERRY_OK;
}

/* Reverse validation: NaN when the method cannot be turned round. */
static ferry_status reverse(ferry_ctx *ctx, const ferry_task *split, const ferry_entry *e,
                            const ferry_prediction *first, double *score)
{
    ferry_status st = FERRY_OK;
    const int64_t place = target_place(split);
    const ferry_domain *target = split->domains[place];
    const ferry_domain *source = ferry_i_task_role(split, FERRY_SOURCE, 0);
    ferry_task *turned = NULL;
    ferry_domain *from = NULL, *to = NULL;
    ferry_labels *labels = NULL, *none = NULL;
    ferry_prediction *p = NULL;

    *score = NAN;
    if (!source || !source->labels) return FERRY_OK;
    FERRY_TRY(predicted_labels(ctx, split, first, &labels));
    if (!labels) goto done;
    st = ferry_i_domain_with_labels(ctx, target, labels, &from);
    labels = NULL; /* taken, also when the call fails */
    FERRY_TRY(st);
    from->role = FERRY_SOURCE;
    FERRY_TRY(ferry_i_labels_new(ctx, source->labels->kind, source->labels->n,
                                 source->labels->names, &none));
    st = ferry_i_domain_with_labels(ctx, source, none, &to);
    none = NULL;
    FERRY_TRY(st);
    to->role = FERRY_TARGET;
    FERRY_TRY(ferry_task_new(ctx, split->name, split->goal, &turned));
    for (int64_t i = 0; i < split->n_domains; i++) {
        ferry_domain *d = split->domains[i];
        FERRY_TRY(ferry_task_add_domain(ctx, turned,
                                        ferry_i_domain_ref(d == target   ? from
                                                           : d == source ? to
                                                                         : d)));
    }
    FERRY_TRY(predict_with(ctx, turned, e, &p));
    if (p && (p->cls || p->value)) FERRY_TRY(come_back(source, p, split->names, score));
done:
    ferry_prediction_free(p);
    ferry_task_free(turned);
    ferry_domain_free(from);
    ferry_domain_free(to);
    ferry_i_labels_free(labels);
    return st;
}

/* Share of instances whose class two predictions agree on. */
static double agreement(const ferry_prediction *a, const ferry_prediction *b)
{
    int64_t same = 0;

    if (!a->cls || !b->cls || a->n != b->n || a->n == 0) return NAN;
    for (int64_t i = 0; i < a->n; i++)
        same += a->cls[i] == b->cls[i];
    return (double)same / (double)a->n;
}

/* Larger is better. Reverse validation where it works, plus a tenth of the agreement over
 * seeds, which tells apart what comes back equally well; minus 1 where it does not work. */
static ferry_status label_free(ferry_ctx *ctx, const ferry_results *rs,
                               const ferry_task *split, double *score)
{
    ferry_status st = FERRY_OK;
    ferry_prediction *p = NULL, *other = NULL;
    bool finish = false;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_entry *e = &rs->result[i];
        double back = NAN, sum = 0;
        score[i] = NAN;
        if (e->pub.reason || e->pub.kind == FERRY_KIND_CONTROL) continue;
        FERRY_TRY(ferry_i_progress(ctx, "guard", i, rs->n, NAN, &finish));
        FERRY_TRY(predict_with(ctx, split, e, &p));
        if (!p) continue;
        FERRY_TRY(reverse(ctx, split, e, p, &back));
        for (int s = 1; s < SEEDS; s++) {
            ferry_ctx reseeded = ferry_i_child(ctx);
            reseeded.seed += (uint64_t)s;
            FERRY_TRY(
                ferry_i_join(ctx, &reseeded, predict_with(&reseeded, split, e, &other)));
            const double same = other ? agreement(p, other) : 0;
            sum += isnan(same) ? 0 : same / (SEEDS - 1);
            ferry_prediction_free(other);
            other = NULL;
        }
        score[i] = (isnan(back) ? -1 : back) + 0.1 * sum;
        ferry_prediction_free(p);
        p = NULL;
    }
done:
    ferry_prediction_free(p);
    ferry_prediction_free(other);
    return st;
}

/* ---- all repeats ---- */

/* Spearman's correlation of the guard's scores with the true means; NaN for fewer than
 * 3. */
static double trust(const ferry_results *rs, const double *score, double sign)
{
    double n = 0, sum = 0;

    for (int64_t i = 0; i < rs->n; i++)
        n += isfinite(score[i]);
    if (n < 3) return NAN;
    for (int64_t i = 0; i < rs->n; i++) {
        double a = 0, b = 0;
        if (!isfinite(score[i])) continue;
        for (int64_t j = 0; j < rs->n; j++) { /* ranks; equals share theirs */
            if (!isfinite(score[j])) continue;
            const double x = sign * ferry_i_result_mean(rs, &rs->result[i], 0);
            const double y = sign * ferry_i_result_mean(rs, &rs->result[j], 0);
            a += score[j] < score[i] ? 1 : score[j] == score[i] ? 0.5 : 0;
            b += y < x ? 1 : y == x ? 0.5 : 0;
        }
        sum += (a - b) * (a - b);
    }
    return 1 - 6 * sum / (n * (n * n - 1));
}

/* The best that is not judged to harm; of equals a baseline, which costs less. */
static int64_t take(const ferry_results *rs, const double *score)
{
    int64_t best = -1;

    for (int64_t i = 0; i < rs->n; i++) {
        const ferry_result *r = &rs->result[i].pub;
        if (!isfinite(score[i]) || r->verdict == FERRY_HARMS) continue;
        if (best < 0 || score[i] > score[best] ||
            (score[i] == score[best] && r->kind == FERRY_KIND_BASELINE &&
             rs->result[best].pub.kind != FERRY_KIND_BASELINE))
            best = i;
    }
    return best;
}

void ferry_i_guard_free(ferry_guard *g)
{
    if (!g) return;
    FERRY_FREE((int64_t *)g->chosen, (double *)g->runs, (double *)g->scores,
               (char *)g->sentence, g);
}

ferry_status ferry_i_guard_run(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    const double sign = rs->metrics[0]->info.larger_is_better ? 1 : -1;
    const bool blind = rs->run.visible < 2; /* nothing to validate on */
    const int64_t repeats = rs->run.repeats;
    int64_t *chosen = ferry_i_calloc(repeats, sizeof *chosen);
    double *runs = ferry_i_calloc(repeats, sizeof *runs);
    double *mean = ferry_i_calloc(rs->n, sizeof *mean);
    double *score = ferry_i_calloc(rs->n, sizeof *score);
    double *metric = ferry_i_calloc(rs->n_metrics, sizeof *metric);
    ferry_guard *g = ferry_i_calloc(1, sizeof *g);
    uint8_t *mask = NULL;
    ferry_task *split = NULL;

    FERRY_HAVE(ctx, g && chosen && runs && mean && score && metric);
    FERRY_TRY(ferry_i_score_new_mask(ctx, rs, &mask));
    for (int64_t r = 0; r < repeats; r++) {
        ctx->repeat = (uint64_t)r;
        FERRY_TRY(ferry_i_task_split(ctx, task, r, &split));
        if (blind)
            FERRY_TRY(label_free(ctx, rs, split, score));
        else
            FERRY_TRY(cross_validate(ctx, rs, split, mask, metric, score));
        for (int64_t i = 0; i < rs->n; i++) {
            if (!blind) score[i] *= sign;
            mean[i] += score[i] / (double)repeats;
        }
        chosen[r] = take(rs, score);
        runs[r] = chosen[r] < 0 ? NAN : rs->result[chosen[r]].metric[r];
        ferry_task_free(split);
        split = NULL;
    }
    *g = (ferry_guard){.size = sizeof *g,
                       .by = blind ? "label-free" : "cross-validation",
                       .repeats = repeats,
                       .chosen = chosen,
                       .runs = runs,
                       .mean = ferry_i_mean(repeats, runs),
                       .count = rs->n,
                       .scores = mean,
                       .trust = trust(rs, mean, sign)};
    FERRY_MOVE(rs->guard, g);
    chosen = NULL;
    runs = mean = NULL;
done:
    ferry_task_free(split);
    FERRY_FREE(mask, metric, score, mean, runs, chosen, g);
    return st;
}
