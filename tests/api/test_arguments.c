/* NULL and what is out of range, in every argument of cumind.h that the tests of its parts leave out: a status with a
 * line, or zeros where a function has no status. */
#include <check.h>
#include <cumind.h>
#include <math.h>
#include <string.h>

#include "support/main.h"

static void expect(cumind_status got, cumind_status want, const char *text) {
    ck_assert_msg(got == want && strstr(cumind_error_message(), text), "%d, not %d: %s", (int)got, (int)want,
                  cumind_error_message());
}

#define IS_NULL(call)     expect(call, CUMIND_ERR_INPUT, "the handle is NULL: it was not opened, or it was closed")
#define NEEDS(call, name) expect(call, CUMIND_ERR_INPUT, name " must not be NULL")

START_TEST(a_handle_that_is_null_is_named) {
    float numbers[4] = {0};
    double returns[1];
    int32_t action[1] = {0};
    char text[8];
    cumind_env *env = (cumind_env *)text;
    const cumind_analysis out = {.action = action};
    const cumind_trees trees = {0};
    const cumind_model model = {0};
    const cumind_roots roots = {0};
    const cumind_search_result result = {0};
    IS_NULL(cumind_env_reset(NULL, NULL, NULL));
    IS_NULL(cumind_env_step(NULL, action));
    IS_NULL(cumind_env_step_values(NULL, numbers));
    IS_NULL(cumind_env_picture(NULL, 0, text, sizeof text));
    IS_NULL(cumind_env_copy(NULL, 0, 0));
    NEEDS(cumind_env_action_name(NULL, 0, text, sizeof text), "env");
    IS_NULL(cumind_agent_open_env(NULL, 1, 0, &env));
    IS_NULL(cumind_agent_analyse(NULL, 1, numbers, NULL, &out));
    IS_NULL(cumind_agent_analyse_env(NULL, NULL, 0, 1, &out));
    IS_NULL(cumind_agent_evaluate(NULL, 1, 0, returns));
    NEEDS(cumind_agent_values(NULL, 0, numbers), "agent");
    IS_NULL(cumind_agent_initial_inference(NULL, 1, numbers, NULL, NULL, NULL));
    IS_NULL(cumind_agent_recurrent_inference(NULL, 1, numbers, action, NULL, NULL, NULL, NULL));
    IS_NULL(cumind_search_run(NULL, &model, &roots, &result));
    IS_NULL(cumind_search_get_trees(NULL, &trees));
    cumind_env_close(NULL);
    cumind_agent_close(NULL);
    cumind_search_close(NULL);
}
END_TEST

START_TEST(functions_without_a_status_give_zeros_of_null) {
    cumind_spec spec = {.actions = 7};
    cumind_agent_facts facts = {.updates = 7};
    ck_assert_int_eq(cumind_env_instances(NULL), 0);
    ck_assert_ptr_null(cumind_env_get_arrays(NULL).observation);
    cumind_env_get_spec(NULL, &spec);
    ck_assert_int_eq(spec.actions, 0);
    spec.actions = 7;
    cumind_agent_get_spec(NULL, &spec);
    ck_assert_int_eq(spec.actions, 0);
    cumind_agent_get_facts(NULL, &facts);
    ck_assert_int_eq(facts.updates, 0);
    cumind_env_get_spec(NULL, NULL);
    cumind_agent_get_spec(NULL, NULL);
    cumind_agent_get_facts(NULL, NULL);
    ck_assert_ptr_null(cumind_env_name(-1));
    ck_assert_ptr_null(cumind_env_name(1 << 30));
    ck_assert_int_eq(cumind_fail(CUMIND_OK, NULL), CUMIND_ERR_MODEL);
    ck_assert_int_eq(cumind_fail((cumind_status)77, "mine"), CUMIND_ERR_MODEL);
    ck_assert_str_eq(cumind_error_message(), "mine");
}
END_TEST

START_TEST(places_for_results_are_needed) {
    char text[8];
    cumind_env *env;
    float values[2] = {0};
    ck_assert_int_eq(cumind_env_open("catch", 1, 0, NULL, 0, &env), CUMIND_OK);
    NEEDS(cumind_env_picture(env, 0, NULL, 8), "text");
    NEEDS(cumind_env_action_name(env, 0, NULL, 8), "text");
    expect(cumind_env_action_name(env, 0, text, 0), CUMIND_ERR_INPUT, "size must be at least 1");
    expect(cumind_env_action_name(env, -1, text, 8), CUMIND_ERR_INPUT, "action -1 is not in [0, 3)");
    expect(cumind_env_copy(env, -1, 0), CUMIND_ERR_INPUT, "instances -1 to -1 are asked for");
    NEEDS(cumind_env_step_values(env, NULL), "values");
    expect(cumind_env_step_values(env, values), CUMIND_ERR_INPUT, "takes no values; use cumind_env_step");
    cumind_env_close(env);
    NEEDS(cumind_agent_open("/nowhere", CUMIND_LATEST, NULL, 0, NULL), "out");
    cumind_agent *agent = (cumind_agent *)text;
    expect(cumind_agent_open("", CUMIND_LATEST, NULL, 0, &agent), CUMIND_ERR_INPUT, "run must not be empty");
    ck_assert_ptr_null(agent);
}
END_TEST

static cumind_status zeros(void *context, int n, const int32_t *parent, const int32_t *action, const int32_t *child,
                           cumind_model_out *out) {
    (void)context, (void)parent, (void)action, (void)child;
    for (int k = 0; k < n; k++) out->reward[k] = out->discount[k] = out->value[k] = 0.0f;
    for (int k = 0; k < 3 * n; k++) out->prior_logits[k] = 0.0f;
    return CUMIND_OK;
}

START_TEST(numbers_of_a_search_that_cannot_be_are_named) {
    cumind_search_options options = cumind_search_defaults(CUMIND_GUMBEL_MUZERO);
    cumind_search *search = (cumind_search *)&options;
    options.num_simulations = 4;
    NEEDS(cumind_search_open(&options, 2, 3, 0, NULL), "out");
    expect(cumind_search_open(&options, 0, 3, 0, &search), CUMIND_ERR_INPUT, "batch must be in [1, ");
    expect(cumind_search_open(&options, 1 << 30, 3, 0, &search), CUMIND_ERR_INPUT, "batch must be in [1, ");
    expect(cumind_search_open(&options, 2, 0, 0, &search), CUMIND_ERR_INPUT, "num_actions must be in [1, ");
    expect(cumind_search_open(&options, 2, 3, -1, &search), CUMIND_ERR_INPUT, "num_chance must be in [0, ");
    ck_assert_ptr_null(search);
    options.epsilon = NAN;
    expect(cumind_search_open(&options, 2, 3, 0, &search), CUMIND_ERR_INPUT, "qtransform.epsilon: must be in");
    options.epsilon = 1e-8f, options.qtransform = (cumind_qtransform)9;
    expect(cumind_search_open(&options, 2, 3, 0, &search), CUMIND_ERR_INPUT, "qtransform: must be an integer in");
    options = cumind_search_defaults(CUMIND_GUMBEL_MUZERO);
    options.num_simulations = 4;
    ck_assert_int_eq(cumind_search_open(&options, 2, 3, 0, &search), CUMIND_OK);
    NEEDS(cumind_search_get_trees(search, NULL), "out");
    float prior[6] = {0}, value[2] = {0};
    uint8_t invalid[6] = {0, 0, 0, 1, 1, 1};
    cumind_model model = {.num_actions = 3, .recurrent = zeros};
    cumind_roots roots = {.count = 2, .prior_logits = prior, .value = value};
    const cumind_search_result result = {0};
    ck_assert_int_eq(cumind_search_run(search, &model, &roots, &result), CUMIND_OK);
    roots.invalid = invalid;
    ck_assert_int_eq(cumind_search_run(search, &model, &roots, &result), CUMIND_OK); /* as mctx has it */
    roots.invalid = NULL, prior[4] = NAN;
    expect(cumind_search_run(search, &model, &roots, &result), CUMIND_ERR_INPUT,
           "roots.prior_logits: number 1 of root 1 is not finite");
    prior[4] = 0.0f, value[1] = INFINITY;
    expect(cumind_search_run(search, &model, &roots, &result), CUMIND_ERR_INPUT,
           "roots.value: number 0 of root 1 is not finite");
    value[1] = 0.0f, roots.count = 0;
    expect(cumind_search_run(search, &model, &roots, &result), CUMIND_ERR_INPUT, "roots.count must be in [1, 2]");
    roots.count = 2, roots.prior_logits = NULL;
    NEEDS(cumind_search_run(search, &model, &roots, &result), "roots.prior_logits");
    roots.prior_logits = prior, model.recurrent = NULL;
    NEEDS(cumind_search_run(search, &model, &roots, &result), "model.recurrent");
    cumind_search_close(search);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("api/arguments");
    TCase *tests = tcase_create("arguments");
    tcase_add_test(tests, a_handle_that_is_null_is_named);
    tcase_add_test(tests, functions_without_a_status_give_zeros_of_null);
    tcase_add_test(tests, places_for_results_are_needed);
    tcase_add_test(tests, numbers_of_a_search_that_cannot_be_are_named);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
