/* System calls that a signal has interrupted are made again:
 *
 *     do n = read(file, data, size);
 *     while (cm_is_eintr(n));
 */
#ifndef CM_CORE_RETRY_H
#define CM_CORE_RETRY_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `result`: of a call that returns a negative number on failure and sets errno. */
static inline bool cm_is_eintr(ssize_t result) { return result < 0 && errno == EINTR; }

#ifdef __cplusplus
}
#endif
#endif
