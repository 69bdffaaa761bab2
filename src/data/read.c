/* Reading and writing a file of any format: find the format, let it read, check the result
 * the same way for all.
 *
 * A format hands over what the file says. That counts agree, that nothing is infinite, that NaN
 * stands in dense data only is checked here once, so that no format forgets it and all say it
 * in the same words. What the reader found out by itself (separator, roles, base of indices)
 * is kept with the data: new data for a model is read with the same settings. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/ranks.h"
#include "data/formats.h"
#include "data/text.h"

/* Formatted in two steps, because the caller's format may not be joined with ours. 768
 * bytes leave room for a path in the 1024 of the context's message. */
ferry_status ferry_i_bad(ferry_ctx *ctx, const char *path, int64_t line, const char *fmt,
                         ...)
{
    char text[768];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (line > 0)
        return ferry_i_fail(ctx, FERRY_EDATA, "%s:%lld: %s", path, (long long)line, text);
    return ferry_i_fail(ctx, FERRY_EDATA, "%s: %s", path, text);
}

/* Empty but for its kind, format (static, borrowed) and path (copied). NULL: no memory. */
ferry_data *ferry_i_data_new(const char *format, const char *path, ferry_data_kind kind)
{
    ferry_data *d = ferry_i_calloc(1, sizeof *d);

    if (!d) return NULL;
    d->kind = kind;
    d->format = format;
    d->path = ferry_i_strdup(path);
    if (d->path) return d;
    ferry_i_free(d);
    return NULL;
}

/* Frees every part of every kind: what a kind does not have is NULL. format is static. */
void ferry_data_free(ferry_data *d)
{
    if (!d) return;
    ferry_i_free(d->path);
    ferry_i_matrix_free(d->x);
    ferry_i_ids_free(d->ids);
    ferry_i_ids_free(d->features);
    ferry_i_labels_free(d->labels);
    ferry_i_free(d->idf);
    ferry_opts_free(d->read);
    ferry_i_ids_free(d->nodes);
    FERRY_FREE(d->from, d->to, d->weight);
    ferry_i_ratings_free(d->ratings);
    for (int64_t i = 0; i < d->n_listing; i++)
        FERRY_FREE(d->listing[i].name, d->listing[i].type);
    ferry_i_free(d->listing);
    ferry_i_documents_free(d->documents);
    ferry_i_free(d);
}

/* ---- checks that every format needs ---- */

/* The first entry that is infinite, or (unless nan_ok) NaN; n when all are fine. */
static int64_t first_bad(const ferry_ctx *ctx, const double *v, int64_t n, bool nan_ok)
{
    int64_t first = n;

#pragma omp parallel for num_threads(ctx->threads) reduction(min : first) if (n > 100000)
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(v[i]) && !(nan_ok && isnan(v[i])) && i < first) first = i;
    return first;
}

/* Names the first bad cell by row and column; a sparse entry is looked up from its number. */
static ferry_status check_matrix(ferry_ctx *ctx, const ferry_data *d)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = d->x;
    const int64_t n = x->nnz;
    const int64_t e = first_bad(ctx, x->dense ? x->dense : x->value, n, x->dense != NULL);

    if (e == n) goto done;
    int64_t row = 0, col = 0;
    if (x->dense) {
        row = e / x->cols;
        col = e % x->cols;
    } else {
        while (x->start[row + 1] <= e)
            row++;
        col = x->index[e];
    }
    FERRY_NEED(ctx, false, FERRY_EDATA,
               "%s: row %lld, column %lld is %s, expected a number", d->path,
               (long long)row + 1, (long long)col + 1,
               isnan((x->dense ? x->dense : x->value)[e]) ? "NaN" : "infinite");
done:
    return st;
}

/* Ids and names are sets, so a repeated one shows up as a count that is too low:
 * "different" in the messages says so. */
static ferry_status check_counts(ferry_ctx *ctx, const ferry_data *d)
{
    const int64_t rows = d->x ? d->x->rows : d->labels ? d->labels->n : 0;

    if (d->ids && ferry_i_ids_count(d->ids) != rows)
        return ferry_i_fail(ctx, FERRY_EDATA, "%s: %lld instances but %lld different ids",
                            d->path, (long long)rows, (long long)ferry_i_ids_count(d->ids));
    if (d->labels && d->labels->n != rows)
        return ferry_i_fail(ctx, FERRY_EDATA, "%s: %lld instances but %lld labels", d->path,
                            (long long)rows, (long long)(d->labels ? d->labels->n : 0));
    if (d->features && d->x && ferry_i_ids_count(d->features) != d->x->cols)
        return ferry_i_fail(ctx, FERRY_EDATA, "%s: %lld features but %lld different names",
                            d->path, (long long)(d->x ? d->x->cols : 0),
                            (long long)ferry_i_ids_count(d->features));
    return FERRY_OK;
}

/* What holds for every format. NaN is fine in labels and ratings (missing, to be predicted)
 * and in dense cells, not in weights of edges. */
static ferry_status check(ferry_ctx *ctx, const ferry_data *d)
{
    ferry_status st = FERRY_OK;

    if (d->x) FERRY_TRY(check_matrix(ctx, d));
    if (d->kind == FERRY_DATA_VIEW || d->kind == FERRY_DATA_LABELS)
        FERRY_TRY(check_counts(ctx, d));
    if (d->labels && d->labels->kind == FERRY_LABEL_NUMBER) {
        const int64_t e = first_bad(ctx, d->labels->num, d->labels->n, true);
        FERRY_NEED(ctx, e == d->labels->n, FERRY_EDATA, "%s: label %lld is infinite",
                   d->path, (long long)e + 1);
    }
    if (d->weight) {
        const int64_t e = first_bad(ctx, d->weight, d->edges, false);
        FERRY_NEED(ctx, e == d->edges, FERRY_EDATA,
                   "%s: the weight of edge %lld is not finite", d->path, (long long)e + 1);
    }
    if (d->ratings) {
        const int64_t e = first_bad(ctx, d->ratings->value, d->ratings->n, true);
        FERRY_NEED(ctx, e == d->ratings->n, FERRY_EDATA, "%s: rating %lld is infinite",
                   d->path, (long long)e + 1);
    }
done:
    return st;
}

/* ---- reading ---- */

/* What a read was asked for. */
typedef struct request {
    const char *path;
    ferry_read_settings s;
    unsigned kinds;             /* bits of what may come out */
    const ferry_format *format; /* NULL: to be found */
    bool as_before; /* the format is that of other data, not one said for this file */
} request;

static const char *const kind_words[] = {"features", "labels", "edges", "ratings",
                                         "a listing"};

/* The first of the kinds whose bits are set: views before labels before the rest. */
static ferry_data_kind first_kind(unsigned kinds)
{
    int k = 0;

    while (k < FERRY_DATA_LISTING && !(kinds & 1u << k))
        k++;
    return (ferry_data_kind)k;
}

/* Reads by format f, after the two questions that can be answered without it: does it hold
 * what is wanted, and does it know members. */
static ferry_status call_format(ferry_ctx *ctx, const request *q, const ferry_format *f,
                                const ferry_input *in, const char *member, ferry_data **out)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, f->kinds & q->kinds, FERRY_EDATA, "%s: format %s does not hold %s",
               in->path, f->info.name, kind_words[first_kind(q->kinds)]);
    FERRY_NEED(ctx, !member || f->members, FERRY_EDATA,
               "%s: format %s has no members, so #%s means nothing", in->path, f->info.name,
               member);
    FERRY_TRY(f->read(ctx, in, member, &q->s, first_kind(f->kinds & q->kinds), out));
done:
    return st;
}

/* Whether a file has another format than the data before it, as its name says and its content does not
 * deny: a table called x.svm is one. Any name may hold text. */
static bool has_other_format(const request *q, const char *path, const ferry_input *in)
{
    const ferry_format *f = NULL;
    const int64_t n = in->size < 65536 ? in->size : 65536;
    int most = -1;

    if (!q->as_before || !q->format || q->format == &ferry_i_format_text) return false;
    for (int64_t i = 0; (f = ferry_i_format_at(i)); i++) {
        if (!(f->kinds & q->kinds) || !ferry_i_format_claims(f, path)) continue;
        if (f == q->format) return false;
        const int sure = f->sniff ? f->sniff(in->data, n) : 0;
        most = sure > most ? sure : most;
    }
    return most >= 0 && most >= (q->format->sniff ? q->format->sniff(in->data, n) : 0);
}

/* A file or a member of an archive; `member` is what is left after #. */
static ferry_status read_file(ferry_ctx *ctx, const request *q, const char *path,
                              const char *member, ferry_data **out)
{
    ferry_status st = FERRY_OK;
    const ferry_format *f = q->format;
    ferry_input in = {0}, name_only = {0};

    FERRY_TRY(ferry_i_input_open(ctx, path, &in));
    FERRY_TRY(ferry_i_ranks_same(ctx, in.path, in.data, in.size));
    FERRY_NEED(ctx, in.size > 0, FERRY_EDATA, "%s: empty file", in.path);
    if (!f || has_other_format(q, path, &in))
        FERRY_TRY(ferry_i_format_of(ctx, path, &in, q->kinds, &f));
    name_only.path = in.path;
    if (!q->format && f == &ferry_i_format_delimited &&
        !(q->kinds & 1u << FERRY_DATA_RATINGS) &&
        ferry_i_format_ratings.sniff(in.data, in.size < 65536 ? in.size : 65536) >= 90)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: looks like ratings (user, item, value), but is read as a table of "
                    "features; ratings: FILE in a task reads ratings",
                    in.path);
    FERRY_TRY(call_format(ctx, q, f, f->opens_itself ? &name_only : &in, member, out));
done:
    ferry_i_input_close(&in);
    return st;
}

/* The files of a folder or archive as data, so that the user can see what to pick. */
static ferry_status listing(ferry_ctx *ctx, const char *path, const ferry_archive *tree,
                            ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_data *d = ferry_i_data_new("archive", path, FERRY_DATA_LISTING);

    FERRY_HAVE(ctx, d);
    FERRY_NEW(ctx, d->listing, tree->n);
    for (; d->n_listing < tree->n; d->n_listing++) {
        const ferry_member *m = &tree->members[d->n_listing];
        ferry_listing_entry *e = &d->listing[d->n_listing];
        e->name = ferry_i_strdup(m->name);
        e->type = tree->folder ? ferry_i_strdup("file")
                               : ferry_i_sprintf("%lld bytes", (long long)m->size);
        if (e->name && e->type) continue;
        d->n_listing++; /* so that both are freed */
        FERRY_HAVE(ctx, false);
    }
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    return st;
}

/* Which files there are decides what is read, and so where ranks that read together meet. */
static ferry_status same_tree(ferry_ctx *ctx, const char *path, const ferry_archive *tree)
{
    ferry_status st = FERRY_OK;
    ferry_text names = {0};

    for (int64_t i = 0; i < tree->n; i++)
        ferry_i_text_addf(&names, "%s\n", tree->members[i].name);
    FERRY_HAVE(ctx, !names.failed);
    FERRY_TRY(ferry_i_ranks_same(ctx, path, names.len ? names.s : "", names.len));
done:
    ferry_i_text_free(&names);
    return st;
}

/* A folder or archive without #: a format that reads it whole, the only file inside, or a
 * list of the files. */
static ferry_status read_tree(ferry_ctx *ctx, const request *q, const char *path,
                              ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_archive tree = {0};
    ferry_input in = {0}, name_only = {0};
    const ferry_format *f = q->format;
    char *only = NULL;

    FERRY_TRY(ferry_i_tree_list(ctx, path, (ferry_bring){0}, &in, &tree));
    FERRY_TRY(same_tree(ctx, path, &tree));
    FERRY_NEED(ctx, tree.n > 0, FERRY_EDATA, "%s: holds no files", path);
    /* a format given by name that reads single files: meant for the only file inside */
    if (f && !f->sniff_tree) f = NULL;
    /* a single file is never sniffed as a tree: an archive around one CSV is that CSV */
    if (!q->format && tree.n > 1) f = ferry_i_format_of_tree(&tree, q->kinds);
    if (f) {
        FERRY_HAVE(ctx, name_only.path = ferry_i_strdup(path));
        FERRY_TRY(call_format(ctx, q, f, &name_only, NULL, out));
    } else if (tree.n == 1) {
        FERRY_HAVE(ctx, only = ferry_i_archive_path(&tree, &tree.members[0]));
        FERRY_TRY(read_file(ctx, q, only, NULL, out));
    } else {
        FERRY_NEED(ctx, !q->format && (q->kinds & 1u << FERRY_DATA_LISTING), FERRY_EDATA,
                   "%s: holds %lld files; pick one, such as %s%s%s", path,
                   (long long)tree.n, path, tree.folder ? "/" : "#", tree.members[0].name);
        FERRY_TRY(listing(ctx, path, &tree, out));
    }
done:
    FERRY_FREE(only, name_only.path);
    ferry_i_archive_free(&tree);
    ferry_i_input_close(&in);
    return st;
}

/* Three meanings of '#': a member of an archive (which is then an ordinary file), a variable
 * inside a container format, or no '#' at all; a folder is an archive that is unpacked. */
static ferry_status read_any(ferry_ctx *ctx, const request *q, ferry_data **out)
{
    ferry_status st = FERRY_OK;
    char *base = NULL, *member = NULL;
    struct stat info;

    FERRY_TRY(ferry_i_split_path(ctx, q->path, &base, &member));
    const bool folder = stat(base, &info) == 0 && S_ISDIR(info.st_mode);
    if (!member && (folder || ferry_i_is_archive(base)))
        FERRY_TRY(read_tree(ctx, q, base, out));
    else if (member && ferry_i_is_archive(base))
        FERRY_TRY(read_file(ctx, q, q->path, NULL, out));
    else
        FERRY_TRY(read_file(ctx, q, base, member, out));
done:
    FERRY_FREE(base, member);
    return st;
}

/* Every setting of `from` set in `into` too. */
static ferry_status overlay(ferry_ctx *ctx, const ferry_opts *from, ferry_opts *into)
{
    for (int64_t i = 0; i < ferry_opts_count(from); i++) {
        const ferry_setting *s = ferry_opts_at(from, i);
        FERRY_PASS(ferry_opts_set(ctx, into, s->key, s->value));
    }
    return FERRY_OK;
}

/* d->read: the options given, then what the reader found out, then the format. */
static ferry_status remember(ferry_ctx *ctx, const ferry_opts *opts, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    ferry_opts *all = NULL;

    FERRY_TRY(ferry_i_opts_copy(ctx, opts, &all));
    FERRY_TRY(overlay(ctx, d->read, all));
    FERRY_TRY(ferry_opts_set(ctx, all, "format", d->format));
    ferry_opts_free(d->read);
    FERRY_MOVE(d->read, all);
done:
    ferry_opts_free(all);
    return st;
}

/* label: none and id: none for the formats that carry labels and ids by themselves. */
static void leave_out(const ferry_read_settings *s, ferry_data *d)
{
    if (strcmp(s->label, "none") == 0) {
        ferry_i_labels_free(d->labels);
        d->labels = NULL;
    }
    if (strcmp(s->id, "none") == 0) {
        ferry_i_ids_free(d->ids);
        d->ids = NULL;
    }
}

/* opts may be NULL; texts of q->s point into it. */
static ferry_status run(ferry_ctx *ctx, request *q, const ferry_opts *opts,
                        ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_data *d = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_opts_parse(ctx, "reader", ferry_i_read_table, ferry_i_read_table_n,
                                 opts, &q->s));
    if (q->s.format[0]) FERRY_TRY(ferry_i_format_named(ctx, q->s.format, &q->format));
    ferry_i_ranks_file(ctx, true);
    st = read_any(ctx, q, &d);
    ferry_i_ranks_file(ctx, false);
    FERRY_TRY(st);
    /* a file may turn out to hold something else than its format could */
    FERRY_NEED(ctx, q->kinds & 1u << d->kind || d->kind == FERRY_DATA_LISTING, FERRY_EDATA,
               "%s: holds %s, expected %s", d->path, kind_words[d->kind],
               kind_words[first_kind(q->kinds)]);
    if (d->kind == FERRY_DATA_VIEW) leave_out(&q->s, d);
    if (!d->documents) FERRY_TRY(check(ctx, d));
    if (d->kind != FERRY_DATA_LISTING) FERRY_TRY(remember(ctx, opts, d));
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    return st;
}

/* Any kind: the file decides, and a container that leaves a choice becomes a listing. */
ferry_status ferry_read(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                        ferry_data **out)
{
    FERRY_ARGS_OUT(ctx, out, out, path);

    request q = {.path = path, .kinds = FERRY_ANY_KIND};
    ferry_status st = run(ctx, &q, opts, out);

    if (st == FERRY_OK) st = ferry_i_options_apply(ctx, *out, opts);
    if (st != FERRY_OK) {
        ferry_data_free(*out);
        *out = NULL;
    }
    return st;
}

/* One kind: a CSV file that would be a table is edges when edges are wanted. */
ferry_status ferry_i_read_as(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                             ferry_data_kind as, ferry_data **out)
{
    request q = {.path = path, .kinds = 1u << as};

    return run(ctx, &q, opts, out);
}

/* The format is fixed, so that every file is taken as text; .raw stops before the
 * weights. */
ferry_status ferry_i_read_raw_text(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                                   ferry_data **out)
{
    request q = {.path = path,
                 .kinds = 1u << FERRY_DATA_VIEW,
                 .format = &ferry_i_format_text,
                 .s = {.raw = true}};

    return run(ctx, &q, opts, out);
}

bool ferry_i_was_feature(const ferry_read_settings *s, const char *name)
{
    const ferry_ids *v = s->like ? s->vocabulary : NULL;
    const size_t n = name ? strlen(name) : 0;

    if (!v || !name) return false;
    if (ferry_i_ids_find(v, name) >= 0) return true;
    for (int64_t k = 0; k < ferry_i_ids_count(v); k++) {
        const char *f = ferry_i_ids_at(v, k);
        if (strncmp(f, name, n) == 0 && f[n] == '=') return true;
    }
    return false;
}

/* The options of the first reading, then `more` over them (where the new file differs), and
 * the features that must come out: text drops words that are not among them, svmlight
 * leaves out columns beyond the ones known. */
ferry_status ferry_i_read_like(ferry_ctx *ctx, const char *path, const ferry_opts *read,
                               const ferry_ids *features, const double *idf,
                               int64_t columns, const ferry_opts *more, ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_opts *opts = NULL;
    request q = {.path = path, .kinds = 1u << FERRY_DATA_VIEW};

    *out = NULL;
    FERRY_TRY(ferry_i_opts_copy(ctx, read, &opts));
    q.as_before = !more || !ferry_opts_get(more, "format");
    FERRY_TRY(overlay(ctx, more, opts));
    q.s.like = true;
    q.s.vocabulary = features;
    q.s.idf = idf;
    q.s.columns = columns;
    FERRY_TRY(run(ctx, &q, opts, out));
    st = ferry_i_options_apply(ctx, *out, more);
    if (st != FERRY_OK) {
        ferry_data_free(*out);
        *out = NULL;
    }
done:
    ferry_opts_free(opts);
    return st;
}

/* The format by option or by extension. A name such as x.csv.gz is refused: a plain file
 * under it could not be read back by anybody who goes by the name. */
ferry_status ferry_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                         const ferry_opts *opts)
{
    FERRY_ARGS(ctx, data, path);

    ferry_status st = FERRY_OK;
    static const char *const kind_name[] = {[FERRY_DATA_VIEW] = "a view",
                                            [FERRY_DATA_GRAPH] = "a graph",
                                            [FERRY_DATA_RATINGS] = "ratings",
                                            [FERRY_DATA_LABELS] = "labels alone"};
    ferry_read_settings s;
    const ferry_format *f = NULL, *claimed = NULL;

    FERRY_NEED(ctx, data->kind != FERRY_DATA_LISTING, FERRY_EINVAL,
               "%s: holds several variables or files; pick one by FILE#NAME", data->path);
    FERRY_TRY(ferry_i_opts_parse(ctx, "writer", ferry_i_read_table, ferry_i_read_table_n,
                                 opts, &s));
    if (s.format[0]) {
        FERRY_TRY(ferry_i_format_named(ctx, s.format, &f));
        FERRY_NEED(ctx, f->write, FERRY_EINVAL, "%s: format %s is read but not written",
                   path, f->info.name);
    }
    FERRY_NEED(ctx, ferry_i_unpacked_len(path) == (int64_t)strlen(path), FERRY_EINVAL,
               "%s: compressed files are read but not written", path);
    /* several formats may share an extension (edges, ratings and tables in .csv): the first
     * that can hold what there is */
    for (int64_t i = 0; !f && ferry_i_format_at(i); i++) {
        const ferry_format *g = ferry_i_format_at(i);
        if (!g->write || !ferry_i_format_claims(g, path)) continue;
        if (g->kinds & 1u << data->kind)
            f = g;
        else
            claimed = g;
    }
    FERRY_NEED(ctx, f || !claimed, FERRY_EINVAL, "%s: format %s does not hold %s", path,
               claimed->info.name, kind_name[data->kind]);
    FERRY_NEED(
        ctx, f, FERRY_EINVAL,
        "%s: no format with this extension can be written; say which (convert --to NAME)",
        path);
    FERRY_TRY(f->write(ctx, data, path, opts));
done:
    return st;
}
