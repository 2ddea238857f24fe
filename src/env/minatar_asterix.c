#include "env/minatar_asterix.h"

static const char *const channels[CM_ASTERIX_CHANNELS] = {"player", "enemy", "trail", "gold"};
static const uint8_t minimal[] = {CM_MINATAR_NONE, CM_MINATAR_LEFT, CM_MINATAR_UP, CM_MINATAR_RIGHT, CM_MINATAR_DOWN};

static void planes(const void *rules, cm_minatar_cells *out) { cm_asterix_planes((const cm_asterix *)rules, out); }

static const cm_minatar_game game = {.channels = channels,
                                     .count = CM_ASTERIX_CHANNELS,
                                     .letters = "@x-$",
                                     .order = "0132",
                                     .minimal = minimal,
                                     .minimal_count = sizeof minimal,
                                     .discount = 0.99,
                                     .most = 1,
                                     .bytes = sizeof(cm_asterix),
                                     .planes = planes};

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    cm_asterix_start((cm_asterix *)rules);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    cm_asterix *s = (cm_asterix *)rules;
    const int done = cm_minatar_choose(&game, params, action, &s->last_action, random);
    int reward;
    const bool ends = cm_asterix_step(s, done, params->ramping, random, &reward);
    return (cm_env_outcome){reward, ends, false};
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_asterix *s = (const cm_asterix *)rules;
    (void)steps, (void)ended;
    CM_TRY(cm_minatar_check_action(s->last_action));
    for (int i = 0; i < CM_ASTERIX_SLOTS; i++)
        CM_TRY(cm_env_check_int("the column of a slot of it", s->column[i], 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its player's column", s->x, 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its player's row", s->y, 1, CM_ASTERIX_SLOTS));
    CM_TRY(cm_env_check_int("its frames to the next spawn", s->spawn_in, 0, CM_ASTERIX_SPAWN));
    CM_TRY(cm_env_check_int("its frames to the next move", s->move_in, 0, CM_ASTERIX_MOVE));
    CM_TRY(cm_env_check_int("its frames to the next ramp", s->ramp_in, -1, CM_ASTERIX_RAMP));
    return cm_env_check_int("its ramps", s->ramps, 0, params->ramping ? CM_ASTERIX_RAMPS : 0);
}

CM_MINATAR_ROW(cm_env_minatar_asterix, check, CM_ENV_RAMPING, .name = "minatar_asterix", .alias = "minatar-asterix",
               .about = "MinAtar: take gold, keep away from enemies", .colours = "@6x1$3");
