/* Parsing of the words behind a subcommand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "core/arena.h"

typedef struct given {
    const cm_flag *flag;
    const char *value; /* NULL for a switch */
} given;

struct cm_arguments {
    const cm_command *command;
    given *flags; /* [flag_count] in the order of the words */
    int flag_count;
    const char **operands;
    int operand_count;
};

const cm_flag *cm_command_flag(const cm_command *command, int index) {
    if (index < command->flag_count) return &command->flags[index];
    index -= command->flag_count;
    return command->configured && index < cm_configured_flag_count ? &cm_configured_flags[index] : NULL;
}

/* The flag of --NAME or --NAME=VALUE; the message proposes the nearest. */
static const cm_flag *find_flag(const cm_command *command, const char *word) {
    const char *names[128];
    size_t length = strcspn(word, "=");
    int count = 0;
    for (const cm_flag *f; (f = cm_command_flag(command, count)) && count < 127; count++) {
        names[count] = f->name;
        if (strlen(f->name) == length && strncmp(f->name, word, length) == 0) return f;
    }
    names[count] = NULL;
    char name[64];
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, word, length);
    name[length] = '\0';
    const char *near = cm_cli_nearest(name, names);
    cm_fail(CM_ERR_INPUT, "%s: unknown flag --%s%s%s%s; `cumind help %s` lists them", command->name, name,
            near ? ", did you mean --" : "", near ? near : "", near ? "?" : "", command->name);
    return NULL;
}

static cm_status take_flag(cm_arguments *a, int argc, char **argv, int *at) {
    const char *word = argv[*at] + 2;
    const cm_flag *flag = find_flag(a->command, word);
    if (!flag) return CM_ERR_INPUT;
    const char *equals = strchr(word, '=');
    given *g = &a->flags[a->flag_count++];
    *g = (given){flag, NULL};
    if (!flag->argument) {
        return equals ? cm_fail(CM_ERR_INPUT, "%s: --%s takes no argument", a->command->name, flag->name) : CM_OK;
    }
    if (equals) {
        g->value = equals + 1;
    } else if (*at + 1 < argc) {
        g->value = argv[++*at];
    } else {
        return cm_fail(CM_ERR_INPUT, "%s: --%s needs an argument: --%s %s", a->command->name, flag->name, flag->name,
                       flag->argument);
    }
    return CM_OK;
}

static cm_status parse(cm_arguments *a, int argc, char **argv) {
    const cm_command *c = a->command;
    bool only_operands = false;
    for (int i = 0; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && strncmp(argv[i], "--", 2) == 0) {
            CM_TRY(take_flag(a, argc, argv, &i));
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
            return cm_fail(CM_ERR_INPUT,
                           "%s: unknown flag %s; flags begin with two dashes, `cumind help %s` lists them", c->name,
                           argv[i], c->name);
        } else {
            a->operands[a->operand_count++] = argv[i];
        }
    }
    if (a->operand_count < c->min_operands || a->operand_count > c->max_operands) {
        return cm_fail(CM_ERR_INPUT, "%s: %s; usage: cumind %s [FLAGS] %s", c->name,
                       a->operand_count < c->min_operands ? "something is missing" : "too many words", c->name,
                       c->operands);
    }
    return CM_OK;
}

cm_status cm_arguments_parse(const cm_command *command, int argc, char **argv, cm_arguments **out) {
    *out = NULL;
    cm_arguments *a;
    CM_TRY(cm_alloc(&a, 1, sizeof *a, "arguments"));
    a->command = command;
    cm_status status = cm_alloc(&a->flags, (size_t)argc + 1, sizeof *a->flags, "arguments");
    if (status == CM_OK) status = cm_alloc(&a->operands, (size_t)argc + 1, sizeof *a->operands, "arguments");
    if (status == CM_OK) status = parse(a, argc, argv);
    if (status != CM_OK) {
        cm_arguments_destroy(a);
        return status;
    }
    *out = a;
    return CM_OK;
}

void cm_arguments_destroy(cm_arguments *arguments) {
    if (!arguments) return;
    free(arguments->flags);
    free(arguments->operands);
    free(arguments);
}

bool cm_arguments_has(const cm_arguments *arguments, const char *flag) {
    for (int i = 0; i < arguments->flag_count; i++) {
        if (strcmp(arguments->flags[i].flag->name, flag) == 0) return true;
    }
    return false;
}

const char *cm_arguments_get(const cm_arguments *arguments, const char *flag) {
    const char *value = NULL;
    for (int i = 0; i < arguments->flag_count; i++) {
        if (strcmp(arguments->flags[i].flag->name, flag) == 0) value = arguments->flags[i].value;
    }
    return value;
}

const char *cm_arguments_nth(const cm_arguments *arguments, const char *flag, int index) {
    for (int i = 0; i < arguments->flag_count; i++) {
        if (strcmp(arguments->flags[i].flag->name, flag) == 0 && index-- == 0) return arguments->flags[i].value;
    }
    return NULL;
}

int cm_arguments_operands(const cm_arguments *arguments) { return arguments->operand_count; }

const char *cm_arguments_operand(const cm_arguments *arguments, int index) {
    return index < arguments->operand_count ? arguments->operands[index] : NULL;
}

cm_status cm_arguments_double(const cm_arguments *arguments, const char *flag, double min, double max, double fallback,
                              double *out) {
    const char *text = cm_arguments_get(arguments, flag);
    *out = fallback;
    if (!text) return CM_OK;
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < min || value > max) {
        return cm_fail(CM_ERR_INPUT, "--%s %s: must be a number in %g..%g", flag, text, min, max);
    }
    *out = value;
    return CM_OK;
}

cm_status cm_arguments_int(const cm_arguments *arguments, const char *flag, int64_t min, int64_t max, int64_t fallback,
                           int64_t *out) {
    const char *text = cm_arguments_get(arguments, flag);
    *out = fallback;
    if (!text) return CM_OK;
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < min || value > max) {
        return cm_fail(CM_ERR_INPUT, "--%s %s: must be a whole number in %lld..%lld", flag, text, (long long)min,
                       (long long)max);
    }
    *out = value;
    return CM_OK;
}
