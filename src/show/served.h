/* What a server tells about a model that no public call does: all that server/ sees of a model's
 * inside (scripts/layers checks it). */
#ifndef FERRY_SERVED_H
#define FERRY_SERVED_H

#include <stdbool.h>

#include "ferry/model.h"

/* What does not change while a model learns, and so needs no lock: method, goal, views, columns, streams; and how many
 * classes it has now. */
ferry_model_info ferry_i_served_about(const ferry_model *m);
int64_t ferry_i_served_classes(const ferry_model *m);
/* The only view of a model that predicts from rows: its name; whether its columns have names,
 * and these; the column of a name, -1: there is none. */
const char *ferry_i_served_view(const ferry_model *m);
bool ferry_i_served_named(const ferry_model *m);
const char *ferry_i_served_feature(const ferry_model *m, int64_t j); /* NULL: it has none */
int64_t ferry_i_served_column(const ferry_model *m, const char *name);
/* Of its columns at fit, 3 x columns: mean, standard deviation, share missing. NULL: not known. */
const double *ferry_i_served_inputs(const ferry_model *m);
/* How many experts a model has, with their names and weights unless these are NULL. */
int64_t ferry_i_served_experts(const ferry_model *m, const char **name, double *weight);

/* The mean of values, and its 95 % interval by the rule of an evaluation's verdict; NaN: there
 * are too few. */
typedef struct ferry_served_mean {
    double mean, low, high;
} ferry_served_mean;
ferry_served_mean ferry_i_served_mean(int64_t n, const int8_t *value);

/* Parts of pages that are shared with report.html: scripts that draw, and their style. */
const char *ferry_i_served_vega(void);
const char *ferry_i_served_plots(void);
const char *ferry_i_served_style(void);

#endif
