#include "env/go.h"

#include "env/board.h"
#include "env/drawing.h"

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
    cm_board_points_picture(cells, params->size, text, size);
    cm_picture_line(text, size, "area x - o: %+d  komi %g", cm_go_area((const cm_go *)rules), params->komi);
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    cm_board_point_name(action, params->size, text, size);
}

static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    cm_board_dihedral(index, params->size, points_of(params) + 1, cell_map, action_map);
}

/* ---- states from outside: all that stands next to the stones must be what the stones make it ---- */

/* Whether the chain of a stone has one head, a circle of just its stones, and its pseudo-liberties, at least one. Marks
 * its stones in seen[points]. */
static bool chain_is_sound(const cm_go *s, int start, uint8_t *seen) {
    uint16_t stack[CM_GO_POINTS];
    const int points = s->n * s->n, colour = cm_go_colour(s, start), head = cm_go_head(s, start);
    int near[4], depth = 0, stones = 0, liberties = 0, walked = 0;
    bool is_sound = head < points, has_head = false;
    stack[depth++] = (uint16_t)start, seen[start] = 1;
    while (depth > 0) {
        const int p = stack[--depth], count = cm_go_neighbours(s->n, p, near);
        stones++;
        has_head |= p == head;
        is_sound &= cm_go_head(s, p) == head && cm_go_next(s, p) < points;
        for (int i = 0; i < count; i++) {
            const int other = cm_go_colour(s, near[i]);
            liberties += other == 0;
            if (other != colour || seen[near[i]]) continue;
            seen[near[i]] = 1;
            stack[depth++] = (uint16_t)near[i];
        }
    }
    if (!is_sound || !has_head) return false;
    int p = head;
    do {
        p = cm_go_next(s, p), walked++;
        is_sound = p < points && cm_go_colour(s, p) == colour && cm_go_head(s, p) == head;
    } while (is_sound && p != head && walked < stones);
    return is_sound && p == head && walked == stones && liberties > 0 && liberties == cm_go_liberties(s, head);
}

static cm_status check_chains(const cm_go *s) {
    uint8_t seen[CM_GO_POINTS] = {0};
    uint64_t hash = 0;
    for (int p = 0; p < s->n * s->n; p++) {
        const int colour = cm_go_colour(s, p);
        if (colour == 3) return cm_fail(CM_ERR_INPUT, "point %d of it has stones of both colours", p);
        if (colour != 0) hash ^= cm_go_key(colour, p);
        if (colour == 0 || seen[p] || chain_is_sound(s, p, seen)) continue;
        return cm_fail(CM_ERR_INPUT, "the chain of its stone on point %d is not that of the stones there", p);
    }
    return hash == s->hash ? CM_OK : cm_fail(CM_ERR_INPUT, "its hash is not that of its stones");
}

/* The positions so far, which superko looks up: the first is the empty board, the last this one. */
static cm_status check_positions(const cm_go *s) {
    const uint64_t *known = s->word + s->n * s->n;
    cm_go again = {.n = s->n};
    bool is_same = known[0] == 0 && known[s->positions - 1] == s->hash;
    for (int i = 0; i < s->positions; i++) {
        again.hash = known[i], again.positions = 0;
        cm_go_remember(&again);
    }
    for (int i = 0; i < CM_GO_FILTER; i++) is_same &= again.filter[i] == s->filter[i];
    return is_same ? CM_OK : cm_fail(CM_ERR_INPUT, "its earlier positions do not fit its stones");
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_go *s = (const cm_go *)rules;
    const int limit = 2 * points_of(params);
    CM_TRY(cm_env_check_int("its size", s->n, params->size, params->size));
    CM_TRY(cm_env_check_int("its ply", s->ply, steps, steps));
    CM_TRY(cm_env_check_int("its limit", s->limit, limit, limit));
    CM_TRY(cm_env_check_int("the number of its positions", s->positions, 1, steps + 1));
    CM_TRY(cm_env_check_int("the number of passes at its end", s->passes, 0, ended ? 2 : 1));
    CM_TRY(check_chains(s));
    return check_positions(s);
}

static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    int32_t cells[CM_GO_POINTS];
    board(params, rules, cells);
    cm_drawing_crossings(scene, params->size, cells, moment);
}

CM_ENV_DEF(cm_env_go, check, .name = "go", .about = "Surround more of an n x n board", .min_size = 2,
           .max_size = CM_GO_SIZE, .default_size = 9, .options = CM_ENV_SIZE | CM_ENV_KOMI, .describe = describe,
           .reset = reset, .step = step, .observe = observe, .legal = legal, .to_play = to_play, .picture = picture,
           .action_name = action_name, .board = board, .symmetry = symmetry, .draw = draw);
