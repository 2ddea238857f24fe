/* Observations that are stacks of frames, for every row of one player without chance.
 *
 * A row observes single frames. Where more are wanted cm_env_open puts another row around it, whose state is
 *
 *     the K - 1 frames before the present one, oldest first, as bytes where there is a unit, else float32
 *     the state of the row itself
 *     space for a frame in float32
 *
 * and whose observation is a stack (core/frames.h). An episode begins with K copies of its first frame. So acting,
 * evaluation, drawings and checkpoints know nothing of stacks, and a replay that does keeps each frame once. */
#ifndef CM_ENV_FRAME_STACK_H
#define CM_ENV_FRAME_STACK_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stacks the frames of an environment that has been opened without: params.frame_stack, or where that is 0
 * spec.frames. Both are set to what it is, 1: nothing has changed. Errors: CM_ERR_INPUT where they cannot be. */
cm_status cm_env_stack_frames(cm_env *env) CM_MUST_USE;

/* The environment whose frames are stacked in `env`; `env` itself where none are. */
cm_env cm_env_single_frames(const cm_env *env);

#ifdef __cplusplus
}
#endif
#endif
