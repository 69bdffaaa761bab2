/* --set: settings by dotted path change the YAML document before it is parsed, so they are
 * checked like everything else; messages about them begin with "--set KEY". */
#include <string.h>

#include "task/file.h"

/* Remember that a node stands for a setting. */
static ferry_status remember(ferry_yaml *y, int node, const char *set)
{
    if (!FERRY_GROW(y->origin, y->n_origin, y->cap_origin)) return ferry_i_nomem(y->ctx);
    y->origin[y->n_origin++] = (ferry_origin){node, set};
    return FERRY_OK;
}

/* "--set KEY: ...". */
static ferry_status bad_set(ferry_yaml *y, const char *set, const char *text,
                            const char *name)
{
    return ferry_i_fail(y->ctx, FERRY_EDATA, "--set %s: %s%s%s%s", set, text,
                        name ? " '" : "", name ? name : "", name ? "'" : "");
}

/* A new text node that remembers which setting it stands for. */
static ferry_status add_scalar(ferry_yaml *y, const char *set, const char *text, int *out)
{
    *out = yaml_document_add_scalar(&y->doc, NULL, (const yaml_char_t *)text, -1,
                                    YAML_PLAIN_SCALAR_STYLE);
    if (!*out) return ferry_i_nomem(y->ctx);
    return remember(y, *out, set);
}

/* Value of a key in a mapping: its pair, or NULL. */
static yaml_node_pair_t *find_pair(ferry_yaml *y, int mapping, const char *key)
{
    yaml_node_t *m = yaml_document_get_node(&y->doc, mapping);

    if (m->type != YAML_MAPPING_NODE) return NULL;
    for (yaml_node_pair_t *p = m->data.mapping.pairs.start; p < m->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(&y->doc, p->key);
        if (k->type == YAML_SCALAR_NODE &&
            strcmp((const char *)k->data.scalar.value, key) == 0)
            return p;
    }
    return NULL;
}

/* mapping[key] = node. */
static ferry_status put(ferry_yaml *y, const char *set, int mapping, const char *key,
                        int node)
{
    ferry_status st = FERRY_OK;
    yaml_node_pair_t *pair = find_pair(y, mapping, key);
    int k = 0;

    if (pair) {
        pair->value = node;
        return FERRY_OK;
    }
    FERRY_TRY(add_scalar(y, set, key, &k));
    FERRY_HAVE(y->ctx, yaml_document_append_mapping_pair(&y->doc, mapping, k, node));
done:
    return st;
}

/* mapping[key] = a text. */
static ferry_status put_text(ferry_yaml *y, const char *set, int mapping, const char *key,
                             const char *value)
{
    int node = 0;

    FERRY_PASS(add_scalar(y, set, value, &node));
    return put(y, set, mapping, key, node);
}

/* A new empty mapping, likewise remembered. */
static ferry_status add_mapping(ferry_yaml *y, const char *set, int *out)
{
    *out = yaml_document_add_mapping(&y->doc, NULL, YAML_BLOCK_MAPPING_STYLE);
    if (!*out) return ferry_i_nomem(y->ctx);
    return remember(y, *out, set);
}

/* The mapping under a key, made when it is absent or null. */
static ferry_status mapping_at(ferry_yaml *y, const char *set, int parent, const char *key,
                               int *out)
{
    const ferry_place p = {.y = y, .node = parent};
    ferry_place child;

    if (ferry_i_place_get(&p, key, &child)) {
        *out = child.node;
        return ferry_i_place_mapping(&child, "a mapping");
    }
    FERRY_PASS(add_mapping(y, set, out));
    return put(y, set, parent, key, *out);
}

/* Whether mapping[key] is the text. */
static bool says(ferry_yaml *y, int mapping, const char *key, const char *text)
{
    const yaml_node_pair_t *pair = find_pair(y, mapping, key);
    const yaml_node_t *v = pair ? yaml_document_get_node(&y->doc, pair->value) : NULL;

    return v && v->type == YAML_SCALAR_NODE &&
           strcmp((const char *)v->data.scalar.value, text) == 0;
}

/* The pair of a method entry that is not `as`. */
static const char *method_of(ferry_yaml *y, int entry)
{
    yaml_node_t *m = yaml_document_get_node(&y->doc, entry);

    if (m->type == YAML_SCALAR_NODE) return (const char *)m->data.scalar.value;
    if (m->type != YAML_MAPPING_NODE) return NULL;
    for (yaml_node_pair_t *p = m->data.mapping.pairs.start; p < m->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(&y->doc, p->key);
        if (k->type == YAML_SCALAR_NODE &&
            strcmp((const char *)k->data.scalar.value, "as") != 0)
            return (const char *)k->data.scalar.value;
    }
    return NULL;
}

/* An entry that is only a name becomes {name: }, at the same line. */
static ferry_status widen_entry(ferry_yaml *y, const char *set, int list, int64_t i)
{
    ferry_status st = FERRY_OK;
    const int entry = yaml_document_get_node(&y->doc, list)->data.sequence.items.start[i];
    int mapping = 0, options = 0;

    if (yaml_document_get_node(&y->doc, entry)->type != YAML_SCALAR_NODE) return FERRY_OK;
    mapping = yaml_document_add_mapping(&y->doc, NULL, YAML_BLOCK_MAPPING_STYLE);
    FERRY_HAVE(y->ctx, mapping);
    yaml_document_get_node(&y->doc, mapping)->start_mark =
        yaml_document_get_node(&y->doc, entry)->start_mark;
    FERRY_TRY(add_mapping(y, set, &options));
    FERRY_HAVE(y->ctx, yaml_document_append_mapping_pair(&y->doc, mapping, entry, options));
    yaml_document_get_node(&y->doc, list)->data.sequence.items.start[i] = mapping;
done:
    return st;
}

/* Every entry of the method, or the one whose `as` it is. */
static ferry_status set_method(ferry_yaml *y, const char *set, const char *name,
                               const char *key, const char *value)
{
    const ferry_place root = ferry_i_place_root(y);
    ferry_place list, entry;
    bool found = false;

    if (!ferry_i_place_get(&root, "methods", &list))
        return bad_set(y, set, "the task names no methods", NULL);
    for (int64_t i = 0; ferry_i_place_item(&list, i, &entry); i++) {
        const char *method = method_of(y, entry.node);
        int options = 0;
        if (!method) continue;
        const yaml_node_pair_t *own = find_pair(y, entry.node, method);
        if (strcmp(method, name) != 0 && !says(y, entry.node, "as", name) &&
            !(own && says(y, own->value, "as", name)))
            continue;
        found = true;
        FERRY_PASS(widen_entry(y, set, list.node, i));
        (void)ferry_i_place_item(&list, i, &entry);
        FERRY_PASS(mapping_at(y, set, entry.node, method_of(y, entry.node), &options));
        FERRY_PASS(put_text(y, set, options, key, value));
    }
    if (!found) FERRY_PASS(bad_set(y, set, "the task has no method", name));
    return FERRY_OK;
}

/* A key of the domain of that name. */
static ferry_status set_domain(ferry_yaml *y, const char *set, const char *name,
                               const char *key, const char *value)
{
    const ferry_place root = ferry_i_place_root(y);
    ferry_place list, entry;

    if (ferry_i_place_get(&root, "domains", &list))
        for (int64_t i = 0; ferry_i_place_item(&list, i, &entry); i++)
            if (says(y, entry.node, "name", name))
                return put_text(y, set, entry.node, key, value);
    return bad_set(y, set, "the task has no domain", name);
}

/* "methods.NAME.key": NAME may hold dots, keys do not. */
static ferry_status apply_one(ferry_yaml *y, const char *set, const char *value)
{
    ferry_status st = FERRY_OK;
    const ferry_place root = ferry_i_place_root(y);
    const char *first = strchr(set, '.'), *last = strrchr(set, '.');
    char *name = NULL;
    int node = 0;

    if (!first) {
        if (strcmp(set, "task") == 0 || strcmp(set, "goal") == 0)
            return put_text(y, set, root.node, set, value);
    } else if (first == last &&
               (strncmp(set, "evaluate.", 9) == 0 || strncmp(set, "text.", 5) == 0)) {
        FERRY_TRY(mapping_at(y, set, root.node, *set == 't' ? "text" : "evaluate", &node));
        FERRY_TRY(put_text(y, set, node, last + 1, value));
        goto done;
    } else if (first != last) {
        name = ferry_i_strndup(first + 1, last - first - 1);
        FERRY_HAVE(y->ctx, name);
        if (strncmp(set, "methods.", 8) == 0) {
            FERRY_TRY(set_method(y, set, name, last + 1, value));
            goto done;
        }
        if (strncmp(set, "domains.", 8) == 0) {
            FERRY_TRY(set_domain(y, set, name, last + 1, value));
            goto done;
        }
    }
    FERRY_TRY(bad_set(
        y, set,
        "expected task, goal, text.KEY, evaluate.KEY, methods.NAME.KEY or domains.NAME.KEY",
        NULL));
done:
    ferry_i_free(name);
    return st;
}

/* In the order given, so that a later setting wins over an earlier one. */
ferry_status ferry_i_yaml_apply(ferry_yaml *y, const ferry_opts *sets)
{
    const ferry_place root = ferry_i_place_root(y);

    FERRY_PASS(ferry_i_place_mapping(&root, "a task (task, goal, domains, ...)"));
    for (int64_t i = 0; ferry_opts_at(sets, i); i++) {
        const ferry_setting *s = ferry_opts_at(sets, i);
        FERRY_PASS(apply_one(y, s->key, s->value));
    }
    return FERRY_OK;
}
