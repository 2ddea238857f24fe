/* What holds for every search: invariants, legality, independence of batch and shards, convergence, errors. */
#include <math.h>
#include <stdio.h>

#include "mcts/support.h"

/* ---------------------------------------------------------------- random models */

enum { STATES = 64, MOST_A = 20 };

typedef struct random_table {
    int32_t next[STATES * MOST_A];
    float reward[STATES * MOST_A], discount[STATES * MOST_A], logits[STATES * MOST_A], value[STATES];
    float chance_logits[STATES * MOST_A], after[STATES * MOST_A];
    cm_table table;
} random_table;

/* discount: of every step; a tenth of the steps end (discount 0). */
static void make_random(random_table *r, int actions, float discount, uint64_t instance) {
    cm_rng rng = cm_rng_init(cm_key_make(7, CM_RNG_TEST, instance), 0);
    for (int i = 0; i < STATES * actions; i++) {
        r->next[i] = (int32_t)cm_rng_below(&rng, STATES);
        r->reward[i] = cm_rng_normal(&rng);
        r->discount[i] = cm_rng_below(&rng, 10) == 0 ? 0.0f : discount;
        r->logits[i] = cm_rng_normal(&rng);
        r->chance_logits[i] = cm_rng_normal(&rng);
        r->after[i] = cm_rng_normal(&rng);
    }
    for (int i = 0; i < STATES; i++) r->value[i] = cm_rng_normal(&rng);
    r->table = (cm_table){STATES, actions, 0, r->next, r->reward, r->discount, r->logits, r->value, NULL, NULL};
}

static cm_search_params params_of(int kind) {
    cm_search_params params = cm_search_params_default(kind % 2 ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO);
    params.num_simulations = 40;
    params.check = true;
    if (kind / 2 % 2) params.max_depth = 3;
    if (kind / 4 == 1)
        params.qtransform = (cm_qtransform){.kind = CM_QTRANSFORM_MIN_MAX, .min_value = -9, .max_value = 9};
    if (kind / 4 == 2) params.qtransform.kind = CM_QTRANSFORM_PARENT_AND_SIBLINGS;
    if (kind / 4 == 3) params.interior_rule = CM_RULE_PUCT;
    return params;
}

enum { KINDS = 16, ROOTS = 11 };

typedef struct inputs {
    int32_t states[ROOTS];
    cm_key keys[ROOTS];
    uint64_t steps[ROOTS];
    uint8_t legal[ROOTS * MOST_A];
    float temperature[ROOTS];
    cm_roots roots;
} inputs;

static void make_inputs(inputs *in, int actions, uint64_t instance) {
    cm_rng rng = cm_rng_init(cm_key_make(8, CM_RNG_TEST, instance), 0);
    for (int b = 0; b < ROOTS; b++) {
        in->states[b] = (int32_t)cm_rng_below(&rng, STATES);
        in->keys[b] = cm_key_make(9, CM_RNG_TEST, (uint64_t)b);
        in->steps[b] = cm_rng_below(&rng, 1000);
        in->temperature[b] = cm_rng_uniform(&rng);
        int sure = (int)cm_rng_below(&rng, (uint32_t)actions);
        for (int a = 0; a < actions; a++) in->legal[b * actions + a] = a == sure || cm_rng_below(&rng, 3) > 0;
    }
    in->roots = (cm_roots){.count = ROOTS, .legal = in->legal, .keys = in->keys, .steps = in->steps};
    in->roots.temperature = in->temperature;
}

/* ---------------------------------------------------------------- invariants */

static void check_result(const session *s, const cm_search_params *params, const inputs *in) {
    int n = s->table.num_actions;
    for (int b = 0; b < ROOTS; b++) {
        int visits = 0;
        float weights = 0, probs = 0;
        for (int a = 0; a < n; a++) {
            int i = b * n + a;
            visits += s->visits[i];
            weights += s->weights[i];
            probs += s->probs[i];
            ck_assert_msg(in->legal[i] || s->visits[i] == 0, "root %d visits the illegal action %d", b, a);
            ck_assert_msg(in->legal[i] || s->weights[i] == 0, "root %d weighs the illegal action %d", b, a);
            ck_assert(s->weights[i] >= 0 && s->probs[i] >= 0 && isfinite(s->qvalues[i]));
            ck_assert(s->visits[i] > 0 || s->qvalues[i] == 0);
        }
        ck_assert_int_eq(visits, params->num_simulations);
        assert_near(weights, 1, 1e-5f, "sum of weights", b);
        assert_near(probs, 1, 1e-5f, "sum of probs", b);
        ck_assert(in->legal[b * n + s->action[b]] && s->probs[b * n + s->action[b]] > 0);
        ck_assert_int_eq(cm_search_node(s->search, b, 0).visits, params->num_simulations + 1);
    }
}

START_TEST(search_visits_sum_to_simulations_and_invariants_hold_after_every_backup) {
    static const int actions[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 18, 20};
    static random_table r;
    static session s;
    static inputs in;
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
            cm_search_params params = params_of(kind);
            make_random(&r, actions[i], kind % 3 ? 0.95f : -1.0f, i);
            make_inputs(&in, actions[i], i);
            session_open(&s, &r.table, &params, ROOTS);
            session_run(&s, in.states, &in.roots);
            check_result(&s, &params, &in);
            session_close(&s);
        }
    }
}
END_TEST

/* ---------------------------------------------------------------- independence */

static void same_row(const session *a, int row_a, const session *b, int row_b) {
    size_t n = (size_t)a->table.num_actions, i = (size_t)row_a * n, j = (size_t)row_b * n;
    ck_assert_mem_eq(a->visits + i, b->visits + j, n * sizeof(int32_t));
    ck_assert_mem_eq(a->weights + i, b->weights + j, n * sizeof(float));
    ck_assert_mem_eq(a->probs + i, b->probs + j, n * sizeof(float));
    ck_assert_mem_eq(a->qvalues + i, b->qvalues + j, n * sizeof(float));
    ck_assert_int_eq(a->action[row_a], b->action[row_b]);
    ck_assert(a->value[row_a] == b->value[row_b]);
}

START_TEST(a_root_gets_the_same_bits_alone_and_in_any_batch) {
    static random_table r;
    static session all, one;
    static inputs in;
    for (int kind = 0; kind < KINDS; kind++) {
        cm_search_params params = params_of(kind);
        make_random(&r, 6, 0.9f, 1);
        make_inputs(&in, 6, 1);
        session_open(&all, &r.table, &params, ROOTS);
        session_open(&one, &r.table, &params, 3);
        session_run(&all, in.states, &in.roots);
        for (int b = 0; b < ROOTS; b++) {
            cm_roots alone = {.count = 1, .legal = in.legal + b * 6, .keys = in.keys + b, .steps = in.steps + b};
            alone.temperature = in.temperature + b;
            session_run(&one, in.states + b, &alone);
            same_row(&all, b, &one, 0);
        }
        session_close(&all);
        session_close(&one);
    }
}
END_TEST

START_TEST(a_search_can_be_run_again_and_forgets_the_last_run) {
    static random_table r;
    static session s, fresh;
    static inputs in;
    for (int kind = 0; kind < KINDS; kind++) {
        cm_search_params params = params_of(kind);
        make_random(&r, 5, 0.9f, 2);
        session_open(&s, &r.table, &params, ROOTS);
        for (uint64_t round = 0; round < 3; round++) {
            make_inputs(&in, 5, round);
            session_run(&s, in.states, &in.roots);
        }
        session_open(&fresh, &r.table, &params, ROOTS);
        session_run(&fresh, in.states, &in.roots);
        for (int b = 0; b < ROOTS; b++) same_row(&s, b, &fresh, b);
        session_close(&fresh);
        session_close(&s);
    }
}
END_TEST

START_TEST(a_run_of_fewer_simulations_is_that_of_a_search_made_for_them) {
    static random_table r;
    static session s, fewer;
    static inputs in;
    for (int kind = 0; kind < KINDS; kind++) {
        cm_search_params params = params_of(kind);
        make_random(&r, 7, 0.9f, 5);
        make_inputs(&in, 7, 5);
        session_open(&s, &r.table, &params, ROOTS);
        for (int simulations = 1; simulations <= 40; simulations += 13) {
            params.num_simulations = simulations;
            in.roots.simulations = 0;
            session_open(&fewer, &r.table, &params, ROOTS);
            session_run(&fewer, in.states, &in.roots);
            in.roots.simulations = simulations;
            session_run(&s, in.states, &in.roots);
            ck_assert_int_eq(cm_search_simulations(s.search), ROOTS * simulations);
            for (int b = 0; b < ROOTS; b++) same_row(&s, b, &fewer, b);
            session_close(&fewer);
        }
        session_close(&s);
    }
}
END_TEST

START_TEST(noise_differs_from_step_to_step_and_from_key_to_key) {
    static random_table r;
    static session s;
    static inputs in;
    for (int kind = 0; kind < 2; kind++) {
        cm_search_params params = params_of(kind);
        float first[8];
        make_random(&r, 8, 0.9f, 3);
        session_open(&s, &r.table, &params, ROOTS);
        cm_roots roots = {.count = 1, .keys = in.keys, .steps = in.steps};
        int different = 0;
        for (int i = 0; i < 20; i++) {
            in.steps[0] = (uint64_t)i % 10;
            in.keys[0] = cm_key_make(1, CM_RNG_TEST, (uint64_t)i / 10);
            session_run(&s, (const int32_t[]){5}, &roots);
            if (i == 0) memcpy(first, s.weights, sizeof first);
            const float *logits = cm_search_root_logits(s.search, 0);
            (void)logits;
            different += memcmp(first, s.weights, sizeof first) != 0;
        }
        ck_assert_int_ge(different, 15);
        roots.without_noise = true;
        session_run(&s, (const int32_t[]){5}, &roots);
        memcpy(first, s.weights, sizeof first);
        in.steps[0] = 77;
        session_run(&s, (const int32_t[]){5}, &roots);
        ck_assert_mem_eq(first, s.weights, sizeof first);
        session_close(&s);
    }
}
END_TEST

START_TEST(gumbel_scale_multiplies_the_noise) {
    static random_table r;
    static session once, twice;
    float noise[8], doubled[8];
    cm_rng rng = cm_rng_init(cm_key_make(4, CM_RNG_TEST, 0), 0);
    for (int a = 0; a < 8; a++) noise[a] = cm_rng_gumbel(&rng), doubled[a] = 2.0f * noise[a];
    cm_search_params params = params_of(1);
    make_random(&r, 8, 0.9f, 3);
    session_open(&once, &r.table, &params, 1);
    params.gumbel_scale = 2.0f;
    session_open(&twice, &r.table, &params, 1);
    for (int state = 0; state < 20; state++) {
        session_run(&once, (const int32_t[]){state}, &(cm_roots){.count = 1, .noise = doubled});
        session_run(&twice, (const int32_t[]){state}, &(cm_roots){.count = 1, .noise = noise});
        same_row(&once, 0, &twice, 0);
    }
    session_close(&once);
    session_close(&twice);
}
END_TEST

START_TEST(actions_are_sampled_in_proportion_to_action_probs) {
    static random_table r;
    static session s;
    cm_search_params params = params_of(0);
    make_random(&r, 3, 0.9f, 4);
    session_open(&s, &r.table, &params, 1);
    int counts[3] = {0}, draws = 4000;
    for (int i = 0; i < draws; i++) {
        cm_key key = cm_key_make(3, CM_RNG_TEST, (uint64_t)i);
        session_run(&s, (const int32_t[]){5}, &(cm_roots){.count = 1, .keys = &key, .without_noise = true});
        counts[s.action[0]]++;
    }
    for (int a = 0; a < 3; a++) {
        float p = s.probs[a], deviation = sqrtf(p * (1 - p) / (float)draws);
        assert_near((float)counts[a] / (float)draws, p, 5 * deviation + 1e-6f, "frequency", a);
    }
    session_close(&s);
}
END_TEST

/* ---------------------------------------------------------------- legality */

/* Exact rules: illegal actions have the prior logit -FLT_MAX in every state. */
START_TEST(none_of_ten_million_selections_is_illegal) {
    static random_table r;
    static session s;
    int64_t selections = 0;
    for (uint64_t round = 0; selections < 10000000; round++) {
        cm_search_params params = params_of((int)(round % KINDS));
        params.num_simulations = 200;
        params.max_depth = 0;
        params.check = false;
        int n = 1 + (int)(round * 7 % MOST_A);
        make_random(&r, n, 0.99f, round);
        cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_TEST, round), 0);
        for (int i = 0; i < STATES; i++) {
            int sure = (int)cm_rng_below(&rng, (uint32_t)n);
            uint32_t share = cm_rng_below(&rng, 4);
            for (int a = 0; a < n; a++) {
                if (a != sure && (share == 0 || cm_rng_below(&rng, 4) < share)) r.logits[i * n + a] = -FLT_MAX;
            }
        }
        session_open(&s, &r.table, &params, 64);
        int32_t states[64];
        cm_key keys[64];
        for (int b = 0; b < 64; b++) {
            states[b] = (int32_t)cm_rng_below(&rng, STATES);
            keys[b] = cm_key_make(6, CM_RNG_TEST, (uint64_t)b);
        }
        session_run(&s, states, &(cm_roots){.count = 64, .keys = keys});
        for (int b = 0; b < 64; b++) {
            ck_assert(r.logits[states[b] * n + s.action[b]] > -FLT_MAX);
            for (int slot = 0; slot < s.slots; slot++) {
                int state = s.tabular.states[b * s.slots + slot];
                for (int a = 0; a < n; a++) {
                    int32_t visits = cm_search_edge(s.search, b, slot, a).visits;
                    selections += visits;
                    if (visits == 0 || r.logits[state * n + a] > -FLT_MAX) continue;
                    ck_abort_msg("round %d: root %d, slot %d selects %d", (int)round, b, slot, a);
                }
            }
        }
        session_close(&s);
    }
}
END_TEST

START_TEST(no_legal_action_selects_action_0) {
    static random_table r;
    static session s;
    make_random(&r, 3, 0.9f, 6);
    const uint8_t legal[3] = {0, 0, 0};
    const float noise[3] = {0.2f, 0.5f, 0.3f};
    for (int kind = 0; kind < 2; kind++) {
        cm_search_params params = params_of(kind);
        session_open(&s, &r.table, &params, 1);
        session_run(&s, (const int32_t[]){1}, &(cm_roots){.count = 1, .legal = legal, .noise = noise});
        ck_assert_int_eq(s.visits[0], params.num_simulations);
        for (int a = 0; a < 3; a++) assert_near(s.weights[a], kind ? 1.0f / 3.0f : a == 0, 1e-6f, "weights", a);
        ck_assert_int_eq(s.action[0], 0);
        session_close(&s);
    }
}
END_TEST

START_TEST(no_simulations_give_the_raw_value_and_uniform_weights) {
    static random_table r;
    static session s;
    make_random(&r, 4, 0.9f, 6);
    cm_search_params params = params_of(0);
    params.num_simulations = 0;
    params.dirichlet_fraction = 0;
    session_open(&s, &r.table, &params, 1);
    session_run(&s, (const int32_t[]){1}, &(cm_roots){.count = 1});
    ck_assert(s.value[0] == r.value[1] && s.raw_value[0] == r.value[1]);
    for (int a = 0; a < 4; a++) ck_assert(s.weights[a] == 0.25f && s.visits[a] == 0);
    session_close(&s);
}
END_TEST

START_TEST(fewer_simulations_than_considered_visit_the_best_by_noise_and_logit) {
    static random_table r;
    static session s;
    make_random(&r, 8, 0.9f, 6);
    for (int a = 0; a < 8; a++) r.logits[a] = 0.0f;
    cm_search_params params = params_of(1);
    params.num_simulations = 3;
    const float noise[8] = {0, 5, 1, 9, 2, 7, 3, 4};
    session_open(&s, &r.table, &params, 1);
    session_run(&s, (const int32_t[]){0}, &(cm_roots){.count = 1, .noise = noise});
    const int32_t want[8] = {0, 1, 0, 1, 0, 1, 0, 0};
    ck_assert_mem_eq(s.visits, want, sizeof want);
    session_close(&s);
}
END_TEST

/* ---------------------------------------------------------------- solved games */

/* Depth-limited trees of `width` actions and `depth` plies, states in breadth-first order, reward at random edges. */
typedef struct game {
    int width, depth, states;
    int32_t next[8192];
    float reward[8192], discount[8192], logits[8192], value[4096];
    float exact[4096];
} game;

/* Solves backwards: one player (sign 1) or two who alternate (sign -1). Values given to the search are wrong on
 * purpose. */
static void make_game(game *g, int width, int depth, float sign, uint64_t instance) {
    cm_rng rng = cm_rng_init(cm_key_make(11, CM_RNG_TEST, instance), 0);
    int first = 0, count = 1;
    memset(g, 0, sizeof *g);
    g->width = width, g->depth = depth;
    for (int ply = 0; ply < depth; ply++, first += count, count *= width) {
        for (int i = 0; i < count; i++) {
            for (int a = 0; a < width; a++) {
                int edge = (first + i) * width + a;
                g->next[edge] = first + count + i * width + a;
                g->reward[edge] =
                    (float)((int)cm_rng_below(&rng, 5) - 2) / (float)(sign < 0 && ply + 1 < depth ? 1e9 : 4);
                g->discount[edge] = ply + 1 < depth ? sign : 0.0f;
            }
        }
    }
    g->states = first + count;
    for (int i = 0; i < count; i++) {
        for (int a = 0; a < width; a++) g->next[(first + i) * width + a] = first + i;
    }
    for (int s = first - 1; s >= 0; s--) {
        g->exact[s] = -1e30f;
        for (int a = 0; a < width; a++) {
            int edge = s * width + a;
            float q = g->reward[edge] + g->discount[edge] * g->exact[g->next[edge]];
            g->exact[s] = q > g->exact[s] ? q : g->exact[s];
        }
        g->value[s] = cm_rng_normal(&rng) * 0.3f;
    }
}

static void check_convergence(const game *g, int kind, uint64_t instance) {
    static session s;
    cm_table table = {g->states, g->width, 0, g->next, g->reward, g->discount, g->logits, g->value, NULL, NULL};
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.num_simulations = 60000;
    params.dirichlet_fraction = 0.0f;
    params.gumbel_scale = 0.0f;
    params.pb_c_init = 1.25f;
    params.pb_c_base = 1e9f;
    if (kind) params.root_rule = CM_RULE_GUMBEL; /* below the root PUCT: the Gumbel rule does not explore for ever */
    session_open(&s, &table, &params, 1);
    session_run(&s, (const int32_t[]){0}, &(cm_roots){.count = 1});
    float best = s.qvalues[s.action[0]];
    ck_assert_msg(fabsf(best - g->exact[0]) < 0.02f, "game %d, kind %d: got %g, exact %g", (int)instance, kind,
                  (double)best, (double)g->exact[0]);
    if (!kind) {
        ck_assert_msg(fabsf(s.value[0] - g->exact[0]) < 0.02f, "game %d: root %g, exact %g", (int)instance,
                      (double)s.value[0], (double)g->exact[0]);
    }
    session_close(&s);
}

START_TEST(one_player_with_rewards_on_the_way_converges_to_the_best_return) {
    static game g;
    for (uint64_t i = 0; i < 6; i++) {
        make_game(&g, 2, 4, 1.0f, i);
        for (int kind = 0; kind < 2; kind++) check_convergence(&g, kind, i);
    }
}
END_TEST

START_TEST(alternating_zero_sum_converges_to_the_minimax_value) {
    static game g;
    for (uint64_t i = 0; i < 6; i++) {
        make_game(&g, 2, 4, -1.0f, 100 + i);
        for (int kind = 0; kind < 2; kind++) check_convergence(&g, kind, i);
    }
}
END_TEST

/* Roll a die, then stop for its face or roll once more: action 0 pays the face, action 1 goes on; two rolls at most.
 */
START_TEST(dice_game_converges_to_the_expected_value) {
    enum { FACES = 6, LEFT = 2, S = LEFT * (FACES + 1) + 1, END = S - 1 };
    static int32_t next[S * 2 * FACES];
    static float reward[S * 2 * FACES], discount[S * 2 * FACES], logits[S * 2], value[S], zeros[S * 2 * FACES],
        after[S * 2];
    float exact = 0.0f; /* with no roll left: the face */
    for (int left = 0; left < LEFT - 1; left++) {
        float mean = 0.0f;
        for (int face = 1; face <= FACES; face++) mean += ((float)face > exact ? (float)face : exact) / FACES;
        exact = mean;
    }
    float mean = 0.0f;
    for (int face = 1; face <= FACES; face++) mean += ((float)face > exact ? (float)face : exact) / FACES;
    exact = mean / FACES; /* two rolls: 4.25 / 6 */
    for (int state = 0; state < S; state++) {
        int left = state / (FACES + 1), face = state % (FACES + 1); /* rolls used so far; face 0: nothing rolled */
        for (int a = 0; a < 2; a++) {
            for (int o = 0; o < FACES; o++) {
                int i = (state * 2 + a) * FACES + o;
                bool rolls = state != END && a == 1 && left + 1 < LEFT;
                bool starts = state == 0;
                next[i] = starts || rolls ? (starts ? 0 : left + 1) * (FACES + 1) + 1 + o : END;
                discount[i] = next[i] == END ? 0.0f : 1.0f;
                reward[i] = next[i] == END && state != END ? (a == 0 ? (float)face / FACES : 0.0f) : 0.0f;
            }
        }
    }
    cm_table table = {S, 2, FACES, next, reward, discount, logits, value, zeros, after};
    cm_search_params params = cm_search_params_default(CM_POLICY_STOCHASTIC_MUZERO);
    params.num_simulations = 60000;
    params.dirichlet_fraction = 0.0f;
    params.pb_c_init = 1.25f;
    params.pb_c_base = 1e9f;
    params.qtransform = (cm_qtransform){.kind = CM_QTRANSFORM_MIN_MAX, .min_value = 0, .max_value = 1};
    static session s;
    session_open(&s, &table, &params, 1);
    session_run(&s, (const int32_t[]){0}, &(cm_roots){.count = 1});
    ck_assert_msg(fabsf(s.value[0] - exact) < 0.02f, "got %g, exact %g", (double)s.value[0], (double)exact);
    session_close(&s);
}
END_TEST

/* ---------------------------------------------------------------- errors */

static void expect_error(cm_status got, cm_status want, const char *part) {
    ck_assert_int_eq(got, want);
    ck_assert_msg(strstr(cm_error_message(), part) != NULL, "\"%s\" lacks \"%s\"", cm_error_message(), part);
}

START_TEST(parameters_out_of_range_are_named) {
    cm_search *search = NULL;
    const cm_search_params fine = cm_search_params_default(CM_POLICY_MUZERO);
    cm_search_params params = fine;
#define REFUSES(field, value, name)                                                                                    \
    params = fine;                                                                                                     \
    params.field = value;                                                                                              \
    expect_error(cm_search_create(&params, 1, 2, 0, &search), CM_ERR_INPUT, name);                                     \
    ck_assert_ptr_null(search)
    REFUSES(num_simulations, -1, "num_simulations");
    REFUSES(max_depth, -1, "max_depth");
    REFUSES(pb_c_init, -0.5f, "pb_c_init");
    REFUSES(pb_c_base, 0.0f, "pb_c_base");
    REFUSES(dirichlet_fraction, 1.5f, "dirichlet_fraction");
    REFUSES(dirichlet_alpha, 0.0f, "dirichlet_alpha");
    REFUSES(temperature, NAN, "temperature");
    REFUSES(max_num_considered_actions, 0, "max_num_considered_actions");
    REFUSES(gumbel_scale, -1.0f, "gumbel_scale");
    REFUSES(qtransform.epsilon, 0.0f, "qtransform.epsilon");
    REFUSES(qtransform.value_scale, INFINITY, "qtransform.value_scale");
#undef REFUSES
    params = fine;
    params.qtransform = (cm_qtransform){.kind = CM_QTRANSFORM_MIN_MAX, .min_value = 1, .max_value = 1};
    expect_error(cm_search_create(&params, 1, 2, 0, &search), CM_ERR_INPUT, "qtransform.max_value");
    expect_error(cm_search_create(&fine, 0, 2, 0, &search), CM_ERR_INPUT, "batch");
    expect_error(cm_search_create(&fine, 1, 0, 0, &search), CM_ERR_INPUT, "num_actions");
    expect_error(cm_search_create(&fine, 1, 2, -1, &search), CM_ERR_INPUT, "num_chance");
    params = fine;
    params.num_simulations = 65535;
    expect_error(cm_search_create(&params, 1, 65536, 0, &search), CM_ERR_INPUT, "65536 columns are too many");
    ck_assert_uint_gt(cm_search_bytes(&params, 1, 362, 0), 0);
    ck_assert_uint_eq(cm_search_bytes(&fine, 0, 2, 0), 0);
    ck_assert_uint_gt(cm_search_bytes(&fine, 4, 2, 0), 4 * 26 * 64);
}
END_TEST

START_TEST(wrong_arguments_of_a_run_are_named) {
    static random_table r;
    static session s;
    make_random(&r, 3, 0.9f, 0);
    cm_search_params params = params_of(0);
    session_open(&s, &r.table, &params, 2);
    const float noise[9] = {0.2f, 0.5f, 0.3f, 0.2f, 0.5f, 0.3f, 0.2f, 0.5f, 0.3f}, cold[2] = {1.0f, -1.0f};
    cm_search_result none = {0};
    s.tabular.root_states = (const int32_t[]){0, 1, 2};
    expect_error(cm_search_run(s.search, &s.model, &(cm_roots){.count = 3, .noise = noise}, &none), CM_ERR_INPUT,
                 "got 3");
    expect_error(cm_search_run(s.search, &s.model, &(cm_roots){.count = 0, .noise = noise}, &none), CM_ERR_INPUT,
                 "got 0");
    expect_error(cm_search_run(s.search, &s.model, &(cm_roots){.count = 1}, &none), CM_ERR_INPUT, "dirichlet_fraction");
    cm_roots frozen = {.count = 2, .noise = noise, .temperature = cold};
    expect_error(cm_search_run(s.search, &s.model, &frozen, &none), CM_ERR_INPUT, "temperature[1]");
    expect_error(cm_search_run(s.search, &s.model, &(cm_roots){.count = 1, .noise = noise, .simulations = 41}, &none),
                 CM_ERR_INPUT, "made for 40 simulations, got 41");
    cm_model other = s.model;
    other.num_actions = 4;
    expect_error(cm_search_run(s.search, &other, &(cm_roots){.count = 1, .noise = noise}, &none), CM_ERR_INPUT, "4");
    other = s.model;
    other.recurrent = NULL;
    expect_error(cm_search_run(s.search, &other, &(cm_roots){.count = 1, .noise = noise}, &none), CM_ERR_INPUT,
                 "recurrent");
    session_close(&s);
}
END_TEST

static cm_status failing(void *ctx, int n, const int32_t *slots, cm_model_out *out) {
    (void)ctx, (void)n, (void)slots, (void)out;
    return cm_fail(CM_ERR_DEVICE, "the device is gone");
}

START_TEST(errors_of_the_model_are_kept) {
    static random_table r;
    static session s;
    make_random(&r, 3, 0.9f, 0);
    cm_search_params params = params_of(0);
    params.dirichlet_fraction = 0;
    session_open(&s, &r.table, &params, 1);
    cm_search_result none = {0};
    cm_model broken = s.model;
    broken.root = failing;
    expect_error(cm_search_run(s.search, &broken, &(cm_roots){.count = 1}, &none), CM_ERR_MODEL, "the device is gone");
    session_close(&s);
}
END_TEST

START_TEST(numbers_that_are_not_finite_stop_the_search) {
    static random_table r;
    static session s;
    float *const places[] = {&r.value[9], &r.reward[9 * 3 + 1], &r.discount[9 * 3 + 2], &r.logits[9 * 3]};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < (i == 3 ? 2 : 3); j++) {
            make_random(&r, 3, 0.9f, 0);
            for (int k = 0; k < 9; k++) r.next[k] = 9;
            *places[i] = bad[j];
            cm_search_params params = params_of(0);
            params.dirichlet_fraction = 0;
            params.check = false;
            session_open(&s, &r.table, &params, 1);
            cm_search_result none = {0};
            s.tabular.root_states = (const int32_t[]){0};
            expect_error(cm_search_run(s.search, &s.model, &(cm_roots){.count = 1}, &none), CM_ERR_NOT_FINITE,
                         "root 0");
            session_close(&s);
        }
    }
}
END_TEST

int main(void) {
    return RUN_SUITE(
        "search", search_visits_sum_to_simulations_and_invariants_hold_after_every_backup,
        a_root_gets_the_same_bits_alone_and_in_any_batch, a_search_can_be_run_again_and_forgets_the_last_run,
        a_run_of_fewer_simulations_is_that_of_a_search_made_for_them,
        noise_differs_from_step_to_step_and_from_key_to_key, actions_are_sampled_in_proportion_to_action_probs,
        gumbel_scale_multiplies_the_noise, none_of_ten_million_selections_is_illegal, no_legal_action_selects_action_0,
        no_simulations_give_the_raw_value_and_uniform_weights,
        fewer_simulations_than_considered_visit_the_best_by_noise_and_logit,
        one_player_with_rewards_on_the_way_converges_to_the_best_return,
        alternating_zero_sum_converges_to_the_minimax_value, dice_game_converges_to_the_expected_value,
        parameters_out_of_range_are_named, wrong_arguments_of_a_run_are_named, errors_of_the_model_are_kept,
        numbers_that_are_not_finite_stop_the_search);
}
