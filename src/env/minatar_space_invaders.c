#include "env/minatar_space_invaders.h"

static const char *const channels[CM_INVADERS_CHANNELS] = {
    "cannon", "alien", "alien going left", "alien going right", "bullet", "bullet of an alien"};
static const uint8_t minimal[] = {CM_MINATAR_NONE, CM_MINATAR_LEFT, CM_MINATAR_RIGHT, CM_MINATAR_FIRE};

static void planes(const void *rules, cm_minatar_cells *out) { cm_invaders_planes((const cm_invaders *)rules, out); }

static const cm_minatar_game game = {.channels = channels,
                                     .count = CM_INVADERS_CHANNELS,
                                     .letters = "AX<>^!",
                                     .order = "045231",
                                     .minimal = minimal,
                                     .minimal_count = sizeof minimal,
                                     .discount = 0.997,
                                     .most = CM_INVADERS_WAVE,
                                     .bytes = sizeof(cm_invaders),
                                     .planes = planes};

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    cm_invaders_start((cm_invaders *)rules);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    cm_invaders *s = (cm_invaders *)rules;
    const int done = cm_minatar_choose(&game, params, action, &s->last_action, random);
    int reward;
    const bool ends = cm_invaders_step(s, done, params->ramping, &reward);
    return (cm_env_outcome){reward, ends, false};
}

static cm_status check_cells(const char *what, const cm_minatar_cells *cells) {
    for (int h = 0; h < 2; h++) CM_TRY(cm_env_check_int(what, (int64_t)(cells->half[h] >> CM_MINATAR_HALF), 0, 0));
    return CM_OK;
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_invaders *s = (const cm_invaders *)rules;
    (void)steps, (void)ended;
    CM_TRY(cm_minatar_check_action(s->last_action));
    CM_TRY(check_cells("what lies beyond the board of its bullets", &s->own));
    CM_TRY(check_cells("what lies beyond the board of its aliens' bullets", &s->bullets));
    CM_TRY(check_cells("what lies beyond the board of its aliens", &s->aliens));
    CM_TRY(cm_env_check_int("the number of its aliens", cm_minatar_count(&s->aliens), 1, CM_INVADERS_WAVE));
    CM_TRY(cm_env_check_int("its cannon's column", s->cannon, 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its aliens' direction", s->side, -1, 1));
    CM_TRY(cm_env_check_int("its frames between two moves", s->move_every,
                            params->ramping ? CM_INVADERS_FASTEST : CM_INVADERS_SLOWEST, CM_INVADERS_SLOWEST));
    CM_TRY(cm_env_check_int("its frames to the next move", s->move_in, 0, CM_INVADERS_SLOWEST));
    CM_TRY(cm_env_check_int("its frames to the next bullet of an alien", s->shoot_in, 0, CM_INVADERS_SHOOT));
    return cm_env_check_int("its frames to the next bullet", s->cool, 0, CM_INVADERS_COOL);
}

CM_MINATAR_ROW(cm_env_minatar_space_invaders, check, CM_ENV_RAMPING, .name = "minatar_space_invaders",
               .alias = "minatar-space_invaders", .about = "MinAtar: shoot waves of aliens before they land",
               .colours = "A6<1>1^3!5");
