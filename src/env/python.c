#include "env/python.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"
#include "core/json.h"
#include "core/log.h"
#include "env/advice.h"
#include "env/board.h"
#include "env/printed.h"
#include "env/python_spec.h"
#include "env/worker.h"

enum { MOST_OPEN = 16, MOST_WORKERS = 64 };

/* A name that could not be opened just now: who asks again at once, as each option does whether it is read, need not
 * wait for another process to fail. */
typedef struct failure_of {
    char path[512], message[1024];
    cm_status status;
    double until; /* seconds of the clock */
} failure_of;

/* Of one name: what it is and the processes that play it. None is ever closed before the program ends. */
typedef struct python_env {
    char path[512], name[32], *description; /* what the first process says of it */
    cm_env_def def;
    cm_python_spec said;
    bool is_shown_amiss, is_endless; /* which has been said */
    pthread_mutex_t lock;            /* held by who talks to a process; of what follows */
    double timeout;                  /* of who does */
    bool are_together;               /* of who does, too */
    cm_worker *worker[MOST_WORKERS]; /* started as they are needed */
    int workers;                     /* at most */
    char failed[512];                /* the first error of a step, of all threads */
    cm_status status;
} python_env;

static python_env *envs[MOST_OPEN];
static int env_count;
static failure_of latest;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* A state: this, the observation in float32 or, where it has a unit, in bytes, uint8[A] where there are masks, and
 * behind them, aligned to 8, the actions: int32 each, or float[D]. What stands between `reward` and them is a reply as
 * it comes.
 */
typedef struct python_rules {
    uint64_t seed, key; /* of the episode, and of where it stands */
    int32_t steps, failed;
    double reward;
    int32_t to_play;
    uint8_t terminated, truncated, unused[2];
} python_rules;

enum { REPLY_AT = offsetof(python_rules, reward) };

static python_env *env_of(const cm_env_params *params) { return envs[params->python - 1]; }

static size_t observation_bytes(const python_env *e) {
    return (size_t)e->said.spec.observation_size * (e->said.spec.observation_unit > 0.0f ? 1 : sizeof(float));
}

static size_t reply_bytes(const python_env *e) {
    const size_t bytes = sizeof(python_rules) - REPLY_AT + observation_bytes(e);
    return bytes + (e->said.has_mask ? (size_t)e->said.spec.actions : 0);
}

static size_t record_at(const python_env *e) { return (REPLY_AT + reply_bytes(e) + 7) / 8 * 8; }

static size_t action_bytes(const python_env *e) {
    return e->said.spec.action_size > 0 ? (size_t)e->said.spec.action_size * sizeof(float) : sizeof(int32_t);
}

static size_t rules_bytes(const python_env *e, int max_steps) {
    return (record_at(e) + (size_t)max_steps * action_bytes(e) + 7) / 8 * 8;
}

static const uint8_t *observation_of(const void *rules) { return (const uint8_t *)rules + sizeof(python_rules); }

static float number_of(const python_env *e, const void *rules, int i) {
    const uint8_t *bytes = observation_of(rules);
    const float unit = e->said.spec.observation_unit;
    return unit > 0.0f ? (float)bytes[i] * unit : ((const float *)(const void *)bytes)[i];
}

/* ---- processes ---- */

static void stop_all(void) {
    for (int i = 0; i < env_count; i++)
        for (int k = 0; k < MOST_WORKERS; k++) cm_worker_dismiss(envs[i]->worker[k]);
    for (int i = 0; i < env_count; i++)
        for (int k = 0; k < MOST_WORKERS; k++) cm_worker_stop(envs[i]->worker[k]);
    cm_printed_end();
}

/* Episodes are spread over the processes by their seeds. */
static int worker_of(const python_env *e, const python_rules *s) {
    return e->are_together ? 0 : (int)(s->seed % (uint64_t)e->workers);
}

/* For a talk with its processes. */
static void lock_env(python_env *e, const cm_env_params *params) {
    pthread_mutex_lock(&e->lock);
    e->timeout = params->timeout;
    e->are_together = params->together;
}

static cm_status start_worker(python_env *e, int index) {
    cm_worker *worker;
    char *description;
    size_t bytes;
    if (e->worker[index]) return CM_OK;
    CM_TRY(cm_worker_start(e->path, e->timeout, &worker, &description, &bytes));
    const bool is_same = strcmp(description, e->description) == 0;
    free(description);
    if (is_same) {
        e->worker[index] = worker;
        return CM_OK;
    }
    cm_worker_stop(worker);
    return cm_fail(CM_ERR_INPUT, "%s: has changed since it was opened; begin again", e->path);
}

/* The position behind one more action: numbers of different histories differ (mixed as in SplitMix64). */
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

/* The first error of all is kept for cm_env_def.failure; no function of a row returns one. */
static void keep_error(python_env *e, cm_status status) {
    if (status == CM_OK || e->status != CM_OK) return;
    e->status = status;
    snprintf(e->failed, sizeof e->failed, "%s", cm_error_message());
}

static void fail(python_env *e, python_rules *s, cm_status status) {
    s->failed = 1;
    s->reward = (double)NAN;
    keep_error(e, status);
}

/* Other code counts by the player and the legal actions. */
static cm_status check_flags(const python_env *e, const python_rules *s) {
    const uint8_t *mask = observation_of(s) + observation_bytes(e);
    CM_TRY(cm_env_check_int("its player", s->to_play, 0, e->said.spec.players - 1));
    CM_TRY(cm_env_check_int("its mark of an end", s->terminated, 0, 1));
    CM_TRY(cm_env_check_int("its mark of a truncation", s->truncated, 0, 1));
    for (int a = 0; e->said.has_mask && a < e->said.spec.actions; a++)
        CM_TRY(cm_env_check_int("a flag of its legal actions", mask[a], 0, 1));
    return CM_OK;
}

/* The answer to a reset, a step or a replay goes into the state. */
static cm_status receive_outcome(python_env *e, python_rules *s, bool *is_missing) {
    size_t bytes = reply_bytes(e);
    CM_TRY(cm_worker_receive(e->worker[worker_of(e, s)], (char *)s + REPLY_AT, &bytes, is_missing));
    if (*is_missing) return CM_OK;
    if (bytes != reply_bytes(e)) return cm_fail(CM_ERR_IO, "%zu bytes of an outcome, not %zu", bytes, reply_bytes(e));
    return check_flags(e, s) == CM_OK ? CM_OK : cm_fail_in(CM_ERR_IO, "an outcome that is none");
}

static cm_status ask_outcome(python_env *e, python_rules *s, const cm_worker_request *request) {
    const int index = worker_of(e, s);
    bool is_missing;
    CM_TRY(start_worker(e, index));
    CM_TRY(cm_worker_send(e->worker[index], request, 1, e->timeout));
    return receive_outcome(e, s, &is_missing);
}

/* ---- the row ---- */

/* An episode needs one: states keep the actions that led to them. */
static int limit_of(const cm_env_params *params) {
    enum { LIMIT = 10000 };
    python_env *e = env_of(params);
    const int limit = params->max_steps > 0 ? params->max_steps : e->said.spec.max_steps;
    if (limit > 0) return limit;
    if (!e->is_endless)
        cm_log(CM_WARNING,
               "%s has no limit on the steps of an episode, so %d is taken: --set max_steps=500, or max_steps = 500 in "
               "its class, is another one",
               e->name, LIMIT);
    e->is_endless = true;
    return LIMIT;
}

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    const python_env *e = env_of(params);
    *spec = e->said.spec;
    if (spec->action_size > 0 && params->action_bins > 0) spec->action_bins = params->action_bins;
    spec->max_steps = limit_of(params);
    spec->rules_size = rules_bytes(e, spec->max_steps);
    return CM_OK;
}

/* The record is as long as the episode. */
static size_t used(const cm_env_params *params, int steps) {
    const python_env *e = env_of(params);
    return record_at(e) + (size_t)steps * action_bytes(e);
}

/* What reset(seed=...) takes is below INT32_MAX. */
static void begin(const cm_env_params *params, python_rules *s, uint64_t seed) {
    python_env *e = env_of(params);
    const uint64_t before = s->key;
    memset(s, 0, used(params, 0));
    s->seed = seed;
    s->key = mix(s->seed, 0);
    const cm_worker_request request = {CM_WORKER_RESET, before, s->key, s->seed, NULL, 0};
    lock_env(e, params);
    cm_status status = ask_outcome(e, s, &request);
    if (status != CM_OK) fail(e, s, status);
    pthread_mutex_unlock(&e->lock);
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    begin(params, (python_rules *)rules, cm_pcg64_below(random, INT32_MAX));
}

/* As the user has it. */
static void reset_to(const cm_env_params *params, void *rules, uint64_t seed) {
    cm_pcg64 random;
    cm_pcg64_seed(&random, seed);
    begin(params, (python_rules *)rules, seed < INT32_MAX ? seed : (uint64_t)cm_pcg64_below(&random, INT32_MAX));
}

/* States that are stepped together, one behind another. */
typedef struct steps {
    const cm_env_params *params;
    python_env *e;
    char *rules;
    size_t size; /* of a state */
    int count;
} steps;

static steps steps_of(const cm_env_params *params, void *rules, int count) {
    python_env *e = env_of(params);
    const size_t size = rules_bytes(e, params->max_steps);
    return (steps){.params = params, .e = e, .rules = (char *)rules, .size = size, .count = count};
}

static python_rules *state_at(const steps *s, int k) {
    return (python_rules *)(void *)(s->rules + (size_t)k * s->size);
}

/* The action that state k is to take comes behind those that it has taken. */
static void record(const steps *t, int k, const void *action) {
    python_rules *s = state_at(t, k);
    const size_t bytes = action_bytes(t->e);
    memcpy((char *)s + record_at(t->e) + (size_t)s->steps * bytes, action, bytes);
}

static cm_worker_request step_of(const python_env *e, const python_rules *s) {
    const size_t bytes = action_bytes(e);
    const char *action = (const char *)s + record_at(e) + (size_t)s->steps * bytes;
    return (cm_worker_request){CM_WORKER_STEP, s->key, mix_action(s->key, action, bytes), s->seed, action, bytes};
}

/* What one process has to do, in one message. */
static cm_status send_steps(const steps *t, int index) {
    cm_worker_request request[CM_ENV_TOGETHER];
    int count = 0;
    for (int k = 0; k < t->count; k++) {
        const python_rules *s = state_at(t, k);
        if (!s->failed && worker_of(t->e, s) == index) request[count++] = step_of(t->e, s);
    }
    if (count == 0) return CM_OK;
    CM_TRY(start_worker(t->e, index));
    return cm_worker_send(t->e->worker[index], request, count, t->e->timeout);
}

/* `sent`: to each process; `missing`: these were not alive there and are played again, which takes longer. */
static void receive_steps(const steps *t, const cm_status *sent, bool *missing) {
    for (int k = 0; k < t->count; k++) {
        python_rules *s = state_at(t, k);
        missing[k] = false;
        if (s->failed) continue;
        cm_status status = sent[worker_of(t->e, s)];
        if (status == CM_OK) status = receive_outcome(t->e, s, &missing[k]);
        if (status != CM_OK) fail(t->e, s, status);
    }
}

static void replay_missing(const steps *t, const bool *missing) {
    for (int k = 0; k < t->count; k++) {
        python_rules *s = state_at(t, k);
        if (!missing[k]) continue;
        cm_worker_request request = step_of(t->e, s);
        request.what = CM_WORKER_REPLAY;
        request.data = (const char *)s + record_at(t->e);
        request.data_bytes = (size_t)(s->steps + 1) * action_bytes(t->e);
        cm_status status = ask_outcome(t->e, s, &request);
        if (status != CM_OK) fail(t->e, s, status);
    }
}

/* The actions are in the records already. */
static void advance(const steps *t, cm_env_outcome *out) {
    cm_status sent[MOST_WORKERS] = {CM_OK};
    bool missing[CM_ENV_TOGETHER];
    lock_env(t->e, t->params);
    for (int i = 0; i < t->e->workers; i++) {
        sent[i] = send_steps(t, i);
        keep_error(t->e, sent[i]);
    }
    receive_steps(t, sent, missing);
    replay_missing(t, missing);
    pthread_mutex_unlock(&t->e->lock);
    for (int k = 0; k < t->count; k++) {
        python_rules *s = state_at(t, k);
        if (!s->failed) s->key = step_of(t->e, s).next;
        s->steps++;
        out[k] = (cm_env_outcome){s->reward, s->terminated != 0, s->truncated != 0};
    }
}

static void step_together(const cm_env_params *params, void *rules, int count, const int32_t *action,
                          const float *value, cm_env_outcome *out) {
    const steps t = steps_of(params, rules, count);
    const size_t size = (size_t)t.e->said.spec.action_size;
    for (int k = 0; k < count; k++)
        record(&t, k, size > 0 ? (const void *)(value + (size_t)k * size) : (const void *)(action + k));
    advance(&t, out);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    const steps t = steps_of(params, rules, 1);
    const int32_t number = action;
    cm_env_outcome out;
    (void)random;
    record(&t, 0, &number);
    advance(&t, &out);
    return out;
}

static cm_env_outcome step_value(const cm_env_params *params, void *rules, const float *value) {
    const steps t = steps_of(params, rules, 1);
    cm_env_outcome out;
    record(&t, 0, value);
    advance(&t, &out);
    return out;
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    const python_env *e = env_of(params);
    const uint8_t *bytes = observation_of(rules);
    const float unit = e->said.spec.observation_unit;
    if (unit > 0.0f) {
        for (int i = 0, count = e->said.spec.observation_size; i < count; i++) observation[i] = (float)bytes[i] * unit;
    } else {
        memcpy(observation, bytes, observation_bytes(e));
    }
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    const python_env *e = env_of(params);
    const bool has_failed = ((const python_rules *)rules)->failed != 0; /* the next step says so */
    memcpy(mask, observation_of(rules) + observation_bytes(e), (size_t)e->said.spec.actions);
    if (has_failed) memset(mask, 1, (size_t)e->said.spec.actions);
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return ((const python_rules *)rules)->to_play;
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    snprintf(text, size, "%s", env_of(params)->said.action_names[action]);
}

static cm_status failure(const cm_env_params *params, const void *rules) {
    python_env *e = env_of(params);
    if (!((const python_rules *)rules)->failed) return CM_OK;
    pthread_mutex_lock(&e->lock);
    const cm_status status = cm_fail(e->status, "%s", e->failed);
    pthread_mutex_unlock(&e->lock);
    return status;
}

/* Numbers are finite, as those of its process are. */
static cm_status check_reply(const python_env *e, const python_rules *s) {
    CM_TRY(cm_env_check_real("its reward", s->reward, -DBL_MAX, DBL_MAX));
    CM_TRY(check_flags(e, s));
    for (int i = 0; i < e->said.spec.observation_size; i++)
        CM_TRY(cm_env_check_real("a number of its observation", (double)number_of(e, s, i), -(double)FLT_MAX,
                                 (double)FLT_MAX));
    return CM_OK;
}

static cm_status check_action(const python_env *e, const char *action) {
    int32_t number;
    float value[CM_ENV_MAX_NUMBERS];
    if (e->said.spec.action_size == 0) {
        memcpy(&number, action, sizeof number);
        return cm_env_check_int("an action of its episode", number, 0, e->said.spec.actions - 1);
    }
    memcpy(value, action, action_bytes(e));
    for (int d = 0; d < e->said.spec.action_size; d++)
        CM_TRY(cm_env_check_real("a number of an action of its episode", (double)value[d],
                                 (double)e->said.spec.action_low, (double)e->said.spec.action_high));
    return CM_OK;
}

static cm_status check(const cm_env_params *params, const void *rules, int count, bool ended) {
    const python_env *e = env_of(params);
    const python_rules *s = (const python_rules *)rules;
    const char *action = (const char *)s + record_at(e);
    (void)ended;
    if (s->seed >= INT32_MAX) return cm_fail(CM_ERR_INPUT, "its seed is %llu", (unsigned long long)s->seed);
    CM_TRY(cm_env_check_int("the number of its actions", s->steps, count, count));
    CM_TRY(cm_env_check_int("its mark of a failure", s->failed, 0, 0));
    CM_TRY(check_reply(e, s));
    uint64_t key = mix(s->seed, 0);
    for (int i = 0; i < count; i++, action += action_bytes(e)) {
        CM_TRY(check_action(e, action));
        key = mix_action(key, action, action_bytes(e));
    }
    return key == s->key ? CM_OK : cm_fail(CM_ERR_INPUT, "its key is not that of its seed and actions");
}

/* What render() returns, if that is text; *bytes are what there is room for, then what there is. */
static cm_status ask_picture(python_env *e, const python_rules *s, char *text, size_t *bytes) {
    const cm_worker_request request = {
        CM_WORKER_SHOW, s->key, s->key, s->seed, (const char *)s + record_at(e), (size_t)s->steps * action_bytes(e)};
    const int index = worker_of(e, s);
    bool is_missing;
    CM_TRY(start_worker(e, index));
    CM_TRY(cm_worker_send(e->worker[index], &request, 1, e->timeout));
    return cm_worker_receive(e->worker[index], text, bytes, &is_missing);
}

/* One that render has ended, or that has not come back from there: another one plays on in its place, and is not asked.
 */
static void replace_worker(python_env *e, int index) {
    cm_worker_stop(e->worker[index]);
    e->worker[index] = NULL;
    e->said.shows = false;
}

static size_t show(const cm_env_params *params, const python_rules *s, char *text, size_t size) {
    python_env *e = env_of(params);
    size_t bytes = size - 1;
    if (!e->said.shows || s->failed) return 0;
    lock_env(e, params);
    const cm_status status = ask_picture(e, s, text, &bytes);
    if (status != CM_OK && !e->is_shown_amiss)
        cm_log(CM_WARNING, "%s: %s; its numbers are shown", e->name, cm_error_message());
    e->is_shown_amiss |= status != CM_OK;
    if (status == CM_ERR_IO) replace_worker(e, worker_of(e, s));
    pthread_mutex_unlock(&e->lock);
    return status == CM_OK ? bytes : 0;
}

/* Its own picture, else the first numbers of its observation. */
static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    enum { LINES = 12, EACH = 4 };
    python_env *e = env_of(params);
    const python_rules *s = (const python_rules *)rules;
    const size_t shown = show(params, s, text, size);
    text[shown] = '\0';
    for (int i = 0; shown == 0 && i < e->said.spec.observation_size && i < LINES * EACH; i += EACH) {
        char line[EACH * 10 + 1] = "";
        for (int k = i; k < i + EACH && k < e->said.spec.observation_size; k++)
            snprintf(line + strlen(line), sizeof line - strlen(line), " %8.3g", (double)number_of(e, s, k));
        cm_picture_line(text, size, "%s", line);
    }
}

static void make_row(python_env *e) {
    e->def = (cm_env_def){.name = e->name,
                          .about = "an environment in Python",
                          .options = CM_ENV_MAX_STEPS,
                          .describe = describe,
                          .reset = reset,
                          .reset_to = reset_to,
                          .observe = observe,
                          .picture = picture,
                          .step_together = step_together,
                          .failure = failure,
                          .check = check,
                          .used = used};
    if (e->said.spec.action_size > 0) {
        e->def.step_value = step_value;
        e->def.options |= CM_ENV_ACTION_BINS;
    } else {
        e->def.step = step;
    }
    if (e->said.has_mask) e->def.legal = legal;
    if (e->said.spec.players == 2) e->def.to_play = to_play;
    if (e->said.action_names) e->def.action_name = action_name;
}

/* ---- opening ---- */

static const char gymnasium[] = "gymnasium:", ending[] = ".py";

static bool is_registered(const char *name) { return strncmp(name, gymnasium, sizeof gymnasium - 1) == 0; }

bool cm_env_is_python(const char *name) {
    const size_t length = strlen(name), rest = sizeof ending - 1;
    return is_registered(name) || (length > rest && strcmp(name + length - rest, ending) == 0);
}

bool cm_env_is_file(const char *name) {
    return cm_env_is_library(name) || (cm_env_is_python(name) && !is_registered(name));
}

/* "LunarLander-v3" of "gymnasium:LunarLander-v3", "Pong-v5" of "gymnasium:ale_py:ALE/Pong-v5", "grid" of "./grid.py".
 */
static void name_env(const char *path, char *out, size_t size) {
    const char *from = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == ':') from = c + 1;
    snprintf(out, size, "%s", from);
    const size_t length = strlen(out), rest = sizeof ending - 1;
    if (length > rest && strcmp(out + length - rest, ending) == 0) out[length - rest] = '\0';
}

static cm_status open_env(python_env *e, const char *path, double timeout) {
    size_t bytes = 0;
    cm_json_doc *document = NULL;
    snprintf(e->path, sizeof e->path, "%s", path);
    name_env(path, e->name, sizeof e->name);
    pthread_mutex_init(&e->lock, NULL);
    e->workers = cm_cpu_count() < MOST_WORKERS ? cm_cpu_count() : MOST_WORKERS;
    cm_status status = cm_worker_start(path, timeout, &e->worker[0], &e->description, &bytes);
    if (status != CM_OK) return cm_env_advise_package(path); /* the user's choice */
    status = cm_json_parse(e->description, bytes, e->name, &document);
    if (status == CM_OK) {
        status = cm_python_spec_read(cm_json_root(document), &e->said);
        if (status != CM_OK) status = cm_fail_in(status, "%s", e->name);
    }
    if (status == CM_OK) make_row(e);
    cm_json_free(document);
    return status;
}

static void close_env(python_env *e) {
    cm_worker_stop(e->worker[0]);
    pthread_mutex_destroy(&e->lock);
    free(e->said.action_names);
    free(e->description);
    free(e);
}

static cm_status open_another(const char *name, double timeout) {
    python_env *e;
    if (!is_registered(name) && !cm_file_is_regular(name))
        return cm_fail(CM_ERR_INPUT,
                       "%s: there is no such file; if it has moved, say where it is with --set env_name=PATH", name);
    if (strlen(name) >= sizeof e->path)
        return cm_fail(CM_ERR_INPUT, "%.64s...: a path of more than %zu characters", name, sizeof e->path - 1);
    if (env_count == MOST_OPEN)
        return cm_fail(CM_ERR_INPUT, "%s: %d other environments in Python are open; no more can be", name, MOST_OPEN);
    CM_TRY(cm_alloc(&e, 1, sizeof *e, "an environment in Python"));
    cm_status status = open_env(e, name, timeout);
    if (status != CM_OK) {
        close_env(e);
        return status;
    }
    if (env_count == 0) (void)atexit(stop_all);
    envs[env_count++] = e;
    return CM_OK;
}

static cm_status open_unless_failed(const char *name, double timeout) {
    enum { SECONDS = 5 };
    if (strcmp(latest.path, name) == 0 && cm_clock_seconds() < latest.until)
        return cm_fail(latest.status, "%s", latest.message);
    const cm_status status = open_another(name, timeout);
    latest.path[0] = '\0';
    if (status == CM_OK || strlen(name) >= sizeof latest.path) return status;
    snprintf(latest.path, sizeof latest.path, "%s", name);
    snprintf(latest.message, sizeof latest.message, "%s", cm_error_message());
    latest.status = status;
    latest.until = cm_clock_seconds() + SECONDS;
    return status;
}

void cm_env_heed(const cm_stop *stop) { cm_worker_heed(stop); }

cm_status cm_env_open_python(const char *name, double timeout, const cm_env_def **def, int *python) {
    cm_status status = CM_OK;
    int i = 0;
    pthread_mutex_lock(&opening);
    while (i < env_count && strcmp(envs[i]->path, name) != 0) i++;
    if (i == env_count) status = open_unless_failed(name, timeout);
    if (status == CM_OK) {
        *def = &envs[i]->def;
        *python = i + 1;
    }
    pthread_mutex_unlock(&opening);
    return status;
}
