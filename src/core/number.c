/* Numbers as text, fast and independent of the locale.
 *
 * Reading a CSV file is mostly this. A decimal number is m * 10^e with m of at most 19 digits
 * in nearly all files. Three ways, each correctly rounded, the quickest that applies:
 *   exact_real   m <= 2^53 and |e| <= 22: both are exact doubles, one operation rounds once
 *                (Clinger, How to read floating point numbers accurately, PLDI 1990)
 *   quick_real   |e| <= 27: an exact product or a division with remainder in 128 bits
 *   slow_real    everything else: the C library's strtod, with the locale's point
 * Writing tries 15, 16 and 17 digits and takes the first that reads back to the same bits,
 * by exact products in 128 bits where the size allows it, else by printf. */
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

__extension__ typedef unsigned __int128 u128;

/* q * 2^e, plus something less than 2^e when `more`, rounded to even. q is not 0. */
static double rounded(uint64_t q, bool more, int e)
{
    /* shift the highest bit to the top: 53 bits of m, 11 bits that decide the rounding */
    const int zeros = __builtin_clzll(q);
    uint64_t bits, m;
    double scale;

    q <<= zeros;
    m = q >> 11;
    const uint64_t low = q & 0x7ff, half = 0x400;
    if (low > half || (low == half && (more || (m & 1)))) m++;
    /* 2^(e - zeros + 11) built from its exponent; |e| is small, so it is a normal number */
    bits = (uint64_t)(1023 + e - zeros + 11) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return (double)m * scale; /* m <= 2^53: exact */
}

/* 5^0 to 5^27, the last below 2^63. */
static const uint64_t five[] = {1,
                                5,
                                25,
                                125,
                                625,
                                3125,
                                15625,
                                78125,
                                390625,
                                1953125,
                                9765625,
                                48828125,
                                244140625,
                                1220703125,
                                6103515625,
                                30517578125,
                                152587890625,
                                762939453125,
                                3814697265625,
                                19073486328125,
                                95367431640625,
                                476837158203125,
                                2384185791015625,
                                11920928955078125,
                                59604644775390625,
                                298023223876953125,
                                1490116119384765625,
                                7450580596923828125};

/* m * 10^e = m 5^e 2^e for |e| <= 27, where 5^|e| fits 63 bits: one exact product or one
 * division with remainder in 128 bits, then one rounding. m is not 0. */
static bool quick_real(uint64_t m, int64_t e, double *out)
{
    if (e < -27 || e > 27) return false;
    if (e >= 0) {
        const u128 p = (u128)m * five[e];
        const uint64_t high = (uint64_t)(p >> 64);
        if (high == 0) {
            *out = rounded((uint64_t)p, false, (int)e);
            return true;
        }
        const int zeros = __builtin_clzll(high);
        const u128 top =
            p << zeros; /* the first 64 bits are the number, the rest is `more` */
        *out = rounded((uint64_t)(top >> 64), (uint64_t)top != 0, (int)e + 64 - zeros);
        return true;
    }
    /* Both brought to 64 bits, so that the quotient has 62 or 63. */
    const int zm = __builtin_clzll(m), zd = __builtin_clzll(five[-e]);
    const u128 n = (u128)(m << zm) << 62;
    const uint64_t d = five[-e] << zd;
    *out = rounded((uint64_t)(n / d), n % d != 0, (int)e - zm + zd - 62);
    return true;
}

/* Eight digits at once: each step adds neighbours, so the text "12345678" becomes 12 34 56
 * 78, then 1234 5678, then the number. Needs the first byte in the lowest place. */
static bool eight_digits(const char *s, uint64_t *out)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t v;

    memcpy(&v, s, 8);
    /* all bytes are 3x, and still are after + 6: '0' .. '9' */
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

/* Sign, digits, point, digits, exponent: m gathers all digits, exponent counts those behind
 * the point. With up to 19 digits m is exact; more of them go the slow way, since m has
 * overflowed by then. */
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

/* INT64_MIN does not fit: its absolute value is beyond what is gathered. Nothing needs
 * it. */
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

/* |x| rounded to `digits` of them, 15 to 17, as m * 10^-k: |x| = q 2^e, so |x| 10^k is
 * q 5^k 2^(e + k), exact in 128 bits. For |x| from 1e-10 up to 9e14, where k is from 0 to 27 and e + k
 * is negative. Ties to even, as printf has them. */
static uint64_t decimal(double x, int digits, int *k)
{
    uint64_t bits, most = 1;

    memcpy(&bits, &x, sizeof bits);
    const int e = (int)(bits >> 52 & 0x7ff) - 1075;
    const uint64_t q = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    for (int i = 0; i < digits; i++)
        most *= 10;
    /* 10^(digits - 1) <= m: by the power of two first, which may be one too low */
    for (*k = digits - 1 - (int)floor((e + 52) * 0.30102999566398120);; --*k) {
        const u128 p = (u128)q * five[*k];
        const int shift = -(e + *k);
        const u128 rest = p & (((u128)1 << shift) - 1), half = (u128)1 << (shift - 1);
        uint64_t m = (uint64_t)(p >> shift);
        if (m >= most) continue;
        m += rest > half || (rest == half && (m & 1));
        if (m < most) return m;
    }
}

/* What %.15g would write of m * 10^-k, m of `digits` digits. */
static int put_decimal(char *buf, uint64_t m, int digits, int k)
{
    char text[24], *to = buf;
    const int e = digits - 1 - k;

    for (int i = digits; i > 0; m /= 10)
        text[--i] = (char)('0' + m % 10);
    while (digits > 1 && text[digits - 1] == '0')
        digits--;
    const int whole = e < -4 ? 1 : e < 0 ? 0 : e + 1; /* digits before the point */
    if (whole == 0) *to++ = '0';
    for (int i = 0; i < whole; i++)
        *to++ = i < digits ? text[i] : '0';
    if (digits > whole) *to++ = '.';
    for (int i = -1; e >= -4 && i > e; i--)
        *to++ = '0';
    for (int i = whole; i < digits; i++)
        *to++ = text[i];
    if (e < -4) to += snprintf(to, 8, "e-%02d", -e);
    *to = 0;
    return (int)(to - buf);
}

/* Whole numbers below 1e15 print without a point or exponent. -0 keeps its sign through %g.
 * 15 digits suffice for what people type, 17 for every double. */
int ferry_i_format_real(char *buf, double x)
{
    const double size = fabs(x);
    int n = 0;

    if (size < 1e15 && x == floor(x) && !(x == 0 && signbit(x)))
        return snprintf(buf, 32, "%lld", (long long)x);
    const bool quick = size >= 1e-10 && size < 9e14;
    for (int digits = 15; digits <= 17; digits++) {
        double back = 0;
        if (quick) {
            int k = 0;
            const uint64_t m = decimal(x, digits, &k);
            if (digits < 17 && (!quick_real(m, -k, &back) || back != size)) continue;
            *buf = '-';
            return put_decimal(buf + (x < 0), m, digits, k) + (x < 0);
        }
        n = snprintf(buf, 32, "%.*g", digits, x);
        char *comma = isfinite(x) ? strpbrk(buf, ",") : NULL;
        if (comma) *comma = '.'; /* a locale's point */
        if (ferry_i_parse_real(buf, buf + n, &back) == buf + n && back == x) break;
    }
    return n;
}
