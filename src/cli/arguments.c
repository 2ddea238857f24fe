#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "config/value.h"
#include "core/count.h"
#include "core/nearest.h"
#include "run/configuration.h"
#include "run/directory.h"
#include "run/recipe.h"
#include "run/zoo.h"

/* --help, which every command takes, follows the rows of its own. */
static const char *flag_name(const void *rows, int i) {
    const cm_flag *flag = (const cm_flag *)rows + i;
    return flag->name ? flag->name : "--help";
}

static int count_flags(const cm_command *command) {
    int count = 0;
    while (command->flags[count].name) count++;
    return count;
}

/* Row of the flag that text[length] names, -1 if there is none. */
static int find_flag(const cm_command *command, const char *text, size_t length) {
    if (length == 2 && memcmp(text, "-v", 2) == 0) text = "--verbose", length = strlen(text);
    for (int i = 0; command->flags[i].name; i++) {
        const char *name = command->flags[i].name;
        if (strlen(name) == length && memcmp(name, text, length) == 0) return i;
    }
    return -1;
}

/* The key of the configuration that `word` is, in any spelling, or is called elsewhere (lr); false if there is none. */
static bool find_key(const char *word, char out[CM_OPTION_WORD]) {
    cm_configuration configuration;
    cm_config *config = NULL;
    if (cm_configuration_create(&configuration, &config) != CM_OK) return false;
    const cm_option *row = cm_config_meant(config, word);
    if (row) snprintf(out, CM_OPTION_WORD, "%s", row->key);
    cm_config_destroy(config);
    return row != NULL;
}

static cm_status fail_flag(const cm_command *command, const char *flag, const char *nearest) {
    return cm_fail(CM_ERR_INPUT, "%s: unknown flag %s; did you mean %s? (cumind help %s lists all)", command->name,
                   flag, nearest, command->name);
}

/* Some keys have flags of their own. */
static cm_status key_as_flag(const cm_command *command, const char *flag, const char *key) {
    char own[CM_OPTION_WORD + 2];
    snprintf(own, sizeof own, "--%s", key);
    for (char *c = own; *c; c++)
        if (*c == '_') *c = '-';
    if (find_flag(command, own, strlen(own)) >= 0) return fail_flag(command, flag, own);
    return cm_fail(CM_ERR_INPUT, "%s: unknown flag %s; %s is a key of the configuration: --set %s=VALUE", command->name,
                   flag, key, key);
}

static cm_status unknown_flag(const cm_command *command, const char *text) {
    int count = count_flags(command);
    if (count == 0) return cm_fail(CM_ERR_INPUT, "%s: unknown flag %s; it takes none", command->name, text);
    char word[64], key[CM_OPTION_WORD];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "="), text);
    int nearest = -1;
    for (int i = 0; i <= count && nearest < 0; i++)
        if (cm_value_is_like(flag_name(command->flags, i), word)) nearest = i;
    const bool is_flag = nearest >= 0;
    if (!is_flag) nearest = cm_nearest_name(word, command->flags, count + 1, flag_name);
    if (!is_flag && find_flag(command, "--set", strlen("--set")) >= 0 && find_key(word, key))
        return key_as_flag(command, word, key);
    if (nearest < 0) {
        return cm_fail(CM_ERR_INPUT, "%s: unknown flag %s; cumind help %s lists all", command->name, word,
                       command->name);
    }
    return fail_flag(command, word, flag_name(command->flags, nearest));
}

static bool has_flag(const cm_command *command, const char *flag) {
    return find_flag(command, flag, strlen(flag)) >= 0;
}

bool cm_argument_is_setting(const char *word) { return word[strcspn(word, ":/=")] == '='; }

/* What was most likely meant by a lone word: key=value, the file of a configuration, the folder of a run, or, for a
 * command that can do without one, an environment. False if nothing. */
static bool guess(const cm_command *command, const char *word, char *out, size_t size) {
    char bare[64], key[CM_OPTION_WORD];
    const char *equals = strchr(word, '='), *ending = strrchr(word, '.');
    if (cm_run_directory_check(word) == CM_OK) { /* train goes on with a run that is there */
        const char *flag = has_flag(command, "--resume") ? "--resume" : "--run";
        snprintf(out, size, "%s %.100s", flag, word);
        return has_flag(command, flag);
    }
    if (cm_argument_is_setting(word)) {
        snprintf(bare, sizeof bare, "%.*s", (int)(equals - word), word);
        const bool is_key = find_key(bare, key);
        snprintf(out, size, "--set %s%.100s", is_key ? key : "", is_key ? equals : word);
        return has_flag(command, "--set");
    }
    const bool is_file = ending && strcmp(ending, ".json") == 0;
    if (is_file) {
        snprintf(out, size, "--config %.100s", word);
    } else {
        snprintf(out, size, "--set env_name=%.60s, or, once cumind train %.60s has made a run, --run DIR", word, word);
    }
    return has_flag(command, "--config") && (is_file || cm_recipe_is_environment(word));
}

cm_status cm_argument_unexpected(const cm_command *command, const char *word) {
    char meant[256];
    if (guess(command, word, meant, sizeof meant))
        return cm_fail(CM_ERR_INPUT, "%s: unexpected argument \"%.100s\"; did you mean %s?", command->name, word,
                       meant);
    if (has_flag(command, "--run") && cm_recipe_is_known(word))
        return cm_fail(CM_ERR_INPUT, "%s: unexpected argument \"%s\"; once cumind train %s has made a run: --run DIR",
                       command->name, word, word);
    return cm_fail(CM_ERR_INPUT, "%s: unexpected argument \"%.100s\" (cumind help %s)", command->name, word,
                   command->name);
}

/* "60", "0.5", "60s", "5m", "2h"; false for anything else. */
static bool parse_seconds(const char *text, double *out) {
    char *end = NULL;
    size_t length = strspn(text, "0123456789.");
    double value = strtod(text, &end);
    const char *unit = text + length;
    double scale = strcmp(unit, "") == 0 || strcmp(unit, "s") == 0 ? 1.0
                   : strcmp(unit, "m") == 0                        ? 60.0
                   : strcmp(unit, "h") == 0                        ? 3600.0
                                                                   : 0.0;
    if (length == 0 || end != unit || scale == 0.0 || !(value < 1e7)) return false;
    *out = value * scale;
    return true;
}

static cm_status not_a_time(const char *flag, const char *text) {
    return cm_fail(CM_ERR_INPUT, "%s: must be a time such as 60s, 5m or 2h, got \"%.40s\"", flag, text);
}

static cm_status needs_value(const cm_flag *flag) {
    return cm_fail(CM_ERR_INPUT, "%s: needs a value: %s %s", flag->name, flag->name, flag->argument);
}

/* Numbers are numbers whether the command comes to use them or not. */
static cm_status check_value(const cm_flag *flag, const char *text) {
    int64_t count = 0;
    double seconds = 0.0;
    if (*text == '\0') return needs_value(flag); /* "$RUN" of a shell that has no RUN */
    bool is_count = strcmp(flag->argument, "N") == 0 || strcmp(flag->argument, "S") == 0;
    if (is_count && !cm_parse_count(text, &count)) {
        return cm_fail(CM_ERR_INPUT, "%s: must be an integer such as 100 or 20k, got \"%.40s\"", flag->name, text);
    }
    if (strcmp(flag->argument, "KEY=VALUE") == 0 && !strchr(text, '=')) {
        return cm_fail(CM_ERR_INPUT, "%s %.60s: must be KEY=VALUE in one word, as in --set MCTS.num_simulations=50",
                       flag->name, text);
    }
    if (strcmp(flag->argument, "TIME") == 0 && !parse_seconds(text, &seconds)) return not_a_time(flag->name, text);
    return CM_OK;
}

static cm_status set_value(cm_arguments *out, int row, const char *value) {
    const cm_flag *flag = &out->command->flags[row];
    if (flag->argument) CM_TRY(check_value(flag, value));
    out->value[row] = value;
    if (out->all_count == CM_VALUES) {
        return cm_fail(CM_ERR_INPUT, "%s: more than %d flags", out->command->name, CM_VALUES);
    }
    out->all[out->all_count].flag = row;
    out->all[out->all_count++].value = value;
    return CM_OK;
}

/* A flag at argv[*at]; *at moves on to its value where that is a word of its own. */
static cm_status read_flag(cm_arguments *out, int count, char **argv, int *at) {
    const char *text = argv[*at];
    size_t length = strcspn(text, "=");
    int row = find_flag(out->command, text, length);
    if (row < 0) return unknown_flag(out->command, text);
    const cm_flag *flag = &out->command->flags[row];
    if (!flag->argument) {
        if (text[length] == '=') return cm_fail(CM_ERR_INPUT, "%s: takes no value", flag->name);
        return set_value(out, row, "");
    }
    if (text[length] == '=') return set_value(out, row, text + length + 1);
    const char *next =
        *at + 1 < count ? argv[*at + 1] : NULL; /* that is a flag is no value: --run=--seed if it is meant */
    if (!next || find_flag(out->command, next, strcspn(next, "=")) >= 0) return needs_value(flag);
    return set_value(out, row, argv[++*at]);
}

/* Positional arguments that a command takes: none, one, or "RUN...". */
static int most_positional(const cm_command *command) {
    if (strstr(command->positional, "...")) return CM_POSITIONAL;
    return command->positional[0] != '\0';
}

/* Words of this process that stand for the folders of agents: arguments borrow these. */
enum { ZOO_WORDS = 32 };
static struct {
    const char *word;
    char folder[PATH_MAX];
} zoo[ZOO_WORDS];
static int zoo_count;

/* "zoo:NAME" as the folder of that agent. */
static cm_status resolve_word(const char **word) {
    if (!*word || !cm_zoo_is_name(*word)) return CM_OK;
    if (zoo_count == ZOO_WORDS) return cm_fail(CM_ERR_INPUT, "%.60s: more than %d agents of the zoo", *word, zoo_count);
    CM_TRY(cm_zoo_resolve(*word, zoo[zoo_count].folder));
    zoo[zoo_count].word = *word;
    *word = zoo[zoo_count++].folder;
    return CM_OK;
}

const char *cm_argument_written(const char *value) {
    for (int i = 0; i < zoo_count; i++)
        if (strcmp(zoo[i].folder, value) == 0) return zoo[i].word;
    return value;
}

static cm_status resolve_zoo(cm_arguments *out) {
    zoo_count = 0;
    for (int i = 0; i < out->all_count; i++) {
        const bool is_last = out->value[out->all[i].flag] == out->all[i].value;
        CM_TRY(resolve_word(&out->all[i].value));
        if (is_last) out->value[out->all[i].flag] = out->all[i].value;
    }
    if (strstr(out->command->positional, "NAME")) return CM_OK; /* of an agent, not of a folder */
    for (int i = 0; i < out->positional_count; i++) CM_TRY(resolve_word(&out->positional[i]));
    return CM_OK;
}

cm_status cm_arguments_parse(const cm_command *command, int count, char **argv, cm_arguments *out) {
    *out = (cm_arguments){.command = command};
    bool flags = true;
    for (int i = 0; i < count; i++) {
        if (flags && strcmp(argv[i], "--") == 0) {
            flags = false;
        } else if (flags && argv[i][0] == '-' && argv[i][1] != '\0') {
            CM_TRY(read_flag(out, count, argv, &i));
        } else if (out->positional_count == CM_POSITIONAL) {
            return cm_fail(CM_ERR_INPUT, "%s: too many arguments", command->name);
        } else if (out->positional_count == most_positional(command)) {
            return cm_argument_unexpected(command, argv[i]);
        } else {
            out->positional[out->positional_count++] = argv[i];
        }
    }
    return resolve_zoo(out);
}

void cm_argument_set(cm_arguments *arguments, const char *flag, const char *value) {
    arguments->value[find_flag(arguments->command, flag, strlen(flag))] = value;
}

const char *cm_argument(const cm_arguments *arguments, const char *flag) {
    int row = find_flag(arguments->command, flag, strlen(flag));
    return row < 0 ? NULL : arguments->value[row];
}

const char *cm_argument_at(const cm_arguments *arguments, const char *flag, int index) {
    int row = find_flag(arguments->command, flag, strlen(flag));
    for (int i = 0; i < arguments->all_count; i++) {
        if (arguments->all[i].flag == row && index-- == 0) return arguments->all[i].value;
    }
    return NULL;
}

bool cm_argument_is_set(const cm_arguments *arguments, const char *flag) {
    return cm_argument(arguments, flag) != NULL;
}

cm_status cm_argument_int(const cm_arguments *arguments, const char *flag, int64_t min, int64_t max, int64_t *out) {
    const char *text = cm_argument(arguments, flag);
    if (!text) return CM_OK;
    int64_t value = 0;
    if (!cm_parse_count(text, &value) || value < min || value > max) {
        return cm_fail(CM_ERR_INPUT, "%s: must be an integer in %lld..%lld, got \"%.40s\"", flag, (long long)min,
                       (long long)max, text);
    }
    *out = value;
    return CM_OK;
}

cm_status cm_argument_real(const cm_arguments *arguments, const char *flag, double min, double max, double *out) {
    const char *text = cm_argument(arguments, flag);
    if (!text) return CM_OK;
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= min && value <= max))
        return cm_fail(CM_ERR_INPUT, "%s: must be a number in %g..%g, got \"%.40s\"", flag, min, max, text);
    *out = value;
    return CM_OK;
}

cm_status cm_argument_seconds(const cm_arguments *arguments, const char *flag, double *out) {
    const char *text = cm_argument(arguments, flag);
    if (!text || parse_seconds(text, out)) return CM_OK;
    return not_a_time(flag, text);
}

cm_status cm_argument_choice(const cm_arguments *arguments, const char *flag, const char *words, int *out) {
    const char *text = cm_argument(arguments, flag);
    if (!text) return CM_OK;
    int index = 0;
    for (const char *at = words; *at; index++) {
        size_t length = strcspn(at, "|");
        if (strlen(text) == length && memcmp(at, text, length) == 0) {
            *out = index;
            return CM_OK;
        }
        at += length + (at[length] == '|');
    }
    return cm_fail(CM_ERR_INPUT, "%s: must be one of %s, got \"%.40s\"", flag, words, text);
}
