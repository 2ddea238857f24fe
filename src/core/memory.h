/* How much memory there is, and how to say it. */
#ifndef CM_CORE_MEMORY_H
#define CM_CORE_MEMORY_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "950 B", "12 kB", "3.4 MB", "116 GB": powers of 1,000, as everywhere in messages. */
void cm_format_bytes(double bytes, char out[16]);

/* Bytes that may still be taken without driving the machine out of memory: what is available, and free swap; what a
 * container allows less is not seen. UINT64_MAX if the system does not say. */
uint64_t cm_memory_available(void);

/* CM_ERR_MEMORY "WHAT: cannot take 116 GB of memory". Here, so that analysers see that it never returns CM_OK. */
static inline cm_status cm_memory_fail(double bytes, const char *what) {
    char size[16];
    cm_format_bytes(bytes, size);
    return cm_fail(CM_ERR_MEMORY, "%s: cannot take %s of memory", what, size);
}

/* Fails if `bytes` cannot be there: "WHAT: cannot take 116 GB of memory, 21 GB are available". Errors: CM_ERR_MEMORY.
 */
cm_status cm_memory_check(double bytes, const char *what) CM_MUST_USE;

/* For callers that know what a block was wanted for: if `status` is CM_ERR_MEMORY, adds "; ADVICE" to the message, as
 * in "lower num_envs". Returns `status`. */
cm_status cm_memory_advise(cm_status status, const char *advice);

#ifdef __cplusplus
}
#endif
#endif
