/* A selection by trial as a table for people and as JSON. */
#include <jansson.h>
#include <math.h>

#include "select/select.h"

/* "books", "books > dvd", "(direct)" */
static void way_name(const ferry_way *w, ferry_text *o)
{
    if (w->n == 0) ferry_i_text_add(o, "(direct)");
    for (int64_t i = 0; i < w->n; i++)
        ferry_i_text_addf(o, "%s%s", i ? " > " : "", w->domain[i]);
}

static int name_width(const ferry_selection *s)
{
    int most = 8;

    for (int64_t i = 0; i < s->n; i++) {
        ferry_text t = {0};
        if (!s->way[i].reached && s->way[i].n > 1) continue; /* not shown */
        way_name(&s->way[i], &t);
        if (t.s && (int)ferry_i_utf8_width(t.s) > most) most = (int)ferry_i_utf8_width(t.s);
        ferry_i_text_free(&t);
    }
    return most;
}

/* A kappa, or a dash where there is none. */
static void add_number(ferry_text *o, int width, double x)
{
    if (isfinite(x))
        ferry_i_text_addf(o, "%*.2f", width, x);
    else
        ferry_i_text_addf(o, "%*s", width, "-");
}

static void add_way(const ferry_selection *s, int64_t i, int width, ferry_text *o)
{
    const ferry_way *w = &s->way[i];
    ferry_text name = {0};

    way_name(w, &name);
    ferry_i_text_addf(o, "%4lld  ", (long long)i + 1);
    ferry_i_text_pad(o, name.s ? name.s : "", width);
    o->failed = o->failed || name.failed;
    ferry_i_text_free(&name);
    if (!w->reached) {
        ferry_i_text_addf(o, "     -%54s %s%s\n", "", w->reason ? "not tried: " : "",
                          w->reason      ? w->reason
                          : w->leaks > 0 ? "dropped: its rows are the target's own (a leak)"
                                         : "not reached: no view in common");
        return;
    }
    ferry_i_text_addf(o, "  %5.2f +- %.2f", w->q, w->q_sd);
    add_number(o, 14, w->source_kappa);
    add_number(o, 20, w->bridge_reliability);
    add_number(o, 13, w->reliability);
    if (s->labels > 0)
        ferry_i_text_addf(o, "  %lld of %lld right", (long long)w->hits,
                          (long long)s->labels);
    ferry_i_text_addf(o, "%s%s", w->recommended ? "  recommended" : "",
                      labels_deny(s->classes, s->labels, w->hits) ? "  denied by the labels"
                      : w->below                                  ? "  below the floor"
                      : w->tied                                   ? "  tied with the first"
                                                                  : "");
    if (w->leaks > 0)
        ferry_i_text_addf(o, "  less %lld rows that are the target's own",
                          (long long)w->leaks);
    ferry_i_text_add(o, "\n");
}

/* What to do, in sentences. */
static void add_advice(const ferry_selection *s, ferry_text *o)
{
    int64_t bridges = 0;

    if (s->rows == 0) {
        ferry_i_text_add(
            o,
            "No way is reached: some domain shares no feature with the next, or all its rows are the "
            "target's own. Name their "
            "views alike, or say same_as: in the task file; ferry advise shows "
            "what is taken for the same features.\n");
        return;
    }
    if (!s->told && s->against >= 0) {
        ferry_text one = {0}, other = {0};
        way_name(&s->way[0], &one);
        way_name(&s->way[s->against], &other);
        o->failed = o->failed || one.failed || other.failed;
        ferry_i_text_addf(o,
                          "Cannot tell: %s and %s give the target opposite classes (kappa "
                          "%.2f); on one of the two the names are swapped. Nothing is "
                          "recommended; 5 to 10 labels of the target tell which.\n",
                          one.s ? one.s : "", other.s ? other.s : "", s->opposite);
        ferry_i_text_free(&one);
        ferry_i_text_free(&other);
        return;
    }
    if (!s->told) {
        ferry_i_text_addf(
            o,
            "Cannot tell: no candidate's labels repeat (the best q%s is %.2f, "
            "chance gives %lld rows up to %.2f). Nothing is recommended.\n",
            s->labels < SELECT_FEW ? "" : " that the labels do not deny", s->best,
            (long long)s->rows, s->floor);
        return;
    }
    if (s->confirmed)
        ferry_i_text_addf(
            o,
            "No candidate's labels repeat (the best q is %.2f, chance gives "
            "%lld rows up to %.2f), but the first way gets more of the labels "
            "right than chance would.\n",
            s->best, (long long)s->rows, s->floor);
    for (int64_t i = 0; i < s->n; i++)
        bridges += s->way[i].recommended ? s->way[i].n : 0;
    if (bridges == 0)
        ferry_i_text_add(o, "Recommended: no bridge; source and target share features.\n");
    for (int64_t i = 0, k = 0; i < s->n; i++)
        for (int64_t d = 0; s->way[i].recommended && d < s->way[i].n; d++, k++)
            ferry_i_text_addf(o, "%s%s", k == 0 ? "Recommended: " : ", ",
                              s->way[i].domain[d]);
    if (bridges > 0)
        ferry_i_text_addf(
            o, "%s.\n",
            bridges == 1 ? "" : ", in this order, as intermediate domains of one run");
    if (s->lines[0])
        ferry_i_text_addf(
            o, "In the task file, in place of all intermediate domains:\n\n%s\n", s->lines);
    ferry_i_text_addf(
        o,
        "q measures how well labels repeat: classes that arrive under swapped "
        "names repeat too; %s.\n",
        s->labels > 0 ? "the target's labels, where shown, check that"
                      : "5 to 10 labels of the target check that");
}

void ferry_i_select_trial_table(const ferry_selection *s, ferry_text *o)
{
    const int width = name_width(s);

    ferry_i_text_addf(o, "%s: ways to '%s' by trial, %lld candidate%s, %lld rows", s->task,
                      s->target, (long long)s->candidates, s->candidates == 1 ? "" : "s",
                      (long long)s->rows);
    if (s->labels > 0) ferry_i_text_addf(o, ", %lld labels shown", (long long)s->labels);
    ferry_i_text_addf(
        o, "\n\nrank  %-*s        q        source_kappa  bridge_reliability  reliability\n",
        width, "way");
    for (int64_t i = 0; i < s->n; i++)
        if (s->way[i].reached || s->way[i].n < 2) add_way(s, i, width, o);
    ferry_i_text_add(o, "\n");
    add_advice(s, o);
}

/* ---- JSON ---- */

/* JSON has no NaN: null. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *way_json(const ferry_selection *s, const ferry_way *w)
{
    json_t *via = json_array();

    for (int64_t i = 0; i < w->n; i++)
        (void)json_array_append_new(via, json_string(w->domain[i]));
    return json_pack(
        "{s:s, s:o, s:s, s:b, s:s?, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:b, s:b, s:b, s:b}",
        "source", w->source, "via", via, "target", w->target, "reached", w->reached,
        "reason", w->reason, "q", number(w->q), "q_sd", number(w->q_sd), "source_kappa",
        number(w->source_kappa), "bridge_reliability", number(w->bridge_reliability),
        "reliability", number(w->reliability), "hits", (json_int_t)w->hits, "leaks",
        (json_int_t)w->leaks, "below_floor", w->below, "denied",
        w->reached && labels_deny(s->classes, s->labels, w->hits), "tied", w->tied,
        "recommended", w->recommended);
}

json_t *ferry_i_select_trial_json(const ferry_selection *s)
{
    json_t *ways = json_array(), *names = json_array();

    for (int64_t i = 0; i < s->n; i++) {
        (void)json_array_append_new(ways, way_json(s, &s->way[i]));
        for (int64_t k = 0; s->way[i].recommended && k < s->way[i].n; k++)
            (void)json_array_append_new(names, json_string(s->way[i].domain[k]));
    }
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:b, s:b, s:o, s:o, s:s?, s:o}", "ferry",
        ferry_version(), "by", "trial", "task", s->task, "target", s->target, "rows",
        (json_int_t)s->rows, "labels", (json_int_t)s->labels, "floor", number(s->floor),
        "told", s->told, "confirmed", s->confirmed, "opposed_by",
        s->against < 0 ? json_null() : json_integer(s->against + 1), "recommended", names,
        "lines", s->lines[0] ? s->lines : NULL, "ways", ways);
}
