#include "cli/command.h"

extern const cm_command cm_command_train, cm_command_eval, cm_command_ladder, cm_command_play, cm_command_plot,
    cm_command_environments, cm_command_runs, cm_command_inspect, cm_command_config, cm_command_search,
    cm_command_test_cases, cm_command_benchmark, cm_command_devices, cm_command_doctor, cm_command_version,
    cm_command_completion, cm_command_help;

const cm_command *const cm_commands[] = {
    &cm_command_train,      &cm_command_eval,    &cm_command_ladder,
    &cm_command_play,       &cm_command_plot,    &cm_command_runs,
    &cm_command_inspect,    &cm_command_config,  &cm_command_environments,
    &cm_command_benchmark,  &cm_command_search,  &cm_command_test_cases,
    &cm_command_devices,    &cm_command_doctor,  &cm_command_help,
    &cm_command_completion, &cm_command_version, NULL,
};
