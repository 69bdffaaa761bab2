/* The task file: places in a YAML document, and what its parser is made of. */
#ifndef FERRY_TASK_FILE_H
#define FERRY_TASK_FILE_H

#include <yaml.h>

#include "task/task.h"

/* A node that came from --set, or was made for one. */
typedef struct ferry_origin {
    int node;
    const char *set; /* the key after --set, of the settings */
} ferry_origin;

/* An opened task file. */
typedef struct ferry_yaml {
    ferry_ctx *ctx;
    const char *path; /* for messages */
    const char *dir;  /* data files are relative to this */
    yaml_document_t doc;
    bool loaded;
    ferry_origin *origin;
    int64_t n_origin, cap_origin;
    ferry_data **text; /* views of "text:" at the top, in the order they will be wanted */
    int64_t n_text, cap_text, next_text;
} ferry_yaml;

/* A node and the way to it, such as "domains[1].labelled". */
typedef struct ferry_place {
    ferry_yaml *y;
    int node; /* number in the document */
    char key[160];
} ferry_place;

/* ---- yaml.c ---- */

/* Load one document. FERRY_EDATA "path:line: what libyaml says". */
ferry_status ferry_i_yaml_load(ferry_yaml *y, const char *bytes, int64_t n);
void ferry_i_yaml_close(ferry_yaml *y);

/* FERRY_EDATA "path:line: key: text", or "--set key: text". */
ferry_status ferry_i_place_bad(const ferry_place *p, const char *fmt, ...)
    FERRY_PRINTF(2, 3);
/* "path:line: key" or "--set key" in front of the context's message. An error of the
 * arguments is one of the data here. Returns the status. */
ferry_status ferry_i_place_prefix(const ferry_place *p, ferry_status st);
/* The same as text, for tables of options that begin a message with it. */
void ferry_i_place_text(const ferry_place *p, char *buf, size_t size);

yaml_node_t *ferry_i_place_node(const ferry_place *p);
bool ferry_i_place_null(const ferry_place *p); /* nothing, ~ or null */
ferry_place ferry_i_place_root(ferry_yaml *y);
/* A mapping with each key once, all of them among the n words or the names of the table
 * (may be NULL). */
ferry_status ferry_i_place_keys(const ferry_place *p, const char *const *words, int64_t n,
                                const ferry_opt *table, int64_t table_n);
/* The value of a key, false when it is absent or null. */
bool ferry_i_place_get(const ferry_place *p, const char *key, ferry_place *out);
/* Likewise, FERRY_EDATA when it is absent or null. */
ferry_status ferry_i_place_need(const ferry_place *p, const char *key, ferry_place *out);
/* Item i of a sequence, or pair i of a mapping (the key's place in *key); false past the
 * end.
 */
bool ferry_i_place_item(const ferry_place *p, int64_t i, ferry_place *out);
bool ferry_i_place_pair(const ferry_place *p, int64_t i, ferry_place *key,
                        ferry_place *value);
/* A sequence, or FERRY_EDATA that says `what` was expected. */
ferry_status ferry_i_place_sequence(const ferry_place *p, const char *what);
ferry_status ferry_i_place_mapping(const ferry_place *p, const char *what);
/* A text that is not empty. Borrowed by the document. */
ferry_status ferry_i_place_string(const ferry_place *p, const char *what, const char **out);
/* A scalar, or the scalars of a sequence with commas between; where a mapping may stand,
 * its pairs as "key=value", one for each of several values. New string. */
ferry_status ferry_i_place_joined(const ferry_place *p, bool mapping, char **out);
/* Place of the text among n words. */
ferry_status ferry_i_place_one_of(const ferry_place *p, const char *const *words, int64_t n,
                                  int *out);

/* ---- the parts of the parser ---- */

/* Put one option into opts, checked against the table. `key` and `value` are places. */
ferry_status ferry_i_place_option(const ferry_place *key, const ferry_place *value,
                                  const ferry_opt *table, int64_t n, ferry_opts *opts);
/* Replace or add what --set says, before anything is parsed (sets.c). */
ferry_status ferry_i_yaml_apply(ferry_yaml *y, const ferry_opts *sets);
/* Read the text of all domains, which share the words and the settings of "text:" at the
 * top (its place) and draw from `seed`. They wait in the
 * order in which the domains will want them (text_file.c). */
ferry_status ferry_i_parse_text(const ferry_place *text, const ferry_place *domains,
                                uint64_t seed);
/* The next view of a domain, now the caller's; NULL when it is none of the text read so. */
ferry_data *ferry_i_next_text(ferry_yaml *y);
/* The reader options of a domain, view, graph or labels: those of `from` (may be NULL),
 * then its own keys and those of its text: mapping. */
ferry_status ferry_i_place_read_options(const ferry_place *p, const ferry_opts *from,
                                        ferry_opts **out);
/* Those of a text: mapping, put into opts. */
ferry_status ferry_i_place_text_options(const ferry_place *text, ferry_opts *opts);
/* One entry of "domains:", with its data (domain_file.c). */
ferry_status ferry_i_parse_domain(const ferry_place *p, ferry_task *task);
/* same_as: of the views of a domain, once all domains are there (same_as.c). */
ferry_status ferry_i_parse_same_as(const ferry_place *domain, const ferry_task *task,
                                   ferry_domain *d);
/* same: {COLUMN: COLUMN of the target}, of a domain that has its views (same.c). */
ferry_status ferry_i_parse_same(const ferry_place *p, ferry_domain *d);
/* The file of "pairs:" of a domain, once all domains are there (pairs.c). */
ferry_status ferry_i_parse_pairs(const ferry_place *p, ferry_task *task, ferry_domain *d);
/* The path a file name in the task file means. New string. */
ferry_status ferry_i_place_path(const ferry_place *p, const char *name, char **out);

/* A graph of each instance's k nearest in the domain's views (near.c); 0: auto. */
ferry_status ferry_i_domain_add_near(ferry_ctx *ctx, ferry_domain *d, const char *name,
                                     int64_t k);

#endif
