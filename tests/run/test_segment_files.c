/* Files of segments that checkpoints share: each segment is in one of them, few are written again when there are too
 * many, and what is staged packs to what is packed at once. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/file.h"
#include "run/segment_files.h"
#include "support/folder.h"
#include "support/main.h"

enum { LENGTH = 3, RANKS = 2000 }; /* so many that 8 files are left for each */

static cm_replay *replay;
static cm_segment_files files;
static cm_checkpoint_store *store;
static int episodes;

static cm_replay *make_replay(int64_t steps) {
    const cm_replay_config config = {.observation_size = 2,
                                     .actions = 2,
                                     .environments = 1,
                                     .max_steps = steps,
                                     .segment_steps = LENGTH,
                                     .commit_steps = LENGTH,
                                     .targets = {.unroll = 1, .td_steps = 1, .discount = 0.9}};
    cm_replay *made;
    ck_assert_msg(cm_replay_create(&config, &made) == CM_OK, "%s", cm_error_message());
    return made;
}

static void collect(int count) {
    const float policy[2] = {1, 3};
    for (int i = 0; i < count; i++, episodes++) {
        const float observation[2] = {(float)episodes, -1.0f};
        const cm_replay_step step = {.observation = observation, .policy = policy, .reward = (float)episodes};
        const cm_replay_end end = {.observation = observation, .terminated = true};
        for (int t = 0; t < LENGTH; t++) ck_assert_int_eq(cm_replay_append(replay, 0, &step), CM_OK);
        ck_assert_int_eq(cm_replay_finish(replay, 0, &end), CM_OK);
        ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    }
}

static cm_status save_part(void *context, cm_checkpoint_writer *writer) {
    (void)context;
    CM_TRY(cm_segment_files_save(&files, replay, writer));
    return cm_replay_state_save(replay, 0, writer);
}

static const cm_checkpoint_part part = {.name = "the replay", .save = save_part};

/* Segments in files that were not there before this save. */
static uint64_t save(int64_t update, bool is_begun) {
    const cm_segment_files before = files;
    uint64_t fresh = 0;
    const cm_status begun =
        is_begun ? cm_checkpoint_begin_save(store, update, &part, 1) : cm_checkpoint_save(store, update, &part, 1);
    ck_assert_msg(begun == CM_OK && cm_checkpoint_wait(store) == CM_OK, "%s", cm_error_message());
    for (int i = 0; i < files.count; i++) {
        bool was_there = false;
        for (int k = 0; k < before.count; k++)
            was_there = was_there || memcmp(&before.of[k], &files.of[i], sizeof files.of[i]) == 0;
        fresh += was_there ? 0 : files.of[i].count;
    }
    return fresh;
}

static void begin(void) {
    cm_test_folder_make();
    replay = make_replay(60 * LENGTH);
    files = (cm_segment_files){.ranks = RANKS};
    episodes = 0;
    ck_assert_int_eq(cm_checkpoint_store_create(cm_test_folder, 3, NULL, &store), CM_OK);
}

static void end(void) {
    cm_checkpoint_store_destroy(store);
    cm_replay_destroy(replay);
    cm_test_folder_remove();
}

static void expect_whole(void) {
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    ck_assert_int_gt(files.count, 0);
    ck_assert_uint_le(files.of[0].first, counts.first_segment);
    for (int i = 1; i < files.count; i++)
        ck_assert_uint_eq(files.of[i].first, files.of[i - 1].first + files.of[i - 1].count);
    const cm_segment_file *last = &files.of[files.count - 1];
    ck_assert_uint_eq(last->first + last->count, counts.first_segment + (uint64_t)counts.segments);
}

/* The ring of 60 episodes is passed twice; all of it is never written again at once. */
START_TEST(too_many_files_become_fewer_two_at_a_time) {
    uint64_t most = 0;
    for (int i = 1; i <= 120; i++) {
        collect(1);
        const uint64_t fresh = save(i, _i == 1);
        most = fresh > most ? fresh : most;
        ck_assert_int_le(files.count, 8);
        expect_whole();
    }
    ck_assert_int_eq(files.count, 8);
    ck_assert_uint_le(most, 60 / 2);
    ck_assert_int_eq(cm_checkpoint_verify(store, 120, NULL), CM_OK);
}
END_TEST

static cm_status hash_bytes(void *context, const void *data, size_t size) {
    XXH3_64bits_update(context, data, size);
    return CM_OK;
}

static uint64_t hash_replay(const cm_replay *of) {
    cm_replay_counts counts;
    XXH3_state_t *hash = XXH3_createState();
    const cm_sink sink = {hash, hash_bytes};
    cm_replay_count(of, &counts);
    XXH3_64bits_reset(hash);
    ck_assert_int_eq(cm_replay_state_write(of, CM_SEGMENT_PLAIN, &sink), CM_OK);
    ck_assert_int_eq(
        cm_replay_segments_write(of, counts.first_segment, (uint64_t)counts.segments, CM_SEGMENT_PLAIN, &sink), CM_OK);
    const uint64_t digest = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    return digest;
}

static cm_status load_part(void *context, cm_checkpoint_reader *reader) {
    cm_replay *into = context;
    cm_source file;
    uint64_t first;
    CM_TRY(cm_checkpoint_open(reader, CM_FILE_REPLAY_STATE, UINT64_MAX, &file));
    ck_assert_int_eq(cm_replay_state_read(into, &file), CM_OK);
    cm_source_close(&file);
    for (int i = 0; i < cm_checkpoint_files(reader); i++) {
        if (cm_segment_file_rank(cm_checkpoint_file(reader, i), &first) != 0) continue;
        CM_TRY(cm_checkpoint_open(reader, cm_checkpoint_file(reader, i), UINT64_MAX, &file));
        ck_assert_msg(cm_replay_segments_read(into, &file) == CM_OK, "%s", cm_error_message());
        cm_source_close(&file);
    }
    return cm_replay_load_end(into);
}

/* What episodes that come afterwards push out of the ring is in the checkpoint all the same. */
START_TEST(a_begun_checkpoint_has_the_replay_as_it_was) {
    cm_replay *other = make_replay(60 * LENGTH);
    const cm_checkpoint_part into = {.name = "the replay", .context = other, .load = load_part};
    collect(50);
    save(1, true);
    collect(20);
    const uint64_t hash = hash_replay(replay);
    ck_assert_int_eq(cm_checkpoint_begin_save(store, 2, &part, 1), CM_OK);
    collect(70);
    ck_assert_int_eq(cm_checkpoint_wait(store), CM_OK);
    ck_assert_uint_ne(hash_replay(replay), hash);
    ck_assert_msg(cm_checkpoint_load(store, 2, &into, 1, NULL) == CM_OK, "%s", cm_error_message());
    ck_assert_uint_eq(hash_replay(other), hash);
    cm_replay_destroy(other);
}
END_TEST

/* Byte for byte what is packed at once. */
START_TEST(what_is_staged_packs_to_the_same_file) {
    char name[CM_SEGMENT_FILE_NAME], *bytes[2];
    size_t size[2];
    collect(40);
    for (int is_begun = 0; is_begun < 2; is_begun++) {
        files.count = 0;
        save(1 + is_begun, is_begun == 1);
    }
    cm_segment_file_name(&files, 0, name);
    for (int i = 0; i < 2; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/checkpoints/%08d/%s", cm_test_folder, 1 + i, name);
        ck_assert_int_eq(cm_file_read(path, 1 << 20, &bytes[i], &size[i]), CM_OK);
    }
    ck_assert_uint_eq(size[0], size[1]);
    ck_assert_mem_eq(bytes[0], bytes[1], size[0]);
    free(bytes[0]);
    free(bytes[1]);
}
END_TEST

/* What is no file of segments, or damaged, is not packed. */
START_TEST(what_is_staged_is_checked_before_it_is_packed) {
    static char bytes[1 << 16];
    size_t size = 0;
    cm_source source;
    XXH3_state_t *hash = XXH3_createState();
    const cm_sink sink = {hash, hash_bytes};
    char path[128], *text;
    XXH3_64bits_reset(hash);
    collect(2);
    save(1, false);
    snprintf(path, sizeof path, "%s/checkpoints/00000001/replay-segment-0-2.bin", cm_test_folder);
    ck_assert_int_eq(cm_file_read(path, sizeof bytes, &text, &size), CM_OK);
    memcpy(bytes, text, size);
    free(text);
    cm_source_memory(&source, bytes, size, "staged");
    ck_assert_int_eq(cm_replay_segments_pack(&source, &sink), CM_OK);
    bytes[size - 1] ^= 1;
    ck_assert_int_ne(cm_replay_segments_pack(&source, &sink), CM_OK);
    cm_source_memory(&source, "short", 5, "staged");
    ck_assert_int_eq(cm_replay_segments_pack(&source, &sink), CM_ERR_INPUT);
    XXH3_freeState(hash);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/segment_files");
    TCase *tests = tcase_create("segment_files");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, too_many_files_become_fewer_two_at_a_time, 0, 2);
    tcase_add_test(tests, a_begun_checkpoint_has_the_replay_as_it_was);
    tcase_add_test(tests, what_is_staged_packs_to_the_same_file);
    tcase_add_test(tests, what_is_staged_is_checked_before_it_is_packed);
    return cm_test_main(suite);
}
