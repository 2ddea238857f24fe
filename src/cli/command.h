/* Subcommands as rows: a row gives the name, the flags with their help, and the function. The table is parsed,
 * documented (help, man pages) and completed (bash) from the same rows. Only this folder writes to stdout and ends the
 * process.
 *
 * Exit status: 0 done; 2 usage or configuration is wrong; 1 everything else that fails.
 */
#ifndef CM_CLI_COMMAND_H
#define CM_CLI_COMMAND_H

#include "core/json.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_flag {
    const char *name;     /* without "--" */
    const char *argument; /* "FILE"; NULL: a switch */
    const char *help;     /* one sentence */
} cm_flag;

typedef struct cm_arguments cm_arguments;

typedef struct cm_command {
    const char *name;
    const char *operands;           /* shown in usage: "DIR", "[PART ...]", "" */
    int min_operands, max_operands; /* how many words beside flags */
    const char *about;              /* one line */
    const char *details;            /* paragraphs of help and man page, or NULL */
    const cm_flag *flags;           /* [flag_count] */
    int flag_count;
    bool configured; /* takes the flags of cm_configured_flags as well */
    /* Returns the process's exit status; cm_cli_fail turns a cm_status into one. */
    int (*run)(const cm_arguments *arguments);
} cm_command;

/* All subcommands, in the order in which help lists them. */
extern const cm_command *const cm_commands[];
extern const int cm_command_count;
const cm_command *cm_command_find(const char *name); /* NULL if there is none */

/* --config, --set, --seed, --backend, --threads, --dtype: of every command that reads a configuration. */
extern const cm_flag cm_configured_flags[];
extern const int cm_configured_flag_count;

/* Flags of a command one after the other, the configured ones last; NULL behind the last. */
const cm_flag *cm_command_flag(const cm_command *command, int index);

/* ---- parsed arguments: borrowed from argv ---- */

/* Parses the words behind the subcommand. Errors: CM_ERR_INPUT: unknown flag (with the nearest known one), missing or
 * superfluous argument, too few or many operands. */
cm_status cm_arguments_parse(const cm_command *command, int argc, char **argv, cm_arguments **out) CM_MUST_USE;
void cm_arguments_destroy(cm_arguments *arguments); /* NULL is allowed */

bool cm_arguments_has(const cm_arguments *arguments, const char *flag);
const char *cm_arguments_get(const cm_arguments *arguments, const char *flag); /* the last value, or NULL */
const char *cm_arguments_nth(const cm_arguments *arguments, const char *flag,
                             int index); /* the index-th value, or NULL */
int cm_arguments_operands(const cm_arguments *arguments);
const char *cm_arguments_operand(const cm_arguments *arguments, int index); /* NULL behind the last */

/* The value as a number in [min, max]; `fallback` if the flag is not given. Errors: CM_ERR_INPUT names the flag. */
cm_status cm_arguments_int(const cm_arguments *arguments, const char *flag, int64_t min, int64_t max, int64_t fallback,
                           int64_t *out) CM_MUST_USE;
cm_status cm_arguments_double(const cm_arguments *arguments, const char *flag, double min, double max, double fallback,
                              double *out) CM_MUST_USE;

/* ---- common to commands ---- */

/* Prints "cumind: MESSAGE" of a failed status to stderr; returns the exit status: 2 for CM_ERR_INPUT, 0 for CM_OK,
 * else 1. */
int cm_cli_fail(cm_status status);

/* The word of `words` (NULL-terminated) with the smallest edit distance, or NULL if none is near. */
const char *cm_cli_nearest(const char *word, const char *const *words);

/* Prints the text of a writer and a newline, and destroys it. Returns 0, or the exit status of a failed write. */
int cm_cli_print_json(cm_json_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
