/* Sub-tree reuse, and search on exact rules with it (AlphaZero's way). */
#include <math.h>

#include "mcts/support.h"

enum { SIMULATIONS = 60 };

/* Tic-tac-toe as a model: a state is a number in base 3, nine digits, and the player to move follows from the count. */
typedef struct rules {
    int32_t *states; /* [slots] */
    int32_t root[4]; /* of the next run */
    int slots, roots_called, moved;
} rules;

static const int lines[8][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}};

static int digit(int32_t state, int cell) {
    while (cell-- > 0) state /= 3;
    return state % 3;
}
static int32_t place(int32_t state, int cell, int stone) {
    int32_t power = 1;
    while (cell-- > 0) power *= 3;
    return state + stone * power;
}
static int stones(int32_t state) {
    int count = 0;
    for (int cell = 0; cell < 9; cell++) count += digit(state, cell) > 0;
    return count;
}
static bool has_line(int32_t state, int stone) {
    for (int i = 0; i < 8; i++) {
        if (digit(state, lines[i][0]) == stone && digit(state, lines[i][1]) == stone &&
            digit(state, lines[i][2]) == stone) {
            return true;
        }
    }
    return false;
}
static bool is_over(int32_t state) { return has_line(state, 1) || has_line(state, 2) || stones(state) == 9; }

static void evaluate(int32_t state, int row, cm_model_out *out) {
    for (int cell = 0; cell < 9; cell++) {
        bool is_open = digit(state, cell) == 0 && !is_over(state);
        out->prior_logits[row * 9 + cell] = is_open ? 0.01f * (float)cell : -FLT_MAX;
    }
    out->value[row] = 0.0f;
}

static cm_status rules_root(void *ctx, int n, const int32_t *slots, cm_model_out *out) {
    rules *r = ctx;
    for (int row = 0; row < n; row++) {
        r->states[slots[row]] = r->root[slots[row] / r->slots];
        evaluate(r->states[slots[row]], row, out);
        r->roots_called++;
    }
    return CM_OK;
}

static cm_status rules_recurrent(void *ctx, int n, const int32_t *parents, const int32_t *actions,
                                 const int32_t *children, cm_model_out *out) {
    rules *r = ctx;
    for (int row = 0; row < n; row++) {
        int32_t state = r->states[parents[row]];
        out->reward[row] = 0.0f;
        out->discount[row] = 0.0f;
        if (!is_over(state)) { /* below an end only the end follows */
            ck_assert_msg(digit(state, actions[row]) == 0, "the search plays on an occupied cell");
            int stone = 1 + stones(state) % 2;
            state = place(state, actions[row], stone);
            out->reward[row] = has_line(state, stone) ? 1.0f : 0.0f;
            out->discount[row] = is_over(state) ? 0.0f : -1.0f;
        }
        r->states[children[row]] = state;
        evaluate(state, row, out);
    }
    return CM_OK;
}

static cm_status rules_move(void *ctx, int n, const int32_t *from, const int32_t *to) {
    rules *r = ctx;
    for (int i = 0; i < n; i++) {
        ck_assert_int_le(to[i], from[i]);
        r->states[to[i]] = r->states[from[i]];
    }
    r->moved += n;
    return CM_OK;
}

typedef struct game {
    rules r;
    cm_model model;
    cm_search *search;
    int32_t visits[4 * 9], action[4];
    float value[4], weights[4 * 9], qvalues[4 * 9];
    cm_search_result result;
} game;

static void open_game(game *g, int batch, int simulations) {
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.num_simulations = simulations;
    params.dirichlet_fraction = 0.0f;
    params.check = true;
    memset(g, 0, sizeof *g);
    g->r.slots = simulations + 1;
    g->r.states = calloc((size_t)(batch * (simulations + 1)), sizeof(int32_t));
    g->model = (cm_model){&g->r, 9, 0, rules_root, rules_recurrent, NULL, rules_move};
    g->result = (cm_search_result){.visits = g->visits,
                                   .value = g->value,
                                   .action = g->action,
                                   .action_weights = g->weights,
                                   .qvalues = g->qvalues};
    ck_assert_int_eq(cm_search_create(&params, batch, 9, 0, &g->search), CM_OK);
}

static void close_game(game *g) {
    cm_search_destroy(g->search);
    free(g->r.states);
}

static void run_game(game *g, int count, bool is_kept, const uint8_t *legal) {
    cm_roots roots = {.count = count, .is_kept = is_kept, .legal = legal};
    ck_assert_msg(cm_search_run(g->search, &g->model, &roots, &g->result) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_search_check(g->search) == CM_OK, "%s", cm_error_message());
}

START_TEST(the_kept_tree_is_what_stood_below_the_played_action) {
    game g;
    open_game(&g, 1, SIMULATIONS);
    run_game(&g, 1, false, NULL);
    int played = g.action[0];
    cm_edge_info edge = cm_search_edge(g.search, 0, 0, played);
    cm_node_info before = cm_search_node(g.search, 0, edge.child);
    float q[9];
    int32_t visits[9];
    for (int a = 0; a < 9; a++) {
        cm_edge_info below = cm_search_edge(g.search, 0, edge.child, a);
        q[a] = below.q, visits[a] = below.visits;
    }
    int32_t state = g.r.states[edge.child];
    ck_assert_int_eq(cm_search_keep(g.search, &g.model, &played), CM_OK);
    ck_assert_msg(cm_search_check(g.search) == CM_OK, "%s", cm_error_message());
    cm_node_info after = cm_search_node(g.search, 0, 0);
    ck_assert_int_eq(after.visits, before.visits);
    ck_assert(after.value == before.value && after.raw_value == before.raw_value);
    ck_assert_int_eq(after.parent, -1);
    ck_assert_int_eq(g.r.states[0], state);
    ck_assert_int_eq(g.r.moved, edge.visits);
    for (int a = 0; a < 9; a++) {
        cm_edge_info below = cm_search_edge(g.search, 0, 0, a);
        ck_assert(below.q == q[a] && below.visits == visits[a]);
    }
    for (int slot = 0; slot <= SIMULATIONS; slot++) {
        ck_assert_int_eq(cm_search_node(g.search, 0, slot).visits > 0, slot < after.visits);
    }
    close_game(&g);
}
END_TEST

START_TEST(a_kept_search_fills_the_tree_and_asks_the_root_only_once) {
    game g;
    open_game(&g, 1, SIMULATIONS);
    run_game(&g, 1, false, NULL);
    ck_assert_int_eq(g.r.roots_called, 1);
    for (int move = 0; move < 4; move++) {
        int32_t played = g.action[0];
        ck_assert_int_eq(cm_search_keep(g.search, &g.model, &played), CM_OK);
        run_game(&g, 1, true, NULL);
        int sum = 0;
        for (int a = 0; a < 9; a++) sum += g.visits[a];
        ck_assert_int_eq(sum, SIMULATIONS);
        ck_assert_int_eq(cm_search_node(g.search, 0, 0).visits, SIMULATIONS + 1);
        ck_assert_int_gt(cm_search_node(g.search, 0, SIMULATIONS).visits, 0);
    }
    ck_assert_int_eq(g.r.roots_called, 1);
    close_game(&g);
}
END_TEST

START_TEST(roots_keep_different_numbers_of_nodes_and_some_nothing) {
    game g;
    open_game(&g, 4, SIMULATIONS);
    const int32_t start[4] = {0, place(0, 4, 1), 0, place(place(0, 0, 1), 4, 2)};
    memcpy(g.r.root, start, sizeof start);
    run_game(&g, 4, false, NULL);
    const int32_t played[4] = {g.action[0], g.action[1], -1, g.action[3]};
    ck_assert_int_eq(cm_search_keep(g.search, &g.model, played), CM_OK);
    g.r.root[2] = place(0, 8, 1);
    run_game(&g, 4, true, NULL);
    ck_assert_int_eq(g.r.roots_called, 5);
    for (int b = 0; b < 4; b++) {
        int sum = 0;
        for (int a = 0; a < 9; a++) sum += g.visits[b * 9 + a];
        ck_assert_int_eq(sum, SIMULATIONS);
        int32_t want = b == 2 ? place(0, 8, 1) : place(start[b], played[b], 1 + stones(start[b]) % 2);
        ck_assert_int_eq(g.r.states[b * g.r.slots], want);
    }
    /* two moves in succession: nothing may be searched in between */
    ck_assert_int_eq(cm_search_keep(g.search, &g.model, (const int32_t[]){g.action[0], -1, -1, -1}), CM_OK);
    int reply = -1;
    for (int a = 0; a < 9; a++) reply = cm_search_edge(g.search, 0, 0, a).visits > 0 ? a : reply;
    int32_t state = g.r.states[cm_search_edge(g.search, 0, 0, reply).child];
    ck_assert_int_eq(cm_search_keep(g.search, &g.model, (const int32_t[]){reply, 3, -1, -1}), CM_OK);
    ck_assert_int_eq(g.r.states[0], state);
    run_game(&g, 4, true, NULL);
    close_game(&g);
}
END_TEST

START_TEST(a_visited_action_that_is_now_illegal_drops_the_tree) {
    game g;
    uint8_t legal[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    open_game(&g, 1, SIMULATIONS);
    run_game(&g, 1, false, NULL);
    int32_t played = g.action[0];
    ck_assert_int_eq(cm_search_keep(g.search, &g.model, &played), CM_OK);
    g.r.root[0] = place(0, played, 1);
    for (int a = 0; a < 9; a++) legal[a] = cm_search_edge(g.search, 0, 0, a).visits == 0 && a != played;
    if (legal[0] + legal[1] + legal[2] + legal[3] + legal[4] + legal[5] + legal[6] + legal[7] + legal[8] == 0) {
        legal[played == 0] = 1;
    }
    run_game(&g, 1, true, legal);
    ck_assert_int_eq(g.r.roots_called, 2);
    for (int a = 0; a < 9; a++) ck_assert(legal[a] || g.visits[a] == 0);
    close_game(&g);
}
END_TEST

/* Against itself with exact rules and enough simulations neither wins. */
START_TEST(tic_tac_toe_with_exact_rules_ends_in_a_draw) {
    game g;
    open_game(&g, 1, 3000);
    int32_t state = 0;
    for (int move = 0; !is_over(state); move++) {
        run_game(&g, 1, move > 0, NULL);
        ck_assert_int_eq(g.r.states[0], state);
        int32_t played = g.action[0];
        ck_assert_int_eq(digit(state, played), 0);
        state = place(state, played, 1 + stones(state) % 2);
        ck_assert_int_eq(cm_search_keep(g.search, &g.model, &played), CM_OK);
    }
    ck_assert(!has_line(state, 1) && !has_line(state, 2));
    close_game(&g);
}
END_TEST

START_TEST(keeping_is_refused_where_it_has_no_meaning) {
    game g;
    const int32_t played = 0, wrong = 9;
    open_game(&g, 1, 10);
    run_game(&g, 1, false, NULL);
    ck_assert_int_eq(cm_search_keep(g.search, &g.model, &wrong), CM_ERR_INPUT);
    ck_assert(strstr(cm_error_message(), "actions[0]") != NULL);
    g.model.move = NULL;
    ck_assert_int_eq(cm_search_keep(g.search, &g.model, &played), CM_ERR_INPUT);
    ck_assert(strstr(cm_error_message(), "move") != NULL);
    cm_search *gumbel = NULL;
    cm_search_params params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    ck_assert_int_eq(cm_search_create(&params, 1, 9, 0, &gumbel), CM_OK);
    ck_assert_int_eq(cm_search_keep(gumbel, &g.model, &played), CM_ERR_INPUT);
    ck_assert(strstr(cm_error_message(), "PUCT") != NULL);
    cm_search_destroy(gumbel);
    close_game(&g);
}
END_TEST

int main(void) {
    return RUN_SUITE("search reuse", the_kept_tree_is_what_stood_below_the_played_action,
                     a_kept_search_fills_the_tree_and_asks_the_root_only_once,
                     roots_keep_different_numbers_of_nodes_and_some_nothing,
                     a_visited_action_that_is_now_illegal_drops_the_tree, tic_tac_toe_with_exact_rules_ends_in_a_draw,
                     keeping_is_refused_where_it_has_no_meaning);
}
