/* What every learner promises, tried on all of them: a weight of 2 is the row twice and 0 no row, soft labels are
 * weighted rows, no order of rows decides, files give the same scores, ranks the same model, every allocation may
 * fail. Then what they share. */
#include "learn/learner.h"

#include "core/ranks.h"
#include "ferry_test.h"
#include "learn/self_training.h"
#include "learn/softmax.h"
#include "on_ranks.h"

enum { N = 60, D = 5, K = 3 };

/* ---- examples: three classes that overlap a little ---- */

static double wave(int64_t i, int64_t j)
{
    return sin(0.7 * (double)(i * 13 + j * 7) + 0.3 * (double)(i * j));
}

static int32_t class_of(int64_t i)
{
    return (int32_t)((i * 7 / 3) % K);
}

/* Row i of the data, wherever it stands. */
static void put_row(int64_t i, double *x)
{
    for (int64_t j = 0; j < D; j++)
        x[j] = wave(i, j) + (j == class_of(i) ? 1.2 : 0) + (j == 3 ? 0.4 * class_of(i) : 0);
}

/* Rows rows_of[0 .. n) as examples of a goal; a rank takes its part. */
static examples examples_of(scope *s, ferry_goal goal, int64_t n, const int64_t *rows_of,
                            const double *weight)
{
    int64_t from = 0, to = n;

    ferry_i_ranks_part(scope_ctx(s), n, &from, &to);
    const layout rows = {
        .n = n, .spread = ferry_i_ranks_split(scope_ctx(s)), .first = from};
    const matrix x = matrix_dense(s, rows, to - from, D);
    int32_t *cls = NEW(s, int32_t, n);
    double *num = NEW(s, double, n);
    uint8_t *on = NEW(s, uint8_t, n * K);
    uint64_t *key = NEW(s, uint64_t, n);

    for (int64_t i = from; i < to; i++) {
        put_row(rows_of[i], x.m->dense + (i - from) * D);
        cls[i - from] = class_of(rows_of[i]);
        num[i - from] = 2 * wave(rows_of[i], 1) + class_of(rows_of[i]);
        for (int64_t k = 0; k < K; k++)
            on[(i - from) * K + k] =
                wave(rows_of[i], k) + (double)(class_of(rows_of[i]) == k) > 0.3;
        key[i - from] = (uint64_t)(rows_of[i] * 2654435761u) % 1000003u;
    }
    const labels y = {.goal = goal,
                      .k = goal == FERRY_REGRESS ? 1 : K,
                      .cls = goal == FERRY_CLASSIFY ? cls : NULL,
                      .num = goal == FERRY_REGRESS ? num : NULL,
                      .on = goal == FERRY_MULTILABEL ? on : NULL};
    return (examples){x, y, weight ? weight + from : NULL, key, 0};
}

static unsigned bit_of(ferry_goal goal)
{
    return goal == FERRY_REGRESS      ? LEARN_NUMBERS
           : goal == FERRY_MULTILABEL ? LEARN_SETS
                                      : LEARN_CLASSES;
}

static const ferry_goal goals[] = {FERRY_CLASSIFY, FERRY_REGRESS, FERRY_MULTILABEL};

/* ---- scores of a model on twenty rows of its own ---- */

enum { ASKED = 20 };

static block ask(scope *s, const learner *l, const examples *e)
{
    const learned m = learn(s, s, l, NULL, e);
    const matrix x = matrix_dense(s, HERE(ASKED), ASKED, D);

    for (int64_t i = 0; i < ASKED; i++)
        put_row(1000 + i, x.m->dense + i * D);
    return answer(s, &m, x);
}

static void same(block a, block b, double tol, const char *what, const learner *l)
{
    for (int64_t i = 0; i < a.n * a.k; i++)
        if (!(fabs(a.at[i] - b.at[i]) <= tol * (1 + fabs(b.at[i])))) {
            print_error("%s: %s: score %lld is %.17g, not %.17g\n", l->name, what,
                        (long long)i, a.at[i], b.at[i]);
            fail();
        }
}

typedef struct trial {
    const learner *l;
    ferry_goal goal;
} trial;

/* Weights 0, 1 and 2, and the rows as often as that. */
static void weights_repeat(scope *s, void *arg)
{
    const trial *t = arg;
    int64_t rows_of[2 * N], all[N], n = 0;
    double weight[N];

    for (int64_t i = 0; i < N; i++) {
        all[i] = i;
        weight[i] = (double)(i % 3);
        for (int64_t k = 0; k < i % 3; k++)
            rows_of[n++] = i;
    }
    const examples weighted = examples_of(s, t->goal, N, all, weight),
                   repeated = examples_of(s, t->goal, n, rows_of, NULL);
    same(ask(s, t->l, &weighted), ask(s, t->l, &repeated), 1e-8, "weights", t->l);
}

static void order_is_nothing(scope *s, void *arg)
{
    const trial *t = arg;
    int64_t rows_of[N], other[N];

    for (int64_t i = 0; i < N; i++) {
        rows_of[i] = i;
        other[i] = (i * 37 + 11) % N;
    }
    const examples a = examples_of(s, t->goal, N, rows_of, NULL),
                   b = examples_of(s, t->goal, N, other, NULL);
    same(ask(s, t->l, &a), ask(s, t->l, &b), 1e-9, "order of rows", t->l);
}

/* A rows_of that speaks .25 for one class and .75 for another is two weighted rows. */
static void soft_labels(scope *s, void *arg)
{
    const trial *t = arg;
    int64_t rows_of[N], twice[2 * N];
    double weight[2 * N];

    if (t->goal != FERRY_CLASSIFY || !(t->l->takes & (LEARN_SOFT | LEARN_WEIGHTS))) return;
    for (int64_t i = 0; i < N; i++)
        rows_of[i] = twice[2 * i] = twice[2 * i + 1] = i;
    examples soft = examples_of(s, t->goal, N, rows_of, NULL),
             hard = examples_of(s, t->goal, 2 * N, twice, weight);
    soft.y.soft = block_new(s, soft.x.rows, N, K);
    int32_t *cls = NEW(s, int32_t, 2 * N);
    for (int64_t i = 0; i < N; i++) {
        const int32_t c = class_of(i), d = (c + 1) % K;
        ROW(soft.y.soft, i)[c] = weight[2 * i] = 0.75;
        ROW(soft.y.soft, i)[d] = weight[2 * i + 1] = 0.25;
        cls[2 * i] = c;
        cls[2 * i + 1] = d;
    }
    soft.y.cls = NULL;
    hard.y.cls = cls;
    same(ask(s, t->l, &soft), ask(s, t->l, &hard), 1e-8, "soft labels", t->l);
}

static void free_dict(void *d)
{
    ferry_i_dict_free(d);
}

static void files(scope *s, void *arg)
{
    const trial *t = arg;
    int64_t rows_of[N];
    ferry_dict *d = NULL;

    for (int64_t i = 0; i < N; i++)
        rows_of[i] = i;
    const examples e = examples_of(s, t->goal, N, rows_of, NULL);
    const learned m = learn(s, s, t->l, NULL, &e);
    scope_check(s, ferry_i_dict_new(scope_ctx(s), &d));
    scope_defer(s, free_dict, d);
    const state_sizes of = {.width = D, .classes = e.y.k};
    state_save(s, t->l->state, m.state, of, "m", d);
    const learned back = {t->l, state_load(s, s, t->l->state, "m", d, of), m.k},
                  copied = {t->l, state_copy(s, s, t->l->state, m.state, of), m.k};
    assert_true(t->l->serves(back.state, D, e.y.k));
    assert_false(t->l->serves(back.state, D + 1, e.y.k));
    assert_false(t->l->serves(back.state, D, e.y.k + 1));
    const block want = answer(s, &m, e.x);
    same(answer(s, &back, e.x), want, 0, "its file", t->l);
    same(answer(s, &copied, e.x), want, 0, "its copy", t->l);
}

/* Every row of data is learned from: at most 15 of 60 are wrong, or the error is half the spread. */
static void it_learns(scope *s, void *arg)
{
    const trial *t = arg;
    int64_t rows_of[N];
    double wrong = 0, spread = 0, error = 0;

    for (int64_t i = 0; i < N; i++)
        rows_of[i] = i;
    const examples e = examples_of(s, t->goal, N, rows_of, NULL);
    const learned m = learn(s, s, t->l, NULL, &e);
    const block g = answer(s, &m, e.x);
    const int32_t *best = argmax(s, g);
    for (int64_t i = 0; i < N; i++) {
        if (e.y.cls) wrong += best[i] != e.y.cls[i];
        if (e.y.num) {
            spread += (e.y.num[i] - 1) * (e.y.num[i] - 1);
            error += (ROW(g, i)[0] - e.y.num[i]) * (ROW(g, i)[0] - e.y.num[i]);
        }
        for (int64_t k = 0; e.y.on && k < K; k++)
            wrong += (ROW(g, i)[k] > t->l->least) != e.y.on[i * K + k];
    }
    if (wrong > (e.y.on ? 50 : 15) || error > 0.5 * spread) {
        print_error("%s: %g wrong, error %g of %g\n", t->l->name, wrong, error, spread);
        fail();
    }
}

static ferry_status run_files(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, files, arg);
}

static void test_every_learner(void **state)
{
    const learner *l = NULL;

    for (int64_t i = 0; (l = learner_at(i)); i++)
        for (int64_t g = 0; g < FERRY_COUNT(goals); g++) {
            trial t = {l, goals[g]};
            if (!(l->takes & bit_of(goals[g]))) continue;
            assert_ok(*state, scope_run(*state, it_learns, &t));
            if (l->takes & LEARN_WEIGHTS)
                assert_ok(*state, scope_run(*state, weights_repeat, &t));
            assert_ok(*state, scope_run(*state, order_is_nothing, &t));
            assert_ok(*state, scope_run(*state, soft_labels, &t));
            assert_ok(*state, scope_run(*state, files, &t));
            each_allocation_fails(*state, run_files, &t);
        }
}

/* ---- over ranks ---- */

typedef struct spread {
    trial t;
    double score[ASKED * K];
} spread;

static void ask_all(scope *s, void *arg)
{
    spread *p = arg;
    int64_t rows_of[N];
    double weight[N];

    for (int64_t i = 0; i < N; i++) {
        rows_of[i] = i;
        weight[i] = 1 + (double)(i % 2);
    }
    const examples e = examples_of(s, p->t.goal, N, rows_of, weight);
    const block g = ask(s, p->t.l, &e);
    memcpy(p->score, g.at, (size_t)(g.n * g.k) * sizeof(double));
}

static int same_on_ranks(ferry_ctx *ctx, void *arg)
{
    const spread *want = arg;
    spread mine = {.t = want->t};

    if (scope_run(ctx, ask_all, &mine) != FERRY_OK) return 1;
    for (int64_t i = 0; i < ASKED * K; i++)
        if (!(fabs(mine.score[i] - want->score[i]) <= 1e-10 * (1 + fabs(want->score[i]))))
            return 2;
    return 0;
}

static void test_rows_over_ranks(void **state)
{
    const learner *l = NULL;
    int status[RANKS];

    for (int64_t i = 0; (l = learner_at(i)); i++)
        for (int64_t g = 0; g < FERRY_COUNT(goals); g++) {
            spread p = {.t = {l, goals[g]}};
            if (!(l->takes & bit_of(goals[g])) || !(l->takes & LEARN_SPREAD)) continue;
            assert_ok(*state, scope_run(*state, ask_all, &p));
            on_ranks(same_on_ranks, &p, status);
            for (int r = 0; r < RANKS; r++)
                assert_int_equal(status[r], 0);
        }
}

/* ---- self-training ---- */

/* Rows in an order of its own, every tenth with a label; scores of twenty other rows. */
static block self_trained(scope *s, int64_t step)
{
    int64_t rows_of[N];
    int32_t *known = NEW(s, int32_t, N);

    for (int64_t i = 0; i < N; i++)
        rows_of[i] = (i * step) % N;
    const examples e = examples_of(s, FERRY_CLASSIFY, N, rows_of, NULL);
    domain d = {
        .name = "t", .rows = e.x.rows, .n = e.x.n, .x = e.x, .y = e.y, .key = e.key};
    for (int64_t i = 0; i < e.x.n; i++) {
        const bool has = rows_of[e.x.rows.first + i] % 10 < 2;
        known[i] = has ? e.y.cls[i] : -1;
        d.labelled += has;
    }
    d.labelled = (int64_t)sum(s, d.rows, (double)d.labelled);
    d.known = d.y.cls = known;
    const problem p = {.goal = FERRY_CLASSIFY, .classes = K, .cols = D, .n = 1, .d = &d};
    const learned m = self_train(s, s, learner_find("ridge"), NULL,
                                 &(self_training){.rounds = 4, .share = 0.2}, &p);
    const matrix x = matrix_dense(s, HERE(ASKED), ASKED, D);
    for (int64_t i = 0; i < ASKED; i++)
        put_row(1000 + i, x.m->dense + i * D);
    return answer(s, &m, x);
}

typedef struct self_case {
    int64_t step;
    double score[ASKED * K];
} self_case;

static void self_body(scope *s, void *arg)
{
    self_case *c = arg;

    memcpy(c->score, self_trained(s, c->step).at, sizeof c->score);
}

static ferry_status run_self(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, self_body, arg);
}

static int same_self(ferry_ctx *ctx, void *arg)
{
    const self_case *want = arg;
    self_case mine = {.step = want->step};

    if (run_self(ctx, &mine) != FERRY_OK) return 1;
    for (int64_t i = 0; i < ASKED * K; i++)
        if (!(fabs(mine.score[i] - want->score[i]) <= 1e-10)) return 2;
    return 0;
}

/* No order of rows decides who gets a label, nor how many processes there are. */
static void test_self_training(void **state)
{
    self_case one = {.step = 1}, other = {.step = 37};
    int status[RANKS], right = 0;

    assert_ok(*state, run_self(*state, &one));
    assert_ok(*state, run_self(*state, &other));
    for (int64_t i = 0; i < ASKED * K; i++)
        assert_close(one.score[i], other.score[i], 1e-10);
    for (int64_t i = 0; i < ASKED; i++) {
        const double *g = one.score + i * K;
        const int32_t c = class_of(1000 + i);
        right += g[c] > g[(c + 1) % K] && g[c] > g[(c + 2) % K];
    }
    assert_in_range(right, ASKED / 2, ASKED);
    on_ranks(same_self, &one, status);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(status[r], 0);
    each_allocation_fails(*state, run_self, &one);
}

/* ---- ridge by hand ---- */

/* The solution makes the gradient 0: X'V(Y - XW - b) = lambda W and 1'V(Y - XW - b) = 0. */
static void ridge_gradient(scope *s, void *arg)
{
    int64_t rows_of[N];
    double weight[N], lambda = 0.7;
    const learner *l = learner_find("ridge");

    for (int64_t i = 0; i < N; i++) {
        rows_of[i] = i;
        weight[i] = 0.5 + (double)(i % 4);
    }
    const int64_t n = *(int64_t *)arg; /* fewer rows than columns, and more */
    const examples e = examples_of(s, FERRY_REGRESS, n, rows_of, weight);
    const learned m = learn(s, s, l, &lambda, &e);
    const block g = answer(s, &m, e.x), w = *l->linear(m.state);
    double of_b = 0;
    for (int64_t j = 0; j < D; j++) {
        double of_w = lambda * w.at[j];
        for (int64_t i = 0; i < n; i++)
            of_w -= weight[i] * e.x.m->dense[i * D + j] * (e.y.num[i] - g.at[i]);
        assert_close(of_w, 0, 1e-11);
    }
    for (int64_t i = 0; i < n; i++)
        of_b += weight[i] * (e.y.num[i] - g.at[i]);
    assert_close(of_b, 0, 1e-11);
}

static void test_ridge_gradient(void **state)
{
    assert_ok(*state, scope_run(*state, ridge_gradient, &(int64_t){N}));
    assert_ok(*state, scope_run(*state, ridge_gradient, &(int64_t){D - 2}));
}

/* ---- what they share ---- */

static void folds(scope *s, void *arg)
{
    int32_t cls[N], *of[2];
    uint64_t key[N], moved_key[N];
    int32_t moved_cls[N];
    int64_t count[K][5] = {{0}};

    (void)arg;
    for (int64_t i = 0; i < N; i++) {
        cls[i] = i % 10 == 9 ? -1 : class_of(i);
        key[i] = (uint64_t)(i * i * 7919 % 1009);
        const int64_t at = (i * 41 + 5) % N;
        moved_cls[at] = cls[i];
        moved_key[at] = key[i];
    }
    of[0] = stratified_folds(s, HERE(N), N, cls, key, 5);
    of[1] = stratified_folds(s, HERE(N), N, moved_cls, moved_key, 5);
    for (int64_t i = 0; i < N; i++) {
        if (cls[i] < 0) {
            assert_int_equal(of[0][i], -1);
            continue;
        }
        count[cls[i]][of[0][i]]++;
        /* rows of one class and key are alike: which of them is in a fold plays no part */
    }
    for (int64_t k = 0; k < K; k++)
        for (int64_t f = 1; f < 5; f++)
            assert_in_range(count[k][f] + 1 - count[k][0], 0, 2);
    int64_t same_folds = 0, rows = 0;
    for (int64_t i = 0; i < N; i++) {
        bool unique = cls[i] >= 0;
        for (int64_t k = 0; k < N; k++)
            unique = unique && (k == i || key[k] != key[i] || cls[k] != cls[i]);
        if (!unique) continue;
        rows++;
        same_folds += of[0][i] == of[1][(i * 41 + 5) % N];
    }
    assert_true(rows > 40);
    assert_int_equal(same_folds, rows);
    for (int64_t i = 0; i < N; i++) /* classes by other numbers */
        moved_cls[i] = cls[i] < 0 ? -1 : (cls[i] + 2) % K;
    assert_memory_equal(stratified_folds(s, HERE(N), N, moved_cls, key, 5), of[0],
                        N * sizeof *cls);
}

static void test_folds(void **state)
{
    assert_ok(*state, scope_run(*state, folds, NULL));
}

static void kappas(scope *s, void *arg)
{
    const int32_t a[] = {0, 0, 1, 1, 0, 1, 0, 0, 1, 1},
                  b[] = {0, 0, 1, 0, 0, 1, 1, 0, 1, 1}, c[10] = {0};

    (void)arg;
    assert_close(cohen_kappa(s, HERE(10), 10, a, b, 2), 0.6, 1e-14); /* (.8 - .5) / .5 */
    assert_close(cohen_kappa(s, HERE(10), 10, a, a, 2), 1, 1e-14);
    assert_close(cohen_kappa(s, HERE(10), 10, a, c, 2), 0, 1e-14); /* nothing to agree on */
    const int32_t cls[] = {1, 0, 1, -1, 1, 0};
    const double value[] = {0.5, 9, 0.7, 99, 0.7, 3};
    const uint64_t key[] = {1, 2, 8, 4, 5, 6};
    const int64_t quota[] = {1, 2};
    const uint8_t want[] = {0, 1, 1, 0, 1, 0};
    assert_memory_equal(top_rows(s, HERE(6), 6, cls, value, key, 2, quota), want, 6);
    const uint8_t fewer[] = {0, 0, 0, 0, 1, 0}; /* of equals the smaller key */
    assert_memory_equal(top_rows(s, HERE(6), 6, cls, value, key, 2, (int64_t[]){0, 1}),
                        fewer, 6);
}

static void test_kappa_and_top_rows(void **state)
{
    assert_ok(*state, scope_run(*state, kappas, NULL));
}

/* Cross-validation takes the lambda that predicts best: noise in many columns wants a large one. */
static void chooses(scope *s, void *arg)
{
    int64_t rows_of[N];
    const double values[] = {1, 1e-9, 1e6};
    const learner *l = learner_find("ridge");

    (void)arg;
    for (int64_t i = 0; i < N; i++)
        rows_of[i] = i;
    examples e = examples_of(s, FERRY_CLASSIFY, N, rows_of, NULL);
    const double zero = 0;
    const double best = choose(s, l, &zero, 0, 3, values, &e);
    assert_true(best == 1 || best == 1e-9); /* 1e6 leaves nothing but the shares */
    e.sources = N - 6;                      /* too few of the target to judge by */
    assert_true(choose(s, l, &zero, 0, 3, values, &e) == 1);
    const block out = cross_predict(s, l, &values[0], &e, 3);
    assert_true(isnan(out.at[0]) && isfinite(ROW(out, N - 1)[0]));
}

static void test_choose(void **state)
{
    assert_ok(*state, scope_run(*state, chooses, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_learner, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_rows_over_ranks, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_self_training, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_ridge_gradient, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_folds, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_kappa_and_top_rows, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_choose, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("learner", tests, NULL, NULL);
}
