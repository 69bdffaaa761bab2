/* Fuzz what lies before the readers: compressed files, archives, and finding the format. */
#include "fuzz.h"

static ferry_status touch(ferry_ctx *ctx, void *arg, const char *name, const char *bytes,
                          int64_t n)
{
    volatile unsigned *sum = arg;

    (void)ctx;
    *sum += (unsigned char)name[0];
    if (n > 0) *sum += (unsigned char)bytes[0] + (unsigned char)bytes[n - 1];
    return FERRY_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    ferry_ctx *ctx = fuzz_ctx();
    const char *path = fuzz_file(bytes, n);
    ferry_data *data = NULL;
    unsigned sum = 0;

    fuzz_check(ctx, ferry_i_each_member(ctx, path, touch, &sum));
    fuzz_check(ctx, ferry_read(ctx, path, NULL, &data));
    fuzz_use(ctx, data);
    return 0;
}
