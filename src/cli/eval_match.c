#include "cli/eval_match.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arena/exhaustive.h"
#include "arena/games_sgf.h"
#include "arena/move_scores.h"
#include "arena/perfect.h"
#include "cli/contest.h"
#include "cli/interrupt.h"
#include "cli/view.h"
#include "core/log.h"
#include "env/sgf.h"

/* What is to be told of a contest. */
typedef struct report {
    const cm_loaded *own;
    const char *opponent;
    int columns; /* of a line of text */
    int64_t seed;
    int opening;
    bool is_exhaustive; /* every reply sequence in place of games */
    const cm_games *games;
    cm_games lines; /* of exhaustive play */
    cm_score score;
    cm_move_scores scores;
    bool has_scores;
    bool is_broken; /* off, by an interrupt */
} report;

static int simulations_of(const report *r) { return cm_agent_get_config(r->own->agent)->evaluation.num_simulations; }
static double share(int64_t part, int64_t whole) { return whole > 0 ? (double)part / (double)whole : (double)NAN; }

static int first_ply(const report *r, int phase) { return cm_phase_first_ply(&r->own->session->env, phase); }

/* A game that we lost, -1 if there is none. */
static int lost_game(const cm_games *games) {
    for (int i = 0; i < games->count; i++) {
        if (games->result[i] < 0.0) return i;
    }
    return -1;
}

/* ---- JSON ---- */

static void put_side(cm_json_writer *json, const char *key, const cm_side_score *side) {
    cm_json_begin_object(json, key);
    cm_json_put_int(json, "games", side->games);
    cm_json_put_int(json, "wins", side->wins);
    cm_json_put_int(json, "draws", side->draws);
    cm_json_put_int(json, "losses", side->losses);
    cm_json_end_object(json);
}

static void put_keeping_members(cm_json_writer *json, const cm_value_keeping *keeping) {
    cm_json_put_int(json, "moves", keeping->moves);
    cm_json_put_int(json, "kept", keeping->keeping);
    cm_json_put_double(json, "share", share(keeping->keeping, keeping->moves));
    cm_json_put_int(json, "choices", keeping->choices);
    cm_json_put_int(json, "kept_choices", keeping->keeping_choices);
    cm_json_put_double(json, "choice_share", share(keeping->keeping_choices, keeping->choices));
}

static void put_scores(cm_json_writer *json, const report *r) {
    cm_json_begin_object(json, "value_kept");
    put_keeping_members(json, &r->scores.all);
    cm_json_begin_array(json, "phases");
    for (int p = 0; p < CM_PHASES; p++) {
        cm_json_begin_object(json, NULL);
        cm_json_put_int(json, "first_ply", first_ply(r, p));
        cm_json_put_int(json, "last_ply", first_ply(r, p + 1) - 1);
        put_keeping_members(json, &r->scores.phase[p]);
        cm_json_end_object(json);
    }
    cm_json_end_array(json);
    cm_json_end_object(json);
}

static void put_lost_line(cm_json_writer *json, const cm_games *games) {
    int lost = lost_game(games);
    if (lost < 0) {
        cm_json_put_null(json, "lost_line");
        return;
    }
    cm_json_begin_array(json, "lost_line");
    for (int k = 0; k < games->length[lost]; k++) {
        cm_json_put_int(json, NULL, games->moves[(size_t)lost * (size_t)games->stride + (size_t)k]);
    }
    cm_json_end_array(json);
}

static void put_report(cm_json_writer *json, const report *r) {
    const cm_evaluation *e = &r->score.all;
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "opponent", cm_argument_written(r->opponent));
    cm_json_put_int(json, "games", e->episodes);
    cm_json_put_int(json, "wins", e->wins);
    cm_json_put_int(json, "draws", e->draws);
    cm_json_put_int(json, "losses", e->losses);
    cm_json_put_double(json, "mean", e->mean);
    if (!r->is_exhaustive) cm_cli_put_interval(json, e->low, e->high); /* lines are no sample */
    cm_json_put_double(json, "mean_length", e->mean_length);
    put_side(json, "first", &r->score.first);
    put_side(json, "second", &r->score.second);
    if (r->has_scores) put_scores(json, r);
    if (r->is_exhaustive) put_lost_line(json, r->games);
    cm_json_put_int(json, "simulations", simulations_of(r));
    cm_json_put_int(json, "opening", r->opening);
    cm_json_put_int(json, "seed", r->seed);
    cm_json_put_int(json, "updates", r->own->facts.updates);
    cm_json_put_int(json, "env_steps", r->own->facts.env_steps);
    if (r->is_broken) cm_json_put_bool(json, "interrupted", true);
    cm_json_end_object(json);
}

static cm_status print_json(const report *r) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    put_report(json, r);
    return cm_cli_print(json, CM_OK);
}

/* ---- text ---- */

static void print_side(const char *name, const cm_side_score *side) {
    printf("%-8s %7d %7d %7d %7d\n", name, side->games, side->wins, side->draws, side->losses);
}

static void print_share(double value, const char *end) {
    if (isnan(value)) {
        printf(" %7s%s", "-", end);
    } else {
        printf(" %6.1f%%%s", 100.0 * value, end);
    }
}

static void print_keeping(const char *name, const cm_value_keeping *keeping) {
    printf("%-8s %7lld", name, (long long)keeping->moves);
    print_share(share(keeping->keeping, keeping->moves), "");
    printf(" %7lld", (long long)keeping->choices);
    print_share(share(keeping->keeping_choices, keeping->choices), "\n");
}

static void print_scores(const report *r, cm_text *text) {
    cm_text_clear(text);
    cm_text_wrap(text, r->columns,
                 "Moves that kept the exact value of the position; choices are positions in which a legal move would "
                 "have lost some:");
    printf("%s", text->bytes);
    printf("%-8s %7s %7s %7s %7s\n", "plies", "moves", "kept", "choices", "kept");
    for (int p = 0; p < CM_PHASES; p++) {
        char name[32];
        snprintf(name, sizeof name, "%d-%d", first_ply(r, p), first_ply(r, p + 1) - 1);
        print_keeping(name, &r->scores.phase[p]);
    }
    print_keeping("all", &r->scores.all);
}

static void print_lost_line(const report *r) {
    int lost = lost_game(r->games);
    if (lost < 0 && r->is_broken) printf("not beaten by these; the others were not followed to their end\n");
    if (lost < 0 && !r->is_broken) printf("never loses: no reply sequence beats it from either side\n");
    if (lost < 0) return;
    printf("can be beaten:");
    for (int k = 0; k < r->games->length[lost]; k++) {
        char name[16];
        int action = r->games->moves[(size_t)lost * (size_t)r->games->stride + (size_t)k];
        cm_env_action_name(&r->own->session->env, action, name, sizeof name);
        printf(" %s", name);
    }
    printf(" (it moves %s)\n", r->games->theirs[lost] ? "second" : "first");
}

/* The two players, and how strong the agent is. */
static void print_header(const report *r, cm_text *text) {
    const cm_run_facts *facts = &r->own->facts;
    char line[512], openings[64] = "";
    if (r->opening > 0) snprintf(openings, sizeof openings, ", openings of %d random moves", r->opening);
    if (r->is_exhaustive && r->is_broken) {
        snprintf(line, sizeof line, "%d lines, not every reply sequence", r->score.all.episodes);
    } else if (r->is_exhaustive) {
        snprintf(line, sizeof line, "%d lines: every reply sequence", r->score.all.episodes);
    } else {
        snprintf(line, sizeof line, "%d games against %.300s%s", r->score.all.episodes,
                 cm_argument_written(r->opponent), openings);
    }
    cm_text_clear(text);
    cm_text_wrap(text, r->columns, line);
    snprintf(line, sizeof line, "%d simulations per move, after %lld updates, %lld env steps", simulations_of(r),
             (long long)facts->updates, (long long)facts->env_steps);
    cm_text_wrap(text, r->columns, line);
    printf("%s", text->bytes);
}

static void print_text(const report *r) {
    cm_text text;
    const cm_evaluation *e = &r->score.all;
    const cm_side_score all = {e->episodes, e->wins, e->draws, e->losses};
    print_header(r, &text);
    printf("%-8s %7s %7s %7s %7s\n", "it moves", r->is_exhaustive ? "lines" : "games", "won", "drawn", "lost");
    print_side("first", &r->score.first);
    print_side("second", &r->score.second);
    print_side("all", &all);
    if (r->is_exhaustive) {
        print_lost_line(r);
        return;
    }
    char line[128];
    snprintf(line, sizeof line, "mean result %.3f, 95 %% interval [%.3f, %.3f], %.1f moves per game", e->mean, e->low,
             e->high, e->mean_length);
    cm_text_clear(&text);
    cm_text_wrap(&text, r->columns, line);
    printf("%s", text.bytes);
    if (r->has_scores) print_scores(r, &text);
}

/* ---- playing ---- */

static const char *own_name(const cm_arguments *arguments) {
    return cm_argument_written(cm_argument(arguments, "--run"));
}

/* Scores, saves and prints the games. */
static cm_status conclude(const cm_arguments *arguments, report *r) {
    const char *path = cm_argument(arguments, "--save-games");
    cm_games_score(r->games, &r->score);
    cm_evaluation_clip(&r->own->session->env.spec, &r->score.all);
    if (path && cm_games_is_sgf(path)) {
        CM_TRY(cm_games_save_sgf(r->games, &r->own->session->env, own_name(arguments), cm_argument_written(r->opponent),
                                 path));
    } else if (path) {
        CM_TRY(cm_games_save(r->games, "agent", "opponent", path));
    }
    if (cm_argument_is_set(arguments, "--json")) return print_json(r);
    print_text(r);
    return CM_OK;
}

/* What an interrupt has left is told, where that is anything. `kept` games or lines. */
static cm_status report_interrupted(report *r, int kept) {
    if (kept == 0) return cm_fail(CM_ERR_INTERRUPTED, "eval: interrupted; it has no result");
    r->is_broken = true;
    return CM_OK;
}

/* Plays the match and scores our moves where exact values are known. */
static cm_status run_match(report *r, cm_match *match, cm_entrant *they, cm_ticker *ticker) {
    cm_session *session = r->own->session;
    const int games = (int)ticker->total;
    cm_status status = cm_match_run(match, games, (uint64_t)r->seed, r->opening);
    r->games = cm_match_games(match);
    if (status == CM_ERR_INTERRUPTED) {
        CM_TRY(report_interrupted(r, cm_match_keep_ended(match)));
        cm_log(CM_WARNING, "eval: interrupted after %d of %d games", r->games->count, games);
        return CM_OK; /* their moves are not scored */
    }
    CM_TRY(status);
    r->has_scores = they->opponent.kind == CM_OPPONENT_PERFECT;
    if (!r->has_scores) return CM_OK;
    cm_ticker_turn(ticker, "games judged", "moves", r->games->count);
    status = cm_games_score_moves(r->games, &session->env, cm_player_exact(they->player), session->pool, &ticker->tally,
                                  cm_interrupt_asks(), &r->scores);
    if (status != CM_ERR_INTERRUPTED) return status;
    cm_log(CM_WARNING, "eval: interrupted before the moves of its %d games were judged", games);
    r->has_scores = false;
    return report_interrupted(r, games);
}

static cm_status play_games(const cm_arguments *arguments, report *r, cm_entrant *they, cm_player **ours) {
    cm_session *session = r->own->session;
    cm_contest_size size;
    cm_match *match = NULL;
    cm_ticker ticker;
    cm_time_control time = {0};
    CM_TRY(cm_cli_time_control(arguments, &time));
    CM_TRY(cm_contest_size_of(arguments, &session->env, they->loaded.agent ? -1 : 0, &size));
    cm_match_config config = {.env = &session->env,
                              .pool = session->pool,
                              .shape = cm_time_is_limited(&time) ? cm_match_shape_timed(size.games, session->pool)
                                                                 : cm_match_shape_of(size.games, session->pool),
                              .games = size.games,
                              .keeps_moves = true,
                              .tally = &ticker.tally,
                              .stop = cm_interrupt_asks()};
    CM_TRY(cm_entrant_seat(they, &session->env, own_name(arguments), &config.shape));
    CM_TRY(cm_player_agent(r->own->agent, &session->env, &config.shape, ours));
    (*ours)->time = they->player->time = time;
    config.players[0] = *ours, config.players[1] = they->player;
    r->opening = size.opening;
    CM_TRY(cm_match_create(&config, &match));
    cm_ticker_begin(&ticker, arguments, session->configuration.run.log_interval, "games", "moves", size.games);
    cm_status status = run_match(r, match, they, &ticker);
    cm_ticker_end(&ticker);
    if (status == CM_OK) status = conclude(arguments, r);
    cm_match_destroy(match);
    return status;
}

static cm_status meet(const cm_arguments *arguments, report *r) {
    cm_entrant they;
    cm_player *ours = NULL;
    CM_TRY(cm_entrant_open(arguments, "--opponent", r->opponent, &they));
    cm_status status = play_games(arguments, r, &they, &ours);
    cm_player_destroy(ours);
    cm_entrant_close(&they);
    return status;
}

static cm_status play_exhaustively(const cm_arguments *arguments, report *r) {
    const cm_env *env = &r->own->session->env;
    cm_match_shape shape = cm_exhaustive_shape();
    cm_player *ours = NULL;
    cm_ticker ticker;
    if (cm_argument_is_set(arguments, "--games") || cm_argument_is_set(arguments, "--opening")) {
        return cm_fail(CM_ERR_INPUT, "--opponent all: follows every reply once; leave out --games and --opening");
    }
    if (cm_argument_is_set(arguments, "--seconds-per-move") || cm_argument_is_set(arguments, "--seconds-per-game"))
        return cm_fail(CM_ERR_INPUT, "--opponent all: its games have no clock; leave out --seconds-per-move and "
                                     "--seconds-per-game");
    CM_TRY(cm_player_agent(r->own->agent, env, &shape, &ours));
    cm_ticker_begin(&ticker, arguments, r->own->session->configuration.run.log_interval, "lines at their end",
                    "moves chosen", 0);
    cm_status status = cm_exhaustive_play(env, ours, &ticker.tally, cm_interrupt_asks(), &r->lines);
    cm_ticker_end(&ticker);
    cm_player_destroy(ours);
    if (status == CM_ERR_INTERRUPTED) {
        CM_TRY(report_interrupted(r, r->lines.count));
        cm_log(CM_WARNING, "eval: interrupted after %d lines", r->lines.count);
        status = CM_OK;
    }
    if (status != CM_OK) return cm_fail_in(status, "--opponent all");
    r->is_exhaustive = true;
    r->games = &r->lines;
    status = conclude(arguments, r);
    cm_games_free(&r->lines);
    return status;
}

cm_status cm_eval_match(cm_arguments *arguments, cm_loaded *own) {
    const char *opponent = cm_argument(arguments, "--opponent");
    report r = {
        .own = own, .opponent = opponent ? opponent : "random", .columns = cm_view_of_stdout(arguments).columns};
    if (cm_argument_is_set(arguments, "--episodes")) {
        return cm_fail(CM_ERR_INPUT, "eval: against an opponent say --games N, not --episodes");
    }
    CM_TRY(cm_contest_check("eval", &own->session->env));
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &r.seed));
    const char *path = cm_argument(arguments, "--save-games");
    CM_TRY(cm_cli_try_file("--save-games", path));
    if (path && cm_games_is_sgf(path) && !cm_sgf_serves(&own->session->env))
        return cm_fail(CM_ERR_INPUT, "--save-games %s: SGF is for games of go, not of %s", path,
                       own->session->env.spec.name);
    cm_status status = strcmp(r.opponent, "all") == 0 ? play_exhaustively(arguments, &r) : meet(arguments, &r);
    if (r.is_broken) arguments->verdict = CM_EXIT_INTERRUPTED;
    return status;
}
