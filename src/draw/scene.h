/* A drawing: shapes in the order in which they cover each other, without a thought of who shows them. draw/raster.h
 * makes pixels of it, draw/vector.h the text of an SVG picture.
 *
 * Lengths are units, x to the right, y downwards, from the upper left corner; a drawing of an environment is 320 units
 * wide. A scene grows as shapes are added and keeps its memory over cm_scene_begin. Where memory runs out further
 * shapes are left out, and whoever shows the scene fails. A zeroed struct is an empty scene; the owner frees it.
 */
#ifndef CM_DRAW_SCENE_H
#define CM_DRAW_SCENE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t cm_colour; /* 0xRRGGBB */

/* The colours that all drawings share. */
enum {
    CM_COLOUR_PAPER = 0xffffff,
    CM_COLOUR_SHADE = 0xeef1f5, /* areas behind things */
    CM_COLOUR_FAINT = 0xd0d7de, /* lines behind things */
    CM_COLOUR_GREY = 0x8b949e,
    CM_COLOUR_INK = 0x24292f,
    CM_COLOUR_RED = 0xd1383d,
    CM_COLOUR_BLUE = 0x2f6fdb,
    CM_COLOUR_ORANGE = 0xe8833a,
    CM_COLOUR_YELLOW = 0xf2c230,
    CM_COLOUR_GREEN = 0x2e8b57,
    CM_COLOUR_CYAN = 0x3fb5c4,
    CM_COLOUR_MAGENTA = 0xb05cc6,
    CM_COLOUR_WOOD = 0xe8c48b,
    CM_COLOUR_WOOD_LINE = 0x7a5a30
};

typedef enum cm_shape_kind {
    CM_SHAPE_RECTANGLE,
    CM_SHAPE_CIRCLE,
    CM_SHAPE_LINE,
    CM_SHAPE_POLYGON,
    CM_SHAPE_TEXT,
    CM_SHAPE_IMAGE
} cm_shape_kind;

typedef enum cm_anchor { CM_ANCHOR_START, CM_ANCHOR_MIDDLE, CM_ANCHOR_END } cm_anchor;

typedef struct cm_shape {
    cm_shape_kind kind;
    cm_colour colour;
    double x, y;          /* upper left corner, centre, first end, of a text the anchor on its base line */
    double width, height; /* of a rectangle or image; of a line its other end less the first one */
    double size;          /* radius of a circle or of a rectangle's corners, thickness of a line, size of a text */
    cm_anchor anchor;     /* of a text */
    size_t first, count;  /* numbers of a polygon, two a point; bytes of a text, or of an image, three a pixel */
    int columns, rows;    /* pixels of an image */
} cm_shape;

/* Where the cells of a board are drawn, for those who click on one: of cell r * columns + c the middle is (x + c *
 * column[0] + r * row[0], y + c * column[1] + r * row[1]). columns 0: there is no board. */
typedef struct cm_scene_cells {
    int rows, columns;
    double x, y, column[2], row[2], size; /* size: of a cell, across */
} cm_scene_cells;

/* For readers; written by the functions below, but for the first three, which may be changed at any time: shapes stay
 * where they are. */
typedef struct cm_scene {
    double width, height;
    cm_colour background;
    cm_status status; /* CM_ERR_MEMORY: shapes are missing */
    size_t shapes, shape_space, numbers, number_space, bytes, byte_space;
    cm_shape *shape;     /* [shapes] */
    double *number;      /* [numbers] */
    unsigned char *byte; /* [bytes] */
    cm_scene_cells cells;
} cm_scene;

/* An empty scene of that size, both above 0. */
void cm_scene_begin(cm_scene *scene, double width, double height, cm_colour background);
void cm_scene_free(cm_scene *scene);

void cm_scene_rectangle(cm_scene *scene, double x, double y, double width, double height, double corner,
                        cm_colour colour);
void cm_scene_circle(cm_scene *scene, double x, double y, double radius, cm_colour colour);
void cm_scene_line(cm_scene *scene, double x1, double y1, double x2, double y2, double thickness,
                   cm_colour colour); /* with round ends */
/* xy[2 * count]; lines may cross, and what they go round is filled. */
void cm_scene_polygon(cm_scene *scene, const double *xy, int count, cm_colour colour);
/* In a font whose letters are all CM_TEXT_ADVANCE * size wide; (x, y) is on the base line. UTF-8. */
#define CM_TEXT_ADVANCE 0.602
void cm_scene_text(cm_scene *scene, double x, double y, double size, cm_anchor anchor, cm_colour colour,
                   const char *text);
/* rgb[rows * columns * 3] is copied, and scaled to the rectangle. */
void cm_scene_image(cm_scene *scene, double x, double y, double width, double height, const uint8_t *rgb, int columns,
                    int rows);

/* A line that ends with a head of three times its thickness; none where it is shorter than that. */
void cm_scene_arrow(cm_scene *scene, double x1, double y1, double x2, double y2, double thickness, cm_colour colour);

/* A circle's outline, `thickness` thick, `radius` in the middle of it, around what is `inside`. */
void cm_scene_ring(cm_scene *scene, double x, double y, double radius, double thickness, cm_colour colour,
                   cm_colour inside);

#ifdef __cplusplus
}
#endif
#endif
