/* extra-trees: extremely randomised trees for sets of labels, each tree for all labels at once. A label's score is
 * its share among the training rows in a row's leaves, the mean over trees (learn/extra.h).
 *
 * trees = 300 and min_leaf = 2 were chosen on other random halves of emotions than those of
 * docs/methods/extra-trees.md (1 or 2 rows, 100 or 300 trees). */
#include "learn/extra.h"
#include "methods/shared/ranked.h"

typedef struct extra_options {
    int train;
    int64_t trees, features, min_leaf;
} extra_options;

static const ferry_opt extra_opts[] = {
    BASE_OPT_TRAIN(extra_options),
    FERRY_OPT(extra_options, INT, trees, 300, 1, 1e5, "trees"),
    FERRY_OPT(extra_options, INT, features, 0, 0, 1e9,
              "features that a split chooses from; 0: the root of their number"),
    FERRY_OPT(extra_options, INT, min_leaf, 2, 1, 1e9, "instances in a leaf, at least"),
};

typedef struct state {
    base b;
    ferry_extra *f;
} state;

static void extra_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_extra_free(s->f);
    ferry_i_base_clear(&s->b);
    ferry_i_free(s);
}

static ferry_status extra_fits(ferry_ctx *ctx, const ferry_task *task, const void *options)
{
    const extra_options *o = options;

    return ferry_i_base_fits(ctx, task,
                             &(base_wants){.method = "extra-trees", .train = o->train});
}

/* Thresholds are drawn between values, so the unit of a feature does not matter: no scaling. */
static ferry_status extra_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                              void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const extra_options *o = options;
    examples e = {0};
    state *s = NULL;
    ferry_rng rng;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    FERRY_TRY(ferry_i_base_fit(ctx, task,
                               &(base_wants){.method = "extra-trees",
                                             .train = o->train,
                                             .scale = FERRY_SCALE_NONE},
                               &s->b, &e));
    ferry_i_rng_for(ctx, &rng, "extra-trees");
    const ferry_extra_options how = {o->trees, o->features, o->min_leaf,
                                     ferry_i_rng_u64(&rng)};
    FERRY_TRY(ferry_i_extra_fit(ctx, &how, e.x, s->b.k, e.on, &s->f));
    ferry_i_diag_real(ctx, "trees", (double)s->f->trees);
    ferry_i_diag_real(ctx, "nodes", (double)s->f->nodes);
    rep->iters = s->f->trees;
    FERRY_MOVE(*out, s);
done:
    ferry_i_examples_clear(&e);
    extra_free(s);
    return st;
}

static ferry_status extra_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                  ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    ferry_matrix *x = NULL;
    ferry_block *scores = NULL;
    int64_t *instance = NULL;

    FERRY_TRY(ferry_i_base_predict_prior(ctx, &s->b, p));
    FERRY_TRY(ferry_i_base_query(ctx, &s->b, d, &x, &instance));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, s->b.k, &scores));
    ferry_i_extra_scores(s->f, x, scores);
    ferry_i_base_predict_scores(&s->b, scores, instance, 0.5, p);
done:
    FERRY_FREE(instance, scores);
    ferry_i_matrix_free(x);
    return st;
}

/* ---- save and load ---- */

/* What loading needs besides ranges: every tree's nodes are within it, children after their parents, and
 * leaves have rows. */
static bool is_forest(const ferry_extra *f)
{
    for (int64_t t = 0; t < f->trees; t++) {
        const int64_t end = t + 1 < f->trees ? f->first[t + 1] : f->nodes;
        if (f->first[t] < 0 || f->first[t] >= end || end > f->nodes ||
            (t == 0 && f->first[t] != 0))
            return false;
        for (int64_t at = f->first[t]; at < end; at++) {
            const bool leaf = f->feature[at] < 0;
            const int64_t from = f->from[at], n = end - f->first[t];
            if (leaf && (from >= f->to[at] || f->to[at] > f->rows)) return false;
            if (!leaf && (from <= at - f->first[t] || from + 1 >= n)) return false;
        }
    }
    for (int64_t i = 0; i < f->rows; i++)
        if (f->start[i] > f->start[i + 1]) return false;
    return f->start[0] == 0;
}

static void extra_file(ferry_io *io, void *model)
{
    state *s = model;
    int64_t form[4] = {0};

    ferry_i_ranked_base(io, &s->b);
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, s->f, 1);
    if (io->st != FERRY_OK) return;
    ferry_extra *f = s->f;
    if (io->to) {
        form[0] = f->trees;
        form[1] = f->rows;
        form[2] = f->nodes;
        form[3] = f->start[f->rows];
    }
    ferry_i_io_ints(io, "form", 4, form);
    FERRY_IO_NEED(io,
                  form[0] >= 1 && form[0] <= 100000 && form[1] >= 1 &&
                      form[1] < INT32_MAX / 4 && form[2] >= form[0] &&
                      form[2] < INT32_MAX / 2 && form[3] >= 0 && form[3] < INT32_MAX,
                  "tensor form: %lld trees over %lld rows", (long long)form[0],
                  (long long)form[1]);
    if (io->st != FERRY_OK) return;
    if (ferry_i_io_loading(io))
        *f = (ferry_extra){
            .trees = form[0], .rows = form[1], .labels = s->b.k, .nodes = form[2]};
    ferry_i_io_int_list(io, "first", &(int64_t){form[0]}, &f->first);
    ferry_i_io_places(io, "feature", form[2], -1, ferry_i_base_width(&s->b), &f->feature);
    ferry_i_io_reals(io, "threshold", 1, form[2], &f->threshold);
    ferry_i_io_places(io, "from", form[2], 0, form[2] + form[1], &f->from);
    ferry_i_io_places(io, "to", form[2], 0, form[1] + 1, &f->to);
    ferry_i_io_places(io, "order", form[0] * form[1], 0, form[1], &f->order);
    ferry_i_io_places(io, "start", form[1] + 1, 0, form[3] + 1, &f->start);
    ferry_i_io_places(io, "label", form[3], 0, s->b.k, &f->label);
    FERRY_IO_NEED(io, is_forest(f), "tensors from, to: not of trees");
}

const ferry_method ferry_i_method_extra_trees = {
    .name = "extra-trees",
    .summary = "extremely randomised trees for all labels at once",
    .reference = "Geurts, Ernst and Wehenkel, Extremely Randomized Trees, Machine Learning "
                 "2006",
    .kind = FERRY_KIND_BASELINE,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_TARGET_VIEW,
    FERRY_OPTIONS(extra_opts, extra_options),
    .fits = extra_fits,
    .fit = extra_fit,
    .predict = extra_predict,
    FERRY_STATE(state, extra_file, extra_free),
};
