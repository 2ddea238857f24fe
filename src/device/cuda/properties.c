/* What GPUs there are, and whether code can run on them. */
#include <stdio.h>
#include <stdlib.h>

#include "device/cuda/internal.h"

#define ASK(what, call)                                                                                                \
    do {                                                                                                               \
        int result_ = driver->call;                                                                                    \
        if (result_ != CM_CU_OK) return cm_cuda_refused(driver, result_, what);                                        \
    } while (0)

cm_status cm_cuda_count(const cm_cuda_driver *driver, int *count) {
    *count = 0;
    ASK("counting the GPUs", device_count(count));
    if (*count > 0) return CM_OK;
    return cm_fail(CM_ERR_ABSENT, "the CUDA driver sees no GPU; CUDA_VISIBLE_DEVICES may hide them");
}

cm_status cm_cuda_describe(const cm_cuda_driver *driver, int ordinal, cm_cuda_properties *out) {
    cm_cu_device device;
    int count;
    *out = (cm_cuda_properties){0};
    CM_TRY(cm_cuda_count(driver, &count));
    if (ordinal < 0 || ordinal >= count)
        return cm_fail(CM_ERR_ABSENT, "there is no GPU %d: this machine shows %d, from 0 on", ordinal, count);
    ASK("a GPU", device_get(&device, ordinal));
    ASK("a GPU's name", device_name(out->name, (int)sizeof out->name, device));
    ASK("which GPU it is", device_id(&out->id, device));
    ASK("a GPU's compute capability", device_attribute(&out->major, CM_CU_MAJOR, device));
    ASK("a GPU's compute capability", device_attribute(&out->minor, CM_CU_MINOR, device));
    ASK("a GPU's multiprocessors", device_attribute(&out->multiprocessors, CM_CU_MULTIPROCESSORS, device));
    ASK("a GPU's memory", device_memory(&out->bytes, device));
    return CM_OK;
}

/* Operations of a multiprocessor's tensor cores per clock, where no card of the architecture has half of them. */
static const struct {
    int major, minor, flop;
} multiprocessors[] = {{8, 0, 2048}, {9, 0, 4096}, {10, 0, 8192}, {10, 3, 8192}};

/* 0: the driver does not say. */
static double attribute_of(const cm_cuda_driver *driver, cm_cu_attribute attribute, cm_cu_device device) {
    int value = 0;
    return driver->device_attribute(&value, attribute, device) == CM_CU_OK ? value : 0.0;
}

cm_cuda_limits cm_cuda_limits_of(const cm_cuda_driver *driver, const cm_cuda_properties *properties, int ordinal) {
    cm_cuda_limits limits = {0.0, 0.0};
    cm_cu_device device;
    if (driver->device_get(&device, ordinal) != CM_CU_OK) return limits;
    const double clock = 1e3 * attribute_of(driver, CM_CU_CLOCK, device);
    const double memory_clock = 1e3 * attribute_of(driver, CM_CU_MEMORY_CLOCK, device);
    limits.bytes = 2.0 * memory_clock * attribute_of(driver, CM_CU_MEMORY_BITS, device) / 8.0; /* two each clock */
    for (size_t i = 0; i < sizeof multiprocessors / sizeof *multiprocessors; i++)
        if (multiprocessors[i].major == properties->major && multiprocessors[i].minor == properties->minor)
            limits.flop = clock * properties->multiprocessors * multiprocessors[i].flop;
    return limits;
}

cm_status cm_cuda_check_driver(const cm_cuda_driver *driver, const cm_cuda_code *code) {
    int version = 0;
    ASK("the driver's version", driver_version(&version));
    if (version / 1000 >= code->toolkit / 1000) return CM_OK; /* minor versions of one major are compatible */
    return cm_fail(
        CM_ERR_ABSENT,
        "the CUDA driver is too old: it knows CUDA %d.%d, the module needs %d.%d; install a newer driver, or "
        "build the module with a CUDA %d toolkit",
        version / 1000, version % 1000 / 10, code->toolkit / 1000, code->toolkit % 1000 / 10, version / 1000);
}

enum { OLDEST = 75 }; /* compute capability, times ten, that any module has code for */

cm_status cm_cuda_check_device(const cm_cuda_properties *properties, const cm_cuda_code *code) {
    const int have = 10 * properties->major + properties->minor;
    if (code->ptx && have >= code->ptx) return CM_OK;
    for (const char *at = code->archs; *at;) {
        char *end;
        int arch = (int)strtol(at, &end, 10);
        if (end == at) break;
        /* machine code runs on its own major version, from its minor version on */
        if (arch / 10 == properties->major && arch <= have) return CM_OK;
        at = *end == ' ' ? end + 1 : end;
    }
    if (have < OLDEST) {
        return cm_fail(CM_ERR_ABSENT, "%s has compute capability %d.%d, too low: cumind needs %d.%d or higher",
                       properties->name, properties->major, properties->minor, OLDEST / 10, OLDEST % 10);
    }
    return cm_fail(CM_ERR_ABSENT,
                   "%s has compute capability %d.%d, for which the module has no code (it has %s); build it with "
                   "`make cuda` on this machine, where nvcc knows sm_%d",
                   properties->name, properties->major, properties->minor, code->archs, have);
}
