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
#include "data/lines.h"
#include "data/text.h"

/* Choices of the option documents, in its order. */
enum { AUTO, LINES, FILES };

/* A text being read. */
typedef struct reading {
    const char *path;
    const ferry_read_settings *s;
    ferry_documents *docs;
    ferry_file_choices files;
    ferry_span class; /* that the option files gives to what is being read, or NULL */
    ferry_text id;    /* scratch */
} reading;

/* Counts the words of s and notes the class (s NULL or "": none). Ids are the caller's:
 * files, lines and numbered lines each make them their own way. */
static ferry_status add_document(ferry_ctx *ctx, reading *d, const char *s, int64_t n,
                                 const ferry_span *class)
{
    ferry_documents *docs = d->docs;
    const int64_t at = docs->counts.docs;
    int64_t c = -1;

    FERRY_PASS(ferry_i_counts_add(ctx, &docs->counts, s, n));
    if (class->s && class->n > 0) {
        c = ferry_i_ids_addn(docs->classes, class->s, class->n, NULL);
        if (c < 0) return ferry_i_nomem(ctx);
        docs->any_class = true;
    }
    if (!FERRY_GROW(docs->cls, at, docs->cap)) return ferry_i_nomem(ctx);
    docs->cls[at] = c;
    return FERRY_OK;
}

/* ---- files ---- */

/* A whole file is a document. The last folder of its name is its class, as 20 Newsgroups
 * and many others are laid out, unless the option files gives one or label = none. */
static ferry_status one_file(ferry_ctx *ctx, void *arg, const char *name, const char *bytes,
                             int64_t n)
{
    reading *d = arg;
    const char *end = strrchr(name, '/'), *from = end;
    ferry_span class = d->class;

    while (from && from > name && from[-1] != '/')
        from--;
    if (end && !class.s && strcmp(d->s->label, "none") != 0)
        class = (ferry_span){from, end - from};
    if (ferry_i_ids_add(d->docs->ids, name, NULL) < 0) return ferry_i_nomem(ctx);
    return add_document(ctx, d, bytes, n, &class);
}

/* ---- lines ---- */

/* Which tab-separated column is the id, and which the class; 0: none. The text is
 * behind. */
typedef struct columns {
    int64_t id, class;
} columns;

/* The options id and label of text: -1 nothing said, 0 none, 1 or 2 the column, -2
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
static ferry_status look(ferry_ctx *ctx, const ferry_utf8 *u, int64_t *tags, bool *distinct)
{
    ferry_status st = FERRY_OK;
    ferry_ids *firsts = ferry_i_ids_new();

    FERRY_HAVE(ctx, firsts);
    /* the fewest tags that any line has: a column must be there on all of them */
    *tags = 2;
    *distinct = true;
    for (ferry_lines l = ferry_i_lines(u->s, u->n);
         *tags > 0 && ferry_i_full_line(&l, "");) {
        const char *tab = memchr(l.s, '\t', (size_t)(l.e - l.s)), *next = NULL;
        int64_t found = 0;
        bool added = false;
        if (tab && is_tag(l.s, tab)) {
            found = 1;
            next = memchr(tab + 1, '\t', (size_t)(l.e - tab - 1));
            if (next && is_tag(tab + 1, next)) found = 2;
            FERRY_HAVE(ctx, ferry_i_ids_addn(firsts, l.s, tab - l.s, &added) >= 0);
            *distinct = *distinct && added;
        }
        if (found < *tags) *tags = found;
    }
    /* one line alone tells nothing: its tag is as likely a class */
    *distinct = *distinct && ferry_i_ids_count(firsts) > 1;
done:
    ferry_i_ids_free(firsts);
    return st;
}

/* What was said wins. If nothing was, tags that all differ are ids, tags that repeat are
 * classes; a second tag behind ids is the class. */
static ferry_status find_columns(ferry_ctx *ctx, const char *path, const ferry_utf8 *u,
                                 const ferry_read_settings *s, columns *c)
{
    ferry_status st = FERRY_OK;
    int64_t tags = 0;
    bool distinct = false;

    c->id = column_named(s->id);
    c->class = column_named(s->label);
    FERRY_NEED(ctx, c->id > -2 && c->class > -2, FERRY_EINVAL,
               "%s: id = \"%s\", label = \"%s\": expected first, 1, 2 or none for text",
               path, s->id, s->label);
    FERRY_NEED(ctx, c->id <= 0 || c->id != c->class, FERRY_EINVAL,
               "%s: column %lld cannot be both id and label", path, (long long)c->id);
    if (c->id >= 0 && c->class >= 0) goto done;
    if (c->id > 0 || c->class > 0) { /* one was said: the other is not guessed */
        if (c->id < 0) c->id = 0;
        if (c->class < 0) c->class = 0;
        goto done;
    }
    FERRY_TRY(look(ctx, u, &tags, &distinct));
    const bool ids = tags > 0 && distinct && c->id < 0;
    c->id = ids ? 1 : 0;
    if (c->class < 0) c->class = ids ? (tags > 1 ? 2 : 0) : tags > 0 && !distinct ? 1 : 0;
done:
    return st;
}

/* Tags in front go to the id and the class, the rest is the text. `member`: the file of a
 * tree that the line is in, or NULL; a line of it without an id is called MEMBER:LINE, so
 * that ids stay unique over all files. */
static ferry_status one_line(ferry_ctx *ctx, reading *d, const char *path,
                             const char *member, const ferry_lines *l, const columns *c)
{
    ferry_status st = FERRY_OK;
    const int64_t tags = c->id > c->class ? c->id : c->class;
    const char *s = l->s;
    ferry_span class = d->class;
    ferry_ids *ids = d->docs->ids;
    bool added = false;

    for (int64_t i = 1; i <= tags; i++) {
        const char *tab = memchr(s, '\t', (size_t)(l->e - s));
        FERRY_NEED_AT(ctx, tab, path, l->line, "expected %lld tab%s before the text",
                      (long long)tags, tags > 1 ? "s" : "");
        if (i == c->class && !class.s) class = (ferry_span){s, tab - s};
        if (i == c->id) {
            FERRY_HAVE(ctx, ferry_i_ids_addn(ids, s, tab - s, &added) >= 0);
            FERRY_NEED_AT(ctx, added, path, l->line, "id \"%.*s\" repeats",
                          (int)(tab - s < 40 ? tab - s : 40), s);
        }
        s = tab + 1;
    }
    if (member && c->id == 0) {
        d->id.len = 0;
        ferry_i_text_addf(&d->id, "%s:%lld", member, (long long)l->line);
        FERRY_HAVE(ctx, !d->id.failed && ferry_i_ids_add(ids, d->id.s, NULL) >= 0);
    }
    FERRY_TRY(add_document(ctx, d, s, l->e - s, &class));
done:
    return st;
}

/* All lines of one file. Blanks at the end of the file are cut first: the newline that ends
 * the last line is not an empty document behind it. */
static ferry_status read_lines(ferry_ctx *ctx, reading *d, const ferry_input *in,
                               const char *member)
{
    ferry_status st = FERRY_OK;
    ferry_utf8 u = {0};
    columns c = {0};
    int64_t n = 0;

    FERRY_TRY(ferry_i_check_text(ctx, in));
    FERRY_TRY(ferry_i_utf8_open(ctx, in->data, in->size, &u));
    FERRY_TRY(find_columns(ctx, in->path, &u, d->s, &c));
    for (n = u.n; n > 0 && strchr(" \t\r\n", u.s[n - 1]); n--)
        ;
    /* Where the line is all there is to tell a document by, a blank one is a document
     * without words: the numbers of those behind it must not change. */
    ferry_lines l = ferry_i_lines(u.s, n);
    while (c.id == 0 && c.class == 0 ? ferry_i_any_line(&l) : ferry_i_full_line(&l, ""))
        FERRY_TRY(one_line(ctx, d, in->path, member, &l, &c));
    /* no ids at all: rows are called by their numbers */
    if (c.id == 0 && !member) {
        ferry_i_ids_free(d->docs->ids);
        d->docs->ids = NULL;
    }
done:
    ferry_i_utf8_close(&u);
    return st;
}

/* ---- trees ---- */

/* A file of a folder or archive, if it is wanted: one document, or one a line. */
static ferry_status one_member(ferry_ctx *ctx, void *arg, const char *name,
                               const char *bytes, int64_t n)
{
    ferry_status st = FERRY_OK;
    reading *d = arg;
    ferry_input in = {.data = bytes, .size = n};
    const ferry_file_choice *choice = ferry_i_choices_find(&d->files, name);

    if (d->files.n > 0 && !choice) goto done;
    /* label: none holds for the classes that files: names as well */
    d->class = choice && strcmp(d->s->label, "none") != 0 ? choice->class : (ferry_span)
    {
        0
    };
    if (d->s->documents != LINES) {
        FERRY_TRY(one_file(ctx, d, name, bytes, n));
        goto done;
    }
    FERRY_HAVE(ctx, in.path = ferry_i_sprintf("%s#%s", d->path, name));
    FERRY_TRY(read_lines(ctx, d, &in, name));
done:
    ferry_i_free(in.path);
    return st;
}

/* Members come in the order of their names, so that a folder and an archive of it give the
 * same rows. A pattern that fits nothing is an error: it is most likely misspelt. */
static ferry_status read_tree(ferry_ctx *ctx, reading *d, const ferry_input *in)
{
    if (!d->s->like) /* new documents are all wanted */
        FERRY_PASS(ferry_i_choices_open(ctx, in->path, d->s->files, &d->files));
    FERRY_PASS(ferry_i_each_member(ctx, in->path, one_member, d));
    return ferry_i_choices_check(ctx, in->path, &d->files);
}

/* ---- the format ---- */

/* in->data NULL means a folder or archive. With s->raw the counts stay in data->documents:
 * several domains are then weighed together by ferry_i_text_weigh(). */
static ferry_status read_text(ferry_ctx *ctx, const ferry_input *in, const char *member,
                              const ferry_read_settings *s, ferry_data_kind as,
                              ferry_data **out)
{
    ferry_status st = FERRY_OK;
    reading d = {.path = in->path, .s = s};
    ferry_ids *stop = NULL;
    ferry_data *data = ferry_i_data_new("text", in->path, FERRY_DATA_VIEW);

    (void)member, (void)as;
    *out = NULL;
    FERRY_HAVE(ctx, data);
    d.docs = data->documents = ferry_i_documents_new();
    FERRY_HAVE(ctx, d.docs);
    FERRY_TRY(ferry_i_stop_words(ctx, s->stop_words, s->lower, &stop));
    FERRY_TRY(ferry_i_counts_open(ctx, s, stop, &d.docs->counts));
    FERRY_NEED(ctx, !in->data || !s->files[0] || s->like, FERRY_EINVAL,
               "%s: files = \"%s\" wants a folder or archive, not one file", in->path,
               s->files);
    /* a tree, one file as one document, or one file by lines */
    if (!in->data)
        FERRY_TRY(read_tree(ctx, &d, in));
    else if (s->documents == FILES)
        FERRY_TRY(one_file(ctx, &d, in->path, in->data, in->size));
    else
        FERRY_TRY(read_lines(ctx, &d, in, NULL));
    d.docs->counts.s = NULL; /* both are lent */
    d.docs->counts.stop = NULL;
    if (!s->raw) FERRY_TRY(ferry_i_text_views(ctx, ctx->seed, 1, &data, s));
    FERRY_MOVE(*out, data);
done:
    ferry_data_free(data);
    ferry_i_free(d.files.entry);
    ferry_i_text_free(&d.id);
    ferry_i_ids_free(stop);
    return st;
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
    .read = read_text,
    .sniff_tree = sniff_tree,
};
