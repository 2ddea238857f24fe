/* Trace ranges on the timeline of NVIDIA's profilers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* of its header, where that is found among those of users */
#include <nvtx3/nvToolsExt.h>
#pragma GCC diagnostic pop
#include <stdlib.h>

#include "backend/cuda/module/cuda.h"
#include "core/trace.h"

static void begin(const char *name) { nvtxRangePushA(name); }
static void end(void) { nvtxRangePop(); }

static const cm_trace_listener ranges = {begin, end};

/* A profiler says by this variable that it is there; without one nothing is called. */
void cm_cuda_nvtx_open(void) {
    if (getenv("NVTX_INJECTION64_PATH")) cm_trace_listen(&ranges);
}
