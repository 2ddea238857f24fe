/* mp4 by the program ffmpeg, without a shell: it gets pixels on its standard input, a socket, which gives no signal
 * where it has ended, and writes a file next to the one that is wanted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/retry.h"
#include "draw/movie_internal.h"

typedef struct state {
    char part[PATH_MAX]; /* the file that it writes; "": none is there */
    int channel, said;   /* its input, and what it says; -1: closed */
    pid_t process;       /* 0: it does not run */
    cm_image image;      /* of the frame, all of its size */
} state;

/* ---- the process ---- */

static void close_file(int *file) {
    if (*file >= 0) close(*file);
    *file = -1;
}

/* Its exit status, once its input has ended. */
static int await_process(state *s) {
    int status = 0;
    pid_t ended;
    if (s->process == 0) return 0;
    do ended = waitpid(s->process, &status, 0);
    while (cm_is_eintr(ended));
    s->process = 0;
    return status;
}

static void destroy(cm_movie *movie) {
    state *s = (state *)movie->state;
    close_file(&s->channel);
    if (s->process > 0) kill(s->process, SIGKILL);
    (void)await_process(s);
    close_file(&s->said);
    if (s->part[0]) unlink(s->part);
    cm_image_free(&s->image);
    free(s);
}

/* The first line of what it has said, without the address of a part of it in front: "[mp4 @ 0x5581] ". */
static void read_said(const state *s, char *line, size_t size) {
    const ssize_t got = s->said < 0 ? 0 : pread(s->said, line, size - 1, 0);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    const char *end = line[0] == '[' ? strstr(line, "] ") : NULL;
    if (end) memmove(line, end + 2, strlen(end + 2) + 1);
}

static cm_status fail_ended(const cm_movie *movie) {
    char line[512];
    read_said((const state *)movie->state, line, sizeof line);
    return cm_fail(CM_ERR_IO, "%s: ffmpeg failed: %s", movie->config.path, line[0] ? line : "it has ended");
}

static cm_status fail_start(const cm_movie *movie, int reason) {
    if (reason == ENOENT)
        return cm_fail(CM_ERR_ABSENT,
                       "%s: needs the program ffmpeg, which is not on the path; install it, or write a .gif or .svg",
                       movie->config.path);
    return cm_fail(CM_ERR_IO, "%s: ffmpeg cannot be started: %s", movie->config.path, strerror(reason));
}

/* In a group of its own: an interrupt at the terminal is for the program, which then ends the file. */
static int spawn(state *s, char *const *words, int input) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, s->said, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, s->said, STDERR_FILENO);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int result = posix_spawnp(&s->process, words[0], &actions, &attributes, words, environ);
    if (result != 0) s->process = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

/* Pictures of an odd side get a line more: the format of their colours knows none. */
static cm_status start(const cm_movie *movie) {
    state *s = (state *)movie->state;
    char size[32], rate[32], file[PATH_MAX + 8];
    int ends[2];
    snprintf(size, sizeof size, "%dx%d", s->image.width, s->image.height);
    snprintf(rate, sizeof rate, "%.6g", movie->config.rate);
    snprintf(file, sizeof file, "file:%s", s->part);
    const char *words[] = {"ffmpeg",
                           "-nostdin",
                           "-loglevel",
                           "error",
                           "-y",
                           "-f",
                           "rawvideo",
                           "-pix_fmt",
                           "rgb24",
                           "-video_size",
                           size,
                           "-framerate",
                           rate,
                           "-i",
                           "pipe:0",
                           "-vf",
                           "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                           "-pix_fmt",
                           "yuv420p",
                           "-movflags",
                           "+faststart",
                           "-f",
                           "mp4",
                           file,
                           NULL};
    s->said = memfd_create("ffmpeg", MFD_CLOEXEC);
    if (s->said < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail_start(movie, errno);
    const int result = spawn(s, (char *const *)(const void *)words, ends[1]);
    close(ends[1]);
    s->channel = ends[0];
    return result == 0 ? CM_OK : fail_start(movie, result);
}

/* ---- the movie ---- */

/* That the file can be written is seen before a game has been played. */
static cm_status begin(cm_movie *movie) {
    CM_TRY(cm_alloc(&movie->state, 1, sizeof(state), "a moving picture"));
    state *s = (state *)movie->state;
    s->channel = s->said = -1;
    const int n = snprintf(s->part, sizeof s->part, "%s.tmp-%ld", movie->config.path, (long)getpid());
    const bool fits = n < (int)sizeof s->part;
    const int file = fits ? open(s->part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666) : -1;
    cm_status status = CM_OK;
    if (file >= 0) {
        close(file);
    } else {
        s->part[0] = '\0';
        status = fits ? cm_file_fail(movie->config.path, "write")
                      : cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", movie->config.path);
    }
    if (status == CM_OK && cm_file_exists(movie->config.path) && !cm_file_is_regular(movie->config.path))
        status = cm_fail(CM_ERR_IO, "%s: cannot replace: not a regular file", movie->config.path);
    if (status != CM_OK) destroy(movie);
    return status;
}

static cm_status add(cm_movie *movie, const cm_scene *scene) {
    state *s = (state *)movie->state;
    CM_TRY(cm_scene_render(scene, movie->config.scale, &s->image));
    if (movie->frames == 0) CM_TRY(start(movie));
    const uint8_t *at = s->image.rgb;
    for (size_t left = 3 * (size_t)s->image.width * (size_t)s->image.height; left > 0;) {
        const ssize_t sent = send(s->channel, at, left, MSG_NOSIGNAL);
        if (cm_is_eintr(sent)) continue;
        if (sent <= 0) return fail_ended(movie);
        at += sent, left -= (size_t)sent;
    }
    return CM_OK;
}

/* The data of a file on the disk, as cm_file_commit leaves it. */
static cm_status sync_part(const cm_movie *movie) {
    const state *s = (const state *)movie->state;
    int file = open(s->part, O_RDONLY | O_CLOEXEC);
    const bool is_there = file >= 0 && fsync(file) == 0;
    const int reason = errno;
    close_file(&file);
    errno = reason;
    return is_there ? CM_OK : cm_file_fail(movie->config.path, "write");
}

/* What it says at this level is an error, whatever it ends with. */
static cm_status end(cm_movie *movie) {
    state *s = (state *)movie->state;
    char line[512];
    close_file(&s->channel);
    const int status = await_process(s);
    read_said(s, line, sizeof line);
    if (status != 0 || line[0]) return fail_ended(movie);
    CM_TRY(sync_part(movie));
    if (rename(s->part, movie->config.path) != 0) return cm_file_fail(movie->config.path, "write");
    s->part[0] = '\0';
    return CM_OK;
}

const cm_movie_kind cm_movie_mp4 = {.ending = ".mp4", .begin = begin, .add = add, .end = end, .destroy = destroy};
