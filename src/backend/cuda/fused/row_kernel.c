/* Fused row-wise kernels, and fused segments of others: when they are one launch, and how that is launched. */
#include "backend/cuda/fused/row_kernel.h"

#include <stdlib.h>

#include "backend/cuda/fused/row_autotune.h"
#include "backend/cuda/fused/row_build.h"
#include "core/arena.h"

struct cm_row_kernel {
    cm_row_kernel_args args;
    uint64_t version; /* of the addresses in it */
};

/* The steps of a whole pass, with the addresses that it has now. */
static bool build(const cm_stream *stream, const cm_call_list *pass, cm_row_kernel *made) {
    const cm_ops_limits limits = cm_ops_limits_of(stream);
    if (!cm_row_build_whole(pass, &limits, &made->args)) return false;
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

static cm_status is_worth_it(cm_stream *stream, const cm_call_list *pass, const cm_row_kernel_args *args, bool *out) {
    whole all = {stream, args, is_segment(pass)};
    const cm_cuda_candidate candidate = {launch_whole, &all};
    if (pass->infers) return cm_row_autotune_measure(stream, pass, args, &candidate, out);
    *out = cm_row_autotune_estimate(args, cm_ops_limits_of(stream).multiprocessors);
    return CM_OK;
}

static cm_status decide(cm_stream *stream, const cm_call_list *pass, cm_row_kernel *made, bool *out) {
    *out = build(stream, pass, made);
    return *out ? is_worth_it(stream, pass, &made->args, out) : CM_OK;
}

cm_status cm_row_kernel_create(cm_stream *stream, const cm_call_list *pass, cm_row_kernel **out) {
    cm_row_kernel *made = NULL;
    bool fuses = false;
    *out = NULL;
    CM_TRY(cm_alloc(&made, 1, sizeof *made, "a fused row-wise kernel"));
    cm_status status = decide(stream, pass, made, &fuses);
    if (status == CM_OK && fuses) {
        *out = made;
    } else {
        free(made);
    }
    return status;
}

cm_status cm_row_kernel_run(cm_stream *stream, const cm_call_list *pass, cm_row_kernel *kernel) {
    if (kernel->version != pass->version && !build(stream, pass, kernel))
        return cm_fail(CM_ERR_STATE, "a fused row-wise kernel: it cannot be made with the new addresses");
    return launch(stream, &kernel->args, is_segment(pass));
}

void cm_row_kernel_free(cm_row_kernel *kernel) { free(kernel); }
