/* In place of backend/cuda/module/dnn_graph.c and dnn_engine.c where cuDNN is not installed. */
#include "backend/cuda/module/dnn_graph.h"

static cm_status absent(void) { return cm_fail(CM_ERR_ABSENT, "there was no cuDNN when this was built"); }

cm_status cm_dnn_graph_open(const cm_dnn_target *target, const cm_convolution *convolution, cm_dnn_graph **out) {
    (void)target, (void)convolution, (void)out;
    return absent();
}

cm_status cm_dnn_graph_open_norm(const cm_dnn_target *target, const cm_convolution_norm *norm, cm_dnn_graph **out) {
    (void)target, (void)norm, (void)out;
    return absent();
}

void cm_dnn_graph_close(cm_dnn_graph *graph) { (void)graph; }

cm_status cm_dnn_graph_engines(const cm_dnn_graph *graph, bool fallback, cm_dnn_engine *out, int most, int *count) {
    (void)graph, (void)fallback, (void)out, (void)most, (void)count;
    return absent();
}

cm_status cm_dnn_graph_plan(cm_dnn_graph *graph, const cm_dnn_engine *engine, size_t workspace) {
    (void)graph, (void)engine, (void)workspace;
    return absent();
}
