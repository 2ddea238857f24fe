/* What a configuration means on this machine: environment, network, backend and worker threads, opened and checked
 * against each other. Training, evaluation, playing and benchmarks all start from a session. */
#ifndef CM_RUN_SESSION_H
#define CM_RUN_SESSION_H

#include "agent/agent.h"
#include "core/pool.h"
#include "distributed/comm.h"
#include "env/env.h"
#include "network/network.h"
#include "run/configuration.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SESSION_WHY = 256 };

typedef struct cm_session {
    cm_configuration configuration; /* a copy; sizes of environment and supports filled in */
    cm_env env;
    cm_env_tried tried;  /* what the random steps before it have seen */
    cm_network *network; /* owned */
    cm_backend *backend; /* owned */
    cm_pool *pool;       /* owned */
    cm_comm *comm;       /* of the ranks; borrowed, or `single` */
    cm_comm single;
    bool draws;                  /* num_sampled_actions was not given, and is what the number of actions asks for */
    char no_gpu[CM_SESSION_WHY]; /* why "auto" took the CPU, one line; "" if it did not, or no GPU is expected here */
    cm_dtype compute;            /* of matrix products; may be CM_F32 where bfloat16 was asked for and is not native */
} cm_session;

/* Opens all of it, for the ranks of `comm` (borrowed; NULL: one alone). Ranks of one machine take a GPU each, and all
 * join them; collective. Errors: CM_ERR_INPUT if keys and environment contradict each other, or if two ranks have the
 * same GPU and comm->oversubscribe is false; CM_ERR_ABSENT for a backend that this machine lacks, or if not all ranks
 * have the same one; those of cm_comm_join_devices. *out is owned by the caller. */
cm_status cm_session_open(const cm_configuration *configuration, cm_comm *comm, cm_session **out) CM_MUST_USE;
void cm_session_close(cm_session *session); /* NULL is allowed */

/* The network alone, for readers of files: no environment, of which `spec` says what has to be known, is opened, and no
 * backend and no pool. Errors: those of cm_network_create. *out is owned by the caller. */
cm_status cm_session_open_network(const cm_configuration *configuration, const cm_env_spec *spec,
                                  cm_session **out) CM_MUST_USE;

/* The backend of a session by itself: opened for this rank of `comm`, and joined with those of the others. *out is to
 * be closed also after an error, and NULL must be in it before. */
cm_status cm_session_backend(const cm_run_options *options, cm_comm *comm, char no_gpu[CM_SESSION_WHY],
                             cm_backend **out) CM_MUST_USE;

/* CM_ERR_INPUT if a machine with the devices of `backend` is to have more ranks than these and they may not share. */
cm_status cm_session_check_devices(const cm_backend *backend, int ranks, bool oversubscribe) CM_MUST_USE;

/* The type of matrix products on a backend: the one asked for, or float32, with a warning, where that is bfloat16 and
 * not native. Errors: CM_ERR_INPUT for float16 where it is not native. */
cm_status cm_session_dtype(const cm_run_options *options, const cm_backend *backend, cm_dtype *out) CM_MUST_USE;

/* A pool of as many threads as a user asks for, 0..1024; 0: cm_cpu_count(). More than that are a warning: they take
 * turns. The caller owns it. */
cm_status cm_session_pool(int threads, cm_pool **out) CM_MUST_USE;
void cm_session_warn_of_threads(int threads); /* that warning alone, for threads of other processes */

/* What the options say of an environment but its name, and the environment that they describe. */
cm_env_params cm_session_env_params(const cm_env_options *options);
cm_status cm_session_env(const cm_env_options *options, cm_env *out) CM_MUST_USE;

/* This rank's share of a count of the whole run that the ranks can share evenly (run/ranks.h), and the number that its
 * first one has in the whole. */
int64_t cm_session_share(const cm_session *session, int64_t whole);
int64_t cm_session_first(const cm_session *session, int64_t whole);

/* An agent on the session's network, or on another one (borrowed) of the same configuration; the caller owns it and
 * gives it weights. */
cm_status cm_session_agent(cm_session *session, cm_agent **out) CM_MUST_USE;
cm_status cm_session_agent_of(cm_session *session, const cm_network *network, cm_agent **out) CM_MUST_USE;

/* CM_ERR_INPUT if self-play is to be in 8 bits and the backend does not take them. */
cm_status cm_session_check_acting(const cm_session *session) CM_MUST_USE;

/* One line: backend, threads, dtype. */
void cm_session_describe(const cm_session *session, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
