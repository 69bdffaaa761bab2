/* Generators: each writes a task to try things with. */
#ifndef FERRY_GENERATE_INTERNAL_H
#define FERRY_GENERATE_INTERNAL_H

#include "core/core.h"
#include "ferry/generate.h"

/* One generator: what users see of it, and how it writes. */
typedef struct ferry_generator {
    ferry_generator_info info;
    /* of the struct that the option table fills */
    size_t options_size;
    /* Write the task into dir, which is there. Ranges of options were checked. */
    ferry_status (*write)(ferry_ctx *ctx, const void *options, const char *dir);
} ferry_generator;

extern const ferry_generator ferry_i_generator_digits, ferry_i_generator_social;
/* generate_goals.c */
extern const ferry_generator ferry_i_generator_regress, ferry_i_generator_multilabel,
    ferry_i_generator_rate, ferry_i_generator_embed, ferry_i_generator_stream,
    ferry_i_generator_select, ferry_i_generator_classes;

#endif
