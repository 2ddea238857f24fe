/* What the program is at, for a user that waits for its end after an interrupt. */
#ifndef CM_CORE_BUSY_H
#define CM_CORE_BUSY_H

#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_busy_kind {
    CM_BUSY_VAIN,   /* nothing would be lost if the process ended */
    CM_BUSY_ASKED,  /* it looks at what is asked, and ends soon after */
    CM_BUSY_AWAITED /* it is not broken off however long it takes, as a checkpoint */
} cm_busy_kind;

/* From now on, until the next call: `what` goes on "still ...", as "acting"; a literal. For one thread. */
void cm_busy_with(const char *what, cm_busy_kind kind);

const char *cm_busy_what(cm_busy_kind *kind); /* for any thread; "beginning", in vain, before all */

/* How far it is, counted in one of these. */
typedef enum cm_busy_unit { CM_BUSY_NOTHING, CM_BUSY_STEPS, CM_BUSY_UPDATES, CM_BUSY_EPISODES } cm_busy_unit;

/* There will be so many; cm_busy_with ends that. For one thread. */
void cm_busy_of(cm_busy_unit unit, int64_t count);
/* So many more are done; nothing where something else is counted. For any thread. */
void cm_busy_count(cm_busy_unit unit, int64_t count);

/* "evaluating 12 of 120 episodes", or what it is at alone; *since <- time of the clock when it began. For any thread.
 */
void cm_busy_format(char out[96], double *since);

/* What whoever ends the process in vain calls first, at most once: it takes away what is no use to anybody. For one
 * thread; NULL: nothing does. */
void cm_busy_undo_by(void (*undo)(const void *context), const void *context);
void cm_busy_undo(void); /* for any thread */

#ifdef __cplusplus
}
#endif
#endif
