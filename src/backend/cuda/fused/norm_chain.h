/* What norm_convs.c has of either direction: which calls are a chain of norms and convolutions, and its launches. */
#ifndef CM_BACKEND_CUDA_FUSED_NORM_CHAIN_H
#define CM_BACKEND_CUDA_FUSED_NORM_CHAIN_H

#include "backend/call_key.h"
#include "backend/cuda/fused/norm_convs.h"
#include "backend/cuda/fused/tower_args.h"
#include "backend/cuda/ops/batch_norms.h"
#include "backend/cuda/ops/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Links are the calls that a chain launches: norms, of even numbers, and convolutions. */
typedef struct cm_norm_way {
    const char *name; /* for the autotuner's key: "norms and convolutions" */
    /* Does a call begin a chain? Is it the link after a norm, or after a convolution? May it stand between links, to be
     * run after the chain? NULL: none may. */
    bool (*is_norm)(const cm_call *call);
    bool (*is_convolution_after)(const cm_call *call, const cm_call *norm);
    bool (*is_norm_after)(const cm_call *call, const cm_call *convolution, const cm_call *norm);
    bool (*may_wait)(const cm_call *call);
    /* Takes what the chain leaves to the caller out of a link, and gives it in *rest; false: there is nothing. NULL:
     * there never is. */
    bool (*take_rest)(cm_call *link, cm_call *rest);
    const cm_tensor *(*x_of)(const cm_call *norm);
    /* What a link leaves for the next one. */
    const cm_tensor *(*made_by)(const cm_call *link, bool is_norm);
    bool (*has_kernel)(int channels, cm_dtype type);
    size_t (*chunks_of)(const cm_call *norm); /* parts of the first norm's sums */
    /* What the launches need besides the calls' tensors, in chain->turned; NULL: nothing. */
    cm_status (*acquire)(cm_stream *stream, cm_norm_convs *chain, const cm_call *calls);
    /* The first `links` of the chain's, of which `calls` has all. */
    cm_status (*launch)(cm_stream *stream, const cm_norm_convs *chain, const cm_call *calls, int links);
    /* Numbers in all that the first `links` read and do not make, or add to. */
    cm_status (*fill)(cm_stream *stream, const cm_norm_convs *chain, const cm_call *calls, int links);
    /* How many of the first links are compared with their calls when a chain is created: few, as calls and chain add in
     * other orders, which grows from norm to norm, but one of each kind that residual blocks have. */
    int compared;
    /* How a link differs from others of its shape, for the key: 0 to 15. */
    int (*kind_of)(const cm_call *link, bool is_norm);
} cm_norm_way;

extern const cm_norm_way cm_norm_forward, cm_norm_backward;

struct cm_norm_convs {
    const cm_norm_way *way;
    cm_tower_args tower; /* without addresses */
    int first;           /* of the pass's calls */
    int links;
    int *link; /* [links] their places from the first on; owned */
    int channels;
    cm_dtype type;
    void *weights;
    cm_weight_copy **turned; /* [links] of convolutions, acquired; NULL: none; the array is owned */
};

static inline const cm_call *cm_norm_link(const cm_norm_convs *chain, const cm_call *calls, int i) {
    return &calls[chain->link[i]];
}

/* Of 16 bits, and where the kernels can read it. */
bool cm_norm_is_half(const cm_tensor *t, cm_dtype type);
bool cm_norm_is_same(const cm_tensor *a, const cm_tensor *b);
/* Is nothing of it written where other blocks have yet to read? A block reads a place before it writes there. */
bool cm_norm_is_apart(const cm_tensor *written, const cm_tensor *read);
/* [O, 3, 3, O] */
bool cm_norm_is_square(const cm_tensor *weight);

int cm_norm_blocks(const cm_norm_convs *chain);

/* Memory of a run, borrowed: the parts of chunks or of blocks, and the vectors of one norm, which nothing reads once
 * the convolution after it has run. */
typedef struct cm_norm_memory {
    float *partial, *vectors;
} cm_norm_memory;
cm_norm_memory cm_norm_borrow(cm_stream *stream, const cm_norm_convs *chain, const cm_call *norm);

/* Chunks of a norm's sums that are the blocks of the convolution in front of it. */
void cm_norm_chunks_of_blocks(const cm_norm_convs *chain, cm_chunks *chunks);

/* Writes the numbers of a check to t, if it is there. */
cm_status cm_norm_fill(cm_stream *stream, const cm_tensor *t) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
