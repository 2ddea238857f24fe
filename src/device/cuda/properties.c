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
