/* A command that was asked to stop by a signal: it says what it still does, and ends in time. */
#ifndef CM_CLI_WATCH_H
#define CM_CLI_WATCH_H

#include "core/stop.h"

/* Once `stop` has been asked, a line every three seconds says what the process is at (core/busy.h). Where that is
 * not to be waited for it ends after nine (also after what was), with exit status 1 and a line that says so, and what
 * is saved (core/crash.h); where it would be in vain, after a second and a half with status 130. For the rest of the
 * process, on a thread of its own; without one, nothing is said. */
void cm_watch_begin(const char *name, const cm_stop *stop);
#endif
