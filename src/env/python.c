/* Names of environments in Python. */
#include "env/python.h"

#include <stdio.h>
#include <string.h>

#include "env/python_internal.h"

static const char gymnasium[] = "gymnasium:", atari[] = "atari:", ending[] = ".py";

bool cm_python_is_registered(const char *name) {
    return strncmp(name, gymnasium, sizeof gymnasium - 1) == 0 || cm_env_is_atari(name);
}

bool cm_env_is_atari(const char *name) { return strncmp(name, atari, sizeof atari - 1) == 0; }

bool cm_env_is_python(const char *name) {
    const size_t length = strlen(name), rest = sizeof ending - 1;
    return cm_python_is_registered(name) || (length > rest && strcmp(name + length - rest, ending) == 0);
}

void cm_python_name(const char *path, char *out, size_t size) {
    const char *from = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == ':') from = c + 1;
    snprintf(out, size, "%.*s", cm_env_is_atari(path) ? (int)strcspn(from, ",") : (int)strlen(from), from);
    const size_t length = strlen(out), rest = sizeof ending - 1;
    if (length > rest && strcmp(out + length - rest, ending) == 0) out[length - rest] = '\0';
}
