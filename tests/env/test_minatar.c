/* MinAtar against numbers of its original (docs/spec/minatar.md 6), and the rules that random play does not reach. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "env/env.h"
#include "env/minatar_asterix.h"
#include "env/minatar_breakout.h"
#include "env/minatar_freeway.h"
#include "env/minatar_seaquest.h"
#include "env/minatar_space_invaders.h"
#include "env/silent_check.h"
#include "support/main.h"

enum { STATE = 1024, NUMBERS = 100 * CM_MINATAR_CHANNELS, MODULUS = 1000000007 };

typedef struct episode {
    cm_env env;
    uint64_t state[STATE / sizeof(uint64_t)];
    cm_env_outcome out;
    double total;
    int frames;
} episode;

static void open_game(episode *e, const char *name, const cm_env_params *params) {
    must_msg(cm_env_open(&e->env, name, params) == CM_OK, "%s", cm_error_message());
    must(e->env.spec.state_size <= sizeof e->state);
}

static void start(episode *e, uint64_t seed) {
    cm_env_reset(&e->env, e->state, seed);
    e->total = 0.0, e->frames = 0;
    e->out = (cm_env_outcome){0};
}

static bool step(episode *e, int action) {
    must_msg(cm_env_step(&e->env, e->state, action, &e->out) == CM_OK, "%s", cm_error_message());
    e->total += e->out.reward, e->frames++;
    return !cm_env_ended(e->state);
}

/* ---- vectors ---- */

/* The sum of i + 1 over the set bits of the picture; *cells counts them. */
static int64_t sum_bits(const episode *e, int *cells) {
    float observation[NUMBERS];
    int64_t sum = 0;
    cm_env_observe(&e->env, e->state, observation);
    for (int i = 0; i < e->env.spec.observation_size; i++) {
        must(observation[i] == 0.0f || observation[i] == 1.0f);
        if (observation[i] == 0.0f) continue;
        sum += i + 1;
        ++*cells;
    }
    return sum;
}

/* Under the ball, or a list of actions that is repeated. */
static int choose(const episode *e, const char *actions) {
    const cm_breakout *s = cm_env_rules_of(e->state);
    if (actions[0] != 'b') return actions[e->frames % (int)strlen(actions)] - '0';
    return s->x < s->paddle ? CM_MINATAR_LEFT : s->x > s->paddle ? CM_MINATAR_RIGHT : CM_MINATAR_NONE;
}

static const struct {
    const char *name;
    int side; /* of Breakout's ball, else -1 */
    const char *actions;
    int frames, reward, cells;
    int64_t hash;
} vectors[] = {
    {"minatar_breakout", 0, "0", 6, 0, 231, 314734406},
    {"minatar_breakout", 1, "0", 16, 1, 555, 821920463},
    {"minatar_breakout", 0, "b", 2000, 168, 35502, 774638664},
    {"minatar_breakout", 1, "b", 2000, 168, 35502, 320696004},
    {"minatar_space_invaders", -1, "0", 17, 0, 889, 796749761},
    {"minatar_space_invaders", -1, "5", 18, 3, 912, 733025971},
    {"minatar_space_invaders", -1, "5153", 28, 4, 1351, 176019435},
    {"minatar_space_invaders", -1, "5333111", 17, 2, 868, 100435432},
};

START_TEST(games_without_chance_are_those_of_the_original) {
    episode e;
    cm_env_params params = cm_env_params_default();
    params.sticky_actions = 0.0;
    open_game(&e, vectors[_i].name, &params);
    start(&e, 1);
    if (vectors[_i].side >= 0) must_equal(cm_env_reset_outcomes(&e.env, e.state, &vectors[_i].side), CM_OK);
    int cells = 0;
    int64_t hash = 0;
    (void)sum_bits(&e, &cells);
    bool goes_on = true;
    while (goes_on && e.frames < vectors[_i].frames) {
        goes_on = step(&e, choose(&e, vectors[_i].actions));
        hash = (31 * hash + sum_bits(&e, &cells)) % MODULUS;
    }
    must_equal(goes_on, vectors[_i].actions[0] == 'b');
    must_equal(e.frames, vectors[_i].frames);
    must_equal(e.total, vectors[_i].reward);
    must_equal(cells, vectors[_i].cells);
    must_equal(hash, vectors[_i].hash);
}
END_TEST

/* ---- statistics ---- */

static const struct {
    const char *name;
    int episodes;
    double mean, error, length, length_error; /* of uniform actions, each with its standard error */
} played[] = {
    {"minatar_asterix", 1500, .511, .024, 70.8, 1.2},       {"minatar_breakout", 1500, .534, .020, 11.5, .2},
    {"minatar_freeway", 40, .10, .05, 2501.0, 0.0},         {"minatar_seaquest", 1500, .113, .011, 31.7, 1.0},
    {"minatar_space_invaders", 1500, 2.88, .06, 51.8, 1.0},
};

START_TEST(random_play_has_the_returns_and_lengths_of_the_original) {
    const double errors = 4.0 * sqrt(2.0); /* of a difference of two such means four standard errors */
    episode e;
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), 0);
    double total = 0.0, frames = 0.0;
    const int episodes = played[_i].episodes;
    open_game(&e, played[_i].name, NULL);
    for (int i = 0; i < episodes; i++) {
        start(&e, (uint64_t)i);
        while (step(&e, cm_env_random_action(&e.env, e.state, &rng))) {
        }
        must(e.out.terminated);
        total += e.total, frames += e.frames;
    }
    must_msg(fabs(total / episodes - played[_i].mean) < errors * played[_i].error, "%s returns %g", played[_i].name,
             total / episodes);
    must_msg(fabs(frames / episodes - played[_i].length) <= errors * played[_i].length_error, "%s lasts %g",
             played[_i].name, frames / episodes);
}
END_TEST

/* Actions of Breakout that always differ from the last one that was carried out. */
static double repeated(double sticky) {
    enum { FRAMES = 20000 };
    episode e;
    cm_env_params params = cm_env_params_default();
    params.sticky_actions = sticky;
    open_game(&e, "minatar_breakout", &params);
    const cm_breakout *s = cm_env_rules_of(e.state);
    int count = 0;
    start(&e, 0);
    for (int i = 0; i < FRAMES; i++) {
        const int last = s->last_action;
        if (!step(&e, (last + 1 + i % 5) % 6))
            cm_env_restart(&e.env, e.state);
        else
            count += s->last_action == last;
    }
    return (double)count / FRAMES;
}

START_TEST(sticky_actions_repeat_the_last_one_in_a_tenth_of_the_frames) {
    const double ends = 1.0 - 1.0 / 11.5; /* frames after which an episode goes on */
    must(repeated(0.0) == 0.0);
    must_msg(fabs(repeated((double)NAN) - 0.1 * ends) < 0.01, "%g", repeated((double)NAN));
    must_msg(repeated(1.0) > 0.8, "%g", repeated(1.0));
}
END_TEST

/* ---- options ---- */

START_TEST(minimal_actions_are_those_that_do_something) {
    const char *const rows[][2] = {{"minatar_breakout", "none left right"},
                                   {"minatar_asterix", "none left up right down"},
                                   {"minatar_freeway", "none up down"},
                                   {"minatar_seaquest", "none left up right down fire"},
                                   {"minatar_space_invaders", "none left right fire"}};
    cm_env_params params = cm_env_params_default();
    params.minimal_actions = true, params.sticky_actions = 0.0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char names[64] = "", name[16];
        episode e;
        open_game(&e, rows[i][0], &params);
        for (int a = 0; a < e.env.spec.actions; a++) {
            cm_env_action_name(&e.env, a, name, sizeof name);
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", a ? " " : "", name);
        }
        must_msg(strcmp(names, rows[i][1]) == 0, "%s: %s", rows[i][0], names);
    }
    episode e;
    open_game(&e, "minatar_breakout", &params);
    start(&e, 0);
    step(&e, 2);
    must_equal(((const cm_breakout *)cm_env_rules_of(e.state))->paddle, 5);
}
END_TEST

START_TEST(asterix_grows_harder_every_102_frames) {
    cm_asterix s, calm;
    cm_pcg64 random;
    int reward;
    cm_pcg64_seed(&random, 1);
    cm_asterix_start(&s), cm_asterix_start(&calm);
    for (int frame = 1; frame <= 102 * 12; frame++) {
        cm_asterix_step(&s, CM_MINATAR_NONE, true, &random, &reward);
        cm_asterix_step(&calm, CM_MINATAR_NONE, false, &random, &reward);
        const int ramps = frame / 102 < CM_ASTERIX_RAMPS ? frame / 102 : CM_ASTERIX_RAMPS;
        must_equal(s.ramps, ramps);
        must_equal(cm_asterix_spawn_every(&s), ramps < 9 ? 10 - ramps : 1);
        must_equal(calm.ramps, 0);
    }
    must_equal(cm_asterix_move_every(&s), 1);
}
END_TEST

START_TEST(a_wave_of_invaders_that_is_shot_is_followed_by_a_faster_one) {
    for (int ramping = 0; ramping < 2; ramping++) {
        cm_invaders s;
        int reward;
        cm_invaders_start(&s);
        for (int wave = 1; wave <= 8; wave++) {
            const cm_minatar_cells last = {{cm_minatar_bit(2, 3), 0}}, below = {{cm_minatar_bit(2, 4), 0}};
            s.aliens = last, s.own = below, s.move_in = 3;
            must(!cm_invaders_step(&s, CM_MINATAR_NONE, ramping, &reward));
            must_equal(reward, 1);
            must_equal(cm_minatar_count(&s.aliens), CM_INVADERS_WAVE);
            must_equal(s.move_every, ramping == 0 ? 12 : wave < 6 ? 12 - wave : 6);
            s.bullets = (cm_minatar_cells){{0, 0}};
        }
    }
}
END_TEST

/* Invaders at the edge that they head for turn and sink; in the lowest row that is the end. */
START_TEST(invaders_that_land_end_the_game) {
    for (int row = 7; row <= 9; row++) {
        cm_invaders s;
        int reward;
        cm_invaders_start(&s);
        s.aliens = (cm_minatar_cells){{0, 0}};
        cm_minatar_put(&s.aliens, 0, row);
        s.move_in = 0;
        must_equal(cm_invaders_step(&s, CM_MINATAR_NONE, true, &reward), row == 9);
        must_equal(s.side, 1);
        must_equal(s.move_in, 0); /* one alien moves every frame */
    }
}
END_TEST

static void surface(cm_seaquest *s, int carried, int oxygen, bool *ends, int *reward) {
    cm_pcg64 random;
    cm_pcg64_seed(&random, 1);
    s->y = 1, s->has_surfaced = 0;
    s->carried = carried, s->oxygen = (int16_t)oxygen;
    *ends = cm_seaquest_step(s, CM_MINATAR_UP, true, &random, reward);
}

START_TEST(a_full_crew_pays_by_its_oxygen_and_an_empty_boat_ends_the_game) {
    cm_seaquest s;
    bool ends;
    int reward;
    cm_seaquest_start(&s);
    surface(&s, 6, 150, &ends, &reward);
    must(!ends && reward == 7 && s.carried == -1 && s.oxygen == 200 && s.ramps == 1);
    surface(&s, -1, 150, &ends, &reward);
    must(!ends && reward == 0 && s.carried == -2 && s.ramps == 2);
    surface(&s, 3, 20, &ends, &reward);
    must(!ends && reward == 0 && s.carried == 2 && s.ramps == 3);
    must_equal(cm_seaquest_move_every(&s), 4);
    must_equal(cm_seaquest_spawn_every(&s), 17);
    surface(&s, 0, 20, &ends, &reward);
    must(ends && reward == 0);
    s.ramps = CM_SEAQUEST_RAMPS;
    surface(&s, 6, 200, &ends, &reward);
    must(!ends && reward == 10 && s.ramps == CM_SEAQUEST_RAMPS);
    must_equal(cm_seaquest_spawn_every(&s), 1);
    must_equal(cm_seaquest_move_every(&s), 2);
}
END_TEST

START_TEST(a_boat_without_oxygen_ends_the_game) {
    cm_seaquest s;
    cm_pcg64 random;
    int reward, frames = 0;
    cm_pcg64_seed(&random, 1);
    cm_seaquest_start(&s);
    s.y = 8;
    for (bool ends = false; !ends; frames++) {
        s.fish_count = s.submarine_count = s.bullet_count = 0;
        ends = cm_seaquest_step(&s, CM_MINATAR_DOWN, true, &random, &reward);
    }
    must_equal(frames, 201);
    must_equal(s.oxygen, -1);
}
END_TEST

/* Many enemies: no list ever needs the room that it has. */
START_TEST(lists_of_seaquest_never_fill) {
    cm_seaquest s;
    cm_pcg64 random;
    int reward, most = 0;
    cm_pcg64_seed(&random, 1);
    cm_seaquest_start(&s);
    s.ramps = CM_SEAQUEST_RAMPS;
    for (int frame = 0; frame < 200000; frame++) {
        s.oxygen = 200;
        cm_seaquest_step(&s, frame % 200 ? CM_MINATAR_FIRE : CM_MINATAR_DOWN, true, &random, &reward);
        const int counts[] = {s.fish_count, s.submarine_count, s.bullet_count};
        for (int i = 0; i < 3; i++) most = counts[i] > most ? counts[i] : most;
        must(s.own_count <= 2 && s.diver_count <= 2);
    }
    must_msg(most > 10 && most <= 32, "%d", most);
}
END_TEST

START_TEST(pictures_are_ten_lines_of_letters) {
    episode e;
    char text[CM_ENV_PICTURE_BYTES];
    open_game(&e, "minatar_space_invaders", NULL);
    start(&e, 0);
    cm_env_picture(&e.env, e.state, text, sizeof text);
    must_msg(strncmp(text, ". . < < < < < < . .\n", 20) == 0, "%s", text);
    must_msg(strcmp(text + 9 * 20, ". . . . . A . . . .\n") == 0, "%s", text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("MinAtar");
    TCase *c = tcase_create("minatar");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, games_without_chance_are_those_of_the_original, 0, (int)(sizeof vectors / sizeof *vectors));
    tcase_add_loop_test(c, random_play_has_the_returns_and_lengths_of_the_original, 0,
                        (int)(sizeof played / sizeof *played));
    tcase_add_test(c, sticky_actions_repeat_the_last_one_in_a_tenth_of_the_frames);
    tcase_add_test(c, minimal_actions_are_those_that_do_something);
    tcase_add_test(c, asterix_grows_harder_every_102_frames);
    tcase_add_test(c, a_wave_of_invaders_that_is_shot_is_followed_by_a_faster_one);
    tcase_add_test(c, invaders_that_land_end_the_game);
    tcase_add_test(c, a_full_crew_pays_by_its_oxygen_and_an_empty_boat_ends_the_game);
    tcase_add_test(c, a_boat_without_oxygen_ends_the_game);
    tcase_add_test(c, lists_of_seaquest_never_fill);
    tcase_add_test(c, pictures_are_ten_lines_of_letters);
    suite_add_tcase(suite, c);
    return cm_test_main_in_process(suite);
}
