/* Synthetic tasks with known truth: the list of generators, and `bridge`.
 *
 * bridge: every instance has a place z in a hidden space of l dimensions,
 *     z = separation * m_y + e,   y its class, m_y and e normal,
 * and is seen in one or both of two feature spaces,
 *     a = max(0, z La + noise * normal),   b = max(0, z Lb + noise * normal),
 * with independent maps La, Lb (normal / sqrt(l)). The source is seen in space A with
 * labels, the bridge in both spaces without labels, the target in space B. Nothing in the
 * target's own few labels pins the hidden space down, but the bridge does. Features are
 * not negative, as counts and intensities are, because some methods need that.
 *
 * With the defaults a linear SVM on 3 labels a class is right on about 70 % of the target,
 * one trained on the source and transferred by a ridge map learned on the bridge on about
 * 86 % (mean of 6 seeds): there is something to transfer.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "data/generate.h"

/* Field by field as in the table below. */
typedef struct bridge_options {
    int64_t classes, source, bridge, target, source_features, target_features, latent;
    double separation, noise;
    int64_t labelled, repeats;
} bridge_options;

static const ferry_opt bridge_table[] = {
    FERRY_OPT(bridge_options, INT, classes, 3, 2, 1000, "classes, shared by all domains"),
    FERRY_OPT(bridge_options, INT, source, 400, 1, 1e6, "instances of the source"),
    FERRY_OPT(bridge_options, INT, bridge, 600, 1, 1e6, "instances seen in both spaces"),
    FERRY_OPT(bridge_options, INT, target, 300, 1, 1e6, "instances of the target"),
    FERRY_OPT(bridge_options, INT, source_features, 60, 1, 1e5, "features of space A"),
    FERRY_OPT(bridge_options, INT, target_features, 40, 1, 1e5, "features of space B"),
    FERRY_OPT(bridge_options, INT, latent, 12, 1, 1000, "dimensions of the hidden space"),
    FERRY_OPT(bridge_options, REAL, separation, 0.8, 0, 1000, "distance between classes"),
    FERRY_OPT(bridge_options, REAL, noise, 0.7, 0, 1000, "noise of every feature"),
    FERRY_OPT(bridge_options, INT, labelled, 3, 0, 1e6,
              "target labels of each class that a method may see"),
    FERRY_OPT(bridge_options, INT, repeats, 10, 1, 10000,
              "repeats, each with another choice of those labels"),
};

/* One of the two feature spaces. */
typedef struct space {
    char letter; /* features are named a1, a2, ... */
    int64_t features;
    double *map; /* latent x features */
} space;

/* All that is drawn once and shared by the three domains. */
typedef struct bridge_world {
    const bridge_options *o;
    const char *dir;
    /* A: source and bridge; B: bridge and target */
    space a, b;
    double *means; /* classes x latent, times separation */
} bridge_world;

/* New n normals times scale, from the stream of that use. Each use has a stream of its own,
 * so a larger source does not change the target: tasks that differ in one option stay
 * comparable. NULL: no memory. */
static double *normals(const ferry_ctx *ctx, const char *use, int64_t n, double scale)
{
    double *x = ferry_i_calloc(n, sizeof *x);
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, use);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = scale * ferry_i_rng_normal(&rng);
    return x;
}

/* id, label where there are labels, then a1, a2, ... or b1, b2, ... */
static void write_header(ferry_out *file, const space *s, bool labels)
{
    ferry_i_out_printf(file, labels ? "id,label" : "id");
    for (int64_t j = 0; j < s->features; j++)
        ferry_i_out_printf(file, ",%c%lld", s->letter, (long long)(j + 1));
    ferry_i_out_printf(file, "\n");
}

/* z (n x latent) seen in one space, as CSV with ids `prefix`1 .. n. Three decimals keep the
 * files small and readable. The name of the file is also the stream of its noise: the
 * bridge's two views show the same places with independent noise. */
static ferry_status write_view(ferry_ctx *ctx, const bridge_world *w, const space *s,
                               const char *name, int64_t n, const double *z, bool labels)
{
    ferry_status st = FERRY_OK;
    ferry_out *file = NULL;
    ferry_rng rng;
    char number[32];
    char *path = ferry_i_path_join(w->dir, name);

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_out_open(ctx, path, &file));
    /* the view's noise: a stream named like the file */
    ferry_i_rng_for(ctx, &rng, name);
    write_header(file, s, labels);
    for (int64_t i = 0; i < n; i++) {
        ferry_i_out_printf(file, "%c%lld", name[0], (long long)(i + 1));
        /* the class that places() gave it */
        if (labels) ferry_i_out_printf(file, ",c%lld", (long long)(i % w->o->classes + 1));
        for (int64_t j = 0; j < s->features; j++) {
            /* x = max(0, z L + noise * normal), feature j */
            double x = w->o->noise * ferry_i_rng_normal(&rng);
            for (int64_t l = 0; l < w->o->latent; l++)
                x += z[i * w->o->latent + l] * s->map[l * s->features + j];
            number[ferry_i_format_real(number, x > 0 ? round(x * 1000) / 1000 : 0)] = 0;
            ferry_i_out_printf(file, ",%s", number);
        }
        ferry_i_out_printf(file, "\n");
    }
    st = ferry_i_out_commit(ctx, file);
done:
    ferry_i_free(path);
    return st;
}

/* Hidden places of n instances, classes in turn: instance i is of class i mod classes. z =
 * separation * m_y + e, n x latent. Equal classes (up to one) make accuracy easy to read.
 * NULL: no memory. */
static double *places(const ferry_ctx *ctx, const bridge_world *w, const char *use,
                      int64_t n)
{
    const int64_t l = w->o->latent;
    double *z = normals(ctx, use, n * l, 1);

    for (int64_t i = 0; z && i < n * l; i++)
        /* row i / l is of class (i / l) mod classes; i % l is the dimension */
        z[i] += w->means[i / l % w->o->classes * l + i % l];
    return z;
}

/* The file explains itself: for many users it is the first task file they see. */
static ferry_status write_task(ferry_ctx *ctx, const bridge_world *w)
{
    ferry_status st = FERRY_OK;
    ferry_out *file = NULL;
    const bridge_options *o = w->o;
    char *path = ferry_i_path_join(w->dir, "task.yaml");

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_out_open(ctx, path, &file));
    ferry_i_out_printf(
        file,
        "# A made-up transfer task (ferry gen bridge). Run it with: ferry run task.yaml\n"
        "#\n"
        "# The question: %lld labelled instances described by features a1 .. a%lld should\n"
        "# help to classify others that are described by b1 .. b%lld. The two sets of\n"
        "# features have nothing in common, but the bridge was seen through both.\n"
        "task: bridge\n"
        "goal: classify\n"
        "\n"
        "domains:\n"
        "  - name: source            # many labels, but other features than the target\n"
        "    role: source\n"
        "    id: id                  # columns of the CSV files\n"
        "    label: label\n"
        "    views:\n"
        "      - {name: a, x: source.csv}\n"
        "\n"
        "  - name: bridge            # no labels; each instance is in both files\n"
        "    role: intermediate\n"
        "    id: id                  # rows of the two files are joined by this\n"
        "    views:\n"
        "      - {name: a, x: bridge_a.csv}\n"
        "      - {name: b, x: bridge_b.csv}\n"
        "\n"
        "  - name: target            # what we want to predict\n"
        "    role: target\n"
        "    id: id\n"
        "    label: label            # hidden from the methods and used to score them "
        "...\n",
        (long long)o->source, (long long)o->source_features, (long long)o->target_features);
    if (o->labelled > 0)
        ferry_i_out_printf(file, "    labelled: {per_class: %lld} # ... except these few\n",
                           (long long)o->labelled);
    else
        ferry_i_out_printf(file, "    labelled: none          # ... all of them\n");
    ferry_i_out_printf(
        file,
        "    views:\n"
        "      - {name: b, x: target.csv}\n"
        "\n"
        "# No \"methods:\" here, so every method that fits the task is run.\n"
        "evaluate:\n"
        "  repeats: %-4lld           # each repeat draws other labelled instances\n"
        "  seed: %-7llu           # same seed, same numbers\n"
        "  metrics: [accuracy]\n",
        (long long)o->repeats, (unsigned long long)ctx->seed);
    st = ferry_i_out_commit(ctx, file);
done:
    ferry_i_free(path);
    return st;
}

/* Draw the world, place the instances, write the four tables and the task. The maps' scale
 * 1 / sqrt(latent) keeps a feature's variance near 1 whatever the number of dimensions. */
static ferry_status bridge_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    ferry_status st = FERRY_OK;
    const bridge_options *o = options;
    bridge_world w = {.o = o, .dir = dir};
    double *zs = NULL, *zb = NULL, *zt = NULL;

    w.a = (space){'a', o->source_features, NULL};
    w.b = (space){'b', o->target_features, NULL};
    w.means = normals(ctx, "bridge means", o->classes * o->latent, o->separation);
    w.a.map =
        normals(ctx, "bridge map a", o->latent * w.a.features, 1 / sqrt((double)o->latent));
    w.b.map =
        normals(ctx, "bridge map b", o->latent * w.b.features, 1 / sqrt((double)o->latent));
    FERRY_HAVE(ctx, w.means && w.a.map && w.b.map);
    /* source, bridge and target are different instances of the same world */
    zs = places(ctx, &w, "bridge source", o->source);
    zb = places(ctx, &w, "bridge bridge", o->bridge);
    zt = places(ctx, &w, "bridge target", o->target);
    FERRY_HAVE(ctx, zs && zb && zt);
    FERRY_TRY(write_view(ctx, &w, &w.a, "source.csv", o->source, zs, true));
    FERRY_TRY(write_view(ctx, &w, &w.a, "bridge_a.csv", o->bridge, zb, false));
    FERRY_TRY(write_view(ctx, &w, &w.b, "bridge_b.csv", o->bridge, zb, false));
    FERRY_TRY(write_view(ctx, &w, &w.b, "target.csv", o->target, zt, true));
    FERRY_TRY(write_task(ctx, &w));
done:
    FERRY_FREE(zt, zb, zs, w.b.map, w.a.map, w.means);
    return st;
}

/* ---- the list of generators ---- */

static const ferry_generator bridge_generator = {
    {"bridge",
     "classes seen in two feature spaces, and a bridge seen in both: few target labels",
     &(const ferry_opt_table){bridge_table, FERRY_COUNT(bridge_table)}},
    sizeof(bridge_options),
    bridge_write,
};

static const ferry_generator *const generators[] = {
    &ferry_i_generator_digits,     &bridge_generator,         &ferry_i_generator_regress,
    &ferry_i_generator_multilabel, &ferry_i_generator_rate,   &ferry_i_generator_embed,
    &ferry_i_generator_stream,     &ferry_i_generator_select, &ferry_i_generator_classes,
    &ferry_i_generator_social};

/* A new generator is one file and one line in `generators`. */
const ferry_generator_info *ferry_generator_at(int64_t i)
{
    return i >= 0 && i < FERRY_COUNT(generators) ? &generators[i]->info : NULL;
}

static const char *generator_name(const void *arg, int64_t i)
{
    (void)arg;
    return generators[i]->info.name;
}

/* The folder is made if need be. One with a task in it is refused: that file may be
 * somebody's own work. Options are checked before anything is written. */
ferry_status ferry_generate(ferry_ctx *ctx, const char *name, const ferry_opts *opts,
                            const char *dir)
{
    FERRY_ARGS(ctx, name, dir);

    ferry_status st = FERRY_OK;
    const ferry_generator *g = NULL;
    void *options = NULL;
    char *task = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(generators); i++)
        if (strcmp(generators[i]->info.name, name) == 0) g = generators[i];
    if (!g) {
        const char *near =
            ferry_i_nearest(name, FERRY_COUNT(generators), generator_name, NULL);
        FERRY_NEED(ctx, false, FERRY_EINVAL, "unknown generator %s%s%s%s", name,
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    /* defaults, ranges and unknown names are the option table's business */
    FERRY_HAVE(ctx, options = ferry_i_calloc(1, g->options_size));
    FERRY_TRY(ferry_i_opts_parse(ctx, name, g->info.options->opt, g->info.options->n, opts,
                                 options));
    FERRY_HAVE(ctx, task = ferry_i_path_join(dir, "task.yaml"));
    FERRY_NEED(ctx, access(task, F_OK) != 0, FERRY_EINVAL,
               "%s: is there already; give a folder without a task", task);
    FERRY_TRY(ferry_i_mkdirs(ctx, dir));
    st = g->write(ctx, options, dir);
done:
    FERRY_FREE(task, options);
    return st;
}
