/* Self-play in 8 bits (acting_dtype): the agent that acts has a network object of its own, whose layers have ranges.
 * These are measured after counted iterations, and are part of checkpoints. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "run/layer_ranges.h"
#include "run/run_internal.h"

enum { EVERY = 16 /* iterations; the first ones, in which weights change most, are powers of two */ };
static const char member[] = "acting_ranges";

static int rows_of(const cm_run *run) { return cm_network_parameters(run->session->network)->count; }

/* ---- the agent ---- */

cm_status cm_run_open_actor_agent(cm_run *run) {
    const cm_session *s = run->session;
    const bool is_int8 = cm_run_collects(run) && s->configuration.agent.acting_dtype == CM_ACTING_INT8;
    if (!is_int8) return cm_session_agent(run->session, &run->actor_agent);
    CM_TRY(cm_session_check_acting(s));
    CM_TRY(cm_alloc(&run->acting_ranges, (size_t)rows_of(run) + 1, sizeof *run->acting_ranges, "ranges of layers"));
    CM_TRY(cm_network_create(cm_network_get_config(s->network), &run->acting_network));
    return cm_session_agent_of(run->session, run->acting_network, &run->actor_agent);
}

void cm_run_close_actor_agent(cm_run *run) {
    cm_agent_destroy(run->actor_agent);
    cm_network_destroy(run->acting_network);
    free(run->acting_ranges);
}

/* From the next iteration on; what reanalyses has recorded its passes before. */
static cm_status use_ranges(cm_run *run) {
    cm_network_set_ranges(run->acting_network, run->acting_ranges);
    return cm_actor_replan(run->actor);
}

/* ---- measuring ---- */

static bool is_due(int64_t iterations) {
    return iterations % EVERY == 0 || (iterations < EVERY && (iterations & (iterations - 1)) == 0);
}

/* Those of training with fake quantisation, which all ranks have alike. */
static void take_trained(const cm_run *run) {
    const float *state = cm_trainer_state(cm_run_learner_trainer(run->learner), CM_WEIGHTS_ONLINE);
    cm_network_trained_ranges(run->session->network, state, run->acting_ranges);
}

/* A rank without positions has none. */
static cm_status measure_own(const cm_run *run, int64_t iterations) {
    const cm_replay *replay = cm_run_learner_replay(run->learner);
    const cm_layer_ranges_request request = {.agent = run->actor_agent,
                                             .network = run->session->network,
                                             .replay = replay,
                                             .seed = (uint64_t)cm_run_options_of(run)->run.seed,
                                             .number = (uint64_t)iterations};
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    memset(run->acting_ranges, 0, (size_t)rows_of(run) * sizeof *run->acting_ranges);
    return counts.positions > 0 ? cm_layer_ranges_measure(&request, run->acting_ranges) : CM_OK;
}

/* The largest of all ranks. */
static cm_status join_ranks(const cm_run *run) {
    cm_comm *comm = run->session->comm;
    const size_t rows = (size_t)rows_of(run);
    float *all = NULL;
    if (comm->size == 1) return CM_OK;
    CM_TRY(cm_alloc(&all, (size_t)comm->size * rows + 1, sizeof *all, "ranges of layers"));
    const cm_status status = comm->all_gather(comm, run->acting_ranges, rows * sizeof *all, all);
    for (size_t i = 0; i < (size_t)comm->size * rows && status == CM_OK; i++)
        run->acting_ranges[i % rows] = fmaxf(run->acting_ranges[i % rows], all[i]);
    free(all);
    return status;
}

cm_status cm_run_measure_acting(cm_run *run) {
    const int64_t iterations = run->state.iteration + 1; /* with the one that ends */
    if (!run->acting_network || !is_due(iterations)) return CM_OK;
    if (cm_network_get_config(run->session->network)->fake_quantised) {
        take_trained(run);
        return use_ranges(run);
    }
    CM_TRY(measure_own(run, iterations));
    CM_TRY(join_ranks(run));
    return use_ranges(run);
}

/* ---- checkpoints ---- */

void cm_run_put_acting(const cm_run *run, cm_json_writer *json) {
    if (run->acting_network && cm_network_has_ranges(run->acting_network))
        cm_layer_ranges_put(run->acting_network, run->acting_ranges, member, json);
}

cm_status cm_run_read_acting(cm_run *run, const cm_json *root) {
    const cm_json *saved = cm_json_get(root, member);
    if (!saved || !run->acting_network) return CM_OK;
    CM_TRY(cm_layer_ranges_read(run->acting_network, saved, run->acting_ranges));
    return use_ranges(run);
}
