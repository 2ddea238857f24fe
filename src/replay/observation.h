/* Observations whose numbers are bytes, times a unit. */
#ifndef CM_REPLAY_OBSERVATION_H
#define CM_REPLAY_OBSERVATION_H

#include "core/frames.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out[count] = the bytes that observation[count] is `unit` times of. Errors: CM_ERR_INPUT for a number that is not. */
cm_status cm_observation_pack(const float *observation, size_t count, float unit, uint8_t *out) CM_MUST_USE;

/* The same of frame k of a stack. */
cm_status cm_observation_pack_frame(const cm_frames_shape *shape, const float *stack, int k, float unit,
                                    uint8_t *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
