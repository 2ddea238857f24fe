/* How much memory there is, and how to say it. */
#ifndef CM_CORE_MEMORY_H
#define CM_CORE_MEMORY_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "950 B", "12 kB", "3.4 MB", "116 GB": powers of 1,000, as everywhere in messages. */
void cm_format_bytes(double bytes, char out[16]);

/* How much memory there still is for this process: the least of what the machine has available (free swap included),
 * what the control groups that it is in allow (v1 and v2, each of those that hold it), what the job of SLURM's may take
 * on a node less what this process has, and what `ulimit -v` and -d allow.
 * Blocks that were taken (below) and not yet written to count as used. */
typedef struct cm_memory_space {
    uint64_t bytes; /* UINT64_MAX if the system does not say */
    uint64_t limit; /* all that whoever has the least to give would allow; 0: that is the machine */
    const char *by; /* "the machine", "a control group", "SLURM", "ulimit -v", "ulimit -d" */
} cm_memory_space;
cm_memory_space cm_memory_ask(void);
uint64_t cm_memory_available(void); /* its bytes */
/* "21 GB are available (a control group allows 24 GB)" */
void cm_memory_describe(const cm_memory_space *space, char *out, size_t size);

/* What control groups leave, from the list of them that a process has (/proc/self/cgroup) and where they are mounted
 * (/sys/fs/cgroup). Lowers *space. */
void cm_memory_ask_groups(const char *list, const char *mounted, cm_memory_space *space);

/* What SLURM leaves to a process that has `resident` bytes: SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times
 * SLURM_CPUS_ON_NODE, all in MiB; 0, and no number, mean no limit. Lowers *space. */
void cm_memory_ask_slurm(uint64_t resident, cm_memory_space *space);

/* Bytes that this process may take in blocks, all together: Device.memory_limit; 0: no limit but the machine's. */
void cm_memory_limit(uint64_t bytes);

/* Counts a block before it is allocated, and when it has been freed. Errors: CM_ERR_MEMORY if the limit or the machine
 * has less; nothing is counted then. */
cm_status cm_memory_reserve(size_t bytes, const char *what) CM_MUST_USE;
void cm_memory_release(size_t bytes);

/* CM_ERR_MEMORY "WHAT: cannot take 116 GB of memory". Here, so that analysers see that it never returns CM_OK. */
static inline cm_status cm_memory_fail(double bytes, const char *what) {
    char size[16];
    cm_format_bytes(bytes, size);
    return cm_fail(CM_ERR_MEMORY, "%s: cannot take %s of memory", what, size);
}

/* Fails if `bytes` cannot be there: "WHAT: cannot take 116 GB of memory, 21 GB are available (a control group allows
 * 24 GB)". Errors: CM_ERR_MEMORY. */
cm_status cm_memory_check(double bytes, const char *what) CM_MUST_USE;

/* For callers that know what a block was wanted for: if `status` is CM_ERR_MEMORY, adds "; ADVICE" to the message, as
 * in "lower num_envs". Returns `status`. */
cm_status cm_memory_advise(cm_status status, const char *advice);

#ifdef __cplusplus
}
#endif
#endif
