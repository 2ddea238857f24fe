/* The kernels of a search on the CPU: those that a GPU runs, root by root, forwards and backwards alternately. Memory
 * may be the host's or that of the far device (far.h). */
#ifndef TESTS_SUPPORT_TREE_CPU_H
#define TESTS_SUPPORT_TREE_CPU_H

#include "mcts/device_search.h"

extern const cm_search_kernels tree_cpu_kernels;

/* Launches since the start. */
extern size_t tree_cpu_launches;

#endif
