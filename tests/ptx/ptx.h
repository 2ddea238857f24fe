/* Runs PTX, the code that nvcc makes of kernels, on the CPU: every thread of a launch, instruction by instruction.
 *
 * A thread runs until it comes to a barrier: bar.sync for all threads of a block, shfl.sync and bar.warp.sync
 * for those of the mask, mma.sync and what warp groups do (wgmma) for a warp. The blocks of a launch run one after the
 * other, the warps of a block interleaved, from the first to the last or the other way round. Lanes of a warp that are
 * at the same instruction run it together, those that are behind ahead of the others: results must not depend on it,
 * and where they could it is a race. What a device would do without a word, or not do for ever, ends the launch with
 * one line that says which thread did it, and where:
 *
 *     threads that do not come to a barrier: because they have ended, have another mask or another instruction
 *     reads and writes across the end of shared memory, that is a thread's own, or of arguments; at
 *     addresses that are no multiple of all bytes of the access
 *     races: two threads' accesses to the same memory, global or shared, of which one writes, without a barrier between
 *     them that is for both (shuffles order no memory, nor does anything order blocks)
 *     products of warp groups that are not waited for, not the same in all warps of a group, without a wgmma.fence, or
 *     of memory that was written without a fence.proxy.async ahead of a barrier
 *     a division of integers by 0, more threads than .maxntid, an instruction that is not known here
 *
 * Asynchronous work is as late as it may be. Bytes that cp.async copies arrive when the thread waits
 * for their group, or ends; until then NaN is where they will lie. A wgmma.mma_async reads its factors, and adds to its
 * sums, when its group is waited for: sums are as they were until then, and factors as they have become. Both factors
 * are in shared memory, K-major and not swizzled, of bf16 or f16; sums are of f32. To races they count as read by the
 * first and the last lane of each warp, from when a product is issued until it is made.
 *
 * Shared memory, or that is a thread's own, is full of NaN at first. Global memory is the host's, at the
 * host's addresses. Arithmetic is that of the PTX ISA, bit for bit; where that allows an error (.approx) the result is
 * rounded correctly, and the sums of mma and wgmma, whose order the ISA leaves open, are made in float64 and rounded
 * once for every 16 products. A NaN that arithmetic makes in float32 is 0x7fffffff, as on a device. Source: PTX ISA
 * 9.0. */
#ifndef TESTS_PTX_PTX_H
#define TESTS_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_LINE = 400, PTX_THREADS = 1024, PTX_PARAMETERS = 8 };

typedef struct ptx_module ptx_module;
typedef struct ptx_function ptx_function;

/* A module from its text, which may go away; NULL with a line in why[PTX_LINE]. The caller closes it. */
ptx_module *ptx_open(const char *text, char *why);
void ptx_close(ptx_module *module); /* NULL is allowed */

/* The one .entry whose name contains `part`; NULL with a line in why[PTX_LINE] if there is none, or more than one. */
const ptx_function *ptx_entry(const ptx_module *module, const char *part, char *why);
int ptx_parameters(const ptx_function *entry);                    /* how many it has, at most PTX_PARAMETERS */
size_t ptx_parameter_bytes(const ptx_function *entry, int which); /* of one of them */
size_t ptx_kept_bytes(const ptx_function *entry); /* of a block's memory that it takes besides what a launch asks for */

/* Does it wait for the launches ahead of it (griddepcontrol.wait) before it does anything but read its arguments and
 * compute in registers? All else counts as touching memory; a module with atom or red, which are not known here, does
 * not open. */
bool ptx_waits_first(const ptx_function *entry);

typedef struct ptx_launch {
    int64_t blocks;
    int threads;                            /* of a block, at most PTX_THREADS */
    size_t shared;                          /* bytes of extern .shared memory */
    const void *parameters[PTX_PARAMETERS]; /* the values of the entry's parameters */
    bool backwards, threads_backwards;      /* from the last block, or thread, to the first */
    struct ptx_profile *profile;            /* that it adds to (profile.h); NULL: none */
} ptx_launch;

/* What is kept from launch to launch, which are one after the other on it: memory. NULL: there is none. */
typedef struct ptx_machine ptx_machine;
ptx_machine *ptx_machine_open(void);
void ptx_machine_close(ptx_machine *machine); /* NULL is allowed */

/* False with a line in why[PTX_LINE]. */
bool ptx_run(ptx_machine *machine, const ptx_function *entry, const ptx_launch *launch, char *why);

extern uint64_t ptx_steps; /* instructions that threads have run in this process, of one thread each */

#endif
