/* YAML for task files: libyaml's document tree, with the place of every node for
 * messages. */
#include <stdio.h>
#include <string.h>

#include "task/file.h"

enum { MAX_DEPTH = 64 };

/* ---- loading ---- */

/* libyaml gives a byte, people want a line. */
static int64_t line_of_offset(const char *bytes, size_t offset)
{
    int64_t line = 1;

    for (size_t i = 0; i < offset; i++)
        line += bytes[i] == '\n';
    return line;
}

/* libyaml's own words behind file and line; they are good. */
static ferry_status syntax_error(const ferry_yaml *y, const yaml_parser_t *p,
                                 const char *bytes, int64_t n)
{
    /* no error at all is how it runs out of memory in some places */
    if (p->error == YAML_MEMORY_ERROR || p->error == YAML_NO_ERROR)
        return ferry_i_nomem(y->ctx);
    const char *zero = memchr(bytes, 0, (size_t)n);
    if (zero) /* a model, say */
        return ferry_i_fail(y->ctx, FERRY_EDATA,
                            "%s:%lld: a zero byte: expected a task (YAML)", y->path,
                            (long long)line_of_offset(bytes, (size_t)(zero - bytes)));
    const int64_t line = p->error == YAML_READER_ERROR
                             ? line_of_offset(bytes, p->problem_offset)
                             : (int64_t)p->problem_mark.line + 1;
    /* "found character that cannot start any token" is nothing to go by */
    const char *s = bytes;
    for (int64_t i = 1; i < line && s; i++)
        s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL;
    if (s && memchr(s, '\t', strcspn(s, "\n")))
        return ferry_i_fail(
            y->ctx, FERRY_EDATA,
            "%s:%lld: a tab: YAML takes only blanks before and between keys", y->path,
            (long long)line);
    return ferry_i_fail(y->ctx, FERRY_EDATA, "%s:%lld: %s%s%s", y->path, (long long)line,
                        p->problem ? p->problem : "not YAML", p->context ? " " : "",
                        p->context ? p->context : "");
}

/* One pass over the events first: libyaml's tree has no limit on nesting, and a task is one
 * document. */
static ferry_status check_events(const ferry_yaml *y, const char *bytes, int64_t n)
{
    ferry_status st = FERRY_OK;
    yaml_parser_t parser;
    yaml_event_t event;
    int depth = 0, documents = 0;

    FERRY_HAVE(y->ctx, yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, (size_t)n);
    for (bool end = false; !end && st == FERRY_OK;) {
        if (!yaml_parser_parse(&parser, &event)) {
            st = syntax_error(y, &parser, bytes, n);
            break;
        }
        const long long line = (long long)event.start_mark.line + 1;
        const yaml_event_type_t type = event.type;
        yaml_event_delete(&event);
        documents += type == YAML_DOCUMENT_START_EVENT;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        end = type == YAML_STREAM_END_EVENT;
        if (depth > MAX_DEPTH)
            st = ferry_i_fail(y->ctx, FERRY_EDATA, "%s:%lld: nested deeper than %d levels",
                              y->path, line, MAX_DEPTH);
        if (documents > 1)
            st = ferry_i_fail(y->ctx, FERRY_EDATA,
                              "%s:%lld: a second document begins, expected one task",
                              y->path, line);
    }
    yaml_parser_delete(&parser);
done:
    return st;
}

/* The document tree, after one pass that bounds it. */
ferry_status ferry_i_yaml_load(ferry_yaml *y, const char *bytes, int64_t n)
{
    ferry_status st = FERRY_OK;
    yaml_parser_t parser;

    FERRY_TRY(check_events(y, bytes, n));
    FERRY_HAVE(y->ctx, yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, (size_t)n);
    y->loaded = yaml_parser_load(&parser, &y->doc) != 0;
    if (!y->loaded) st = syntax_error(y, &parser, bytes, n);
    yaml_parser_delete(&parser);
    if (st != FERRY_OK) goto done;
    FERRY_NEED(y->ctx, yaml_document_get_root_node(&y->doc), FERRY_EDATA,
               "%s: expected a task, found an empty file", y->path);
done:
    return st;
}

void ferry_i_yaml_close(ferry_yaml *y)
{
    if (y->loaded) yaml_document_delete(&y->doc);
    ferry_i_free(y->origin);
    for (int64_t i = 0; i < y->n_text; i++)
        ferry_data_free(y->text[i]);
    ferry_i_free(y->text);
    y->loaded = false;
    y->origin = NULL;
    y->text = NULL;
    y->n_text = 0;
}

/* ---- places ---- */

yaml_node_t *ferry_i_place_node(const ferry_place *p)
{
    return yaml_document_get_node(&p->y->doc, p->node);
}

ferry_place ferry_i_place_root(ferry_yaml *y)
{
    return (ferry_place){.y = y, .node = 1}; /* libyaml counts from 1 */
}

/* What begins a message: "file:line: domains[0].name", or "--set KEY" for what came from
 * the command line. */
void ferry_i_place_text(const ferry_place *p, char *buf, size_t size)
{
    for (int64_t i = 0; i < p->y->n_origin; i++) {
        if (p->y->origin[i].node != p->node) continue;
        snprintf(buf, size, "--set %s", p->y->origin[i].set);
        return;
    }
    snprintf(buf, size, "%s:%lld%s%s", p->y->path,
             (long long)ferry_i_place_node(p)->start_mark.line + 1, p->key[0] ? ": " : "",
             p->key);
}

ferry_status ferry_i_place_bad(const ferry_place *p, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)ferry_i_fail(p->y->ctx, FERRY_EDATA, "%s", text);
    return ferry_i_place_prefix(p, FERRY_EDATA);
}

/* Puts the place in front of the last message. Out of memory and cancelled are no mistakes
 * of the file and stay as they are; a bad argument that came from a file is bad data. */
ferry_status ferry_i_place_prefix(const ferry_place *p, ferry_status st)
{
    char where[400];

    if (st == FERRY_OK || st == FERRY_ENOMEM || st == FERRY_ECANCELLED) return st;
    ferry_i_place_text(p, where, sizeof where);
    return ferry_i_prefix(p->y->ctx, st == FERRY_EINVAL ? FERRY_EDATA : st, "%s", where);
}

/* The place of a child, whose key path is cut rather than allowed to grow without end. */
static ferry_place below(const ferry_place *p, int node, const char *key, int64_t item)
{
    ferry_place c = {.y = p->y, .node = node};

    if (key)
        snprintf(c.key, sizeof c.key, "%.120s%s%.30s", p->key, p->key[0] ? "." : "", key);
    else
        snprintf(c.key, sizeof c.key, "%.120s[%lld]", p->key, (long long)item);
    return c;
}

/* The text of a scalar, NULL: it is a list or a mapping. */
static const char *scalar_of(yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

/* Empty, ~ and null, unless quoted. */
bool ferry_i_place_null(const ferry_place *p)
{
    yaml_node_t *node = ferry_i_place_node(p);
    const char *s = scalar_of(node);

    return s && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!s[0] || strcmp(s, "~") == 0 || strcmp(s, "null") == 0);
}

bool ferry_i_place_item(const ferry_place *p, int64_t i, ferry_place *out)
{
    const yaml_node_t *node = ferry_i_place_node(p);
    const yaml_node_item_t *start = node->data.sequence.items.start;

    if (node->type != YAML_SEQUENCE_NODE || i >= node->data.sequence.items.top - start)
        return false;
    *out = below(p, start[i], NULL, i);
    return true;
}

bool ferry_i_place_pair(const ferry_place *p, int64_t i, ferry_place *key,
                        ferry_place *value)
{
    const yaml_node_t *node = ferry_i_place_node(p);
    const yaml_node_pair_t *start = node->data.mapping.pairs.start;

    if (node->type != YAML_MAPPING_NODE || i >= node->data.mapping.pairs.top - start)
        return false;
    const char *name = scalar_of(yaml_document_get_node(&p->y->doc, start[i].key));
    *key = *p;
    key->node = start[i].key;
    *value = below(p, start[i].value, name ? name : "?", 0);
    return true;
}

/* A key that is there with nothing after it counts as absent: people comment out values. */
bool ferry_i_place_get(const ferry_place *p, const char *key, ferry_place *out)
{
    ferry_place k;

    for (int64_t i = 0; ferry_i_place_pair(p, i, &k, out); i++) {
        const char *name = scalar_of(ferry_i_place_node(&k));
        if (name && strcmp(name, key) == 0) return !ferry_i_place_null(out);
    }
    return false;
}

ferry_status ferry_i_place_need(const ferry_place *p, const char *key, ferry_place *out)
{
    if (ferry_i_place_get(p, key, out)) return FERRY_OK;
    return ferry_i_place_bad(p, "%s: is missing", key);
}

/* ---- what a node must be ---- */

/* What a node is, for messages. */
static const char *kind_name(const yaml_node_t *node)
{
    if (node->type == YAML_SEQUENCE_NODE) return "a list";
    return node->type == YAML_MAPPING_NODE ? "a mapping" : "a text";
}

ferry_status ferry_i_place_sequence(const ferry_place *p, const char *what)
{
    const yaml_node_t *node = ferry_i_place_node(p);

    if (node->type == YAML_SEQUENCE_NODE) return FERRY_OK;
    return ferry_i_place_bad(p, "expected %s, found %s", what, kind_name(node));
}

ferry_status ferry_i_place_mapping(const ferry_place *p, const char *what)
{
    const yaml_node_t *node = ferry_i_place_node(p);

    if (node->type == YAML_MAPPING_NODE) return FERRY_OK;
    return ferry_i_place_bad(p, "expected %s, found %s", what, kind_name(node));
}

/* A text with something in it. A zero byte, which YAML can escape, would cut it short in
 * C. */
ferry_status ferry_i_place_string(const ferry_place *p, const char *what, const char **out)
{
    yaml_node_t *node = ferry_i_place_node(p);

    *out = scalar_of(node);
    if (!*out) return ferry_i_place_bad(p, "expected %s, found %s", what, kind_name(node));
    if (!*out[0]) return ferry_i_place_bad(p, "expected %s, found nothing", what);
    if (strlen(*out) != node->data.scalar.length)
        return ferry_i_place_bad(p, "expected %s, found a zero byte", what);
    return FERRY_OK;
}

/* "a", "a,b" of a sequence, or "k=a,k=b" of a mapping's entry; `key` may be NULL. */
static ferry_status join(const ferry_place *p, const char *key, ferry_text *t)
{
    ferry_place item;
    const char *s = NULL;

    if (ferry_i_place_node(p)->type == YAML_SEQUENCE_NODE) {
        for (int64_t i = 0; ferry_i_place_item(p, i, &item); i++) {
            FERRY_PASS(ferry_i_place_string(&item, "a text or a number", &s));
            ferry_i_text_addf(t, "%s%s%s%s", t->len > 0 ? "," : "", key ? key : "",
                              key ? "=" : "", s);
        }
    } else {
        FERRY_PASS(ferry_i_place_string(p, "a text or a number", &s));
        ferry_i_text_addf(t, "%s%s%s%s", t->len > 0 ? "," : "", key ? key : "",
                          key ? "=" : "", s);
    }
    return FERRY_OK;
}

/* A list as "a,b", a mapping as "k=a,k=b": what option tables take as text. */
ferry_status ferry_i_place_joined(const ferry_place *p, bool mapping, char **out)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};
    ferry_place key, value;
    const char *name = NULL;

    *out = NULL;
    ferry_i_text_add(&t, "");
    if (mapping && ferry_i_place_node(p)->type == YAML_MAPPING_NODE) {
        for (int64_t i = 0; ferry_i_place_pair(p, i, &key, &value); i++) {
            FERRY_TRY(ferry_i_place_string(&key, "a key", &name));
            FERRY_TRY(join(&value, name, &t));
        }
    } else if (!ferry_i_place_null(p)) {
        FERRY_TRY(join(p, NULL, &t));
    }
    FERRY_HAVE(p->y->ctx, !t.failed);
    *out = t.s;
    t = (ferry_text){0};
done:
    ferry_i_text_free(&t);
    return st;
}

/* " (did you mean x?)", or "". */
static void did_you_mean(const char *word, const char *const *words, int64_t n, char *buf,
                         size_t size)
{
    const char *near = ferry_nearest(word, n, words);

    snprintf(buf, size, near ? " (did you mean %s?)" : "", near);
}

/* The place of the word in the list; else all of them in the message, and the nearest. */
ferry_status ferry_i_place_one_of(const ferry_place *p, const char *const *words, int64_t n,
                                  int *out)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};
    const char *s = NULL;
    char hint[80];

    FERRY_TRY(ferry_i_place_string(p, "a word", &s));
    for (*out = 0; *out < n; ++*out)
        if (strcmp(s, words[*out]) == 0) goto done;
    for (int64_t i = 0; i < n; i++)
        ferry_i_text_addf(&t, "%s%s", i > 0 ? ", " : "", words[i]);
    did_you_mean(s, words, n, hint, sizeof hint);
    FERRY_HAVE(p->y->ctx, !t.failed);
    FERRY_TRY(ferry_i_place_bad(p, "expected one of %s, not '%s'%s", t.s, s, hint));
done:
    ferry_i_text_free(&t);
    return st;
}

/* The words of a list and of a table in one array. New memory, NULL: none. */
static const char **all_words(const char *const *words, int64_t n, const ferry_opt *table,
                              int64_t table_n)
{
    const char **all = ferry_i_calloc(n + table_n, sizeof *all);

    for (int64_t i = 0; all && i < n; i++)
        all[i] = words[i];
    for (int64_t i = 0; all && i < table_n; i++)
        all[n + i] = table[i].name;
    return all;
}

/* Unknown keys and keys that stand twice are mistakes: YAML itself would let the last one
 * win in silence. */
ferry_status ferry_i_place_keys(const ferry_place *p, const char *const *words, int64_t n,
                                const ferry_opt *table, int64_t table_n)
{
    ferry_status st = FERRY_OK;
    const char **all = all_words(words, n, table, table_n), *name = NULL;
    ferry_ids *met = ferry_i_ids_new();
    ferry_place key, value;
    char hint[80];

    FERRY_HAVE(p->y->ctx, all && met);
    FERRY_TRY(ferry_i_place_mapping(p, "a mapping of keys to values"));
    for (int64_t i = 0; ferry_i_place_pair(p, i, &key, &value); i++) {
        int64_t k = 0;
        bool added = false;
        FERRY_TRY(ferry_i_place_string(&key, "a key", &name));
        while (k < n + table_n && strcmp(all[k], name) != 0)
            k++;
        if (k == n + table_n) {
            did_you_mean(name, all, k, hint, sizeof hint);
            if (!hint[0] && i > 0 &&
                ferry_i_place_null(&value)) /* {drop: a,b} is {drop: a, b: } */
                (void)snprintf(hint, sizeof hint, " (a list is written [a, b])");
            FERRY_TRY(ferry_i_place_bad(&key, "unknown key %s%s", name, hint));
        }
        FERRY_HAVE(p->y->ctx, ferry_i_ids_add(met, name, &added) >= 0);
        if (!added) FERRY_TRY(ferry_i_place_bad(&key, "key %s stands twice", name));
    }
done:
    ferry_i_ids_free(met);
    ferry_i_free(all);
    return st;
}

/* Files are relative to the task file, so that a folder with a task can be moved. */
ferry_status ferry_i_place_path(const ferry_place *p, const char *name, char **out)
{
    *out = ferry_i_path_join(p->y->dir, name);
    return *out ? FERRY_OK : ferry_i_nomem(p->y->ctx);
}
