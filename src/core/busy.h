/* What the program is at, for those who wait for its end after they have asked for it. */
#ifndef CM_CORE_BUSY_H
#define CM_CORE_BUSY_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on, until the next call: `what` goes on "still ...", as "acting"; a literal. `is_awaited`: it is not broken
 * off however long it takes, as a checkpoint. For one thread. */
void cm_busy_with(const char *what, bool is_awaited);

const char *cm_busy_what(bool *is_awaited); /* for any thread; "beginning" before all */

#ifdef __cplusplus
}
#endif
#endif
