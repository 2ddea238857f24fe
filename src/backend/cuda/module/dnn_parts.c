#include "backend/cuda/module/dnn_parts.h"

#include <cudnn.h>

#include "backend/cuda/module/cuda.h"

cm_status cm_dnn_check(int status) { return cm_cuda_dnn(status, "a convolution as a graph"); }

cm_status cm_dnn_add(cm_dnn_parts *parts, int kind, cm_dnn_part *out) {
    if (parts->count == CM_DNN_PARTS)
        return cm_fail(CM_ERR_DEVICE, "a convolution as a graph: more than %d parts", CM_DNN_PARTS);
    CM_TRY(cm_dnn_check((int)cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)kind, out)));
    parts->list[parts->count++] = *out;
    return CM_OK;
}

void cm_dnn_free(cm_dnn_parts *parts) {
    while (parts->count > 0) cudnnBackendDestroyDescriptor(parts->list[--parts->count]);
}

cm_status cm_dnn_set(cm_dnn_part part, int name, int type, int64_t n, const void *values) {
    return cm_dnn_check((int)cudnnBackendSetAttribute(part, (cudnnBackendAttributeName_t)name,
                                                      (cudnnBackendAttributeType_t)type, n, values));
}

cm_status cm_dnn_set_numbers(cm_dnn_part part, int name, int64_t n, const int64_t *values) {
    return cm_dnn_set(part, name, CUDNN_TYPE_INT64, n, values);
}

cm_status cm_dnn_set_type(cm_dnn_part part, int name, int type) {
    const cudnnDataType_t value = (cudnnDataType_t)type;
    return cm_dnn_set(part, name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

cm_status cm_dnn_set_part(cm_dnn_part part, int name, cm_dnn_part value) {
    return cm_dnn_set(part, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

cm_status cm_dnn_finish(cm_dnn_part part) { return cm_dnn_check((int)cudnnBackendFinalize(part)); }
