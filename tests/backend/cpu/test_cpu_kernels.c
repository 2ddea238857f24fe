/* The kernels of every instruction set that this machine has, against ref. */
#include "backend/pair.h"

#include "backend/cpu/cpu.h"

static const int widths[] = {1, 3, 5, 16, 21, 41, 128, 193};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
enum { ROWS = 19 };

/* A pair whose cpu backend runs on kernels number `index`; false where the machine has fewer. */
static bool open_with(pair *p, int index) {
    int count;
    const cm_kernels *const *usable = cm_kernels_usable(&count);
    if (index >= count) {
        printf("SKIP kernels %d: this processor has %d kinds\n", index, count);
        return false;
    }
    pair_open(p);
    cm_cpu_use(p->cpu->state, usable[index], false);
    return true;
}

static void map_ops(pair *p, int n, int gap) {
    for (int a = 0; a < CM_ACT_COUNT; a++) {
        cm_attr attr = {.activation = (cm_activation)a, .scale = 0.3f};
        cm_call forward = {.op = CM_OP_activation, .attr = attr};
        for (int t = 0; t < 2; t++) forward.t[t] = pair_matrix(p, ROWS, n, gap);
        pair_run(p, &forward, 1, 2e-7);
        cm_call backward = {.op = CM_OP_activation_backward, .attr = attr};
        backward.attr.accumulate = a % 2 ? 1u : 0;
        for (int t = 0; t < 2; t++) backward.t[t] = pair_matrix(p, ROWS, n, gap);
        backward.t[2] = forward.t[1];
        backward.t[3] = forward.t[0];
        pair_run(p, &backward, 1, 4e-7);
        free(backward.t[0].data);
        free(backward.t[1].data);
        pair_free(&forward);
    }
}

START_TEST(element_wise_kernels_equal_ref) {
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 0; i < 2 * COUNT(widths); i++) {
        int n = widths[i / 2], gap = i % 2 ? 3 : 0;
        if (n == 1) gap = 0;
        map_ops(&p, n, gap);
        cm_call add = {.op = CM_OP_add, .attr.activation = i % 3 ? CM_ACT_RELU : CM_ACT_NONE};
        for (int t = 0; t < 3; t++) add.t[t] = pair_matrix(&p, ROWS, n, gap);
        pair_run(&p, &add, 1, 1e-7);
        pair_free(&add);
        cm_call scaled = {.op = CM_OP_scale_add, .attr = {.scale = 0.37f, .accumulate = i % 3 ? 1u : 0}};
        for (int t = 0; t < 2; t++) scaled.t[t] = pair_matrix(&p, ROWS, n, gap);
        pair_run(&p, &scaled, 1, 2e-7);
        pair_free(&scaled);
    }
    pair_close(&p);
}
END_TEST

static void optimizer_ops(pair *p, int n) {
    cm_attr attr = {.learning_rate = 3e-3, .beta1 = 0.9, .beta2 = 0.999, .correction1 = 0.1, .correction2 = 0.001};
    attr.epsilon = 1e-8f;
    attr.weight_decay = 1e-2;
    attr.gradient_scale = 0.7;
    for (int variant = 0; variant < 4; variant++) {
        attr.decoupled = variant % 2;
        attr.first = variant < 2;
        cm_call adam = {.op = CM_OP_adam_step, .attr = attr}, sgd = {.op = CM_OP_sgd_step, .attr = attr};
        for (int t = 0; t < 4; t++) adam.t[t] = pair_vector(p, n);
        for (int t = 0; t < 3; t++) sgd.t[t] = pair_vector(p, n);
        for (int i = 0; i < n; i++) ((float *)adam.t[2].data)[i] = fabsf(((float *)adam.t[2].data)[i]);
        double tolerance = n < 2 ? 1e-5 : 2e-7; /* one number may cancel */
        pair_run(p, &adam, 3, tolerance);
        pair_run(p, &sgd, 2, tolerance);
        pair_free(&adam);
        pair_free(&sgd);
    }
}

START_TEST(kernels_of_flat_vectors_equal_ref) {
    static const int sizes[] = {1, 15, 16, 17, 4095, 4096, 4097, 9000};
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 0; i < COUNT(sizes); i++) {
        int n = sizes[i];
        optimizer_ops(&p, n);
        cm_call sum = {.op = CM_OP_sum_squares, .t = {pair_vector(&p, (n + 4095) / 4096), pair_vector(&p, n)}};
        pair_run(&p, &sum, 1, 1e-7);
        cm_call into = {.op = CM_OP_add_into, .t = {pair_vector(&p, n), pair_vector(&p, n)}};
        pair_run(&p, &into, 1, 0.0);
        cm_call lerp = {
            .op = CM_OP_lerp, .attr.scale = i % 2 ? 0.02f : 1.0f, .t = {pair_vector(&p, n), pair_vector(&p, n)}};
        pair_run(&p, &lerp, 1, i % 2 ? 1e-7 : 0.0);
        pair_free(&sum);
        pair_free(&into);
        pair_free(&lerp);
    }
    pair_close(&p);
}
END_TEST

static void layer_norm(pair *p, int n, int groups, cm_activation activation, int gap) {
    cm_attr attr = {.epsilon = 1e-5f, .groups = groups, .activation = activation};
    int width = n * groups;
    cm_call forward = {.op = CM_OP_layer_norm, .attr = attr};
    forward.t[CM_T_layer_norm_y] = pair_matrix(p, ROWS, width, gap);
    forward.t[CM_T_layer_norm_saved] = pair_matrix(p, ROWS, 2 * groups, 0);
    forward.t[CM_T_layer_norm_x] = pair_matrix(p, ROWS, width, gap);
    forward.t[CM_T_layer_norm_scale] = pair_vector(p, width);
    forward.t[CM_T_layer_norm_shift] = pair_vector(p, width);
    pair_run(p, &forward, 2, 1e-6);
    cm_call backward = {.op = CM_OP_layer_norm_backward, .attr = attr};
    backward.attr.accumulate = groups > 1 ? 7u : 0;
    backward.t[CM_T_layer_norm_backward_dx] = pair_matrix(p, ROWS, width, gap);
    backward.t[CM_T_layer_norm_backward_dscale] = pair_vector(p, width);
    backward.t[CM_T_layer_norm_backward_dshift] = pair_vector(p, width);
    backward.t[CM_T_layer_norm_backward_dy] = pair_matrix(p, ROWS, width, gap);
    backward.t[CM_T_layer_norm_backward_x] = forward.t[CM_T_layer_norm_x];
    backward.t[CM_T_layer_norm_backward_y] = forward.t[CM_T_layer_norm_y];
    backward.t[CM_T_layer_norm_backward_saved] = forward.t[CM_T_layer_norm_saved];
    backward.t[CM_T_layer_norm_backward_scale] = forward.t[CM_T_layer_norm_scale];
    backward.t[CM_T_layer_norm_backward_shift] = forward.t[CM_T_layer_norm_shift];
    pair_run(p, &backward, 3, 3e-6);
    for (int i = 0; i < 4; i++) free(backward.t[i].data);
    pair_free(&forward);
}

START_TEST(layer_norm_kernels_equal_ref) {
    static const cm_activation activations[] = {CM_ACT_NONE, CM_ACT_RELU, CM_ACT_GELU_TANH};
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 1; i < COUNT(widths); i++)
        for (int groups = 1; groups < 4; groups++)
            for (int a = 0; a < 3; a++) layer_norm(&p, widths[i], groups, activations[a], 2 * (a % 2));
    pair_close(&p);
}
END_TEST

/* [2, 4, 5, channels]; residual and accumulation vary with `variant`. */
static void batch_norm(pair *p, int channels, int variant) {
    int nhwc[] = {2, 4, 5, channels};
    cm_attr attr = {.epsilon = 1e-5f, .activation = variant & 1 ? CM_ACT_RELU : CM_ACT_NONE};
    cm_call forward = {.op = CM_OP_batch_norm, .attr = attr};
    forward.t[CM_T_batch_norm_y] = pair_tensor(p, 4, nhwc, 0);
    forward.t[CM_T_batch_norm_saved] = pair_matrix(p, 2, channels, 0);
    forward.t[CM_T_batch_norm_stats] = pair_matrix(p, 2, channels, 0);
    forward.t[CM_T_batch_norm_x] = pair_tensor(p, 4, nhwc, 0);
    forward.t[CM_T_batch_norm_scale] = pair_vector(p, channels);
    forward.t[CM_T_batch_norm_shift] = pair_vector(p, channels);
    if (variant & 2) forward.t[CM_T_batch_norm_residual] = pair_tensor(p, 4, nhwc, 0);
    pair_run(p, &forward, 3, 2e-6);
    cm_call backward = {.op = CM_OP_batch_norm_backward, .attr = attr};
    backward.attr.accumulate = variant & 4 ? 15u : 0;
    for (int t = 0; t < 5; t++)
        backward.t[t] = t == 1 || t == 2 ? pair_vector(p, channels) : pair_tensor(p, 4, nhwc, 0);
    if (!(variant & 2)) {
        free(backward.t[CM_T_batch_norm_backward_dresidual].data);
        backward.t[CM_T_batch_norm_backward_dresidual].data = NULL;
    }
    backward.t[CM_T_batch_norm_backward_x] = forward.t[CM_T_batch_norm_x];
    backward.t[CM_T_batch_norm_backward_y] = forward.t[CM_T_batch_norm_y];
    backward.t[CM_T_batch_norm_backward_saved] = forward.t[CM_T_batch_norm_saved];
    backward.t[CM_T_batch_norm_backward_scale] = forward.t[CM_T_batch_norm_scale];
    pair_run(p, &backward, 4, 3e-6);
    for (int t = 0; t < 5; t++) free(backward.t[t].data);
    pair_free(&forward);
}

START_TEST(batch_norm_kernels_equal_ref) {
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 2; i < COUNT(widths);
         i++) /* a single sum may cancel: fewer channels are in the table of all operations */
        for (int variant = 0; variant < 8; variant++) batch_norm(&p, widths[i], variant);
    pair_close(&p);
}
END_TEST

START_TEST(minmax_kernels_equal_ref_and_take_the_first_extremes) {
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 0; i < 2 * COUNT(widths); i++) {
        int n = widths[i / 2], gap = n > 1 ? i % 2 : 0;
        cm_call forward = {.op = CM_OP_minmax};
        forward.t[CM_T_minmax_y] = pair_matrix(&p, ROWS, n, gap);
        forward.t[CM_T_minmax_saved] = pair_matrix(&p, ROWS, 3, 0);
        forward.t[CM_T_minmax_x] = pair_matrix(&p, ROWS, n, gap);
        float *x = forward.t[CM_T_minmax_x].data;
        for (int j = 0; j < n; j++) x[j] = 0.25f;                                 /* no range at all */
        for (int j = 0; j < n; j++) x[n + gap + j] = (float)((j + 3) % 4) - 1.5f; /* many ties */
        pair_run(&p, &forward, 2, 2e-7);
        cm_call backward = {.op = CM_OP_minmax_backward, .attr.accumulate = i % 2 ? 1u : 0};
        backward.t[CM_T_minmax_backward_dx] = pair_matrix(&p, ROWS, n, gap);
        backward.t[CM_T_minmax_backward_dy] = pair_matrix(&p, ROWS, n, gap);
        backward.t[CM_T_minmax_backward_y] = forward.t[CM_T_minmax_y];
        backward.t[CM_T_minmax_backward_saved] = forward.t[CM_T_minmax_saved];
        pair_run(&p, &backward, 1, 1e-6);
        free(backward.t[0].data);
        free(backward.t[1].data);
        pair_free(&forward);
    }
    pair_close(&p);
}
END_TEST

START_TEST(categorical_kernels_equal_ref) {
    static const cm_support supports[] = {
        {-20, 20, 41, true}, {-1, 1, 3, false}, {-300, 300, 601, true}, {0, 7, 16, true}};
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 0; i < COUNT(supports) * 2; i++) {
        cm_attr attr = {.support = supports[i / 2], .accumulate = i % 2 ? 1u << CM_T_categorical_loss_dlogits : 0};
        cm_call call = {.op = CM_OP_categorical_loss, .attr = attr};
        int size = attr.support.size, gap = i % 2 ? 4 : 0;
        call.t[CM_T_categorical_loss_loss] = pair_vector(&p, ROWS);
        call.t[CM_T_categorical_loss_dlogits] = pair_matrix(&p, ROWS, size, gap);
        call.t[CM_T_categorical_loss_decoded] = pair_vector(&p, ROWS);
        call.t[CM_T_categorical_loss_logits] = pair_matrix(&p, ROWS, size, gap);
        call.t[CM_T_categorical_loss_target] = pair_vector(&p, ROWS);
        call.t[CM_T_categorical_loss_coefficient] = pair_vector(&p, ROWS);
        float *target = call.t[CM_T_categorical_loss_target].data, *logits = call.t[CM_T_categorical_loss_logits].data;
        target[0] = 1e6f; /* beyond the last atom */
        target[1] = -1e6f;
        target[2] = 17.3f;
        for (int j = 0; j < size; j++) logits[j] *= 60.0f;
        double tolerance = size > 100 ? 1e-5 : 2e-6; /* large atoms cancel in the mean */
        pair_run(&p, &call, 3, tolerance);
        cm_call decode = {.op = CM_OP_support_decode, .attr = attr};
        decode.attr.accumulate = 0;
        decode.t[CM_T_support_decode_value] = pair_vector(&p, ROWS);
        decode.t[CM_T_support_decode_logits] = call.t[CM_T_categorical_loss_logits];
        pair_run(&p, &decode, 1, tolerance);
        free(decode.t[0].data);
        pair_free(&call);
    }
    pair_close(&p);
}
END_TEST

static void policy_loss(pair *p, int n, bool kl, bool masked, float entropy) {
    cm_call call = {.op = CM_OP_policy_loss, .attr = {.kl = kl, .scale = entropy}};
    call.attr.accumulate = kl ? 1u << CM_T_policy_loss_dlogits : 0;
    call.t[CM_T_policy_loss_loss] = pair_vector(p, ROWS);
    call.t[CM_T_policy_loss_entropy] = pair_vector(p, ROWS);
    call.t[CM_T_policy_loss_dlogits] = pair_matrix(p, ROWS, n, 2);
    call.t[CM_T_policy_loss_logits] = pair_matrix(p, ROWS, n, 2);
    call.t[CM_T_policy_loss_target] = pair_matrix(p, ROWS, n, 2);
    call.t[CM_T_policy_loss_coefficient] = pair_vector(p, ROWS);
    if (masked) call.t[CM_T_policy_loss_legal] = pair_matrix(p, ROWS, n, 2);
    float *target = call.t[CM_T_policy_loss_target].data, *legal = call.t[CM_T_policy_loss_legal].data;
    for (int i = 0; i < ROWS * (n + 2); i++) {
        target[i] = i < n || i % 4 == 1 ? 0.0f : fabsf(target[i]); /* the first row is masked */
        if (legal) legal[i] = i % 3 == 0 && i % (n + 2) != 0 ? 0.0f : 1.0f;
    }
    pair_run(p, &call, 3, 2e-6);
    pair_free(&call);
}

START_TEST(policy_loss_kernels_equal_ref) {
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 1; i < COUNT(widths); i++)
        for (int mask = 0; mask < 8; mask++) policy_loss(&p, widths[i], mask & 1, mask & 2, mask & 4 ? 0.2f : 0.0f);
    pair_close(&p);
}
END_TEST

START_TEST(dense_kernels_equal_ref) {
    pair p;
    if (!open_with(&p, _i)) return;
    for (int rows = 1; rows < 18; rows += 2) {
        for (int out = 1; out < 70; out += 11) {
            cm_call call = {.op = CM_OP_dense, .attr.activation = CM_ACT_RELU};
            call.t[CM_T_dense_y] = pair_matrix(&p, rows, out, 0);
            call.t[CM_T_dense_x] = pair_matrix(&p, rows, 37, 0);
            call.t[CM_T_dense_weight] = pair_matrix(&p, out, 37, 0);
            call.t[CM_T_dense_bias] = pair_vector(&p, out);
            pair_run(&p, &call, 1, 2e-6);
            cm_call back = {.op = CM_OP_dense_backward};
            back.t[CM_T_dense_backward_dx] = pair_matrix(&p, rows, 37, 0);
            back.t[CM_T_dense_backward_dweight] = pair_matrix(&p, out, 37, 0);
            back.t[CM_T_dense_backward_dbias] = pair_vector(&p, out);
            back.t[CM_T_dense_backward_dy] = call.t[CM_T_dense_y];
            back.t[CM_T_dense_backward_x] = call.t[CM_T_dense_x];
            back.t[CM_T_dense_backward_weight] = call.t[CM_T_dense_weight];
            pair_run(&p, &back, 3, 2e-6);
            for (int t = 0; t < 3; t++) free(back.t[t].data);
            pair_free(&call);
        }
    }
    pair_close(&p);
}
END_TEST

START_TEST(kernels_compute_in_float32_where_bfloat16_is_not_native) {
    pair p;
    if (!open_with(&p, _i)) return;
    p.cpu->native[CM_BF16] = false;
    cm_call call = {.op = CM_OP_dense};
    call.t[CM_T_dense_y] = pair_matrix(&p, 8, 20, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, 8, 30, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, 20, 30, 0);
    pair_run(&p, &call, 1, 2e-6);
    float exact[8 * 20];
    memcpy(exact, call.t[0].data, sizeof exact);
    call.attr.compute = CM_BF16;
    CHECK_OK(cm_call_eager(p.stream, &call));
    ck_assert(memcmp(exact, call.t[0].data, sizeof exact) == 0);
    pair_free(&call);
    pair_close(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("kernels");
    tcase_add_loop_test(tests, element_wise_kernels_equal_ref, 0, 3);
    tcase_add_loop_test(tests, kernels_of_flat_vectors_equal_ref, 0, 3);
    tcase_add_loop_test(tests, layer_norm_kernels_equal_ref, 0, 3);
    tcase_add_loop_test(tests, batch_norm_kernels_equal_ref, 0, 3);
    tcase_add_loop_test(tests, minmax_kernels_equal_ref_and_take_the_first_extremes, 0, 3);
    tcase_add_loop_test(tests, categorical_kernels_equal_ref, 0, 3);
    tcase_add_loop_test(tests, policy_loss_kernels_equal_ref, 0, 3);
    tcase_add_loop_test(tests, dense_kernels_equal_ref, 0, 3);
    tcase_add_loop_test(tests, kernels_compute_in_float32_where_bfloat16_is_not_native, 0, 3);
    return pair_main("cpu kernels", tests);
}
