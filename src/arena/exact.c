#include "arena/exact.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/hash.h"

enum { ENTRIES = 1 << 16, PROBES = 8 };

struct cm_exact {
    const cm_env *env;
    cm_solver *solvers[CM_EXACT_WORKERS]; /* owned; NULL until asked */
    size_t stride;                        /* bytes of an entry of the memo: 1 if it is in use, rules' state, values */
    pthread_mutex_t lock;                 /* of the memo */
    uint8_t *memo;                        /* [ENTRIES, stride], owned */
};

static cm_status open_solver(cm_exact *x, int worker) {
    return x->solvers[worker] ? CM_OK : cm_solver_create(x->env, &x->solvers[worker]);
}

cm_status cm_exact_create(const cm_env *env, cm_exact **out) {
    cm_exact *x = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&x, 1, sizeof *x, "exact values"));
    x->env = env;
    x->stride = 1 + env->spec.rules_size + (size_t)env->spec.actions;
    pthread_mutex_init(&x->lock, NULL);
    cm_status status = open_solver(x, 0);
    if (status == CM_OK) status = cm_alloc(&x->memo, ENTRIES, x->stride, "exact values");
    if (status == CM_OK) {
        *out = x;
    } else {
        cm_exact_destroy(x);
    }
    return status;
}

void cm_exact_destroy(cm_exact *x) {
    if (!x) return;
    for (int i = 0; i < CM_EXACT_WORKERS; i++) cm_solver_destroy(x->solvers[i]);
    pthread_mutex_destroy(&x->lock);
    free(x->memo);
    free(x);
}

size_t cm_exact_bytes(const cm_exact *x, int workers) {
    return sizeof *x + ENTRIES * x->stride + (size_t)workers * x->env->def->solver->bytes;
}

/* ---- the memo ---- */

static uint64_t hash_of(const uint8_t *bytes, size_t size) {
    const uint64_t hash = cm_hash(CM_HASH_BEGIN, bytes, size);
    return hash ^ hash >> 32;
}

/* The entry of these rules, or a free one for them; NULL if there is none. */
static uint8_t *find_entry(const cm_exact *x, const void *rules) {
    uint64_t first = hash_of(rules, x->env->spec.rules_size);
    for (uint64_t i = 0; i < PROBES; i++) {
        uint8_t *entry = x->memo + (size_t)((first + i) % ENTRIES) * x->stride;
        if (!entry[0] || memcmp(entry + 1, rules, x->env->spec.rules_size) == 0) return entry;
    }
    return NULL;
}

static bool recall(cm_exact *x, const void *rules, int8_t *value) {
    pthread_mutex_lock(&x->lock);
    const uint8_t *entry = find_entry(x, rules);
    bool known = entry && entry[0];
    if (known) memcpy(value, entry + 1 + x->env->spec.rules_size, (size_t)x->env->spec.actions);
    pthread_mutex_unlock(&x->lock);
    return known;
}

static void remember(cm_exact *x, const void *rules, const int8_t *value) {
    pthread_mutex_lock(&x->lock);
    uint8_t *entry = find_entry(x, rules);
    if (entry) {
        entry[0] = 1;
        memcpy(entry + 1, rules, x->env->spec.rules_size);
        memcpy(entry + 1 + x->env->spec.rules_size, value, (size_t)x->env->spec.actions);
    }
    pthread_mutex_unlock(&x->lock);
}

cm_status cm_exact_solve(cm_exact *x, int worker, const void *state, const cm_stop *stop, cm_exact_values *out) {
    if (!recall(x, cm_env_rules_of(state), out->value)) {
        CM_TRY(open_solver(x, worker));
        CM_TRY(cm_solver_solve(x->solvers[worker], state, stop, out->value));
        remember(x, cm_env_rules_of(state), out->value);
    }
    out->best = cm_solver_best(out->value, x->env->spec.actions);
    out->legal = out->keeping = 0;
    for (int a = 0; a < x->env->spec.actions; a++) {
        out->legal += out->value[a] != CM_SOLVER_ILLEGAL;
        out->keeping += out->value[a] == out->best;
    }
    return CM_OK;
}

cm_status cm_exact_plies(cm_exact *x, int worker, const void *state, uint8_t *plies) {
    CM_TRY(open_solver(x, worker));
    return cm_solver_plies(x->solvers[worker], state, plies);
}
