#include "cli/zoo_judge.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json.h"

enum { WORDS = 32, TEXT = 512, STARTED = 126 };

/* ---- another process of this program ---- */

/* Splits `text` at its blanks into out[WORDS], from *count on. */
static void add_words(char *text, char *out[WORDS], int *count) {
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word && *count < WORDS - 1; word = strtok_r(NULL, " ", &rest))
        out[(*count)++] = word;
}

static void become(char *const words[], const int *out, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(STARTED);
    if (out) dup2(*out, STDOUT_FILENO);
    execv("/proc/self/exe", words);
    _exit(STARTED);
}

/* Waits for the process; meanwhile the terminal's ctrl-C is for it alone. */
static int await(pid_t process) {
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
    int status = 0;
    sigaction(SIGINT, &ignored, &before);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &before, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

cm_status cm_zoo_run(const cm_zoo_command *command, const int *out, int *status) {
    char text[TEXT], first[PATH_MAX], name[16], flag[16], folder[PATH_MAX];
    char *argv[WORDS] = {first, name};
    int count = 2;
    snprintf(first, sizeof first, "%s", command->program);
    snprintf(name, sizeof name, "%s", command->name);
    snprintf(text, sizeof text, "%s", command->words);
    snprintf(flag, sizeof flag, "%s", command->flag);
    snprintf(folder, sizeof folder, "%s", command->folder);
    add_words(text, argv, &count);
    argv[count < WORDS - 3 ? count++ : WORDS - 3] = flag;
    argv[count++] = folder;
    argv[count] = NULL;
    fflush(NULL);
    const pid_t parent = getpid(), process = fork();
    if (process == 0) become(argv, out, parent);
    if (process < 0) return cm_fail(CM_ERR_IO, "%s: no process: %s", command->name, strerror(errno));
    *status = await(process);
    if (*status == CM_EXIT_INTERRUPTED) return cm_fail(CM_ERR_INTERRUPTED, "%s: interrupted", command->name);
    return CM_OK;
}

/* ---- the score ---- */

static cm_status read_all(FILE *file, char **text, size_t *size) {
    const long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (bytes < 0) return cm_fail(CM_ERR_IO, "the answer of eval: cannot read: %s", strerror(errno));
    rewind(file);
    *text = malloc((size_t)bytes + 1);
    if (!*text) return cm_fail(CM_ERR_MEMORY, "the answer of eval does not fit into memory");
    *size = fread(*text, 1, (size_t)bytes, file);
    return CM_OK;
}

static cm_status read_score(FILE *file, const char *member, double *score) {
    char *text = NULL;
    size_t size = 0;
    cm_json_doc *doc = NULL;
    cm_status status = read_all(file, &text, &size);
    if (status == CM_OK) status = cm_json_parse(text, size, "the answer of eval", &doc);
    if (status == CM_OK) status = cm_json_need_number(cm_json_root(doc), member, score);
    cm_json_free(doc);
    free(text);
    return status;
}

static cm_status evaluate(const char *program, const cm_zoo_agent *agent, const char *folder, FILE *answer) {
    char words[TEXT];
    const int out = fileno(answer);
    int status = 0;
    snprintf(words, sizeof words, "%s --json", agent->eval);
    const cm_zoo_command command = {program, "eval", words, "--run", folder};
    CM_TRY(cm_zoo_run(&command, &out, &status));
    return status == 0 ? CM_OK : cm_fail(CM_ERR_STATE, "zoo:%s: eval has ended with status %d", agent->name, status);
}

cm_status cm_zoo_judge(const char *program, const cm_zoo_agent *agent, const char *folder, double *score) {
    FILE *answer = tmpfile();
    if (!answer) return cm_fail(CM_ERR_IO, "a file for the answer of eval: %s", strerror(errno));
    cm_status status = evaluate(program, agent, folder, answer);
    if (status == CM_OK) status = read_score(answer, agent->member, score);
    fclose(answer);
    return status;
}

bool cm_zoo_is_inside(const cm_zoo_agent *agent, double score) {
    const double rounding = 1e-6;
    return score >= agent->least - rounding && score <= agent->most + rounding;
}
