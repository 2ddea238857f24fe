/* Lines that `cumind search --stdin` answers with, in the form of KataGo's analysis engine. */
#ifndef CM_CLI_SEARCH_ANSWER_H
#define CM_CLI_SEARCH_ANSWER_H

#include "arena/analyse.h"
#include "cli/search_queue.h"
#include "core/json.h"

/* {"error": ..., "field": ..., "id": ...}; `field` and `id` NULL: not known. */
cm_status cm_search_answer_error(const char *id, const char *field, const char *message) CM_MUST_USE;

/* {"field": ..., "id": ..., "warning": ...}: the query is answered, too. */
cm_status cm_search_answer_warning(const char *id, const char *field, const char *message) CM_MUST_USE;

/* A query's members, as KataGo answers actions, and, where `version` is not NULL, that version. */
cm_status cm_search_answer_action(const cm_json *query, const char *version) CM_MUST_USE;

/* Of a position that was taken from the queue before its search. */
cm_status cm_search_answer_nothing(void *unused, const cm_queued *one) CM_MUST_USE;

/* What the analyser's last run found in position `slot`. */
cm_status cm_search_answer_analysis(cm_analyser *analyser, const cm_env *env, int slot,
                                    const cm_queued *one) CM_MUST_USE;
#endif
