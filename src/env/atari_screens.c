/* Atari: what an answer of the process becomes. */
#include <math.h>
#include <string.h>

#include "core/arena.h"
#include "env/atari.h"

enum { HEAD_AT = offsetof(cm_python_state, reward), HEAD = sizeof(cm_python_state) - HEAD_AT };

static size_t screen_bytes(const cm_python_env *e) {
    const int32_t *screen = e->said.screen;
    return (size_t)screen[0] * (size_t)screen[1] * (size_t)screen[2];
}

size_t cm_atari_reply_bytes(const cm_python_env *e) { return HEAD + 2 * screen_bytes(e); }

cm_status cm_atari_open(cm_python_env *e) {
    const int32_t *screen = e->said.screen;
    const int *shape = e->said.spec.shape;
    CM_TRY(cm_area_create(screen[0], screen[1], screen[2], shape[0], shape[1], &e->area));
    return cm_alloc(&e->screens, cm_atari_reply_bytes(e), 1, "screens");
}

void cm_atari_take(const cm_python_env *e, cm_python_state *s, const uint8_t *reply) {
    const int32_t lives = s->to_play;
    const uint8_t *first = reply + HEAD, *second = first + screen_bytes(e);
    memcpy((char *)s + HEAD_AT, reply, HEAD);
    s->is_lost = s->to_play > 0 && s->to_play < lives && !s->terminated;
    if (s->screens == 0) return;
    cm_area_resize(e->area, first, s->screens == 1 ? NULL : second, cm_python_observation_of(s));
}

void cm_atari_judge(const cm_env_params *params, const cm_python_state *s, cm_env_outcome *out) {
    const bool trains = params->purpose == CM_ENV_TRAINS;
    if (trains && params->life_ends && s->is_lost) out->terminated = true;
    if (s->steps >= params->max_steps) out->truncated = true;
    if (trains && params->clip_rewards && !isnan(out->reward)) out->reward = (out->reward > 0.0) - (out->reward < 0.0);
}

cm_status cm_atari_check_flags(const cm_python_state *s) {
    enum { MOST_LIVES = 255 };
    CM_TRY(cm_env_check_int("its number of lives", s->to_play, 0, MOST_LIVES));
    CM_TRY(cm_env_check_int("its number of screens", s->screens, 0, 2));
    return cm_env_check_int("its mark of a lost life", s->is_lost, 0, 1);
}
