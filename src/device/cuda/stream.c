/* Streams: a CUDA stream, its workspace, its pinned staging memory; events in their order. */
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "device/cuda/internal.h"

enum { STAGE_BYTES = 1 << 20 };

static cm_cu_address address(const void *at) { return (cm_cu_address)(uintptr_t)at; }

cm_status cm_cuda_stream_open(cm_cuda_device *device, bool is_urgent, cm_cuda_stream *stream) {
    const int priority = is_urgent ? device->greatest : device->least;
    *stream = (cm_cuda_stream){.device = device, .stage_bytes = STAGE_BYTES};
    CM_TRY(cm_cuda_enter(device));
    CM_CU_TRY(device, "opening a stream", stream_create(&stream->handle, CM_CU_STREAM_NON_BLOCKING, priority));
    return CM_OK;
}

void cm_cuda_stream_close(cm_cuda_stream *stream) {
    if (!stream->device) return;
    cm_cuda_device *device = stream->device;
    const cm_cuda_driver *driver = device->driver;
    if (driver->context_use(device->context) == CM_CU_OK && stream->handle) driver->stream_wait(stream->handle);
    for (int i = 0; i < CM_CUDA_STAGES; i++) {
        if (stream->staged[i]) driver->event_destroy(stream->staged[i]);
        device->base.unpin(&device->base, stream->stage[i], stream->stage_bytes);
    }
    if (stream->handle) driver->stream_destroy(stream->handle);
    device->base.free(&device->base, stream->workspace, stream->workspace_bytes);
    *stream = (cm_cuda_stream){0};
}

static cm_status alloc_workspace(cm_cuda_stream *stream, size_t bytes) {
    const cm_device *device = &stream->device->base;
    CM_TRY(device->alloc(device, bytes, "workspace of a stream", &stream->workspace));
    stream->workspace_bytes = bytes;
    return CM_OK;
}

/* The old one makes space for the new one; where that is too much there is one of the old size again. */
cm_status cm_cuda_stream_reserve(cm_cuda_stream *stream, size_t bytes) {
    const cm_device *device = &stream->device->base;
    const size_t before = stream->workspace_bytes;
    if (bytes <= before) return CM_OK;
    CM_TRY(cm_cuda_stream_synchronize(stream)); /* what runs still uses it */
    device->free(device, stream->workspace, before);
    stream->workspace = NULL, stream->workspace_bytes = 0;
    stream->generation++;
    cm_status status = alloc_workspace(stream, cm_align(bytes));
    if (status == CM_OK || before == 0) return status;
    return alloc_workspace(stream, before) == CM_OK ? status : CM_ERR_MEMORY;
}

/* The next stage, taken if it is not there yet, free of the copy that last used it. */
static cm_status next_stage(cm_cuda_stream *stream, int *out) {
    static const char what[] = "pinned memory of a stream";
    cm_cuda_device *device = stream->device;
    int i = stream->next_stage;
    CM_TRY(cm_cuda_enter(device));
    if (!stream->stage[i]) {
        void *block = NULL;
        CM_TRY(device->base.pin(&device->base, stream->stage_bytes, what, &block));
        stream->stage[i] = block;
    }
    if (!stream->staged[i]) CM_CU_TRY(device, what, event_create(&stream->staged[i], CM_CU_EVENT_NO_TIMING));
    CM_CU_TRY(device, what, event_wait(stream->staged[i])); /* one that was never recorded is done */
    stream->next_stage = (i + 1) % CM_CUDA_STAGES;
    *out = i;
    return CM_OK;
}

cm_status cm_cuda_stream_write(cm_cuda_stream *stream, void *to, const void *host, size_t bytes) {
    static const char what[] = "copying to the GPU";
    for (size_t at = 0; at < bytes;) {
        int i = 0;
        size_t part = bytes - at < stream->stage_bytes ? bytes - at : stream->stage_bytes;
        CM_TRY(next_stage(stream, &i));
        memcpy(stream->stage[i], (const char *)host + at, part);
        CM_CU_TRY(stream->device, what, write(address(to) + at, stream->stage[i], part, stream->handle));
        CM_CU_TRY(stream->device, what, event_record(stream->staged[i], stream->handle));
        at += part;
    }
    return CM_OK;
}

cm_status cm_cuda_stream_read(cm_cuda_stream *stream, void *host, const void *from, size_t bytes) {
    static const char what[] = "copying from the GPU";
    for (size_t at = 0; at < bytes;) {
        int i = 0;
        size_t part = bytes - at < stream->stage_bytes ? bytes - at : stream->stage_bytes;
        CM_TRY(next_stage(stream, &i));
        CM_CU_TRY(stream->device, what, read(stream->stage[i], address(from) + at, part, stream->handle));
        CM_CU_TRY(stream->device, what, stream_wait(stream->handle));
        memcpy((char *)host + at, stream->stage[i], part);
        at += part;
    }
    return CM_OK;
}

/* Waits for streams, and for stages, spin, which is the driver's way: whoever searches waits for microseconds, in every
 * step. */
cm_status cm_cuda_stream_synchronize(cm_cuda_stream *stream) {
    CM_TRY(cm_cuda_enter(stream->device));
    CM_CU_TRY(stream->device, "waiting for the GPU", stream_wait(stream->handle));
    return CM_OK;
}

cm_status cm_cuda_stream_push(cm_cuda_stream *stream, void *to, const void *pinned, size_t bytes) {
    CM_TRY(cm_cuda_enter(stream->device));
    CM_CU_TRY(stream->device, "copying to the GPU", write(address(to), pinned, bytes, stream->handle));
    return CM_OK;
}

cm_status cm_cuda_stream_pull(cm_cuda_stream *stream, void *pinned, const void *from, size_t bytes) {
    CM_TRY(cm_cuda_enter(stream->device));
    CM_CU_TRY(stream->device, "copying from the GPU", read(pinned, address(from), bytes, stream->handle));
    return CM_OK;
}

/* ---- events ---- */

struct cm_cuda_event {
    cm_cuda_device *device; /* borrowed */
    cm_cu_event event;
};

/* The driver keeps the event until it has happened. */
void cm_cuda_event_destroy(cm_cuda_event *event) {
    if (!event) return;
    const cm_cuda_device *device = event->device;
    if (event->event && device->driver->context_use(device->context) == CM_CU_OK)
        device->driver->event_destroy(event->event);
    free(event);
}

/* Hosts wait for events where an update's results come back and where a batch has been sent: long, and with threads
 * that draw batches and act. So they sleep and leave them the processor. To be woken up takes longer than to have spun,
 * and in that time the GPU has the next update's gradient to work on. */
static cm_status open_event(cm_cuda_event *event) {
    const unsigned flags = CM_CU_EVENT_BLOCKING | CM_CU_EVENT_NO_TIMING;
    CM_CU_TRY(event->device, "an event of the GPU", event_create(&event->event, flags));
    return CM_OK;
}

static cm_status create_event(cm_cuda_device *device, cm_cuda_event **out) {
    cm_cuda_event *made = NULL;
    CM_TRY(cm_alloc(&made, 1, sizeof *made, "an event of the GPU"));
    made->device = device;
    cm_status status = open_event(made);
    if (status == CM_OK) *out = made;
    if (status != CM_OK) cm_cuda_event_destroy(made);
    return status;
}

cm_status cm_cuda_event_record(cm_cuda_event **event, cm_cuda_stream *stream) {
    CM_TRY(cm_cuda_enter(stream->device));
    if (!*event) CM_TRY(create_event(stream->device, event));
    CM_CU_TRY(stream->device, "recording an event", event_record((*event)->event, stream->handle));
    return CM_OK;
}

cm_status cm_cuda_stream_wait_event(cm_cuda_stream *stream, const cm_cuda_event *event) {
    CM_TRY(cm_cuda_enter(stream->device));
    CM_CU_TRY(stream->device, "ordering two streams", stream_wait_event(stream->handle, event->event, 0));
    return CM_OK;
}

cm_status cm_cuda_event_synchronize(const cm_cuda_event *event) {
    CM_TRY(cm_cuda_enter(event->device));
    CM_CU_TRY(event->device, "waiting for the GPU", event_wait(event->event));
    return CM_OK;
}
