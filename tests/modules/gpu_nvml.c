/* In the place of libnvidia-ml.so.1: the GPU of support/far.h at place 0, which is used as the samples say.
 * CUMIND_TEST_NVML says what else it is to do: "stopped" (it does not start), "stranger" (it knows another GPU), "part"
 * (it does not say how much is used). */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/nvml.h"

#define CM_NVML_DECLARE(result, name, symbol, parameters) result symbol parameters;
CM_NVML_FUNCTIONS(CM_NVML_DECLARE)

static bool is_asked(const char *what) {
    const char *asked = getenv("CUMIND_TEST_NVML");
    return asked && strcmp(asked, what) == 0;
}

int nvmlInit_v2(void) { return is_asked("stopped") ? 9 : CM_NVML_OK; }
int nvmlShutdown(void) { return CM_NVML_OK; }

const char *nvmlErrorString(int result) {
    return result == 9 ? "Driver Not Loaded" : result == CM_NVML_NOT_FOUND ? "Not Found" : "Not Supported";
}

int nvmlDeviceGetHandleByUUID(const char *id, cm_nvml_device *out) {
    *out = NULL;
    if (is_asked("stranger")) return CM_NVML_NOT_FOUND;
    return strcmp(id, "GPU-01010101-0101-0101-0101-010101010101") == 0 ? CM_NVML_OK : CM_NVML_NOT_FOUND;
}

int nvmlDeviceGetUtilizationRates(cm_nvml_device device, cm_nvml_rates *out) {
    (void)device;
    *out = (cm_nvml_rates){.gpu = 10};
    return is_asked("part") ? CM_NVML_NOT_SUPPORTED : CM_NVML_OK;
}

int nvmlDeviceGetSamples(cm_nvml_device device, int which, unsigned long long after, int *type, unsigned *count,
                         cm_nvml_sample *out) {
    (void)device;
    if (which != CM_NVML_USE_SAMPLES || *count < 2 || is_asked("part")) return CM_NVML_NOT_SUPPORTED;
    *type = CM_NVML_UNSIGNED, *count = 2;
    for (unsigned i = 0; i < 2; i++)
        out[i] = (cm_nvml_sample){.stamp = after + 1 + i, .value = {.number = 50 + 20 * i}};
    return CM_NVML_OK;
}

int nvmlDeviceGetMemoryInfo(cm_nvml_device device, cm_nvml_bytes *out) {
    (void)device;
    *out = (cm_nvml_bytes){.total = 4000, .unused = 1000, .used = 3000};
    return CM_NVML_OK;
}
