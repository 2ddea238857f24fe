/* Searches worked out by hand (docs/spec/search.md 13 and 14). */
#include <math.h>

#include "mcts/support.h"

enum { SLOTS = 9 };

typedef struct vector {
    int32_t node_visits[SLOTS], parents[SLOTS], actions[SLOTS], states[SLOTS];
    float values[SLOTS], q[3], weights[3];
} vector;

static const vector vectors[6] = {
    [0] = {.node_visits = {9, 5, 3, 2, 1, 2, 1, 2, 1},
           .parents = {-1, 0, 0, 2, 3, 1, 5, 1, 7},
           .actions = {-1, 0, 2, 1, 2, 1, 0, 2, 1},
           .states = {0, 1, 3, 2, 1, 4, 1, 5, 5},
           .values = {0.078993f, -0.525f, -0.197917f, 0.1875f, -0.5f, -0.75f, -0.5f, 0.0f, 0.0f},
           .q = {0.10625f, 0.0f, -0.023438f},
           .weights = {0.625f, 0.0f, 0.375f}},
    [1] = {.node_visits = {9, 4, 3, 2, 1, 4, 3, 2, 1},
           .parents = {-1, 0, 1, 2, 3, 0, 5, 6, 7},
           .actions = {-1, 0, 1, 0, 1, 2, 1, 2, 1},
           .states = {0, 1, 4, 1, 4, 3, 2, 1, 4},
           .values = {0.458333f, 0.3125f, -0.583333f, -0.0625f, -0.375f, -0.65625f, 0.25f, -0.0625f, -0.375f},
           .q = {0.1875f, 0.0f, 0.78125f},
           .weights = {0.5f, 0.0f, 0.5f}},
    [2] = {.node_visits = {9, 4, 4, 3, 0, 0, 3, 0, 0},
           .parents = {-1, 0, 0, 2, -1, -1, 1, -1, -1},
           .actions = {-1, 0, 2, 1, -1, -1, 1, -1, -1},
           .states = {0, 1, 3, 2, -1, -1, 4, -1, -1},
           .values = {0.201389f, -0.335938f, 0.023438f, 0.875f, 0.0f, 0.0f, -0.375f, 0.0f, 0.0f},
           .q = {0.248047f, 0.0f, 0.142578f},
           .weights = {0.5f, 0.0f, 0.5f}},
    [3] = {.node_visits = {9, 1, 4, 3, 1, 1, 2, 1, 1},
           .parents = {-1, 0, 0, 0, 2, 3, 2, 3, 6},
           .actions = {-1, 0, 2, 1, 1, 2, 0, 0, 1},
           .states = {0, 1, 3, 2, 2, 1, 5, 4, 5},
           .values = {0.440972f, -0.5f, 1.19531f, 0.114583f, 0.875f, -0.5f, 0.0f, -0.375f, 0.0f},
           .q = {0.125f, -0.164062f, 1.02148f},
           .weights = {0.023859f, 0.003021f, 0.973121f}},
    [4] = {.node_visits = {9, 4, 4, 3, 1, 1, 2, 1, 1},
           .parents = {-1, 0, 0, 2, 1, 3, 1, 3, 6},
           .actions = {-1, 1, 0, 1, 2, 0, 0, 1, 0},
           .states = {0, 2, 1, 4, 1, 1, 4, 3, 1},
           .values = {-0.194444f, 0.59375f, 0.15625f, -0.375f, -0.5f, -0.5f, -0.3125f, 1.125f, -0.5f},
           .q = {0.34375f, -0.84375f, 0.0f},
           .weights = {0.999884f, 0.000116f, 0.0f}},
    [5] = {.node_visits = {9, 4, 4, 0, 0, 0, 0, 0, 0},
           .parents = {-1, 0, 0, -1, -1, -1, -1, -1, -1},
           .actions = {-1, 0, 2, -1, -1, -1, -1, -1, -1},
           .states = {0, 1, 3, -1, -1, -1, -1, -1, -1},
           .values = {0.513889f, -0.5f, 1.125f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f},
           .q = {0.125f, 0.0f, 0.96875f},
           .weights = {0.006484f, 0.006817f, 0.986699f}},
};

/* Six states, state 5 is the end; discount gamma except into the end. */
static const int32_t next_state[18] = {1, 2, 3, 3, 4, 5, 4, 0, 1, 5, 2, 4, 1, 3, 5, 5, 5, 5};
static const float reward[18] = {.5f, -.25f, .125f, 1, 0, -.5f, .25f, .75f, -.125f, 2, -1, .375f, -.75f, .625f, 1.5f};
static const float logits[18] = {.5f, -.25f, .125f, -1,    .75f,  .25f,   .375f, -.5f,  1,
                                 0,   1.25f, -.75f, .625f, .125f, -.375f, 0,     .125f, -.125f};
static const float value[6] = {.25f, -.5f, .875f, 1.125f, -.375f, 0};

typedef struct setting {
    cm_search_params params;
    float gamma;
    const uint8_t *legal;
    const float *noise;
} setting;

static setting setting_of(cm_policy policy, float gamma) {
    setting s = {cm_search_params_default(policy), gamma, NULL, NULL};
    s.params.num_simulations = 8;
    s.params.dirichlet_fraction = 0.0f;
    s.params.check = true;
    return s;
}

static void check_tree(const session *s, const vector *want) {
    for (int slot = 0; slot < SLOTS; slot++) {
        cm_node_info node = cm_search_node(s->search, 0, slot);
        ck_assert_msg(node.visits == want->node_visits[slot], "node_visits[%d]: %d", slot, node.visits);
        ck_assert_msg(node.parent == want->parents[slot], "parents[%d]: %d", slot, node.parent);
        ck_assert_msg(node.action_from_parent == want->actions[slot], "actions[%d]: %d", slot, node.action_from_parent);
        assert_near(node.value, want->values[slot], 1e-5f, "node_values", slot);
        if (node.visits == 0) continue;
        ck_assert_int_eq(s->tabular.states[slot], want->states[slot]);
        assert_near(node.raw_value, value[want->states[slot]], 0.0f, "raw_values", slot);
    }
    for (int a = 0; a < 3; a++) {
        assert_near(s->qvalues[a], want->q[a], 1e-5f, "root_qvalues", a);
        assert_near(s->weights[a], want->weights[a], 1e-5f, "action_weights", a);
    }
    assert_near(s->value[0], want->values[0], 1e-5f, "value", 0);
    assert_near(s->raw_value[0], 0.25f, 0.0f, "raw_value", 0);
}

static int run_vector(const setting *how, const vector *want) {
    float discount[18];
    for (int i = 0; i < 18; i++) discount[i] = next_state[i] == 5 ? 0.0f : how->gamma;
    cm_table table = {6, 3, 0, next_state, reward, discount, logits, value, NULL, NULL};
    cm_roots roots = {.count = 1, .legal = how->legal, .noise = how->noise};
    session s;
    session_open(&s, &table, &how->params, 1);
    session_run(&s, (const int32_t[]){0}, &roots);
    check_tree(&s, want);
    int action = s.action[0];
    session_close(&s);
    return action;
}

START_TEST(v1_muzero_has_the_visits_of_the_spec) {
    setting s = setting_of(CM_POLICY_MUZERO, 0.75f);
    ck_assert_int_eq(run_vector(&s, &vectors[0]), 0);
}
END_TEST

START_TEST(v2_two_players_with_min_max_have_the_visits_of_the_spec) {
    setting s = setting_of(CM_POLICY_MUZERO, -1.0f);
    s.params.qtransform = (cm_qtransform){.kind = CM_QTRANSFORM_MIN_MAX, .min_value = -4, .max_value = 4};
    ck_assert_int_eq(run_vector(&s, &vectors[1]), 0); /* 4 and 4 visits: without keys the lowest index */
}
END_TEST

START_TEST(v3_a_mask_and_depth_two_have_the_visits_of_the_spec) {
    setting s = setting_of(CM_POLICY_MUZERO, 0.75f);
    s.params.max_depth = 2;
    s.legal = (const uint8_t[]){1, 0, 1};
    (void)run_vector(&s, &vectors[2]);
}
END_TEST

START_TEST(v4_gumbel_without_noise_has_the_visits_of_the_spec) {
    setting s = setting_of(CM_POLICY_GUMBEL_MUZERO, 0.75f);
    s.params.max_num_considered_actions = 4;
    s.noise = (const float[]){0, 0, 0};
    ck_assert_int_eq(run_vector(&s, &vectors[3]), 2);
}
END_TEST

START_TEST(v5_gumbel_of_two_players_without_rescaling_equals_the_spec) {
    setting s = setting_of(CM_POLICY_GUMBEL_MUZERO, -1.0f);
    s.params.max_num_considered_actions = 4;
    s.params.qtransform.value_scale = 0.5f;
    s.params.qtransform.maxvisit_init = 10.0f;
    s.params.qtransform.rescale_values = false;
    s.legal = (const uint8_t[]){1, 1, 0};
    s.noise = (const float[]){.25f, 1.5f, -.75f};
    ck_assert_int_eq(run_vector(&s, &vectors[4]), 0);
}
END_TEST

START_TEST(v6_gumbel_of_depth_one_with_raw_values_equals_the_spec) {
    setting s = setting_of(CM_POLICY_GUMBEL_MUZERO, 0.75f);
    s.params.max_num_considered_actions = 2;
    s.params.qtransform.use_mixed_value = false;
    s.params.max_depth = 1;
    s.noise = (const float[]){0, .5f, .25f};
    ck_assert_int_eq(run_vector(&s, &vectors[5]), 2);
}
END_TEST

/* Three states, two actions, two outcomes of each. */
typedef struct chance_game {
    int32_t step_next[12];
    float step_reward[12], step_discount[12], chance_logits[12];
    cm_table table;
} chance_game;

static void make_chance_game(chance_game *g) {
    static const float prior_logits[6] = {.5f, -.5f, .25f, .75f, -1, .125f}, state_value[3] = {.25f, -.5f, .75f};
    static const float afterstate_value[6] = {.125f, .5f, -.25f, .375f, .625f, -.125f};
    static const int next[3][2] = {{1, 2}, {2, 0}, {0, 1}};
    static const float rewards[3][2] = {{.5f, -.25f}, {1, .125f}, {-.5f, .75f}};
    static const float chance[3][2] = {{0, -1}, {.5f, .25f}, {-.75f, .5f}};
    for (int s = 0, i = 0; s < 3; s++) {
        for (int a = 0; a < 2; a++) {
            for (int o = 0; o < 2; o++, i++) {
                g->step_next[i] = (next[s][a] + o) % 3;
                g->step_reward[i] = rewards[s][o];
                g->step_discount[i] = 0.875f;
                g->chance_logits[i] = chance[s][o];
            }
        }
    }
    g->table = (cm_table){.states = 3, .num_actions = 2, .num_chance = 2};
    g->table.next_state = g->step_next, g->table.reward = g->step_reward, g->table.discount = g->step_discount;
    g->table.prior_logits = prior_logits;
    g->table.value = state_value;
    g->table.chance_logits = g->chance_logits;
    g->table.afterstate_value = afterstate_value;
}

START_TEST(v7_stochastic_muzero_has_the_tree_of_the_spec) {
    chance_game g;
    make_chance_game(&g);
    setting how = setting_of(CM_POLICY_STOCHASTIC_MUZERO, 0);
    how.params.num_simulations = 10;
    session s;
    session_open(&s, &g.table, &how.params, 1);
    session_run(&s, (const int32_t[]){0}, &(cm_roots){.count = 1});
    static const int32_t visits[11] = {11, 2, 1, 8, 5, 3, 2, 2, 1, 1, 1};
    static const int32_t parents[11] = {-1, 0, 1, 0, 3, 4, 3, 5, 7, 4, 6};
    static const int32_t actions[11] = {-1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0}; /* outcomes without the offset A */
    static const int32_t states[11] = {0, 0, 1, 1, 2, 5, 0, 2, 5, 4, 0};   /* afterstate (s, a) = 2 s + a   */
    static const char kinds[] = "DCDCDCDDCCC";
    static const float values[11] = {.559126f, .09375f, -.5f,   .714111f, .659375f, .640625f,
                                     .1875f,   .3125f,  -.125f, .625f,    .125f};
    for (int slot = 0; slot < 11; slot++) {
        cm_node_info node = cm_search_node(s.search, 0, slot);
        ck_assert_int_eq(node.visits, visits[slot]);
        ck_assert_int_eq(node.parent, parents[slot]);
        ck_assert_int_eq(node.action_from_parent, actions[slot]);
        ck_assert_int_eq(node.is_chance, kinds[slot] == 'C');
        ck_assert_int_eq(s.tabular.states[slot], states[slot]);
        assert_near(node.value, values[slot], 1e-5f, "node_values", slot);
    }
    assert_near(s.weights[0], 0.2f, 1e-6f, "action_weights", 0);
    assert_near(s.weights[1], 0.8f, 1e-6f, "action_weights", 1);
    session_close(&s);
}
END_TEST

/* What a rule by completed values reads is kept true at nodes of chance, too: the search checks itself. */
START_TEST(chance_nodes_keep_the_statistics_of_completed_values) {
    chance_game g;
    session s;
    make_chance_game(&g);
    setting how = setting_of(CM_POLICY_STOCHASTIC_MUZERO, 0);
    how.params.num_simulations = 10;
    how.params.qtransform.kind = CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
    how.params.check = true;
    session_open(&s, &g.table, &how.params, 1);
    session_run(&s, (const int32_t[]){0}, &(cm_roots){.count = 1});
    session_close(&s);
}
END_TEST

/* Section 14: a bandit of n actions; state 0 is the root, state 1 + a follows action a, and so on from there. */
typedef struct bandit {
    int32_t next[64];
    float reward[64], discount[64], logits[64], value[8];
    cm_table table;
} bandit;

static void make_bandit(bandit *b, int n, const float *root_logits, const float *rewards, float root_value) {
    memset(b, 0, sizeof *b);
    for (int s = 0; s <= n; s++) {
        for (int a = 0; a < n; a++) {
            b->next[s * n + a] = 1 + a;
            b->reward[s * n + a] = rewards[a];
        }
    }
    memcpy(b->logits, root_logits, (size_t)n * sizeof(float));
    b->value[0] = root_value;
    b->table = (cm_table){n + 1, n, 0, b->next, b->reward, b->discount, b->logits, b->value, NULL, NULL};
}

START_TEST(muzero_one_simulation_takes_the_best_legal_prior) {
    bandit b;
    session s;
    make_bandit(&b, 4, (const float[]){-1, 0, 2, 3}, (const float[]){0, 0, 0, 0}, 0);
    setting how = setting_of(CM_POLICY_MUZERO, 0);
    how.params.num_simulations = 1;
    session_open(&s, &b.table, &how.params, 1);
    session_run(&s, (const int32_t[]){0}, &(cm_roots){.count = 1, .legal = (const uint8_t[]){1, 1, 1, 0}});
    ck_assert_int_eq(s.action[0], 2);
    for (int a = 0; a < 4; a++) assert_near(s.weights[a], a == 2, 0.0f, "action_weights", a);
    session_close(&s);
}
END_TEST

static void check_gumbel_bandit(const uint8_t *legal, int action, const int32_t *visits, const float *weights) {
    bandit b;
    session s;
    make_bandit(&b, 4, (const float[]){0, -1, 2, 3}, (const float[]){20, 3, -1, 10}, -5);
    setting how = setting_of(CM_POLICY_GUMBEL_MUZERO, 0);
    how.params.num_simulations = 17;
    how.params.max_depth = 3;
    how.params.qtransform.value_scale = 0.05f;
    how.params.qtransform.maxvisit_init = 60.0f;
    session_open(&s, &b.table, &how.params, 1);
    static const float noise[4] = {1.9914981f, 0.2056251f, -0.2495495f, 1.4269422f};
    session_run(&s, (const int32_t[]){0}, &(cm_roots){.count = 1, .legal = legal, .noise = noise});
    ck_assert_int_eq(s.action[0], action);
    int deepest = 0;
    for (int a = 0; a < 4; a++) {
        ck_assert_int_eq(s.visits[a], visits[a]);
        assert_near(s.weights[a], weights[a], 1e-5f, "action_weights", a);
        ck_assert(s.probs[a] == (a == action ? 1.0f : 0.0f));
    }
    for (int slot = 1; slot < 18; slot++) {
        int depth = 0;
        for (int at = slot; at > 0; at = cm_search_node(s.search, 0, at).parent) depth++;
        if (depth == 3)
            deepest =
                cm_search_node(s.search, 0, slot).visits > deepest ? cm_search_node(s.search, 0, slot).visits : deepest;
        ck_assert_int_le(depth, 3);
    }
    if (legal) ck_assert_int_eq(deepest, 6);
    session_close(&s);
}

START_TEST(a_gumbel_bandit_with_a_mask_equals_mctx) {
    check_gumbel_bandit((const uint8_t[]){0, 1, 1, 0}, 1, (const int32_t[]){0, 9, 8, 0},
                        (const float[]){0, .601869f, .398131f, 0});
}
END_TEST

START_TEST(a_gumbel_bandit_without_a_mask_equals_mctx) {
    check_gumbel_bandit(NULL, 3, (const int32_t[]){6, 2, 2, 7}, (const float[]){.186629f, .00456f, .048382f, .76043f});
}
END_TEST

/* One outcome with all the probability, and zero rewards: two simulations are one of the search without chance. */
START_TEST(stochastic_with_one_outcome_equals_muzero_in_twice_the_simulations) {
    enum { A = 4, STATES = 2 * (A + 1) };
    static const float roots_logits[2][A] = {{-1, 0, 2, 3}, {0, 2, 5, -4}};
    static const uint8_t legal[2 * A] = {1, 1, 1, 0, 0, 1, 0, 1};
    static const float want[2][A] = {{0, .1f, .9f, 0}, {0, 1, 0, 0}};
    int32_t next[STATES * A];
    float zero[STATES * A] = {0}, all_logits[STATES * A] = {0}, values[STATES] = {0};
    for (int i = 0; i < STATES; i++) {
        for (int a = 0; a < A; a++) {
            next[i * A + a] = i / (A + 1) * (A + 1) + 1 + a;
            if (i % (A + 1) == 0) all_logits[i * A + a] = roots_logits[i / (A + 1)][a];
        }
    }
    values[0] = 1.0f;
    cm_table plain = {STATES, A, 0, next, zero, zero, all_logits, values, NULL, NULL};
    cm_table chance = {STATES, A, 1, next, zero, zero, all_logits, values, zero, zero};
    setting how = setting_of(CM_POLICY_STOCHASTIC_MUZERO, 0);
    const int32_t root_states[2] = {0, A + 1};
    for (int kind = 0; kind < 2; kind++) {
        session s;
        how.params.num_simulations = kind ? 20 : 10;
        session_open(&s, kind ? &chance : &plain, &how.params, 2);
        session_run(&s, root_states, &(cm_roots){.count = 2, .legal = legal});
        for (int i = 0; i < 2 * A; i++) assert_near(s.weights[i], want[i / A][i % A], 1e-6f, "action_weights", i);
        session_close(&s);
    }
}
END_TEST

int main(void) {
    return RUN_SUITE(
        "search vectors", v1_muzero_has_the_visits_of_the_spec, v2_two_players_with_min_max_have_the_visits_of_the_spec,
        v3_a_mask_and_depth_two_have_the_visits_of_the_spec, v4_gumbel_without_noise_has_the_visits_of_the_spec,
        v5_gumbel_of_two_players_without_rescaling_equals_the_spec,
        v6_gumbel_of_depth_one_with_raw_values_equals_the_spec, v7_stochastic_muzero_has_the_tree_of_the_spec,
        chance_nodes_keep_the_statistics_of_completed_values, muzero_one_simulation_takes_the_best_legal_prior,
        a_gumbel_bandit_with_a_mask_equals_mctx, a_gumbel_bandit_without_a_mask_equals_mctx,
        stochastic_with_one_outcome_equals_muzero_in_twice_the_simulations);
}
