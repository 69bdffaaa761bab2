/* Learning in a common space: one learner on the places of both domains' rows may learn from the source, another knows
 * the target's own features only,
 *
 *   p = (1 - gamma) p_own + gamma p_mapped,
 *
 * and where outputs differ the source's labels v are translated into the target's y:
 *
 *   p(y|v) = mean of p(y|s) over the source rows s with label v, by a target learner    (5.20)
 *   p(y|x) = sum_v p(v|x) p(y|v)                                                        (5.19)
 *
 * and for numbers by the line y = a + c v through the same predictions: the text points to another work, the line is
 * ours. Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, 5.4.3. */
#include "learn/common_space.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/linear.h"
#include "learn/self_training.h"

extern const learner learner_logreg;

/* ---- options ---- */

static const learner *learner_of(int choice, bool numbers, const char *usual)
{
    static const char *const names[] = {"auto", "knn", "logreg", "ridge", "svm", "gbdt"};

    return learner_find(choice > 0 ? names[choice] : numbers ? "ridge" : usual);
}

/* The constant of logreg is in effect free: held small like a weight it would cost the shares of the classes, where
 * there are a few rows. */
static void *settings_of(scope *s, const space_options *o, const learner *by)
{
    void *with = learner_defaults(s, by);

    learner_set(by, with, "k", (double)o->neighbours);
    learner_set(by, with, "lambda", o->lambda);
    learner_set(by, with, "C", o->C);
    learner_set(by, with, "eps", 1e-4);
    if (by == &learner_logreg) ((logreg_options *)with)->constant = 100;
    return with;
}

void space_fits(scope *s, const char *method, const space_options *o, ferry_goal goal)
{
    const bool numbers = goal == FERRY_REGRESS;
    const learner *by[] = {learner_of(o->learner, numbers, "knn"),
                           learner_of(o->base, numbers, "logreg")};

    for (int i = 0; i < 2; i++)
        if (numbers && !(by[i]->takes & LEARN_NUMBERS))
            scope_fail(s, FERRY_ENEEDS, "%s: %s does not serve the goal regress", method,
                       by[i]->name);
    if (o->self_training > 0 && goal != FERRY_CLASSIFY)
        scope_fail(s, FERRY_ENEEDS, "%s: self_training serves the goal classify alone",
                   method);
    if (o->self_training > 0 && o->weight != 0 && o->weight != 1)
        scope_fail(s, FERRY_ENEEDS,
                   "%s: self_training counts all rows alike: weight must be 1", method);
}

/* ---- rows ---- */

static bool has_label(const labels *y, int64_t i)
{
    return y->cls ? y->cls[i] >= 0 : y->num && !isnan(y->num[i]);
}

int64_t count_known(int64_t n, const labels *y)
{
    int64_t all = 0;

    for (int64_t i = 0; i < n; i++)
        all += has_label(y, i);
    return all;
}

labels replicate_labels(scope *s, layout rows, int64_t n, const labels *y)
{
    labels to = *y;

    if (y->cls) to.cls = replicate_items(s, rows, n, sizeof *y->cls, y->cls);
    if (y->num) to.num = replicate_items(s, rows, n, sizeof *y->num, y->num);
    return to;
}

labels known_labels_of(scope *s, int64_t n, const labels *y, const uint8_t *known)
{
    labels to = *y;
    int32_t *cls = y->cls ? COPY(s, y->cls, n) : NULL;
    double *num = y->num ? COPY(s, y->num, n) : NULL;

    for (int64_t i = 0; i < n; i++) {
        if (cls && !known[i]) cls[i] = -1;
        if (num && !known[i]) num[i] = NAN;
    }
    to.cls = cls;
    to.num = num;
    return to;
}

placed placed_rows(scope *s, const domain *d, block z)
{
    return (placed){replicate(s, z), replicate_labels(s, d->rows, d->n, &d->y),
                    replicate_items(s, d->rows, d->n, sizeof *d->key, d->key)};
}

bool labels_differ(const placed *from, const placed *to)
{
    for (int64_t i = 0; to->y.cls && i < to->z.n; i++) {
        bool there = to->y.cls[i] < 0;
        for (int64_t j = 0; !there && j < from->z.n; j++)
            there = from->y.cls[j] == to->y.cls[i];
        if (!there) return true;
    }
    return false;
}

typedef struct ranked {
    double y;
    uint64_t key;
    int64_t i;
} ranked;

static int by_number(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->y != y->y) return x->y < y->y ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* The group of rank r among n is floor(r g / n): sizes differ by one at most. */
int32_t *quantile_groups(scope *s, int64_t n, const double *y, const uint64_t *key,
                         int64_t g)
{
    int32_t *group = NEW(s, int32_t, n);
    const int64_t mark = scope_mark(s);
    ranked *r = NEW(s, ranked, n);
    int64_t known = 0;

    for (int64_t i = 0; i < n; i++) {
        group[i] = -1;
        if (!isnan(y[i])) r[known++] = (ranked){y[i], key ? key[i] : 0, i};
    }
    if (known > 0) qsort(r, (size_t)known, sizeof *r, by_number);
    for (int64_t i = 0; i < known; i++)
        group[r[i].i] = (int32_t)(i * g / known);
    scope_release(s, mark);
    return group;
}

/* ---- outputs that differ ---- */

void label_meanings(block pys, const int32_t *v, block out)
{
    for (int64_t label = 0; label < out.n; label++) {
        double *p = ROW(out, label), n = 0;
        memset(p, 0, (size_t)out.k * sizeof *p);
        for (int64_t i = 0; i < pys.n; i++) {
            if (v[i] != label) continue;
            n++;
            for (int64_t y = 0; y < out.k; y++)
                p[y] += ROW(pys, i)[y];
        }
        for (int64_t y = 0; y < out.k; y++)
            p[y] = n > 0 ? p[y] / n : 1 / (double)out.k;
    }
}

void translate_labels(block pvx, block pyv, block pyx)
{
    memset(pyx.at, 0, (size_t)(pyx.n * pyx.k) * sizeof *pyx.at);
    for (int64_t i = 0; i < pvx.n; i++)
        for (int64_t v = 0; v < pvx.k; v++)
            for (int64_t y = 0; y < pyx.k; y++)
                ROW(pyx, i)[y] += ROW(pvx, i)[v] * ROW(pyv, v)[y];
}

/* Means first, then the sums around them: no cancellation where v is far from 0. */
void translate_numbers(int64_t n, const double *v, block y, double *a, double *c)
{
    double mv = 0, my = 0, vv = 0, vy = 0, count = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        count++;
        mv += (v[i] - mv) / count;
        my += (ROW(y, i)[0] - my) / count;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        vv += (v[i] - mv) * (v[i] - mv);
        vy += (v[i] - mv) * (ROW(y, i)[0] - my);
    }
    *c = vv > 0 ? vy / vv : 0;
    *a = my - *c * mv;
}

/* ---- learning ---- */

static domain as_domain(scope *s, const placed *p)
{
    return (domain){.rows = HERE(p->z.n),
                    .n = p->z.n,
                    .x = matrix_of(s, p->z),
                    .y = p->y,
                    .known = p->y.cls,
                    .labelled = count_known(p->z.n, &p->y),
                    .key = p->key};
}

block learned_shares(scope *s, const learned *m, matrix x, int64_t k)
{
    const block out = block_new(s, x.rows, x.n, k);

    learned_scores(s, m, x, out);
    for (int64_t i = 0; m->by->margins && k > 1 && i < out.n; i++)
        softmax_row(k, NULL, ROW(out, i));
    return out;
}

learned learn_own(scope *s, scope *keep, const space_options *o, const examples *e)
{
    const learner *by = learner_of(o->base, e->y.num != NULL, "logreg");

    return learn(s, keep, by, settings_of(s, o, by), e);
}

/* p(y|s) of the source's rows, by the space's learner from target rows alone: the source's own labels must have no say
 * in what they mean. */
static block meaning_of_source(scope *s, const space_options *o, const placed *from,
                               const placed *to)
{
    const learner *by = learner_of(o->learner, to->y.num != NULL, "knn");
    const domain d = as_domain(s, to);
    const examples e = labelled_rows(s, &d);
    const learned m = learn(s, s, by, settings_of(s, o, by), &e);

    return learned_shares(s, &m, matrix_of(s, from->z), to->y.k);
}

/* Classes: the learner is about labels 0..k-1 of the source and k..2k-1 of the target, and p(y|v) of the latter is 1 for
 * y = v: a row near both kinds gets a share of each, which (5.19) turns into classes. */
static void translate(scope *s, scope *keep, const space_options *o, placed *from,
                      placed *to, space_model *m, double *line)
{
    const block pys = meaning_of_source(s, o, from, to);
    const int64_t k = to->y.k;

    if (to->y.num) {
        double *num = COPY(s, from->y.num, from->z.n);
        translate_numbers(from->z.n, num, pys, &line[0], &line[1]);
        for (int64_t i = 0; i < from->z.n; i++)
            num[i] = line[0] + line[1] * num[i];
        from->y.num = num;
        return;
    }
    int32_t *cls = COPY(s, to->y.cls, to->z.n);
    m->labels = from->y.k = to->y.k = 2 * k;
    m->pyv = block_new(keep, HERE(2 * k), 2 * k, k);
    label_meanings(pys, from->y.cls, (block){HERE(k), k, k, m->pyv.at});
    for (int64_t y = 0; y < k; y++)
        ROW(m->pyv, k + y)[y] = 1;
    for (int64_t i = 0; i < to->z.n; i++)
        if (cls[i] >= 0) cls[i] += (int32_t)k;
    to->y.cls = cls;
}

/* Each source row counts as `weight` rows. */
static void weigh(scope *s, double weight, examples *e)
{
    double *of = NEW(s, double, e->x.n);

    for (int64_t i = 0; i < e->x.n; i++)
        of[i] = i < e->sources ? weight : 1;
    e->weight = of;
}

bool learn_mapped(scope *s, scope *keep, const space_options *o, const placed *source,
                  const placed *given, bool differ, space_model *m, double *line)
{
    placed from = *source, to = *given;
    const int64_t n_to = count_known(to.z.n, &to.y);
    const bool target_alone = o->rows == ROWS_OF_TARGET;
    const learner *by = learner_of(o->learner, to.y.num != NULL, "knn");
    void *with = settings_of(s, o, by);

    line[0] = 0;
    line[1] = 1;
    m->pyv = (block){.at = NULL};
    if (differ && n_to > 0 && !target_alone) translate(s, keep, o, &from, &to, m, line);
    domain d[] = {as_domain(s, &from), as_domain(s, &to)};
    if (o->rows == ROWS_OF_SOURCE) { /* the target's rows stay, for self-training */
        uint8_t *none = NEW(s, uint8_t, to.z.n);
        d[1].y = known_labels_of(s, to.z.n, &to.y, none);
        d[1].known = d[1].y.cls;
        d[1].labelled = 0;
    }
    if ((target_alone ? 0 : d[0].labelled) + d[1].labelled == 0) return false;
    const problem p = {.goal = to.y.goal,
                       .classes = to.y.k,
                       .cols = to.z.k,
                       .n_sources = !target_alone,
                       .n = target_alone ? 1 : 2,
                       .d = target_alone ? d + 1 : d};
    if (o->self_training > 0) {
        const self_training self = {.rounds = o->self_training, .share = 0.1};
        m->mapped = self_train(s, keep, by, with, &self, &p);
        return true;
    }
    examples e = training_examples(s, &p);
    if (o->weight > 0 && o->weight != 1 && e.sources > 0 && e.sources < e.x.n)
        weigh(s, o->weight, &e);
    m->mapped = learn(s, keep, by, with, &e);
    return true;
}

/* ---- answering ---- */

block mapped_shares(scope *s, const space_model *m, matrix z, int64_t k)
{
    if (!m->pyv.at) return learned_shares(s, &m->mapped, z, k);
    const block out = block_new(s, z.rows, z.n, k);
    translate_labels(learned_shares(s, &m->mapped, z, m->labels), m->pyv, out);
    return out;
}

void space_scores(scope *s, const space_model *m, const domain *d, matrix z, block out)
{
    if (m->own.by && m->gamma < 1)
        copy(learned_shares(s, &m->own, d->view[0].x, out.k), out);
    if (m->gamma > 0) axpby(s, m->gamma, mapped_shares(s, m, z, out.k), 1 - m->gamma, out);
    for (int64_t i = 0; !m->own.by && m->gamma == 0 && i < out.n; i++)
        memcpy(ROW(out, i), d->prior, (size_t)out.k * sizeof(double));
}

static void space_check(scope *s, const void *state)
{
    const space_model *m = state;

    if ((m->gamma > 0 && !m->mapped.by) || (m->gamma > 0 && m->gamma < 1 && !m->own.by) ||
        (m->pyv.at && m->labels != 2 * m->pyv.k))
        scope_fail(s, FERRY_EDATA, "its learners do not go with gamma");
}

static const field space_fields[] = {
    ARRAY(space_model, VARIANT, own, .among = &learners, .optional = true),
    ARRAY(space_model, VARIANT, mapped, .among = &learners, .optional = true),
    ARRAY(space_model, BLOCK, pyv, .rows = SIZE(space_model, labels), .cols = CLASSES,
          .optional = true),
    ARRAY(space_model, REAL, gamma, .lo = 0, .hi = 1.0000001),
};
const table space_table = {sizeof(space_model), space_fields, FERRY_COUNT(space_fields),
                           space_check, NULL};

/* ---- a picture ---- */

static void json_free(void *json)
{
    json_decref(json);
}

/* [[z1, z2], ...], evenly chosen; with one dimension the second is 0. */
static json_t *points(scope *s, block z)
{
    const int64_t most_points = 500, n = z.n < most_points ? z.n : most_points;
    json_t *to = json_array();

    scope_defer(s, json_free, to);
    for (int64_t i = 0; i < n; i++) {
        const double *p = ROW(z, i * z.n / n);
        json_array_append_new(to, json_pack("[f,f]", p[0], z.k > 1 ? p[1] : 0.0));
    }
    return to;
}

void report_places(scope *s, const placed *from, const placed *to)
{
    if (!scope_ctx(s)->diag) return;
    json_t *of_target = points(s, to->z), *of_source = points(s, from->z);
    ferry_i_diag_json(scope_ctx(s), "scatter",
                      json_pack("{s:O,s:O}", "target", of_target, "source", of_source));
    if (ferry_i_memory_lost()) scope_check(s, ferry_i_nomem(scope_ctx(s)));
}
