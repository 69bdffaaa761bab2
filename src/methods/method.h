/* The methods as the rest of the library reaches them: by name through the registry, and
 * fitted with the checks that all of them share (fit.c). Methods include this header for the
 * seam itself, model/method.h. */
#ifndef FERRY_METHOD_INTERNAL_H
#define FERRY_METHOD_INTERNAL_H

#include "model/model.h"

/* ---- the registry: every method of this build, by name ---- */

/* The descriptors are constants of the program, in the order of their names, and never
 * freed. */
int64_t ferry_i_method_count(void);
const ferry_method *ferry_i_method_at(int64_t i);
/* Unknown names get FERRY_EINVAL with the nearest known one. */
ferry_status ferry_i_method_get(ferry_ctx *ctx, const char *name, const ferry_method **out);

/* ---- fitting ---- */

/* Check or fit a method that need not be in the registry. */
ferry_status ferry_i_fits(ferry_ctx *ctx, const ferry_task *task,
                          const ferry_method *method, const ferry_opts *opts);
/* The model is new. *rep (may be NULL) is written only when the fit succeeds. A method
 * that is not in the registry can be fitted, but its model cannot be loaded again. */
ferry_status ferry_i_fit(ferry_ctx *ctx, const ferry_task *task, const ferry_method *method,
                         const ferry_opts *opts, ferry_model **out, ferry_fit_info *rep);
/* Whether a failure of a fit or of its answers is that method's alone: whoever runs several skips it, with the
 * sentence in the context. Not so when memory ran out, the user cancelled or the system cannot read or write. */
bool ferry_i_skips(ferry_status st);

/* What ferry_model_get_info() tells. */
int ferry_i_model_streams(const ferry_model *model);
int64_t ferry_i_model_columns(const ferry_model *model);
int64_t ferry_i_model_class_count(const ferry_model *model);
int64_t ferry_i_model_vote_count(const ferry_model *model);
/* Whether seeing a row changes the model even when its label never comes. */
int ferry_i_model_watches(const ferry_model *model);
/* How much each part of a model of a stream counts now, into w, under names that the model owns; w NULL: how many parts
 * there are, 0 where it has none. */
int64_t ferry_i_model_parts(const ferry_model *model, const char **names, double *w);
/* Likewise what it tells of its mistakes (bounds). */
int64_t ferry_i_model_counts(const ferry_model *model, const char **names, double *w);

#endif
