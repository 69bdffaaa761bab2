/* A dict as a file in the safetensors layout:
 *
 *   8 bytes   length of the header, little-endian
 *   header    {"__metadata__":{"checksum":"HEX",...texts...},"NAME":{"dtype","shape",
 *             "data_offsets"},...}, padded with spaces to a multiple of 8
 *   data      the tensors without holes, the widest types first, so all are aligned
 *
 * HEX is XXH3-128 of the whole file with its own 32 digits taken as zeros. They stand at a
 * fixed place, so every bit of the file is covered and a plain safetensors reader sees just
 * one more text. Nothing in a file is believed before it was checked: memory taken is the
 * file's size plus what its JSON header parses to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/json.h"
#include "state/dict_private.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "model files are little-endian and are read in place: this machine needs a swap here"
#endif

#define PREFIX "{\"__metadata__\":{\"checksum\":\""
enum { PREFIX_LEN = sizeof PREFIX - 1, DIGITS = 32 };
/* Plain safetensors readers refuse longer headers. */
#define HEADER_MAX ((int64_t)100000000)

static const char *const dtype[DICT_TYPES] = {"F64", "I64", "I32", "U8"};

/* ---- checksum ---- */

/* 32 digits, high half first. */
static void put_hex(XXH128_hash_t hash, char hex[DIGITS + 1])
{
    (void)snprintf(hex, DIGITS + 1, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
}

/* Begin with the length and the header (which starts with PREFIX), its digits as zeros. */
static void hash_header(XXH3_state_t *state, const char *header, uint64_t len)
{
    static const char zeros[DIGITS] = "00000000000000000000000000000000";

    (void)XXH3_128bits_reset(state);
    (void)XXH3_128bits_update(state, &len, sizeof len);
    (void)XXH3_128bits_update(state, PREFIX, PREFIX_LEN);
    (void)XXH3_128bits_update(state, zeros, DIGITS);
    (void)XXH3_128bits_update(state, header + PREFIX_LEN + DIGITS,
                              len - PREFIX_LEN - DIGITS);
}

/* ---- saving ---- */

/* Give every tensor its place in the data: the widest types first. Returns the size. */
static int64_t place_tensors(const ferry_dict *dict, int64_t *at)
{
    int64_t end = 0;

    for (int type = 0; type < DICT_TYPES; type++) {
        for (int64_t i = 0; i < dict->n; i++) {
            const dict_tensor *t = &dict->tensor[i];
            if (t->type != (dict_type)type) continue;
            at[i] = end;
            end += t->rows * t->cols * (int64_t)ferry_i_dict_width(t->type);
        }
    }
    return end;
}

/* One entry of the header. */
static json_t *tensor_json(const dict_tensor *t, int64_t at)
{
    const int64_t size = t->rows * t->cols * (int64_t)ferry_i_dict_width(t->type);
    json_t *shape = t->dims == 2
                        ? json_pack("[II]", (json_int_t)t->rows, (json_int_t)t->cols)
                        : json_pack("[I]", (json_int_t)t->rows);

    return json_pack("{s:s, s:o, s:[II]}", "dtype", dtype[t->type], "shape", shape,
                     "data_offsets", (json_int_t)at, (json_int_t)(at + size));
}

/* Texts must be UTF-8, or JSON cannot hold them. */
static ferry_status metadata_json(ferry_ctx *ctx, const ferry_dict *dict, const char *path,
                                  json_t *metadata)
{
    ferry_status st = FERRY_OK;

    (void)json_object_set_new(metadata, "checksum",
                              json_string("00000000000000000000000000000000"));
    (void)json_object_set_new(metadata, "ferry.format",
                              json_sprintf("%d", FERRY_FORMAT_VERSION));
    (void)json_object_set_new(metadata, "ferry.version", json_string(ferry_version()));
    for (int64_t i = 0; i < dict->n_text; i++) {
        json_t *value = json_string(dict->text[i]);
        FERRY_NEED(ctx, value, FERRY_EINVAL, "%s: cannot save: '%s' is not UTF-8 text",
                   path, ferry_i_ids_at(dict->keys, i));
        FERRY_HAVE(
            ctx, json_object_set_new(metadata, ferry_i_ids_at(dict->keys, i), value) == 0);
    }
done:
    return st;
}

/* The header with a checksum of zeros, padded; new memory of the C library. */
static ferry_status header_text(ferry_ctx *ctx, const ferry_dict *dict, const int64_t *at,
                                const char *path, char **text, uint64_t *len)
{
    ferry_status st = FERRY_OK;
    json_t *root = json_object(), *metadata = json_object();
    char *bare = NULL;

    *text = NULL;
    FERRY_HAVE(ctx, root && metadata);
    FERRY_TRY(metadata_json(ctx, dict, path, metadata));
    (void)json_object_set(root, "__metadata__", metadata);
    for (int64_t i = 0; i < dict->n; i++)
        FERRY_HAVE(ctx, json_object_set_new(root, ferry_i_ids_at(dict->names, i),
                                            tensor_json(&dict->tensor[i], at[i])) == 0);
    FERRY_TRY(ferry_i_json_dump(ctx, root, JSON_COMPACT, &bare));
    const size_t n = strlen(bare), padded = (n + 7) / 8 * 8;
    FERRY_NEED(ctx, padded <= (size_t)HEADER_MAX, FERRY_EINVAL,
               "%s: cannot save: the header has %zu bytes, at most %lld are allowed", path,
               padded, (long long)HEADER_MAX);
    FERRY_HAVE(ctx, *text = ferry_i_calloc((int64_t)padded + 1, 1));
    memcpy(*text, bare, n);
    memset(*text + n, ' ', padded - n);
    *len = padded;
done:
    ferry_i_free(bare);
    json_decref(metadata);
    json_decref(root);
    return st;
}

/* Every tensor's bytes in the order of the file, to wherever they are wanted. */
static void each_tensor(const ferry_dict *dict, XXH3_state_t *hash, ferry_out *o, char *to)
{
    for (int type = 0; type < DICT_TYPES; type++) {
        for (int64_t i = 0; i < dict->n; i++) {
            const dict_tensor *t = &dict->tensor[i];
            const int64_t size = t->rows * t->cols * (int64_t)ferry_i_dict_width(t->type);
            if (t->type != (dict_type)type || size == 0) continue;
            if (hash) (void)XXH3_128bits_update(hash, t->data, (size_t)size);
            if (o) ferry_i_out_write(o, t->data, size);
            if (to) {
                memcpy(to, t->data, (size_t)size);
                to += size;
            }
        }
    }
}

/* The header, complete with the checksum, and the size of the data after it. Two passes over the
 * tensors, here and when they are written: the checksum stands at the front, so it must be known
 * before the first byte is. Hashing runs at memory speed; the disk is what takes time. */
static ferry_status summed_header(ferry_ctx *ctx, const ferry_dict *dict, const char *what,
                                  char **header, uint64_t *len, int64_t *data)
{
    ferry_status st = FERRY_OK;
    int64_t *at = ferry_i_calloc(dict->n, sizeof *at);
    XXH3_state_t *hash = XXH3_createState();
    char hex[DIGITS + 1];

    FERRY_HAVE(ctx, at && hash);
    *data = place_tensors(dict, at);
    FERRY_TRY(header_text(ctx, dict, at, what, header, len));
    hash_header(hash, *header, *len);
    each_tensor(dict, hash, NULL, NULL);
    put_hex(XXH3_128bits_digest(hash), hex);
    memcpy(*header + PREFIX_LEN, hex, DIGITS);
done:
    ferry_i_free(at);
    (void)XXH3_freeState(hash);
    return st;
}

ferry_status ferry_i_dict_save(ferry_ctx *ctx, const ferry_dict *dict, const char *path)
{
    ferry_status st = FERRY_OK;
    char *header = NULL;
    ferry_out *o = NULL;
    uint64_t len = 0;
    int64_t data = 0;

    FERRY_TRY(summed_header(ctx, dict, path, &header, &len, &data));
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_write(o, &len, sizeof len);
    ferry_i_out_write(o, header, (int64_t)len);
    each_tensor(dict, NULL, o, NULL);
    st = ferry_i_out_commit(ctx, o);
done:
    ferry_i_free(header);
    return st;
}

ferry_status ferry_i_dict_print(ferry_ctx *ctx, const ferry_dict *dict, const char *what,
                                char **out, int64_t *n)
{
    ferry_status st = FERRY_OK;
    char *header = NULL;
    uint64_t len = 0;
    int64_t data = 0;

    FERRY_TRY(summed_header(ctx, dict, what, &header, &len, &data));
    *n = (int64_t)(sizeof len + len) + data;
    FERRY_NEW(ctx, *out, *n);
    memcpy(*out, &len, sizeof len);
    memcpy(*out + sizeof len, header, len);
    each_tensor(dict, NULL, NULL, *out + sizeof len + len);
done:
    ferry_i_free(header);
    return st;
}

/* ---- loading ---- */

/* A file being taken apart. */
typedef struct reading {
    const char *what; /* its name, for messages */
    uint8_t *bytes;
    int64_t n, header, data; /* bytes in all, of the header, where the data begins */
} reading;

/* The length word and that the header lies in the file. */
static ferry_status find_header(ferry_ctx *ctx, reading *r)
{
    ferry_status st = FERRY_OK;
    uint64_t len = 0;

    FERRY_NEED(ctx, r->n > 0, FERRY_EDATA, "%s: is empty, expected a Ferry model", r->what);
    FERRY_NEED(ctx, r->n > 8, FERRY_EDATA,
               "%s: has %lld bytes, too few for a Ferry model: truncated, or not one",
               r->what, (long long)r->n);
    memcpy(&len, r->bytes, sizeof len);
    FERRY_NEED(ctx, len <= (uint64_t)HEADER_MAX && r->bytes[8] == '{', FERRY_EDATA,
               "%s: is not a Ferry model: it does not begin with a safetensors header",
               r->what);
    r->header = (int64_t)len;
    r->data = 8 + r->header;
    FERRY_NEED(ctx, r->data <= r->n, FERRY_EDATA,
               "%s: is truncated: has %lld bytes, the header alone ends at byte %lld",
               r->what, (long long)r->n, (long long)r->data);
done:
    return st;
}

/* The texts, and that this is a format we know. */
static ferry_status read_metadata(ferry_ctx *ctx, const reading *r, json_t *metadata,
                                  ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const char *format = json_string_value(json_object_get(metadata, "ferry.format"));
    const char *version = json_string_value(json_object_get(metadata, "ferry.version"));
    const char *key;
    json_t *value;
    int64_t number = 0;

    FERRY_NEED(ctx, format, FERRY_EDATA,
               "%s: is not a Ferry model: a safetensors file without Ferry's metadata",
               r->what);
    /* A newer format is told apart from a broken file: the message says which ferry wrote
     * it. */
    const char *end = format + strlen(format);
    FERRY_NEED(ctx, ferry_i_parse_int(format, end, &number) == end && number >= 1,
               FERRY_EDATA, "%s: is corrupt: ferry.format is '%s', expected a number",
               r->what, format);
    FERRY_NEED(
        ctx, number <= FERRY_FORMAT_VERSION, FERRY_EDATA,
        "%s: has the newer format %lld, written by ferry %s; this is ferry %s, which "
        "reads formats up to %d",
        r->what, (long long)number, version ? version : "of unknown version",
        ferry_version(), FERRY_FORMAT_VERSION);
    json_object_foreach(metadata, key, value)
    {
        FERRY_NEED(ctx, json_is_string(value), FERRY_EDATA,
                   "%s: is corrupt: metadata '%s' is not a text", r->what, key);
        FERRY_TRY(ferry_i_dict_put_text(ctx, dict, key, json_string_value(value)));
    }
done:
    return st;
}

/* Number i of an array of n, or -1. */
static int64_t item(const json_t *array, size_t i, size_t n)
{
    const json_t *value = json_array_size(array) == n ? json_array_get(array, i) : NULL;

    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (int64_t)json_integer_value(value)
               : -1;
}

/* rows * cols * width, or -1 when that is more than `most`. */
static int64_t size_of(const dict_tensor *t, int64_t most)
{
    const int64_t width = (int64_t)ferry_i_dict_width(t->type);

    if (t->rows == 0 || t->cols == 0) return 0;
    if (t->rows > most / width / t->cols) return -1;
    return t->rows * t->cols * width;
}

/* What the header says of one tensor. */
static ferry_status read_tensor(ferry_ctx *ctx, const reading *r, const char *name,
                                const json_t *json, dict_tensor *t)
{
    ferry_status st = FERRY_OK;
    const char *type = json_string_value(json_object_get(json, "dtype"));
    const json_t *shape = json_object_get(json, "shape");
    const json_t *offsets = json_object_get(json, "data_offsets");
    int k = 0;

    while (type && k < DICT_TYPES && strcmp(type, dtype[k]) != 0)
        k++;
    FERRY_NEED(ctx, type && k < DICT_TYPES, FERRY_EDATA,
               "%s: is corrupt: tensor '%s' has type %s, expected F64, I64, I32 or U8",
               r->what, name, type ? type : "none");
    *t = (dict_tensor){.type = (dict_type)k, .dims = k == DICT_F64 ? 2 : 1};
    t->rows = item(shape, 0, (size_t)t->dims);
    t->cols = t->dims == 2 ? item(shape, 1, 2) : 1;
    FERRY_NEED(ctx, t->rows >= 0 && t->cols >= 0, FERRY_EDATA,
               "%s: is corrupt: tensor '%s' has no shape of %d numbers", r->what, name,
               t->dims);
    t->at = item(offsets, 0, 2);
    t->end = item(offsets, 1, 2);
    FERRY_NEED(ctx, t->at >= 0 && t->end >= t->at, FERRY_EDATA,
               "%s: is corrupt: tensor '%s' has no data_offsets", r->what, name);
done:
    return st;
}

/* A shape that its data fills, at a place where it can be read. An empty tensor may not
 * claim rows or columns out of all proportion to the file either. */
static ferry_status check_tensor(ferry_ctx *ctx, const reading *r, const char *name,
                                 const dict_tensor *t)
{
    ferry_status st = FERRY_OK;
    const int64_t size = size_of(t, r->n), most = r->n + 1048576;

    FERRY_NEED(ctx, size == t->end - t->at && t->rows <= most && t->cols <= most,
               FERRY_EDATA,
               "%s: is corrupt: tensor '%s' has shape %lld x %lld and %lld bytes", r->what,
               name, (long long)t->rows, (long long)t->cols, (long long)(t->end - t->at));
    FERRY_NEED(ctx, (r->data + t->at) % (int64_t)ferry_i_dict_width(t->type) == 0,
               FERRY_EDATA, "%s: is corrupt: tensor '%s' is not aligned", r->what, name);
done:
    return st;
}

/* All tensors' descriptions; *end is where the last one's data ends. */
static ferry_status read_tensors(ferry_ctx *ctx, const reading *r, json_t *root,
                                 ferry_dict *dict, int64_t *end)
{
    const char *name;
    json_t *json;

    *end = 0;
    json_object_foreach(root, name, json)
    {
        dict_tensor t;
        if (strcmp(name, "__metadata__") == 0) continue;
        FERRY_PASS(read_tensor(ctx, r, name, json, &t));
        FERRY_PASS(ferry_i_dict_add(ctx, dict, name, &t));
        if (t.end > *end) *end = t.end;
    }
    return FERRY_OK;
}

/* Over the file as it lies in memory, the place of the digits taken as zeros. */
static ferry_status check_sum(ferry_ctx *ctx, const reading *r)
{
    ferry_status st = FERRY_OK;
    const char *header = (const char *)r->bytes + 8;
    XXH3_state_t *hash = XXH3_createState();
    char hex[DIGITS + 1];

    FERRY_HAVE(ctx, hash);
    FERRY_NEED(ctx,
               r->header >= PREFIX_LEN + DIGITS && memcmp(header, PREFIX, PREFIX_LEN) == 0,
               FERRY_EDATA, "%s: is corrupt: its header does not begin with the checksum",
               r->what);
    hash_header(hash, header, (uint64_t)r->header);
    (void)XXH3_128bits_update(hash, r->bytes + r->data, (size_t)(r->n - r->data));
    put_hex(XXH3_128bits_digest(hash), hex);
    FERRY_NEED(ctx, memcmp(header + PREFIX_LEN, hex, DIGITS) == 0, FERRY_EDATA,
               "%s: is corrupt: its checksum is %.32s, its content gives %s", r->what,
               header + PREFIX_LEN, hex);
done:
    (void)XXH3_freeState(hash);
    return st;
}

/* By offset. */
static int by_place(const void *a, const void *b)
{
    const dict_tensor *const *x = a, *const *y = b;

    if ((*x)->at != (*y)->at) return (*x)->at < (*y)->at ? -1 : 1;
    /* An empty tensor stands before the one that begins at the same place. */
    return ((*x)->end > (*x)->at) - ((*y)->end > (*y)->at);
}

/* Tensors fill the data one after the other: no hole, no overlap, nothing after them. */
static ferry_status check_layout(ferry_ctx *ctx, const reading *r, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    dict_tensor **order = ferry_i_calloc(dict->n, sizeof *order);
    int64_t end = 0;

    FERRY_HAVE(ctx, order);
    for (int64_t i = 0; i < dict->n; i++) {
        dict_tensor *t = order[i] = &dict->tensor[i];
        FERRY_TRY(check_tensor(ctx, r, ferry_i_ids_at(dict->names, i), t));
    }
    qsort(order, (size_t)dict->n, sizeof *order, by_place);
    for (int64_t i = 0; i < dict->n; i++) {
        const char *name = ferry_i_ids_at(dict->names, order[i] - dict->tensor);
        FERRY_NEED(ctx, order[i]->at == end, FERRY_EDATA,
                   "%s: is corrupt: tensor '%s' begins at %lld, expected %lld", r->what,
                   name, (long long)order[i]->at, (long long)end);
        end = order[i]->end;
        order[i]->data = r->bytes + r->data + order[i]->at;
    }
    FERRY_NEED(ctx, end == r->n - r->data, FERRY_EDATA,
               "%s: is corrupt: has %lld bytes after the last tensor", r->what,
               (long long)(r->n - r->data - end));
done:
    ferry_i_free(order);
    return st;
}

/* Take the bytes apart; they are the dict's from now on, also when this fails. */
static ferry_status parse(ferry_ctx *ctx, const char *what, uint8_t *bytes, int64_t n,
                          ferry_dict **out)
{
    ferry_status st = FERRY_OK;
    reading r = {.what = what, .bytes = bytes, .n = n};
    ferry_dict *dict = NULL;
    json_t *root = NULL;
    json_error_t error;
    int64_t end = 0;

    *out = NULL;
    st = ferry_i_dict_new(ctx, &dict);
    if (st != FERRY_OK) {
        ferry_i_free(bytes);
        goto done;
    }
    /* From here every failure frees the bytes with the dict. */
    dict->bytes = bytes;
    FERRY_TRY(find_header(ctx, &r));
    FERRY_TRY(ferry_i_json_parse(ctx, (const char *)bytes + 8, r.header,
                                 JSON_REJECT_DUPLICATES, &error, &root));
    FERRY_NEED(ctx, root, FERRY_EDATA, "%s: is corrupt: its header is not JSON (%s)", what,
               error.text);
    FERRY_TRY(read_metadata(ctx, &r, json_object_get(root, "__metadata__"), dict));
    FERRY_TRY(read_tensors(ctx, &r, root, dict, &end));
    FERRY_NEED(ctx, end <= n - r.data, FERRY_EDATA,
               "%s: is truncated: has %lld bytes of data, its header describes %lld", what,
               (long long)(n - r.data), (long long)end);
    /* After the sizes, so that a file cut short is called truncated rather than corrupt;
     * before the layout, so that a flipped bit is called by its name. */
    FERRY_TRY(check_sum(ctx, &r));
    FERRY_TRY(check_layout(ctx, &r, dict));
    FERRY_MOVE(*out, dict);
done:
    json_decref(root);
    ferry_i_dict_free(dict);
    return st;
}

/* The bytes are copied: the dict frees what it was read from, and calloc's memory is
 * aligned for the widest type, which a caller's buffer need not be. */
ferry_status ferry_i_dict_parse(ferry_ctx *ctx, const char *what, const uint8_t *bytes,
                                int64_t n, ferry_dict **out)
{
    uint8_t *copy = ferry_i_calloc(n, 1);

    *out = NULL;
    if (!copy) return ferry_i_nomem(ctx);
    if (n > 0) memcpy(copy, bytes, (size_t)n);
    return parse(ctx, what, copy, n, out);
}

/* The whole file is read into one block, which the tensors then point into: no second
 * copy. */
ferry_status ferry_i_dict_load(ferry_ctx *ctx, const char *path, ferry_dict **out)
{
    char *bytes = NULL;
    int64_t n = 0;

    *out = NULL;
    const ferry_status st = ferry_i_read_whole(ctx, path, "a model file", &bytes, &n);
    return st == FERRY_OK ? parse(ctx, path, (uint8_t *)bytes, n, out) : st;
}
