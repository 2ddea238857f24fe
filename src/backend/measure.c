#include "backend/measure.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

typedef struct block {
    uintptr_t at;
    int row;
} block;

typedef struct measure {
    cm_device device; /* first: its functions take &device */
    cm_backend_class kind;
    pthread_mutex_t lock;
    cm_measured rows[CM_MEASURE_ROWS];
    int row_count;
    block *blocks; /* that are out, [count] */
    int count, capacity;
    uintptr_t next;         /* address of the next block */
    size_t pinned, streams; /* bytes */
} measure;

/* stream->state: the bytes that the stream takes for its calls, and each of its branches for those of that. */
typedef struct taken {
    size_t bytes[CM_CALL_BRANCHES + 1];
} taken;

static measure *of(const cm_device *device) { return (measure *)(uintptr_t)device; }

static int find_row(measure *m, const char *what) {
    for (int i = 0; i < m->row_count; i++)
        if (strncmp(m->rows[i].what, what, CM_MEASURE_NAME_BYTES - 1) == 0) return i;
    if (m->row_count == CM_MEASURE_ROWS) return CM_MEASURE_ROWS - 1;
    snprintf(m->rows[m->row_count].what, CM_MEASURE_NAME_BYTES, "%s", what);
    return m->row_count++;
}

static cm_status add_block(measure *m, size_t bytes, const char *what, void **out) {
    if (m->count == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 64;
        block *grown = realloc(m->blocks, (size_t)capacity * sizeof *grown);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "no memory for a plan of memory");
        m->blocks = grown, m->capacity = capacity;
    }
    int row = find_row(m, what);
    m->rows[row].bytes += bytes;
    m->blocks[m->count++] = (block){m->next, row};
    *out = (void *)m->next;
    m->next += cm_align(bytes);
    return CM_OK;
}

static cm_status allocate(const cm_device *device, size_t bytes, const char *what, void **out) {
    measure *m = of(device);
    pthread_mutex_lock(&m->lock);
    cm_status status = add_block(m, bytes, what, out);
    pthread_mutex_unlock(&m->lock);
    return status;
}

static void release(const cm_device *device, void *at, size_t bytes) {
    measure *m = of(device);
    pthread_mutex_lock(&m->lock);
    for (int i = m->count - 1; at && i >= 0; i--) {
        if (m->blocks[i].at != (uintptr_t)at) continue;
        m->rows[m->blocks[i].row].bytes -= bytes;
        m->blocks[i] = m->blocks[--m->count];
        break;
    }
    pthread_mutex_unlock(&m->lock);
}

static cm_status write_nothing(const cm_device *device, void *to, const void *host, size_t bytes) {
    (void)device, (void)to, (void)host, (void)bytes;
    return CM_OK;
}

static cm_status read_zeroes(const cm_device *device, void *host, const void *from, size_t bytes) {
    (void)device, (void)from;
    memset(host, 0, bytes);
    return CM_OK;
}

static cm_status pin(const cm_device *device, size_t bytes, const char *what, void **out) {
    CM_TRY(cm_alloc(out, bytes, 1, what));
    __atomic_fetch_add(&of(device)->pinned, bytes, __ATOMIC_RELAXED);
    return CM_OK;
}

static void unpin(const cm_device *device, void *pinned, size_t bytes) {
    if (!pinned) return;
    __atomic_fetch_sub(&of(device)->pinned, bytes, __ATOMIC_RELAXED);
    free(pinned);
}

static const cm_device functions = {.name = "measure",
                                    .alloc = allocate,
                                    .free = release,
                                    .write = write_nothing,
                                    .read = read_zeroes,
                                    .copy = write_nothing,
                                    .pin = pin,
                                    .unpin = unpin};

static cm_status open_measure(cm_backend *backend) {
    measure *m = NULL;
    CM_TRY(cm_alloc(&m, 1, sizeof *m, "a plan of memory"));
    m->device = functions;
    m->next = (uintptr_t)1 << 62; /* no processor accepts it */
    pthread_mutex_init(&m->lock, NULL);
    backend->state = m;
    backend->device = &m->device;
    for (int type = 0; type < CM_PRODUCT_TYPES; type++) backend->native[type] = true;
    return CM_OK;
}

static void close_measure(cm_backend *backend) {
    measure *m = backend->state;
    pthread_mutex_destroy(&m->lock);
    free(m->blocks);
    free(m);
}

static void count_workspace(measure *m, size_t *most, size_t bytes) {
    if (bytes <= *most) return;
    __atomic_fetch_add(&m->streams, bytes - *most, __ATOMIC_RELAXED);
    *most = bytes;
}

/* One that only copies takes nothing; one whose calls have branches can run them by itself, too. */
static cm_status count_call(cm_stream *stream, cm_call *call) {
    measure *m = stream->backend->state;
    const size_t bytes = m->kind.stream_bytes + (m->kind.workspace ? cm_align(m->kind.workspace(call)) : 0);
    if (!stream->state) CM_TRY(cm_alloc(&stream->state, 1, sizeof(taken), "a plan of memory"));
    taken *t = stream->state;
    count_workspace(m, &t->bytes[0], bytes);
    count_workspace(m, &t->bytes[call->branch], bytes);
    return CM_OK;
}

static void uncount_stream(cm_stream *stream) {
    const taken *t = stream->state;
    measure *m = stream->backend->state;
    for (int i = 0; t && i <= CM_CALL_BRANCHES; i++) __atomic_fetch_sub(&m->streams, t->bytes[i], __ATOMIC_RELAXED);
    free(stream->state);
}

/* A trainer that is opened quantises its weights; what no one reads need not be made. */
static cm_status compute_nothing(cm_stream *stream, const cm_call *call) {
    (void)stream, (void)call;
    return CM_OK;
}

static cm_status write_stream(cm_stream *stream, void *to, const void *host, size_t bytes) {
    return write_nothing(stream->backend->device, to, host, bytes);
}

static cm_status read_stream(cm_stream *stream, void *host, const void *from, size_t bytes) {
    return read_zeroes(stream->backend->device, host, from, bytes);
}

static const cm_backend_class measure_class = {
    .name = "measure",
    .open = open_measure,
    .close = close_measure,
    .stream_close = uncount_stream,
    .prepare = count_call,
    .write = write_stream,
    .read = read_stream,
    .run =
        {
#define CM_OP(name, ...) [CM_OP_##name] = compute_nothing,
#include "backend/ops.def"
#undef CM_OP
        },
};

cm_status cm_measure_open(const cm_backend *of, cm_backend **out) {
    CM_TRY(cm_backend_open_class(&measure_class, out));
    measure *m = (*out)->state;
    m->kind = measure_class;
    m->kind.search_kernels = of->kind->search_kernels;
    m->kind.takes_half = of->kind->takes_half;
    m->kind.takes_int8 = of->kind->takes_int8;
    m->kind.branches = of->kind->branches;
    m->kind.stream_bytes = of->kind->stream_bytes;
    m->kind.workspace = of->kind->workspace;
    (*out)->kind = &m->kind;
    return CM_OK;
}

int cm_measure_rows(const cm_backend *backend, cm_measured rows[CM_MEASURE_ROWS]) {
    const measure *m = backend->state;
    memcpy(rows, m->rows, (size_t)m->row_count * sizeof *rows);
    return m->row_count;
}

size_t cm_measure_pinned(const cm_backend *backend) { return ((const measure *)backend->state)->pinned; }

size_t cm_measure_streams(const cm_backend *backend) { return ((const measure *)backend->state)->streams; }
