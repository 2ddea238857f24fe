/* Every training case passes on every backend that opens here, in all types, with 1, 2, 3 and 8 workers. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/classes.h"
#include "cases/trainer.h"
#include "core/file.h"
#include "support/far.h"
#include "support/main.h"

/* In the place of a GPU: what is copied there and back. */
const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

typedef struct setting {
    cm_backend *backend;
    cm_pool *pool;
    cm_dtype dtype;
} setting;

/* Runs the case if it is one of the trainer's and has a tolerance for the type; true then. */
static bool run_case(const cm_json *root, const setting *s, cm_case_report *report) {
    const char *kind = cm_json_string(cm_json_get(root, "kind"));
    if (!kind || !cm_trainer_case_knows(kind) || !cm_case_has_dtype(root, cm_dtype_name(s->dtype))) return false;
    cm_status status = cm_case_begin(report, root, cm_dtype_name(s->dtype));
    if (status == CM_OK) status = cm_trainer_case_run(root, s->backend, s->pool, s->dtype, report);
    if (status == CM_OK) status = cm_case_end(report);
    ck_assert_msg(status == CM_OK, "%s: %s", kind, cm_error_message());
    return true;
}

static int run_folder(const setting *s) {
    DIR *folder = opendir(CM_TEST_CASES "/learning");
    ck_assert_ptr_nonnull(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!strstr(entry->d_name, ".json")) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/learning/%s", CM_TEST_CASES, entry->d_name);
        cm_json_doc *doc;
        ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
        cm_case_report report;
        if (run_case(cm_json_root(doc), s, &report)) {
            count++;
            ck_assert_msg(report.ok, "%s %s %s, %d workers: %s", entry->d_name, s->backend->kind->name,
                          cm_dtype_name(s->dtype), cm_pool_size(s->pool), report.message);
        }
        cm_json_free(doc);
    }
    closedir(folder);
    return count;
}

START_TEST(all_six_training_cases_pass_on_every_backend_type_and_number_of_workers) {
    static const int workers[] = {1, 2, 3, 8};
    for (const cm_backend_class *const *c = cm_backend_classes(); *c; c++) {
        setting s;
        ck_assert_msg(cm_backend_open((*c)->name, &s.backend) == CM_OK, "%s", cm_error_message());
        for (int w = 0; w < 4; w++) {
            ck_assert(cm_pool_create(workers[w], &s.pool) == CM_OK);
            for (int type = 0; type < CM_PRODUCT_TYPES; type++) {
                s.dtype = (cm_dtype)type;
                ck_assert_int_eq(run_folder(&s), 6);
            }
            cm_pool_destroy(s.pool);
        }
        cm_backend_close(s.backend);
    }
}
END_TEST

/* Of as many numbers, but not batch x (unroll + 1) of them. */
START_TEST(a_batch_of_another_shape_is_refused) {
    static const char shape[] = "\"target_value\":{\"shape\":[7,6]";
    char *text;
    size_t size;
    cm_json_doc *doc;
    cm_case_report report;
    cm_backend *backend;
    cm_pool *pool;
    ck_assert_int_eq(cm_file_read(CM_TEST_CASES "/learning/train_cumind_scalar.json", 1 << 24, &text, &size), CM_OK);
    char *at = strstr(text, shape);
    ck_assert_ptr_nonnull(at);
    at[sizeof shape - 5] = '6', at[sizeof shape - 3] = '7';
    ck_assert_int_eq(cm_json_parse(text, size, "case", &doc), CM_OK);
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK);
    ck_assert_int_eq(cm_pool_create(1, &pool), CM_OK);
    ck_assert_int_eq(cm_case_begin(&report, cm_json_root(doc), "float32"), CM_OK);
    ck_assert_int_eq(cm_trainer_case_run(cm_json_root(doc), backend, pool, CM_F32, &report), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), "batch/target_value: its shape") != NULL, "%s", cm_error_message());
    cm_pool_destroy(pool);
    cm_backend_close(backend);
    cm_json_free(doc);
    free(text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("training cases");
    TCase *tc = tcase_create("cases");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, all_six_training_cases_pass_on_every_backend_type_and_number_of_workers);
    tcase_add_test(tc, a_batch_of_another_shape_is_refused);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
