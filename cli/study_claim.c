/* Claims: comparisons of cells.
 *
 *   [row | column]   a cell of the table that the claim is in; ID[row | column] of another.
 *                    A side may be several: a; b; c, or a .. b in the table's order, or *.
 *                    So it is a small matrix, and what is done with it is done cell by
 * cell; one row (column) goes with every row (column) of the other operand.
 *   + - * /  < > <= >= == !=  and or
 *   all(x) count(x) size(x) mean(x) min(x, ..) max(x, ..) abs(x) within(x, y, tol)
 *   rows(x) columns(x)       where all of a row (column) holds
 *   falls(x) rises(x)        from each to the next
 *   lowest(x) highest(x)     the name of the row or column; == and != compare it with
 * "name" sd(x)                    the cells' standard deviations
 *
 * A number that is missing is NaN: it makes NaN of what is computed from it, and no
 * comparison holds for it. So a claim fails where a number is missing. A claim that reads
 * no cell is refused: a constant proves nothing. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

typedef struct value {
    int64_t r, c;
    double *x;  /* r x c, row after row */
    double *sd; /* of cells as they stand in a table; else NULL */
    const char *const *row, *const *column; /* their names; NULL: computed */
    const char *text;                       /* a name; NULL: numbers */
} value;

typedef struct parser {
    const lab *l;
    const table *here;
    const char *whole, *at;
    int line;
    bool cells; /* some were read */
} parser;

static value expression(parser *p);

static _Noreturn void wrong(const parser *p, const char *what)
{
    study_bad(p->l->s, p->line, "%s: %s%s%.30s", p->whole, what, *p->at ? " at " : "",
              p->at);
}

static value matrix(int64_t r, int64_t c)
{
    return (value){.r = r, .c = c, .x = study_alloc((size_t)(r * c) * sizeof(double))};
}

static value number(double x)
{
    value v = matrix(1, 1);

    v.x[0] = x;
    return v;
}

static void blanks(parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

/* Whether this comes next, and past it if so; a word ends where its letters do. */
static bool take(parser *p, const char *what)
{
    const size_t n = strlen(what);

    blanks(p);
    if (strncmp(p->at, what, n) != 0) return false;
    if (isalpha((unsigned char)what[0]) && isalnum((unsigned char)p->at[n])) return false;
    p->at += n;
    return true;
}

/* ---- cells ---- */

/* The places that one side of a selection names, in order; * leaves out `skip`, the means
 * that a table adds. Names that the table lacks are -1: no number. While a study is checked
 * its tables are still empty, and * is one place. */
static int64_t places(parser *p, const names *all, int64_t skip, const char *s,
                      int64_t *out)
{
    int64_t n = 0;

    for (;;) {
        size_t len = strcspn(s, ";");
        const char *next = s[len] ? s + len + 1 : NULL, *range = strstr(s, " .. ");
        while (len > 0 && isspace((unsigned char)*s))
            s++, len--;
        while (len > 0 && isspace((unsigned char)s[len - 1]))
            len--;
        const char *name = study_text("%.*s", (int)len, s);
        const bool star = strcmp(name, "*") == 0, several = range && range < s + len;
        int64_t from = 0, to = all->n - 1;
        if (!star) {
            const char *first = several ? study_text("%.*s", (int)(range - s), s) : name;
            from = names_find(all, first);
            to = several ? names_find(all, study_text("%.*s", (int)(s + len - range - 4),
                                                      range + 4))
                         : from;
            if ((from < 0 || to < from) && !p->l->checking)
                cli_say("%s: %s: the table has no %s", p->l->s->name, p->whole, name);
        }
        if (from < 0 || to < from) from = to = -1; /* of no row, or of an empty table */
        if (to < 0) out[n++] = -1;
        for (; from >= 0 && from <= to; from++)
            if (!star || from != skip) out[n++] = from;
        if (!next) return n;
        s = next;
    }
}

static value selection(parser *p, const table *t)
{
    const char *bar = strchr(p->at, '|'), *end = strchr(p->at, ']');

    if (!t) wrong(p, "which table?");
    if (!bar || !end || bar > end) wrong(p, "expected [row | column]");
    const size_t most = (size_t)(t->rows.n + t->columns.n) + strlen(p->at);
    int64_t *row = study_alloc(most * sizeof *row), *col = study_alloc(most * sizeof *col);
    const char **rn = study_alloc(most * sizeof *rn), **cn = study_alloc(most * sizeof *cn);
    const int64_t r = places(p, &t->rows, t->mean_row,
                             study_text("%.*s", (int)(bar - p->at), p->at), row);
    const int64_t c = places(p, &t->columns, t->mean_column,
                             study_text("%.*s", (int)(end - bar - 1), bar + 1), col);
    value v = matrix(r, c);
    v.sd = study_alloc((size_t)(r * c) * sizeof *v.sd);
    v.row = rn;
    v.column = cn;
    for (int64_t i = 0; i < r; i++)
        rn[i] = row[i] < 0 ? "" : t->rows.name[row[i]];
    for (int64_t j = 0; j < c; j++)
        cn[j] = col[j] < 0 ? "" : t->columns.name[col[j]];
    for (int64_t i = 0; i < r * c; i++) {
        const cell *at = table_find(t, row[i / c], col[i % c]);
        v.x[i] = at ? at->ours.mean : NAN;
        v.sd[i] = at ? at->ours.sd : NAN;
    }
    p->cells = true;
    p->at = end + 1;
    return v;
}

static const table *table_of(parser *p, const char *id)
{
    for (int64_t i = 0; i < p->l->n_tables; i++)
        if (p->l->tables[i].id && strcmp(p->l->tables[i].id, id) == 0)
            return &p->l->tables[i];
    return NULL;
}

/* ---- operators ---- */

/* Whether everything holds: at least one number, none missing, none 0. */
static bool truth(value v)
{
    bool all = v.r * v.c > 0 && !v.text;

    for (int64_t i = 0; !v.text && i < v.r * v.c; i++)
        all = all && isfinite(v.x[i]) && v.x[i] != 0;
    return all;
}

static double apply(const char *op, double a, double b)
{
    switch (op[0]) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    case '=': return a == b;
    case '!': return a < b || a > b; /* not for NaN */
    case '<': return op[1] ? a <= b : a < b;
    case '>': return op[1] ? a >= b : a > b;
    default: return NAN;
    }
}

static value combine(parser *p, const char *op, value a, value b)
{
    const int64_t r = a.r > b.r ? a.r : b.r, c = a.c > b.c ? a.c : b.c;

    if (a.text || b.text) { /* names: of a row or column, or written */
        if ((op[0] != '=' && op[0] != '!') || !a.text || !b.text)
            wrong(p, "a name can only be compared (== or !=) with a name");
        const bool known = a.text[0] && b.text[0];
        return number(known && (strcmp(a.text, b.text) == 0) == (op[0] == '='));
    }
    if ((a.r != r && a.r != 1) || (b.r != r && b.r != 1) || (a.c != c && a.c != 1) ||
        (b.c != c && b.c != 1))
        wrong(p, study_text("%lld x %lld cells do not go with %lld x %lld", (long long)a.r,
                            (long long)a.c, (long long)b.r, (long long)b.c));
    value v = matrix(r, c);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < c; j++)
            v.x[i * c + j] = apply(op, a.x[(a.r > 1 ? i : 0) * a.c + (a.c > 1 ? j : 0)],
                                   b.x[(b.r > 1 ? i : 0) * b.c + (b.c > 1 ? j : 0)]);
    return v;
}

/* ---- functions ---- */

/* Over all numbers of v, from `start`: how all, count, size, mean, min and max begin. */
static double reduce(const char *name, value v, double start)
{
    double out = start;

    for (int64_t i = 0; i < v.r * v.c; i++) {
        const double x = v.x[i];
        if (strcmp(name, "count") == 0)
            out += isfinite(x) && x != 0;
        else if (strcmp(name, "size") == 0)
            out += 1;
        else if (strcmp(name, "mean") == 0)
            out += x / (double)(v.r * v.c);
        else if (isnan(x) || isnan(out)) /* min, max: fmin would forget the NaN */
            out = NAN;
        else
            out = strcmp(name, "min") == 0 ? fmin(out, x) : fmax(out, x);
    }
    return out;
}

/* Rows or columns of which all holds. */
static value along(value v, bool rows)
{
    value out = matrix(rows ? v.r : 1, rows ? 1 : v.c);

    for (int64_t i = 0; i < out.r * out.c; i++)
        out.x[i] = 1;
    for (int64_t i = 0; i < v.r * v.c; i++)
        if (!isfinite(v.x[i]) || v.x[i] == 0) out.x[rows ? i / v.c : i % v.c] = 0;
    return out;
}

/* Whether each number is below (way -1) or above (1) the one before. */
static double steps(value v, int way)
{
    bool all = v.r * v.c > 1;

    for (int64_t i = 1; i < v.r * v.c; i++)
        all = all && way * (v.x[i] - v.x[i - 1]) > 0;
    return all;
}

/* Name of the row (of a column) or column with the lowest or highest number, the first of
 * equals; "" when one is missing. */
static value extreme(value v, int way)
{
    int64_t best = 0;

    v.text = "";
    for (int64_t i = 0; i < v.r * v.c; i++) {
        if (isnan(v.x[i])) return v;
        if (way * (v.x[i] - v.x[best]) > 0) best = i;
    }
    if (v.row && v.r * v.c > 0) v.text = v.c > 1 ? v.column[best % v.c] : v.row[best];
    return v;
}

/* A function of one argument. */
static value one_argument(parser *p, const char *name, value v)
{
    if (strcmp(name, "all") == 0) return number(truth(v));
    if (strcmp(name, "mean") == 0) return number(reduce(name, v, 0));
    if (strcmp(name, "rows") == 0) return along(v, true);
    if (strcmp(name, "columns") == 0) return along(v, false);
    if (strcmp(name, "falls") == 0) return number(steps(v, -1));
    if (strcmp(name, "rises") == 0) return number(steps(v, 1));
    if (strcmp(name, "lowest") == 0 || strcmp(name, "highest") == 0)
        return extreme(v, name[0] == 'l' ? -1 : 1);
    if (strcmp(name, "abs") == 0) {
        value out = matrix(v.r, v.c);
        for (int64_t i = 0; i < v.r * v.c; i++)
            out.x[i] = fabs(v.x[i]);
        return out;
    }
    if (strcmp(name, "sd") != 0) wrong(p, study_text("unknown function %s", name));
    if (!v.sd) wrong(p, "sd() is of cells");
    v.x = v.sd;
    return v;
}

static value function(parser *p, const char *name)
{
    enum { MOST = 32 };
    value arg[MOST];
    int n = 0;
    const bool many = strcmp(name, "min") == 0 || strcmp(name, "max") == 0 ||
                      strcmp(name, "count") == 0 || strcmp(name, "size") == 0;

    do
        arg[n++] = expression(p);
    while (n < MOST && take(p, ","));
    if (!take(p, ")")) wrong(p, "expected )");
    if (strcmp(name, "within") == 0 && n == 3) { /* |x - y| <= tol */
        value apart = one_argument(p, "abs", combine(p, "-", arg[0], arg[1]));
        return combine(p, "<=", apart, arg[2]);
    }
    if (!many && n != 1) wrong(p, study_text("%s(): wrong arguments", name));
    for (int i = 0; i < n; i++)
        if (arg[i].text) wrong(p, study_text("%s() is of numbers", name));
    if (!many) return one_argument(p, name, arg[0]);
    double out = name[0] != 'm' ? 0 : name[1] == 'i' ? INFINITY : -INFINITY;
    for (int i = 0; i < n; i++)
        out = reduce(name, arg[i], out);
    return number(out);
}

/* ---- the grammar ---- */

static value atom(parser *p)
{
    blanks(p);
    const char *from = p->at;
    char *end = NULL;

    if (take(p, "(")) {
        value v = expression(p);
        if (!take(p, ")")) wrong(p, "expected )");
        return v;
    }
    if (take(p, "-")) return combine(p, "-", number(0), atom(p));
    if (take(p, "\"")) {
        const size_t n = strcspn(p->at, "\"");
        value v = {.r = 1, .c = 1, .text = study_text("%.*s", (int)n, p->at)};
        p->at += n + (p->at[n] != 0);
        return v;
    }
    if (take(p, "[")) return selection(p, p->here);
    if (isdigit((unsigned char)*from)) {
        value v = number(strtod(from, &end));
        p->at = end;
        return v;
    }
    while (isalnum((unsigned char)*p->at) || *p->at == '_')
        p->at++;
    const char *name = study_text("%.*s", (int)(p->at - from), from);
    if (!name[0]) wrong(p, "expected a number, [row | column] or a function");
    if (take(p, "[")) return selection(p, table_of(p, name));
    if (take(p, "(")) return function(p, name);
    wrong(p, study_text("%s is no function and no table", name));
}

static value product(parser *p)
{
    value v = atom(p);

    for (;;) {
        const char *op = take(p, "*") ? "*" : take(p, "/") ? "/" : NULL;
        if (!op) return v;
        v = combine(p, op, v, atom(p));
    }
}

static value sum(parser *p)
{
    value v = product(p);

    for (;;) {
        const char *op = take(p, "+") ? "+" : take(p, "-") ? "-" : NULL;
        if (!op) return v;
        v = combine(p, op, v, product(p));
    }
}

static value comparison(parser *p)
{
    static const char *const ops[] = {"<=", ">=", "==", "!=", "<", ">"};
    value v = sum(p);

    for (int64_t i = 0; i < COUNT(ops); i++)
        if (take(p, ops[i])) return combine(p, ops[i], v, sum(p));
    return v;
}

static value conjunction(parser *p)
{
    value v = comparison(p);

    while (take(p, "and")) {
        const value w = comparison(p);
        v = number(truth(v) && truth(w));
    }
    return v;
}

static value expression(parser *p)
{
    value v = conjunction(p);

    while (take(p, "or")) {
        const value w = conjunction(p);
        v = number(truth(v) || truth(w));
    }
    return v;
}

static value evaluate(parser *p)
{
    value v = expression(p);

    blanks(p);
    if (*p->at) wrong(p, "expected nothing more");
    return v;
}

bool study_holds(const lab *l, const table *here, const char *text, int line)
{
    parser p = {l, here, text, text, line, false};
    const value v = evaluate(&p);

    if (!p.cells) wrong(&p, "reads no cell: a constant proves nothing");
    return truth(v);
}

/* ---- numbers in texts ---- */

/* "%.3f" and the like, and nothing that printf would read otherwise. */
static bool is_format(const char *f)
{
    f += f[0] == '%';
    f += *f == '+';
    f += strspn(f, "0123456789.");
    return (*f == 'f' || *f == 'g') && !f[1];
}

const char *study_say(const lab *l, const table *here, const char *text, int line)
{
    const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
    char shown[64] = "";

    if (!open) return text;
    if (!close) study_bad(l->s, line, "%.60s: a { without its }", open);
    char *inside = study_alloc((size_t)(close - open));
    memcpy(inside, open + 1, (size_t)(close - open - 1));
    char *format = strstr(inside, ":%");
    if (format) *format++ = 0;
    parser p = {l, here, inside, inside, line, false};
    const value v = evaluate(&p);
    if (format && !is_format(format)) wrong(&p, "expected a format such as %.1f");
    if (!v.text && v.r * v.c != 1) wrong(&p, "expected one number");
    if (!v.text) (void)snprintf(shown, sizeof shown, format ? format : "%g", v.x[0]);
    return study_text("%.*s%s%s", (int)(open - text), text, v.text ? v.text : shown,
                      study_say(l, here, close + 1, line));
}
