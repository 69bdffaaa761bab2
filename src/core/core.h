/* Core: what every other part stands on. Nothing here knows about anything above. */
#ifndef FERRY_CORE_H
#define FERRY_CORE_H

#include <stdarg.h>
#include <stdbool.h>

#include "ferry/options.h"

struct json_t;

/* ---- status ---- */

/* Elements of an array (not of a pointer). */
#define FERRY_COUNT(a) ((int64_t)(sizeof(a) / sizeof((a)[0])))

/* Call, and leave by `done:` unless it went well. Needs `ferry_status st` and a label
 * `done`. */
#define FERRY_TRY(call)                                                                    \
    do {                                                                                   \
        st = (call);                                                                       \
        if (st != FERRY_OK) goto done;                                                     \
    } while (0)

/* Call, and return its status unless it went well: for a function with nothing to clean up,
 * which needs neither `st` nor a label. */
#define FERRY_PASS(call)                                                                   \
    do {                                                                                   \
        const ferry_status passed = (call);                                                \
        if (passed != FERRY_OK) return passed;                                             \
    } while (0)

/* Unless cond holds: put a sentence into the context and leave by `done:` with code. */
#define FERRY_NEED(ctx, cond, code, ...)                                                   \
    do {                                                                                   \
        if (!(cond)) {                                                                     \
            st = ferry_i_fail((ctx), (code), __VA_ARGS__);                                 \
            goto done;                                                                     \
        }                                                                                  \
    } while (0)

/* Unless cond holds, memory ran out: leave by `done:` with the one sentence for that. */
#define FERRY_HAVE(ctx, cond)                                                              \
    do {                                                                                   \
        if (!(cond)) {                                                                     \
            st = ferry_i_nomem(ctx);                                                       \
            goto done;                                                                     \
        }                                                                                  \
    } while (0)

/* p <- n zeroed elements, or leave by `done:`. */
#define FERRY_NEW(ctx, p, n)                                                               \
    do {                                                                                   \
        (p) = ferry_i_calloc((n), sizeof *(p));                                            \
        FERRY_HAVE(ctx, p);                                                                \
    } while (0)

/* Hand over what `from` owns: `to` has it, and cleaning up at `done:` finds NULL. */
#define FERRY_MOVE(to, from) ((to) = (from), (from) = NULL)

/* Free each of the pointers (NULL is fine). */
#define FERRY_FREE(...)                                                                    \
    ferry_i_free_all((void *[]){__VA_ARGS__},                                              \
                     sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

/* At the top of a public function: return FERRY_EINVAL, and say which, when the context or
 * one of these pointers is NULL. With an `out` it is set to NULL first. */
#define FERRY_ARGS(ctx, ...)                                                               \
    do {                                                                                   \
        if (!ferry_i_args((ctx), #__VA_ARGS__, (const void *const[]){__VA_ARGS__}))        \
            return FERRY_EINVAL;                                                           \
    } while (0)
#define FERRY_ARGS_OUT(ctx, out, ...)                                                      \
    do {                                                                                   \
        if (out) *(out) = NULL;                                                            \
        FERRY_ARGS(ctx, __VA_ARGS__);                                                      \
    } while (0)
/* False, with a message, when ctx or an argument is NULL; names: theirs, with commas. */
bool ferry_i_args(ferry_ctx *ctx, const char *names, const void *const *args);

/* Set the context's message and return code. */
ferry_status ferry_i_fail(ferry_ctx *ctx, ferry_status code, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
/* Set "out of memory" and return FERRY_ENOMEM. What was being made does not help the user:
 * whoever knows the file or method puts it in front with ferry_i_prefix(). */
ferry_status ferry_i_nomem(ferry_ctx *ctx);
/* Whether memory was refused to this thread, ours or jansson's, and nobody has said so yet.
 * What is built of many small pieces (JSON) asks once at the end. */
bool ferry_i_memory_lost(void);
/* Put "prefix: " in front of the context's message (a file name, a method). Returns
 * code. */
ferry_status ferry_i_prefix(ferry_ctx *ctx, ferry_status code, const char *fmt, ...)
    FERRY_PRINTF(3, 4);

/* ---- memory ---- */

/* Zeroed memory or NULL; n * size is checked; 0 bytes gives a valid pointer. */
void *ferry_i_calloc(int64_t n, size_t size);
/* The same, never in a file whatever the limit (spill.c): for what others free. */
void *ferry_i_calloc_here(int64_t n, size_t size);
/* Grow or shrink to n * size bytes; new bytes are NOT zeroed; on NULL the old block
 * stays. */
void *ferry_i_realloc(void *p, int64_t n, size_t size);
/* NULL is fine. */
void ferry_i_free(void *p);
/* From now on large arrays beyond so many bytes together are kept in files (spill.c); 0: none are. */
void ferry_i_spill_limit(int64_t bytes);
void ferry_i_free_all(void *const *p, size_t n);
char *ferry_i_strdup(const char *text);               /* NULL in, NULL out */
char *ferry_i_strndup(const char *text, int64_t len); /* always ends in 0 */
/* New string; NULL: no memory. */
char *ferry_i_sprintf(const char *fmt, ...) FERRY_PRINTF(1, 2);
bool ferry_i_ends_with(const char *text, const char *tail);

/* Make space for one more in a growing array {p, n, cap}: p may move. */
#define FERRY_GROW(p, n, cap) ferry_i_grow((void **)&(p), (n), &(cap), sizeof *(p))
bool ferry_i_grow(void **p, int64_t n, int64_t *cap, size_t size);

/* A string that grows. Zero-initialise; check `failed` once at the end. */
typedef struct ferry_text {
    char *s; /* ends in 0, or NULL while empty */
    /* bytes in use without the final 0; bytes there are */
    int64_t len, cap;
    /* memory ran out once: s is not whole */
    bool failed;
} ferry_text;
/* s up to its 0, n bytes of s, or as printf; each does nothing once `failed`. */
void ferry_i_text_add(ferry_text *t, const char *s);
void ferry_i_text_addn(ferry_text *t, const char *s, int64_t n);
void ferry_i_text_addf(ferry_text *t, const char *fmt, ...) FERRY_PRINTF(2, 3);
/* s, then blanks up to `width` columns of a terminal. */
void ferry_i_text_pad(ferry_text *t, const char *s, int64_t width);
void ferry_i_text_free(ferry_text *t);

/* Memory that is freed together: what a struct gives to callers. Zero-initialise. Who finds no memory
 * gets NULL, and `failed` stays set: check it once at the end. */
typedef struct ferry_arena {
    void **at;
    int64_t n, cap;
    bool failed;
} ferry_arena;
/* n zeroed items. */
void *ferry_i_arena_new(ferry_arena *p, int64_t n, size_t size);
/* A copy; NULL in, NULL out. */
char *ferry_i_arena_text(ferry_arena *p, const char *text);
void ferry_i_arena_free(ferry_arena *p);

/* ---- UTF-8 ---- */

/* Whether n bytes are UTF-8 without overlong forms or surrogates. One pass. */
bool ferry_i_utf8_valid(const char *s, int64_t n);
/* Code point c as UTF-8 (at most 4 bytes); returns its length. What is no code point
 * becomes U+FFFD. */
int ferry_i_put_utf8(char *s, uint32_t c);
/* Code points of a text (to NULL: only counted). Returns how many. */
int64_t ferry_i_utf8_points(const char *s, uint32_t *to);
/* Columns that a text takes on a terminal: 2 for East Asian wide characters, 0 for combining
 * marks, 1 for most others. */
int64_t ferry_i_utf8_width(const char *s);
/* Make a text one line that does nothing to a terminal, whatever a file's bytes put into it: control
 * characters, bytes that are no UTF-8 and marks of direction become '?'. A character that was cut at the
 * end goes. */
void ferry_i_one_line(char *s);
/* In lower case, letter by letter, whatever the alphabet; `to` has space for 2 n bytes (a few
 * letters grow from two bytes to three). Returns how many it took. */
int64_t ferry_i_utf8_lower(const char *s, int64_t n, char *to);

/* ---- context ---- */

struct ferry_engine;
struct ferry_ctx {
    /* where matrices are computed; static */
    const struct ferry_engine *engine;
    int threads; /* >= 1; of one cell, once the cells of an evaluation are planned (pool.h) */
    /* at once, as the user wants it (0: as many as pay) and as planned (0: not yet) */
    int jobs_asked, jobs;
    int64_t
        memory; /* the most that the process may hold, in bytes; 0: a share of what is free */
    /* what all streams of random numbers begin with */
    uint64_t seed;
    uint64_t repeat; /* which repeat of an evaluation runs; goes into every stream */
    /* callbacks: NULL when nobody listens; the user pointers are passed on */
    ferry_log_fn log;
    ferry_level log_least;
    void *log_user;
    struct ferry_later *later; /* kept here, for later, instead; or NULL */
    ferry_progress_fn progress;
    void *progress_user;
    ferry_run_fn run; /* for the method command; NULL: programs are started */
    void *run_user;
    int64_t step, steps; /* set by the evaluation, passed on by ferry_i_progress */
    const char *part;    /* folder that an evaluation keeps what is done in, or NULL */
    struct json_t *diag; /* diagnostics of the running fit, or NULL */
    const char *fitting; /* name of the method that is being fitted, or NULL */
    struct ferry_fit_info *info; /* what its fit says about its end, or NULL */
    int64_t
        gpu_memory;    /* most bytes of a card's memory (linalg/cuda.c); 0: a share of it */
    int64_t max_input; /* bytes that an input may have once unpacked; 0: by its size */
    bool keep_unpacked; /* the file unpacked last is kept for the next who opens it ... */
    struct ferry_unpacked *unpacked; /* ... here (src/data/input.c) */
    bool
        ample; /* address space was found to be without a limit (linalg/host/blas.c): asked once, not for every row of a stream */
    int isa; /* instruction set of the kernels (linalg/host/isa.h), chosen when it is made */
    bool machine_checked; /* told the log, if need be, that BLAS runs slow kernels */
    uint64_t said[16];    /* hashes of what ferry_i_warn_once() said last */
    int n_said;
    /* the sentence of the last error, one line, ends in 0 */
    char message[1024];
    char setting[32]; /* a number that ferry_ctx_get() gives */
    /* the MPI job that this context has joined (ranks.h), or NULL */
    struct ferry_ranks *ranks;
    /* files for `part` go here, on the way to rank 0; NULL: they are written */
    struct ferry_buffer *kept;
};

/* What ferry_ctx_set() sets, as numbers. */
ferry_status ferry_i_ctx_set_threads(ferry_ctx *ctx, int threads);
ferry_status ferry_i_ctx_set_jobs(ferry_ctx *ctx, int jobs);
ferry_status ferry_i_ctx_set_memory(ferry_ctx *ctx, int64_t bytes);
ferry_status ferry_i_ctx_set_max_input(ferry_ctx *ctx, int64_t bytes);
ferry_status ferry_i_ctx_set_engine(ferry_ctx *ctx, const char *name); /* linalg/engine.c */
const char *ferry_i_ctx_engine(const ferry_ctx *ctx);                  /* ... its name */

void ferry_i_log(ferry_ctx *ctx, ferry_level level, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
/* A warning about the data, which every fit of an evaluation finds again: said only if it
 * is not among the last 16 that were said. */
void ferry_i_warn_once(ferry_ctx *ctx, const char *fmt, ...) FERRY_PRINTF(2, 3);

/* Log lines that wait for their turn. Zero-initialise. */
typedef struct ferry_later {
    struct ferry_line *at;
    int64_t n, cap;
} ferry_later;
/* Say them; what ferry_i_warn_once() said is still said only once. rank: who said it (0: here). Frees
 * them. */
void ferry_i_later_say(ferry_ctx *ctx, ferry_later *lines, int rank);
void ferry_i_later_free(ferry_later *lines);

/* A context for one part of the work, with a seed, repeat, steps and threads of its own. All else is the
 * outer one's, callbacks among it: nobody has to put anything back. */
ferry_ctx ferry_i_child(const ferry_ctx *ctx);
/* The same context where no other processes are; ferry_i_join() at its end. */
ferry_ctx ferry_i_alone(const ferry_ctx *ctx);
/* The part is over: the outer context gets its message and what was said on the way. Returns st. */
ferry_status ferry_i_join(ferry_ctx *ctx, const ferry_ctx *child, ferry_status st);

/* Tell the progress callback; sets *finish when it said FERRY_FINISH. FERRY_OK or
 * FERRY_ECANCELLED. objective (NaN: none) is also recorded in the diagnostics as
 * "objective". Call once per outer iteration. */
ferry_status ferry_i_progress(ferry_ctx *ctx, const char *what, int64_t done, int64_t total,
                              double objective, bool *finish);

/* Diagnostics of the running fit, by name. They end up in the model and in results.json.
 * Outside a fit they do nothing. Failing to record is not an error. */
void ferry_i_diag_real(ferry_ctx *ctx, const char *name, double value);
void ferry_i_diag_text(ferry_ctx *ctx, const char *name, const char *value);
void ferry_i_diag_reals(ferry_ctx *ctx, const char *name, int64_t n, const double *values);
/* {"key": value, ...} */
void ferry_i_diag_named(ferry_ctx *ctx, const char *name, int64_t n,
                        const char *const *keys, const double *values);
/* Any JSON; steals the reference, also when it fails. */
void ferry_i_diag_json(ferry_ctx *ctx, const char *name, struct json_t *value);
/* A number as JSON, which has no NaN: what is not finite is null. NULL: no memory. */
struct json_t *ferry_i_json_real(double x);

/* JSON as text, by jansson's flags: a new string of ours. FERRY_ENOMEM also when a piece of the JSON
 * could not be made. json NULL: it could not be made. */
ferry_status ferry_i_json_dump(ferry_ctx *ctx, const struct json_t *json, size_t flags,
                               char **out);
/* From the first context on jansson tells about memory that it does not get (memory.c). */
void ferry_i_json_watch(void);

/* ---- random numbers ---- */

/* PCG64 (XSL-RR 128/64, O'Neill 2014), with numbered streams. */
typedef struct ferry_rng {
    /* 128-bit state and increment (odd) in halves: C11 has no such type */
    uint64_t state_hi, state_lo, inc_hi, inc_lo;
    double spare; /* second normal of a pair */
    bool has_spare;
} ferry_rng;

/* The generator at its beginning: the same (seed, stream) gives the same 64-bit numbers on
 * every machine. */
void ferry_i_rng_seed(ferry_rng *rng, uint64_t seed, uint64_t stream);
/* Generator for one use in one repeat: seed from the context, stream from (repeat, use). */
void ferry_i_rng_for(const ferry_ctx *ctx, ferry_rng *rng, const char *use);
uint64_t ferry_i_rng_u64(ferry_rng *rng);
uint64_t ferry_i_rng_below(ferry_rng *rng, uint64_t n); /* unbiased, n >= 1 */
double ferry_i_rng_real(ferry_rng *rng);                /* [0, 1), 53 bits */
double ferry_i_rng_normal(ferry_rng *rng);
void ferry_i_rng_shuffle(ferry_rng *rng, int64_t n, int64_t *a); /* Fisher-Yates */

/* ---- options ---- */

struct ferry_opt_table {
    const ferry_opt *opt;
    int64_t n;
};

/* One line of a table. def is written as a user would: 10, 1e-6, yes, sit. Option names
 * with a dash or that are C keywords use FERRY_OPT_AS with the name in quotes. */
#define FERRY_OPT(T, kind, field, def, lo, hi, help)                                       \
    {                                                                                      \
#field, FERRY_OPT_##kind, offsetof(T, field), #def, lo, hi, NULL, help             \
    }
#define FERRY_OPT_AS(T, name, kind, field, def, lo, hi, help)                              \
    {                                                                                      \
        name, FERRY_OPT_##kind, offsetof(T, field), #def, lo, hi, NULL, help               \
    }
#define FERRY_OPT_ONE_OF(T, field, choices, def, help)                                     \
    {                                                                                      \
#field, FERRY_OPT_CHOICE, offsetof(T, field), def, 0, 0, choices, help             \
    }
#define FERRY_OPT_ONE_OF_AS(T, name, field, choices, def, help)                            \
    {                                                                                      \
        name, FERRY_OPT_CHOICE, offsetof(T, field), def, 0, 0, choices, help               \
    }
#define FERRY_OPT_YES_NO(T, field, def, help)                                              \
    {                                                                                      \
#field, FERRY_OPT_BOOL, offsetof(T, field), def, 0, 0, NULL, help                  \
    }
#define FERRY_OPT_STRING(T, field, def, help)                                              \
    {                                                                                      \
#field, FERRY_OPT_TEXT, offsetof(T, field), def, 0, 0, NULL, help                  \
    }
#define FERRY_OPT_PATH(T, field, help)                                                     \
    {                                                                                      \
#field, FERRY_OPT_FILE, offsetof(T, field), "", 0, 0, NULL, help                   \
    }

/* Fill `into` (the options struct) from the table's defaults and opts (may be NULL). Texts
 * point into opts or the table: keep opts alive. `what` begins the message ("svm",
 * "reader"). An unknown key names the nearest known one; "rank = 0 is outside [1, 1e+09]".
 */
ferry_status ferry_i_opts_parse(ferry_ctx *ctx, const char *what, const ferry_opt *table,
                                int64_t n, const ferry_opts *opts, void *into);
int64_t ferry_i_opts_count(const ferry_opts *opts); /* 0 for NULL */
ferry_status ferry_i_opts_copy(ferry_ctx *ctx, const ferry_opts *opts, ferry_opts **out);
/* Settings of opts whose value differs from the table's default, as "k=v k=v" ("" if none).
 * New string. */
char *ferry_i_opts_differing(const ferry_opt *table, int64_t n, const ferry_opts *opts);
/* Every option of the table with the value it takes under opts: {"k": "v"}. */
struct json_t *ferry_i_opts_json(const ferry_opt *table, int64_t n, const ferry_opts *opts);
ferry_status ferry_i_opts_from_json(ferry_ctx *ctx, const struct json_t *json,
                                    ferry_opts **out);
/* The nearest of n words to `word` by edit distance (for "did you mean"), or NULL when none
 * is near. */
const char *ferry_i_nearest(const char *word, int64_t n,
                            const char *(*at)(const void *, int64_t), const void *arg);

/* ---- ids ---- */

/* A set of strings numbered 0, 1, ... in the order added. */
typedef struct ferry_ids ferry_ids;
ferry_ids *ferry_i_ids_new(void); /* NULL: no memory */
void ferry_i_ids_free(ferry_ids *ids);
int64_t ferry_i_ids_count(const ferry_ids *ids); /* NULL: 0 */
/* Text of number i; lives until the next id is added or the map is freed. */
const char *ferry_i_ids_at(const ferry_ids *ids, int64_t i);
int64_t ferry_i_ids_find(const ferry_ids *ids, const char *id); /* -1: not there */
int64_t ferry_i_ids_findn(const ferry_ids *ids, const char *id, int64_t len);
/* Number of id, added if new (*added tells; may be NULL); -1: no memory. */
int64_t ferry_i_ids_add(ferry_ids *ids, const char *id, bool *added);
int64_t ferry_i_ids_addn(ferry_ids *ids, const char *id, int64_t len, bool *added);
/* A copy with the same numbers; NULL: no memory. */
ferry_ids *ferry_i_ids_copy(const ferry_ids *ids);
/* "1" .. "n". */
ferry_ids *ferry_i_ids_numbers(int64_t n);
/* As arrays of files have them: texts one after the other, each ended by a zero byte. Parsing refuses (FERRY_EDATA, by
 * the array's name) a last one without its end and one that comes twice. */
void ferry_i_ids_print(const ferry_ids *ids, ferry_text *out);
ferry_status ferry_i_ids_parse(ferry_ctx *ctx, const char *name, const void *bytes,
                               int64_t n, ferry_ids **out);

/* ---- numbers as text ---- */

/* Parse a double at s (end exclusive): returns the first byte after it, or NULL. Takes what
 * strtod takes in the C locale except hexadecimal, "nan" and "inf"; correctly rounded;
 * overflow gives +-inf. Fast. */
const char *ferry_i_parse_real(const char *s, const char *end, double *out);
/* Likewise for a decimal integer; NULL also when it does not fit. */
const char *ferry_i_parse_int(const char *s, const char *end, int64_t *out);
/* Shortest text that reads back to the same double; integers without a point. buf has >= 32
 * bytes. */
int ferry_i_format_real(char *buf, double x);

/* ---- files ---- */

/* A file to be written whole: lines go to a temporary name beside it; commit renames, abort
 * removes. A symbolic link is followed; a pipe or device is written as it stands. */
typedef struct ferry_out ferry_out;
ferry_status ferry_i_out_open(ferry_ctx *ctx, const char *path, ferry_out **out);
/* Buffered; an error is kept and reported by commit. */
void ferry_i_out_write(ferry_out *o, const void *bytes, int64_t n);
void ferry_i_out_printf(ferry_out *o, const char *fmt, ...) FERRY_PRINTF(2, 3);
/* prefix and text as one CSV cell, in quotes where it needs them (RFC 4180). */
void ferry_i_out_csv(ferry_out *o, const char *prefix, const char *text);
/* Flush, sync, rename. Frees o in any case. */
ferry_status ferry_i_out_commit(ferry_ctx *ctx, ferry_out *o);
void ferry_i_out_abort(ferry_out *o); /* NULL is fine */
/* Make the folder and those above it; fine when it is there. FERRY_EIO otherwise. */
ferry_status ferry_i_mkdirs(ferry_ctx *ctx, const char *path);
/* "is a folder", "is a device" ..., or NULL for what can be read to an end: a plain file, a pipe, a
 * terminal. mode: st_mode; fd: -1 when it is not open. */
const char *ferry_i_unreadable(unsigned mode, int fd);
/* Remove a folder and all that is in it, as far as can be; links are not followed. */
void ferry_i_remove_tree(const char *path);
/* Put the folder `from` in the place of `dir`, if there is one. `old` is a name for what was there
 * meanwhile, of which all but `ours` (names, ends in NULL) comes back into `dir`. */
ferry_status ferry_i_folder_replace(ferry_ctx *ctx, const char *from, const char *dir,
                                    const char *old, const char *const *ours);
/* Finish a replacement that was killed half-way; nothing to do is fine. */
ferry_status ferry_i_folder_finish(ferry_ctx *ctx, const char *dir, const char *old,
                                   const char *const *ours);
/* dir/name, unless name is absolute or dir is NULL or "". New string. */
char *ferry_i_path_join(const char *dir, const char *name);
/* Folder of a path ("." if none). New string. */
char *ferry_i_path_dir(const char *path);

/* SHA-256 of bytes that come in pieces; digest has 32 bytes. */
typedef struct ferry_sha256 {
    /* hash of the blocks so far; bytes added; what is not yet a whole block */
    uint32_t h[8];
    int64_t bytes;
    uint8_t part[64];
} ferry_sha256;
void ferry_i_sha256_begin(ferry_sha256 *s);
void ferry_i_sha256_add(ferry_sha256 *s, const void *bytes, int64_t n);
void ferry_i_sha256_end(ferry_sha256 *s, uint8_t *digest);

/* ---- libraries loaded when first needed ---- */

/* A function of the library: its name, and the address of the pointer that is to hold it. */
typedef struct ferry_symbol {
    const char *name;
    void *to;
} ferry_symbol;
#define FERRY_LOAD_WHY 256
/* Open the shared library `name` and look up all n symbols; false: `why` (FERRY_LOAD_WHY
 * bytes) says what is missing. It stays loaded. Call it under pthread_once: it writes through
 * the pointers of `want`. */
bool ferry_i_load(const char *name, const ferry_symbol *want, int64_t n, char *why);

/* Seconds from a steady clock, and seconds since 1970. */
double ferry_i_clock(void);
double ferry_i_wall_clock(void);

#endif
