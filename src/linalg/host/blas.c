/* Loading OpenBLAS, which kernels it runs, which fit this CPU, and its process-wide thread count.
 *
 * Nothing is changed behind the user's back: the choice of kernels is made by OpenBLAS
 * when it is loaded, so all that can be done is to tell (ferry_doctor(), or the log). */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/pool.h"
#include "linalg/blas.h"
#include "linalg/host/host.h"
#include "linalg/host/isa.h"
#include "linalg/host/openblas.h"

ferry_blas ferry_i_blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;
static char why[FERRY_LOAD_WHY];

#define FERRY_LAPACK(F)                                                                    \
    F(ilaver)                                                                              \
    F(dsyev)                                                                               \
    F(dsyevd)                                                                              \
    F(dgesdd) F(dgeqrf) F(dorgqr) F(dpotrf) F(dpotrs) F(dgesv)

#ifdef FERRY_BLAS_PREFIX /* linked, under names that meet no other BLAS in the process: a wheel's */
#define DECLARE(name) extern __typeof__(*ferry_i_blas.name) FERRY_BLAS_PREFIX(name##_);
FERRY_LAPACK(DECLARE)

static void load(void)
{
#define C_NAME(name) ferry_i_blas.name = cblas_##name;
#define OPEN_NAME(name) ferry_i_blas.name = openblas_##name;
#define LAPACK(name) ferry_i_blas.name = FERRY_BLAS_PREFIX(name##_);
    FERRY_CBLAS(C_NAME) FERRY_OPENBLAS(OPEN_NAME) FERRY_LAPACK(LAPACK) loaded = true;
}
#else
static void load(void)
{
#define C_NAME(name) {"cblas_" #name, &ferry_i_blas.name},
#define OPEN_NAME(name) {"openblas_" #name, &ferry_i_blas.name},
#define LAPACK(name) {#name "_", &ferry_i_blas.name},
    static const ferry_symbol want[] = {FERRY_CBLAS(C_NAME) FERRY_OPENBLAS(OPEN_NAME)
                                            FERRY_LAPACK(LAPACK)};

    loaded = ferry_i_load("libopenblas.so.0", want, FERRY_COUNT(want), why);
}
#endif

static bool have_blas(void)
{
    (void)pthread_once(&once, load);
    return loaded;
}

/* Debian's OpenBLAS 0.3.21 takes the kernels of a 2004 Prescott on CPUs newer than itself, and Haswell's on AMD's.
 * The fitting ones are those for the widest vectors the CPU has. Zen 4 halves them, so there those of AVX2 are good
 * enough (dgemm n = 1500, one thread: Haswell 52, Zen 53, SkylakeX 54 GFLOP/s; Prescott 21); Zen 5 does not (Haswell
 * and Zen 64, SkylakeX 110). */
static bool fits_avx2(const char *core)
{
    return strcmp(core, "Haswell") == 0 || strcmp(core, "Zen") == 0;
}

static bool fits_avx512(const char *core)
{
    return strcmp(core, "SkylakeX") == 0 || strcmp(core, "Cooperlake") == 0 ||
           strcmp(core, "SapphireRapids") == 0;
}

const char *ferry_i_blas_fitting(const char *core, bool avx2, bool avx512, bool halved)
{
    if (!avx2) return "";
    if (avx512 && (fits_avx512(core) || (halved && fits_avx2(core)))) return core;
    if (!avx512 && fits_avx2(core)) return core;
    return avx512 ? "SkylakeX" : "Haswell";
}

bool ferry_i_blas_tall(void)
{
    return have_blas() && fits_avx512(ferry_i_blas.get_corename());
}

const char *ferry_i_blas_core(void)
{
    const char *core = have_blas() ? ferry_i_blas.get_corename() : NULL;

    return core ? core : "";
}

/* The same core as is loaded where that fits; "" where there is nothing to say. */
const char *ferry_i_blas_core_wanted(void)
{
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");

    return ferry_i_blas_fitting(ferry_i_blas_core(), avx2, avx512,
                                __builtin_cpu_is("amdfam19h")); /* Zen 3 and 4 */
#else
    return "";
#endif
}

const char *ferry_blas_core(const char **wanted)
{
    if (wanted) *wanted = ferry_i_blas_core_wanted();
    return ferry_i_blas_core();
}

const char *ferry_i_blas_config(void)
{
    const char *config = have_blas() ? ferry_i_blas.get_config() : NULL;

    return config ? config : "";
}

void ferry_i_lapack_version(int *major, int *minor, int *patch)
{
    if (have_blas()) ferry_i_blas.ilaver(major, minor, patch);
}

/* Only with a log to tell; a context whose log is set later is still told. Kernels that somebody has named are left
 * to them: the doctor tells what they cost. */
void ferry_i_check_machine(ferry_ctx *ctx)
{
    char text[160];

    if (ctx->machine_checked || !ctx->log) return;
    ctx->machine_checked = true;
    const char *core = ferry_i_blas_core(), *wanted = ferry_i_blas_core_wanted();
    if (ferry_i_isa_problem(text, sizeof text)) ferry_i_warn_once(ctx, "%s", text);
    if (wanted[0] && strcmp(core, wanted) != 0 && !getenv("OPENBLAS_CORETYPE"))
        ferry_i_warn_once(ctx,
                          "OpenBLAS runs its %s kernels, which are slow on this CPU: set "
                          "OPENBLAS_CORETYPE=%s before the program starts",
                          core, wanted);
}

/* ---- little address space ---- */

/* OpenBLAS maps a buffer for every thread that computes, and where there is no room for it tries again
 * for ever (blas_memory_alloc): a worker that never comes up is waited for without end. So where address
 * space is limited (RLIMIT_AS, or RLIMIT_DATA: that of a process's own) there must be room before threads are started,
 * and the calling thread's own buffer is mapped here, by a first product. */
enum { BUFFER = 128 << 20, STACK = 16 << 20 };
static atomic_int most_threads = 0; /* that OpenBLAS may have; 0: as many as one likes */

static bool have_room(int64_t bytes)
{
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) return false;
    (void)munmap(p, (size_t)bytes);
    return true;
}

ferry_status ferry_i_blas_ready(ferry_ctx *ctx)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool mapped;
    ferry_status st = FERRY_OK;
    double a[100] = {0}, c[100] = {0};

    if (!have_blas() && (strstr(why, "map segment") || strstr(why, "allocate memory")))
        return ferry_i_nomem(ctx); /* little address space: the loader's own words */
    if (!have_blas())
        return ferry_i_fail(
            ctx, FERRY_ENEEDS,
            "computing needs the library OpenBLAS (Debian: libopenblas0): %s", why);
    ctx->ample = ctx->ample || !ferry_i_little_space();
    if (ctx->ample) return FERRY_OK;
    (void)pthread_mutex_lock(&lock);
    const int there = ferry_i_blas.get_num_threads(), most = atomic_load(&most_threads);
    int n = ctx->threads;
    if (mapped && n <= most) goto done; /* asked for every row of a stream */
    if (!mapped && !have_room(BUFFER + STACK)) st = ferry_i_nomem(ctx);
    while (n > there &&
           !have_room((int64_t)(n - there) * (BUFFER + STACK) + BUFFER + STACK))
        n--;
    if (st == FERRY_OK) {
        atomic_store(&most_threads, n > there ? n : there);
        ferry_i_blas.dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 10, 10, 10, 1, a, 10,
                           a, 10, 0, c, 10);
        mapped = true;
    }
done:
    (void)pthread_mutex_unlock(&lock);
    return st;
}

/* Most calls find the count right and take no lock. Two contexts with different counts
 * in two threads disturb each other's speed, and at most the last bits of their results. */
static void begin(ferry_ctx *ctx, int threads)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    (void)have_blas(); /* whoever computes has asked ferry_i_blas_ready() at the door */
    ferry_i_check_machine(ctx);
    const int most = atomic_load(&most_threads),
              n = most && most < threads ? most : threads;
    if (ferry_i_blas.get_num_threads() == n) return;
    (void)pthread_mutex_lock(&lock);
    ferry_i_blas.set_num_threads(n);
    (void)pthread_mutex_unlock(&lock);
}

void ferry_i_blas_begin(ferry_ctx *ctx)
{
    begin(ctx, ctx->threads);
}

/* These routines make n products of a matrix and a vector, each shared out to threads that wait for each other by
 * yielding. Two threads gain nothing at n = 200 and a fifth at 400 to 800 (AMD EPYC, 2 cores, else idle), and take up
 * to two hundred times as long where the machine is busy. */
void ferry_i_lapack_begin(ferry_ctx *ctx, int64_t n)
{
    begin(ctx, n < 512 ? 1 : ctx->threads);
}

int ferry_i_loop_threads(const ferry_ctx *ctx, int64_t work)
{
    /* Starting a team costs some microseconds, about this many operations. */
    return work < 20000 ? 1 : ctx->threads;
}
