/* One line about a crash before the process ends by it: which file of code it was in (the program, a module, the
 * library of an environment), where in that file, and what to do. The process then ends by the signal, as it would
 * have: its exit status and a core file stay what they were. */
#ifndef CM_CORE_CRASH_H
#define CM_CORE_CRASH_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on, for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT that have no handler yet (of a sanitizer, say). The line
 * begins with `before`, which clears a line of progress and may be empty, and `who`; both must stay. For a program, not
 * for a library; once. Calls cm_crash_own_stack. */
void cm_crash_catch(const char *before, const char *who);

/* What ends the line from now on: what the user may do about his work ("go on with ..."). At most 4,095 bytes are
 * copied; "": nothing. For one thread. */
void cm_crash_advise(const char *advice);
const char *cm_crash_advice(void); /* what it was last; for a thread that ends the process */

/* For a handler of a signal that ends the process now, while it may hang; `context` is the handler's third argument. If
 * the interrupted thread runs code of a module, or what that has called, one line says where. After cm_crash_catch. */
void cm_crash_say_where(const void *context);

/* Gives the calling thread memory on which a crash is told when the thread's own stack is full. */
void cm_crash_own_stack(void);

#ifdef __cplusplus
}
#endif
#endif
