#include "cli/suite.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/nearest.h"

#define CM_SUITE(name) extern const cm_suite cm_suite_##name;
#include "cli/suites.def"
#undef CM_SUITE

#define CM_SUITE(name) &cm_suite_##name,
const cm_suite *const cm_suites[] = {
#include "cli/suites.def"
    NULL};
#undef CM_SUITE

enum { SUITES = sizeof cm_suites / sizeof *cm_suites - 1 };

static const char *name_of(const void *rows, int i) { return ((const cm_suite *const *)rows)[i]->name; }

cm_status cm_suite_find(const char *name, const cm_suite **out) {
    for (int i = 0; i < SUITES; i++)
        if (strcmp(cm_suites[i]->name, name) == 0) {
            *out = cm_suites[i];
            return CM_OK;
        }
    const int nearest = cm_nearest_name(name, cm_suites, SUITES, name_of);
    if (nearest < 0)
        return cm_fail(CM_ERR_INPUT, "report: there is no suite \"%.40s\"; cumind help report lists all", name);
    return cm_fail(CM_ERR_INPUT, "report: there is no suite \"%.40s\"; did you mean %s?", name,
                   cm_suites[nearest]->name);
}

/* What stands behind the longest place that `env_name` begins with; NULL: behind none. */
static const char *skip_place(const cm_suite *suite, const char *env_name) {
    static const char gymnasium[] = "gymnasium:";
    size_t longest = 0;
    if (strncmp(env_name, gymnasium, sizeof gymnasium - 1) == 0) env_name += sizeof gymnasium - 1;
    for (const char *const *place = suite->places; *place; place++) {
        const size_t length = strlen(*place);
        if (length > longest && strncasecmp(env_name, *place, length) == 0) longest = length;
    }
    return longest > 0 ? env_name + longest : NULL;
}

/* Whether `text` up to its version and its arguments is the game. */
static bool is_game(const char *text, const char *game) {
    for (; *text && *text != '-' && *text != ','; text++) {
        if (*text == '_') continue;
        if (tolower((unsigned char)*text) != tolower((unsigned char)*game)) return false;
        game++;
    }
    return *game == '\0';
}

int cm_suite_game(const cm_suite *suite, const char *env_name) {
    const char *name = skip_place(suite, env_name);
    for (int i = 0; name && i < suite->game_count; i++)
        if (is_game(name, suite->games[i])) return i;
    return -1;
}

double cm_suite_normalise(const cm_suite *suite, int game, double score) {
    const double zero = suite->published[CM_SUITE_ZERO].score[game], one = suite->published[CM_SUITE_ONE].score[game];
    return (score - zero) / (one - zero);
}
