/* Runs kernels on the CPU: the lanes of an item take turns on stacks of their own, from barrier to
 * barrier. A lane that comes to a barrier when the others, all or those of its part, do something else fails the test.
 */
#ifndef TESTS_SUPPORT_LANES_H
#define TESTS_SUPPORT_LANES_H

#include "device/cuda/lanes.h"

typedef void (*lanes_body)(const void *args, int64_t item, const cm_lanes *lanes);

/* Runs the items from the first to the last or the other way round, and so the lanes from barrier to barrier, whichever
 * chance says: what is run twice must give the same bits. The lanes of an item share `memory` bytes, full of NaN at
 * first. */
void lanes_run(lanes_body body, const void *args, int64_t items, int count, size_t memory);

#endif
