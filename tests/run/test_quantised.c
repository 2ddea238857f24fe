/* Weights of 8 bits in checkpoints: what is read is what was written, rounded to steps, and nothing else is taken. */
#include "run/quantised.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/int8.h"
#include "run/counterpart.h"
#include "run/weights.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/network.h"

#define CHECK_OK(expression) ck_assert_msg((expression) == CM_OK, "%s: %s", #expression, cm_error_message())

static const cm_support atoms = {-5.0f, 5.0f, 21, true};

/* A network, and a checkpoint that is written and read. */
typedef struct bench {
    cm_test_network network;
    const cm_param_table *table;
    cm_checkpoint_store *store;
    float *ranges, *parameters, *statistics, *read_ranges;
} bench;

static void open_bench_of(bench *b, const cm_network_config *config) {
    *b = (bench){.store = NULL};
    cm_test_network_open(&b->network, config, "ref", 5);
    b->table = cm_network_parameters(b->network.network);
    b->ranges = calloc((size_t)b->table->count, sizeof(float));
    b->read_ranges = calloc((size_t)b->table->count, sizeof(float));
    b->parameters = calloc(b->table->parameters + 1, sizeof(float));
    b->statistics = calloc(b->table->states + 1, sizeof(float));
    ck_assert(b->ranges && b->read_ranges && b->parameters && b->statistics);
    for (int i = 0; i < b->table->count; i++)
        if (b->table->param[i].ndim == 2 && i > 0 && !cm_network_is_for_training(b->network.network, i))
            b->ranges[i] = 0.5f + (float)i;
    CHECK_OK(cm_checkpoint_store_create(cm_test_folder, 3, NULL, &b->store));
}

static void open_bench(bench *b) {
    const cm_network_config config = cm_test_mlp(6, 3, 16, 8, atoms);
    open_bench_of(b, &config);
}

/* Of a network that learns to be consistent. */
static void open_consistent(bench *b) {
    cm_network_config config = cm_test_mlp(6, 3, 16, 8, atoms);
    config.consistency = true;
    config.projection_hidden = 24, config.projection_output = 20, config.predictor_hidden = 12;
    open_bench_of(b, &config);
}

static void close_bench(bench *b) {
    cm_checkpoint_store_destroy(b->store);
    cm_test_network_close(&b->network);
    free(b->ranges);
    free(b->read_ranges);
    free(b->parameters);
    free(b->statistics);
}

static cm_quantised_source source_of(const bench *b, const cm_json *state) {
    return (cm_quantised_source){b->network.network, b->network.parameters, b->network.state, b->ranges, state};
}

static cm_status save(void *context, cm_checkpoint_writer *writer) {
    static const char original[] = "{\"updates\": 7, \"task\": {\"name\": \"a\"}}";
    const bench *b = context;
    cm_json_doc *doc = NULL;
    CM_TRY(cm_json_parse(original, strlen(original), "state", &doc));
    const cm_quantised_source source = source_of(b, cm_json_root(doc));
    cm_status status = cm_quantised_put(&source, writer);
    cm_json_free(doc);
    return status;
}

static cm_status load(void *context, cm_checkpoint_reader *reader) {
    bench *b = context;
    ck_assert(cm_quantised_is(reader));
    CM_TRY(cm_quantised_load(reader, b->network.network, NULL, NULL, NULL));
    return cm_quantised_load(reader, b->network.network, b->parameters, b->statistics, b->read_ranges);
}

static void write_checkpoint(bench *b) {
    const cm_checkpoint_part part = {.name = "the weights", .context = b, .save = save};
    CHECK_OK(cm_checkpoint_save(b->store, 7, &part, 1));
}

static cm_status read_checkpoint(bench *b) {
    const cm_checkpoint_part part = {.name = "the weights", .context = b, .load = load};
    return cm_checkpoint_load(b->store, CM_CHECKPOINT_LATEST, &part, 1, NULL);
}

START_TEST(weights_come_back_rounded_to_steps_and_the_rest_as_it_was) {
    bench b;
    open_bench(&b);
    write_checkpoint(&b);
    CHECK_OK(read_checkpoint(&b));
    ck_assert_mem_eq(b.read_ranges, b.ranges, (size_t)b.table->count * sizeof(float));
    for (int i = 0; i < b.table->count; i++) {
        const cm_param *p = &b.table->param[i];
        const size_t row = p->count / (size_t)p->dim[0];
        const float *want = b.network.parameters + p->offset, *got = b.parameters + p->offset;
        if (p->state) continue;
        for (size_t k = 0; k < p->count; k++) {
            const float step = cm_int8_step(cm_int8_range(want + k / row * row, row));
            ck_assert(fabsf(got[k] - want[k]) <= (b.ranges[i] > 0.0f ? 0.5001f * step : 0.0f));
        }
    }
    close_bench(&b);
}
END_TEST

/* What is read makes the same numbers of 8 bits again. */
START_TEST(rounding_twice_is_rounding_once) {
    bench b;
    open_bench(&b);
    write_checkpoint(&b);
    CHECK_OK(read_checkpoint(&b));
    const cm_param *p = NULL;
    for (int i = 0; i < b.table->count; i++) p = b.ranges[i] > 0.0f ? &b.table->param[i] : p;
    const size_t row = p->count / (size_t)p->dim[0];
    for (size_t k = 0; k < p->count; k++) {
        const size_t first = k / row * row;
        const float *once = b.network.parameters + p->offset, *twice = b.parameters + p->offset;
        ck_assert_int_eq(cm_int8_of(twice[k], cm_int8_inverse(cm_int8_range(twice + first, row))),
                         cm_int8_of(once[k], cm_int8_inverse(cm_int8_range(once + first, row))));
    }
    close_bench(&b);
}
END_TEST

/* Ranges that no network has, written as if they were this one's. */
START_TEST(foreign_ranges_are_refused) {
    static const struct {
        const char *name;
        float range;
        const char *says;
    } cases[] = {
        {"representation.0.bias", 1.0f, "state.json: quantised: representation.0.bias: is no layer of this network"},
        {"nothing.weight", 1.0f, "state.json: quantised: nothing.weight: is no layer of this network"},
        {"representation.0.weight", INFINITY, "representation.0.weight: must be a finite number above 0"}};
    bench b;
    open_bench(&b);
    int at = 0;
    while (b.ranges[at] <= 0.0f) at++;
    cm_param *row = (cm_param *)(uintptr_t)&b.table->param[at]; /* is written under another name */
    const cm_param kept = *row;
    snprintf(row->name, sizeof row->name, "%s", cases[_i].name);
    b.ranges[at] = cases[_i].range; /* JSON has null for infinity */
    write_checkpoint(&b);
    *row = kept;
    ck_assert_int_ne(read_checkpoint(&b), CM_OK);
    ck_assert_msg(strstr(cm_error_message(), cases[_i].says) != NULL, "%s", cm_error_message());
    close_bench(&b);
}
END_TEST

START_TEST(another_network_is_refused) {
    bench b;
    open_bench(&b);
    write_checkpoint(&b);
    cm_network *own = b.network.network;
    const cm_network_config other = cm_test_mlp(6, 3, 24, 8, atoms);
    CHECK_OK(cm_network_create(&other, &b.network.network));
    ck_assert_int_eq(read_checkpoint(&b), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "this network has"));
    cm_network_destroy(b.network.network);
    b.network.network = own;
    close_bench(&b);
}
END_TEST

START_TEST(the_file_is_as_long_as_was_said) {
    bench b;
    open_bench(&b);
    float *none = calloc((size_t)b.table->count, sizeof(float));
    ck_assert_ptr_nonnull(none);
    const uint64_t bits = cm_quantised_bytes(b.network.network, b.ranges);
    ck_assert_uint_lt(bits, cm_quantised_bytes(b.network.network, none));
    write_checkpoint(&b);
    cm_dir folder;
    cm_dir_file file;
    CHECK_OK(cm_checkpoint_enter(b.store, CM_CHECKPOINT_LATEST, &folder));
    CHECK_OK(cm_dir_measure(&folder, CM_FILE_QUANTISED, &file));
    ck_assert_uint_eq(file.bytes, bits);
    cm_dir_close(&folder);
    free(none);
    close_bench(&b);
}
END_TEST

/* They would be most of the file, and a run that begins with it has heads of its own. */
START_TEST(what_training_alone_reads_is_left_out_and_stays_as_it_is) {
    bench b;
    uint64_t left_out = 0;
    open_consistent(&b);
    for (size_t i = 0; i < b.table->parameters; i++) b.parameters[i] = 7.0f;
    write_checkpoint(&b);
    CHECK_OK(read_checkpoint(&b));
    for (int i = 0; i < b.table->count; i++) {
        const cm_param *p = &b.table->param[i];
        const bool is_kept = strncmp(p->name, "consistency.", 12) == 0;
        if (is_kept) left_out += p->count * sizeof(float);
        for (size_t k = 0; k < p->count && !p->state; k++)
            ck_assert_int_eq(b.parameters[p->offset + k] == 7.0f, is_kept);
    }
    ck_assert_uint_gt(left_out, 0);
    ck_assert_uint_eq(cm_quantised_bytes_left_out(b.network.network), left_out);
    close_bench(&b);
}
END_TEST

/* As files were before: with the arrays of training, and a state that does not say so. */
static cm_status save_whole(void *context, cm_checkpoint_writer *writer) {
    const bench *b = context;
    cm_array_table table = {0};
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_object(json, NULL);
    cm_json_begin_object(json, CM_STATE_QUANTISED);
    cm_json_end_object(json);
    cm_json_end_object(json);
    cm_status status = cm_checkpoint_put_json(writer, CM_FILE_STATE, json);
    cm_json_writer_destroy(json);
    if (status == CM_OK)
        status = cm_array_table_add(&table, b->network.network, "", b->network.parameters, b->network.state);
    if (status == CM_OK) status = cm_checkpoint_put_arrays(writer, CM_FILE_QUANTISED, table.arrays, table.count);
    cm_array_table_free(&table);
    return status;
}

START_TEST(files_that_have_what_training_alone_reads_are_read) {
    bench b;
    open_consistent(&b);
    const cm_checkpoint_part part = {.name = "the weights", .context = &b, .save = save_whole};
    CHECK_OK(cm_checkpoint_save(b.store, 7, &part, 1));
    CHECK_OK(read_checkpoint(&b));
    for (int i = 0; i < b.table->count; i++) {
        const cm_param *p = &b.table->param[i];
        if (!p->state)
            ck_assert_mem_eq(b.parameters + p->offset, b.network.parameters + p->offset, p->count * sizeof(float));
    }
    close_bench(&b);
}
END_TEST

/* So what a file is without stays as it is there, too. */
START_TEST(a_counterpart_begins_with_the_arrays_of_its_own) {
    bench b;
    cm_counterpart other;
    open_consistent(&b);
    CHECK_OK(cm_counterpart_open(b.network.network, b.network.parameters, b.network.state, &other));
    cm_counterpart_copy(&other, b.parameters, b.statistics, NULL);
    for (int i = 0; i < b.table->count; i++) {
        const cm_param *p = &b.table->param[i];
        if (!p->state)
            ck_assert_mem_eq(b.parameters + p->offset, b.network.parameters + p->offset, p->count * sizeof(float));
    }
    cm_counterpart_close(&other);
    close_bench(&b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/quantised");
    TCase *tests = tcase_create("quantised");
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, weights_come_back_rounded_to_steps_and_the_rest_as_it_was);
    tcase_add_test(tests, rounding_twice_is_rounding_once);
    tcase_add_loop_test(tests, foreign_ranges_are_refused, 0, 3);
    tcase_add_test(tests, another_network_is_refused);
    tcase_add_test(tests, the_file_is_as_long_as_was_said);
    tcase_add_test(tests, what_training_alone_reads_is_left_out_and_stays_as_it_is);
    tcase_add_test(tests, files_that_have_what_training_alone_reads_are_read);
    tcase_add_test(tests, a_counterpart_begins_with_the_arrays_of_its_own);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
