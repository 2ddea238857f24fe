#include "env/go.h"

#include "env/board.h"

enum { HISTORY = 8, PLANES = 2 * HISTORY + 2 };

static const char *const channels[PLANES] = {
    "own stones",       "opponent's stones",       "own stones 1 ply ago", "opponent's stones 1 ply ago",
    "own stones 2 ago", "opponent's stones 2 ago", "own stones 3 ago",     "opponent's stones 3 ago",
    "own stones 4 ago", "opponent's stones 4 ago", "own stones 5 ago",     "opponent's stones 5 ago",
    "own stones 6 ago", "opponent's stones 6 ago", "own stones 7 ago",     "opponent's stones 7 ago",
    "player 0 to move", "player 1 to move"};

static int points_of(const cm_env_params *params) { return params->size * params->size; }

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    cm_board_describe(spec, params->size, params->size, points_of(params) + 1);
    spec->shape[2] = PLANES;
    spec->observation_unit = 1.0f;
    spec->channels = channels;
    spec->max_plies = 2 * points_of(params);
    spec->symmetries = 8;
    spec->rules_size = cm_go_bytes(params->size);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)random;
    cm_go_reset((cm_go *)rules, params->size);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)random;
    cm_go *s = (cm_go *)rules;
    const int mover = s->ply % 2;
    if (!cm_go_play(s, action)) return cm_board_outcome(false, 0);
    double lead = (double)cm_go_area(s) - params->komi;
    int black = (lead > 0.0) - (lead < 0.0);
    return cm_board_outcome(true, mover == 0 ? black : -black);
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    for (int a = 0; a < points_of(params); a++) mask[a] = cm_go_is_legal((const cm_go *)rules, a);
    mask[points_of(params)] = 1;
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return ((const cm_go *)rules)->ply % 2;
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    for (int p = 0; p < points_of(params); p++) cells[p] = cm_go_colour((const cm_go *)rules, p);
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    const cm_go *s = (const cm_go *)rules;
    const int mover = s->ply % 2;
    for (int p = 0; p < points_of(params); p++) {
        float *at = observation + (size_t)p * PLANES;
        const unsigned black = (unsigned)(s->word[p] >> 48 & 0xff), white = (unsigned)(s->word[p] >> 56);
        const unsigned own = mover == 0 ? black : white, other = mover == 0 ? white : black;
        for (int age = 0; age < HISTORY; age++) {
            at[2 * age] = (float)(own >> age & 1);
            at[2 * age + 1] = (float)(other >> age & 1);
        }
        at[2 * HISTORY] = mover == 0 ? 1.0f : 0.0f;
        at[2 * HISTORY + 1] = mover == 1 ? 1.0f : 0.0f;
    }
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    int32_t cells[CM_GO_POINTS];
    board(params, rules, cells);
    cm_board_picture(cells, params->size, params->size, 0, text, size);
    cm_picture_line(text, size, "area x - o: %+d  komi %g", cm_go_area((const cm_go *)rules), params->komi);
}

static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    cm_board_dihedral(index, params->size, points_of(params) + 1, cell_map, action_map);
}

const cm_env_def cm_env_go = {.name = "go",
                              .about = "Surround more of an n x n board",
                              .min_size = 2,
                              .max_size = CM_GO_SIZE,
                              .default_size = 9,
                              .options = CM_ENV_SIZE | CM_ENV_KOMI,
                              .describe = describe,
                              .reset = reset,
                              .step = step,
                              .observe = observe,
                              .legal = legal,
                              .to_play = to_play,
                              .picture = picture,
                              .board = board,
                              .symmetry = symmetry};
