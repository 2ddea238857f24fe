/* Numbers that a byte stands for: 0, 1 .. 255 times a unit. */
#ifndef CM_CORE_UNIT_H
#define CM_CORE_UNIT_H

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The byte that `number` is `unit` times of, unit > 0, to the bit; -1 if there is none. */
static inline int cm_unit_byte(float number, float unit) {
    const float byte = rintf(number / unit);
    return byte >= 0.0f && byte <= (float)UINT8_MAX && byte * unit == number ? (int)byte : -1;
}

#ifdef __cplusplus
}
#endif
#endif
