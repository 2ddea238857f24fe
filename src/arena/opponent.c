#include "arena/opponent.h"

#include <stdlib.h>
#include <string.h>

#include "arena/perfect.h"
#include "arena/uct.h"
#include "core/count.h"

static cm_status parse_rollouts(const char *text, int *out) {
    int64_t number = 0;
    if (!cm_parse_count(text, &number) || number < 1 || number > CM_UCT_MOST_ROLLOUTS) {
        return cm_fail(CM_ERR_INPUT, "mcts: needs a number of rollouts in 1..%d, as in mcts:800, got \"%.40s\"",
                       CM_UCT_MOST_ROLLOUTS, text);
    }
    *out = (int)number;
    return CM_OK;
}

cm_status cm_opponent_parse(const char *text, cm_opponent *out) {
    *out = (cm_opponent){.kind = CM_OPPONENT_AGENT};
    if (strcmp(text, "random") == 0) out->kind = CM_OPPONENT_RANDOM;
    if (strcmp(text, "perfect") == 0) out->kind = CM_OPPONENT_PERFECT;
    if (strcmp(text, "mcts") != 0 && strncmp(text, "mcts:", 5) != 0) return CM_OK;
    out->kind = CM_OPPONENT_MCTS;
    return parse_rollouts(text + strcspn(text, ":") + (text[4] == ':'), &out->rollouts);
}

cm_status cm_opponent_player(const cm_opponent *opponent, cm_agent *agent, const cm_env *env,
                             const cm_match_shape *shape, cm_player **out) {
    switch (opponent->kind) {
    case CM_OPPONENT_RANDOM: return cm_player_random(env, out);
    case CM_OPPONENT_PERFECT: return cm_player_perfect(env, shape, out);
    case CM_OPPONENT_MCTS: return cm_player_uct(env, shape, opponent->rollouts, out);
    case CM_OPPONENT_AGENT: break;
    }
    return cm_player_agent(agent, env, shape, out);
}
