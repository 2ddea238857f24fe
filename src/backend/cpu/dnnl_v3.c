#include "backend/cpu/dnnl_compat.h"

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t describe_shape(dnnl_memory_desc_t *out, const cm_dnnl_shape *shape) {
    *out = NULL;
    if (shape->ndim == 0) return dnnl_success;
    if (shape->any)
        return dnnl_memory_desc_create_with_tag(out, shape->ndim, shape->dim, shape->type, dnnl_format_tag_any);
    return dnnl_memory_desc_create_with_strides(out, shape->ndim, shape->dim, shape->type, shape->stride);
}

static void destroy_shape(dnnl_memory_desc_t desc) {
    if (desc) dnnl_memory_desc_destroy(desc);
}

static dnnl_status_t make_attr(dnnl_primitive_attr_t *out, bool relu) {
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (status != dnnl_success || !relu) return status;
    dnnl_post_ops_t ops = NULL;
    status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success) status = dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0.0f, 0.0f);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(*out, ops);
    dnnl_post_ops_destroy(ops);
    return status;
}

/* desc: src, weight, bias, dst */
static dnnl_status_t describe_with(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const cm_dnnl_conv *conv,
                                   dnnl_memory_desc_t *desc, const_dnnl_primitive_desc_t forward) {
    dnnl_dims_t stride = {conv->stride, conv->stride}, dilation = {0, 0}, pad = {conv->padding, conv->padding};
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = make_attr(&attr, conv->relu);
    if (status == dnnl_success) {
        switch (conv->direction) {
        case CM_DNNL_BACKWARD_DATA:
            status = dnnl_convolution_backward_data_primitive_desc_create(out, engine, dnnl_convolution_direct, desc[0],
                                                                          desc[1], desc[3], stride, dilation, pad, pad,
                                                                          forward, attr);
            break;
        case CM_DNNL_BACKWARD_WEIGHTS:
            status = dnnl_convolution_backward_weights_primitive_desc_create(out, engine, dnnl_convolution_direct,
                                                                             desc[0], desc[1], desc[2], desc[3], stride,
                                                                             dilation, pad, pad, forward, attr);
            break;
        default:
            status = dnnl_convolution_forward_primitive_desc_create(out, engine, dnnl_forward_training,
                                                                    dnnl_convolution_direct, desc[0], desc[1], desc[2],
                                                                    desc[3], stride, dilation, pad, pad, attr);
            break;
        }
    }
    dnnl_primitive_attr_destroy(attr);
    return status;
}

dnnl_status_t cm_dnnl_conv_describe(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const cm_dnnl_conv *conv,
                                    const_dnnl_primitive_desc_t forward) {
    dnnl_memory_desc_t desc[4] = {NULL};
    const cm_dnnl_shape *shapes[] = {&conv->src, &conv->weight, &conv->bias, &conv->dst};
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < 4 && status == dnnl_success; i++) status = describe_shape(&desc[i], shapes[i]);
    if (status == dnnl_success) status = describe_with(out, engine, conv, desc, forward);
    for (int i = 0; i < 4; i++) destroy_shape(desc[i]);
    return status;
}

dnnl_status_t cm_dnnl_reorder_describe(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const cm_dnnl_shape *plain,
                                       cm_dnnl_desc layout, bool to_plain) {
    dnnl_memory_desc_t desc = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = describe_shape(&desc, plain);
    if (status == dnnl_success) status = make_attr(&attr, false);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(out, to_plain ? layout : desc, engine, to_plain ? desc : layout,
                                                    engine, attr);
    dnnl_primitive_attr_destroy(attr);
    destroy_shape(desc);
    return status;
}

#else
typedef int cm_dnnl_v3_is_not_used;
#endif
