/* Plays random games of every board game, or of those named, and checks what their headers promise; under sanitizers by
 * `make games-soak GAMES=1000000`.
 *
 *     games_soak GAMES [NAME]...
 *
 * Every position is asked for its legal actions and observed; every end is drawn. Prints a line per game and ends at
 * the first broken promise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/rng.h"
#include "env/env.h"

typedef struct table {
    cm_env env;
    void *state;        /* [state_size], owned like all that follows */
    float *observation; /* [observation_size] */
    int32_t *cells;     /* [cells] */
    uint8_t *legal;     /* [A] */
    cm_rng rng;
} table;

/* What was broken at ply `steps` of a game, with the position. */
static cm_status broken(const table *t, int64_t game, int steps, const char *what) {
    char text[CM_ENV_PICTURE_BYTES];
    cm_env_picture(&t->env, t->state, text, sizeof text);
    fputs(text, stdout);
    return cm_fail(CM_ERR_STATE, "%s: game %lld, ply %d: %s", t->env.spec.name, (long long)game, steps, what);
}

static int count_legal(table *t) {
    int count = 0;
    cm_env_legal(&t->env, t->state, t->legal);
    for (int a = 0; a < t->env.spec.actions; a++) count += t->legal[a] != 0;
    return count;
}

static cm_status check_end(table *t, int64_t game, int steps, const cm_env_outcome *last) {
    char text[CM_ENV_PICTURE_BYTES];
    const double reward = last->reward;
    if (count_legal(t) > 0) return broken(t, game, steps, "an action is legal after the end");
    if (t->env.spec.players == 2 && reward != 1.0 && reward != 0.0 && reward != -1.0) {
        return broken(t, game, steps, "the result is neither 1, 0 nor -1");
    }
    cm_env_picture(&t->env, t->state, text, sizeof text);
    cm_env_board(&t->env, t->state, t->cells);
    return strlen(text) > 8 ? CM_OK : broken(t, game, steps, "the picture is empty");
}

/* Plays one game and adds its plies. */
static cm_status play(table *t, int64_t game, int64_t *plies) {
    const cm_env_spec *spec = &t->env.spec;
    cm_env_outcome outcome = {0.0, false, false};
    int steps = 0;
    cm_env_reset(&t->env, t->state, (uint64_t)game);
    while (!outcome.terminated) {
        if (count_legal(t) < 1) return broken(t, game, steps, "no action is legal");
        if (spec->players == 2 && cm_env_to_play(&t->env, t->state) != steps % 2) {
            return broken(t, game, steps, "the players do not take turns");
        }
        cm_env_observe(&t->env, t->state, t->observation);
        CM_TRY(cm_env_step(&t->env, t->state, cm_rng_pick(&t->rng, t->legal, spec->actions), &outcome));
        steps++;
        if (outcome.truncated || (spec->max_plies > 0 && steps > spec->max_plies)) {
            return broken(t, game, steps, "the game is longer than it may be");
        }
        if (spec->players == 2 && !outcome.terminated && outcome.reward != 0.0) {
            return broken(t, game, steps, "a reward before the end");
        }
    }
    *plies += steps;
    return check_end(t, game, steps, &outcome);
}

static cm_status play_all(const char *name, int64_t games) {
    table t = {.state = NULL};
    int64_t plies = 0;
    const double begun = cm_clock_seconds();
    CM_TRY(cm_env_open(&t.env, name, NULL));
    t.state = malloc(t.env.spec.state_size);
    t.observation = malloc((size_t)t.env.spec.observation_size * sizeof *t.observation);
    t.cells = malloc((size_t)t.env.spec.cells * sizeof *t.cells);
    t.legal = malloc((size_t)t.env.spec.actions);
    t.rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0);
    cm_status status =
        t.state && t.observation && t.cells && t.legal ? CM_OK : cm_fail(CM_ERR_MEMORY, "%s: no memory", name);
    for (int64_t game = 0; game < games && status == CM_OK; game++) status = play(&t, game, &plies);
    if (status == CM_OK) {
        printf("%-10s %9lld games, %11lld plies, %7.1f s: nothing to report\n", t.env.spec.name, (long long)games,
               (long long)plies, cm_clock_seconds() - begun);
        fflush(stdout);
    }
    free(t.state);
    free(t.observation);
    free(t.cells);
    free(t.legal);
    return status;
}

int main(int argc, char **argv) {
    static const char *const all[] = {"tictactoe", "connect4", "othello", "2048", "hex11", "gomoku15", "go5", "go9"};
    const char *const *names = argc > 2 ? (const char *const *)argv + 2 : all;
    const int count = argc > 2 ? argc - 2 : (int)(sizeof all / sizeof *all);
    const int64_t games = argc > 1 ? strtoll(argv[1], NULL, 10) : 0;
    cm_status status = CM_OK;
    if (games < 1) {
        fprintf(stderr, "usage: games_soak GAMES [NAME]...      GAMES: at least 1\n");
        return 2;
    }
    for (int i = 0; i < count && status == CM_OK; i++) status = play_all(names[i], games);
    if (status != CM_OK) fprintf(stderr, "games_soak: %s\n", cm_error_message());
    return status == CM_OK ? 0 : 1;
}
