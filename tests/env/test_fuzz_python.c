/* The fuzzer of what a Python process sends, on deterministic changes of such bytes. */
#include "fuzz/fuzz_python.c" /* the oracle of one input */

#include <check.h>

#include "core/file.h"
#include "fuzz/mutate.h"
#include "support/main.h"

static const char *const seeds[] = {"game", "continuous"};

static void read_seed(int i, char **bytes, size_t *size) {
    char path[640];
    snprintf(path, sizeof path, CM_TEST_CASES "/../fuzz/corpus/python/%s", seeds[i]);
    ck_assert_msg(cm_file_read(path, MUTATE_BYTES, bytes, size) == CM_OK, "%s", cm_error_message());
}

START_TEST(changed_answers_are_read_or_end_the_talk) {
    char *bytes;
    size_t size;
    read_seed(_i, &bytes, &size);
    mutate_run(bytes, size, 6000);
    free(bytes);
}
END_TEST

/* A note, the description, an outcome, one that is missing, an error, an outcome; and then the process is gone. */
START_TEST(answers_are_told_apart) {
    static const struct {
        cm_status status;
        bool is_missing;
        const char *says;
    } wanted[] = {{CM_OK, false, ""},
                  {CM_OK, true, ""},
                  {CM_ERR_INPUT, false, "its step raises"},
                  {CM_OK, false, ""},
                  {CM_ERR_IO, false, "the Python process that plays it has ended, with status 0"}};
    char *bytes, *description, reply[64];
    size_t size, length;
    int sides[2];
    cm_worker *worker;
    read_seed(0, &bytes, &size);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sides), 0);
    ck_assert_int_eq(write(sides[1], bytes + 1, size - 1), (int)size - 1);
    close(sides[1]);
    ck_assert_msg(cm_worker_attach("game", sides[0], &worker, &description, &length) == CM_OK, "%s",
                  cm_error_message());
    ck_assert(length == strlen(description) && description[0] == '{');
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        bool is_missing = false;
        length = sizeof reply;
        ck_assert_int_eq(cm_worker_receive(worker, reply, &length, &is_missing), wanted[i].status);
        ck_assert_int_eq(is_missing, wanted[i].is_missing);
        if (wanted[i].status != CM_OK) ck_assert_str_eq(cm_error_message(), wanted[i].says);
    }
    cm_worker_stop(worker);
    free(description), free(bytes);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fuzz of Python processes");
    TCase *c = tcase_create("fuzz");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, changed_answers_are_read_or_end_the_talk, 0, 2);
    tcase_add_test(c, answers_are_told_apart);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
