/* Lanes beside a stream. They begin at a mark of it and end in one that it follows: under capture that makes them
 * branches of its graph. */
#include "backend/cuda/module/cuda.h"
#include "backend/cuda/ops/ops.h"

/* A graph of the stream holds addresses of the lane's workspace, too: while one runs the lane's own stream is idle. */
cm_status cm_cuda_beside_reserve(cm_stream *stream, const cm_call *call, size_t bytes) {
    if (call->lane == 0) return CM_OK;
    cm_cuda_stream *s = cm_cuda_stream_of(stream);
    cm_cuda_beside *beside = &s->beside[call->lane - 1];
    if (!beside->stream) CM_TRY(cm_stream_open(stream->backend, &beside->stream));
    const cm_cuda_lane *lane = &cm_cuda_stream_of(beside->stream)->lane;
    const uint64_t before = lane->generation;
    CM_TRY(cm_cuda_lane_wait(&s->lane));
    cm_status status = cm_ops_reserve(beside->stream, bytes);
    s->lane.generation += lane->generation - before;
    return status;
}

cm_status cm_cuda_beside_enter(cm_stream *stream, const cm_call *call, cm_stream **out) {
    *out = stream;
    if (call->lane == 0) return CM_OK;
    cm_cuda_stream *s = cm_cuda_stream_of(stream);
    *out = s->beside[call->lane - 1].stream;
    CM_TRY(cm_cuda_mark_set(&s->turn, &s->lane));
    return cm_cuda_lane_follow(&cm_cuda_stream_of(*out)->lane, s->turn);
}

cm_status cm_cuda_beside_join(cm_stream *stream, unsigned lanes) {
    cm_cuda_stream *s = cm_cuda_stream_of(stream);
    for (int i = 0; i < CM_CALL_LANES; i++) {
        if (!(lanes >> (i + 1) & 1u)) continue;
        cm_cuda_beside *beside = &s->beside[i];
        CM_TRY(cm_cuda_mark_set(&beside->end, &cm_cuda_stream_of(beside->stream)->lane));
        CM_TRY(cm_cuda_lane_follow(&s->lane, beside->end));
    }
    return CM_OK;
}

void cm_cuda_beside_close(cm_stream *stream) {
    cm_cuda_stream *s = cm_cuda_stream_of(stream);
    for (int i = 0; i < CM_CALL_LANES; i++) {
        cm_cuda_mark_destroy(s->beside[i].end);
        cm_stream_close(s->beside[i].stream);
    }
    cm_cuda_mark_destroy(s->turn);
}
