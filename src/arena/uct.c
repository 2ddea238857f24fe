#include "arena/uct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { NONE = -1, MOST_STEPS = 100000 };

typedef struct node {
    int32_t parent, first_child, next_sibling; /* NONE if there is none                                  */
    int32_t rollouts;                          /* through it                                             */
    int32_t untried;                           /* legal actions without a child; NONE: not counted yet    */
    int16_t action;                            /* that led here ...                                       */
    int8_t mover;                              /* ... and the player who took it                          */
    double points;                             /* of that player: 1 for a win, 1/2 for a draw             */
} node;

/* Of one worker. */
typedef struct tree {
    node *nodes; /* [rollouts + 1], owned */
    int count;
    char *state;  /* [state_size] of the rollout that goes on, owned */
    double total; /* its rewards so far, player 0's less player 1's */
} tree;

typedef struct uct_player {
    cm_player base;
    const cm_env *env;
    int rollouts, workers;
    tree *trees; /* [workers], owned */
} uct_player;

/* ---- one rollout ---- */

static cm_status step(const cm_env *env, tree *t, int action) {
    cm_env_outcome outcome;
    int mover = cm_env_to_play(env, t->state);
    CM_TRY(cm_env_step(env, t->state, action, &outcome));
    t->total += mover == 0 ? outcome.reward : -outcome.reward;
    return CM_OK;
}

static int add_node(tree *t, int parent, int action, int mover) {
    node *n = &t->nodes[t->count];
    *n = (node){.parent = parent,
                .first_child = NONE,
                .next_sibling = parent == NONE ? NONE : t->nodes[parent].first_child,
                .untried = NONE,
                .action = (int16_t)action,
                .mover = (int8_t)mover};
    if (parent != NONE) t->nodes[parent].first_child = t->count;
    return t->count++;
}

/* The child with the highest UCB1. */
static int select_child(const tree *t, int parent) {
    const double exploration = 2.0 * log((double)t->nodes[parent].rollouts); /* c^2 ln N */
    int best = NONE;
    double highest = -1.0;
    for (int i = t->nodes[parent].first_child; i != NONE; i = t->nodes[i].next_sibling) {
        const node *n = &t->nodes[i];
        double score = n->points / n->rollouts + sqrt(exploration / n->rollouts);
        if (score > highest) highest = score, best = i;
    }
    return best;
}

/* Draws one of the untried actions of a node, whose legal actions are `mask`, and gives it a child. */
static int expand(const cm_env *env, tree *t, int parent, uint8_t *mask, cm_rng *rng) {
    for (int i = t->nodes[parent].first_child; i != NONE; i = t->nodes[i].next_sibling) mask[t->nodes[i].action] = 0;
    int action = cm_rng_pick(rng, mask, env->spec.actions);
    t->nodes[parent].untried--;
    return add_node(t, parent, action, cm_env_to_play(env, t->state));
}

/* From the root to a new node, or to an end; *out is the last node. */
static cm_status descend(const cm_env *env, tree *t, cm_rng *rng, int *out) {
    uint8_t mask[CM_ENV_MAX_ACTIONS];
    int at = 0;
    while (!cm_env_ended(t->state)) {
        node *n = &t->nodes[at];
        bool open = n->untried != 0;
        if (open) cm_env_legal(env, t->state, mask);
        if (n->untried == NONE) {
            n->untried = 0;
            for (int a = 0; a < env->spec.actions; a++) n->untried += mask[a] != 0;
        }
        at = open ? expand(env, t, at, mask, rng) : select_child(t, at);
        CM_TRY(step(env, t, t->nodes[at].action));
        if (open) break;
    }
    *out = at;
    return CM_OK;
}

static cm_status play_out(const cm_env *env, tree *t, cm_rng *rng) {
    for (int i = 0; i < MOST_STEPS && !cm_env_ended(t->state); i++)
        CM_TRY(step(env, t, cm_env_random_action(env, t->state, rng)));
    return CM_OK;
}

static void back_up(tree *t, int at) {
    double first = t->total > 0.0 ? 1.0 : t->total < 0.0 ? 0.0 : 0.5; /* points of player 0 */
    for (; at != NONE; at = t->nodes[at].parent) {
        t->nodes[at].rollouts++;
        t->nodes[at].points += t->nodes[at].mover == 0 ? first : 1.0 - first;
    }
}

/* ---- a move ---- */

static bool is_better(const node *a, const node *b) {
    if (a->rollouts != b->rollouts) return a->rollouts > b->rollouts;
    return a->points > b->points || (a->points == b->points && a->action < b->action);
}

static int best_action(const tree *t) {
    int best = t->nodes[0].first_child;
    for (int i = best; i != NONE; i = t->nodes[i].next_sibling) {
        if (is_better(&t->nodes[i], &t->nodes[best])) best = i;
    }
    return t->nodes[best].action;
}

/* The move in position k of a turn. */
static cm_status search(const uct_player *p, const cm_turn *turn, int k) {
    tree *t = &p->trees[turn->worker];
    cm_rng rng = cm_rng_init(turn->keys[k], turn->steps[k]);
    t->count = 0;
    add_node(t, NONE, NONE, 1 - cm_env_to_play(p->env, turn->states[k]));
    for (int i = 0; i < p->rollouts; i++) {
        int leaf = 0;
        if (cm_stop_asked(turn->stop)) return cm_fail(CM_ERR_INTERRUPTED, "the rollouts were interrupted");
        memcpy(t->state, turn->states[k], p->env->spec.state_size);
        t->total = 0.0;
        CM_TRY(descend(p->env, t, &rng, &leaf));
        CM_TRY(play_out(p->env, t, &rng));
        back_up(t, leaf);
    }
    turn->actions[k] = best_action(t);
    return CM_OK;
}

static cm_status uct_choose(cm_player *player, const cm_turn *turn) {
    for (int k = 0; k < turn->count; k++) CM_TRY(search((const uct_player *)player, turn, k));
    return CM_OK;
}

/* ---- the player ---- */

static void uct_destroy(cm_player *player) {
    uct_player *p = (uct_player *)player;
    for (int i = 0; p->trees && i < p->workers; i++) {
        free(p->trees[i].nodes);
        free(p->trees[i].state);
    }
    free(p->trees);
    free(p);
}

static cm_status open_trees(uct_player *p) {
    CM_TRY(cm_alloc(&p->trees, (size_t)p->workers, sizeof *p->trees, "a tree of rollouts"));
    for (int i = 0; i < p->workers; i++) {
        CM_TRY(cm_alloc(&p->trees[i].nodes, (size_t)p->rollouts + 1, sizeof(node), "a tree of rollouts"));
        CM_TRY(cm_alloc(&p->trees[i].state, 1, p->env->spec.state_size, "a tree of rollouts"));
        p->base.bytes += ((size_t)p->rollouts + 1) * sizeof(node) + p->env->spec.state_size;
    }
    return CM_OK;
}

cm_status cm_player_uct(const cm_env *env, const cm_match_shape *shape, int rollouts, cm_player **out) {
    uct_player *p = NULL;
    *out = NULL;
    if (env->spec.players != 2) return cm_fail(CM_ERR_INPUT, "%s: is not a game of two players", env->spec.name);
    if (env->spec.replays)
        return cm_fail(CM_ERR_INPUT,
                       "mcts: searches on the true rules, but those of %s, in Python, can only be played from the "
                       "start; take random or another run",
                       env->spec.name);
    if (rollouts < 1 || rollouts > CM_UCT_MOST_ROLLOUTS) {
        return cm_fail(CM_ERR_INPUT, "mcts: 1 to %d rollouts per move, got %d", CM_UCT_MOST_ROLLOUTS, rollouts);
    }
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a player"));
    p->base = (cm_player){.choose = uct_choose, .destroy = uct_destroy, .bytes = sizeof *p};
    p->env = env, p->rollouts = rollouts, p->workers = shape->workers;
    cm_status status = open_trees(p);
    if (status == CM_OK) {
        *out = &p->base;
    } else {
        uct_destroy(&p->base);
    }
    return status;
}
