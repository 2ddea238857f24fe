/* A library whose environment is sound for its first 2,100 steps, of which half are random ones before a run; then its
 * observations (rows 2) or its rewards (rows 3) are not finite, or its observations (rows 4) the largest floats, or it
 * ends the process (rows 5), or its rewards are beyond their bounds (rows 6), or it allows nothing (rows 7), or its
 * rewards, whose bounds are infinite, are so, too (rows 8). Or it crashes: by a wrong address (rows 9), within a
 * function of C (rows 10), by abort (rows 11), by a recursion that has no end (rows 12). Or it hangs, and makes a file
 * "hanging" (rows 13; rows 14: at its first reset).
 */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env/board.h"

typedef struct count {
    int64_t steps;
} count;

enum { SOUND = 2100, OBSERVATIONS = 2, REWARDS = 3, LARGE = 4, EXIT = 5, BEYOND = 6, NOTHING = 7, ENDLESS = 8 };
enum { ADDRESS = 9, WITHIN_C = 10, ABORT = 11, RECURSION = 12, HANG = 13, HANG_AT_ONCE = 14 };
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
    if (how < HANG) return;
    FILE *file = fopen("hanging", "w");
    if (file) fclose(file);
    while (!nowhere) {
    }
}

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    if (params->rows == ENDLESS) spec->reward_low = -(double)INFINITY, spec->reward_high = (double)INFINITY;
    spec->shape[0] = 2;
    spec->actions = 2;
    spec->max_steps = 20;
    spec->rules_size = sizeof(count);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)random;
    if (params->rows == HANG_AT_ONCE) crash(params->rows);
    ((count *)rules)->steps = 0;
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)action, (void)random;
    ((count *)rules)->steps++;
    const bool late = ++steps_of_all > SOUND;
    if (late && params->rows == EXIT) exit(0);
    if (late) crash(params->rows);
    const double wrong = params->rows == REWARDS   ? (double)NAN
                         : params->rows == BEYOND  ? 1.5
                         : params->rows == ENDLESS ? (double)INFINITY
                                                   : 0.0;
    /* The second step of an episode pays, so that random play before a run does not go on in search of a reward. */
    return (cm_env_outcome){.reward = late ? wrong : ((const count *)rules)->steps == 2 ? 0.5 : 0.0};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    const bool late = steps_of_all > SOUND;
    observation[0] = (float)((const count *)rules)->steps;
    observation[1] = !late ? 0.0f : params->rows == OBSERVATIONS ? NAN : params->rows == LARGE ? FLT_MAX : 0.0f;
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    (void)rules;
    mask[0] = mask[1] = params->rows != NOTHING || steps_of_all <= SOUND;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params, (void)rules;
    text[0] = '\0';
    cm_picture_line(text, size, "late fault");
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)params, (void)ended;
    return cm_env_check_int("its count", ((const count *)rules)->steps, steps, steps);
}

static CM_ENV_DEF(late_fault, check, .name = "late_fault", .about = "Counts its steps", .options = CM_ENV_ROWS,
                  .describe = describe, .reset = reset, .step = step, .observe = observe, .legal = legal,
                  .picture = picture);
CM_ENV_LIBRARY(late_fault)
