/* Queries of KataGo's analysis engine (docs/Analysis_Engine.md of its sources), read into positions that wait. */
#ifndef CM_CLI_SEARCH_QUERY_H
#define CM_CLI_SEARCH_QUERY_H

#include "cli/gtp_position.h"
#include "cli/search_queue.h"
#include "core/json.h"

/* What reads them. */
typedef struct cm_query_reader {
    const cm_env *env;     /* borrowed */
    cm_gtp_position *game; /* borrowed: the game of a query */
    double own_komi;
    int most_visits;
    const char *field; /* member that is read; the one at fault after an error */
} cm_query_reader;

/* Adds all positions of a query, or none; warnings about members that are not heeded are printed. Errors:
 * CM_ERR_INPUT for mistakes of the query. */
cm_status cm_query_read(cm_query_reader *reader, const cm_json *query, const char *id,
                        cm_search_queue *queue) CM_MUST_USE;
#endif
