/* Case files that are wrong, and what a comparison says. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/search.h"
#include "core/file.h"
#include "mcts/support.h"
#include "support/folder.h"

/* Two states, two actions, two simulations: small enough to be read. */
static const char *const good =
    "{\"format\":\"cumind-search-case-1\",\"name\":\"t\",\"policy\":\"muzero\",\"batch\":1,\"num_actions\":2,"
    "\"num_simulations\":2,\"max_depth\":null,\"options\":{\"qtransform\":{\"name\":\"qtransform_by_parent_and_"
    "siblings\","
    "\"epsilon\":1e-08},\"pb_c_init\":1.25,\"pb_c_base\":19652,\"dirichlet_fraction\":0,\"temperature\":0},\"unit\":1,"
    "\"action_is_sampled\":false,\"model\":{\"next_state\":[[1,1],[0,1]],\"reward\":[[1,0],[0,0.5]],"
    "\"discount\":[[0.5,0.5],[0.5,0.5]],\"prior_logits\":[[0,0],[1,0]],\"value\":[0,2]},"
    "\"root\":{\"state\":[0],\"invalid_actions\":null,\"dirichlet_noise\":null},\"expected\":"
    "{\"node_visits\":[[3,2,1]],\"raw_values\":[[0,2,0]],\"node_values\":[[1,1,0]],\"parents\":[[-1,0,1]],"
    "\"action_from_parent\":[[-1,0,0]],\"node_states\":[[0,1,0]],\"children_index\":[[[1,-1],[2,-1],[-1,-1]]],"
    "\"children_visits\":[[[2,0],[1,0],[0,0]]],\"children_rewards\":[[[1,0],[0,0],[0,0]]],"
    "\"children_discounts\":[[[0.5,0],[0.5,0],[0,0]]],\"children_values\":[[[1,0],[0,0],[0,0]]],"
    "\"root_prior_logits\":[[-0.6931472,-0.6931472]],\"root_value\":[1],\"root_qvalues\":[[1.5,0]],"
    "\"action_weights\":[[1,0]],\"action_probs\":[[1,0]],\"action\":[0]}}";

static char path[CM_TEST_PATH]; /* of the case; "" before the first */

/* `good` with the first `from` replaced by `to`. */
static void write_case(const char *from, const char *to) {
    static char text[8192];
    const char *at = strstr(good, from);
    ck_assert_msg(at != NULL, "\"%s\" is not in the case", from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    if (!path[0]) cm_test_file_make(path);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

static void refuses(const char *from, const char *to, const char *field) {
    cm_search_case *searched = NULL;
    write_case(from, to);
    cm_status status = cm_search_case_read(path, true, &searched);
    ck_assert_msg(status == CM_ERR_INPUT, "%s -> %s: accepted", from, to);
    ck_assert_ptr_null(searched);
    const char *message = cm_error_message();
    ck_assert_msg(strncmp(message, path, strlen(path)) == 0, "\"%s\" does not begin with the file", message);
    ck_assert_msg(strstr(message, field) != NULL, "\"%s\" does not name %s", message, field);
    ck_assert_msg(strchr(message, '\n') == NULL, "\"%s\" is more than a line", message);
}

START_TEST(bad_files_are_refused_with_file_and_field) {
    refuses("cumind-search-case-1", "cumind-search-case-2", "format");
    refuses("\"policy\":\"muzero\"", "\"policy\":\"alphago\"", "policy");
    refuses("\"batch\":1", "\"batch\":0", "batch");
    refuses("\"batch\":1", "\"batch\":1.5", "batch");
    refuses("\"batch\":1", "\"batch\":60000", "root.state");
    refuses("\"num_actions\":2", "\"num_actions\":-2", "num_actions");
    refuses("\"num_actions\":2", "\"num_actions\":3", "model.next_state[0]");
    refuses("\"num_simulations\":2", "\"num_simulations\":1e30", "num_simulations");
    refuses("\"num_simulations\":2", "\"num_simulations\":\"2\"", "num_simulations");
    refuses("\"num_simulations\":2", "\"num_simulations\":3", "expected.node_visits");
    refuses("\"max_depth\":null", "\"max_depth\":0", "max_depth");
    refuses("\"max_depth\":null,", "", "max_depth");
    refuses("\"unit\":1", "\"unit\":0", "unit");
    refuses("\"unit\":1,", "", "unit");
    refuses("\"action_is_sampled\":false", "\"action_is_sampled\":0", "action_is_sampled");
    refuses("qtransform_by_parent_and_siblings", "qtransform_by_magic", "qtransform.name");
    refuses("\"epsilon\":1e-08", "\"epsilon\":-1", "qtransform.epsilon");
    refuses("\"pb_c_base\":19652", "\"pb_c_base\":0", "pb_c_base");
    refuses("\"pb_c_init\":1.25,", "", "pb_c_init");
    refuses("\"temperature\":0", "\"temperature\":-1", "temperature");
    refuses("\"dirichlet_fraction\":0", "\"dirichlet_fraction\":0.25", "dirichlet_noise");
    refuses("\"dirichlet_noise\":null", "\"dirichlet_noise\":[[0.5,0.5]]", "dirichlet_noise");
    refuses("\"dirichlet_noise\":null", "\"other\":null", "dirichlet_noise");
    refuses("[[1,1],[0,1]]", "[[1,2],[0,1]]", "model.next_state");
    refuses("[[1,1],[0,1]]", "[[1,1],[0,-1]]", "model.next_state");
    refuses("[[1,1],[0,1]]", "[[1,1,0],[1]]", "model.next_state[0]");
    refuses("[[1,0],[0,0.5]]", "[[1,0],[0,1e39]]", "model.reward");
    refuses("[[1,0],[0,0.5]]", "[[1,0],[0,null]]", "model.reward[1][1]");
    refuses("\"value\":[0,2]", "\"value\":[]", "model.value");
    refuses("\"value\":[0,2]", "\"value\":[0,2,3]", "model.next_state");
    refuses("\"state\":[0]", "\"state\":[2]", "root.state");
    refuses("\"state\":[0]", "\"state\":[0,0]", "root.state");
    refuses("\"invalid_actions\":null", "\"invalid_actions\":[[0,2]]", "root.invalid_actions");
    refuses("\"invalid_actions\":null", "\"invalid_actions\":[[0]]", "root.invalid_actions[0]");
    refuses("\"expected\"", "\"unexpected\"", "expected");
    refuses("\"parents\":", "\"parent\":", "expected.parents");
    refuses("\"root_value\":[1]", "\"root_value\":[[1]]", "expected.root_value[0]");
    refuses("\"action\":[0]", "\"action\":null", "expected.action");
    refuses("}}", "}", ":");
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named) {
    cm_search_case *searched = NULL;
    ck_assert_int_ne(cm_search_case_read("/nowhere/case.json", true, &searched), CM_OK);
    ck_assert(strstr(cm_error_message(), "/nowhere/case.json") != NULL);
}
END_TEST

static int64_t compare(const char *from, const char *to, char first[256]) {
    cm_search_case *searched = NULL;
    write_case(from, to);
    ck_assert_msg(cm_search_case_read(path, true, &searched) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_search_case_run(searched, NULL, 1) == CM_OK, "%s", cm_error_message());
    int64_t different = cm_search_case_compare(searched, first, 256);
    cm_search_case_destroy(searched);
    return different;
}

START_TEST(the_first_difference_is_named_with_index_got_and_want) {
    char first[256];
    int64_t none = compare("\"name\"", "\"name\"", first);
    ck_assert_msg(none == 0 && first[0] == '\0', "%s", first);
    ck_assert_int_eq(compare("\"node_visits\":[[3,2,1]]", "\"node_visits\":[[3,2,5]]", first), 1);
    ck_assert_str_eq(first, "node_visits[0][2]: got 1, want 5");
    ck_assert_int_eq(compare("[[[2,0],[1,0],[0,0]]]", "[[[2,0],[1,7],[0,3]]]", first), 2);
    ck_assert_str_eq(first, "children_visits[0][1][1]: got 0, want 7");
    ck_assert_int_eq(compare("\"root_value\":[1]", "\"root_value\":[1.000009]", first), 0);
    ck_assert_int_eq(compare("\"root_value\":[1]", "\"root_value\":[1.0625]", first), 1);
    ck_assert_str_eq(first, "root_value[0]: got 1, want 1.0625");
    ck_assert_int_eq(compare("\"action\":[0]", "\"action\":[1]", first), 1);
    ck_assert_str_eq(first, "action[0]: got 0, want 1");
}
END_TEST

START_TEST(a_sampled_action_must_have_probability) {
    char first[256];
    ck_assert_int_eq(compare("\"action_is_sampled\":false", "\"action_is_sampled\":true", first), 0);
    ck_assert_str_eq(first, "");
}
END_TEST

START_TEST(expected_is_not_needed_without_a_check) {
    cm_search_case *searched = NULL;
    write_case("\"expected\"", "\"unexpected\"");
    ck_assert_int_eq(cm_search_case_read(path, false, &searched), CM_OK);
    ck_assert_int_eq(cm_search_case_run(searched, NULL, 1), CM_OK);
    cm_json_writer *writer = NULL;
    ck_assert_int_eq(cm_json_writer_create(0, &writer), CM_OK);
    cm_search_case_write(searched, writer);
    size_t size = 0;
    const char *text = cm_json_writer_text(writer, &size);
    cm_json_doc *document = NULL;
    ck_assert_msg(cm_json_parse(text, size, "output", &document) == CM_OK, "%s", cm_error_message());
    const cm_json *root = cm_json_root(document);
    ck_assert_int_eq(cm_json_size(root), 17);
    int32_t visits[3], index[6];
    float weights[2];
    ck_assert_int_eq(cm_json_ints(cm_json_get(root, "node_visits"), "visits", 3, 0, 9, visits), CM_OK);
    ck_assert(visits[0] == 3 && visits[1] == 2 && visits[2] == 1);
    ck_assert_int_eq(cm_json_ints(cm_json_get(root, "children_index"), "index", 6, -1, 9, index), CM_OK);
    ck_assert(index[0] == 1 && index[1] == -1 && index[2] == 2);
    ck_assert_int_eq(cm_json_floats(cm_json_get(root, "action_weights"), "weights", 2, weights), CM_OK);
    ck_assert(weights[0] == 1.0f && weights[1] == 0.0f);
    cm_json_free(document);
    cm_json_writer_destroy(writer);
    cm_search_case_destroy(searched);
}
END_TEST

int main(void) {
    return RUN_SUITE("search case files", bad_files_are_refused_with_file_and_field, a_file_that_is_not_there_is_named,
                     the_first_difference_is_named_with_index_got_and_want, a_sampled_action_must_have_probability,
                     expected_is_not_needed_without_a_check);
}
