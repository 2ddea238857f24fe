#include "cli/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/printable.h"

enum { MOST_PNG = 64 << 20 };

cm_status cm_picture_write_svg(const char *svg, const char *path) { return cm_file_write(path, svg, strlen(svg)); }

/* ---- PNG ---- */

/* Files in memory: what the program reads, what it writes, what it complains of. */
enum { INPUT, OUTPUT, COMPLAINTS, PIPES };

/* Runs the program. Returns an error of posix_spawnp, or 0 and *status. */
static int convert(const int file[PIPES], int *status) {
    char program[] = "rsvg-convert", zoom[] = "--zoom=2", format[] = "--format=png";
    char *const command[] = {program, zoom, format, NULL};
    posix_spawn_file_actions_t files;
    pid_t child;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, file[INPUT], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, file[OUTPUT], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, file[COMPLAINTS], STDERR_FILENO);
    int error = posix_spawnp(&child, program, &files, NULL, command, environ);
    posix_spawn_file_actions_destroy(&files);
    while (error == 0 && waitpid(child, status, 0) < 0)
        if (errno != EINTR) error = errno;
    return error;
}

static bool fill(int file, const char *text) {
    for (size_t size = strlen(text); size > 0;) {
        const ssize_t written = write(file, text, size);
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) text += written, size -= (size_t)written;
    }
    return lseek(file, 0, SEEK_SET) == 0;
}

/* Its first complaint is the reason. */
static cm_status fail_convert(int complaints, const char *path) {
    char reason[256];
    const ssize_t size = pread(complaints, reason, sizeof reason - 1, 0);
    reason[size > 0 ? size : 0] = '\0';
    reason[strcspn(reason, "\n")] = '\0';
    return cm_fail(CM_ERR_IO, "%s: rsvg-convert could not make the PNG%s%s", path, *reason ? ": " : "",
                   CM_PRINTABLE(reason));
}

static cm_status convert_text(const char *svg, const int file[PIPES], const char *path) {
    int status = 0;
    char *png = NULL;
    size_t size = 0;
    for (int i = 0; i < PIPES; i++)
        if (file[i] < 0) return cm_fail(CM_ERR_MEMORY, "no memory for a picture");
    if (!fill(file[INPUT], svg)) return cm_fail(CM_ERR_MEMORY, "no memory for a picture");
    const int error = convert(file, &status);
    if (error == ENOENT)
        return cm_fail(CM_ERR_ABSENT,
                       "%s: PNG needs the program rsvg-convert (Debian: apt install librsvg2-bin); "
                       "--svg needs nothing",
                       path);
    if (error != 0) return cm_fail(CM_ERR_IO, "%s: cannot start rsvg-convert: %s", path, strerror(error));
    if (status != 0) return fail_convert(file[COMPLAINTS], path);
    if (lseek(file[OUTPUT], 0, SEEK_SET) != 0) return cm_fail(CM_ERR_IO, "%s: %s", path, strerror(errno));
    CM_TRY(cm_file_read_open(file[OUTPUT], path, MOST_PNG, &png, &size));
    cm_status written = cm_file_write(path, png, size);
    free(png);
    return written;
}

cm_status cm_picture_write_png(const char *svg, const char *path) {
    static const char *const names[PIPES] = {"svg", "png", "complaints"};
    int file[PIPES];
    for (int i = 0; i < PIPES; i++) file[i] = memfd_create(names[i], MFD_CLOEXEC);
    const cm_status status = convert_text(svg, file, path);
    for (int i = 0; i < PIPES; i++)
        if (file[i] >= 0) close(file[i]);
    return status;
}

/* ---- HTML ---- */

__asm__(".pushsection .rodata\n"
        ".hidden cm_plot_page_script\n"
        ".global cm_plot_page_script\n"
        "cm_plot_page_script:\n"
        ".incbin \"src/cli/plot_page.js\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char cm_plot_page_script[] __attribute__((visibility("hidden")));

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>cumind plot</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<style>body{margin:0;font:14px/1.4 'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif}"
    "body>svg{display:block;width:100%;height:auto;max-height:calc(100vh - 2.5em);touch-action:none;user-select:none}"
    "svg .line,svg .dots{vector-effect:non-scaling-stroke}svg .line{stroke-width:2.4}svg .thin{stroke-width:1}svg "
    ".dots{stroke-width:9}svg .small{stroke-width:5}"
    "p{margin:.3em 1em;opacity:.7}.chosen{fill:#8883;stroke:#888}"
    "#tip{position:absolute;padding:.3em .6em;border:1px solid #8888;border-radius:4px;background:inherit;"
    "pointer-events:none;white-space:nowrap}</style>\n</head>\n<body>\n";

cm_status cm_picture_write_page(const char *svg, const char *path) {
    char *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);
    if (!out) return cm_fail(CM_ERR_MEMORY, "no memory for a page");
    fprintf(
        out,
        "%s%s<p>Drag over a part to see it alone, turn the wheel for more or less of the x axis, click twice for all."
        "</p>\n<div id=\"tip\" hidden></div>\n<script>\n%s</script>\n</body>\n</html>\n",
        head, svg, cm_plot_page_script);
    if (fclose(out) != 0) {
        free(page);
        return cm_fail(CM_ERR_MEMORY, "no memory for a page");
    }
    cm_status status = cm_file_write(path, page, size);
    free(page);
    return status;
}
