/* ferry select: which intermediate domain, or chain of them, to go by. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* --set of a key with a dot changes the task, the rest is for the selection. */
static ferry_status split_sets(cli *c, ferry_opts *task, ferry_opts *own)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; st == FERRY_OK && ferry_opts_at(c->sets, i); i++) {
        const ferry_setting *s = ferry_opts_at(c->sets, i);
        st = ferry_opts_set(c->ctx, strchr(s->key, '.') ? task : own, s->key, s->value);
    }
    if (st == FERRY_OK && c->value[KEY_ONE]) st = ferry_opts_set(c->ctx, own, "one", "yes");
    if (st == FERRY_OK && c->value[KEY_SEED])
        st = ferry_opts_set(c->ctx, task, "evaluate.seed", c->value[KEY_SEED]);
    return st;
}

/* Whether to rank by the paper's model. */
static int which(const cli *c, bool *paper)
{
    const char *by = c->value[KEY_BY] ? c->value[KEY_BY] : "trial";

    *paper = strcmp(by, "paper") == 0;
    if (!*paper && strcmp(by, "trial") != 0)
        return cli_usage("select: --by %s: expected trial or paper", by);
    if (!*paper && (c->value[KEY_SELECTOR] || c->value[KEY_OUT]))
        return cli_usage("select: %s goes with --by paper: a trial learns no selector",
                         c->value[KEY_SELECTOR] ? "--selector" : "-o");
    if (*paper && c->value[KEY_ONE])
        return cli_usage(
            "select: --one goes with --by trial: the paper's model recommends nothing");
    return EXIT_DONE;
}

static int print_selection(cli *c, const ferry_selection *selection)
{
    char *text = NULL;
    const ferry_status st = c->value[KEY_JSON]
                                ? ferry_selection_table(c->ctx, selection, "json", &text)
                                : ferry_selection_table(c->ctx, selection, NULL, &text);

    if (st != FERRY_OK) return cli_failed(c, st);
    fputs(text, stdout);
    if (text[0] && text[strlen(text) - 1] != '\n') putchar('\n');
    ferry_string_free(text);
    return EXIT_DONE;
}

int cli_select(cli *c)
{
    ferry_status st = FERRY_OK;
    ferry_opts *sets = NULL, *own = NULL;
    ferry_task *task = NULL;
    ferry_selection *selection = NULL;
    const char *from = c->value[KEY_SELECTOR], *to = c->value[KEY_OUT];
    bool paper = false;

    if (which(c, &paper) != EXIT_DONE) return EXIT_USAGE;
    if (to && cli_can_save(to) != EXIT_DONE) return EXIT_USAGE;
    st = ferry_opts_new(c->ctx, &sets);
    if (st == FERRY_OK) st = ferry_opts_new(c->ctx, &own);
    if (st == FERRY_OK) st = split_sets(c, sets, own);
    if (st == FERRY_OK && paper) st = ferry_opts_set(c->ctx, own, "by", "paper");
    if (st == FERRY_OK && from) st = ferry_opts_set(c->ctx, own, "selector", from);
    if (st == FERRY_OK && to) st = ferry_opts_set(c->ctx, own, "save", to);
    if (st == FERRY_OK) st = ferry_task_load(c->ctx, c->args[0], sets, &task);
    cli_ask_before_stopping();
    if (st == FERRY_OK) st = ferry_select(c->ctx, task, own, &selection);
    cli_progress_end();
    const int code = st == FERRY_OK ? print_selection(c, selection) : cli_failed(c, st);
    if (code == EXIT_DONE && to) cli_note(c, "the selector is in %s", to);
    ferry_selection_free(selection);
    ferry_task_free(task);
    ferry_opts_free(own);
    ferry_opts_free(sets);
    return code;
}
