#include "agent/rolling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/trace.h"

enum { UNSEARCHED = -1, EMPTY = -1, RANK_BITS = 40 };
static const uint64_t magic = UINT64_C(0x314c4c4f524d4323); /* "#CMROLL1" */
static const int64_t keys_end = INT64_C(1) << 33;

/* What was found of a position, but for its policy. */
typedef struct entry {
    int64_t key, copy; /* copy UNSEARCHED: nothing yet */
    float value, network_value;
    bool is_used, is_kept, is_picked;
} entry;

struct cm_rolling {
    cm_rolling_config config;
    cm_searcher *searcher; /* owned */
    cm_arena arena;
    int entries;                  /* P */
    int32_t capacity;             /* positions */
    uint32_t mask;                /* size of `table` - 1, a power of two - 1 */
    entry *entry;                 /* [capacity] */
    float *policy;                /* [capacity, P] */
    int32_t *table;               /* [mask + 1] of entries by their keys, EMPTY */
    int32_t next_free;            /* no entry before it is free */
    cm_replay_position *position; /* [capacity] of the last commit */
    int32_t count;                /* of them */
    int32_t *picked, *place;      /* [searcher.most] entries to be searched, and which positions they are of */
    int64_t copy;                 /* of the searches going on */
    float *scratch;               /* [batches, P] */
};

/* ---- memory ---- */

static void alloc_all(cm_rolling *r) {
    const size_t n = (size_t)r->capacity, width = (size_t)r->entries, most = (size_t)r->config.searcher.most;
    r->entry = cm_arena_alloc(&r->arena, n * sizeof(entry));
    r->policy = cm_arena_alloc(&r->arena, n * width * sizeof(float));
    r->table = cm_arena_alloc(&r->arena, ((size_t)r->mask + 1) * sizeof(int32_t));
    r->position = cm_arena_alloc(&r->arena, n * sizeof(cm_replay_position));
    r->picked = cm_arena_alloc(&r->arena, most * sizeof(int32_t));
    r->place = cm_arena_alloc(&r->arena, most * sizeof(int32_t));
    r->scratch = cm_arena_alloc(&r->arena, (size_t)r->config.batches * width * sizeof(float));
}

static void forget(cm_rolling *r) {
    for (int32_t i = 0; i < r->capacity; i++) r->entry[i].is_used = false;
    memset(r->table, 0xff, ((size_t)r->mask + 1) * sizeof(int32_t));
    r->next_free = 0;
}

static cm_status open_rolling(cm_rolling *r) {
    CM_TRY(cm_searcher_create(&r->config.searcher, &r->searcher));
    r->mask = 1;
    while (r->mask < 2 * (uint32_t)r->capacity) r->mask = 2 * r->mask + 1;
    r->arena = (cm_arena){.base = NULL, .capacity = SIZE_MAX, .used = 0};
    alloc_all(r);
    CM_TRY(cm_arena_create(&r->arena, r->arena.used, "reanalysis of the memory"));
    alloc_all(r);
    forget(r);
    return CM_OK;
}

cm_status cm_rolling_create(const cm_rolling_config *config, cm_rolling **out) {
    cm_rolling *r = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&r, 1, sizeof *r, "reanalysis of the memory"));
    r->config = *config;
    r->entries = cm_policy_size(cm_network_policy(cm_agent_get_config(config->searcher.agent)->network));
    r->capacity = cm_replay_slots(config->replay);
    const cm_status status = open_rolling(r);
    if (status == CM_OK) {
        *out = r;
    } else {
        cm_rolling_destroy(r);
    }
    return status;
}

void cm_rolling_destroy(cm_rolling *r) {
    if (!r) return;
    cm_searcher_destroy(r->searcher);
    cm_arena_destroy(&r->arena);
    free(r);
}

size_t cm_rolling_memory(const cm_rolling *r) { return r ? r->arena.capacity + cm_searcher_memory(r->searcher) : 0; }

/* ---- entries by their keys ---- */

/* Where in the table the key stands, or would. */
static uint32_t place_of(const cm_rolling *r, int64_t key) {
    uint32_t at = (uint32_t)(((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & r->mask;
    while (r->table[at] != EMPTY && r->entry[r->table[at]].key != key) at = (at + 1) & r->mask;
    return at;
}

static const entry *find(const cm_rolling *r, int64_t key) {
    const int32_t i = key < 0 ? EMPTY : r->table[place_of(r, key)];
    return i != EMPTY && r->entry[i].copy != UNSEARCHED ? &r->entry[i] : NULL;
}

static float *policy_of(const cm_rolling *r, const entry *e) { return r->policy + (e - r->entry) * r->entries; }

/* The entry of a key, a new one where there is none: there is space for one of every position. */
static int32_t take(cm_rolling *r, int64_t key) {
    const uint32_t at = place_of(r, key);
    if (r->table[at] != EMPTY) return r->table[at];
    while (r->entry[r->next_free].is_used) r->next_free++;
    r->entry[r->next_free] = (entry){.key = key, .copy = UNSEARCHED, .is_used = true};
    r->table[at] = r->next_free;
    return r->next_free;
}

bool cm_rolling_find(const cm_rolling *r, int64_t key, cm_rolling_found *out, float *policy) {
    const entry *e = find(r, key);
    if (!e) return false;
    *out = (cm_rolling_found){e->copy, e->value, e->network_value};
    if (policy) memcpy(policy, policy_of(r, e), (size_t)r->entries * sizeof(float));
    return true;
}

void cm_rolling_follow(cm_rolling *r) {
    cm_replay_positions(r->config.replay, r->position, &r->count);
    for (int32_t i = 0; i < r->count; i++) {
        const int32_t known = r->table[place_of(r, r->position[i].key)];
        if (known != EMPTY) r->entry[known].is_kept = true;
    }
    memset(r->table, 0xff, ((size_t)r->mask + 1) * sizeof(int32_t));
    for (int32_t i = 0; i < r->capacity; i++) {
        entry *e = &r->entry[i];
        e->is_used = e->is_used && e->is_kept;
        e->is_kept = false;
        if (e->is_used) r->table[place_of(r, e->key)] = i;
    }
    r->next_free = 0;
}

/* ---- the pass ---- */

static void place(void *context, int i, const cm_searched_root *root) {
    const cm_rolling *r = context;
    const cm_replay_position *p = &r->position[r->place[i]];
    cm_replay_look(r->config.replay, p->slot, root->observation, root->legal);
    *root->key =
        cm_key_make(r->config.seed, CM_RNG_REANALYSE, ((uint64_t)r->config.rank + 1) << RANK_BITS | (uint64_t)p->key);
    *root->step = (uint64_t)r->copy;
}

static cm_status keep(void *context, int i, const cm_searcher_found *found) {
    const cm_rolling *r = context;
    entry *e = &r->entry[r->picked[i]];
    memcpy(policy_of(r, e), found->weights, (size_t)r->entries * sizeof(float));
    e->value = found->value, e->network_value = found->raw_value;
    e->copy = r->copy;
    return CM_OK;
}

static int64_t count_done(const cm_rolling *r) {
    int64_t done = 0;
    for (int32_t i = 0; i < r->count; i++) {
        const entry *e = find(r, r->position[i].key);
        done += e && e->copy == r->copy;
    }
    return done;
}

/* Up to `wanted` positions from *next on that this copy has not searched; how many they are. */
static int pick(cm_rolling *r, int64_t wanted, int32_t *next) {
    const int most = r->config.searcher.most;
    int n = 0;
    for (; *next < r->count && n < most && n < wanted; ++*next) {
        const int32_t i = take(r, r->position[*next].key);
        if (r->entry[i].copy == r->copy || r->entry[i].is_picked) continue;
        r->entry[i].is_picked = true;
        r->place[n] = *next, r->picked[n++] = i;
    }
    for (int i = 0; i < n; i++) r->entry[r->picked[i]].is_picked = false;
    return n;
}

cm_status cm_rolling_run(cm_rolling *r, int64_t copy, int64_t made, int64_t whole) {
    int32_t next = 0;
    cm_status status = CM_OK;
    r->copy = copy;
    CM_TRACE_BEGIN("reanalyse");
    int64_t wanted = (r->count * made + whole - 1) / whole - count_done(r);
    while (wanted > 0 && status == CM_OK) {
        const cm_searched positions = {pick(r, wanted, &next), r, place, keep};
        if (positions.count == 0) break;
        status = cm_searcher_run(r->searcher, &positions);
        wanted -= positions.count;
    }
    CM_TRACE_END();
    return status;
}

/* ---- batches ---- */

/* weights[P] = the policy of an entry, in the order of the row's symmetry. */
static void read_policy(const cm_rolling *r, const cm_batch *batch, int row, const entry *e, float *weights) {
    const cm_replay_config *c = cm_replay_configuration(r->config.replay);
    const float *policy = policy_of(r, e);
    if (c->symmetries <= 1) {
        memcpy(weights, policy, (size_t)r->entries * sizeof(float));
        return;
    }
    const int32_t *stored = c->symmetry_actions + (size_t)batch->symmetry[row] * (size_t)c->actions;
    for (int a = 0; a < r->entries; a++) weights[a] = policy[stored[a]];
}

cm_status cm_rolling_apply(cm_rolling *r, int slot, cm_batch *batch) {
    const int steps = batch->unroll + 1;
    float *weights = r->scratch + (size_t)slot * (size_t)r->entries, drift;
    batch->policy_drift = 0.0, batch->policies_reanalysed = 0;
    for (int i = 0; i < batch->config.rows * steps; i++) {
        const entry *of_position = find(r, batch->position_key[i]), *of_bootstrap = find(r, batch->bootstrap_key[i]);
        if (of_bootstrap) cm_batch_set_bootstrap(batch, i, of_bootstrap->network_value);
        if (!of_position) continue;
        if (cm_mixed_selects(&r->config.mixed, batch, i / steps)) cm_batch_set_value(batch, i, of_position->value);
        read_policy(r, batch, i / steps, of_position, weights);
        CM_TRY(cm_batch_set_policy(batch, i, weights, &drift));
        batch->policy_drift += (double)drift, batch->policies_reanalysed++;
    }
    return CM_OK;
}

/* ---- files ---- */

/* The head of a file, and of an entry in it; a policy follows each. */
typedef struct file_head {
    uint64_t magic, entries, count;
} file_head;
typedef struct file_entry {
    int64_t key, copy;
    float value, network_value;
} file_entry;

static bool is_found(const entry *e) { return e->is_used && e->copy != UNSEARCHED; }

static uint64_t count_found(const cm_rolling *r) {
    uint64_t count = 0;
    for (int32_t i = 0; i < r->capacity; i++) count += is_found(&r->entry[i]);
    return count;
}

static size_t policy_bytes(const cm_rolling *r) { return (size_t)r->entries * sizeof(float); }

uint64_t cm_rolling_bytes(const cm_rolling *r) {
    return r ? sizeof(file_head) + count_found(r) * (sizeof(file_entry) + policy_bytes(r)) : 0;
}

static cm_status write_entry(const cm_rolling *r, const entry *e, const cm_sink *sink) {
    const file_entry saved = {e->key, e->copy, e->value, e->network_value};
    CM_TRY(sink->write(sink->context, &saved, sizeof saved));
    return sink->write(sink->context, policy_of(r, e), policy_bytes(r));
}

cm_status cm_rolling_write(cm_rolling *r, const cm_sink *sink) {
    cm_status status = CM_OK;
    cm_rolling_follow(r);
    const file_head head = {magic, (uint64_t)r->entries, count_found(r)};
    CM_TRY(sink->write(sink->context, &head, sizeof head));
    for (int32_t i = 0; i < r->count && status == CM_OK; i++) {
        const int32_t at = r->table[place_of(r, r->position[i].key)];
        if (at == EMPTY || !is_found(&r->entry[at]) || r->entry[at].is_picked) continue;
        r->entry[at].is_picked = true; /* written */
        status = write_entry(r, &r->entry[at], sink);
    }
    for (int32_t i = 0; i < r->capacity; i++) r->entry[i].is_picked = false;
    return status;
}

/* Whether what was read can have been found. */
static bool is_sound(const file_entry *e, const float *policy, int entries) {
    if (e->key < 0 || e->key >= keys_end || e->copy < 0 || !isfinite(e->value) || !isfinite(e->network_value))
        return false;
    for (int a = 0; a < entries; a++)
        if (!(policy[a] >= 0.0f && policy[a] <= 1.0f)) return false;
    return true;
}

static cm_status read_entry(cm_rolling *r, const cm_source *source, uint64_t at) {
    file_entry saved;
    CM_TRY(cm_source_read(source, at, &saved, sizeof saved));
    CM_TRY(cm_source_read(source, at + sizeof saved, r->scratch, policy_bytes(r)));
    if (!is_sound(&saved, r->scratch, r->entries))
        return cm_fail(CM_ERR_INPUT, "%s: a number of a position is out of range", source->path);
    entry *e = &r->entry[take(r, saved.key)];
    if (e->copy != UNSEARCHED) return cm_fail(CM_ERR_INPUT, "%s: a position stands there twice", source->path);
    *e = (entry){saved.key, saved.copy, saved.value, saved.network_value, .is_used = true};
    memcpy(policy_of(r, e), r->scratch, policy_bytes(r));
    return CM_OK;
}

static cm_status read_all(cm_rolling *r, const cm_source *source) {
    const uint64_t each = sizeof(file_entry) + policy_bytes(r);
    file_head head;
    CM_TRY(cm_source_read(source, 0, &head, sizeof head));
    if (head.magic != magic) return cm_fail(CM_ERR_INPUT, "%s: is no file of a reanalysis", source->path);
    if (head.entries != (uint64_t)r->entries || head.count > (uint64_t)r->capacity)
        return cm_fail(CM_ERR_INPUT, "%s: has %llu positions of %llu actions, here are at most %d of %d", source->path,
                       (unsigned long long)head.count, (unsigned long long)head.entries, r->capacity, r->entries);
    for (uint64_t i = 0; i < head.count; i++) CM_TRY(read_entry(r, source, sizeof head + i * each));
    return CM_OK;
}

cm_status cm_rolling_read(cm_rolling *r, const cm_source *source) {
    forget(r);
    const cm_status status = read_all(r, source);
    if (status != CM_OK) forget(r);
    return status;
}
