/* From a task to numbers (prepare.h).
 * The steps of ferry_i_prepare: the plan (plan.c) says which domains and columns there
 * are; fit_scales learns one scaler a space; make_frame derives from these how the
 * target's views, and so new data, are read; all_rows sends the wanted domains through
 * them (rows.c). */
#include "prepare/prepare.h"

#include <stdio.h>
#include <string.h>

#include "prepare/plan.h"

/* ---- the life of it ---- */

/* The frames stay: each has a scaler of its own, copied from its space's. */
void ferry_i_prepared_forget(ferry_prepared *p)
{
    for (int64_t i = 0; p->rows && i < p->n_rows; i++)
        ferry_i_rows_clear(&p->rows[i]);
    for (int64_t s = 0; p->space && s < p->n_spaces; s++) {
        ferry_i_ids_free(p->space[s].features);
        ferry_i_scaler_free(p->space[s].scale);
    }
    FERRY_FREE(p->rows, p->space);
    ferry_i_links_free(p->links);
    p->rows = NULL;
    p->space = NULL;
    p->links = NULL;
    p->n_rows = p->n_spaces = p->n_sources = 0;
}

void ferry_i_prepared_free(ferry_prepared *p)
{
    if (!p) return;
    ferry_i_prepared_forget(p);
    for (int64_t v = 0; p->frame && v < p->n_frames; v++) {
        ferry_i_free(p->frame[v].map);
        ferry_i_scaler_free(p->frame[v].scale);
    }
    FERRY_FREE(p->frame, p);
}

/* Frames stand one behind the other, so the last one's end is the width of all. */
int64_t ferry_i_prepared_width(const ferry_prepared *p)
{
    const ferry_frame *last = &p->frame[p->n_frames - 1];

    return last->begin + last->cols;
}

/* Frame v of the target is space v: groups are numbered by the target's views first
 * (links.h). */
int64_t ferry_i_prepared_column(const ferry_prepared *p, int64_t j)
{
    int64_t v = p->n_frames - 1;

    while (v > 0 && p->frame[v].begin > j)
        v--;
    return p->space[v].begin + j - p->frame[v].begin;
}

const ferry_rows *ferry_i_prepared_target(const ferry_prepared *p)
{
    return &p->rows[p->n_rows - 1];
}

const char *ferry_i_prepared_links(const ferry_prepared *p)
{
    return p->links ? p->links->text : "";
}

/* ---- scales ---- */

/* The rule's choice would go below 0 where the method must not. */
static bool must_be_roots(const ferry_prepared *p, const ferry_space *s)
{
    const ferry_scale k = s->scale->kind;

    return p->wants.positive == FERRY_POSITIVE && p->wants.scale == FERRY_SCALE_AUTO &&
           !s->facts.neg && (k == FERRY_SCALE_STANDARD || k == FERRY_SCALE_COMMON);
}

/* One scaler, from the rows of every domain that has the view. */
static ferry_status fit_space(ferry_ctx *ctx, const ferry_plan *plan, int64_t g,
                              ferry_prepared *p)
{
    ferry_status st = FERRY_OK;
    ferry_space *s = &p->space[g];
    ferry_scale_part *part = NULL;
    int64_t n = 0;

    FERRY_NEW(ctx, part, plan->n);
    for (int64_t d = 0; d < plan->n; d++)
        for (int64_t v = 0; v < plan->domain[d]->n_views; v++)
            if (p->links->group[d][v] == g)
                part[n++] =
                    (ferry_scale_part){plan->domain[d]->views[v]->x, plan->map[d][v]};
    st = ferry_i_scaler_fit(ctx, (ferry_scale)p->wants.scale, s->cols, n, part, &s->scale,
                            &s->facts);
    if (st == FERRY_OK && must_be_roots(p, s)) {
        ferry_i_scaler_free(s->scale);
        s->scale = NULL;
        st = ferry_i_scaler_fit(ctx, FERRY_SCALE_ROOTS, s->cols, n, part, &s->scale, NULL);
    }
    if (st == FERRY_ENUMERIC)
        st = ferry_i_prefix(ctx, st, "%s: view '%s'", p->wants.method, s->name);
done:
    ferry_i_free(part);
    return st;
}

/* Whether some delivered rows, or new data, need space g: the others cost nothing. */
static bool is_needed(const ferry_prepared *p, const ferry_plan *plan, int64_t g)
{
    if (p->wants.layout == FERRY_PATH || g < plan->domain[plan->n - 1]->n_views)
        return true;
    for (int64_t d = 0; p->wants.layout == FERRY_APART && d < plan->n; d++) {
        const bool rows = plan->wanted[d] || p->wants.embeds;
        if (rows && ferry_i_links_view(p->links, d, g)) return true;
    }
    return false;
}

static ferry_status fit_scales(ferry_ctx *ctx, const ferry_plan *plan, ferry_prepared *p)
{
    ferry_status st = FERRY_OK;

    for (int64_t g = 0; g < p->n_spaces; g++)
        if (is_needed(p, plan, g)) FERRY_TRY(fit_space(ctx, plan, g, p));
done:
    return st;
}

/* ---- the frame: how new data is read ---- */

/* The scaler for the columns of one view, in their own order.
 * New data has the target's columns alone. The space's scaler has the union of all
 * domains', and would not fit once names are forgotten. */
static ferry_status own_scaler(ferry_ctx *ctx, const ferry_scaler *s, int64_t width,
                               const int32_t *map, ferry_scaler **out)
{
    ferry_status st = FERRY_OK;
    ferry_scaler *own = NULL;

    FERRY_TRY(ferry_i_scaler_new(ctx, s->kind, width, out));
    own = *out;
    own->dense = s->dense;
    own->counts = s->counts;
    own->rows = s->rows;
    own->complete = s->complete;
    if (s->shift) FERRY_NEW(ctx, own->shift, width);
    if (s->factor) FERRY_NEW(ctx, own->factor, width);
    for (int64_t j = 0; j < width; j++) {
        own->fill[j] = s->fill[map[j]];
        if (s->shift) own->shift[j] = s->shift[map[j]];
        if (s->factor) own->factor[j] = s->factor[map[j]];
    }
done:
    return st;
}

/* Leave out the columns that nobody shares.
 * used is by column of the space, f->map by column of the view. No map when all are used.
 */
static ferry_status keep_used(ferry_ctx *ctx, const uint8_t *used, const int32_t *map,
                              ferry_frame *f)
{
    ferry_status st = FERRY_OK;
    int32_t n = 0;

    for (int64_t j = 0; j < f->width; j++)
        n += used[map[j]];
    if (n == f->width) goto done;
    f->cols = n;
    n = 0;
    FERRY_NEW(ctx, f->map, f->width);
    for (int64_t j = 0; j < f->width; j++)
        f->map[j] = used[map[j]] ? n++ : -1;
done:
    return st;
}

/* View v of domain d as the next frame. JOINED is dense only if all of its views are. */
static ferry_status add_frame(ferry_ctx *ctx, const ferry_plan *plan, int64_t d, int64_t v,
                              ferry_prepared *p)
{
    ferry_status st = FERRY_OK;
    ferry_frame *f = &p->frame[p->n_frames];
    const int64_t g = p->links->group[d][v];

    f->begin = p->n_frames ? f[-1].begin + f[-1].cols : 0;
    f->width = f->cols = plan->domain[d]->views[v]->x->cols;
    p->n_frames++;
    FERRY_TRY(own_scaler(ctx, p->space[g].scale, f->width, plan->map[d][v], &f->scale));
    if (plan->used) FERRY_TRY(keep_used(ctx, plan->used[g], plan->map[d][v], f));
    p->dense = p->dense && f->scale->dense;
done:
    return st;
}

/* The target's views; for methods that embed sources too, the first view of each source
 * after them, in the order in which the model lists them (fit.c). */
static ferry_status make_frame(ferry_ctx *ctx, const ferry_plan *plan, ferry_prepared *p)
{
    ferry_status st = FERRY_OK;
    const int64_t t = plan->n - 1, views = plan->domain[t]->n_views;

    FERRY_NEW(ctx, p->frame, views + plan->n);
    p->dense = p->wants.layout == FERRY_JOINED;
    for (int64_t v = 0; v < views; v++)
        FERRY_TRY(add_frame(ctx, plan, t, v, p));
    for (int64_t d = 0; p->wants.embeds && d < plan->n; d++)
        if (plan->domain[d]->role == FERRY_SOURCE && plan->domain[d]->n_views > 0)
            FERRY_TRY(add_frame(ctx, plan, d, 0, p));
done:
    return st;
}

/* ---- rows ---- */

/* Where the columns of a domain's view go: `to` gets the column of the lane (-1: none),
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

/* One lane for each view of the target (JOINED), of the domain (APART), each space (PATH).
 * The target's columns are the first of their spaces, in order, so that columns of a space
 * are columns of the target. */
static ferry_status make_rows(ferry_ctx *ctx, const ferry_plan *plan, int64_t d,
                              ferry_prepared *p, ferry_rows *out)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *domain = plan->domain[d];
    const ferry_layout layout = p->wants.layout;
    const int64_t n = layout == FERRY_APART    ? domain->n_views
                      : layout == FERRY_JOINED ? p->n_frames
                                               : p->n_spaces;
    ferry_lane *lane = NULL;
    int32_t **map = NULL;

    FERRY_NEW(ctx, lane, n);
    FERRY_NEW(ctx, map, domain->n_views);
    /* Lanes without a view first: what this domain lacks becomes empty columns. */
    for (int64_t l = 0; l < n && layout != FERRY_APART; l++)
        lane[l] = (ferry_lane){.scale = p->space[l].scale,
                               .cols = layout == FERRY_JOINED ? p->frame[l].cols
                                                              : p->space[l].cols};
    for (int64_t v = 0; v < domain->n_views; v++) {
        const int64_t g = p->links->group[d][v], cols = domain->views[v]->x->cols;
        if (layout == FERRY_APART) {
            lane[v] = (ferry_lane){.view = domain->views[v],
                                   .scale = p->space[g].scale,
                                   .map = plan->map[d][v],
                                   .cols = cols};
        } else if (g < n) {
            /* Two maps in one piece: to the scaler's columns, and to those of the lane.
             * In JOINED, groups beyond the target's views have no lane and are passed
             * over. */
            FERRY_NEW(ctx, map[v], 2 * cols);
            aim(p, g, cols, plan->map[d][v], map[v], map[v] + cols);
            lane[g].view = domain->views[v];
            lane[g].map = map[v];
            lane[g].to = map[v] + cols;
        }
    }
    FERRY_TRY(ferry_i_rows_make(ctx, p, domain, n, lane, true, out));
    FERRY_TRY(ferry_i_rows_label(ctx, p, out));
    FERRY_NEW(ctx, out->has, p->n_spaces);
    for (int64_t v = 0; v < domain->n_views; v++)
        out->has[p->links->group[d][v]] = 1;
done:
    for (int64_t v = 0; map && v < domain->n_views; v++)
        ferry_i_free(map[v]);
    FERRY_FREE(map, lane);
    return st;
}

/* In the order of the plan: sources, bridges, target. The target is the last, when
 * wanted. */
static ferry_status all_rows(ferry_ctx *ctx, const ferry_plan *plan, ferry_prepared *p)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, p->rows, plan->n);
    for (int64_t d = 0; d < plan->n; d++) {
        if (!plan->wanted[d]) continue;
        p->n_sources += plan->domain[d]->role == FERRY_SOURCE;
        FERRY_TRY(make_rows(ctx, plan, d, p, &p->rows[p->n_rows++]));
    }
done:
    return st;
}

/* The same lanes from the frames instead of the spaces. Also works after forget() and
 * after loading, since it reads nothing but the frames and what is saved with them. */
static ferry_status from_frames(ferry_ctx *ctx, const ferry_prepared *p,
                                const ferry_domain *d, bool spread, bool lend,
                                ferry_rows *out)
{
    ferry_status st = FERRY_OK;
    ferry_prepared asked = *p; /* labels of new data are what is asked for */
    ferry_lane *lane = NULL;
    int32_t **map = NULL;

    *out = (ferry_rows){0};
    asked.wants.labelled = asked.wants.keeps = false;
    asked.wants.lend = lend;
    FERRY_NEW(ctx, lane, p->n_frames);
    FERRY_NEW(ctx, map, p->n_frames);
    FERRY_NEED(ctx, d->n_views == p->n_frames, FERRY_EDATA,
               "the model has %lld views, domain '%s' %lld", (long long)p->n_frames,
               d->name, (long long)d->n_views);
    for (int64_t v = 0; v < p->n_frames; v++) {
        const ferry_frame *f = &p->frame[v];
        FERRY_NEED(ctx, d->views[v]->x->cols == f->width, FERRY_EDATA,
                   "view '%s' has %lld features, the model's %lld", d->views[v]->name,
                   (long long)d->views[v]->x->cols, (long long)f->width);
        if (f->map) { /* columns that are left out are not looked at, either */
            FERRY_NEW(ctx, map[v], f->width);
            for (int64_t j = 0; j < f->width; j++)
                map[v][j] = f->map[j] < 0 ? -1 : (int32_t)j;
        }
        lane[v] = (ferry_lane){.view = d->views[v],
                               .scale = f->scale,
                               .map = map[v],
                               .to = f->map,
                               .cols = f->cols};
    }
    FERRY_TRY(ferry_i_rows_make(ctx, &asked, d, p->n_frames, lane, spread, out));
done:
    for (int64_t v = 0; map && v < p->n_frames; v++)
        ferry_i_free(map[v]);
    FERRY_FREE(map, lane);
    return st;
}

ferry_status ferry_i_prepare_rows(ferry_ctx *ctx, const ferry_prepared *p,
                                  const ferry_domain *d, ferry_rows *out)
{
    return from_frames(ctx, p, d, false, false, out);
}

ferry_status ferry_i_prepare_part(ferry_ctx *ctx, const ferry_prepared *p,
                                  const ferry_domain *d, ferry_rows *out)
{
    return from_frames(ctx, p, d, true, false, out);
}

ferry_status ferry_i_prepare_part_lent(ferry_ctx *ctx, const ferry_prepared *p,
                                       const ferry_domain *d, ferry_rows *out)
{
    return from_frames(ctx, p, d, true, true, out);
}

/* ---- all of it ---- */

/* One word where all views were scaled alike, else one for each view. */
static void tell(ferry_ctx *ctx, const ferry_prepared *p)
{
    char scales[256] = ""; /* more views than these say nothing new */
    size_t at = 0;
    bool one = true;

    for (int64_t s = 0; s < p->n_spaces; s++)
        if (p->space[s].scale)
            ferry_i_log(ctx, FERRY_INFO, "%s: view '%s': %lld features, scale=%s",
                        p->wants.method, p->space[s].name, (long long)p->space[s].cols,
                        ferry_i_scale_name(p->space[s].scale->kind));
    for (int64_t v = 1; v < p->n_frames; v++)
        one = one && p->frame[v].scale->kind == p->frame[0].scale->kind;
    for (int64_t v = 0; v < (one ? 1 : p->n_frames) && at < sizeof scales; v++)
        at += (size_t)snprintf(scales + at, sizeof scales - at, "%s%s", v ? ", " : "",
                               ferry_i_scale_name(p->frame[v].scale->kind));
    ferry_i_diag_text(ctx, "scale", scales);
    if (p->links->text[0]) ferry_i_diag_text(ctx, "links", p->links->text);
}

/* "uses source.a = bridge.a, bridge.b = target.b; labels: source 400, target 9": what this
 * method asks for, where views that lie in the same columns are joined by "=". Advice hears it. */
static void tell_uses(ferry_ctx *ctx, const ferry_plan *plan, const ferry_prepared *p)
{
    const bool apart = p->wants.layout == FERRY_APART;
    const int64_t groups = p->wants.layout == FERRY_JOINED
                               ? plan->domain[plan->n - 1]->n_views
                               : p->links->n_groups;
    ferry_text one = {0};
    const char *between = "";

    if (!ctx->log || ctx->log_least > FERRY_INFO) return;
    for (int64_t g = 0; g < groups; g++, between = ", ")
        for (int64_t d = 0; d < plan->n; d++) {
            const ferry_view *v = ferry_i_links_view(p->links, d, g);
            if (!v || !plan->wanted[d]) continue;
            ferry_i_text_addf(&one, "%s%s.%s", between, plan->domain[d]->name, v->name);
            between = apart ? ", " : " = ";
        }
    between = "; labels: ";
    for (int64_t d = 0; d < plan->n; d++) {
        const int64_t n = ferry_domain_labels(plan->domain[d]);
        if (!plan->wanted[d] || n == 0 || (p->goal == FERRY_EMBED && !p->wants.taught))
            continue;
        ferry_i_text_addf(&one, "%s%s %lld", between, plan->domain[d]->name, (long long)n);
        between = ", ";
    }
    if (one.s) ferry_i_log(ctx, FERRY_INFO, "%s: uses %s", p->wants.method, one.s);
    ferry_i_text_free(&one);
}

/* What fits and fit have in common. *out is the caller's to free, also when this fails. */
static ferry_status begin(ferry_ctx *ctx, const ferry_task *task, const ferry_wants *w,
                          ferry_plan *plan, ferry_prepared **out)
{
    ferry_status st = FERRY_OK;
    ferry_prepared *p = NULL;

    FERRY_NEW(ctx, p, 1);
    *out = p;
    p->wants = *w;
    p->goal = task->goal;
    p->k = task->goal == FERRY_REGRESS ? 1 : ferry_i_ids_count(task->names);
    FERRY_TRY(ferry_i_prepare_plan(ctx, task, p, plan));
done:
    return st;
}

/* The plan alone tells whether there is enough: no values are read, which makes it cheap
 * enough to ask for every method before a run. */
ferry_status ferry_i_prepare_fits(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_wants *w)
{
    ferry_plan plan = {0};
    ferry_prepared *p = NULL;
    const ferry_status st = begin(ctx, task, w, &plan, &p);

    ferry_i_prepare_plan_clear(&plan);
    ferry_i_prepared_free(p);
    return st;
}

/* The plan is dropped at the end: what is still needed of it is in the frames and rows. */
ferry_status ferry_i_prepare(ferry_ctx *ctx, const ferry_task *task, const ferry_wants *w,
                             ferry_prepared **out)
{
    ferry_status st = FERRY_OK;
    ferry_plan plan = {0};
    ferry_prepared *p = NULL;
    int64_t delivered = 0;

    *out = NULL;
    FERRY_TRY(begin(ctx, task, w, &plan, &p));
    for (int64_t d = 0; d < plan.n; d++)
        delivered += plan.wanted[d];
    if (delivered != 1 || w->layout != FERRY_JOINED) p->wants.lend = false;
    tell_uses(ctx, &plan, p);
    FERRY_TRY(fit_scales(ctx, &plan, p));
    FERRY_TRY(make_frame(ctx, &plan, p));
    FERRY_TRY(all_rows(ctx, &plan, p));
    tell(ctx, p);
    p->wants.lend = false; /* new data come as a copy, unless asked for otherwise */
    FERRY_MOVE(*out, p);
done:
    ferry_i_prepare_plan_clear(&plan);
    ferry_i_prepared_free(p);
    return st;
}

/* ---- several domains as one ---- */

/* Labels of r behind the first n of out. */
static void append_labels(const ferry_prepared *p, const ferry_rows *r, ferry_rows *out,
                          int64_t n)
{
    if (r->n == 0) return;
    if (out->cls) memcpy(out->cls + n, r->cls, (size_t)r->n * sizeof *r->cls);
    if (out->num) memcpy(out->num + n, r->num, (size_t)r->n * sizeof *r->num);
    if (out->on) memcpy(out->on + n * p->k, r->on, (size_t)(r->n * p->k));
}

/* A column is shifted in all domains that have it by the same. */
static ferry_status stack_shifts(ferry_ctx *ctx, ferry_prepared *p, ferry_rows *out)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < p->n_rows; i++) {
        const double *from = p->rows[i].shift[0];
        if (from && !out->shift[0]) FERRY_NEW(ctx, out->shift[0], out->x[0]->cols);
        for (int64_t j = 0; from && j < out->x[0]->cols; j++)
            if (from[j] != 0) out->shift[0][j] = from[j];
    }
done:
    return st;
}

/* One domain is moved as it is. Otherwise `instance`, `domain` and `has` are left empty:
 * a row no longer belongs to one domain. */
ferry_status ferry_i_prepared_stack(ferry_ctx *ctx, ferry_prepared *p, ferry_rows *out)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix **x = NULL;
    int64_t n = 0;

    *out = (ferry_rows){0};
    if (p->n_rows == 1) {
        *out = p->rows[0];
        p->rows[0] = (ferry_rows){0};
        p->n_rows = p->n_sources = 0;
        return FERRY_OK;
    }
    out->n_x = 1;
    FERRY_NEW(ctx, out->x, 1);
    FERRY_NEW(ctx, out->shift, 1);
    FERRY_NEW(ctx, out->there, 1);
    FERRY_NEW(ctx, x, p->n_rows);
    for (int64_t i = 0; i < p->n_rows; i++) {
        x[i] = p->rows[i].x[0];
        out->n += p->rows[i].n;
        out->labelled += p->rows[i].labelled;
        out->whole += p->rows[i].whole;
    }
    /* Labels of all domains one after the other, of the kind that the goal has. */
    if (p->goal == FERRY_REGRESS)
        FERRY_NEW(ctx, out->num, out->n);
    else if (p->goal == FERRY_MULTILABEL)
        FERRY_NEW(ctx, out->on, out->n * p->k);
    else
        FERRY_NEW(ctx, out->cls, out->n);
    for (int64_t i = 0; i < p->n_rows; n += p->rows[i++].n)
        append_labels(p, &p->rows[i], out, n);
    FERRY_TRY(ferry_i_matrix_stack(ctx, p->n_rows, x, &out->x[0]));
    FERRY_TRY(stack_shifts(ctx, p, out));
    for (int64_t i = 0; i < p->n_rows; i++)
        ferry_i_rows_clear(&p->rows[i]);
    p->n_rows = p->n_sources = 0;
done:
    ferry_i_free(x);
    return st;
}
