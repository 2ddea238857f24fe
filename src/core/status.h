/* Status codes and the message that goes with them.
 *
 * Every function that can fail returns a cm_status and leaves one line in a thread-local message: what is wrong, where,
 * and what to do. Only cli/ exits the process. Asserts are for bugs; no user input reaches one.
 */
#ifndef CM_CORE_STATUS_H
#define CM_CORE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions marked CM_HD compile as C17 and, inside a .cu file, for host and device. */
#ifdef __CUDACC__
#define CM_HD __host__ __device__
#else
#define CM_HD
#endif

/* Before a loop: written out for a device where the compiler knows how often it runs, so that the arrays that it walks
 * over are registers. */
#ifdef __CUDA_ARCH__
#define CM_WRITTEN_OUT _Pragma("unroll")
#else
#define CM_WRITTEN_OUT
#endif

#if defined(__GNUC__)
#define CM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CM_MUST_USE          __attribute__((warn_unused_result))
#else
#define CM_PRINTF(fmt, args)
#define CM_MUST_USE
#endif

typedef enum cm_status {
    CM_OK = 0,
    CM_ERR_INPUT,       /* bad value from the user: flag, configuration, file content, argument (exit 2 in the CLI) */
    CM_ERR_IO,          /* the operating system refused: open, read, write, rename, full disk                      */
    CM_ERR_MEMORY,      /* an allocation or a memory plan does not fit                                             */
    CM_ERR_DEVICE,      /* a device or its library reported an error                                               */
    CM_ERR_MODEL,       /* the model given to a search reported an error                                           */
    CM_ERR_STATE,       /* call in the wrong order, e.g. step after the end of an episode, use after donation      */
    CM_ERR_NOT_FINITE,  /* NaN or Inf where a finite number must be                                                */
    CM_ERR_ABSENT,      /* the feature is not in this build or on this machine                                     */
    CM_ERR_INTERRUPTED, /* a signal or another rank asked to stop                                                  */
} cm_status;

/* Sets this thread's message (printf format; shown as core/printable.h says) and returns `code`. Use:
 * return cm_fail(CM_ERR_IO, "..."). */
cm_status cm_fail(cm_status code, const char *format, ...) CM_PRINTF(2, 3);

/* Puts "prefix: " before the current message and returns `code`; for callers that know the place (file, key, tensor).
 */
cm_status cm_fail_in(cm_status code, const char *format, ...) CM_PRINTF(2, 3);

/* This thread's last message, "" if none; owned by the thread, valid until its next cm_fail. */
const char *cm_error_message(void);

/* Returns from the calling function if `expression` is not CM_OK. */
#define CM_TRY(expression)                                                                                             \
    do {                                                                                                               \
        cm_status cm_try_status_ = (expression);                                                                       \
        if (cm_try_status_ != CM_OK) return cm_try_status_;                                                            \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
