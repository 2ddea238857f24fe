/* Runs the program build/cumind as a user does, and keeps what it says. */
#ifndef CM_TESTS_PROGRAM_H
#define CM_TESTS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CM_OUTPUT_BYTES = 1 << 20 };

typedef struct cm_output {
    int status;                /* exit status; 128 + number if a signal ended it */
    long kib;                  /* most memory that it had at a time (resident) */
    char out[CM_OUTPUT_BYTES]; /* stdout, NUL-terminated */
    char err[CM_OUTPUT_BYTES]; /* stderr */
} cm_output;

/* Runs `cumind` with arguments separated by single blanks ("train --quiet"), in the folder `where`; waits for it. */
void cm_program_run(const char *where, const char *arguments, cm_output *result);

/* The same with `input` on stdin, which is empty otherwise. */
void cm_program_run_with(const char *where, const char *arguments, const char *input, cm_output *result);

/* The same in a terminal of 24 rows and `columns` columns, with UTF-8 and colours. A line of `input` is typed each time
 * the program waits after a prompt (": "); then ctrl-D. A line that is one control character is typed without its end.
 * result->out is all that the terminal got, what was typed included; err is empty. */
void cm_program_run_terminal(const char *where, const char *arguments, int columns, const char *input,
                             cm_output *result);

/* Starts it in such a terminal; the caller reads *terminal, closes it, which hangs up, and waits. -1: there is none. */
pid_t cm_program_start_terminal(const char *where, const char *arguments, int columns, int *terminal);

/* TERM in such a terminal, xterm-256color; NULL: unset. */
extern const char *cm_program_term;

/* Starts it with output to the files out.txt and err.txt of `where`; the caller waits. */
pid_t cm_program_start(const char *where, const char *arguments);

/* The same as a job of a shell, in a group of its own: SIGTSTP stops it. */
pid_t cm_program_start_job(const char *where, const char *arguments);

/* Waits until a started one has taken over a signal, so that it may be sent. At most 20 s. */
void cm_program_await_handler(pid_t child, int signal);

/* Exit status as above of a started one. */
int cm_program_wait(pid_t child);

/* A whole file of `where` as text, "" if it cannot be read. */
void cm_program_file(const char *where, const char *name, char *text, size_t size);

/* Fails the test unless `text` is one whole line that contains `part`. */
void cm_program_expect_line(const char *text, const char *part);

/* Fails the test unless a run ended with `status` and said one line on stderr, which contains `part`. */
void cm_program_expect_error(const cm_output *result, int status, const char *part);

/* Fails the test if a run took more than so much memory. With a sanitizer, whose memory it has too, nothing is said. */
void cm_program_expect_memory(const cm_output *result, long most_kib);

/* Whether runs of several ranks can be started here. Says so if not. */
bool cm_program_has_mpi(void);

/* A fixture in place of cm_test_folder_make: with what Open MPI wants of its environment in a test. */
void cm_program_folder_for_ranks(void);

/* The process that is rank `rank` of the ranks that `parent` has started: a child of its child. 0: not there. */
pid_t cm_program_find_rank(pid_t parent, int rank);

#endif
