/* MINDTL, tables 2 and 3: rating patterns extracted from one source in three ways.
 *
 * The tables are pictures that the text at hand does not have; the order that the text
 * reads from them is what can be compared. Book-Crossing is cut to its dense part. */
#include <math.h>

#include "data/data.h"
#include "reproduce/mindtl.h"

/* ---- Book-Crossing's dense part ---- */

enum { LEAST_OF_USER = 8, LEAST_OF_ITEM = 3 };

/* keep[e]: explicit ratings (not 0) of users with at least 8 for books with at least 3 of
 * the kept ones. */
static ferry_status find_core(ferry_ctx *ctx, const ferry_ratings *r, uint8_t *keep)
{
    ferry_status st = FERRY_OK;
    int64_t *of_user = ferry_i_calloc(ferry_i_ids_count(r->users), sizeof *of_user);
    int64_t *of_item = ferry_i_calloc(ferry_i_ids_count(r->items), sizeof *of_item);
    bool changed = true;

    FERRY_NEED(ctx, of_user && of_item, FERRY_ENOMEM, "no memory for the ratings");
    for (int64_t e = 0; e < r->n; e++) {
        keep[e] = r->value[e] != 0;
        of_user[r->user[e]] += keep[e];
        of_item[r->item[e]] += keep[e];
    }
    while (changed) {
        changed = false;
        for (int64_t e = 0; e < r->n; e++) {
            if (!keep[e] || (of_user[r->user[e]] >= LEAST_OF_USER &&
                             of_item[r->item[e]] >= LEAST_OF_ITEM))
                continue;
            keep[e] = 0;
            of_user[r->user[e]]--;
            of_item[r->item[e]]--;
            changed = true;
        }
    }
done:
    ferry_i_free(of_user);
    ferry_i_free(of_item);
    return st;
}

ferry_status ferry_i_mindtl_books(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    char *from = NULL, *to = NULL, number[32];
    ferry_data *data = NULL;
    uint8_t *keep = NULL;
    ferry_out *o = NULL;
    int64_t n = 0;

    FERRY_TRY(ferry_i_lab_source(ctx, lab, "bookcrossing/BX-Book-Ratings_first100k.csv.gz",
                                 &from));
    FERRY_TRY(ferry_i_lab_path(ctx, lab, "books.csv", &to));
    FERRY_TRY(ferry_i_read_as(ctx, from, NULL, FERRY_DATA_RATINGS, &data));
    const ferry_ratings *r = data->ratings;
    keep = ferry_i_calloc(r->n, 1);
    FERRY_NEED(ctx, keep, FERRY_ENOMEM, "%s: no memory", from);
    FERRY_TRY(find_core(ctx, r, keep));
    FERRY_TRY(ferry_i_out_open(ctx, to, &o));
    ferry_i_out_printf(o, "user,item,rating\n");
    for (int64_t e = 0; e < r->n; e++) {
        if (!keep[e]) continue;
        (void)ferry_i_format_real(number, 1 + (r->value[e] - 1) * 4 / 9);
        ferry_i_out_csv(o, "", ferry_i_ids_at(r->users, r->user[e]));
        ferry_i_out_printf(o, ",");
        ferry_i_out_csv(o, "", ferry_i_ids_at(r->items, r->item[e]));
        ferry_i_out_printf(o, ",%s\n", number);
        n++;
    }
    FERRY_NEED(ctx, n > 0, FERRY_EDATA,
               "%s: no user has %d ratings of books that %d users rated", from,
               LEAST_OF_USER, LEAST_OF_ITEM);
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_out_abort(o);
    ferry_i_free(keep);
    ferry_data_free(data);
    ferry_i_free(from);
    ferry_i_free(to);
    return st;
}

/* ---- tasks ---- */

enum { NETFLIX, SMALL, SOURCES };
enum { MOVIELENS, BOOKS, TARGETS };

static const struct {
    const char *name, *entry;
    int64_t most;     /* users and items of it */
    int64_t k, block; /* groups of its ratings, and of a block without gaps */
} sources[SOURCES] = {
    {"Netflix", "missing: 0, ratings: '%s/netflix_sample/netflix_incomplete_new.txt.gz'",
     400, 40, 8},
    {"MovieLens-small", "ratings: '%s/movielens/ml-latest-small/ratings.csv'", 300, 30, 2},
};
static const char *const metrics[] = {"mae", "rmse"};
static const char *const targets[TARGETS] = {"MovieLens-100k", "Book-Crossing"};

enum { ONMTF, DC, IONMTF, EXTRACTIONS, REFINED = EXTRACTIONS, BASELINES = 2 * EXTRACTIONS };
static const char *const rows[] = {
    "ONMTF",           "DC-ONMTF",    "IONMTF", "ONMTF, refined", "DC-ONMTF, refined",
    "IONMTF, refined", "rating-mean", "bias",   "additive-grid"};

/* `  - {name: ..., role: source, ...}` with the data folder in its place. */
static void add_source(ferry_text *t, const ferry_lab *lab, int64_t s)
{
    const char *at = sources[s].entry;

    ferry_i_text_addf(t, "  - {name: '%s', role: source, ", sources[s].name);
    for (; *at; at++) {
        if (at[0] != '%') {
            ferry_i_text_addn(t, at, 1);
            continue;
        }
        ferry_i_text_yaml(t, ferry_i_lab_data(lab));
        at++;
    }
    ferry_i_text_add(t, "}\n");
}

static void add_target(ferry_text *t, const ferry_lab *lab, int64_t target)
{
    ferry_i_text_addf(
        t, "  - {name: '%s', role: target, labelled: 0.8, ratings: ", targets[target]);
    if (target == BOOKS) {
        ferry_i_text_add(t, "books.csv}\n");
        return;
    }
    ferry_i_text_add(t, "'");
    ferry_i_text_yaml(t, ferry_i_lab_data(lab));
    ferry_i_text_add(t, "/movielens/ml-100k/u.data'}\n");
}

static void add_extractions(ferry_text *t, int64_t s)
{
    static const char *const extract[] = {"onmtf", "dc-onmtf", "ionmtf"};

    for (int64_t i = 0; i < BASELINES; i++) {
        const int64_t way = i % EXTRACTIONS;
        const int64_t k = way == ONMTF ? sources[s].block : sources[s].k;
        ferry_i_text_addf(
            t, "  - {cbt: {extract: %s, k: %lld, l: %lld, most: %lld%s}, as: '%s'}\n",
            extract[way], (long long)k, (long long)k, (long long)sources[s].most,
            i < REFINED ? ", polish: 0, beta: 0" : "", rows[i]);
    }
    for (int64_t i = BASELINES; i < FERRY_COUNT(rows); i++)
        ferry_i_text_addf(t, "  - %s\n", rows[i]);
}

/* One source to one target: cells "SOURCE rmse" and "SOURCE mae". */
static ferry_status run_pair(ferry_ctx *ctx, ferry_lab *lab, int64_t source, int64_t target,
                             int64_t repeats)
{
    ferry_status st = FERRY_OK;
    char *name = ferry_i_sprintf("%s-to-%s.yaml", sources[source].name, targets[target]);
    char *column = NULL;
    ferry_text t = {0};
    ferry_score s;

    ferry_i_text_addf(&t, "task: '%s to %s'\ngoal: rate\ndomains:\n", sources[source].name,
                      targets[target]);
    add_source(&t, lab, source);
    add_target(&t, lab, target);
    ferry_i_text_add(&t, "methods:\n");
    add_extractions(&t, source);
    ferry_i_text_addf(&t, "evaluate: {repeats: %lld, controls: none}\n",
                      (long long)repeats);
    FERRY_NEED(ctx, name && !t.failed, FERRY_ENOMEM, "no memory for a task file");
    FERRY_TRY(ferry_i_lab_task(ctx, lab, name, t.s));
    FERRY_TRY(ferry_i_lab_run(ctx, lab, name, NULL, ferry_i_lab_seed(lab)));
    for (int64_t m = 0; m < FERRY_COUNT(metrics); m++) {
        ferry_i_free(column);
        column = ferry_i_sprintf("%s %s", sources[source].name, metrics[m]);
        FERRY_NEED(ctx, column, FERRY_ENOMEM, "no memory for a name");
        for (int64_t i = 0; i < FERRY_COUNT(rows); i++) {
            FERRY_TRY(ferry_i_lab_score(ctx, lab, rows[i], metrics[m], &s));
            FERRY_TRY(ferry_i_lab_cell(ctx, lab, rows[i], column, s, NAN));
        }
    }
done:
    ferry_i_free(name);
    ferry_i_free(column);
    ferry_i_text_free(&t);
    return st;
}

/* In one source's columns of the current table: *worst, whether ONMTF has the largest MAE
 * and RMSE of the three; *best, whether IONMTF has the smallest. first: as published or
 * refined. */
static ferry_status compare(ferry_ctx *ctx, const ferry_lab *lab, int64_t source,
                            int64_t first, bool *worst, bool *best)
{
    ferry_status st = FERRY_OK;
    char *column = NULL;

    *worst = *best = true;
    for (int64_t m = 0; m < FERRY_COUNT(metrics); m++) {
        ferry_i_free(column);
        column = ferry_i_sprintf("%s %s", sources[source].name, metrics[m]);
        FERRY_NEED(ctx, column, FERRY_ENOMEM, "no memory for a name");
        const double onmtf = ferry_i_lab_ours(lab, rows[first + ONMTF], column);
        const double dc = ferry_i_lab_ours(lab, rows[first + DC], column);
        const double io = ferry_i_lab_ours(lab, rows[first + IONMTF], column);
        *worst = *worst && onmtf > dc && onmtf > io;
        *best = *best && io < dc && io < onmtf;
    }
done:
    ferry_i_free(column);
    return st;
}

/* What the text reads from the tables, for the current table; refined ones are counted. */
static ferry_status claim_target(ferry_ctx *ctx, ferry_lab *lab, int64_t target,
                                 int64_t *refined_worst, int64_t *refined_best)
{
    ferry_status st = FERRY_OK;
    bool worst, best;

    for (int64_t s = 0; s < SOURCES; s++) {
        FERRY_TRY(compare(ctx, lab, s, 0, &worst, &best));
        FERRY_TRY(ferry_i_lab_claim(ctx, lab, worst,
                                    "ONMTF has the largest MAE and RMSE, %s to %s",
                                    sources[s].name, targets[target]));
        FERRY_TRY(ferry_i_lab_claim(ctx, lab, best,
                                    "IONMTF has the smallest MAE and RMSE, %s to %s",
                                    sources[s].name, targets[target]));
        FERRY_TRY(compare(ctx, lab, s, REFINED, &worst, &best));
        *refined_worst += worst;
        *refined_best += best;
    }
done:
    return st;
}

/* ---- several sources (not in these tables) ---- */

static const struct {
    const char *name, *entry;
} several[] = {
    {"mindtl", "mindtl: {}"},
    {"mindtl, mode paper", "mindtl: {mode: paper}"},
    {"talmud", "talmud: {}"},
    {"cbt (Netflix)", "cbt: {}"},
    {"additive-grid", "additive-grid: {}"},
    {"shuffled-codebook", "shuffled-codebook: {}"},
    {"random-codebook", "random-codebook: {}"},
    {"random-codebook, mode paper", "random-codebook: {mode: paper}"},
    {"rating-mean", "rating-mean: {}"},
    {"bias", "bias: {}"},
    {"mf", "mf: {}"},
};

static ferry_status run_several(ferry_ctx *ctx, ferry_lab *lab, int64_t target,
                                int64_t repeats)
{
    ferry_status st = FERRY_OK;
    char *name = ferry_i_sprintf("both-to-%s.yaml", targets[target]);
    ferry_text t = {0};
    ferry_score s;

    ferry_i_text_addf(&t, "task: 'both to %s'\ngoal: rate\ndomains:\n", targets[target]);
    for (int64_t i = 0; i < SOURCES; i++)
        add_source(&t, lab, i);
    add_target(&t, lab, target);
    ferry_i_text_add(&t, "methods:\n");
    for (int64_t i = 0; i < FERRY_COUNT(several); i++)
        ferry_i_text_addf(&t, "  - {%s, as: '%s'}\n", several[i].entry, several[i].name);
    ferry_i_text_addf(&t, "evaluate: {repeats: %lld, controls: none}\n",
                      (long long)repeats);
    FERRY_NEED(ctx, name && !t.failed, FERRY_ENOMEM, "no memory for a task file");
    FERRY_TRY(ferry_i_lab_task(ctx, lab, name, t.s));
    FERRY_TRY(ferry_i_lab_run(ctx, lab, name, NULL, ferry_i_lab_seed(lab)));
    for (int64_t i = 0; i < FERRY_COUNT(several); i++) {
        FERRY_TRY(ferry_i_lab_score(ctx, lab, several[i].name, "rmse", &s));
        FERRY_TRY(ferry_i_lab_cell(ctx, lab, several[i].name, targets[target], s, NAN));
    }
done:
    ferry_i_free(name);
    ferry_i_text_free(&t);
    return st;
}

static ferry_status run_tables(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    const bool quick = ferry_i_lab_quick(lab);
    const int64_t repeats = quick ? 1 : 10;
    int64_t worst = 0, best = 0;

    ferry_i_lab_plan(lab, SOURCES * TARGETS + (quick ? 0 : TARGETS));
    FERRY_TRY(ferry_i_mindtl_books(ctx, lab));
    for (int64_t target = 0; target < TARGETS; target++) {
        FERRY_TRY(ferry_i_lab_table(ctx, lab, targets[target]));
        ferry_i_lab_units(lab, "errors of ratings from 1 to 5", 3);
        for (int64_t source = 0; source < SOURCES; source++)
            FERRY_TRY(run_pair(ctx, lab, source, target, repeats));
        FERRY_TRY(claim_target(ctx, lab, target, &worst, &best));
    }
    FERRY_TRY(ferry_i_lab_note(ctx, lab,
                               "refined, ONMTF has the largest errors in %lld of the 4 "
                               "pairs, IONMTF the smallest in %lld",
                               (long long)worst, (long long)best));
    if (quick) goto done;
    FERRY_TRY(ferry_i_lab_table(ctx, lab, "not in these tables: both sources together"));
    ferry_i_lab_units(lab, "RMSE", 3);
    for (int64_t target = 0; target < TARGETS; target++)
        FERRY_TRY(run_several(ctx, lab, target, repeats));
done:
    return st;
}

const ferry_study ferry_i_study_mindtl_tables2_3 = {
    .name = "mindtl-tables2-3",
    .paper = "He et al., Robust Transfer Learning for Cross-domain Collaborative Filtering "
             "Using Multiple Rating Patterns Approximation, WSDM 2018",
    .shows =
        "tables 2 and 3: error of transferred rating patterns by how they are extracted",
    .needs = "netflix_sample/netflix_incomplete_new.txt.gz\n"
             "movielens/ml-latest-small/ratings.csv\nmovielens/ml-100k/u.data\n"
             "bookcrossing/BX-Book-Ratings_first100k.csv.gz",
    .protocol =
        "One source, its rating pattern found by ONMTF (a block without gaps), DC-ONMTF "
        "(gaps filled by users' means) or IONMTF (gaps masked), transferred by hard groups "
        "to a target of which 80 % of the ratings are seen. As in the paper k = l = a "
        "tenth "
        "of the source's users: 40 for 400 x 400 of the Netflix sample, 8 for its block of "
        "about 80 x 80. EachMovie is not to be had; the 300 x 300 busiest users and films "
        "of MovieLens-latest-small stand in (30 % filled, k = 30, and 2 for a block of 23 "
        "x "
        "23). Targets: MovieLens-100k, and Book-Crossing's users with 8 explicit ratings "
        "of "
        "books with 3 (127 x 651), mapped to 1..5. 10 random splits (1 with --quick), 3 "
        "restarts where the paper has 100. 'refined' adds a two-way k-means after the "
        "factorisation and draws means of small groups to their row and column, which the "
        "paper does not say. The paper's tables are pictures whose numbers the text at "
        "hand "
        "does not have; the claims are the text's. Full runs also have both sources "
        "together.",
    .run = run_tables,
};
