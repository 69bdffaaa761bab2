/* Outputs that differ: from the source's labels v to the target's y (thesis 5.4.3). */
#include <math.h>
#include <string.h>

#include "methods/hemap/hemap.h"

void ferry_i_hemap_outputs(const ferry_block *pys, const int32_t *v, ferry_block *out)
{
    const int64_t ky = out->k;

    memset(out->data, 0, (size_t)(out->rows * ky) * sizeof *out->data);
    for (int64_t label = 0; label < out->rows; label++) {
        double *p = FERRY_ROW(out, label);
        int64_t n = 0;
        for (int64_t i = 0; i < pys->rows; i++) {
            if (v[i] != label) continue;
            n++;
            for (int64_t y = 0; y < ky; y++)
                p[y] += FERRY_ROW(pys, i)[y];
        }
        for (int64_t y = 0; y < ky; y++)
            p[y] = n > 0 ? p[y] / (double)n : 1 / (double)ky;
    }
}

void ferry_i_hemap_bridge(const ferry_block *pvx, const ferry_block *pyv, ferry_block *pyx)
{
    memset(pyx->data, 0, (size_t)(pyx->rows * pyx->k) * sizeof *pyx->data);
    for (int64_t i = 0; i < pvx->rows; i++)
        for (int64_t v = 0; v < pvx->k; v++)
            for (int64_t y = 0; y < pyx->k; y++)
                FERRY_ROW(pyx, i)[y] += FERRY_ROW(pvx, i)[v] * FERRY_ROW(pyv, v)[y];
}

void ferry_i_hemap_line(int64_t n, const double *v, const ferry_block *y, double *a,
                        double *c)
{
    double mv = 0, my = 0, vv = 0, vy = 0, count = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        count++;
        mv += (v[i] - mv) / count;
        my += (FERRY_ROW(y, i)[0] - my) / count;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        vv += (v[i] - mv) * (v[i] - mv);
        vy += (v[i] - mv) * (FERRY_ROW(y, i)[0] - my);
    }
    *c = vv > 0 ? vy / vv : 0;
    *a = my - *c * mv;
}
