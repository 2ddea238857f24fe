/* What the original CuMind's tests assert of its networks (family cumind), restated: shapes, parts, finite gradients.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network/network.h"
#include "support/main.h"

static const cm_support scalar = {0, 0, 1, false};

static cm_network_config vector(int n, int hidden, int blocks, int actions) {
    cm_network_config c = {.family = CM_FAMILY_CUMIND,
                           .observation_ndim = 1,
                           .observation = {n},
                           .actions = actions,
                           .hidden = hidden,
                           .blocks = blocks,
                           .norm = CM_NORM_NONE,
                           .value_support = scalar,
                           .reward_support = scalar,
                           .init = CM_INIT_LECUN_NORMAL};
    return c;
}

static cm_network_config image(int h, int w, int channels, int hidden, int blocks, int width, int actions) {
    cm_network_config c = vector(h, hidden, blocks, actions);
    c.observation_ndim = 3, c.observation[1] = w, c.observation[2] = channels, c.channels = width;
    return c;
}

/* One recorded step: representation, prediction, one dynamics call and its prediction, with a squared loss on every
 * output, so that backward gives the gradient of all parameters. */
typedef struct fixture {
    cm_network *network;
    cm_tape *tape;
    cm_backend *backend;
    cm_stream *stream;
    cm_pass *pass;
    cm_var observation, action, target, ones, policy_target;
    cm_hidden state, next;
    cm_outputs first, second;
    float *parameters, *gradients, *input;
} fixture;

static void losses(fixture *f, cm_outputs out) {
    cm_policy_rule rule = {.legal = CM_NO_VAR};
    cm_tape_policy_loss(f->tape, out.policy, f->policy_target, f->ones, &rule);
    cm_tape_value_loss(f->tape, out.value, f->target, f->ones, &scalar);
    if (out.reward != CM_NO_VAR) cm_tape_value_loss(f->tape, out.reward, f->target, f->ones, &scalar);
}

static void open_fixture(fixture *f, const cm_network_config *c, int rows) {
    ck_assert_msg(cm_network_create(c, &f->network) == CM_OK, "%s", cm_error_message());
    const cm_param_table *table = cm_network_parameters(f->network);
    f->parameters = calloc(table->parameters + 16, sizeof(float));
    f->gradients = calloc(table->parameters + 16, sizeof(float));
    cm_network_initialise(f->network, 5, f->parameters, NULL);
    ck_assert(cm_tape_create(true, CM_F32, &f->tape) == CM_OK);
    int dim[4] = {rows, c->observation[0], c->observation[1], c->observation[2]}, policy[2] = {rows, c->actions};
    f->observation = cm_tape_input(f->tape, CM_F32, c->observation_ndim + 1, dim);
    f->action = cm_tape_input(f->tape, CM_I32, 1, &rows);
    f->target = cm_tape_input(f->tape, CM_F32, 1, &rows);
    f->ones = cm_tape_input(f->tape, CM_F32, 1, &rows);
    f->policy_target = cm_tape_input(f->tape, CM_F32, 2, policy);
    f->state = cm_network_representation(f->network, f->tape, f->observation);
    f->first = cm_network_predict(f->network, f->tape, f->state, false);
    f->next = cm_network_dynamics(f->network, f->tape, f->state.scaled, f->action);
    f->second = cm_network_predict(f->network, f->tape, f->next, true);
    losses(f, f->first);
    losses(f, f->second);
    ck_assert_msg(cm_tape_finish(f->tape) == CM_OK, "%s", cm_error_message());
    f->input = calloc(cm_tape_bytes(f->tape, CM_MEM_INPUT) + 64, 1);
    void *base[CM_MEM_COUNT] = {
        [CM_MEM_PARAMETER] = f->parameters, [CM_MEM_GRADIENT] = f->gradients, [CM_MEM_INPUT] = f->input};
    ck_assert(cm_backend_open("ref", &f->backend) == CM_OK);
    ck_assert(cm_stream_open(f->backend, &f->stream) == CM_OK);
    ck_assert_msg(cm_pass_create(f->tape, f->stream, base, &f->pass) == CM_OK, "%s", cm_error_message());
    float *observation = cm_pass_data(f->pass, f->observation), *ones = cm_pass_data(f->pass, f->ones);
    float *target = cm_pass_data(f->pass, f->policy_target);
    for (int i = 0; i < rows * cm_network_observation_size(f->network); i++)
        observation[i] = (float)((i * 7) % 11) * 0.1f - 0.5f;
    for (int i = 0; i < rows; i++) ones[i] = 1.0f;
    for (int i = 0; i < rows * c->actions; i++) target[i] = 1.0f / (float)c->actions;
    ck_assert(cm_pass_forward(f->pass) == CM_OK);
    ck_assert(cm_pass_backward(f->pass) == CM_OK);
}

static void close_fixture(fixture *f) {
    cm_pass_destroy(f->pass);
    cm_stream_close(f->stream);
    cm_backend_close(f->backend);
    cm_tape_destroy(f->tape);
    cm_network_destroy(f->network);
    free(f->parameters);
    free(f->gradients);
    free(f->input);
}

static void check_shape(const fixture *f, cm_var var, int rows, int columns) {
    const cm_tensor *t = cm_tape_shape(f->tape, var);
    ck_assert_int_eq(t->ndim, 2);
    ck_assert_int_eq(t->dim[0], rows);
    ck_assert_int_eq(t->dim[1], columns);
}

/* Every parameter's gradient is finite, and some of it is not 0. */
static void check_gradients(const fixture *f) {
    const cm_param_table *table = cm_network_parameters(f->network);
    for (int i = 0; i < table->count; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < table->param[i].count; j++) {
            float g = f->gradients[table->param[i].offset + j];
            ck_assert_msg(isfinite(g), "%s[%zu]", table->param[i].name, j);
            sum += fabs((double)g);
        }
        ck_assert_msg(sum > 0.0, "%s has no gradient", table->param[i].name);
    }
}

static void check_all(const cm_network_config *c, int rows) {
    fixture f = {0};
    open_fixture(&f, c, rows);
    check_shape(&f, f.state.scaled, rows, c->hidden);
    check_shape(&f, f.first.policy, rows, c->actions);
    check_shape(&f, f.first.value, rows, 1);
    check_shape(&f, f.next.scaled, rows, c->hidden);
    check_shape(&f, f.second.reward, rows, 1);
    check_shape(&f, f.second.policy, rows, c->actions);
    check_shape(&f, f.second.value, rows, 1);
    check_gradients(&f);
    close_fixture(&f);
}

START_TEST(vector_networks_have_the_stated_shapes_and_finite_gradients) {
    static const struct {
        int n, hidden, blocks, actions, rows;
    } cases[] = {{4, 32, 2, 2, 2}, {4, 64, 2, 2, 3}, {4, 32, 2, 2, 10}, {8, 16, 1, 2, 2},   {8, 32, 2, 2, 4},
                 {4, 64, 3, 5, 8}, {4, 32, 2, 4, 8}, {4, 16, 2, 7, 3},  {4, 128, 2, 10, 4}, {4, 32, 1, 2, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_network_config c = vector(cases[i].n, cases[i].hidden, cases[i].blocks, cases[i].actions);
        c.channels = 0; /* allowed where no convolution needs it */
        check_all(&c, cases[i].rows);
    }
}
END_TEST

START_TEST(image_networks_have_the_stated_shapes_and_finite_gradients) {
    cm_network_config configs[] = {image(84, 84, 3, 256, 2, 32, 2), image(10, 10, 4, 128, 4, 16, 2),
                                   image(16, 16, 3, 64, 2, 8, 5), image(10, 10, 1, 32, 1, 8, 2)};
    int rows[] = {1, 2, 2, 1};
    for (int i = 0; i < 4; i++) check_all(&configs[i], rows[i]);
}
END_TEST

static bool has(const cm_network *network, const char *name) {
    return cm_param_table_find(cm_network_parameters(network), name) != NULL;
}

START_TEST(a_vector_encoder_of_two_blocks_has_exactly_two_layers) {
    cm_network_config c = vector(4, 64, 2, 2);
    cm_network *network;
    ck_assert(cm_network_create(&c, &network) == CM_OK);
    ck_assert(has(network, "representation.layers.1.weight") && !has(network, "representation.layers.2.weight"));
    ck_assert_int_eq(cm_network_get_config(network)->hidden, 64);
    ck_assert_int_eq(cm_network_observation_size(network), 4);
    cm_network_destroy(network);
}
END_TEST

START_TEST(an_image_encoder_has_a_stem_blocks_of_two_convolutions_and_norms_and_an_output) {
    cm_network_config c = image(84, 84, 3, 256, 2, 32, 2);
    cm_network *network;
    ck_assert(cm_network_create(&c, &network) == CM_OK);
    ck_assert(has(network, "representation.stem.weight") && has(network, "representation.output.weight"));
    static const char *const parts[] = {"conv1.weight", "conv1.norm.scale", "conv2.weight", "conv2.norm.shift"};
    for (int i = 0; i < 4; i++) {
        char name[96] = "representation.blocks.1.";
        ck_assert_msg(has(network, strcat(name, parts[i])), "%s", name);
    }
    ck_assert(!has(network, "representation.blocks.2.conv1.weight"));
    cm_network_destroy(network);
}
END_TEST

START_TEST(dynamics_have_an_embedding_row_per_action_the_layers_and_a_linear_reward) {
    cm_network_config c = vector(4, 64, 3, 5);
    cm_network *network;
    ck_assert(cm_network_create(&c, &network) == CM_OK);
    const cm_param *table = cm_param_table_find(cm_network_parameters(network), "dynamics.embedding.table");
    ck_assert(table && table->dim[0] == 5 && table->dim[1] == 64);
    ck_assert(has(network, "dynamics.layers.2.weight") && !has(network, "dynamics.layers.3.weight"));
    const cm_param *reward = cm_param_table_find(cm_network_parameters(network), "dynamics.reward.weight");
    ck_assert(reward && reward->dim[0] == 1 && reward->dim[1] == 64);
    const cm_param *policy = cm_param_table_find(cm_network_parameters(network), "prediction.policy.weight");
    ck_assert(policy && policy->dim[0] == 5);
    cm_network_destroy(network);
}
END_TEST

START_TEST(the_encoder_is_chosen_by_the_rank_of_the_observation) {
    cm_network_config c = vector(10, 32, 1, 2), d = image(10, 10, 1, 32, 1, 8, 2);
    cm_network *network;
    ck_assert(cm_network_create(&c, &network) == CM_OK);
    ck_assert(has(network, "representation.layers.0.weight"));
    cm_network_destroy(network);
    ck_assert(cm_network_create(&d, &network) == CM_OK);
    ck_assert(has(network, "representation.stem.weight"));
    cm_network_destroy(network);
    c.observation_ndim = 2, c.observation[1] = 10;
    ck_assert_int_eq(cm_network_create(&c, &network), CM_ERR_INPUT);
    ck_assert(strstr(cm_error_message(), "Unsupported observation shape") != NULL);
}
END_TEST

/* A residual block changes its input but keeps its shape. */
START_TEST(a_residual_block_keeps_shape_and_changes_its_input) {
    static const int widths[] = {16, 32, 64};
    for (int i = 0; i < 3; i++) {
        cm_network_config none = image(8, 8, 3, 16, 0, widths[i], 2), one = image(8, 8, 3, 16, 1, widths[i], 2);
        fixture f = {0}, g = {0};
        open_fixture(&f, &none, 2);
        open_fixture(&g, &one, 2);
        const float *a = cm_pass_data(f.pass, f.state.scaled), *b = cm_pass_data(g.pass, g.state.scaled);
        double difference = 0.0;
        for (int j = 0; j < 2 * 16; j++) difference += fabs((double)a[j] - (double)b[j]);
        ck_assert_double_gt(difference, 1e-3);
        close_fixture(&f);
        close_fixture(&g);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("networks of the original");
    TCase *tc = tcase_create("networks");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, vector_networks_have_the_stated_shapes_and_finite_gradients);
    tcase_add_test(tc, image_networks_have_the_stated_shapes_and_finite_gradients);
    tcase_add_test(tc, a_vector_encoder_of_two_blocks_has_exactly_two_layers);
    tcase_add_test(tc, an_image_encoder_has_a_stem_blocks_of_two_convolutions_and_norms_and_an_output);
    tcase_add_test(tc, dynamics_have_an_embedding_row_per_action_the_layers_and_a_linear_reward);
    tcase_add_test(tc, the_encoder_is_chosen_by_the_rank_of_the_observation);
    tcase_add_test(tc, a_residual_block_keeps_shape_and_changes_its_input);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
