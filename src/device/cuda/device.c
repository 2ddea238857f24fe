/* Opening a device; its memory as a cm_device. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/log.h"
#include "core/memory.h"
#include "device/cuda/internal.h"

cm_status cm_cuda_capture_lock(cm_cuda_device *device, const char *what) {
    CM_TRY(cm_cuda_enter(device));
    if (pthread_mutex_lock(&device->capture_lock) == 0) return CM_OK;
    return cm_fail(CM_ERR_STATE, "%s: not while this thread captures a graph", what);
}

void cm_cuda_capture_unlock(cm_cuda_device *device) { pthread_mutex_unlock(&device->capture_lock); }

cm_status cm_cuda_wait(cm_cuda_device *device) {
    static const char what[] = "waiting for the GPU";
    CM_TRY(cm_cuda_capture_lock(device, what));
    int result = device->driver->context_wait();
    cm_cuda_capture_unlock(device);
    return cm_cuda_result(device, result, what);
}

/* ---- memory ---- */

static cm_cuda_device *of(const cm_device *device) { return (cm_cuda_device *)(uintptr_t)device; }

static cm_cu_address address(const void *at) { return (cm_cu_address)(uintptr_t)at; }

static cm_status fail_full(cm_cuda_device *device, size_t bytes, const char *what) {
    char wanted[16], left[16], all[16];
    size_t available = 0, total = 0;
    if (device->driver->memory_info(&available, &total) != CM_CU_OK) total = device->properties.bytes;
    cm_format_bytes((double)bytes, wanted);
    cm_format_bytes((double)available, left);
    cm_format_bytes((double)total, all);
    return cm_fail(CM_ERR_MEMORY, "%s: cannot take %s of GPU memory, %s of %s are free", what, wanted, left, all);
}

static cm_status alloc_zeroed(cm_cuda_device *device, size_t bytes, const char *what, cm_cu_address *block) {
    int result = device->driver->memory_alloc(block, bytes);
    if (result == CM_CU_OUT_OF_MEMORY) return fail_full(device, bytes, what);
    if (result != CM_CU_OK) return cm_cuda_result(device, result, what);
    device->taken += bytes;
    if (device->taken > device->peak) device->peak = device->taken;
    result = device->driver->zero(*block, 0, bytes, device->copies);
    if (result == CM_CU_OK) result = device->driver->stream_wait(device->copies);
    return cm_cuda_result(device, result, what);
}

static void free_block(cm_cuda_device *device, cm_cu_address block, size_t bytes) {
    int result = device->driver->memory_free(block); /* waits for the device */
    if (result != CM_CU_OK && !device->lost) cm_log(CM_WARNING, "GPU memory was not taken back: CUDA error %d", result);
    device->taken -= bytes;
}

static cm_status allocate(const cm_device *base, size_t bytes, const char *what, void **out) {
    cm_cuda_device *device = of(base);
    cm_cu_address block = 0;
    *out = NULL;
    CM_TRY(cm_cuda_capture_lock(device, what));
    cm_status status = alloc_zeroed(device, bytes, what, &block);
    if (status != CM_OK && block) free_block(device, block, bytes);
    cm_cuda_capture_unlock(device);
    if (status == CM_OK) *out = (void *)(uintptr_t)block;
    return status;
}

static void release(const cm_device *base, void *block, size_t bytes) {
    cm_cuda_device *device = of(base);
    if (!block || cm_cuda_capture_lock(device, "giving GPU memory back") != CM_OK) return;
    free_block(device, address(block), bytes);
    cm_cuda_capture_unlock(device);
}

/* Begins a copy that is ordered after all that runs on the device. */
static cm_status begin_copy(cm_cuda_device *device, const char *what) {
    CM_TRY(cm_cuda_capture_lock(device, what));
    int result = device->driver->context_wait();
    if (result == CM_CU_OK) return CM_OK;
    cm_cuda_capture_unlock(device);
    return cm_cuda_result(device, result, what);
}

static cm_status end_copy(cm_cuda_device *device, int result, const char *what) {
    if (result == CM_CU_OK) result = device->driver->stream_wait(device->copies);
    cm_cuda_capture_unlock(device);
    return cm_cuda_result(device, result, what);
}

static cm_status write_block(const cm_device *base, void *to, const void *host, size_t bytes) {
    static const char what[] = "copying to the GPU";
    cm_cuda_device *device = of(base);
    if (bytes == 0) return CM_OK;
    CM_TRY(begin_copy(device, what));
    return end_copy(device, device->driver->write(address(to), host, bytes, device->copies), what);
}

static cm_status read_block(const cm_device *base, void *host, const void *from, size_t bytes) {
    static const char what[] = "copying from the GPU";
    cm_cuda_device *device = of(base);
    if (bytes == 0) return CM_OK;
    CM_TRY(begin_copy(device, what));
    return end_copy(device, device->driver->read(host, address(from), bytes, device->copies), what);
}

static cm_status copy_block(const cm_device *base, void *to, const void *from, size_t bytes) {
    static const char what[] = "copying on the GPU";
    cm_cuda_device *device = of(base);
    if (bytes == 0) return CM_OK;
    CM_TRY(begin_copy(device, what));
    return end_copy(device, device->driver->copy(address(to), address(from), bytes, device->copies), what);
}

static cm_status say_memory(const cm_device *base, cm_device_memory *out) {
    cm_cuda_device *device = of(base);
    CM_TRY(cm_cuda_capture_lock(device, "memory of the GPU"));
    int result = device->driver->memory_info(&out->available, &out->total);
    out->taken = device->taken;
    out->peak = device->peak;
    cm_cuda_capture_unlock(device);
    return cm_cuda_result(device, result, "memory of the GPU");
}

static cm_status pin(const cm_device *base, size_t bytes, const char *what, void **out) {
    cm_cuda_device *device = of(base);
    *out = NULL;
    CM_TRY(cm_cuda_capture_lock(device, what));
    int result = device->driver->pinned_alloc(out, bytes, 0);
    cm_cuda_capture_unlock(device);
    if (result == CM_CU_OUT_OF_MEMORY) {
        char wanted[16];
        cm_format_bytes((double)bytes, wanted);
        return cm_fail(CM_ERR_MEMORY, "%s: %s of the host's memory cannot be pinned", what, wanted);
    }
    CM_TRY(cm_cuda_result(device, result, what));
    memset(*out, 0, bytes);
    return CM_OK;
}

static void unpin(const cm_device *base, void *block, size_t bytes) {
    cm_cuda_device *device = of(base);
    (void)bytes;
    if (!block || cm_cuda_capture_lock(device, "giving pinned memory back") != CM_OK) return;
    device->driver->pinned_free(block);
    cm_cuda_capture_unlock(device);
}

static const cm_device functions = {.name = "cuda",
                                    .alloc = allocate,
                                    .free = release,
                                    .write = write_block,
                                    .read = read_block,
                                    .copy = copy_block,
                                    .memory = say_memory,
                                    .pin = pin,
                                    .unpin = unpin};

/* ---- opening ---- */

static cm_status init_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0) return cm_fail(CM_ERR_MEMORY, "a GPU: no memory for a lock");
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    int failed = pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return failed ? cm_fail(CM_ERR_MEMORY, "a GPU: no memory for a lock") : CM_OK;
}

/* What the process takes of the GPU besides our blocks can only be seen as free memory before and after. */
static cm_status open_context(cm_cuda_device *device) {
    size_t available = 0, total = 0;
    CM_CU_TRY(device, "opening the GPU", context_retain(&device->context, device->handle));
    CM_CU_TRY(device, "opening the GPU", context_use(device->context));
    CM_CU_TRY(device, "opening the GPU", memory_info(&available, &total));
    device->context_bytes = total - available;
    CM_CU_TRY(device, "opening the GPU", stream_priorities(&device->least, &device->greatest));
    CM_CU_TRY(device, "opening the GPU", stream_create(&device->copies, CM_CU_STREAM_NON_BLOCKING, device->least));
    return CM_OK;
}

cm_status cm_cuda_open(const cm_cuda_driver *driver, int ordinal, const cm_cuda_code *code, cm_cuda_device **out) {
    cm_cuda_properties properties;
    cm_cuda_device *device = NULL;
    *out = NULL;
    if (code) CM_TRY(cm_cuda_check_driver(driver, code));
    CM_TRY(cm_cuda_describe(driver, ordinal, &properties));
    if (code) CM_TRY(cm_cuda_check_device(&properties, code));
    CM_TRY(cm_alloc(&device, 1, sizeof *device, "a GPU"));
    device->base = functions;
    device->driver = driver;
    device->properties = properties;
    device->ordinal = ordinal;
    device->log_plans = cm_log_plans();
    cm_status status = init_lock(&device->capture_lock);
    if (status != CM_OK) {
        free(device);
        return status;
    }
    status = cm_cuda_result(device, driver->device_get(&device->handle, ordinal), "opening the GPU");
    if (status == CM_OK) status = open_context(device);
    if (status == CM_OK) {
        *out = device;
    } else {
        cm_cuda_close(device);
    }
    return status;
}

void cm_cuda_close(cm_cuda_device *device) {
    if (!device) return;
    const cm_cuda_driver *driver = device->driver;
    if (device->copies && driver->context_use(device->context) == CM_CU_OK) driver->stream_destroy(device->copies);
    if (device->context) driver->context_release(device->handle);
    pthread_mutex_destroy(&device->capture_lock);
    free(device);
}
