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
 * Ranks that read together (lines.h) parse a part of the entries each; an array every rank reads whole. */
#include <math.h>
#include <string.h>

#include "data/fields.h"
#include "data/lines.h"
#include "data/variables.h"

typedef enum symmetry { GENERAL, SYMMETRIC, SKEW } symmetry;

/* A file being read. l stands behind the last line that was taken. */
typedef struct mtx {
    const char *path, *text;
    int64_t size; /* of the file */
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
static ferry_status read_banner(ferry_ctx *ctx, mtx *m)
{
    ferry_status st = FERRY_OK;
    ferry_field f[6];
    const int64_t n =
        ferry_i_any_line(&m->l) ? ferry_i_fields(m->l.s, m->l.e, " ", f, 6) : 0;

    FERRY_NEED_AT(ctx,
                  n == 5 && ferry_i_field_is(&f[0], "%%matrixmarket") &&
                      ferry_i_field_is(&f[1], "matrix"),
                  m->path, 1, "expected \"%%%%MatrixMarket matrix FORMAT FIELD SYMMETRY\"");
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
        st = ferry_i_bad(ctx, m->path, 1,
                         "expected coordinate or array, real, integer or pattern, general, "
                         "symmetric or skew-symmetric");
done:
    return st;
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
static ferry_status read_sizes(ferry_ctx *ctx, mtx *m)
{
    ferry_status st = FERRY_OK;
    ferry_field f[4];
    const int64_t want = m->coordinate ? 3 : 2;
    const bool line = ferry_i_full_line(&m->l, "%");
    const int64_t n = line ? ferry_i_fields(m->l.s, m->l.e, " ", f, 4) : 0;

    FERRY_NEED_AT(ctx,
                  n == want && ferry_i_field_int(&f[0], &m->rows) &&
                      ferry_i_field_int(&f[1], &m->cols) &&
                      (!m->coordinate || ferry_i_field_int(&f[2], &m->entries)),
                  m->path, m->l.line, "expected the sizes: %lld whole numbers",
                  (long long)want);
    FERRY_NEED_AT(ctx, m->rows >= 1 && m->cols >= 1 && m->entries >= 0, m->path, m->l.line,
                  "%lld x %lld with %lld entries, expected a row and a column at "
                  "least",
                  (long long)m->rows, (long long)m->cols, (long long)m->entries);
    /* an entry takes at least 4 bytes, an item of an array 2; empty rows take none */
    const int64_t most = m->size * 1000 < INT32_MAX ? m->size * 1000 : INT32_MAX;
    const bool fits = m->rows <= most && m->cols <= most;
    if (fits && !m->coordinate) m->entries = array_entries(m);
    if (!fits || m->entries > m->size / (m->coordinate ? 3 : 1)) {
        st = ferry_i_bad(ctx, m->path, m->l.line,
                         "%lld x %lld with %lld entries is more than the file holds",
                         (long long)m->rows, (long long)m->cols, (long long)m->entries);
    } else if (m->sym != GENERAL && m->rows != m->cols) {
        st = ferry_i_bad(ctx, m->path, m->l.line,
                         "a symmetric matrix is square, this one is %lld x %lld",
                         (long long)m->rows, (long long)m->cols);
    }
done:
    return st;
}

/* ---- coordinate ---- */

/* A line of the file as it stands, places from 0; mirrored later. */
typedef struct entry {
    int32_t row, col;
    double value;
} entry;

/* A line as an entry, every field checked with its own message. False: an error was noted. */
static bool one_entry(const mtx *m, const ferry_lines *l, ferry_piece *p, entry *e)
{
    ferry_field f[4];
    char show[44];
    int64_t i = 0, j = 0;
    const int64_t want = m->pattern ? 2 : 3, n = ferry_i_fields(l->s, l->e, " ", f, 4);

    e->value = 1;
    if (n != want)
        ferry_i_piece_bad(p, ferry_i_line_of(m->text, l->s),
                          "expected %lld columns, found %lld", (long long)want,
                          (long long)n);
    else if (!ferry_i_field_int(&f[0], &i) || i < 1 || i > m->rows)
        ferry_i_piece_bad(p, ferry_i_line_of(m->text, l->s),
                          "row \"%s\", expected 1 .. %lld", ferry_i_field_show(&f[0], show),
                          (long long)m->rows);
    else if (!ferry_i_field_int(&f[1], &j) || j < 1 || j > m->cols)
        ferry_i_piece_bad(p, ferry_i_line_of(m->text, l->s),
                          "column \"%s\", expected 1 .. %lld",
                          ferry_i_field_show(&f[1], show), (long long)m->cols);
    else if (!m->pattern && !ferry_i_field_real(&f[2], &e->value))
        ferry_i_piece_bad(p, ferry_i_line_of(m->text, l->s),
                          "expected a finite number, found \"%s\"",
                          ferry_i_field_show(&f[2], show));
    else if (m->sym == SKEW && i == j)
        ferry_i_piece_bad(p, ferry_i_line_of(m->text, l->s),
                          "a skew-symmetric matrix has no diagonal entries");
    e->row = (int32_t)(i - 1);
    e->col = (int32_t)(j - 1);
    return p->bad_line == 0;
}

/* Entries by row, mirrored where the matrix is symmetric. */
static ferry_status place(ferry_ctx *ctx, const mtx *m, const entry *e, ferry_var *v)
{
    ferry_status st = FERRY_OK;
    int64_t *at = ferry_i_calloc(m->rows, sizeof *at), nnz = m->entries;

    /* A counting sort by row in two passes, O(entries + rows): the first counts the entries
     * of every row, the second puts each where `at` says. Order within a row comes
     * afterwards. */
    FERRY_HAVE(ctx, at);
    for (int64_t k = 0; m->sym != GENERAL && k < m->entries; k++)
        nnz += e[k].row != e[k].col;
    FERRY_TRY(ferry_i_matrix_csr(ctx, m->rows, m->cols, nnz, &v->x));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < m->entries; k++) {
            const bool twice = m->sym != GENERAL && e[k].row != e[k].col;
            for (int side = 0; side <= twice; side++) {
                const int32_t row = side ? e[k].col : e[k].row,
                              col = side ? e[k].row : e[k].col;
                if (pass == 0) {
                    v->x->start[row + 1]++;
                    continue;
                }
                v->x->index[at[row]] = col;
                /* a_ji = a_ij, or -a_ij when skew */
                v->x->value[at[row]++] = side && m->sym == SKEW ? -e[k].value : e[k].value;
            }
        }
        /* counts to offsets; `at` is where the next entry of a row goes */
        for (int64_t i = 0; pass == 0 && i < m->rows; i++) {
            v->x->start[i + 1] += v->x->start[i];
            at[i] = v->x->start[i];
        }
    }
    FERRY_TRY(ferry_i_var_sort(ctx, m->path, v));
done:
    ferry_i_free(at);
    return st;
}

/* The lines of a piece, up to the first error. rows counts its entries; the first `room` of them are stored. */
static void read_piece(const mtx *m, ferry_piece *p, entry *e, int64_t room)
{
    ferry_lines l = {.next = p->begin, .end = p->end};
    entry surplus;

    while (ferry_i_full_line(&l, "%") &&
           one_entry(m, &l, p, p->rows < room ? &e[p->rows] : &surplus))
        p->rows++;
}

/* The first mistake in the file: a line of its own, or the one behind the last entry promised. */
static ferry_status check_pieces(ferry_ctx *ctx, const mtx *m, const ferry_piece *p,
                                 int64_t n)
{
    int64_t there = 0;

    for (int64_t k = 0; k < n; there += p[k++].rows) {
        ferry_lines l = {.next = p[k].begin, .end = p[k].end};
        if (there + p[k].rows + (p[k].bad_line > 0) > m->entries) {
            for (int64_t i = there; i <= m->entries; i++)
                (void)ferry_i_full_line(&l, "%");
            return ferry_i_bad(ctx, m->path, ferry_i_line_of(m->text, l.s),
                               "more than the %lld entries promised",
                               (long long)m->entries);
        }
        FERRY_PASS(ferry_i_pieces_check(ctx, m->path, &p[k], 1));
    }
    if (there < m->entries)
        return ferry_i_bad(ctx, m->path, 0, "%lld entries promised, %lld there",
                           (long long)m->entries, (long long)there);
    return FERRY_OK;
}

/* Entries in any order. They are kept as read (16 bytes each) because rows are known only
 * when all lines are. Ours are read to the front, and moved where they belong. */
static ferry_status read_coordinate(ferry_ctx *ctx, mtx *m, ferry_var *v)
{
    ferry_status st = FERRY_OK;
    entry *e = NULL;
    ferry_piece *p = NULL;
    int64_t n = 0, from = 0, to = 0, own = 0, all = 0, none = 0;

    FERRY_NEW(ctx, e, m->entries);
    FERRY_TRY(ferry_i_pieces(ctx, m->l.next, m->l.end, &p, &n));
    ferry_i_pieces_mine(ctx, n, &from, &to);
    for (int64_t k = from; k < to && own <= m->entries; own += p[k++].rows)
        read_piece(m, &p[k], e + own, m->entries - own);
    FERRY_TRY(ferry_i_pieces_share(ctx, p, n));
    FERRY_TRY(check_pieces(ctx, m, p, n));
    ferry_i_pieces_place(p, n, 1, &all, &none);
    if (from < n && p[from].row_at > 0)
        memmove(e + p[from].row_at, e, (size_t)own * sizeof *e);
    FERRY_TRY(ferry_i_pieces_bring(ctx, p, n, FERRY_BY_ROW, all, sizeof *e, e));
    FERRY_TRY(place(ctx, m, e, v));
done:
    FERRY_FREE(e, p);
    return st;
}

/* ---- array ---- */

/* Values run down the columns. A symmetric file has only rows i >= j of column j, a skew
 * one only i > j, so the place jumps; each value is mirrored when it is read. NaN is a
 * missing cell here, since the result is dense; a sparse one has no place for it. */
static ferry_status read_array(ferry_ctx *ctx, mtx *m, ferry_var *v)
{
    ferry_status st = FERRY_OK;
    char show[44];
    int64_t n = 0, i = m->sym == SKEW ? 1 : 0, j = 0;

    FERRY_TRY(ferry_i_matrix_dense(ctx, m->rows, m->cols, &v->x));
    for (; ferry_i_full_line(&m->l, "%"); n++) {
        ferry_field f[1];
        double x = NAN;
        const int64_t k = ferry_i_fields(m->l.s, m->l.e, " ", f, 1);
        FERRY_NEED_AT(ctx,
                      k == 1 &&
                          (ferry_i_field_is(&f[0], "nan") || ferry_i_field_real(&f[0], &x)),
                      m->path, m->l.line, "expected one number, found \"%s\"",
                      ferry_i_field_show(&f[0], show));
        FERRY_NEED_AT(ctx, n != m->entries, m->path, m->l.line,
                      "more than the %lld numbers promised", (long long)m->entries);
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
        st = ferry_i_bad(ctx, m->path, 0, "%lld numbers promised, %lld there",
                         (long long)m->entries, (long long)n);
done:
    return st;
}

/* ---- the format ---- */

/* Banner, sizes, data; then as any variable that stands alone (transpose, labels). */
static ferry_status read_mtx(ferry_ctx *ctx, const ferry_input *in, const char *member,
                             const ferry_read_settings *s, ferry_data_kind as,
                             ferry_data **out)
{
    ferry_status st = FERRY_OK;
    mtx m = {.path = in->path,
             .text = in->data,
             .size = in->size,
             .l = ferry_i_lines(in->data, in->size)};
    ferry_var v = {0};

    (void)member;
    *out = NULL;
    FERRY_TRY(read_banner(ctx, &m));
    FERRY_TRY(read_sizes(ctx, &m));
    FERRY_TRY(m.coordinate ? read_coordinate(ctx, &m, &v) : read_array(ctx, &m, &v));
    FERRY_TRY(ferry_i_var_alone(ctx, in->path, "mtx", &v, s, as, out));
done:
    ferry_i_var_free(&v);
    return st;
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
    /* the matrix is still worth writing: only told, not refused */
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
    .read = read_mtx,
    .write = write_mtx,
};
