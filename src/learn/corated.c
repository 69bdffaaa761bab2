/* Features of what was rated together (corated.h). */
#include "learn/corated.h"

#include <math.h>
#include <string.h>

const char *const corated_names[CORATED] = {
    "popularity",     "slope-popularity", "slope-level", "level-product",
    "items-together", "users-together",   "items-alike"};

/* Ratings of row i. */
static int64_t count(matrix x, int64_t i)
{
    return x.m->start[i + 1] - x.m->start[i];
}

/* ---- what follows from the residuals ---- */

/* The slope of each user's residuals on t_j: sum e t / (sum t^2 + ridge). */
static double *slopes(scope *keep, matrix e, const double *t, double ridge)
{
    double *out = NEW(keep, double, e.n);

    for (int64_t i = 0; i < e.n; i++) {
        const ferry_row r = row_at(e, i);
        double et = 0, tt = ridge;
        for (int64_t at = 0; at < r.n; at++) {
            et += r.value[at] * t[r.index[at]];
            tt += t[r.index[at]] * t[r.index[at]];
        }
        out[i] = et / tt;
    }
    return out;
}

static void derive(scope *keep, corated *m)
{
    m->z = NEW(keep, double, m->items);
    m->zbar = 0;
    for (int64_t j = 0; j < m->items; j++)
        m->zbar += (double)count(m->et, j) * log1p((double)count(m->et, j)) /
                   (double)stored(m->et);
    for (int64_t j = 0; j < m->items; j++)
        m->z[j] = log1p((double)count(m->et, j)) - m->zbar;
    m->slope_z = slopes(keep, m->e, m->z, m->s2 / 0.05);
    m->slope_b = slopes(keep, m->e, m->b, m->s2 / 0.2);
}

corated corated_new(scope *s, scope *keep, const ratings *r, double *mu)
{
    const vb_fit f = vb_learn(s, r, &(vb_how){.sweeps = 10}, (block){.k = 0});
    corated m = {
        .unit = f.sd, .users = r->users, .items = r->items, .s2 = f.s2, .vb = f.vb};

    if (mu) *mu = f.mu;
    m.a = COPY(keep, f.zu.at, r->users); /* rank 0: biases alone */
    m.b = COPY(keep, f.zi.at, r->items);
    m.e = with_values(keep, r->x, r->x.m->value);
    for (int64_t i = 0; i < r->x.n; i++)
        for (int64_t at = r->x.m->start[i]; at < r->x.m->start[i + 1]; at++)
            m.e.m->value[at] = f.sd > 0 ? (r->x.m->value[at] - f.mu) / f.sd - m.a[i] -
                                              m.b[r->x.m->index[at]]
                                        : 0;
    m.et = transpose(keep, m.e, HERE(r->items), r->items);
    derive(keep, &m);
    return m;
}

corated corated_copy(scope *keep, const corated *from)
{
    corated m = *from;

    m.e = matrix_own(keep, ferry_i_matrix_ref(from->e.m));
    m.et = matrix_own(keep, ferry_i_matrix_ref(from->et.m));
    m.a = COPY(keep, from->a, m.users);
    m.b = COPY(keep, from->b, m.items);
    derive(keep, &m);
    return m;
}

/* ---- features of pairs ---- */

/* order <- the pairs with number[e] = k, for k = 0, 1, ..., begin at start[k]. */
static void sort_pairs(int64_t n, const int64_t *number, int64_t rows, int64_t *start,
                       int64_t *order)
{
    memset(start, 0, (size_t)(rows + 1) * sizeof *start);
    for (int64_t e = 0; e < n; e++)
        if (number[e] >= 0 && number[e] < rows) start[number[e] + 1]++;
    for (int64_t k = 0; k < rows; k++)
        start[k + 1] += start[k];
    for (int64_t e = 0; e < n; e++)
        if (number[e] >= 0 && number[e] < rows) order[start[number[e]]++] = e;
    memmove(start + 1, start, (size_t)rows * sizeof *start); /* back to the beginnings */
    start[0] = 0;
}

/* One of the things that were rated together with item (user) i. */
typedef struct both {
    double n, products, squares, others; /* sums over those who rated both */
} both;

/* Row i of `rows` (an item with its users) against all other items, through `back`. */
static void meet(matrix rows, matrix back, int64_t i, both *t)
{
    const ferry_row own = row_at(rows, i);

    memset(t, 0, (size_t)rows.n * sizeof *t);
    for (int64_t a = 0; a < own.n; a++) {
        const ferry_row other = row_at(back, own.index[a]);
        const double value = own.value[a];
        for (int64_t b = 0; b < other.n; b++) {
            both *to = &t[other.index[b]];
            to->n++;
            to->products += value * other.value[b];
            to->squares += value * value;
            to->others += other.value[b] * other.value[b];
        }
    }
    t[i] = (both){0};
}

/* Features 5 and 7 of user u for the item whose neighbours are t. */
static void by_items(const corated *m, int64_t u, int64_t i, const both *t, double *f)
{
    const ferry_row x = row_at(m->e, u);
    double all_of = 0, all = 0.3, all_r = 0, size_r = 0.3;

    for (int64_t at = 0; at < x.n; at++) {
        const both *o = &t[x.index[at]];
        if (o->n == 0) continue;
        const double c = o->n / sqrt((double)(count(m->et, i) + 1) *
                                     (double)(count(m->et, x.index[at]) + 1));
        const double r =
            o->products / (sqrt(o->squares * o->others) + 1e-9) * o->n / (o->n + 10);
        all_of += c * x.value[at];
        all += c;
        all_r += r * x.value[at];
        size_r += fabs(r);
    }
    f[4] = all_of / all;
    f[6] = all_r / size_r;
}

/* Feature 6 of item i for the user whose neighbours are t. */
static void by_users(const corated *m, int64_t u, int64_t i, const both *t, double *f)
{
    const ferry_row x = row_at(m->et, i);
    double all_of = 0, all = 0.3;

    for (int64_t at = 0; at < x.n; at++) {
        const int64_t v = x.index[at];
        const double d =
            t[v].n / sqrt((double)(count(m->e, u) + 1) * (double)(count(m->e, v) + 1));
        all_of += d * x.value[at];
        all += d;
    }
    f[5] = all_of / all;
}

/* Features 1 to 4. Who was never seen has no rating, no slope and no bias. */
static void plain(const corated *m, int64_t u, int64_t j, double *f)
{
    const double n = j < 0 ? 0 : (double)count(m->et, j);
    const double z = j < 0 ? -m->zbar : m->z[j], b = j < 0 ? 0 : m->b[j];

    f[0] = z * (1 - n / (n + m->s2 / m->vb));
    f[1] = u < 0 ? 0 : m->slope_z[u] * z;
    f[2] = u < 0 ? 0 : m->slope_b[u] * b;
    f[3] = u < 0 ? 0 : m->a[u] * b;
}

typedef void (*neighbours_fn)(const corated *, int64_t, int64_t, const both *, double *);
typedef struct asked {
    int64_t n;
    const int64_t *user, *item;
} asked;

/* Pairs by their row, so that a row's neighbours are found once; rows that others look at are left out. */
static void ask_rows(scope *s, const corated *m, bool items, const ratings *here,
                     const asked *p, neighbours_fn fn, double *f)
{
    const int64_t mark = scope_mark(s);
    const matrix rows = items ? m->et : m->e, back = items ? m->e : m->et;
    const matrix *own = here ? (items ? &here->xt : &here->x) : &rows;
    int64_t *start = NEW(s, int64_t, rows.n + 1), *order = NEW(s, int64_t, p->n);
    both *t = NEW(s, both, rows.n);

    sort_pairs(p->n, items ? p->item : p->user, rows.n, start, order);
    for (int64_t r = own->rows.first; r < own->rows.first + own->n; r++) {
        if (start[r] == start[r + 1]) continue;
        meet(rows, back, r, t);
        for (int64_t e = start[r]; e < start[r + 1]; e++) {
            const int64_t u = p->user[order[e]], i = p->item[order[e]];
            if (u >= 0 && u < m->users && i >= 0 && i < m->items)
                fn(m, u, i, t, f + order[e] * CORATED);
        }
    }
    scope_release(s, mark);
}

void corated_features(scope *s, const corated *m, const ratings *here, int64_t n,
                      const int64_t *user, const int64_t *item, double *f)
{
    const asked p = {n, user, item};

    memset(f, 0, (size_t)(n * CORATED) * sizeof *f);
    ask_rows(s, m, true, here, &p, by_items, f);
    ask_rows(s, m, false, here, &p, by_users, f);
    if (here) sums(s, here->x.rows, n * CORATED, f); /* each is one process's */
    for (int64_t e = 0; e < n; e++)
        plain(m, user[e] < m->users ? user[e] : -1, item[e] < m->items ? item[e] : -1,
              f + e * CORATED);
}

void corated_add(scope *s, const corated *m, int64_t n, const int64_t *user,
                 const int64_t *item, double *value)
{
    double *f = NEW(s, double, n *CORATED);

    corated_features(s, m, NULL, n, user, item, f);
    for (int64_t e = 0; e < n; e++)
        for (int c = 0; c < CORATED; c++)
            value[e] += m->unit * m->w[c] * f[e * CORATED + c];
}

/* ---- the file ---- */

static const field corated_fields[] = {
    ARRAY(corated, ARRAY, w, .rows = CONSTANT(CORATED)),
    VALUE(corated, REAL, unit),
    VALUE(corated, REAL, s2),
    VALUE(corated, REAL, vb),
    ARRAY(corated, MATRIX, e, .rows = SIZE(corated, users), .cols = SIZE(corated, items)),
    ARRAY(corated, REALS, a, .rows = SIZE(corated, users)),
    ARRAY(corated, REALS, b, .rows = SIZE(corated, items)),
};

static void corated_check(scope *s, const void *state)
{
    const corated *m = state;
    bool fine = m->unit >= 0 && m->s2 > 0 && m->vb > 0 && !m->e.m->dense && m->e.m->nnz > 0;

    for (int64_t e = 0; fine && e < m->e.m->nnz; e++)
        fine = isfinite(m->e.m->value[e]);
    if (!fine)
        scope_fail(
            s, FERRY_EDATA,
            "tensors neighbours: expected finite residuals, a unit and variances above 0");
}

/* The rest follows from the residuals. */
static void corated_ready(scope *s, scope *keep, void *state)
{
    corated *m = state;

    (void)s;
    m->et = transpose(keep, m->e, HERE(m->items), m->items);
    derive(keep, m);
}

const table corated_table = {sizeof(corated), corated_fields, FERRY_COUNT(corated_fields),
                             corated_check, corated_ready};
