#include "arena/games_sgf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/arena.h"
#include "env/go.h"
#include "env/sgf.h"

bool cm_games_is_sgf(const char *path) {
    const size_t length = strlen(path);
    return length >= 4 && strcasecmp(path + length - 4, ".sgf") == 0;
}

cm_status cm_games_sgf_result(const cm_env *env, const int32_t *moves, int count, void *state, char out[16]) {
    cm_env_outcome outcome;
    cm_env_reset(env, state, 0);
    for (int i = 0; i < count; i++) CM_TRY(cm_env_step(env, state, moves[i], &outcome));
    cm_sgf_result(cm_go_area((const cm_go *)cm_env_rules_of(state)) - env->params.komi, out);
    return CM_OK;
}

/* Game number `i`; moves[stride] and state are scratch. */
static cm_status append_game(const cm_games *games, const cm_env *env, int i, const char *const names[2],
                             int32_t *moves, void *state, cm_file_writer *file) {
    char result[16];
    const int count = games->length[i], theirs = games->theirs[i];
    for (int k = 0; k < count; k++) moves[k] = games->moves[(size_t)i * (size_t)games->stride + (size_t)k];
    CM_TRY(cm_games_sgf_result(env, moves, count, state, result));
    const cm_sgf_game game = {.size = env->params.size,
                              .komi = env->params.komi,
                              .black = names[theirs],
                              .white = names[1 - theirs],
                              .result = result,
                              .moves = moves,
                              .count = count};
    return cm_sgf_append(file, &game);
}

static cm_status write_games(const cm_games *games, const cm_env *env, const char *const names[2], const char *path) {
    cm_file_writer *file = NULL;
    int32_t *moves = NULL;
    void *state = NULL;
    cm_status status = cm_alloc(&moves, (size_t)games->stride, sizeof *moves, "a game");
    if (status == CM_OK) status = cm_alloc(&state, 1, env->spec.state_size, "a game");
    if (status == CM_OK) status = cm_file_begin(path, &file);
    for (int i = 0; i < games->count && status == CM_OK; i++)
        status = append_game(games, env, i, names, moves, state, file);
    free(moves);
    free(state);
    if (status == CM_OK) return cm_file_commit(file);
    cm_file_abandon(file);
    return status;
}

cm_status cm_games_save_sgf(const cm_games *games, const cm_env *env, const char *ours, const char *theirs,
                            const char *path) {
    const char *const names[2] = {ours, theirs};
    if (!cm_sgf_serves(env))
        return cm_fail(CM_ERR_INPUT, "%s: SGF is for games of go, not of %s", path, env->spec.name);
    if (games->stride == 0) return cm_fail(CM_ERR_STATE, "%s: the moves of these games were not kept", path);
    return write_games(games, env, names, path);
}
