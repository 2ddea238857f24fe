/* A library whose environment crashes after its first 1,000 steps: by a wrong address (rows 2), within a function of C
 * (rows 3), by abort (rows 4), by a recursion that has no end (rows 5). Or hangs, and makes a file "hanging" (rows 7).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env/board.h"

typedef struct count {
    int64_t steps;
} count;

enum { SOUND = 1000, ADDRESS = 2, WITHIN_C = 3, ABORT = 4, RECURSION = 5, HANG = 7 };
static atomic_int steps_of_all;
static int *volatile nowhere; /* volatile: no compiler may know */

static int descend(volatile int *depth) {
    volatile int deeper[256] = {*depth + 1};
    return deeper[0] == 1 << 30 ? 0 : descend(deeper) + deeper[0]; /* the stack is full long before */
}

static void crash(int how) {
    volatile int depth = 0;
    if (how == ADDRESS) *nowhere = 1;
    if (how == WITHIN_C) memset(nowhere, 0, (size_t)(1000 + how) * sizeof *nowhere);
    if (how == ABORT) abort();
    if (how == RECURSION) descend(&depth);
    if (how != HANG) return;
    FILE *file = fopen("hanging", "w");
    if (file) fclose(file);
    while (!nowhere) {
    }
}

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    spec->shape[0] = 2;
    spec->actions = 2;
    spec->max_steps = 20;
    spec->rules_size = sizeof(count);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    ((count *)rules)->steps = 0;
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)random;
    ((count *)rules)->steps += 1 + action;
    if (++steps_of_all > SOUND) crash(params->rows);
    return (cm_env_outcome){.reward = action};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    observation[0] = 0.01f * (float)((const count *)rules)->steps;
    observation[1] = 1.0f;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params, (void)rules;
    text[0] = '\0';
    cm_picture_line(text, size, "whole");
}

static const cm_env_def row = {.name = "crash",
                               .about = "Crashes",
                               .options = CM_ENV_ROWS,
                               .describe = describe,
                               .reset = reset,
                               .step = step,
                               .observe = observe,
                               .picture = picture};
CM_ENV_LIBRARY(row)
