#include "device/cuda/rivals.h"

#include "device/cuda/fastest.h"
#include "device/cuda/internal.h"

/* In a graph of one run alone a GPU would be measured at beginning graphs. */
enum { RUNS = 10 /* in a graph */, GRAPHS = 3 /* that are timed */ };

typedef struct trial {
    cm_cuda_lane *lane;
    const char *key;
    const cm_cuda_rival *rival;
    int count;
    int32_t taken;
    cm_cuda_graph *graph; /* of the one that was taken */
    cm_cu_event start, end;
} trial;

static cm_status enter(void *context, int round, void *candidates, int *count) {
    const trial *t = context;
    int32_t *number = candidates;
    (void)round;
    for (int i = 0; i < t->count; i++) number[i] = i;
    *count = t->count;
    return CM_OK;
}

/* What is kept on disk may be of a build with other rivals. */
static cm_status take(void *context, const void *candidate) {
    trial *t = context;
    const int32_t number = *(const int32_t *)candidate;
    if (number < 0 || number >= t->count) return cm_fail(CM_ERR_INPUT, "there is no number %d", (int)number);
    t->taken = number;
    return CM_OK;
}

static cm_status launch_runs(void *context) {
    const trial *t = context;
    for (int i = 0; i < RUNS; i++) CM_TRY(t->rival[t->taken].launch(t->rival[t->taken].context));
    return CM_OK;
}

static cm_status run_graph(trial *t) {
    const cm_cuda_key key = {.name = t->key};
    return cm_cuda_graph_run(t->lane, &key, launch_runs, t, &t->graph);
}

/* Eagerly, then captured: while that graph runs those to be timed queue up behind it. */
static cm_status time_graphs(trial *t, float *milliseconds) {
    static const char what[] = "measuring time";
    cm_cuda_device *device = t->lane->device;
    CM_TRY(run_graph(t));
    CM_TRY(run_graph(t));
    CM_CU_TRY(device, what, event_record(t->start, t->lane->stream));
    for (int i = 0; i < GRAPHS; i++) CM_TRY(run_graph(t));
    CM_CU_TRY(device, what, event_record(t->end, t->lane->stream));
    CM_CU_TRY(device, what, event_wait(t->end));
    CM_CU_TRY(device, what, event_elapsed(milliseconds, t->start, t->end));
    *milliseconds /= (float)(GRAPHS * RUNS);
    return CM_OK;
}

static cm_status measure(void *context, float *milliseconds) {
    trial *t = context;
    cm_status status = time_graphs(t, milliseconds);
    cm_cuda_graph_destroy(t->graph);
    t->graph = NULL;
    return status;
}

static cm_status open_events(trial *t) {
    cm_cuda_device *device = t->lane->device;
    CM_TRY(cm_cuda_enter(device));
    CM_CU_TRY(device, "an event of the GPU", event_create(&t->start, 0));
    CM_CU_TRY(device, "an event of the GPU", event_create(&t->end, 0));
    return CM_OK;
}

static void close_events(const trial *t) {
    const cm_cuda_driver *driver = t->lane->device->driver;
    if (t->start) driver->event_destroy(t->start);
    if (t->end) driver->event_destroy(t->end);
}

cm_status cm_cuda_rivals_choose(cm_cuda_lane *lane, cm_choices *choices, const char *key, const cm_cuda_rival rival[],
                                int count, int *winner) {
    trial t = {.lane = lane, .key = key, .rival = rival, .count = count};
    const cm_fastest fastest = {.context = &t,
                                .size = sizeof t.taken,
                                .rounds = 1,
                                .log = lane->device->log_plans,
                                .enter = enter,
                                .take = take,
                                .measure = measure};
    cm_status status = open_events(&t);
    if (status == CM_OK) status = cm_fastest_take(&fastest, choices, key);
    close_events(&t);
    *winner = (int)t.taken;
    return status;
}
