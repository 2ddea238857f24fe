/* Saved replays: a state, a file of segments and priorities that wait, changed anywhere, with a checksum that agrees
 * all the same, either load into a replay from which batches can be drawn and which can be saved again, or are refused;
 * the same of what is dealt as to another number of ranks.
 *
 * Input: a byte that says which of the first two is changed (1) or whether the third is (16), whether it is dealt (2),
 * and whether the one that saves (4) and the one that loads (8) keep bytes of observations; 2 bytes by which its end is
 * cut; and then changes, each of 2 bytes of position and 1 of value. */
#include "fuzz/fuzz.h"

#include <string.h>
#include <xxhash.h>

#include "replay/batch.h"
#include "replay/deal.h"
#include "replay/segment.h"
#include "support/bytes.h"

enum { ENVIRONMENTS = 2, HEADER = 64, ROWS = 16 };
enum { STATE, SEGMENTS, PENDING, FILES }; /* what a replay saves */

static const cm_replay_config config = {
    .observation_size = 2,
    .actions = 3,
    .environments = ENVIRONMENTS,
    .max_steps = 40,
    .segment_steps = 6,
    .commit_steps = 8,
    .sample_open = true,
    .prioritized = true,
    .alpha = 0.6,
    .epsilon = 1e-6,
    .targets = {.unroll = 2, .td_steps = 3, .discount = 0.9},
};

static void expect_ok(cm_status status) { FUZZ_EXPECT(status == CM_OK); }

static cm_replay *make(bool bytes) {
    cm_replay_config own = config;
    cm_replay *replay;
    own.observation_unit = bytes ? 1.0f : 0.0f;
    expect_ok(cm_replay_create(&own, &replay));
    return replay;
}

static void act(cm_replay *replay, int steps) {
    const float observation[2] = {1, 2}, policy[3] = {1, 2, 3};
    for (int t = 0; t < steps; t++) {
        for (int e = 0; e < ENVIRONMENTS; e++) {
            const cm_replay_step step = {.observation = observation, .policy = policy, .reward = (float)t};
            const cm_replay_end end = {.observation = observation, .terminated = t % 2 == 0};
            expect_ok(cm_replay_append(replay, e, &step));
            if (t % 5 == e) expect_ok(cm_replay_finish(replay, e, &end));
        }
    }
    expect_ok(cm_replay_commit(replay));
}

/* A batch whose priorities wait for a commit. */
static void learn(cm_replay *replay) {
    const cm_batch_config rows = {.rows = ROWS, .consistency = true, .bootstrap = true};
    cm_replay_counts counts;
    cm_batch *batch;
    float priority[ROWS];
    cm_replay_count(replay, &counts);
    expect_ok(cm_batch_create(replay, &rows, &batch));
    FUZZ_EXPECT((cm_replay_sample(replay, 0, 0.4, batch) == CM_OK) == (counts.positions > 0));
    for (int i = 0; i < 2 * ROWS && counts.positions > 0; i++)
        FUZZ_EXPECT(batch->action[i] >= 0 && batch->action[i] < 3);
    for (int i = 0; i < ROWS; i++) priority[i] = 0.5f * (float)i;
    if (counts.positions > 0) expect_ok(cm_replay_update_priorities(replay, ROWS, batch->slot, batch->index, priority));
    cm_batch_destroy(batch);
}

static void save(const cm_replay *replay, cm_bytes file[FILES]) {
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    const cm_sink state = cm_bytes_sink(&file[STATE]), segments = cm_bytes_sink(&file[SEGMENTS]);
    const cm_sink pending = cm_bytes_sink(&file[PENDING]);
    expect_ok(cm_replay_pending_write(replay, CM_SEGMENT_PLAIN, &pending));
    expect_ok(cm_replay_state_write(replay, CM_SEGMENT_PLAIN, &state));
    expect_ok(
        cm_replay_segments_write(replay, counts.first_segment, (uint64_t)counts.segments, CM_SEGMENT_PLAIN, &segments));
}

static void change(cm_bytes *file, const uint8_t *data, size_t size) {
    size_t cut = data[0] | (size_t)data[1] << 8;
    if (cut < file->size - HEADER) file->size -= cut;
    for (size_t i = 2; i + 3 <= size; i += 3) {
        size_t at = data[i] | (size_t)data[i + 1] << 8;
        if (at < file->size) file->data[at] = data[i + 2];
    }
    uint64_t stored = file->size - HEADER;
    memcpy(file->data + 48, &stored, sizeof stored);
    uint64_t sum = XXH3_64bits_withSeed(file->data + HEADER, stored, XXH3_64bits(file->data, HEADER - 8));
    memcpy(file->data + 56, &sum, sizeof sum);
}

/* As another number of ranks would, see replay/deal.h. */
static cm_status deal(cm_replay *replay, const cm_bytes file[FILES]) {
    const cm_file_bytes state = {file[STATE].data, file[STATE].size};
    const cm_source segments = cm_bytes_source(&file[SEGMENTS]);
    cm_replay_deal *dealt;
    CM_TRY(cm_replay_deal_create(replay, 0, 1, &state, 1, &dealt));
    cm_status status = cm_replay_deal_segments(dealt, 0, &segments);
    cm_replay_deal_destroy(dealt);
    return status == CM_OK ? cm_replay_load_end(replay) : status;
}

static cm_status load(cm_replay *replay, const cm_bytes file[FILES]) {
    const cm_source state = cm_bytes_source(&file[STATE]), segments = cm_bytes_source(&file[SEGMENTS]);
    const cm_source pending = cm_bytes_source(&file[PENDING]);
    CM_TRY(cm_replay_state_read(replay, &state));
    CM_TRY(cm_replay_segments_read(replay, &segments));
    CM_TRY(cm_replay_load_end(replay));
    return cm_replay_pending_read(replay, &pending);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    cm_replay *saved = make(data[0] & 4), *replay = make(data[0] & 8);
    cm_bytes file[FILES] = {0};
    for (int i = 0; i < 3; i++) act(saved, 8);
    learn(saved);
    save(saved, file);
    act(replay, 8);
    change(&file[data[0] & 16 ? PENDING : data[0] & 1], data + 1, size - 1);
    cm_status status = data[0] & 2 ? deal(replay, file) : load(replay, file);
    if (status == CM_OK) {
        learn(replay);
        save(replay, file);
        act(replay, 8);
    }
    act(replay, 8);
    cm_replay_destroy(saved);
    cm_replay_destroy(replay);
    for (int i = 0; i < FILES; i++) cm_bytes_free(&file[i]);
    return 0;
}
