/* Batches that are launched before the one before them is finished, on a device that does what it is given as late as
 * it may: updates are those of one batch after the other, to the bit. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "support/far.h"
#include "support/main.h"
#include "support/network.h"
#include "support/trainer.h"
#include "trainer/trainer.h"

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

enum { B = CM_TEST_ROWS, K = CM_TEST_UNROLL, A = CM_TEST_ACTIONS, O = CM_TEST_INPUTS };
enum { BATCHES = 12, IN_FLIGHT = 3 };

/* A trainer, and batches that differ. */
typedef struct fixture {
    cm_test_trainer base;
    cm_test_batch made[BATCHES];
    cm_train_batch batch[BATCHES]; /* their rows; tests change them */
} fixture;

static cm_trainer_options standard(void) {
    cm_trainer_options o = cm_test_trainer_options(B);
    o.weight_decay = 1e-4, o.ema_decay = 0.9, o.target_update_frequency = 3, o.chunk_rows = 0;
    return o;
}

static void open_in(fixture *f, cm_dtype compute, const cm_trainer_options *o, int in_flight) {
    cm_network_config c = cm_test_mlp(O, A, 16, 8, (cm_support){-10, 10, 21, true});
    c.norm = CM_NORM_BATCH;
    memset(f, 0, sizeof *f);
    for (int i = 0; i < BATCHES; i++) {
        cm_test_batch_fill(&f->made[i], (uint64_t)i);
        f->batch[i] = f->made[i].rows;
    }
    cm_trainer_config config = {
        .options = o, .batch = B, .unroll = K, .compute = compute, .total_updates = 100, .in_flight = in_flight};
    cm_test_trainer_open(&f->base, &c, "cuda", 1, config);
}

static void open_fixture(fixture *f, const cm_trainer_options *o, int in_flight) { open_in(f, CM_F32, o, in_flight); }

static void close_fixture(fixture *f) { cm_test_trainer_close(&f->base); }

static void set_late(void) { cm_far_state.is_late = true; }
static void end_each(void) { ck_assert_uint_eq(cm_far_state.blocks + cm_far_state.pinned, 0); }

static void begin(fixture *f, int i) {
    ck_assert_int_eq(cm_trainer_stage(f->base.trainer, i, &f->batch[i]), CM_OK);
    ck_assert_msg(cm_trainer_launch(f->base.trainer, i, &f->batch[i]) == CM_OK, "%s", cm_error_message());
}

/* Batches first .. last-1, each launched before the one before it is finished. */
static cm_status learn(fixture *f, int first, int last, cm_train_report *report) {
    begin(f, first);
    for (int i = first; i < last; i++) {
        if (i + 1 < last) begin(f, i + 1);
        CM_TRY(cm_trainer_finish(f->base.trainer, report));
    }
    return CM_OK;
}

static cm_status learn_in_turn(fixture *f, int first, int last, cm_train_report *report) {
    for (int i = first; i < last; i++) CM_TRY(cm_trainer_update(f->base.trainer, &f->batch[i], report));
    return CM_OK;
}

static void expect_same(fixture *f, fixture *g) {
    const cm_param_table *table = cm_network_parameters(f->base.network);
    const size_t n = table->parameters * sizeof(float), s = table->states * sizeof(float);
    cm_trainer *a = f->base.trainer, *b = g->base.trainer;
    ck_assert_int_eq(cm_trainer_fetch(a, CM_TRAINER_ALL), CM_OK);
    ck_assert_int_eq(cm_trainer_fetch(b, CM_TRAINER_ALL), CM_OK);
    ck_assert_int_eq(cm_trainer_updates(a), cm_trainer_updates(b));
    for (cm_weights w = 0; w < CM_WEIGHTS_COUNT; w++) {
        ck_assert_mem_eq(cm_trainer_parameters(a, w), cm_trainer_parameters(b, w), n);
        ck_assert_mem_eq(cm_trainer_state(a, w), cm_trainer_state(b, w), s);
    }
    for (int order = 0; order < 2; order++)
        ck_assert_mem_eq(cm_trainer_moments(a, order), cm_trainer_moments(b, order), n);
}

/* ---- bits ---- */

START_TEST(batches_that_overlap_give_the_bits_and_reports_of_one_after_the_other) {
    cm_trainer_options o = standard();
    cm_train_report a, b;
    fixture f, g;
    if (_i == 1) o.chunk_rows = 4; /* the last one of two rows */
    if (_i == 2) o.gradient_accumulation = 3;
    open_fixture(&f, &o, IN_FLIGHT);
    open_fixture(&g, &o, 1);
    ck_assert_int_eq(cm_trainer_in_flight(f.base.trainer), IN_FLIGHT);
    ck_assert_int_eq(learn(&f, 0, BATCHES, &a), CM_OK);
    ck_assert_int_eq(learn_in_turn(&g, 0, BATCHES, &b), CM_OK);
    expect_same(&f, &g);
    ck_assert_mem_eq(cm_trainer_gradients(f.base.trainer), cm_trainer_gradients(g.base.trainer),
                     cm_network_parameters(f.base.network)->parameters * sizeof(float));
    ck_assert_mem_eq(a.priorities, b.priorities, B * sizeof(float));
    ck_assert_mem_eq(a.value_targets, b.value_targets, B * (K + 1) * sizeof(float));
    a.priorities = b.priorities = a.value_targets = b.value_targets = NULL;
    ck_assert_mem_eq(&a, &b, sizeof a);
    close_fixture(&f);
    close_fixture(&g);
}
END_TEST

/* The scale that the next batch reads is on the device: it may be launched before the host knows that a step was
 * skipped.
 */
START_TEST(loss_scales_that_change_are_those_of_one_after_the_other) {
    cm_trainer_options o = standard();
    cm_train_report a, b;
    fixture f, g;
    o.loss_scale = 1048576.0, o.loss_scale_growth_interval = 2;
    open_in(&f, CM_F16, &o, IN_FLIGHT);
    open_in(&g, CM_F16, &o, 1);
    int skipped = 0;
    begin(&f, 0);
    for (int i = 0; i < BATCHES; i++) {
        if (i + 1 < BATCHES) begin(&f, i + 1);
        ck_assert_int_eq(cm_trainer_finish(f.base.trainer, &a), CM_OK);
        ck_assert_int_eq(learn_in_turn(&g, i, i + 1, &b), CM_OK);
        ck_assert_double_eq(a.loss_scale, b.loss_scale);
        ck_assert_int_eq(a.skipped, b.skipped);
        skipped += a.skipped;
    }
    ck_assert_msg(skipped > 2 && skipped < BATCHES - 2, "%d of %d are skipped", skipped, BATCHES);
    expect_same(&f, &g);
    const cm_loss_scaling s = cm_trainer_loss_scaling(f.base.trainer);
    ck_assert_int_eq(s.skipped, skipped);
    ck_assert_int_eq(s.steps, BATCHES - skipped);
    close_fixture(&f);
    close_fixture(&g);
}
END_TEST

/* ---- order ---- */

/* Where searches run at the same time learning goes first. */
START_TEST(updates_run_on_an_urgent_stream) {
    cm_trainer_options o = standard();
    cm_train_report r;
    cm_stream *other;
    fixture f;
    open_fixture(&f, &o, IN_FLIGHT);
    ck_assert_int_eq(learn(&f, 0, 4, &r), CM_OK);
    ck_assert_uint_ge(cm_far_state.urgent, 4);
    ck_assert_uint_eq(cm_far_state.urgent, cm_far_state.replays + cm_far_state.changes);
    ck_assert_int_eq(cm_stream_open(f.base.backend, &other), CM_OK);
    ck_assert(!other->is_urgent);
    cm_stream_close(other);
    close_fixture(&f);
}
END_TEST

START_TEST(the_next_batch_is_sent_and_launched_before_the_last_one_is_waited_for) {
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    open_fixture(&f, &o, IN_FLIGHT);
    cm_far_state.noted = 0;
    ck_assert_int_eq(learn(&f, 0, 4, &r), CM_OK);
    /* Three places are used for the first time, the fourth batch waits for the copy of the first, which is through. */
    ck_assert_str_eq(cm_far_state.notes, ">pp<"  /* batch 0: sent, played, stepped: its results are on their way */
                                         ">pp.<" /* batch 1 is played, then 0 is read, and the step of 1 launched */
                                         ">pp.<"
                                         ".>pp.<"
                                         ".");
    close_fixture(&f);
}
END_TEST

START_TEST(every_in_flight_batch_has_its_own_recording_which_never_changes) {
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    open_fixture(&f, &o, IN_FLIGHT);
    ck_assert_int_eq(learn(&f, 0, BATCHES, &r), CM_OK);
    ck_assert_uint_eq(cm_far_state.graphs, 2 * IN_FLIGHT);  /* forward and backward */
    ck_assert_uint_eq(cm_far_state.changes, 2 * IN_FLIGHT); /* the first plays */
    ck_assert_uint_eq(cm_far_state.replays, 2 * BATCHES - 2 * IN_FLIGHT);
    close_fixture(&f);
}
END_TEST

/* ---- bootstraps ---- */

/* 200 rows with two unrolled steps: three passes of 256 rows for all of their positions. */
enum { MANY = 200, POSITIONS = MANY * (K + 1), MOST = POSITIONS * O };

typedef struct many {
    cm_test_trainer base;
    cm_train_batch batch[BATCHES];
} many;

/* What batches of many rows are made of; `bootstraps`: how many of a batch's positions have a coefficient. */
static struct {
    float numbers[BATCHES][MOST], coefficient[BATCHES][POSITIONS], ones[MOST], policy[POSITIONS * A];
    int32_t actions[POSITIONS];
} made;
static const int bootstraps[BATCHES] = {1, 256, 257, POSITIONS, 0, 255, 512, 513, 0, 3, POSITIONS, 100};

static void make_many(void) {
    cm_rng rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < MOST; i++) made.ones[i] = 1.0f;
    for (int i = 0; i < POSITIONS * A; i++) made.policy[i] = 1.0f / A;
    for (int i = 0; i < POSITIONS; i++) made.actions[i] = i % A;
    for (int b = 0; b < BATCHES; b++) {
        for (int i = 0; i < MOST; i++) made.numbers[b][i] = cm_rng_normal(&rng);
        for (int i = 0; i < POSITIONS; i++) /* the last ones: what is needed is gathered */
            made.coefficient[b][i] = i < POSITIONS - bootstraps[b] ? 0.0f : 0.5f + cm_rng_uniform(&rng);
    }
}

static void open_many(many *m, const char *backend, const cm_trainer_options *o, int in_flight) {
    const cm_network_config c = cm_test_mlp(O, A, 16, 8, (cm_support){-10, 10, 21, true});
    cm_trainer_config config = {.options = o,
                                .batch = MANY,
                                .unroll = K,
                                .compute = CM_F32,
                                .total_updates = 100,
                                .bootstrap = true,
                                .in_flight = in_flight};
    cm_test_trainer_open(&m->base, &c, backend, 1, config);
    for (int b = 0; b < BATCHES; b++)
        m->batch[b] = (cm_train_batch){.observation = made.numbers[b],
                                       .actions = made.actions,
                                       .target_value = made.numbers[b],
                                       .target_reward = made.numbers[b],
                                       .target_policy = made.policy,
                                       .value_mask = made.ones,
                                       .reward_mask = made.ones,
                                       .policy_mask = made.ones,
                                       .consistency_mask = made.ones,
                                       .bootstrap_coefficient = made.coefficient[b],
                                       .bootstrap_observations = made.numbers[b]};
}

static void begin_many(many *m, int i) {
    ck_assert_int_eq(cm_trainer_stage(m->base.trainer, i, &m->batch[i]), CM_OK);
    ck_assert_msg(cm_trainer_launch(m->base.trainer, i, &m->batch[i]) == CM_OK, "%s", cm_error_message());
}

/* The EMA, which every step changes, and the target network, which every third one does. */
START_TEST(bootstrap_values_are_those_of_one_batch_after_the_other_and_of_a_host) {
    cm_trainer_options o = standard();
    cm_train_report a, b;
    many far, near;
    o.ema_bootstraps = _i == 0, o.chunk_rows = MANY; /* as on a device */
    make_many();
    open_many(&far, "cuda", &o, IN_FLIGHT);
    open_many(&near, "ref", &o, 1);
    begin_many(&far, 0);
    for (int i = 0; i < BATCHES; i++) {
        if (i + 1 < BATCHES) begin_many(&far, i + 1);
        ck_assert_int_eq(cm_trainer_finish(far.base.trainer, &a), CM_OK);
        ck_assert_int_eq(cm_trainer_update(near.base.trainer, &near.batch[i], &b), CM_OK);
        ck_assert_mem_eq(a.value_targets, b.value_targets, POSITIONS * sizeof(float));
        ck_assert_mem_eq(a.priorities, b.priorities, MANY * sizeof(float));
        for (int p = 0; p < POSITIONS; p++)
            ck_assert_int_eq(a.value_targets[p] == made.numbers[i][p], p < POSITIONS - bootstraps[i]);
    }
    cm_test_trainer_close(&far.base);
    cm_test_trainer_close(&near.base);
}
END_TEST

/* Observations are sent with the batch, values are found by passes of 256 rows in front of its own, and the host waits
 * for nothing in between. */
START_TEST(bootstrap_values_are_not_waited_for) {
    cm_trainer_options o = standard();
    cm_train_report r;
    many m;
    make_many();
    open_many(&m, "cuda", &o, IN_FLIGHT);
    cm_far_state.noted = 0;
    memset(cm_far_state.notes, 0, sizeof cm_far_state.notes);
    begin_many(&m, 0);
    for (int i = 0; i < 5; i++) {
        if (i + 1 < 5) begin_many(&m, i + 1);
        ck_assert_int_eq(cm_trainer_finish(m.base.trainer, &r), CM_OK);
    }
    ck_assert_str_eq(cm_far_state.notes, ">>ppp<"     /* one value */
                                         ">>ppp.<"    /* 256 */
                                         ">>pppp.<"   /* 257 */
                                         ".>>ppppp.<" /* 600, in a place whose first batch is through */
                                         ".>pp.<"     /* none */
                                         ".");
    cm_test_trainer_close(&m.base);
}
END_TEST

/* A gradient that is not finite is looked for in the same batch once more, after the values of its own targets. */
START_TEST(a_batch_that_is_played_again_has_its_own_values) {
    cm_trainer_options o = standard();
    cm_train_report r;
    float weights[MANY];
    many alone, followed;
    make_many();
    for (int i = 0; i < MANY; i++) weights[i] = 1.0f;
    weights[4] = 3e38f;
    o.value_weight = o.policy_weight = 100; /* all is finite but the norm */
    open_many(&alone, "cuda", &o, IN_FLIGHT);
    open_many(&followed, "cuda", &o, IN_FLIGHT);
    alone.batch[3].weights = followed.batch[3].weights = weights;
    begin_many(&alone, 3);
    begin_many(&followed, 3);
    begin_many(&followed, 7);
    ck_assert_int_eq(cm_trainer_finish(alone.base.trainer, &r), CM_ERR_NOT_FINITE);
    ck_assert_int_eq(cm_trainer_finish(followed.base.trainer, &r), CM_ERR_NOT_FINITE);
    ck_assert_msg(strstr(cm_error_message(), "update 0: the gradient norm overflows") != NULL, "%s",
                  cm_error_message());
    ck_assert_mem_eq(cm_trainer_gradients(followed.base.trainer), cm_trainer_gradients(alone.base.trainer),
                     cm_network_parameters(alone.base.network)->parameters * sizeof(float));
    cm_test_trainer_close(&alone.base);
    cm_test_trainer_close(&followed.base);
}
END_TEST

START_TEST(no_more_than_two_batches_are_launched_and_none_is_finished_that_was_not) {
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    open_fixture(&f, &o, IN_FLIGHT);
    ck_assert_int_eq(cm_trainer_finish(f.base.trainer, &r), CM_ERR_STATE);
    begin(&f, 0);
    begin(&f, 1);
    ck_assert_int_eq(cm_trainer_launch(f.base.trainer, 2, &f.batch[2]), CM_ERR_STATE);
    ck_assert_str_eq(cm_error_message(), "2 batches are being learnt from, finish one first");
    ck_assert_int_eq(cm_trainer_finish(f.base.trainer, &r), CM_OK);
    ck_assert_int_eq(r.update, 0);
    ck_assert_int_eq(cm_trainer_finish(f.base.trainer, &r), CM_OK);
    ck_assert_int_eq(r.update, 1);
    close_fixture(&f);
}
END_TEST

/* ---- numbers that are not finite ---- */

/* Batch 5 has none in its rewards, so does the one after it, which counts for nothing. */
START_TEST(a_batch_that_is_not_finite_is_named_and_neither_it_nor_the_next_leaves_a_trace) {
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f, g;
    float rewards[B * K] = {0};
    o.gradient_accumulation = 1 + _i;
    open_fixture(&f, &o, IN_FLIGHT);
    open_fixture(&g, &o, 1);
    const cm_train_batch good = f.batch[5];
    rewards[3 * K + 1] = NAN;
    f.batch[5].target_reward = rewards;
    ck_assert_int_eq(learn(&f, 0, BATCHES, &r), CM_ERR_NOT_FINITE);
    ck_assert_msg(strstr(cm_error_message(), _i ? "update 2: the reward loss of unroll step 1"
                                                : "update 5: the reward loss of unroll step 1") != NULL,
                  "%s", cm_error_message());
    const int next = _i ? 4 : 5; /* batch to begin again with; update 5 would have copied the target */
    ck_assert_int_eq(learn_in_turn(&g, 0, next, &r), CM_OK);
    expect_same(&f, &g);
    f.batch[5] = good;
    ck_assert_int_eq(learn(&f, next, BATCHES, &r), CM_OK);
    ck_assert_int_eq(learn_in_turn(&g, next, BATCHES, &r), CM_OK);
    expect_same(&f, &g);
    close_fixture(&f);
    close_fixture(&g);
}
END_TEST

/* The gradient alone: a weight whose losses are finite and whose products with the gradient are not. */
START_TEST(a_gradient_that_is_not_finite_is_named_though_the_next_one_has_taken_its_place) {
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    char alone[256];
    float weights[B];
    for (int i = 0; i < B; i++) weights[i] = 1.0f;
    weights[4] = 3e38f;
    o.value_weight = o.policy_weight = 1e6;
    for (int with = 0; with < 2; with++) {
        open_fixture(&f, &o, IN_FLIGHT);
        f.batch[0].weights = weights;
        ck_assert_int_eq(learn(&f, 0, 1 + with, &r), CM_ERR_NOT_FINITE);
        ck_assert_msg(strstr(cm_error_message(), "update 0: ") != NULL, "%s", cm_error_message());
        if (with) ck_assert_str_eq(cm_error_message(), alone);
        strcpy(alone, cm_error_message());
        close_fixture(&f);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("overlap");
    TCase *tc = tcase_create("batches");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_late, end_each);
    tcase_add_loop_test(tc, batches_that_overlap_give_the_bits_and_reports_of_one_after_the_other, 0, 3);
    tcase_add_test(tc, loss_scales_that_change_are_those_of_one_after_the_other);
    tcase_add_test(tc, updates_run_on_an_urgent_stream);
    tcase_add_test(tc, the_next_batch_is_sent_and_launched_before_the_last_one_is_waited_for);
    tcase_add_test(tc, every_in_flight_batch_has_its_own_recording_which_never_changes);
    tcase_add_loop_test(tc, bootstrap_values_are_those_of_one_batch_after_the_other_and_of_a_host, 0, 2);
    tcase_add_test(tc, bootstrap_values_are_not_waited_for);
    tcase_add_test(tc, a_batch_that_is_played_again_has_its_own_values);
    tcase_add_test(tc, no_more_than_two_batches_are_launched_and_none_is_finished_that_was_not);
    tcase_add_loop_test(tc, a_batch_that_is_not_finite_is_named_and_neither_it_nor_the_next_leaves_a_trace, 0, 2);
    tcase_add_test(tc, a_gradient_that_is_not_finite_is_named_though_the_next_one_has_taken_its_place);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
