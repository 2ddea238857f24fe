/* How many processors this process may use. */
#ifndef CM_CORE_CPU_H
#define CM_CORE_CPU_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Processors this process may use, at least 1: the smallest of affinity mask, cgroup CPU quota (rounded up) and
 * SLURM_CPUS_PER_TASK. */
int cm_cpu_count(void);

/* The instruction sets of x86-64 that kernels are written for, best first. */
typedef enum cm_simd {
    CM_SIMD_AVX512, /* F, BW, DQ and VL */
    CM_SIMD_AVX2,   /* with FMA         */
    CM_SIMD_ANY     /* what every processor of the target has */
} cm_simd;

/* The best one that this processor has; CM_SIMD_ANY on other architectures. */
cm_simd cm_cpu_simd(void);

/* From now on this process, and what it starts, keeps to one of `sharing` even shares of the processors that it may
 * use, number `place` from 0; to at most `most` of them (at least 1). Where there are fewer processors than shares
 * several have the same one. What the system refuses is left to it. */
void cm_cpu_share(int place, int sharing, int most);

/* The CPU quota of a process's control groups, v1 or v2, in processors, rounded up; 0 if there is none. A quota of a
 * parent group counts, too. `membership` is the process's list of groups (/proc/self/cgroup), `mount` where the groups
 * are mounted (/sys/fs/cgroup). What cannot be read sets no limit. */
int cm_cpu_quota(const char *membership, const char *mount);

#ifdef __cplusplus
}
#endif
#endif
