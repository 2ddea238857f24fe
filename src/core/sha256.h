/* SHA-256: no other file of the same one can be made, where checksums find damage alone. */
#ifndef CM_CORE_SHA256_H
#define CM_CORE_SHA256_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SHA256_BYTES = 32, CM_SHA256_HEX = 65 };

/* The hash of bytes[size]. */
void cm_sha256_of(const void *bytes, size_t size, uint8_t out[CM_SHA256_BYTES]);

/* The hash of a regular file as 64 digits, a to f small, and a NUL. Errors: CM_ERR_INPUT if it is none, as a pipe,
 * which is not waited for; CM_ERR_IO. */
cm_status cm_sha256_file(const char *path, char out[CM_SHA256_HEX]) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
