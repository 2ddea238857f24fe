#include "backend/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/check.h"
#include "backend/classes.h"
#include "core/arena.h"

const cm_backend_class *const *cm_backend_classes(void) {
    static const cm_backend_class *const classes[] = {&cm_cuda_class, &cm_cpu_class, &cm_ref_class, NULL};
    return classes;
}

static const cm_call_listener *listening; /* borrowed; NULL: none */

void cm_backend_listen(const cm_call_listener *listener) { listening = listener; }

static cm_status open_class(const cm_backend_class *kind, int place, cm_backend **out) {
    *out = NULL;
    cm_backend *backend = NULL;
    CM_TRY(cm_alloc(&backend, 1, sizeof *backend, "backend"));
    backend->kind = kind;
    backend->native[CM_F32] = true;
    backend->device = kind->device;
    backend->place = place;
    backend->listener = listening;
    backend->is_eager = backend->is_unfused = backend->is_in_order = listening != NULL;
    cm_status status = kind->open ? kind->open(backend) : CM_OK;
    if (status != CM_OK) {
        free(backend);
        return status;
    }
    *out = backend;
    return CM_OK;
}

cm_status cm_backend_open_class(const cm_backend_class *kind, cm_backend **out) { return open_class(kind, 0, out); }

static cm_status open_first(int place, cm_backend **out) {
    cm_status status = CM_ERR_ABSENT;
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind && status != CM_OK; kind++)
        status = open_class(*kind, place, out);
    return status;
}

cm_status cm_backend_open_at(const char *name, int place, cm_backend **out) {
    *out = NULL;
    if (strcmp(name, "auto") == 0) return open_first(place, out);
    char known[128] = "auto";
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind; kind++) {
        if (strcmp(name, (*kind)->name) == 0) return open_class(*kind, place, out);
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %s", (*kind)->name);
    }
    return cm_fail(CM_ERR_INPUT, "unknown backend \"%s\"; known: %s", name, known);
}

cm_status cm_backend_open(const char *name, cm_backend **out) { return cm_backend_open_at(name, 0, out); }

void cm_backend_close(cm_backend *backend) {
    if (!backend) return;
    if (backend->kind->close) backend->kind->close(backend);
    free(backend);
}

const char *cm_backend_describe(const cm_backend *backend) {
    return backend->kind->describe ? backend->kind->describe(backend) : backend->kind->name;
}

size_t cm_backend_held(const cm_backend *backend) { return backend->kind->held ? backend->kind->held(backend) : 0; }

cm_status cm_backend_repack(cm_backend *backend, const void *block, size_t bytes, cm_pool *pool) {
    return backend->kind->repack ? backend->kind->repack(backend, block, bytes, pool) : CM_OK;
}

cm_status cm_stream_capture(cm_stream *stream, const char *name, cm_stream_work work, void *context, void **graph) {
    const cm_backend *backend = stream->backend;
    if (backend->is_eager) return work(context, cm_stream_queue(stream));
    return backend->kind->capture(stream, name, work, context, graph);
}

cm_status cm_stream_repack(cm_stream *stream, const void *block, size_t bytes, cm_pool *pool) {
    if (stream->backend->kind->renew) return stream->backend->kind->renew(stream, block, bytes);
    return cm_backend_repack(stream->backend, block, bytes, pool);
}

/* ---- streams and calls ---- */

cm_status cm_stream_open(cm_backend *backend, cm_stream **out) { return cm_stream_open_as(backend, false, out); }

cm_status cm_stream_open_as(cm_backend *backend, bool is_urgent, cm_stream **out) {
    *out = NULL;
    cm_stream *stream = NULL;
    CM_TRY(cm_alloc(&stream, 1, sizeof *stream, "stream"));
    stream->backend = backend;
    stream->is_urgent = is_urgent;
    cm_status status = backend->kind->stream_open ? backend->kind->stream_open(stream) : CM_OK;
    if (status != CM_OK) {
        free(stream);
        return status;
    }
    *out = stream;
    return CM_OK;
}

void cm_stream_close(cm_stream *stream) {
    if (!stream) return;
    if (stream->backend->kind->stream_close) stream->backend->kind->stream_close(stream);
    free(stream);
}

void *cm_stream_queue(const cm_stream *stream) {
    return stream->backend->kind->queue ? stream->backend->kind->queue(stream) : NULL;
}

typedef cm_status (*copier)(cm_stream *stream, void *to, const void *from, size_t bytes);

static cm_status copy_bytes(cm_stream *stream, copier copies, void *to, const void *from, size_t bytes) {
    if (to == from || bytes == 0) return CM_OK;
    if (copies) return copies(stream, to, from, bytes);
    memcpy(to, from, bytes);
    return CM_OK;
}

cm_status cm_stream_write(cm_stream *stream, void *to, const void *host, size_t bytes) {
    return copy_bytes(stream, stream->backend->kind->write, to, host, bytes);
}

cm_status cm_stream_read(cm_stream *stream, void *host, const void *from, size_t bytes) {
    return copy_bytes(stream, stream->backend->kind->read, host, from, bytes);
}

cm_status cm_stream_push(cm_stream *stream, void *to, const void *pinned, size_t bytes) {
    return copy_bytes(stream, stream->backend->kind->push, to, pinned, bytes);
}

cm_status cm_stream_pull(cm_stream *stream, void *pinned, const void *from, size_t bytes) {
    return copy_bytes(stream, stream->backend->kind->pull, pinned, from, bytes);
}

cm_status cm_event_record(cm_event *event, cm_stream *stream) {
    event->kind = stream->backend->kind;
    return event->kind->event_record ? event->kind->event_record(stream, &event->state) : CM_OK;
}

cm_status cm_stream_wait(cm_stream *stream, const cm_event *event) {
    return event->state ? event->kind->event_wait(stream, event->state) : CM_OK;
}

cm_status cm_event_synchronize(const cm_event *event) {
    return event->state ? event->kind->event_synchronize(event->state) : CM_OK;
}

void cm_event_destroy(cm_event *event) {
    if (event->state) event->kind->event_destroy(event->state);
    *event = (cm_event){0};
}

cm_status cm_call_prepare(cm_stream *stream, cm_call *call) {
    CM_TRY(cm_call_check(call));
    const cm_backend_class *kind = stream->backend->kind;
    if (cm_call_is_half(call) && !kind->takes_half)
        return cm_fail(CM_ERR_INPUT, "%s: backend %s takes no tensors of 16 bits", cm_op_name(call->op), kind->name);
    if (!kind->run[call->op])
        return cm_fail(CM_ERR_ABSENT, "backend %s has no operation %s", kind->name, cm_op_name(call->op));
    return kind->prepare ? kind->prepare(stream, call) : CM_OK;
}

cm_status cm_call_eager(cm_stream *stream, cm_call *call) {
    CM_TRY(cm_call_prepare(stream, call));
    return cm_call_run(stream, call);
}
