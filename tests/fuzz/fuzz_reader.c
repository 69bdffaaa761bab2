/* Fuzz one reader (FUZZ_FORMAT is its name): the same bytes under every way to read them
 * that takes another path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

typedef struct way {
    const char *format, *set; /* set: "key=value key=value" */
    ferry_data_kind as;
} way;

static const way ways[] = {
    {"csv", "", FERRY_DATA_VIEW},
    {"csv", "header=no label=last id=first", FERRY_DATA_VIEW},
    {"csv", "header=yes label=first:2 missing=x transpose=yes", FERRY_DATA_VIEW},
    {"csv", "", FERRY_DATA_LABELS},
    {"svmlight", "", FERRY_DATA_VIEW},
    {"svmlight", "features=7 index_base=zero", FERRY_DATA_VIEW},
    {"mtx", "", FERRY_DATA_VIEW},
    {"mtx", "transpose=yes", FERRY_DATA_VIEW},
    {"npy", "", FERRY_DATA_VIEW},
    {"npy", "transpose=yes", FERRY_DATA_VIEW},
    {"npy", "", FERRY_DATA_LABELS},
    {"npz", "", FERRY_DATA_VIEW},
    {"npz", "", FERRY_DATA_LISTING},
    {"fdata", "", FERRY_DATA_VIEW},
    {"fdata", "", FERRY_DATA_RATINGS},
    {"mat", "", FERRY_DATA_VIEW},
    {"mat", "transpose=yes", FERRY_DATA_VIEW},
    {"mat", "", FERRY_DATA_LABELS},
    {"arff", "", FERRY_DATA_VIEW},
    {"arff", "label=last:2 id=first", FERRY_DATA_VIEW},
    {"linqs", "", FERRY_DATA_VIEW},
    {"linqs", "", FERRY_DATA_GRAPH},
    {"ratings", "", FERRY_DATA_RATINGS},
    {"ratings", "sep=:: header=no", FERRY_DATA_RATINGS},
    {"edges", "", FERRY_DATA_GRAPH},
    {"edges", "sep=comma header=yes", FERRY_DATA_GRAPH},
    {"text", "", FERRY_DATA_VIEW},
    {"text", "weight=tfidf norm=l2 tokens=bigrams min_df=0.1 max_df=0.9", FERRY_DATA_VIEW},
    {"text", "tokens=spaces lower=no mail_headers=strip stop_words=english",
     FERRY_DATA_VIEW},
};

static int64_t rows_of(const ferry_data *d)
{
    return d->x         ? d->x->rows
           : d->labels  ? d->labels->n
           : d->ratings ? d->ratings->n
                        : d->edges;
}

static ferry_opts *opts_for(ferry_ctx *ctx, const way *w)
{
    ferry_opts *opts = NULL;
    char set[256], *save = NULL;

    (void)snprintf(set, sizeof set, "format=%s %s", w->format, w->set);
    if (ferry_opts_new(ctx, &opts) != FERRY_OK) return NULL;
    for (char *s = strtok_r(set, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(s, '=');
        *eq = 0;
        (void)ferry_opts_set(ctx, opts, s, eq + 1);
    }
    return opts;
}

/* What was read can be written in the same format, unless the format says that it cannot
 * hold it (such as a class named ""), and that reads as the same shape. */
static void write_back(ferry_ctx *ctx, const ferry_data *data, ferry_data_kind as)
{
    const char *path = fuzz_path("written"); /* ARFF writes an XML beside */
    ferry_opts *opts = NULL;
    ferry_data *again = NULL;

    if (ferry_opts_new(ctx, &opts) != FERRY_OK) return;
    (void)ferry_opts_set(ctx, opts, "format", data->format);
    ferry_status st = ferry_write(ctx, data, path, opts);
    fuzz_check(ctx, st);
    if (st == FERRY_OK) {
        /* names may be numbers, so the first row is said to be one of names */
        if (strcmp(data->format, "csv") == 0)
            (void)ferry_opts_set(ctx, opts, "header", "yes");
        st = ferry_i_read_as(ctx, path, opts, as, &again);
        if (st != FERRY_OK) {
            (void)fprintf(stderr, "written, not read: %s\n", ferry_message(ctx));
            abort();
        }
        if (again && (again->kind != data->kind || rows_of(again) != rows_of(data)))
            abort();
    }
    (void)unlink(path);
    (void)unlink(fuzz_path("written.xml"));
    ferry_data_free(again);
    ferry_opts_free(opts);
}

/* Each variable of a container, and the first element of each, as `FILE#NAME{1}` reads
 * it. */
static void read_members(ferry_ctx *ctx, const char *path, const ferry_data *list,
                         const ferry_opts *opts, ferry_data_kind as)
{
    for (int64_t i = 0; i < list->n_listing && i < 4; i++) {
        for (int cell = 0; cell < 2; cell++) {
            ferry_data *data = NULL;
            char *member =
                ferry_i_sprintf("%s#%s%s", path, list->listing[i].name, cell ? "{1}" : "");
            if (!member) abort();
            fuzz_check(ctx, ferry_i_read_as(ctx, member, opts, as, &data));
            fuzz_use(ctx, data);
            ferry_i_free(member);
        }
    }
}

/* A target whose format nobody knows would only ever see that refused. */
static void must_be_known(void)
{
    for (int64_t i = 0; ferry_format_at(i); i++)
        if (strcmp(ferry_format_at(i)->name, FUZZ_FORMAT) == 0) return;
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    ferry_ctx *ctx = fuzz_ctx();
    const char *path = fuzz_file(bytes, n);

    must_be_known();
    for (int64_t i = 0; i < FERRY_COUNT(ways); i++) {
        if (strcmp(ways[i].format, FUZZ_FORMAT) != 0) continue;
        ferry_opts *opts = opts_for(ctx, &ways[i]);
        ferry_data *data = NULL;
        fuzz_check(ctx, ferry_i_read_as(ctx, path, opts, ways[i].as, &data));
        if (data && data->kind != FERRY_DATA_LISTING && data->kind != FERRY_DATA_LABELS)
            write_back(ctx, data, ways[i].as);
        if (data && data->kind == FERRY_DATA_LISTING)
            read_members(ctx, path, data, opts, ways[i].as);
        fuzz_use(ctx, data);
        ferry_opts_free(opts);
    }
    return 0;
}
