#include "replay/prefetch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/trace.h"
#include "replay/internal.h"

/* Batch i of an iteration is drawn into slot i mod slots. */
typedef enum slot_state { SLOT_FREE, SLOT_DRAWN /* by a thread that is at it */, SLOT_READY, SLOT_LENT } slot_state;

typedef struct slot {
    cm_batch *batch;
    slot_state state;
    uint64_t ticket; /* of the handle while lent */
    cm_status status;
    char message[256]; /* if drawing failed */
} slot;

struct cm_prefetch {
    /* constant */
    cm_replay *replay; /* borrowed */
    cm_batch_stage stage;
    int depth, slots;
    slot *slot;        /* [slots] */
    pthread_t *thread; /* [threads] */
    int threads;
    /* guarded by `lock` */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a slot or one of the following has changed */
    bool active, quit;      /* in an iteration; the threads are to leave */
    int busy;               /* threads that are drawing */
    uint64_t first_update;
    int64_t count, begun, handed; /* batches of the iteration: to draw, drawn or being drawn, handed out */
    double beta;
    /* the caller's */
    uint64_t ticket;
};

/* Draws batch number i of the iteration; called without the lock by whoever draws. */
static void draw(cm_prefetch *p, int64_t i, slot *s) {
    CM_TRACE_BEGIN("draw");
    s->status = cm_replay_sample(p->replay, p->first_update + (uint64_t)i, p->beta, s->batch);
    CM_TRACE_END();
    if (s->status == CM_OK && p->stage.run) s->status = p->stage.run(p->stage.context, (int)(s - p->slot), s->batch);
    if (s->status != CM_OK) snprintf(s->message, sizeof s->message, "%s", cm_error_message());
}

static slot *slot_of(cm_prefetch *p, int64_t i) { return &p->slot[i % p->slots]; }

static bool may_draw(cm_prefetch *p) {
    return p->active && p->begun < p->count && slot_of(p, p->begun)->state == SLOT_FREE;
}

static void *run(void *argument) {
    cm_prefetch *p = argument;
    pthread_mutex_lock(&p->lock);
    while (!p->quit) {
        if (!may_draw(p)) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        const int64_t i = p->begun++;
        slot *s = slot_of(p, i);
        s->state = SLOT_DRAWN;
        p->busy++;
        pthread_mutex_unlock(&p->lock);
        draw(p, i, s);
        pthread_mutex_lock(&p->lock);
        p->busy--;
        s->state = SLOT_READY;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static cm_status start_threads(cm_prefetch *p, int threads) {
    CM_TRY(cm_alloc(&p->thread, (size_t)threads + 1, sizeof *p->thread, "prefetch"));
    for (; p->threads < threads; p->threads++) {
        int error = pthread_create(&p->thread[p->threads], NULL, run, p);
        if (error != 0) return cm_fail(CM_ERR_MEMORY, "prefetch: cannot start a thread: %s", strerror(error));
    }
    return CM_OK;
}

static cm_status open_slots(cm_prefetch *p, const cm_batch_config *batch) {
    CM_TRY(cm_alloc(&p->slot, (size_t)p->slots, sizeof *p->slot, "prefetch"));
    for (int i = 0; i < p->slots; i++) CM_TRY(cm_batch_create(p->replay, batch, &p->slot[i].batch));
    return CM_OK;
}

cm_status cm_prefetch_create(cm_replay *replay, const cm_prefetch_config *config, cm_prefetch **out) {
    const int depth = config->depth, threads = config->threads;
    *out = NULL;
    if (depth < 0) return cm_fail(CM_ERR_INPUT, "prefetch: depth %d, must be at least 0", depth);
    if (threads < 1) return cm_fail(CM_ERR_INPUT, "prefetch: %d threads, must be at least 1", threads);
    cm_prefetch *p;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "prefetch"));
    p->replay = replay;
    p->stage = config->stage;
    p->depth = depth;
    p->slots = depth + 1;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    cm_status status = open_slots(p, &config->batch);
    if (status == CM_OK) status = start_threads(p, threads < depth ? threads : depth);
    if (status != CM_OK) {
        cm_prefetch_destroy(p);
        return status;
    }
    *out = p;
    return CM_OK;
}

void cm_prefetch_destroy(cm_prefetch *p) {
    if (!p) return;
    cm_prefetch_end(p);
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads; i++) pthread_join(p->thread[i], NULL);
    for (int i = 0; p->slot && i < p->slots; i++) cm_batch_destroy(p->slot[i].batch);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p->slot);
    free(p->thread);
    free(p);
}

uint64_t cm_prefetch_bytes(const cm_prefetch *p) { return (uint64_t)p->slots * cm_batch_bytes(p->slot[0].batch); }

cm_status cm_prefetch_begin(cm_prefetch *p, uint64_t first_update, int64_t count, double beta) {
    if (p->active) return cm_fail(CM_ERR_STATE, "prefetch: begun again before its end");
    if (count < 0) return cm_fail(CM_ERR_INPUT, "prefetch: %lld batches, must be at least 0", (long long)count);
    if (p->replay->loading) return cm_fail(CM_ERR_STATE, "prefetch: begun before loading of the replay has ended");
    __atomic_fetch_add(&p->replay->readers, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_lock(&p->lock);
    p->active = true;
    p->first_update = first_update;
    p->count = count;
    p->beta = beta;
    p->begun = p->handed = 0;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return CM_OK;
}

/* Waits until batch number `handed` is ready, or draws it; called with the lock. */
static void make_ready(cm_prefetch *p, slot *s) {
    if (p->depth == 0) {
        draw(p, p->begun++, s);
        s->state = SLOT_READY;
    }
    CM_TRACE_BEGIN("wait");
    while (s->state != SLOT_READY) pthread_cond_wait(&p->changed, &p->lock);
    CM_TRACE_END();
}

static cm_status next_ready(cm_prefetch *p, cm_batch_handle *out) {
    if (!p->active) return cm_fail(CM_ERR_STATE, "prefetch: asked for a batch before its begin");
    if (p->handed == p->count)
        return cm_fail(CM_ERR_STATE, "prefetch: all %lld batches of the iteration have been handed out",
                       (long long)p->count);
    slot *s = slot_of(p, p->handed);
    if (s->state == SLOT_LENT) return cm_fail(CM_ERR_STATE, "prefetch: all its batches are lent; release one first");
    make_ready(p, s);
    if (s->status != CM_OK) return cm_fail(s->status, "%s", s->message);
    s->state = SLOT_LENT;
    s->ticket = ++p->ticket;
    p->handed++;
    *out = (cm_batch_handle){p, s->ticket, (int)(s - p->slot)};
    return CM_OK;
}

cm_status cm_prefetch_next(cm_prefetch *p, cm_batch_handle *out) {
    *out = (cm_batch_handle){.prefetch = p};
    pthread_mutex_lock(&p->lock);
    cm_status status = next_ready(p, out);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void cm_prefetch_end(cm_prefetch *p) {
    if (!p->active) return;
    pthread_mutex_lock(&p->lock);
    p->active = false;
    while (p->busy > 0) pthread_cond_wait(&p->changed, &p->lock);
    for (int i = 0; i < p->slots; i++) {
        p->slot[i].state = SLOT_FREE;
        p->slot[i].ticket = 0;
    }
    pthread_mutex_unlock(&p->lock);
    __atomic_fetch_sub(&p->replay->readers, 1, __ATOMIC_ACQ_REL);
}

/* The slot of a live handle. Slots change hands under the lock, but a lent one is the caller's alone. */
static cm_status find(cm_batch_handle handle, slot **out) {
    for (int i = 0; handle.prefetch && handle.ticket > 0 && i < handle.prefetch->slots; i++) {
        *out = &handle.prefetch->slot[i];
        if ((*out)->ticket == handle.ticket) return CM_OK;
    }
    return cm_fail(CM_ERR_STATE, "batch %llu: used after it was released", (unsigned long long)handle.ticket);
}

cm_status cm_batch_borrow(cm_batch_handle handle, cm_batch **out) {
    slot *s = NULL;
    *out = NULL;
    CM_TRY(find(handle, &s));
    *out = s->batch;
    return CM_OK;
}

cm_status cm_batch_release(cm_batch_handle handle) {
    slot *s = NULL;
    CM_TRY(find(handle, &s));
    cm_prefetch *p = handle.prefetch;
    pthread_mutex_lock(&p->lock);
    s->state = SLOT_FREE;
    s->ticket = 0;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return CM_OK;
}
