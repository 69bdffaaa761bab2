/* ferry doctor: what this installation is made of, and what is wrong with it. */
#include <string.h>

#include "cli.h"

static void row(cli_table *t, const char *left, const char *right)
{
    cli_cell(t, "%s", left);
    cli_cell(t, "%s", right);
}

static void engines(cli_table *t, const ferry_installation *f)
{
    for (int64_t i = 0; i < f->n_engines; i++) {
        cli_cell(t, "engine %s", f->engines[i]);
        cli_cell(t, "%s%s%s", f->engine_summaries[i],
                 f->engine_works[i] ? "" : "; does not work",
                 strcmp(f->engine, f->engines[i]) == 0 ? "; in use" : "");
    }
}

static void machine(cli_table *t, const ferry_installation *f)
{
    const double total = (double)(f->memory > 0 ? f->memory : 0);
    const double rest = (double)(f->memory_available > 0 ? f->memory_available : 0);
    char all[32], available[32];

    cli_cell(t, "BLAS kernels");
    cli_cell(t, "%s (this CPU wants %s)", f->blas_core, f->blas_wanted);
    cli_cell(t, "our kernels");
    cli_cell(t, "%s", f->isa);
    cli_cell(t, "threads");
    cli_cell(t, "%lld on %lld cores", (long long)f->threads, (long long)f->cores);
    cli_cell(t, "memory");
    cli_cell(t, "%s, %s available", cli_bytes(total, all, sizeof all),
             cli_bytes(rest, available, sizeof available));
}

static void print(const ferry_installation *f)
{
    cli_table t = {.cols = 2};

    row(&t, "ferry", f->version);
    row(&t, "compiler", f->compiler);
    for (int64_t i = 0; i < f->n_libraries; i++)
        row(&t, f->libraries[i], f->library_versions[i]);
    engines(&t, f);
    machine(&t, f);
    cli_table_print(&t, stdout, 0);
    putchar('\n');
    if (f->n_problems == 0) puts("No problems found.");
    for (int64_t i = 0; i < f->n_problems; i++)
        printf("Problem: %s\n", f->problems[i]);
}

int cli_doctor(cli *c)
{
    ferry_installation *here = NULL;
    int code = EXIT_DONE;

    ferry_status st = ferry_doctor(c->ctx, &here);
    if (st != FERRY_OK)
        code = cli_failed(c, st);
    else if (here->n_problems > 0)
        code = EXIT_FAILED;
    if (st == FERRY_OK && c->value[KEY_JSON]) puts(here->json);
    if (st == FERRY_OK && !c->value[KEY_JSON]) print(here);
    ferry_installation_free(here);
    return code;
}
