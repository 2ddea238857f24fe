#include "cli/help.h"

#include <string.h>

#include "cli/view.h"

enum { MOST_COLUMNS = 78, NAME_COLUMN = 15, FLAG_COLUMN = 26, NARROW = 60, NARROW_INDENT = 6 };

/* Of a line, on the terminal that stdout is; a window that is wider reads no better. */
static int columns_of_stdout(const cm_command *command) {
    const cm_arguments none = {.command = command};
    const int columns = cm_view_of_stdout(&none).columns;
    return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

void cm_help_all(FILE *out) {
    fputs("cumind trains MuZero agents.\n\nUsage: cumind COMMAND [FLAGS]\n\nCommands:\n", out);
    const int columns = columns_of_stdout(cm_commands[0]);
    for (int i = 0; cm_commands[i]; i++) {
        fprintf(out, "  %-12s ", cm_commands[i]->name);
        cm_text_print(out, columns, cm_commands[i]->about, NAME_COLUMN, NAME_COLUMN);
    }
    fputc('\n', out);
    cm_text_print(out, columns,
                  "Whole numbers may be written 20000, 20k, 1.5M, 2G or 2e4.\n"
                  "cumind help COMMAND tells its flags. Start with: cumind train",
                  0, 0);
}

static void synopsis(const cm_command *command, FILE *out) {
    fprintf(out, "cumind %s%s%s%s", command->name, *command->positional ? " " : "", command->positional,
            command->flags[0].name ? " [FLAGS]" : "");
}

static void put_flag(const cm_flag *flag, int columns, FILE *out) {
    char left[64];
    const int length = snprintf(left, sizeof left, "  %s %s", flag->name, flag->argument ? flag->argument : "");
    const int indent = columns < NARROW ? NARROW_INDENT : FLAG_COLUMN;
    fprintf(out, "%-*s", indent, left);
    if (length > indent) fprintf(out, "\n%*s", indent, "");
    cm_text_print(out, columns, flag->help, indent, indent);
}

static const char *details_of(const cm_command *command) {
    static cm_text text;
    cm_text_clear(&text);
    cm_text_add(&text, "%s", command->details);
    if (command->list) command->list(&text);
    return text.bytes;
}

void cm_help_command(const cm_command *command, FILE *out) {
    const int columns = columns_of_stdout(command);
    fprintf(out, "%s: ", command->name);
    cm_text_print(out, columns, command->about, (int)strlen(command->name) + 2, 0);
    fputs("\nUsage: ", out);
    synopsis(command, out);
    fputc('\n', out);
    if (*command->details) {
        fputc('\n', out);
        cm_text_print(out, columns, details_of(command), 0, 0);
    }
    if (command->flags[0].name) fputs("\nFlags:\n", out);
    for (const cm_flag *flag = command->flags; flag->name; flag++) put_flag(flag, columns, out);
    if (*command->examples) fprintf(out, "\nExamples:\n%s", command->examples);
}

/* ---- man pages ---- */

/* Text with what roff would take as a request or an escape made harmless. */
static void put_roff(FILE *out, const char *text) {
    bool line_start = true;
    for (const char *c = text; *c; c++) {
        if (line_start && (*c == '.' || *c == '\'')) fputs("\\&", out);
        if (*c == '-') {
            fputs("\\-", out);
        } else if (*c == '\\') {
            fputs("\\e", out);
        } else {
            fputc(*c, out);
        }
        line_start = *c == '\n';
    }
}

static void man_header(const char *name, const char *about, FILE *out) {
    fprintf(out, ".TH %s 1 \"\" \"cumind %s\" \"User Commands\"\n.SH NAME\n", name, CM_VERSION);
    put_roff(out, name);
    fputs(" \\- ", out);
    put_roff(out, about);
    fputc('\n', out);
}

static void man_program(FILE *out) {
    man_header("cumind", "trains MuZero agents", out);
    fputs(".SH SYNOPSIS\n.B cumind\n.I COMMAND\n[\\fIFLAGS\\fR]\n.SH COMMANDS\n", out);
    for (int i = 0; cm_commands[i]; i++) {
        fprintf(out, ".TP\n.BR cumind\\-%s (1)\n", cm_commands[i]->name);
        put_roff(out, cm_commands[i]->about);
        fputc('\n', out);
    }
    fputs(".SH NUMBERS\nWhole numbers may be written 20000, 20k, 1.5M, 2G or 2e4.\n", out);
    fputs(".SH EXIT STATUS\n0 success, 2 wrong usage or configuration, 1 anything else, 128 and its number for a "
          "signal.\n",
          out);
}

void cm_help_man(const cm_command *command, FILE *out) {
    if (!command) {
        man_program(out);
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "cumind-%s", command->name);
    man_header(name, command->about, out);
    fputs(".SH SYNOPSIS\n.B ", out);
    synopsis(command, out);
    fputc('\n', out);
    if (*command->details) {
        fputs(".SH DESCRIPTION\n", out);
        put_roff(out, details_of(command));
        fputc('\n', out);
    }
    if (command->flags[0].name) fputs(".SH OPTIONS\n", out);
    for (const cm_flag *flag = command->flags; flag->name; flag++) {
        fputs(".TP\n.B ", out);
        put_roff(out, flag->name);
        if (flag->argument) fprintf(out, " \\fI%s\\fR", flag->argument);
        fputc('\n', out);
        put_roff(out, flag->help);
        fputc('\n', out);
    }
    if (*command->examples) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        put_roff(out, command->examples);
        fputs(".fi\n", out);
    }
    fputs(".SH EXIT STATUS\n0 success, 2 wrong usage or configuration, 1 anything else, 128 and its number for a "
          "signal.\n.SH SEE ALSO\n.BR cumind (1)\n",
          out);
}

/* ---- the command ---- */

static cm_status run_help(cm_arguments *arguments) {
    const char *name = arguments->positional_count > 0 ? arguments->positional[0] : NULL;
    const cm_command *command = name ? cm_command_find(name) : NULL;
    if (name && !command && strcmp(name, "cumind") != 0) return cm_command_unknown(name);
    if (cm_argument_is_set(arguments, "--man")) {
        cm_help_man(command, stdout);
    } else if (command) {
        cm_help_command(command, stdout);
    } else {
        cm_help_all(stdout);
    }
    return CM_OK;
}

static const cm_flag flags[] = {{"--man", NULL, "Print the man page (roff)."}, {NULL, NULL, NULL}};

const cm_command cm_command_help = {
    .name = "help",
    .about = "tell about a command",
    .positional = "[COMMAND]",
    .details = "",
    .flags = flags,
    .examples = "  cumind help train                      # flags of train\n"
                "  cumind help --man train | man -l -     # the same as a man page\n",
    .run = run_help,
};
