#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "config/internal.h"
#include "core/arena.h"

bool cm_config_starts_section(const cm_config *config, int i) {
    return i == 0 || strcmp(config->entry[i - 1].row->section, config->entry[i].row->section) != 0;
}

static cm_status check_text(const cm_json_writer *writer) {
    return cm_json_writer_text(writer, NULL) ? CM_OK : CM_ERR_MEMORY;
}

static cm_status write_rows(const cm_config *config, bool is_template, cm_json_writer *writer) {
    cm_json_begin_object(writer, NULL);
    if (is_template && *config->schema) cm_json_put_string(writer, cm_config_schema_row.key, config->schema);
    for (int i = 0; i < config->count; i++) {
        const cm_config_entry *entry = &config->entry[i];
        if (cm_config_starts_section(config, i)) {
            if (i > 0) cm_json_end_object(writer);
            cm_json_begin_object(writer, entry->row->section);
        }
        if (is_template && (entry->row->flags & CM_OPTION_FITTED) && entry->source == CM_FROM_DEFAULT) continue;
        cm_value_write(entry->row, entry->member, writer, entry->row->key);
    }
    if (config->count > 0) cm_json_end_object(writer);
    cm_json_end_object(writer);
    return check_text(writer);
}

cm_status cm_config_write(const cm_config *config, cm_json_writer *writer) { return write_rows(config, false, writer); }

cm_status cm_config_save(const cm_config *config, const char *path) {
    cm_json_writer *writer;
    CM_TRY(cm_json_writer_create(2, &writer));
    cm_status status = write_rows(config, true, writer);
    if (status == CM_OK) status = cm_json_writer_save(writer, path);
    cm_json_writer_destroy(writer);
    return status;
}

const cm_option *cm_config_row(const cm_config *config, int index) {
    return index >= 0 && index < config->count ? config->entry[index].row : NULL;
}

static void member_text(const cm_option *row, const void *member, char out[CM_OPTION_JSON]) {
    cm_json_writer *writer;
    const char *text = NULL;
    *out = '\0';
    if (cm_json_writer_create(0, &writer) != CM_OK) return;
    cm_value_write(row, member, writer, NULL);
    text = cm_json_writer_text(writer, NULL);
    if (text) snprintf(out, CM_OPTION_JSON, "%s", text);
    cm_json_writer_destroy(writer);
}

void cm_config_value_text(const cm_config *config, const cm_option *row, char out[CM_OPTION_JSON]) {
    *out = '\0';
    for (int i = 0; i < config->count; i++)
        if (config->entry[i].row == row) member_text(row, config->entry[i].member, out);
}

void cm_config_word(const cm_config *config, const char *key, char out[CM_OPTION_WORD]) {
    cm_config_entry *entry;
    *out = '\0';
    if (cm_config_find(config, key, &entry) == CM_OK) cm_value_word(entry->row, entry->member, out);
}

static void standard_text(const cm_option *row, char out[CM_OPTION_JSON]) {
    cm_value value;
    *out = '\0';
    if (cm_value_from_text(row, row->standard, &value) == CM_OK) member_text(row, &value, out);
}

/* A text that grows: everything is printed to `stream`, then finish_text hands it out. */
static cm_status begin_text(char **text, size_t *size, FILE **stream) {
    *text = NULL;
    *stream = open_memstream(text, size);
    return *stream ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a text");
}

static cm_status finish_text(FILE *stream, char **text) {
    if (fclose(stream) == 0) return CM_OK;
    free(*text);
    *text = NULL;
    return cm_fail(CM_ERR_MEMORY, "no memory for a text");
}

static bool is_in_group(const cm_option *row, const char *group) {
    return row->group && strcmp(row->group, group) == 0;
}

/* The keys of a group, separated by commas. */
static void print_group(FILE *out, const cm_config *config, const char *group, const char *quote) {
    const char *comma = "";
    for (int i = 0; i < config->count; i++) {
        if (!is_in_group(config->entry[i].row, group)) continue;
        fprintf(out, "%s%s%s%s", comma, quote, config->entry[i].row->key, quote);
        comma = ", ";
    }
    fputc('\n', out);
}

/* Keys of a section with their values and ranges. */
static void print_keys(FILE *out, const cm_config *config, const char *name) {
    char range[512], value[CM_OPTION_JSON];
    for (int i = 0; i < config->count; i++) {
        const cm_option *row = config->entry[i].row;
        if (strcasecmp(row->section, name) != 0) continue;
        if (cm_config_starts_section(config, i)) fprintf(out, "%s\n", row->section);
        cm_value_range_text(row, range, sizeof range);
        member_text(row, config->entry[i].member, value);
        fprintf(out, "  %-27s %-12s %s\n", row->key, value, range);
    }
}

static cm_status explain_section(const cm_config *config, const char *name, char **text) {
    FILE *out;
    size_t size;
    CM_TRY(begin_text(text, &size, &out));
    print_keys(out, config, name);
    return finish_text(out, text);
}

cm_status cm_config_explain(const cm_config *config, const char *key, char **text) {
    cm_config_entry *entry;
    FILE *out;
    size_t size;
    char range[512], usual[96], standard[CM_OPTION_JSON], value[CM_OPTION_JSON];
    *text = NULL;
    if (cm_config_is_section(config, key)) return explain_section(config, key, text);
    CM_TRY(cm_config_find(config, key, &entry));
    const cm_option *row = entry->row;
    const char *idle = row->idle ? row->idle(entry->options) : NULL;
    cm_value_range_text(row, range, sizeof range);
    standard_text(row, standard);
    member_text(row, entry->member, value);
    CM_TRY(begin_text(text, &size, &out));
    fprintf(out, "%s.%s\n  %s\n", row->section, row->key, row->help);
    cm_value_usual_text(row, usual, sizeof usual);
    fprintf(out, "  range    %s%s%s\n  default  %s\n  value    %s (%s)\n", range, *usual ? "; usually " : "", usual,
            standard, value, entry->origin);
    if (row->group) {
        fputs("  one of   ", out);
        print_group(out, config, row->group, "");
    }
    if (idle) fprintf(out, "  effect   none now: %s\n", idle);
    fprintf(out, "  resume   %s\n",
            row->flags & CM_OPTION_RESUME ? "may change when a run is resumed" : "is fixed for a run");
    return finish_text(out, text);
}

/* Text into a cell of a Markdown table. */
static void print_cell(FILE *out, const char *text) {
    fputs("| ", out);
    for (; *text; text++) {
        if (*text == '|') fputc('\\', out);
        fputc(*text, out);
    }
    fputc(' ', out);
}

static void print_section(FILE *out, const cm_config *config, int first) {
    char cell[600], usual[96], value[CM_OPTION_JSON];
    fprintf(out, "\n## %s\n\n| key | value | default | what it does |\n|---|---|---|---|\n",
            config->entry[first].row->section);
    for (int i = first; i < config->count && (i == first || !cm_config_starts_section(config, i)); i++) {
        const cm_option *row = config->entry[i].row;
        snprintf(cell, sizeof cell, "`%s`%s", row->key, row->flags & CM_OPTION_RESUME ? " *" : "");
        print_cell(out, cell);
        cm_value_range_text(row, cell, sizeof cell);
        cm_value_usual_text(row, usual, sizeof usual);
        if (*usual) snprintf(cell + strlen(cell), sizeof cell - strlen(cell), "; usually %s", usual);
        print_cell(out, cell);
        standard_text(row, value);
        snprintf(cell, sizeof cell, "`%s`", value);
        print_cell(out, cell);
        print_cell(out, row->help);
        fputs("|\n", out);
    }
}

static void print_groups(FILE *out, const cm_config *config) {
    fputs("\n## Alternatives\n\nThe keys of a line are ways to say one thing. Those given with the highest precedence "
          "count; the others become 0.\n\n",
          out);
    for (int i = 0; i < config->count; i++) {
        const char *group = config->entry[i].row->group;
        bool first = group != NULL;
        for (int j = 0; first && j < i; j++) first = !is_in_group(config->entry[j].row, group);
        if (!first) continue;
        fputs("* ", out);
        print_group(out, config, group, "`");
    }
}

cm_status cm_config_manual(const cm_config *config, char **text) {
    FILE *out;
    size_t size;
    CM_TRY(begin_text(text, &size, &out));
    fputs(
        "# Configuration\n\n"
        "This page is generated from the option rows of the program (`make docs`); do not edit it.\n\n"
        "A value comes from, in this order: a flag of its own (`--seed 3`), `--set Section.key=value`, the file or "
        "the recipe (`--config`), the default. The file is JSON, one object per section; CuMind's "
        "`configuration.json` is accepted as it is. `cumind config` prints the effective configuration, `cumind "
        "config --explain KEY` one key with the origin of its value.\n\n"
        "Recipes are the files of `configs/`, tuned for one environment each. They are part of the program and are "
        "found by name from any folder: `--config catch`; what has a / in it or .json behind it is a file. Without "
        "`--config`, an environment that the command line names (`cumind train catch`, `--set env_name=catch`) is "
        "trained with its recipe, and where it has none, or no environment is named, `configuration.json` here is "
        "read if there is one. Sizes of one game share a recipe: go13 takes that of go5. `--config default` takes "
        "nothing but the defaults. A run keeps all its values in its config.json, so --resume asks for no recipe.\n\n"
        "Keys marked * may change when a run is resumed; the others are fixed for a run. A number far from what is "
        "usual is taken, with a warning.\n\n"
        "Editors check and complete such files by `configuration.schema.json` next to this page (`cumind config "
        "--schema` prints it; JSON Schema 2020-12). VS Code takes it from the first line of a file, `\"$schema\": "
        "\"./configuration.schema.json\",`, or for all files from `json.schemas` of its settings: "
        "`[{\"fileMatch\": [\"configuration.json\", \"configs/*.json\"], \"url\": "
        "\"./docs/configuration.schema.json\"}]`. The schema knows types, ranges and keys; what concerns several keys "
        "at once, and bytes of a text, the program alone checks.\n",
        out);
    for (int i = 0; i < config->count; i++)
        if (cm_config_starts_section(config, i)) print_section(out, config, i);
    print_groups(out, config);
    return finish_text(out, text);
}

cm_status cm_config_compare(const cm_config *before, const cm_config *after, cm_config_difference **out, int *count) {
    *count = 0;
    CM_TRY(cm_alloc(out, (size_t)after->count, sizeof **out, "comparison of configurations"));
    for (int i = 0; i < after->count; i++) {
        const cm_config_entry *entry = &after->entry[i];
        cm_config_difference difference = {.section = entry->row->section,
                                           .key = entry->row->key,
                                           .origin = entry->origin,
                                           .may_change = entry->row->flags & CM_OPTION_RESUME};
        cm_config_value_text(before, entry->row, difference.before);
        cm_config_value_text(after, entry->row, difference.after);
        if (strcmp(difference.before, difference.after) != 0) (*out)[(*count)++] = difference;
    }
    return CM_OK;
}
