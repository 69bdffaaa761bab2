/* cbt: codebook transfer. The rating pattern of one source, the first (option order: the
 * nearest), carried to the target by hard groups:
 *
 *   x_ij = R[u(i), v(j)],   min over u, v of sum_ij (x_ij - R[u(i), v(j)])^2
 *
 * with R the mean ratings of the blocks of the source's users and items. It is what mindtl's
 * mode paper (methods/mindtl) comes to with one source, whose weight is 1. */
#include "methods/shared/codebook.h"

static const ferry_opt cbt_opts[] = {CODEBOOK_OPTS};

/* With one source the simplex leaves no choice but lambda = 1, which is what CBT has. */
static codebook_options cbt_settings(const void *options)
{
    codebook_options o = *(const codebook_options *)options;

    o.as = "cbt";
    o.mode = MODE_PAPER;
    o.lambda = LAMBDA_SIMPLEX;
    o.use = 1;
    return o;
}

CODEBOOK_RUN_AS(cbt)

const ferry_method ferry_i_method_cbt = {
    .name = "cbt",
    .summary = "codebook transfer: the rating pattern of the first source, hard groups",
    .reference = "Li, Yang and Xue, Can Movies and Books Collaborate?, IJCAI 2009",
    .kind = FERRY_KIND_TRANSFER,
    .needs = FERRY_NEED_RATINGS | FERRY_NEED_SOURCE,
    CODEBOOK_METHOD(cbt_opts, cbt_fits, cbt_fit),
};
