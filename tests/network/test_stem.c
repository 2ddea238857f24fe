/* The convolution in front of family mlp (stem_channels). */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "network/inference.h"
#include "support/main.h"
#include "support/network.h"

enum { H = 3, W = 4, CHANNELS = 2, CELLS = H * W * CHANNELS, ROWS = 3, ACTIONS = 5 };

static cm_network_config mlp_of_pictures(int stem) {
    cm_network_config c = cm_test_mlp(H, ACTIONS, 16, 8, (cm_support){0, 0, 1, false});
    c.observation_ndim = 3, c.observation[1] = W, c.observation[2] = CHANNELS;
    c.stem = stem;
    return c;
}

/* Values and logits of policies that a network gives observations [ROWS, CELLS]. */
typedef struct outputs {
    float value[ROWS], policy[ROWS * ACTIONS];
} outputs;

static outputs look(const cm_test_network *n, const float *observations) {
    cm_stream *stream;
    cm_inference *inference;
    outputs out;
    ck_assert(cm_stream_open(n->backend, &stream) == CM_OK);
    const cm_network_use use = cm_test_network_use(n, stream, ROWS);
    ck_assert_msg(cm_inference_create(&use, ROWS, &inference) == CM_OK, "%s", cm_error_message());
    const cm_inference_arrays *a = cm_inference_get(inference);
    memcpy(a->observation, observations, ROWS * CELLS * sizeof(float));
    for (int i = 0; i < ROWS; i++) a->root_slots[i] = i;
    ck_assert_msg(cm_inference_root(inference) == CM_OK, "%s", cm_error_message());
    memcpy(out.value, a->root_value, sizeof out.value);
    memcpy(out.policy, a->root_policy, sizeof out.policy);
    cm_inference_destroy(inference);
    cm_stream_close(stream);
    return out;
}

/* Gives `to` the arrays of `from`, and a stem whose channel c is channel c one place up or down and left or right. */
static void copy_with_stem(const cm_test_network *from, cm_test_network *to, int dy, int dx) {
    const cm_param_table *a = cm_network_parameters(from->network), *b = cm_network_parameters(to->network);
    for (int i = 0; i < a->count; i++) {
        const cm_param *p = &a->param[i], *q = cm_param_table_find(b, p->name);
        ck_assert_msg(q && q->count == p->count, "%s", p->name);
        memcpy((p->state ? to->state : to->parameters) + q->offset,
               (p->state ? from->state : from->parameters) + p->offset, p->count * sizeof(float));
    }
    const cm_param *w = cm_param_table_find(b, "representation.stem.weight");
    ck_assert_msg(w && w->count == (size_t)CHANNELS * 3 * 3 * CHANNELS, "stem");
    memset(to->parameters + w->offset, 0, w->count * sizeof(float));
    for (int c = 0; c < CHANNELS; c++)
        to->parameters[w->offset + (size_t)(((c * 3 + 1 + dy) * 3 + 1 + dx) * CHANNELS + c)] = 1.0f;
}

/* out[y, x, c] = max(0, in[y + dy, x + dx, c]), 0 outside. */
static void shift(const float *in, int dy, int dx, float *out) {
    for (int i = 0; i < CELLS; i++) {
        const int c = i % CHANNELS, x = i / CHANNELS % W + dx, y = i / CHANNELS / W + dy;
        const bool inside = x >= 0 && x < W && y >= 0 && y < H;
        const float v = inside ? in[(y * W + x) * CHANNELS + c] : 0.0f;
        out[i] = v > 0.0f ? v : 0.0f;
    }
}

static void compare(const outputs *got, const outputs *want) {
    for (int i = 0; i < ROWS; i++) ck_assert_float_eq_tol(got->value[i], want->value[i], 1e-5f);
    for (int i = 0; i < ROWS * ACTIONS; i++) ck_assert_float_eq_tol(got->policy[i], want->policy[i], 1e-5f);
}

START_TEST(a_stem_reads_what_is_around_each_place) {
    const cm_network_config with = mlp_of_pictures(CHANNELS), without = mlp_of_pictures(0);
    const char *backend = _i ? "cpu" : "ref";
    float seen[ROWS * CELLS], shifted[ROWS * CELLS];
    cm_test_network a, b;
    cm_test_network_open(&a, &without, backend, 1);
    cm_test_network_open(&b, &with, backend, 2);
    for (int i = 0; i < ROWS * CELLS; i++) seen[i] = 0.1f * (float)(i * 7 % 13) - 0.4f;
    for (int place = 0; place < 9; place++) {
        const int dy = place / 3 - 1, dx = place % 3 - 1;
        copy_with_stem(&a, &b, dy, dx);
        for (int row = 0; row < ROWS; row++) shift(seen + row * CELLS, dy, dx, shifted + row * CELLS);
        const outputs want = look(&a, shifted), got = look(&b, seen);
        compare(&got, &want);
    }
    cm_test_network_close(&a);
    cm_test_network_close(&b);
}
END_TEST

/* 3 x 3 x 2 weights and a bias for each channel; the dense layer behind reads as many channels. */
START_TEST(a_stem_has_nine_weights_for_each_pair_of_channels) {
    const cm_network_config with = mlp_of_pictures(4), without = mlp_of_pictures(0);
    cm_network *a, *b;
    ck_assert(cm_network_create(&with, &a) == CM_OK && cm_network_create(&without, &b) == CM_OK);
    const size_t more = cm_network_parameters(a)->trained - cm_network_parameters(b)->trained;
    ck_assert_uint_eq(more, 4 * (9 * CHANNELS + 1) + (4 - CHANNELS) * H * W * 16);
    cm_network_destroy(a);
    cm_network_destroy(b);
}
END_TEST

START_TEST(only_family_mlp_has_a_stem_and_only_for_pictures) {
    static const int picture[] = {H, W, CHANNELS}, vector[] = {CELLS};
    cm_network_options o = {.stem_channels = 8};
    cm_network_config c;
    o.family = CM_FAMILY_MLP;
    cm_network_config_from_options(&c, &o, 3, picture, ACTIONS, false);
    ck_assert_int_eq(c.stem, 8);
    cm_network_config_from_options(&c, &o, 1, vector, ACTIONS, false);
    ck_assert_int_eq(c.stem, 0);
    o.family = CM_FAMILY_RESNET;
    cm_network_config_from_options(&c, &o, 3, picture, ACTIONS, false);
    ck_assert_int_eq(c.stem, 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("stem");
    TCase *tc = tcase_create("stem");
    tcase_add_loop_test(tc, a_stem_reads_what_is_around_each_place, 0, 2);
    tcase_add_test(tc, a_stem_has_nine_weights_for_each_pair_of_channels);
    tcase_add_test(tc, only_family_mlp_has_a_stem_and_only_for_pictures);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
