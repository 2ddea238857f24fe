/* Files of games and of solved positions: what is read is a legal game, and positions are written and read again. */
#include "fuzz/fuzz.h"

#include "arena/games.h"
#include "env/solved.h"

static void fuzz_games(const cm_env *env, const char *path) {
    cm_games games;
    if (cm_games_read(path, env, &games) != CM_OK) return;
    for (int i = 0; i < games.count; i++) FUZZ_EXPECT(games.length[i] >= 0 && games.length[i] <= env->spec.max_plies);
    cm_games_free(&games);
}

static void fuzz_solved(const cm_env *env, const char *path) {
    static char copy[96];
    cm_solved solved, again;
    if (cm_solved_read(path, env, &solved) != CM_OK) return;
    snprintf(copy, sizeof copy, "%s/copy.jsonl", fuzz_folder());
    if (cm_solved_save(&solved, env, copy) != CM_OK) abort();
    FUZZ_EXPECT(cm_solved_read(copy, env, &again) == CM_OK);
    FUZZ_EXPECT(again.count == solved.count && again.ply[0] == solved.ply[0]);
    unlink(copy);
    cm_solved_free(&solved);
    cm_solved_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[FUZZ_PATH];
    cm_env env;
    if (cm_env_open(&env, "tictactoe", NULL) != CM_OK) abort();
    int file = fuzz_file(data, size, path);
    fuzz_games(&env, path);
    fuzz_solved(&env, path);
    close(file);
    return 0;
}
