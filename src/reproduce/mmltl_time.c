/* M-MLTL, figures 3 and 4: how long a fit takes, by latent features and by source rows. */
#include <math.h>
#include <time.h>

#include "ferry/model.h"
#include "reproduce/mmltl.h"
#include "task/task.h"

enum { MMLTL, MLTL, SMLTL, OURS, METHODS };
static const char *const names[METHODS] = {"M-MLTL", "MLTL", "S-MLTL", "mmltl, mode ferry"};

/* Of the processor, all threads together: other work on the machine does not count. */
static double milliseconds(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* One pass of the classifier only: the paper's figures are about the subspace. */
static char *entries(int64_t g, int sweeps)
{
    return ferry_i_sprintf(
        "  - {mmltl: {mode: paper, sylvester: bartels-stewart, sweeps: %d, g: %lld, "
        "epochs: "
        "1}, as: '%s'}\n"
        "  - {mmltl: {mode: paper, sylvester: bartels-stewart, sweeps: %d, g: %lld, mmd: "
        "off, epochs: 1}, as: '%s'}\n"
        "  - {smltl: {train: source, epochs: 1}, as: '%s'}\n"
        "  - {mmltl: {g: %lld, epochs: 1}, as: '%s'}\n",
        sweeps, (long long)g, names[MMLTL], sweeps, (long long)g, names[MLTL], names[SMLTL],
        (long long)g, names[OURS]);
}

/* Fit every method of the task `repeats` times; ms: the fastest of each, also as row `at`
 * of the table. */
static ferry_status time_fits(ferry_ctx *ctx, ferry_lab *lab, const char *name,
                              int64_t repeats, int64_t at, double *ms)
{
    ferry_status st = FERRY_OK;
    char *path = NULL, row[32];
    ferry_task *task = NULL, *seen = NULL;
    ferry_model *model = NULL;

    (void)ferry_i_format_real(row, (double)at);
    FERRY_TRY(ferry_i_lab_path(ctx, lab, name, &path));
    FERRY_TRY(ferry_task_load(ctx, path, NULL, &task));
    FERRY_TRY(ferry_i_task_split(ctx, task, 0, &seen)); /* the target's labels hidden */
    for (int64_t i = 0; i < METHODS; i++) {
        const ferry_task_method *m = &task->methods[i];
        ms[i] = INFINITY;
        for (int64_t r = 0; r < repeats; r++) {
            const double began = milliseconds();
            FERRY_TRY(ferry_fit(ctx, seen, m->method, m->opts, &model, NULL));
            ms[i] = fmin(ms[i], milliseconds() - began);
            ferry_model_free(model);
            model = NULL;
        }
        FERRY_TRY(
            ferry_i_lab_cell(ctx, lab, row, names[i], ferry_i_score_of(1, &ms[i]), NAN));
    }
done:
    ferry_model_free(model);
    ferry_task_free(seen);
    ferry_task_free(task);
    ferry_i_free(path);
    return st;
}

/* ---- figure 3 ---- */

static const int64_t latent[] = {10, 50, 100, 200, 300, 400};
enum { LATENT = 6, G_200 = 3 };

static ferry_status claims_of_g(ferry_ctx *ctx, ferry_lab *lab, double (*ms)[METHODS])
{
    ferry_status st = FERRY_OK;
    double worst = 0;

    for (int64_t i = 0; i < SMLTL; i++) {
        bool grows = true;
        for (int64_t g = 1; g < LATENT; g++)
            grows = grows && ms[g][i] > ms[g - 1][i];
        FERRY_TRY(ferry_i_lab_claim(ctx, lab, grows, "%s takes longer with each more g",
                                    names[i]));
    }
    /* linear: from 100 on each point is within a quarter of the line through the ends */
    for (int64_t g = 2; g < LATENT; g++) {
        const double share =
            (double)(latent[g] - latent[0]) / (double)(latent[LATENT - 1] - latent[0]);
        const double line = ms[0][MMLTL] + share * (ms[LATENT - 1][MMLTL] - ms[0][MMLTL]);
        worst = fmax(worst, fabs(ms[g][MMLTL] / line - 1));
    }
    FERRY_TRY(ferry_i_lab_claim(
        ctx, lab, worst < 0.25,
        "M-MLTL's time is linear in g (within 25 %% of a line; here %.0f %%)",
        100 * worst));
    FERRY_TRY(ferry_i_lab_claim(ctx, lab,
                                ms[1][MLTL] < ms[1][MMLTL] && ms[2][MLTL] < ms[2][MMLTL],
                                "below g = 200 MLTL is faster than M-MLTL"));
    FERRY_TRY(ferry_i_lab_claim(ctx, lab,
                                ms[LATENT - 1][MMLTL] < ms[LATENT - 1][MLTL] &&
                                    ms[LATENT - 2][MMLTL] < ms[LATENT - 2][MLTL],
                                "above g = 200 M-MLTL is faster than MLTL"));
    FERRY_TRY(ferry_i_lab_claim(
        ctx, lab,
        ms[1][SMLTL] < ms[1][MMLTL] && ms[LATENT - 1][MMLTL] < ms[LATENT - 1][SMLTL],
        "S-MLTL is faster than M-MLTL below g = 200 and slower above"));
done:
    return st;
}

static ferry_status run_figure3(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    mmltl_pictures corel = {0};
    mmltl_cut cut = {0};
    const bool quick = ferry_i_lab_quick(lab);
    char *text = NULL, *task = NULL;
    double ms[LATENT][METHODS];

    FERRY_TRY(ferry_i_mmltl_corel(ctx, lab, "DenseSift", false, &corel));
    FERRY_TRY(ferry_i_mmltl_cut(ctx, lab, &corel, RANDOM, 0, &cut));
    ferry_i_lab_units(lab, "processor milliseconds of a fit, by latent features g", 1);
    for (int64_t g = 0; g < LATENT; g++) {
        text = entries(latent[g], quick ? 2 : 4);
        FERRY_NEED(ctx, text, FERRY_ENOMEM, "no memory for a task file");
        FERRY_TRY(ferry_i_mmltl_task(ctx, lab, &corel, &cut, 0, 0, text, &task));
        FERRY_TRY(time_fits(ctx, lab, task, quick ? 1 : 2, latent[g], ms[g]));
        ferry_i_free(task);
        ferry_i_free(text);
        task = text = NULL;
    }
    FERRY_TRY(claims_of_g(ctx, lab, ms));
done:
    ferry_i_free(task);
    ferry_i_free(text);
    ferry_i_mmltl_cut_free(&cut);
    ferry_i_mmltl_free(&corel);
    return st;
}

/* ---- figure 4 ---- */

static const int64_t sizes[] = {300, 500, 700, 900, 1200};
enum { SIZES = 5, N_700 = 2 };

static ferry_status claims_of_n(ferry_ctx *ctx, ferry_lab *lab, double (*ms)[METHODS])
{
    ferry_status st = FERRY_OK;
    const double before = ms[N_700][MMLTL], after = ms[SIZES - 1][MMLTL];

    for (int64_t i = 0; i < OURS; i++)
        FERRY_TRY(ferry_i_lab_claim(ctx, lab, ms[N_700][i] > ms[0][i],
                                    "%s takes longer with 700 rows than with 300",
                                    names[i]));
    FERRY_TRY(ferry_i_lab_claim(
        ctx, lab, after < 1.1 * before,
        "above 700 rows M-MLTL's time no longer grows (by less than 10 %%; here %+.0f %%)",
        100 * (after / before - 1)));
    for (int64_t i = MLTL; i <= SMLTL; i++)
        FERRY_TRY(ferry_i_lab_claim(ctx, lab, ms[SIZES - 1][i] > 1.1 * ms[N_700][i],
                                    "above 700 rows %s's time still grows (here %+.0f %%)",
                                    names[i], 100 * (ms[SIZES - 1][i] / ms[N_700][i] - 1)));
done:
    return st;
}

static ferry_status run_figure4(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    mmltl_pictures corel = {0};
    mmltl_cut cut = {0};
    const bool quick = ferry_i_lab_quick(lab);
    char *text = entries(50, 10), *task = NULL;
    double ms[SIZES][METHODS];

    FERRY_NEED(ctx, text, FERRY_ENOMEM, "no memory for a task file");
    FERRY_TRY(ferry_i_mmltl_corel(ctx, lab, "DenseHue", true, &corel));
    FERRY_TRY(ferry_i_mmltl_cut(ctx, lab, &corel, NUISANCE, 0, &cut));
    ferry_i_lab_units(lab, "processor milliseconds of a fit, by rows of the source", 1);
    for (int64_t s = 0; s < SIZES; s++) {
        FERRY_TRY(ferry_i_mmltl_task(ctx, lab, &corel, &cut, 0, sizes[s], text, &task));
        FERRY_TRY(time_fits(ctx, lab, task, quick ? 10 : 30, sizes[s], ms[s]));
        ferry_i_free(task);
        task = NULL;
    }
    FERRY_TRY(claims_of_n(ctx, lab, ms));
done:
    ferry_i_free(task);
    ferry_i_free(text);
    ferry_i_mmltl_cut_free(&cut);
    ferry_i_mmltl_free(&corel);
    return st;
}

const ferry_study ferry_i_study_mmltl_figure3 = {
    .name = "mmltl-figure3",
    .paper = MMLTL_PAPER,
    .shows = "figure 3: time of a fit against the number of latent features",
    .needs = "corel5k/corel5k_test_DenseSift.hvecs\ncorel5k/corel5k_test_annot.hvecs\n"
             "corel5k/corel5k_test_list.txt\ncorel5k/corel5k_dictionary.txt",
    .protocol =
        "Corel5k's 499 test pictures with DenseSift histograms (1000 bins, the paper's "
        "features), half of their photo CDs as the source: about 200 pictures, where the "
        "paper has 1200. M-MLTL and MLTL as printed with the Bartels-Stewart solver, 4 "
        "sweeps (2 with --quick; the paper does not say how many), one pass of the "
        "classifier; processor time of all threads, the fastest of 2 fits (1 with "
        "--quick). "
        "S-MLTL as rebuilt has no g: its row is what it takes at any. Times are this "
        "machine's; only their shape can be compared. The last column solves the same "
        "problem exactly. The figure has no numbers in the text; the claims are the "
        "text's.",
    .run = run_figure3,
};

const ferry_study ferry_i_study_mmltl_figure4 = {
    .name = "mmltl-figure4",
    .paper = MMLTL_PAPER,
    .shows = "figure 4: time of a fit against the number of source rows",
    .needs = MMLTL_NEEDS,
    .protocol = MMLTL_STANDIN
    "M-MLTL and MLTL as printed with g = 50 and the Bartels-Stewart solver, 10 sweeps, one "
    "pass of the classifier; processor time of all threads, the fastest of 30 fits (10 "
    "with "
    "--quick). Times are this machine's; only their shape can be compared. The figure has "
    "no "
    "numbers in the text; the claims are the text's.",
    .run = run_figure4,
};
