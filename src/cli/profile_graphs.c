/* What captured graphs gain for this configuration, and after how many rounds they pay; where a backend has such. */
#include "cli/benchmark.h"
#include "cli/profile.h"
#include "run/session.h"

#define SECONDS 0.2 /* of a measurement, at the usual pace */

static cm_benchmark bench_of(const cm_profile *p, const cm_session *s) {
    return (cm_benchmark){.configuration = s->configuration,
                          .config = p->config,
                          .network = *cm_network_get_config(s->network),
                          .network_name = "configured",
                          .backend = s->backend,
                          .pool = s->pool,
                          .compute = s->compute,
                          .batch = s->configuration.trainer.batch_size,
                          .simulations = s->configuration.mcts.num_simulations,
                          .actions = s->env.spec.actions,
                          .unroll = s->configuration.replay.num_unroll_steps,
                          .seconds = p->pace * SECONDS};
}

cm_status cm_profile_graphs(cm_profile *p) {
    cm_session *s = NULL;
    if (p->configuration->mcts.policy == CM_MCTS_ALPHAZERO) return CM_OK; /* its searches are the host's */
    cm_configuration c = *p->configuration;
    c.network.zero_init_heads = false; /* a search of equal values is no search */
    CM_TRY(cm_session_open(&c, NULL, &s));
    const cm_benchmark bench = bench_of(p, s);
    cm_benchmark_result result = {0};
    const cm_status status = s->backend->kind->replays ? cm_benchmark_graph(&bench, &result) : CM_OK;
    for (int i = 0; i < result.count; i++) {
        p->graph[p->graph_count].key = result.number[i].key;
        p->graph[p->graph_count++].value = result.number[i].value;
    }
    cm_session_close(s);
    return status;
}
