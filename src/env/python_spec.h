/* What a process says of the environment in Python that it plays. */
#ifndef CM_ENV_PYTHON_SPEC_H
#define CM_ENV_PYTHON_SPEC_H

#include "core/json.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_PYTHON_NAME = 16, CM_PYTHON_STEPS = 10000000 }; /* bytes of an action's name; the highest limit of steps */

typedef struct cm_python_spec {
    cm_env_spec spec; /* what is said of it, the rest 0 */
    int32_t
        screen[3]; /* Atari: height, width, channels of the raw screens that answers bring; 0: it brings observations */
    bool has_mask, shows;
    char (*action_names)[CM_PYTHON_NAME]; /* [A], owned by the caller: free(); NULL: numbers */
} cm_python_spec;

/* Reads its description, the object that a process sends first, into a zeroed struct. Errors: CM_ERR_INPUT says what is
 * missing, of another type or out of its range; CM_ERR_MEMORY. What was taken by then is the caller's to free. */
cm_status cm_python_spec_read(const cm_json *root, cm_python_spec *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
