/* Kernels as nvcc has compiled them, run on the CPU (ptx/ptx.h): where CUMIND_TEST_PTX names a folder of PTX, launches
 * of the tests go there in the place of the functions that the host's compiler made of them. CUMIND_PTX_PROFILE names a
 * file that gets, when the program ends, what they would cost a device (ptx/profile.h). */
#ifndef TESTS_SUPPORT_COMPILED_H
#define TESTS_SUPPORT_COMPILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the launchers of kernel.cuh do: `items` items of kernel `name` with `lanes` lanes each, on args[bytes]; a
 * kernel of blocks has `memory` bytes for its arguments and what its lanes share; blocks and threads in an order that
 * chance chooses. False where CUMIND_TEST_PTX is not set. Whatever is wrong, a kernel that the folder does not have
 * included, fails the test with one line. */
bool compiled_run(const char *name, const void *args, size_t bytes, int64_t items, int lanes, size_t memory);

/* Is the PTX of CUMIND_TEST_PTX, whose folder has the number of an architecture, of this one or a newer one? True where
 * it is not set. */
bool compiled_for(int architecture);

#endif
