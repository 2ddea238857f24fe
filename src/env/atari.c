#include "env/atari.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "env/board.h"
#include "env/python.h"

/* Decisions of a real episode, where the user says nothing; those of a last evaluation are 108,000 frames. */
enum { LIMIT = 3000, LIMIT_OF_REPORTS = 27000 };
enum { SIZE = 96, NO_OP = 0 };

/* ---- opening ---- */

cm_status cm_atari_name(const char *name, cm_env_params *params, char *out, size_t size) {
    const char *game = strchr(name, ':') + 1;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (game[0] == '\0' || game[strspn(game, letters)] != '\0')
        return cm_fail(CM_ERR_INPUT, "%.64s: a game of Atari's is written atari:Pong, or atari:ms_pacman", name);
    params->given_steps = params->max_steps;
    if (params->picture_size == 0) params->picture_size = SIZE;
    if (isnan(params->sticky_actions)) params->sticky_actions = 0.0;
    const int length = snprintf(out, size, "%s,size=%d,gray=%s,full=%s,sticky=%.9g", name, params->picture_size,
                                params->picture_gray ? "true" : "false", params->full_actions ? "true" : "false",
                                params->sticky_actions);
    return length < (int)size ? CM_OK : cm_fail(CM_ERR_INPUT, "%.64s...: a name of too many characters", name);
}

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    const bool trains = params->purpose == CM_ENV_TRAINS;
    const int own = params->purpose == CM_ENV_REPORTS ? LIMIT_OF_REPORTS : LIMIT;
    *spec = cm_python_env_of(params)->said.spec;
    if (trains && params->clip_rewards) spec->reward_low = -1.0, spec->reward_high = 1.0;
    spec->discount = 0.98805389; /* 0.997 of each frame */
    spec->max_steps = params->max_steps = params->max_steps > 0 ? params->max_steps : own;
    spec->rules_size = cm_python_state_bytes(params);
    return CM_OK;
}

/* ---- episodes ---- */

static bool goes_on(const cm_env_params *params, const cm_python_state *s) {
    const bool is_lost = params->purpose == CM_ENV_TRAINS && params->life_ends && s->is_lost;
    return is_lost && !s->failed && s->steps < params->max_steps;
}

/* One decision, of which only the picture counts. */
static void hold_no_op(const cm_env_params *params, cm_python_state *s) {
    const int32_t action = NO_OP;
    cm_env_outcome unused;
    memcpy(cm_python_next_action(cm_python_env_of(params), s), &action, sizeof action);
    cm_python_advance(params, s, 1, &unused);
    s->is_lost = 0;
}

/* After a lost life the game goes on, unless it ends in that decision. */
static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    cm_python_state *s = (cm_python_state *)rules;
    const uint64_t seed = cm_pcg64_below(random, INT32_MAX);
    const bool is_same = goes_on(params, s);
    if (is_same) hold_no_op(params, s);
    if (!is_same || s->terminated) cm_python_begin(params, s, seed);
}

/* ---- states of strangers ---- */

static cm_status check_actions(const cm_env_params *params, const cm_python_state *s) {
    const cm_python_env *e = cm_python_env_of(params);
    const char *action = (const char *)s + cm_python_record_at(e);
    for (int i = 0; i < s->steps; i++, action += sizeof(int32_t)) {
        int32_t number;
        memcpy(&number, action, sizeof number);
        CM_TRY(cm_env_check_int("an action of its episode", number, 0, e->said.spec.actions - 1));
    }
    if (cm_python_key(e, s, s->steps) == s->key) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "its key is not that of its seed and actions");
}

/* Its actions are those of the emulator's episode, in which lost lives may have begun others since. */
static cm_status check(const cm_env_params *params, const void *rules, int count, bool ended) {
    const cm_python_state *s = (const cm_python_state *)rules;
    (void)ended;
    if (s->seed >= INT32_MAX) return cm_fail(CM_ERR_INPUT, "its seed is %llu", (unsigned long long)s->seed);
    CM_TRY(cm_env_check_int("the number of its actions", s->steps, count, params->max_steps));
    CM_TRY(cm_env_check_int("its mark of a failure", s->failed, 0, 0));
    CM_TRY(cm_env_check_real("its reward", s->reward, -DBL_MAX, DBL_MAX));
    CM_TRY(cm_python_check_flags(cm_python_env_of(params), s));
    return check_actions(params, s);
}

/* ---- views ---- */

/* How bright a pixel is, 0 .. 255. */
static int brightness(const uint8_t *pixel, int channels) {
    int sum = 0;
    for (int c = 0; c < channels; c++) sum += pixel[c];
    return sum / channels;
}

/* Its picture in characters, of which the darkest is a dot. */
static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    enum { LINES = 24, COLUMNS = 40 };
    static const char shades[] = ".:-=+*#%@";
    const int *shape = cm_python_env_of(params)->said.spec.shape, count = (int)sizeof shades - 1;
    const uint8_t *bytes = cm_python_observation((const cm_python_state *)rules);
    text[0] = '\0';
    const int lines = shape[0] < LINES ? shape[0] : LINES, columns = shape[1] < COLUMNS ? shape[1] : COLUMNS;
    for (int line = 0; line < lines; line++) {
        char row[COLUMNS + 1] = "";
        for (int column = 0; column < columns; column++) {
            const int y = line * shape[0] / lines, x = column * shape[1] / columns;
            row[column] = shades[brightness(bytes + (y * shape[1] + x) * shape[2], shape[2]) * count / 256];
        }
        cm_picture_line(text, size, "%s", row);
    }
}

void cm_atari_row_make(cm_python_env *e) {
    e->def.about = "a game of Atari's, by ale-py";
    e->def.options = CM_ATARI_OPTIONS;
    e->def.describe = describe;
    e->def.reset = reset;
    e->def.picture = picture;
    e->def.check = check;
    e->def.used = NULL; /* actions of lives before this one are in use, too */
}
