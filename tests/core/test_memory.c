/* How much memory there is, and that no more is taken. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/memory.h"
#include "support/folder.h"
#include "support/main.h"

enum { MB = 1000000 };

static void put(const char *name, const char *text) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

/* Of a process whose list of groups is `list`, on a machine that has 900 MB. */
static cm_memory_space ask(const char *list) {
    char file[640];
    cm_memory_space space = {900 * MB, 0, "the machine"};
    put("list", list);
    snprintf(file, sizeof file, "%s/list", cm_test_folder);
    cm_memory_ask_groups(file, cm_test_folder, &space);
    return space;
}

static void expect_space(const char *list, uint64_t bytes, uint64_t limit) {
    const cm_memory_space space = ask(list);
    ck_assert_uint_eq(space.bytes, bytes);
    ck_assert_uint_eq(space.limit, limit);
    ck_assert_str_eq(space.by, limit > 0 ? "a control group" : "the machine");
}

START_TEST(groups_of_version_2_allow_the_least_of_all_that_hold_the_process) {
    put("job/step/memory.max", "max\n");
    put("job/step/memory.current", "1000000\n");
    expect_space("0::/job/step\n", 900 * MB, 0);
    put("job/memory.max", "200000000\n");
    put("job/memory.current", "50000000\n");
    expect_space("0::/job/step\n", 150 * MB, 200 * MB);
    put("job/memory.stat", "anon 20000000\ninactive_file 20000000\nactive_file 10000000\n");
    expect_space("0::/job/step\n", 180 * MB, 200 * MB);
    put("job/step/memory.max", "30000000\n");
    expect_space("0::/job/step\n", 29 * MB, 30 * MB);
    put("job/step/memory.current", "40000000\n");
    expect_space("0::/job/step\n", 0, 30 * MB);
    expect_space("0::/jobs\n", 900 * MB, 0);
}
END_TEST

/* A container sees its own group where it is mounted, under the path that it has outside. */
START_TEST(groups_are_found_where_a_container_has_them) {
    put("memory.max", "100000000\n");
    put("memory.current", "0\n");
    expect_space("0::/\n", 100 * MB, 100 * MB);
    expect_space("12:pids:/docker/0123\n0::/docker/0123\n", 100 * MB, 100 * MB);
}
END_TEST

START_TEST(groups_of_version_1_are_asked_too) {
    put("memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/job/memory.usage_in_bytes", "1000000\n");
    expect_space("9:cpu,cpuacct:/job\n5:memory:/job\n", 900 * MB, 0);
    put("memory/memory.limit_in_bytes", "60000000\n");
    put("memory/memory.usage_in_bytes", "20000000\n");
    expect_space("9:cpu,cpuacct:/job\n5:memory:/job\n", 40 * MB, 60 * MB);
    expect_space("9:cpu,cpuacct:/job\n", 900 * MB, 0);
}
END_TEST

/* What is left to a process of 100 MiB, on a machine that has a tebibyte; the environment says NODE, CPU and how many
 * of them, NULL: nothing. */
static cm_memory_space ask_slurm(const char *node, const char *cpu, const char *cpus) {
    static const char *const names[] = {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"};
    const char *values[] = {node, cpu, cpus};
    cm_memory_space space = {UINT64_C(1) << 40, 0, "the machine"};
    for (int i = 0; i < 3; i++) {
        unsetenv(names[i]);
        if (values[i]) setenv(names[i], values[i], 1);
    }
    cm_memory_ask_slurm(UINT64_C(100) << 20, &space);
    return space;
}

START_TEST(slurm_allows_what_its_job_has) {
    static const struct {
        const char *node, *cpu, *cpus;
        uint64_t left, limit; /* MiB */
    } rows[] = {
        {NULL, NULL, NULL, 1 << 20, 0},
        {"4000", NULL, NULL, 3900, 4000},
        {NULL, "1000", "8", 7900, 8000},
        {NULL, "1000", NULL, 1 << 20, 0},
        {"0", NULL, "8", 1 << 20, 0},
        {"50", NULL, NULL, 0, 50},
        {"-5", NULL, NULL, 1 << 20, 0},
        {"4000M", NULL, NULL, 1 << 20, 0},
        {"", "", "", 1 << 20, 0},
        {"2000", "9000", "8", 1900, 2000},
        {"2097152", NULL, NULL, 1 << 20, 0},
        {"99999999999999999999", NULL, NULL, 1 << 20, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cm_memory_space space = ask_slurm(rows[i].node, rows[i].cpu, rows[i].cpus);
        ck_assert_uint_eq(space.bytes, rows[i].left << 20);
        ck_assert_uint_eq(space.limit, rows[i].limit << 20);
        ck_assert_str_eq(space.by, rows[i].limit > 0 ? "SLURM" : "the machine");
    }
    ask_slurm("1024", NULL, NULL);
    const cm_memory_space own = cm_memory_ask();
    ck_assert_uint_lt(own.bytes, UINT64_C(1024) << 20);
    ck_assert_uint_gt(own.bytes, 0);
    ck_assert_str_eq(own.by, "SLURM");
    ask_slurm(NULL, NULL, NULL);
}
END_TEST

START_TEST(what_is_allowed_is_said) {
    char text[96];
    cm_memory_space space = {150 * MB, 200 * MB, "a control group"};
    cm_memory_describe(&space, text, sizeof text);
    ck_assert_str_eq(text, "150 MB are available (a control group allows 200 MB)");
    space.limit = 0;
    cm_memory_describe(&space, text, sizeof text);
    ck_assert_str_eq(text, "150 MB are available");
    space.bytes = UINT64_MAX;
    cm_memory_describe(&space, text, sizeof text);
    ck_assert_str_eq(text, "unknown");
}
END_TEST

START_TEST(blocks_beyond_the_limit_are_not_taken) {
    cm_arena one, other;
    cm_memory_limit(5 * MB);
    ck_assert_int_eq(cm_arena_create(&one, 3 * MB, "one"), CM_OK);
    ck_assert_int_eq(cm_arena_create(&other, 3 * MB, "the other"), CM_ERR_MEMORY);
    ck_assert_str_eq(cm_error_message(),
                     "the other: cannot take 3.0 MB of memory, of the 5.0 MB of Device.memory_limit 2.0 MB are left");
    cm_arena_destroy(&one);
    ck_assert_int_eq(cm_arena_create(&other, 3 * MB, "the other"), CM_OK);
    cm_arena_destroy(&other);
    cm_memory_limit(0);
}
END_TEST

static long resident_pages(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert(file && fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
    return resident;
}

/* It is zero all the same, and counts as used before it is. */
START_TEST(a_block_costs_memory_where_it_is_written_to) {
    cm_arena arena;
    const long before = resident_pages();
    const uint64_t there = cm_memory_available();
    ck_assert_int_eq(cm_arena_create(&arena, 256 * MB, "a block"), CM_OK);
    ck_assert_uint_eq((uintptr_t)arena.base % CM_ALIGN, 0);
    ck_assert_int_eq(arena.base[0] | arena.base[128 * MB] | arena.base[256 * MB - 1], 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_int_lt((resident_pages() - before) * sysconf(_SC_PAGESIZE), 32 * MB);
#else
    (void)before;
#endif
    if (there != UINT64_MAX) ck_assert_uint_lt(cm_memory_available(), there - 100 * MB);
    cm_arena_destroy(&arena);
}
END_TEST

START_TEST(limits_of_the_process_are_asked) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit most = {1000000000, 1000000000};
    cm_arena arena;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &most), 0);
    const cm_memory_space space = cm_memory_ask();
    ck_assert_uint_lt(space.bytes, 1000000000);
    ck_assert_uint_eq(space.limit, 1000000000);
    ck_assert_str_eq(space.by, "ulimit -v");
    ck_assert_int_eq(cm_arena_create(&arena, 1100 * (size_t)MB, "a block"), CM_ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "a block: cannot take 1.1 GB of memory, "));
    ck_assert_ptr_nonnull(strstr(cm_error_message(), " are available (ulimit -v allows 1.0 GB)"));
#endif
}
END_TEST

int main(void) {
    Suite *suite = suite_create("memory");
    TCase *c = tcase_create("memory");
    tcase_add_checked_fixture(c, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(c, groups_of_version_2_allow_the_least_of_all_that_hold_the_process);
    tcase_add_test(c, groups_are_found_where_a_container_has_them);
    tcase_add_test(c, groups_of_version_1_are_asked_too);
    tcase_add_test(c, slurm_allows_what_its_job_has);
    tcase_add_test(c, what_is_allowed_is_said);
    tcase_add_test(c, blocks_beyond_the_limit_are_not_taken);
    tcase_add_test(c, a_block_costs_memory_where_it_is_written_to);
    tcase_add_test(c, limits_of_the_process_are_asked);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
