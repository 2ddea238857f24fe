/* monitor.csv: every episode of self-play with return, length and time, as the Monitor of Stable-Baselines3 writes
 * them, so that load_results reads them (stable_baselines3/common/monitor.py):
 *
 *     #{"t_start": 1764380000.125, "env_id": "CartPole-v1"}
 *     r,l,t
 *     21.0,21,0.35
 *
 * r is the sum of rewards, of player 0 where there are two; l counts steps; t is in seconds of training since t_start,
 * when the iteration that the episode ended in was acted, in all sessions of the run. One that goes on drops the
 * episodes behind its checkpoint. Episodes that cannot be written are lost with a warning (run/lost.h).
 */
#ifndef CM_RUN_MONITOR_H
#define CM_RUN_MONITOR_H

#include "agent/acting.h"
#include "core/append.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_MONITOR_NAME "monitor.csv"
enum { CM_MONITOR_HEADER = 512 };

typedef struct cm_monitor {
    cm_append_file rows; /* its descriptor is -1 where nothing is written */
    int64_t lost;        /* episodes, since one could be written */
    char header[CM_MONITOR_HEADER];
} cm_monitor;

/* Opens the file of a run's folder and keeps its whole rows of up to `seconds` of training; warns where it is not what
 * a run has written. On error *out is closed. */
cm_status cm_monitor_open(cm_monitor *out, const cm_dir *run, const char *env, double seconds) CM_MUST_USE;
void cm_monitor_close(cm_monitor *monitor);

/* Adds episodes[count] that ended at `seconds` of training; those of length 0 are none. Allocates nothing. */
void cm_monitor_write(cm_monitor *monitor, const cm_episode *episodes, int64_t count, double seconds);

#ifdef __cplusplus
}
#endif
#endif
