/* Completion scripts of bash and zsh, from the table of commands. */
#include <string.h>

#include "cli.h"

static const char *const engines[] = {"host", "ref", "mpi", "cuda", "auto"};
static const char *const shells[] = {"bash", "zsh"};
static const char *const levels[] = {"none", "quick", "full"};
static const char *const syncs[] = {"always", "batch", "off"};
static const char *const bys[] = {"trial", "paper"};
static const char *const lines[] = {"ndjson", "csv", "svmlight"};
static const char *const tables[] = {"csv", "markdown", "latex"};

const char *cli_word_at(cli_words words, int64_t i)
{
    switch (words) {
    case WORDS_COMMAND: return i < cli_n_commands ? cli_commands[i].name : NULL;
    case WORDS_METHOD: return ferry_method_at(i) ? ferry_method_at(i)->name : NULL;
    case WORDS_GENERATOR: return ferry_generator_at(i) ? ferry_generator_at(i)->name : NULL;
    case WORDS_FORMAT: return ferry_format_at(i) ? ferry_format_at(i)->name : NULL;
    case WORDS_ENGINE: return i < COUNT(engines) ? engines[i] : NULL;
    case WORDS_SHELL: return i < COUNT(shells) ? shells[i] : NULL;
    case WORDS_CONTROLS: return i < COUNT(levels) ? levels[i] : NULL;
    case WORDS_SYNC: return i < COUNT(syncs) ? syncs[i] : NULL;
    case WORDS_BY: return i < COUNT(bys) ? bys[i] : NULL;
    case WORDS_LINES: return i < COUNT(lines) ? lines[i] : NULL;
    case WORDS_TABLE: return i < COUNT(tables) ? tables[i] : NULL;
    case WORDS_STUDY: return cli_study_at(i);
    case WORDS_NONE:
    case WORDS_FILE:
    case WORDS_FOLDER: break;
    }
    return NULL;
}

static void list(FILE *to, cli_words words)
{
    const char *word = NULL;

    for (int64_t i = 0; (word = cli_word_at(words, i)); i++)
        fprintf(to, "%s%s", i > 0 ? " " : "", word);
}

/* ---- bash ---- */

/* After an option that takes a value: "run --out") ... */
static void bash_value(FILE *to, const cli_command *c, const cli_option *o)
{
    fprintf(to, "    '%s --%s'", c->name, o->name);
    if (o->letter) fprintf(to, "|'%s -%c'", c->name, o->letter);
    fputs(") ", to);
    if (o->words == WORDS_FOLDER) {
        fputs("COMPREPLY=($(compgen -d -- \"$cur\")); ", to);
    } else if (o->words != WORDS_FILE && o->words != WORDS_NONE) {
        fputs("COMPREPLY=($(compgen -W '", to);
        list(to, o->words);
        fputs("' -- \"$cur\")); ", to);
    }
    fputs("return ;;\n", to);
}

static void bash_command(FILE *to, const cli_command *c)
{
    fprintf(to, "    %s) options='", c->name);
    for (int64_t i = 0; i < c->n_options; i++) {
        if (c->options[i].letter) fprintf(to, "-%c ", c->options[i].letter);
        fprintf(to, "--%s%s", c->options[i].name, i + 1 < c->n_options ? " " : "");
    }
    fputs("'; words='", to);
    list(to, c->words);
    fputs("' ;;\n", to);
}

static void bash(FILE *to)
{
    fputs("# bash completion for ferry, made by: ferry help --completion bash\n"
          "_ferry() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local options='' words=''\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          to);
    list(to, WORDS_COMMAND);
    fputs(" --help --version' -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    case \"${COMP_WORDS[1]} $prev\" in\n",
          to);
    for (int64_t i = 0; i < cli_n_commands; i++)
        for (int64_t j = 0; j < cli_commands[i].n_options; j++)
            if (cli_commands[i].options[j].value)
                bash_value(to, &cli_commands[i], &cli_commands[i].options[j]);
    fputs("    esac\n"
          "    case \"${COMP_WORDS[1]}\" in\n",
          to);
    for (int64_t i = 0; i < cli_n_commands; i++)
        bash_command(to, &cli_commands[i]);
    fputs(
        "    esac\n"
        "    case \"$cur\" in\n"
        "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
        "    *) [ -z \"$words\" ] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
        "    esac\n"
        "}\n"
        "# No answer means file names.\n"
        "complete -o default -F _ferry ferry\n",
        to);
}

/* ---- zsh ---- */

/* Inside single quotes and the brackets of _arguments. */
static void zsh_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr("[]:\\", *text))
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
    }
}

static void zsh_action(FILE *to, cli_words words)
{
    if (words == WORDS_FILE) {
        fputs("_files", to);
    } else if (words == WORDS_FOLDER) {
        fputs("_files -/", to);
    } else if (words != WORDS_NONE) {
        fputc('(', to);
        list(to, words);
        fputc(')', to);
    }
}

static void zsh_option(FILE *to, const cli_option *o)
{
    fputs(" \\\n        ", to);
    if (o->key == KEY_SET)
        fprintf(to, "'*--%s", o->name);
    else if (o->letter)
        fprintf(to, "'(-%c --%s)'{-%c,--%s}'", o->letter, o->name, o->letter, o->name);
    else
        fprintf(to, "'--%s", o->name);
    fputc('[', to);
    zsh_text(to, o->help);
    fputc(']', to);
    if (o->value) {
        fputc(':', to);
        zsh_text(to, o->value);
        fputc(':', to);
        zsh_action(to, o->words);
    }
    fputc('\'', to);
}

static void zsh(FILE *to)
{
    fputs("#compdef ferry\n"
          "# zsh completion for ferry, made by: ferry help --completion zsh\n"
          "_ferry() {\n"
          "    local -a commands=(\n",
          to);
    for (int64_t i = 0; i < cli_n_commands; i++) {
        fprintf(to, "        '%s:", cli_commands[i].name);
        zsh_text(to, cli_commands[i].summary);
        fputs("'\n", to);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe 'command' commands\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $words[1] in\n",
          to);
    for (int64_t i = 0; i < cli_n_commands; i++) {
        const cli_command *c = &cli_commands[i];
        fprintf(to, "    %s)\n        _arguments", c->name);
        for (int64_t j = 0; j < c->n_options; j++)
            zsh_option(to, &c->options[j]);
        if (c->words != WORDS_NONE) {
            fputs(" \\\n        '*:argument:", to);
            zsh_action(to, c->words);
            fputc('\'', to);
        }
        fputs("\n        ;;\n", to);
    }
    fputs("    esac\n"
          "}\n"
          "_ferry \"$@\"\n",
          to);
}

bool cli_completion(FILE *to, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        bash(to);
    else if (strcmp(shell, "zsh") == 0)
        zsh(to);
    else
        return false;
    return true;
}
