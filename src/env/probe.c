#include "env/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/clock.h"

#define MOST_SECONDS 0.5

static cm_status play(const cm_env *env, char *state, float *observation, cm_env_probe *out) {
    const double enough = cm_clock_seconds() + MOST_SECONDS;
    const int width = env->spec.observation_size;
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_EVALUATE, 0), 0);
    uint64_t episodes = 0;
    cm_env_reset(env, state, episodes);
    for (int i = 0; i < CM_ENV_PROBE_STEPS && cm_clock_seconds() < enough; i++) {
        cm_env_outcome outcome;
        double sum = 0.0;
        CM_TRY(cm_env_step(env, state, cm_env_random_action(env, state, &rng), &outcome));
        cm_env_observe(env, state, observation);
        for (int k = 0; k < width; k++) sum += (double)observation[k];
        out->reward[i] = (float)outcome.reward;
        out->observation[i] = (float)(sum / width);
        out->ended[i] = cm_env_ended(state);
        out->steps = i + 1;
        if (cm_env_ended(state)) cm_env_reset(env, state, ++episodes);
    }
    return CM_OK;
}

cm_status cm_env_probe_measure(const cm_env *env, cm_env_probe *out) {
    const size_t state_bytes = cm_align(env->spec.state_size);
    char *memory;
    *out = (cm_env_probe){0};
    CM_TRY(cm_alloc(&memory, state_bytes + (size_t)env->spec.observation_size * sizeof(float), 1, "random play"));
    cm_status status = play(env, memory, (float *)(void *)(memory + state_bytes), out);
    free(memory);
    return status;
}

static bool differ(float a, float b) { return fabsf(a - b) > 1e-5f + 1e-3f * fmaxf(fabsf(a), fabsf(b)); }

void cm_env_probe_compare(const cm_env_probe *now, const cm_env_probe *before, char *out, size_t size) {
    const struct {
        const char *what;
        const float *now, *before;
    } rows[] = {{"has reward", now->reward, before->reward},
                {"has observations of mean", now->observation, before->observation},
                {"ends an episode (1) or does not (0):", now->ended, before->ended}};
    out[0] = '\0';
    for (int i = 0; i < now->steps && i < before->steps; i++)
        for (int k = 0; k < 3; k++) {
            if (!differ(rows[k].now[i], rows[k].before[i])) continue;
            snprintf(out, size, "step %d of random play %s %.4g, was %.4g", i + 1, rows[k].what, (double)rows[k].now[i],
                     (double)rows[k].before[i]);
            return;
        }
}
