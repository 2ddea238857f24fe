/* Keys of the plans that backends keep for calls. */
#ifndef CM_BACKEND_CALL_KEY_H
#define CM_BACKEND_CALL_KEY_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_CALL_KEY_ATTRIBUTES = 8, CM_CALL_KEY_TENSOR = CM_MAX_DIMS + 2 };
enum { CM_CALL_KEY_FIELDS = CM_CALL_KEY_ATTRIBUTES + CM_CALL_TENSORS * CM_CALL_KEY_TENSOR };

/* What a plan may depend on: the operation, the attributes of those that have plans, types, shapes, strides and
 * alignments of all tensors, addresses of those that it keeps. Calls whose keys are the same bytes, of which none is
 * padding, share a plan. */
typedef struct cm_call_key {
    const void *kept[CM_CALL_TENSORS];
    int32_t field[CM_CALL_KEY_FIELDS];
} cm_call_key;

/* Bytes by which an address misses the next lower multiple of 16. */
static inline int cm_alignment_gap(const void *address) { return (int)((uintptr_t)address % 16); }

/* The key of a call whose plan keeps the addresses of the tensors of bits `kept` (bit i = tensor i). */
cm_call_key cm_call_key_of(const cm_call *call, uint32_t kept);

bool cm_call_key_same(const cm_call_key *a, const cm_call_key *b);

#ifdef __cplusplus
}
#endif
#endif
