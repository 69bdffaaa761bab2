/* The lines of a task file that describe one domain. */
#include <string.h>
#include <yaml.h>

#include "select/select.h"

/* The value of key in a mapping, or NULL. */
static yaml_node_t *value_of(yaml_document_t *doc, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE) return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
         p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *k = yaml_document_get_node(doc, p->key);
        if (k && k->type == YAML_SCALAR_NODE &&
            strcmp((const char *)k->data.scalar.value, key) == 0)
            return yaml_document_get_node(doc, p->value);
    }
    return NULL;
}

/* The domain's place in the list of domains, or NULL. */
static const yaml_node_t *find(yaml_document_t *doc, const char *name)
{
    const yaml_node_t *all = value_of(doc, yaml_document_get_root_node(doc), "domains");

    if (!all || all->type != YAML_SEQUENCE_NODE ||
        all->data.sequence.style == YAML_FLOW_SEQUENCE_STYLE)
        return NULL;
    for (yaml_node_item_t *i = all->data.sequence.items.start;
         i < all->data.sequence.items.top; i++) {
        const yaml_node_t *d = yaml_document_get_node(doc, *i);
        const yaml_node_t *n = value_of(doc, d, "name");
        if (n && n->type == YAML_SCALAR_NODE &&
            strcmp((const char *)n->data.scalar.value, name) == 0)
            return d;
    }
    return NULL;
}

/* Line by line from the item's first to its last: libyaml ends a block where the next thing begins, at the start of its
 * line, and a flow mapping within its last. */
static void copy_lines(const char *text, const yaml_node_t *d, char *to)
{
    const size_t last = d->end_mark.line -
                        (d->end_mark.column == 0 && d->end_mark.line > d->start_mark.line);
    size_t line = 0;

    for (const char *s = text; *s && line <= last; line++) {
        const size_t n = strcspn(s, "\n"), blank = strspn(s, " ");
        if (line >= d->start_mark.line && blank < n && s[blank] != '#' &&
            !(line == last && line > d->start_mark.line && blank < d->start_mark.column &&
              d->data.mapping.style != YAML_FLOW_MAPPING_STYLE)) {
            memcpy(to, s, n);
            to[n] = '\n';
            to += n + 1;
        }
        s += n + (s[n] == '\n');
    }
}

const char *domain_lines(scope *s, const char *text, const char *name)
{
    char *to = NEW(s, char, (int64_t)strlen(text) + 2);
    yaml_parser_t parser;
    yaml_document_t doc;

    if (!yaml_parser_initialize(&parser)) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    const bool loaded = yaml_parser_load(&parser, &doc);
    const yaml_node_t *d = loaded ? find(&doc, name) : NULL;
    if (d && d->type == YAML_MAPPING_NODE) copy_lines(text, d, to);
    if (loaded) yaml_document_delete(&doc);
    const bool memory = !loaded && parser.error == YAML_MEMORY_ERROR;
    yaml_parser_delete(&parser);
    if (memory) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    return to;
}
