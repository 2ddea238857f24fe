#include "export/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { NAMED_ACTIONS_MOST = 1024 };

/* ---- graphs and arrays ---- */

static cm_status add_graph(cm_export_model *m, cm_function_kind kind) {
    cm_function f;
    if (!cm_function_exists(m->network.network, kind)) return CM_OK;
    cm_status status = cm_function_open(&f, m->network.network, &m->network.options, kind, 1);
    if (status == CM_OK) status = cm_function_graph(&f, &m->network.options, &m->network.weights, &m->graph[m->graphs]);
    if (status == CM_OK) m->graphs++;
    cm_function_close(&f);
    return status;
}

static bool has_array(const cm_export_model *m, const char *name) {
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->arrays[i].name, name) == 0) return true;
    return false;
}

static void add_array(cm_export_model *m, const cm_onnx_info *info) {
    if (info->kind != CM_ONNX_ARRAY || info->type != CM_ONNX_FLOAT || has_array(m, info->name)) return;
    cm_array *array = &m->arrays[m->count++];
    *array = (cm_array){.name = info->name, .ndim = info->ndim, .data = info->floats};
    for (int d = 0; d < info->ndim; d++) array->dim[d] = info->dim[d];
}

static cm_status collect_arrays(cm_export_model *m) {
    size_t values = 0;
    for (int g = 0; g < m->graphs; g++) values += (size_t)m->graph[g]->values;
    CM_TRY(cm_alloc(&m->arrays, values, sizeof *m->arrays, "a table of arrays"));
    for (int g = 0; g < m->graphs; g++)
        for (int i = 0; i < m->graph[g]->values; i++) add_array(m, &m->graph[g]->value[i]);
    return CM_OK;
}

static cm_status hash_parameters(cm_export_model *m) {
    cm_array_table table = {0};
    float *parameters = (float *)(uintptr_t)m->network.weights.parameters;
    cm_status status = cm_array_table_add(&table, m->network.network, "", parameters, NULL);
    if (status == CM_OK) status = cm_array_hash(table.arrays, table.count, m->hash);
    cm_array_table_free(&table);
    return status;
}

/* ---- config.json ---- */

static void put_origin(const cm_export_model *m, cm_json_writer *json) {
    const cm_export_origin *o = &m->origin;
    cm_json_put_string(json, "model_type", "cumind");
    cm_json_put_string(json, "cumind_version", o->version);
    cm_json_put_string(json, "run", o->run);
    cm_json_put_string(json, "environment", o->session->env.spec.name);
    cm_json_put_int(json, "updates", o->facts->updates);
    cm_json_put_int(json, "env_steps", o->facts->env_steps);
    cm_json_put_int(json, "episodes", o->facts->episodes);
    if (isfinite(o->facts->best_return)) cm_json_put_double(json, "best_return", o->facts->best_return);
    cm_json_put_bool(json, "averaged", o->is_average);
    cm_json_put_string(json, "parameter_hash", m->hash);
}

static void put_action_names(const cm_env *env, cm_json_writer *json) {
    if (!env->def || !cm_env_is_listed(env) || env->spec.actions > NAMED_ACTIONS_MOST) return;
    cm_json_begin_array(json, "action_names");
    for (int a = 0; a < env->spec.actions; a++) {
        char name[32];
        cm_env_action_name(env, a, name, sizeof name);
        cm_json_put_string(json, NULL, name);
    }
    cm_json_end_array(json);
}

static void put_task(const cm_export_model *m, cm_json_writer *json) {
    const cm_session *s = m->origin.session;
    const cm_env_spec *spec = &s->env.spec;
    const cm_policy_form form = cm_network_policy(m->network.network);
    cm_json_begin_array(json, "observation_shape");
    for (int i = 0; i < spec->rank; i++) cm_json_put_int(json, NULL, spec->shape[i]);
    cm_json_end_array(json);
    if (m->network.options.unit > 0.0f) cm_json_put_float(json, "observation_scale", m->network.options.unit);
    cm_json_put_int(json, "actions", spec->actions);
    put_action_names(&s->env, json);
    cm_json_put_int(json, "policy_numbers", form.numbers);
    cm_json_put_int(json, "policy_values", form.values);
    cm_json_put_int(json, "players", spec->players);
    cm_json_put_double(json, "discount", s->configuration.replay.discount);
}

static void put_support(const char *name, const cm_support *support, cm_json_writer *json) {
    cm_json_begin_object(json, name);
    cm_json_put_float(json, "min", support->min);
    cm_json_put_float(json, "max", support->max);
    cm_json_put_int(json, "size", support->size);
    cm_json_put_bool(json, "transform", support->size > 1 && support->transform);
    cm_json_end_object(json);
}

static void put_network(const cm_export_model *m, cm_json_writer *json) {
    const cm_network_config *c = cm_network_get_config(m->network.network);
    if (c->model == CM_NETWORK_CHANCE) cm_json_put_int(json, "codes", c->codes);
    if (c->prefix_horizon > 0) cm_json_put_int(json, "memory_size", cm_network_memory_size(m->network.network));
    cm_json_put_bool(json, "decodes", m->network.options.decodes);
    put_support("value_support", &c->value_support, json);
    if (c->model != CM_NETWORK_PREDICTION) put_support("reward_support", &c->reward_support, json);
}

static void put_ports(const char *key, const cm_onnx_graph *graph, const cm_onnx_value *ports, int count,
                      cm_json_writer *json) {
    static const char *const types[] = {
        [CM_ONNX_FLOAT] = "float32", [CM_ONNX_INT64] = "int64", [CM_ONNX_UINT8] = "uint8"};
    cm_json_begin_object(json, key);
    for (int i = 0; i < count; i++) {
        const cm_onnx_info *info = &graph->value[ports[i]];
        cm_json_begin_array(json, info->name);
        cm_json_put_string(json, NULL, types[info->type]);
        cm_json_put_string(json, NULL, "batch");
        for (int d = 1; d < info->ndim; d++) cm_json_put_int(json, NULL, info->dim[d]);
        cm_json_end_array(json);
    }
    cm_json_end_object(json);
}

static void put_functions(const cm_export_model *m, cm_json_writer *json) {
    cm_json_begin_object(json, "functions");
    for (int g = 0; g < m->graphs; g++) {
        const cm_onnx_graph *graph = m->graph[g];
        cm_json_begin_object(json, graph->name);
        put_ports("inputs", graph, graph->input, graph->inputs, json);
        put_ports("outputs", graph, graph->output, graph->outputs, json);
        cm_json_end_object(json);
    }
    cm_json_end_object(json);
}

static cm_status make_facts(cm_export_model *m) {
    cm_json_writer *json = NULL;
    size_t size = 0;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    put_origin(m, json);
    put_task(m, json);
    put_network(m, json);
    put_functions(m, json);
    cm_json_end_object(json);
    const char *text = cm_json_writer_text(json, &size);
    cm_status status = text ? cm_json_parse(text, size, "config.json", &m->facts)
                            : cm_fail(CM_ERR_MEMORY, "no memory for config.json");
    cm_json_writer_destroy(json);
    return status;
}

/* ---- the model ---- */

cm_status cm_export_model_open(cm_export_model *m, const cm_export_network *network, const cm_export_origin *origin) {
    *m = (cm_export_model){.network = *network, .origin = *origin};
    for (cm_function_kind kind = 0; kind < CM_FUNCTION_COUNT; kind++) CM_TRY(add_graph(m, kind));
    CM_TRY(collect_arrays(m));
    CM_TRY(hash_parameters(m));
    return make_facts(m);
}

void cm_export_model_close(cm_export_model *m) {
    for (int g = 0; g < m->graphs; g++) cm_onnx_graph_destroy(m->graph[g]);
    free(m->arrays);
    cm_json_free(m->facts);
    *m = (cm_export_model){.graphs = 0};
}
