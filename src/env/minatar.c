#include "env/minatar.h"

#include <math.h>
#include <string.h>

#include "env/board.h"

enum { LIMIT = 10000 }; /* frames; the original has none but Freeway's */

cm_status cm_minatar_describe(const cm_minatar_game *game, cm_env_params *params, cm_env_spec *spec) {
    if (isnan(params->sticky_actions)) params->sticky_actions = 0.1;
    spec->rank = 3;
    spec->shape[0] = spec->shape[1] = CM_MINATAR_SIDE, spec->shape[2] = game->count;
    spec->observation_unit = 1.0f;
    spec->channels = game->channels;
    spec->cells = CM_MINATAR_SIDE * CM_MINATAR_SIDE;
    spec->actions = params->minimal_actions ? game->minimal_count : CM_MINATAR_ACTIONS;
    spec->reward_low = 0.0, spec->reward_high = game->most;
    spec->discount = game->discount;
    spec->reset_outcomes = game->reset_outcomes;
    spec->max_plies = game->frames;
    spec->max_steps = game->frames > 0 ? 0 : LIMIT;
    spec->rules_size = game->bytes;
    return CM_OK;
}

void cm_minatar_observe(const cm_minatar_game *game, const void *rules, float *observation) {
    cm_minatar_cells planes[CM_MINATAR_CHANNELS];
    const int count = game->count;
    memset(planes, 0, sizeof planes);
    game->planes(rules, planes);
    memset(observation, 0, (size_t)(CM_MINATAR_SIDE * CM_MINATAR_SIDE * count) * sizeof *observation);
    for (int c = 0; c < count; c++) {
        for (int h = 0; h < 2; h++) {
            float *cell = observation + h * CM_MINATAR_HALF * count + c;
            for (uint64_t rest = planes[c].half[h]; rest; rest &= rest - 1) cell[__builtin_ctzll(rest) * count] = 1.0f;
        }
    }
}

static char letter_of(const cm_minatar_game *game, const cm_minatar_cells *planes, int x, int y) {
    for (const char *at = game->order; *at; at++)
        if (cm_minatar_has(&planes[*at - '0'], x, y)) return game->letters[*at - '0'];
    return '.';
}

void cm_minatar_picture(const cm_minatar_game *game, const void *rules, char *text, size_t size) {
    cm_minatar_cells planes[CM_MINATAR_CHANNELS];
    memset(planes, 0, sizeof planes);
    game->planes(rules, planes);
    text[0] = '\0';
    for (int y = 0; y < CM_MINATAR_SIDE; y++) {
        char line[2 * CM_MINATAR_SIDE];
        memset(line, ' ', sizeof line);
        for (int x = 0; x < CM_MINATAR_SIDE; x++) line[2 * x] = letter_of(game, planes, x, y);
        line[sizeof line - 1] = '\0';
        cm_picture_line(text, size, "%s", line);
    }
}

void cm_minatar_name_action(const cm_minatar_game *game, const cm_env_params *params, int action, char *text,
                            size_t size) {
    static const char *const names[CM_MINATAR_ACTIONS] = {"none", "left", "up", "right", "down", "fire"};
    cm_name_pick(text, size, names[params->minimal_actions ? game->minimal[action] : action]);
}

cm_status cm_minatar_check_action(int last) {
    return cm_env_check_int("its last action", last, 0, CM_MINATAR_ACTIONS - 1);
}
