/* What the files about reports share. */
#ifndef FERRY_REPORT_INTERNAL_H
#define FERRY_REPORT_INTERNAL_H

#include "run/run.h"

/* Of results.json: 2 has eight verdicts and the crossed variance; 1 had three, and no number here. */
enum { FERRY_RESULTS_SCHEMA = 3 };

/* The result of that rank, from 1; NULL past the end. */
const ferry_result *ferry_i_results_ranked(const ferry_results *rs, int64_t rank);

/* The answer's head and lines, if there is one. */
void ferry_i_report_answer(ferry_text *t, const ferry_results *rs);

/* The table of results, cell by cell: columns are the name, what is used, the metrics, fit seconds, the difference
 * to the best baseline (if there is one) and the verdict (if any); row 0 is the heading. */
enum { FERRY_WIDTH = 100, FERRY_CELL = 300, FERRY_SHOWN = 12 };
typedef struct ferry_sheet {
    const ferry_results *rs;
    const ferry_run_info *run;
    int64_t rows, metrics, cols;
    int64_t rank[FERRY_SHOWN]; /* few: of the rows that are shown */
    bool versus, judged, few;
} ferry_sheet;
/* few: the recommended ones, the best of each kind and who follows, FERRY_SHOWN at most; else all. */
ferry_sheet ferry_i_sheet(const ferry_results *rs, bool few);
const char *ferry_i_sheet_cell(const ferry_sheet *s, int64_t row, int64_t col,
                               char buf[FERRY_CELL]);
bool ferry_i_sheet_left(const ferry_sheet *s, int64_t col); /* text, not numbers */
/* ferry_results_table(), and with all methods. */
ferry_status ferry_i_results_table(ferry_ctx *ctx, const ferry_results *rs, bool few,
                                   char **out);
/* Add text, broken at spaces to FERRY_WIDTH columns; later lines begin with `indent` spaces. */
void ferry_i_report_wrap(ferry_text *t, const char *text, int indent);

/* Bytes of a line "MemTotal:  16384 kB" of a file such as /proc/meminfo, or -1. */
int64_t ferry_i_proc_bytes(const char *path, const char *name);
/* {"name": "version", ...} */
struct json_t *ferry_i_libraries_json(const ferry_installation *installation);

/* A list of numbers (ferry_i_json_real); NULL: no memory. */
struct json_t *ferry_i_report_reals(int64_t n, const double *x);
/* A file of a run's folder as JSON; *out is NULL when it is not there and not needed. */
ferry_status ferry_i_report_file(ferry_ctx *ctx, const char *dir, const char *name,
                                 bool needed, struct json_t **out);
/* As text that people can read, with a line end. Takes `root`, of which NULL means no memory. */
ferry_status ferry_i_report_dump(ferry_ctx *ctx, struct json_t *root, char **out);
/* ferry_report_write() of folders that will have other names. */
ferry_status ferry_i_report_write(ferry_ctx *ctx, int64_t n, const char *const *folders,
                                  const char *const *names, const char *path);
/* What the predictions of the first repeat look like; null when there is nothing to
 * show. */
struct json_t *ferry_i_report_picture(const ferry_results *rs, const ferry_result *r);

/* ferry_results_table() as JSON. */
ferry_status ferry_i_results_json(ferry_ctx *ctx, const ferry_results *rs, char **out);
/* What the structs have as `json`. */
ferry_status ferry_i_description_json(ferry_ctx *ctx, const ferry_description *d,
                                      char **out);
ferry_status ferry_i_installation_json(ferry_ctx *ctx, const ferry_installation *f,
                                       char **out);
ferry_status ferry_i_advice_json(ferry_ctx *ctx, const ferry_advice *a, char **out);

#endif
