#include "serve/table.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "env/draw.h"
#include "run/outline.h"
#include "run/outline_json.h"
#include "run/resolve.h"

enum { MOST_SIMULATIONS = 10000, MOST_TREE = 1000000 };

/* ---- opening ---- */

static cm_status configure(const cm_play_table_config *config, cm_configuration *configuration, cm_config **out) {
    const cm_sources sources = {.run = config->run};
    CM_TRY(cm_run_resolve(&sources, configuration, out));
    CM_TRY(cm_configuration_finish(*out, configuration));
    configuration->run.backend = CM_BACKEND_CPU;
    configuration->run.threads = 1;
    if (config->simulations > MOST_SIMULATIONS)
        return cm_fail(CM_ERR_INPUT, "simulations: at most %d", MOST_SIMULATIONS);
    if (config->simulations > 0)
        configuration->agent.evaluation_simulations = configuration->mcts.num_simulations = config->simulations;
    return CM_OK;
}

static cm_status seat(cm_play_table *t, const cm_stop *stop) {
    const cm_env *env = &t->loaded.session->env;
    if (env->spec.players == 1 && t->config.side == CM_PLAY_SECOND) t->config.side = CM_PLAY_NONE;
    const cm_play_table_side side = t->config.side;
    CM_TRY(cm_game_open(&t->game, env, t->loaded.agent, t->loaded.session->pool));
    cm_analyser_heed(t->game.analyser, stop);
    CM_TRY(cm_alloc(&t->before, 1, env->spec.state_size, "a game"));
    t->game.mover[0] = side == CM_PLAY_FIRST ? CM_MOVER_HUMAN : CM_MOVER_AGENT;
    t->game.mover[1] = side == CM_PLAY_SECOND ? CM_MOVER_HUMAN : CM_MOVER_AGENT;
    t->moment = CM_ENV_NO_MOMENT;
    cm_game_begin(&t->game, t->config.seed);
    return CM_OK;
}

cm_status cm_play_table_open(const cm_play_table_config *config, const cm_stop *stop, cm_play_table *out) {
    cm_configuration configuration;
    *out = (cm_play_table){.config = *config};
    CM_TRY(configure(config, &configuration, &out->loaded.config));
    CM_TRY(cm_loaded_fill(&configuration, out->config.run, CM_CHECKPOINT_PREFERRED, &out->loaded));
    return seat(out, stop);
}

void cm_play_table_close(cm_play_table *t) {
    if (t->game.env) cm_game_close(&t->game);
    cm_loaded_close(&t->loaded);
    free(t->before);
    *t = (cm_play_table){.before = NULL};
}

/* ---- moves ---- */

static cm_status play(cm_play_table *t, int action) {
    const cm_env *env = t->game.env;
    memcpy(t->before, t->game.state, env->spec.state_size);
    CM_TRY(cm_game_play(&t->game, action));
    t->moment = cm_env_moment_of(env, t->before, action, t->game.state);
    return CM_OK;
}

cm_status cm_play_table_play(cm_play_table *t, int action) {
    if (cm_env_ended(t->game.state)) return cm_fail(CM_ERR_INPUT, "the game is over");
    if (cm_play_table_waits(t)) return cm_fail(CM_ERR_INPUT, "it is the agent's turn");
    CM_TRY(play(t, action));
    t->thought.is_there = false;
    return CM_OK;
}

bool cm_play_table_waits(const cm_play_table *t) {
    return !cm_env_ended(t->game.state) && t->config.side != CM_PLAY_NONE &&
           t->game.mover[cm_game_to_play(&t->game)] == CM_MOVER_AGENT;
}

static bool comes_before(const cm_analysis *a, int one, int other) {
    if (a->visits[one] != a->visits[other]) return a->visits[one] > a->visits[other];
    return a->prior[one] > a->prior[other];
}

/* The actions [CM_PLAY_SHOWN] with the most visits, best first; returns how many. */
static int choose_moves(const cm_env *env, const cm_analysis *a, int best[CM_PLAY_SHOWN]) {
    int count = 0;
    for (int action = 0; action < env->spec.actions; action++) {
        if (!cm_analysis_has(a, action)) continue;
        int at = count < CM_PLAY_SHOWN ? count++ : CM_PLAY_SHOWN;
        for (; at > 0 && comes_before(a, action, best[at - 1]); at--)
            if (at < CM_PLAY_SHOWN) best[at] = best[at - 1];
        if (at < CM_PLAY_SHOWN) best[at] = action;
    }
    return count;
}

static void keep_thought(cm_play_table *t, const cm_analysis *a, bool is_hint) {
    const cm_env *env = t->game.env;
    cm_play_table_thought *thought = &t->thought;
    int best[CM_PLAY_SHOWN] = {0};
    *thought = (cm_play_table_thought){.is_there = true,
                                       .is_hint = is_hint,
                                       .player = a->to_play,
                                       .action = a->action,
                                       .value = (double)a->value,
                                       .count = choose_moves(env, a, best)};
    for (int action = 0; action < env->spec.actions; action++) thought->visits += a->visits[action];
    for (int i = 0; i < thought->count; i++) {
        cm_play_table_move *move = &thought->moves[i];
        *move = (cm_play_table_move){.action = best[i],
                                     .visits = a->visits[best[i]],
                                     .q = (double)a->q[best[i]],
                                     .prior = (double)a->prior[best[i]]};
        cm_env_action_name(env, best[i], move->name, sizeof move->name);
    }
}

cm_status cm_play_table_reply(cm_play_table *t, bool is_asked) {
    cm_analysis analysis;
    if (cm_env_ended(t->game.state) || (!is_asked && !cm_play_table_waits(t))) return CM_OK;
    CM_TRY(cm_game_think(&t->game, &analysis));
    keep_thought(t, &analysis, false);
    return play(t, analysis.action);
}

cm_status cm_play_table_hint(cm_play_table *t) {
    cm_analysis analysis;
    if (cm_env_ended(t->game.state)) return cm_fail(CM_ERR_INPUT, "the game is over");
    CM_TRY(cm_game_think(&t->game, &analysis));
    keep_thought(t, &analysis, true);
    return CM_OK;
}

cm_status cm_play_table_undo(cm_play_table *t) {
    const bool is_watched = t->config.side == CM_PLAY_NONE;
    int taken;
    if (is_watched) t->game.mover[0] = t->game.mover[1] = CM_MOVER_HUMAN;
    cm_status status = cm_game_undo(&t->game, &taken);
    if (is_watched) t->game.mover[0] = t->game.mover[1] = CM_MOVER_AGENT;
    t->moment = CM_ENV_NO_MOMENT;
    t->thought.is_there = false;
    return status;
}

cm_status cm_play_table_tree(cm_play_table *t, const cm_stop *stop, char **out) {
    const cm_outline_search search = {.agent = t->loaded.agent,
                                      .env = t->game.env,
                                      .state = t->game.state,
                                      .stop = stop,
                                      .most_nodes = CM_OUTLINE_MOST,
                                      .most_bytes = MOST_TREE};
    cm_outline_text text = {.json = NULL};
    CM_TRY(cm_outline_text_create(&search, &text));
    *out = text.json;
    text.json = NULL;
    cm_outline_text_destroy(&text);
    return CM_OK;
}
