/* GBC: what the user is told of a model: weights and held-out losses by name of view and
 * graph, what was chosen, and which features the trees split on. All of it goes to the
 * diagnostics of the fit; nothing here changes the model. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "methods/gbc/gbc.h"

/* {"name of view or graph": value, ...}; null where it is not known. */
static void named(ferry_ctx *ctx, const char *name, const ferry_domain *t, bool graphs,
                  const double *values)
{
    const int64_t n = graphs ? t->n_graphs : t->n_views;
    json_t *all = json_object();

    for (int64_t i = 0; i < n; i++)
        json_object_set_new(all, graphs ? t->graphs[i]->name : t->views[i]->name,
                            isfinite(values[i]) ? json_real(values[i]) : json_null());
    ferry_i_diag_json(ctx, name, all);
}

/* A feature and the gain of all splits on it. Ranked to show only the largest: a view of
 * text has tens of thousands. */
typedef struct ranked {
    double gain;
    int64_t feature;
} ranked;

/* Largest first; equal gains by the smaller feature, so that output never depends on
 * qsort. */
static int by_gain(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->gain != y->gain) return x->gain > y->gain ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

/* Share of the gain of view i's splits, the ten largest; *total: all the gain. The gain of
 * a split is what the loss falls by, as the tree saw it when it was grown. `all` is scratch
 * for the features of the view. A feature without a name is shown by its column, counted
 * from 1. The object is the caller's. */
static json_t *importance(const ferry_forest *f, const ferry_view *v, int64_t i,
                          ranked *all, double *total)
{
    json_t *out = json_object();
    char number[24];

    *total = 0;
    for (int64_t j = 0; j < f->cols[i]; j++)
        all[j] = (ranked){0, j};
    for (int64_t t = 0; t < f->n; t++)
        for (int64_t j = 0; j < f->k; j++) {
            const ferry_tree *tree = *ferry_i_forest_tree(f, t, i, j);
            for (int64_t e = 0; tree && e < tree->n; e++) {
                /* A leaf has no feature. */
                if (tree->node[e].feature < 0) continue;
                all[tree->node[e].feature].gain += tree->node[e].gain;
                *total += tree->node[e].gain;
            }
        }
    qsort(all, (size_t)f->cols[i], sizeof *all, by_gain);
    for (int64_t j = 0; j < f->cols[i] && j < 10 && all[j].gain > 0; j++) {
        (void)snprintf(number, sizeof number, "%lld", (long long)all[j].feature + 1);
        json_object_set_new(
            out, v->features ? ferry_i_ids_at(v->features, all[j].feature) : number,
            json_real(all[j].gain / *total));
    }
    return out;
}

/* "importance": the features of each view; "gain_share": of the views among each other. */
static ferry_status explain_features(ferry_ctx *ctx, const ferry_domain *dom,
                                     const ferry_forest *f)
{
    ferry_status st = FERRY_OK;
    json_t *all = json_object(), *shares = json_object();
    int64_t most = 0;
    ranked *room = NULL;
    double sum = 0, *total = NULL;

    for (int64_t i = 0; i < f->p; i++)
        most = f->cols[i] > most ? f->cols[i] : most;
    FERRY_NEW(ctx, room, most);
    FERRY_NEW(ctx, total, f->p);
    for (int64_t i = 0; i < f->p; i++) {
        json_object_set_new(all, dom->views[i]->name,
                            importance(f, dom->views[i], i, room, &total[i]));
        sum += total[i];
    }
    for (int64_t i = 0; i < f->p; i++)
        json_object_set_new(shares, dom->views[i]->name,
                            json_real(sum > 0 ? total[i] / sum : 0));
    /* The diagnostics take one reference, the cleanup below gives back the other. */
    ferry_i_diag_json(ctx, "importance", json_incref(all));
    ferry_i_diag_json(ctx, "gain_share", json_incref(shares));
done:
    json_decref(all);
    json_decref(shares);
    FERRY_FREE(room, total);
    return st;
}

/* One more piece of a text of `size` bytes that has n; how many it has then. The last place
 * is kept for the closing zero: a long list of views is cut, not overrun. */
static size_t add(char *text, size_t size, size_t n, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    n += (size_t)vsnprintf(text + n, size - n, fmt, args);
    va_end(args);
    return n < size ? n : size - 1;
}

/* In the order of gbc_correct. */
static const char *const corrects[] = {"auto", "no", "residual", "smooth"};
/* In the order of gbc_kind. */
static const char *const kinds[] = {
    "trees", "linear", "smoothed linear", "self-trained linear", "labels", "nearest rows"};

/* {"trees": {"share": 0.4, "loss": 0.21, ...}, ...} of the parts that were tried. */
static void parts(ferry_ctx *ctx, const gbc_plan *p)
{
    json_t *all = json_object();

    for (int64_t k = 0; k < GBC_KINDS; k++) {
        const gbc_part *part = &p->part[k];
        if (isnan(part->loss) && !(part->share > 0)) continue;
        json_t *one = json_pack("{s:f,s:s,s:f,s:f}", "share", part->share, "correct",
                                corrects[part->correct], "strength", part->strength,
                                "power", part->power);
        if (isfinite(part->loss)) json_object_set_new(one, "loss", json_real(part->loss));
        if (k >= GBC_LINE && k <= GBC_SELF)
            json_object_set_new(one, "C", json_real(part->C));
        if (k == GBC_NEAR) json_object_set_new(one, "k", json_integer(p->near));
        json_object_set_new(all, kinds[k], one);
    }
    ferry_i_diag_json(ctx, "parts", all);
}

/* "0.60 trees, 0.40 linear; weights of views number 0.62, colour 0.38; of graphs cites 1.00;
 * ..." for the table. */
static void note(ferry_ctx *ctx, const ferry_domain *t, const gbc_model *m)
{
    const ferry_forest *f = m->trees.forest;
    char text[640];
    size_t n = 0;

    for (int64_t k = 0; k < GBC_KINDS; k++) {
        const gbc_part *p = &m->part[k];
        if (!(p->share > 0)) continue;
        n = add(text, sizeof text, n, "%s%.2f %s", n ? ", " : "", p->share, kinds[k]);
        /* alpha of smooth or kappa of residual: strength means one of the two. */
        if (p->correct > GBC_CORRECT_NO)
            n = add(text, sizeof text, n, " (%s %.2g)", corrects[p->correct], p->strength);
    }
    if (f && f->additive) n = add(text, sizeof text, n, "; views add up to one score");
    for (int64_t i = 0; f && !f->additive && i < t->n_views; i++)
        n = add(text, sizeof text, n, "%s%s %.2f", i ? ", " : "; weights of views ",
                t->views[i]->name, m->trees.w[i]);
    for (int64_t i = 0; i < t->n_graphs && i < 8; i++)
        n = add(text, sizeof text, n, "%s%s %.2f", i ? ", " : "; of graphs ",
                t->graphs[i]->name, m->wg[i]);
    if (f) (void)add(text, sizeof text, n, "; %lld trees a view", (long long)f->n);
    ferry_i_diag_text(ctx, "note", text);
}

/* Losses are told only where cross-validation computed them. */
ferry_status ferry_i_gbc_explain(ferry_ctx *ctx, const ferry_domain *t, const gbc_model *m,
                                 const gbc_plan *p, bool tuned)
{
    const ferry_forest *f = m->trees.forest;

    parts(ctx, p);
    if (t->n_graphs > 0) named(ctx, "graph_weights", t, true, m->wg);
    if (isfinite(p->loss)) ferry_i_diag_real(ctx, "loss", p->loss);
    note(ctx, t, m);
    if (!f) return FERRY_OK;
    named(ctx, "weights", t, false, m->trees.w);
    if (tuned) {
        named(ctx, "held_out_loss", t, false, p->view_loss);
        ferry_i_diag_real(ctx, "constant_loss", p->constant_loss);
        ferry_i_diag_real(ctx, "average_loss", p->average_loss);
        ferry_i_diag_real(ctx, "additive_loss", p->additive_loss);
    }
    ferry_i_diag_text(ctx, "combine", f->additive ? "additive" : "average");
    ferry_i_diag_real(ctx, "stretch", m->trees.stretch);
    ferry_i_diag_real(ctx, "lambda0", p->lambda0);
    ferry_i_diag_real(ctx, "lambda1", p->lambda1);
    ferry_i_diag_real(ctx, "trees", (double)f->n);
    return explain_features(ctx, t, f);
}
