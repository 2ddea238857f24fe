#include "agent/player.h"

#include <stdlib.h>

#include "core/arena.h"

void cm_player_destroy(cm_player *player) {
    if (player) player->destroy(player);
}

/* ---- an agent ---- */

typedef struct agent_player {
    cm_player base;
    const cm_env *env;
    int shards;
    cm_planner **planners; /* [shards], owned */
    uint8_t *legal;        /* [shards, rows, A], owned; NULL if every action always is */
    size_t legal_stride;   /* bytes of a shard */
} agent_player;

static cm_status agent_choose(cm_player *player, const cm_turn *turn) {
    agent_player *p = (agent_player *)player;
    size_t width = (size_t)p->env->spec.actions;
    cm_planner *planner = p->planners[turn->shard];
    uint8_t *legal = p->legal ? p->legal + (size_t)turn->shard * p->legal_stride : NULL;
    for (int k = 0; k < turn->count; k++) {
        cm_planner_place(planner, k, p->env, turn->states[k]);
        if (legal) cm_env_legal(p->env, turn->states[k], legal + (size_t)k * width);
    }
    cm_roots roots = {.count = turn->count, .legal = legal};
    cm_search_result result = {.action = turn->actions};
    return cm_planner_run(planner, &roots, &result);
}

static void agent_destroy(cm_player *player) {
    agent_player *p = (agent_player *)player;
    for (int i = 0; p->planners && i < p->shards; i++) cm_planner_destroy(p->planners[i]);
    free(p->planners);
    free(p->legal);
    free(p);
}

static cm_status open_agent_player(agent_player *p, cm_agent *agent, const cm_match_shape *shape) {
    cm_planner_config config = {.search = cm_agent_get_config(agent)->evaluation};
    p->legal_stride = (size_t)shape->rows * (size_t)p->env->spec.actions;
    CM_TRY(cm_alloc(&p->planners, (size_t)shape->shards, sizeof(cm_planner *), "a player"));
    if (p->env->def->legal) {
        CM_TRY(cm_alloc(&p->legal, (size_t)shape->shards, p->legal_stride, "a player"));
        p->base.bytes += (size_t)shape->shards * p->legal_stride;
    }
    for (int i = 0; i < shape->shards; i++) {
        CM_TRY(cm_agent_planner(agent, shape->rows, false, &p->planners[i]));
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
    p->shards = shape->shards;
    cm_status status = open_agent_player(p, agent, shape);
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
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    for (int k = 0; k < turn->count; k++) {
        cm_rng rng = cm_rng_init(turn->keys[k], turn->steps[k]);
        cm_env_legal(env, turn->states[k], legal);
        turn->actions[k] = cm_rng_pick(&rng, legal, env->spec.actions);
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
