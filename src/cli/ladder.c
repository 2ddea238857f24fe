/* cumind ladder: every player against every other, Elo, table and plot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/elo.h"
#include "arena/ladder.h"
#include "cli/contest.h"
#include "cli/interrupt.h"
#include "cli/interval_plot.h"
#include "cli/view.h"
#include "core/arena.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/printable.h"
#include "run/directory.h"
#include "run/recipe.h"

enum { WIDE = 60 }; /* columns from which the table counts wins, draws and losses */

typedef struct entry_list {
    const cm_arguments *arguments;
    cm_entrant *entrants; /* [CM_ELO_MOST_PLAYERS], owned */
    char **paths;         /* [CM_ELO_MOST_PLAYERS] names of the runs, owned */
    int count;
    cm_ticker ticker;
} entry_list;

/* ---- participants ---- */

static cm_status enter(entry_list *list, const char *flag, const char *name) {
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->entrants[i].name, cm_argument_written(name)) == 0)
            return cm_fail(CM_ERR_INPUT, "ladder: %s is named twice", cm_argument_written(name));
    }
    if (list->count == CM_ELO_MOST_PLAYERS) {
        return cm_fail(CM_ERR_INPUT, "ladder: at most %d players", CM_ELO_MOST_PLAYERS);
    }
    CM_TRY(cm_entrant_open(list->arguments, flag, name, &list->entrants[list->count]));
    list->count++;
    return CM_OK;
}

/* A run below a folder that was named. */
static cm_status enter_run(void *context, const char *path) {
    entry_list *list = context;
    char **copy = &list->paths[list->count];
    if (list->count < CM_ELO_MOST_PLAYERS) {
        *copy = strdup(path);
        if (!*copy) return cm_fail(CM_ERR_MEMORY, "no memory for the name of a run");
        path = *copy;
    }
    return enter(list, "ladder", path);
}

static cm_status enter_all(const cm_arguments *arguments, entry_list *list) {
    const char *name;
    CM_TRY(cm_alloc(&list->entrants, CM_ELO_MOST_PLAYERS, sizeof *list->entrants, "a ladder"));
    CM_TRY(cm_alloc(&list->paths, CM_ELO_MOST_PLAYERS + 1, sizeof *list->paths, "a ladder"));
    for (int i = 0; i < arguments->positional_count; i++) {
        int before = list->count;
        CM_TRY(cm_recipe_advise_run(arguments->positional[i]));
        CM_TRY(cm_run_directory_visit(arguments->positional[i], enter_run, list));
        if (list->count == before) {
            return cm_fail(CM_ERR_INPUT, "ladder: %s is no run and holds none", arguments->positional[i]);
        }
    }
    if (list->count == 0) return cm_fail(CM_ERR_INPUT, "ladder: needs the folders of runs, as in cumind ladder runs/*");
    for (int i = 0; (name = cm_argument_at(arguments, "--include", i)) != NULL; i++) {
        CM_TRY(enter(list, "--include", name));
    }
    if (list->count < 2) return cm_fail(CM_ERR_INPUT, "ladder: needs two players at least; --include random is one");
    return CM_OK;
}

static void close_all(entry_list *list) {
    for (int i = 0; i < list->count; i++) cm_entrant_close(&list->entrants[i]);
    for (int i = 0; list->paths && i < CM_ELO_MOST_PLAYERS; i++) free(list->paths[i]);
    free(list->paths);
    free(list->entrants);
}

/* ---- JSON ---- */

/* What is told of a ladder. */
typedef struct report {
    const entry_list *list;
    const cm_env *env;
    const cm_ladder *ladder;
    cm_contest_size size;
    int64_t seed;
    bool is_broken; /* off, by an interrupt */
} report;

static void put_score(cm_json_writer *json, const cm_side_score *score) {
    cm_json_put_int(json, "games", score->games);
    cm_json_put_int(json, "wins", score->wins);
    cm_json_put_int(json, "draws", score->draws);
    cm_json_put_int(json, "losses", score->losses);
    cm_json_put_double(json, "score", cm_side_points(score));
}

static void put_players(cm_json_writer *json, const report *r) {
    cm_json_begin_array(json, "players");
    for (int k = 0; k < r->ladder->count; k++) {
        int i = r->ladder->order[k];
        cm_json_begin_object(json, NULL);
        cm_json_put_string(json, "name", r->list->entrants[i].name);
        cm_json_put_double(json, "elo", r->ladder->rating[i]);
        cm_cli_put_interval(json, r->ladder->rating[i] - r->ladder->interval[i],
                            r->ladder->rating[i] + r->ladder->interval[i]);
        put_score(json, &r->ladder->sum[i]);
        cm_json_end_object(json);
    }
    cm_json_end_array(json);
}

static void put_pairs(cm_json_writer *json, const report *r) {
    int n = r->ladder->count;
    cm_json_begin_array(json, "pairs");
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            cm_json_begin_object(json, NULL);
            cm_json_put_string(json, "a", r->list->entrants[i].name);
            cm_json_put_string(json, "b", r->list->entrants[j].name);
            put_score(json, &r->ladder->pair[i * n + j]);
            cm_json_end_object(json);
        }
    }
    cm_json_end_array(json);
}

static cm_status print_json(const report *r) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "game", r->env->spec.name);
    cm_json_put_int(json, "games_per_pair", r->size.games);
    cm_json_put_int(json, "opening", r->size.opening);
    cm_json_put_int(json, "seed", r->seed);
    cm_json_put_bool(json, "padded", r->ladder->padded);
    if (r->is_broken) cm_json_put_bool(json, "interrupted", true);
    put_players(json, r);
    put_pairs(json, r);
    cm_json_end_object(json);
    return cm_cli_print(json, CM_OK);
}

/* ---- text ---- */

static void print_pair(void *context, int i, int j, const cm_side_score *score) {
    entry_list *list = context;
    if (cm_argument_is_set(list->arguments, "--json")) return;
    cm_ticker_hold(&list->ticker);
    printf("%s - %s: %d won, %d drawn, %d lost\n", CM_PRINTABLE(list->entrants[i].name),
           CM_PRINTABLE(list->entrants[j].name), score->wins, score->draws, score->losses);
    fflush(stdout);
    cm_ticker_release(&list->ticker);
}

static void print_table(const report *r, int columns) {
    bool wide = columns >= WIDE;
    printf("%3s %6s %5s %7s %s %s\n", "", "Elo", "+-", "score", wide ? "   won  drawn   lost " : "", "player");
    for (int k = 0; k < r->ladder->count; k++) {
        int i = r->ladder->order[k];
        const cm_side_score *s = &r->ladder->sum[i];
        printf("%3d %+6.0f %5.0f %6.1f%% ", k + 1, r->ladder->rating[i], r->ladder->interval[i],
               100.0 * cm_side_points(s));
        if (wide) printf("%6d %6d %6d ", s->wins, s->draws, s->losses);
        printf(" %s\n", CM_PRINTABLE(r->list->entrants[i].name));
    }
}

/* The rows of the plot in the order of the table; the caller frees *rows. */
static cm_status plot_of(const report *r, cm_interval_row **rows, cm_interval_plot *out) {
    CM_TRY(cm_alloc(rows, (size_t)r->ladder->count, sizeof **rows, "a plot"));
    for (int k = 0; k < r->ladder->count; k++) {
        int i = r->ladder->order[k];
        (*rows)[k] = (cm_interval_row){r->list->entrants[i].name, r->ladder->rating[i], r->ladder->interval[i]};
    }
    *out = (cm_interval_plot){"Elo with 95 % intervals", "Elo", *rows, r->ladder->count};
    return CM_OK;
}

static void print_header(const report *r, int columns) {
    cm_text text;
    char line[256], openings[64] = "";
    if (r->size.opening > 0) snprintf(openings, sizeof openings, ", openings of %d random moves", r->size.opening);
    snprintf(line, sizeof line, "%s, %d games a pair%s", r->env->spec.name, r->size.games, openings);
    cm_text_clear(&text);
    cm_text_wrap(&text, columns, line);
    cm_text_wrap(&text, columns,
                 "Elo of highest likelihood (Bradley-Terry, a draw is half a point), mean 0, 95 % intervals");
    if (r->ladder->padded) {
        cm_text_wrap(&text, columns, "no finite ratings explain these scores: a drawn game was added to every pairing");
    }
    printf("\n%s", text.bytes);
}

static cm_status print_text(const report *r, const cm_view *view, const cm_interval_plot *plot) {
    char *text = NULL;
    print_header(r, view->columns);
    print_table(r, view->columns);
    CM_TRY(cm_interval_plot_text(plot, view->columns < 100 ? view->columns : 100, view->utf8, &text));
    printf("\n%s", text);
    free(text);
    return CM_OK;
}

static cm_status write_pictures(const cm_arguments *arguments, const cm_interval_plot *plot) {
    return cm_interval_plot_write(plot, cm_argument(arguments, "--svg"), cm_argument(arguments, "--png"));
}

/* A picture that cannot be written takes no rating from the reader. */
static cm_status conclude(const cm_arguments *arguments, const report *r) {
    const cm_view view = cm_view_of_stdout(arguments);
    cm_interval_row *rows = NULL;
    cm_interval_plot plot;
    CM_TRY(plot_of(r, &rows, &plot));
    cm_status status = cm_argument_is_set(arguments, "--json") ? print_json(r) : print_text(r, &view, &plot);
    if (status == CM_OK) status = write_pictures(arguments, &plot);
    free(rows);
    return status;
}

/* ---- the command ---- */

static cm_status seat_all(entry_list *list, const cm_ladder_config *config, cm_player **players) {
    for (int i = 0; i < list->count; i++) {
        CM_TRY(cm_entrant_seat(&list->entrants[i], config->match.env, list->entrants[0].name, &config->match.shape));
        players[i] = list->entrants[i].player;
    }
    return CM_OK;
}

/* What an interrupt has left is rated all the same. */
static void say_broken(cm_arguments *arguments, const cm_ladder *ladder, int64_t games) {
    int64_t played = 0;
    for (int i = 0; i < ladder->count; i++) played += ladder->sum[i].games;
    cm_log(CM_WARNING, "ladder: interrupted after %lld of %lld games", (long long)played / 2, (long long)games);
    arguments->verdict = CM_EXIT_INTERRUPTED;
}

static cm_status play_ladder(cm_arguments *arguments, entry_list *list, cm_pool *pool) {
    const cm_env *env = &list->entrants[0].loaded.session->env;
    cm_player *players[CM_ELO_MOST_PLAYERS] = {NULL};
    report r = {.list = list, .env = env};
    cm_ladder ladder;
    CM_TRY(cm_contest_check("ladder", env));
    CM_TRY(cm_contest_size_of(arguments, env, -1, &r.size));
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &r.seed));
    cm_ladder_config config = {.match = {.env = env,
                                         .pool = pool,
                                         .shape = cm_match_shape_of(r.size.games, pool),
                                         .games = r.size.games,
                                         .tally = &list->ticker.tally,
                                         .stop = cm_interrupt_asks()},
                               .players = players,
                               .count = list->count,
                               .seed = (uint64_t)r.seed,
                               .opening = r.size.opening,
                               .report = print_pair,
                               .context = list};
    CM_TRY(seat_all(list, &config, players));
    const int64_t pairings = (int64_t)list->count * (list->count - 1) / 2;
    cm_ticker_begin(&list->ticker, arguments, list->entrants[0].loaded.session->configuration.run.log_interval, "games",
                    "moves", pairings * r.size.games);
    cm_status status = cm_ladder_run(&config, &ladder);
    cm_ticker_end(&list->ticker);
    if (cm_stop_asked(config.match.stop) && status == CM_ERR_INPUT)
        return cm_fail(CM_ERR_INTERRUPTED, "ladder: interrupted; the games so far are too few for ratings");
    if (status != CM_ERR_INTERRUPTED) CM_TRY(status);
    r.ladder = &ladder;
    r.is_broken = status == CM_ERR_INTERRUPTED;
    if (r.is_broken) say_broken(arguments, &ladder, pairings * r.size.games);
    status = conclude(arguments, &r);
    cm_ladder_free(&ladder);
    return status;
}

static cm_status run_ladder(cm_arguments *arguments) {
    entry_list list = {.arguments = arguments};
    cm_pool *pool = NULL;
    int64_t threads = 0;
    CM_TRY(cm_argument_int(arguments, "--threads", 0, 1024, &threads));
    CM_TRY(cm_cli_try_file("--svg", cm_argument(arguments, "--svg")));
    CM_TRY(cm_cli_try_file("--png", cm_argument(arguments, "--png")));
    cm_interrupt_ends("ladder");
    cm_status status = enter_all(arguments, &list);
    if (status == CM_OK) status = cm_session_pool((int)threads, &pool);
    if (status == CM_OK) status = play_ladder(arguments, &list, pool);
    close_all(&list);
    cm_pool_destroy(pool);
    return cm_memory_advise(status, "lower --simulations or --games");
}

static const cm_flag flags[] = {
    {"--include", "WHO", "One more player: random, perfect, mcts:N or a run (see cumind help eval); may be repeated."},
    CM_FLAGS_CONTEST,
    CM_FLAG_SIMULATIONS,
    {"--seed", "S", "Of openings and of players that draw; 0."},
    {"--svg", "FILE", "Also write the plot as a picture."},
    {"--png", "FILE", "Also write it as PNG, by rsvg-convert (Debian: librsvg2-bin)."},
    {"--set", "KEY=VALUE", "Set one key on top of every run's configuration; may be repeated."},
    CM_FLAGS_MACHINE,
    CM_FLAG_JSON,
    CM_FLAGS_END,
};

const cm_command cm_command_ladder = {
    .name = "ladder",
    .about = "rate runs by games against each other",
    .positional = "RUN...",
    .details = "Every player meets every other, each moving first in half of the games, greedily and with its best "
               "checkpoint (the latest, if none was evaluated); a folder stands for all runs below it. The ratings are "
               "those of highest likelihood under the model of Bradley and Terry, a draw being half a point to each, "
               "with 95 % intervals from the Fisher information; their mean is 0. Where somebody has won or lost "
               "everything, so that no finite ratings explain the scores, a drawn game is added to every pairing. "
               "Ctrl-C rates by the games that have ended, and the exit status is 130.",
    .flags = flags,
    .examples = "  cumind ladder runs/* --include random --include mcts:400 --svg ladder.svg\n",
    .run = run_ladder,
};
