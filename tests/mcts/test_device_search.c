/* Searches whose trees lie on a device that the host cannot see: the kernels that a GPU runs, on the CPU. They give the
 * bits of a search on the host on every case. */
#include <dirent.h>
#include <math.h>

#include "mcts/case_internal.h"
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
    ck_assert_int_eq(all, 31);
    ck_assert_uint_eq(cm_far_state.blocks, 0);
}
END_TEST

/* What a run on the device makes of a case whose table has a number that is not finite; the host says the same (`same`:
 * to the letter. Of several bad nodes it names that of the earliest simulation, the device that of the first root). */
static void expect_flaw(const char *name, float *(*place)(cm_search_case *searched), const char *text, bool same) {
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
    expect_flaw("m01_basic.json", value_of_a_root, "not finite for the root of root", true);
    expect_flaw("g02_board.json", prior_of_a_root, "not finite for the root of root", true);
    expect_flaw("m01_basic.json", value_below, "not finite for a node of root", false);
    expect_flaw("m01_basic.json", prior_below, "not finite for a node of root", false);
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
    cm_span asked;
    cm_key keys[4] = {0};
    ck_assert_int_eq(cm_device_search_ask(search, &(cm_roots){.count = 5, .keys = keys}, &asked), CM_ERR_INPUT);
    ck_assert_int_eq(cm_device_search_ask(search, &(cm_roots){.count = 4}, &asked), CM_ERR_INPUT);
    ck_assert_int_eq(cm_device_search_ask(search, &(cm_roots){.count = 4, .keys = keys, .is_kept = true}, &asked),
                     CM_ERR_INPUT);
    ck_assert_int_eq(cm_device_search_ask(search, &(cm_roots){.count = 3, .keys = keys}, &asked), CM_OK);
    cm_device_search_destroy(search);
    ck_assert_uint_eq(cm_far_state.blocks, 0);
}
END_TEST

int main(void) {
    return RUN_SUITE("mcts/device_search", search_cases_on_a_device_give_the_bits_of_the_host,
                     a_number_that_is_not_finite_ends_a_search_on_a_device_with_the_roots_number,
                     what_a_device_does_not_serve_is_refused);
}
