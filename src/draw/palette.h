/* The few colours that stand for all of a picture's: its own where they are few, else those of a median cut (Heckbert
 * 1982) over colours of 15 bits. */
#ifndef CM_DRAW_PALETTE_H
#define CM_DRAW_PALETTE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_PALETTE_COLOURS = 255, CM_PALETTE_BINS = 1 << 15 };

/* Pixels whose colours agree in the upper five bits of red, green and blue. */
typedef struct cm_palette_bin {
    uint32_t count, sum[3];
    int16_t index; /* of the colour that stands for them */
} cm_palette_bin;

typedef struct cm_palette {
    int count; /* 1 .. CM_PALETTE_COLOURS after cm_palette_choose, if there is a pixel at all */
    uint8_t rgb[CM_PALETTE_COLOURS][3];
    int used; /* bins that have pixels */
    uint16_t list[CM_PALETTE_BINS];
    cm_palette_bin bin[CM_PALETTE_BINS];
} cm_palette;

void cm_palette_begin(cm_palette *palette); /* of a zeroed one, or of the last picture's: no pixel */
void cm_palette_add(cm_palette *palette, const uint8_t rgb[3]);
void cm_palette_choose(cm_palette *palette);

/* The index of a colour that was added. */
static inline unsigned cm_palette_bin_of(const uint8_t rgb[3]) {
    return (unsigned)(rgb[0] >> 3) << 10 | (unsigned)(rgb[1] >> 3) << 5 | (unsigned)(rgb[2] >> 3);
}
static inline int cm_palette_index(const cm_palette *palette, const uint8_t rgb[3]) {
    return palette->bin[cm_palette_bin_of(rgb)].index;
}

#ifdef __cplusplus
}
#endif
#endif
