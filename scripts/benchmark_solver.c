/* Time of an exact solver per position: all legal moves of random positions, ply by ply, on one thread.
 *
 *     build/benchmark_solver [GAME [POSITIONS [PLY]...]]      connect4, 100, 8 10 12 16 20 24
 *
 * Processor time, with a table that is fresh for every ply and filled by the positions before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/rng.h"
#include "env/solver.h"

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Uniform moves from the start; false if the game ended before. */
static bool play_random(const cm_env *env, void *state, int plies, cm_rng *rng) {
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    cm_env_outcome outcome = {0.0, false, false};
    cm_env_reset(env, state, 0);
    for (int i = 0; i < plies && !outcome.terminated; i++) {
        cm_env_legal(env, state, legal);
        if (cm_env_step(env, state, cm_rng_pick(rng, legal, env->spec.actions), &outcome) != CM_OK) return false;
    }
    return !outcome.terminated;
}

static cm_status measure(const cm_env *env, void *state, int ply, int positions) {
    cm_rng rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, (uint64_t)ply), 0);
    cm_solver *solver = NULL;
    double total = 0.0, most = 0.0;
    int results[3] = {0}; /* lost, drawn, won */
    CM_TRY(cm_solver_create(env, &solver));
    cm_status status = CM_OK;
    for (int i = 0; i < positions && status == CM_OK; i++) {
        int8_t value[CM_ENV_MAX_ACTIONS];
        int best = -1;
        while (!play_random(env, state, ply, &rng)) continue;
        double before = processor_seconds();
        status = cm_solver_solve(solver, state, NULL, value);
        double seconds = processor_seconds() - before;
        total += seconds;
        if (seconds > most) most = seconds;
        for (int a = 0; a < env->spec.actions; a++) best = value[a] > best ? value[a] : best;
        results[best + 1]++;
    }
    cm_solver_destroy(solver);
    if (status == CM_OK) {
        printf("%3d  %11.3f  %11.1f  %6d  %5d  %4d\n", ply, 1e3 * total / positions, 1e3 * most, results[2], results[1],
               results[0]);
        fflush(stdout);
    }
    return status;
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"8", "10", "12", "16", "20", "24"};
    const char *const *plies = argc > 3 ? (const char *const *)argv + 3 : usual;
    const int count = argc > 3 ? argc - 3 : (int)(sizeof usual / sizeof *usual);
    const int positions = argc > 2 ? atoi(argv[2]) : 100;
    cm_env env;
    cm_status status = cm_env_open(&env, argc > 1 ? argv[1] : "connect4", NULL);
    void *state = status == CM_OK ? malloc(env.spec.state_size) : NULL;
    if (status == CM_OK && (!state || positions < 1)) status = cm_fail(CM_ERR_INPUT, "POSITIONS must be at least 1");
    if (status == CM_OK) printf("ply   mean in ms    max in ms     won  drawn  lost\n");
    for (int i = 0; i < count && status == CM_OK; i++) {
        const int ply = atoi(plies[i]);
        if (ply < 0 || ply >= env.spec.max_plies) status = cm_fail(CM_ERR_INPUT, "ply %s is not in the game", plies[i]);
        if (status == CM_OK) status = measure(&env, state, ply, positions);
    }
    if (status != CM_OK) fprintf(stderr, "benchmark_solver: %s\n", cm_error_message());
    free(state);
    return status == CM_OK ? 0 : 1;
}
