#include "backend/cuda/ops/ops.h"

#include "backend/cuda/module/cuda.h"

const cm_cuda_op cm_cuda_ops[CM_OP_COUNT] = {
#define CM_OP(name, ...) [CM_OP_##name] = {.run = cm_cuda_##name},
#include "backend/ops.def"
#undef CM_OP
#define PREPARE(name)   [CM_OP_##name].prepare = cm_cuda_##name##_prepare,
#define WORKSPACE(name) [CM_OP_##name].workspace = cm_cuda_##name##_workspace,
    CM_CUDA_PLANNED(PREPARE) CM_CUDA_PLANNED(WORKSPACE) CM_CUDA_WORKING(WORKSPACE)};
