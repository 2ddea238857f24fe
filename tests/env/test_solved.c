/* Files of solved positions: what is written reads back, and what is wrong is named with its line. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "env/silent_check.h"
#include "env/solved.h"
#include "env/solver.h"
#include "support/folder.h"
#include "support/main.h"

#define HEADER "{\"game\": \"tictactoe\", \"positions\": 1, \"random\": \"r\", \"games\": \"g\"}\n"
#define CORNER "{\"moves\": [0], \"source\": \"games\", \"values\": [null, -1, -1, -1, 0, -1, -1, -1, -1]}\n"

static char path[CM_TEST_PATH];
static cm_env env;

static void begin(void) {
    cm_test_file_make(path);
    must_equal(cm_env_open(&env, "tictactoe", NULL), CM_OK);
}

static void refuse(const char *text, const char *message) {
    cm_solved solved;
    must_equal(cm_file_write(path, text, strlen(text)), CM_OK);
    must_msg(cm_solved_read(path, &env, &solved) == CM_ERR_INPUT, "accepted: %s", text);
    must_msg(strstr(cm_error_message(), message) != NULL, "got \"%s\", want \"%s\"", cm_error_message(), message);
    must(solved.moves == NULL && solved.count == 0);
}

START_TEST(positions_are_read_with_their_values_and_written_the_same) {
    cm_solved solved, again;
    char state[256];
    char *first, *second;
    size_t first_size, second_size;
    must_equal(cm_file_write(path, HEADER CORNER, strlen(HEADER CORNER)), CM_OK);
    must_equal(cm_solved_read(path, &env, &solved), CM_OK);
    must_equal(solved.count, 1);
    must_equal(solved.ply[0], 1);
    must_equal(solved.source[0], CM_SOLVED_GAMES);
    must(strcmp(solved.about[CM_SOLVED_RANDOM], "r") == 0 && strcmp(solved.about[CM_SOLVED_GAMES], "g") == 0);
    const int8_t *values = cm_solved_values(&solved, 0);
    for (int a = 0; a < 9; a++) must_equal(values[a], a == 0 ? CM_SOLVER_ILLEGAL : a == 4 ? 0 : -1);
    must(cm_solver_is_choice(values, 9) && cm_solver_best(values, 9) == 0);
    must_equal(cm_solved_play(&solved, &env, 0, state), CM_OK);
    must_equal(cm_env_to_play(&env, state), 1);
    must_equal(cm_solved_save(&solved, &env, path), CM_OK);
    must_equal(cm_file_read(path, 1 << 20, &first, &first_size), CM_OK);
    must_equal(cm_solved_read(path, &env, &again), CM_OK);
    must_equal(cm_solved_save(&again, &env, path), CM_OK);
    must_equal(cm_file_read(path, 1 << 20, &second, &second_size), CM_OK);
    must(first_size == second_size && memcmp(first, second, first_size) == 0);
    free(first), free(second);
    cm_solved_free(&solved), cm_solved_free(&again);
}
END_TEST

START_TEST(wrong_files_are_refused_with_the_line) {
    refuse("", "holds 0 positions");
    refuse(HEADER, "holds 0 positions, its first line says 1");
    refuse(HEADER CORNER CORNER, ":3: more positions than the 1 of the first line");
    refuse("{\"game\": \"connect4\", \"positions\": 1, \"random\": \"\", \"games\": \"\"}\n",
           ":1: positions of connect4, and not of tictactoe");
    refuse("{\"game\": \"tictactoe\", \"positions\": 0, \"random\": \"\", \"games\": \"\"}\n",
           ":1: positions: must be");
    refuse(HEADER "{\"moves\": [0, 9]}\n", ":2: moves: must be actions, 0 to 8");
    refuse(HEADER "{\"moves\": [0, 0]}\n", ":2: ");
    refuse(HEADER "{\"moves\": [0, 3, 1, 4, 2]}\n", ":2: moves: the game is over");
    refuse(HEADER "{\"moves\": [0,1,2,3,4,5,6,7,8,0]}\n", ":2: moves: 10 are more than a game has");
    refuse(HEADER "{\"moves\": [0], \"source\": \"dreams\"}\n", ":2: source: must be \"random\" or \"games\"");
    refuse(HEADER "{\"moves\": [0], \"source\": \"games\", \"values\": [null, 1]}\n",
           ":2: values: must be one per action");
    refuse(HEADER "{\"moves\": [0], \"source\": \"games\", \"values\": [0, 0, 0, 0, 0, 0, 0, 0, 0]}\n",
           ":2: values: action 0 is illegal: its value must be null");
    refuse(HEADER "{\"moves\": [0], \"source\": \"games\", \"values\": [null, 0, 0, 0, 0, 0, 0, 0, 2]}\n",
           ":2: values: action 8 is legal: its value must be -1, 0 or 1");
}
END_TEST

START_TEST(a_choice_needs_two_legal_actions_that_differ) {
    const int8_t none[3] = {CM_SOLVER_ILLEGAL, 0, 0}, one[3] = {CM_SOLVER_ILLEGAL, CM_SOLVER_ILLEGAL, -1};
    const int8_t some[3] = {1, CM_SOLVER_ILLEGAL, 0};
    must(!cm_solver_is_choice(none, 3) && !cm_solver_is_choice(one, 3) && cm_solver_is_choice(some, 3));
    must_equal(cm_solver_best(one, 3), -1);
    must_equal(cm_solver_best(some, 3), 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("solved positions");
    TCase *tcase = tcase_create("files");
    tcase_add_checked_fixture(tcase, begin, NULL);
    tcase_add_test(tcase, positions_are_read_with_their_values_and_written_the_same);
    tcase_add_test(tcase, wrong_files_are_refused_with_the_line);
    tcase_add_test(tcase, a_choice_needs_two_legal_actions_that_differ);
    suite_add_tcase(suite, tcase);
    return cm_test_main_in_process(suite);
}
