#include "config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/internal.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/log.h"
#include "core/nearest.h"

/* --- tables --- */

static const size_t sizes[] = {sizeof(int),    sizeof(int64_t), sizeof(double),         sizeof(bool),
                               CM_OPTION_TEXT, sizeof(int),     sizeof(cm_option_shape)};

static bool has_section(const cm_option_table *tables, int count, int table, int row) {
    const char *section = tables[table].rows[row].section;
    for (int t = 0; t < count && t <= table; t++)
        for (int r = 0; r < (t == table ? row : tables[t].count); r++)
            if (strcmp(tables[t].rows[r].section, section) == 0) return true;
    return false;
}

static void add_section(cm_config *config, const cm_option_table *tables, int count, void *options,
                        const char *section) {
    for (int t = 0; t < count; t++) {
        char *module = (char *)options + tables[t].base;
        for (int r = 0; r < tables[t].count; r++) {
            const cm_option *row = &tables[t].rows[r];
            if (strcmp(row->section, section) != 0) continue;
            config->entry[config->count++] =
                (cm_config_entry){.row = row, .member = module + row->offset, .options = module, .origin = "default"};
        }
    }
}

/* Checks the row and takes its default. */
static cm_status begin_entry(cm_config *config, int index) {
    cm_config_entry *entry = &config->entry[index];
    const cm_option *row = entry->row;
    cm_value value;
    for (int i = 0; i < index; i++)
        if (strcmp(config->entry[i].row->key, row->key) == 0)
            return cm_fail(CM_ERR_STATE, "%s.%s: the key has two rows", row->section, row->key);
    if (row->size != sizes[row->type] || (row->type == CM_OPTION_ENUM) != (row->choices != NULL))
        return cm_fail(CM_ERR_STATE, "%s.%s: the row does not fit its member", row->section, row->key);
    if (cm_value_from_text(row, row->standard, &value) != CM_OK)
        return cm_fail_in(CM_ERR_STATE, "%s.%s: the default", row->section, row->key);
    memcpy(entry->member, &value, row->size);
    return CM_OK;
}

cm_status cm_config_create(const cm_option_table *tables, int count, void *options, cm_config **out) {
    size_t rows = 0;
    *out = NULL;
    for (int t = 0; t < count; t++) rows += (size_t)tables[t].count;
    cm_config *config;
    CM_TRY(cm_alloc(&config, 1, sizeof *config, "configuration"));
    cm_status status = cm_alloc(&config->entry, rows, sizeof *config->entry, "configuration");
    for (int t = 0; status == CM_OK && t < count; t++)
        for (int r = 0; r < tables[t].count; r++)
            if (!has_section(tables, count, t, r))
                add_section(config, tables, count, options, tables[t].rows[r].section);
    for (int i = 0; status == CM_OK && i < config->count; i++) status = begin_entry(config, i);
    if (status != CM_OK) {
        cm_config_destroy(config);
        return status;
    }
    *out = config;
    return CM_OK;
}

void cm_config_destroy(cm_config *config) {
    if (!config) return;
    free(config->entry);
    free(config);
}

/* --- finding a key --- */

static const char *key_at(const void *rows, int i) { return ((const cm_config_entry *)rows)[i].row->key; }

const cm_option *cm_config_meant(const cm_config *config, const char *word) {
    for (int i = 0; i < config->count; i++) {
        const cm_option *row = config->entry[i].row;
        if (cm_value_is_like(row->key, word) || cm_value_is_like(row->alias, word)) return row;
    }
    return NULL;
}

static cm_status fail_unknown(const cm_config *config, const char *key) {
    const cm_option *near = cm_config_meant(config, key);
    const int nearest = near ? -1 : cm_nearest_name(key, config->entry, config->count, key_at);
    if (nearest >= 0) near = config->entry[nearest].row;
    if (!near) return cm_fail(CM_ERR_INPUT, "unknown key \"%.60s\"; cumind config --manual lists all", key);
    return cm_fail(CM_ERR_INPUT, "unknown key \"%.60s\"; did you mean %s.%s?", key, near->section, near->key);
}

/* A section may be named by its first words: "The" is "The world". */
static bool names_section(const char *section, const char *name, size_t length) {
    return strncasecmp(section, name, length) == 0 && (section[length] == '\0' || section[length] == ' ');
}

cm_status cm_config_find(const cm_config *config, const char *name, cm_config_entry **out) {
    const char *dot = strrchr(name, '.'), *key = dot ? dot + 1 : name;
    size_t length = dot ? (size_t)(dot - name) : 0;
    *out = NULL;
    if (dot && length == 0)
        return cm_fail(CM_ERR_INPUT, "\"%.60s\" has a dot but no section; write Section.key, or the key alone", name);
    for (int i = 0; i < config->count; i++) {
        const cm_option *row = config->entry[i].row;
        if (strcmp(row->key, key) != 0) continue;
        if (dot && !names_section(row->section, name, length))
            return cm_fail(CM_ERR_INPUT, "section \"%.*s\" has no key \"%s\"; did you mean %s.%s?",
                           (int)(length < 60 ? length : 60), name, key, row->section, row->key);
        *out = &config->entry[i];
        return CM_OK;
    }
    return fail_unknown(config, key);
}

bool cm_config_is_section(const cm_config *config, const char *name) {
    for (int i = 0; i < config->count; i++)
        if (strcasecmp(config->entry[i].row->section, name) == 0) return true;
    return false;
}

/* --- taking values --- */

static void keep(cm_config_entry *entry, const cm_value *value, cm_config_source source, const char *origin) {
    if (source < entry->source) return;
    memcpy(entry->member, value, entry->row->size);
    entry->source = source;
    entry->is_known = false;
    snprintf(entry->origin, sizeof entry->origin, "%s", origin);
}

/* A file that is read. */
typedef struct reading {
    cm_config *config;
    const char *file;
    int warnings;
} reading;

enum { WARNINGS = 8 }; /* that a file gets in full: a stranger's may have a hundred thousand places for them */

CM_PRINTF(3, 4) static void warn_place(reading *in, int line, const char *format, ...) {
    char text[256];
    va_list values;
    if (in->warnings++ >= WARNINGS) return;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    cm_log(CM_WARNING, "%s:%d: %s", in->file, line, text);
}

static cm_config_entry *entry_of(const cm_config *config, const char *key) {
    for (int i = 0; i < config->count; i++)
        if (strcmp(config->entry[i].row->key, key) == 0) return &config->entry[i];
    return NULL;
}

/* One key of a file. `section` is the one it stands in, NULL at the top level. */
static cm_status read_member(reading *in, const cm_json *node, const char *section) {
    char origin[CM_ORIGIN_BYTES];
    const cm_config *config = in->config;
    const char *key = cm_json_key(node);
    int line = cm_json_line(node);
    snprintf(origin, sizeof origin, "%.*s:%d", CM_ORIGIN_BYTES - 16, in->file, line);
    cm_config_entry *entry = entry_of(config, key);
    if (!entry) return cm_fail_in(fail_unknown(config, key), "%s", origin);
    const cm_option *row = entry->row;
    cm_value value;
    cm_status status = cm_value_from_json(row, node, &value);
    if (status != CM_OK) return cm_fail_in(status, "%s: %s.%s", origin, row->section, row->key);
    if (!section) {
        warn_place(in, line, "%s stands outside of any section; it belongs in \"%s\"", key, row->section);
    } else if (strcmp(section, row->section) != 0) {
        warn_place(in, line, "%s stands in section \"%.60s\"; it belongs in \"%s\"", key, section, row->section);
    }
    if (entry->line) warn_place(in, line, "%s stands in line %d, too; this value counts", key, entry->line);
    entry->line = line;
    keep(entry, &value, CM_FROM_FILE, origin);
    return CM_OK;
}

/* "$schema", by which editors find the schema of the file. */
static cm_status read_schema(reading *in, const cm_json *node) {
    const cm_option *row = &cm_config_schema_row;
    cm_value value;
    if (cm_value_from_json(row, node, &value) != CM_OK)
        return cm_fail_in(CM_ERR_INPUT, "%s:%d: %s", in->file, cm_json_line(node), row->key);
    memcpy(in->config->schema, value.text, sizeof value.text);
    return CM_OK;
}

/* A section, or a key outside of any. */
static cm_status read_section(reading *in, const cm_json *member) {
    const char *name = cm_json_key(member);
    if (strcmp(name, cm_config_schema_row.key) == 0) return read_schema(in, member);
    if (entry_of(in->config, name)) return read_member(in, member, NULL);
    const bool is_object = cm_json_type(member) == CM_JSON_OBJECT, is_known = cm_config_is_section(in->config, name);
    if (!is_object && is_known)
        return cm_fail(CM_ERR_INPUT, "%s:%d: section \"%s\" must be an object, {...}", in->file, cm_json_line(member),
                       name);
    if (!is_object) return read_member(in, member, NULL);
    if (!is_known && !cm_json_first(member)) warn_place(in, cm_json_line(member), "unknown section \"%.60s\"", name);
    for (const cm_json *inner = cm_json_first(member); inner; inner = cm_json_next(inner))
        CM_TRY(read_member(in, inner, name));
    return CM_OK;
}

static cm_status read_document(cm_config *config, const cm_json *root, const char *file) {
    reading in = {.config = config, .file = file};
    if (cm_json_type(root) != CM_JSON_OBJECT)
        return cm_fail(CM_ERR_INPUT, "%s:%d: a configuration is an object of sections, {\"MCTS\": {...}, ...}", file,
                       cm_json_line(root));
    for (int i = 0; i < config->count; i++) config->entry[i].line = 0;
    for (const cm_json *member = cm_json_first(root); member; member = cm_json_next(member))
        CM_TRY(read_section(&in, member));
    if (in.warnings > WARNINGS)
        cm_log(CM_WARNING, "%s: %d more sections and keys that are unknown, in another place or there twice", file,
               in.warnings - WARNINGS);
    return CM_OK;
}

cm_status cm_config_parse(cm_config *config, const char *text, size_t size, const char *name) {
    cm_json_doc *doc;
    CM_TRY(cm_json_parse(text, size, name, &doc));
    cm_status status = read_document(config, cm_json_root(doc), name);
    cm_json_free(doc);
    return status;
}

cm_status cm_config_read(cm_config *config, const char *path) {
    char *text;
    size_t size;
    CM_TRY(cm_file_read(path, CM_JSON_SMALL, &text, &size));
    cm_status status = cm_config_parse(config, text, size, path);
    free(text);
    return status;
}

static cm_status take_text(cm_config *config, const char *key, const char *text, cm_config_source source,
                           const char *origin) {
    cm_config_entry *entry;
    cm_value value;
    CM_TRY(cm_config_find(config, key, &entry));
    CM_TRY(cm_value_from_text(entry->row, text, &value));
    keep(entry, &value, source, origin);
    return CM_OK;
}

cm_status cm_config_take(cm_config *config, const char *assignment, const char *origin) {
    char name[CM_OPTION_TEXT];
    const char *equals = strchr(assignment, '='), *after = *origin == '-' ? "" : ":";
    if (!equals || (size_t)(equals - assignment) >= sizeof name)
        return cm_fail(CM_ERR_INPUT, "%s%s %.60s: must be Section.key=value, for example %s%sMCTS.num_simulations=50",
                       origin, after, assignment, *after ? "" : origin, *after ? "" : " ");
    snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
    cm_status status = take_text(config, name, equals + 1, CM_FROM_SET, origin);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s%s %.120s", origin, after, assignment);
}

cm_status cm_config_set(cm_config *config, const char *assignment) {
    return cm_config_take(config, assignment, "--set");
}

cm_status cm_config_assign(cm_config *config, const char *key, const char *value, const char *origin) {
    cm_status status = take_text(config, key, value, CM_FROM_FLAG, origin);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s %.60s", origin, value);
}

/* --- rules between keys --- */

cm_config_source cm_config_source_of(const cm_config *config, const char *key) {
    cm_config_entry *entry;
    return cm_config_find(config, key, &entry) == CM_OK ? entry->source : CM_FROM_DEFAULT;
}

const char *cm_config_origin_of(const cm_config *config, const char *key) {
    cm_config_entry *entry;
    return cm_config_find(config, key, &entry) == CM_OK ? entry->origin : "default";
}

void cm_config_derive(cm_config *config, const char *key, const char *because) {
    cm_config_entry *entry;
    if (cm_config_find(config, key, &entry) == CM_OK) snprintf(entry->origin, sizeof entry->origin, "%s", because);
}

void cm_config_set_recipe(cm_config *config, const char *text) {
    snprintf(config->recipe, sizeof config->recipe, "%s", text);
}

const char *cm_config_recipe(const cm_config *config) { return config->recipe; }

/* The member of the group with the highest precedence of those that are given and not 0; NULL if there is none. */
static const cm_config_entry *leader_of(const cm_config *config, const char *group) {
    const cm_config_entry *leader = NULL;
    for (int i = 0; i < config->count; i++) {
        const cm_config_entry *entry = &config->entry[i];
        if (!entry->row->group || strcmp(entry->row->group, group) != 0 || entry->source == CM_FROM_DEFAULT) continue;
        if (cm_value_is_zero(entry->row, entry->member)) continue;
        if (!leader || entry->source > leader->source) leader = entry;
    }
    return leader;
}

void cm_config_resolve_groups(cm_config *config) {
    for (int i = 0; i < config->count; i++) {
        cm_config_entry *entry = &config->entry[i];
        const cm_config_entry *leader = entry->row->group ? leader_of(config, entry->row->group) : NULL;
        if (!leader || entry->source >= leader->source || cm_value_is_zero(entry->row, entry->member)) continue;
        memset(entry->member, 0, entry->row->size);
        snprintf(entry->origin, sizeof entry->origin, "gives way to %.60s of %.60s", leader->row->key, leader->origin);
    }
}

static bool is_chosen(const cm_config_entry *entry) {
    const cm_option *row = entry->row;
    cm_value standard;
    if (entry->source == CM_FROM_DEFAULT || cm_value_from_text(row, row->standard, &standard) != CM_OK) return false;
    size_t size = row->type == CM_OPTION_STRING ? strlen(standard.text) + 1 : row->size;
    return memcmp(&standard, entry->member, size) != 0;
}

bool cm_config_is_chosen(const cm_config *config, const char *key) {
    cm_config_entry *entry;
    return cm_config_find(config, key, &entry) == CM_OK && is_chosen(entry);
}

bool cm_config_is_open(const cm_config *config, const char *key) {
    cm_config_entry *entry;
    return cm_config_find(config, key, &entry) == CM_OK && entry->source <= CM_FROM_FILE && !is_chosen(entry);
}

bool cm_config_suggest(cm_config *config, const char *key, const char *value, const char *because) {
    cm_config_entry *entry;
    cm_value taken;
    if (!cm_config_is_open(config, key) || cm_config_find(config, key, &entry) != CM_OK) return false;
    if (cm_value_from_text(entry->row, value, &taken) != CM_OK) return false;
    memcpy(entry->member, &taken, entry->row->size);
    entry->source = CM_FROM_DEFAULT;
    entry->is_suggested = true;
    cm_config_derive(config, key, because);
    return true;
}

bool cm_config_is_suggested(const cm_config *config, const char *key) {
    cm_config_entry *entry;
    if (cm_config_find(config, key, &entry) != CM_OK) return false;
    return entry->is_suggested && entry->source == CM_FROM_DEFAULT;
}

void cm_config_mark_known(cm_config *config) {
    for (int i = 0; i < config->count; i++) config->entry[i].is_known = true;
}

static void warn_entry(const cm_config_entry *entry, const char *text) {
    if (entry->is_known) return;
    cm_log(CM_WARNING, "%s: %s.%s%s", entry->origin, entry->row->section, entry->row->key, text);
}

/* A warning if the value was given and differs from the default. */
static void warn_idle(const cm_config_entry *entry, const char *why) {
    char text[512];
    snprintf(text, sizeof text, " has no effect: %s", why);
    if (is_chosen(entry)) warn_entry(entry, text);
}

void cm_config_warn_idle(const cm_config *config) {
    for (int i = 0; i < config->count; i++) {
        const cm_config_entry *entry = &config->entry[i];
        const char *why =
            entry->source != CM_FROM_DEFAULT && entry->row->idle ? entry->row->idle(entry->options) : NULL;
        if (why) warn_idle(entry, why);
    }
}

static void warn_unusual(const cm_config_entry *entry) {
    char usual[96], text[256];
    const cm_option *row = entry->row;
    const double value = cm_value_number(row, entry->member);
    cm_value_usual_text(row, usual, sizeof usual);
    if (*usual == '\0' || (value >= row->usual[0] && value <= row->usual[1])) return;
    snprintf(text, sizeof text, ": %g is far from what is usual, %s", value, usual);
    warn_entry(entry, text);
}

void cm_config_warn_unusual(const cm_config *config) {
    for (int i = 0; i < config->count; i++) {
        const cm_config_entry *entry = &config->entry[i];
        const bool is_idle = entry->row->idle && entry->row->idle(entry->options);
        if (entry->source != CM_FROM_DEFAULT && !is_idle) warn_unusual(entry);
    }
}

void cm_config_warn_key(const cm_config *config, const char *key, const char *why) {
    cm_config_entry *entry;
    if (cm_config_find(config, key, &entry) == CM_OK) warn_idle(entry, why);
}

void cm_config_warn(const cm_config *config, const char *key, const char *format, ...) {
    char text[512] = ": ";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + 2, sizeof text - 2, format, arguments);
    va_end(arguments);
    cm_config_entry *entry;
    if (cm_config_find(config, key, &entry) == CM_OK) warn_entry(entry, text);
}

cm_status cm_config_fail(const cm_config *config, const char *key, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cm_config_entry *entry;
    CM_TRY(cm_config_find(config, key, &entry));
    return cm_fail(CM_ERR_INPUT, "%s: %s.%s: %s", entry->origin, entry->row->section, entry->row->key, text);
}
