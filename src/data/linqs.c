/* LINQS relational sets (Sen et al., Collective classification in network data, AI Magazine
 * 2008). Four kinds of file, told apart by their first line:
 *   X.content        id, 0/1 words ..., class            -> view with ids and classes
 *   X.cites          cited, citing                       -> graph
 *   *.NODE.*.tab     "NODE kind", then the features' names and defaults, then
 *                    "id label=1 w-rat=0.09 ..."         -> view
 *   *.DIRECTED.*.tab "DIRECTED name", "NO_FEATURES", then "1 paper:2 | paper:3" -> graph
 * An archive that holds such files gives the view, or the graph where one is wanted.
 *
 * Traps: cites may name papers that content does not have (the domain leaves such edges out,
 * with a warning); words of content have no names; edges count as undirected, whichever way
 * they are cited.
 */
#include <string.h>

#include "data/fields.h"
#include "data/formats.h"
#include "data/graph_file.h"
#include "data/lines.h"

/* A sparse matrix being gathered, row by row, with the ids and classes of its rows. */
typedef struct rows {
    const char *path;
    int64_t width;   /* fields of a line */
    int64_t *start;  /* n + 1 */
    int32_t *index;  /* entries */
    double *value;   /* entries */
    ferry_span *cls; /* n, text of the class; none: missing */
    int64_t n, cap, nnz, cap_index, cap_value, cap_cls;
    /* one id a row; names of the columns, none for content files */
    ferry_ids *ids, *features;
} rows;

static void rows_free(rows *r)
{
    FERRY_FREE(r->start, r->index, r->value, r->cls);
    ferry_i_ids_free(r->ids);
    ferry_i_ids_free(r->features);
}

/* path is borrowed. Free with rows_free() also after a failure. */
static ferry_status rows_new(ferry_ctx *ctx, const char *path, rows *r)
{
    *r = (rows){.path = path, .ids = ferry_i_ids_new(), .features = ferry_i_ids_new()};
    return r->ids && r->features ? FERRY_OK : ferry_i_nomem(ctx);
}

/* Behind what the row at hand has; the caller sees to the order of columns. */
static ferry_status add_entry(ferry_ctx *ctx, rows *r, int64_t column, double value)
{
    if (!FERRY_GROW(r->index, r->nnz, r->cap_index) ||
        !FERRY_GROW(r->value, r->nnz, r->cap_value))
        return ferry_i_nomem(ctx);
    r->index[r->nnz] = (int32_t)column;
    r->value[r->nnz++] = value;
    return FERRY_OK;
}

/* Begin a row; the caller adds entries, then ends it. The row counts only when the caller
 * raises r->n. start has room for one more than n, for the end of the last row. */
static ferry_status begin_row(ferry_ctx *ctx, rows *r, const ferry_field *id, int64_t line)
{
    ferry_status st = FERRY_OK;
    bool added = false;
    char show[44];

    FERRY_HAVE(ctx, FERRY_GROW(r->start, r->n + 1, r->cap) &&
                        FERRY_GROW(r->cls, r->n, r->cap_cls) &&
                        ferry_i_field_id(r->ids, id, &added) >= 0);
    if (id->n == 0) {
        st = ferry_i_bad(ctx, r->path, line, "expected an id in front");
    } else if (!added) {
        st = ferry_i_bad(ctx, r->path, line, "id \"%s\" repeats",
                         ferry_i_field_show(id, show));
    }
    r->start[r->n] = r->nnz;
    r->cls[r->n] = (ferry_span){0};
done:
    return st;
}

/* A span into the file: labels are made from all of them at the end. */
static ferry_status set_class(ferry_ctx *ctx, rows *r, const ferry_field *f, int64_t line)
{
    if (f->n == 0) return ferry_i_bad(ctx, r->path, line, "expected a class at the end");
    r->cls[r->n] = (ferry_span){f->s, f->n};
    return FERRY_OK;
}

/* Copy what was gathered into d. Classes are brought into one order (label_texts.c), ids
 * and names move to d. Without names of features d has none. */
static ferry_status give(ferry_ctx *ctx, rows *r, int64_t cols, ferry_data *d)
{
    if (r->n == 0) return ferry_i_bad(ctx, r->path, 0, "holds no instance");
    r->start[r->n] = r->nnz;
    FERRY_PASS(ferry_i_matrix_csr(ctx, r->n, cols, r->nnz, &d->x));
    memcpy(d->x->start, r->start, (size_t)(r->n + 1) * sizeof *r->start);
    if (r->nnz > 0) {
        memcpy(d->x->index, r->index, (size_t)r->nnz * sizeof *r->index);
        memcpy(d->x->value, r->value, (size_t)r->nnz * sizeof *r->value);
    }
    FERRY_PASS(ferry_i_labels_of_texts(ctx, r->n, r->cls, &d->labels));
    FERRY_MOVE(d->ids, r->ids);
    if (ferry_i_ids_count(r->features) > 0) {
        FERRY_MOVE(d->features, r->features);
    }
    return FERRY_OK;
}

/* ---- content ---- */

/* id, width - 2 cells, class. Most cells are "0", which is passed over without parsing. */
static ferry_status content_line(ferry_ctx *ctx, rows *r, const ferry_lines *l,
                                 ferry_field *f)
{
    ferry_status st = FERRY_OK;
    char show[44];
    double x = 0;
    const int64_t n = ferry_i_fields(l->s, l->e, " ", f, r->width);

    FERRY_NEED_AT(ctx, n == r->width, r->path, l->line, "expected %lld columns, found %lld",
                  (long long)r->width, (long long)n);
    FERRY_TRY(begin_row(ctx, r, &f[0], l->line));
    /* cells 1 .. n - 2 are the words, columns 0 .. n - 3 of x */
    for (int64_t j = 1; j < n - 1; j++) {
        if (f[j].n == 1 && f[j].s[0] == '0') continue;
        FERRY_NEED_AT(ctx, ferry_i_field_real(&f[j], &x), r->path, l->line,
                      "column %lld: expected a finite number, found \"%s\"",
                      (long long)(j + 1), ferry_i_field_show(&f[j], show));
        if (x != 0) FERRY_TRY(add_entry(ctx, r, j - 1, x));
    }
    FERRY_TRY(set_class(ctx, r, &f[n - 1], l->line));
    r->n++;
done:
    return st;
}

/* The first line gives the number of columns; f is reused for every line. */
static ferry_status read_content(ferry_ctx *ctx, rows *r, ferry_lines l, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    ferry_field *f = NULL;

    while (ferry_i_full_line(&l, "")) {
        if (!f) {
            r->width = ferry_i_fields(l.s, l.e, " ", NULL, 0);
            FERRY_NEW(ctx, f, r->width);
        }
        FERRY_TRY(content_line(ctx, r, &l, f));
    }
    /* all columns but the id and the class */
    FERRY_TRY(give(ctx, r, r->width - 2, d));
done:
    ferry_i_free(f);
    return st;
}

/* ---- nodes ---- */

/* "cat=1,2,3:label" "numeric:w-rat:0.0" "string:summary": the numeric ones are features.
 * The value behind a second colon is the default; it is not used: what a node does not name
 * is 0. */
static ferry_status declare(ferry_ctx *ctx, rows *r, const ferry_field *f, int64_t line)
{
    ferry_status st = FERRY_OK;
    bool added = false;
    char show[44];
    const char *colon = memchr(f->s, ':', (size_t)f->n), *end = f->s + f->n;

    FERRY_NEED_AT(ctx, colon, r->path, line, "expected type:name, found \"%s\"",
                  ferry_i_field_show(f, show));
    /* type : name : default */
    const ferry_field type = {f->s, colon - f->s, 0};
    const char *stop = memchr(colon + 1, ':', (size_t)(end - colon - 1));
    const ferry_field name = {colon + 1, (stop ? stop : end) - colon - 1, 0};
    if (!ferry_i_field_is(&type, "numeric"))
        goto done; /* classes and texts are no features */
    FERRY_HAVE(ctx, ferry_i_field_id(r->features, &name, &added) >= 0);
    if (!added)
        st = ferry_i_bad(ctx, r->path, line, "feature \"%s\" is declared twice",
                         ferry_i_field_show(&name, show));
done:
    return st;
}

/* Entries of the row at hand in ascending order of their columns (insertion sort: rows are
 * short and mostly in order). False when a column repeats. */
static bool sort_row(rows *r)
{
    for (int64_t e = r->start[r->n] + 1; e < r->nnz; e++) {
        const int32_t index = r->index[e];
        const double value = r->value[e];
        int64_t at = e;
        for (; at > r->start[r->n] && r->index[at - 1] > index; at--) {
            r->index[at] = r->index[at - 1];
            r->value[at] = r->value[at - 1];
        }
        if (at > r->start[r->n] && r->index[at - 1] == index) return false;
        r->index[at] = index;
        r->value[at] = value;
    }
    return true;
}

/* One "name=value" of a node. label= is the class whatever was declared; summary= lists the
 * words once more and is passed over. */
static ferry_status assign(ferry_ctx *ctx, rows *r, const ferry_field *f, int64_t line)
{
    char show[44];
    double x = 0;
    const char *eq = memchr(f->s, '=', (size_t)f->n);

    if (!eq)
        return ferry_i_bad(ctx, r->path, line, "expected name=value, found \"%s\"",
                           ferry_i_field_show(f, show));
    const ferry_field name = {f->s, eq - f->s, 0},
                      value = {eq + 1, f->s + f->n - eq - 1, 0};
    if (ferry_i_field_is(&name, "label")) return set_class(ctx, r, &value, line);
    const int64_t column = ferry_i_ids_findn(r->features, name.s, name.n);
    if (column < 0 && ferry_i_field_is(&name, "summary")) return FERRY_OK;
    if (column < 0)
        return ferry_i_bad(ctx, r->path, line, "feature \"%s\" is not declared in line 2",
                           ferry_i_field_show(&name, show));
    if (!ferry_i_field_real(&value, &x))
        return ferry_i_bad(ctx, r->path, line, "expected a finite number, found \"%s\"",
                           ferry_i_field_show(f, show));
    return x == 0 ? FERRY_OK : add_entry(ctx, r, column, x);
}

/* Lines have different numbers of fields, as each names only what is not 0, so fields are
 * counted first. */
static ferry_status read_nodes(ferry_ctx *ctx, rows *r, ferry_lines l, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    ferry_field *f = NULL;

    (void)ferry_i_full_line(&l, ""); /* NODE */
    /* the second line declares the features, each later one is a node */
    for (bool head = true; ferry_i_full_line(&l, ""); head = false) {
        const int64_t n = ferry_i_fields(l.s, l.e, "\t", NULL, 0);
        ferry_i_free(f);
        FERRY_NEW(ctx, f, n);
        (void)ferry_i_fields(l.s, l.e, "\t", f, n);
        if (head) {
            for (int64_t j = 0; j < n; j++)
                FERRY_TRY(declare(ctx, r, &f[j], l.line));
            continue;
        }
        FERRY_TRY(begin_row(ctx, r, &f[0], l.line));
        for (int64_t j = 1; j < n; j++)
            FERRY_TRY(assign(ctx, r, &f[j], l.line));
        FERRY_NEED_AT(ctx, sort_row(r), r->path, l.line, "a feature is given twice");
        r->n++;
    }
    FERRY_TRY(give(ctx, r, ferry_i_ids_count(r->features), d));
done:
    ferry_i_free(f);
    return st;
}

/* ---- graphs ---- */

/* "paper:123" without what stands before the colon. */
static ferry_field behind_colon(ferry_field f)
{
    const char *colon = memchr(f.s, ':', (size_t)f.n);

    if (!colon) return f;
    return (ferry_field){colon + 1, f.s + f.n - colon - 1, 0};
}

/* tab: "id paper:1 | paper:2" behind two lines of head; else "cited citing". Weights are
 * all 1. */
static ferry_status read_links(ferry_ctx *ctx, const char *path, ferry_lines l, bool tab,
                               ferry_edges *g)
{
    ferry_status st = FERRY_OK;
    ferry_field f[4];

    for (int i = 0; tab && i < 2; i++) /* DIRECTED, NO_FEATURES */
        (void)ferry_i_full_line(&l, "");
    while (ferry_i_full_line(&l, "")) {
        const int64_t n = ferry_i_fields(l.s, l.e, " ", f, 4);
        FERRY_NEED_AT(ctx, n == (tab ? 4 : 2), path, l.line,
                      "expected %s, found %lld columns",
                      tab ? "id, from, | and to" : "two ids", (long long)n);
        const ferry_field from = tab ? behind_colon(f[1]) : f[0];
        const ferry_field to = tab ? behind_colon(f[3]) : f[1];
        FERRY_NEED_AT(ctx, from.n != 0 && to.n != 0, path, l.line, "expected two ids");
        FERRY_TRY(ferry_i_edges_add(ctx, g, &from, &to, 1));
    }
    if (g->n == 0) st = ferry_i_bad(ctx, path, 0, "holds no link");
done:
    return st;
}

/* ---- which of the four ---- */

/* X.content, X.cites, *.NODE.*.tab, *.DIRECTED.*.tab */
typedef enum kind { CONTENT, CITES, NODES, LINKS } kind;

/* Two fields are a pair of papers unless the first is one of the words; more are a content
 * line. */
static bool kind_of(const char *s, int64_t n, kind *out)
{
    ferry_lines l = ferry_i_lines(s, n);
    ferry_field f[3];

    if (!ferry_i_full_line(&l, "")) return false;
    const int64_t k = ferry_i_fields(l.s, l.e, " ", f, 3);
    if (k == 2 && ferry_i_field_is(&f[0], "node"))
        *out = NODES;
    else if (k == 2 &&
             (ferry_i_field_is(&f[0], "directed") || ferry_i_field_is(&f[0], "undirected")))
        *out = LINKS;
    else
        *out = k == 2 ? CITES : CONTENT;
    return k >= 2;
}

/* One file of any of the four kinds; what it holds decides the kind of the data, not what
 * the caller wanted. */
static ferry_status read_one(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n,
                             ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_edges g = {.nodes = ferry_i_ids_new()};
    rows r = {0};
    ferry_utf8 u = {0};
    ferry_data *d = NULL;
    kind is = CONTENT;

    FERRY_HAVE(ctx, g.nodes);
    FERRY_TRY(rows_new(ctx, path, &r));
    FERRY_NEED_AT(ctx, !memchr(bytes, 0, (size_t)n), path, 0,
                  "has a zero byte, expected text");
    FERRY_TRY(ferry_i_utf8_open(ctx, bytes, n, &u));
    FERRY_NEED_AT(ctx, kind_of(u.s, u.n, &is), path, 1,
                  "expected a LINQS content, cites, NODE or DIRECTED file");
    /* two of the kinds are views, two are graphs */
    const bool view = is == CONTENT || is == NODES;
    d = ferry_i_data_new("linqs", path, view ? FERRY_DATA_VIEW : FERRY_DATA_GRAPH);
    FERRY_HAVE(ctx, d);
    const ferry_lines l = ferry_i_lines(u.s, u.n);
    if (is == CONTENT) FERRY_TRY(read_content(ctx, &r, l, d));
    if (is == NODES) FERRY_TRY(read_nodes(ctx, &r, l, d));
    if (!view) {
        FERRY_TRY(read_links(ctx, path, l, is == LINKS, &g));
        FERRY_TRY(ferry_i_edges_give(ctx, &g, d));
    }
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    rows_free(&r);
    ferry_i_edges_free(&g);
    ferry_i_utf8_close(&u);
    return st;
}

/* ---- archives ---- */

/* Does a member's name say that it holds what is wanted? "DIRECTED" is also part of
 * UNDIRECTED, which is meant. */
static bool suits(const char *name, bool graph)
{
    const bool tab = ferry_i_ends_with(name, ".tab");

    if (graph)
        return ferry_i_ends_with(name, ".cites") || (tab && strstr(name, "DIRECTED"));
    return ferry_i_ends_with(name, ".content") || (tab && strstr(name, ".NODE."));
}

/* Sure of a tree that holds such a file, but not of one with a great many files. A folder
 * of thousands of documents may hold such a name by chance. */
static int sniff_tree(const ferry_archive *tree)
{
    for (int64_t i = 0; i < tree->n && tree->n <= 20; i++)
        if (suits(tree->members[i].name, false) || suits(tree->members[i].name, true))
            return 90;
    return 0;
}

/* The suitable file of a folder or archive; several are refused, since one of them read for
 * all would go unnoticed. Only names are listed; the one file is then opened by its own
 * path. */
static ferry_status read_tree(ferry_ctx *ctx, const char *path, bool graph,
                              ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_archive tree = {0};
    ferry_input all = {0}, in = {0};
    const ferry_member *m = NULL, *other = NULL;
    char *file = NULL;

    FERRY_TRY(ferry_i_tree_list(ctx, path, (ferry_bring){0}, &all, &tree));
    for (int64_t i = 0; i < tree.n; i++) {
        if (!suits(tree.members[i].name, graph)) continue;
        if (m)
            other = &tree.members[i];
        else
            m = &tree.members[i];
    }
    FERRY_NEED(ctx, m, FERRY_EDATA, "%s: expected a file named *.%s among its %lld", path,
               graph ? "cites" : "content", (long long)tree.n);
    FERRY_HAVE(ctx, file = ferry_i_archive_path(&tree, m));
    FERRY_NEED(ctx, !other, FERRY_EDATA,
               "%s: holds several such files, %s and %s among them; pick one, such as %s",
               path, m->name, other->name, file);
    FERRY_TRY(ferry_i_input_open(ctx, file, &in));
    FERRY_TRY(read_one(ctx, in.path, in.data, in.size, out));
done:
    ferry_i_free(file);
    ferry_i_input_close(&in);
    ferry_i_archive_free(&tree);
    ferry_i_input_close(&all);
    return st;
}

/* Without bytes the path is a folder or an archive (see ferry_format). */
static ferry_status read_linqs(ferry_ctx *ctx, const ferry_input *in, const char *member,
                               const ferry_read_settings *s, ferry_data_kind as,
                               ferry_data **out)
{
    (void)member, (void)s;
    *out = NULL;
    if (!in->data) return read_tree(ctx, in->path, as == FERRY_DATA_GRAPH, out);
    return read_one(ctx, in->path, in->data, in->size, out);
}

/* A NODE or DIRECTED head, or an id, many 0/1 words and a class that is no number. Two
 * columns of ids are never taken for a cites file by content alone: its extension must say
 * so. */
static int sniff_linqs(const char *head, int64_t n)
{
    ferry_lines l = ferry_i_lines(head, n);
    ferry_field f[16];
    kind is = CONTENT;

    if (!kind_of(head, n, &is) || !ferry_i_full_line(&l, "")) return 0;
    if (is == NODES || is == LINKS) return 95;
    /* 16 columns are enough to tell, and a content file has hundreds */
    const int64_t k = ferry_i_fields(l.s, l.e, "\t", f, 16);
    if (k < 16) return 0;
    for (int64_t j = 1; j < 15; j++)
        if (f[j].n != 1 || (f[j].s[0] != '0' && f[j].s[0] != '1')) return 0;
    /* a class that ends with a digit would make it an ordinary table of numbers */
    return l.e[-1] >= '0' && l.e[-1] <= '9' ? 0 : 70;
}

const ferry_format ferry_i_format_linqs = {
    .info = {.name = "linqs",
             .extensions = ".content .cites .tab",
             .summary = "LINQS content and cites, nodes and edges; also inside an archive",
             .writes = 0},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_GRAPH,
    .options = "",
    .sniff = sniff_linqs,
    .read = read_linqs,
    .sniff_tree = sniff_tree,
};
