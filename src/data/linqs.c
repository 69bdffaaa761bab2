/* LINQS relational sets (Sen et al., Collective classification in network data, AI Magazine
 * 2008). Four kinds of file, which differ in their first line:
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

#include "data/formats.h"
#include "data/triples.h"

/* A view being gathered: the rows, with their ids and classes. */
typedef struct view {
    scope *s;
    const char *path;
    ferry_data *d;
    sparse_rows *x;
    ferry_span *cls; /* text of the class; none: missing */
    int64_t cap;     /* of cls */
    ferry_ids *features;
} view;

/* Begin a row; the caller adds entries. */
static void begin(view *v, const ferry_field *id, int64_t line)
{
    bool added = false;
    char show[44];

    begin_row(v->x);
    if (v->x->n > v->cap) {
        v->cap = 2 * v->cap + 64;
        v->cls = scope_grow(v->s, v->cls, v->cap, sizeof *v->cls);
    }
    if (ferry_i_field_id(v->d->ids, id, &added) < 0) have(v->s, NULL);
    if (id->n == 0) bad_at(v->s, v->path, line, "expected an id in front");
    if (!added)
        bad_at(v->s, v->path, line, "id \"%s\" repeats", ferry_i_field_show(id, show));
}

/* A span into the file: labels are made from all of them at the end. */
static void set_class(view *v, const ferry_field *f, int64_t line)
{
    if (f->n == 0) bad_at(v->s, v->path, line, "expected a class at the end");
    v->cls[v->x->n - 1] = (ferry_span){f->s, f->n};
}

/* What was gathered as a matrix and labels: classes are brought into one order (label_texts.c). */
static void give(view *v, int64_t cols)
{
    if (v->x->n == 0) bad_at(v->s, v->path, 0, "holds no instance");
    give_rows(v->x, cols, &v->d->x);
    scope_check(v->s,
                ferry_i_labels_of_texts(scope_ctx(v->s), v->x->n, v->cls, &v->d->labels));
}

/* ---- content ---- */

/* id, words, class; all lines have as many cells as the first. Most are "0", which is passed over without parsing. */
static void read_content(view *v, ferry_lines l)
{
    ferry_field *f = NULL;
    int64_t width = 0;
    char show[44];

    while (ferry_i_full_line(&l, "")) {
        if (!f) {
            width = ferry_i_fields(l.s, l.e, " ", NULL, 0);
            f = NEW(v->s, ferry_field, width);
        }
        const int64_t n = ferry_i_fields(l.s, l.e, " ", f, width);
        if (n != width)
            bad_at(v->s, v->path, l.line, "expected %lld columns, found %lld",
                   (long long)width, (long long)n);
        begin(v, &f[0], l.line);
        /* cells 1 .. n - 2 are the words, columns 0 .. n - 3 of x */
        for (int64_t j = 1; j < n - 1; j++) {
            double x = 0;
            if (f[j].n == 1 && f[j].s[0] == '0') continue;
            if (!ferry_i_field_real(&f[j], &x))
                bad_at(v->s, v->path, l.line,
                       "column %lld: expected a finite number, found \"%s\"",
                       (long long)(j + 1), ferry_i_field_show(&f[j], show));
            if (x != 0) add_entry(v->x, j - 1, x);
        }
        set_class(v, &f[n - 1], l.line);
    }
    give(v, width - 2);
}

/* ---- nodes ---- */

/* "cat=1,2,3:label" "numeric:w-rat:0.0" "string:summary": the numeric ones are features.
 * The value behind a second colon is the default; it is not used: what a node does not name
 * is 0. */
static void declare(view *v, const ferry_field *f, int64_t line)
{
    bool added = false;
    char show[44];
    const char *colon = memchr(f->s, ':', (size_t)f->n), *end = f->s + f->n;

    if (!colon)
        bad_at(v->s, v->path, line, "expected type:name, found \"%s\"",
               ferry_i_field_show(f, show));
    /* type : name : default */
    const ferry_field type = {f->s, colon - f->s, 0};
    const char *stop = memchr(colon + 1, ':', (size_t)(end - colon - 1));
    const ferry_field name = {colon + 1, (stop ? stop : end) - colon - 1, 0};
    if (!ferry_i_field_is(&type, "numeric")) return; /* classes and texts are no features */
    if (ferry_i_field_id(v->features, &name, &added) < 0) have(v->s, NULL);
    if (!added)
        bad_at(v->s, v->path, line, "feature \"%s\" is declared twice",
               ferry_i_field_show(&name, show));
}

/* Entries of the row at hand in ascending order of their columns (insertion sort: rows are
 * short and mostly in order). False when a column repeats. */
static bool sort_row(sparse_rows *r)
{
    const int64_t first = r->start[r->n - 1];

    for (int64_t e = first + 1; e < r->nnz; e++) {
        const int32_t index = r->index[e];
        const double value = r->value[e];
        int64_t at = e;
        for (; at > first && r->index[at - 1] > index; at--) {
            r->index[at] = r->index[at - 1];
            r->value[at] = r->value[at - 1];
        }
        if (at > first && r->index[at - 1] == index) return false;
        r->index[at] = index;
        r->value[at] = value;
    }
    return true;
}

/* One "name=value" of a node. label= is the class whatever was declared; summary= lists the
 * words once more and is passed over. */
static void assign(view *v, const ferry_field *f, int64_t line)
{
    char show[44];
    double x = 0;
    const char *eq = memchr(f->s, '=', (size_t)f->n);

    if (!eq)
        bad_at(v->s, v->path, line, "expected name=value, found \"%s\"",
               ferry_i_field_show(f, show));
    const ferry_field name = {f->s, eq - f->s, 0},
                      value = {eq + 1, f->s + f->n - eq - 1, 0};
    if (ferry_i_field_is(&name, "label")) {
        set_class(v, &value, line);
        return;
    }
    const int64_t column = ferry_i_ids_findn(v->features, name.s, name.n);
    if (column < 0 && ferry_i_field_is(&name, "summary")) return;
    if (column < 0)
        bad_at(v->s, v->path, line, "feature \"%s\" is not declared in line 2",
               ferry_i_field_show(&name, show));
    if (!ferry_i_field_real(&value, &x))
        bad_at(v->s, v->path, line, "expected a finite number, found \"%s\"",
               ferry_i_field_show(f, show));
    if (x != 0) add_entry(v->x, column, x);
}

/* Lines have different numbers of fields, as each names only what is not 0, so fields are
 * counted first. */
static void read_nodes(view *v, ferry_lines l)
{
    v->features = v->d->features = have(v->s, ferry_i_ids_new());
    (void)ferry_i_full_line(&l, ""); /* NODE */
    /* the second line declares the features, each later one is a node */
    for (bool head = true; ferry_i_full_line(&l, ""); head = false) {
        const int64_t n = ferry_i_fields(l.s, l.e, "\t", NULL, 0);
        ferry_field *f = NEW(v->s, ferry_field, n);
        (void)ferry_i_fields(l.s, l.e, "\t", f, n);
        if (!head) begin(v, &f[0], l.line);
        for (int64_t j = !head; j < n; j++)
            (head ? declare : assign)(v, &f[j], l.line);
        if (!head && !sort_row(v->x))
            bad_at(v->s, v->path, l.line, "a feature is given twice");
        scope_drop(v->s, f);
    }
    const int64_t cols = ferry_i_ids_count(v->features);
    if (cols == 0) { /* no names either */
        ferry_i_ids_free(v->features);
        v->features = v->d->features = NULL;
    }
    give(v, cols);
}

/* ---- graphs ---- */

/* "paper:123" without what stands before the colon. */
static ferry_field behind_colon(ferry_field f)
{
    const char *colon = memchr(f.s, ':', (size_t)f.n);

    if (!colon) return f;
    return (ferry_field){colon + 1, f.s + f.n - colon - 1, 0};
}

static const triple_schema tab_link = {
    .comments = "", .ends = "two ids", .many = "nodes", .id = behind_colon};
static const triple_schema citation = {.comments = "", .ends = "two ids", .many = "nodes"};

/* tab: "id paper:1 | paper:2" behind two lines of head; else "cited citing". Weights are
 * all 1. */
static void read_links(scope *s, const source *from, bool tab, ferry_data *d)
{
    ferry_lines l = ferry_i_lines(from->s, from->end - from->s);
    triples t = {.schema = tab ? &tab_link : &citation,
                 .sep = " ",
                 .width = tab ? 4 : 2,
                 .shape = tab ? "id, from, | and to" : "two ids",
                 .col = {tab ? 1 : 0, tab ? 3 : 1, -1},
                 .ids = {&d->nodes, &d->nodes},
                 .end = {&d->from, &d->to}};

    for (int i = 0; tab && i < 2; i++) /* DIRECTED, NO_FEATURES */
        (void)ferry_i_full_line(&l, "");
    d->nodes = have(s, ferry_i_ids_new());
    records r = {.s = s, .path = from->path, .text = from->s, .body = l.next, .end = l.end};
    triples_parse(&t, &r);
    triples_close(&t, &r);
    d->edges = r.rows;
    if (d->edges == 0) bad_at(s, from->path, 0, "holds no link");
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
static void read_one(scope *s, const source *from, ferry_data *d)
{
    const int64_t n = from->end - from->s;
    kind is = CONTENT;

    if (!kind_of(from->s, n, &is))
        bad_at(s, from->path, 1, "expected a LINQS content, cites, NODE or DIRECTED file");
    if (is == CITES || is == LINKS) {
        d->kind = FERRY_DATA_GRAPH;
        read_links(s, from, is == LINKS, d);
        return;
    }
    view v = {.s = s, .path = from->path, .d = d, .x = new_rows(s, 0)};
    d->kind = FERRY_DATA_VIEW;
    d->ids = have(s, ferry_i_ids_new());
    (is == CONTENT ? read_content : read_nodes)(&v, ferry_i_lines(from->s, n));
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
static char *suitable(scope *s, const char *path, bool graph)
{
    const ferry_archive *tree = open_tree(s, path);
    const ferry_member *m = NULL, *other = NULL;

    for (int64_t i = 0; i < tree->n; i++)
        if (suits(tree->members[i].name, graph)) *(m ? &other : &m) = &tree->members[i];
    if (!m)
        bad_at(s, path, 0, "expected a file named *.%s among its %lld",
               graph ? "cites" : "content", (long long)tree->n);
    char *file = scope_adopt(s, ferry_i_archive_path(tree, m));
    if (other)
        bad_at(s, path, 0,
               "holds several such files, %s and %s among them; pick one, such as %s",
               m->name, other->name, file);
    return file;
}

/* Without bytes the path is a folder or an archive (see ferry_format). */
static void linqs_records(scope *s, const source *from, ferry_data *d)
{
    if (from->in->data) {
        read_one(s, from, d);
        return;
    }
    const ferry_input *in =
        open_input(s, suitable(s, from->path, from->as == FERRY_DATA_GRAPH));
    ferry_i_free(d->path);
    d->path = have(s, ferry_i_strdup(in->path));
    source file = *from;
    file.in = in;
    file.path = in->path;
    open_text(s, ferry_i_format_linqs.open, &file);
    read_one(s, &file, d);
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
    /* 16 columns are enough, and a content file has hundreds */
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
    .open = OPEN_ZEROS | OPEN_UTF8,
    .records = linqs_records,
    .sniff_tree = sniff_tree,
};
