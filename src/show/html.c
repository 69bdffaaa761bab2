/* report.html: the results of one or more folders as one page that needs nothing else.
 *
 * The page is a fixed text around one block of JSON. What comes from data, names and files
 * stands only in that block, where every <, > and & is written as an escape, so it cannot
 * end the block; the script makes elements and text of it, never markup. A content security
 * policy allows that one script, by its hash, and nothing else. */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "show/page/page.h"
#include "show/show.h"

ferry_status ferry_i_report_file(ferry_ctx *ctx, const char *dir, const char *name,
                                 bool needed, json_t **out)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(dir, name);
    json_error_t error;

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_json_load(ctx, path, &error, out));
    FERRY_NEED(ctx, *out || error.line > 0 || !needed, FERRY_EDATA,
               "%s: cannot read; expected the folder of a run (ferry run -o)", path);
    FERRY_NEED(ctx, *out || error.line <= 0, FERRY_EDATA, "%s:%d: %s", path, error.line,
               error.text);
done:
    ferry_i_free(path);
    return st;
}

/* A page is sent around, so it does not say where on its maker's machine something is: of an absolute path the
 * folder and the file are enough to know it by. */
static const char *known_by(const char *path)
{
    const char *from = strrchr(path, '/');

    if (path[0] != '/') return path;
    while (from > path && from[-1] != '/')
        from--;
    return from;
}

/* The same of the task in a run's record. */
static ferry_status leave_place_out(ferry_ctx *ctx, json_t *run)
{
    ferry_status st = FERRY_OK;
    json_t *task = json_object_get(run, "task");
    const char *file = json_string_value(json_object_get(task, "file")),
               *command = json_string_value(json_object_get(run, "command"));
    ferry_text text = {0};

    if (!file || file[0] != '/') return FERRY_OK;
    const char *from = known_by(file);
    const char *at = command ? strstr(command, file) : NULL;
    if (at) {
        ferry_i_text_addn(&text, command, at - command);
        ferry_i_text_addf(&text, "%s%s", from, at + strlen(file));
        FERRY_HAVE(ctx, !text.failed);
    }
    /* a path that a shell needs other quotes for is not in the command as it is */
    FERRY_HAVE(ctx, json_object_set_new(run, "command",
                                        at ? ferry_i_json_text(text.s) : json_null()) == 0);
    FERRY_HAVE(ctx, json_object_set_new(task, "file", ferry_i_json_text(from)) == 0);
done:
    ferry_i_text_free(&text);
    return st;
}

static ferry_status add_run(ferry_ctx *ctx, const char *dir, const char *name, json_t *runs)
{
    ferry_status st = FERRY_OK;
    json_t *run = NULL;
    ferry_results *results = NULL;

    FERRY_TRY(ferry_results_load(ctx, dir, &results)); /* checks what the page relies on */
    FERRY_TRY(ferry_i_report_file(ctx, dir, "run.json", false, &run));
    FERRY_TRY(leave_place_out(ctx, run));
    FERRY_HAVE(ctx, json_array_append_new(runs, json_pack("{s:o, s:O, s:O?}", "folder",
                                                          ferry_i_json_text(known_by(name)),
                                                          "results", results->saved, "run",
                                                          run)) == 0);
done:
    ferry_results_free(results);
    json_decref(run);
    return st;
}

/* JSON with nothing in it that HTML could take for markup. */
static int add_escaped(const char *bytes, size_t n, void *out)
{
    for (size_t i = 0, from = 0; i <= n; i++) {
        if (i < n && !strchr("<>&", bytes[i])) continue;
        ferry_i_out_write(out, bytes + from, (int64_t)(i - from));
        if (i < n) ferry_i_out_printf(out, "\\u%04x", (unsigned char)bytes[i]);
        from = i + 1;
    }
    return 0;
}

/* "sha256-..." of the script, in base64. */
static void script_hash(char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const parts[] = {ferry_i_page_vega, ferry_i_page_plots,
                                 ferry_i_page_script};
    uint8_t digest[33] = {0};
    ferry_sha256 s;

    ferry_i_sha256_begin(&s);
    for (int i = 0; i < 3; i++)
        ferry_i_sha256_add(&s, parts[i], (int64_t)strlen(parts[i]));
    ferry_i_sha256_end(&s, digest);
    for (int i = 0; i < 33; i += 3) { /* 32 bytes: 43 letters and one '=' */
        const uint32_t x = (uint32_t)digest[i] << 16 | (uint32_t)digest[i + 1] << 8 |
                           (i + 2 < 33 ? digest[i + 2] : 0);
        for (int k = 0; k < 4; k++)
            *text++ = letters[x >> (18 - 6 * k) & 63];
    }
    text[-1] = '=';
    *text = 0;
}

ferry_status ferry_report_write(ferry_ctx *ctx, int64_t n, const char *const *folders,
                                const char *path)
{
    FERRY_ARGS(ctx, path, n == 0 ? "" : (const void *)folders);

    return ferry_i_report_write(ctx, n, folders, folders, path);
}

ferry_status ferry_i_report_write(ferry_ctx *ctx, int64_t n, const char *const *folders,
                                  const char *const *names, const char *path)
{
    ferry_status st = FERRY_OK;
    json_t *runs = json_array(), *all = NULL;
    ferry_out *o = NULL;
    char hash[64];

    FERRY_HAVE(ctx, runs);
    FERRY_NEED(ctx, n > 0, FERRY_EINVAL, "a report needs the folder of a run");
    for (int64_t i = 0; i < n; i++)
        FERRY_TRY(add_run(ctx, folders[i], names[i], runs));
    all = json_pack("{s:s, s:O}", "ferry", ferry_version(), "runs", runs);
    FERRY_HAVE(ctx, all);
    script_hash(hash);
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_printf(
        o,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "script-src 'sha256-%s'; style-src 'unsafe-inline'; img-src data:\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<title>Ferry report</title>\n<style>\n",
        hash);
    ferry_i_out_write(o, ferry_i_page_style, (int64_t)strlen(ferry_i_page_style));
    ferry_i_out_printf(
        o, "</style>\n</head>\n<body>\n<main></main>\n"
           "<noscript><p>This report is drawn by a script: open it in a browser.</p>"
           "</noscript>\n<script type=\"application/json\" id=\"ferry-data\">");
    FERRY_HAVE(ctx, !ferry_i_memory_lost());
    FERRY_HAVE(ctx, json_dump_callback(all, add_escaped, o,
                                       JSON_COMPACT | JSON_ENSURE_ASCII |
                                           JSON_REAL_PRECISION(12)) == 0);
    ferry_i_out_printf(o, "</script>\n<script>");
    ferry_i_out_write(o, ferry_i_page_vega, (int64_t)strlen(ferry_i_page_vega));
    ferry_i_out_write(o, ferry_i_page_plots, (int64_t)strlen(ferry_i_page_plots));
    ferry_i_out_write(o, ferry_i_page_script, (int64_t)strlen(ferry_i_page_script));
    ferry_i_out_printf(o, "</script>\n</body>\n</html>\n");
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_out_abort(o);
    json_decref(all);
    json_decref(runs);
    return st;
}
