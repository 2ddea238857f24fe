/* What the five MinAtar games share: boards of 10 x 10 as bits, six actions, and sticky ones (Young and Tian 2019; the
 * rules: docs/spec/minatar.md). A cell is column x and row y, 0 .. 9 each, row 0 on top. */
#ifndef CM_ENV_MINATAR_H
#define CM_ENV_MINATAR_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_MINATAR_SIDE = 10, CM_MINATAR_LAST = CM_MINATAR_SIDE - 1, CM_MINATAR_HALF = 50, CM_MINATAR_CHANNELS = 10 };
enum { CM_MINATAR_NONE, CM_MINATAR_LEFT, CM_MINATAR_UP, CM_MINATAR_RIGHT, CM_MINATAR_DOWN, CM_MINATAR_FIRE };
enum { CM_MINATAR_ACTIONS = 6 };

/* ---- cells ---- */

/* A bit per cell: of rows 0 .. 4 in half[0], of rows 5 .. 9 in half[1], bit 10 * (y mod 5) + x. */
typedef struct cm_minatar_cells {
    uint64_t half[2];
} cm_minatar_cells;

#define CM_MINATAR_ALL (((uint64_t)1 << CM_MINATAR_HALF) - 1)

static CM_HD inline uint64_t cm_minatar_bit(int x, int y) {
    return (uint64_t)1 << (CM_MINATAR_SIDE * (y - (y >= 5 ? 5 : 0)) + x);
}

static CM_HD inline bool cm_minatar_has(const cm_minatar_cells *cells, int x, int y) {
    return (cells->half[y >= 5] & cm_minatar_bit(x, y)) != 0;
}

static CM_HD inline void cm_minatar_put(cm_minatar_cells *cells, int x, int y) {
    cells->half[y >= 5] |= cm_minatar_bit(x, y);
}

/* Nothing where the column is not on the board. */
static CM_HD inline void cm_minatar_put_inside(cm_minatar_cells *cells, int x, int y) {
    if (x >= 0 && x <= CM_MINATAR_LAST) cm_minatar_put(cells, x, y);
}

static CM_HD inline bool cm_minatar_is_empty(const cm_minatar_cells *cells) {
    return !(cells->half[0] | cells->half[1]);
}

static CM_HD inline int cm_minatar_count(const cm_minatar_cells *cells) {
    int count = 0;
    for (int h = 0; h < 2; h++)
        for (uint64_t rest = cells->half[h]; rest; rest &= rest - 1) count++;
    return count;
}

/* All cells one row up; what was in row 0 is gone, row 9 is empty. */
static CM_HD inline cm_minatar_cells cm_minatar_up(cm_minatar_cells cells) {
    const int row = CM_MINATAR_SIDE, last = CM_MINATAR_HALF - CM_MINATAR_SIDE;
    cm_minatar_cells up;
    up.half[0] = cells.half[0] >> row | (cells.half[1] << last & CM_MINATAR_ALL);
    up.half[1] = cells.half[1] >> row;
    return up;
}

/* All cells one row down; what was in row 9 is gone, row 0 is empty. */
static CM_HD inline cm_minatar_cells cm_minatar_down(cm_minatar_cells cells) {
    const int row = CM_MINATAR_SIDE, last = CM_MINATAR_HALF - CM_MINATAR_SIDE;
    cm_minatar_cells down;
    down.half[0] = cells.half[0] << row & CM_MINATAR_ALL;
    down.half[1] = (cells.half[1] << row & CM_MINATAR_ALL) | cells.half[0] >> last;
    return down;
}

/* Bit x: whether a cell of column x is set. */
static CM_HD inline unsigned cm_minatar_columns(const cm_minatar_cells *cells) {
    const uint64_t both = cells->half[0] | cells->half[1];
    return (unsigned)(both | both >> 10 | both >> 20 | both >> 30 | both >> 40) & 0x3ffu;
}

/* ---- frames ---- */

/* The action that is carried out: with probability `sticky` the one before, *last, else `action`. One draw. */
static CM_HD inline int cm_minatar_stick(uint8_t *last, int action, double sticky, cm_pcg64 *random) {
    if (cm_pcg64_double(random) < sticky) action = *last;
    *last = (uint8_t)action;
    return action;
}

/* A number from low to high that moves by `by`, at most to its bounds. */
static CM_HD inline int cm_minatar_move(int at, int by, int low, int high) {
    at += by;
    return at < low ? low : at > high ? high : at;
}

/* -1, 0 or 1 columns, and rows, that an action moves whoever moves freely. */
static CM_HD inline int cm_minatar_dx(int action) { return (action == CM_MINATAR_RIGHT) - (action == CM_MINATAR_LEFT); }
static CM_HD inline int cm_minatar_dy(int action) { return (action == CM_MINATAR_DOWN) - (action == CM_MINATAR_UP); }

static CM_HD inline int cm_minatar_less(int clock) { return clock > 0 ? clock - 1 : 0; }

/* ---- rows of the registry ---- */

typedef struct cm_minatar_game {
    const char *const *channels; /* names */
    int count;                   /* of channels, at most CM_MINATAR_CHANNELS */
    const char *letters;         /* of the picture, one a channel */
    const char *order;           /* channels as digits; of those with a bit in a cell the first is shown */
    const uint8_t *minimal;      /* actions that do something, rising */
    int minimal_count;
    double discount;
    int reset_outcomes;
    int frames;                                                  /* an episode is never longer; 0: no bound */
    int most;                                                    /* reward of a frame */
    size_t bytes;                                                /* of the rules' state */
    void (*planes)(const void *rules, cm_minatar_cells *planes); /* sets bits of planes[count], which are empty */
} cm_minatar_game;

cm_status cm_minatar_describe(const cm_minatar_game *game, cm_env_params *params, cm_env_spec *spec) CM_MUST_USE;
void cm_minatar_observe(const cm_minatar_game *game, const void *rules, float *observation);
void cm_minatar_picture(const cm_minatar_game *game, const void *rules, char *text, size_t size);
void cm_minatar_name_action(const cm_minatar_game *game, const cm_env_params *params, int action, char *text,
                            size_t size);

/* Of the six actions the one that is carried out where number `action` of the environment is chosen: see
 * cm_minatar_stick. */
static inline int cm_minatar_choose(const cm_minatar_game *def, const cm_env_params *params, int action, uint8_t *last,
                                    cm_pcg64 *random) {
    if (params->minimal_actions) action = def->minimal[action];
    return cm_minatar_stick(last, action, params->sticky_actions, random);
}

/* Defines a row of `game`, which has functions reset, step and check, options of its own (0: none) and more members. */
#define CM_MINATAR_ROW(row_, check_, options_, ...)                                                                    \
    static cm_status describe(cm_env_params *params, cm_env_spec *spec) {                                              \
        return cm_minatar_describe(&game, params, spec);                                                               \
    }                                                                                                                  \
    static void observe(const cm_env_params *params, const void *rules, float *observation) {                          \
        (void)params;                                                                                                  \
        cm_minatar_observe(&game, rules, observation);                                                                 \
    }                                                                                                                  \
    static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {                     \
        (void)params;                                                                                                  \
        cm_minatar_picture(&game, rules, text, size);                                                                  \
    }                                                                                                                  \
    static void action_name(const cm_env_params *params, int action, char *text, size_t size) {                        \
        cm_minatar_name_action(&game, params, action, text, size);                                                     \
    }                                                                                                                  \
    CM_ENV_DEF(row_, check_, .describe = describe, .reset = reset, .step = step, .observe = observe,                   \
               .picture = picture, .action_name = action_name,                                                         \
               .options = CM_ENV_MAX_STEPS | CM_ENV_STICKY_ACTIONS | CM_ENV_MINIMAL_ACTIONS | (options_), __VA_ARGS__)

/* For `check` of a row: whether an action that was carried out last may be that. Errors: CM_ERR_INPUT. */
cm_status cm_minatar_check_action(int last) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
