/* Fuzz the model loader, and predicting with whatever it let through. The checksum of the
 * input is made right first, or hardly anything would get past it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fuzz.h"
#include "methods/method.h"

#define PREFIX "{\"__metadata__\":{\"checksum\":\""

/* A copy for free(). */
static uint8_t *with_checksum(const uint8_t *bytes, size_t n)
{
    const size_t at = 8 + strlen(PREFIX);
    uint8_t *copy = malloc(n + 1);
    char hex[33];

    if (!copy) abort();
    memcpy(copy, bytes, n);
    if (n < at + 32 || memcmp(copy + 8, PREFIX, strlen(PREFIX)) != 0) return copy;
    memset(copy + at, '0', 32);
    const XXH128_hash_t h = XXH3_128bits(copy, n);
    (void)snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)h.high64,
                   (unsigned long long)h.low64);
    memcpy(copy + at, hex, 32);
    return copy;
}

/* Two instances in every view that is not out of all proportion; one of them twice as far
 * out. */
static void predict(ferry_ctx *ctx, const ferry_model *m)
{
    enum { MOST = 64 };
    static const double cells[2 * MOST] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char *const users[] = {"u", "v"}, *const items[] = {"i", "j"};
    static const double stars[] = {3, NAN};
    ferry_domain *d = NULL;
    ferry_prediction *p = NULL;

    if (ferry_domain_new(ctx, "d", FERRY_TARGET, &d) != FERRY_OK) return;
    for (int64_t i = 0; i < m->n_views; i++) {
        const int64_t cols = m->views[i]->x->cols;
        const ferry_array x = {.rows = 2, .cols = cols, .ld = cols, .data = cells};
        if (cols > 0 && cols <= MOST)
            fuzz_check(ctx, ferry_domain_add_dense(ctx, d, m->views[i]->name, &x, NULL, NULL, NULL));
    }
    if (m->goal == FERRY_RATE)
        fuzz_check(ctx, ferry_domain_set_ratings(ctx, d, 2, users, items, stars));
    fuzz_check(ctx, ferry_predict(ctx, m, d, &p));
    ferry_prediction_free(p);
    ferry_domain_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    ferry_ctx *ctx = fuzz_ctx();
    uint8_t *copy = with_checksum(bytes, n);
    ferry_dict *dict = NULL, *again = NULL;
    ferry_model *m = NULL;

    fuzz_check(ctx, ferry_i_dict_parse(ctx, "fuzz.ferry", copy, (int64_t)n, &dict));
    if (dict) fuzz_check(ctx, ferry_i_model_unpack(ctx, "fuzz.ferry", dict, NULL, &m));
    if (m) {
        predict(ctx, m);
        if (ferry_i_dict_new(ctx, &again) == FERRY_OK)
            fuzz_check(ctx, ferry_i_model_pack(ctx, m, again));
    }
    ferry_i_dict_free(again);
    ferry_model_free(m);
    ferry_i_dict_free(dict);
    free(copy);
    return 0;
}
