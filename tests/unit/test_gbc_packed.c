/* GBC's packed graphs against the plain formulas. */
#include <math.h>
#include <string.h>

#include "ferry_test.h"
#include "linalg/host/isa.h"
#include "methods/gbc/gbc.h"
#include "methods/gbc/packed.h"
#include "oracle.h"

/* More rows than a run has; not a multiple of it. */
enum { N = FERRY_RUN + 700, Q = 4 };

typedef struct one_case {
    uint8_t mask[N], labelled[N], has[N], want_has[N];
    double y[N], f[N], et[N], want[N];
    ferry_matrix *graph[Q];
} one_case;

/* A symmetric graph of random edges between the first nodes, so that the last have none;
 * one node knows everybody. weights: 0: all 1, 1: all 0.25, 2: random. */
static ferry_matrix *random_graph(ferry_ctx *ctx, ferry_rng *rng, int weights)
{
    enum { EDGES = 3 * N, LAST = N - 100 };
    ferry_matrix *a = NULL;
    int32_t(*end)[2] = calloc(EDGES + LAST, sizeof *end);
    int64_t *next = calloc(N, sizeof *next);

    for (int e = 0; e < EDGES + LAST; e++) {
        end[e][0] = e < EDGES ? (int32_t)ferry_i_rng_below(rng, LAST) : 17;
        end[e][1] = e < EDGES ? (int32_t)ferry_i_rng_below(rng, LAST) : e - EDGES;
        if (end[e][0] == end[e][1]) end[e][1] = (end[e][0] + 1) % LAST; /* no loops */
    }
    assert_ok(ctx, ferry_i_matrix_csr(ctx, N, N, 2 * (EDGES + LAST), &a));
    for (int e = 0; e < EDGES + LAST; e++)
        for (int s = 0; s < 2; s++)
            a->start[end[e][s] + 1]++;
    for (int64_t x = 0; x < N; x++)
        a->start[x + 1] += a->start[x];
    memcpy(next, a->start, N * sizeof *next);
    for (int e = 0; e < EDGES + LAST; e++) {
        const double w = weights == 2 ? ferry_i_rng_real(rng) : weights == 1 ? 0.25 : 1;
        for (int s = 0; s < 2; s++) {
            a->value[next[end[e][s]]] = w;
            a->index[next[end[e][s]]++] = end[e][1 - s];
        }
    }
    free(end);
    free(next);
    return a;
}

static one_case *case_new(ferry_ctx *ctx)
{
    one_case *c = calloc(1, sizeof *c);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 5);
    for (int g = 0; g < Q; g++)
        c->graph[g] = random_graph(ctx, &rng, g % 3);
    for (int x = 0; x < N; x++) {
        c->mask[x] = 1;
        c->labelled[x] = ferry_i_rng_real(&rng) < 0.2;
        c->y[x] = ferry_i_rng_real(&rng) < 0.5 ? 1 : -1;
        c->f[x] = ferry_i_rng_normal(&rng);
    }
    return c;
}

static void case_free(one_case *c)
{
    for (int g = 0; g < Q; g++)
        ferry_i_matrix_free(c->graph[g]);
    free(c);
}

static gbc_problem problem(const one_case *c, int way)
{
    return (gbc_problem){.n = N,
                         .p = 1,
                         .q = Q,
                         .k = 1,
                         .mask = c->mask,
                         .labelled = c->labelled,
                         .y = c->y,
                         .graph = c->graph,
                         .logistic = way & 1,
                         .soft = true,
                         .clamp = (way & 2) != 0};
}

static void run_pass(ferry_ctx *ctx, const gbc_problem *g, one_case *c, double *loss,
                     double *wg)
{
    double *f[1] = {c->f}, *et[1] = {c->et};
    uint8_t *has[1] = {c->has};
    const double one = 1;
    gbc_pass *pass = NULL;

    assert_ok(ctx, ferry_i_gbc_pass_new(ctx, g, &pass));
    assert_ok(ctx, ferry_i_gbc_pass_run(ctx, pass, g, f, &one, loss, wg, et, has));
    ferry_i_gbc_pass_free(pass);
}

/* Losses and means are the plain formulas' to 2^-32 of the range of the scores, the same
 * bits with any number of threads. */
static void test_plain(void **state)
{
    ferry_ctx *ctx = *state;
    one_case *c = case_new(ctx);
    const int best = ctx->isa;

    for (int round = 0; round < 4 * (FERRY_ISAS + 1); round++) { /* instruction sets; ref */
        const int way = round % 4, isa = round / 4;
        const gbc_problem g = problem(c, way);
        double *f[1] = {c->f}, loss[Q], wg[Q], plain[Q], first = 0;
        const double one = 1;
        if (isa < FERRY_ISAS && !ferry_i_isa_runs((ferry_isa)isa)) continue;
        ctx->isa = isa < FERRY_ISAS ? isa : best;
        assert_ok(ctx, ferry_ctx_set_engine(ctx, isa < FERRY_ISAS ? "host" : "ref"));
        assert_true(ferry_i_gbc_packs(&g));
        for (int threads = 1; threads <= 3; threads++) {
            double sum = 0;
            assert_ok(ctx, ferry_ctx_set_threads(ctx, threads));
            run_pass(ctx, &g, c, loss, wg);
            for (int x = 0; x < N; x++)
                sum += c->et[x];
            for (int t = 0; t < Q; t++)
                sum += loss[t];
            if (threads == 1) first = sum;
            assert_true(first == sum);
        }
        oracle_gbc_graph_loss(&g, f, &one, plain);
        oracle_gbc_neighbours(&g, 0, c->f, wg, c->want, c->want_has);
        for (int t = 0; t < Q; t++)
            assert_close(loss[t], plain[t], 1e-9);
        for (int x = 0; x < N; x++) {
            if (c->labelled[x]) continue;
            assert_int_equal(c->has[x], c->want_has[x]);
            assert_close(c->et[x], c->want[x], 5e-9);
        }
        assert_false(c->has[N - 1]); /* nobody knows the last */
    }
    assert_ok(ctx, ferry_ctx_set_engine(ctx, "host"));
    case_free(c);
}

/* Scores that are all the same disagree by exactly nothing: the graphs share the weight. */
static void test_all_the_same(void **state)
{
    ferry_ctx *ctx = *state;
    one_case *c = case_new(ctx);

    for (int way = 0; way < 4; way++) {
        const gbc_problem g = problem(c, way);
        double loss[Q], wg[Q];
        for (int x = 0; x < N; x++)
            c->f[x] = -0.1234567;
        run_pass(ctx, &g, c, loss, wg);
        for (int t = 0; t < Q; t++) {
            assert_true(loss[t] == 0);
            assert_close(wg[t], 1.0 / Q, 1e-15);
        }
        if (way == 0) assert_close(c->et[200], -0.1234567, 1e-15);
    }
    case_free(c);
}

/* What it cannot do is left to the general way. */
static void test_others(void **state)
{
    ferry_ctx *ctx = *state;
    one_case *c = case_new(ctx);
    gbc_problem g = problem(c, 1);

    g.soft = false;
    assert_false(ferry_i_gbc_packs(&g));
    g = problem(c, 0);
    g.k = 2;
    assert_false(ferry_i_gbc_packs(&g));
    g = problem(c, 0);
    c->mask[3] = 0;
    assert_false(ferry_i_gbc_packs(&g));
    case_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_all_the_same, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_others, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("gbc_packed", tests, NULL, NULL);
}
