/* Agents that come with the program, as a user meets them. */
#include <signal.h>
#include <sys/stat.h>

#include "runs.h"

START_TEST(the_list_has_every_agent_with_its_command) {
    expect_ok("zoo");
    ck_assert_ptr_nonnull(strstr(result.out, "zoo:cartpole "));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train cartpole --seed 1\n"));
    expect_ok("zoo --json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"name\": \"cartpole\""));
    ck_assert_ptr_nonnull(strstr(result.out, "\"eval\": \"--episodes 100 --seed 1000000\""));
    ck_assert_ptr_nonnull(strstr(result.out, "/zoo/cartpole\""));
}
END_TEST

START_TEST(an_agent_stands_wherever_a_run_may) {
    expect_ok("eval --run zoo:catch --episodes 20 --json");
    ck_assert_double_eq_tol(number_in("mean"), 1.0, 0.11);
    expect_ok("eval --run=zoo:tictactoe --opponent zoo:tictactoe --games 2 --json");
    ck_assert_double_eq(number_in("mean"), 0.0);
    expect_ok("inspect --run zoo:catch");
    expect_ok("ladder zoo:tictactoe --include random --games 2");
    expect_exit("eval --run zoo:catsh", 2, "zoo:catsh: there is no such agent; did you mean zoo:catch?");
    expect_exit("train --run zoo:catch --env catch", 2, "zoo/catch");
}
END_TEST

/* Whatever is said of players, and not of files. */
START_TEST(an_agent_is_called_what_the_user_wrote) {
    static char games[1 << 14];
    expect_ok("eval --run zoo:tictactoe --opponent zoo:tictactoe --games 2 --json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"opponent\": \"zoo:tictactoe\""));
    expect_ok("eval --run zoo:tictactoe --opponent zoo:tictactoe --games 2");
    ck_assert_ptr_nonnull(strstr(result.out, "2 games against zoo:tictactoe, "));
    expect_ok("eval --run zoo:go5 --opponent zoo:go5 --games 2 --simulations 2 --save-games games.sgf");
    cm_program_file(cm_test_folder, "games.sgf", games, sizeof games);
    ck_assert_msg(strstr(games, "PB[zoo\\:go5]PW[zoo\\:go5]") != NULL, "%s", games);
    ck_assert_ptr_null(strstr(games, "/zoo/"));
    expect_exit("eval --run zoo:tictactoe --opponent zoo:catch --games 2", 2,
                "cumind: zoo:tictactoe plays tictactoe, zoo:catch plays catch: they cannot meet\n");
    expect_ok("ladder zoo:tictactoe --include random --games 2");
    ck_assert_ptr_nonnull(strstr(result.out, "zoo:tictactoe - random: "));
    ck_assert_ptr_null(strstr(result.out, "/zoo/"));
    expect_ok("ladder zoo:tictactoe --include random --games 2 --json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"name\": \"zoo:tictactoe\""));
    expect_exit("ladder zoo:tictactoe zoo:tictactoe --games 2", 2, "ladder: zoo:tictactoe is named twice\n");
}
END_TEST

START_TEST(the_check_judges_by_the_interval) {
    expect_ok("zoo --check catch");
    ck_assert_ptr_nonnull(strstr(result.out, "zoo:catch"));
    ck_assert_ptr_nonnull(strstr(result.out, "within [0.98, 1]"));
    expect_exit("zoo --check cat", 2, "zoo:cat: there is no such agent; did you mean zoo:catch?");
    expect_exit("zoo --check --json catch", 2, "zoo: --json is for the list");
    expect_exit("zoo catch", 2, "names of agents are for --check");
}
END_TEST

START_TEST(reproduce_begins_no_run_where_something_is) {
    expect_exit("reproduce", 2, "reproduce: needs the NAME of an agent");
    expect_exit("reproduce zoo:cach", 2, "did you mean zoo:catch?");
    char path[64];
    snprintf(path, sizeof path, "%s/catch.reproduced", cm_test_folder);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    expect_exit("reproduce catch", 2, "catch.reproduced: is there already; choose another folder with --run DIR");
}
END_TEST

START_TEST(a_training_that_was_stopped_is_not_judged_and_goes_on) {
    char said[4096];
    for (int again = 0; again < 2; again++) {
        const pid_t child = cm_program_start_job(
            cm_test_folder, again ? "reproduce cartpole --resume cartpole.reproduced" : "reproduce cartpole");
        await_text("out.txt", again ? "resumed   at update" : "it 1 ");
        kill(-child, SIGINT);
        ck_assert_int_eq(cm_program_wait(child), 130);
        cm_program_file(cm_test_folder, "out.txt", said, sizeof said);
        ck_assert_msg(strstr(said, "REPRODUCED") == NULL, "%s", said);
        cm_program_file(cm_test_folder, "err.txt", said, sizeof said);
        ck_assert_ptr_nonnull(strstr(said, "cumind reproduce cartpole --resume cartpole.reproduced goes on\n"));
    }
    run("reproduce catch --resume cartpole.reproduced");
    ck_assert_int_eq(result.status, 1);
    ck_assert_ptr_nonnull(strstr(result.err, "cannot change on resume"));
    ck_assert_ptr_nonnull(strstr(result.err, "reproduce catch: train has ended with status 2"));
    expect_exit("reproduce catch --resume nowhere", 2, "nowhere");
    expect_exit("reproduce cartpole --resume cartpole.reproduced --run x", 2, "give either --run or --resume");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/zoo");
    TCase *tests = tcase_create("zoo");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, the_list_has_every_agent_with_its_command);
    tcase_add_test(tests, an_agent_stands_wherever_a_run_may);
    tcase_add_test(tests, an_agent_is_called_what_the_user_wrote);
    tcase_add_test(tests, the_check_judges_by_the_interval);
    tcase_add_test(tests, reproduce_begins_no_run_where_something_is);
    tcase_add_test(tests, a_training_that_was_stopped_is_not_judged_and_goes_on);
    return cm_test_main(suite);
}
