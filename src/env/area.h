/* Smaller pictures by the areas of their cells, to the bit as OpenCV's INTER_AREA makes them (docs/spec/atari.md 2).
 *
 * Along each axis a target cell is a sum of neighbouring source cells with weights. Products and sums are float32, each
 * rounded by itself and in a fixed order, so that every host and device gives the same bytes.
 */
#ifndef CM_ENV_AREA_H
#define CM_ENV_AREA_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_AREA_SIDE = 512 }; /* most cells of a side */

/* One axis, from `from` to `to` cells, 1 <= to <= from <= CM_AREA_SIDE. Target cell d has the sources first[d] ..
 * first[d] + count[d] - 1, whose weights are weight[d * most ..]; the rest of its `most` weights are 0. */
typedef struct cm_area_axis {
    int from, to, most;
    const int32_t *first, *count; /* [to] */
    const float *weight;          /* [to, most] */
} cm_area_axis;

/* Pictures of bytes, [rows.from, columns.from, channels] to [rows.to, columns.to, channels]. */
typedef struct cm_area cm_area;

/* The caller owns *out. Errors: CM_ERR_INPUT names a side that is out of its range; CM_ERR_MEMORY. */
cm_status cm_area_create(int height, int width, int channels, int rows, int columns, cm_area **out) CM_MUST_USE;
void cm_area_destroy(cm_area *area); /* NULL is allowed */

const cm_area_axis *cm_area_rows(const cm_area *area);
const cm_area_axis *cm_area_columns(const cm_area *area);

/* The larger of the bytes of two pictures (`other` NULL: those of one), resized into out[rows.to, columns.to,
 * channels]. By one thread at a time. */
void cm_area_resize(cm_area *area, const uint8_t *picture, const uint8_t *other, uint8_t *out);

/* A sum of bytes to the nearest of them, halves to even: below 2^22 one float32 is 1 apart from the next after adding
 * 1.5 * 2^23. */
CM_HD static inline uint8_t cm_area_round(float sum) {
    union {
        float number;
        uint32_t bits;
    } shifted = {sum + 12582912.0f};
    return (uint8_t)(shifted.bits & 0xffu);
}

/* The same as cm_area_resize for channel c of target pixel (y, x) alone, for devices that give each a thread. */
CM_HD static inline uint8_t cm_area_pixel(const cm_area_axis *rows, const cm_area_axis *columns, int channels,
                                          const uint8_t *picture, const uint8_t *other, int y, int x, int c) {
    float sum = 0.0f;
    for (int i = 0; i < rows->count[y]; i++) {
        const size_t row = (size_t)(rows->first[y] + i) * (size_t)columns->from;
        float line = 0.0f;
        for (int k = 0; k < columns->count[x]; k++) {
            const size_t at = (row + (size_t)(columns->first[x] + k)) * (size_t)channels + (size_t)c;
            const uint8_t byte = other && other[at] > picture[at] ? other[at] : picture[at];
            line += (float)byte * columns->weight[x * columns->most + k];
        }
        const float part = rows->weight[y * rows->most + i] * line;
        sum = i == 0 ? part : sum + part;
    }
    return cm_area_round(sum);
}

#ifdef __cplusplus
}
#endif
#endif
