/* Section "Self-Play": how the agent acts. docs/spec/learning.md 6. */
#ifndef CM_AGENT_OPTIONS_H
#define CM_AGENT_OPTIONS_H

#include "config/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_temperature_schedule { CM_TEMPERATURE_CONSTANT, CM_TEMPERATURE_STAIRS } cm_temperature_schedule;

typedef enum cm_acting_dtype { CM_ACTING_SAME, CM_ACTING_INT8 } cm_acting_dtype;

typedef enum cm_reanalyse { CM_REANALYSE_BATCH, CM_REANALYSE_BUFFER } cm_reanalyse;

typedef struct cm_agent_options {
    bool collect;                   /* self-play; false: offline, from the games of an old run */
    int acting_dtype;               /* cm_acting_dtype: of matrix work in self-play */
    int steps_per_iteration;        /* steps of every environment between two rounds of learning */
    double temperature;             /* actions are drawn from visits^(1/temperature); 0: the most visited */
    int temperature_schedule;       /* cm_temperature_schedule: x 1, 0.5, 0.25 for < 50 %, < 75 %, rest of the run */
    int temperature_threshold;      /* moves of an episode after which the temperature is 0; 0: never */
    double random_move_probability; /* that a random move begins: a uniform legal one in place of the search's */
    double random_move_end;         /* share of the run at which the probability has fallen to 0; 0: it is constant */
    int64_t random_first_steps;     /* of the run, of all environments together, whose moves are random */
    int random_move_steps;       /* that it lasts; drawn again from the same number where not all actions are legal */
    int reanalyse;               /* cm_reanalyse: what searches are made again */
    double reanalyse_ratio;      /* share of a batch whose policy targets are reanalysed, 0 .. 1 */
    bool reanalyse_noise;        /* with root noise, as in self-play */
    int64_t mixed_value_updates; /* after which old positions have the values of searches as targets; 0: never */
    int64_t mixed_value_steps;   /* of age, of all environments, that make a position old */
    int evaluation_simulations;  /* at least num_simulations are made */
} cm_agent_options;

extern const cm_option cm_agent_option_rows[];
extern const int cm_agent_option_count;

#ifdef __cplusplus
}
#endif
#endif
