/* A small table of keys and bytes, and its file:
 *
 *     cumind choices 1
 *     identity
 *     hex of the value, a space, the key           one line each
 *     checksum XXH3 of all before this line, in hex
 */
#include "device/cuda/autotune_cache.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/log.h"

enum {
    IDENTITY_BYTES = 256,
    FILE_LIMIT = 16 << 20,
    LINE_BYTES = CM_AUTOTUNE_KEY_BYTES + 2 * CM_AUTOTUNE_VALUE_BYTES + 4
};
static const char first_line[] = "cumind choices 1";
static const char last_word[] = "checksum ";

typedef struct cache_entry {
    char key[CM_AUTOTUNE_KEY_BYTES];
    unsigned char value[CM_AUTOTUNE_VALUE_BYTES];
    size_t size;
} cache_entry;

struct cm_autotune_cache {
    char identity[IDENTITY_BYTES];
    char path[1024]; /* "": nowhere */
    pthread_mutex_t lock;
    cache_entry *list; /* [count] */
    int count, capacity;
};

/* ---- the table ---- */

static cache_entry *find(const cm_autotune_cache *c, const char *key, size_t length) {
    for (int i = 0; i < c->count; i++)
        if (strlen(c->list[i].key) == length && memcmp(c->list[i].key, key, length) == 0) return &c->list[i];
    return NULL;
}

static cm_status add(cm_autotune_cache *c, const char *key, size_t length, cache_entry **out) {
    *out = find(c, key, length);
    if (*out) return CM_OK;
    if (c->count == c->capacity) {
        int capacity = c->capacity ? 2 * c->capacity : 32;
        cache_entry *grown = realloc(c->list, (size_t)capacity * sizeof *grown);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "no memory for the choices of algorithms");
        c->list = grown, c->capacity = capacity;
    }
    *out = &c->list[c->count++];
    memset(*out, 0, sizeof **out);
    memcpy((*out)->key, key, length);
    return CM_OK;
}

/* ---- the file ---- */

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* One line "hex key" of `length` characters. False if it is not of that form. */
static bool parse_line(cm_autotune_cache *c, const char *line, size_t length, cm_status *status) {
    unsigned char value[CM_AUTOTUNE_VALUE_BYTES];
    size_t size = 0;
    for (; 2 * size + 1 < length && digit(line[2 * size]) >= 0 && digit(line[2 * size + 1]) >= 0; size++) {
        if (size == CM_AUTOTUNE_VALUE_BYTES) return false;
        value[size] = (unsigned char)(16 * digit(line[2 * size]) + digit(line[2 * size + 1]));
    }
    const size_t at = 2 * size + 1;
    if (size == 0 || at >= length || line[at - 1] != ' ' || length - at >= CM_AUTOTUNE_KEY_BYTES) return false;
    cache_entry *entry = NULL;
    *status = add(c, line + at, length - at, &entry);
    if (*status != CM_OK) return true;
    memcpy(entry->value, value, size);
    entry->size = size;
    return true;
}

/* The line at *at, without its end, and *at after it; NULL if no whole line is left. */
static const char *next_line(const char **at, const char *end, size_t *length) {
    const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) return NULL;
    *length = (size_t)(stop - line);
    *at = stop + 1;
    return line;
}

static bool is_line(const char *line, size_t length, const char *text) {
    return line && strlen(text) == length && memcmp(line, text, length) == 0;
}

/* Where the checksum's line begins, if the text ends with the right one; else NULL. */
static const char *checked_end(const char *text, size_t size) {
    char wanted[40];
    const size_t length = sizeof last_word - 1 + 16 + 1;
    if (size < length) return NULL;
    const char *line = text + size - length;
    snprintf(wanted, sizeof wanted, "%s%016" PRIx64 "\n", last_word, (uint64_t)XXH3_64bits(text, size - length));
    return memcmp(line, wanted, length) == 0 ? line : NULL;
}

cm_status cm_autotune_cache_parse(cm_autotune_cache *c, const char *text, size_t size, const char **why) {
    const char *end = checked_end(text, size), *at = text, *line;
    size_t length = 0;
    cm_status status = CM_OK;
    *why = "it is damaged";
    if (!end) return CM_OK;
    line = next_line(&at, end, &length);
    if (!is_line(line, length, first_line)) return CM_OK;
    line = next_line(&at, end, &length);
    *why = "it is of another device or version";
    if (!is_line(line, length, c->identity)) return CM_OK;
    while (at < end) {
        line = next_line(&at, end, &length);
        if (line && parse_line(c, line, length, &status) && status == CM_OK) continue;
        c->count = 0;
        *why = "it is damaged";
        return status;
    }
    *why = NULL;
    return CM_OK;
}

/* Takes in the file, if there is one: *why as of cm_autotune_cache_parse. */
static cm_status read_all(cm_autotune_cache *c, const char **why) {
    char *text = NULL;
    size_t size = 0;
    *why = NULL;
    if (!c->path[0] || !cm_file_exists(c->path)) return CM_OK;
    CM_TRY(cm_file_read(c->path, FILE_LIMIT, &text, &size));
    cm_status status = cm_autotune_cache_parse(c, text, size, why);
    free(text);
    return status;
}

static cm_status load(cm_autotune_cache *c) {
    const char *why;
    cm_status status = read_all(c, &why);
    if (status == CM_OK && why) cm_log(CM_WARNING, "%s is ignored, %s: algorithms are chosen again", c->path, why);
    if (status == CM_OK || status == CM_ERR_MEMORY) return status;
    cm_log(CM_WARNING, "algorithms are chosen again: %s", cm_error_message());
    return CM_OK;
}

/* What other processes have written since it was read. Of what cannot be read nothing is missed: it is chosen again. */
static void merge_file(cm_autotune_cache *c) {
    cm_autotune_cache file = {.list = NULL};
    const char *why;
    cache_entry *entry;
    memcpy(file.identity, c->identity, sizeof file.identity);
    memcpy(file.path, c->path, sizeof file.path);
    cm_status status = read_all(&file, &why);
    for (int i = 0; i < file.count && status == CM_OK; i++) {
        const size_t length = strlen(file.list[i].key);
        if (find(c, file.list[i].key, length)) continue;
        status = add(c, file.list[i].key, length, &entry);
        if (status == CM_OK) *entry = file.list[i];
    }
    free(file.list);
}

/* Writes the file's text into out[(count + 1) * LINE_BYTES + IDENTITY_BYTES]; returns its length. */
static size_t format(const cm_autotune_cache *c, char *out) {
    size_t used = (size_t)sprintf(out, "%s\n%s\n", first_line, c->identity);
    for (int i = 0; i < c->count; i++) {
        for (size_t b = 0; b < c->list[i].size; b++) used += (size_t)sprintf(out + used, "%02x", c->list[i].value[b]);
        used += (size_t)sprintf(out + used, " %s\n", c->list[i].key);
    }
    return used + (size_t)sprintf(out + used, "%s%016" PRIx64 "\n", last_word, (uint64_t)XXH3_64bits(out, used));
}

static cm_status write_all(const cm_autotune_cache *c) {
    char *text = NULL;
    CM_TRY(cm_alloc(&text, (size_t)c->count * LINE_BYTES + LINE_BYTES + IDENTITY_BYTES, 1, "a file of choices"));
    cm_status status = cm_file_write(c->path, text, format(c, text));
    free(text);
    return status;
}

/* What cannot be written is not tried again. */
static void save(cm_autotune_cache *c) {
    merge_file(c);
    if (!c->path[0] || write_all(c) == CM_OK) return;
    cm_log(CM_WARNING, "choices of algorithms are not kept: %s", cm_error_message());
    c->path[0] = '\0';
}

/* ---- the object ---- */

bool cm_autotune_cache_folder(char *out, size_t size) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') return snprintf(out, size, "%s/cumind", cache) < (int)size;
    if (home && home[0] == '/') return snprintf(out, size, "%s/.cache/cumind", home) < (int)size;
    return false;
}

static bool is_one_line(const char *text) { return text[0] && !strpbrk(text, "\n\r"); }

cm_status cm_autotune_cache_open(const char *folder, const char *identity, cm_autotune_cache **out) {
    cm_autotune_cache *c = NULL;
    *out = NULL;
    if (!is_one_line(identity) || strlen(identity) >= IDENTITY_BYTES)
        return cm_fail(CM_ERR_INPUT, "the identity of a file of choices is not a line of 1..%d bytes",
                       IDENTITY_BYTES - 1);
    CM_TRY(cm_alloc(&c, 1, sizeof *c, "the choices of algorithms"));
    pthread_mutex_init(&c->lock, NULL);
    snprintf(c->identity, sizeof c->identity, "%s", identity);
    if (folder && cm_directory_make(folder) != CM_OK) {
        cm_log(CM_WARNING, "choices of algorithms are not kept: %s", cm_error_message());
    } else if (folder) {
        snprintf(c->path, sizeof c->path, "%.900s/choices-%016" PRIx64 ".txt", folder,
                 (uint64_t)XXH3_64bits(identity, strlen(identity)));
    }
    cm_status status = load(c);
    if (status == CM_OK) {
        *out = c;
    } else {
        cm_autotune_cache_close(c);
    }
    return status;
}

void cm_autotune_cache_close(cm_autotune_cache *cache) {
    if (!cache) return;
    pthread_mutex_destroy(&cache->lock);
    free(cache->list);
    free(cache);
}

bool cm_autotune_cache_find(cm_autotune_cache *cache, const char *key, void *value, size_t size) {
    pthread_mutex_lock(&cache->lock);
    const cache_entry *entry = find(cache, key, strlen(key));
    bool found = entry && entry->size == size;
    if (found) memcpy(value, entry->value, size);
    pthread_mutex_unlock(&cache->lock);
    return found;
}

cm_status cm_autotune_cache_keep(cm_autotune_cache *cache, const char *key, const void *value, size_t size) {
    cache_entry *entry = NULL;
    if (!is_one_line(key) || strlen(key) >= CM_AUTOTUNE_KEY_BYTES || size == 0 || size > CM_AUTOTUNE_VALUE_BYTES)
        return cm_fail(CM_ERR_INPUT, "a choice of %zu bytes under \"%.40s\" is no line, or too long", size, key);
    pthread_mutex_lock(&cache->lock);
    cm_status status = add(cache, key, strlen(key), &entry);
    if (status == CM_OK) {
        memcpy(entry->value, value, size);
        entry->size = size;
        save(cache);
    }
    pthread_mutex_unlock(&cache->lock);
    return status;
}

int cm_autotune_cache_count(const cm_autotune_cache *cache) { return cache->count; }
