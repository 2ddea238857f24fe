/* Searches of include/cumind.h over a model of the caller's: the numbers of mcts/search.h, and errors by name. */
#include <check.h>
#include <cumind.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mcts/search.h"
#include "support/main.h"

enum { A = 5, C = 3, ROOTS = 7, N = 24, SLOTS = ROOTS * (N + 1), WIDE = 5 };

/* A model whose states are numbers: what it says of one is drawn from it. */
typedef struct numbers {
    uint64_t state[SLOTS];
    int calls;
} numbers;

static numbers model_of_ours, model_of_theirs;

static float drawn(uint64_t state, uint64_t what) {
    uint64_t x = (state + 1) * 0x9E3779B97F4A7C15u ^ what * 0xBF58476D1CE4E5B9u;
    x ^= x >> 29, x *= 0x94D049BB133111EBu, x ^= x >> 32;
    return (float)(x >> 40) / (float)(1 << 23) - 1.0f;
}

static void evaluate(uint64_t state, int width, float *logits, float *value) {
    for (int a = 0; a < width; a++) logits[a] = 2.0f * drawn(state, (uint64_t)a + 10);
    *value = drawn(state, 1);
}

static void play(numbers *m, int n, const int32_t *parent, const int32_t *action, const int32_t *child) {
    m->calls++;
    for (int k = 0; k < n; k++) m->state[child[k]] = m->state[parent[k]] * 31 + (uint64_t)action[k] + 1;
}

static void step_all(numbers *m, int n, const int32_t *child, float *reward, float *discount, float *logits,
                     float *value) {
    for (int k = 0; k < n; k++) {
        const uint64_t state = m->state[child[k]];
        reward[k] = drawn(state, 2);
        discount[k] = state % 11 == 0 ? 0.0f : 0.97f;
        evaluate(state, A, logits + k * A, &value[k]);
    }
}

static cumind_status recurrent(void *context, int n, const int32_t *parent, const int32_t *action, const int32_t *child,
                               cumind_model_out *out) {
    play(context, n, parent, action, child);
    step_all(context, n, child, out->reward, out->discount, out->prior_logits, out->value);
    return CUMIND_OK;
}

static cumind_status afterstate(void *context, int n, const int32_t *parent, const int32_t *action,
                                const int32_t *child, cumind_model_out *out) {
    numbers *m = context;
    play(m, n, parent, action, child);
    for (int k = 0; k < n; k++) evaluate(m->state[child[k]], C, out->prior_logits + k * C, &out->value[k]);
    return CUMIND_OK;
}

static cm_status our_root(void *context, int n, const int32_t *slots, cm_model_out *out) {
    numbers *m = context;
    for (int k = 0; k < n; k++) evaluate(m->state[slots[k]], A, out->prior_logits + k * A, &out->value[k]);
    return CM_OK;
}

static cm_status our_recurrent(void *context, int n, const int32_t *parent, const int32_t *action, const int32_t *child,
                               cm_model_out *out) {
    play(context, n, parent, action, child);
    step_all(context, n, child, out->reward, out->discount, out->prior_logits, out->value);
    return CM_OK;
}

static cm_status our_afterstate(void *context, int n, const int32_t *parent, const int32_t *action,
                                const int32_t *child, cm_model_out *out) {
    cumind_model_out theirs = {out->reward, out->discount, out->prior_logits, out->value, NULL, C};
    return (cm_status)afterstate(context, n, parent, action, child, &theirs);
}

static void begin(numbers *m) {
    for (int b = 0; b < ROOTS; b++) m->state[b * (N + 1)] = (uint64_t)b * 1000;
    m->calls = 0;
}

typedef struct results {
    int32_t action[ROOTS], visits[ROOTS * A];
    float weights[ROOTS * A], q[ROOTS * A], value[ROOTS];
} results;

static void invalid_of(uint8_t invalid[ROOTS * A]) {
    for (int i = 0; i < ROOTS * A; i++) invalid[i] = i % 4 == 1;
}

static void run_ours(cumind_policy policy, bool masked, bool seeded, results *out) {
    cm_search_params params = cm_search_params_default((cm_policy)policy);
    cm_search *search;
    cm_key keys[ROOTS];
    uint8_t legal[ROOTS * A];
    const int chance = policy == CUMIND_STOCHASTIC_MUZERO ? C : 0;
    params.num_simulations = N;
    begin(&model_of_ours);
    invalid_of(legal);
    for (int i = 0; i < ROOTS * A; i++) legal[i] = !legal[i];
    for (int b = 0; b < ROOTS; b++) keys[b] = cm_key_make((uint64_t)b + 5, CM_RNG_ACTION, 0);
    const cm_model model = {.ctx = &model_of_ours,
                            .num_actions = A,
                            .num_chance = chance,
                            .root = our_root,
                            .recurrent = our_recurrent,
                            .afterstate = chance > 0 ? our_afterstate : NULL};
    const cm_roots roots = {
        .count = ROOTS, .legal = masked ? legal : NULL, .keys = seeded ? keys : NULL, .without_noise = !seeded};
    const cm_search_result result = {.visits = out->visits,
                                     .action_weights = out->weights,
                                     .value = out->value,
                                     .qvalues = out->q,
                                     .action = out->action};
    ck_assert_int_eq(cm_search_create(&params, ROOTS, A, chance, &search), CM_OK);
    ck_assert_msg(cm_search_run(search, &model, &roots, &result) == CM_OK, "%s", cm_error_message());
    cm_search_destroy(search);
}

static cumind_search *open_search(cumind_policy policy) {
    cumind_search_options options = cumind_search_defaults(policy);
    cumind_search *search;
    options.num_simulations = N;
    ck_assert_msg(cumind_search_open(&options, ROOTS, A, policy == CUMIND_STOCHASTIC_MUZERO ? C : 0, &search) ==
                      CUMIND_OK,
                  "%s", cumind_error_message());
    return search;
}

static cumind_model their_model(cumind_policy policy) {
    const bool chance = policy == CUMIND_STOCHASTIC_MUZERO;
    return (cumind_model){.context = &model_of_theirs,
                          .num_actions = A,
                          .num_chance = chance ? C : 0,
                          .recurrent = recurrent,
                          .afterstate = chance ? afterstate : NULL};
}

/* The roots that the model of theirs has evaluated. */
typedef struct evaluated {
    float logits[ROOTS * A], value[ROOTS];
    uint64_t seed[ROOTS];
    uint8_t invalid[ROOTS * A];
} evaluated;

static cumind_roots roots_of(evaluated *e, bool masked, bool seeded) {
    begin(&model_of_theirs);
    invalid_of(e->invalid);
    for (int b = 0; b < ROOTS; b++) {
        e->seed[b] = (uint64_t)b + 5;
        evaluate(model_of_theirs.state[b * (N + 1)], A, e->logits + b * A, &e->value[b]);
    }
    return (cumind_roots){.count = ROOTS,
                          .prior_logits = e->logits,
                          .value = e->value,
                          .invalid = masked ? e->invalid : NULL,
                          .seed = seeded ? e->seed : NULL};
}

static cumind_search_result result_of(results *r) {
    return (cumind_search_result){
        .action = r->action, .action_weights = r->weights, .visits = r->visits, .qvalues = r->q, .value = r->value};
}

START_TEST(a_search_gives_the_numbers_of_mcts) {
    const cumind_policy policy = (cumind_policy)(_i % 3);
    const bool masked = (_i / 3) % 2 == 1, seeded = _i >= 6;
    static results ours, theirs;
    evaluated e;
    run_ours(policy, masked, seeded, &ours);
    cumind_search *search = open_search(policy);
    const cumind_model model = their_model(policy);
    const cumind_roots roots = roots_of(&e, masked, seeded);
    const cumind_search_result result = result_of(&theirs);
    for (int again = 0; again < 2; again++) {
        memset(&theirs, 0x55, sizeof theirs);
        model_of_theirs.calls = 0;
        ck_assert_msg(cumind_search_run(search, &model, &roots, &result) == CUMIND_OK, "%s", cumind_error_message());
        ck_assert_mem_eq(&ours, &theirs, sizeof ours);
        ck_assert_int_ge(model_of_theirs.calls, N);
    }
    cumind_search_close(search);
}
END_TEST

/* ---- logits of the caller's ---- */

enum { MOST = 12, GAP = 3 };

/* A model that has its logits in arrays of its own, of each function one. */
typedef struct elsewhere {
    numbers *states;
    int actions, chance;
    size_t gap;      /* between rows */
    bool tells, low; /* where the logits are; one of them is the lowest number there is */
    float logits[2][ROOTS * (MOST + GAP)];
    int n; /* of the last call of recurrent, whose arrays these are */
    const int32_t *parent, *action, *child;
    float *reward, *value;
} elsewhere;

static void expect_same_arrays(elsewhere *m, int n, const int32_t *parent, const int32_t *action, const int32_t *child,
                               const cumind_model_out *out) {
    if (m->n == n && m->parent == parent)
        ck_assert(m->action == action && m->child == child && m->reward == out->reward && m->value == out->value);
    m->n = n, m->parent = parent, m->action = action, m->child = child, m->reward = out->reward, m->value = out->value;
}

static void tell(elsewhere *m, int function, int n, const int32_t *child, cumind_model_out *out) {
    const int width = function == 0 ? m->actions : m->chance;
    const size_t stride = (size_t)width + m->gap;
    float *logits = m->logits[function];
    ck_assert(!out->logits_at && out->logits_stride == (size_t)width);
    for (int i = 0; i < n * width; i++) out->prior_logits[i] = NAN; /* nothing reads them */
    for (int k = 0; k < n; k++) {
        evaluate(m->states->state[child[k]], width, logits + (size_t)k * stride, &out->value[k]);
        if (m->low) logits[(size_t)k * stride + 1] = -FLT_MAX;
        if (!m->tells)
            memcpy(out->prior_logits + k * width, logits + (size_t)k * stride, (size_t)width * sizeof *logits);
    }
    if (m->tells) out->logits_at = logits, out->logits_stride = stride;
}

static cumind_status tells_recurrent(void *context, int n, const int32_t *parent, const int32_t *action,
                                     const int32_t *child, cumind_model_out *out) {
    elsewhere *m = context;
    expect_same_arrays(m, n, parent, action, child, out);
    play(m->states, n, parent, action, child);
    for (int k = 0; k < n; k++) out->reward[k] = drawn(m->states->state[child[k]], 2), out->discount[k] = 0.97f;
    tell(m, 0, n, child, out);
    return CUMIND_OK;
}

static cumind_status tells_afterstate(void *context, int n, const int32_t *parent, const int32_t *action,
                                      const int32_t *child, cumind_model_out *out) {
    elsewhere *m = context;
    play(m->states, n, parent, action, child);
    tell(m, 1, n, child, out);
    return CUMIND_OK;
}

typedef struct found {
    int32_t action[ROOTS], visits[ROOTS * MOST];
    float weights[ROOTS * MOST], value[ROOTS];
} found;

static void search_elsewhere(elsewhere *m, cumind_policy policy, found *out) {
    static const float logits[ROOTS * MOST], value[ROOTS];
    cumind_search_options options = cumind_search_defaults(policy);
    cumind_search *search;
    memset(out, 0, sizeof *out);
    options.num_simulations = N;
    begin(m->states);
    const cumind_model model = {.context = m,
                                .num_actions = m->actions,
                                .num_chance = m->chance,
                                .recurrent = tells_recurrent,
                                .afterstate = m->chance > 0 ? tells_afterstate : NULL};
    const cumind_roots roots = {.count = ROOTS, .prior_logits = logits, .value = value};
    const cumind_search_result result = {
        .action = out->action, .visits = out->visits, .action_weights = out->weights, .value = out->value};
    ck_assert_int_eq(cumind_search_open(&options, ROOTS, m->actions, m->chance, &search), CUMIND_OK);
    ck_assert_msg(cumind_search_run(search, &model, &roots, &result) == CUMIND_OK, "%s", cumind_error_message());
    cumind_search_close(search);
}

/* Sizes with and without vectors that read past a row; with gaps and packed; with the lowest logit and without. */
START_TEST(logits_are_read_where_the_caller_has_them) {
    static elsewhere model;
    static found copied, told;
    const cumind_policy policy = (cumind_policy)(_i % 3);
    model = (elsewhere){.states = &model_of_theirs, .actions = _i / 3 % 2 ? A : MOST, .gap = _i / 6 % 2 ? GAP : 0};
    model.chance = policy != CUMIND_STOCHASTIC_MUZERO ? 0 : model.actions == MOST ? C : MOST;
    model.low = _i / 12 == 1;
    search_elsewhere(&model, policy, &copied);
    model.tells = true;
    search_elsewhere(&model, policy, &told);
    ck_assert_mem_eq(&copied, &told, sizeof copied);
    if (model.low) ck_assert_float_eq(model.logits[0][1], -FLT_MAX); /* it is the caller's: nothing is written there */
}
END_TEST

static cumind_status tells_too_near(void *context, int n, const int32_t *parent, const int32_t *action,
                                    const int32_t *child, cumind_model_out *out) {
    recurrent(context, n, parent, action, child, out);
    out->logits_at = out->prior_logits, out->logits_stride = A - 1;
    return CUMIND_OK;
}

START_TEST(the_trees_of_a_search_hold_its_visits) {
    static results theirs;
    evaluated e;
    static int32_t parent[SLOTS], action[SLOTS], visits[SLOTS], children[SLOTS * WIDE];
    static float value[SLOTS];
    cumind_search *search = open_search(CUMIND_GUMBEL_MUZERO);
    const cumind_trees trees = {parent, action, visits, value, children};
    ck_assert_int_eq(cumind_search_get_trees(search, &trees), CUMIND_ERR_STATE);
    const cumind_model model = their_model(CUMIND_GUMBEL_MUZERO);
    const cumind_roots roots = roots_of(&e, true, true);
    const cumind_search_result result = result_of(&theirs);
    ck_assert_int_eq(cumind_search_run(search, &model, &roots, &result), CUMIND_OK);
    ck_assert_int_eq(cumind_search_get_trees(search, &trees), CUMIND_OK);
    for (int b = 0; b < ROOTS; b++) {
        const int root = b * (N + 1);
        ck_assert_int_eq(parent[root], -1);
        ck_assert_float_eq(value[root], theirs.value[b]);
        for (int a = 0; a < A; a++) {
            const int child = children[root * WIDE + a];
            ck_assert_int_eq(child < 0 ? 0 : visits[root + child], theirs.visits[b * A + a]);
            if (child >= 0) ck_assert(parent[root + child] == 0 && action[root + child] == a);
        }
    }
    cumind_search_close(search);
}
END_TEST

static cumind_status fails(void *context, int n, const int32_t *parent, const int32_t *action, const int32_t *child,
                           cumind_model_out *out) {
    (void)context, (void)n, (void)parent, (void)action, (void)child, (void)out;
    return cumind_fail(CUMIND_ERR_DEVICE, "the robot is away");
}

static cumind_status says_nothing(void *context, int n, const int32_t *parent, const int32_t *action,
                                  const int32_t *child, cumind_model_out *out) {
    (void)context, (void)n, (void)parent, (void)action, (void)child, (void)out;
    return CUMIND_ERR_IO;
}

static cumind_status gives_nan(void *context, int n, const int32_t *parent, const int32_t *action, const int32_t *child,
                               cumind_model_out *out) {
    recurrent(context, n, parent, action, child, out);
    out->value[0] = out->value[0] / 0.0f - out->value[0] / 0.0f;
    return CUMIND_OK;
}

static cumind_status gives_none(void *context, int n, const int32_t *parent, const int32_t *action,
                                const int32_t *child, cumind_model_out *out) {
    recurrent(context, n, parent, action, child, out);
    return (cumind_status)77;
}

static cumind_search *searching;

static cumind_status searches_again(void *context, int n, const int32_t *parent, const int32_t *action,
                                    const int32_t *child, cumind_model_out *out) {
    (void)context, (void)n, (void)parent, (void)action, (void)child, (void)out;
    const cumind_trees trees = {0};
    return cumind_search_get_trees(searching, &trees);
}

static void expect(cumind_status got, cumind_status want, const char *text) {
    ck_assert_msg(got == want && strstr(cumind_error_message(), text), "%d, not %d: %s", (int)got, (int)want,
                  cumind_error_message());
}

START_TEST(errors_of_a_model_are_those_of_the_search) {
    static results theirs;
    evaluated e;
    cumind_model model = their_model(CUMIND_MUZERO);
    const cumind_roots roots = roots_of(&e, false, false);
    const cumind_search_result result = result_of(&theirs);
    searching = open_search(CUMIND_MUZERO);
    model.recurrent = fails;
    expect(cumind_search_run(searching, &model, &roots, &result), CUMIND_ERR_MODEL, "the robot is away");
    model.recurrent = says_nothing;
    expect(cumind_search_run(searching, &model, &roots, &result), CUMIND_ERR_MODEL, "it says no reason");
    model.recurrent = gives_nan;
    expect(cumind_search_run(searching, &model, &roots, &result), CUMIND_ERR_NOT_FINITE, "root 0");
    model.recurrent = gives_none;
    expect(cumind_search_run(searching, &model, &roots, &result), CUMIND_ERR_MODEL, "77, which is no cumind_status");
    model.recurrent = tells_too_near;
    expect(cumind_search_run(searching, &model, &roots, &result), CUMIND_ERR_MODEL,
           "logits_stride must be at least 5, got 4");
    model.recurrent = searches_again;
    expect(cumind_search_run(searching, &model, &roots, &result), CUMIND_ERR_MODEL, "the search is in use");
    model.recurrent = recurrent;
    begin(&model_of_theirs);
    ck_assert_int_eq(cumind_search_run(searching, &model, &roots, &result), CUMIND_OK);
    cumind_search_close(searching);
}
END_TEST

START_TEST(wrong_arguments_are_named) {
    static results theirs;
    evaluated e;
    cumind_search *search = NULL;
    cumind_search_options options = cumind_search_defaults(CUMIND_MUZERO);
    options.num_simulations = -1;
    expect(cumind_search_open(&options, 1, A, 0, &search), CUMIND_ERR_INPUT, "num_simulations");
    options = cumind_search_defaults(CUMIND_GUMBEL_MUZERO);
    options.gumbel_scale = -1.0f;
    expect(cumind_search_open(&options, 1, A, 0, &search), CUMIND_ERR_INPUT, "gumbel_scale");
    options = cumind_search_defaults((cumind_policy)9);
    expect(cumind_search_open(&options, 1, A, 0, &search), CUMIND_ERR_INPUT, "policy: 9");
    options = cumind_search_defaults(CUMIND_STOCHASTIC_MUZERO);
    expect(cumind_search_open(&options, 1, A, 0, &search), CUMIND_ERR_INPUT, "num_chance must be above 0");
    expect(cumind_search_open(NULL, 1, A, 0, &search), CUMIND_ERR_INPUT, "options must not be NULL");
    ck_assert_ptr_null(search);
    search = open_search(CUMIND_MUZERO);
    cumind_model model = their_model(CUMIND_MUZERO);
    cumind_roots roots = roots_of(&e, false, false);
    const cumind_search_result result = result_of(&theirs);
    expect(cumind_search_run(search, NULL, &roots, &result), CUMIND_ERR_INPUT, "model must not be NULL");
    expect(cumind_search_run(search, &model, NULL, &result), CUMIND_ERR_INPUT, "roots must not be NULL");
    expect(cumind_search_run(search, &model, &roots, NULL), CUMIND_ERR_INPUT, "result must not be NULL");
    roots.count = ROOTS + 1;
    expect(cumind_search_run(search, &model, &roots, &result), CUMIND_ERR_INPUT,
           "roots.count must be in [1, 7], got 8");
    float noise[ROOTS * A] = {0.0f};
    roots.count = ROOTS, roots.noise = noise;
    noise[7] = __builtin_nanf("");
    expect(cumind_search_run(search, &model, &roots, &result), CUMIND_ERR_INPUT,
           "roots.noise: number 2 of root 1 is not finite");
    roots.noise = NULL, roots.value = NULL;
    expect(cumind_search_run(search, &model, &roots, &result), CUMIND_ERR_INPUT, "roots.value must not be NULL");
    model.num_actions = A + 1;
    expect(cumind_search_run(search, &model, &roots, &result), CUMIND_ERR_INPUT, "the model has 6 actions");
    cumind_search_close(search);
    cumind_search_close(NULL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("api/search");
    TCase *tests = tcase_create("searches");
    tcase_add_loop_test(tests, a_search_gives_the_numbers_of_mcts, 0, 12);
    tcase_add_loop_test(tests, logits_are_read_where_the_caller_has_them, 0, 24);
    tcase_add_test(tests, the_trees_of_a_search_hold_its_visits);
    tcase_add_test(tests, errors_of_a_model_are_those_of_the_search);
    tcase_add_test(tests, wrong_arguments_are_named);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
