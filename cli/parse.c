/* Words of the command line: options, their values, arguments. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static int no_such_option(const cli *c, const char *word, size_t len)
{
    const char *names[N_KEYS];
    char given[64] = "";
    int64_t n = 0;

    for (; n < c->command->n_options; n++)
        names[n] = c->command->options[n].name;
    snprintf(given, sizeof given, "%.*s", (int)len, word);
    const char *near = given[1] == '-' ? ferry_nearest(given + 2, n, names) : NULL;
    if (near)
        return cli_usage("%s: unknown option %s (did you mean --%s?)", c->command->name,
                         given, near);
    return cli_usage("%s: unknown option %s (see ferry help %s)", c->command->name, given,
                     c->command->name);
}

/* The option that a word such as "--out", "--out=x" or "-o" names; NULL: none. */
static const cli_option *option_of(const cli_command *command, const char *word, size_t len)
{
    for (int64_t i = 0; i < command->n_options; i++) {
        const cli_option *o = &command->options[i];
        if (word[1] == '-' && strlen(o->name) == len - 2 &&
            strncmp(word + 2, o->name, len - 2) == 0)
            return o;
        if (word[1] != '-' && len == 2 && o->letter == word[1]) return o;
    }
    return NULL;
}

static void append(cli_list *list, const char *value)
{
    const char **more = cli_alloc((size_t)(list->n + 1) * sizeof *more);

    for (int64_t i = 0; i < list->n; i++)
        more[i] = list->at[i];
    more[list->n] = value;
    free(list->at);
    *list = (cli_list){more, list->n + 1};
}

static int store(cli *c, const cli_option *o, const char *value)
{
    const char *equals = NULL;
    char *key = NULL;
    ferry_status st = FERRY_OK;

    if (o->key == KEY_SOURCE || o->key == KEY_BRIDGE) {
        append(o->key == KEY_SOURCE ? &c->sources : &c->bridges, value);
        return EXIT_DONE;
    }
    if (o->key != KEY_SET) {
        if (c->value[o->key] && o->value)
            return cli_usage("%s: --%s is given twice", c->command->name, o->name);
        c->value[o->key] = value;
        return EXIT_DONE;
    }
    equals = strchr(value, '=');
    if (!equals || equals == value)
        return cli_usage("%s: --set %s: expected KEY=VALUE", c->command->name, value);
    key = cli_join(value, "", "");
    key[equals - value] = 0;
    st = ferry_opts_set(c->ctx, c->sets, key, equals + 1);
    free(key);
    return st == FERRY_OK ? EXIT_DONE : cli_failed(c, st);
}

/* One option at argv[*at]; moves *at over its value. */
static int option(cli *c, int argc, char **argv, int *at)
{
    const char *word = argv[*at], *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    const size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const cli_option *o = option_of(c->command, word, len);

    if (!o) return no_such_option(c, word, len);
    if (!o->value) {
        if (equals) return cli_usage("%s: --%s takes no value", c->command->name, o->name);
        return store(c, o, "");
    }
    if (equals) return store(c, o, equals + 1);
    if (*at + 1 >= argc)
        return cli_usage("%s: --%s needs a value: %s", c->command->name, o->name, o->value);
    return store(c, o, argv[++*at]);
}

int cli_parse(cli *c, int argc, char **argv)
{
    bool only_args = false;
    int code = EXIT_DONE;

    c->args = cli_alloc((size_t)(argc + 1) * sizeof *c->args);
    for (int i = 0; i < argc && code == EXIT_DONE; i++) {
        if (!only_args && strcmp(argv[i], "--") == 0)
            only_args = true;
        else if (!only_args && argv[i][0] == '-' && argv[i][1])
            code = option(c, argc, argv, &i);
        else
            c->args[c->n_args++] = argv[i];
    }
    if (code != EXIT_DONE || c->value[KEY_HELP]) return code;
    if (c->n_args < c->command->min_args)
        return cli_usage("%s: something is missing: ferry %s %s", c->command->name,
                         c->command->name, c->command->args);
    if (c->n_args > c->command->max_args)
        return cli_usage("%s: unexpected argument %s (see ferry help %s)", c->command->name,
                         c->args[c->command->max_args], c->command->name);
    return EXIT_DONE;
}

/* Settings of the context: which option, the name there. */
static const struct {
    cli_key key;
    const char *option, *name;
} settings[] = {{KEY_SEED, "seed", "seed"},
                {KEY_THREADS, "threads", "threads"},
                {KEY_JOBS, "jobs", "jobs"},
                {KEY_MEMORY, "memory", "memory"},
                {KEY_ENGINE, "engine", "engine"},
                {KEY_MAX_INPUT, "max-input", "max_input"},
                {KEY_GPU_MEMORY, "gpu-memory", "gpu_memory"}};

int cli_configure(cli *c)
{
    const char *engine = getenv("FERRY_ENGINE");

    if (engine && !c->value[KEY_ENGINE] &&
        ferry_ctx_set(c->ctx, "engine", engine) != FERRY_OK)
        return cli_failed(c, FERRY_EINVAL);
    for (int64_t i = 0; i < COUNT(settings); i++) {
        const char *value = c->value[settings[i].key], *why = NULL;
        if (!value || ferry_ctx_set(c->ctx, settings[i].name, value) == FERRY_OK) continue;
        why = strstr(ferry_message(c->ctx), ": expected"); /* "seed x: expected ..." */
        if (!why) return cli_failed(c, FERRY_EINVAL);
        return cli_usage("--%s %s%s", settings[i].option, value, why);
    }
    ferry_ctx_set_log(c->ctx, cli_log, FERRY_WARN, NULL);
    ferry_ctx_set_progress(c->ctx, cli_progress, c->value[KEY_QUIET] ? NULL : c);
    return EXIT_DONE;
}
