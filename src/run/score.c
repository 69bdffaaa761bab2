/* Scoring: what is known of the target, which of it was hidden from the methods, and the
 * metrics of a prediction on just that. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/run.h"

ferry_status ferry_i_score_truth(ferry_ctx *ctx, const ferry_task *task, ferry_results *rs)
{
    ferry_status st = FERRY_OK;
    ferry_task *resolved = NULL;
    const ferry_domain *target = NULL;

    FERRY_TRY(ferry_i_task_resolved(ctx, task, &resolved));
    FERRY_TRY(ferry_i_task_target(ctx, resolved, &target));
    FERRY_HAVE(ctx, rs->run.target = ferry_i_strdup(target->name));
    if (rs->run.goal == FERRY_RATE && target->ratings)
        FERRY_TRY(ferry_i_ratings_copy(ctx, target->ratings, &rs->ratings));
    if (rs->run.goal != FERRY_RATE && target->labels)
        FERRY_TRY(ferry_i_labels_copy(ctx, target->labels, &rs->truth));
done:
    ferry_task_free(resolved);
    return st;
}

int64_t ferry_i_score_entries(const ferry_results *rs)
{
    return rs->ratings ? rs->ratings->n : rs->truth ? rs->truth->n : 0;
}

/* Whether entry i is known in the target as given. */
bool ferry_i_score_known(const ferry_results *rs, int64_t i)
{
    return rs->ratings ? isfinite(rs->ratings->value[i]) : ferry_i_labels_has(rs->truth, i);
}

int64_t ferry_i_score_known_count(const ferry_results *rs)
{
    int64_t n = 0;

    for (int64_t i = 0; i < ferry_i_score_entries(rs); i++)
        n += ferry_i_score_known(rs, i);
    return n;
}

/* Says why there is nothing to score: how many labels there are, and how they are seen. */
static ferry_status nothing(ferry_ctx *ctx, const ferry_results *rs,
                            const ferry_domain *target)
{
    const char *what = rs->run.goal == FERRY_RATE ? "ratings" : "labels";
    const ferry_seen *seen = &target->seen;
    char how[64] = "none";
    int64_t n = 0;

    for (int64_t i = 0; i < ferry_i_score_entries(rs); i++)
        n += ferry_i_score_known(rs, i);
    if (n == 0)
        return ferry_i_fail(
            ctx, FERRY_EDATA,
            "target '%s' has no %s, so there is nothing to score by (label: or y: gives "
            "them)",
            target->name, what);
    if (seen->kind == FERRY_SEEN_IDS)
        (void)snprintf(how, sizeof how, "{ids: ...}");
    else if (seen->kind == FERRY_SEEN_ALL)
        (void)snprintf(how, sizeof how, "all, and no class has two");
    else if (seen->kind == FERRY_SEEN_PER_CLASS)
        (void)snprintf(how, sizeof how, "{per_class: %g}", seen->value);
    else if (seen->kind == FERRY_SEEN_FRACTION) /* 1.0 is a share, 1 would be a count */
        (void)snprintf(how, sizeof how, seen->value < 1 ? "%g" : "%.1f", seen->value);
    else if (seen->kind == FERRY_SEEN_COUNT)
        (void)snprintf(how, sizeof how, "%g", seen->value);
    return ferry_i_fail(ctx, FERRY_EDATA,
                        "target '%s': all %lld %s are visible to the methods (labelled: "
                        "%s), none is left to score",
                        target->name, (long long)n, what, how);
}

ferry_status ferry_i_score_mask(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_task *split, uint8_t *mask, int64_t *count)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL;

    *count = 0;
    FERRY_TRY(ferry_i_task_target(ctx, split, &target));
    for (int64_t i = 0; i < ferry_i_score_entries(rs); i++) {
        const bool seen = rs->ratings ? isfinite(target->ratings->value[i])
                                      : ferry_i_labels_has(target->labels, i);
        mask[i] = ferry_i_score_known(rs, i) && !seen;
        *count += mask[i];
    }
    if (*count == 0 && rs->run.goal != FERRY_EMBED && rs->n_metrics > 0)
        st = nothing(ctx, rs, target);
done:
    return st;
}

ferry_status ferry_i_score_new_mask(ferry_ctx *ctx, const ferry_results *rs, uint8_t **out)
{
    *out = ferry_i_calloc(ferry_i_score_entries(rs), 1);
    return *out ? FERRY_OK : ferry_i_nomem(ctx);
}

/* ---- a prediction on what a mask picks ---- */

/* The picked rows of truth and prediction, one after the other; all of it owned. */
typedef struct picked {
    int32_t *truth_cls, *cls;
    int32_t *user, *item;
    double *truth, *value, *score;
    uint8_t *truth_set, *set, *seen;
    int32_t *place;  /* of the prediction's names in the truth's, -1 when not there */
    int32_t *groups; /* of an embedding, over all instances */
} picked;

static void free_picked(picked *g)
{
    FERRY_FREE(g->truth_cls, g->cls, g->user, g->item, g->truth, g->value, g->score,
               g->truth_set, g->set, g->seen, g->place, g->groups);
}

/* A method knows the names that it was shown, which may be fewer: a class that only hidden
 * labels hold is none of them. */
static ferry_status match_names(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_prediction *p, picked *g)
{
    g->place = ferry_i_calloc(p->k, sizeof *g->place);
    if (!g->place) return ferry_i_nomem(ctx);
    for (int64_t c = 0; c < p->k; c++)
        g->place[c] = (int32_t)ferry_i_ids_find(rs->truth->names, p->names[c]);
    return FERRY_OK;
}

static ferry_status pick_numbers(ferry_ctx *ctx, const ferry_results *rs,
                                 const ferry_prediction *p, const uint8_t *mask,
                                 int64_t count, picked *g)
{
    const double *truth = rs->ratings ? rs->ratings->value : rs->truth->num;

    g->truth = ferry_i_calloc(count, sizeof *g->truth);
    g->value = ferry_i_calloc(count, sizeof *g->value);
    g->user = ferry_i_calloc(count, sizeof *g->user);
    g->item = ferry_i_calloc(count, sizeof *g->item);
    if (!g->truth || !g->value || !g->user || !g->item) return ferry_i_nomem(ctx);
    for (int64_t i = 0, to = 0; i < p->n; i++) {
        if (!mask[i]) continue;
        g->user[to] = rs->ratings ? rs->ratings->user[i] : 0;
        g->item[to] = rs->ratings ? rs->ratings->item[i] : 0;
        g->truth[to] = truth[i];
        g->value[to++] = p->value[i];
    }
    return FERRY_OK;
}

/* Scores in the places of the truth's names; -inf of one that the method does not know. */
static ferry_status pick_scores(ferry_ctx *ctx, const ferry_results *rs,
                                const ferry_prediction *p, const uint8_t *mask,
                                int64_t count, picked *g)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(rs->truth);

    FERRY_NEW(ctx, g->score, count * m);
    for (int64_t i = 0; i < count * m; i++)
        g->score[i] = -INFINITY;
    for (int64_t i = 0, to = 0; i < p->n; i++) {
        if (!mask[i]) continue;
        for (int64_t c = 0; c < p->k; c++)
            if (g->place[c] >= 0) g->score[to + g->place[c]] = p->score[i * p->k + c];
        to += m;
    }
done:
    return st;
}

static ferry_status pick_classes(ferry_ctx *ctx, const ferry_results *rs,
                                 const ferry_task *split, const ferry_prediction *p,
                                 const uint8_t *mask, int64_t count, picked *g)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *shown =
        NULL; /* not the mask: a guard's fold leaves hidden labels out of it */

    g->truth_cls = ferry_i_calloc(count, sizeof *g->truth_cls);
    g->cls = ferry_i_calloc(count, sizeof *g->cls);
    g->seen = ferry_i_calloc(ferry_i_labels_m(rs->truth), 1);
    if (!g->truth_cls || !g->cls || !g->seen) return ferry_i_nomem(ctx);
    if (p->names && p->score) FERRY_TRY(pick_scores(ctx, rs, p, mask, count, g));
    FERRY_TRY(ferry_i_task_target(ctx, split, &shown));
    for (int64_t i = 0; i < p->n; i++)
        if (shown->labels && ferry_i_labels_has(shown->labels, i) &&
            ferry_i_score_known(rs, i))
            g->seen[rs->truth->cls[i]] = 1;
    for (int64_t i = 0, to = 0; i < p->n; i++) {
        if (!mask[i]) continue;
        const int32_t c = g->groups ? g->groups[i] : p->cls[i];
        g->truth_cls[to] = rs->truth->cls[i];
        /* Groups of an embedding have no names. */
        g->cls[to++] = !p->names ? c : c < 0 ? -1 : g->place[c];
    }
done:
    return st;
}

/* A label that the method does not know is off, and ranks last. */
static ferry_status pick_sets(ferry_ctx *ctx, const ferry_results *rs,
                              const ferry_prediction *p, const uint8_t *mask, int64_t count,
                              picked *g)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(rs->truth);

    FERRY_NEW(ctx, g->truth_set, count * m);
    FERRY_NEW(ctx, g->set, count * m);
    FERRY_TRY(pick_scores(ctx, rs, p, mask, count, g));
    for (int64_t i = 0, to = 0; i < p->n; i++) {
        if (!mask[i]) continue;
        memcpy(g->truth_set + to, rs->truth->on + i * m, (size_t)m);
        for (int64_t c = 0; c < p->k; c++)
            if (g->place[c] >= 0) g->set[to + g->place[c]] = p->set[i * p->k + c];
        to += m;
    }
done:
    return st;
}

/* The embedding of what is scored, and groups unless the method made its own. */
static ferry_status pick_embedding(ferry_ctx *ctx, const ferry_results *rs,
                                   const ferry_prediction *p, const uint8_t *mask,
                                   int64_t count, picked *g)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, g->score, count * p->k);
    for (int64_t i = 0, to = 0; i < p->n; i++)
        if (mask[i])
            memcpy(g->score + to++ * p->k, p->score + i * p->k,
                   (size_t)p->k * sizeof *g->score);
    if (p->cls) goto done;
    FERRY_NEW(ctx, g->groups, p->n);
    FERRY_TRY(ferry_i_embedding_groups(ctx, p, ferry_i_labels_m(rs->truth), g->groups));
done:
    return st;
}

/* Whether there is something to compare: one class has nothing to tell of an embedding. */
static bool comparable(const ferry_results *rs, int64_t count)
{
    return count > 0 && (rs->run.goal != FERRY_EMBED || ferry_i_labels_m(rs->truth) > 1);
}

ferry_status ferry_i_score(ferry_ctx *ctx, const ferry_results *rs, const ferry_task *split,
                           const ferry_prediction *p, const uint8_t *mask, int64_t count,
                           double *out, double **rows)
{
    ferry_status st = FERRY_OK;
    picked g = {0};
    double *row = NULL;

    for (int64_t m = 0; m < rs->n_metrics; m++)
        out[m] = NAN;
    if (!comparable(rs, count)) goto done;
    assert(p->n == ferry_i_score_entries(rs)); /* the target's, in its order */
    if (rs->run.goal == FERRY_EMBED) FERRY_TRY(pick_embedding(ctx, rs, p, mask, count, &g));
    if (p->names) FERRY_TRY(match_names(ctx, rs, p, &g));
    if (rs->ratings || rs->truth->kind == FERRY_LABEL_NUMBER)
        FERRY_TRY(pick_numbers(ctx, rs, p, mask, count, &g));
    else if (rs->truth->kind == FERRY_LABEL_CLASS)
        FERRY_TRY(pick_classes(ctx, rs, split, p, mask, count, &g));
    else
        FERRY_TRY(pick_sets(ctx, rs, p, mask, count, &g));
    const ferry_scored s = {.n = count,
                            .k = rs->truth ? ferry_i_labels_m(rs->truth) : 0,
                            .truth_cls = g.truth_cls,
                            .cls = g.cls,
                            .seen = g.seen,
                            .user = g.user,
                            .item = g.item,
                            .truth = g.truth,
                            .value = g.value,
                            .truth_set = g.truth_set,
                            .set = g.set,
                            .score = g.score,
                            .dims = rs->run.goal == FERRY_EMBED ? p->k : 0,
                            .ties = rs->ties};
    if (rows) FERRY_NEW(ctx, row, count);
    for (int64_t m = 0; m < rs->n_metrics; m++)
        FERRY_TRY(
            ferry_i_metric_value(ctx, rs->metrics[m], &s, m == 0 ? row : NULL, &out[m]));
    if (!rows || !isfinite(out[0])) goto done;
    if (!rs->metrics[0]->info.mean_of_rows)
        FERRY_TRY(ferry_i_pseudo_rows(ctx, rs->metrics[0], &s, mask, out[0], row));
    FERRY_MOVE(*rows, row);
done:
    ferry_i_free(row);
    free_picked(&g);
    return st;
}
