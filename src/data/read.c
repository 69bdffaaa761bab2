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
#include "data/records.h"
#include "data/sqlite.h"
#include "data/text.h"

/* Formatted in two steps, because the caller's format may not be joined with ours. 768
 * bytes leave space for a path in the 1024 of the context's message. */
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
static void check_matrix(scope *s, const ferry_data *d)
{
    const ferry_matrix *x = d->x;
    const double *v = x->dense ? x->dense : x->value;
    const int64_t e = first_bad(scope_ctx(s), v, x->nnz, x->dense != NULL);
    int64_t row = 0;

    if (e == x->nnz) return;
    while (!x->dense && x->start[row + 1] <= e)
        row++;
    if (x->dense) row = e / x->cols;
    bad_at(s, d->path, 0, "row %lld, column %lld is %s, expected a number",
           (long long)row + 1, (long long)(x->dense ? e % x->cols : x->index[e]) + 1,
           isnan(v[e]) ? "NaN" : "infinite");
}

/* Ids and names are sets, so a repeated one shows up as a count that is too low:
 * "different" in the messages says so. */
static void check_counts(scope *s, const ferry_data *d)
{
    const int64_t rows = d->x        ? d->x->rows
                         : d->labels ? d->labels->n
                                     : 0,
                  ids = ferry_i_ids_count(d->ids), names = ferry_i_ids_count(d->features);

    if (d->ids && ids != rows)
        bad_at(s, d->path, 0, "%lld instances but %lld different ids", (long long)rows,
               (long long)ids);
    if (d->labels && d->labels->n != rows)
        bad_at(s, d->path, 0, "%lld instances but %lld labels", (long long)rows,
               (long long)d->labels->n);
    if (d->features && d->x && names != d->x->cols)
        bad_at(s, d->path, 0, "%lld features but %lld different names",
               (long long)d->x->cols, (long long)names);
}

/* What holds for every format. NaN is fine in labels and ratings (missing, to be predicted)
 * and in dense cells, not in weights of edges. */
static void check(scope *s, const ferry_data *d)
{
    const ferry_ctx *ctx = scope_ctx(s);
    int64_t e = 0;

    if (d->x) check_matrix(s, d);
    if (d->kind == FERRY_DATA_VIEW || d->kind == FERRY_DATA_LABELS) check_counts(s, d);
    if (d->labels && d->labels->kind == FERRY_LABEL_NUMBER &&
        (e = first_bad(ctx, d->labels->num, d->labels->n, true)) < d->labels->n)
        bad_at(s, d->path, 0, "label %lld is infinite", (long long)e + 1);
    if (d->weight && (e = first_bad(ctx, d->weight, d->edges, false)) < d->edges)
        bad_at(s, d->path, 0, "the weight of edge %lld is not finite", (long long)e + 1);
    if (d->ratings &&
        (e = first_bad(ctx, d->ratings->value, d->ratings->n, true)) < d->ratings->n)
        bad_at(s, d->path, 0, "rating %lld is infinite", (long long)e + 1);
}

/* ---- reading ---- */

/* What a read was asked for, and what came out. */
typedef struct request {
    const char *path;
    ferry_read_settings s;
    const ferry_opts *opts;     /* may be NULL; texts of s point into it */
    unsigned kinds;             /* bits of what may come out */
    const ferry_format *format; /* NULL: to be found */
    bool rows;                  /* of a database: CSV */
    bool as_before; /* the format is that of other data, not one given for this file */
    ferry_data *d;  /* freed unless all goes well */
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
static void call_format(scope *s, request *q, const ferry_format *f, const ferry_input *in,
                        const char *member)
{
    const ferry_data_kind as = first_kind(f->kinds & q->kinds);

    if (!(f->kinds & q->kinds))
        bad_at(s, in->path, 0, "format %s does not hold %s", f->info.name,
               kind_words[first_kind(q->kinds)]);
    if (member && !f->members)
        bad_at(s, in->path, 0, "format %s has no members, so #%s means nothing",
               f->info.name, member);
    if (f->read) {
        scope_check(s, f->read(scope_ctx(s), in, member, &q->s, as, &q->d));
        return;
    }
    q->d = have(s, ferry_i_data_new(f->info.name, in->path, as));
    source from = {.path = in->path, .set = &q->s, .as = as, .in = in};
    if (in->data) open_text(s, f->open, &from); /* else a folder or an archive */
    f->records(s, &from, q->d);
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
static void read_file(scope *s, request *q, const char *path, const char *member)
{
    ferry_ctx *ctx = scope_ctx(s);
    const ferry_format *f = q->format;
    const ferry_input *in = open_input(s, path), name_only = {.path = in->path};

    scope_check(s, ferry_i_ranks_same(ctx, in->path, in->data, in->size));
    if (in->size == 0) bad_at(s, in->path, 0, "empty file");
    if (!f || (!q->rows && has_other_format(q, path, in)))
        scope_check(s,
                    ferry_i_format_of(ctx, q->rows ? "rows.csv" : path, in, q->kinds, &f));
    if (!q->format && f == &ferry_i_format_delimited &&
        !(q->kinds & 1u << FERRY_DATA_RATINGS) &&
        ferry_i_format_ratings.sniff(in->data, in->size < 65536 ? in->size : 65536) >= 90)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: looks like ratings (user, item, value), but is read as a table of "
                    "features; ratings: FILE in a task reads ratings",
                    in->path);
    call_format(s, q, f, f->opens_itself ? &name_only : in, member);
}

/* The files of a folder or archive as data, so that the user can see what to pick. */
static void listing(scope *s, request *q, const char *path, const ferry_archive *tree)
{
    ferry_data *d = q->d = have(s, ferry_i_data_new("archive", path, FERRY_DATA_LISTING));

    d->listing = have(s, ferry_i_calloc(tree->n, sizeof *d->listing));
    d->n_listing = tree->n;
    for (int64_t i = 0; i < tree->n; i++) {
        const ferry_member *m = &tree->members[i];
        d->listing[i].name = have(s, ferry_i_strdup(m->name));
        d->listing[i].type =
            have(s, tree->folder ? ferry_i_strdup("file")
                                 : ferry_i_sprintf("%lld bytes", (long long)m->size));
    }
}

/* Which files there are decides what is read, and so where ranks that read together meet. */
static void same_tree(scope *s, const char *path, const ferry_archive *tree)
{
    ferry_text *names = new_text(s);

    for (int64_t i = 0; i < tree->n; i++)
        ferry_i_text_addf(names, "%s\n", tree->members[i].name);
    scope_check(s, ferry_i_ranks_same(scope_ctx(s), path, text_of(s, names), names->len));
}

/* A folder or archive without #: a format that reads it whole, the only file inside, or a
 * list of the files. */
static void read_tree(scope *s, request *q, const char *path)
{
    const ferry_archive *tree = open_tree(s, path);
    const ferry_input name_only = {.path = scope_text(s, "%s", path)};
    const ferry_format *f = q->format;

    same_tree(s, path, tree);
    if (tree->n == 0) bad_at(s, path, 0, "holds no files");
    /* a format given by name that reads single files: meant for the only file inside */
    if (f && !f->sniff_tree) f = NULL;
    /* a single file is never sniffed as a tree: an archive around one CSV is that CSV */
    if (!q->format && tree->n > 1) f = ferry_i_format_of_tree(tree, q->kinds);
    if (f) {
        call_format(s, q, f, &name_only, NULL);
    } else if (tree->n == 1) {
        read_file(s, q, scope_adopt(s, ferry_i_archive_path(tree, &tree->members[0])),
                  NULL);
    } else {
        if (q->format || !(q->kinds & 1u << FERRY_DATA_LISTING))
            bad_at(s, path, 0, "holds %lld files; pick one, such as %s%s%s",
                   (long long)tree->n, path, tree->folder ? "/" : "#",
                   tree->members[0].name);
        listing(s, q, path, tree);
    }
}

/* What a statement gives is a CSV file: its columns have names, whatever the cells look like. */
static void read_rows(scope *s, request *q)
{
    enum { YES = 1 };

    q->rows = true;
    q->s.header = YES;
    read_file(s, q, q->path, NULL);
}

static void free_parts(void *arg)
{
    char **part = arg;

    FERRY_FREE(part[0], part[1]);
}

/* Three meanings of '#': a member of an archive (which is then an ordinary file), a variable
 * inside a container format, or no '#' at all; a folder is an archive that is unpacked. */
static void read_any(scope *s, request *q)
{
    char **part = NEW(s, char *, 2); /* before and behind the # */
    struct stat info;

    scope_defer(s, free_parts, part);
    scope_check(s, ferry_i_split_path(scope_ctx(s), q->path, &part[0], &part[1]));
    const char *base = part[0], *member = part[1];
    const bool folder = stat(base, &info) == 0 && S_ISDIR(info.st_mode);
    if (!member && (folder || ferry_i_is_archive(base)))
        read_tree(s, q, base);
    else if (member && ferry_i_is_archive(base))
        read_file(s, q, q->path, NULL);
    else if (member && ferry_i_is_sqlite_file(base))
        read_rows(s, q);
    else
        read_file(s, q, base, member);
}

/* Every setting of `from` set in `into` too. */
static ferry_status overlay(ferry_ctx *ctx, const ferry_opts *from, ferry_opts *into)
{
    for (int64_t i = 0; ferry_opts_at(from, i); i++) {
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

/* label: none and id: none for the formats that have labels and ids by themselves. */
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

static void end_file(void *ctx)
{
    ferry_i_ranks_file(ctx, false);
}

static void read_body(scope *s, void *arg)
{
    request *q = arg;
    ferry_ctx *ctx = scope_ctx(s);

    scope_check(s, ferry_i_opts_parse(ctx, "reader", ferry_i_read_table,
                                      ferry_i_read_table_n, q->opts, &q->s));
    if (q->s.format[0]) scope_check(s, ferry_i_format_named(ctx, q->s.format, &q->format));
    const int64_t mark = scope_mark(s);
    ferry_i_ranks_file(ctx, true);
    scope_defer(s, end_file, ctx);
    read_any(s, q);
    scope_release(s, mark);
    const ferry_data *d = q->d;
    /* a file may turn out to hold something else than its format could */
    if (!(q->kinds & 1u << d->kind) && d->kind != FERRY_DATA_LISTING)
        bad_at(s, d->path, 0, "holds %s, expected %s", kind_words[d->kind],
               kind_words[first_kind(q->kinds)]);
    if (d->kind == FERRY_DATA_VIEW) leave_out(&q->s, q->d);
    if (!d->documents) check(s, d);
    if (d->kind != FERRY_DATA_LISTING) scope_check(s, remember(ctx, q->opts, q->d));
}

/* With the options that were given by name for this very file: `own` must all mean something to its format. */
static ferry_status run(ferry_ctx *ctx, request *q, const ferry_opts *opts,
                        const ferry_opts *own, ferry_data **out)
{
    q->opts = opts;
    *out = NULL;
    ferry_status st = scope_run(ctx, read_body, q);
    if (st == FERRY_OK && own) st = ferry_i_options_apply(ctx, q->d, own);
    if (st == FERRY_OK)
        *out = q->d;
    else
        ferry_data_free(q->d);
    return st;
}

/* Any kind: the file decides, and a container that leaves a choice becomes a listing. */
ferry_status ferry_read(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                        ferry_data **out)
{
    FERRY_ARGS_OUT(ctx, out, out, path);

    request q = {.path = path, .kinds = FERRY_ANY_KIND};

    return run(ctx, &q, opts, opts, out);
}

/* One kind: a CSV file that would be a table is edges when edges are wanted. */
ferry_status ferry_i_read_as(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                             ferry_data_kind as, ferry_data **out)
{
    request q = {.path = path, .kinds = 1u << as};

    return run(ctx, &q, opts, NULL, out);
}

ferry_status ferry_i_read_one_of(ferry_ctx *ctx, const char *path, const ferry_opts *opts,
                                 ferry_data **out)
{
    request q = {
        .path = path, .kinds = 1u << FERRY_DATA_VIEW, .s = {.label_elsewhere = true}};

    return run(ctx, &q, opts, NULL, out);
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

    return run(ctx, &q, opts, NULL, out);
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
    request q = {
        .path = path,
        .kinds = 1u << FERRY_DATA_VIEW,
        .as_before = !more || !ferry_opts_get(more, "format"),
        .s = {.like = true, .vocabulary = features, .idf = idf, .columns = columns}};

    *out = NULL;
    FERRY_TRY(ferry_i_opts_copy(ctx, read, &opts));
    FERRY_TRY(overlay(ctx, more, opts));
    FERRY_TRY(run(ctx, &q, opts, more, out));
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
