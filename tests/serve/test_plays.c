/* Games against a run's agent over a socket: clicked to their end, hints, undo, the tree; and a run whose environment
 * is code, which is not opened. */
#include "client.h"

#define TINY                                                                                                           \
    " --env-steps 256 --set num_envs=4 --set min_memory_steps=64 --set hidden_dim=8 --set num_simulations=4"           \
    " --set evaluation_interval=0 --set final_evaluation_episodes=2"

static char said[CLIENT_BYTES];

static void train(const char *name, const char *environment) {
    static cm_output result;
    char command[512];
    snprintf(command, sizeof command, "train --quiet --run runs/%s --config default --set env_name=%s" TINY, name,
             environment);
    cm_program_run(cm_test_folder, command, &result);
    ck_assert_msg(result.status == 0, "%s: %s", command, result.err);
}

static void begin_all(void) {
    cm_test_folder_make();
    train("a", "tictactoe");
    train("b", "catch");
    put_run("runs/c", "./theirs.so");
    serve("runs");
}

static void end_all(void) {
    end_server();
    cm_test_folder_remove();
}

static int post(const char *path, const char *body) {
    char headers[256];
    snprintf(headers, sizeof headers, "%sContent-Type: application/json\r\n", own_host());
    return ask("POST", path, headers, body);
}

/* Waits until the thread has nothing to do for the game, whose table is in `said` then. */
static void settle(int game, const char *what) {
    char path[64];
    snprintf(path, sizeof path, "/api/games/%d%s", game, what);
    for (int i = 0; i < 2000; i++) {
        ck_assert_int_eq(get(path), 200);
        strcpy(said, heard);
        if (strstr(said, "\"busy\": false")) return;
        usleep(10000);
    }
    ck_abort_msg("it goes on for ever: %s", said);
}

static int begin(const char *body) {
    int game = -1;
    ck_assert_msg(post("/api/games", body) == 202, "%s", heard);
    ck_assert_int_eq(sscanf(strstr(heard, "\"game\""), "\"game\": %d", &game), 1);
    settle(game, "");
    return game;
}

static void order(int game, const char *body) {
    char path[64];
    snprintf(path, sizeof path, "/api/games/%d", game);
    ck_assert_msg(post(path, body) == 202, "%s: %s", body, heard);
    settle(game, "");
}

/* The first legal move in `said`. */
static int first_legal(void) {
    int action = -1;
    sscanf(strstr(said, "\"legal\": [{"), "\"legal\": [{\"action\": %d", &action);
    return action;
}

static int count_moves(void) {
    int count = 0;
    const char *list = strstr(said, "\"moves\": [");
    for (const char *c = list; *c && *c != ']'; c++) count += *c == '"';
    return count / 2 - 1;
}

START_TEST(a_game_is_played_to_its_end) {
    char body[64];
    const int game = begin("{\"run\": 0, \"side\": \"second\", \"seed\": 3}");
    ck_assert_int_eq(count_moves(), 1); /* the agent's */
    ck_assert_ptr_nonnull(strstr(said, "\"picture\": \"<"));
    ck_assert_ptr_nonnull(strstr(said, "\"thought\": {\"is_hint\": false, \"player\": 0"));
    for (int i = 0; i < 5 && strstr(said, "\"ended\": false"); i++) {
        snprintf(body, sizeof body, "{\"do\": \"move\", \"action\": %d}", first_legal());
        order(game, body);
    }
    ck_assert_ptr_nonnull(strstr(said, "\"ended\": true"));
    ck_assert_ptr_nonnull(strstr(said, "\"legal\": []"));
    order(game, "{\"do\": \"move\", \"action\": 0}");
    ck_assert_ptr_nonnull(strstr(said, "\"error\": \"the game is over\""));
}
END_TEST

/* TicTacToe's cells are drawn in rows: the middle of cell 4 is that of the picture. */
START_TEST(hint_undo_and_tree_are_of_the_position) {
    const int game = begin("{\"run\": 0, \"side\": \"first\", \"simulations\": 20}");
    ck_assert_ptr_nonnull(strstr(said, "\"thought\": null"));
    ck_assert_ptr_nonnull(strstr(said, "{\"action\": 4, \"name\": \"b2\", \"x\": 160.0, \"y\": 160.0}"));
    order(game, "{\"do\": \"hint\"}");
    ck_assert_ptr_nonnull(strstr(said, "\"is_hint\": true, \"player\": 0"));
    ck_assert_ptr_nonnull(strstr(said, "\"visits\": 20"));
    ck_assert_int_eq(count_moves(), 0);
    order(game, "{\"do\": \"move\", \"action\": 4}");
    ck_assert_int_eq(count_moves(), 2);
    order(game, "{\"do\": \"move\", \"action\": 4}");
    ck_assert_ptr_nonnull(strstr(said, "\"error\": "));
    ck_assert_int_eq(count_moves(), 2);
    order(game, "{\"do\": \"undo\"}");
    ck_assert_int_eq(count_moves(), 0);
    order(game, "{\"do\": \"tree\"}");
    settle(game, "/tree");
    ck_assert_ptr_nonnull(strstr(said, "\"tree\": {\"task\""));
}
END_TEST

START_TEST(one_player_is_watched_step_by_step) {
    const int game = begin("{\"run\": 1, \"side\": \"none\"}");
    ck_assert_int_eq(count_moves(), 0);
    for (int i = 1; i <= 3; i++) {
        order(game, "{\"do\": \"step\"}");
        ck_assert_int_eq(count_moves(), i);
    }
    order(game, "{\"do\": \"undo\"}");
    ck_assert_int_eq(count_moves(), 2);
}
END_TEST

START_TEST(an_environment_that_is_code_is_not_opened) {
    begin("{\"run\": 2, \"side\": \"first\"}");
    ck_assert_msg(strstr(said, "\"error\": ") && strstr(said, "./theirs.so: is code, which is not opened"), "%s", said);
    ck_assert_ptr_nonnull(strstr(said, "\"table\": null"));
}
END_TEST

START_TEST(wrong_orders_are_refused) {
    static const struct {
        const char *path, *body;
        int status;
    } rows[] = {{"/api/games", "", 400},
                {"/api/games", "[]", 400},
                {"/api/games", "{\"run\": 9, \"side\": \"first\"}", 400},
                {"/api/games", "{\"run\": 0, \"side\": \"third\"}", 400},
                {"/api/games", "{\"run\": 0, \"side\": \"first\", \"simulations\": -1}", 400},
                {"/api/games/999999", "{\"do\": \"hint\"}", 400},
                {"/api/games/0", "{\"do\": \"nothing\"}", 400},
                {"/api/games/0", "{\"do\": \"move\"}", 400},
                {"/api/games/0", "{\"do\": \"move\", \"action\": 1e99}", 400}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(post(rows[i].path, rows[i].body) == rows[i].status, "%s %s: %s", rows[i].path, rows[i].body,
                      heard);
    ck_assert_int_eq(get("/api/games/999999"), 404);
}
END_TEST

/* More tables than there are take the place of the oldest. */
START_TEST(tables_are_bounded) {
    int game[9];
    char path[64];
    for (int i = 0; i < 9; i++) game[i] = begin("{\"run\": 0, \"side\": \"first\"}");
    for (int i = 1; i < 9; i++) ck_assert_int_gt(game[i], game[i - 1]);
    snprintf(path, sizeof path, "/api/games/%d", game[0]);
    ck_assert_int_eq(get(path), 404);
    snprintf(path, sizeof path, "/api/games/%d", game[8]);
    ck_assert_int_eq(get(path), 200);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("plays");
    TCase *tests = tcase_create("plays");
    tcase_add_unchecked_fixture(tests, begin_all, end_all);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_game_is_played_to_its_end);
    tcase_add_test(tests, hint_undo_and_tree_are_of_the_position);
    tcase_add_test(tests, one_player_is_watched_step_by_step);
    tcase_add_test(tests, an_environment_that_is_code_is_not_opened);
    tcase_add_test(tests, wrong_orders_are_refused);
    tcase_add_test(tests, tables_are_bounded);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
