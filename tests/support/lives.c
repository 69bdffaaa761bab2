#include "lives.h"

#include <stdio.h>
#include <unistd.h>

#include "task/task.h"

/* ---- tasks ---- */

static char folder[512];

static void put(const char *name, const char *text)
{
    (void)tmp_file(name, text, -1);
}

const char *lives_path(const char *name)
{
    static _Thread_local char path[4][1024];
    static _Thread_local int next;

    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* Four words of class `up` or `down` a line; domain k shares words with those near it. */
static void documents(int k)
{
    char text[2048], name[16];
    int n = 0;

    for (int i = 0; i < 12; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "%s\t", i % 2 ? "up" : "down");
        for (int w = 0; w < 4; w++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%c%s",
                          i % 2 ? "high" : "low", 'a' + 2 * k + (i * 5 + w * 3) % 7,
                          w < 3 ? " " : "\n");
    }
    (void)snprintf(name, sizeof name, "d%d.txt", k);
    put(name, text);
}

/* Twelve rows of a table whose first class is in the first half: numbers from a small generator. */
static void table(const char *name, int cols, const char *prefix, unsigned s)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "id");

    for (int j = 0; j < cols; j++)
        n += snprintf(text + n, sizeof text - (size_t)n, ",%s%d", prefix, j);
    n += snprintf(text + n, sizeof text - (size_t)n, ",y,c\n");
    for (int i = 0; i < 12; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "r%d", i);
        for (int j = 0; j < cols; j++) {
            s = s * 1103515245u + 12345u;
            n += snprintf(text + n, sizeof text - (size_t)n, ",%d",
                          (int)(s >> 16 & 7) + (i < 6 ? j : 4 - j));
        }
        n += snprintf(text + n, sizeof text - (size_t)n, ",%d,%s\n", i, i < 6 ? "a" : "b");
    }
    put(name, text);
}

const char *const lives_tasks[] = {
    "pair.yaml",       "bridge.yaml", "regress.yaml", "rate.yaml",  "embed.yaml",
    "multilabel.yaml", "stream.yaml", "graph.yaml",   "views.yaml", "few.yaml"};
const int64_t lives_n = FERRY_COUNT(lives_tasks);

const char *lives_settings(const char *method)
{
    return strncmp(method, "coca", 4) == 0 || strcmp(method, "pca-joined") == 0 ? "d=2"
           : strcmp(method, "predictions") == 0 || strcmp(method, "command") == 0
               ? "file=answers.csv"
               : NULL;
}

/* `command` without a process for each of thousands of fits: its program is this, which hands out the file. */
static int run_here(void *user, const char *file, const char *to)
{
    char path[1200], text[1024];

    (void)user;
    (void)snprintf(path, sizeof path, "%s/predictions.csv", to);
    FILE *in = fopen(file, "rb"), *out = fopen(path, "wb");
    const size_t n = in ? fread(text, 1, sizeof text, in) : 0;
    const bool good = out && n > 0 && n < sizeof text && fwrite(text, 1, n, out) == n;
    if (in) (void)fclose(in);
    if (out && fclose(out) != 0) return 1;
    return good ? 0 : 1;
}

void lives_make(void)
{
    (void)snprintf(folder, sizeof folder, "%s", tmp_dir());
    table("s.csv", 4, "f", 1);
    table("t.csv", 4, "f", 2);
    table("b1.csv", 4, "f", 3);
    table("b2.csv", 3, "g", 4);
    table("u.csv", 3, "g", 5);
    put("pair.yaml",
        "task: p\ngoal: classify\ndomains:\n"
        "- {name: s, role: source, x: s.csv, label: c, id: id, drop: y}\n"
        "- {name: t, role: target, x: t.csv, label: c, id: id, drop: y, labelled: {per_class: 2}}\n"
        "methods: [majority]\nevaluate: {repeats: 2}\n");
    put("bridge.yaml",
        "task: b\ngoal: classify\ndomains:\n"
        "- {name: s, role: source, x: s.csv, label: c, id: id, drop: y}\n"
        "- name: m\n  role: intermediate\n  views:\n"
        "  - {name: f, x: b1.csv, id: id, drop: 'y,c'}\n  - {name: g, x: b2.csv, id: id, drop: 'y,c'}\n"
        "- {name: t, role: target, x: u.csv, label: c, id: id, drop: y, labelled: {per_class: 2}}\n"
        "methods: [majority]\nevaluate: {repeats: 2}\n");
    put("regress.yaml",
        "task: r\ngoal: regress\ndomains:\n"
        "- {name: s, role: source, x: s.csv, label: y, id: id, drop: c}\n"
        "- {name: t, role: target, x: t.csv, label: y, id: id, drop: c, labelled: 6}\n"
        "methods: [mean]\nevaluate: {repeats: 2}\n");
    put("embed.yaml", "task: e\ngoal: embed\ndomains:\n"
                      "- {name: s, role: source, x: s.csv, label: c, id: id, drop: y}\n"
                      "- {name: t, role: target, x: t.csv, label: c, id: id, drop: y}\n"
                      "methods: [pca-joined]\nevaluate: {repeats: 2}\n");
    put("stream.yaml", "task: st\ngoal: stream\ndomains:\n"
                       "- {name: s, role: source, x: s.csv, label: c, id: id, drop: y}\n"
                       "- {name: t, role: target, x: t.csv, label: c, id: id, drop: y}\n"
                       "methods: [mpa]\nevaluate: {repeats: 2}\n");
    put("ml.csv",
        "id,f0,f1,l0,l1\n1,1,2,1,0\n2,2,1,0,1\n3,3,4,1,1\n4,4,3,0,0\n5,1,1,1,0\n6,2,5,0,1\n");
    put("multilabel.yaml",
        "task: m\ngoal: multilabel\ndomains:\n"
        "- {name: s, role: source, x: ml.csv, label: 'l0,l1', id: id}\n"
        "- {name: t, role: target, x: ml.csv, label: 'l0,l1', id: id, labelled: 4}\n"
        "methods: [majority]\nevaluate: {repeats: 2}\n");
    put("r1.tsv",
        "u1\ti1\t4\nu1\ti2\t3\nu2\ti1\t5\nu2\ti3\t1\nu3\ti2\t2\nu3\ti3\t4\nu1\ti3\t2\nu2\ti2\t3\n");
    put("rate.yaml", "task: ra\ngoal: rate\ndomains:\n"
                     "- {name: s, role: source, ratings: r1.tsv}\n"
                     "- {name: t, role: target, ratings: r1.tsv, labelled: 0.7}\n"
                     "methods: [mean]\nevaluate: {repeats: 2}\n");
    put("answers.csv",
        "repeat,id,prediction\n1,r0,a\n1,r1,a\n1,r2,b\n1,r3,a\n1,r4,a\n1,r5,a\n"
        "1,r6,b\n1,r7,b\n1,r8,b\n1,r9,a\n1,r10,b\n");
    put("e.tsv",
        "r0\tr1\nr1\tr2\nr2\tr3\nr6\tr7\nr7\tr8\nr3\tr4\nr9\tr10\nr10\tr11\nr5\tr0\n");
    put("graph.yaml", "task: g\ngoal: classify\ndomains:\n"
                      "- {name: s, role: source, x: s.csv, label: c, id: id, drop: y}\n"
                      "- name: t\n  role: target\n  views:\n"
                      "  - {name: v, x: t.csv, label: c, id: id, drop: y}\n"
                      "  graphs:\n  - {name: g, edges: e.tsv}\n  labelled: {per_class: 2}\n"
                      "methods: [majority]\nevaluate: {repeats: 2}\n");
    put("views.yaml", "task: v\ngoal: classify\ndomains:\n"
                      "- {name: s, role: source, x: s.csv, label: c, id: id, drop: y}\n"
                      "- name: t\n  role: target\n  views:\n"
                      "  - {name: f, x: t.csv, label: c, id: id, drop: y}\n"
                      "  - {name: g, x: u.csv, id: id, drop: 'y,c'}\n"
                      "  labelled: {per_class: 3}\n"
                      "methods: [majority]\nevaluate: {repeats: 2}\n");
    /* classes of which the target has no label */
    put("four.csv",
        "id,p,q,c\n1,0,0,a\n2,0,1,a\n3,9,0,b\n4,9,1,b\n5,0,9,k\n6,1,9,k\n7,9,9,l\n"
        "8,9,8,l\n");
    put("few.yaml", "task: f\ngoal: classify\ndomains:\n"
                    "- {name: s, role: source, x: four.csv, label: c, id: id}\n"
                    "- {name: t, role: target, x: four.csv, label: c, id: id,\n"
                    "   labelled: {per_class: 1, classes: 3}}\n"
                    "methods: [majority]\nevaluate: {repeats: 2}\n");
    for (int k = 0; k < 5; k++)
        documents(k);
    put("chain.yaml", "task: ch\ngoal: classify\ntext: {norm: l2}\ndomains:\n"
                      "- {name: d0, role: source, x: d0.txt, label: first}\n"
                      "- {name: d1, role: intermediate, x: d1.txt, label: first}\n"
                      "- {name: d2, role: intermediate, x: d2.txt, label: first}\n"
                      "- {name: d3, role: intermediate, x: d3.txt, label: first}\n"
                      "- {name: d4, role: target, x: d4.txt, label: first}\n");
}

ferry_status lives_gone(ferry_ctx *ctx, ferry_status st, const char *path)
{
    if (st == FERRY_OK || access(path, F_OK) != 0) return st;
    return ferry_i_fail(ctx, FERRY_EIO, "%s was left behind", path);
}

ferry_status method_life(ferry_ctx *ctx, const char *file, const char *method,
                         const char *tag)
{
    ferry_status st = FERRY_OK;
    ferry_task *task = NULL, *seen = NULL;
    ferry_model *m = NULL, *back = NULL;
    ferry_prediction *p = NULL;
    ferry_opts *opts = NULL;
    const char *set = lives_settings(method);
    char path[1100], csv[1100];

    (void)snprintf(path, sizeof path, "%s/life-%s.ferry", folder, tag);
    (void)snprintf(csv, sizeof csv, "%s/life-%s.csv", folder, tag);
    (void)unlink(path), (void)unlink(csv);
    FERRY_TRY(ferry_task_load(ctx, lives_path(file), NULL, &task));
    FERRY_TRY(ferry_task_visible(ctx, task, 0, &seen));
    if (set) {
        const char *value = strchr(set, '=') + 1;
        const bool named = strncmp(set, "file", 4) == 0;
        FERRY_TRY(ferry_opts_new(ctx, &opts));
        FERRY_TRY(ferry_opts_set(ctx, opts, named ? "file" : "d",
                                 named ? lives_path(value) : value));
    }
    ferry_ctx_set_run(ctx, run_here, NULL);
    FERRY_TRY(ferry_fit(ctx, seen, method, opts, &m, NULL));
    if (set && strncmp(set, "file", 4) == 0) { /* answers in a file: nothing to save */
        FERRY_MOVE(back, m);
    } else {
        st = ferry_model_save(ctx, m, path);
        FERRY_TRY(lives_gone(ctx, st, path));
        FERRY_TRY(ferry_model_load(ctx, path, method, &back));
    }
    const ferry_domain *target = ferry_task_domain_at(task, task->n_domains - 1);
    FERRY_TRY(ferry_predict(ctx, back, target, &p));
    st = ferry_prediction_write(ctx, p, csv);
    FERRY_TRY(lives_gone(ctx, st, csv));
done:
    ferry_prediction_free(p);
    ferry_model_free(back);
    ferry_model_free(m);
    ferry_opts_free(opts);
    ferry_task_free(seen);
    ferry_task_free(task);
    return st;
}
