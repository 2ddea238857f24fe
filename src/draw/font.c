#include "draw/font.h"

static const int16_t numbers[] = {
#define CM_FONT_NUMBERS
#include "draw/font_outlines.inc"
#undef CM_FONT_NUMBERS
};

/* Where each begins, and where the last one ends. */
static const uint16_t starts[CM_FONT_GLYPHS + 1] = {
#define CM_FONT_STARTS
#include "draw/font_outlines.inc"
#undef CM_FONT_STARTS
};

const int16_t *cm_font_outline(unsigned character, int *count) {
    const unsigned last = CM_FONT_FIRST + CM_FONT_GLYPHS - 1;
    const unsigned index = (character < CM_FONT_FIRST || character > last ? '?' : character) - CM_FONT_FIRST;
    *count = starts[index + 1] - starts[index];
    return numbers + starts[index];
}
