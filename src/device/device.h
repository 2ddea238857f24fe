/* Where tensors live: memory of the host or of an accelerator. No arithmetic here.
 *
 * A device is a table of functions. A buffer is one block of its memory, zeroed when taken; each memory class of a
 * training run (parameters, gradients, moments, activations, pool of hidden states, inputs) is one buffer. Tensors hold
 * addresses in buffers. Host code may follow such an address only if the device is the host; otherwise it reads and
 * writes through cm_buffer_read and cm_buffer_write. Streams, events and captured graphs belong to a backend's streams
 * (backend.h).
 */
#ifndef CM_DEVICE_DEVICE_H
#define CM_DEVICE_DEVICE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of a device, in bytes. */
typedef struct cm_device_memory {
    size_t total, available; /* of the device; to this process, now */
    size_t taken, peak;      /* through `take`, now and at most */
} cm_device_memory;

typedef struct cm_device cm_device;
struct cm_device {
    const char *name; /* "cpu", "cuda" */
    bool is_host;     /* its addresses are addresses of this process's memory */
    /* A zeroed, CM_ALIGN-aligned block; `what` names it in the error. Errors: CM_ERR_MEMORY. */
    cm_status (*alloc)(const cm_device *device, size_t bytes, const char *what, void **out);
    void (*free)(const cm_device *device, void *block, size_t bytes); /* what alloc was asked for; NULL is allowed */
    cm_status (*write)(const cm_device *device, void *to, const void *host, size_t bytes);
    cm_status (*read)(const cm_device *device, void *host, const void *from, size_t bytes);
    cm_status (*copy)(const cm_device *device, void *to, const void *from, size_t bytes); /* within the device */
    cm_status (*memory)(const cm_device *device, cm_device_memory *out); /* NULL: the device does not say */
    /* A zeroed block of the host's memory that the device copies to and from by itself (pinned); `what` names it in the
     * error. NULL: any memory of the host is as good. Errors: CM_ERR_MEMORY. */
    cm_status (*pin)(const cm_device *device, size_t bytes, const char *what, void **out);
    void (*unpin)(const cm_device *device, void *block, size_t bytes); /* what pin was asked for; NULL is allowed */
};

/* The host's memory. */
extern const cm_device cm_device_cpu;

typedef struct cm_buffer {
    unsigned char *base; /* on the device; NULL if none was taken */
    size_t bytes;
    const cm_device *device;
} cm_buffer;

/* Takes at least `bytes` (a multiple of CM_ALIGN, never 0). The caller destroys it. Errors: CM_ERR_MEMORY names `what`.
 */
cm_status cm_buffer_create(cm_buffer *buffer, const cm_device *device, size_t bytes, const char *what) CM_MUST_USE;
void cm_buffer_destroy(cm_buffer *buffer); /* a zeroed struct is allowed; leaves it zeroed */

/* Copies between host memory and bytes [offset, offset + bytes) of the buffer. Errors: CM_ERR_INPUT beyond its end;
 * CM_ERR_DEVICE. */
cm_status cm_buffer_write(cm_buffer *buffer, size_t offset, const void *host, size_t bytes) CM_MUST_USE;
cm_status cm_buffer_read(const cm_buffer *buffer, size_t offset, void *host, size_t bytes) CM_MUST_USE;

/* Copies a whole buffer into one of the same size and device. */
cm_status cm_buffer_copy(cm_buffer *to, const cm_buffer *from) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
