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

/* The domain's place in the list of domains, or NULL; *next: where the one after begins. */
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

/* Line by line from the item's first to its last: libyaml ends a block where the next thing
 * begins, at the start of its line, and a flow mapping within its last. */
static void copy(const char *text, const yaml_node_t *d, ferry_text *out)
{
    const size_t last = d->end_mark.line -
                        (d->end_mark.column == 0 && d->end_mark.line > d->start_mark.line);
    size_t line = 0;

    for (const char *s = text; *s && line <= last; line++) {
        const size_t n = strcspn(s, "\n");
        const size_t blank = strspn(s, " ");
        if (line >= d->start_mark.line && blank < n && s[blank] != '#' &&
            !(line == last && line > d->start_mark.line && blank < d->start_mark.column &&
              d->data.mapping.style != YAML_FLOW_MAPPING_STYLE)) {
            ferry_i_text_addn(out, s, (int64_t)n);
            ferry_i_text_add(out, "\n");
        }
        s += n + (s[n] == '\n');
    }
}

ferry_status ferry_i_select_lines(ferry_ctx *ctx, const char *text, const char *name,
                                  ferry_text *out)
{
    ferry_status st = FERRY_OK;
    yaml_parser_t parser;
    yaml_document_t doc;
    const yaml_node_t *d = NULL;

    FERRY_HAVE(ctx, yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    const bool loaded = yaml_parser_load(&parser, &doc);
    if (loaded) d = find(&doc, name);
    if (d && d->type == YAML_MAPPING_NODE) copy(text, d, out);
    if (loaded) yaml_document_delete(&doc);
    const bool memory = !loaded && parser.error == YAML_MEMORY_ERROR;
    yaml_parser_delete(&parser);
    FERRY_HAVE(ctx, !memory && !out->failed);
done:
    return st;
}
