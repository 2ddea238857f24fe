/* All arithmetic of cumind, behind one table of operations.
 *
 * A backend ("ref": plain loops, the reference implementation; "cpu": oneDNN and own kernels; "cuda") is a table with
 * one function per row of ops.def. A call is one operation on tensors: its tensors in the order of the row, its
 * attributes, and a plan that the backend keeps for it (a oneDNN primitive, a chosen kernel). cm_call_run checks
 * nothing and allocates nothing; cm_call_prepare checks the arguments, finds or builds the plan and packs the weights,
 * once.
 *
 * Calls run in the order of their stream: on a CPU one worker's scratch memory, on CUDA a CUDA stream.
 * Streams of one backend may be used by different threads at the same time; one stream by one thread at a time.
 * Preparing is safe from several threads at once, each on its own stream.
 *
 * Weights (the `weight` of dense and conv2d) are packed once per version: call cm_backend_repack after a parameter
 * block has changed, before the next call that reads it.
 *
 *   ops.def, check.h                       the operations: a row each with its tensors; what is refused
 *   call_key.h                             what tells plans of calls apart
 *   formulas.h, support.h, sampling.h      arithmetic that all backends share, each formula once
 *   int8.h                                 products in 8 bits
 *   schedule.h                             learning rates over time
 *   ref/, cpu/, cuda/                      the backends; classes.h lists them, module.h opens those that are modules
 *   measure.h                              one that allocates no memory and says what would be
 *   tape/tape.h                            recording passes and running them; tape/tape_internal.h has its files
 */
#ifndef CM_BACKEND_BACKEND_H
#define CM_BACKEND_BACKEND_H

#include "core/each_pair.h"
#include "core/policy_form.h"
#include "core/pool.h"
#include "core/status.h"
#include "device/device.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_op {
#define CM_OP(name, ...) CM_OP_##name,
#include "backend/ops.def"
#undef CM_OP
    CM_OP_COUNT
} cm_op;

typedef enum cm_activation {
    CM_ACT_NONE,
    CM_ACT_RELU,
    CM_ACT_GELU_TANH,
    CM_ACT_ELU,
    CM_ACT_TANH,
    CM_ACT_SIGMOID,
    CM_ACT_SOFTPLUS
} cm_activation;
enum { CM_ACT_COUNT = CM_ACT_SOFTPLUS + 1 };

/* The function of a network (network.h) that a call belongs to, for who profiles a search. */
typedef enum cm_call_part { CM_PART_NONE, CM_PART_REPRESENTATION, CM_PART_DYNAMICS, CM_PART_PREDICTION } cm_call_part;

typedef enum cm_encoding { CM_ENCODE_ONEHOT, CM_ENCODE_SCALED, CM_ENCODE_BOARD } cm_encoding;

/* Atoms min, ..., max (size of them) of a categorical value or reward; size 1: a scalar output without transform. */
typedef struct cm_support {
    float min, max;
    int size;
    bool transform; /* h of learning 2 in front of the projection */
} cm_support;

/* State of dynamic loss scaling: scaling[CM_SCALING_NUMBERS] on the device, that clip renews. Counts stand still at
 * 2^24. */
typedef enum cm_scaling_number {
    CM_SCALING_SCALE,       /* what the losses' gradients are multiplied by, a power of two */
    CM_SCALING_GOOD,        /* steps taken since it changed */
    CM_SCALING_STEPS,       /* steps taken */
    CM_SCALING_SKIPPED,     /* steps skipped */
    CM_SCALING_CORRECTION1, /* 1 - beta1^steps */
    CM_SCALING_CORRECTION2, /* 1 - beta2^steps */
    CM_SCALING_NUMBERS
} cm_scaling_number;
#define CM_SCALING_MOST 16777216.0f /* the scale lies in 1 .. 2^24 */

/* Attributes; each row of ops.def names those it reads. Zero is the default everywhere. */
typedef struct cm_attr {
    cm_activation activation;
    cm_dtype compute;    /* CM_F32, CM_BF16 or CM_F16: type of the inputs of matrix products; CM_I8: int8.h */
    float range;         /* with CM_I8: x is read as -range .. range */
    uint32_t accumulate; /* bit i: tensor i of the call is added to */
    cm_encoding encoding;
    int actions; /* A of the encoding */
    cm_policy_form form;
    int stride, groups, group, horizon;
    bool per_channel;      /* minmax */
    bool inverse;          /* value_transform */
    bool kl;               /* policy_loss: add sum target log target */
    bool decoupled, first; /* adam_step, sgd_step */
    int growth;            /* clip: steps taken until the loss scale doubles; 0: never */
    float epsilon, scale;
    /* of the optimizer; doubles, because 1 - beta and its like are computed in double and rounded once */
    double learning_rate, beta1, beta2, correction1, correction2, weight_decay, gradient_scale, clip_norm;
    cm_support support;
} cm_attr;

enum { CM_CALL_TENSORS = CM_EACH_PAIR_MOST, CM_CALL_BRANCHES = 3 /* at most */ };
enum { CM_OP_NAME_BYTES = 24, CM_LSTM_HIDDEN_MAX = 4096 };

typedef struct cm_call {
    cm_op op;
    cm_tensor t[CM_CALL_TENSORS]; /* in the order of the row; data NULL where an optional one is absent */
    cm_attr attr;
    /* 0: it runs in the order of its pass. 1 and more, up to the class's `branches`: nothing after it in the pass
     * touches what it writes or writes what it reads, but calls of the same branch, so it may run concurrently with
     * what follows, in the order of such a branch. */
    int branch;
    cm_call_part part; /* changes nothing that is computed */
    void *plan;        /* owned by the stream; NULL until prepared */
} cm_call;

/* Places in cm_call.t: CM_T_dense_y, CM_T_dense_x, ... */
#define CM_PLACE(op, tensor, marks) CM_T_##op##_##tensor,
#define CM_OP(name, ...)            enum { CM_EACH_PAIR(CM_PLACE, name, __VA_ARGS__) };
#include "backend/ops.def"
#undef CM_OP
#undef CM_PLACE

/* A tensor of a call by its name in ops.def: CM_ARG(call, dense, weight); is it to be added to? */
#define CM_ARG(call, op, name)  (&(call)->t[CM_T_##op##_##name])
#define CM_ADDS(call, op, name) ((call)->attr.accumulate >> CM_T_##op##_##name & 1u)

typedef struct cm_backend cm_backend;
typedef struct cm_stream cm_stream;
typedef struct cm_event cm_event;
typedef cm_status (*cm_op_run)(cm_stream *stream, const cm_call *call);

/* Work of a stream that is more than the calls of a pass: launches on its queue, and passes (cm_pass_launch). `queue`
 * is the device's name for the stream, a cudaStream_t. */
typedef cm_status (*cm_stream_work)(void *context, void *queue);

/* Prepared calls that always run together, in their order. What they leave in work[work_bytes] is for each other alone;
 * NULL: others look at all of it. Calls of a pass that infers may run at any other time, too, whatever their tensors
 * hold. They are what they were the last time, unless `version` is another one: then addresses differ. */
typedef struct cm_call_list {
    const cm_call *calls;
    int count;
    const void *work;
    size_t work_bytes;
    bool infers;
    bool is_idle; /* they may run now, too: nothing that they touch is of use yet */
    uint64_t version;
} cm_call_list;

/* What was replayed so far: graphs, and the launches in them. */
typedef struct cm_replays {
    uint64_t graphs, launches;
} cm_replays;

struct cm_search_kernels; /* mcts/kernels.h */
struct cm_stop;           /* core/stop.h */
struct cm_agent_kernels;  /* agent/kernels.h */

/* What a backend implements. `name` and `run` are needed; a NULL hook has nothing to do. Needed together: the four
 * copies, of a device that is not the host; the events; `run_list` with `fuse` or `prepare_list`; `destroy_graph` with
 * `run_list` or `capture`; `capture` with `search_kernels`; these with `agent_kernels`. */
typedef struct cm_backend_class {
    const char *name;                            /* "ref", "cpu", "cuda" */
    const cm_device *device;                     /* where its tensors live; NULL: `open` sets it */
    cm_op_run run[CM_OP_COUNT];                  /* NULL: this backend lacks the operation */
    cm_status (*open)(cm_backend *backend);      /* fills what the class knows of cm_backend */
    void (*close)(cm_backend *backend);          /* frees backend->state */
    bool takes_half;                             /* takes tensors of 16 bits (ops.def) */
    bool takes_int8;                             /* takes calls with attr.compute CM_I8 (ops.def) */
    int branches;                                /* side streams, at most CM_CALL_BRANCHES (cm_call.branch) */
    size_t stream_bytes;                         /* of the device that a stream of calls takes for itself */
    cm_status (*stream_open)(cm_stream *stream); /* fills stream->state */
    void (*stream_close)(cm_stream *stream);     /* frees it and all plans */
    cm_status (*prepare)(cm_stream *stream, cm_call *call); /* sets call->plan */
    /* Bytes of the device that a call needs besides its tensors, which follow from its shapes. A stream takes the most
     * that any of its calls needs, besides stream_bytes; so does each of its branches for the calls of that. NULL: none
     * needs any. */
    size_t (*workspace)(const cm_call *call);
    size_t (*held)(const cm_backend *backend); /* see cm_backend_held; NULL: nothing */
    /* packs again what lies in block[bytes] */
    cm_status (*repack)(cm_backend *backend, const void *block, size_t bytes, cm_pool *pool);
    /* the same in the order of the stream, without waiting; NULL: repack does not wait either */
    cm_status (*renew)(cm_stream *stream, const void *block, size_t bytes);
    const char *(*describe)(const cm_backend *backend); /* one line: library, version, instruction set */
    void *(*queue)(const cm_stream *stream);            /* see cm_stream_queue; NULL: it has none */
    /* Where the device is not the host: see cm_stream_write and those that follow it. */
    cm_status (*write)(cm_stream *stream, void *to, const void *host, size_t bytes);
    cm_status (*read)(cm_stream *stream, void *host, const void *from, size_t bytes);
    cm_status (*push)(cm_stream *stream, void *to, const void *pinned, size_t bytes);
    cm_status (*pull)(cm_stream *stream, void *pinned, const void *from, size_t bytes);
    /* See cm_event_record and those that follow it; *state, NULL at first, is the class's and goes with
     * `event_destroy`. NULL: a stream has done what it was given. */
    cm_status (*event_record)(cm_stream *stream, void **state);
    cm_status (*event_wait)(cm_stream *stream, void *state);
    cm_status (*event_synchronize)(void *state);
    void (*event_destroy)(void *state);
    /* Makes one launch of calls without branches, so that `run_list` of the same *graph is that. It stays NULL where
     * that cannot be done or would take longer, which may be measured: the calls may run, on numbers of rows that are
     * written first. NULL: it never can. */
    cm_status (*fuse)(cm_stream *stream, const cm_call_list *calls, void **graph);
    /* Runs the calls in their order, those that have a branch concurrently with the others, the same ones again and
     * again; what the stream is given next comes after all of them. `captures`: a graph may be made of them; else they
     * are part of other work, which is captured or is not. *graph, NULL at first or what `fuse` has made, is the
     * class's and goes with `destroy_graph`. NULL: they are run one by one. */
    cm_status (*run_list)(cm_stream *stream, const cm_call_list *calls, bool captures, void **graph);
    void (*destroy_graph)(void *graph);
    /* Makes the *graph of a list that trains, NULL at first, before it is run: the calls may run to be measured. NULL:
     * `run_list` does so at its first time, when they may not. */
    cm_status (*prepare_list)(cm_stream *stream, const cm_call_list *calls, void **graph);
    /* Runs `work`, whose launches are the same every time, so that they may be captured: it is not called where they
     * are replayed. *graph as in `run_list`; `name` is for the log. */
    cm_status (*capture)(cm_stream *stream, const char *name, cm_stream_work work, void *context, void **graph);
    cm_replays (*replays)(const cm_backend *backend); /* by `run_list` and `capture`; NULL: there are none */
    /* Kernels with which the trees of searches lie on the device; they need `capture`. NULL: they lie on the host. */
    const struct cm_search_kernels *search_kernels;
    /* With which all simulations of such a search are one launch, unless the backend is unfused. NULL: never. */
    const struct cm_agent_kernels *agent_kernels;
} cm_backend_class;

/* Who runs every call of a backend in its place (cm_call_run), on the call's own thread: a profiler, which calls
 * kind->run[call->op] between two readings of a clock. */
typedef struct cm_call_listener {
    cm_status (*run)(cm_stream *stream, const cm_call *call);
} cm_call_listener;

enum { CM_DEVICE_ID_BYTES = 16 };
struct cm_backend {
    const cm_backend_class *kind;
    const cm_call_listener *listener; /* borrowed; NULL: none */
    const cm_device *device;          /* where its tensors live */
    void *state;                      /* of the class */
    bool native[CM_PRODUCT_TYPES];    /* matrix products in this type are native here; CM_F32 always is */
    bool is_eager;    /* nothing is captured: what is to be replayed runs as it is. Set before streams open */
    bool is_unfused;  /* calls are launched one by one. Set before passes are created, and first run */
    bool is_in_order; /* no call runs concurrently with others (cm_call.branch). Set before tapes are recorded */
    int place;        /* as cm_backend_open_at has it */
    int devices;      /* that `open` has found to choose from; 0: there is nothing to choose */
    unsigned char device_id[CM_DEVICE_ID_BYTES]; /* no other device has it; zeros where the device is the host */
};

struct cm_stream {
    cm_backend *backend;        /* borrowed */
    void *state;                /* of the class */
    bool is_urgent;             /* as cm_stream_open_as has it */
    const struct cm_stop *stop; /* borrowed: passes on it end with CM_ERR_INTERRUPTED before the next call once it is
                                   asked (core/stop.h); NULL, as at first: never */
};

/* The backends of this build, a NULL-terminated list; the first one that opens is what "auto" takes. */
const cm_backend_class *const *cm_backend_classes(void);

/* Opens a backend by name; "auto" is the first one that opens. Errors: CM_ERR_INPUT unknown name (lists the known),
 * CM_ERR_ABSENT not in this build or on this machine. */
cm_status cm_backend_open(const char *name, cm_backend **out) CM_MUST_USE;
/* The same on device `place` (>= 0) modulo their number: processes of one machine that have places of their own share
 * none as long as there are enough. */
cm_status cm_backend_open_at(const char *name, int place, cm_backend **out) CM_MUST_USE;
/* The same of a class. Errors: those of its `open`. */
cm_status cm_backend_open_class(const cm_backend_class *kind, cm_backend **out) CM_MUST_USE;
void cm_backend_close(cm_backend *backend); /* after all its streams; NULL is allowed */
/* What backends that are opened from now on have as listener; NULL: none. They are eager, unfused and in order, so that
 * it is told of every call by itself. Not while another thread opens one. */
void cm_backend_listen(const cm_call_listener *listener);
const char *cm_backend_describe(const cm_backend *backend);
/* Bytes of the host that the backend has taken so far for itself and its streams: packed weights, scratch. What
 * libraries take, such as the code that oneDNN compiles, is not known. */
size_t cm_backend_held(const cm_backend *backend);

cm_status cm_stream_open(cm_backend *backend, cm_stream **out) CM_MUST_USE;
/* is_urgent: where several streams wait for a part of the device this one goes first. A hint: it changes no result. */
cm_status cm_stream_open_as(cm_backend *backend, bool is_urgent, cm_stream **out) CM_MUST_USE;
void cm_stream_close(cm_stream *stream); /* NULL is allowed */

/* The device's own name for the stream, a cudaStream_t, for libraries that work in its order; NULL if there is none. */
void *cm_stream_queue(const cm_stream *stream);

/* Runs `work` in the order of the stream, captured where the class can (its `capture`): `graph`, `name` as there. */
cm_status cm_stream_capture(cm_stream *stream, const char *name, cm_stream_work work, void *context,
                            void **graph) CM_MUST_USE;

/* Copies in the order of the stream. write: host[bytes] may be changed once it returns. read: returns with the bytes in
 * host, so all that the stream was given before is done. Nothing happens where both addresses are the same. Errors:
 * CM_ERR_DEVICE. */
cm_status cm_stream_write(cm_stream *stream, void *to, const void *host, size_t bytes) CM_MUST_USE;
cm_status cm_stream_read(cm_stream *stream, void *host, const void *from, size_t bytes) CM_MUST_USE;
/* The same for the host's side of a pinned mirror (device/mirror.h); neither waits, so the host's memory belongs to the
 * copy until an event after it has been reached. */
cm_status cm_stream_push(cm_stream *stream, void *to, const void *pinned, size_t bytes) CM_MUST_USE;
cm_status cm_stream_pull(cm_stream *stream, void *pinned, const void *from, size_t bytes) CM_MUST_USE;

/* A point in the order of a stream: what it had been given when the event was last recorded. Zeroed at first. */
struct cm_event {
    const cm_backend_class *kind;
    void *state; /* of the class; NULL: there is nothing to wait for */
};
cm_status cm_event_record(cm_event *event, cm_stream *stream) CM_MUST_USE;
/* What `stream`, of the same backend, is given from now on runs after the event; nothing is waited for. */
cm_status cm_stream_wait(cm_stream *stream, const cm_event *event) CM_MUST_USE;
cm_status cm_event_synchronize(const cm_event *event) CM_MUST_USE; /* returns when it has been reached */
void cm_event_destroy(cm_event *event);                            /* what follows it still does; leaves it zeroed */

/* Checks the arguments against the row of ops.def and the operation's shapes (CM_ERR_INPUT names operation and tensor),
 * then builds the plan and packs the weights. */
cm_status cm_call_prepare(cm_stream *stream, cm_call *call) CM_MUST_USE;

/* Runs a prepared call. Since it was prepared the tensors' addresses may have changed (not a weight's), and the scalars
 * of the optimizer's attributes; shapes, strides and other attributes may not. */
static inline cm_status cm_call_run(cm_stream *stream, const cm_call *call) {
    if (stream->backend->listener) return stream->backend->listener->run(stream, call);
    return stream->backend->kind->run[call->op](stream, call);
}

/* Eager: prepares (after the first time the plan comes from a cache) and runs. */
cm_status cm_call_eager(cm_stream *stream, cm_call *call) CM_MUST_USE;

/* Packs again all packed weights that lie in block[bytes]; `pool` may be NULL. Not while calls on them run. */
cm_status cm_backend_repack(cm_backend *backend, const void *block, size_t bytes, cm_pool *pool) CM_MUST_USE;
/* The same for weights that only this stream uses and changes, in its order: nothing is waited for. */
cm_status cm_stream_repack(cm_stream *stream, const void *block, size_t bytes, cm_pool *pool) CM_MUST_USE;

/* Floating-point operations of the call's matrix products, 2 per multiply-add, by the textbook: an algorithm may make
 * fewer. 0: it has no products. */
double cm_call_flop(const cm_call *call);
/* Bytes that it reads and writes, each tensor once; of a table of rows those that it takes. */
double cm_call_bytes(const cm_call *call);

const char *cm_op_name(cm_op op);
int cm_op_tensor_count(cm_op op);
/* Writes the tensor's name, e.g. "weight", into out and returns it; "" after the last one. */
const char *cm_op_tensor_name(cm_op op, int index, char out[CM_OP_NAME_BYTES]);
/* The place of the tensor that name[length] names; -1: the operation has none of it. */
int cm_op_tensor_place(cm_op op, const char *name, size_t length);
bool cm_op_tensor_optional(cm_op op, int index);
bool cm_op_tensor_written(cm_op op, int index);
bool cm_op_tensor_accumulates(cm_op op, int index); /* may be marked in attr.accumulate */
/* CM_F32 or CM_I32; CM_BF16: the 16 bits of attr.compute; CM_U8: bytes, or float32. */
cm_dtype cm_op_tensor_dtype(cm_op op, int index);
/* The tensor's shape as ops.def has it after '[', e.g. "B,o]+"; "" after the last one. */
const char *cm_op_tensor_shape(cm_op op, int index);

#ifdef __cplusplus
}
#endif
#endif
