/* The part of a run's checkpoint that is each rank's own: its replay and its environments.
 *
 *     replay-segment-FIRST-COUNT.bin   segments of the replay (run/segment_files.h)
 *     replay-state.bin                 what changes of it
 *     replay-pending.bin               priorities of a round of learning that was broken off
 *     reanalysis.bin                   what reanalysis of the memory has found (agent/rolling.h), where it is on
 *     environments.bin                 games under way, counters of acting (agent/acting.h)
 *
 * are those of rank 0, and of a run of one process; the files of rank R have "rank-R-" before these names. As many
 * ranks as have saved take back their own, bit for bit. Another number of ranks deals: environments go by their
 * numbers, segments by replay/deal.h. An offline run has no environments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/log.h"
#include "replay/deal.h"
#include "run/run_internal.h"

static const char actor_file[] = "environments.bin", replay_file[] = CM_FILE_REPLAY_STATE;
static const char pending_file[] = "replay-pending.bin"; /* only within an iteration */
static const char rolling_file[] = "reanalysis.bin";     /* where reanalyse is buffer */

enum { NAME = CM_SEGMENT_FILE_NAME };

static cm_replay *replay_of(const cm_run *run) { return cm_run_learner_replay(run->learner); }

/* ---- what was found by reanalysis of the memory ---- */

static cm_status write_rolling(cm_run *run, cm_checkpoint_writer *writer) {
    cm_rolling *rolling = cm_run_learner_rolling(run->learner);
    char name[NAME];
    cm_sink sink;
    if (!rolling) return CM_OK;
    cm_rank_file_name(run->session->comm->rank, rolling_file, name);
    CM_TRY(cm_checkpoint_begin(writer, name, &sink));
    CM_TRY(cm_rolling_write(rolling, &sink));
    return cm_checkpoint_end(writer);
}

/* Of the rank's own replay: one that was dealt out begins with what self-play has found. */
static cm_status load_rolling(cm_run *run, cm_checkpoint_reader *reader) {
    cm_rolling *rolling = cm_run_learner_rolling(run->learner);
    char name[NAME];
    cm_source file;
    if (!rolling) return CM_OK;
    cm_rank_file_name(run->session->comm->rank, rolling_file, name);
    CM_TRY(cm_checkpoint_open(reader, name, UINT64_MAX, &file));
    const cm_status status = cm_rolling_read(rolling, &file);
    cm_source_close(&file);
    return status;
}

/* ---- saving ---- */

void cm_run_keep_actor(cm_run *run) {
    if (run->actor && !run->is_undone) run->actor_used = cm_actor_save(run->actor, run->actor_bytes);
}

uint64_t cm_run_data_most(const cm_run *run) {
    cm_replay_counts counts;
    cm_replay_count(replay_of(run), &counts);
    return counts.bytes + counts.file_bytes + cm_actor_bytes(run->actor) +
           cm_rolling_memory(cm_run_learner_rolling(run->learner));
}

static cm_status count_bytes(void *bytes, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)bytes += size;
    return CM_OK;
}

/* Bytes of `count` segments from `first` on when they are compressed, as a few in their middle are. */
static uint64_t estimate_segments(const cm_run *run, uint64_t first, uint64_t count) {
    enum { SAMPLE = 4 };
    const uint64_t n = count < SAMPLE ? count : SAMPLE;
    uint64_t bytes = 0;
    const cm_sink sink = {&bytes, count_bytes};
    if (n == 0) return 0;
    if (cm_replay_segments_write(replay_of(run), first + (count - n) / 2, n, CM_SEGMENT_ZSTD, &sink) != CM_OK)
        return cm_run_data_most(run);
    return (uint64_t)((double)bytes / (double)n * (double)count);
}

uint64_t cm_run_data_bytes(void *context) {
    cm_run *run = context;
    cm_segment_file fresh[2];
    cm_segment_files_fresh(&run->segment_files, replay_of(run), fresh);
    uint64_t bytes = 0;
    for (int i = 0; i < 2; i++)
        bytes += estimate_segments(run, fresh[i].first, fresh[i].count) +
                 cm_segment_files_staged(replay_of(run), fresh[i].count);
    for (int i = 0; i < run->segment_files.count; i++) {
        char name[CM_SEGMENT_FILE_NAME];
        cm_segment_file_name(&run->segment_files, i, name);
        bytes += cm_checkpoint_copy_bytes(run->store, name);
    }
    cm_run_keep_actor(run);
    return bytes + run->actor_used + cm_rolling_bytes(cm_run_learner_rolling(run->learner));
}

static cm_status write_pending(cm_run *run, cm_checkpoint_writer *writer) {
    char name[NAME];
    cm_sink sink;
    cm_rank_file_name(run->session->comm->rank, pending_file, name);
    CM_TRY(cm_checkpoint_begin(writer, name, &sink));
    CM_TRY(cm_replay_pending_write(replay_of(run), CM_SEGMENT_ZSTD, &sink));
    return cm_checkpoint_end(writer);
}

cm_status cm_run_data_save(void *context, cm_checkpoint_writer *writer) {
    cm_run *run = context;
    char name[NAME];
    CM_TRY(cm_segment_files_save(&run->segment_files, replay_of(run), writer));
    if (run->state.is_within) CM_TRY(write_pending(run, writer));
    CM_TRY(cm_replay_state_save(replay_of(run), run->session->comm->rank, writer));
    CM_TRY(write_rolling(run, writer));
    if (!run->actor) return CM_OK;
    cm_run_keep_actor(run);
    cm_rank_file_name(run->session->comm->rank, actor_file, name);
    return cm_checkpoint_put(writer, name, run->actor_bytes, run->actor_used);
}

/* ---- loading ---- */

/* Calls load(context, rank, file) for every segment file of rank `wanted`, or of all if that is -1. Damaged ones are
 * passed over, if they are to be dropped. */
static cm_status each_segment_file(cm_checkpoint_reader *reader, int64_t wanted, bool drop_damaged,
                                   cm_status (*load)(void *context, int64_t rank, const cm_source *file),
                                   void *context) {
    for (int i = 0; i < cm_checkpoint_files(reader); i++) {
        const char *name = cm_checkpoint_file(reader, i);
        uint64_t first;
        const int64_t rank = cm_segment_file_rank(name, &first);
        cm_source file;
        if (rank < 0 || (wanted >= 0 && rank != wanted)) continue;
        cm_status status = cm_checkpoint_open(reader, name, UINT64_MAX, &file);
        if (status == CM_ERR_IO && drop_damaged) continue;
        CM_TRY(status);
        status = load(context, rank, &file);
        cm_source_close(&file);
        if (status != CM_OK) return cm_fail_in(status, "%s", file.path);
    }
    return CM_OK;
}

static cm_status load_own(void *context, int64_t rank, const cm_source *file) {
    cm_run *run = context;
    cm_segment_file s = {0, 0};
    (void)rank;
    CM_TRY(cm_replay_segments_range(file, &s.first, &s.count));
    CM_TRY(cm_replay_segments_read(replay_of(run), file));
    cm_segment_files_add(&run->segment_files, s);
    return CM_OK;
}

static cm_status load_pending(cm_run *run, cm_checkpoint_reader *reader) {
    char name[NAME];
    cm_source pending;
    cm_rank_file_name(run->session->comm->rank, pending_file, name);
    CM_TRY(cm_checkpoint_open(reader, name, UINT64_MAX, &pending));
    const cm_status status = cm_replay_pending_read(replay_of(run), &pending);
    cm_source_close(&pending);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s", pending.path);
}

static cm_status load_own_replay(cm_run *run, cm_checkpoint_reader *reader) {
    const int rank = run->session->comm->rank;
    char name[NAME];
    cm_source state;
    cm_rank_file_name(rank, replay_file, name);
    CM_TRY(cm_checkpoint_open(reader, name, UINT64_MAX, &state));
    cm_status status = cm_replay_state_read(replay_of(run), &state);
    cm_source_close(&state);
    if (status != CM_OK) return cm_fail_in(status, "%s", state.path);
    CM_TRY(each_segment_file(reader, rank, false, load_own, run));
    cm_segment_files_sort(&run->segment_files);
    CM_TRY(cm_replay_load_end(replay_of(run)));
    CM_TRY(load_rolling(run, reader));
    return run->state.is_within ? load_pending(run, reader) : CM_OK;
}

/* One file of every rank that saved, each owned. */
typedef struct files {
    int count;
    cm_file_bytes *of; /* [count] by rank */
} files;

static void free_files(files *f) {
    for (int r = 0; f->of && r < f->count; r++) free(f->of[r].data);
    free(f->of);
}

static cm_status get_files(cm_checkpoint_reader *reader, int count, const char *name, uint64_t most, files *out) {
    char full[NAME];
    *out = (files){.count = count};
    CM_TRY(cm_alloc(&out->of, (size_t)count, sizeof *out->of, "the files of all ranks"));
    for (int r = 0; r < count; r++) {
        char *data = NULL;
        cm_rank_file_name(r, name, full);
        CM_TRY(cm_checkpoint_get(reader, full, most, &data, &out->of[r].size));
        out->of[r].data = data;
    }
    return CM_OK;
}

static cm_status load_dealt(void *context, int64_t rank, const cm_source *file) {
    return cm_replay_deal_segments(context, rank, file);
}

enum { NAMED = 8 }; /* damaged files that are named; of the others the number is said */

/* Which segment files can be read, where damaged ones are to be dropped. */
typedef struct survey {
    cm_replay_ranges whole; /* owned */
    int damaged;
} survey;

static cm_status look_at_file(const cm_run *run, cm_checkpoint_reader *reader, const char *name, int64_t rank,
                              survey *out) {
    cm_replay_range *range = &out->whole.of[out->whole.count];
    cm_source file;
    cm_status status = cm_checkpoint_open(reader, name, UINT64_MAX, &file);
    if (status == CM_OK) status = cm_replay_segments_range(&file, &range->first, &range->count);
    cm_source_close(&file);
    range->shard = rank;
    out->whole.count += status == CM_OK;
    if (status != CM_ERR_IO) return status;
    if (out->damaged++ < NAMED && cm_run_leads(run))
        cm_log(CM_WARNING, "%s; its episodes are left out", cm_error_message());
    return CM_OK;
}

static cm_status look_at_files(const cm_run *run, cm_checkpoint_reader *reader, survey *out) {
    const int count = cm_checkpoint_files(reader);
    *out = (survey){.damaged = 0};
    if (!run->drop_damaged) return CM_OK;
    CM_TRY(cm_alloc(&out->whole.of, (size_t)count + 1, sizeof *out->whole.of, "the segments of a checkpoint"));
    for (int i = 0; i < count; i++) {
        const char *name = cm_checkpoint_file(reader, i);
        uint64_t first;
        const int64_t rank = cm_segment_file_rank(name, &first);
        if (rank >= 0) CM_TRY(look_at_file(run, reader, name, rank, out));
    }
    if (out->damaged > NAMED && cm_run_leads(run))
        cm_log(CM_WARNING, "%d more segments are damaged; their episodes are left out", out->damaged - NAMED);
    return CM_OK;
}

static void say_losses(const cm_run *run, const cm_replay_losses *l) {
    if (l->lost_segments > 0 && cm_run_leads(run))
        cm_log(CM_WARNING,
               "the replay goes on without %lld of its %lld steps, in %lld of %lld episodes or parts of them",
               (long long)l->lost_steps, (long long)l->steps, (long long)l->lost_segments, (long long)l->segments);
}

static cm_status deal_replay(cm_run *run, cm_checkpoint_reader *reader, const survey *found) {
    const cm_comm *comm = run->session->comm;
    const cm_replay_ranges *whole = found->damaged > 0 ? &found->whole : NULL;
    cm_replay_counts counts;
    cm_replay_deal *deal = NULL;
    cm_replay_losses losses = {.segments = 0};
    files states;
    cm_replay_count(replay_of(run), &counts);
    const uint64_t most = (counts.bytes + counts.file_bytes) * (uint64_t)comm->size; /* of the whole run */
    cm_status status = get_files(reader, (int)run->saved_ranks, replay_file, most, &states);
    if (status == CM_OK) {
        status = cm_replay_deal_whole(replay_of(run), comm->rank, comm->size, states.of, states.count, whole, &losses,
                                      &deal);
        if (status != CM_OK) status = cm_fail_in(status, "%s: %s", run->directory.path, replay_file);
    }
    free_files(&states);
    if (status == CM_OK) status = each_segment_file(reader, -1, found->damaged > 0, load_dealt, deal);
    if (status == CM_OK) status = cm_replay_load_end(replay_of(run));
    if (status == CM_OK) say_losses(run, &losses);
    cm_replay_deal_destroy(deal);
    return status;
}

/* As it was, where as many ranks go on as have saved, and nothing is lost. */
static cm_status load_replay(cm_run *run, cm_checkpoint_reader *reader) {
    survey found;
    cm_status status = look_at_files(run, reader, &found);
    const bool is_same = run->saved_ranks == run->session->comm->size && found.damaged == 0;
    if (status == CM_OK) status = is_same ? load_own_replay(run, reader) : deal_replay(run, reader, &found);
    free(found.whole.of);
    return status;
}

static cm_status load_environments(cm_run *run, cm_checkpoint_reader *reader) {
    const uint64_t most = cm_actor_bytes(run->actor) * (uint64_t)run->session->comm->size; /* of all environments */
    files saved;
    cm_status status = get_files(reader, (int)run->saved_ranks, actor_file, most, &saved);
    if (status == CM_OK)
        status = cm_actor_load(run->actor, cm_run_options_of(run)->env.num_envs, saved.of, saved.count);
    free_files(&saved);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s: %s", run->directory.path, actor_file);
}

cm_status cm_run_data_load(void *context, cm_checkpoint_reader *reader) {
    cm_run *run = context;
    run->segment_files.count = 0;
    CM_TRY(load_replay(run, reader));
    return run->actor ? load_environments(run, reader) : CM_OK;
}
