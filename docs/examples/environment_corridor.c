/* An environment in one file: a corridor of nine cells. The right end pays 1, the left end nothing; both end the
 * episode. Copied to src/env/ and named in src/env/rows.def it can be trained: docs/ADDING_AN_ENVIRONMENT.md. */
#include <string.h>

#include "env/board.h"

enum { CELLS = 9, LEFT = 0, RIGHT = 1 };

/* The whole state: a plain struct without pointers, a multiple of 8 bytes. */
typedef struct corridor {
    int64_t cell;
} corridor;

static const char *const channels[CELLS] = {"cell 0", "cell 1", "cell 2", "cell 3", "cell 4",
                                            "cell 5", "cell 6", "cell 7", "cell 8"};

/* What the rest of cumind must know; whatever is not set here keeps its default (env/env.h). */
static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    spec->shape[0] = CELLS;        /* a row of nine numbers ...              */
    spec->observation_unit = 1.0f; /* ... of 0 or 1: a byte each, when kept */
    spec->channels = channels;
    spec->actions = 2;
    spec->max_steps = 40; /* a time limit: the episode is truncated, not terminated */
    spec->reward_low = 0.0, spec->reward_high = 1.0, spec->reward_threshold = 1.0;
    spec->discount = 0.9;
    spec->rules_size = sizeof(corridor);
    return CM_OK;
}

/* Chance comes from `random` alone, so that equal seeds give equal episodes. */
static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params;
    ((corridor *)rules)->cell = 1 + cm_pcg64_below(random, CELLS - 2);
}

/* `action` is legal and the episode has not ended: the caller has checked both. */
static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)random;
    corridor *s = (corridor *)rules;
    s->cell += action == RIGHT ? 1 : -1;
    const bool at_right = s->cell == CELLS - 1;
    return (cm_env_outcome){.reward = at_right ? 1.0 : 0.0, .terminated = at_right || s->cell == 0};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    memset(observation, 0, CELLS * sizeof *observation);
    observation[((const corridor *)rules)->cell] = 1.0f;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    char line[CELLS + 1] = ".........";
    line[CELLS - 1] = '$';
    line[((const corridor *)rules)->cell] = '@';
    text[0] = '\0';
    cm_picture_line(text, size, "%s", line);
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    (void)params;
    cm_name_pick(text, size, action == RIGHT ? "right" : "left");
}

/* Whether the bytes of a checkpoint are a state: with a cell outside, observe would write outside. */
static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)params, (void)steps;
    return cm_env_check_int("its cell", ((const corridor *)rules)->cell, ended ? 0 : 1, ended ? CELLS - 1 : CELLS - 2);
}

/* The row of the registry: its name, its check, and the rest. Functions left out are NULL: one player, every action
 * always legal, no symmetries. */
CM_ENV_DEF(cm_env_corridor, check, .name = "corridor", .about = "Walk to the right end of a corridor",
           .describe = describe, .reset = reset, .step = step, .observe = observe, .picture = picture,
           .action_name = action_name);

/* Compiled alone, with `cc -shared -fPIC`, this file is a library that holds the row. */
CM_ENV_LIBRARY(cm_env_corridor)
