/* Labels over each row's nearest rows (near_labels.h). */
#include "learn/near_labels.h"

#include <math.h>
#include <string.h>

#include "data/parts.h"
#include "learn/nearest.h"

static const field near_fields[] = {
    ARRAY(near_model, BLOCK, answers, .rows = SIZE(near_model, n), .cols = CLASSES),
    VALUE(near_model, INT, k),
    ARRAY(near_model, MATRIX, x, .rows = SIZE(near_model, n),
          .cols = SIZE(near_model, cols)),
    ARRAY(near_model, REALS, scale, .rows = SIZE(near_model, n)),
};
const table near_table = TABLE(near_model, near_fields);

/* The graph of the `use` nearest of each, among all instances; this process's rows of it. */
graph near_graph(scope *s, int64_t n, const int64_t *row, layout rows, int64_t here,
                 int64_t k, int64_t use, const int64_t *index, const double *dist)
{
    const near_edges e = join_near(s, n, k, use, index, dist);
    int64_t loops = 0;
    ferry_matrix *own = NULL;
    ferry_graph *made = NULL;

    for (int64_t i = 0; i < e.n; i++) {
        e.from[i] = row[e.from[i]];
        e.to[i] = row[e.to[i]];
    }
    scope_check(s, ferry_i_graph_new(scope_ctx(s), "near", rows.n, e.n, e.from, e.to,
                                     e.weight, &loops, &made));
    const ferry_status st =
        ferry_i_matrix_slice(scope_ctx(s), made->a, rows.first, here, &own);
    ferry_i_graph_free(made);
    scope_check(s, st);
    matrix a = matrix_own(s, own);
    a.rows = rows;
    return (graph){.name = "near", .a = a};
}

/* A row is answered by its nearest rows of the fit, one of these by itself (the induction formula of Delalleau, Bengio
 * and Le Roux, Efficient Non-Parametric Function Induction in Semi-Supervised Learning, AISTATS 2005): so an answer does
 * not depend on what else is asked. */
void near_answers(scope *s, const near_model *near, const uint8_t *there, matrix x,
                  block answers)
{
    int64_t *index = NEW(s, int64_t, x.n * near->k);
    double *dist = NEW(s, double, x.n * near->k);

    if (x.cols != near->x.cols)
        scope_fail(s, FERRY_EDATA, "tensor near.x: %lld columns, not %lld",
                   (long long)near->x.cols, (long long)x.cols);
    nearest(s, near->x, x, near->k, FERRY_EUCLIDEAN, NULL, index, dist);
    for (int64_t i = 0; i < x.n; i++) {
        const int64_t *of = index + i * near->k;
        const double *far = dist + i * near->k;
        const int64_t use = far[0] <= 1e-6 * near->scale[of[0]] ? 1 : near->k;
        double all = 0, *to = ROW(answers, i);
        if (there && !there[i]) continue;
        memset(to, 0, (size_t)answers.k * sizeof *to);
        for (int64_t e = 0; e < use; e++) {
            /* far away from all of them the nearest still count */
            const double w =
                fmax(near_weight(far[e], far[near->k - 1], near->scale[of[e]]), 1e-12);
            all += w;
            for (int64_t c = 0; c < answers.k; c++)
                to[c] += w * ROW(near->answers, of[e])[c];
        }
        for (int64_t c = 0; c < answers.k; c++)
            to[c] /= all;
    }
}
