/* social: people with a table full of gaps and graphs of who knows whom.
 *
 * Every person has a class, in turn, and a place z = m_y + e in a hidden space of 8
 * dimensions; a feature is z times a random direction plus noise, and a share of the cells
 * is missing. Each graph draws edges: one end at random, the other with probability `alike`
 * of the same class, else at random; later graphs are less alike. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/generate.h"

/* dimensions of z */
enum { HIDDEN = 8 };

/* Field by field as in the table below. Sizes may be large: files are written row by
 * row. */
typedef struct social_options {
    int64_t people, features, graphs, edges;
    double missing, alike, separation, labelled;
} social_options;

static const ferry_opt social_table[] = {
    FERRY_OPT(social_options, INT, people, 2000, 2, 1e8, "instances"),
    FERRY_OPT(social_options, INT, features, 20, 1, 1e5, "columns of the table"),
    FERRY_OPT(social_options, INT, graphs, 3, 0, 1000, "graphs"),
    FERRY_OPT(social_options, INT, edges, 6000, 1, 1e9, "edges of each"),
    FERRY_OPT(social_options, REAL, missing, 0.4, 0, 1, "share of cells that are missing"),
    FERRY_OPT(social_options, REAL, alike, 0.6, 0, 1,
              "probability that an edge of the first graph stays within a class"),
    FERRY_OPT(social_options, REAL, separation, 0.5, 0, 100, "distance between classes"),
    FERRY_OPT(social_options, REAL, labelled, 0.1, 0, 1, "share of labels to be seen"),
};

/* A new file in dir; the caller commits it, and until then it does not appear. */
static ferry_status open_file(ferry_ctx *ctx, const char *dir, const char *name,
                              ferry_out **file)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(dir, name);

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_out_open(ctx, path, file));
done:
    ferry_i_free(path);
    return st;
}

/* Row by row: nothing but the map (HIDDEN x features) is held in memory, whatever the
 * number of people. The noise is drawn also for missing cells, so the same seed with
 * another share of gaps gives the same values. */
static ferry_status write_table(ferry_ctx *ctx, const social_options *o, const char *dir)
{
    ferry_status st = FERRY_OK;
    ferry_out *file = NULL;
    double *map = ferry_i_calloc(HIDDEN * o->features, sizeof *map), z[HIDDEN];
    ferry_rng rng;
    char number[32];

    FERRY_HAVE(ctx, map);
    ferry_i_rng_for(ctx, &rng, "social table");
    for (int64_t e = 0; e < HIDDEN * o->features; e++)
        map[e] = ferry_i_rng_normal(&rng) / sqrt(HIDDEN);
    FERRY_TRY(open_file(ctx, dir, "table.csv", &file));
    ferry_i_out_printf(file, "id,label");
    for (int64_t j = 0; j < o->features; j++)
        ferry_i_out_printf(file, ",f%lld", (long long)j + 1);
    ferry_i_out_printf(file, "\n");
    for (int64_t i = 0; i < o->people; i++) {
        for (int l = 0; l < HIDDEN; l++)
            /* m_y is +-separation / 2 in every dimension */
            z[l] = (i % 2 ? 0.5 : -0.5) * o->separation + ferry_i_rng_normal(&rng);
        ferry_i_out_printf(file, "p%lld,%s", (long long)i + 1, i % 2 ? "yes" : "no");
        for (int64_t j = 0; j < o->features; j++) {
            double x = ferry_i_rng_normal(&rng);
            ferry_i_out_write(file, ",", 1);
            if (ferry_i_rng_real(&rng) < o->missing) continue;
            for (int l = 0; l < HIDDEN; l++)
                x += z[l] * map[l * o->features + j];
            ferry_i_out_write(file, number,
                              ferry_i_format_real(number, round(x * 100) / 100));
        }
        ferry_i_out_write(file, "\n", 1);
    }
    st = ferry_i_out_commit(ctx, file);
done:
    ferry_i_free(map);
    return st;
}

/* Graph g stays within a class with probability alike * (1 - g / (2 * graphs)), falling
 * towards half of it, on top of the even chance of a random end. Edges may repeat or be
 * loops; the reader of graphs takes both. */
static ferry_status write_graph(ferry_ctx *ctx, const social_options *o, int64_t g,
                                const char *dir)
{
    ferry_out *file = NULL;
    ferry_rng rng;
    char name[32];
    const double alike = o->alike * (1 - (double)g / (double)(2 * o->graphs));

    (void)snprintf(name, sizeof name, "graph%lld.csv", (long long)g + 1);
    ferry_i_rng_for(ctx, &rng, name);
    FERRY_PASS(open_file(ctx, dir, name, &file));
    for (int64_t e = 0; e < o->edges; e++) {
        const int64_t a = (int64_t)ferry_i_rng_below(&rng, (uint64_t)o->people);
        int64_t b = (int64_t)ferry_i_rng_below(&rng, (uint64_t)o->people);
        /* the neighbour of b is of the other class: one step makes the ends alike */
        if (ferry_i_rng_real(&rng) < alike && (a - b) % 2 != 0)
            b = b + 1 < o->people ? b + 1 : b - 1; /* classes go in turn */
        ferry_i_out_printf(file, "p%lld,p%lld\n", (long long)a + 1, (long long)b + 1);
    }
    return ferry_i_out_commit(ctx, file);
}

/* Graphs are optional, and so is the method that lives on them alone. */
static ferry_status write_task(ferry_ctx *ctx, const social_options *o, const char *dir)
{
    ferry_out *file = NULL;

    FERRY_PASS(open_file(ctx, dir, "task.yaml", &file));
    ferry_i_out_printf(
        file,
        "# A made-up task (ferry gen social). Run it with: ferry run task.yaml\n"
        "#\n"
        "# %lld people: a table of which %g %% of the cells are missing, and %lld graphs "
        "of\n"
        "# who knows whom.\n"
        "task: social\n"
        "goal: classify\n"
        "\n"
        "domains:\n"
        "  - name: people\n"
        "    role: target\n"
        "    id: id\n"
        "    label: label\n"
        "    labelled: %.4g\n"
        "    views:\n"
        "      - {name: table, x: table.csv}\n",
        (long long)o->people, 100 * o->missing, (long long)o->graphs, o->labelled);
    if (o->graphs > 0) ferry_i_out_printf(file, "    graphs:\n");
    for (int64_t g = 0; g < o->graphs; g++)
        ferry_i_out_printf(file, "      - {name: graph%lld, edges: graph%lld.csv}\n",
                           (long long)g + 1, (long long)g + 1);
    ferry_i_out_printf(file, "\nmethods: [gbc, gbdt%s]\n\nevaluate:\n  repeats: 1\n",
                       o->graphs > 0 ? ", label-propagation" : "");
    return ferry_i_out_commit(ctx, file);
}

static ferry_status social_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    const social_options *o = options;

    FERRY_PASS(write_table(ctx, o, dir));
    for (int64_t g = 0; g < o->graphs; g++)
        FERRY_PASS(write_graph(ctx, o, g, dir));
    return write_task(ctx, o, dir);
}

const ferry_generator ferry_i_generator_social = {
    {"social", "people in a table with gaps, and graphs of who knows whom",
     &(const ferry_opt_table){social_table, FERRY_COUNT(social_table)}},
    sizeof(social_options),
    social_write,
};
