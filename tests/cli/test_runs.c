/* Runs as a user meets them: what a run is, says and leaves, and what is done with it. Going on: test_resume.c;
 * beginning with what another has learnt: test_starts.c. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <gif_lib.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "runs.h"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run ref" SMALL);
    hash_of("ref", reference);
}

/* ---- what a run is ---- */

START_TEST(run_folder_explains_itself) {
    const char *const files[] = {"config.json",
                                 "metrics.jsonl",
                                 "log.txt",
                                 "README.md",
                                 "result.json",
                                 "episodes/best.gif",
                                 "latest/manifest.json",
                                 "latest/parameters.safetensors",
                                 "best/state.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/ref/%s", cm_test_folder, files[i]);
        ck_assert_msg(cm_file_exists(path), "%s is missing", files[i]);
    }
    static char log[1 << 16];
    cm_program_file(cm_test_folder, "ref/log.txt", log, sizeof log);
    ck_assert_ptr_nonnull(strstr(log, "final: mean return"));
}
END_TEST

static int count_gifs(const char *of) {
    char path[160];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s/episodes", cm_test_folder, of);
    DIR *folder = opendir(path);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder))
        count += strstr(entry->d_name, ".gif") != NULL;
    if (folder) closedir(folder);
    return count;
}

/* Two evaluations, and three more of the run that goes on: the newest two and the best one stay, and what is not the
 * run's. */
START_TEST(last_evaluations_and_the_best_one_have_pictures) {
    char path[160];
    int error;
    expect_ok("train --quiet --run shown --set evaluation_gifs=2" SMALL);
    ck_assert_int_eq(count_gifs("shown"), 3);
    snprintf(path, sizeof path, "%s/shown/episodes/1.gif", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    expect_ok("train --quiet --resume shown --env-steps 2560");
    ck_assert_int_eq(count_gifs("shown"), 4);
    snprintf(path, sizeof path, "%s/shown/episodes/best.gif", cm_test_folder);
    GifFileType *gif = DGifOpenFileName(path, &error);
    ck_assert_msg(gif && DGifSlurp(gif) == GIF_OK, "%s", path);
    ck_assert(gif->ImageCount > 2 && gif->ImageCount <= 26);
    DGifCloseFile(gif, &error);
}
END_TEST

START_TEST(pictures_of_evaluations_change_no_parameter) {
    expect_ok("train --quiet --run unseen --set evaluation_gifs=0" SMALL);
    ck_assert_int_eq(count_gifs("unseen"), 0);
    expect_reference("unseen");
}
END_TEST

START_TEST(a_run_whose_configuration_cannot_be_read_is_listed_by_what_is_known) {
    char path[160];
    snprintf(path, sizeof path, "%s/odd", cm_test_folder);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    snprintf(path, sizeof path, "%s/odd/lock", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    snprintf(path, sizeof path, "%s/odd/config.json", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "odd", 3), CM_OK);
    expect_ok("runs odd");
    ck_assert_msg(strstr(result.out, "\n?              - -        -     0       0 ") != NULL, "%s", result.out);
}
END_TEST

START_TEST(threads_and_prefetch_change_no_parameter) {
    static const char *const variants[] = {"--threads 1", "--threads 2", "--threads 3", "--set prefetch_depth=0"};
    char line[512], dir[32];
    snprintf(dir, sizeof dir, "variant-%d", _i);
    snprintf(line, sizeof line, "train --quiet --run %s %s" SMALL, dir, variants[_i]);
    expect_ok(line);
    expect_reference(dir);
}
END_TEST

/* Searches made again go on concurrently with the updates, on threads of their own. */
#define AGAIN " --set reanalyse_ratio=0.3 --set num_simulations=4"
START_TEST(reanalysed_policies_are_those_of_any_threads) {
    static const char *const variants[] = {"--threads 1", "--threads 3 --set prefetch_threads=3",
                                           "--set prefetch_depth=0", "--set overlap=on --threads 1",
                                           "--set overlap=on --threads 3"};
    char hash[5][64], line[512];
    for (int i = 0; i < 5; i++) {
        snprintf(line, sizeof line, "train --quiet --run again-%d %s" SMALL AGAIN, i, variants[i]);
        expect_ok(line);
        snprintf(line, sizeof line, "again-%d", i);
        hash_of(line, hash[i]);
    }
    ck_assert_str_eq(hash[0], hash[1]);
    ck_assert_str_eq(hash[0], hash[2]);
    ck_assert_str_eq(hash[3], hash[4]);
    ck_assert_str_ne(hash[0], hash[3]);
    ck_assert_str_ne(hash[0], reference);
    expect_ok("plot again-0 --metric policy_drift --table");
    run("plot ref --metric policy_drift --table");
    ck_assert_int_ne(result.status, 0);
}
END_TEST

START_TEST(reanalysed_policies_are_those_of_the_same_weights_when_it_goes_on) {
    char whole[64], hash[64];
    expect_ok("train --quiet --run again-whole --set schedule=constant" SMALL AGAIN);
    expect_ok("train --quiet --run again-parts --set schedule=constant" SMALL AGAIN " --env-steps 512");
    expect_ok("train --quiet --resume again-parts --env-steps 1024");
    hash_of("again-whole", whole);
    hash_of("again-parts", hash);
    ck_assert_str_eq(whole, hash);
}
END_TEST

START_TEST(another_seed_gives_other_parameters) {
    char hash[64];
    expect_ok("train --quiet --run other --seed 7" SMALL);
    hash_of("other", hash);
    ck_assert_str_ne(hash, reference);
}
END_TEST

START_TEST(overlapped_run_is_the_same_for_any_threads) {
    char first[64], second[64];
    expect_ok("train --quiet --run over-1 --threads 1 --set overlap=on" SMALL);
    expect_ok("train --quiet --run over-2 --threads 2 --set overlap=on" SMALL);
    hash_of("over-1", first);
    hash_of("over-2", second);
    ck_assert_str_eq(first, second);
}
END_TEST

/* Every line of text is a JSON object with an "event"; counts those of `event`. */
static int count_events(char *text, const char *event) {
    int count = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        cm_json_doc *doc = NULL;
        ck_assert_msg(cm_json_parse(line, strlen(line), "line", &doc) == CM_OK, "%s: %s", cm_error_message(), line);
        const char *name = cm_json_string(cm_json_get(cm_json_root(doc), "event"));
        ck_assert_ptr_nonnull(name);
        count += strcmp(name, event) == 0;
        cm_json_free(doc);
    }
    return count;
}

START_TEST(json_lines_have_an_event_each) {
    static char copy[CM_OUTPUT_BYTES];
    expect_ok("train --json --run json" SMALL);
    strcpy(copy, result.out);
    ck_assert_int_eq(count_events(copy, "iteration"), 4);
    strcpy(copy, result.out);
    ck_assert_int_eq(count_events(copy, "evaluation"), 2);
    strcpy(copy, result.out);
    ck_assert_int_eq(count_events(copy, "start") + 10 * count_events(result.out, "end"), 11);
}
END_TEST

START_TEST(plain_output_ends_with_report_and_next_commands) {
    expect_ok("train --run plain" SMALL);
    ck_assert_ptr_null(strchr(result.out, '\033'));
    ck_assert_ptr_nonnull(strstr(result.out, "95 % interval"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind play --run plain"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume plain"));
    ck_assert_ptr_nonnull(strstr(result.out, "memory "));
    expect_ok("train --run plain(2)" SMALL);
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume 'plain(2)' --env-steps"));
    expect_ok("train --run it's" SMALL);
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume 'it'\\''s' --env-steps"));
}
END_TEST

START_TEST(next_commands_do_what_the_run_did) {
    expect_ok("train --run timed --time 0.01s --set final_evaluation_episodes=2");
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume timed --time 0.01s\n"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind eval --run timed --episodes 100 --seed 1\n"));
    ck_assert_ptr_nonnull(strstr(result.out, "until     0.01 s\n")); /* and no number of steps, nor a goal */
    expect_ok(
        "train --run game --config default --set env_name=tictactoe --set evaluation_opponent=mcts:5 --env-steps 256"
        " --set final_evaluation_episodes=2");
    ck_assert_ptr_nonnull(strstr(result.out, "cumind eval --run game --opponent mcts:5 --games 100 --seed 1\n"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume game --env-steps "));
}
END_TEST

/* No one looks at an empty terminal: what takes long is said before it begins, and only then. */
START_TEST(a_large_network_is_announced_before_it_is_prepared) {
    expect_ok("train --run large --set hidden_dim=2400 --env-steps 64 --set final_evaluation_episodes=0"
              " --set evaluation_interval=0");
    const char *setup = strstr(result.out, "setup     17.8M parameters, which take a while to prepare\n");
    ck_assert_msg(setup && setup < strstr(result.out, "run       large\n"), "%s", result.out);
    expect_ok("train --run usual --env-steps 64 --set final_evaluation_episodes=0 --set evaluation_interval=0");
    ck_assert_ptr_null(strstr(result.out, "setup"));
}
END_TEST

/* There is time for nothing at all. */
START_TEST(an_evaluation_of_the_result_that_the_time_does_not_cover_is_said) {
    static const char line[] = "\ntime is over: what is left of it is for the evaluation of the result, 22 episodes\n";
    expect_ok("train --run late --time 0.01s --set final_evaluation_episodes=2");
    ck_assert_msg(strstr(result.out, line) != NULL, "%s", result.out);
    ck_assert_ptr_null(strstr(result.out, "final: "));
    ck_assert_msg(strstr(result.err, "no episode of the evaluation of the result has ended within the time: ") != NULL,
                  "%s", result.err);
    ck_assert_ptr_nonnull(strstr(result.err, "no steps were made: the time was over within the first iteration, "));
    expect_ok("train --run bare --time 0.01s --set final_evaluation_episodes=0 --set evaluation_interval=0");
    ck_assert_ptr_null(strstr(result.out, "time is over"));
    expect_ok("train --run counted --env-steps 512 --set final_evaluation_episodes=2");
    ck_assert_ptr_null(strstr(result.out, "time is over"));
}
END_TEST

/* In a game of two a return means nothing without its opponent. */
START_TEST(returns_of_games_say_against_whom) {
    static const char rest[] = " --set hidden_dim=8 --env-steps 512 --set evaluation_interval=512"
                               " --set evaluation_episodes=4 --set final_evaluation_episodes=6";
    double mean, low, high;
    char line[512];
    snprintf(line, sizeof line, "train --run against --set env_name=tictactoe --set evaluation_opponent=mcts:5%s",
             rest);
    expect_ok(line);
    const char *evaluated = strstr(result.out, "\nevaluated after 5"),
               *final = strstr(result.out, "\nfinal: mean return ");
    ck_assert_msg(evaluated && strstr(evaluated, " against mcts:5 over 4 greedy games\n"), "%s", result.out);
    ck_assert_msg(strstr(result.out, "  self-play "), "%s", result.out);
    ck_assert_msg(final && strstr(final, " over 6 greedy games on new seeds"), "%s", result.out);
    ck_assert_ptr_nonnull(strstr(final, "\nagainst mcts:5: "));
    ck_assert_int_eq(sscanf(final, "\nfinal: mean return %lf against mcts:5, std %*f, 95 %% interval [%lf, %lf]", &mean,
                            &low, &high),
                     3);
    ck_assert(-1.0 <= low && low <= mean && mean <= high && high <= 1.0);
    expect_ok("eval --run against --episodes 4");
    ck_assert_msg(strstr(result.out, " against random, std "), "%s", result.out);
    snprintf(line, sizeof line, "train --run alone%s", rest);
    expect_ok(line);
    ck_assert_msg(!strstr(result.out, "against ") && !strstr(result.out, "self-play"), "%s", result.out);
}
END_TEST

START_TEST(quiet_run_prints_nothing) {
    expect_ok("train --quiet --run quiet" SMALL);
    ck_assert_str_eq(result.out, "");
}
END_TEST

START_TEST(what_is_printed_to_a_closed_output_is_in_no_file) {
    char command[512], text[64];
    snprintf(command, sizeof command, "cd %s && %s train --run closed --set gumbel_scale=2" SMALL " >&- 2>&-",
             cm_test_folder, CM_TEST_PROGRAM);
    ck_assert_int_eq(system(command), 0);
    expect_reference("closed");
    cm_program_file(cm_test_folder, "closed/lock", text, sizeof text);
    ck_assert_str_eq(text, "");
    static const char *const helps[] = {"help", "--help", "train --help"};
    for (int i = 0; i < 3; i++) { /* no one was helped */
        snprintf(command, sizeof command, "%s %s >&- 2>/dev/null", CM_TEST_PROGRAM, helps[i]);
        ck_assert_int_eq(WEXITSTATUS(system(command)), 1);
    }
}
END_TEST

/* Where no one reads it any more nothing is lost. */
START_TEST(what_cannot_be_printed_is_said_when_the_run_is_saved) {
    static const struct {
        const char *rest;
        int status;
    } cases[] = {{" --json >/dev/full", 1},
                 {" >/dev/full", 1},
                 {" | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}", 0},
                 {" --quiet >/dev/full", 0}};
    char line[512], command[1024], text[256], dir[32];
    for (int i = 0; i < 4; i++) {
        snprintf(dir, sizeof dir, "unprinted-%d", i);
        snprintf(line, sizeof line, "train --run %s%s%s", dir, SMALL, cases[i].rest);
        snprintf(command, sizeof command, "cd %s && bash -c '%s %s' 2>err.txt", cm_test_folder, CM_TEST_PROGRAM, line);
        ck_assert_int_eq(WEXITSTATUS(system(command)), cases[i].status);
        expect_reference(dir);
        cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
        if (cases[i].status) {
            cm_program_expect_line(text, "cumind: standard output cannot be written: No space left on device");
        } else {
            ck_assert_str_eq(text, "");
        }
    }
}
END_TEST

START_TEST(several_seeds_end_with_a_table) {
    expect_ok("train --seeds 3-4 --run seeds" SMALL);
    ck_assert_ptr_nonnull(strstr(result.out, "\n       3 "));
    ck_assert_ptr_nonnull(strstr(result.out, "\n       4 "));
    char one[64], two[64];
    hash_of("seeds/seed-3", one);
    hash_of("seeds/seed-4", two);
    ck_assert_str_ne(one, two);
    expect_ok("train --quiet --seeds 5-6 --run seeds" SMALL);
    ck_assert_str_eq(result.out, "");
}
END_TEST

START_TEST(seeds_without_a_report_have_none_in_the_table) {
    expect_ok("train --seeds 3 --run unreported --env-steps 256 --set final_evaluation_episodes=0");
    ck_assert_msg(strstr(result.out, "\n       3          -          -        256 ") != NULL, "%s", result.out);
    expect_ok("train --json --seeds 4 --run unreported --env-steps 256 --set final_evaluation_episodes=0");
    ck_assert_ptr_nonnull(strstr(result.out, "\"seed\": 4, \"mean\": null, \"std\": null, \"env_steps\": 256"));
}
END_TEST

/* ---- using a run ---- */

START_TEST(what_is_warned_of_is_said_once_and_of_the_process_that_trains) {
    static const char configuration[] = "{\"Training\": {\"momentum\": 0.5}}";
    char path[128];
    snprintf(path, sizeof path, "%s/configuration.json", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, configuration, sizeof configuration - 1), CM_OK);
    expect_ok("train --quiet --run warned" SMALL);
    cm_program_expect_line(result.err, "configuration.json:1: Training.momentum has no effect");
    expect_ok("train --quiet --run mute --set log_level=error" SMALL);
    ck_assert_str_eq(result.err, "");
    expect_ok("eval --run warned --episodes 2 --set gumbel_scale=2");
    ck_assert_str_eq(result.err, "");
    expect_ok("train --quiet --resume warned --env-steps 2048 --set goal_return=3");
    cm_program_expect_line(result.err, "--set: Evaluation.goal_return has no effect");
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(a_goal_that_every_episode_or_none_reaches_is_warned_of) {
    static const char *const cases[][2] = {
        {"--set goal_return=-200", "--set: Evaluation.goal_return: every episode of CartPole-v1 brings at least 0, so "
                                   "that the goal of -200 is reached at once: set another goal_return"},
        {"--set goal_return=501", "--set: Evaluation.goal_return: no episode of CartPole-v1 brings more than 500, so "
                                  "that the goal of 501 is never reached: set another goal_return"},
        {"--set max_steps=100", "--set: Environment.max_steps: no episode of CartPole-v1 brings more than 100, so that "
                                "the goal of 475 is never reached: set another goal_return"},
        {"--set env_name=tictactoe --set goal_return=-10", "every episode of tictactoe brings at least -9, so that"},
        {"--set env_name=tictactoe --set goal_return=10", "no episode of tictactoe brings more than 9, so that"}};
    char command[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(command, sizeof command, "train --quiet --run goal%zu --set stop_at_goal=true%s %s", i, SMALL,
                 cases[i][0]);
        expect_ok(command);
        ck_assert_msg(strstr(result.err, cases[i][1]) != NULL, "%s", result.err);
    }
    expect_ok("train --quiet --resume goal1 --env-steps 1500");
    ck_assert_str_eq(result.err, "");
    expect_ok("train --quiet --run within --set stop_at_goal=true --set goal_return=500" SMALL);
    ck_assert_str_eq(result.err, "");
}
END_TEST

START_TEST(run_without_its_flag_is_understood) {
    expect_exit("eval ref", 2, "unexpected argument \"ref\"; did you mean --run ref?");
    expect_exit("train ref", 2, "unexpected argument \"ref\"; did you mean --resume ref?");
    expect_exit("eval nowhere", 2, "unexpected argument \"nowhere\" (cumind help eval)");
}
END_TEST

START_TEST(run_whose_checkpoints_are_gone_does_not_begin_again) {
    static const char *const looks[] = {"eval --run lost", "play --run lost --checkpoint 3", "inspect --run lost"};
    char path[160];
    expect_ok("train --quiet --run lost" SMALL);
    snprintf(path, sizeof path, "%s/lost/checkpoints", cm_test_folder);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
    expect_exit("train --quiet --resume lost", 1,
                "lost: its checkpoints are gone, or it was killed while it began: put them back, or train again with "
                "--config lost/config.json");
    snprintf(path, sizeof path, "%s/lost/latest", cm_test_folder);
    ck_assert_int_eq(unlink(path), 0); /* as if it had been killed before the first */
    for (int i = 0; i < 3; i++) expect_exit(looks[i], 1, "lost/checkpoints: holds no checkpoint yet");
    expect_ok("train --resume lost");
    ck_assert_ptr_nonnull(strstr(result.out, "resumed   from the start: it has no checkpoint yet"));
    expect_reference("lost");
}
END_TEST

START_TEST(run_without_an_update_says_that_nothing_was_learnt) {
    expect_ok("train --quiet --run unlearnt --env-steps 512 --set batch_size=320 --set final_evaluation_episodes=0");
    ck_assert_str_eq(result.err,
                     "warning: nothing was learnt: the first update waits for 1000 steps (min_memory_steps), "
                     "and one is due every 10 steps (batch_size / replay_ratio); train longer\n");
    expect_ok("train --quiet --run few --env-steps 512 --set batch_size=320 --set final_evaluation_episodes=0 "
              "--set memory_capacity=500 --set min_memory_size=90 --set min_memory_pct=0.2");
    ck_assert_str_eq(result.err,
                     "warning: nothing was learnt: the first update waits for 90 episodes (min_memory_size) and 100 "
                     "episodes (min_memory_pct), and one is due every 10 steps (batch_size / replay_ratio); train "
                     "longer\n");
    expect_ok("train --quiet --run learnt" SMALL);
    ck_assert_str_eq(result.err, "");
    /* 32 games under way, each of 48 steps of 200 */
    expect_ok("train --quiet --run open --config default --set env_name=MountainCar-v0 --env-steps 1536"
              " --set final_evaluation_episodes=0");
    cm_program_expect_line(result.err, "; the last 30 (td_steps) of each episode under way do not count; train longer");
    expect_ok("train --quiet --run whole --config default --set env_name=MountainCar-v0 --env-steps 1536"
              " --set final_evaluation_episodes=0 --set memory_capacity=500");
    cm_program_expect_line(result.err, "; with memory_capacity those of episodes under way do not count; train longer");
}
END_TEST

/* With a decay of 10 at a learning rate of 1 every weight grows by a factor of -9 in each update. */
START_TEST(learning_that_diverges_between_two_looks_at_the_weights_says_what_to_lower) {
    run("train --quiet --run wild --env-steps 900 --set preset=plain --set updates_per_iteration=1 "
        "--set ema_decay=0 --set learning_rate=1 --set weight_decay=10 --set warmup_steps=0 "
        "--set schedule=constant --set min_memory_steps=8 --set num_envs=4 --set steps_per_iteration=4 "
        "--set batch_size=4");
    ck_assert_int_eq(result.status, 1);
    ck_assert_msg(strstr(result.err, "learn again with a lower learning_rate") != NULL, "%s", result.err);
}
END_TEST

/* The last td_steps of the 32 games under way cannot be drawn yet: 1,000 steps that can are never there. */
START_TEST(memory_that_is_full_is_learnt_from_whatever_the_first_update_waits_for) {
    static const struct {
        const char *settings, *warning;
    } cases[] = {
        {"memory_steps=1000 --set min_memory_steps=1000", NULL},
        {"memory_capacity=5 --set min_memory_steps=1000",
         "fewer than the first update waits for, and learning begins: raise memory_capacity or lower min_memory_steps"},
        {"memory_steps=100 --set min_memory_size=90", "raise memory_steps or lower min_memory_size"},
        {"memory_bytes=1000000 --set min_memory_size=900", "raise memory_bytes or lower min_memory_size"},
    };
    char line[512], text[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line,
                 "train --quiet --run full-%zu --env-steps 2048 --set hidden_dim=8 --set evaluation_interval=0 "
                 "--set final_evaluation_episodes=0 --set %s",
                 i, cases[i].settings);
        expect_ok(line);
        if (cases[i].warning) {
            ck_assert_msg(strstr(result.err, cases[i].warning) != NULL, "%s: %s", cases[i].settings, result.err);
        } else {
            ck_assert_str_eq(result.err, "");
        }
        snprintf(line, sizeof line, "full-%zu/result.json", i);
        cm_program_file(cm_test_folder, line, text, sizeof text);
        ck_assert_msg(strstr(text, "\"updates\": 0,") == NULL, "%s: %s", cases[i].settings, text);
    }
}
END_TEST

START_TEST(evaluation_has_the_statistics_of_its_returns) {
    double returns[5], sum = 0, squares = 0;
    expect_ok("eval --run ref --episodes 5 --seed 11 --json");
    const char *at = strstr(result.out, "\"returns\": [");
    ck_assert_ptr_nonnull(at);
    char *end = (char *)at + strlen("\"returns\": [");
    for (int i = 0; i < 5; i++) {
        returns[i] = strtod(end, &end);
        end += 2;
        sum += returns[i] / 5;
    }
    for (int i = 0; i < 5; i++) squares += (returns[i] - sum) * (returns[i] - sum);
    ck_assert_double_eq_tol(number_in("mean"), sum, 1e-9);
    ck_assert_double_eq_tol(number_in("std"), sqrt(squares / 4), 1e-9);
    ck_assert_double_eq(number_in("episodes"), 5);
}
END_TEST

START_TEST(episode_i_starts_from_seed_plus_i) {
    char shifted[256];
    expect_ok("eval --run ref --episodes 6 --seed 100 --json --threads 1");
    const char *at = strchr(strstr(result.out, "\"returns\": ["), ',');
    snprintf(shifted, sizeof shifted, "%s", at + 2); /* without the first */
    expect_ok("eval --run ref --episodes 5 --seed 101 --json --threads 2");
    at = strstr(result.out, "\"returns\": [") + strlen("\"returns\": [");
    ck_assert_str_eq(at, shifted);
}
END_TEST

START_TEST(inspect_tells_hash_updates_and_steps) {
    expect_ok("inspect --run ref --json");
    ck_assert_ptr_nonnull(strstr(result.out, reference));
    ck_assert_double_eq(number_in("env_steps"), 1024);
    ck_assert_double_gt(number_in("updates"), 0);
}
END_TEST

START_TEST(runs_plots_and_games_are_shown) {
    expect_ok("runs . --json");
    ck_assert_ptr_nonnull(strstr(result.out, "./ref"));
    expect_ok("runs .");
    ck_assert_ptr_nonnull(strstr(result.out, "CartPole-v1"));
    expect_ok("plot --run ref --columns 60 --rows 12");
    ck_assert_ptr_nonnull(strstr(result.out, "env steps"));
    expect_ok("plot --run ref --svg curve.svg");
    static char svg[1 << 16];
    cm_program_file(cm_test_folder, "curve.svg", svg, sizeof svg);
    ck_assert_ptr_nonnull(strstr(svg, "<path class=\"line"));
    expect_ok("play --run ref --episodes 2 --quiet");
    ck_assert_ptr_nonnull(strstr(result.out, "episode 1: return "));
}
END_TEST

/* Two runs of an iteration each below checkpoints, the older one with the later name. */
START_TEST(newest_run_is_taken_where_none_is_named) {
    static const char *const calls[] = {"eval --episodes 2", "plot", "play --quiet", "inspect",
                                        "search --positions p.txt"};
    static const char brief[] =
        " --env-steps 1024 --set min_memory_steps=1024 --set final_evaluation_episodes=0 --set evaluation_interval=0";
    char line[256], path[128];
    snprintf(path, sizeof path, "%s/p.txt", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "0\n", 2), CM_OK);
    expect_exit("eval", 2, "eval: needs --run DIR: there is no run here yet");
    snprintf(line, sizeof line, "train --quiet --run checkpoints/pole/z-old%s", brief);
    expect_ok(line);
    snprintf(line, sizeof line, "train --quiet --run checkpoints/pole/a-new%s", brief);
    expect_ok(line);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        expect_ok(calls[i]);
        ck_assert_msg(strstr(result.err, ": the newest run, checkpoints/pole/a-new (") != NULL, "%s: %s", calls[i],
                      result.err);
    }
    expect_ok("eval --episodes 2 --run checkpoints/pole/z-old");
    ck_assert_str_eq(result.err, "");
    expect_ok("inspect --set env_name=catch"); /* of a configuration, not of a run */
    ck_assert_ptr_nonnull(strstr(result.out, "catch: 3 actions"));
    snprintf(path, sizeof path, "%s/checkpoints", cm_test_folder);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
}
END_TEST

START_TEST(runs_of_several_folders_are_listed_and_where_it_looked_is_said) {
    expect_ok("runs");
    ck_assert_ptr_nonnull(strstr(result.out, "(none below checkpoints; cumind runs DIR... looks elsewhere)"));
    expect_ok("train --quiet --run mine/cased --env-steps 256 --set final_evaluation_episodes=0 --config default --set "
              "env_name=TICTACTOE");
    expect_ok("runs mine ref");
    ck_assert_ptr_nonnull(strstr(result.out, "tictactoe "));
    ck_assert_ptr_nonnull(strstr(result.out, " mine/cased\n"));
    ck_assert_ptr_nonnull(strstr(result.out, " ref\n"));
    static const struct {
        int columns;
        const char *head;
    } heads[] = {{91, "environment seed begun            took steps updates return final goal state    run\r\n"},
                 {80, "environment begun            took steps return final goal state    run\r\n"},
                 {74, "environment begun            took steps final goal state    run\r\n"},
                 {60, "environment begun            took steps final goal state\r\n"},
                 {40, "environment steps final goal state\r\n"},
                 {25, "environme final state\r\n"}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        cm_program_run_terminal(cm_test_folder, "runs mine ref", heads[i].columns, "", &result);
        const char *head = strstr(result.out, "environme");
        ck_assert_msg(strncmp(head, heads[i].head, strlen(heads[i].head)) == 0, "%d: %s", heads[i].columns, result.out);
        ck_assert_int_eq(strstr(result.out, "\r\n    mine/cased\r\n") != NULL, heads[i].columns <= 60);
        for (char *row = strtok(result.out, "\r\n"); row; row = strtok(NULL, "\r\n"))
            ck_assert_int_lt(strlen(row), heads[i].columns);
    }
    cm_program_run_terminal(cm_test_folder, "runs", 60, "", &result);
    ck_assert_ptr_nonnull(strstr(result.out, "(none below checkpoints; cumind runs DIR... looks"));
    for (char *row = strtok(result.out, "\r\n"); row; row = strtok(NULL, "\r\n")) ck_assert_int_lt(strlen(row), 60);
    cm_program_run_terminal(cm_test_folder, "runs mine ref", 83, "", &result);
    ck_assert_ptr_null(strstr(result.out, "\n    "));
    cm_program_run_terminal(cm_test_folder, "runs ref", 80, "", &result); /* a short name is in its row */
    ck_assert_ptr_nonnull(strstr(result.out, " ref\r\n"));
    ck_assert_ptr_null(strstr(result.out, "\n    "));
    expect_exit("runs ref nowhere", 2, "nowhere: there is no such folder");
}
END_TEST

/* Each a word, and where the head has it, however long names and seeds are. */
START_TEST(columns_of_runs_hold_in_a_pipe) {
    static const char rest[] = " --env-steps 256 --set final_evaluation_episodes=0 --set hidden_dim=8";
    char line[256], cells[2][11][64], *rows[3];
    snprintf(line, sizeof line, "train --quiet --run long/1 --seed 1234567890123%s", rest);
    expect_ok(line);
    snprintf(line, sizeof line, "train --quiet --run long/2 --set goal_return=0.25%s", rest);
    expect_ok(line);
    expect_ok("runs long");
    rows[0] = result.out;
    for (int i = 1; i < 3; i++) {
        rows[i] = strchr(rows[i - 1], '\n') + 1;
        ck_assert_int_eq(sscanf(rows[i], "%63s %63s %63s %63s %63s %63s %63s %63s %63s %63s %63s", cells[i - 1][0],
                                cells[i - 1][1], cells[i - 1][2], cells[i - 1][3], cells[i - 1][4], cells[i - 1][5],
                                cells[i - 1][6], cells[i - 1][7], cells[i - 1][8], cells[i - 1][9], cells[i - 1][10]),
                         11);
    }
    ck_assert_msg(strncmp(rows[0], "environment          seed begun            took ", 48) == 0, "%s", result.out);
    int year, month, day, hour, minute;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(sscanf(cells[i][2], "%d-%d-%dT%d:%d", &year, &month, &day, &hour, &minute), 5);
    ck_assert_str_eq(cells[0][1], "1234567890123");
    ck_assert_str_eq(cells[0][8], "475"); /* the task's own */
    ck_assert_str_eq(cells[1][8], "0.25");
    ck_assert_int_eq(cells[0][3][strlen(cells[0][3]) - 1], 's');
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq((int)(strstr(rows[i + 1], cells[i][10]) - rows[i + 1]),
                         (int)(strstr(rows[0], " run\n") - rows[0]) + 1);
    }
    expect_ok("runs long --json");
    ck_assert_double_eq(number_in("goal"), 475.0);
    ck_assert_double_gt(number_in("seconds"), 0.0);
    ck_assert_ptr_nonnull(strstr(result.out, "\"begun\": \"2"));
}
END_TEST

START_TEST(trace_is_a_file_of_events) {
    static char text[CM_OUTPUT_BYTES];
    expect_ok("train --quiet --run traced --trace t.json" SMALL);
    cm_program_file(cm_test_folder, "t.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"act\""));
    ck_assert_ptr_nonnull(strstr(text, "\"learn\""));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/runs");
    TCase *tests = tcase_create("runs");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, last_evaluations_and_the_best_one_have_pictures);
    tcase_add_test(tests, pictures_of_evaluations_change_no_parameter);
    tcase_add_test(tests, run_folder_explains_itself);
    tcase_add_test(tests, a_run_whose_configuration_cannot_be_read_is_listed_by_what_is_known);
    tcase_add_loop_test(tests, threads_and_prefetch_change_no_parameter, 0, 4);
    tcase_add_test(tests, reanalysed_policies_are_those_of_any_threads);
    tcase_add_test(tests, reanalysed_policies_are_those_of_the_same_weights_when_it_goes_on);
    tcase_add_test(tests, another_seed_gives_other_parameters);
    tcase_add_test(tests, overlapped_run_is_the_same_for_any_threads);
    tcase_add_test(tests, json_lines_have_an_event_each);
    tcase_add_test(tests, plain_output_ends_with_report_and_next_commands);
    tcase_add_test(tests, next_commands_do_what_the_run_did);
    tcase_add_test(tests, a_large_network_is_announced_before_it_is_prepared);
    tcase_add_test(tests, an_evaluation_of_the_result_that_the_time_does_not_cover_is_said);
    tcase_add_test(tests, returns_of_games_say_against_whom);
    tcase_add_test(tests, quiet_run_prints_nothing);
    tcase_add_test(tests, what_is_printed_to_a_closed_output_is_in_no_file);
    tcase_add_test(tests, what_cannot_be_printed_is_said_when_the_run_is_saved);
    tcase_add_test(tests, several_seeds_end_with_a_table);
    tcase_add_test(tests, seeds_without_a_report_have_none_in_the_table);
    tcase_add_test(tests, what_is_warned_of_is_said_once_and_of_the_process_that_trains);
    tcase_add_test(tests, a_goal_that_every_episode_or_none_reaches_is_warned_of);
    tcase_add_test(tests, run_without_its_flag_is_understood);
    tcase_add_test(tests, run_whose_checkpoints_are_gone_does_not_begin_again);
    tcase_add_test(tests, run_without_an_update_says_that_nothing_was_learnt);
    tcase_add_test(tests, learning_that_diverges_between_two_looks_at_the_weights_says_what_to_lower);
    tcase_add_test(tests, memory_that_is_full_is_learnt_from_whatever_the_first_update_waits_for);
    tcase_add_test(tests, evaluation_has_the_statistics_of_its_returns);
    tcase_add_test(tests, episode_i_starts_from_seed_plus_i);
    tcase_add_test(tests, inspect_tells_hash_updates_and_steps);
    tcase_add_test(tests, runs_plots_and_games_are_shown);
    tcase_add_test(tests, newest_run_is_taken_where_none_is_named);
    tcase_add_test(tests, runs_of_several_folders_are_listed_and_where_it_looked_is_said);
    tcase_add_test(tests, columns_of_runs_hold_in_a_pipe);
    tcase_add_test(tests, trace_is_a_file_of_events);
    return cm_test_main(suite);
}
