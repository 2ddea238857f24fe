/* Inside of the cpu backend: its state, the packed weights that all streams share, the plans of a stream.
 *
 *   cpu.c, plan.c         the class: opening, streams; plans and their lookup
 *   product.h, pack.c     matrix products, packed weights
 *   dense.c, lstm.c       dense layers and lstm by them
 *   int8*.h               dense layers and convolutions in 8 bits; int8_kernels.h, kernels_int8*.c: its kernels
 *   conv.c, winograd.h, conv_lines.h  convolutions by oneDNN, by Winograd's algorithm, with a stride line by line
 *   kernels.h             the kernels, a file per instruction set (kernels_*.c), each compiled from the same *.inc
 *   dnnl.h, dnnl_v*.c     what is used of oneDNN, and how its versions differ
 *
 * A plan is made by prepare for one key (backend/call_key.h) and belongs to its stream. Packed weights belong to the
 * backend, are shared by the plans that need the same layout of the same weight, and go with the last of them.
 * Operations that need neither weight nor choice have no plan.
 */
#ifndef CM_BACKEND_CPU_CPU_H
#define CM_BACKEND_CPU_CPU_H

#include "backend/call_key.h"
#include "backend/cpu/int8_kernels.h"
#include "backend/cpu/kernels.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- packed weights ------------------------------------------------------------------------------------------- */

typedef enum cm_pack_layout {
    CM_PACK_FORWARD,      /* b of y = x w^T: k runs over the inputs, panels over the outputs */
    CM_PACK_FORWARD_BF16, /* the same in pairs of bfloat16 along k */
    CM_PACK_BACKWARD,     /* b of dx = dy w: k runs over the outputs, panels over the inputs */
    CM_PACK_BACKWARD_BF16,
    CM_PACK_ACTIONS, /* what each action adds: [actions, rows rounded up to 16]; tag 0: onehot, else scaled by 1/tag */
    CM_PACK_ACTIONS_BF16, /* the same from numbers rounded to bfloat16 */
    CM_PACK_WINOGRAD,     /* winograd.h */
    CM_PACK_WINOGRAD_BACKWARD,
    CM_PACK_LINES_BACKWARD, /* conv_lines.h */
    CM_PACK_INT8,           /* int8.h */
    CM_PACK_INT8_WINOGRAD,  /* int8_winograd.h */
    CM_PACK_OTHER           /* made by `fill`, told apart by tag */
} cm_pack_layout;

typedef struct cm_pack cm_pack;
struct cm_pack {
    /* key */
    cm_pack_layout layout;
    const float *weight; /* borrowed: [rows, *] */
    int rows, columns;   /* the part of the weight that is packed, from `first` on */
    int stride, first;
    uint64_t tag;
    /* content */
    size_t bytes;
    void *data; /* owned, CM_ALIGN-aligned; its address never changes */
    cm_status (*fill)(const cm_pack *pack, void *out);
    const cm_kernels *kernels;
    void *context; /* of fill; owned through free_context */
    void (*free_context)(void *context);
    int users;
};

typedef struct cm_cpu {
    cm_kernels kernels;
    const cm_int8_kernels *int8;
    cm_op_run run[CM_OP_COUNT];
    void *engine;         /* a dnnl_engine_t */
    pthread_mutex_t lock; /* of what follows */
    cm_pack **packs;      /* [pack_count] */
    int pack_count, pack_capacity;
    void *compare; /* [compare_bytes] scratch of cm_pack_acquire */
    size_t compare_bytes;
    size_t scratch_bytes;           /* of all streams */
    bool said_no[CM_PRODUCT_TYPES]; /* instructions for this type */
    char description[160];
} cm_cpu;

/* The pack with the key of `wanted`, filled from the weight as it is now; *out counts one user more. A new one takes
 * content, size and context from `wanted`; if it is known already, the context of `wanted` is freed. */
cm_status cm_pack_acquire(cm_cpu *cpu, const cm_pack *wanted, cm_pack **out) CM_MUST_USE;
cm_status cm_pack_check(cm_cpu *cpu, const cm_pack *pack) CM_MUST_USE; /* fills it again if its weight has changed */
void cm_pack_release(cm_cpu *cpu, cm_pack *pack);                      /* NULL is allowed */

/* Completes the key of a dense layer's pack with its size and filling function. */
void cm_pack_describe(cm_pack *pack);
cm_status cm_pack_refresh(cm_cpu *cpu, const void *block, size_t bytes, cm_pool *pool) CM_MUST_USE;

/* ---- plans ---------------------------------------------------------------------------------------------------- */

enum { CM_PLAN_PACKS = 4 };

typedef struct cm_plan cm_plan;
struct cm_plan {
    cm_plan *next;
    cm_call_key key;
    cm_pack *packs[CM_PLAN_PACKS];    /* used by it, NULL where there is none */
    void (*free_rest)(cm_plan *plan); /* frees what a kind of plan holds besides, may be NULL */
    cm_op_run run;                    /* of operations that are done in several ways */
};

enum { CM_PLAN_BUCKETS = 64 };
typedef struct cm_cpu_stream {
    cm_plan *plans[CM_PLAN_BUCKETS];
    unsigned char *scratch; /* [scratch_bytes], CM_ALIGN-aligned; grows in prepare only */
    size_t scratch_bytes;
    void *dnnl; /* a dnnl_stream_t, NULL until a plan needs it */
} cm_cpu_stream;

/* Lets the backend run on these kernels, with products in bfloat16 or without; before anything is prepared. */
void cm_cpu_use(cm_cpu *cpu, const cm_kernels *kernels, bool bf16);

static inline cm_cpu *cm_cpu_of(const cm_stream *stream) { return (cm_cpu *)stream->backend->state; }
static inline cm_cpu_stream *cm_lane_of(const cm_stream *stream) { return (cm_cpu_stream *)stream->state; }

/* At least `bytes` of scratch memory for every call of this stream; until it is closed. */
cm_status cm_cpu_reserve(cm_stream *stream, size_t bytes) CM_MUST_USE;
void cm_cpu_free_scratch(cm_stream *stream);

/* What a product in bfloat16 reads of x. */
static inline float cm_cpu_rounded(float x, bool bf16) { return cm_rounded(x, bf16 ? CM_BF16 : CM_F32); }

/* For the backend's class: prepare a call; free all plans of a stream. */
cm_status cm_cpu_prepare(cm_stream *stream, cm_call *call) CM_MUST_USE;
void cm_cpu_free_plans(cm_stream *stream);

/* Does this call compute in bfloat16? Says once what is computed in float32 in its place: bfloat16 where the processor
 * lacks the instructions, and float16. */
bool cm_cpu_uses_bf16(const cm_stream *stream, const cm_call *call);

/* Makers of plans: structs that begin with a cm_plan, whose `packs` and `free_rest` they set. What they made before an
 * error is in *out. */
cm_status cm_cpu_plan_dense(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_cpu_plan_dense_backward(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_cpu_plan_lstm(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_cpu_plan_lstm_backward(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_cpu_plan_muon_step(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_cpu_plan_conv2d(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_cpu_plan_conv2d_norm(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_cpu_plan_conv2d_backward(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;

/* ---- operations (the rest are those of ref) ------------------------------------------------------------------- */

cm_status cm_cpu_dense(cm_stream *stream, const cm_call *call);
cm_status cm_cpu_muon_step(cm_stream *stream, const cm_call *call);
cm_status cm_cpu_dense_backward(cm_stream *stream, const cm_call *call);
cm_status cm_cpu_lstm(cm_stream *stream, const cm_call *call);
cm_status cm_cpu_lstm_backward(cm_stream *stream, const cm_call *call);
cm_status cm_cpu_conv2d(cm_stream *stream, const cm_call *call);
cm_status cm_cpu_conv2d_norm(cm_stream *stream, const cm_call *call);
cm_status cm_cpu_conv2d_backward(cm_stream *stream, const cm_call *call);

#ifdef __cplusplus
}
#endif
#endif
