/* Ctrl-C, for commands that wait for people, and for those that work long. */
#ifndef CM_CLI_INTERRUPT_H
#define CM_CLI_INTERRUPT_H

#include <stdbool.h>

#include "core/stop.h"

/* For those that wait. From now on SIGINT, SIGTERM and SIGHUP are remembered; they also interrupt a read or a sleep. A
 * second one has its usual effect. */
void cm_interrupt_catch(void);
bool cm_interrupted(void);

/* For those that work and keep nothing: from now on SIGINT and SIGTERM end the process at once, with status 128 +
 * number and the line "cumind: NAME: interrupted; it has no result" on stderr. */
void cm_interrupt_ends(const char *name);

/* After that, for work that can be broken off: the first SIGINT or SIGTERM asks the flag that is returned, and a second
 * one ends the process as above. */
const cm_stop *cm_interrupt_asks(void);

/* In place of "it has no result", for those that print as they go on; at most 63 bytes. */
void cm_interrupt_leaves(const char *name, const char *what);
#endif
