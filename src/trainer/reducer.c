/* Sums of gradients over chunks and ranks, concurrent with the backward pass that makes them: on a host by a thread, on
 * a device on a stream of its own, by what is launched when a bucket is final. */
#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/trace.h"
#include "trainer/internal.h"

typedef struct bucket {
    size_t first, count; /* elements of the parameter block */
    int after[2];        /* backward calls of a full chunk, and of the shorter last one, that make it final */
} bucket;

struct cm_reducer {
    cm_trainer *trainer; /* borrowed */
    bucket *buckets;     /* [count] in the order in which they become final; owned, like the next ones */
    int count;
    int *passed;   /* [count] chunks that are through with a bucket */
    cm_pool *pair; /* on a host: a worker that plays, with those of the trainer's pool, and one that sums */
    cm_stream
        *own; /* for sums concurrent with the backward pass; NULL, as `pair`: there is one bucket, summed after it */
    cm_stream *stream; /* `own`, or the first worker's */
    cm_event turn;     /* of the stream that plays, then of `own` */
    cm_buffer nothing; /* one 0 */
    cm_pool_task chunk;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool has_failed; /* no more chunks will be through */
    double played, reduce_seconds, exposed_seconds;
};

/* ---- buckets ---- */

static bool is_on_host(const cm_trainer *t) { return t->config.backend->device->is_host; }

static size_t parameter_count(const cm_trainer *t) { return cm_network_parameters(t->config.network)->parameters; }

/* The elements that parameters own end where the next one begins. */
static void cut(cm_reducer *r) {
    const cm_trainer *t = r->trainer;
    const cm_param_table *table = cm_network_parameters(t->config.network);
    const size_t least = (size_t)t->config.bucket_bytes / sizeof(float);
    size_t first = 0;
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (p->state || least == 0 || p->offset - first < least) continue;
        r->buckets[r->count++] = (bucket){.first = first, .count = p->offset - first};
        first = p->offset;
    }
    r->buckets[r->count++] = (bucket){.first = first, .count = table->parameters - first};
    for (int b = 0; b < r->count; b++) {
        for (int kind = 0; kind < 2 && t->unroll[kind].tape; kind++) {
            bucket *own = &r->buckets[b];
            own->after[kind] = cm_tape_final_after(t->unroll[kind].tape, own->first, own->count);
        }
    }
}

/* Tapes of both kinds are made by the same calls, so they have one order. */
static int by_end(const void *a, const void *b) {
    const bucket *x = a, *y = b;
    if (x->after[0] != y->after[0]) return x->after[0] < y->after[0] ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Backward passes are played as far as a bucket is final, and then as far as the next one is. */
static cm_status divide_tapes(const cm_reducer *r) {
    for (int b = 0; b < r->count; b++)
        for (int kind = 0; kind < 2 && r->trainer->unroll[kind].tape; kind++)
            CM_TRY(cm_tape_end_part(r->trainer->unroll[kind].tape, r->buckets[b].after[kind]));
    return CM_OK;
}

static cm_status open_reducer(cm_reducer *r) {
    cm_trainer *t = r->trainer;
    const size_t most = (size_t)cm_network_parameters(t->config.network)->count + 1;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->moved, NULL);
    CM_TRY(cm_alloc(&r->buckets, most, sizeof *r->buckets, "buckets of gradients"));
    CM_TRY(cm_alloc(&r->passed, most, sizeof *r->passed, "buckets of gradients"));
    cut(r);
    qsort(r->buckets, (size_t)r->count, sizeof *r->buckets, by_end);
    CM_TRY(cm_buffer_create(&r->nothing, t->config.backend->device, sizeof(float), "a sum of nothing"));
    r->stream = t->streams[0];
    if (r->count == 1) return CM_OK;
    CM_TRY(divide_tapes(r));
    CM_TRY(cm_stream_open_as(t->config.backend, true, &r->own));
    r->stream = r->own;
    return is_on_host(t) ? cm_pool_create(2, &r->pair) : CM_OK;
}

cm_status cm_reducer_create(cm_trainer *t) {
    if (t->config.comm->size == 1) return CM_OK;
    if (!t->config.backend->device->is_host && !t->config.comm->sum_on) {
        return cm_fail(CM_ERR_STATE, "several ranks train on devices that are not joined");
    }
    CM_TRY(cm_alloc(&t->reducer, 1, sizeof *t->reducer, "buckets of gradients"));
    t->reducer->trainer = t;
    return open_reducer(t->reducer);
}

void cm_reducer_destroy(cm_reducer *r) {
    if (!r) return;
    cm_pool_destroy(r->pair);
    cm_stream_close(r->own);
    cm_event_destroy(&r->turn);
    cm_buffer_destroy(&r->nothing);
    pthread_cond_destroy(&r->moved);
    pthread_mutex_destroy(&r->lock);
    free(r->buckets);
    free(r->passed);
    free(r);
}

/* ---- sums ---- */

/* After the gradient: the norm of nothing, which is 0, or no number if a result is none. */
static cm_status mark_results(const cm_reducer *r) {
    const cm_trainer *t = r->trainer;
    const int numbers = (int)((size_t)t->chunks * t->result_stride / sizeof(float));
    cm_call call = {.op = CM_OP_clip};
    call.t[CM_T_clip_factor] = cm_tensor_1d(t->gradient[0] + parameter_count(t), CM_F32, CM_TRAINER_TAIL);
    call.t[CM_T_clip_partial] = cm_tensor_1d(r->nothing.base, CM_F32, 1);
    call.t[CM_T_clip_check] = cm_tensor_1d(t->playing->results.block.base, CM_F32, numbers);
    return cm_call_run(r->stream, &call);
}

static cm_status sum_elements(const cm_reducer *r, size_t first, size_t count) {
    const cm_trainer *t = r->trainer;
    cm_comm *comm = t->config.comm;
    float *data = t->gradient[0] + first;
    if (is_on_host(t)) return comm->all_reduce(comm, data, count);
    return comm->sum_on(comm, cm_stream_queue(r->stream), data, count);
}

/* Over the ranks, when the first chunk's gradient has the sum over the chunks. */
static cm_status sum_ranks(cm_reducer *r, const bucket *own) {
    const bool is_last = own->first + own->count == parameter_count(r->trainer);
    const double start = cm_clock_seconds();
    if (is_last) CM_TRY(mark_results(r));
    CM_TRACE_BEGIN("reduce");
    cm_status status = sum_elements(r, own->first, own->count + (is_last ? CM_TRAINER_TAIL : 0));
    CM_TRACE_END();
    r->reduce_seconds += cm_clock_seconds() - start;
    return status;
}

static cm_status sum_bucket(cm_reducer *r, const bucket *own) {
    const cm_trainer *t = r->trainer;
    CM_TRY(cm_gradient_sum(r->stream, t->gradient, t->chunks, own->first, own->count));
    return sum_ranks(r, own);
}

/* ---- playing ---- */

/* What `stream` is given from now on comes after what `other` was given. */
static cm_status order(cm_reducer *r, cm_stream *stream, cm_stream *other) {
    CM_TRY(cm_event_record(&r->turn, other));
    return cm_stream_wait(stream, &r->turn);
}

/* A chunk is through with bucket b. On a device the last one launches the sum. */
static cm_status pass_by(cm_reducer *r, int b) {
    pthread_mutex_lock(&r->lock);
    const bool is_final = ++r->passed[b] == r->trainer->chunks;
    pthread_cond_signal(&r->moved);
    pthread_mutex_unlock(&r->lock);
    if (is_on_host(r->trainer) || !is_final) return CM_OK;
    CM_TRY(order(r, r->own, r->trainer->streams[0]));
    return sum_bucket(r, &r->buckets[b]);
}

cm_status cm_reducer_backward(cm_reducer *r, cm_pass *pass, int kind) {
    int at = 0;
    if (!r->own) return cm_pass_backward(pass);
    for (int b = 0; b < r->count; b++) {
        const int after = r->buckets[b].after[kind];
        if (after > at) CM_TRY(cm_pass_backward_part(pass, at, after));
        at = after > at ? after : at;
        CM_TRY(pass_by(r, b));
    }
    return cm_pass_backward_part(pass, at, cm_tape_backward_calls(r->trainer->unroll[kind].tape));
}

static cm_status play(cm_reducer *r) {
    cm_trainer *t = r->trainer;
    cm_status status = cm_pool_run(t->config.pool, t->chunks, r->chunk, t);
    r->played = cm_clock_seconds();
    pthread_mutex_lock(&r->lock);
    r->has_failed = status != CM_OK;
    pthread_cond_signal(&r->moved);
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* ---- the thread that sums ---- */

/* Whether all chunks are through with a bucket; false: they never will be. */
static bool wait_for(cm_reducer *r, int b) {
    pthread_mutex_lock(&r->lock);
    while (r->passed[b] < r->trainer->chunks && !r->has_failed) pthread_cond_wait(&r->moved, &r->lock);
    const bool is_final = r->passed[b] == r->trainer->chunks;
    pthread_mutex_unlock(&r->lock);
    return is_final;
}

static cm_status sum_buckets(cm_reducer *r) {
    for (int b = 0; b < r->count && wait_for(r, b); b++) CM_TRY(sum_bucket(r, &r->buckets[b]));
    return CM_OK;
}

static cm_status run_overlap_task(void *context, int task, int worker) {
    (void)worker;
    return task == 0 ? play(context) : sum_buckets(context);
}

static cm_status run_all(cm_reducer *r) {
    cm_trainer *t = r->trainer;
    if (r->pair) return cm_pool_run(r->pair, 2, run_overlap_task, r);
    CM_TRY(play(r));
    if (r->own) return order(r, t->streams[0], r->own);
    CM_TRY(cm_optimizer_sum(t->optimizer, t->gradient, t->chunks));
    return sum_ranks(r, &r->buckets[0]);
}

cm_status cm_reducer_run(cm_reducer *r, cm_pool_task chunk) {
    r->chunk = chunk;
    r->has_failed = false;
    r->reduce_seconds = 0.0;
    for (int b = 0; b < r->count; b++) r->passed[b] = 0;
    CM_TRY(run_all(r));
    r->exposed_seconds = cm_clock_seconds() - r->played;
    return CM_OK;
}

void cm_reducer_seconds(const cm_reducer *r, double *reduce, double *exposed) {
    *reduce = r->reduce_seconds;
    *exposed = r->exposed_seconds < r->reduce_seconds ? r->exposed_seconds : r->reduce_seconds;
}
