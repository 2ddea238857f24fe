#include "agent/variation.h"

#include <string.h>

/* The column of the legal child with the most visits; -1: none was visited. */
static int32_t most_visited(const cm_search *trees, int row, int32_t slot, const uint8_t *legal) {
    const cm_node_info node = cm_search_node(trees, row, slot);
    cm_edge_info best = {.visits = 0};
    int32_t found = -1;
    for (int32_t c = 0; !node.is_chance && c < node.width; c++) {
        const cm_edge_info edge = legal[c] ? cm_search_edge(trees, row, slot, c) : (cm_edge_info){.visits = 0};
        if (edge.visits == 0 || edge.visits < best.visits) continue;
        if (edge.visits == best.visits && edge.prior <= best.prior) continue;
        best = edge, found = c;
    }
    return found;
}

/* Plays a legal action; whether the game goes on from a position that is known. */
static bool play_on(const cm_env *env, void *state, int32_t action) {
    const cm_pcg64 random = ((const cm_env_common *)state)->random;
    cm_env_outcome outcome;
    if (env->spec.replays || env->spec.chance_outcomes > 0) return false;
    if (cm_env_step(env, state, action, &outcome) != CM_OK || cm_env_ended(state)) return false;
    return memcmp(&random, &((const cm_env_common *)state)->random, sizeof random) == 0;
}

int cm_variation(const cm_search *trees, int row, const cm_env *env, void *state, int32_t action, int most,
                 cm_variation_move *move) {
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    int count = 0;
    int32_t slot = 0;
    bool goes_on = !cm_env_ended(state);
    while (goes_on && action >= 0) {
        const cm_edge_info edge = cm_search_edge(trees, row, slot, action);
        if (edge.visits == 0) break;
        move[count++] = (cm_variation_move){action, edge.visits};
        slot = edge.child;
        goes_on = count < most && play_on(env, state, action);
        if (goes_on) cm_env_legal(env, state, legal);
        if (goes_on) action = most_visited(trees, row, slot, legal);
    }
    return count;
}
