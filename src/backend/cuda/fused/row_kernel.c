/* Fused row-wise kernels, and fused segments of others: when they are one launch, and how that is launched. */
#include "backend/cuda/fused/row_kernel.h"

#include <stdlib.h>

#include "backend/cuda/fused/row_autotune.h"
#include "backend/cuda/fused/row_build.h"
#include "backend/cuda/fused/row_shared.h"
#include "core/arena.h"

struct cm_row_kernel {
    cm_row_kernel_args args;
    bool shares;      /* weights that several steps read are in shared memory */
    uint64_t version; /* of the addresses in it */
};

/* The steps of a whole pass, with the addresses that it has now. */
static bool build(const cm_stream *stream, const cm_call_list *pass, cm_row_kernel *made) {
    const cm_ops_limits limits = cm_ops_limits_of(stream);
    if (!cm_row_build_whole(pass, &limits, &made->args)) return false;
    if (made->shares && !cm_row_share_repeated(&made->args, limits.block_bytes)) return false;
    made->version = pass->version;
    return true;
}

int cm_row_kernel_reach(const cm_call_list *pass) {
    cm_row_kernel_args args;
    return cm_row_build(pass, 0, &args);
}

/* Do others look at its memory? Then what it takes is what training takes. */
static bool is_segment(const cm_call_list *pass) { return !pass->work; }

static cm_status launch(cm_stream *stream, const cm_row_kernel_args *args, bool training) {
    const int tiles = cm_row_tiles(args),
              result = training ? cm_row_training_launch(args, tiles, CM_BLOCK, cm_ops_queue(stream))
                                : cm_row_inference_launch(args, tiles, CM_BLOCK, cm_ops_queue(stream));
    return cm_ops_launched(stream, result, "a fused row-wise kernel");
}

/* What a candidate of its calls launches. */
typedef struct whole {
    cm_stream *stream;
    const cm_row_kernel_args *args;
    bool training; /* its kernel */
} whole;

static cm_status launch_whole(void *context) {
    const whole *w = context;
    return launch(w->stream, w->args, w->training);
}

/* The kernel with weights in the device's memory, and with some in shared memory. */
typedef struct ways {
    cm_row_kernel global, shared;
} ways;

/* *out: the one that is the fastest; NULL: those are the calls by themselves. */
static cm_status measure(cm_stream *stream, const cm_call_list *pass, ways *of, const cm_row_kernel **out) {
    whole global = {stream, &of->global.args, is_segment(pass)}, shared = {stream, &of->shared.args, true};
    const cm_cuda_candidate launch[CM_ROW_WAYS] = {{launch_whole, &global}, {launch_whole, &shared}};
    int winner = 0;
    of->shared.shares = true;
    const int count = is_segment(pass) && build(stream, pass, &of->shared) ? CM_ROW_WAYS : 1;
    CM_TRY(cm_row_autotune_measure(stream, pass, &of->global.args, launch, count, &winner));
    *out = winner == 0 ? NULL : winner == 1 ? &of->global : &of->shared;
    return CM_OK;
}

static cm_status decide(cm_stream *stream, const cm_call_list *pass, ways *of, const cm_row_kernel **out) {
    *out = NULL;
    if (!build(stream, pass, &of->global)) return CM_OK;
    if (pass->infers || pass->is_idle) return measure(stream, pass, of, out);
    if (cm_row_autotune_estimate(&of->global.args, cm_ops_limits_of(stream).multiprocessors)) *out = &of->global;
    return CM_OK;
}

/* Copies what was chosen. */
static cm_status keep(const cm_row_kernel *chosen, cm_row_kernel **out) {
    if (!chosen) return CM_OK;
    CM_TRY(cm_alloc(out, 1, sizeof **out, "a fused row-wise kernel"));
    **out = *chosen;
    return CM_OK;
}

cm_status cm_row_kernel_create(cm_stream *stream, const cm_call_list *pass, cm_row_kernel **out) {
    const cm_row_kernel *chosen;
    ways *of = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&of, 1, sizeof *of, "a fused row-wise kernel"));
    cm_status status = decide(stream, pass, of, &chosen);
    if (status == CM_OK) status = keep(chosen, out);
    free(of);
    return status;
}

cm_status cm_row_kernel_run(cm_stream *stream, const cm_call_list *pass, cm_row_kernel *kernel) {
    if (kernel->version != pass->version && !build(stream, pass, kernel))
        return cm_fail(CM_ERR_STATE, "a fused row-wise kernel: it cannot be made with the new addresses");
    return launch(stream, &kernel->args, is_segment(pass));
}

void cm_row_kernel_free(cm_row_kernel *kernel) { free(kernel); }
