#include "env/minatar_breakout.h"

static const char *const channels[CM_BREAKOUT_CHANNELS] = {"paddle", "ball", "trail", "brick"};
static const uint8_t minimal[] = {CM_MINATAR_NONE, CM_MINATAR_LEFT, CM_MINATAR_RIGHT};

static void planes(const void *rules, cm_minatar_cells *out) { cm_breakout_planes((const cm_breakout *)rules, out); }

static const cm_minatar_game game = {.channels = channels,
                                     .count = CM_BREAKOUT_CHANNELS,
                                     .letters = "=o,#",
                                     .order = "0132",
                                     .minimal = minimal,
                                     .minimal_count = sizeof minimal,
                                     .discount = 0.99,
                                     .reset_outcomes = 1,
                                     .most = 1,
                                     .bytes = sizeof(cm_breakout),
                                     .planes = planes};

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params;
    cm_breakout_place((cm_breakout *)rules, cm_pcg64_below(random, 2));
}

static cm_status reset_with(const cm_env_params *params, void *rules, const int32_t *outcomes) {
    (void)params;
    if (outcomes[0] != 0 && outcomes[0] != 1)
        return cm_fail(CM_ERR_INPUT, "the ball comes from the left, 0, or from the right, 1; got %d", outcomes[0]);
    cm_breakout_place((cm_breakout *)rules, outcomes[0]);
    return CM_OK;
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    cm_breakout *s = (cm_breakout *)rules;
    const int done = cm_minatar_choose(&game, params, action, &s->last_action, random);
    int reward;
    const bool ends = cm_breakout_step(s, done, &reward);
    return (cm_env_outcome){reward, ends, false};
}

/* Only the frame that ends an episode leads the ball to row 9. */
static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_breakout *s = (const cm_breakout *)rules;
    const int lowest = CM_MINATAR_LAST - 1;
    (void)params, (void)steps;
    CM_TRY(cm_minatar_check_action(s->last_action));
    CM_TRY(cm_env_check_int("its wall of bricks", s->bricks, 0, CM_BREAKOUT_WALL));
    CM_TRY(cm_env_check_int("its paddle's column", s->paddle, 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its ball's column", s->x, 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its ball's row", s->y, 0, ended ? CM_MINATAR_LAST : lowest));
    CM_TRY(cm_env_check_int("its ball's last column", s->last_x, 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its ball's last row", s->last_y, 0, lowest));
    CM_TRY(cm_env_check_int("its ball's direction", s->direction, 0, 3));
    return cm_env_check_int("its mark of a struck brick", s->struck, 0, 1);
}

CM_MINATAR_ROW(cm_env_minatar_breakout, check, 0, .name = "minatar_breakout", .alias = "minatar-breakout",
               .about = "MinAtar: keep a ball in play, break a wall", .reset_with = reset_with, .colours = "=6o3#1,3");
