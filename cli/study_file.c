/* Study files: the YAML tree, where they are, names in texts, loops. */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "study.h"

/* ---- memory: one chain, freed at the end ---- */

typedef struct block {
    struct block *before;
    max_align_t bytes[];
} block;
static block *last_block;

void *study_alloc(size_t bytes)
{
    block *b = cli_alloc(sizeof *b + bytes);

    b->before = last_block;
    last_block = b;
    return b->bytes;
}

void study_free_all(void)
{
    while (last_block) {
        block *before = last_block->before;
        free(last_block);
        last_block = before;
    }
}

const char *study_text(const char *fmt, ...)
{
    va_list args, again;

    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    char *s = study_alloc((size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return s;
}

void *study_grow(void *array, int64_t n, int64_t *cap, size_t size)
{
    if (n < *cap) return array;
    *cap = 2 * *cap + 8;
    void *more = study_alloc((size_t)*cap * size);
    if (n > 0) memcpy(more, array, (size_t)n * size);
    return more;
}

int64_t names_find(const names *all, const char *name)
{
    for (int64_t i = 0; i < all->n; i++)
        if (strcmp(all->name[i], name) == 0) return i;
    return -1;
}

int64_t names_add(names *all, const char *name)
{
    const int64_t at = names_find(all, name);

    if (at >= 0) return at;
    STUDY_GROW(all->name, all->n, all->cap);
    all->name[all->n] = study_text("%s", name);
    return all->n++;
}

void study_bad(const study *s, int line, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cli_say("%s:%d: %s", s->path, line, text);
    exit(EXIT_USAGE);
}

/* ---- the YAML tree ---- */

static const node *convert(const study *s, yaml_document_t *doc, int at, int depth);

static void convert_map(const study *s, yaml_document_t *doc, const yaml_node_t *y,
                        node *out, int depth)
{
    names seen = {0};

    for (yaml_node_pair_t *p = y->data.mapping.pairs.start; p < y->data.mapping.pairs.top;
         p++) {
        const node *key = convert(s, doc, p->key, depth);
        if (key->kind != NODE_TEXT) study_bad(s, key->line, "expected a name");
        if (names_add(&seen, key->text) < out->n)
            study_bad(s, key->line, "'%s' is there twice", key->text);
        out->key[out->n] = key->text;
        out->item[out->n++] = convert(s, doc, p->value, depth);
    }
}

/* A node of libyaml as ours; aliases are already followed, so a cycle shows as depth. */
static const node *convert(const study *s, yaml_document_t *doc, int at, int depth)
{
    const yaml_node_t *y = yaml_document_get_node(doc, at);
    const bool map = y->type == YAML_MAPPING_NODE;
    node *out = study_alloc(sizeof *out);

    out->line = (int)y->start_mark.line + 1;
    if (depth == 0) study_bad(s, out->line, "parts within parts: too deep");
    if (y->type == YAML_SCALAR_NODE) {
        out->text = study_text("%s", (const char *)y->data.scalar.value);
        return out;
    }
    const int64_t n = map ? y->data.mapping.pairs.top - y->data.mapping.pairs.start
                          : y->data.sequence.items.top - y->data.sequence.items.start;
    out->kind = map ? NODE_MAP : NODE_LIST;
    out->item = study_alloc((size_t)n * sizeof *out->item);
    out->key = study_alloc((size_t)n * sizeof *out->key);
    if (map) convert_map(s, doc, y, out, depth - 1);
    for (; out->n < n; out->n++)
        out->item[out->n] =
            convert(s, doc, y->data.sequence.items.start[out->n], depth - 1);
    return out;
}

static const node *parse(const study *s)
{
    FILE *file = fopen(s->path, "rb");
    yaml_parser_t parser;
    yaml_document_t doc;

    if (!file || !yaml_parser_initialize(&parser))
        study_bad(s, 1, "cannot read: %s", strerror(errno));
    yaml_parser_set_input_file(&parser, file);
    if (!yaml_parser_load(&parser, &doc))
        study_bad(s, (int)parser.problem_mark.line + 1, "%s",
                  parser.problem ? parser.problem : "not YAML");
    if (!yaml_document_get_root_node(&doc)) study_bad(s, 1, "the file is empty");
    const node *root = convert(s, &doc, 1, 32);
    yaml_document_delete(&doc);
    yaml_parser_delete(&parser);
    (void)fclose(file);
    return root;
}

const node *node_pick(bool quick, const node *n)
{
    if (!n || n->kind != NODE_MAP || n->n != 2) return n;
    const int full = strcmp(n->key[0], "full") == 0 ? 0 : 1;
    if (strcmp(n->key[full], "full") != 0 || strcmp(n->key[!full], "quick") != 0) return n;
    return n->item[quick ? !full : full];
}

const node *node_get(bool quick, const node *map, const char *key)
{
    for (int64_t i = 0; map && map->kind == NODE_MAP && i < map->n; i++)
        if (strcmp(map->key[i], key) == 0) return node_pick(quick, map->item[i]);
    return NULL;
}

void study_keys(const study *s, const node *map, const char *const *allowed, int64_t n)
{
    if (map->kind != NODE_MAP) study_bad(s, map->line, "expected NAME: VALUE");
    for (int64_t i = 0; i < map->n; i++) {
        int64_t j = 0;
        while (j < n && strcmp(allowed[j], map->key[i]) != 0)
            j++;
        if (j < n) continue;
        const char *near = ferry_nearest(map->key[i], n, allowed);
        study_bad(s, map->item[i]->line, "unknown key %s%s%s%s", map->key[i],
                  near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
}

/* ---- where studies are ---- */

/* Beside the program as installed, or as built (there links to the source tree are);
 * FERRY_STUDIES names another place. */
static const char *find_share(void)
{
    const char *set = getenv("FERRY_STUDIES");
    char exe[4096] = "";
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    if (set && set[0]) return set;
    while (n > 0 && exe[n - 1] != '/')
        n--;
    const char *built = study_text("%.*sshare/ferry", (int)(n > 0 ? n : 0), exe);
    if (access(built, X_OK) == 0) return built;
    return study_text("%.*s%s", (int)(FERRY_SHARE[0] == '/' || n < 0 ? 0 : n), exe,
                      FERRY_SHARE);
}

static const char *const file_keys[] = {"paper", "let", "studies"};
static const char *const study_parts[] = {"shows", "needs",   "protocol", "runs", "tables",
                                          "let",   "prepare", "claims",   "notes"};

/* The studies of one file, added. */
static void load_file(const char *path, study **all, int64_t *n, int64_t *cap)
{
    study s = {.path = path};

    s.file = parse(&s);
    study_keys(&s, s.file, file_keys, COUNT(file_keys));
    const node *studies = node_get(false, s.file, "studies");
    if (!studies || studies->kind != NODE_MAP || !node_get(false, s.file, "paper"))
        study_bad(&s, 1, "expected 'paper' and 'studies'");
    for (int64_t i = 0; i < studies->n; i++) {
        s.name = studies->key[i];
        s.root = studies->item[i];
        study_keys(&s, s.root, study_parts, COUNT(study_parts));
        for (int64_t k = 0; k < 5; k++) /* shows .. tables */
            if (!node_get(false, s.root, study_parts[k]))
                study_bad(&s, s.root->line, "%s: expected '%s'", s.name, study_parts[k]);
        STUDY_GROW(*all, *n, *cap);
        (*all)[(*n)++] = s;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const study *)a)->name, ((const study *)b)->name);
}

study *study_load(int64_t *n, const char **share)
{
    study *all = NULL;
    int64_t cap = 0;

    *n = 0;
    *share = find_share();
    const char *folder = study_text("%s/studies", *share);
    DIR *dir = opendir(folder);
    if (!dir) {
        cli_say("%s: no folder of studies there", folder);
        exit(EXIT_USAGE);
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        const size_t len = strlen(e->d_name);
        if (len > 5 && strcmp(e->d_name + len - 5, ".yaml") == 0 && e->d_name[0] != '.')
            load_file(study_text("%s/%s", folder, e->d_name), &all, n, &cap);
    }
    (void)closedir(dir);
    if (*n > 0) qsort(all, (size_t)*n, sizeof *all, by_name);
    for (int64_t i = 1; i < *n; i++)
        if (strcmp(all[i].name, all[i - 1].name) == 0)
            study_bad(&all[i], all[i].root->line, "%s is in %s too", all[i].name,
                      all[i - 1].path);
    return all;
}

/* ---- data files ---- */

/* Entry i of `needs`, lists in it flattened; *i counts down. */
static const node *nth(const node *list, int64_t *i)
{
    if (list->kind != NODE_LIST) return (*i)-- == 0 ? list : NULL;
    for (int64_t k = 0; k < list->n; k++) {
        const node *found = nth(list->item[k], i);
        if (found) return found;
    }
    return NULL;
}

const char *study_need(const study *s, const char *data, int64_t i, bool *there,
                       const char **name, const char **written)
{
    const node *one = nth(node_get(false, s->root, "needs"), &i);
    const char *first = NULL;

    if (!one) return NULL;
    *name = one->kind == NODE_MAP && one->n == 1 ? one->key[0] : NULL;
    if (*name) one = one->item[0];
    *written = one->text ? one->text : "";
    for (const char *at = *written;; at++) { /* a|b: either */
        const int len = (int)strcspn(at, "|");
        const char *path = study_text("%s/%.*s", data, len, at);
        *there = access(path, R_OK) == 0;
        if (!first || *there) first = path;
        at += len;
        if (*there || !*at) return first;
    }
}
