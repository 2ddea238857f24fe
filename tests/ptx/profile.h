/* What a launch would cost a device, by a model: where time goes in a kernel when no device is at hand. Cycles are no
 * measurement: they compare one way to write a kernel with another, and say which lines to look at.
 *
 *     cycles     of the chain of instructions that a block's end waits for. A lane issues an instruction a cycle at
 *                most, each once what it reads is there; that takes the latency of the operation (latency.c: round
 *                numbers near those published for the architectures 8.0 and 9.0). Between two jumps they come in the
 *                order that suits them, as ptxas would have it. A barrier waits for the last. Not in it: other warps
 *                that want the same slots, bandwidth, caches, what else ptxas makes of the text.
 *     issued     instructions of warps, where lanes that diverge run together again as soon as they can: a
 *                multiprocessor issues 4 a cycle at most
 *     units      of memory that requests of warps move: passes over the banks of shared memory (32 banks of 4 bytes, a
 *                quarter of a warp at a time for 16 bytes of each lane), sectors of 32 bytes of global memory; `least`
 * is what the same bytes would need if they lay side by side */
#ifndef TESTS_PTX_PROFILE_H
#define TESTS_PTX_PROFILE_H

#include <stdio.h>

#include "ptx/ptx.h"

typedef struct ptx_traffic {
    uint64_t requests, units, least;
} ptx_traffic;

typedef struct ptx_cost {
    uint64_t cycles;           /* of all blocks, one after the other */
    uint64_t issued, executed; /* instructions of warps, of threads */
    ptx_traffic shared, global;
} ptx_cost;

typedef struct ptx_profile ptx_profile;

/* Of an entry's launches, those that have it in `profile`, one after the other. NULL: no memory. The caller closes it,
 * before the module. */
ptx_profile *ptx_profile_open(const ptx_function *entry);
void ptx_profile_close(ptx_profile *profile); /* NULL is allowed */

ptx_cost ptx_profile_total(const ptx_profile *profile);

/* A table of the kernel and of the lines of its source that cost the most, at most `lines`. */
void ptx_profile_print(const ptx_profile *profile, int lines, FILE *out);

#endif
