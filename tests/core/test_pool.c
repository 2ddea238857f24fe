#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/pool.h"
#include "support/folder.h"
#include "support/main.h"

enum { TASKS = 1000, MOST = 8 };
static const int sizes[] = {1, 2, 3, 8};

typedef struct record {
    int workers;
    int runs[TASKS]; /* each written by the worker that has the task */
    atomic_int at_work[MOST];
    atomic_int clashes;
    int failing[3];
    atomic_int begun;
} record;

static cm_status count_task(void *context, int task, int worker) {
    record *r = context;
    if (worker < 0 || worker >= r->workers || atomic_fetch_add(&r->at_work[worker], 1) != 0)
        atomic_fetch_add(&r->clashes, 1);
    r->runs[task]++;
    atomic_fetch_sub(&r->at_work[worker], 1);
    return CM_OK;
}

START_TEST(every_task_runs_exactly_once_on_one_worker_at_a_time) {
    cm_pool *pool;
    ck_assert_int_eq(cm_pool_create(sizes[_i], &pool), CM_OK);
    ck_assert_int_eq(cm_pool_size(pool), sizes[_i]);
    for (int tasks = 0; tasks <= TASKS; tasks = tasks < 10 ? tasks + 1 : tasks * 10) {
        static record r;
        memset(&r, 0, sizeof r);
        r.workers = sizes[_i];
        ck_assert_int_eq(cm_pool_run(pool, tasks, count_task, &r), CM_OK);
        for (int t = 0; t < TASKS; t++) ck_assert_int_eq(r.runs[t], t < tasks);
        ck_assert_int_eq(atomic_load(&r.clashes), 0);
    }
    cm_pool_destroy(pool);
}
END_TEST

START_TEST(ten_thousand_short_runs_lose_no_task) {
    cm_pool *pool;
    ck_assert_int_eq(cm_pool_create(sizes[_i], &pool), CM_OK);
    static record r;
    memset(&r, 0, sizeof r);
    r.workers = sizes[_i];
    for (int run = 0; run < 10000; run++) {
        ck_assert_int_eq(cm_pool_run(pool, run % 5, count_task, &r), CM_OK);
        if (run % 2500 == 0) usleep(1000); /* let the workers fall asleep */
    }
    for (int t = 0; t < 5; t++) ck_assert_int_eq(r.runs[t], 8000 - 2000 * t);
    cm_pool_destroy(pool);
}
END_TEST

static cm_status fail_some(void *context, int task, int worker) {
    record *r = context;
    (void)worker;
    atomic_fetch_add(&r->begun, 1);
    for (int i = 0; i < 3; i++)
        if (task == r->failing[i]) return cm_fail(task % 2 ? CM_ERR_IO : CM_ERR_MODEL, "task %d failed", task);
    return CM_OK;
}

START_TEST(lowest_failing_task_is_reported_whatever_the_timing) {
    cm_pool *pool;
    ck_assert_int_eq(cm_pool_create(sizes[_i], &pool), CM_OK);
    for (int repeat = 0; repeat < 300; repeat++) {
        record r = {.workers = sizes[_i], .failing = {41, 40, 43}};
        ck_assert_int_eq(cm_pool_run(pool, TASKS, fail_some, &r), CM_ERR_MODEL);
        ck_assert_str_eq(cm_error_message(), "task 40 failed");
        ck_assert_int_ge(atomic_load(&r.begun), 41);
        if (sizes[_i] == 1) ck_assert_int_eq(atomic_load(&r.begun), 41); /* the others are skipped */
    }
    record fine = {.workers = sizes[_i], .failing = {-1, -1, -1}};
    ck_assert_int_eq(cm_pool_run(pool, TASKS, fail_some, &fine), CM_OK);
    ck_assert_int_eq(atomic_load(&fine.begun), TASKS);
    cm_pool_destroy(pool);
}
END_TEST

START_TEST(pool_refuses_less_than_0_and_more_than_1024_threads) {
    cm_pool *pool;
    ck_assert_int_eq(cm_pool_create(-1, &pool), CM_ERR_INPUT);
    ck_assert_int_eq(cm_pool_create(1025, &pool), CM_ERR_INPUT);
    ck_assert_ptr_null(pool);
    cm_pool_destroy(NULL);
    ck_assert_int_eq(cm_pool_create(0, &pool), CM_OK);
    ck_assert_int_eq(cm_pool_size(pool), cm_cpu_count());
    cm_pool_destroy(pool);
}
END_TEST

/* --- processors --- */

static void put(const char *path, const char *text) {
    char full[256];
    snprintf(full, sizeof full, "%s/%s", cm_test_folder, path);
    ck_assert_int_eq(cm_directory_make_parent(full), CM_OK);
    ck_assert_int_eq(cm_file_write(full, text, strlen(text)), CM_OK);
}

static int quota(void) {
    char membership[128], mount[128];
    snprintf(membership, sizeof membership, "%s/cgroup", cm_test_folder);
    snprintf(mount, sizeof mount, "%s/fs", cm_test_folder);
    return cm_cpu_quota(membership, mount);
}

START_TEST(quota_of_control_groups_is_the_smallest_of_the_path_rounded_up) {
    cm_test_folder_make();
    ck_assert_int_eq(quota(), 0); /* nothing there */
    put("cgroup", "0::/user/job\n");
    put("fs/user/job/cpu.max", "max 100000\n");
    ck_assert_int_eq(quota(), 0);
    put("fs/user/cpu.max", "350000 100000\n");
    ck_assert_int_eq(quota(), 4);
    put("fs/user/job/cpu.max", "150000 100000\n");
    ck_assert_int_eq(quota(), 2);
    put("fs/cpu.max", "50000 100000\n");
    ck_assert_int_eq(quota(), 1);
    put("fs/cpu.max", "garbage");
    put("fs/user/job/cpu.max", "-5 0\n");
    ck_assert_int_eq(quota(), 4);
    put("cgroup", "12:memory:/x\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/y\n0::/\n");
    put("fs/cpu.max", "max 100000\n");
    put("fs/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "-1\n");
    put("fs/cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(quota(), 0);
    put("fs/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "250000\n");
    ck_assert_int_eq(quota(), 3);
    cm_test_folder_remove();
}
END_TEST

START_TEST(slurm_lowers_the_number_of_processors_and_never_raises_it) {
    unsetenv("SLURM_CPUS_PER_TASK");
    int all = cm_cpu_count();
    ck_assert_int_ge(all, 1);
    setenv("SLURM_CPUS_PER_TASK", "1", 1);
    ck_assert_int_eq(cm_cpu_count(), 1);
    setenv("SLURM_CPUS_PER_TASK", "1000000", 1);
    ck_assert_int_eq(cm_cpu_count(), all);
    setenv("SLURM_CPUS_PER_TASK", "nonsense", 1);
    ck_assert_int_eq(cm_cpu_count(), all);
    unsetenv("SLURM_CPUS_PER_TASK");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pool");
    TCase *pool = tcase_create("pool"), *cpu = tcase_create("processors");
    tcase_set_timeout(pool, 60);
    tcase_add_loop_test(pool, every_task_runs_exactly_once_on_one_worker_at_a_time, 0, 4);
    tcase_add_loop_test(pool, ten_thousand_short_runs_lose_no_task, 0, 4);
    tcase_add_loop_test(pool, lowest_failing_task_is_reported_whatever_the_timing, 0, 4);
    tcase_add_test(pool, pool_refuses_less_than_0_and_more_than_1024_threads);
    tcase_add_test(cpu, quota_of_control_groups_is_the_smallest_of_the_path_rounded_up);
    tcase_add_test(cpu, slurm_lowers_the_number_of_processors_and_never_raises_it);
    suite_add_tcase(suite, pool);
    suite_add_tcase(suite, cpu);
    return cm_test_main(suite);
}
