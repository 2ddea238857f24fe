/* Searches whose trees lie on a device that the host cannot see: the kernels that a GPU runs, on the CPU. They give the
 * bits of a search on the host on every case. */
#include <dirent.h>
#include <math.h>

#include "cases/search_internal.h"
#include "mcts/rules.h"
#include "mcts/support.h"
#include "support/far.h"
#include "support/tree_cpu.h"

enum { PATH = 512 };

static const cm_device_place far_place = {&cm_far_device, &tree_cpu_kernels};

static cm_search_case *read_case(const char *name) {
    char path[PATH];
    cm_search_case *searched = NULL;
    snprintf(path, sizeof path, CM_TEST_CASES "/search/%s", name);
    ck_assert_msg(cm_search_case_read(path, true, &searched) == CM_OK, "%s", cm_error_message());
    return searched;
}

static void assert_same(const cm_search_case *a, const cm_search_case *b, const char *name) {
    for (int field = 0; field < CM_FIELD_FIELDS; field++) {
        size_t bytes = cm_search_case_count(a, (cm_search_case_field)field) * sizeof(float);
        ck_assert_msg(memcmp(a->got[field].data, b->got[field].data, bytes) == 0, "%s: %s differ", name,
                      cm_search_case_rows[field].name);
    }
}

static void check_case(const char *name) {
    cm_search_case *far = read_case(name), *near = read_case(name);
    char first[256];
    ck_assert_int_eq(cm_search_case_run(near, NULL, 1), CM_OK);
    ck_assert_msg(cm_search_case_run_on(far, &far_place) == CM_OK, "%s: %s", name, cm_error_message());
    ck_assert_msg(cm_search_case_compare(far, first, sizeof first) == 0, "%s: %s", name, first);
    assert_same(far, near, name);
    cm_search_case_destroy(far);
    cm_search_case_destroy(near);
}

START_TEST(search_cases_on_a_device_give_the_bits_of_the_host) {
    DIR *folder = opendir(CM_TEST_CASES "/search");
    int all = 0;
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (!strstr(entry->d_name, ".json")) continue;
        check_case(entry->d_name);
        all++;
    }
    closedir(folder);
    ck_assert_int_eq(all, 34);
    ck_assert_uint_eq(cm_far_state.blocks, 0);
}
END_TEST

/* What a run on the device makes of a case whose table has a number that is not finite; the host says the same (`same`:
 * to the letter. Of several bad nodes it names that of the earliest simulation, the device that of the first root). */
static void expect_not_finite(const char *name, float *(*place)(cm_search_case *searched), const char *text,
                              bool same) {
    cm_search_case *far = read_case(name), *near = read_case(name);
    char said[256];
    *place(near) = *place(far) = NAN;
    ck_assert_int_eq(cm_search_case_run(near, NULL, 1), CM_ERR_NOT_FINITE);
    snprintf(said, sizeof said, "%s", cm_error_message());
    ck_assert_int_eq(cm_search_case_run_on(far, &far_place), CM_ERR_NOT_FINITE);
    if (same) ck_assert_str_eq(cm_error_message(), said);
    snprintf(said, sizeof said, "%s", cm_error_message());
    ck_assert_msg(strstr(said, text), "%s", said);
    cm_search_case_destroy(far);
    cm_search_case_destroy(near);
}

static float *value_of_a_root(cm_search_case *c) { return (float *)(uintptr_t)&c->table.value[c->root_states[0]]; }
static float *prior_of_a_root(cm_search_case *c) {
    return (float *)(uintptr_t)&c->table.prior_logits[c->root_states[0] * c->num_actions];
}
/* A state that the first root's tree meets, and that is no root. */
static int32_t state_below(const cm_search_case *c) {
    cm_search_case *plain = read_case("m01_basic.json");
    int32_t found = -1;
    ck_assert_int_eq(cm_search_case_run(plain, NULL, 1), CM_OK);
    for (int slot = 1; slot < c->slots && found < 0; slot++) {
        found = plain->got[CM_FIELD_NODE_STATES].i[slot];
        for (int b = 0; b < c->batch; b++) found = c->root_states[b] == found ? -1 : found;
    }
    ck_assert_int_ge(found, 0);
    cm_search_case_destroy(plain);
    return found;
}
static float *value_below(cm_search_case *c) { return (float *)(uintptr_t)&c->table.value[state_below(c)]; }
static float *prior_below(cm_search_case *c) {
    return (float *)(uintptr_t)&c->table.prior_logits[state_below(c) * c->num_actions];
}

START_TEST(a_number_that_is_not_finite_ends_a_search_on_a_device_with_the_roots_number) {
    expect_not_finite("m01_basic.json", value_of_a_root, "not finite for the root of root", true);
    expect_not_finite("g02_board.json", prior_of_a_root, "not finite for the root of root", true);
    expect_not_finite("m01_basic.json", value_below, "not finite for a node of root", false);
    expect_not_finite("m01_basic.json", prior_below, "not finite for a node of root", false);
}
END_TEST

START_TEST(what_a_device_does_not_serve_is_refused) {
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    cm_device_model model = {.num_actions = 2};
    cm_device_search *search = NULL;
    ck_assert(cm_device_search_serves(&params));
    params.check = true;
    ck_assert(!cm_device_search_serves(&params));
    ck_assert_int_eq(cm_device_search_create(&params, 4, &far_place, &model, &search), CM_ERR_INPUT);
    params.check = false;
    cm_search_kernels older = tree_cpu_kernels;
    older.args_bytes -= 8;
    cm_device_place place = {&cm_far_device, &older};
    ck_assert_int_eq(cm_device_search_create(&params, 4, &place, &model, &search), CM_ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "of another build"));
    ck_assert_int_eq(cm_device_search_create(&params, 4, &far_place, &model, &search), CM_OK);
    cm_span request;
    cm_key keys[4] = {0};
    ck_assert_int_eq(cm_device_search_request(search, &(cm_roots){.count = 5, .keys = keys}, &request), CM_ERR_INPUT);
    ck_assert_int_eq(cm_device_search_request(search, &(cm_roots){.count = 4}, &request), CM_ERR_INPUT);
    ck_assert_int_eq(cm_device_search_request(search, &(cm_roots){.count = 4, .keys = keys, .is_kept = true}, &request),
                     CM_ERR_INPUT);
    ck_assert_int_eq(cm_device_search_request(search, &(cm_roots){.count = 3, .keys = keys}, &request), CM_OK);
    cm_device_search_destroy(search);
    ck_assert_uint_eq(cm_far_state.blocks, 0);
}
END_TEST

/* ----------------------------------------------------------------- trees as lists */

enum { STATES = 12, ROOTS = 3, FLAVOURS = 6 };

/* Numbers of a table: any; few different ones, so that scores tie; actions that are not there, next to which
 * all others lose; extreme logits; no values, priors in the ratios 1, 2 and 3, so that visited and open actions tie;
 * logits of -inf. */
typedef enum flavour { ANY, TIES, ABSENT, EXTREME, WORTHLESS, INFINITE } flavour;

typedef struct widths {
    int actions, chance;
} widths;

static float logit_of(cm_rng *rng, flavour kind, bool is_first) {
    float x = cm_rng_normal(rng);
    uint32_t choice = cm_rng_below(rng, 3);
    if (kind == TIES) return (const float[]){0.0f, 1.0f, 1e-8f}[choice];
    if (kind == WORTHLESS) return (const float[]){0.0f, -0.693147182f, -1.09861231f}[choice];
    if (kind == EXTREME) return 40.0f * x + 3e7f;
    if (choice == 0 && !is_first && kind == ABSENT) return -FLT_MAX;
    return choice == 0 && !is_first && kind == INFINITE ? -INFINITY : x;
}

static float *logits_of(cm_rng *rng, flavour kind, int rows, int columns) {
    float *x = calloc((size_t)(rows * columns), sizeof *x);
    for (int i = 0; i < rows * columns; i++) x[i] = logit_of(rng, kind, i % columns == 0);
    return x;
}

static float *values_of(cm_rng *rng, flavour kind, int n) {
    float *x = calloc((size_t)n, sizeof *x);
    for (int i = 0; i < n && kind != WORTHLESS; i++)
        x[i] = kind == TIES ? 0.5f * (float)cm_rng_below(rng, 2) : cm_rng_normal(rng);
    return x;
}

static cm_table make_table(cm_rng *rng, flavour kind, widths w) {
    int edges = STATES * w.actions * (w.chance ? w.chance : 1);
    int32_t *next = calloc((size_t)edges, sizeof *next);
    float *discount = calloc((size_t)edges, sizeof *discount), *reward = values_of(rng, kind, edges);
    for (int i = 0; i < edges; i++) {
        next[i] = (int32_t)cm_rng_below(rng, STATES);
        if (kind == ABSENT) reward[i] -= 2.0f;
        discount[i] = cm_rng_below(rng, 8) == 0 ? 0.0f : kind % 2 ? -1.0f : 0.97f;
    }
    return (cm_table){
        .states = STATES,
        .num_actions = w.actions,
        .num_chance = w.chance,
        .next_state = next,
        .discount = discount,
        .reward = reward,
        .prior_logits = logits_of(rng, kind, STATES, w.actions),
        .value = values_of(rng, kind, STATES),
        .chance_logits = w.chance ? logits_of(rng, kind, STATES * w.actions, w.chance) : NULL,
        .afterstate_value = w.chance ? values_of(rng, kind, STATES * w.actions) : NULL,
    };
}

/* A case without a file; equal arguments give equal cases. */
static cm_search_case *make_case(const cm_search_params *params, widths w, flavour kind) {
    cm_rng rng = cm_rng_init(cm_key_make(31, CM_RNG_TEST, (uint64_t)kind), 0);
    cm_search_case *c = calloc(1, sizeof *c);
    *c = (cm_search_case){.params = *params, .batch = ROOTS, .num_actions = w.actions, .num_chance = w.chance};
    c->slots = params->num_simulations + 1, c->columns = w.actions + w.chance;
    c->table = make_table(&rng, kind, w);
    c->root_states = calloc(ROOTS, sizeof *c->root_states);
    c->noise = calloc((size_t)(ROOTS * w.actions), sizeof *c->noise);
    c->legal = kind == ANY || kind == EXTREME ? NULL : calloc((size_t)(ROOTS * w.actions), 1);
    for (int b = 0; b < ROOTS; b++) c->root_states[b] = 5 * b % STATES;
    for (int i = 0; i < ROOTS * w.actions; i++) {
        if (c->legal) c->legal[i] = i % w.actions == 0 || cm_rng_below(&rng, 4) > 0;
        c->noise[i] = params->root_rule == CM_RULE_GUMBEL ? cm_rng_normal(&rng) : 1.0f / (float)w.actions;
        if (kind == TIES) c->noise[i] = 0.0f;
    }
    return c;
}

static void compare_case(const cm_search_params *params, widths w, flavour kind, const char *what) {
    cm_search_case *far = make_case(params, w, kind), *near = make_case(params, w, kind);
    char name[128];
    snprintf(name, sizeof name, "%s, %d actions, numbers %d", what, w.actions, (int)kind);
    ck_assert_msg(cm_search_case_run(near, NULL, 1) == CM_OK, "%s: %s", name, cm_error_message());
    ck_assert_msg(cm_search_case_run_on(far, &far_place) == CM_OK, "%s: %s", name, cm_error_message());
    assert_same(far, near, name);
    cm_search_case_destroy(far);
    cm_search_case_destroy(near);
}

static void compare_flavours(cm_search_params params, widths w, bool is_short, const char *what) {
    for (int kind = 0; kind < FLAVOURS; kind++) {
        params.num_simulations = kind == TIES && is_short ? 3 : 50;
        params.max_depth = kind == ABSENT ? 3 : 0;
        compare_case(&params, w, (flavour)kind, what);
    }
}

/* Widths below, at and above the lanes of a warp, and those of Go; chance: outcomes at every width. */
static void compare_wide(cm_search_params params, int chance, const char *what) {
    static const int actions[] = {9, 17, 32, 33, 82, 362};
    for (int i = 0; i < 6; i++) {
        compare_flavours(params, (widths){chance ? 5 : actions[i], chance ? actions[i] % 90 : 0}, i % 2, what);
    }
}

/* Dense entries, of every number. */
static void compare_dense(cm_search_params params, const char *what) {
    for (int actions = 1; actions <= CM_DENSE_MOST; actions++) {
        compare_flavours(params, (widths){actions, 0}, actions % 2, what);
    }
}

START_TEST(dense_trees_give_the_bits_of_the_host) {
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    compare_dense(params, "siblings");
    params.qtransform.kind = CM_QTRANSFORM_MIN_MAX;
    compare_dense(params, "min_max");
    params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    compare_dense(params, "gumbel");
    params.qtransform.use_mixed_value = false;
    compare_dense(params, "gumbel, raw values");
}
END_TEST

START_TEST(puct_trees_as_lists_give_the_bits_of_the_host) {
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    compare_wide(params, 0, "siblings");
    params.qtransform.kind = CM_QTRANSFORM_MIN_MAX;
    compare_wide(params, 0, "min_max");
    params.qtransform = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO).qtransform;
    compare_wide(params, 0, "completed");
}
END_TEST

START_TEST(gumbel_trees_as_lists_give_the_bits_of_the_host) {
    cm_search_params params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    compare_wide(params, 0, "gumbel");
    params.max_num_considered_actions = 40; /* more children of the root than lanes */
    params.qtransform.use_mixed_value = false;
    params.qtransform.value_scale = 10.0f; /* values outweigh logits */
    compare_wide(params, 0, "gumbel, raw values");
    params.qtransform.rescale_values = false;
    compare_wide(params, 0, "gumbel, not rescaled");
    params.qtransform.kind = CM_QTRANSFORM_PARENT_AND_SIBLINGS;
    compare_wide(params, 0, "gumbel, siblings");
    params.interior_rule = CM_RULE_PUCT;
    compare_wide(params, 0, "gumbel above puct");
}
END_TEST

START_TEST(trees_with_chance_give_the_bits_of_the_host) {
    compare_wide(cm_search_params_default(CM_POLICY_STOCHASTIC_MUZERO), 1, "chance");
}
END_TEST

/* Many simulations, so that nodes have more children than there are lanes. */
START_TEST(more_children_than_lanes_give_the_bits_of_the_host) {
    cm_search_params params = cm_search_params_default(CM_POLICY_MUZERO);
    params.num_simulations = 300;
    params.pb_c_init = 50.0f; /* breadth first */
    compare_case(&params, (widths){100, 0}, ANY, "broad puct");
    params.qtransform = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO).qtransform;
    compare_case(&params, (widths){100, 0}, ANY, "broad puct, completed");
    params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    params.num_simulations = 300;
    params.qtransform.value_scale = 1e-3f;
    compare_case(&params, (widths){40, 0}, WORTHLESS, "broad gumbel");
}
END_TEST

/* What both make of a root with one number that is not finite. */
static void compare_not_finite(cm_policy policy, int action, float number, bool is_legal) {
    cm_search_params params = cm_search_params_default(policy);
    cm_search_case *both[2];
    cm_status status[2];
    for (int i = 0; i < 2; i++) {
        both[i] = make_case(&params, (widths){82, 0}, TIES);
        int at = both[i]->root_states[1] * 82 + action;
        ((float *)(uintptr_t)both[i]->table.prior_logits)[at] = number;
        both[i]->legal[82 + action] = is_legal;
        status[i] = i ? cm_search_case_run_on(both[i], &far_place) : cm_search_case_run(both[i], NULL, 1);
    }
    ck_assert_msg(status[0] == status[1], "%g at action %d: %d on the host, %d on the device", (double)number, action,
                  (int)status[0], (int)status[1]);
    if (status[0] == CM_OK) assert_same(both[1], both[0], "a number that is not finite");
    for (int i = 0; i < 2; i++) cm_search_case_destroy(both[i]);
}

START_TEST(a_root_of_lists_with_a_number_that_is_not_finite_ends_as_on_the_host) {
    static const int actions[] = {0, 1, 40, 81};
    static const float numbers[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 4 * 3 * 2; i++) {
        compare_not_finite(CM_POLICY_MUZERO, actions[i / 6], numbers[i / 2 % 3], i % 2);
        compare_not_finite(CM_POLICY_GUMBEL_MUZERO, actions[i / 6], numbers[i / 2 % 3], i % 2);
    }
}
END_TEST

int main(void) {
    return RUN_SUITE("mcts/device_search", search_cases_on_a_device_give_the_bits_of_the_host,
                     dense_trees_give_the_bits_of_the_host, puct_trees_as_lists_give_the_bits_of_the_host,
                     gumbel_trees_as_lists_give_the_bits_of_the_host, trees_with_chance_give_the_bits_of_the_host,
                     more_children_than_lanes_give_the_bits_of_the_host,
                     a_root_of_lists_with_a_number_that_is_not_finite_ends_as_on_the_host,
                     a_number_that_is_not_finite_ends_a_search_on_a_device_with_the_roots_number,
                     what_a_device_does_not_serve_is_refused);
}
