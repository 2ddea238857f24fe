/* Training of a network that only predicts: one position, no unroll. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "support/main.h"
#include "support/trainer.h"
#include "trainer/trainer.h"

enum { B = 6, A = 5, O = 2 * 3 * 4 };

static cm_network_config small(cm_network_family family, int atoms) {
    cm_network_config c = {.family = family,
                           .model = CM_NETWORK_PREDICTION,
                           .observation_ndim = 3,
                           .observation = {2, 3, 4},
                           .actions = A,
                           .hidden = 8,
                           .blocks = 1,
                           .channels = 4,
                           .head_channels = 2,
                           .head_hidden = 6,
                           .body = CM_BODY_PLAIN,
                           .norm = family == CM_FAMILY_RESNET ? CM_NORM_BATCH : CM_NORM_LAYER,
                           .value_support = {-1, 1, atoms, false},
                           .reward_support = {-1, 1, atoms, false},
                           .init = CM_INIT_LECUN_NORMAL};
    return c;
}

/* A learning rate of 0 leaves the parameters as they are, so that losses can be compared. */
static cm_trainer_options still(void) {
    cm_trainer_options o = cm_test_trainer_options(B);
    o.learning_rate = 0, o.optimizer = CM_OPTIMIZER_SGD;
    o.value_weight = 0.5, o.entropy_weight = 0.01, o.mask_illegal = true;
    return o;
}

typedef struct fixture {
    cm_test_trainer base;
    cm_train_batch batch;
    float observation[B * O], value[B], policy[B * A], ones[B];
    uint8_t legal[B * A];
} fixture;

static void fill_batch(fixture *f) {
    cm_rng rng = cm_rng_init(cm_key_make(4, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < B * O; i++) f->observation[i] = cm_rng_normal(&rng);
    for (int i = 0; i < B; i++) {
        f->value[i] = (float)(i % 3) - 1.0f;
        f->ones[i] = 1.0f;
        for (int a = 0; a < A; a++) {
            f->legal[i * A + a] = a != i % A;
            f->policy[i * A + a] = a == i % A ? 0.0f : a == (i + 1) % A ? 0.7f : 0.1f;
        }
    }
    f->batch = (cm_train_batch){.observation = f->observation,
                                .target_value = f->value,
                                .target_policy = f->policy,
                                .value_mask = f->ones,
                                .policy_mask = f->ones,
                                .legal = f->legal};
}

static void open_fixture(fixture *f, const cm_network_config *c, const cm_trainer_options *o, const char *backend) {
    memset(f, 0, sizeof *f);
    fill_batch(f);
    cm_trainer_config config = {.options = o, .batch = B, .unroll = 0, .total_updates = 100};
    cm_test_trainer_open(&f->base, c, backend, 1, config);
}

static void close_fixture(fixture *f) { cm_test_trainer_close(&f->base); }

static double loss(fixture *f) { return cm_test_trainer_loss(&f->base, &f->batch); }

/* Slopes of the loss, by central differences with ref. */
static void check_slopes(int atoms) {
    cm_network_config c = small(CM_FAMILY_MLP, atoms);
    cm_trainer_options o = still();
    fixture f;
    open_fixture(&f, &c, &o, "ref");
    size_t n = cm_network_parameters(f.base.network)->parameters;
    float *gradient = malloc(n * sizeof(float)), *parameters = cm_trainer_parameters(f.base.trainer, CM_WEIGHTS_ONLINE);
    loss(&f);
    memcpy(gradient, cm_trainer_gradients(f.base.trainer), n * sizeof(float));
    double squares = 0.0, wrong = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double slope = cm_test_trainer_slope(&f.base, &f.batch, &parameters[i], 4e-3f);
        squares += slope * slope;
        wrong += (slope - (double)gradient[i]) * (slope - (double)gradient[i]);
    }
    ck_assert_double_gt(squares, 1e-4);
    ck_assert_msg(wrong < 1e-6 * squares, "%d atoms: slopes differ by %g of %g", atoms, sqrt(wrong), sqrt(squares));
    free(gradient);
    close_fixture(&f);
}

START_TEST(gradients_are_the_slopes_of_value_and_policy_loss) {
    check_slopes(3);
    check_slopes(1);
}
END_TEST

START_TEST(cpu_and_ref_take_the_same_step) {
    for (int family = CM_FAMILY_MLP; family < CM_FAMILY_COUNT; family++) {
        cm_network_config c = small((cm_network_family)family, 3);
        cm_trainer_options o = still();
        fixture a, b;
        o.learning_rate = 0.1, o.momentum = 0.9;
        open_fixture(&a, &c, &o, "ref");
        open_fixture(&b, &c, &o, "cpu");
        for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(loss(&a), loss(&b), 1e-4);
        const float *x = cm_trainer_parameters(a.base.trainer, CM_WEIGHTS_ONLINE);
        const float *y = cm_trainer_parameters(b.base.trainer, CM_WEIGHTS_ONLINE);
        for (size_t i = 0; i < cm_network_parameters(a.base.network)->parameters; i++) {
            ck_assert_float_eq_tol(x[i], y[i], 2e-3f);
        }
        close_fixture(&a);
        close_fixture(&b);
    }
}
END_TEST

START_TEST(the_loss_is_what_it_is_by_hand_at_the_start) {
    cm_network_config c = small(CM_FAMILY_MLP, 3);
    cm_trainer_options o = still();
    fixture f;
    cm_train_report r;
    o.entropy_weight = 0.0;
    c.zero_init = true; /* uniform over the three atoms and over the four legal actions */
    open_fixture(&f, &c, &o, "cpu");
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_OK);
    ck_assert_double_eq_tol(r.loss[CM_LOSS_value][0], log(3.0), 1e-5);
    ck_assert_double_eq_tol(r.loss[CM_LOSS_policy][0], log(4.0), 1e-5);
    ck_assert_double_eq_tol(r.total_loss, 0.5 * log(3.0) + log(4.0), 1e-5);
    close_fixture(&f);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/prediction");
    TCase *tests = tcase_create("prediction");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, gradients_are_the_slopes_of_value_and_policy_loss);
    tcase_add_test(tests, cpu_and_ref_take_the_same_step);
    tcase_add_test(tests, the_loss_is_what_it_is_by_hand_at_the_start);
    return cm_test_main(suite);
}
