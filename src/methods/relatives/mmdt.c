/* mmdt: max-margin domain transforms. The target's rows are mapped into the
 * source's features by a matrix W that is learned together with the classifiers
 * there:
 *
 *   min over W, theta   1/2 |W|^2 + 1/2 sum_k |theta_k|^2 + Cs sum_ik h(y_ik
 * theta_k'x_i) + Ct sum_jk h(y_jk theta_k'W z_j)
 *
 * x_i and z_j: labelled rows of source and target with a constant 1 beside
 * their features; y_ik = 1 if row i is of class k, else -1; h(m) = max(0, 1 -
 * m)^2. By turns, from the classifiers of the source alone on,
 *
 *   W      = sum_k theta_k g_k',  g_k = sum_j a_jk y_jk z_j:  coordinate
 * descent on the dual in a >= 0, whose kernel is (z_j'z_l)(theta_k'theta_m), so
 * that W is never written out theta  a support vector machine for each class on
 * the rows x_i and W z_j
 *
 * until the objective falls no more. A new row has the scores theta_k'W z. The
 * paper has the hinge, not its square: with the square each step has one
 * solution.
 *
 * Hoffman, Rodner, Donahue, Saenko and Darrell, Efficient Learning of
 * Domain-invariant Image Representations, ICLR 2013. */
#include <math.h>
#include <string.h>

#include "learn/linear.h"
#include "model/seam.h"

enum { MOST = 20000 }; /* labelled rows of the target times classes */

typedef struct mmdt_options {
    double source_C, target_C, tol;
    int64_t iterations;
} mmdt_options;

static const ferry_opt mmdt_opts[] = {
    FERRY_OPT(mmdt_options, REAL, source_C, 0.05, 1e-9, 1e9,
              "cost of errors on rows of the source"),
    FERRY_OPT(mmdt_options, REAL, target_C, 1, 1e-9, 1e9,
              "cost of errors on rows of the target"),
    FERRY_OPT(mmdt_options, INT, iterations, 25, 1, 1e6,
              "of transform and classifiers, at most"),
    FERRY_OPT(mmdt_options, REAL, tol, 1e-5, 0, 1,
              "stop where the objective falls by less, times itself"),
};

typedef struct mmdt_state {
    block v;   /* columns of the target x classes: W'theta */
    double *b; /* classes */
} mmdt_state;
static const field mmdt_fields[] = {
    ARRAY(mmdt_state, BLOCK, v, .rows = OF_VIEW(0), .cols = CLASSES),
    ARRAY(mmdt_state, REALS, b, .rows = CLASSES),
};
static const table mmdt_table = TABLE(mmdt_state, mmdt_fields);

/* ---- steps ---- */

typedef struct mmdt {
    const mmdt_options *o;
    int64_t k, n, m;        /* classes; rows of source and target */
    const int32_t *ys, *yt; /* their classes */
    block x, z;             /* rows, with the constant */
    small zz;               /* m x m */
    block theta;            /* k x columns of x */
    small tt;               /* k x k */
    block a;                /* m x k: dual */
    block g;                /* k x columns of z */
    block margin;           /* m x k: theta_k'W z_j */
} mmdt;

static double sign_of(int32_t y, int64_t k)
{
    return y == k ? 1 : -1;
}

/* Rows with a 1 beside them. */
static block with_constant(scope *s, const domain *d)
{
    const matrix x = d->view[0].x;
    const block to = block_new(s, HERE(x.n), x.n, x.cols + 1);

    for (int64_t i = 0; i < x.n; i++) {
        row_add(row_at(x, i), 1, ROW(to, i));
        ROW(to, i)[x.cols] = 1;
    }
    return to;
}

static double dot(const double *a, const double *b, int64_t n)
{
    double all = 0;

    for (int64_t i = 0; i < n; i++)
        all += a[i] * b[i];
    return all;
}

/* margin_jk = sum_lm a_lm y_lm (z_j'z_l)(theta_k'theta_m). */
static void set_margins(scope *s, mmdt *f)
{
    const int64_t mark = scope_mark(s);
    const block az = block_new(s, HERE(f->m), f->m, f->k);

    for (int64_t j = 0; j < f->m; j++)
        for (int64_t l = 0; l < f->m; l++)
            for (int64_t k = 0; k < f->k; k++)
                ROW(az, j)
    [k] += AT(f->zz, j, l) * ROW(f->a, l)[k] * sign_of(f->yt[l], k);
    bmul(s, az, f->tt, f->margin);
    scope_release(s, mark);
}

/* W for these theta: min over a >= 0 of 1/2 a'(Q + I / (2 Ct)) a - sum a, one
 * at a time. */
static void transform_step(scope *s, mmdt *f)
{
    const double own = 1 / (2 * f->o->target_C);

    for (int64_t i = 0; i < f->k; i++)
        for (int64_t j = 0; j < f->k; j++)
            AT(f->tt, i, j) = dot(ROW(f->theta, i), ROW(f->theta, j), f->theta.k);
    set_margins(s, f);
    for (int sweep = 0; sweep < 1000; sweep++) {
        double worst = 0, largest = 0;
        for (int64_t j = 0; j < f->m; j++)
            for (int64_t k = 0; k < f->k; k++) {
                double *a = &ROW(f->a, j)[k];
                const double y = sign_of(f->yt[j], k),
                             slope = y * ROW(f->margin, j)[k] - 1 + own * *a,
                             bend = AT(f->zz, j, j) * AT(f->tt, k, k) + own,
                             next = fmax(0, *a - slope / bend), step = next - *a;
                worst = fmax(worst, fabs(step));
                largest = fmax(largest, next);
                if (step == 0) continue;
                *a = next;
                for (int64_t l = 0; l < f->m; l++)
                    for (int64_t c = 0; c < f->k; c++)
                        ROW(f->margin, l)
                [c] += step * y * AT(f->zz, l, j) * AT(f->tt, c, k);
            }
        if (worst <= 1e-9 * largest) break;
    }
    memset(f->g.at, 0, (size_t)(f->g.n * f->g.k) * sizeof(double));
    for (int64_t j = 0; j < f->m; j++)
        for (int64_t k = 0; k < f->k; k++)
            for (int64_t e = 0; e < f->g.k; e++)
                ROW(f->g, k)
    [e] += ROW(f->a, j)[k] * sign_of(f->yt[j], k) * ROW(f->z, j)[e];
}

/* theta on the source's rows and, where there is a W, on the target's. */
static void classifier_step(scope *s, mmdt *f, bool both)
{
    const int64_t mark = scope_mark(s), n = f->n + (both ? f->m : 0), d = f->x.k;
    const matrix rows = matrix_dense(s, HERE(n), n, d);
    const linear_options how = {.loss = LOSS_HINGE, .C = 1};

    memcpy(rows.m->dense, f->x.at, (size_t)(f->n * d) * sizeof(double));
    for (int64_t j = 0; both && j < f->m; j++)
        for (int64_t k = 0; k < f->k; k++) {
            const double by = dot(ROW(f->g, k), ROW(f->z, j), f->z.k);
            for (int64_t e = 0; e < d; e++)
                rows.m->dense[(f->n + j) * d + e] += by * ROW(f->theta, k)[e];
        }
    const block theta = block_new(s, HERE(f->k), f->k, d);
    newton p = newton_new(s, rows, &how);
    for (int64_t k = 0; k < f->k; k++) {
        for (int64_t i = 0; i < n; i++) {
            p.y[i] = sign_of(i < f->n ? f->ys[i] : f->yt[i - f->n], k);
            p.c[i] = i < f->n ? f->o->source_C : f->o->target_C;
        }
        newton_solve(s, &p, 1e-9);
        memcpy(ROW(theta, k), p.w, (size_t)d * sizeof(double));
    }
    /* W stays what it was, sum theta_k g_k' of the old theta: only the next step
   * needs it, and makes it anew */
    copy(theta, f->theta);
    scope_release(s, mark);
}

static double hinge(double margin)
{
    return margin < 1 ? (1 - margin) * (1 - margin) : 0;
}

/* The objective after a transform step, whose margins are at hand. */
static double objective(const mmdt *f)
{
    double all = 0;

    for (int64_t k = 0; k < f->k; k++) {
        all += AT(f->tt, k, k) / 2;
        for (int64_t l = 0; l < f->k; l++) /* |W|^2 */
            all += AT(f->tt, k, l) * dot(ROW(f->g, k), ROW(f->g, l), f->g.k) / 2;
        for (int64_t i = 0; i < f->n; i++)
            all += f->o->source_C * hinge(sign_of(f->ys[i], k) *
                                          dot(ROW(f->theta, k), ROW(f->x, i), f->x.k));
        for (int64_t j = 0; j < f->m; j++)
            all += f->o->target_C * hinge(sign_of(f->yt[j], k) * ROW(f->margin, j)[k]);
    }
    return all;
}

/* ---- all of it ---- */

static void alternate(scope *s, mmdt *f)
{
    double before = INFINITY, now = INFINITY;
    ferry_stop stop = FERRY_STOP_MAX_ITER;
    int64_t t = 0;

    classifier_step(s, f, false);
    transform_step(s, f);
    while (t < f->o->iterations && stop == FERRY_STOP_MAX_ITER) {
        classifier_step(s, f, true);
        transform_step(s, f);
        now = objective(f);
        const bool finish = progress(s, "mmdt", ++t, f->o->iterations, now);
        if (before - now <= f->o->tol * fabs(now)) stop = FERRY_STOP_TOL;
        if (finish) stop = FERRY_STOP_FINISH;
        before = now;
    }
    report_fit(s, t, now, stop);
}

static void mmdt_fit(scope *s, scope *keep, const problem *p, const void *options,
                     void *state)
{
    const domain *from = &p->d[0], *to = target(p);
    mmdt_state *m = state;
    mmdt f = {.o = options,
              .k = p->classes,
              .n = from->n,
              .m = to->n,
              .ys = from->known,
              .yt = to->known,
              .x = with_constant(s, from),
              .z = with_constant(s, to)};

    if (f.m * f.k > MOST)
        scope_fail(s, FERRY_ENEEDS,
                   "mmdt: %lld labelled instances of '%s' and %lld classes are too many "
                   "(their product is %d at most)",
                   (long long)f.m, to->name, (long long)f.k, (int)MOST);
    f.zz = small_new(s, f.m, f.m);
    for (int64_t i = 0; i < f.m; i++)
        for (int64_t j = 0; j < f.m; j++)
            AT(f.zz, i, j) = dot(ROW(f.z, i), ROW(f.z, j), f.z.k);
    f.theta = block_new(s, HERE(f.k), f.k, f.x.k);
    f.tt = small_new(s, f.k, f.k);
    f.a = block_new(s, HERE(f.m), f.m, f.k);
    f.g = block_new(s, HERE(f.k), f.k, f.z.k);
    f.margin = block_like(s, f.a);
    alternate(s, &f);
    const int64_t cols = f.z.k - 1;
    m->v = block_new(keep, HERE(cols), cols, f.k);
    m->b = NEW(keep, double, f.k);
    for (int64_t k = 0; k < f.k; k++)
        for (int64_t l = 0; l < f.k; l++) {
            for (int64_t e = 0; e < cols; e++)
                ROW(m->v, e)[k] += AT(f.tt, k, l) * ROW(f.g, l)[e];
            m->b[k] += AT(f.tt, k, l) * ROW(f.g, l)[cols];
        }
}

static void mmdt_scores(scope *s, const void *state, const domain *d, block out)
{
    const mmdt_state *m = state;

    mul(s, d->view[0].x, m->v, out);
    for (int64_t i = 0; i < out.n; i++)
        for (int64_t k = 0; k < out.k; k++)
            ROW(out, i)[k] += m->b[k];
}

static void mmdt_fits(scope *s, const problem *shape, const void *options)
{
    (void)options;
    if (shape->n_sources != 1)
        scope_fail(s, FERRY_ENEEDS, "mmdt learns from one source; this task has %d",
                   shape->n_sources);
}

const method method_mmdt = {
    .name = "mmdt",
    .summary = "the target's rows mapped into the source's features, by their "
               "classes",
    .reference = "Hoffman, Rodner, Donahue, Saenko, Darrell, Efficient Learning of "
                 "Domain-invariant Image Representations, ICLR 2013",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_JOINT,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_ONE_VIEW,
    .wants = {.as = VIEWS_APART, .domains = WANT_SOURCES | WANT_TARGET, .labelled = true},
    METHOD_OPTIONS(mmdt_opts, mmdt_options),
    .state = &mmdt_table,
    .asked = true, /* no better than the target's labels */
    .whole = true,
    .fits = mmdt_fits,
    .fit = mmdt_fit,
    .scores = mmdt_scores,
};
