#include "backend/cuda/ops/muon.h"

#include "backend/cuda/ops/ops.h"
#include "backend/cuda/ops/weights.h"

/* Pieces of the workspace, which begins at NULL where only their size is asked. */
static size_t pieces(cm_muon_args *args, char *workspace) {
    const size_t whole = (size_t)(args->rows * args->columns) * sizeof(float);
    const size_t square = (size_t)(args->rows * args->rows) * sizeof(float);
    float **const piece[] = {&args->x, &args->next, &args->gram, &args->update, &args->norm};
    const size_t bytes[] = {whole, whole, square, square, sizeof(float)};
    size_t used = 0;
    for (int i = 0; i < 5; i++) {
        const size_t place = cm_ops_piece(&used, bytes[i]);
        *piece[i] = workspace ? (float *)(void *)(workspace + place) : NULL;
    }
    return used;
}

static cm_muon_args args_of(const cm_call *call) {
    const cm_tensor *parameter = CM_ARG(call, muon_step, parameter), *gradient = CM_ARG(call, muon_step, gradient);
    const cm_tensor *momentum = CM_ARG(call, muon_step, momentum);
    const cm_muon_shape shape = cm_muon_shape_of(parameter);
    cm_muon_args args = {.step = {.y = parameter->data,
                                  .first = momentum->data,
                                  .x = gradient->data,
                                  .n = (int64_t)(parameter->dim[0] - 1) * parameter->stride + parameter->dim[1],
                                  .factor = CM_ARG(call, muon_step, factor)->data,
                                  .rates = cm_rates_of_f(&call->attr)},
                         .is_turned = shape.is_turned,
                         .rows = shape.rows,
                         .columns = shape.columns,
                         .parameter_row = parameter->stride,
                         .momentum_row = momentum->stride,
                         .gradient_row = gradient->stride,
                         .compute = call->attr.compute,
                         .decay = (float)(call->attr.learning_rate * call->attr.weight_decay)};
    args.step.rates.rate = (float)(call->attr.learning_rate * shape.scale);
    return args;
}

size_t cm_cuda_muon_step_workspace(const cm_call *call) {
    cm_muon_args args = args_of(call);
    return pieces(&args, NULL);
}

static cm_status iterate(cm_stream *stream, const cm_call *call, cm_muon_args *args) {
    const int64_t whole = args->rows * args->columns, square = args->rows * args->rows;
    float *x = args->x;
    CM_LAUNCH(stream, call, cm_muon_gram_each, args, square, CM_WARP);
    CM_LAUNCH(stream, call, cm_muon_update_each, args, square, CM_WARP);
    CM_LAUNCH(stream, call, cm_muon_apply_each, args, whole, 1);
    args->x = args->next;
    args->next = x;
    return CM_OK;
}

cm_status cm_cuda_muon_step(cm_stream *stream, const cm_call *call) {
    cm_muon_args args = args_of(call);
    const int64_t whole = args.rows * args.columns;
    pieces(&args, cm_ops_workspace(stream));
    args.step.copies = cm_weights_within(stream, args.step.y, args.step.n, args.step.copy);
    CM_LAUNCH(stream, call, cm_muon_begin_each, &args, whole, 1);
    CM_LAUNCH(stream, call, cm_muon_norm_all, &args, 1, CM_BLOCK);
    CM_LAUNCH(stream, call, cm_muon_divide_each, &args, whole, 1);
    for (int i = 0; i < CM_MUON_ITERATIONS; i++) CM_TRY(iterate(stream, call, &args));
    CM_LAUNCH(stream, call, cm_muon_step_each, &args, whole, 1);
    return CM_OK;
}
