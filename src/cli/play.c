/* Watches an agent play, or plays a game against it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/output.h"
#include "core/arena.h"
#include "core/rng.h"
#include "run/weights.h"

enum { LINE = 256 };

/* Who decides the moves of a player. */
typedef enum mover { MOVER_AGENT, MOVER_HUMAN, MOVER_RANDOM } mover;

typedef struct table {
    const cm_env *env;
    cm_agent *agent;
    mover mover[2];
    double delay; /* seconds between moves */
    bool redraw;  /* the picture stays in its place on a terminal */
    bool quiet;   /* only the results */
    int lines;    /* of the last picture */
    void *state;  /* owned, like the next ones */
    uint8_t *legal;
    cm_rng random;
} table;

static void wait_for(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};
    if (seconds > 0.0) nanosleep(&time, NULL);
}

static void show(table *t, const char *caption) {
    char picture[CM_ENV_PICTURE_BYTES];
    if (t->quiet) return;
    cm_env_picture(t->env, t->state, picture, sizeof picture);
    if (t->redraw && t->lines > 0) printf("\033[%dA\033[J", t->lines);
    size_t length = strlen(picture);
    printf("%s%s%s\n", picture, length > 0 && picture[length - 1] == '\n' ? "" : "\n", caption);
    t->lines = 2 - (length > 0 && picture[length - 1] == '\n');
    for (const char *c = picture; *c; c++) t->lines += *c == '\n';
    fflush(stdout);
    wait_for(t->delay);
}

/* ---- moves ---- */

static cm_status ask_human(table *t, int32_t *action) {
    char line[LINE];
    for (;;) {
        printf("your move (a name or a number, ? lists them, q ends): ");
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin) || line[0] == 'q') return cm_fail(CM_ERR_INTERRUPTED, "play: ended");
        line[strcspn(line, "\r\n")] = '\0';
        t->lines = 0; /* the terminal has scrolled */
        *action = cm_env_action_parse(t->env, line);
        if (*action >= 0 && *action < t->env->spec.actions && t->legal[*action]) return CM_OK;
        printf("legal moves:");
        for (int i = 0; i < t->env->spec.actions; i++) {
            char name[16];
            if (!t->legal[i]) continue;
            cm_env_action_name(t->env, i, name, sizeof name);
            printf(" %s", name);
        }
        printf("\n");
    }
}

static int32_t random_move(table *t) {
    int legal = 0;
    for (int i = 0; i < t->env->spec.actions; i++) legal += t->legal[i] != 0;
    int wanted = legal > 0 ? (int)cm_rng_below(&t->random, (uint32_t)legal) : 0;
    for (int i = 0; i < t->env->spec.actions; i++) {
        if (t->legal[i] && wanted-- == 0) return i;
    }
    return 0;
}

static cm_status choose(table *t, int player, int32_t *action, float *value) {
    *value = NAN;
    cm_env_legal(t->env, t->state, t->legal);
    if (t->mover[player] == MOVER_HUMAN) return ask_human(t, action);
    if (t->mover[player] == MOVER_RANDOM) {
        *action = random_move(t);
        return CM_OK;
    }
    cm_decision decision = {.policy = NULL};
    CM_TRY(cm_agent_decide(t->agent, t->env, t->state, false, &decision));
    *action = decision.action;
    *value = decision.value;
    return CM_OK;
}

/* ---- an episode ---- */

static void caption_of(const table *t, int64_t step, int32_t action, float value, double total, char out[LINE]) {
    char name[16];
    cm_env_action_name(t->env, action, name, sizeof name);
    int n = snprintf(out, LINE, "step %lld  %s  return %g", (long long)step, name, total);
    if (isfinite(value) && n > 0) snprintf(out + n, (size_t)(LINE - n), "  expects %.2f", (double)value);
}

static cm_status play_episode(table *t, int64_t number, uint64_t seed, double *total) {
    char caption[LINE] = "";
    cm_env_outcome outcome = {0.0, false, false};
    *total = 0.0;
    t->lines = 0;
    cm_env_reset(t->env, t->state, seed);
    show(t, "");
    for (int64_t step = 1; !outcome.terminated && !outcome.truncated && step <= 100000; step++) {
        int player = cm_env_to_play(t->env, t->state);
        int32_t action = 0;
        float value = NAN;
        CM_TRY(choose(t, player, &action, &value));
        CM_TRY(cm_env_step(t->env, t->state, action, &outcome));
        *total += player == 0 ? outcome.reward : -outcome.reward;
        caption_of(t, step, action, value, *total, caption);
        show(t, caption);
    }
    printf("episode %lld: return %g%s\n", (long long)number, *total, outcome.truncated ? " (time limit)" : "");
    return CM_OK;
}

static cm_status take_table(table *t) {
    const cm_env_spec *spec = &t->env->spec;
    CM_TRY(cm_alloc(&t->state, 1, spec->state_size, "a game"));
    return cm_alloc(&t->legal, (size_t)spec->actions, 1, "a game");
}

static void free_table(table *t) {
    free(t->state);
    free(t->legal);
}

static cm_status play_all(table *t, int64_t episodes, int64_t seed) {
    cm_status status = take_table(t);
    t->random = cm_rng_init(cm_key_make((uint64_t)seed, CM_RNG_EVALUATE, 0), 0);
    for (int64_t i = 0; i < episodes && status == CM_OK; i++) {
        double total = 0.0;
        status = play_episode(t, i, (uint64_t)(seed + i), &total);
    }
    free_table(t);
    if (status == CM_ERR_INTERRUPTED) printf("\n");
    return status == CM_ERR_INTERRUPTED ? CM_OK : status;
}

/* ---- the command ---- */

static cm_status seat_players(cm_arguments *arguments, const cm_env_spec *spec, bool has_agent, table *t) {
    int seat = -1, opponent = MOVER_AGENT;
    mover standard = has_agent ? MOVER_AGENT : MOVER_RANDOM;
    CM_TRY(cm_argument_choice(arguments, "--human", "first|second|only", &seat));
    CM_TRY(cm_argument_choice(arguments, "--opponent", "agent|human|random", &opponent));
    t->mover[0] = t->mover[1] = standard;
    if (cm_argument_given(arguments, "--opponent")) t->mover[1] = (mover)opponent;
    if (seat == 1 && spec->players < 2) {
        return cm_fail(CM_ERR_INPUT, "--human: %s has one player; say --human only", spec->name);
    }
    if (seat == 0 || seat == 2) t->mover[0] = MOVER_HUMAN;
    if (seat == 1) t->mover[1] = MOVER_HUMAN;
    if (!has_agent && t->mover[1] == MOVER_AGENT) {
        return cm_fail(CM_ERR_INPUT, "--opponent agent: needs the weights of a run: --run DIR");
    }
    return CM_OK;
}

static cm_status play(cm_arguments *arguments, cm_session *session, const char *run) {
    table t = {.env = &session->env};
    int64_t episodes = 1, seed = 0, checkpoint = 0;
    double seconds = 0.0;
    cm_progress_style style = cm_cli_style(arguments);
    CM_TRY(cm_argument_int(arguments, "--episodes", 1, 1000000, &episodes));
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &seed));
    CM_TRY(cm_argument_seconds(arguments, "--delay", &seconds));
    CM_TRY(cm_cli_checkpoint(arguments, &checkpoint));
    CM_TRY(seat_players(arguments, &session->env.spec, run != NULL, &t));
    bool human = t.mover[0] == MOVER_HUMAN || t.mover[1] == MOVER_HUMAN;
    t.redraw = style.tty && !human;
    t.delay = seconds > 0.0 ? seconds : style.tty && !human ? 0.05 : 0.0;
    t.quiet = style.quiet;
    if (run) CM_TRY(cm_session_agent(session, &t.agent));
    cm_status status = run ? cm_run_load_agent(run, checkpoint, session, t.agent, NULL) : CM_OK;
    if (status == CM_OK) status = play_all(&t, episodes, seed);
    cm_agent_destroy(t.agent);
    return status;
}

static cm_status run_play(cm_arguments *arguments) {
    const char *run = cm_argument(arguments, "--run");
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_session *session = NULL;
    if (run) {
        CM_TRY(cm_cli_run_configuration(arguments, run, &configuration, &config));
    } else {
        CM_TRY(cm_cli_configuration(arguments, &configuration, &config));
    }
    cm_status status = cm_session_open(&configuration, &session);
    if (status == CM_OK) status = play(arguments, session, run);
    cm_session_close(session);
    cm_config_destroy(config);
    return status;
}

static const cm_flag flags[] = {
    {"--run", "DIR", "The run whose agent plays; without it moves are random."},
    CM_FLAG_CHECKPOINT,
    {"--human", "WHO", "You decide the moves of a player: first, second, or only (games of one)."},
    {"--opponent", "WHO", "Who moves second: agent, human or random; agent."},
    {"--episodes", "N", "Episodes; 1."},
    {"--seed", "S", "Episode i resets with seed S + i; 0."},
    {"--delay", "TIME", "Pause after every move: 0.1, 2s."},
    {"--quiet", NULL, "Only the results."},
    CM_FLAGS_CONFIGURATION,
    CM_FLAGS_MACHINE,
    CM_FLAGS_END,
};

const cm_command cm_command_play = {
    .name = "play",
    .about = "watch an agent play, or play against it",
    .positional = "",
    .details =
        "Draws every position as text. In your own turn type an action by name or number; ? lists the legal ones.",
    .flags = flags,
    .examples = "  cumind play --run checkpoints/CartPole-v1/20251121-073900\n"
                "  cumind play --run checkpoints/tictactoe/20251121-080000 --human first\n"
                "  cumind play --set env_name=tictactoe --human first --opponent random\n",
    .run = run_play,
};
