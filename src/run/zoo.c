#include "run/zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/module.h"
#include "core/nearest.h"

static const cm_zoo_agent agents[] = {
#define CM_ZOO(name, train, eval, member, score, least, most) {#name, train, eval, member, score, least, most},
#include "run/zoo.def"
#undef CM_ZOO
};

enum { AGENTS = sizeof agents / sizeof *agents };

static const char prefix[] = "zoo:";

const cm_zoo_agent *cm_zoo_at(int index) { return index >= 0 && index < AGENTS ? &agents[index] : NULL; }

bool cm_zoo_is_name(const char *run) { return strncmp(run, prefix, sizeof prefix - 1) == 0; }

static const char *agent_name(const void *rows, int i) { return ((const cm_zoo_agent *)rows)[i].name; }

cm_status cm_zoo_named(const char *name, const cm_zoo_agent **out) {
    if (cm_zoo_is_name(name)) name += sizeof prefix - 1;
    for (int i = 0; i < AGENTS; i++) {
        *out = &agents[i];
        if (strcmp(agents[i].name, name) == 0) return CM_OK;
    }
    const int nearest = cm_nearest_name(name, agents, AGENTS, agent_name);
    if (nearest < 0)
        return cm_fail(CM_ERR_INPUT, "zoo:%.60s: there is no such agent; cumind zoo lists those there are", name);
    return cm_fail(CM_ERR_INPUT, "zoo:%.60s: there is no such agent; did you mean zoo:%s? (cumind zoo lists all)", name,
                   agents[nearest].name);
}

/* Where agents may stand, from the folder that the program is in: installed; the sources that it was built in, where
 * programs of the tests stand deeper; a package of Python, next to the one whose lib/ has the program. */
static const char *const places[] = {"../share/cumind/zoo", "../zoo",          "../../zoo",
                                     "../../../zoo",        "../../../../zoo", "../../cumind_zoo"};
enum { PACKAGE = sizeof places / sizeof *places - 1 };

/* Without "..": users see it. */
static cm_status tidy(char path[PATH_MAX]) {
    char real[PATH_MAX];
    if (realpath(path, real)) strcpy(path, real);
    return CM_OK;
}

/* Where they should be, and how they come there: `program` may be in a package of Python. */
static cm_status fail_absent(const char *program, const cm_zoo_agent *agent) {
    char package[PATH_MAX];
    CM_TRY(cm_path_join(package, sizeof package, program, "../__init__.py"));
    const bool is_package = cm_file_exists(package);
    return cm_fail(CM_ERR_ABSENT,
                   "zoo:%s: the agents are not installed (there is no %s/%s): %s puts them there, and cumind train %s "
                   "makes this one",
                   agent->name, program, is_package ? places[PACKAGE] : places[0],
                   is_package ? "`pip install \"cumind[zoo]\"`" : "`make install` of the sources", agent->train);
}

cm_status cm_zoo_folder(const cm_zoo_agent *agent, char out[PATH_MAX]) {
    char program[CM_MODULE_PATH_BYTES], config[PATH_MAX];
    CM_TRY(cm_module_program(program));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(out, PATH_MAX, "%s/%s/%s", program, places[i], agent->name);
        CM_TRY(cm_path_join(config, sizeof config, out, "config.json"));
        if (cm_file_exists(config)) return tidy(out);
    }
    return fail_absent(program, agent);
}

cm_status cm_zoo_resolve(const char *run, char out[PATH_MAX]) {
    const cm_zoo_agent *agent;
    if (!cm_zoo_is_name(run)) {
        if (strlen(run) >= PATH_MAX) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", run);
        strcpy(out, run);
        return CM_OK;
    }
    CM_TRY(cm_zoo_named(run, &agent));
    return cm_zoo_folder(agent, out);
}
