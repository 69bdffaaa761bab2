/* Ranks as processes of a test, with a socket between any two (on_ranks.h). */
#include "on_ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/ranks.h"
#include "ferry_test.h"

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

void on_ranks(int (*body)(ferry_ctx *ctx, void *arg), void *arg, int *status)
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
        if (ferry_ctx_new(&ctx) != FERRY_OK ||
            ferry_i_ctx_set_engine(ctx, "mpi") != FERRY_OK)
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
