#include "replay/deal.h"

#include <stdlib.h>

#include "replay/saved.h"

/* What one shard has saved. */
typedef struct source {
    cm_bytes space; /* its state, unpacked */
    cm_cursor in;   /* after the steps of the segments; in `space`, like the next one's steps */
    cm_saved_ring ring;
    int64_t first, environments; /* of its open episodes */
    uint64_t collected;          /* steps of all of them */
    int64_t segments;
    int32_t *slot; /* [segments] the first row of each here, -1: it is not here */
} source;

/* A segment on its way. */
typedef struct item {
    int64_t newer;   /* steps of newer segments of its source */
    int64_t segment; /* in its source, from 0 */
    int32_t source, steps;
    bool has_lead; /* frames come before its first row */
} item;

struct cm_replay_deal {
    cm_replay *replay; /* borrowed */
    int64_t first;     /* environment of open episode 0 */
    int64_t shards;    /* M */
    int count;         /* N */
    source *sources;   /* [count], owned with their slots */

    const cm_replay_ranges *whole; /* borrowed while it is created; NULL: nothing is lost */
    cm_replay_losses losses;
};

/* ---- sources ---- */

/* Passes over the priorities. */
static cm_status skip_priorities(const cm_replay *replay, const source *s, cm_cursor *in) {
    return cm_cursor_skip(in, replay->config.prioritized ? (size_t)s->ring.used * (sizeof(float) + 1) : 0);
}

static cm_status open_source(const cm_replay_deal *deal, const cm_file_bytes *state, int64_t first, source *s) {
    const cm_replay *replay = deal->replay;
    cm_source file;
    uint64_t environments, steps;
    cm_source_memory(&file, state->data, state->size, "");
    CM_TRY(cm_saved_open_state(replay, &file, (uint64_t)deal->shards, &s->space, &s->in, &environments, &s->ring));
    if (environments < 1 || environments > 65536)
        return cm_fail(CM_ERR_INPUT, "%llu environments", (unsigned long long)environments);
    s->first = first;
    s->environments = (int64_t)environments;
    s->segments = (int64_t)(s->ring.next - s->ring.first);
    CM_TRY(cm_alloc(&s->slot, (size_t)s->segments + 1, sizeof *s->slot, "dealing the replay"));
    for (int64_t i = 0; i < s->segments; i++) s->slot[i] = -1;
    cm_cursor in = s->in;
    CM_TRY(skip_priorities(replay, s, &in));
    for (int64_t e = 0; e < s->environments; e++) {
        if (cm_saved_skip_open(replay, &in, &steps) != CM_OK)
            return cm_fail_in(CM_ERR_INPUT, "environment %lld", (long long)e);
        s->collected += steps;
    }
    return in.left == 0 ? CM_OK : cm_fail(CM_ERR_INPUT, "%llu bytes too many", (unsigned long long)in.left);
}

static cm_status open_sources(cm_replay_deal *deal, const cm_file_bytes *states) {
    const int64_t own = deal->replay->config.environments;
    const uint64_t most =
        sizeof(float) * (uint64_t)deal->shards * (deal->replay->plan.bytes + deal->replay->plan.file_bytes);
    uint64_t bytes = 0;
    int64_t all = 0;
    for (int i = 0; i < deal->count; i++) {
        cm_status status = open_source(deal, &states[i], all, &deal->sources[i]);
        if (status != CM_OK) return cm_fail_in(status, "replay of rank %d", i);
        all += deal->sources[i].environments;
        bytes += deal->sources[i].space.size;
        if (bytes > most)
            return cm_fail(CM_ERR_INPUT, "replay: the states of ranks 0 to %d unpack to more than the whole replay", i);
    }
    if (all == own * deal->shards && deal->first >= 0 && deal->first < all) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "replay: %lld environments from number %lld on are no share of the %lld that were saved",
                   (long long)own, (long long)deal->first, (long long)all);
}

/* ---- shares ---- */

static int by_age(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->newer != y->newer) return x->newer > y->newer ? -1 : 1;
    if (x->source != y->source) return x->source - y->source;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

static bool is_lost(const cm_replay_deal *deal, const item *it) {
    const uint64_t segment = deal->sources[it->source].ring.first + (uint64_t)it->segment;
    bool is_there = !deal->whole;
    for (int i = 0; deal->whole && i < deal->whole->count && !is_there; i++) {
        const cm_replay_range *w = &deal->whole->of[i];
        is_there = w->shard == it->source && segment >= w->first && segment - w->first < w->count;
    }
    return !is_there;
}

/* Counts items[n], and keeps those that are not lost; returns how many. */
static int64_t drop_lost(cm_replay_deal *deal, item *items, int64_t n) {
    cm_replay_losses *l = &deal->losses;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool lost = is_lost(deal, &items[i]);
        l->segments++, l->steps += items[i].steps;
        l->lost_segments += lost, l->lost_steps += lost ? items[i].steps : 0;
        if (!lost) items[kept++] = items[i];
    }
    return kept;
}

/* All segments, oldest first. */
static cm_status list_items(cm_replay_deal *deal, item **out, int64_t *count) {
    int64_t n = 0;
    for (int i = 0; i < deal->count; i++) n += deal->sources[i].segments;
    CM_TRY(cm_alloc(out, (size_t)n + 1, sizeof **out, "dealing the replay"));
    item *at = *out;
    for (int i = 0; i < deal->count; i++) {
        cm_cursor steps = deal->sources[i].ring.steps;
        const int64_t segments = deal->sources[i].segments;
        int64_t newer = 0;
        for (int64_t p = 0; p < segments; p++) {
            at[p] = (item){.segment = p, .source = i};
            CM_TRY(cm_saved_get_steps(deal->replay, &steps, &at[p].steps, &at[p].has_lead));
        }
        for (int64_t p = segments - 1; p >= 0; p--) at[p].newer = newer, newer += at[p].steps;
        at += segments;
    }
    *count = drop_lost(deal, *out, n);
    qsort(*out, (size_t)*count, sizeof **out, by_age);
    return CM_OK;
}

/* Keeps of items[count] those that are this shard's; how many there are, and their rows. */
static cm_status choose(const cm_replay_deal *deal, item *items, int64_t *count, int64_t *rows) {
    const bool by_count = deal->replay->config.max_episodes > 0;
    const int64_t me = deal->first / deal->replay->config.environments;
    int64_t *got = NULL, kept = 0;
    CM_TRY(cm_alloc(&got, (size_t)deal->shards, sizeof *got, "dealing the replay"));
    *rows = 0;
    for (int64_t i = 0; i < *count; i++) {
        int64_t least = 0;
        for (int64_t m = 1; m < deal->shards; m++) least = got[m] < got[least] ? m : least;
        got[least] += by_count ? 1 : items[i].steps + 1;
        if (least != me) continue;
        *rows += items[i].steps + 1;
        items[kept++] = items[i];
    }
    *count = kept;
    free(got);
    return CM_OK;
}

/* Gives each of the segments its place in the ring. */
static void lay_out(cm_replay_deal *deal, const item *items, int64_t count, int64_t rows) {
    cm_replay *replay = deal->replay;
    int64_t dropped = 0;
    for (; rows > replay->ring; dropped++) rows -= items[dropped].steps + 1;
    replay->tail = replay->used = 0;
    for (int64_t i = dropped; i < count; i++) {
        deal->sources[items[i].source].slot[items[i].segment] = replay->used;
        cm_saved_lay_out(replay, items[i].steps, items[i].has_lead);
    }
    replay->first_segment = replay->load_segment = 0;
    replay->next_segment = (uint64_t)(count - dropped);
    replay->load_slot = 0;
}

static cm_status deal_segments(cm_replay_deal *deal) {
    item *items = NULL;
    int64_t count = 0, rows = 0;
    cm_status status = list_items(deal, &items, &count);
    if (status == CM_OK) status = choose(deal, items, &count, &rows);
    if (status == CM_OK) lay_out(deal, items, count, rows);
    free(items);
    return status;
}

/* ---- what the states hold ---- */

/* Priorities of the segments that are here; `in` stands before those of the source. */
static cm_status get_priorities(cm_replay *replay, const source *s, cm_cursor *in) {
    cm_cursor steps = s->ring.steps, trained = *in;
    CM_TRY(cm_cursor_skip(&trained, (size_t)s->ring.used * sizeof(float)));
    for (int64_t p = 0; p < s->segments; p++) {
        int32_t rows, slot = s->slot[p];
        bool has_lead;
        CM_TRY(cm_saved_get_steps(replay, &steps, &rows, &has_lead));
        rows++;
        if (slot < 0) {
            CM_TRY(cm_cursor_skip(in, (size_t)rows * sizeof(float)));
            CM_TRY(cm_cursor_skip(&trained, (size_t)rows));
            continue;
        }
        CM_TRY(cm_saved_get_field(replay, slot, rows, FIELD_PRIORITY, in));
        CM_TRY(cm_saved_check_priorities(replay, slot, rows));
        for (int32_t t = 0; t < rows; t++) {
            uint8_t flag = 0;
            CM_TRY(cm_cursor_get(&trained, &flag, 1, 1));
            replay->row[slot + t].flags |= flag & FLAG_TRAINED;
        }
    }
    return CM_OK;
}

/* An index counts the steps of a shard's environments: the one that a row of the source has among those of this shard.
 */
static uint32_t index_here(const cm_replay_deal *deal, const source *s, uint32_t index) {
    const uint64_t own = (uint64_t)deal->replay->config.environments, theirs = (uint64_t)s->environments;
    const int32_t age = (int32_t)((uint32_t)s->collected - index);
    const uint64_t whole = s->collected - (uint64_t)(int64_t)age;
    const uint64_t environment = (uint64_t)s->first + whole % theirs;
    return (uint32_t)(whole / theirs * own + environment % own);
}

static void renumber(cm_replay_deal *deal, const source *s, int32_t slot, int32_t rows) {
    for (int32_t t = 0; t < rows; t++) {
        cm_replay_row *row = &deal->replay->row[slot + t];
        row->index = index_here(deal, s, row->index);
    }
}

static cm_status get_open_episodes(cm_replay_deal *deal, const source *s, cm_cursor *in) {
    cm_replay *replay = deal->replay;
    uint64_t steps;
    for (int64_t e = 0; e < s->environments; e++) {
        const int64_t environment = s->first + e - deal->first;
        if (environment < 0 || environment >= replay->config.environments) {
            CM_TRY(cm_saved_skip_open(replay, in, &steps));
            continue;
        }
        CM_TRY(cm_saved_get_open(replay, (int)environment, in));
        renumber(deal, s, cm_open_slot(replay, (int)environment, 0), replay->open[environment].rows);
    }
    return CM_OK;
}

static cm_status fill(cm_replay_deal *deal, const cm_file_bytes *states) {
    cm_replay *replay = deal->replay;
    replay->late_updates = 0;
    CM_TRY(open_sources(deal, states));
    CM_TRY(deal_segments(deal));
    cm_frames_make_room(replay, 0);
    for (int i = 0; i < deal->count; i++) {
        source *s = &deal->sources[i];
        cm_cursor in = s->in, open = s->in;
        CM_TRY(skip_priorities(replay, s, &open));
        if (replay->config.prioritized) CM_TRY(get_priorities(replay, s, &in));
        CM_TRY(get_open_episodes(deal, s, &open));
        if (deal->first == 0) replay->late_updates += s->ring.late;
    }
    return CM_OK;
}

/* ---- segments ---- */

typedef struct taking {
    cm_replay_deal *deal;
    const source *source;
} taking;

static cm_status read_segment(void *context, uint64_t segment, int32_t steps, cm_cursor *in) {
    const taking *t = context;
    const source *s = t->source;
    cm_replay *replay = t->deal->replay;
    const bool is_there = segment >= s->ring.first && segment < s->ring.next;
    const int32_t slot = is_there ? s->slot[segment - s->ring.first] : -1;
    if (slot < 0 || replay->row[slot].left == 0) return cm_saved_skip_rows(replay, steps + 1, in);
    if (replay->row[slot].left != steps)
        return cm_fail(CM_ERR_INPUT, "%d steps, the state says %d", steps, replay->row[slot].left);
    CM_TRY(cm_saved_get_segment(replay, slot, steps, in));
    renumber(t->deal, s, slot, steps + 1);
    return CM_OK;
}

cm_status cm_replay_deal_segments(cm_replay_deal *deal, int64_t shard, const cm_source *file) {
    if (!deal->replay->loading) return cm_fail(CM_ERR_STATE, "replay: segments are dealt outside of loading");
    if (shard < 0 || shard >= deal->count)
        return cm_fail(CM_ERR_INPUT, "replay: segments of rank %lld of %d", (long long)shard, deal->count);
    taking t = {deal, &deal->sources[shard]};
    cm_status status = cm_saved_each_segment(deal->replay, file, read_segment, &t);
    if (status != CM_OK) cm_saved_abandon(deal->replay);
    return status;
}

/* ---- life ---- */

cm_status cm_replay_deal_create(cm_replay *replay, int shard, int shards, const cm_file_bytes *states, int count,
                                cm_replay_deal **out) {
    cm_replay_losses none;
    return cm_replay_deal_whole(replay, shard, shards, states, count, NULL, &none, out);
}

cm_status cm_replay_deal_whole(cm_replay *replay, int shard, int shards, const cm_file_bytes *states, int count,
                               const cm_replay_ranges *whole, cm_replay_losses *losses, cm_replay_deal **out) {
    cm_replay_deal *deal = NULL;
    *out = NULL;
    CM_TRY(cm_replay_claim(replay, "loading"));
    CM_TRY(cm_alloc(&deal, 1, sizeof *deal, "dealing the replay"));
    const int64_t first = (int64_t)shard * replay->config.environments;
    *deal = (cm_replay_deal){.replay = replay, .first = first, .shards = shards, .count = count, .whole = whole};
    cm_replay_empty(replay);
    replay->loading = true;
    cm_status status = cm_alloc(&deal->sources, (size_t)count, sizeof *deal->sources, "dealing the replay");
    if (status == CM_OK) status = fill(deal, states);
    for (int i = 0; deal->sources && i < count; i++) cm_bytes_free(&deal->sources[i].space);
    deal->whole = NULL;
    *losses = deal->losses;
    if (status == CM_OK) {
        *out = deal;
        return CM_OK;
    }
    cm_saved_abandon(replay);
    cm_replay_deal_destroy(deal);
    return status;
}

void cm_replay_deal_destroy(cm_replay_deal *deal) {
    if (!deal) return;
    for (int i = 0; deal->sources && i < deal->count; i++) free(deal->sources[i].slot);
    free(deal->sources);
    free(deal);
}
