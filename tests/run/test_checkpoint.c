/* Checkpoints are complete or not there, whatever happens to the process and to the files. */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "run/checkpoint.h"
#include "run/manifest.h"
#include "support/folder.h"
#include "support/main.h"

/* The process ends itself before it has made so many more calls that change the disk; -1: never. */
static int calls_left = -1;

static void count_call(void) {
    if (calls_left == 0) kill(getpid(), SIGKILL);
    if (calls_left > 0) calls_left--;
}

int fsync(int file) {
    count_call();
    return (int)syscall(SYS_fsync, file);
}

int renameat(int from, const char *old, int to, const char *new) {
    count_call();
    return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    count_call();
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int symlinkat(const char *target, int at, const char *name) {
    count_call();
    return (int)syscall(SYS_symlinkat, target, at, name);
}

int unlinkat(int at, const char *name, int flags) {
    count_call();
    return (int)syscall(SYS_unlinkat, at, name, flags);
}

/* A part with one array, one JSON file and segments that never change. */
typedef struct module {
    float weight[4];
    int segments;      /* how many there are */
    int first_segment; /* older ones are gone */
    int written, kept; /* segments written again, taken over */
    cm_status fail;    /* what save answers at its end */
    uint64_t bytes;
    bool is_begun; /* its checkpoints are finished by a thread */
} module;

/* What a thread makes of a staged segment: the same. */
static cm_status pack(const cm_source *staged, const cm_sink *sink) {
    char text[64];
    CM_TRY(cm_source_read(staged, 0, text, (size_t)staged->size));
    return sink->write(sink->context, text, (size_t)staged->size);
}

static cm_status put_segment(cm_checkpoint_writer *writer, const char *name, const char *text) {
    cm_sink sink;
    if (!cm_checkpoint_is_staging(writer)) return cm_checkpoint_put(writer, name, text, strlen(text));
    CM_TRY(cm_checkpoint_begin_staged(writer, name, pack, &sink));
    CM_TRY(sink.write(sink.context, text, strlen(text)));
    return cm_checkpoint_end(writer);
}

static cm_status module_save(void *context, cm_checkpoint_writer *writer) {
    module *m = context;
    cm_array array = {.name = "w", .ndim = 1, .dim = {4}, .data = m->weight};
    CM_TRY(cm_checkpoint_put_arrays(writer, "parameters.safetensors", &array, 1));
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "segments", m->segments);
    cm_json_put_int(json, "first", m->first_segment);
    cm_json_end_object(json);
    cm_status status = cm_checkpoint_put_json(writer, "state.json", json);
    cm_json_writer_destroy(json);
    CM_TRY(status);
    for (int i = m->first_segment; i < m->segments; i++) {
        char name[32], text[64];
        bool kept = false;
        snprintf(name, sizeof name, "segment-%d.bin", i);
        snprintf(text, sizeof text, "content of segment %d", i);
        CM_TRY(cm_checkpoint_keep(writer, name, &kept));
        if (kept) m->kept++;
        if (kept) continue;
        m->written++;
        CM_TRY(put_segment(writer, name, text));
    }
    return m->fail ? cm_fail(m->fail, "told to fail") : CM_OK;
}

static cm_status module_load(void *context, cm_checkpoint_reader *reader) {
    module *m = context;
    cm_array array = {.name = "w", .ndim = 1, .dim = {4}, .data = m->weight};
    CM_TRY(cm_checkpoint_get_arrays(reader, "parameters.safetensors", &array, 1));
    cm_json_doc *doc = NULL;
    int64_t segments = 0, first = 0;
    CM_TRY(cm_checkpoint_get_json(reader, "state.json", &doc));
    cm_status status = cm_json_need_int(cm_json_root(doc), "segments", 0, 1000, &segments);
    if (status == CM_OK) status = cm_json_need_int(cm_json_root(doc), "first", 0, 1000, &first);
    cm_json_free(doc);
    CM_TRY(status);
    m->segments = (int)segments, m->first_segment = (int)first;
    for (int i = m->first_segment; i < m->segments; i++) {
        char name[32], *data = NULL;
        size_t size = 0;
        snprintf(name, sizeof name, "segment-%d.bin", i);
        CM_TRY(cm_checkpoint_get(reader, name, 1000, &data, &size));
        free(data);
    }
    return CM_OK;
}

static uint64_t module_bytes(void *context) { return ((module *)context)->bytes; }

static cm_checkpoint_store *store;

static cm_checkpoint_part part_of(module *m) {
    cm_checkpoint_part part = {"module", m, module_bytes, module_save, module_load};
    return part;
}

static void begin(void) {
    cm_test_folder_make();
    ck_assert_int_eq(cm_checkpoint_store_create(cm_test_folder, 3, NULL, &store), CM_OK);
}

static void end(void) {
    cm_checkpoint_store_destroy(store);
    cm_test_folder_remove();
}

static cm_status try_save(module *m, int64_t update) {
    cm_checkpoint_part part = part_of(m);
    if (!m->is_begun) return cm_checkpoint_save(store, update, &part, 1);
    CM_TRY(cm_checkpoint_begin_save(store, update, &part, 1));
    return cm_checkpoint_wait(store);
}

static void save(module *m, int64_t update) { ck_assert_msg(try_save(m, update) == CM_OK, "%s", cm_error_message()); }

static cm_status load(module *m, int64_t update, int64_t *loaded) {
    cm_checkpoint_part part = part_of(m);
    return cm_checkpoint_load(store, update, &part, 1, loaded);
}

static int count_all(int64_t *numbers) { return cm_checkpoint_list(store, numbers, 64); }

START_TEST(saved_state_loads_back) {
    module m = {.is_begun = _i == 1, .weight = {1, 2, 3, 4}, .segments = 2}, n = {0};
    int64_t loaded = 0;
    save(&m, 640);
    ck_assert_msg(load(&n, CM_CHECKPOINT_LATEST, &loaded) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(loaded, 640);
    ck_assert_mem_eq(n.weight, m.weight, sizeof m.weight);
    ck_assert_int_eq(n.segments, 2);
}
END_TEST

START_TEST(three_newest_and_the_best_are_kept) {
    module m = {.is_begun = _i == 1};
    int64_t numbers[64];
    for (int i = 1; i <= 6; i++) {
        save(&m, 10 * i);
        if (i == 2) ck_assert_int_eq(cm_checkpoint_point_best(store, 20), CM_OK);
    }
    ck_assert_int_eq(count_all(numbers), 4);
    ck_assert_int_eq(numbers[0], 20);
    ck_assert_int_eq(numbers[1], 40);
    ck_assert_int_eq(numbers[3], 60);
    ck_assert_int_eq(cm_checkpoint_find(store, CM_CHECKPOINT_BEST), 20);
    ck_assert_int_eq(cm_checkpoint_find(store, CM_CHECKPOINT_LATEST), 60);
}
END_TEST

START_TEST(unchanged_segments_are_hard_linked) {
    module m = {.is_begun = _i == 1, .segments = 3};
    save(&m, 1);
    m.segments = 5, m.first_segment = 1;
    save(&m, 2);
    ck_assert_int_eq(m.written, 5); /* three, then two */
    ck_assert_int_eq(m.kept, 2);
    char path[PATH_MAX];
    struct stat about;
    snprintf(path, sizeof path, "%.4000s/checkpoints/00000002/segment-2.bin", cm_test_folder);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_uint_eq(about.st_nlink, 2);
    module n = {0};
    ck_assert_int_eq(load(&n, 2, NULL), CM_OK);
    ck_assert_int_eq(n.segments, 5);
}
END_TEST

static void path_in(int64_t update, const char *name, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%.4000s/checkpoints/%08lld/%s", cm_test_folder, (long long)update, name);
}

static nlink_t names_of(int64_t update, const char *name) {
    char path[PATH_MAX];
    struct stat about;
    path_in(update, name, path);
    ck_assert_int_eq(stat(path, &about), 0);
    return about.st_nlink;
}

/* One flipped bit is in two checkpoints at most. */
START_TEST(every_second_checkpoint_has_copies_of_its_own) {
    module m = {.is_begun = _i == 1, .segments = 2};
    for (int i = 1; i <= 5; i++) {
        if (i == 3) ck_assert_uint_gt(cm_checkpoint_copy_bytes(store, "segment-0.bin"), 0);
        if (i == 2) ck_assert_uint_eq(cm_checkpoint_copy_bytes(store, "segment-0.bin"), 0);
        save(&m, i);
        for (int k = i > 3 ? i - 2 : 1; k <= i; k++) ck_assert_uint_le(names_of(k, "segment-0.bin"), 2);
    }
    ck_assert_int_eq(m.written, 2);
    char path[PATH_MAX];
    path_in(5, "segment-0.bin", path);
    int file = open(path, O_RDWR);
    ck_assert_int_eq(pwrite(file, "X", 1, 3), 1);
    close(file);
    int damaged = 0;
    for (int i = 3; i <= 5; i++) damaged += cm_checkpoint_verify(store, i, NULL) != CM_OK;
    ck_assert_int_ge(damaged, 1);
    ck_assert_int_le(damaged, 2);
}
END_TEST

/* Before it is copied its checksum is looked at: what memory holds takes the place of what is damaged. */
START_TEST(a_damaged_segment_is_written_again_and_not_copied) {
    module m = {.segments = 1}, n = {0};
    save(&m, 1);
    save(&m, 2); /* shares it */
    char path[PATH_MAX];
    path_in(2, "segment-0.bin", path);
    int file = open(path, O_RDWR);
    ck_assert_int_eq(pwrite(file, "X", 1, 3), 1);
    close(file);
    save(&m, 3);
    ck_assert_int_eq(m.written, 2);
    ck_assert_int_ne(cm_checkpoint_verify(store, 1, NULL), CM_OK);
    ck_assert_int_ne(cm_checkpoint_verify(store, 2, NULL), CM_OK);
    ck_assert_int_eq(load(&n, 3, NULL), CM_OK);
}
END_TEST

static bool may_lack(const char *name) { return strncmp(name, "segment-", 8) == 0; }

START_TEST(a_checkpoint_may_lack_what_is_said) {
    module m = {.segments = 1};
    char path[PATH_MAX];
    save(&m, 1);
    save(&m, 2);
    path_in(2, "segment-0.bin", path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(cm_checkpoint_verify(store, 2, NULL), CM_ERR_IO);
    ck_assert_int_eq(cm_checkpoint_verify(store, 2, may_lack), CM_OK);
    ck_assert_int_eq(cm_checkpoint_newest_intact(store, NULL), 1);
    ck_assert_int_eq(cm_checkpoint_newest_intact(store, may_lack), 2);
    path_in(2, "state.json", path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(cm_checkpoint_newest_intact(store, may_lack), 1);
}
END_TEST

START_TEST(segments_are_linked_after_a_load_too) {
    module m = {.is_begun = _i == 1, .segments = 3}, n = {0};
    save(&m, 1);
    cm_checkpoint_store_destroy(store);
    ck_assert_int_eq(cm_checkpoint_store_create(cm_test_folder, 3, NULL, &store), CM_OK);
    ck_assert_int_eq(load(&n, CM_CHECKPOINT_LATEST, NULL), CM_OK);
    save(&n, 2);
    ck_assert_int_eq(n.kept, 3);
    ck_assert_int_eq(n.written, 0);
}
END_TEST

START_TEST(saving_a_number_again_replaces_it) {
    module m = {.is_begun = _i == 1, .weight = {1}}, n = {0};
    int64_t numbers[64];
    save(&m, 5);
    m.weight[0] = 2;
    save(&m, 5);
    ck_assert_int_eq(load(&n, 5, NULL), CM_OK);
    ck_assert_float_eq(n.weight[0], 2);
    ck_assert_int_eq(count_all(numbers), 1);
}
END_TEST

START_TEST(failed_save_leaves_everything_as_it_was) {
    module m = {.weight = {1}}, n = {0};
    int64_t numbers[64], loaded = 0;
    save(&m, 5);
    m.weight[0] = 2, m.fail = CM_ERR_IO;
    cm_checkpoint_part part = part_of(&m);
    ck_assert_int_eq(cm_checkpoint_save(store, 6, &part, 1), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "saving module: told to fail"));
    ck_assert_int_eq(count_all(numbers), 1);
    ck_assert_int_eq(load(&n, CM_CHECKPOINT_LATEST, &loaded), CM_OK);
    ck_assert_int_eq(loaded, 5);
    ck_assert_float_eq(n.weight[0], 1);
}
END_TEST

START_TEST(saving_does_not_make_the_folder_of_a_run_that_was_removed) {
    module m = {.weight = {1}};
    char path[PATH_MAX];
    cm_checkpoint_part part = part_of(&m);
    cm_checkpoint_store *other;
    snprintf(path, sizeof path, "%.4000s/gone", cm_test_folder);
    ck_assert_int_eq(cm_checkpoint_store_create(path, 3, NULL, &other), CM_OK);
    ck_assert_int_eq(cm_checkpoint_save(other, 6, &part, 1), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "gone: cannot open the folder: No such file"));
    ck_assert(!cm_file_exists(path));
    cm_checkpoint_store_destroy(other);
}
END_TEST

START_TEST(disk_without_space_is_said) {
    module m = {.bytes = UINT64_MAX / 2};
    cm_checkpoint_part part = part_of(&m);
    ck_assert_int_eq(cm_checkpoint_check_space(store, &part, 1), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), ": a checkpoint needs about "));
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "the disk has"));
    m.bytes = 1000;
    ck_assert_int_eq(cm_checkpoint_check_space(store, &part, 1), CM_OK);
}
END_TEST

/* Overwrites `size` bytes at `at` (or truncates there) in a file of checkpoint 2. */
static void damage(const char *name, off_t at, const void *bytes, size_t size) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/checkpoints/00000002/%s", cm_test_folder, name);
    int file = open(path, O_RDWR);
    ck_assert_int_ge(file, 0);
    if (bytes) {
        ck_assert_int_eq(pwrite(file, bytes, size, at), (ssize_t)size);
    } else {
        ck_assert_int_eq(ftruncate(file, at), 0);
    }
    close(file);
}

static const struct damage_case {
    const char *file;
    off_t at;
    const char *bytes; /* NULL: truncate (or lengthen) */
    size_t size;
    const char *says;
} damages[] = {
    {"parameters.safetensors", 70, "\x7f", 1, "parameters.safetensors: its checksum differs"},
    {"parameters.safetensors", 40, NULL, 0, "parameters.safetensors: has 40 bytes"},
    {"parameters.safetensors", 0, NULL, 0, "the file is truncated"},
    {"parameters.safetensors", (off_t)1 << 40, NULL, 0, "has 1099511627776 bytes"},
    {"state.json", 0, "[", 1, "state.json: its checksum differs"},
    {"segment-0.bin", 3, "X", 1, "segment-0.bin: its checksum differs"},
    {"manifest.json", 0, NULL, 0, "manifest.json"},
    {"manifest.json", 20, NULL, 0, "manifest.json"},
    {"manifest.json", 3, "\xff\xfe", 2, "manifest.json"},
    {"manifest.json", 49, "3", 1, "manifest.json: speaks of update 3"},
    {"manifest.json", 86, "x", 1, "not in the manifest"}, /* the first letter of a name */
};

START_TEST(damaged_files_are_named_with_the_newest_intact_checkpoint) {
    module m = {.segments = 1}, n = {0};
    const struct damage_case *d = &damages[_i];
    m.first_segment = 0;
    save(&m, 1);
    cm_checkpoint_store_destroy(store); /* so that segment 0 is written twice, not shared */
    ck_assert_int_eq(cm_checkpoint_store_create(cm_test_folder, 3, NULL, &store), CM_OK);
    save(&m, 2);
    damage(d->file, d->at, d->bytes, d->size);
    ck_assert_int_eq(load(&n, CM_CHECKPOINT_LATEST, NULL), CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), d->says) != NULL, "got: %s", cm_error_message());
    ck_assert_msg(strstr(cm_error_message(), "newest intact checkpoint is 1") != NULL, "got: %s", cm_error_message());
    ck_assert_int_eq(load(&n, 1, NULL), CM_OK);
}
END_TEST

/* A terabyte that takes no space, as the manifest says, is not read for its checksum. */
START_TEST(files_of_holes_are_refused_unread) {
    module m = {.segments = 1}, n = {0};
    cm_manifest manifest = {0};
    cm_dir dir;
    char folder[256];
    save(&m, 2);
    damage("parameters.safetensors", (off_t)1 << 40, NULL, 0);
    snprintf(folder, sizeof folder, "%s/checkpoints/00000002", cm_test_folder);
    ck_assert_int_eq(cm_dir_open(&dir, folder), CM_OK);
    ck_assert_int_eq(cm_manifest_read(&manifest, &dir), CM_OK);
    for (int i = 0; i < manifest.count; i++)
        if (strcmp(manifest.file[i].name, "parameters.safetensors") == 0) manifest.file[i].bytes = (uint64_t)1 << 40;
    ck_assert_int_eq(cm_manifest_write(&manifest, &dir), CM_OK);
    cm_manifest_reset(&manifest);
    cm_dir_close(&dir);
    ck_assert_int_eq(load(&n, CM_CHECKPOINT_LATEST, NULL), CM_ERR_IO);
    ck_assert_msg(
        strstr(cm_error_message(), "parameters.safetensors: its 1099511627776 bytes are hardly anything but holes"),
        "%s", cm_error_message());
}
END_TEST

/* Another user's are not taken for none. */
START_TEST(checkpoints_that_may_not_be_read_are_said_so) {
    char folder[160];
    module m = {0};
    snprintf(folder, sizeof folder, "%s/checkpoints", cm_test_folder);
    save(&m, 7);
    ck_assert_int_eq(chmod(cm_test_folder, 0755), 0);
    ck_assert_int_eq(chmod(folder, 0), 0);
    if (geteuid() == 0) ck_assert_int_eq(seteuid(65534), 0); /* permissions do not bind root */
    ck_assert_int_eq(load(&m, CM_CHECKPOINT_LATEST, NULL), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/checkpoints: cannot open the folder: Permission denied"));
    if (getuid() == 0) ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(folder, 0755), 0);
}
END_TEST

START_TEST(missing_numbers_are_errors_that_name_what_is_there) {
    module m = {0};
    ck_assert_int_eq(load(&m, CM_CHECKPOINT_LATEST, NULL), CM_ERR_STATE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "holds no checkpoint"));
    save(&m, 7);
    ck_assert_int_eq(load(&m, 8, NULL), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "has no checkpoint 8; only 7 is there"));
    ck_assert_int_eq(load(&m, CM_CHECKPOINT_BEST, NULL), CM_ERR_INPUT);
}
END_TEST

START_TEST(lost_latest_link_falls_back_to_the_highest_number) {
    module m = {0};
    char path[PATH_MAX];
    save(&m, 7);
    save(&m, 9);
    snprintf(path, sizeof path, "%.4000s/latest", cm_test_folder);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(cm_checkpoint_find(store, CM_CHECKPOINT_LATEST), 9);
}
END_TEST

/* A child saves checkpoint after checkpoint, each one's weights equal to its number, until it is killed. */
static void save_for_ever(void) {
    module m = {0};
    for (int i = 1;; i++) {
        for (int j = 0; j < 4; j++) m.weight[j] = (float)i;
        m.segments = i, m.first_segment = i > 3 ? i - 3 : 0;
        cm_checkpoint_part part = part_of(&m);
        if (cm_checkpoint_save(store, i, &part, 1) != CM_OK) _exit(1);
    }
}

START_TEST(killed_writer_leaves_a_loadable_checkpoint) {
    pid_t child = fork();
    if (child == 0) save_for_ever();
    usleep(40000 + 13377 * (unsigned)_i);
    kill(child, SIGKILL);
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    int64_t loaded = 0;
    ck_assert_int_eq(cm_checkpoint_clean(store), CM_OK);
    if (cm_checkpoint_find(store, CM_CHECKPOINT_LATEST) < 0) return; /* killed before the first was there */
    module m = {0};
    ck_assert_msg(load(&m, CM_CHECKPOINT_LATEST, &loaded) == CM_OK, "%s", cm_error_message());
    ck_assert_float_eq(m.weight[3], (float)loaded);
    ck_assert_int_eq(m.segments, (int)loaded);
    save(&m, loaded + 1); /* and the run goes on */
}
END_TEST

/* The parts may change as soon as it is begun. */
START_TEST(a_begun_checkpoint_is_what_it_was_then) {
    module m = {.weight = {1}, .segments = 12, .is_begun = true}, n = {0}; /* more than are staged */
    cm_checkpoint_part part = part_of(&m);
    ck_assert(!cm_checkpoint_is_ready(store));
    ck_assert_int_eq(cm_checkpoint_begin_save(store, 7, &part, 1), CM_OK);
    m.weight[0] = 2, m.segments = 0;
    ck_assert_int_eq(cm_checkpoint_wait(store), CM_OK);
    ck_assert(!cm_checkpoint_is_ready(store));
    ck_assert_int_eq(cm_checkpoint_wait(store), CM_OK); /* there is none any more */
    ck_assert_int_eq(load(&n, 7, NULL), CM_OK);
    ck_assert_float_eq(n.weight[0], 1);
    ck_assert_int_eq(n.segments, 12);
    ck_assert_int_eq(cm_checkpoint_begin_save(store, 8, &part, 1), CM_OK);
    cm_checkpoint_store_destroy(store); /* waits, too */
    ck_assert_int_eq(cm_checkpoint_store_create(cm_test_folder, 3, NULL, &store), CM_OK);
    ck_assert_int_eq(cm_checkpoint_find(store, CM_CHECKPOINT_LATEST), 8);
}
END_TEST

/* The thread finds it when it copies it, and memory may hold it no more: the checkpoint is none, and those before it
 * stay. One that is saved at once writes it again. */
START_TEST(a_thread_that_finds_a_damaged_segment_makes_no_checkpoint) {
    module m = {.segments = 1, .is_begun = true};
    int64_t numbers[64];
    char path[PATH_MAX];
    save(&m, 1);
    save(&m, 2); /* shares it */
    path_in(2, "segment-0.bin", path);
    const int file = open(path, O_RDWR);
    ck_assert_int_eq(pwrite(file, "X", 1, 3), 1);
    close(file);
    ck_assert_int_eq(try_save(&m, 3), CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), "segment-0.bin: its checksum differs: the file is damaged") != NULL, "%s",
                  cm_error_message());
    ck_assert_int_eq(count_all(numbers), 2);
    ck_assert_int_eq(cm_checkpoint_find(store, CM_CHECKPOINT_LATEST), 2);
    snprintf(path, sizeof path, "%.4000s/checkpoints/.writing-3-%ld", cm_test_folder, (long)getpid());
    ck_assert(!cm_file_exists(path));
    m.is_begun = false;
    save(&m, 4);
    ck_assert_int_eq(m.written, 2);
    ck_assert_int_eq(cm_checkpoint_verify(store, 4, NULL), CM_OK);
}
END_TEST

/* A process that ends itself before the call `kill_at` that changes the disk, once its fourth checkpoint is begun. */
static _Noreturn void save_until_killed(int kill_at) {
    module m = {.is_begun = true};
    for (int i = 1; i <= 4; i++) {
        for (int j = 0; j < 4; j++) m.weight[j] = (float)i;
        m.segments = i;
        cm_checkpoint_part part = part_of(&m);
        if (i == 4) calls_left = kill_at;
        if (cm_checkpoint_begin_save(store, i, &part, 1) != CM_OK || cm_checkpoint_wait(store) != CM_OK) _exit(1);
    }
    _exit(0);
}

/* At every step of it there is a whole checkpoint to go on from: the one before, or this one. */
START_TEST(a_kill_while_a_thread_finishes_leaves_the_checkpoint_before_it) {
    enum { STEPS = 60 };
    int status = 0, killed = 0;
    for (int at = 0; at < STEPS; at++) {
        module m = {0};
        int64_t loaded = 0;
        const pid_t child = fork();
        if (child == 0) save_until_killed(at);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) ck_assert_int_eq(WEXITSTATUS(status), 0);
        killed += WIFSIGNALED(status);
        ck_assert_int_eq(cm_checkpoint_clean(store), CM_OK);
        ck_assert_msg(load(&m, CM_CHECKPOINT_LATEST, &loaded) == CM_OK, "step %d: %s", at, cm_error_message());
        ck_assert(loaded == 3 || loaded == 4);
        ck_assert(at > 0 || loaded == 3);
        ck_assert(WIFSIGNALED(status) || loaded == 4);
        ck_assert_float_eq(m.weight[3], (float)loaded);
        ck_assert_int_eq(m.segments, (int)loaded);
        for (int i = 2; i <= loaded; i++) ck_assert_int_eq(cm_checkpoint_verify(store, i, NULL), CM_OK);
        save(&m, loaded + 1); /* and the run goes on */
        end();
        begin();
        if (WIFEXITED(status)) break;
    }
    ck_assert(WIFEXITED(status));
    ck_assert_int_gt(killed, 10);
}
END_TEST

START_TEST(leftovers_are_removed_at_the_next_start) {
    char path[PATH_MAX];
    module m = {0};
    save(&m, 1);
    snprintf(path, sizeof path, "%.4000s/checkpoints/.writing-2-999", cm_test_folder);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    ck_assert_int_eq(cm_checkpoint_clean(store), CM_OK);
    ck_assert(!cm_file_exists(path));
    ck_assert_int_eq(cm_checkpoint_newest_intact(store, NULL), 1);
}
END_TEST

/* What a manifest costs grows with its rows, not with their square. */
START_TEST(names_of_a_long_manifest_are_looked_up_not_searched) {
    enum { ROWS = CM_MANIFEST_FILES };
    static const char hash[] = "00112233445566778899aabbccddeeff";
    cm_manifest manifest = {0}, read = {0};
    cm_dir dir;
    char name[CM_MANIFEST_NAME];
    for (int i = 0; i < ROWS; i++) {
        snprintf(name, sizeof name, "file-%090d", i); /* as long as one may be */
        ck_assert_int_eq(cm_manifest_add(&manifest, name, INT64_MAX >> 10, hash), CM_OK);
        if (i == ROWS / 2) {
            ck_assert_int_eq(cm_manifest_add(&manifest, name, 1, hash), CM_ERR_INPUT);
            ck_assert_ptr_nonnull(strstr(cm_error_message(), "16384: listed twice"));
        }
    }
    ck_assert_ptr_eq(cm_manifest_find(&manifest, name), &manifest.file[ROWS - 1]);
    ck_assert_ptr_null(cm_manifest_find(&manifest, "file"));
    ck_assert_uint_lt(manifest.compared, 4 * ROWS);
    ck_assert_int_eq(cm_manifest_add(&manifest, "one-more", 1, hash), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "one-more: a checkpoint has at most 32768 files");
    ck_assert_int_eq(cm_dir_open(&dir, cm_test_folder), CM_OK);
    ck_assert_int_eq(cm_manifest_write(&manifest, &dir), CM_OK);
    ck_assert_msg(cm_manifest_read(&read, &dir) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(read.count, ROWS);
    cm_dir_close(&dir);
    cm_manifest_reset(&manifest);
    cm_manifest_reset(&read);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/checkpoint");
    TCase *tests = tcase_create("checkpoint");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, files_of_holes_are_refused_unread);
    tcase_add_test(tests, names_of_a_long_manifest_are_looked_up_not_searched);
    tcase_add_loop_test(tests, saved_state_loads_back, 0, 2);
    tcase_add_loop_test(tests, three_newest_and_the_best_are_kept, 0, 2);
    tcase_add_loop_test(tests, unchanged_segments_are_hard_linked, 0, 2);
    tcase_add_loop_test(tests, every_second_checkpoint_has_copies_of_its_own, 0, 2);
    tcase_add_test(tests, a_damaged_segment_is_written_again_and_not_copied);
    tcase_add_test(tests, a_checkpoint_may_lack_what_is_said);
    tcase_add_loop_test(tests, segments_are_linked_after_a_load_too, 0, 2);
    tcase_add_loop_test(tests, saving_a_number_again_replaces_it, 0, 2);
    tcase_add_test(tests, failed_save_leaves_everything_as_it_was);
    tcase_add_test(tests, saving_does_not_make_the_folder_of_a_run_that_was_removed);
    tcase_add_test(tests, disk_without_space_is_said);
    tcase_add_loop_test(tests, damaged_files_are_named_with_the_newest_intact_checkpoint, 0,
                        (int)(sizeof damages / sizeof damages[0]));
    tcase_add_test(tests, checkpoints_that_may_not_be_read_are_said_so);
    tcase_add_test(tests, missing_numbers_are_errors_that_name_what_is_there);
    tcase_add_test(tests, lost_latest_link_falls_back_to_the_highest_number);
    tcase_add_loop_test(tests, killed_writer_leaves_a_loadable_checkpoint, 0, 10);
    tcase_add_test(tests, a_begun_checkpoint_is_what_it_was_then);
    tcase_add_test(tests, a_thread_that_finds_a_damaged_segment_makes_no_checkpoint);
    tcase_add_test(tests, a_kill_while_a_thread_finishes_leaves_the_checkpoint_before_it);
    tcase_add_test(tests, leftovers_are_removed_at_the_next_start);
    return cm_test_main(suite);
}
