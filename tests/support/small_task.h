/* Small tasks for the tests of methods: domains from plain arrays. */
#ifndef SMALL_TASK_H
#define SMALL_TASK_H

#include "ferry_test.h"

/* A domain with one dense view "x" of n x cols (NULL data: no view). */
ferry_domain *small_domain(ferry_ctx *ctx, const char *name, ferry_role role, int64_t n,
                           int64_t cols, const double *x);
/* Add a view; ids and features may be NULL. Sparse leaves zeros out. */
void small_view(ferry_ctx *ctx, ferry_domain *d, const char *name, int64_t n, int64_t cols,
                const double *x, const char *const *ids, const char *const *features,
                bool sparse);
/* Classes by one letter for each instance from "1" on: "aab?" ('?': missing). */
void small_classes(ferry_ctx *ctx, ferry_domain *d, const char *letters);
/* Ratings of users "u0", "u1", ... for items "i0", "i1", ... */
void small_ratings(ferry_ctx *ctx, ferry_domain *d, int64_t n, const int *user,
                   const int *item, const double *value);
/* A task that owns the domains (source may be NULL). */
ferry_task *small_task(ferry_ctx *ctx, ferry_goal goal, ferry_domain *source,
                       ferry_domain *target);

/* Fit with "key=value key=value" and predict for d. */
ferry_prediction *fit_predict(ferry_ctx *ctx, const ferry_task *task, const char *method,
                              const char *settings, const ferry_domain *d);
ferry_model *fit_model(ferry_ctx *ctx, const ferry_task *task, const char *method,
                       const char *settings);
/* Options from "key=value key=value". */
ferry_opts *settings_of(ferry_ctx *ctx, const char *settings);

#endif
