/* Two ends and a value a line (triples.h).
 *
 * Where the ends are ids, pieces are read in the file's order, since ids are numbered as they come; places
 * in a matrix are numbers already, and threads read the pieces side by side. Repeats stay: what they mean is the
 * domain's affair. */
#include "data/triples.h"

#include <math.h>
#include <string.h>

bool triple_missing(const triples *t, const ferry_field *f)
{
    double x = 0;

    return t->missing && (ferry_i_is_missing(f->s, f->n, t->missing->missing) ||
                          (!isnan(t->hole) && ferry_i_field_real(f, &x) && x == t->hole));
}

/* The place that a cell names, from 0. False: the piece has an error. */
static bool read_place(const triples *t, piece *p, const char *at, int k,
                       const ferry_field *f, int32_t *out)
{
    int64_t i = 0;
    char show[44];

    if (ferry_i_field_int(f, &i) && i >= 1 && i <= t->most[k]) {
        *out = (int32_t)(i - 1);
        return true;
    }
    piece_bad(p, ferry_i_line_of(t->text, at), "%s \"%s\", expected 1 .. %lld",
              t->schema->place[k], ferry_i_field_show(f, show), (long long)t->most[k]);
    return false;
}

/* Number of the id in a cell. */
static int32_t read_id(const triples *t, int k, ferry_field f)
{
    if (t->schema->id) f = t->schema->id(f);
    const int64_t at = ferry_i_field_id(*t->ids[k], &f, NULL);
    if (at < 0) have(t->s, NULL);
    if (at > INT32_MAX)
        scope_fail(t->s, FERRY_EDATA, "more than %d %s", INT32_MAX, t->schema->many);
    return (int32_t)at;
}

/* Both ends. False: the piece has an error. */
static bool read_ends(const triples *t, piece *p, const char *at, const ferry_field *f,
                      int64_t row)
{
    for (int k = 0; k < 2 && t->schema->place[0]; k++)
        if (!read_place(t, p, at, k, &f[t->col[k]], &(*t->end[k])[row])) return false;
    for (int k = 0; k < 2 && !t->schema->place[0]; k++) {
        ferry_field id = f[t->col[k]];
        if (t->schema->id) id = t->schema->id(id);
        if (id.n > 0) continue;
        piece_bad(p, ferry_i_line_of(t->text, at), "expected %s", t->schema->ends);
        return false;
    }
    return true;
}

/* False: the piece has an error. */
static bool read_value(const triples *t, piece *p, const char *at, const ferry_field *f,
                       double *out)
{
    char show[44];

    *out = NAN;
    if (triple_missing(t, f) || ferry_i_field_real(f, out)) return true;
    piece_bad(p, ferry_i_line_of(t->text, at), "expected %s, found \"%s\"%s",
              t->schema->value, ferry_i_field_show(f, show),
              t->missing && ferry_i_decimal_comma(f->s, f->n)
                  ? " (decimal: comma reads such numbers)"
                  : "");
    return false;
}

/* One line of n cells. False: the piece has an error. */
static bool read_line(const triples *t, piece *p, const char *at, const ferry_field *f,
                      int64_t n, int64_t row)
{
    double value = t->none;

    if (n != t->width) {
        const int64_t line = ferry_i_line_of(t->text, at);
        if (t->shape)
            piece_bad(p, line, "expected %s, found %lld columns", t->shape, (long long)n);
        else
            piece_bad(p, line, "expected %lld columns, found %lld", (long long)t->width,
                      (long long)n);
        return false;
    }
    if (!read_ends(t, p, at, f, row) ||
        (t->col[2] >= 0 && !read_value(t, p, at, &f[t->col[2]], &value)))
        return false;
    if (t->no_diagonal && (*t->end[0])[row] == (*t->end[1])[row]) {
        piece_bad(p, ferry_i_line_of(t->text, at),
                  "a skew-symmetric matrix has no diagonal entries");
        return false;
    }
    for (int k = 0; k < 2 && !t->schema->place[0]; k++)
        (*t->end[k])[row] = read_id(t, k, f[t->col[k]]);
    if (t->value) (*t->value)[row] = value;
    return true;
}

/* The lines of a piece, up to the first error. */
static void parse(void *arg, piece *p)
{
    const triples *t = arg;
    ferry_lines l = {.next = p->begin, .end = p->end};
    ferry_field few[4], *f = t->f ? t->f : few;
    int64_t row = p->row_at;

    while (ferry_i_full_line(&l, t->schema->comments) &&
           read_line(t, p, l.s, f, ferry_i_fields(l.s, l.e, t->sep, f, t->width), row))
        row++;
    p->rows = row - p->row_at;
}

void triples_parse(triples *t, records *r)
{
    const bool ids = !t->schema->place[0];

    t->s = r->s;
    t->text = r->text;
    if (t->width > 4) t->f = NEW(t->s, ferry_field, t->width);
    records_cut(r);
    records_count(r);
    for (int k = 0; k < 2; k++) {
        *t->end[k] = have(t->s, ferry_i_calloc(r->rows, sizeof **t->end[k]));
        records_store(r, *t->end[k], sizeof **t->end[k], false);
    }
    if (t->value) {
        *t->value = have(t->s, ferry_i_calloc(r->rows, sizeof **t->value));
        records_store(r, *t->value, sizeof **t->value, false);
    }
    records_parse(r, ids, parse, t);
}

/* Where ranks read together: the ids of our pieces become those of all. */
static void unite(const triples *t, records *r)
{
    const int64_t *map[2] = {NULL, NULL};

    if (t->schema->place[0]) return;
    map[0] = records_unite(r, t->ids[0]);
    map[1] = t->ids[1] == t->ids[0] ? map[0] : records_unite(r, t->ids[1]);
    for (int k = 0; k < 2; k++) {
        if (ferry_i_ids_count(*t->ids[k]) - 1 > INT32_MAX)
            scope_fail(t->s, FERRY_EDATA, "more than %d %s", INT32_MAX, t->schema->many);
        for (int64_t i = r->from; map[k] && i < r->to; i++)
            for (int64_t row = 0; row < r->piece[i].rows; row++) {
                int32_t *at = &(*t->end[k])[r->piece[i].row_at + row];
                *at = (int32_t)map[k][*at];
            }
    }
}

void triples_close(triples *t, records *r)
{
    records_check(r);
    unite(t, r);
    records_close(r);
}
