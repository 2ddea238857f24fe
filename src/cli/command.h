/* The subcommands as a table: name, what it does, its flags, the function. Dispatch, help, man pages and completion all
 * come from the table, so adding a subcommand is one file and its name in commands.def.
 *
 * A command returns a cm_status; main prints the message as one line and exits with 2 for CM_ERR_INPUT (usage,
 * configuration), 1 for the rest. A command that has a verdict of its own (search --check) sets arguments->verdict.
 */
#ifndef CM_CLI_COMMAND_H
#define CM_CLI_COMMAND_H

#include <linux/limits.h>

#include "core/status.h"
#include "core/text.h"
#include "distributed/comm.h"

/* Exit status of the program. */
enum { CM_EXIT_OTHER = 1, CM_EXIT_USAGE = 2, CM_EXIT_INTERRUPTED = 130 };

enum { CM_FLAGS = 40, CM_POSITIONAL = 256, CM_VALUES = 256 };

typedef struct cm_flag {
    const char *name; /* "--seed" */
    const char
        *argument;    /* NULL: a switch; "N" and "S" are whole numbers, "TIME" seconds, and are read as such at once */
    const char *help; /* one sentence */
} cm_flag;

typedef struct cm_arguments cm_arguments;

typedef struct cm_command {
    const char *name, *about;    /* about: one line without a full stop */
    const char *positional;      /* "DIR": one, "DIR...": many; "" if it takes none */
    const char *details;         /* further paragraphs, "" if none */
    void (*list)(cm_text *text); /* adds the last one, of what a table holds; NULL: none */
    const cm_flag *flags;        /* ends with a row whose name is NULL */
    const char *examples;        /* lines "  cumind runs DIR    # what it does\n", "" if none */
    cm_status (*run)(cm_arguments *arguments);
    bool fits_task; /* its configuration is for a new run, whose task is played for defaults (run/fit.h) */
} cm_command;

/* What the user wrote; all strings are borrowed from argv. */
struct cm_arguments {
    const char *program; /* argv[0] */
    char *const *argv;   /* all of it, NULL after the last; NULL for arguments that were not written */
    const cm_command *command;
    const char *value[CM_FLAGS]; /* of each flag of the command, the last if there are several; "" for a switch that is
                                    given; NULL: not given */
    struct {
        int flag; /* row */
        const char *value;
    } all[CM_VALUES]; /* every value of every flag, in order */
    int all_count;
    const char *positional[CM_POSITIONAL];
    int positional_count;
    bool has_left;      /* a thread that hangs: what is left of the process ends without it */
    int verdict;        /* exit status of a command that returns CM_OK; 0 */
    cm_comm *comm;      /* of the ranks that run it; NULL: one alone */
    bool is_mute;       /* only errors are shown: somebody else warns of what these arguments say */
    char run[PATH_MAX]; /* the newest run, where a command takes it for want of --run */
};

extern const cm_command *const cm_commands[]; /* in the order of help, NULL at the end */

/* The row of that name, or NULL. */
const cm_command *cm_command_find(const char *name);
/* CM_ERR_INPUT that proposes the nearest name. */
cm_status cm_command_unknown(const char *name) CM_MUST_USE;

/* Fills `out` from argv[count] after the command's name. Errors: CM_ERR_INPUT for an unknown flag (proposes the
 * nearest), a missing or surplus argument, what is no number where there must be one. */
cm_status cm_arguments_parse(const cm_command *command, int count, char **argv, cm_arguments *out) CM_MUST_USE;

/* Whether a word is KEY=VALUE, and not a path or an environment with arguments, "gymnasium:ID,KEY=VALUE". */
bool cm_argument_is_setting(const char *word);

/* CM_ERR_INPUT for a word that stands where none is expected; proposes the flag that it belongs after. */
cm_status cm_argument_unexpected(const cm_command *command, const char *word) CM_MUST_USE;

/* Gives a flag, of which the command has a row, a value that the user did not write; borrowed. */
void cm_argument_set(cm_arguments *arguments, const char *flag, const char *value);

/* The value of a flag; NULL if it was not given or the command has no such flag. */
const char *cm_argument(const cm_arguments *arguments, const char *flag);
/* Value number `index` (from 0) of a flag that may be repeated; NULL after the last. */
const char *cm_argument_at(const cm_arguments *arguments, const char *flag, int index);
bool cm_argument_is_set(const cm_arguments *arguments, const char *flag);

/* What a value, or a positional argument, was written as: "zoo:NAME" of the folder that took its place. For names that
 * people read. */
const char *cm_argument_written(const char *value);

/* A number of a flag in [min, max], written as core/count.h says (20k); *out keeps its value if the flag was not given.
 */
cm_status cm_argument_int(const cm_arguments *arguments, const char *flag, int64_t min, int64_t max,
                          int64_t *out) CM_MUST_USE;
/* A number in [min, max]; *out keeps its value if the flag was not given. */
cm_status cm_argument_real(const cm_arguments *arguments, const char *flag, double min, double max,
                           double *out) CM_MUST_USE;
/* Seconds, 0 or more: "60", "0.5", "60s", "5m", "2h"; *out keeps its value if the flag was not given. */
cm_status cm_argument_seconds(const cm_arguments *arguments, const char *flag, double *out) CM_MUST_USE;
/* One of the words "a|b|c"; its index in *out, which keeps its value if the flag was not given. */
cm_status cm_argument_choice(const cm_arguments *arguments, const char *flag, const char *words, int *out) CM_MUST_USE;
#endif
