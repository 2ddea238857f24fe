/* Pictures of states: a drawing of every environment, and pixels of it. */
#ifndef CM_ENV_DRAW_H
#define CM_ENV_DRAW_H

#include "draw/raster.h"
#include "env/board.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A moment that nothing is known of. */
#define CM_ENV_NO_MOMENT ((cm_env_moment){.action = -1, .player = 0, .cell = -1})

/* What `action` has led to, from the state `before` to `after`: its cell is the only one that was empty and is not. Of
 * one player `before` may be NULL. */
cm_env_moment cm_env_moment_of(const cm_env *env, const void *before, int action, const void *after);

/* Whether a board's cells are stones of two players, or empty; then cells[spec.cells] are they. */
bool cm_board_read_stones(const cm_env *env, const void *state, int32_t cells[CM_BOARD_CELLS]);

/* Draws a state, whose scene is CM_ENV_DRAWN units wide: as its row does; else as a board of stones, as a grid of
 * coloured cells, as the pictures that are its observations, or as its text. */
void cm_env_draw(const cm_env *env, const void *state, const cm_env_moment *moment, cm_scene *scene);

/* Adds a line below the drawing: "step 12: left", "move 3: x d4", and at its end what has come of it, `total` being the
 * return of player 0 so far. */
void cm_env_draw_caption(const cm_env *env, const void *state, const cm_env_moment *moment, double total,
                         cm_scene *scene);

/* Positions a second that are good to watch: control tasks are quick, games of two slow. */
double cm_env_draw_rate(const cm_env *env);

/* The drawing as pixels, `scale` a unit: 320 wide with 1. A zeroed image is fine; the caller frees it. Errors:
 * CM_ERR_MEMORY, CM_ERR_INPUT for a scale that makes it too large. */
cm_status cm_env_render(const cm_env *env, const void *state, const cm_env_moment *moment, double scale,
                        cm_image *image) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
