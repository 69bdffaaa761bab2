/* What all learners share (learner.h). */
#include "learn/learner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static double weight_of(const examples *e, int64_t i)
{
    return e->weight ? e->weight[i] : 1;
}

/* ---- by name ---- */

/* learner_<name> of each. */
#define LEARNERS(X)                                                                        \
    X(chains)                                                                              \
    X(extra_trees)                                                                         \
    X(gbdt)                                                                                \
    X(knn)                                                                                 \
    X(lift)                                                                                \
    X(logreg)                                                                              \
    X(ridge)                                                                               \
    X(svm)

#define DECLARE(name) extern const learner learner_##name;
#define ADDRESS(name) &learner_##name,
LEARNERS(DECLARE)
static const learner *const all_learners[] = {LEARNERS(ADDRESS)};

const learner *learner_at(int64_t i)
{
    return i >= 0 && i < FERRY_COUNT(all_learners) ? all_learners[i] : NULL;
}

const learner *learner_find(const char *name)
{
    for (int64_t i = 0; i < FERRY_COUNT(all_learners); i++)
        if (strcmp(all_learners[i]->name, name) == 0) return all_learners[i];
    return NULL;
}

static const char *name_of(const void *by)
{
    return ((const learner *)by)->name;
}

static const void *find(const char *name)
{
    return learner_find(name);
}

static const table *table_of(const void *by)
{
    return ((const learner *)by)->state;
}

const variants learners = {name_of, find, table_of};

void *learner_defaults(scope *s, const learner *l)
{
    void *options = scope_new(s, 1, l->options_size);

    scope_check(s, ferry_i_opts_parse(scope_ctx(s), l->name, l->options, l->n_options, NULL,
                                      options));
    return options;
}

void learner_set(const learner *l, void *options, const char *name, double value)
{
    for (int64_t i = 0; i < l->n_options; i++) {
        void *at = (char *)options + l->options[i].offset;
        if (strcmp(l->options[i].name, name) != 0) continue;
        if (l->options[i].type == FERRY_OPT_REAL)
            *(double *)at = value;
        else
            *(int64_t *)at = (int64_t)value;
    }
}

/* ---- learning and asking ---- */

/* Each row once for each class that it speaks for, with that weight. */
static examples one_hot_of(scope *s, const examples *e)
{
    const block soft = e->y.soft;
    const int64_t most_rows = soft.n * soft.k;
    int64_t *rows = NEW(s, int64_t, most_rows), n = 0, sources = 0;
    int32_t *cls = NEW(s, int32_t, most_rows);
    double *weight = NEW(s, double, most_rows);

    for (int64_t i = 0; i < soft.n; i++) {
        for (int64_t k = 0; k < soft.k; k++) {
            if (ROW(soft, i)[k] <= 0) continue;
            rows[n] = i;
            cls[n] = (int32_t)k;
            weight[n++] = ROW(soft, i)[k] * weight_of(e, i);
        }
        if (i < e->sources) sources = n;
    }
    examples hard = *e;
    hard.y.soft = (block){.at = NULL};
    hard.y.cls = NULL;
    hard.weight = NULL;
    hard = take_examples(s, &hard, n, rows);
    hard.y.cls = cls;
    hard.weight = weight;
    hard.sources = sources;
    return hard;
}

static void check_takes(scope *s, const learner *by, const examples *e)
{
    const unsigned goal = e->y.goal == FERRY_REGRESS      ? LEARN_NUMBERS
                          : e->y.goal == FERRY_MULTILABEL ? LEARN_SETS
                                                          : LEARN_CLASSES;

    if (!(by->takes & goal))
        scope_fail(s, FERRY_ENEEDS, "%s does not learn %s", by->name,
                   goal == LEARN_NUMBERS ? "numbers"
                   : goal == LEARN_SETS  ? "label sets"
                                         : "classes");
    if (e->weight && !(by->takes & LEARN_WEIGHTS))
        scope_fail(s, FERRY_ENEEDS, "%s takes no weights of rows", by->name);
    if (e->x.rows.n == 0)
        scope_fail(s, FERRY_ENEEDS, "no labelled instances to learn from");
    if (e->x.rows.spread && !(by->takes & LEARN_SPREAD))
        scope_fail(s, FERRY_ENEEDS,
                   "%s compares all rows with each other, which --engine mpi does not",
                   by->name);
}

learned learn(scope *s, scope *keep, const learner *by, const void *options,
              const examples *e)
{
    learned m = {by, state_new(keep, by->state), e->y.k};
    const int64_t mark = scope_mark(s);
    const examples hard = e->y.soft.at && !(by->takes & LEARN_SOFT) ? one_hot_of(s, e) : *e;

    check_takes(s, by, &hard);
    by->fit(s, keep, &hard, options ? options : learner_defaults(s, by), m.state);
    if (keep != s) scope_release(s, mark);
    return m;
}

block answer(scope *s, const learned *m, matrix x)
{
    const block out = block_new(s, x.rows, x.n, m->k);
    const int64_t mark = scope_mark(s);

    m->by->scores(s, m->state, x, out);
    scope_release(s, mark);
    return out;
}

void learned_scores(scope *s, const learned *m, matrix x, block out)
{
    if (!m->by->serves(m->state, x.cols, out.k))
        scope_fail(s, FERRY_EDATA, "%s: not of %lld columns and %lld classes", m->by->name,
                   (long long)x.cols, (long long)out.k);
    m->by->scores(s, m->state, x, out);
}

/* ---- examples ---- */

static bool has_label(const labels *y, int64_t i)
{
    return y->cls ? y->cls[i] >= 0 : y->num ? !isnan(y->num[i]) : y->on[i * y->k] != 255;
}

examples labelled_rows(scope *s, const domain *d)
{
    int64_t *rows = NEW(s, int64_t, d->n), n = 0;
    const examples all = {.x = d->x, .y = d->y, .weight = d->weight, .key = d->key};

    for (int64_t i = 0; i < d->n; i++)
        if (has_label(&d->y, i)) rows[n++] = i;
    if (d->labelled == d->rows.n) return all;
    return take_examples(s, &all, n, rows);
}

examples rows_with_features(scope *s, const domain *d)
{
    int64_t *rows = NEW(s, int64_t, d->n), n = 0;
    const examples all = {.x = d->x, .y = d->y, .key = d->key};

    for (int64_t i = 0; i < d->n; i++)
        if (has_label(&d->y, i) && (!d->there || d->there[i])) rows[n++] = i;
    if (sum(s, d->rows, (double)n) == 0)
        scope_fail(s, FERRY_ENEEDS, "%s needs labelled instances with features",
                   scope_ctx(s)->fitting);
    return take_examples(s, &all, n, rows);
}

matrix side_by_side(scope *s, const domain *d)
{
    matrix *part = NEW(s, matrix, d->n_views);

    for (int v = 0; v < d->n_views; v++) {
        const ferry_matrix *m = d->view[v].x.m;
        const int64_t cells = m->dense ? m->rows * m->cols : m->start[m->rows];
        double *value = COPY(s, m->dense ? m->dense : m->value, cells);
        for (int64_t e = 0; e < cells; e++)
            if (isnan(value[e])) value[e] = 0;
        if (m->dense) {
            part[v] = matrix_dense(s, d->rows, d->n, m->cols);
            if (cells > 0) memcpy(part[v].m->dense, value, (size_t)cells * sizeof *value);
        } else {
            part[v] = with_values(s, d->view[v].x, value);
        }
        scope_drop(s, value);
    }
    return d->n_views == 1 ? part[0] : beside(s, d->n_views, part);
}

/* Labels of the rows, whatever their kind. */
static labels take_labels(scope *s, const labels *y, layout rows, int64_t n,
                          const int64_t *from)
{
    labels to = {.goal = y->goal, .k = y->k};
    int32_t *cls = y->cls ? NEW(s, int32_t, n) : NULL;
    double *num = y->num ? NEW(s, double, n) : NULL;
    uint8_t *on = y->on ? NEW(s, uint8_t, n * y->k) : NULL;

    if (y->soft.at) to.soft = block_new(s, rows, n, y->soft.k);
    for (int64_t i = 0; i < n; i++) {
        if (cls) cls[i] = y->cls[from[i]];
        if (num) num[i] = y->num[from[i]];
        if (on) memcpy(on + i * y->k, y->on + from[i] * y->k, (size_t)y->k);
        if (to.soft.at)
            memcpy(ROW(to.soft, i), ROW(y->soft, from[i]),
                   (size_t)y->soft.k * sizeof(double));
    }
    to.cls = cls;
    to.num = num;
    to.on = on;
    return to;
}

examples take_examples(scope *s, const examples *e, int64_t n, const int64_t *rows)
{
    const matrix x = take_rows(s, e->x, n, rows, false);
    double *weight = e->weight ? NEW(s, double, n) : NULL;
    uint64_t *key = e->key ? NEW(s, uint64_t, n) : NULL;
    examples to = {x, take_labels(s, &e->y, x.rows, n, rows), weight, key, 0};

    for (int64_t i = 0; i < n; i++) {
        if (weight) weight[i] = e->weight[rows[i]];
        if (key) key[i] = e->key[rows[i]];
        to.sources += rows[i] < e->sources;
    }
    return to;
}

/* Where the arrays of part p go: behind those of the parts before it. */
static labels stack_labels(scope *s, int64_t n, const examples *e, layout rows, int64_t all)
{
    labels to = {.goal = e[0].y.goal, .k = e[0].y.k};
    const int64_t k = to.k;
    int32_t *cls = e[0].y.cls ? NEW(s, int32_t, all) : NULL;
    double *num = e[0].y.num ? NEW(s, double, all) : NULL;
    uint8_t *on = e[0].y.on ? NEW(s, uint8_t, all * k) : NULL;

    if (e[0].y.soft.at) to.soft = block_new(s, rows, all, k);
    for (int64_t p = 0, at = 0; p < n; at += e[p++].x.n) {
        const size_t m = (size_t)e[p].x.n;
        if (m == 0) continue;
        if (cls) memcpy(cls + at, e[p].y.cls, m * sizeof *cls);
        if (num) memcpy(num + at, e[p].y.num, m * sizeof *num);
        if (on) memcpy(on + at * k, e[p].y.on, m * (size_t)k);
        if (to.soft.at)
            memcpy(ROW(to.soft, at), e[p].y.soft.at, m * (size_t)k * sizeof(double));
    }
    to.cls = cls;
    to.num = num;
    to.on = on;
    return to;
}

examples stack_examples(scope *s, int64_t n, const examples *e)
{
    matrix *x = NEW(s, matrix, n);
    bool weighted = false, keyed = n > 0;
    int64_t sources = 0;

    if (n == 1) return e[0];
    for (int64_t p = 0; p < n; p++) {
        x[p] = e[p].x;
        weighted = weighted || e[p].weight;
        keyed = keyed && e[p].key;
        sources += e[p].sources;
    }
    const matrix all = stack(s, n, x);
    double *weight = weighted ? NEW(s, double, all.n) : NULL;
    uint64_t *key = keyed ? NEW(s, uint64_t, all.n) : NULL;
    for (int64_t p = 0, at = 0; p < n; p++)
        for (int64_t i = 0; i < e[p].x.n; i++, at++) {
            if (weight) weight[at] = e[p].weight ? e[p].weight[i] : 1;
            if (key) key[at] = e[p].key[i];
        }
    return (examples){all, stack_labels(s, n, e, all.rows, all.n), weight, key, sources};
}

examples training_examples(scope *s, const problem *p)
{
    examples *e = NEW(s, examples, p->n);
    int n = 0;

    for (int i = 0; i < p->n; i++) {
        if (p->d[i].labelled == 0 && (n > 0 || i < p->n - 1)) continue;
        e[n] = labelled_rows(s, &p->d[i]);
        if (i < p->n_sources) e[n].sources = e[n].x.n;
        n++;
    }
    return stack_examples(s, n, e);
}

block targets(scope *s, const examples *e)
{
    const labels *y = &e->y;
    const block to = block_new(s, e->x.rows, e->x.n, y->k);

    if (y->soft.at) copy(y->soft, to);
    for (int64_t i = 0; !y->soft.at && i < to.n; i++) {
        if (y->cls) ROW(to, i)[y->cls[i]] = 1;
        if (y->num) ROW(to, i)[0] = y->num[i];
        for (int64_t k = 0; y->on && k < y->k; k++)
            ROW(to, i)[k] = y->on[i * y->k + k];
    }
    return to;
}

double total_weight(scope *s, const examples *e)
{
    double all = 0;

    for (int64_t i = 0; i < e->x.n; i++)
        all += weight_of(e, i);
    return sum(s, e->x.rows, all);
}

/* ---- cross-validation ---- */

typedef struct dealt {
    uint64_t first; /* key of its class: the first of its rows */
    int32_t cls;
    uint64_t key;
    int64_t number;
} dealt;

static int by_class_and_key(const void *a, const void *b)
{
    const dealt *x = a, *y = b;

    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    if (x->cls != y->cls) return x->cls < y->cls ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int64_t number_of(layout rows, int64_t i)
{
    return rows.number ? rows.number[i] : rows.first + i;
}

/* Class after class, in the order of their first keys: how classes are numbered plays no part. */
static void sort_rows(int64_t n, dealt *all)
{
    uint64_t first = 0;

    if (n == 0) return;
    qsort(all, (size_t)n, sizeof *all, by_class_and_key);
    for (int64_t r = 0; r < n; r++) {
        if (r == 0 || all[r].cls != all[r - 1].cls) first = all[r].key;
        all[r].first = first;
    }
    qsort(all, (size_t)n, sizeof *all, by_class_and_key);
}

int64_t *rows_by_key(scope *s, int64_t n, const uint64_t *key)
{
    int64_t *rows = NEW(s, int64_t, n);
    const int64_t mark = scope_mark(s);
    dealt *all = NEW(s, dealt, n);

    for (int64_t i = 0; i < n; i++)
        all[i] = (dealt){0, 0, key ? key[i] : 0, i};
    if (n > 0) qsort(all, (size_t)n, sizeof *all, by_class_and_key);
    for (int64_t i = 0; i < n; i++)
        rows[i] = all[i].number;
    scope_release(s, mark);
    return rows;
}

double *row_marks(scope *s, layout rows, int64_t n, const uint64_t *key)
{
    double *mark = NEW(s, double, n);

    for (int64_t i = 0; i < n; i++) {
        const int64_t number = number_of(rows, i);
        const uint64_t of = key ? key[i] : XXH3_64bits(&number, sizeof number);
        mark[i] = (double)(of >> 38); /* 2^26: sums over 2^27 rows are exact */
    }
    return mark;
}

typedef struct placed_label {
    double at;
    int32_t label;
} placed_label;

static int by_place(const void *a, const void *b)
{
    const placed_label *x = a, *y = b;

    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

int32_t *labels_by_rows(scope *s, const examples *e)
{
    const int64_t k = e->y.k;
    int32_t *order = NEW(s, int32_t, k);
    const int64_t start = scope_mark(s);
    const double *mark = row_marks(s, e->x.rows, e->x.n, e->key);
    double *at = NEW(s, double, k);
    placed_label *all = NEW(s, placed_label, k);

    for (int64_t i = 0; i < e->x.n; i++)
        for (int64_t c = 0; c < k; c++)
            at[c] += e->y.on[i * k + c] == 1 ? weight_of(e, i) * mark[i] : 0;
    sums(s, e->x.rows, k, at);
    for (int64_t c = 0; c < k; c++)
        all[c] = (placed_label){at[c], (int32_t)c};
    if (k > 0) qsort(all, (size_t)k, sizeof *all, by_place);
    for (int64_t c = 0; c < k; c++)
        order[c] = all[c].label;
    scope_release(s, start);
    return order;
}

/* All processes sort all rows; each finds its own by their numbers. */
int32_t *stratified_folds(scope *s, layout rows, int64_t n, const int32_t *cls,
                          const uint64_t *key, int folds)
{
    int32_t *fold = NEW(s, int32_t, n);
    const int64_t mark = scope_mark(s);
    dealt *mine = NEW(s, dealt, n);
    int32_t *of = NEW(s, int32_t, rows.n);
    int64_t next = 0;

    for (int64_t i = 0; i < n; i++) {
        const int64_t number = number_of(rows, i);
        mine[i] = (dealt){0, cls ? cls[i] : 0,
                          key ? key[i] : XXH3_64bits(&number, sizeof number), number};
    }
    dealt *all = replicate_items(s, rows, n, sizeof *mine, mine);
    sort_rows(rows.n, all);
    for (int64_t r = 0; r < rows.n; r++) {
        const bool again =
            r > 0 && all[r].cls == all[r - 1].cls && all[r].key == all[r - 1].key;
        if (all[r].cls >= 0 && !again) next++;
        of[all[r].number] = all[r].cls < 0 ? -1 : (int32_t)(next % folds);
    }
    for (int64_t i = 0; i < n; i++)
        fold[i] = of[number_of(rows, i)];
    scope_release(s, mark);
    return fold;
}

/* Rows of sources, and those that do not count, are in no fold: -1. */
static int32_t *folds_of(scope *s, const examples *e, int folds)
{
    int32_t *cls = NEW(s, int32_t, e->x.n);

    for (int64_t i = 0; i < e->x.n; i++)
        cls[i] = i < e->sources || weight_of(e, i) == 0 ? -1 : e->y.cls ? e->y.cls[i] : 0;
    return stratified_folds(s, e->x.rows, e->x.n, cls, e->key, folds);
}

static examples fold_part(scope *s, const examples *e, const int32_t *fold, int f,
                          bool inside, int64_t **rows)
{
    int64_t n = 0;

    *rows = NEW(s, int64_t, e->x.n);
    for (int64_t i = 0; i < e->x.n; i++)
        if ((fold[i] == f) == inside) (*rows)[n++] = i;
    return take_examples(s, e, n, *rows);
}

/* Scores of the rows of each fold by a model of the others, into out. */
static void predict_folds(scope *s, const learner *by, const void *options,
                          const examples *e, const int32_t *fold, int folds, block out)
{
    for (int f = 0; f < folds; f++) {
        const int64_t mark = scope_mark(s);
        int64_t *in = NULL, *rows = NULL;
        const examples train = fold_part(s, e, fold, f, false, &in),
                       test = fold_part(s, e, fold, f, true, &rows);
        const learned m = learn(s, s, by, options, &train);
        const block g = answer(s, &m, test.x);
        for (int64_t i = 0; i < g.n; i++)
            memcpy(ROW(out, rows[i]), ROW(g, i), (size_t)g.k * sizeof(double));
        scope_release(s, mark);
    }
}

block cross_predict(scope *s, const learner *by, const void *options, const examples *e,
                    int folds)
{
    const block out = block_new(s, e->x.rows, e->x.n, e->y.k);
    const int64_t mark = scope_mark(s);

    for (int64_t i = 0; i < out.n * out.k; i++)
        out.at[i] = NAN;
    predict_folds(s, by, options, e, folds_of(s, e, folds), folds, out);
    scope_release(s, mark);
    return out;
}

/* At least five of every class; of numbers as many for each of three folds. */
static bool enough(scope *s, const examples *e)
{
    const int64_t k = e->y.k;
    double *count = NEW(s, double, k);
    bool all = true;

    if (!e->y.cls && !e->y.num) return false;
    for (int64_t i = e->sources; i < e->x.n; i++)
        count[e->y.cls ? e->y.cls[i] : 0] += weight_of(e, i);
    sums(s, e->x.rows, k, count);
    for (int64_t c = 0; c < k; c++)
        all = all && count[c] >= (e->y.num ? 15 : 5);
    return all;
}

/* What the rows of the target gain by another value than the first: [good, sum, squares, weight], over all rows. Larger is
 * better. */
static void add_gains(scope *s, const examples *e, block first, block now, double *gain)
{
    for (int64_t i = e->sources; i < e->x.n; i++) {
        const double w = weight_of(e, i);
        double worth[2];
        if (w == 0) continue;
        for (int v = 0; v < 2; v++) {
            const double *f = ROW(v ? now : first, i);
            int64_t best = 0;
            for (int64_t c = 1; c < now.k; c++)
                if (f[c] > f[best]) best = c;
            worth[v] = e->y.num ? -(f[0] - e->y.num[i]) * (f[0] - e->y.num[i])
                                : best == e->y.cls[i];
        }
        gain[0] += w * worth[1];
        gain[1] += w * (worth[1] - worth[0]);
        gain[2] += w * (worth[1] - worth[0]) * (worth[1] - worth[0]);
        gain[3] += w;
    }
    sums(s, e->x.rows, 4, gain);
}

/* Numbers differ by more than a standard error, since fifteen of them tell little. (Made-up lines of 6 to 60 columns,
 * seed 78: as good as the best of three on the mean, and where the usual value is right it costs a third as much.) */
double choose(scope *s, const learner *by, const void *options, size_t at, int n,
              const double *value, const examples *e)
{
    const int64_t mark = scope_mark(s);
    char *o = scope_copy(s, options, 1, by->options_size);
    double best_good = -INFINITY, chosen = value[0];
    block first = {.at = NULL};

    if (!enough(s, e)) return value[0];
    const int32_t *fold = folds_of(s, e, 3);
    for (int v = 0; v < n; v++) {
        double g[4] = {0};
        const block now = block_new(s, e->x.rows, e->x.n, e->y.k);
        memcpy(o + at, &value[v], sizeof *value);
        predict_folds(s, by, o, e, fold, 3, now);
        if (v == 0) first = now;
        add_gains(s, e, first, now, g);
        const bool better =
            v == 0 || (g[1] > 0 &&
                       (!e->y.num || g[1] * g[1] * (g[3] - 1) > g[3] * g[2] - g[1] * g[1]));
        if (g[0] > best_good && better) {
            best_good = g[0];
            chosen = value[v];
        }
    }
    scope_release(s, mark);
    return chosen;
}

/* ---- scores and classes ---- */

int32_t *argmax(scope *s, block g)
{
    int32_t *best = NEW(s, int32_t, g.n);

    for (int64_t i = 0; i < g.n; i++)
        for (int32_t k = 1; k < g.k; k++)
            if (ROW(g, i)[k] > ROW(g, i)[best[i]]) best[i] = k;
    return best;
}

double *margins(scope *s, block g)
{
    double *margin = NEW(s, double, g.n);
    const int64_t mark = scope_mark(s);
    const int32_t *best = argmax(s, g);

    for (int64_t i = 0; i < g.n; i++) {
        double next = -INFINITY;
        for (int64_t k = 0; k < g.k; k++)
            if (k != best[i]) next = fmax(next, ROW(g, i)[k]);
        margin[i] = ROW(g, i)[best[i]] - next;
    }
    scope_release(s, mark);
    return margin;
}

double softmax_row(int64_t c, const double *bias, double *z)
{
    double top = -INFINITY, all = 0;

    for (int64_t k = 0; k < c; k++) {
        if (bias) z[k] += bias[k];
        top = fmax(top, z[k]);
    }
    for (int64_t k = 0; k < c; k++)
        all += z[k] = exp(z[k] - top);
    for (int64_t k = 0; k < c; k++)
        z[k] /= all;
    return top + log(all);
}

void clamp_rows(block g, const int32_t *known)
{
    for (int64_t i = 0; i < g.n; i++)
        for (int64_t k = 0; known[i] >= 0 && k < g.k; k++)
            ROW(g, i)[k] = (double)(k == known[i]);
}

block one_hot(scope *s, layout rows, int64_t n, const int32_t *y, int64_t c)
{
    const block g = block_new(s, rows, n, c);

    clamp_rows(g, y);
    return g;
}

double cohen_kappa(scope *s, layout rows, int64_t n, const int32_t *a, const int32_t *b,
                   int64_t c)
{
    const int64_t mark = scope_mark(s);
    /* counts: of a's classes, of b's, of rows that agree, of rows */
    double *of_a = NEW(s, double, 2 * c + 2), *of_b = of_a + c, *same = of_b + c,
           *all = same + 1, chance = 0;

    for (int64_t i = 0; i < n; i++) {
        of_a[a[i]]++;
        of_b[b[i]]++;
        *same += a[i] == b[i];
    }
    *all = (double)n;
    sums(s, rows, 2 * c + 2, of_a);
    bool constant = *all == 0;
    for (int64_t k = 0; k < c; k++) {
        chance += of_a[k] / *all * (of_b[k] / *all);
        constant = constant || of_a[k] == *all || of_b[k] == *all;
    }
    const double kappa = constant ? 0 : (*same / *all - chance) / (1 - chance);
    scope_release(s, mark);
    return kappa;
}

/* ---- the best rows of each class ---- */

typedef struct ranked {
    int32_t cls;
    double value;
    uint64_t key;
    int64_t number;
} ranked;

static int best_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->cls != y->cls) return x->cls < y->cls ? -1 : 1;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

uint8_t *top_rows(scope *s, layout rows, int64_t n, const int32_t *cls, const double *value,
                  const uint64_t *key, int64_t k, const int64_t *quota)
{
    uint8_t *take = NEW(s, uint8_t, n);
    const int64_t mark = scope_mark(s);
    ranked *mine = NEW(s, ranked, n);
    uint8_t *of = NEW(s, uint8_t, rows.n);
    int64_t *taken = NEW(s, int64_t, k);

    for (int64_t i = 0; i < n; i++)
        mine[i] = (ranked){cls[i], value[i], key[i], number_of(rows, i)};
    ranked *all = replicate_items(s, rows, n, sizeof *mine, mine);
    if (rows.n > 0) qsort(all, (size_t)rows.n, sizeof *all, best_first);
    for (int64_t r = 0; r < rows.n; r++) {
        const int32_t c = all[r].cls;
        if (c >= 0 && taken[c] < quota[c]) {
            of[all[r].number] = 1;
            taken[c]++;
        }
    }
    for (int64_t i = 0; i < n; i++)
        take[i] = of[number_of(rows, i)];
    scope_release(s, mark);
    return take;
}
