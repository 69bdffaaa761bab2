/* The steps of F and A with squares (nmtf_step.c) in one pass over the features.
 *
 * H has c columns, so everything that a row of F needs is in a few numbers: its rows of P,
 * the small matrices A and K = G'G. A pass takes a few rows at a time, makes Q from H = F
 * A, moves F, makes Q again and adds up what the step of A divides. F, the largest of the
 * factors, is read and written once where the formulas read it five times.
 *
 * Rows are taken in pieces that do not depend on the number of threads, and the sums of the
 * pieces are added in order: so the bits do not depend on it either. */
#include <math.h>
#include <string.h>

#include "methods/ttl/nmtf.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                     \
    !defined(__SANITIZE_ADDRESS__)
#define FOR_EACH_CPU __attribute__((target_clones("default", "avx2")))
#else
#define FOR_EACH_CPU
#endif
/* Everything in one function, so that it is compiled for the CPU as a whole. */
#define INLINE static inline __attribute__((always_inline))

/* Four numbers at a time: 512 bits gain nothing where divisions are the limit. */
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t i4 __attribute__((vector_size(32), aligned(8), may_alias));
enum { LANES = 4, BATCH = 8, PIECES = 32, MOST_VIEWS = 16, MOST_CLASSES = 16 };

/* One block of F with the A that it is multiplied with. Rows are copied to rooms of `wide`
 * numbers, a multiple of LANES, the rest 0; A (c rows of `wide`) likewise. */
typedef struct part {
    double *f;           /* m x p */
    const double *scale; /* p: columns are multiplied by this first; NULL: by 1 */
    int64_t p, wide;
    int64_t a;    /* where A stands in the job's small room, and behind it the scale */
    int64_t sums; /* in the accumulator: F'P and F'Q (c x wide each), columns of F (wide) */
    int64_t room; /* in a batch's room: BATCH x wide */
} part;

typedef struct rows_job {
    int64_t c, m, n_views, width, batch_room; /* width: numbers of an accumulator */
    double exponent;
    double *small; /* A of all parts */
    part f1;
    part fa[MOST_VIEWS], f2[MOST_VIEWS];
    const double *p[MOST_VIEWS]; /* m x c */
    double *h[MOST_VIEWS];
    const double *k[MOST_VIEWS]; /* c x c, symmetric */
    double w[MOST_VIEWS];
} rows_job;

#define LOAD(x) (*(const v4 *)(const void *)(x))
#define STORE(to, x) (*(v4 *)(void *)(to) = (x))
#define ALL(x) ((v4){x, x, x, x})
/* Per lane: yes where the test holds. */
#define CHOOSE(test, yes, no) ((v4)(((test) & (i4)(yes)) | (~(test) & (i4)(no))))

/* Rows [row, row + n) of a part to its room, columns scaled, which makes those beyond p 0.
 * Whole vectors are read, a few numbers into the next rows; not so where F ends. */
INLINE void fetch(const rows_job *j, const part *b, int64_t row, int64_t n, double *room)
{
    const double *scale = j->small + b->a + j->c * b->wide;

    for (int64_t r = 0; r < n; r++) {
        const double *from = b->f + (row + r) * b->p;
        double *to = room + b->room + r * b->wide;
        if ((row + r) * b->p + b->wide <= j->m * b->p) {
            for (int64_t l = 0; l < b->wide; l += LANES)
                STORE(to + l, LOAD(from + l) * LOAD(scale + l));
            continue;
        }
        for (int64_t l = 0; l < b->p; l++)
            to[l] = from[l] * scale[l];
        for (int64_t l = b->p; l < b->wide; l++)
            to[l] = 0;
    }
}

INLINE void put_back(const part *b, int64_t row, int64_t n, const double *room)
{
    const int64_t whole = b->p / LANES * LANES;

    for (int64_t r = 0; r < n; r++) {
        double *to = b->f + (row + r) * b->p;
        const double *from = room + b->room + r * b->wide;
        for (int64_t l = 0; l < whole; l += LANES)
            STORE(to + l, LOAD(from + l));
        for (int64_t l = whole; l < b->p; l++)
            to[l] = from[l];
    }
}

/* sum += f o a_k over row r of the batch, four sums not yet added up. */
INLINE void product(const rows_job *j, const part *b, const double *room, int64_t r,
                    int64_t k, v4 *sum)
{
    const double *a = j->small + b->a + k * b->wide, *f = room + b->room + r * b->wide;

    for (int64_t l = 0; l < b->wide; l += LANES)
        *sum += LOAD(f + l) * LOAD(a + l);
}

/* h of every view for row r of the batch, and q = h K. */
INLINE void row_model(const rows_job *j, int64_t c, int64_t r, const double *room,
                      double *h, double *q)
{
    for (int64_t k = 0; k < c; k++) {
        v4 shared = ALL(0);
        product(j, &j->f1, room, r, k, &shared);
        for (int64_t v = 0; v < j->n_views; v++) {
            v4 sum = shared;
            product(j, &j->fa[v], room, r, k, &sum);
            product(j, &j->f2[v], room, r, k, &sum);
            h[v * c + k] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
        }
    }
    for (int64_t v = 0; v < j->n_views; v++)
        for (int64_t k = 0; k < c; k++) {
            double sum = 0;
            for (int64_t l = 0; l < c; l++)
                sum += h[v * c + l] * j->k[v][l + k * c];
            q[v * c + k] = sum;
        }
}

/* sum_v w_v x_v for c numbers a view. */
INLINE void weigh(const rows_job *j, int64_t c, const double *x, double *out)
{
    for (int64_t k = 0; k < c; k++) {
        double sum = 0;
        for (int64_t v = 0; v < j->n_views; v++)
            sum += j->w[v] * x[v * c + k];
        out[k] = sum;
    }
}

/* f <- f (P A' / Q A')^exponent for the rows of the batch; p, q: c numbers every `stride`.
 */
INLINE void move(const rows_job *j, int64_t c, const part *b, int64_t n, const double *p,
                 const double *q, int64_t stride, double *room)
{
    const double *a = j->small + b->a;
    const v4 eps = ALL(FERRY_NMTF_EPS), tiny = ALL(FERRY_NMTF_TINY);
    const bool root = j->exponent != 1;

    for (int64_t r = 0; r < n; r++) {
        double *f = room + b->room + r * b->wide;
        const double *pr = p + r * stride, *qr = q + r * stride;
        for (int64_t l = 0; l < b->wide; l += LANES) {
            v4 up = pr[0] * LOAD(a + l), down = qr[0] * LOAD(a + l), next;
            for (int64_t k = 1; k < c; k++) {
                up += pr[k] * LOAD(a + k * b->wide + l);
                down += qr[k] * LOAD(a + k * b->wide + l);
            }
            up /= CHOOSE(down > eps, down, eps);
            if (root) up = (v4){sqrt(up[0]), sqrt(up[1]), sqrt(up[2]), sqrt(up[3])};
            next = LOAD(f + l) * up;
            STORE(f + l, CHOOSE(next < tiny, ALL(0), next));
        }
    }
}

/* F'P, F'Q and the columns of F, the rows of the batch more. */
INLINE void add_sums(int64_t c, const part *b, int64_t n, double w, const double *p,
                     const double *q, int64_t stride, const double *room, double *sums)
{
    double *of_p = sums + b->sums, *of_q = of_p + c * b->wide, *of_f = of_q + c * b->wide;

    for (int64_t l = 0; l < b->wide; l += LANES) {
        const double *f = room + b->room + l;
        v4 column = ALL(0);
        for (int64_t r = 0; r < n; r++)
            column += LOAD(f + r * b->wide);
        STORE(of_f + l, LOAD(of_f + l) + column);
        for (int64_t k = 0; k < c; k++) {
            v4 up = ALL(0), down = ALL(0);
            for (int64_t r = 0; r < n; r++) {
                const v4 row = LOAD(f + r * b->wide);
                up += ALL(p[r * stride + k]) * row;
                down += ALL(q[r * stride + k]) * row;
            }
            STORE(of_p + k * b->wide + l, LOAD(of_p + k * b->wide + l) + ALL(w) * up);
            STORE(of_q + k * b->wide + l, LOAD(of_q + k * b->wide + l) + ALL(w) * down);
        }
    }
}

/* n <= BATCH rows from `from`: move F, then the sums. sums[0], sums[1]: over the views w
 * <P, H> and w <Q, H> before. */
INLINE void batch(const rows_job *j, int64_t c, int64_t from, int64_t n, double *room,
                  double *sums)
{
    const int64_t wide = j->n_views * c;
    double h[MOST_VIEWS * MOST_CLASSES];
    double p[BATCH * MOST_VIEWS * MOST_CLASSES], q[BATCH * MOST_VIEWS * MOST_CLASSES];
    double ps[BATCH * MOST_CLASSES], qs[BATCH * MOST_CLASSES];

    fetch(j, &j->f1, from, n, room);
    for (int64_t v = 0; v < j->n_views; v++) {
        fetch(j, &j->fa[v], from, n, room);
        fetch(j, &j->f2[v], from, n, room);
    }
    for (int64_t r = 0; r < n; r++) {
        double *pr = p + r * wide, *qr = q + r * wide;
        row_model(j, c, r, room, h, qr);
        for (int64_t v = 0; v < j->n_views; v++) {
            double ph = 0, qh = 0;
            for (int64_t k = 0; k < c; k++) {
                pr[v * c + k] = j->p[v][(from + r) * c + k];
                ph += pr[v * c + k] * h[v * c + k];
                qh += qr[v * c + k] * h[v * c + k];
            }
            sums[0] += j->w[v] * ph;
            sums[1] += j->w[v] * qh;
        }
        weigh(j, c, pr, ps + r * c);
        weigh(j, c, qr, qs + r * c);
    }
    move(j, c, &j->f1, n, ps, qs, c, room);
    for (int64_t v = 0; v < j->n_views; v++) {
        move(j, c, &j->fa[v], n, p + v * c, q + v * c, wide, room);
        move(j, c, &j->f2[v], n, p + v * c, q + v * c, wide, room);
    }
    for (int64_t r = 0; r < n; r++) {
        row_model(j, c, r, room, h, q + r * wide);
        weigh(j, c, q + r * wide, qs + r * c);
    }
    add_sums(c, &j->f1, n, 1, ps, qs, c, room, sums);
    put_back(&j->f1, from, n, room);
    for (int64_t v = 0; v < j->n_views; v++) {
        add_sums(c, &j->fa[v], n, j->w[v], p + v * c, q + v * c, wide, room, sums);
        add_sums(c, &j->f2[v], n, 1, p + v * c, q + v * c, wide, room, sums);
        put_back(&j->fa[v], from, n, room);
        put_back(&j->f2[v], from, n, room);
    }
}

FOR_EACH_CPU static void move_rows(const rows_job *j, int64_t from, int64_t to,
                                   double *room, double *sums)
{
    for (int64_t row = from; row < to; row += BATCH) {
        const int64_t n = to - row < BATCH ? to - row : BATCH;
        if (j->c == 2)
            batch(j, 2, row, n, room, sums);
        else
            batch(j, j->c, row, n, room, sums);
    }
}

/* H of the rows, without scaling: move_rows has left F as it is. */
INLINE void model_batch(const rows_job *j, int64_t c, int64_t from, int64_t n, double *room)
{
    double h[MOST_VIEWS * MOST_CLASSES], q[MOST_VIEWS * MOST_CLASSES];

    fetch(j, &j->f1, from, n, room);
    for (int64_t v = 0; v < j->n_views; v++) {
        fetch(j, &j->fa[v], from, n, room);
        fetch(j, &j->f2[v], from, n, room);
    }
    for (int64_t r = 0; r < n; r++) {
        row_model(j, c, r, room, h, q);
        for (int64_t v = 0; v < j->n_views; v++)
            for (int64_t k = 0; k < c; k++)
                j->h[v][(from + r) * c + k] = h[v * c + k];
    }
}

FOR_EACH_CPU static void model_rows(const rows_job *j, int64_t from, int64_t to,
                                    double *room)
{
    for (int64_t row = from; row < to; row += BATCH) {
        const int64_t n = to - row < BATCH ? to - row : BATCH;
        if (j->c == 2)
            model_batch(j, 2, row, n, room);
        else
            model_batch(j, j->c, row, n, room);
    }
}

static int64_t cut(int64_t m, int64_t piece)
{
    return m / PIECES * piece + m % PIECES * piece / PIECES;
}

/* ---- the job of a group
 * ------------------------------------------------------------------------ */

static int64_t padded(int64_t p)
{
    return (p + LANES - 1) / LANES * LANES;
}

static part part_of(rows_job *j, ferry_block *f, const double *scale, int64_t *small)
{
    const part b = {.f = f->data,
                    .scale = scale,
                    .p = f->k,
                    .wide = padded(f->k),
                    .a = *small,
                    .sums = j->width,
                    .room = j->batch_room};

    *small += b.wide * (j->c + 1);
    j->width += b.wide * (2 * j->c + 1);
    j->batch_room += BATCH * b.wide;
    return b;
}

static void load_a(const rows_job *j, const part *b, const ferry_small *a)
{
    for (int64_t k = 0; k < j->c; k++)
        for (int64_t l = 0; l < b->wide; l++)
            j->small[b->a + k * b->wide + l] = l < b->p ? FERRY_AT(a, l, k) : 0;
    for (int64_t l = 0; l < b->wide; l++)
        j->small[b->a + j->c * b->wide + l] = l >= b->p ? 0 : b->scale ? b->scale[l] : 1;
}

/* The A of all parts as they are now. */
static void load_smALL(const ferry_nmtf *n, int64_t g, const rows_job *j)
{
    load_a(j, &j->f1, n->group[g].a1);
    for (int64_t i = 0, at = 0; i < n->n_views; i++) {
        if (n->view[i].group != g) continue;
        load_a(j, &j->fa[at], n->group[g].aa);
        load_a(j, &j->f2[at++], n->view[i].a2);
    }
}

static void job_of(const ferry_nmtf *n, int64_t g, const ferry_nmtf_options *o, rows_job *j)
{
    ferry_nmtf_group *gr = &n->group[g];
    const bool scaled = n->pending;
    int64_t small = 0;

    *j = (rows_job){.c = n->c, .m = gr->m, .exponent = o->exponent, .width = 2};
    j->f1 = part_of(j, gr->f1, scaled ? gr->f1_sums : NULL, &small);
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        const int64_t at = j->n_views;
        if (v->group != g) continue;
        j->fa[at] = part_of(j, v->fa, scaled && v->fa_scaled ? v->fa_sums : NULL, &small);
        j->f2[at] = part_of(j, v->f2, scaled ? v->f2_sums : NULL, &small);
        j->p[at] = v->p->data;
        j->h[at] = v->h->data;
        j->k[at] = n->domain[v->domain].k->data;
        j->w[at] = v->w;
        j->n_views++;
    }
    j->small = n->room;
}

int64_t ferry_i_nmtf_rows_room(const ferry_nmtf *n)
{
    const int64_t wide = padded(n->p1) + n->n_views * (padded(n->pa) + padded(n->p2));

    return wide * (n->c + 1) + PIECES * (2 + wide * (2 * n->c + 1) + BATCH * wide);
}

bool ferry_i_nmtf_rows_fit(const ferry_nmtf *n)
{
    return n->c <= MOST_CLASSES && n->n_views <= MOST_VIEWS;
}

/* a <- a (F'P / F'Q)^e from the sums of n_parts parts that share it. */
static void move_a(const ferry_nmtf_options *o, int64_t n_parts, const part *b,
                   const double *sums, ferry_small *a)
{
    for (int64_t k = 0; k < a->cols; k++)
        for (int64_t l = 0; l < a->rows; l++) {
            double up = 0, down = 0, ratio, *at = &FERRY_AT(a, l, k);
            for (int64_t v = 0; v < n_parts; v++) {
                up += sums[b[v].sums + k * b[v].wide + l];
                down += sums[b[v].sums + (a->cols + k) * b[v].wide + l];
            }
            ratio = up / fmax(down, FERRY_NMTF_EPS);
            *at *= o->exponent == 1 ? ratio : sqrt(fmax(ratio, 0));
            if (*at < FERRY_NMTF_TINY) *at = 0;
        }
}

static void keep_sums(const rows_job *j, const part *b, const double *sums, double *to)
{
    for (int64_t l = 0; l < b->p; l++)
        to[l] = sums[b->sums + 2 * j->c * b->wide + l];
}

void ferry_i_nmtf_rows(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o,
                       int64_t g, double *objective)
{
    ferry_nmtf_group *gr = &n->group[g];
    const int threads = gr->m * (n->p1 + n->p2) > 200000 ? ctx->threads : 1;
    rows_job j;
    double *sums, *room;

    job_of(n, g, o, &j);
    sums = n->room + (j.c + 1) * (j.batch_room / BATCH);
    room = sums + PIECES * j.width;
    memset(sums, 0, (size_t)(PIECES * j.width) * sizeof *sums);
    load_smALL(n, g, &j);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t piece = 0; piece < PIECES; piece++)
        move_rows(&j, cut(j.m, piece), cut(j.m, piece + 1), room + piece * j.batch_room,
                  sums + piece * j.width);
    for (int64_t piece = 1; piece < PIECES; piece++)
        for (int64_t e = 0; e < j.width; e++)
            sums[e] += sums[piece * j.width + e];
    move_a(o, 1, &j.f1, sums, gr->a1);
    if (n->pa > 0) move_a(o, j.n_views, j.fa, sums, gr->aa);
    keep_sums(&j, &j.f1, sums, gr->f1_sums);
    for (int64_t i = 0, at = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        if (v->group != g) continue;
        move_a(o, 1, &j.f2[at], sums, v->a2);
        keep_sums(&j, &j.fa[at], sums, v->fa_sums);
        keep_sums(&j, &j.f2[at], sums, v->f2_sums);
        j.fa[at].scale = j.f2[at].scale = NULL;
        if (objective) *objective += v->w * v->norm2;
        at++;
    }
    j.f1.scale = NULL;
    if (objective) *objective += sums[1] - 2 * sums[0];
    load_smALL(n, g, &j);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t piece = 0; piece < PIECES; piece++)
        model_rows(&j, cut(j.m, piece), cut(j.m, piece + 1), room + piece * j.batch_room);
}
