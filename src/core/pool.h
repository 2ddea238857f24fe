/* A pool of worker threads that runs numbered tasks.
 *
 * The calling thread is worker 0 and works along; the others sleep between runs (after a short spin, so that a run that
 * follows at once starts in about a microsecond). Results must not depend on which worker runs which task.
 */
#ifndef CM_CORE_POOL_H
#define CM_CORE_POOL_H

#include "core/cpu.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_pool cm_pool;

/* task in [0, tasks), worker in [0, cm_pool_size). */
typedef cm_status (*cm_pool_task)(void *context, int task, int worker);

/* Makes a pool of `threads` workers (the caller included); 0 means cm_cpu_count(). `threads` in 0..1024. The caller
 * owns it. */
cm_status cm_pool_create(int threads, cm_pool **out) CM_MUST_USE;
void cm_pool_destroy(cm_pool *pool); /* NULL is allowed */
int cm_pool_size(const cm_pool *pool);

/* Runs task 0 .. tasks-1, each once, handed out in order to whichever worker is free; returns when all are done. On
 * errors the lowest failing task's status and message are returned (tasks not yet begun are skipped). Not re-entrant:
 * a task may not call it on the same pool. Allocates nothing. */
cm_status cm_pool_run(cm_pool *pool, int tasks, cm_pool_task run, void *context) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
