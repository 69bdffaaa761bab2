/* What this installation is made of, and what is wrong with it.
 *
 * The struct is made first, and the JSON is written from it, so that a program, `ferry doctor` and
 * its --json say the same. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

#include "data/archive.h"
#include "data/matio.h"
#include "linalg/blas.h"
#include "linalg/host/isa.h"
#include "linalg/linalg.h"
#include "run/run.h"
#include "show/show.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

enum { MOST = 16 }; /* libraries, engines and problems: of none are there more */

/* What is borrowed, and what it lies in. */
typedef struct found {
    ferry_installation pub; /* first: ferry_installation_free() gets its address */
    ferry_arena arena;
    json_t *machine;
    const char *library[MOST], *version[MOST], *problem[MOST];
    const char *engine[MOST], *summary[MOST];
    uint8_t works[MOST];
} found;

static const char *known(const char *text)
{
    return text && text[0] ? text : "?";
}

static void library(found *f, const char *name, const char *version)
{
    const int64_t i = f->pub.n_libraries++;

    f->library[i] = name;
    f->version[i] = ferry_i_arena_text(&f->arena, known(version));
}

static void library_parts(found *f, const char *name, int major, int minor, int patch)
{
    char text[64];

    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    library(f, name, text);
}

static void problem(found *f, const char *fmt, ...) FERRY_PRINTF(2, 3);
static void problem(found *f, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (f->pub.n_problems < MOST)
        f->problem[f->pub.n_problems++] = ferry_i_arena_text(&f->arena, text);
}

static void libraries(found *f)
{
    int major = 0, minor = 0, patch = 0;
    unsigned h5major = 0, h5minor = 0, h5patch = 0;
    const unsigned xxh = XXH_versionNumber();

    library(f, "OpenBLAS", ferry_i_blas_config());
    ferry_i_lapack_version(&major, &minor, &patch);
    library_parts(f, "LAPACK", major, minor, patch);
    if (ferry_i_matio_load()) {
        ferry_i_matio.GetLibraryVersion(&major, &minor, &patch);
        (void)ferry_i_matio.hdf5_version(&h5major, &h5minor, &h5patch);
    } else {
        problem(f, "matio is missing, so MAT files cannot be read (Debian: libmatio11)");
        major = minor = patch = 0;
    }
    library_parts(f, "matio", major, minor, patch);
    library_parts(f, "HDF5", (int)h5major, (int)h5minor, (int)h5patch);
    library(f, "libyaml", yaml_get_version_string());
    library(f, "jansson", jansson_version_str());
    library(f, "zlib", zlibVersion());
    library(f, "utf8proc", utf8proc_version());
    library(f, "libarchive", ferry_i_archive_version());
    library_parts(f, "xxHash", (int)(xxh / 10000), (int)(xxh / 100 % 100),
                  (int)(xxh % 100));
}

int64_t ferry_i_proc_bytes(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    char line[256];
    long long kb = -1;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line + strlen(name), ": %lld", &kb) == 1)
            break;
    if (file) (void)fclose(file);
    return kb < 0 ? -1 : (int64_t)kb * 1024;
}

/* Whether the engine factors and multiplies right: A = L L' for a known 2 x 2 matrix, then
 * L L' again. */
static bool engine_works(ferry_ctx *ctx, const ferry_engine *engine)
{
    ferry_ctx own = *ctx;
    double a[4] = {4, 2, 2, 3}, back[4] = {0};
    ferry_small l = {2, 2, a}, p = {2, 2, back};

    own.engine = engine;
    own.diag = NULL;
    if (!engine->chol || !engine->gemm || engine->chol(&own, &l) != FERRY_OK) return false;
    engine->gemm(&own, false, true, 1, &l, &l, 0, &p);
    return fabs(back[0] - 4) < 1e-12 && fabs(back[1] - 2) < 1e-12 &&
           fabs(back[2] - 2) < 1e-12 && fabs(back[3] - 3) < 1e-12;
}

/* The card, or what is missing: no problem but where a card is in the machine. */
static void card(found *f, int64_t i)
{
    char text[1024];
    bool driver = false;
    const bool works = ferry_i_card_text(text, sizeof text, &driver);

    ferry_i_one_line(text);
    f->summary[i] = ferry_i_arena_text(&f->arena, text);
    f->works[i] = f->works[i] && works;
    if (driver && !works) problem(f, "engine cuda %s", text);
}

static void engines(ferry_ctx *ctx, found *f)
{
    for (int64_t i = 0; i < ferry_i_engine_count() && i < MOST; i++) {
        const ferry_engine *e = ferry_i_engine_at(i);

        f->engine[i] = e->name;
        f->summary[i] = e->summary;
        f->works[i] = engine_works(ctx, e);
        f->pub.n_engines++;
        if (e == &ferry_i_engine_cuda) card(f, i);
        if (!f->works[i] && e != &ferry_i_engine_cuda)
            problem(f, "engine %s gives a wrong result for L L'", e->name);
    }
}

static void processor(const ferry_ctx *ctx, found *f)
{
    const char *core = ferry_i_blas_core(), *wanted = ferry_i_blas_core_wanted();
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char text[160];

    f->pub.blas_core = known(core);
    f->pub.blas_wanted = known(wanted);
    f->pub.isa = ferry_i_isa_name((ferry_isa)ctx->isa);
    f->pub.threads = ctx->threads;
    f->pub.cores = cores;
    if (core[0] && wanted[0] && strcmp(core, wanted) != 0)
        problem(f,
                "OpenBLAS runs kernels for %s, this CPU wants %s: set OPENBLAS_CORETYPE=%s",
                core, wanted, wanted);
    if (ferry_i_isa_problem(text, sizeof text)) problem(f, "%s", text);
    if (cores > 0 && ctx->threads > cores)
        problem(f, "%d threads on %ld cores: more than there are slow a run down",
                ctx->threads, cores);
}

static void memory(found *f)
{
    const int64_t available = ferry_i_proc_bytes("/proc/meminfo", "MemAvailable");

    f->pub.memory = ferry_i_proc_bytes("/proc/meminfo", "MemTotal");
    f->pub.memory_available = available;
    if (available >= 0 && available < (int64_t)256 << 20)
        problem(f, "only %lld MB of memory are available", (long long)(available >> 20));
}

/* The texts of the record of a run, which describes machines in the same words. */
static void machine(found *f)
{
    const char **to[] = {&f->pub.system, &f->pub.release, &f->pub.architecture,
                         &f->pub.cpu};
    static const char *const keys[] = {"system", "release", "architecture", "cpu"};

    f->machine = ferry_i_machine_json();
    for (int i = 0; i < 4; i++)
        *to[i] = known(json_string_value(json_object_get(f->machine, keys[i])));
}

ferry_status ferry_doctor(ferry_ctx *ctx, ferry_installation **out)
{
    FERRY_ARGS_OUT(ctx, out, out);

    ferry_status st = FERRY_OK;
    found *f = NULL;
    char *json = NULL;

    FERRY_TRY(ferry_i_blas_ready(ctx));
    FERRY_NEW(ctx, f, 1);
    f->pub = (ferry_installation){.size = sizeof f->pub,
                                  .version = ferry_version(),
                                  .compiler = COMPILER,
                                  .libraries = f->library,
                                  .library_versions = f->version,
                                  .engines = f->engine,
                                  .engine_summaries = f->summary,
                                  .engine_works = f->works,
                                  .engine = ferry_i_ctx_engine(ctx),
                                  .problems = f->problem};
    libraries(f);
    if (!ferry_i_archive_version())
        problem(
            f, "libarchive is missing, so archives and files compressed other than by gzip "
               "cannot be read (Debian: libarchive13)");
    engines(ctx, f);
    processor(ctx, f);
    memory(f);
    machine(f);
    FERRY_HAVE(ctx, f->machine && !f->arena.failed);
    FERRY_TRY(ferry_i_installation_json(ctx, &f->pub, &json));
    f->pub.json = ferry_i_arena_text(&f->arena, json);
    FERRY_HAVE(ctx, f->pub.json);
    *out = &f->pub;
    f = NULL;
done:
    ferry_i_free(json);
    if (f) ferry_installation_free(&f->pub);
    return st;
}

void ferry_installation_free(ferry_installation *installation)
{
    found *f = (found *)installation;

    if (!f) return;
    json_decref(f->machine);
    ferry_i_arena_free(&f->arena);
    ferry_i_free(f);
}

/* ---- as JSON ---- */

json_t *ferry_i_libraries_json(const ferry_installation *f)
{
    json_t *o = json_object();

    for (int64_t i = 0; i < f->n_libraries; i++)
        (void)json_object_set_new(o, f->libraries[i],
                                  ferry_i_json_text(f->library_versions[i]));
    return o;
}

static json_t *engines_json(const ferry_installation *f)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < f->n_engines; i++)
        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:b}", "name", f->engines[i], "summary",
                            f->engine_summaries[i], "works", (int)f->engine_works[i]));
    return list;
}

static json_t *problems_json(const ferry_installation *f)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < f->n_problems; i++)
        (void)json_array_append_new(list, ferry_i_json_text(f->problems[i]));
    return list;
}

static json_t *bytes_or_null(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

ferry_status ferry_i_installation_json(ferry_ctx *ctx, const ferry_installation *f,
                                       char **out)
{
    ferry_status st = FERRY_OK;
    json_t *all = json_pack(
        "{s:s, s:s, s:o, s:o, s:s, s:{s:s, s:s}, s:O, s:{s:s, s:I, s:I}, s:{s:o, s:o}, s:o}",
        "ferry", f->version, "compiler", f->compiler, "libraries",
        ferry_i_libraries_json(f), "engines", engines_json(f), "engine", f->engine, "blas",
        "core", f->blas_core, "wanted", f->blas_wanted, "machine",
        ((const found *)f)->machine, "cpu", "isa", f->isa, "threads",
        (json_int_t)f->threads, "cores", (json_int_t)f->cores, "memory", "total",
        bytes_or_null(f->memory), "available", bytes_or_null(f->memory_available),
        "problems", problems_json(f));

    FERRY_TRY(ferry_i_json_dump(ctx, all, JSON_INDENT(2), out));
done:
    json_decref(all);
    return st;
}
