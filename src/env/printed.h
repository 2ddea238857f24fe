/* Output of environment processes. They write to one pipe; a thread turns it into lines of the log (CM_INFO). The first
 * line is logged at once, then at most one a second, with the number of others since. Lines that were all logged before
 * come after 1, 2, 4 .. 64 seconds. */
#ifndef CM_ENV_PRINTED_H
#define CM_ENV_PRINTED_H

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor that they write to, not theirs to inherit as it is; -1: there is none, as pipe or thread could not be
 * had. Made by the first call, for as long as the program runs. By one thread at a time. */
int cm_printed_to(void);

/* Says what is left, when the processes have ended: waits for that for half a second. None can be started then. */
void cm_printed_end(void);

#ifdef __cplusplus
}
#endif
#endif
