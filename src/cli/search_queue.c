#include "cli/search_queue.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

void cm_search_queue_close(cm_search_queue *queue) {
    for (int i = 0; i < queue->count; i++) free(queue->at[i].state);
    free(queue->at);
    *queue = (cm_search_queue){0};
}

static cm_status grow(cm_search_queue *queue) {
    const int capacity = 2 * queue->capacity + 16;
    if (queue->count < queue->capacity) return CM_OK;
    cm_queued *grown = realloc(queue->at, (size_t)capacity * sizeof *grown);
    if (!grown) return cm_fail(CM_ERR_MEMORY, "no memory for %d queries", capacity);
    queue->at = grown, queue->capacity = capacity;
    return CM_OK;
}

cm_status cm_search_queue_add(cm_search_queue *queue, const cm_queued *one, size_t size) {
    unsigned char *state = NULL;
    int place = queue->count;
    CM_TRY(grow(queue));
    CM_TRY(cm_alloc(&state, size, 1, "a query"));
    memcpy(state, one->state, size);
    while (place > 0 && queue->at[place - 1].priority < one->priority) place--;
    memmove(queue->at + place + 1, queue->at + place, (size_t)(queue->count - place) * sizeof *queue->at);
    queue->at[place] = *one;
    queue->at[place].state = state;
    queue->at[place].serial = queue->serial++;
    queue->count++;
    return CM_OK;
}

cm_status cm_search_queue_remove(cm_search_queue *queue, cm_queued_test is_gone, const void *wanted,
                                 cm_queued_visit leave, void *context) {
    cm_status status = CM_OK;
    int kept = 0;
    for (int i = 0; i < queue->count; i++) {
        if (status != CM_OK || !is_gone(wanted, &queue->at[i])) {
            queue->at[kept++] = queue->at[i];
            continue;
        }
        if (leave) status = leave(context, &queue->at[i]);
        free(queue->at[i].state);
    }
    queue->count = kept;
    return status;
}
