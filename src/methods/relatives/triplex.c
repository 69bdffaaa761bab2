/* triplex: tri-factorisation with three kinds of concepts (Zhuang, Luo, Du, He and Shi,
 * Triplex Transfer Learning: Exploiting both Shared and Distinct Concepts for Text
 * Classification, WSDM 2013; rebuilt on the factorisation of nmtf.h).
 *
 *   L = sum_v |X_v - H_v G_v'|^2,   H_v = F1 A1 + Fa_v Aa + F2_v A2_v
 *
 * identical concepts share words and meaning (F1 A1), alike ones the meaning only (Fa_v,
 * Aa), distinct ones nothing. One group: those that teach, with their labels, and the one
 * that learns, whose G starts from a logistic regression and stands still until the
 * concepts, which start at random, have learned what it says.
 *
 * path st: the sources teach the target. it: the last intermediate domain teaches it, with
 * its own labels. sit: the sources teach the first intermediate domain, whose likeliest
 * classes then teach the next as if they were known, until the target. */
#include <math.h>
#include <string.h>

#include "methods/shared/carry.h"
#include "methods/shared/factors.h"

enum { SIT, ST, IT };

typedef struct triplex_options {
    int path, norm, exponent, scale, leaks, bridge_labels;
    int64_t identical, alike, distinct, warm, iterations;
    double C, floor, tol;
} triplex_options;

static const ferry_opt triplex_opts[] = {
    FERRY_OPT_ONE_OF(triplex_options, path, "sit|st|it", "sit",
                     "sources, intermediates, target; sources to target; intermediate with "
                     "its labels to target"),
    FERRY_OPT(triplex_options, INT, identical, 20, 0, 10000,
              "concepts with the same words and meaning"),
    FERRY_OPT(triplex_options, INT, alike, 20, 0, 10000,
              "concepts with the same meaning in different words"),
    FERRY_OPT(triplex_options, INT, distinct, 10, 0, 10000, "concepts of one domain"),
    FERRY_OPT(triplex_options, INT, warm, 50, 0, 1e9,
              "iterations that move the concepts alone, with the first labels as they are"),
    FERRY_OPT(triplex_options, INT, iterations, 40, 1, 1e9, "of each factorisation"),
    FERRY_OPT_ONE_OF(triplex_options, norm, "paper|absorb|none|simplex", "paper",
                     "columns of F and rows of G to sum 1, or not (see ttl)"),
    FERRY_OPT_ONE_OF(triplex_options, exponent, "half|one", "half", "of the updates"),
    FERRY_OPT(triplex_options, REAL, floor, 0.02, 0, 1,
              "smallest entry of the initial labels"),
    FERRY_OPT(triplex_options, REAL, tol, 0, 0, 1,
              "stop at this relative change of the objective; 0: never"),
    TTL_OPT_COST(triplex_options),
    FERRY_OPT_SCALE(triplex_options),
    TTL_OPT_LEAKS(triplex_options),
    TTL_OPT_LABELS(triplex_options),
};

/* One factorisation: places `from` .. `to` - 1 with the classes `known` teach place
 * `to`. */
typedef struct stage {
    const ttl_bridge *b;
    const triplex_options *o;
    int64_t from, n_from, to;
    uint8_t *keep; /* columns of the spaces that both sides have */
    ferry_nmtf_place *place;
    ferry_nmtf *n;
    ferry_block *start; /* first labels of `to` */
} stage;

static void stage_clear(stage *s)
{
    for (int64_t v = 0; s->place && v <= s->n_from; v++)
        ferry_i_matrix_free(s->place[v].x);
    FERRY_FREE(s->place, s->keep);
    ferry_i_nmtf_free(s->n);
    ferry_i_free(s->start);
}

static const ttl_place *member(const stage *s, int64_t v)
{
    return &s->b->place[v < s->n_from ? s->from + v : s->to];
}

static ferry_status stage_columns(ferry_ctx *ctx, stage *s)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = s->b;
    int64_t shared = 0;

    s->keep = ferry_i_calloc(b->cols, sizeof *s->keep);
    if (!s->keep) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t p = 0; p < b->prepared->n_spaces; p++) {
        bool both = false;
        for (int64_t v = 0; v < s->n_from; v++)
            both = both || (member(s, v)->has[p] && b->place[s->to].has[p]);
        if (!both) continue;
        shared++;
        memset(s->keep + b->prepared->space[p].begin, 1,
               (size_t)b->prepared->space[p].cols);
        FERRY_NEED(ctx, ferry_i_space_positive(&b->prepared->space[p]), FERRY_ENEEDS,
                   "triplex needs features of 0 or more; view '%s' has some below 0 or is "
                   "standardised",
                   b->prepared->space[p].name);
    }
    FERRY_NEED(ctx, shared > 0, FERRY_ENEEDS,
               "triplex: '%s' and '%s' have no view in common", member(s, 0)->domain->name,
               b->place[s->to].domain->name);
done:
    return st;
}

/* G of `to` from a logistic regression on what teaches it. */
static ferry_status first_labels(ferry_ctx *ctx, stage *s, int32_t *const *known)
{
    ferry_status st = FERRY_OK;
    const ttl_bridge *b = s->b;
    const ttl_carry_options co = {.C = s->o->C, .l2 = ferry_i_bridge_lengths(b)};
    ttl_teacher *teacher = ferry_i_calloc(s->n_from, sizeof *teacher);
    ferry_block **g = ferry_i_calloc(s->n_from, sizeof(ferry_block *));
    ttl_carried carried = {0};

    if (!teacher || !g) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t v = 0; v < s->n_from; v++) {
        FERRY_TRY(ferry_i_block_new(ctx, member(s, v)->n, b->c, &g[v]));
        ferry_i_clamp(g[v], known[s->from + v]);
        teacher[v] = (ttl_teacher){member(s, v)->x, g[v], 1};
    }
    FERRY_TRY(ferry_i_carry(ctx, &co, s->n_from, teacher, b->place[s->to].x, b->c, NULL,
                            &carried));
    if (carried.shared == 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "triplex: '%s' shares no feature with '%s': its classes are a guess",
                    b->place[s->to].domain->name, member(s, 0)->domain->name);
    FERRY_TRY(ferry_i_block_new(ctx, b->place[s->to].n, b->c, &s->start));
    FERRY_TRY(ferry_i_carried_apply(ctx, &carried, b->place[s->to].x, s->start));
done:
    for (int64_t v = 0; g && v < s->n_from; v++)
        ferry_i_free(g[v]);
    FERRY_FREE(g, teacher);
    ferry_i_carried_clear(&carried);
    return st;
}

static ferry_status run(ferry_ctx *ctx, stage *s, int32_t *const *known,
                        ferry_fit_info *rep)
{
    const triplex_options *o = s->o;
    const ferry_nmtf_options no = {.loss = FERRY_NMTF_SQUARED,
                                   .norm = (ferry_nmtf_norm)o->norm,
                                   .exponent = o->exponent == 0 ? 0.5 : 1,
                                   .warm = o->warm,
                                   .iterations = o->iterations,
                                   .tol = o->tol};
    ferry_nmtf_found found;
    ferry_rng rng;

    FERRY_PASS(stage_columns(ctx, s));
    s->place = ferry_i_calloc(s->n_from + 1, sizeof *s->place);
    if (!s->place) return ferry_i_nomem(ctx);
    for (int64_t v = 0; v <= s->n_from; v++) {
        s->place[v] = (ferry_nmtf_place){NULL, 0, v, 1};
        FERRY_PASS(ferry_i_columns_cut(ctx, member(s, v)->x, s->keep, false, &s->place[v].x,
                                       NULL));
    }
    FERRY_PASS(ferry_i_nmtf_new(ctx, s->b->c, o->identical, o->alike, o->distinct,
                                s->n_from + 1, s->place, &s->n));
    for (int64_t v = 0; v < s->n_from; v++)
        FERRY_PASS(ferry_i_nmtf_know(ctx, s->n, v, known[s->from + v]));
    FERRY_PASS(ferry_i_nmtf_know(ctx, s->n, s->n_from, s->b->place[s->to].known));
    ferry_i_rng_for(ctx, &rng, "triplex");
    FERRY_PASS(ferry_i_nmtf_random(ctx, s->n, &rng));
    FERRY_PASS(first_labels(ctx, s, known));
    ferry_i_nmtf_start(s->n, s->n_from, s->start, o->floor);
    FERRY_PASS(ferry_i_nmtf_run(ctx, s->n, &no, "triplex", &found));
    rep->iters += found.iterations;
    rep->objective = found.objective;
    rep->stop = found.finish      ? FERRY_STOP_FINISH
                : found.converged ? FERRY_STOP_TOL
                                  : FERRY_STOP_MAX_ITER;
    return FERRY_OK;
}

/* ---- the model: what a factorisation leaves, without its factors ---- */

static void triplex_free(void *model)
{
    if (model) ferry_i_factors_clear(model);
    ferry_i_free(model);
}

static ferry_status triplex_predict(ferry_ctx *ctx, const void *model,
                                    const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const factors *m = model;
    ferry_block g = {p->n, p->k, p->score};

    FERRY_NEED(ctx, p->k == m->c, FERRY_EDATA, "the model has %lld classes, not %lld",
               (long long)m->c, (long long)p->k);
    FERRY_TRY(ferry_i_factors_predict(ctx, m, d, &g));
    ferry_i_winners(&g, p->cls, NULL);
done:
    return st;
}

static void triplex_file(ferry_io *io, void *model)
{
    factors *m = model;

    ferry_i_bridge_classes(io, &m->c);
    ferry_i_bridge_file(io, &m->prepared);
    ferry_i_factors_file(io, m);
}

/* ---- the method ---- */

static ferry_status triplex_fits(ferry_ctx *ctx, const ferry_task *task,
                                 const void *options)
{
    ferry_status st = FERRY_OK;
    const triplex_options *o = options;
    const int64_t n = ferry_i_task_count_role(task, FERRY_INTERMEDIATE);
    const ferry_domain *last =
        n ? ferry_i_task_role(task, FERRY_INTERMEDIATE, n - 1) : NULL;

    FERRY_NEED(ctx, o->identical + o->alike + o->distinct > 0, FERRY_EINVAL,
               "triplex: identical, alike and distinct are all 0: no concept is left");
    FERRY_NEED(ctx, o->path != IT || (last && last->labels), FERRY_ENEEDS,
               "triplex path=it needs an intermediate domain with labels");
    FERRY_NEED(ctx, o->path != IT || o->bridge_labels == TTL_LABELS_USE, FERRY_EINVAL,
               "triplex: path=it teaches with the labels of the intermediate domain: it "
               "goes with bridge_labels=use");
    FERRY_NEED(ctx,
               o->norm != FERRY_NMTF_SIMPLEX ||
                   ferry_i_ids_count(task->names) <= FERRY_SIMPLEX_MOST,
               FERRY_ENEEDS, "triplex: norm=simplex takes at most %d classes",
               FERRY_SIMPLEX_MOST);
done:
    return st;
}

static ferry_status triplex_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                                void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const triplex_options *o = options;
    factors *m = NULL;
    ttl_bridge *b = NULL;
    int32_t **known = NULL;
    stage s = {0};

    *out = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_bridge_new(
        ctx, "triplex", task,
        (ttl_reading){o->scale, o->leaks, o->bridge_labels, FERRY_POSITIVE}, &b));
    const int64_t last = b->n_places - 1;
    known = ferry_i_calloc(b->n_places, sizeof *known);
    if (!known) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < b->n_places; i++) {
        known[i] = ferry_i_calloc(b->place[i].n, sizeof **known);
        if (!known[i]) FERRY_TRY(ferry_i_nomem(ctx));
        memcpy(known[i], b->place[i].known, (size_t)b->place[i].n * sizeof **known);
    }
    for (int64_t to = o->path == SIT ? b->n_sources : last; to <= last; to++) {
        const bool first = o->path == ST || to == b->n_sources;
        stage_clear(&s);
        s = (stage){.b = b, .o = o, .from = first ? 0 : to - 1, .to = to};
        s.n_from = first ? b->n_sources : 1;
        FERRY_TRY(run(ctx, &s, known, rep));
        ferry_i_winners(s.n->domain[s.n_from].g, known[to], NULL);
    }
    m->c = b->c;
    m->loss = FERRY_NMTF_SQUARED;
    m->norm = (ferry_nmtf_norm)o->norm;
    FERRY_TRY(ferry_i_factors_keep(ctx, b, s.keep, s.n->view[s.n_from].h,
                                   s.n->domain[s.n_from].g, m));
    m->prepared = ferry_i_bridge_release(b);
    FERRY_MOVE(*out, m);
done:
    stage_clear(&s);
    for (int64_t i = 0; known && i < b->n_places; i++)
        ferry_i_free(known[i]);
    ferry_i_free(known);
    ferry_i_bridge_free(b);
    triplex_free(m);
    return st;
}

const ferry_method ferry_i_method_triplex = {
    .name = "triplex",
    .summary = "tri-factorisation with identical, alike and distinct concepts, hop by hop",
    .reference =
        "Zhuang, Luo, Du, He, Shi, Triplex Transfer Learning: Exploiting both Shared "
        "and Distinct Concepts for Text Classification, WSDM 2013",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    FERRY_OPTIONS(triplex_opts, triplex_options),
    .fits = triplex_fits,
    .fit = triplex_fit,
    .spreads = true,
    .predict = triplex_predict,
    FERRY_STATE(factors, triplex_file, triplex_free),
};
