/* What every row of the registry promises, tried on random games. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "env/env.h"
#include "env/silent_check.h"
#include "support/main.h"

enum { NAMES = 64, BOARD_LIMIT = 4096 };

static char names[NAMES][32];
static int name_count;

/* Every row; of those with a size the default, the smallest and the largest. */
static void list_names(void) {
    int rows;
    const cm_env_def *const *registry = cm_env_registry(&rows);
    for (int i = 0; i < rows; i++) {
        const cm_env_def *def = registry[i];
        const int sizes[3] = {def->default_size, def->min_size, def->max_size};
        for (int s = 0; s < (def->max_size > 0 ? 3 : 1); s++) {
            if (def->max_size == 0) snprintf(names[name_count], sizeof names[0], "%s", def->name);
            if (def->max_size > 0) snprintf(names[name_count], sizeof names[0], "%s%d", def->name, sizes[s]);
            name_count++;
        }
    }
}

/* One environment with memory for two states and everything that can be asked of them. */
typedef struct fixture {
    cm_env env;
    void *state, *other;
    float *observation, *other_observation;
    uint8_t *mask;
    int32_t *cell_map, *action_map;
    cm_rng rng;
} fixture;

static fixture open_fixture(const char *name) {
    fixture f;
    must_msg(cm_env_open(&f.env, name, NULL) == CM_OK, "%s", cm_error_message());
    const cm_env_spec *spec = &f.env.spec;
    f.state = calloc(1, spec->state_size), f.other = calloc(1, spec->state_size);
    f.observation = calloc((size_t)spec->observation_size, sizeof(float));
    f.other_observation = calloc((size_t)spec->observation_size, sizeof(float));
    f.mask = calloc((size_t)spec->actions, 1);
    f.cell_map = calloc((size_t)spec->cells + 1, sizeof(int32_t));
    f.action_map = calloc((size_t)spec->actions, sizeof(int32_t));
    f.rng = cm_rng_init(cm_key_make(7, CM_RNG_TEST, 0), 0);
    return f;
}

static void close_fixture(fixture *f) {
    free(f->state), free(f->other), free(f->observation), free(f->other_observation);
    free(f->mask), free(f->cell_map), free(f->action_map);
}

static int count_legal(const fixture *f) {
    int legal = 0;
    for (int a = 0; a < f->env.spec.actions; a++) {
        must_msg(f->mask[a] <= 1, "%s: mask is %d", f->env.spec.name, f->mask[a]);
        legal += f->mask[a];
    }
    return legal;
}

static int random_legal(fixture *f) {
    cm_env_legal(&f->env, f->state, f->mask);
    int legal = count_legal(f);
    must_msg(legal >= 1 && legal <= f->env.spec.max_legal, "%s: %d legal actions", f->env.spec.name, legal);
    int pick = (int)cm_rng_below(&f->rng, (uint32_t)legal), a = 0;
    while (!f->mask[a] || pick-- > 0) a++;
    return a;
}

static void check_observation(fixture *f) {
    const cm_env_spec *spec = &f->env.spec;
    for (int i = 0; i < spec->observation_size; i++) f->observation[i] = NAN;
    cm_env_observe(&f->env, f->state, f->observation);
    for (int i = 0; i < spec->observation_size; i++) {
        float x = f->observation[i];
        must_msg(isfinite(x), "%s: observation[%d] is %g", spec->name, i, (double)x);
        must_msg(spec->rank == 1 || x == 0.0f || x == 1.0f, "%s: plane value %g", spec->name, (double)x);
    }
}

/* All illegal actions and numbers out of range are refused and leave the state as it was. */
static void check_refusals(fixture *f) {
    cm_env_outcome out;
    memcpy(f->other, f->state, f->env.spec.state_size);
    cm_env_legal(&f->env, f->state, f->mask);
    for (int a = -1; a <= f->env.spec.actions; a++) {
        if (a >= 0 && a < f->env.spec.actions && f->mask[a]) continue;
        cm_status expected = cm_env_ended(f->state) ? CM_ERR_STATE : CM_ERR_INPUT;
        must_equal(cm_env_step(&f->env, f->state, a, &out), expected);
        must((int)strlen(cm_error_message()) > 10);
        must(memcmp(f->state, f->other, f->env.spec.state_size) == 0);
    }
}

/* A clone that takes the same action ends in the same bytes, chance included. */
static void check_clone(fixture *f, int action) {
    cm_env_outcome out, again;
    void *before = malloc(f->env.spec.state_size);
    memcpy(before, f->state, f->env.spec.state_size);
    memcpy(f->other, f->state, f->env.spec.state_size);
    must_equal(cm_env_step(&f->env, f->other, action, &again), CM_OK);
    must_equal(cm_env_step(&f->env, f->state, action, &out), CM_OK);
    must(memcmp(f->state, f->other, f->env.spec.state_size) == 0);
    must(out.reward == again.reward && out.terminated == again.terminated);
    memcpy(f->state, before, f->env.spec.state_size);
    free(before);
}

static void check_picture(fixture *f) {
    char text[CM_ENV_PICTURE_BYTES], tiny[16];
    cm_env_picture(&f->env, f->state, text, sizeof text);
    size_t length = strlen(text), column = 0;
    must_msg(length > 1 && text[length - 1] == '\n', "%s: picture '%s' is no lines of text", f->env.spec.name, text);
    for (size_t i = 0; i < length; i++) {
        column = text[i] == '\n' ? 0 : column + 1;
        bool is_hex = strncmp(f->env.spec.name, "hex", 3) == 0;
        int rhombus = is_hex ? 3 * f->env.params.size + 1 : 0, most = rhombus > 40 ? rhombus : 40;
        must_msg((int)column <= most, "%s: picture is wider than %d columns:\n%s", f->env.spec.name, most, text);
        must(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
    }
    memset(tiny, '#', sizeof tiny);
    cm_env_picture(&f->env, f->state, tiny, 8);
    must(memchr(tiny, '\0', 8) != NULL && tiny[8] == '#');
}

/* Plays one game; every 16th step is examined closely. Returns its length. */
static int play(fixture *f, uint64_t seed, bool closely) {
    const cm_env_spec *spec = &f->env.spec;
    cm_env_outcome out = {0.0, false, false};
    int steps = 0;
    cm_env_reset(&f->env, f->state, seed);
    while (!out.terminated && !out.truncated) {
        bool look = closely && steps % 16 == (int)(seed % 16);
        int action = random_legal(f);
        int mover = cm_env_to_play(&f->env, f->state);
        must_msg(mover >= 0 && mover < spec->players, "%s: to_play is %d", spec->name, mover);
        if (look) check_observation(f), check_refusals(f), check_clone(f, action), check_picture(f);
        must_msg(cm_env_step(&f->env, f->state, action, &out) == CM_OK, "%s", cm_error_message());
        must_msg(out.reward >= spec->reward_low - 1e-9 && out.reward <= spec->reward_high, "%s: reward %g", spec->name,
                 out.reward);
        steps++;
        must_msg(spec->max_plies == 0 || steps <= spec->max_plies, "%s: longer than max_plies %d", spec->name,
                 spec->max_plies);
        must(out.truncated == (spec->max_steps > 0 && steps == spec->max_steps));
    }
    if (closely) check_observation(f), check_refusals(f), check_picture(f);
    cm_env_legal(&f->env, f->state, f->mask);
    must_equal(count_legal(f), 0);
    must(cm_env_ended(f->state));
    return steps;
}

START_TEST(specs_are_complete_and_within_their_limits) {
    for (int i = 0; i < name_count; i++) {
        fixture f = open_fixture(names[i]);
        const cm_env_spec *spec = &f.env.spec;
        ck_assert_str_eq(spec->name, names[i]);
        must(spec->rank == 1 || spec->rank == 3);
        must_equal(spec->observation_size, spec->shape[0] * spec->shape[1] * spec->shape[2]);
        for (int c = 0; c < (spec->rank == 1 ? spec->shape[0] : spec->shape[2]); c++) {
            must_msg(spec->channels && strlen(spec->channels[c]) > 0,
                     "%s: number or plane %d has no name: spec->channels", names[i], c);
        }
        if (spec->rank == 3) must_equal(spec->cells, spec->shape[0] * spec->shape[1]);
        must(spec->actions >= 2 && spec->actions <= CM_ENV_MAX_ACTIONS);
        must(spec->max_legal >= 1 && spec->max_legal <= spec->actions);
        must(spec->players == 1 || spec->players == 2);
        must(spec->reward_low <= spec->reward_high && spec->discount > 0.0 && spec->discount <= 1.0);
        must(spec->rules_size % 8 == 0 && spec->state_size == spec->rules_size + sizeof(cm_env_common));
        must(spec->cells <= BOARD_LIMIT && spec->chance_outcomes <= CM_ENV_MAX_OUTCOMES);
        must(spec->symmetries >= 1 && strlen(f.env.def->about) > 10 && strlen(f.env.def->about) < 60);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(random_games_keep_every_promise) {
    for (int i = 0; i < name_count; i++) {
        fixture f = open_fixture(names[i]);
        bool is_largest = f.env.def->max_size > 0 && f.env.params.size == f.env.def->max_size;
        int games = is_largest || !cm_env_is_listed(&f.env) ? 50 : 2000;
        long total = 0;
        for (int g = 0; g < games; g++) total += play(&f, (uint64_t)g, g < 200);
        printf("%-26s %5d games, %9ld steps\n", f.env.spec.name, games, total);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(seeds_repeat_and_differ) {
    for (int i = 0; i < name_count; i++) {
        fixture f = open_fixture(names[i]);
        cm_env_reset(&f.env, f.state, 11);
        cm_env_reset(&f.env, f.other, 11);
        must_msg(memcmp(f.state, f.other, f.env.spec.state_size) == 0, "%s: equal seeds, different starts", names[i]);
        cm_env_restart(&f.env, f.other); /* goes on with the generator */
        cm_env_reset(&f.env, f.state, 12);
        must(memcmp(f.state, f.other, f.env.spec.state_size) != 0 || f.env.spec.reset_outcomes == 0);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(action_names_are_distinct_and_are_read_back) {
    for (int i = 0; i < name_count; i++) {
        fixture f = open_fixture(names[i]);
        for (int a = 0; a < f.env.spec.actions; a++) {
            char text[16], number[16];
            cm_env_action_name(&f.env, a, text, sizeof text);
            snprintf(number, sizeof number, "%d", a);
            must_msg(cm_env_action_parse(&f.env, text) == a, "%s: %s", names[i], text);
            must_equal(cm_env_action_parse(&f.env, number), a);
        }
        must_equal(cm_env_action_parse(&f.env, "nonsense"), -1);
        must_equal(cm_env_action_parse(&f.env, ""), -1);
        must_equal(cm_env_action_parse(&f.env, "99999"), -1);
        close_fixture(&f);
    }
}
END_TEST

/* ---- symmetries ---- */

static void check_permutation(const int32_t *map, int n) {
    static uint8_t seen[CM_ENV_MAX_ACTIONS];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < n; i++) {
        must(map[i] >= 0 && map[i] < n && !seen[map[i]]);
        seen[map[i]] = 1;
    }
}

/* The mirrored state looks like the mirror image of the state. */
static void check_image(fixture *f, int symmetry, int step) {
    const cm_env_spec *spec = &f->env.spec;
    const int planes = spec->shape[2];
    cm_env_observe(&f->env, f->state, f->observation);
    cm_env_observe(&f->env, f->other, f->other_observation);
    for (int c = 0; c < spec->cells; c++) {
        for (int p = 0; p < planes; p++) {
            must_msg(f->observation[c * planes + p] == f->other_observation[f->cell_map[c] * planes + p],
                     "%s, symmetry %d, step %d: cell %d, plane %d", spec->name, symmetry, step, c, p);
        }
    }
    uint8_t *other_mask = malloc((size_t)spec->actions);
    cm_env_legal(&f->env, f->state, f->mask);
    cm_env_legal(&f->env, f->other, other_mask);
    for (int a = 0; a < spec->actions; a++) must(f->mask[a] == other_mask[f->action_map[a]]);
    free(other_mask);
}

/* Where a chance outcome goes: spawns by cell, catch's column by the first row. */
static int map_outcome(const fixture *f, int outcome) {
    if (f->env.spec.chance_outcomes == 0) return f->cell_map[outcome];
    return outcome - outcome % f->env.spec.cells + f->cell_map[outcome % f->env.spec.cells];
}

static void reset_both(fixture *f) {
    cm_env_reset(&f->env, f->state, 1);
    cm_env_reset(&f->env, f->other, 1);
    if (f->env.spec.reset_outcomes == 0) return;
    int32_t outcomes[2] = {3, 17}, images[2];
    for (int i = 0; i < f->env.spec.reset_outcomes; i++) images[i] = map_outcome(f, outcomes[i]);
    must_equal(cm_env_reset_outcomes(&f->env, f->state, outcomes), CM_OK);
    must_equal(cm_env_reset_outcomes(&f->env, f->other, images), CM_OK);
}

static bool step_both(fixture *f, int action) {
    cm_env_outcome a, b;
    if (f->env.spec.chance_outcomes == 0) {
        must_equal(cm_env_step(&f->env, f->state, action, &a), CM_OK);
        must_equal(cm_env_step(&f->env, f->other, f->action_map[action], &b), CM_OK);
    } else {
        float weights[CM_ENV_MAX_OUTCOMES];
        must_equal(cm_env_afterstate(&f->env, f->state, action, &a.reward), CM_OK);
        must_equal(cm_env_afterstate(&f->env, f->other, f->action_map[action], &b.reward), CM_OK);
        must(a.reward == b.reward);
        must_equal(cm_env_chance_weights(&f->env, f->state, weights), CM_OK);
        int outcome = cm_rng_categorical(&f->rng, weights, f->env.spec.chance_outcomes);
        must_equal(cm_env_chance(&f->env, f->state, outcome, &a), CM_OK);
        must_equal(cm_env_chance(&f->env, f->other, map_outcome(f, outcome), &b), CM_OK);
    }
    must(a.reward == b.reward && a.terminated == b.terminated);
    return a.terminated;
}

START_TEST(symmetries_are_permutations_that_commute_with_the_rules) {
    for (int i = 0; i < name_count; i++) {
        fixture f = open_fixture(names[i]);
        for (int s = 0; s < f.env.spec.symmetries; s++) {
            cm_env_symmetry(&f.env, s, f.cell_map, f.action_map);
            check_permutation(f.cell_map, f.env.spec.cells);
            check_permutation(f.action_map, f.env.spec.actions);
            for (int game = 0; game < 3 && f.env.spec.symmetries > 1; game++) {
                reset_both(&f);
                bool ended = false;
                for (int step = 0; !ended; step++) {
                    if (step % 8 == 0) check_image(&f, s, step);
                    ended = step_both(&f, random_legal(&f));
                }
                check_image(&f, s, -1);
            }
        }
        close_fixture(&f);
    }
}
END_TEST

START_TEST(names_and_options_that_do_not_exist_are_refused_with_the_nearest) {
    cm_env env;
    const char *const wrong[][2] = {{"CartPole-v2", "CartPole-v1"},
                                    {"cartpole-v7", "CartPole-v1"},
                                    {"tictacto", "tictactoe"},
                                    {"cartpol", "CartPole-v1"},
                                    {"connect", "connect4"},
                                    {"Acrobot-v2", "Acrobot-v1"},
                                    {"", "lists all"},
                                    {"Pong-v5", "cumind train atari:Pong (it needs pip install ale-py)"},
                                    {"nothing like it", "lists all"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        must_equal(cm_env_open(&env, wrong[i][0], NULL), CM_ERR_INPUT);
        must_msg(strstr(cm_error_message(), wrong[i][1]) != NULL, "%s", cm_error_message());
    }
    cm_env_params params = cm_env_params_default();
    must_equal(cm_env_params_set(&params, "kommi", 1.0), CM_ERR_INPUT);
    must(strstr(cm_error_message(), "komi") != NULL);
    must_equal(cm_env_params_set(&params, "swap", 2.0), CM_ERR_INPUT);
    must_equal(cm_env_params_set(&params, "rows", 2.5), CM_ERR_INPUT);
    must_equal(cm_env_params_set(&params, "komi", NAN), CM_ERR_INPUT);
    must_equal(cm_env_params_set(&params, "low", 0.2), CM_OK);
    must_equal(cm_env_params_set(&params, "high", 0.1), CM_OK);
    must_equal(cm_env_open(&env, "CartPole-v1", &params), CM_ERR_INPUT);
    params = cm_env_params_default();
    params.columns = 1000;
    must_equal(cm_env_open(&env, "catch", &params), CM_ERR_INPUT);
}
END_TEST

START_TEST(games_are_the_same_if_name_size_and_options_are) {
    cm_env a, b;
    cm_env_params params = cm_env_params_default();
    must_equal(cm_env_open(&a, "go5", NULL), CM_OK);
    must_equal(cm_env_open(&b, "go5", NULL), CM_OK);
    must(cm_env_is_same(&a, &b));
    params.komi = 7.5, params.columns = 9; /* its default, and an option of other games */
    must_equal(cm_env_open(&b, "go5", &params), CM_OK);
    must(cm_env_is_same(&a, &b));
    params.komi = 0.5;
    must_equal(cm_env_open(&b, "go5", &params), CM_OK);
    must(!cm_env_is_same(&a, &b));
    must_equal(cm_env_open(&b, "go7", NULL), CM_OK);
    must(!cm_env_is_same(&a, &b));
    must_equal(cm_env_open(&b, "hex5", NULL), CM_OK);
    must(!cm_env_is_same(&a, &b));
}
END_TEST

int main(void) {
    list_names();
    Suite *suite = suite_create("environment contract");
    TCase *tcase = tcase_create("every row");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, specs_are_complete_and_within_their_limits);
    tcase_add_test(tcase, random_games_keep_every_promise);
    tcase_add_test(tcase, seeds_repeat_and_differ);
    tcase_add_test(tcase, action_names_are_distinct_and_are_read_back);
    tcase_add_test(tcase, symmetries_are_permutations_that_commute_with_the_rules);
    tcase_add_test(tcase, names_and_options_that_do_not_exist_are_refused_with_the_nearest);
    tcase_add_test(tcase, games_are_the_same_if_name_size_and_options_are);
    suite_add_tcase(suite, tcase);
    return cm_test_main_in_process(suite);
}
