/* Greedy evaluation of a run's checkpoint. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/evaluate.h"
#include "cli/contest.h"
#include "cli/eval_match.h"
#include "cli/eval_positions.h"
#include "cli/interrupt.h"
#include "core/arena.h"
#include "core/log.h"
#include "core/memory.h"

/* What is printed. */
typedef struct report {
    cm_evaluation agent, random; /* random play over the same episodes: only if has_random */
    bool has_random;
    const double *returns; /* of the agent, borrowed */
    const cm_run_facts *facts;
    int64_t seed;
    bool is_broken; /* off, by an interrupt */
} report;

static void put_figures(const cm_evaluation *e, cm_json_writer *json) {
    cm_json_put_double(json, "mean", e->mean);
    cm_json_put_double(json, "std", e->std);
    cm_json_put_double(json, "min", e->min);
    cm_json_put_double(json, "max", e->max);
    cm_cli_put_interval(json, e->low, e->high);
    cm_json_put_double(json, "mean_length", e->mean_length);
}

static void write_result(const report *r, cm_json_writer *json) {
    const cm_evaluation *e = &r->agent;
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "episodes", e->episodes);
    put_figures(e, json);
    cm_json_put_int(json, "wins", e->wins);
    cm_json_put_int(json, "draws", e->draws);
    cm_json_put_int(json, "losses", e->losses);
    cm_json_put_int(json, "seed", r->seed);
    cm_json_put_int(json, "updates", r->facts->updates);
    cm_json_put_int(json, "env_steps", r->facts->env_steps);
    if (r->is_broken) cm_json_put_bool(json, "interrupted", true);
    if (r->has_random) {
        cm_json_begin_object(json, "random");
        put_figures(&r->random, json);
        cm_json_end_object(json);
    }
    cm_json_begin_array(json, "returns");
    for (int i = 0; i < e->episodes; i++) cm_json_put_double(json, NULL, r->returns[i]);
    cm_json_end_array(json);
    cm_json_end_object(json);
}

static cm_status print_json(const report *r) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    write_result(r, json);
    return cm_cli_print(json, CM_OK);
}

static void print_text(const report *r, int players) {
    const cm_evaluation *e = &r->agent, *random = &r->random;
    cm_cli_line(4, "%d greedy episodes after %lld updates, %lld env steps", e->episodes, (long long)r->facts->updates,
                (long long)r->facts->env_steps);
    cm_cli_line(4, "mean return %.2f%s, std %.2f, 95 %% interval [%.2f, %.2f], min %g, max %g", e->mean,
                players == 2 ? " against random" : "", e->std, e->low, e->high, e->min, e->max);
    if (players == 2) cm_cli_line(4, "against random: %d won, %d drawn, %d lost", e->wins, e->draws, e->losses);
    if (!r->has_random) return;
    cm_cli_line(4, "random play: mean return %.2f, std %.2f, 95 %% interval [%.2f, %.2f]; the agent: %.2f, %.2f %s",
                random->mean, random->std, random->low, random->high, e->mean, fabs(e->mean - random->mean),
                e->mean < random->mean ? "lower" : "higher");
}

/* Episodes of the agent, or of random play where `agent` is NULL; returns[episodes] may be NULL. */
static cm_status play_episodes(const cm_arguments *arguments, const cm_session *session, cm_agent *agent, int episodes,
                               int64_t seed, double *returns, cm_evaluation *out) {
    cm_evaluator *evaluator = NULL;
    cm_ticker ticker;
    const cm_evaluator_config config = {.agent = agent,
                                        .env = &session->env,
                                        .pool = session->pool,
                                        .episodes = episodes,
                                        .tally = &ticker.tally,
                                        .stop = cm_interrupt_asks()};
    CM_TRY(cm_evaluator_create(&config, &evaluator));
    cm_ticker_begin(&ticker, arguments, session->configuration.run.log_interval, agent ? "episodes" : "random episodes",
                    "steps", episodes);
    cm_status status = cm_evaluator_run(evaluator, episodes, (uint64_t)seed, returns, out);
    cm_ticker_end(&ticker);
    cm_evaluator_destroy(evaluator);
    return status;
}

/* What an interrupt has left of the agent's episodes, or of those of random play, is printed. */
static cm_status report_interrupted(report *r, int episodes, cm_status status) {
    if (status != CM_ERR_INTERRUPTED) return status;
    const bool is_of_agent = r->agent.episodes < episodes;
    if (r->agent.episodes == 0) return cm_fail(status, "eval: interrupted; it has no result");
    r->is_broken = true;
    r->has_random &= r->random.episodes > 0;
    cm_log(CM_WARNING, "eval: interrupted after %d of %d %sepisodes",
           is_of_agent ? r->agent.episodes : r->random.episodes, episodes, is_of_agent ? "" : "random ");
    return CM_OK;
}

static cm_status evaluate(cm_arguments *arguments, const cm_loaded *own) {
    const cm_session *session = own->session;
    report r = {.facts = &own->facts, .has_random = cm_argument_is_set(arguments, "--opponent")};
    int64_t episodes = 100;
    double *returns = NULL;
    CM_TRY(cm_argument_int(arguments, "--episodes", 1, 1000000, &episodes));
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &r.seed));
    CM_TRY(cm_alloc(&returns, (size_t)episodes, sizeof *returns, "returns"));
    r.returns = returns;
    cm_status status = play_episodes(arguments, session, own->agent, (int)episodes, r.seed, returns, &r.agent);
    if (status == CM_OK && r.has_random)
        status = play_episodes(arguments, session, NULL, (int)episodes, r.seed, NULL, &r.random);
    status = report_interrupted(&r, (int)episodes, status);
    if (r.is_broken) arguments->verdict = CM_EXIT_INTERRUPTED;
    if (status == CM_OK && cm_argument_is_set(arguments, "--json")) {
        status = print_json(&r);
    } else if (status == CM_OK) {
        print_text(&r, session->env.spec.players);
    }
    free(returns);
    return status;
}

/* One player has no opponent, but random play to be compared with. */
static bool is_compared(const cm_arguments *arguments, const cm_env *env) {
    static const char *const of_games[] = {"--games", "--opening", "--save-games", "--seconds-per-move",
                                           "--seconds-per-game"};
    const char *opponent = cm_argument(arguments, "--opponent");
    for (size_t i = 0; i < sizeof of_games / sizeof *of_games; i++)
        if (cm_argument_is_set(arguments, of_games[i])) return false;
    return env->spec.players == 1 && opponent && strcmp(opponent, "random") == 0;
}

static cm_status run_eval(cm_arguments *arguments) {
    static const char *const of_matches[] = {"--opponent",         "--games",           "--opening", "--save-games",
                                             "--seconds-per-move", "--seconds-per-game"};
    const char *run = NULL;
    cm_loaded own;
    bool is_match = false, is_positions = cm_argument_is_set(arguments, "--positions");
    CM_TRY(cm_cli_need_run(arguments, &run));
    if (is_positions) CM_TRY(cm_eval_positions_check(arguments));
    for (size_t i = 0; i < sizeof of_matches / sizeof *of_matches; i++) {
        is_match = is_match || cm_argument_is_set(arguments, of_matches[i]);
    }
    cm_interrupt_ends("eval");
    CM_TRY(cm_loaded_open(arguments, &own));
    is_match = is_match && !is_compared(arguments, &own.session->env);
    cm_status status = is_positions ? cm_eval_positions(arguments, &own)
                       : is_match   ? cm_eval_match(arguments, &own)
                                    : evaluate(arguments, &own);
    cm_loaded_close(&own);
    return cm_memory_advise(status, "lower --simulations, --episodes or --games");
}

static const cm_flag flags[] = {
    CM_FLAG_RUN,
    CM_FLAG_CHECKPOINT,
    {"--episodes", "N", "Episodes; 100."},
    {"--opponent", "WHO",
     "Games of two: the opponent. random draws its moves; mcts:N is plain UCT with N random rollouts per move and the "
     "true rules; perfect never gives away the exact value (games with a solver); the folder of another run is its "
     "agent; all follows every reply sequence to the end, from both sides (small games). With one player random alone: "
     "random play over the same episodes is set against the agent."},
    CM_FLAGS_CONTEST,
    {"--save-games", "FILE",
     "Write the games, a JSON object per line: \"moves\", \"first\" (agent or opponent: who moved first) and "
     "\"rewards\", that of the player who moved first in front. Games of go to FILE.sgf: as SGF."},
    {"--positions", "FILE",
     "Instead of games: the share of the agent's moves that keep the exact value in the solved positions of a file, "
     "such as tests/data/connect4.jsonl."},
    CM_FLAG_SIMULATIONS,
    CM_FLAGS_TIME,
    {"--seed", "S", "Episode i resets with seed S + i; 0."},
    {"--set", "KEY=VALUE", "Set one key on top of the run's configuration; may be repeated."},
    CM_FLAGS_MACHINE,
    CM_FLAG_JSON,
    CM_FLAGS_END,
};

const cm_command cm_command_eval = {
    .name = "eval",
    .about = "evaluate a run greedily",
    .positional = "",
    .details = "Plays episodes without noise and prints mean, sample standard deviation and the 95 % interval of the "
               "mean return. In a game of two players the agent meets one that moves at random, going first in every "
               "other episode.\n"
               "With --opponent, --games or --save-games: games against an opponent, by whom and how they were won, "
               "drawn and lost. Against perfect, also the share of the agent's moves that keep the exact value of the "
               "position, by thirds of the longest game, and the same of its choices: positions with at least two "
               "legal moves of which at least one loses value. --simulations and --set also concern another run as "
               "opponent, which plays with its best checkpoint, or its latest if none was evaluated.\n" CM_TIME_DETAILS
               " Games are then played one at a time by each thread, and --seconds-per-game is divided "
               "over a game's moves beforehand.\n"
               "Ctrl-C prints what the episodes, games, lines or positions say that have ended, and the exit status is "
               "130; a second one ends at once.",
    .flags = flags,
    .examples = "  cumind eval --run checkpoints/CartPole-v1/20251121-073900 --episodes 100\n"
                "  cumind eval --run X --opponent random    # is it better than random play?\n"
                "  cumind eval --run X --opponent mcts:800 --games 1000 --save-games games.jsonl\n"
                "  cumind eval --run X --positions tests/data/connect4.jsonl --simulations 800\n"
                "  cumind eval --run X --opponent all --simulations 25    # can it be beaten?\n",
    .run = run_eval,
};
