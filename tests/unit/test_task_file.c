#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "ferry_test.h"
#include "task/task.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

/* The data files that the tasks below name. */
static int write_data(void **state)
{
    (void)state;
    tmp_file("s.svm", "+1 1:1 2:0.5\n-1 2:1\n+1 1:2\n", -1);
    tmp_file("s.labels", "p\nq\np\n", -1);
    tmp_file("t.csv", "id,f,g,class\na,1,2,x\nb,3,4,y\nc,5,6,x\nd,7,8,y\n", -1);
    tmp_file("t2.csv", "id,h\nd,1\na,2\nc,3\n", -1);
    tmp_file("t.labels", "id,class\na,p\nb,q\nc,p\nd,q\n", -1);
    tmp_file("plain.csv", "1,2\n3,4\n", -1);
    tmp_file("cites.tsv", "a\tb\nb\tc\nc\tnobody\n", -1);
    tmp_file("r.tsv", "u\ti\t4\nv\ti\t3\nu\tj\t1\nw\tk\t5\n", -1);
    tmp_file("seen.txt", "a\nb\n", -1);
    tmp_file("pairs.csv", "s,t\n1,a\n2,d\n", -1);
    tmp_file("plain-pairs.tsv", "1\ta\n\n3\tb\n", -1);
    tmp_file("docs.txt", "the ferry crosses\nthe river\nferry and river\n", -1);
    tmp_file("stop.txt", "the\nand\n", -1);
    return 0;
}

static ferry_status load(ferry_ctx *ctx, const char *yaml, const ferry_opts *sets,
                         ferry_task **out)
{
    return ferry_task_load(ctx, tmp_file("task.yaml", yaml, -1), sets, out);
}

static ferry_task *good(ferry_ctx *ctx, const char *yaml)
{
    ferry_task *t = NULL;

    assert_ok(ctx, load(ctx, yaml, NULL, &t));
    return t;
}

static void bad(ferry_ctx *ctx, const char *yaml, const char *message)
{
    ferry_task *t = NULL;

    assert_fails(ctx, load(ctx, yaml, NULL, &t), FERRY_EDATA, message);
    assert_null(t);
    assert_null(strchr(ferry_message(ctx), '\n'));
}

/* A good beginning and a good target, to put something bad behind. */
#define HEAD "task: t\ngoal: classify\ndomains:\n"
#define TARGET "  - {name: t, role: target, x: t.csv, label: last}\n"

/* ---- what goes well ---- */

static void test_whole(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = good(ctx, "task: whole\n"
                              "goal: classify\n"
                              "domains:\n"
                              "  - name: s\n"
                              "    role: source\n"
                              "    x: s.svm\n"
                              "    y: s.labels\n"
                              "  - name: b\n"
                              "    role: intermediate\n"
                              "    views:\n"
                              "      - {name: one, x: t.csv, label: class}\n"
                              "      - {name: two, x: t2.csv}\n"
                              "    graphs:\n"
                              "      - {name: cites, edges: cites.tsv}\n"
                              "  - name: t\n"
                              "    role: target\n"
                              "    x: t.csv\n"
                              "    label: class\n"
                              "    y: t.labels\n"
                              "    labelled: {per_class: 1}\n"
                              "methods:\n"
                              "  - majority\n"
                              "  - svm: {C: 2}\n"
                              "  - knn: {k: 3}\n"
                              "    as: near\n"
                              "  - knn: {k: 1, as: nearest}\n"
                              "  - ridge:\n"
                              "evaluate:\n"
                              "  repeats: 3\n"
                              "  seed: 7\n"
                              "  metrics: [accuracy, macro-f1]\n");

    assert_string_equal(ferry_task_name(t), "whole");
    assert_int_equal(t->goal, FERRY_CLASSIFY);
    assert_int_equal(t->n_domains, 3);
    const ferry_domain *s = t->domains[0], *b = t->domains[1], *d = t->domains[2];
    assert_int_equal(s->role, FERRY_SOURCE);
    assert_non_null(ferry_i_domain_view(s, "x"));
    assert_int_equal(b->role, FERRY_INTERMEDIATE);
    assert_int_equal(b->n_views, 2);
    assert_int_equal(ferry_i_domain_id_count(b), 4); /* joined by id */
    assert_int_equal(ferry_i_domain_view(b, "two")->x->rows, 3);
    assert_int_equal(b->n_graphs, 1);
    assert_int_equal(b->graphs[0]->a->nnz, 4);
    assert_int_equal(d->seen.kind, FERRY_SEEN_PER_CLASS);
    /* y: took the place of what the files carry: p and q, with x and y of the bridge */
    assert_int_equal(ferry_i_ids_count(t->names), 4);
    assert_int_equal(s->labels->cls[0], ferry_i_ids_find(t->names, "p"));
    assert_int_equal(d->labels->cls[1], ferry_i_ids_find(t->names, "q"));
    assert_int_equal(t->n_methods, 5);
    assert_string_equal(t->methods[0].as, "majority");
    assert_string_equal(t->methods[1].as, "svm C=2");
    assert_string_equal(t->methods[2].as, "near");
    assert_string_equal(t->methods[3].as, "nearest");
    assert_string_equal(ferry_opts_get(t->methods[3].opts, "k"), "1");
    assert_string_equal(t->methods[4].as, "ridge");
    assert_string_equal(ferry_opts_get(t->evaluate, "metrics"), "accuracy,macro-f1");
    assert_string_equal(ferry_opts_get(t->evaluate, "repeats"), "3");
    ferry_task_free(t);
}

static void test_labels_of_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = good(ctx, "task: t\ngoal: classify\ndomains:\n"
                              "  - {name: s, role: source, x: s.svm}\n"
                              "  - {name: t, role: target, x: t.csv, y: t.labels}\n");

    assert_string_equal(ferry_i_ids_at(t->names, t->domains[0]->labels->cls[1]), "-1");
    assert_string_equal(ferry_i_ids_at(t->names, t->domains[1]->labels->cls[1]), "q");
    ferry_task_free(t);
}

static void test_labelled(void **state)
{
    ferry_ctx *ctx = *state;
    static const struct {
        const char *text;
        ferry_seen_kind kind;
        double value;
    } cases[] = {
        {"none", FERRY_SEEN_NONE, 0},
        {"all", FERRY_SEEN_ALL, 0},
        {"", FERRY_SEEN_ALL, 0}, /* as if it were not there */
        {"~", FERRY_SEEN_ALL, 0},
        {"2", FERRY_SEEN_COUNT, 2},
        {"0.5", FERRY_SEEN_FRACTION, 0.5},
        {"1.0", FERRY_SEEN_FRACTION, 1},
        {"{per_class: 2}", FERRY_SEEN_PER_CLASS, 2},
        {"per_class:2", FERRY_SEEN_PER_CLASS, 2},
        {"{ids: seen.txt}", FERRY_SEEN_IDS, 0},
        {"ids:seen.txt", FERRY_SEEN_IDS, 0},
    };

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 HEAD "  - name: t\n    role: target\n    x: t.csv\n    label: last\n"
                      "    labelled: %s\n",
                 cases[i].text);
        ferry_task *t = good(ctx, yaml);
        assert_int_equal(t->domains[0]->seen.kind, cases[i].kind);
        assert_close(t->domains[0]->seen.value, cases[i].value, 0);
        if (cases[i].kind == FERRY_SEEN_IDS)
            assert_int_equal(ferry_i_ids_count(t->domains[0]->seen.ids), 2);
        ferry_task_free(t);
    }
}

/* Those of the domain hold for all its views; a view's own come first. */
static void test_reader_options(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = good(ctx, "task: t\ngoal: embed\ndomains:\n"
                              "  - name: t\n"
                              "    role: target\n"
                              "    id: id\n"
                              "    drop: class\n"
                              "    views:\n"
                              "      - {name: plain, x: t.csv}\n"
                              "      - {name: less, x: t.csv, drop: [f, class]}\n");
    const ferry_domain *d = t->domains[0];

    assert_int_equal(ferry_i_domain_view(d, "plain")->x->cols, 2);
    assert_int_equal(ferry_i_domain_view(d, "less")->x->cols, 1);
    assert_string_equal(ferry_opts_get(d->views[1]->read, "drop"), "f,class");
    assert_string_equal(ferry_opts_get(d->views[1]->read, "id"), "id");
    ferry_task_free(t);
}

static void test_labels_with_options(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = good(ctx, "task: t\ngoal: classify\ndomains:\n"
                              "  - name: t\n    role: target\n    x: t2.csv\n"
                              "    y: {file: t.csv, label: class, id: id}\n");

    assert_string_equal(ferry_i_ids_at(t->names, 1), "y");
    ferry_task_free(t);
}

static void test_ratings(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t =
        good(ctx, "task: t\ngoal: rate\ndomains:\n"
                  "  - {name: s, role: source, ratings: r.tsv}\n"
                  "  - {name: t, role: target, ratings: r.tsv, labelled: 0.5}\n");

    assert_int_equal(t->domains[1]->ratings->n, 4);
    assert_close(t->domains[1]->ratings->hi, 5, 0);
    ferry_task_free(t);
}

static void test_pairs(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = good(ctx, HEAD "  - {name: s, role: source, x: s.svm}\n"
                                   "  - {name: t, role: target, x: t.csv, label: last, "
                                   "pairs: pairs.csv}\n");
    const ferry_pairs *p = t->domains[1]->pairs;

    assert_int_equal(p->n, 2);
    assert_string_equal(p->left_domain, "s");
    assert_string_equal(p->right_domain, "t");
    assert_string_equal(p->left[1], "2");
    assert_string_equal(p->right[1], "d");
    ferry_task_free(t);
    t = good(ctx,
             HEAD "  - {name: s, role: source, x: s.svm, pairs: plain-pairs.tsv}\n" TARGET);
    p = t->domains[0]->pairs;
    assert_int_equal(p->n, 2);
    assert_string_equal(p->left_domain, "s");
    assert_string_equal(p->right[1], "b");
    ferry_task_free(t);
}

static void test_keys_with_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = good(ctx, HEAD "  - name: t\n    role: target\n    x: t.csv\n"
                                   "    label: last\n    y:\n    header: ~\n    views:\n"
                                   "    stop_words:\n    graphs: null\n"
                                   "methods:\n  - svm: {C: , as: }\n  - knn:\n    as:\n"
                                   "evaluate:\n  repeats:\n  metrics:\n");

    assert_string_equal(t->methods[0].as, "svm");
    assert_int_equal(ferry_i_opts_count(t->methods[0].opts), 0);
    assert_string_equal(t->methods[1].as, "knn");
    assert_int_equal(ferry_i_opts_count(t->evaluate), 0);
    ferry_task_free(t);
    t = good(ctx, HEAD TARGET "methods:\nevaluate:\n");
    assert_int_equal(t->n_methods, 0);
    ferry_task_free(t);
}

static void test_anchors(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t =
        good(ctx, HEAD "  - {name: s, role: source, x: &file t.csv, label: &l last}\n"
                       "  - {name: t, role: target, x: *file, label: *l}\n");

    assert_int_equal(ferry_i_domain_id_count(t->domains[1]), 4);
    ferry_task_free(t);
}

/* ---- what goes wrong ---- */

static void test_bad_structure(void **state)
{
    ferry_ctx *ctx = *state;

    bad(ctx, "", "task.yaml: expected a task, found an empty file");
    bad(ctx, "# nothing\n", "expected a task, found an empty file");
    bad(ctx, "hello",
        "task.yaml:1: expected a task (task, goal, domains, ...), found a text");
    bad(ctx, "\n- a\n",
        "task.yaml:2: expected a task (task, goal, domains, ...), found a list");
    bad(ctx, "task: t\ngoal: classify\n", "domains: is missing");
    bad(ctx, "goal: classify\ndomains: []\n", "task: is missing");
    bad(ctx, "task: t\n", "goal: is missing");
    bad(ctx, "task: [a]\ngoal: classify\n",
        "task.yaml:1: task: expected the name of the task, found a list");
    bad(ctx, "task: \"\"\ngoal: classify\n",
        "task.yaml:1: task: expected the name of the "
        "task, found nothing");
    bad(ctx, "task: \"a\\0b\"\ngoal: classify\n", "found a zero byte");
    bad(ctx, "task: t\ngoal: clasify\n",
        "task.yaml:2: goal: expected one of classify, regress, multilabel, rate, embed, "
        "stream, not 'clasify' (did you mean classify?)");
    bad(ctx, "task: t\ngoal: classify\ndomains: {}\n",
        "task.yaml:3: domains: expected a list of domains, found a mapping");
    bad(ctx, "task: t\ngoal: classify\ndomains: []\n",
        "task.yaml:3: domains: expected at least one domain, found none");
    bad(ctx, "task: t\ngoal: classify\ndomians: []\n",
        "task.yaml:3: unknown key domians (did you mean domains?)");
    bad(ctx, "task: t\ngoal: classify\nzzzzzzzzz: []\n",
        "task.yaml:3: unknown key zzzzzzzzz");
    bad(ctx, "task: t\ngoal: classify\ntask: u\n", "task.yaml:3: key task stands twice");
    bad(ctx, "task: t\n? [a, b]\n: c\n", "task.yaml:2: expected a key, found a list");
    bad(ctx, "task: t\n? {}\n: c\n", "expected a key, found a mapping");
}

static void test_bad_yaml(void **state)
{
    ferry_ctx *ctx = *state;
    char *deep = calloc(1, 200001);
    ferry_task *t = NULL;

    bad(ctx, "task: [a\ngoal: b\n", "task.yaml:");
    bad(ctx, "task: t\n\tgoal: classify\n",
        "task.yaml:2: a tab: YAML takes only blanks before and between keys");
    bad(ctx, "task: t\ngoal: *nobody\n", "task.yaml:2: found undefined alias");
    bad(ctx, "task: t\n---\ntask: u\n", "task.yaml:2: a second document begins");
    memset(deep, '[', 200000);
    bad(ctx, deep, "task.yaml:1: nested deeper than 64 levels");
    for (int i = 0; i < 100000; i++)
        memcpy(deep + 2 * i, "- ", 2);
    bad(ctx, deep, "nested deeper than 64 levels");
    free(deep);
    const char *path = tmp_file("junk.yaml", "task: t\n\x01\xff\xfe", 11);
    assert_fails(ctx, ferry_task_load(ctx, path, NULL, &t), FERRY_EDATA, "junk.yaml:2: ");
    path = tmp_file("zero.yaml", "task: t\0\n", 9);
    assert_fails(ctx, ferry_task_load(ctx, path, NULL, &t), FERRY_EDATA,
                 "zero.yaml:1: a zero byte: expected a task (YAML)");
    path = tmp_file("latin.yaml", "task: caf\xe9\n", -1);
    assert_fails(ctx, ferry_task_load(ctx, path, NULL, &t), FERRY_EDATA, "latin.yaml:1: ");
    bad(ctx, "task: &a [*a]\ngoal: classify\n", "task: expected the name of the task");
}

static void test_bad_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = NULL;
    char *big = NULL;

    assert_fails(ctx, ferry_task_load(ctx, "/nowhere/task.yaml", NULL, &t), FERRY_EDATA,
                 "/nowhere/task.yaml: no such file");
    assert_fails(ctx, ferry_task_load(ctx, tmp_dir(), NULL, &t), FERRY_EDATA, "folder");
    assert_fails(ctx, ferry_task_load(ctx, NULL, NULL, &t), FERRY_EINVAL, "path is NULL");
    big = calloc(1, (16 << 20) + 2);
    memset(big, ' ', (16 << 20) + 1);
    bad(ctx, big, "16777217 bytes, expected a task file of at most 16777216");
    free(big);
    bad(ctx, HEAD "  - name: s\n    role: source\n    x: gone.svm\n",
        "task.yaml:6: domains[0].x: ");
    assert_non_null(strstr(ferry_message(ctx), "gone.svm: no such file"));
    bad(ctx, HEAD "  - name: s\n    role: source\n    x: s.svm\n    y: gone.y\n",
        "task.yaml:7: domains[0].y: ");
    bad(ctx, HEAD "  - name: s\n    role: source\n    x: .\n", "domains[0].x: ");
    tmp_file("broken.svm", "1 1:1\n1 2:x\n", -1);
    bad(ctx, HEAD "  - {name: s, role: source, x: broken.svm}\n",
        "task.yaml:4: domains[0].x: ");
    assert_non_null(strstr(ferry_message(ctx), "broken.svm:2: "));
}

/* Views whose files disagree about a label, unless y: takes the place of both. */
static void test_labels_of_views(void **state)
{
    ferry_ctx *ctx = *state;
#define VIEWS "label: class, views: [{name: a, x: t.csv}, {name: b, x: t3.csv}]"

    tmp_file("t3.csv", "id,h,class\na,1,x\nb,2,x\n", -1);
    bad(ctx, HEAD "  - {name: t, role: target, " VIEWS "}\n",
        "task.yaml:4: domains[0].views[1].x: domain 't': the file of view 'b' has another "
        "label for instance 'b'");
    ferry_task *t = good(ctx, HEAD "  - {name: t, role: target, y: t.labels, " VIEWS "}\n");
    assert_string_equal(ferry_i_ids_at(t->names, 0), "p");
    ferry_task_free(t);
    /* Labels of ids that no view has could neither be learned from nor predicted. */
    tmp_file("more.labels", "id,class\nz,r\na,p\ny,q\nb,q\n", -1);
    t = good(ctx, HEAD "  - {name: t, role: target, x: t2.csv, y: more.labels}\n");
    assert_int_equal(ferry_i_domain_id_count(t->domains[0]), 3); /* d, a, c */
    assert_int_equal(ferry_domain_labels(t->domains[0]), 1);
    assert_int_equal(ferry_i_ids_count(t->names), 1);
    ferry_task_free(t);
    t = good(ctx, HEAD "  - {name: t, role: target, x: t2.csv, y: more.labels, graphs: "
                       "[{name: g, edges: cites.tsv}]}\n");
    assert_int_equal(ferry_i_domain_id_count(t->domains[0]), 6); /* and z, y, b */
    ferry_task_free(t);
    /* A graph of who is near whom joins the three that have features, and nobody else. */
    t = good(ctx, HEAD "  - {name: t, role: target, x: t2.csv, y: more.labels, graphs: "
                       "[{name: near, knn: 1}]}\n");
    assert_int_equal(t->domains[0]->n_graphs, 1);
    const ferry_matrix *near = t->domains[0]->graphs[0]->a;
    assert_int_equal(near->nnz, 4); /* two edges, both ways */
    for (int64_t i = 0; i < near->rows; i++)
        assert_true((near->start[i + 1] > near->start[i]) ==
                    (t->domains[0]->views[0]->row_of[i] >= 0));
    ferry_task_free(t);
#undef VIEWS
}

/* knn: auto. Ten clusters of six rows on a circle, the two classes in turn: five neighbours are of
 * the row's own cluster, ten are not. Without labels it stays ten. */
static void test_knn_auto(void **state)
{
    ferry_ctx *ctx = *state;
    char text[4096] = "a,b,class\n";
    int64_t nnz[3] = {0};

    for (int i = 0; i < 60; i++) {
        const double turn = 0.62831853 * (i % 10), off = 0.01 * (i / 10);
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%.4f,%.4f,%s\n",
                       cos(turn) + off, sin(turn) - off * off, i % 2 ? "odd" : "even");
    }
    tmp_file("ring.csv", text, -1);
    for (int i = 0; i < 3; i++) {
        static const char *const how[] = {"auto, labelled: 0.5", "auto, labelled: none",
                                          "10, labelled: none"};
        char file[512], key[32], seen[32];
        (void)sscanf(how[i], "%31[^,], %31[^\n]", key, seen);
        (void)snprintf(file, sizeof file,
                       HEAD
                       "  - {name: t, role: target, x: ring.csv, label: class, %s, graphs: "
                       "[{name: near, knn: %s}]}\n",
                       seen, key);
        ferry_task *t = good(ctx, file), *split = NULL;
        assert_int_equal(t->domains[0]->graphs[0]->choose, i < 2);
        assert_ok(ctx, ferry_i_task_split(ctx, t, 0, &split));
        nnz[i] = split->domains[0]->graphs[0]->a->nnz;
        assert_string_equal(split->domains[0]->graphs[0]->name, "near");
        ferry_task_free(split);
        ferry_task_free(t);
    }
    assert_true(nnz[0] < nnz[1]);
    assert_int_equal(nnz[1], nnz[2]);
    /* as many as there are, of those with features */
    tmp_file("few.csv", "id,a\nu,1\nv,2\nw,4\n", -1);
    tmp_file("y.csv", "u,x\nv,x\nw,z\np,z\nq,z\n", -1);
    ferry_task *t =
        good(ctx, HEAD "  - {name: t, role: target, id: id, x: few.csv, y: y.csv, "
                       "graphs: [{name: near, knn: auto}]}\n");
    assert_int_equal(t->domains[0]->graphs[0]->a->nnz, 6);
    ferry_task_free(t);
}

static void test_bad_domains(void **state)
{
    ferry_ctx *ctx = *state;

    bad(ctx, HEAD "  - s\n", "task.yaml:4: domains[0]: expected a mapping");
    bad(ctx, HEAD "  - {role: source, x: s.svm}\n", "domains[0]: name: is missing");
    bad(ctx, HEAD "  - {name: s, x: s.svm}\n", "domains[0]: role: is missing");
    bad(ctx, HEAD "  - {name: s, role: src, x: s.svm}\n",
        "domains[0].role: expected one of source, intermediate, target, not 'src'");
    bad(ctx, HEAD "  - {name: s, role: source}\n", "expected x, views, graphs or ratings");
    bad(ctx, HEAD "  - {name: s, role: source, y: s.labels}\n",
        "expected x, views, graphs or ratings");
    bad(ctx, HEAD TARGET TARGET,
        "task.yaml:5: domains[1].name: a domain 't' is there already");
    bad(ctx, HEAD "  - {name: s, role: source, x: s.svm, roll: 3}\n",
        "unknown key roll (did you mean role?)");
    bad(ctx, HEAD "  - {name: s, role: source, x: s.svm, x: s.svm}\n",
        "key x stands twice");
    bad(ctx, HEAD "  - {name: s, role: source, x: [s.svm]}\n",
        "domains[0].x: expected the name of a file, found a list");
    bad(ctx, HEAD "  - {name: s, role: source, x: s.svm, views: [{name: v, x: s.svm}]}\n",
        "domains[0].views: x is given already");
    bad(ctx, HEAD "  - {name: s, role: source, views: s.svm}\n",
        "domains[0].views: expected a list of views, found a text");
    bad(ctx, HEAD "  - {name: s, role: source, views: [s.svm]}\n",
        "domains[0].views[0]: expected a mapping");
    bad(ctx, HEAD "  - {name: s, role: source, views: [{x: s.svm}]}\n",
        "domains[0].views[0]: name: is missing");
    bad(ctx, HEAD "  - {name: s, role: source, views: [{name: v}]}\n",
        "domains[0].views[0]: x: is missing");
    bad(ctx,
        HEAD "  - {name: s, role: source, views: [{name: v, x: s.svm}, {name: v, x: "
             "s.svm}]}\n",
        "domains[0].views[1].x: domain 's' has a view 'v' already");
    bad(ctx, HEAD "  - {name: s, role: source, views: [{name: v, x: s.svm, labels: 3}]}\n",
        "domains[0].views[0]: unknown key labels (did you mean label?)");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, graphs: [{name: g}]}\n",
        "domains[0].graphs[0]: edges: is missing");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, graphs: [{name: g, knn: few}]}\n",
        "domains[0].graphs[0].knn: expected a number of neighbours, 1 to 1000, or auto");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, graphs: [{name: g, knn: 999}]}\n",
        "domains[0].graphs[0].knn: knn: 999 neighbours, but 's' has");
    bad(ctx, HEAD "  - {name: s, role: source, graphs: [{name: g, knn: 3}]}\n",
        "domains[0].graphs[0].knn: knn needs views, which 's' has not");
    bad(ctx,
        HEAD
        "  - {name: s, role: source, x: t.csv, graphs: [{name: g, knn: 3, edges: e}]}\n",
        "domains[0].graphs[0]: unknown key edges");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, y: {label: a}}\n",
        "domains[0].y: file: is missing");
    bad(ctx,
        HEAD "  - {name: s, role: source, graphs: [{name: g, edges: cites.tsv}], "
             "header: no}\n",
        "domains[0]: reader options, but neither x, views nor ratings");
}

static void test_bad_options(void **state)
{
    ferry_ctx *ctx = *state;

    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, header: maybe}\n",
        "task.yaml:4: domains[0].header: header = maybe is not one of auto | yes | no");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, features: -1}\n",
        "domains[0].features: features = -1 is outside [0, ");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, min_df: {a: 1}}\n",
        "domains[0].min_df: expected a text or a number, found a mapping");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, drop: [{a: 1}]}\n",
        "domains[0].drop[0]: expected a text or a number, found a mapping");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, text: {header: no}}\n",
        "domains[0].text: header is not an option for text");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, text: {min_fd: 3}}\n",
        "domains[0].text: unknown key min_fd (did you mean min_df?)");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, text: yes}\n",
        "domains[0].text: expected a mapping");
    bad(ctx, HEAD "  - {name: s, role: source, x: t.csv, format: doc}\n", "domains[0].x: ");
}

/* same_as: what the user says a view is. */
static void test_same_as(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t =
        good(ctx, HEAD "  - {name: s, role: source, x: plain.csv}\n"
                       "  - name: b\n"
                       "    role: intermediate\n"
                       "    views:\n"
                       "      - {name: one, x: t.csv, label: class, same_as: none}\n"
                       "      - {name: two, x: t2.csv, same_as: s.x}\n"
                       "  - {name: t, role: target, x: t.csv, label: last,\n"
                       "     same_as: b.one}\n");

    assert_true(t->domains[0]->views[0]->unwritten);
    assert_null(t->domains[0]->views[0]->same_as);
    assert_false(t->domains[1]->views[0]->unwritten);
    assert_string_equal(t->domains[1]->views[0]->same_as, "none");
    assert_string_equal(t->domains[1]->views[1]->same_as, "s.x");
    assert_string_equal(t->domains[2]->views[0]->same_as, "b.one");
    ferry_task_free(t);
}

static void test_bad_same_as(void **state)
{
    ferry_ctx *ctx = *state;

    bad(ctx, HEAD "  - {name: s, role: source, x: plain.csv, same_as: t.y}\n" TARGET,
        "task.yaml:4: domains[0].same_as: expected DOMAIN.VIEW or none, not 't.y'; there "
        "are t.x");
    bad(ctx, HEAD "  - {name: s, role: source, x: plain.csv, same_as: s.x}\n" TARGET,
        "task.yaml:4: domains[0].same_as: 's.x' is a view of the same domain");
    bad(ctx, HEAD "  - {name: t, role: target, x: t.csv, label: last, same_as: s.x}\n",
        "expected DOMAIN.VIEW or none, not 's.x'; there are no other views");
    bad(ctx, HEAD "  - {name: s, role: source, x: plain.csv, same_as: [t.x]}\n" TARGET,
        "task.yaml:4: domains[0].same_as: expected DOMAIN.VIEW or none");
    bad(ctx,
        HEAD TARGET "  - name: b\n"
                    "    role: intermediate\n"
                    "    views:\n"
                    "      - {name: one, x: t.csv, label: class}\n"
                    "      - {name: two, x: t2.csv, same_as: b.one}\n",
        "task.yaml:9: domains[1].views[1].same_as: 'b.one' is a view of the same domain");
    bad(ctx,
        HEAD TARGET "  - name: b\n"
                    "    role: intermediate\n"
                    "    same_as: t.x\n"
                    "    views: [{name: one, x: t.csv, label: class}]\n",
        "task.yaml:7: domains[1].same_as: goes with x; with views it is a key of each");
    bad(ctx,
        HEAD TARGET "  - name: b\n"
                    "    role: intermediate\n"
                    "    graphs: [{name: g, edges: cites.tsv, same_as: none}]\n",
        "same_as");
}

/* same: columns of a source under the names of the target's. */
static void test_same(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t;

    tmp_file("other.csv", "id,a,colour,h\n1,1,red,2\n2,3,blue,4\n3,5,red,6\n", -1);
    t = good(ctx, HEAD
             "  - {name: s, role: source, x: other.csv, same: {a: f, colour: g}}\n" TARGET);
    const ferry_view *v = t->domains[0]->views[0];
    assert_int_equal(v->x->cols, 4);
    assert_string_equal(ferry_i_ids_at(v->features, 0), "f");
    assert_true(ferry_i_ids_find(v->features, "g=red") >= 0);
    assert_true(ferry_i_ids_find(v->features, "g=blue") >= 0);
    assert_true(ferry_i_ids_find(v->features, "h") >= 0);
    assert_true(ferry_i_ids_find(v->features, "a") < 0);
    ferry_task_free(t);
    bad(ctx, HEAD "  - {name: s, role: source, x: other.csv, same: {b: f}}\n" TARGET,
        "task.yaml:4: domains[0].same: there is no column 'b'");
    bad(ctx, HEAD "  - {name: s, role: source, x: other.csv, same: {a: h}}\n" TARGET,
        "there is a column 'h' already");
    bad(ctx, HEAD "  - {name: s, role: source, x: plain.csv, same: {1: f}}\n" TARGET,
        "there is no column '1'");
    bad(ctx, HEAD "  - {name: s, role: source, x: other.csv, same: [a, f]}\n" TARGET,
        "domains[0].same: expected {COLUMN: COLUMN of the target}");
    bad(ctx, HEAD "  - {name: t, role: target, x: t.csv, label: last, same: {f: a}}\n",
        "say it of the source or bridge");
}

static void test_bad_labelled(void **state)
{
    ferry_ctx *ctx = *state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"abc",
         "domains[0].labelled: expected all, none, a count, a fraction, {per_class: N} or "
         "{ids: FILE}, not 'abc'"},
        {"0", "not '0'"},
        {"-1", "not '-1'"},
        {"1.5", "not '1.5'"},
        {"[1]", "{ids: FILE}, found a list"},
        {"{}", "expected per_class or ids"},
        {"{per_class: 1, ids: seen.txt}", "expected per_class or ids"},
        {"{per_class: many}", "labelled.per_class: expected a count of 1 or more"},
        {"{per_clas: 1}", "unknown key per_clas (did you mean per_class?)"},
        {"{ids: gone.txt}", "domains[0].labelled.ids: "},
        {"{per_class: 3}", "domains[0].labelled: domain 't': labelled: class 'x' has 2 "
                           "labelled instances, per_class asks for 3"},
        {"5",
         "domains[0].labelled: domain 't': labelled: 5 asked for, but it has 4 labelled"},
    };

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 HEAD "  - name: t\n    role: target\n    x: t.csv\n    label: last\n"
                      "    labelled: %s\n",
                 cases[i].text);
        bad(ctx, yaml, cases[i].message);
        assert_non_null(strstr(ferry_message(ctx), "task.yaml:8: domains[0].labelled"));
    }
    bad(ctx, HEAD "  - {name: s, role: source, x: s.svm, labelled: 3}\n",
        "domains[0].labelled: only a target's labels are hidden");
}

static void test_bad_labels(void **state)
{
    ferry_ctx *ctx = *state;

    bad(ctx, "task: t\ngoal: regress\ndomains:\n" TARGET,
        "task.yaml:4: domains[0]: goal regress: domain 't': label 'x' (instance 1) is not "
        "a "
        "number");
    tmp_file("two.labels", "p\nq\n", -1);
    bad(ctx, HEAD "  - {name: s, role: source, x: s.svm, y: two.labels}\n",
        "domains[0].y: domain 's': 2 labels without ids for the 3 rows of view 'x'");
}

static void test_bad_pairs(void **state)
{
    ferry_ctx *ctx = *state;
    static const struct {
        const char *file, *message;
    } cases[] = {
        {"1,a\n9,b\n", "p.csv:2: '9' is no instance of domain 's'"},
        {"1,a\n2,zz\n", "p.csv:2: 'zz' is no instance of domain 't'"},
        {"1,a,b\n", "p.csv:1: expected two ids"},
        {"1\n", "p.csv:1: expected two ids"},
        {"\n", "p.csv: expected pairs of ids, found none"},
        {"s,t\n", "p.csv: expected pairs of ids, found none"},
    };

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        tmp_file("p.csv", cases[i].file, -1);
        bad(ctx, HEAD "  - {name: s, role: source, x: s.svm, pairs: p.csv}\n" TARGET,
            "task.yaml:4: domains[0].pairs: ");
        assert_non_null(strstr(ferry_message(ctx), cases[i].message));
    }
    bad(ctx, HEAD "  - {name: s, role: source, x: s.svm, pairs: gone.csv}\n" TARGET,
        "gone.csv: no such file");
    bad(ctx, HEAD "  - {name: s, role: source, x: s.svm, pairs: []}\n" TARGET,
        "pairs: expected the name of a file, found a list");
    tmp_file("p.csv", "1,a\n", -1);
    bad(ctx, HEAD "  - {name: t, role: target, x: t.csv, label: last, pairs: p.csv}\n",
        "expected a first line with the names of two domains");
}

static void test_bad_methods(void **state)
{
    ferry_ctx *ctx = *state;

    bad(ctx, HEAD TARGET "methods: svm\n",
        "task.yaml:5: methods: expected a list of methods, found a text");
    bad(ctx, HEAD TARGET "methods:\n  - majority\n  - svn\n",
        "task.yaml:7: methods[1]: unknown method 'svn' (did you mean svm?)");
    bad(ctx, HEAD TARGET "methods:\n  - zzzzzzzzz: {a: 1}\n",
        "task.yaml:6: methods[0]: unknown method 'zzzzzzzzz'");
    bad(ctx, HEAD TARGET "methods:\n  - svm:\n      C: -1\n",
        "task.yaml:7: methods[0].svm.C: C = -1 is outside [");
    bad(ctx, HEAD TARGET "methods:\n  - svm:\n      c: 1\n",
        "task.yaml:7: methods[0].svm: unknown key c");
    bad(ctx, HEAD TARGET "methods:\n  - svm: 3\n",
        "task.yaml:6: methods[0].svm: expected a mapping of options, found a text");
    bad(ctx, HEAD TARGET "methods:\n  - {svm: {}, knn: {}}\n",
        "methods[0]: 'knn' beside 'svm': expected one method an entry");
    bad(ctx, HEAD TARGET "methods:\n  - as: x\n",
        "methods[0]: expected a method, found none");
    bad(ctx, HEAD TARGET "methods:\n  - {}\n", "methods[0]: expected a method, found none");
    bad(ctx, HEAD TARGET "methods:\n  - [svm]\n", "methods[0]: expected a method or");
    bad(ctx, HEAD TARGET "methods:\n  - svm\n  - svm\n",
        "task.yaml:7: methods[1]: task 't' has a method named 'svm' already");
    bad(ctx, HEAD TARGET "methods:\n  - {svm: {C: 1, C: 2}}\n", "key C stands twice");
}

static void test_bad_evaluate(void **state)
{
    ferry_ctx *ctx = *state;

    bad(ctx, HEAD TARGET "evaluate: 3\n", "task.yaml:5: evaluate: expected a mapping");
    bad(ctx, HEAD TARGET "evaluate:\n  repeats: 0\n",
        "task.yaml:6: evaluate.repeats: repeats = 0 is outside [1, 1e+06]");
    bad(ctx, HEAD TARGET "evaluate:\n  repets: 1\n",
        "task.yaml:6: evaluate: unknown key repets (did you mean repeats?)");
    bad(ctx, HEAD TARGET "evaluate:\n  ties: often\n",
        "evaluate.ties: ties = often is not one of worst | mean | index");
    bad(ctx, HEAD TARGET "evaluate:\n  metrics: [accuracy, acuracy]\n",
        "task.yaml:6: evaluate.metrics: unknown metric 'acuracy' (did you mean accuracy?)");
    bad(ctx, HEAD TARGET "evaluate:\n  metrics: [accuracy, rmse]\n",
        "task.yaml:6: evaluate.metrics: metric rmse does not belong to goal classify");
}

/* ---- --set ---- */

#define RUN                                                                                \
    HEAD                                                                                   \
        "  - {name: s.1, role: source, x: s.svm}\n" TARGET                                 \
        "methods:\n  - svm\n  - knn: {k: 3}\n  - knn:\n    as: near\n  - ridge: {as: r}\n"

static ferry_task *with(ferry_ctx *ctx, const char *yaml, const char *set)
{
    ferry_opts *sets = opts_of(ctx, set, NULL);
    ferry_task *t = NULL;

    assert_ok(ctx, load(ctx, yaml, sets, &t));
    ferry_opts_free(sets);
    return t;
}

static void bad_set(ferry_ctx *ctx, const char *yaml, const char *set, const char *message)
{
    ferry_opts *sets = opts_of(ctx, set, NULL);
    ferry_task *t = NULL;

    assert_fails(ctx, load(ctx, yaml, sets, &t), FERRY_EDATA, message);
    ferry_opts_free(sets);
}

static void test_sets(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *t = with(ctx, RUN, "evaluate.repeats=4");

    assert_string_equal(ferry_opts_get(t->evaluate, "repeats"), "4");
    ferry_task_free(t);
    t = with(ctx, RUN "evaluate:\n  repeats: 2\n  seed: 3\n", "evaluate.repeats=4");
    assert_string_equal(ferry_opts_get(t->evaluate, "repeats"), "4");
    assert_string_equal(ferry_opts_get(t->evaluate, "seed"), "3");
    ferry_task_free(t);
    t = with(ctx, RUN "evaluate:\n", "evaluate.metrics=accuracy,error");
    assert_string_equal(ferry_opts_get(t->evaluate, "metrics"), "accuracy,error");
    ferry_task_free(t);
    t = with(ctx, RUN, "methods.svm.C=5");
    assert_string_equal(ferry_opts_get(t->methods[0].opts, "C"), "5");
    assert_string_equal(t->methods[0].as, "svm C=5");
    ferry_task_free(t);
    t = with(ctx, RUN, "methods.knn.k=7"); /* every entry of the method */
    assert_string_equal(ferry_opts_get(t->methods[1].opts, "k"), "7");
    assert_string_equal(ferry_opts_get(t->methods[2].opts, "k"), "7");
    ferry_task_free(t);
    t = with(ctx, RUN, "methods.near.k=7"); /* the one of that name */
    assert_string_equal(ferry_opts_get(t->methods[1].opts, "k"), "3");
    assert_string_equal(ferry_opts_get(t->methods[2].opts, "k"), "7");
    ferry_task_free(t);
    t = with(ctx, RUN, "methods.r.lambda=7");
    assert_string_equal(ferry_opts_get(t->methods[3].opts, "lambda"), "7");
    ferry_task_free(t);
    t = with(ctx, RUN, "domains.t.labelled=per_class:1");
    assert_int_equal(t->domains[1]->seen.kind, FERRY_SEEN_PER_CLASS);
    ferry_task_free(t);
    t = with(ctx, RUN, "domains.s.1.x=t2.csv"); /* a name with a dot */
    assert_int_equal(t->domains[0]->views[0]->x->rows, 3);
    ferry_task_free(t);
    t = with(ctx, RUN, "task=other");
    assert_string_equal(t->name, "other");
    ferry_task_free(t);
    t = with(ctx, RUN, "goal=embed");
    assert_int_equal(t->goal, FERRY_EMBED);
    ferry_task_free(t);
}

static void test_bad_sets(void **state)
{
    ferry_ctx *ctx = *state;

    bad_set(ctx, RUN, "methods.svm.C=-1", "--set methods.svm.C: C = -1 is outside [");
    bad_set(ctx, RUN, "methods.svm.D=1", "--set methods.svm.D: unknown key D");
    bad_set(ctx, RUN, "methods.ttl.p=1",
            "--set methods.ttl.p: the task has no method 'ttl'");
    bad_set(ctx, HEAD TARGET, "methods.svm.C=1",
            "--set methods.svm.C: the task names no methods");
    bad_set(ctx, RUN, "domains.q.labelled=1",
            "--set domains.q.labelled: the task has no domain 'q'");
    bad_set(ctx, RUN, "domains.t.labelled=abc",
            "--set domains.t.labelled: expected all, none, a count");
    bad_set(ctx, RUN, "domains.t.x=gone.csv", "--set domains.t.x: ");
    bad_set(ctx, RUN, "evaluate.repeats=0",
            "--set evaluate.repeats: repeats = 0 is outside");
    bad_set(ctx, RUN, "evaluate.zzz=0", "--set evaluate.zzz: unknown key zzz");
    bad_set(ctx, RUN "evaluate: [1]\n", "evaluate.seed=0", "evaluate: expected a mapping");
    bad_set(ctx, RUN, "goal=clasify", "--set goal: expected one of classify");
    bad_set(ctx, RUN, "repeats=3",
            "--set repeats: expected task, goal, text.KEY, evaluate.KEY");
    bad_set(ctx, RUN, "a.b.c=3", "--set a.b.c: expected task, goal");
    bad_set(ctx, RUN, "a.b=3", "--set a.b: expected task, goal");
    bad_set(ctx, HEAD TARGET "methods:\n  - [svm]\n  - {[a]: b}\n", "methods.svm.C=1",
            "the task has no method 'svm'");
    bad_set(ctx, "- a\n", "goal=classify", "expected a task");
}

/* ---- text ---- */

static void test_text(void **state)
{
    ferry_ctx *ctx = *state;

    ferry_task *t =
        good(ctx, "task: t\ngoal: embed\ndomains:\n"
                  "  - name: t\n    role: target\n    x: docs.txt\n"
                  "    text: {min_df: 2, weight: binary, stop_words: stop.txt}\n");
    const ferry_view *v = t->domains[0]->views[0];

    assert_int_equal(v->x->rows, 3);
    assert_int_equal(v->x->cols, 2); /* ferry, river */
    assert_true(ferry_i_ids_find(v->features, "the") < 0);
    ferry_task_free(t);
}

/* ---- real data ---- */

/* Counts of SOURCE.md: 3312 papers, 4732 links of which 17 name unknown papers and 124 are
 * self-links. The 4591 others join 4536 pairs (counted by a Python script). */
static void test_citeseer(void **state)
{
    ferry_ctx *ctx = *state;
    const char *dir = data_dir("linqs/citeseer.tgz");
    char yaml[8400];
    ferry_task *t = NULL;
    double weight = 0;

    if (!dir) skip();
    snprintf(yaml, sizeof yaml,
             HEAD "  - name: papers\n    role: target\n    x: %s/linqs/citeseer.tgz\n"
                  "    graphs: [{name: cites, edges: %s/linqs/citeseer.tgz}]\n"
                  "    labelled: {per_class: 20}\n",
             dir, dir);
    assert_ok(ctx, ferry_i_task_parse(ctx, "t", "", yaml, (int64_t)strlen(yaml), NULL, &t));
    const ferry_domain *d = t->domains[0];
    assert_int_equal(ferry_i_domain_id_count(d), 3312);
    assert_int_equal(ferry_i_ids_count(t->names), 6);
    assert_int_equal(d->graphs[0]->a->nnz, 2 * 4536);
    for (int64_t e = 0; e < d->graphs[0]->a->nnz; e++)
        weight += d->graphs[0]->a->value[e];
    assert_close(weight, 2 * 4591, 0);
    ferry_task_free(t);
}

/* ---- docs/task-file.md ---- */

/* Enough messages of the six groups for every word to be in 20 of them. */
static void write_messages(void)
{
    static const char *const groups[] = {"comp.graphics",         "comp.os.ms-windows.misc",
                                         "comp.windows.x",        "talk.politics.guns",
                                         "talk.politics.mideast", "talk.politics.misc"};
    char name[100];

    (void)mkdir(tmp_path("20news-bydate.tar.xz"), 0777);
    for (int64_t g = 0; g < FERRY_COUNT(groups); g++) {
        snprintf(name, sizeof name, "20news-bydate.tar.xz/%s", groups[g]);
        (void)mkdir(tmp_path(name), 0777);
        for (int i = 0; i < 10; i++) {
            snprintf(name, sizeof name, "20news-bydate.tar.xz/%s/%d", groups[g], i);
            tmp_file(name,
                     g < 3 ? "From: me\nSubject: screen\n\nmouse window pixel colour image "
                             "driver card file disk memory\n"
                           : "From: me\nSubject: law\n\nstate people rights court weapon "
                             "police peace nation vote tax\n",
                     -1);
        }
    }
}

/* The data files of the examples there. */
static void write_example_data(void)
{
    write_messages();
    tmp_file("source.svm", "1 1:1\n2 2:1\n1 1:2\n2 2:2\n", -1);
    tmp_file("source.labels", "comp\ntalk\ncomp\ntalk\n", -1);
    tmp_file("bridge-text.csv", "id,a,b\np,1,2\nq,3,4\n", -1);
    tmp_file("bridge-image.csv", "id,c\nq,1\np,2\n", -1);
    tmp_file("cites.tsv", "p\tq\n", -1);
    tmp_file("target.csv",
             "a,b,class\n1,2,comp\n3,4,talk\n5,6,comp\n7,8,talk\n1,1,talk\n2,1,comp\n"
             "3,3,comp\n",
             -1);
    tmp_file("books.tsv", "u\tb1\t4\nv\tb1\t3\n", -1);
    tmp_file("films.tsv", "u\tf1\t4\nv\tf1\t3\nu\tf2\t1\nw\tf1\t5\nw\tf2\t2\n", -1);
    tmp_file("talk.txt", "guns and law\nlaw and guns\nscreen and mouse\nmouse screen\n",
             -1);
    tmp_file("talk.labels", "talk\ntalk\ncomp\ncomp\n", -1);
    tmp_file("news.txt", "guns law\nlaw guns\nscreen mouse\nmouse screen\n", -1);
    tmp_file("news.labels", "talk\ntalk\ncomp\ncomp\n", -1);
    tmp_file("survey.csv", "who,age,score\nann,30,1.5\nbob,40,2.5\ncid,50,3\n", -1);
    tmp_file("register.csv", "number,income,score\n7,30,1.5\n8,40,2.5\n9,50,3.5\n", -1);
    tmp_file("seen.txt", "7\n", -1);
    tmp_file("pairs.csv", "survey,register\nann,7\nbob,8\n", -1);
}

static void test_examples_of_the_docs(void **state)
{
    ferry_ctx *ctx = *state;
    char *doc = slurp("docs/task-file.md");
    int n = 0;

    assert_non_null(doc);
    write_example_data();
    for (char *s = doc; (s = strstr(s, "```yaml\n"));) {
        s += strlen("```yaml\n");
        char *end = strstr(s, "```");
        assert_non_null(end);
        *end = 0;
        ferry_task *t = good(ctx, s);
        ferry_task_free(t);
        s = end + 1;
        n++;
    }
    assert_int_equal(n, 5);
    free(doc);
    (void)write_data(state);
}

/* Every option has its line, with the words of its table. */
static void test_tables_of_the_docs(void **state)
{
    char *doc = slurp("docs/task-file.md"), line[512];

    (void)state;
    assert_non_null(doc);
    for (int64_t i = 0; i < ferry_i_read_table_n; i++) {
        const ferry_opt *o = &ferry_i_read_table[i];
        snprintf(line, sizeof line, "| `%s` |", o->name);
        const char *at = strstr(doc, line);
        if (!at) fail_msg("docs/task-file.md has no reader option %s", o->name);
        snprintf(line, sizeof line, " | %s |\n", o->help);
        const char *help = strstr(at, line);
        if (!help || memchr(at, '\n', (size_t)(help - at)))
            fail_msg("docs/task-file.md has another help for %s", o->name);
    }
    for (int64_t i = 0; i < ferry_i_evaluate_table_n; i++) {
        snprintf(line, sizeof line, "| `%s` |", ferry_i_evaluate_table[i].name);
        assert_non_null(strstr(doc, line));
    }
    free(doc);
}

/* ---- memory ---- */

static ferry_status parse(ferry_ctx *ctx, void *arg)
{
    const char *yaml = arg;
    ferry_opts *sets = NULL;
    ferry_task *t = NULL;
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_opts_new(ctx, &sets));
    FERRY_TRY(ferry_opts_set(ctx, sets, "methods.svm.C", "3"));
    FERRY_TRY(ferry_opts_set(ctx, sets, "domains.t.labelled", "1"));
    FERRY_TRY(ferry_opts_set(ctx, sets, "evaluate.seed", "1"));
    FERRY_TRY(
        ferry_i_task_parse(ctx, "t", tmp_dir(), yaml, (int64_t)strlen(yaml), sets, &t));
done:
    ferry_opts_free(sets);
    ferry_task_free(t);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    static char yaml[] = HEAD "  - {name: s, role: source, x: s.svm, pairs: pairs.csv}\n"
                              "  - {name: b, role: intermediate, x: t2.csv, same: {h: f}}\n"
                              "  - name: t\n    role: target\n    label: class\n"
                              "    views: [{name: v, x: t.csv}]\n    y: {file: t.labels}\n"
                              "    graphs: [{name: g, edges: cites.tsv}]\n"
                              "methods: [svm, {knn: {k: 1, as: near}}]\n"
                              "evaluate: {metrics: [accuracy]}\n";

    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 1));
    each_allocation_fails(ctx, parse, yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_whole),
        TEST(test_labels_of_files),
        TEST(test_labelled),
        TEST(test_reader_options),
        TEST(test_labels_with_options),
        TEST(test_ratings),
        TEST(test_pairs),
        TEST(test_keys_with_nothing),
        TEST(test_anchors),
        TEST(test_bad_structure),
        TEST(test_bad_yaml),
        TEST(test_bad_files),
        TEST(test_labels_of_views),
        TEST(test_knn_auto),
        TEST(test_bad_domains),
        TEST(test_bad_options),
        TEST(test_same_as),
        TEST(test_bad_same_as),
        TEST(test_same),
        TEST(test_bad_labelled),
        TEST(test_bad_labels),
        TEST(test_bad_pairs),
        TEST(test_bad_methods),
        TEST(test_bad_evaluate),
        TEST(test_sets),
        TEST(test_bad_sets),
        TEST(test_text),
        TEST(test_citeseer),
        TEST(test_examples_of_the_docs),
        TEST(test_tables_of_the_docs),
        TEST(test_memory),
    };
    return cmocka_run_group_tests_name("task_file", tests, write_data, NULL);
}
