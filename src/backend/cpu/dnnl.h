/* What the cpu backend uses of oneDNN: convolutions and the layouts of their weights. Versions 2 and 3 differ in how a
 * primitive is described: dnnl_v2.c and dnnl_v3.c hold that part behind dnnl_compat.h, the rest is the same for both.
 *
 * Everything runs on the calling thread: the number of OpenMP threads is 1 wherever a primitive is made or run. */
#ifndef CM_BACKEND_CPU_DNNL_H
#define CM_BACKEND_CPU_DNNL_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/dnnl_compat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the OpenMP library that oneDNN uses. Its header is one of each compiler's own, in packages that clang goes
 * without. */
void omp_set_num_threads(int threads);

/* "oneDNN 2.6.3" in out. */
void cm_dnnl_version(char out[32]);

cm_status cm_dnnl_open(cm_cpu *cpu) CM_MUST_USE; /* sets cpu->engine */
void cm_dnnl_close(cm_cpu *cpu);
cm_status cm_dnnl_stream_open(cm_cpu *cpu, cm_cpu_stream *lane) CM_MUST_USE; /* sets lane->dnnl unless it is set */
void cm_dnnl_stream_close(cm_cpu_stream *lane);

/* CM_OK, or an error that says what failed. */
cm_status cm_dnnl_check(dnnl_status_t status, const char *what) CM_MUST_USE;

/* A primitive with one memory object per argument, whose addresses are set before each run. */
enum { CM_DNNL_ARGS = 5 };
typedef struct cm_dnnl_op {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    int count;
    dnnl_exec_arg_t arg[CM_DNNL_ARGS]; /* the last one is the scratchpad */
    size_t scratch_bytes;
} cm_dnnl_op;

/* Takes op->desc, made before, and makes the rest; args[count] are the DNNL_ARG_ of the tensors in order. */
cm_status cm_dnnl_op_make(cm_dnnl_op *op, const cm_cpu *cpu, const int *args, int count) CM_MUST_USE;
void cm_dnnl_op_free(cm_dnnl_op *op);
cm_dnnl_desc cm_dnnl_op_layout(const cm_dnnl_op *op, int arg);
void cm_dnnl_op_set(const cm_dnnl_op *op, int index, const void *data);
cm_status cm_dnnl_op_run(const cm_dnnl_op *op, void *stream, void *scratch) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
