/* What instructions work on: registers, threads, blocks; and how text becomes instructions. */
#ifndef TESTS_PTX_MACHINE_H
#define TESTS_PTX_MACHINE_H

#include <setjmp.h>

#include "ptx/ptx.h"

enum { PTX_WARP = 32, PTX_DEPTH = 8, PTX_GUARD = 4096 };

/* Where a block's and a thread's own memory begin: not at 0, which is no one's. */
enum { PTX_SHARED_BASE = 1024, PTX_LOCAL_BASE = 64, PTX_PARAM_BASE = 64 };

/* A register of any type; instructions read and write the bytes of theirs, loads and conversions extend to all. */
typedef union ptx_value {
    uint64_t u64, b64;
    int64_t s64;
    uint32_t u32, b32, pred;
    int32_t s32;
    uint16_t u16, b16;
    int16_t s16;
    float f32;
    double f64;
} ptx_value;

typedef enum ptx_base { PTX_REGISTERS, PTX_CONSTANTS, PTX_SPECIAL, PTX_BASES } ptx_base;
enum { PTX_TID, PTX_CTAID, PTX_NTID, PTX_NCTAID, PTX_LANEID, PTX_ASKED, PTX_SPECIALS };
/* PTX_ASKED has no name: where the memory begins that a launch asks for, after the entry's own. */

/* at: of the first lane's; the lanes of a warp have theirs side by side, but for constants, of which there is one. */
typedef struct ptx_operand {
    uint32_t base, at;
} ptx_operand;

typedef enum ptx_space { PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM } ptx_space;

struct thread;
struct ptx_group;
typedef struct ptx_instruction {
    void (*run)(struct thread *t, const struct ptx_instruction *i);
    /* All lanes at once: false if each has to run it by itself, and nothing is done. NULL: each always has to. */
    bool (*run_together)(const struct ptx_group *g, const struct ptx_instruction *i);
    const ptx_operand *o; /* what it writes, then what it reads, in the order of the text */
    int64_t offset[2];    /* of its addresses */
    int target;           /* of a branch */
    int source, line;     /* where the kernel's source says it: .file and .loc; 0: not known */
    int text_line;        /* of the module */
    ptx_operand guard;    /* what @p names */
    bool is_guarded, is_negated;
    bool is_signed;                   /* of an access: numbers are extended with their sign */
    uint8_t operands, outputs, count; /* count: elements of an access or of a mov with {} */
    uint8_t bytes;                    /* of one of them */
    uint8_t writes;                   /* operands that it writes, in front */
    uint16_t latency;                 /* cycles until they are there; of an access: without its memory's (profile.h) */
    int number;                       /* in the module */
    ptx_space space;
    uint32_t used;                       /* a bit per byte of an access that matters */
    const struct ptx_function *function; /* that it calls */
} ptx_instruction;

typedef struct ptx_parameter {
    size_t offset, bytes;
    ptx_operand slot; /* in a .func: a register */
} ptx_parameter;

struct ptx_function {
    const ptx_module *module;
    char *name;
    bool is_entry, is_defined;
    ptx_parameter parameters[PTX_PARAMETERS], result;
    int parameters_n;
    size_t parameter_bytes;
    ptx_instruction *code;
    int length;
    uint32_t registers;
    size_t local_first, local_bytes; /* of the memory that a thread has for all functions of the module */
    size_t shared_bytes;             /* without what a launch asks for */
    int64_t max_threads;             /* 0: not said */
};

typedef struct ptx_frame {
    const ptx_function *function;
    int pc;
    const ptx_instruction *call; /* that the frame is left by */
} ptx_frame;

typedef enum ptx_state { PTX_RUNS, PTX_SYNCS, PTX_WAITS, PTX_ENDED } ptx_state; /* WAITS: at a barrier of the block */

/* What is asked for all the time is in front. */
typedef struct thread {
    ptx_value *base[PTX_BASES]; /* of operands */
    const ptx_function *function;
    const ptx_instruction *at; /* that it runs, or waits at; not told while its lane runs with others (warp.c) */
    struct block *block;
    int pc; /* the next instruction; likewise */
    ptx_state state;
    uint16_t depth;
    uint16_t index; /* in its block */
    uint32_t mask;  /* of whom it waits for in its warp */
    uint32_t clock; /* barriers of its warp that it has come from, + 1 */
    ptx_frame frames[PTX_DEPTH];
    unsigned char *local;    /* [local_bytes] between guards */
    uint32_t seen[PTX_WARP]; /* the clocks of its warp's threads up to which all accesses come before its own */
    uint16_t fences;         /* between what it wrote and what reads after threads' backs, modulo 2^16 */
    uint16_t known_fences;   /* at the last barrier: those that the threads it met know of */
} thread;

struct races;
typedef struct block {
    const ptx_function *entry;
    const ptx_launch *launch;
    int64_t index;
    thread *threads;                /* [launch->threads] */
    ptx_value *registers, *special; /* [warps, register_count, PTX_WARP], [warps, PTX_SPECIALS, PTX_WARP] */
    unsigned char *shared, *locals, *parameters;
    size_t shared_bytes, local_bytes, parameter_bytes, register_count;
    uint32_t epoch; /* grows with every barrier of a block, and from block to block */
    struct races *races;
    struct ptx_profile *profile;   /* NULL: never asked */
    struct ptx_copies *copies;     /* [threads] */
    struct ptx_products *products; /* [warps] */
    jmp_buf stop;
    char *why;
} block;

#define PTX_AT(n)    (t->base[i->o[n].base][i->o[n].at])
#define PTX_VALUE(x) (t->base[(x).base][(x).at])

/* Where an instruction is, in the kernel's source if it is known, and in the text. */
enum { PTX_WHERE = 140 };
void ptx_where(const ptx_module *module, const ptx_instruction *i, char *text);

/* Ends the launch: "thread 3 of block 0, src/x.h:12: TEXT". */
_Noreturn void ptx_fail(thread *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name of a .file, NULL if there is none; the values of operands that are constants. */
const char *ptx_source(const ptx_module *module, int source);
ptx_value *ptx_constants(const ptx_module *module);
size_t ptx_local_bytes(const ptx_module *module); /* of all functions */
int ptx_instructions(const ptx_module *module);   /* how many, of all functions */
/* Calls `tell` for each of them. */
void ptx_each_instruction(const ptx_module *module, void (*tell)(void *to, const ptx_instruction *i), void *to);

int ptx_warps(const block *b);
size_t ptx_registers_of(const block *b);   /* of all threads, and of lanes that have none */
ptx_value *ptx_registers(const thread *t); /* of the entry: the first of the thread's */

/* ---- lanes that run together (warp.c) ---- */

/* Lanes of a warp that are at the same instruction. */
typedef struct ptx_group {
    thread *all; /* of the warp */
    ptx_value *base[PTX_BASES];
    uint32_t mask; /* of those of them that run the instruction */
} ptx_group;

#define PTX_EACH_LANE(lane, mask)                                                                                      \
    for (uint32_t left_ = (mask), lane; left_ && (lane = (uint32_t)__builtin_ctz(left_), true); left_ &= left_ - 1)

/* Lane by lane: where operand n is written; what it is, in `space` where all have the same. */
static inline ptx_value *ptx_results(const ptx_group *g, const ptx_instruction *i, int n) {
    return &g->base[i->o[n].base][i->o[n].at];
}
static inline const ptx_value *ptx_lanes_of(const ptx_group *g, const ptx_instruction *i, int n,
                                            ptx_value space[PTX_WARP]) {
    const ptx_value *first = ptx_results(g, i, n);
    if (i->o[n].base != PTX_CONSTANTS) return first;
    for (int k = 0; k < PTX_WARP; k++) space[k] = *first;
    return space;
}

/* Runs the threads of a warp, `first` of the block and those after it, until each is at a barrier, or at its end:
 * false if there was none to run. */
bool ptx_run_warp(block *b, int first);

/* ---- operations ---- */

typedef void (*ptx_run_function)(thread *t, const ptx_instruction *i);
typedef bool (*ptx_run_together)(const ptx_group *g, const ptx_instruction *i);

/* A row of the table of operations; one of both functions. */
typedef struct ptx_operation {
    const char *name; /* with _ in the place of dots */
    int operands;
    ptx_run_function run;
    ptx_run_together run_together;
} ptx_operation;

const ptx_operation *ptx_operation_named(const char *name); /* NULL: there is none */

/* The host's address of `bytes`, a power of 2, at an address of a space, all of them inside and at a multiple of
 * `bytes`, or the launch fails; *space: generic no more. */
unsigned char *ptx_place(thread *t, uint64_t address, size_t bytes, ptx_space *space);

void ptx_load(thread *t, const ptx_instruction *i);
void ptx_store(thread *t, const ptx_instruction *i);
bool ptx_pack(const ptx_group *g, const ptx_instruction *i);
bool ptx_unpack(const ptx_group *g, const ptx_instruction *i);
bool ptx_move(const ptx_group *g, const ptx_instruction *i);
void ptx_branch(thread *t, const ptx_instruction *i);
void ptx_call(thread *t, const ptx_instruction *i);
void ptx_return(thread *t, const ptx_instruction *i);
void ptx_prefetch(thread *t, const ptx_instruction *i);
void ptx_to_generic(thread *t, const ptx_instruction *i);
void ptx_from_generic(thread *t, const ptx_instruction *i);

/* ---- copies after a thread's back (copies.c) ---- */

struct ptx_copies *ptx_copies_open(int threads); /* NULL: no memory */
void ptx_copies_close(struct ptx_copies *copies, int threads);
void ptx_copy_async(thread *t, const ptx_instruction *i);
void ptx_commit_copies(thread *t, const ptx_instruction *i);
void ptx_wait_for_copies(thread *t, const ptx_instruction *i);
void ptx_wait_for_all_copies(thread *t, const ptx_instruction *i);
void ptx_fence(thread *t, const ptx_instruction *i);

/* ---- products of warp groups (products.c) ---- */

struct ptx_products *ptx_products_open(int warps); /* NULL: no memory */
void ptx_products_close(struct ptx_products *products, int warps);
void ptx_products_end_thread(thread *t);
void ptx_products_end_block(block *b); /* fails where warps of a group have done different things */
void ptx_come_to_bf16_group(thread *t, const ptx_instruction *i);
void ptx_come_to_f16_group(thread *t, const ptx_instruction *i);
void ptx_come_to_group_fence(thread *t, const ptx_instruction *i);
void ptx_come_to_group_commit(thread *t, const ptx_instruction *i);
void ptx_come_to_group_wait(thread *t, const ptx_instruction *i);
bool ptx_is_of_group(const ptx_instruction *i); /* one of these five */
void ptx_sync_group(thread *all);               /* a whole warp has come to one of them */

/* ---- barriers ---- */

void ptx_come(thread *t, ptx_state state, uint32_t mask);

void ptx_come_to_barrier(thread *t, const ptx_instruction *i);
void ptx_come_to_warp_barrier(thread *t, const ptx_instruction *i);
void ptx_come_to_shuffle(thread *t, const ptx_instruction *i);
void ptx_come_to_shuffle_from(thread *t, const ptx_instruction *i);
bool ptx_shuffle(const ptx_group *g, const ptx_instruction *i);
void ptx_come_to_bf16_product(thread *t, const ptx_instruction *i);
void ptx_come_to_f16_product(thread *t, const ptx_instruction *i);
void ptx_come_to_tf32_product(thread *t, const ptx_instruction *i);
void ptx_come_to_s8_product(thread *t, const ptx_instruction *i);
/* Lets lanes of the mask go on that have come to the same instruction and wait for one another alone: false if they do
 * not. */
bool ptx_sync_at_once(block *b, int first, uint32_t mask);
/* Lets threads go on whose partners are all there: true if there were any. */
bool ptx_sync_warp(block *b, int first);
bool ptx_sync_block(block *b);
/* Of a block where no thread can go on. */
_Noreturn void ptx_fail_barrier(block *b);

/* ---- profile ---- */

uint16_t ptx_latency(const char *name, int length); /* of an operation by its name, dots or _ in it */
bool ptx_profile_begin(block *b);                   /* a launch; false: no memory */
void ptx_profile_begin_block(block *b);
void ptx_profile_end_block(block *b);
void ptx_profile_issue(thread *t, const ptx_instruction *i); /* when it can */
void ptx_profile_result(thread *t, const ptx_instruction *i);
void ptx_profile_access(thread *t, const ptx_instruction *i, uint64_t address, ptx_space space);
void ptx_profile_sync(block *b, int first, uint32_t mask); /* those of the mask from thread `first` on */
/* When a copy that it issues now arrives, a product of so many cycles is done; it does not go on before `when`. */
uint64_t ptx_profile_copy(thread *t);
uint64_t ptx_profile_product(thread *t, int cycles);
void ptx_profile_until(thread *t, uint64_t when);
void ptx_profile_barrier(block *b); /* all of the block */

/* ---- races ---- */

struct races *ptx_races_open(void); /* NULL: no memory */
void ptx_races_close(struct races *races);
void ptx_races_begin(struct races *races); /* a launch */
/* `address` of the host; used: a bit per byte. Fails the thread's launch. */
void ptx_races_access(thread *t, const void *address, int bytes, uint32_t used, ptx_space space, bool is_write);
/* Shared memory that a product of a warp group reads: its writer must have fenced it, and met others, since. */
void ptx_races_factor(thread *t, const void *address, int bytes);

#endif
