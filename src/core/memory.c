#include "core/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void cm_format_bytes(double bytes, char out[16]) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    int unit = 0;
    for (; bytes >= 999.5 && unit < 6; unit++) bytes /= 1000.0;
    snprintf(out, 16, bytes < 9.95 && unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

/* ---- blocks ---- */

enum { LARGE = 64 << 20 }; /* bytes of a block for which the system is asked: it would promise it and kill us later */

static uint64_t taken, limit;

void cm_memory_limit(uint64_t bytes) { __atomic_store_n(&limit, bytes, __ATOMIC_RELAXED); }

static cm_status check_limit(uint64_t before, size_t bytes, const char *what) {
    const uint64_t most = __atomic_load_n(&limit, __ATOMIC_RELAXED);
    char allowed[16], left[16];
    if (most == 0 || (before <= most && bytes <= most - before)) return CM_OK;
    cm_format_bytes((double)most, allowed);
    cm_format_bytes(before < most ? (double)(most - before) : 0.0, left);
    return cm_fail(cm_memory_fail((double)bytes, what), "%s, of the %s of Device.memory_limit %s are left",
                   cm_error_message(), allowed, left);
}

cm_status cm_memory_reserve(size_t bytes, const char *what) {
    CM_TRY(check_limit(__atomic_load_n(&taken, __ATOMIC_RELAXED), bytes, what));
    if (bytes >= LARGE) CM_TRY(cm_memory_check((double)bytes, what));
    __atomic_fetch_add(&taken, bytes, __ATOMIC_RELAXED);
    return CM_OK;
}

void cm_memory_release(size_t bytes) { __atomic_fetch_sub(&taken, bytes, __ATOMIC_RELAXED); }

/* ---- what there is ---- */

/* Lowers *space to what `by` has left; with `most` of it in all. */
static void lower(cm_memory_space *space, uint64_t left, uint64_t most, const char *by) {
    if (left < space->bytes) *space = (cm_memory_space){left, most, by};
}

static void ask_machine(cm_memory_space *space) {
    char line[128];
    unsigned long long kib = 0, sum = 0;
    bool is_known = false;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) {
            is_known = true;
            sum += kib;
        } else if (sscanf(line, "SwapFree: %llu", &kib) == 1) {
            sum += kib;
        }
    }
    if (file) fclose(file);
    if (is_known) lower(space, (uint64_t)sum * 1024, 0, "the machine");
}

/* Bytes of the process: mapped, data, and what of them is there. */
static void ask_process(uint64_t *mapped, uint64_t *data, uint64_t *resident) {
    unsigned long long pages[6] = {0};
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "r");
    const bool is_read = file && fscanf(file, "%llu %llu %llu %llu %llu %llu", &pages[0], &pages[1], &pages[2],
                                        &pages[3], &pages[4], &pages[5]) == 6;
    if (file) fclose(file);
    *mapped = is_read ? pages[0] * page : 0;
    *resident = is_read ? pages[1] * page : 0;
    *data = is_read ? pages[5] * page : 0;
}

static void ask_limit(int what, uint64_t used, const char *by, cm_memory_space *space) {
    struct rlimit most;
    if (getrlimit((__rlimit_resource_t)what, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return;
    lower(space, used < most.rlim_cur ? most.rlim_cur - used : 0, most.rlim_cur, by);
}

/* The number in a file of a group; UINT64_MAX if it has none, as "max". */
static uint64_t number_in(const char *group, const char *name) {
    char path[PATH_MAX];
    unsigned long long number = 0;
    const int length = snprintf(path, sizeof path, "%s/%s", group, name);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "r") : NULL;
    const bool is_read = file && fscanf(file, "%llu", &number) == 1;
    if (file) fclose(file);
    return is_read ? (uint64_t)number : UINT64_MAX;
}

/* What of a group's use are pages of files that it frees when it needs them. */
static uint64_t reclaimable_in(const char *group) {
    char path[PATH_MAX], line[128];
    unsigned long long bytes, sum = 0;
    const int length = snprintf(path, sizeof path, "%s/memory.stat", group);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "r") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "inactive_file %llu", &bytes) == 1 || sscanf(line, "active_file %llu", &bytes) == 1)
            sum += bytes;
    }
    if (file) fclose(file);
    return sum;
}

static void ask_group(const char *group, const char *most_name, const char *used_name, cm_memory_space *space) {
    const uint64_t most = number_in(group, most_name), used = number_in(group, used_name);
    if (most > UINT64_MAX / 4 || used == UINT64_MAX) return; /* v1 says some 2^63 for none */
    const uint64_t given_back = reclaimable_in(group), kept = used > given_back ? used - given_back : 0;
    lower(space, kept < most ? most - kept : 0, most, "a control group");
}

/* The group `path` and all that hold it: where a container shows its own alone, that is the last of them. */
static void ask_all_groups(const char *mounted, char *path, bool is_old, cm_memory_space *space) {
    for (size_t length = strlen(path);; length--) {
        char group[PATH_MAX];
        if (length > 0 && path[length - 1] == '/') continue;
        if (snprintf(group, sizeof group, "%s%s%.*s", mounted, is_old ? "/memory" : "", (int)length, path) <
            (int)sizeof group)
            ask_group(group, is_old ? "memory.limit_in_bytes" : "memory.max",
                      is_old ? "memory.usage_in_bytes" : "memory.current", space);
        while (length > 0 && path[length - 1] != '/') length--;
        if (length == 0) return;
    }
}

void cm_memory_ask_groups(const char *list, const char *mounted, cm_memory_space *space) {
    char line[PATH_MAX + 256];
    FILE *file = fopen(list, "r");
    while (file && fgets(line, sizeof line, file)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (strcmp(names + 1, "") == 0) {
            ask_all_groups(mounted, path, false, space);
        } else if (strcmp(names + 1, "memory") == 0) {
            ask_all_groups(mounted, path, true, space);
        }
    }
    if (file) fclose(file);
}

/* The number that a variable of the environment holds; 0: none. */
static uint64_t number_of(const char *name) {
    const char *text = getenv(name);
    char *end;
    if (!text || *text < '0' || *text > '9') return 0;
    const unsigned long long number = strtoull(text, &end, 10);
    return *end == '\0' && number < UINT32_MAX ? (uint64_t)number : 0;
}

void cm_memory_ask_slurm(uint64_t resident, cm_memory_space *space) {
    const uint64_t mib = 1 << 20, node = number_of("SLURM_MEM_PER_NODE"), cpu = number_of("SLURM_MEM_PER_CPU");
    const uint64_t most = (node > 0 ? node : cpu * number_of("SLURM_CPUS_ON_NODE")) * mib;
    if (most > 0) lower(space, resident < most ? most - resident : 0, most, "SLURM");
}

cm_memory_space cm_memory_ask(void) {
    cm_memory_space space = {UINT64_MAX, 0, "the machine"};
    uint64_t mapped, data, resident;
    ask_machine(&space);
    cm_memory_ask_groups("/proc/self/cgroup", "/sys/fs/cgroup", &space);
    ask_process(&mapped, &data, &resident);
    cm_memory_ask_slurm(resident, &space);
    const uint64_t held = __atomic_load_n(&taken, __ATOMIC_RELAXED), promised = held > resident ? held - resident : 0;
    if (space.bytes != UINT64_MAX) space.bytes = space.bytes > promised ? space.bytes - promised : 0;
    ask_limit(RLIMIT_AS, mapped, "ulimit -v", &space);
    ask_limit(RLIMIT_DATA, data, "ulimit -d", &space);
    return space;
}

uint64_t cm_memory_available(void) { return cm_memory_ask().bytes; }

void cm_memory_describe(const cm_memory_space *space, char *out, size_t size) {
    char left[16], most[16];
    cm_format_bytes((double)space->bytes, left);
    cm_format_bytes((double)space->limit, most);
    if (space->bytes == UINT64_MAX) {
        snprintf(out, size, "unknown");
    } else if (space->limit == 0) {
        snprintf(out, size, "%s are available", left);
    } else {
        snprintf(out, size, "%s are available (%s allows %s)", left, space->by, most);
    }
}

cm_status cm_memory_check(double bytes, const char *what) {
    char there[96];
    const cm_memory_space space = cm_memory_ask();
    if (space.bytes == UINT64_MAX || bytes <= (double)space.bytes) return CM_OK;
    cm_memory_describe(&space, there, sizeof there);
    return cm_fail(cm_memory_fail(bytes, what), "%s, %s", cm_error_message(), there);
}

cm_status cm_memory_advise(cm_status status, const char *advice) {
    if (status != CM_ERR_MEMORY) return status;
    return cm_fail(status, "%s; %s", cm_error_message(), advice);
}
