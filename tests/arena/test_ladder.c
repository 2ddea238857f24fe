/* Ladders: every pairing once, ratings in their order, pairings that do not depend on each other. */
#include <string.h>

#include "agent/seats.h"
#include "arena/ladder.h"
#include "arena/opponent.h"

enum { GAMES = 40, MOST = 4 };

/* Players by name; "lowest" is the one of the tests. */
typedef struct field {
    seats s;
    cm_player *players[MOST];
    cm_ladder_config config;
} field;

static void open_field(field *f, const char *const *names, int count) {
    open_seats(&f->s, "tictactoe", GAMES, 2);
    for (int i = 0; i < count; i++) {
        cm_opponent opponent;
        expect_status(cm_opponent_parse(names[i], &opponent));
        if (strcmp(names[i], "lowest") == 0) {
            ck_assert_int_eq(opponent.kind, CM_OPPONENT_AGENT);
            f->players[i] = lowest(&f->s.env);
        } else {
            expect_status(cm_opponent_player(&opponent, NULL, &f->s.env, &f->s.config.shape, &f->players[i]));
        }
    }
    f->config =
        (cm_ladder_config){.match = f->s.config, .players = f->players, .count = count, .seed = 3, .opening = 2};
}

static void close_field(field *f) {
    for (int i = 0; i < f->config.count; i++) cm_player_destroy(f->players[i]);
    close_seats(&f->s);
}

static void count_report(void *context, int i, int j, const cm_side_score *score) {
    int *calls = context;
    ck_assert_int_lt(i, j);
    ck_assert_int_eq(score->games, GAMES);
    ++*calls;
}

START_TEST(every_pairing_is_played_once_and_counted_for_both) {
    const char *const names[] = {"random", "lowest", "perfect", "mcts:100"};
    field f;
    cm_ladder ladder;
    int calls = 0;
    open_field(&f, names, 4);
    f.config.report = count_report, f.config.context = &calls;
    expect_status(cm_ladder_run(&f.config, &ladder));
    ck_assert_int_eq(calls, 6);
    for (int i = 0; i < 4; i++) {
        int wins = 0, losses = 0;
        for (int j = 0; j < 4; j++) {
            const cm_side_score *a = &ladder.pair[i * 4 + j], *b = &ladder.pair[j * 4 + i];
            ck_assert_int_eq(a->games, i == j ? 0 : GAMES);
            ck_assert_int_eq(a->wins, b->losses);
            ck_assert_int_eq(a->draws, b->draws);
            ck_assert_int_eq(a->wins + a->draws + a->losses, a->games);
            wins += a->wins, losses += a->losses;
        }
        ck_assert_int_eq(ladder.sum[i].games, 3 * GAMES);
        ck_assert_int_eq(ladder.sum[i].wins, wins);
        ck_assert_int_eq(ladder.sum[i].losses, losses);
    }
    for (int k = 1; k < 4; k++) {
        ck_assert_double_ge(ladder.rating[ladder.order[k - 1]], ladder.rating[ladder.order[k]]);
    }
    ck_assert_int_ne(ladder.order[0], 0);
    ck_assert_double_gt(ladder.rating[3], ladder.rating[0]); /* rollouts beat random moves */
    cm_ladder_free(&ladder);
    close_field(&f);
}
END_TEST

START_TEST(pairing_does_not_depend_on_the_others) {
    const char *const three[] = {"lowest", "random", "mcts:20"}, *const two[] = {"random", "mcts:20"};
    field f;
    cm_ladder ladder;
    open_field(&f, three, 3);
    expect_status(cm_ladder_run(&f.config, &ladder));
    cm_side_score with = ladder.pair[1 * 3 + 2];
    cm_ladder_free(&ladder);
    close_field(&f);
    open_field(&f, two, 2);
    expect_status(cm_ladder_run(&f.config, &ladder));
    ck_assert_mem_eq(&with, &ladder.pair[1], sizeof with);
    cm_ladder_free(&ladder);
    close_field(&f);
}
END_TEST

START_TEST(one_player_is_no_ladder) {
    const char *const names[] = {"random"};
    field f;
    cm_ladder ladder;
    open_field(&f, names, 1);
    ck_assert_int_eq(cm_ladder_run(&f.config, &ladder), CM_ERR_INPUT);
    ck_assert_ptr_null(ladder.pair);
    close_field(&f);
}
END_TEST

START_TEST(names_of_opponents_are_understood) {
    cm_opponent o;
    expect_status(cm_opponent_parse("mcts:800", &o));
    ck_assert_int_eq(o.kind, CM_OPPONENT_MCTS);
    ck_assert_int_eq(o.rollouts, 800);
    expect_status(cm_opponent_parse("perfect", &o));
    ck_assert_int_eq(o.kind, CM_OPPONENT_PERFECT);
    expect_status(cm_opponent_parse("runs/mcts:1", &o));
    ck_assert_int_eq(o.kind, CM_OPPONENT_AGENT);
    const char *const wrong[] = {"mcts", "mcts:", "mcts:0", "mcts:x", "mcts:-5", "mcts:99999999999", "mcts:8 "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(cm_opponent_parse(wrong[i], &o) == CM_ERR_INPUT, "%s", wrong[i]);
    }
}
END_TEST

int main(void) {
    const TTest *const tests[] = {every_pairing_is_played_once_and_counted_for_both,
                                  pairing_does_not_depend_on_the_others, one_player_is_no_ladder,
                                  names_of_opponents_are_understood};
    return run_seats("agent/ladder", tests, (int)(sizeof tests / sizeof *tests));
}
