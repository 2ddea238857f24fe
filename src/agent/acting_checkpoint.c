/* What checkpoints keep of acting: environments, open episodes, counters. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "agent/acting_internal.h"

typedef struct saved_head {
    char magic[8];
    int64_t environments, vector_bytes;
    uint64_t step;
    int64_t episodes, recent, next;
} saved_head;

static const char saved_magic[] = "cmactor1"; /* without its end */

size_t cm_actor_bytes(const cm_actor *a) {
    if (!a) return 0;
    size_t open = (size_t)a->config.environments * sizeof(cm_episode);
    return sizeof(saved_head) + open + 2 * CM_RECENT_EPISODES * sizeof(double) + cm_vector_env_bytes(a->vector);
}

static saved_head head_of(const cm_actor *a) {
    saved_head head = {.environments = a->config.environments,
                       .step = a->step,
                       .episodes = a->episodes,
                       .recent = a->recent,
                       .next = a->next};
    memcpy(head.magic, saved_magic, sizeof head.magic);
    return head;
}

static char *put(char *to, const void *from, size_t size) {
    memcpy(to, from, size);
    return to + size;
}

size_t cm_actor_save(const cm_actor *a, void *bytes) {
    saved_head head = head_of(a);
    char *to = (char *)bytes + sizeof head;
    to = put(to, a->open, (size_t)a->config.environments * sizeof(cm_episode));
    to = put(to, a->recent_return, CM_RECENT_EPISODES * sizeof(double));
    to = put(to, a->recent_length, CM_RECENT_EPISODES * sizeof(double));
    head.vector_bytes = (int64_t)cm_vector_env_save(a->vector, to);
    put(bytes, &head, sizeof head);
    return (size_t)(to - (char *)bytes) + (size_t)head.vector_bytes;
}

/* What one actor has saved, and which environments of the run it had. */
typedef struct saved_part {
    saved_head head;
    int64_t first;
    const char *open, *returns, *lengths, *vector; /* in its bytes */
} saved_part;

/* Counters that are added to, multiplied by environments, and divided by. */
static bool counters_fit(const saved_head *head) {
    const int64_t most = (int64_t)1 << 46; /* of 2^16 environments, or of as many ranks, is not beyond int64_t */
    return head->environments >= 1 && head->environments <= 65536 && head->step <= (uint64_t)most &&
           head->episodes >= 0 && head->episodes <= most && head->recent >= 0 && head->recent <= CM_RECENT_EPISODES &&
           head->next >= 0 && head->next < CM_RECENT_EPISODES &&
           (head->recent == CM_RECENT_EPISODES || head->next == head->recent);
}

/* Before a vector of so many environments is made: the file has its bytes. Fewer are as many as the vector says. */
static bool sizes_fit(const cm_actor *a, const saved_head *head, size_t size) {
    const size_t open = (size_t)head->environments * sizeof(cm_episode);
    const size_t vector = cm_vector_env_bytes_of(a->config.env, (int)head->environments);
    const bool fits = a->config.env->def->used ? head->vector_bytes >= 0 && head->vector_bytes <= (int64_t)vector
                                               : head->vector_bytes == (int64_t)vector;
    return fits && size == sizeof *head + open + 2 * CM_RECENT_EPISODES * sizeof(double) + (size_t)head->vector_bytes;
}

static cm_status check_recent(const saved_part *part) {
    double total, length;
    for (size_t i = 0; i < CM_RECENT_EPISODES; i++) {
        memcpy(&total, part->returns + i * sizeof total, sizeof total);
        memcpy(&length, part->lengths + i * sizeof length, sizeof length);
        CM_TRY(cm_env_check_real("state of acting: the return of a recent episode", total, -DBL_MAX, DBL_MAX));
        CM_TRY(cm_env_check_real("state of acting: the length of a recent episode", length, 0.0, (double)INT32_MAX));
    }
    return CM_OK;
}

static cm_status read_part(const cm_actor *a, const cm_file_bytes *saved, int64_t first, saved_part *out) {
    saved_head *head = &out->head;
    bool fits = saved->size >= sizeof *head;
    if (fits) memcpy(head, saved->data, sizeof *head);
    fits = fits && memcmp(head->magic, saved_magic, sizeof head->magic) == 0 && counters_fit(head) &&
           sizes_fit(a, head, saved->size);
    if (!fits) {
        return cm_fail(CM_ERR_INPUT, "state of acting: %zu bytes that are none of %s", saved->size,
                       a->config.env->spec.name);
    }
    const size_t ring = CM_RECENT_EPISODES * sizeof(double);
    out->first = first;
    out->open = (const char *)saved->data + sizeof *head;
    out->returns = out->open + (size_t)head->environments * sizeof(cm_episode);
    out->lengths = out->returns + ring;
    out->vector = out->lengths + ring;
    return check_recent(out);
}

/* Its length is that of its environment's episode. */
static cm_status check_open(const cm_episode *open, int steps) {
    CM_TRY(cm_env_check_real("state of acting: the return of an open episode", open->total, -DBL_MAX, DBL_MAX));
    return cm_env_check_int("state of acting: the length of an open episode", open->length, steps, steps);
}

/* Takes the environments of a part that are the actor's own; *taken counts them. */
static cm_status restore_environments(cm_actor *a, const saved_part *part, int *taken) {
    const cm_actor_config *c = &a->config;
    cm_vector_env *other = NULL;
    CM_TRY(cm_vector_env_create(c->env, (int)part->head.environments, c->seed, (uint64_t)part->first, &other));
    cm_status status = cm_vector_env_load(other, part->vector, (size_t)part->head.vector_bytes);
    for (int e = 0; e < c->environments && status == CM_OK; e++) {
        const int64_t there = (int64_t)c->first_environment + e - part->first;
        if (there < 0 || there >= part->head.environments) continue;
        cm_vector_env_copy(a->vector, e, other, (int)there);
        memcpy(&a->open[e], part->open + (size_t)there * sizeof(cm_episode), sizeof(cm_episode));
        status = check_open(&a->open[e], cm_vector_env_steps(other, (int)there));
        a->step = part->head.step;
        ++*taken;
    }
    cm_vector_env_destroy(other);
    return status;
}

static void restore_counters(cm_actor *a, const saved_part *part) {
    a->episodes = part->head.episodes;
    a->recent = (int)part->head.recent;
    a->next = (int)part->head.next;
    memcpy(a->recent_return, part->returns, CM_RECENT_EPISODES * sizeof(double));
    memcpy(a->recent_length, part->lengths, CM_RECENT_EPISODES * sizeof(double));
}

/* Episodes of all parts; of the recent ones the newest of each part, one after the other. */
static void add_counters(cm_actor *a, const saved_part *parts, int count) {
    for (int i = 0; i < count; i++) a->episodes += parts[i].head.episodes;
    for (int age = CM_RECENT_EPISODES; age >= 1; age--) {
        for (int i = 0; i < count; i++) {
            if (age > parts[i].head.recent) continue;
            size_t from =
                (size_t)((parts[i].head.next + CM_RECENT_EPISODES - age) % CM_RECENT_EPISODES) * sizeof(double);
            memcpy(&a->recent_return[a->next], parts[i].returns + from, sizeof(double));
            memcpy(&a->recent_length[a->next], parts[i].lengths + from, sizeof(double));
            a->next = (a->next + 1) % CM_RECENT_EPISODES;
            if (a->recent < CM_RECENT_EPISODES) a->recent++;
        }
    }
}

static cm_status load_parts(cm_actor *a, int64_t whole, const cm_file_bytes *saved, int count, saved_part *parts) {
    const int64_t first = (int64_t)a->config.first_environment;
    const saved_part *own = NULL;
    int64_t all = 0;
    int taken = 0;
    for (int i = 0; i < count; i++) {
        CM_TRY(read_part(a, &saved[i], all, &parts[i]));
        if (parts[i].head.environments > whole - all) /* before they are made */
            return cm_fail(CM_ERR_INPUT, "state of acting: has more environments than the %lld of the run",
                           (long long)whole);
        CM_TRY(restore_environments(a, &parts[i], &taken));
        if (all == first && parts[i].head.environments == a->config.environments) own = &parts[i];
        if (parts[i].head.step != parts[0].head.step)
            return cm_fail(CM_ERR_INPUT, "state of acting: %llu steps here, %llu there",
                           (unsigned long long)parts[0].head.step, (unsigned long long)parts[i].head.step);
        all += parts[i].head.environments;
    }
    if (taken != a->config.environments) {
        return cm_fail(CM_ERR_INPUT, "state of acting: has %lld environments, not number %lld and %d more",
                       (long long)all, (long long)first, a->config.environments - 1);
    }
    a->episodes = 0, a->recent = a->next = 0;
    if (own) {
        restore_counters(a, own);
    } else if (first == 0) {
        add_counters(a, parts, count);
    }
    return CM_OK;
}

cm_status cm_actor_load(cm_actor *a, int64_t all, const cm_file_bytes *saved, int count) {
    saved_part *parts = NULL;
    CM_TRY(cm_alloc(&parts, (size_t)count, sizeof *parts, "the state of acting"));
    cm_status status = load_parts(a, all, saved, count, parts);
    free(parts);
    CM_TRY(status);
    cm_vector_env_show(a->vector, 0, a->config.environments, &a->rows);
    return CM_OK;
}
