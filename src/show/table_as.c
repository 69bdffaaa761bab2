/* The table for other programs and for papers: CSV with all digits, Markdown and LaTeX as it stands
 * on the screen. */
#include <math.h>
#include <string.h>

#include "show/show.h"

/* ---- CSV ---- */

static void csv_text(ferry_text *t, const char *text)
{
    const bool quoted = strpbrk(text, ",\"\r\n") != NULL;

    if (quoted) ferry_i_text_add(t, "\"");
    for (const char *s = text; *s; s++)
        ferry_i_text_addf(t, *s == '"' ? "\"\"" : "%c", *s);
    if (quoted) ferry_i_text_add(t, "\"");
}

/* What is not known is an empty cell. */
static void csv_real(ferry_text *t, double x)
{
    ferry_i_text_add(t, ",");
    if (isfinite(x)) ferry_i_text_addf(t, "%.15g", x);
}

static void as_csv(ferry_text *t, const ferry_sheet *s)
{
    static const char *const kinds[] = {"baseline", "transfer", "control"};
    const ferry_result *first = ferry_i_results_ranked(s->rs, 1);

    ferry_i_text_add(t, "method,kind");
    for (int64_t m = 0; first && m < s->metrics; m++) {
        const char *name = ferry_result_metric_at(first, m)->name;
        ferry_i_text_addf(t, ",%s,%s std", name, name);
    }
    ferry_i_text_add(t, ",fit seconds,versus,gain,low,high,p,verdict\n");
    for (int64_t i = 1; i <= s->rows; i++) {
        const ferry_result *r = ferry_i_results_ranked(s->rs, i);
        csv_text(t, r->name);
        ferry_i_text_addf(t, ",%s", kinds[r->kind]);
        for (int64_t m = 0; m < s->metrics; m++) {
            csv_real(t, ferry_result_metric_at(r, m)->mean);
            csv_real(t, ferry_result_metric_at(r, m)->std);
        }
        csv_real(t, ferry_i_mean(r->repeats, r->seconds));
        ferry_i_text_add(t, ",");
        csv_text(t, r->baseline ? r->baseline : "");
        csv_real(t, r->gain);
        csv_real(t, r->low);
        csv_real(t, r->high);
        csv_real(t, r->p_compare);
        ferry_i_text_addf(t, ",%s\n", r->verdict ? ferry_verdict_name(r->verdict) : "");
    }
}

/* ---- as on the screen ---- */

static void markdown_cell(ferry_text *t, const char *text)
{
    for (const char *s = text; *s; s++)
        ferry_i_text_addf(t, strchr("|\\`*_", *s) ? "\\%c" : "%c", *s);
}

/* Letters that LaTeX takes for something else, and the signs that its fonts lack. */
static void latex_cell(ferry_text *t, const char *text)
{
    for (const char *s = text; *s; s++) {
        if (strncmp(s, "\u00b1", strlen("\u00b1")) == 0) {
            ferry_i_text_add(t, "$\\pm$");
            s += strlen("\u00b1") - 1;
        } else if (*s == '\\')
            ferry_i_text_add(t, "\\textbackslash{}");
        else if (*s == '~' || *s == '^')
            ferry_i_text_addf(t, "\\%c{}", *s);
        else if (*s == '<' || *s == '>')
            ferry_i_text_addf(t, "$%c$", *s);
        else if (*s == '-' && s[1] >= '0' && s[1] <= '9')
            ferry_i_text_add(t, "$-$");
        else
            ferry_i_text_addf(t, strchr("#$%&_{}", *s) ? "\\%c" : "%c", *s);
    }
}

static void as_markdown(ferry_text *t, const ferry_sheet *s)
{
    char buf[FERRY_CELL];

    for (int64_t row = 0; row <= s->rows; row++) {
        for (int64_t c = 0; c < s->cols; c++) {
            ferry_i_text_add(t, c > 0 ? " | " : "| ");
            markdown_cell(t, ferry_i_sheet_cell(s, row, c, buf));
        }
        ferry_i_text_add(t, " |\n");
        for (int64_t c = 0; row == 0 && c < s->cols; c++)
            ferry_i_text_addf(t, "%s%s", ferry_i_sheet_left(s, c) ? "| --- " : "| ---: ",
                              c + 1 < s->cols ? "" : "|\n");
    }
}

/* For the package booktabs. */
static void as_latex(ferry_text *t, const ferry_sheet *s)
{
    char buf[FERRY_CELL];

    ferry_i_text_add(t, "\\begin{tabular}{");
    for (int64_t c = 0; c < s->cols; c++)
        ferry_i_text_add(t, ferry_i_sheet_left(s, c) ? "l" : "r");
    ferry_i_text_add(t, "}\n\\toprule\n");
    for (int64_t row = 0; row <= s->rows; row++) {
        for (int64_t c = 0; c < s->cols; c++) {
            if (c > 0) ferry_i_text_add(t, " & ");
            latex_cell(t, ferry_i_sheet_cell(s, row, c, buf));
        }
        ferry_i_text_add(t, row == 0 ? " \\\\\n\\midrule\n" : " \\\\\n");
    }
    ferry_i_text_add(t, "\\bottomrule\n\\end{tabular}\n");
}

static ferry_status table_as(ferry_ctx *ctx, const ferry_results *rs, const char *format,
                             char **out)
{
    static const struct {
        const char *name;
        void (*add)(ferry_text *t, const ferry_sheet *s);
    } formats[] = {{"csv", as_csv}, {"markdown", as_markdown}, {"latex", as_latex}};
    ferry_status st = FERRY_OK;
    const ferry_sheet s = ferry_i_sheet(rs, false);
    ferry_text t = {0};

    *out = NULL;
    if (strcmp(format, "text") == 0) return ferry_i_results_table(ctx, rs, false, out);
    for (int64_t i = 0; i < FERRY_COUNT(formats); i++)
        if (strcmp(formats[i].name, format) == 0) formats[i].add(&t, &s);
    FERRY_NEED(ctx, t.len > 0 || t.failed, FERRY_EINVAL,
               "format %s: expected text, csv, markdown, latex or json", format);
    FERRY_HAVE(ctx, !t.failed);
    FERRY_MOVE(*out, t.s);
done:
    ferry_i_text_free(&t);
    return st;
}

ferry_status ferry_results_table(ferry_ctx *ctx, const ferry_results *rs,
                                 const char *format, char **out)
{
    FERRY_ARGS_OUT(ctx, out, out, rs);

    if (!format) return ferry_i_results_table(ctx, rs, true, out);
    if (strcmp(format, "json") == 0) return ferry_i_results_json(ctx, rs, out);
    return table_as(ctx, rs, format, out);
}
