#include "backend/call_key.h"

#include <string.h>

_Static_assert(sizeof(cm_call_key) == CM_CALL_TENSORS * sizeof(void *) + CM_CALL_KEY_FIELDS * sizeof(int32_t),
               "padding");

static void put_tensor(int32_t *field, const cm_tensor *t) {
    *field++ = (int32_t)t->dtype << 8 | t->ndim << 4 | cm_alignment_gap(t->data);
    for (int d = 0; d < CM_MAX_DIMS; d++) *field++ = t->dim[d];
    *field = t->stride;
}

cm_call_key cm_call_key_of(const cm_call *call, uint32_t kept) {
    const cm_attr *a = &call->attr;
    cm_call_key key = {.field = {(int32_t)call->op, (int32_t)a->activation, (int32_t)a->compute, (int32_t)a->accumulate,
                                 (int32_t)a->encoding, a->actions, a->stride, a->horizon}};
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        const cm_tensor *t = &call->t[i];
        if (kept >> i & 1) key.kept[i] = t->data;
        if (t->data) put_tensor(&key.field[CM_CALL_KEY_ATTRIBUTES + i * CM_CALL_KEY_TENSOR], t);
    }
    return key;
}

bool cm_call_key_same(const cm_call_key *a, const cm_call_key *b) { return memcmp(a, b, sizeof *a) == 0; }
