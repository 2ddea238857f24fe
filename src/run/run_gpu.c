/* How much the GPUs are used while they train: numbers of rows, as NVML knows them. What it does not say is left out,
 * which is said once; the run goes on. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/clock.h"
#include "run/ranks.h"
#include "run/run_internal.h"

/* One per number. Of several ranks the row has that of the GPU which is worth a look: the lowest, or the highest. */
static const struct {
    const char *metric;
    size_t offset; /* in a row */
    cm_status (*read)(cm_gpu_use *gpu, double *share);
    bool is_highest;
} numbers[CM_RUN_GPU_NUMBERS] = {
    {"gpu_use", offsetof(cm_metrics, gpu_use), cm_gpu_use_kernels, false},
    {"gpu_memory", offsetof(cm_metrics, gpu_memory), cm_gpu_use_memory, true},
};

static bool is_cuda(const cm_run *run) { return strcmp(run->session->backend->kind->name, "cuda") == 0; }

static void read_numbers(cm_run *run) {
    cm_run_gpu *gpu = &run->gpu;
    for (int i = 0; i < CM_RUN_GPU_NUMBERS; i++) {
        if (gpu->is_refused[i] || numbers[i].read(&gpu->use, &gpu->share[i]) == CM_OK) continue;
        gpu->is_refused[i] = true;
        cm_progress_say(run->progress, "GPU use   %s is left out: %s", numbers[i].metric, cm_error_message());
    }
}

/* The first numbers are of what was before: they only tell whether there are any. */
static void open_use(cm_run *run) {
    cm_run_gpu *gpu = &run->gpu;
    cm_status status = cm_nvml_open(&gpu->nvml);
    if (status == CM_OK) status = cm_gpu_use_find(&gpu->nvml, run->session->backend->device_id, &gpu->use);
    gpu->is_open = status == CM_OK;
    if (gpu->is_open) {
        read_numbers(run);
    } else {
        cm_progress_say(run->progress, "GPU use   is not shown: %s", cm_error_message());
    }
}

void cm_run_open_gpu(cm_run *run) {
    run->gpu.read_at = -HUGE_VAL;
    for (int i = 0; i < CM_RUN_GPU_NUMBERS; i++) run->gpu.share[i] = (double)NAN;
    if (is_cuda(run) && !run->is_passing) open_use(run);
}

void cm_run_close_gpu(cm_run *run) { cm_nvml_close(&run->gpu.nvml); }

cm_status cm_run_tell_gpu(cm_run *run) {
    cm_run_gpu *gpu = &run->gpu;
    const double now = cm_clock_seconds();
    double shares[CM_RUN_GPU_NUMBERS];
    if (!is_cuda(run) || run->is_passing) return CM_OK;
    if (gpu->is_open && now - gpu->read_at >= 1.0) {
        read_numbers(run);
        gpu->read_at = now;
    }
    for (int i = 0; i < CM_RUN_GPU_NUMBERS; i++) shares[i] = numbers[i].is_highest ? -gpu->share[i] : gpu->share[i];
    CM_TRY(cm_ranks_lowest(run->session->comm, shares, CM_RUN_GPU_NUMBERS));
    for (int i = 0; i < CM_RUN_GPU_NUMBERS; i++) *(double *)((char *)&run->row + numbers[i].offset) = fabs(shares[i]);
    return CM_OK;
}
