/* What a new row does wrong is said in one line: a small row with a fault at a time. */
#include <math.h>
#include <string.h>

#include "env/board.h"
#include "env/quiet_check.h"
#include "support/main.h"

typedef enum fault {
    NONE,
    NO_NAME,
    NO_DESCRIBE,
    NO_ACTIONS,
    MANY_ACTIONS,
    NO_SHAPE,
    LARGE_SHAPE,
    RANK_2,
    ODD_SIZE,
    SMALL_SIZE,
    NO_LIMIT,
    NO_TO_PLAY,
    PLAYER_2,
    RANDOM_RESET,
    RANDOM_STEP,
    RANDOM_END,
    NAN_REWARD,
    NAN_OBSERVATION,
    SHORT_OBSERVATION,
    LONG_OBSERVATION,
    NOTHING_LEGAL,
    MASK_2,
    NO_ACTION_NAME,
    LONG_ACTION_NAME
} fault;

typedef struct walk {
    int64_t cell, steps;
} walk;

enum { LATE = 5, NUMBERS = 3 };
static fault now;
static int64_t elsewhere; /* chance that does not come from `random` */

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    spec->shape[0] = now == NO_SHAPE ? 0 : NUMBERS;
    if (now == LARGE_SHAPE) spec->shape[0] = spec->shape[1] = spec->shape[2] = 65536;
    if (now == RANK_2) spec->rank = 2;
    spec->actions = now == NO_ACTIONS ? 0 : now == MANY_ACTIONS ? CM_ENV_MAX_ACTIONS + 1 : 2;
    spec->max_steps = now == NO_LIMIT ? 0 : 50;
    spec->players = now == NO_TO_PLAY || now == PLAYER_2 ? 2 : 1;
    spec->rules_size = now == ODD_SIZE ? sizeof(walk) + 4 : now == SMALL_SIZE ? sizeof(int64_t) : sizeof(walk);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    *(walk *)rules = (walk){now == RANDOM_RESET ? ++elsewhere : 3, 0};
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)random;
    walk *w = rules;
    w->cell += action ? 1 : -1;
    if (++w->steps >= LATE && now == RANDOM_STEP) w->cell = ++elsewhere;
    const bool end = now == RANDOM_END && w->steps >= LATE && ++elsewhere % 2;
    return (cm_env_outcome){.terminated = end, .reward = now == NAN_REWARD && w->steps >= LATE ? (double)NAN : 0.0};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    const walk *w = rules;
    for (int i = 0; i < (now == SHORT_OBSERVATION ? 2 : now == LONG_OBSERVATION ? 4 : NUMBERS); i++)
        observation[i] = (float)w->cell;
    if (now == NAN_OBSERVATION && w->steps >= LATE) observation[1] = NAN;
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    (void)params;
    const bool late = ((const walk *)rules)->steps >= LATE;
    mask[0] = mask[1] = late && now == NOTHING_LEGAL ? 0 : late && now == MASK_2 ? 2 : 1;
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return (int)((const walk *)rules)->steps;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    text[0] = '\0';
    cm_picture_line(text, size, "%d", (int)((const walk *)rules)->cell);
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    (void)params;
    cm_name_pick(text, size, action == 0 ? "left" : now == NO_ACTION_NAME ? "" : "to the right hand");
}

static cm_status try_with(fault what) {
    cm_env env;
    cm_env_def row = {.name = "walk",
                      .about = "Walks to and fro",
                      .describe = describe,
                      .reset = reset,
                      .step = step,
                      .observe = observe,
                      .legal = legal,
                      .picture = picture};
    if (what == PLAYER_2) row.to_play = to_play;
    if (what == NO_ACTION_NAME || what == LONG_ACTION_NAME) row.action_name = action_name;
    if (what == NO_DESCRIBE) row.describe = NULL;
    if (what == NO_NAME) row.name = NULL;
    now = what;
    CM_TRY(cm_env_open_def(&env, &row, "walk", NULL));
    return cm_env_try(&env, 100);
}

START_TEST(every_fault_is_named_with_its_function) {
    static const struct {
        fault what;
        const char *says;
    } cases[] = {{NO_NAME, "an environment whose row has no name"},
                 {NO_DESCRIBE, "walk: its row lacks the function describe"},
                 {NO_ACTIONS, "walk: its describe sets actions to 0; must be in 1..1024"},
                 {MANY_ACTIONS, "walk: its describe sets actions to 1025; must be in 1..1024"},
                 {NO_SHAPE, "walk: its describe sets a number of shape to 0; must be in 1..65536"},
                 {LARGE_SHAPE, "walk: its describe sets the observation's size to 281474976710656; must be in "
                               "1..16777216"},
                 {RANK_2, "walk: its describe sets rank to 2; must be 1, [F], or 3, [height, width, channels]"},
                 {ODD_SIZE, "walk: its describe sets rules_size to 20; must be a multiple of 8, as of sizeof(state)"},
                 {SMALL_SIZE, "walk: its reset writes behind the state, whose rules_size is 8 bytes"},
                 {NO_LIMIT, "walk: its describe sets neither max_steps, a time limit, nor max_plies, which no episode "
                            "exceeds: an agent that never reached the end would play on for ever"},
                 {NO_TO_PLAY, "walk: its row lacks the function to_play"},
                 {PLAYER_2, "walk: its to_play gives 2 (step 3); it has 2 players, from 0 on"},
                 {RANDOM_RESET, "walk: episodes of equal seeds and actions differ (step 1): draw from `random` alone"},
                 {RANDOM_STEP, "walk: episodes of equal seeds and actions differ (step 6): draw from `random` alone"},
                 {RANDOM_END, "walk: episodes of equal seeds and actions differ (step 5): draw from `random` alone"},
                 {NAN_REWARD, "walk: its step gives reward nan (step 5)"},
                 {NAN_OBSERVATION, "walk: its observe leaves number 1 of 3 out, or sets it to nan (step 6)"},
                 {SHORT_OBSERVATION, "walk: its observe leaves number 2 of 3 out, or sets it to nan (step 1)"},
                 {LONG_OBSERVATION, "walk: its observe writes more than the 3 numbers of its shape"},
                 {NOTHING_LEGAL, "walk: its legal allows 0 actions (step 6); must be 1..2 until the episode ends"},
                 {MASK_2, "walk: its legal sets action 0 to 2 (step 6); must be 0 or 1"},
                 {NO_ACTION_NAME, "walk: its action_name names action 1 by 0 characters; must be 1..15"},
                 {LONG_ACTION_NAME, "walk: its action_name names action 1 by 17 characters; must be 1..15"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        must_equal(try_with(cases[i].what), CM_ERR_INPUT);
        must_msg(strcmp(cm_error_message(), cases[i].says) == 0, "%s", cm_error_message());
    }
}
END_TEST

START_TEST(sound_rows_pass) {
    must_msg(try_with(NONE) == CM_OK, "%s", cm_error_message());
    int rows;
    const cm_env_def *const *registry = cm_env_registry(&rows);
    for (int i = 0; i < rows; i++) {
        cm_env env;
        must_equal(cm_env_open(&env, registry[i]->name, NULL), CM_OK);
        must_msg(cm_env_try(&env, 256) == CM_OK, "%s", cm_error_message());
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trial of an environment");
    TCase *tcase = tcase_create("trial");
    tcase_add_test(tcase, every_fault_is_named_with_its_function);
    tcase_add_test(tcase, sound_rows_pass);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}
