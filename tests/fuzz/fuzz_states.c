/* States of environments as a checkpoint may hold them: the first byte chooses a game, the second a state that random
 * play has led to, four bytes each a change of it; their sum says whether it is played far. What cm_env_check_state
 * takes is played on, with every function of the row, without an error; the rest it refuses. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "env/env.h"

enum { GAMES = 30, STATES = 48, FAR = 200, NEAR = 1, LOOKS = 8 }; /* steps that are played, and between two looks */
enum { MOST_STEPS = INT32_MAX / 2 - FAR }; /* a state that counts more may reach a number that is refused */

static const struct {
    const char *name;
    bool swap;
} rows[GAMES] = {{"CartPole-v1", false},
                 {"CartPole-v0", false},
                 {"Acrobot-v1", false},
                 {"MountainCar-v0", false},
                 {"MountainCarContinuous-v0", false},
                 {"Pendulum-v1", false},
                 {"glide1", false},
                 {"glide3", false},
                 {"aim", false},
                 {"catch", false},
                 {"tictactoe", false},
                 {"connect4", false},
                 {"othello", false},
                 {"gomoku5", false},
                 {"gomoku9", false},
                 {"hex3", false},
                 {"hex3", true},
                 {"hex5", true},
                 {"hex7", false},
                 {"go2", false},
                 {"go3", false},
                 {"go4", false},
                 {"go5", false},
                 {"go9", false},
                 {"2048", false},
                 {"minatar_breakout", false},
                 {"minatar_asterix", false},
                 {"minatar_freeway", false},
                 {"minatar_seaquest", false},
                 {"minatar_space_invaders", false}};

typedef struct game {
    cm_env env;
    char *states; /* [STATES] that play has led to */
    char *state;  /* one that is changed */
    float *observation, *next;
    int32_t *cells;
} game;

static game games[GAMES];

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) abort();
    return memory;
}

/* The states of several random games: a few steps after each other, so that there are starts, middles and ends. */
static void reach(game *g) {
    const size_t size = g->env.spec.state_size;
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), 0);
    cm_env_outcome out;
    uint64_t seed = 0;
    cm_env_reset(&g->env, g->state, seed);
    for (int i = 0; i < STATES; i++) {
        memcpy(g->states + (size_t)i * size, g->state, size);
        if (cm_env_ended(g->state)) cm_env_reset(&g->env, g->state, ++seed);
        for (uint32_t steps = 1 + cm_rng_below(&rng, 4); steps > 0 && !cm_env_ended(g->state); steps--)
            FUZZ_EXPECT(cm_env_step(&g->env, g->state, cm_env_random_action(&g->env, g->state, &rng), &out) == CM_OK);
        FUZZ_EXPECT(cm_env_check_state(&g->env, g->state) == CM_OK);
    }
}

static void prepare(void) {
    for (int i = 0; i < GAMES; i++) {
        game *g = &games[i];
        cm_env_params params = cm_env_params_default();
        params.swap = rows[i].swap;
        if (cm_env_open(&g->env, rows[i].name, &params) != CM_OK) abort();
        const cm_env_spec *spec = &g->env.spec;
        g->states = allocate(STATES * spec->state_size);
        g->state = allocate(spec->state_size);
        g->observation = allocate((size_t)spec->observation_size * sizeof(float));
        g->next = allocate((size_t)spec->observation_size * sizeof(float));
        g->cells = allocate((size_t)spec->cells * sizeof(int32_t));
        reach(g);
    }
}

/* All that only looks. */
static void look(game *g) {
    char text[CM_ENV_PICTURE_BYTES];
    cm_env_observe(&g->env, g->state, g->observation);
    cm_env_picture(&g->env, g->state, text, sizeof text);
    cm_env_board(&g->env, g->state, g->cells);
    FUZZ_EXPECT(cm_env_to_play(&g->env, g->state) < g->env.spec.players);
}

static void play_half(game *g, int action, cm_rng *rng) {
    float weights[CM_ENV_MAX_OUTCOMES];
    double reward;
    cm_env_outcome out;
    FUZZ_EXPECT(cm_env_afterstate(&g->env, g->state, action, &reward) == CM_OK);
    FUZZ_EXPECT(cm_env_check_state(&g->env, g->state) == CM_OK);
    FUZZ_EXPECT(cm_env_chance_weights(&g->env, g->state, weights) == CM_OK);
    int outcome = (int)cm_rng_below(rng, (uint32_t)g->env.spec.chance_outcomes);
    while (!(weights[outcome] > 0.0f)) outcome = (outcome + 1) % g->env.spec.chance_outcomes;
    FUZZ_EXPECT(cm_env_chance(&g->env, g->state, outcome, &out) == CM_OK);
    cm_env_observe(&g->env, g->state, g->next);
    if (g->env.def->outcome_between) (void)cm_env_outcome_between(&g->env, g->observation, action, g->next);
}

static void play_on(game *g, int steps) {
    cm_rng rng = cm_rng_init(cm_key_make(4, CM_RNG_TEST, 0), 0);
    cm_env_outcome out;
    look(g);
    if (((cm_env_common *)(void *)g->state)->pending) return;
    for (int i = 0; i < steps && !cm_env_ended(g->state); i++) {
        const int action = cm_env_random_action(&g->env, g->state, &rng);
        if (g->env.def->chance && i % 2) {
            play_half(g, action, &rng);
        } else {
            FUZZ_EXPECT(cm_env_step(&g->env, g->state, action, &out) == CM_OK);
        }
        if (i % LOOKS == 0) look(g);
    }
    FUZZ_EXPECT(cm_env_check_state(&g->env, g->state) == CM_OK);
    look(g);
}

/* A bit, a byte, or a small number in place of a word, whose places are in the first bytes of a state more often. */
static void change(const uint8_t byte[4], char *state, size_t size) {
    static const int32_t numbers[] = {-1, INT32_MIN, INT32_MAX, 0, 1, 2, 3, 19, 361, 362, 65535};
    const size_t near = sizeof(cm_env_common) + 64, reach = byte[3] & 4 && near < size ? near : size;
    const size_t at = ((size_t)byte[0] << 8 | byte[1]) % reach;
    const int32_t number = numbers[byte[2] % (sizeof numbers / sizeof *numbers)];
    switch (byte[3] & 3) {
    case 0: state[at] = (char)(state[at] ^ 1 << byte[2] % 8); break;
    case 1: state[at] = (char)byte[2]; break;
    case 2: state[at] = (char)(state[at] + (byte[2] % 3) - 1); break;
    default: memcpy(state + at / 4 * 4, &number, sizeof number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!games[0].state) prepare();
    if (size < 2 + 4) return 0;
    game *g = &games[data[0] % GAMES];
    const size_t bytes = g->env.spec.state_size;
    unsigned sum = 0;
    memcpy(g->state, g->states + data[1] % STATES * bytes, bytes);
    for (size_t i = 2; i + 4 <= size; i += 4) change(data + i, g->state, bytes);
    for (size_t i = 0; i < size; i++) sum += data[i];
    if (cm_env_check_state(&g->env, g->state) == CM_OK) {
        if (((cm_env_common *)(void *)g->state)->steps > MOST_STEPS) return 0;
        play_on(g, sum % 32 == 0 ? FAR : NEAR);
    } else {
        FUZZ_EXPECT(cm_error_message()[0] != '\0' && !strchr(cm_error_message(), '\n'));
    }
    return 0;
}
