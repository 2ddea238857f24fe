/* Positions of queries that wait for their search, those of the highest priority first, among equals in their order. */
#ifndef CM_CLI_SEARCH_QUEUE_H
#define CM_CLI_SEARCH_QUEUE_H

#include "core/status.h"

enum { CM_QUERY_ID = 256, CM_SEARCH_QUEUE_MOST = 4096 }; /* positions that wait before more is read */

/* From whose view values are told. */
typedef enum cm_query_view { CM_QUERY_BLACK, CM_QUERY_WHITE, CM_QUERY_MOVER } cm_query_view;

/* What a query asks for each of its positions. */
typedef struct cm_query {
    char id[CM_QUERY_ID];
    double komi;
    int visits; /* at most; 0: those of the run */
    int line;   /* most moves of a variation */
    cm_query_view view;
    bool has_policy, has_line_visits;
} cm_query;

typedef struct cm_queued {
    cm_query query;
    int turn;             /* moves made before the position */
    int64_t priority;     /* higher first */
    uint64_t serial;      /* counts all that came */
    unsigned char *state; /* owned */
} cm_queued;

/* A zeroed struct is empty. */
typedef struct cm_search_queue {
    cm_queued *at; /* [count], owned */
    int count, capacity;
    uint64_t serial; /* of the next one */
} cm_search_queue;

void cm_search_queue_close(cm_search_queue *queue);

/* Adds a position, whose state [size] is copied. Errors: CM_ERR_MEMORY. */
cm_status cm_search_queue_add(cm_search_queue *queue, const cm_queued *one, size_t size) CM_MUST_USE;

/* Takes those away for which `is_gone` is true; `leave` (NULL: nothing) is told of each, in the queue's order, before.
 */
typedef bool (*cm_queued_test)(const void *context, const cm_queued *one);
typedef cm_status (*cm_queued_visit)(void *context, const cm_queued *one);
cm_status cm_search_queue_remove(cm_search_queue *queue, cm_queued_test is_gone, const void *wanted,
                                 cm_queued_visit leave, void *context) CM_MUST_USE;
#endif
