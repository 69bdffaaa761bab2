/* Numbers as text, fast and independent of the locale. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* strtod on [s, end) with a point whatever the locale: the text has been checked already,
 * so only the point can differ, and it is replaced by the locale's. */
static double slow_real(const char *s, const char *end)
{
    char buf[128], *text = buf;
    const char *point = localeconv()->decimal_point;
    const size_t n = (size_t)(end - s), np = strlen(point);
    double x = 0;

    if (n + np + 1 > sizeof buf) {
        text = ferry_i_calloc((int64_t)(n + np + 1), 1);
        if (!text) return NAN;
    }
    const char *dot = memchr(s, '.', n);
    const size_t head = dot ? (size_t)(dot - s) : n;
    memcpy(text, s, head);
    if (dot) {
        memcpy(text + head, point, np);
        memcpy(text + head + np, dot + 1, n - head - 1);
        text[n - 1 + np] = 0;
    } else {
        text[n] = 0;
    }
    x = strtod(text, NULL);
    if (text != buf) ferry_i_free(text);
    return x;
}

#if LDBL_MANT_DIG == 64
/* m * 10^e by one rounded operation on 64-bit mantissas. Both factors are exact for |e| <=
 * 27, so the result is within half a unit of the 64th bit; rounding it to 53 bits is right
 * unless it is that near a halfway point. */
static bool quick_real(uint64_t m, int64_t e, double *out)
{
    static const long double ten[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                      1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                      1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                      1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    uint64_t bits;

    if (e < -27 || e > 27) return false;
    const long double x = e < 0 ? (long double)m / ten[-e] : (long double)m * ten[e];
    memcpy(&bits, &x, sizeof bits);
    const unsigned low = bits & 0x7ff;
    if (low >= 0x3ff && low <= 0x401) return false;
    *out = (double)x;
    return true;
}
#else
static bool quick_real(uint64_t m, int64_t e, double *out)
{
    (void)m, (void)e, (void)out;
    return false;
}
#endif

/* Eight digits at once: each step adds neighbours, so the text "12345678" becomes 12 34 56
 * 78, then 1234 5678, then the number. Needs the first byte in the lowest place. */
static bool eight_digits(const char *s, uint64_t *out)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t v;

    memcpy(&v, s, 8);
    if (((v & 0xf0f0f0f0f0f0f0f0) |
         (((v + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0) >> 4)) != 0x3333333333333333)
        return false;
    v -= 0x3030303030303030;
    v = (v * 10 + (v >> 8)) & 0x00ff00ff00ff00ff;
    v = (v * 100 + (v >> 16)) & 0x0000ffff0000ffff;
    *out = (v * 10000 + (v >> 32)) & 0xffffffff;
    return true;
#else
    (void)s, (void)out;
    return false;
#endif
}

/* Digits from p on into m (modulo 2^64: the caller counts them). Returns their end. */
static const char *read_digits(const char *p, const char *end, uint64_t *m)
{
    uint64_t eight;

    while (end - p >= 8 && eight_digits(p, &eight)) {
        *m = *m * 100000000 + eight;
        p += 8;
    }
    for (; p < end && is_digit(*p); p++)
        *m = 10 * *m + (uint64_t)(*p - '0');
    return p;
}

/* "e-12" at p into *exponent, added. Returns its end; p when there is none. */
static const char *read_exponent(const char *p, const char *end, int64_t *exponent)
{
    const char *q = p + 1;
    const bool down = q < end && *q == '-';
    int64_t e = 0;

    if (p == end || (*p != 'e' && *p != 'E')) return p;
    if (q < end && (*q == '-' || *q == '+')) q++;
    if (q == end || !is_digit(*q)) return p;
    for (; q < end && is_digit(*q); q++)
        if (e < 100000) e = 10 * e + (*q - '0');
    *exponent += down ? -e : e;
    return q;
}

/* m * 10^e where one correctly rounded operation on exact doubles gives it. */
static bool exact_real(uint64_t m, int64_t e, double *out)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    if (FLT_EVAL_METHOD != 0 || m > (uint64_t)1 << 53 || e < -22 || e > 22) return false;
    *out = e < 0 ? (double)m / ten[-e] : (double)m * ten[e];
    return true;
}

const char *ferry_i_parse_real(const char *s, const char *end, double *out)
{
    const char *p = s, *from;
    uint64_t m = 0;
    int64_t exponent = 0, digits = 0;
    double x = 0;

    const bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    from = p;
    for (; p < end && is_digit(*p); p++) /* mostly few */
        m = 10 * m + (uint64_t)(*p - '0');
    digits = p - from;
    if (p < end && *p == '.') {
        const char *point = p;
        p = read_digits(p + 1, end, &m);
        exponent = point + 1 - p;
        digits -= exponent;
    }
    if (digits == 0) return NULL;
    if (digits > 19) /* only zeros in front do not count */
        for (; from < p && (*from == '0' || *from == '.'); from++)
            digits -= *from == '0';
    if (p < end && (*p | 0x20) == 'e') p = read_exponent(p, end, &exponent);
    if (digits > 19) {
        *out = slow_real(s, p);
        return isnan(*out) ? NULL : p;
    }
    if (m != 0 && !exact_real(m, exponent, &x) && !quick_real(m, exponent, &x)) {
        *out = slow_real(s, p);
        return isnan(*out) ? NULL : p;
    }
    *out = minus ? -x : x;
    return p;
}

const char *ferry_i_parse_int(const char *s, const char *end, int64_t *out)
{
    const char *p = s;
    uint64_t x = 0;

    const bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || !is_digit(*p)) return NULL;
    for (; p < end && is_digit(*p); p++) {
        if (x > (uint64_t)INT64_MAX / 10) return NULL;
        x = 10 * x + (uint64_t)(*p - '0');
        if (x > (uint64_t)INT64_MAX) return NULL;
    }
    *out = minus ? -(int64_t)x : (int64_t)x;
    return p;
}

int ferry_i_format_real(char *buf, double x)
{
    int n = 0;

    if (fabs(x) < 1e15 && x == floor(x) && !(x == 0 && signbit(x)))
        return snprintf(buf, 32, "%lld", (long long)x);
    for (int digits = 15; digits <= 17; digits++) {
        double back = 0;
        n = snprintf(buf, 32, "%.*g", digits, x);
        char *comma = isfinite(x) ? strpbrk(buf, ",") : NULL;
        if (comma) *comma = '.'; /* a locale's point */
        if (ferry_i_parse_real(buf, buf + n, &back) == buf + n && back == x) break;
    }
    return n;
}
