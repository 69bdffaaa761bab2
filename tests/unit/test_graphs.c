/* Propagation and smoothing over graphs against the formulas, on one process and on three. */
#include "learn/graphs.h"

#include "core/ranks.h"

#include "ferry_test.h"
#include "on_ranks.h"

enum { N = 40, K = 3 };

/* Edge weights of graph g: symmetric, every fifth row has none in the second. */
static double edge(int g, int64_t i, int64_t j)
{
    const int64_t a = i < j ? i : j, b = i < j ? j : i;

    if (i == j || (g == 1 && (a % 5 == 0 || b % 5 == 0))) return 0;
    return (a * 7 + b * 3 + g) % 6 == 0 ? 0.5 + 0.1 * (double)((a + b) % 9) : 0;
}

/* Rows of this process. */
static void cut(const ferry_ctx *ctx, layout *rows, int64_t *n)
{
    int64_t from = 0, to = N;

    *rows = HERE(N);
    if (ferry_i_ranks_split(ctx)) {
        ferry_i_ranks_part(ctx, N, &from, &to);
        *rows = (layout){.n = N, .spread = true, .first = from};
    }
    *n = to - from;
}

static matrix graph_of(scope *s, int g, layout rows, int64_t n)
{
    ferry_matrix *m = NULL;
    int64_t cells = 0;

    for (int64_t i = rows.first; i < rows.first + n; i++)
        for (int64_t j = 0; j < N; j++)
            cells += edge(g, i, j) > 0;
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), n, N, cells, &m));
    cells = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < N; j++)
            if (edge(g, rows.first + i, j) > 0) {
                m->index[cells] = (int32_t)j;
                m->value[cells++] = edge(g, rows.first + i, j);
            }
        m->start[i + 1] = cells;
    }
    m->whole = rows.spread ? N : 0;
    return matrix_own(s, m);
}

static double start_of(int64_t i, int64_t k)
{
    return (double)((i * 5 + k * 11) % 13) / 13;
}

static double alpha_of(int64_t i)
{
    return i % 4 == 0 ? 0 : 0.8;
}

/* The fixed point itself: what is left of P = (1 - a) P0 + a mean. */
static void check_propagation(scope *s, const graph *g, layout rows, int64_t n)
{
    static const double w[] = {1, 2, 5};
    const block p0 = block_new(s, rows, n, K);
    double *alpha = NEW(s, double, n);
    uint8_t *reached = NEW(s, uint8_t, n);

    for (int64_t i = 0; i < n; i++) {
        alpha[i] = alpha_of(rows.first + i);
        for (int64_t k = 0; k < K; k++)
            ROW(p0, i)[k] = start_of(rows.first + i, k);
    }
    const propagation how = {3, g, w, alpha, 500, 1e-14};
    const block p = replicate(s, propagate(s, &how, p0, reached));
    assert_int_equal(p.n, N);
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < K; k++) {
            double mean = 0, weight = 0;
            for (int t = 0; t < 2; t++) {
                double total = 0, degree = 0;
                for (int64_t j = 0; j < N; j++) {
                    total += edge(t, i, j) * ROW(p, j)[k];
                    degree += edge(t, i, j);
                }
                if (degree > 0) mean += w[t] * total / degree;
                if (degree > 0) weight += w[t];
            }
            const double a = weight > 0 ? alpha_of(i) : 0;
            assert_close(ROW(p, i)[k],
                         (1 - a) * start_of(i, k) + (a > 0 ? a * mean / weight : 0), 1e-12);
            if (i >= rows.first && i < rows.first + n)
                assert_int_equal(reached[i - rows.first], weight > 0);
        }
}

static double cell(int64_t i, int64_t j)
{
    return (i + j) % 3 == 0 ? (double)((i * 3 + j) % 7) - 2 : 0;
}

/* S of two graphs as it is written. */
static double smoothing(int64_t i, int64_t j)
{
    double all = 0;

    for (int g = 0; g < 2; g++) {
        double total = 0, count = 0, di = 0, dj = 0;
        for (int64_t a = 0; a < N; a++)
            for (int64_t b = 0; b < N; b++) {
                total += edge(g, a, b);
                count += edge(g, a, b) > 0;
                if (a == i) di += edge(g, a, b);
                if (a == j) dj += edge(g, a, b);
            }
        const double self = total / count;
        all += (edge(g, i, j) + (i == j) * self) / sqrt((di + self) * (dj + self)) / 2;
    }
    return all;
}

/* S S X, once for all runs. */
enum { D = 5 };
static double expected[N][D];
static void expect(void)
{
    static double once[N][D];

    for (int64_t i = 0; i < N; i++)
        for (int64_t v = 0; v < N; v++)
            for (int64_t j = 0; j < D; j++)
                once[i][j] += smoothing(i, v) * cell(v, j);
    for (int64_t i = 0; i < N; i++)
        for (int64_t v = 0; v < N; v++)
            for (int64_t j = 0; j < D; j++)
                expected[i][j] += smoothing(i, v) * once[v][j];
}

static void check_smoothing(scope *s, const graph *g, layout rows, int64_t n, bool dense)
{
    matrix x = matrix_dense(s, rows, n, D);
    double norm = 0, factor = 0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < D; j++)
            x.m->dense[i * D + j] = cell(rows.first + i, j);
    if (!dense) x = to_sparse(s, x);
    const matrix y = smooth_rows(s, 2, g, 2, x, &factor);
    assert_int_equal(y.m->dense != NULL, dense);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < D; j++)
            norm += expected[i][j] * expected[i][j];
    assert_close(factor, sqrt(N / norm), 1e-12);
    for (int64_t i = 0; i < n; i++) {
        const ferry_row r = row_at(y, i);
        for (int64_t e = 0; e < r.n; e++)
            assert_close(r.value[e],
                         factor * expected[rows.first + i][r.index ? r.index[e] : e],
                         1e-12);
    }
}

static void body(scope *s, void *arg)
{
    graph g[3] = {{.name = "a"}, {.name = "b"}, {.name = "not there"}};
    layout rows;
    int64_t n = 0;

    (void)arg;
    cut(scope_ctx(s), &rows, &n);
    g[0].a = graph_of(s, 0, rows, n);
    g[1].a = graph_of(s, 1, rows, n);
    check_propagation(s, g, rows, n);
    check_smoothing(s, g, rows, n, true);
    check_smoothing(s, g, rows, n, false);
}

static ferry_status run(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, body, arg);
}

static void test_formulas(void **ctx)
{
    assert_ok(*ctx, run(*ctx, NULL));
}

static int on_rank(ferry_ctx *ctx, void *arg)
{
    return run(ctx, arg) == FERRY_OK ? 0 : 1;
}

static void test_over_ranks(void **ctx)
{
    int status[RANKS];

    (void)ctx;
    on_ranks(on_rank, NULL, status);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(status[r], 0);
}

static void test_every_allocation_fails(void **ctx)
{
    each_allocation_fails(*ctx, run, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_formulas, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_over_ranks, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_fails, ctx_setup,
                                        ctx_teardown),
    };

    expect();
    return cmocka_run_group_tests_name("graphs", tests, NULL, NULL);
}
