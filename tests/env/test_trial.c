/* What a new row does wrong is said in one line: a small row with a fault at a time. */
#include <math.h>
#include <string.h>

#include "env/board.h"
#include "env/silent_check.h"
#include "support/main.h"

typedef enum fault {
    NONE,
    NO_NAME,
    EMPTY_NAME,
    NO_DESCRIBE,
    NAME_ALONE,
    FEW_FUNCTIONS,
    MUTE_DESCRIBE,
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
    HUGE_REWARD,
    HIGH_REWARD,
    LOW_REWARD,
    NAN_OBSERVATION,
    SHORT_OBSERVATION,
    LONG_OBSERVATION,
    NOTHING_LEGAL,
    MASK_2,
    NO_CHECK,
    REFUSED_END,
    NO_ACTION_NAME,
    SAME_ACTION_NAME,
    FLAT_PLANES,
    PLANES,
    LONG_ACTION_NAME,
    LONG_PICTURE,
    LONG_BOARD,
    BENT_SYMMETRY,
    FAR_SYMMETRY,
    NO_SYMMETRY,
    MANY_SYMMETRIES,
    MANY_CELLS,
    LATE_END,
    HIDDEN_END,
    OPEN_BOARD,
    BOARD_3,
    PIECES,
    SKEW_CELLS,
    SKEW_ACTIONS,
    SKEW_LEGAL,
    SKEW_REWARD,
    SKEW_END,
    SKEW_START,
    DRAWN_STEP,
    FAR_OUTCOME,
    SOUND_CHANCE,
    OPEN_WEIGHTS,
    LONG_WEIGHTS,
    MINUS_WEIGHT,
    NO_WEIGHTS,
    LONG_AFTERSTATE,
    LONG_CHANCE,
    HALF_CHANCE,
    NO_RESET_WITH,
    MANY_NUMBERS,
    FALLING_BOUNDS,
    ENDLESS_BOUND,
    FALLING_REWARDS,
    NO_DISCOUNT,
    FAR_THRESHOLD,
    MANY_LANES,
    NEGATIVE_PLIES,
    NEGATIVE_UNIT,
    ODD_UNIT,
    OTHER_BYTES
} fault;

typedef struct walk {
    int64_t cell, steps;
} walk;

enum { LATE = 5, NUMBERS = 3 };
static fault now;
static int64_t elsewhere; /* chance that does not come from `random` */

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    if (now == MUTE_DESCRIBE) return CM_ERR_INPUT;
    spec->shape[0] = now == NO_SHAPE ? 0 : NUMBERS;
    if (now == LARGE_SHAPE) spec->shape[0] = spec->shape[1] = spec->shape[2] = 65536;
    if (now == RANK_2) spec->rank = 2;
    if (now == FLAT_PLANES) spec->rank = 1;
    if (now == FLAT_PLANES || now == PLANES) spec->shape[2] = 2;
    if (now == BOARD_3) spec->shape[0] = 1, spec->shape[1] = NUMBERS, spec->shape[2] = CM_BOARD_PLANES;
    spec->actions = now == NO_ACTIONS ? 0 : now == MANY_ACTIONS ? CM_ENV_MAX_ACTIONS + 1 : 2;
    spec->max_steps = now == NO_LIMIT || now == LATE_END ? 0 : 50;
    if (now == LATE_END || now == HIDDEN_END) spec->max_plies = 30;
    if (now == NEGATIVE_PLIES) spec->max_plies = -1;
    spec->observation_unit = now == NEGATIVE_UNIT ? -1.0f : now == ODD_UNIT ? 0.25f : now == OTHER_BYTES;
    spec->cells = now == MANY_CELLS ? 65537 : NUMBERS;
    spec->symmetries = now == MANY_SYMMETRIES ? 4097 : 2;
    spec->chance_outcomes = now >= FAR_OUTCOME && now <= LONG_CHANCE ? 2 : 0;
    spec->reset_outcomes = now == NO_RESET_WITH;
    spec->action_size = now == MANY_NUMBERS ? 25 : now == FALLING_BOUNDS || now == ENDLESS_BOUND;
    spec->action_bins = 2;
    spec->action_low = 1.0f;
    if (now == ENDLESS_BOUND) spec->action_high = INFINITY;
    if (now == FALLING_REWARDS) spec->reward_low = 2.0;
    if (now == NO_DISCOUNT) spec->discount = (double)NAN;
    if (now == FAR_THRESHOLD) spec->reward_threshold = (double)INFINITY;
    spec->players = now == NO_TO_PLAY || now == PLAYER_2 || now == BOARD_3 || now == PIECES ? 2 : 1;
    spec->rules_size = now == ODD_SIZE     ? sizeof(walk) + 4
                       : now == SMALL_SIZE ? sizeof(int64_t)
                       : now == MANY_LANES ? 9 * sizeof(double)
                                           : sizeof(walk);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    *(walk *)rules = (walk){now == RANDOM_RESET ? ++elsewhere : now == SKEW_START, 0};
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params;
    walk *w = rules;
    w->cell += action || (now == DRAWN_STEP && cm_pcg64_below(random, 2)) ? 1 : -1;
    if (++w->steps >= LATE && now == RANDOM_STEP) w->cell = ++elsewhere;
    const bool end = now == RANDOM_END ? w->steps >= LATE && ++elsewhere % 2 : now == SKEW_END && w->cell > 1;
    const double wrong = now == NAN_REWARD    ? (double)NAN
                         : now == HUGE_REWARD ? 1e39
                         : now == HIGH_REWARD ? 1.5
                         : now == LOW_REWARD  ? -1.5
                                              : 0.0;
    return (cm_env_outcome){.terminated = end, .reward = w->steps >= LATE ? wrong : now == SKEW_REWARD && action};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    const walk *w = rules;
    for (int i = 0; i < (now == SHORT_OBSERVATION ? 2 : now == LONG_OBSERVATION ? 4 : NUMBERS); i++)
        observation[i] = now == OTHER_BYTES ? 0.0f : (float)((i - 1) * w->cell);
    if (now == NAN_OBSERVATION && w->steps >= LATE) observation[1] = NAN;
}

static const uint8_t *observation_bytes(const cm_env_params *params, const void *rules) {
    (void)params;
    return (const uint8_t *)&((const walk *)rules)->steps;
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    (void)params;
    const walk *w = rules;
    const bool late = w->steps >= LATE;
    mask[0] = mask[1] = late && now == NOTHING_LEGAL ? 0 : late && now == MASK_2 ? 2 : 1;
    if (now == SKEW_LEGAL) mask[0] = w->cell < 2;
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    const int steps = (int)((const walk *)rules)->steps;
    return now == PIECES ? steps % 2 : steps;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    text[0] = '\0';
    cm_picture_line(text, size, "%d", (int)((const walk *)rules)->cell);
    if (now == LONG_PICTURE) text[size] = '\0';
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    (void)params, (void)rules;
    const int count = now == LONG_BOARD ? NUMBERS + 1 : now == OPEN_BOARD ? NUMBERS - 1 : NUMBERS;
    for (int i = 0; i < count; i++) cells[i] = now == BOARD_3 || now == PIECES ? i + 1 : 1;
}

/* Cells and actions in reverse. */
static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    (void)params;
    for (int i = 0; i < NUMBERS; i++) cell_map[i] = NUMBERS - 1 - i;
    if (now == SKEW_CELLS) cell_map[0] = 0, cell_map[2] = 2;
    if (now == BENT_SYMMETRY) cell_map[0] = 1;
    action_map[0] = now == FAR_SYMMETRY ? 2 : index, action_map[1] = 0;
    if (now == SKEW_ACTIONS) action_map[0] = 0, action_map[1] = 1;
}

static int outcome_between(const cm_env_params *params, const float *before, int action, const float *after) {
    (void)params, (void)action;
    return now == FAR_OUTCOME && after[2] < before[2] ? 2 : -1;
}

static double afterstate(const cm_env_params *params, void *rules, int action) {
    (void)params, (void)action;
    if (now == LONG_AFTERSTATE) ((walk *)rules)[1].cell = 0;
    return 0.0;
}

static bool chance(const cm_env_params *params, void *rules, int outcome) {
    (void)params;
    if (now == LONG_CHANCE) ((walk *)rules)[1].cell = outcome;
    return false;
}

static void chance_weights(const cm_env_params *params, const void *rules, float *weights) {
    (void)params;
    const bool late = ((const walk *)rules)->steps >= LATE;
    weights[0] = now == MINUS_WEIGHT ? -1.0f : 0.0f;
    if (now != OPEN_WEIGHTS) weights[1] = late && now == NO_WEIGHTS ? 0.0f : 1.0f;
    if (now == LONG_WEIGHTS) weights[2] = 0.0f;
}

static void step_lanes(const cm_env_params *params, const cm_env_lanes *lanes) { (void)params, (void)lanes; }

static cm_env_outcome step_value(const cm_env_params *params, void *rules, const float *value) {
    return step(params, rules, *value > 0.0f, NULL);
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    (void)params;
    cm_name_pick(text, size,
                 action == 0 || now == SAME_ACTION_NAME ? "left"
                 : now == NO_ACTION_NAME                ? ""
                                                        : "to the right hand");
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const int64_t most = now == REFUSED_END ? LATE : INT64_MAX;
    (void)params, (void)rules, (void)ended;
    return cm_env_check_int("its count", steps, 0, most);
}

static CM_ENV_DEF(sound, check, .name = "walk", .about = "Walks to and fro", .describe = describe, .reset = reset,
                  .step = step, .observe = observe, .legal = legal, .picture = picture, .board = board,
                  .symmetry = symmetry, .outcome_between = outcome_between);

static cm_status try_with(fault what) {
    cm_env env;
    cm_env_def row = sound;
    if (what == NO_SYMMETRY) row.symmetry = NULL;
    if (what == HALF_CHANCE) row.afterstate = afterstate;
    if (what >= SOUND_CHANCE && what <= LONG_CHANCE)
        row.afterstate = afterstate, row.chance = chance, row.chance_weights = chance_weights;
    if (what == OTHER_BYTES) row.observation_bytes = observation_bytes;
    if (what == MANY_LANES) row.step_lanes = step_lanes;
    if (what == MANY_NUMBERS || what == FALLING_BOUNDS || what == ENDLESS_BOUND) row.step_value = step_value;
    if (what == PLAYER_2 || what == BOARD_3 || what == PIECES) row.to_play = to_play;
    if (what == BOARD_3) row.observe = NULL; /* observations are of stones, then */
    if (what == NO_ACTION_NAME || what == SAME_ACTION_NAME || what == LONG_ACTION_NAME) row.action_name = action_name;
    if (what == NO_DESCRIBE) row.describe = NULL;
    if (what == NAME_ALONE) row = (cm_env_def){.name = "walk"};
    if (what == FEW_FUNCTIONS) row.reset = NULL, row.step = NULL, row.picture = NULL;
    if (what == NO_CHECK) row.check = NULL;
    if (what == NO_NAME) row.name = NULL;
    if (what == EMPTY_NAME) row.name = "";
    now = what;
    CM_TRY(cm_env_open_def(&env, &row, "walk", NULL));
    return cm_env_try(&env, 100);
}

#define OWN "draw from `random` alone, and keep what changes in the state"

START_TEST(every_fault_is_named_with_its_function) {
    static const struct {
        fault what;
        const char *says;
    } cases[] = {
        {NO_NAME, "an environment whose row has no name"},
        {NO_DESCRIBE, "walk: its row lacks the function describe"},
        {NAME_ALONE, "walk: its row lacks the functions describe, reset, step, check"},
        {FEW_FUNCTIONS, "walk: its row lacks the functions reset, step, picture"},
        {NO_CHECK, "walk: its row lacks the function check"},
        {REFUSED_END, "walk: its check refuses a state of its own (step 7): its count is 6; must be 0..5"},
        {EMPTY_NAME, "an environment whose row has no name"},
        {MUTE_DESCRIBE, "walk: its describe fails and says no reason (cm_fail)"},
        {NO_ACTIONS, "walk: its describe sets actions to 0; must be in 1..65536"},
        {MANY_ACTIONS, "walk: its describe sets actions to 65537; must be in 1..65536"},
        {NO_SHAPE, "walk: its describe sets a number of shape to 0; must be in 1..65536"},
        {LARGE_SHAPE, "walk: its describe sets the observation's size to 281474976710656; must be in "
                      "1..16777216"},
        {RANK_2, "walk: its describe sets rank to 2; must be 1, [F], or 3, [height, width, channels]"},
        {FLAT_PLANES, "walk: its describe sets rank to 1, and shape to [3, 1, 2]: of rank 1 is [F], of 3 that"},
        {ODD_SIZE, "walk: its describe sets rules_size to 20; must be a multiple of 8, as of sizeof(state)"},
        {SMALL_SIZE, "walk: its reset writes behind the state, whose rules_size is 8 bytes"},
        {NO_LIMIT, "walk: its describe sets neither max_steps, a time limit, nor max_plies, which no episode "
                   "exceeds: an agent that never reached the end would play on for ever"},
        {NO_TO_PLAY, "walk: its row lacks the function to_play"},
        {PLAYER_2, "walk: its to_play gives 2 (step 3); it has 2 players, from 0 on"},
        {RANDOM_RESET, "walk: episodes of equal seeds and actions differ (step 1): " OWN},
        {RANDOM_STEP, "walk: episodes of equal seeds and actions differ (step 6): " OWN},
        {RANDOM_END, "walk: episodes of equal seeds and actions differ (step 5): " OWN},
        {NAN_REWARD, "walk: its step gives reward nan (step 5)"},
        {HUGE_REWARD, "walk: its step gives reward 1e+39 (step 5)"},
        {HIGH_REWARD,
         "walk: its step gives reward 1.5, beyond reward_low -1 and reward_high 1 of its describe (step 5)"},
        {LOW_REWARD,
         "walk: its step gives reward -1.5, beyond reward_low -1 and reward_high 1 of its describe (step 5)"},
        {NAN_OBSERVATION, "walk: its observe leaves number 1 of 3 out, or sets it to nan (step 6)"},
        {SHORT_OBSERVATION, "walk: its observe leaves number 2 of 3 out, or sets it to nan (step 1)"},
        {LONG_OBSERVATION, "walk: its observe writes more than the 3 numbers of its shape"},
        {NOTHING_LEGAL, "walk: its legal allows 0 actions (step 6); must be 1..2 until the episode ends"},
        {MASK_2, "walk: its legal sets action 0 to 2 (step 6); must be 0 or 1"},
        {NO_ACTION_NAME, "walk: its action_name names action 1 by 0 characters; must be 1..15"},
        {SAME_ACTION_NAME, "walk: its action_name names both action 0 and action 1 \"left\""},
        {LONG_ACTION_NAME, "walk: its action_name names action 1 by 17 characters; must be 1..15"},
        {LONG_PICTURE, "walk: its picture is longer than the 4096 bytes that it is given"},
        {LONG_BOARD, "walk: its board writes more than 3 cells"},
        {OPEN_BOARD, "walk: its board leaves cell 2 of 3 out (step 1)"},
        {BOARD_3, "walk: its board sets cell 2 to 3 (step 1); must be 0 (empty), 1 or 2"},
        {SKEW_CELLS, "walk: its symmetry 1 does not fit its rules (step 2): number 0 of the observation is 1, but its "
                     "image, number 0 after the images of the actions, is -1"},
        {SKEW_ACTIONS, "walk: its symmetry 1 does not fit its rules (step 2): number 0 of the observation is 1, but "
                       "its image, number 2 after the images of the actions, is -1"},
        {SKEW_LEGAL,
         "walk: its symmetry 1 does not fit its rules (step 5): action 1 is legal, its image, action 0, is not"},
        {SKEW_REWARD,
         "walk: its symmetry 1 does not fit its rules (step 1): action 0 gives reward 0, its image, action 1, gives 1"},
        {SKEW_END, "walk: its symmetry 1 does not fit its rules (step 4): action 0 gives reward 0, its image, action "
                   "1, gives 0 and the end"},
        {OPEN_WEIGHTS,
         "walk: its chance_weights leaves outcome 1 of 2 out, or sets it to nan (step 1); must be a probability"},
        {LONG_WEIGHTS, "walk: its chance_weights writes more than 2 outcomes"},
        {MINUS_WEIGHT,
         "walk: its chance_weights leaves outcome 0 of 2 out, or sets it to -1 (step 1); must be a probability"},
        {NO_WEIGHTS, "walk: its chance_weights sum to 0 (step 6); must be 1"},
        {LONG_AFTERSTATE, "walk: its afterstate writes behind the state, whose rules_size is 16 bytes"},
        {LONG_CHANCE, "walk: its chance writes behind the state, whose rules_size is 16 bytes"},
        {BENT_SYMMETRY, "walk: its symmetry 1 is no permutation of 3 cells and 2 actions"},
        {FAR_SYMMETRY, "walk: its symmetry 1 is no permutation of 3 cells and 2 actions"},
        {NO_SYMMETRY, "walk: its row lacks the function symmetry"},
        {MANY_SYMMETRIES, "walk: its describe sets symmetries to 4097; must be in 1..4096"},
        {MANY_CELLS, "walk: its describe sets cells to 65537; must be in 0..65536"},
        {LATE_END, "walk: the episode goes on after 30 steps, more than its max_plies allows"},
        {HIDDEN_END, "walk: the episode goes on after 30 steps, more than its max_plies allows"},
        {FAR_OUTCOME, "walk: its outcome_between gives 2 (step 2); must be in -1..1"},
        {HALF_CHANCE, "walk: its row lacks the functions chance, chance_weights"},
        {NO_RESET_WITH, "walk: its row lacks the function reset_with"},
        {MANY_NUMBERS, "walk: its describe sets action_size to 25; must be in 0..24"},
        {FALLING_BOUNDS, "walk: its describe sets action_low to 1 and action_high to 0; must rise, and be finite"},
        {ENDLESS_BOUND, "walk: its describe sets action_low to 1 and action_high to inf; must rise, and be finite"},
        {FALLING_REWARDS, "walk: its describe sets reward_low to 2 and reward_high to 1; must not fall"},
        {NO_DISCOUNT, "walk: its describe sets discount to nan; must be above 0 and at most 1"},
        {FAR_THRESHOLD, "walk: its describe sets reward_threshold to inf; must be finite, or NaN for none"},
        {MANY_LANES, "walk: its describe sets rules_size, of a row with step_lanes, to 72; must be in 0..64"},
        {NEGATIVE_PLIES, "walk: its describe sets max_plies to -1; must be in 0..2147483647"},
        {NEGATIVE_UNIT, "walk: its describe sets observation_unit to -1; must be above 0, or 0 for none"},
        {ODD_UNIT, "walk: its observe sets number 0 to -1 (step 2), which is not k times its observation_unit of "
                   "0.25, k of 0..255"},
        {OTHER_BYTES, "walk: its observation_bytes have 1 as number 0, its observe 0 (step 2)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        must_msg(try_with(cases[i].what) == CM_ERR_INPUT, "taken: %s", cases[i].says);
        must_msg(strcmp(cm_error_message(), cases[i].says) == 0, "%s", cm_error_message());
    }
}
END_TEST

/* describe says no rank here. */
START_TEST(the_shape_alone_says_whether_observations_are_planes) {
    cm_env env;
    for (int planes = 0; planes < 2; planes++) {
        now = planes ? PLANES : NONE;
        must_msg(cm_env_open_def(&env, &sound, "walk", NULL) == CM_OK, "%s", cm_error_message());
        must_equal(env.spec.rank, planes ? 3 : 1);
        must_equal(env.spec.observation_size, planes ? 6 : 3);
    }
}
END_TEST

/* 50 steps are the limit of describe, 30 its max_plies; the user may choose another limit. */
START_TEST(max_plies_is_the_smaller_one_of_both_limits) {
    static const int cases[][4] = {{NONE, 0, 50, 50},        {NONE, 70, 70, 70},       {HIDDEN_END, 0, 50, 30},
                                   {HIDDEN_END, 70, 70, 30}, {HIDDEN_END, 20, 20, 20}, {LATE_END, 0, 0, 30},
                                   {LATE_END, 70, 70, 30}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_env env;
        cm_env_params params = cm_env_params_default();
        cm_env_def row = sound;
        row.options = CM_ENV_MAX_STEPS;
        params.max_steps = cases[i][1];
        now = (fault)cases[i][0];
        must_equal(cm_env_open_def(&env, &row, "walk", &params), CM_OK);
        must_msg(env.spec.max_steps == cases[i][2] && env.spec.max_plies == cases[i][3], "case %zu: %d, %d", i,
                 env.spec.max_steps, env.spec.max_plies);
    }
}
END_TEST

START_TEST(sound_rows_pass) {
    static const fault harmless[] = {NONE, SKEW_START, DRAWN_STEP, SOUND_CHANCE, PIECES};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        must_msg(try_with(harmless[i]) == CM_OK, "%s", cm_error_message());
    int rows;
    const cm_env_def *const *registry = cm_env_registry(&rows);
    for (int i = 0; i < rows; i++) {
        cm_env env;
        must_equal(cm_env_open(&env, registry[i]->name, NULL), CM_OK);
        must_msg(cm_env_try(&env, 256) == CM_OK, "%s", cm_error_message());
    }
}
END_TEST

/* Player 0 moves, player 1, and player 1 again. */
static int repeat(const cm_env_params *params, const void *rules) {
    (void)params;
    return (((const walk *)rules)->steps + 1) % 3 != 1;
}

START_TEST(a_player_who_moves_twice_in_a_row_is_seen) {
    cm_env env;
    cm_env_tried seen;
    cm_env_def row = sound;
    now = PIECES;
    row.to_play = to_play;
    must_equal(cm_env_open_def(&env, &row, "walk", NULL), CM_OK);
    must_equal(cm_env_try_out(&env, 100, &seen), CM_OK);
    must_equal(seen.repeat_step, 0);
    row.to_play = repeat;
    must_equal(cm_env_open_def(&env, &row, "walk", NULL), CM_OK);
    must_msg(cm_env_try_out(&env, 100, &seen) == CM_OK, "%s", cm_error_message());
    must_equal(seen.repeat_step, 2);
    must_equal(seen.repeat_player, 1);
    must_equal(cm_env_fail_repeat(&env.spec, seen.repeat_player, seen.repeat_step), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(), "walk: its to_play gives 1 twice in a row (step 2); players must alternate "
                                        "where the model is learnt: give the other one a pass, or use policy "
                                        "alphazero, which follows to_play") == 0,
             "%s", cm_error_message());
    env.spec.replays = true; /* searches on its rules are refused */
    must_equal(cm_env_fail_repeat(&env.spec, 1, 2), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "alphazero") == NULL, "%s", cm_error_message());
}
END_TEST

static cm_env_outcome pay(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    cm_env_outcome out = step(params, rules, action, random);
    out.reward = ((walk *)rules)->steps % 2 ? 0.75 : -0.25;
    return out;
}

START_TEST(bounds_of_the_rewards_are_seen) {
    cm_env env;
    cm_env_tried seen;
    cm_env_def row = sound;
    now = NONE;
    row.step = pay;
    must_equal(cm_env_open_def(&env, &row, "walk", NULL), CM_OK);
    must_msg(cm_env_try_out(&env, 100, &seen) == CM_OK, "%s", cm_error_message());
    must_msg(fabs(seen.reward_low + 0.25) < 1e-6 && fabs(seen.reward_high - 0.75) < 1e-6, "%g, %g", seen.reward_low,
             seen.reward_high);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trial of an environment");
    TCase *tcase = tcase_create("trial");
    tcase_add_test(tcase, every_fault_is_named_with_its_function);
    tcase_add_test(tcase, the_shape_alone_says_whether_observations_are_planes);
    tcase_add_test(tcase, max_plies_is_the_smaller_one_of_both_limits);
    tcase_add_test(tcase, sound_rows_pass);
    tcase_add_test(tcase, a_player_who_moves_twice_in_a_row_is_seen);
    tcase_add_test(tcase, bounds_of_the_rewards_are_seen);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}
