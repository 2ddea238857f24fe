#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/symbols.h"
#include "device/cuda/internal.h"

static const char standard_library[] = "libcuda.so.1";

static const cm_symbol functions[] = {
#define CM_CUDA_ROW(name, symbol, parameters) {#symbol, offsetof(cm_cuda_driver, name)},
    CM_CUDA_DRIVER_FUNCTIONS(CM_CUDA_ROW)
#undef CM_CUDA_ROW
};

static cm_status find_functions(cm_cuda_driver *driver, const char *library) {
    const char *missing = cm_symbols_fill(driver->handle, functions, sizeof functions / sizeof *functions, driver);
    if (!missing) return CM_OK;
    return cm_fail(CM_ERR_ABSENT, "the CUDA driver is too old: %s has no %s; install driver 525 or newer", library,
                   missing);
}

static cm_status start(const cm_cuda_driver *driver) {
    int result = driver->init(0);
    if (result == CM_CU_OK) return CM_OK;
    if (result == CM_CU_NO_DEVICE) {
        return cm_fail(CM_ERR_ABSENT, "the CUDA driver sees no GPU: nvidia-smi lists those that are there, "
                                      "CUDA_VISIBLE_DEVICES may hide them, a container must be given them");
    }
    if (result == CM_CU_MISMATCH) {
        return cm_fail(CM_ERR_ABSENT, "the CUDA driver's library and its kernel module are of different versions: "
                                      "restart the machine, or install the library of the running module");
    }
    return cm_cuda_refused(driver, result, "the CUDA driver does not start");
}

cm_status cm_cuda_driver_load(cm_cuda_driver *driver, const char *library) {
    *driver = (cm_cuda_driver){.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    if (!driver->handle) {
        return cm_fail(CM_ERR_ABSENT,
                       "no CUDA driver: %s is not on this machine; install NVIDIA's driver (Debian: nvidia-driver; "
                       "containers get it from the host)",
                       library);
    }
    cm_status status = find_functions(driver, library);
    if (status == CM_OK) status = start(driver);
    if (status != CM_OK) cm_cuda_driver_close(driver);
    return status;
}

cm_status cm_cuda_driver_open(cm_cuda_driver *driver) { return cm_cuda_driver_load(driver, standard_library); }

void cm_cuda_driver_close(cm_cuda_driver *driver) {
    if (driver->handle) dlclose(driver->handle);
    *driver = (cm_cuda_driver){0};
}

static bool has_library(void) {
    void *handle = dlopen(standard_library, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (handle) dlclose(handle);
    return handle != NULL;
}

static bool has_device_file(void) {
    glob_t found;
    const bool is_there = glob("/dev/nvidia*", GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

static bool has_tool(void) {
    char path[PATH_MAX];
    for (const char *at = getenv("PATH"); at && *at; at += strspn(at, ":")) {
        const int length = (int)strcspn(at, ":");
        const int written = snprintf(path, sizeof path, "%.*s/nvidia-smi", length, at);
        if (written < (int)sizeof path && access(path, X_OK) == 0) return true;
        at += length;
    }
    return false;
}

bool cm_cuda_is_expected(void) { return has_device_file() || has_tool() || has_library(); }
