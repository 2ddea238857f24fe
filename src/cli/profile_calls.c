/* Time of operations: every call runs between two readings of the clock, and is counted by what it does, on which
 * shapes, for which stage. Each thread counts for itself. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile.h"
#include "core/clock.h"

enum { PLACES = 2048, LABELLED = 2 }; /* places of a thread's table, a power of two; tensors that a name tells */

typedef struct table {
    struct table *next;
    uint64_t key[PLACES]; /* 0: free */
    cm_operation row[PLACES];
    int count;
} table;

static struct {
    atomic_bool counts;
    atomic_int epoch;
    pthread_mutex_t lock; /* of the list */
    table *tables;
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
    int epoch;
    table *table; /* NULL: no memory */
} own;

static table *mine(void) {
    const int epoch = atomic_load(&calls.epoch);
    if (own.epoch == epoch) return own.table;
    own.epoch = epoch;
    own.table = calloc(1, sizeof *own.table);
    if (!own.table) return NULL;
    pthread_mutex_lock(&calls.lock);
    own.table->next = calls.tables;
    calls.tables = own.table;
    pthread_mutex_unlock(&calls.lock);
    return own.table;
}

/* FNV-1a over what tells kinds of calls apart. */
static uint64_t mix(uint64_t hash, int64_t number) { return (hash ^ (uint64_t)number) * UINT64_C(0x100000001b3); }

static uint64_t key_of(const cm_call *call, cm_stage stage) {
    uint64_t hash = mix(mix(UINT64_C(0xcbf29ce484222325), call->op), stage);
    hash = mix(hash, call->attr.compute);
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        const cm_tensor *t = &call->t[i];
        hash = mix(hash, t->data ? t->ndim : -1);
        for (int d = 0; t->data && d < t->ndim; d++) hash = mix(hash, t->dim[d]);
    }
    return hash ? hash : 1;
}

/* The first two tensors of more than one dimension: "dense 128x64 128x256". */
static void name_call(const cm_call *call, char out[CM_OPERATION_NAME]) {
    char shape[48];
    int named = 0;
    size_t used = (size_t)snprintf(out, CM_OPERATION_NAME, "%s", cm_op_name(call->op));
    for (int i = 0; i < CM_CALL_TENSORS && named < LABELLED; i++) {
        const cm_tensor *t = &call->t[i];
        if (!t->data || (t->ndim < 2 && named + i > 0)) continue;
        cm_text_shape(t->dim, t->ndim, "x", shape, sizeof shape);
        used += (size_t)snprintf(out + used, CM_OPERATION_NAME - used, " %s", shape);
        if (used >= CM_OPERATION_NAME) return;
        named++;
    }
}

/* Winograd's F(4x4, 3x3) makes 36 products for a tile of 4 x 4 places in place of 144, which a backend may choose. */
static double saved_by(const cm_call *call) {
    const cm_tensor *weight, *y;
    switch (call->op) {
    case CM_OP_conv2d: weight = CM_ARG(call, conv2d, weight), y = CM_ARG(call, conv2d, y); break;
    case CM_OP_conv2d_norm: weight = CM_ARG(call, conv2d_norm, weight), y = CM_ARG(call, conv2d_norm, y); break;
    case CM_OP_conv2d_backward:
        weight = CM_ARG(call, conv2d_backward, weight), y = CM_ARG(call, conv2d_backward, dy);
        break;
    default: return 1.0;
    }
    if (weight->dim[1] != 3 || call->attr.stride > 1 || call->attr.compute != CM_F32) return 1.0;
    const int h = y->dim[1], w = y->dim[2], tiles = ((h + 3) / 4) * ((w + 3) / 4);
    return fmax(1.0, 9.0 * h * w / (36.0 * tiles));
}

static cm_operation *find(table *t, const cm_call *call, cm_stage stage) {
    const uint64_t key = key_of(call, stage);
    size_t at = key % PLACES;
    while (t->key[at] && t->key[at] != key) at = (at + 1) % PLACES;
    if (t->key[at]) return &t->row[at];
    if (t->count == PLACES / 2) return NULL;
    t->key[at] = key, t->count++;
    t->row[at] = (cm_operation){.op = call->op, .stage = stage, .compute = call->attr.compute, .saved = saved_by(call)};
    name_call(call, t->row[at].name);
    return &t->row[at];
}

static void count(const cm_call *call, cm_stage stage, double seconds) {
    table *t = mine();
    cm_operation *row = t ? find(t, call, stage) : NULL;
    if (!row) return;
    row->calls++;
    row->seconds += seconds;
    row->flop += cm_call_flop(call);
    row->bytes += cm_call_bytes(call);
}

/* In a search calls belong to the part of the network; elsewhere to what the thread is in. */
static cm_stage stage_of(const cm_call *call) {
    static const cm_stage parts[] = {[CM_PART_NONE] = CM_STAGE_COPIES,
                                     [CM_PART_REPRESENTATION] = CM_STAGE_REPRESENTATION,
                                     [CM_PART_DYNAMICS] = CM_STAGE_DYNAMICS,
                                     [CM_PART_PREDICTION] = CM_STAGE_PREDICTION};
    const cm_stage now = cm_stage_now();
    return now == CM_STAGE_TREE ? parts[call->part] : now;
}

static cm_status run_and_wait(cm_stream *stream, const cm_call *call) {
    cm_event event = {0};
    CM_TRY(stream->backend->kind->run[call->op](stream, call));
    if (stream->backend->device->is_host) return CM_OK;
    CM_TRY(cm_event_record(&event, stream));
    const cm_status status = cm_event_synchronize(&event);
    cm_event_destroy(&event);
    return status;
}

static cm_status run(cm_stream *stream, const cm_call *call) {
    if (!atomic_load_explicit(&calls.counts, memory_order_relaxed))
        return stream->backend->kind->run[call->op](stream, call);
    const cm_stage stage = stage_of(call);
    cm_stage_enter(stage);
    const double start = cm_clock_seconds();
    const cm_status status = run_and_wait(stream, call);
    const double seconds = cm_clock_seconds() - start;
    cm_stage_leave();
    count(call, stage, seconds);
    return status;
}

static const cm_call_listener listener = {run};

void cm_calls_listen(void) {
    atomic_fetch_add(&calls.epoch, 1);
    cm_backend_listen(&listener);
}

void cm_calls_count(bool counts) { atomic_store(&calls.counts, counts); }

/* ---- the tables of all threads as one ---- */

static int by_name(const void *a, const void *b) {
    const cm_operation *x = a, *y = b;
    if (x->stage != y->stage) return (int)x->stage - (int)y->stage;
    const int order = strcmp(x->name, y->name);
    return order ? order : (int)x->compute - (int)y->compute;
}

static int by_time(const void *a, const void *b) {
    const cm_operation *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static int gather(cm_operation *all) {
    int n = 0;
    for (table *t = calls.tables; t; t = t->next)
        for (int i = 0; i < PLACES; i++)
            if (t->key[i]) all[n++] = t->row[i];
    return n;
}

/* Rows of one kind that lie next to each other become one; returns how many there are then. */
static int merge(cm_operation *all, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        cm_operation *last = &all[kept - 1];
        if (kept > 0 && by_name(last, &all[i]) == 0) {
            last->calls += all[i].calls, last->seconds += all[i].seconds;
            last->flop += all[i].flop, last->bytes += all[i].bytes;
        } else {
            all[kept++] = all[i];
        }
    }
    return kept;
}

static void free_tables(void) {
    while (calls.tables) {
        table *t = calls.tables;
        calls.tables = t->next;
        free(t);
    }
}

cm_status cm_calls_end(cm_operations *out) {
    int threads = 0;
    cm_calls_count(false);
    cm_backend_listen(NULL);
    atomic_fetch_add(&calls.epoch, 1); /* the tables are gone for their threads */
    for (table *t = calls.tables; t; t = t->next) threads++;
    cm_operation *all = malloc(((size_t)threads * PLACES / 2 + 1) * sizeof *all);
    if (!all) {
        free_tables();
        return cm_fail(CM_ERR_MEMORY, "no memory for the operations of a profile");
    }
    int n = gather(all);
    qsort(all, (size_t)n, sizeof *all, by_name);
    n = merge(all, n);
    qsort(all, (size_t)n, sizeof *all, by_time);
    out->count = n < CM_OPERATIONS ? n : CM_OPERATIONS;
    out->is_cut = n > CM_OPERATIONS;
    memcpy(out->row, all, (size_t)out->count * sizeof *all);
    free(all);
    free_tables();
    return CM_OK;
}
