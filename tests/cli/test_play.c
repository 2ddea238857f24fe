/* cumind play: a person at a terminal or a pipe plays against the agent, another person, or random moves. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

#define TWO_PEOPLE "play --set env_name=tictactoe --opponent human"

static cm_output result;

static void begin_all(void) {
    cm_test_folder_make();
    cm_program_run(cm_test_folder,
                   "train --quiet --run game --config default --set env_name=tictactoe --set policy=gumbel_muzero "
                   "--set env_steps=512 "
                   "--set min_memory_steps=128 --set final_evaluation_episodes=2 --set evaluation_simulations=9",
                   &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
}

/* Plays with these lines as input; it must end well. */
static void play(const char *arguments, const char *input) {
    cm_program_run_with(cm_test_folder, arguments, input, &result);
    ck_assert_msg(result.status == 0, "status %d: %s", result.status, result.err);
    ck_assert_str_eq(result.err, "");
    ck_assert_ptr_null(strchr(result.out, '\033'));
}

/* `parts` occur in this order in the output; ends with NULL. */
static void expect_in_order(const char *const *parts) {
    const char *at = result.out;
    for (; *parts; parts++) {
        const char *found = strstr(at, *parts);
        ck_assert_msg(found != NULL, "\"%s\" is missing in, or behind its place:\n%s", *parts, at);
        at = found + strlen(*parts);
    }
}
#define EXPECT_IN_ORDER(...) expect_in_order((const char *const[]){__VA_ARGS__, NULL})

static int count_of(const char *text) {
    int count = 0;
    for (const char *at = strstr(result.out, text); at; at = strstr(at + 1, text)) count++;
    return count;
}

START_TEST(agent_answers_a_move_with_its_thoughts) {
    play("play --run game", "b2\n");
    EXPECT_IN_ORDER("you are x and move first", "9 simulations a move", " 1 . . .\n 2 . . .\n 3 . . .\n",
                    "your move (x): b2\n", "o plays ", ", expects ", "move visits", "share", "prior", "* ",
                    "your move (x): \n");
    ck_assert_ptr_nonnull(strstr(result.out, " 2 . x ."));
}
END_TEST

START_TEST(second_player_sees_the_first_move_of_the_agent) {
    play("play --run game --human second", "");
    EXPECT_IN_ORDER("you are o and move second", "x plays ", "your move (o): ");
    ck_assert_int_eq(count_of("your move"), 1);
}
END_TEST

START_TEST(bad_input_says_what_is_wrong_and_leaves_the_board) {
    static char line[600];
    memset(line, 'z', 590);
    strcpy(line + 590, "\nq\n");
    play("play --run game --opponent human", "z9\n4\nb2\nB2\n\nb2 c1\n");
    EXPECT_IN_ORDER("\"z9\" is no move; type one such as b2, or help.", "\"4\" is no move", "x has played b2",
                    "B2 is taken or not allowed now; try", "\"b2 c1\" is no move");
    ck_assert_int_eq(count_of("has played"), 1);
    play("play --run game", line);
    ck_assert_int_eq(count_of("is no move"), 1); /* one line, however long */
    EXPECT_IN_ORDER("\"zzzzzzzzzzzzzzzzzzzzzzzz...\" is no move");
    play("play --run game", "\033[A\001\n");
    EXPECT_IN_ORDER("\"?[A?\" is no move");
}
END_TEST

START_TEST(hint_is_what_search_answers_for_the_position) {
    static cm_output searched;
    char name[8] = "";
    cm_program_run_with(cm_test_folder, "search --run game --positions -", "4,0\n", &searched);
    const char *at = strstr(searched.out, "x to move, plays ");
    ck_assert_msg(at != NULL && sscanf(at, "x to move, plays %7[a-c1-3]", name) == 1, "%s", searched.out);
    play("play --run game --opponent human", "b2\na1\nhint\n");
    at = strstr(result.out, "the agent would play ");
    ck_assert_msg(at != NULL, "%s", result.out);
    ck_assert_int_eq(strncmp(at + strlen("the agent would play "), name, strlen(name)), 0);
    /* line 1 + row of the picture below the prompt, after the row's number and a blank: the star stands in the cell */
    const char *line = strstr(result.out, ": hint\n");
    for (int row = 0; row < name[1] - '0' + 2; row++) line = strchr(line, '\n') + 1;
    ck_assert_msg(line[3 + 2 * (name[0] - 'a')] == '*', "%s in %.80s", name, line);
}
END_TEST

START_TEST(hint_without_an_agent_says_what_to_do) {
    play(TWO_PEOPLE, "h\n");
    EXPECT_IN_ORDER("There is no agent to ask; play with --run DIR.");
}
END_TEST

START_TEST(undo_takes_back_the_last_own_move_and_the_answer) {
    play("play --run game", "undo\nb2\nundo\nb2\n");
    EXPECT_IN_ORDER("there is nothing to take back", "o plays ", "2 moves taken back", " 1 . . .\n 2 . . .\n 3 . . .\n",
                    "your move (x): b2\n", "o plays ");
    play("play --run game --human second", "u\n");
    EXPECT_IN_ORDER("x plays ", "there is nothing to take back");
    play(TWO_PEOPLE, "b2\na1\nu\nu\nu\n");
    EXPECT_IN_ORDER("o has played a1", "1 move taken back", "1 move taken back", "there is nothing to take back");
}
END_TEST

START_TEST(side_gives_the_position_to_the_agent) {
    play("play --run game", "side\nside\n");
    EXPECT_IN_ORDER("your move (x): side\nYou are o now.\n", "x plays ", "your move (o): side\nYou are x now.\n",
                    "o plays ", "your move (x): \n");
    play(TWO_PEOPLE, "s\n");
    EXPECT_IN_ORDER("there is no other side to take");
}
END_TEST

START_TEST(moves_and_help_list_what_there_is) {
    play(TWO_PEOPLE, "b2\nmoves\n?\n");
    EXPECT_IN_ORDER("legal moves: a1 b1 c1 a2 c2 a3 b3 c3\n", "hint  h", "undo  u", "moves m", "side  s", "new   n",
                    "help  ?", "quit  q");
    play("play --run game", "help\n");
    EXPECT_IN_ORDER("quit  q", "Prior is the\nnetwork's guess");
}
END_TEST

START_TEST(finished_game_names_the_winner_and_can_be_taken_back) {
    play(TWO_PEOPLE, "a1\nb1\na2\nb2\na3\nwhat\nu\nc3\nb3\n\n");
    EXPECT_IN_ORDER("x has played a3", "x wins.\n", "again (enter), undo, side or quit: what\n",
                    "again (enter), undo, side or quit: u\n", "1 move taken back", "x has played c3", "o wins.\n",
                    " 1 . . .\n 2 . . .\n 3 . . .\nyour move (x): \n");
    play(TWO_PEOPLE, "b2\na1\na2\nc2\nb1\nb3\na3\nc1\nc3\nq\n");
    EXPECT_IN_ORDER("A draw.\n");
    ck_assert_ptr_null(strstr(result.out, "you won"));
}
END_TEST

/* x takes three in a column of a player who moves at random: what is taken is typed in vain. */
START_TEST(games_are_counted_and_end_after_the_number_asked_for) {
    static const char nine[] = "a1\na2\na3\nb1\nb2\nb3\nc1\nc2\nc3\n";
    char input[200];
    snprintf(input, sizeof input, "%squit\n", nine);
    play("play --set env_name=tictactoe --seed 1", input);
    ck_assert_int_eq(count_of("again (enter)") > 0, 1);
    ck_assert_int_eq(count_of("\n1 game: you won "), 1);
    play("play --set env_name=tictactoe --seed 1 --episodes 1", input);
    ck_assert_int_eq(count_of("again (enter)"), 0);
    ck_assert_int_eq(count_of("\n1 game: you won "), 1);
    snprintf(input, sizeof input, "%s\n\n%s", "a1\nb1\na2\nb2\na3", "a1\nb1\na2\nb2\na3\n");
    play(TWO_PEOPLE " --episodes 2", input);
    ck_assert_int_eq(count_of("again (enter)"), 1);
    ck_assert_int_eq(count_of("x wins."), 2);
}
END_TEST

START_TEST(columns_of_connect4_are_letters) {
    play("play --set env_name=connect4 --opponent human", "4\nD\nd\n");
    EXPECT_IN_ORDER("\"4\" is no move; type one such as d", "x has played d", " 6 . . . x . . .", "o has played d",
                    " 5 . . . o . . .\n 6 . . . x . . .");
}
END_TEST

START_TEST(game_of_one_can_be_played_by_hand) {
    play("play --set env_name=2048 --human only --seed 3", "down\n1\nundo\nside\nq\n");
    EXPECT_IN_ORDER("2048: you decide every move.", "your move: down\n", "step 1: down, return ", "your move: 1\n",
                    "step 2: right, return ", "1 move taken back", "no other side");
}
END_TEST

START_TEST(agent_against_itself_is_watched_with_its_thoughts) {
    play("play --run game --human none --episodes 2", "");
    EXPECT_IN_ORDER(" 1 . . .", "x plays ", "prior", "o plays ", "prior", "episode 0: return ", "x plays ",
                    "episode 1: return ");
    ck_assert_int_eq(count_of(", x wins\n") + count_of(", o wins\n") + count_of(", a draw\n"), 2);
    play("play --run game --quiet --opponent random --episodes 3", "");
    ck_assert_int_eq(count_of("\n"), 3);
}
END_TEST

static const struct usage_case {
    const char *arguments, *says;
} usages[] = {
    {"play --run nowhere", "nowhere: there is no such run"},
    {"play --run game --checkpoint 77", "has no checkpoint 77"},
    {"play --run game --simulations 0", "--simulations: must be an integer in 1..65536"},
    {"play --run game --human both", "--human: must be one of first|second|only|none"},
    {"play --run game --human only", "tictactoe has two players; say first or second"},
    {"play --run game --human first --quiet", "say --human none"},
    {"play --run game --human none --opponent human", "does not go with --human none"},
    {"play --set env_name=tictactoe --opponent agent", "needs the weights of a run: --run DIR"},
    {"play --opponent random", "--opponent: CartPole-v1 has one player"},
    {"play --run game --episodes 0", "--episodes: must be an integer"},
};

START_TEST(wrong_usage_is_one_line_and_exit_2) {
    cm_program_run(cm_test_folder, usages[_i].arguments, &result);
    cm_program_expect_error(&result, 2, usages[_i].says);
    ck_assert_str_eq(result.out, "");
}
END_TEST

/* ---- in a terminal ---- */

/* The widest line in columns: escape sequences have none, a line is overwritten after a carriage return. */
static int widest_line(void) {
    int most = 0, width = 0;
    for (const char *c = result.out; *c; c++) {
        if (c[0] == '\033' && c[1] == '[') {
            c += 2;
            while (*c >= ' ' && *c < '@') c++;
        } else if (*c == '\n' || *c == '\r') {
            width = 0;
        } else if (((unsigned char)*c & 0xC0) != 0x80 && ++width > most) {
            most = width;
        }
    }
    return most;
}

static const int widths[] = {80, 60, 40};

START_TEST(no_line_is_wider_than_the_terminal) {
    cm_program_run_terminal(cm_test_folder, "play --run game", widths[_i], "?\nb2\nh\nz\nmoves\nundo\nside\n", &result);
    ck_assert_msg(result.status == 0, "status %d: %s", result.status, result.out);
    ck_assert_int_le(widest_line(), widths[_i]);
    ck_assert_int_ge(widest_line(), widths[_i] < 60 ? 36 : 56); /* and it is made use of */
    EXPECT_IN_ORDER("\033[1;31mx\033[0m", "\033[7m\033[1;36mo\033[0m", "█", "\033[1;33m*\033[0m", "taken back");
}
END_TEST

/* The widest boards of each game; a rhombus of 19 rows takes 58 columns. */
START_TEST(boards_fit_into_terminals_of_40_columns_or_say_what_they_need) {
    static const char *const games[] = {"tictactoe", "connect4", "othello", "gomoku19", "go19", "hex13", "hex19"};
    static const int terminals[] = {40, 80};
    char line[128];
    int columns = terminals[_i % 2];
    snprintf(line, sizeof line, "play --set env_name=%s --opponent human", games[_i / 2]);
    cm_program_run_terminal(cm_test_folder, line, columns, "moves\n?\nquit\n", &result);
    ck_assert_int_le(widest_line(), _i == 12 ? 80 : columns);
    if (_i != 12) {
        ck_assert_msg(result.status == 0, "%s", result.out);
        return;
    }
    ck_assert_int_eq(result.status, 2);
    ck_assert_str_eq(result.out, "cumind: play: needs a terminal of at\r\n    least 58 columns, this one has 40\r\n");
}
END_TEST

START_TEST(terminals_that_are_too_narrow_are_told_so) {
    cm_program_run_terminal(cm_test_folder, "play --run game", 31, "quit\n", &result);
    ck_assert_int_eq(result.status, 2);
    ck_assert_ptr_nonnull(
        strstr(result.out, "play: needs a terminal\r\n    of at least 32 columns,\r\n    this one has 31\r\n"));
    cm_program_run_terminal(cm_test_folder, "play --run game", 32, "b2\nhint\nquit\n", &result);
    ck_assert_int_eq(result.status, 0);
    ck_assert_int_le(widest_line(), 32);
    cm_program_run_terminal(cm_test_folder, "plot --run game", 29, "", &result);
    ck_assert_int_eq(result.status, 2);
    ck_assert_ptr_nonnull(
        strstr(result.out, "plot: needs a\r\n    terminal of at least 30\r\n    columns, this one has 29\r\n"));
    cm_program_run_terminal(cm_test_folder, "plot --run game", 30, "", &result);
    ck_assert_int_eq(result.status, 0);
    ck_assert_int_le(widest_line(), 30);
}
END_TEST

START_TEST(table_stands_next_to_the_board_where_there_is_space) {
    cm_program_run_terminal(cm_test_folder, "play --run game", 80, "b2\n", &result);
    ck_assert_ptr_nonnull(strstr(result.out, "   a b c   \033[1;36mo\033[0m plays "));
    cm_program_run_terminal(cm_test_folder, "play --run game", 40, "b2\n", &result);
    ck_assert_ptr_nonnull(strstr(result.out, "\r\n\033[1;36mo\033[0m plays "));
}
END_TEST

START_TEST(control_c_and_the_end_of_input_end_the_line_and_the_game) {
    cm_program_run_terminal(cm_test_folder, "play --run game", 80, _i ? "b2\n" : "b2\n\003", &result);
    ck_assert_msg(result.status == 0, "status %d: %s", result.status, result.out);
    size_t length = strlen(result.out);
    ck_assert_int_ge(length, 2);
    ck_assert_str_eq(result.out + length - 2, "\r\n");
    ck_assert_ptr_null(strstr(result.out, "cumind:"));
}
END_TEST

START_TEST(watched_game_is_redrawn_in_its_place) {
    cm_program_run_terminal(cm_test_folder, "play --run game --human none --delay 0.01", 40, "", &result);
    ck_assert_msg(result.status == 0, "status %d: %s", result.status, result.out);
    ck_assert_int_le(widest_line(), 40);
    EXPECT_IN_ORDER("\033[4A\033[J", "plays ", "\033[J", "plays ", "episode 0: return ");
}
END_TEST

/* A line below the position is one of its own. */
START_TEST(captions_of_a_watched_game_stay_on_their_side_of_the_pictures) {
    static const int columns[] = {80, 100};
    int steps[2] = {0, 0}, below[2] = {0, 0};
    cm_program_run(cm_test_folder,
                   "train --quiet --run pole --set env_steps=512 --set min_memory_steps=128 "
                   "--set final_evaluation_episodes=2",
                   &result);
    for (int i = 0; i < 2; i++) {
        cm_program_run_terminal(cm_test_folder, "play --run pole --delay 0 --episodes 3", columns[i], "", &result);
        ck_assert_msg(result.status == 0, "status %d: %s", result.status, result.out);
        for (const char *at = result.out; (at = strstr(at, "step ")) != NULL; at++, steps[i]++)
            below[i] += at[-1] == '\n';
        ck_assert_int_ge(steps[i], 24);
    }
    ck_assert_int_eq(below[0], steps[0]);
    ck_assert_int_eq(below[1], 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/play");
    TCase *tests = tcase_create("play");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, agent_answers_a_move_with_its_thoughts);
    tcase_add_test(tests, second_player_sees_the_first_move_of_the_agent);
    tcase_add_test(tests, bad_input_says_what_is_wrong_and_leaves_the_board);
    tcase_add_test(tests, hint_is_what_search_answers_for_the_position);
    tcase_add_test(tests, hint_without_an_agent_says_what_to_do);
    tcase_add_test(tests, undo_takes_back_the_last_own_move_and_the_answer);
    tcase_add_test(tests, side_gives_the_position_to_the_agent);
    tcase_add_test(tests, moves_and_help_list_what_there_is);
    tcase_add_test(tests, finished_game_names_the_winner_and_can_be_taken_back);
    tcase_add_test(tests, games_are_counted_and_end_after_the_number_asked_for);
    tcase_add_test(tests, columns_of_connect4_are_letters);
    tcase_add_test(tests, game_of_one_can_be_played_by_hand);
    tcase_add_test(tests, agent_against_itself_is_watched_with_its_thoughts);
    tcase_add_loop_test(tests, wrong_usage_is_one_line_and_exit_2, 0, (int)(sizeof usages / sizeof *usages));
    tcase_add_loop_test(tests, no_line_is_wider_than_the_terminal, 0, (int)(sizeof widths / sizeof *widths));
    tcase_add_loop_test(tests, boards_fit_into_terminals_of_40_columns_or_say_what_they_need, 0, 14);
    tcase_add_test(tests, terminals_that_are_too_narrow_are_told_so);
    tcase_add_test(tests, table_stands_next_to_the_board_where_there_is_space);
    tcase_add_loop_test(tests, control_c_and_the_end_of_input_end_the_line_and_the_game, 0, 2);
    tcase_add_test(tests, watched_game_is_redrawn_in_its_place);
    tcase_add_test(tests, captions_of_a_watched_game_stay_on_their_side_of_the_pictures);
    return cm_test_main(suite);
}
