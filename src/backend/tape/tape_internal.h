/* The inside of a tape: its variables and calls, and what is made of them.
 *
 *   while a network's code records      tape.c          variables and views; the first error
 *                                       tape_ops.c      forward calls
 *                                       tape_memory.c   variables that are laid after each other (cm_tape_stack)
 *   of an inference in 16 bits          tape_half.c     NHWC activations of that type
 *                                       tape_join.c     convolution and norm are one call
 *   of one with layers in 8 bits        tape_int8.c     which calls are those; tape_join.c, too
 *   cm_tape_finish, in this order
 *     of a tape that trains             tape_ranges.c   where maxima of fake quantisation lie in STATS
 *                                       tape_backward.c backward calls, in reverse
 *     of one that trains in 16 bits     tape_half.c     NHWC activations, and their gradients, of that type
 *     of one that trains                tape_merge.c    gradients of a parameter that several calls share
 *     of one with checkpointing         tape_recompute.c  forward calls again, in front of what reads their results
 *     of every tape                     tape_memory.c   where variables lie in WORK
 *     of one that trains in 16 bits     tape_copies.c   copies of 16 bits next to what layers read
 *     of one with checkpointing         tape_reuse.c    planes share memory that are not needed at one time
 *     of one whose backend has branches    tape_branches.c    calls that run concurrently with what follows them
 *   after it, any number of times      pass.c          prepared calls with addresses, played
 *                                       tape_cost.c     arithmetic and traffic
 *                                       tape_read.c     what was recorded
 *
 * Each changes the lists of calls or what calls say; none changes what a pass computes but for rounding: activations
 * round, merged calls add in an order of their own. */
#ifndef CM_BACKEND_TAPE_TAPE_INTERNAL_H
#define CM_BACKEND_TAPE_TAPE_INTERNAL_H

#include "backend/tape/tape.h"

typedef struct cm_tape_var {
    cm_memory memory;
    size_t offset;   /* bytes in its block; before cm_tape_finish, in WORK, in the variable that it lies in */
    cm_tensor shape; /* data NULL */
    cm_var lies_in;  /* of WORK: the variable whose memory has its own; CM_NO_VAR: its own */
    cm_var owner;    /* of WORK, after cm_tape_place: the last of those, or itself */
    cm_var grad;     /* CM_NO_VAR: no gradient is wanted */
    cm_var base;     /* of a view: the variable whose memory and gradient it shares, else CM_NO_VAR */
    bool slice;      /* the view is a part of its base: of its rows or of its columns */
    bool named;      /* of WORK: a call or a constant has it, a part of it, or what it lies in */
    bool written;    /* while recording backward: its gradient has been written */
    float range;     /* of a weight whose layer may be in 8 bits (cm_param); else 0 */
    size_t used;     /* elements of it that slices with a written gradient cover */
} cm_tape_var;

typedef struct cm_tape_node {
    cm_op op;
    cm_var t[CM_CALL_TENSORS];
    cm_attr attr;
    int branch;        /* as in cm_call */
    cm_call_part part; /* likewise */
    int segment;       /* of a forward call: the innermost one that it is in; 0: none */
} cm_tape_node;

/* Forward calls first .. end - 1, of which backward calls get what they read by recomputing them. */
typedef struct cm_tape_segment {
    int outer; /* the one that it lies in, of a lower number */
    int first, end;
} cm_tape_segment;

typedef struct cm_tape_list {
    cm_tape_node *node;
    int count, capacity;
} cm_tape_list;

typedef struct cm_tape_constant_fill {
    cm_var var;
    float value;
} cm_tape_constant_fill;

enum { CM_TAPE_CONSTANTS = 16 };

struct cm_tape {
    bool training, half, finished;
    int branches; /* of calls; 0: all run in order */
    cm_dtype compute;
    cm_call_part part; /* of what is recorded now */
    cm_status error;
    char message[256]; /* of the first error */
    cm_tape_var *var;
    int vars, var_capacity;
    cm_tape_list forward, backward;
    cm_recompute recompute;
    cm_tape_segment *segments; /* number 0 is the whole forward pass; none without recomputation */
    int segment_count, segment_capacity;
    int segment; /* that is being recorded */
    cm_norm_call *norm;
    int norms, norm_capacity;
    cm_range_call *range;
    int ranges, range_capacity;
    cm_tape_constant_fill constant[CM_TAPE_CONSTANTS];
    int constants;
    bool *ends; /* [backward.count + 1] calls after which a part ends; NULL: backward is played as a whole; owned */
    size_t bytes[CM_MEM_COUNT];
};

/* Keeps the first error. */
void cm_tape_error(cm_tape *tape, const char *format, ...) CM_PRINTF(2, 3);
/* Grows *items so that `count` + 1 fit. */
bool cm_tape_grow(cm_tape *tape, void *items, int count, int *capacity, size_t size);

/* A new variable at the end of a block, CM_ALIGN-aligned; with its gradient in WORK if `gradient` and the tape trains.
 */
cm_var cm_tape_new(cm_tape *tape, cm_memory memory, cm_dtype dtype, int ndim, const int *dim, bool gradient);
cm_var cm_tape_new_like(cm_tape *tape,
                        cm_var x); /* WORK, float32, shape of x, gradient if x or the tape's parameters have one */
/* `shape`, which begins `offset` bytes after the first of x, without gradient; CM_NO_VAR of CM_NO_VAR. */
cm_var cm_tape_alias(cm_tape *tape, cm_var x, const cm_tensor *shape, size_t offset);
cm_var cm_tape_root(const cm_tape *tape, cm_var x); /* the owner of x's bookkeeping: whole views share their base's */
cm_var cm_tape_view(cm_tape *tape, cm_var base, const cm_tensor *shape, size_t offset, bool slice);

/* Appends a call; t[] starts as CM_NO_VAR everywhere. NULL after an error. Valid until the next append. */
cm_tape_node *cm_tape_append(cm_tape *tape, cm_tape_list *list, cm_op op);

/* Takes the call at a place out of a list. */
void cm_tape_remove(cm_tape_list *list, int place);

/* Whether two variables have bytes in common; whether all bytes of `part` are bytes of `whole`. */
bool cm_tape_overlap(const cm_tape_var *a, const cm_tape_var *b);
bool cm_tape_inside(const cm_tape_var *part, const cm_tape_var *whole);

/* True if gradients are recorded and x has one. */
bool cm_tape_wants(const cm_tape *tape, cm_var x);

/* Lays `count` >= 1 variables of one row size after each other, those that have a place of their own in memory that
 * is made for them. The variable of all their rows, without gradient; CM_NO_VAR if they lie elsewhere or an error was
 * kept. */
cm_var cm_tape_lay(cm_tape *tape, const cm_var *parts, int count);
bool cm_tape_can_lay(const cm_tape *tape, const cm_var *parts, int count);
/* Gives the WORK variables from `first` on their offsets in the block: once all are known, and again for those that
 * are made later. Those that no call names, such as gradients of what no loss depends on, take no memory. */
void cm_tape_place(cm_tape *tape, cm_var first);
/* Of a finished tape: whether x has memory: it is given, or a call names it or what it lies in. */
bool cm_tape_has_memory(const cm_tape *tape, cm_var x);

/* The variable whose memory x lies in, as long as WORK has no places; CM_NO_VAR if x lies in another class. */
cm_var cm_tape_owner(const cm_tape *tape, cm_var x);
/* Whether an owner may have its memory at times alone: planes are, constants are none. */
bool cm_tape_is_shared(const cm_tape *tape, cm_var owner);

/* A gradient's scale has no forward work: its two variables are the same memory. */
bool cm_tape_is_silent(const cm_tape *tape, const cm_tape_node *node);

/* Is it a convolution whose sums are its result? Then what it computes with may be that one's type, too. */
bool cm_tape_is_plain(const cm_tape_node *node);

/* Gives the calls of fake_quantise of one range neighbouring places for their maxima. */
void cm_tape_place_ranges(cm_tape *tape);

/* Records the backward calls of all forward calls in reverse. */
void cm_tape_backward(cm_tape *tape);

/* Gradients of a parameter that several backward calls add to, each for rows of its own, become one call's on all of
 * these rows. Where calls have branches, those of a single call become a call of their own, too. */
void cm_tape_merge_gradients(cm_tape *tape);
/* Whether a backward call makes gradients of parameters, and no other, in a way that cm_tape_merge_gradients knows and
 * that leaves a part of a GPU to others. */
bool cm_tape_makes_parameters(const cm_tape_node *call);

/* Records the calls of segments a second time where the backward pass needs what they make (tape_recompute.c). Errors:
 * CM_ERR_MEMORY. */
cm_status cm_tape_record_again(cm_tape *tape) CM_MUST_USE;
/* Moves what is shared so that variables lie where others are not needed yet, or no longer; when all else is placed.
 * Errors: CM_ERR_MEMORY. */
cm_status cm_tape_reuse(cm_tape *tape) CM_MUST_USE;

/* Gives heads, and such calls that nothing waits for, their branches; at the end of a recording. */
void cm_tape_give_branches(cm_tape *tape);

/* Has the calls of a whole tape write and read copies of 16 bits. Errors: CM_ERR_MEMORY; the tape's own. */
cm_status cm_tape_make_copies(cm_tape *tape) CM_MUST_USE;
#endif
