/* Saved results again, for programs: what results.json has, through the same calls as fresh
 * results. Predictions are not among it, and truth is not: the folder has those as CSV files.
 *
 * The file may be anybody's, so nothing in it is believed: what does not have the expected type or
 * length ends with a sentence that names the file. Numbers have 15 digits there. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "show/show.h"

/* A file being read: the first key that was not as expected is kept for the message. */
typedef struct reader {
    ferry_ctx *ctx;
    const char *path, *bad;
    bool no_memory;
    int64_t schema;
} reader;

/* New copy; NULL stays NULL. */
static char *copy(reader *f, const char *s)
{
    char *own = ferry_i_strdup(s);

    f->no_memory = f->no_memory || (s && !own);
    return own;
}

/* New copy of a text; "" and a complaint when it is none. */
static char *text_at(reader *f, const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    if (!s && !f->bad) f->bad = key;
    return copy(f, s ? s : "");
}

/* null is NaN. */
static double real_at(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static int64_t whole_at(reader *f, const json_t *o, const char *key, int64_t most)
{
    const json_t *v = json_object_get(o, key);
    const int64_t n = (int64_t)json_integer_value(v);

    if (json_is_integer(v) && n >= 0 && n <= most) return n;
    if (!f->bad) f->bad = key;
    return 0;
}

/* n numbers of an array into `to`. */
static void reals_at(reader *f, const json_t *o, const char *key, int64_t n, double *to)
{
    const json_t *a = json_object_get(o, key);

    if ((int64_t)json_array_size(a) != n && !f->bad) f->bad = key;
    for (int64_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(a, (size_t)i);
        to[i] = json_is_number(v) ? json_number_value(v) : NAN;
    }
}

/* Place of a word in a list; 0 and a complaint when it is not there. */
static int word_at(reader *f, const json_t *o, const char *key, int n,
                   const char *const *words)
{
    const char *s = json_string_value(json_object_get(o, key));

    for (int i = 0; s && i < n; i++)
        if (strcmp(words[i], s) == 0) return i;
    if (!f->bad) f->bad = key;
    return 0;
}

/* Words of the first and the second schema are what they are called now. */
static ferry_verdict verdict_at(reader *f, const json_t *o)
{
    static const struct {
        const char *word;
        ferry_verdict now;
    } before[] = {{"no evidence", FERRY_OPEN},
                  {"undecided", FERRY_OPEN},
                  {"any source", FERRY_GOOD_LEARNER},
                  {"not shown", FERRY_SOURCE_OPEN},
                  {"unused", FERRY_IGNORES_SOURCE},
                  {"weaker", FERRY_WEAK_LEARNER},
                  {"equal", FERRY_SAME}};
    const char *words[FERRY_BEST + 1];
    const char *word = json_string_value(json_object_get(o, "verdict"));

    for (int64_t i = 0; word && i < FERRY_COUNT(before); i++)
        if (strcmp(before[i].word, word) == 0) return before[i].now;
    for (int i = 0; i <= FERRY_BEST; i++)
        words[i] = ferry_verdict_name((ferry_verdict)i);
    return (ferry_verdict)word_at(f, o, "verdict", FERRY_BEST + 1, words);
}

/* A count that the first schema does not have: 0. */
static int64_t count_at(const json_t *o, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(o, key));
}

/* ---- a method ---- */

/* A control or a source left out. */
static ferry_status load_trial(reader *f, const json_t *o, ferry_trial *t)
{
    ferry_status st = FERRY_OK;
    const char *words[FERRY_N_CONTROLS];
    const json_t *runs = json_object_get(o, "runs");

    for (int i = 0; i < FERRY_N_CONTROLS; i++)
        words[i] = ferry_i_control_name((ferry_control)i);
    t->kind = (ferry_control)word_at(f, o, "control", FERRY_N_CONTROLS, words);
    t->pub = (ferry_evidence){
        .size = sizeof t->pub,
        .control = words[t->kind],
        .source = copy(f, json_string_value(json_object_get(o, "source"))),
        .reason = copy(f, json_string_value(json_object_get(o, "reason"))),
        .draws = whole_at(f, o, "draws", 1 << 20),
        .repeats = whole_at(f, o, "repeats", 1 << 20),
        .same = json_is_true(json_object_get(o, "same")),
        .mean = real_at(o, "mean"),
        .gain = real_at(o, "gain"),
        .excess = real_at(o, "excess"),
        .low = real_at(o, "low"),
        .high = real_at(o, "high"),
        .p = real_at(o, "p"),
        .p_holm = real_at(o, "p_holm"),
        .verdict = json_object_get(o, "verdict") ? verdict_at(f, o) : FERRY_UNJUDGED,
        .primary = json_is_true(json_object_get(o, "primary")),
        .as_good = count_at(o, "as_good"),
        .as_bad = count_at(o, "as_bad")};
    if (json_array_size(runs) == 0 || f->bad) goto done;
    FERRY_NEW(f->ctx, t->metric, t->pub.draws * t->pub.repeats);
    for (int64_t k = 0; k < t->pub.draws; k++) {
        json_t *one = json_pack("{s:O?}", "runs", json_array_get(runs, (size_t)k));
        reals_at(f, one, "runs", t->pub.repeats, t->metric + k * t->pub.repeats);
        json_decref(one);
    }
    t->pub.runs = t->metric;
done:
    return st;
}

static ferry_status load_verdict(reader *f, const json_t *o, ferry_entry *r)
{
    static const char *const lists[] = {"controls", "sources"};
    ferry_status st = FERRY_OK;

    if (!json_is_object(o)) return FERRY_OK;
    r->pub.verdict = verdict_at(f, o);
    r->pub.p = real_at(o, "p");
    r->pub.p_holm = real_at(o, "p_holm");
    r->pub.sentence = text_at(f, o, "sentence");
    r->pub.bound = real_at(o, "bound");
    r->pub.over_best = real_at(o, "over_best");
    r->pub.over_best_low = real_at(o, "over_best_low");
    r->pub.over_best_high = real_at(o, "over_best_high");
    r->pub.p_best = real_at(o, "p_best");
    r->pub.source_worth = real_at(o, "worth");
    r->pub.source_worth_low = real_at(o, "worth_low");
    r->pub.source_worth_high = real_at(o, "worth_high");
    r->pub.se = real_at(o, "se");
    r->pub.df = real_at(o, "df");
    r->pub.fixed = json_is_true(json_object_get(o, "fixed"));
    r->pub.p_high = real_at(o, "p_high");
    r->pub.p_low = real_at(o, "p_low");
    r->pub.control_draws = /* two names: until and since 0.3.0 */
        count_at(o, json_object_get(o, "control_draws") ? "control_draws" : "worlds");
    r->pub.as_good = count_at(o, "as_good");
    r->pub.as_bad = count_at(o, "as_bad");
    const json_t *needed = json_object_get(o, "needed");
    r->pub.needed_repeats = count_at(needed, "repeats");
    r->pub.needed_rows = count_at(needed, "rows");
    r->pub.needed_draws = count_at(needed, "draws");
    r->pub.needed_seconds = real_at(needed, "seconds");
    FERRY_NEW(f->ctx, r->trial,
              (int64_t)(json_array_size(json_object_get(o, lists[0])) +
                        json_array_size(json_object_get(o, lists[1]))));
    for (int k = 0; k < 2; k++) {
        const json_t *list = json_object_get(o, lists[k]);
        for (size_t i = 0; i < json_array_size(list); i++)
            FERRY_TRY(load_trial(f, json_array_get(list, i), &r->trial[r->n_trials++]));
    }
done:
    return st;
}

/* Up to the second schema the comparison stands there in the metric's own sign. */
static void load_versus(reader *f, const ferry_results *rs, const json_t *o, ferry_entry *r)
{
    const double low = real_at(o, "low"), high = real_at(o, "high");
    const bool larger = f->schema >= 3 || ferry_i_results_sign(rs) > 0;

    if (!json_is_object(o) || rs->n_metrics == 0)
        return; /* without a metric there is none */
    r->pub.pairs = whole_at(f, o, "pairs", 1 << 20);
    r->pub.gain = larger ? real_at(o, "difference") : -real_at(o, "difference");
    r->pub.low = larger ? low : -high;
    r->pub.high = larger ? high : -low;
    r->pub.p_compare = real_at(o, "p");
    r->pub.most = real_at(o, "at_most");
}

static ferry_status load_curve(reader *f, const json_t *o, ferry_entry *r)
{
    ferry_status st = FERRY_OK;
    const int64_t n = (int64_t)json_array_size(json_object_get(o, "rows"));

    if (!json_is_object(o)) return FERRY_OK;
    FERRY_NEW(f->ctx, r->points, 3 * n);
    reals_at(f, o, "rows", n, r->points);
    reals_at(f, o, "mean", n, r->points + n);
    reals_at(f, o, "std", n, r->points + 2 * n);
    r->pub.points = n;
    r->pub.curve_rows = r->points;
    r->pub.curve_mean = r->points + n;
    r->pub.curve_std = r->points + 2 * n;
done:
    return st;
}

static int word_of(const json_t *o, const char *key, int n, const char *(*name)(int))
{
    const char *word = json_string_value(json_object_get(o, key));

    for (int i = 0; word && i < n; i++)
        if (strcmp(name(i), word) == 0) return i;
    return 0;
}

static const char *uses_word(int i)
{
    return ferry_i_uses_name((ferry_uses)i);
}

/* Older folders do not tell: by what it was trained on. */
static ferry_uses uses_by_options(ferry_kind kind, const ferry_opts *options)
{
    const char *train = ferry_opts_get(options, "train");

    if (kind != FERRY_KIND_BASELINE)
        return kind == FERRY_KIND_CONTROL ? FERRY_USES_CONTROL : FERRY_USES_TRANSFER;
    if (!train) return FERRY_USES_TARGET_ONLY;
    return strcmp(train, "both") == 0     ? FERRY_USES_POOLED
           : strcmp(train, "source") == 0 ? FERRY_USES_SOURCE_ONLY
                                          : FERRY_USES_TARGET_ONLY;
}

static ferry_status load_entry(reader *f, ferry_results *rs, const json_t *o)
{
    static const char *const kinds[] = {"baseline", "transfer", "control"};
    ferry_status st = FERRY_OK;
    ferry_entry *r = NULL;
    ferry_opts *options = NULL;
    char *name = text_at(f, o, "name"), *method = text_at(f, o, "method");
    const ferry_kind kind = (ferry_kind)word_at(f, o, "kind", 3, kinds);

    FERRY_HAVE(f->ctx, name && method);
    FERRY_TRY(ferry_i_results_add(f->ctx, rs, name, method, kind, &r));
    ferry_i_free(r->curve); /* only its mean and deviation were kept */
    r->curve = NULL;
    FERRY_TRY(ferry_i_opts_from_json(f->ctx, json_object_get(o, "options"), &options));
    r->pub.options = options;
    r->pub.uses = json_object_get(o, "uses") ? (ferry_uses)word_of(o, "uses", 5, uses_word)
                                             : uses_by_options(kind, options);
    if (json_object_get(o, "reason")) {
        r->pub.reason = text_at(f, o, "reason");
        r->pub.unasked = json_is_true(json_object_get(o, "unasked"));
        goto done;
    }
    r->pub.rank = rs->n;
    for (int64_t m = 0; m < rs->n_metrics; m++)
        reals_at(f,
                 json_object_get(json_object_get(o, "metrics"), rs->metrics[m]->info.name),
                 "runs", rs->run.repeats, r->metric + m * rs->run.planned);
    reals_at(f, o, "fit_seconds", rs->run.repeats, r->seconds);
    if (json_is_object(json_object_get(o, "diagnostics")))
        r->diagnostics = json_incref(json_object_get(o, "diagnostics"));
    FERRY_TRY(load_curve(f, json_object_get(o, "curve"), r));
    load_versus(f, rs, json_object_get(o, "versus"), r);
    FERRY_TRY(load_verdict(f, json_object_get(o, "verdict"), r));
    FERRY_TRY(ferry_i_results_publish_entry(f->ctx, rs, r));
done:
    FERRY_FREE(name, method);
    return st;
}

/* ---- all of it ---- */

/* The metrics that the first result has, the deciding one first. */
static ferry_status load_metrics(reader *f, ferry_results *rs, const json_t *first)
{
    ferry_status st = FERRY_OK;
    json_t *metrics = json_object_get(first, "metrics"), *one = NULL;
    const char *name = NULL;

    FERRY_NEW(f->ctx, rs->metrics, (int64_t)json_object_size(metrics));
    json_object_foreach(metrics, name, one)
    {
        const ferry_metric *m = ferry_i_metric_find(name);
        FERRY_NEED(f->ctx, m, FERRY_EDATA, "%s: unknown metric '%s'", f->path, name);
        rs->metrics[rs->n_metrics++] = m;
    }
done:
    return st;
}

static void load_run(reader *f, ferry_results *rs, const json_t *o)
{
    static const char *const levels[] = {"none", "quick", "full"};
    const json_t *seed = json_object_get(o, "seed"), *v = json_object_get(o, "verdict");
    const char *goals[6];

    for (int i = 0; i < 6; i++)
        goals[i] = ferry_goal_name((ferry_goal)(1 << i));
    rs->run = (ferry_run_info){.size = sizeof rs->run,
                               .version = text_at(f, o, "ferry"),
                               .task = text_at(f, o, "task"),
                               .target = text_at(f, o, "target"),
                               .goal = (ferry_goal)(1 << word_at(f, o, "goal", 6, goals)),
                               .seed = json_is_string(seed)
                                           ? strtoull(json_string_value(seed), NULL, 10)
                                           : (uint64_t)json_integer_value(seed),
                               .planned = whole_at(f, o, "planned", 1 << 20),
                               .repeats = whole_at(f, o, "repeats", 1 << 20),
                               .visible = whole_at(f, o, "visible", INT64_MAX),
                               .arriving = fmin(1, real_at(o, "arriving")), /* of NaN 1 */
                               .engine = text_at(f, o, "engine"),
                               .blas_core = text_at(f, o, "blas_core"),
                               .threads = (int)whole_at(f, o, "threads", 1 << 20),
                               .controls = levels[word_at(f, v, "controls", 3, levels)],
                               .best = -1,
                               .best_baseline = -1,
                               .sentence = text_at(f, v, "sentence"),
                               .least = real_at(v, "least")};
    if (json_is_string(json_object_get(o, "bridge")))
        rs->run.bridge = text_at(f, o, "bridge");
    rs->run.folds = count_at(o, "folds");
    if (json_object_get(o, "delay")) /* older folders do not tell */
        rs->run.delay = whole_at(f, o, "delay", INT64_MAX);
    f->schema = count_at(o, "schema");
    if (f->schema > FERRY_RESULTS_SCHEMA && !f->bad) f->bad = "schema";
    if (rs->run.repeats > rs->run.planned && !f->bad) f->bad = "repeats";
}

static int64_t place_of(const ferry_results *rs, const json_t *name)
{
    for (int64_t i = 0; json_is_string(name) && i < rs->n; i++)
        if (strcmp(rs->result[i].pub.name, json_string_value(name)) == 0) return i;
    return -1;
}

static const char *worth_word(int i)
{
    return ferry_i_worth_name((ferry_worth)i);
}

static ferry_status load_members(reader *f, const json_t *list, int64_t *n,
                                 const ferry_blend_member **out)
{
    ferry_status st = FERRY_OK;
    ferry_blend_member *m = NULL;

    FERRY_NEW(f->ctx, m, (int64_t)json_array_size(list));
    *out = m;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        m[i] = (ferry_blend_member){sizeof *m, text_at(f, o, "name"),
                                    (ferry_uses)word_of(o, "uses", 5, uses_word),
                                    real_at(o, "weight")};
        *n = (int64_t)i + 1;
        FERRY_HAVE(f->ctx, m[i].name);
    }
done:
    return st;
}

/* A text that may be null. */
static const char *maybe_text(reader *f, const json_t *o, const char *key)
{
    return json_is_string(json_object_get(o, key)) ? text_at(f, o, key) : NULL;
}

static ferry_status load_answer(reader *f, ferry_results *rs, const json_t *o)
{
    ferry_status st = FERRY_OK;
    double *runs = NULL;

    if (!json_is_object(o)) return FERRY_OK;
    FERRY_NEW(f->ctx, rs->answer, 1);
    ferry_recommendation *a = rs->answer;
    *a = (ferry_recommendation){
        .size = sizeof *a,
        .head = text_at(f, o, "head"),
        .use = text_at(f, o, "use"),
        .expect = text_at(f, o, "expect"),
        .source = text_at(f, o, "source"),
        .next = text_at(f, o, "next"),
        .remark = maybe_text(f, o, "remark"),
        .metric = maybe_text(f, o, "metric"),
        .larger_is_better = json_is_true(json_object_get(o, "larger_is_better")),
        .validated = json_is_true(json_object_get(o, "validated")),
        .calibrated = json_is_true(json_object_get(o, "calibrated")),
        .level = real_at(o, "level"),
        .labels = count_at(o, "labels"),
        .value = real_at(o, "value"),
        .low = real_at(o, "low"),
        .high = real_at(o, "high"),
        .value_without = real_at(o, "value_without"),
        .low_without = real_at(o, "low_without"),
        .high_without = real_at(o, "high_without"),
        .worth = real_at(o, "worth"),
        .worth_low = real_at(o, "worth_low"),
        .worth_high = real_at(o, "worth_high"),
        .verdict = (ferry_worth)word_of(o, "verdict", 4, worth_word),
        .share = real_at(o, "share"),
        .needed_repeats = count_at(o, "needed_repeats"),
        .needed_labels = count_at(o, "needed_labels")};
    FERRY_TRY(load_members(f, json_object_get(o, "members"), &a->members, &a->member));
    FERRY_TRY(
        load_members(f, json_object_get(o, "without"), &a->without, &a->member_without));
    if (json_array_size(json_object_get(o, "runs")) == 0) goto done;
    FERRY_NEW(f->ctx, runs, rs->run.repeats);
    a->runs = runs;
    reals_at(f, o, "runs", rs->run.repeats, runs);
    FERRY_NEW(f->ctx, runs, rs->run.repeats);
    a->runs_without = runs;
    reals_at(f, o, "runs_without", rs->run.repeats, runs);
    a->repeats = rs->run.repeats;
done:
    return st;
}

/* What methods were compared with: before the third schema the best baseline. */
static ferry_status load_reference(reader *f, ferry_results *rs, const json_t *v)
{
    ferry_status st = FERRY_OK;
    const json_t *o = json_object_get(v, "primary"), *needed = json_object_get(o, "needed");
    ferry_primary *p = NULL;

    rs->run.reference = maybe_text(f, v, "reference");
    rs->run.reference_mean = real_at(v, "reference_mean");
    if (!rs->run.reference && rs->run.best_baseline >= 0)
        rs->run.reference = copy(f, rs->result[rs->run.best_baseline].pub.name);
    rs->by_policy = rs->run.reference &&
                    strcmp(rs->run.reference, ferry_i_uses_name(FERRY_USES_TARGET_ONLY)) == 0;
    for (int64_t i = 0; i < rs->n; i++)
        if (rs->result[i].pub.pairs > 0) rs->result[i].pub.baseline = rs->run.reference;
    const int64_t place = place_of(rs, json_object_get(o, "name"));
    if (place < 0) goto done;
    FERRY_NEW(f->ctx, p, 1);
    *p = (ferry_primary){.size = sizeof *p,
                         .name = rs->result[place].pub.name,
                         .share = real_at(o, "share"),
                         .named = json_is_true(json_object_get(o, "named")),
                         .gain = real_at(o, "difference"),
                         .low = real_at(o, "low"),
                         .high = real_at(o, "high"),
                         .most = real_at(o, "at_most"),
                         .p = real_at(o, "p"),
                         .level = real_at(o, "level"),
                         .decided = json_is_true(json_object_get(o, "decided")),
                         .repeats = count_at(o, "repeats"),
                         .needed_repeats = count_at(needed, "repeats"),
                         .needed_rows = count_at(needed, "rows")};
    rs->run.primary = p;
done:
    return st;
}

static ferry_status load_all(reader *f, ferry_results *rs, json_t *root)
{
    ferry_status st = FERRY_OK;
    const json_t *lists[] = {json_object_get(root, "results"),
                             json_object_get(root, "skipped")};
    const json_t *v = json_object_get(root, "verdict");

    load_run(f, rs, root);
    FERRY_HAVE(f->ctx, !f->no_memory);
    FERRY_NEED(f->ctx, json_is_array(lists[0]) && json_is_array(lists[1]) && !f->bad,
               FERRY_EDATA, "%s: these are no results of ferry run", f->path);
    FERRY_TRY(load_metrics(f, rs, json_array_get(lists[0], 0)));
    FERRY_NEW(f->ctx, rs->result,
              (int64_t)(json_array_size(lists[0]) + json_array_size(lists[1])));
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < json_array_size(lists[k]); i++)
            FERRY_TRY(load_entry(f, rs, json_array_get(lists[k], i)));
    rs->run.best = place_of(rs, json_object_get(v, "best"));
    rs->run.best_baseline = place_of(rs, json_object_get(v, "best_baseline"));
    FERRY_TRY(load_reference(f, rs, v));
    FERRY_TRY(load_answer(f, rs, json_object_get(root, "answer")));
    FERRY_HAVE(f->ctx, !f->no_memory);
    FERRY_NEED(f->ctx, !f->bad, FERRY_EDATA, "%s: '%s' is not what ferry run writes",
               f->path, f->bad);
    rs->saved = json_incref(root);
done:
    return st;
}

ferry_status ferry_results_load(ferry_ctx *ctx, const char *dir, ferry_results **out)
{
    FERRY_ARGS_OUT(ctx, out, out, dir);

    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(dir, "results.json");
    ferry_results *rs = ferry_i_calloc(1, sizeof *rs);
    reader f = {.ctx = ctx, .path = path};
    json_t *root = NULL;

    FERRY_HAVE(ctx, path && rs);
    FERRY_TRY(ferry_i_report_file(ctx, dir, "results.json", true, &root));
    FERRY_TRY(load_all(&f, rs, root));
    FERRY_MOVE(*out, rs);
done:
    json_decref(root);
    ferry_results_free(rs);
    ferry_i_free(path);
    return st;
}
