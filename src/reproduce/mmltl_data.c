/* Pictures with label sets, and pairs of domains cut from them, for the M-MLTL studies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "reproduce/mmltl.h"

enum { MOST_ROWS = 1200, MOST_LABELS = 10 };
const char *const ferry_i_mmltl_kinds[MMLTL_KINDS] = {"nuisance", "random", "sorted",
                                                      "biased"};

void ferry_i_mmltl_free(mmltl_pictures *p)
{
    ferry_i_free(p->x);
    ferry_i_free(p->y);
    ferry_i_free(p->group);
    ferry_i_free(p->z);
    ferry_i_ids_free(p->labels);
    ferry_i_ids_free(p->groups);
    *p = (mmltl_pictures){0};
}

void ferry_i_mmltl_cut_free(mmltl_cut *c)
{
    ferry_i_free(c->row[0]);
    ferry_i_free(c->row[1]);
    ferry_i_free(c->label);
    ferry_i_free(c->background);
    *c = (mmltl_cut){0};
}

/* ---- reading ---- */

static int64_t word(const char *s)
{
    return (int64_t)((unsigned char)s[0] | (unsigned)(unsigned char)s[1] << 8);
}

/* Rows of little-endian 16-bit numbers, each led by its length, below those that are there
 * (*n rows of *d). */
static ferry_status add_hvecs(ferry_ctx *ctx, const char *path, double **x, int64_t *n,
                              int64_t *d)
{
    ferry_status st = FERRY_OK;
    ferry_input in = {0};

    FERRY_TRY(ferry_i_input_open(ctx, path, &in));
    FERRY_NEED(ctx, in.size >= 4, FERRY_EDATA, "%s: expected rows of 16-bit numbers", path);
    const int64_t width = word(in.data), bytes = 2 * (width + 1), rows = in.size / bytes;
    FERRY_NEED(ctx, width > 0 && in.size % bytes == 0 && (*n == 0 || width == *d),
               FERRY_EDATA, "%s: %lld bytes are not rows of %lld 16-bit numbers", path,
               (long long)in.size, (long long)(*n ? *d : width));
    double *more = ferry_i_realloc(*x, (*n + rows) * width, sizeof *more);
    FERRY_NEED(ctx, more, FERRY_ENOMEM, "%s: no memory", path);
    *x = more;
    *d = width;
    for (int64_t i = 0; i < rows; i++) {
        const char *row = in.data + i * bytes;
        FERRY_NEED(ctx, word(row) == width, FERRY_EDATA,
                   "%s: row %lld has %lld numbers, expected %lld", path, (long long)(i + 1),
                   (long long)word(row), (long long)width);
        for (int64_t j = 0; j < width; j++)
            (*x)[(*n + i) * width + j] = (double)word(row + 2 * (j + 1));
    }
    *n += rows;
done:
    ferry_i_input_close(&in);
    return st;
}

/* Words of a file, one a line: `each` gets the part of the line before a slash or blank. */
static ferry_status add_words(ferry_ctx *ctx, const char *path, ferry_ids *ids,
                              int64_t **number, int64_t *n)
{
    ferry_status st = FERRY_OK;
    ferry_input in = {0};

    FERRY_TRY(ferry_i_input_open(ctx, path, &in));
    for (int64_t at = 0; at < in.size;) {
        const char *line = in.data + at, *end = memchr(line, '\n', (size_t)(in.size - at));
        const int64_t len = end ? end - line : in.size - at;
        int64_t used = 0;
        while (used < len && !strchr("/ \t\r", line[used]))
            used++;
        at += len + 1;
        if (used == 0) continue;
        const int64_t id = ferry_i_ids_addn(ids, line, used, NULL);
        FERRY_NEED(ctx, id >= 0, FERRY_ENOMEM, "%s: no memory", path);
        if (!number) continue;
        int64_t *more = ferry_i_realloc(*number, *n + 1, sizeof *more);
        FERRY_NEED(ctx, more, FERRY_ENOMEM, "%s: no memory", path);
        *number = more;
        more[(*n)++] = id;
    }
done:
    ferry_i_input_close(&in);
    return st;
}

/* Counts of a histogram are worked with as square roots; scene's features are no counts. */
static double feature(const mmltl_pictures *p, double x)
{
    return p->group ? sqrt(x) : x;
}

/* Places along the first principal component, in deviations, by 30 steps of the power
 * method. */
static ferry_status find_component(ferry_ctx *ctx, mmltl_pictures *p)
{
    ferry_status st = FERRY_OK;
    double *r = ferry_i_calloc(p->n * p->d, sizeof *r), *w = NULL, *mean = NULL;
    double square = 0;

    p->z = ferry_i_calloc(p->n, sizeof *p->z);
    w = ferry_i_calloc(p->d, sizeof *w);
    mean = ferry_i_calloc(p->d, sizeof *mean);
    FERRY_NEED(ctx, r && w && mean && p->z, FERRY_ENOMEM, "no memory for a component");
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t j = 0; j < p->d; j++)
            mean[j] += (r[i * p->d + j] = feature(p, p->x[i * p->d + j])) / (double)p->n;
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t j = 0; j < p->d; j++)
            r[i * p->d + j] -= mean[j];
    for (int64_t j = 0; j < p->d; j++)
        w[j] = 1 + (double)(j % 7) / 7;
    for (int step = 0; step < 31; step++) { /* the last one for z alone */
        double size = 0;
        for (int64_t i = 0; i < p->n; i++) {
            p->z[i] = 0;
            for (int64_t j = 0; j < p->d; j++)
                p->z[i] += r[i * p->d + j] * w[j];
        }
        if (step == 30) break;
        memset(w, 0, (size_t)p->d * sizeof *w);
        for (int64_t i = 0; i < p->n; i++)
            for (int64_t j = 0; j < p->d; j++)
                w[j] += p->z[i] * r[i * p->d + j];
        for (int64_t j = 0; j < p->d; j++)
            size += w[j] * w[j];
        for (int64_t j = 0; j < p->d; j++)
            w[j] /= sqrt(size) + 1e-300;
    }
    for (int64_t i = 0; i < p->n; i++)
        square += p->z[i] * p->z[i];
    for (int64_t i = 0; i < p->n; i++)
        p->z[i] /= sqrt(square / (double)p->n) + 1e-300;
done:
    ferry_i_free(r);
    ferry_i_free(w);
    ferry_i_free(mean);
    return st;
}

/* One file of Corel5k: "corel5k/corel5k_PART_KIND". */
static ferry_status corel_path(ferry_ctx *ctx, ferry_lab *lab, const char *part,
                               const char *kind, char **out)
{
    ferry_status st = FERRY_OK;
    char *name = ferry_i_sprintf("corel5k/corel5k_%s%s", part, kind);

    FERRY_NEED(ctx, name, FERRY_ENOMEM, "no memory for a file name");
    FERRY_TRY(ferry_i_lab_source(ctx, lab, name, out));
done:
    ferry_i_free(name);
    return st;
}

ferry_status ferry_i_mmltl_corel(ferry_ctx *ctx, ferry_lab *lab, const char *features,
                                 bool whole, mmltl_pictures *out)
{
    ferry_status st = FERRY_OK;
    char *path = NULL, *name = ferry_i_sprintf("_%s.hvecs", features);
    double *annot = NULL;
    int64_t rows = 0, cds = 0;

    out->labels = ferry_i_ids_new();
    out->groups = ferry_i_ids_new();
    FERRY_NEED(ctx, name && out->labels && out->groups, FERRY_ENOMEM, "no memory");
    for (int part = whole ? 0 : 1; part < 2; part++) {
        const char *const which = part ? "test" : "train";
        FERRY_TRY(corel_path(ctx, lab, which, name, &path));
        FERRY_TRY(add_hvecs(ctx, path, &out->x, &out->n, &out->d));
        ferry_i_free(path);
        path = NULL;
        FERRY_TRY(corel_path(ctx, lab, which, "_annot.hvecs", &path));
        FERRY_TRY(add_hvecs(ctx, path, &annot, &rows, &out->m));
        ferry_i_free(path);
        path = NULL;
        FERRY_TRY(corel_path(ctx, lab, which, "_list.txt", &path));
        FERRY_TRY(add_words(ctx, path, out->groups, &out->group, &cds));
        FERRY_NEED(ctx, rows == out->n && cds == out->n, FERRY_EDATA,
                   "%s: %lld names for %lld pictures and %lld label sets", path,
                   (long long)cds, (long long)out->n, (long long)rows);
        ferry_i_free(path);
        path = NULL;
    }
    FERRY_TRY(corel_path(ctx, lab, "", "dictionary.txt", &path));
    FERRY_TRY(add_words(ctx, path, out->labels, NULL, NULL));
    FERRY_NEED(ctx, ferry_i_ids_count(out->labels) == out->m, FERRY_EDATA,
               "%s: %lld words for %lld labels", path,
               (long long)ferry_i_ids_count(out->labels), (long long)out->m);
    out->y = ferry_i_calloc(out->n * out->m, 1);
    FERRY_NEED(ctx, out->y, FERRY_ENOMEM, "no memory for labels");
    for (int64_t i = 0; i < out->n * out->m; i++)
        out->y[i] = annot[i] != 0;
    FERRY_TRY(find_component(ctx, out));
done:
    ferry_i_free(path);
    ferry_i_free(name);
    ferry_i_free(annot);
    return st;
}

ferry_status ferry_i_mmltl_scene(ferry_ctx *ctx, ferry_lab *lab, mmltl_pictures *out)
{
    ferry_status st = FERRY_OK;
    char *path = NULL;
    ferry_data *data = NULL;

    FERRY_TRY(ferry_i_lab_source(ctx, lab, "multilabel/scene.arff.gz", &path));
    FERRY_TRY(ferry_read(ctx, path, NULL, &data));
    FERRY_NEED(ctx,
               data->x && data->x->dense && data->labels &&
                   data->labels->kind == FERRY_LABEL_SET,
               FERRY_EDATA, "%s: expected dense features and label sets", path);
    out->n = data->x->rows;
    out->d = data->x->cols;
    out->m = ferry_i_labels_m(data->labels);
    out->x = ferry_i_calloc(out->n * out->d, sizeof *out->x);
    out->y = ferry_i_calloc(out->n * out->m, 1);
    out->labels = ferry_i_ids_copy(data->labels->names);
    FERRY_NEED(ctx, out->x && out->y && out->labels, FERRY_ENOMEM, "%s: no memory", path);
    memcpy(out->x, data->x->dense, (size_t)(out->n * out->d) * sizeof *out->x);
    memcpy(out->y, data->labels->on, (size_t)(out->n * out->m));
    FERRY_TRY(find_component(ctx, out));
done:
    ferry_data_free(data);
    ferry_i_free(path);
    return st;
}

/* ---- cutting ---- */

typedef struct place {
    double at;
    int64_t id;
} place;

static int by_place(const void *a, const void *b)
{
    const place *p = a, *q = b;

    if (p->at != q->at) return p->at < q->at ? -1 : 1;
    return (p->id > q->id) - (p->id < q->id);
}

/* side[g]: 0 or 1 for each CD. */
static ferry_status divide_groups(ferry_ctx *ctx, const mmltl_pictures *p, mmltl_kind kind,
                                  ferry_rng *rng, int *side)
{
    ferry_status st = FERRY_OK;
    const int64_t groups = ferry_i_ids_count(p->groups);
    place *order = ferry_i_calloc(groups, sizeof *order);
    double *count = ferry_i_calloc(groups, sizeof *count);

    FERRY_NEED(ctx, order && count, FERRY_ENOMEM, "no memory for the CDs");
    for (int64_t i = 0; i < p->n; i++) {
        order[p->group[i]].at += p->z[i];
        count[p->group[i]]++;
    }
    for (int64_t g = 0; g < groups; g++) {
        order[g].id = g;
        order[g].at = kind == SORTED ? order[g].at / count[g] : ferry_i_rng_real(rng);
    }
    qsort(order, (size_t)groups, sizeof *order, by_place);
    for (int64_t g = 0; g < groups; g++)
        side[order[g].id] = g >= groups / 2;
done:
    ferry_i_free(order);
    ferry_i_free(count);
    return st;
}

/* The labels that count: the most frequent by the smaller of the two sides' counts. */
static ferry_status choose_labels(ferry_ctx *ctx, const mmltl_pictures *p, const int *side,
                                  mmltl_cut *c)
{
    ferry_status st = FERRY_OK;
    place *order = ferry_i_calloc(p->m, sizeof *order);

    c->m = p->m < MOST_LABELS ? p->m : MOST_LABELS;
    c->label = ferry_i_calloc(c->m, sizeof *c->label);
    FERRY_NEED(ctx, order && c->label, FERRY_ENOMEM, "no memory for the labels");
    for (int64_t k = 0; k < p->m; k++) {
        double count[2] = {0, 0};
        for (int64_t i = 0; i < p->n; i++)
            count[side[i]] += p->y[i * p->m + k];
        order[k] = (place){-fmin(count[0], count[1]), k};
    }
    qsort(order, (size_t)p->m, sizeof *order, by_place);
    for (int64_t k = 0; k < c->m; k++)
        c->label[k] = order[k].id;
done:
    ferry_i_free(order);
    return st;
}

static bool has_any(const mmltl_pictures *p, const mmltl_cut *c, int64_t i)
{
    for (int64_t k = 0; k < c->m; k++)
        if (p->y[i * p->m + c->label[k]]) return true;
    return false;
}

ferry_status ferry_i_mmltl_cut(ferry_ctx *ctx, const ferry_lab *lab,
                               const mmltl_pictures *p, mmltl_kind kind, int64_t repeat,
                               mmltl_cut *out)
{
    ferry_status st = FERRY_OK;
    int *side = ferry_i_calloc(p->n, sizeof *side), *of_group = NULL;
    ferry_rng rng;

    *out = (mmltl_cut){.kind = kind, .repeat = repeat};
    ferry_i_rng_seed(&rng, ferry_i_lab_seed(lab), (uint64_t)(repeat * MMLTL_KINDS + kind));
    out->background = ferry_i_calloc(p->d, sizeof *out->background);
    out->row[0] = ferry_i_calloc(p->n, sizeof *out->row[0]);
    out->row[1] = ferry_i_calloc(p->n, sizeof *out->row[1]);
    of_group = ferry_i_calloc(ferry_i_ids_count(p->groups) + 1, sizeof *of_group);
    FERRY_NEED(ctx, side && of_group && out->background && out->row[0] && out->row[1],
               FERRY_ENOMEM, "no memory to cut the pictures");
    for (int64_t j = 0; j < p->d; j++)
        out->background[j] = -log(1 - ferry_i_rng_real(&rng));
    if (p->group) FERRY_TRY(divide_groups(ctx, p, kind, &rng, of_group));
    for (int64_t i = 0; i < p->n; i++)
        side[i] = p->group ? of_group[p->group[i]]
                           : ferry_i_rng_real(&rng) >= 1 / (1 + exp(-1.5 * p->z[i]));
    FERRY_TRY(choose_labels(ctx, p, side, out));
    for (int64_t i = 0; i < p->n; i++)
        if (has_any(p, out, i)) out->row[side[i]][out->n[side[i]]++] = i;
    for (int s = 0; s < 2; s++) {
        ferry_i_rng_shuffle(&rng, out->n[s], out->row[s]);
        if (p->group && out->n[s] > MOST_ROWS) out->n[s] = MOST_ROWS;
        FERRY_NEED(ctx, out->n[s] > 0, FERRY_EDATA, "no picture is left on side %d", s + 1);
    }
done:
    if (st != FERRY_OK) ferry_i_mmltl_cut_free(out);
    ferry_i_free(side);
    ferry_i_free(of_group);
    return st;
}

/* ---- writing ---- */

/* Rows of one side as CSV, as a target of NUISANCE after mixing; the labels that count are
 * the last columns. */
static ferry_status write_side(ferry_ctx *ctx, ferry_lab *lab, const mmltl_pictures *p,
                               const mmltl_cut *c, int side, bool target, int64_t n,
                               const char *name)
{
    ferry_status st = FERRY_OK;
    char *path = NULL, number[32];
    ferry_out *o = NULL;
    const double share = target && c->kind == NUISANCE ? 0.6 : 0;
    double other = 0;

    FERRY_TRY(ferry_i_lab_path(ctx, lab, name, &path));
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    for (int64_t j = 0; j < p->d; j++) {
        ferry_i_out_printf(o, "f%lld,", (long long)j + 1);
        other += c->background[j];
    }
    for (int64_t k = 0; k < c->m; k++) {
        if (k) ferry_i_out_printf(o, ",");
        ferry_i_out_csv(o, "", ferry_i_ids_at(p->labels, c->label[k]));
    }
    ferry_i_out_printf(o, "\n");
    for (int64_t r = 0; r < n; r++) {
        const int64_t i = c->row[side][r];
        const double *x = p->x + i * p->d;
        double total = 0;
        for (int64_t j = 0; j < p->d; j++)
            total += x[j];
        for (int64_t j = 0; j < p->d; j++) {
            const double mixed =
                (1 - share) * x[j] + share * c->background[j] * total / other;
            (void)ferry_i_format_real(number, round(feature(p, mixed) * 1e6) / 1e6);
            ferry_i_out_printf(o, "%s,", number);
        }
        for (int64_t k = 0; k < c->m; k++)
            ferry_i_out_printf(o, "%s%d", k ? "," : "", p->y[i * p->m + c->label[k]]);
        ferry_i_out_printf(o, "\n");
    }
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_out_abort(o);
    ferry_i_free(path);
    return st;
}

ferry_status ferry_i_mmltl_task(ferry_ctx *ctx, ferry_lab *lab, const mmltl_pictures *p,
                                const mmltl_cut *c, int from, int64_t most,
                                const char *methods, char **task)
{
    ferry_status st = FERRY_OK;
    const int64_t n = most > 0 && most < c->n[from] ? most : c->n[from];
    const char side = from ? 'b' : 'a', other = from ? 'a' : 'b';
    char *stem = ferry_i_sprintf("%s-%lld-%c-%lld", ferry_i_mmltl_kinds[c->kind],
                                 (long long)c->repeat, side, (long long)n);
    char *source = NULL, *target = NULL, *name = NULL, *text = NULL;

    *task = NULL;
    FERRY_NEED(ctx, stem, FERRY_ENOMEM, "no memory for a file name");
    source = ferry_i_sprintf("%s-source.csv", stem);
    target = ferry_i_sprintf("%s-%lld-%c-target.csv", ferry_i_mmltl_kinds[c->kind],
                             (long long)c->repeat, other);
    name = ferry_i_sprintf("%s.yaml", stem);
    text = ferry_i_sprintf(
        "task: %s\ngoal: multilabel\ndomains:\n"
        "  - {name: %c, role: source, x: %s, label: 'last:%lld'}\n"
        "  - {name: %c, role: target, x: %s, label: 'last:%lld'}\n"
        "methods:\n%s"
        "evaluate: {repeats: 1, ties: mean, controls: none, metrics: [hamming, "
        "ranking-loss, one-error, coverage, average-precision]}\n",
        stem, side, source, (long long)c->m, other, target, (long long)c->m, methods);
    FERRY_NEED(ctx, source && target && name && text, FERRY_ENOMEM,
               "no memory for a task file");
    FERRY_TRY(write_side(ctx, lab, p, c, from, false, n, source));
    FERRY_TRY(write_side(ctx, lab, p, c, !from, true, c->n[!from], target));
    FERRY_TRY(ferry_i_lab_task(ctx, lab, name, text));
    *task = name;
    name = NULL;
done:
    ferry_i_free(stem);
    ferry_i_free(source);
    ferry_i_free(target);
    ferry_i_free(name);
    ferry_i_free(text);
    return st;
}

ferry_status ferry_i_mmltl_run(ferry_ctx *ctx, ferry_lab *lab, const mmltl_pictures *p,
                               const mmltl_cut *c, int from, int64_t most,
                               const char *methods)
{
    ferry_status st = FERRY_OK;
    char *task = NULL;

    FERRY_TRY(ferry_i_mmltl_task(ctx, lab, p, c, from, most, methods, &task));
    FERRY_TRY(
        ferry_i_lab_run(ctx, lab, task, NULL, ferry_i_lab_seed(lab) + (uint64_t)c->repeat));
done:
    ferry_i_free(task);
    return st;
}
