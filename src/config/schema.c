#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config/internal.h"

/* Characters that cm_utf8_acts refuses. Told by "not", since "$" of a pattern stands in front of a last newline in some
 * dialects. */
#define ACTING "[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]"

const cm_option cm_config_schema_row = {.section = "",
                                        .key = "$schema",
                                        .type = CM_OPTION_STRING,
                                        .standard = "",
                                        .min = 1,
                                        .help = "Where this schema is, for editors; it changes no run."};

/* ---- values ---- */

static void put_type(const cm_option *row, const char *type, cm_json_writer *json) {
    if (!(row->flags & CM_OPTION_NULL)) {
        cm_json_put_string(json, "type", type);
        return;
    }
    cm_json_begin_array(json, "type");
    cm_json_put_string(json, NULL, type);
    cm_json_put_string(json, NULL, "null");
    cm_json_end_array(json);
}

/* JSON Schema's integers are, as ours, numbers without a fraction: 1e6 is one. */
static void put_number(const cm_option *row, const char *type, cm_json_writer *json) {
    put_type(row, type, json);
    if (row->type == CM_OPTION_DOUBLE) {
        cm_json_put_double(json, "minimum", row->min);
        cm_json_put_double(json, "maximum", row->max);
    } else {
        cm_json_put_int(json, "minimum", (int64_t)row->min);
        cm_json_put_int(json, "maximum", (int64_t)row->max);
    }
}

/* Its length counts characters, where the program counts bytes. */
static void put_text(const cm_option *row, cm_json_writer *json) {
    put_type(row, "string", json);
    cm_json_put_int(json, "minLength", (int64_t)row->min);
    cm_json_put_int(json, "maxLength", CM_OPTION_TEXT - 1);
    cm_json_begin_object(json, "not");
    cm_json_put_string(json, "pattern", ACTING);
    cm_json_end_object(json);
}

static void put_words(const cm_option *row, cm_json_writer *json) {
    char word[CM_OPTION_WORD];
    cm_json_begin_array(json, "enum");
    for (int i = 0; cm_value_word(row, &i, word), *word; i++) cm_json_put_string(json, NULL, word);
    cm_json_end_array(json);
}

static void put_shape(const cm_option *row, cm_json_writer *json) {
    put_type(row, "array", json);
    cm_json_put_int(json, "maxItems", CM_OPTION_RANK);
    cm_json_begin_object(json, "items");
    put_number(row, "integer", json);
    cm_json_end_object(json);
}

static void put_range(const cm_option *row, cm_json_writer *json) {
    switch (row->type) {
    case CM_OPTION_INT:
    case CM_OPTION_INT64: put_number(row, "integer", json); return;
    case CM_OPTION_DOUBLE: put_number(row, "number", json); return;
    case CM_OPTION_BOOL: put_type(row, "boolean", json); return;
    case CM_OPTION_STRING: put_text(row, json); return;
    case CM_OPTION_ENUM: put_words(row, json); return;
    case CM_OPTION_SHAPE: put_shape(row, json); return;
    }
}

/* ---- keys ---- */

static void put_help(const cm_option *row, cm_json_writer *json) {
    char usual[96], text[1024];
    cm_value_usual_text(row, usual, sizeof usual);
    snprintf(text, sizeof text, "%s%s%s%s", row->help, *usual ? " Usually " : "", usual, *usual ? "." : "");
    cm_json_put_string(json, "description", text);
}

/* What an editor shows and proposes where the key is written. */
static void put_annotations(const cm_option *row, cm_json_writer *json) {
    cm_value standard;
    put_help(row, json);
    if (*row->standard && cm_value_from_text(row, row->standard, &standard) == CM_OK)
        cm_value_write(row, &standard, json, "default");
}

static void put_key(const cm_option *row, cm_json_writer *json) {
    cm_json_begin_object(json, row->key);
    put_range(row, json);
    put_annotations(row, json);
    cm_json_end_object(json);
}

static void put_reference(const char *name, cm_json_writer *json) {
    char text[CM_OPTION_WORD + 16];
    snprintf(text, sizeof text, "#/$defs/%s", name);
    cm_json_put_string(json, "$ref", text);
}

/* Of all keys, wherever they stand. Editors do not propose them: those of a section are proposed in it. `warns`: a key
 * does not belong here. */
static void put_all_keys(const cm_config *config, bool warns, cm_json_writer *json) {
    char text[256];
    for (int i = 0; i < config->count; i++) {
        const cm_option *row = config->entry[i].row;
        cm_json_begin_object(json, row->key);
        put_reference(row->key, json);
        cm_json_put_bool(json, "doNotSuggest", true);
        snprintf(text, sizeof text, "%s belongs in \"%s\".", row->key, row->section);
        if (warns) cm_json_put_string(json, "deprecationMessage", text);
        cm_json_end_object(json);
    }
}

/* The members of $defs: every key, and what an object may hold, whatever its name. */
static void put_definitions(const cm_config *config, cm_json_writer *json) {
    cm_json_begin_object(json, "$defs");
    for (int i = 0; i < config->count; i++) put_key(config->entry[i].row, json);
    cm_json_begin_object(json, "a section");
    cm_json_put_string(json, "type", "object");
    cm_json_begin_object(json, "properties");
    put_all_keys(config, false, json);
    cm_json_end_object(json);
    cm_json_put_bool(json, "additionalProperties", false);
    cm_json_end_object(json);
    cm_json_end_object(json);
}

/* ---- sections ---- */

static void end_section(cm_json_writer *json) {
    cm_json_end_object(json);
    cm_json_end_object(json);
}

/* The keys of a section are proposed in it; those of others are accepted, as the program does. */
static void put_sections(const cm_config *config, cm_json_writer *json) {
    for (int i = 0; i < config->count; i++) {
        const cm_option *row = config->entry[i].row;
        if (cm_config_starts_section(config, i)) {
            if (i > 0) end_section(json);
            cm_json_begin_object(json, row->section);
            put_reference("a section", json);
            cm_json_begin_object(json, "properties");
        }
        cm_json_begin_object(json, row->key);
        put_annotations(row, json);
        cm_json_end_object(json);
    }
    if (config->count > 0) end_section(json);
}

/* A name that no section has may be one of another program's files; what it holds are keys all the same. */
static void put_root(const cm_config *config, cm_json_writer *json) {
    cm_json_put_string(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    cm_json_put_string(json, "title", "Configuration of cumind");
    cm_json_put_string(json, "type", "object");
    cm_json_begin_object(json, "properties");
    put_key(&cm_config_schema_row, json);
    put_sections(config, json);
    put_all_keys(config, true, json);
    cm_json_end_object(json);
    cm_json_begin_object(json, "additionalProperties");
    put_reference("a section", json);
    cm_json_put_string(json, "deprecationMessage", "No section has this name.");
    cm_json_end_object(json);
}

cm_status cm_config_schema(const cm_config *config, cm_json_writer *json) {
    cm_json_begin_object(json, NULL);
    put_root(config, json);
    put_definitions(config, json);
    cm_json_end_object(json);
    return cm_json_writer_text(json, NULL) ? CM_OK : CM_ERR_MEMORY;
}
