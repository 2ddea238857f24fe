/* What the models of a planner take from its configuration. */
#include "agent/planner.h"

cm_network_use cm_planner_use(const cm_planner_config *config, cm_stream *stream) {
    return (cm_network_use){.network = config->network,
                            .stream = stream,
                            .rows = config->rows,
                            .compute = config->compute,
                            .draws = config->draws,
                            .parameters = config->parameters,
                            .state = config->state};
}
