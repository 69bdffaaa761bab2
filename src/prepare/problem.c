/* From a task to the problem that a method is given (problem.h). */
#include "prepare/problem.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "learn/rows.h"
#include "prepare/pairs.h"

/* ---- which domains ---- */

const char *train_name(training t)
{
    static const char *const names[] = {"auto", "source", "target", "both"};

    return names[t];
}

static bool has_labels(const ferry_domain *d)
{
    for (int64_t i = 0; d->labels && i < d->labels->n; i++)
        if (ferry_i_labels_has(d->labels, i)) return true;
    return false;
}

/* auto decided, or a sentence about labels that are missing. */
training train_of(scope *s, const ferry_task *task, const method *m,
                  const common_options *c)
{
    const ferry_domain *target = NULL, *d = NULL;
    training on = (training)c->train;
    bool sources = false;

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &target));
    const bool seen = has_labels(target);
    if (on == TRAIN_ON_AUTO) on = seen ? TRAIN_ON_TARGET : TRAIN_ON_SOURCE;
    if (!seen && on != TRAIN_ON_SOURCE)
        scope_fail(s, FERRY_ENEEDS,
                   "%s train=%s needs labels of target '%s' that may be seen", m->name,
                   train_name(on), target->name);
    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++)
        sources = sources || has_labels(d);
    if (!sources && on != TRAIN_ON_TARGET)
        scope_fail(s, FERRY_ENEEDS, "%s train=%s needs a source with labels", m->name,
                   train_name(on));
    return on;
}

ferry_layout prepared_layout(arrangement as)
{
    return as == CHAIN                         ? FERRY_PATH
           : as == VIEWS_APART || as == STREAM ? FERRY_APART
                                               : FERRY_JOINED;
}

bool problem_has_features(scope *s, const ferry_task *task, const wants *w)
{
    const ferry_domain *t = NULL;

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &t));
    return w->as != NO_FEATURES && (!w->graphs || t->n_views > 0);
}

/* What is asked of prepare. */
static ferry_wants wants_of(scope *s, const ferry_task *task, const method *m,
                            const wants *w, const common_options *c)
{
    ferry_wants to = {
        .method = m->name,
        .domains = w->domains,
        .layout = prepared_layout(w->as),
        .scale = w->unscaled       ? FERRY_SCALE_NONE
                 : w->as == STREAM ? w->scale
                                   : c->scale,
        .missing = w->missing,
        .positive = (ferry_positive)w->sign,
        .published = w->scale_default && strcmp(w->scale_default, "none") == 0,
        .shared = w->shared,
        .labelled_sources = (w->as != STREAM || (w->domains & WANT_SOURCES)) &&
                            !(w->pairs && (w->as != CHAIN || task_pairs(task))),
        .every = w->every || w->graphs,
        .labelled = w->labelled || w->as == STREAM,
        .full = true,
        .keeps = w->keeps,
        .embeds = m->embeds_sources && task->goal == FERRY_EMBED};

    if (w->beside) {
        to.domains = WANT_SOURCES;
        to.shared = to.labelled = true;
        to.borrow = w->raw;
    }
    if (w->trains) {
        const training on = train_of(s, task, m, c);
        to.domains = (on != TRAIN_ON_TARGET ? WANT_SOURCES : 0) |
                     (on != TRAIN_ON_SOURCE || w->unlabelled ? WANT_TARGET : 0);
        to.shared = on != TRAIN_ON_TARGET;
        to.labelled = !w->unlabelled;
    }
    return to;
}

/* ---- keys: what orders rows and columns, whatever file they came from ---- */

static const ferry_space *space_of(const ferry_prepared *p, int64_t j)
{
    int64_t g = p->n_spaces - 1;

    while (g > 0 && p->space[g].begin > j)
        g--;
    return &p->space[g];
}

const char *column_name(scope *s, const problem *p, int64_t j)
{
    const ferry_space *v = space_of(p->prepared, j);

    if (v->features) return ferry_i_ids_at(v->features, j - v->begin);
    return scope_text(s, "%s.%lld", v->name, (long long)(j - v->begin + 1));
}

void need_amounts(scope *s, const problem *p, matrix x, const uint8_t *keep)
{
    double below = -1; /* the largest such column of all processes */

    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        for (int64_t e = 0; e < r.n; e++) {
            const int64_t j = r.index ? r.index[e] : e;
            if (r.value[e] < 0 && keep[j]) below = fmax(below, (double)j);
        }
    }
    below = most(s, x.rows, below);
    if (below >= 0)
        scope_fail(s, FERRY_ENEEDS,
                   "%s needs features of 0 or more; view '%s' has some below 0 or is "
                   "standardised",
                   scope_ctx(s)->fitting, space_of(p->prepared, (int64_t)below)->name);
}

uint8_t *shared_amounts(scope *s, const problem *p, int from, int n, int to)
{
    uint8_t *keep = NEW(s, uint8_t, p->cols);
    bool any = false;

    for (int i = from; i < from + n; i++)
        for (int64_t j = 0; j < p->cols; j++)
            if (p->has[i][j] && p->has[to][j]) keep[j] = any = true;
    if (!any)
        scope_fail(s, FERRY_ENEEDS, "%s: '%s' and '%s' have no view in common",
                   scope_ctx(s)->fitting, p->d[from + n - 1].name, p->d[to].name);
    uint8_t *used = columns_used(s, p->d[to].x);
    for (int i = from; i < from + n; i++) {
        const uint8_t *more = columns_used(s, p->d[i].x);
        for (int64_t j = 0; j < p->cols; j++)
            used[j] |= more[j];
        need_amounts(s, p, p->d[i].x, keep);
    }
    need_amounts(s, p, p->d[to].x, keep);
    for (int64_t j = 0; j < p->cols; j++)
        keep[j] = keep[j] && used[j];
    return keep;
}

static double squashed(double x)
{
    return x / (1 + fabs(x));
}

/* A number for what a row holds, the same in any order of its columns; rows that differ by rounding have numbers that
 * do, so that their order stays. */
static double content_of(const ferry_matrix *x, int64_t i)
{
    const double *v = row_values(x);
    double all = 0;

    for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
        if (isfinite(v[e])) all += squashed(v[e]);
    return all;
}

/* The same where values x_ij factor_j - shift_j are meant; zero: of a row of 0. */
static double content_scaled(const ferry_rows *r, double zero, int64_t i)
{
    const ferry_matrix *x = r->x[0];
    const double *v = row_values(x), *shift = r->shift[0];
    double all = x->dense ? 0 : zero;

    for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
        const int64_t j = row_column(x, i, e);
        all += squashed(v[e] * r->factor[j] - shift[j]);
        if (!x->dense) all -= squashed(-shift[j]);
    }
    return all;
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How many of n sorted numbers are smaller. */
static int64_t rank_of(double x, int64_t n, const double *sorted)
{
    int64_t lo = 0, hi = n;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (sorted[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Sums in another order differ by rounding, and of counts many are equal: they are made whole multiples of 1e-10 of the
 * largest. */
static void round_off(scope *s, layout rows, int64_t n, double *v)
{
    double top = 0;

    for (int64_t i = 0; i < n; i++)
        top = isfinite(v[i]) ? fmax(top, fabs(v[i])) : top;
    top = most(s, rows, top);
    for (int64_t i = 0; i < n; i++)
        v[i] = top > 0 && isfinite(v[i]) ? floor(v[i] / top * 1e10 + 0.5) : 0;
}

/* Of each column what all rows of all domains hold; 0: nothing. */
static double *column_contents(scope *s, const problem *p)
{
    double *content = NEW(s, double, p->cols);

    for (int i = 0; i < p->n; i++) {
        double *of = NEW(s, double, p->cols);
        for (int64_t k = 0; k < p->d[i].n; k++) {
            const ferry_row r = row_at(p->d[i].x, k);
            for (int64_t e = 0; e < r.n; e++)
                of[r.index ? r.index[e] : e] += r.value[e] / (1 + fabs(r.value[e]));
        }
        sums(s, p->d[i].rows, p->cols, of);
        for (int64_t j = 0; j < p->cols; j++)
            content[j] += of[j];
    }
    return content;
}

/* Names, or where a view has none the ranks of its columns by what they hold, among those that hold something. */
static const uint64_t *column_keys(scope *s, const problem *p)
{
    const ferry_prepared *from = p->prepared;
    uint64_t *key = NEW(s, uint64_t, p->cols);
    const int64_t mark = scope_mark(s);
    double *content = column_contents(s, p);
    double *sorted = NEW(s, double, p->cols);

    for (int64_t v = 0; v < from->n_spaces; v++) {
        const ferry_space *of = &from->space[v];
        int64_t n = 0;
        round_off(s, HERE(of->cols), of->cols, content + of->begin);
        for (int64_t j = of->begin; !of->features && j < of->begin + of->cols; j++)
            if (content[j] != 0) sorted[n++] = content[j];
        if (n > 0) qsort(sorted, (size_t)n, sizeof *sorted, by_number);
        for (int64_t j = of->begin; j < of->begin + of->cols; j++) {
            const char *name = of->features
                                   ? ferry_i_ids_at(of->features, j - of->begin)
                                   : scope_text(s, "%s.%lld", of->name,
                                                (long long)rank_of(content[j], n, sorted));
            key[j] = XXH3_64bits(name, strlen(name));
        }
    }
    scope_release(s, mark);
    return key;
}

typedef struct ranked {
    double v;
    int32_t column;
    int64_t row;
} ranked;

static int by_column(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return (x->v > y->v) - (x->v < y->v);
}

/* key += hashes of the ranks that the cells of each row have in their columns: values as they are may have any unit. */
static void add_ranks(scope *s, const ferry_matrix *m, layout rows, const double *weight,
                      uint64_t *key)
{
    const int64_t mark = scope_mark(s);
    const double *v = row_values(m);
    ranked *mine = NEW(s, ranked, m->dense ? m->rows * m->cols : m->start[m->rows]);
    int64_t n = 0, rank = 0;

    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t e = row_begin(m, i); e < row_end(m, i); e++)
            if (!isnan(v[e]) && (!weight || weight[i] > 0))
                mine[n++] = (ranked){v[e], (int32_t)row_column(m, i, e),
                                     rows.number ? rows.number[i] : rows.first + i};
    const layout cells = {.n = (int64_t)sum(s, rows, (double)n), .spread = rows.spread};
    ranked *all = replicate_items(s, cells, n, sizeof *mine, mine);
    uint64_t *of = NEW(s, uint64_t, rows.n);
    if (cells.n > 1) qsort(all, (size_t)cells.n, sizeof *all, by_column);
    for (int64_t e = 0, end = 0; e < cells.n; e = end) {
        while (end < cells.n && all[end].column == all[e].column)
            end++;
        if (all[e].v == all[end - 1].v) continue; /* a constant says nothing */
        rank = 0;
        for (int64_t c = e; c < end; c++) {
            rank += c > e && all[c].v > all[c - 1].v;
            of[all[c].row] += XXH3_64bits(&rank, sizeof rank);
        }
    }
    for (int64_t i = 0; i < m->rows; i++)
        key[i] += of[rows.number ? rows.number[i] : rows.first + i];
    scope_release(s, mark);
}

static bool has_ties(scope *s, layout rows, int64_t n, const double *v)
{
    const int64_t mark = scope_mark(s);
    double *all = replicate_items(s, rows, n, sizeof *all, COPY(s, v, n));
    bool ties = false;

    if (rows.n > 0) qsort(all, (size_t)rows.n, sizeof *all, by_number);
    for (int64_t i = 1; i < rows.n; i++)
        ties = ties || all[i] == all[i - 1];
    scope_release(s, mark);
    return ties;
}

/* What cell e of row i adds to what the row holds. */
static double cell_content(const ferry_rows *r, int64_t of, int64_t i, int64_t e)
{
    const ferry_matrix *x = r->x[of];
    const double v = row_values(x)[e];

    if (!isfinite(v)) return 0;
    if (!r->factor) return squashed(v);
    const int64_t j = row_column(x, i, e);
    const double shift = r->shift[0][j];
    return squashed(v * r->factor[j] - shift) - (x->dense ? 0 : squashed(-shift));
}

/* Where rows hold as much as others: every cell times a number of its column, which is a hash of what that one holds. */
static const double *second_content(scope *s, const ferry_rows *r, layout rows)
{
    double *second = NEW(s, double, r->n);

    for (int64_t v = 0; v < (r->factor ? 1 : r->n_x); v++) {
        const ferry_matrix *x = r->x[v];
        const int64_t mark = scope_mark(s);
        double *of = NEW(s, double, x->cols);
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
                of[row_column(x, i, e)] +=
                    (r->weight ? r->weight[i] : 1) * cell_content(r, v, i, e);
        sums(s, rows, x->cols, of);
        round_off(s, HERE(x->cols), x->cols, of);
        for (int64_t j = 0; j < x->cols; j++)
            of[j] = (double)(XXH3_64bits(&of[j], sizeof of[j]) >> 11) * 0x1p-53;
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
                second[i] += cell_content(r, v, i, e) * of[row_column(x, i, e)];
        scope_release(s, mark);
    }
    round_off(s, rows, r->n, second);
    return second;
}

typedef struct held {
    double first, second;
    double w; /* the row's weight, then that of all before it */
} held;

static int by_held(const void *a, const void *b)
{
    const held *x = a, *y = b;

    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

/* Ranks by content. A row counts as many times as its weight says: the same as if it were there so often. */
static void key_by_content(scope *s, const ferry_rows *r, double *content, uint64_t *key)
{
    const layout rows = matrix_borrow(s, r->x[0]).rows;
    const double *second = NULL;
    held *mine = NEW(s, held, r->n);
    double before = 0;

    round_off(s, rows, r->n, content);
    if (has_ties(s, rows, r->n, content)) second = second_content(s, r, rows);
    for (int64_t i = 0; i < r->n; i++)
        mine[i] = (held){content[i], second ? second[i] : 0, r->weight ? r->weight[i] : 1};
    held *all = replicate_items(s, rows, r->n, sizeof *mine, COPY(s, mine, r->n));
    if (rows.n > 0) qsort(all, (size_t)rows.n, sizeof *all, by_held);
    for (int64_t i = 0; i < rows.n; i++) {
        before += all[i].w;
        all[i].w = before - all[i].w;
    }
    for (int64_t i = 0; i < r->n; i++) {
        int64_t lo = 0, hi = rows.n;
        while (lo < hi) {
            const int64_t mid = lo + (hi - lo) / 2;
            if (by_held(&all[mid], &mine[i]) < 0)
                lo = mid + 1;
            else
                hi = mid;
        }
        const double at = all[lo].w;
        const int64_t rank = (int64_t)at;
        key[i] = at == (double)rank ? XXH3_64bits(&rank, sizeof rank)
                                    : XXH3_64bits(&at, sizeof at);
    }
}

/* Ids, or where rows have none their ranks by what they hold: no order of rows or columns decides, nor a unit. */
static const uint64_t *row_keys(scope *s, const ferry_domain *d, const ferry_rows *r,
                                bool unscaled)
{
    uint64_t *key = NEW(s, uint64_t, r->n);
    double *content = NEW(s, double, r->n), zero = 0;
    const int64_t mark = scope_mark(s);

    for (int64_t j = 0; r->factor && j < r->x[0]->cols; j++)
        zero += squashed(-r->shift[0][j]);

    for (int64_t i = 0; i < r->n; i++) {
        const char *id = ferry_i_ids_at(d->ids, r->instance[i]);
        if (!d->numbered) key[i] = XXH3_64bits(id, strlen(id));
        for (int64_t v = 0; d->numbered && !unscaled && v < r->n_x; v++)
            content[i] += r->factor ? content_scaled(r, zero, i) : content_of(r->x[v], i);
    }
    for (int64_t v = 0; d->numbered && unscaled && v < r->n_x; v++)
        add_ranks(s, r->x[v], matrix_borrow(s, r->x[v]).rows, r->weight, key);
    if (d->numbered && !unscaled && r->n_x > 0) key_by_content(s, r, content, key);
    scope_release(s, mark);
    return key;
}

/* ---- one domain ---- */

static bool wordlike(const ferry_space *v)
{
    return !v->facts.neg && !v->scale->dense && v->scale->kind != FERRY_SCALE_STANDARD &&
           v->scale->kind != FERRY_SCALE_COMMON;
}

/* Of each row, whether any view has it; NULL: all are there. */
static const uint8_t *rows_there(scope *s, const ferry_domain *d, const ferry_rows *r)
{
    uint8_t *there = NEW(s, uint8_t, r->n);
    bool all = true;

    for (int64_t i = 0; i < r->n; i++) {
        for (int64_t v = 0; v < d->n_views; v++)
            if (r->instance[i] < d->views[v]->n_instances &&
                d->views[v]->row_of[r->instance[i]] >= 0)
                there[i] = 1;
        all = all && there[i];
    }
    return all ? NULL : there;
}

/* Its matrices: one, or each view's. */
static void put_features(scope *s, const ferry_prepared *p, const ferry_rows *r,
                         const ferry_domain *of, domain *d)
{
    const matrix x = matrix_borrow(s, r->x[0]);

    for (int64_t i = 0; i < r->n_x; i++)
        lasts(matrix_borrow(s, r->x[i]));
    d->rows = x.rows;
    d->n = x.n;
    d->instance = r->instance;
    if (p->wants.every) d->there = rows_there(s, of, r);
    if (p->wants.layout != FERRY_APART) {
        d->x = x;
        return;
    }
    view *v = NEW(s, view, r->n_x);
    for (int64_t i = 0; i < r->n_x; i++)
        v[i] = (view){.name = of->views[i]->name,
                      .x = matrix_borrow(s, r->x[i]),
                      .there = r->there[i],
                      .shift = r->shift[i]};
    d->view = v;
    d->n_views = (int)r->n_x;
}

static domain domain_of(scope *s, const ferry_prepared *p, const ferry_rows *r)
{
    domain d = {
        .name = r->domain->name,
        .ids = r->domain->ids,
        .named = !r->domain->numbered,
        .y = {.goal = p->goal, .k = p->k, .cls = r->cls, .num = r->num, .on = r->on},
        .known = r->cls,
        .labelled = r->labelled,
        .weight = r->weight,
        .words = true};

    put_features(s, p, r, r->domain, &d);
    d.key = row_keys(s, r->domain, r, p->wants.scale == FERRY_SCALE_NONE);
    for (int64_t v = 0; r->has && v < p->n_spaces; v++)
        if (r->has[v] && p->space[v].scale) d.words = d.words && wordlike(&p->space[v]);
    return d;
}

/* All instances of a domain without features: those of this process, where rows are spread. */
static void put_instances(scope *s, const ferry_domain *of, bool spread, domain *d)
{
    const int64_t n = ferry_i_ids_count(of->ids);

    d->n = n;
    d->rows = spread ? rows_here(s, n, &d->n) : HERE(n);
    int64_t *instance = NEW(s, int64_t, d->n);
    uint64_t *key = NEW(s, uint64_t, d->n);
    for (int64_t i = 0; i < d->n; i++) {
        const char *id = ferry_i_ids_at(of->ids, instance[i] = d->rows.first + i);
        key[i] = XXH3_64bits(id, strlen(id));
    }
    d->instance = instance;
    d->key = key;
}

/* ---- graphs, and the labels that a model of them knows ---- */

static const field known_fields[] = {
    ARRAY(known_labels, IDS, graphs, .rows = SIZE(known_labels, n_graphs)),
    ARRAY(known_labels, IDS, ids, .rows = SIZE(known_labels, n)),
    ARRAY(known_labels, PLACES, cls, .rows = SIZE(known_labels, n), .below = CLASSES,
          .optional = true),
    ARRAY(known_labels, REALS, num, .rows = SIZE(known_labels, n), .optional = true),
};
const table known_table = TABLE(known_labels, known_fields);

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

static ferry_ids *new_ids(scope *keep)
{
    ferry_ids *ids = ferry_i_ids_new();

    if (!ids) scope_check(keep, ferry_i_nomem(scope_ctx(keep)));
    scope_defer(keep, free_ids, ids);
    return ids;
}

static void add_id(scope *s, ferry_ids *ids, const char *id)
{
    if (ferry_i_ids_add(ids, id, NULL) < 0) scope_check(s, ferry_i_nomem(scope_ctx(s)));
}

/* Labels by id: instances that are asked about later may stand in any order and be others. */
known_labels *known_keep(scope *s, scope *keep, const ferry_task *task)
{
    known_labels *k = NEW(keep, known_labels, 1);
    const ferry_domain *t = NULL;

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &t));
    const ferry_labels *l = t->labels;
    k->graphs = new_ids(keep);
    k->ids = new_ids(keep);
    for (int64_t g = 0; g < t->n_graphs; g++)
        add_id(s, k->graphs, t->graphs[g]->name);
    k->n_graphs = t->n_graphs;
    if (task->goal == FERRY_CLASSIFY) k->cls = NEW(keep, int32_t, l ? l->n : 0);
    if (task->goal == FERRY_REGRESS) k->num = NEW(keep, double, l ? l->n : 0);
    for (int64_t i = 0; (k->cls || k->num) && l && i < l->n; i++) {
        if (!ferry_i_labels_has(l, i)) continue;
        add_id(s, k->ids, ferry_i_ids_at(t->ids, i));
        if (k->cls) k->cls[k->n] = l->cls[i];
        if (k->num) k->num[k->n] = l->num[i];
        k->n++;
    }
    return k;
}

/* Rows of a graph over the instances of a domain as its layout has them. */
static matrix graph_rows(scope *s, ferry_matrix *a, layout rows, int64_t n)
{
    ferry_matrix *part = NULL;

    if (!rows.spread) return matrix_borrow(s, a);
    scope_check(s, ferry_i_matrix_slice(scope_ctx(s), a, rows.first, n, &part));
    part->whole = rows.n;
    return matrix_own(s, part);
}

static const ferry_graph *graph_named(const ferry_domain *d, const char *name, bool only)
{
    for (int64_t g = 0; g < d->n_graphs; g++)
        if (only || strcmp(d->graphs[g]->name, name) == 0) return d->graphs[g];
    return NULL;
}

/* Those of the names; a domain with one graph for a model with one need not call it the same. */
static void put_graphs(scope *s, const ferry_domain *of, const ferry_ids *names,
                       const method *m, domain *d)
{
    const int64_t n = ferry_i_ids_count(names);
    const bool only = n == 1 && of->n_graphs == 1;
    graph *g = NEW(s, graph, n);

    for (int64_t i = 0; i < n; i++) {
        const char *name = ferry_i_ids_at(names, i);
        const ferry_graph *from = graph_named(of, name, only);
        if (!from && m->wants.graphs == ALL_GRAPHS)
            scope_fail(s, FERRY_ENEEDS,
                       "%s learned from graph '%s', and predicting needs it, too: domain "
                       "'%s' lacks it (ferry predict takes %s=EDGES)",
                       m->name, name, of->name, name);
        g[i].name = name;
        if (from) g[i].a = graph_rows(s, from->a, d->rows, d->n);
    }
    d->graph = g;
    d->n_graphs = (int)n;
}

/* At fit all instances are rows, and labels are numbered as they stand. */
static void put_places(scope *s, const ferry_labels *l, domain *d)
{
    int64_t *at = NEW(s, int64_t, d->n), next = 0;

    for (int64_t i = 0; i < d->rows.first; i++)
        next += ferry_i_labels_has(l, i);
    for (int64_t i = 0; i < d->n; i++)
        at[i] = ferry_i_labels_has(l, d->instance[i]) ? next++ : -1;
    d->at = at;
}

/* The labels of new data that the model knows. Ids that a reader made up from row numbers are none: they would match
 * the labelled instances of another file by their place. */
static void put_known(scope *s, const known_labels *k, const ferry_domain *of, domain *d)
{
    const bool named = ferry_i_domain_named(of);
    int64_t *at = NEW(s, int64_t, d->n), here = 0;
    int32_t *cls = NEW(s, int32_t, d->n);
    double *num = NEW(s, double, d->n);

    for (int64_t i = 0; i < d->n; i++) {
        const char *id = ferry_i_ids_at(of->ids, d->instance[i]);
        at[i] = named ? ferry_i_ids_find(k->ids, id) : -1;
        cls[i] = at[i] >= 0 && k->cls ? k->cls[at[i]] : -1;
        num[i] = at[i] >= 0 && k->num ? k->num[at[i]] : NAN;
        here += at[i] >= 0;
    }
    d->at = at;
    d->known = d->y.cls = cls;
    d->y.num = k->num ? num : NULL;
    d->labelled = (int64_t)sum(s, d->rows, (double)here);
}

domain problem_rows(scope *s, const new_data *how, const ferry_domain *of)
{
    domain d = {
        .name = of->name, .ids = of->ids, .named = !of->numbered, .y = {.k = how->classes}};

    if (how->prepared) {
        const ferry_rows r = prepare_rows(s, how->prepared, of, how->known != NULL, false);
        put_features(s, how->prepared, &r, of, &d);
        d.key = row_keys(s, of, &r, false);
    } else {
        put_instances(s, of, how->known != NULL, &d);
    }
    if (how->known) {
        put_graphs(s, of, how->known->graphs, how->m, &d);
        put_known(s, how->known, of, &d);
        return d;
    }
    int32_t *hidden = NEW(s, int32_t, d.n);
    memset(hidden, 0xff, (size_t)d.n * sizeof *hidden); /* -1 */
    d.known = d.y.cls = hidden;
    return d;
}

/* ---- CHAIN: instances of a bridge that are also in the target ----
 *
 * A bridge of two views is often made of the very instances that the target is: then it tells what the target's labels
 * are, and a method that goes over it has learned nothing. */

/* One number for what row i says in the target's columns, which are the first `cols`; 0: nothing. */
static uint64_t target_side(matrix x, int64_t i, int64_t cols)
{
    const ferry_row r = row_at(x, i);
    uint64_t key = 0;
    bool any = false;

    for (int64_t e = 0; e < r.n; e++) {
        const struct {
            double value;
            int64_t column;
        } cell = {r.value[e], r.index ? r.index[e] : e};
        if (cell.column >= cols || cell.value == 0) continue;
        key += XXH3_64bits(&cell, sizeof cell);
        any = true;
    }
    return any ? key | 1 : 0;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Leave rows out that look like one of the target's (hash, sorted, of all processes). The rows that were left out. */
static double drop_leaks(scope *s, int64_t cols, int64_t n_hash, const uint64_t *hash,
                         domain *d)
{
    int64_t *rows = NEW(s, int64_t, d->n), n = 0;

    for (int64_t i = 0; i < d->n; i++) {
        const uint64_t h = target_side(d->x, i, cols);
        if (!h || !bsearch(&h, hash, (size_t)n_hash, sizeof h, by_value)) rows[n++] = i;
    }
    const double all = (double)d->rows.n, left = sum(s, d->rows, (double)n);
    if (left == all) return 0;
    if (left == 0) /* what follows would read as if it shared no feature */
        ferry_i_warn_once(
            scope_ctx(s),
            "'%s' is no bridge: all its %lld instances are the target's own (a leak) and are left "
            "out; leaks: keep, an option of the methods, takes them",
            d->name, (long long)all);
    ferry_i_log(
        scope_ctx(s), FERRY_INFO,
        "%s: %lld of %lld instances of '%s' are also in the target and are left out",
        scope_ctx(s)->fitting, (long long)(all - left), (long long)all, d->name);
    int32_t *cls = NEW(s, int32_t, n);
    uint64_t *key = NEW(s, uint64_t, n);
    int64_t *instance = NEW(s, int64_t, n), known = 0;
    for (int64_t i = 0; i < n; i++) {
        cls[i] = d->known[rows[i]];
        key[i] = d->key[rows[i]];
        instance[i] = d->instance[rows[i]];
        known += cls[i] >= 0;
    }
    d->x = take_rows(s, d->x, n, rows, false);
    d->rows = d->x.rows;
    d->n = n;
    d->known = d->y.cls = cls;
    d->key = key;
    d->instance = instance;
    d->labelled = (int64_t)sum(s, d->rows, (double)known);
    return all - left;
}

static void find_leaks(scope *s, const ferry_prepared *from, problem *p, domain *d)
{
    const int64_t views = from->n_frames; /* the target's spaces are the first */
    const int64_t cols = from->space[views - 1].begin + from->space[views - 1].cols;
    const domain *t = &d[p->n - 1];
    uint64_t *mine = NEW(s, uint64_t, t->n);
    double leaks = 0;

    for (int64_t i = 0; i < t->n; i++)
        mine[i] = target_side(t->x, i, cols);
    uint64_t *hash = replicate_items(s, t->rows, t->n, sizeof *mine, mine);
    if (t->rows.n > 0) qsort(hash, (size_t)t->rows.n, sizeof *hash, by_value);
    for (int i = p->n_sources; i < p->n - 1; i++)
        if (from->rows[i].domain->n_views > 1)
            leaks += drop_leaks(s, cols, t->rows.n, hash, &d[i]);
    p->leaks = (int64_t)leaks;
    if (leaks > 0) report_real(s, "leaks", leaks);
}

/* As if a domain had no labels. */
static void hide_labels(scope *s, domain *d)
{
    if (d->y.cls) {
        int32_t *cls = NEW(s, int32_t, d->n);
        memset(cls, 0xff, (size_t)d->n * sizeof *cls);
        d->known = d->y.cls = cls;
    }
    if (d->y.on) {
        uint8_t *on = NEW(s, uint8_t, d->n * d->y.k);
        memset(on, 0xff, (size_t)(d->n * d->y.k));
        d->y.on = on;
    }
    if (d->y.num) {
        double *num = NEW(s, double, d->n);
        for (int64_t i = 0; i < d->n; i++)
            num[i] = NAN;
        d->y.num = num;
    }
    d->labelled = 0;
}

/* Rows may be brought to length 1 once columns are cut: not where values are centred or left as they are. */
static bool takes_lengths(const ferry_prepared *p)
{
    for (int64_t v = 0; v < p->n_spaces; v++) {
        const ferry_scale k = p->space[v].scale->kind;
        if (k == FERRY_SCALE_NONE || k == FERRY_SCALE_STANDARD || k == FERRY_SCALE_COMMON ||
            (k == FERRY_SCALE_ROOTS && p->wants.positive == FERRY_ANY_SIGN))
            return false;
    }
    return true;
}

static const uint8_t *const *columns_had(scope *s, const ferry_prepared *p)
{
    const uint8_t **has = NEW(s, const uint8_t *, p->n_rows);

    for (int64_t i = 0; i < p->n_rows; i++) {
        uint8_t *of = NEW(s, uint8_t, p->cols);
        for (int64_t v = 0; v < p->n_spaces; v++)
            if (p->rows[i].has[v])
                memset(of + p->space[v].begin, 1, (size_t)p->space[v].cols);
        has[i] = of;
    }
    return has;
}

static const uint8_t *columns_of_words(scope *s, const ferry_prepared *p)
{
    uint8_t *words = NEW(s, uint8_t, p->cols);

    for (int64_t v = 0; v < p->n_spaces; v++)
        if (wordlike(&p->space[v]))
            memset(words + p->space[v].begin, 1, (size_t)p->space[v].cols);
    return words;
}

static void make_chain(scope *s, const ferry_prepared *from, const common_options *c,
                       problem *p, domain *d)
{
    int64_t *column = NULL;

    p->unit = takes_lengths(from);
    if (c->leaks == 0) find_leaks(s, from, p, d);
    for (int i = p->n_sources; c->bridge_labels == 1 && i < p->n - 1; i++)
        hide_labels(s, &d[i]);
    p->width = prepared_width(from);
    p->target_column = column = NEW(s, int64_t, p->width);
    for (int64_t j = 0; j < p->width; j++)
        column[j] = prepared_column(from, j);
    p->column_key = column_keys(s, p);
    p->has = columns_had(s, from);
    p->words = columns_of_words(s, from);
    if (from->links->apart[0]) warn(s, "%s", from->links->apart);
}

/* ---- labels alone ---- */

/* `spread`: of the rows of this process. */
static domain labels_alone(scope *s, const ferry_task *task, const ferry_domain *d,
                           bool spread)
{
    const ferry_labels *l = d->labels;
    domain to = {.name = d->name, .ids = d->ids, .y = {.goal = task->goal}};

    put_instances(s, d, spread, &to);
    const int64_t n = to.n;
    to.y.k = task->goal == FERRY_REGRESS ? 1 : ferry_i_ids_count(task->names);
    double *num = task->goal == FERRY_REGRESS ? NEW(s, double, n) : NULL;
    uint8_t *on = task->goal == FERRY_MULTILABEL ? NEW(s, uint8_t, n * to.y.k) : NULL;
    int32_t *cls = num || on ? NULL : NEW(s, int32_t, n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = to.instance[i];
        const bool known = ferry_i_labels_has(l, at);
        to.labelled += known;
        if (cls) cls[i] = known ? l->cls[at] : -1;
        if (num) num[i] = known ? l->num[at] : NAN;
        if (on && known) memcpy(on + i * to.y.k, l->on + at * to.y.k, (size_t)to.y.k);
        if (on && !known) memset(on + i * to.y.k, 255, (size_t)to.y.k);
    }
    to.labelled = (int64_t)sum(s, to.rows, (double)to.labelled);
    to.y.cls = to.known = cls;
    to.y.num = num;
    to.y.on = on;
    return to;
}

static int64_t count_labels(const ferry_labels *l)
{
    int64_t n = 0;

    for (int64_t i = 0; l && i < l->n; i++)
        n += ferry_i_labels_has(l, i);
    return n;
}

static int role_order(ferry_role role)
{
    return role == FERRY_SOURCE ? 0 : role == FERRY_INTERMEDIATE ? 1 : 2;
}

static unsigned role_bit(ferry_role role)
{
    return 1u << role_order(role);
}

/* What views look like, without values: names, sizes, and which instances they have. */
static const view *view_shapes(scope *s, const ferry_domain *d)
{
    const int64_t n = ferry_i_ids_count(d->ids);
    view *v = NEW(s, view, d->n_views);

    for (int64_t j = 0; j < d->n_views; j++) {
        const ferry_view *from = d->views[j];
        uint8_t *there = NEW(s, uint8_t, n);
        for (int64_t i = 0; i < n; i++)
            there[i] = i < from->n_instances && from->row_of[i] >= 0;
        v[j] = (view){.name = from->name, .there = there};
        v[j].x.n = from->x->rows;
        v[j].x.cols = from->x->cols;
    }
    return v;
}

/* Domains by their roles, of those that are wanted; `values`: with their labels; `spread`: of rows of this process. */
static problem *from_task(scope *s, const ferry_task *task, unsigned domains, bool values,
                          bool spread)
{
    problem *p = NEW(s, problem, 1);
    domain *d = NEW(s, domain, task->n_domains);

    *p = (problem){.goal = task->goal,
                   .classes =
                       task->goal == FERRY_REGRESS ? 1 : ferry_i_ids_count(task->names),
                   .names = task->names,
                   .d = d};
    for (int order = 0; order < 3; order++)
        for (int64_t i = 0; i < task->n_domains; i++) {
            const ferry_domain *from = task->domains[i];
            if (role_order(from->role) != order || !(domains & role_bit(from->role)))
                continue;
            p->n_sources += order == 0;
            const int64_t n = ferry_i_ids_count(from->ids);
            d[p->n++] = values ? labels_alone(s, task, from, spread)
                               : (domain){.name = from->name,
                                          .rows = HERE(n),
                                          .n = n,
                                          .known = from->labels ? from->labels->cls : NULL,
                                          .labelled = count_labels(from->labels),
                                          .n_views = (int)from->n_views,
                                          .view = view_shapes(s, from),
                                          .n_graphs = (int)from->n_graphs};
        }
    return p;
}

/* A stream brings one row at a time, with one set of columns: several views have no place in it. */
static void need_one_view(scope *s, const ferry_task *task, const method *m, const wants *w)
{
    for (int64_t i = 0; i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        if ((w->domains & role_bit(d->role)) && d->n_views != 1)
            scope_fail(s, FERRY_ENEEDS, "%s needs just one view in %s; %s '%s' has %lld",
                       m->name, d->role == FERRY_TARGET ? "the target" : "a source",
                       d->role == FERRY_TARGET ? "target" : "source", d->name,
                       (long long)d->n_views);
    }
}

/* ---- all of it ---- */

const problem *problem_shape(scope *s, ferry_split *split, const method *m, const wants *w,
                             const common_options *c)
{
    const ferry_task *task = split->task;

    if (w->as == RATINGS) return ratings_shape(s, task, m);
    if (!problem_has_features(s, task, w)) {
        if (w->trains) (void)train_of(s, task, m, c);
    } else if (w->as == STREAM) {
        need_one_view(s, task, m, w);
    } else {
        const ferry_wants asked = wants_of(s, task, m, w, c);
        prepare_fits(s, split, &asked);
    }
    problem *p =
        from_task(s, task, WANT_SOURCES | WANT_BRIDGES | WANT_TARGET, false, false);
    p->paired = w->pairs && task_pairs(task) != NULL;
    return p;
}

/* Graphs of the target, which is the last of the domains. */
static void add_graphs(scope *s, const ferry_task *task, const method *m, problem *p)
{
    const ferry_domain *t = NULL;
    domain *d = (domain *)&p->d[p->n - 1];
    ferry_ids *names = new_ids(s);

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &t));
    for (int64_t g = 0; g < t->n_graphs; g++)
        add_id(s, names, t->graphs[g]->name);
    put_graphs(s, t, names, m, d);
    put_places(s, t->labels, d);
}

/* Without features: labels, and perhaps graphs. */
static problem *make_featureless(scope *s, const ferry_task *task, const method *m,
                                 const wants *w, const common_options *c)
{
    unsigned domains = w->domains;

    if (w->trains) {
        const training on = train_of(s, task, m, c);
        domains = (on != TRAIN_ON_TARGET ? WANT_SOURCES : 0) |
                  (on != TRAIN_ON_SOURCE ? WANT_TARGET : 0);
    }
    return from_task(s, task, domains, true, w->graphs);
}

matrix scaled_values(scope *s, const problem *p, matrix x)
{
    const ferry_prepared *from = p->prepared;
    const ferry_scale_part part = {.x = x.m};

    return matrix_borrow(
        s, scaler_apply(s, from->frame[0].scale, &part, (ferry_scale_how){0}));
}

/* The target's rows after the sources'. If one domain's values are as the task has them and the other's are not, that
 * one's are written out: one scaler serves both, so that its factors do. */
static void put_beside(scope *s, const ferry_task *task, problem *p, domain *d)
{
    const ferry_prepared *from = p->prepared;
    const bool raw = p->n == 1 && from->rows[0].factor;
    const ferry_domain *t = NULL;
    domain *to = &d[p->n];

    scope_check(s, ferry_i_task_target(scope_ctx(s), task, &t));
    const ferry_rows r = prepare_rows(s, from, t, true, raw);
    *to = (domain){.name = t->name,
                   .ids = t->ids,
                   .named = !t->numbered,
                   .y = {.goal = p->goal, .k = p->classes}};
    put_features(s, from, &r, t, to);
    to->key = row_keys(s, t, &r, from->wants.scale == FERRY_SCALE_NONE);
    if (raw && !r.factor) d[0].x = scaled_values(s, p, d[0].x);
    if (raw && r.factor) {
        d[0].factor = to->factor = from->rows[0].factor;
        d[0].shift = to->shift = from->rows[0].shift[0];
    }
    p->n++;
}

/* Which views were centred when they were scaled. */
static void put_centred(const ferry_prepared *from, const ferry_rows *r, domain *d)
{
    const ferry_links *l = from->links;
    int64_t of = 0;

    while (of < l->n && l->domain[of] != r->domain)
        of++;
    for (int v = 0; of < l->n && v < d->n_views; v++) {
        const int32_t g = l->group[of][v];
        ((view *)d->view)[v].centred =
            g < from->n_spaces && from->space[g].scale && from->space[g].scale->shift;
    }
}

static problem *make_prepared(scope *s, ferry_split *split, const wants *w,
                              const common_options *c, const ferry_wants *asked)
{
    const ferry_prepared *from = prepare(s, split, asked);
    problem *p = NEW(s, problem, 1);
    domain *d = NEW(s, domain, from->n_rows + 1);
    *p = (problem){.goal = from->goal,
                   .classes = from->k,
                   .cols = w->as == CHAIN ? from->cols : prepared_width(from),
                   .n_sources = (int)from->n_sources,
                   .n = (int)from->n_rows,
                   .d = d,
                   .names = split->task->names,
                   .width = prepared_width(from),
                   .prepared = from,
                   .unscaled = asked->scale == FERRY_SCALE_NONE};
    for (int i = 0; i < p->n; i++)
        d[i] = domain_of(s, from, &from->rows[i]);
    for (int i = 0; w->as == VIEWS_APART && i < p->n; i++)
        put_centred(from, &from->rows[i], &d[i]);
    for (int i = 0; w->as == STREAM && i < p->n; i++)
        d[i].x = d[i].view[0].x;
    p->dense = w->as == STREAM && from->frame[0].scale->dense;
    if (w->as == CHAIN) make_chain(s, from, c, p, d);
    if (w->beside) put_beside(s, split->task, p, d);
    if (w->unlabelled && c->train == TRAIN_ON_SOURCE) hide_labels(s, &d[p->n - 1]);
    return p;
}

const problem *problem_make(scope *s, ferry_split *split, const method *m, const wants *w,
                            const common_options *c)
{
    const ferry_task *task = split->task;
    problem *p = NULL;

    if (w->as == RATINGS) return ratings_problem(s, task, m);
    if (problem_has_features(s, task, w)) {
        const ferry_wants asked = wants_of(s, task, m, w, c);
        p = make_prepared(s, split, w, c, &asked);
    } else {
        p = make_featureless(s, task, m, w, c);
    }
    if (w->graphs) add_graphs(s, task, m, p);
    if (w->pairs) put_pairs(s, task, m->name, p);
    return p;
}

/* ---- names of columns in the report ---- */

enum { TOP = 10 };

/* The columns with the highest scores of group g, best first; how many. */
static int64_t best_columns(const problem *p, int64_t k, int64_t g, const double *score,
                            int64_t *best)
{
    int64_t n = 0;

    for (int64_t j = 0; j < p->cols; j++) {
        const double v = score[j * k + g];
        int64_t at = n;
        if (!(v > 0) || (n == TOP && v <= score[best[TOP - 1] * k + g])) continue;
        if (n < TOP) n++;
        for (at = n - 1; at > 0 && score[best[at - 1] * k + g] < v; at--)
            best[at] = best[at - 1];
        best[at] = j;
    }
    return n;
}

static void json_free(void *json)
{
    json_decref(json);
}

void report_top_columns(scope *s, const problem *p, const char *name,
                        const ferry_ids *names, int64_t k, const double *score)
{
    int64_t best[TOP];

    if (!scope_ctx(s)->diag) return;
    json_t *all = json_object();
    scope_defer(s, json_free, all);
    for (int64_t g = 0; g < k; g++) {
        const int64_t n = best_columns(p, k, g, score, best);
        const char *group =
            names ? ferry_i_ids_at(names, g) : scope_text(s, "%lld", (long long)g + 1);
        json_object_set_new(all, group, json_array());
        for (int64_t i = 0; i < n; i++)
            json_array_append_new(json_object_get(all, group),
                                  json_string(column_name(s, p, best[i])));
    }
    ferry_i_diag_json(scope_ctx(s), name, json_incref(all));
    if (ferry_i_memory_lost()) scope_check(s, ferry_i_nomem(scope_ctx(s)));
}

/* ---- a picture of an embedding ---- */

enum {
    SCATTER_MOST = 1000
}; /* points: enough to see groups, few enough to draw and to store */

/* Every step-th instance rather than a random draw: no stream of random numbers is touched, and the same data give the
 * same picture. */
void report_scatter(scope *s, const problem *p, block phi)
{
    const domain *t = target(p);
    const block all = replicate(s, phi);
    const int32_t *cls = replicate_items(s, t->rows, t->n, sizeof *t->known, t->known);
    const int64_t step = 1 + (all.n - 1) / SCATTER_MOST;

    if (!scope_ctx(s)->diag) return;
    json_t *of[4];
    for (int i = 0; i < 4; i++)
        scope_defer(s, json_free, of[i] = json_array());
    for (int64_t i = 0; i < all.n; i += step) {
        json_array_append_new(of[0], json_string(ferry_i_ids_at(t->ids, i)));
        json_array_append_new(of[1], json_real(ROW(all, i)[0]));
        json_array_append_new(of[2], json_real(all.k > 1 ? ROW(all, i)[1] : 0));
        json_array_append_new(of[3], cls[i] < 0
                                         ? json_null()
                                         : json_string(ferry_i_ids_at(p->names, cls[i])));
    }
    ferry_i_diag_json(scope_ctx(s), "scatter",
                      json_pack("{s:O, s:O, s:O, s:O}", "id", of[0], "z1", of[1], "z2",
                                of[2], "class", of[3]));
    if (ferry_i_memory_lost()) scope_check(s, ferry_i_nomem(scope_ctx(s)));
}
