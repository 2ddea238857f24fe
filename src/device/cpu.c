/* The host's memory as a device. */
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "device/device.h"

static cm_status allocate(const cm_device *device, size_t bytes, const char *what, void **out) {
    (void)device;
    cm_arena arena;
    CM_TRY(cm_arena_create(&arena, bytes, what));
    *out = arena.base;
    return CM_OK;
}

static void release(const cm_device *device, void *block, size_t bytes) {
    (void)device;
    (void)bytes;
    cm_arena arena = {.base = block};
    cm_arena_destroy(&arena);
}

static cm_status copy(const cm_device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    memcpy(to, from, bytes);
    return CM_OK;
}

const cm_device cm_device_cpu = {
    .name = "cpu", .is_host = true, .alloc = allocate, .free = release, .write = copy, .read = copy, .copy = copy};
