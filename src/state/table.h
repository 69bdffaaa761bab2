/* A state as a table of its fields. What a method or learner has learned is a plain struct; its table says what the
 * members are, and from that come the model's file, copies, room for new classes of a stream, and what Python shows.
 *
 *   typedef struct ridge_state {
 *       int64_t cols, k;
 *       block w;   // cols x k
 *       double *b; // k
 *   } ridge_state;
 *   static const field ridge_fields[] = {
 *       ARRAY(ridge_state, BLOCK, w, .rows = SIZE(ridge_state, cols), .cols = SIZE(ridge_state, k)),
 *       ARRAY(ridge_state, REALS, b, .rows = SIZE(ridge_state, k)),
 *   };
 *   static const table ridge_table = TABLE(ridge_state, ridge_fields);
 *
 * A file is untrusted: every size, index and number is checked against the table, and what the table cannot say is
 * for `check`. */
#ifndef FERRY_TABLE_H
#define FERRY_TABLE_H

#include "linalg/ops.h"
#include "state/dict.h"

typedef enum field_kind {
    FIELD_FLAG,   /* bool */
    FIELD_INT,    /* int64_t */
    FIELD_CHOICE, /* int, an option's value */
    FIELD_REAL,   /* double, finite */
    FIELD_TEXT,   /* char * */
    FIELD_FLAGS,  /* uint8_t *, 0 or 1 */
    FIELD_PLACES, /* int32_t * */
    FIELD_INTS,   /* int64_t * */
    FIELD_REALS,  /* double *, finite */
    FIELD_ARRAY,  /* double [rows] inside the struct */
    FIELD_BLOCK,  /* block, replicated */
    FIELD_SMALL,  /* small */
    FIELD_MATRIX, /* matrix, all rows */
    FIELD_IDS,    /* ferry_ids * */
    FIELD_STRUCT, /* a struct inside, by its own table */
    FIELD_LIST,   /* a pointer to `rows` such structs */
    FIELD_VARIANT /* a `variant`: one of several kinds of state */
} field_kind;

/* A size: a constant ('1' and plus), 'w'idth of the model, its 'c'lasses, how many views it has ('n'), the columns of a
 * 'v'iew, or an int64_t 'm'ember of the struct; plus a few. Loading, the first array of a member's size gives it, unless a field did; all others are checked against it. */
typedef struct field_size {
    char of;
    int8_t plus;
    uint16_t at;
} field_size;
#define CONSTANT(n)                                                                        \
    {                                                                                      \
        '1', (n)-1, 0                                                                      \
    }
#define WIDTH                                                                              \
    {                                                                                      \
        'w', 0, 0                                                                          \
    }
#define CLASSES                                                                            \
    {                                                                                      \
        'c', 0, 0                                                                          \
    }
#define VIEWS                                                                              \
    {                                                                                      \
        'n', 0, 0                                                                          \
    }
/* Columns of view i; in the elements of a list: of the i-th after the element's own. */
#define OF_VIEW(i)                                                                         \
    {                                                                                      \
        'v', (i), 0                                                                        \
    }
#define SIZE(T, member)                                                                    \
    {                                                                                      \
        'm', 0, offsetof(T, member)                                                        \
    }
#define SIZE_PLUS(T, member, n)                                                            \
    {                                                                                      \
        'm', (n), offsetof(T, member)                                                      \
    }

typedef struct table table;
typedef struct variants variants;
typedef struct field {
    const char
        *name; /* of the tensor; "form:1": entry 1 of tensor form; "": the prefix alone */
    field_kind kind;
    size_t at;
    field_size rows,
        cols; /* of arrays; a size that is not given is 1. INT: CLASSES is their number, which grows */
    double lo, hi;    /* FLAG to REAL, PLACES, INTS: in [lo, hi); both 0: any */
    field_size below; /* PLACES, INTS: below this, instead of hi */
    bool optional;    /* NULL, or an absent first array of a struct, is no tensor */
    bool passing;     /* MATRIX: loaded for `ready` alone, which turns it into members */
    const table *of;  /* STRUCT, LIST */
    const variants *among; /* VARIANT */
} field;
/* A member as it is; with sizes, a range or a table; under another name. */
#define VALUE(T, kind_, member)                                                            \
    {                                                                                      \
        .name = #member, .kind = FIELD_##kind_, .at = offsetof(T, member)                  \
    }
#define ARRAY(T, kind_, member, ...)                                                       \
    {                                                                                      \
        .name = #member, .kind = FIELD_##kind_, .at = offsetof(T, member), __VA_ARGS__     \
    }
#define FIELD_AS(T, kind_, member, ...)                                                    \
    {                                                                                      \
        .kind = FIELD_##kind_, .at = offsetof(T, member), .name = __VA_ARGS__              \
    }

struct table {
    size_t size; /* of the struct */
    const field *field;
    int64_t n;
    /* Loaded: what sizes and ranges cannot say. It fails with FERRY_EDATA. NULL: nothing. */
    void (*check)(scope *s, const void *state);
    /* Loaded, copied: members that are no fields. It may make them in keep: a failure drops the whole state. It is not
     * called for new classes, which add to fields alone; scratch is not part of a state. NULL: none. */
    void (*ready)(scope *s, scope *keep, void *state);
};
#define TABLE(T, fields)                                                                   \
    {                                                                                      \
        sizeof(T), (fields), FERRY_COUNT(fields), NULL, NULL                               \
    }

/* One of several kinds of state, by name. */
typedef struct variant {
    const void *by; /* NULL: none */
    void *state;
} variant;
struct variants {
    const char *(*name)(const void *by);
    const void *(*find)(const char *name); /* NULL: unknown */
    const table *(*table)(const void *by);
};

/* Of the model that the state is in: columns of new data, classes; views and the columns of each. */
typedef struct state_sizes {
    int64_t width, classes;
    int64_t views;
    const int64_t *view_width;
    int64_t element; /* of the list that is gone through */
} state_sizes;

/* Zeroed. */
void *state_new(scope *keep, const table *t);
/* Deep: it shares nothing with the old one. */
void *state_copy(scope *s, scope *keep, const table *t, const void *state, state_sizes of);
/* More classes, whose numbers are 0. All memory is had before a member changes: a failure changes nothing. */
void state_classes(scope *s, scope *keep, const table *t, void *state, state_sizes of,
                   int64_t classes);
/* To and from a dict, under a prefix ("": none). */
void state_save(scope *s, const table *t, const void *state, state_sizes of,
                const char *prefix, ferry_dict *to);
void *state_load(scope *s, scope *keep, const table *t, const char *prefix,
                 const ferry_dict *from, state_sizes of);

#endif
