/* The file formats: the options they read, the list of them, and which one a file has.
 *
 * A file says what it is in two ways, its extension and its first bytes, and either may be
 * wrong or missing. The extension narrows the choice, the content decides among those left;
 * without a known extension the content alone decides. Each format gives a number 0..100
 * for how sure it is, so that a signature (100) beats a guess (10..60). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/formats.h"
#include "data/sqlite.h"

/* One table for all formats (see ferry_read_settings). A line here is also an option of the
 * command line and of a task file. */
#define T ferry_read_settings
const ferry_opt ferry_i_read_table[] = {
    FERRY_OPT_STRING(T, format, "", "name of the format; else by extension, then content"),
    FERRY_OPT_ONE_OF(T, header, "auto|yes|no", "auto", "whether the first line has names"),
    FERRY_OPT_STRING(
        T, sep, "",
        "separator: comma, tab, semicolon, space, pipe or a text; else guessed"),
    FERRY_OPT_STRING(T, id, "", "id column: name, number from 1, first, last or none"),
    FERRY_OPT_STRING(T, label, "",
                     "label columns: name, number, first, last, none, a,b,c or last:14"),
    FERRY_OPT_STRING(T, drop, "", "columns to leave out: names or numbers, a,b,c"),
    FERRY_OPT_STRING(T, missing, "",
                     "text of a missing cell besides blank, NA, NaN, ?; several: a,b,c"),
    FERRY_OPT_ONE_OF(
        T, decimal, "point|comma", "point",
        "how numbers are written: 1.5, or 1,5 (in quotes where commas separate)"),
    FERRY_OPT_STRING(T, range, "",
                     "ratings: their range, such as 1..5; those outside are moved to its "
                     "ends; default: as found"),
    FERRY_OPT_STRING(T, scale, "", "ratings: the old name of range"),
    FERRY_OPT_STRING(T, labels_xml, "", "Mulan XML that names the labels of an ARFF file"),
    FERRY_OPT_YES_NO(T, transpose, "no", "the file has features x instances"),
    FERRY_OPT(T, INT, features, 0, 0, 2147483647,
              "svmlight: number of features; 0: as found"),
    FERRY_OPT_ONE_OF(T, index_base, "auto|zero|one", "auto", "svmlight: first index"),
    FERRY_OPT_ONE_OF(T, documents, "auto|lines|files", "auto",
                     "text: what one document is"),
    FERRY_OPT_STRING(T, files, "",
                     "text: files or folders to read of a tree, NAME or CLASS=NAME, a,b,c"),
    FERRY_OPT_STRING(T, sample, "",
                     "text: documents to draw, N or CLASS=N,CLASS=N; else all"),
    FERRY_OPT_ONE_OF(T, duplicates, "keep|drop", "keep",
                     "text: documents with the same words as an earlier one"),
    FERRY_OPT_ONE_OF(T, tokens, "words|bigrams|spaces", "words",
                     "text: words, words and pairs, or split at white space only"),
    FERRY_OPT_YES_NO(T, lower, "yes", "text: to lower case"),
    FERRY_OPT(T, INT, min_len, 2, 1, 1000, "text: shortest word"),
    FERRY_OPT(T, REAL, min_df, 1, 0, INFINITY,
              "text: fewest documents with a word; below 1 a share"),
    FERRY_OPT(T, REAL, max_df, inf, 0, INFINITY,
              "text: most documents with a word; below 1 a share"),
    FERRY_OPT_STRING(T, stop_words, "", "text: file of words to leave out, or english"),
    FERRY_OPT_ONE_OF(T, weight, "counts|binary|tf|tfidf", "counts", "text: cell values"),
    FERRY_OPT_ONE_OF(T, norm, "none|l1|l2", "none", "text: length of each document"),
    FERRY_OPT_ONE_OF(T, mail_headers, "keep|strip", "keep",
                     "text: strip mail headers but the subject"),
    FERRY_OPT_STRING(T, part, "",
                     "text: which random part of the words to keep, such as 1/2 or 1+2/3"),
    FERRY_OPT(T, REAL, max_empty, 0.02, 0, 1,
              "text: largest share of documents that may have no word left"),
};
#undef T
const int64_t ferry_i_read_table_n = FERRY_COUNT(ferry_i_read_table);
const ferry_opt_table ferry_i_read_options = {ferry_i_read_table,
                                              FERRY_COUNT(ferry_i_read_table)};

/* One line each. Where two are equally sure of a file, the earlier gets it: of those that
 * share an extension the usual one comes first. */
/* clang-format off */
static const ferry_format *const formats[] = {
    &ferry_i_format_svmlight,
    &ferry_i_format_npy,
    &ferry_i_format_npz,
    &ferry_i_format_fdata,
    &ferry_i_format_linqs,
    &ferry_i_format_mat,
    &ferry_i_format_arff,
    &ferry_i_format_mtx,
    &ferry_i_format_text,
    &ferry_i_format_delimited,
    &ferry_i_format_ratings,
    &ferry_i_format_edges,
    NULL,
};
/* clang-format on */

/* The list ends with a NULL, so that a line can be added anywhere in it. */
#define N_FORMATS (FERRY_COUNT(formats) - 1)

const ferry_format *ferry_i_format_at(int64_t i)
{
    return i >= 0 && i < N_FORMATS ? formats[i] : NULL;
}

const ferry_format_info *ferry_format_at(int64_t i)
{
    const ferry_format *f = ferry_i_format_at(i);

    return f ? &f->info : NULL;
}

/* Whether ext (".csv", n bytes) is one of the words of list. Extensions count in any case
 * of letters: files from Windows are often called .CSV. */
static bool has_extension(const char *list, const char *ext, size_t n)
{
    for (const char *s = list; *s;) {
        const size_t len = strcspn(s, " ");
        if (len == n && strncasecmp(s, ext, n) == 0) return true;
        s += len;
        s += *s == ' ';
    }
    return false;
}

/* The extension of a path, looking through .gz and the like: where it begins, and its
 * length. Without one the end of the path and length 0. A point in a folder's name is
 * none. */
static const char *extension_of(const char *path, size_t *n)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *end = base + ferry_i_unpacked_len(base);

    for (const char *s = end; s-- > base;) {
        if (*s != '.') continue;
        *n = (size_t)(end - s);
        return s;
    }
    *n = 0;
    return end;
}

bool ferry_i_format_claims(const ferry_format *f, const char *path)
{
    size_t n = 0;
    const char *ext = extension_of(path, &n);

    return n > 0 && has_extension(f->info.extensions, ext, n);
}

/* For ferry_i_nearest(), which suggests a name. */
static const char *name_at(const void *arg, int64_t i)
{
    (void)arg;
    return formats[i]->info.name;
}

/* A user may say "csv" or "tsv": names come first, then extensions, so that format=txt
 * works though no format is called so. */
ferry_status ferry_i_format_named(ferry_ctx *ctx, const char *name,
                                  const ferry_format **out)
{
    ferry_status st = FERRY_OK;
    char ext[32] = ".";

    *out = NULL;
    for (int64_t i = 0; i < N_FORMATS && !*out; i++)
        if (strcmp(formats[i]->info.name, name) == 0) *out = formats[i];
    /* "tsv" -> ".tsv", cut to what fits: no extension is as long */
    strncat(ext, name, sizeof ext - 2);
    for (int64_t i = 0; i < N_FORMATS && !*out; i++)
        if (has_extension(formats[i]->info.extensions, ext, strlen(ext))) *out = formats[i];
    if (!*out) {
        const char *near = ferry_i_nearest(name, N_FORMATS, name_at, NULL);
        FERRY_NEED(ctx, false, FERRY_EINVAL, "unknown format %s%s%s%s", name,
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
done:
    return st;
}

/* Whether word is one of those in a list with blanks between. */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *s = list; *s; s += strcspn(s, " "), s += *s == ' ')
        if (strcspn(s, " ") == n && strncmp(s, word, n) == 0) return true;
    return false;
}

bool ferry_i_option_applies(const char *format, const ferry_setting *s)
{
    const bool none = strcmp(s->value, "none") == 0;

    if (strcmp(s->key, "format") == 0) return true;
    if (none && (strcmp(s->key, "id") == 0 || strcmp(s->key, "label") == 0)) return true;
    for (int64_t i = 0; i < N_FORMATS; i++)
        if (strcmp(formats[i]->info.name, format) == 0)
            return has_word(formats[i]->options, s->key);
    return true; /* a listing, a generator */
}

/* Says whose option it is. */
ferry_status ferry_i_option_refuse(ferry_ctx *ctx, const char *path, const char *format,
                                   const char *option)
{
    char whose[200] = "";
    size_t n = 0;

    for (int64_t i = 0; i < N_FORMATS && n < sizeof whose; i++)
        if (has_word(formats[i]->options, option))
            n += (size_t)snprintf(whose + n, sizeof whose - n, "%s%s", n ? ", " : "",
                                  formats[i]->info.name);
    return ferry_i_fail(
        ctx, FERRY_EINVAL,
        "%s: read as %s, to which the option %s means nothing; it is for %s", path, format,
        option, whose);
}

ferry_status ferry_i_options_apply(ferry_ctx *ctx, const ferry_data *d,
                                   const ferry_opts *opts)
{
    for (int64_t i = 0; ferry_opts_at(opts, i); i++) {
        const ferry_setting *s = ferry_opts_at(opts, i);
        if (!ferry_i_option_applies(d->format, s))
            FERRY_PASS(ferry_i_option_refuse(ctx, d->path, d->format, s->key));
    }
    return FERRY_OK;
}

/* The surest of the formats that can give `kinds` and, if by_name, claim the extension. By
 * name, a format that is not sure at all (0) is still taken: the extension speaks for it.
 * By content alone it must be surer than 0. At most 64 KiB are looked at. */
static const ferry_format *surest(const char *path, const ferry_input *in, unsigned kinds,
                                  bool by_name)
{
    const ferry_format *best = NULL;
    const int64_t n = in->size < 65536 ? in->size : 65536;
    /* strictly greater wins, so the earlier of two that are equally sure */
    int most = by_name ? -1 : 0;

    for (int64_t i = 0; i < N_FORMATS; i++) {
        const ferry_format *f = formats[i];
        if ((f->kinds & kinds) == 0 || (by_name && !ferry_i_format_claims(f, path)))
            continue;
        const int sure = f->sniff ? f->sniff(in->data, n) : 0;
        if (sure <= most) continue;
        most = sure;
        best = f;
    }
    return best;
}

/* What people have and Ferry does not read: how to get on, by the end of the name. */
static const char *foreign(const char *path)
{
    static const char *const all[][2] = {
        {".parquet", "Parquet"}, {".feather", "Feather"}, {".arrow", "Arrow"},
        {".xlsx", "Excel"},      {".xls", "Excel"},       {".ods", "OpenDocument"},
        {".pkl", "pickle"},      {".pickle", "pickle"},   {".rds", "R"},
        {".rdata", "R"},         {".dta", "Stata"},       {".sav", "SPSS"},
        {".h5", "HDF5"},         {".hdf5", "HDF5"},       {".sqlite", "SQLite"},
        {".db", "SQLite"},       {".json", "JSON"},       {".jsonl", "JSON"},
        {".ndjson", "JSON"}};
    const size_t n = strlen(path);

    for (int64_t i = 0; i < FERRY_COUNT(all); i++) {
        const size_t k = strlen(all[i][0]);
        if (n > k && strcasecmp(path + n - k, all[i][0]) == 0) return all[i][1];
    }
    return NULL;
}

/* `kinds` rules out formats first: a .csv that is wanted as a graph is an edge list, wanted
 * as a view a table. */
ferry_status ferry_i_format_of(ferry_ctx *ctx, const char *path, const ferry_input *in,
                               unsigned kinds, const ferry_format **out)
{
    ferry_status st = FERRY_OK;

    *out = surest(path, in, kinds, true);
    if (!*out) *out = surest(path, in, kinds, false);
    /* one label a line looks like nothing in particular */
    if (!*out && kinds == 1u << FERRY_DATA_LABELS) *out = &ferry_i_format_delimited;
    FERRY_NEED(
        ctx, *out || !ferry_i_is_sqlite(in->data, in->size), FERRY_EDATA,
        "%s: a SQLite database: say which rows to read, as in '%s#SELECT * FROM orders'",
        in->path, in->path);
    const char *other = *out ? NULL : foreign(in->path);
    FERRY_NEED(ctx, !other, FERRY_EDATA,
               "%s: %s files are not read; save it as CSV (or NPZ, MAT, svmlight, ARFF)",
               in->path, other);
    FERRY_NEED(
        ctx, *out, FERRY_EDATA,
        "%s: neither its name nor its content tells its format; say which (--format NAME, "
        "or format: NAME in a task)",
        in->path);
done:
    return st;
}

/* By the names of the members alone: nothing is unpacked for it. */
const ferry_format *ferry_i_format_of_tree(const ferry_archive *tree, unsigned kinds)
{
    const ferry_format *best = NULL;
    int most = 0;

    for (int64_t i = 0; i < N_FORMATS; i++) {
        const ferry_format *f = formats[i];
        const int sure = f->sniff_tree && (f->kinds & kinds) ? f->sniff_tree(tree) : 0;
        if (sure <= most) continue;
        most = sure;
        best = f;
    }
    return best;
}
