#include "run/episode_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"

static const char folder_name[] = "episodes", best_name[] = "best.gif";

/* ---- names ---- */

enum { NAME = 32 };

static void name_file(long long number, char name[NAME]) { snprintf(name, NAME, "%08lld.gif", number); }

/* Whether a file has a name that a run gives, "00001234.gif", and not 1.gif or best.gif. */
static bool read_number(const char *name, long long *out) {
    char ours[NAME];
    if (sscanf(name, "%18lld", out) != 1 || *out < 0) return false;
    name_file(*out, ours);
    return strcmp(name, ours) == 0;
}

/* Whether `name` is that of one of our files while it is being written: NAME.tmp-PID. */
static bool is_unfinished(const char *name) {
    static const char mark[] = ".tmp-";
    char whole[NAME];
    long long number;
    const char *at = strstr(name, mark);
    if (!at || at - name >= NAME) return false;
    snprintf(whole, sizeof whole, "%.*s", (int)(at - name), name);
    at += sizeof mark - 1;
    return *at && strspn(at, "0123456789") == strlen(at) &&
           (strcmp(whole, best_name) == 0 || read_number(whole, &number));
}

/* ---- which stay ---- */

/* The files of evaluations in a folder, by their updates. */
typedef struct list {
    long long *number; /* [space], owned */
    size_t count, space;
} list;

static cm_status note(void *context, const char *name) {
    list *l = context;
    long long number;
    if (!read_number(name, &number)) return CM_OK;
    if (l->count == l->space) {
        const size_t space = 2 * l->space + 64;
        long long *grown = realloc(l->number, space * sizeof *grown);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "no memory for a list of %zu moving pictures", space);
        l->number = grown, l->space = space;
    }
    l->number[l->count++] = number;
    return CM_OK;
}

static int newest_first(const void *a, const void *b) {
    const long long x = *(const long long *)a, y = *(const long long *)b;
    return (x < y) - (x > y);
}

static cm_status remove_others(const cm_dir *folder, const list *all, long long own, int most) {
    char name[NAME];
    int kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->number[i] <= own && kept < most) {
            kept++;
            continue;
        }
        name_file(all->number[i], name);
        CM_TRY(cm_dir_unlink(folder, name));
    }
    return CM_OK;
}

static cm_status prune(const cm_dir *folder, long long own, int most) {
    list all = {NULL, 0, 0};
    cm_status status = cm_dir_each(folder, note, &all);
    if (all.count > 0) qsort(all.number, all.count, sizeof *all.number, newest_first);
    if (status == CM_OK) status = remove_others(folder, &all, own, most);
    free(all.number);
    return status;
}

/* ---- the folder ---- */

/* The one before is removed first: of a file that takes another's place ext4 writes the bytes to the disk at once, for
 * which the next checkpoint then waits. */
static cm_status write_best(const cm_dir *folder, const cm_file_bytes *gif) {
    CM_TRY(cm_dir_unlink(folder, best_name));
    return cm_dir_write_unsynced(folder, best_name, gif->data, gif->size);
}

cm_status cm_episode_files_write(const cm_dir *run, int64_t updates, const cm_file_bytes *gif, bool is_best, int most) {
    char name[NAME];
    cm_dir folder;
    CM_TRY(cm_dir_make(run, folder_name));
    CM_TRY(cm_dir_enter(&folder, run, folder_name));
    name_file((long long)updates, name);
    cm_status status = cm_dir_write_unsynced(&folder, name, gif->data, gif->size);
    if (status == CM_OK && is_best) status = write_best(&folder, gif);
    if (status == CM_OK) status = prune(&folder, (long long)updates, most);
    cm_dir_close(&folder);
    return status;
}

static cm_status remove_unfinished(void *context, const char *name) {
    const cm_dir *folder = context;
    if (is_unfinished(name) && cm_dir_unlink(folder, name) != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
    return CM_OK;
}

void cm_episode_files_clean(const cm_dir *run) {
    cm_dir folder;
    if (cm_dir_look(run, folder_name) != CM_DIR_FOLDER) return;
    cm_status status = cm_dir_enter(&folder, run, folder_name);
    if (status == CM_OK) status = cm_dir_each(&folder, remove_unfinished, &folder);
    if (status != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
    cm_dir_close(&folder);
}
