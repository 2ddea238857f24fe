/* A list of calls with its fused segments: neighbouring calls that all work row by row, on as many rows, are one launch
 * each (row_kernel.h), where that is worth it, and so are those of a residual tower (towers.h); norms and convolutions
 * that train in turn are fewer launches than calls (norm_convs.h). All that they write stays where the calls write it,
 * but for activations between the layers of a tower, which no other call sees. A whole pass may be one segment. Then
 * what its calls leave for each other is in shared memory alone. */
#ifndef CM_BACKEND_CUDA_FUSED_SEGMENTS_H
#define CM_BACKEND_CUDA_FUSED_SEGMENTS_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a list as the hooks `fuse` and `run_list` of a class get it. whole: one segment of all calls, which infer and have
 * no branches; *out, the caller's, stays NULL where that cannot be or would take longer. Not whole: segments of parts,
 * which may be none. */
typedef struct cm_fused_segments cm_fused_segments;
cm_status cm_fused_segments_create(cm_stream *stream, const cm_call_list *pass, bool whole,
                                   cm_fused_segments **out) CM_MUST_USE;
void cm_fused_segments_free(cm_fused_segments *all);       /* NULL is allowed */
int cm_fused_segments_count(const cm_fused_segments *all); /* launches, or chains, for more than one call; of NULL 0 */
bool cm_fused_segments_is_whole(const cm_fused_segments *all); /* one launch stands for all calls; NULL: false */

/* How calls of a list run by themselves. */
typedef struct cm_segment_runner {
    cm_status (*run)(cm_stream *stream, const cm_call *call, void *context);
    /* *out is the stream of the call's branch, ordered after all that `stream` was given. */
    cm_status (*enter)(cm_stream *stream, const cm_call *call, void *context, cm_stream **out);
    void *context;
} cm_segment_runner;

/* Runs the calls in their order, each segment as its launch and each other call by `runner`. A call that has a branch
 * (cm_call.branch) comes after the segment that it lies in: nothing in there that has none touches what it writes or
 * writes what it reads. What a chain of norms and convolutions leaves runs after it, too. Sums over rows of calls with
 * branches are taken out of them and made together (ops/sums.h), on the last one's branch. `all` may be NULL: then
 * every call is run by itself. */
cm_status cm_fused_segments_run(const cm_fused_segments *all, cm_stream *stream, const cm_call_list *pass,
                                const cm_segment_runner *runner) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
