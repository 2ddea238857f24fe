#include "env/game2048.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "env/board.h"
#include "env/drawing.h"

enum { PLANES = 16 };

static const char *const channels[PLANES] = {
    "empty",    "tile 2",   "tile 4",    "tile 8",    "tile 16",   "tile 32",   "tile 64",    "tile 128",
    "tile 256", "tile 512", "tile 1024", "tile 2048", "tile 4096", "tile 8192", "tile 16384", "tile 32768 or more"};

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    spec->rank = 3;
    spec->shape[0] = spec->shape[1] = 4, spec->shape[2] = PLANES;
    spec->observation_unit = 1.0f;
    spec->channels = channels;
    spec->cells = CM_2048_CELLS;
    spec->actions = 4;
    spec->reward_low = 0.0, spec->reward_high = (double)INFINITY;
    spec->discount = 0.999;
    spec->symmetries = 8;
    spec->chance_outcomes = CM_2048_OUTCOMES, spec->reset_outcomes = 2;
    spec->rules_size = sizeof(cm_2048);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params;
    cm_2048 *s = (cm_2048 *)rules;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 2; i++) cm_2048_spawn(s, cm_2048_draw(s, random));
}

static cm_status reset_with(const cm_env_params *params, void *rules, const int32_t *outcomes) {
    (void)params;
    for (int i = 0; i < 2; i++) {
        if (outcomes[i] < 0 || outcomes[i] >= CM_2048_OUTCOMES) {
            return cm_fail(CM_ERR_INPUT, "a spawn must be 16 * [tile is 4] + cell, got %d", outcomes[i]);
        }
    }
    if (outcomes[0] % 16 == outcomes[1] % 16)
        return cm_fail(CM_ERR_INPUT, "both spawns are on cell %d", outcomes[0] % 16);
    memset(rules, 0, sizeof(cm_2048));
    for (int i = 0; i < 2; i++) cm_2048_spawn((cm_2048 *)rules, outcomes[i]);
    return CM_OK;
}

static double afterstate(const cm_env_params *params, void *rules, int action) {
    (void)params;
    double reward;
    cm_2048_slide((cm_2048 *)rules, action, &reward);
    return reward;
}

static bool chance(const cm_env_params *params, void *rules, int outcome) {
    (void)params;
    cm_2048_spawn((cm_2048 *)rules, outcome);
    return cm_2048_is_stuck((const cm_2048 *)rules);
}

static void chance_weights(const cm_env_params *params, const void *rules, float *weights) {
    (void)params;
    const cm_2048 *s = (const cm_2048 *)rules;
    const float empty = (float)cm_2048_empty(s);
    for (int cell = 0; cell < CM_2048_CELLS; cell++) {
        weights[cell] = s->tile[cell] == 0 ? 0.9f / empty : 0.0f;
        weights[16 + cell] = s->tile[cell] == 0 ? 0.1f / empty : 0.0f;
    }
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    cm_env_outcome out = {afterstate(params, rules, action), false, false};
    out.terminated = chance(params, rules, cm_2048_draw((const cm_2048 *)rules, random));
    return out;
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    (void)params;
    for (int a = 0; a < 4; a++) mask[a] = cm_2048_is_legal((const cm_2048 *)rules, a);
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    const uint8_t *tile = ((const cm_2048 *)rules)->tile;
    memset(observation, 0, CM_2048_CELLS * PLANES * sizeof *observation);
    for (int cell = 0; cell < CM_2048_CELLS; cell++) {
        observation[cell * PLANES + (tile[cell] < PLANES ? tile[cell] : PLANES - 1)] = 1.0f;
    }
}

static void read_tiles(const float *observation, cm_2048 *s) {
    for (int cell = 0; cell < CM_2048_CELLS; cell++) {
        const float *plane = observation + cell * PLANES;
        uint8_t tile = 0;
        while (tile < PLANES - 1 && plane[tile] < 0.5f) tile++;
        s->tile[cell] = tile;
    }
}

static int outcome_between(const cm_env_params *params, const float *before, int action, const float *after) {
    (void)params;
    cm_2048 slid, seen;
    double reward;
    int found = -1;
    read_tiles(before, &slid);
    read_tiles(after, &seen);
    cm_2048_slide(&slid, action, &reward);
    for (int cell = 0; cell < CM_2048_CELLS; cell++) {
        uint8_t tile = seen.tile[cell];
        if (slid.tile[cell] == tile) continue;
        if (found >= 0 || slid.tile[cell] != 0 || tile > 2) return -1;
        found = 16 * (tile - 1) + cell;
    }
    return found;
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    (void)params;
    const uint8_t *tile = ((const cm_2048 *)rules)->tile;
    for (int cell = 0; cell < CM_2048_CELLS; cell++) cells[cell] = tile[cell] == 0 ? 0 : 1 << tile[cell];
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    int32_t cells[CM_2048_CELLS];
    board(params, rules, cells);
    text[0] = '\0';
    for (int cell = 0; cell < CM_2048_CELLS; cell += 4) {
        cm_picture_line(text, size, "%7d%7d%7d%7d", cells[cell], cells[cell + 1], cells[cell + 2], cells[cell + 3]);
    }
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    (void)params;
    const char *const names[] = {"up", "right", "down", "left"};
    cm_name_pick(text, size, names[action]);
}

/* The mirror exchanges left and right, a turn by 90 degrees clockwise makes up right. */
static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    (void)params;
    cm_board_dihedral(index, 4, 0, cell_map, action_map);
    for (int a = 0; a < 4; a++) action_map[a] = ((index >= 4 ? 4 - a : a) + index) % 4;
}

/* Tiles never add up to more than 2^17 + 2^16 + ... + 4, nor does a move follow that sum, or 2 less: these fill all
 * cells with tiles of which no two are equal. */
static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    enum { HIGHEST = 17 };
    (void)params, (void)steps, (void)ended;
    const cm_2048 *s = (const cm_2048 *)rules;
    int64_t sum = 0;
    for (int c = 0; c < CM_2048_CELLS; c++) {
        CM_TRY(cm_env_check_int("the power of a tile of it", s->tile[c], 0, HIGHEST));
        sum += s->tile[c] ? (int64_t)1 << s->tile[c] : 0;
    }
    CM_TRY(cm_env_check_int("the sum of its tiles", sum, 2, ((int64_t)2 << HIGHEST) - 4));
    return CM_OK;
}

/* By the power of two; higher ones are black. */
static const cm_colour tiles[] = {0xcdc1b4, 0xeee4da, 0xede0c8, 0xf2b179, 0xf59563, 0xf67c5f, 0xf65e3b,
                                  0xedcf72, 0xedcc61, 0xedc850, 0xedc53f, 0xedc22e, 0x3c3a32};
enum { TILES = sizeof tiles / sizeof *tiles };

static void draw_tile(cm_scene *scene, const cm_drawn_grid *grid, int cell, int power) {
    enum { DARK = 0x776e65, LIGHT = 0xf9f6f2 };
    const double x = cm_drawing_x(grid, cell), y = cm_drawing_y(grid, cell), side = 0.88 * grid->cell;
    char text[16];
    cm_scene_rectangle(scene, x - 0.5 * side, y - 0.5 * side, side, side, 5.0,
                       tiles[power < TILES ? power : TILES - 1]);
    if (power == 0) return;
    const int digits = snprintf(text, sizeof text, "%d", 1 << power);
    const double size = fmin(0.46 * side, 0.9 * side / (CM_TEXT_ADVANCE * digits));
    cm_scene_text(scene, x, y + 0.36 * size, size, CM_ANCHOR_MIDDLE, power <= 2 ? DARK : LIGHT, text);
}

static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const cm_drawn_grid grid = cm_drawing_grid(scene, 4, 4, 14.0);
    (void)params, (void)moment;
    cm_scene_rectangle(scene, 8.0, 8.0, 304.0, 304.0, 8.0, 0xbbada0);
    for (int cell = 0; cell < CM_2048_CELLS; cell++)
        draw_tile(scene, &grid, cell, ((const cm_2048 *)rules)->tile[cell]);
}

CM_ENV_DEF(cm_env_2048, check, .name = "2048", .about = "Slide and merge tiles on 4 x 4; new tiles are chance",
           .describe = describe, .reset = reset, .step = step, .observe = observe, .legal = legal, .picture = picture,
           .action_name = action_name, .board = board, .symmetry = symmetry, .afterstate = afterstate, .chance = chance,
           .chance_weights = chance_weights, .reset_with = reset_with, .outcome_between = outcome_between,
           .draw = draw);
