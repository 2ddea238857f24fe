#include "backend/cuda/ops/ops.h"

#include "backend/cuda/module/cuda.h"

const cm_cuda_op cm_cuda_ops[CM_OP_COUNT] = {
#define CM_OP(name, ...) [CM_OP_##name] = {.run = cm_cuda_##name},
#include "backend/ops.def"
#undef CM_OP
#define PREPARED(name) [CM_OP_##name].prepare = cm_cuda_##name##_prepare
    PREPARED(dense),
    PREPARED(dense_backward),
    PREPARED(conv2d),
    PREPARED(conv2d_backward),
    PREPARED(conv2d_norm),
    PREPARED(lstm),
    PREPARED(lstm_backward),
#undef PREPARED
#define WORKS(name) [CM_OP_##name].workspace = cm_cuda_##name##_workspace
    WORKS(dense),
    WORKS(dense_backward),
    WORKS(conv2d),
    WORKS(conv2d_backward),
    WORKS(conv2d_norm),
    WORKS(layer_norm_backward),
    WORKS(batch_norm),
    WORKS(batch_norm_backward),
    WORKS(batch_norm_inference_backward),
    WORKS(lstm),
    WORKS(lstm_backward),
    WORKS(muon_step),
#undef WORKS
};
