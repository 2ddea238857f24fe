/* Ctrl-C for commands that wait for people: the first one asks to end, a second one ends the process. */
#ifndef CM_CLI_INTERRUPT_H
#define CM_CLI_INTERRUPT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on SIGINT is remembered; it also interrupts a read or a sleep. A second one has its usual effect. */
void cm_interrupt_catch(void);
bool cm_interrupted(void);

#ifdef __cplusplus
}
#endif
#endif
