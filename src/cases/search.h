/* Search cases: files "cumind-search-case-1" (tests/cases/search/README.md) that hold a tabular model, the inputs of
 * a search, noise included, and the arrays of the finished tree. */
#ifndef CM_CASES_SEARCH_H
#define CM_CASES_SEARCH_H

#include "core/json.h"
#include "core/pool.h"
#include "mcts/device_search.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_search_case cm_search_case;

/* Reads a file. Every error is CM_ERR_INPUT (or CM_ERR_IO: not readable) with one line: file, field, what is wrong.
 * `need_expected`: a file without "expected" is an error; otherwise "expected" is not looked at. The caller owns *out.
 */
cm_status cm_search_case_read(const char *path, bool need_expected, cm_search_case **out) CM_MUST_USE;
void cm_search_case_destroy(cm_search_case *searched); /* NULL is allowed */

/* Runs the search, its roots divided into `shards` >= 1 runs of their own that the pool's workers share (pool NULL:
 * this thread). Neither number changes a bit. Errors: as cm_search_run. */
cm_status cm_search_case_run(cm_search_case *searched, cm_pool *pool, int shards) CM_MUST_USE;

/* The same with the trees on a device; the model stays on the host, and what it says is copied. Errors also:
 * CM_ERR_DEVICE. */
cm_status cm_search_case_run_on(cm_search_case *searched, const cm_device_place *place) CM_MUST_USE;

/* After a run: one JSON object with the keys of "expected". */
void cm_search_case_write(const cm_search_case *searched, cm_json_writer *writer);

/* After a run: how many numbers differ from "expected" (0: equal), and in `first` the first one, such as
 * "node_visits[0][3]: got 4, want 5"; "" if none. */
int64_t cm_search_case_compare(const cm_search_case *searched, char *first, size_t size);

#ifdef __cplusplus
}
#endif
#endif
