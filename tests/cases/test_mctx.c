/* The pseudo-random trees of mctx's own tests, from the published figures of their roots (docs/spec/search.md 12.2). */
#include <string.h>

#include "cases/mctx_tree.h"
#include "mcts/support.h"

typedef struct figures {
    const char *visits; /* action:count for the root's visited actions */
    float value, raw;
    int depth, action; /* action -1: the action is not compared */
} figures;

typedef struct tree_setting {
    cm_search_params params;
    int num_actions;
    float discount;
    bool zero_reward;
    figures want[3];
} tree_setting;

static int deepest(const cm_search *search, int b, int slots) {
    int most = 0;
    for (int slot = 1; slot < slots; slot++) {
        int depth = 0;
        if (cm_search_node(search, b, slot).parent < 0) continue;
        for (int at = slot; at > 0; at = cm_search_node(search, b, at).parent) depth++;
        most = depth > most ? depth : most;
    }
    return most;
}

static void check_setting(const tree_setting *how) {
    static int32_t visits[3 * 82];
    static uint8_t legal[3 * 82];
    static float value[3], raw[3];
    static int32_t action[3];
    int n = how->num_actions, slots = how->params.num_simulations + 1;
    cm_mctx_model context = {n, how->discount, how->zero_reward, 0,
                             calloc((size_t)(3 * slots), sizeof(cm_threefry_key))};
    for (int i = 0; i < 3 * n; i++) legal[i] = i < n || i % n < i / n;
    cm_model model = cm_mctx_model_of(&context);
    cm_roots roots = {.count = 3, .legal = legal};
    cm_search_result result = {.visits = visits, .value = value, .raw_value = raw, .action = action};
    cm_search *search = NULL;
    ck_assert_int_eq(cm_search_create(&how->params, 3, n, 0, &search), CM_OK);
    ck_assert_msg(cm_search_run(search, &model, &roots, &result) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_search_check(search) == CM_OK, "%s", cm_error_message());
    for (int b = 0; b < 3; b++) {
        char text[512] = "";
        for (int a = 0; a < n; a++) {
            size_t used = strlen(text);
            if (visits[b * n + a]) snprintf(text + used, sizeof text - used, "%d:%d ", a, visits[b * n + a]);
        }
        ck_assert_str_eq(text, how->want[b].visits);
        assert_near(value[b], how->want[b].value, 2e-5f, "value", b);
        assert_near(raw[b], how->want[b].raw, 2e-6f, "raw", b);
        ck_assert_int_eq(deepest(search, b, slots), how->want[b].depth);
        if (how->want[b].action >= 0) ck_assert_int_eq(action[b], how->want[b].action);
    }
    cm_search_destroy(search);
    free(context.keys);
}

static tree_setting gumbel_setting(int simulations, int considered, float maxvisit_init, float value_scale) {
    tree_setting how = {.params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO)};
    how.params.num_simulations = simulations;
    how.params.gumbel_scale = 0.0f;
    how.params.max_num_considered_actions = considered;
    how.params.qtransform.maxvisit_init = maxvisit_init;
    how.params.qtransform.value_scale = value_scale;
    how.params.qtransform.rescale_values = false;
    return how;
}

START_TEST(a_gumbel_tree_with_rewards_equals_that_of_mctx) {
    tree_setting how = gumbel_setting(50, 8, 20.0f, 0.1f);
    how.num_actions = 18, how.discount = 0.997f;
    how.want[0] = (figures){"1:15 5:6 7:2 8:2 10:15 12:2 14:2 17:6 ", 0.637512f, 0.436836f, 5, 1};
    how.want[1] = (figures){"0:50 ", 2.424293f, -0.195906f, 7, 0};
    how.want[2] = (figures){"0:25 1:25 ", 0.013012f, 0.427787f, 6, 1};
    check_setting(&how);
}
END_TEST

START_TEST(a_muzero_tree_equals_that_of_mctx) {
    tree_setting how = {.params = cm_search_params_default(CM_POLICY_MUZERO), .num_actions = 18, .discount = 0.997f};
    how.params.num_simulations = 50;
    how.params.dirichlet_fraction = 0.0f;
    how.want[0] = (figures){"7:2 14:48 ", 2.990253f, 0.436836f, 19, -1};
    how.want[1] = (figures){"0:50 ", 5.009835f, -0.195906f, 25, -1};
    how.want[2] = (figures){"0:1 1:49 ", 0.918029f, 0.427787f, 16, -1};
    check_setting(&how);
}
END_TEST

START_TEST(a_gumbel_tree_of_two_players_equals_that_of_mctx) {
    tree_setting how = gumbel_setting(200, 16, 50.0f, 0.5f);
    how.num_actions = 82, how.discount = -1.0f, how.zero_reward = true;
    how.want[0] = (figures){"2:21 5:49 11:3 14:49 15:3 17:9 19:3 27:3 33:9 37:3 38:3 56:3 59:9 63:3 65:9 75:21 ",
                            0.053575f, 0.436836f, 11, 5};
    how.want[1] = (figures){"0:200 ", 0.015731f, -0.195906f, 34, 0};
    how.want[2] = (figures){"0:100 1:100 ", 0.037241f, 0.427787f, 20, 1};
    check_setting(&how);
}
END_TEST

int main(void) {
    return RUN_SUITE("mctx trees", a_gumbel_tree_with_rewards_equals_that_of_mctx, a_muzero_tree_equals_that_of_mctx,
                     a_gumbel_tree_of_two_players_equals_that_of_mctx);
}
