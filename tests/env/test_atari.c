/* Atari's games by a package that stands in for ale-py: its screen after k frames is filled with k. */
#include "env/python_env.h"
#include "env/python_internal.h"

/* Games of it, by their names: the number of frames after which one ends, or a life is lost; the reward of a frame. */
static const char stand_in[] =
    "import types\n"
    "class LoggerMode: Error = 2\n"
    "roms = types.SimpleNamespace(get_all_rom_ids=lambda: ['count', 'short', 'three_lives', 'echo'],\n"
    "                             get_rom_path=lambda rom: rom)\n"
    "class Action:\n"
    "  def __init__(s, name, value): s.name, s.value = name, value\n"
    "class ALEInterface:\n"
    "  made = 0\n"
    "  setLoggerMode = staticmethod(lambda mode: None)\n"
    "  def setFloat(s, key, value): assert (key, value) == ('repeat_action_probability', 0.0)\n"
    "  def setInt(s, key, value): assert (key, value) in (('frame_skip', 1), ('max_num_frames_per_episode', 0))\n"
    "  def loadROM(s, rom): s.rom, s.k = rom, None\n"
    "  def getMinimalActionSet(s): return [Action('NOOP', 0), Action('FIRE', 1), Action('LEFT', 4)]\n"
    "  def getLegalActionSet(s): return [Action('NOOP', 0)] + [Action('A%d' % i, i) for i in range(1, 18)]\n"
    "  def getScreenDims(s): return 210, 160\n"
    "  def reset_game(s): s.k = 0 if s.k is None else 7\n"
    "  def cloneSystemState(s): return s.k\n"
    "  def restoreSystemState(s, state): s.k = state\n"
    "  def game_over(s): return s.rom == 'short' and s.k >= 50 or s.rom == 'three_lives' and s.k >= 120\n"
    "  def lives(s): return 3 - s.k // 40 if s.rom == 'three_lives' else 0\n"
    "  def act(s, action):\n"
    "    assert not s.game_over()\n"
    "    s.k += 1\n"
    "    return action if s.rom == 'echo' else 2\n"
    "  def getScreenRGB(s, screen): screen[:] = s.k % 256; screen[:, :, 2] //= 2\n"
    "  def getScreenGrayscale(s, screen): screen[:] = s.k % 256\n";

/* False: there is no numpy here. */
static bool has_package(const char *who) {
    setenv("PYTHONPATH", cm_test_folder, 1);
    write_text("ale_py.py", stand_in);
    return has_numpy(who);
}

static void open_game(const char *name, const cm_env_params *params, cm_env *env) {
    must_msg(cm_env_open(env, name, params) == CM_OK, "%s", cm_error_message());
}

static cm_env_params small_pictures(void) {
    cm_env_params params = cm_env_params_default();
    params.picture_size = 8;
    params.picture_gray = true;
    return params;
}

static void open_small(const char *name, cm_env *env) {
    const cm_env_params params = small_pictures();
    open_game(name, &params, env);
}

/* What the newest picture is filled with. */
static int shown(const cm_env *env, const void *state) {
    float *observation = calloc((size_t)env->spec.observation_size, sizeof *observation);
    cm_env_observe(env, state, observation);
    const int last = env->spec.observation_size - 1, k = (int)lrintf(255.0f * observation[last]);
    free(observation);
    return k;
}

static cm_env_outcome step(const cm_env *env, void *state, int action) {
    cm_env_outcome out;
    must_msg(cm_env_step(env, state, action, &out) == CM_OK, "%s", cm_error_message());
    return out;
}

START_TEST(a_decision_shows_the_larger_of_its_last_two_screens) {
    cm_env env;
    int least = 99, most = 0;
    if (!has_package("decisions")) return;
    open_small("atari:Count", &env);
    must(strcmp(env.spec.name, "Count") == 0 && env.spec.actions == 3 && env.spec.max_steps == 3000);
    must(env.spec.reward_low == -1.0 && env.spec.reward_high == 1.0);
    char *state = calloc(1, env.spec.state_size);
    for (uint64_t seed = 0; seed < 60; seed++) {
        cm_env_reset(&env, state, seed);
        const int n = shown(&env, state);
        least = n < least ? n : least, most = n > most ? n : most;
        for (int j = 1; j <= 3; j++) {
            const cm_env_outcome out = step(&env, state, 1);
            must_equal(shown(&env, state), n + 4 * j);
            must(out.reward == 1.0 && !out.terminated && !out.truncated);
        }
    }
    must(least >= 1 && least < 5 && most <= 30 && most > 25);
    free(state);
}
END_TEST

START_TEST(pictures_have_the_colours_and_the_size_that_are_asked_for) {
    cm_env env;
    char name[16];
    cm_env_params params = cm_env_params_default();
    if (!has_package("colours")) return;
    open_game("atari:count", &params, &env);
    must(env.spec.shape[0] == 96 && env.spec.shape[1] == 96 && env.spec.shape[2] % 3 == 0);
    char *state = calloc(1, env.spec.state_size);
    float *observation = calloc((size_t)env.spec.observation_size, sizeof *observation);
    cm_env_reset(&env, state, 3);
    cm_env_observe(&env, state, observation);
    const float *last = observation + env.spec.observation_size - 3;
    must(last[0] > 0.0f && last[0] == last[1] && lrintf(255.0f * last[2]) == lrintf(255.0f * last[0]) / 2);
    cm_env_action_name(&env, 2, name, sizeof name);
    must(strcmp(name, "left") == 0);
    params.full_actions = true;
    params.picture_size = 84;
    open_game("atari:count", &params, &env);
    must(env.spec.actions == 18 && env.spec.shape[0] == 84);
    free(state), free(observation);
}
END_TEST

START_TEST(the_end_cuts_a_decision_short_and_shows_the_picture_before) {
    cm_env env;
    if (!has_package("ends")) return;
    open_small("atari:short", &env);
    must(cm_env_for(&env, CM_ENV_EVALUATES, &env) == CM_OK);
    char *state = calloc(1, env.spec.state_size);
    bool seen[4] = {false};
    for (uint64_t seed = 0; seed < 40; seed++) {
        cm_env_reset(&env, state, seed);
        int k = shown(&env, state);
        cm_env_outcome out = {0};
        for (; !out.terminated; k += 4) {
            out = step(&env, state, 0);
            if (!out.terminated) must(shown(&env, state) == k + 4 && out.reward == 8.0);
        }
        const int before = k - 4, frames = 50 - before;
        must(frames >= 1 && frames <= 4 && out.reward == 2.0 * frames);
        must_equal(shown(&env, state), frames == 4 ? 50 : before);
        seen[frames - 1] = true;
    }
    must(seen[0] && seen[1] && seen[2] && seen[3]);
    free(state);
}
END_TEST

/* Lives are lost after 40 and 80 frames, the game ends after 120. */
START_TEST(a_lost_life_ends_an_episode_of_training_and_the_game_goes_on) {
    cm_env env;
    if (!has_package("lives")) return;
    open_small("atari:ThreeLives", &env);
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    int k = shown(&env, state);
    for (int life = 1; life <= 3; life++) {
        cm_env_outcome out = {0};
        while (!out.terminated) out = step(&env, state, 1);
        must(!out.truncated && out.reward == 1.0);
        for (k += 4; k < 40 * life;) k += 4;
        if (life == 3) break;
        must_equal(shown(&env, state), k);
        cm_env_restart(&env, state);
        must_equal(shown(&env, state), k += 4);
        must_equal(((cm_env_common *)(void *)state)->steps, 0);
    }
    cm_env_restart(&env, state);
    must(shown(&env, state) <= 30);
    free(state);
}
END_TEST

START_TEST(an_evaluation_plays_whole_games_and_counts_points) {
    cm_env env, evaluated, reported;
    if (!has_package("evaluations")) return;
    open_small("atari:three_lives", &env);
    must(cm_env_for(&env, CM_ENV_EVALUATES, &evaluated) == CM_OK && evaluated.spec.max_steps == 3000);
    must(cm_env_for(&env, CM_ENV_REPORTS, &reported) == CM_OK && reported.spec.max_steps == 27000);
    must(isinf(reported.spec.reward_high) && cm_env_is_same(&env, &evaluated));
    char *state = calloc(1, evaluated.spec.state_size);
    cm_env_reset(&evaluated, state, 1);
    const int n = shown(&evaluated, state);
    double total = 0.0;
    while (!cm_env_ended(state)) total += step(&evaluated, state, 1).reward;
    must(total == 2.0 * (120 - n));
    free(state);
}
END_TEST

/* Of the whole game: its lives and what is held between them count, too. */
START_TEST(the_limit_is_one_of_decisions_of_the_game) {
    cm_env env, reported;
    cm_env_params params = small_pictures();
    params.max_steps = 12; /* after which no second life is lost */
    if (!has_package("limits")) return;
    open_game("atari:three_lives", &params, &env);
    must(cm_env_for(&env, CM_ENV_REPORTS, &reported) == CM_OK && reported.spec.max_steps == 12);
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    int decisions = 0;
    cm_env_outcome out = {0};
    while (!out.truncated) {
        out = step(&env, state, 1);
        decisions++;
        if (!out.terminated || out.truncated) continue;
        cm_env_restart(&env, state);
        decisions++;
    }
    must_equal(decisions, 12);
    cm_env_restart(&env, state);
    must(shown(&env, state) <= 30);
    free(state);
}
END_TEST

/* An episode whose game is not there any more, as a copy's, is played again, lost lives and chance included. */
START_TEST(steps_together_are_those_of_states_that_are_played_again) {
    cm_env env;
    cm_env_params params = small_pictures();
    if (!has_package("replays")) return;
    open_game("atari:three_lives", &params, &env);
    compare_with_single_states(&env);
    params.sticky_actions = 0.5;
    open_game("atari:echo", &params, &env);
    compare_with_single_states(&env);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
}
END_TEST

/* The reward of a frame is the number of its action. */
START_TEST(sticky_actions_are_held_on_for_single_frames) {
    enum { DECISIONS = 2000 };
    cm_env env;
    cm_env_params params = small_pictures();
    params.sticky_actions = 0.25;
    if (!has_package("sticky actions")) return;
    open_game("atari:echo", &params, &env);
    must(cm_env_for(&env, CM_ENV_REPORTS, &env) == CM_OK);
    char *state = calloc(1, env.spec.state_size);
    double total = 0.0;
    cm_env_reset(&env, state, 1);
    for (int i = 0; i < DECISIONS; i++) total += step(&env, state, 1 + i % 2).reward; /* action 1, code 1; 2, code 4 */
    const double held = 0.25 + 0.0625 + 0.25 * 0.0625 + 0.0625 * 0.0625;              /* frames of four, on average */
    double ones = 0.0;
    cm_env_reset(&env, state, 1);
    for (int i = 0; i < DECISIONS; i++) {
        const double reward = step(&env, state, 1 + i % 2).reward; /* 4 frames of 1 or of 4, those before held */
        if (i > 0) ones += i % 2 ? (16.0 - reward) / 3.0 : (reward - 4.0) / 3.0;
    }
    must(fabs(ones / (DECISIONS - 1) - held) < 3.0 * 0.75 / sqrt(DECISIONS));
    must(total > 0.0);
    free(state);
}
END_TEST

START_TEST(states_of_a_checkpoint_are_checked) {
    cm_env env;
    if (!has_package("checks")) return;
    open_small("atari:three_lives", &env);
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    while (!cm_env_ended(state)) (void)step(&env, state, 1);
    must_equal(cm_env_check_state(&env, state), CM_OK);
    cm_env_restart(&env, state);
    (void)step(&env, state, 2);
    must_equal(cm_env_check_state(&env, state), CM_OK);
    cm_python_state *s = (cm_python_state *)(void *)((char *)cm_env_rules(state) + env.params.frames.rules_at);
    char *copy = malloc(env.spec.state_size);
    memcpy(copy, state, env.spec.state_size);
    s->screens = 3;
    must_equal(cm_env_check_state(&env, state), CM_ERR_INPUT);
    must(strstr(cm_error_message(), "screens") != NULL);
    memcpy(state, copy, env.spec.state_size);
    s->to_play = -1;
    must_equal(cm_env_check_state(&env, state), CM_ERR_INPUT);
    memcpy(state, copy, env.spec.state_size);
    s->steps = env.spec.max_steps + 1;
    must_equal(cm_env_check_state(&env, state), CM_ERR_INPUT);
    free(copy), free(state);
}
END_TEST

static void expect_refused(const char *name, const char *says) {
    cm_env env;
    must_equal(cm_env_open(&env, name, NULL), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), says) != NULL, "%s", cm_error_message());
}

START_TEST(what_is_missing_is_said_in_one_line) {
    if (!has_package("messages")) return;
    expect_refused("atari:counts", "atari:counts: ale-py has no game counts; near it are count");
    expect_refused("atari:", "atari:: a game of Atari's is written atari:Pong, or atari:ms_pacman");
    expect_refused("atari:Pong-v5", "atari:Pong-v5: a game of Atari's is written atari:Pong, or atari:ms_pacman");
    write_text("ale_py.py", "raise ModuleNotFoundError(\"No module named 'ale_py'\", name='ale_py')\n");
    expect_refused("atari:three", "No module named 'ale_py'");
    expect_refused("atari:three", "; pip install ale-py");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("atari");
    TCase *c = tcase_create("atari");
    tcase_set_timeout(c, 240);
    tcase_add_checked_fixture(c, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(c, a_decision_shows_the_larger_of_its_last_two_screens);
    tcase_add_test(c, pictures_have_the_colours_and_the_size_that_are_asked_for);
    tcase_add_test(c, the_end_cuts_a_decision_short_and_shows_the_picture_before);
    tcase_add_test(c, a_lost_life_ends_an_episode_of_training_and_the_game_goes_on);
    tcase_add_test(c, an_evaluation_plays_whole_games_and_counts_points);
    tcase_add_test(c, the_limit_is_one_of_decisions_of_the_game);
    tcase_add_test(c, steps_together_are_those_of_states_that_are_played_again);
    tcase_add_test(c, sticky_actions_are_held_on_for_single_frames);
    tcase_add_test(c, states_of_a_checkpoint_are_checked);
    tcase_add_test(c, what_is_missing_is_said_in_one_line);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
