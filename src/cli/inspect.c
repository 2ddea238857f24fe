/* What a network consists of and costs; what a run's checkpoint holds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/reader.h"
#include "cli/view.h"
#include "core/text.h"
#include "env/trust.h"
#include "network/network.h"
#include "run/weights.h"

enum { MOST_CALLS = 3 };

/* Work of an inference call for one row. */
typedef struct call_cost {
    const char *name;
    cm_tape_cost cost;
} call_cost;

static void record_root(const cm_network *network, cm_tape *tape) {
    const cm_network_config *c = cm_network_get_config(network);
    int dim[4] = {1, c->observation[0], c->observation[1], c->observation[2]};
    cm_var observation = cm_tape_input(tape, CM_F32, c->observation_ndim + 1, dim);
    cm_network_predict(network, tape, cm_network_representation(network, tape, observation), false);
}

static cm_var state_input(const cm_network *network, cm_tape *tape) {
    int state[2] = {1, cm_network_state_size(network)}, planes[4] = {1};
    cm_network_state_planes(cm_network_get_config(network), planes + 1);
    bool has_planes = cm_network_has_planes(network);
    return cm_tape_input(tape, CM_F32, has_planes ? 4 : 2, has_planes ? planes : state);
}

static cm_var action_input(cm_tape *tape) {
    int one[1] = {1};
    return cm_tape_input(tape, CM_I32, 1, one);
}

static void record_recurrent(const cm_network *network, cm_tape *tape) {
    const cm_network_config *c = cm_network_get_config(network);
    int code[2] = {1, c->codes};
    cm_var state = state_input(network, tape);
    cm_hidden next = c->model == CM_NETWORK_CHANCE
                         ? cm_network_outcome(network, tape, state, cm_tape_input(tape, CM_F32, 2, code))
                         : cm_network_dynamics(network, tape, state, action_input(tape));
    cm_network_predict(network, tape, next, c->prefix_horizon == 0);
    if (c->prefix_horizon == 0) return;
    cm_lstm_state start = cm_network_prefix_start(network, tape, 1);
    cm_var input = cm_network_prefix_input(network, tape, next.raw);
    cm_network_prefix(network, tape, cm_network_prefix_lstm(network, tape, input, 1, start).h);
}

static void record_afterstate(const cm_network *network, cm_tape *tape) {
    cm_var state = state_input(network, tape);
    cm_network_predict_chance(network, tape, cm_network_afterstate(network, tape, state, action_input(tape)));
}

static const struct {
    const char *name;
    void (*record)(const cm_network *network, cm_tape *tape);
} recorded[MOST_CALLS] = {{"initial", record_root}, {"recurrent", record_recurrent}, {"afterstate", record_afterstate}};

static cm_status measure_call(const cm_network *network, int call, call_cost *out) {
    cm_tape *tape = NULL;
    CM_TRY(cm_tape_create(false, CM_F32, &tape));
    recorded[call].record(network, tape);
    cm_status status = cm_tape_finish(tape);
    if (status == CM_OK) *out = (call_cost){recorded[call].name, cm_tape_costs(tape)};
    cm_tape_destroy(tape);
    return status;
}

/* A network that only predicts has no second call, one without chance no third. */
static int calls_of(const cm_session *s) {
    switch (cm_network_get_config(s->network)->model) {
    case CM_NETWORK_PREDICTION: return 1;
    case CM_NETWORK_DYNAMICS: return 2;
    case CM_NETWORK_CHANCE: break;
    }
    return MOST_CALLS;
}

/* ---- text ---- */

enum { TABLE = 78 };

/* A row of the table, or two where it has no space. */
static void print_array(const char *name, const char *shape, const char *numbers, bool is_narrow) {
    if (is_narrow && *shape) {
        printf("%s\n    %-18s %10s\n", name, shape, numbers);
    } else if (is_narrow) {
        printf("%-22s %10s\n", name, numbers);
    } else {
        printf("%-47s %-18s %10s\n", name, shape, numbers);
    }
}

static void print_arrays(const cm_param_table *table, bool is_narrow) {
    bool has_statistics = false;
    char numbers[32];
    print_array("array", "shape", "numbers", is_narrow);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        char shape[64];
        cm_text_shape(p->dim, p->ndim, " x ", shape, sizeof shape);
        snprintf(numbers, sizeof numbers, "%10zu%s", p->count, p->state ? " *" : "");
        print_array(p->name, shape, numbers, is_narrow);
        has_statistics = has_statistics || p->state;
    }
    snprintf(numbers, sizeof numbers, "%10zu", table->trained);
    print_array("parameters", "", numbers, is_narrow);
    if (has_statistics) cm_cli_line(2, "* statistics, which are not trained and are no parameters");
    printf("\n");
}

static void print_network(const cm_session *s, const call_cost *calls, const cm_view *view) {
    const bool is_narrow = view->tty && view->columns < TABLE;
    const int width = is_narrow ? 9 : 14;
    cm_cli_line(4, "%s: %d actions, hidden state of %d numbers\n", s->env.spec.name, s->env.spec.actions,
                cm_network_state_size(s->network));
    print_arrays(cm_network_parameters(s->network), is_narrow);
    printf("%-9s %*s %*s %*s\n", "call", width + 3, "FLOP per row", width, is_narrow ? "bytes" : "bytes per row",
           is_narrow ? 5 : 8, "calls");
    for (int i = 0; i < calls_of(s); i++) {
        printf("%-9s %*.0f %*.0f %*d\n", calls[i].name, width + 3, calls[i].cost.flop, width, calls[i].cost.bytes,
               is_narrow ? 5 : 8, calls[i].cost.calls);
    }
}

static void print_run(const cm_run_facts *facts, const char *hash) {
    printf("\nupdates         %lld\nenv steps       %lld\nepisodes        %lld\nparameter hash  %s\n",
           (long long)facts->updates, (long long)facts->env_steps, (long long)facts->episodes, hash);
}

/* ---- JSON ---- */

static void write_arrays(const cm_param_table *table, cm_json_writer *json) {
    cm_json_begin_array(json, "arrays");
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        cm_json_begin_object(json, NULL);
        cm_json_put_string(json, "name", p->name);
        cm_json_begin_array(json, "shape");
        for (int d = 0; d < p->ndim; d++) cm_json_put_int(json, NULL, p->dim[d]);
        cm_json_end_array(json);
        cm_json_put_bool(json, "trained", !p->state);
        cm_json_end_object(json);
    }
    cm_json_end_array(json);
}

static void write_all(const cm_session *s, const call_cost *calls, const cm_run_facts *facts, const char *hash,
                      cm_json_writer *json) {
    const cm_param_table *table = cm_network_parameters(s->network);
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "environment", s->env.spec.name);
    cm_json_put_int(json, "actions", s->env.spec.actions);
    cm_json_put_int(json, "parameters", (int64_t)table->trained);
    cm_json_put_int(json, "state_size", cm_network_state_size(s->network));
    for (int i = 0; i < calls_of(s); i++) {
        cm_json_begin_object(json, calls[i].name);
        cm_json_put_double(json, "flop", calls[i].cost.flop);
        cm_json_put_double(json, "bytes", calls[i].cost.bytes);
        cm_json_put_int(json, "calls", calls[i].cost.calls);
        cm_json_end_object(json);
    }
    if (facts) {
        cm_json_put_string(json, "parameter_hash", hash);
        cm_json_put_int(json, "updates", facts->updates);
        cm_json_put_int(json, "env_steps", facts->env_steps);
        cm_json_put_int(json, "episodes", facts->episodes);
    }
    write_arrays(table, json);
    cm_json_end_object(json);
}

/* ---- the command ---- */

static cm_status inspect(cm_arguments *arguments, cm_session *session, const char *run, int64_t checkpoint) {
    call_cost calls[MOST_CALLS];
    cm_run_facts facts;
    char hash[CM_HASH_HEX] = "";
    for (int i = 0; i < calls_of(session); i++) CM_TRY(measure_call(session->network, i, &calls[i]));
    if (run) CM_TRY(cm_run_parameter_hash(run, checkpoint, session, hash, &facts));
    if (!cm_argument_is_set(arguments, "--json")) {
        const cm_view view = cm_view_of_stdout(arguments);
        print_network(session, calls, &view);
        if (run) print_run(&facts, hash);
        return CM_OK;
    }
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(2, &json));
    write_all(session, calls, run ? &facts : NULL, hash, json);
    return cm_cli_print(json, CM_OK);
}

static cm_status run_inspect(cm_arguments *arguments) {
    bool is_configured = cm_argument_is_set(arguments, "--config") || cm_argument_is_set(arguments, "--set");
    cm_env_trust(CM_ENV_TRUST_NAMED);
    if (!is_configured) CM_TRY(cm_cli_default_run(arguments));
    const char *run = cm_argument(arguments, "--run");
    if (!run) cm_env_trust(CM_ENV_TRUST_KNOWN);
    cm_reader reader;
    int64_t checkpoint = CM_CHECKPOINT_LATEST;
    if (cm_argument_is_set(arguments, "--checkpoint")) CM_TRY(cm_cli_checkpoint(arguments, &checkpoint));
    cm_status status = cm_reader_open(arguments, run, checkpoint, &reader);
    if (status == CM_OK) status = inspect(arguments, reader.session, run, checkpoint);
    cm_reader_close(&reader);
    return status;
}

static const cm_flag flags[] = {
    CM_FLAGS_CONFIGURATION,
    CM_FLAG_RUN,
    {"--checkpoint", "WHICH", "The checkpoint, by its number, best or latest; without it the latest."},
    CM_FLAG_JSON,
    CM_FLAGS_END,
};

const cm_command cm_command_inspect = {
    .name = "inspect",
    .about = "layers, shapes, parameter counts and cost of a network or a run",
    .positional = "",
    .details = "Of --run, or the newest run, and with --config or --set alone of that configuration. Of a run also the "
               "updates and environment steps of its checkpoint and the hash of its parameters "
               "(XXH3-128 of the float32 parameters in the order of their names).",
    .flags = flags,
    .examples = "  cumind inspect --set preset=small\n"
                "  cumind inspect --run checkpoints/CartPole-v1/20251121-073900 --json\n",
    .run = run_inspect,
};
