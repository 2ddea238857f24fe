/* What commands share that need a configuration. */
#ifndef CM_CLI_COMMON_H
#define CM_CLI_COMMON_H

#include "cli/command.h"
#include "core/file.h"
#include "run/configuration.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Defaults, the file of --config (a named file that does not exist is CM_ERR_INPUT) or configuration.json of this
 * folder,
 * --set, flags. The caller owns *config; `configuration` must live as long. */
cm_status cm_cli_begin_configuration(const cm_arguments *arguments, cm_configuration *configuration,
                                     cm_config **config) CM_MUST_USE;

/* The same, finished: presets applied, checked, warnings given. */
cm_status cm_cli_configuration(const cm_arguments *arguments, cm_configuration *configuration,
                               cm_config **config) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
