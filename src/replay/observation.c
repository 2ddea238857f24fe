/* Observations whose numbers are bytes, times a unit. */
#include "core/unit.h"
#include "replay/internal.h"

cm_status cm_observation_pack(const float *observation, size_t count, float unit, uint8_t *out) {
    int wrong = 0; /* negative if one is */
    for (size_t i = 0; i < count; i++) {
        const int byte = cm_unit_byte(observation[i], unit);
        out[i] = (uint8_t)byte;
        wrong |= byte;
    }
    for (size_t i = 0; wrong < 0 && i < count; i++) {
        if (cm_unit_byte(observation[i], unit) >= 0) continue;
        return cm_fail(CM_ERR_INPUT, "number %zu of an observation is %g, which is not k times %g, k of 0 .. 255", i,
                       (double)observation[i], (double)unit);
    }
    return CM_OK;
}
