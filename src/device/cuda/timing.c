#include "device/cuda/timing.h"

#include <math.h>

#include "device/cuda/internal.h"

enum {
    RUNS = 50,           /* of the shortest work, in a graph */
    GRAPHS = 3,          /* that are timed */
    WARMING_GRAPHS = 500 /* before the first of a device, at most */
};

/* What a graph takes at least, if so many runs do: work that takes longer is run once in it. */
static const float long_milliseconds = 0.5f;

/* What is run before the first graph of a device is timed. */
static const float warm_milliseconds = 20.0f;

typedef struct timing {
    cm_cuda_stream *stream;
    const char *name;
    cm_cuda_work work;
    void *context;
    int runs; /* in a graph */
    cm_cuda_graph *graph;
    cm_cu_event start, end;
} timing;

static cm_status launch_runs(void *context) {
    const timing *t = context;
    for (int i = 0; i < t->runs; i++) CM_TRY(t->work(t->context));
    return CM_OK;
}

static cm_status run_graph(timing *t) {
    const cm_cuda_key key = {.name = t->name, .passing = true};
    return cm_cuda_graph_run(t->stream, &key, launch_runs, t, &t->graph);
}

/* Short work queues up after a graph that runs already, so that the host's part of a launch is not in its time. */
static cm_status time_graph(timing *t, float *milliseconds) {
    static const char what[] = "measuring time";
    cm_cuda_device *device = t->stream->device;
    if (t->runs > 1) CM_TRY(run_graph(t));
    CM_CU_TRY(device, what, event_record(t->start, t->stream->handle));
    CM_TRY(run_graph(t));
    CM_CU_TRY(device, what, event_record(t->end, t->stream->handle));
    CM_CU_TRY(device, what, event_wait(t->end));
    CM_CU_TRY(device, what, event_elapsed(milliseconds, t->start, t->end));
    *milliseconds /= (float)t->runs;
    return CM_OK;
}

static int runs_of(float milliseconds) {
    if (milliseconds * (float)RUNS <= long_milliseconds) return RUNS;
    return (int)ceilf(long_milliseconds / milliseconds);
}

/* A GPU that was idle takes a while to its full speed: the first work that is measured would seem slower than that
 * which competes with it. */
static cm_status warm_up(timing *t) {
    float spent = 0.0f;
    if (__atomic_exchange_n(&t->stream->device->is_warm, true, __ATOMIC_RELAXED)) return CM_OK;
    for (int i = 0; i < WARMING_GRAPHS && spent < warm_milliseconds; i++) {
        float once = 0.0f;
        CM_TRY(time_graph(t, &once));
        spent += once * (float)t->runs;
    }
    return CM_OK;
}

/* Eagerly, where kernels are loaded; eagerly by the graph, which says how long it is; captured, then timed. The least
 * counts: what else runs on the GPU makes no time shorter. */
static cm_status time_work(timing *t, float *milliseconds) {
    CM_TRY(launch_runs(t));
    CM_TRY(time_graph(t, milliseconds));
    t->runs = runs_of(*milliseconds);
    CM_TRY(run_graph(t));
    CM_TRY(warm_up(t));
    *milliseconds = INFINITY;
    for (int i = 0; i < GRAPHS; i++) {
        float once = 0.0f;
        CM_TRY(time_graph(t, &once));
        *milliseconds = fminf(*milliseconds, once);
    }
    if (cm_cuda_graph_count(t->graph).launches == 0) *milliseconds += CM_CUDA_UNCAPTURED_MS;
    return CM_OK;
}

static cm_status open_events(timing *t) {
    cm_cuda_device *device = t->stream->device;
    CM_TRY(cm_cuda_enter(device));
    CM_CU_TRY(device, "an event of the GPU", event_create(&t->start, 0));
    CM_CU_TRY(device, "an event of the GPU", event_create(&t->end, 0));
    return CM_OK;
}

static void close_all(const timing *t) {
    const cm_cuda_driver *driver = t->stream->device->driver;
    cm_cuda_graph_destroy(t->graph);
    if (t->start) driver->event_destroy(t->start);
    if (t->end) driver->event_destroy(t->end);
}

cm_status cm_cuda_time(cm_cuda_stream *stream, const char *name, cm_cuda_work work, void *context,
                       float *milliseconds) {
    timing t = {.stream = stream, .name = name, .work = work, .context = context, .runs = 1};
    cm_status status = open_events(&t);
    if (status == CM_OK) status = time_work(&t, milliseconds);
    close_all(&t);
    return status;
}
