#include "run/resolve.h"

#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "env/trust.h"
#include "run/directory.h"
#include "run/fit.h"
#include "run/recipe.h"
#include "run/run.h"
#include "run/weights.h"

/* A file that cannot be read is the user's mistake here. */
static cm_status read_file(cm_config *config, const char *path) {
    cm_status status = cm_config_read(config, path);
    return status == CM_ERR_IO ? cm_fail(CM_ERR_INPUT, "%s", cm_error_message()) : status;
}

/* What is no text and no path is the name of a recipe. */
static cm_status read_named(const cm_sources *sources, cm_config *config) {
    const char *name = sources->named;
    if (*name == '{') return cm_config_parse(config, name, strlen(name), sources->named_by);
    if (strchr(name, '/') || cm_recipe_is_file(name)) return read_file(config, name);
    return cm_recipe_read(name, sources->named_by, config);
}

static cm_status assign(const cm_sources *sources, cm_config *config) {
    for (int i = 0; i < sources->given_count; i++) {
        const cm_given *given = &sources->given[i];
        CM_TRY(given->key ? cm_config_assign(config, given->key, given->value, given->origin)
                          : cm_config_take(config, given->value, given->origin));
    }
    return CM_OK;
}

static bool has_local(const cm_sources *sources) { return sources->local && cm_file_is_named(sources->local); }

/* For a new run of an environment that is given. Its values were not asked for: what of them has no effect next to what
 * was given is not warned of. */
static cm_status apply_recipe(const cm_sources *sources, cm_config *config, const cm_recipe *recipe) {
    char text[128];
    snprintf(text, sizeof text, "%s (--config %s)%s", recipe->name, recipe->name,
             has_local(sources) ? " in place of configuration.json" : "");
    cm_config_set_recipe(config, text);
    CM_TRY(cm_recipe_read(recipe->name, sources->named_by, config));
    cm_config_mark_known(config);
    return assign(sources, config);
}

/* The layer below what is given: what is read later replaces nothing of that. */
static cm_status read_base(const cm_sources *sources, const cm_configuration *configuration, cm_config *config) {
    if (sources->named) return read_named(sources, config);
    if (cm_config_source_of(config, "env_name") >= CM_FROM_SET) {
        const cm_recipe *recipe = cm_recipe_for(configuration->env.env_name);
        if (recipe) return apply_recipe(sources, config, recipe);
    }
    return has_local(sources) ? read_file(config, sources->local) : CM_OK;
}

/* Its own values have been warned of when it began. */
static cm_status read_own(const char *run, cm_config *config) {
    char path[PATH_MAX];
    CM_TRY(cm_run_directory_check(run));
    CM_TRY(cm_path_join(path, sizeof path, run, "config.json"));
    CM_TRY(cm_run_check_configuration(run));
    return read_file(config, path);
}

static cm_status fill(const cm_sources *sources, const cm_configuration *configuration, cm_config *config) {
    if (sources->run) CM_TRY(read_own(sources->run, config));
    cm_config_mark_known(config);
    CM_TRY(assign(sources, config));
    if (!sources->run || sources->named) CM_TRY(read_base(sources, configuration, config));
    if (cm_config_source_of(config, "env_name") >= CM_FROM_SET) cm_env_trust_named(configuration->env.env_name);
    return sources->run ? CM_OK : cm_run_fit(sources, configuration, config);
}

cm_status cm_run_resolve(const cm_sources *sources, cm_configuration *configuration, cm_config **config) {
    CM_TRY(cm_configuration_create(configuration, config));
    const cm_status status = fill(sources, configuration, *config);
    if (status == CM_OK) return CM_OK;
    cm_config_destroy(*config);
    *config = NULL;
    return status;
}

/* Only keys that may change on resume may differ. */
cm_status cm_run_check_changes(const cm_config *before, const cm_config *after) {
    cm_config_difference *differences = NULL;
    const cm_config_difference *first = NULL;
    cm_run_carry carry = CM_CARRY_WEIGHTS; /* of all that differs */
    int count = 0;
    cm_status status = CM_OK;
    CM_TRY(cm_config_compare(before, after, &differences, &count));
    for (int i = 0; i < count; i++) {
        const cm_config_difference *d = &differences[i];
        if (d->may_change || cm_run_is_same_environment(d->key, d->before, d->after)) continue;
        const cm_run_carry own = cm_run_carry_of(d->section, d->key);
        if (!first) first = d;
        carry = own < carry ? own : carry;
    }
    if (first)
        status =
            cm_fail(CM_ERR_INPUT,
                    "%s: %s.%s cannot change on resume: the run has %s, you ask for %s; start a new run%s, or leave it",
                    first->origin, first->section, first->key, first->before, first->after, cm_run_carry_advice(carry));
    free(differences);
    return status;
}
