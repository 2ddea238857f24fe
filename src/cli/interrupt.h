/* Ctrl-C, for commands that wait for people, and for those that work long. */
#ifndef CM_CLI_INTERRUPT_H
#define CM_CLI_INTERRUPT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For those that wait. From now on SIGINT is remembered; it also interrupts a read or a sleep. A second one has its
 * usual effect. */
void cm_interrupt_catch(void);
bool cm_interrupted(void);

/* For those that work and keep nothing: from now on SIGINT and SIGTERM end the process at once, with status 128 +
 * number and the line "cumind: NAME: interrupted; it has no result" on stderr. */
void cm_interrupt_ends(const char *name);

#ifdef __cplusplus
}
#endif
#endif
