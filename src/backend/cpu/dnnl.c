#include "backend/cpu/dnnl.h"

#include <stdio.h>

void cm_dnnl_version(char out[32]) {
    const dnnl_version_t *v = dnnl_version();
    snprintf(out, 32, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
}

cm_status cm_dnnl_check(dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return CM_OK;
    return cm_fail(CM_ERR_DEVICE, "oneDNN: %s failed with status %d%s", what, (int)status,
                   status == dnnl_unimplemented ? " (it has no kernel for this; try another version of it)" : "");
}

cm_status cm_dnnl_open(cm_cpu *cpu) {
    dnnl_engine_t engine = NULL;
    CM_TRY(cm_dnnl_check(dnnl_engine_create(&engine, dnnl_cpu, 0), "opening the engine"));
    cpu->engine = engine;
    return CM_OK;
}

void cm_dnnl_close(cm_cpu *cpu) {
    if (cpu->engine) dnnl_engine_destroy(cpu->engine);
}

cm_status cm_dnnl_stream_open(cm_cpu *cpu, cm_cpu_stream *lane) {
    if (lane->dnnl) return CM_OK;
    dnnl_stream_t stream = NULL;
    CM_TRY(cm_dnnl_check(dnnl_stream_create(&stream, cpu->engine, dnnl_stream_default_flags), "opening a stream"));
    lane->dnnl = stream;
    return CM_OK;
}

void cm_dnnl_stream_close(cm_cpu_stream *lane) {
    if (lane->dnnl) dnnl_stream_destroy(lane->dnnl);
}

cm_dnnl_desc cm_dnnl_op_layout(const cm_dnnl_op *op, int arg) {
    return dnnl_primitive_desc_query_md(op->desc, dnnl_query_exec_arg_md, arg);
}

cm_status cm_dnnl_op_make(cm_dnnl_op *op, const cm_cpu *cpu, const int *args, int count) {
    omp_set_num_threads(1);
    CM_TRY(cm_dnnl_check(dnnl_primitive_create(&op->primitive, op->desc), "making a primitive"));
    for (int i = 0; i <= count; i++) {
        int id = i < count ? args[i] : DNNL_ARG_SCRATCHPAD;
        cm_dnnl_desc desc = cm_dnnl_op_layout(op, id);
        op->arg[i].arg = id;
        dnnl_memory_t *memory = &op->arg[i].memory;
        CM_TRY(cm_dnnl_check(dnnl_memory_create(memory, desc, cpu->engine, DNNL_MEMORY_NONE), "describing a tensor"));
        op->count++;
        if (i == count) op->scratch_bytes = dnnl_memory_desc_get_size(desc);
    }
    return CM_OK;
}

void cm_dnnl_op_free(cm_dnnl_op *op) {
    for (int i = 0; i < op->count; i++) dnnl_memory_destroy(op->arg[i].memory);
    if (op->primitive) dnnl_primitive_destroy(op->primitive);
    if (op->desc) dnnl_primitive_desc_destroy(op->desc);
}

/* oneDNN takes addresses without const, also those it only reads. */
typedef union writable {
    const void *given;
    void *taken;
} writable;

void cm_dnnl_op_set(const cm_dnnl_op *op, int index, const void *data) {
    writable address = {.given = data};
    dnnl_memory_set_data_handle(op->arg[index].memory, address.taken);
}

cm_status cm_dnnl_op_run(const cm_dnnl_op *op, void *stream, void *scratch) {
    omp_set_num_threads(1);
    if (op->scratch_bytes) cm_dnnl_op_set(op, op->count - 1, scratch);
    return cm_dnnl_check(dnnl_primitive_execute(op->primitive, stream, op->count, op->arg), "running a primitive");
}
