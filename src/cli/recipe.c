#include "cli/recipe.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/module.h"

/* "Acrobot-v1" -> "acrobot", "gymnasium:LunarLander-v3" -> "lunarlander": the file's name without its end. */
static void file_name(const char *env_name, char out[64]) {
    if (strrchr(env_name, ':')) env_name = strrchr(env_name, ':') + 1;
    snprintf(out, 64, "%.*s", (int)(strstr(env_name, "-v") ? strstr(env_name, "-v") - env_name : 63), env_name);
    for (char *c = out; *c; c++) *c = (char)tolower((unsigned char)*c);
}

/* Beside the program's folder: as built in build/, or a folder of it, and as installed. */
bool cm_recipe_find(const char *env_name, char path[PATH_MAX]) {
    static const char *const folders[] = {"../configs", "../../configs", "../share/doc/cumind/configs"};
    char program[CM_MODULE_PATH_BYTES], name[64], at[CM_MODULE_PATH_BYTES + 128];
    if (strchr(env_name, '/') || cm_module_program(program) != CM_OK) return false;
    file_name(env_name, name);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(at, sizeof at, "%s/%s/%s.json", program, folders[i], name);
        if (realpath(at, path)) return true;
    }
    return false;
}
