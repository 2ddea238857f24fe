/* Reanalysis of the whole memory (reanalyse = buffer): its passes go on between sections of a round. A section ends at
 * the next copy of the weights at the latest; before it, the positions are searched that are due by its end. */
#include "core/memory.h"
#include "run/learner_internal.h"

enum { POSITIONS = 1024 /* of one call */ };

cm_mixed_rule cm_run_mixed_rule(const cm_session *session) {
    const cm_configuration *c = &session->configuration;
    const int64_t ranks = session->comm->size, age = (c->agent.mixed_value_steps + ranks - 1) / ranks; /* the shard's */
    return (cm_mixed_rule){(uint64_t)(c->agent.mixed_value_updates * c->trainer.gradient_accumulation),
                           age < UINT32_MAX ? (uint32_t)age : UINT32_MAX};
}

cm_searcher_config cm_run_rolling_searcher(const cm_session *session, cm_agent *agent, const cm_pool *pool,
                                           const cm_stop *stop) {
    return (cm_searcher_config){
        .agent = agent,
        .most = POSITIONS,
        .rows_on_device = POSITIONS,
        .threads = cm_pool_size(pool),
        .with_noise = session->configuration.agent.reanalyse_noise,
        .has_mask = session->env.def->legal != NULL,
        .stop = session->comm->size == 1 ? stop : NULL, /* else other ranks would wait */
    };
}

cm_status cm_run_learner_open_rolling(cm_run_learner *l, cm_session *session, cm_pool *pool, int batches) {
    if (l->c->agent.reanalyse != CM_REANALYSE_BUFFER) return CM_OK;
    l->copied = -1;
    CM_TRY(cm_session_agent(session, &l->copy_agent));
    const cm_rolling_config config = {
        .searcher = cm_run_rolling_searcher(session, l->copy_agent, pool, l->stop),
        .replay = l->replay,
        .mixed = cm_run_mixed_rule(session),
        .batches = batches,
        .seed = (uint64_t)l->c->run.seed,
        .rank = l->comm->rank,
    };
    return cm_memory_advise(cm_rolling_create(&config, &l->rolling), "lower memory_steps or num_simulations");
}

int64_t cm_run_learner_section(const cm_run_learner *l, int64_t update, int64_t left) {
    const int64_t interval = l->c->trainer.target_update_frequency,
                  until = l->rolling ? interval - update % interval : left;
    return until < left ? until : left;
}

/* Before the first copy there are none but the initial weights, which know less than self-play. */
cm_status cm_run_learner_roll(cm_run_learner *l, int64_t update, int64_t count) {
    if (!l->rolling) return CM_OK;
    const int64_t interval = l->c->trainer.target_update_frequency, copy = update / interval;
    cm_rolling_follow(l->rolling);
    if (copy == 0) return CM_OK;
    if (copy != l->copied) {
        const cm_trainer_blocks weights = cm_trainer_on_device(l->trainer, CM_WEIGHTS_TARGET);
        CM_TRY(cm_agent_copy_weights(l->copy_agent, weights.parameters, weights.state));
        l->copied = copy;
    }
    return cm_rolling_run(l->rolling, copy, update + count - copy * interval, interval);
}
