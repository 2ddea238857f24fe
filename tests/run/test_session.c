/* What a session opens on this machine. */
#include <check.h>
#include <sched.h>
#include <string.h>

#include "core/log.h"
#include "run/session.h"
#include "support/main.h"

static int warnings;

static bool note_warning(void *context, cm_log_level level, const char *line) {
    (void)context;
    ck_assert_int_eq(level, CM_WARNING);
    ck_assert_str_eq(line,
                     "3 threads have to share the 1 processor that this process may use; 0 takes as many as it has");
    warnings++;
    return true;
}

static void keep_one_processor(void) {
    cpu_set_t all, one;
    int first = 0;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    cm_log_set_hook(note_warning, NULL);
}

START_TEST(threads_that_find_no_processor_are_warned_of_and_made) {
    static const int asked[] = {0, 1, 3}, made[] = {1, 1, 3};
    for (int i = 0; i < 3; i++) {
        cm_pool *pool;
        ck_assert_int_eq(cm_session_pool(asked[i], &pool), CM_OK);
        ck_assert_int_eq(cm_pool_size(pool), made[i]);
        ck_assert_int_eq(warnings, i == 2);
        cm_pool_destroy(pool);
    }
}
END_TEST

START_TEST(a_session_says_it_once) {
    static const char *const threads[] = {"threads=3"};
    cm_configuration configuration;
    cm_config *config;
    cm_session *session;
    ck_assert_int_eq(cm_configuration_load(NULL, threads, 1, &configuration, &config), CM_OK);
    ck_assert_msg(cm_session_open(&configuration, NULL, &session) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(warnings, 1);
    cm_session_close(session);
    cm_config_destroy(config);
}
END_TEST

/* An unroll of K steps begins prefixes at multiples of the horizon below K; a search none but these. */
START_TEST(a_search_begins_no_prefix_that_training_never_began) {
    static const struct {
        const char *unroll, *horizon;
        int wanted;
    } cases[] = {
        {"num_unroll_steps=3", "value_prefix_horizon=5", CM_PREFIX_WHOLE},
        {"num_unroll_steps=5", "value_prefix_horizon=5", CM_PREFIX_WHOLE},
        {"num_unroll_steps=6", "value_prefix_horizon=5", 5},
        {"num_unroll_steps=8", "value_prefix_horizon=1", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const settings[] = {"value_prefix=true", "threads=1", cases[i].unroll, cases[i].horizon};
        cm_configuration configuration;
        cm_config *config;
        cm_session *session;
        ck_assert_int_eq(cm_configuration_load(NULL, settings, 4, &configuration, &config), CM_OK);
        ck_assert_msg(cm_session_open(&configuration, NULL, &session) == CM_OK, "%s", cm_error_message());
        ck_assert_int_eq(cm_network_get_config(session->network)->prefix_horizon, cases[i].wanted);
        cm_session_close(session);
        cm_config_destroy(config);
    }
}
END_TEST

START_TEST(vectors_are_not_augmented) {
    static const char *const keys[] = {"augmentation_shift=1", "augmentation_intensity=0.1"};
    for (int i = 0; i < 2; i++) {
        const char *const settings[] = {"threads=1", "env_name=CartPole-v1", keys[i]};
        cm_configuration configuration;
        cm_config *config;
        cm_session *session;
        ck_assert_int_eq(cm_configuration_load(NULL, settings, 3, &configuration, &config), CM_OK);
        ck_assert_int_eq(cm_session_open(&configuration, NULL, &session), CM_ERR_INPUT);
        ck_assert_ptr_nonnull(strstr(cm_error_message(), "Memory.augmentation_"));
        ck_assert_ptr_nonnull(strstr(cm_error_message(), "CartPole-v1"));
        cm_config_destroy(config);
    }
}
END_TEST

START_TEST(backend_without_8_bits_does_not_act_in_them) {
    const cm_backend_class kinds[] = {{.name = "other"}, {.name = "cpu", .takes_int8 = true}};
    for (int i = 0; i < 4; i++) {
        cm_backend backend = {.kind = &kinds[i / 2]};
        cm_session session = {.backend = &backend};
        session.configuration.agent.acting_dtype = i % 2 ? CM_ACTING_INT8 : CM_ACTING_SAME;
        ck_assert_int_eq(cm_session_check_acting(&session), i == 1 ? CM_ERR_INPUT : CM_OK);
        if (i == 1)
            ck_assert_str_eq(cm_error_message(),
                             "Self-Play.acting_dtype: backend other has no products in 8 bits; set it to \"same\", or "
                             "backend to \"cpu\"");
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("session");
    TCase *tc = tcase_create("session");
    tcase_add_checked_fixture(tc, keep_one_processor, NULL);
    tcase_add_test(tc, threads_that_find_no_processor_are_warned_of_and_made);
    tcase_add_test(tc, a_session_says_it_once);
    tcase_add_test(tc, a_search_begins_no_prefix_that_training_never_began);
    tcase_add_test(tc, vectors_are_not_augmented);
    tcase_add_test(tc, backend_without_8_bits_does_not_act_in_them);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
