#include "device/cuda/timing.h"

#include "device/cuda/internal.h"

enum { RUNS = 10 /* of short work, in a graph */, GRAPHS = 3 /* that are timed */ };

/* Work that takes longer is run once in a graph. */
static const float long_milliseconds = 0.5f;

typedef struct timing {
    cm_cuda_lane *lane;
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

static cm_status run_graph(timing *t, int times) {
    const cm_cuda_key key = {.name = t->name, .passing = true};
    for (int i = 0; i < times; i++) CM_TRY(cm_cuda_graph_run(t->lane, &key, launch_runs, t, &t->graph));
    return CM_OK;
}

static cm_status time_graphs(timing *t, int times, float *milliseconds) {
    static const char what[] = "measuring time";
    cm_cuda_device *device = t->lane->device;
    CM_CU_TRY(device, what, event_record(t->start, t->lane->stream));
    CM_TRY(run_graph(t, times));
    CM_CU_TRY(device, what, event_record(t->end, t->lane->stream));
    CM_CU_TRY(device, what, event_wait(t->end));
    CM_CU_TRY(device, what, event_elapsed(milliseconds, t->start, t->end));
    *milliseconds /= (float)(times * t->runs);
    return CM_OK;
}

/* Eagerly, where kernels are loaded; eagerly by the graph, which says whether it is long; captured: while that graph
 * runs those to be timed queue up behind it. */
static cm_status time_work(timing *t, float *milliseconds) {
    CM_TRY(launch_runs(t));
    CM_TRY(time_graphs(t, 1, milliseconds));
    if (*milliseconds < long_milliseconds) t->runs = RUNS;
    CM_TRY(run_graph(t, 1));
    CM_TRY(time_graphs(t, GRAPHS, milliseconds));
    if (cm_cuda_graph_count(t->graph).launches == 0) *milliseconds += CM_CUDA_UNCAPTURED_MS;
    return CM_OK;
}

static cm_status open_events(timing *t) {
    cm_cuda_device *device = t->lane->device;
    CM_TRY(cm_cuda_enter(device));
    CM_CU_TRY(device, "an event of the GPU", event_create(&t->start, 0));
    CM_CU_TRY(device, "an event of the GPU", event_create(&t->end, 0));
    return CM_OK;
}

static void close_all(const timing *t) {
    const cm_cuda_driver *driver = t->lane->device->driver;
    cm_cuda_graph_destroy(t->graph);
    if (t->start) driver->event_destroy(t->start);
    if (t->end) driver->event_destroy(t->end);
}

cm_status cm_cuda_time(cm_cuda_lane *lane, const char *name, cm_cuda_work work, void *context, float *milliseconds) {
    timing t = {.lane = lane, .name = name, .work = work, .context = context, .runs = 1};
    cm_status status = open_events(&t);
    if (status == CM_OK) status = time_work(&t, milliseconds);
    close_all(&t);
    return status;
}
