/* Results of the driver as statuses with a line. */
#include <stdio.h>
#include <string.h>

#include "device/cuda/internal.h"

/* The driver's words for a result, "CUDA_ERROR_X, text". */
static void words(const cm_cuda_driver *driver, int result, char *out, size_t size) {
    const char *name = NULL, *text = NULL;
    if (driver->error_name(result, &name) != CM_CU_OK || !name) {
        snprintf(out, size, "CUDA error %d", result);
        return;
    }
    if (driver->error_text(result, &text) != CM_CU_OK || !text) text = "no text";
    snprintf(out, size, "%s, %s", name, text);
}

cm_status cm_cuda_refused(const cm_cuda_driver *driver, int result, const char *what) {
    char said[256];
    words(driver, result, said, sizeof said);
    return cm_fail(CM_ERR_ABSENT, "%s: %s", what, said);
}

/* Results after which the context is of no use, with the cause. */
static const struct {
    int result;
    const char *cause;
} fatal[] = {
    {CM_CU_ECC, "the GPU's memory has an error that it cannot correct"},
    {CM_CU_ILLEGAL_ADDRESS, "a kernel used an address that is not its own"},
    {220, "an NVLink has an error that it cannot correct"},
    {226, "an error ended all that ran on it"},
    {702, "a kernel ran longer than the display allows"},
    {709, "its context was destroyed"},
    {710, "a kernel found that what it demands does not hold"},
    {714, "a kernel's stack is damaged"},
    {715, "a kernel met an instruction that is none"},
    {716, "a kernel used a misaligned address"},
    {717, "a kernel used an address of the wrong kind"},
    {718, "a kernel jumped out of its code"},
    {CM_CU_LAUNCH_FAILED, "a kernel failed"},
    {721, "a kernel left memory of tensor cores taken"},
    {CM_CU_UNKNOWN, "the driver does not say why; the kernel log (dmesg, NVRM Xid) may"},
};

static const char *fatal_cause(int result) {
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (fatal[i].result == result) return fatal[i].cause;
    return NULL;
}

static cm_status fail_lost(const cm_cuda_device *device, int result, const char *what) {
    char said[256];
    words(device->driver, result, said, sizeof said);
    return cm_fail(CM_ERR_DEVICE, "%s: GPU %d (%s) is lost: %s (%s)%s", what, device->ordinal, device->properties.name,
                   fatal_cause(result), said,
                   device->context ? "; start again from the last checkpoint with --resume" : "");
}

cm_status cm_cuda_result(cm_cuda_device *device, int result, const char *what) {
    char said[256];
    int lost = __atomic_load_n(&device->lost, __ATOMIC_RELAXED);
    if (result == CM_CU_OK) return CM_OK;
    if (lost) return fail_lost(device, lost, what);
    if (fatal_cause(result)) {
        __atomic_store_n(&device->lost, result, __ATOMIC_RELAXED);
        return fail_lost(device, result, what);
    }
    if (result == CM_CU_OUT_OF_MEMORY) {
        return cm_fail(CM_ERR_MEMORY, "%s: GPU %d (%s) is out of memory", what, device->ordinal,
                       device->properties.name);
    }
    if (result == CM_CU_NO_BINARY || result == CM_CU_BAD_PTX_VERSION) {
        return cm_fail(CM_ERR_ABSENT,
                       "%s: the module has no code for GPU %d (%s, compute capability %d.%d) and this driver; build it "
                       "with a newer CUDA toolkit or install a newer driver",
                       what, device->ordinal, device->properties.name, device->properties.major,
                       device->properties.minor);
    }
    if (result == CM_CU_UNAVAILABLE) {
        return cm_fail(CM_ERR_DEVICE,
                       "%s: GPU %d (%s) is not to be had: another process holds it alone (nvidia-smi shows compute "
                       "mode and processes), or it fell off the bus",
                       what, device->ordinal, device->properties.name);
    }
    words(device->driver, result, said, sizeof said);
    return cm_fail(CM_ERR_DEVICE, "%s: GPU %d (%s) refused: %s", what, device->ordinal, device->properties.name, said);
}

cm_status cm_cuda_enter(const cm_cuda_device *device) {
    cm_cuda_device *d = (cm_cuda_device *)(uintptr_t)device;
    int lost = __atomic_load_n(&d->lost, __ATOMIC_RELAXED);
    if (lost) return fail_lost(d, lost, "use of the GPU");
    CM_CU_TRY(d, "making the GPU's context current", context_use(d->context));
    return CM_OK;
}
