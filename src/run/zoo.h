/* Agents that come with the program: small runs whose weights are of 8 bits, each by a command that makes it again and
 * a score that it is known to reach. "zoo:NAME" stands for the folder of one wherever a run may stand. */
#ifndef CM_RUN_ZOO_H
#define CM_RUN_ZOO_H

#include <linux/limits.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_zoo_agent {
    const char *name;
    const char *train, *eval; /* words after `cumind train` and `cumind eval`, a blank between them */
    const char *member;       /* of the JSON of eval: the score */
    double score, least, most;
} cm_zoo_agent;

/* Agent number `index` (from 0), in the order of their names; NULL after the last. */
const cm_zoo_agent *cm_zoo_at(int index);

/* The agent of that name, with or without "zoo:" in front. Errors: CM_ERR_INPUT proposes the nearest name. */
cm_status cm_zoo_named(const char *name, const cm_zoo_agent **out) CM_MUST_USE;

/* Whether the folder of a run is given as "zoo:NAME". */
bool cm_zoo_is_name(const char *run);

/* The folder of an agent: in the zoo/ of the sources that the program was built in, in ../share/cumind/zoo where it is
 * installed, or in that of the Python package cumind_zoo next to the program's own. Errors: CM_ERR_ABSENT says where it
 * was looked for. */
cm_status cm_zoo_folder(const cm_zoo_agent *agent, char out[PATH_MAX]) CM_MUST_USE;

/* The folder that `run` stands for: itself, unless it is "zoo:NAME". Errors: as above, CM_ERR_INPUT for a path that is
 * too long. */
cm_status cm_zoo_resolve(const char *run, char out[PATH_MAX]) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
