/* The command: what its files share. It sees only the public API, as any user's program. */
#ifndef FERRY_CLI_H
#define FERRY_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "ferry/ferry.h"

#define COUNT(a) ((int64_t)(sizeof(a) / sizeof((a)[0])))

/* Exit codes. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* ---- the table of commands (commands.c): parsing, help, man page and completions ---- */

typedef enum cli_key {
    KEY_SEED,
    KEY_THREADS,
    KEY_JOBS,
    KEY_MEMORY,
    KEY_MAX_INPUT,
    KEY_ENGINE,
    KEY_GPU_MEMORY,
    KEY_SET,
    KEY_QUIET,
    KEY_JSON,
    KEY_OUT,
    KEY_METHOD,
    KEY_SELECTOR,
    KEY_BY,
    KEY_ONE,
    KEY_FORMAT,
    KEY_TO,
    KEY_STATE,
    KEY_SYNC,
    KEY_REPAIR,
    KEY_LISTEN,
    KEY_TOKENS,
    KEY_OPEN,
    KEY_TLS_CERT,
    KEY_TLS_KEY,
    KEY_REPLAY,
    KEY_MIRROR,
    KEY_CATALOG,
    KEY_TOP,
    KEY_USER,
    KEY_RATED,
    KEY_KNOWN,
    KEY_MARKDOWN,
    KEY_MAN,
    KEY_COMPLETION,
    KEY_CONTROLS,
    KEY_GUARD,
    KEY_NO_ANSWER,
    KEY_SINGLE,
    KEY_ALL,
    KEY_RESUME,
    KEY_FORCE,
    KEY_SAVE,
    KEY_DATA,
    KEY_QUICK,
    KEY_MPI,
    KEY_SOURCE,
    KEY_BRIDGE,
    KEY_LABEL,
    KEY_ID,
    KEY_DROP,
    KEY_GOAL,
    KEY_METRIC,
    KEY_APART,
    KEY_HELP,
    N_KEYS
} cli_key;

/* What a value or argument is, for completion. */
typedef enum cli_words {
    WORDS_NONE,
    WORDS_FILE,
    WORDS_FOLDER,
    WORDS_COMMAND,
    WORDS_METHOD,
    WORDS_GENERATOR,
    WORDS_ENGINE,
    WORDS_FORMAT,
    WORDS_SHELL,
    WORDS_CONTROLS,
    WORDS_SYNC,
    WORDS_BY,
    WORDS_LINES,
    WORDS_TABLE,
    WORDS_STUDY
} cli_words;

typedef struct cli_option {
    cli_key key;
    char letter;       /* short form, or 0 */
    const char *name;  /* without the dashes */
    const char *value; /* what follows, such as "DIR"; NULL: a flag */
    cli_words words;
    const char *help; /* one line */
} cli_option;

/* An option table of the library whose keys --set takes. */
typedef struct cli_settings {
    const char *title;
    const ferry_opt_table *table;
} cli_settings;

typedef struct cli cli;
typedef struct cli_command {
    const char *name, *args, *summary; /* args as in the usage line; "" for none */
    const char *text;                  /* a paragraph for the help and the man page */
    int64_t min_args, max_args;
    cli_words words; /* what its arguments are */
    const cli_option *options;
    int64_t n_options;
    bool (*settings)(int64_t i, cli_settings *out); /* false past the end; NULL: none */
    bool computes;                                  /* needs the right BLAS kernels */
    int (*run)(cli *c);                             /* gives the exit code */
} cli_command;

extern const cli_command cli_commands[];
extern const int64_t cli_n_commands;
const cli_command *cli_command_find(const char *name); /* NULL: unknown */
int cli_unknown_command(const char *name);             /* says so; returns EXIT_USAGE */

/* Example lines and files that the help and the man page show. */
typedef struct cli_line {
    const char *left, *right;
} cli_line;
extern const cli_line cli_examples[], cli_exit_codes[], cli_environment[];
extern const int64_t cli_n_examples, cli_n_exit_codes, cli_n_environment;

/* ---- one call of the command ---- */

/* Values of an option that may be given several times. */
typedef struct cli_list {
    const char **at;
    int64_t n;
} cli_list;

struct cli {
    const cli_command *command;
    const char *value[N_KEYS]; /* as given; "" for a flag; NULL when not given */
    ferry_opts *sets;          /* of --set */
    cli_list sources, bridges; /* of --source and --bridge */
    const char **args;
    int64_t n_args;
    ferry_ctx *ctx;
    const char
        *self; /* what to type for this command: "ferry", or its path as it was typed */
    const char
        *task; /* the task file that is run, as a command to type would name it; or NULL */
    const char *compare; /* rerun: the folder whose numbers must come out again */
};

/* Read the words after the command's name. EXIT_DONE, or EXIT_USAGE after saying why. */
int cli_parse(cli *c, int argc, char **argv);
/* Put seed, threads, engine, log and progress into the context. */
int cli_configure(cli *c);

/* ---- messages and progress (screen.c) ---- */

/* "ferry: text" on stderr. */
void cli_say(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* The same unless --quiet. */
void cli_note(const cli *c, const char *fmt, ...) FERRY_PRINTF(2, 3);
/* Say it; returns EXIT_USAGE. */
int cli_usage(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* Say the context's message; returns the exit code that belongs to the status. */
int cli_failed(const cli *c, ferry_status status);

/* Ctrl-C ends the program with its own exit code. */
void cli_catch_interrupt(void);
/* From now on the first Ctrl-C or SIGTERM asks the running call to stop, by its progress callback, so
 * that what is complete can be kept; a second one ends the program. */
void cli_ask_before_stopping(void);
int cli_interrupt_code(void); /* the exit code of a program that was asked to stop */
void cli_log(void *user, ferry_level level, const char *line);
/* Draws a bar on a terminal after a second; user is NULL under --quiet. */
ferry_answer cli_progress(void *user, const ferry_progress *p);
void cli_progress_end(void);

/* ---- tables of text (text.c) ---- */

typedef struct cli_table {
    int64_t cols, n, cap; /* n cells, row after row */
    char **cell;
} cli_table;
/* Add a cell (copied). Out of memory ends the program. */
void cli_cell(cli_table *t, const char *fmt, ...) FERRY_PRINTF(2, 3);
/* Print with columns lined up and two spaces between, every line after `indent` spaces.
 * Frees the table. */
void cli_table_print(cli_table *t, FILE *to, int indent);
/* Memory or the end of the program: the command has nothing better to do. */
void *cli_alloc(size_t bytes);
char *cli_join(const char *a, const char *b, const char *c); /* new string a b c */
/* What a terminal would take as a command becomes '?'; line ends and tabs stay. Returns how many bytes
 * are done: less than n where the last character is not complete. */
size_t cli_clean(char *s, size_t n);
/* The same for a whole string of one line. */
void cli_clean_line(char *s);
/* From now on what goes to stdout is cleaned, if that is a terminal. */
void cli_clean_stdout(void);
/* "12.3 MB" */
const char *cli_bytes(double n, char *buffer, size_t size);

/* A word of a command to type, quoted for the shell where it has to be. */
const char *cli_word(const char *s, char *buffer, size_t size);

/* Options of a table of the library: name, default, range, help. */
void cli_print_settings(FILE *to, const cli_settings *s, int indent);

/* ---- documents made from the table ---- */

void cli_help_all(FILE *to);
void cli_help_command(FILE *to, const cli_command *command);
void cli_markdown(FILE *to);
void cli_markdown_settings(FILE *to, const cli_settings *s); /* a table of options */
void cli_man(FILE *to);                                      /* roff */
bool cli_completion(FILE *to, const char *shell);            /* false: unknown shell */
const char *cli_word_at(cli_words words, int64_t i); /* i-th word; NULL past the end */

const char *cli_study_at(int64_t i); /* name of a study, likewise */

/* ---- work that two commands share ---- */

/* Run the task's methods, print the table (--json: results.json) and save into dir unless
 * NULL. Returns the exit code. */
int cli_evaluate(cli *c, const ferry_task *task, const char *dir);
/* Copy a file to stdout. */
int cli_print_file(const char *path);
/* Whether a file can be made at path, or a folder filled (and made, with those above it);
 * else says why not: EXIT_USAGE. */
int cli_can_write(const char *path);
/* ... and what is there, if anything, is a model, a selector or empty: not a task or its data. */
int cli_can_save(const char *path);
/* EXIT_USAGE, said, if both are one file: it would be lost. */
int cli_not_read(const char *path, const char *from);
int cli_can_fill(const char *dir);
/* Whether results of that task can take the folder's place: results of another one only under
 * --force; else says why not: EXIT_USAGE. */
int cli_can_replace(const cli *c, const char *dir, const char *task);
/* New empty folder under TMPDIR (those that killed commands left are removed), and its removal with all
 * that is in it. */
char *cli_temporary(void);
void cli_remove(char *folder);

int cli_answer(cli *c);
int cli_run(cli *c);
int cli_rerun(cli *c);
int cli_report(cli *c);
int cli_explain(cli *c);
int cli_results_table(cli *c);
int cli_advise(cli *c);
int cli_fit(cli *c);
int cli_predict(cli *c);
int cli_methods(cli *c);
int cli_inspect(cli *c);
int cli_convert(cli *c);
int cli_gen(cli *c);
int cli_demo(cli *c);
int cli_select(cli *c);
int cli_fetch(cli *c);
int cli_reproduce(cli *c);
int cli_stream(cli *c);
int cli_serve(cli *c);
int cli_doctor(cli *c);
int cli_help(cli *c);
int cli_version(cli *c);

#endif
