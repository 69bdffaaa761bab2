/* Images of handwritten digits, packed: digits.c says how. */
#ifndef FERRY_DIGITS_H
#define FERRY_DIGITS_H

enum { DIGIT_IMAGES = 1797, DIGIT_PIXELS = 64, DIGIT_PARTS = 20, DIGIT_ROOM = 4081 };

extern const char ferry_i_digits[DIGIT_PARTS][DIGIT_ROOM];

#endif
