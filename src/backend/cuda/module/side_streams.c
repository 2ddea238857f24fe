/* Side streams of a stream. They begin at an event of it and end in one that it waits for: under capture that makes
 * them branches of its graph. */
#include "backend/cuda/module/cuda.h"
#include "backend/cuda/ops/ops.h"

/* A graph of the stream holds addresses of the side stream's workspace, too: while one runs the side stream is idle. */
cm_status cm_cuda_side_stream_reserve(cm_stream *stream, const cm_call *call, size_t bytes) {
    if (call->branch == 0) return CM_OK;
    cm_cuda_stream_state *s = cm_cuda_stream_of(stream);
    cm_cuda_side_stream *side = &s->side[call->branch - 1];
    if (!side->stream) CM_TRY(cm_stream_open_as(stream->backend, stream->is_urgent, &side->stream));
    const cm_cuda_stream *own = &cm_cuda_stream_of(side->stream)->own;
    const uint64_t before = own->generation;
    CM_TRY(cm_cuda_stream_synchronize(&s->own));
    cm_status status = cm_ops_reserve(side->stream, bytes);
    s->own.generation += own->generation - before;
    return status;
}

cm_status cm_cuda_side_stream_enter(cm_stream *stream, const cm_call *call, cm_stream **out) {
    *out = stream;
    if (call->branch == 0) return CM_OK;
    cm_cuda_stream_state *s = cm_cuda_stream_of(stream);
    *out = s->side[call->branch - 1].stream;
    CM_TRY(cm_cuda_event_record(&s->turn, &s->own));
    return cm_cuda_stream_wait_event(&cm_cuda_stream_of(*out)->own, s->turn);
}

cm_status cm_cuda_side_stream_join(cm_stream *stream, unsigned branches) {
    cm_cuda_stream_state *s = cm_cuda_stream_of(stream);
    for (int i = 0; i < CM_CALL_BRANCHES; i++) {
        if (!(branches >> (i + 1) & 1u)) continue;
        cm_cuda_side_stream *side = &s->side[i];
        CM_TRY(cm_cuda_event_record(&side->end, &cm_cuda_stream_of(side->stream)->own));
        CM_TRY(cm_cuda_stream_wait_event(&s->own, side->end));
    }
    return CM_OK;
}

void cm_cuda_side_stream_close(cm_stream *stream) {
    cm_cuda_stream_state *s = cm_cuda_stream_of(stream);
    for (int i = 0; i < CM_CALL_BRANCHES; i++) {
        cm_cuda_event_destroy(s->side[i].end);
        cm_stream_close(s->side[i].stream);
    }
    cm_cuda_event_destroy(s->turn);
}
