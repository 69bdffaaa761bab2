/* From a task to numbers (prepare.h).
 * The steps of prepare(): the plan (plan.c) says which domains and columns there are;
 * fit_scales learns one scaler a space; make_frames derives from these how the target's
 * views, and so new data, are read; all_rows sends the wanted domains through them
 * (rows.c). */
#include "prepare/prepare.h"

#include <stdio.h>
#include <string.h>

#include "prepare/plan.h"

/* ---- a task for all methods ---- */

ferry_split *split_of(scope *s, const ferry_task *task)
{
    ferry_split *split = NEW(s, ferry_split, 1);

    *split = (ferry_split){.task = task, .keep = scope_within(s)};
    return split;
}

const ferry_lineup *split_lineup(scope *s, ferry_split *split)
{
    (void)s;
    if (!split->lineup) split->lineup = lineup_find(split->keep, split->task);
    return split->lineup;
}

/* ---- what new data needs ---- */

/* Each frame has a scaler of its own, copied from its space's. */
ferry_prepared *prepared_keep(scope *keep, const ferry_prepared *p)
{
    ferry_prepared *to = NEW(keep, ferry_prepared, 1);

    *to = (ferry_prepared){.wants = p->wants,
                           .goal = p->goal,
                           .k = p->k,
                           .n_frames = p->n_frames,
                           .frame = COPY(keep, p->frame, p->n_frames),
                           .dense = p->dense};
    for (int64_t v = 0; v < p->n_frames; v++) {
        ferry_frame *f = &to->frame[v];
        f->scale = scaler_take(keep, f->scale, f->width, NULL);
        if (f->map) f->map = COPY(keep, f->map, f->width);
    }
    return to;
}

/* Frames stand one behind the other, so the last one's end is the width of all. */
int64_t prepared_width(const ferry_prepared *p)
{
    const ferry_frame *last = &p->frame[p->n_frames - 1];

    return last->begin + last->cols;
}

/* Frame v of the target is space v: groups are numbered by the target's views first
 * (links.h). */
int64_t prepared_column(const ferry_prepared *p, int64_t j)
{
    int64_t v = p->n_frames - 1;

    while (v > 0 && p->frame[v].begin > j)
        v--;
    return p->space[v].begin + j - p->frame[v].begin;
}

const ferry_rows *prepared_target(const ferry_prepared *p)
{
    return &p->rows[p->n_rows - 1];
}

/* ---- scales ---- */

/* The rule's choice would go below 0 where the method must not. */
static bool must_be_roots(const ferry_prepared *p, const ferry_space *s)
{
    const ferry_scale k = s->scale->kind;

    return p->wants.positive == FERRY_POSITIVE && p->wants.scale == FERRY_SCALE_AUTO &&
           !s->facts.neg && s->facts.far == 0 &&
           (k == FERRY_SCALE_STANDARD || k == FERRY_SCALE_COMMON);
}

/* A column whose digits are used up by where it lies: nothing can be learned from it. */
static void warn_of_lost(ferry_ctx *ctx, const ferry_space *s)
{
    const ferry_scale_facts *f = &s->facts;
    const ferry_scale k = s->scale->kind;
    char number[32], more[64] = "";

    if (f->lost == 0 || (k != FERRY_SCALE_STANDARD && k != FERRY_SCALE_COMMON)) return;
    (void)snprintf(number, sizeof number, "%lld", (long long)f->lost_at + 1);
    if (f->lost > 1)
        (void)snprintf(more, sizeof more, " (and %lld more)", (long long)f->lost - 1);
    ferry_i_warn_once(
        ctx,
        "view '%s': the values of feature '%s'%s, around %g, differ by no more than "
        "the rounding of such numbers: it counts as constant; if its values differ, "
        "take off what they have in common before they are written",
        s->name, s->features ? ferry_i_ids_at(s->features, f->lost_at) : number, more,
        f->lost_mean);
}

/* Whether rows are brought to length 1 or divided by their sum, although the columns of a table may each have a unit of
 * their own. Words and histograms have one unit for all. */
static bool adds_up(const ferry_prepared *p, const ferry_space *s)
{
    return s->scale->dense && (s->scale->kind == FERRY_SCALE_L2 ||
                               p->wants.scale == FERRY_SCALE_NEAR || s->forced);
}

/* A method that adds up the columns of a row takes them in their units and from their zeros: where these differ that
 * decides, and another unit gives another answer. Published methods that take features as they are do so always. */
static void warn_of_units(scope *s, const ferry_prepared *p, const ferry_space *of)
{
    enum { UNITS = 10 };
    const ferry_scale_facts *f = &of->facts;
    const char *what = NULL;

    if (p->wants.published && p->wants.scale == FERRY_SCALE_NONE && of->scale->dense)
        ferry_i_warn_once(
            scope_ctx(s),
            "%s: features of view '%s' count as they are, as published: their unit and "
            "their zero decide how much (rows have a length of %.3g, deviations of columns "
            "differ by a factor of %.3g); `scale: standard` takes both off",
            p->wants.method, of->name, f->length, f->units);
    if (!adds_up(p, of)) return;
    if (f->far > 0)
        what = scope_text(s, "%lld of its %lld columns lie far from 0", (long long)f->far,
                          (long long)f->d);
    else if (f->still > 0)
        what = scope_text(s, "%lld of its %lld columns have one value that is not 0",
                          (long long)f->still, (long long)f->d);
    else if (f->units > UNITS)
        what =
            scope_text(s, "deviations of its columns differ by a factor of %.3g", f->units);
    if (what) /* one line for all such methods of a run */
        ferry_i_warn_once(
            scope_ctx(s),
            "view '%s': %s. Methods that bring rows to length 1, or divide them by their "
            "sum, take that as it is, and another unit or zero gives another answer: "
            "standardise the columns (`scale: standard`) unless it is meant",
            of->name, what);
}

typedef struct scaling {
    scope *keep;
    const ferry_plan *plan;
    ferry_prepared *p;
    int64_t g;
} scaling;

/* Of the rows of a view; NULL: 1. */
static const double *weights_of(scope *s, const ferry_domain *d, const ferry_view *v)
{
    if (!d->weight) return NULL;
    double *weight = NEW(s, double, v->x->rows);
    for (int64_t i = 0; i < v->x->rows; i++)
        weight[i] = ferry_i_weight_of(d, v->instance[i]);
    return weight;
}

/* One scaler, from the rows of every domain that has the view. */
static void fit_space(scope *s, void *arg)
{
    const scaling *a = arg;
    const ferry_lineup *l = a->plan->of;
    ferry_prepared *p = a->p;
    ferry_space *to = &p->space[a->g];
    ferry_scale_part *part = NEW(s, ferry_scale_part, l->n);
    int64_t n = 0;

    for (int64_t d = 0; d < l->n; d++)
        for (int64_t v = 0; v < l->domain[d]->n_views; v++)
            if (l->links->group[d][v] == a->g)
                part[n++] =
                    (ferry_scale_part){l->domain[d]->views[v]->x, l->map[d][v],
                                       weights_of(s, l->domain[d], l->domain[d]->views[v])};
    to->scale =
        scaler_fit(s, a->keep, (ferry_scale)p->wants.scale, to->cols, n, part, &to->facts);
    to->forced = must_be_roots(p, to);
    if (to->forced)
        to->scale = scaler_fit(s, a->keep, FERRY_SCALE_ROOTS, to->cols, n, part, NULL);
}

/* Whether some delivered rows, or new data, need space g: the others cost nothing. */
static bool is_needed(const ferry_prepared *p, const ferry_plan *plan, int64_t g)
{
    if (p->wants.layout == FERRY_PATH || g < plan->of->domain[plan->of->n - 1]->n_views)
        return true;
    for (int64_t d = 0; p->wants.layout == FERRY_APART && d < plan->of->n; d++) {
        const bool rows = plan->wanted[d] || p->wants.embeds;
        if (rows && links_view(p->links, d, g)) return true;
    }
    return false;
}

/* What fails there is said of the view. */
static void fit_scales(scope *s, scope *keep, const ferry_plan *plan, ferry_prepared *p)
{
    for (int64_t g = 0; g < p->n_spaces; g++) {
        if (!is_needed(p, plan, g)) continue;
        const ferry_status st = scope_try(s, keep, fit_space, &(scaling){keep, plan, p, g});
        if (st == FERRY_ENUMERIC)
            (void)ferry_i_prefix(scope_ctx(s), st, "%s: view '%s'", p->wants.method,
                                 p->space[g].name);
        scope_check(s, st);
    }
}

/* ---- the frame: how new data is read ---- */

/* Leave out the columns that nobody shares.
 * used is by column of the space, f->map by column of the view. No map when all are used.
 */
static void keep_used(scope *s, const uint8_t *used, const int32_t *map, ferry_frame *f)
{
    int32_t n = 0;

    for (int64_t j = 0; j < f->width; j++)
        n += used[map[j]];
    if (n == f->width) return;
    f->cols = n;
    n = 0;
    f->map = NEW(s, int32_t, f->width);
    for (int64_t j = 0; j < f->width; j++)
        f->map[j] = used[map[j]] ? n++ : -1;
}

/* View v of domain d as the next frame. JOINED is dense only if all of its views are. New
 * data has the target's columns alone: the space's scaler has the union of all domains',
 * and would not fit once names are forgotten. */
static void add_frame(scope *s, const ferry_plan *plan, int64_t d, int64_t v,
                      ferry_prepared *p)
{
    const ferry_lineup *l = plan->of;
    ferry_frame *f = &p->frame[p->n_frames];
    const int64_t g = l->links->group[d][v];

    f->begin = p->n_frames ? f[-1].begin + f[-1].cols : 0;
    f->width = f->cols = l->domain[d]->views[v]->x->cols;
    f->scale = scaler_take(s, p->space[g].scale, f->width, l->map[d][v]);
    if (plan->used) keep_used(s, plan->used[g], l->map[d][v], f);
    p->dense = p->dense && f->scale->dense;
    p->n_frames++;
}

/* The target's views; for methods that embed sources too, the first view of each source
 * after them, in the order in which the model lists them (fit.c). */
static void make_frames(scope *s, const ferry_plan *plan, ferry_prepared *p)
{
    const ferry_lineup *l = plan->of;
    const int64_t t = l->n - 1, views = l->domain[t]->n_views;

    p->frame = NEW(s, ferry_frame, views + l->n);
    p->dense = p->wants.layout == FERRY_JOINED;
    for (int64_t v = 0; v < views; v++)
        add_frame(s, plan, t, v, p);
    for (int64_t d = 0; p->wants.embeds && d < l->n; d++)
        if (l->domain[d]->role == FERRY_SOURCE && l->domain[d]->n_views > 0)
            add_frame(s, plan, d, 0, p);
}

/* ---- rows ---- */

/* Where the columns of a domain's view go: `to` gets the column of the result (-1: none),
 * `map` that of the scaler (-1: not even looked at). */
static void aim(const ferry_prepared *p, int64_t g, int64_t cols, const int32_t *space,
                int32_t *map, int32_t *to)
{
    const ferry_frame *f = p->wants.layout == FERRY_JOINED ? &p->frame[g] : NULL;

    for (int64_t j = 0; j < cols; j++) {
        int32_t at = space[j];
        if (f && at >= f->width) at = -1; /* the target does not have it */
        if (f && at >= 0 && f->map) at = f->map[at];
        map[j] = at < 0 ? -1 : space[j];
        to[j] = at;
    }
}

/* One map for each view of the target (JOINED), of the domain (APART), each space (PATH).
 * The target's columns are the first of their spaces, in order, so that columns of a space
 * are columns of the target. */
static ferry_rows make_rows(scope *s, scope *keep, const ferry_plan *plan, int64_t d,
                            ferry_prepared *p)
{
    const ferry_lineup *at = plan->of;
    const ferry_domain *domain = at->domain[d];
    const ferry_layout as = p->wants.layout;
    const int64_t n = as == FERRY_APART    ? domain->n_views
                      : as == FERRY_JOINED ? p->n_frames
                                           : p->n_spaces;
    const int64_t mark = scope_mark(s);
    column_map *by = NEW(s, column_map, n);

    /* Those without a view first: what this domain lacks becomes empty columns. */
    for (int64_t l = 0; l < n && as != FERRY_APART; l++)
        by[l] =
            (column_map){.scale = p->space[l].scale,
                         .cols = as == FERRY_JOINED ? p->frame[l].cols : p->space[l].cols};
    for (int64_t v = 0; v < domain->n_views; v++) {
        const int64_t g = at->links->group[d][v], cols = domain->views[v]->x->cols;
        if (as == FERRY_APART) {
            by[v] = (column_map){.view = domain->views[v],
                                 .scale = p->space[g].scale,
                                 .map = at->map[d][v],
                                 .cols = cols};
        } else if (g < n) {
            /* Two maps in one piece: to the scaler's columns, and to those of the result.
             * In JOINED, groups beyond the target's views have no place and are passed
             * over. */
            int32_t *map = NEW(s, int32_t, 2 * cols);
            aim(p, g, cols, at->map[d][v], map, map + cols);
            by[g].view = domain->views[v];
            by[g].map = map;
            by[g].to = map + cols;
        }
    }
    ferry_rows r = rows_make(s, keep, p, domain, n, by, true);
    rows_label(keep, p, &r);
    r.has = NEW(keep, uint8_t, p->n_spaces);
    for (int64_t v = 0; v < domain->n_views; v++)
        r.has[at->links->group[d][v]] = 1;
    scope_release(s, mark);
    return r;
}

/* In the order of the plan: sources, bridges, target. The target is the last, when
 * wanted. */
static void all_rows(scope *s, scope *keep, const ferry_plan *plan, ferry_prepared *p)
{
    p->rows = NEW(keep, ferry_rows, plan->of->n);
    for (int64_t d = 0; d < plan->of->n; d++) {
        if (!plan->wanted[d]) continue;
        p->n_sources += plan->of->domain[d]->role == FERRY_SOURCE;
        p->rows[p->n_rows++] = make_rows(s, keep, plan, d, p);
    }
}

/* The same maps from the frames instead of the spaces. Also works for what a model keeps
 * and after loading, since it reads nothing but the frames and what is saved with them. */
ferry_rows prepare_rows(scope *s, const ferry_prepared *p, const ferry_domain *d,
                        bool spread, bool borrow)
{
    ferry_prepared asked = *p; /* labels of new data are what is asked for */
    column_map *by = NEW(s, column_map, p->n_frames);

    asked.wants.labelled = asked.wants.keeps = false;
    asked.wants.borrow = borrow;
    if (d->n_views != p->n_frames)
        scope_fail(s, FERRY_EDATA, "the model has %lld views, domain '%s' %lld",
                   (long long)p->n_frames, d->name, (long long)d->n_views);
    for (int64_t v = 0; v < p->n_frames; v++) {
        const ferry_frame *f = &p->frame[v];
        int32_t *map = NULL;
        if (d->views[v]->x->cols != f->width)
            scope_fail(s, FERRY_EDATA, "view '%s' has %lld features, the model's %lld",
                       d->views[v]->name, (long long)d->views[v]->x->cols,
                       (long long)f->width);
        if (f->map) { /* columns that are left out are not looked at, either */
            map = NEW(s, int32_t, f->width);
            for (int64_t j = 0; j < f->width; j++)
                map[j] = f->map[j] < 0 ? -1 : (int32_t)j;
        }
        by[v] = (column_map){.view = d->views[v],
                             .scale = f->scale,
                             .map = map,
                             .to = f->map,
                             .cols = f->cols};
    }
    return rows_make(s, s, &asked, d, p->n_frames, by, spread);
}

/* ---- all of it ---- */

/* One word where all views were scaled alike, else one for each view. */
static void report_scales(scope *s, const ferry_prepared *p)
{
    ferry_ctx *ctx = scope_ctx(s);
    char scales[256] = ""; /* more views than these say nothing new */
    size_t at = 0;
    bool one = true;

    for (int64_t g = 0; g < p->n_spaces; g++)
        if (p->space[g].scale)
            ferry_i_log(ctx, FERRY_INFO, "%s: view '%s': %lld features, scale=%s",
                        p->wants.method, p->space[g].name, (long long)p->space[g].cols,
                        ferry_i_scale_name(p->space[g].scale->kind));
    for (int64_t v = 1; v < p->n_frames; v++)
        one = one && p->frame[v].scale->kind == p->frame[0].scale->kind;
    for (int64_t v = 0; v < (one ? 1 : p->n_frames) && at < sizeof scales; v++)
        at += (size_t)snprintf(scales + at, sizeof scales - at, "%s%s", v ? ", " : "",
                               ferry_i_scale_name(p->frame[v].scale->kind));
    report_text(s, "scale", scales);
    if (p->links->text[0]) report_text(s, "links", p->links->text);
}

/* "uses source.a = bridge.a, bridge.b = target.b; labels: source 400, target 9": what this
 * method asks for, where views that lie in the same columns are joined by "=". Advice hears it. */
static void report_uses(scope *s, const ferry_plan *plan, const ferry_prepared *p)
{
    ferry_ctx *ctx = scope_ctx(s);
    const ferry_lineup *l = plan->of;
    const bool apart = p->wants.layout == FERRY_APART;
    const int64_t groups =
        p->wants.layout == FERRY_JOINED ? l->domain[l->n - 1]->n_views : p->links->n_groups;
    const char *all = "", *between = "";

    if (!ctx->log || ctx->log_least > FERRY_INFO) return;
    for (int64_t g = 0; g < groups; g++, between = ", ")
        for (int64_t d = 0; d < l->n; d++) {
            const ferry_view *v = links_view(p->links, d, g);
            if (!v || !plan->wanted[d]) continue;
            all = scope_text(s, "%s%s%s.%s", all, between, l->domain[d]->name, v->name);
            between = apart ? ", " : " = ";
        }
    between = "; labels: ";
    for (int64_t d = 0; d < l->n; d++) {
        const int64_t n = ferry_domain_labels(l->domain[d]);
        if (!plan->wanted[d] || n == 0 ||
            (p->goal == FERRY_EMBED && !p->wants.labelled_sources))
            continue;
        all = scope_text(s, "%s%s%s %lld", all, between, l->domain[d]->name, (long long)n);
        between = ", ";
    }
    if (all[0]) ferry_i_log(ctx, FERRY_INFO, "%s: uses %s", p->wants.method, all);
}

/* The plan alone tells whether there is enough: no values are read, which makes it cheap
 * enough to ask for every method before a run. */
void prepare_fits(scope *s, ferry_split *split, const ferry_wants *w)
{
    (void)plan_make(s, split, w);
}

ferry_prepared *prepare(scope *s, ferry_split *split, const ferry_wants *w)
{
    scope *keep = split->keep;
    ferry_prepared *p = NEW(keep, ferry_prepared, 1);
    const ferry_plan plan = plan_make(s, split, w);
    const ferry_lineup *l = plan.of;
    int64_t delivered = 0;

    *p = (ferry_prepared){
        .wants = *w,
        .goal = split->task->goal,
        .k = split->task->goal == FERRY_REGRESS ? 1 : ferry_i_ids_count(split->task->names),
        .n_spaces = l->n_spaces,
        .cols = l->cols,
        .space = COPY(keep, l->space, l->n_spaces),
        .links = l->links};
    for (int64_t d = 0; d < l->n; d++)
        delivered += plan.wanted[d];
    if (delivered != 1 || w->layout != FERRY_JOINED) p->wants.borrow = false;
    report_uses(s, &plan, p);
    fit_scales(s, keep, &plan, p);
    for (int64_t g = 0; g < p->n_spaces; g++)
        if (p->space[g].scale) {
            warn_of_lost(scope_ctx(s), &p->space[g]);
            warn_of_units(s, p, &p->space[g]);
        }
    make_frames(keep, &plan, p);
    all_rows(s, keep, &plan, p);
    report_scales(s, p);
    p->wants.borrow = false; /* new data come as a copy, unless asked for otherwise */
    return p;
}
