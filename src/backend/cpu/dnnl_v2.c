#include "backend/cpu/dnnl_compat.h"

#if DNNL_VERSION_MAJOR < 3

static dnnl_status_t describe_shape(dnnl_memory_desc_t *out, const cm_dnnl_shape *shape) {
    if (shape->ndim == 0) {
        *out = (dnnl_memory_desc_t){0};
        return dnnl_success;
    }
    if (shape->any) return dnnl_memory_desc_init_by_tag(out, shape->ndim, shape->dim, shape->type, dnnl_format_tag_any);
    return dnnl_memory_desc_init_by_strides(out, shape->ndim, shape->dim, shape->type, shape->stride);
}

static dnnl_status_t make_attr(dnnl_primitive_attr_t *out, bool relu) {
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (status != dnnl_success || !relu) return status;
    dnnl_post_ops_t ops = NULL;
    status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success) status = dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(*out, ops);
    dnnl_post_ops_destroy(ops);
    return status;
}

static dnnl_status_t describe_operation(dnnl_convolution_desc_t *out, const cm_dnnl_conv *conv) {
    dnnl_memory_desc_t src, weight, bias, dst;
    const cm_dnnl_shape *shapes[] = {&conv->src, &conv->weight, &conv->bias, &conv->dst};
    dnnl_memory_desc_t *descs[] = {&src, &weight, &bias, &dst};
    for (int i = 0; i < 4; i++) {
        dnnl_status_t status = describe_shape(descs[i], shapes[i]);
        if (status != dnnl_success) return status;
    }
    dnnl_dims_t stride = {conv->stride, conv->stride}, pad = {conv->padding, conv->padding};
    const dnnl_memory_desc_t *with_bias = conv->bias.ndim ? &bias : NULL;
    switch (conv->direction) {
    case CM_DNNL_BACKWARD_DATA:
        return dnnl_convolution_backward_data_desc_init(out, dnnl_convolution_direct, &src, &weight, &dst, stride, pad,
                                                        pad);
    case CM_DNNL_BACKWARD_WEIGHTS:
        return dnnl_convolution_backward_weights_desc_init(out, dnnl_convolution_direct, &src, &weight, with_bias, &dst,
                                                           stride, pad, pad);
    default:
        return dnnl_convolution_forward_desc_init(out, dnnl_forward_training, dnnl_convolution_direct, &src, &weight,
                                                  with_bias, &dst, stride, pad, pad);
    }
}

dnnl_status_t cm_dnnl_conv_describe(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const cm_dnnl_conv *conv,
                                    const_dnnl_primitive_desc_t forward) {
    dnnl_convolution_desc_t operation;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = describe_operation(&operation, conv);
    if (status == dnnl_success) status = make_attr(&attr, conv->relu);
    if (status == dnnl_success) status = dnnl_primitive_desc_create(out, &operation, attr, engine, forward);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

dnnl_status_t cm_dnnl_reorder_describe(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const cm_dnnl_shape *plain,
                                       cm_dnnl_desc layout, bool to_plain) {
    dnnl_memory_desc_t desc;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = describe_shape(&desc, plain);
    if (status == dnnl_success) status = make_attr(&attr, false);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(out, to_plain ? layout : &desc, engine, to_plain ? &desc : layout,
                                                    engine, attr);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

#else
typedef int cm_dnnl_v2_is_not_used;
#endif
