/* Text: one document a line, or one file a document in a folder or archive.
 *
 * The option files chooses among the files of a tree and may give them classes; with
 * documents = lines every line of each is a document, called FILE:LINE.
 * Files: the id is the path inside, the class the name of the folder that holds the file.
 * Lines: "class<TAB>text", "id<TAB>text" or "id<TAB>class<TAB>text" are seen by themselves
 * (a first field without blanks on every line; ids are all different), or said by the
 * options id and label: first, 1, 2 or none. Blank lines are no documents.
 * UTF-8 where it is valid, else Latin-1, document by document.
 */
#include <string.h>

#include "data/formats.h"
#include "data/text.h"

/* Choices of the option documents, in its order. */
enum { AUTO, LINES, FILES };

/* A text being read. */
typedef struct reading {
    scope *s;
    const source *from;
    const ferry_read_settings *set;
    ferry_documents *docs;
    counting counts;
    file_choices files;
    ferry_span class; /* that the option files gives to what is being read, or NULL */
} reading;

/* Counts the words of a text and keeps the class (s NULL or "": none). Ids are the caller's:
 * files, lines and numbered lines each make them their own way. */
static void add_document(reading *d, const char *text, int64_t n, const ferry_span *class)
{
    ferry_documents *docs = d->docs;
    const int64_t at = docs->counts.docs, mark = scope_mark(d->s);
    int64_t c = -1;

    counts_add(&d->counts, text, n);
    if (class->s && class->n > 0) {
        c = add_id(d->s, docs->classes, class->s, class->n, NULL);
        docs->any_class = true;
    }
    if (!FERRY_GROW(docs->cls, at, docs->cap)) have(d->s, NULL);
    docs->cls[at] = c;
    scope_release(d->s, mark);
}

/* ---- files ---- */

/* A whole file is a document. The last folder of its name is its class, as 20 Newsgroups
 * and many others are laid out, unless the option files gives one or label = none. */
static void one_file(reading *d, const char *name, const char *bytes, int64_t n)
{
    const char *end = strrchr(name, '/'), *from = end;
    ferry_span class = d->class;

    while (from && from > name && from[-1] != '/')
        from--;
    if (end && !class.s && strcmp(d->set->label, "none") != 0)
        class = (ferry_span){from, end - from};
    (void)add_id(d->s, d->docs->ids, name, (int64_t)strlen(name), NULL);
    add_document(d, bytes, n, &class);
}

/* ---- lines ---- */

/* Which tab-separated column is the id, and which the class; 0: none. The text is
 * behind. */
typedef struct columns {
    int64_t id, class;
} columns;

/* The options id and label of text: -1 not given, 0 none, 1 or 2 the column, -2
 * nonsense. */
static int64_t column_named(const char *name)
{
    if (!name[0]) return -1;
    if (strcmp(name, "first") == 0 || strcmp(name, "1") == 0) return 1;
    return strcmp(name, "2") == 0 ? 2 : strcmp(name, "none") == 0 ? 0 : -2;
}

/* A field that can be an id or a class: short and without blanks. */
static bool is_tag(const char *s, const char *e)
{
    return e > s && e - s <= 64 && !memchr(s, ' ', (size_t)(e - s));
}

/* Look at all lines: how many tags stand in front of each, and whether the first differ. */
static int64_t look(scope *s, const source *from, bool *distinct)
{
    ferry_ids *firsts = new_ids(s);
    /* the fewest tags that any line has: a column must be there on all of them */
    int64_t tags = 2;

    *distinct = true;
    for (ferry_lines l = ferry_i_lines(from->s, from->end - from->s);
         tags > 0 && ferry_i_full_line(&l, "");) {
        const char *tab = memchr(l.s, '\t', (size_t)(l.e - l.s)), *next = NULL;
        int64_t found = 0;
        bool added = false;
        if (tab && is_tag(l.s, tab)) {
            found = 1;
            next = memchr(tab + 1, '\t', (size_t)(l.e - tab - 1));
            if (next && is_tag(tab + 1, next)) found = 2;
            (void)add_id(s, firsts, l.s, tab - l.s, &added);
            *distinct = *distinct && added;
        }
        if (found < tags) tags = found;
    }
    /* one line alone shows nothing: its tag is as likely a class */
    *distinct = *distinct && ferry_i_ids_count(firsts) > 1;
    return tags;
}

/* What was given wins. If nothing was, tags that all differ are ids, tags that repeat are
 * classes; a second tag behind ids is the class. */
static columns find_columns(scope *s, const source *from)
{
    const ferry_read_settings *set = from->set;
    columns c = {column_named(set->id), column_named(set->label)};
    bool distinct = false;

    if (c.id == -2 || c.class == -2)
        scope_fail(s, FERRY_EINVAL,
                   "%s: id = \"%s\", label = \"%s\": expected first, 1, 2 or none for text",
                   from->path, set->id, set->label);
    if (c.id > 0 && c.id == c.class)
        scope_fail(s, FERRY_EINVAL, "%s: column %lld cannot be both id and label",
                   from->path, (long long)c.id);
    if (c.id >= 0 && c.class >= 0) return c;
    /* one was given: the other is not guessed */
    if (c.id > 0) return (columns){c.id, 0};
    if (c.class > 0) return (columns){0, c.class};
    const int64_t tags = look(s, from, &distinct);
    const bool ids = tags > 0 && distinct && c.id < 0;
    if (c.class < 0) c.class = ids ? (tags > 1 ? 2 : 0) : tags > 0 && !distinct ? 1 : 0;
    c.id = ids ? 1 : 0;
    return c;
}

/* Tags in front go to the id and the class, the rest is the text. `member`: the file of a
 * tree that the line is in, or NULL; a line of it without an id is called MEMBER:LINE, so
 * that ids stay unique over all files. */
static void one_line(reading *d, const char *path, const char *member, const ferry_lines *l,
                     const columns *c)
{
    const int64_t tags = c->id > c->class ? c->id : c->class;
    const char *s = l->s;
    ferry_span class = d->class;
    ferry_ids *ids = d->docs->ids;
    bool added = false;

    for (int64_t i = 1; i <= tags; i++) {
        const char *tab = memchr(s, '\t', (size_t)(l->e - s));
        if (!tab)
            bad_at(d->s, path, l->line, "expected %lld tab%s before the text",
                   (long long)tags, tags > 1 ? "s" : "");
        if (i == c->class && !class.s) class = (ferry_span){s, tab - s};
        if (i == c->id) {
            (void)add_id(d->s, ids, s, tab - s, &added);
            if (!added)
                bad_at(d->s, path, l->line, "id \"%.*s\" repeats",
                       (int)(tab - s < 40 ? tab - s : 40), s);
        }
        s = tab + 1;
    }
    if (member && c->id == 0) {
        char *id = scope_text(d->s, "%s:%lld", member, (long long)l->line);
        (void)add_id(d->s, ids, id, (int64_t)strlen(id), NULL);
        scope_drop(d->s, id);
    }
    add_document(d, s, l->e - s, &class);
}

/* All lines of one file. Blanks at the end of the file are cut first: the newline that ends
 * the last line is not an empty document behind it. */
static void read_lines(reading *d, source file, const char *member)
{
    open_text(d->s, OPEN_TEXT | OPEN_UTF8, &file);
    const columns c = find_columns(d->s, &file);
    const char *end = file.end;
    while (end > file.s && strchr(" \t\r\n", end[-1]))
        end--;
    /* Where the line is all there is to know a document by, a blank one is a document
     * without words: the numbers of those behind it must not change. */
    ferry_lines l = ferry_i_lines(file.s, end - file.s);
    while (c.id == 0 && c.class == 0 ? ferry_i_any_line(&l) : ferry_i_full_line(&l, ""))
        one_line(d, file.path, member, &l, &c);
    /* no ids at all: rows are called by their numbers */
    if (c.id == 0 && !member) {
        ferry_i_ids_free(d->docs->ids);
        d->docs->ids = NULL;
    }
}

/* ---- trees ---- */

/* A file of a tree as it comes. */
typedef struct member {
    reading *d;
    const char *name, *bytes;
    int64_t n;
} member;

/* One document, or one a line. */
static void read_member(scope *s, void *arg)
{
    const member *m = arg;
    reading *d = m->d;
    const int64_t mark = scope_mark(s);

    if (d->set->documents != LINES) {
        one_file(d, m->name, m->bytes, m->n);
        return;
    }
    const ferry_input in = {.data = m->bytes,
                            .size = m->n,
                            .path = scope_text(s, "%s#%s", d->from->path, m->name)};
    source file = *d->from;
    file.in = &in;
    file.path = in.path;
    read_lines(d, file, m->name);
    scope_release(s, mark);
}

/* A file of a folder or archive, if it is wanted. */
static ferry_status one_member(ferry_ctx *ctx, void *arg, const char *name,
                               const char *bytes, int64_t n)
{
    reading *d = arg;
    member m = {d, name, bytes, n};
    const file_choice *choice = choices_find(&d->files, name);

    (void)ctx;
    if (d->files.n > 0 && !choice) return FERRY_OK;
    /* label: none holds for the classes that files: names as well */
    d->class = choice && strcmp(d->set->label, "none") != 0 ? choice->class : (ferry_span)
    {
        NULL, 0
    };
    return scope_try(d->s, NULL, read_member, &m);
}

/* Members come in the order of their names, so that a folder and an archive of it give the
 * same rows. A pattern that fits nothing is an error: it is most likely misspelt. */
static void read_tree(reading *d)
{
    const char *path = d->from->path;

    if (!d->set->like) /* new documents are all wanted */
        choices_open(d->s, path, d->set->files, &d->files);
    scope_check(d->s, ferry_i_each_member(scope_ctx(d->s), path, one_member, d));
    choices_check(d->s, path, &d->files);
}

/* ---- the format ---- */

/* Without bytes it is a folder or archive. With set->raw the counts stay in data->documents:
 * several domains are then weighed together by ferry_i_text_weigh(). */
static void text_records(scope *s, const source *from, ferry_data *data)
{
    const ferry_read_settings *set = from->set;
    const ferry_input *in = from->in;
    reading d = {.s = s, .from = from, .set = set};

    d.docs = data->documents = have(s, ferry_i_documents_new());
    counts_open(s, set, stop_words(s, set->stop_words, set->lower), &d.docs->counts,
                &d.counts);
    if (in->data && set->files[0] && !set->like)
        scope_fail(s, FERRY_EINVAL,
                   "%s: files = \"%s\" wants a folder or archive, not one file", from->path,
                   set->files);
    /* a tree, one file as one document, or one file by lines */
    if (!in->data)
        read_tree(&d);
    else if (set->documents == FILES)
        one_file(&d, from->path, in->data, in->size);
    else
        read_lines(&d, *from, NULL);
    if (!set->raw) text_views(s, scope_ctx(s)->seed, 1, &data, set);
}

/* Mostly letters and blanks, with several words a line. */
static int sniff_text(const char *head, int64_t n)
{
    int64_t letters = 0, blanks = 0, lines = 1;

    for (int64_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)head[i];
        if (c == 0) return 0;
        letters += (c | 32) >= 'a' && (c | 32) <= 'z';
        letters += c >= 0x80;
        blanks += c == ' ';
        lines += c == '\n';
    }
    return letters + blanks > n * 3 / 4 && blanks > 3 * lines ? 50 : 0;
}

/* Folders with several files each, or nothing but .txt files. */
static int sniff_tree(const ferry_archive *tree)
{
    int64_t folders = 0, texts = 0, plain = 0;

    /* members are sorted by name, so those of one folder follow each other: a folder is
     * counted where the member before lies in another one */
    for (int64_t i = 0; i < tree->n; i++) {
        const char *name = tree->members[i].name, *slash = strrchr(name, '/');
        const size_t dir = slash ? (size_t)(slash - name) : 0, len = strlen(name);
        const char *last = i > 0 ? tree->members[i - 1].name : NULL;
        if (!last || strncmp(last, name, dir) != 0 ||
            strrchr(last, '/') != (slash ? last + dir : NULL))
            folders++;
        texts += len > 4 && strcmp(name + len - 4, ".txt") == 0;
        const char *dot = strrchr(slash ? slash : name, '.');
        plain += !dot || (len > 4 && strcmp(name + len - 4, ".txt") == 0);
    }
    if (texts == tree->n && tree->n > 1) return 60;
    return folders > 1 && plain * 10 >= tree->n * 9 && tree->n >= 3 * folders ? 60 : 0;
}

const ferry_format ferry_i_format_text = {
    .info = {.name = "text",
             .extensions = ".txt .text",
             .summary = "documents: one a line, or one file each in a folder or archive",
             .writes = 0},
    .kinds = 1u << FERRY_DATA_VIEW,
    .options = "id label documents files sample duplicates tokens lower "
               "min_len min_df max_df stop_words weight norm mail_headers "
               "part max_empty",
    .sniff = sniff_text,
    .records = text_records,
    .sniff_tree = sniff_tree,
};
