/* States from a checkpoint: those that play leads to are taken, and what no function of a row may see is refused. */
#include "fuzz/fuzz_states.c" /* the oracle of one changed state */

#include <math.h>

#include "env/go.h"
#include "env/hex.h"
#include "env/minatar_breakout.h"
#include "env/minatar_freeway.h"
#include "env/minatar_seaquest.h"
#include "env/minatar_space_invaders.h"
#include "env/moves.h"
#include "env/silent_check.h"
#include "env/vector.h"
#include "support/main.h"

START_TEST(changed_states_are_refused_or_played_to_the_end) {
    enum { ROUNDS = 20000, MOST = 2 + 4 * 4 };
    cm_key key = cm_key_make(7, CM_RNG_TEST, 0);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        cm_rng rng = cm_rng_init(key, round);
        const size_t size = 2 + 4 * (1 + (size_t)cm_rng_below(&rng, 4));
        uint8_t data[MOST];
        for (size_t i = 0; i < size; i++) data[i] = (uint8_t)cm_rng_below(&rng, 256);
        LLVMFuzzerTestOneInput(data, size);
    }
}
END_TEST

START_TEST(states_of_play_are_taken) {
    int count;
    const cm_env_def *const *registry = cm_env_registry(&count);
    for (int i = 0; i < count; i++) {
        cm_env env;
        cm_env_outcome out;
        must_equal(cm_env_open(&env, registry[i]->name, NULL), CM_OK);
        char *state = malloc(env.spec.state_size);
        cm_rng rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0);
        for (uint64_t seed = 0; seed < 5; seed++) {
            cm_env_reset(&env, state, seed);
            for (int step = 0; step < 1000 && !cm_env_ended(state); step++) {
                must_msg(cm_env_check_state(&env, state) == CM_OK, "%s: %s", env.spec.name, cm_error_message());
                must_equal(cm_env_step(&env, state, cm_env_random_action(&env, state, &rng), &out), CM_OK);
            }
            must_msg(cm_env_check_state(&env, state) == CM_OK, "%s: %s", env.spec.name, cm_error_message());
        }
        free(state);
    }
}
END_TEST

/* A state of each, and what a number of its bytes must not become. Offsets are those after cm_env_common. */
enum { RULES = (int)sizeof(cm_env_common), CATCH_ROW = 0, CATCH_COLUMN = 4, CATCH_PADDLE = 8 };
enum { STEPS = offsetof(cm_env_common, steps), ENDED = offsetof(cm_env_common, terminated) };
enum { TRUNCATED = offsetof(cm_env_common, truncated), PENDING = offsetof(cm_env_common, pending) };
#define AT(game, member) RULES + (int)offsetof(game, member)
enum { WORD = RULES + (int)offsetof(cm_go, word), CELL = RULES + (int)offsetof(cm_hex, cell) };
static const struct {
    const char *name, *moves, *says;
    int at, bytes;
    int64_t value;
} wrong[] = {
    {"catch", "1,1", "its ball's row is 70; must be 2", RULES + CATCH_ROW, 4, 70},
    {"catch", "1,1", "its ball's column is -1; must be 0..4", RULES + CATCH_COLUMN, 4, -1},
    {"catch", "1,1", "its paddle's column is 5; must be 0..4", RULES + CATCH_PADDLE, 4, 5},
    {"catch", "1,1", "the number of its steps is -1; must be 0..9", STEPS, 4, -1},
    {"catch", "1,1", "its ball's row is 2; must be 8", STEPS, 4, 8},
    {"catch", "1,1", "its episode goes on after 9 steps, the most that one may have", STEPS, 4, 9},
    {"catch", "", "its mark of an end is 1; must be 0", ENDED, 1, 1},
    {"catch", "1", "its mark of an end is 2; must be 0..1", ENDED, 1, 2},
    {"catch", "1", "its mark of a truncation is 1; must be 0", TRUNCATED, 1, 1},
    {"catch", "1", "its mark of a pending outcome is 1; must be 0", PENDING, 1, 1},
    {"catch", "1", "its generator's increment is even; must be odd", offsetof(cm_env_common, random.inc_low), 8, 2},
    {"tictactoe", "4,0", "its ply is 77; must be 2", RULES + 4, 4, 77},
    {"tictactoe", "4,0", "a cell of it has stones of both players", RULES, 2, 1},
    {"tictactoe", "4,0", "a stone of it is beyond the board", RULES, 2, 1 << 9},
    {"tictactoe", "4,0", "the number of player 0's stones is 2; must be 1", RULES, 2, 3 << 4},
    {"connect4", "3,3", "a stone of it lies on an empty cell", RULES, 8, (int64_t)1 << 23},
    {"connect4", "3,3", "a stone of it is beyond the board", RULES, 8, (int64_t)1 << 6},
    {"othello", "19", "a cell of it has discs of both players", RULES, 8, -1},
    {"othello", "19", "the number of discs that were placed is -3; must be 1", RULES, 8, 0},
    {"tictactoe", "0,3,1,4,2", "its game is over, its episode is not", ENDED, 1, 0},
    {"tictactoe", "0,3,1,4", "its episode has ended, its game has not", ENDED, 1, 1},
    {"connect4", "0,1,0,1,0,1,0", "its game is over, its episode is not", ENDED, 1, 0},
    {"gomoku5", "0,5,1,6,2,7,3,8,4", "its game is over, its episode is not", ENDED, 1, 0},
    {"hex3", "0,1,3,4,6", "its game is over, its episode is not", ENDED, 1, 0},
    {"gomoku5", "0,1", "its size is 19; must be 5", RULES, 4, 19},
    {"gomoku5", "0,1", "a cell of it is 255; must be 0..2", RULES + 8, 1, 255},
    {"hex5", "0,1", "its size is 0; must be 5", RULES, 4, 0},
    {"hex5", "0,1", "the colour of a stone of it is 3; must be 1..2", CELL, 1, 3},
    {"hex5", "0,1", "a stone of it is said to be connected with a side that it is not connected with", CELL, 1, 1},
    {"go5", "0,1,6", "its size is 6; must be 5", RULES, 4, 6},
    {"go5", "0,1,6", "the number of its positions is 90; must be 1..4", RULES + 12, 4, 90},
    {"go5", "0,1,6", "its limit is 9; must be 50", RULES + 16, 8, 9},
    {"go5", "0,1,6", "its hash is not that of its stones", RULES + 24, 8, 5},
    {"go5", "0,1,6", "its earlier positions do not fit its stones", RULES + 32, 8, 0},
    {"go5", "0,1,6", "the chain of its stone on point 0 is not that of the stones there", WORD, 2, 700},
    {"go5", "0,1,6", "the chain of its stone on point 0 is not that of the stones there", WORD + 2, 2, 24},
    {"go5", "0,1,6", "the chain of its stone on point 0 is not that of the stones there", WORD + 4, 2, 9},
    {"go5", "0,1,6", "point 0 of it has stones of both colours", WORD + 6, 2, 0x0101},
    {"2048", "", "the sum of its tiles is 262160; must be 2..262140", RULES, 8, 0x0211110101010101},
    {"2048", "", "the power of a tile of it is 40; must be 0..17", RULES, 1, 40},
    {"minatar_breakout", "", "its paddle's column is -1; must be 0..9", AT(cm_breakout, paddle), 1, -1},
    {"minatar_breakout", "", "its ball's row is 9; must be 0..8", AT(cm_breakout, y), 1, 9},
    {"minatar_breakout", "", "its last action is 6; must be 0..5", AT(cm_breakout, last_action), 1, 6},
    {"minatar_freeway", "", "its time is 7; must be 2500", AT(cm_freeway, time), 4, 7},
    {"minatar_freeway", "", "the speed of a car of it is 6; must be 1..5", AT(cm_freeway, period), 1, 6},
    {"minatar_seaquest", "", "the number of its fish is 49; must be 0..48", AT(cm_seaquest, fish_count), 1, 49},
    {"minatar_seaquest", "", "the number of divers that it carries is -1; must be 0..6", AT(cm_seaquest, carried), 4,
     -1},
    {"minatar_space_invaders", "", "the number of its aliens is 0; must be 1..24", AT(cm_invaders, aliens), 8, 0},
    {"minatar_space_invaders", "", "what lies beyond the board of its bullets is 1; must be 0", AT(cm_invaders, own), 8,
     (int64_t)1 << CM_MINATAR_HALF},
};

START_TEST(what_is_wrong_is_said) {
    cm_env env;
    int64_t value = wrong[_i].value;
    must_equal(cm_env_open(&env, wrong[_i].name, NULL), CM_OK);
    char *state = malloc(env.spec.state_size);
    cm_env_reset(&env, state, 0);
    must_equal(cm_moves_play(&env, state, wrong[_i].moves, strlen(wrong[_i].moves)), CM_OK);
    must_equal(cm_env_check_state(&env, state), CM_OK);
    memcpy(state + wrong[_i].at, &value, (size_t)wrong[_i].bytes);
    must_equal(cm_env_check_state(&env, state), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(), wrong[_i].says) == 0, "%s", cm_error_message());
    free(state);
}
END_TEST

START_TEST(numbers_that_are_none_are_refused) {
    const char *const names[] = {
        "CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "glide2", "aim"};
    const double bad[] = {(double)NAN, (double)INFINITY, -1e300};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cm_env env;
        must_equal(cm_env_open(&env, names[i], NULL), CM_OK);
        char *state = malloc(env.spec.state_size);
        for (size_t at = 0; at < env.spec.rules_size; at += sizeof *bad)
            for (int b = 0; b < 3; b++) {
                cm_env_reset(&env, state, 0);
                must_equal(cm_env_check_state(&env, state), CM_OK);
                memcpy(state + sizeof(cm_env_common) + at, &bad[b], sizeof *bad);
                must_msg(cm_env_check_state(&env, state) == CM_ERR_INPUT, "%s takes %g at %zu", names[i], bad[b], at);
            }
        free(state);
    }
}
END_TEST

/* The bytes of a vector whose instance 2 has a wrong state. */
START_TEST(a_vector_names_the_instance) {
    cm_env env;
    cm_vector_env *vector;
    must_equal(cm_env_open(&env, "catch", NULL), CM_OK);
    must_equal(cm_vector_env_create(&env, 4, 1, 0, &vector), CM_OK);
    const size_t size = cm_vector_env_bytes(vector);
    must_equal(size, cm_vector_env_bytes_of(&env, 4));
    char *bytes = malloc(size);
    const int32_t paddle = 77, stay[] = {1, 1, 1, 1};
    const cm_env_rows none = {NULL, NULL, NULL, NULL, NULL, NULL};
    must_equal(cm_vector_env_step(vector, 2, 1, stay, &none), CM_OK); /* its state is another one then */
    cm_vector_env_save(vector, bytes);
    must_equal(cm_vector_env_load(vector, bytes, size), CM_OK);
    char *state = malloc(env.spec.state_size), *rules;
    cm_vector_env_get(vector, 2, state);
    rules = memmem(bytes, size, state + sizeof(cm_env_common), env.spec.rules_size);
    must(rules != NULL);
    memcpy(rules + CATCH_PADDLE, &paddle, sizeof paddle);
    must_equal(cm_vector_env_load(vector, bytes, size), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(), "catch: environment 2: its paddle's column is 77; must be 0..4") == 0, "%s",
             cm_error_message());
    free(state), free(bytes);
    cm_vector_env_destroy(vector);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("states from a checkpoint");
    TCase *c = tcase_create("states");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, changed_states_are_refused_or_played_to_the_end);
    tcase_add_test(c, states_of_play_are_taken);
    tcase_add_loop_test(c, what_is_wrong_is_said, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(c, numbers_that_are_none_are_refused);
    tcase_add_test(c, a_vector_names_the_instance);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
