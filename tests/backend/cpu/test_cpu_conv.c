/* Convolutions of the cpu backend against ref. */
#include "backend/pair.h"

typedef struct shape {
    int batch, h, w, in, out, kernel, stride;
} shape;
static const shape shapes[] = {
    {1, 1, 2, 1, 1, 1, 1},     {2, 6, 7, 3, 64, 3, 1},   {3, 6, 7, 64, 16, 1, 1},  {2, 9, 9, 17, 5, 3, 1},
    {2, 5, 8, 4, 6, 3, 2},     {1, 15, 15, 3, 4, 3, 2},  {5, 3, 3, 64, 64, 3, 1},  {2, 7, 7, 2, 3, 5, 1},
    {3, 6, 7, 48, 48, 3, 1},   {9, 6, 7, 16, 33, 3, 1},  {2, 9, 8, 35, 17, 3, 1},  {40, 4, 4, 130, 16, 3, 1},
    {2, 25, 24, 16, 17, 3, 2}, {1, 5, 37, 20, 16, 5, 3}, {2, 4, 40, 17, 32, 1, 2}, {1, 13, 23, 33, 16, 3, 2},
};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static cm_call conv(pair *p, const shape *s, cm_dtype compute) {
    cm_call call = {.op = CM_OP_conv2d, .attr = {.compute = compute, .stride = s->stride}};
    int out_h = (s->h + s->stride - 1) / s->stride, out_w = (s->w + s->stride - 1) / s->stride;
    call.t[CM_T_conv2d_y] = pair_tensor(p, 4, (int[]){s->batch, out_h, out_w, s->out}, 0);
    call.t[CM_T_conv2d_x] = pair_tensor(p, 4, (int[]){s->batch, s->h, s->w, s->in}, 0);
    call.t[CM_T_conv2d_weight] = pair_tensor(p, 4, (int[]){s->out, s->kernel, s->kernel, s->in}, 0);
    return call;
}

START_TEST(conv2d_equals_ref) {
    pair p;
    pair_open(&p);
    for (int variant = 0; variant < 16; variant++) {
        cm_call call = conv(&p, &shapes[_i], variant & 1 ? CM_BF16 : CM_F32);
        if (variant & 2) call.t[CM_T_conv2d_bias] = pair_vector(&p, shapes[_i].out);
        call.attr.activation = variant & 8 ? CM_ACT_RELU : CM_ACT_NONE;
        call.attr.accumulate = variant & 4 ? 1u << CM_T_conv2d_y : 0;
        pair_run(&p, &call, 1, 3e-6);
        pair_free(&call);
    }
    pair_close(&p);
}
END_TEST

START_TEST(conv2d_backward_equals_ref) {
    pair p;
    pair_open(&p);
    for (int variant = 0; variant < 16; variant++) {
        cm_call forward = conv(&p, &shapes[_i], variant & 1 ? CM_BF16 : CM_F32);
        cm_call call = {.op = CM_OP_conv2d_backward, .attr = forward.attr};
        if (!(variant & 4)) call.t[CM_T_conv2d_backward_dx] = forward.t[CM_T_conv2d_x];
        if (variant != 8) call.t[CM_T_conv2d_backward_dweight] = forward.t[CM_T_conv2d_weight];
        if (variant & 8) call.t[CM_T_conv2d_backward_dbias] = pair_vector(&p, shapes[_i].out);
        cm_call inputs = conv(&p, &shapes[_i], CM_F32);
        call.t[CM_T_conv2d_backward_dy] = inputs.t[CM_T_conv2d_y];
        call.t[CM_T_conv2d_backward_x] = inputs.t[CM_T_conv2d_x];
        call.t[CM_T_conv2d_backward_weight] = inputs.t[CM_T_conv2d_weight];
        call.attr.accumulate = variant & 2 ? 7u : 0;
        pair_run(&p, &call, 3, 5e-6);
        free(call.t[CM_T_conv2d_backward_dbias].data);
        pair_free(&forward);
        pair_free(&inputs);
    }
    pair_close(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("conv");
    tcase_add_loop_test(tests, conv2d_equals_ref, 0, COUNT(shapes));
    tcase_add_loop_test(tests, conv2d_backward_equals_ref, 0, COUNT(shapes));
    return pair_main("cpu conv", tests);
}
