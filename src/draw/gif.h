/* Animated GIF pictures, by giflib. A frame after the first writes the smallest rectangle that has changed, and of that
 * only the pixels that have. */
#ifndef CM_DRAW_GIF_H
#define CM_DRAW_GIF_H

#include "draw/raster.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_gif cm_gif;

/* Where the bytes go, in order. Its error, and message, are those of the call that writes. */
typedef cm_status cm_gif_write(void *context, const void *bytes, size_t size);

/* The caller owns *out; `context` is borrowed. Errors: CM_ERR_MEMORY. */
cm_status cm_gif_create(cm_gif_write *write, void *context, cm_gif **out) CM_MUST_USE;

/* Adds a frame that stays for so many hundredths of a second; all have the size of the first. Errors: those of `write`,
 * CM_ERR_MEMORY. */
cm_status cm_gif_add(cm_gif *gif, const cm_image *image, int hundredths) CM_MUST_USE;

/* Writes the end, after at least one frame. Errors: those of `write`. */
cm_status cm_gif_end(cm_gif *gif) CM_MUST_USE;
void cm_gif_destroy(cm_gif *gif); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
