/* Searches with a learnt model that has chance: decision and chance nodes in turn, rows that do not touch each other.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "agent/planner.h"
#include "core/rng.h"
#include "support/main.h"
#include "support/network.h"

enum { A = 3, CODES = 5, O = 4, SIMULATIONS = 40, MOST = 12 };

typedef struct scene {
    cm_test_network base;
    cm_planner *planner;
    int32_t visits[MOST * A], action[MOST];
    float value[MOST], weights[MOST * A];
} scene;

static void open_scene(scene *s, int rows) {
    memset(s, 0, sizeof *s);
    cm_network_config c = cm_test_mlp(O, A, 16, 8, (cm_support){-1, 1, 3, false});
    c.model = CM_NETWORK_CHANCE, c.codes = CODES, c.encoder = true;
    c.trunk_layers = 1, c.residual_dynamics = true;
    cm_test_network_open(&s->base, &c, "cpu", 2);
    cm_planner_config config = {.network = s->base.network,
                                .backend = s->base.backend,
                                .parameters = s->base.parameters,
                                .state = s->base.state,
                                .search = cm_search_params_default(CM_POLICY_STOCHASTIC_MUZERO),
                                .discount = 0.9f,
                                .rows = rows};
    config.search.num_simulations = SIMULATIONS;
    config.search.dirichlet_fraction = 0.0f;
    config.search.check = true;
    ck_assert_msg(cm_planner_create(&config, &s->planner) == CM_OK, "%s", cm_error_message());
    ck_assert_uint_gt(cm_planner_bytes(&config, s->planner), (size_t)rows * SIMULATIONS * 16 * sizeof(float));
}

static void close_scene(scene *s) {
    cm_planner_destroy(s->planner);
    cm_test_network_close(&s->base);
}

static void place(scene *s, int row, int number) {
    cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_TEST, 0), (uint64_t)number);
    for (int i = 0; i < O; i++) cm_planner_observations(s->planner)[row * O + i] = cm_rng_normal(&rng);
}

static void run(scene *s, int count) {
    cm_roots roots = {.count = count};
    cm_search_result result = {
        .visits = s->visits, .action_weights = s->weights, .value = s->value, .action = s->action};
    ck_assert_msg(cm_planner_run(s->planner, &roots, &result) == CM_OK, "%s", cm_error_message());
}

START_TEST(decisions_and_chance_take_turns_down_the_tree) {
    scene s;
    open_scene(&s, 2);
    place(&s, 0, 0), place(&s, 1, 1);
    run(&s, 2);
    const cm_search *search;
    ck_assert_int_eq(cm_planner_trees(s.planner, &search), CM_OK);
    int chances = 0, outcomes = 0;
    for (int b = 0; b < 2; b++) {
        ck_assert(!cm_search_node(search, b, 0).is_chance);
        for (int slot = 1; slot <= SIMULATIONS; slot++) {
            cm_node_info node = cm_search_node(search, b, slot), parent = cm_search_node(search, b, node.parent);
            cm_edge_info edge = cm_search_edge(search, b, node.parent, node.action_from_parent);
            ck_assert(node.is_chance != parent.is_chance);
            ck_assert_int_eq(node.width, node.is_chance ? CODES : A);
            chances += node.is_chance, outcomes += !node.is_chance;
            if (!node.is_chance) ck_assert_float_eq(edge.discount, 0.9f);
            if (node.is_chance) ck_assert(edge.reward == 0.0f && edge.discount == 1.0f);
        }
        int sum = 0;
        for (int a = 0; a < A; a++) sum += s.visits[b * A + a];
        ck_assert_int_eq(sum, SIMULATIONS);
    }
    ck_assert(chances > 10 && outcomes > 10);
    close_scene(&s);
}
END_TEST

/* Rows of one kind only are evaluated in a call: the others of the pass must write nowhere that counts. */
START_TEST(a_position_gets_the_same_search_alone_and_among_others) {
    scene many, one;
    open_scene(&many, MOST);
    open_scene(&one, 1);
    for (int i = 0; i < MOST; i++) place(&many, i, i);
    run(&many, MOST);
    bool differ = false;
    for (int i = 0; i < MOST; i++) {
        place(&one, 0, i);
        run(&one, 1);
        ck_assert_mem_eq(one.visits, many.visits + i * A, A * sizeof(int32_t));
        ck_assert_float_eq(one.value[0], many.value[i]);
        differ |= memcmp(many.visits, many.visits + i * A, A * sizeof(int32_t)) != 0;
    }
    ck_assert(differ);
    close_scene(&many);
    close_scene(&one);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("agent/chance");
    TCase *tests = tcase_create("chance");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, decisions_and_chance_take_turns_down_the_tree);
    tcase_add_test(tests, a_position_gets_the_same_search_alone_and_among_others);
    return cm_test_main(suite);
}
