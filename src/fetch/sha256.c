/* SHA-256 (FIPS 180-4), to check what was downloaded. */
#include <string.h>

#include "fetch/fetch.h"

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* One block of 64 bytes: section 6.2.2. */
static void block(uint32_t h[8], const uint8_t *m)
{
    uint32_t w[64], v[8];

    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)m[4 * t] << 24 | (uint32_t)m[4 * t + 1] << 16 |
               (uint32_t)m[4 * t + 2] << 8 | m[4 * t + 3];
    for (int t = 16; t < 64; t++) {
        const uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + w[t - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int t = 0; t < 64; t++) {
        const uint32_t e = v[4], a = v[0];
        const uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                            ((e & v[5]) ^ (~e & v[6])) + K[t] + w[t];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                            ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void ferry_i_sha256_begin(ferry_sha256 *s)
{
    *s = (ferry_sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                              0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void ferry_i_sha256_add(ferry_sha256 *s, const void *bytes, int64_t n)
{
    const uint8_t *p = bytes;

    while (n > 0) {
        const int64_t at = (int64_t)(s->bytes % 64), k = n < 64 - at ? n : 64 - at;
        memcpy(s->block + at, p, (size_t)k);
        s->bytes += (uint64_t)k;
        p += k;
        n -= k;
        if (s->bytes % 64 == 0) block(s->h, s->block);
    }
}

void ferry_i_sha256_end(ferry_sha256 *s, uint8_t out[32])
{
    const uint64_t bits = s->bytes * 8;
    uint8_t tail[72] = {0x80};
    const int64_t zeros =
        (119 - (int64_t)(s->bytes % 64)) % 64; /* up to 8 bytes of a block */

    for (int i = 0; i < 8; i++)
        tail[1 + zeros + i] = (uint8_t)(bits >> (56 - 8 * i));
    ferry_i_sha256_add(s, tail, 1 + zeros + 8);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}
