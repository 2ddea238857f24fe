/* Base64 (RFC 4648), with padding, into a file. */
#ifndef CM_CORE_BASE64_H
#define CM_CORE_BASE64_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed but for `out`, which is borrowed. That it takes it all is for the caller to see (ferror). */
typedef struct cm_base64 {
    FILE *out;
    unsigned bits;
    int waiting; /* bytes of `bits` that no digits stand for yet: 0, 1 or 2 */
} cm_base64;

/* Goes on with bytes[size]. */
void cm_base64_put(cm_base64 *writer, const void *bytes, size_t size);
/* Writes what is left. */
void cm_base64_end(cm_base64 *writer);

#ifdef __cplusplus
}
#endif
#endif
