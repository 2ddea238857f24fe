/* The calls that the tests of backends make: at least one row for every operation. */
#include "support/op_cases.h"

#define BIT(name)  (1u << CM_ACT_##name)
#define NO_OR_RELU (BIT(NONE) | BIT(RELU))
#define NORM       (BIT(NONE) | BIT(RELU) | BIT(GELU_TANH))
#define ALL        (BIT(NONE) | BIT(RELU) | BIT(GELU_TANH) | BIT(ELU) | BIT(TANH) | BIT(SIGMOID) | BIT(SOFTPLUS))

/* an operation with its backward: activations of the one, of the other; an operation alone */
#define PAIR(name, acts, backward_acts, sizes, ...)                                                                    \
    {                                                                                                                  \
        CM_OP_##name, CM_OP_##name##_backward, acts, backward_acts, sizes, { __VA_ARGS__ }                             \
    }
#define ALONE(name, acts, sizes, ...)                                                                                  \
    {                                                                                                                  \
        CM_OP_##name, CM_OP_##name, acts, 0, sizes, { __VA_ARGS__ }                                                    \
    }

#define PLAIN             .stride = 0
#define EPSILON           .epsilon = 1e-5f
#define ONEHOT(n)         .encoding = CM_ENCODE_ONEHOT, .actions = n
#define SCALED(n)         .encoding = CM_ENCODE_SCALED, .actions = n
#define ATOMS(a, b, n, t) .support = {a, b, n, t}

const op_case op_cases[] = {
    PAIR(dense, NO_OR_RELU, 0, "B=1 i=1 o=1", .actions = 1),
    PAIR(dense, NO_OR_RELU, 0, "B=3 i=5 o=4", ONEHOT(2)),
    PAIR(dense, NO_OR_RELU, 0, "B=7 i=17 o=33", ONEHOT(7)),
    PAIR(dense, NO_OR_RELU, 0, "B=6 i=13 o=10", SCALED(18)),
    PAIR(dense, NO_OR_RELU, 0, "B=1 i=64 o=64", ONEHOT(3)),
    PAIR(dense, NO_OR_RELU, 0, "B=64 i=128 o=128", ONEHOT(2)),
    PAIR(dense, NO_OR_RELU, 0, "B=65 i=130 o=21", SCALED(4)),
    PAIR(dense, NO_OR_RELU, 0, "B=33 i=4 o=300", ONEHOT(300)),
    PAIR(dense, NO_OR_RELU, 0, "B=129 i=513 o=2", ONEHOT(6)),
    PAIR(conv2d, NO_OR_RELU, 0, "B=2 H=6 W=7 C=3 O=8 k=3", .stride = 1),
    PAIR(conv2d, NO_OR_RELU, 0, "B=1 H=9 W=9 C=17 O=5 k=3", .stride = 1),
    PAIR(conv2d, NO_OR_RELU, 0, "B=2 H=6 W=7 C=17 O=6 k=1", .stride = 1),
    PAIR(conv2d, NO_OR_RELU, 0, "B=1 H=15 W=15 C=3 O=4 k=3", .stride = 2),
    PAIR(conv2d, NO_OR_RELU, 0, "B=2 H=8 W=6 C=4 O=16 k=3", .stride = 2),
    PAIR(conv2d, NO_OR_RELU, 0, "B=3 H=3 W=3 C=64 O=16 k=3", .stride = 1),
    PAIR(conv2d, NO_OR_RELU, 0, "B=2 H=4 W=5 C=2 O=3 k=5", .stride = 1),
    PAIR(conv2d, NO_OR_RELU, 0, "B=2 H=1 W=1 C=4 O=4 k=3", .stride = 1),
    PAIR(conv2d, NO_OR_RELU, 0, "B=1 H=5 W=4 C=300 O=1 k=1", .stride = 2),
    PAIR(conv2d, NO_OR_RELU, 0, "B=2 H=4 W=1 C=16 O=13 k=3", .stride = 1),
    PAIR(conv2d, NO_OR_RELU, 0, "B=4 H=5 W=2 C=4 O=11 k=5", .stride = 2),
    PAIR(activation, ALL, ALL, "any=1", PLAIN),
    PAIR(activation, ALL, ALL, "any=37", PLAIN),
    PAIR(activation, ALL, ALL, "any=5x19", PLAIN),
    PAIR(activation, ALL, ALL, "any=2x3x4x5", PLAIN),
    ALONE(add, NO_OR_RELU, "any=1", PLAIN),
    ALONE(add, NO_OR_RELU, "any=3x17", PLAIN),
    ALONE(add, NO_OR_RELU, "any=2x3x5x7", PLAIN),
    ALONE(scale_add, 0, "any=13", .scale = 0.5f),
    ALONE(scale_add, 0, "any=4x33", .scale = -2.0f),
    ALONE(scale_add, 0, "any=2x3x4", .scale = 1.0f),
    PAIR(layer_norm, NORM, NORM, "R=1 N=8", EPSILON),
    PAIR(layer_norm, NORM, NORM, "R=7 N=21", EPSILON),
    PAIR(layer_norm, NORM, NORM, "R=65 N=128", EPSILON),
    PAIR(layer_norm, NORM, NORM, "R=5 N=96", EPSILON, .groups = 3),
    PAIR(layer_norm, NORM, NORM, "R=4 N=34", EPSILON, .groups = 2),
    PAIR(layer_norm, NORM, NORM, "R=3 N=3x3x4", EPSILON),
    PAIR(layer_norm, NORM, NORM, "R=2 N=300", EPSILON),
    PAIR(batch_norm, NO_OR_RELU, NO_OR_RELU, "*=6 C=5", EPSILON),
    PAIR(batch_norm, NO_OR_RELU, NO_OR_RELU, "*=2x6x7 C=3", EPSILON),
    PAIR(batch_norm, NO_OR_RELU, NO_OR_RELU, "*=64 C=300", EPSILON),
    PAIR(batch_norm, NO_OR_RELU, NO_OR_RELU, "*=3x3x3 C=16", EPSILON),
    PAIR(batch_norm_inference, NO_OR_RELU, NO_OR_RELU, "*=6 C=5", EPSILON),
    PAIR(batch_norm_inference, NO_OR_RELU, NO_OR_RELU, "*=2x6x7 C=3", EPSILON),
    PAIR(batch_norm_inference, NO_OR_RELU, NO_OR_RELU, "*=1 C=33", EPSILON),
    ALONE(batch_norm_update, 0, "C=5 n=1", .scale = 0.1f),
    ALONE(batch_norm_update, 0, "C=17 n=4", .scale = 0.25f),
    PAIR(minmax, 0, 0, "B=1 N=8", PLAIN),
    PAIR(minmax, 0, 0, "B=9 N=37", PLAIN),
    PAIR(minmax, 0, 0, "B=64 N=128", PLAIN),
    PAIR(minmax, 0, 0, "B=2 N=6x7x3", PLAIN),
    PAIR(minmax, 0, 0, "B=2 N=6x7x3", .per_channel = true),
    PAIR(minmax, 0, 0, "B=3 N=3x3x17", .per_channel = true),
    PAIR(simnorm, 0, 0, "*=3 n=16", .group = 8),
    PAIR(simnorm, 0, 0, "*=5 n=21", .group = 7),
    PAIR(simnorm, 0, 0, "*=2 n=5", .group = 1),
    PAIR(avg_pool, 0, 0, "B=1 H=9 W=9 C=4", PLAIN),
    PAIR(avg_pool, 0, 0, "B=2 H=6 W=7 C=3", PLAIN),
    PAIR(avg_pool, 0, 0, "B=2 H=1 W=2 C=17", PLAIN),
    PAIR(global_mean, 0, 0, "B=1 H=9 W=9 C=4", PLAIN),
    PAIR(global_mean, 0, 0, "B=3 H=2 W=5 C=19", PLAIN),
    PAIR(action_encoding, 0, 0, "*=3 C=16", ONEHOT(4)),
    PAIR(action_encoding, 0, 0, "*=5 C=7", SCALED(3)),
    PAIR(action_encoding, 0, 0, "*=2x3x3 C=5", ONEHOT(3)),
    PAIR(action_encoding, 0, 0, "*=2x3x3 C=5", .encoding = CM_ENCODE_BOARD, .actions = 10),
    PAIR(embedding_add, 0, 0, "B=1 H=3 A=1", PLAIN),
    PAIR(embedding_add, 0, 0, "B=9 H=16 A=4", PLAIN),
    PAIR(embedding_add, 0, 0, "B=5 H=300 A=7", PLAIN),
    ALONE(gather_rows, 0, "n=7 N=5 m=3", PLAIN),
    ALONE(gather_rows, 0, "n=3 N=2x3x4 m=9", PLAIN),
    ALONE(gather_rows, 0, "n=64 N=128 m=33", PLAIN),
    ALONE(scatter_rows, 0, "n=7 N=5 m=3", PLAIN),
    ALONE(scatter_rows, 0, "n=9 N=2x3x4 m=9", PLAIN),
    PAIR(softmax, 0, 0, "*=1 n=1", PLAIN),
    PAIR(softmax, 0, 0, "*=7 n=5", PLAIN),
    PAIR(softmax, 0, 0, "*=3 n=601", PLAIN),
    PAIR(softmax, 0, 0, "*=2x3 n=9", PLAIN),
    PAIR(log_softmax, 0, 0, "*=7 n=5", PLAIN),
    PAIR(log_softmax, 0, 0, "*=3 n=601", PLAIN),
    ALONE(value_transform, 0, "any=17", PLAIN),
    ALONE(value_transform, 0, "any=3x9", .inverse = true),
    ALONE(value_transform, 0, "any=17", .epsilon = 0.01f),
    ALONE(two_hot, 0, "N=9", ATOMS(-10, 10, 21, true)),
    ALONE(two_hot, 0, "N=5", ATOMS(-2, 2, 51, false)),
    ALONE(support_decode, 0, "B=7", ATOMS(-20, 20, 41, true)),
    ALONE(support_decode, 0, "B=3", ATOMS(-300, 300, 601, true)),
    ALONE(support_decode, 0, "B=4", ATOMS(-2, 2, 9, false)),
    ALONE(support_decode, 0, "B=5", ATOMS(0, 0, 1, false)),
    ALONE(categorical_loss, 0, "B=7", ATOMS(-20, 20, 41, true)),
    ALONE(categorical_loss, 0, "B=2", ATOMS(-300, 300, 601, true)),
    ALONE(categorical_loss, 0, "B=9", ATOMS(-1, 1, 2, false)),
    ALONE(policy_loss, 0, "B=8 A=2", .scale = 0.05f),
    ALONE(policy_loss, 0, "B=5 A=19", .scale = 0.0f),
    ALONE(policy_loss, 0, "B=3 A=82", .scale = 0.01f, .kl = true),
    ALONE(scalar_loss, 0, "B=9", PLAIN),
    ALONE(consistency_loss, 0, "B=5 D=3", PLAIN),
    ALONE(consistency_loss, 0, "B=3 D=128", PLAIN),
    PAIR(lstm, 0, 0, "T=5 B=3 i=6 H=8", PLAIN),
    PAIR(lstm, 0, 0, "T=7 B=2 i=5 H=4", .horizon = 5),
    PAIR(lstm, 0, 0, "T=1 B=1 i=1 H=1", PLAIN),
    PAIR(lstm, 0, 0, "T=4 B=3 i=300 H=33", .horizon = 2),
    ALONE(add_into, 0, "n=1", PLAIN),
    ALONE(add_into, 0, "n=1001", PLAIN),
    ALONE(sum_squares, 0, "n=1", PLAIN),
    ALONE(sum_squares, 0, "n=4096", PLAIN),
    ALONE(sum_squares, 0, "n=9001", PLAIN),
    ALONE(adam_step, 0, "n=7", .decoupled = true, .learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.999,
          .correction1 = 0.19, .correction2 = 0.002, .epsilon = 1e-8f, .weight_decay = 0.1, .gradient_scale = 0.5),
    ALONE(adam_step, 0, "n=1001", .learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.95, .correction1 = 0.1,
          .correction2 = 0.05, .epsilon = 1e-5f, .weight_decay = 0.01, .gradient_scale = 1.0),
    ALONE(sgd_step, 0, "n=7", .first = true, .learning_rate = 0.1, .beta1 = 0.9, .weight_decay = 0.01,
          .gradient_scale = 1.0),
    ALONE(sgd_step, 0, "n=1001", .learning_rate = 0.1, .beta1 = 0.9, .weight_decay = 0.01, .gradient_scale = 0.25),
    ALONE(lerp, 0, "n=1", .scale = 1.0f),
    ALONE(lerp, 0, "n=1001", .scale = 0.01f),
};

const int op_case_count = (int)(sizeof op_cases / sizeof *op_cases);
