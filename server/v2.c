/* The Open Inference Protocol, version 2: what is there. Inferring is in infer.c. */
#include <string.h>

#include "server/serve.h"

void ferry_i_serve_v2_server(serve_request *r)
{
    ferry_i_serve_json(r, json_pack("{s:s, s:s, s:[s, s, s]}", "name", "ferry", "version",
                                    ferry_version(), "extensions", "binary_tensor_data",
                                    "model_configuration", "model_repository"));
}

static json_t *tensor(const char *name, const char *type, int64_t cols)
{
    return cols == 0
               ? json_pack("{s:s, s:s, s:[i]}", "name", name, "datatype", type, "shape", -1)
               : json_pack("{s:s, s:s, s:[i, I]}", "name", name, "datatype", type, "shape",
                           -1, (json_int_t)cols);
}

/* What comes in and goes out, by the model's goal; cols 0: one number a row. */
static void tensors(const serve_version *v, json_t *in, json_t *out)
{
    const ferry_model *m = v->model;
    const int64_t k = ferry_i_served_classes(m);
    const ferry_goal goal = ferry_i_served_about(m).goal;

    if (goal == FERRY_RATE) {
        (void)json_array_append_new(in, tensor("user", "BYTES", 0));
        (void)json_array_append_new(in, tensor("item", "BYTES", 0));
    } else {
        (void)json_array_append_new(in,
                                    tensor("x", "FP64", ferry_i_served_about(m).columns));
    }
    if (goal == FERRY_RATE || goal == FERRY_REGRESS)
        (void)json_array_append_new(out, tensor("value", "FP64", 0));
    else if (goal == FERRY_EMBED)
        (void)json_array_append_new(out, tensor("embedding", "FP64", -1));
    else if (goal == FERRY_MULTILABEL)
        (void)json_array_append_new(out, tensor("set", "BOOL", k));
    else
        (void)json_array_append_new(out, tensor("label", "BYTES", 0));
    if (k > 0) (void)json_array_append_new(out, tensor("score", "FP64", k));
}

static json_t *class_names(const ferry_model *m)
{
    json_t *names = json_array();

    for (int64_t i = 0; ferry_model_class_at(m, i); i++)
        (void)json_array_append_new(names, json_string(ferry_model_class_at(m, i)));
    return names;
}

/* Numbers of the model's versions, as texts. */
static json_t *numbers(ferry_server *s, const char *name)
{
    json_t *list = json_array();

    pthread_rwlock_rdlock(&s->models.lock);
    for (int64_t i = 0; i < s->models.n; i++) {
        const serve_model *m = &s->models.model[i];
        for (int64_t j = 0; strcmp(m->name, name) == 0 && j < m->n; j++)
            if (!m->version[j]->shadow && !m->version[j]->fresh)
                (void)json_array_append_new(
                    list, json_sprintf("%lld", (long long)m->version[j]->number));
    }
    pthread_rwlock_unlock(&s->models.lock);
    return list;
}

void ferry_i_serve_v2_model(serve_request *r)
{
    serve_version *v = r->version;
    json_t *in = json_array(), *out = json_array();

    json_t *versions = numbers(r->server, v->name); /* the lists' lock before a version's */
    pthread_rwlock_rdlock(&v->lock);
    tensors(v, in, out);
    json_t *names = class_names(v->model);
    json_t *all =
        json_pack("{s:s, s:o, s:s, s:o, s:o, s:{s:s, s:s, s:o, s:b}}", "name", v->name,
                  "versions", versions, "platform", "ferry", "inputs", in, "outputs", out,
                  "parameters", "method", ferry_i_served_about(v->model).method, "goal",
                  ferry_goal_name(ferry_i_served_about(v->model).goal), "classes", names,
                  "learns", v->learns);
    pthread_rwlock_unlock(&v->lock);
    ferry_i_serve_json(r, all);
}

/* As Triton writes it: types with TYPE_, dimensions without the batch. */
static json_t *config_tensors(const json_t *list)
{
    json_t *all = json_array(), *t = NULL;
    size_t i = 0;

    json_array_foreach(list, i, t)
    {
        const char *type = json_string_value(json_object_get(t, "datatype"));
        const json_t *shape = json_object_get(t, "shape");
        json_t *dims = json_array();
        (void)json_array_append_new(dims, json_array_size(shape) > 1
                                              ? json_incref(json_array_get(shape, 1))
                                              : json_integer(1));
        (void)json_array_append_new(
            all,
            json_pack("{s:O, s:o, s:o}", "name", json_object_get(t, "name"), "data_type",
                      json_sprintf("TYPE_%s", strcmp(type, "BYTES") == 0 ? "STRING" : type),
                      "dims", dims));
    }
    return all;
}

void ferry_i_serve_v2_config(serve_request *r)
{
    serve_version *v = r->version;
    json_t *in = json_array(), *out = json_array();

    pthread_rwlock_rdlock(&v->lock);
    tensors(v, in, out);
    pthread_rwlock_unlock(&v->lock);
    json_t *all = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:{s:{}}}", "name", v->name,
                            "platform", "ferry", "backend", "ferry", "max_batch_size",
                            65536, "input", config_tensors(in), "output",
                            config_tensors(out), "version_policy", "all");
    json_decref(in);
    json_decref(out);
    ferry_i_serve_json(r, all);
}

void ferry_i_serve_v2_ready(serve_request *r)
{
    ferry_i_serve_json(r, json_pack("{s:s, s:b}", "name", r->version->name, "ready", 1));
}

void ferry_i_serve_v2_index(serve_request *r)
{
    serve_models *all = &r->server->models;
    json_t *list = json_array();

    pthread_rwlock_rdlock(&all->lock);
    for (int64_t i = 0; i < all->n; i++)
        for (int64_t j = 0; j < all->model[i].n; j++) {
            const serve_version *v = all->model[i].version[j];
            (void)json_array_append_new(
                list, json_pack("{s:s, s:o, s:s, s:s}", "name", v->name, "version",
                                json_sprintf("%lld", (long long)v->number), "state",
                                v->shadow  ? "SHADOW"
                                : v->fresh ? "LOADING"
                                           : "READY",
                                "reason", ""));
        }
    pthread_rwlock_unlock(&all->lock);
    ferry_i_serve_json(r, list);
}
