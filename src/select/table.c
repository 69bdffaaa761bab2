/* A selection as a table for people and as JSON. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "select/select.h"

/* In the order of triple_features(). Names of fields in the JSON: part of the format. */
static const char *const feature_names[SELECT_FEATURES] = {
    "complexity_source",      "complexity_bridge",      "complexity_target",
    "distance_source_bridge", "distance_source_target", "distance_bridge_target"};

/* ---- words ---- */

/* What the numbers amount to. The limits are a judgement, not a test: labels that repeat
 * hardly better than chance, or a ranking of unseen targets near a coin's, prove little. */
static bool is_weak(const select_trust *t)
{
    return !(t->correlation >= 0.3) || !(t->auc >= 0.7);
}

/* What a reader needs before relying on the order: how much was learned from, whether it
 * repeats, whether it holds for targets that were not seen. */
static void trust_text(const ferry_selection *s, ferry_text *o)
{
    const select_trust *t = &s->trust;

    ferry_i_text_addf(o,
                      "How far to trust it: learned from %.0f triples of %.0f domains, of "
                      "which %.0f (%.0f %%) are positive (acc_sit > %g acc_st).\n",
                      t->triples, t->domains, t->positive, 100 * t->positive / t->triples,
                      s->t);
    /* What could not be measured is left out, or said to be so: never printed as nan. */
    if (isfinite(t->again))
        ferry_i_text_addf(
            o,
            "On other instances of the same domains %.0f are positive, %.0f of "
            "them the same ones (%.0f by chance); the gains correlate %.2f.\n",
            t->again, t->both, t->chance, t->correlation);
    if (isfinite(t->accuracy))
        ferry_i_text_addf(
            o,
            "Balanced cross-validation gets %.2f +- %.2f of the triples right "
            "(a coin 0.50)",
            t->accuracy, t->accuracy_sd);
    else
        ferry_i_text_add(o, "Too few triples of one kind for cross-validation");
    if (isfinite(t->auc))
        ferry_i_text_addf(o, "; for a target it has not seen its order has AUC %.2f.\n",
                          t->auc);
    else
        ferry_i_text_add(o, ".\n");
    ferry_i_text_add(o, is_weak(t)
                            ? "That is weak evidence: compare the first few, and none, "
                              "with ferry run before relying on one.\n"
                            : "That is more than chance, not proof: compare the first "
                              "few, and none, with ferry run.\n");
}

/* ---- the table ---- */

/* In columns of a terminal, not bytes: names may be any UTF-8. At least the heading's. */
static int width_of(const ferry_selection *s, bool source)
{
    int most = source ? 6 : 6;

    for (int64_t i = 0; i < s->n; i++) {
        const char *text = source ? s->way[i].source : s->way[i].domain[0];
        if (s->way[i].n == 1 && (int)ferry_i_utf8_width(text) > most)
            most = (int)ferry_i_utf8_width(text);
    }
    return most;
}

/* One line a bridge with the six measures behind its probability. */
static void bridges(const ferry_selection *s, ferry_text *o)
{
    const int a = width_of(s, false), b = width_of(s, true);

    ferry_i_text_addf(
        o, "%-*s  %-*s  probability  complexity S, I, T    A-distance S-I, S-T, I-T\n", a,
        "bridge", b, "source");
    for (int64_t i = 0; i < s->n && s->way[i].n == 1; i++) {
        const double *c = s->way[i].feature;
        ferry_i_text_pad(o, s->way[i].domain[0], a + 2);
        ferry_i_text_pad(o, s->way[i].source, b + 2);
        ferry_i_text_addf(o, "%11.3f  %.3f, %.3f, %.3f   %.2f, %.2f, %.2f\n",
                          s->way[i].probability, c[0], c[1], c[2], c[3], c[4], c[5]);
    }
}

/* The first five of each length. */
static void chains(const ferry_selection *s, ferry_text *o)
{
    for (int64_t n = 2; n <= 3; n++) {
        int64_t shown = 0;
        for (int64_t i = 0; i < s->n && shown < 5; i++) {
            if (s->way[i].n != n) continue;
            if (shown++ == 0)
                ferry_i_text_addf(o,
                                  "\nchains of %lld (probability: the product over their "
                                  "triples)\n",
                                  (long long)n);
            ferry_i_text_addf(o, "%.4f  %s", s->way[i].probability, s->way[i].source);
            for (int64_t k = 0; k < n; k++)
                ferry_i_text_addf(o, " > %s", s->way[i].domain[k]);
            ferry_i_text_addf(o, " > %s\n", s->target);
        }
    }
}

/* *out is new; ferry_string_free it. The evidence comes last, after the order it speaks of. */
static ferry_status selection_table(ferry_ctx *ctx, const ferry_selection *s, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, s);

    ferry_text o = {0};

    if (s->trial) {
        ferry_i_select_trial_table(s, &o);
    } else {
        ferry_i_text_addf(&o, "%s: bridges to '%s', %lld candidate%s\n\n", s->task,
                          s->target, (long long)s->candidates,
                          s->candidates == 1 ? "" : "s");
        bridges(s, &o);
        chains(s, &o);
        ferry_i_text_add(&o, "\n");
        trust_text(s, &o);
    }
    if (!o.failed) {
        *out = o.s;
        return FERRY_OK;
    }
    ferry_i_text_free(&o);
    return ferry_i_nomem(ctx);
}

/* ---- JSON ---- */

/* JSON has no NaN: null. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* Chains have no measures of their own: theirs are the triples'. */
static json_t *way_json(const ferry_way *w)
{
    json_t *via = json_array(), *features = w->n > 1 ? NULL : json_object();

    for (int64_t i = 0; i < w->n; i++)
        (void)json_array_append_new(via, json_string(w->domain[i]));
    for (int j = 0; features && j < SELECT_FEATURES; j++)
        (void)json_object_set_new(features, feature_names[j], number(w->feature[j]));
    return json_pack("{s:s, s:o, s:s, s:o, s:o*}", "source", w->source, "via", via,
                     "target", w->target, "probability", number(w->probability), "features",
                     features);
}

/* The numbers behind the sentences of trust_text, and the verdict itself. */
static json_t *trust_json(const ferry_selection *s)
{
    const select_trust *t = &s->trust;

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
        "domains", number(t->domains), "triples", number(t->triples), "positive",
        number(t->positive), "t", number(s->t), "accuracy_direct", number(t->direct),
        "gain", number(t->gain), "gain_sd", number(t->gain_sd), "balanced_accuracy",
        number(t->accuracy), "balanced_accuracy_sd", number(t->accuracy_sd),
        "auc_unseen_target", number(t->auc), "positive_again", number(t->again),
        "positive_both", number(t->both), "positive_both_by_chance", number(t->chance),
        "correlation", number(t->correlation), "weak", is_weak(t));
}

static json_t *model_json(const ferry_selection *s)
{
    json_t *ways = json_array(), *beta = json_object();

    for (int64_t i = 0; i < s->n; i++)
        (void)json_array_append_new(ways, way_json(&s->way[i]));
    (void)json_object_set_new(beta, "constant", number(s->m.beta[0]));
    for (int j = 0; j < SELECT_FEATURES; j++)
        (void)json_object_set_new(beta, feature_names[j], number(s->m.beta[j + 1]));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "ferry", ferry_version(), "task",
                     s->task, "target", s->target, "ways", ways, "beta", beta, "trust",
                     trust_json(s));
}

/* *out is new. 17 digits give every double back exactly. */
static ferry_status selection_json(ferry_ctx *ctx, const ferry_selection *s, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, s);

    json_t *o = s->trial ? ferry_i_select_trial_json(s) : model_json(s);
    const ferry_status st =
        ferry_i_json_dump(ctx, o, JSON_INDENT(1) | JSON_REAL_PRECISION(17), out);
    json_decref(o);
    return st;
}

ferry_status ferry_selection_table(ferry_ctx *ctx, const ferry_selection *s,
                                   const char *format, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, s);

    if (!format) return selection_table(ctx, s, out);
    if (strcmp(format, "json") == 0) return selection_json(ctx, s, out);
    return ferry_i_fail(ctx, FERRY_EINVAL, "unknown format %s (json)", format);
}
