/* A library with a game of two whose actions have no names: one to three of five stones are taken, the player of the
 * last wins. */
#include "env/board.h"

typedef struct nim {
    int64_t stones, player;
} nim;

enum { STONES = 5 };

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    spec->actions = 3;
    spec->players = 2;
    spec->max_plies = STONES;
    spec->cells = STONES; /* and no board that says what is on them */
    spec->rules_size = sizeof(nim);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    *(nim *)rules = (nim){.stones = STONES};
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)random;
    nim *n = rules;
    n->stones -= action + 1;
    n->player ^= 1;
    return (cm_env_outcome){.reward = n->stones == 0, .terminated = n->stones == 0};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    observation[0] = (float)((const nim *)rules)->stones / STONES;
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    (void)params;
    for (int a = 0; a < 3; a++) mask[a] = ((const nim *)rules)->stones > a;
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return (int)((const nim *)rules)->player;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    text[0] = '\0';
    cm_picture_line(text, size, "%d stones", (int)((const nim *)rules)->stones);
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const nim *n = rules;
    (void)params;
    CM_TRY(cm_env_check_int("its player", n->player, steps % 2, steps % 2));
    return cm_env_check_int("the number of its stones", n->stones, ended ? 0 : 1, STONES - steps);
}

static CM_ENV_DEF(row, check, .name = "nim", .about = "Take one to three stones", .describe = describe, .reset = reset,
                  .step = step, .observe = observe, .legal = legal, .to_play = to_play, .picture = picture);
CM_ENV_LIBRARY(row)
