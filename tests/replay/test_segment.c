/* A replay that is saved and loaded goes on exactly as the one that was not; damaged files are errors. */
#include <stdio.h>
#include <xxhash.h>

#include "replay/policy.h"
#include "replay/segment.h"
#include "replay_model.h"
#include "support/bytes.h"
#include "support/main.h"

static const cm_replay_config base_config = {
    .observation_size = 3,
    .actions = 5,
    .environments = 3,
    .bytes = 40000,
    .max_steps = 60,
    .segment_steps = 9,
    .commit_steps = 6,
    .sample_open = true,
    .prioritized = true,
    .alpha = 0.6,
    .epsilon = 1e-6,
    .targets = {.unroll = 3, .td_steps = 4, .discount = 0.97},
};

static model *make_model(const cm_replay_config *config, uint64_t seed) {
    model *m = calloc(1, sizeof *m);
    m->config = *config;
    m->rng = cm_rng_init(cm_key_make(seed, CM_RNG_TEST, 0), 0);
    return m;
}

static cm_replay *make_replay(const cm_replay_config *config) {
    cm_replay *replay;
    ck_assert_msg(cm_replay_create(config, &replay) == CM_OK, "%s", cm_error_message());
    return replay;
}

/* One iteration: acting, two updates with their priorities, commit. Returns a hash of the batches. */
static uint64_t iterate(model *m, cm_replay *replay, uint64_t iteration, uint64_t hash) {
    cm_batch_config config = {.rows = 16, .seed = 5};
    cm_batch *b;
    ck_assert_int_eq(cm_batch_create(replay, &config, &b), CM_OK);
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    for (uint64_t u = 0; u < 2 && counts.positions > 0; u++) {
        ck_assert_msg(cm_replay_sample(replay, 2 * iteration + u, 0.5, b) == CM_OK, "%s", cm_error_message());
        hash = XXH3_64bits_withSeed(b->slot, 16 * sizeof *b->slot, hash);
        hash = XXH3_64bits_withSeed(b->index, 16 * sizeof *b->index, hash);
        hash = XXH3_64bits_withSeed(b->observation, 16 * 3 * sizeof(float), hash);
        hash = XXH3_64bits_withSeed(b->target_value, 16 * 4 * sizeof(float), hash);
        hash = XXH3_64bits_withSeed(b->value_mask, 16 * 4 * sizeof(float), hash);
        hash = XXH3_64bits_withSeed(b->value_coefficient, 16 * 4 * sizeof(float), hash);
        hash = XXH3_64bits_withSeed(b->reward_mask, 16 * 3 * sizeof(float), hash);
        hash = XXH3_64bits_withSeed(b->target_policy, 16 * 4 * 5 * sizeof(float), hash);
        hash = XXH3_64bits_withSeed(b->weights, 16 * sizeof(float), hash);
        float priority[16];
        for (int i = 0; i < 16; i++) priority[i] = fabsf(b->target_value[4 * i]) + 0.01f;
        ck_assert_int_eq(cm_replay_update_priorities(replay, 16, b->slot, b->index, priority), CM_OK);
    }
    cm_batch_destroy(b);
    for (int e = 0; e < m->config.environments; e++) {
        int steps = (int)model_draw(m, (uint32_t)m->config.commit_steps + 1);
        for (int t = 0; t < steps; t++) {
            model_append(m, replay, e);
            if (model_draw(m, 6) == 0) model_finish(m, replay, e, model_draw(m, 2) == 0);
        }
    }
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    for (int e = 0; e < m->config.environments; e++) m->waiting_count[e] = 0;
    return hash;
}

enum { MAX_FILES = 64 };

typedef struct saved {
    cm_bytes state, file[MAX_FILES];
    int count;
    uint64_t next; /* first segment that is in no file */
} saved;

static void save(saved *s, const cm_replay *replay, int compression) {
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    uint64_t end = counts.first_segment + (uint64_t)counts.segments;
    if (s->next < counts.first_segment) s->next = counts.first_segment;
    const cm_sink file = cm_bytes_sink(&s->file[s->count++]), state = cm_bytes_sink(&s->state);
    ck_assert_msg(cm_replay_segments_write(replay, s->next, end - s->next, compression, &file) == CM_OK, "%s",
                  cm_error_message());
    s->next = end;
    ck_assert_msg(cm_replay_state_write(replay, compression, &state) == CM_OK, "%s", cm_error_message());
}

static cm_status load(const saved *s, cm_replay *replay) {
    const cm_source state = cm_bytes_source(&s->state);
    CM_TRY(cm_replay_state_read(replay, &state));
    for (int i = 0; i < s->count; i++) {
        const int at = i ^ (s->count > 1 && i < (s->count & ~1)); /* not in order */
        const cm_source file = cm_bytes_source(&s->file[at]);
        CM_TRY(cm_replay_segments_read(replay, &file));
    }
    return cm_replay_load_end(replay);
}

static void free_saved(saved *s) {
    cm_bytes_free(&s->state);
    for (int i = 0; i < s->count; i++) cm_bytes_free(&s->file[i]);
}

static cm_replay_config variant(int i) {
    cm_replay_config c = base_config;
    c.prioritized = i & 1;
    c.sample_open = !(i & 2);
    c.observation_unit = i & 4 ? 1.0f : 0.0f;
    c.new_is_max = i & 4;
    if (i & 8) c.entries = 5;
    return c;
}

/* To the byte, what has no meaning included. */
static void expect_same_state(const cm_replay *one, const cm_replay *other) {
    cm_bytes a = {0}, b = {0};
    const cm_sink first = cm_bytes_sink(&a), second = cm_bytes_sink(&b);
    ck_assert_int_eq(cm_replay_state_write(one, CM_SEGMENT_PLAIN, &first), CM_OK);
    ck_assert_int_eq(cm_replay_state_write(other, CM_SEGMENT_PLAIN, &second), CM_OK);
    ck_assert_uint_eq(a.size, b.size);
    ck_assert_mem_eq(a.data, b.data, a.size);
    cm_bytes_free(&a);
    cm_bytes_free(&b);
}

/* In iterations first .. end - 1 of the same acting. */
static void expect_same_batches(model *m, cm_replay *one, cm_replay *other, uint64_t first, uint64_t end) {
    model *copy = malloc(sizeof *copy);
    memcpy(copy, m, sizeof *copy);
    uint64_t want = 0, got = 0;
    for (uint64_t i = first; i < end; i++) {
        want = iterate(m, one, i, want);
        got = iterate(copy, other, i, got);
    }
    ck_assert_uint_eq(got, want);
    free(copy);
}

START_TEST(loaded_replay_draws_what_the_saved_one_would_have_drawn) {
    cm_replay_config config = variant(_i);
    model *m = make_model(&config, 1);
    cm_replay *unbroken = make_replay(&config), *loaded = make_replay(&config);
    saved files = {0};
    for (uint64_t i = 0; i < 40; i++) {
        iterate(m, unbroken, i, 0);
        if (i % 4 == 3) save(&files, unbroken, _i % 3 == 0 ? CM_SEGMENT_PLAIN : CM_SEGMENT_ZSTD);
    }
    ck_assert_msg(load(&files, loaded) == CM_OK, "%s", cm_error_message());
    cm_replay_counts one, two;
    cm_replay_count(unbroken, &one);
    cm_replay_count(loaded, &two);
    ck_assert_int_eq(two.positions, one.positions);
    ck_assert_int_eq(two.episodes, one.episodes);
    ck_assert_int_eq(two.segments, one.segments);
    ck_assert_int_eq(two.rows, one.rows);
    ck_assert_uint_eq(two.first_segment, one.first_segment);
    ck_assert_uint_eq(two.collected, one.collected);
    ck_assert_uint_eq(two.late_updates, one.late_updates);
    ck_assert_int_gt(one.first_segment, 20);
    expect_same_batches(m, unbroken, loaded, 40, 60);
    expect_same_state(unbroken, loaded);
    free(m);
    free_saved(&files);
    cm_replay_destroy(unbroken);
    cm_replay_destroy(loaded);
}
END_TEST

/* A small saved run: two files and a state. */
static saved make_files(int compression) {
    model *m = make_model(&base_config, 2);
    cm_replay *replay = make_replay(&base_config);
    saved files = {0};
    for (uint64_t i = 0; i < 8; i++) {
        iterate(m, replay, i, 0);
        if (i % 4 == 3) save(&files, replay, compression);
    }
    cm_replay_destroy(replay);
    free(m);
    return files;
}

/* Files of a replay of float32 observations go into one that keeps them as bytes, of all limits but that of memory. */
START_TEST(float32_observations_are_read_as_bytes_where_these_are_kept) {
    cm_replay_config config = base_config;
    config.bytes = 0, config.max_episodes = 20;
    model *m = make_model(&config, 3);
    cm_replay *floats = make_replay(&config);
    config.observation_unit = 1.0f;
    cm_replay *bytes = make_replay(&config);
    saved files = {0};
    for (uint64_t i = 0; i < 20; i++) {
        iterate(m, floats, i, 0);
        if (i % 4 == 3) save(&files, floats, _i ? CM_SEGMENT_PLAIN : CM_SEGMENT_ZSTD);
    }
    ck_assert_msg(load(&files, bytes) == CM_OK, "%s", cm_error_message());
    expect_same_batches(m, floats, bytes, 20, 30);
    free(m);
    free_saved(&files);
    cm_replay_destroy(floats);
    cm_replay_destroy(bytes);
}
END_TEST

/* Thirds have no byte; and bytes are not read where float32 numbers are kept. */
START_TEST(observations_that_are_not_of_the_replays_unit_are_refused) {
    cm_replay_config config = base_config;
    config.observation_unit = 1.0f / 3.0f;
    model *m = make_model(&config, 3);
    config.observation_unit = 0.0f;
    cm_replay *floats = make_replay(&config);
    config.observation_unit = 1.0f;
    cm_replay *bytes = make_replay(&config);
    saved files = {0}, packed = {0};
    for (uint64_t i = 0; i < 4; i++) iterate(m, floats, i, 0);
    save(&files, floats, CM_SEGMENT_PLAIN);
    save(&packed, bytes, CM_SEGMENT_PLAIN);
    ck_assert_int_eq(load(&files, bytes), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "which is not k times 1, k of 0 .. 255"));
    ck_assert_int_eq(load(&packed, floats), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "elements (type 1) and 5 actions; the replay has 3 (type 0)"));
    free(m);
    free_saved(&files);
    free_saved(&packed);
    cm_replay_destroy(floats);
    cm_replay_destroy(bytes);
}
END_TEST

START_TEST(smaller_ring_keeps_the_newest_segments_that_fit) {
    saved files = make_files(CM_SEGMENT_ZSTD);
    cm_replay *whole = make_replay(&base_config);
    ck_assert_int_eq(load(&files, whole), CM_OK);
    cm_replay_config config = base_config;
    config.max_steps = 0;
    config.bytes = 9000;
    cm_replay *small = make_replay(&config);
    ck_assert_msg(load(&files, small) == CM_OK, "%s", cm_error_message());
    cm_replay_counts one, two;
    cm_replay_count(whole, &one);
    cm_replay_count(small, &two);
    ck_assert_int_lt(two.segments, one.segments);
    ck_assert_int_gt(two.segments, 0);
    ck_assert_uint_eq(two.first_segment + (uint64_t)two.segments, one.first_segment + (uint64_t)one.segments);
    model *m = make_model(&config, 3);
    for (uint64_t i = 0; i < 20; i++) iterate(m, small, i, 0);
    free(m);
    free_saved(&files);
    cm_replay_destroy(whole);
    cm_replay_destroy(small);
}
END_TEST

START_TEST(appended_segment_adds_its_episodes_as_new_ones) {
    saved files = make_files(CM_SEGMENT_PLAIN);
    cm_replay_config config = base_config;
    config.environments = 1;
    config.max_steps = 0;
    config.bytes = 1 << 20;
    cm_replay *replay = make_replay(&config);
    uint64_t first, count, segments = 0;
    for (int i = 0; i < files.count; i++) {
        const cm_source file = cm_bytes_source(&files.file[i]);
        ck_assert_int_eq(cm_replay_segments_range(&file, &first, &count), CM_OK);
        ck_assert_int_eq(cm_replay_segments_append(replay, &file, 0, 1), CM_OK);
        segments += count;
    }
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    ck_assert_uint_eq((uint64_t)counts.segments, segments);
    ck_assert_int_eq(counts.positions, counts.steps);
    model *m = make_model(&config, 4);
    for (uint64_t i = 0; i < 5; i++) iterate(m, replay, i, 0);
    free(m);
    free_saved(&files);
    cm_replay_destroy(replay);
}
END_TEST

/* What the files of `files` hold, appended to a replay of two environments, which keeps bytes of float32 observations.
 */
static cm_replay *append_files(const saved *files, int64_t max_steps, int share, int shares, cm_replay_counts *counts) {
    cm_replay_config config = base_config;
    config.observation_unit = 1.0f;
    config.environments = 2;
    config.max_steps = max_steps;
    config.bytes = 1 << 20;
    cm_replay *replay = make_replay(&config);
    for (int i = 0; i < files->count; i++) {
        const cm_source file = cm_bytes_source(&files->file[i]);
        const cm_status status = cm_replay_segments_append(replay, &file, share, shares);
        ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    }
    cm_replay_count(replay, counts);
    return replay;
}

/* Of both files the newest 30 steps are drawn, and fewer when others have been acted. */
START_TEST(appended_steps_grow_old_like_those_that_were_acted_now) {
    saved files = make_files(CM_SEGMENT_PLAIN);
    cm_replay_counts all, counts;
    cm_replay *unlimited = append_files(&files, 0, 0, 1, &all), *replay = append_files(&files, 30, 0, 1, &counts);
    ck_assert_int_gt(all.steps, 40);
    ck_assert_int_ge((int64_t)all.collected, all.steps);
    ck_assert_int_le((int64_t)all.collected, all.steps + 2); /* each of the files to a multiple of 2 */
    ck_assert_int_ge(counts.positions, 28);
    ck_assert_int_le(counts.positions, 30);
    ck_assert_uint_gt(counts.first_segment, 0);
    const float observation[3] = {0}, policy[5] = {1, 0, 0, 0, 0};
    const cm_replay_step step = {.observation = observation, .policy = policy};
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(cm_replay_append(replay, 0, &step), CM_OK);
        ck_assert_int_eq(cm_replay_append(replay, 1, &step), CM_OK);
    }
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    const int64_t before = counts.positions;
    cm_replay_count(replay, &counts);
    ck_assert_int_eq(counts.positions, before - 12 + 2 * (6 - base_config.targets.td_steps));
    cm_replay_destroy(unlimited);
    cm_replay_destroy(replay);
    free_saved(&files);
}
END_TEST

/* Their environments have acted equally often, as those of ranks always have. */
START_TEST(shares_of_segments_are_all_of_them_once) {
    saved files = make_files(CM_SEGMENT_ZSTD);
    cm_replay_counts all, share;
    int64_t segments = 0, steps = 0;
    uint64_t collected = 0;
    cm_replay_destroy(append_files(&files, 0, 0, 1, &all));
    for (int i = 0; i < 3; i++) {
        cm_replay_destroy(append_files(&files, 0, i, 3, &share));
        ck_assert_int_ge(share.segments, all.segments / 3 - 1);
        segments += share.segments, steps += share.steps;
        if (i > 0) ck_assert_uint_eq(share.collected, collected);
        collected = share.collected;
    }
    ck_assert_uint_ge(3 * collected, all.collected);
    ck_assert_uint_le(3 * collected, all.collected + 6 * (uint64_t)files.count); /* each to a multiple of 6 */
    ck_assert_int_eq(segments, all.segments);
    ck_assert_int_eq(steps, all.steps);
    free_saved(&files);
}
END_TEST

static void refuse(const saved *files, const char *says) {
    cm_replay *replay = make_replay(&base_config);
    cm_status status = load(files, replay);
    ck_assert_int_eq(status, CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), says) != NULL, "says: %s", cm_error_message());
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    ck_assert_int_eq(counts.positions, 0);
    ck_assert_int_eq(counts.rows, 0);
    model *m = make_model(&base_config, 7); /* it still works */
    for (uint64_t i = 0; i < 3; i++) iterate(m, replay, i, 0);
    free(m);
    cm_replay_destroy(replay);
}

START_TEST(missing_foreign_and_swapped_files_are_named) {
    saved files = make_files(CM_SEGMENT_ZSTD), wrong = files;
    wrong.count = 1;
    refuse(&wrong, "is in no file");
    wrong = files;
    wrong.state = files.file[0];
    refuse(&wrong, "replay state: not one");
    wrong = files;
    wrong.file[1] = files.state;
    refuse(&wrong, "segment file: not one");
    wrong = files;
    wrong.state.size = 0;
    refuse(&wrong, "replay state: not one (0 bytes");
    cm_replay_config config = base_config;
    config.actions = 6;
    cm_replay *replay = make_replay(&config);
    ck_assert_int_eq(load(&files, replay), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "5 actions"));
    cm_replay_destroy(replay);
    config.actions = 4, config.form = cm_policy_form_of(4, 2);
    replay = make_replay(&config);
    ck_assert_int_eq(load(&files, replay), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "its policies are joint, those of the replay per number"));
    cm_replay_destroy(replay);
    config = base_config;
    config.entries = 3;
    replay = make_replay(&config);
    ck_assert_int_eq(load(&files, replay), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(
        strstr(cm_error_message(), "its policies are joint, those of the replay of few drawn actions"));
    cm_replay_destroy(replay);
    config = base_config;
    config.segment_steps = 4;
    replay = make_replay(&config);
    ck_assert_int_eq(load(&files, replay), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "segment_steps"));
    cm_replay_destroy(replay);
    free_saved(&files);
}
END_TEST

/* All of a replay: its state, and one file of all segments. */
static void save_all(const cm_replay *replay, cm_bytes out[2]) {
    cm_replay_counts counts;
    const cm_sink state = cm_bytes_sink(&out[0]), file = cm_bytes_sink(&out[1]);
    cm_replay_count(replay, &counts);
    ck_assert_int_eq(cm_replay_state_write(replay, CM_SEGMENT_PLAIN, &state), CM_OK);
    ck_assert_int_eq(
        cm_replay_segments_write(replay, counts.first_segment, (uint64_t)counts.segments, CM_SEGMENT_PLAIN, &file),
        CM_OK);
}

static void expect_saved(const cm_replay *replay, const cm_bytes want[2]) {
    cm_bytes got[2] = {{0}};
    save_all(replay, got);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(got[i].size, want[i].size);
        ck_assert_mem_eq(got[i].data, want[i].data, want[i].size);
        cm_bytes_free(&got[i]);
    }
}

/* What zstd reads otherwise and unpacks alike, as a bit of its header without a meaning, is no damage. */
START_TEST(every_truncation_and_every_flipped_byte_is_refused) {
    saved files = make_files(_i ? CM_SEGMENT_ZSTD : CM_SEGMENT_PLAIN);
    cm_replay *replay = make_replay(&base_config);
    cm_bytes *file[2] = {&files.state, &files.file[0]}, intact[2] = {{0}};
    int harmless = 0;
    ck_assert_int_eq(load(&files, replay), CM_OK);
    save_all(replay, intact);
    for (int f = 0; f < 2; f++) {
        size_t size = file[f]->size;
        for (size_t cut = 0; cut < size; cut++) {
            file[f]->size = cut;
            ck_assert_int_eq(load(&files, replay), CM_ERR_INPUT);
        }
        file[f]->size = size;
        for (size_t at = 0; at < size; at++) {
            file[f]->data[at] ^= (unsigned char)(1u << at % 8);
            if (load(&files, replay) == CM_OK) {
                expect_saved(replay, intact);
                harmless++;
            }
            file[f]->data[at] ^= (unsigned char)(1u << at % 8);
        }
    }
    ck_assert_int_le(harmless, _i ? 20 : 0);
    ck_assert_msg(load(&files, replay) == CM_OK, "%s", cm_error_message());
    for (int f = 0; f < 2; f++) cm_bytes_free(&intact[f]);
    cm_replay_destroy(replay);
    free_saved(&files);
}
END_TEST

/* Writes a checksum that agrees, as an attacker would; where that is of what is packed, in the older form,
 * which has it of what is stored. */
static void seal(cm_bytes *file) {
    uint64_t stored = file->size - 64;
    if (file->data[8] == 2) file->data[8] = 1;
    memcpy(file->data + 48, &stored, sizeof stored);
    uint64_t sum = XXH3_64bits_withSeed(file->data + 64, file->size - 64, XXH3_64bits(file->data, 56));
    memcpy(file->data + 56, &sum, sizeof sum);
}

START_TEST(sealed_segment_with_wrong_steps_or_action_or_flags_is_named) {
    saved files = make_files(CM_SEGMENT_PLAIN);
    cm_bytes *file = &files.file[1];
    unsigned char *steps = file->data + 64, old = *steps;
    *steps = old == 1 ? 2 : (unsigned char)(old - 1);
    seal(file);
    refuse(&files, "the state says");
    *steps = old;
    /* After the observations, policies and legal masks of its rows: reward, root value, action, index, player, flags.
     */
    unsigned char *row = steps + 4 + (old + 1) * (3 * 4 + 5 * 4 + 1);
    row[8] = 5;
    seal(file);
    refuse(&files, "action 5, must be in 0 .. 4");
    row[8] = 0;
    row[17] = 4;
    seal(file);
    refuse(&files, "row 0");
    free_saved(&files);
}
END_TEST

/* After the number of its steps the observations of a segment are first; those of an open episode, after its three
 * numbers. */
START_TEST(sealed_observations_that_are_not_finite_are_named) {
    const float wrong = _i ? INFINITY : NAN;
    saved files = make_files(CM_SEGMENT_PLAIN);
    cm_bytes *file = &files.file[1];
    memcpy(file->data + 64 + 4 + 2 * sizeof wrong, &wrong, sizeof wrong);
    seal(file);
    refuse(&files,
           _i ? "row 0: number 3 of its observation is inf: take another" : "row 0: number 3 of its observation is ");
    free_saved(&files);
}
END_TEST

START_TEST(sealed_nonsense_never_crashes_what_draws_from_it) {
    cm_rng rng = cm_rng_init(cm_key_make(13, CM_RNG_TEST, (uint64_t)_i), 0);
    saved files = make_files(_i % 4 == 0 ? CM_SEGMENT_ZSTD : CM_SEGMENT_PLAIN);
    cm_replay *replay = make_replay(&base_config);
    for (int trial = 0; trial < 300; trial++) {
        cm_bytes *file = cm_rng_below(&rng, 2) ? &files.state : &files.file[cm_rng_below(&rng, 2)];
        cm_bytes whole = {malloc(file->size), file->size, file->size};
        memcpy(whole.data, file->data, file->size);
        int changes = 1 + (int)cm_rng_below(&rng, 3);
        for (int i = 0; i < changes; i++) {
            size_t at = cm_rng_below(&rng, 3) ? cm_rng_below(&rng, (uint32_t)file->size) : cm_rng_below(&rng, 160);
            if (at < file->size) file->data[at] = (unsigned char)cm_rng_bits(&rng);
        }
        if (cm_rng_below(&rng, 4) == 0) file->size = 64 + cm_rng_below(&rng, (uint32_t)file->size - 63);
        seal(file);
        if (load(&files, replay) == CM_OK) {
            model *m = make_model(&base_config, 7);
            for (uint64_t i = 0; i < 3; i++) iterate(m, replay, i, 0);
            free(m);
        }
        memcpy(file->data, whole.data, whole.size);
        file->size = whole.size;
        cm_bytes_free(&whole);
    }
    cm_replay_destroy(replay);
    free_saved(&files);
}
END_TEST

/* Priorities for positions that are drawn, which wait for a commit. */
static void set_priorities(cm_replay *replay) {
    const cm_batch_config config = {.rows = 16, .seed = 7};
    cm_batch *b;
    float priority[16];
    ck_assert_int_eq(cm_batch_create(replay, &config, &b), CM_OK);
    for (uint64_t u = 0; u < 4; u++) {
        ck_assert_int_eq(cm_replay_sample(replay, u, 0.5, b), CM_OK);
        for (int i = 0; i < 16; i++) priority[i] = i == 5 ? NAN : (float)i + (float)u / 4.0f;
        ck_assert_int_eq(cm_replay_update_priorities(replay, 16, b->slot, b->index, priority), CM_OK);
    }
    cm_batch_destroy(b);
}

START_TEST(priorities_that_wait_are_saved_with_the_state) {
    cm_replay_config config = variant(_i);
    model *m = make_model(&config, 1), *copy = make_model(&config, 1);
    cm_replay *whole = make_replay(&config), *saving = make_replay(&config), *loaded = make_replay(&config);
    saved files = {0};
    cm_bytes pending = {0};
    for (uint64_t i = 0; i < 40; i++) iterate(m, whole, i, 0), iterate(copy, saving, i, 0);
    set_priorities(whole);
    set_priorities(saving);
    const cm_sink sink = cm_bytes_sink(&pending);
    ck_assert_int_eq(cm_replay_pending_write(saving, _i % 3 == 0 ? CM_SEGMENT_PLAIN : CM_SEGMENT_ZSTD, &sink), CM_OK);
    const cm_source source = cm_bytes_source(&pending);
    save(&files, saving, CM_SEGMENT_PLAIN);
    ck_assert_int_eq(load(&files, loaded), CM_OK);
    ck_assert_msg(cm_replay_pending_read(loaded, &source) == CM_OK, "%s", cm_error_message());
    if (config.prioritized) {
        ck_assert_int_eq(cm_replay_pending_read(loaded, &source), CM_ERR_INPUT); /* twice */
        ck_assert_ptr_nonnull(strstr(cm_error_message(), "waiting priorities: "));
    }
    ck_assert_int_eq(cm_replay_commit(whole), CM_OK);
    ck_assert_int_eq(cm_replay_commit(loaded), CM_OK);
    expect_same_batches(m, whole, loaded, 40, 60);
    expect_same_state(whole, loaded);
    ck_assert_int_eq(cm_replay_commit(saving), CM_OK);
    pending.data[pending.size - 1] ^= 1;
    ck_assert_int_eq(cm_replay_pending_read(saving, &source), CM_ERR_INPUT);
    cm_bytes_free(&pending);
    free_saved(&files);
    cm_replay_destroy(whole);
    cm_replay_destroy(saving);
    cm_replay_destroy(loaded);
    free(m);
    free(copy);
}
END_TEST

START_TEST(state_is_refused_while_steps_wait_for_a_commit) {
    model *m = make_model(&base_config, 1);
    cm_replay *replay = make_replay(&base_config);
    cm_bytes state = {0};
    const cm_sink sink = cm_bytes_sink(&state);
    model_append(m, replay, 0);
    ck_assert_int_eq(cm_replay_state_write(replay, 0, &sink), CM_ERR_STATE);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    ck_assert_int_eq(cm_replay_state_write(replay, 0, &sink), CM_OK);
    ck_assert_int_eq(cm_replay_segments_write(replay, 0, 1, 0, &sink), CM_ERR_INPUT);
    const cm_source source = cm_bytes_source(&state);
    ck_assert_int_eq(cm_replay_segments_read(replay, &source), CM_ERR_STATE);
    ck_assert_int_eq(cm_replay_load_end(replay), CM_ERR_STATE);
    cm_bytes_free(&state);
    cm_replay_destroy(replay);
    free(m);
}
END_TEST

/* Whether all of a policy is kept, or the entries that are not 0. */
START_TEST(policies_of_few_entries_give_the_same_batches) {
    cm_replay_config config = base_config;
    config.bytes = 0;
    model *m = make_model(&config, 4);
    cm_replay *whole = make_replay(&config);
    config.entries = 5;
    cm_replay *entries = make_replay(&config);
    expect_same_batches(m, whole, entries, 0, 30);
    cm_replay_destroy(entries);
    cm_replay_destroy(whole);
    free(m);
}
END_TEST

START_TEST(entries_that_are_none_are_refused) {
    static const float two[5] = {0, 3, 0, 0, 1}, three[5] = {1, 1, 0, 0, 1}, none[5] = {0}, below[5] = {0, -1, 2};
    static const float rows[][4] = {{4, 1, 0.75f, 0.25f}, /* they ascend */
                                    {1, 5, 0.75f, 0.25f},    {-1, 4, 0.75f, 0.25f}, {NAN, 4, 0.75f, 0.25f},
                                    {1.5f, 4, 0.75f, 0.25f}, {1, 4, 0.5f, 0.25f},   {1, 4, 1.25f, -0.25f},
                                    {1, 4, NAN, 1.0f}};
    cm_replay_config config = base_config;
    float policy[5];
    config.entries = 2;
    cm_replay *replay = make_replay(&config);
    ck_assert_int_eq(cm_policy_store(replay, 3, two), CM_OK);
    cm_policy_load(replay, 3, policy);
    ck_assert(policy[1] == 0.75f && policy[4] == 0.25f && policy[0] + policy[2] + policy[3] == 0.0f);
    ck_assert_int_eq(cm_policy_check(replay, 3), CM_OK);
    ck_assert_int_eq(cm_policy_store(replay, 3, three), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "a policy of more than 2 entries");
    ck_assert_int_eq(cm_policy_store(replay, 3, none), CM_ERR_INPUT);
    ck_assert_int_eq(cm_policy_store(replay, 3, below), CM_ERR_INPUT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(replay->policy + 4 * 3, rows[i], sizeof rows[i]);
        ck_assert_msg(cm_policy_check(replay, 3) == CM_ERR_INPUT, "row %zu", i);
        cm_policy_load(replay, 3, policy); /* within its array all the same */
    }
    cm_replay_destroy(replay);
    config.symmetries = 2, config.symmetry_elements = config.symmetry_actions = (const int32_t[10]){0};
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_ERR_INPUT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("replay segments");
    TCase *tests = tcase_create("segments");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, loaded_replay_draws_what_the_saved_one_would_have_drawn, 0, 12);
    tcase_add_loop_test(tests, float32_observations_are_read_as_bytes_where_these_are_kept, 0, 2);
    tcase_add_test(tests, observations_that_are_not_of_the_replays_unit_are_refused);
    tcase_add_test(tests, smaller_ring_keeps_the_newest_segments_that_fit);
    tcase_add_test(tests, appended_segment_adds_its_episodes_as_new_ones);
    tcase_add_test(tests, appended_steps_grow_old_like_those_that_were_acted_now);
    tcase_add_test(tests, shares_of_segments_are_all_of_them_once);
    tcase_add_test(tests, missing_foreign_and_swapped_files_are_named);
    tcase_add_loop_test(tests, every_truncation_and_every_flipped_byte_is_refused, 0, 2);
    tcase_add_loop_test(tests, sealed_observations_that_are_not_finite_are_named, 0, 2);
    tcase_add_test(tests, sealed_segment_with_wrong_steps_or_action_or_flags_is_named);
    tcase_add_loop_test(tests, sealed_nonsense_never_crashes_what_draws_from_it, 0, 12);
    tcase_add_test(tests, policies_of_few_entries_give_the_same_batches);
    tcase_add_test(tests, entries_that_are_none_are_refused);
    tcase_add_test(tests, state_is_refused_while_steps_wait_for_a_commit);
    tcase_add_loop_test(tests, priorities_that_wait_are_saved_with_the_state, 0, 8);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
