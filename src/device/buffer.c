#include "core/arena.h"
#include "device/device.h"

cm_status cm_buffer_create(cm_buffer *buffer, const cm_device *device, size_t bytes, const char *what) {
    void *block;
    size_t size = cm_align(bytes ? bytes : 1);
    *buffer = (cm_buffer){.device = device};
    CM_TRY(device->alloc(device, size, what, &block));
    buffer->base = block;
    buffer->bytes = size;
    return CM_OK;
}

void cm_buffer_destroy(cm_buffer *buffer) {
    if (buffer->device) buffer->device->free(buffer->device, buffer->base, buffer->bytes);
    *buffer = (cm_buffer){0};
}

static cm_status check_range(const cm_buffer *buffer, size_t offset, size_t bytes) {
    if (offset <= buffer->bytes && bytes <= buffer->bytes - offset) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "bytes %zu..%zu of a buffer of %zu bytes", offset, offset + bytes, buffer->bytes);
}

cm_status cm_buffer_write(cm_buffer *buffer, size_t offset, const void *host, size_t bytes) {
    CM_TRY(check_range(buffer, offset, bytes));
    return buffer->device->write(buffer->device, buffer->base + offset, host, bytes);
}

cm_status cm_buffer_read(const cm_buffer *buffer, size_t offset, void *host, size_t bytes) {
    CM_TRY(check_range(buffer, offset, bytes));
    return buffer->device->read(buffer->device, host, buffer->base + offset, bytes);
}

cm_status cm_buffer_copy(cm_buffer *to, const cm_buffer *from) {
    if (to->device != from->device || to->bytes != from->bytes) {
        return cm_fail(CM_ERR_INPUT, "a buffer of %zu bytes on %s cannot be copied into one of %zu bytes on %s",
                       from->bytes, from->device->name, to->bytes, to->device->name);
    }
    return to->device->copy(to->device, to->base, from->base, from->bytes);
}
