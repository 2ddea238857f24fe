#include "device/cuda/gpu_use.h"

#include <math.h>
#include <stdio.h>

enum { ID_TEXT = 48, MOST_SAMPLES = 512, PERCENT = 100 };

/* As NVML writes an id: KIND-01234567-89ab-cdef-0123-456789abcdef. */
static void format_id(const char *kind, const cm_cu_id id, char out[ID_TEXT]) {
    int used = snprintf(out, ID_TEXT, "%s", kind);
    for (int i = 0; i < CM_CU_ID_BYTES; i++) {
        const char *gap = i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += snprintf(out + used, (size_t)(ID_TEXT - used), "%s%02x", gap, id[i]);
    }
}

cm_status cm_gpu_use_find(const cm_nvml *nvml, const cm_cu_id id, cm_gpu_use *out) {
    static const char *const kinds[] = {"MIG", "GPU"}; /* CUDA has the id of the part where there are parts */
    char text[ID_TEXT];
    cm_nvml_result result = CM_NVML_NOT_FOUND;
    *out = (cm_gpu_use){.nvml = nvml};
    for (int i = 0; i < 2 && result != CM_NVML_OK; i++) {
        format_id(kinds[i], id, text);
        result = nvml->find(text, &out->device);
    }
    if (result == CM_NVML_OK) return CM_OK;
    return cm_fail(CM_ERR_ABSENT, "NVML does not know %s: %s", text, nvml->result_text(result));
}

static cm_status refuse(const cm_gpu_use *gpu, cm_nvml_result result, const char *what) {
    const char *cause =
        result == CM_NVML_NOT_SUPPORTED ? ", as with parts of GPUs (MIG) and with some virtual ones" : "";
    return cm_fail(CM_ERR_ABSENT, "NVML does not say %s: %s%s", what, gpu->nvml->result_text(result), cause);
}

/* The mean of the percentages since the last time; NAN: there are none. */
static double mean_of_samples(cm_gpu_use *gpu) {
    cm_nvml_sample samples[MOST_SAMPLES];
    const unsigned long long before = gpu->seen;
    unsigned count = MOST_SAMPLES;
    int known = 0;
    double sum = 0.0;
    cm_nvml_type type;
    if (gpu->nvml->samples(gpu->device, CM_NVML_USE_SAMPLES, before, &type, &count, samples) != CM_NVML_OK ||
        type != CM_NVML_UNSIGNED)
        return (double)NAN;
    for (unsigned i = 0; i < count && i < MOST_SAMPLES; i++) {
        const cm_nvml_sample *s = &samples[i];
        if (s->stamp <= before || s->value.number > PERCENT) continue;
        if (s->stamp > gpu->seen) gpu->seen = s->stamp;
        sum += s->value.number, known++;
    }
    return known > 0 ? sum / known : (double)NAN;
}

cm_status cm_gpu_use_kernels(cm_gpu_use *gpu, double *share) {
    cm_nvml_rates rates;
    *share = mean_of_samples(gpu) / PERCENT;
    if (isfinite(*share)) return CM_OK;
    const cm_nvml_result result = gpu->nvml->rates(gpu->device, &rates);
    if (result != CM_NVML_OK) return refuse(gpu, result, "how much of the time kernels run");
    *share = (double)rates.gpu / PERCENT;
    return CM_OK;
}

cm_status cm_gpu_use_memory(cm_gpu_use *gpu, double *share) {
    cm_nvml_bytes bytes = {0};
    *share = (double)NAN;
    const cm_nvml_result result = gpu->nvml->memory(gpu->device, &bytes);
    if (result != CM_NVML_OK) return refuse(gpu, result, "how much memory is taken");
    *share = (double)bytes.used / (double)bytes.total;
    return CM_OK;
}
