/* Texts of a study: names in them, and loops over parts. */
#include <stdlib.h>
#include <string.h>

#include "study.h"

/* ---- ${name} ---- */

static const char *expand(const lab *l, const scope *s, const char *text, int line,
                          int depth);

/* {each: AXES, text: T}: T for every combination, one after the other. */
static void add_text(lab *l, const node *map, const scope *s, void *arg)
{
    const char **all = arg;

    *all = study_text("%s%s", *all, study_string(l, s, map, "text", NULL));
}

/* What a node says: a text as it is, a map by its `name`, a loop by its texts. */
static const char *node_says(const lab *l, const scope *s, const node *v, int line,
                             int depth)
{
    const char *all = "";

    v = node_pick(l->quick, v);
    if (node_get(l->quick, v, "each") && node_get(l->quick, v, "text")) {
        study_each((lab *)(uintptr_t)l, v, "each", s, add_text, &all);
        return all;
    }
    if (v && v->kind == NODE_MAP) v = node_get(l->quick, v, "name");
    if (!v || v->kind != NODE_TEXT)
        study_bad(l->s, line, "a list or a map stands where a text should");
    return expand(l, s, v->text, line, depth);
}

/* The value of NAME or NAME.FIELD; a field that is not there is empty. */
static const char *look_up(const lab *l, const scope *top, const char *name, int line,
                           int depth)
{
    const size_t len = strcspn(name, ".");
    const char *base = study_text("%.*s", (int)len, name);

    for (const scope *s = top; s; s = s->up) {
        const node *v = s->map ? node_get(l->quick, s->map, base) : s->value;
        if (s->name && strcmp(s->name, base) != 0) continue;
        if (s->name && s->text && !name[len]) return s->text;
        if (!v) continue;
        if (name[len]) v = node_get(l->quick, node_pick(l->quick, v), name + len + 1);
        return v ? node_says(l, top, v, line, depth) : "";
    }
    const char *found = json_string_value(json_object_get(l->prepared, name));
    /* The preparation, which may still find it, has not run when a study is checked. */
    if (!found && l->checking && node_get(l->quick, l->s->root, "prepare")) return "";
    if (!found) study_bad(l->s, line, "nothing here is called %s", name);
    return found;
}

static const char *expand(const lab *l, const scope *s, const char *text, int line,
                          int depth)
{
    const char *open = strstr(text, "${"), *close = open;
    int level = 0;

    if (!open) return text;
    if (depth == 0) study_bad(l->s, line, "%.60s: names within names without end", text);
    for (; *close; close++) { /* the brace that belongs to it */
        level += *close == '{' && close > open && close[-1] == '$';
        level -= *close == '}' && level > 0;
        if (level == 0 && *close == '}') break;
    }
    if (!*close) study_bad(l->s, line, "%.60s: a ${ without its }", open);
    const char *name = study_text("%.*s", (int)(close - open - 2), open + 2);
    const char *value = look_up(l, s, expand(l, s, name, line, depth - 1), line, depth - 1);
    return study_text("%.*s%s%s", (int)(open - text), text, value,
                      expand(l, s, close + 1, line, depth));
}

const char *study_expand(const lab *l, const scope *s, const char *text, int line)
{
    return expand(l, s, text, line, 16);
}

const char *study_string(const lab *l, const scope *s, const node *map, const char *key,
                         const char *otherwise)
{
    const node *part = node_get(l->quick, map, key);

    if (!part && otherwise) return otherwise;
    if (!part || part->kind != NODE_TEXT)
        study_bad(l->s, part ? part->line : map->line, "expected a text for '%s'", key);
    return study_expand(l, s, part->text, part->line);
}

const scope *study_name(const char *name, const char *text, const scope *up)
{
    scope *one = study_alloc(sizeof *one);

    *one = (scope){.name = name, .text = text, .up = up};
    return one;
}

/* All names of a map. */
static const scope *let(const node *map, const scope *up)
{
    scope *one = study_alloc(sizeof *one);

    *one = (scope){.map = map, .up = up};
    return map ? one : up;
}

/* Text between single quotes of a task file. */
static const char *quoted(const char *s)
{
    char *out = study_alloc(2 * strlen(s) + 1), *to = out;

    for (; *s; s++) {
        if (*s == '\'') *to++ = '\'';
        *to++ = *s;
    }
    return out;
}

void study_scope(lab *l)
{
    const char *name = NULL, *written = NULL, *path = NULL;
    bool there = false;

    l->scope = study_name("data", quoted(l->data), NULL);
    l->scope = let(node_get(l->quick, l->s->file, "let"), l->scope);
    for (int64_t i = 0; (path = study_need(l->s, l->data, i, &there, &name, &written)); i++)
        if (name) l->scope = study_name(name, quoted(path), l->scope);
    l->scope = let(node_get(l->quick, l->s->root, "let"), l->scope);
}

/* ---- loops ---- */

/* One axis: every value of it, then the axes behind it. */
static void loop(lab *l, const node *map, const node *axes, int64_t at, const scope *s,
                 each_fn fn, void *arg)
{
    if (!axes || at == axes->n) {
        fn(l, map, s, arg);
        return;
    }
    const node *axis = node_pick(l->quick, axes->item[at]);
    int64_t n = axis->n;
    if (axis->kind == NODE_TEXT)
        n = strtol(study_expand(l, s, axis->text, axis->line), NULL, 10);
    if (axis->kind == NODE_MAP || n < 1)
        study_bad(l->s, axis->line, "%s: expected a list or a number from 1",
                  axes->key[at]);
    for (int64_t i = 0; i < n; i++) {
        scope one = {.name = axes->key[at], .up = s};
        if (axis->kind == NODE_TEXT)
            one.text = study_text("%lld", (long long)i);
        else
            one.value = axis->item[i];
        scope *kept = study_alloc(sizeof *kept);
        *kept = one;
        loop(l, map, axes, at + 1, kept, fn, arg);
    }
}

void study_each(lab *l, const node *map, const char *axes, const scope *s, each_fn fn,
                void *arg)
{
    const node *over = node_get(l->quick, map, axes);
    const char *only = study_string(l, s, map, "only", "");

    if (only[0] && strcmp(only, "full") != 0 && strcmp(only, "quick") != 0)
        study_bad(l->s, map->line, "only: expected full or quick");
    if (only[0] && strcmp(only, l->quick ? "quick" : "full") != 0) return;
    if (over && over->kind != NODE_MAP)
        study_bad(l->s, over->line, "%s: expected NAME: LIST", axes);
    loop(l, map, over, 0, let(node_get(l->quick, map, "let"), s), fn, arg);
}

void study_all(lab *l, const node *list, const scope *s, each_fn fn, void *arg)
{
    if (list && list->kind != NODE_LIST) study_bad(l->s, list->line, "expected a list");
    for (int64_t i = 0; list && i < list->n; i++)
        study_each(l, list->item[i], "each", s, fn, arg);
}
