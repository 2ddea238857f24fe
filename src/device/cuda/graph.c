/* Captured graphs: once eagerly, captured the second time, replayed from then on; eagerly where a capture comes to
 * nothing. */
#include <stdlib.h>

#include "core/arena.h"
#include "core/log.h"
#include "device/cuda/internal.h"

struct cm_cuda_graph {
    cm_cuda_device *device;                 /* borrowed */
    uint64_t shapes, addresses, generation; /* of what was captured, or ran eagerly */
    cm_cu_graph_exec exec;                  /* NULL until captured */
    bool warm;                              /* work of these shapes has run eagerly: it may be captured */
    bool captured;                          /* exec is of shapes, addresses, generation */
    int refused;                            /* captures in a row that came to nothing */
    cm_cuda_graph_counts counts;
};

/* ---- capturing ---- */

static cm_status record(cm_cuda_stream *stream, cm_cuda_work work, void *context, cm_cu_graph *out) {
    static const char what[] = "capturing a graph";
    cm_cuda_device *device = stream->device;
    *out = NULL;
    CM_CU_TRY(device, what, capture_begin(stream->handle, CM_CU_CAPTURE_THREAD));
    cm_status status = work(context);
    int result = device->driver->capture_end(stream->handle, out); /* ends it also where the work failed */
    if (status == CM_OK) status = cm_cuda_result(device, result, what);
    if (status == CM_OK && !*out) status = cm_fail(CM_ERR_DEVICE, "%s: nothing came of it", what);
    return status;
}

/* The executable graph of what was captured: the old one changed in place, or a new one. */
static cm_status make_executable(cm_cuda_graph *graph, cm_cu_graph captured, const char **how) {
    cm_cuda_device *device = graph->device;
    const cm_cuda_driver *driver = device->driver;
    cm_cu_update outcome = {0};
    *how = "made executable";
    if (graph->exec) {
        int result = driver->exec_update(graph->exec, captured, &outcome);
        if (result == CM_CU_OK) {
            graph->counts.updates++;
            *how = "updated in place";
            return CM_OK;
        }
        *how = "made executable again";
        driver->exec_destroy(graph->exec);
        graph->exec = NULL;
    }
    CM_CU_TRY(device, "making a graph executable", exec_create(&graph->exec, captured, 0));
    graph->counts.instantiations++;
    return CM_OK;
}

static cm_status count_nodes(cm_cuda_graph *graph, cm_cu_graph captured) {
    CM_CU_TRY(graph->device, "counting a graph's launches", graph_nodes(captured, NULL, &graph->counts.nodes));
    return CM_OK;
}

/* One capture with all that follows from it; under `capture_lock`. */
static cm_status capture(cm_cuda_stream *stream, cm_cuda_graph *graph, cm_cuda_work work, void *context,
                         const char **how) {
    cm_cu_graph captured = NULL;
    graph->captured = false;
    cm_status status = record(stream, work, context, &captured);
    if (status == CM_OK) status = count_nodes(graph, captured);
    if (status == CM_OK) status = make_executable(graph, captured, how);
    if (captured) graph->device->driver->graph_destroy(captured);
    if (status != CM_OK) return status;
    graph->counts.captures++;
    graph->captured = true;
    return CM_OK;
}

static cm_status capture_locked(cm_cuda_stream *stream, const cm_cuda_key *key, cm_cuda_work work, void *context,
                                cm_cuda_graph *graph, const char *why) {
    const char *how = "";
    CM_TRY(cm_cuda_capture_lock(stream->device, "capturing a graph"));
    cm_status status = capture(stream, graph, work, context, &how);
    cm_cuda_capture_unlock(stream->device);
    if (status != CM_OK) return cm_fail_in(status, "graph \"%s\"", key->name);
    if (stream->device->log_plans && !key->passing) {
        cm_log(CM_INFO, "graph \"%s\": %zu launches captured (%s), %s", key->name, graph->counts.nodes, why, how);
    }
    return CM_OK;
}

/* ---- running ---- */

static cm_status run_eagerly(const cm_cuda_key *key, cm_cuda_work work, void *context, cm_cuda_graph *graph) {
    graph->counts.eager++;
    graph->warm = true;
    graph->captured = false;
    cm_status status = work(context);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "graph \"%s\", eagerly", key->name);
}

/* So often in a row a capture is tried. */
enum { TRIES = 3 };

/* A capture has failed: the driver or a library refuses something in it (CM_ERR_DEVICE, CM_ERR_MEMORY), the work waits
 * for the device or allocates memory of it (CM_ERR_STATE, of cm_cuda_capture_lock), or another thread has disturbed it.
 * That costs time, but is no reason to end a run. What else a work ends with it would end with eagerly, too. */
static bool may_run_uncaptured(const cm_cuda_device *device, cm_status status) {
    const bool may = status == CM_ERR_DEVICE || status == CM_ERR_MEMORY || status == CM_ERR_STATE;
    return may && !__atomic_load_n(&device->lost, __ATOMIC_RELAXED);
}

/* NULL `why`: it is captured. */
static cm_status run_captured(cm_cuda_stream *stream, const cm_cuda_key *key, cm_cuda_work work, void *context,
                              cm_cuda_graph *graph, const char *why) {
    cm_status status = why ? capture_locked(stream, key, work, context, graph, why) : CM_OK;
    if (status != CM_OK) {
        if (!may_run_uncaptured(stream->device, status)) return status;
        graph->refused++;
        cm_log(CM_WARNING, "%s; it runs eagerly %s", cm_error_message(),
               graph->refused < TRIES ? "this time" : "from now on");
        return run_eagerly(key, work, context, graph);
    }
    graph->refused = 0;
    graph->counts.launches++;
    __atomic_fetch_add(&stream->device->graphs_launched, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&stream->device->nodes_launched, graph->counts.nodes, __ATOMIC_RELAXED);
    CM_CU_TRY(stream->device, key->name, exec_launch(graph->exec, stream->handle));
    return CM_OK;
}

static cm_status open_graph(cm_cuda_stream *stream, cm_cuda_graph **graph) {
    CM_TRY(cm_alloc(graph, 1, sizeof **graph, "a captured graph"));
    (*graph)->device = stream->device;
    return CM_OK;
}

/* Why the graph must be captured now; NULL: it need not. */
static const char *reason(const cm_cuda_graph *graph, bool moved) {
    if (graph->captured && !moved) return NULL;
    if (graph->counts.captures == 0) return "first time";
    return graph->captured ? "addresses changed" : "shapes changed";
}

cm_status cm_cuda_graph_run(cm_cuda_stream *stream, const cm_cuda_key *key, cm_cuda_work work, void *context,
                            cm_cuda_graph **graph) {
    CM_TRY(cm_cuda_enter(stream->device));
    if (!*graph) CM_TRY(open_graph(stream, graph));
    cm_cuda_graph *g = *graph;
    const bool reshaped = !g->warm || g->shapes != key->shapes;
    const bool moved = g->addresses != key->addresses || g->generation != stream->generation;
    g->shapes = key->shapes, g->addresses = key->addresses, g->generation = stream->generation;
    if (reshaped) {
        if (stream->device->log_plans && g->counts.captures > 0)
            cm_log(CM_INFO, "graph \"%s\": shapes changed, it runs eagerly and is captured again", key->name);
        g->refused = 0;
    }
    if (reshaped || g->refused == TRIES) return run_eagerly(key, work, context, g);
    return run_captured(stream, key, work, context, g, reason(g, moved));
}

void cm_cuda_graph_destroy(cm_cuda_graph *graph) {
    if (!graph) return;
    cm_cuda_device *device = graph->device;
    if (graph->exec && cm_cuda_capture_lock(device, "giving a graph back") == CM_OK) {
        device->driver->exec_destroy(graph->exec);
        cm_cuda_capture_unlock(device);
    }
    free(graph);
}

cm_cuda_graph_counts cm_cuda_graph_count(const cm_cuda_graph *graph) { return graph->counts; }
