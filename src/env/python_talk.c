#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "env/atari.h"
#include "env/python_internal.h"

enum { REPLY_AT = offsetof(cm_python_state, reward) };
enum { FRAME_SIDE = 1024 }; /* pixels of a side at most, as in frames.py */

/* ---- a state ---- */

size_t cm_python_observation_bytes(const cm_python_env *e) {
    return (size_t)e->said.spec.observation_size * (e->said.spec.observation_unit > 0.0f ? 1 : sizeof(float));
}

/* What a state keeps of a reply: the outcome, the observation, the mask. */
static size_t kept_bytes(const cm_python_env *e) {
    const size_t bytes = sizeof(cm_python_state) - REPLY_AT + cm_python_observation_bytes(e);
    return bytes + (e->said.has_mask ? (size_t)e->said.spec.actions : 0);
}

static size_t reply_bytes(const cm_python_env *e) {
    return cm_python_has_screens(e) ? cm_atari_reply_bytes(e) : kept_bytes(e);
}

size_t cm_python_record_at(const cm_python_env *e) { return (REPLY_AT + kept_bytes(e) + 7) / 8 * 8; }

size_t cm_python_action_bytes(const cm_python_env *e) {
    return e->said.spec.action_size > 0 ? (size_t)e->said.spec.action_size * sizeof(float) : sizeof(int32_t);
}

size_t cm_python_state_bytes(const cm_env_params *params) {
    const cm_python_env *e = cm_python_env_of(params);
    const size_t actions = (size_t)params->max_steps + cm_python_has_screens(e); /* a no-op may follow a lost life */
    return (cm_python_record_at(e) + actions * cm_python_action_bytes(e) + 7) / 8 * 8;
}

char *cm_python_next_action(const cm_python_env *e, cm_python_state *s) {
    return (char *)s + cm_python_record_at(e) + (size_t)s->steps * cm_python_action_bytes(e);
}

/* The position after one more action: numbers of different histories differ (mixed as in SplitMix64). */
static uint64_t mix(uint64_t key, uint64_t number) {
    uint64_t z = key + number + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t mix_action(uint64_t key, const char *action, size_t bytes) {
    uint32_t word;
    for (size_t at = 0; at < bytes; at += sizeof word) {
        memcpy(&word, action + at, sizeof word);
        key = mix(key, word);
    }
    return key;
}

uint64_t cm_python_key(const cm_python_env *e, const cm_python_state *s, int count) {
    const char *actions = (const char *)s + cm_python_record_at(e);
    return mix_action(mix(s->seed, 0), actions, (size_t)count * cm_python_action_bytes(e));
}

/* ---- a process ---- */

/* Episodes are spread over the processes by their seeds. */
static int worker_of(const cm_python_env *e, const cm_python_state *s) {
    return e->are_together ? 0 : (int)(s->seed % (uint64_t)e->workers);
}

/* For a talk with its processes. */
static void lock_env(cm_python_env *e, const cm_env_params *params) {
    pthread_mutex_lock(&e->lock);
    e->timeout = params->timeout;
    e->are_together = params->together;
}

enum { LARGE = 1024 }; /* bytes of a reply from which on it is read from shared memory, as in serve.py */

void cm_python_share(const cm_python_env *e, cm_worker *worker) {
    if (reply_bytes(e) > LARGE) cm_worker_share(worker, CM_ENV_TOGETHER, reply_bytes(e));
}

static cm_status start_worker(cm_python_env *e, int index) {
    cm_worker *worker;
    char *description;
    size_t bytes;
    if (e->worker[index]) return CM_OK;
    CM_TRY(cm_worker_start(e->path, e->timeout, &worker, &description, &bytes));
    const bool is_same = strcmp(description, e->description) == 0;
    free(description);
    if (is_same) {
        cm_python_share(e, worker);
        e->worker[index] = worker;
        return CM_OK;
    }
    cm_worker_stop(worker);
    return cm_fail(CM_ERR_INPUT, "%s: has changed since it was opened; begin again", e->path);
}

/* The first error of all is kept for cm_env_def.failure; no function of a row returns one. */
static void keep_error(cm_python_env *e, cm_status status) {
    if (status == CM_OK || e->status != CM_OK) return;
    e->status = status;
    snprintf(e->failed, sizeof e->failed, "%s", cm_error_message());
}

static void fail(cm_python_env *e, cm_python_state *s, cm_status status) {
    s->failed = 1;
    s->reward = (double)NAN;
    keep_error(e, status);
}

cm_status cm_python_check_flags(const cm_python_env *e, const cm_python_state *s) {
    const uint8_t *mask = cm_python_observation(s) + cm_python_observation_bytes(e);
    if (cm_python_has_screens(e)) {
        CM_TRY(cm_atari_check_flags(s));
    } else {
        CM_TRY(cm_env_check_int("its player", s->to_play, 0, e->said.spec.players - 1));
    }
    CM_TRY(cm_env_check_int("its mark of an end", s->terminated, 0, 1));
    CM_TRY(cm_env_check_int("its mark of a truncation", s->truncated, 0, 1));
    for (int a = 0; e->said.has_mask && a < e->said.spec.actions; a++)
        CM_TRY(cm_env_check_int("a flag of its legal actions", mask[a], 0, 1));
    return CM_OK;
}

/* The answer to request k of a message, a reset, a step or a replay, goes into the state. */
static cm_status receive_outcome(cm_python_env *e, cm_python_state *s, int k, bool *is_missing) {
    cm_worker *worker = e->worker[worker_of(e, s)];
    const uint8_t *slot = cm_worker_slot(worker, k);
    const bool has_screens = cm_python_has_screens(e);
    uint8_t *reply = has_screens ? e->screens : (uint8_t *)s + REPLY_AT;
    size_t bytes = reply_bytes(e);
    CM_TRY(cm_worker_receive(worker, reply, &bytes, is_missing));
    if (*is_missing) return CM_OK;
    const bool is_in_slot = bytes == 0 && slot;
    if (is_in_slot) bytes = reply_bytes(e);
    if (has_screens && bytes == reply_bytes(e)) {
        cm_atari_take(e, s, is_in_slot ? slot : reply);
    } else if (is_in_slot) {
        memcpy(reply, slot, bytes);
    }
    if (bytes != reply_bytes(e)) return cm_fail(CM_ERR_IO, "%zu bytes of an outcome, not %zu", bytes, reply_bytes(e));
    return cm_python_check_flags(e, s) == CM_OK ? CM_OK : cm_fail_in(CM_ERR_IO, "an outcome that is none");
}

static cm_status ask_outcome(cm_python_env *e, cm_python_state *s, const cm_worker_request *request) {
    const int index = worker_of(e, s);
    bool is_missing;
    CM_TRY(start_worker(e, index));
    CM_TRY(cm_worker_send(e->worker[index], request, 1, e->timeout));
    return receive_outcome(e, s, 0, &is_missing);
}

/* ---- what is asked for ---- */

void cm_python_begin(const cm_env_params *params, cm_python_state *s, uint64_t seed) {
    cm_python_env *e = cm_python_env_of(params);
    const uint64_t before = s->key;
    memset(s, 0, cm_python_has_screens(e) ? cm_python_state_bytes(params) : cm_python_record_at(e));
    s->seed = seed;
    s->key = mix(s->seed, 0);
    const cm_worker_request request = {CM_WORKER_RESET, before, s->key, s->seed, NULL, 0, params->fresh};
    lock_env(e, params);
    cm_status status = ask_outcome(e, s, &request);
    if (status != CM_OK) fail(e, s, status);
    pthread_mutex_unlock(&e->lock);
}

/* States that are stepped together, one after another. */
typedef struct steps {
    cm_python_env *e;
    char *rules;
    size_t size; /* of a state */
    int count;
    bool is_fresh;
} steps;

static steps steps_of(const cm_env_params *params, void *rules, int count) {
    cm_python_env *e = cm_python_env_of(params);
    const size_t size = cm_env_stride(params, cm_python_state_bytes(params));
    return (steps){.e = e, .rules = (char *)rules, .size = size, .count = count, .is_fresh = params->fresh};
}

static cm_python_state *state_at(const steps *s, int k) {
    return (cm_python_state *)(void *)(s->rules + (size_t)k * s->size);
}

static cm_worker_request step_of(const steps *t, cm_python_state *s) {
    const size_t bytes = cm_python_action_bytes(t->e);
    const char *action = cm_python_next_action(t->e, s);
    const uint64_t next = mix_action(s->key, action, bytes);
    return (cm_worker_request){CM_WORKER_STEP, s->key, next, s->seed, action, bytes, t->is_fresh};
}

/* What one process has to do, in one message. */
static cm_status send_steps(const steps *t, int index) {
    cm_worker_request request[CM_ENV_TOGETHER];
    int count = 0;
    for (int k = 0; k < t->count; k++) {
        cm_python_state *s = state_at(t, k);
        if (!s->failed && worker_of(t->e, s) == index) request[count++] = step_of(t, s);
    }
    if (count == 0) return CM_OK;
    CM_TRY(start_worker(t->e, index));
    return cm_worker_send(t->e->worker[index], request, count, t->e->timeout);
}

/* `sent`: to each process; `missing`: these were not alive there and are played again, which takes longer. */
static void receive_steps(const steps *t, const cm_status *sent, bool *missing) {
    int received[CM_PYTHON_WORKERS] = {0};
    for (int k = 0; k < t->count; k++) {
        cm_python_state *s = state_at(t, k);
        missing[k] = false;
        if (s->failed) continue;
        const int index = worker_of(t->e, s);
        cm_status status = sent[index];
        if (status == CM_OK) status = receive_outcome(t->e, s, received[index]++, &missing[k]);
        if (status != CM_OK) fail(t->e, s, status);
    }
}

static void replay_missing(const steps *t, const bool *missing) {
    for (int k = 0; k < t->count; k++) {
        cm_python_state *s = state_at(t, k);
        if (!missing[k]) continue;
        cm_worker_request request = step_of(t, s);
        request.what = CM_WORKER_REPLAY;
        request.data = (const char *)s + cm_python_record_at(t->e);
        request.data_bytes = (size_t)(s->steps + 1) * cm_python_action_bytes(t->e);
        cm_status status = ask_outcome(t->e, s, &request);
        if (status != CM_OK) fail(t->e, s, status);
    }
}

void cm_python_advance(const cm_env_params *params, void *rules, int count, cm_env_outcome *out) {
    const steps t = steps_of(params, rules, count);
    cm_status sent[CM_PYTHON_WORKERS] = {CM_OK};
    bool missing[CM_ENV_TOGETHER];
    lock_env(t.e, params);
    for (int i = 0; i < t.e->workers; i++) {
        sent[i] = send_steps(&t, i);
        keep_error(t.e, sent[i]);
    }
    receive_steps(&t, sent, missing);
    replay_missing(&t, missing);
    pthread_mutex_unlock(&t.e->lock);
    for (int k = 0; k < count; k++) {
        cm_python_state *s = state_at(&t, k);
        if (!s->failed) s->key = step_of(&t, s).next;
        s->steps++;
        out[k] = (cm_env_outcome){s->reward, s->terminated != 0, s->truncated != 0};
        if (cm_python_has_screens(t.e)) cm_atari_judge(params, s, &out[k]);
    }
}

/* A picture of a state, as text or as pixels; *bytes are what there is space for, then what there is. */
static cm_status ask_picture(cm_python_env *e, const cm_python_state *s, cm_worker_what what, bool is_fresh, void *out,
                             size_t *bytes) {
    const cm_worker_request request = {what,
                                       s->key,
                                       s->key,
                                       s->seed,
                                       (const char *)s + cm_python_record_at(e),
                                       (size_t)s->steps * cm_python_action_bytes(e),
                                       is_fresh};
    const int index = worker_of(e, s);
    bool is_missing;
    CM_TRY(start_worker(e, index));
    CM_TRY(cm_worker_send(e->worker[index], &request, 1, e->timeout));
    return cm_worker_receive(e->worker[index], out, bytes, &is_missing);
}

/* One that render has ended, or that has not come back from there: another one plays on in its place, and is not asked.
 */
static void replace_worker(cm_python_env *e, int index) {
    cm_worker_stop(e->worker[index]);
    e->worker[index] = NULL;
    e->said.shows = false;
    e->has_no_frames = true;
}

size_t cm_python_show(const cm_env_params *params, const cm_python_state *s, char *text, size_t size) {
    cm_python_env *e = cm_python_env_of(params);
    size_t bytes = size - 1;
    if (!e->said.shows || s->failed) return 0;
    lock_env(e, params);
    const cm_status status = ask_picture(e, s, CM_WORKER_SHOW, params->fresh, text, &bytes);
    if (status != CM_OK && !e->is_shown_amiss)
        cm_log(CM_WARNING, "%s: %s; its numbers are shown", e->name, cm_error_message());
    e->is_shown_amiss |= status != CM_OK;
    if (status == CM_ERR_IO) replace_worker(e, worker_of(e, s));
    pthread_mutex_unlock(&e->lock);
    return status == CM_OK ? bytes : 0;
}

/* Pixels of a frame that came, or NULL. */
static uint8_t *pixels_of(uint8_t *frame, size_t bytes, int *width, int *height) {
    int32_t sides[2] = {0, 0};
    if (bytes >= sizeof sides) memcpy(sides, frame, sizeof sides);
    *height = sides[0], *width = sides[1];
    const bool is_whole = sides[0] > 0 && sides[0] <= FRAME_SIDE && sides[1] > 0 && sides[1] <= FRAME_SIDE &&
                          bytes == sizeof sides + 3 * (size_t)sides[0] * (size_t)sides[1];
    if (is_whole) {
        memmove(frame, frame + sizeof sides, bytes - sizeof sides);
        return frame;
    }
    free(frame);
    return NULL;
}

static uint8_t *ask_frame(cm_python_env *e, const cm_python_state *s, bool is_fresh, int *width, int *height) {
    size_t bytes = 2 * sizeof(int32_t) + 3 * (size_t)FRAME_SIDE * FRAME_SIDE;
    uint8_t *frame = malloc(bytes);
    if (!frame) return NULL;
    const cm_status status = ask_picture(e, s, CM_WORKER_FRAME, is_fresh, frame, &bytes);
    if (status == CM_OK) return pixels_of(frame, bytes, width, height);
    cm_log(CM_WARNING, "%s: %s; its pictures are made without it", e->name, cm_error_message());
    if (status == CM_ERR_IO) replace_worker(e, worker_of(e, s));
    free(frame);
    return NULL;
}

uint8_t *cm_python_frame(const cm_env_params *params, const cm_python_state *s, int *width, int *height) {
    cm_python_env *e = cm_python_env_of(params);
    lock_env(e, params);
    uint8_t *pixels = e->has_no_frames || s->failed ? NULL : ask_frame(e, s, params->fresh, width, height);
    e->has_no_frames |= pixels == NULL;
    pthread_mutex_unlock(&e->lock);
    return pixels;
}
