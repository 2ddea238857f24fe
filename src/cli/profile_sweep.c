/* The rate of a training over the values of a key. Keys are gone through one after another, each from where those
 * before it have led; profile_advice.c finds which of the changes are worth it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile.h"
#include "core/arena.h"
#include "core/clock.h"
#include "core/cpu.h"

#define POINT_SECONDS 0.6  /* of a value */
#define WORTH         1.05 /* gain below which a key stays as it is */
#define ABOUT         0.9  /* of the rate as it is, that all processors may have at first */
#define KNEE          0.95 /* of the highest rate */

typedef struct axis {
    const char *key;
    bool is_advised; /* simulations change the strength of play, and are only shown */
    bool takes_last;
    const char *why;
    int (*list)(const cm_profile *p, char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE]);
} axis;

/* Powers of `factor` times `first`, up to `most`, and `now`, in ascending order. */
static int list_powers(int64_t first, int factor, int64_t most, int64_t now,
                       char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE]) {
    int n = 0;
    bool has_now = false;
    for (int64_t v = first; v <= most && n < CM_SWEEP_POINTS - 1; v *= factor) {
        if (!has_now && now <= v) {
            has_now = true;
            if (now < v) snprintf(values[n++], CM_SWEEP_VALUE, "%lld", (long long)now);
        }
        snprintf(values[n++], CM_SWEEP_VALUE, "%lld", (long long)v);
    }
    if (!has_now) snprintf(values[n++], CM_SWEEP_VALUE, "%lld", (long long)now);
    return n;
}

static int list_threads(const cm_profile *p, char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE]) {
    const int processors = cm_cpu_count();
    if (p->is_device) return 0;
    int n = list_powers(1, 2, processors, p->threads, values), last = 0;
    for (int i = 0; i < n; i++) last = atoi(values[i]) > last ? atoi(values[i]) : last;
    if (last < processors && n < CM_SWEEP_POINTS) snprintf(values[n++], CM_SWEEP_VALUE, "%d", processors);
    return n;
}

static int list_environments(const cm_profile *p, char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE]) {
    const int now = p->configuration->env.num_envs, most = p->is_device ? 4096 : 512;
    return list_powers(p->is_device ? 64 : 8, 4, most, now, values);
}

static int list_batches(const cm_profile *p, char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE]) {
    const int now = p->configuration->trainer.batch_size, most = p->is_device ? 4096 : 1024;
    return list_powers(p->is_device ? 64 : 32, 4, most, now, values);
}

static int list_types(const cm_profile *p, char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE]) {
    int n = 0;
    for (int i = 0; i < p->ladder_count && p->ladder[i].dtype != CM_I8; i++) /* which trains in no key */
        snprintf(values[n++], CM_SWEEP_VALUE, "%.16s", cm_dtype_name(p->ladder[i].dtype));
    return n > 1 ? n : 0;
}

static int list_overlap(const cm_profile *p, char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE]) {
    (void)p;
    snprintf(values[0], CM_SWEEP_VALUE, "off");
    snprintf(values[1], CM_SWEEP_VALUE, "on");
    return 2;
}

static int list_simulations(const cm_profile *p, char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE]) {
    const int now = p->configuration->mcts.num_simulations, first = now > 4 ? now / 4 : 1;
    return list_powers(first, 2, 2 * now, now, values);
}

static const axis axes[CM_SWEEPS] = {
    {"threads", true, true, "more processors work; changes no result", list_threads},
    {"num_envs", true, false, "more roots share a pass of the network", list_environments},
    {"batch_size", true, false, "fewer, larger updates of as many positions: learning may want a higher rate",
     list_batches},
    {"model_dtype", true, false, "products of fewer bits", list_types},
    {"overlap", true, false, "acts while it learns, one version of the weights behind", list_overlap},
    {"num_simulations", false, false, "", list_simulations},
};

/* ---- a sweep ---- */

static void value_of(const cm_profile *p, const char *key, char out[CM_SWEEP_VALUE]) {
    char text[CM_OPTION_JSON];
    const cm_option *row;
    for (int i = 0; (row = cm_config_row(p->config, i)) && strcmp(row->key, key) != 0;) i++;
    cm_config_value_text(p->config, row, text);
    const char *bare = text[0] == '"' ? text + 1 : text;
    snprintf(out, CM_SWEEP_VALUE, "%.*s", CM_SWEEP_VALUE - 1, bare);
    out[strcspn(out, "\"")] = '\0';
}

/* More environments take longer to step: an iteration has fewer steps then. */
static int steps_for(const cm_profile *p, int before) {
    const int64_t wanted = (int64_t)p->steps_before * before / p->configuration->env.num_envs;
    return wanted < 1 ? 1 : wanted < p->steps_before ? (int)wanted : p->steps_before;
}

cm_status cm_profile_set(cm_profile *p, const char *key, const char *value) {
    CM_TRY(cm_config_assign(p->config, key, value, "profile"));
    p->steps = steps_for(p, p->environments_before);
    return CM_OK;
}

cm_status cm_profile_rate_of(cm_profile *p, double seconds, double *rate) {
    cm_profile_rate r;
    const cm_status status = cm_profile_measure(p, p->pace * seconds, 0, &r);
    *rate = status == CM_OK ? r.env_steps : 0.0;
    return status == CM_ERR_INTERRUPTED ? status : CM_OK;
}

static double highest(const cm_sweep *s) {
    double most = 0.0;
    for (int i = 0; i < s->count; i++) most = fmax(most, s->point[i].rate);
    return most;
}

static cm_status sweep(cm_profile *p, const axis *a, cm_sweep *s) {
    char values[CM_SWEEP_POINTS][CM_SWEEP_VALUE], now[CM_SWEEP_VALUE];
    const int count = a->list(p, values);
    value_of(p, a->key, now);
    snprintf(s->key, sizeof s->key, "%s", a->key);
    for (int i = 0; i < count; i++) {
        CM_TRY(cm_profile_set(p, a->key, values[i]));
        CM_TRY(cm_profile_rate_of(p, POINT_SECONDS, &s->point[i].rate));
        memcpy(s->point[i].value, values[i], sizeof s->point[i].value);
        s->count++;
    }
    CM_TRY(cm_profile_set(p, a->key, now));
    s->knee = a->is_advised ? 0 : -1;
    while (a->is_advised && s->knee < s->count - 1 && s->point[s->knee].rate < KNEE * highest(s)) s->knee++;
    return CM_OK;
}

static double rate_at(const cm_sweep *s, const char *value) {
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->point[i].value, value) == 0) return s->point[i].rate;
    return 0.0;
}

/* The value to go on with. All processors are tried with what comes after, as few environments and small batches leave
 * nothing to do for them. */
static const char *choose(const axis *a, const cm_sweep *s, const char *now) {
    const char *best = s->point[a->takes_last ? s->count - 1 : s->knee].value;
    const double least = a->takes_last ? ABOUT : WORTH;
    return rate_at(s, best) >= least * rate_at(s, now) ? best : now;
}

/* Sweeps from where the axes before it have led, and leaves the key at the value to go on with. */
static cm_status go_along(cm_profile *p, const axis *a, cm_sweep *s) {
    cm_change *change = &p->change[p->change_count];
    value_of(p, a->key, change->before);
    CM_TRY(sweep(p, a, s));
    if (s->count == 0) return CM_OK;
    p->sweep_count++;
    if (!a->is_advised || p->change_count == CM_ADVICE) return CM_OK;
    memcpy(change->after, choose(a, s, change->before), sizeof change->after);
    if (strcmp(change->after, change->before) == 0) return CM_OK;
    change->key = a->key, change->why = a->why;
    p->change_count++;
    return cm_profile_set(p, a->key, change->after);
}

cm_status cm_profile_sweep(cm_profile *p) {
    CM_TRY(cm_alloc(&p->sweep, CM_SWEEPS, sizeof *p->sweep, "a profile"));
    for (int i = 0; i < CM_SWEEPS; i++) {
        if (cm_clock_seconds() < p->until) {
            CM_TRY(go_along(p, &axes[i], &p->sweep[p->sweep_count]));
            continue;
        }
        const size_t used = strlen(p->left);
        snprintf(p->left + used, sizeof p->left - used, "%s%s", used ? ", " : "", axes[i].key);
    }
    return CM_OK;
}
