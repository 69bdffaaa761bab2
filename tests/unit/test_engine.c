/* Every operation of the engines: host against ref over random shapes, dense and CSR; the
 * same bits when repeated; one thread against two; decided cases. */
#include "ferry_test.h"

#include <stdio.h>
#include <unistd.h>

#include "linalg/blas.h"
#include "linalg/host/host.h"
#include "linalg/host/isa.h"
#include "linalg/ops.h"

static const int64_t sizes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 11,
                                12, 13, 15, 16, 17, 20, 31, 33, 64, 65};
static const double scalars[][2] = {{1, 0}, {1, 1}, {-0.5, 2.25}, {0, 1}, {0, 0}};

typedef struct fixture {
    ferry_ctx *ref, *one, *two; /* ref engine; host with one and two threads */
    ferry_rng rng;
} fixture;

/* FERRY_TEST_ENGINE: what is compared with ref in place of host. */
static bool engine_is_there(const char *name)
{
    ferry_ctx *ctx = NULL;
    const bool there =
        ferry_ctx_new(&ctx) == FERRY_OK && ferry_i_ctx_set_engine(ctx, name) == FERRY_OK;

    if (there)
        print_message("engine %s is compared with ref\n", name);
    else
        print_message("skipped: %s\n", ctx ? ferry_message(ctx) : "no context");
    ferry_ctx_free(ctx);
    ferry_i_card_always(there);
    return there;
}

static int setup(void **state)
{
    const char *engine = getenv("FERRY_TEST_ENGINE");
    fixture *f = calloc(1, sizeof *f);

    *state = f;
    if (ferry_ctx_new(&f->ref) || ferry_ctx_new(&f->one) || ferry_ctx_new(&f->two))
        return -1;
    (void)ferry_i_ctx_set_engine(f->ref, "ref");
    if (engine &&
        (ferry_i_ctx_set_engine(f->one, engine) || ferry_i_ctx_set_engine(f->two, engine)))
        return -1;
    (void)ferry_i_ctx_set_threads(f->one, 1);
    (void)ferry_i_ctx_set_threads(f->two, 2);
    ferry_i_rng_seed(&f->rng, 7, 1);
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    ferry_ctx_free(f->ref);
    ferry_ctx_free(f->one);
    ferry_ctx_free(f->two);
    free(f);
    return 0;
}

static int64_t pick(fixture *f)
{
    return sizes[ferry_i_rng_below(&f->rng, (uint64_t)FERRY_COUNT(sizes))];
}

/* Random matrix; CSR ones have about a third of the entries and some empty rows and
 * columns. */
static ferry_matrix *random_matrix(fixture *f, int64_t rows, int64_t cols, bool sparse)
{
    ferry_matrix *x = NULL;
    int64_t at = 0;

    if (!sparse) {
        assert_ok(f->one, ferry_i_matrix_dense(f->one, rows, cols, &x));
        for (int64_t e = 0; e < x->nnz; e++)
            x->dense[e] = ferry_i_rng_normal(&f->rng);
        return x;
    }
    assert_ok(f->one, ferry_i_matrix_csr(f->one, rows, cols, rows * cols, &x));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            if (i % 5 == 3 || j % 7 == 4 || ferry_i_rng_below(&f->rng, 3) != 0) continue;
            x->index[at] = (int32_t)j;
            x->value[at++] = ferry_i_rng_normal(&f->rng);
        }
        x->start[i + 1] = at;
    }
    x->nnz = at;
    return x;
}

static ferry_block *random_block(fixture *f, int64_t rows, int64_t k)
{
    ferry_block *b = NULL;

    assert_ok(f->one, ferry_i_block_new(f->one, rows, k, &b));
    ferry_i_fill_normal(b, &f->rng);
    return b;
}

static ferry_block *block_as(fixture *f, const ferry_block *from)
{
    ferry_block *b = NULL;

    assert_ok(f->one, ferry_i_block_new(f->one, from->rows, from->k, &b));
    ferry_i_block_copy(from, b);
    return b;
}

static ferry_small *new_small(fixture *f, int64_t rows, int64_t cols)
{
    ferry_small *s = NULL;

    assert_ok(f->one, ferry_i_small_new(f->one, rows, cols, &s));
    return s;
}

static ferry_small *random_small(fixture *f, int64_t rows, int64_t cols)
{
    ferry_small *s = new_small(f, rows, cols);

    for (int64_t e = 0; e < rows * cols; e++)
        s->data[e] = ferry_i_rng_normal(&f->rng);
    return s;
}

static ferry_small *copy_small(fixture *f, const ferry_small *from)
{
    ferry_small *s = new_small(f, from->rows, from->cols);

    if (from->rows * from->cols > 0)
        memcpy(s->data, from->data, (size_t)(from->rows * from->cols) * sizeof(double));
    return s;
}

/* Relative to the largest entry: sums of random signs cancel. */
static void all_close(int64_t n, const double *a, const double *want, double tol)
{
    double scale = 1;

    for (int64_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(want[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - want[i]) <= tol * scale)) {
            print_error("entry %lld is %.17g, not %.17g\n", (long long)i, a[i], want[i]);
            fail();
        }
}

static void same_bits(int64_t n, const double *a, const double *b)
{
    if (n > 0) assert_memory_equal(a, b, (size_t)n * sizeof(double));
}

/* What ref is given: it looks up every entry, which takes long in large CSR matrices. */
static ferry_matrix *for_ref(fixture *f, ferry_matrix *x)
{
    ferry_matrix *dense = NULL;

    if (x->dense || x->rows * x->cols < 10000) return ferry_i_matrix_ref(x);
    assert_ok(f->one, ferry_i_matrix_densify(f->one, x, &dense));
    return dense;
}

/* ---- products of a matrix
 * -------------------------------------------------------------- */

static void product(ferry_ctx *ctx, bool trans, double alpha, const ferry_matrix *x,
                    const ferry_block *b, double beta, ferry_block *y)
{
    if (trans)
        assert_ok(ctx, ferry_e(ctx)->tmul(ctx, alpha, x, b, beta, y));
    else
        ferry_e(ctx)->mul(ctx, alpha, x, b, beta, y);
}

static void check_product(fixture *f, bool trans, ferry_matrix *x, int64_t k, double alpha,
                          double beta)
{
    ferry_block *b = random_block(f, trans ? x->rows : x->cols, k);
    ferry_block *y = random_block(f, trans ? x->cols : x->rows, k);
    ferry_block *y1 = block_as(f, y), *y2 = block_as(f, y), *again = block_as(f, y);
    ferry_block *again2 = block_as(f, y);
    ferry_matrix *plain = for_ref(f, x);
    const int64_t n = y->rows * k;

    if (beta == 0 && n > 0) {
        y->data[0] = y1->data[0] = y2->data[0] = NAN;
        again->data[0] = again2->data[0] = NAN;
    }
    product(f->ref, trans, alpha, plain, b, beta, y);
    product(f->one, trans, alpha, x, b, beta, y1);
    product(f->one, trans, alpha, x, b, beta, again);
    product(f->two, trans, alpha, x, b, beta, y2);
    product(f->two, trans, alpha, x, b, beta, again2);
    all_close(n, y1->data, y->data, 1e-13);
    same_bits(n, y1->data, again->data);
    same_bits(n, y2->data, again2->data);
    if (x->dense)
        all_close(n, y2->data, y1->data, 1e-12);
    else
        same_bits(n, y2->data, y1->data);
    FERRY_FREE(b, y, y1, y2, again, again2);
    ferry_i_matrix_free(plain);
}

static void test_products(void **state)
{
    fixture *f = *state;

    for (int64_t s = 0; s < FERRY_COUNT(sizes); s++) /* every k, shapes at random */
        for (int round = 0; round < 8; round++) {
            ferry_matrix *x = random_matrix(f, pick(f), pick(f), round % 2);
            const double *ab = scalars[round % FERRY_COUNT(scalars)];
            check_product(f, false, x, sizes[s], ab[0], ab[1]);
            check_product(f, true, x, sizes[s], ab[0], ab[1]);
            ferry_i_matrix_free(x);
        }
}

/* Dense products as dgemm of Y and of Y', in one piece and in several; beta 0 does not read Y. */
static void test_turned(void **state)
{
    fixture *f = *state;
    static const int64_t shapes[][3] = {
        {700, 300, 64}, {5, 3, 2}, {1, 40, 128}, {301, 2, 100}};

    assert_ok(f->one, ferry_i_blas_ready(f->one));
    for (int64_t s = 0; s < FERRY_COUNT(shapes); s++)
        for (int way = 0; way < 8; way++) {
            const bool trans = way & 1, turned = way & 2;
            const double beta = way & 4 ? 0 : -0.5;
            ferry_matrix *x = random_matrix(f, shapes[s][0], shapes[s][1], false);
            ferry_block *b = random_block(f, trans ? x->rows : x->cols, shapes[s][2]);
            ferry_block *y = random_block(f, trans ? x->cols : x->rows, shapes[s][2]);
            ferry_block *want = block_as(f, y);
            product(f->ref, trans, 1.5, x, b, beta, want);
            for (int64_t e = 0; beta == 0 && e < y->rows * y->k; e++)
                y->data[e] = NAN;
            ferry_i_dense_product(trans, turned, 1.5, x, b, beta, y);
            all_close(y->rows * y->k, y->data, want->data, 1e-13);
            FERRY_FREE(b, y, want);
            ferry_i_matrix_free(x);
        }
}

/* Large enough for teams of threads; with and without the transposed index. */
static void test_products_in_threads(void **state)
{
    fixture *f = *state;
    static const int64_t ks[] = {1, 2, 3, 8, 17, 32};

    for (int64_t i = 0; i < FERRY_COUNT(ks); i++) {
        ferry_matrix *x = random_matrix(f, 301, 203, true);
        for (int indexed = 0; indexed < 2; indexed++) {
            check_product(f, false, x, ks[i], 1.5, -0.5);
            check_product(f, true, x, ks[i], 1.5, -0.5);
            assert_ok(f->one, ferry_i_matrix_index(f->one, x));
        }
        ferry_i_matrix_free(x);
    }
}

/* `each` entries a row, one in each of as many ranges of columns. */
static ferry_matrix *spread_matrix(fixture *f, int64_t rows, int64_t cols, int64_t each)
{
    const int64_t range = cols / each;
    ferry_matrix *x = NULL;

    assert_ok(f->one, ferry_i_matrix_csr(f->one, rows, cols, rows * each, &x));
    for (int64_t e = 0; e < rows * each; e++) {
        x->start[e / each + 1] = e + 1;
        x->index[e] = (int32_t)(e % each * range +
                                (int64_t)ferry_i_rng_below(&f->rng, (uint64_t)range));
        x->value[e] = ferry_i_rng_normal(&f->rng);
    }
    return x;
}

/* Against plain sums over the entries; the same bits with two threads. */
static void check_large_product(fixture *f, bool trans, const ferry_matrix *x, int64_t k)
{
    ferry_block *b = random_block(f, trans ? x->rows : x->cols, k);
    ferry_block *y = random_block(f, trans ? x->cols : x->rows, k);
    ferry_block *y1 = block_as(f, y), *y2 = block_as(f, y);

    for (int64_t e = 0; e < y->rows * k; e++)
        y->data[e] *= -0.5;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            for (int64_t c = 0; c < k; c++)
                FERRY_ROW(y, trans ? x->index[e] : i)
    [c] += 1.5 * x->value[e] * FERRY_ROW(b, trans ? i : x->index[e])[c];
    product(f->one, trans, 1.5, x, b, -0.5, y1);
    product(f->two, trans, 1.5, x, b, -0.5, y2);
    all_close(y->rows * k, y1->data, y->data, 1e-13);
    same_bits(y->rows * k, y2->data, y1->data);
    FERRY_FREE(b, y, y1, y2);
}

/* Large enough for packed panels of B and Y (the first shape) and for blocks of B (the
 * second, and the third by its index). */
static void test_large_products(void **state)
{
    fixture *f = *state;
    static const int64_t shape[][4] = {{2000, 5000, 50, 3},  {2000, 5000, 50, 11},
                                       {2000, 5000, 50, 37}, {100, 60000, 40, 16},
                                       {100, 60000, 40, 37}, {60000, 100, 2, 37}};

    for (int64_t i = 0; i < FERRY_COUNT(shape); i++) {
        ferry_matrix *x = spread_matrix(f, shape[i][0], shape[i][1], shape[i][2]);
        for (int indexed = 0; indexed < 2; indexed++) {
            check_large_product(f, false, x, shape[i][3]);
            check_large_product(f, true, x, shape[i][3]);
            assert_ok(f->one, ferry_i_matrix_index(f->one, x));
        }
        ferry_i_matrix_free(x);
    }
}

/* All instruction sets that this CPU has give the same bits. */
static void test_instruction_sets(void **state)
{
    fixture *f = *state;

    for (int64_t i = 0; i < FERRY_COUNT(sizes); i++) {
        const int64_t k = sizes[i];
        ferry_matrix *x = random_matrix(f, 65, 33, true);
        ferry_block *b = random_block(f, 33, k), *y = random_block(f, 65, k);
        ferry_block *tb = random_block(f, 65, k), *ty = random_block(f, 33, k);
        for (int isa = 0; isa < FERRY_ISAS; isa++) {
            if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
            ferry_block *got = block_as(f, y), *tgot = block_as(f, ty);
            ferry_block *want = block_as(f, y), *twant = block_as(f, ty);
            product(f->one, false, 2, x, b, 3, want);
            product(f->one, true, 2, x, tb, 3, twant);
            const int best = f->one->isa;
            f->one->isa = isa;
            product(f->one, false, 2, x, b, 3, got);
            product(f->one, true, 2, x, tb, 3, tgot);
            f->one->isa = best;
            same_bits(65 * k, got->data, want->data);
            same_bits(33 * k, tgot->data, twant->data);
            FERRY_FREE(got, tgot, want, twant);
        }
        FERRY_FREE(b, y, tb, ty);
        ferry_i_matrix_free(x);
    }
}

/* Many more threads than cores or columns. */
static void test_many_threads(void **state)
{
    fixture *f = *state;

    assert_ok(f->two, ferry_i_ctx_set_threads(f->two, 7));
    for (int64_t cols = 1; cols < 40; cols += 19) {
        ferry_matrix *x = random_matrix(f, 2000, cols, true);
        for (int indexed = 0; indexed < 2; indexed++) {
            check_product(f, false, x, 8, 1.5, 1);
            check_product(f, true, x, 8, 1.5, 0);
            assert_ok(f->one, ferry_i_matrix_index(f->one, x));
        }
        ferry_i_matrix_free(x);
    }
}

static void check_grams(fixture *f, ferry_matrix *x)
{
    ferry_matrix *plain = for_ref(f, x);
    ferry_small *rr = new_small(f, x->rows, x->rows), *rh = new_small(f, x->rows, x->rows);
    ferry_small *cr = new_small(f, x->cols, x->cols), *ch = new_small(f, x->cols, x->cols);

    ferry_e(f->ref)->xxt(f->ref, plain, rr);
    assert_ok(f->ref, ferry_e(f->ref)->xtx(f->ref, plain, cr));
    for (int round = 0; round < 4; round++) { /* one thread, two; the same indexed */
        ferry_ctx *ctx = round % 2 == 0 ? f->one : f->two;
        if (round == 2) assert_ok(ctx, ferry_i_matrix_index(ctx, x));
        ferry_e(ctx)->xxt(ctx, x, rh);
        all_close(x->rows * x->rows, rh->data, rr->data, 1e-13);
        assert_ok(ctx, ferry_e(ctx)->xtx(ctx, x, ch));
        all_close(x->cols * x->cols, ch->data, cr->data, 1e-13);
    }
    FERRY_FREE(rr, rh, cr, ch);
    ferry_i_matrix_free(plain);
}

static void check_sums(fixture *f, const ferry_matrix *x)
{
    double want[300], got[300];

    for (int power = 1; power <= 2; power++)
        for (int axis = 0; axis < 2; axis++) {
            const int64_t n = axis == FERRY_ROWS ? x->rows : x->cols;
            assert_ok(f->ref,
                      ferry_e(f->ref)->sums(f->ref, x, (ferry_axis)axis, power, want));
            assert_ok(f->one,
                      ferry_e(f->one)->sums(f->one, x, (ferry_axis)axis, power, got));
            all_close(n, got, want, 1e-13);
            assert_ok(f->two,
                      ferry_e(f->two)->sums(f->two, x, (ferry_axis)axis, power, got));
            all_close(n, got, want, 1e-13);
        }
}

static void test_grams_and_sums(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 60; round++) {
        ferry_matrix *x = random_matrix(f, pick(f), pick(f), round % 2);
        check_grams(f, x);
        check_sums(f, x);
        ferry_i_matrix_free(x);
    }
    ferry_matrix *x = random_matrix(f, 150, 140, true);
    check_grams(f, x);
    check_sums(f, x);
    ferry_i_matrix_free(x);
}

static void test_sddmm(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 100; round++) {
        ferry_matrix *x = random_matrix(f, pick(f), pick(f), round % 2);
        const int64_t k = sizes[round % FERRY_COUNT(sizes)];
        ferry_block *b = random_block(f, x->rows, k), *c = random_block(f, x->cols, k);
        double *want = calloc((size_t)x->nnz + 1, sizeof *want);
        double *got = calloc((size_t)x->nnz + 1, sizeof *got);
        ferry_e(f->ref)->sddmm(f->ref, x, b, c, want);
        ferry_e(f->one)->sddmm(f->one, x, b, c, got);
        all_close(x->nnz, got, want, 1e-13);
        memcpy(want, got, (size_t)x->nnz * sizeof *want);
        ferry_e(f->two)->sddmm(f->two, x, b, c, got);
        all_close(x->nnz, got, want, 1e-12);
        free(want);
        free(got);
        FERRY_FREE(b, c);
        ferry_i_matrix_free(x);
    }
}

/* Every width that has its own code and some that have not, every instruction set, with and
 * without N: as ref, and all the same bits. */
static void test_masked(void **state)
{
    fixture *f = *state;
    static const int64_t widths[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,  10, 12,
                                     16, 19, 20, 21, 24, 30, 31, 32, 33, 50, 64};

    for (int round = 0; round < 4 * FERRY_COUNT(widths); round++) {
        const int64_t k = widths[round / 4];
        ferry_matrix *x = random_matrix(f, round % 4 == 3 ? 200 : pick(f),
                                        round % 4 == 3 ? 150 : pick(f), true);
        ferry_block *a = random_block(f, x->rows, k), *c = random_block(f, x->cols, k);
        ferry_block *n[3], *d[3];
        const size_t bytes = (size_t)(x->rows * k) * sizeof(double);
        for (int i = 0; i < 3; i++) {
            n[i] = random_block(f, x->rows, k);
            d[i] = random_block(f, x->rows, k);
        }
        ferry_e(f->ref)->masked(f->ref, x, a, c, n[0], d[0]);
        ferry_e(f->one)->masked(f->one, x, a, c, n[1], d[1]);
        all_close(x->rows * k, n[1]->data, n[0]->data, 1e-13);
        all_close(x->rows * k, d[1]->data, d[0]->data, 1e-13);
        for (int isa = 0; isa < FERRY_ISAS; isa++) {
            if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
            f->two->isa = isa;
            ferry_e(f->two)->masked(f->two, x, a, c, n[2], d[2]);
            assert_memory_equal(n[2]->data, n[1]->data, bytes);
            assert_memory_equal(d[2]->data, d[1]->data, bytes);
            memset(d[2]->data, 1, bytes);
            ferry_e(f->two)->masked(f->two, x, a, c, NULL, d[2]);
            assert_memory_equal(d[2]->data, d[1]->data, bytes);
        }
        ferry_e(f->ref)->masked(f->ref, x, a, c, NULL, d[2]);
        assert_memory_equal(d[2]->data, d[0]->data, bytes);
        for (int i = 0; i < 3; i++) {
            FERRY_FREE(n[i], d[i]);
        }
        FERRY_FREE(a, c);
        ferry_i_matrix_free(x);
    }
}

static void test_ridge_rows(void **state)
{
    fixture *f = *state;
    static const int64_t widths[] = {0, 1, 2, 3, 4, 5, 8, 10, 19, 20, 21, 24, 33, 50};

    for (int round = 0; round < 4 * FERRY_COUNT(widths); round++) {
        const int64_t k = widths[round / 4];
        ferry_matrix *x = random_matrix(f, round % 4 == 3 ? 70 : pick(f),
                                        round % 4 == 3 ? 400 : pick(f), true);
        ferry_block *q = random_block(f, x->cols, k), *p[3];
        const size_t bytes = (size_t)(x->rows * k) * sizeof(double);
        double *gain[3];
        for (int i = 0; i < 3; i++) {
            p[i] = random_block(f, x->rows, k);
            gain[i] = calloc((size_t)x->rows + 1, sizeof(double));
        }
        assert_ok(f->ref,
                  ferry_e(f->ref)->ridge_rows(f->ref, x, q, 0.5, round % 2, p[0], gain[0]));
        assert_ok(f->one,
                  ferry_e(f->one)->ridge_rows(f->one, x, q, 0.5, round % 2, p[1], gain[1]));
        all_close(x->rows * k, p[1]->data, p[0]->data, 1e-10);
        all_close(x->rows, gain[1], gain[0], 1e-10);
        for (int64_t i = 0; i < x->rows; i++) { /* what the gain says */
            double left = 0, all = 0;
            for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                double d = x->value[e];
                all += d * d;
                for (int64_t c = 0; c < k; c++)
                    d -= FERRY_ROW(p[1], i)[c] * FERRY_ROW(q, x->index[e])[c];
                left += d * d;
            }
            for (int64_t c = 0; c < k; c++)
                left += 0.5 * (round % 2 ? (double)(x->start[i + 1] - x->start[i]) : 1) *
                        FERRY_ROW(p[1], i)[c] * FERRY_ROW(p[1], i)[c];
            assert_close(left, all - gain[1][i], 1e-9 * (1 + all));
        }
        for (int isa = 0; isa < FERRY_ISAS; isa++) {
            if (!ferry_i_isa_runs((ferry_isa)isa)) continue;
            f->two->isa = isa;
            assert_ok(f->two, ferry_e(f->two)->ridge_rows(f->two, x, q, 0.5, round % 2,
                                                          p[2], isa ? gain[2] : NULL));
            assert_memory_equal(p[2]->data, p[1]->data, bytes);
            if (isa)
                assert_memory_equal(gain[2], gain[1], (size_t)x->rows * sizeof(double));
        }
        assert_ok(f->ref,
                  ferry_e(f->ref)->ridge_rows(f->ref, x, q, 0.5, round % 2, p[2], NULL));
        assert_memory_equal(p[2]->data, p[0]->data, bytes);
        for (int i = 0; i < 3; i++) {
            ferry_i_free(p[i]);
            free(gain[i]);
        }
        ferry_i_free(q);
        ferry_i_matrix_free(x);
    }
}

/* ---- blocks ---- */

static void check_gram(fixture *f, int64_t rows, int64_t p, int64_t q)
{
    ferry_block *b = random_block(f, rows, p), *c = random_block(f, rows, q);
    ferry_small *want = new_small(f, p, q), *got = new_small(f, p, q);

    ferry_e(f->ref)->gram(f->ref, b, c, want);
    ferry_e(f->one)->gram(f->one, b, c, got);
    all_close(p * q, got->data, want->data, 1e-12);
    ferry_e(f->two)->gram(f->two, b, c, got);
    all_close(p * q, got->data, want->data, 1e-12);
    FERRY_FREE(b, c, want, got);
}

static void check_bmul(fixture *f, int64_t rows, int64_t p, int64_t q, bool trans,
                       const double *ab)
{
    ferry_block *b = random_block(f, rows, p), *y = random_block(f, rows, q);
    ferry_block *got = block_as(f, y), *two = block_as(f, y);
    ferry_small *s = trans ? random_small(f, q, p) : random_small(f, p, q);

    ferry_e(f->ref)->bmul(f->ref, ab[0], b, s, trans, ab[1], y);
    ferry_e(f->one)->bmul(f->one, ab[0], b, s, trans, ab[1], got);
    ferry_e(f->two)->bmul(f->two, ab[0], b, s, trans, ab[1], two);
    all_close(rows * q, got->data, y->data, 1e-13);
    all_close(rows * q, two->data, got->data, 1e-12);
    FERRY_FREE(b, y, got, two, s);
}

static void test_block_products(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 150; round++) {
        check_gram(f, pick(f), pick(f), sizes[round % FERRY_COUNT(sizes)]);
        check_bmul(f, pick(f), pick(f), sizes[round % FERRY_COUNT(sizes)], round % 2,
                   scalars[round % FERRY_COUNT(scalars)]);
    }
    check_gram(f, 20011, 3, 5);
}

static void check_bsums(fixture *f, int64_t rows, int64_t k)
{
    ferry_block *b = random_block(f, rows, k);
    const int64_t most = rows > k ? rows : k;
    double *want = calloc((size_t)most + 1, sizeof *want);
    double *one = calloc((size_t)most + 1, sizeof *one);
    double *two = calloc((size_t)most + 1, sizeof *two);

    for (int power = 1; power <= 2; power++)
        for (int axis = 0; axis < 2; axis++) {
            const int64_t n = axis == FERRY_ROWS ? rows : k;
            ferry_e(f->ref)->bsums(f->ref, b, (ferry_axis)axis, power, want);
            ferry_e(f->one)->bsums(f->one, b, (ferry_axis)axis, power, one);
            ferry_e(f->two)->bsums(f->two, b, (ferry_axis)axis, power, two);
            all_close(n, one, want, 1e-12);
            same_bits(n, one, two);
        }
    free(want);
    free(one);
    free(two);
    ferry_i_free(b);
}

static void check_elementwise(fixture *f, int64_t rows, int64_t k, const double *ab)
{
    ferry_block *b = random_block(f, rows, k), *c = random_block(f, rows, k);
    ferry_block *got = block_as(f, c), *two = block_as(f, c), *factor = NULL;
    const int64_t n = rows * k;

    assert_close(ferry_e(f->one)->dot(f->one, b, c), ferry_e(f->ref)->dot(f->ref, b, c),
                 1e-11);
    assert_true(ferry_e(f->one)->dot(f->one, b, c) == ferry_e(f->two)->dot(f->two, b, c));
    if (ab[1] == 0 && n > 0) c->data[0] = got->data[0] = two->data[0] = NAN;
    ferry_e(f->ref)->axpby(f->ref, ab[0], b, ab[1], c);
    ferry_e(f->one)->axpby(f->one, ab[0], b, ab[1], got);
    ferry_e(f->two)->axpby(f->two, ab[0], b, ab[1], two);
    all_close(n, got->data, c->data, 1e-15);
    same_bits(n, got->data, two->data);
    for (int axis = 0; axis < 2; axis++) {
        factor = random_block(f, axis == FERRY_ROWS ? rows : k, 1);
        ferry_e(f->ref)->bscale(f->ref, c, (ferry_axis)axis, factor->data);
        ferry_e(f->one)->bscale(f->one, got, (ferry_axis)axis, factor->data);
        ferry_e(f->two)->bscale(f->two, two, (ferry_axis)axis, factor->data);
        all_close(n, got->data, c->data, 1e-15);
        same_bits(n, got->data, two->data);
        ferry_i_free(factor);
    }
    FERRY_FREE(b, c, got, two);
}

static void test_block_loops(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 100; round++) {
        const int64_t rows = pick(f), k = sizes[round % FERRY_COUNT(sizes)];
        check_bsums(f, rows, k);
        check_elementwise(f, rows, k, scalars[round % FERRY_COUNT(scalars)]);
    }
    check_bsums(f, 5003, 7); /* large enough for two threads */
    check_bsums(f, 503, 70);
    check_elementwise(f, 5003, 7, scalars[2]);
    check_elementwise(f, 5003, 7, scalars[0]);
}

/* Non-negative factors with rows and columns of zeros in all three: no NaN, zeros stay. */
static void check_mulup(fixture *f, int64_t rows, int64_t k, double exponent)
{
    ferry_block *b = random_block(f, rows, k), *n = random_block(f, rows, k);
    ferry_block *d = random_block(f, rows, k), *got, *two;
    const double tiny = 1e-3;

    for (int64_t e = 0; e < rows * k; e++) {
        const bool zero = e / (k > 0 ? k : 1) % 4 == 1 || (k > 2 && e % k == 2);
        b->data[e] = zero && e % 3 == 0 ? 0 : fabs(b->data[e]);
        n->data[e] = zero ? 0 : e % 11 == 5 ? -1e-9 : fabs(n->data[e]);
        d->data[e] = zero && e % 2 == 0 ? 0 : fabs(d->data[e]);
    }
    got = block_as(f, b);
    two = block_as(f, b);
    ferry_e(f->ref)->mulup(f->ref, b, n, d, exponent, 1e-12, tiny);
    ferry_e(f->one)->mulup(f->one, got, n, d, exponent, 1e-12, tiny);
    ferry_e(f->two)->mulup(f->two, two, n, d, exponent, 1e-12, tiny);
    all_close(rows * k, got->data, b->data, 1e-14);
    same_bits(rows * k, got->data, two->data);
    for (int64_t e = 0; e < rows * k; e++) {
        assert_true(isfinite(got->data[e]));
        assert_true(got->data[e] == 0 || got->data[e] >= tiny);
    }
    FERRY_FREE(b, n, d, got, two);
}

static void test_multiplicative_update(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 60; round++)
        check_mulup(f, pick(f), sizes[round % FERRY_COUNT(sizes)], round % 2 ? 0.5 : 1);
    check_mulup(f, 5003, 7, 0.5);
}

/* ---- small dense ---- */

static void check_gemm(fixture *f, int64_t m, int64_t n, int64_t inner, int round)
{
    const bool ta = round & 1, tb = round & 2;
    const double *ab = scalars[round % FERRY_COUNT(scalars)];
    ferry_small *a = ta ? random_small(f, inner, m) : random_small(f, m, inner);
    ferry_small *b = tb ? random_small(f, n, inner) : random_small(f, inner, n);
    ferry_small *c = random_small(f, m, n), *got = copy_small(f, c);

    ferry_e(f->ref)->gemm(f->ref, ta, tb, ab[0], a, b, ab[1], c);
    ferry_e(f->two)->gemm(f->two, ta, tb, ab[0], a, b, ab[1], got);
    all_close(m * n, got->data, c->data, 1e-13);
    FERRY_FREE(a, b, c, got);
}

static void test_gemm(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 200; round++)
        check_gemm(f, pick(f), pick(f), sizes[round % FERRY_COUNT(sizes)], round);
}

/* C'C + shift I: positive definite. */
static ferry_small *random_spd(fixture *f, int64_t n, double shift)
{
    ferry_small *c = random_small(f, n + 2, n), *a = new_small(f, n, n);

    ferry_e(f->ref)->gemm(f->ref, true, false, 1, c, c, 0, a);
    for (int64_t i = 0; i < n; i++)
        FERRY_AT(a, i, i) += shift;
    ferry_i_free(c);
    return a;
}

/* Largest |op(A) D op(B) - C|, D diagonal (NULL: identity). */
static double residual(fixture *f, const ferry_small *a, const double *d,
                       const ferry_small *b, bool tb, const ferry_small *c)
{
    ferry_small *ad = copy_small(f, a), *out = copy_small(f, c);
    double worst = 0;

    for (int64_t j = 0; d && j < ad->cols; j++)
        for (int64_t i = 0; i < ad->rows; i++)
            FERRY_AT(ad, i, j) *= d[j];
    ferry_e(f->ref)->gemm(f->ref, false, tb, 1, ad, b, -1, out);
    for (int64_t e = 0; e < out->rows * out->cols; e++)
        worst = fmax(worst, fabs(out->data[e]));
    FERRY_FREE(ad, out);
    return worst;
}

/* Largest |Q'Q - I|. */
static double off_orthonormal(fixture *f, const ferry_small *q)
{
    ferry_small *g = new_small(f, q->cols, q->cols);
    double worst = 0;

    ferry_e(f->ref)->gemm(f->ref, true, false, 1, q, q, 0, g);
    for (int64_t j = 0; j < g->cols; j++)
        for (int64_t i = 0; i < g->rows; i++)
            worst = fmax(worst, fabs(FERRY_AT(g, i, j) - (i == j)));
    ferry_i_free(g);
    return worst;
}

static void test_eigh(void **state)
{
    fixture *f = *state;

    for (int64_t s = 0; s < FERRY_COUNT(sizes); s++) {
        const int64_t n = sizes[s];
        double w[2][65];
        ferry_small *a = random_spd(f, n, -1), *q[2];
        for (int e = 0; e < 2; e++) {
            ferry_ctx *ctx = e ? f->two : f->ref;
            q[e] = copy_small(f, a);
            assert_ok(ctx, ferry_e(ctx)->eigh(ctx, q[e], w[e]));
            assert_true(residual(f, q[e], w[e], q[e], true, a) < 1e-11);
            assert_true(off_orthonormal(f, q[e]) < 1e-12);
            for (int64_t i = 1; i < n; i++)
                assert_true(w[e][i - 1] <= w[e][i]);
        }
        all_close(n, w[1], w[0], 1e-12);
        all_close(n * n, q[1]->data, q[0]->data, 1e-7); /* gaps between values are random */
        FERRY_FREE(a, q[0], q[1]);
    }
}

static void check_svd(fixture *f, ferry_small *a, bool full_rank)
{
    const int64_t m = a->rows, n = a->cols, r = m < n ? m : n;
    ferry_small *u[2], *v[2];
    double s[2][65];

    for (int e = 0; e < 2; e++) {
        ferry_ctx *ctx = e ? f->two : f->ref;
        ferry_small *c = copy_small(f, a);
        u[e] = new_small(f, m, r);
        v[e] = new_small(f, n, r);
        assert_ok(ctx, ferry_e(ctx)->svd(ctx, c, u[e], s[e], v[e]));
        assert_true(residual(f, u[e], s[e], v[e], true, a) < 1e-12);
        assert_true(off_orthonormal(f, u[e]) < 1e-12);
        assert_true(off_orthonormal(f, v[e]) < 1e-12);
        for (int64_t i = 1; i < r; i++)
            assert_true(s[e][i - 1] >= s[e][i]);
        ferry_i_free(c);
    }
    all_close(r, s[1], s[0], 1e-12);
    if (full_rank) all_close(m * r, u[1]->data, u[0]->data, 1e-7);
    if (full_rank) all_close(n * r, v[1]->data, v[0]->data, 1e-7);
    for (int e = 0; e < 2; e++) {
        FERRY_FREE(u[e], v[e]);
    }
}

static void test_svd(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 60; round++) {
        ferry_small *a = random_small(f, pick(f), sizes[round % FERRY_COUNT(sizes)]);
        check_svd(f, a, true);
        ferry_i_free(a);
    }
    for (int wide = 0; wide < 2; wide++) { /* rank 2 and rank 0 */
        ferry_small *p = random_small(f, wide ? 6 : 9, 2),
                    *q = random_small(f, 2, wide ? 9 : 6);
        ferry_small *a = new_small(f, wide ? 6 : 9, wide ? 9 : 6);
        check_svd(f, a, false);
        ferry_e(f->ref)->gemm(f->ref, false, false, 1, p, q, 0, a);
        check_svd(f, a, false);
        FERRY_FREE(a, p, q);
    }
}

static void check_qr(fixture *f, const ferry_small *a, bool full_rank)
{
    ferry_small *q[2], *r[2];

    for (int e = 0; e < 2; e++) {
        ferry_ctx *ctx = e ? f->two : f->ref;
        q[e] = copy_small(f, a);
        r[e] = new_small(f, a->cols, a->cols);
        assert_ok(ctx, ferry_e(ctx)->qr(ctx, q[e], r[e]));
        assert_true(residual(f, q[e], NULL, r[e], false, a) < 1e-12);
        assert_true(off_orthonormal(f, q[e]) < 1e-13);
        for (int64_t j = 0; j < a->cols; j++) {
            assert_true(FERRY_AT(r[e], j, j) >= 0);
            for (int64_t i = j + 1; i < a->cols; i++)
                assert_true(FERRY_AT(r[e], i, j) == 0);
        }
    }
    if (full_rank) all_close(a->rows * a->cols, q[1]->data, q[0]->data, 1e-10);
    if (full_rank) all_close(a->cols * a->cols, r[1]->data, r[0]->data, 1e-11);
    for (int e = 0; e < 2; e++) {
        FERRY_FREE(q[e], r[e]);
    }
}

static void test_qr(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 80; round++) {
        const int64_t n = sizes[round % FERRY_COUNT(sizes)];
        ferry_small *a = random_small(f, n + pick(f), n);
        check_qr(f, a, true);
        ferry_i_free(a);
    }
    ferry_small *zero = new_small(f, 5, 3);
    check_qr(f, zero, false);
    ferry_i_free(zero);
}

static void check_chol(fixture *f, int64_t n, int64_t columns)
{
    ferry_small *a = random_spd(f, n, 1), *l = copy_small(f, a), *lr = copy_small(f, a);
    ferry_small *x = random_small(f, n, columns), *want = copy_small(f, x);
    ferry_small *lu = copy_small(f, a), *general = copy_small(f, x);

    assert_ok(f->ref, ferry_e(f->ref)->chol(f->ref, lr));
    assert_ok(f->two, ferry_e(f->two)->chol(f->two, l));
    all_close(n * n, l->data, lr->data, 1e-12);
    assert_true(residual(f, l, NULL, l, true, a) < 1e-11);
    ferry_e(f->ref)->chol_solve(f->ref, lr, want);
    ferry_e(f->two)->chol_solve(f->two, lr, x);
    all_close(n * columns, x->data, want->data, 1e-11);
    assert_ok(f->two, ferry_e(f->two)->solve(f->two, lu, general)); /* the third way */
    all_close(n * columns, general->data, want->data, 1e-10);
    FERRY_FREE(a, l, lr, x, want, lu, general);
}

static void check_solve(fixture *f, int64_t n, int64_t columns)
{
    ferry_small *a = random_small(f, n, n), *b = random_small(f, n, columns), *x[2];

    for (int e = 0; e < 2; e++) {
        ferry_ctx *ctx = e ? f->two : f->ref;
        ferry_small *c = copy_small(f, a);
        x[e] = copy_small(f, b);
        assert_ok(ctx, ferry_e(ctx)->solve(ctx, c, x[e]));
        assert_true(residual(f, a, NULL, x[e], false, b) < 1e-9);
        ferry_i_free(c);
    }
    all_close(n * columns, x[1]->data, x[0]->data, 1e-8);
    FERRY_FREE(a, b, x[0], x[1]);
}

static void test_solves(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 60; round++) {
        check_chol(f, sizes[round % FERRY_COUNT(sizes)], pick(f));
        check_solve(f, sizes[round % FERRY_COUNT(sizes)], pick(f));
    }
}

/* What has no answer is said, by both engines alike. */
static void test_breakdowns(void **state)
{
    fixture *f = *state;

    for (int e = 0; e < 2; e++) {
        ferry_ctx *ctx = e ? f->two : f->ref;
        const ferry_engine *engine = ferry_e(ctx);
        ferry_small *a = new_small(f, 3, 3), *b = new_small(f, 3, 3),
                    *c = new_small(f, 3, 3);
        double w[3];
        FERRY_AT(a, 0, 0) = 1;
        assert_fails(ctx, engine->chol(ctx, a), FERRY_ENUMERIC,
                     "positive definite (row 2)");
        assert_fails(ctx, engine->solve(ctx, b, c), FERRY_ENUMERIC, "singular (row 1)");
        memset(a->data, 0, 9 * sizeof(double));
        FERRY_AT(a, 0, 0) = 1;
        memset(b->data, 0, 9 * sizeof(double));
        FERRY_AT(a, 1, 1) = NAN;
        assert_fails(ctx, engine->eigh(ctx, a, w), FERRY_ENUMERIC, "not finite");
        assert_fails(ctx, engine->svd(ctx, a, b, w, c), FERRY_ENUMERIC, "not finite");
        assert_fails(ctx, engine->chol(ctx, a), FERRY_ENUMERIC,
                     "positive definite (row 2)");
        FERRY_FREE(a, b, c);
    }
}

/* ---- eigenpairs of an operator ---- */

/* H D H with the Householder reflection H = I - 2 h h' (|h| = 1): known values and
 * vectors. */
typedef struct spectrum {
    int64_t n;
    double h[600], d[600];
    int64_t calls, fail_at;
} spectrum;

static ferry_status reflected(ferry_ctx *ctx, void *arg, const ferry_block *x,
                              ferry_block *y)
{
    spectrum *s = arg;

    if (++s->calls == s->fail_at)
        return ferry_i_fail(ctx, FERRY_ECANCELLED, "operator stops");
    for (int64_t j = 0; j < x->k; j++) {
        for (int pass = 0; pass < 2; pass++) {
            const ferry_block *from = pass == 0 ? x : y;
            double dot = 0;
            for (int64_t i = 0; i < s->n; i++)
                dot += s->h[i] * from->data[i * x->k + j];
            for (int64_t i = 0; i < s->n; i++)
                y->data[i * x->k + j] = (from->data[i * x->k + j] - 2 * dot * s->h[i]) *
                                        (pass == 0 ? s->d[i] : 1);
        }
    }
    return FERRY_OK;
}

static void make_spectrum(fixture *f, spectrum *s, int64_t n, int64_t top, double gap)
{
    double norm = 0;

    *s = (spectrum){.n = n};
    for (int64_t i = 0; i < n; i++) {
        s->h[i] = ferry_i_rng_normal(&f->rng);
        norm += s->h[i] * s->h[i];
        s->d[i] = i < top ? 2 : -(double)i / (double)n + 2 - gap; /* `top` equal values */
    }
    for (int64_t i = 0; i < n; i++)
        s->h[i] /= sqrt(norm);
}

/* Projector of the first m vectors, entry (i, l). */
static double projector(const ferry_block *v, int64_t m, int64_t i, int64_t l)
{
    double sum = 0;

    for (int64_t j = 0; j < m; j++)
        sum += FERRY_ROW(v, i)[j] * FERRY_ROW(v, l)[j];
    return sum;
}

/* The same for the true eigenvectors, the columns of H. */
static double true_projector(const spectrum *s, int64_t m, int64_t i, int64_t l)
{
    double sum = 0;

    for (int64_t j = 0; j < m; j++)
        sum += ((i == j) - 2 * s->h[i] * s->h[j]) * ((l == j) - 2 * s->h[l] * s->h[j]);
    return sum;
}

static void check_eigs(ferry_ctx *ctx, spectrum *s, int64_t k, int64_t top)
{
    ferry_block *v = NULL;
    double w[600];

    assert_ok(ctx, ferry_i_block_new(ctx, s->n, k, &v));
    assert_ok(ctx, ferry_e(ctx)->eigs(ctx, s->n, reflected, s, k, 0, w, v));
    for (int64_t j = 0; j < k; j++)
        assert_close(w[j], s->d[j], 1e-10);
    for (int64_t m = top < k ? top : k; m <= k; m += k - m > 0 ? k - m : 1)
        for (int64_t i = 0; (m >= top) && i < s->n; i += 7)
            for (int64_t l = 0; l < s->n; l += 5)
                assert_close(projector(v, m, i, l), true_projector(s, m, i, l), 1e-7);
    for (int64_t j = 0; j < k; j++) { /* unit length, sign fixed */
        double norm = 0, most = 0;
        for (int64_t i = 0; i < s->n; i++) {
            const double x = FERRY_ROW(v, i)[j];
            norm += x * x;
            if (fabs(x) > fabs(most) * (1 + 1e-6)) most = x;
        }
        assert_close(norm, 1, 1e-10);
        assert_true(most > 0);
    }
    ferry_i_free(v);
}

static void test_eigs(void **state)
{
    fixture *f = *state;
    static const int64_t ns[] = {1, 2, 3, 5, 33, 101, 300, 600}, ks[] = {1, 2, 3, 6, 20};
    spectrum s;

    for (int64_t i = 0; i < FERRY_COUNT(ns); i++)
        for (int64_t j = 0; j < FERRY_COUNT(ks); j++)
            for (int64_t top = 1; top <= 4; top += 3) {
                if (ks[j] > ns[i] || top > ns[i]) continue;
                make_spectrum(f, &s, ns[i], top, 0.2);
                check_eigs(f->one, &s, ks[j], top);
                check_eigs(f->two, &s, ks[j], top);
                if (ns[i] < 102) check_eigs(f->ref, &s, ks[j], top);
            }
    make_spectrum(f, &s, 120, 1, 0.2); /* nearly all of them: written out */
    check_eigs(f->one, &s, 119, 1);
    check_eigs(f->one, &s, 120, 1);
    assert_ok(f->one, ferry_e(f->one)->eigs(f->one, 5, reflected, &s, 0, 0, s.d,
                                            &(ferry_block){.rows = 5}));
}

/* Low rank and multiples of the identity end Lanczos early. */
static void test_eigs_degenerate(void **state)
{
    fixture *f = *state;
    spectrum s;

    make_spectrum(f, &s, 300, 1, 0.2);
    for (int64_t i = 0; i < 300; i++)
        s.d[i] = i < 3 ? 3 - (double)i : 0;
    check_eigs(f->one, &s, 3, 1);
    check_eigs(f->one, &s, 8, 8 + 1);
    for (int64_t i = 0; i < 300; i++)
        s.d[i] = 1.5;
    check_eigs(f->one, &s, 4, 5);
    for (int64_t i = 0; i < 300; i++)
        s.d[i] = 0;
    check_eigs(f->one, &s, 4, 5);
}

static void test_eigs_same_bits(void **state)
{
    fixture *f = *state;
    spectrum s;

    for (int kind = 0; kind < 70; kind += 3) {
        ferry_block *v = NULL, *again = NULL;
        double w[8], w2[8];
        make_spectrum(f, &s, 400, 3, 0.1);
        for (int64_t i = 0; kind > 0 && i < 400; i++) /* of rank 1, 2, ... */
            s.d[i] = i < kind ? 1 + (double)(i % 9) : 0;
        assert_ok(f->one, ferry_i_block_new(f->one, 400, 6, &v));
        assert_ok(f->one, ferry_i_block_new(f->one, 400, 6, &again));
        assert_ok(f->one, ferry_e(f->one)->eigs(f->one, 400, reflected, &s, 6, 0, w, v));
        assert_ok(f->one,
                  ferry_e(f->one)->eigs(f->one, 400, reflected, &s, 6, 0, w2, again));
        same_bits(6, w, w2);
        same_bits(2400, v->data, again->data);
        FERRY_FREE(v, again);
    }
}

static void test_eigs_operator_fails(void **state)
{
    fixture *f = *state;
    ferry_block *v = NULL;
    double w[4];
    spectrum s;

    for (int e = 0; e < 2; e++) {
        ferry_ctx *ctx = e ? f->one : f->ref;
        make_spectrum(f, &s, e ? 300 : 20, 1, 0.2);
        assert_ok(ctx, ferry_i_block_new(ctx, s.n, 4, &v));
        s.fail_at = 3;
        assert_fails(ctx, ferry_e(ctx)->eigs(ctx, s.n, reflected, &s, 4, 0, w, v),
                     FERRY_ECANCELLED, "operator stops");
        ferry_i_free(v);
    }
    check_eigs(f->one, &s, 4, 1); /* the lock is free again */
}

/* ---- memory, log, BLAS ---- */

static ferry_status everything_that_allocates(ferry_ctx *ctx, void *arg)
{
    const ferry_engine *e = ferry_e(ctx);
    ferry_status st = FERRY_OK;
    ferry_small *a = NULL, *b = NULL, *u = NULL, *v = NULL;
    ferry_block *vectors = NULL, *in = NULL, *out = NULL;
    ferry_matrix *x = NULL;
    double w[4];

    FERRY_TRY(ferry_i_small_new(ctx, 4, 4, &a));
    FERRY_TRY(ferry_i_small_new(ctx, 4, 4, &b));
    FERRY_TRY(ferry_i_small_new(ctx, 4, 4, &u));
    FERRY_TRY(ferry_i_small_new(ctx, 4, 4, &v));
    FERRY_TRY(ferry_i_block_new(ctx, ((spectrum *)arg)->n, 2, &vectors));
    for (int64_t i = 0; i < 4; i++)
        FERRY_AT(a, i, i) = FERRY_AT(b, i, i) = 1;
    FERRY_TRY(e->eigh(ctx, a, w));
    FERRY_TRY(e->svd(ctx, a, u, w, v));
    FERRY_TRY(e->qr(ctx, u, v));
    FERRY_TRY(e->solve(ctx, u, v));
    FERRY_TRY(ferry_i_matrix_csr(ctx, 200, 2, 400, &x));
    for (int64_t i = 0; i < 400; i++) {
        x->index[i] = (int32_t)(i % 2);
        x->start[i / 2 + 1] = i + 1;
    }
    FERRY_TRY(ferry_i_block_new(ctx, 200, 64, &in));
    FERRY_TRY(ferry_i_block_new(ctx, 2, 64, &out));
    FERRY_TRY(e->tmul(ctx, 1, x, in, 0, out));
    FERRY_TRY(e->eigs(ctx, ((spectrum *)arg)->n, reflected, arg, 2, 0, w, vectors));
done:
    FERRY_FREE(a, b, u, v, vectors, in, out);
    ferry_i_matrix_free(x);
    return st;
}

static void test_allocations_fail(void **state)
{
    fixture *f = *state;
    spectrum s;

    make_spectrum(f, &s, 10, 1, 0.2);
    each_allocation_fails(f->ref, everything_that_allocates, &s);
    each_allocation_fails(f->one, everything_that_allocates, &s);
    make_spectrum(f, &s, 120, 1, 0.2);
    each_allocation_fails(f->two, everything_that_allocates, &s);
}

static void count_lines(void *user, ferry_level level, const char *line)
{
    assert_int_equal(level, FERRY_WARN);
    assert_non_null(strstr(line, "OPENBLAS_CORETYPE="));
    ++*(int *)user;
}

static void test_blas_fitting(void **state)
{
    (void)state; /* avx2, avx512, in halves */
    assert_string_equal(ferry_i_blas_fitting("Prescott", false, false, false), "");
    assert_string_equal(ferry_i_blas_fitting("Prescott", true, false, false), "Haswell");
    assert_string_equal(ferry_i_blas_fitting("Prescott", true, true, false), "SkylakeX");
    assert_string_equal(ferry_i_blas_fitting("Prescott", true, true, true), "SkylakeX");
    assert_string_equal(ferry_i_blas_fitting("Zen", true, false, true), "Zen");
    assert_string_equal(ferry_i_blas_fitting("Haswell", true, false, false), "Haswell");
    assert_string_equal(ferry_i_blas_fitting("Haswell", true, true, false), "SkylakeX");
    assert_string_equal(ferry_i_blas_fitting("Haswell", true, true, true),
                        "Haswell"); /* Zen 4 */
    assert_string_equal(ferry_i_blas_fitting("Zen", true, true, true), "Zen");
    assert_string_equal(ferry_i_blas_fitting("Cooperlake", true, true, false),
                        "Cooperlake");
}

/* One warning when the kernels do not fit the CPU, none when they do. */
static void test_blas_core(void **state)
{
    fixture *f = *state;
    const char *core = ferry_i_blas_core(), *wanted = ferry_i_blas_core_wanted();
    int lines = 0;

    ferry_i_card_always(false); /* the host is asked */
    assert_non_null(strstr(ferry_i_blas_config(), "OpenBLAS"));
    ferry_ctx_set_log(f->one, count_lines, FERRY_DEBUG, &lines);
    for (int i = 0; i < 3; i++) {
        ferry_small *a = random_small(f, 3, 3), *c = random_small(f, 3, 3);
        ferry_e(f->one)->gemm(f->one, false, false, 1, a, a, 0, c);
        FERRY_FREE(a, c);
    }
    ferry_i_card_always(getenv("FERRY_TEST_ENGINE") != NULL);
    assert_int_equal(lines, wanted[0] && strcmp(core, wanted) != 0 && !getenv("OPENBLAS_CORETYPE"));
}

/* The same in a process that took the wrong kernels without being told to (main() hides who told it). */
static void test_wrong_blas_core(void **state)
{
    char self[1024], command[1200];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    (void)state;
    assert_true(n > 0);
    self[n] = 0;
    snprintf(command, sizeof command, "OPENBLAS_CORETYPE=Prescott '%s' core >/dev/null",
             self);
    assert_int_equal(system(command), 0);
}

/* FERRY_ISA: what is asked for, or the widest and a sentence. */
static void test_isa(void **state)
{
    const ferry_isa best = ferry_i_isa_choose(NULL, NULL);
    ferry_ctx *ctx = NULL;
    bool problem = true;
    char text[160];

    (void)state;
    assert_int_equal(ferry_i_isa_choose("", &problem), best);
    assert_false(problem);
    for (int isa = 0; isa < FERRY_ISAS; isa++) {
        const bool runs = ferry_i_isa_runs((ferry_isa)isa);
        assert_int_equal(ferry_i_isa_choose(ferry_i_isa_name((ferry_isa)isa), &problem),
                         runs ? isa : (int)best);
        assert_int_equal(problem, !runs);
    }
    assert_int_equal(setenv("FERRY_ISA", "baseline", 1), 0);
    assert_int_equal(ferry_ctx_new(&ctx), FERRY_OK);
    assert_int_equal(ctx->isa, FERRY_ISA_BASELINE);
    assert_false(ferry_i_isa_problem(text, sizeof text));
    ferry_ctx_free(ctx);
    assert_int_equal(setenv("FERRY_ISA", "mmx", 1), 0);
    assert_int_equal(ferry_ctx_new(&ctx), FERRY_OK);
    assert_int_equal(ctx->isa, best);
    assert_true(ferry_i_isa_problem(text, sizeof text));
    assert_non_null(strstr(text, "FERRY_ISA=mmx"));
    ferry_ctx_free(ctx);
    assert_int_equal(unsetenv("FERRY_ISA"), 0);
}

static void test_registry(void **state)
{
    fixture *f = *state;

    assert_int_equal(ferry_i_engine_count(), 5);
    for (int64_t i = 0; i < ferry_i_engine_count(); i++) {
        const ferry_engine *e = ferry_i_engine_at(i);
        assert_ptr_equal(ferry_i_engine_find(e->name), e);
        if (e == &ferry_i_engine_cuda && ferry_i_card_open(f->one) != FERRY_OK) {
            assert_fails(f->one, ferry_i_ctx_set_engine(f->one, e->name), FERRY_ENEEDS,
                         "engine cuda needs an NVIDIA card: ");
            continue;
        }
        assert_ok(f->one, ferry_i_ctx_set_engine(f->one, e->name));
        assert_string_equal(ferry_i_ctx_engine(f->one), e->name);
    }
    assert_fails(f->one, ferry_i_ctx_set_engine(f->one, "gpu"), FERRY_EINVAL, "gpu");
}

/* An engine has every operation, but for those that are one step only where it can. */
static void test_tables_are_full(void **state)
{
    const size_t first = offsetof(ferry_engine, mul), last = offsetof(ferry_engine, cross);

    (void)state;
    for (int64_t i = 0; i < ferry_i_engine_count(); i++)
        for (size_t at = first; at < last; at += sizeof(void *)) {
            void *entry = NULL;
            memcpy(&entry, (const char *)ferry_i_engine_at(i) + at, sizeof entry);
            if (!entry)
                fail_msg("engine %s: entry %d is missing", ferry_i_engine_at(i)->name,
                         (int)((at - first) / sizeof(void *)));
        }
}

/* auto is host where no card is, and where nothing is large: no card is opened for it. */
static void test_auto(void **state)
{
    fixture *f = *state;
    ferry_matrix *x = random_matrix(f, 33, 17, false);
    ferry_block *b = random_block(f, 17, 4), *y = random_block(f, 33, 4),
                *z = random_block(f, 33, 4);

    ferry_i_card_always(false);
    ferry_e(f->ref)->mul(f->ref, 1, x, b, 0, y);
    const int64_t before = ferry_i_card_calls();
    assert_ok(f->one, ferry_i_ctx_set_engine(f->one, "auto"));
    ferry_e(f->one)->mul(f->one, 1, x, b, 0, z);
    all_close(33 * 4, z->data, y->data, 1e-12);
    assert_int_equal(ferry_i_card_calls(), before);
    ferry_i_card_always(getenv("FERRY_TEST_ENGINE") != NULL);
    FERRY_FREE(b, y, z);
    ferry_i_matrix_free(x);
}

static small small_of(ferry_small *s)
{
    return (small){s->rows, s->cols, s->data};
}

typedef struct crossing {
    const ferry_matrix *x;
    const double *mean, *weight;
    ferry_small *out;
} crossing;

static void cross_it(scope *s, void *arg)
{
    const crossing *c = arg;
    const small to =
        cross(s, matrix_borrow(s, (ferry_matrix *)(uintptr_t)c->x), c->mean, c->weight);

    memcpy(small_of(c->out).at, to.at, (size_t)(to.rows * to.cols) * sizeof(double));
}

/* Centred and weighted products: by the engine under test as by ref, which has no step of its own for them. */
static void test_cross(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 60; round++) {
        const int64_t n = 1 + pick(f), d = 1 + pick(f);
        ferry_matrix *x = random_matrix(f, n, d, round % 2);
        ferry_block *mean = random_block(f, d, 1), *weight = random_block(f, n, 1);
        ferry_small *a = new_small(f, d, d), *b = new_small(f, d, d);
        for (int64_t i = 0; i < n; i++)
            weight->data[i] = fabs(weight->data[i]);
        crossing c = {x, round & 2 ? mean->data : NULL, round & 4 ? weight->data : NULL, a};
        assert_ok(f->ref, scope_run(f->ref, cross_it, &c));
        c.out = b;
        assert_ok(f->one, scope_run(f->one, cross_it, &c));
        all_close(d * d, b->data, a->data, 1e-12);
        FERRY_FREE(mean, weight, a, b);
        ferry_i_matrix_free(x);
    }
}

/* A copy that an engine keeps goes with its matrix: another one at the same place is another one. */
static void test_lasting_matrices(void **state)
{
    fixture *f = *state;

    for (int round = 0; round < 40; round++) {
        ferry_matrix *x = random_matrix(f, 40, 30, round % 2);
        assert_ok(f->one, ferry_i_matrix_index(f->one, x));
        check_product(f, false, x, 5, 1, 0);
        check_product(f, true, x, 5, 1, 0);
        ferry_i_matrix_free(x);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(test_products),
        T(test_turned),
        T(test_products_in_threads),
        T(test_large_products),
        T(test_instruction_sets),
        T(test_many_threads),
        T(test_grams_and_sums),
        T(test_sddmm),
        T(test_masked),
        T(test_ridge_rows),
        T(test_block_products),
        T(test_block_loops),
        T(test_multiplicative_update),
        T(test_gemm),
        T(test_eigh),
        T(test_svd),
        T(test_qr),
        T(test_solves),
        T(test_breakdowns),
        T(test_eigs),
        T(test_eigs_degenerate),
        T(test_eigs_same_bits),
        T(test_eigs_operator_fails),
        T(test_allocations_fail),
        T(test_blas_fitting),
        T(test_blas_core),
        T(test_wrong_blas_core),
        T(test_isa),
        T(test_registry),
        T(test_tables_are_full),
        T(test_auto),
        T(test_cross),
        T(test_lasting_matrices),
    };
    const char *engine = getenv("FERRY_TEST_ENGINE");
    (void)argv;
    if (engine && !engine_is_there(engine)) return 0;
    if (getenv("FERRY_TEST_ONLY")) cmocka_set_test_filter(getenv("FERRY_TEST_ONLY"));
    if (argc > 1) { /* see test_wrong_blas_core */
        (void)ferry_i_blas_core();
        (void)unsetenv("OPENBLAS_CORETYPE");
        cmocka_set_test_filter("test_blas_core");
    }
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
