/* Records of a run's files that find no space: the run goes on without them. */
#ifndef CM_RUN_LOST_H
#define CM_RUN_LOST_H

#include "core/append.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts in *lost the records, `what` ("events"), of a file that could not be written; the last so many as `status`
 * says. Warns of the first, with the error's message; when they can be written again, a line says how many are missing.
 */
void cm_run_note_lost(int64_t *lost, int64_t records, cm_status status, const cm_append_file *file, const char *what);

#ifdef __cplusplus
}
#endif
#endif
