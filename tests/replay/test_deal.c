/* What the replays of some ranks have saved goes on in those of any other number: every segment and every open episode
 * is there once, with its rows, its priorities and its age. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "replay/batch.h"
#include "replay/deal.h"
#include "support/bytes.h"
#include "support/main.h"

enum {
    ENVIRONMENTS = 12,
    MOST = 6, /* shards */
    STEPS = 5,
    ACTIONS = 3,
    PIECE = 9,
    ITERATIONS = 20,
    HEADER = 64,
    CUT = 8 /* the bit of a row's flags */
};

/* ---- a run of some shards ---- */

typedef struct shards {
    int count, environments; /* shards, environments of each */
    cm_replay *replay[MOST];
    int time; /* steps of each environment */
} shards;

typedef struct limits {
    int64_t steps, episodes;
    bool prioritized;
    uint64_t bytes; /* of each shard; 0: enough */
} limits;

static const limits variants[] = {{0, 0, true, 0}, {0, 0, false, 0}, {360, 0, true, 0}, {0, 48, true, 0}};

static void open_shards(shards *s, int count, const limits *limit) {
    *s = (shards){.count = count, .environments = ENVIRONMENTS / count};
    cm_replay_config config = {.observation_size = 3,
                               .actions = ACTIONS,
                               .environments = s->environments,
                               .bytes = limit->bytes > 0 ? limit->bytes : 1 << 20,
                               .max_steps = limit->steps / count,
                               .max_episodes = limit->episodes / count,
                               .segment_steps = PIECE,
                               .commit_steps = STEPS,
                               .sample_open = limit->episodes == 0,
                               .prioritized = limit->prioritized,
                               .alpha = 0.6,
                               .epsilon = 1e-6,
                               .targets = {.unroll = 2, .td_steps = 3, .discount = 0.97}};
    for (int i = 0; i < count; i++)
        ck_assert_msg(cm_replay_create(&config, &s->replay[i]) == CM_OK, "%s", cm_error_message());
}

static void close_shards(shards *s) {
    for (int i = 0; i < s->count; i++) cm_replay_destroy(s->replay[i]);
}

/* Whether the episode of an environment ends after step `time`. Without a limit on episodes there are longer ones than
 * a segment. */
static bool ends(const shards *s, int environment, int time) {
    cm_rng rng = cm_rng_init(cm_key_make(7, CM_RNG_TEST, (uint64_t)environment), (uint64_t)time);
    const bool whole = cm_replay_configuration(s->replay[0])->max_episodes > 0;
    return cm_rng_below(&rng, 9) == 0 || (whole && time % PIECE == environment % PIECE);
}

static void act(shards *s, cm_replay *replay, int row, int environment, int time) {
    const float observation[3] = {(float)environment, (float)time, 0.5f}, policy[ACTIONS] = {1, 2, 1};
    const cm_replay_step step = {.observation = observation,
                                 .policy = policy,
                                 .root_value = (float)time * 0.01f,
                                 .action = time % ACTIONS,
                                 .reward = (float)environment,
                                 .to_play = (uint8_t)(time % 2)};
    ck_assert_msg(cm_replay_append(replay, row, &step) == CM_OK, "%s", cm_error_message());
    if (!ends(s, environment, time)) return;
    const float last[3] = {(float)environment, (float)(time + 1), 0.25f};
    const cm_replay_end end = {.observation = last, .terminated = time % 2 == 0, .root_value = 0.25f};
    ck_assert_msg(cm_replay_finish(replay, row, &end) == CM_OK, "%s", cm_error_message());
}

/* Priorities say whose they are. */
static float priority_of(float environment, float time) { return 1000.0f * environment + time + 1.0f; }

static void learn(cm_replay *replay, int time) {
    const cm_batch_config config = {.rows = 16, .seed = 5};
    cm_replay_counts counts;
    cm_batch *b;
    cm_replay_count(replay, &counts);
    if (counts.positions == 0) return;
    ck_assert_int_eq(cm_batch_create(replay, &config, &b), CM_OK);
    ck_assert_msg(cm_replay_sample(replay, (uint64_t)time, 0.5, b) == CM_OK, "%s", cm_error_message());
    float priority[16];
    for (int i = 0; i < 16; i++) priority[i] = priority_of(b->observation[3 * i], b->observation[3 * i + 1]);
    ck_assert_int_eq(cm_replay_update_priorities(replay, 16, b->slot, b->index, priority), CM_OK);
    cm_batch_destroy(b);
}

static void iterate(shards *s) {
    for (int i = 0; i < s->count; i++) {
        learn(s->replay[i], s->time);
        for (int e = 0; e < s->environments; e++) {
            for (int t = 0; t < STEPS; t++) act(s, s->replay[i], e, i * s->environments + e, s->time + t);
        }
        ck_assert_msg(cm_replay_commit(s->replay[i]) == CM_OK, "%s", cm_error_message());
    }
    s->time += STEPS;
}

/* ---- what shards hold, read from what they save (segment.c, state.c) ---- */

typedef struct record {
    int environment, time, steps, end; /* of the first row; end: flags of the last, -1: an open episode */
    double priority;                   /* sum over the steps */
    int trained;                       /* steps whose priority is from training */
} record;

typedef struct records {
    int count, episodes;
    record of[4096];
} records;

typedef struct saved {
    cm_bytes state[MOST], file[MOST][2];
} saved;

static void save(const shards *s, int compression, saved *out) {
    memset(out, 0, sizeof *out);
    for (int i = 0; i < s->count; i++) {
        cm_replay_counts counts;
        cm_replay_count(s->replay[i], &counts);
        uint64_t half = (uint64_t)counts.segments / 2, rest = (uint64_t)counts.segments - half;
        const cm_sink older = cm_bytes_sink(&out->file[i][0]), newer = cm_bytes_sink(&out->file[i][1]);
        const cm_sink state = cm_bytes_sink(&out->state[i]);
        ck_assert_int_eq(cm_replay_segments_write(s->replay[i], counts.first_segment, half, compression, &older),
                         CM_OK);
        ck_assert_int_eq(cm_replay_segments_write(s->replay[i], counts.first_segment + half, rest, compression, &newer),
                         CM_OK);
        ck_assert_int_eq(cm_replay_state_write(s->replay[i], compression, &state), CM_OK);
    }
}

static void free_saved(saved *s) {
    for (int i = 0; i < MOST; i++) {
        cm_bytes_free(&s->state[i]);
        cm_bytes_free(&s->file[i][0]);
        cm_bytes_free(&s->file[i][1]);
    }
}

static void get(const unsigned char **at, void *out, size_t size) {
    memcpy(out, *at, size);
    *at += size;
}

/* Reads `rows` rows and checks that they are successive ones of an environment, each with the index of its time. */
static record read_rows(const shards *s, const unsigned char **at, int rows, bool has_end) {
    record r = {.steps = rows - has_end, .end = -1};
    for (int i = 0; i < rows; i++) {
        float observation[3];
        get(at, observation, sizeof observation);
        if (i == 0) r.environment = (int)observation[0], r.time = (int)observation[1];
        ck_assert_int_eq((int)observation[0], r.environment);
        ck_assert_int_eq((int)observation[1], r.time + i);
    }
    *at += (size_t)rows * (ACTIONS * sizeof(float) + 1);
    for (int i = 0; i < rows; i++) {
        float reward, value;
        int32_t action;
        uint32_t index;
        uint8_t flags[2];
        get(at, &reward, 4), get(at, &value, 4), get(at, &action, 4), get(at, &index, 4), get(at, flags, 2);
        const bool is_end = has_end && i == rows - 1;
        if (!is_end) ck_assert_int_eq((int)reward, r.environment);
        if (!is_end) ck_assert_int_eq(action, (r.time + i) % ACTIONS);
        ck_assert_uint_eq(index, (uint32_t)((r.time + i) * s->environments + r.environment % s->environments));
        if (is_end) r.end = flags[1] & 14;
    }
    return r;
}

static void read_shard(const shards *s, const saved *from, int shard, records *out) {
    const unsigned char *at = from->state[shard].data + HEADER, *priority = NULL, *trained = NULL;
    const bool prioritized = cm_replay_configuration(s->replay[0])->prioritized;
    int32_t place[3];
    uint64_t counters[3];
    get(&at, place, sizeof place), get(&at, counters, sizeof counters);
    at += (counters[1] - counters[0]) * sizeof(int32_t);
    if (prioritized) priority = at, trained = at + (size_t)place[2] * sizeof(float), at = trained + place[2];
    for (int k = 0; k < 2; k++) {
        const unsigned char *in = from->file[shard][k].data + HEADER;
        const unsigned char *end = from->file[shard][k].data + from->file[shard][k].size;
        while (in < end) {
            int32_t steps;
            get(&in, &steps, sizeof steps);
            record r = read_rows(s, &in, steps + 1, true);
            for (int t = 0; prioritized && t <= steps; t++) {
                float p;
                uint8_t flag;
                get(&priority, &p, sizeof p), get(&trained, &flag, 1);
                if (t == steps) break;
                if (flag) ck_assert_float_eq(p, priority_of((float)r.environment, (float)(r.time + t)));
                r.priority += (double)p, r.trained += flag != 0;
            }
            out->episodes += r.end != CUT;
            out->of[out->count++] = r;
        }
    }
    for (int e = 0; e < s->environments; e++) {
        uint64_t steps;
        int32_t sizes[2];
        get(&at, &steps, sizeof steps), get(&at, sizes, sizeof sizes);
        ck_assert_uint_eq(steps, (uint64_t)s->time);
        if (sizes[0] == 0) continue;
        record r = read_rows(s, &at, sizes[0], false);
        ck_assert_int_eq(r.environment, shard * s->environments + e);
        for (int t = 0; prioritized && t < sizes[1]; t++) {
            float p;
            get(&at, &p, sizeof p);
            r.priority += (double)p;
        }
        r.trained = sizes[1];
        out->of[out->count++] = r;
    }
    ck_assert_ptr_eq(at, from->state[shard].data + from->state[shard].size);
}

static int by_place(const void *a, const void *b) {
    const record *x = a, *y = b;
    return x->environment != y->environment ? x->environment - y->environment : x->time - y->time;
}

static void read_all(const shards *s, records *out) {
    saved files;
    save(s, CM_SEGMENT_PLAIN, &files);
    out->count = out->episodes = 0;
    for (int i = 0; i < s->count; i++) read_shard(s, &files, i, out);
    qsort(out->of, (size_t)out->count, sizeof *out->of, by_place);
    free_saved(&files);
}

/* ---- dealing ---- */

static cm_status deal_one(const saved *files, int count, cm_replay *replay, int shard, int parts) {
    cm_replay_deal *deal;
    cm_file_bytes states[MOST] = {{0}};
    for (int i = 0; i < count; i++) states[i] = (cm_file_bytes){files->state[i].data, files->state[i].size};
    CM_TRY(cm_replay_deal_create(replay, shard, parts, states, count, &deal));
    cm_status status = CM_OK;
    for (int i = 2 * count - 1; i >= 0 && status == CM_OK; i--) {
        const cm_source file = cm_bytes_source(&files->file[i / 2][i % 2]);
        status = cm_replay_deal_segments(deal, i / 2, &file);
    }
    if (status == CM_OK) status = cm_replay_load_end(replay);
    cm_replay_deal_destroy(deal);
    return status;
}

static void deal(const shards *from, shards *to, const limits *limit, int count) {
    saved files;
    open_shards(to, count, limit);
    to->time = from->time;
    save(from, CM_SEGMENT_ZSTD, &files);
    for (int i = 0; i < count; i++) {
        ck_assert_msg(deal_one(&files, from->count, to->replay[i], i, count) == CM_OK, "%s", cm_error_message());
    }
    free_saved(&files);
}

static int64_t positions(const shards *s) {
    int64_t sum = 0;
    for (int i = 0; i < s->count; i++) {
        cm_replay_counts counts;
        cm_replay_count(s->replay[i], &counts);
        sum += counts.positions;
    }
    return sum;
}

/* No shard has more than its share and a segment or, with a limit on episodes, one. */
static void expect_balance(const shards *s, const limits *limit) {
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < s->count; i++) {
        cm_replay_counts counts;
        cm_replay_count(s->replay[i], &counts);
        int64_t mine = limit->episodes > 0 ? counts.segments : counts.rows;
        least = mine < least ? mine : least;
        most = mine > most ? mine : most;
    }
    ck_assert_int_le(most - least, limit->episodes > 0 ? 1 : PIECE + 1);
}

static void expect_equal(const records *a, const records *b) {
    ck_assert_int_eq(a->count, b->count);
    ck_assert_int_eq(a->episodes, b->episodes);
    for (int i = 0; i < a->count; i++) {
        const record *x = &a->of[i], *y = &b->of[i];
        ck_assert_int_eq(by_place(x, y), 0);
        ck_assert_int_eq(x->steps, y->steps);
        ck_assert_int_eq(x->end, y->end);
        ck_assert_double_eq(x->priority, y->priority);
        ck_assert_int_eq(x->trained, y->trained);
    }
}

START_TEST(every_segment_and_open_episode_is_in_one_shard_of_any_number) {
    static const int counts[] = {1, 2, 3, 4, 6};
    static records before, after;
    const limits *limit = &variants[_i];
    for (int n = 0; n < 5; n++) {
        shards from;
        open_shards(&from, counts[n], limit);
        for (int i = 0; i < ITERATIONS; i++) iterate(&from);
        read_all(&from, &before);
        ck_assert_int_gt(before.count, 40);
        for (int m = 0; m < 5; m++) {
            shards to;
            deal(&from, &to, limit, counts[m]);
            read_all(&to, &after);
            if (limit->steps == 0) {
                expect_equal(&before, &after);
                ck_assert_int_eq(positions(&from), positions(&to));
            }
            ck_assert_int_le(llabs(positions(&from) - positions(&to)), ENVIRONMENTS);
            if (m != n && limit->steps == 0) expect_balance(&to, limit);
            for (int i = 0; i < 30; i++) iterate(&to);
            read_all(&to, &after);
            close_shards(&to);
        }
        close_shards(&from);
    }
}
END_TEST

START_TEST(dealing_the_same_twice_gives_the_same_batches) {
    shards from, to[2];
    open_shards(&from, 4, &variants[0]);
    for (int i = 0; i < ITERATIONS; i++) iterate(&from);
    for (int k = 0; k < 2; k++) deal(&from, &to[k], &variants[0], 3);
    for (int i = 0; i < 3; i++) {
        const cm_batch_config config = {.rows = 64, .seed = 5};
        cm_batch *batch[2];
        for (int k = 0; k < 2; k++) {
            ck_assert_int_eq(cm_batch_create(to[k].replay[i], &config, &batch[k]), CM_OK);
            ck_assert_int_eq(cm_replay_sample(to[k].replay[i], 9, 0.5, batch[k]), CM_OK);
        }
        ck_assert_mem_eq(batch[0]->observation, batch[1]->observation, 64 * 3 * sizeof(float));
        ck_assert_mem_eq(batch[0]->weights, batch[1]->weights, 64 * sizeof(float));
        cm_batch_destroy(batch[0]);
        cm_batch_destroy(batch[1]);
    }
    close_shards(&from);
    for (int k = 0; k < 2; k++) close_shards(&to[k]);
}
END_TEST

/* The oldest segments of what a shard is given make way where its limits are smaller. */
START_TEST(a_smaller_memory_keeps_the_newest_segments) {
    static records before, after;
    shards from, to;
    const limits small = {0, 24, true, 0}, few_bytes = {0, 0, true, 9000};
    cm_replay_counts counts;
    open_shards(&from, 2, &variants[3]);
    for (int i = 0; i < ITERATIONS; i++) iterate(&from);
    read_all(&from, &before);
    deal(&from, &to, &small, 4);
    read_all(&to, &after);
    ck_assert_int_eq(before.episodes, 48);
    ck_assert_int_eq(after.episodes, 24);
    for (int i = 0; i < after.count; i++) ck_assert_int_gt(after.of[i].time, from.time - 4 * PIECE);
    close_shards(&to);
    deal(&from, &to, &few_bytes, 4);
    read_all(&to, &after);
    ck_assert_int_gt(after.episodes, 4);
    ck_assert_int_lt(after.episodes, before.episodes);
    for (int i = 0; i < after.count; i++) ck_assert_int_gt(after.of[i].time, from.time - 4 * PIECE);
    cm_replay_count(to.replay[0], &counts);
    ck_assert_int_le(counts.rows, counts.ring_rows);
    ck_assert_int_gt(counts.rows, counts.ring_rows - PIECE - 1);
    close_shards(&to);
    close_shards(&from);
}
END_TEST

START_TEST(what_is_no_share_or_damaged_is_refused_and_leaves_an_empty_replay) {
    shards from, to;
    saved files;
    cm_replay_counts counts;
    open_shards(&from, 2, &variants[0]);
    open_shards(&to, 3, &variants[0]);
    for (int i = 0; i < ITERATIONS; i++) iterate(&from);
    save(&from, CM_SEGMENT_ZSTD, &files);
    ck_assert_int_eq(deal_one(&files, 1, to.replay[0], 0, 3), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "are no share of the 6 that were saved"));
    ck_assert_int_eq(deal_one(&files, 2, to.replay[0], 0, 2), CM_ERR_INPUT);
    ck_assert_int_eq(deal_one(&files, 2, to.replay[0], 3, 3), CM_ERR_INPUT);
    files.file[1][0].data[HEADER + 9] ^= 1;
    ck_assert_int_eq(deal_one(&files, 2, to.replay[0], 0, 3), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "damaged"));
    files.file[1][0].data[HEADER + 9] ^= 1;
    files.state[1].data[HEADER + 9] ^= 1;
    ck_assert_int_eq(deal_one(&files, 2, to.replay[0], 0, 3), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "replay of rank 1: replay state: damaged"));
    files.state[1].data[HEADER + 9] ^= 1;
    cm_replay_count(to.replay[0], &counts);
    ck_assert_int_eq(counts.segments, 0);
    ck_assert_int_eq(deal_one(&files, 2, to.replay[0], 0, 3), CM_OK);
    free_saved(&files);
    close_shards(&from);
    close_shards(&to);
}
END_TEST

/* Takes what is in a file out of the records. */
static void forget_file(const shards *s, const cm_bytes *file, records *all) {
    const unsigned char *in = file->data + HEADER, *end = file->data + file->size;
    while (in < end) {
        int32_t steps;
        get(&in, &steps, sizeof steps);
        const record lost = read_rows(s, &in, steps + 1, true);
        int at = 0;
        while (by_place(&all->of[at], &lost) != 0) ck_assert_int_lt(++at, all->count);
        all->episodes -= lost.end != CUT;
        memmove(&all->of[at], &all->of[at + 1], (size_t)(--all->count - at) * sizeof lost);
    }
}

/* Without one file of each of two shards, an old one and a new one, all others are there as they were. */
START_TEST(segments_of_lost_segments_are_left_out) {
    static records before, after;
    static const int lost[] = {0, 1, -1}; /* which of each shard */
    const int counts[] = {3, 1, 2};
    for (int c = 0; c < 3; c++) {
        shards from, to;
        saved files;
        cm_replay_range ranges[2 * MOST];
        cm_replay_ranges whole = {ranges, 0};
        cm_replay_losses losses = {.segments = 0};
        cm_file_bytes states[3];
        int64_t lost_segments = 0;
        open_shards(&from, 3, &variants[_i]);
        for (int i = 0; i < ITERATIONS; i++) iterate(&from);
        read_all(&from, &before);
        save(&from, CM_SEGMENT_PLAIN, &files);
        for (int r = 0; r < 3; r++) {
            states[r] = (cm_file_bytes){files.state[r].data, files.state[r].size};
            for (int k = 0; k < 2; k++) {
                const cm_bytes *file = &files.file[r][k];
                cm_replay_range range = {.shard = r};
                const cm_source source = cm_bytes_source(file);
                ck_assert_int_eq(cm_replay_segments_range(&source, &range.first, &range.count), CM_OK);
                if (k != lost[r]) ranges[whole.count++] = range;
                if (k != lost[r]) continue;
                lost_segments += (int64_t)range.count;
                forget_file(&from, file, &before);
            }
        }
        open_shards(&to, counts[c], &variants[_i]);
        to.time = from.time;
        for (int m = 0; m < counts[c]; m++) {
            cm_replay_deal *deal;
            ck_assert_msg(cm_replay_deal_whole(to.replay[m], m, counts[c], states, 3, &whole, &losses, &deal) == CM_OK,
                          "%s", cm_error_message());
            for (int i = 0; i < 6; i++) {
                const cm_source file = cm_bytes_source(&files.file[i / 2][i % 2]);
                if (i % 2 == lost[i / 2]) continue;
                ck_assert_int_eq(cm_replay_deal_segments(deal, i / 2, &file), CM_OK);
            }
            ck_assert_msg(cm_replay_load_end(to.replay[m]) == CM_OK, "%s", cm_error_message());
            cm_replay_deal_destroy(deal);
            ck_assert_int_eq(losses.lost_segments, lost_segments);
            ck_assert_int_gt(losses.lost_steps, 0);
            ck_assert_int_gt(losses.steps, losses.lost_steps);
        }
        read_all(&to, &after);
        expect_equal(&before, &after);
        for (int i = 0; i < 30; i++) iterate(&to);
        free_saved(&files);
        close_shards(&from);
        close_shards(&to);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("deal");
    TCase *tc = tcase_create("deal");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_segment_and_open_episode_is_in_one_shard_of_any_number, 0, 4);
    tcase_add_test(tc, dealing_the_same_twice_gives_the_same_batches);
    tcase_add_test(tc, a_smaller_memory_keeps_the_newest_segments);
    tcase_add_loop_test(tc, segments_of_lost_segments_are_left_out, 0, 2);
    tcase_add_test(tc, what_is_no_share_or_damaged_is_refused_and_leaves_an_empty_replay);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
