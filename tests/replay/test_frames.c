/* Frames that are stored once: batches equal those of a replay that stores every stack whole. */
#include <stdio.h>

#include "core/file.h"
#include "core/rng.h"
#include "replay/batch.h"
#include "replay/deal.h"
#include "replay/replay.h"
#include "replay/segment.h"
#include "support/bytes.h"
#include "support/folder.h"
#include "support/logged.h"
#include "support/main.h"

enum {
    K = 3,
    CELLS = 2,
    CHANNELS = 2,
    FRAME = CELLS * CHANNELS,
    STACK = K * FRAME,
    ACTIONS = 3,
    ENVS = 4,
    SEGMENT = 9,
    STEPS = 6,
    ROWS = 24,
    UNROLL = 3,
    LONG = 60 /* steps of an episode: ends are few */
};

/* Cells change places; of a stack all numbers of a cell do. */
static const int32_t frame_elements[2][FRAME] = {{0, 1, 2, 3}, {2, 3, 0, 1}};
static const int32_t stack_elements[2][STACK] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                                                 {6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}};
static const int32_t action_map[2][ACTIONS] = {{0, 1, 2}, {2, 1, 0}};

/* What is played: the same for both replays. */
typedef struct play {
    cm_rng rng;
    int environments, longest; /* steps of an episode on average */
    float unit, frame[ENVS][K][FRAME];
    bool open[ENVS];
} play;

typedef struct twins {
    cm_replay *once, *whole;
} twins;

static cm_replay_config config_of(const play *p, int variant, bool once) {
    cm_replay_config c = {.observation_size = STACK,
                          .observation_unit = p->unit,
                          .frames = once ? K : 0,
                          .frame_channels = once ? CHANNELS : 0,
                          .actions = ACTIONS,
                          .environments = p->environments,
                          .max_steps = 400 / ENVS * p->environments,
                          .segment_steps = SEGMENT,
                          .commit_steps = STEPS,
                          .sample_open = true,
                          .prioritized = variant & 1,
                          .new_is_max = variant & 2,
                          .alpha = 0.6,
                          .epsilon = 1e-6,
                          .targets = {.unroll = UNROLL, .td_steps = 4, .discount = 0.97}};
    if (once && variant & 4) c.place = variant & 16 ? CM_REPLAY_PACKED : CM_REPLAY_FILE;
    if (once && variant & 8) c.frames = variant & 4 ? 1 : K; /* whole stacks, in a file */
    if (variant & 2) {
        c.symmetries = 2;
        c.symmetry_elements = once && c.frames > 1 ? frame_elements[0] : stack_elements[0];
        c.symmetry_actions = action_map[0];
    }
    return c;
}

static cm_replay *open_replay(const play *p, int variant, bool once) {
    const cm_replay_config config = config_of(p, variant, once);
    cm_replay *replay;
    ck_assert_msg(cm_replay_create(&config, &replay) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_replay_open_file(replay, cm_test_folder) == CM_OK, "%s", cm_error_message());
    return replay;
}

static twins open_twins(const play *p, int variant) {
    return (twins){open_replay(p, variant, true), open_replay(p, variant, false)};
}

static void close_twins(twins *t) {
    cm_replay_destroy(t->once);
    cm_replay_destroy(t->whole);
}

static play begin_play(int variant, int longest) {
    return (play){.rng = cm_rng_init(cm_key_make((uint64_t)variant, CM_RNG_TEST, 3), 0),
                  .environments = ENVS,
                  .longest = longest,
                  .unit = variant & 1 ? 0.0f : 1.0f / 255.0f};
}

/* ---- acting ---- */

static void draw_frame(play *p, float *frame) {
    for (int i = 0; i < FRAME; i++)
        frame[i] = p->unit > 0.0f ? (float)cm_rng_below(&p->rng, 256) * p->unit : cm_rng_uniform(&p->rng);
}

/* The next frame of an environment: K times the first one of an episode. */
static void see(play *p, int e) {
    memmove(p->frame[e][0], p->frame[e][1], sizeof p->frame[e][0] * (K - 1));
    draw_frame(p, p->frame[e][K - 1]);
    for (int k = 0; !p->open[e] && k < K - 1; k++) memcpy(p->frame[e][k], p->frame[e][K - 1], sizeof p->frame[e][k]);
    p->open[e] = true;
}

static void stack_of(const play *p, int e, float out[STACK]) {
    for (int cell = 0; cell < CELLS; cell++)
        for (int k = 0; k < K; k++)
            for (int c = 0; c < CHANNELS; c++) out[(cell * K + k) * CHANNELS + c] = p->frame[e][k][cell * CHANNELS + c];
}

static void act(play *p, const twins *t, int e) {
    float stack[STACK], policy[ACTIONS];
    if (!p->open[e]) see(p, e);
    stack_of(p, e, stack);
    for (int a = 0; a < ACTIONS; a++) policy[a] = (float)(1 + cm_rng_below(&p->rng, 9));
    const cm_replay_step step = {.observation = stack,
                                 .policy = policy,
                                 .root_value = cm_rng_uniform(&p->rng),
                                 .action = (int32_t)cm_rng_below(&p->rng, ACTIONS),
                                 .reward = cm_rng_uniform(&p->rng)};
    ck_assert_msg(cm_replay_append(t->once, e, &step) == CM_OK, "%s", cm_error_message());
    if (t->whole) ck_assert_int_eq(cm_replay_append(t->whole, e, &step), CM_OK);
    see(p, e);
    if (cm_rng_below(&p->rng, (uint32_t)p->longest) > 0) return;
    stack_of(p, e, stack);
    const cm_replay_end end = {.observation = stack, .terminated = cm_rng_below(&p->rng, 2) == 0, .root_value = 0.5f};
    ck_assert_msg(cm_replay_finish(t->once, e, &end) == CM_OK, "%s", cm_error_message());
    if (t->whole) ck_assert_int_eq(cm_replay_finish(t->whole, e, &end), CM_OK);
    p->open[e] = false;
}

static void act_all(play *p, const twins *t) {
    const int steps = (int)cm_rng_below(&p->rng, STEPS + 1);
    for (int e = 0; e < p->environments; e++)
        for (int i = 0; i < steps; i++) act(p, t, e);
}

static void commit(const twins *t) {
    ck_assert_msg(cm_replay_commit(t->once) == CM_OK, "%s", cm_error_message());
    if (t->whole) ck_assert_int_eq(cm_replay_commit(t->whole), CM_OK);
}

/* ---- drawing ---- */

static cm_batch *draw(cm_replay *replay, uint64_t update) {
    const cm_batch_config config = {.rows = ROWS, .consistency = true, .bootstrap = true, .seed = 5};
    float priority[ROWS];
    cm_batch *b;
    ck_assert_int_eq(cm_batch_create(replay, &config, &b), CM_OK);
    ck_assert_msg(cm_replay_sample(replay, update, 0.5, b) == CM_OK, "%s", cm_error_message());
    for (int i = 0; i < ROWS; i++) priority[i] = fabsf(b->target_value[(UNROLL + 1) * i]) + 0.01f;
    ck_assert_int_eq(cm_replay_update_priorities(replay, ROWS, b->slot, b->index, priority), CM_OK);
    return b;
}

/* A row's frames are those of the positions [t - n + 1, t + K] at most, o_t's first, each once and where it is there.
 */
static void check_places(const cm_batch *b, int row) {
    const cm_batch_frames *f = &b->frames;
    int used = 0;
    for (int k = 0; k <= UNROLL; k++)
        for (int i = 0; i < f->count; i++) {
            const int32_t place = f->index[(row * (UNROLL + 1) + k) * f->count + i];
            const bool is_there = k == 0 || b->consistency_mask[row * UNROLL + k - 1] > 0.0f;
            ck_assert(is_there ? place >= 0 && place <= used : place == -1);
            used += place == used;
        }
    ck_assert_int_le(used, f->each);
}

/* Pictures of a batch's frames are those of a whole batch. */
static void compare_frames(cm_replay *replay, const cm_batch *whole, uint64_t update) {
    const cm_batch_config config = {.rows = ROWS, .consistency = true, .frames = true, .seed = 5};
    float own[STACK];
    cm_batch *b;
    ck_assert_int_eq(cm_batch_create(replay, &config, &b), CM_OK);
    ck_assert_ptr_null(b->observation);
    ck_assert_ptr_null(b->target_observations);
    ck_assert_msg(cm_replay_sample(replay, update, 0.5, b) == CM_OK, "%s", cm_error_message());
    for (int row = 0; row < ROWS; row++) {
        check_places(b, row);
        for (int k = 0; k <= UNROLL; k++) {
            float want[STACK];
            cm_batch_observe(whole, row, k, want);
            cm_batch_observe(b, row, k, own);
            ck_assert_mem_eq(own, want, sizeof own);
        }
        ck_assert_mem_eq(own, whole->target_observations + ((row + 1) * UNROLL - 1) * STACK, sizeof own);
    }
    cm_batch_destroy(b);
}

#define SAME(member, count) ck_assert_mem_eq(x->member, y->member, (size_t)(count) * sizeof *x->member)

static void compare(const twins *t, uint64_t update) {
    cm_replay_counts counts, others;
    cm_replay_count(t->once, &counts);
    cm_replay_count(t->whole, &others);
    ck_assert_int_eq(counts.positions, others.positions);
    ck_assert_int_eq(counts.segments, others.segments);
    ck_assert_int_eq(counts.ring_rows, others.ring_rows);
    if (counts.positions == 0) return;
    cm_batch *x = draw(t->once, update), *y = draw(t->whole, update);
    SAME(slot, ROWS);
    SAME(index, ROWS);
    SAME(observation, ROWS * STACK);
    SAME(target_observations, ROWS * UNROLL * STACK);
    SAME(bootstrap_observations, ROWS * (UNROLL + 1) * STACK);
    SAME(action, ROWS * UNROLL);
    SAME(target_value, ROWS * (UNROLL + 1));
    SAME(target_policy, ROWS * (UNROLL + 1) * ACTIONS);
    SAME(weights, ROWS);
    compare_frames(t->once, y, update);
    compare_frames(t->whole, y, update);
    for (int i = 0; i < ROWS; i++) {
        float own[STACK], other[STACK];
        uint8_t legal[ACTIONS];
        cm_replay_look(t->once, x->slot[i], own, legal);
        cm_replay_look(t->whole, x->slot[i], other, legal);
        ck_assert_mem_eq(own, other, sizeof own);
    }
    cm_batch_destroy(x);
    cm_batch_destroy(y);
}

static void iterate(play *p, const twins *t, int iterations, uint64_t first) {
    for (uint64_t i = first; i < first + (uint64_t)iterations; i++) {
        if (i % 5 == 4) { /* as after a fault of one rank: it is played otherwise */
            const play before = *p;
            act_all(p, t);
            cm_replay_undo_append(t->once);
            cm_replay_undo_append(t->whole);
            const cm_rng rng = p->rng;
            *p = before;
            p->rng = rng;
        }
        act_all(p, t);
        commit(t);
        compare(t, i);
    }
}

START_TEST(batches_equal_those_of_whole_stacks) {
    play p = begin_play(_i, LONG);
    twins t = open_twins(&p, _i);
    cm_replay_counts counts;
    iterate(&p, &t, 120, 0);
    cm_replay_count(t.once, &counts);
    ck_assert_uint_gt(counts.first_segment, 50); /* it has gone around */
    close_twins(&t);
}
END_TEST

/* ---- saving ---- */

typedef struct saved {
    cm_bytes state, file;
} saved;

static void save(const cm_replay *replay, saved *out) {
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    *out = (saved){.state = {0}};
    const cm_sink state = cm_bytes_sink(&out->state), file = cm_bytes_sink(&out->file);
    ck_assert_int_eq(cm_replay_state_write(replay, CM_SEGMENT_ZSTD, &state), CM_OK);
    ck_assert_int_eq(
        cm_replay_segments_write(replay, counts.first_segment, (uint64_t)counts.segments, CM_SEGMENT_ZSTD, &file),
        CM_OK);
}

static void free_saved(saved *s) {
    cm_bytes_free(&s->state);
    cm_bytes_free(&s->file);
}

static cm_status load(cm_replay *replay, const saved *s) {
    const cm_source state = cm_bytes_source(&s->state), file = cm_bytes_source(&s->file);
    CM_TRY(cm_replay_state_read(replay, &state));
    CM_TRY(cm_replay_segments_read(replay, &file));
    return cm_replay_load_end(replay);
}

/* Saves a replay and gives one that was loaded from that in its place. */
static void resume(cm_replay **replay) {
    saved s;
    cm_replay *other;
    ck_assert_int_eq(cm_replay_create(cm_replay_configuration(*replay), &other), CM_OK);
    ck_assert_int_eq(cm_replay_open_file(other, cm_test_folder), CM_OK);
    save(*replay, &s);
    ck_assert_msg(load(other, &s) == CM_OK, "%s", cm_error_message());
    cm_replay_destroy(*replay);
    *replay = other;
    free_saved(&s);
}

START_TEST(a_loaded_replay_goes_on_with_the_same_stacks) {
    play p = begin_play(_i, LONG);
    twins t = open_twins(&p, _i);
    for (int i = 0; i < 12; i++) {
        iterate(&p, &t, 7, (uint64_t)i * 7);
        resume(&t.once);
        if (i % 2) resume(&t.once); /* of what was loaded */
        resume(&t.whole);
    }
    close_twins(&t);
}
END_TEST

/* Both halves of what one replay has saved. */
static cm_replay *deal_half(const play *p, int variant, bool once, const saved *s, int shard) {
    const cm_file_bytes state = {(char *)s->state.data, s->state.size};
    const cm_source file = cm_bytes_source(&s->file);
    cm_replay_deal *deal;
    play half = *p;
    half.environments = ENVS / 2;
    cm_replay *replay = open_replay(&half, variant, once);
    ck_assert_msg(cm_replay_deal_create(replay, shard, 2, &state, 1, &deal) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_replay_deal_segments(deal, 0, &file) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_replay_load_end(replay) == CM_OK, "%s", cm_error_message());
    cm_replay_deal_destroy(deal);
    return replay;
}

START_TEST(ranks_share_the_same_stacks) {
    play p = begin_play(_i, LONG);
    twins t = open_twins(&p, _i);
    saved once, whole;
    iterate(&p, &t, 60, 0);
    save(t.once, &once);
    save(t.whole, &whole);
    for (int shard = 0; shard < 2; shard++) {
        play half = p;
        half.environments = ENVS / 2;
        memcpy(half.frame, p.frame[shard * half.environments], sizeof half.frame / 2);
        memcpy(half.open, &p.open[shard * half.environments], sizeof half.open / 2);
        twins dealt = {deal_half(&p, _i, true, &once, shard), deal_half(&p, _i, false, &whole, shard)};
        compare(&dealt, 1000);
        iterate(&half, &dealt, 40, 100);
        close_twins(&dealt);
    }
    free_saved(&once);
    free_saved(&whole);
    close_twins(&t);
}
END_TEST

/* ---- limits ---- */

START_TEST(many_short_episodes_leave_early_and_none_fails) {
    play p = begin_play(_i, 1 + _i);
    twins t = {open_replay(&p, _i, true), NULL};
    for (uint64_t i = 0; i < 300; i++) {
        act_all(&p, &t);
        commit(&t);
        cm_replay_counts counts;
        cm_replay_count(t.once, &counts);
        if (counts.positions > 0) cm_batch_destroy(draw(t.once, i));
        if (i % 50 == 49) resume(&t.once);
    }
    cm_replay_destroy(t.once);
}
END_TEST

START_TEST(resuming_changes_nothing_where_frames_are_few) {
    play p = begin_play(_i, 2), q = p;
    twins t = {open_replay(&p, _i, true), NULL}, u = {open_replay(&q, _i, true), NULL};
    for (uint64_t i = 0; i < 200; i++) {
        act_all(&p, &t);
        act_all(&q, &u);
        commit(&t);
        commit(&u);
        if (i % 9 == 8) resume(&u.once);
        const twins both = {t.once, u.once};
        compare(&both, i);
    }
    cm_replay_destroy(t.once);
    cm_replay_destroy(u.once);
}
END_TEST

START_TEST(a_smaller_memory_keeps_the_newest_episodes) {
    play p = begin_play(_i, LONG);
    twins t = {open_replay(&p, _i, true), NULL};
    cm_replay_config small = config_of(&p, _i, true);
    cm_replay_counts before, after;
    cm_replay *replay;
    saved s;
    for (int i = 0; i < 90; i++) act_all(&p, &t), commit(&t);
    cm_replay_count(t.once, &before);
    save(t.once, &s);
    small.max_steps = 60;
    ck_assert_int_eq(cm_replay_create(&small, &replay), CM_OK);
    ck_assert_int_eq(cm_replay_open_file(replay, cm_test_folder), CM_OK);
    ck_assert_msg(load(replay, &s) == CM_OK, "%s", cm_error_message());
    cm_replay_count(replay, &after);
    ck_assert_int_lt(after.positions, before.positions);
    ck_assert_int_gt(after.positions, 30);
    cm_batch_destroy(draw(replay, 1));
    cm_replay_destroy(t.once);
    t.once = replay;
    for (int i = 0; i < 30; i++) act_all(&p, &t), commit(&t);
    cm_replay_destroy(t.once);
    free_saved(&s);
}
END_TEST

static void must_refuse(cm_status status, const char *part) {
    ck_assert_int_eq(status, CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), part), "%s", cm_error_message());
}

START_TEST(what_is_no_stack_is_refused) {
    play p = begin_play(0, 20);
    const twins t = open_twins(&p, 0);
    twins loaded = t;
    float stack[STACK] = {0}, policy[ACTIONS] = {1, 1, 1};
    const cm_replay_step step = {.observation = stack, .policy = policy};
    saved s;
    stack[0] = 1.0f;
    must_refuse(cm_replay_append(t.once, 0, &step), "begins with a stack of different frames");
    for (int i = 0; i < STACK; i++) stack[i] = 0.3f;
    must_refuse(cm_replay_append(t.once, 0, &step), "which is not k times");
    iterate(&p, &t, 20, 0);
    save(t.whole, &s);
    must_refuse(load(t.once, &s), "of stacks of 1 frames, those of the replay have 3 (frame_stack)");
    free_saved(&s);
    cm_replay_config config = config_of(&p, 0, true);
    config.frame_channels = 3;
    must_refuse(cm_replay_create(&config, &loaded.once), "is no stack of 3 frames of 3 channels");
    loaded = t;
    close_twins(&loaded);
}
END_TEST

/* ---- files ---- */

/* What one has saved whose frames are in memory goes on where they lie in a file, and the other way around. */
START_TEST(what_memory_has_saved_goes_on_in_a_file_and_back) {
    play p = begin_play(_i, LONG);
    twins t = open_twins(&p, _i);
    for (int i = 0; i < 4; i++) {
        saved s;
        iterate(&p, &t, 20, (uint64_t)i * 20);
        commit(&t); /* priorities that wait are not saved */
        save(t.once, &s);
        cm_replay_destroy(t.once);
        t.once = open_replay(&p, i % 2 ? _i : _i | 4 | (i & 2) << 3, true);
        ck_assert_msg(load(t.once, &s) == CM_OK, "%s", cm_error_message());
        free_saved(&s);
    }
    close_twins(&t);
}
END_TEST

START_TEST(a_file_that_cannot_be_is_refused) {
    const play p = begin_play(4, LONG);
    cm_replay_config config = config_of(&p, 4, true);
    cm_replay *replay;
    char text[CM_TEST_PATH + 16];
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_OK);
    must_refuse(cm_replay_open_file(replay, "/nowhere/at/all"), "memory_path: /nowhere/at/all: no folder");
    snprintf(text, sizeof text, "%s/file", cm_test_folder);
    ck_assert_int_eq(cm_file_write(text, "x", 1), CM_OK);
    must_refuse(cm_replay_open_file(replay, text), "/file: no folder; name one that is there");
    ck_assert_int_eq(cm_replay_open_file(replay, "/proc"), CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), "/proc: no file can be made there"), "%s", cm_error_message());
    cm_replay_destroy(replay);
    config.observation_size = 12 << 20; /* 16 MB a frame, 160 TB in all */
    config.observation_unit = 0.0f;
    config.max_steps = 10000000;
    config.symmetries = 0;
    ck_assert_msg(cm_replay_create(&config, &replay) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_replay_open_file(replay, cm_test_folder), CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), " are free there; name another folder, or lower memory_steps"), "%s",
                  cm_error_message());
    cm_replay_destroy(replay);
}
END_TEST

static void expect_told_once(const char *part) {
    const char *at = strstr(logged, part);
    ck_assert_msg(at != NULL, "logged: %s", logged);
    ck_assert_msg(strstr(at + 1, part) == NULL, "logged: %s", logged);
}

/* What comes in may be noise, of which no byte is saved: the oldest leave early, and what is drawn is right. */
START_TEST(compressed_noise_leaves_early_and_none_fails) {
    enum { NOISE = 4096, TIMES = 900 };
    const cm_replay_config config = {.observation_size = NOISE,
                                     .observation_unit = 1.0f,
                                     .place = CM_REPLAY_PACKED,
                                     .actions = 1,
                                     .environments = 1,
                                     .max_steps = 600,
                                     .segment_steps = 50,
                                     .commit_steps = 5,
                                     .sample_open = true,
                                     .targets = {.unroll = 1, .td_steps = 1, .discount = 0.9}};
    const cm_batch_config of_batch = {.rows = ROWS};
    static float frame[NOISE];
    const float policy = 1.0f;
    cm_rng rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0);
    cm_replay_counts counts;
    cm_replay *replay;
    cm_batch *b;
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_OK);
    ck_assert_int_eq(cm_batch_create(replay, &of_batch, &b), CM_OK);
    log_keep();
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < NOISE; i++) frame[i] = (float)cm_rng_below(&rng, 256);
        frame[0] = (float)(t % 256), frame[1] = (float)(t / 256);
        const cm_replay_step step = {.observation = frame, .policy = &policy, .reward = (float)t};
        ck_assert_msg(cm_replay_append(replay, 0, &step) == CM_OK, "%s", cm_error_message());
        if (t % 5 == 4) ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    }
    log_show();
    expect_told_once(" of 600 steps, as observations shrink to more than a quarter");
    cm_replay_count(replay, &counts);
    ck_assert_int_lt(counts.positions, 400);
    ck_assert_int_gt(counts.positions, 100);
    for (uint64_t update = 0; update < 20; update++) {
        ck_assert_int_eq(cm_replay_sample(replay, update, 0.4, b), CM_OK);
        for (int i = 0; i < ROWS; i++)
            ck_assert(b->observation[i * NOISE] + 256.0f * b->observation[i * NOISE + 1] == b->target_reward[i]);
    }
    cm_batch_destroy(b);
    cm_replay_destroy(replay);
}
END_TEST

/* Of 100,000 pictures of 96 x 96 in RGB, as of Atari-100k, with eight environments. */
START_TEST(a_step_of_rgb_pictures_takes_its_frame_and_little_else) {
    const cm_replay_config config = {.observation_size = 96 * 96 * 12,
                                     .observation_unit = 1.0f / 255.0f,
                                     .frames = 4,
                                     .frame_channels = 3,
                                     .actions = 6,
                                     .environments = 8,
                                     .bytes = (uint64_t)1 << 46,
                                     .max_steps = 100000,
                                     .segment_steps = 1000,
                                     .commit_steps = 16,
                                     .targets = {.unroll = 5, .td_steps = 5, .discount = 0.988}};
    cm_replay_plan plan;
    uint64_t frames = 0;
    ck_assert_int_eq(cm_replay_plan_make(&config, &plan), CM_OK);
    for (int i = 0; i < plan.count; i++)
        if (strcmp(plan.row[i].name, "frames") == 0) {
            frames = plan.row[i].bytes;
            ck_assert_int_eq(plan.row[i].columns, 27648);
            ck_assert_int_eq(plan.row[i].rows, plan.frames);
        }
    ck_assert_int_lt(plan.frames, 116000);
    ck_assert_uint_eq(frames, (uint64_t)plan.frames * 27648);
    ck_assert_uint_lt(plan.bytes - frames, frames / 50);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("frames");
    TCase *tc = tcase_create("frames");
    tcase_add_checked_fixture(tc, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_loop_test(tc, batches_equal_those_of_whole_stacks, 0, 32);
    tcase_add_loop_test(tc, a_loaded_replay_goes_on_with_the_same_stacks, 0, 32);
    tcase_add_loop_test(tc, ranks_share_the_same_stacks, 0, 32);
    tcase_add_loop_test(tc, many_short_episodes_leave_early_and_none_fails, 0, 4);
    tcase_add_loop_test(tc, resuming_changes_nothing_where_frames_are_few, 0, 8);
    tcase_add_loop_test(tc, a_smaller_memory_keeps_the_newest_episodes, 0, 4);
    tcase_add_test(tc, what_is_no_stack_is_refused);
    tcase_add_loop_test(tc, what_memory_has_saved_goes_on_in_a_file_and_back, 0, 4);
    tcase_add_test(tc, a_file_that_cannot_be_is_refused);
    tcase_add_test(tc, compressed_noise_leaves_early_and_none_fails);
    tcase_add_test(tc, a_step_of_rgb_pictures_takes_its_frame_and_little_else);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
