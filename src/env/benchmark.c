#include <stdlib.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/rng.h"
#include "env/vector.h"

enum { SHARD = 256, RANDOM = 1 << 14 };

typedef struct bench {
    cm_vector_env *vector;
    cm_env_rows rows;
    int32_t *actions; /* [E] */
    uint32_t *random; /* [RANDOM] numbers drawn before the clock starts */
    unsigned turn;    /* next of them */
    cm_arena arena;
} bench;

static void alloc_rows(bench *b, cm_arena *arena, int instances, bool observes) {
    const cm_env_spec *spec = &cm_vector_env_env(b->vector)->spec;
    size_t n = (size_t)instances;
    if (observes)
        b->rows.observation = (float *)cm_arena_alloc(arena, n * (size_t)spec->observation_size * sizeof(float));
    if (cm_vector_env_env(b->vector)->def->legal)
        b->rows.legal = (uint8_t *)cm_arena_alloc(arena, n * (size_t)spec->actions);
    b->rows.to_play = (int32_t *)cm_arena_alloc(arena, n * sizeof(int32_t));
    b->rows.reward = (float *)cm_arena_alloc(arena, n * sizeof(float));
    b->rows.terminated = (uint8_t *)cm_arena_alloc(arena, n);
    b->rows.truncated = (uint8_t *)cm_arena_alloc(arena, n);
    b->actions = (int32_t *)cm_arena_alloc(arena, n * sizeof(int32_t));
    b->random = (uint32_t *)cm_arena_alloc(arena, RANDOM * sizeof(uint32_t));
}

/* Uniform over all actions where every one is legal, else over the legal ones. */
static void choose_actions(bench *b, int first, int count) {
    const cm_env *env = cm_vector_env_env(b->vector);
    const unsigned actions = (unsigned)env->spec.actions;
    const uint32_t *random = b->random + (b->turn * 977u + (unsigned)first) % (RANDOM - SHARD);
    b->turn++;
    if (!env->def->legal) {
        for (int i = 0; i < count; i++) b->actions[first + i] = (int32_t)((uint64_t)random[i] * actions >> 32);
        return;
    }
    for (int i = 0; i < count; i++) {
        const uint8_t *mask = b->rows.legal + (size_t)(first + i) * actions;
        unsigned legal = 0;
        for (unsigned a = 0; a < actions; a++) legal += mask[a];
        unsigned pick = (unsigned)((uint64_t)random[i] * legal >> 32), a = 0;
        while (!mask[a] || pick-- > 0) a++;
        b->actions[first + i] = (int32_t)a;
    }
}

static cm_status measure(bench *b, int instances, double seconds, double *steps_per_second) {
    cm_vector_env_reset(b->vector, 0, instances, &b->rows);
    CM_TRY(cm_vector_env_check_begun(b->vector, 0, instances));
    double start = cm_clock_seconds(), now = start, steps = 0.0;
    while (now - start < seconds) {
        for (int round = 0; round < 16; round++) {
            for (int first = 0; first < instances; first += SHARD) {
                int count = instances - first < SHARD ? instances - first : SHARD;
                choose_actions(b, first, count);
                CM_TRY(cm_vector_env_step(b->vector, first, count, b->actions, &b->rows));
                cm_vector_env_reset_ended(b->vector, first, count, &b->rows);
            }
        }
        steps += 16.0 * instances;
        now = cm_clock_seconds();
    }
    *steps_per_second = steps / (now - start);
    return CM_OK;
}

cm_status cm_env_benchmark(const cm_env *env, int instances, bool observes, double seconds, double *steps_per_second) {
    bench b = {0};
    CM_TRY(cm_vector_env_create(env, instances, 1, 0, &b.vector));
    cm_arena sizes = {NULL, SIZE_MAX, 0};
    alloc_rows(&b, &sizes, instances, observes);
    cm_status status = cm_arena_create(&b.arena, sizes.used, "the benchmark of an environment");
    if (status == CM_OK) {
        alloc_rows(&b, &b.arena, instances, observes);
        cm_rng stream = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0);
        for (int i = 0; i < RANDOM; i++) b.random[i] = cm_rng_bits(&stream);
        status = measure(&b, instances, seconds, steps_per_second);
    }
    cm_arena_destroy(&b.arena);
    cm_vector_env_destroy(b.vector);
    return status;
}
