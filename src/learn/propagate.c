/* Label propagation: the harmonic function of Zhu, Ghahramani and Lafferty, Semi-supervised
 * learning using Gaussian fields and harmonic functions, ICML 2003.
 *
 *   f_i = onehot(y_i) where it is known, else sum_j w_ij f_j / sum_j w_ij
 *
 * by Gauss-Seidel sweeps in the order of the rows. Class mass normalisation then scales the
 * classes so that the rows without a label share `mass` among them.
 *
 * Gauss-Seidel uses what the sweep has already changed, and so needs no second array and
 * fewer sweeps than substitution; it is in one thread, so the order of rows is always
 * the same. Propagation over several graphs with weights of their own is in graphs.c. */
#include <math.h>

#include "learn/learn.h"

/* The first guess: what is known, else the shares of the known classes.
 * Shares are built up in the first unknown row and copied from there; without any known
 * row all classes are alike. */
static void start(int64_t c, const int32_t *cls, ferry_block *f)
{
    double *share = NULL; /* in the first row that is not known */
    double total = 0;

    for (int64_t i = 0; i < f->rows; i++) {
        double *row = FERRY_ROW(f, i);
        for (int64_t k = 0; k < c; k++)
            row[k] = cls[i] == k;
        if (!share && cls[i] < 0) share = row;
        total += cls[i] >= 0;
    }
    for (int64_t i = 0; share && i < f->rows; i++)
        if (cls[i] >= 0) share[cls[i]] += 1 / total;
    for (int64_t k = 0; share && !(total > 0) && k < c; k++)
        share[k] = 1 / (double)c;
    for (int64_t i = 0; i < f->rows; i++)
        for (int64_t k = 0; cls[i] < 0 && k < c; k++)
            FERRY_ROW(f, i)[k] = share[k];
}

/* One sweep; the largest change of an entry.
 * O(edges c). A row without neighbours keeps its first guess. */
static double sweep(const ferry_matrix *w, int64_t c, const int32_t *cls, ferry_block *f)
{
    double most = 0;

    for (int64_t i = 0; i < w->rows; i++) {
        double *row = FERRY_ROW(f, i), total = 0;
        if (cls[i] >= 0) continue;
        for (int64_t e = w->start[i]; e < w->start[i + 1]; e++)
            total += w->value[e];
        if (!(total > 0)) continue;
        for (int64_t k = 0; k < c; k++) {
            double sum = 0;
            for (int64_t e = w->start[i]; e < w->start[i + 1]; e++)
                sum += w->value[e] * FERRY_ROW(f, w->index[e])[k];
            most = fmax(most, fabs(sum / total - row[k]));
            row[k] = sum / total;
        }
    }
    return most;
}

/* The values are convex combinations of the known ones in every sweep, so they stay in
 * [0, 1] and rows sum to 1, until the class masses are normalised. */
int64_t ferry_i_propagate(const ferry_matrix *w, int64_t c, const int32_t *cls,
                          int64_t max_iter, double tol, const double *mass, ferry_block *f)
{
    int64_t iter = 0;

    start(c, cls, f);
    while (iter < max_iter) {
        iter++;
        if (sweep(w, c, cls, f) < tol) break;
    }
    /* f_ik <- mass_k f_ik / sum over the unknown i of f_ik */
    for (int64_t k = 0; mass && k < c; k++) {
        double sum = 0;
        for (int64_t i = 0; i < f->rows; i++)
            sum += cls[i] < 0 ? FERRY_ROW(f, i)[k] : 0;
        for (int64_t i = 0; sum > 0 && i < f->rows; i++)
            if (cls[i] < 0) FERRY_ROW(f, i)[k] *= mass[k] / sum;
    }
    return iter;
}
