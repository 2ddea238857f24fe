/* Positions of a checkpoint's memory: those that were played, with the actions that followed them. */
#include "run/memory_positions.h"

#include <check.h>
#include <string.h>

#include "run/learner.h"
#include "run/segment_files.h"
#include "support/folder.h"
#include "support/main.h"

#define CHECK_OK(expression) ck_assert_msg((expression) == CM_OK, "%s: %s", #expression, cm_error_message())

enum { EPISODES = 8, STEPS = 40, ALL = EPISODES * STEPS };

static cm_configuration configuration;
static cm_config *config;
static cm_session *session;

static void open_session(const char *setting) {
    const char *const settings[] = {"threads=1", setting};
    CHECK_OK(cm_configuration_load(NULL, settings, 2, &configuration, &config));
    CHECK_OK(cm_session_open(&configuration, NULL, &session));
}

static void close_session(void) {
    cm_session_close(session);
    cm_config_destroy(config);
}

/* What was done after step t of an episode. */
static int32_t action_after(int episode, int t) { return (episode * 7 + t * t / 3) % 2; }

static void play(cm_replay *replay) {
    const float policy[2] = {0.5f, 0.5f};
    for (int e = 0; e < EPISODES; e++) {
        for (int t = 0; t < STEPS; t++) {
            const float observation[4] = {(float)e, (float)t, 0.0f, -1.0f};
            const cm_replay_step step = {.observation = observation, .policy = policy, .action = action_after(e, t)};
            CHECK_OK(cm_replay_append(replay, 0, &step));
            CHECK_OK(cm_replay_commit(replay));
        }
        const float last[4] = {(float)e, (float)STEPS, 0.0f, -1.0f};
        const cm_replay_end end = {.observation = last, .terminated = true};
        CHECK_OK(cm_replay_finish(replay, 0, &end));
        CHECK_OK(cm_replay_commit(replay));
    }
}

static cm_status save(void *context, cm_checkpoint_writer *writer) {
    cm_segment_files files = {.ranks = 1};
    return cm_segment_files_save(&files, context, writer);
}

/* A checkpoint with those episodes, or none. */
static void write_checkpoint(bool with_episodes) {
    cm_replay_config of = cm_run_learner_replay_config(session);
    cm_replay *replay = NULL;
    cm_checkpoint_store *store = NULL;
    of.symmetries = 1;
    CHECK_OK(cm_replay_create(&of, &replay));
    if (with_episodes) play(replay);
    const cm_checkpoint_part part = {.name = "the memory", .context = replay, .save = save};
    CHECK_OK(cm_checkpoint_store_create(cm_test_folder, 2, NULL, &store));
    CHECK_OK(cm_checkpoint_save(store, with_episodes, &part, 1));
    cm_checkpoint_store_destroy(store);
    cm_replay_destroy(replay);
}

static cm_positions draw(int64_t checkpoint, int count) {
    cm_positions p;
    CHECK_OK(cm_memory_positions_draw(cm_test_folder, checkpoint, session, count, 3, &p));
    return p;
}

static void expect_played(const cm_positions *p, int batch, int i) {
    const float *observation = p->observations + (size_t)((batch * p->rows + i) * 4);
    const int episode = (int)observation[0], t = (int)observation[1];
    ck_assert(episode >= 0 && episode < EPISODES && t >= 0 && t < STEPS && observation[3] == -1.0f);
    for (int k = 0; k < p->steps; k++) {
        const int32_t action = p->actions[(batch * p->steps + k) * p->rows + i];
        if (t + k < STEPS) ck_assert_int_eq(action, action_after(episode, t + k));
        ck_assert(action == 0 || action == 1);
    }
}

START_TEST(positions_have_the_actions_that_followed) {
    cm_test_folder_make();
    open_session("env_name=CartPole-v1");
    write_checkpoint(true);
    cm_positions p = draw(1, 256);
    ck_assert_int_eq(p.rows, 64);
    ck_assert_int_eq(p.batches, 4);
    ck_assert_int_eq(p.steps, CM_ROLLOUT_STEPS);
    bool has_met[EPISODES] = {false};
    for (int batch = 0; batch < p.batches; batch++)
        for (int i = 0; i < p.rows; i++) {
            expect_played(&p, batch, i);
            has_met[(int)p.observations[(batch * p.rows + i) * 4]] = true;
        }
    for (int e = 0; e < EPISODES; e++) ck_assert_msg(has_met[e], "nothing of episode %d", e);
    cm_positions_free(&p);
    close_session();
    cm_test_folder_remove();
}
END_TEST

START_TEST(a_small_memory_gives_fewer_and_a_smaller_one_none) {
    cm_test_folder_make();
    open_session("env_name=CartPole-v1");
    write_checkpoint(false);
    write_checkpoint(true);
    cm_positions some = draw(1, 4 * ALL), none = draw(1, 4 * ALL + 4), empty = draw(0, 1);
    ck_assert_int_eq(some.batches, ALL / 64);
    ck_assert_int_eq(none.batches, 0);
    ck_assert_int_eq(empty.batches, 0);
    cm_positions_free(&some);
    close_session();
    cm_test_folder_remove();
}
END_TEST

START_TEST(a_memory_of_another_task_is_refused) {
    cm_positions p;
    cm_test_folder_make();
    open_session("env_name=CartPole-v1");
    write_checkpoint(true);
    close_session();
    open_session("env_name=catch");
    ck_assert_int_eq(cm_memory_positions_draw(cm_test_folder, 1, session, 64, 3, &p), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "it is of another task"));
    cm_positions_free(&p);
    close_session();
    cm_test_folder_remove();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/memory_positions");
    TCase *tests = tcase_create("memory_positions");
    tcase_add_test(tests, positions_have_the_actions_that_followed);
    tcase_add_test(tests, a_small_memory_gives_fewer_and_a_smaller_one_none);
    tcase_add_test(tests, a_memory_of_another_task_is_refused);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
