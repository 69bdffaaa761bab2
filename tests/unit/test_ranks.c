/* Pools over ranks and what travels between them. Ranks are threads here, each with a context of its own, and
 * messages go through queues: who runs what can then be made sure of. tests/cli/test_ranks.py has real ones. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pool.h"
#include "core/ranks.h"
#include "ferry/ranks.h"
#include "ferry_test.h"

/* ---- a transport between threads ---- */

enum { RANKS = 3, JOBS = 12 };

typedef struct message {
    int from, tag;
    int64_t n;
    uint8_t *data;
    struct message *next;
} message;

static struct {
    pthread_mutex_t mutex;
    message *first[RANKS];
} post = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local int me;
static _Thread_local message *taken;

static int post_send(int to, int tag, const void *data, int64_t n)
{
    message *m = calloc(1, sizeof *m), **at = &post.first[to];

    *m = (message){me, tag, n, malloc((size_t)n + 1), NULL};
    if (n > 0) memcpy(m->data, data, (size_t)n);
    (void)pthread_mutex_lock(&post.mutex);
    while (*at)
        at = &(*at)->next;
    *at = m;
    (void)pthread_mutex_unlock(&post.mutex);
    return 0;
}

static int post_poll(int *from, int *tag, int64_t *n)
{
    (void)pthread_mutex_lock(&post.mutex);
    taken = post.first[me];
    if (taken) post.first[me] = taken->next;
    (void)pthread_mutex_unlock(&post.mutex);
    if (!taken) return 0;
    *from = taken->from;
    *tag = taken->tag;
    *n = taken->n;
    return 1;
}

static int post_take(void *to)
{
    if (taken->n > 0) memcpy(to, taken->data, (size_t)taken->n);
    free(taken->data);
    free(taken);
    return 0;
}

static const ferry_transport post_office = {
    .version = FERRY_VERSION, .send = post_send, .poll = post_poll, .take = post_take};

static void empty_post(void)
{
    for (int i = 0; i < RANKS; i++)
        while (post.first[i]) {
            message *m = post.first[i];
            post.first[i] = m->next;
            free(m->data);
            free(m);
        }
}

/* ---- a pool on every rank ---- */

typedef struct plan {
    int64_t fails;        /* a job that fails, or -1 */
    bool together;        /* the first jobs wait until every rank has one */
    ferry_answer cancels; /* what rank 0's callback says after the first jobs */
    int64_t n[RANKS];     /* jobs that a rank believes in; 0: JOBS */
} plan;

static plan how;
static atomic_int ranks_busy, jobs_run;

typedef struct desk {
    int rank;
    int ran_here;
    double value[JOBS];
    char *text[JOBS];
    int64_t joined[JOBS], n_joined;
    ferry_status st;
    bool finish;
    char message[256];
    struct ferry_ranks r;
} desk;

static ferry_status run_job(ferry_ctx *ctx, void *arg, int64_t i)
{
    desk *d = arg;

    if (how.together &&
        d->ran_here++ == 0) { /* one worker a rank: nobody gets a second job before */
        atomic_fetch_add(&ranks_busy, 1);
        while (atomic_load(&ranks_busy) < RANKS)
            ferry_i_ranks_rest();
    }
    atomic_fetch_add(&jobs_run, 1);
    if (i == how.fails) return ferry_i_fail(ctx, FERRY_ENUMERIC, "job %d broke", (int)i);
    while (how.cancels != FERRY_GO) {
        const ferry_status st = ferry_i_progress(ctx, "job", 0, 0, 0, NULL);
        if (st != FERRY_OK) return st;
        ferry_i_ranks_rest();
    }
    ferry_i_log(ctx, FERRY_WARN, "line of job %d", (int)i);
    d->value[i] = 1.0 / (double)(i + 3);
    d->text[i] = i % 2 ? ferry_i_sprintf("job %d", (int)i) : NULL;
    return FERRY_OK;
}

static ferry_status carry_job(ferry_ctx *ctx, void *arg, int64_t i, ferry_buffer *p)
{
    desk *d = arg;

    (void)ctx;
    FERRY_PACK(p, d->value[i]);
    ferry_i_buffer_text(p, &d->text[i]);
    return FERRY_OK;
}

static ferry_status join_job(ferry_ctx *ctx, void *arg, int64_t i)
{
    desk *d = arg;

    (void)ctx;
    d->joined[d->n_joined++] = i;
    return FERRY_OK;
}

static atomic_int lines_said, lines_of_others;

static void count_line(void *user, ferry_level level, const char *line)
{
    (void)user;
    (void)level;
    if (me != 0) return;
    atomic_fetch_add(&lines_said, 1);
    if (strncmp(line, "rank ", 5) == 0) atomic_fetch_add(&lines_of_others, 1);
}

static ferry_answer say_stop(void *user, const ferry_progress *p)
{
    (void)user;
    (void)p;
    return me == 0 && atomic_load(&jobs_run) > 0 ? how.cancels : FERRY_GO;
}

static void *run_rank(void *arg)
{
    static char names[RANKS][2] = {"a", "b", "c"};
    char *hosts[RANKS] = {names[0], names[1], names[2]};
    desk *d = arg;
    ferry_ctx *ctx = NULL;

    me = d->rank;
    d->r = (struct ferry_ranks){
        .t = &post_office, .rank = d->rank, .size = RANKS, .host = hosts, .calls = 1};
    (void)ferry_ctx_new(&ctx);
    ctx->ranks = &d->r;
    ctx->jobs = 1;
    ctx->threads = 1;
    ferry_ctx_set_log(ctx, count_line, FERRY_WARN, NULL);
    ferry_ctx_set_progress(ctx, say_stop, NULL);
    const ferry_jobs jobs = {.n = how.n[d->rank] ? how.n[d->rank] : JOBS,
                             .run = run_job,
                             .join = join_job,
                             .pack = carry_job,
                             .arg = d};
    d->st = ferry_i_pool_run(ctx, &jobs, &d->finish);
    (void)snprintf(d->message, sizeof d->message, "%s", ferry_message(ctx));
    if (d->rank == 0) ferry_i_ranks_end(ctx);
    ctx->ranks = NULL;
    ferry_ctx_free(ctx);
    return NULL;
}

static desk *run_all(plan p)
{
    static desk all[RANKS];
    pthread_t thread[RANKS];

    how = p;
    memset(all, 0, sizeof all);
    atomic_store(&ranks_busy, 0);
    atomic_store(&jobs_run, 0);
    atomic_store(&lines_said, 0);
    atomic_store(&lines_of_others, 0);
    for (int i = 0; i < RANKS; i++) {
        all[i].rank = i;
        assert_int_equal(pthread_create(&thread[i], NULL, run_rank, &all[i]), 0);
    }
    for (int i = 0; i < RANKS; i++)
        (void)pthread_join(thread[i], NULL);
    empty_post();
    return all;
}

static void free_all(desk *all)
{
    for (int i = 0; i < RANKS; i++)
        for (int j = 0; j < JOBS; j++)
            ferry_i_free(all[i].text[j]);
}

/* Every rank runs some, each job runs once, and all hold everything in the end. */
static void test_dealt(void **state)
{
    desk *all = run_all((plan){.fails = -1, .together = true});

    (void)state;
    assert_int_equal(atomic_load(&jobs_run), JOBS);
    assert_int_equal(atomic_load(&lines_said), JOBS);
    assert_true(atomic_load(&lines_of_others) >= RANKS - 1);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(all[i].st, FERRY_OK);
        assert_true(all[i].ran_here >= 1);
        assert_int_equal(all[i].n_joined, JOBS);
        for (int j = 0; j < JOBS; j++) {
            assert_int_equal(all[i].joined[j], j);
            assert_true(all[i].value[j] == 1.0 / (double)(j + 3));
            assert_int_equal(all[i].text[j] != NULL, j % 2);
        }
    }
    free_all(all);
}

/* A failure ends it everywhere with the same sentence; what comes before it is joined. */
static void test_failure(void **state)
{
    desk *all = run_all((plan){.fails = 5});

    (void)state;
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(all[i].st, FERRY_ENUMERIC);
        assert_string_equal(all[i].message, "job 5 broke");
        assert_int_equal(all[i].n_joined, 5);
    }
    free_all(all);
}

/* What rank 0's callback says reaches the jobs of all. */
static void test_cancel(void **state)
{
    desk *all = run_all((plan){.fails = -1, .cancels = FERRY_CANCEL});

    (void)state;
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(all[i].st, FERRY_ECANCELLED);
        assert_int_equal(all[i].n_joined, 0);
    }
    free_all(all);
}

/* A rank that has other work is told of, and nobody hangs. */
static void test_other_work(void **state)
{
    desk *all = run_all((plan){.fails = -1, .n = {0, JOBS - 1, 0}});

    (void)state;
    if (all[0].st == FERRY_OK) { /* all was done before it asked */
        assert_int_equal(all[0].n_joined, JOBS);
    } else {
        assert_int_equal(all[0].st, FERRY_EDATA);
        assert_non_null(
            strstr(all[0].message, "rank 1 (b) has 11 pieces of work where rank 0 has 12"));
    }
    free_all(all);
}

/* ---- buffers ---- */

static void test_buffer(void **state)
{
    ferry_buffer p = {.writing = true};
    double x[] = {1, NAN, -0.0}, *xs = x, *back = NULL;
    char *text = (char[]){"words"}, *none = NULL, *words = NULL, *nothing = text;
    int64_t n = 3, m = 0, seven = 7, eight = 8;

    (void)state;
    FERRY_PACK(&p, seven);
    ferry_i_buffer_array(&p, (void **)&xs, &n, sizeof *xs);
    ferry_i_buffer_text(&p, &text);
    ferry_i_buffer_text(&p, &none);
    assert_false(p.failed);
    p.writing = false;
    FERRY_PACK(&p, eight);
    ferry_i_buffer_array(&p, (void **)&back, &m, sizeof *back);
    ferry_i_buffer_text(&p, &words);
    ferry_i_buffer_text(&p, &nothing);
    assert_int_equal(eight, 7);
    assert_int_equal(m, 3);
    assert_memory_equal(back, x, sizeof x);
    assert_string_equal(words, "words");
    assert_null(nothing);
    assert_false(p.failed);
    assert_int_equal(p.pos, p.n);
    FERRY_PACK(&p, eight); /* past the end */
    assert_true(p.failed);
    FERRY_FREE(back, words);
    /* lengths that are not there */
    p.pos = 0;
    p.failed = false;
    back = NULL;
    ferry_i_buffer_known(&p, (void **)&back, 3, sizeof *back);
    assert_true(p.failed);
    assert_null(back);
    ferry_i_buffer_free(&p);
}

/* ---- by itself ---- */

static void test_alone(void **state)
{
    ferry_ctx *ctx = *state;

    assert_fails(ctx, ferry_ranks_serve(ctx), FERRY_EINVAL, "nobody to serve");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dealt),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_other_work),
        cmocka_unit_test(test_buffer),
        cmocka_unit_test_setup_teardown(test_alone, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
