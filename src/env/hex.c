#include "env/hex.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "env/board.h"
#include "env/drawing.h"
#include "env/maths.h"
#include "env/solver.h"

enum { CELLS = CM_HEX_SIZE * CM_HEX_SIZE };

static int cells_of(const cm_env_params *params) { return params->size * params->size; }

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    const int cells = cells_of(params);
    cm_board_describe(spec, params->size, params->size, cells + params->swap);
    spec->max_legal = cells;
    spec->max_plies = cells + params->swap;
    spec->symmetries = 2; /* the half turn */
    spec->rules_size = cm_hex_bytes(params->size);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)random;
    memset(rules, 0, cm_hex_bytes(params->size));
    ((cm_hex *)rules)->n = params->size;
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)random;
    cm_hex *s = (cm_hex *)rules;
    if (action < cells_of(params)) return cm_board_outcome(cm_hex_play(s, action), 1);
    cm_hex_swap(s);
    return cm_board_outcome(false, 0);
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    const cm_hex *s = (const cm_hex *)rules;
    for (int a = 0; a < cells_of(params); a++) mask[a] = s->cell[a] == 0;
    if (params->swap) mask[cells_of(params)] = s->ply == 1;
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return ((const cm_hex *)rules)->ply % 2;
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    const uint8_t *cell = ((const cm_hex *)rules)->cell;
    for (int c = 0; c < cells_of(params); c++) cells[c] = cell[c] & CM_HEX_COLOUR;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    int32_t cells[CELLS];
    board(params, rules, cells);
    cm_board_picture(cells, params->size, params->size, 1, text, size);
    cm_picture_line(text, size, "x: top to bottom  o: left to right");
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    if (action == cells_of(params)) {
        cm_name_pick(text, size, "swap");
    } else {
        cm_board_cell_name(action, params->size, text, size);
    }
}

static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    cm_board_dihedral(2 * index, params->size, cells_of(params) + params->swap, cell_map, action_map);
}

/* What stones know of their sides must be what they learn when they are put on an empty board, in whatever order. */
static cm_status check_sides(const cm_hex *s, int cells) {
    cm_hex again = {.n = s->n};
    for (int c = 0; c < cells; c++) {
        if (s->cell[c] == 0) continue;
        again.ply = (s->cell[c] & CM_HEX_COLOUR) - 1;
        cm_hex_play(&again, c);
    }
    if (memcmp(again.cell, s->cell, (size_t)cells) == 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "a stone of it is said to be connected with a side that it is not connected with");
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_hex *s = (const cm_hex *)rules;
    const int cells = cells_of(params);
    int stones[4] = {0, 0, 0, 0};
    bool is_won = false;
    CM_TRY(cm_env_check_int("its size", s->n, params->size, params->size));
    CM_TRY(cm_env_check_int("its ply", s->ply, steps, steps));
    for (int c = 0; c < cells; c++) {
        CM_TRY(cm_env_check_int("a cell of it", s->cell[c], 0, CM_HEX_COLOUR | CM_HEX_SIDES));
        const int colour = s->cell[c] & CM_HEX_COLOUR;
        if (s->cell[c]) CM_TRY(cm_env_check_int("the colour of a stone of it", colour, 1, 2));
        stones[colour]++;
        is_won |= (s->cell[c] & CM_HEX_SIDES) == CM_HEX_SIDES;
    }
    const bool swapped =
        params->swap && steps >= 2 && stones[1] + stones[2] == steps - 1; /* which takes a stone away */
    const int first = (swapped ? steps - 1 : steps + 1) / 2;
    CM_TRY(cm_env_check_int("the number of player 0's stones", stones[1], first, first));
    CM_TRY(cm_env_check_int("the number of player 1's stones", stones[2], steps / 2, steps / 2));
    CM_TRY(check_sides(s, cells));
    return cm_board_check_end(is_won, ended);
}

/* ---- drawing: a rhombus of hexagons with a corner upwards ---- */

typedef struct rhombus {
    int n;
    double x, y, radius; /* of the first cell: its middle, and from there to its corners */
} rhombus;

/* A row is half a cell further right than the one above it. */
static double x_of(const rhombus *r, int cell) {
    const int row = cell / r->n;
    return r->x + sqrt(3.0) * r->radius * (cell % r->n + 0.5 * row);
}

static double y_of(const rhombus *r, int cell) {
    const int row = cell / r->n;
    return r->y + 1.5 * r->radius * row;
}

static void draw_hexagon(cm_scene *scene, double x, double y, double radius, cm_colour colour) {
    double xy[12];
    for (int i = 0; i < 6; i++)
        xy[2 * i] = x + radius * cos(CM_PI * (2 * i + 1) / 6.0),
               xy[2 * i + 1] = y + radius * sin(CM_PI * (2 * i + 1) / 6.0);
    cm_scene_polygon(scene, xy, 6, colour);
}

/* The sides that the players connect, in their colours, behind the cells at them. */
static void draw_sides(cm_scene *scene, const rhombus *r) {
    const double out = 0.34 * r->radius;
    for (int i = 0; i < r->n; i++) {
        const int last = r->n - 1;
        draw_hexagon(scene, x_of(r, i * r->n) - out, y_of(r, i * r->n), r->radius, CM_COLOUR_BLUE);
        draw_hexagon(scene, x_of(r, i * r->n + last) + out, y_of(r, i * r->n + last), r->radius, CM_COLOUR_BLUE);
    }
    for (int i = 0; i < r->n; i++) {
        const int below = r->n * (r->n - 1) + i;
        draw_hexagon(scene, x_of(r, i), y_of(r, i) - out, r->radius, CM_COLOUR_RED);
        draw_hexagon(scene, x_of(r, below), y_of(r, below) + out, r->radius, CM_COLOUR_RED);
    }
}

static void draw_names(cm_scene *scene, const rhombus *r) {
    const double size = fmin(11.0, 0.9 * r->radius);
    char text[16];
    for (int i = 0; i < r->n; i++) {
        snprintf(text, sizeof text, "%c", 'a' + i);
        cm_scene_text(scene, x_of(r, i), r->y - 1.6 * r->radius, size, CM_ANCHOR_MIDDLE, CM_COLOUR_GREY, text);
        snprintf(text, sizeof text, "%d", i + 1);
        cm_scene_text(scene, x_of(r, i * r->n) - 1.5 * r->radius, y_of(r, i * r->n) + 0.36 * size, size, CM_ANCHOR_END,
                      CM_COLOUR_GREY, text);
    }
}

static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    static const cm_colour colours[] = {CM_COLOUR_SHADE, CM_COLOUR_RED, CM_COLOUR_BLUE};
    const int n = params->size;
    const double radius = (CM_ENV_DRAWN - 44.0) / (sqrt(3.0) * (1.5 * n - 0.5) + 0.8);
    const rhombus r = {.n = n, .x = 28.0 + 1.3 * radius, .y = 22.0 + 1.2 * radius, .radius = radius};
    int32_t cells[CELLS];
    board(params, rules, cells);
    const double width = sqrt(3.0) * radius;
    scene->cells = (cm_scene_cells){n, n, r.x, r.y, {width, 0.0}, {0.5 * width, 1.5 * radius}, width};
    scene->height = r.y + 1.5 * radius * (n - 1) + 1.4 * radius + 12.0;
    draw_names(scene, &r);
    draw_sides(scene, &r);
    for (int cell = 0; cell < n * n; cell++) {
        draw_hexagon(scene, x_of(&r, cell), y_of(&r, cell), radius, CM_COLOUR_GREY);
        draw_hexagon(scene, x_of(&r, cell), y_of(&r, cell), 0.93 * radius, colours[cells[cell]]);
    }
    if (moment->cell >= 0)
        cm_scene_circle(scene, x_of(&r, moment->cell), y_of(&r, moment->cell), 0.28 * radius, CM_COLOUR_PAPER);
}

CM_ENV_DEF(cm_env_hex, check, .name = "hex", .about = "Connect two opposite sides of an n x n rhombus", .min_size = 2,
           .max_size = CM_HEX_SIZE, .default_size = 11, .options = CM_ENV_SIZE | CM_ENV_SWAP, .describe = describe,
           .reset = reset, .step = step, .legal = legal, .to_play = to_play, .picture = picture,
           .action_name = action_name, .board = board, .symmetry = symmetry, .solver = &cm_solver_hex, .draw = draw);
