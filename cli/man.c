/* The manual page (roff), from the table of commands. */
#include <ctype.h>

#include "cli.h"

/* Text with what roff would take for its own made plain. */
static void plain(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", to);
    for (; *text; text++) {
        switch (*text) {
        case '-': fputs("\\-", to); break;
        case '\\': fputs("\\e", to); break;
        default: fputc(*text, to);
        }
    }
}

static void item(FILE *to, const char *left, const char *right)
{
    fputs(".TP\n.B ", to);
    plain(to, left);
    fputc('\n', to);
    plain(to, right);
    fputc('\n', to);
}

static void section(FILE *to, const char *name, const cli_line *lines, int64_t n)
{
    fprintf(to, ".SH %s\n", name);
    for (int64_t i = 0; i < n; i++)
        item(to, lines[i].left, lines[i].right);
}

static void settings(FILE *to, const cli_settings *s)
{
    fputs(".PP\n", to);
    plain(to, s->title);
    fputs(":\n.RS\n", to);
    for (int64_t i = 0; ferry_opt_at(s->table, i); i++) {
        const ferry_opt *o = ferry_opt_at(s->table, i);
        char *range = ferry_opt_range(o);
        fputs(".TP\n.B ", to);
        plain(to, o->name);
        fputs("\n", to);
        plain(to, o->help);
        fputs(" (", to);
        plain(to, range ? range : "");
        fputs("; default ", to);
        plain(to, o->def[0] ? o->def : "none");
        fputs(")\n", to);
        ferry_string_free(range);
    }
    fputs(".RE\n", to);
}

static void command(FILE *to, const cli_command *c)
{
    cli_settings s = {0};

    fputs(".SS ferry ", to);
    fprintf(to, "%s ", c->name);
    plain(to, c->args);
    fputs("\n", to);
    fputc(toupper((unsigned char)c->summary[0]), to);
    plain(to, c->summary + 1);
    fputs(".\n", to);
    plain(to, c->text);
    fputs("\n", to);
    for (int64_t i = 0; i < c->n_options; i++) {
        const cli_option *o = &c->options[i];
        if (o->key == KEY_HELP) continue; /* said once, under OPTIONS */
        fputs(".TP\n.B ", to);
        if (o->letter) fprintf(to, "\\-%c, ", o->letter);
        fputs("\\-\\-", to);
        plain(to, o->name);
        if (o->value) fprintf(to, " %s", o->value);
        fputs("\n", to);
        plain(to, o->help);
        fputs("\n", to);
    }
    for (int64_t i = 0; c->settings && c->settings(i, &s); i++)
        settings(to, &s);
}

void cli_man(FILE *to)
{
    fprintf(to,
            ".TH FERRY 1 \"\" \"ferry %s\" \"User Commands\"\n"
            ".SH NAME\n"
            "ferry \\- heterogeneous transfer learning\n"
            ".SH SYNOPSIS\n",
            ferry_version());
    for (int64_t i = 0; i < cli_n_commands; i++) {
        fprintf(to, ".B ferry %s\n", cli_commands[i].name);
        plain(to, cli_commands[i].args);
        fprintf(to, "%s%s", cli_commands[i].args[0] ? "\n" : "",
                i + 1 < cli_n_commands ? ".br\n" : "");
    }
    fputs(
        ".SH DESCRIPTION\n"
        "Ferry carries what was learned in one place to another: from labelled sources to "
        "a "
        "target whose\nfeatures, distribution or labels differ. A task file names the data "
        "and the goal; methods are put\nside by side on it, so that one can see whether "
        "transfer helps.\n"
        ".PP\nResults go to standard output, messages to standard error. An option and its "
        "value may be written\n\\-\\-option value or \\-\\-option=value; \\-\\- ends the "
        "options.\n"
        ".SH OPTIONS\n",
        to);
    item(to, "-h, --help", "Say what a command does; every command has it.");
    item(to, "--version", "Print the version.");
    fputs(".SH COMMANDS\n", to);
    for (int64_t i = 0; i < cli_n_commands; i++)
        command(to, &cli_commands[i]);
    section(to, "EXAMPLES", cli_examples, cli_n_examples);
    section(to, "EXIT STATUS", cli_exit_codes, cli_n_exit_codes);
    section(to, "ENVIRONMENT", cli_environment, cli_n_environment);
}
