#include "device/mirror.h"

#include <stdlib.h>

#include "core/arena.h"

static bool is_one(const cm_mirror *mirror) { return mirror->host == mirror->block.base; }

cm_status cm_mirror_create(cm_mirror *mirror, const cm_device *device, size_t bytes, const char *what) {
    *mirror = (cm_mirror){0};
    CM_TRY(cm_buffer_create(&mirror->block, device, bytes, what));
    if (device->is_host) {
        mirror->host = mirror->block.base;
        return CM_OK;
    }
    cm_status status = cm_alloc(&mirror->host, mirror->block.bytes, 1, what);
    if (status != CM_OK) cm_mirror_destroy(mirror);
    return status;
}

void cm_mirror_destroy(cm_mirror *mirror) {
    if (!is_one(mirror)) free(mirror->host);
    cm_buffer_destroy(&mirror->block);
    *mirror = (cm_mirror){0};
}

cm_status cm_mirror_push(cm_mirror *mirror) {
    return is_one(mirror) ? CM_OK : cm_buffer_write(&mirror->block, 0, mirror->host, mirror->block.bytes);
}

cm_status cm_mirror_fetch(cm_mirror *mirror) {
    return is_one(mirror) ? CM_OK : cm_buffer_read(&mirror->block, 0, mirror->host, mirror->block.bytes);
}
