/* All that searches, asked to stop within an operation: it ends before its next one, however many searches are left. */
#include <stdio.h>

#include "agent/reanalyse.h"
#include "agent/scene.h"
#include "arena/analyse.h"
#include "arena/evaluate.h"
#include "support/counted.h"
#include "support/main.h"

enum { ENVIRONMENTS = 6, STEPS = 24, ROWS = 8, K = 3, EPISODES = 5 };

static cm_status act(scene *s) { return cm_actor_run(s->actor, 1.0, 0.0); }

static cm_status evaluate(scene *s) {
    const cm_evaluator_config config = {.agent = s->agent,
                                        .env = &s->session->env,
                                        .pool = s->session->pool,
                                        .episodes = EPISODES,
                                        .stop = &counted.stop};
    cm_evaluator *evaluator;
    cm_evaluation found;
    ck_assert_int_eq(cm_evaluator_create(&config, &evaluator), CM_OK);
    const cm_status status = cm_evaluator_run(evaluator, EPISODES, 1, NULL, &found);
    cm_evaluator_destroy(evaluator);
    return status;
}

static cm_status reanalyse(scene *s) {
    const cm_batch_config drawn = {.rows = ROWS, .consistency = true, .seed = 7};
    const cm_reanalyser_config config = {.agent = s->agent,
                                         .ratio = 1.0,
                                         .whole = ROWS,
                                         .unroll = K,
                                         .batch = drawn,
                                         .rows_on_device = ROWS,
                                         .threads = 1,
                                         .stop = &counted.stop};
    cm_reanalyser *reanalyser;
    cm_batch *batch;
    ck_assert_int_eq(cm_reanalyser_create(&config, &reanalyser), CM_OK);
    ck_assert_int_eq(cm_batch_create(s->replay, &drawn, &batch), CM_OK);
    ck_assert_int_eq(cm_replay_sample(s->replay, 3, 0.0, batch), CM_OK);
    const cm_status status = cm_reanalyser_run(reanalyser, batch);
    cm_batch_destroy(batch);
    cm_reanalyser_destroy(reanalyser);
    return status;
}

static cm_status (*const kinds[])(scene *s) = {act, evaluate, reanalyse};
enum { KINDS = sizeof kinds / sizeof *kinds };

START_TEST(what_searches_ends_before_its_next_operation) {
    static const int moments[] = {1, 2, 9, 40};
    scene s;
    scene_open(&s, "env_name=connect4 num_simulations=8 threads=1");
    const cm_actor_config actor = {.environments = ENVIRONMENTS, .steps = STEPS, .stop = &counted.stop};
    scene_plays(&s, actor, (cm_target_rule){.unroll = K, .td_steps = 2, .discount = 1.0});
    counted_begin(s.session->backend);
    counted_restart(0);
    scene_act(&s);
    ck_assert_int_eq(kinds[_i](&s), CM_OK);
    cm_replay_undo_append(s.replay);
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        counted_restart(moments[i]);
        ck_assert_int_eq(kinds[_i](&s), CM_ERR_INTERRUPTED);
        ck_assert_int_eq(counted.made, moments[i]);
        cm_replay_undo_append(s.replay);
    }
    scene_close(&s);
}
END_TEST

/* Of the start of connect4, by a search of so many simulations. */
static void expect_answer_of(int simulations, const cm_analysis *found) {
    scene s;
    cm_analyser *analyser;
    char settings[128];
    snprintf(settings, sizeof settings,
             "env_name=connect4 policy=muzero num_simulations=%d evaluation_simulations=0 threads=1", simulations);
    scene_open(&s, settings);
    ck_assert_int_eq(cm_analyser_create(s.agent, &s.session->env, s.session->pool, 1, &analyser), CM_OK);
    cm_env_reset(&s.session->env, cm_analyser_state(analyser, 0), 0);
    ck_assert_int_eq(cm_analyser_run(analyser, 1), CM_OK);
    const cm_analysis want = cm_analyser_get(analyser, 0);
    ck_assert_mem_eq(found->visits, want.visits, 7 * sizeof *want.visits);
    ck_assert_mem_eq(found->q, want.q, 7 * sizeof *want.q);
    ck_assert_float_eq(found->value, want.value);
    ck_assert_int_eq(found->action, want.action);
    cm_analyser_destroy(analyser);
    scene_close(&s);
}

/* A search with PUCT does not look at how many simulations are still to come. */
START_TEST(answers_that_are_broken_off_are_those_of_fewer_simulations) {
    enum { MOST = 8, POSITIONS = 3, LATE = 1000 };
    scene s;
    cm_analyser *analyser;
    int before = 0;
    scene_open(&s, "env_name=connect4 policy=muzero num_simulations=8 evaluation_simulations=0 threads=1");
    ck_assert_int_eq(cm_analyser_create(s.agent, &s.session->env, s.session->pool, POSITIONS, &analyser), CM_OK);
    for (int i = 0; i < POSITIONS; i++) cm_env_reset(&s.session->env, cm_analyser_state(analyser, i), 0);
    cm_analyser_heed(analyser, &counted.stop);
    counted_begin(s.session->backend);
    for (int moment = 1; moment < LATE && before < MOST; moment++) {
        int sum = 0;
        counted_restart(moment);
        const cm_status status = cm_analyser_run(analyser, POSITIONS);
        const cm_analysis found = cm_analyser_get(analyser, 1);
        for (int a = 0; a < s.session->env.spec.actions; a++) sum += found.visits[a];
        ck_assert_int_eq(status, sum < MOST ? CM_ERR_INTERRUPTED : CM_OK);
        ck_assert(sum == before || sum == before + 1);
        ck_assert_int_eq(found.action == CM_NO_ACTION, sum == 0);
        if (sum > before) expect_answer_of(sum, &found);
        before = sum;
    }
    ck_assert_int_eq(before, MOST);
    cm_analyser_destroy(analyser);
    scene_close(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/broken_off");
    TCase *t = tcase_create("stops");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, what_searches_ends_before_its_next_operation, 0, KINDS);
    tcase_add_test(t, answers_that_are_broken_off_are_those_of_fewer_simulations);
    suite_add_tcase(suite, t);
    return cm_test_main(suite);
}
