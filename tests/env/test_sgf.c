/* Games of Go as SGF. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "env/sgf.h"
#include "support/folder.h"
#include "support/main.h"

static cm_sgf sgf;

static cm_status parse(const char *text) { return cm_sgf_parse("t", text, strlen(text), &sgf); }

static void expect_items(const char *text, const char *items) {
    char all[512] = "", *at = all;
    ck_assert_msg(parse(text) == CM_OK, "%s: %s", text, cm_error_message());
    for (int i = 0; i < sgf.count; i++)
        at += sprintf(at, "%s%c%c%d", i ? " " : "", "+=-t"[sgf.items[i].kind], "bw"[sgf.items[i].player],
                      sgf.items[i].point);
    ck_assert_msg(strcmp(all, items) == 0, "%s is read as %s", text, all);
    cm_sgf_free(&sgf);
}

START_TEST(moves_and_stones_are_read_in_their_order) {
    expect_items("(;FF[4]GM[1]SZ[9];B[aa];W[ia];B[];W[tt])", "+b0 +w8 +b81 +w81");
    expect_items("(;AB[aa][bb]AW[ac:bd]AE[cc]PL[W]SZ[5:5];W[ee])", "=b0 =b6 =w10 =w11 =w15 =w16 -b12 tw0 +w24");
    expect_items("(;SZ[3]B[aa]\n ; W \n[bb] C[x\\]y;W[zz\\\\] (;W[cc]) ] (;B[ca];W[cc])(;B[cb]))", "+b0 +w4 +w8");
    expect_items("junk ( x (;Black[ab]GaMe[1]SiZe[2])", "+b2");
    expect_items("(;)", "");
}
END_TEST

START_TEST(size_and_komi_are_those_of_the_root) {
    ck_assert_int_eq(parse("(;KM[0.5]SZ[13])"), CM_OK);
    ck_assert(sgf.size == 13 && sgf.has_komi && sgf.komi == 0.5);
    cm_sgf_free(&sgf);
    ck_assert_int_eq(parse("(;KM[what])"), CM_OK);
    ck_assert(sgf.size == 19 && !sgf.has_komi);
    cm_sgf_free(&sgf);
}
END_TEST

static const struct bad {
    const char *text, *says;
} bad[] = {
    {"", "t:1: no game in SGF, which begins with (;"},
    {"(B[aa])", "t:1: no game in SGF"},
    {"(;\nB[aa]", "t:2: the game has no end, )"},
    {"(;B[aa", "t:1: a value has no end, ]"},
    {"(;B[a\\", "t:1: a value has no end, ]"},
    {"(;B)", "t:1: a property has no value, ["},
    {"(;5)", "t:1: neither a node, ; nor a property"},
    {"(;SZ[20])", "t:1: SZ must be a size of 1..19"},
    {"(;SZ[9:7])", "t:1: SZ must be a size of 1..19"},
    {"(;SZ[])", "t:1: SZ must be a size of 1..19"},
    {"(;B[aaa])", "t:1: a point must be two letters"},
    {"(;B[a])", "t:1: a point must be two letters"},
    {"(;B[AA])", "t:1: a point must be two letters"},
    {"(;AB[])", "t:1: stones must stand on points"},
    {"(;AB[bb:aa])", "t:1: stones must stand on points"},
    {"(;AB[aa:])", "t:1: stones must stand on points"},
    {"(;SZ[5];B[ff])", "t:1: a point is beyond the board"},
    {"(;PL[x])", "t:1: PL must be B or W"},
    {"(;GM[2])", "t:1: it is no game of Go, GM[1]"},
};

START_TEST(what_is_wrong_is_told_with_its_line) {
    ck_assert_int_eq(parse(bad[_i].text), CM_ERR_INPUT);
    ck_assert_msg(strncmp(cm_error_message(), bad[_i].says, strlen(bad[_i].says)) == 0, "%s: %s", bad[_i].text,
                  cm_error_message());
    ck_assert_ptr_null(sgf.items);
}
END_TEST

START_TEST(a_game_is_read_as_it_was_written) {
    const int32_t moves[] = {40, 0, 81, 80, 81, 81};
    char path[600], result[16];
    cm_file_writer *file;
    cm_sgf_result(-3.5, result);
    ck_assert_str_eq(result, "W+3.5");
    const cm_sgf_game game = {9, -6.5, "a]b\\c\n:", "w", result, moves, 6};
    snprintf(path, sizeof path, "%s/game.sgf", cm_test_folder);
    ck_assert_int_eq(cm_file_begin(path, &file), CM_OK);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(cm_sgf_append(file, &game), CM_OK);
    ck_assert_int_eq(cm_file_commit(file), CM_OK);
    ck_assert_msg(cm_sgf_read(path, &sgf) == CM_OK, "%s", cm_error_message());
    ck_assert(sgf.size == 9 && sgf.komi == -6.5 && sgf.count == 6);
    for (int i = 0; i < 6; i++)
        ck_assert(sgf.items[i].kind == CM_SGF_MOVE && sgf.items[i].player == i % 2 && sgf.items[i].point == moves[i]);
    cm_sgf_free(&sgf);
    ck_assert_int_eq(cm_sgf_read("/nowhere.sgf", &sgf), CM_ERR_IO);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("env/sgf");
    TCase *tests = tcase_create("sgf");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, moves_and_stones_are_read_in_their_order);
    tcase_add_test(tests, size_and_komi_are_those_of_the_root);
    tcase_add_loop_test(tests, what_is_wrong_is_told_with_its_line, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tests, a_game_is_read_as_it_was_written);
    return cm_test_main(suite);
}
