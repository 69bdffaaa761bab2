/* ferry reproduce: tables and figures of the papers, ours beside theirs. */
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "cli.h"

static const char *data_folder(const cli *c)
{
    const char *set = getenv("FERRY_DATA");

    return c->value[KEY_DATA] ? c->value[KEY_DATA] : set && set[0] ? set : "data";
}

/* Every study, and whether its data is there. */
static int list(cli *c)
{
    const char *data = data_folder(c);
    cli_table t = {.cols = 3};
    ferry_study_info s;

    for (int64_t i = 0; ferry_study_at(i, &s); i++) {
        char *missing = NULL;
        const ferry_status st = ferry_study_missing(c->ctx, s.name, data, &missing);
        if (st != FERRY_OK) return cli_failed(c, st);
        cli_cell(&t, "%s", s.name);
        cli_cell(&t, "%s", s.shows);
        if (missing)
            cli_cell(&t, "no %s", missing);
        else
            cli_cell(&t, "ready");
        ferry_string_free(missing);
    }
    cli_table_print(&t, stdout, 0);
    cli_note(c, "data sets are looked for in %s (--data DIR)", data);
    return EXIT_DONE;
}

static int run(cli *c)
{
    char *folder = c->value[KEY_OUT] ? cli_join(c->value[KEY_OUT], "", "")
                                     : cli_join("results/", c->args[0], "");
    const ferry_reproduce_settings settings = {.data = data_folder(c),
                                               .folder = folder,
                                               .quick = c->value[KEY_QUICK] != NULL,
                                               .build =
                                                   FERRY_BUILD[0] ? FERRY_BUILD : NULL};
    ferry_reproduction *r = NULL;
    char *missing = NULL, *text = NULL;
    int code = EXIT_DONE;

    /* A wrong name before a folder that cannot be made. */
    ferry_status st = ferry_study_missing(c->ctx, c->args[0], settings.data, &missing);
    if (st == FERRY_OK) code = cli_can_fill(folder);
    if (st == FERRY_OK && code == EXIT_DONE) {
        cli_ask_before_stopping();
        st = ferry_reproduce(c->ctx, c->args[0], &settings, &r);
        cli_progress_end();
    }
    if (st == FERRY_OK && code == EXIT_DONE)
        st = c->value[KEY_JSON] ? ferry_reproduction_json(c->ctx, r, &text)
                                : ferry_reproduction_table(c->ctx, r, &text);
    if (st == FERRY_ECANCELLED) {
        cli_say("interrupted: no study.json was written; the task files are in %s", folder);
        code = EXIT_INTERRUPTED;
    } else if (st != FERRY_OK) {
        code = cli_failed(c, st);
    } else if (code == EXIT_DONE) {
        fputs(text, stdout);
        cli_note(c, "study.json, the task files and the prepared data are in %s", folder);
    }
    ferry_string_free(text);
    ferry_string_free(missing);
    ferry_reproduction_free(r);
    free(folder);
    return code;
}

int cli_reproduce(cli *c)
{
    if (c->n_args > 0) return run(c);
    if (c->value[KEY_OUT] || c->value[KEY_QUICK] || c->value[KEY_JSON])
        return cli_usage("reproduce: which study? (ferry reproduce lists them)");
    return list(c);
}
