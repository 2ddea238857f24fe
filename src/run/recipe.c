#include "run/recipe.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/file.h"
#include "core/nearest.h"
#include "env/env.h"
#include "env/trust.h"

#define CM_RECIPE(id)                                                                                                  \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".hidden cm_recipe_" #id "\n"                                                                              \
            ".global cm_recipe_" #id "\n"                                                                              \
            "cm_recipe_" #id ":\n"                                                                                     \
            ".incbin \"configs/" #id ".json\"\n"                                                                       \
            ".byte 0\n"                                                                                                \
            ".popsection\n");                                                                                          \
    extern const char cm_recipe_##id[] __attribute__((visibility("hidden")));
#include "run/recipes.def"
#undef CM_RECIPE

static const cm_recipe recipes[] = {
#define CM_RECIPE(id) {#id, "configs/" #id ".json", cm_recipe_##id},
#include "run/recipes.def"
#undef CM_RECIPE
};

enum { RECIPES = sizeof recipes / sizeof *recipes, NAME = 64 };

static const char gymnasium[] = "gymnasium:";

const cm_recipe *cm_recipe_named(const char *name) {
    for (int i = 0; i < RECIPES; i++)
        if (strcasecmp(recipes[i].name, name) == 0) return &recipes[i];
    return NULL;
}

const cm_recipe *cm_recipe_at(int index) { return index >= 0 && index < RECIPES ? &recipes[index] : NULL; }

/* "Acrobot-v1" -> "acrobot" */
static const cm_recipe *without_version(const char *id) {
    char name[NAME];
    const char *version = strstr(id, "-v");
    snprintf(name, sizeof name, "%.*s", version ? (int)(version - id) : NAME - 1, id);
    return cm_recipe_named(name);
}

/* Of the recipes "go5", "go7", ... of the family "go" the first that is not smaller than `size`, else the last. */
static const cm_recipe *of_family(const char *family, int size) {
    const cm_recipe *last = NULL;
    const size_t length = strlen(family);
    for (int i = 0; i < RECIPES; i++) {
        const char *digits = recipes[i].name + length;
        if (strncmp(recipes[i].name, family, length) != 0 || !isdigit((unsigned char)*digits)) continue;
        last = &recipes[i];
        if (atoi(digits) >= size) break;
    }
    return last;
}

/* An environment of the registry, which is opened: that costs nothing. */
static bool is_of_registry(const char *name, cm_env *env) {
    return !cm_env_is_code(name) && cm_env_open(env, name, NULL) == CM_OK;
}

bool cm_recipe_is_environment(const char *name) {
    cm_env env;
    return is_of_registry(name, &env);
}

bool cm_recipe_is_file(const char *name) {
    const char *ending = strrchr(name, '.');
    return ending && strcmp(ending, ".json") == 0;
}

bool cm_recipe_is_known(const char *name) { return cm_recipe_named(name) || cm_recipe_is_environment(name); }

cm_status cm_recipe_advise_run(const char *name) {
    if (cm_file_exists(name) || !cm_recipe_is_known(name)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: there is no such run; cumind train %s makes one, cumind runs lists those here",
                   name, name);
}

const cm_recipe *cm_recipe_for(const char *env_name) {
    cm_env env;
    const bool is_gymnasium = strncmp(env_name, gymnasium, sizeof gymnasium - 1) == 0;
    const char *id = is_gymnasium ? env_name + sizeof gymnasium - 1 : env_name;
    if (is_of_registry(id, &env))
        return env.def->max_size > 0 ? of_family(env.def->name, env.params.size) : without_version(env.spec.name);
    const bool is_plain = is_gymnasium && !strchr(id, ','); /* with arguments it is another task */
    const cm_recipe *recipe = is_plain ? without_version(id) : NULL;
    return recipe && strstr(recipe->text, gymnasium) ? recipe : NULL;
}

static const char *recipe_name(const void *rows, int i) { return ((const cm_recipe *)rows)[i].name; }

static cm_status fail_unknown(const char *name, const char *origin) {
    const int nearest = cm_nearest_name(name, recipes, RECIPES, recipe_name);
    if (cm_file_is_named(name))
        return cm_fail(CM_ERR_INPUT, "%s %.100s: there is no such recipe; the file here is ./%.100s", origin, name,
                       name);
    if (nearest >= 0)
        return cm_fail(CM_ERR_INPUT, "%s %.100s: there is no such recipe; did you mean %s?", origin, name,
                       recipes[nearest].name);
    char list[RECIPES * NAME];
    int length = 0;
    for (int i = 0; i < RECIPES; i++)
        length += snprintf(list + length, sizeof list - (size_t)length, "%s%s", i ? ", " : "", recipes[i].name);
    return cm_fail(CM_ERR_INPUT, "%s %.100s: there is no such recipe; there are %s, and a file is written ./%.40s",
                   origin, name, list, name);
}

cm_status cm_recipe_read(const char *name, const char *origin, cm_config *config) {
    const cm_recipe *recipe = cm_recipe_named(name);
    char text[128];
    cm_env env;
    if (recipe) return cm_config_parse(config, recipe->text, strlen(recipe->text), recipe->file);
    recipe = is_of_registry(name, &env) ? cm_recipe_for(name) : NULL;
    if (!recipe) return fail_unknown(name, origin);
    CM_TRY(cm_config_parse(config, recipe->text, strlen(recipe->text), recipe->file));
    snprintf(text, sizeof text, "{\"Environment\": {\"env_name\": \"%s\"}}", env.spec.name);
    return cm_config_parse(config, text, strlen(text), origin);
}
