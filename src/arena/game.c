#include "arena/game.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/games_sgf.h"
#include "core/arena.h"
#include "core/rng.h"
#include "env/draw.h"
#include "env/sgf.h"

cm_status cm_game_open(cm_game *game, const cm_env *env, cm_agent *agent, cm_pool *pool) {
    *game = (cm_game){.env = env, .last_cell = -1};
    cm_status status = cm_env_check_listed(env, "a game that is played by hand");
    if (status == CM_OK) status = cm_alloc(&game->state, 2, env->spec.state_size, "a game");
    if (status == CM_OK) game->scratch = (char *)game->state + env->spec.state_size;
    if (status == CM_OK && agent) status = cm_analyser_create(agent, env, pool, 1, &game->analyser);
    if (status != CM_OK) cm_game_close(game);
    return status;
}

void cm_game_close(cm_game *game) {
    cm_file_abandon(game->saved);
    cm_analyser_destroy(game->analyser);
    free(game->moves);
    free(game->state);
    *game = (cm_game){0};
}

void cm_game_begin(cm_game *game, uint64_t seed) {
    game->seed = seed;
    game->count = 0;
    game->last_cell = -1;
    game->total = 0.0;
    game->truncated = false;
    game->is_saved = false;
    cm_env_reset(game->env, game->state, seed);
}

/* ---- files ---- */

cm_status cm_game_save_to(cm_game *game, const char *path) {
    if (!cm_sgf_serves(game->env) || !cm_games_is_sgf(path))
        return cm_fail(CM_ERR_INPUT, "--save-games %s: writes games of go to a file that ends with .sgf", path);
    const cm_status status = cm_file_begin(path, &game->saved);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "--save-games");
}

static cm_status find_result(const cm_game *game, const int32_t *moves, char out[16]) {
    if (cm_env_ended(game->state)) return cm_games_sgf_result(game->env, moves, game->count, game->scratch, out);
    snprintf(out, 16, "?");
    return CM_OK;
}

static cm_status append(cm_game *game, int32_t *moves) {
    static const char *const names[] = {"agent", "human", "random"};
    char result[16];
    for (int i = 0; i < game->count; i++) moves[i] = game->moves[i].action;
    CM_TRY(find_result(game, moves, result));
    const cm_sgf_game played = {.size = game->env->params.size,
                                .komi = game->env->params.komi,
                                .black = names[game->mover[0]],
                                .white = names[game->mover[1]],
                                .result = result,
                                .moves = moves,
                                .count = game->count};
    CM_TRY(cm_sgf_append(game->saved, &played));
    game->saved_games++;
    game->is_saved = true;
    return CM_OK;
}

cm_status cm_game_save(cm_game *game) {
    int32_t *moves = NULL;
    if (!game->saved || game->is_saved || game->count == 0) return CM_OK;
    CM_TRY(cm_alloc(&moves, (size_t)game->count, sizeof *moves, "a game"));
    const cm_status status = append(game, moves);
    free(moves);
    return status;
}

static cm_status write_saved(cm_game *game) {
    const cm_status status = cm_game_save(game);
    cm_file_writer *file = game->saved;
    game->saved = NULL;
    if (game->saved_games == 0) {
        cm_file_abandon(file);
        return status;
    }
    CM_TRY(cm_file_commit(file));
    return status;
}

/* Of two errors the first one is told. */
cm_status cm_game_save_end(cm_game *game, cm_status status) {
    char message[512];
    if (!game->saved) return status;
    snprintf(message, sizeof message, "%s", cm_error_message());
    const cm_status written = write_saved(game);
    if (status == CM_OK || (status == CM_ERR_INTERRUPTED && written != CM_OK)) return written;
    return cm_fail(status, "%s", message);
}

/* ---- moves ---- */

int cm_game_to_play(const cm_game *game) { return cm_env_to_play(game->env, game->state); }

static cm_status reserve(cm_game *game) {
    if (game->count < game->capacity) return CM_OK;
    int capacity = game->capacity > 0 ? 2 * game->capacity : 64;
    cm_game_move *moves = realloc(game->moves, (size_t)capacity * sizeof *moves);
    if (!moves) return cm_fail(CM_ERR_MEMORY, "a game of %d moves does not fit into memory", capacity);
    game->moves = moves;
    game->capacity = capacity;
    return CM_OK;
}

cm_status cm_game_play(cm_game *game, int32_t action) {
    int player = cm_game_to_play(game);
    cm_env_outcome outcome;
    CM_TRY(reserve(game));
    memcpy(game->scratch, game->state, game->env->spec.state_size);
    CM_TRY(cm_env_step(game->env, game->state, action, &outcome));
    game->moves[game->count++] = (cm_game_move){action, player};
    game->last_cell = cm_env_moment_of(game->env, game->scratch, action, game->state).cell;
    game->total += player == 0 ? outcome.reward : -outcome.reward;
    game->truncated = outcome.truncated && !outcome.terminated;
    game->is_saved = false;
    return CM_OK;
}

/* Rules and chance are functions of seed and moves, so a shorter game is played again from its start. */
cm_status cm_game_undo(cm_game *game, int *taken) {
    int kept = game->count - 1, count = game->count;
    while (kept >= 0 && game->mover[game->moves[kept].player] != CM_MOVER_HUMAN) kept--;
    *taken = 0;
    if (kept < 0) return CM_OK;
    cm_game_begin(game, game->seed);
    for (int i = 0; i < kept; i++) CM_TRY(cm_game_play(game, game->moves[i].action));
    *taken = count - kept;
    return CM_OK;
}

cm_status cm_game_think(cm_game *game, cm_analysis *out) {
    if (!game->analyser) return cm_fail(CM_ERR_INPUT, "there is no agent; play with --run DIR");
    memcpy(cm_analyser_state(game->analyser, 0), game->state, game->env->spec.state_size);
    cm_analyser_limit(game->analyser,
                      cm_time_of_move(&game->time, &game->env->spec, game->count / game->env->spec.players));
    CM_TRY(cm_analyser_run(game->analyser, 1));
    *out = cm_analyser_get(game->analyser, 0);
    return CM_OK;
}

int32_t cm_game_random_action(const cm_game *game) {
    cm_rng random = cm_rng_init(cm_key_make(game->seed, CM_RNG_EVALUATE, 0), (uint64_t)game->count);
    return cm_env_random_action(game->env, game->state, &random);
}
