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
bool arff_value(arff *a, const char **s, const char *e, bool *quoted)
{
    ferry_text *t = a->t;

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
        if (t->failed) have(a->s, NULL);
        return true;
    }
    const char quote = *(*s)++;
    for (; *s < e && **s != quote; ++*s) {
        if (**s == '\\' && *s + 1 < e) ++*s;
        ferry_i_text_addn(t, *s, 1);
    }
    /* even an empty value gets its ending 0 */
    ferry_i_text_addn(t, "", 0);
    (void)text_of(a->s, t);
    if (*s == e) return false;
    ++*s;
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

/* A name: quoted, or up to a blank or brace; NULL: none. */
static const char *name_at(arff *a, const char **s, const char *e)
{
    bool quoted = false;

    skip_blanks(s, e);
    if (*s < e && (**s == '\'' || **s == '"'))
        return arff_value(a, s, e, &quoted) ? scope_text(a->s, "%s", a->t->s) : NULL;
    const ferry_field f = word_at(s, e);
    return f.n > 0 ? scope_text(a->s, "%.*s", (int)f.n, f.s) : NULL;
}

/* ---- attributes ---- */

/* The values in braces, s behind the opening one. Their order matters: it numbers the
 * classes, and the first value is what a sparse row means by leaving the attribute out. A
 * comma before the closing brace is let pass, since some programs write one; an empty list
 * is not. */
static void nominal(arff *a, arff_attr *at, const char *s, const char *e)
{
    bool quoted = false, added = false, closed = false;

    at->type = ARFF_NOMINAL;
    at->numbers = true;
    at->values = new_ids(a->s);
    while (s < e && !closed) {
        const bool fine = arff_value(a, &s, e, &quoted);
        closed = s < e && *s == '}';
        /* '' in quotes is a value, the empty text */
        const bool empty = a->t->len == 0 && !quoted;
        if (!fine || s == e || (empty && !(closed && ferry_i_ids_count(at->values) > 0)))
            bad_at(a->s, a->path, a->l.line, "expected values in braces");
        s++;
        if (empty) break; /* {a,b,} */
        (void)add_id(a->s, at->values, a->t->s, a->t->len, &added);
        /* one value beside 0 and 1 makes it a category like any other */
        at->numbers =
            at->numbers && (strcmp(a->t->s, "0") == 0 || strcmp(a->t->s, "1") == 0);
        if (!added) bad_at(a->s, a->path, a->l.line, "value \"%.40s\" repeats", a->t->s);
    }
    if (!closed) bad_at(a->s, a->path, a->l.line, "expected values in braces");
}

/* One line "@attribute NAME TYPE". */
static void attribute(arff *a, const char *s, const char *e)
{
    const char *name = name_at(a, &s, e);
    char show[44];

    if (!name) bad_at(a->s, a->path, a->l.line, "expected @attribute NAME TYPE");
    if (a->n == a->cap) {
        a->cap = 2 * a->cap + 16;
        a->a = scope_grow(a->s, a->a, a->cap, sizeof *a->a);
    }
    arff_attr *at = &a->a[a->n++];
    at->name = name;
    skip_blanks(&s, e);
    if (s < e && *s == '{') {
        nominal(a, at, s + 1, e);
        return;
    }
    const ferry_field type = word_at(&s, e);
    if (ferry_i_field_is(&type, "string"))
        at->type = ARFF_STRING;
    else if (!ferry_i_field_is(&type, "numeric") && !ferry_i_field_is(&type, "real") &&
             !ferry_i_field_is(&type, "integer"))
        bad_at(a->s, a->path, a->l.line,
               "type \"%s\", expected numeric, real, integer, string or {values}",
               ferry_i_field_show(&type, show));
}

/* MEKA: "-C 6" in the relation's name says that the first 6 are labels (-6: the last). */
static void relation(arff *a, const char *s, const char *e)
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
static void read_header(arff *a)
{
    while (ferry_i_full_line(&a->l, "%")) {
        const char *s = a->l.s;
        const ferry_field word = word_at(&s, a->l.e);
        if (ferry_i_field_is(&word, "@relation")) {
            relation(a, s, a->l.e);
        } else if (ferry_i_field_is(&word, "@attribute")) {
            attribute(a, s, a->l.e);
        } else if (ferry_i_field_is(&word, "@data")) {
            if (a->n == 0) bad_at(a->s, a->path, a->l.line, "no @attribute before @data");
            return;
        } else {
            bad_at(a->s, a->path, a->l.line, "expected @relation, @attribute or @data");
        }
    }
    bad_at(a->s, a->path, 0, "expected a line @data");
}

/* No name twice: labels, ids and features are found by name from here on. By a set, since
 * files with thousands of attributes are common. */
static void check_names(const arff *a)
{
    ferry_ids *names = new_ids(a->s);
    bool added = false;

    for (int64_t i = 0; i < a->n; i++) {
        const char *name = a->a[i].name;
        (void)add_id(a->s, names, name, (int64_t)strlen(name), &added);
        if (!added) bad_at(a->s, a->path, 0, "attribute \"%.40s\" is declared twice", name);
    }
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
static void mark_label(const arff *a, const char *xml, const char *name)
{
    int64_t i = 0;

    while (i < a->n && strcmp(a->a[i].name, name) != 0)
        i++;
    if (i == a->n && !a->set->like)
        bad_at(a->s, xml, 0, "label \"%.40s\" is no attribute of %s", name, a->path);
    if (i < a->n) a->a[i].role = ARFF_LABEL;
}

/* Labels are the name attributes of <label> tags, however deep. Labels may be nested
 * (Mulan's hierarchies); the tree is flattened. Marks the attributes of a; cost O(bytes +
 * labels x attributes). */
static void read_xml(arff *a, const char *path)
{
    const ferry_input *in = open_input(a->s, path);
    int64_t found = 0;

    const char *s = in->data, *end = in->data + in->size;
    while (s < end && (s = memchr(s, '<', (size_t)(end - s)))) {
        const bool comment = end - s > 3 && memcmp(s, "<!--", 4) == 0;
        /* A comment ends with the first "-->", any other tag with the first ">". */
        const char *close = memchr(s, '>', (size_t)(end - s)), *to = NULL;
        while (comment && close && memcmp(close - 2, "--", 2) != 0)
            close = memchr(close + 1, '>', (size_t)(end - close - 1));
        if (!close) bad_at(a->s, path, ferry_i_line_of(in->data, s), "a tag is not closed");
        if (!comment && close - s > 6 && memcmp(s, "<label", 6) == 0 &&
            (ferry_i_is_blank(s[6]) || s[6] == '\n')) {
            const char *from = name_value(s + 6, close, &to);
            if (!from)
                bad_at(a->s, path, ferry_i_line_of(in->data, s),
                       "expected <label name=\"...\">");
            add_entity_text(a->t, from, to);
            mark_label(a, path, text_of(a->s, a->t));
            found++;
        }
        s = close + 1;
    }
    if (found == 0) bad_at(a->s, path, 0, "expected <label name=\"...\"> tags");
}

/* x.arff or x.arff.gz -> x.xml; NULL when there is no such file. Mulan's
 * convention: the data and its list of labels differ in the extension only. */
static const char *xml_beside(const arff *a)
{
    int64_t n = ferry_i_unpacked_len(a->path);
    struct stat info;

    /* n is the length without .gz and the like */
    if (n > 5 && strncasecmp(a->path + n - 5, ".arff", 5) == 0) n -= 5;
    const char *xml = scope_text(a->s, "%.*s.xml", (int)n, a->path);
    return stat(xml, &info) == 0 && S_ISREG(info.st_mode) ? xml : NULL;
}

/* ---- roles ---- */

/* In any case of letters: "Class" and "class" are both usual. */
static bool called(const arff_attr *at, const char *word)
{
    return strcasecmp(at->name, word) == 0;
}

/* The attribute that an option names: first, last, a number from 1 or a name. A
 * name wins over a word or number, so that an attribute called "last" or "3" can be
 * reached. */
static int64_t find_attr(const arff *a, const char *option, const char *name, int64_t len)
{
    const ferry_field f = {name, len, 0};
    int64_t number = 0;

    for (int64_t i = 0; i < a->n; i++)
        if ((int64_t)strlen(a->a[i].name) == len &&
            memcmp(a->a[i].name, name, (size_t)len) == 0)
            return i;
    if (ferry_i_field_is(&f, "first")) return 0;
    if (ferry_i_field_is(&f, "last")) return a->n - 1;
    if (!ferry_i_field_int(&f, &number) || number < 1 || number > a->n)
        scope_fail(a->s, FERRY_EINVAL, "%s: %s = \"%.*s\" is none of its %lld attributes",
                   a->path, option, (int)len, name, (long long)a->n);
    return number - 1;
}

/* count attributes from the front, or from the back when negative, are labels. */
static void mark_many(const arff *a, int64_t count)
{
    const int64_t n = count < 0 ? -count : count;

    if (n < 1 || n >= a->n)
        bad_at(a->s, a->path, 0, "%lld labels of %lld attributes", (long long)n,
               (long long)a->n);
    for (int64_t i = 0; i < n; i++)
        a->a[count < 0 ? a->n - 1 - i : i].role = ARFF_LABEL;
}

/* label = NAME, a,b,c, first:6 or last:6. A single name is the class (one label for each
 * instance), several are a set of 0/1 labels. "first:1" is a set too: who gives a count
 * means a set. */
static void mark_option(const arff *a, const char *label)
{
    int64_t i = 0, n = 0, count = 0;
    const char *end = label + strlen(label), *colon = strchr(label, ':');
    const bool first = strncmp(label, "first:", 6) == 0,
               last = strncmp(label, "last:", 5) == 0;

    /* a range, unless what follows the colon is no number: then it may be a name */
    if ((first || last) && ferry_i_parse_int(colon + 1, end, &n) == end) {
        mark_many(a, first ? n : -n);
        return;
    }
    for (const char *s = label, *stop = NULL; s <= end; s = stop + 1, count++) {
        stop = strchr(s, ',');
        if (!stop) stop = end;
        i = find_attr(a, "label", s, stop - s);
        a->a[i].role = ARFF_LABEL;
    }
    if (count == 1) a->a[i].role = ARFF_CLASS;
}

/* The class when nothing says which: see the head of this file. */
static void mark_class(const arff *a)
{
    arff_attr *last = &a->a[a->n - 1];

    if (a->n > 1 && last->type != ARFF_STRING &&
        (last->type == ARFF_NOMINAL || called(last, "class") || called(last, "label"))) {
        last->role = ARFF_CLASS;
        return;
    }
    for (int64_t i = 0; i < a->n; i++) {
        arff_attr *at = &a->a[i];
        if (at->type != ARFF_NOMINAL || (!called(at, "class") && !called(at, "label")))
            continue;
        at->role = ARFF_CLASS;
        return;
    }
}

/* What the user says wins over the XML, that over MEKA's count, that over the guess. "none"
 * turns all four off, so that a nominal last attribute can be a feature. */
static void mark_labels(scope *s, void *arg)
{
    arff *a = arg;
    const char *label = a->set->label, *xml = a->set->labels_xml;

    (void)s;
    if (strcmp(label, "none") == 0) return;
    if (!xml[0]) xml = label[0] ? NULL : xml_beside(a);
    if (label[0])
        mark_option(a, label);
    else if (xml)
        read_xml(a, xml);
    else if (a->meka != 0)
        mark_many(a, a->meka);
    else
        mark_class(a);
}

/* New data for a model may lack its labels: whatever the rules make of that, what was a
 * feature is one. */
static void try_labels(arff *a)
{
    const ferry_status st = scope_try(a->s, NULL, mark_labels, a);

    if (!(a->set->like || a->set->label_elsewhere) ||
        (st != FERRY_EDATA && st != FERRY_EINVAL))
        scope_check(a->s, st);
    for (int64_t i = 0; i < a->n; i++)
        if (ferry_i_was_feature(a->set, a->a[i].name)) a->a[i].role = ARFF_FEATURE;
}

/* Runs after the labels, so the option id takes an attribute back that was marked as
 * one. */
static void mark_id(const arff *a)
{
    const char *id = a->set->id;
    int64_t i = -1;

    if (strcmp(id, "none") == 0) return;
    if (id[0]) i = find_attr(a, "id", id, (int64_t)strlen(id));
    for (int64_t k = 0; !id[0] && k < a->n && i < 0; k++)
        if (a->a[k].type == ARFF_STRING && called(&a->a[k], "id")) i = k;
    if (i >= 0) a->a[i].role = ARFF_ID;
}

/* Decide what every attribute is and where it goes: labels and id by marks on the attributes, then one walk that
 * gives each its place. */
static void set_roles(arff *a)
{
    int64_t dropped = 0;

    a->class = a->id = -1;
    try_labels(a);
    mark_id(a);
    for (int64_t i = 0; i < a->n; i++) {
        arff_attr *at = &a->a[i];
        if (at->role == ARFF_FEATURE && at->type == ARFF_STRING) {
            at->role = ARFF_DROP;
            dropped++;
        }
        if (at->role == ARFF_CLASS) a->class = i;
        if (at->role == ARFF_ID) a->id = i;
        /* a label of a set is on or off: nothing else can be read as that */
        if (at->role == ARFF_LABEL) {
            if (at->type != ARFF_NUMBER && !at->numbers)
                bad_at(a->s, a->path, 0, "label \"%.40s\" is not numeric or {0,1}",
                       at->name);
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
    if (a->columns == 0) bad_at(a->s, a->path, 0, "no attribute is a feature");
    if (dropped > 0)
        ferry_i_log(scope_ctx(a->s), FERRY_WARN, "%s: %lld string attributes are left out",
                    a->path, (long long)dropped);
}

/* ---- the format ---- */

/* Header, roles, rows: each needs what the one before found. */
static void arff_records(scope *s, const source *from, ferry_data *d)
{
    arff a = {.s = s,
              .path = from->path,
              .set = from->set,
              .d = d,
              .l = ferry_i_lines(from->s, from->end - from->s),
              .t = new_text(s)};

    read_header(&a);
    check_names(&a);
    set_roles(&a);
    arff_rows(&a);
    if (from->as == FERRY_DATA_VIEW) return;
    /* the rows were read in full: the features are dropped again */
    if (!d->labels) bad_at(s, from->path, 0, "no attribute is a label");
    ferry_i_matrix_free(d->x);
    ferry_i_ids_free(d->features);
    d->x = NULL;
    d->features = NULL;
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
    .open = OPEN_TEXT | OPEN_UTF8,
    .records = arff_records,
    .write = ferry_i_arff_write,
};
