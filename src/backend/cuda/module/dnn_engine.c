/* Which engines there are for a graph, and the plan of one of them. */
#include <cudnn.h>
#include <string.h>

#include "backend/cuda/module/dnn_parts.h"

/* ---- engines ---- */

enum {
    LESS_EXACT = 1u << CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS |
                 1u << CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION | 1u << CUDNN_NUMERICAL_NOTE_FFT |
                 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD,
    NOT_FIXED = 1u << CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
    TENSOR_CORES = 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE
};

static bool is_supported(const cm_dnn_graph *g, const cm_dnn_engine *engine) {
    const unsigned refused = LESS_EXACT | NOT_FIXED | (g->convolution.type == CM_F32 ? TENSOR_CORES : 0) |
                             (cm_convolution_is_small(&g->convolution) ? CM_DNN_COMPILED : 0);
    return (engine->notes & refused) == 0;
}

static cm_status look_at_behaviour(cm_dnn_part engine, cm_dnn_engine *out) {
    cudnnBackendBehaviorNote_t notes[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
    int64_t n = 0;
    CM_TRY(cm_dnn_check(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                                 CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &n, notes)));
    for (int64_t i = 0; i < n; i++)
        if (notes[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) out->notes |= CM_DNN_COMPILED;
    return CM_OK;
}

static cm_status look_at_engine(cm_dnn_part engine, cm_dnn_engine *out) {
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t index = 0, n = 0;
    CM_TRY(cm_dnn_check(
        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &n, &index)));
    CM_TRY(cm_dnn_check(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, notes)));
    for (int64_t i = 0; i < n; i++) out->notes |= 1u << notes[i];
    out->index = (int32_t)index;
    return look_at_behaviour(engine, out);
}

static cm_status look_at_knob(cm_dnn_part knob, cm_dnn_engine *out) {
    cudnnBackendKnobType_t type;
    int64_t value = 0, n = 0;
    CM_TRY(cm_dnn_check(
        cudnnBackendGetAttribute(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &n, &type)));
    CM_TRY(cm_dnn_check(
        cudnnBackendGetAttribute(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &n, &value)));
    out->knob[out->knobs].type = (int32_t)type;
    out->knob[out->knobs++].value = (int32_t)value;
    return CM_OK;
}

/* What an engine's configuration says; *whole: there is most for all of it. `own` takes what has to be made for that.
 */
static cm_status look_at(cm_dnn_parts *own, cm_dnn_part configuration, cm_dnn_engine *out, bool *whole) {
    cm_dnn_part engine, knobs[CM_DNN_KNOBS];
    int64_t n = 0;
    memset(out, 0, sizeof *out);
    CM_TRY(cm_dnn_add(own, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    CM_TRY(cm_dnn_check(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine)));
    CM_TRY(look_at_engine(engine, out));
    for (int i = 0; i < CM_DNN_KNOBS; i++) CM_TRY(cm_dnn_add(own, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knobs[i]));
    CM_TRY(cm_dnn_check(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, CM_DNN_KNOBS, &n, knobs)));
    *whole = n <= CM_DNN_KNOBS;
    for (int64_t i = 0; *whole && i < n; i++) CM_TRY(look_at_knob(knobs[i], out));
    return CM_OK;
}

static cm_status ask(const cm_dnn_graph *g, cm_dnn_parts *own, cudnnBackendHeurMode_t mode, cm_dnn_part *configurations,
                     int64_t *count) {
    cm_dnn_part heuristics;
    CM_TRY(cm_dnn_add(own, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics));
    CM_TRY(cm_dnn_set_part(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g->graph));
    CM_TRY(cm_dnn_set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
    if (g->device) CM_TRY(cm_dnn_set_part(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, g->device));
    CM_TRY(cm_dnn_finish(heuristics));
    const int64_t most = *count;
    for (int64_t i = 0; i < most; i++) CM_TRY(cm_dnn_add(own, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configurations[i]));
    CM_TRY(cm_dnn_check(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, most, count, configurations)));
    if (*count > most) *count = most;
    return CM_OK;
}

enum { CONFIGURATIONS = 48 };

static cm_status find_engines(const cm_dnn_graph *g, cm_dnn_parts *own, bool fallback, cm_dnn_engine *out, int most,
                              int *count) {
    cm_dnn_part configurations[CONFIGURATIONS];
    int64_t n = CONFIGURATIONS;
    CM_TRY(ask(g, own, fallback ? CUDNN_HEUR_MODE_FALLBACK : CUDNN_HEUR_MODE_A, configurations, &n));
    for (int64_t i = 0; i < n && *count < most; i++) {
        cm_dnn_parts own_of_it = {0};
        bool whole = false;
        cm_status status = look_at(&own_of_it, configurations[i], &out[*count], &whole);
        cm_dnn_free(&own_of_it);
        CM_TRY(status);
        *count += whole && is_supported(g, &out[*count]);
    }
    return CM_OK;
}

cm_status cm_dnn_graph_engines(const cm_dnn_graph *graph, bool fallback, cm_dnn_engine *out, int most, int *count) {
    cm_dnn_parts own = {0};
    *count = 0;
    cm_status status = find_engines(graph, &own, fallback, out, most, count);
    cm_dnn_free(&own);
    return status;
}

/* ---- plans ---- */

static cm_status configure(cm_dnn_graph *g, const cm_dnn_engine *engine, cm_dnn_part *out) {
    const int64_t index = engine->index;
    cm_dnn_part of_engine, knob;
    CM_TRY(cm_dnn_add(&g->chosen, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &of_engine));
    CM_TRY(cm_dnn_set_part(of_engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, g->graph));
    CM_TRY(cm_dnn_set_numbers(of_engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1, &index));
    if (g->device) CM_TRY(cm_dnn_set_part(of_engine, CUDNN_ATTR_ENGINE_DEVICEPROP, g->device));
    CM_TRY(cm_dnn_finish(of_engine));
    CM_TRY(cm_dnn_add(&g->chosen, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, out));
    CM_TRY(cm_dnn_set_part(*out, CUDNN_ATTR_ENGINECFG_ENGINE, of_engine));
    cm_dnn_part *knobs = g->chosen.list + g->chosen.count; /* they follow */
    for (int i = 0; i < engine->knobs; i++) {
        const cudnnBackendKnobType_t type = (cudnnBackendKnobType_t)engine->knob[i].type;
        const int64_t value = engine->knob[i].value;
        CM_TRY(cm_dnn_add(&g->chosen, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knob));
        CM_TRY(cm_dnn_set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type));
        CM_TRY(cm_dnn_set_numbers(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, 1, &value));
        CM_TRY(cm_dnn_finish(knob));
    }
    if (engine->knobs > 0)
        CM_TRY(
            cm_dnn_set(*out, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, engine->knobs, knobs));
    return cm_dnn_finish(*out);
}

static cm_status make_plan(cm_dnn_graph *g, const cm_dnn_engine *engine, size_t workspace) {
    cm_dnn_part configuration, plan;
    int64_t needed = 0, n = 0;
    CM_TRY(configure(g, engine, &configuration));
    CM_TRY(cm_dnn_add(&g->chosen, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan));
    if (g->dnn) CM_TRY(cm_dnn_set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->dnn));
    if (g->device) CM_TRY(cm_dnn_set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, g->device));
    CM_TRY(cm_dnn_set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration));
    CM_TRY(cm_dnn_finish(plan));
    CM_TRY(cm_dnn_check(
        cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n, &needed)));
    if (needed < 0 || (uint64_t)needed > workspace)
        return cm_fail(CM_ERR_MEMORY,
                       "a convolution as a graph: engine %d needs a workspace of %lld bytes, there are %zu",
                       engine->index, (long long)needed, workspace);
    g->plan = plan;
    return CM_OK;
}

static cm_status replace_plan(cm_dnn_graph *graph, const cm_dnn_engine *engine, size_t workspace) {
    graph->plan = NULL;
    cm_dnn_free(&graph->chosen);
    if (engine->knobs < 0 || engine->knobs > CM_DNN_KNOBS)
        return cm_fail(CM_ERR_DEVICE, "a convolution as a graph: an engine with %d knobs", engine->knobs);
    return make_plan(graph, engine, workspace);
}

cm_status cm_dnn_graph_plan(cm_dnn_graph *graph, const cm_dnn_engine *engine, size_t workspace) {
    if (!graph->gpu) return replace_plan(graph, engine, workspace);
    CM_TRY(cm_cuda_capture_lock(graph->gpu, "planning a convolution as a graph"));
    cm_status status = replace_plan(graph, engine, workspace);
    cm_cuda_capture_unlock(graph->gpu);
    return status;
}
