/* Help on the terminal, from the table of commands. */
#include <string.h>

#include "cli.h"

enum { WIDTH = 78 };

/* A paragraph, broken at spaces. */
static void paragraph(FILE *to, const char *text)
{
    int at = 0;

    while (*text) {
        const int n = (int)strcspn(text, " ");
        if (at > 0 && at + 1 + n > WIDTH) {
            fputc('\n', to);
            at = 0;
        }
        fprintf(to, "%s%.*s", at > 0 ? " " : "", n, text);
        at += n + (at > 0);
        text += n;
        while (*text == ' ')
            text++;
    }
    fputc('\n', to);
}

void cli_help_all(FILE *to)
{
    cli_table commands = {.cols = 2}, examples = {.cols = 2};

    fputs(
        "ferry: learn from labelled data to predict for other data whose features differ\n"
        "\nCommands:\n",
        to);
    for (int64_t i = 0; i < cli_n_commands; i++) {
        const cli_command *c = &cli_commands[i];
        cli_cell(&commands, "ferry %s%s%s", c->name, c->args[0] ? " " : "", c->args);
        cli_cell(&commands, "%s", c->summary);
    }
    cli_table_print(&commands, to, 2);
    fputs("\nTo begin:\n", to);
    for (int64_t i = 0; i < 2; i++) {
        cli_cell(&examples, "%s", cli_examples[i].left);
        cli_cell(&examples, "%s", cli_examples[i].right);
    }
    cli_table_print(&examples, to, 2);
    fputs("\nferry help COMMAND says more.\n", to);
}

void cli_help_command(FILE *to, const cli_command *command)
{
    cli_table t = {.cols = 2};
    cli_settings s = {0};

    /* not broken within what is to be typed */
    const int used = fprintf(to, "ferry %s%s%s:", command->name,
                             command->args[0] ? " " : "", command->args);
    fprintf(to, "%s%s\n\n", used + 1 + (int)strlen(command->summary) > WIDTH ? "\n" : " ",
            command->summary);
    paragraph(to, command->text);
    fputs("\nOptions:\n", to);
    for (int64_t i = 0; i < command->n_options; i++) {
        const cli_option *o = &command->options[i];
        const char letter[] = {'-', o->letter, ',', ' ', 0};
        cli_cell(&t, "%s--%s%s%s", o->letter ? letter : "    ", o->name,
                 o->value ? " " : "", o->value ? o->value : "");
        cli_cell(&t, "%s", o->help);
    }
    cli_table_print(&t, to, 2);
    for (int64_t i = 0; command->settings && command->settings(i, &s); i++) {
        fprintf(to, "\n%s, with default and range:\n", s.title);
        cli_print_settings(to, &s, 2);
    }
}

int cli_help(cli *c)
{
    const char *const *v = c->value;
    const cli_command *command = NULL;

    if (!!v[KEY_MAN] + !!v[KEY_MARKDOWN] + !!v[KEY_COMPLETION] + c->n_args > 1)
        return cli_usage("help: one of COMMAND, --man, --markdown, --completion at a time");
    if (v[KEY_MARKDOWN]) {
        cli_markdown(stdout);
        return EXIT_DONE;
    }
    if (v[KEY_MAN]) {
        cli_man(stdout);
        return EXIT_DONE;
    }
    if (v[KEY_COMPLETION]) {
        if (cli_completion(stdout, v[KEY_COMPLETION])) return EXIT_DONE;
        return cli_usage("help: --completion %s: expected bash or zsh", v[KEY_COMPLETION]);
    }
    if (c->n_args == 0) {
        cli_help_all(stdout);
        return EXIT_DONE;
    }
    command = cli_command_find(c->args[0]);
    if (!command) return cli_unknown_command(c->args[0]);
    cli_help_command(stdout, command);
    return EXIT_DONE;
}
