/* digits: halves of handwritten digits. Real images, in the order of their file: the first are the source,
 * which shows left halves with labels, the next the bridge, which shows whole digits without, and the rest
 * the target, of which only right halves are seen. Writers follow each other in the file, so those of the
 * target are others than those of the source. mine.csv is the target as somebody has it who knows few labels:
 * the others are blank. */
#include "data/digits.h"
#include "data/generate.h"

enum { SIDE = 8, HALF = 4 };

/* Field by field as in the table below. */
typedef struct digits_options {
    int64_t source, bridge, labelled, repeats;
} digits_options;

static const ferry_opt digits_table[] = {
    FERRY_OPT(digits_options, INT, source, 600, 10, 800,
              "images of which the source shows the left half"),
    FERRY_OPT(digits_options, INT, bridge, 600, 10, 800,
              "images that the bridge shows whole; the rest are the target's"),
    FERRY_OPT(digits_options, INT, labelled, 2, 0, 10,
              "target labels of each digit that a method may see"),
    FERRY_OPT(digits_options, INT, repeats, 10, 1, 10000,
              "repeats, each with another choice of those labels"),
};

/* Where the next image is. */
typedef struct reader {
    int64_t part, at;
} reader;

/* The next image: its pixels, and its digit as a character. */
static char next_image(reader *r, int pixel[DIGIT_PIXELS])
{
    int64_t n = 0;

    if (!ferry_i_digits[r->part][r->at]) *r = (reader){r->part + 1, 0};
    const char digit = ferry_i_digits[r->part][r->at++];
    while (n < DIGIT_PIXELS) {
        const char c = ferry_i_digits[r->part][r->at++];
        if (c <= 'P') pixel[n++] = c - 'A' + 1;
        for (int k = 'a'; c >= 'a' && k <= c; k++)
            pixel[n++] = 0;
    }
    return digit;
}

/* A table: the next `count` images, columns `from` to `to` of each. */
typedef struct half {
    const char *file;
    int64_t count;
    int from, to;
    int64_t
        labels; /* of each digit, the first ones; the others are blank; 0: no such column */
} half;

static void write_header(ferry_out *file, const half *h)
{
    ferry_i_out_printf(file, "id");
    for (int k = 0; k < DIGIT_PIXELS; k++)
        if (k % SIDE >= h->from && k % SIDE < h->to)
            ferry_i_out_printf(file, ",p%d%d", k / SIDE, k % SIDE);
    ferry_i_out_printf(file, h->labels > 0 ? ",digit\n" : "\n");
}

/* *first counts the images before this table: ids go by the whole file. */
static ferry_status write_half(ferry_ctx *ctx, const char *dir, const half *h, reader *r,
                               int64_t *first)
{
    ferry_status st = FERRY_OK;
    ferry_out *file = NULL;
    int pixel[DIGIT_PIXELS];
    int64_t seen[10] = {0};
    char *path = ferry_i_path_join(dir, h->file);

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_out_open(ctx, path, &file));
    write_header(file, h);
    for (int64_t i = 0; i < h->count; i++) {
        const char digit = next_image(r, pixel);
        ferry_i_out_printf(file, "d%lld", (long long)++*first);
        for (int k = 0; k < DIGIT_PIXELS; k++)
            if (k % SIDE >= h->from && k % SIDE < h->to)
                ferry_i_out_printf(file, ",%d", pixel[k]);
        if (h->labels > 0)
            ferry_i_out_printf(file, seen[digit - '0']++ < h->labels ? ",%c" : ",", digit);
        ferry_i_out_printf(file, "\n");
    }
    st = ferry_i_out_commit(ctx, file);
done:
    ferry_i_free(path);
    return st;
}

static ferry_status write_task(ferry_ctx *ctx, const digits_options *o, const char *dir)
{
    ferry_status st = FERRY_OK;
    ferry_out *file = NULL;
    char *path = ferry_i_path_join(dir, "task.yaml");

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_out_open(ctx, path, &file));
    ferry_i_out_printf(
        file,
        "# Halves of handwritten digits (ferry gen digits). Run it with: ferry run task.yaml\n"
        "#\n"
        "# The question: does it help to read right halves, of which few have a label, that\n"
        "# somebody else has labelled left halves? They have no pixel in common, but whole\n"
        "# digits, which nobody has labelled, show how the halves go together.\n"
        "#\n"
        "# Data: Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, 1998,\n"
        "# UCI Machine Learning Repository, CC BY 4.0.\n"
        "task: digits\n"
        "goal: classify\n"
        "\n"
        "domains:\n"
        "  - name: left              # many labels, but other pixels than the target\n"
        "    role: source\n"
        "    x: left.csv\n"
        "    label: digit            # a column of the file\n"
        "\n"
        "  - name: both              # whole digits without labels\n"
        "    role: intermediate\n"
        "    x: both.csv\n"
        "\n"
        "  - name: right             # what we want to predict\n"
        "    role: target\n"
        "    x: right.csv\n"
        "    label: digit            # hidden from the methods and used to score them ...\n");
    if (o->labelled > 0)
        ferry_i_out_printf(file, "    labelled: {per_class: %lld} # ... except these few\n",
                           (long long)o->labelled);
    else
        ferry_i_out_printf(file, "    labelled: none          # ... all of them\n");
    ferry_i_out_printf(
        file,
        "\n"
        "# A handful, so that it takes seconds; without \"methods:\" all that fit are run.\n"
        "methods: [svm, logreg, semi-svm, hop, cotransfer]\n"
        "evaluate:\n"
        "  repeats: %-4lld           # each repeat draws other labelled instances\n"
        "  seed: %-7llu           # same seed, same numbers\n"
        "  metrics: [accuracy]\n",
        (long long)o->repeats, (unsigned long long)ctx->seed);
    st = ferry_i_out_commit(ctx, file);
done:
    ferry_i_free(path);
    return st;
}

static ferry_status digits_write(ferry_ctx *ctx, const void *options, const char *dir)
{
    ferry_status st = FERRY_OK;
    const digits_options *o = options;
    const int64_t all = DIGIT_IMAGES, rest = all - o->source - o->bridge;
    const half left = {"left.csv", o->source, 0, HALF, all},
               both = {"both.csv", o->bridge, 0, SIDE, 0},
               right = {"right.csv", rest, HALF, SIDE, all},
               mine = {"mine.csv", rest, HALF, SIDE, o->labelled};
    reader r = {0, 0};
    int64_t first = 0;

    FERRY_TRY(write_half(ctx, dir, &left, &r, &first));
    FERRY_TRY(write_half(ctx, dir, &both, &r, &first));
    const reader target = r;
    const int64_t before = first;
    FERRY_TRY(write_half(ctx, dir, &right, &r, &first));
    r = target;
    first = before;
    FERRY_TRY(write_half(ctx, dir, &mine, &r, &first));
    FERRY_TRY(write_task(ctx, o, dir));
done:
    return st;
}

const ferry_generator ferry_i_generator_digits = {
    {"digits",
     "halves of handwritten digits: left ones with labels, whole ones, few right ones",
     &(const ferry_opt_table){digits_table, FERRY_COUNT(digits_table)}},
    sizeof(digits_options),
    digits_write,
};
