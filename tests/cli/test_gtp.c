/* cumind gtp: what controllers of the Go Text Protocol ask, and what they get. */
#include <math.h>
#include <signal.h>

#include "core/json.h"
#include "runs.h"

#define TINY                                                                                                           \
    " --config default --threads 1 --set env_steps=32 --set min_memory_steps=16 --set num_envs=4 --set batch_size=8"   \
    " --set hidden_dim=16 --set final_evaluation_episodes=1 --set num_simulations=2 --set evaluation_simulations=4"    \
    " --set replay_ratio=1 --set policy=gumbel_muzero"

static void begin_all(void) {
    static const char *const games[] = {"go5", "othello", "hex4", "gomoku9", "catch"};
    cm_test_folder_make();
    for (size_t i = 0; i < sizeof games / sizeof *games; i++) {
        char line[512];
        snprintf(line, sizeof line, "train --quiet --run %s --set env_name=%s" TINY, games[i], games[i]);
        expect_ok(line);
    }
}

/* Sends the lines to an engine of the game's run, which must end well. */
static void talk(const char *game, const char *input) {
    char line[64];
    snprintf(line, sizeof line, "gtp --run %s --threads 1", game);
    cm_program_run_with(cm_test_folder, line, input, &result);
    ck_assert_msg(result.status == 0, "status %d: %s", result.status, result.err);
    ck_assert_str_eq(result.err, "");
}

/* Answer number `index`, from 0, without the empty line at its end. */
static const char *answer(int index) {
    static char text[8192];
    const char *at = result.out;
    for (int i = 0; i < index; i++) {
        at = strstr(at, "\n\n");
        ck_assert_msg(at != NULL, "fewer than %d answers: %s", index + 1, result.out);
        at += 2;
    }
    const char *end = strstr(at, "\n\n");
    ck_assert_msg(end != NULL, "fewer than %d answers: %s", index + 1, result.out);
    snprintf(text, sizeof text, "%.*s", (int)(end - at), at);
    return text;
}

static void expect_answer(int index, const char *text) {
    const char *got = answer(index);
    ck_assert_msg(strcmp(got, text) == 0, "answer %d is \"%s\", not \"%s\"", index, got, text);
}

START_TEST(answers_have_numbers_and_comments_and_blank_lines_none) {
    talk("go5", "1 protocol_version\n\n# nothing\n  \t\n00 name # who\r\n7\tknown_command\tplay\nknown_command foo\n"
                "12 foo\nfoo\nplay b\nplay x a1\nplay b z9\nkomi x\n3 quit\nname\n");
    ck_assert_str_eq(result.out,
                     "=1 2\n\n=00 cumind\n\n=7 true\n\n= false\n\n?12 unknown command\n\n? unknown command\n\n"
                     "? syntax error\n\n? syntax error\n\n? syntax error\n\n? syntax error\n\n=3\n\n");
}
END_TEST

START_TEST(input_may_end_anywhere_and_lines_be_long) {
    static char input[20000];
    talk("go5", "name");
    ck_assert_str_eq(result.out, "= cumind\n\n");
    memset(input, 'a', sizeof input - 6);
    strcpy(input + sizeof input - 7, "\nname");
    talk("go5", input);
    ck_assert_str_eq(result.out, "? unknown command\n\n= cumind\n\n");
    for (size_t i = 0; i + 2 < 4000; i += 2) memcpy(input + i, "a ", 2);
    strcpy(input + 3998, "\n");
    talk("go5", input);
    ck_assert_str_eq(result.out, "? unknown command\n\n");
}
END_TEST

START_TEST(points_are_named_from_the_corner_below) {
    talk("go5", "play b A1\nplay w e5\nshowboard\n");
    expect_answer(2,
                  "= \n   A B C D E\n 5 . . . . O 5\n 4 . . . . . 4\n 3 . . . . . 3\n 2 . . . . . 2\n 1 X . . . . 1\n"
                  "   A B C D E");
    talk("gomoku9", "play b J1\nplay w H9\nplay b I2\ngogui-rules_board\n");
    ck_assert_str_eq(answer(2), "? syntax error");
    ck_assert_ptr_nonnull(strstr(answer(3), "= . . . . . . . O .\n"));
    ck_assert_ptr_nonnull(strstr(answer(3), "\n. . . . . . . . X"));
}
END_TEST

START_TEST(size_is_that_of_the_network) {
    talk("go5", "boardsize 5\nboardsize 9\nboardsize x\n");
    expect_answer(0, "=");
    expect_answer(1, "? unacceptable size: the network of the run is for 5 x 5");
    expect_answer(2, "? syntax error");
}
END_TEST

START_TEST(a_colour_may_move_twice_and_all_moves_be_taken_back) {
    talk("go5",
         "play b c3\nplay b c4\nplay b c5\nplay w pass\nplay w pass\nreg_genmove b\nplay w a1\nundo\nundo\nundo\n"
         "undo\nundo\nundo\nundo\nshowboard\n");
    for (int i = 0; i < 5; i++) expect_answer(i, "=");
    ck_assert_int_eq(answer(5)[0], '=');
    for (int i = 6; i < 13; i++) expect_answer(i, "=");
    expect_answer(13, "? cannot undo");
    ck_assert_ptr_null(strpbrk(answer(14), "XO"));
}
END_TEST

START_TEST(superko_and_suicide_are_told_apart) {
    talk("go5", "play b b2\nplay b c1\nplay b c3\nplay w d1\nplay w d3\nplay w e2\nplay w c2\nplay b d2\nplay w c2\n"
                "play w a5\nplay w b4\nplay w a4\nplay b a5\nclear_board\nplay w a2\nplay w b1\nplay b a1\n");
    for (int i = 0; i < 8; i++) expect_answer(i, "=");
    expect_answer(8, "? illegal move: C2 makes a position that has been (positional superko)");
    expect_answer(12, "? illegal move: A5 is occupied");
    expect_answer(16, "? illegal move: A1 is suicide");
}
END_TEST

START_TEST(generated_moves_are_played_and_legal) {
    char input[4096] = "";
    for (int i = 0; i < 30; i++) strcat(input, i % 2 ? "genmove w\n" : "genmove b\n");
    talk("go5", input);
    for (int i = 0; i < 30; i++) ck_assert_int_eq(answer(i)[0], '=');
    char move[8];
    ck_assert_int_eq(sscanf(answer(0), "= %7s", move), 1);
    snprintf(input, sizeof input, "play b %s\nundo\nreg_genmove b\nreg_genmove b\nplay b %s\n", move, move);
    talk("go5", input);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(answer(i)[0], '=');
}
END_TEST

/* The environment's games of 5 x 5 end after 50 plies. */
START_TEST(games_may_be_longer_than_those_of_the_environment) {
    char input[4096] = "", *at = input;
    for (int point = 1; point < 25; point++) at += sprintf(at, "play b %c%d\n", "abcde"[point % 5], 1 + point / 5);
    strcpy(at, "play w a1\nplay b c3\nplay w d3\nplay b d2\ngenmove w\nplay b e3\ngenmove w\nfinal_score\n");
    talk("go5", input);
    for (int i = 0; i < 32; i++) ck_assert_msg(answer(i)[0] == '=', "%d: %s", i, answer(i));
}
END_TEST

START_TEST(komi_counts_and_other_rules_are_refused) {
    talk("go5", "final_score\nkomi 0.5\nget_komi\nplay b c3\nfinal_score\nkomi 25\nfinal_score\nkomi 1000\n"
                "kata-set-rules chinese-ogs\nkata-set-rules {\"ko\": \"SIMPLE\"}\n"
                "kata-set-rules {\"ko\":\"POSITIONAL\", \"scoring\": \"AREA\", \"suicide\": false}\n"
                "kata-set-rules tromp-taylor\n");
    expect_answer(0, "= W+7.5");
    expect_answer(2, "= 0.5");
    expect_answer(4, "= B+24.5");
    expect_answer(6, "= 0");
    ck_assert_int_eq(answer(7)[0], '?');
    expect_answer(8, "=");
    ck_assert_int_eq(answer(9)[0], '?');
    expect_answer(10, "=");
    ck_assert_int_eq(answer(11)[0], '?');
}
END_TEST

START_TEST(handicap_is_no_move) {
    talk("go5",
         "fixed_handicap 2\nset_free_handicap b2 d4 pass\nset_free_handicap b2 b2\nset_free_handicap b2 d4\nundo\n"
         "set_free_handicap a1 a2\nfinal_status_list alive\nfinal_status_list dead\nclear_board\n"
         "place_free_handicap 3\nundo\n");
    expect_answer(0, "? invalid number of stones: none on 5 x 5");
    expect_answer(1, "? bad vertex list");
    expect_answer(2, "? bad vertex list");
    expect_answer(3, "=");
    expect_answer(4, "? cannot undo");
    expect_answer(5, "? board not empty");
    expect_answer(6, "= D4\nB2");
    expect_answer(7, "=");
    char first[4], second[4], third[4];
    ck_assert_int_eq(sscanf(answer(9), "= %3s %3s %3s", first, second, third), 3);
    expect_answer(10, "? cannot undo");
}
END_TEST

START_TEST(othello_has_its_rules_and_its_result) {
    talk("othello", "gogui-rules_game_id\ngogui-rules_board_size\ngogui-rules_board\ngogui-rules_side_to_move\n"
                    "gogui-rules_legal_moves\nplay w d3\nplay b a1\nplay b d3\ngogui-rules_side_to_move\n"
                    "gogui-rules_final_result\nfinal_score\ngenmove w\nundo\nundo\nundo\nkomi 3\n");
    expect_answer(0, "= Othello");
    expect_answer(1, "= 8");
    expect_answer(2, "= . . . . . . . .\n. . . . . . . .\n. . . . . . . .\n. . . X O . . .\n. . . O X . . .\n"
                     ". . . . . . . .\n. . . . . . . .\n. . . . . . . .");
    expect_answer(3, "= black");
    expect_answer(4, "= D3 C4 F5 E6");
    expect_answer(5, "? illegal move: black is to move");
    expect_answer(6, "? illegal move: A1 is not allowed now");
    expect_answer(7, "=");
    expect_answer(8, "= white");
    expect_answer(9, "=");
    expect_answer(10, "? cannot score: the game is not over");
    ck_assert_int_eq(answer(11)[0], '=');
    expect_answer(14, "? cannot undo");
    expect_answer(15, "? unknown command");
}
END_TEST

/* The shortest game that Black wins by taking all discs. */
START_TEST(a_game_that_is_over_is_scored) {
    talk("othello",
         "play b e6\nplay w f4\nplay b e3\nplay w f6\nplay b g5\nplay w d6\nplay b e7\nplay w f5\nplay b c5\n"
         "gogui-rules_final_result\ngogui-rules_legal_moves\nfinal_score\ngenmove w\nplay w a1\n");
    for (int i = 0; i < 9; i++) expect_answer(i, "=");
    expect_answer(9, "= Black wins");
    expect_answer(10, "=");
    expect_answer(11, "= B+64"); /* 13 discs, and the empty cells are the winner's */
    ck_assert_int_eq(answer(12)[0], '?');
    expect_answer(13, "? illegal move: the game is over");
}
END_TEST

START_TEST(hex_is_won_by_a_chain) {
    talk("hex4",
         "play b a1\nplay w b1\nplay b a2\nplay w b2\nplay b a3\nplay w b3\nplay b a4\ngogui-rules_final_result\n"
         "final_score\nundo\ngogui-rules_final_result\ngogui-rules_side_to_move\n");
    for (int i = 0; i < 7; i++) expect_answer(i, "=");
    expect_answer(7, "= Black wins");
    expect_answer(8, "= B+");
    expect_answer(10, "=");
    expect_answer(11, "= black");
}
END_TEST

START_TEST(time_is_told_in_every_form) {
    talk("go5", "time_settings 0 1 0\ntime_settings 30 10 5\ntime_left b 7 0\ntime_left white 4.5 2\ntime_left b x 0\n"
                "time_settings -1 0 0\nkgs-time_settings none\nkgs-time_settings absolute 60\n"
                "kgs-time_settings canadian 60 30 5\nkgs-time_settings byoyomi 60 30 5\nkgs-time_settings glass 3\n"
                "time_settings 0 0.001 1\ngenmove b\ntime_left w 0 0\ngenmove w\n");
    const char *const fine = "111100111101111";
    for (int i = 0; fine[i]; i++) ck_assert_msg((answer(i)[0] == '=') == (fine[i] == '1'), "%d: %s", i, answer(i));
    cm_program_run_with(cm_test_folder, "gtp --run go5 --seconds-per-move 0", "name\n", &result);
    cm_program_expect_error(&result, 2, "--seconds-per-move: must be more than 0 seconds");
    cm_program_run_with(cm_test_folder, "gtp --run go5 --seconds-per-move 1 --seconds-per-game 1m", "name\n", &result);
    cm_program_expect_error(&result, 2, "--seconds-per-game: does not go with --seconds-per-move; give one");
}
END_TEST

START_TEST(matches_and_games_at_the_prompt_have_clocks) {
    expect_ok("eval --run go5 --threads 1 --opponent random --games 2 --seconds-per-move 0.01 --json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"games\": 2"));
    expect_ok("eval --run go5 --threads 1 --opponent go5 --games 2 --seconds-per-game 0.05");
    expect_exit("eval --run go5 --threads 1 --opponent all --seconds-per-game 1", 2, "its games have no clock");
    cm_program_run_with(cm_test_folder, "play --run go5 --seconds-per-move 0.01", "c3\n", &result);
    ck_assert_msg(result.status == 0 && strstr(result.out, "o plays "), "%s", result.err);
}
END_TEST

static void write_text(const char *name, const char *text) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

START_TEST(games_in_sgf_are_loaded_with_komi_and_stones) {
    write_text("game.sgf", "(;GM[1]SZ[5]KM[0.5]AB[bb][dd]AW[ca:cc];W[ee];B[](;W[ac])(;W[aa]))");
    write_text("nine.sgf", "(;SZ[9];B[aa])");
    write_text("twice.sgf", "(;SZ[5];B[aa];W[aa])");
    write_text("edit.sgf", "(;SZ[5];B[cc];W[aa]AE[aa]AB[ba];B[ca])");
    talk("go5",
         "play b a1\nloadsgf game.sgf\nget_komi\ngogui-rules_board\nundo\nundo\nundo\nundo\n"
         "loadsgf game.sgf 2\ngogui-rules_board\nloadsgf game.sgf 9\nloadsgf nine.sgf\nloadsgf twice.sgf\n"
         "loadsgf none.sgf\nloadsgf game.sgf 0\ngogui-rules_board\nget_komi\nloadsgf edit.sgf\ngogui-rules_board\n");
    expect_answer(2, "= 0.5");
    expect_answer(3, "= . . O . .\n. X O . .\nO . O . .\n. . . X .\n. . . . O");
    for (int i = 4; i < 7; i++) expect_answer(i, "=");
    expect_answer(7, "? cannot undo");
    expect_answer(9, "= . . O . .\n. X O . .\n. . O . .\n. . . X .\n. . . . O");
    expect_answer(10, "? cannot load file: it has 3 moves, there is none before 9");
    expect_answer(11, "? cannot load file: its board is 9 x 9, and the network of the run is for 5 x 5");
    expect_answer(12, "? cannot load file: move 2: illegal move: A5 is occupied");
    ck_assert_ptr_nonnull(strstr(answer(13), "? cannot load file: none.sgf: "));
    expect_answer(14, "? cannot load file: syntax error");
    ck_assert_str_eq(answer(15), "= . . O . .\n. X O . .\n. . O . .\n. . . X .\n. . . . O"); /* as before */
    expect_answer(16, "= 0.5");
    expect_answer(18, "= . X X . .\n. . . . .\n. . X . .\n. . . . .\n. . . . .");
}
END_TEST

START_TEST(positions_of_sgf_are_searched) {
    write_text("game.sgf", "(;GM[1]SZ[5]AB[bb][dd];W[ee];B[aa])");
    expect_ok("search --run go5 --threads 1 --sgf game.sgf --json");
    ck_assert_ptr_nonnull(strstr(result.out, "{\"moves\": [6, 25, 18, 24, 0]"));
    expect_ok("search --run go5 --threads 1 --sgf game.sgf --move 0");
    ck_assert_ptr_nonnull(strstr(result.out, "o to move"));
    expect_exit("search --run go5 --sgf game.sgf --move 3", 2,
                "--sgf game.sgf: it has 2 moves, there is none before 4");
    expect_exit("search --run hex4 --sgf game.sgf", 2, "--sgf: is for runs of go, not of hex4");
    expect_exit("search --run go5 --sgf game.sgf --positions -", 2, "--positions does not belong to --sgf");
    expect_exit("search --run go5 --positions - --move 3", 2, "--move does not belong to --positions");
    expect_ok("search --run go5 --threads 1 --sgf game.sgf --tree tree.json --simulations 9");
    cm_program_file(cm_test_folder, "tree.json", result.out, sizeof result.out);
    ck_assert_ptr_nonnull(strstr(result.out, "\"moves\":\"b4, pass, d2, e1, a5\""));
    expect_exit("search --run go5 --tree nowhere/tree.html", 1, "--tree: nowhere/tree.html: cannot write");
    expect_exit("search --run go5 --tree tree.json --move 3", 2, "--move does not belong to --tree");
    expect_exit("search --run go5 --sgf game.sgf --positions - --tree tree.json", 2,
                "--positions does not belong to --sgf");
    expect_exit("search --run go5 --sgf game.sgf --move 3 --tree tree.json", 2, "it has 2 moves");
}
END_TEST

static int count_in(const char *name, const char *what) {
    static char text[65536];
    int count = 0;
    cm_program_file(cm_test_folder, name, text, sizeof text);
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) count++;
    return count;
}

START_TEST(games_are_saved_as_sgf) {
    expect_ok("eval --run go5 --threads 1 --opponent random --games 4 --save-games match.sgf");
    ck_assert_int_eq(count_in("match.sgf", "(;FF[4]GM[1]"), 4);
    ck_assert_int_eq(count_in("match.sgf", "PB[random]PW[go5]RE["), 2);
    expect_ok("play --run go5 --threads 1 --human none --quiet --episodes 2 --save-games watched.sgf");
    ck_assert_int_eq(count_in("watched.sgf", "PB[agent]PW[agent]RE["), 2);
    cm_program_run_with(cm_test_folder, "play --set env_name=go5 --opponent human --save-games mine.sgf",
                        "c3\npass\npass\n", &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    ck_assert_int_eq(count_in("mine.sgf", "PB[human]PW[human]RE[B+17.5]\n;B[cc];W[];B[])\n"), 1);
    talk("go5", "loadsgf match.sgf\nloadsgf mine.sgf\nfinal_score\n");
    expect_answer(0, "=");
    expect_answer(2, "= B+17.5");
    cm_program_run_with(cm_test_folder, "play --set env_name=go5 --opponent human --save-games mine.sgf",
                        "c3\nb3\nundo\nd3\nquit\n", &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    ck_assert_int_eq(count_in("mine.sgf", "RE[?]\n;B[cc];W[dc])\n"), 1);
    cm_program_run_with(cm_test_folder, "play --set env_name=go5 --opponent human --save-games mine.sgf", "quit\n",
                        &result);
    ck_assert_int_eq(count_in("mine.sgf", "W[dc])\n"), 1); /* where nothing was played, the file stays */
    const pid_t child = cm_program_start(
        cm_test_folder, "play --run go5 --threads 1 --human none --delay 0.3 --episodes 9 --save-games hung.sgf");
    await_text("out.txt", "x plays ");
    kill(child, SIGHUP);
    ck_assert_int_eq(cm_program_wait(child), 0);
    ck_assert_int_eq(count_in("hung.sgf", "PB[agent]PW[agent]RE[?]"), 1);
    expect_exit("eval --run hex4 --opponent random --games 2 --save-games x.sgf", 2, "SGF is for games of go");
    expect_exit("play --run hex4 --human none --quiet --save-games x.sgf", 2, "--save-games x.sgf: writes games of go");
    expect_exit("play --run go5 --human none --quiet --save-games x.json", 2, "to a file that ends with .sgf");
}
END_TEST

/* White's stone has no way out; a white wall with two eyes is not to be captured, nor an eye filled. */
START_TEST(dead_stones_are_captured_in_the_cleanup) {
    write_text("dead.sgf", "(;SZ[5]AB[ab][bb][cb][db][eb][ac][bc][cc][dc][ec][bd][be][de][ee][ed]AW[ba]PL[B])");
    talk("go5", "loadsgf dead.sgf\nkgs-genmove_cleanup b\nplay w pass\nkgs-genmove_cleanup b\nplay w pass\n"
                "kgs-genmove_cleanup b\nplay w pass\nkgs-genmove_cleanup b\nplay w pass\nkgs-genmove_cleanup b\n"
                "play w pass\nkgs-genmove_cleanup b\nfinal_score\n");
    expect_answer(12, "= B+17.5");
    expect_answer(11, "= pass");
}
END_TEST

START_TEST(analysis_lasts_until_the_next_line) {
    talk("go5", "play b c3\n7 lz-analyze w 1\nkata-analyze interval 2\nlz-analyze b x\nlz-analyze 0\nname\n");
    int visits, winrate, prior;
    float utility, rate;
    char move[8];
    const char *text = answer(1);
    ck_assert_msg(strncmp(text, "=7\ninfo move ", 13) == 0, "%s", text);
    ck_assert_int_eq(
        sscanf(text, "=7 info move %7s visits %d winrate %d prior %d lcb %*d order 0", move, &visits, &winrate, &prior),
        4);
    ck_assert(visits >= 1 && winrate >= 0 && winrate <= 10000 && prior >= 0 && prior <= 10000);
    text = answer(2);
    ck_assert_int_eq(sscanf(text, "= info move %7s visits %d utility %f winrate %f", move, &visits, &utility, &rate),
                     4);
    ck_assert(rate > 0.5f * (utility + 1.0f) - 1e-5f && rate < 0.5f * (utility + 1.0f) + 1e-5f);
    expect_answer(3, "? syntax error");
    expect_answer(4, "? syntax error");
    expect_answer(5, "= cumind");
}
END_TEST

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) count++;
    return count;
}

START_TEST(words_of_an_analysis_may_come_in_any_order) {
    talk("go5",
         "kata-analyze b maxmoves 1 interval 1 pvVisits true ownership true\n"
         "kata-analyze avoid b C3,D4 3 minmoves 2 100\nlz-analyze interval 5 maxmoves\n"
         "lz-analyze interval 5 maxmoves 0\nlz-analyze interval\nlz-analyze avoid b C3\nlz-analyze 5 dance 3\nname\n");
    ck_assert_int_eq(count_of(answer(0), "info move "), 1);
    int visits, first;
    ck_assert_int_eq(sscanf(strstr(answer(0), " visits "), " visits %d", &visits), 1);
    ck_assert_int_eq(sscanf(strstr(answer(0), " pvVisits "), " pvVisits %d", &first), 1);
    ck_assert_int_eq(first, visits);
    ck_assert_int_ge(count_of(answer(1), "info move "), 2);
    ck_assert_int_eq(count_of(answer(1), "pvVisits"), 0);
    for (int i = 2; i < 7; i++) expect_answer(i, "? syntax error");
    expect_answer(7, "= cumind");
}
END_TEST

/* Plays the variation in front of the rest of a game in which each move is that of the other colour; returns how many.
 */
static int play_line(const char *line, const char *before) {
    char input[4096], vertex[8];
    int length = 0, used = snprintf(input, sizeof input, "%s", before);
    for (int skip; sscanf(line, " %7s%n", vertex, &skip) == 1 && strcmp(vertex, "info") != 0; line += skip)
        used += snprintf(input + used, sizeof input - (size_t)used, "play %c %s\n", "wb"[length++ % 2], vertex);
    talk("go5", input);
    for (int i = 0; i <= length; i++) ck_assert_msg(answer(i)[0] == '=', "%s: %s", input, answer(i));
    return length;
}

/* With 400 simulations some variation has more than one move, and one that few simulations went through is short. */
START_TEST(variations_are_as_deep_as_the_tree_and_legal) {
    static const char *const commands[] = {"lz-analyze", "kata-analyze"};
    int longest = 0;
    for (int k = 0; k < 2; k++) {
        char input[64];
        snprintf(input, sizeof input, "play b c3\n%s w 500\n", commands[k]);
        cm_program_run_with(cm_test_folder, "gtp --run go5 --threads 1 --simulations 400", input, &result);
        static char text[sizeof result.out];
        strcpy(text, answer(1));
        for (const char *at = text; (at = strstr(at, "info move ")); at++) {
            char first[8], second[8];
            int visits;
            ck_assert_int_eq(sscanf(at, "info move %7s visits %d", first, &visits), 2);
            const char *line = strstr(at, " pv ") + 4;
            ck_assert_int_eq(sscanf(line, "%7s", second), 1);
            ck_assert_str_eq(first, second);
            const int length = play_line(line, "play b c3\n");
            ck_assert(length >= 1 && length <= visits);
            if (length > longest) longest = length;
        }
    }
    ck_assert_int_ge(longest, 3);
}
END_TEST

/* Lines of queries with apostrophes as quotation marks, each with the size of the board and rules where it has "%". */
static void ask(const char *const *queries, int count) {
    static char input[8192];
    char *to = input;
    for (int i = 0; i < count; i++) {
        for (const char *at = queries[i]; *at; at++) {
            if (*at == '%') {
                to += sprintf(to, "\"rules\": \"chinese-kgs\", \"boardXSize\": 5, \"boardYSize\": 5, ");
            } else {
                *to++ = *at == '\'' ? '"' : *at;
            }
        }
        *to++ = '\n';
    }
    *to = '\0';
    cm_program_run_with(cm_test_folder, "search --run go5 --threads 1 --stdin", input, &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
}

START_TEST(queries_of_katago_are_answered) {
    static const char *const queries[] = {
        "{'id': 'a', % 'moves': [['B', 'C3'], ['W', 'B2']], 'analyzeTurns': [0, 1, 2]}",
        "{'id': 'b', % 'moves': [], 'maxVisits': 2, 'initialStones': [['B', 'C3']], 'initialPlayer': 'W'}",
        "no query",
        "{'id': 7}",
        "{'id': 'c', % 'moves': [['B', 'C9']]}",
        "{'id': 'd', % 'moves': [['B', 'C3'], ['W', 'C3']]}",
        "{'id': 'e', % 'moves': [], 'analyzeTurns': [1]}",
        "{'id': 'f', 'action': 'query_version'}",
        "{'id': 'g', 'action': 'dance'}",
        "{'id': 'h', 'rules': 'japanese', 'boardXSize': 5, 'boardYSize': 5, 'moves': []}",
        "{'id': 'i', 'boardXSize': 19, 'boardYSize': 19, 'moves': []}",
        "{'id': 'j', % 'moves': [], 'komi': 0.5}",
    };
    static const char *const wanted[] = {
        "\"id\": \"a\", \"isDuringSearch\": false, \"turnNumber\": 0, \"moveInfos\": [{\"move\": \"",
        "\"turnNumber\": 1", "\"turnNumber\": 2", "\"rootInfo\": {\"currentPlayer\": \"W\", \"visits\": 2, ",
        "\"id\": \"j\""};
    static const char *const mistakes[] = {"{\"error\": \"id: must be a text",
                                           "\"field\": \"moves\", \"id\": \"c\"}",
                                           "C3 is occupied\", \"field\": \"moves\", \"id\": \"d\"}",
                                           "analyzeTurns: 1 is more than the number of moves, 0",
                                           "\\\"dance\\\" is not known",
                                           "rules: the run plays by",
                                           "the network of the run is for 5 x 5",
                                           "\"action\": \"query_version\", \"version\": \""};
    ask(queries, (int)(sizeof queries / sizeof *queries));
    const char *at = result.out;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        at = strstr(at, wanted[i]);
        ck_assert_msg(at != NULL, "%s is missing or behind its place: %s", wanted[i], result.out);
    }
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        ck_assert_msg(strstr(result.out, mistakes[i]) != NULL, "%s is missing: %s", mistakes[i], result.out);
    expect_exit("search --run hex4 --stdin", 2, "--stdin is for runs of go, not of hex4");
    expect_exit("search --run go5 --stdin --json", 2, "--json does not belong to --stdin");
}
END_TEST

/* The JSON line of an answer in which the text stands. */
static const char *line_with(const char *text) {
    static char line[65536];
    const char *at = strstr(result.out, text);
    ck_assert_msg(at != NULL, "%s is missing: %s", text, result.out);
    while (at > result.out && at[-1] != '\n') at--;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

static cm_json_doc *parse(const char *line) {
    cm_json_doc *doc = NULL;
    ck_assert_msg(cm_json_parse(line, strlen(line), "answer", &doc) == CM_OK, "%s", cm_error_message());
    return doc;
}

START_TEST(queries_ask_for_variations_policy_and_a_view) {
    static const char *const queries[] = {
        "{'id': 'a', % 'moves': [['B', 'C3']], 'includePolicy': true, 'includePVVisits': true}",
        "{'id': 'b', % 'moves': [['B', 'C3']], 'analysisPVLen': 1}",
        "{'id': 'c', % 'moves': [['B', 'C3']], 'overrideSettings': {'reportAnalysisWinratesAs': 'WHITE'}}"};
    double policy[26], values[3], sum = 0.0;
    ask(queries, 3);
    cm_json_doc *doc = parse(line_with("\"id\": \"a\""));
    const cm_json *root = cm_json_root(doc), *best = cm_json_first(cm_json_get(root, "moveInfos"));
    ck_assert_int_eq(cm_json_doubles(cm_json_get(root, "policy"), "policy", 26, policy), CM_OK);
    ck_assert_double_eq(policy[12], -1.0);
    for (int i = 0; i < 26; i++) sum += i == 12 ? 0.0 : policy[i];
    ck_assert_double_eq_tol(sum, 1.0, 1e-5);
    for (const cm_json *move = best; move; move = cm_json_next(move)) {
        const cm_json *pv = cm_json_get(move, "pv"), *visits = cm_json_get(move, "pvVisits");
        ck_assert_int_eq(cm_json_size(pv), cm_json_size(visits));
        ck_assert_str_eq(cm_json_string(cm_json_first(pv)), cm_json_string(cm_json_get(move, "move")));
        ck_assert_double_eq(cm_json_number(cm_json_first(visits), -1), cm_json_number(cm_json_get(move, "visits"), -2));
    }
    cm_json_free(doc);
    for (int k = 0; k < 3; k++) {
        const char *const ids[] = {"\"id\": \"a\"", "\"id\": \"b\"", "\"id\": \"c\""};
        doc = parse(line_with(ids[k]));
        const cm_json *info = cm_json_get(cm_json_root(doc), "rootInfo");
        values[k] = cm_json_number(cm_json_get(info, "winrate"), NAN);
        const cm_json *move = cm_json_first(cm_json_get(cm_json_root(doc), "moveInfos"));
        for (; k == 1 && move; move = cm_json_next(move)) ck_assert_int_eq(cm_json_size(cm_json_get(move, "pv")), 1);
        cm_json_free(doc);
    }
    ck_assert_double_eq(values[0], values[1]);
    ck_assert_double_eq_tol(values[0] + values[2], 1.0, 1e-6);
}
END_TEST

START_TEST(what_a_query_asks_in_vain_is_told_in_a_warning) {
    static const char *const queries[] = {
        "{'id': 'a', 'rules': 'tromp-taylor', 'boardXSize': 5, 'boardYSize': 5, 'moves': []}",
        "{'id': 'b', % 'moves': [], 'includeOwnership': true, 'includeMovesOwnership': false}",
        "{'id': 'c', % 'moves': [], 'colour': 'red', 'maxVisits': 100000}",
        "{'id': 'd', % 'moves': [], 'overrideSettings': {'maxTime': 3}}",
        "{'id': 'e', 'rules': {'ko': 'POSITIONAL', 'suicide': false}, 'boardXSize': 5, 'boardYSize': 5, 'moves': []}",
        "{'id': 'f', 'rules': {'ko': 'SIMPLE', 'scoring': 'AREA'}, 'boardXSize': 5, 'boardYSize': 5, 'moves': []}",
        "{'id': 'g', 'rules': {'scoring': 'TERRITORY'}, 'boardXSize': 5, 'boardYSize': 5, 'moves': []}",
        "{'id': 'h', % 'moves': [], 'priority': 'high'}",
        "{'id': 'i', % 'moves': [], 'analyzeTurns': [0], 'priorities': [1, 2]}",
        "{'id': 'j', % 'moves': [['B', 'A1']], 'analyzeTurns': [0, 9]}",
        "{'id': 'k', % 'moves': [], 'analyzeTurns': []}",
        "{'id': 'l', % 'moves': [], 'analyzeTurns': 5}",
        "{'id': 'm', % 'moves': [], 'komi': 'x'}",
        "{'id': 'n', % 'moves': [], 'initialStones': 'B'}",
        "{'id': 'o', % 'moves': [], 'initialPlayer': 'black'}",
        "{'id': 'p', % 'moves': [], 'initialStones': [['B', 'A1'], ['W', 'A2'], ['W', 'B1']]}"};
    static const char *const told[][3] = {
        {"a", "warning", "rules"},      {"b", "warning", "includeOwnership"}, {"c", "warning", "colour"},
        {"c", "warning", "maxVisits"},  {"d", "warning", "overrideSettings"}, {"f", "warning", "rules"},
        {"g", "error", "rules"},        {"h", "error", "priority"},           {"i", "error", "priorities"},
        {"j", "error", "analyzeTurns"}, {"k", "error", "analyzeTurns"},       {"l", "error", "analyzeTurns"},
        {"m", "error", "komi"},         {"n", "error", "initialStones"},      {"o", "error", "initialPlayer"},
        {"p", "error", "initialStones"}};
    char part[128];
    int lines = 0;
    ask(queries, (int)(sizeof queries / sizeof *queries));
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        snprintf(part, sizeof part, "\"field\": \"%s\", \"id\": \"%s\"}", told[i][2], told[i][0]);
        const char *line = line_with(part);
        snprintf(part, sizeof part, "{\"%s\": \"", told[i][1]);
        ck_assert_msg(strncmp(line, part, strlen(part)) == 0, "%s", line);
    }
    for (const char *at = result.out; (at = strchr(at, '\n')); at++) lines++;
    ck_assert_int_eq(lines, 16 + 6); /* as many faults, and answers to a .. f */
}
END_TEST

START_TEST(urgent_queries_come_first_and_terminated_ones_not_at_all) {
    static const char *const queries[] = {
        "{'id': 'a', % 'moves': []}",
        "{'id': 'b', % 'moves': [['B', 'A1'], ['W', 'B1']], 'analyzeTurns': [0, 1, 2], 'priorities': [7, 3, 5]}",
        "{'id': 'c', % 'moves': [], 'komi': 3}",
        "{'id': 'x', 'action': 'terminate', 'terminateId': 'b', 'turnNumbers': [1]}",
        "{'id': 'y', 'action': 'terminate', 'terminateId': 'c'}",
        "{'id': 'z', 'action': 'terminate'}"};
    static const char *const wanted[] = {
        "{\"id\": \"x\", \"action\": \"terminate\", \"terminateId\": \"b\", \"turnNumbers\": [1]}",
        "{\"id\": \"b\", \"isDuringSearch\": false, \"noResults\": true, \"turnNumber\": 1}",
        "\"terminateId\": \"c\"}",
        "{\"id\": \"c\", \"isDuringSearch\": false, \"noResults\": true, \"turnNumber\": 0}",
        "\"field\": \"terminateId\", \"id\": \"z\"}",
        "\"id\": \"b\", \"isDuringSearch\": false, \"turnNumber\": 0",
        "\"id\": \"b\", \"isDuringSearch\": false, \"turnNumber\": 2",
        "\"id\": \"a\", \"isDuringSearch\": false, \"turnNumber\": 0"};
    ask(queries, 6);
    const char *at = result.out;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        at = strstr(at, wanted[i]);
        ck_assert_msg(at != NULL, "%s is missing or behind its place: %s", wanted[i], result.out);
    }
}
END_TEST

START_TEST(games_without_a_board_of_moves_are_refused) {
    cm_program_run_with(cm_test_folder, "gtp --run catch", "name\n", &result);
    cm_program_expect_error(&result, 2, "and catch is none; cumind play --run DIR plays it");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/gtp");
    TCase *tests = tcase_create("gtp");
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, answers_have_numbers_and_comments_and_blank_lines_none);
    tcase_add_test(tests, input_may_end_anywhere_and_lines_be_long);
    tcase_add_test(tests, points_are_named_from_the_corner_below);
    tcase_add_test(tests, size_is_that_of_the_network);
    tcase_add_test(tests, a_colour_may_move_twice_and_all_moves_be_taken_back);
    tcase_add_test(tests, superko_and_suicide_are_told_apart);
    tcase_add_test(tests, generated_moves_are_played_and_legal);
    tcase_add_test(tests, games_may_be_longer_than_those_of_the_environment);
    tcase_add_test(tests, komi_counts_and_other_rules_are_refused);
    tcase_add_test(tests, handicap_is_no_move);
    tcase_add_test(tests, othello_has_its_rules_and_its_result);
    tcase_add_test(tests, a_game_that_is_over_is_scored);
    tcase_add_test(tests, hex_is_won_by_a_chain);
    tcase_add_test(tests, time_is_told_in_every_form);
    tcase_add_test(tests, matches_and_games_at_the_prompt_have_clocks);
    tcase_add_test(tests, games_in_sgf_are_loaded_with_komi_and_stones);
    tcase_add_test(tests, positions_of_sgf_are_searched);
    tcase_add_test(tests, games_are_saved_as_sgf);
    tcase_add_test(tests, dead_stones_are_captured_in_the_cleanup);
    tcase_add_test(tests, analysis_lasts_until_the_next_line);
    tcase_add_test(tests, words_of_an_analysis_may_come_in_any_order);
    tcase_add_test(tests, variations_are_as_deep_as_the_tree_and_legal);
    tcase_add_test(tests, queries_of_katago_are_answered);
    tcase_add_test(tests, queries_ask_for_variations_policy_and_a_view);
    tcase_add_test(tests, what_a_query_asks_in_vain_is_told_in_a_warning);
    tcase_add_test(tests, urgent_queries_come_first_and_terminated_ones_not_at_all);
    tcase_add_test(tests, games_without_a_board_of_moves_are_refused);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
