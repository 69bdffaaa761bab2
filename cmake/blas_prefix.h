/* The BLAS of a wheel (scipy-openblas32) gives its symbols a prefix, so that it meets no other in the process. Included
 * before everything else where FERRY_BLAS names that library. */
#ifndef FERRY_BLAS_PREFIX_H
#define FERRY_BLAS_PREFIX_H

#define FERRY_BLAS_PREFIX(name) scipy_##name /* of LAPACK's Fortran names */
#define cblas_dasum scipy_cblas_dasum
#define cblas_dgemm scipy_cblas_dgemm
#define cblas_dgemv scipy_cblas_dgemv
#define cblas_dnrm2 scipy_cblas_dnrm2
#define cblas_dscal scipy_cblas_dscal
#define cblas_dsyrk scipy_cblas_dsyrk
#define openblas_get_config scipy_openblas_get_config
#define openblas_get_corename scipy_openblas_get_corename
#define openblas_get_num_threads scipy_openblas_get_num_threads
#define openblas_set_num_threads scipy_openblas_set_num_threads

#endif
