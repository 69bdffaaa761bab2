/* A build tool: texts as C arrays.
 *
 *     embed OUT.c NAME=FILE ... NAME=@MODULE:FILE,MODULE:FILE ...
 *
 * The second form makes one JavaScript text of CommonJS modules: an object `modules` of
 * functions by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *out;
static long written;

static void byte(int c)
{
    /* char may be signed */
    fprintf(out, "%d,%s", c < 128 ? c : c - 256, ++written % 32 == 0 ? "\n" : "");
}

static void text(const char *s)
{
    while (*s)
        byte((unsigned char)*s++);
}

static void file(const char *path)
{
    FILE *in = fopen(path, "rb");
    int c = 0;

    if (!in) {
        fprintf(stderr, "embed: cannot read %s\n", path);
        exit(1);
    }
    while ((c = fgetc(in)) != EOF)
        byte(c);
    fclose(in);
}

static void modules(char *list)
{
    text("const modules = {\n");
    for (char *one = strtok(list, ","); one; one = strtok(NULL, ",")) {
        char *path = strchr(one, ':');
        *path++ = 0;
        text("'");
        text(one);
        text("': function (exports, module, require) {\n");
        file(path);
        text("\n},\n");
    }
    text("};\n");
}

int main(int argc, char **argv)
{
    out = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!out) return 1;
    fputs("#include \"show/page/page.h\"\n", out);
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        *value++ = 0;
        fprintf(out, "const char ferry_i_page_%s[] = {\n", argv[i]);
        if (*value == '@')
            modules(value + 1);
        else
            file(value);
        fputs("0};\n", out);
    }
    return fclose(out) == 0 ? 0 : 1;
}
