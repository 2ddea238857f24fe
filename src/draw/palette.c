#include "draw/palette.h"

#include <stdlib.h>

void cm_palette_begin(cm_palette *palette) {
    for (int i = 0; i < palette->used; i++) palette->bin[palette->list[i]] = (cm_palette_bin){.count = 0};
    palette->used = palette->count = 0;
}

void cm_palette_add(cm_palette *palette, const uint8_t rgb[3]) {
    const unsigned number = cm_palette_bin_of(rgb);
    cm_palette_bin *bin = &palette->bin[number];
    if (bin->count++ == 0) palette->list[palette->used++] = (uint16_t)number;
    for (int k = 0; k < 3; k++) bin->sum[k] += rgb[k];
}

/* ---- the median cut ---- */

/* Some of the bins, one after another in the list. */
typedef struct box {
    int first, count;
    int channel, range; /* the channel that they differ most in, and by how much, 0 .. 31 */
} box;

static int level(unsigned bin, int channel) { return (int)(bin >> (10 - 5 * channel) & 31); }

static void measure(const cm_palette *palette, box *b) {
    b->range = -1;
    for (int channel = 0; channel < 3; channel++) {
        int low = 31, high = 0;
        for (int i = b->first; i < b->first + b->count; i++) {
            const int here = level(palette->list[i], channel);
            low = here < low ? here : low, high = here > high ? here : high;
        }
        if (high - low > b->range) b->range = high - low, b->channel = channel;
    }
}

static int compare(const void *a, const void *b, int channel) {
    const unsigned x = *(const uint16_t *)a, y = *(const uint16_t *)b;
    const int by_level = level(x, channel) - level(y, channel);
    return by_level != 0 ? by_level : (int)x - (int)y;
}
static int by_red(const void *a, const void *b) { return compare(a, b, 0); }
static int by_green(const void *a, const void *b) { return compare(a, b, 1); }
static int by_blue(const void *a, const void *b) { return compare(a, b, 2); }

/* Cuts a box of two bins or more in two that have about as many pixels each; `other` is the upper one. */
static void cut(cm_palette *palette, box *b, box *other) {
    static int (*const orders[])(const void *, const void *) = {by_red, by_green, by_blue};
    uint16_t *bins = palette->list + b->first;
    uint64_t all = 0, below = 0;
    int lower = 0;
    qsort(bins, (size_t)b->count, sizeof *bins, orders[b->channel]);
    for (int i = 0; i < b->count; i++) all += palette->bin[bins[i]].count;
    while (lower < b->count - 1 && (lower == 0 || 2 * below < all)) below += palette->bin[bins[lower++]].count;
    *other = (box){.first = b->first + lower, .count = b->count - lower};
    b->count = lower;
    measure(palette, b);
    measure(palette, other);
}

/* The mean of a box's pixels becomes colour number `index`. */
static void settle(cm_palette *palette, const box *b, int index) {
    uint64_t count = 0, sum[3] = {0, 0, 0};
    for (int i = b->first; i < b->first + b->count; i++) {
        cm_palette_bin *bin = &palette->bin[palette->list[i]];
        count += bin->count;
        for (int k = 0; k < 3; k++) sum[k] += bin->sum[k];
        bin->index = (int16_t)index;
    }
    for (int k = 0; k < 3 && count > 0; k++) palette->rgb[index][k] = (uint8_t)((sum[k] + count / 2) / count);
}

void cm_palette_choose(cm_palette *palette) {
    box boxes[CM_PALETTE_COLOURS];
    int count = 0;
    if (palette->used <= CM_PALETTE_COLOURS) {
        for (; count < palette->used; count++) boxes[count] = (box){.first = count, .count = 1};
    } else {
        boxes[0] = (box){.first = 0, .count = palette->used};
        measure(palette, &boxes[0]);
        count = 1;
    }
    while (palette->used > CM_PALETTE_COLOURS && count < CM_PALETTE_COLOURS) {
        int widest = 0;
        for (int i = 1; i < count; i++)
            if (boxes[i].range > boxes[widest].range) widest = i;
        cut(palette, &boxes[widest], &boxes[count]);
        count++;
    }
    for (int i = 0; i < count; i++) settle(palette, &boxes[i], i);
    palette->count = count;
}
