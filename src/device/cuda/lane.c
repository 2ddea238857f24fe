/* Lanes: a stream, its workspace, its pinned staging memory; events in their order. */
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "device/cuda/internal.h"

enum { STAGE_BYTES = 1 << 20 };

static cm_cu_address address(const void *at) { return (cm_cu_address)(uintptr_t)at; }

cm_status cm_cuda_lane_open(cm_cuda_device *device, cm_cuda_lane *lane) {
    *lane = (cm_cuda_lane){.device = device, .stage_bytes = STAGE_BYTES};
    CM_TRY(cm_cuda_enter(device));
    CM_CU_TRY(device, "opening a stream", stream_create(&lane->stream, CM_CU_STREAM_NON_BLOCKING));
    return CM_OK;
}

void cm_cuda_lane_close(cm_cuda_lane *lane) {
    if (!lane->device) return;
    cm_cuda_device *device = lane->device;
    const cm_cuda_driver *driver = device->driver;
    if (driver->context_use(device->context) == CM_CU_OK && lane->stream) driver->stream_wait(lane->stream);
    for (int i = 0; i < CM_CUDA_STAGES; i++) {
        if (lane->staged[i]) driver->event_destroy(lane->staged[i]);
        device->base.unpin(&device->base, lane->stage[i], lane->stage_bytes);
    }
    if (lane->stream) driver->stream_destroy(lane->stream);
    device->base.give(&device->base, lane->workspace, lane->workspace_bytes);
    *lane = (cm_cuda_lane){0};
}

static cm_status take_workspace(cm_cuda_lane *lane, size_t bytes) {
    const cm_device *device = &lane->device->base;
    CM_TRY(device->take(device, bytes, "workspace of a stream", &lane->workspace));
    lane->workspace_bytes = bytes;
    return CM_OK;
}

/* The old one makes room for the new one; where that is too much there is one of the old size again. */
cm_status cm_cuda_lane_reserve(cm_cuda_lane *lane, size_t bytes) {
    const cm_device *device = &lane->device->base;
    const size_t before = lane->workspace_bytes;
    if (bytes <= before) return CM_OK;
    CM_TRY(cm_cuda_lane_wait(lane)); /* what runs still uses it */
    device->give(device, lane->workspace, before);
    lane->workspace = NULL, lane->workspace_bytes = 0;
    lane->generation++;
    cm_status status = take_workspace(lane, cm_align(bytes));
    if (status == CM_OK || before == 0) return status;
    return take_workspace(lane, before) == CM_OK ? status : CM_ERR_MEMORY;
}

/* The next stage, taken if it is not there yet, free of the copy that last used it. */
static cm_status next_stage(cm_cuda_lane *lane, int *out) {
    static const char what[] = "pinned memory of a stream";
    cm_cuda_device *device = lane->device;
    int i = lane->next_stage;
    CM_TRY(cm_cuda_enter(device));
    if (!lane->stage[i]) {
        void *block = NULL;
        CM_TRY(device->base.pin(&device->base, lane->stage_bytes, what, &block));
        lane->stage[i] = block;
    }
    if (!lane->staged[i]) CM_CU_TRY(device, what, event_create(&lane->staged[i], CM_CU_EVENT_NO_TIMING));
    CM_CU_TRY(device, what, event_wait(lane->staged[i])); /* one that was never recorded is done */
    lane->next_stage = (i + 1) % CM_CUDA_STAGES;
    *out = i;
    return CM_OK;
}

cm_status cm_cuda_lane_write(cm_cuda_lane *lane, void *to, const void *host, size_t bytes) {
    static const char what[] = "copying to the GPU";
    for (size_t at = 0; at < bytes;) {
        int i = 0;
        size_t part = bytes - at < lane->stage_bytes ? bytes - at : lane->stage_bytes;
        CM_TRY(next_stage(lane, &i));
        memcpy(lane->stage[i], (const char *)host + at, part);
        CM_CU_TRY(lane->device, what, write(address(to) + at, lane->stage[i], part, lane->stream));
        CM_CU_TRY(lane->device, what, event_record(lane->staged[i], lane->stream));
        at += part;
    }
    return CM_OK;
}

cm_status cm_cuda_lane_read(cm_cuda_lane *lane, void *host, const void *from, size_t bytes) {
    static const char what[] = "copying from the GPU";
    for (size_t at = 0; at < bytes;) {
        int i = 0;
        size_t part = bytes - at < lane->stage_bytes ? bytes - at : lane->stage_bytes;
        CM_TRY(next_stage(lane, &i));
        CM_CU_TRY(lane->device, what, read(lane->stage[i], address(from) + at, part, lane->stream));
        CM_CU_TRY(lane->device, what, stream_wait(lane->stream));
        memcpy((char *)host + at, lane->stage[i], part);
        at += part;
    }
    return CM_OK;
}

/* Waits for streams, and for stages, spin, which is the driver's way: whoever searches waits for microseconds, in every
 * step. */
cm_status cm_cuda_lane_wait(cm_cuda_lane *lane) {
    CM_TRY(cm_cuda_enter(lane->device));
    CM_CU_TRY(lane->device, "waiting for the GPU", stream_wait(lane->stream));
    return CM_OK;
}

cm_status cm_cuda_lane_push(cm_cuda_lane *lane, void *to, const void *pinned, size_t bytes) {
    CM_TRY(cm_cuda_enter(lane->device));
    CM_CU_TRY(lane->device, "copying to the GPU", write(address(to), pinned, bytes, lane->stream));
    return CM_OK;
}

cm_status cm_cuda_lane_pull(cm_cuda_lane *lane, void *pinned, const void *from, size_t bytes) {
    CM_TRY(cm_cuda_enter(lane->device));
    CM_CU_TRY(lane->device, "copying from the GPU", read(pinned, address(from), bytes, lane->stream));
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

static cm_status take_event(cm_cuda_device *device, cm_cuda_event **out) {
    cm_cuda_event *made = NULL;
    CM_TRY(cm_alloc(&made, 1, sizeof *made, "an event of the GPU"));
    made->device = device;
    cm_status status = open_event(made);
    if (status == CM_OK) *out = made;
    if (status != CM_OK) cm_cuda_event_destroy(made);
    return status;
}

cm_status cm_cuda_event_record(cm_cuda_event **event, cm_cuda_lane *lane) {
    CM_TRY(cm_cuda_enter(lane->device));
    if (!*event) CM_TRY(take_event(lane->device, event));
    CM_CU_TRY(lane->device, "recording an event", event_record((*event)->event, lane->stream));
    return CM_OK;
}

cm_status cm_cuda_lane_wait_event(cm_cuda_lane *lane, const cm_cuda_event *event) {
    CM_TRY(cm_cuda_enter(lane->device));
    CM_CU_TRY(lane->device, "ordering two streams", stream_wait_event(lane->stream, event->event, 0));
    return CM_OK;
}

cm_status cm_cuda_event_synchronize(const cm_cuda_event *event) {
    CM_TRY(cm_cuda_enter(event->device));
    CM_CU_TRY(event->device, "waiting for the GPU", event_wait(event->event));
    return CM_OK;
}
