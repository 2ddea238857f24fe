/* Which layers are in 8 bits, and by which ranges. */
#include "run/quantise.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "support/main.h"
#include "support/network.h"

#define CHECK_OK(expression) ck_assert_msg((expression) == CM_OK, "%s: %s", #expression, cm_error_message())

enum { OBSERVATION = 6, COUNT = 128 };
static const cm_support atoms = {-5.0f, 5.0f, 21, true};
static const float most_observed = 3.5f;

typedef struct bench {
    cm_test_network network;
    const cm_param_table *table;
    cm_stream *stream;
    cm_positions positions;
    cm_quantise_result found;
} bench;

/* Observations of which one number is the largest. */
static void observe(bench *b) {
    CHECK_OK(cm_positions_create(b->network.network, COUNT, &b->positions));
    for (int batch = 0; batch < b->positions.batches; batch++) {
        float observations[COUNT * OBSERVATION];
        for (int i = 0; i < b->positions.rows * OBSERVATION; i++)
            observations[i] = 0.5f * sinf((float)(i + 97 * batch));
        observations[17] = batch == 0 ? -most_observed : 0.0f;
        cm_positions_observe(&b->positions, batch, observations);
        for (int k = 0; k < b->positions.steps; k++)
            for (int i = 0; i < b->positions.rows; i++) cm_positions_act(&b->positions, batch, k, i, (i + k) % 3, 0);
    }
}

static void open_bench(bench *b, bool fake_quantised) {
    cm_network_config config = cm_test_mlp(OBSERVATION, 3, 16, 8, atoms);
    memset(b, 0, sizeof *b);
    config.fake_quantised = fake_quantised;
    cm_test_network_open(&b->network, &config, "cpu", 5);
    b->table = cm_network_parameters(b->network.network);
    CHECK_OK(cm_stream_open(b->network.backend, &b->stream));
    observe(b);
}

static void close_bench(bench *b) {
    cm_quantise_free(&b->found);
    cm_positions_free(&b->positions);
    cm_stream_close(b->stream);
    cm_test_network_close(&b->network);
}

/* All ranges of training are this one. */
static void train_ranges(bench *b, float range) {
    for (int i = 0; i < b->table->count; i++) {
        const int row = cm_network_range_of(b->network.network, i);
        if (row >= 0) b->network.state[b->table->param[row].offset] = range;
    }
}

static void quantise(bench *b, double tolerance) {
    const cm_quantise_request request = {.network = b->network.network,
                                         .stream = b->stream,
                                         .parameters = b->network.parameters,
                                         .state = b->network.state,
                                         .positions = &b->positions,
                                         .tolerance = tolerance};
    CHECK_OK(cm_quantise(&request, &b->found));
    ck_assert_int_eq(b->found.positions, COUNT);
}

static float range_of(const bench *b, const char *name) {
    const cm_param *param = cm_param_table_find(b->table, name);
    ck_assert_ptr_nonnull(param);
    return b->found.ranges[param - b->table->param];
}

START_TEST(a_range_is_the_largest_number_that_a_layer_reads) {
    bench b;
    open_bench(&b, false);
    quantise(&b, 1.0);
    ck_assert(!b.found.is_trained);
    ck_assert_float_eq(range_of(&b, "representation.0.weight"), most_observed);
    close_bench(&b);
}
END_TEST

START_TEST(the_range_of_training_of_observations_alone_is_raised) {
    bench b;
    open_bench(&b, true);
    train_ranges(&b, 0.25f);
    quantise(&b, 0.0);
    ck_assert(b.found.is_trained);
    for (int i = 0; i < b.table->count; i++) {
        const bool is_trained = cm_network_range_of(b.network.network, i) >= 0;
        const bool is_first = strcmp(b.table->param[i].name, "representation.0.weight") == 0;
        ck_assert_float_eq(b.found.ranges[i], is_first ? most_observed : is_trained ? 0.25f : 0.0f);
    }
    close_bench(&b);
}
END_TEST

START_TEST(larger_ranges_of_training_stay) {
    bench b;
    open_bench(&b, true);
    train_ranges(&b, 100.0f);
    quantise(&b, 0.0);
    for (int i = 0; i < b.table->count; i++) {
        const bool is_trained = cm_network_range_of(b.network.network, i) >= 0;
        ck_assert_float_eq(b.found.ranges[i], is_trained ? 100.0f : 0.0f);
    }
    close_bench(&b);
}
END_TEST

START_TEST(a_layer_without_a_range_of_training_stays_in_floats) {
    bench b;
    open_bench(&b, true);
    train_ranges(&b, 0.25f);
    const cm_param *first = cm_param_table_find(b.table, "representation.0." CM_NETWORK_RANGE);
    ck_assert_ptr_nonnull(first);
    b.network.state[first->offset] = 0.0f;
    quantise(&b, 0.0);
    ck_assert_float_eq(range_of(&b, "representation.0.weight"), 0.0f);
    ck_assert_float_eq(range_of(&b, "representation.1.weight"), 0.25f);
    close_bench(&b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/quantise");
    TCase *tests = tcase_create("quantise");
    tcase_add_test(tests, a_range_is_the_largest_number_that_a_layer_reads);
    tcase_add_test(tests, the_range_of_training_of_observations_alone_is_raised);
    tcase_add_test(tests, larger_ranges_of_training_stay);
    tcase_add_test(tests, a_layer_without_a_range_of_training_stays_in_floats);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
