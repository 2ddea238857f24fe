/* The simulations of a search as one kernel, on the CPU (backend/cuda/cuda_cpu.h). */
#ifndef TESTS_AGENT_SIMULATIONS_CPU_H
#define TESTS_AGENT_SIMULATIONS_CPU_H

/* Launches of it since the start, and of how many layers weights were in shared memory in the last one: all of
 * them, and the first of them. */
extern int simulations_cpu_launches, simulations_cpu_shared, simulations_cpu_partly;

#endif
