/* A library whose task is changed by KIND: a walk to the right along cells. */
#include <string.h>

#include "env/board.h"

enum { WALK_BEGUN, WALK_SHAPE, WALK_ACTIONS, WALK_LIMIT, WALK_STATE, WALK_REWARD, WALK_RULES, WALK_SEEN };
enum { CELLS = KIND == WALK_SHAPE ? 12 : 9, STATE = KIND == WALK_STATE ? 2 : 1 };

typedef struct walk {
    int64_t cell[STATE];
} walk;

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    spec->shape[0] = CELLS;
    spec->actions = KIND == WALK_ACTIONS ? 3 : 2;
    spec->max_steps = KIND == WALK_LIMIT ? 20 : 40;
    spec->rules_size = sizeof(walk);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params;
    memset(rules, 0, sizeof(walk));
    ((walk *)rules)->cell[0] = 1 + cm_pcg64_below(random, CELLS - 2);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)random;
    int64_t *cell = ((walk *)rules)->cell;
    *cell += action == 0 ? -(*cell > 0) : 1;
    const double goal = KIND == WALK_REWARD ? 0.5 : 1.0;
    return (cm_env_outcome){.reward = *cell == CELLS - 1 ? goal : 0.0,
                            .terminated = *cell == CELLS - 1 || (*cell == 0 && KIND != WALK_RULES)};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    memset(observation, 0, CELLS * sizeof *observation);
    observation[((const walk *)rules)->cell[0]] = KIND == WALK_SEEN ? 2.0f : 1.0f;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    text[0] = '\0';
    cm_picture_line(text, size, "cell %d", (int)((const walk *)rules)->cell[0]);
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)params, (void)steps, (void)ended;
    return cm_env_check_int("its cell", ((const walk *)rules)->cell[0], 0, CELLS - 1);
}

static CM_ENV_DEF(row, check, .name = "walk", .about = "Walk to the right", .describe = describe, .reset = reset,
                  .step = step, .observe = observe, .picture = picture);
CM_ENV_LIBRARY(row)
