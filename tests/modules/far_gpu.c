/* In the place of the module of CUDA: memory that the host cannot see (support/far.h), plain loops, and a GPU's types.
 * What is too large for plain loops is left undone: this is for rehearsing programs, not for their results. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/module.h"
#include "support/far.h"

enum { TOO_LARGE = 1 << 18 };

static cm_backend_class kind;
static cm_op_run runs[CM_OP_COUNT];

/* What far.c and others call in tests where something must not be. */
void _ck_assert_failed(const char *file, int line, const char *expression, const char *message, ...);

void _ck_assert_failed(const char *file, int line, const char *expression, const char *message, ...) {
    va_list arguments;
    va_start(arguments, message);
    fprintf(stderr, "%s:%d: %s: ", file, line, expression);
    if (message) vfprintf(stderr, message, arguments);
    va_end(arguments);
    abort();
}

static cm_status run_small(cm_stream *stream, const cm_call *call) {
    for (int i = 0; i < CM_CALL_TENSORS; i++)
        if (call->t[i].data && cm_tensor_count(&call->t[i]) > TOO_LARGE) return CM_OK;
    return runs[call->op](stream, call);
}

static cm_status open_far(cm_backend *backend) {
    CM_TRY(cm_far_open(backend));
    kind = *backend->kind;
    for (int op = 0; op < CM_OP_COUNT; op++) runs[op] = kind.run[op], kind.run[op] = run_small;
    for (int type = 0; type < CM_PRODUCT_TYPES; type++) backend->native[type] = true;
    cm_far_state.total = (size_t)80 * 1000 * 1000 * 1000;
    backend->kind = &kind;
    return CM_OK;
}

const cm_backend_class *cumind_module(const cm_module_stamp **stamp);

const cm_backend_class *cumind_module(const cm_module_stamp **stamp) {
    static const cm_backend_class first = {.name = "cuda", .device = &cm_far_device, .open = open_far};
    *stamp = &cm_module_stamp_here;
    return &first;
}
