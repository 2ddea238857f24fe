/* cumind search --positions: an answer per line of the file, in order, whatever the line. */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

enum { LINES = 9 };

static cm_output result;

static void begin_all(void) {
    cm_test_folder_make();
    cm_program_run(cm_test_folder,
                   "train --quiet --run game --config default --set env_name=tictactoe --set policy=gumbel_muzero "
                   "--set env_steps=512 "
                   "--set min_memory_steps=128 --set final_evaluation_episodes=2 --set evaluation_simulations=9",
                   &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    cm_program_run(cm_test_folder,
                   "train --quiet --run pole --set env_steps=512 --set min_memory_steps=128 "
                   "--set final_evaluation_episodes=2",
                   &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
}

static void search(const char *flags, const char *input) {
    char line[512];
    snprintf(line, sizeof line, "search --positions - %s", flags);
    cm_program_run_with(cm_test_folder, line, input, &result);
}

/* The answers of the last run, a document per line of stdout. */
static int read_answers(cm_json_doc *docs[], int most) {
    int count = 0;
    for (char *line = strtok(result.out, "\n"); line; line = strtok(NULL, "\n")) {
        ck_assert_int_lt(count, most);
        ck_assert_msg(cm_json_parse(line, strlen(line), "answer", &docs[count]) == CM_OK, "%s: %s", cm_error_message(),
                      line);
        count++;
    }
    return count;
}

static void numbers(const cm_json *answer, const char *key, size_t count, double *out) {
    ck_assert_msg(cm_json_doubles(cm_json_get(answer, key), key, count, out) == CM_OK, "%s", cm_error_message());
}

static const char nine_lines[] = "\n"
                                 "4\n"
                                 "4, 0 ,8\r\n"
                                 "4,4\n"
                                 "0,3,1,4,2\n"
                                 "0,3,1,4,2,5\n"
                                 "x\n"
                                 "1,,\"\n"
                                 "9";

static void expect_position(const cm_json *answer, const int *moves, int count) {
    double played[9], legal[9], prior[9], visits[9], q[9], most = 0.0, sum = 0.0, weight = 0.0;
    numbers(answer, "moves", (size_t)count, played);
    numbers(answer, "legal", 9, legal);
    numbers(answer, "prior", 9, prior);
    numbers(answer, "visits", 9, visits);
    numbers(answer, "q", 9, q);
    for (int i = 0; i < count; i++) {
        ck_assert_double_eq(played[i], moves[i]);
        ck_assert_double_eq(legal[moves[i]], 0.0);
    }
    for (int a = 0; a < 9; a++) {
        sum += visits[a], weight += prior[a], most = fmax(most, visits[a]);
        if (legal[a] == 0.0) ck_assert_double_eq(visits[a] + prior[a], 0.0);
    }
    ck_assert_double_eq(sum, 30.0);
    ck_assert_double_eq_tol(weight, 1.0, 1e-5);
    ck_assert_double_eq(cm_json_number(cm_json_get(answer, "to_play"), -1), count % 2);
    ck_assert_double_eq(visits[(int)cm_json_number(cm_json_get(answer, "action"), 0)], most);
    ck_assert(isfinite(cm_json_number(cm_json_get(answer, "value"), NAN)));
    ck_assert_int_eq(cm_json_size(answer), 8);
}

static void expect_error(const cm_json *answer, const char *says) {
    const char *text = cm_json_string(cm_json_get(answer, "error"));
    ck_assert_msg(text && strstr(text, says), "%s", text ? text : "no error");
    ck_assert_int_eq(cm_json_size(answer), 2);
    ck_assert_int_eq(cm_json_type(cm_json_get(answer, "moves")), CM_JSON_ARRAY);
}

START_TEST(every_line_has_an_answer_and_bad_ones_an_error_and_exit_1) {
    cm_json_doc *docs[LINES];
    search("--run game --simulations 30 --json", nine_lines);
    ck_assert_int_eq(result.status, 1);
    ck_assert_msg(strstr(result.err, "5 of 9 lines are not legal games") != NULL, "%s", result.err);
    ck_assert_int_eq(read_answers(docs, LINES), LINES);
    expect_position(cm_json_root(docs[0]), NULL, 0);
    expect_position(cm_json_root(docs[1]), (const int[]){4}, 1);
    expect_position(cm_json_root(docs[2]), (const int[]){4, 0, 8}, 3);
    expect_error(cm_json_root(docs[3]), "move 2: tictactoe: action 4 is illegal here");
    expect_error(cm_json_root(docs[5]), "move 6: the game is over after 5 moves");
    expect_error(cm_json_root(docs[6]), "must be an action, 0 to 8 or a name such as a1, got \"x\"");
    expect_error(cm_json_root(docs[7]), "move 2: must be an action");
    expect_error(cm_json_root(docs[8]), "must be an action, 0 to 8 or a name such as a1, got \"9\"");
    const cm_json *finished = cm_json_root(docs[4]);
    ck_assert_int_eq(cm_json_type(cm_json_get(finished, "action")), CM_JSON_NULL);
    ck_assert_ptr_nonnull(cm_json_get(finished, "action"));
    ck_assert_int_eq(cm_json_size(cm_json_get(finished, "legal")), 9);
    const cm_json *item = cm_json_first(cm_json_get(cm_json_root(docs[7]), "moves"));
    ck_assert_double_eq(cm_json_number(item, 0), 1.0);
    ck_assert_str_eq(cm_json_string(cm_json_next(cm_json_next(item))), "\"");
    for (int i = 0; i < LINES; i++) cm_json_free(docs[i]);
}
END_TEST

START_TEST(legal_games_alone_are_exit_0_and_say_nothing_else) {
    search("--run game --json", "\n4\n");
    ck_assert_int_eq(result.status, 0);
    ck_assert_str_eq(result.err, "");
}
END_TEST

static void write_games(int count, const char *line) {
    char path[160];
    snprintf(path, sizeof path, "%s/games.txt", cm_test_folder);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < count; i++) fputs(line, file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(long_files_say_on_stderr_how_far_it_is) {
    write_games(4000, "4,0\n");
    cm_program_run(cm_test_folder, "search --run game --positions games.txt --json --set log_interval=0.002", &result);
    ck_assert_int_eq(result.status, 0);
    ck_assert_msg(strstr(result.err, " positions answered, ") != NULL, "%s", result.err);
    ck_assert_ptr_null(strstr(result.out, "answered"));
}
END_TEST

static long count_of(const char *text, const char *part) {
    long count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) count++;
    return count;
}

/* Interrupted, later and later, until it had searched. Returns how many positions are said to be answered. */
static int interrupt_search(const char *flags) {
    char command[256];
    snprintf(command, sizeof command, "search --run game --positions games.txt --set log_interval=0.01 %s", flags);
    for (useconds_t wait = 20000;; wait *= 2) {
        int done = 0;
        result.err[0] = '\0';
        const pid_t child = cm_program_start(cm_test_folder, command);
        while (!strstr(result.err, "answered")) {
            usleep(1000);
            cm_program_file(cm_test_folder, "err.txt", result.err, sizeof result.err);
        }
        usleep(wait);
        kill(child, SIGINT);
        ck_assert_int_eq(cm_program_wait(child), 130);
        cm_program_file(cm_test_folder, "err.txt", result.err, sizeof result.err);
        cm_program_file(cm_test_folder, "out.txt", result.out, sizeof result.out);
        const char *said = strstr(result.err, "search: interrupted; ");
        ck_assert_msg(said, "%s", result.err);
        if (strstr(said, "it has no result")) continue;
        ck_assert_msg(sscanf(said, "search: interrupted; %d positions are answered", &done) == 1, "%s", said);
        return done;
    }
}

START_TEST(an_interrupt_answers_by_the_simulations_so_far) {
    write_games(100, "4,0\n");
    if (_i == 0) {
        const int done = interrupt_search("--simulations 65536");
        ck_assert_int_eq(count_of(result.out, "position "), done);
        ck_assert_int_ge(count_of(result.out, " of 65536 simulations\n"), 1);
        return;
    }
    cm_json_doc *docs[100];
    double visits[9], sum = 0.0;
    const int done = interrupt_search("--simulations 65536 --json");
    ck_assert_int_eq(read_answers(docs, 100), done);
    const cm_json *first = cm_json_root(docs[0]);
    numbers(first, "visits", 9, visits);
    for (int a = 0; a < 9; a++) sum += visits[a];
    ck_assert(sum >= 1.0 && sum < 65536.0);
    ck_assert_double_eq(visits[(int)cm_json_number(cm_json_get(first, "action"), 0)] > 0.0, 1.0);
    ck_assert_ptr_nonnull(cm_json_get(first, "interrupted"));
    for (int i = 0; i < done; i++) cm_json_free(docs[i]);
}
END_TEST

START_TEST(file_without_lines_has_no_answers) {
    search("--run game --json", "");
    ck_assert_int_eq(result.status, 0);
    ck_assert_str_eq(result.out, "");
}
END_TEST

/* 300 lines are several rounds on one thread and on three. */
START_TEST(threads_and_neighbours_change_no_answer) {
    static char input[1 << 14], one[CM_OUTPUT_BYTES];
    size_t used = 0;
    for (int i = 0; i < 300; i++) {
        const char *const games[] = {"0", "4,8", "2,4,6", "", "8,8", "1,2,3,4"};
        used += (size_t)snprintf(input + used, sizeof input - used, "%s\n", games[i * 7 % 6]);
    }
    search("--run game --json --threads 1", input);
    strcpy(one, result.out);
    search("--run game --json --threads 3", input);
    ck_assert_str_eq(result.out, one);
    search("--run game --json", "0\n"); /* the first line of the long file */
    ck_assert_int_eq(strncmp(result.out, one, strlen(result.out)), 0);
}
END_TEST

START_TEST(seed_chooses_the_start_of_tasks_with_random_starts) {
    static char first[CM_OUTPUT_BYTES];
    search("--run pole --json --seed 1", "0,1,0\n");
    ck_assert_int_eq(result.status, 0);
    strcpy(first, result.out);
    search("--run pole --json --seed 1", "0,1,0\n");
    ck_assert_str_eq(result.out, first);
    search("--run pole --json --seed 2", "0,1,0\n");
    ck_assert_str_ne(result.out, first);
}
END_TEST

START_TEST(table_shows_board_moves_and_errors_in_order) {
    search("--run game --simulations 30", nine_lines);
    ck_assert_int_eq(result.status, 1);
    const char *at = result.out;
    const char *const parts[] = {"position 1: the start\n",
                                 "   a b c",
                                 "x to move, plays ",
                                 "visits",
                                 "position 2: b2\n",
                                 "o to move, plays ",
                                 " 2 . x .",
                                 "position 3: b2 a1 c3\n",
                                 "position 4: not a legal game: move 2",
                                 "position 5: a1 a2",
                                 "the game is over",
                                 "position 9: not a legal game"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        ck_assert_msg(found != NULL, "\"%s\" is missing behind: %.300s", parts[i], at);
        at = found + strlen(parts[i]);
    }
    ck_assert_ptr_null(strchr(result.out, '\033'));
}
END_TEST

/* Where the search could choose from four of eight moves the table has no others. */
START_TEST(table_has_the_actions_that_were_drawn_and_says_how_many) {
    char line[64];
    int rows = 0;
    search("--run game --set num_sampled_actions=4", "4\n");
    ck_assert_int_eq(result.status, 0);
    for (const char *at = result.out; (at = strstr(at, "% ")) != NULL && (at = strstr(at, "%\n")) != NULL;) rows++;
    ck_assert_int_ge(rows, 1);
    ck_assert_int_le(rows, 4);
    snprintf(line, sizeof line, "  drawn: %d of 8 actions\n", rows);
    ck_assert_msg(strstr(result.out, line) != NULL, "no \"%s\" in:\n%s", line, result.out);
    ck_assert_ptr_null(strstr(result.out, " more"));
    search("--run game", "4\n");
    ck_assert_ptr_null(strstr(result.out, "drawn"));
}
END_TEST

/* Every view prints names; what is neither a name nor a number is shown as it was written. */
START_TEST(moves_may_be_named_as_they_are_shown) {
    cm_json_doc *docs[3];
    double first[9], second[9];
    char named[32];
    search("--run game --simulations 30", "4,0,8\n");
    ck_assert_msg(sscanf(result.out, "position 1: %31[^\n]", named) == 1, "%s", result.out);
    for (char *c = named; *c; c++) *c = *c == ' ' ? ',' : *c;
    char lines[128];
    snprintf(lines, sizeof lines, "4,0,8\n %s \n%.2s,d9,\n", named, named);
    search("--run game --simulations 30 --json", lines);
    ck_assert_int_eq(result.status, 1);
    ck_assert_int_eq(read_answers(docs, 3), 3);
    for (int i = 0; i < 2; i++) {
        double moves[3];
        numbers(cm_json_root(docs[i]), "moves", 3, moves);
        ck_assert(moves[0] == 4.0 && moves[1] == 0.0 && moves[2] == 8.0);
        numbers(cm_json_root(docs[i]), "visits", 9, i == 0 ? first : second);
    }
    ck_assert_mem_eq(first, second, sizeof first);
    const char *error = cm_json_string(cm_json_get(cm_json_root(docs[2]), "error"));
    ck_assert_msg(error && strstr(error, "move 2: ") && strstr(error, "got \"d9\""), "%s", error);
    for (int i = 0; i < 3; i++) cm_json_free(docs[i]);
}
END_TEST

/* ---- --tree ---- */

START_TEST(a_tree_is_written_as_a_page_and_as_its_data_alone) {
    static char page[CM_OUTPUT_BYTES], data[CM_OUTPUT_BYTES];
    cm_json_doc *doc;
    cm_program_run_with(cm_test_folder, "search --run game --positions - --tree t.html --simulations 40", "4,0\n",
                        &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    ck_assert_msg(strncmp(result.out, "t.html: 41 nodes, ", 18) == 0, "%s", result.out);
    cm_program_run_with(cm_test_folder, "search --run game --positions - --tree t.json --simulations 40", "4,0",
                        &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    cm_program_file(cm_test_folder, "t.html", page, sizeof page);
    cm_program_file(cm_test_folder, "t.json", data, sizeof data);
    ck_assert_ptr_nonnull(strstr(page, data));
    ck_assert_msg(cm_json_parse(data, strlen(data), "t.json", &doc) == CM_OK, "%s", cm_error_message());
    const cm_json *root = cm_json_root(doc);
    ck_assert_str_eq(cm_json_string(cm_json_get(root, "moves")), "b2, a1");
    ck_assert_str_eq(cm_json_string(cm_json_get(root, "task")), "tictactoe");
    ck_assert_int_eq(cm_json_size(cm_json_get(root, "visits")), 41);
    cm_json_free(doc);
}
END_TEST

START_TEST(without_positions_a_tree_is_that_of_the_start) {
    static char first[CM_OUTPUT_BYTES];
    cm_program_run(cm_test_folder, "search --run pole --tree s.json --simulations 9 --seed 5", &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    cm_program_file(cm_test_folder, "s.json", first, sizeof first);
    ck_assert_ptr_nonnull(strstr(first, "\"moves\":\"\""));
    cm_program_run(cm_test_folder, "search --run pole --tree s.json --simulations 9 --seed 6", &result);
    cm_program_file(cm_test_folder, "s.json", result.err, sizeof result.err);
    ck_assert_str_ne(first, result.err);
}
END_TEST

static const struct tree_case {
    const char *input, *flags, *says;
} bad_trees[] = {
    {"4\n4,0\n", "--tree t.html", "has several lines; --tree draws one position"},
    {"4,4\n", "--tree t.html", "not a legal game: move 2"},
    {"0,3,1,4,2\n", "--tree t.html", "the game is over after these moves"},
    {"", "--tree t.svg", "--tree t.svg: must end with .html, a page, or .json"},
    {"", "--tree .html", "--tree .html: must end with"},
    {"", "--tree t.html --json", "--json does not belong to --tree"},
    {"", "--tree t.html --case c.json", "--run does not belong to --case"},
};

START_TEST(what_has_no_tree_is_one_line_and_writes_nothing) {
    char line[128], path[160];
    snprintf(line, sizeof line, "search --run game --positions - %s", bad_trees[_i].flags);
    snprintf(path, sizeof path, "%s/t.html", cm_test_folder);
    unlink(path);
    cm_program_run_with(cm_test_folder, line, bad_trees[_i].input, &result);
    cm_program_expect_error(&result, 2, bad_trees[_i].says);
    ck_assert(!cm_file_exists(path));
}
END_TEST

START_TEST(a_tree_that_cannot_be_written_is_one_line) {
    cm_program_run(cm_test_folder, "search --run game --tree nowhere/t.html --simulations 4", &result);
    cm_program_expect_error(&result, 1, "nowhere/t.html");
}
END_TEST

static const struct usage_case {
    const char *arguments, *says;
} usages[] = {
    {"search --run game", "--positions FILE"},
    {"search --positions p.txt", "needs --run DIR"},
    {"search --run game --positions nowhere", "--positions nowhere: cannot be read"},
    {"search --run game --positions .", "--positions .: cannot be read"},
    {"search --run game --positions /dev/zero", "--positions /dev/zero:1: a line longer than 262144 bytes; "},
    {"search --run nowhere --positions -", "nowhere: there is no such run"},
    {"search --run game --positions - --simulations 0", "--simulations: must be an integer in 1..65536"},
    {"search --run game --positions - --seed x", "--seed: must be an integer"},
    {"search --run game --positions - --checkpoint 77", "has no checkpoint 77"},
    {"search --run game --positions - --check", "--check does not belong to --positions"},
    {"search --run game --case c.json", "--run does not belong to --case"},
    {"search --case c.json --json", "--json does not belong to --case"},
};

START_TEST(wrong_usage_is_one_line_and_exit_2) {
    cm_program_run(cm_test_folder, usages[_i].arguments, &result);
    cm_program_expect_error(&result, 2, usages[_i].says);
    ck_assert_str_eq(result.out, "");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/search");
    TCase *tests = tcase_create("search");
    tcase_add_test(tests, a_tree_is_written_as_a_page_and_as_its_data_alone);
    tcase_add_test(tests, without_positions_a_tree_is_that_of_the_start);
    tcase_add_loop_test(tests, what_has_no_tree_is_one_line_and_writes_nothing, 0,
                        sizeof bad_trees / sizeof *bad_trees);
    tcase_add_test(tests, a_tree_that_cannot_be_written_is_one_line);
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, every_line_has_an_answer_and_bad_ones_an_error_and_exit_1);
    tcase_add_test(tests, legal_games_alone_are_exit_0_and_say_nothing_else);
    tcase_add_test(tests, long_files_say_on_stderr_how_far_it_is);
    tcase_add_loop_test(tests, an_interrupt_answers_by_the_simulations_so_far, 0, 2);
    tcase_add_test(tests, file_without_lines_has_no_answers);
    tcase_add_test(tests, threads_and_neighbours_change_no_answer);
    tcase_add_test(tests, seed_chooses_the_start_of_tasks_with_random_starts);
    tcase_add_test(tests, table_shows_board_moves_and_errors_in_order);
    tcase_add_test(tests, table_has_the_actions_that_were_drawn_and_says_how_many);
    tcase_add_loop_test(tests, wrong_usage_is_one_line_and_exit_2, 0, (int)(sizeof usages / sizeof *usages));
    tcase_add_test(tests, moves_may_be_named_as_they_are_shown);
    return cm_test_main(suite);
}
