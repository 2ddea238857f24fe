#include "run/memory_positions.h"

#include "core/rng.h"
#include "replay/batch.h"
#include "run/learner.h"
#include "run/segment_append.h"

enum { MOST_STEPS = 100000, MOST_BYTES = 256 << 20, LEAST_SHARE = 4 };

typedef struct drawing {
    const cm_session *session;
    int count;
    uint64_t seed;
    cm_replay *replay;
    cm_batch *batch;
    cm_positions *out;
} drawing;

/* As the run's, without what only learning and acting need. */
static cm_replay_config memory_of(const cm_session *session, int steps) {
    cm_replay_config c = cm_run_learner_replay_config(session);
    c.place = CM_REPLAY_RAM;
    c.environments = c.commit_steps = 1;
    c.bytes = MOST_BYTES;
    c.max_steps = MOST_STEPS;
    c.max_episodes = 0;
    c.prioritized = c.sample_open = false;
    c.symmetries = 1;
    c.targets = (cm_target_rule){.unroll = steps, .td_steps = 1, .discount = 1.0};
    return c;
}

static void keep_batch(const drawing *d, int number) {
    cm_positions *p = d->out;
    cm_rng rng = cm_rng_init(cm_key_make(d->seed, CM_RNG_ACTION, (uint64_t)number), 0);
    cm_positions_observe(p, number, d->batch->observation);
    for (int k = 0; k < p->steps; k++)
        for (int i = 0; i < p->rows; i++) {
            const int32_t code = p->codes ? (int32_t)cm_rng_below(&rng, (uint32_t)p->codes) : 0;
            cm_positions_act(p, number, k, i, d->batch->action[i * d->batch->unroll + k], code);
        }
}

static cm_status draw_all(drawing *d) {
    const cm_batch_config drawn = {.rows = d->out->rows, .seed = d->seed};
    CM_TRY(cm_batch_create(d->replay, &drawn, &d->batch));
    for (int i = 0; i < d->out->batches; i++) {
        CM_TRY(cm_replay_sample(d->replay, (uint64_t)i, 1.0, d->batch));
        keep_batch(d, i);
    }
    return CM_OK;
}

static cm_status draw(void *context, cm_checkpoint_reader *reader) {
    drawing *d = context;
    cm_replay_counts counts;
    CM_TRY(cm_positions_create(d->session->network, d->count, d->out));
    const cm_replay_config config = memory_of(d->session, d->out->steps);
    CM_TRY(cm_replay_create(&config, &d->replay));
    CM_TRY(cm_segment_files_append(reader, d->replay, 0, 1));
    cm_replay_count(d->replay, &counts);
    if (counts.positions < d->out->rows || counts.positions < d->count / LEAST_SHARE) {
        cm_positions_free(d->out);
        return CM_OK;
    }
    const int64_t full = counts.positions / d->out->rows;
    if (full < d->out->batches) d->out->batches = (int)full;
    return draw_all(d);
}

cm_status cm_memory_positions_draw(const char *run, int64_t checkpoint, const cm_session *session, int count,
                                   uint64_t seed, cm_positions *out) {
    drawing d = {.session = session, .count = count, .seed = seed, .out = out};
    const cm_checkpoint_part part = {.name = "the memory", .context = &d, .load = draw};
    cm_checkpoint_store *store = NULL;
    *out = (cm_positions){.rows = 0};
    CM_TRY(cm_checkpoint_store_create(run, 1, NULL, &store));
    cm_status status = cm_checkpoint_load(store, checkpoint, &part, 1, NULL);
    cm_checkpoint_store_destroy(store);
    cm_batch_destroy(d.batch);
    cm_replay_destroy(d.replay);
    return status;
}
