/* The command's reference for the docs (Markdown), from the table of commands. */
#include "cli.h"

/* A table cell: | would end it. */
static void cell(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '|') fputc('\\', to);
        fputc(*text, to);
    }
}

void cli_markdown_settings(FILE *to, const cli_settings *s)
{
    fputs("| option | default | range | meaning |\n| --- | --- | --- | --- |\n", to);
    for (int64_t i = 0; ferry_opt_at(s->table, i); i++) {
        const ferry_opt *o = ferry_opt_at(s->table, i);
        const char *quote = o->def[0] ? "`" : "";
        char *range = ferry_opt_range(o);
        fprintf(to, "| `%s` | %s%s%s | ", o->name, quote, o->def, quote);
        cell(to, range ? range : "");
        fputs(" | ", to);
        cell(to, o->help);
        fputs(" |\n", to);
        ferry_string_free(range);
    }
}

static void lines(FILE *to, const char *title, const cli_line *line, int64_t n)
{
    fprintf(to, "\n## %s\n\n| | |\n| --- | --- |\n", title);
    for (int64_t i = 0; i < n; i++) {
        fprintf(to, "| `%s` | ", line[i].left);
        cell(to, line[i].right);
        fputs(" |\n", to);
    }
}

static void command(FILE *to, const cli_command *c)
{
    cli_settings s = {0};

    fprintf(to, "\n## ferry %s\n\n    ferry %s%s%s\n\n%s\n", c->name, c->name,
            c->args[0] ? " " : "", c->args, c->text);
    fputs("\n| option | meaning |\n| --- | --- |\n", to);
    for (int64_t i = 0; i < c->n_options; i++) {
        const cli_option *o = &c->options[i];
        fputs("| ", to);
        if (o->letter) fprintf(to, "`-%c`, ", o->letter);
        fprintf(to, "`--%s%s%s` | ", o->name, o->value ? " " : "",
                o->value ? o->value : "");
        cell(to, o->help);
        fputs(" |\n", to);
    }
    for (int64_t i = 0; c->settings && c->settings(i, &s); i++) {
        fprintf(to, "\n%s:\n\n", s.title);
        cli_markdown_settings(to, &s);
    }
}

void cli_markdown(FILE *to)
{
    fputs("# The command\n\nMade by `ferry help --markdown`; the same words are in `ferry "
          "help "
          "COMMAND` and in the\nmanual page. Results go to standard output, messages to "
          "standard "
          "error as `ferry: message`. An\noption and its value may be written `--option "
          "value` "
          "or `--option=value`; `--` ends the options.\n",
          to);
    for (int64_t i = 0; i < cli_n_commands; i++)
        command(to, &cli_commands[i]);
    lines(to, "Examples", cli_examples, cli_n_examples);
    lines(to, "Exit codes", cli_exit_codes, cli_n_exit_codes);
    lines(to, "Environment", cli_environment, cli_n_environment);
}
