/* Writes tests/data/connect4.jsonl: 1,000 positions of Connect4 with the exact value of every legal move, in which
 * something may be lost (arena/collect.h); 40 of every ply from 8 to 32, half from random games and half from games of
 * players that try to win.
 *
 *     build/solved_positions OUT [GAMES]      GAMES: a file of `cumind eval --save-games`; without it plain tree search
 *                                             plays against itself
 *
 * `make positions` runs it. The result does not depend on threads. */
#include <stdio.h>
#include <string.h>

#include "arena/collect.h"
#include "arena/match.h"
#include "arena/uct.h"

enum {
    FIRST_PLY = 8,
    LAST_PLY = 32,
    PER_PLY = 20, /* of each source */
    RANDOM_GAMES = 4000,
    UCT_GAMES = 600,
    ROLLOUTS = 400,
    OPENING = 2, /* random moves */
    SEED = 1
};

static cm_status collect(const cm_env *env, cm_solved_source source, const cm_games *games, cm_solved *solved) {
    const cm_collect_config config = {
        .env = env, .source = source, .first_ply = FIRST_PLY, .last_ply = LAST_PLY, .per_ply = PER_PLY, .seed = SEED};
    return cm_collect(&config, games, solved);
}

/* Collects from games of two players of one kind; rollouts 0: uniformly random moves. */
static cm_status collect_played(const cm_env *env, cm_pool *pool, int games, int rollouts, cm_solved *solved) {
    cm_match_config config = {
        .env = env, .pool = pool, .shape = cm_match_shape_of(games, pool), .games = games, .keeps_moves = true};
    cm_match *match = NULL;
    cm_status status = CM_OK;
    for (int i = 0; i < 2 && status == CM_OK; i++) {
        status = rollouts == 0 ? cm_player_random(env, &config.players[i])
                               : cm_player_uct(env, &config.shape, rollouts, &config.players[i]);
    }
    if (status == CM_OK) status = cm_match_create(&config, &match);
    if (status == CM_OK) status = cm_match_run(match, games, SEED, rollouts == 0 ? 0 : OPENING);
    if (status == CM_OK) {
        status = collect(env, rollouts == 0 ? CM_SOLVED_RANDOM : CM_SOLVED_GAMES, cm_match_games(match), solved);
    }
    cm_match_destroy(match);
    for (int i = 0; i < 2; i++) cm_player_destroy(config.players[i]);
    return status;
}

static cm_status collect_read(const cm_env *env, const char *path, cm_solved *solved) {
    cm_games games;
    CM_TRY(cm_games_read(path, env, &games));
    cm_status status = collect(env, CM_SOLVED_GAMES, &games, solved);
    cm_games_free(&games);
    return status;
}

static cm_status write_positions(const cm_env *env, cm_pool *pool, const char *out, const char *games) {
    cm_solved solved;
    CM_TRY(cm_solved_create(env, CM_SOLVED_SOURCES * PER_PLY * (LAST_PLY - FIRST_PLY + 1), &solved));
    snprintf(solved.about[CM_SOLVED_RANDOM], CM_SOLVED_ABOUT, "%d games of uniformly random moves, seed %d",
             RANDOM_GAMES, SEED);
    if (games) {
        const char *slash = strrchr(games, '/');
        snprintf(solved.about[CM_SOLVED_GAMES], CM_SOLVED_ABOUT, "games of an agent, from the file %s",
                 slash ? slash + 1 : games);
    } else {
        snprintf(solved.about[CM_SOLVED_GAMES], CM_SOLVED_ABOUT,
                 "%d games of plain tree search with %d random rollouts against itself behind %d random moves, seed %d "
                 "(not of an agent)",
                 UCT_GAMES, ROLLOUTS, OPENING, SEED);
    }
    cm_status status = collect_played(env, pool, RANDOM_GAMES, 0, &solved);
    if (status == CM_OK) {
        status = games ? collect_read(env, games, &solved) : collect_played(env, pool, UCT_GAMES, ROLLOUTS, &solved);
    }
    if (status == CM_OK) status = cm_solved_save(&solved, env, out);
    cm_solved_free(&solved);
    return status;
}

int main(int argc, char **argv) {
    cm_env env;
    cm_pool *pool = NULL;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: solved_positions OUT [GAMES]\n");
        return 2;
    }
    cm_status status = cm_env_open(&env, "connect4", NULL);
    if (status == CM_OK) status = cm_pool_create(0, &pool);
    if (status == CM_OK) status = write_positions(&env, pool, argv[1], argc == 3 ? argv[2] : NULL);
    cm_pool_destroy(pool);
    if (status != CM_OK) fprintf(stderr, "solved_positions: %s\n", cm_error_message());
    return status == CM_OK ? 0 : 1;
}
