/* What a stream runs again and again: lists of calls, by their fused segments and as graphs, and any other work. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/fused/segments.h"
#include "backend/cuda/module/cuda.h"
#include "backend/cuda/ops/ops.h"
#include "core/arena.h"
#include "core/log.h"

typedef struct captured {
    cm_cuda_graph *graph;        /* NULL until it is wanted: one launch, and a part of other work, need none */
    cm_fused_segments *segments; /* of a list; NULL: every call is launched by itself */
} captured;

enum { NAME = 96 };

static void name_list(const cm_call_list *calls, char name[NAME]) {
    snprintf(name, NAME, "pass of %d operations, from %s to %s", calls->count, cm_op_name(calls->calls[0].op),
             cm_op_name(calls->calls[calls->count - 1].op));
}

static void log_segments(const cm_call_list *calls, const cm_fused_segments *segments) {
    char name[NAME];
    const int count = cm_fused_segments_count(segments);
    if (count == 0) return;
    name_list(calls, name);
    if (cm_fused_segments_is_whole(segments)) {
        cm_log(CM_INFO, "%s: one kernel", name);
    } else {
        cm_log(CM_INFO, "%s: %d parts of it are fewer launches than calls", name, count);
    }
}

static cm_status prepare_list(cm_stream *stream, const cm_call_list *calls, bool whole, void **kept) {
    captured *r = NULL;
    CM_TRY(cm_alloc(&r, 1, sizeof *r, "a captured graph"));
    *kept = r;
    if (stream->backend->is_unfused) return CM_OK;
    CM_TRY(cm_fused_segments_create(stream, calls, whole, &r->segments));
    if (cm_cuda_of(stream)->device->log_plans) log_segments(calls, r->segments);
    return CM_OK;
}

cm_status cm_cuda_fuse(cm_stream *stream, const cm_call_list *calls, void **kept) {
    CM_TRY(prepare_list(stream, calls, true, kept));
    if (((const captured *)*kept)->segments) return CM_OK;
    cm_cuda_destroy_graph(*kept);
    *kept = NULL;
    return CM_OK;
}

cm_status cm_cuda_prepare_list(cm_stream *stream, const cm_call_list *calls, void **kept) {
    CM_TRY(cm_cuda_enter(cm_cuda_of(stream)->device));
    return prepare_list(stream, calls, false, kept);
}

typedef struct list_work {
    cm_stream *stream;
    const cm_call_list *calls;
    const cm_fused_segments *segments;
    unsigned branches; /* that were given something, by their bits */
} list_work;

static cm_status enter_branch(cm_stream *stream, const cm_call *call, void *context, cm_stream **out) {
    list_work *w = context;
    w->branches |= 1u << call->branch;
    return cm_cuda_side_stream_enter(stream, call, out);
}

static cm_status launch_call(cm_stream *stream, const cm_call *call, void *context) {
    cm_stream *branch = NULL;
    CM_TRY(enter_branch(stream, call, context, &branch));
    return cm_cuda_ops[call->op].run(branch, call);
}

static cm_status launch_list(void *context) {
    list_work *w = context;
    const cm_segment_runner runner = {launch_call, enter_branch, w};
    w->branches = 0;
    CM_TRY(cm_fused_segments_run(w->segments, w->stream, w->calls, &runner));
    return cm_cuda_side_stream_join(w->stream, w->branches);
}

cm_status cm_cuda_run_list(cm_stream *stream, const cm_call_list *calls, bool captures, void **kept) {
    char name[NAME];
    if (calls->count == 0) return CM_OK;
    CM_TRY(cm_cuda_enter(cm_cuda_of(stream)->device));
    if (!*kept) CM_TRY(prepare_list(stream, calls, false, kept));
    captured *r = *kept;
    list_work w = {.stream = stream, .calls = calls, .segments = r->segments};
    if (!captures || cm_fused_segments_is_whole(r->segments)) return launch_list(&w);
    name_list(calls, name);
    cm_cuda_key key = {.name = name, .shapes = (uint64_t)calls->count, .addresses = calls->version};
    return cm_cuda_graph_run(&cm_cuda_stream_of(stream)->own, &key, launch_list, &w, &r->graph);
}

void cm_cuda_destroy_graph(void *kept) {
    captured *r = kept;
    if (!r) return;
    cm_cuda_graph_destroy(r->graph);
    cm_fused_segments_free(r->segments);
    free(r);
}

/* Any work of a stream is a graph, too. */
typedef struct recorded {
    cm_stream_work work;
    void *context, *queue;
} recorded;

static cm_status launch_recorded(void *context) {
    const recorded *r = context;
    return r->work(r->context, r->queue);
}

cm_status cm_cuda_capture(cm_stream *stream, const char *name, cm_stream_work launches, void *context, void **kept) {
    cm_cuda_key key = {.name = name};
    recorded w = {launches, context, cm_ops_queue(stream)};
    captured *r = *kept;
    if (!r) CM_TRY(cm_alloc(&r, 1, sizeof *r, "a captured graph"));
    *kept = r;
    return cm_cuda_graph_run(&cm_cuda_stream_of(stream)->own, &key, launch_recorded, &w, &r->graph);
}
