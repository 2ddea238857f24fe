#include "env/minatar_seaquest.h"

static const char *const channels[CM_SEAQUEST_CHANNELS] = {
    "front", "back", "bullet", "trail", "bullet of an enemy", "fish", "submarine", "oxygen", "divers carried", "diver"};
static const uint8_t minimal[] = {CM_MINATAR_NONE,  CM_MINATAR_LEFT, CM_MINATAR_UP,
                                  CM_MINATAR_RIGHT, CM_MINATAR_DOWN, CM_MINATAR_FIRE};

static void planes(const void *rules, cm_minatar_cells *out) { cm_seaquest_planes((const cm_seaquest *)rules, out); }

/* A full crew pays up to 10, each own bullet 1. */
static const cm_minatar_game game = {.channels = channels,
                                     .count = CM_SEAQUEST_CHANNELS,
                                     .letters = "Oo*-!fS=+d",
                                     .order = "0124569873",
                                     .minimal = minimal,
                                     .minimal_count = sizeof minimal,
                                     .discount = 0.99,
                                     .most = 10 + CM_SEAQUEST_FEW,
                                     .bytes = sizeof(cm_seaquest),
                                     .planes = planes};

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    cm_seaquest_start((cm_seaquest *)rules);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    cm_seaquest *s = (cm_seaquest *)rules;
    const int done = cm_minatar_choose(&game, params, action, &s->last_action, random);
    int reward;
    const bool ends = cm_seaquest_step(s, done, params->ramping, random, &reward);
    return (cm_env_outcome){reward, ends, false};
}

/* A thing on the board, in rows `top` .. 8, whose clocks are at most these. */
static cm_status check_thing(const cm_seaquest_thing *thing, int top, int move_in, int shoot_in) {
    CM_TRY(cm_env_check_int("the column of a thing of it", thing->x, 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("the row of a thing of it", thing->y, top, CM_SEAQUEST_ROWS));
    CM_TRY(cm_env_check_int("the direction of a thing of it", thing->side, -1, 1));
    CM_TRY(cm_env_check_int("the frames to the next move of a thing of it", thing->move_in, 0, move_in));
    return cm_env_check_int("the frames to the next shot of a thing of it", thing->shoot_in, 0, shoot_in);
}

static cm_status check_lists(const cm_seaquest *s) {
    const struct {
        const char *name;
        const cm_seaquest_thing *things;
        int count, room, top, move_in, shoot_in;
    } lists[] = {
        {"the number of its bullets", s->own, s->own_count, CM_SEAQUEST_FEW, 0, 0, 0},
        {"the number of its divers", s->divers, s->diver_count, CM_SEAQUEST_FEW, 1, CM_SEAQUEST_MOVE, 0},
        {"the number of its enemies' bullets", s->bullets, s->bullet_count, CM_SEAQUEST_MANY, 1, CM_SEAQUEST_MOVE,
         CM_SEAQUEST_SHOOT},
        {"the number of its fish", s->fish, s->fish_count, CM_SEAQUEST_MANY, 1, CM_SEAQUEST_MOVE, 0},
        {"the number of its submarines", s->submarines, s->submarine_count, CM_SEAQUEST_MANY, 1, CM_SEAQUEST_MOVE,
         CM_SEAQUEST_SHOOT},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        CM_TRY(cm_env_check_int(lists[i].name, lists[i].count, 0, lists[i].room));
        for (int k = 0; k < lists[i].count; k++)
            CM_TRY(check_thing(&lists[i].things[k], lists[i].top, lists[i].move_in, lists[i].shoot_in));
    }
    return CM_OK;
}

/* The boat's back is a column behind its front, and on the board, as a boat that turns moves on. */
static cm_status check_boat(const cm_seaquest *s, int steps, bool ended) {
    CM_TRY(cm_env_check_int("its boat's column", s->x, 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its boat's row", s->y, 0, CM_SEAQUEST_ROWS));
    CM_TRY(cm_env_check_int("its boat's direction", s->side, -1, 1));
    CM_TRY(cm_env_check_int("the column of its boat's back", s->x - s->side, 0, CM_MINATAR_LAST));
    CM_TRY(cm_env_check_int("its oxygen", s->oxygen, ended ? -1 : 0, CM_SEAQUEST_OXYGEN));
    CM_TRY(cm_env_check_int("the number of divers that it carries", s->carried, -(int64_t)steps, CM_SEAQUEST_CREW));
    return cm_env_check_int("its mark of the surface", s->has_surfaced, 0, 1);
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_seaquest *s = (const cm_seaquest *)rules;
    CM_TRY(cm_minatar_check_action(s->last_action));
    CM_TRY(check_boat(s, steps, ended));
    CM_TRY(check_lists(s));
    CM_TRY(cm_env_check_int("its frames to the next enemy", s->spawn_in, 0, CM_SEAQUEST_SPAWN));
    CM_TRY(cm_env_check_int("its frames to the next diver", s->diver_in, 0, CM_SEAQUEST_DIVER));
    CM_TRY(cm_env_check_int("its frames to the next bullet", s->cool, 0, CM_SEAQUEST_COOL));
    return cm_env_check_int("its ramps", s->ramps, 0, params->ramping ? CM_SEAQUEST_RAMPS : 0);
}

CM_MINATAR_ROW(cm_env_minatar_seaquest, check, CM_ENV_RAMPING, .name = "minatar_seaquest", .alias = "minatar-seaquest",
               .about = "MinAtar: shoot, save divers, come up for air", .colours = "O3o3*3f2S1!1d5+5=6");
