/* A study's outcome as text for people and as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build.h"
#include "study.h"

enum { WIDTH = 100 };

/* ---- text ---- */

typedef struct text {
    char *s;
    int64_t n, cap;
} text;

static void add(text *o, const char *s)
{
    const int64_t len = (int64_t)strlen(s);

    while (o->n + len + 1 > o->cap)
        o->s = study_grow(o->s, o->cap, &o->cap, 1);
    memcpy(o->s + o->n, s, (size_t)len + 1);
    o->n += len;
}

/* Characters, not bytes: continuation bytes of UTF-8 do not count. */
static int64_t width_of(const char *s)
{
    int64_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void pad(text *o, int64_t n)
{
    for (; n > 0; n--)
        add(o, " ");
}

/* A paragraph, broken between words; further lines are indented. */
static void paragraph(text *o, const char *s, int64_t indent)
{
    int64_t at = 0;

    for (; *s; s += strspn(s, " \n")) {
        const char *word = study_text("%.*s", (int)strcspn(s, " \n"), s);
        s += strlen(word);
        if (!word[0]) continue;
        if (at > 0 && at + 1 + width_of(word) > WIDTH) {
            add(o, "\n");
            pad(o, indent);
            at = indent;
        } else if (at > 0) {
            add(o, " ");
            at++;
        }
        add(o, word);
        at += width_of(word);
    }
    add(o, "\n");
}

/* "97.8 ± 0.3 (95.1)": ours, and the paper's where it has one. */
static const char *cell_text(const table *t, const cell *c)
{
    const char *s = "-";

    if (!c) return "";
    if (isfinite(c->ours.mean) && c->ours.n > 1)
        s = study_text("%.*f ± %.*f", t->digits, c->ours.mean, t->digits, c->ours.sd);
    else if (isfinite(c->ours.mean))
        s = study_text("%.*f", t->digits, c->ours.mean);
    return isfinite(c->paper) ? study_text("%s (%.*f)", s, t->digits, c->paper) : s;
}

static int64_t column_width(const table *t, int64_t column)
{
    int64_t most = width_of(t->columns.name[column]);

    for (int64_t i = 0; i < t->n; i++) {
        if (t->cells[i].column != column) continue;
        const int64_t width = width_of(cell_text(t, &t->cells[i]));
        if (width > most) most = width;
    }
    return most;
}

/* Columns first .. last - 1 under the names of the rows. */
static void table_part(text *o, const table *t, int64_t name, int64_t first, int64_t last)
{
    for (int64_t i = -1; i < t->rows.n; i++) {
        const char *head = i < 0 ? "" : t->rows.name[i];
        int64_t missing = name - width_of(head);
        add(o, head);
        for (int64_t j = first; j < last; j++) {
            const char *s = i < 0 ? t->columns.name[j] : cell_text(t, table_find(t, i, j));
            if (!s[0]) {
                missing += 2 + column_width(t, j);
                continue;
            }
            pad(o, missing + 2);
            add(o, s);
            missing = column_width(t, j) - width_of(s);
        }
        add(o, "\n");
    }
}

static void table_text(text *o, const table *t)
{
    int64_t name = 0;

    for (int64_t i = 0; i < t->rows.n; i++)
        if (width_of(t->rows.name[i]) > name) name = width_of(t->rows.name[i]);
    add(o, study_text("\n%s%s%s\n", t->title, t->units[0] ? "; " : "", t->units));
    for (int64_t first = 0, last = 0; first < t->columns.n; first = last) {
        int64_t width = name;
        while (last < t->columns.n &&
               (last == first || width + 2 + column_width(t, last) <= WIDTH))
            width += 2 + column_width(t, last++);
        if (first > 0) add(o, "\n");
        table_part(o, t, name, first, last);
    }
    for (int64_t i = 0; i < t->n; i++)
        if (t->cells[i].ours.reason)
            add(o,
                study_text("%s, %s: %s\n", t->rows.name[t->cells[i].row],
                           t->columns.name[t->cells[i].column], t->cells[i].ours.reason));
}

/* A text of the study, or the paper that all of its file are about. */
static const char *says(const lab *l, const char *key)
{
    const bool paper = strcmp(key, "paper") == 0;

    return study_string(l, l->scope, paper ? l->s->file : l->s->root, key, NULL);
}

const char *study_table(const lab *l)
{
    text o = {0};
    bool papers = false;

    add(&o, study_text("%s: %s\n%s\n\n", l->s->name, says(l, "shows"), says(l, "paper")));
    paragraph(&o, says(l, "protocol"), 0);
    for (int64_t i = 0; i < l->n_tables; i++) {
        table_text(&o, &l->tables[i]);
        for (int64_t j = 0; j < l->tables[i].n; j++)
            papers |= isfinite(l->tables[i].cells[j].paper);
    }
    add(&o, study_text("\nOurs ± standard deviation%s.\n\nWhat the paper says:\n",
                       papers ? " (the paper's number)" : "; the paper gives no numbers"));
    for (int64_t i = 0; i < l->n_claims; i++) {
        add(&o, "- ");
        paragraph(&o,
                  study_text("%s: %s", l->claims[i].held ? "held" : "NOT held",
                             l->claims[i].text),
                  2);
    }
    for (int64_t i = 0; i < l->notes.n; i++) {
        add(&o, i == 0 ? "\n" : "");
        paragraph(&o, l->notes.name[i], 0);
    }
    add(&o, study_text("\n%s run, seed %llu, %.0f s\n", l->quick ? "quick" : "full",
                       (unsigned long long)l->seed, l->seconds));
    paragraph(&o, study_text("Verdict: %s.", l->verdict), 0);
    return o.s;
}

/* ---- JSON ---- */

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* Text that may hold bytes which are no UTF-8, such as a file's name in a reason. */
static json_t *string(const char *s)
{
    json_t *out = json_string(s);

    return out ? out : json_string("(not UTF-8)");
}

static json_t *table_json(const table *t)
{
    json_t *cells = json_array();

    for (int64_t i = 0; i < t->n; i++) {
        const cell *c = &t->cells[i];
        json_t *o =
            json_pack("{s:o, s:o, s:o, s:o, s:I, s:o}", "row", string(t->rows.name[c->row]),
                      "column", string(t->columns.name[c->column]), "ours",
                      number(c->ours.mean), "sd", number(c->ours.n > 1 ? c->ours.sd : NAN),
                      "n", (json_int_t)c->ours.n, "paper", number(c->paper));
        if (c->ours.reason) (void)json_object_set_new(o, "reason", string(c->ours.reason));
        (void)json_array_append_new(cells, o);
    }
    return json_pack("{s:o, s:o, s:i, s:o}", "title", string(t->title), "units",
                     string(t->units), "digits", t->digits, "cells", cells);
}

/* What the library's doctor says of the machine. */
static json_t *machine_json(const lab *l)
{
    ferry_installation *here = NULL;
    json_t *machine = NULL;

    if (ferry_doctor(l->c->ctx, &here) == FERRY_OK)
        machine =
            json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:I}", "isa", here->isa, "system",
                      here->system, "release", here->release, "architecture",
                      here->architecture, "cpu", string(here->cpu), "cores",
                      (json_int_t)here->cores, "memory", (json_int_t)here->memory);
    ferry_installation_free(here);
    return machine ? machine : json_null();
}

static json_t *moment_json(double seconds)
{
    const time_t t = (time_t)seconds;
    struct tm utc;
    char s[32];

    if (!gmtime_r(&t, &utc) || strftime(s, sizeof s, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        return json_null();
    return json_string(s);
}

const char *study_json(const lab *l)
{
    json_t *tables = json_array(), *claims = json_array(), *notes = json_array(),
           *needs = json_array();
    const char *name = NULL, *written = NULL;
    bool there = false;

    for (int64_t i = 0; i < l->n_tables; i++)
        (void)json_array_append_new(tables, table_json(&l->tables[i]));
    for (int64_t i = 0; i < l->n_claims; i++)
        (void)json_array_append_new(claims, json_pack("{s:o, s:b}", "claim",
                                                      string(l->claims[i].text), "held",
                                                      (int)l->claims[i].held));
    for (int64_t i = 0; i < l->notes.n; i++)
        (void)json_array_append_new(notes, string(l->notes.name[i]));
    for (int64_t i = 0; study_need(l->s, l->data, i, &there, &name, &written); i++)
        (void)json_array_append_new(needs, string(written));
    json_t *o = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:I, s:i}", "study", l->s->name,
        "paper", string(says(l, "paper")), "shows", string(says(l, "shows")), "protocol",
        string(says(l, "protocol")), "verdict", string(l->verdict), "claims", claims,
        "tables", tables, "notes", notes, "quick", (int)l->quick, "seed",
        (json_int_t)l->seed, "threads", atoi(ferry_ctx_get(l->c->ctx, "threads")));
    (void)json_object_set_new(o, "started", moment_json(l->started));
    (void)json_object_set_new(o, "seconds", number(round(l->seconds * 10) / 10));
    (void)json_object_set_new(o, "ferry", json_string(ferry_version()));
    (void)json_object_set_new(o, "build",
                              FERRY_BUILD[0] ? json_string(FERRY_BUILD) : json_null());
    (void)json_object_set_new(o, "machine", machine_json(l));
    (void)json_object_set_new(o, "data", needs);
    (void)json_object_set(o, "runs", l->runs);
    char *dumped = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    const char *out = study_text("%s\n", dumped ? dumped : "");
    free(dumped);
    json_decref(o);
    return out;
}
