/* What a stream runs again and again, as graphs: passes, and any other work. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/fused/segments.h"
#include "backend/cuda/module/cuda.h"
#include "backend/cuda/ops/ops.h"
#include "core/arena.h"
#include "core/log.h"

/* A pass is a graph, whose fused segments are one launch each. */
typedef struct captured {
    cm_cuda_graph *graph;
    cm_fused_segments *segments; /* NULL: every call is launched by itself */
} captured;

typedef struct pass_work {
    cm_stream *stream;
    const cm_call_list *calls;
    const cm_fused_segments *segments;
    unsigned branches; /* that were given something, by their bits */
} pass_work;

static cm_status launch_call(cm_stream *stream, const cm_call *call, void *context) {
    pass_work *w = context;
    cm_stream *branch = NULL;
    w->branches |= 1u << call->branch;
    CM_TRY(cm_cuda_side_stream_enter(stream, call, &branch));
    return cm_cuda_ops[call->op].run(branch, call);
}

static cm_status launch_all(void *context) {
    pass_work *w = context;
    w->branches = 0;
    CM_TRY(cm_fused_segments_run(w->segments, w->stream, w->calls, launch_call, w));
    return cm_cuda_side_stream_join(w->stream, w->branches);
}

static cm_status open_captured(cm_stream *stream, const cm_call_list *calls, const char *name, captured **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "a captured graph"));
    if (stream->backend->is_unfused) return CM_OK;
    CM_TRY(cm_fused_segments_create(stream, calls, &(*out)->segments));
    if (cm_cuda_of(stream)->device->log_plans && cm_fused_segments_count((*out)->segments) > 0)
        cm_log(CM_INFO, "%s: %d launches stand for several each", name, cm_fused_segments_count((*out)->segments));
    return CM_OK;
}

enum { NAME = 96 };

/* The pass's name, and its captured graph, which is made when it is first wanted. */
static cm_status find_captured(cm_stream *stream, const cm_call_list *pass, char name[NAME], void **kept) {
    captured *r = *kept;
    snprintf(name, NAME, "pass of %d operations, from %s to %s", pass->count, cm_op_name(pass->calls[0].op),
             cm_op_name(pass->calls[pass->count - 1].op));
    cm_status status = r ? CM_OK : open_captured(stream, pass, name, &r);
    *kept = r;
    return status;
}

cm_status cm_cuda_replay(cm_stream *stream, const cm_call_list *pass, void **kept) {
    char name[NAME];
    if (pass->count == 0) return CM_OK;
    CM_TRY(find_captured(stream, pass, name, kept));
    captured *r = *kept;
    cm_cuda_key key = {.name = name, .shapes = (uint64_t)pass->count, .addresses = pass->version};
    pass_work w = {.stream = stream, .calls = pass, .segments = r->segments};
    return cm_cuda_graph_run(&cm_cuda_stream_of(stream)->own, &key, launch_all, &w, &r->graph);
}

cm_status cm_cuda_launch(cm_stream *stream, const cm_call_list *pass, void **kept) {
    char name[NAME];
    if (pass->count == 0) return CM_OK;
    CM_TRY(cm_cuda_enter(cm_cuda_of(stream)->device));
    CM_TRY(find_captured(stream, pass, name, kept));
    pass_work w = {.stream = stream, .calls = pass, .segments = ((captured *)*kept)->segments};
    return launch_all(&w);
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
