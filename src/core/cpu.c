#include "core/cpu.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first line of a small file without its newline, false if it cannot be read. */
static bool read_line(const char *path, char *line, int size) {
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool ok = fgets(line, size, file) != NULL;
    fclose(file);
    if (ok) line[strcspn(line, "\n")] = '\0';
    return ok;
}

/* quota / period rounded up; 0 if either is not positive ("max", -1). */
static int processors(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return 0;
    long long n = quota / period + (quota % period != 0);
    return n < INT_MAX ? (int)n : 0;
}

/* The quota written in one group's folder; 0 if none. */
static int quota_in(const char *folder) {
    char path[PATH_MAX + 32], line[128];
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder); /* v2: "QUOTA PERIOD" or "max PERIOD" */
    if (read_line(path, line, sizeof line))
        return sscanf(line, "%lld %lld", &quota, &period) == 2 ? processors(quota, period) : 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, line, sizeof line)) return 0;
    quota = strtoll(line, NULL, 10);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, line, sizeof line)) return 0;
    period = strtoll(line, NULL, 10);
    return processors(quota, period);
}

static int smaller_limit(int a, int b) { return a == 0 || (b != 0 && b < a) ? b : a; }

/* The smallest quota of the group `mount` + `group` and its parents. Inside a container `group` may name folders that
 * are not visible; its own group is then the mount point itself, which is always looked at. */
static int quota_along(const char *mount, const char *group) {
    char folder[PATH_MAX];
    int limit = 0, n = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (n < 0 || (size_t)n >= sizeof folder) return quota_in(mount);
    size_t root = strlen(mount);
    for (;;) {
        limit = smaller_limit(limit, quota_in(folder));
        char *slash = strrchr(folder, '/');
        if (!slash || slash < folder + root) return limit;
        *slash = '\0';
    }
}

/* One line of the membership file, "ID:CONTROLLERS:GROUP": its quota, 0 if it has none or is not about processors. */
static int quota_of_line(char *line, const char *mount) {
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return 0;
    *group++ = '\0', controllers++;
    group[strcspn(group, "\n")] = '\0';
    if (*controllers == '\0') return quota_along(mount, group);
    bool about_cpu = strcmp(controllers, "cpu") == 0 || strncmp(controllers, "cpu,", 4) == 0 ||
                     strstr(controllers, ",cpu,") ||
                     (strlen(controllers) > 4 && strcmp(controllers + strlen(controllers) - 4, ",cpu") == 0);
    if (!about_cpu) return 0;
    char folder[PATH_MAX];
    int limit = 0;
    const char *names[] = {controllers, "cpu"}; /* the mount point has the name of the list, or a link of each one's */
    for (int i = 0; i < 2; i++) {
        int n = snprintf(folder, sizeof folder, "%s/%s", mount, names[i]);
        if (n > 0 && (size_t)n < sizeof folder) limit = smaller_limit(limit, quota_along(folder, group));
    }
    return limit;
}

int cm_cpu_quota(const char *membership, const char *mount) {
    FILE *file = fopen(membership, "r");
    if (!file) return 0;
    int limit = 0;
    char line[PATH_MAX + 256];
    while (fgets(line, sizeof line, file)) limit = smaller_limit(limit, quota_of_line(line, mount));
    fclose(file);
    return limit;
}

static int affinity_count(void) {
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) { /* the kernel refuses a set smaller than its own */
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) return 0;
        size_t size = CPU_ALLOC_SIZE(cpus);
        int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n > 0) return n;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < INT_MAX ? (int)online : 0;
}

static int slurm_count(void) {
    const char *text = getenv("SLURM_CPUS_PER_TASK");
    long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 && n < INT_MAX ? (int)n : 0;
}

int cm_cpu_count(void) {
    int limit = affinity_count();
    limit = smaller_limit(limit, cm_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup"));
    limit = smaller_limit(limit, slurm_count());
    return limit > 0 ? limit : 1;
}

#if defined(__x86_64__)
cm_simd cm_cpu_simd(void) {
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (has_avx512) return CM_SIMD_AVX512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? CM_SIMD_AVX2 : CM_SIMD_ANY;
}
#else
cm_simd cm_cpu_simd(void) { return CM_SIMD_ANY; }
#endif

/* Processors [first, end) of those in `all`. */
static void choose(const cpu_set_t *all, int first, int end, cpu_set_t *out) {
    int number = 0;
    CPU_ZERO(out);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, all)) continue;
        if (number >= first && number < end) CPU_SET(cpu, out);
        number++;
    }
}

void cm_cpu_share(int place, int sharing, int most) {
    cpu_set_t all, share;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    const int processors = CPU_COUNT(&all);
    if (sharing < 2 || processors < 2) return;
    const bool is_crowded = sharing > processors;
    const int first = is_crowded ? place % processors : place * processors / sharing;
    int end = is_crowded ? first + 1 : (place + 1) * processors / sharing;
    if (end - first > most) end = first + (most > 1 ? most : 1);
    choose(&all, first, end, &share);
    const int refused = sched_setaffinity(0, sizeof share, &share);
    (void)refused;
}
