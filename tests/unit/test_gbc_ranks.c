/* gbc on rows that are spread over ranks: what crosses from rank to rank, and a rank whose memory ends. Ranks are processes here,
 * with a socket between any two; tests/cli/test_rows_gbc.py has real ones and compares models. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/ranks.h"
#include "ferry_test.h"
#include "learn/crossing.h"
#include "learn/trees.h"
#include "methods/method.h"
#include "small_task.h"

enum { RANKS = 3, N = 31 };

/* ---- a transport between processes ---- */

typedef struct message {
    int tag, from;
    int64_t n;
    char *data;
    struct message *next;
} message;

static int wire[RANKS][RANKS], me;
static message *queue, *taken;

static bool move_all(int fd, void *data, int64_t n, bool out)
{
    for (int64_t at = 0; at < n;) {
        const ssize_t some =
            out ? send(fd, (char *)data + at, (size_t)(n - at), MSG_NOSIGNAL)
                : read(fd, (char *)data + at, (size_t)(n - at));
        if (some <= 0) return false;
        at += some;
    }
    return true;
}

static int wire_send(int to, int tag, const void *data, int64_t n)
{
    int64_t head[] = {tag, n};

    return !(move_all(wire[me][to], head, sizeof head, true) &&
             move_all(wire[me][to], (void *)(uintptr_t)data, n, true));
}

/* What has come goes to the end of the queue. */
static void fetch(int from)
{
    int64_t head[2];
    message **at = &queue;

    if (recv(wire[me][from], head, sizeof head, MSG_PEEK | MSG_DONTWAIT) != sizeof head)
        return;
    message *m = calloc(1, sizeof *m);
    if (!m || !move_all(wire[me][from], head, sizeof head, false)) exit(99);
    *m = (message){(int)head[0], from, head[1], malloc((size_t)head[1] + 1), NULL};
    if (!m->data || !move_all(wire[me][from], m->data, m->n, false)) exit(99);
    while (*at)
        at = &(*at)->next;
    *at = m;
}

static int wire_poll(int *from, int *tag, int64_t *n)
{
    for (int i = 0; i < RANKS; i++)
        if (i != me) fetch(i);
    for (message **at = &queue; *at; at = &(*at)->next) {
        if ((*from >= 0 && (*at)->from != *from) || (*tag >= 0 && (*at)->tag != *tag))
            continue;
        taken = *at;
        *at = taken->next;
        *from = taken->from;
        *tag = taken->tag;
        *n = taken->n;
        return 1;
    }
    return 0;
}

static int wire_take(void *to)
{
    if (taken->n > 0) memcpy(to, taken->data, (size_t)taken->n);
    free(taken->data);
    free(taken);
    return 0;
}

static const ferry_transport wires = {
    .version = FERRY_VERSION, .send = wire_send, .poll = wire_poll, .take = wire_take};

/* body(ctx, arg) on every rank; status[r] <- what it says there. */
static void on_ranks(int (*body)(ferry_ctx *ctx, void *arg), void *arg, int *status)
{
    static char names[RANKS][2] = {"a", "b", "c"};
    char *hosts[RANKS] = {names[0], names[1], names[2]};
    pid_t pid[RANKS];

    for (int i = 0; i < RANKS; i++)
        for (int j = i + 1; j < RANKS; j++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            wire[i][j] = pair[0];
            wire[j][i] = pair[1];
        }
    for (me = 0; me < RANKS; me++) {
        pid[me] = fork();
        assert_true(pid[me] >= 0);
        if (pid[me] > 0) continue;
        (void)alarm(300); /* ranks that wait for each other end, too */
        struct ferry_ranks r = {
            .t = &wires, .rank = me, .size = RANKS, .host = hosts, .calls = 1};
        ferry_ctx *ctx = NULL;
        if (ferry_ctx_new(&ctx) != FERRY_OK || ferry_ctx_set_engine(ctx, "mpi") != FERRY_OK)
            _exit(98);
        ctx->ranks = &r;
        ctx->threads = ctx->jobs = 1;
        ferry_i_ranks_spread(ctx);
        const int said = body(ctx, arg);
        if (said > 0 && said < 90)
            (void)fprintf(stderr, "rank %d: %s\n", me, ferry_message(ctx));
        ctx->ranks = NULL; /* not the context's to free */
        ferry_ctx_free(ctx);
        _exit(said);
    }
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(waitpid(pid[i], &status[i], 0), pid[i]);
        assert_true(WIFEXITED(status[i]));
        status[i] = WEXITSTATUS(status[i]);
    }
    for (int i = 0; i < RANKS; i++)
        for (int j = 0; j < RANKS; j++)
            if (i != j) (void)close(wire[i][j]);
}

/* ---- what crosses ---- */

/* A ring, and an edge across it from every fifth. */
static ferry_matrix *ring(ferry_ctx *ctx)
{
    ferry_matrix *a = NULL;

    assert_ok(ctx, ferry_i_matrix_csr(ctx, N, N, 3 * N, &a));
    a->nnz = 0;
    for (int32_t i = 0; i < N; i++) {
        bool to[N] = {false};
        to[(i + 1) % N] = to[(i + N - 1) % N] = true;
        if (i % 5 == 0) to[(i + N / 2) % N] = true;
        for (int32_t j = 0; j < N; j++)
            if (to[j]) {
                a->index[a->nnz] = j;
                a->value[a->nnz++] = 1;
            }
        a->start[i + 1] = a->nnz;
    }
    return a;
}

/* What instance i has in column j; every fourth cell of CSR is not there. */
static double cell(int64_t i, int64_t j)
{
    return (double)(10 * i + j + 1);
}

static ferry_matrix *own_rows(ferry_ctx *ctx, bool csr, int64_t begin, int64_t end)
{
    ferry_matrix *x = NULL;

    if (csr)
        assert_ok(ctx, ferry_i_matrix_csr(ctx, end - begin, 4, 4 * (end - begin), &x));
    else
        assert_ok(ctx, ferry_i_matrix_dense(ctx, end - begin, 4, &x));
    x->nnz = 0;
    for (int64_t i = begin; i < end; i++) {
        for (int32_t j = 0; j < 4; j++) {
            if (csr && (i + j) % 4 == 0) continue;
            if (csr) x->index[x->nnz] = j;
            (csr ? x->value : x->dense)[x->nnz++] = cell(i, j);
        }
        if (csr) x->start[i - begin + 1] = x->nnz;
    }
    return x;
}

/* Every neighbour of an own instance is there, value by value and row by row. */
static int check_crossing(ferry_ctx *ctx, void *arg)
{
    int64_t begin = 0, end = 0, row_of[N];
    double v[N * 2];
    ferry_matrix *a = ring(ctx);
    ferry_crossing *c = NULL;

    (void)arg;
    ferry_i_ranks_part(ctx, N, &begin, &end);
    if (ferry_i_crossing_new(ctx, N, 1, &a, &c) != FERRY_OK || !c) return 1;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < 2; j++)
            v[2 * i + j] = i >= begin && i < end ? cell(i, j) : 0;
    if (ferry_i_cross(ctx, c, 2, v) != FERRY_OK) return 2;
    for (int64_t e = a->start[begin]; e < a->start[end]; e++)
        for (int64_t j = 0; j < 2; j++)
            if (v[2 * a->index[e] + j] != cell(a->index[e], j)) return 3;
    for (int csr = 0; csr < 2; csr++) {
        ferry_matrix *x = own_rows(ctx, csr, begin, end), *all = NULL;
        if (ferry_i_cross_rows(ctx, c, x, &all, row_of) != FERRY_OK) return 4;
        for (int64_t e = a->start[begin]; e < a->start[end]; e++) {
            const int64_t i = a->index[e];
            const ferry_tree_data d = {all, false, all->rows, NULL};
            for (int64_t j = 0; j < 4; j++) {
                const double have =
                    row_of[i] < 0 ? -1 : ferry_i_tree_cell(&d, row_of[i], j);
                const bool gone = csr && (i + j) % 4 == 0;
                if (gone ? have == have : have != cell(i, j)) return 5;
            }
        }
        ferry_i_matrix_free(x);
        ferry_i_matrix_free(all);
    }
    ferry_i_crossing_free(c);
    ferry_i_matrix_free(a);
    return ferry_i_ranks_agree(ctx, FERRY_OK) == FERRY_OK ? 0 : 6;
}

static void test_crossing(void **state)
{
    int status[RANKS];

    (void)state;
    on_ranks(check_crossing, NULL, status);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(status[i], 0);
}

/* ---- a rank whose memory ends ---- */

/* People in two tables, one of which lacks some, and who knows whom. */
static ferry_task *people(ferry_ctx *ctx)
{
    static char name[N][8];
    const char *id[N], *some[N], *label[N], *from[N], *to[N];
    double x[3 * N], w[2 * N];
    ferry_domain *d = NULL;
    int64_t n = 0;

    for (int i = 0; i < N; i++) {
        (void)snprintf(name[i], sizeof name[i], "p%d", i);
        id[i] = name[i];
        label[i] = i % 2 ? "odd" : "even";
        from[i] = name[i];
        to[i] = name[(i + 2) % N];
        for (int j = 0; j < 3; j++)
            x[3 * i + j] = (i * 7 + j * 5) % 11 + 3 * (i % 2);
        if (i % 6 == 1) continue;
        w[2 * n] = i % 3 - 2 * (i % 2);
        w[2 * n + 1] = i % 5;
        some[n++] = name[i];
    }
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &d));
    small_view(ctx, d, "x", N, 3, x, id, NULL, false);
    small_view(ctx, d, "w", n, 2, w, some, NULL, false);
    assert_ok(ctx, ferry_domain_add_graph(ctx, d, "g", N, from, to, NULL));
    assert_ok(ctx, ferry_domain_set_classes(ctx, d, 2 * N / 3, id, label));
    return small_task(ctx, FERRY_CLASSIFY, NULL, d);
}

typedef struct plan {
    const char *settings;
    int64_t fails; /* allocation of rank 1; 0: none */
} plan;

enum { FITTED = 90, NO_MEMORY, NOT_REACHED };

static int fit_once(ferry_ctx *ctx, void *arg)
{
    const plan *p = arg;
    ferry_task *t = people(ctx);
    ferry_opts *o = settings_of(ctx, p->settings);
    ferry_model *m = NULL;

    fail_allocation(me == 1 ? p->fails : 0);
    const ferry_status st = ferry_i_fit(ctx, t, ferry_i_method_find("gbc"), o, &m, NULL);
    const bool model = m;
    fail_allocation(0);
    ferry_model_free(m);
    ferry_opts_free(o);
    ferry_task_free(t);
    if (st == FERRY_OK) return me == 1 && p->fails > 0 ? NOT_REACHED : FITTED;
    if (model || st != FERRY_ENOMEM) return 1;
    return strstr(ferry_message(ctx), "rank 1 (b): ") || me == 1 ? NO_MEMORY : 2;
}

/* Whichever allocation it is, all ranks end with it, and rank 0 says whose it was. More and more of them are left out, for
 * there are thousands. */
static void test_memory(void **state)
{
    static const char *const settings[] = {"folds=2 trees=3",
                                           "folds=2 trees=3 learner=histogram lambda1=0.5"};

    (void)state;
    for (int64_t s = 0; s < FERRY_COUNT(settings); s++)
        for (int64_t n = 1;; n += 1 + n / 2) {
            const plan p = {settings[s], n};
            int status[RANKS];
            on_ranks(fit_once, (void *)(uintptr_t)&p, status);
            if (status[1] == NOT_REACHED) {
                assert_int_equal(status[0], FITTED);
                assert_true(n > 500);
                break;
            }
            for (int i = 0; i < RANKS; i++)
                if (status[i] != NO_MEMORY)
                    fail_msg("allocation %d: rank %d ends with %d", (int)n, i, status[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("gbc_ranks", tests, NULL, NULL);
}
