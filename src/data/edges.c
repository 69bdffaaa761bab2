/* Edge lists: "from to [weight]" a line with any separator, comments behind # or %, header
 * or not.
 *
 * A first line is a header when its third column is no number, or when its words are names
 * such as source and target. Nodes are ids as they stand: 01 and 1 are two nodes. Ranks that read together (lines.h)
 * parse a part of the lines each. */
#include <string.h>

#include "data/fields.h"
#include "data/graph_file.h"
#include "data/lines.h"

/* The number of the last node. */
static ferry_status check_nodes(ferry_ctx *ctx, int64_t node)
{
    if (node > INT32_MAX)
        return ferry_i_fail(ctx, FERRY_EDATA, "more than %d nodes", INT32_MAX);
    return FERRY_OK;
}

/* Nodes are numbered in the order seen. Edges are kept as they come, repeats too: the
 * domain adds those up, in graph.c. */
ferry_status ferry_i_edges_add(ferry_ctx *ctx, ferry_edges *g, const ferry_field *from,
                               const ferry_field *to, double weight)
{
    const int64_t a = ferry_i_field_id(g->nodes, from, NULL);
    const int64_t b = ferry_i_field_id(g->nodes, to, NULL);

    if (a < 0 || b < 0 || !FERRY_GROW(g->e, g->n, g->cap)) return ferry_i_nomem(ctx);
    FERRY_PASS(check_nodes(ctx, a > b ? a : b));
    g->e[g->n++] = (ferry_edge){(int32_t)a, (int32_t)b, weight};
    g->weighted = g->weighted || weight != 1;
    return FERRY_OK;
}

/* From an array of structs, which grows easily, to one array for each field. No weights
 * where all are 1. g keeps its edges, the nodes are d's now. */
ferry_status ferry_i_edges_give(ferry_ctx *ctx, ferry_edges *g, ferry_data *d)
{
    d->from = ferry_i_calloc(g->n, sizeof *d->from);
    d->to = ferry_i_calloc(g->n, sizeof *d->to);
    /* NULL says that all weights are 1 */
    d->weight = g->weighted ? ferry_i_calloc(g->n, sizeof *d->weight) : NULL;
    if (!d->from || !d->to || (g->weighted && !d->weight)) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < g->n; i++) {
        d->from[i] = g->e[i].from;
        d->to[i] = g->e[i].to;
        if (d->weight) d->weight[i] = g->e[i].weight;
    }
    d->edges = g->n;
    FERRY_MOVE(d->nodes, g->nodes);
    return FERRY_OK;
}

void ferry_i_edges_free(ferry_edges *g)
{
    ferry_i_ids_free(g->nodes);
    ferry_i_free(g->e);
    *g = (ferry_edges){0};
}

/* What programs call the two ends, in any case of letters. */
static bool names_a_column(const ferry_field *f)
{
    static const char *const words[] = {"from", "to",    "source", "target", "src",   "dst",
                                        "node", "node1", "node2",  "cited",  "citing"};

    for (int64_t i = 0; i < FERRY_COUNT(words); i++)
        if (ferry_i_field_is(f, words[i])) return true;
    return false;
}

/* A first line that names its columns, or whose weight is no number. One of the two words
 * is not enough: a node may be called "target". */
static bool is_header(const ferry_field *f, int64_t n)
{
    double x = 0;

    return (names_a_column(&f[0]) && names_a_column(&f[1])) ||
           (n == 3 && !ferry_i_field_real(&f[2], &x));
}

/* What the first line says of all. */
typedef struct shape {
    const char *begin; /* of the text */
    const char *sep;
    int64_t width;
} shape;

/* The lines of a piece, up to the first error, which is noted there; rows counts its edges. */
static ferry_status read_piece(ferry_ctx *ctx, const shape *w, ferry_edges *g,
                               ferry_piece *p)
{
    ferry_lines l = {.next = p->begin, .end = p->end};
    ferry_field f[3];
    char show[44];

    while (ferry_i_full_line(&l, "#%")) {
        const int64_t n = ferry_i_fields(l.s, l.e, w->sep, f, 3);
        double weight = 1;
        if (n != w->width)
            ferry_i_piece_bad(p, ferry_i_line_of(w->begin, l.s),
                              "expected %d columns, found %lld", (int)w->width,
                              (long long)n);
        else if (f[0].n == 0 || f[1].n == 0)
            ferry_i_piece_bad(p, ferry_i_line_of(w->begin, l.s), "expected two node ids");
        else if (n == 3 && !ferry_i_field_real(&f[2], &weight))
            ferry_i_piece_bad(p, ferry_i_line_of(w->begin, l.s),
                              "expected a finite number as weight, found \"%s\"",
                              ferry_i_field_show(&f[2], show));
        if (p->bad_line) break;
        FERRY_PASS(ferry_i_edges_add(ctx, g, &f[0], &f[1], weight));
        p->rows++;
    }
    return FERRY_OK;
}

/* Where ranks read together: nodes and edges of our pieces become those of all. */
static ferry_status unite(ferry_ctx *ctx, ferry_edges *g, ferry_piece *p, int64_t n,
                          int64_t first)
{
    ferry_status st = FERRY_OK;
    int64_t *node = NULL, all = 0, none = 0;
    ferry_edge *e = NULL;

    FERRY_TRY(ferry_i_pieces_unite(ctx, n, &g->nodes, &node));
    if (!node) goto done; /* all were ours */
    FERRY_TRY(check_nodes(ctx, ferry_i_ids_count(g->nodes) - 1));
    ferry_i_pieces_place(p, n, 1, &all, &none);
    FERRY_NEW(ctx, e, all);
    ferry_edge *to = e + (first < n ? p[first].row_at : all);
    for (int64_t k = 0; k < g->n; k++)
        to[k] = (ferry_edge){(int32_t)node[g->e[k].from], (int32_t)node[g->e[k].to],
                             g->e[k].weight};
    FERRY_TRY(ferry_i_pieces_bring(ctx, p, n, FERRY_BY_ROW, all, sizeof *e, e));
    for (int64_t k = 0; k < all; k++)
        g->weighted = g->weighted || e[k].weight != 1;
    ferry_i_free(g->e);
    FERRY_MOVE(g->e, e);
    g->n = g->cap = all;
done:
    FERRY_FREE(node, e);
    return st;
}

/* The first line gives separator and width for all; the separator is guessed once, so a
 * line that is written otherwise is an error and not another kind of edge. */
static ferry_status read_lines(ferry_ctx *ctx, const char *path, const ferry_utf8 *u,
                               const ferry_read_settings *s, ferry_edges *g)
{
    ferry_status st = FERRY_OK;
    ferry_lines l = ferry_i_lines(u->s, u->n);
    shape w = {.begin = u->s};
    ferry_piece *p = NULL;
    int64_t n = 0, from = 0, to = 0;
    ferry_field f[3];

    FERRY_NEED_AT(ctx, ferry_i_full_line(&l, "#%"), path, 0,
                  "is empty, expected edges (from to)");
    w.sep = s->sep[0] ? ferry_i_sep_of(s->sep) : ferry_i_sep_guess(l.s, l.e);
    w.width = ferry_i_fields(l.s, l.e, w.sep, f, 3);
    FERRY_NEED_AT(ctx, w.width >= 2 && w.width <= 3, path, l.line,
                  "expected from, to and perhaps weight as columns, found %lld",
                  (long long)w.width);
    /* 1: yes, 0: auto (see the table in formats.c) */
    const bool header = s->header == 1 || (s->header == 0 && is_header(f, w.width));
    FERRY_TRY(ferry_i_pieces(ctx, header ? l.next : l.s, l.end, &p, &n));
    ferry_i_pieces_mine(ctx, n, &from, &to);
    for (int64_t k = from; k < to && (k == from || !p[k - 1].bad_line); k++)
        FERRY_TRY(read_piece(ctx, &w, g, &p[k]));
    FERRY_TRY(ferry_i_pieces_share(ctx, p, n));
    FERRY_TRY(ferry_i_pieces_check(ctx, path, p, n));
    FERRY_TRY(unite(ctx, g, p, n, from));
done:
    ferry_i_free(p);
    return st;
}

/* `as` is always a graph here; member does not apply. */
static ferry_status read_edges(ferry_ctx *ctx, const ferry_input *in, const char *member,
                               const ferry_read_settings *s, ferry_data_kind as,
                               ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_edges g = {.nodes = ferry_i_ids_new()};
    ferry_utf8 u = {0};
    ferry_data *d = ferry_i_data_new("edges", in->path, FERRY_DATA_GRAPH);

    (void)member, (void)as;
    *out = NULL;
    FERRY_HAVE(ctx, g.nodes && d);
    FERRY_TRY(ferry_i_check_text(ctx, in));
    FERRY_TRY(ferry_i_utf8_open(ctx, in->data, in->size, &u));
    FERRY_TRY(read_lines(ctx, in->path, &u, s, &g));
    FERRY_TRY(ferry_i_edges_give(ctx, &g, d));
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    ferry_i_edges_free(&g);
    ferry_i_utf8_close(&u);
    return st;
}

/* Only a header gives an edge list away: two columns may be anything. */
static int sniff_edges(const char *head, int64_t n)
{
    ferry_lines l = ferry_i_lines(head, n);
    ferry_field f[3];

    if (!ferry_i_full_line(&l, "#%")) return 0;
    const int64_t k = ferry_i_fields(l.s, l.e, ferry_i_sep_guess(l.s, l.e), f, 3);
    return (k == 2 || k == 3) && names_a_column(&f[0]) && names_a_column(&f[1]) ? 80 : 0;
}

/* With a header, so that sniff_edges() knows the file again. Tab-separated; the column of
 * weights only where there are some. */
static ferry_status write_edges(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                const ferry_opts *opts)
{
    ferry_out *o = NULL;
    char number[32];

    (void)opts;
    if (data->kind != FERRY_DATA_GRAPH)
        return ferry_i_fail(ctx, FERRY_EINVAL, "%s: the edges format holds graphs only",
                            path);
    FERRY_PASS(ferry_i_fit_lines(ctx, path, data->nodes));
    FERRY_PASS(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_printf(o, "from\tto%s\n", data->weight ? "\tweight" : "");
    for (int64_t i = 0; i < data->edges; i++) {
        ferry_i_out_field(o, ferry_i_ids_at(data->nodes, data->from[i]), '\t');
        ferry_i_out_write(o, "\t", 1);
        ferry_i_out_field(o, ferry_i_ids_at(data->nodes, data->to[i]), '\t');
        if (data->weight) {
            ferry_i_out_write(o, "\t", 1);
            ferry_i_out_write(o, number, ferry_i_format_real(number, data->weight[i]));
        }
        ferry_i_out_write(o, "\n", 1);
    }
    return ferry_i_out_commit(ctx, o);
}

const ferry_format ferry_i_format_edges = {
    .info = {.name = "edges",
             .extensions = ".edges .edgelist .csv .tsv .txt .tab",
             .summary = "from, to [, weight] a line with any separator",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_GRAPH,
    .options = "header sep",
    .sniff = sniff_edges,
    .read = read_edges,
    .write = write_edges,
};
