/* What this installation is made of, and what is wrong with it. */
#include <hdf5.h>
#include <jansson.h>
#include <lapacke.h>
#include <linear.h>
#include <math.h>
#include <matio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

#include "data/archive.h"
#include "eval/eval.h"
#include "linalg/host/isa.h"
#include "linalg/linalg.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void put(json_t *object, const char *key, const char *value)
{
    (void)json_object_set_new(object, key, json_string(value && value[0] ? value : "?"));
}

static void put_version(json_t *object, const char *key, int major, int minor, int patch)
{
    char text[64];

    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    put(object, key, text);
}

static json_t *libraries(void)
{
    json_t *v = json_object();
    int major = 0, minor = 0, patch = 0;
    lapack_int lmajor = 0, lminor = 0, lpatch = 0;
    unsigned h5major = 0, h5minor = 0, h5patch = 0;
    const unsigned xxh = XXH_versionNumber();
    char linear[32];

    put(v, "OpenBLAS", ferry_i_blas_config());
    LAPACKE_ilaver(&lmajor, &lminor, &lpatch);
    put_version(v, "LAPACK", (int)lmajor, (int)lminor, (int)lpatch);
    snprintf(linear, sizeof linear, "%d.%d", liblinear_version / 100,
             liblinear_version % 100);
    put(v, "liblinear", linear);
    Mat_GetLibraryVersion(&major, &minor, &patch);
    put_version(v, "matio", major, minor, patch);
    H5get_libversion(&h5major, &h5minor, &h5patch);
    put_version(v, "HDF5", (int)h5major, (int)h5minor, (int)h5patch);
    put(v, "libyaml", yaml_get_version_string());
    put(v, "jansson", jansson_version_str());
    put(v, "zlib", zlibVersion());
    put(v, "utf8proc", utf8proc_version());
    put(v, "libarchive", ferry_i_archive_version());
    put_version(v, "xxHash", (int)(xxh / 10000), (int)(xxh / 100 % 100), (int)(xxh % 100));
    return v;
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

static json_t *bytes_or_null(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static void problem(json_t *list, const char *fmt, ...) FERRY_PRINTF(2, 3);
static void problem(json_t *list, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)json_array_append_new(list, json_string(text));
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

static json_t *engines(ferry_ctx *ctx, json_t *problems)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < ferry_i_engine_count(); i++) {
        const ferry_engine *e = ferry_i_engine_at(i);
        const bool works = engine_works(ctx, e);
        json_t *one = json_object();

        put(one, "name", e->name);
        put(one, "summary", e->summary);
        (void)json_object_set_new(one, "works", json_boolean(works));
        (void)json_array_append_new(list, one);
        if (!works) problem(problems, "engine %s gives a wrong result for L L'", e->name);
    }
    return list;
}

static json_t *blas(json_t *problems)
{
    const char *core = ferry_blas_core(), *wanted = ferry_blas_core_wanted();
    json_t *object = json_object();

    put(object, "core", core);
    put(object, "wanted", wanted);
    if (core[0] && wanted[0] && strcmp(core, wanted) != 0)
        problem(problems,
                "OpenBLAS runs kernels for %s, this CPU wants %s: set OPENBLAS_CORETYPE=%s",
                core, wanted, wanted);
    return object;
}

static json_t *threads(const ferry_ctx *ctx, json_t *problems)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    json_t *object = json_object();
    char text[160];

    put(object, "isa", ferry_i_isa_name((ferry_isa)ctx->isa));
    if (ferry_i_isa_problem(text, sizeof text)) problem(problems, "%s", text);
    (void)json_object_set_new(object, "threads", json_integer(ctx->threads));
    (void)json_object_set_new(object, "cores", json_integer(cores));
    if (cores > 0 && ctx->threads > cores)
        problem(problems, "%d threads on %ld cores: more than there are slow a run down",
                ctx->threads, cores);
    return object;
}

static json_t *memory(json_t *problems)
{
    const int64_t total = ferry_i_proc_bytes("/proc/meminfo", "MemTotal");
    const int64_t available = ferry_i_proc_bytes("/proc/meminfo", "MemAvailable");
    json_t *object = json_object();

    (void)json_object_set_new(object, "total", bytes_or_null(total));
    (void)json_object_set_new(object, "available", bytes_or_null(available));
    if (available >= 0 && available < (int64_t)256 << 20)
        problem(problems, "only %lld MB of memory are available",
                (long long)(available >> 20));
    return object;
}

ferry_status ferry_doctor(ferry_ctx *ctx, char **out)
{
    ferry_status st = FERRY_OK;
    json_t *all = json_object(), *problems = json_array();
    char *text = NULL;

    *out = NULL;
    put(all, "ferry", ferry_version());
    put(all, "compiler", COMPILER);
    (void)json_object_set_new(all, "libraries", libraries());
    if (!ferry_i_archive_version())
        problem(problems, "libarchive is missing, so archives and files compressed other "
                          "than by gzip cannot be read (Debian: libarchive13)");
    (void)json_object_set_new(all, "engines", engines(ctx, problems));
    put(all, "engine", ferry_ctx_engine(ctx));
    (void)json_object_set_new(all, "blas", blas(problems));
    (void)json_object_set_new(all, "machine", ferry_i_machine_json());
    (void)json_object_set_new(all, "cpu", threads(ctx, problems));
    (void)json_object_set_new(all, "memory", memory(problems));
    (void)json_object_set(all, "problems", problems);
    text = json_dumps(all, JSON_INDENT(2));
    *out = ferry_i_strdup(text);
    FERRY_HAVE(ctx, *out);
done:
    free(text);
    json_decref(problems);
    json_decref(all);
    return st;
}
