/* libferry_cuda.so: the card, its memory, copies and mirrors (linalg/card.h says what it is for).
 *
 * All runs on one stream, so what a call does has one order, and memory that is given back is taken again without
 * waiting. Libraries are used as they are by default: double precision, no emulation of it, deterministic. */
#include "card.h"

#include <list>
#include <mutex>
#include <omp.h>
#include <string.h>
#include <vector>

#include "ferry/base.h"

namespace card
{

cudaStream_t stream;
cublasHandle_t blas;
cusolverDnHandle_t solver;
cusolverDnParams_t solver_params;
cusparseHandle_t sparse;

namespace
{
enum {
    PIECE = 32 << 20,
    LANES = 2,
    COPIERS = 8
};                   /* bytes; pinned pieces; threads that fill them */
enum { FAR = 4096 }; /* entries of a row that is added up by a block of its own */

std::mutex lock;
bool opened, lost;
char lost_why[FERRY_CARD_WHY];
ferry_card_about here;
size_t used, most;
uint64_t clock_now;
std::list<mirror> &mirrors =
    *new std::list<mirror>;          /* never ends: the driver may have, at exit */
std::vector<const void *> forgotten; /* while a call was at work */
std::mutex forgotten_lock;
char *pinned[LANES];
cudaEvent_t done[LANES];
bool in_use[LANES];
} // namespace

void fail(int code, const char *what, const char *detail)
{
    trouble t;

    t.code = code;
    snprintf(t.why, sizeof t.why, "%s%s%s", what, detail ? ": " : "", detail ? detail : "");
    throw t;
}

void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return;
    (void)cudaGetLastError();
    fail(e == cudaErrorMemoryAllocation ? FERRY_CARD_SHORT : FERRY_CARD_FAILED, what,
         cudaGetErrorString(e));
}

void check(cublasStatus_t e, const char *what)
{
    if (e != CUBLAS_STATUS_SUCCESS)
        fail(e == CUBLAS_STATUS_ALLOC_FAILED ? FERRY_CARD_SHORT : FERRY_CARD_FAILED, what,
             cublasGetStatusString(e));
}

void check(cusolverStatus_t e, const char *what)
{
    if (e != CUSOLVER_STATUS_SUCCESS)
        fail(e == CUSOLVER_STATUS_ALLOC_FAILED ? FERRY_CARD_SHORT : FERRY_CARD_FAILED, what,
             "cuSOLVER did not do it");
}

void check(cusparseStatus_t e, const char *what)
{
    if (e != CUSPARSE_STATUS_SUCCESS)
        fail(e == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES ? FERRY_CARD_SHORT
                                                         : FERRY_CARD_FAILED,
             what, cusparseGetErrorString(e));
}

void started(const char *what)
{
    check(cudaPeekAtLastError(), what);
}

void wait()
{
    check(cudaStreamSynchronize(stream), "the card stopped");
}

/* ---- memory ---- */

/* The mirror that was used longest ago goes. */
static bool drop_oldest()
{
    auto oldest = mirrors.end();

    for (auto m = mirrors.begin(); m != mirrors.end(); ++m)
        if (!m->busy && (oldest == mirrors.end() || m->used < oldest->used)) oldest = m;
    if (oldest == mirrors.end()) return false;
    mirrors.erase(oldest);
    return true;
}

static size_t rounded(size_t bytes)
{
    return (bytes + 511) / 512 * 512 + (bytes == 0 ? 512 : 0);
}

void *take(size_t bytes)
{
    void *p = nullptr;

    bytes = rounded(bytes);
    while (used + bytes > most)
        if (!drop_oldest())
            fail(FERRY_CARD_SHORT, "the card's memory is not enough for this step",
                 nullptr);
    for (;;) {
        const cudaError_t e = cudaMallocAsync(&p, bytes, stream);
        if (e == cudaSuccess) break;
        (void)cudaGetLastError();
        if (e != cudaErrorMemoryAllocation || !drop_oldest())
            check(e, "memory of the card");
        wait();
    }
    used += bytes;
    return p;
}

void give(void *p, size_t bytes)
{
    used -= rounded(bytes);
    (void)cudaFreeAsync(p, stream);
}

size_t room()
{
    size_t free_now = most > used ? most - used : 0;

    for (const mirror &m : mirrors)
        if (!m.busy)
            free_now += m.dense.n * 8 + (m.own.nnz + m.turned.nnz) * 12 +
                        (m.own.start.n + m.turned.start.n) * 8;
    return free_now;
}

/* ---- copies ---- */

/* One thread moves 5 to 10 GB/s, the bus 50. */
static void copy_some(char *to, const char *from, size_t bytes)
{
    const int threads = bytes < (1 << 20)               ? 1
                        : omp_get_num_procs() < COPIERS ? omp_get_num_procs()
                                                        : COPIERS;

    if (threads == 1) {
        memcpy(to, from, bytes);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        const size_t t = (size_t)omp_get_thread_num(), n = (size_t)omp_get_num_threads();
        const size_t a = bytes / n * t, b = t + 1 == n ? bytes : bytes / n * (t + 1);
        memcpy(to + a, from + a, b - a);
    }
}

static void lane_free(int lane)
{
    if (in_use[lane]) check(cudaEventSynchronize(done[lane]), "copying to the card");
    in_use[lane] = false;
}

void copy_in(void *to, const void *from, size_t bytes)
{
    int lane = 0;

    for (size_t at = 0; at < bytes; at += PIECE, lane = (lane + 1) % LANES) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        lane_free(lane);
        copy_some(pinned[lane], (const char *)from + at, n);
        check(cudaMemcpyAsync((char *)to + at, pinned[lane], n, cudaMemcpyHostToDevice,
                              stream),
              "copying to the card");
        check(cudaEventRecord(done[lane], stream), "copying to the card");
        in_use[lane] = true;
    }
}

void copy_out(void *to, const void *from, size_t bytes)
{
    size_t at[LANES] = {0}, size[LANES] = {0};
    int lane = 0;

    for (int i = 0; i < LANES; i++)
        lane_free(i);
    for (size_t next = 0;; lane = (lane + 1) % LANES) {
        if (size[lane]) {
            lane_free(lane);
            copy_some((char *)to + at[lane], pinned[lane], size[lane]);
            size[lane] = 0;
        }
        if (next < bytes) {
            at[lane] = next;
            size[lane] = bytes - next < PIECE ? bytes - next : PIECE;
            check(cudaMemcpyAsync(pinned[lane], (const char *)from + next, size[lane],
                                  cudaMemcpyDeviceToHost, stream),
                  "copying from the card");
            check(cudaEventRecord(done[lane], stream), "copying from the card");
            in_use[lane] = true;
            next += size[lane];
            continue;
        }
        bool open = false;
        for (int i = 0; i < LANES; i++)
            open = open || size[i];
        if (!open) return;
    }
}

/* ---- mirrors ---- */

static void find_far(csr &c, const int64_t *start)
{
    std::vector<int64_t> far;

    for (int64_t i = 0; i < c.rows; i++)
        if (start[i + 1] - start[i] > FAR) far.push_back(i);
    c.n_far = (int64_t)far.size();
    if (c.n_far) c.far = brought(far.data(), far.size());
    wait(); /* far goes */
}

/* start begins at 0 on the card, whatever it begins with here. */
static void bring_csr(csr &c, const ferry_card_matrix &x)
{
    std::vector<int64_t> start((size_t)x.rows + 1);

    for (int64_t i = 0; i <= x.rows; i++)
        start[(size_t)i] = x.start[i] - x.start[0];
    c.rows = x.rows, c.cols = x.cols, c.nnz = start[(size_t)x.rows];
    c.start = brought(start.data(), start.size());
    c.index = brought(x.index, (size_t)c.nnz);
    c.value = brought(x.value, (size_t)c.nnz);
    find_far(c, start.data());
}

static void fill(mirror &m, const ferry_card_matrix &x)
{
    m.rows = x.rows, m.cols = x.cols;
    if (x.dense)
        m.dense = brought(x.dense, (size_t)(x.rows * x.cols));
    else
        bring_csr(m.own, x);
}

hold::hold(const ferry_card_matrix &x)
{
    for (mirror &k : mirrors)
        if (x.key && k.key == x.key) {
            m = &k;
            m->used = ++clock_now;
            m->busy = true;
            return;
        }
    if (x.key) {
        mirrors.emplace_back();
        m = &mirrors.back();
        m->busy = true;
        try {
            fill(*m, x);
        } catch (...) {
            mirrors.pop_back();
            throw;
        }
        m->key = x.key;
        m->used = ++clock_now;
        return;
    }
    m = new mirror;
    mine = true;
    try {
        fill(*m, x);
    } catch (...) {
        delete m;
        throw;
    }
}

hold::~hold()
{
    if (mine)
        delete m;
    else
        m->busy = false;
}

static __global__ void narrowed(int64_t n, const int64_t *from, int32_t *to)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

    if (i < n) to[i] = (int32_t)from[i];
}

static __global__ void widened(int64_t n, const int32_t *from, int64_t *to)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

    if (i < n) to[i] = from[i];
}

/* Entries of a column come out by row, as the host's index has them. */
const csr &turned(mirror &m)
{
    if (m.has_turned) return m.turned;
    csr t;
    t.rows = m.cols, t.cols = m.rows, t.nnz = m.own.nnz;
    if (t.nnz >= INT32_MAX) fail(FERRY_CARD_SHORT, "2^31 entries in one piece", nullptr);
    t.start = array<int64_t>((size_t)t.rows + 1);
    t.index = array<int32_t>((size_t)t.nnz);
    t.value = array<double>((size_t)t.nnz);
    array<int32_t> from((size_t)m.rows + 1), to((size_t)t.rows + 1);
    if (t.nnz == 0 || m.rows == 0 || m.cols == 0) {
        check(cudaMemsetAsync(t.start.p, 0, t.start.n * 8, stream), "transposing");
    } else {
        size_t bytes = 0;
        narrowed<<<blocks(m.rows + 1, 256), 256, 0, stream>>>(m.rows + 1, m.own.start.p,
                                                              from.p);
        started("transposing");
        check(cusparseCsr2cscEx2_bufferSize(
                  sparse, (int)m.rows, (int)m.cols, (int)t.nnz, m.own.value.p, from.p,
                  m.own.index.p, t.value.p, to.p, t.index.p, CUDA_R_64F,
                  CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1,
                  &bytes),
              "transposing");
        array<char> work(bytes);
        check(cusparseCsr2cscEx2(sparse, (int)m.rows, (int)m.cols, (int)t.nnz,
                                 m.own.value.p, from.p, m.own.index.p, t.value.p, to.p,
                                 t.index.p, CUDA_R_64F, CUSPARSE_ACTION_NUMERIC,
                                 CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, work.p),
              "transposing");
        widened<<<blocks(t.rows + 1, 256), 256, 0, stream>>>(t.rows + 1, to.p, t.start.p);
        started("transposing");
    }
    std::vector<int64_t> start((size_t)t.rows + 1);
    copy_out(start.data(), t.start.p, start.size() * 8);
    find_far(t, start.data());
    m.turned = static_cast<csr &&>(t);
    m.has_turned = true;
    return m.turned;
}

size_t bytes_of(const ferry_card_matrix &x)
{
    return x.dense ? (size_t)(x.rows * x.cols) * 8
                   : (size_t)x.nnz * 12 + (size_t)(x.rows + 1) * 8;
}

ferry_card_matrix slab(const ferry_card_matrix &x, int64_t from, int64_t to)
{
    ferry_card_matrix y = x;

    if (from == 0 && to == x.rows) return x;
    y.key = nullptr;
    y.rows = to - from;
    if (x.dense) {
        y.dense = x.dense + from * x.cols;
        y.nnz = y.rows * x.cols;
    } else {
        y.start = x.start + from;
        y.nnz = x.start[to] - x.start[from];
        y.index = x.index + (x.start[from] - x.start[0]);
        y.value = x.value + (x.start[from] - x.start[0]);
    }
    return y;
}

int64_t slab_end(const ferry_card_matrix &x, int64_t from, size_t beside)
{
    for (const mirror &k : mirrors)
        if (from == 0 && x.key && k.key == x.key) return x.rows;
    const size_t free_now = room(),
                 have = free_now > beside ? (free_now - beside) / 5 * 4 : 0;
    const ferry_card_matrix rest = slab(x, from, x.rows);
    /* a transpose is as large again */
    const size_t need = x.dense ? bytes_of(rest) : 2 * bytes_of(rest) + (size_t)x.cols * 16;
    if (need <= have && rest.nnz < INT32_MAX) return x.rows;
    if (x.dense) {
        const int64_t rows = (int64_t)(have / 8 / (size_t)(x.cols > 0 ? x.cols : 1) / 2);
        if (rows < 1)
            fail(FERRY_CARD_SHORT, "the card's memory is not enough for this step",
                 nullptr);
        return from + rows < x.rows ? from + rows : x.rows;
    }
    const int64_t most_entries =
        (int64_t)((have > (size_t)x.cols * 16 ? have - (size_t)x.cols * 16 : 0) / 64);
    int64_t to = from;
    while (to < x.rows && x.start[to + 1] - x.start[from] + (to - from) <= most_entries &&
           x.start[to + 1] - x.start[from] < INT32_MAX)
        to++;
    if (to == from)
        fail(FERRY_CARD_SHORT, "the card's memory is not enough for this step", nullptr);
    return to;
}

/* ---- the door ---- */

int enter(char *why)
{
    lock.lock();
    if (opened && !lost) {
        {
            std::lock_guard<std::mutex> held(forgotten_lock);
            for (const void *key : forgotten)
                mirrors.remove_if([&](const mirror &m) { return m.key == key; });
            forgotten.clear();
        }
        return FERRY_CARD_OK;
    }
    snprintf(why, FERRY_CARD_WHY, "%s", lost ? lost_why : "the card is not open");
    lock.unlock();
    return FERRY_CARD_FAILED;
}

void leave()
{
    lock.unlock();
}

int caught(const trouble &t, char *why)
{
    snprintf(why, FERRY_CARD_WHY, "%s", t.why);
    if (t.code == FERRY_CARD_FAILED) {
        lost = true;
        snprintf(lost_why, sizeof lost_why, "%s", t.why);
    } else if (cudaStreamSynchronize(stream) != cudaSuccess) {
        lost = true;
        snprintf(lost_why, sizeof lost_why, "the card stopped");
    }
    return t.code;
}

static void limit(int64_t bytes)
{
    size_t unused = 0, total = 0;

    lock.lock();
    if (opened && !lost && cudaMemGetInfo(&unused, &total) == cudaSuccess) {
        const size_t may = (unused + used) / 5 * 4;
        most = bytes > 0 && (size_t)bytes < may ? (size_t)bytes : may;
        here.limit = (int64_t)most;
        while (used > most && drop_oldest())
            ;
    }
    lock.unlock();
}

static void describe()
{
    int driver = 0, runtime = 0, b = 0, s = 0, p = 0;
    cudaDeviceProp prop;
    size_t unused = 0, total = 0;

    check(cudaGetDeviceProperties(&prop, 0), "asking the card");
    check(cudaDriverGetVersion(&driver), "asking the driver");
    check(cudaRuntimeGetVersion(&runtime), "asking CUDA");
    check(cudaMemGetInfo(&unused, &total), "asking the card");
    (void)cublasGetVersion(blas, &b);
    (void)cusolverGetVersion(&s);
    (void)cusparseGetVersion(sparse, &p);
    snprintf(here.name, sizeof here.name, "%s", prop.name);
    snprintf(here.versions, sizeof here.versions,
             "compute capability %d.%d, driver for CUDA %d.%d, CUDA %d.%d, cuBLAS %d, "
             "cuSOLVER %d, cuSPARSE %d",
             prop.major, prop.minor, driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10, b, s, p);
    here.total = (int64_t)total;
    here.unused = (int64_t)unused;
}

static void start()
{
    int n = 0;
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;

    const cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess) {
        (void)cudaGetLastError();
        fail(FERRY_CARD_FAILED,
             e == cudaErrorInsufficientDriver ? "no NVIDIA driver, or one too old"
                                              : "no card",
             cudaGetErrorString(e));
    }
    if (n == 0) fail(FERRY_CARD_FAILED, "no NVIDIA card", nullptr);
    check(cudaSetDevice(0), "the card");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "the card");
    check(cudaDeviceGetDefaultMemPool(&pool, 0), "memory of the card");
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
          "memory of the card");
    check(cublasCreate(&blas), "cuBLAS");
    check(cublasSetStream(blas, stream), "cuBLAS");
    check(cusolverDnCreate(&solver), "cuSOLVER");
    check(cusolverDnSetStream(solver, stream), "cuSOLVER");
    check(cusolverDnCreateParams(&solver_params), "cuSOLVER");
    check(cusparseCreate(&sparse), "cuSPARSE");
    check(cusparseSetStream(sparse, stream), "cuSPARSE");
    for (int i = 0; i < LANES; i++) {
        check(cudaMallocHost((void **)&pinned[i], PIECE), "memory for copies");
        check(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming), "the card");
    }
    describe();
}

static int open_card(ferry_card_about *about, char *why)
{
    int code = FERRY_CARD_OK;

    lock.lock();
    if (!opened) {
        try {
            start();
            opened = true;
            most = (size_t)here.unused / 5 * 4;
            here.limit = (int64_t)most;
        } catch (const trouble &t) {
            code = FERRY_CARD_FAILED;
            snprintf(why, FERRY_CARD_WHY, "%s", t.why);
        }
    }
    *about = here;
    lock.unlock();
    return code;
}

static void ask(ferry_card_about *about)
{
    size_t unused = 0, total = 0;

    lock.lock();
    if (opened && !lost && cudaMemGetInfo(&unused, &total) == cudaSuccess)
        here.unused = (int64_t)unused;
    *about = here;
    lock.unlock();
}

/* Called where a matrix ends, in any thread: it does not wait for the card. */
static void forget(const void *key)
{
    std::lock_guard<std::mutex> held(forgotten_lock);
    forgotten.push_back(key);
}

} // namespace card

extern "C" __attribute__((visibility("default"))) const ferry_card ferry_cuda_card;
const ferry_card ferry_cuda_card = {
    FERRY_VERSION, card::open_card,  card::ask,     card::limit,
    card::forget,  card::mul,        card::cross,   card::sddmm,
    card::masked,  card::ridge_rows, card::nearest, card::gemm,
    card::chol,    card::chol_solve, card::solve,   card::eigh,
};
