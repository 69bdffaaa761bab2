/* Mutants by the million: seeds changed at random, given to the fuzz targets in this process, several
 * processes side by side. Built with gcc's address and undefined-behaviour sanitizers (preset asan);
 * libFuzzer (tests/fuzz/run) looks for new paths, this one counts.
 *
 *   ferry_mutate SEEDS-FOLDER OUT-FOLDER COUNT JOBS [TARGET...]     COUNT mutants of each target
 *   ferry_mutate SEEDS-FOLDER OUT-FOLDER =I 1 TARGET                mutant I of a target alone
 *
 * Mutant i of a target depends on i and the seeds alone. A worker that dies, or hangs for 20 s, leaves its
 * mutant in OUT-FOLDER/TARGET-I and what it said in OUT-FOLDER/TARGET-I.log, and another one goes on behind
 * it. Exit code 1 when there was a finding. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/core.h"

enum { MOST_SEEDS = 512, MOST_JOBS = 256, MOST_BYTES = 1 << 16, HANG = 20 };

#define TARGETS(X)                                                                         \
    X(csv)                                                                                 \
    X(svmlight)                                                                            \
    X(mtx)                                                                                 \
    X(npy)                                                                                 \
    X(npz)                                                                                 \
    X(fdata)                                                                               \
    X(mat)                                                                                 \
    X(mat73)                                                                               \
    X(arff)                                                                                \
    X(linqs) X(ratings) X(edges) X(text) X(input) X(task) X(model) X(wal) X(lines) X(http) \
        X(request) X(results)
#define DECLARE(name) int fuzz_##name(const uint8_t *bytes, size_t n);
TARGETS(DECLARE)
typedef struct target {
    const char *name;
    int (*run)(const uint8_t *bytes, size_t n);
} target;
#define ENTRY(name) {#name, fuzz_##name},
static const target targets[] = {TARGETS(ENTRY)};

typedef struct seed {
    uint8_t *bytes;
    size_t n;
} seed;

/* What a worker is at: shared with the parent, which reads it when the worker is gone. */
typedef struct slot {
    _Atomic int64_t at; /* mutant; -1: none */
    _Atomic int64_t since;
} slot;

static seed seeds[MOST_SEEDS];
static int n_seeds;
static uint8_t mutant[MOST_BYTES];

/* libasan finds these by name, so they must be seen from outside */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024:detect_leaks=0:"
           "abort_on_error=1:handle_abort=1";
}
__attribute__((visibility("default"))) const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1:halt_on_error=1:abort_on_error=1";
}

/* ---- mutants ---- */

static uint64_t next(uint64_t *s)
{
    uint64_t z = (*s += 0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static size_t below(uint64_t *s, size_t n)
{
    return n ? (size_t)(next(s) % n) : 0;
}

/* Remove `gone` bytes at `at` and put `more` in their place. */
static size_t patch(size_t n, size_t at, size_t gone, const uint8_t *more, size_t add)
{
    static uint8_t copy[MOST_BYTES];

    if (add > MOST_BYTES / 2) add = MOST_BYTES / 2;
    memcpy(copy, more, add);
    if (n - gone + add > MOST_BYTES) return n;
    memmove(mutant + at + add, mutant + at + gone, n - at - gone);
    memcpy(mutant + at, copy, add);
    return n - gone + add;
}

static size_t one_change(uint64_t *s, size_t n)
{
    static const int64_t odd[] = {0,         1,         -1,        2,          127,
                                  128,       255,       256,       32767,      65535,
                                  65536,     INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX,
                                  INT64_MIN, 1LL << 40, 1000000007};
    static const char *const words[] = {"0",
                                        "-1",
                                        "1e308",
                                        "1e999",
                                        "nan",
                                        "inf",
                                        ",",
                                        "\n",
                                        "\"",
                                        "\t",
                                        ":",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        " ",
                                        "\xff",
                                        "\xc2",
                                        "99999999999999999999",
                                        "NULL",
                                        "\r\n",
                                        "%",
                                        "@",
                                        "#"};
    const size_t at = below(s, n ? n : 1),
                 run = 1 + below(s, n - at < 32 ? n - at + 1 : 32);
    const size_t len = run > n - at ? n - at : run;

    if (n == 0) return patch(0, 0, 0, (const uint8_t *)"x", 1);
    switch (below(s, 10)) {
    case 0: mutant[at] ^= (uint8_t)(1 << below(s, 8)); return n;
    case 1: mutant[at] = (uint8_t)next(s); return n;
    case 2: { /* a number, in either order */
        const size_t width = (size_t)1 << below(s, 4);
        int64_t x = odd[below(s, sizeof odd / sizeof *odd)];
        if (next(s) & 1) x = __builtin_bswap64((uint64_t)x) >> (64 - 8 * width);
        if (at + width <= n) memcpy(mutant + at, &x, width);
        return n;
    }
    case 3: return patch(n, at, len, mutant, 0);
    case 4: return patch(n, at, 0, mutant + at, len); /* twice */
    case 5: {                                         /* a piece of another seed */
        const seed *o = &seeds[below(s, (size_t)n_seeds)];
        const size_t from = below(s, o->n), add = below(s, o->n - from + 1);
        return patch(n, at, below(s, len + 1), o->bytes + from, add < 64 ? add : 64);
    }
    case 6: return next(s) % 4 ? n : at; /* cut */
    case 7: {
        const char *w = words[below(s, sizeof words / sizeof *words)];
        return patch(n, at, below(s, 2) * len, (const uint8_t *)w, strlen(w));
    }
    case 8: { /* swap two pieces */
        const size_t to = below(s, n - len + 1);
        for (size_t i = 0; i < len; i++) {
            const uint8_t keep = mutant[at + i];
            mutant[at + i] = mutant[to + i];
            mutant[to + i] = keep;
        }
        return n;
    }
    default: mutant[at] = (uint8_t)(mutant[at] + (next(s) & 1 ? 1 : -1)); return n;
    }
}

static size_t make(int64_t i)
{
    uint64_t s = (uint64_t)i * 0x9e3779b97f4a7c15 + 1;
    const seed *from = &seeds[below(&s, (size_t)n_seeds)];
    size_t n = from->n;

    memcpy(mutant, from->bytes, n);
    for (size_t k = (size_t)1 << below(&s, 5); k > 0; k--)
        n = one_change(&s, n);
    return n;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_seeds(const char *folder, const char *name)
{
    char path[4096];
    struct dirent **list = NULL;

    n_seeds = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    const int n = scandir(path, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "%s/%s/%s", folder, name, list[i]->d_name);
        FILE *f =
            list[i]->d_name[0] == '.' || n_seeds == MOST_SEEDS ? NULL : fopen(path, "rb");
        if (f) {
            seed *s = &seeds[n_seeds++];
            s->bytes = malloc(MOST_BYTES / 2);
            s->n = s->bytes ? fread(s->bytes, 1, MOST_BYTES / 2, f) : 0;
            (void)fclose(f);
        }
        free(list[i]);
    }
    free(list);
    if (n_seeds == 0) {
        fprintf(stderr, "no seeds in %s/%s\n", folder, name);
        exit(2);
    }
}

/* ---- workers ---- */

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec;
}

/* Mutants first, first + step ... below count. */
static void work(const target *t, int64_t first, int64_t step, int64_t count, slot *at,
                 const char *log)
{
    const int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd >= 0) (void)dup2(fd, 2);
    for (int64_t i = first; i < count; i += step) {
        atomic_store(&at->since, now());
        atomic_store(&at->at, i);
        uint8_t *copy = NULL;
        const size_t n = make(i);
        /* of just this size, so that reading past the end is seen */
        if (!(copy = malloc(n ? n : 1))) _exit(3);
        memcpy(copy, mutant, n);
        (void)t->run(copy, n);
        free(copy);
        if (step == count) break;
    }
    atomic_store(&at->at, -1);
    exit(0); /* with what targets clean up */
}

static void keep(const char *out, const char *name, int64_t i, const char *log)
{
    char path[4096], to[4104];

    (void)snprintf(path, sizeof path, "%s/%s-%lld", out, name, (long long)i);
    FILE *f = fopen(path, "wb");
    if (f) {
        const size_t n = make(i);
        (void)fwrite(mutant, 1, n, f);
        (void)fclose(f);
    }
    (void)snprintf(to, sizeof to, "%s.log", path);
    (void)rename(log, to);
}

/* All mutants of a target; returns how many findings. */
static int run_target(const target *t, const char *folder, const char *out, int64_t count,
                      int jobs, int64_t only)
{
    slot *at = mmap(NULL, sizeof(slot) * MOST_JOBS, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid[MOST_JOBS] = {0};
    int64_t first[MOST_JOBS], begin = now();
    char log[MOST_JOBS][512];
    int found = 0, running = 0;

    load_seeds(folder, t->name);
    for (int j = 0; j < jobs; j++) {
        first[j] = only >= 0 ? only : j;
        (void)snprintf(log[j], sizeof log[j], "%s/.%s-%d.log", out, t->name, j);
    }
    do {
        running = 0;
        for (int j = 0; j < jobs; j++) {
            int status = 0;
            if (pid[j] == 0 && first[j] < count) {
                atomic_store(&at[j].at, first[j]);
                atomic_store(&at[j].since, now());
                pid[j] = fork();
                if (pid[j] == 0)
                    work(t, first[j], only >= 0 ? count : jobs, count, &at[j], log[j]);
            }
            if (pid[j] == 0) continue;
            running++;
            const bool late =
                now() - atomic_load(&at[j].since) > HANG && atomic_load(&at[j].at) >= 0;
            if (late) (void)kill(pid[j], SIGKILL);
            if (waitpid(pid[j], &status, late ? 0 : WNOHANG) != pid[j]) continue;
            const int64_t i = atomic_load(&at[j].at);
            pid[j] = 0;
            first[j] = i < 0 || only >= 0 ? count : i + jobs;
            if (i < 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                (void)unlink(log[j]);
                continue;
            }
            found++;
            keep(out, t->name, i, log[j]);
            printf("%s: mutant %lld %s\n", t->name, (long long)i,
                   late ? "hangs" : "is a finding");
            (void)fflush(stdout);
        }
        (void)usleep(running ? 2000 : 0);
    } while (running);
    printf("%-9s %10lld mutants of %d seeds, %d findings, %lld s\n", t->name,
           (long long)(only >= 0 ? 1 : count), n_seeds, found, (long long)(now() - begin));
    (void)fflush(stdout);
    (void)munmap(at, sizeof(slot) * MOST_JOBS);
    for (int i = 0; i < n_seeds; i++)
        free(seeds[i].bytes);
    return found;
}

int main(int argc, char **argv)
{
    char temporary[256];
    int found = 0;

    if (argc < 5) {
        fprintf(stderr, "usage: ferry_mutate SEEDS OUT COUNT|=I JOBS [TARGET...]\n");
        return 2;
    }
    const int64_t only = argv[3][0] == '=' ? atoll(argv[3] + 1) : -1;
    const int64_t count = only >= 0 ? only + 1 : atoll(argv[3]);
    const int jobs = atoi(argv[4]) < 1           ? 1
                     : atoi(argv[4]) > MOST_JOBS ? MOST_JOBS
                                                 : atoi(argv[4]);
    (void)mkdir(argv[2], 0777);
    const char *under = getenv("TMPDIR"); /* what workers that died leave goes in the end */
    if (!under) under = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(temporary, sizeof temporary, "%s/ferry-mutate-XXXXXX", under);
    if (!mkdtemp(temporary) || setenv("TMPDIR", temporary, 1) != 0) return 2;
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
        bool wanted = argc == 5;
        for (int a = 5; a < argc; a++)
            wanted = wanted || strcmp(argv[a], targets[k].name) == 0;
        if (wanted)
            found += run_target(&targets[k], argv[1], argv[2], count, only >= 0 ? 1 : jobs,
                                only);
    }
    ferry_i_remove_tree(temporary);
    return found > 0;
}
