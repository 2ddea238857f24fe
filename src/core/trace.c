#include "core/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/file.h"

enum { CHUNK = 1 << 14, CHUNKS = 1 << 8, DEEPEST = 64 };

typedef struct range {
    const char *name;
    double begin, end; /* seconds */
    int thread;
} range;

static struct {
    atomic_bool recording;
    _Atomic(const cm_trace_listener *) listener; /* borrowed; NULL: none */
    atomic_int threads;                          /* numbers given out */
    atomic_uint_least64_t used;                  /* ranges begun to be kept, the dropped ones included */
    _Atomic(range *) chunk[CHUNKS];
    atomic_int epoch; /* of this recording, so that stacks of an earlier one are not used */
    double start;
    char *path;
} trace;

static _Thread_local struct {
    int epoch, thread, depth;
    const char *name[DEEPEST];
    double begin[DEEPEST];
} stack;

/* The ranges that the thread is in, recorded or not. */
static _Thread_local struct {
    int depth;
    const char *name[DEEPEST];
} open_ranges;

static bool is_recording(void) { return atomic_load_explicit(&trace.recording, memory_order_relaxed); }
static const cm_trace_listener *listener(void) { return atomic_load_explicit(&trace.listener, memory_order_acquire); }

void cm_trace_listen(const cm_trace_listener *told) { atomic_store(&trace.listener, told); }

bool cm_trace_on(void) { return is_recording() || listener(); }

const char *cm_trace_range(void) {
    const int depth = open_ranges.depth;
    return depth > 0 && depth <= DEEPEST ? open_ranges.name[depth - 1] : NULL;
}

void cm_trace_begin(const char *name) {
    if (open_ranges.depth < DEEPEST) open_ranges.name[open_ranges.depth] = name;
    open_ranges.depth++;
    if (listener()) listener()->begin(name);
    if (!is_recording()) return;
    int epoch = atomic_load(&trace.epoch);
    if (stack.epoch != epoch) {
        stack.epoch = epoch, stack.depth = 0;
        stack.thread = atomic_fetch_add(&trace.threads, 1);
    }
    if (stack.depth < DEEPEST) {
        stack.name[stack.depth] = name;
        stack.begin[stack.depth] = cm_clock_seconds();
    }
    stack.depth++;
}

/* The chunk with number `i`, taken when it is first asked for; NULL if there is no memory. */
static range *chunk_at(uint64_t i) {
    range *chunk = atomic_load(&trace.chunk[i]), *fresh;
    if (chunk) return chunk;
    fresh = calloc(CHUNK, sizeof *fresh);
    if (!fresh || atomic_compare_exchange_strong(&trace.chunk[i], &chunk, fresh)) return fresh;
    free(fresh); /* another thread was faster */
    return chunk;
}

void cm_trace_end(void) {
    if (open_ranges.depth > 0) open_ranges.depth--;
    if (listener()) listener()->end();
    if (!is_recording()) return;
    if (stack.epoch != atomic_load(&trace.epoch) || stack.depth == 0) return; /* begun before the recording */
    if (--stack.depth >= DEEPEST) return;
    uint64_t at = atomic_fetch_add(&trace.used, 1);
    range *chunk = at < (uint64_t)CHUNK * CHUNKS ? chunk_at(at / CHUNK) : NULL;
    if (!chunk) return;
    chunk[at % CHUNK] = (range){stack.name[stack.depth], stack.begin[stack.depth], cm_clock_seconds(), stack.thread};
}

void cm_trace_join(const char *name) {
    if (listener()) listener()->begin(name);
}

void cm_trace_return(void) {
    if (listener()) listener()->end();
}

cm_status cm_trace_open(const char *path) {
    if (is_recording()) return cm_fail(CM_ERR_STATE, "%s: a trace is already being recorded", path);
    cm_file_writer *probe;
    CM_TRY(cm_file_begin(path, &probe));
    cm_file_abandon(probe);
    trace.path = strdup(path);
    if (!trace.path) return cm_fail(CM_ERR_MEMORY, "%s: no memory", path);
    trace.start = cm_clock_seconds();
    atomic_store(&trace.used, 0);
    atomic_store(&trace.threads, 0);
    atomic_fetch_add(&trace.epoch, 1);
    atomic_store(&trace.recording, true);
    return CM_OK;
}

static cm_status write_range(cm_file_writer *writer, const range *r, bool first) {
    char text[256], name[128];
    size_t n = 0;
    for (const char *c = r->name; *c && n + 1 < sizeof name; c++)
        if ((unsigned char)*c >= ' ' && *c != '"' && *c != '\\') name[n++] = *c;
    name[n] = '\0';
    int size =
        snprintf(text, sizeof text, "%s{\"name\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%ld,\"tid\":%d}",
                 first ? "\n" : ",\n", name, (r->begin - trace.start) * 1e6, (r->end - r->begin) * 1e6, (long)getpid(),
                 r->thread);
    return cm_file_append(writer, text, (size_t)size);
}

static cm_status write_trace(cm_file_writer *writer, uint64_t used, uint64_t *kept) {
    const char *head = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    CM_TRY(cm_file_append(writer, head, strlen(head)));
    *kept = 0;
    for (uint64_t i = 0; i < used && i < (uint64_t)CHUNK * CHUNKS; i++) {
        const range *chunk = atomic_load(&trace.chunk[i / CHUNK]);
        if (chunk && chunk[i % CHUNK].name) CM_TRY(write_range(writer, &chunk[i % CHUNK], (*kept)++ == 0));
    }
    char tail[96];
    int size =
        snprintf(tail, sizeof tail, "\n],\"otherData\":{\"dropped\":%llu}}\n", (unsigned long long)(used - *kept));
    return cm_file_append(writer, tail, (size_t)size);
}

cm_status cm_trace_close(void) {
    if (!is_recording()) return CM_OK;
    atomic_store(&trace.recording, false);
    cm_file_writer *writer = NULL;
    uint64_t kept;
    cm_status status = cm_file_begin(trace.path, &writer);
    if (status == CM_OK) status = write_trace(writer, atomic_load(&trace.used), &kept);
    if (status == CM_OK) {
        status = cm_file_commit(writer);
    } else {
        cm_file_abandon(writer);
    }
    for (int i = 0; i < CHUNKS; i++) free(atomic_exchange(&trace.chunk[i], NULL));
    free(trace.path);
    trace.path = NULL;
    return status;
}
