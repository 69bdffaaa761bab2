/* Edge lists: "from to [weight]" a line with any separator, comments behind # or %, header
 * or not.
 *
 * A first line is a header when its third column is no number, or when its words are names
 * such as source and target. Nodes are ids as they stand: 01 and 1 are two nodes. */
#include "data/triples.h"

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

static const triple_schema edge = {.comments = "#%",
                                   .ends = "two node ids",
                                   .value = "a finite number as weight",
                                   .many = "nodes"};

/* No weights where all are 1. */
static void drop_ones(ferry_data *d)
{
    for (int64_t e = 0; d->weight && e < d->edges; e++)
        if (d->weight[e] != 1) return;
    ferry_i_free(d->weight);
    d->weight = NULL;
}

/* The first line gives separator and width for all; the separator is guessed once, so a
 * line that is written otherwise is an error and not another kind of edge. */
static void edges_records(scope *s, const source *from, ferry_data *d)
{
    ferry_lines l = ferry_i_lines(from->s, from->end - from->s);
    ferry_field f[3];

    d->nodes = have(s, ferry_i_ids_new());
    if (!ferry_i_full_line(&l, "#%"))
        bad_at(s, from->path, 0, "is empty, expected edges (from to)");
    triples t = {.schema = &edge,
                 .sep = from->set->sep[0] ? ferry_i_sep_of(from->set->sep)
                                          : ferry_i_sep_guess(l.s, l.e),
                 .col = {0, 1, 2},
                 .none = 1,
                 .ids = {&d->nodes, &d->nodes},
                 .end = {&d->from, &d->to}};
    t.width = ferry_i_fields(l.s, l.e, t.sep, f, 3);
    if (t.width < 2 || t.width > 3)
        bad_at(s, from->path, l.line,
               "expected from, to and perhaps weight as columns, found %lld",
               (long long)t.width);
    if (t.width == 3)
        t.value = &d->weight;
    else
        t.col[2] = -1;
    /* 1: yes, 0: auto (see the table in formats.c) */
    const bool header =
        from->set->header == 1 || (from->set->header == 0 && is_header(f, t.width));
    records r = {.s = s,
                 .path = from->path,
                 .text = from->s,
                 .body = header ? l.next : l.s,
                 .end = l.end};
    triples_parse(&t, &r);
    triples_close(&t, &r);
    d->edges = r.rows;
    drop_ones(d);
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
    .open = OPEN_TEXT | OPEN_UTF8,
    .records = edges_records,
    .write = write_edges,
};
