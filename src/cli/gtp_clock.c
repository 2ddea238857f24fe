#include "cli/gtp_clock.h"

#include <math.h>

void cm_gtp_clock_begin(cm_gtp_clock *clock) {
    for (int player = 0; player < 2; player++) {
        const bool has_main = clock->main > 0.0;
        clock->left[player].seconds = has_main ? clock->main : clock->period;
        clock->left[player].stones = has_main ? 0 : clock->stones;
        clock->moves[player] = 0;
    }
}

void cm_gtp_clock_set(cm_gtp_clock *clock, double main, double period, int stones) {
    const bool has_periods = period > 0.0 && stones > 0;
    clock->is_limited = has_periods || (period <= 0.0 && main > 0.0);
    clock->is_japanese = false;
    clock->main = main;
    clock->period = has_periods ? period : 0.0;
    clock->stones = has_periods ? stones : 0;
    cm_gtp_clock_begin(clock);
}

/* Where the main time may run out within the move, what is left of the move is the first of a period. */
static double of_protocol(const cm_gtp_clock *clock, const cm_env_spec *spec, int player) {
    const double left = fmax(clock->left[player].seconds, 0.0), least = 1e-3;
    const int stones = clock->left[player].stones;
    if (stones > 0) return fmax(least, clock->is_japanese ? left : left / stones);
    const double share = cm_time_of_rest(spec, left), period = clock->stones > 0 ? clock->period / clock->stones : 0.0;
    return fmax(least, fmax(share, period));
}

double cm_gtp_clock_next(const cm_gtp_clock *clock, const cm_env_spec *spec, int player) {
    const double own = cm_time_of_move(&clock->own, spec, clock->moves[player]);
    if (!clock->is_limited) return own;
    const double told = of_protocol(clock, spec, player);
    return own > 0.0 && own < told ? own : told;
}

void cm_gtp_clock_count(cm_gtp_clock *clock, int player, double seconds) {
    double *left = &clock->left[player].seconds;
    int *stones = &clock->left[player].stones;
    clock->moves[player]++;
    if (!clock->is_limited) return;
    *left -= seconds;
    if (clock->stones == 0) return;
    if (*stones == 0) {
        if (*left > 0.0) return;
        *left += clock->period, *stones = clock->stones;
    }
    if (clock->is_japanese) {
        *left = clock->period;
    } else if (--*stones == 0) {
        *left = clock->period, *stones = clock->stones;
    }
}
