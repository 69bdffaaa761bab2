/* What the framework does for a method (frame.h). */
#include "methods/frame.h"

#include <math.h>
#include <string.h>

/* ---- options: the method's own, then the common ones ---- */

static const ferry_opt scale_opt[] = {FERRY_OPT_SCALE(common_options)};
static const ferry_opt train_opt[] = {
    FERRY_OPT_ONE_OF(common_options, train, "auto|source|target|both", "auto",
                     "learn from these labels; auto: the target's if it has some")};
static const ferry_opt leaks_opt[] = {
    FERRY_OPT_ONE_OF(common_options, leaks, "drop|keep", "drop",
                     "bridges of several views: instances that are also in the target")};
static const ferry_opt bridge_labels_opt[] = {
    FERRY_OPT_ONE_OF(common_options, bridge_labels, "use|hide", "use",
                     "labels that intermediate domains have; hide: as if they had none")};

/* The learner that a method is; NULL: it has a fit of its own. */
static const learner *learner_of(const method *m)
{
    return m->fit ? NULL : m->by;
}

/* Where the common options begin behind the method's. */
static size_t common_at(const method *m)
{
    const size_t align = sizeof(void *);
    const learner *by = learner_of(m);
    const size_t own = by ? by->options_size : m->options_size;

    return (own + align - 1) / align * align;
}

static const common_options *common_of(const method *m, const void *options)
{
    return (const common_options *)((const char *)options + common_at(m));
}

static void append(ferry_opt *all, int64_t *n, const ferry_opt *some, int64_t count,
                   size_t at)
{
    for (int64_t i = 0; i < count; i++) {
        all[*n] = some[i];
        all[(*n)++].offset += at;
    }
}

/* ---- checks ---- */

static wants wants_with(const method *m, const void *options)
{
    wants w = m->wants;

    if (m->adapt) m->adapt(options, &w);
    return w;
}

void frame_fits(scope *s, const method *m, ferry_split *split, const void *options)
{
    const char *outer = scope_ctx(s)->fitting;
    const wants w = wants_with(m, options);

    scope_ctx(s)->fitting = m->name; /* after a failure the fit's own caller sets it back */
    const problem *shape = problem_shape(s, split, m, &w, common_of(m, options));
    if (w.linked) { /* fails where nothing is shared */
        wants both = w;
        both.shared = true;
        (void)problem_shape(s, split, m, &both, common_of(m, options));
    }
    if (m->fits) m->fits(s, shape, options);
    scope_ctx(s)->fitting = outer;
}

/* ---- fit ---- */

static const table *state_table(const method *m)
{
    return m->by ? m->by->state : m->state;
}

void frame_free(void *state)
{
    fitted *f = state;

    if (!f) return;
    stream_close(f);
    scope_close(f->keep);
    ferry_i_free(f);
}

/* The labels that the method learns from: of all domains that it was given, or of the target. Where domains have
 * columns of their own those of the target, if it has any: a source's numbers may be in another unit. */
static void count_prior(scope *s, const problem *p, fitted *f)
{
    const int64_t k = f->of.classes;
    const bool own = f->m->wants.as == VIEWS_APART && p->n > 0 && target(p)->labelled > 0;
    double all = 0;

    f->prior = NEW(f->keep, double, k);
    for (int i = own ? p->n - 1 : 0; i < p->n; i++) {
        const domain *d = &p->d[i];
        double known = 0;
        for (int64_t r = 0; r < d->n; r++) {
            const double w = d->weight ? d->weight[r] : 1;
            known += (d->y.cls && d->y.cls[r] >= 0) || (d->y.num && !isnan(d->y.num[r])) ||
                             (d->y.on && d->y.on[r * k] != 255)
                         ? w
                         : 0;
            if (d->y.cls && d->y.cls[r] >= 0) f->prior[d->y.cls[r]] += w;
            if (d->y.num && !isnan(d->y.num[r])) f->prior[0] += w * d->y.num[r];
            for (int64_t c = 0; d->y.on && d->y.on[r * k] != 255 && c < k; c++)
                f->prior[c] += w * d->y.on[r * k + c];
        }
        all += d->weight ? sum(s, d->rows, known) : (double)d->labelled;
    }
    if (p->n > 0) sums(s, p->d[0].rows, k, f->prior);
    for (int64_t c = 0; c < k; c++) {
        f->prior[c] = all > 0 ? f->prior[c] / all : 0;
        if (!isfinite(f->prior[c]))
            scope_fail(s, FERRY_ENUMERIC, "the numbers to predict are too large to add up");
    }
}

static void report_training(scope *s, const fitted *f, training on, const problem *p)
{
    double rows = 0;

    for (int i = 0; i < p->n; i++)
        rows += (double)p->d[i].labelled;
    report_text(s, "train", train_name(on));
    report_real(s, "instances", rows);
    ferry_i_log(scope_ctx(s), FERRY_INFO, "%s: train=%s, %lld labelled instances",
                f->m->name, train_name(on), (long long)rows);
    if (f->prepared) report_real(s, "features", (double)f->of.width);
    if (rows == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "%s needs labelled instances with features; train=%s has none",
                   f->m->name, train_name(on));
}

/* What the state's sizes are checked by, when it comes from a file. */
static void set_sizes(fitted *f, int64_t classes)
{
    const ferry_prepared *p = f->prepared;
    int64_t *width = NEW(f->keep, int64_t, p ? p->n_frames : 0);

    for (int64_t v = 0; p && v < p->n_frames; v++)
        width[v] = p->frame[v].cols;
    f->of = (state_sizes){.width = p ? prepared_width(p) : 0,
                          .classes = classes,
                          .views = p ? p->n_frames : 0,
                          .view_width = width};
}

const problem *frame_problem(scope *s, const method *m, ferry_split *split,
                             const void *options)
{
    const wants w = wants_with(m, options);
    const problem *p = problem_make(s, split, m, &w, common_of(m, options));

    if (p->goal == FERRY_CLASSIFY && w.as == CHAIN && p->classes < 2)
        scope_fail(s, FERRY_ENEEDS, "%s needs at least two classes", m->name);
    return p;
}

void frame_fit(scope *s, const method *m, ferry_split *split, const void *options,
               fitted *f)
{
    const wants w = wants_with(m, options);

    f->m = m;
    if (!(f->keep = scope_open(scope_ctx(s)))) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_bind(f->keep, s);
    const problem *p = frame_problem(s, m, split, options);
    if (p->prepared) f->prepared = prepared_keep(f->keep, p->prepared);
    set_sizes(f, p->classes);
    if (w.graphs) f->known = known_keep(s, f->keep, split->task);
    if (w.as != STREAM) count_prior(s, p, f);
    for (int i = 0; i < p->n; i++)
        ((domain *)p->d)[i].prior = f->prior;
    if (w.trains)
        report_training(s, f, train_of(s, split->task, m, common_of(m, options)), p);
    f->state = state_new(f->keep, state_table(m));
    const int64_t mark = scope_mark(s);
    if (m->fit) {
        m->fit(s, f->keep, p, options, f->state);
    } else {
        const examples e = training_examples(s, p);
        m->by->fit(s, f->keep, &e, options, f->state);
    }
    scope_release(s, mark);
    if (w.as == RATINGS) f->rated = catalogue_new(s, f->keep, target(p)->r);
}

/* ---- answers ---- */

typedef struct answering {
    const fitted *f;
    const ferry_domain *d;
    ferry_prediction *p;
} answering;

/* Decide instance i from its k scores; `prior`: from the shares of the labels. */
static void decide(const fitted *f, bool prior, const double *score, int64_t i,
                   ferry_prediction *p)
{
    const int64_t k = f->of.classes;
    const double least = prior ? 0.5 : f->m->by ? f->m->by->least : f->m->least;
    int32_t best = isnan(score[0]) ? -1 : 0;

    if (p->value) p->value[i] = score[0];
    for (int32_t c = 1; best >= 0 && c < k; c++)
        if (score[c] > score[best]) best = c;
    if (p->cls) p->cls[i] = best;
    if (p->score) memcpy(p->score + i * k, score, (size_t)k * sizeof *score);
    if (p->set && !prior && f->m->decide) {
        f->m->decide(f->state, score, p->set + i * k);
        return;
    }
    for (int64_t c = 0; p->set && c < k; c++)
        p->set[i * k + c] = score[c] > least;
}

/* Classes that stand for a group without a name are no answers: their rows tell the group. */
static void take_names(scope *s, const int32_t *group, ferry_prediction *p)
{
    int32_t groups = 0;

    for (int64_t c = 0; c < p->k; c++)
        groups = group[c] > groups ? group[c] : groups;
    if (groups == 0) return;
    p->group = ferry_i_calloc(p->n, sizeof *p->group);
    if (!p->group) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    for (int64_t i = 0; i < p->n; i++) {
        if (p->cls[i] >= 0) p->group[i] = group[p->cls[i]];
        if (p->group[i] > 0) p->cls[i] = -1;
        for (int64_t c = 0; c < p->k; c++)
            if (group[c] > 0) p->score[i * p->k + c] = 0;
    }
}

static domain new_rows(scope *s, const fitted *f, const ferry_domain *of)
{
    const new_data how = {f->m, f->prepared, f->known, f->of.classes};
    domain d = problem_rows(s, &how, of);

    d.prior = f->prior;
    return d;
}

/* Features, or else neighbours, or neither; and a warning where some have none. */
static void tell_basis(scope *s, const fitted *f, const ferry_domain *of, const domain *d,
                       ferry_prediction *p)
{
    uint8_t *mine = NEW(s, uint8_t, d->n);
    int64_t count[3] = {0};

    for (int64_t i = 0; i < d->n; i++) {
        mine[i] = !d->there || d->there[i] ? FERRY_BASIS_VIEWS : FERRY_BASIS_BASE;
        for (int g = 0; mine[i] == FERRY_BASIS_BASE && g < d->n_graphs; g++)
            if (d->graph[g].a.m && row_at(d->graph[g].a, i).n > 0)
                mine[i] = FERRY_BASIS_NEIGHBOURS;
    }
    const uint8_t *all = replicate_items(s, d->rows, d->n, sizeof *mine, mine);
    p->basis = ferry_i_calloc(p->n, sizeof *p->basis);
    if (!p->basis) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    memcpy(p->basis, all, (size_t)p->n);
    /* only those that the caller asked about: the others came along as neighbours */
    const int64_t n = of->asked > 0 ? of->asked : p->n;
    for (int64_t i = 0; i < n; i++)
        count[all[i]]++;
    if (count[FERRY_BASIS_VIEWS] == n) return;
    ferry_i_log(
        scope_ctx(s), FERRY_WARN,
        "%s: of the %lld instances of '%s' %lld are in no view that counts: %lld "
        "get the mean of their neighbours, %lld the base score (column basis)",
        f->m->name, (long long)n, d->name, (long long)(n - count[FERRY_BASIS_VIEWS]),
        (long long)count[FERRY_BASIS_NEIGHBOURS], (long long)count[FERRY_BASIS_BASE]);
}

static void predict_body(scope *s, void *arg)
{
    const answering *a = arg;
    const fitted *f = a->f;
    ferry_prediction *p = a->p;
    const int64_t k = f->of.classes;

    if (!p->value && p->k != k)
        scope_fail(s, FERRY_EDATA, "the model has %lld classes, not %lld", (long long)k,
                   (long long)p->k);
    if (f->rated) {
        rate_predict(s, f, a->d, p);
        return;
    }
    for (int64_t i = 0; i < p->n; i++)
        decide(f, true, f->prior, i, p);
    if (!f->prepared && !f->known) return;
    const domain d = new_rows(s, f, a->d);
    block out = block_new(s, d.rows, d.n, k);
    if (f->m->by)
        f->m->by->scores(s, f->state, d.x, out);
    else
        f->m->scores(s, f->state, &d, out);
    if (f->m->basis) tell_basis(s, f, a->d, &d, p);
    out = replicate(s, out); /* of graphs all instances are rows, in their order */
    for (int64_t i = 0; i < out.n; i++)
        decide(f, false, ROW(out, i), f->known ? i : d.instance[i], p);
    if (f->m->groups) take_names(s, f->m->groups(f->state), p);
}

static ferry_status frame_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                  ferry_prediction *p)
{
    return scope_run(ctx, predict_body, &(answering){state, d, p});
}

/* ---- embeddings ---- */

/* p->score is the coordinates, NaN for instances that have no place. */
static void embed_body(scope *s, void *arg)
{
    const answering *a = arg;
    const fitted *f = a->f;
    ferry_prediction *p = a->p;

    if (!f->m->embed) scope_fail(s, FERRY_ENEEDS, "%s makes no embeddings", f->m->name);
    const domain d = new_rows(s, f, a->d);
    const block z = replicate(s, f->m->embed(s, f->state, &d));
    double *score = ferry_i_calloc(p->n * z.k, sizeof *score);
    if (!score) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    p->k = z.k;
    p->score = score; /* the prediction's from now on */
    for (int64_t e = 0; e < p->n * z.k; e++)
        score[e] = NAN;
    for (int64_t i = 0; i < z.n; i++)
        memcpy(score + (f->known ? i : d.instance[i]) * z.k, ROW(z, i),
               (size_t)z.k * sizeof *score);
}

static ferry_status frame_embed(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                ferry_prediction *p)
{
    return scope_run(ctx, embed_body, &(answering){state, d, p});
}

/* What ferry predict asks for: the graphs, and whose labels are known to neighbours. */
static const ferry_ids *frame_graphs(const void *state)
{
    const known_labels *k = ((const fitted *)state)->known;

    return k ? k->graphs : NULL;
}

static const ferry_ids *frame_known(const void *state)
{
    const known_labels *k = ((const fitted *)state)->known;

    return k && k->n > 0 ? k->ids : NULL;
}

/* ---- the model's file ---- */

typedef struct filing {
    ferry_io *io;
    fitted *f;
} filing;

/* In tables of states of RATINGS the width is the users, the classes are the items. */
static state_sizes sizes_of(const fitted *f)
{
    return f->rated
               ? (state_sizes){.width = f->rated->n_users, .classes = f->rated->n_items}
               : f->of;
}

/* The state with the fields that only a file has. */
static const void *to_save(scope *s, const fitted *f)
{
    const online *o = f->m->online;

    if (!o || !o->pack) return f->state;
    void *packed = scope_copy(s, f->state, 1, f->m->state->size);
    o->pack(s, packed);
    return packed;
}

static void save_body(scope *s, void *arg)
{
    const filing *a = arg;
    const fitted *f = a->f;
    ferry_dict *to = a->io->to;
    ferry_ctx *ctx = scope_ctx(s);
    const bool stream = f->m->wants.as == STREAM;

    if (!stream)
        scope_check(s, ferry_i_dict_put_ints(ctx, to, "classes.n", 1, &f->of.classes));
    if (f->prepared) prepared_save(s, f->prepared, "prepare", to);
    if (!stream)
        scope_check(s,
                    ferry_i_dict_put_reals(ctx, to, "prior", 1, f->of.classes, f->prior));
    if (f->known) state_save(s, &known_table, f->known, f->of, "known", to);
    if (f->rated) state_save(s, &catalogue_table, f->rated, f->of, "", to);
    state_save(s, state_table(f->m), to_save(s, f), sizes_of(f), "", to);
}

/* How many classes there are, how new data is read, the prior. Files of 0.2 have no tensor "classes.n": those of methods
 * that were moved since are not read. */
static void load_head(scope *s, fitted *f, const ferry_dict *from)
{
    ferry_ctx *ctx = scope_ctx(s);
    const int64_t *classes = NULL;
    const double *prior = NULL;
    int64_t one = 1;

    if (!ferry_i_dict_has(from, "classes.n"))
        scope_fail(
            s, FERRY_EDATA,
            "models of %s that Ferry 0.2 has saved are not read any more: fit it again",
            f->m->name);
    scope_check(s, ferry_i_dict_ints(ctx, from, "classes.n", &one, &classes));
    f->of.classes = classes[0];
    if (f->of.classes < !(f->m->goals & FERRY_EMBED) || f->of.classes >= INT32_MAX)
        scope_fail(s, FERRY_EDATA, "tensor classes.n: %lld", (long long)f->of.classes);
    if (ferry_i_dict_has(from, "prepare")) {
        f->prepared = prepared_load(s, f->keep, "prepare", from);
        if (f->prepared->wants.layout != prepared_layout(f->m->wants.as))
            scope_fail(s, FERRY_EDATA, "tensor prepare: layout %d",
                       (int)f->prepared->wants.layout);
    }
    scope_check(s, ferry_i_dict_reals(ctx, from, "prior", &one, &f->of.classes, &prior));
    f->prior = COPY(f->keep, prior, f->of.classes);
}

static void load_body(scope *s, void *arg)
{
    const filing *a = arg;
    const ferry_dict *from = a->io->from;
    fitted *f = a->f;

    if (!(f->keep = scope_open(scope_ctx(s)))) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_bind(f->keep, s);
    if (f->m->wants.as == STREAM)
        stream_load_head(s, f, from);
    else
        load_head(s, f, from);
    set_sizes(f, f->of.classes);
    if (ferry_i_dict_has(from, "known.graphs"))
        f->known = state_load(s, f->keep, &known_table, "known", from, f->of);
    if (!f->prepared && !f->known && f->m->wants.as != NO_FEATURES &&
        f->m->wants.as != RATINGS)
        scope_fail(s, FERRY_EDATA, "tensor 'prepare' is missing");
    if (f->known && f->prepared && !f->prepared->wants.every)
        scope_fail(s, FERRY_EDATA, "tensor 'prepare': graphs go with all instances");
    if (f->m->wants.as == RATINGS)
        f->rated = state_load(s, f->keep, &catalogue_table, "", from, f->of);
    f->state = state_load(s, f->keep, state_table(f->m), "", from, sizes_of(f));
    if (f->m->wants.as == STREAM && f->m->online->columns(f->state) != f->of.width)
        scope_fail(s, FERRY_EDATA, "the state has %lld columns, its rows %lld",
                   (long long)f->m->online->columns(f->state), (long long)f->of.width);
    const learner *by = f->m->by;
    if (by && by->serves && !by->serves(f->state, f->of.width, f->of.classes))
        scope_fail(s, FERRY_EDATA, "its numbers are not for %lld features and %lld classes",
                   (long long)f->of.width, (long long)f->of.classes);
}

static void frame_file(ferry_io *io, void *state)
{
    io->st = scope_run(io->ctx, io->to ? save_body : load_body, &(filing){io, state});
}

/* ---- the descriptor ---- */

/* What a learner can take as goals of a task. */
static unsigned goals_of(const learner *l)
{
    return (l->takes & LEARN_CLASSES ? FERRY_CLASSIFY : 0u) |
           (l->takes & LEARN_NUMBERS ? FERRY_REGRESS : 0u) |
           (l->takes & LEARN_SETS ? FERRY_MULTILABEL : 0u);
}

int64_t frame_describe(const method *m, ferry_opt *options, ferry_method *to)
{
    const learner *by = learner_of(m);
    const size_t at = common_at(m);
    int64_t n = 0;

    append(options, &n, by ? by->options : m->options, by ? by->n_options : m->n_options,
           0);
    if (m->wants.trains) append(options, &n, train_opt, FERRY_COUNT(train_opt), at);
    if (m->wants.as != NO_FEATURES && m->wants.as != STREAM && m->wants.as != RATINGS &&
        !m->wants.unscaled)
        append(options, &n, scale_opt, FERRY_COUNT(scale_opt), at);
    if (m->wants.scale_default) options[n - 1].def = m->wants.scale_default;
    if (m->wants.as == CHAIN) append(options, &n, leaks_opt, FERRY_COUNT(leaks_opt), at);
    if (m->wants.as == CHAIN && m->needs & FERRY_NEED_SOURCE_LABELS)
        append(options, &n, bridge_labels_opt, FERRY_COUNT(bridge_labels_opt), at);
    *to = (ferry_method){.next = m,
                         .name = m->name,
                         .summary = by ? by->summary : m->summary,
                         .reference = by ? by->reference : m->reference,
                         .kind = m->kind,
                         .goals = by ? goals_of(by) : m->goals,
                         .needs = m->needs,
                         .asked = m->asked,
                         .names_classes = m->names_classes,
                         .family = m->family,
                         .pools = m->pools,
                         .slow = m->slow,
                         .options = options,
                         .n_options = n,
                         .options_size = at + sizeof(common_options),
                         .control = m->control,
                         .weighs = by && (by->takes & LEARN_WEIGHTS),
                         .spreads = by ? (by->takes & LEARN_SPREAD) != 0 : !m->whole,
                         .together = m->wants.graphs != NO_GRAPHS,
                         .embeds_sources = m->embeds_sources,
                         .predict = m->online ? stream_predict : frame_predict,
                         .transform = m->embed ? frame_embed : NULL,
                         .graphs = m->wants.graphs ? frame_graphs : NULL,
                         .known = m->wants.graphs ? frame_known : NULL,
                         .fold_in = m->fold_in ? frame_fold_in : NULL,
                         .top = m->wants.as == RATINGS ? frame_top : NULL,
                         .file = frame_file,
                         .state_size = sizeof(fitted),
                         .free = frame_free};
    return n;
}
