/* Where frames lie: in memory, or in a file without a name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/retry.h"
#include "replay/frame_store.h"

/* ---- opening ---- */

/* Where a file system knows no files without names one gets a name and loses it. */
static int open_unnamed(const char *folder) {
    char path[4096];
    const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
    if (snprintf(path, sizeof path, "%s/.memory-XXXXXX", folder) >= (int)sizeof path) return -1;
    const int named = mkostemp(path, O_CLOEXEC);
    if (named >= 0) unlink(path);
    return named;
}

static cm_status fail_space(const char *folder, double bytes) {
    char needed[16], left[16] = "less";
    struct statvfs disk;
    cm_format_bytes(bytes, needed);
    if (statvfs(folder, &disk) == 0) cm_format_bytes((double)disk.f_bavail * (double)disk.f_frsize, left);
    return cm_fail(
        CM_ERR_IO,
        "Memory.memory_path: %s: the file of the memory takes %s, %s are free there; name another folder, or "
        "lower memory_steps",
        folder, needed, left);
}

/* Takes the disk now, so that it is not full later on. */
static cm_status take_disk(int file, const char *folder, off_t bytes) {
    struct statvfs disk;
    int result;
    do result = fallocate(file, 0, 0, bytes);
    while (cm_is_eintr(result));
    if (result == 0) return CM_OK;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return fail_space(folder, (double)bytes);
    const bool is_there = fstatvfs(file, &disk) == 0 && (double)disk.f_bavail * (double)disk.f_frsize >= (double)bytes;
    if (is_there && ftruncate(file, bytes) == 0) return CM_OK;
    return fail_space(folder, (double)bytes);
}

cm_status cm_frame_file_open(cm_frame_store *s, const char *folder) {
    const off_t bytes = (off_t)s->capacity * (off_t)s->bytes;
    if (!cm_file_is_directory(folder))
        return cm_fail(CM_ERR_INPUT, "Memory.memory_path: %s: no folder; name one that is there", folder);
    const int file = open_unnamed(folder);
    if (file < 0)
        return cm_fail(CM_ERR_IO, "Memory.memory_path: %s: no file can be made there: %s", folder, strerror(errno));
    const cm_status status = take_disk(file, folder, bytes);
    if (status != CM_OK) {
        close(file);
        return status;
    }
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    s->file = file;
    return CM_OK;
}

/* ---- frames ---- */

unsigned char *cm_frame_store_space(const cm_frame_store *s, int writer, int32_t frame) {
    return s->data + (size_t)(s->is_file ? writer : frame) * s->bytes;
}

cm_status cm_frame_store_write(const cm_frame_store *s, int writer, int32_t frame) {
    const unsigned char *from = cm_frame_store_space(s, writer, frame);
    const off_t start = (off_t)frame * (off_t)s->bytes;
    for (size_t at = 0; s->is_file && at < s->bytes;) {
        const ssize_t some = pwrite(s->file, from + at, s->bytes - at, start + (off_t)at);
        if (cm_is_eintr(some)) continue;
        if (some <= 0) return cm_fail(CM_ERR_IO, "the file of the memory: cannot be written: %s", strerror(errno));
        at += (size_t)some;
    }
    return CM_OK;
}

static cm_status read_file(const cm_frame_store *s, int32_t frame, unsigned char *to) {
    const off_t start = (off_t)frame * (off_t)s->bytes;
    for (size_t at = 0; at < s->bytes;) {
        const ssize_t some = pread(s->file, to + at, s->bytes - at, start + (off_t)at);
        if (cm_is_eintr(some)) continue;
        if (some <= 0)
            return cm_fail(CM_ERR_IO, "the file of the memory: cannot be read: %s",
                           some < 0 ? strerror(errno) : "it has been cut");
        at += (size_t)some;
    }
    return CM_OK;
}

/* ---- reading through a cache ---- */

void cm_frame_reader_lay_out(cm_frame_reader *r, cm_arena *arena, const cm_frame_store *s, int positions) {
    const int32_t slots = 2 * s->shape.count + positions;
    *r = (cm_frame_reader){.slots = s->is_file ? slots : 0};
    if (!s->is_file) return;
    r->last = cm_arena_alloc(arena, (size_t)slots * sizeof *r->last);
    r->number = cm_arena_alloc(arena, (size_t)slots * sizeof *r->number);
    r->bytes = cm_arena_alloc(arena, (size_t)slots * s->bytes);
}

void cm_frame_reader_forget(cm_frame_reader *r) {
    for (int32_t i = 0; i < r->slots; i++) r->number[i] = -1, r->last[i] = 0;
    r->now = 0;
}

/* Where it is, else the slot that was read longest ago. */
static int32_t find_slot(const cm_frame_reader *r, int32_t frame) {
    int32_t oldest = 0;
    for (int32_t i = 0; i < r->slots; i++) {
        if (r->number[i] == frame) return i;
        if (r->last[i] < r->last[oldest]) oldest = i;
    }
    return oldest;
}

cm_status cm_frame_store_read(const cm_frame_store *s, cm_frame_reader *r, int32_t frame, const unsigned char **out) {
    if (!s->is_file) {
        *out = s->data + (size_t)frame * s->bytes;
        return CM_OK;
    }
    const int32_t slot = find_slot(r, frame);
    r->last[slot] = ++r->now;
    if (r->number[slot] != frame) {
        r->number[slot] = -1;
        CM_TRY(read_file(s, frame, r->bytes + (size_t)slot * s->bytes));
        r->number[slot] = frame;
    }
    *out = r->bytes + (size_t)slot * s->bytes;
    return CM_OK;
}
