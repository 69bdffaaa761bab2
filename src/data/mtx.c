/* Matrix Market: coordinate and array; real, integer and pattern; general, symmetric and
 * skew-symmetric.
 *
 *   %%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|...
 *   % comments
 *   rows cols [entries]
 *   i j [value]      coordinate: indices from 1, any order     array: one value a line, by column
 *
 * Traps: an array is written column by column; a symmetric file has only the lower triangle,
 * a skew one without its diagonal; pattern entries are 1. The promised count of entries is
 * checked against the file's size before memory is taken for it, and against the lines.
 *
 * Threads, and ranks that read together, parse a part of the entries each; an array every rank reads whole. */
#include <math.h>
#include <string.h>

#include "data/triples.h"
#include "data/variables.h"

typedef enum symmetry { GENERAL, SYMMETRIC, SKEW } symmetry;

/* A file being read. l stands behind the last line that was taken. */
typedef struct mtx {
    scope *s;
    const source *from;
    ferry_lines l;
    /* coordinate: entries by place, else an array; pattern: no values, all are 1 */
    bool coordinate, pattern;
    symmetry sym;
    /* entries: lines of data that are promised, of an array what its shape asks for */
    int64_t rows, cols, entries;
} mtx;

/* ---- the head ---- */

/* The first line. Words count whatever their case, as the format's definition says.
 * Refused: complex and hermitian (no features), pattern arrays and skew patterns (the
 * definition has neither). */
static void read_banner(mtx *m)
{
    ferry_field f[6];
    const int64_t n =
        ferry_i_any_line(&m->l) ? ferry_i_fields(m->l.s, m->l.e, " ", f, 6) : 0;

    if (n != 5 || !ferry_i_field_is(&f[0], "%%matrixmarket") ||
        !ferry_i_field_is(&f[1], "matrix"))
        bad_at(m->s, m->from->path, 1,
               "expected \"%%%%MatrixMarket matrix FORMAT FIELD SYMMETRY\"");
    m->coordinate = ferry_i_field_is(&f[2], "coordinate");
    m->pattern = ferry_i_field_is(&f[3], "pattern");
    m->sym = ferry_i_field_is(&f[4], "symmetric")        ? SYMMETRIC
             : ferry_i_field_is(&f[4], "skew-symmetric") ? SKEW
                                                         : GENERAL;
    const bool known =
        (m->coordinate || ferry_i_field_is(&f[2], "array")) &&
        (m->pattern || ferry_i_field_is(&f[3], "real") ||
         ferry_i_field_is(&f[3], "double") || ferry_i_field_is(&f[3], "integer")) &&
        (m->sym != GENERAL || ferry_i_field_is(&f[4], "general")) &&
        (m->coordinate || !m->pattern) && !(m->pattern && m->sym == SKEW);
    if (!known)
        bad_at(m->s, m->from->path, 1,
               "expected coordinate or array, real, integer or pattern, general, "
               "symmetric or skew-symmetric");
}

/* Entries of an array: those of the lower triangle when symmetric. */
static int64_t array_entries(const mtx *m)
{
    if (m->sym == GENERAL) return m->rows * m->cols;
    return m->sym == SYMMETRIC ? m->rows * (m->rows + 1) / 2 : m->rows * (m->rows - 1) / 2;
}

/* The line of sizes, and the shape checked for being one that a file of this size can have:
 * memory for rows, columns and entries is taken next, and three numbers in a small file
 * must not be able to ask for all there is. */
static void read_sizes(mtx *m)
{
    ferry_field f[4];
    const char *path = m->from->path;
    const int64_t want = m->coordinate ? 3 : 2, size = m->from->end - m->from->s;
    const bool line = ferry_i_full_line(&m->l, "%");
    const int64_t n = line ? ferry_i_fields(m->l.s, m->l.e, " ", f, 4) : 0;

    if (n != want || !ferry_i_field_int(&f[0], &m->rows) ||
        !ferry_i_field_int(&f[1], &m->cols) ||
        (m->coordinate && !ferry_i_field_int(&f[2], &m->entries)))
        bad_at(m->s, path, m->l.line, "expected the sizes: %lld whole numbers",
               (long long)want);
    if (m->rows < 1 || m->cols < 1 || m->entries < 0)
        bad_at(m->s, path, m->l.line,
               "%lld x %lld with %lld entries, expected a row and a column at "
               "least",
               (long long)m->rows, (long long)m->cols, (long long)m->entries);
    /* an entry takes at least 4 bytes, an item of an array 2; empty rows take none */
    const int64_t most = size * 1000 < INT32_MAX ? size * 1000 : INT32_MAX;
    const bool fits = m->rows <= most && m->cols <= most;
    if (fits && !m->coordinate) m->entries = array_entries(m);
    if (!fits || m->entries > size / (m->coordinate ? 3 : 1))
        bad_at(m->s, path, m->l.line,
               "%lld x %lld with %lld entries is more than the file holds",
               (long long)m->rows, (long long)m->cols, (long long)m->entries);
    if (m->sym != GENERAL && m->rows != m->cols)
        bad_at(m->s, path, m->l.line,
               "a symmetric matrix is square, this one is %lld x %lld", (long long)m->rows,
               (long long)m->cols);
}

/* ---- coordinate ---- */

static const triple_schema entry = {
    .comments = "%", .place = {"row", "column"}, .value = "a finite number"};

/* The lines of the file as they stand, places from 0; mirrored later. */
typedef struct entries {
    int32_t *row, *col;
    double *value;
} entries;

static void free_entries(void *of)
{
    entries *e = of;

    FERRY_FREE(e->row, e->col, e->value);
}

/* Entries by row, mirrored where the matrix is symmetric. A counting sort in two passes, O(entries + rows): the first
 * counts the entries of every row, the second puts each where `at` says. Order within a row comes
 * afterwards. */
static void place(const mtx *m, const entries *e, ferry_var *v)
{
    int64_t *at = NEW(m->s, int64_t, m->rows), nnz = m->entries;

    for (int64_t k = 0; m->sym != GENERAL && k < m->entries; k++)
        nnz += e->row[k] != e->col[k];
    scope_check(m->s, ferry_i_matrix_csr(scope_ctx(m->s), m->rows, m->cols, nnz, &v->x));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < m->entries; k++) {
            const bool twice = m->sym != GENERAL && e->row[k] != e->col[k];
            for (int side = 0; side <= twice; side++) {
                const int32_t row = side ? e->col[k] : e->row[k],
                              col = side ? e->row[k] : e->col[k];
                if (pass == 0) {
                    v->x->start[row + 1]++;
                    continue;
                }
                v->x->index[at[row]] = col;
                /* a_ji = a_ij, or -a_ij when skew */
                v->x->value[at[row]++] =
                    side && m->sym == SKEW ? -e->value[k] : e->value[k];
            }
        }
        /* counts to offsets; `at` is where the next entry of a row goes */
        for (int64_t i = 0; pass == 0 && i < m->rows; i++) {
            v->x->start[i + 1] += v->x->start[i];
            at[i] = v->x->start[i];
        }
    }
    scope_check(m->s, ferry_i_var_sort(scope_ctx(m->s), m->from->path, v));
}

/* The first mistake in the file: a line of its own, or the one behind the last entry promised. */
static void check_count(const mtx *m, const records *r)
{
    int64_t there = 0;

    for (int64_t k = 0; k < r->pieces; there += r->piece[k++].rows) {
        const piece *p = &r->piece[k];
        ferry_lines l = {.next = p->begin, .end = p->end};
        if (there + p->rows + (p->bad_line > 0) > m->entries) {
            for (int64_t i = there; i <= m->entries; i++)
                (void)ferry_i_full_line(&l, "%");
            bad_at(m->s, r->path, ferry_i_line_of(r->text, l.s),
                   "more than the %lld entries promised", (long long)m->entries);
        }
        if (p->bad_line) bad_at(m->s, r->path, p->bad_line, "%s", p->bad);
    }
    if (there < m->entries)
        bad_at(m->s, r->path, 0, "%lld entries promised, %lld there", (long long)m->entries,
               (long long)there);
}

/* Entries in any order. They are kept as read because rows are known only
 * when all lines are. */
static void read_coordinate(const mtx *m, ferry_var *v)
{
    entries *e = NEW(m->s, entries, 1);
    triples t = {.schema = &entry,
                 .sep = " ",
                 .width = m->pattern ? 2 : 3,
                 .col = {0, 1, m->pattern ? -1 : 2},
                 .none = 1,
                 .most = {m->rows, m->cols},
                 .no_diagonal = m->sym == SKEW,
                 .end = {&e->row, &e->col},
                 .value = &e->value};
    records r = {.s = m->s,
                 .path = m->from->path,
                 .text = m->from->s,
                 .body = m->l.next,
                 .end = m->l.end};

    scope_defer(m->s, free_entries, e);
    triples_parse(&t, &r);
    check_count(m, &r);
    triples_close(&t, &r);
    place(m, e, v);
}

/* ---- array ---- */

/* Values run down the columns. A symmetric file has only rows i >= j of column j, a skew
 * one only i > j, so the place jumps; each value is mirrored when it is read. NaN is a
 * missing cell here, since the result is dense; a sparse one has no place for it. */
static void read_array(mtx *m, ferry_var *v)
{
    char show[44];
    int64_t n = 0, i = m->sym == SKEW ? 1 : 0, j = 0;

    scope_check(m->s, ferry_i_matrix_dense(scope_ctx(m->s), m->rows, m->cols, &v->x));
    for (; ferry_i_full_line(&m->l, "%"); n++) {
        ferry_field f[1];
        double x = NAN;
        const int64_t k = ferry_i_fields(m->l.s, m->l.e, " ", f, 1);
        if (k != 1 || !(ferry_i_field_is(&f[0], "nan") || ferry_i_field_real(&f[0], &x)))
            bad_at(m->s, m->from->path, m->l.line, "expected one number, found \"%s\"",
                   ferry_i_field_show(&f[0], show));
        if (n == m->entries)
            bad_at(m->s, m->from->path, m->l.line, "more than the %lld numbers promised",
                   (long long)m->entries);
        v->x->dense[i * m->cols + j] = x;
        /* on the diagonal of a symmetric matrix this writes the same cell again */
        if (m->sym != GENERAL) v->x->dense[j * m->cols + i] = m->sym == SKEW ? -x : x;
        /* next column: from its top, its diagonal, or below that */
        if (++i == m->rows) {
            j++;
            i = m->sym == GENERAL ? 0 : m->sym == SYMMETRIC ? j : j + 1;
        }
    }
    if (n < m->entries)
        bad_at(m->s, m->from->path, 0, "%lld numbers promised, %lld there",
               (long long)m->entries, (long long)n);
}

/* ---- the format ---- */

/* Labels are names: two whole numbers that share a double must not become one class. */
static void check_labels(const mtx *m, const ferry_matrix *x)
{
    const double *v = x->dense ? x->dense : x->value;
    const int64_t n = x->dense ? x->rows * x->cols : x->nnz;

    for (int64_t i = 0; i < n; i++)
        if (fabs(v[i]) >= 9007199254740992.0)
            bad_at(m->s, m->from->path, 0,
                   "label %.17g is beyond 2^53, where the numbers of this format "
                   "are no longer exact; other formats can hold it",
                   v[i]);
}

static void free_var(void *v)
{
    ferry_i_var_free(v);
}

/* Banner, sizes, data; then as any variable that stands alone (transpose, labels). */
static void mtx_records(scope *s, const source *from, ferry_data *d)
{
    mtx m = {.s = s, .from = from, .l = ferry_i_lines(from->s, from->end - from->s)};
    ferry_var *v = NEW(s, ferry_var, 1);
    ferry_data *alone = NULL;

    scope_defer(s, free_var, v);
    read_banner(&m);
    read_sizes(&m);
    const int64_t mark = scope_mark(s);
    if (m.coordinate)
        read_coordinate(&m, v);
    else
        read_array(&m, v);
    scope_release(s, mark); /* v has all that is needed */
    if (from->as == FERRY_DATA_LABELS) check_labels(&m, v->x);
    scope_check(s, ferry_i_var_alone(scope_ctx(s), from->path, "mtx", v, from->set,
                                     from->as, &alone));
    const ferry_data none = *d;
    *d = *alone;
    *alone = none;
    ferry_data_free(alone);
}

static int sniff_mtx(const char *head, int64_t n)
{
    return n >= 14 && memcmp(head, "%%MatrixMarket", 14) == 0 ? 100 : 0;
}

/* Always real and general: symmetry is not looked for. Dense matrices go out by column, k
 * counts in that order: row k % rows, column k / rows. */
static ferry_status write_mtx(ferry_ctx *ctx, const ferry_data *data, const char *path,
                              const ferry_opts *opts)
{
    ferry_out *o = NULL;
    char number[32];
    const ferry_matrix *x = data->x;

    (void)opts;
    if (data->kind != FERRY_DATA_VIEW || !x)
        return ferry_i_fail(ctx, FERRY_EINVAL,
                            "%s: a Matrix Market file holds a matrix only", path);
    /* the matrix is still worth writing: only a warning */
    if (data->labels || data->ids || data->features)
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: a Matrix Market file holds no ids, names or labels; NPZ does",
                    path);
    FERRY_PASS(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_printf(o, "%%%%MatrixMarket matrix %s real general\n",
                       x->dense ? "array" : "coordinate");
    ferry_i_out_printf(o, "%lld %lld", (long long)x->rows, (long long)x->cols);
    if (!x->dense) ferry_i_out_printf(o, " %lld", (long long)x->nnz);
    ferry_i_out_write(o, "\n", 1);
    for (int64_t k = 0; x->dense && k < x->rows * x->cols; k++) {
        const double value = x->dense[k % x->rows * x->cols + k / x->rows];
        ferry_i_out_write(o, number, ferry_i_format_real(number, value));
        ferry_i_out_write(o, "\n", 1);
    }
    for (int64_t i = 0; !x->dense && i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            ferry_i_out_printf(o, "%lld %d ", (long long)(i + 1), x->index[e] + 1);
            ferry_i_out_write(o, number, ferry_i_format_real(number, x->value[e]));
            ferry_i_out_write(o, "\n", 1);
        }
    }
    return ferry_i_out_commit(ctx, o);
}

const ferry_format ferry_i_format_mtx = {
    .info = {.name = "mtx",
             .extensions = ".mtx .mm",
             .summary = "Matrix Market: a matrix, sparse or full",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_LABELS,
    .options = "transpose",
    .sniff = sniff_mtx,
    .records = mtx_records,
    .write = write_mtx,
};
