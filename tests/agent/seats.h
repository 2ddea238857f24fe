/* Matches of players that need no network, for tests. */
#ifndef TESTS_AGENT_SEATS_H
#define TESTS_AGENT_SEATS_H

#include <check.h>
#include <stdlib.h>

#include "arena/match.h"
#include "support/main.h"

typedef struct seats {
    cm_env env;
    cm_pool *pool;
    cm_match_config config; /* players are set by the test */
    cm_match *match;
} seats;

static inline void expect_status(cm_status status) { ck_assert_msg(status == CM_OK, "%s", cm_error_message()); }

/* Opens game and pool; the test makes the players for config.shape. */
static inline void open_seats(seats *s, const char *game, int games, int threads) {
    *s = (seats){.match = NULL};
    expect_status(cm_env_open(&s->env, game, NULL));
    expect_status(cm_pool_create(threads, &s->pool));
    s->config = (cm_match_config){.env = &s->env,
                                  .pool = s->pool,
                                  .shape = cm_match_shape_of(games, s->pool),
                                  .games = games,
                                  .keeps_moves = true};
}

/* Plays all games between config.players; the players belong to the seats from here on. */
static inline const cm_games *play(seats *s, uint64_t seed, int opening) {
    expect_status(cm_match_create(&s->config, &s->match));
    expect_status(cm_match_run(s->match, s->config.games, seed, opening));
    return cm_match_games(s->match);
}

static inline void close_seats(seats *s) {
    cm_match_destroy(s->match);
    for (int i = 0; i < 2; i++) cm_player_destroy(s->config.players[i]);
    cm_pool_destroy(s->pool);
}

/* A player that takes the legal action of lowest number, and where `turns` is not 0 asks for an end after so many. */
typedef struct lowest_player {
    cm_player base;
    const cm_env *env;
    int turns;
    cm_stop stop;
} lowest_player;

static inline int lowest_legal(const cm_env *env, const void *state) {
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    int action = 0;
    cm_env_legal(env, state, legal);
    while (!legal[action]) action++;
    return action;
}

static inline cm_status lowest_choose(cm_player *player, const cm_turn *turn) {
    lowest_player *p = (lowest_player *)player;
    for (int k = 0; k < turn->count; k++) turn->actions[k] = lowest_legal(p->env, turn->states[k]);
    if (p->turns > 0 && --p->turns == 0) cm_stop_ask(&p->stop);
    return CM_OK;
}

static inline void lowest_destroy(cm_player *player) { free(player); }

static inline cm_player *lowest(const cm_env *env) {
    lowest_player *p = calloc(1, sizeof *p);
    p->base = (cm_player){.choose = lowest_choose, .destroy = lowest_destroy};
    p->env = env;
    return &p->base;
}

static inline int run_seats(const char *name, const TTest *const *tests, int count) {
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 60);
    for (int i = 0; i < count; i++) tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}

#endif
