/* Every vector version of the step gives the bits of the scalar one: all rules, q-transforms, sizes, ties, masks,
 * depths. */
#include <math.h>

#include "mcts/internal.h"
#include "mcts/support.h"

enum { STATES = 48, MOST_A = 100, ROOTS = 9 };

typedef struct model {
    int32_t next[STATES * MOST_A];
    float reward[STATES * MOST_A], discount[STATES * MOST_A], logits[STATES * MOST_A], value[STATES];
    cm_table table;
} model;

/* flavour 0: any numbers; 1: few different numbers, so that scores tie; 2: illegal actions; 3: extreme logits; 4: no
 * values, priors in the ratios 1, 2 and 3, so that visited and open actions tie. */
static void make_model(model *m, int actions, int flavour, float discount, uint64_t instance) {
    cm_rng rng = cm_rng_init(cm_key_make(21, CM_RNG_TEST, instance), 0);
    for (int i = 0; i < STATES * actions; i++) {
        m->next[i] = (int32_t)cm_rng_below(&rng, STATES);
        m->reward[i] = cm_rng_normal(&rng);
        m->discount[i] = cm_rng_below(&rng, 8) == 0 ? 0.0f : discount;
        m->logits[i] = cm_rng_normal(&rng);
        if (flavour == 1) {
            m->reward[i] = (float)cm_rng_below(&rng, 2) * 0.5f;
            m->logits[i] = (const float[]){0.0f, 1.0f, 1e-8f}[cm_rng_below(&rng, 3)]; /* the third: priors tie */
        }
        if (flavour == 2 && i % actions != 0 && cm_rng_below(&rng, 2)) m->logits[i] = -FLT_MAX;
        if (flavour == 3) m->logits[i] *= 40.0f;
        if (flavour == 4) {
            m->reward[i] = 0.0f;
            m->logits[i] = (const float[]){0.0f, -0.693147182f, -1.09861231f}[cm_rng_below(&rng, 3)];
        }
    }
    for (int i = 0; i < STATES; i++)
        m->value[i] = flavour == 1 ? (float)cm_rng_below(&rng, 2) * 0.5f : cm_rng_normal(&rng);
    for (int i = 0; i < STATES && flavour == 4; i++) m->value[i] = 0.0f;
    m->table = (cm_table){STATES, actions, 0, m->next, m->reward, m->discount, m->logits, m->value, NULL, NULL};
}

static void same_trees(const session *a, const session *b, const char *what) {
    for (int root = 0; root < ROOTS; root++) {
        for (int slot = 0; slot < a->slots; slot++) {
            cm_node_info x = cm_search_node(a->search, root, slot), y = cm_search_node(b->search, root, slot);
            ck_assert_msg(memcmp(&x.value, &y.value, sizeof(float)) == 0 && x.visits == y.visits &&
                              x.parent == y.parent && x.action_from_parent == y.action_from_parent,
                          "%s, %d actions: root %d, slot %d differs", what, a->table.num_actions, root, slot);
            for (int column = 0; column < x.width; column++) {
                cm_edge_info e = cm_search_edge(a->search, root, slot, column);
                cm_edge_info f = cm_search_edge(b->search, root, slot, column);
                ck_assert_msg(e.child == f.child && e.visits == f.visits && memcmp(&e.q, &f.q, sizeof(float)) == 0 &&
                                  memcmp(&e.prior, &f.prior, sizeof(float)) == 0,
                              "%s, %d actions: root %d, slot %d, action %d differs", what, a->table.num_actions, root,
                              slot, column);
            }
        }
    }
    size_t n = (size_t)(ROOTS * a->table.num_actions);
    ck_assert_mem_eq(a->visits, b->visits, n * sizeof(int32_t));
    ck_assert_mem_eq(a->weights, b->weights, n * sizeof(float));
    ck_assert_mem_eq(a->action, b->action, ROOTS * sizeof(int32_t));
    ck_assert_mem_eq(a->value, b->value, ROOTS * sizeof(float));
}

static void compare_steps(const cm_step *step, const cm_search_params *params, const model *m, bool without_noise,
                          const char *what) {
    static session reference, other;
    int32_t states[ROOTS];
    cm_key keys[ROOTS];
    uint8_t legal[ROOTS * MOST_A];
    for (int b = 0; b < ROOTS; b++) {
        states[b] = b * 5 % STATES;
        keys[b] = cm_key_make(22, CM_RNG_TEST, (uint64_t)b);
    }
    for (int i = 0; i < ROOTS * m->table.num_actions; i++) legal[i] = i % 3 != 1 || i % m->table.num_actions == 0;
    cm_roots roots = {.count = ROOTS, .keys = keys, .legal = legal, .without_noise = without_noise};
    session_open(&reference, &m->table, params, ROOTS);
    session_open(&other, &m->table, params, ROOTS);
    reference.search->step = &cm_step_scalar;
    other.search->step = step;
    for (int round = 0; round < 2; round++) { /* the second run meets the memory of the first */
        roots.legal = round ? NULL : legal;
        session_run(&reference, states, &roots);
        session_run(&other, states, &roots);
        same_trees(&reference, &other, what);
    }
    session_close(&reference);
    session_close(&other);
}

/* Trees of the first `sizes` numbers of actions; of at most eight actions are six. */
static void compare_some(size_t sizes, cm_search_params params, const char *what) {
    static const int actions[] = {1, 2, 3, 4, 5, 8, 9, 17, 24, 33, 100};
    static model m;
    const cm_step *step = cm_step_best();
    for (size_t i = 0; i < sizes && i < sizeof actions / sizeof *actions; i++) {
        for (int flavour = 0; flavour < 5; flavour++) {
            make_model(&m, actions[i], flavour, flavour % 2 ? -1.0f : 0.97f, i);
            params.num_simulations = flavour == 1 && i % 2 ? 3 : 60;
            params.max_depth = flavour == 2 ? 3 : 0;
            compare_steps(step, &params, &m, flavour == 4, what);
        }
    }
}

static void compare_all(cm_search_params params, const char *what) { compare_some(SIZE_MAX, params, what); }

START_TEST(muzero_by_parent_and_siblings_gives_the_bits_of_the_scalar_step) {
    compare_all(cm_search_params_default(CM_POLICY_MUZERO), "siblings");
}
END_TEST

START_TEST(muzero_by_min_max_gives_the_bits_of_the_scalar_step) {
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.qtransform.kind = CM_QTRANSFORM_MIN_MAX;
    compare_all(params, "min_max");
}
END_TEST

START_TEST(muzero_by_completed_values_gives_the_bits_of_the_scalar_step) {
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.qtransform = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO).qtransform;
    compare_all(params, "completed");
}
END_TEST

START_TEST(gumbel_gives_the_bits_of_the_scalar_step) {
    cm_search_params params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    compare_all(params, "gumbel");
    params.gumbel_scale = 1000.0f; /* visits actions whose prior is 0 */
    compare_some(6, params, "gumbel, much noise");
    params.gumbel_scale = 1.0f;
    params.qtransform.use_mixed_value = false;
    compare_all(params, "gumbel, raw values, rescaled");
    params.qtransform.rescale_values = false;
    compare_all(params, "gumbel, raw values");
    params.qtransform.kind = CM_QTRANSFORM_PARENT_AND_SIBLINGS;
    compare_all(params, "gumbel, siblings");
}
END_TEST

/* One action in the middle is `ratio` times as likely as the others, and nothing is worth anything. Numbers with which
 * its score, once visited, is to the bit that of the actions not yet visited. */
START_TEST(visited_and_open_actions_that_tie_give_the_bits_of_the_scalar_step) {
    static const struct {
        int actions;
        float ratio;
    } tied[] = {{10, 5.0f}, {10, 6.0f}, {16, 5.0f}, {16, 17.0f}};
    static model m;
    cm_search_params params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    params.num_simulations = 60;
    for (size_t k = 0; k < sizeof tied / sizeof *tied; k++) {
        const int n = tied[k].actions;
        make_model(&m, n, 4, 0.97f, 1);
        for (int i = 0; i < STATES * n; i++) m.logits[i] = i % n == n / 2 ? logf(tied[k].ratio) : 0.0f;
        compare_steps(cm_step_best(), &params, &m, true, "gumbel, ties");
    }
}
END_TEST

START_TEST(gumbel_root_over_puct_gives_the_bits_of_the_scalar_step) {
    cm_search_params params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    params.interior_rule = CM_RULE_PUCT;
    compare_all(params, "gumbel root");
}
END_TEST

/* Numbers so large that sums overflow: no crash, whatever is selected. */
START_TEST(overflow_is_survived) {
    static model m;
    static session s;
    for (int kind = 0; kind < 2; kind++) {
        for (int actions = 1; actions < 20; actions += 6) {
            cm_search_params params = cm_search_params_default(kind ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO);
            params.num_simulations = 100;
            make_model(&m, actions, 0, 1e-20f, 3);
            for (int i = 0; i < STATES; i++) m.value[i] = i % 2 ? 3e38f : -3e38f;
            int32_t states[ROOTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
            cm_search_result none = {0};
            session_open(&s, &m.table, &params, ROOTS);
            s.tabular.root_states = states;
            cm_status status =
                cm_search_run(s.search, &s.model, &(cm_roots){.count = ROOTS, .without_noise = true}, &none);
            ck_assert(status == CM_OK || status == CM_ERR_NOT_FINITE);
            session_close(&s);
        }
    }
}
END_TEST

int main(void) {
    if (cm_step_best() == &cm_step_scalar) printf("SKIP vector steps: this machine has no AVX2\n");
    return RUN_SUITE("search step", muzero_by_parent_and_siblings_gives_the_bits_of_the_scalar_step,
                     muzero_by_min_max_gives_the_bits_of_the_scalar_step,
                     muzero_by_completed_values_gives_the_bits_of_the_scalar_step,
                     gumbel_gives_the_bits_of_the_scalar_step,
                     visited_and_open_actions_that_tie_give_the_bits_of_the_scalar_step,
                     gumbel_root_over_puct_gives_the_bits_of_the_scalar_step, overflow_is_survived);
}
