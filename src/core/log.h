/* Log lines: to stderr and, if asked for, to a file. The sink belongs to the whole process, as does the
 * timeline of trace.h. */
#ifndef CM_CORE_LOG_H
#define CM_CORE_LOG_H

#include "core/directory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_log_level { CM_DEBUG, CM_INFO, CM_WARNING, CM_ERROR, CM_SILENT } cm_log_level;

/* Writes one line (no newline in `format`) if `level` is at or above the sink's. Thread-safe. The line
 * is shown as core/printable.h says, so it stays one; one of more than 2,047 bytes ends in "...". On a terminal it is
 * broken between words. */
void cm_log(cm_log_level level, const char *format, ...) CM_PRINTF(2, 3);

void cm_log_set_level(cm_log_level level); /* of stderr; default CM_INFO */

/* Copies every line at or above CM_INFO, whatever the level of stderr, to the file `name` of a folder:
 * "YYYY-mm-dd HH:MM:SS LEVEL   line". Appends (cm_dir_append: a link is refused); takes the place of a file that is
 * open. Errors: CM_ERR_IO names the path. */
cm_status cm_log_open(const cm_dir *dir, const char *name) CM_MUST_USE;
void cm_log_close(void); /* allowed when none is open */

/* Keeps these lines in memory, until cm_log_open writes them at the head of its own or cm_log_close drops them: for
 * whoever does not know yet whether there may be a file. Where that is not to be had they are lost, with a warning. */
void cm_log_keep(void);

/* Between the two nothing is logged: for whoever writes to the terminal that lines of the log go to. */
void cm_log_hold(void);
void cm_log_release(void);

/* A callback that sees each line that is to go to stderr; returning true swallows it (a progress display redraws
 * itself). It runs as if held: it may not log. */
typedef bool (*cm_log_hook)(void *context, cm_log_level level, const char *line);
void cm_log_set_hook(cm_log_hook hook, void *context);
void cm_log_get_hook(cm_log_hook *hook, void **context); /* for one that hands lines on to the one before it */

/* CUMIND_LOG_PLANS=1 in the environment, a debugging aid: whoever builds a pass, captures a graph or chooses an
 * algorithm says so in a line, so that one that is built again is seen. */
bool cm_log_plans(void);

#ifdef __cplusplus
}
#endif
#endif
