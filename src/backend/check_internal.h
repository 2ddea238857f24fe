/* What the files of the argument checks give each other: check.c (calls, and tensors by themselves), check_shapes.c
 * (sizes that belong together, in a notation), check_attributes.c (what is read from cm_attr). */
#ifndef CM_BACKEND_CHECK_INTERNAL_H
#define CM_BACKEND_CHECK_INTERNAL_H

#include "backend/check.h"

enum { CM_NO_TENSOR = -1 };

/* What a letter of a shape stands for. */
typedef struct cm_letter {
    int size;   /* 0: not known */
    int tensor; /* of the call, that gave the size; CM_NO_TENSOR: an attribute did */
} cm_letter;

typedef struct cm_letters {
    cm_letter of[128]; /* by the letter */
    int lead;          /* tensor whose dimensions '*' stands for; CM_NO_TENSOR: none yet */
} cm_letters;

/* Does the call have the attributes that its operation reads, in their ranges? Fills the letters that come from them.
 * All tensors are well-formed. Errors: CM_ERR_INPUT. */
cm_status cm_check_attributes(const cm_call *call, cm_letters *letters) CM_MUST_USE;

/* Do the tensors have the shapes of their operation? Letters that no attribute gave are filled. Errors: CM_ERR_INPUT.
 */
cm_status cm_check_shapes(const cm_call *call, cm_letters *letters) CM_MUST_USE;

/* CM_ERR_INPUT, "dense: weight is float32 [64, 131]: WHAT". */
cm_status cm_check_refuse(const cm_call *call, int tensor, const char *what) CM_MUST_USE;
#endif
