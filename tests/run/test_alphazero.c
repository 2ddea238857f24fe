/* What the recipe configs/tictactoe_alphazero.json learns: to lose no line of play. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/walk.h"
#include "core/file.h"
#include "core/log.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "run/weights.h"

#define CONFIG CM_TEST_CASES "/../../configs/tictactoe_alphazero.json"

static char folder[64], directory[80];

static bool hush(void *context, cm_log_level level, const char *line) {
    (void)context, (void)level, (void)line;
    return true;
}

static void train(const char *seed) {
    const char *const settings[] = {seed, "threads=2", "final_evaluation_episodes=0", "checkpoint_updates=0"};
    cm_configuration configuration;
    cm_config *config;
    cm_run *run;
    cm_run_result result;
    cm_progress *progress;
    cm_progress_style style = {.file = 2, .quiet = true};
    strcpy(folder, "/tmp/cumind-perfect-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(directory, sizeof directory, "%s/run", folder);
    ck_assert_msg(cm_configuration_load(CONFIG, settings, 4, &configuration, &config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_int_eq(cm_progress_create(&style, &progress), CM_OK);
    cm_run_request request = {.config = config,
                              .configuration = &configuration,
                              .directory = directory,
                              .checkpoint = CM_CHECKPOINT_LATEST,
                              .progress = progress};
    ck_assert_msg(cm_run_open(&request, &run) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_run_train(run, &result) == CM_OK, "%s", cm_error_message());
    cm_run_close(run);
    cm_progress_destroy(progress);
    cm_config_destroy(config);
}

START_TEST(no_line_of_tictactoe_is_lost_after_40_320_moves) {
    static const char *const seeds[] = {"seed=42", "seed=43"};
    static const char *const simulations[] = {"evaluation_simulations=25"};
    cm_configuration configuration;
    cm_config *config;
    cm_session *session;
    cm_agent *agent;
    cm_player *player;
    cm_games games;
    cm_score score;
    train(seeds[_i]);
    cm_log_set_hook(hush, NULL); /* what a run writes down itself is no news */
    ck_assert_msg(cm_run_configuration(directory, simulations, 1, &configuration, &config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_int_eq(cm_session_open(&configuration, &session), CM_OK);
    ck_assert_int_eq(cm_session_agent(session, &agent), CM_OK);
    ck_assert_int_eq(cm_agent_get_config(agent)->evaluation.num_simulations, 25);
    ck_assert_int_eq(cm_run_load_agent(directory, CM_CHECKPOINT_LATEST, session, agent, NULL), CM_OK);
    cm_match_shape shape = cm_walk_shape();
    ck_assert_int_eq(cm_player_agent(agent, &session->env, &shape, &player), CM_OK);
    ck_assert_msg(cm_walk_run(&session->env, player, &games) == CM_OK, "%s", cm_error_message());
    cm_games_score(&games, &score);
    ck_assert_int_gt(games.count, 300);
    ck_assert_msg(score.all.losses == 0, "%d of %d lines are lost", score.all.losses, games.count);
    cm_games_free(&games);
    cm_player_destroy(player);
    cm_agent_destroy(agent);
    cm_session_close(session);
    cm_config_destroy(config);
    ck_assert_int_eq(cm_directory_remove(folder), CM_OK);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/alphazero");
    TCase *t = tcase_create("alphazero");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, no_line_of_tictactoe_is_lost_after_40_320_moves, 0, 2);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
