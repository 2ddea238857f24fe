/* Principal variations of a finished search: the line of play that it thinks best after a move. */
#ifndef CM_AGENT_VARIATION_H
#define CM_AGENT_VARIATION_H

#include "env/env.h"
#include "mcts/search.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_VARIATION_MOST = 256 }; /* moves of a line that is kept whole */

/* A move of a line, and the simulations through it. */
typedef struct cm_variation_move {
    int32_t action, visits;
} cm_variation_move;

/* Writes the line of tree `row` that begins with the legal `action` at the root to move[most], most >= 1, and returns
 * its length; 0 where the action was not visited. At every further node it takes the child with the most visits, among
 * equals that of the highest prior, and leaves those out that the rules forbid, which a learnt model may play. It ends
 * where the tree does, with the game, and with a move that chance follows. The columns of the tree are actions.
 * `state` [state_size], the position at the root, is played on. */
int cm_variation(const cm_search *trees, int row, const cm_env *env, void *state, int32_t action, int most,
                 cm_variation_move *move);

#ifdef __cplusplus
}
#endif
#endif
