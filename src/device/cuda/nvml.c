#include "device/cuda/nvml.h"

#include <dlfcn.h>
#include <stddef.h>

#include "core/symbols.h"

static const cm_symbol functions[] = {
#define CM_NVML_ROW(result, name, symbol, parameters) {#symbol, offsetof(cm_nvml, name)},
    CM_NVML_FUNCTIONS(CM_NVML_ROW)
#undef CM_NVML_ROW
};

static cm_status find_functions(cm_nvml *nvml, const char *library) {
    const char *missing = cm_symbols_fill(nvml->handle, functions, sizeof functions / sizeof *functions, nvml);
    if (!missing) return CM_OK;
    return cm_fail(CM_ERR_ABSENT, "NVML is too old: %s has no %s; install driver 525 or newer", library, missing);
}

static cm_status start(const cm_nvml *nvml) {
    const cm_nvml_result result = nvml->init();
    if (result == CM_NVML_OK) return CM_OK;
    return cm_fail(CM_ERR_ABSENT, "NVML does not start: %s", nvml->result_text(result));
}

static void let_go(cm_nvml *nvml) {
    dlclose(nvml->handle);
    *nvml = (cm_nvml){0};
}

cm_status cm_nvml_load(cm_nvml *nvml, const char *library) {
    *nvml = (cm_nvml){.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    if (!nvml->handle)
        return cm_fail(CM_ERR_ABSENT,
                       "no NVML: %s is not on this machine; it comes with NVIDIA's driver (Debian: libnvidia-ml1; "
                       "containers get it with NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                       library);
    cm_status status = find_functions(nvml, library);
    if (status == CM_OK) status = start(nvml);
    if (status != CM_OK) let_go(nvml);
    return status;
}

cm_status cm_nvml_open(cm_nvml *nvml) { return cm_nvml_load(nvml, "libnvidia-ml.so.1"); }

void cm_nvml_close(cm_nvml *nvml) {
    if (!nvml->handle) return;
    (void)nvml->shutdown();
    let_go(nvml);
}
