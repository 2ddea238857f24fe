/* A block on a device that the host sees, too: where the device is the host they are one block, elsewhere the host has
 * a copy of its own that is pushed and fetched as a whole. For what is written or read now and then (weights,
 * moments); what is used in every step goes through streams (backend.h). */
#ifndef CM_DEVICE_MIRROR_H
#define CM_DEVICE_MIRROR_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_mirror {
    cm_buffer block; /* on the device; base NULL if none was taken */
    void *host;      /* [block.bytes]; block.base itself where the device is the host */
    bool is_pinned;  /* the host's side is memory of device->pin */
} cm_mirror;

/* Takes at least `bytes`, zeroed on both sides. The caller destroys it. Errors: CM_ERR_MEMORY names `what`. */
cm_status cm_mirror_create(cm_mirror *mirror, const cm_device *device, size_t bytes, const char *what) CM_MUST_USE;
/* The same with a host's side that cm_stream_push and cm_stream_pull may be given. */
cm_status cm_mirror_create_pinned(cm_mirror *mirror, const cm_device *device, size_t bytes,
                                  const char *what) CM_MUST_USE;
void cm_mirror_destroy(cm_mirror *mirror); /* a zeroed struct is allowed; leaves it zeroed */

/* The device's content becomes the host's, and the other way round. Of a zeroed struct: nothing. Errors:
 * CM_ERR_DEVICE. */
cm_status cm_mirror_push(cm_mirror *mirror) CM_MUST_USE;
cm_status cm_mirror_fetch(cm_mirror *mirror) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
