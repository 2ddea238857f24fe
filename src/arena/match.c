#include "arena/match.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/busy.h"

enum { MOST_ROWS = 512, MOST_PAIR_ROWS = 64, ATTEMPTS = 1000 };

/* A game being played in a row of a shard. */
typedef struct seat {
    int game; /* of this part; -1: the row is idle */
    int32_t steps;
    double total; /* ours less theirs */
} seat;

typedef struct shard {
    char *states; /* [rows, state_size] */
    seat *seats;  /* [rows]             */
    int next;     /* game that begins in the next row that is free */
    /* the turn that is being decided: [rows] each */
    int *row;
    const void **state;
    cm_key *key;
    uint64_t *step;
    int32_t *action;
} shard;

struct cm_match {
    cm_match_config config;
    shard *shards; /* [shape.shards] */
    cm_games games;
    cm_arena arena; /* of all arrays, owned */
    /* of the run that goes on */
    uint64_t seed;
    int opening;
};

/* Of `games` games those that are this part's. */
static int games_of(const cm_match *m, int games) {
    const int parts = m->config.parts;
    return games > m->config.part ? (games - m->config.part + parts - 1) / parts : 0;
}

/* Its number among the games of all parts. */
static uint64_t number_of(const cm_match *m, int game) {
    return (uint64_t)m->config.part + (uint64_t)game * (uint64_t)m->config.parts;
}

/* ---- memory ---- */

static void alloc_rows(cm_match *m, bool fill) {
    const cm_match_config *c = &m->config;
    size_t games = (size_t)games_of(m, c->games), n = (size_t)c->shape.rows;
    cm_games g = {.stride = c->keeps_moves ? c->env->spec.max_plies : 0};
    shard *shards = cm_arena_alloc(&m->arena, (size_t)c->shape.shards * sizeof(shard));
    g.moves = cm_arena_alloc(&m->arena, games * (size_t)g.stride * sizeof(int16_t));
    g.length = cm_arena_alloc(&m->arena, games * sizeof(int32_t));
    g.opening = cm_arena_alloc(&m->arena, games * sizeof(int32_t));
    g.theirs = cm_arena_alloc(&m->arena, games);
    g.result = cm_arena_alloc(&m->arena, games * sizeof(double));
    for (int i = 0; i < c->shape.shards; i++) {
        shard s = {.next = 0};
        s.states = cm_arena_alloc(&m->arena, n * c->env->spec.state_size);
        s.seats = cm_arena_alloc(&m->arena, n * sizeof(seat));
        s.row = cm_arena_alloc(&m->arena, n * sizeof(int));
        s.state = cm_arena_alloc(&m->arena, n * sizeof(void *));
        s.key = cm_arena_alloc(&m->arena, n * sizeof(cm_key));
        s.step = cm_arena_alloc(&m->arena, n * sizeof(uint64_t));
        s.action = cm_arena_alloc(&m->arena, n * sizeof(int32_t));
        if (fill) shards[i] = s;
    }
    if (fill) m->shards = shards, m->games = g;
}

/* Of the number of games alone, so that results are the same for any number of workers: an even number of shards, for
 * at least two of them. */
cm_match_shape cm_match_shape_of(int games, const cm_pool *pool) {
    int parallel = games < MOST_ROWS ? games : MOST_ROWS, workers = cm_pool_size(pool);
    int shards = parallel < 2 ? 1 : 2 * ((parallel + MOST_PAIR_ROWS - 1) / MOST_PAIR_ROWS);
    int rows = (parallel + shards - 1) / shards;
    shards = (parallel + rows - 1) / rows;
    return (cm_match_shape){.shards = shards, .rows = rows, .workers = shards < workers ? shards : workers};
}

cm_match_shape cm_match_shape_timed(int games, const cm_pool *pool) {
    const int workers = cm_pool_size(pool), shards = games < workers ? games : workers;
    return (cm_match_shape){.shards = shards, .rows = 1, .workers = shards};
}

cm_status cm_match_create(const cm_match_config *config, cm_match **out) {
    const cm_env_spec *spec = &config->env->spec;
    cm_match *m = NULL;
    *out = NULL;
    if (config->games < 1) return cm_fail(CM_ERR_INPUT, "at least 1 game must be played, got %d", config->games);
    if (config->keeps_moves && spec->max_plies == 0) {
        return cm_fail(CM_ERR_INPUT, "%s: a game has no bound on its length, so its moves cannot be kept", spec->name);
    }
    CM_TRY(cm_alloc(&m, 1, sizeof *m, "a match"));
    m->config = *config;
    if (m->config.parts == 0) m->config.parts = 1;
    m->arena = (cm_arena){.base = NULL, .capacity = SIZE_MAX, .used = 0};
    alloc_rows(m, false);
    cm_status status = cm_arena_create(&m->arena, m->arena.used, "a match");
    if (status != CM_OK) {
        free(m);
        return status;
    }
    alloc_rows(m, true);
    *out = m;
    return CM_OK;
}

void cm_match_destroy(cm_match *m) {
    if (!m) return;
    cm_arena_destroy(&m->arena);
    free(m);
}

size_t cm_match_bytes(const cm_match *m) { return m->arena.capacity; }
const cm_games *cm_match_games(const cm_match *m) { return &m->games; }

/* ---- a game ---- */

static void *state_of(const cm_match *m, const shard *s, int row) {
    return s->states + (size_t)row * m->config.env->spec.state_size;
}

/* Which of the two players moves in a row: 0 we, 1 they. */
static int side_to_move(const cm_match *m, const shard *s, int row) {
    if (!m->config.players[1]) return 0;
    return cm_env_to_play(m->config.env, state_of(m, s, row)) ^ m->games.theirs[s->seats[row].game];
}

static cm_status ask_stop(const cm_match *m) {
    return cm_stop_asked(m->config.stop) ? cm_fail(CM_ERR_INTERRUPTED, "the games were interrupted") : CM_OK;
}

/* Makes a move and notes it; *ended: the game is over. */
static cm_status make_move(cm_match *m, shard *s, int row, int32_t action, bool *ended) {
    seat *at = &s->seats[row];
    cm_env_outcome outcome;
    int side = side_to_move(m, s, row);
    CM_TRY(ask_stop(m)); /* before each: environments may be slow */
    CM_TRY(cm_env_step(m->config.env, state_of(m, s, row), action, &outcome));
    if (m->games.stride > 0) {
        m->games.moves[(size_t)at->game * (size_t)m->games.stride + (size_t)at->steps] = (int16_t)action;
    }
    if (m->config.first && number_of(m, at->game) == 0) m->config.first[at->steps] = action;
    at->total += side == 0 ? outcome.reward : -outcome.reward;
    at->steps++;
    *ended = outcome.terminated || outcome.truncated || at->steps >= CM_MATCH_STEPS;
    return CM_OK;
}

/* Sets a row to the start of its game and plays the opening. One that ends the game is drawn again. */
static cm_status open_game(cm_match *m, shard *s, int row) {
    seat *at = &s->seats[row];
    cm_key pair = cm_key_fold_in(cm_key_make(m->seed, CM_RNG_EVALUATE, number_of(m, at->game) / 2), 1);
    for (uint64_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        cm_rng rng = cm_rng_init(pair, attempt);
        bool ended = false;
        cm_env_reset(m->config.env, state_of(m, s, row), m->seed + number_of(m, at->game));
        at->steps = 0, at->total = 0.0;
        while (at->steps < m->opening && !ended) {
            const int action = cm_env_random_action(m->config.env, state_of(m, s, row), &rng);
            CM_TRY(make_move(m, s, row, action, &ended));
        }
        if (!ended) return CM_OK;
    }
    return cm_fail(CM_ERR_INPUT, "%s: an opening of %d moves leaves nothing to play; take fewer",
                   m->config.env->spec.name, m->opening);
}

/* Games of a shard: its number, its number + shards, ... */
static cm_status begin_game(cm_match *m, shard *s, int row) {
    s->seats[row].game = -1;
    if (s->next >= m->games.count) return CM_OK;
    int game = s->next;
    s->next += m->config.shape.shards;
    s->seats[row].game = game;
    CM_TRY(ask_stop(m));
    m->games.theirs[game] = (uint8_t)(m->config.players[1] && number_of(m, game) % 2 == 1);
    m->games.opening[game] = m->opening;
    return open_game(m, s, row);
}

static cm_status end_game(cm_match *m, shard *s, int row) {
    const seat *at = &s->seats[row];
    m->games.length[at->game] = at->steps;
    m->games.result[at->game] = at->total;
    cm_tally_add(m->config.tally, 1, 0);
    cm_busy_count(CM_BUSY_EPISODES, 1);
    return begin_game(m, s, row);
}

/* ---- all games of a shard ---- */

/* Lists the rows in which `side` is to move. */
static int gather(const cm_match *m, shard *s, int side) {
    int count = 0;
    for (int row = 0; row < m->config.shape.rows; row++) {
        const seat *at = &s->seats[row];
        if (at->game < 0 || side_to_move(m, s, row) != side) continue;
        s->row[count] = row;
        s->state[count] = state_of(m, s, row);
        s->key[count] = cm_key_make(m->seed, CM_RNG_EVALUATE, number_of(m, at->game));
        s->step[count] = (uint64_t)at->steps;
        count++;
    }
    return count;
}

/* One move in every game in which `side` is to move; adds how many those were. */
static cm_status play_turn(cm_match *m, shard *s, int side, int worker, int *moved) {
    cm_turn turn = {.worker = worker,
                    .count = gather(m, s, side),
                    .states = s->state,
                    .keys = s->key,
                    .steps = s->step,
                    .actions = s->action,
                    .stop = m->config.stop};
    cm_player *player = m->config.players[side];
    if (turn.count == 0) return CM_OK;
    CM_TRY(player->choose(player, &turn));
    cm_tally_add(m->config.tally, 0, turn.count);
    for (int k = 0; k < turn.count; k++) {
        bool ended = false;
        CM_TRY(make_move(m, s, s->row[k], s->action[k], &ended));
        if (ended) CM_TRY(end_game(m, s, s->row[k]));
    }
    *moved += turn.count;
    return CM_OK;
}

static cm_status run_shard(void *context, int task, int thread) {
    cm_match *m = context;
    shard *s = &m->shards[task];
    const int worker = cm_match_worker(&m->config.shape, task, thread);
    s->next = task;
    for (int row = 0; row < m->config.shape.rows; row++) CM_TRY(begin_game(m, s, row));
    for (int moved = 1; moved > 0;) {
        moved = 0;
        CM_TRY(play_turn(m, s, 0, worker, &moved));
        if (m->config.players[1]) CM_TRY(play_turn(m, s, 1, worker, &moved));
    }
    return CM_OK;
}

/* Of a match that was broken off: which games count must not depend on how long they took, so that of each shard it is
 * those before the first one that has not ended. */
static void drop_late(cm_match *m) {
    const int shards = m->config.shape.shards;
    for (int first = 0; first < shards; first++) {
        bool is_late = false;
        for (int game = first; game < m->games.count; game += shards) {
            is_late |= m->games.length[game] == 0;
            if (is_late) m->games.length[game] = 0;
        }
    }
}

int cm_match_keep_ended(cm_match *m) {
    cm_games *g = &m->games;
    const size_t stride = (size_t)g->stride;
    int kept = 0;
    for (int i = 0; i < g->count; i++) {
        if (g->length[i] == 0) continue;
        memmove(g->moves + (size_t)kept * stride, g->moves + (size_t)i * stride, stride * sizeof *g->moves);
        g->length[kept] = g->length[i], g->opening[kept] = g->opening[i];
        g->theirs[kept] = g->theirs[i], g->result[kept] = g->result[i];
        kept++;
    }
    return g->count = kept;
}

cm_status cm_match_run(cm_match *m, int games, uint64_t seed, int opening) {
    if (games < 1 || games > m->config.games) {
        return cm_fail(CM_ERR_INPUT, "a match of 1 to %d games is possible here, not of %d", m->config.games, games);
    }
    m->games.count = games_of(m, games);
    memset(m->games.length, 0, (size_t)m->games.count * sizeof *m->games.length);
    m->seed = seed;
    m->opening = opening;
    const cm_status status = cm_pool_run(m->config.pool, m->config.shape.shards, run_shard, m);
    if (status == CM_ERR_INTERRUPTED) drop_late(m);
    return status;
}
