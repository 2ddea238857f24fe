/* The clocks of a game of the Go Text Protocol: main time, then byo-yomi, Canadian (stones in a period) or Japanese
 * (a period for each move, as KGS has it). */
#ifndef CM_CLI_GTP_CLOCK_H
#define CM_CLI_GTP_CLOCK_H

#include "arena/time_limit.h"

/* A zeroed struct has no limits. */
typedef struct cm_gtp_clock {
    bool is_limited, is_japanese;
    double main, period; /* seconds */
    int stones;          /* of a period; 0: there are none */
    struct {
        double seconds;  /* left of the main time, or of the period */
        int stones;      /* to be played in it; 0: main time */
    } left[2];           /* of black and white */
    cm_time_control own; /* what the command line allows, whatever the protocol says */
    int moves[2];        /* that were generated */
} cm_gtp_clock;

/* Both players have all their time, as at the start of a game. */
void cm_gtp_clock_begin(cm_gtp_clock *clock);

/* `stones` 0 and a period above 0: no limits. */
void cm_gtp_clock_set(cm_gtp_clock *clock, double main, double period, int stones);

/* Seconds that a player may take for the next move; 0: any. */
double cm_gtp_clock_next(const cm_gtp_clock *clock, const cm_env_spec *spec, int player);

/* A move has taken so long. */
void cm_gtp_clock_count(cm_gtp_clock *clock, int player, double seconds);
#endif
