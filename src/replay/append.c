/* Open episodes: the steps of each environment on their way into the replay. */
#include <math.h>
#include <string.h>

#include "replay/observation.h"
#include "replay/policy.h"

static cm_status find_open(cm_replay *replay, int environment, cm_open_episode **out) {
    if (environment < 0 || environment >= replay->config.environments)
        return cm_fail(CM_ERR_INPUT, "replay: environment %d, must be in 0 .. %d", environment,
                       replay->config.environments - 1);
    if (replay->loading) return cm_fail(CM_ERR_STATE, "replay: step appended before loading has ended");
    *out = &replay->open[environment];
    return CM_OK;
}

static cm_status check_step(const cm_replay *replay, int environment, const cm_replay_step *step) {
    if (step->action < 0 || step->action >= replay->config.actions)
        return cm_fail(CM_ERR_INPUT, "replay: environment %d: action %d, must be in 0 .. %d", environment, step->action,
                       replay->config.actions - 1);
    if (!isfinite(step->reward))
        return cm_fail(CM_ERR_NOT_FINITE, "replay: the environment gave reward %g (instance %d)", (double)step->reward,
                       environment);
    if (!isfinite(step->root_value))
        return cm_fail(CM_ERR_NOT_FINITE, "replay: environment %d: root value %g", environment,
                       (double)step->root_value);
    return CM_OK;
}

/* Of a stack the newest frame. */
static cm_status write_frame(cm_replay *replay, int32_t slot, int environment, bool begins, const float *stack) {
    cm_frame_store *frames = replay->frames;
    if (begins && !cm_frame_store_is_first(frames, stack))
        return cm_fail(
            CM_ERR_INPUT,
            "replay: environment %d: an episode begins with a stack of different frames; it must be %d times "
            "its first one",
            environment, frames->shape.count);
    cm_status status = cm_frame_store_append(frames, environment, begins, stack, &replay->frame[slot]);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "replay: environment %d", environment);
}

static cm_status write_observation(cm_replay *replay, int32_t slot, int environment, const float *observation) {
    const cm_field_info *info = &replay->info[FIELD_OBSERVATION];
    const float unit = replay->config.observation_unit;
    if (replay->frames) return write_frame(replay, slot, environment, !replay->open[environment].open, observation);
    unsigned char *row = replay->observation + (size_t)slot * info->width * info->columns;
    if (unit > 0.0f) {
        cm_status status = cm_observation_pack(observation, info->columns, unit, row);
        return status == CM_OK ? CM_OK : cm_fail_in(status, "replay: environment %d", environment);
    }
    memcpy(row, observation, info->width * info->columns);
    return CM_OK;
}

/* Returns FLAG_FREE if every action is legal. */
static uint8_t write_legal(cm_replay *replay, int32_t slot, const uint8_t *legal) {
    uint8_t *bits = replay->legal + (size_t)slot * replay->legal_bytes;
    memset(bits, 0, replay->legal_bytes);
    int count = 0;
    const int entries = cm_policy_size(replay->config.form);
    for (int a = 0; a < entries; a++) {
        if (legal && !legal[a]) continue;
        bits[a / 8] = (uint8_t)(bits[a / 8] | 1u << a % 8);
        count++;
    }
    return count == entries ? FLAG_FREE : 0;
}

static uint32_t row_index(const cm_replay *replay, const cm_open_episode *episode, int environment) {
    return (uint32_t)(episode->steps * (uint64_t)replay->config.environments + (uint64_t)environment);
}

cm_status cm_replay_append(cm_replay *replay, int environment, const cm_replay_step *step) {
    cm_open_episode *episode = NULL;
    CM_TRY(find_open(replay, environment, &episode));
    CM_TRY(check_step(replay, environment, step));
    if (episode->fresh == replay->config.commit_steps)
        return cm_fail(CM_ERR_STATE, "replay: environment %d has %d steps that are not committed, the most allowed",
                       environment, episode->fresh);
    int32_t slot = cm_open_slot(replay, environment, episode->rows);
    if (cm_policy_store(replay, slot, step->policy) != CM_OK)
        return cm_fail_in(CM_ERR_INPUT, "replay: environment %d", environment);
    CM_TRY(write_observation(replay, slot, environment, step->observation));
    uint8_t is_free = write_legal(replay, slot, step->legal);
    if (!episode->open) episode->segment = episode->rows;
    bool full = episode->rows - episode->segment == replay->config.segment_steps;
    if (full && replay->frames) CM_TRY(cm_frame_store_begin_again(replay->frames, environment, step->observation));
    if (full) episode->segment = episode->rows; /* ends one segment and begins the next */
    replay->row[slot] = (cm_replay_row){
        .reward = step->reward,
        .root_value = step->root_value,
        .action = step->action,
        .index = row_index(replay, episode, environment),
        .to_play = step->to_play,
        .flags = (uint8_t)((step->explored ? FLAG_EXPLORED : 0) | (full ? FLAG_CUT : 0) | is_free),
    };
    episode->open = true;
    episode->rows++;
    episode->steps++;
    episode->fresh++;
    return CM_OK;
}

cm_status cm_replay_finish(cm_replay *replay, int environment, const cm_replay_end *end) {
    cm_open_episode *episode = NULL;
    CM_TRY(find_open(replay, environment, &episode));
    if (!episode->open)
        return cm_fail(CM_ERR_STATE, "replay: environment %d has no open episode to finish", environment);
    if (!end->terminated && !isfinite(end->root_value))
        return cm_fail(CM_ERR_NOT_FINITE, "replay: environment %d: root value %g at a truncated end", environment,
                       (double)end->root_value);
    int32_t slot = cm_open_slot(replay, environment, episode->rows);
    CM_TRY(write_observation(replay, slot, environment, end->observation));
    uint8_t is_free = write_legal(replay, slot, end->legal);
    const size_t columns = cm_policy_columns(&replay->config);
    memset(replay->policy + (size_t)slot * columns, 0, columns * sizeof(float));
    replay->row[slot] = (cm_replay_row){
        .root_value = end->terminated ? 0.0f : end->root_value,
        .index = row_index(replay, episode, environment),
        .to_play = end->to_play,
        .flags = (uint8_t)((end->terminated ? FLAG_TERMINATED : FLAG_TRUNCATED) | is_free),
    };
    episode->open = false;
    episode->rows++;
    episode->segment = episode->rows;
    return CM_OK;
}

void cm_replay_undo_append(cm_replay *replay) {
    if (replay->frames) cm_frame_store_undo(replay->frames);
    for (int e = 0; e < replay->config.environments; e++) {
        cm_open_episode *episode = &replay->open[e];
        episode->steps -= (uint64_t)episode->fresh;
        episode->rows = episode->committed;
        episode->open = episode->rows > 0; /* a commit leaves nothing of what has ended */
        episode->segment = 0;
        episode->fresh = 0;
    }
}
