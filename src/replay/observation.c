#include "replay/observation.h"

#include "core/unit.h"

static cm_status fail(size_t number, float value, float unit) {
    return cm_fail(CM_ERR_INPUT, "number %zu of an observation is %g, which is not k times %g, k of 0 .. 255", number,
                   (double)value, (double)unit);
}

cm_status cm_observation_pack(const float *observation, size_t count, float unit, uint8_t *out) {
    int wrong = 0; /* negative if one is */
    for (size_t i = 0; i < count; i++) {
        const int byte = cm_unit_byte(observation[i], unit);
        out[i] = (uint8_t)byte;
        wrong |= byte;
    }
    for (size_t i = 0; wrong < 0 && i < count; i++)
        if (cm_unit_byte(observation[i], unit) < 0) return fail(i, observation[i], unit);
    return CM_OK;
}

cm_status cm_observation_pack_frame(const cm_frames_shape *s, const float *stack, int k, float unit, uint8_t *out) {
    const size_t channels = s->channels, width = (size_t)s->count * channels, cells = s->size / channels;
    const float *from = stack + (size_t)k * channels;
    int wrong = 0;
    for (size_t cell = 0; cell < cells; cell++)
        for (size_t c = 0; c < channels; c++) {
            const int byte = cm_unit_byte(from[cell * width + c], unit);
            out[cell * channels + c] = (uint8_t)byte;
            wrong |= byte;
        }
    for (size_t i = 0; wrong < 0 && i < s->size; i++) {
        const float number = from[i / channels * width + i % channels];
        if (cm_unit_byte(number, unit) < 0) return fail(i / channels * width + i % channels, number, unit);
    }
    return CM_OK;
}
