#include "cli/candidates.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/command.h"
#include "cli/curves.h"
#include "cli/output.h"
#include "cli/suite.h"
#include "cli/svg.h"
#include "core/directory.h"
#include "core/printable.h"
#include "env/env.h"
#include "run/directory.h"
#include "run/metrics.h"
#include "run/recipe.h"
#include "run/zoo.h"

/* A line that is typed. */
typedef struct request {
    const cm_command *command;
    const char *const *words; /* [count], the one that is typed is not among them */
    int count;
    const char *current; /* what is typed of the word, or of a flag's value in it */
    const char *before;  /* and what of the word stands before that, [before_length]: "--run=" */
    int before_length;
    const cm_config *config; /* of the rows of all options */
} request;

/* ---- lines ---- */

/* The first sentence of `help`. */
static int sentence(const char *help) {
    const char *end = strstr(help, ". ");
    return end ? (int)(end - help) : (int)strcspn(help, "\n");
}

static void put(const request *r, const char *word, const char *help) {
    if (strncmp(word, r->current, strlen(r->current)) != 0) return;
    if (strcmp(CM_PRINTABLE(word), word) != 0) return; /* a folder's name that acts on a terminal or breaks the line */
    printf("%.*s%s", r->before_length, r->before, word);
    if (help && *help) printf("\t%.*s", sentence(help), help);
    putchar('\n');
}

/* The words of "a|b", with `before` in front of each. */
static void put_words(const request *r, const char *words, const char *before) {
    char text[2 * CM_OPTION_TEXT];
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|') {
        snprintf(text, sizeof text, "%s%.*s", before, (int)strcspn(at, "|"), at);
        put(r, text, NULL);
    }
}

static void put_files(const request *r) {
    if (r->before_length == 0) printf("@files\n");
}

static void put_folders(const request *r) {
    if (r->before_length == 0) printf("@folders\n");
}

/* ---- what tables hold ---- */

static void put_commands(const request *r) {
    for (int i = 0; cm_commands[i]; i++) put(r, cm_commands[i]->name, cm_commands[i]->about);
}

static void put_flags(const request *r) {
    for (const cm_flag *flag = r->command->flags; flag->name; flag++) put(r, flag->name, flag->help);
    put(r, "--help", "What the command does.");
}

static void put_environments(const request *r) {
    int count;
    char name[CM_OPTION_WORD];
    const cm_env_def *const *rows = cm_env_registry(&count);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s", rows[i]->name);
        if (rows[i]->max_size > 0) snprintf(name, sizeof name, "%s%d", rows[i]->name, rows[i]->default_size);
        put(r, name, rows[i]->about);
    }
}

static void put_recipes(const request *r) {
    const cm_recipe *recipe;
    for (int i = 0; (recipe = cm_recipe_at(i)) != NULL; i++) put(r, recipe->name, recipe->file);
}

static void put_recipes_and_files(const request *r) {
    put_recipes(r);
    put_files(r);
}

static void put_tasks(const request *r) {
    put_environments(r);
    put_recipes(r);
}

static void put_metrics(const request *r) {
    int count;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    for (int i = 0; i < count; i++) put(r, fields[i].name, NULL);
}

/* ---- keys of the configuration ---- */

static void put_keys(const request *r, const char *after) {
    const cm_option *row;
    char text[CM_OPTION_WORD + 2];
    for (int i = 0; (row = cm_config_row(r->config, i)) != NULL; i++) {
        snprintf(text, sizeof text, "%s%s", row->key, after);
        put(r, text, row->help);
    }
}

static void put_keys_and_sections(const request *r) {
    const cm_option *row, *last = NULL;
    put_keys(r, "");
    for (int i = 0; (row = cm_config_row(r->config, i)) != NULL; last = row, i++)
        if (!last || strcmp(last->section, row->section) != 0) put(r, row->section, "A section: all its keys.");
}

static const cm_option *find_row(const request *r, const char *key, size_t length) {
    const cm_option *row;
    for (int i = 0; (row = cm_config_row(r->config, i)) != NULL; i++)
        if (strlen(row->key) == length && memcmp(row->key, key, length) == 0) return row;
    return NULL;
}

/* The words that a key may have, with `before` in front of each. */
static void put_values(const request *r, const cm_option *row, const char *before) {
    if (row && row->choices) put_words(r, row->choices, before);
    if (row && row->type == CM_OPTION_BOOL) put_words(r, "true|false", before);
}

/* Keys of a section that is cut short as in --set, behind its dot. */
static void put_keys_of(const request *r, size_t length) {
    const cm_option *row;
    char text[CM_OPTION_TEXT];
    for (int i = 0; (row = cm_config_row(r->config, i)) != NULL; i++) {
        if (strncasecmp(row->section, r->current, length) != 0) continue;
        snprintf(text, sizeof text, "%.*s.%s=", (int)length, r->current, row->key);
        put(r, text, row->help);
    }
}

static void put_settings(const request *r) {
    char before[CM_OPTION_TEXT];
    const char *equals = strchr(r->current, '='), *key = r->current, *end = strrchr(r->current, '.');
    if (!equals) {
        if (end) put_keys_of(r, (size_t)(end - r->current));
        put_keys(r, "=");
        return;
    }
    for (const char *dot = key; (dot = strchr(dot, '.')) != NULL && dot < equals; key = ++dot) continue;
    snprintf(before, sizeof before, "%.*s", (int)(equals + 1 - r->current), r->current);
    put_values(r, find_row(r, key, (size_t)(equals - key)), before);
}

/* ---- runs and their checkpoints ---- */

static cm_status put_run(void *context, const char *path) {
    put(context, path, "a run");
    return CM_OK;
}

static void put_known_runs(const request *r) {
    char root[CM_OPTION_TEXT];
    request copy = *r;
    if (cm_cli_run_root(r->command, root) != CM_OK) return;
    if (cm_run_directory_visit(root, put_run, &copy) != CM_OK) return;
}

static void put_zoo(const request *r) {
    char name[CM_OPTION_WORD];
    for (int i = 0; cm_zoo_at(i); i++) {
        snprintf(name, sizeof name, "zoo:%s", cm_zoo_at(i)->name);
        put(r, name, "an agent that is there");
    }
}

static void put_runs(const request *r) {
    put_known_runs(r);
    put_zoo(r);
    put_folders(r);
}

static void put_agents(const request *r) {
    for (int i = 0; cm_zoo_at(i); i++) put(r, cm_zoo_at(i)->name, cm_zoo_at(i)->train);
}

static bool is_typed(const request *r, const char *word) {
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->words[i], word) == 0) return true;
    return false;
}

/* A suite, and after it its runs. */
static void put_suites(const request *r) {
    for (int i = 0; cm_suites[i]; i++)
        if (is_typed(r, cm_suites[i]->name)) {
            put_runs(r);
            return;
        }
    for (int i = 0; cm_suites[i]; i++) put(r, cm_suites[i]->name, cm_suites[i]->about);
}

static cm_status put_checkpoint(void *context, const char *name) {
    if (name[0] != '\0' && name[strspn(name, "0123456789")] == '\0') put(context, name, NULL);
    return CM_OK;
}

/* The value that a flag has on the line, or NULL. */
static const char *value_of(const request *r, const char *flag) {
    const size_t length = strlen(flag);
    for (int i = 0; i < r->count; i++) {
        const char *word = r->words[i];
        if (strncmp(word, flag, length) != 0) continue;
        if (word[length] == '=') return word + length + 1;
        if (word[length] == '\0' && i + 1 < r->count) return r->words[i + 1];
    }
    return NULL;
}

/* The run that the line names, else the newest; "" if there is none. */
static void find_run(const request *r, char out[PATH_MAX]) {
    char root[CM_OPTION_TEXT];
    const char *named = value_of(r, "--run"), *resumed = value_of(r, "--resume");
    snprintf(out, PATH_MAX, "%s", named ? named : resumed ? resumed : "");
    if (*out != '\0' || cm_cli_run_root(r->command, root) != CM_OK) return;
    if (cm_run_directory_newest(root, out) != CM_OK) *out = '\0';
}

static void put_checkpoints(const request *r) {
    char run[PATH_MAX];
    cm_dir folder, checkpoints;
    request copy = *r;
    put_words(r, "best|latest", "");
    find_run(r, run);
    if (*run == '\0' || cm_dir_open(&folder, run) != CM_OK) return;
    if (cm_dir_enter(&checkpoints, &folder, "checkpoints") == CM_OK) {
        const cm_status status = cm_dir_each(&checkpoints, put_checkpoint, &copy);
        (void)status; /* those that were seen are proposed */
        cm_dir_close(&checkpoints);
    }
    cm_dir_close(&folder);
}

/* ---- which of them ---- */

static void put_shells(const request *r) { put_words(r, "bash|zsh|fish", ""); }

static void put_players(const request *r) {
    if (strcmp(r->command->name, "play") == 0) {
        put_words(r, "agent|human|random", "");
    } else {
        put_words(r, "random|perfect|mcts:|all", "");
        put_runs(r);
    }
}

static void put_sides(const request *r) { put_words(r, "first|second|only|none", ""); }

static void put_themes(const request *r) { put_words(r, CM_THEME_WORDS, ""); }

static void put_networks(const request *r) { put_words(r, "plain|configured", ""); }

static void put_over(const request *r) { put_words(r, CM_CURVES_OVER("|"), ""); }

/* By the name of a flag, else by its argument; or by a positional argument as the table of commands writes it. Where
 * none of these is a word of the table, as N, there is nothing to propose. */
static const struct {
    const char *name;
    void (*put)(const request *r);
} sources[] = {
    {"--explain", put_keys_and_sections},
    {"--metric", put_metrics},
    {"--over", put_over},
    {"--env", put_environments},
    {"--config", put_recipes_and_files},
    {"--human", put_sides},
    {"KEY=VALUE", put_settings},
    {"--theme", put_themes},
    {"--network", put_networks},
    {"DIR", put_runs},
    {"FILE", put_files},
    {"WHICH", put_checkpoints},
    {"WHO", put_players},
    {"[DIR...]", put_runs},
    {"RUN...", put_runs},
    {"SUITE", put_suites},
    {"[NAME]", put_tasks},
    {"NAME", put_agents},
    {"[NAME...]", put_agents},
    {"[COMMAND]", put_commands},
    {"[SHELL]", put_shells},
};

/* Flags whose words are those of a key. */
static const struct {
    const char *flag, *key;
} keys[] = {{"--backend", "backend"}, {"--dtype", "model_dtype"}, {"--policy", "policy"}};

static bool put_from(const request *r, const char *name, size_t length) {
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (strlen(sources[i].name) != length || memcmp(sources[i].name, name, length) != 0) continue;
        sources[i].put(r);
        return true;
    }
    return false;
}

static void put_value(const request *r, const cm_flag *flag) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].flag, flag->name) == 0) {
            put_values(r, find_row(r, keys[i].key, strlen(keys[i].key)), "");
            return;
        }
    if (!put_from(r, flag->name, strlen(flag->name))) put_from(r, flag->argument, strlen(flag->argument));
}

/* The flag that takes a value and is named by word[length]; NULL if there is none. */
static const cm_flag *find_flag(const cm_command *command, const char *word, size_t length) {
    for (const cm_flag *flag = command->flags; flag->name; flag++)
        if (flag->argument && strlen(flag->name) == length && memcmp(flag->name, word, length) == 0) return flag;
    return NULL;
}

/* The flags, where a command takes no such word. */
static void put_positional(const request *r) {
    const size_t length = strcspn(r->command->positional, " ");
    if (length == 0 || !put_from(r, r->command->positional, length)) put_flags(r);
}

static void put_word(request *r) {
    const char *last = r->count > 0 ? r->words[r->count - 1] : "", *equals = strchr(r->current, '=');
    const cm_flag *flag = find_flag(r->command, last, strlen(last));
    if (!flag && r->current[0] == '-' && equals) {
        flag = find_flag(r->command, r->current, (size_t)(equals - r->current));
        r->before = r->current, r->before_length = (int)(equals + 1 - r->current), r->current = equals + 1;
        if (!flag) return;
    }
    if (flag) {
        put_value(r, flag);
    } else if (r->current[0] == '-') {
        put_flags(r);
    } else {
        put_positional(r);
    }
}

cm_status cm_candidates_print(const char *const *words, int count) {
    cm_configuration configuration;
    cm_config *config = NULL;
    request r = {.current = count > 0 ? words[count - 1] : "", .before = ""};
    if (count <= 1) {
        put_commands(&r);
        return CM_OK;
    }
    r.command = cm_command_find(words[0]);
    if (!r.command) return CM_OK;
    CM_TRY(cm_configuration_create(&configuration, &config));
    r.words = words + 1, r.count = count - 2, r.config = config;
    put_word(&r);
    cm_config_destroy(config);
    return CM_OK;
}
