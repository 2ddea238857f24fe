#include "arena/player.h"

#include <stdlib.h>

#include "core/arena.h"

void cm_player_destroy(cm_player *player) {
    if (player) player->destroy(player);
}

/* ---- an agent ---- */

typedef struct agent_player {
    cm_player base;
    const cm_env *env;
    int workers, rows;     /* rows of a planner */
    cm_planner **planners; /* [workers], owned */
    cm_time_rate *rates;   /* [workers], owned */
    cm_search_params params;
    uint8_t *legal; /* [workers, rows, A], owned; NULL if every action always is */
} agent_player;

/* Seconds for all games of a turn: those of the game that is furthest. 0: no limit. */
static double time_of_turn(const agent_player *p, const cm_turn *turn) {
    const int players = p->env->spec.players;
    double seconds = 0.0;
    for (int k = 0; k < turn->count; k++) {
        const double own = cm_time_of_move(&p->base.time, &p->env->spec, (int)turn->steps[k] / players);
        if (k == 0 || own < seconds) seconds = own;
    }
    return seconds;
}

/* The moves first .. first + count - 1 of a turn, in some seconds; 0: no limit. */
static cm_status search(agent_player *p, const cm_turn *turn, int first, int count, double seconds) {
    size_t width = (size_t)p->env->spec.actions;
    cm_planner *planner = p->planners[turn->worker];
    cm_planner_heed(planner, turn->stop);
    uint8_t *legal = p->legal ? p->legal + (size_t)turn->worker * (size_t)p->rows * width : NULL;
    for (int k = 0; k < count; k++) {
        const void *state = turn->states[first + k];
        cm_planner_place(planner, k, p->env, state);
        if (legal) cm_env_legal(p->env, state, legal + (size_t)k * width);
    }
    cm_roots roots = {.count = count, .legal = legal};
    cm_search_result result = {.action = turn->actions + first};
    return cm_time_run(&p->rates[turn->worker], planner, &p->params, &roots, &result, seconds, turn->stop);
}

static cm_status agent_choose(cm_player *player, const cm_turn *turn) {
    agent_player *p = (agent_player *)player;
    const double seconds = time_of_turn(p, turn);
    for (int first = 0; first < turn->count; first += p->rows) {
        const int left = turn->count - first, count = left < p->rows ? left : p->rows;
        CM_TRY(search(p, turn, first, count, seconds * count / turn->count));
    }
    return CM_OK;
}

static void agent_destroy(cm_player *player) {
    agent_player *p = (agent_player *)player;
    for (int i = 0; p->planners && i < p->workers; i++) cm_planner_destroy(p->planners[i]);
    free(p->planners);
    free(p->rates);
    free(p->legal);
    free(p);
}

static cm_status open_agent_player(agent_player *p, cm_agent *agent) {
    cm_planner_config config = {.search = cm_agent_get_config(agent)->evaluation};
    p->params = config.search;
    size_t masks = (size_t)p->rows * (size_t)p->env->spec.actions;
    CM_TRY(cm_alloc(&p->planners, (size_t)p->workers, sizeof(cm_planner *), "a player"));
    CM_TRY(cm_alloc(&p->rates, (size_t)p->workers, sizeof *p->rates, "a player"));
    if (p->env->def->legal) {
        CM_TRY(cm_alloc(&p->legal, (size_t)p->workers, masks, "a player"));
        p->base.bytes += (size_t)p->workers * masks;
    }
    for (int i = 0; i < p->workers; i++) {
        CM_TRY(cm_agent_planner(agent, p->rows, false, &p->planners[i]));
        p->base.bytes += cm_planner_bytes(&config, p->planners[i]);
    }
    return CM_OK;
}

cm_status cm_player_agent(cm_agent *agent, const cm_env *env, const cm_match_shape *shape, cm_player **out) {
    agent_player *p = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a player"));
    p->base = (cm_player){.choose = agent_choose, .destroy = agent_destroy, .bytes = sizeof *p};
    p->env = env;
    p->rows = cm_agent_planner_rows(agent, shape->rows);
    p->workers = shape->workers;
    cm_status status = open_agent_player(p, agent);
    if (status == CM_OK) {
        *out = &p->base;
    } else {
        agent_destroy(&p->base);
    }
    return status;
}

/* ---- uniform moves ---- */

typedef struct random_player {
    cm_player base;
    const cm_env *env;
} random_player;

static cm_status random_choose(cm_player *player, const cm_turn *turn) {
    const cm_env *env = ((random_player *)player)->env;
    for (int k = 0; k < turn->count; k++) {
        cm_rng rng = cm_rng_init(turn->keys[k], turn->steps[k]);
        turn->actions[k] = cm_env_random_action(env, turn->states[k], &rng);
    }
    return CM_OK;
}

static void random_destroy(cm_player *player) { free(player); }

cm_status cm_player_random(const cm_env *env, cm_player **out) {
    random_player *p = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a player"));
    p->base = (cm_player){.choose = random_choose, .destroy = random_destroy, .bytes = sizeof *p};
    p->env = env;
    *out = &p->base;
    return CM_OK;
}
