/* Networks: parameter counts of published models, shapes, initial values, errors. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network/inference.h"
#include "network/layers.h"
#include "support/main.h"
#include "support/network.h"

static const cm_support s601 = {-300, 300, 601, true}, s41 = {-20, 20, 41, true}, s21 = {-10, 10, 21, true},
                        scalar = {0, 0, 1, false};

static cm_network_config cumind(int hidden, int blocks) {
    cm_network_config c = {.family = CM_FAMILY_CUMIND,
                           .observation_ndim = 1,
                           .observation = {4},
                           .actions = 2,
                           .hidden = hidden,
                           .blocks = blocks,
                           .norm = CM_NORM_NONE,
                           .value_support = scalar,
                           .reward_support = scalar,
                           .init = CM_INIT_LECUN_NORMAL};
    return c;
}

static cm_network_config lightzero_mlp(int observation, int actions, int hidden, bool residual) {
    cm_network_config c = {.family = CM_FAMILY_MLP,
                           .observation_ndim = 1,
                           .observation = {observation},
                           .actions = actions,
                           .hidden = hidden,
                           .head_hidden = 32,
                           .trunk_layers = 2,
                           .body = CM_BODY_GELU_LAYERNORM,
                           .norm = CM_NORM_LAYER,
                           .residual_dynamics = residual,
                           .value_support = s601,
                           .reward_support = s601,
                           .zero_init = true,
                           .init = CM_INIT_UNIFORM_FAN_IN};
    return c;
}

static cm_network_config lightzero_board(int h, int w, int channels, int head_hidden, cm_support support, int actions) {
    cm_network_config c = {.family = CM_FAMILY_RESNET,
                           .observation_ndim = 3,
                           .observation = {h, w, 3},
                           .actions = actions,
                           .blocks = 1,
                           .channels = channels,
                           .head_channels = 16,
                           .head_hidden = head_hidden,
                           .norm = CM_NORM_BATCH,
                           .value_support = support,
                           .reward_support = support,
                           .zero_init = true,
                           .init = CM_INIT_UNIFORM_FAN_IN};
    return c;
}

static cm_network_config small(void) {
    cm_network_config c = cm_test_mlp(4, 2, 128, 64, s41);
    c.zero_init = true;
    return c;
}

static size_t count(const cm_network_config *config) {
    cm_network *network;
    ck_assert_msg(cm_network_create(config, &network) == CM_OK, "%s", cm_error_message());
    size_t n = cm_network_parameters(network)->trained;
    cm_network_destroy(network);
    return n;
}

START_TEST(cumind_has_the_50948_parameters_of_its_shipped_checkpoint) {
    cm_network_config c = cumind(128, 2);
    ck_assert_uint_eq(count(&c), 50948);
    c = cumind(64, 2);
    ck_assert_uint_eq(count(&c), 13188);
}
END_TEST

START_TEST(cumind_image_encoder_has_76966_parameters) {
    cm_network_config c = cumind(128, 2);
    c.observation_ndim = 3, c.observation[0] = c.observation[1] = 84, c.observation[2] = 4, c.actions = 4,
    c.channels = 32;
    ck_assert_uint_eq(count(&c), 76966);
    c.observation[0] = c.observation[1] = c.observation[2] = 3, c.actions = 9;
    ck_assert_uint_eq(count(&c), 77963);
}
END_TEST

START_TEST(an_mlp_has_as_many_parameters_as_lightzeros) {
    cm_network_config c = lightzero_mlp(4, 2, 128, true);
    ck_assert_uint_eq(count(&c), 170836);
    c.consistency = true, c.projection_hidden = c.projection_output = 1024, c.predictor_hidden = 512;
    ck_assert_uint_eq(count(&c), 3459412);
    c = lightzero_mlp(4, 2, 128, false);
    ck_assert_uint_eq(count(&c), 137300);
    c = lightzero_mlp(8, 4, 256, true);
    ck_assert_uint_eq(count(&c), 532630);
    c = lightzero_mlp(3, 11, 128, true);
    ck_assert_uint_eq(count(&c), 172157);
}
END_TEST

START_TEST(a_network_of_boards_has_as_many_parameters_as_lightzeros) {
    cm_network_config c = lightzero_board(3, 3, 16, 8, s21, 9);
    ck_assert_uint_eq(count(&c), 23011);
    c = lightzero_board(6, 7, 64, 32, s601, 7);
    ck_assert_uint_eq(count(&c), 372745);
    c = lightzero_board(6, 6, 32, 32, s21, 36);
    ck_assert_uint_eq(count(&c), 136094);
}
END_TEST

static cm_network_config with_prefix(cm_network_config c, int lstm) {
    c.prefix_horizon = 5, c.lstm = lstm;
    return c;
}

/* Of parameters whose names begin with "dynamics.". */
static size_t count_dynamics(const cm_network_config *config) {
    cm_network *network;
    size_t n = 0;
    ck_assert_msg(cm_network_create(config, &network) == CM_OK, "%s", cm_error_message());
    const cm_param_table *table = cm_network_parameters(network);
    for (int i = 0; i < table->count; i++)
        if (!table->param[i].state && strncmp(table->param[i].name, "dynamics.", 9) == 0) n += table->param[i].count;
    cm_network_destroy(network);
    return n;
}

/* Of images the dynamics, whose states are planes of 8 x 8 (LightZero) and 6 x 6 (EfficientZero). */
START_TEST(a_network_with_value_prefixes_has_as_many_parameters_as_efficientzero) {
    const cm_support s101 = {-50, 50, 101, true};
    cm_network_config c = with_prefix(lightzero_mlp(4, 2, 128, true), 128);
    ck_assert_uint_eq(count(&c), 302932);
    ck_assert_uint_eq(count_dynamics(&c), 223449);
    c = with_prefix(lightzero_board(8, 8, 64, 32, s101, 6), 512);
    ck_assert_uint_eq(count_dynamics(&c), 3286165);
    c = with_prefix(lightzero_board(6, 6, 64, 32, s601, 6), 512);
    c.encoding = CM_ENCODE_SCALED;
    ck_assert_uint_eq(count_dynamics(&c), 2382281);
}
END_TEST

/* Pictures of 4 frames: states of 8 x 8, of 96 x 96 ones 6 x 6. */
static cm_network_config lightzero_image(int size, cm_support support, int actions) {
    cm_network_config c = lightzero_board(size, size, 64, 32, support, actions);
    c.observation[2] = 4, c.downsample = true;
    return c;
}

START_TEST(a_network_of_images_has_as_many_parameters_as_lightzeros) {
    cm_network_config c = lightzero_image(64, s601, 6);
    ck_assert_uint_eq(count(&c), 645800);
    c.consistency = true, c.projection_hidden = c.projection_output = 1024, c.predictor_hidden = 512;
    ck_assert_uint_eq(count(&c), 7997608);
    c = lightzero_image(64, s601, 4);
    ck_assert_uint_eq(count(&c), 644582);
    c = lightzero_image(64, s601, 18);
    ck_assert_uint_eq(count(&c), 653108);
    c = lightzero_image(96, s601, 6);
    ck_assert_uint_eq(count(&c), 602792);
    c = with_prefix(lightzero_image(64, (cm_support){-50, 50, 101, true}, 6), 512);
    ck_assert_uint_eq(count(&c), 3747264);
}
END_TEST

START_TEST(pictures_are_halved_three_times_and_large_ones_four_times) {
    static const int cases[][5] = {{64, 64, 3, 8, 8}, {84, 84, 4, 6, 6}, {96, 96, 4, 6, 6}, {210, 160, 4, 14, 10},
                                   {33, 64, 3, 5, 8}, {32, 65, 4, 2, 5}, {3, 3, 3, 1, 1}};
    cm_network_config c = lightzero_image(64, s21, 6);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int planes[3];
        c.observation[0] = cases[i][0], c.observation[1] = cases[i][1];
        ck_assert_int_eq(cm_network_halvings(&c), cases[i][2]);
        cm_network_state_planes(&c, planes);
        ck_assert(planes[0] == cases[i][3] && planes[1] == cases[i][4] && planes[2] == 64);
    }
}
END_TEST

START_TEST(pictures_are_made_smaller_by_themselves_and_boards_are_not) {
    cm_network_options options = {.family = CM_FAMILY_RESNET, .conv_channels = 8};
    static const int picture[3] = {32, 40, 3}, flat[3] = {31, 64, 3};
    cm_network_config c;
    cm_network_config_from_options(&c, &options, 3, picture, 4, false);
    ck_assert(c.downsample);
    cm_network_config_from_options(&c, &options, 3, flat, 4, false);
    ck_assert(!c.downsample);
    options.downsample = CM_DOWNSAMPLE_ON;
    cm_network_config_from_options(&c, &options, 3, flat, 4, false);
    ck_assert(c.downsample);
    options.downsample = CM_DOWNSAMPLE_OFF;
    cm_network_config_from_options(&c, &options, 3, picture, 4, false);
    ck_assert(!c.downsample);
    options.downsample = CM_DOWNSAMPLE_AUTO, options.family = CM_FAMILY_MLP;
    cm_network_config_from_options(&c, &options, 3, picture, 4, false);
    ck_assert(!c.downsample);
}
END_TEST

START_TEST(what_smaller_pictures_cannot_have_is_named) {
    cm_network_config c = lightzero_image(64, s21, 6);
    c.channels = 1;
    ck_assert_int_eq(cm_network_config_check(&c), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "conv_channels: with downsample at least 2"));
    c.channels = 2, c.encoding = CM_ENCODE_BOARD;
    ck_assert_int_eq(cm_network_config_check(&c), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "needs states of the board's size; set downsample to off"));
    c.downsample = false;
    ck_assert_int_eq(cm_network_config_check(&c), CM_OK);
}
END_TEST

START_TEST(an_lstm_starts_within_one_by_the_root_of_its_units) {
    cm_network_config c = with_prefix(lightzero_mlp(4, 2, 32, false), 16);
    cm_test_network n;
    cm_test_network_open(&n, &c, "ref", 1);
    const cm_param_table *table = cm_network_parameters(n.network);
    static const char *const names[] = {"input.weight", "input.bias", "hidden.weight", "hidden.bias"};
    for (int i = 0; i < 4; i++) {
        char name[CM_PARAM_NAME];
        double squares = 0.0;
        snprintf(name, sizeof name, "dynamics.lstm.%s", names[i]);
        const cm_param *p = cm_param_table_find(table, name);
        ck_assert_msg(p && p->dim[0] == 4 * 16, "%s", name);
        for (size_t k = 0; k < p->count; k++) {
            const float x = n.parameters[p->offset + k];
            ck_assert_float_le(fabsf(x), 0.25f);
            squares += (double)x * (double)x;
        }
        ck_assert_double_eq_tol(squares / (double)p->count, 0.25 * 0.25 / 3.0, 0.008);
    }
    cm_test_network_close(&n);
}
END_TEST

START_TEST(value_prefixes_need_a_family_that_has_them_and_dynamics) {
    cm_network_config c = with_prefix(cumind(16, 1), 8);
    cm_network *network = NULL;
    ck_assert_int_eq(cm_network_create(&c, &network), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "value_prefix: for networks of family mlp or resnet"));
    c = with_prefix(small(), 8), c.model = CM_NETWORK_PREDICTION;
    ck_assert_int_eq(cm_network_create(&c, &network), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "value_prefix: a network with only a prediction"));
    c = with_prefix(small(), 0);
    ck_assert_int_eq(cm_network_create(&c, &network), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "lstm_size is 0"));
}
END_TEST

START_TEST(preset_small_has_the_recipes_81556_parameters) {
    cm_network_config c = small();
    ck_assert_uint_eq(count(&c), 81556);
}
END_TEST

/* One row of observations through both passes. */
typedef struct fixture {
    cm_test_network base;
    cm_stream *stream;
    cm_inference *inference;
} fixture;

/* Passes of a network that is open; weights that are written later are not theirs. */
static void begin_fixture(fixture *f, int rows) {
    ck_assert(cm_stream_open(f->base.backend, &f->stream) == CM_OK);
    const cm_network_use use = cm_test_network_use(&f->base, f->stream, rows);
    ck_assert_msg(cm_inference_create(&use, 2 * rows, &f->inference) == CM_OK, "%s", cm_error_message());
}

static void open_fixture(fixture *f, const cm_network_config *config, int rows) {
    cm_test_network_open(&f->base, config, "ref", 1);
    begin_fixture(f, rows);
}

static void close_fixture(fixture *f) {
    cm_inference_destroy(f->inference);
    cm_stream_close(f->stream);
    cm_test_network_close(&f->base);
}

static void play(fixture *f, int rows) {
    const cm_inference_arrays *a = cm_inference_get(f->inference);
    int O = cm_network_observation_size(f->base.network);
    for (int i = 0; i < rows * O; i++) a->observation[i] = 0.1f * (float)(i % 13) - 0.4f;
    for (int i = 0; i < rows; i++) {
        a->root_slots[i] = a->parent_slots[i] = i;
        a->child_slots[i] = rows + i;
        a->actions[i] = i % cm_network_get_config(f->base.network)->actions;
    }
    ck_assert_msg(cm_inference_root(f->inference) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_inference_recurrent(f->inference) == CM_OK, "%s", cm_error_message());
}

/* The array of that name of a fixture's network. */
static float *array_of(const fixture *f, const char *name, size_t *size) {
    const cm_param *p = cm_param_table_find(cm_network_parameters(f->base.network), name);
    ck_assert_msg(p != NULL, "%s", name);
    *size = p->count;
    return (p->state ? f->base.state : f->base.parameters) + p->offset;
}

static void fill_array(const fixture *f, const char *name, float first, float step) {
    size_t size;
    float *to = array_of(f, name, &size);
    for (size_t i = 0; i < size; i++) to[i] = first + step * (float)i;
}

/* Whatever they read, the hidden units of a head are -2, -1.5, ... by its bias, or the shift of its norm: the output is
 * the sum of 0.1 of each, activated. */
START_TEST(heads_have_the_activation_that_is_asked_for) {
    enum { UNITS = 8 };
    static const char *const backends[] = {"ref", "cpu"}, *const heads[] = {"prediction.value_head",
                                                                            "dynamics.reward_head"};
    const bool is_elu = _i & 1, is_resnet = _i & 2;
    cm_network_config c =
        is_resnet ? lightzero_board(3, 3, 16, UNITS, scalar, 9) : cm_test_mlp(4, 2, 16, UNITS, scalar);
    double want = 0.0;
    if (!is_resnet) c.norm = CM_NORM_NONE;
    c.elu_heads = is_elu;
    for (int i = 0; i < UNITS; i++) {
        const double x = -2.0 + 0.5 * i;
        want += 0.1 * (x > 0.0 ? x : is_elu ? exp(x) - 1.0 : 0.0);
    }
    for (int k = 0; k < 2; k++) {
        fixture f;
        cm_test_network_open(&f.base, &c, backends[k], 1);
        for (int h = 0; h < 2; h++) {
            char name[CM_PARAM_NAME];
            snprintf(name, sizeof name, "%s.hidden.weight", heads[h]);
            fill_array(&f, name, 0.0f, 0.0f);
            snprintf(name, sizeof name, "%s.hidden.bias", heads[h]);
            fill_array(&f, name, is_resnet ? 0.0f : -2.0f, is_resnet ? 0.0f : 0.5f);
            snprintf(name, sizeof name, "%s.hidden.norm.shift", heads[h]);
            if (is_resnet) fill_array(&f, name, -2.0f, 0.5f);
            snprintf(name, sizeof name, "%s.output.weight", heads[h]);
            fill_array(&f, name, 0.1f, 0.0f);
        }
        begin_fixture(&f, 3);
        play(&f, 3);
        const cm_inference_arrays *a = cm_inference_get(f.inference);
        for (int row = 0; row < 3; row++) {
            ck_assert_double_eq_tol((double)a->root_value[row], want, 1e-5);
            ck_assert_double_eq_tol((double)a->value[row], want, 1e-5);
            ck_assert_double_eq_tol((double)a->reward[row], want, 1e-5);
        }
        close_fixture(&f);
    }
}
END_TEST

enum { EMBEDDED = 5, BOARD = 3, ACTIONS = 9 };

/* Entry k of an action's encoding on a cell. */
static double encoded(cm_encoding encoding, int action, int cell, int k) {
    if (encoding == CM_ENCODE_ONEHOT) return k == action;
    return encoding == CM_ENCODE_SCALED ? (double)action / ACTIONS : cell == action;
}

/* out[cells, EMBEDDED] = ReLU(layer norm over all of them of weight[EMBEDDED, 1 + entries] (1, encoding)); its scale
 * grows by .01 from 1, its shift is -.1. */
static void embed(cm_encoding encoding, int action, int cells, const float *weight, double *out) {
    const int entries = encoding == CM_ENCODE_ONEHOT ? ACTIONS : 1, all = cells * EMBEDDED;
    double mean = 0.0, variance = 0.0;
    for (int i = 0; i < all; i++) {
        const float *w = weight + i % EMBEDDED * (1 + entries);
        out[i] = (double)w[0];
        for (int k = 0; k < entries; k++) out[i] += (double)w[1 + k] * encoded(encoding, action, i / EMBEDDED, k);
        mean += out[i] / all;
    }
    for (int i = 0; i < all; i++) variance += (out[i] - mean) * (out[i] - mean) / all;
    for (int i = 0; i < all; i++) out[i] = fmax(0.0, (out[i] - mean) / sqrt(variance + 1e-5) * (1.0 + 0.01 * i) - 0.1);
}

/* Weight (i, i) of a layer whose `in` inputs are the `inner` columns of a row is 1, all others are 0. */
static void fill_identity(const fixture *f, const char *name, int in) {
    size_t size;
    float *w = array_of(f, name, &size);
    const size_t inner = size / (size_t)cm_param_table_find(cm_network_parameters(f->base.network), name)->dim[0];
    const size_t middle = (inner / (size_t)in - 1) / 2 * (size_t)in; /* of a 3 x 3 convolution the one in its middle */
    for (size_t i = 0; i < size; i++) w[i] = i % inner >= middle && i % inner - middle == i / inner ? 1.0f : 0.0f;
}

/* A dynamics that adds nothing to the embedded action, and a reward that is the sum of (j + 1) times its unit j. */
static void show_embedding(const fixture *f, bool is_resnet) {
    size_t size;
    fill_array(f, "dynamics.action.norm.scale", 1.0f, 0.01f);
    fill_array(f, "dynamics.action.norm.shift", -0.1f, 0.0f);
    fill_identity(f, "dynamics.numbers.weight", EMBEDDED);
    fill_array(f, is_resnet ? "dynamics.stem.weight" : "dynamics.transition.0.weight", 0.0f, 0.0f);
    if (is_resnet) fill_array(f, "representation.stem.norm.scale", 0.0f, 0.0f); /* nothing is added to */
    if (is_resnet) fill_identity(f, "dynamics.reward_head.conv.weight", 16);
    if (!is_resnet) fill_identity(f, "dynamics.transition.1.weight", 16);
    fill_array(f, "dynamics.reward_head.output.weight", 1.0f, 1.0f);
    if (!is_resnet) {
        fill_identity(f, "dynamics.reward_head.hidden.weight", 16);
        return;
    }
    float *hidden = array_of(f, "dynamics.reward_head.hidden.weight", &size); /* [EMBEDDED, cells, EMBEDDED]: sums */
    for (size_t i = 0; i < size; i++) hidden[i] = i % EMBEDDED == i / (BOARD * BOARD * EMBEDDED) ? 1.0f : 0.0f;
}

static cm_network_config embedding_config(bool is_resnet) {
    cm_network_config c = is_resnet ? lightzero_board(BOARD, BOARD, 16, EMBEDDED, scalar, ACTIONS)
                                    : cm_test_mlp(4, ACTIONS, 16, EMBEDDED, scalar);
    c.init = CM_INIT_LECUN_NORMAL;
    c.minmax = false;
    c.action_embedding = EMBEDDED;
    if (is_resnet) c.blocks = 0, c.head_channels = EMBEDDED;
    if (!is_resnet) c.norm = CM_NORM_NONE;
    return c;
}

/* Of mlp onehot and scaled, of resnet board, too. */
START_TEST(actions_are_embedded_as_worked_out_from_their_encodings) {
    static const cm_encoding encodings[] = {CM_ENCODE_ONEHOT, CM_ENCODE_SCALED, CM_ENCODE_ONEHOT, CM_ENCODE_SCALED,
                                            CM_ENCODE_BOARD};
    static const char *const backends[] = {"ref", "cpu"};
    const bool is_resnet = _i >= 2;
    const int cells = is_resnet ? BOARD * BOARD : 1;
    cm_network_config c = embedding_config(is_resnet);
    c.encoding = encodings[_i];
    for (int k = 0; k < 2; k++) {
        fixture f;
        size_t size;
        double e[BOARD * BOARD * EMBEDDED];
        cm_test_network_open(&f.base, &c, backends[k], 1);
        show_embedding(&f, is_resnet);
        begin_fixture(&f, ACTIONS);
        play(&f, ACTIONS);
        const float *weight = array_of(&f, "dynamics.action.weight", &size);
        for (int action = 0; action < ACTIONS; action++) {
            double want = 0.0;
            embed(c.encoding, action, cells, weight, e);
            for (int i = 0; i < cells * EMBEDDED; i++) want += (i % EMBEDDED + 1) * e[i];
            if (is_resnet) want /= pow(1.0 + 1e-5, 1.5); /* three norms with variance 1 */
            ck_assert_double_eq_tol((double)cm_inference_get(f.inference)->reward[action], want, 2e-4 * (1.0 + want));
        }
        close_fixture(&f);
    }
}
END_TEST

/* Networks 5: 121,376 of the dynamics and 2,270,729 of its reward. */
START_TEST(a_network_with_embedded_actions_has_as_many_parameters_as_efficientzero_v2) {
    cm_network_config c = with_prefix(lightzero_board(6, 6, 64, 32, s601, 6), 512);
    c.encoding = CM_ENCODE_SCALED, c.action_embedding = 16;
    ck_assert_uint_eq(count_dynamics(&c), 121376 + 2270729);
}
END_TEST

START_TEST(zero_heads_start_with_uniform_policy_and_value_zero) {
    cm_network_config configs[] = {small(), lightzero_mlp(4, 2, 64, true), lightzero_board(3, 3, 16, 8, s21, 9)};
    for (int i = 0; i < 3; i++) {
        fixture f;
        open_fixture(&f, &configs[i], 7);
        play(&f, 7);
        const cm_inference_arrays *a = cm_inference_get(f.inference);
        for (int j = 0; j < 7; j++) {
            ck_assert_float_eq_tol(a->value[j], 0.0f, 1e-4f);
            ck_assert_float_eq_tol(a->reward[j], 0.0f, 1e-4f);
        }
        for (int j = 0; j < 7 * configs[i].actions; j++) ck_assert_float_eq(a->policy[j], 0.0f);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(a_row_alone_gives_what_it_gives_among_others) {
    cm_network_config configs[] = {cumind(32, 2), small()};
    for (int i = 0; i < 2; i++) {
        fixture one, seven;
        open_fixture(&one, &configs[i], 1);
        open_fixture(&seven, &configs[i], 7);
        play(&one, 1);
        play(&seven, 7);
        ck_assert_float_eq_tol(cm_inference_get(one.inference)->root_value[0],
                               cm_inference_get(seven.inference)->root_value[0], 1e-6f);
        ck_assert_float_eq_tol(cm_inference_get(one.inference)->reward[0], cm_inference_get(seven.inference)->reward[0],
                               1e-6f);
        close_fixture(&one);
        close_fixture(&seven);
    }
}
END_TEST

START_TEST(initial_weights_depend_on_seed_and_name_alone_and_have_lecun_spread) {
    cm_network_config c = cumind(128, 2);
    cm_network *network;
    ck_assert(cm_network_create(&c, &network) == CM_OK);
    const cm_param_table *table = cm_network_parameters(network);
    float *a = calloc(table->parameters, sizeof *a), *b = calloc(table->parameters, sizeof *b);
    cm_network_initialise(network, 3, a, NULL);
    cm_network_initialise(network, 3, b, NULL);
    ck_assert_mem_eq(a, b, table->parameters * sizeof *a);
    cm_network_initialise(network, 4, b, NULL);
    ck_assert(memcmp(a, b, table->parameters * sizeof *a) != 0);
    const cm_param *w = cm_param_table_find(table, "representation.layers.1.weight");
    double sum = 0.0;
    for (size_t i = 0; i < w->count; i++) sum += (double)a[w->offset + i] * (double)a[w->offset + i];
    ck_assert_double_eq_tol(sqrt(sum / (double)w->count), 1.0 / sqrt(128.0), 0.002);
    const cm_param *bias = cm_param_table_find(table, "representation.layers.1.bias");
    ck_assert_float_eq(a[bias->offset], 0.0f);
    free(a);
    free(b);
    cm_network_destroy(network);
}
END_TEST

START_TEST(observations_of_rank_2_and_4_are_unsupported) {
    for (int rank = 0; rank <= 4; rank += 2) {
        cm_network_config c = cumind(32, 1);
        c.observation_ndim = rank;
        cm_network *network;
        ck_assert_int_eq(cm_network_create(&c, &network), CM_ERR_INPUT);
        ck_assert(strstr(cm_error_message(), "Unsupported observation shape") != NULL);
        ck_assert_ptr_null(network);
    }
}
END_TEST

/* "f.1.weight", and a name whose rows would be cut off. */
START_TEST(a_layer_that_cannot_be_defined_leaves_no_variable_and_an_error) {
    const cm_network_config c = cumind(8, 1);
    const cm_layer layer = cm_layer_make(3, CM_NORM_NONE, CM_ACT_NONE);
    const int dim[2] = {1, 4};
    char name[CM_PARAM_NAME];
    cm_param_table table = {0};
    cm_builder b = {.config = &c, .table = &table, .define = true};
    ck_assert_int_eq(cm_tape_create(false, CM_F32, &b.tape), CM_OK);
    const cm_var x = cm_tape_input(b.tape, CM_F32, 2, dim);
    ck_assert_int_ne(cm_layer_dense(&b, "f.1", x, &layer), CM_NO_VAR);
    ck_assert_int_eq(b.status, CM_OK);
    ck_assert_int_eq(table.count, 2);
    memset(name, 'f', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(cm_layer_dense(&b, name, x, &layer), CM_NO_VAR);
    ck_assert_int_eq(b.status, CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "its name is too long"));
    ck_assert_int_eq(table.count, 2);
    cm_tape_destroy(b.tape);
    cm_param_table_destroy(&table);
}
END_TEST

START_TEST(parameter_names_are_unique_and_arrays_lie_aligned_one_after_another) {
    cm_network_config c = small();
    cm_network *network;
    ck_assert(cm_network_create(&c, &network) == CM_OK);
    const cm_param_table *table = cm_network_parameters(network);
    size_t end = 0, trained = 0;
    int joined = 0;
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (p->joined) ck_assert_uint_eq(p->offset, end);
        if (!p->joined) ck_assert_uint_eq(p->offset % CM_PARAM_ALIGN, 0);
        ck_assert(p->offset >= end && p->offset < end + CM_PARAM_ALIGN);
        end = p->offset + p->count;
        trained += p->count;
        joined += p->joined;
        ck_assert_ptr_eq(cm_param_table_find(table, p->name), p);
    }
    ck_assert_uint_eq(end, table->parameters);
    ck_assert_uint_eq(trained, table->trained);
    ck_assert_int_gt(joined, 0);
    cm_network_destroy(network);
}
END_TEST

/* Calls are checked where a pass is made of them. */
static void try_layer(cm_stream *stream, const cm_layer *layer) {
    static _Alignas(64) float parameter[256], state[256], input[256];
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = parameter, [CM_MEM_STATE] = state, [CM_MEM_INPUT] = input};
    const cm_network_config config = small();
    cm_param_table table = {0};
    cm_builder b = {.config = &config, .table = &table, .define = true};
    cm_pass *pass;
    int dim[2] = {2, 3};
    ck_assert_int_eq(cm_tape_create(false, CM_F32, &b.tape), CM_OK);
    cm_tape_result(b.tape, cm_layer_dense(&b, "layer", cm_tape_input(b.tape, CM_F32, 2, dim), layer));
    ck_assert_int_eq(cm_tape_finish(b.tape), CM_OK);
    ck_assert_msg(cm_pass_create(b.tape, stream, base, &pass) == CM_OK, "%s", cm_error_message());
    cm_pass_destroy(pass);
    cm_tape_destroy(b.tape);
    cm_param_table_destroy(&table);
}

START_TEST(a_layer_takes_every_activation_after_every_norm) {
    cm_backend *ref;
    cm_stream *stream;
    ck_assert_int_eq(cm_backend_open("ref", &ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(ref, &stream), CM_OK);
    for (int i = 0; i < CM_NORM_COUNT * CM_ACT_COUNT; i++) {
        const cm_layer layer =
            cm_layer_make(4, (cm_network_norm)(i % CM_NORM_COUNT), (cm_activation)(i / CM_NORM_COUNT));
        try_layer(stream, &layer);
    }
    cm_stream_close(stream);
    cm_backend_close(ref);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("network");
    TCase *tc = tcase_create("network");
    tcase_add_test(tc, cumind_has_the_50948_parameters_of_its_shipped_checkpoint);
    tcase_add_test(tc, cumind_image_encoder_has_76966_parameters);
    tcase_add_test(tc, an_mlp_has_as_many_parameters_as_lightzeros);
    tcase_add_test(tc, a_network_of_boards_has_as_many_parameters_as_lightzeros);
    tcase_add_test(tc, a_network_with_value_prefixes_has_as_many_parameters_as_efficientzero);
    tcase_add_test(tc, a_network_of_images_has_as_many_parameters_as_lightzeros);
    tcase_add_test(tc, pictures_are_halved_three_times_and_large_ones_four_times);
    tcase_add_test(tc, pictures_are_made_smaller_by_themselves_and_boards_are_not);
    tcase_add_test(tc, what_smaller_pictures_cannot_have_is_named);
    tcase_add_test(tc, an_lstm_starts_within_one_by_the_root_of_its_units);
    tcase_add_test(tc, value_prefixes_need_a_family_that_has_them_and_dynamics);
    tcase_add_test(tc, preset_small_has_the_recipes_81556_parameters);
    tcase_add_loop_test(tc, heads_have_the_activation_that_is_asked_for, 0, 4);
    tcase_add_loop_test(tc, actions_are_embedded_as_worked_out_from_their_encodings, 0, 5);
    tcase_add_test(tc, a_network_with_embedded_actions_has_as_many_parameters_as_efficientzero_v2);
    tcase_add_test(tc, zero_heads_start_with_uniform_policy_and_value_zero);
    tcase_add_test(tc, a_row_alone_gives_what_it_gives_among_others);
    tcase_add_test(tc, initial_weights_depend_on_seed_and_name_alone_and_have_lecun_spread);
    tcase_add_test(tc, observations_of_rank_2_and_4_are_unsupported);
    tcase_add_test(tc, a_layer_that_cannot_be_defined_leaves_no_variable_and_an_error);
    tcase_add_test(tc, a_layer_takes_every_activation_after_every_norm);
    tcase_add_test(tc, parameter_names_are_unique_and_arrays_lie_aligned_one_after_another);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
