/* Observations whose numbers are bytes, times a unit. */
#include <math.h>

#include "replay/internal.h"

static bool is_packed_as(float number, float unit, float byte) {
    return byte >= 0.0f && byte <= (float)UINT8_MAX && byte * unit == number;
}

cm_status cm_observation_pack(const float *observation, size_t count, float unit, uint8_t *out) {
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const float byte = rintf(observation[i] / unit);
        const bool is_right = is_packed_as(observation[i], unit, byte);
        out[i] = (uint8_t)(is_right ? (int)byte : 0);
        wrong |= !is_right;
    }
    for (size_t i = 0; wrong && i < count; i++) {
        if (is_packed_as(observation[i], unit, rintf(observation[i] / unit))) continue;
        return cm_fail(CM_ERR_INPUT, "number %zu of an observation is %g, which is not k times %g, k of 0 .. 255", i,
                       (double)observation[i], (double)unit);
    }
    return CM_OK;
}
