/* The softmax of one run of logits, in double; losses stand on it. */
#ifndef CM_BACKEND_REF_SOFTMAX_H
#define CM_BACKEND_REF_SOFTMAX_H

#include "backend/ref/loops.h"

/* Of x[n], over the entries whose legal[i] is not 0 (legal may be NULL). A NaN makes everything NaN. */
cm_softmax_d ref_softmax_of(const float *x, const float *legal, int n);

#endif
