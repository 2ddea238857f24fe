/* Log lines: to stderr and, if asked for, to a file. The sink is the one process-wide state of the library. */
#ifndef CM_CORE_LOG_H
#define CM_CORE_LOG_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_log_level { CM_DEBUG, CM_INFO, CM_WARNING, CM_ERROR, CM_SILENT } cm_log_level;

/* Writes one line (no newline in `format`) if `level` is at or above the sink's. Thread-safe. */
void cm_log(cm_log_level level, const char *format, ...) CM_PRINTF(2, 3);

void cm_log_set_level(cm_log_level level);            /* of stderr; default CM_INFO */
cm_status cm_log_open(const char *path) CM_MUST_USE;  /* copies every line at or above CM_INFO, with time, to a file (append) */
void cm_log_close(void);                              /* allowed when none is open */

/* A callback that sees each line before it goes to stderr; returning true swallows it (a progress display redraws itself). */
typedef bool (*cm_log_hook)(void *context, cm_log_level level, const char *line);
void cm_log_set_hook(cm_log_hook hook, void *context);

#ifdef __cplusplus
}
#endif
#endif
