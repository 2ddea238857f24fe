#include "arena/time_limit.h"

#include <math.h>

static const double lag = 0.1, share_of_lag = 0.1; /* seconds, and of all seconds */
static const double share_planned = 0.85;          /* of the simulations that a rate promises */
static const double share_of_reserve = 0.75;       /* of a search's time, for pauses */
static const double share_of_pause = 0.9;          /* of the longest pause that the next search still expects */
enum { FIRST = 16 };                               /* simulations that measure an unknown rate */

double cm_time_of_search(double seconds) { return fmax(seconds - lag - share_of_lag * seconds, 0.1 * seconds); }

/* A player has some half of the moves, and few games are as long as they may be. */
static double most_moves(const cm_env_spec *spec) {
    const double least = 12.0, unbounded = 40.0;
    return spec->max_plies > 0 ? fmax(least, spec->max_plies / 8.0) : unbounded;
}

double cm_time_of_rest(const cm_env_spec *spec, double left) { return left / most_moves(spec); }

double cm_time_of_move(const cm_time_control *control, const cm_env_spec *spec, int move) {
    if (control->game <= 0.0) return control->move;
    return cm_time_of_rest(spec, control->game * pow(1.0 - 1.0 / most_moves(spec), move));
}

/* ---- searches ---- */

/* How many simulations a search is planned for; 0: as many as it can have. */
static int plan(const cm_time_rate *known, const cm_search_params *search, double seconds) {
    const int most = search->num_simulations;
    if (search->root_rule != CM_RULE_GUMBEL || most < 2) return 0;
    const double wanted = known->rate > 0.0 ? share_planned * known->rate * seconds : FIRST;
    return wanted >= most ? most : wanted < 1.0 ? 1 : (int)wanted;
}

static cm_status measured_run(cm_time_rate *known, cm_planner *planner, const cm_roots *roots,
                              const cm_search_result *result) {
    const double begun = cm_clock_seconds();
    const cm_status status = cm_planner_run(planner, roots, result);
    const double seconds = cm_clock_seconds() - begun, made = (double)cm_planner_simulations(planner) / roots->count;
    if (made > 0.0 && seconds > 0.0) known->rate = made / seconds;
    return status;
}

/* One simulation where the time was over before there was any. */
static cm_status end_search(cm_planner *planner, const cm_roots *roots, const cm_search_result *result,
                            const cm_stop *stop, cm_status status) {
    cm_planner_heed(planner, stop);
    if (status != CM_ERR_INTERRUPTED || cm_stop_asked(stop)) return status;
    if (cm_planner_simulations(planner) > 0) return CM_OK;
    cm_roots one = *roots;
    one.simulations = 1;
    return cm_planner_run(planner, &one, result);
}

/* Searches, and once more where the first one has measured the rate in little of the time. */
static cm_status limited_run(cm_time_rate *known, cm_planner *planner, const cm_search_params *search,
                             const cm_roots *roots, const cm_search_result *result, const cm_stop *limit) {
    const double begun = cm_clock_seconds(), allowed = limit->until - begun;
    const double reserve = cm_stop_pace_look(limit->pace, begun);
    const bool is_unknown = known->rate <= 0.0;
    cm_roots planned = *roots;
    planned.simulations = plan(known, search, allowed - reserve);
    const cm_status status = measured_run(known, planner, &planned, result);
    const double now = cm_clock_seconds(), left = limit->until - now - cm_stop_pace_look(limit->pace, now);
    const bool is_all = planned.simulations == 0 || planned.simulations >= search->num_simulations;
    if (status != CM_OK || !is_unknown || is_all || left <= 0.5 * allowed) return status;
    planned.simulations = plan(known, search, left);
    return measured_run(known, planner, &planned, result);
}

cm_status cm_time_run(cm_time_rate *known, cm_planner *planner, const cm_search_params *search, const cm_roots *roots,
                      const cm_search_result *result, double seconds, const cm_stop *stop) {
    if (seconds <= 0.0) return cm_planner_run(planner, roots, result);
    const double allowed = cm_time_of_search(seconds), begun = cm_clock_seconds();
    cm_stop_pace pace = {.last = begun, .longest = share_of_pause * known->pause, .most = share_of_reserve * allowed};
    const cm_stop limit = {.with = stop, .until = begun + allowed, .pace = &pace};
    cm_planner_heed(planner, &limit);
    cm_status status = limited_run(known, planner, search, roots, result, &limit);
    status = end_search(planner, roots, result, stop, status);
    (void)cm_stop_pace_look(&pace, cm_clock_seconds());
    known->pause = pace.longest;
    return status;
}
