#include "replay/packed_frames.h"

#include <string.h>
#include <zstd.h>

enum { LEVEL = 1, QUARTER = 4, LEAST_CHUNK = 64, MOST_CHUNK = 512 };

void cm_packed_frames_lay_out(cm_packed_frames *p, cm_arena *arena, int32_t frames, size_t bytes, int64_t whole) {
    const size_t wanted = cm_align(bytes / LEAST_CHUNK);
    p->bytes = bytes;
    p->frames = frames;
    p->bound = ZSTD_compressBound(bytes);
    p->chunk = wanted < LEAST_CHUNK ? LEAST_CHUNK : wanted > MOST_CHUNK ? MOST_CHUNK : wanted;
    p->most = (int32_t)((p->bound + p->chunk - 1) / p->chunk);
    const double kept = (double)frames * ((double)bytes / QUARTER + (double)p->chunk) / (double)p->chunk;
    const double chunks = kept + (double)whole * p->most;
    p->chunks = chunks < (double)INT32_MAX ? (int32_t)chunks : INT32_MAX;
    p->data = cm_arena_alloc(arena, (size_t)p->chunks * p->chunk);
    p->space = cm_arena_alloc(arena, p->bound);
    p->next = cm_arena_alloc(arena, (size_t)p->chunks * sizeof *p->next);
    p->first = cm_arena_alloc(arena, (size_t)frames * sizeof *p->first);
    p->size = cm_arena_alloc(arena, (size_t)frames * sizeof *p->size);
}

cm_status cm_packed_frames_open(cm_packed_frames *p) {
    p->compress = ZSTD_createCCtx();
    if (!p->compress) return cm_fail(CM_ERR_MEMORY, "replay: no memory to compress frames");
    pthread_mutex_init(&p->lock, NULL);
    cm_packed_frames_clear(p);
    return CM_OK;
}

void cm_packed_frames_close(cm_packed_frames *p) {
    if (!p->compress) return;
    ZSTD_freeCCtx(p->compress);
    pthread_mutex_destroy(&p->lock);
}

void cm_packed_frames_clear(cm_packed_frames *p) {
    for (int32_t i = 0; i < p->frames; i++) p->first[i] = -1;
    p->free = -1;
    p->fresh = 0;
    p->free_count = p->chunks;
}

/* ---- chunks; the lock is held ---- */

static int32_t take_chunk(cm_packed_frames *p) {
    const int32_t chunk = p->free >= 0 ? p->free : p->fresh++;
    if (p->free >= 0) p->free = p->next[chunk];
    p->free_count--;
    return chunk;
}

static void drop(cm_packed_frames *p, int32_t frame) {
    for (int32_t chunk = p->first[frame], next; chunk >= 0; chunk = next) {
        next = p->next[chunk];
        p->next[chunk] = p->free;
        p->free = chunk;
        p->free_count++;
    }
    p->first[frame] = -1;
}

static void store(cm_packed_frames *p, int32_t frame, size_t size) {
    int32_t *link = &p->first[frame];
    p->size[frame] = (int32_t)size;
    for (size_t at = 0; at < size; at += p->chunk) {
        const int32_t chunk = take_chunk(p);
        memcpy(p->data + (size_t)chunk * p->chunk, p->space + at, size - at < p->chunk ? size - at : p->chunk);
        *link = chunk;
        link = &p->next[chunk];
    }
    *link = -1;
}

/* ---- frames ---- */

static cm_status write_frame(cm_packed_frames *p, int32_t frame, const unsigned char *bytes) {
    const size_t size = ZSTD_compressCCtx(p->compress, p->space, p->bound, bytes, p->bytes, LEVEL);
    if (ZSTD_isError(size))
        return cm_fail(CM_ERR_MEMORY, "replay: cannot compress a frame: %s", ZSTD_getErrorName(size));
    drop(p, frame);
    if ((size_t)p->free_count * p->chunk < size)
        return cm_fail(CM_ERR_MEMORY, "replay: the compressed frames do not fit; take memory_store file, or more "
                                      "memory_steps, as space is a quarter of theirs");
    store(p, frame, size);
    return CM_OK;
}

cm_status cm_packed_frames_write(cm_packed_frames *p, int32_t frame, const unsigned char *bytes) {
    pthread_mutex_lock(&p->lock);
    const cm_status status = write_frame(p, frame, bytes);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void cm_packed_frames_drop(cm_packed_frames *p, int32_t frame) {
    pthread_mutex_lock(&p->lock);
    drop(p, frame);
    pthread_mutex_unlock(&p->lock);
}

cm_status cm_packed_frames_read(const cm_packed_frames *p, int32_t frame, void *decompress, unsigned char *space,
                                unsigned char *out) {
    const size_t size = (size_t)p->size[frame];
    size_t at = 0;
    for (int32_t chunk = p->first[frame]; at < size; chunk = p->next[chunk], at += p->chunk)
        memcpy(space + at, p->data + (size_t)chunk * p->chunk, size - at < p->chunk ? size - at : p->chunk);
    const size_t whole = ZSTD_decompressDCtx(decompress, out, p->bytes, space, size);
    return whole == p->bytes ? CM_OK : cm_fail(CM_ERR_IO, "a compressed frame of the memory is damaged");
}
