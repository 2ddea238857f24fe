#include "cli/eval_positions.h"

#include <math.h>
#include <stdio.h>

#include "arena/match.h"
#include "arena/solved_positions.h"
#include "cli/interrupt.h"
#include "cli/ticker.h"
#include "cli/view.h"
#include "core/log.h"
#include "core/printable.h"

typedef struct report {
    const cm_loaded *own;
    const char *path;
    int columns; /* of a line of text */
    int count;   /* positions of the file */
    cm_solved_score score;
    bool is_broken; /* off, by an interrupt */
} report;

static const cm_env *env_of(const report *r) { return &r->own->session->env; }
static int simulations_of(const report *r) { return cm_agent_get_config(r->own->agent)->evaluation.num_simulations; }

/* The 95 % interval of a share by E. B. Wilson (1927), which is sound near 0 and 1, too. */
static void interval_of(const cm_value_keeping *keeping, double *low, double *high) {
    const double z = 1.96, n = (double)keeping->moves, p = (double)keeping->keeping / n;
    const double middle = p + z * z / (2.0 * n), half = z * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    *low = (middle - half) / (1.0 + z * z / n);
    *high = (middle + half) / (1.0 + z * z / n);
}

static double share_of(const cm_value_keeping *keeping) {
    return keeping->moves > 0 ? (double)keeping->keeping / (double)keeping->moves : (double)NAN;
}

/* ---- JSON ---- */

static void put_keeping(cm_json_writer *json, const cm_value_keeping *keeping) {
    cm_json_put_int(json, "positions", keeping->moves);
    cm_json_put_int(json, "kept", keeping->keeping);
    cm_json_put_double(json, "share", share_of(keeping));
}

static void put_report(cm_json_writer *json, const report *r) {
    const cm_move_scores *j = &r->score.scores;
    double low, high;
    interval_of(&j->all, &low, &high);
    cm_json_begin_object(json, NULL);
    put_keeping(json, &j->all);
    cm_cli_put_interval(json, low, high);
    cm_json_begin_array(json, "phases");
    for (int p = 0; p < CM_PHASES; p++) {
        cm_json_begin_object(json, NULL);
        cm_json_put_int(json, "first_ply", cm_phase_first_ply(env_of(r), p));
        cm_json_put_int(json, "last_ply", cm_phase_first_ply(env_of(r), p + 1) - 1);
        put_keeping(json, &j->phase[p]);
        cm_json_end_object(json);
    }
    cm_json_end_array(json);
    cm_json_begin_object(json, "sources");
    for (int i = 0; i < CM_SOLVED_SOURCES; i++) {
        cm_json_begin_object(json, cm_solved_source_names[i]);
        put_keeping(json, &r->score.source[i]);
        cm_json_end_object(json);
    }
    cm_json_end_object(json);
    cm_json_put_int(json, "simulations", simulations_of(r));
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

static void print_keeping(const char *name, const cm_value_keeping *keeping) {
    if (keeping->moves > 0) {
        printf("%-12s %9lld %6.1f%%\n", name, (long long)keeping->moves, 100.0 * share_of(keeping));
    } else {
        printf("%-12s %9d %7s\n", name, 0, "-");
    }
}

static void print_text(const report *r) {
    const cm_move_scores *j = &r->score.scores;
    cm_text text;
    char line[512];
    double low, high;
    interval_of(&j->all, &low, &high);
    cm_text_clear(&text);
    snprintf(line, sizeof line, "%lld solved positions of %.300s, moves that keep the exact value",
             (long long)j->all.moves, CM_PRINTABLE(r->path));
    cm_text_wrap(&text, r->columns, line);
    snprintf(line, sizeof line, "%d simulations per move, after %lld updates, %lld env steps", simulations_of(r),
             (long long)r->own->facts.updates, (long long)r->own->facts.env_steps);
    cm_text_wrap(&text, r->columns, line);
    printf("%s%-12s %9s %7s\n", text.bytes, "plies", "positions", "kept");
    for (int p = 0; p < CM_PHASES; p++) {
        snprintf(line, sizeof line, "%d-%d", cm_phase_first_ply(env_of(r), p),
                 cm_phase_first_ply(env_of(r), p + 1) - 1);
        print_keeping(line, &j->phase[p]);
    }
    for (int i = 0; i < CM_SOLVED_SOURCES; i++) {
        snprintf(line, sizeof line, "from %s", cm_solved_source_names[i]);
        print_keeping(line, &r->score.source[i]);
    }
    print_keeping("all", &j->all);
    printf("95 %% interval [%.1f, %.1f] %%\n", 100.0 * low, 100.0 * high);
}

/* ---- scoring ---- */

/* What an interrupt has left is told. */
static cm_status report_interrupted(report *r, cm_status status) {
    const int64_t asked = r->score.scores.all.moves;
    if (status != CM_ERR_INTERRUPTED) return status;
    if (asked == 0) return cm_fail(status, "eval: interrupted; it has no result");
    r->is_broken = true;
    cm_log(CM_WARNING, "eval: interrupted after %lld of %d positions", (long long)asked, r->count);
    return CM_OK;
}

static cm_status test_positions(const cm_arguments *arguments, report *r, const cm_solved *solved) {
    cm_session *session = r->own->session;
    const cm_match_shape shape = cm_match_shape_of(solved->count, session->pool);
    cm_player *player = NULL;
    cm_ticker ticker;
    CM_TRY(cm_player_agent(r->own->agent, &session->env, &shape, &player));
    cm_ticker_begin(&ticker, arguments, session->configuration.run.log_interval, "positions", NULL, solved->count);
    cm_status status = cm_solved_positions_test(solved, &session->env, player, &shape, session->pool, &ticker.tally,
                                                cm_interrupt_asks(), &r->score);
    cm_ticker_end(&ticker);
    cm_player_destroy(player);
    return report_interrupted(r, status);
}

cm_status cm_eval_positions_check(const cm_arguments *arguments) {
    static const char *const of_games[] = {"--episodes", "--opponent",   "--games",
                                           "--opening",  "--save-games", "--seed"};
    for (size_t i = 0; i < sizeof of_games / sizeof *of_games; i++) {
        if (!cm_argument_is_set(arguments, of_games[i])) continue;
        return cm_fail(CM_ERR_INPUT, "eval: %s is about games; leave it out with --positions", of_games[i]);
    }
    return CM_OK;
}

cm_status cm_eval_positions(cm_arguments *arguments, cm_loaded *own) {
    report r = {
        .own = own, .path = cm_argument(arguments, "--positions"), .columns = cm_view_of_stdout(arguments).columns};
    cm_solved solved;
    cm_status status = cm_solved_read(r.path, &own->session->env, &solved);
    if (status != CM_OK) return cm_fail_in(status == CM_ERR_IO ? CM_ERR_INPUT : status, "--positions");
    r.count = solved.count;
    status = test_positions(arguments, &r, &solved);
    if (r.is_broken) arguments->verdict = CM_EXIT_INTERRUPTED;
    if (status == CM_OK && cm_argument_is_set(arguments, "--json")) {
        status = print_json(&r);
    } else if (status == CM_OK) {
        print_text(&r);
    }
    cm_solved_free(&solved);
    return status;
}
