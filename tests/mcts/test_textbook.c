/* The fast search against the search of a textbook (textbook.h), tree by tree. */
#include "mcts/support.h"
#include "mcts/textbook.h"

enum { STATES = 24, TREES = 10000, MOST_SIMULATIONS = 50, A = TEXTBOOK_ACTIONS };

/* In float32 a choice between scores, or a rescaling of Q-values, closer than this may turn out another way. */
static const double close_call = 1e-4;

typedef struct task {
    int32_t next[STATES * A], root_state;
    float reward[STATES * A], discount[STATES * A], logits[STATES * A], value[STATES], noise[A];
    uint8_t legal[A];
    cm_table table;
    cm_search_params params;
} task;

/* Odd numbers are gumbel_muzero; of each policy every second has two players, and two of three a mask. */
static void make_task(task *t, int number) {
    cm_rng rng = cm_rng_init(cm_key_make(45, CM_RNG_TEST, (uint64_t)number), 0);
    const int actions = 2 + (int)cm_rng_below(&rng, A - 1);
    const float gamma = number / 2 % 2 ? -1.0f : 0.9f;
    for (int i = 0; i < STATES * actions; i++) {
        t->next[i] = (int32_t)cm_rng_below(&rng, STATES);
        t->reward[i] = cm_rng_below(&rng, 3) == 0 ? cm_rng_normal(&rng) : 0.0f;
        t->discount[i] = cm_rng_below(&rng, 10) == 0 ? 0.0f : gamma;
        t->logits[i] = cm_rng_normal(&rng);
    }
    for (int i = 0; i < STATES; i++) t->value[i] = cm_rng_normal(&rng);
    t->root_state = (int32_t)cm_rng_below(&rng, STATES);
    t->table = (cm_table){STATES, actions, 0, t->next, t->reward, t->discount, t->logits, t->value, NULL, NULL};

    const cm_policy policy = number % 2 ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO;
    t->params = cm_search_params_default(policy);
    t->params.num_simulations = 1 + (int)cm_rng_below(&rng, MOST_SIMULATIONS);
    t->params.max_depth = (int)cm_rng_below(&rng, 2) * (1 + (int)cm_rng_below(&rng, 4));
    t->params.max_num_considered_actions = 1 + (int)cm_rng_below(&rng, A);
    t->params.qtransform.use_mixed_value = cm_rng_below(&rng, 4) > 0;
    t->params.qtransform.rescale_values = cm_rng_below(&rng, 4) > 0;
    if (number % 5 == 0) t->params.qtransform.epsilon = number % 2 ? 0.5f : 2.0f; /* floors that ranges lie below */

    for (int a = 0; a < actions; a++) t->legal[a] = number % 3 == 0 || cm_rng_below(&rng, 2);
    t->legal[cm_rng_below(&rng, (uint32_t)actions)] = 1;
    if (policy == CM_POLICY_MUZERO) cm_rng_dirichlet(&rng, 0.3, actions, t->noise);
    for (int a = 0; a < actions && policy != CM_POLICY_MUZERO; a++) t->noise[a] = cm_rng_gumbel(&rng);
}

static void assert_same(int got, int want, const char *what, int node, int number) {
    ck_assert_msg(got == want, "tree %d, node %d: %s %d, want %d", number, node, what, got, want);
}

/* Simulation i makes node i + 1, so the first node with another parent or action is the first that was selected
 * otherwise. */
static void compare_trees(const session *fast, const textbook *slow, int number) {
    for (int node = 1; node < fast->slots; node++) {
        const cm_node_info got = cm_search_node(fast->search, 0, node);
        if (got.visits == 0) continue;
        assert_same(got.parent, slow->parent[node], "parent", node, number);
        assert_same(got.action_from_parent, slow->action_from_parent[node], "action", node, number);
    }
    for (int node = 0; node < fast->slots; node++)
        assert_same(cm_search_node(fast->search, 0, node).visits, slow->visits[node], "visits", node, number);
    for (int a = 0; a < slow->num_actions; a++) ck_assert_int_eq(fast->visits[a], slow->child_visits[0][a]);
    assert_near(fast->value[0], (float)slow->value[0], 1e-4f, "value of tree", number);
}

START_TEST(visits_are_those_of_the_textbook) {
    static task t;
    static textbook slow;
    int compared = 0, number = 0;
    for (; compared < TREES; number++) {
        make_task(&t, number);
        textbook_search(&slow, &t.table, &t.params, t.root_state, t.legal, t.noise);
        if (slow.closest < close_call) continue;
        session fast;
        session_open(&fast, &t.table, &t.params, 1);
        session_run(&fast, &t.root_state, &(cm_roots){.count = 1, .legal = t.legal, .noise = t.noise});
        compare_trees(&fast, &slow, number);
        session_close(&fast);
        compared++;
    }
    ck_assert_msg(number < 2 * TREES, "%d of %d trees have close calls", number - compared, number);
}
END_TEST

int main(void) { return RUN_SUITE("textbook", visits_are_those_of_the_textbook); }
