#include "arena/exhaustive.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { ROWS = 64 };

/* Lines of one length that have not ended. */
typedef struct level {
    int count, capacity;
    char *states;    /* [capacity, state_size], owned like the next ones    */
    int16_t *moves;  /* [capacity, stride]                                  */
    double *total;   /* [capacity] ours less theirs                         */
    int32_t *chosen; /* [capacity] the player's action, where it is to move */
} level;

typedef struct exhaustive {
    const cm_env *env;
    cm_player *player;
    cm_tally *tally;
    const cm_stop *stop;
    cm_games *games;
    int capacity; /* of games */
    int theirs;   /* 1: they move first */
    int depth;    /* moves of the lines in `now` */
    level now, next;
    char *state; /* [state_size] scratch, owned */
} exhaustive;

cm_match_shape cm_exhaustive_shape(void) { return (cm_match_shape){.shards = 1, .rows = ROWS, .workers = 1}; }

/* ---- memory ---- */

/* realloc with a status: space for `count` entries of `size` bytes in *array (a pointer to a pointer). */
static cm_status resize(void *array, int count, size_t size) {
    void *moved = NULL;
    memcpy(&moved, array, sizeof moved);
    moved = realloc(moved, (size_t)count * size);
    if (!moved) return cm_fail(CM_ERR_MEMORY, "no memory for %d lines of play", count);
    memcpy(array, &moved, sizeof moved);
    return CM_OK;
}

static cm_status grow_level(const exhaustive *w, level *l) {
    int capacity = l->capacity > 0 ? 2 * l->capacity : ROWS;
    CM_TRY(resize(&l->states, capacity, w->env->spec.state_size));
    CM_TRY(resize(&l->moves, capacity, (size_t)w->games->stride * sizeof *l->moves));
    CM_TRY(resize(&l->total, capacity, sizeof *l->total));
    CM_TRY(resize(&l->chosen, capacity, sizeof *l->chosen));
    l->capacity = capacity;
    return CM_OK;
}

static void free_level(level *l) {
    free(l->states);
    free(l->moves);
    free(l->total);
    free(l->chosen);
}

static cm_status grow_games(exhaustive *w) {
    cm_games *g = w->games;
    int capacity = w->capacity > 0 ? 2 * w->capacity : 16 * ROWS;
    CM_TRY(resize(&g->moves, capacity, (size_t)g->stride * sizeof *g->moves));
    CM_TRY(resize(&g->length, capacity, sizeof *g->length));
    CM_TRY(resize(&g->opening, capacity, sizeof *g->opening));
    CM_TRY(resize(&g->theirs, capacity, sizeof *g->theirs));
    CM_TRY(resize(&g->result, capacity, sizeof *g->result));
    w->capacity = capacity;
    return CM_OK;
}

/* ---- lines ---- */

static char *state_of(const exhaustive *w, const level *l, int i) {
    return l->states + (size_t)i * w->env->spec.state_size;
}
static int16_t *moves_of(const exhaustive *w, const level *l, int i) {
    return l->moves + (size_t)i * (size_t)w->games->stride;
}
static bool is_ours(const exhaustive *w, int i) { return cm_env_to_play(w->env, state_of(w, &w->now, i)) == w->theirs; }

/* Line i of `now`, which `action` has ended with `total`. */
static cm_status finish_line(exhaustive *w, int i, int action, double total) {
    cm_games *g = w->games;
    if (g->count == w->capacity) CM_TRY(grow_games(w));
    int16_t *moves = g->moves + (size_t)g->count * (size_t)g->stride;
    memcpy(moves, moves_of(w, &w->now, i), (size_t)w->depth * sizeof *moves);
    moves[w->depth] = (int16_t)action;
    g->length[g->count] = w->depth + 1;
    g->opening[g->count] = 0;
    g->theirs[g->count] = (uint8_t)w->theirs;
    g->result[g->count] = total;
    g->count++;
    cm_tally_add(w->tally, 1, 0);
    return CM_OK;
}

/* Line i of `now` goes on with `action` to w->state. */
static cm_status extend_line(exhaustive *w, int i, int action, double total) {
    level *l = &w->next;
    if (l->count == CM_EXHAUSTIVE_MOST_LINES) {
        return cm_fail(CM_ERR_INPUT,
                       "%s: too large to follow every reply: more than %d lines are unfinished after %d moves; choose "
                       "another opponent",
                       w->env->spec.name, CM_EXHAUSTIVE_MOST_LINES, w->depth + 1);
    }
    if (l->count == l->capacity) CM_TRY(grow_level(w, l));
    memcpy(state_of(w, l, l->count), w->state, w->env->spec.state_size);
    memcpy(moves_of(w, l, l->count), moves_of(w, &w->now, i), (size_t)w->depth * sizeof(int16_t));
    moves_of(w, l, l->count)[w->depth] = (int16_t)action;
    l->total[l->count++] = total;
    return CM_OK;
}

static cm_status play_action(exhaustive *w, int i, int action) {
    cm_env_outcome outcome;
    memcpy(w->state, state_of(w, &w->now, i), w->env->spec.state_size);
    CM_TRY(cm_env_step(w->env, w->state, action, &outcome));
    double total = w->now.total[i] + (is_ours(w, i) ? outcome.reward : -outcome.reward);
    if (outcome.terminated || outcome.truncated) return finish_line(w, i, action, total);
    return extend_line(w, i, action, total);
}

/* The player's moves in all lines of `now` in which it is to move. */
static cm_status ask_player(exhaustive *w) {
    const void *states[ROWS];
    cm_key keys[ROWS] = {{{0, 0}}};
    uint64_t steps[ROWS];
    int32_t actions[ROWS];
    int line[ROWS] = {0};
    for (int i = 0; i < w->now.count;) {
        cm_turn turn = {.states = states, .keys = keys, .steps = steps, .actions = actions, .stop = w->stop};
        if (cm_stop_asked(w->stop)) return cm_fail(CM_ERR_INTERRUPTED, "the lines were broken off");
        for (; i < w->now.count && turn.count < ROWS; i++) {
            if (!is_ours(w, i)) continue;
            line[turn.count] = i;
            steps[turn.count] = (uint64_t)w->depth;
            states[turn.count++] = state_of(w, &w->now, i);
        }
        if (turn.count > 0) CM_TRY(w->player->choose(w->player, &turn));
        cm_tally_add(w->tally, 0, turn.count);
        for (int k = 0; k < turn.count; k++) w->now.chosen[line[k]] = actions[k];
    }
    return CM_OK;
}

static cm_status play_level(exhaustive *w) {
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    w->next.count = 0;
    CM_TRY(ask_player(w));
    for (int i = 0; i < w->now.count; i++) {
        cm_env_legal(w->env, state_of(w, &w->now, i), legal);
        for (int a = 0; a < w->env->spec.actions; a++) {
            bool taken = is_ours(w, i) ? a == w->now.chosen[i] : legal[a] != 0;
            if (taken) CM_TRY(play_action(w, i, a));
        }
    }
    level done = w->now;
    w->now = w->next, w->next = done;
    w->depth++;
    return CM_OK;
}

static cm_status play_side(exhaustive *w, int theirs) {
    w->theirs = theirs;
    w->depth = 0;
    if (w->now.capacity == 0) CM_TRY(grow_level(w, &w->now));
    cm_env_reset(w->env, state_of(w, &w->now, 0), 0);
    w->now.total[0] = 0.0;
    w->now.count = 1;
    while (w->now.count > 0) CM_TRY(play_level(w));
    return CM_OK;
}

cm_status cm_exhaustive_play(const cm_env *env, cm_player *player, cm_tally *tally, const cm_stop *stop,
                             cm_games *out) {
    exhaustive w = {.env = env, .player = player, .tally = tally, .stop = stop, .games = out};
    memset(out, 0, sizeof *out);
    if (env->spec.players != 2 || env->spec.max_plies == 0) {
        return cm_fail(CM_ERR_INPUT, "%s: every reply is followed in games of two players that end only",
                       env->spec.name);
    }
    out->stride = env->spec.max_plies;
    cm_status status = cm_alloc(&w.state, 1, env->spec.state_size, "lines of play");
    for (int theirs = 0; theirs < 2 && status == CM_OK; theirs++) status = play_side(&w, theirs);
    if (status != CM_OK && status != CM_ERR_INTERRUPTED) cm_games_free(out);
    free_level(&w.now);
    free_level(&w.next);
    free(w.state);
    return status;
}
