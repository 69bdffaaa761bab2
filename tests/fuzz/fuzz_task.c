/* Fuzz the task parser. Tasks may name the data files below, and nothing outside their
 * folder. */
#include <string.h>

#include "ferry/task.h"
#include "fuzz.h"

static void prepare(void)
{
    static const char a[] = "id,f,g,class\n1,0.5,1,x\n2,1,0,y\n3,2,0,x\n",
                      b[] = "1 1:1 2:0.5\n-1 2:1\n1 1:2\n", r[] = "u\ti\t4\nv\ti\t3\n",
                      e[] = "1\t2\n2\t3\n";

    fuzz_put("a.csv", a, sizeof a - 1);
    fuzz_put("b.svm", b, sizeof b - 1);
    fuzz_put("r.tsv", r, sizeof r - 1);
    fuzz_put("e.tsv", e, sizeof e - 1);
}

/* Whether a path in it could lead out of the folder. YAML can also escape a character, as
 * in "\\x2f". */
static int leads_out(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (bytes[i] == '.' && bytes[i + 1] == '.') return 1;
    return memchr(bytes, '/', n) || memchr(bytes, '\\', n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static int ready;
    ferry_ctx *ctx = fuzz_ctx();
    ferry_task *task = NULL;

    if (!ready++) prepare();
    if (leads_out(bytes, n)) return 0;
    fuzz_put("task.yaml", bytes, n);
    fuzz_check(ctx, ferry_task_load(ctx, fuzz_path("task.yaml"), NULL, &task));
    ferry_task_free(task);
    return 0;
}
