/* Batches drawn ahead by threads of their own, handed out strictly in order.
 *
 * Batch i of an iteration is cm_replay_sample of update first_update + i, on the content of the last commit. It does
 * not depend on `depth`, `threads` or timing. From cm_prefetch_begin to cm_prefetch_end the replay cannot be committed
 * (CM_ERR_STATE). Steps may be appended and priorities updated meanwhile; both show at the next commit.
 *
 * A batch is lent through a handle. It is released by the training step that consumed it, or when the iteration ends.
 * The handle is dead then, and its use is an error that says so.
 */
#ifndef CM_REPLAY_PREFETCH_H
#define CM_REPLAY_PREFETCH_H

#include "replay/batch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_prefetch cm_prefetch;

typedef struct cm_batch_handle {
    cm_prefetch *prefetch; /* borrowed */
    uint64_t ticket;       /* counts the batches ever handed out, from 1; 0 is no batch */
    int slot;              /* which of the depth + 1 batches it is, from 0 */
} cm_batch_handle;

/* What is done with each batch when it has been drawn, by the drawing thread, before it is handed out: it is brought to
 * where it will be used. Each thread does it with a batch of its own. What it reports is an error of drawing. `run`
 * NULL: nothing. */
typedef struct cm_batch_stage {
    cm_status (*run)(void *context, int slot, cm_batch *batch);
    void *context;
} cm_batch_stage;

typedef struct cm_prefetch_config {
    cm_batch_config batch;
    int depth;   /* batches drawn ahead of the one in use, at least 0; 0: no thread, cm_prefetch_next draws */
    int threads; /* that draw, each a batch; more than `depth` are not used; at least 1 */
    cm_batch_stage stage;
} cm_prefetch_config;

/* Takes depth + 1 batches of memory. The replay, and the context of `stage`, are borrowed and must live longer. The
 * caller owns it. Errors: CM_ERR_INPUT, CM_ERR_MEMORY. */
cm_status cm_prefetch_create(cm_replay *replay, const cm_prefetch_config *config, cm_prefetch **out) CM_MUST_USE;
void cm_prefetch_destroy(cm_prefetch *prefetch);         /* NULL is allowed; ends what is going on */
uint64_t cm_prefetch_bytes(const cm_prefetch *prefetch); /* of its batches */

/* Starts on `count` >= 0 batches for updates first_update, first_update + 1, ... Errors: CM_ERR_STATE if the last
 * iteration was not ended; CM_ERR_INPUT for a negative count. */
cm_status cm_prefetch_begin(cm_prefetch *prefetch, uint64_t first_update, int64_t count, double beta) CM_MUST_USE;

/* The next batch, drawn or waited for. Errors: CM_ERR_STATE if all `count` have been handed out, or if depth + 1
 * batches are still lent; what drawing reported. */
cm_status cm_prefetch_next(cm_prefetch *prefetch, cm_batch_handle *out) CM_MUST_USE;

/* The iteration is over, though perhaps not all batches were asked for; every handle is dead. */
void cm_prefetch_end(cm_prefetch *prefetch);

/* The batch of a live handle; it may be written to (cm_batch_set_policy). Errors: CM_ERR_STATE. */
cm_status cm_batch_borrow(cm_batch_handle handle, cm_batch **out) CM_MUST_USE;

/* Releases a batch; the handle is dead. Errors: CM_ERR_STATE if it was already. */
cm_status cm_batch_release(cm_batch_handle handle) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
