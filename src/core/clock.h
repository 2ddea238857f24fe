/* Time. Results of a run never depend on it; it is for people and for limits that a user asked for. */
#ifndef CM_CORE_CLOCK_H
#define CM_CORE_CLOCK_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

double cm_clock_seconds(void);                         /* monotonic seconds since an arbitrary start, ns resolution */
double cm_clock_unix(void);                            /* seconds since 1970 */
void cm_clock_stamp(char out[32]);                     /* local time as YYYYmmdd-HHMMSS, for names */
void cm_clock_format_duration(double s, char out[16]); /* "12s", "3m05s", "2h07m" */

#ifdef __cplusplus
}
#endif
#endif
