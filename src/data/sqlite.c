/* Tables out of SQLite databases: "shop.db#SELECT ..." or "shop.db#TABLE" reads as a CSV file with the columns' names in its
 * first line.
 *
 * libsqlite3 is loaded when a database is first read; of its interface, which does not change, the few functions used are
 * declared here, so that a build needs no header. The file is opened for reading only, its schema is not trusted, and one
 * statement runs that gives rows and changes nothing. */
#include "data/sqlite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Values of sqlite3.h. */
enum { OK = 0, ROW = 100, DONE = 101, READ_ONLY = 1 };
enum { INTEGER = 1, REAL = 2, TEXT = 3, BLOB = 4 };
enum { DEFENSIVE = 1010, TRUSTED_SCHEMA = 1017 };

static struct {
    bool works;
    char why[FERRY_LOAD_WHY];
    int (*open)(const char *, void **, int, const char *);
    int (*close)(void *);
    int (*config)(void *, int, ...);
    int (*prepare)(void *, const char *, int, void **, const char **);
    int (*finalize)(void *);
    int (*readonly)(void *);
    int (*step)(void *);
    int (*columns)(void *);
    const char *(*name)(void *, int);
    int (*type)(void *, int);
    long long (*integer)(void *, int);
    double (*real)(void *, int);
    const unsigned char *(*text)(void *, int);
    int (*bytes)(void *, int);
    const char *(*error)(void *);
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const ferry_symbol want[] = {
        {"sqlite3_open_v2", &lib.open},
        {"sqlite3_close", &lib.close},
        {"sqlite3_db_config", &lib.config},
        {"sqlite3_prepare_v2", &lib.prepare},
        {"sqlite3_finalize", &lib.finalize},
        {"sqlite3_stmt_readonly", &lib.readonly},
        {"sqlite3_step", &lib.step},
        {"sqlite3_column_count", &lib.columns},
        {"sqlite3_column_name", &lib.name},
        {"sqlite3_column_type", &lib.type},
        {"sqlite3_column_int64", &lib.integer},
        {"sqlite3_column_double", &lib.real},
        {"sqlite3_column_text", &lib.text},
        {"sqlite3_column_bytes", &lib.bytes},
        {"sqlite3_errmsg", &lib.error},
    };

    lib.works = ferry_i_load("libsqlite3.so.0", want, FERRY_COUNT(want), lib.why);
}

bool ferry_i_is_sqlite(const char *bytes, int64_t n)
{
    static const char magic[] = "SQLite format 3"; /* and its final zero */

    return n >= (int64_t)sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

bool ferry_i_is_sqlite_file(const char *path)
{
    char head[16] = "";
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(head, 1, sizeof head, f) : 0;

    if (f) (void)fclose(f);
    return ferry_i_is_sqlite(head, (int64_t)n);
}

/* ---- CSV ---- */

static ferry_status put(ferry_ctx *ctx, const char *path, const char *s, int64_t n,
                        ferry_grown *g)
{
    FERRY_PASS(ferry_i_room(ctx, path, n + 1, g));
    if (n > 0) memcpy(g->p + g->n, s, (size_t)n);
    g->n += n;
    return FERRY_OK;
}

/* Always in quotes: what a text says is no separator, comment or number's sign. */
static ferry_status put_text(ferry_ctx *ctx, const char *path, const char *s, int64_t n,
                             ferry_grown *g)
{
    FERRY_PASS(put(ctx, path, "\"", 1, g));
    for (int64_t i = 0; i < n; i++)
        FERRY_PASS(put(ctx, path, s[i] == '"' ? "\"\"" : s + i, s[i] == '"' ? 2 : 1, g));
    return put(ctx, path, "\"", 1, g);
}

/* NULL is a missing cell: nothing. */
static ferry_status put_cell(ferry_ctx *ctx, const char *path, void *row, int j,
                             ferry_grown *g)
{
    char number[40];

    switch (lib.type(row, j)) {
    case INTEGER:
        return put(ctx, path, number,
                   snprintf(number, sizeof number, "%lld", lib.integer(row, j)), g);
    case REAL:
        return put(ctx, path, number,
                   snprintf(number, sizeof number, "%.17g", lib.real(row, j)), g);
    case TEXT: {
        const char *s = (const char *)lib.text(row, j);
        return s ? put_text(ctx, path, s, lib.bytes(row, j), g) : ferry_i_nomem(ctx);
    }
    case BLOB:
        return ferry_i_fail(ctx, FERRY_EDATA,
                            "%s: column '%s' has a BLOB, expected numbers or texts", path,
                            lib.name(row, j));
    default: return FERRY_OK;
    }
}

/* Excel's line says what the separator is: cells need not be looked at for it. */
static ferry_status put_rows(ferry_ctx *ctx, const char *path, void *db, void *row,
                             ferry_grown *g)
{
    const int cols = lib.columns(row);
    int code = OK;

    FERRY_PASS(put(ctx, path, "sep=,\n", 6, g));
    for (int j = 0; j < cols; j++) {
        const char *name = lib.name(row, j);
        if (!name) return ferry_i_nomem(ctx);
        if (j > 0) FERRY_PASS(put(ctx, path, ",", 1, g));
        FERRY_PASS(put_text(ctx, path, name, (int64_t)strlen(name), g));
    }
    while ((code = lib.step(row)) == ROW) {
        for (int j = 0; j < cols; j++) {
            FERRY_PASS(put(ctx, path, j > 0 ? "," : "\n", 1, g));
            FERRY_PASS(put_cell(ctx, path, row, j, g));
        }
    }
    if (code != DONE) return ferry_i_fail(ctx, FERRY_EDATA, "%s: %s", path, lib.error(db));
    return put(ctx, path, "\n", 1, g);
}

/* ---- the statement ---- */

static bool is_blank(const char *s)
{
    return s[strspn(s, " \t\r\n;")] == 0;
}

/* A name of a table stands for all of it. New string; NULL: no memory. */
static char *statement_of(const char *wanted)
{
    if (strpbrk(wanted, " \t\r\n")) return ferry_i_strdup(wanted);
    const size_t n = strlen(wanted);
    char *all = ferry_i_calloc((int64_t)(2 * n + 32), 1);
    size_t at = 0;

    if (!all) return NULL;
    at = (size_t)sprintf(all, "SELECT * FROM \"");
    for (size_t i = 0; i < n; i++) {
        if (wanted[i] == '"') all[at++] = '"';
        all[at++] = wanted[i];
    }
    all[at++] = '"';
    return all;
}

static ferry_status prepare(ferry_ctx *ctx, const char *path, void *db, const char *sql,
                            void **row)
{
    ferry_status st = FERRY_OK;
    const char *rest = "";

    FERRY_NEED(ctx, lib.prepare(db, sql, -1, row, &rest) == OK, FERRY_EDATA, "%s: %s", path,
               lib.error(db));
    FERRY_NEED(ctx, *row && is_blank(rest), FERRY_EDATA,
               "%s: expected one statement, such as FILE#SELECT * FROM orders", path);
    FERRY_NEED(ctx, lib.readonly(*row) && lib.columns(*row) > 0, FERRY_EDATA,
               "%s: expected a statement that gives rows (SELECT) and changes nothing",
               path);
done:
    return st;
}

/* path: of messages; base: the file. */
ferry_status ferry_i_sqlite(ferry_ctx *ctx, const char *path, const char *base,
                            const char *wanted, char **out, int64_t *n)
{
    ferry_status st = FERRY_OK;
    ferry_grown g = {.limit = ferry_i_input_limit(ctx, -1)};
    void *db = NULL, *row = NULL;
    char *sql = NULL;

    (void)pthread_once(&once, load);
    FERRY_NEED(ctx, lib.works, FERRY_ENEEDS,
               "%s: reading SQLite needs the library libsqlite3 (Debian: libsqlite3-0): %s",
               path, lib.why);
    FERRY_HAVE(ctx, sql = statement_of(wanted));
    FERRY_NEED(ctx, lib.open(base, &db, READ_ONLY, NULL) == OK, FERRY_EDATA, "%s: %s", path,
               db ? lib.error(db) : "it cannot be opened");
    (void)lib.config(db, DEFENSIVE, 1, (int *)NULL); /* older versions know less */
    (void)lib.config(db, TRUSTED_SCHEMA, 0, (int *)NULL);
    FERRY_TRY(prepare(ctx, path, db, sql, &row));
    FERRY_TRY(put_rows(ctx, path, db, row, &g));
    *n = g.n;
    FERRY_MOVE(*out, g.p);
done:
    if (row) (void)lib.finalize(row);
    if (db) (void)lib.close(db);
    FERRY_FREE(sql, g.p);
    return st;
}
