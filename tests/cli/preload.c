/* Preloaded by a test: an OpenBLAS that picks the wrong kernels unless it is told which to
 * take, as Debian's does on new CPUs; or, with FERRY_TEST_NO_BLAS, none. Also notes every start of the
 * program in the file FERRY_TEST_STARTS, lets it trust the certificate FERRY_TEST_CA instead of the
 * system's, and with FERRY_TEST_MALLOC="NAME N" gives no memory when a library of that name asks for the
 * N-th time, and with FERRY_TEST_CLOCK the clock on the wall jumps to and fro by a year. */
#define _GNU_SOURCE /* dladdr, dlvsym, RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#undef fopen64

static char *corename(void)
{
    static char wrong[] = "Prescott";
    char *told = getenv("OPENBLAS_CORETYPE");

    return told ? told : wrong;
}

/* OpenBLAS is loaded at run time, so this is where its functions are asked for. */
void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*real)(void *, const char *);
    char *(*const ours)(void) = corename;
    void *found = NULL;

    if (!real) {
        void *const next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        memcpy(&real, &next, sizeof real);
    }
    if (strcmp(name, "openblas_get_corename") != 0) return real(handle, name);
    if (!getenv("FERRY_TEST_NO_BLAS")) memcpy(&found, &ours, sizeof found);
    return found;
}

static FILE *open_as(const char *name, const char *path, const char *mode)
{
    const char *ca = getenv("FERRY_TEST_CA");
    FILE *(*real)(const char *, const char *) = NULL;

    *(void **)&real = dlsym(RTLD_NEXT, name);
    return real(ca && strstr(path, "/ca-certificates.crt") ? ca : path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    return open_as("fopen", path, mode);
}

FILE *fopen64(const char *path, const char *mode);
FILE *fopen64(const char *path, const char *mode)
{
    return open_as("fopen64", path, mode);
}

/* ---- memory ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

/* Whether this call is the one that gets nothing. `from`: where in a library it was made. */
static int refused(const void *from)
{
    static char name[64];
    static long at = -1, count;
    Dl_info info;

    if (at < 0) {
        const char *told = getenv("FERRY_TEST_MALLOC");
        at = 0;
        if (told && sscanf(told, "%63s %ld", name, &at) != 2) abort();
    }
    if (at == 0 || !dladdr(from, &info) || !info.dli_fname || !strstr(info.dli_fname, name))
        return 0;
    if (++count != at) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}

/* ---- time ---- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int calls;
    const int failed = (int)syscall(SYS_clock_gettime, clock, now);

    if (clock == CLOCK_REALTIME && getenv("FERRY_TEST_CLOCK"))
        now->tv_sec +=
            __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 2 ? 31536000 : -31536000;
    return failed;
}

__attribute__((constructor)) static void started(void)
{
    const char *path = getenv("FERRY_TEST_STARTS");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (!file) return;
    fputs("started\n", file);
    fclose(file);
}
