/* What is so on one device and not on another, such as what code a driver has for a kernel: asked once on each. */
#ifndef CM_DEVICE_CUDA_KNOWN_H
#define CM_DEVICE_CUDA_KNOWN_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_KNOWN_DEVICES = 64 };

/* Zeros: nothing is known. Any thread may ask at any time. */
typedef struct cm_known {
    unsigned char on[CM_KNOWN_DEVICES];
} cm_known;

/* ask(of), which is remembered for `device`, but for those from CM_KNOWN_DEVICES on. */
static inline bool cm_known_on(cm_known *known, int device, bool (*ask)(const void *), const void *of) {
    enum { UNKNOWN, NO, YES };
    if (device < 0 || device >= CM_KNOWN_DEVICES) return ask(of);
    unsigned char found = __atomic_load_n(&known->on[device], __ATOMIC_RELAXED);
    if (found == UNKNOWN) {
        found = ask(of) ? YES : NO;
        __atomic_store_n(&known->on[device], found, __ATOMIC_RELAXED);
    }
    return found == YES;
}

#ifdef __cplusplus
}
#endif
#endif
