/* A naive replay that the tests compare with: every step ever played is kept in plain arrays, and what the replay may
 * draw and should answer is worked out from its documentation, one formula at a time. */
#ifndef TESTS_REPLAY_MODEL_H
#define TESTS_REPLAY_MODEL_H

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "replay/batch.h"
#include "replay/replay.h"

enum { MODEL_STEPS = 4096, MODEL_ENVS = 4, MODEL_ACTIONS = 11, MODEL_SEGMENTS = 8192 };

typedef struct model_step {
    float observation[3], policy[MODEL_ACTIONS], root_value, reward;
    uint8_t legal[MODEL_ACTIONS];
    int32_t action;
    uint8_t to_play;
    bool explored;
} model_step;

/* A run of steps of one environment with one end. */
typedef struct model_segment {
    int environment, first, steps;
    bool terminated, cut;
    float observation[3], root_value; /* of the position after it */
    uint8_t to_play;
} model_segment;

typedef struct model {
    cm_replay_config config;
    cm_rng rng;
    model_step step[MODEL_ENVS][MODEL_STEPS];
    int steps[MODEL_ENVS];         /* played                                      */
    int segment_start[MODEL_ENVS]; /* first step that is in no finished segment    */
    bool open[MODEL_ENVS];         /* an episode is going on                      */
    int fresh[MODEL_ENVS];
    model_segment waiting[MODEL_ENVS][64]; /* finished since the last commit */
    int waiting_count[MODEL_ENVS];
    model_segment ring[MODEL_SEGMENTS]; /* finished, oldest first; [0, gone) were removed */
    int gone, segments;
    int shown[MODEL_ENVS];       /* steps of open episodes that may be drawn */
    int shown_rows[MODEL_ENVS];  /* those that are there                     */
    int shown_start[MODEL_ENVS]; /* the first of them */
    int collected;               /* steps played before the last commit */
} model;

static inline uint32_t model_draw(model *m, uint32_t n) { return cm_rng_below(&m->rng, n); }

/* Observations say whose they are: step number * 4 + environment, plus 7 per element, in units where they have one. */
static inline void model_observe(const model *m, float number, float out[3]) {
    const float unit = m->config.observation_unit > 0.0f ? m->config.observation_unit : 1.0f;
    for (int i = 0; i < 3; i++) out[i] = fmodf(number + (float)(i * 7), 250.0f) * unit;
}

static inline model_step model_make_step(model *m, int environment) {
    model_step s = {0};
    int actions = m->config.actions;
    model_observe(m, (float)(m->steps[environment] * 4 + environment), s.observation);
    float sum = 0.0f;
    for (int a = 0; a < actions; a++) {
        s.legal[a] = model_draw(m, 4) > 0;
        s.policy[a] = (float)model_draw(m, 20);
        sum += s.policy[a];
    }
    if (sum == 0.0f) s.policy[0] = 1.0f;
    s.root_value = (float)model_draw(m, 2001) * 0.001f - 1.0f;
    s.reward = (float)model_draw(m, 2001) * 0.001f - 1.0f;
    s.action = (int32_t)model_draw(m, (uint32_t)actions);
    s.to_play = (uint8_t)model_draw(m, 2);
    s.explored = model_draw(m, 5) == 0;
    return s;
}

static inline cm_replay_step model_replay_step(const model_step *s) {
    return (cm_replay_step){.observation = s->observation,
                            .legal = s->legal,
                            .policy = s->policy,
                            .root_value = s->root_value,
                            .action = s->action,
                            .reward = s->reward,
                            .to_play = s->to_play,
                            .explored = s->explored};
}

static inline void model_wait(model *m, int environment, model_segment segment) {
    m->waiting[environment][m->waiting_count[environment]++] = segment;
}

static inline void model_append(model *m, cm_replay *replay, int e) {
    int t = m->steps[e];
    ck_assert_int_lt(t, MODEL_STEPS);
    m->step[e][t] = model_make_step(m, e);
    const model_step *s = &m->step[e][t];
    cm_replay_step step = model_replay_step(s);
    ck_assert_msg(cm_replay_append(replay, e, &step) == CM_OK, "%s", cm_error_message());
    if (!m->open[e]) m->segment_start[e] = t;
    m->open[e] = true;
    m->steps[e]++;
    m->fresh[e]++;
    if (t - m->segment_start[e] == m->config.segment_steps) {
        model_segment segment = {
            e, m->segment_start[e], m->config.segment_steps, false, true, {0}, s->root_value, s->to_play};
        memcpy(segment.observation, s->observation, sizeof segment.observation);
        model_wait(m, e, segment);
        m->segment_start[e] = t;
    }
}

static inline void model_finish(model *m, cm_replay *replay, int e, bool terminated) {
    model_segment segment = {e, m->segment_start[e], m->steps[e] - m->segment_start[e], terminated, false, {0}, 0.0f,
                             0};
    model_observe(m, (float)(m->steps[e] * 4 + e) + 100.0f, segment.observation);
    segment.root_value = (float)model_draw(m, 2001) * 0.001f - 1.0f;
    segment.to_play = (uint8_t)model_draw(m, 2);
    cm_replay_end end = {.observation = segment.observation,
                         .terminated = terminated,
                         .root_value = terminated ? NAN : segment.root_value,
                         .to_play = segment.to_play};
    ck_assert_msg(cm_replay_finish(replay, e, &end) == CM_OK, "%s", cm_error_message());
    model_wait(m, e, segment);
    m->open[e] = false;
    m->segment_start[e] = m->steps[e];
}

/* ---- what should be there -----------------------------------------------------------------------------------------
 */

static inline int64_t model_ring_steps(const model *m) {
    int64_t steps = 0;
    for (int i = m->gone; i < m->segments; i++) steps += m->ring[i].steps;
    return steps;
}

static inline int64_t model_episodes(const model *m) {
    int64_t episodes = 0;
    for (int i = m->gone; i < m->segments; i++) episodes += !m->ring[i].cut;
    return episodes;
}

/* More than max_steps steps of all environments have been made since this one. */
static inline bool model_is_old(const model *m, int environment, int step) {
    int collected = 0;
    for (int e = 0; e < m->config.environments; e++) collected += m->steps[e] - m->fresh[e];
    return m->config.max_steps > 0 && collected - (step * m->config.environments + environment) > m->config.max_steps;
}

static inline int64_t model_young(const model *m, int environment, int first, int steps) {
    int64_t young = 0;
    for (int t = first; t < first + steps; t++) young += !model_is_old(m, environment, t);
    return young;
}

static inline int64_t model_positions(const model *m) {
    int64_t positions = 0;
    for (int i = m->gone; i < m->segments; i++)
        positions += model_young(m, m->ring[i].environment, m->ring[i].first, m->ring[i].steps);
    for (int e = 0; e < m->config.environments; e++) positions += model_young(m, e, m->shown_start[e], m->shown[e]);
    return positions;
}

static inline void model_commit(model *m, cm_replay *replay, int32_t ring_rows) {
    ck_assert_msg(cm_replay_commit(replay) == CM_OK, "%s", cm_error_message());
    m->collected = 0;
    for (int e = 0; e < m->config.environments; e++) {
        m->collected += m->steps[e];
        for (int i = 0; i < m->waiting_count[e]; i++) {
            int rows = m->waiting[e][i].steps + 1;
            while (model_ring_steps(m) + (m->segments - m->gone) + rows > ring_rows) m->gone++;
            m->ring[m->segments++] = m->waiting[e][i];
        }
        m->waiting_count[e] = 0;
        m->fresh[e] = 0;
        int rows = m->open[e] ? m->steps[e] - m->segment_start[e] : 0;
        int complete = rows - m->config.targets.td_steps;
        m->shown[e] = m->config.sample_open && complete > 0 ? complete : 0;
        m->shown_rows[e] = rows;
        m->shown_start[e] = m->segment_start[e];
    }
    while (m->gone < m->segments && m->config.max_episodes > 0 && model_episodes(m) > m->config.max_episodes) m->gone++;
    for (; m->gone < m->segments; m->gone++) {
        const model_segment *p = &m->ring[m->gone];
        if (!model_is_old(m, p->environment, p->first + p->steps - 1)) break;
    }
}

/* The segment that a step that may be drawn belongs to; false if it may not be drawn. */
static inline bool model_find(const model *m, int e, int step, model_segment *out) {
    if (model_is_old(m, e, step)) return false;
    for (int i = m->gone; i < m->segments; i++) {
        const model_segment *p = &m->ring[i];
        if (p->environment == e && step >= p->first && step < p->first + p->steps) {
            *out = *p;
            return true;
        }
    }
    int first = m->shown_start[e], shown = m->shown[e];
    if (shown == 0 || step < first || step >= first + shown) return false;
    int steps = m->shown_rows[e] - 1;
    const model_step *last = &m->step[e][first + steps];
    *out = (model_segment){e, first, steps, false, true, {0}, last->root_value, last->to_play};
    memcpy(out->observation, last->observation, sizeof out->observation);
    return true;
}

static inline const float *model_observation(const model *m, const model_segment *p, int t) {
    return t == p->steps ? p->observation : m->step[p->environment][p->first + t].observation;
}
static inline double model_value(const model *m, const model_segment *p, int t) {
    return (double)(t == p->steps ? p->root_value : m->step[p->environment][p->first + t].root_value);
}
static inline int model_player(const model *m, const model_segment *p, int t) {
    return t == p->steps ? p->to_play : m->step[p->environment][p->first + t].to_play;
}

/* n of a step of a segment: one less for every td_interval steps of age (docs/spec/learning.md 1.6). Where environments
 * are out of step, a step may count as later than the last one; it has age 0. */
static inline int model_td_steps(const model *m, const model_segment *p, int t) {
    int64_t index = (int64_t)(p->first + t) * m->config.environments + p->environment, age = m->collected - index;
    if (m->config.targets.td_interval == 0 || age < 0) return m->config.targets.td_steps;
    int64_t n = m->config.targets.td_steps - age / m->config.targets.td_interval;
    return n < 1 ? 1 : (int)n;
}

/* The n-step return of position t of a segment (docs/spec/learning.md 1.1, 1.2); *at: its bootstrap, -1 if
 * none. */
static inline double model_return(const model *m, const model_segment *p, int t, int n, int *at) {
    const model_step *s = &m->step[p->environment][p->first];
    double sum = 0.0;
    int end = t + n < p->steps ? t + n : p->steps;
    *at = -1;
    for (int i = t; i < end; i++) {
        double sign = model_player(m, p, i) == model_player(m, p, t) ? 1.0 : -1.0;
        if (s[i].explored) return sum + sign * pow(m->config.targets.discount, i - t) * (double)s[i].root_value;
        sum += sign * pow(m->config.targets.discount, i - t) * (double)s[i].reward;
    }
    if (end == p->steps && p->terminated) return sum;
    double sign = model_player(m, p, end) == model_player(m, p, t) ? 1.0 : -1.0;
    *at = end;
    return sum + sign * pow(m->config.targets.discount, end - t) * model_value(m, p, end);
}

#endif
