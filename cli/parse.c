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

static int store(cli *c, const cli_option *o, const char *value)
{
    const char *equals = NULL;
    char *key = NULL;
    ferry_status st = FERRY_OK;

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

/* A whole number in [0, most]. */
static bool whole(const char *text, unsigned long long most, unsigned long long *out)
{
    char *end = NULL;

    if (text[0] < '0' || text[0] > '9') return false; /* strtoull would take -1 */
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *out <= most;
}

/* A number of bytes: 1500000, 800M, 7.5G; false: it is none. */
static bool size_of(const char *text, int64_t *out)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    double bytes = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1;
    const char *unit = end && *end ? strchr(units, *end) : NULL;

    for (const char *u = units; unit && u <= unit; u++)
        bytes *= 1024;
    if (bytes < 0 || bytes > 9e18 || (*end && !unit) || (unit && end[1])) return false;
    *out = (int64_t)bytes;
    return true;
}

int cli_configure(cli *c)
{
    ferry_status st = FERRY_OK;
    unsigned long long n = 0;
    int64_t bytes = 0;
    const char *const *v = c->value;

    if (v[KEY_SEED]) {
        /* results.json and task files keep seeds as numbers that are exact up to 2^53 */
        if (!whole(v[KEY_SEED], 1ULL << 53, &n))
            return cli_usage("--seed %s: expected a whole number, 0 .. 9007199254740992",
                             v[KEY_SEED]);
        ferry_ctx_set_seed(c->ctx, n);
    }
    if (v[KEY_THREADS]) {
        if (!whole(v[KEY_THREADS], 1024, &n))
            return cli_usage("--threads %s: expected a whole number, 0 .. 1024",
                             v[KEY_THREADS]);
        st = ferry_ctx_set_threads(c->ctx, (int)n);
    }
    if (v[KEY_JOBS]) {
        if (!whole(v[KEY_JOBS], 1024, &n))
            return cli_usage("--jobs %s: expected a whole number, 0 .. 1024", v[KEY_JOBS]);
        st = ferry_ctx_set_jobs(c->ctx, (int)n);
    }
    if (v[KEY_MEMORY]) {
        if (!size_of(v[KEY_MEMORY], &bytes))
            return cli_usage("--memory %s: expected bytes, or a number with K, M, G or T",
                             v[KEY_MEMORY]);
        st = ferry_ctx_set_memory(c->ctx, bytes);
    }
    if (v[KEY_MAX_INPUT]) {
        if (!size_of(v[KEY_MAX_INPUT], &bytes) || bytes == 0)
            return cli_usage(
                "--max-input %s: expected a number of bytes, such as 500M or 2G",
                v[KEY_MAX_INPUT]);
        if (st == FERRY_OK) st = ferry_ctx_set_max_input(c->ctx, bytes);
    }
    if (st == FERRY_OK && v[KEY_ENGINE]) st = ferry_ctx_set_engine(c->ctx, v[KEY_ENGINE]);
    if (st != FERRY_OK) return cli_failed(c, st);
    ferry_ctx_set_log(c->ctx, cli_log, FERRY_WARN, NULL);
    ferry_ctx_set_progress(c->ctx, cli_progress, v[KEY_QUIET] ? NULL : c);
    return EXIT_DONE;
}
