/* Ctrl-Z for a process whose children lead groups of their own, so that the terminal's signal comes to it alone: it
 * stops them, then itself, and lets them go on when it does. */
#ifndef CM_CORE_SUSPEND_H
#define CM_CORE_SUSPEND_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on SIGTSTP is remembered, and the caller blocks it but while it waits. False: it is ignored and stays so. */
bool cm_suspend_catch(void);
void cm_suspend_release(void); /* the usual effect again, as for a child */

/* Whether it came since the last time. */
bool cm_suspend_asked(void);

/* Stops this process as SIGTSTP does without a handler: not at all where no shell could let it go on. Returns when it
 * goes on. SIGTSTP is blocked, before and after. */
void cm_suspend_self(void);

#ifdef __cplusplus
}
#endif
#endif
