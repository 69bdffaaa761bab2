/* Rows to length 1 (linalg.h). */
#include <math.h>

#include "linalg/columns.h"
#include "linalg/linalg.h"

/* Sum of squares, NaN skipped. Eight sums, each of every eighth column, so that no addition
 * waits for the one before; by column and not by entry, so that zeros that are not stored
 * change no bit. */
static double squares(const double *v, const int32_t *index, int64_t n)
{
    double sum[8] = {0};

    if (!index) return ferry_i_row_squares(n, v);
    for (int64_t e = 0; e < n; e++)
        sum[index[e] % 8] += isnan(v[e]) ? 0 : v[e] * v[e];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
           ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* By the largest entry first where squares would over- or underflow. */
void ferry_i_row_to_unit(double sum, double *v, const int32_t *index, int64_t n)
{
    double most = 0;

    if (!(sum > 1e-300 && sum < 1e300)) {
        for (int64_t e = 0; e < n; e++)
            most = fmax(most, fabs(v[e])); /* fmax skips NaN */
        if (most == 0) return;
        for (int64_t e = 0; e < n; e++)
            v[e] /= most;
        sum = squares(v, index, n);
    }
    ferry_i_row_times(n, 1 / sqrt(sum), v);
}

void ferry_i_rows_to_unit(ferry_matrix *x)
{
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t at = x->dense ? i * x->cols : x->start[i];
        const int64_t n = x->dense ? x->cols : x->start[i + 1] - at;
        const int32_t *index = x->dense ? NULL : x->index + at;
        double *v = (x->dense ? x->dense : x->value) + at;
        ferry_i_row_to_unit(squares(v, index, n), v, index, n);
    }
}
