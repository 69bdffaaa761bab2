/* GBC's neighbour means and graph losses straight from the thesis (chapter 3):
 * one instance, one graph, one edge after the other. */
#include <math.h>
#include <string.h>

#include "oracle.h"

static bool has_instance(const gbc_problem *g, int64_t i, int64_t x)
{
    return g->mask[i * g->n + x] != 0;
}

/* What neighbour v adds to the mean of source i: its score, probability or label. */
static bool neighbour(const gbc_problem *g, int64_t i, const double *f, int64_t v,
                      int64_t j, double *value)
{
    const bool fixed = g->clamp && g->labelled[v], odds = g->logistic && g->soft;

    if (!fixed && !has_instance(g, i, v)) return false;
    *value = fixed ? g->y[v * g->k + j] : f[v * g->k + j];
    if (odds) *value = fixed ? (*value + 1) / 2 : ferry_i_sigmoid(*value);
    return true;
}

/* Et_i(x) = sum_g wg_g [sum_v A_g(x,v) f_i(v) / sum_v A_g(x,v)] / sum_g wg_g over the
 * graphs in which x has a neighbour that counts (3.3, renormalised). */
void oracle_gbc_neighbours(const gbc_problem *g, int64_t i, const double *f,
                           const double *wg, double *et, uint8_t *has)
{
    const int64_t k = g->k;

    memset(et, 0, (size_t)(g->n * k) * sizeof *et);
    memset(has, 0, (size_t)g->n);
    for (int64_t x = 0; x < g->n; x++) {
        for (int64_t j = 0; has_instance(g, i, x) && j < k; j++) {
            double top = 0, sum = 0;
            for (int64_t t = 0; t < g->q; t++) {
                const ferry_matrix *a = g->graph[t];
                double degree = 0, mean = 0, value = 0;
                for (int64_t e = a->start[x]; e < a->start[x + 1]; e++) {
                    if (!neighbour(g, i, f, a->index[e], j, &value)) continue;
                    mean += a->value[e] * value;
                    degree += a->value[e];
                }
                if (!(degree > 0)) continue;
                top += wg[t] * mean / degree;
                sum += wg[t];
            }
            has[x] = sum > 0;
            if (sum > 0) et[x * k + j] = top / sum;
        }
    }
}

/* m_g = sum_{a<b} A_ab sum_i w_i D(f_i(a), f_i(b)) / sum_{a<b} A_ab sum_i w_i over the
 * sources that have both; D squared, of probabilities for the logistic loss. */
void oracle_gbc_graph_loss(const gbc_problem *g, double *const *f, const double *w,
                           double *loss)
{
    const int64_t k = g->k;

    for (int64_t t = 0; t < g->q; t++) {
        const ferry_matrix *m = g->graph[t];
        double top = 0, sum = 0;
        for (int64_t a = 0; a < g->n; a++)
            for (int64_t e = m->start[a]; e < m->start[a + 1]; e++) {
                const int64_t b = m->index[e];
                for (int64_t i = 0; a < b && i < g->p; i++) {
                    if (!has_instance(g, i, a) || !has_instance(g, i, b)) continue;
                    for (int64_t j = 0; j < k; j++) {
                        double fa = f[i][a * k + j], fb = f[i][b * k + j];
                        if (g->logistic) fa = ferry_i_sigmoid(fa);
                        if (g->logistic) fb = ferry_i_sigmoid(fb);
                        top += m->value[e] * w[i] * (fa - fb) * (fa - fb) / (double)k;
                    }
                    sum += m->value[e] * w[i];
                }
            }
        loss[t] = sum > 0 ? top / sum : NAN;
    }
}
