/* Self-play and evaluation: what happens to an environment depends on its number, the seed and the step alone. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/evaluate.h"
#include "replay/batch.h"
#include "scene.h"
#include "support/main.h"

static void open_scene(scene *s, const char *environment, const char *limit, const char *threads) {
    char settings[256];
    snprintf(settings, sizeof settings, "%s %s %s num_envs=40 num_simulations=4", environment, limit, threads);
    scene_open(s, settings);
}

static void open_actor_with(scene *s, int steps, int random_move_steps) {
    const cm_actor_config actor = {
        .environments = 40, .steps = steps, .random_move_steps = random_move_steps, .temperature_threshold = 3};
    scene_plays(s, actor, (cm_target_rule){.unroll = 2, .td_steps = 1, .discount = 1.0});
}

static void open_actor(scene *s, int steps) { open_actor_with(s, steps, 1); }

static char *saved(const scene *s) {
    char *bytes = malloc(cm_actor_bytes(s->actor));
    cm_actor_save(s->actor, bytes);
    return bytes;
}

static void expect_equal(const scene *a, const scene *b) {
    char *x = saved(a), *y = saved(b);
    ck_assert_uint_eq(cm_actor_bytes(a->actor), cm_actor_bytes(b->actor));
    ck_assert_mem_eq(x, y, cm_actor_bytes(a->actor));
    free(x);
    free(y);
}

START_TEST(workers_change_no_bit_of_self_play) {
    scene one, three;
    open_scene(&one, "env_name=CartPole-v1", "max_steps=0", "threads=1");
    open_scene(&three, "env_name=CartPole-v1", "max_steps=0", "threads=3");
    open_actor(&one, 7);
    open_actor(&three, 7);
    for (int i = 0; i < 6; i++) scene_act(&one), scene_act(&three);
    expect_equal(&one, &three);
    scene_close(&one);
    scene_close(&three);
}
END_TEST

/* With the rules as the model and sub-trees that are kept between moves. */
START_TEST(workers_change_no_bit_of_self_play_on_true_rules) {
    scene one, three, fresh;
    cm_actor_counts kept, all;
    open_scene(&one, "env_name=tictactoe", "policy=alphazero", "threads=1");
    open_scene(&three, "env_name=tictactoe", "policy=alphazero", "threads=3");
    open_scene(&fresh, "env_name=tictactoe", "policy=alphazero reuse_tree=false", "threads=3");
    open_actor(&one, 7);
    open_actor(&three, 7);
    open_actor(&fresh, 7);
    for (int i = 0; i < 6; i++) scene_act(&one), scene_act(&three), scene_act(&fresh);
    expect_equal(&one, &three);
    cm_actor_count(one.actor, &kept);
    cm_actor_count(fresh.actor, &all);
    ck_assert_int_eq(all.simulations, 4 * 7 * 6 * 40);
    ck_assert_int_lt(kept.simulations, all.simulations * 19 / 20);
    scene_close(&one);
    scene_close(&three);
    scene_close(&fresh);
}
END_TEST

START_TEST(workers_change_no_bit_of_self_play_with_chance) {
    scene one, three;
    cm_actor_counts counts;
    open_scene(&one, "env_name=2048", "policy=stochastic_muzero", "threads=1");
    open_scene(&three, "env_name=2048", "policy=stochastic_muzero", "threads=3");
    open_actor(&one, 5);
    open_actor(&three, 5);
    for (int i = 0; i < 3; i++) scene_act(&one), scene_act(&three);
    expect_equal(&one, &three);
    cm_actor_count(one.actor, &counts);
    ck_assert_int_eq(counts.simulations, 4 * 5 * 3 * 40);
    scene_close(&one);
    scene_close(&three);
}
END_TEST

/* Of many ends at once the search takes the place of the kept trees. */
START_TEST(time_limits_and_kept_trees_do_not_disturb_each_other) {
    scene one, two;
    cm_actor_counts counts;
    open_scene(&one, "env_name=CartPole-v1", "policy=alphazero", "threads=1");
    open_scene(&two, "env_name=CartPole-v1", "policy=alphazero", "threads=2");
    one.session->env.spec.max_steps = two.session->env.spec.max_steps = 15; /* poles fall before and after that */
    open_actor(&one, 7);
    open_actor(&two, 7);
    for (int i = 0; i < 8; i++) scene_act(&one), scene_act(&two);
    expect_equal(&one, &two);
    cm_actor_count(one.actor, &counts);
    ck_assert_int_gt(counts.episodes, 150);
    ck_assert(counts.mean_length > 9.0 && counts.mean_length < 15.0);
    scene_close(&one);
    scene_close(&two);
}
END_TEST

START_TEST(every_truncated_episode_is_counted_and_begins_again) {
    scene s;
    cm_actor_counts counts;
    cm_replay_counts replay;
    open_scene(&s, "env_name=CartPole-v1", "max_steps=5", "threads=2");
    open_actor(&s, 5);
    for (int i = 0; i < 3; i++) scene_act(&s);
    cm_actor_count(s.actor, &counts);
    cm_replay_count(s.replay, &replay);
    ck_assert_int_eq(counts.env_steps, 600);
    ck_assert_int_eq(counts.episodes, 120); /* no pole falls within 5 steps */
    ck_assert_double_eq(counts.mean_return, 5.0);
    ck_assert_double_eq(counts.mean_length, 5.0);
    ck_assert_int_eq(replay.episodes, 120);
    ck_assert_int_ge(counts.simulations, 4 * 720); /* 600 steps and 120 ends */
    scene_close(&s);
}
END_TEST

static int always_first(const cm_env_params *params, const void *rules) {
    (void)params, (void)rules;
    return 0;
}

/* That the random steps before a run need not have met. */
START_TEST(a_player_who_moves_twice_in_a_row_is_refused_where_the_model_is_learnt) {
    static const char *const policies[] = {"policy=muzero", "policy=gumbel_muzero", "policy=alphazero"};
    scene s;
    open_scene(&s, "env_name=tictactoe", policies[_i], "threads=2");
    cm_env_def row = *s.session->env.def;
    row.to_play = always_first;
    s.session->env.def = &row;
    open_actor(&s, 4);
    if (_i == 2) {
        scene_act(&s);
    } else {
        ck_assert_int_eq(cm_actor_run(s.actor, 1.0, 0.0), CM_ERR_INPUT);
        ck_assert_msg(strstr(cm_error_message(), "tictactoe: its to_play gives 0 twice in a row (step 1)"), "%s",
                      cm_error_message());
    }
    scene_close(&s);
}
END_TEST

static void observe_nan(const cm_env_params *params, const void *rules, float *observation) {
    (void)params, (void)rules;
    memset(observation, 0, 4 * sizeof *observation);
    observation[2] = NAN;
}

/* It would get into weights via the replay. */
START_TEST(an_observation_that_is_not_finite_is_named) {
    scene s;
    open_scene(&s, "env_name=CartPole-v1", "policy=muzero", "threads=2");
    cm_env_def row = *s.session->env.def;
    row.observe = observe_nan;
    row.step_lanes = NULL;
    s.session->env.def = &row;
    open_actor(&s, 4);
    ck_assert_int_eq(cm_actor_run(s.actor, 1.0, 0.0), CM_ERR_NOT_FINITE);
    ck_assert(cm_actor_env_failed(s.actor));
    ck_assert_msg(strstr(cm_error_message(), "CartPole-v1: instance 0: its observe sets number 2 of 4 to nan (step 0); "
                                             "bound or replace it in the environment"),
                  "%s", cm_error_message());
    scene_close(&s);
}
END_TEST

static int stones(const float *seen) {
    int count = 0;
    for (int i = 0; i < 9; i++) count += seen[4 * i] + seen[4 * i + 1] > 0.0f;
    return count;
}

/* The position after the eighth move of tictactoe: the stones of the second player, who makes it, lie in plane 0,
 * those of the first in plane 1 of what was seen. */
static void rebuild(const cm_env *env, const float *seen, int action, void *state) {
    cm_env_outcome outcome;
    int next[2] = {0, 0};
    cm_env_reset(env, state, 0);
    for (int ply = 0; ply < 7; ply++) {
        const int plane = ply % 2 == 0;
        while (seen[4 * next[plane] + plane] == 0.0f) next[plane]++;
        ck_assert_int_eq(cm_env_step(env, state, next[plane]++, &outcome), CM_OK);
    }
    ck_assert_int_eq(cm_env_step(env, state, action, &outcome), CM_OK);
}

/* With one cell empty there is one legal move, so noise changes nothing and a greedy search finds the same value. */
START_TEST(truncated_ends_are_searched_among_legal_moves) {
    scene s;
    cm_batch *batch;
    cm_batch_config config = {.rows = 300, .seed = 1};
    int ends = 0;
    open_scene(&s, "env_name=tictactoe", "zero_init_heads=false", "evaluation_simulations=4");
    s.session->env.spec.max_steps = 8;
    open_actor(&s, 8);
    for (int i = 0; i < 3; i++) scene_act(&s);
    s.session->env.spec.max_steps = 9;
    ck_assert_msg(cm_batch_create(s.replay, &config, &batch) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_replay_sample(s.replay, 0, 0.0, batch), CM_OK);
    void *state = malloc(s.session->env.spec.state_size);
    for (int row = 0; row < config.rows; row++) {
        cm_decision decision = {0};
        const float *seen = batch->observation + (size_t)row * 36;
        if (stones(seen) < 7 || batch->value_coefficient[3 * row] == 0.0f) continue; /* no end, won, a random move */
        rebuild(&s.session->env, seen, batch->action[2 * row], state);
        ck_assert_int_eq(cm_agent_decide(s.agent, &s.session->env, state, false, &decision), CM_OK);
        ck_assert_double_eq_tol((double)batch->value_bootstrap[3 * row], (double)decision.value, 1e-5);
        ends++;
    }
    ck_assert_int_gt(ends, 5);
    free(state);
    cm_batch_destroy(batch);
    scene_close(&s);
}
END_TEST

/* Share of the sampled steps whose action is that of the step before. */
static double repeated_actions(int random_move_steps) {
    scene s;
    cm_batch *batch;
    cm_batch_config config = {.rows = 1000, .seed = 1};
    int same = 0;
    open_scene(&s, "env_name=Acrobot-v1", "max_steps=0", "threads=1");
    open_actor_with(&s, 50, random_move_steps);
    scene_act(&s), scene_act(&s);
    ck_assert_msg(cm_batch_create(s.replay, &config, &batch) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_replay_sample(s.replay, 0, 0.0, batch), CM_OK);
    for (int row = 0; row < 1000; row++) same += batch->action[2 * row] == batch->action[2 * row + 1];
    cm_batch_destroy(batch);
    scene_close(&s);
    return same / 1000.0;
}

/* A tenth of the steps begins one: if it lasts 16, four of five steps belong to one, and then nine of ten repeat. */
START_TEST(random_moves_last_as_long_as_they_are_told_to) {
    double single = repeated_actions(1), lasting = repeated_actions(16);
    ck_assert_msg(single < 0.5 && lasting > 0.65, "%g of the actions repeat, %g of lasting ones", single, lasting);
}
END_TEST

/* One of the steps whose return reaches none that was explored has a bootstrap. */
START_TEST(first_steps_are_drawn_from_their_streams_and_their_returns_count) {
    enum { FIRST = 7, STEPS = 10, ROWS = 40 * (2 * STEPS - 1), ACTIONS = 3 };
    const cm_actor_config actor = {
        .environments = 40, .steps = STEPS, .random_move_steps = 1, .random_first_steps = FIRST};
    const cm_batch_config config = {.rows = ROWS, .seed = 1};
    scene s;
    cm_batch *batch;
    int first = 0, equal = 0, late = 0;
    open_scene(&s, "env_name=Acrobot-v1", "max_steps=0", "threads=2");
    scene_plays(&s, actor, (cm_target_rule){.unroll = 1, .td_steps = 1, .discount = 1.0});
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(cm_actor_run(s.actor, 1.0, 0.0), CM_OK);
        ck_assert_int_eq(cm_replay_commit(s.replay), CM_OK);
    }
    ck_assert_msg(cm_batch_create(s.replay, &config, &batch) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_replay_sample(s.replay, 0, 0.0, batch), CM_OK);
    for (int row = 0; row < ROWS; row++) {
        const uint32_t step = batch->index[row] / 40, environment = batch->index[row] % 40;
        cm_rng rng = cm_rng_init(cm_key_make(9, CM_RNG_EXPLORE, environment), step);
        const bool is_drawn = batch->action[row] == (int32_t)cm_rng_below(&rng, ACTIONS);
        ck_assert_float_eq(batch->value_coefficient[2 * row], 1.0f);
        if (step < FIRST) ck_assert(is_drawn), first++;
        if (step >= FIRST) equal += is_drawn, late++;
    }
    ck_assert_int_eq(first, 40 * FIRST);
    ck_assert_int_lt(equal, late * 2 / 3);
    cm_batch_destroy(batch);
    scene_close(&s);
}
END_TEST

START_TEST(first_steps_are_legal_and_whatever_the_searches_say) {
    scene few, many;
    const cm_actor_config actor = {.environments = 40, .steps = 6, .random_move_steps = 1, .random_first_steps = 12};
    open_scene(&few, "env_name=tictactoe", "policy=gumbel_muzero", "threads=1");
    open_scene(&many, "env_name=tictactoe", "policy=gumbel_muzero", "zero_init_heads=false");
    scene_plays(&few, actor, (cm_target_rule){.unroll = 1, .td_steps = 1, .discount = 1.0});
    scene_plays(&many, actor, (cm_target_rule){.unroll = 1, .td_steps = 1, .discount = 1.0});
    for (int i = 0; i < 2; i++) scene_act(&few), scene_act(&many);
    expect_equal(&few, &many);
    scene_act(&few), scene_act(&many);
    char *x = saved(&few), *y = saved(&many);
    ck_assert(memcmp(x, y, cm_actor_bytes(few.actor)) != 0);
    free(x);
    free(y);
    scene_close(&few);
    scene_close(&many);
}
END_TEST

START_TEST(loaded_actor_goes_on_as_the_saved_one) {
    static const char *const settings[] = {"policy=muzero", "policy=alphazero"};
    scene a, b;
    open_scene(&a, "env_name=tictactoe", settings[_i], "threads=2");
    open_scene(&b, "env_name=tictactoe", settings[_i], "threads=1");
    open_actor(&a, 4);
    open_actor(&b, 4);
    scene_act(&a), scene_act(&a);
    char *bytes = saved(&a);
    scene_act(&b); /* somewhere else */
    cm_file_bytes whole = {bytes, cm_actor_bytes(b.actor)}, short_of_one = {bytes, whole.size - 1};
    ck_assert_msg(cm_actor_load(b.actor, 40, &whole, 1) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_actor_load(b.actor, 40, &short_of_one, 1), CM_ERR_INPUT);
    ck_assert_int_eq(cm_actor_load(b.actor, 39, &whole, 1), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "state of acting: has more environments than the 39 of the run");
    ck_assert_int_eq(cm_replay_clear(a.replay), CM_OK);
    ck_assert_int_eq(cm_replay_clear(b.replay), CM_OK);
    scene_act(&a), scene_act(&b);
    expect_equal(&a, &b);
    free(bytes);
    scene_close(&a);
    scene_close(&b);
}
END_TEST

/* What stands before the environments: a head of seven words, and of each the return and length of its episode. */
START_TEST(counters_and_open_episodes_of_a_checkpoint_are_checked) {
    enum { ENVIRONMENTS = 8, BYTES = 16, STEP = 24, EPISODES = 32, RECENT = 40, NEXT = 48, TOTAL = 56, LENGTH = 64 };
    static const struct {
        int at;
        int64_t value;
        const char *says;
    } wrong[] = {{ENVIRONMENTS, 0, "that are none of"},
                 {ENVIRONMENTS, 65536, "that are none of"},
                 {ENVIRONMENTS, -1, "that are none of"},
                 {BYTES, 0, "that are none of"},
                 {STEP, INT64_MAX, "that are none of"},
                 {EPISODES, INT64_MAX, "that are none of"},
                 {EPISODES, -1, "that are none of"},
                 {RECENT, 33, "that are none of"},
                 {NEXT, 32, "that are none of"},
                 {NEXT, -1, "that are none of"},
                 {TOTAL, INT64_MAX, "the return of an open episode is"},
                 {LENGTH, INT64_MAX, "the length of an open episode is 9223372036854775807; must be"},
                 {LENGTH, -1, "the length of an open episode is -1; must be"},
                 {TOTAL + 16 * 40, INT64_MAX, "the return of a recent episode is"},
                 {TOTAL + 16 * 40 + 8 * CM_RECENT_EPISODES, -1, "the length of a recent episode is"}};
    scene s;
    open_scene(&s, "env_name=tictactoe", "policy=muzero", "threads=1");
    open_actor(&s, 4);
    scene_act(&s);
    char *bytes = saved(&s);
    const cm_file_bytes whole = {bytes, cm_actor_bytes(s.actor)};
    ck_assert_msg(cm_actor_load(s.actor, 40, &whole, 1) == CM_OK, "%s", cm_error_message());
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t right;
        memcpy(&right, bytes + wrong[i].at, sizeof right);
        memcpy(bytes + wrong[i].at, &wrong[i].value, sizeof right);
        ck_assert_int_eq(cm_actor_load(s.actor, 40, &whole, 1), CM_ERR_INPUT);
        ck_assert_msg(strstr(cm_error_message(), wrong[i].says) != NULL, "%s", cm_error_message());
        memcpy(bytes + wrong[i].at, &right, sizeof right);
    }
    free(bytes);
    scene_close(&s);
}
END_TEST

/* An actor of `count` environments from number `first` on, on the scene's replay of 40. */
static cm_actor *share_of(const scene *s, int first, int count) {
    cm_actor *actor;
    cm_actor_config config = {.agent = s->agent,
                              .env = &s->session->env,
                              .replay = s->replay,
                              .pool = s->session->pool,
                              .environments = count,
                              .first_environment = (uint64_t)first,
                              .steps = 4,
                              .random_move_steps = 1,
                              .temperature_threshold = 3,
                              .seed = 9};
    ck_assert_msg(cm_actor_create(&config, &actor) == CM_OK, "%s", cm_error_message());
    return actor;
}

START_TEST(an_actors_environments_go_on_in_two_others_and_come_back) {
    scene s;
    cm_actor_counts counts[3];
    cm_file_bytes half[2];
    open_scene(&s, _i == 0 ? "env_name=tictactoe" : "env_name=CartPole-v1", "max_steps=0", "threads=2");
    open_actor(&s, 4);
    for (int i = 0; i < 3 + 10 * _i; i++) scene_act(&s);
    char *bytes = saved(&s);
    const cm_file_bytes whole = {bytes, cm_actor_bytes(s.actor)};
    cm_actor_count(s.actor, &counts[2]);
    ck_assert_int_gt(counts[2].episodes, 0);
    for (int i = 0; i < 2; i++) {
        cm_actor *actor = share_of(&s, 20 * i, 20);
        ck_assert_msg(cm_actor_load(actor, 40, &whole, 1) == CM_OK, "%s", cm_error_message());
        half[i] = (cm_file_bytes){malloc(cm_actor_bytes(actor)), cm_actor_bytes(actor)};
        cm_actor_save(actor, half[i].data);
        cm_actor_count(actor, &counts[i]);
        cm_actor_destroy(actor);
    }
    ck_assert_int_eq(counts[0].env_steps + counts[1].env_steps, counts[2].env_steps);
    ck_assert_int_eq(counts[0].episodes, counts[2].episodes);
    ck_assert_double_eq_tol(counts[0].mean_return, counts[2].mean_return, 1e-12);
    ck_assert_int_eq(counts[1].episodes, 0);
    ck_assert_int_eq(counts[1].recent, 0);
    cm_actor *back = share_of(&s, 0, 40);
    ck_assert_msg(cm_actor_load(back, 40, half, 2) == CM_OK, "%s", cm_error_message());
    cm_actor_count(back, &counts[0]);
    ck_assert_int_eq(counts[0].episodes, counts[2].episodes);
    char *again = malloc(whole.size);
    cm_actor_save(back, again);
    cm_vector_env *vector; /* its bytes come last; before them the recent episodes, and the open ones: 16 bytes each */
    ck_assert_int_eq(cm_vector_env_create(&s.session->env, 40, 9, 0, &vector), CM_OK);
    const size_t last = whole.size - cm_vector_env_bytes(vector);
    const size_t open = last - 2 * CM_RECENT_EPISODES * sizeof(double) - 40 * 16;
    cm_vector_env_destroy(vector);
    ck_assert_mem_eq(bytes + last, again + last, whole.size - last);
    ck_assert_mem_eq(bytes + open, again + open, 40 * 16);
    ck_assert_int_eq(cm_actor_load(back, 40, half, 1), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "has 20 environments, not number 0 and 39 more"));
    cm_actor_destroy(back);
    free(half[0].data), free(half[1].data), free(again), free(bytes);
    scene_close(&s);
}
END_TEST

static void evaluate(scene *s, int capacity, int episodes, uint64_t seed, double *returns, cm_evaluation *out) {
    cm_evaluator *evaluator;
    const cm_evaluator_config config = {
        .agent = s->agent, .env = &s->session->env, .pool = s->session->pool, .episodes = capacity};
    ck_assert_int_eq(cm_evaluator_create(&config, &evaluator), CM_OK);
    ck_assert_msg(cm_evaluator_run(evaluator, episodes, seed, returns, out) == CM_OK, "%s", cm_error_message());
    cm_evaluator_destroy(evaluator);
}

START_TEST(episodes_of_an_evaluation_depend_on_their_seed_alone) {
    scene s;
    double many[70], few[3];
    cm_evaluation e;
    open_scene(&s, "env_name=CartPole-v1", "max_steps=0", "threads=2");
    evaluate(&s, 70, 70, 1000, many, &e);
    ck_assert_int_eq(e.episodes, 70);
    evaluate(&s, 3, 3, 1050, few, &e);
    for (int i = 0; i < 3; i++) ck_assert_double_eq(few[i], many[50 + i]);
    scene_close(&s);
}
END_TEST

START_TEST(a_search_on_true_rules_beats_a_random_player_without_learning) {
    scene s;
    double returns[50];
    cm_evaluation e;
    open_scene(&s, "env_name=tictactoe", "policy=alphazero", "threads=2");
    cm_agent_destroy(s.agent);
    s.session->configuration.mcts.num_simulations = 100;
    ck_assert_int_eq(cm_session_agent(s.session, &s.agent), CM_OK); /* weights 0: uniform priors, values 0 */
    evaluate(&s, 50, 50, 1, returns, &e);
    ck_assert_int_ge(e.wins, 40);
    ck_assert_int_le(e.losses, 3);
    scene_close(&s);
}
END_TEST

START_TEST(games_of_two_are_won_drawn_or_lost) {
    scene s;
    double returns[50];
    cm_evaluation e;
    open_scene(&s, "env_name=tictactoe", "max_steps=0", "threads=2");
    evaluate(&s, 50, 50, 1, returns, &e);
    ck_assert_int_eq(e.wins + e.draws + e.losses, 50);
    ck_assert_double_eq_tol(e.mean, (e.wins - e.losses) / 50.0, 1e-12);
    scene_close(&s);
}
END_TEST

START_TEST(summary_has_sample_deviation_and_interval) {
    const double returns[4] = {1, 2, 3, 6};
    cm_evaluation e;
    cm_evaluation_summarise(returns, 4, &e);
    ck_assert_double_eq(e.mean, 3.0);
    ck_assert_double_eq_tol(e.std, sqrt(14.0 / 3.0), 1e-12);
    ck_assert_double_eq_tol(e.high - e.mean, 1.96 * e.std / 2.0, 1e-12);
    ck_assert_double_eq(e.min, 1.0);
    ck_assert_double_eq(e.max, 6.0);
}
END_TEST

START_TEST(intervals_stay_within_what_an_episode_can_bring) {
    static const struct {
        int players, plies;
        double reward[2], returns[4], bounds[2]; /* bounds: NAN: the interval is not clipped there */
    } cases[] = {{1, 500, {1, 1}, {500, 500, 500, 480}, {(double)NAN, 500}},
                 {1, 200, {-1, -1}, {-200, -200, -200, -150}, {-200, (double)NAN}},
                 {1, 9, {-1, 1}, {1, 1, 1, -1}, {(double)NAN, 1}}, /* rewarded at its end: a step's bounds */
                 {1, 9, {-1, 1}, {2, 2, 2, 1}, {(double)NAN, (double)NAN}},
                 {2, 9, {0, 1}, {-1, -1, -1, 0}, {-1, (double)NAN}}, /* a game: the other one's reward is a loss */
                 {1, 0, {0, 1}, {7, 7, 7, 3}, {(double)NAN, (double)NAN}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_env_spec spec = {.players = cases[i].players, .max_plies = cases[i].plies};
        spec.reward_low = cases[i].reward[0], spec.reward_high = cases[i].reward[1];
        cm_evaluation e, clipped;
        cm_evaluation_summarise(cases[i].returns, 4, &e);
        clipped = e;
        cm_evaluation_clip(&spec, &clipped);
        ck_assert_double_eq(clipped.low, isfinite(cases[i].bounds[0]) ? cases[i].bounds[0] : e.low);
        ck_assert_double_eq(clipped.high, isfinite(cases[i].bounds[1]) ? cases[i].bounds[1] : e.high);
        if (isfinite(cases[i].bounds[0])) ck_assert_double_lt(e.low, clipped.low);
        if (isfinite(cases[i].bounds[1])) ck_assert_double_gt(e.high, clipped.high);
    }
}
END_TEST

START_TEST(stairs_halve_the_temperature_at_half_and_three_quarters) {
    cm_agent_options options = {.temperature = 2.0, .temperature_schedule = CM_TEMPERATURE_STAIRS};
    ck_assert_double_eq(cm_agent_temperature(&options, 0.49), 2.0);
    ck_assert_double_eq(cm_agent_temperature(&options, 0.5), 1.0);
    ck_assert_double_eq(cm_agent_temperature(&options, 0.75), 0.5);
    options.temperature_schedule = CM_TEMPERATURE_CONSTANT;
    ck_assert_double_eq(cm_agent_temperature(&options, 1.0), 2.0);
}
END_TEST

START_TEST(random_moves_become_rarer_until_their_end) {
    cm_agent_options options = {.random_move_probability = 0.2, .random_move_end = 0.5};
    ck_assert_double_eq_tol(cm_agent_random_moves(&options, 0.0), 0.2, 1e-12);
    ck_assert_double_eq_tol(cm_agent_random_moves(&options, 0.25), 0.1, 1e-12);
    ck_assert_double_eq(cm_agent_random_moves(&options, 0.75), 0.0);
    options.random_move_end = 0.0;
    ck_assert_double_eq(cm_agent_random_moves(&options, 1.0), 0.2);
}
END_TEST

START_TEST(shards_have_32_rows_64_from_128_environments_on_and_all_on_a_device) {
    ck_assert_int_eq(cm_agent_shard_rows(1, false), 1);
    ck_assert_int_eq(cm_agent_shard_rows(40, false), 32);
    ck_assert_int_eq(cm_agent_shard_rows(127, false), 32);
    ck_assert_int_eq(cm_agent_shard_rows(128, false), 64);
    ck_assert_int_eq(cm_agent_shard_rows(1000, true), 1000);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/acting");
    TCase *tests = tcase_create("acting");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, workers_change_no_bit_of_self_play);
    tcase_add_test(tests, every_truncated_episode_is_counted_and_begins_again);
    tcase_add_loop_test(tests, a_player_who_moves_twice_in_a_row_is_refused_where_the_model_is_learnt, 0, 3);
    tcase_add_test(tests, an_observation_that_is_not_finite_is_named);
    tcase_add_test(tests, truncated_ends_are_searched_among_legal_moves);
    tcase_add_test(tests, random_moves_last_as_long_as_they_are_told_to);
    tcase_add_test(tests, workers_change_no_bit_of_self_play_on_true_rules);
    tcase_add_test(tests, workers_change_no_bit_of_self_play_with_chance);
    tcase_add_test(tests, time_limits_and_kept_trees_do_not_disturb_each_other);
    tcase_add_test(tests, first_steps_are_drawn_from_their_streams_and_their_returns_count);
    tcase_add_test(tests, first_steps_are_legal_and_whatever_the_searches_say);
    tcase_add_loop_test(tests, loaded_actor_goes_on_as_the_saved_one, 0, 2);
    tcase_add_test(tests, counters_and_open_episodes_of_a_checkpoint_are_checked);
    tcase_add_loop_test(tests, an_actors_environments_go_on_in_two_others_and_come_back, 0, 2);
    tcase_add_test(tests, episodes_of_an_evaluation_depend_on_their_seed_alone);
    tcase_add_test(tests, a_search_on_true_rules_beats_a_random_player_without_learning);
    tcase_add_test(tests, games_of_two_are_won_drawn_or_lost);
    tcase_add_test(tests, summary_has_sample_deviation_and_interval);
    tcase_add_test(tests, intervals_stay_within_what_an_episode_can_bring);
    tcase_add_test(tests, random_moves_become_rarer_until_their_end);
    tcase_add_test(tests, stairs_halve_the_temperature_at_half_and_three_quarters);
    tcase_add_test(tests, shards_have_32_rows_64_from_128_environments_on_and_all_on_a_device);
    return cm_test_main(suite);
}
