#include "draw/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cm_scene_begin(cm_scene *scene, double width, double height, cm_colour background) {
    scene->width = width, scene->height = height;
    scene->background = background;
    scene->cells = (cm_scene_cells){.columns = 0};
    scene->status = CM_OK;
    scene->shapes = scene->numbers = scene->bytes = 0;
}

void cm_scene_free(cm_scene *scene) {
    free(scene->shape);
    free(scene->number);
    free(scene->byte);
    *scene = (cm_scene){.status = CM_OK};
}

/* The array `items`, whose items have `size` bytes, with space for `more` after the first `used`; NULL: there is none.
 */
static void *reserve(cm_scene *scene, void *items, size_t *space, size_t used, size_t more, size_t size) {
    if (scene->status != CM_OK) return NULL;
    if (used + more <= *space) return items;
    const size_t wanted = used + more > 2 * *space ? used + more + 16 : 2 * *space;
    void *grown = realloc(items, wanted * size);
    if (grown) {
        *space = wanted;
    } else {
        scene->status = CM_ERR_MEMORY;
    }
    return grown;
}

static void add(cm_scene *scene, cm_shape shape) {
    cm_shape *all = reserve(scene, scene->shape, &scene->shape_space, scene->shapes, 1, sizeof *all);
    if (!all) return;
    scene->shape = all;
    all[scene->shapes++] = shape;
}

/* Adds a shape with bytes of its own. */
static void add_with(cm_scene *scene, cm_shape shape, const void *bytes, size_t count) {
    shape.first = scene->bytes, shape.count = count;
    unsigned char *all = reserve(scene, scene->byte, &scene->byte_space, scene->bytes, count + 1, 1);
    if (!all) return;
    scene->byte = all;
    memcpy(all + scene->bytes, bytes, count);
    scene->bytes += count;
    add(scene, shape);
}

void cm_scene_rectangle(cm_scene *scene, double x, double y, double width, double height, double corner,
                        cm_colour colour) {
    add(scene, (cm_shape){.kind = CM_SHAPE_RECTANGLE,
                          .colour = colour,
                          .x = x,
                          .y = y,
                          .width = width,
                          .height = height,
                          .size = corner});
}

void cm_scene_circle(cm_scene *scene, double x, double y, double radius, cm_colour colour) {
    add(scene, (cm_shape){.kind = CM_SHAPE_CIRCLE, .colour = colour, .x = x, .y = y, .size = radius});
}

void cm_scene_line(cm_scene *scene, double x1, double y1, double x2, double y2, double thickness, cm_colour colour) {
    add(scene, (cm_shape){.kind = CM_SHAPE_LINE,
                          .colour = colour,
                          .x = x1,
                          .y = y1,
                          .width = x2 - x1,
                          .height = y2 - y1,
                          .size = thickness});
}

void cm_scene_polygon(cm_scene *scene, const double *xy, int count, cm_colour colour) {
    const cm_shape shape = {
        .kind = CM_SHAPE_POLYGON, .colour = colour, .first = scene->numbers, .count = 2 * (size_t)count};
    double *all = reserve(scene, scene->number, &scene->number_space, scene->numbers, shape.count + 1, sizeof *all);
    if (!all) return;
    scene->number = all;
    memcpy(all + scene->numbers, xy, shape.count * sizeof *xy);
    scene->numbers += shape.count;
    add(scene, shape);
}

void cm_scene_text(cm_scene *scene, double x, double y, double size, cm_anchor anchor, cm_colour colour,
                   const char *text) {
    const cm_shape shape = {.kind = CM_SHAPE_TEXT, .colour = colour, .x = x, .y = y, .size = size, .anchor = anchor};
    add_with(scene, shape, text, strlen(text));
}

void cm_scene_image(cm_scene *scene, double x, double y, double width, double height, const uint8_t *rgb, int columns,
                    int rows) {
    const cm_shape shape = {
        .kind = CM_SHAPE_IMAGE, .x = x, .y = y, .width = width, .height = height, .columns = columns, .rows = rows};
    add_with(scene, shape, rgb, (size_t)columns * (size_t)rows * 3);
}

void cm_scene_arrow(cm_scene *scene, double x1, double y1, double x2, double y2, double thickness, cm_colour colour) {
    const double across = x2 - x1, down = y2 - y1, length = sqrt(across * across + down * down), head = 3.0 * thickness;
    if (length < head) return;
    const double ux = (x2 - x1) / length, uy = (y2 - y1) / length, bx = x2 - head * ux, by = y2 - head * uy;
    const double tip[] = {
        x2, y2, bx - 0.6 * head * uy, by + 0.6 * head * ux, bx + 0.6 * head * uy, by - 0.6 * head * ux};
    cm_scene_line(scene, x1, y1, bx, by, thickness, colour);
    cm_scene_polygon(scene, tip, 3, colour);
}

void cm_scene_ring(cm_scene *scene, double x, double y, double radius, double thickness, cm_colour colour,
                   cm_colour inside) {
    cm_scene_circle(scene, x, y, radius + 0.5 * thickness, colour);
    cm_scene_circle(scene, x, y, radius - 0.5 * thickness, inside);
}
