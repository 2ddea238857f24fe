/* A backend that computes nothing and allocates no memory: what is created on it says what it would take of a device.
 *
 * Its device hands out addresses that must not be followed and keeps account by the names of the blocks; its operations
 * do nothing. So a plan of memory is made by the code that takes the memory, and cannot differ from it. */
#ifndef CM_BACKEND_MEASURE_H
#define CM_BACKEND_MEASURE_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_MEASURE_ROWS = 48, CM_MEASURE_NAME_BYTES = 48 };

typedef struct cm_measured {
    char what[CM_MEASURE_NAME_BYTES]; /* as in device->alloc, cut */
    size_t bytes;                     /* of all blocks of this name that are out */
} cm_measured;

/* In the place of the open backend `of`, which is borrowed: what lies on its device lies on this one's. The caller
 * closes it with cm_backend_close, after all that was created on it. */
cm_status cm_measure_open(const cm_backend *of, cm_backend **out) CM_MUST_USE;

/* The rows so far, in the order of their first block; returns how many (at most CM_MEASURE_ROWS: those beyond count in
 * the last one). */
int cm_measure_rows(const cm_backend *measure, cm_measured rows[CM_MEASURE_ROWS]);
size_t cm_measure_streams(const cm_backend *measure); /* bytes that open streams take for themselves and their calls */
size_t cm_measure_pinned(const cm_backend *measure);  /* bytes of pinned memory of the host that are out */

#ifdef __cplusplus
}
#endif
#endif
