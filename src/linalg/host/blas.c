/* Which kernels OpenBLAS runs, which fit this CPU, and its process-wide thread count.
 *
 * Nothing is changed behind the user's back: the choice of kernels is made by OpenBLAS
 * when it is loaded, so all that can be done is to tell (ferry_doctor(), or the log). */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "linalg/blas.h"
#include "linalg/host/host.h"
#include "linalg/host/isa.h"

/* Debian's OpenBLAS 0.3.21 takes the kernels of a 2004 Prescott on CPUs newer than itself.
 * The fitting ones are those for the widest vectors the CPU has. AMD's AVX-512 CPUs run the
 * AVX2 kernels as fast (Zen 4, dgemm n = 1500, one thread: Haswell 52, Zen 53, SkylakeX 54
 * GFLOP/s; Prescott 21), so there they are good enough. */
static bool fits_avx2(const char *core)
{
    return strcmp(core, "Haswell") == 0 || strcmp(core, "Zen") == 0;
}

static bool fits_avx512(const char *core)
{
    return strcmp(core, "SkylakeX") == 0 || strcmp(core, "Cooperlake") == 0 ||
           strcmp(core, "SapphireRapids") == 0;
}

const char *ferry_i_blas_fitting(const char *core, bool avx2, bool avx512, bool amd)
{
    if (!avx2) return "";
    if (avx512 && (fits_avx512(core) || (amd && fits_avx2(core)))) return core;
    if (!avx512 && fits_avx2(core)) return core;
    return avx512 ? "SkylakeX" : "Haswell";
}

const char *ferry_blas_core(void)
{
    const char *core = openblas_get_corename();

    return core ? core : "";
}

/* The same core as is loaded where that fits; "" where there is nothing to say. */
const char *ferry_blas_core_wanted(void)
{
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");

    return ferry_i_blas_fitting(ferry_blas_core(), avx2, avx512, __builtin_cpu_is("amd"));
#else
    return "";
#endif
}

const char *ferry_i_blas_config(void)
{
    const char *config = openblas_get_config();

    return config ? config : "";
}

/* Only with a log to tell; a context whose log is set later is still told. */
void ferry_i_check_machine(ferry_ctx *ctx)
{
    char text[160];

    if (ctx->machine_checked || !ctx->log) return;
    ctx->machine_checked = true;
    const char *core = ferry_blas_core(), *wanted = ferry_blas_core_wanted();
    if (ferry_i_isa_problem(text, sizeof text)) ferry_i_warn_once(ctx, "%s", text);
    if (wanted[0] && strcmp(core, wanted) != 0)
        ferry_i_warn_once(ctx,
                          "OpenBLAS runs its %s kernels, which are slow on this CPU: set "
                          "OPENBLAS_CORETYPE=%s before the program starts",
                          core, wanted);
}

/* ---- little address space ---- */

/* OpenBLAS maps a buffer for every thread that computes, and where there is no room for it tries again
 * for ever (blas_memory_alloc): a worker that never comes up is waited for without end. So where address
 * space is limited (RLIMIT_AS) there must be room before threads are started, and the calling thread's own
 * buffer is mapped here, by a first product. */
enum { BUFFER = 128 << 20, STACK = 16 << 20 };
static atomic_int most_threads = 0; /* that OpenBLAS may have; 0: as many as one likes */

static bool have_room(int64_t bytes)
{
    void *p = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) return false;
    (void)munmap(p, (size_t)bytes);
    return true;
}

ferry_status ferry_i_blas_ready(ferry_ctx *ctx)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool mapped;
    ferry_status st = FERRY_OK;
    struct rlimit space;
    double a[100] = {0}, c[100] = {0};

    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return FERRY_OK;
    (void)pthread_mutex_lock(&lock);
    const int there = openblas_get_num_threads();
    int n = ctx->threads;
    if (!mapped && !have_room(BUFFER + STACK)) st = ferry_i_nomem(ctx);
    while (n > there &&
           !have_room((int64_t)(n - there) * (BUFFER + STACK) + BUFFER + STACK))
        n--;
    if (st == FERRY_OK) {
        atomic_store(&most_threads, n > there ? n : there);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 10, 10, 10, 1, a, 10, a, 10,
                    0, c, 10);
        mapped = true;
    }
    (void)pthread_mutex_unlock(&lock);
    return st;
}

/* Most calls find the count right and take no lock. Two contexts with different counts
 * in two threads disturb each other's speed, and at most the last bits of their results. */
void ferry_i_blas_begin(ferry_ctx *ctx)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    ferry_i_check_machine(ctx);
    const int most = atomic_load(&most_threads),
              n = most && most < ctx->threads ? most : ctx->threads;
    if (openblas_get_num_threads() == n) return;
    (void)pthread_mutex_lock(&lock);
    openblas_set_num_threads(n);
    (void)pthread_mutex_unlock(&lock);
}

int ferry_i_loop_threads(const ferry_ctx *ctx, int64_t work)
{
    /* Starting a team costs some microseconds, about this many operations. */
    return work < 20000 ? 1 : ctx->threads;
}
