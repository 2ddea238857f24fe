/* What the files of environments in Python share: python.c (names), python_host.c (what is open), python_row.c (the
 * row: a state and what is read of it) and python_talk.c (what the processes that play are asked for). */
#ifndef CM_ENV_PYTHON_INTERNAL_H
#define CM_ENV_PYTHON_INTERNAL_H

#include <pthread.h>

#include "env/area.h"
#include "env/env.h"
#include "env/python_spec.h"
#include "env/worker.h"

enum { CM_PYTHON_WORKERS = 64 };

/* Of one name: what it is and the processes that play it. */
struct cm_python_env {
    char path[512], name[32], *description; /* what the first process says of it */
    cm_env_def def;
    cm_python_spec said;
    bool is_shown_amiss, is_endless;      /* which has been said */
    bool has_no_frames;                   /* it draws no pixels */
    pthread_mutex_t lock;                 /* held by the thread that talks to a process; of what follows */
    double timeout;                       /* of that thread */
    bool are_together;                    /* of that thread, too */
    cm_worker *worker[CM_PYTHON_WORKERS]; /* started as they are needed */
    int workers;                          /* at most */
    char failed[512];                     /* the first error of a step, of all threads */
    cm_status status;
    cm_area *area;    /* of what brings screens: makes pictures of them; owned */
    uint8_t *screens; /* a reply of such, where it comes as a message; owned */
};

/* A state: this, the observation in float32 or, where it has a unit, in bytes, uint8[A] where there are masks, and
 * after them, aligned to 8, the actions: int32 each, or float[D]. What stands between `reward` and them is a reply as
 * it comes. */
typedef struct cm_python_state {
    uint64_t seed, key; /* of the episode, and of where it stands */
    int32_t steps, failed;
    double reward;
    int32_t to_play; /* Atari: lives */
    uint8_t terminated, truncated;
    uint8_t screens; /* Atari: how many came, 0, 1 or 2 */
    uint8_t is_lost; /* Atari: a life was, and the game goes on; never part of a reply */
} cm_python_state;

/* Of the row that the parameters are for; never NULL. */
static inline cm_python_env *cm_python_env_of(const cm_env_params *params) { return params->python; }

/* Whether its answers bring raw screens, of which env/atari.h makes observations. */
static inline bool cm_python_has_screens(const cm_python_env *e) { return e->said.screen[0] > 0; }

/* Of "gymnasium:..." and "atari:...". */
bool cm_python_is_registered(const char *name);

/* "LunarLander-v3" of "gymnasium:LunarLander-v3", "Pong-v5" of "gymnasium:ale_py:ALE/Pong-v5", "grid" of "./grid.py".
 */
void cm_python_name(const char *path, char *out, size_t size);

/* Makes def of what is said. */
void cm_python_row_make(cm_python_env *e);

/* ---- a state: where its parts are, and their bytes ---- */

size_t cm_python_state_bytes(const cm_env_params *params);
static inline const uint8_t *cm_python_observation(const cm_python_state *s) { return (const uint8_t *)(s + 1); }
static inline uint8_t *cm_python_observation_of(cm_python_state *s) { return (uint8_t *)(s + 1); }
size_t cm_python_observation_bytes(const cm_python_env *e);
size_t cm_python_record_at(const cm_python_env *e); /* of its actions */
size_t cm_python_action_bytes(const cm_python_env *e);
char *cm_python_next_action(const cm_python_env *e, cm_python_state *s); /* after those that it has taken */

/* What a state is known by that has taken the first `count` of its actions. */
uint64_t cm_python_key(const cm_python_env *e, const cm_python_state *s, int count);

/* The marks that other code counts by. Errors: CM_ERR_INPUT. */
cm_status cm_python_check_flags(const cm_python_env *e, const cm_python_state *s) CM_MUST_USE;

/* ---- what the processes are asked for: one of them at a time for each state. What goes wrong marks the state, whose
 * reward is NaN then, and the first error of all is kept in the env. ---- */

/* Shares memory with a process of it, if its replies are large. */
void cm_python_share(const cm_python_env *e, cm_worker *worker);

/* A new episode of a seed below INT32_MAX, in place of that of the state's key. */
void cm_python_begin(const cm_env_params *params, cm_python_state *s, uint64_t seed);

/* Steps `count` states, one after another, at most CM_ENV_TOGETHER, by the actions at cm_python_next_action.
 * out[count]. */
void cm_python_advance(const cm_env_params *params, void *rules, int count, cm_env_outcome *out);

/* What render() returns, if that is text, of at most size - 1 bytes; returns how many. 0: none. */
size_t cm_python_show(const cm_env_params *params, const cm_python_state *s, char *text, size_t size);

/* What render() returns, if those are pixels: rgb[*height, *width, 3], the caller's to free; NULL: none. The episode is
 * played once more by an object of its own, so that drawing changes nothing; equal pictures of one episode, one after
 * another, cost no step twice. */
uint8_t *cm_python_frame(const cm_env_params *params, const cm_python_state *s, int *width, int *height);
#endif
