/* ferry fetch: public data sets. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Quotes, backslashes and control bytes of a JSON string. */
static void print_string(const char *text)
{
    putchar('"');
    for (const char *s = text; *s; s++) {
        if (*s == '"' || *s == '\\') putchar('\\');
        if ((unsigned char)*s < ' ')
            printf("\\u%04x", (unsigned char)*s);
        else
            putchar(*s);
    }
    putchar('"');
}

static int list(const cli *c, const ferry_catalog *catalog)
{
    cli_table t = {.cols = 4};
    char size[32];

    if (c->value[KEY_JSON]) {
        for (int64_t i = 0; ferry_catalog_at(catalog, i); i++) {
            const ferry_dataset *d = ferry_catalog_at(catalog, i);
            printf("%s{\"name\": ", i == 0 ? "[" : ",\n ");
            print_string(d->name);
            printf(", \"summary\": ");
            print_string(d->summary);
            printf(", \"terms\": ");
            print_string(d->terms);
            printf(", \"files\": %lld, \"bytes\": %lld}", (long long)d->files,
                   (long long)d->bytes);
        }
        puts("]");
        return EXIT_DONE;
    }
    for (int64_t i = 0; ferry_catalog_at(catalog, i); i++) {
        const ferry_dataset *d = ferry_catalog_at(catalog, i);
        cli_cell(&t, "%s", d->name);
        cli_cell(&t, "%s", d->bytes ? cli_bytes((double)d->bytes, size, sizeof size) : "");
        cli_cell(&t, "%s", d->summary);
        cli_cell(&t, "[%s]", d->terms);
    }
    cli_table_print(&t, stdout, 0);
    return EXIT_DONE;
}

int cli_fetch(cli *c)
{
    const char *dir = c->value[KEY_OUT] ? c->value[KEY_OUT] : "data";
    ferry_catalog *catalog = NULL;
    int code = EXIT_DONE;

    ferry_status st = ferry_catalog_load(c->ctx, c->value[KEY_CATALOG], &catalog);
    if (st != FERRY_OK) return cli_failed(c, st);
    if (c->n_args == 0) {
        if (c->value[KEY_OUT] || c->value[KEY_MIRROR] || ferry_opts_at(c->sets, 0))
            code = cli_usage("fetch: which data set? (ferry fetch lists them)");
        else
            code = list(c, catalog);
    } else if (c->value[KEY_JSON]) {
        code = cli_usage("fetch: --json goes with the list of data sets, without a name");
    } else {
        if (c->value[KEY_MIRROR])
            st = ferry_opts_set(c->ctx, c->sets, "mirror", c->value[KEY_MIRROR]);
        cli_ask_before_stopping(); /* what came so far stays, to be resumed */
        if (st == FERRY_OK) st = ferry_fetch(c->ctx, catalog, c->args[0], dir, c->sets);
        if (st != FERRY_OK) code = cli_failed(c, st);
        if (st == FERRY_OK) cli_note(c, "%s is in %s/%s", c->args[0], dir, c->args[0]);
    }
    ferry_catalog_free(catalog);
    return code;
}
