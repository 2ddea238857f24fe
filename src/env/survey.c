#include "env/survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/hash.h"

/* What was observed and done, and what followed, as numbers that differ where these do. */
typedef struct tale {
    uint64_t before, after;
} tale;

typedef struct survey {
    const cm_env *env;
    char *state;
    float *observation;
    tale *tales;   /* [steps] */
    uint64_t past; /* observations and actions of this episode */
    cm_env_survey *seen;
} survey;

static bool is_onehot(const float *numbers, int count) {
    int ones = 0;
    for (int i = 0; i < count; i++) {
        if (numbers[i] != 0.0f && numbers[i] != 1.0f) return false;
        ones += numbers[i] == 1.0f;
    }
    return ones == 1 && count > 1;
}

/* Observes; the number of what is observed. */
static uint64_t observe(survey *s) {
    const int size = s->env->spec.observation_size;
    cm_env_observe(s->env, s->state, s->observation);
    s->seen->is_onehot &= is_onehot(s->observation, size);
    return cm_hash(CM_HASH_BEGIN, s->observation, (size_t)size * sizeof(float));
}

static void begin(survey *s, uint64_t seed) {
    cm_env_reset(s->env, s->state, seed);
    s->past = observe(s);
}

/* Whether a step that began like this one ended in another way. */
static bool is_told_otherwise(const survey *s, tale now) {
    for (int i = 0; i < s->seen->steps; i++)
        if (s->tales[i].before == now.before && s->tales[i].after != now.after) return true;
    return false;
}

static void note_kind(cm_env_survey *seen, double reward) {
    int i = 0;
    while (i < seen->kinds && seen->kind[i] != reward) i++;
    if (i == seen->kinds && i < CM_ENV_SURVEY_KINDS) seen->kind[seen->kinds++] = reward;
}

static void note(survey *s, const cm_env_outcome *out) {
    cm_env_survey *seen = s->seen;
    note_kind(seen, out->reward);
    const bool is_first = seen->steps == 0, is_paid = out->reward != 0.0;
    seen->reward_low = is_first ? out->reward : fmin(seen->reward_low, out->reward);
    seen->reward_high = is_first ? out->reward : fmax(seen->reward_high, out->reward);
    seen->paid += is_paid;
    seen->paid_within += is_paid && !out->terminated;
    seen->ends += out->terminated;
    seen->cuts += out->truncated && !out->terminated;
}

static cm_status step(survey *s, int action) {
    cm_env_outcome out = {0};
    tale now = {.before = cm_hash(s->past, &action, sizeof action)};
    CM_TRY(cm_env_step(s->env, s->state, action, &out));
    now.after = observe(s);
    s->past = s->seen->is_onehot ? now.after : cm_hash(now.before, &now.after, sizeof now.after);
    now.after = cm_hash(cm_hash(now.after, &out.reward, sizeof out.reward), &out.terminated, sizeof out.terminated);
    if (s->seen->steps < CM_ENV_SURVEY_STEPS) {
        s->seen->has_chance |= is_told_otherwise(s, now);
        s->tales[s->seen->steps] = now;
    }
    note(s, &out);
    s->seen->steps++;
    return CM_OK;
}

static int wanted(const cm_env_survey *seen) { return seen->paid > 0 ? CM_ENV_SURVEY_STEPS : CM_ENV_SURVEY_MOST; }

static cm_status play(survey *s, double seconds) {
    cm_rng rng = cm_rng_init(cm_key_make(2, CM_RNG_EVALUATE, 0), 0);
    uint64_t episodes = 0;
    begin(s, episodes); /* which may have to start a process */
    const double enough = cm_clock_seconds() + seconds;
    while (s->seen->steps < wanted(s->seen) && cm_clock_seconds() < enough) {
        CM_TRY(step(s, cm_env_random_action(s->env, s->state, &rng)));
        if (cm_env_ended(s->state)) begin(s, ++episodes);
    }
    return CM_OK;
}

/* Whether episodes of equal seeds and actions are equal only where each has an object of its own. */
static bool is_worn(const cm_env *env) {
    enum { STEPS = 256 };
    cm_env fresh = *env;
    fresh.params.fresh = true;
    if (!env->params.python || env->params.fresh || cm_env_try(env, STEPS) == CM_OK) return false;
    return cm_env_try(&fresh, STEPS) == CM_OK;
}

cm_status cm_env_survey_measure(const cm_env *env, double seconds, cm_env_survey *seen) {
    const size_t state_bytes = cm_align(env->spec.state_size);
    const size_t bytes = state_bytes + (size_t)env->spec.observation_size * sizeof(float);
    cm_env played = *env;
    played.params.together = true;
    survey s = {.env = &played, .seen = seen};
    *seen = (cm_env_survey){.is_onehot = true, .is_worn = is_worn(env)};
    played.params.fresh |= seen->is_worn;
    CM_TRY(cm_alloc(&s.state, bytes, 1, "random play"));
    s.observation = (float *)(void *)(s.state + state_bytes);
    cm_status status = cm_alloc(&s.tales, CM_ENV_SURVEY_STEPS, sizeof *s.tales, "random play");
    if (status == CM_OK) status = play(&s, seconds);
    free(s.tales);
    free(s.state);
    return status;
}
