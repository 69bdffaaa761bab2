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

#endif
