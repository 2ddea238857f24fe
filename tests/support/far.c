#include "support/far.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "support/tree_cpu.h"

/* ---- the device: blocks of the host under addresses that no processor accepts ---- */

static const uintptr_t far_bit = (uintptr_t)1 << 62;
cm_far cm_far_state = {.total = SIZE_MAX, .devices = 1};

static void *far_of(const void *near) { return (void *)((uintptr_t)near ^ far_bit); }
static void *near_of(const void *far) { return far ? (void *)((uintptr_t)far ^ far_bit) : NULL; }
void *cm_far_near(const void *address) { return (void *)((uintptr_t)address & ~far_bit); }

static cm_status allocate(const cm_device *device, size_t bytes, const char *what, void **out) {
    void *block;
    (void)device;
    CM_TRY(cm_device_cpu.alloc(&cm_device_cpu, bytes, what, &block));
    size_t taken = __atomic_add_fetch(&cm_far_state.taken, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&cm_far_state.blocks, 1, __ATOMIC_RELAXED);
    if (taken > cm_far_state.peak) cm_far_state.peak = taken;
    *out = far_of(block);
    return CM_OK;
}

static cm_status finish_all(void);

static void release(const cm_device *device, void *block, size_t bytes) {
    (void)device;
    if (!block || finish_all() != CM_OK) return;
    __atomic_fetch_sub(&cm_far_state.taken, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&cm_far_state.blocks, 1, __ATOMIC_RELAXED);
    cm_device_cpu.free(&cm_device_cpu, near_of(block), bytes);
}

/* As a GPU's: after all that was given to any stream. */
static cm_status copy_far(const cm_device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    __atomic_fetch_add(&cm_far_state.stops, 1, __ATOMIC_RELAXED);
    CM_TRY(finish_all());
    memcpy(cm_far_near(to), cm_far_near(from), bytes);
    return CM_OK;
}

static cm_status pin(const cm_device *device, size_t bytes, const char *what, void **out) {
    __atomic_fetch_add(&cm_far_state.pinned, bytes, __ATOMIC_RELAXED);
    return cm_device_cpu.alloc(device, bytes, what, out);
}

static void unpin(const cm_device *device, void *block, size_t bytes) {
    if (!block || finish_all() != CM_OK) return;
    __atomic_fetch_sub(&cm_far_state.pinned, bytes, __ATOMIC_RELAXED);
    cm_device_cpu.free(device, block, bytes);
}

static cm_status say_memory(const cm_device *device, cm_device_memory *out) {
    (void)device;
    *out = (cm_device_memory){.total = cm_far_state.total,
                              .available = cm_far_state.total - cm_far_state.taken,
                              .taken = cm_far_state.taken,
                              .peak = cm_far_state.peak};
    return CM_OK;
}

const cm_device cm_far_device = {.name = "far",
                                 .alloc = allocate,
                                 .free = release,
                                 .write = copy_far,
                                 .read = copy_far,
                                 .copy = copy_far,
                                 .memory = say_memory,
                                 .pin = pin,
                                 .unpin = unpin};

/* ---- streams: what they are given is done at once or, if is_late, when somebody waits for it ---- */

typedef struct queue queue;

/* A copy, or the wait for a point of another queue, or else a call. */
typedef struct work {
    cm_call call;
    void *to;
    const void *from;
    size_t bytes;
    void *kept; /* the bytes, where they need not stay where they were; owned */
    queue *behind;
    size_t until;
} work;

struct queue {
    work *works; /* [capacity], from number `first` on */
    size_t first, given, done, capacity;
    bool is_prompt;  /* while something is recorded */
    void *workspace; /* of its calls, of the device; no test looks at it */
    size_t workspace_bytes;
    queue *side[CM_CALL_BRANCHES]; /* NULL before a call of it is prepared */
    queue *next;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static queue *queues;

static cm_status run_near(const cm_call *call) {
    cm_call near = *call;
    for (int i = 0; i < CM_CALL_TENSORS; i++) near.t[i].data = near_of(near.t[i].data);
    return cm_ref_class.run[call->op](NULL, &near);
}

/* Does what a queue was given up to there. */
static cm_status reach(queue *l, size_t until) {
    while (l->done < until) {
        work w = l->works[l->done++ - l->first];
        if (w.behind) CM_TRY(reach(w.behind, w.until));
        if (w.to) memcpy(w.to, w.from, w.bytes);
        if (!w.behind && !w.to) CM_TRY(run_near(&w.call));
        free(w.kept);
    }
    return CM_OK;
}

static cm_status finish_queue(queue *l) {
    pthread_mutex_lock(&turn);
    cm_status status = reach(l, l->given);
    pthread_mutex_unlock(&turn);
    return status;
}

static cm_status finish_all(void) {
    cm_status status = CM_OK;
    pthread_mutex_lock(&turn);
    for (queue *l = queues; l && status == CM_OK; l = l->next) status = reach(l, l->given);
    pthread_mutex_unlock(&turn);
    return status;
}

static cm_status give_queue(queue *l, const work *w) {
    pthread_mutex_lock(&turn);
    if (l->done == l->given) l->first = l->given;
    if (l->given - l->first == l->capacity) {
        l->capacity = 2 * l->capacity + 16;
        l->works = realloc(l->works, l->capacity * sizeof *l->works);
    }
    l->works[l->given++ - l->first] = *w;
    cm_status status = cm_far_state.is_late && !l->is_prompt ? CM_OK : reach(l, l->given);
    pthread_mutex_unlock(&turn);
    return status;
}

static queue *open_queue(void) {
    queue *l = calloc(1, sizeof *l);
    pthread_mutex_lock(&turn);
    l->next = queues;
    queues = l;
    pthread_mutex_unlock(&turn);
    return l;
}

static cm_status stream_open(cm_stream *stream) {
    stream->state = open_queue();
    return CM_OK;
}

static void close_queue(queue *l) {
    queue **at = &queues;
    if (!l) return;
    for (int i = 0; i < CM_CALL_BRANCHES; i++) close_queue(l->side[i]);
    pthread_mutex_lock(&turn);
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    pthread_mutex_unlock(&turn);
    release(&cm_far_device, l->workspace, l->workspace_bytes);
    free(l->works);
    free(l);
}

static void stream_close(cm_stream *stream) {
    (void)finish_all(); /* others may be after it */
    close_queue(stream->state);
}

/* As much as the call's first tensor. */
static size_t workspace(const cm_call *call) { return call->t[0].data ? cm_tensor_bytes(&call->t[0]) : 0; }

static cm_status reserve(queue *l, size_t bytes) {
    if (bytes <= l->workspace_bytes) return CM_OK;
    release(&cm_far_device, l->workspace, l->workspace_bytes);
    l->workspace_bytes = bytes;
    return allocate(&cm_far_device, bytes, "workspace of a stream", &l->workspace);
}

static cm_status prepare(cm_stream *stream, cm_call *call) {
    queue *l = stream->state;
    const size_t bytes = cm_align(workspace(call));
    CM_TRY(reserve(l, bytes));
    if (call->branch == 0) return CM_OK;
    queue **side = &l->side[call->branch - 1];
    if (!*side) *side = open_queue();
    return reserve(*side, bytes);
}

static void note(char event) {
    size_t at = __atomic_fetch_add(&cm_far_state.noted, 1, __ATOMIC_RELAXED);
    if (at < CM_FAR_NOTES) cm_far_state.notes[at] = event;
}

static cm_status copy_in_order(cm_stream *stream, void *to, const void *from, size_t bytes) {
    __atomic_fetch_add(&cm_far_state.copies, 1, __ATOMIC_RELAXED);
    return give_queue(stream->state, &(work){.to = to, .from = from, .bytes = bytes});
}

static cm_status write_stream(cm_stream *stream, void *to, const void *host, size_t bytes) {
    void *kept = malloc(bytes);
    memcpy(kept, host, bytes);
    __atomic_fetch_add(&cm_far_state.copies, 1, __ATOMIC_RELAXED);
    return give_queue(stream->state, &(work){.to = near_of(to), .from = kept, .bytes = bytes, .kept = kept});
}

static cm_status read_stream(cm_stream *stream, void *host, const void *from, size_t bytes) {
    note('=');
    CM_TRY(copy_in_order(stream, host, near_of((void *)(uintptr_t)from), bytes));
    return finish_queue(stream->state);
}

static cm_status push(cm_stream *stream, void *to, const void *pinned, size_t bytes) {
    note('>');
    return copy_in_order(stream, near_of(to), pinned, bytes);
}

static cm_status pull(cm_stream *stream, void *pinned, const void *from, size_t bytes) {
    note('<');
    return copy_in_order(stream, pinned, near_of((void *)(uintptr_t)from), bytes);
}

/* ---- events ---- */

typedef struct event {
    queue *of;
    size_t until;
} event;

static cm_status event_record(cm_stream *stream, void **state) {
    event *m = *state;
    queue *l = stream->state;
    if (!m) *state = m = calloc(1, sizeof *m);
    pthread_mutex_lock(&turn);
    *m = (event){l, l->given};
    pthread_mutex_unlock(&turn);
    return CM_OK;
}

static cm_status event_wait(cm_stream *stream, void *state) {
    const event *m = state;
    if (stream->state == m->of) return cm_fail(CM_ERR_STATE, "a stream that follows itself");
    __atomic_fetch_add(&cm_far_state.follows, 1, __ATOMIC_RELAXED);
    return give_queue(stream->state, &(work){.behind = m->of, .until = m->until});
}

static cm_status event_synchronize(void *state) {
    const event *m = state;
    note('.');
    pthread_mutex_lock(&turn);
    cm_status status = reach(m->of, m->until);
    pthread_mutex_unlock(&turn);
    return status;
}

static void event_destroy(void *state) { free(state); }

/* ---- the backend ---- */

static cm_status run_far(cm_stream *stream, const cm_call *call) {
    return give_queue(stream->state, &(work){.call = *call});
}

static cm_status put_after(queue *l, queue *other) {
    pthread_mutex_lock(&turn);
    const size_t until = other->given;
    pthread_mutex_unlock(&turn);
    return give_queue(l, &(work){.behind = other, .until = until});
}

static cm_status run_in_queue(queue *l, const cm_call *call) {
    queue *on = call->branch ? l->side[call->branch - 1] : l;
    if (on != l) CM_TRY(put_after(on, l));
    return give_queue(on, &(work){.call = *call});
}

static cm_status join_queues(queue *l) {
    for (int i = 0; i < CM_CALL_BRANCHES; i++)
        if (l->side[i]) CM_TRY(put_after(l, l->side[i]));
    return CM_OK;
}

/* What a pass promises of the calls that it plays: they are those of the last time while the version is the same. */
typedef struct captured {
    uint64_t version;
    int count;
    cm_call *calls;
} captured;

static cm_replays replayed;

static void note_replay(size_t launches) {
    __atomic_fetch_add(&replayed.graphs, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&replayed.launches, launches, __ATOMIC_RELAXED);
}

static cm_replays replays(const cm_backend *backend) {
    (void)backend;
    return replayed;
}

static cm_status run_each(cm_stream *stream, const cm_call_list *pass) {
    for (int i = 0; i < pass->count; i++) CM_TRY(run_far(stream, &pass->calls[i]));
    return CM_OK;
}

static cm_status run_list(cm_stream *stream, const cm_call_list *pass, bool captures, void **kept) {
    captured *r = *kept;
    const int count = pass->count;
    const size_t bytes = (size_t)count * sizeof *pass->calls;
    if (!captures) return run_each(stream, pass);
    if (!r) {
        *kept = r = calloc(1, sizeof *r);
        __atomic_fetch_add(&cm_far_state.graphs, 1, __ATOMIC_RELAXED);
        r->count = count;
        r->calls = calloc((size_t)count + 1, sizeof *r->calls);
    }
    if (count != r->count) return cm_fail(CM_ERR_STATE, "a pass of %d calls has %d now", r->count, count);
    bool same = r->version == pass->version && memcmp(r->calls, pass->calls, bytes) == 0;
    if (r->calls[0].t[0].data && r->version == pass->version && !same)
        return cm_fail(CM_ERR_STATE, "calls have changed");
    note('p');
    __atomic_fetch_add(same ? &cm_far_state.replays : &cm_far_state.changes, 1, __ATOMIC_RELAXED);
    if (stream->is_urgent) __atomic_fetch_add(&cm_far_state.urgent, 1, __ATOMIC_RELAXED);
    r->version = pass->version;
    memcpy(r->calls, pass->calls, bytes);
    note_replay((size_t)count);
    for (int i = 0; i < count; i++) CM_TRY(run_in_queue(stream->state, &r->calls[i]));
    return join_queues(stream->state);
}

/* The work is done each time, as it comes: what is recorded is that it was there. */
static cm_status capture(cm_stream *stream, const char *name, cm_stream_work launches, void *context, void **kept) {
    queue *l = stream->state;
    (void)name;
    if (!*kept) {
        *kept = calloc(1, sizeof(captured));
        __atomic_fetch_add(&cm_far_state.graphs, 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&cm_far_state.searches, 1, __ATOMIC_RELAXED);
    CM_TRY(finish_queue(l));
    const size_t before = l->given + __atomic_load_n(&tree_cpu_launches, __ATOMIC_RELAXED);
    l->is_prompt = true;
    cm_status status = launches(context, NULL);
    l->is_prompt = false;
    note_replay(l->given + __atomic_load_n(&tree_cpu_launches, __ATOMIC_RELAXED) - before);
    return status;
}

static void destroy_graph(void *kept) {
    captured *r = kept;
    __atomic_fetch_sub(&cm_far_state.graphs, 1, __ATOMIC_RELAXED);
    free(r->calls);
    free(r);
}

static const cm_backend_class far_class = {
    .name = "cuda",
    .device = &cm_far_device,
    .takes_int8 = true,
    .branches = CM_CALL_BRANCHES,
    .stream_bytes = CM_FAR_STREAM_BYTES,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .prepare = prepare,
    .workspace = workspace,
    .write = write_stream,
    .read = read_stream,
    .push = push,
    .pull = pull,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_synchronize = event_synchronize,
    .event_destroy = event_destroy,
    .run_list = run_list,
    .destroy_graph = destroy_graph,
    .capture = capture,
    .replays = replays,
    .search_kernels = &tree_cpu_kernels,
    .run =
        {
#define CM_OP(name, ...) [CM_OP_##name] = run_far,
#include "backend/ops.def"
#undef CM_OP
        },
};

cm_status cm_far_open(cm_backend *backend) {
    backend->kind = &far_class;
    backend->device = &cm_far_device;
    backend->devices = cm_far_state.devices;
    memset(backend->device_id, 1 + backend->place % backend->devices, sizeof backend->device_id);
    return CM_OK;
}
