/* Clocks of games: how long a search may take, and searches that end by then.
 *
 * A search on a CPU stops between two operations of the network, and what it has found so far is its result. It stops
 * earlier by twice the longest time between two operations (core/stop.h): on a loaded machine that is how long others
 * have had the processor, and as long may pass between its end and the move. Sequential
 * halving (GUMBEL at the root) divides a known number of simulations, so these searches first guess how many the time
 * allows, by the rate of the last one. A search on a device is one launch and is not broken off.
 */
#ifndef CM_ARENA_TIME_LIMIT_H
#define CM_ARENA_TIME_LIMIT_H

#include "agent/planner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds; 0: not limited. */
typedef struct cm_time_control {
    double move, game; /* for a move, and for all moves of a player in a game; at most one of them is set */
} cm_time_control;

static inline bool cm_time_is_limited(const cm_time_control *control) {
    return control->move > 0.0 || control->game > 0.0;
}

/* Seconds that a search may take where a move may take `seconds`: less what passes before and after it. */
double cm_time_of_search(double seconds);

/* Seconds for the next move of a player with `left` for the rest of the game: a share such that all moves together
 * take less, however many they are. */
double cm_time_of_rest(const cm_env_spec *spec, double left);

/* Seconds for a player's move number `move`, from 0, if all before it took what this said; 0: not limited. */
double cm_time_of_move(const cm_time_control *control, const cm_env_spec *spec, int move);

/* What a planner's last searches with a limit say about the next one; a zeroed struct has seen none. */
typedef struct cm_time_rate {
    double rate;  /* simulations of a root per second; 0: unknown */
    double pause; /* seconds in which the search did not look at the clock, the longest lately */
} cm_time_rate;

/* cm_planner_run within cm_time_of_search(seconds), or down to a quarter of it where the machine is loaded, by planners
 * with the parameters `search`. It makes at least one simulation, whatever the time. `stop` (NULL: never) breaks it off
 * as cm_planner_heed says; the planner heeds it afterwards. `seconds` 0: cm_planner_run. Errors: those of
 * cm_planner_run.
 */
cm_status cm_time_run(cm_time_rate *known, cm_planner *planner, const cm_search_params *search, const cm_roots *roots,
                      const cm_search_result *result, double seconds, const cm_stop *stop) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
