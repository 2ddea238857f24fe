#include "device/mirror.h"

#include <stdlib.h>

#include "core/arena.h"

static bool is_one(const cm_mirror *mirror) { return mirror->host == mirror->block.base; }

static cm_status alloc_host(cm_mirror *mirror, const char *what) {
    const cm_buffer *block = &mirror->block;
    if (block->device->is_host) {
        mirror->host = block->base;
        return CM_OK;
    }
    if (mirror->is_pinned) return block->device->pin(block->device, block->bytes, what, &mirror->host);
    return cm_alloc(&mirror->host, block->bytes, 1, what);
}

static cm_status create(cm_mirror *mirror, const cm_device *device, size_t bytes, bool is_pinned, const char *what) {
    *mirror = (cm_mirror){.is_pinned = is_pinned};
    CM_TRY(cm_buffer_create(&mirror->block, device, bytes, what));
    cm_status status = alloc_host(mirror, what);
    if (status != CM_OK) cm_mirror_destroy(mirror);
    return status;
}

cm_status cm_mirror_create(cm_mirror *mirror, const cm_device *device, size_t bytes, const char *what) {
    return create(mirror, device, bytes, false, what);
}

cm_status cm_mirror_create_pinned(cm_mirror *mirror, const cm_device *device, size_t bytes, const char *what) {
    return create(mirror, device, bytes, device->pin != NULL, what);
}

void cm_mirror_destroy(cm_mirror *mirror) {
    const cm_device *device = mirror->block.device;
    if (mirror->is_pinned) {
        device->unpin(device, mirror->host, mirror->block.bytes);
    } else if (!is_one(mirror)) {
        free(mirror->host);
    }
    cm_buffer_destroy(&mirror->block);
    *mirror = (cm_mirror){0};
}

cm_status cm_mirror_push(cm_mirror *mirror) {
    return is_one(mirror) ? CM_OK : cm_buffer_write(&mirror->block, 0, mirror->host, mirror->block.bytes);
}

cm_status cm_mirror_fetch(cm_mirror *mirror) {
    return is_one(mirror) ? CM_OK : cm_buffer_read(&mirror->block, 0, mirror->host, mirror->block.bytes);
}
