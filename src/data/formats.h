/* Which format a file has. */
#ifndef FERRY_FORMATS_H
#define FERRY_FORMATS_H

#include "data/archive.h"

/* for `kinds`: whatever the file holds is fine */
#define FERRY_ANY_KIND (~0u)

const ferry_format *ferry_i_format_at(int64_t i); /* NULL past the end */
/* By name, or by extension without the point. FERRY_EINVAL names the nearest. */
ferry_status ferry_i_format_named(ferry_ctx *ctx, const char *name,
                                  const ferry_format **out);
/* Whether the path's extension (before .gz or .xz) is one of the format's. */
bool ferry_i_format_claims(const ferry_format *f, const char *path);
/* By extension, among several by content; else by content alone. kinds: bits of what is
 * wanted. */
ferry_status ferry_i_format_of(ferry_ctx *ctx, const char *path, const ferry_input *in,
                               unsigned kinds, const ferry_format **out);
/* The format that reads this folder or archive whole, or NULL. */
const ferry_format *ferry_i_format_of_tree(const ferry_archive *tree, unsigned kinds);

#endif
