/* Scenes as text of SVG elements. */
#ifndef CM_DRAW_VECTOR_H
#define CM_DRAW_VECTOR_H

#include <stdio.h>

#include "draw/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes shape number `index` as one element. Errors: CM_ERR_MEMORY, of an image. That `out` takes it all is for the
 * caller to see (ferror). */
cm_status cm_vector_put_shape(FILE *out, const cm_scene *scene, size_t index) CM_MUST_USE;

/* Writes the address of the pixels of an image, "data:image/gif;base64,...". Errors: CM_ERR_MEMORY. */
cm_status cm_vector_put_pixels(FILE *out, const cm_scene *scene, const cm_shape *image) CM_MUST_USE;

/* Writes the start of a picture of width x height units, `scale` pixels each, as far as its background; its end is
 * "</svg>". */
void cm_vector_put_start(FILE *out, const cm_scene *scene, double scale, const char *title);

/* A number with two digits at most after the point, from 100 on with one. */
void cm_vector_put_number(FILE *out, double number);

#ifdef __cplusplus
}
#endif
#endif
