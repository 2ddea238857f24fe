/* Games as text. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env/moves.h"
#include "support/main.h"

static cm_env env;
static void *state;

static void begin(const char *name) {
    ck_assert_int_eq(cm_env_open(&env, name, NULL), CM_OK);
    state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 0);
}
static void begin_game(void) { begin("tictactoe"); }
static void end_game(void) { free(state); }

static cm_status play(const char *text) { return cm_moves_play(&env, state, text, strlen(text)); }

static void expect_cells(const char *stones) {
    int32_t cells[9];
    cm_env_board(&env, state, cells);
    for (int c = 0; c < 9; c++) ck_assert_msg(".xo"[cells[c]] == stones[c], "cell %d is %d", c, cells[c]);
}

START_TEST(list_of_three_moves_is_played) {
    ck_assert_int_eq(play("4,0,8"), CM_OK);
    expect_cells("o...x...x");
    ck_assert_int_eq(cm_env_to_play(&env, state), 1);
}
END_TEST

START_TEST(empty_and_blank_lists_are_the_start) {
    ck_assert_int_eq(play(""), CM_OK);
    ck_assert_int_eq(play(" \t\r"), CM_OK);
    expect_cells(".........");
}
END_TEST

START_TEST(blanks_and_the_end_of_a_dos_line_are_skipped) {
    ck_assert_int_eq(play(" 4 ,\t0, 8 \r"), CM_OK);
    expect_cells("o...x...x");
}
END_TEST

START_TEST(blanks_alone_stand_between_moves_too) {
    ck_assert_int_eq(play("4 a1  8\t\r"), CM_OK);
    expect_cells("o...x...x");
}
END_TEST

/* In a list as it is written, with either between them. */
START_TEST(what_is_shown_of_moves_is_read_as_these) {
    static const char *const names[] = {"tictactoe", "CartPole-v1", "Pendulum-v1", "glide2", "go9", "connect4"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin(names[i]);
        for (int action = 0; action < env.spec.actions; action++) {
            char name[16], text[48];
            cm_move_item item;
            cm_move_text(&env, action, name);
            snprintf(text, sizeof text, "%s %s,%s", name, name, name);
            cm_move_list list = cm_move_list_begin(&env, text, strlen(text));
            for (int k = 0; k < 3; k++)
                ck_assert_msg(cm_move_list_next(&list, &item) && item.number == action, "%s: %s", names[i], text);
            ck_assert(!cm_move_list_next(&list, &item));
        }
        end_game();
    }
}
END_TEST

/* As the Go Text Protocol names them: rows from below, no column i. */
START_TEST(points_of_go_and_gomoku_are_counted_from_below) {
    static const struct point {
        const char *game, *name;
        int action;
    } points[] = {{"go9", "a9", 0},    {"go9", "j9", 8},        {"go9", "a1", 72},
                  {"go9", "j1", 80},   {"go9", "pass", 81},     {"go9", "i1", -1},
                  {"go19", "t19", 18}, {"gomoku15", "p1", 224}, {"gomoku15", "h15", 7}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        begin(points[i].game);
        ck_assert_int_eq(cm_env_action_parse(&env, points[i].name), points[i].action);
        if (points[i].action >= 0) {
            char name[16];
            cm_move_text(&env, points[i].action, name);
            ck_assert_str_eq(name, points[i].name);
        }
        end_game();
    }
}
END_TEST

START_TEST(pictures_have_the_names_of_points) {
    char text[CM_ENV_PICTURE_BYTES];
    begin("go9");
    cm_env_picture(&env, state, text, sizeof text);
    ck_assert_int_eq(strncmp(text, "   a b c d e f g h j\n 9 . . .", 29), 0);
    ck_assert_ptr_nonnull(strstr(text, "\n 1 . . . . . . . . .\n"));
    end_game();
}
END_TEST

START_TEST(finished_game_is_a_legal_list) {
    ck_assert_int_eq(play("0,3,1,4,2"), CM_OK);
    ck_assert(cm_env_ended(state));
}
END_TEST

static const struct bad_case {
    const char *text, *says, *stones;
} bad[] = {
    {"x", "move 1: must be an action, 0 to 8 or a name such as a1, got \"x\"", "........."},
    {"4,9", "move 2: must be an action, 0 to 8 or a name such as a1, got \"9\"", "....x...."},
    {"4,-1", "move 2: must be an action, 0 to 8 or a name such as a1, got \"-1\"", "....x...."},
    {"4,+1", "move 2: must be an action, 0 to 8 or a name such as a1, got \"+1\"", "....x...."},
    {"4,1.0", "move 2: must be an action, 0 to 8 or a name such as a1, got \"1.0\"", "....x...."},
    {"4 0 y z", "move 3: must be an action, 0 to 8 or a name such as a1, got \"y z\"", "o...x...."},
    {"4,,1", "move 2: must be an action, 0 to 8 or a name such as a1, got \"\"", "....x...."},
    {"4,", "move 2: must be an action, 0 to 8 or a name such as a1, got \"\"", "....x...."},
    {",", "move 1: must be an action, 0 to 8 or a name such as a1, got \"\"", "........."},
    {"4294967296", "move 1: must be an action, 0 to 8 or a name such as a1, got \"4294967296\"", "........."},
    {"4,0,4", "move 3: tictactoe: action 4 is illegal here", "o...x...."},
    {"0,3,1,4,2,8", "move 6: the game is over after 5 moves", "xxxoo...."},
};

START_TEST(illegal_list_names_the_move_and_stops_before_it) {
    ck_assert_int_eq(play(bad[_i].text), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), bad[_i].says);
    expect_cells(bad[_i].stones);
}
END_TEST

START_TEST(text_ends_at_its_size_and_zero_bytes_are_no_numbers) {
    ck_assert_int_eq(cm_moves_play(&env, state, "4,0,8", 3), CM_OK);
    expect_cells("o...x....");
    ck_assert_int_eq(cm_moves_play(&env, state, "8\0", 2), CM_ERR_INPUT);
    expect_cells("o...x....");
}
END_TEST

START_TEST(actions_have_names_too_and_numbers_one_form) {
    static const char *const others[] = {"+8", "08x", "0x8", "c", "c33", "-0"};
    ck_assert_int_eq(cm_moves_play(&env, state, "b2, A1", 6), CM_OK);
    expect_cells("o...x....");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(cm_moves_play(&env, state, others[i], strlen(others[i])) == CM_ERR_INPUT, "%s", others[i]);
    expect_cells("o...x....");
    ck_assert_int_eq(cm_moves_play(&env, state, "C3", 2), CM_OK);
    expect_cells("o...x...x");
}
END_TEST

START_TEST(names_are_mentioned_where_lists_may_hold_them) {
    static const char *const cases[][2] = {
        {"CartPole-v1", "move 1: must be an action, 0 to 1 or a name such as left, got \"x\""},
        {"connect4", "move 1: must be an action, 0 to 6 or a name such as a, got \"x\""},
        {"Pendulum-v1", "move 1: must be an action, 0 to 10, got \"x\""}, /* numbers alone */
        {"glide2", "move 1: must be an action, 0 to 120, got \"x\""},     /* "0,0" */
        {"glide6", "move 1: must be an action, 0 to 728, got \"x\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i][0]);
        ck_assert_int_eq(play("x"), CM_ERR_INPUT);
        ck_assert_str_eq(cm_error_message(), cases[i][1]);
        end_game();
    }
}
END_TEST

START_TEST(items_are_read_back_as_they_were_written) {
    const char *text = " 12 , a b,,999999999,1000000000";
    const char *const items[] = {"12", "a b", "", "999999999", "1000000000"};
    const int numbers[] = {12, -1, -1, 999999999, -1};
    cm_move_list list = cm_move_list_begin(&env, text, strlen(text));
    cm_move_item item;
    for (int i = 0; i < 5; i++) {
        ck_assert(cm_move_list_next(&list, &item));
        ck_assert_int_eq(item.length, (int)strlen(items[i]));
        ck_assert_int_eq(strncmp(item.text, items[i], strlen(items[i])), 0);
        ck_assert_int_eq(item.number, numbers[i]);
    }
    ck_assert(!cm_move_list_next(&list, &item));
    ck_assert(!cm_move_list_next(&list, &item));
}
END_TEST

/* Chance is drawn from the state's own generator: the same seed and moves are the same position. */
START_TEST(seeded_game_of_chance_is_played_again_exactly) {
    begin("2048");
    void *again = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 7);
    cm_env_reset(&env, again, 7);
    uint8_t legal[4];
    char text[64] = "";
    for (int i = 0; i < 8; i++) {
        int action = 0;
        cm_env_legal(&env, state, legal);
        while (!legal[action]) action++;
        char move[3] = {(char)('0' + action), '\0', '\0'};
        if (i > 0) strcat(text, ",");
        strcat(text, move);
        ck_assert_int_eq(play(move), CM_OK);
    }
    ck_assert_int_eq(cm_moves_play(&env, again, text, strlen(text)), CM_OK);
    ck_assert_mem_eq(state, again, env.spec.state_size);
    free(again);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("env/moves");
    TCase *tests = tcase_create("moves");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, begin_game, end_game);
    tcase_add_test(tests, list_of_three_moves_is_played);
    tcase_add_test(tests, empty_and_blank_lists_are_the_start);
    tcase_add_test(tests, blanks_and_the_end_of_a_dos_line_are_skipped);
    tcase_add_test(tests, blanks_alone_stand_between_moves_too);
    tcase_add_test(tests, finished_game_is_a_legal_list);
    tcase_add_loop_test(tests, illegal_list_names_the_move_and_stops_before_it, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tests, text_ends_at_its_size_and_zero_bytes_are_no_numbers);
    tcase_add_test(tests, actions_have_names_too_and_numbers_one_form);
    tcase_add_test(tests, items_are_read_back_as_they_were_written);
    TCase *names = tcase_create("names");
    suite_add_tcase(suite, names);
    tcase_add_test(names, names_are_mentioned_where_lists_may_hold_them);
    tcase_add_test(names, what_is_shown_of_moves_is_read_as_these);
    tcase_add_test(names, points_of_go_and_gomoku_are_counted_from_below);
    tcase_add_test(names, pictures_have_the_names_of_points);
    TCase *chance = tcase_create("chance");
    suite_add_tcase(suite, chance);
    tcase_add_checked_fixture(chance, NULL, end_game);
    tcase_add_test(chance, seeded_game_of_chance_is_played_again_exactly);
    return cm_test_main(suite);
}
