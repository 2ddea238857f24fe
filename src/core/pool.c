#include "core/pool.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/crash.h"
#include "core/trace.h"

enum { MOST_THREADS = 1024, MESSAGE_BYTES = 1024 };
#define SPIN_SECONDS 50e-6

/* `ticket` is (run number << 32) | tasks not yet handed out. A worker takes a task by lowering it with
 * compare-exchange, which succeeds only while that very run is active; the run cannot end before the task is done, so
 * what describes the run stands still as long as anybody reads it. A worker that comes late finds no tickets left and
 * touches nothing. */
struct cm_pool {
    int size;           /* constant: workers, the caller included */
    double spin;        /* constant: seconds to spin before sleeping */
    pthread_t *threads; /* size - 1 */

    int tasks; /* describe the current run */
    cm_pool_task run;
    void *context;
    const char *range; /* of the caller, in a trace; NULL: none */

    _Alignas(CM_ALIGN) atomic_uint_least64_t ticket;
    _Alignas(CM_ALIGN) atomic_int finished;
    atomic_int lowest_failure; /* task number, INT_MAX: none */
    atomic_int sleepers;       /* workers asleep */
    atomic_bool caller_sleeps;
    atomic_bool stop;

    pthread_mutex_t lock;
    pthread_cond_t work_ready, work_done;
    cm_status status; /* of the lowest failure, guarded by lock */
    char message[MESSAGE_BYTES];
};

typedef struct worker_start {
    cm_pool *pool;
    int worker;
} worker_start;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int tasks_left(uint64_t ticket) { return (int)(ticket & 0xffffffffu); }

static void keep_failure(cm_pool *pool, int task, cm_status status) {
    pthread_mutex_lock(&pool->lock);
    if (task < atomic_load(&pool->lowest_failure)) {
        atomic_store(&pool->lowest_failure, task);
        pool->status = status;
        strncpy(pool->message, cm_error_message(), MESSAGE_BYTES - 1);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Tasks belong to the range that the caller is in, on any thread. */
static cm_status run_task(cm_pool *pool, int task, int worker) {
    const bool is_traced = worker > 0 && pool->range;
    if (is_traced) cm_trace_join(pool->range);
    const cm_status status = pool->run(pool->context, task, worker);
    if (is_traced) cm_trace_return();
    return status;
}

/* Takes and runs tasks until none is left. Tasks above a failed one are counted, not run: those below it have all
 * begun, so which failure is reported does not depend on timing. */
static void work(cm_pool *pool, int worker) {
    for (;;) {
        uint64_t ticket = atomic_load(&pool->ticket);
        do {
            if (tasks_left(ticket) == 0) return;
        } while (!atomic_compare_exchange_weak(&pool->ticket, &ticket, ticket - 1));
        int tasks = pool->tasks, task = tasks - tasks_left(ticket);
        if (task < atomic_load(&pool->lowest_failure)) {
            const cm_status status = run_task(pool, task, worker);
            if (status != CM_OK) keep_failure(pool, task, status);
        }
        if (atomic_fetch_add(&pool->finished, 1) + 1 < tasks || !atomic_load(&pool->caller_sleeps)) continue;
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->work_done);
        pthread_mutex_unlock(&pool->lock);
    }
}

static bool has_work(const cm_pool *pool) {
    return tasks_left(atomic_load(&pool->ticket)) > 0 || atomic_load(&pool->stop);
}
static bool is_finished(const cm_pool *pool) { return atomic_load(&pool->finished) == pool->tasks; }

/* Spins until `ready` or the time is up. */
static bool spin_until(const cm_pool *pool, bool (*ready)(const cm_pool *)) {
    if (pool->spin <= 0.0) return ready(pool);
    double end = cm_clock_seconds() + pool->spin;
    do {
        for (int i = 0; i < 32; i++) {
            if (ready(pool)) return true;
            relax();
        }
    } while (cm_clock_seconds() < end);
    return false;
}

static void *worker_main(void *argument) {
    worker_start start = *(worker_start *)argument;
    free(argument);
    cm_pool *pool = start.pool;
    cm_crash_own_stack(); /* tasks run code of libraries */
    while (!atomic_load(&pool->stop)) {
        work(pool, start.worker);
        if (spin_until(pool, has_work)) continue;
        pthread_mutex_lock(&pool->lock);
        atomic_fetch_add(&pool->sleepers, 1);
        while (!has_work(pool)) pthread_cond_wait(&pool->work_ready, &pool->lock);
        atomic_fetch_sub(&pool->sleepers, 1);
        pthread_mutex_unlock(&pool->lock);
    }
    return NULL;
}

static cm_status start_worker(cm_pool *pool, int worker) {
    worker_start *start = NULL;
    CM_TRY(cm_alloc(&start, 1, sizeof *start, "thread pool"));
    *start = (worker_start){pool, worker};
    int error = pthread_create(&pool->threads[worker - 1], NULL, worker_main, start);
    if (error == 0) return CM_OK;
    free(start);
    return cm_fail(CM_ERR_MEMORY, "cannot start thread %d of %d: %s; ask for fewer threads", worker + 1, pool->size,
                   strerror(error));
}

static void stop_workers(cm_pool *pool, int started) {
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->work_ready);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < started; i++) pthread_join(pool->threads[i], NULL);
}

static void free_pool(cm_pool *pool) {
    pthread_cond_destroy(&pool->work_done);
    pthread_cond_destroy(&pool->work_ready);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
}

cm_status cm_pool_create(int threads, cm_pool **out) {
    *out = NULL;
    if (threads < 0 || threads > MOST_THREADS)
        return cm_fail(CM_ERR_INPUT, "%d threads: must be in 0..%d", threads, MOST_THREADS);
    int processors = cm_cpu_count();
    if (threads == 0) threads = processors < MOST_THREADS ? processors : MOST_THREADS;
    cm_pool *pool = aligned_alloc(CM_ALIGN, cm_align(sizeof *pool));
    if (!pool) return cm_fail(CM_ERR_MEMORY, "thread pool: no memory");
    memset(pool, 0, sizeof *pool);
    pool->size = threads;
    pool->spin = threads <= processors ? SPIN_SECONDS : 0.0; /* spinning would take a processor from a worker */
    atomic_init(&pool->lowest_failure, INT_MAX);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work_ready, NULL);
    pthread_cond_init(&pool->work_done, NULL);
    cm_status status = cm_alloc(&pool->threads, (size_t)threads, sizeof *pool->threads, "thread pool");
    for (int worker = 1; status == CM_OK && worker < threads; worker++) {
        status = start_worker(pool, worker);
        if (status != CM_OK) stop_workers(pool, worker - 1);
    }
    if (status != CM_OK) {
        free_pool(pool);
        return status;
    }
    *out = pool;
    return CM_OK;
}

void cm_pool_destroy(cm_pool *pool) {
    if (!pool) return;
    stop_workers(pool, pool->size - 1);
    free_pool(pool);
}

int cm_pool_size(const cm_pool *pool) { return pool->size; }

/* Wakes as many sleepers as there are tasks for. */
static void wake(cm_pool *pool, int tasks) {
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->lock);
    if (tasks > pool->size - 1) {
        pthread_cond_broadcast(&pool->work_ready);
    } else {
        for (int i = 0; i < tasks; i++) pthread_cond_signal(&pool->work_ready);
    }
    pthread_mutex_unlock(&pool->lock);
}

static void wait_until_finished(cm_pool *pool) {
    if (spin_until(pool, is_finished)) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (!is_finished(pool)) pthread_cond_wait(&pool->work_done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

cm_status cm_pool_run(cm_pool *pool, int tasks, cm_pool_task run, void *context) {
    if (tasks <= 0) return CM_OK;
    pool->tasks = tasks, pool->run = run, pool->context = context;
    pool->range = cm_trace_on() ? cm_trace_range() : NULL;
    atomic_store(&pool->finished, 0);
    atomic_store(&pool->lowest_failure, INT_MAX);
    uint64_t number = (atomic_load(&pool->ticket) >> 32) + 1;
    atomic_store(&pool->ticket, number << 32 | (uint64_t)tasks);
    if (tasks > 1) wake(pool, tasks - 1);
    work(pool, 0);
    CM_TRACE_BEGIN("wait");
    wait_until_finished(pool);
    CM_TRACE_END();
    if (atomic_load(&pool->lowest_failure) == INT_MAX) return CM_OK;
    return cm_fail(pool->status, "%s", pool->message);
}
