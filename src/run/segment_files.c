#include "run/segment_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/manifest.h"

static const char prefix[] = "replay-segment-";

/* ---- names ---- */

void cm_rank_file_name(int64_t rank, const char *name, char out[CM_SEGMENT_FILE_NAME]) {
    if (rank == 0) {
        snprintf(out, CM_SEGMENT_FILE_NAME, "%s", name);
    } else {
        snprintf(out, CM_SEGMENT_FILE_NAME, "rank-%lld-%s", (long long)rank, name);
    }
}

void cm_segment_file_name(const cm_segment_files *files, int index, char out[CM_SEGMENT_FILE_NAME]) {
    const cm_segment_file *s = &files->of[index];
    char name[64];
    snprintf(name, sizeof name, "%s%llu-%llu.bin", prefix, (unsigned long long)s->first, (unsigned long long)s->count);
    cm_rank_file_name(files->rank, name, out);
}

int64_t cm_segment_file_rank(const char *name, uint64_t *first) {
    const char *rest = name;
    int64_t rank = 0;
    if (strncmp(name, "rank-", 5) == 0) {
        char *end;
        rank = strtoll(name + 5, &end, 10);
        rest = *end == '-' ? end + 1 : end;
    }
    if (strncmp(rest, prefix, sizeof prefix - 1) != 0) return -1;
    *first = strtoull(rest + sizeof prefix - 1, NULL, 10);
    return rank;
}

/* ---- which there are ---- */

static uint64_t end_of(const cm_segment_file *s) { return s->first + s->count; }

void cm_segment_files_add(cm_segment_files *files, cm_segment_file file) {
    if (files->count < CM_SEGMENT_FILES) files->of[files->count++] = file;
}

static int by_first(const void *a, const void *b) {
    const cm_segment_file *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

void cm_segment_files_sort(cm_segment_files *files) {
    qsort(files->of, (size_t)files->count, sizeof *files->of, by_first);
}

/* So many that the manifest of all ranks has space for them and for a few other files of each. */
static int most_files(const cm_segment_files *files) {
    enum { OTHERS = 8, LEAST = 2 };
    const int share = CM_MANIFEST_FILES / files->ranks - OTHERS;
    return share > CM_SEGMENT_FILES ? CM_SEGMENT_FILES : share < LEAST ? LEAST : share;
}

/* The first of the two neighbours that hold the fewest segments. */
static int find_pair(const cm_segment_files *files) {
    int best = 0;
    for (int i = 1; i + 1 < files->count; i++)
        if (files->of[i].count + files->of[i + 1].count < files->of[best].count + files->of[best + 1].count) best = i;
    return best;
}

/* Those that have all left, and those behind a gap, are forgotten. */
static void forget(cm_segment_files *files, uint64_t first) {
    uint64_t end = first;
    int count = 0;
    for (int i = 0; i < files->count; i++) {
        const cm_segment_file s = files->of[i];
        if (end_of(&s) <= end || s.first > end) continue;
        files->of[count++] = s;
        end = end_of(&s);
    }
    files->count = count;
}

/* Makes space for one more. */
static void merge(cm_segment_files *files) {
    while (files->count >= most_files(files)) {
        const int i = find_pair(files);
        files->of[i].count = end_of(&files->of[i + 1]) - files->of[i].first;
        files->count--;
        memmove(&files->of[i + 1], &files->of[i + 2], (size_t)(files->count - i - 1) * sizeof *files->of);
    }
}

void cm_segment_files_fresh(const cm_segment_files *files, const cm_replay *replay, cm_segment_file out[2]) {
    cm_segment_files after = *files;
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    const uint64_t end = counts.first_segment + (uint64_t)counts.segments;
    forget(&after, counts.first_segment);
    const uint64_t saved = after.count > 0 ? end_of(&after.of[after.count - 1]) : counts.first_segment;
    out[0] = (cm_segment_file){saved, end > saved ? end - saved : 0};
    out[1] = (cm_segment_file){saved, 0};
    if (after.count < most_files(&after)) return;
    const int i = find_pair(&after);
    const uint64_t from = after.of[i].first < counts.first_segment ? counts.first_segment : after.of[i].first;
    out[1] = (cm_segment_file){from, end_of(&after.of[i + 1]) - from};
}

/* ---- saving ---- */

/* Bytes of `count` segments as the replay has them, about. */
static double plain_bytes(const cm_replay *replay, uint64_t count) {
    cm_replay_counts c;
    cm_replay_count(replay, &c);
    if (c.segments == 0 || c.ring_rows == 0) return 0.0;
    const double all = (double)(c.bytes + c.file_bytes) * (double)c.rows / (double)c.ring_rows;
    return all * (double)count / (double)c.segments;
}

/* Many segments at once, as those that a run begins with, are packed before they are written: the disk may not have
 * space for them as they are. */
static bool is_to_be_staged(const cm_replay *replay, uint64_t count) {
    static const double most = 256e6;
    return plain_bytes(replay, count) <= most;
}

uint64_t cm_segment_files_staged(const cm_replay *replay, uint64_t count) {
    return is_to_be_staged(replay, count) ? (uint64_t)plain_bytes(replay, count) : 0;
}

/* Packed later by a thread, if the checkpoint is finished by one. */
static cm_status stage_file(const char *name, const cm_segment_file *s, const cm_replay *replay,
                            cm_checkpoint_writer *writer) {
    cm_sink sink = {0};
    CM_TRY(cm_checkpoint_begin_staged(writer, name, cm_replay_segments_pack, &sink));
    CM_TRY(cm_replay_segments_write(replay, s->first, s->count, CM_SEGMENT_PLAIN, &sink));
    return cm_checkpoint_end(writer);
}

static cm_status write_file(const cm_segment_files *files, int index, const cm_replay *replay,
                            cm_checkpoint_writer *writer) {
    const cm_segment_file *s = &files->of[index];
    char name[CM_SEGMENT_FILE_NAME];
    cm_sink sink = {0};
    cm_segment_file_name(files, index, name);
    if (cm_checkpoint_is_staging(writer) && is_to_be_staged(replay, s->count))
        return stage_file(name, s, replay, writer);
    CM_TRY(cm_checkpoint_begin(writer, name, &sink));
    CM_TRY(cm_replay_segments_write(replay, s->first, s->count, CM_SEGMENT_ZSTD, &sink));
    return cm_checkpoint_end(writer);
}

/* A file of the checkpoint before, or what the ring still has of it. */
static cm_status save_file(cm_segment_files *files, int index, const cm_replay *replay, uint64_t first,
                           cm_checkpoint_writer *writer) {
    cm_segment_file *s = &files->of[index];
    char name[CM_SEGMENT_FILE_NAME];
    bool kept = false;
    cm_segment_file_name(files, index, name);
    CM_TRY(cm_checkpoint_keep(writer, name, &kept));
    if (kept) return CM_OK;
    if (s->first < first) *s = (cm_segment_file){first, end_of(s) - first};
    return write_file(files, index, replay, writer);
}

cm_status cm_segment_files_save(cm_segment_files *files, const cm_replay *replay, cm_checkpoint_writer *writer) {
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    const uint64_t first = counts.first_segment, end = first + (uint64_t)counts.segments;
    forget(files, first);
    merge(files);
    for (int i = 0; i < files->count; i++) CM_TRY(save_file(files, i, replay, first, writer));
    const uint64_t saved = files->count > 0 ? end_of(&files->of[files->count - 1]) : first;
    if (saved >= end) return CM_OK;
    files->of[files->count++] = (cm_segment_file){saved, end - saved};
    return write_file(files, files->count - 1, replay, writer);
}

/* ---- the state ---- */

cm_status cm_replay_state_save(const cm_replay *replay, int rank, cm_checkpoint_writer *writer) {
    const bool is_staged = cm_checkpoint_is_staging(writer);
    char name[CM_SEGMENT_FILE_NAME];
    cm_sink sink = {0};
    cm_rank_file_name(rank, CM_FILE_REPLAY_STATE, name);
    CM_TRY(is_staged ? cm_checkpoint_begin_staged(writer, name, cm_replay_state_pack, &sink)
                     : cm_checkpoint_begin(writer, name, &sink));
    CM_TRY(cm_replay_state_write(replay, is_staged ? CM_SEGMENT_PLAIN : CM_SEGMENT_ZSTD, &sink));
    return cm_checkpoint_end(writer);
}
