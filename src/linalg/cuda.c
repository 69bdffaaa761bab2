/* The engines cuda and auto: an NVIDIA card for what is worth the way there, host for the rest.
 *
 * The card is behind a table of functions in libferry_cuda.so (linalg/card.h), which is loaded when the engine is chosen
 * (auto: when the first operation is large enough to pay for opening a card, about a second). Every operation here asks
 * whether it is worth the copies, calls the card, and goes to host where it is not, where the card's memory is too
 * small, or where the card has failed: the log then says so in one sentence, and the result is whole.
 *
 * What a matrix is worth to keep on the card only its maker knows: those that last (ferry_matrix.lasting) are copied
 * once, until they end or memory is short. All else is copied for each call. */
#define _GNU_SOURCE /* dladdr */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linalg/card.h"
#include "linalg/host/host.h"

static const char plug_in[] = "libferry_cuda.so";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const ferry_card *card; /* the table, once the card is open */
static _Atomic(const ferry_card *) open_card;
static bool tried;
static char missing[FERRY_CARD_WHY + FERRY_LOAD_WHY + 64]; /* why there is none */
static ferry_card_about about;
static int64_t asked_limit;
static atomic_bool always;
static atomic_llong calls;

/* ---- finding it ---- */

/* A card is in this machine and its driver's module is loaded; asking costs nothing. */
static bool card_is_here(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 ||
           access("/proc/driver/nvidia/version", F_OK) == 0 ||
           access("/dev/dxg", F_OK) == 0; /* Windows' Linux */
}

/* Beside the library or program that this code is part of; else where the system looks. */
static bool load(const ferry_card **found, char *why)
{
    const ferry_symbol want[] = {{FERRY_CARD, (void *)found}};
    static const char here = 0;
    Dl_info info = {0};
    char *dir = NULL, *path = NULL;

    why[0] = 0;
    if (dladdr(&here, &info) && info.dli_fname && strchr(info.dli_fname, '/') &&
        (dir = ferry_i_path_dir(info.dli_fname)))
        path = ferry_i_path_join(dir, plug_in);
    const bool there =
        (path && access(path, R_OK) == 0 && ferry_i_load(path, want, 1, why)) ||
        (!why[0] && ferry_i_load(plug_in, want, 1, why));
    FERRY_FREE(dir, path);
    return there;
}

/* With the lock. */
static void try_to_open(void)
{
    const ferry_card *found = NULL;
    char why[FERRY_LOAD_WHY > FERRY_CARD_WHY ? FERRY_LOAD_WHY : FERRY_CARD_WHY] = "";

    tried = true;
    if (getenv("FERRY_GPU_ALWAYS")) atomic_store(&always, true); /* tests: scripts/gpu */
    if (!load(&found, why))
        (void)snprintf(missing, sizeof missing,
                       "%s, which Ferry has where it was built with CUDA, is not there: %s",
                       plug_in, why);
    else if (strcmp(found->version, FERRY_VERSION) != 0)
        (void)snprintf(missing, sizeof missing, "%s is of Ferry %s, the library of %s",
                       plug_in, found->version, FERRY_VERSION);
    else if (found->open(&about, why) != FERRY_CARD_OK)
        (void)snprintf(missing, sizeof missing, "%s", why);
    else
        card = found;
    if (card && asked_limit > 0) card->limit(asked_limit);
    atomic_store(&open_card, card);
}

static bool there(void)
{
    if (atomic_load(&open_card)) return true;
    (void)pthread_mutex_lock(&lock);
    if (!tried) try_to_open();
    (void)pthread_mutex_unlock(&lock);
    return atomic_load(&open_card) != NULL;
}

ferry_status ferry_i_card_open(ferry_ctx *ctx)
{
    if (there()) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_ENEEDS, "engine cuda needs an NVIDIA card: %s", missing);
}

bool ferry_i_card_text(char *text, int64_t size, bool *found)
{
    ferry_card_about now;

    *found = card_is_here();
    if (!*found && !atomic_load(&open_card)) {
        (void)snprintf(text, (size_t)size,
                       "needs an NVIDIA card: this machine has no NVIDIA driver");
        return false;
    }
    if (!there()) {
        (void)snprintf(text, (size_t)size, "needs an NVIDIA card: %s", missing);
        return false;
    }
    card->ask(&now);
    (void)snprintf(text, (size_t)size, "%s, %.1f GB, %.1f free, at most %.1f used; %s",
                   now.name, (double)now.total / 1e9, (double)now.unused / 1e9,
                   (double)now.limit / 1e9, now.versions);
    return true;
}

void ferry_i_card_limit(int64_t bytes)
{
    (void)pthread_mutex_lock(&lock);
    asked_limit = bytes;
    if (card) card->limit(bytes);
    (void)pthread_mutex_unlock(&lock);
}

void ferry_i_card_forget(const ferry_matrix *x)
{
    const ferry_card *c = atomic_load(&open_card);

    if (c) c->forget(x);
}

void ferry_i_card_always(bool on)
{
    atomic_store(&always, on);
}

int64_t ferry_i_card_calls(void)
{
    return atomic_load(&calls);
}

/* ---- what is worth the way ---- */

/* Seconds, roughly: what a core of the host does in one, what the bus brings, what a call costs at least. Products of a
 * core: about 3e10 multiplications and additions dense, 4e9 sparse (a 16-core server, 2026). */
static const double DENSE = 3e10, SPARSE = 4e9, BUS = 2e10, CALL = 4e-5, OPEN = 2;

/* Whether an operation goes to the card: it takes so many flops on the host at so many a second and core, and so many
 * bytes must be copied. auto opens a card once what it would have saved so far is more than opening takes. */
static bool worth(ferry_ctx *ctx, double flops, double rate, double bytes)
{
    static atomic_llong saved; /* microseconds */
    const double host = flops / rate / ctx->threads, there_and_back = CALL + bytes / BUS;

    if (atomic_load(&always)) return there();
    if (host < 1.5 * there_and_back) return false;
    if (ctx->engine == &ferry_i_engine_auto && !atomic_load(&open_card)) {
        if (tried || !card_is_here()) return false;
        const long long us = (long long)(1e6 * (host - there_and_back));
        if ((double)(atomic_fetch_add(&saved, us) + us) < 1e6 * OPEN) return false;
        if (there())
            ferry_i_log(ctx, FERRY_INFO, "engine auto: large operations run on the %s",
                        about.name);
        else
            ferry_i_warn_once(ctx, "engine auto: no card (%s): all runs on the host",
                              missing);
    }
    return there();
}

/* Copies of a matrix that is not on the card already; one that lasts is thought to be used twenty times. */
static double bytes_of(const ferry_matrix *x)
{
    if (x->lasting && x->copied) return 0;
    return (x->dense ? 8.0 : 12.0) * (double)x->nnz / (x->lasting ? 20 : 1);
}

static double bytes_in(int64_t rows, int64_t k)
{
    return 8.0 * (double)rows * (double)k;
}

static ferry_card_matrix matrix_for_card(const ferry_matrix *x)
{
    /* whoever is last to let go of it asks: after all who use it */
    if (x->lasting)
        __atomic_store_n(&((ferry_matrix *)(uintptr_t)x)->copied, true, __ATOMIC_RELAXED);
    return (ferry_card_matrix){x->lasting ? x : NULL,
                               x->rows,
                               x->cols,
                               x->nnz,
                               x->dense,
                               x->start,
                               x->index,
                               x->value};
}

/* Whether the card did it. What it could not do host does: the log says why. */
static bool did(ferry_ctx *ctx, int code, const char *why)
{
    if (code == FERRY_CARD_OK || code == FERRY_CARD_NUMERIC) {
        atomic_fetch_add(&calls, 1);
        return true;
    }
    ferry_i_warn_once(ctx, "engine cuda: %s; the host does it instead", why);
    return false;
}

/* ---- products of a data matrix ---- */

static double product_flops(const ferry_matrix *x, int64_t k)
{
    return 2.0 * (double)x->nnz * (double)k;
}

static bool product(ferry_ctx *ctx, bool trans, double alpha, const ferry_matrix *x,
                    const ferry_block *b, double beta, ferry_block *y)
{
    char why[FERRY_CARD_WHY];
    /* a dense product of few columns is bound by memory: 8 bytes an entry, 1e10 a second and core */
    const double rate = !x->dense ? SPARSE : b->k < 16 ? 2.5e9 * (double)b->k : DENSE;

    if (!worth(ctx, product_flops(x, b->k), rate,
               bytes_of(x) + bytes_in(b->rows, b->k) + bytes_in(y->rows, b->k)))
        return false;
    const ferry_card_matrix m = matrix_for_card(x);
    return did(ctx, card->mul(trans, alpha, &m, b->k, b->data, beta, y->data, why), why);
}

static void cuda_mul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                     const ferry_block *b, double beta, ferry_block *y)
{
    assert(b->rows == x->cols && y->rows == x->rows && y->k == b->k);
    if (!product(ctx, false, alpha, x, b, beta, y))
        ferry_i_host_mul(ctx, alpha, x, b, beta, y);
}

static ferry_status cuda_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                              const ferry_block *b, double beta, ferry_block *y)
{
    assert(b->rows == x->rows && y->rows == x->cols && y->k == b->k);
    if (product(ctx, true, alpha, x, b, beta, y)) return FERRY_OK;
    return ferry_i_host_tmul(ctx, alpha, x, b, beta, y);
}

/* n x n out of the rows (or columns) of x: where x is CSR it is written out, which must not cost more than host's loop
 * over pairs of entries. */
static bool grams(ferry_ctx *ctx, bool rows, const ferry_matrix *x, const double *mean,
                  const double *weight, ferry_small *s)
{
    char why[FERRY_CARD_WHY];
    const double n = (double)s->rows, inner = (double)(rows ? x->cols : x->rows);
    const double dense = n * n * inner;
    const double pairs =
        x->rows > 0 ? (double)x->nnz * (double)x->nnz / (double)x->rows : 0;

    if (!x->dense && (rows || (!atomic_load(&always) && dense > 500 * pairs))) return false;
    if (!worth(ctx, x->dense ? dense : 4 * pairs, x->dense ? DENSE : SPARSE,
               bytes_of(x) + bytes_in(s->rows, s->cols)))
        return false;
    const ferry_card_matrix m = matrix_for_card(x);
    return did(ctx, card->cross(rows, &m, mean, weight, s->data, why), why);
}

static void cuda_xxt(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    assert(s->rows == x->rows && s->cols == x->rows);
    if (!grams(ctx, true, x, NULL, NULL, s)) ferry_i_host_xxt(ctx, x, s);
}

static ferry_status cuda_xtx(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    assert(s->rows == x->cols && s->cols == x->cols);
    if (grams(ctx, false, x, NULL, NULL, s)) return FERRY_OK;
    return ferry_i_host_xtx(ctx, x, s);
}

/* A sparse X is centred in formulas, by who calls. */
static bool cuda_cross(ferry_ctx *ctx, const ferry_matrix *x, const double *mean,
                       const double *weight, ferry_small *s)
{
    return x->dense && grams(ctx, false, x, mean, weight, s);
}

static void cuda_sddmm(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *b,
                       const ferry_block *c, double *out)
{
    char why[FERRY_CARD_WHY];

    assert(b->rows == x->rows && c->rows == x->cols && b->k == c->k);
    if (worth(ctx, product_flops(x, b->k), x->dense ? DENSE : SPARSE,
              (x->dense ? 0 : bytes_of(x)) + 8.0 * (double)x->nnz +
                  bytes_in(b->rows, b->k) + bytes_in(c->rows, b->k))) {
        const ferry_card_matrix m = matrix_for_card(x);
        const int64_t k = b->k, ld = k > 0 ? k : 1;
        if (x->dense && did(ctx,
                            card->gemm(true, false, x->cols, x->rows, k, 1, c->data, ld,
                                       b->data, ld, 0, out, x->cols > 0 ? x->cols : 1, why),
                            why))
            return;
        if (!x->dense && did(ctx, card->sddmm(&m, k, b->data, c->data, out, why), why))
            return;
    }
    ferry_i_host_sddmm(ctx, x, b, c, out);
}

static void cuda_masked(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *a,
                        const ferry_block *c, ferry_block *n, ferry_block *d)
{
    char why[FERRY_CARD_WHY];

    assert(!x->dense && a->rows == x->rows && c->rows == x->cols && a->k == c->k);
    if (a->k <= 32 &&
        worth(ctx, 2 * product_flops(x, a->k), SPARSE,
              bytes_of(x) + 3 * bytes_in(a->rows, a->k) + bytes_in(c->rows, a->k))) {
        const ferry_card_matrix m = matrix_for_card(x);
        if (did(ctx,
                card->masked(&m, a->k, a->data, c->data, n ? n->data : NULL, d->data, why),
                why))
            return;
    }
    ferry_i_host_masked(ctx, x, a, c, n, d);
}

static ferry_status cuda_ridge_rows(ferry_ctx *ctx, const ferry_matrix *x,
                                    const ferry_block *q, double lambda, bool weighted,
                                    ferry_block *p, double *gain)
{
    char why[FERRY_CARD_WHY];
    const double k = (double)q->k;

    assert(!x->dense && q->rows == x->cols && p->rows == x->rows && p->k == q->k);
    if (q->k <= 64 &&
        worth(ctx, (double)x->nnz * k * k + (double)x->rows * k * k * k / 3, DENSE / 4,
              bytes_of(x) + bytes_in(q->rows, q->k) + bytes_in(p->rows, q->k))) {
        const ferry_card_matrix m = matrix_for_card(x);
        if (did(ctx,
                card->ridge_rows(&m, q->k, q->data, lambda, weighted, p->data, gain, why),
                why))
            return FERRY_OK;
    }
    return ferry_i_host_ridge_rows(ctx, x, q, lambda, weighted, p, gain);
}

/* Queries so that their products take a quarter of the card, and no more than 4 GB. */
static bool cuda_nearest(ferry_ctx *ctx, const ferry_matrix *x, const ferry_matrix *q,
                         const struct ferry_near *n)
{
    char why[FERRY_CARD_WHY];

    if (!x->dense || !q->dense || n->k > 512 ||
        !worth(ctx, product_flops(x, n->n), DENSE / 2,
               bytes_of(x) + bytes_in(n->n, q->cols) + 4.0 * (double)(n->n * n->most)))
        return false;
    const ferry_card_matrix xs = matrix_for_card(x), qs = matrix_for_card(q);
    const ferry_card_near to = {&xs,      &qs,      n->from,   n->n,
                                n->k,     n->most,  n->offset, n->factor,
                                n->slack, n->scale, n->found,  n->count};
    return did(ctx, card->nearest(&to, why), why);
}

/* ---- blocks and smalls ---- */

static bool gemm(ferry_ctx *ctx, bool ta, bool tb, int64_t m, int64_t n, int64_t inner,
                 double alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                 double beta, double *c)
{
    char why[FERRY_CARD_WHY];

    if (!worth(ctx, 2.0 * (double)m * (double)n * (double)inner, DENSE,
               8.0 * ((double)inner * (double)(m + n) +
                      (beta != 0 ? 2 : 1) * (double)(m * n))))
        return false;
    return did(ctx,
               card->gemm(ta, tb, m, n, inner, alpha, a, lda > 0 ? lda : 1, b,
                          ldb > 0 ? ldb : 1, beta, c, m > 0 ? m : 1, why),
               why);
}

/* A block of k columns is k x rows, column-major. */
static void cuda_gram(ferry_ctx *ctx, const ferry_block *b, const ferry_block *c,
                      ferry_small *s)
{
    assert(b->rows == c->rows && s->rows == b->k && s->cols == c->k);
    if (!gemm(ctx, false, true, b->k, c->k, b->rows, 1, b->data, b->k, c->data, c->k, 0,
              s->data))
        ferry_i_host_gram(ctx, b, c, s);
}

static void cuda_bmul(ferry_ctx *ctx, double alpha, const ferry_block *b,
                      const ferry_small *s, bool trans, double beta, ferry_block *y)
{
    assert(b->k == (trans ? s->cols : s->rows) && y->k == (trans ? s->rows : s->cols));
    if (!gemm(ctx, !trans, false, y->k, b->rows, b->k, alpha, s->data, s->rows, b->data,
              b->k, beta, y->data))
        ferry_i_host_bmul(ctx, alpha, b, s, trans, beta, y);
}

static void cuda_gemm(ferry_ctx *ctx, bool ta, bool tb, double alpha, const ferry_small *a,
                      const ferry_small *b, double beta, ferry_small *c)
{
    assert((ta ? a->cols : a->rows) == c->rows && (tb ? b->rows : b->cols) == c->cols);
    if (!gemm(ctx, ta, tb, c->rows, c->cols, ta ? a->rows : a->cols, alpha, a->data,
              a->rows, b->data, b->rows, beta, c->data))
        ferry_i_host_gemm(ctx, ta, tb, alpha, a, b, beta, c);
}

/* Flops of a factorisation: `share` n^3; it comes and goes. */
static bool factor_pays(ferry_ctx *ctx, double share, int64_t n, int64_t more, double rate)
{
    const double x = (double)n;

    return worth(ctx, share * x * x * x + 2 * x * x * (double)more, rate,
                 16 * x * (x + (double)more));
}

static ferry_status cuda_chol(ferry_ctx *ctx, ferry_small *a)
{
    char why[FERRY_CARD_WHY];
    int row = 0, code;

    assert(a->rows == a->cols);
    if (!factor_pays(ctx, 1.0 / 3, a->rows, 0, DENSE / 2)) return ferry_i_host_chol(ctx, a);
    code = card->chol(a->rows, a->data, &row, why);
    if (!did(ctx, code, why)) return ferry_i_host_chol(ctx, a);
    bool sound = code == FERRY_CARD_OK; /* NaN passes */
    for (int64_t j = 0; sound && j < a->rows; j++)
        if (!(FERRY_AT(a, j, j) > 0)) {
            sound = false;
            row = (int)j + 1;
        }
    if (sound) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_ENUMERIC,
                        "chol: the matrix is not positive definite (row %d)", row);
}

static void cuda_chol_solve(ferry_ctx *ctx, const ferry_small *l, ferry_small *x)
{
    char why[FERRY_CARD_WHY];
    const double n = (double)l->rows;

    assert(x->rows == l->rows);
    if (!worth(ctx, 2 * n * n * (double)x->cols, DENSE / 2,
               8 * n * n + 16 * n * (double)x->cols) ||
        !did(ctx, card->chol_solve(l->rows, x->cols, l->data, x->data, why), why))
        ferry_i_host_chol_solve(ctx, l, x);
}

static ferry_status cuda_solve(ferry_ctx *ctx, ferry_small *a, ferry_small *x)
{
    char why[FERRY_CARD_WHY];
    int row = 0, code;

    assert(a->rows == a->cols && x->rows == a->rows);
    if (!factor_pays(ctx, 2.0 / 3, a->rows, x->cols, DENSE / 2))
        return ferry_i_host_solve(ctx, a, x);
    code = card->solve(a->rows, x->cols, a->data, x->data, &row, why);
    if (!did(ctx, code, why)) return ferry_i_host_solve(ctx, a, x);
    if (code == FERRY_CARD_OK) return FERRY_OK;
    return ferry_i_fail(ctx, FERRY_ENUMERIC, "solve: the matrix is singular (row %d)", row);
}

/* What is not finite, or does not converge, host puts in words. */
static ferry_status cuda_eigh(ferry_ctx *ctx, ferry_small *a, double *w)
{
    char why[FERRY_CARD_WHY];
    const int64_t n = a->rows;
    double sum = 0;

    assert(a->rows == a->cols);
    /* half of its flops are bound by memory on the host */
    if (!factor_pays(ctx, 9, n, 0, DENSE / 2)) return ferry_i_host_eigh(ctx, a, w);
    for (int64_t e = 0; e < n * n; e++)
        sum += a->data[e] * 0;
    if (sum != 0 || n > 30000) return ferry_i_host_eigh(ctx, a, w);
    const int code = card->eigh(n, a->data, w, why);
    if (code == FERRY_CARD_NUMERIC || !did(ctx, code, why))
        return ferry_i_host_eigh(ctx, a, w);
    for (int64_t j = 0; j < n; j++)
        (void)ferry_i_fix_sign(n, a->data + j * n, 1);
    return FERRY_OK;
}

/* Lanczos is host's: its products go through the operator, which asks this engine. */
#define TABLE(its_name, its_summary)                                                       \
    {                                                                                      \
        .name = its_name, .summary = its_summary, .mul = cuda_mul, .tmul = cuda_tmul,      \
        .xxt = cuda_xxt, .xtx = cuda_xtx, .sddmm = cuda_sddmm, .masked = cuda_masked,      \
        .ridge_rows = cuda_ridge_rows, .sums = ferry_i_host_sums, .gram = cuda_gram,       \
        .bmul = cuda_bmul, .mulup = ferry_i_host_mulup, .bsums = ferry_i_host_bsums,       \
        .bscale = ferry_i_host_bscale, .axpby = ferry_i_host_axpby,                        \
        .dot = ferry_i_host_dot, .row_mul = ferry_i_host_row_mul,                          \
        .row_add = ferry_i_host_row_add, .pair_steps = ferry_i_host_pair_steps,            \
        .tiles_step = ferry_i_host_tiles_step, .tiles_model = ferry_i_host_tiles_model,    \
        .consensus_mul = ferry_i_host_consensus_mul, .eigs = ferry_i_host_eigs,            \
        .eigh = cuda_eigh, .svd = ferry_i_host_svd, .qr = ferry_i_host_qr,                 \
        .chol = cuda_chol, .chol_solve = cuda_chol_solve, .solve = cuda_solve,             \
        .gemm = cuda_gemm, .cross = cuda_cross, .nearest = cuda_nearest                    \
    }

const ferry_engine ferry_i_engine_cuda =
    TABLE("cuda", "an NVIDIA card for large operations, host for the rest");
const ferry_engine ferry_i_engine_auto =
    TABLE("auto", "cuda once the work pays for opening a card, host before and elsewhere");
