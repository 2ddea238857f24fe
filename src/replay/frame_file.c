/* Where frames lie: in memory as they are or packed, or in a file without a name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

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
        "Memory.memory_path: %s: the file of the memory takes %s, and a tenth of that must be left; %s are free "
        "there; name another folder, or "
        "lower memory_steps",
        folder, needed, left);
}

/* Takes the disk now, so that it is not full later on. A tenth more must be there: checkpoints need some, too, and root
 * may take what is set aside for others. */
static cm_status take_disk(int file, const char *folder, off_t bytes) {
    struct statvfs disk;
    int result;
    if (fstatvfs(file, &disk) != 0 || (double)disk.f_bavail * (double)disk.f_frsize < 1.1 * (double)bytes)
        return fail_space(folder, (double)bytes);
    do result = fallocate(file, 0, 0, bytes);
    while (cm_is_eintr(result));
    if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) result = ftruncate(file, bytes);
    return result == 0 ? CM_OK : fail_space(folder, (double)bytes);
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

static bool are_staged(const cm_frame_store *s) { return s->is_file || s->is_packed; }

cm_status cm_frame_store_open(cm_frame_store *s) { return s->is_packed ? cm_packed_frames_open(&s->packed) : CM_OK; }

void cm_frame_store_close(cm_frame_store *s) {
    if (s->file >= 0) close(s->file);
    if (s->is_packed) cm_packed_frames_close(&s->packed);
}

unsigned char *cm_frame_store_space(const cm_frame_store *s, int writer, int32_t frame) {
    return s->data + (size_t)(are_staged(s) ? writer : frame) * s->bytes;
}

static cm_status write_file(const cm_frame_store *s, int32_t frame, const unsigned char *from) {
    const off_t start = (off_t)frame * (off_t)s->bytes;
    for (size_t at = 0; at < s->bytes;) {
        const ssize_t some = pwrite(s->file, from + at, s->bytes - at, start + (off_t)at);
        if (cm_is_eintr(some)) continue;
        if (some <= 0) return cm_fail(CM_ERR_IO, "the file of the memory: cannot be written: %s", strerror(errno));
        at += (size_t)some;
    }
    return CM_OK;
}

cm_status cm_frame_store_write(cm_frame_store *s, int writer, int32_t frame) {
    const unsigned char *from = cm_frame_store_space(s, writer, frame);
    if (s->is_packed) return cm_packed_frames_write(&s->packed, frame, from);
    return s->is_file ? write_file(s, frame, from) : CM_OK;
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
    *r = (cm_frame_reader){.slots = are_staged(s) ? slots : 0};
    if (!are_staged(s)) return;
    if (s->is_packed) r->space = cm_arena_alloc(arena, s->packed.bound);
    r->last = cm_arena_alloc(arena, (size_t)slots * sizeof *r->last);
    r->number = cm_arena_alloc(arena, (size_t)slots * sizeof *r->number);
    r->bytes = cm_arena_alloc(arena, (size_t)slots * s->bytes);
}

cm_status cm_frame_reader_open(cm_frame_reader *r, const cm_frame_store *s) {
    cm_frame_reader_forget(r);
    if (s->is_packed) r->decompress = ZSTD_createDCtx();
    if (r->decompress || !s->is_packed) return CM_OK;
    return cm_fail(CM_ERR_MEMORY, "replay: no memory to unpack frames");
}

void cm_frame_reader_close(cm_frame_reader *r) { ZSTD_freeDCtx(r->decompress); }

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
    if (!are_staged(s)) {
        *out = s->data + (size_t)frame * s->bytes;
        return CM_OK;
    }
    const int32_t slot = find_slot(r, frame);
    r->last[slot] = ++r->now;
    if (r->number[slot] != frame) {
        r->number[slot] = -1;
        unsigned char *to = r->bytes + (size_t)slot * s->bytes;
        CM_TRY(s->is_packed ? cm_packed_frames_read(&s->packed, frame, r->decompress, r->space, to)
                            : read_file(s, frame, to));
        r->number[slot] = frame;
    }
    *out = r->bytes + (size_t)slot * s->bytes;
    return CM_OK;
}
