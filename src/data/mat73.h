/* MAT 7.3 files, which a program of their own reads (libexec/mat73.c says why). What it sends, all
 * whole numbers as int64_t in the machine's order:
 *
 *   file      MAGIC variables MAGIC
 *   variables outlines until NOTHING; or one variable with its values, or NOTHING
 *   variable  VARIABLE name class type complex logical rank dims... values
 *   name      bytes
 *   values    a cell array: count, elements (each a variable or NOTHING)
 *             else: NOTHING, or DENSE bytes, or SPARSE bytes(ir) bytes(jc) bytes(data)
 *   bytes     count, or -1 for none; then so many bytes
 */
#ifndef FERRY_MAT73_H
#define FERRY_MAT73_H

#include <stdint.h>

enum { MAT73_NOTHING, MAT73_VARIABLE, MAT73_DENSE, MAT73_SPARSE };
enum { MAT73_MAGIC = 0x3337544d, MAT73_DEEPEST = 16 };
#define MAT73_PROGRAM "ferry-mat73"

#endif
