/* The option engine: reads option rows (config/option.h), nothing else knows how a configuration is written.
 *
 * A cm_config joins the tables of all modules to the struct that holds their values, and remembers where each value
 * came from. Precedence: flag, --set, file, default; a value of lower precedence never replaces one of higher. Values
 * are checked when they are given: type, bounds, and that the key exists; errors are one line that names file and line
 * (or the flag), section.key and the range, for example
 *
 *     configuration.json:12: MCTS.num_simulations: must be an integer in 1..65536, got 0
 *     --set MCTS.simulations=50: unknown key "simulations"; did you mean MCTS.num_simulations?
 *
 * Files are read as CuMind reads them: a key may stand in any section, or at the top level, and of two sections that
 * hold the same key the later one counts. Each of these is a warning in the log. "$schema" at the top is for editors.
 */
#ifndef CM_CONFIG_CONFIG_H
#define CM_CONFIG_CONFIG_H

#include "config/option.h"
#include "core/json.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_config cm_config;

typedef enum cm_config_source {
    CM_FROM_DEFAULT,
    CM_FROM_FILE,
    CM_FROM_SET, /* --set */
    CM_FROM_FLAG /* a flag of its own: --seed 3 */
} cm_config_source;

/* Sets all values of `options` to their defaults. Tables and `options` are borrowed and must outlive the config.
 * Errors: CM_ERR_MEMORY; CM_ERR_STATE for a table that contradicts itself (a key twice, a default out of bounds). */
cm_status cm_config_create(const cm_option_table *tables, int count, void *options, cm_config **out) CM_MUST_USE;
void cm_config_destroy(cm_config *config); /* NULL is allowed */

/* Takes the values of a file, or of text[size] that errors call `name`. On an error some values may have been taken. */
cm_status cm_config_read(cm_config *config, const char *path) CM_MUST_USE;
cm_status cm_config_parse(cm_config *config, const char *text, size_t size, const char *name) CM_MUST_USE;

/* Takes "Section.key=value" or "key=value", the section by all or the first of its words, in capitals or not; the value
 * is JSON, or a bare word where a word is expected, or "4" and "6,7,3" for a shape. The origin will read "--set"; or as
 * `origin` says, "settings", what a program that has no flags calls them. */
cm_status cm_config_set(cm_config *config, const char *assignment) CM_MUST_USE;
cm_status cm_config_take(cm_config *config, const char *assignment, const char *origin) CM_MUST_USE;

/* The same for a flag of its own; `origin` is how the user wrote it ("--seed"). */
cm_status cm_config_assign(cm_config *config, const char *key, const char *value, const char *origin) CM_MUST_USE;

/* Where the value of a member comes from; "default", "configuration.json:12", "--set", "--seed", "preset small".
 * `key` must be known: "MCTS.num_simulations" or "num_simulations". */
cm_config_source cm_config_source_of(const cm_config *config, const char *key);
const char *cm_config_origin_of(const cm_config *config, const char *key); /* owned by the config */

/* What the values of a new run begin with, for its user ("catch"); "" until it is set. */
void cm_config_set_recipe(cm_config *config, const char *text);
const char *cm_config_recipe(const cm_config *config); /* owned by the config */

/* Whether the value was given and is not the default. */
bool cm_config_is_chosen(const cm_config *config, const char *key);

/* For rules between keys: puts a value that follows from another one, without raising the precedence of the key. The
 * member has been changed in the struct by the caller; `because` becomes its origin. */
void cm_config_derive(cm_config *config, const char *key, const char *because);

/* Whether a suggestion for the key would be taken. */
bool cm_config_is_open(const cm_config *config, const char *key);

/* The same for a value that the task asks for, as in cm_config_set: taken, and true, where the command line does not
 * give the key, and a file no value but the default. `key` and `value` must be right. */
bool cm_config_suggest(cm_config *config, const char *key, const char *value, const char *because);

/* Whether the key has the value of a suggestion. */
bool cm_config_is_suggested(const cm_config *config, const char *key);

/* For each group of alternatives: members of lower precedence than the highest one given become 0. */
void cm_config_resolve_groups(cm_config *config);

/* Of the values taken so far nothing is warned of any more: that has been done. Values taken later are new. */
void cm_config_mark_known(cm_config *config);

/* One warning per value that was given, differs from the default, and has no effect (cm_option.idle). */
void cm_config_warn_idle(const cm_config *config);

/* The same for one key, where the reason lies in another module's options. */
void cm_config_warn_key(const cm_config *config, const char *key, const char *why);

/* One warning per number that was given and lies outside what is usual (cm_option.usual), unless it is idle. */
void cm_config_warn_unusual(const cm_config *config);

/* A warning of "ORIGIN: SECTION.KEY: " and a printf message; for values that are legal and cannot work. */
void cm_config_warn(const cm_config *config, const char *key, const char *format, ...) CM_PRINTF(3, 4);

/* Fails with "ORIGIN: SECTION.KEY: " before a printf message; for checks between keys. */
cm_status cm_config_fail(const cm_config *config, const char *key, const char *format, ...) CM_PRINTF(3, 4);

/* The effective configuration as JSON: sections and keys in the order of the tables. Equal values give equal bytes, and
 * reading it back gives the same values. */
cm_status cm_config_write(const cm_config *config, cm_json_writer *writer) CM_MUST_USE;

/* The same into a file for new runs: with the "$schema" of the file that was read, without the keys that a run fits to
 * its task unless they are given (CM_OPTION_FITTED), where they were not given. Errors: those of cm_file_write. */
cm_status cm_config_save(const cm_config *config, const char *path) CM_MUST_USE;

/* Text about one key: meaning, type, range, default, value and its origin; about a section ("MCTS", in capitals or
 * not): its keys, a line each. Errors: CM_ERR_INPUT for an unknown key, with the nearest known one. The caller frees
 * *text. */
cm_status cm_config_explain(const cm_config *config, const char *key, char **text) CM_MUST_USE;

/* docs/CONFIGURATION.md: every key in a table per section. The caller frees *text. */
cm_status cm_config_manual(const cm_config *config, char **text) CM_MUST_USE;

/* A JSON Schema (2020-12) of the files that are read: it accepts what cm_config_parse does, but for a text, of which it
 * counts the characters and not the bytes, and numbers beyond 2^53, which JSON itself does not keep. Errors:
 * CM_ERR_MEMORY. */
cm_status cm_config_schema(const cm_config *config, cm_json_writer *writer) CM_MUST_USE;

/* A value that differs between two configurations of the same tables. */
typedef struct cm_config_difference {
    const char *section, *key;
    char before[CM_OPTION_JSON], after[CM_OPTION_JSON]; /* as in JSON */
    const char *origin;                                 /* of `after` */
    bool may_change;                                    /* on resume */
} cm_config_difference;

/* Lists the differences from `before` to `after` in *out (the caller frees it), *count of them. */
cm_status cm_config_compare(const cm_config *before, const cm_config *after, cm_config_difference **out,
                            int *count) CM_MUST_USE;

/* All rows in the order of sections, for completion and lists: NULL at the end. */
const cm_option *cm_config_row(const cm_config *config, int index);

/* The row of the key that `word` is in another spelling ("Learning-Rate"), or is called elsewhere ("lr"); NULL: none.
 */
const cm_option *cm_config_meant(const cm_config *config, const char *word);

/* The value of a row as it would be written in JSON. */
void cm_config_value_text(const cm_config *config, const cm_option *row, char out[CM_OPTION_JSON]);

/* The word that an ENUM is set to, "adamw" of optimizer; `key` must be known. */
void cm_config_word(const cm_config *config, const char *key, char out[CM_OPTION_WORD]);

#ifdef __cplusplus
}
#endif
#endif
