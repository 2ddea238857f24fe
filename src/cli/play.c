/* Watches an agent play, or plays a game against it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arena/evaluate.h"
#include "cli/dialogue.h"
#include "cli/interrupt.h"
#include "cli/loaded.h"
#include "cli/record.h"
#include "core/memory.h"
#include "core/terminal.h"

enum { MOST_STEPS = 100000 };

/* ---- watching ---- */

typedef struct watch {
    const cm_arguments *arguments;
    cm_game *game;
    cm_view view;
    double delay;       /* seconds between moves */
    bool without_noise; /* only the results */
    cm_recording recording;
    int lines; /* of the last picture that stands on the terminal */
} watch;

static void wait_for(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};
    if (seconds > 0.0) nanosleep(&time, NULL);
}

/* Of a terminal of `columns` that a picture takes: it may be wider. */
static int rows_of(const cm_text *picture, int columns) {
    int rows = 0;
    for (const char *at = picture->bytes; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL)) {
        const int width = cm_text_line_width(at);
        rows += width > columns ? (width + columns - 1) / columns : 1;
    }
    return rows;
}

/* On a terminal a picture takes the place of the last one, if that is still in sight. */
static cm_status show(watch *w, const cm_text *note) {
    cm_text out = {0};
    CM_TRY(cm_recording_add(&w->recording, w->game, note));
    if (w->without_noise) return CM_OK;
    cm_game_draw(w->game, &w->view, -1, note, &out);
    if (w->view.tty && w->lines > 0 && w->lines < w->view.rows) printf("\033[%dA\033[J", w->lines);
    fputs(out.bytes, stdout);
    fflush(stdout);
    w->lines = rows_of(&out, w->view.columns + 1);
    wait_for(w->delay);
    return CM_OK;
}

/* What the last move was: of two players with the table after it, of one with what has come of it. */
static void describe(const watch *w, int32_t action, const cm_analysis *analysis, cm_text *note) {
    const cm_game *game = w->game;
    char text[32], value[16] = "";
    if (game->env->spec.players == 2) {
        snprintf(text, sizeof text, "%s plays", cm_view_player(&w->view, game->moves[game->count - 1].player));
        cm_game_tell_move(game, &w->view, text, action, analysis, note);
        return;
    }
    cm_env_action_name(game->env, action, text, sizeof text);
    if (analysis) cm_view_value((double)analysis->value, value);
    char line[128], lines[256];
    snprintf(line, sizeof line, "step %d  %s  return %g%s%s", game->count, text, game->total,
             analysis ? "  expects " : "", value);
    cm_terminal_fold(line, w->view.tty ? w->view.columns + 1 : 0, 2, lines, sizeof lines);
    cm_text_add(note, "%s", lines);
}

/* Columns of the widest line that is to come in a game of one. */
static int widest_line(const cm_game *game) {
    const cm_env_spec *spec = &game->env->spec;
    const char *expects = game->analyser ? "  expects +99.9" : "";
    int steps = spec->max_plies > 0 ? spec->max_plies : MOST_STEPS, most = 0;
    for (int a = 0; a < spec->actions; a++) {
        char name[32];
        cm_env_action_name(game->env, a, name, sizeof name);
        most = (int)strlen(name) > most ? (int)strlen(name) : most;
    }
    return snprintf(NULL, 0, "step %d  %*s  return %g%s", steps, most, "", -99.1234, expects);
}

static cm_status watch_move(watch *w) {
    cm_game *game = w->game;
    cm_text note = {0};
    cm_analysis analysis;
    bool is_random = game->mover[cm_game_to_play(game)] == CM_MOVER_RANDOM;
    w->view = cm_view_of_stdout(w->arguments);
    if (!is_random) CM_TRY(cm_game_think(game, &analysis));
    int32_t action = is_random ? cm_game_random_action(game) : analysis.action;
    CM_TRY(cm_game_play(game, action));
    describe(w, action, is_random ? NULL : &analysis, &note);
    return show(w, &note);
}

static cm_status watch_game(watch *w, int64_t number, uint64_t seed) {
    const cm_text nothing = {0};
    cm_game *game = w->game;
    cm_game_begin(game, seed);
    w->lines = 0;
    CM_TRY(show(w, &nothing));
    while (!cm_env_ended(game->state) && game->count < MOST_STEPS) {
        if (cm_interrupted()) return cm_fail(CM_ERR_INTERRUPTED, "play: ended");
        CM_TRY(watch_move(w));
    }
    const char *result = game->total > 0.0 ? ", x wins" : game->total < 0.0 ? ", o wins" : ", a draw";
    cm_cli_line(4, "episode %lld: return %g%s%s", (long long)number, game->total,
                game->truncated ? " (time limit)" : "", game->env->spec.players == 2 ? result : "");
    return cm_game_save(game);
}

/* A moving picture takes the place of what the terminal shows. */
static bool is_silent(const cm_arguments *arguments) {
    return cm_argument_is_set(arguments, "--quiet") || cm_argument_is_set(arguments, "--video");
}

static cm_status watch_all(cm_game *game, const cm_arguments *arguments, int64_t seed) {
    watch w = {.arguments = arguments, .game = game, .without_noise = is_silent(arguments)};
    int64_t episodes = 1;
    CM_TRY(cm_argument_int(arguments, "--episodes", 1, 1000000, &episodes));
    w.view = cm_view_of_stdout(arguments);
    if (game->env->spec.players == 1) game->note_width = widest_line(game);
    w.delay = !w.view.tty || w.without_noise ? 0.0 : game->env->spec.players == 2 ? 1.0 : 0.05;
    CM_TRY(cm_argument_seconds(arguments, "--delay", &w.delay));
    if (!game->analyser && !w.without_noise) printf("moves are random: --run DIR takes the agent of a run\n");
    CM_TRY(cm_recording_begin(&w.recording, arguments, game->env));
    cm_interrupt_catch();
    cm_status status = CM_OK;
    for (int64_t i = 0; i < episodes && status == CM_OK; i++) status = watch_game(&w, i, (uint64_t)(seed + i));
    if (status == CM_ERR_INTERRUPTED) printf("\n");
    return cm_recording_end(&w.recording, status == CM_ERR_INTERRUPTED ? CM_OK : status);
}

/* ---- playing ---- */

static cm_status converse(cm_game *game, const cm_arguments *arguments, const cm_loaded *loaded, int64_t seed) {
    char agent[96] = "", steps[16];
    cm_dialogue_config config = {.arguments = arguments, .agent = agent, .seed = (uint64_t)seed};
    CM_TRY(cm_argument_int(arguments, "--episodes", 1, 1000000, &config.games));
    if (loaded->agent) {
        cm_format_count((double)loaded->facts.env_steps, steps);
        snprintf(agent, sizeof agent, "the agent (%s steps of training, %d simulations a move)", steps,
                 cm_agent_get_config(loaded->agent)->evaluation.num_simulations);
    }
    return cm_dialogue_run(game, &config);
}

/* ---- the command ---- */

enum { HUMAN_FIRST, HUMAN_SECOND, HUMAN_ONLY, HUMAN_NONE };

static cm_status seat_one(const cm_arguments *arguments, const cm_env_spec *spec, int human, cm_mover *mover) {
    if (human == HUMAN_SECOND) {
        return cm_fail(CM_ERR_INPUT, "--human: %s has one player; say --human only", spec->name);
    }
    if (cm_argument_is_set(arguments, "--opponent")) {
        return cm_fail(CM_ERR_INPUT, "--opponent: %s has one player", spec->name);
    }
    if (human == HUMAN_FIRST || human == HUMAN_ONLY) mover[0] = CM_MOVER_HUMAN;
    mover[1] = mover[0];
    return CM_OK;
}

static cm_status seat_two(const cm_arguments *arguments, const cm_env_spec *spec, int human, cm_mover *mover) {
    int opponent = (int)mover[1];
    if (human == HUMAN_ONLY) {
        return cm_fail(CM_ERR_INPUT, "--human only: %s has two players; say first or second", spec->name);
    }
    CM_TRY(cm_argument_choice(arguments, "--opponent", "agent|human|random", &opponent));
    if (human == HUMAN_NONE && opponent == CM_MOVER_HUMAN) {
        return cm_fail(CM_ERR_INPUT, "--opponent human: does not go with --human none");
    }
    mover[1] = (cm_mover)opponent;
    if (human == HUMAN_FIRST) mover[0] = CM_MOVER_HUMAN;
    if (human == HUMAN_SECOND) mover[0] = mover[1], mover[1] = CM_MOVER_HUMAN;
    return CM_OK;
}

/* Two players: a person plays, unless only results are wanted; one: the agent is watched. */
static cm_status seat_players(const cm_arguments *arguments, cm_game *game) {
    const cm_env_spec *spec = &game->env->spec;
    bool without_noise = is_silent(arguments);
    int human = spec->players == 2 && !without_noise ? HUMAN_FIRST : HUMAN_NONE;
    cm_mover *mover = game->mover;
    CM_TRY(cm_argument_choice(arguments, "--human", "first|second|only|none", &human));
    mover[0] = mover[1] = game->analyser ? CM_MOVER_AGENT : CM_MOVER_RANDOM;
    CM_TRY(spec->players == 2 ? seat_two(arguments, spec, human, mover) : seat_one(arguments, spec, human, mover));
    if (!game->analyser && (mover[0] == CM_MOVER_AGENT || mover[1] == CM_MOVER_AGENT)) {
        return cm_fail(CM_ERR_INPUT, "--opponent agent: needs the weights of a run: --run DIR");
    }
    if (without_noise && (mover[0] == CM_MOVER_HUMAN || mover[1] == CM_MOVER_HUMAN)) {
        return cm_fail(CM_ERR_INPUT, "%s: a person needs to see the board; leave it out, or say --human none",
                       cm_argument_is_set(arguments, "--quiet") ? "--quiet" : "--video");
    }
    return CM_OK;
}

/* ---- actions that are too many to be listed: the players of a match choose them, and they are played again ---- */

static cm_status record_episode(cm_recording *recording, cm_evaluator *evaluator, const cm_env *env, int64_t number,
                                uint64_t seed) {
    cm_evaluation evaluation;
    int count;
    CM_TRY(cm_evaluator_run(evaluator, 1, seed, NULL, &evaluation));
    const int32_t *actions = cm_evaluator_first(evaluator, &count);
    CM_TRY(cm_recording_replay(recording, env, seed, actions, count));
    cm_cli_line(4, "episode %lld: return %g", (long long)number, evaluation.mean);
    return CM_OK;
}

static cm_status record_unlisted(const cm_arguments *arguments, const cm_loaded *loaded, int64_t seed) {
    const cm_env *env = &loaded->session->env;
    const cm_evaluator_config config = {
        .agent = loaded->agent, .env = env, .pool = loaded->session->pool, .episodes = 1, .keeps_first = true};
    cm_recording recording;
    cm_evaluator *evaluator = NULL;
    int64_t episodes = 1;
    CM_TRY(cm_argument_int(arguments, "--episodes", 1, 1000000, &episodes));
    CM_TRY(cm_recording_begin(&recording, arguments, env));
    cm_status status = cm_evaluator_create(&config, &evaluator);
    for (int64_t i = 0; i < episodes && status == CM_OK; i++)
        status = record_episode(&recording, evaluator, env, i, (uint64_t)(seed + i));
    cm_evaluator_destroy(evaluator);
    return cm_recording_end(&recording, status);
}

static cm_status play(const cm_arguments *arguments, cm_loaded *loaded) {
    int64_t seed = 0;
    cm_game game = {0};
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &seed));
    if (cm_argument_is_set(arguments, "--video") && !cm_env_is_listed(&loaded->session->env))
        return record_unlisted(arguments, loaded, seed);
    CM_TRY(cm_game_open(&game, &loaded->session->env, loaded->agent, loaded->session->pool));
    cm_game_begin(&game, (uint64_t)seed);
    cm_status status = cm_cli_time_control(arguments, &game.time);
    if (status == CM_OK) status = seat_players(arguments, &game);
    if (status == CM_OK && !is_silent(arguments)) {
        status = cm_view_need_columns("play", cm_view_least_columns(game.env, game.state));
    }
    const char *path = cm_argument(arguments, "--save-games");
    if (status == CM_OK && path) status = cm_game_save_to(&game, path);
    bool is_human = game.mover[0] == CM_MOVER_HUMAN || game.mover[1] == CM_MOVER_HUMAN;
    if (status == CM_OK) {
        status = is_human ? converse(&game, arguments, loaded, seed) : watch_all(&game, arguments, seed);
    }
    status = cm_game_save_end(&game, status);
    cm_game_close(&game);
    return status;
}

static cm_status run_play(cm_arguments *arguments) {
    cm_loaded loaded;
    bool is_configured = cm_argument_is_set(arguments, "--config") || cm_argument_is_set(arguments, "--set");
    if (!is_configured) CM_TRY(cm_cli_default_run(arguments));
    CM_TRY(cm_loaded_open(arguments, &loaded));
    cm_status status = play(arguments, &loaded);
    cm_loaded_close(&loaded);
    return cm_memory_advise(status, "lower --simulations");
}

static const cm_flag flags[] = {
    {"--run", "DIR", "The run whose agent plays; without it the newest one, or, with --config or --set, random moves."},
    CM_FLAG_CHECKPOINT,
    CM_FLAG_SIMULATIONS,
    CM_FLAGS_TIME,
    {"--human", "WHO",
     "You decide the moves of a player: first, second, only (games of one), or none. In games of two: first."},
    {"--opponent", "WHO", "The player against you, or the second: agent, human or random; agent."},
    {"--episodes", "N", "Games; 1, and as many as you like where you play."},
    {"--seed", "S", "Game i resets with seed S + i; 0."},
    {"--delay", "TIME", "Pause after every move that is watched: 0.1, 2s."},
    {"--save-games", "FILE.sgf", "Write the games of go as SGF, with the result ? one that has not ended."},
    {"--quiet", NULL, "Only the results."},
    CM_FLAGS_VIDEO,
    CM_FLAGS_CONFIGURATION,
    CM_FLAGS_MACHINE,
    CM_FLAGS_END,
};

const cm_command cm_command_play = {
    .name = "play",
    .about = "play against an agent, or watch it play",
    .positional = "",
    .details =
        "Draws every position as text, and in games of two players the moves that the agent considered for its "
        "last one: visits of the search, Q (what a move is worth to its player: +1 is a win, -1 a loss), "
        "prior (the network's policy).\n"
        "In games of two players you play: type a move by its name, such as b2, or a command: hint (what the "
        "agent would play for you), undo, moves (the legal ones), side (change sides), new, help, quit. In "
        "games of one the agent is watched; --human only lets you decide its moves.\n" CM_TIME_DETAILS "\n"
        "With --video a file takes the place of the terminal: it has a frame for every position, from the first on.",
    .flags = flags,
    .examples = "  cumind play --run RUN                 # against the agent, or watching it\n"
                "  cumind play --run RUN --human second --simulations 400\n"
                "  cumind play --run RUN --human none    # the agent against itself\n"
                "  cumind play --run RUN --video agent.gif\n"
                "  cumind play --set env_name=tictactoe --opponent human\n",
    .run = run_play,
};
