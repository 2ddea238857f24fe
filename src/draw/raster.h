/* Pixels of a scene. Edges are smooth: a pixel is covered as far as the shape covers its area, exactly. */
#ifndef CM_DRAW_RASTER_H
#define CM_DRAW_RASTER_H

#include "draw/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A picture that keeps its memory from one to the next. A zeroed struct is none; the owner frees it. */
typedef struct cm_image {
    int width, height;
    uint8_t *rgb; /* [height, width, 3] */
    size_t space; /* bytes of rgb */
    float *cover; /* [height, width + 2] scratch */
} cm_image;

enum { CM_IMAGE_SIDE = 8192 }; /* most pixels of a side */

void cm_image_free(cm_image *image);

/* Takes memory for a picture of that size, whose pixels are not set. Errors: CM_ERR_INPUT if a side is not in 1 ..
 * CM_IMAGE_SIDE, CM_ERR_MEMORY. */
cm_status cm_image_resize(cm_image *image, int width, int height) CM_MUST_USE;

/* The scene, `scale` pixels a unit: its width and height times that, rounded. Errors: those of cm_image_resize;
 * CM_ERR_MEMORY if the scene lacks shapes. */
cm_status cm_scene_render(const cm_scene *scene, double scale, cm_image *image) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
