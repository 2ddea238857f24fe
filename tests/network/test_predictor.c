/* Networks that only predict, and their passes of several sizes. */
#include <check.h>
#include <string.h>

#include "network/inference.h"
#include "network/predictor.h"
#include "support/main.h"
#include "support/network.h"

enum { ROWS = 40 };

static cm_network_config board(cm_network_family family) {
    cm_network_config c = {.family = family,
                           .model = CM_NETWORK_PREDICTION,
                           .observation_ndim = 3,
                           .observation = {6, 7, 4},
                           .actions = 7,
                           .hidden = 32,
                           .blocks = 1,
                           .channels = 16,
                           .head_channels = 4,
                           .head_hidden = 16,
                           .body = CM_BODY_PLAIN,
                           .norm = family == CM_FAMILY_RESNET ? CM_NORM_BATCH : CM_NORM_LAYER,
                           .minmax = true,
                           .encoding = CM_ENCODE_ONEHOT,
                           .value_support = {-1, 1, 3, false},
                           .reward_support = {-1, 1, 3, false},
                           .init = CM_INIT_LECUN_NORMAL};
    return c;
}

typedef struct fixture {
    cm_test_network base;
    cm_stream *stream;
} fixture;

static void open_fixture(fixture *f, const cm_network_config *config, const char *backend) {
    cm_test_network_open(&f->base, config, backend, 1);
    ck_assert(cm_stream_open(f->base.backend, &f->stream) == CM_OK);
}

static void close_fixture(fixture *f) {
    cm_stream_close(f->stream);
    cm_test_network_close(&f->base);
}

static cm_predictor *open_predictor(const fixture *f, int rows) {
    cm_predictor *p = NULL;
    const cm_network_use use = cm_test_network_use(&f->base, f->stream, rows);
    ck_assert_msg(cm_predictor_create(&use, &p) == CM_OK, "%s", cm_error_message());
    int size = cm_network_observation_size(f->base.network);
    for (int i = 0; i < rows * size; i++) cm_predictor_observations(p)[i] = (float)((i * 7 + i / size) % 5 == 0);
    return p;
}

START_TEST(a_network_that_predicts_has_no_dynamics_and_the_same_other_weights) {
    cm_network_config alone = board(CM_FAMILY_MLP), full = alone;
    full.model = CM_NETWORK_DYNAMICS;
    fixture a, b;
    open_fixture(&a, &alone, "ref");
    open_fixture(&b, &full, "ref");
    const cm_param_table *table = cm_network_parameters(a.base.network);
    ck_assert_uint_lt(table->parameters, cm_network_parameters(b.base.network)->parameters);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i], *q = cm_param_table_find(cm_network_parameters(b.base.network), p->name);
        ck_assert_msg(strncmp(p->name, "dynamics", 8) != 0, "%s", p->name);
        ck_assert_msg(q != NULL && q->count == p->count, "%s", p->name);
        ck_assert_mem_eq(a.base.parameters + p->offset, b.base.parameters + q->offset, p->count * sizeof(float));
    }
    close_fixture(&a);
    close_fixture(&b);
}
END_TEST

START_TEST(predictions_are_those_of_the_root_pass) {
    for (int family = CM_FAMILY_MLP; family < CM_FAMILY_COUNT; family++) {
        cm_network_config alone = board((cm_network_family)family), full = alone;
        full.model = CM_NETWORK_DYNAMICS;
        fixture a, b;
        cm_inference *inference = NULL;
        cm_predictions out;
        open_fixture(&a, &alone, "ref");
        open_fixture(&b, &full, "ref");
        cm_predictor *p = open_predictor(&a, 3);
        const cm_network_use use = cm_test_network_use(&b.base, b.stream, 3);
        ck_assert_int_eq(cm_inference_create(&use, 6, &inference), CM_OK);
        const cm_inference_arrays *io = cm_inference_get(inference);
        memcpy(io->observation, cm_predictor_observations(p), 3 * 168 * sizeof(float));
        for (int i = 0; i < 3; i++) io->root_slots[i] = i;
        ck_assert_int_eq(cm_inference_root(inference), CM_OK);
        ck_assert_int_eq(cm_predictor_run(p, 3, &out), CM_OK);
        ck_assert_mem_eq(out.policy, io->root_policy, 21 * sizeof(float));
        ck_assert_mem_eq(out.value, io->root_value, 3 * sizeof(float));
        ck_assert_float_ne(out.policy[0], out.policy[7]);
        cm_inference_destroy(inference);
        cm_predictor_destroy(p);
        close_fixture(&a);
        close_fixture(&b);
    }
}
END_TEST

/* 40 rows have passes of 40, 20, 10 and 5. */
START_TEST(the_size_of_the_pass_changes_no_bit_of_a_row) {
    static const char *const backends[] = {"ref", "cpu"};
    for (int i = 0; i < 4; i++) {
        cm_network_config config = board(i / 2 ? CM_FAMILY_RESNET : CM_FAMILY_MLP);
        fixture f;
        cm_predictions out;
        float policy[ROWS * 7], value[ROWS];
        open_fixture(&f, &config, backends[i % 2]);
        cm_predictor *p = open_predictor(&f, ROWS);
        ck_assert_int_eq(cm_predictor_run(p, ROWS, &out), CM_OK);
        memcpy(policy, out.policy, sizeof policy);
        memcpy(value, out.value, sizeof value);
        for (int n = ROWS; n >= 1; n--) {
            ck_assert_int_eq(cm_predictor_run(p, n, &out), CM_OK);
            ck_assert_mem_eq(out.policy, policy, (size_t)n * 7 * sizeof(float));
            ck_assert_mem_eq(out.value, value, (size_t)n * sizeof(float));
        }
        ck_assert_uint_gt(cm_predictor_bytes(p), ROWS * 168 * sizeof(float));
        cm_predictor_destroy(p);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(consistency_heads_need_dynamics) {
    cm_network_config config = board(CM_FAMILY_MLP);
    cm_network *network = NULL;
    config.consistency = true;
    config.projection_hidden = config.projection_output = config.predictor_hidden = 8;
    ck_assert_int_eq(cm_network_create(&config, &network), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "consistency"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("network/predictor");
    TCase *tests = tcase_create("predictor");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, a_network_that_predicts_has_no_dynamics_and_the_same_other_weights);
    tcase_add_test(tests, predictions_are_those_of_the_root_pass);
    tcase_add_test(tests, the_size_of_the_pass_changes_no_bit_of_a_row);
    tcase_add_test(tests, consistency_heads_need_dynamics);
    return cm_test_main(suite);
}
