/* What the drawings of environments share: boards, stones, letters at their sides, turns. Units are those of a scene
 * (draw/scene.h), 320 of them from left to right. */
#ifndef CM_ENV_DRAWING_H
#define CM_ENV_DRAWING_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Cells in rows and columns; cell r * columns + c is in row r from the top. */
typedef struct cm_drawn_grid {
    int rows, columns;
    double x, y, cell; /* upper left corner, side of a cell */
} cm_drawn_grid;

/* The largest grid that leaves `margin` on all sides; the scene becomes as high as it needs. */
cm_drawn_grid cm_drawing_grid(cm_scene *scene, int rows, int columns, double margin);

double cm_drawing_x(const cm_drawn_grid *grid, int cell); /* of a cell's middle */
double cm_drawing_y(const cm_drawn_grid *grid, int cell);

/* Letters over the columns and numbers left of the rows, as actions name them, in the margin. */
void cm_drawing_labels(cm_scene *scene, const cm_drawn_grid *grid, cm_colour colour);

/* Lines between cells, or through their middles. */
void cm_drawing_lines(cm_scene *scene, const cm_drawn_grid *grid, bool through, cm_colour colour);

/* A stone with an edge that lets it stand out, and a mark on the last one; `moment` as in cm_env_def.draw. */
void cm_drawing_stone(cm_scene *scene, const cm_drawn_grid *grid, int cell, cm_colour colour);
void cm_drawing_mark(cm_scene *scene, const cm_drawn_grid *grid, const cm_env_moment *moment, cm_colour colour);

/* A board of lines with black and white stones of players 0 and 1 on their crossings, as of Go. */
void cm_drawing_crossings(cm_scene *scene, int size, const int32_t *cells, const cm_env_moment *moment);

/* A board of squares with stones in the players' colours, as where a row says no more. */
void cm_drawing_squares(cm_scene *scene, int rows, int columns, const int32_t *cells, const cm_env_moment *moment);

/* An arrow around (x, y) from the top: `share` of half a circle, -1 .. 1, clockwise if above 0. */
void cm_drawing_turn(cm_scene *scene, double x, double y, double radius, double share, cm_colour colour);

/* What number 0 of a continuous action is, -1 .. 1 of its bounds, where all its bins are `bins`; 0 without an action.
 */
double cm_drawing_share(const cm_env_moment *moment, int bins);

#ifdef __cplusplus
}
#endif
#endif
