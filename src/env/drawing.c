#include "env/drawing.h"

#include <math.h>
#include <stdio.h>

#include "env/maths.h"

enum { BLACK = 0x22262b, WHITE = 0xfbfbf8, EDGE = 0x6b6f75 };

/* ---- grids ---- */

cm_drawn_grid cm_drawing_grid(cm_scene *scene, int rows, int columns, double margin) {
    const double space = CM_ENV_DRAWN - 2.0 * margin;
    const double cell = fmin(space / columns, 1.25 * space / rows);
    scene->height = rows * cell + 2.0 * margin;
    const double left = 0.5 * (CM_ENV_DRAWN - columns * cell);
    scene->cells =
        (cm_scene_cells){rows, columns, left + 0.5 * cell, margin + 0.5 * cell, {cell, 0.0}, {0.0, cell}, cell};
    return (cm_drawn_grid){rows, columns, left, margin, cell};
}

double cm_drawing_x(const cm_drawn_grid *grid, int cell) { return grid->x + (cell % grid->columns + 0.5) * grid->cell; }

double cm_drawing_y(const cm_drawn_grid *grid, int cell) {
    const int row = cell / grid->columns;
    return grid->y + (row + 0.5) * grid->cell;
}

static void draw_labels(cm_scene *scene, const cm_drawn_grid *grid, bool are_points, cm_colour colour) {
    const double size = fmin(11.0, 0.7 * grid->cell);
    char text[16];
    for (int c = 0; c < grid->columns && c < 26 - are_points; c++) {
        snprintf(text, sizeof text, "%c", 'a' + c + (are_points && c >= 8));
        cm_scene_text(scene, grid->x + (c + 0.5) * grid->cell, grid->y - 0.6 * size, size, CM_ANCHOR_MIDDLE, colour,
                      text);
    }
    for (int r = 0; r < grid->rows; r++) {
        snprintf(text, sizeof text, "%d", are_points ? grid->rows - r : r + 1);
        cm_scene_text(scene, grid->x - 0.55 * size, grid->y + (r + 0.5) * grid->cell + 0.36 * size, size, CM_ANCHOR_END,
                      colour, text);
    }
}

void cm_drawing_labels(cm_scene *scene, const cm_drawn_grid *grid, cm_colour colour) {
    draw_labels(scene, grid, false, colour);
}

void cm_drawing_lines(cm_scene *scene, const cm_drawn_grid *grid, bool through, cm_colour colour) {
    const double shift = through ? 0.5 : 0.0, end = through ? -0.5 : 0.0, thickness = grid->cell > 18.0 ? 1.2 : 0.8;
    const double left = grid->x + shift * grid->cell, right = grid->x + (grid->columns + end) * grid->cell;
    const double top = grid->y + shift * grid->cell, bottom = grid->y + (grid->rows + end) * grid->cell;
    for (int c = 0; c < grid->columns + !through; c++)
        cm_scene_line(scene, left + c * grid->cell, top, left + c * grid->cell, bottom, thickness, colour);
    for (int r = 0; r < grid->rows + !through; r++)
        cm_scene_line(scene, left, top + r * grid->cell, right, top + r * grid->cell, thickness, colour);
}

/* ---- stones ---- */

void cm_drawing_stone(cm_scene *scene, const cm_drawn_grid *grid, int cell, cm_colour colour) {
    const double x = cm_drawing_x(grid, cell), y = cm_drawing_y(grid, cell), radius = 0.44 * grid->cell;
    const double edge = fmax(0.7, 0.03 * grid->cell);
    cm_scene_circle(scene, x, y, radius, colour == WHITE ? EDGE : BLACK);
    cm_scene_circle(scene, x, y, radius - edge, colour);
}

void cm_drawing_mark(cm_scene *scene, const cm_drawn_grid *grid, const cm_env_moment *moment, cm_colour colour) {
    if (moment->cell < 0 || moment->cell >= grid->rows * grid->columns) return;
    cm_scene_circle(scene, cm_drawing_x(grid, moment->cell), cm_drawing_y(grid, moment->cell), 0.15 * grid->cell,
                    colour);
}

/* The marked points of a board of 9 or more lines. */
static void draw_stars(cm_scene *scene, const cm_drawn_grid *grid) {
    const int n = grid->columns, edge = n < 13 ? 2 : 3, step = (n - 1 - 2 * edge) / 2;
    const bool has_middle = n % 2 == 1;
    if (n < 9) return;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            const bool is_corner = r != 1 && c != 1, is_centre = r == 1 && c == 1;
            if (!is_corner && (!has_middle || (!is_centre && n < 13))) continue;
            const int row = r == 2 ? n - 1 - edge : edge + r * step, column = c == 2 ? n - 1 - edge : edge + c * step;
            cm_scene_circle(scene, cm_drawing_x(grid, row * n + column), cm_drawing_y(grid, row * n + column),
                            fmax(1.6, 0.08 * grid->cell), CM_COLOUR_WOOD_LINE);
        }
    }
}

void cm_drawing_crossings(cm_scene *scene, int size, const int32_t *cells, const cm_env_moment *moment) {
    const cm_drawn_grid grid = cm_drawing_grid(scene, size, size, 20.0);
    scene->background = CM_COLOUR_WOOD;
    draw_labels(scene, &grid, true, CM_COLOUR_WOOD_LINE);
    cm_drawing_lines(scene, &grid, true, CM_COLOUR_WOOD_LINE);
    draw_stars(scene, &grid);
    for (int cell = 0; cell < size * size; cell++)
        if (cells[cell] > 0) cm_drawing_stone(scene, &grid, cell, cells[cell] == 1 ? BLACK : WHITE);
    cm_drawing_mark(scene, &grid, moment, CM_COLOUR_RED);
}

void cm_drawing_squares(cm_scene *scene, int rows, int columns, const int32_t *cells, const cm_env_moment *moment) {
    const cm_drawn_grid grid = cm_drawing_grid(scene, rows, columns, 22.0);
    cm_scene_rectangle(scene, grid.x, grid.y, columns * grid.cell, rows * grid.cell, 0.0, CM_COLOUR_SHADE);
    cm_drawing_labels(scene, &grid, CM_COLOUR_GREY);
    cm_drawing_lines(scene, &grid, false, CM_COLOUR_FAINT);
    for (int cell = 0; cell < rows * columns; cell++)
        if (cells[cell] > 0) cm_drawing_stone(scene, &grid, cell, cells[cell] == 1 ? CM_COLOUR_RED : CM_COLOUR_BLUE);
    cm_drawing_mark(scene, &grid, moment, CM_COLOUR_PAPER);
}

/* ---- motion ---- */

void cm_drawing_turn(cm_scene *scene, double x, double y, double radius, double share, cm_colour colour) {
    enum { PIECES = 16 };
    const double all = CM_PI * share, thickness = 3.0;
    double before[2] = {x, y - radius};
    if (fabs(share) < 0.05) return;
    for (int i = 1; i <= PIECES; i++) {
        const double angle = all * i / PIECES, here[2] = {x + radius * sin(angle), y - radius * cos(angle)};
        cm_scene_line(scene, before[0], before[1], here[0], here[1], thickness, colour);
        before[0] = here[0], before[1] = here[1];
    }
    const double side = share > 0.0 ? 1.0 : -1.0, dx = side * cos(all), dy = side * sin(all), head = 3.0 * thickness;
    cm_scene_arrow(scene, before[0] - 0.3 * head * dx, before[1] - 0.3 * head * dy, before[0] + head * dx,
                   before[1] + head * dy, thickness, colour);
}

double cm_drawing_share(const cm_env_moment *moment, int bins) {
    return moment->action < 0 || bins < 2 ? 0.0 : 2.0 * (moment->action % bins) / (bins - 1) - 1.0;
}
