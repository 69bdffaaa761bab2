/* A small task for every goal besides classify: numbers, label sets, ratings, an embedding, a stream,
 * and domains to choose from for ferry select. Each has something to transfer, runs in seconds, and its task
 * file says what it is about. All are written in one pass over a seeded stream. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/generate.h"

typedef struct small_options {
    int64_t source, target, labelled, repeats;
} small_options;

#define SMALL_TABLE(name, n_source, n_target, n_labelled, what)                            \
    static const ferry_opt name[] = {                                                      \
        FERRY_OPT(small_options, INT, source, n_source, 10, 1e6, "rows of a source"),      \
        FERRY_OPT(small_options, INT, target, n_target, 10, 1e6, "rows of the target"),    \
        FERRY_OPT(small_options, INT, labelled, n_labelled, 1, 1e6, what),                 \
        FERRY_OPT(small_options, INT, repeats, 10, 1, 10000, "repeats"),                   \
    }

/* The files of a task, one after the other. */
typedef struct page {
    ferry_ctx *ctx;
    const char *dir;
    ferry_rng rng;
    ferry_out *file;
    ferry_status st; /* once it is not FERRY_OK no file is begun any more */
} page;

/* Begin a file, whose numbers come from a stream with its name. False: it is not to be written. */
static bool begin(page *p, const char *name)
{
    char *path = ferry_i_path_join(p->dir, name);

    if (p->st == FERRY_OK)
        p->st = path ? ferry_i_out_open(p->ctx, path, &p->file) : ferry_i_nomem(p->ctx);
    ferry_i_rng_for(p->ctx, &p->rng, name);
    ferry_i_free(path);
    return p->st == FERRY_OK;
}

static void end(page *p)
{
    p->st = ferry_i_out_commit(p->ctx, p->file);
}

/* ",0.12": two decimals keep the files readable. */
static void put(page *p, double x)
{
    ferry_i_out_printf(p->file, ",%.2f", x);
}

/* "id,f1,f2,..." without the line's end. */
static void put_heading(page *p, char letter, int64_t n)
{
    ferry_i_out_printf(p->file, "id");
    for (int64_t j = 1; j <= n; j++)
        ferry_i_out_printf(p->file, ",%c%lld", letter, (long long)j);
}

/* The task file up to its goal and domains, which the caller writes. */
static bool begin_task(page *p, const char *name, const char *about)
{
    if (!begin(p, "task.yaml")) return false;
    ferry_i_out_printf(
        p->file,
        "# A made-up task (ferry gen %s). Run it with: ferry %s task.yaml\n#\n"
        "%stask: %s\n",
        name, strcmp(name, "select") == 0 ? "select" : "run", about, name);
    return true;
}

/* The evaluation, which ends the task file; how all the writing went. */
static ferry_status end_task(page *p, const small_options *o)
{
    if (p->st != FERRY_OK) return p->st;
    ferry_i_out_printf(p->file, "\nevaluate: {repeats: %lld, seed: %llu}\n",
                       (long long)o->repeats, (unsigned long long)p->ctx->seed);
    end(p);
    return p->st;
}

/* ---- regress ---- */

enum { INPUTS = 8 };
SMALL_TABLE(regress_table, 300, 200, 15, "target numbers that a method may see");

/* y = w x + the square of x1, and for the target 1 more and another weight of x2. */
static void write_numbers(page *p, const char *name, int64_t n, double shift)
{
    if (!begin(p, name)) return;
    put_heading(p, 'x', INPUTS);
    ferry_i_out_printf(p->file, ",y\n");
    for (int64_t i = 0; i < n; i++) {
        double y = shift + 0.3 * ferry_i_rng_normal(&p->rng);
        ferry_i_out_printf(p->file, "%c%lld", name[0], (long long)i + 1);
        for (int j = 0; j < INPUTS; j++) {
            const double x = ferry_i_rng_normal(&p->rng);
            y += (j == 0 ? x * x : 0) + x * (j == 1 ? 1 - shift : 1.0 / (1 + j));
            put(p, x);
        }
        put(p, y);
        ferry_i_out_printf(p->file, "\n");
    }
    end(p);
}

static ferry_status regress_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    const small_options *o = options;
    page p = {.ctx = ctx, .dir = dir};

    write_numbers(&p, "source.csv", o->source, 0);
    write_numbers(&p, "target.csv", o->target, 0.5);
    if (begin_task(&p, "regress",
                   "# Numbers from 8 columns. The source has the same columns and nearly "
                   "the same rule.\n"))
        ferry_i_out_printf(
            p.file,
            "goal: regress\n\ndomains:\n"
            "  - {name: source, role: source, x: source.csv, id: id, label: y}\n"
            "  - {name: target, role: target, x: target.csv, id: id, label: y, "
            "labelled: %lld}\n",
            (long long)o->labelled);
    return end_task(&p, o);
}

/* ---- multilabel ---- */

enum { SEEN = 10, LABELS = 5 };
SMALL_TABLE(multilabel_table, 200, 200, 20,
            "target instances whose labels a method may see");

/* Label k is on where x_k + x_(k+1) + noise is large; in the target the columns are stretched. */
static void write_sets(page *p, const char *name, int64_t n, double factor)
{
    if (!begin(p, name)) return;
    put_heading(p, 'f', SEEN);
    for (int k = 1; k <= LABELS; k++)
        ferry_i_out_printf(p->file, ",l%d", k);
    ferry_i_out_printf(p->file, "\n");
    for (int64_t i = 0; i < n; i++) {
        double x[SEEN];
        ferry_i_out_printf(p->file, "%c%lld", name[0], (long long)i + 1);
        for (int j = 0; j < SEEN; j++) {
            x[j] = ferry_i_rng_normal(&p->rng);
            put(p, x[j] * (1 + factor * j / SEEN));
        }
        for (int k = 0; k < LABELS; k++)
            ferry_i_out_printf(p->file, ",%d",
                               x[k] + x[k + 1] + 0.5 * ferry_i_rng_normal(&p->rng) > 0.6);
        ferry_i_out_printf(p->file, "\n");
    }
    end(p);
}

static ferry_status multilabel_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    const small_options *o = options;
    page p = {.ctx = ctx, .dir = dir};

    write_sets(&p, "source.csv", o->source, 0);
    write_sets(&p, "target.csv", o->target, 1);
    if (begin_task(&p, "multilabel",
                   "# Sets of five labels from ten columns, which are stretched in the "
                   "target.\n"))
        ferry_i_out_printf(
            p.file,
            "goal: multilabel\n\ndomains:\n"
            "  - {name: source, role: source, x: source.csv, id: id, label: [l1, l2, l3, "
            "l4, l5]}\n"
            "  - {name: target, role: target, x: target.csv, id: id, label: [l1, l2, l3, "
            "l4, l5],\n     labelled: %lld}\n",
            (long long)o->labelled);
    return end_task(&p, o);
}

/* ---- rate ---- */

enum { TASTES = 4 };
SMALL_TABLE(rate_table, 160, 80, 8,
            "ratings of each target user that a method may see, about");

/* Users and items come in groups, and a table of TASTES x TASTES says how groups like groups: the
 * same in both domains, which have no user or item in common. */
static void write_ratings(page *p, const char *name, int64_t users, int64_t items,
                          double density)
{
    static const int like[TASTES][TASTES] = {
        {5, 1, 3, 2}, {1, 5, 2, 4}, {3, 2, 5, 1}, {2, 4, 1, 4}};

    if (!begin(p, name)) return;
    ferry_i_out_printf(p->file, "user,item,rating\n");
    for (int64_t u = 0; u < users; u++)
        for (int64_t i = 0; i < items; i++) {
            const double x =
                like[u % TASTES][i % TASTES] + 0.5 * ferry_i_rng_normal(&p->rng);
            if (ferry_i_rng_real(&p->rng) > density) continue;
            ferry_i_out_printf(p->file, "%cu%lld,%ci%lld,%.0f\n", name[0], (long long)u + 1,
                               name[0], (long long)i + 1, fmin(5, fmax(1, round(x))));
        }
    end(p);
}

static ferry_status rate_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    const small_options *o = options;
    page p = {.ctx = ctx, .dir = dir};
    const int64_t items = o->target / 2 + 10;

    write_ratings(&p, "source.csv", o->source, o->source / 2 + 10, 0.5);
    write_ratings(&p, "target.csv", o->target, items, 0.3);
    if (begin_task(&p, "rate",
                   "# Ratings of 1 to 5. Other users rated other things, but tastes come "
                   "in the same groups.\n"))
        ferry_i_out_printf(
            p.file,
            "goal: rate\n\ndomains:\n"
            "  - {name: films, role: source, ratings: source.csv}\n"
            "  - {name: books, role: target, ratings: target.csv, labelled: %.3f}\n",
            fmin(0.9, (double)o->labelled / (0.3 * (double)items)));
    return end_task(&p, o);
}

/* ---- classes seen through maps: embed, stream, select ---- */

enum { HIDDEN = 6, MOST = 64, CLASSES = 4 };

/* What the domains of a task share: where classes lie, and how hidden places become columns. */
typedef struct world {
    double mean[CLASSES][HIDDEN];
    double map[2][MOST][HIDDEN]; /* spaces a and b */
} world;

static void draw_world(const ferry_ctx *ctx, world *w)
{
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "small world");
    for (int c = 0; c < CLASSES; c++)
        for (int l = 0; l < HIDDEN; l++)
            w->mean[c][l] = 1.2 * ferry_i_rng_normal(&rng);
    for (int s = 0; s < 2; s++)
        for (int j = 0; j < MOST; j++)
            for (int l = 0; l < HIDDEN; l++)
                w->map[s][j][l] = ferry_i_rng_normal(&rng) / sqrt(HIDDEN);
}

/* One domain: rows of `classes` classes in columns from .. to - 1 of spaces a and b (b: from = to
 * for none). Features of a are named a1 ..; what lies outside [from, to) is not written. */
typedef struct domain {
    const char *file;
    int64_t n, classes;
    int64_t from, to; /* columns of space a */
    int64_t more;     /* columns of space b */
    bool labels;
    double noise;
} domain;

static void write_domain(page *p, const domain *d)
{
    world w;

    draw_world(p->ctx, &w);
    if (!begin(p, d->file)) return;
    ferry_i_out_printf(p->file, d->labels ? "id,label" : "id");
    for (int64_t j = d->from; j < d->to; j++)
        ferry_i_out_printf(p->file, ",a%lld", (long long)j + 1);
    for (int64_t j = 0; j < d->more; j++)
        ferry_i_out_printf(p->file, ",b%lld", (long long)j + 1);
    ferry_i_out_printf(p->file, "\n");
    for (int64_t i = 0; i < d->n; i++) {
        double z[HIDDEN];
        for (int l = 0; l < HIDDEN; l++)
            z[l] = w.mean[i % d->classes][l] + ferry_i_rng_normal(&p->rng);
        ferry_i_out_printf(p->file, "%c%lld", d->file[0], (long long)i + 1);
        if (d->labels)
            ferry_i_out_printf(p->file, ",c%lld", (long long)(i % d->classes) + 1);
        for (int64_t j = d->from; j < d->to + d->more; j++) {
            const bool b = j >= d->to;
            double x = d->noise * ferry_i_rng_normal(&p->rng);
            for (int l = 0; l < HIDDEN; l++)
                x += z[l] * w.map[b][b ? j - d->to : j][l];
            put(p, x);
        }
        ferry_i_out_printf(p->file, "\n");
    }
    end(p);
}

static const ferry_opt embed_table[] = {
    FERRY_OPT(small_options, INT, target, 240, 10, 1e6, "people"),
    FERRY_OPT(small_options, INT, repeats, 3, 1, 10000, "repeats"),
};

static ferry_status embed_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    const small_options *o = options;
    page p = {.ctx = ctx, .dir = dir};

    write_domain(&p, &(domain){"table.csv", o->target, 4, 0, 16, 6, true, 0.8});
    const bool friends = begin(&p, "friends.csv");
    for (int64_t i = 0; friends && i < 4 * o->target; i++) {
        const int64_t a = (int64_t)ferry_i_rng_below(&p.rng, (uint64_t)o->target);
        int64_t b = (int64_t)ferry_i_rng_below(&p.rng, (uint64_t)o->target);
        if (ferry_i_rng_real(&p.rng) < 0.6) b += (a - b) % 4; /* classes go in turn */
        if (b < 0 || b >= o->target || a == b) continue;
        ferry_i_out_printf(p.file, "t%lld,t%lld\n", (long long)a + 1, (long long)b + 1);
    }
    if (friends) end(&p);
    if (begin_task(&p, "embed",
                   "# Places for people who are in a table and in a graph; their classes "
                   "are used to score alone.\n"))
        ferry_i_out_printf(
            p.file, "goal: embed\n\ndomains:\n"
                    "  - name: people\n    role: target\n    id: id\n    label: label\n"
                    "    labelled: none\n"
                    "    views:\n      - {name: table, x: table.csv}\n"
                    "    graphs:\n      - {name: friends, edges: friends.csv}\n");
    return end_task(&p, o);
}

SMALL_TABLE(stream_table, 200, 400, 2,
            "target labels of each class that are there at the start");

static ferry_status stream_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    const small_options *o = options;
    page p = {.ctx = ctx, .dir = dir};

    write_domain(&p, &(domain){"source.csv", o->source, 3, 0, 10, 0, true, 0.8});
    write_domain(&p, &(domain){"target.csv", o->target, 3, 0, 10, 6, true, 0.8});
    if (begin_task(
            &p, "stream",
            "# Rows come one after the other and are learned from when they were "
            "answered. The past has\n# fewer columns than the rows that come now.\n"))
        ferry_i_out_printf(
            p.file,
            "goal: stream\n\ndomains:\n"
            "  - {name: past, role: source, x: source.csv, id: id, label: label}\n"
            "  - {name: now, role: target, x: target.csv, id: id, label: label, "
            "labelled: {per_class: %lld}}\n",
            (long long)o->labelled);
    return end_task(&p, o);
}

SMALL_TABLE(select_table, 200, 200, 2, "target labels of each class that a method may see");

/* Four ways from columns a to columns b: bridges that have both, one of them blurred, and two that lead
 * there together. */
static ferry_status select_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    const small_options *o = options;
    const domain all[] = {{"source.csv", o->source, 2, 0, 10, 0, true, 0.6},
                          {"blurred.csv", o->source, 2, 0, 10, 10, false, 4},
                          {"clear.csv", o->source, 2, 0, 10, 10, false, 0.6},
                          {"near.csv", o->source, 2, 0, 20, 0, false, 0.6},
                          {"far.csv", o->source, 2, 10, 20, 10, false, 0.6},
                          {"target.csv", o->target, 2, 0, 0, 10, true, 0.6}};
    page p = {.ctx = ctx, .dir = dir};

    for (int64_t i = 0; i < FERRY_COUNT(all); i++)
        write_domain(&p, &all[i]);
    if (begin_task(&p, "select",
                   "# Source and target have no column in common. Which of four domains, "
                   "none of them with labels,\n# leads from one to the other?\n"))
        ferry_i_out_printf(
            p.file,
            "goal: classify\n\ndomains:\n"
            "  - {name: source, role: source, x: source.csv, id: id, label: label}\n"
            "  - {name: blurred, role: intermediate, x: blurred.csv, id: id}\n"
            "  - {name: clear, role: intermediate, x: clear.csv, id: id}\n"
            "  - {name: near, role: intermediate, x: near.csv, id: id}\n"
            "  - {name: far, role: intermediate, x: far.csv, id: id}\n"
            "  - {name: target, role: target, x: target.csv, id: id, label: label, "
            "labelled: {per_class: %lld}}\n",
            (long long)o->labelled);
    return end_task(&p, o);
}

/* ---- classes of which some have no label ---- */

enum { KINDS = 10, PLACE = 3, WIDE = 12 };
SMALL_TABLE(classes_table, 400, 400, 3, "target labels of each class that has some");

/* Rows of KINDS classes whose means lie in PLACE dimensions, seen through a map of the file's own. */
static void write_kinds(page *p, const char *file, char letter, int64_t n)
{
    double mean[KINDS][PLACE], map[WIDE][PLACE];
    ferry_rng rng;

    ferry_i_rng_for(p->ctx, &rng, "small kinds");
    for (int c = 0; c < KINDS; c++)
        for (int l = 0; l < PLACE; l++)
            mean[c][l] = 2 * ferry_i_rng_normal(&rng);
    if (!begin(p, file)) return;
    for (int j = 0; j < WIDE; j++)
        for (int l = 0; l < PLACE; l++)
            map[j][l] = ferry_i_rng_normal(&p->rng);
    put_heading(p, letter, WIDE);
    ferry_i_out_printf(p->file, ",label\n");
    for (int64_t i = 0; i < n; i++) {
        double z[PLACE];
        for (int l = 0; l < PLACE; l++)
            z[l] = mean[i % KINDS][l] + 0.5 * ferry_i_rng_normal(&p->rng);
        ferry_i_out_printf(p->file, "%c%lld", file[0], (long long)i + 1);
        for (int j = 0; j < WIDE; j++) {
            double x = 0.5 * ferry_i_rng_normal(&p->rng);
            for (int l = 0; l < PLACE; l++)
                x += z[l] * map[j][l];
            put(p, x);
        }
        ferry_i_out_printf(p->file, ",c%lld\n", (long long)(i % KINDS) + 1);
    }
    end(p);
}

static ferry_status classes_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    const small_options *o = options;
    page p = {.ctx = ctx, .dir = dir};

    write_kinds(&p, "source.csv", 'a', o->source);
    write_kinds(&p, "target.csv", 'b', o->target);
    if (begin_task(
            &p, "classes",
            "# Ten classes. The source has labels of all, the target of seven, drawn anew in each "
            "repeat, and the\n# two have no column in common. Which rows are of the other three?\n"))
        ferry_i_out_printf(
            p.file,
            "goal: classify\n\ndomains:\n"
            "  - {name: source, role: source, x: source.csv, id: id, label: label}\n"
            "  - {name: target, role: target, x: target.csv, id: id, label: label, "
            "labelled: {per_class: %lld, classes: 7}}\n\n"
            "methods: [place, semi-svm, svm, cdspp]\n",
            (long long)o->labelled);
    return end_task(&p, o);
}

#define GENERATOR(goal, summary)                                                           \
    const ferry_generator ferry_i_generator_##goal = {                                     \
        {#goal, summary,                                                                   \
         &(const ferry_opt_table){goal##_table, FERRY_COUNT(goal##_table)}},               \
        sizeof(small_options),                                                             \
        goal##_write,                                                                      \
    }
GENERATOR(regress, "numbers, and a source with nearly the same rule");
GENERATOR(multilabel, "sets of labels, and a source whose columns are stretched otherwise");
GENERATOR(rate, "ratings, and other users with the same groups of tastes");
GENERATOR(embed, "places for people in a table and a graph");
GENERATOR(stream, "rows that come one by one, and a past with fewer columns");
GENERATOR(select, "domains between a source and a target, to find the way through them");
GENERATOR(classes, "classes without a label in the target, and a source that has them");
