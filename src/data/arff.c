/* ARFF (Weka) with Mulan's XML list of labels.
 *
 * Numeric attributes are features; nominal ones with the values 0 and 1 too, others become
 * one 0/1 feature "name=value" for each value. Labels: those that the XML file names (label
 * sets), the option label, the relation's "-C n" (MEKA), or else the class: the last
 * attribute if it is nominal or called class or label, or a nominal one so called. A string
 * attribute called id (or named by the option id) holds the ids; other strings are left
 * out.
 */
#include "data/arff.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- words of the header ---- */

/* ARFF's grammar, as far as it is read here. Words of the header may be in any case; '%'
 * begins a comment line.
 *
 *   @relation NAME
 *   @attribute NAME numeric | real | integer | string | {value, value, ...}
 *   @data
 *   v, v, ...            or        {index v, index v, ...}
 *
 * Names and values may stand in ' or " quotes, within which a backslash escapes. Dates and
 * relational attributes are refused by name. */
static void skip_blanks(const char **s, const char *e)
{
    while (*s < e && ferry_i_is_blank(**s))
        ++*s;
}

/* The unquoted form ends at , or } and loses the blanks around it; the quoted form keeps
 * all that is between the quotes. A \n is not a newline here: a backslash only protects
 * what follows it. */
bool ferry_i_arff_value(const char **s, const char *e, ferry_text *t, bool *quoted)
{
    t->len = 0;
    skip_blanks(s, e);
    *quoted = *s < e && (**s == '\'' || **s == '"');
    if (!*quoted) {
        const char *from = *s;
        while (*s < e && **s != ',' && **s != '}')
            ++*s;
        const char *to = *s;
        while (to > from && ferry_i_is_blank(to[-1]))
            to--;
        ferry_i_text_addn(t, from, to - from);
        return true;
    }
    const char quote = *(*s)++;
    for (; *s < e && **s != quote; ++*s) {
        if (**s == '\\' && *s + 1 < e) ++*s;
        ferry_i_text_addn(t, *s, 1);
    }
    if (*s == e) return false;
    ++*s;
    /* even an empty value gets its ending 0 */
    ferry_i_text_addn(t, "", 0);
    skip_blanks(s, e);
    return true;
}

/* The word at *s up to a blank or brace. */
static ferry_field word_at(const char **s, const char *e)
{
    skip_blanks(s, e);
    const char *from = *s;
    while (*s < e && !ferry_i_is_blank(**s) && **s != '{')
        ++*s;
    return (ferry_field){from, *s - from, 0};
}

/* A name: quoted, or up to a blank or brace. */
static bool name_at(const char **s, const char *e, ferry_text *t)
{
    bool quoted = false;

    skip_blanks(s, e);
    if (*s < e && (**s == '\'' || **s == '"')) return ferry_i_arff_value(s, e, t, &quoted);
    const ferry_field f = word_at(s, e);
    t->len = 0;
    ferry_i_text_addn(t, f.s, f.n);
    return f.n > 0;
}

/* ---- attributes ---- */

/* The values in braces, s behind the opening one. Their order matters: it numbers the
 * classes, and the first value is what a sparse row means by leaving the attribute out. A
 * comma before the closing brace is let pass, since some programs write one; an empty list
 * is not. */
static ferry_status nominal(ferry_ctx *ctx, ferry_arff *a, ferry_arff_attr *at,
                            const char *s, const char *e)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};
    bool quoted = false, added = false, closed = false;

    at->type = ARFF_NOMINAL;
    at->numbers = true;
    FERRY_HAVE(ctx, at->values = ferry_i_ids_new());
    while (s < e && !closed) {
        const bool fine = ferry_i_arff_value(&s, e, &t, &quoted);
        FERRY_HAVE(ctx, !t.failed);
        closed = s < e && *s == '}';
        /* '' in quotes is a value, the empty text */
        const bool empty = t.len == 0 && !quoted;
        FERRY_NEED_AT(ctx,
                      fine && s != e &&
                          (!empty || (closed && ferry_i_ids_count(at->values) > 0)),
                      a->path, a->l.line, "expected values in braces");
        s++;
        if (empty) break; /* {a,b,} */
        FERRY_HAVE(ctx, ferry_i_ids_addn(at->values, t.s, t.len, &added) >= 0);
        /* one value beside 0 and 1 makes it a category like any other */
        at->numbers = at->numbers && (strcmp(t.s, "0") == 0 || strcmp(t.s, "1") == 0);
        FERRY_NEED_AT(ctx, added, a->path, a->l.line, "value \"%.40s\" repeats", t.s);
    }
    if (!closed) st = ferry_i_bad(ctx, a->path, a->l.line, "expected values in braces");
done:
    ferry_i_text_free(&t);
    return st;
}

/* One line "@attribute NAME TYPE". The attribute is counted as soon as it has a place, so
 * that arff_free() finds its name even when the type turns out bad. */
static ferry_status attribute(ferry_ctx *ctx, ferry_arff *a, const char *s, const char *e)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};
    char show[44];

    const bool named = name_at(&s, e, &t);
    FERRY_HAVE(ctx, !t.failed && FERRY_GROW(a->a, a->n, a->cap));
    FERRY_NEED_AT(ctx, named, a->path, a->l.line, "expected @attribute NAME TYPE");
    ferry_arff_attr *at = &a->a[a->n++];
    /* until something says otherwise it is a feature (role 0) */
    *at = (ferry_arff_attr){.name = t.s ? t.s : NULL};
    t = (ferry_text){0}; /* the name is the attribute's now */
    skip_blanks(&s, e);
    if (s < e && *s == '{') {
        FERRY_TRY(nominal(ctx, a, at, s + 1, e));
        goto done;
    }
    const ferry_field type = word_at(&s, e);
    if (ferry_i_field_is(&type, "numeric") || ferry_i_field_is(&type, "real") ||
        ferry_i_field_is(&type, "integer"))
        at->type = ARFF_NUMBER;
    else if (ferry_i_field_is(&type, "string"))
        at->type = ARFF_STRING;
    else
        st = ferry_i_bad(ctx, a->path, a->l.line,
                         "type \"%s\", expected numeric, real, integer, string or {values}",
                         ferry_i_field_show(&type, show));
done:
    ferry_i_text_free(&t);
    return st;
}

/* MEKA: "-C 6" in the relation's name says that the first 6 are labels (-6: the last). */
static void relation(ferry_arff *a, const char *s, const char *e)
{
    for (; e - s > 3; s++) {
        if (memcmp(s, "-C", 2) != 0 || !ferry_i_is_blank(s[2])) continue;
        s += 3;
        skip_blanks(&s, e);
        if (!ferry_i_parse_int(s, e, &a->meka)) a->meka = 0;
        return;
    }
}

/* Lines up to @data; a->l then stands at the first row, which arff_rows.c goes on from. */
static ferry_status read_header(ferry_ctx *ctx, ferry_arff *a)
{
    ferry_status st = FERRY_OK;

    while (ferry_i_full_line(&a->l, "%")) {
        const char *s = a->l.s;
        const ferry_field word = word_at(&s, a->l.e);
        if (ferry_i_field_is(&word, "@relation")) {
            relation(a, s, a->l.e);
        } else if (ferry_i_field_is(&word, "@attribute")) {
            FERRY_TRY(attribute(ctx, a, s, a->l.e));
        } else if (ferry_i_field_is(&word, "@data")) {
            if (a->n == 0)
                st = ferry_i_bad(ctx, a->path, a->l.line, "no @attribute before @data");
            goto done;
        } else {
            st = ferry_i_bad(ctx, a->path, a->l.line,
                             "expected @relation, @attribute or @data");
            goto done;
        }
    }
    st = ferry_i_bad(ctx, a->path, 0, "expected a line @data");
done:
    return st;
}

/* No name twice: labels, ids and features are found by name from here on. By a set, since
 * files with thousands of attributes are common. */
static ferry_status check_names(ferry_ctx *ctx, const ferry_arff *a)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = ferry_i_ids_new();
    bool added = false;

    FERRY_HAVE(ctx, names);
    for (int64_t i = 0; i < a->n; i++) {
        FERRY_HAVE(ctx, ferry_i_ids_add(names, a->a[i].name, &added) >= 0);
        FERRY_NEED(ctx, added, FERRY_EDATA, "%s: attribute \"%.40s\" is declared twice",
                   a->path, a->a[i].name);
    }
done:
    ferry_i_ids_free(names);
    return st;
}

/* ---- Mulan's XML ---- */

/* Undo &amp; and its like. t <- [s, e) with the five entities that XML defines by itself.
 * Numeric ones (&#228;) stay as they are. */
static void add_entity_text(ferry_text *t, const char *s, const char *e)
{
    static const char *const entity[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};

    t->len = 0;
    while (s < e) {
        int64_t k = 0;
        for (; k < FERRY_COUNT(entity); k++) {
            const size_t n = strlen(entity[k][0]);
            if ((size_t)(e - s) >= n && memcmp(s, entity[k][0], n) == 0) break;
        }
        const bool found = k < FERRY_COUNT(entity);
        ferry_i_text_addn(t, found ? entity[k][1] : s, 1);
        s += found ? strlen(entity[k][0]) : 1;
    }
    ferry_i_text_addn(t, "", 0);
}

/* The value of name="..." inside a tag, or NULL. Found by a search instead of an XML
 * parser: the files have one shape, and the library stays free of a dependency. The blank
 * before it keeps "surname=" from matching. */
static const char *name_value(const char *s, const char *e, const char **end)
{
    for (; e - s > 6; s++) {
        if (!ferry_i_is_blank(*s) && *s != '\n') continue;
        if (memcmp(s + 1, "name", 4) != 0) continue;
        const char *q = s + 5;
        while (q < e && (ferry_i_is_blank(*q) || *q == '='))
            q++;
        if (q == e || (*q != '"' && *q != '\'')) continue;
        *end = memchr(q + 1, *q, (size_t)(e - q - 1));
        return *end ? q + 1 : NULL;
    }
    return NULL;
}

/* A name that no attribute has is refused: the XML most likely belongs to another ARFF
 * file, and a label silently missing would change every score. */
static ferry_status mark_label(ferry_ctx *ctx, ferry_arff *a, const char *xml,
                               const char *name)
{
    ferry_status st = FERRY_OK;
    int64_t i = 0;

    while (i < a->n && strcmp(a->a[i].name, name) != 0)
        i++;
    FERRY_NEED(ctx, i < a->n || a->s->like, FERRY_EDATA,
               "%s: label \"%.40s\" is no attribute of %s", xml, name, a->path);
    if (i < a->n) a->a[i].role = ARFF_LABEL;
done:
    return st;
}

/* Labels are the name attributes of <label> tags, however deep. Labels may be nested
 * (Mulan's hierarchies); the tree is flattened. Marks the attributes of a; cost O(bytes +
 * labels x attributes). */
static ferry_status read_xml(ferry_ctx *ctx, ferry_arff *a, const char *path)
{
    ferry_status st = FERRY_OK;
    ferry_input in = {0};
    ferry_text t = {0};
    int64_t found = 0;

    FERRY_TRY(ferry_i_input_open(ctx, path, &in));
    const char *s = in.data, *end = in.data + in.size;
    while (s < end && (s = memchr(s, '<', (size_t)(end - s)))) {
        const bool comment = end - s > 3 && memcmp(s, "<!--", 4) == 0;
        /* A comment ends with the first "-->", any other tag with the first ">". */
        const char *close = memchr(s, '>', (size_t)(end - s)), *to = NULL;
        while (comment && close && memcmp(close - 2, "--", 2) != 0)
            close = memchr(close + 1, '>', (size_t)(end - close - 1));
        FERRY_NEED(ctx, close, FERRY_EDATA, "%s:%lld: a tag is not closed", path,
                   (long long)ferry_i_line_of(in.data, s));
        if (!comment && close - s > 6 && memcmp(s, "<label", 6) == 0 &&
            (ferry_i_is_blank(s[6]) || s[6] == '\n')) {
            const char *from = name_value(s + 6, close, &to);
            FERRY_NEED(ctx, from, FERRY_EDATA, "%s:%lld: expected <label name=\"...\">",
                       path, (long long)ferry_i_line_of(in.data, s));
            add_entity_text(&t, from, to);
            FERRY_HAVE(ctx, !t.failed);
            FERRY_TRY(mark_label(ctx, a, path, t.s));
            found++;
        }
        s = close + 1;
    }
    FERRY_NEED(ctx, found > 0, FERRY_EDATA, "%s: expected <label name=\"...\"> tags", path);
done:
    ferry_i_text_free(&t);
    ferry_i_input_close(&in);
    return st;
}

/* x.arff or x.arff.gz -> x.xml; *out stays NULL when there is no such file. Mulan's
 * convention: the data and its list of labels differ in the extension only. */
static ferry_status xml_beside(ferry_ctx *ctx, const char *path, char **out)
{
    ferry_status st = FERRY_OK;
    int64_t n = ferry_i_unpacked_len(path);
    struct stat info;
    char *xml = NULL;

    /* n is the length without .gz and the like */
    if (n > 5 && strncasecmp(path + n - 5, ".arff", 5) == 0) n -= 5;
    FERRY_HAVE(ctx, xml = ferry_i_sprintf("%.*s.xml", (int)n, path));
    if (stat(xml, &info) == 0 && S_ISREG(info.st_mode)) {
        FERRY_MOVE(*out, xml);
    }
done:
    ferry_i_free(xml);
    return st;
}

/* ---- roles ---- */

/* In any case of letters: "Class" and "class" are both usual. */
static bool called(const ferry_arff_attr *at, const char *word)
{
    return strcasecmp(at->name, word) == 0;
}

/* The attribute that an option names: first, last, a number from 1 or a name; -1: none. A
 * name wins over a word or number, so that an attribute called "last" or "3" can be
 * reached. */
static ferry_status find_attr(ferry_ctx *ctx, const ferry_arff *a, const char *option,
                              const char *name, int64_t len, int64_t *out)
{
    ferry_status st = FERRY_OK;
    const ferry_field f = {name, len, 0};
    int64_t number = 0;

    for (*out = 0; *out < a->n; ++*out)
        if ((int64_t)strlen(a->a[*out].name) == len &&
            memcmp(a->a[*out].name, name, (size_t)len) == 0)
            return FERRY_OK;
    if (ferry_i_field_is(&f, "first"))
        *out = 0;
    else if (ferry_i_field_is(&f, "last"))
        *out = a->n - 1;
    else {
        FERRY_NEED(ctx, ferry_i_field_int(&f, &number) && number >= 1 && number <= a->n,
                   FERRY_EINVAL, "%s: %s = \"%.*s\" is none of its %lld attributes",
                   a->path, option, (int)len, name, (long long)a->n);
        *out = number - 1;
    }
done:
    return st;
}

/* count attributes from the front, or from the back when negative, are labels. */
static ferry_status mark_many(ferry_ctx *ctx, ferry_arff *a, int64_t count)
{
    ferry_status st = FERRY_OK;
    const int64_t n = count < 0 ? -count : count;

    FERRY_NEED(ctx, n > 0 && n < a->n, FERRY_EDATA, "%s: %lld labels of %lld attributes",
               a->path, (long long)n, (long long)a->n);
    for (int64_t i = 0; i < n; i++)
        a->a[count < 0 ? a->n - 1 - i : i].role = ARFF_LABEL;
done:
    return st;
}

/* label = NAME, a,b,c, first:6 or last:6. A single name is the class (one label for each
 * instance), several are a set of 0/1 labels. "first:1" is a set too: who gives a count
 * means a set. */
static ferry_status mark_option(ferry_ctx *ctx, ferry_arff *a, const char *label)
{
    int64_t i = 0, n = 0, count = 0;
    const char *end = label + strlen(label), *colon = strchr(label, ':');
    const bool first = strncmp(label, "first:", 6) == 0,
               last = strncmp(label, "last:", 5) == 0;

    /* a range, unless what follows the colon is no number: then it may be a name */
    if ((first || last) && ferry_i_parse_int(colon + 1, end, &n) == end)
        return mark_many(ctx, a, first ? n : -n);
    for (const char *s = label; s <= end;) {
        const char *comma = strchr(s, ',');
        const char *stop = comma ? comma : end;
        FERRY_PASS(find_attr(ctx, a, "label", s, stop - s, &i));
        a->a[i].role = ARFF_LABEL;
        count++;
        s = stop + 1;
    }
    if (count == 1) a->a[i].role = ARFF_CLASS;
    return FERRY_OK;
}

/* The class when nothing says which: see the head of this file. */
static void mark_class(ferry_arff *a)
{
    ferry_arff_attr *last = &a->a[a->n - 1];

    if (a->n > 1 && last->type != ARFF_STRING &&
        (last->type == ARFF_NOMINAL || called(last, "class") || called(last, "label"))) {
        last->role = ARFF_CLASS;
        return;
    }
    for (int64_t i = 0; i < a->n; i++) {
        ferry_arff_attr *at = &a->a[i];
        if (at->type != ARFF_NOMINAL || (!called(at, "class") && !called(at, "label")))
            continue;
        at->role = ARFF_CLASS;
        return;
    }
}

/* What the user says wins over the XML, that over MEKA's count, that over the guess. "none"
 * turns all four off, so that a nominal last attribute can be a feature. */
static ferry_status mark_labels(ferry_ctx *ctx, ferry_arff *a)
{
    ferry_status st = FERRY_OK;
    const char *label = a->s->label;
    const char *given = a->s->labels_xml;
    char *xml = NULL;

    if (strcmp(label, "none") == 0) goto done;
    if (!label[0] && !given[0]) FERRY_TRY(xml_beside(ctx, a->path, &xml));
    if (label[0])
        FERRY_TRY(mark_option(ctx, a, label));
    else if (given[0] || xml)
        FERRY_TRY(read_xml(ctx, a, given[0] ? given : xml));
    else if (a->meka != 0)
        FERRY_TRY(mark_many(ctx, a, a->meka));
    else
        mark_class(a);
done:
    /* New data for a model may lack its labels: whatever the rules make of that, what was a
     * feature is one. */
    if (a->s->like && (st == FERRY_EDATA || st == FERRY_EINVAL)) st = FERRY_OK;
    for (int64_t i = 0; i < a->n; i++)
        if (ferry_i_was_feature(a->s, a->a[i].name)) a->a[i].role = ARFF_FEATURE;
    ferry_i_free(xml);
    return st;
}

/* Runs after the labels, so the option id takes an attribute back that was marked as
 * one. */
static ferry_status mark_id(ferry_ctx *ctx, ferry_arff *a)
{
    int64_t i = -1;

    if (strcmp(a->s->id, "none") == 0) return FERRY_OK;
    if (a->s->id[0])
        FERRY_PASS(find_attr(ctx, a, "id", a->s->id, (int64_t)strlen(a->s->id), &i));
    for (int64_t k = 0; !a->s->id[0] && k < a->n && i < 0; k++)
        if (a->a[k].type == ARFF_STRING && called(&a->a[k], "id")) i = k;
    if (i >= 0) a->a[i].role = ARFF_ID;
    return FERRY_OK;
}

/* Decide what every attribute is and where it goes. */
static ferry_status set_roles(ferry_ctx *ctx, ferry_arff *a)
{
    ferry_status st = FERRY_OK;
    int64_t dropped = 0;

    /* labels and id by marks on the attributes, then one walk that gives each its place */
    a->class = a->id = -1;
    FERRY_TRY(mark_labels(ctx, a));
    FERRY_TRY(mark_id(ctx, a));
    for (int64_t i = 0; i < a->n; i++) {
        ferry_arff_attr *at = &a->a[i];
        if (at->role == ARFF_FEATURE && at->type == ARFF_STRING) {
            at->role = ARFF_DROP;
            dropped++;
        }
        if (at->role == ARFF_CLASS) a->class = i;
        if (at->role == ARFF_ID) a->id = i;
        /* a label of a set is on or off: nothing else can be read as that */
        if (at->role == ARFF_LABEL) {
            FERRY_NEED(ctx, at->type == ARFF_NUMBER || at->numbers, FERRY_EDATA,
                       "%s: label \"%.40s\" is not numeric or {0,1}", a->path, at->name);
            at->column = a->labels++;
        }
        if (at->role != ARFF_FEATURE) continue;
        /* a number or {0,1} stands for itself; k other values take k columns, side by
         * side */
        at->width =
            at->type == ARFF_NUMBER || at->numbers ? 1 : ferry_i_ids_count(at->values);
        at->column = a->columns;
        a->columns += at->width;
    }
    FERRY_NEED(ctx, a->columns > 0, FERRY_EDATA, "%s: no attribute is a feature", a->path);
    if (dropped > 0)
        ferry_i_log(ctx, FERRY_WARN, "%s: %lld string attributes are left out", a->path,
                    (long long)dropped);
done:
    return st;
}

/* ---- the format ---- */

static void arff_free(ferry_arff *a)
{
    for (int64_t i = 0; i < a->n; i++) {
        ferry_i_free(a->a[i].name);
        ferry_i_ids_free(a->a[i].values);
    }
    ferry_i_free(a->a);
}

/* Header, roles, rows. Everything in `a` is freed here; d alone survives. Text that is not
 * UTF-8 is taken as Latin-1. */
static ferry_status read_arff(ferry_ctx *ctx, const ferry_input *in, const char *member,
                              const ferry_read_settings *s, ferry_data_kind as,
                              ferry_data **out)
{
    ferry_status st = FERRY_OK;
    ferry_arff a = {.path = in->path, .s = s};
    ferry_utf8 u = {0};
    ferry_data *d = ferry_i_data_new("arff", in->path, FERRY_DATA_VIEW);

    (void)member;
    *out = NULL;
    FERRY_HAVE(ctx, d);
    FERRY_TRY(ferry_i_check_text(ctx, in));
    FERRY_TRY(ferry_i_utf8_open(ctx, in->data, in->size, &u));
    a.l = ferry_i_lines(u.s, u.n);
    /* header, roles, rows: each needs what the one before found */
    FERRY_TRY(read_header(ctx, &a));
    FERRY_TRY(check_names(ctx, &a));
    FERRY_TRY(set_roles(ctx, &a));
    FERRY_TRY(ferry_i_arff_rows(ctx, &a, d));
    if (as == FERRY_DATA_LABELS) {
        /* the rows were read in full: the features are dropped again */
        FERRY_NEED(ctx, d->labels, FERRY_EDATA, "%s: no attribute is a label", in->path);
        ferry_i_matrix_free(d->x);
        ferry_i_ids_free(d->features);
        d->x = NULL;
        d->features = NULL;
        d->kind = FERRY_DATA_LABELS;
    }
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    arff_free(&a);
    ferry_i_utf8_close(&u);
    return st;
}

/* The first line with something in it must be @relation: no other format begins so. */
static int sniff_arff(const char *head, int64_t n)
{
    ferry_lines l = ferry_i_lines(head, n);

    if (!ferry_i_full_line(&l, "%")) return 0;
    const char *s = l.s;
    const ferry_field word = word_at(&s, l.e);
    return ferry_i_field_is(&word, "@relation") ? 100 : 0;
}

const ferry_format ferry_i_format_arff = {
    .info = {.name = "arff",
             .extensions = ".arff",
             .summary = "Weka attributes and data, with Mulan's XML of labels",
             .writes = 1},
    .kinds = 1u << FERRY_DATA_VIEW | 1u << FERRY_DATA_LABELS,
    .options = "id label labels_xml",
    .sniff = sniff_arff,
    .read = read_arff,
    .write = ferry_i_arff_write,
};
