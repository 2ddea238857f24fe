/* A process of its own that plays environments written in Python: requests and replies over a socket. The texts of
 * spaces.py, actions.py, ids.py, frames.py, atari.py and serve.py are part of the program. Numbers have this machine's
 * layout, without padding between them. */
#ifndef CM_ENV_WORKER_H
#define CM_ENV_WORKER_H

#include "core/stop.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_worker cm_worker;

/* What it is asked for. `key` is the episode as it stands, `next` what it is known by afterwards. */
typedef enum cm_worker_what {
    CM_WORKER_RESET = 1, /* seed: a new episode; that of `key` is not needed any more       */
    CM_WORKER_STEP,      /* data: an action                                                 */
    CM_WORKER_REPLAY,    /* seed, data: all actions of an episode, the last one is the step */
    CM_WORKER_SHOW,      /* key, seed, data as of a replay: its picture, as text            */
    CM_WORKER_FRAME      /* the same, as pixels: int32 height, width, then red, green, blue of each; nothing: none */
} cm_worker_what;

typedef struct cm_worker_request {
    cm_worker_what what;
    uint64_t key, next, seed;
    const void *data; /* [data_bytes] */
    size_t data_bytes;
    bool is_fresh; /* each episode is played by an object of its own */
} cm_worker_request;

/* Whose flag is heeded from now on: asked, it ends a wait for an answer after some seconds. NULL, as at first:
 * none. Before there are other threads. */
void cm_worker_heed(const cm_stop *stop);

/* Starts `python3` from the path. `limit`: seconds that it may take until it plays; 0: any. *reply, owned by the
 * caller, is what the environment is: a text of JSON of *bytes bytes, NUL-terminated (python_spec.h reads it). Errors:
 * CM_ERR_INPUT says what the environment lacks, or that there is no python3; CM_ERR_IO, CM_ERR_INTERRUPTED,
 * CM_ERR_MEMORY. Its messages begin with the name, those of the others do not. */
cm_status cm_worker_start(const char *name, double limit, cm_worker **out, char **reply, size_t *bytes) CM_MUST_USE;

/* The same of a process that is there already and talks on `channel`, a socket that is the worker's from now on,
 * whatever is returned; it is not ended. */
cm_status cm_worker_attach(const char *name, int channel, cm_worker **out, char **reply, size_t *bytes) CM_MUST_USE;

/* Sends requests, which are answered in this order; of a step many may be under way, of the others one. `limit`:
 * seconds that a call of the environment may take; 0: any. By one thread at a time, as the next. Errors: CM_ERR_IO: the
 * process has ended; as receive. */
cm_status cm_worker_send(cm_worker *worker, const cm_worker_request *requests, int count, double limit) CM_MUST_USE;

/* Waits for the next answer, and says every ten seconds that it does. reply[*bytes], on entry
 * the bytes that it has space for, is the answer. *is_missing: the episode of `key` is not alive there. Errors:
 * CM_ERR_INPUT says what the environment raised, and the next answer can be waited for; CM_ERR_IO: the process has
 * ended, or was ended as a call has not come back within the limit; CM_ERR_INTERRUPTED: it has not some seconds after
 * the flag that is heeded was asked. */
cm_status cm_worker_receive(cm_worker *worker, void *reply, size_t *bytes, bool *is_missing) CM_MUST_USE;

/* Answers may go to memory that the process shares from now on, `slots` places of `bytes`: that of request k of a
 * message to place k, whose reply then has no bytes. Where the system does not share memory they stay messages. */
void cm_worker_share(cm_worker *worker, int slots, size_t bytes);
const uint8_t *cm_worker_slot(const cm_worker *worker, int k); /* place k; NULL: there is none */

/* Tells the process to end, and waits for nothing: several then end concurrently. NULL is allowed. */
void cm_worker_dismiss(cm_worker *worker);

/* Ends the process: within a second by itself, or it is killed. NULL is allowed. */
void cm_worker_stop(cm_worker *worker);

#ifdef __cplusplus
}
#endif
#endif
