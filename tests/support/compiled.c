#include "support/compiled.h"

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/lanes.h"
#include "ptx/profile.h"
#include "ptx/ptx.h"

enum {
    FILES = 64,
    KERNELS = 128,
    SPARE = 8,
    PATH = 512,
    LINE = PATH + PTX_LINE,
    SMALL_BLOCK = 48 << 10,
    PROFILE_LINES = 60
};

/* A file of the folder; its module once a kernel of it is run. */
typedef struct file {
    char path[PATH];
    char *text;
    ptx_module *module;
} file;

/* A kernel that has been run. */
typedef struct known {
    const char *name;
    const ptx_function *entry;
    ptx_profile *profile; /* NULL, unless CUMIND_PTX_PROFILE asks for it */
} known;

static file files[FILES];
static int files_n, kernels_n, spare_n;
static known kernels[KERNELS];
static ptx_machine *spare[SPARE];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER, profiled = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local uint64_t directions = 1; /* random */

/* ---- the folder ---- */

/* NULL if it cannot be read. */
static char *read_all(const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in) return NULL;
    fseek(in, 0, SEEK_END);
    const long size = ftell(in);
    rewind(in);
    char *text = calloc(1, (size_t)size + 1);
    if (text && fread(text, 1, (size_t)size, in) != (size_t)size) free(text), text = NULL;
    fclose(in);
    return text;
}

static void read_folder(const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (const struct dirent *entry; (entry = readdir(dir)) && files_n < FILES;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".ptx") != 0) continue;
        file *f = &files[files_n];
        snprintf(f->path, sizeof f->path, "%s/%s", folder, entry->d_name);
        f->text = read_all(f->path);
        files_n += f->text != NULL;
    }
    closedir(dir);
}

/* ---- where time goes (ptx/profile.h) ---- */

static const char PROFILE[] = "CUMIND_PTX_PROFILE";

static void print_profiles(void) {
    FILE *out = fopen(getenv(PROFILE), "a");
    if (!out) return;
    for (int k = 0; k < kernels_n; k++)
        if (kernels[k].profile) ptx_profile_print(kernels[k].profile, PROFILE_LINES, out);
    fclose(out);
}

/* The entry whose mangled name has this part; NULL with a line in why[LINE]. */
static const ptx_function *find(const char *folder, const char *part, char *why) {
    char said[PTX_LINE];
    if (files_n == 0) read_folder(folder);
    for (int k = 0; k < files_n; k++) {
        file *f = &files[k];
        if (!strstr(f->text, part)) continue;
        if (!f->module) f->module = ptx_open(f->text, said);
        const ptx_function *entry = f->module ? ptx_entry(f->module, part, said) : NULL;
        if (!entry) snprintf(why, LINE, "%s: %s", f->path, said);
        return entry;
    }
    snprintf(why, LINE, "CUMIND_TEST_PTX: no kernel %s in the files of %s", part, folder);
    return NULL;
}

static const known *kernel_named(const char *folder, const char *name, char *why) {
    char part[PATH];
    for (int k = 0; k < kernels_n; k++)
        if (strcmp(kernels[k].name, name) == 0) return &kernels[k];
    snprintf(part, sizeof part, "%zu%sE", strlen(name), name); /* as names are mangled */
    const ptx_function *entry = find(folder, part, why);
    if (!entry) return NULL;
    if (kernels_n == KERNELS) ck_abort_msg("more than %d kernels", KERNELS);
    known *kernel = &kernels[kernels_n++];
    *kernel = (known){name, entry, getenv(PROFILE) ? ptx_profile_open(entry) : NULL};
    if (kernels_n == 1 && kernel->profile) atexit(print_profiles);
    return kernel;
}

/* ---- launches (kernel.cuh) ---- */

static int shift_of(int lanes) {
    int shift = 0;
    while (1 << shift < lanes) shift++;
    return shift;
}

/* CM_LAUNCHER */
static void launch_threads(ptx_launch *launch, int64_t items, int lanes, int *shift) {
    *shift = shift_of(lanes);
    launch->blocks = (items * lanes + CM_BLOCK - 1) / CM_BLOCK;
    launch->threads = CM_BLOCK;
}

/* CM_BLOCK_LAUNCHER */
static void launch_blocks(ptx_launch *launch, int64_t items, size_t bytes) {
    launch->blocks = items;
    launch->threads = CM_BLOCK;
    launch->shared = bytes;
}

/* Kernels for this architecture and newer ones may begin before the launch ahead of them has ended. */
enum { EARLY = 90 };

/* Kernels of blocks have the arguments alone. */
static bool is_of_blocks(const ptx_function *entry) { return ptx_parameters(entry) == 1; }

static void check_entry(const char *name, const ptx_function *entry, size_t bytes) {
    const size_t kept = ptx_kept_bytes(entry), most = is_of_blocks(entry) ? CM_BLOCK_KEPT : SMALL_BLOCK;
    if (kept > most) ck_abort_msg("%s keeps %zu bytes of shared memory, which has %zu for it", name, kept, most);
    if (ptx_parameter_bytes(entry, 0) != bytes)
        ck_abort_msg("%s takes %zu bytes of arguments, not %zu", name, ptx_parameter_bytes(entry, 0), bytes);
    if (compiled_for(EARLY) && !ptx_waits_first(entry))
        ck_abort_msg("%s does not wait for the launches ahead of it", name);
}

/* The kernel, and a machine for it. */
static const known *begin(const char *folder, const char *name, ptx_machine **machine) {
    char why[LINE] = "no memory for a machine";
    pthread_mutex_lock(&turn);
    const known *kernel = kernel_named(folder, name, why);
    *machine = spare_n ? spare[--spare_n] : ptx_machine_open();
    pthread_mutex_unlock(&turn);
    if (!kernel || !*machine) ck_abort_msg("%s", why);
    return kernel;
}

static void end(ptx_machine *machine) {
    pthread_mutex_lock(&turn);
    if (spare_n < SPARE)
        spare[spare_n++] = machine;
    else
        ptx_machine_close(machine);
    pthread_mutex_unlock(&turn);
}

bool compiled_run(const char *name, const void *args, size_t bytes, int64_t items, int lanes, size_t memory) {
    const char *folder = getenv("CUMIND_TEST_PTX");
    char why[PTX_LINE];
    ptx_machine *machine;
    int shift;
    if (!folder) return false;
    if (items <= 0) return true;
    const known *kernel = begin(folder, name, &machine);
    const ptx_function *entry = kernel->entry;
    check_entry(name, entry, bytes);
    directions = directions * 6364136223846793005u + 1442695040888963407u;
    ptx_launch launch = {.parameters = {args, &items, &shift},
                         .backwards = directions >> 63,
                         .threads_backwards = directions >> 62 & 1,
                         .profile = kernel->profile};
    if (is_of_blocks(entry))
        launch_blocks(&launch, items, memory);
    else
        launch_threads(&launch, items, lanes, &shift);
    if (kernel->profile) pthread_mutex_lock(&profiled);
    if (!ptx_run(machine, entry, &launch, why)) ck_abort_msg("%s: %s", name, why);
    if (kernel->profile) pthread_mutex_unlock(&profiled);
    end(machine);
    return true;
}

bool compiled_for(int architecture) {
    const char *folder = getenv("CUMIND_TEST_PTX"), *last = folder ? strrchr(folder, '/') : NULL;
    return !folder || atoi(last ? last + 1 : folder) >= architecture;
}
