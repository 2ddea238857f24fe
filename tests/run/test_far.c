/* Whole runs on a device whose memory the host cannot touch: the arithmetic is that of ref, so every number must be
 * ref's, and an address that the host follows without asking is a crash. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/trace.h"
#include "run/checkpoint.h"
#include "run/run_internal.h"
#include "support/far.h"
#include "support/folder.h"
#include "support/main.h"

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

/* All that was allocated on the device is freed. */
static void tear_down(void) {
    ck_assert_uint_eq(cm_far_state.blocks + cm_far_state.graphs + cm_far_state.pinned, 0);
    cm_test_folder_remove();
}

static const char *run_folder(const char *backend) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, backend);
    return path;
}

/* A run of its own folder that trains, or goes on; `settings` by blanks. */
typedef struct job {
    cm_configuration configuration;
    cm_config *config;
    cm_progress *progress;
    cm_run *run;
    FILE *said; /* what it prints */
} job;

static cm_comm *ranks;    /* NULL: one alone */
static const char *games; /* of which run it begins with; NULL: of none */

static cm_status open_job(job *j, const char *backend, const char *settings, bool resume, int64_t updates) {
    static const char common[] = "threads=1 num_simulations=4 hidden_dim=16 head_hidden=16 min_memory_steps=64 "
                                 "num_envs=8 steps_per_iteration=16 batch_size=12 num_unroll_steps=2 "
                                 "final_evaluation_episodes=2 evaluation_interval=0 log_level=error overlap=off";
    char text[1024], directory[128];
    const char *list[48];
    int count = 0;
    snprintf(text, sizeof text, "%s %s backend=%s updates=%lld", common, settings, backend, (long long)updates);
    for (char *rest = text, *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        list[count++] = word;
    j->said = tmpfile();
    j->run = NULL;
    cm_progress_style style = {.file = fileno(j->said), .verbose = true};
    ck_assert_msg(cm_configuration_load(NULL, list, count, &j->configuration, &j->config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_int_eq(cm_progress_create(&style, &j->progress), CM_OK);
    snprintf(directory, sizeof directory, "%s", run_folder(backend));
    cm_run_request request = {.config = j->config,
                              .configuration = &j->configuration,
                              .directory = directory,
                              .comm = ranks,
                              .replay_from = games,
                              .resume = resume,
                              .checkpoint = CM_CHECKPOINT_LATEST,
                              .progress = j->progress};
    return cm_run_open(&request, &j->run);
}

static void close_job(job *j) {
    cm_run_close(j->run);
    cm_progress_destroy(j->progress);
    cm_config_destroy(j->config);
    fclose(j->said);
}

/* Returns the hash of its parameters. */
static void train(const char *backend, const char *settings, bool resume, int64_t updates, char hash[CM_HASH_HEX]) {
    job j;
    cm_run_result result;
    ck_assert_msg(open_job(&j, backend, settings, resume, updates) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_run_train(j.run, &result) == CM_OK, "%s", cm_error_message());
    ck_assert_int_ge(result.updates, updates);
    memcpy(hash, result.hash, CM_HASH_HEX);
    close_job(&j);
}

static const char *const kinds[] = {
    /* the trees of these lie on the device */
    "ema_decay=0.9 target_update_frequency=3 chunk_rows=5 reanalyse_ratio=0.6",
    "env_name=tictactoe family=resnet num_blocks=1 conv_channels=4 gradient_accumulation=2",
    "env_name=catch consistency_weight=1 consistency_hidden=8 consistency_output=6 optimizer=sgd policy=gumbel_muzero "
    "quantization=qat",
    "env_name=go9 policy=gumbel_muzero num_simulations=12 max_depth=3",
    "env_name=2048 policy=stochastic_muzero chance_codes=4 reanalyse_ratio=0.5 prefetch_threads=2",
    "env_name=catch value_prefix=true lstm_size=12 value_prefix_horizon=2 residual_dynamics=true reanalyse_ratio=0.5",
    "env_name=tictactoe family=resnet value_prefix=true lstm_size=8 conv_channels=4 reanalyse_ratio=0.4 "
    "acting_dtype=int8",
    "env_name=2048 policy=stochastic_muzero chance_codes=0 value_prefix=true value_prefix_horizon=1 lstm_size=6",
    "env_name=gomoku5 policy=gumbel_muzero num_sampled_actions=6 value_prefix=true lstm_size=8 reanalyse_ratio=0.4",
    "env_name=glide4 action_bins=11 policy=gumbel_muzero num_sampled_actions=6 reanalyse_ratio=0.4",
    "env_name=aim policy=gumbel_muzero num_sampled_actions=6 reanalyse_ratio=0.4",
    "env_name=catch reanalyse=buffer target_update_frequency=3 mixed_value_updates=2 mixed_value_steps=20",
    "env_name=catch frame_stack=4 family=resnet num_blocks=1 conv_channels=4 consistency_weight=1 consistency_hidden=8 "
    "consistency_output=6 augmentation_shift=2 augmentation_intensity=0.05 reanalyse_ratio=0.4",
    /* of this one on the host */
    "env_name=tictactoe policy=alphazero num_unroll_steps=0",
};
enum { ON_DEVICE = 13, KINDS = sizeof kinds / sizeof *kinds };

/* Also where it does what it is given as late as it may. Pinned memory that is written before the copy out of it is
 * made, or read before that into it, or a batch that is begun before its inputs are there: all this changes bits then.
 */
START_TEST(a_run_computes_the_same_bits_where_the_host_cannot_see_the_memory) {
    char near[CM_HASH_HEX], far[CM_HASH_HEX];
    train("ref", kinds[_i], false, 8, near);
    ck_assert_uint_eq(cm_far_state.copies, 0);
    train("cuda", kinds[_i], false, 8, far);
    ck_assert_uint_gt(cm_far_state.copies, 100);
    ck_assert_uint_gt(cm_far_state.replays, _i < ON_DEVICE ? 1 : 100);
    if (_i < ON_DEVICE) {
        ck_assert_uint_gt(cm_far_state.searches, 10);
    } else {
        ck_assert_uint_eq(cm_far_state.searches, 0);
    }
    ck_assert_str_eq(near, far);
    cm_far_state.is_late = true;
    ck_assert_int_eq(cm_directory_remove(run_folder("cuda")), CM_OK);
    train("cuda", kinds[_i], false, 8, far);
    ck_assert_str_eq(near, far);
}
END_TEST

START_TEST(a_run_computes_the_same_bits_however_many_batches_are_prepared_ahead) {
    static const char *const ways[] = {"prefetch_depth=0", "prefetch_depth=1", "prefetch_depth=5 prefetch_threads=3",
                                       "overlap=on threads=2"};
    char near[CM_HASH_HEX], far[CM_HASH_HEX], settings[256];
    cm_far_state.is_late = true;
    snprintf(settings, sizeof settings, "%s updates_per_iteration=7 %s", kinds[0], ways[_i]);
    train("ref", settings, false, 20, near);
    train("cuda", settings, false, 20, far);
    ck_assert_str_eq(near, far);
}
END_TEST

START_TEST(an_offline_run_computes_the_same_bits) {
    char near[CM_HASH_HEX], far[CM_HASH_HEX], path[128];
    train("ref", kinds[0], false, 8, near);
    snprintf(path, sizeof path, "%s", run_folder("old"));
    ck_assert_int_eq(rename(run_folder("ref"), path), 0);
    games = path;
    char settings[256];
    snprintf(settings, sizeof settings, "%s collect=false updates_per_iteration=7", kinds[0]);
    train("ref", settings, false, 20, near);
    cm_far_state.is_late = true;
    train("cuda", settings, false, 20, far);
    games = NULL;
    ck_assert_str_eq(near, far);
}
END_TEST

/* Only what an iteration ends with does, however many updates and moves it has. */
START_TEST(updates_and_searches_never_wait_for_the_whole_device) {
    static const char *const overlap[] = {"overlap=off", "overlap=on threads=2"};
    char hash[CM_HASH_HEX], settings[256];
    size_t stops[2], before = 0;
    for (int many = 0; many < 2; many++) {
        snprintf(settings, sizeof settings, "%s %s updates_per_iteration=%d steps_per_iteration=%d", kinds[0],
                 overlap[_i], many ? 20 : 5, many ? 32 : 16);
        train("cuda", settings, false, many ? 80 : 20, hash);
        ck_assert_int_eq(cm_directory_remove(run_folder("cuda")), CM_OK);
        stops[many] = cm_far_state.stops - before;
        before = cm_far_state.stops;
    }
    ck_assert_uint_eq(stops[0], stops[1]);
}
END_TEST

/* How many ranges of a name there are in a timeline, all on one thread. */
static int count_ranges(const char *text, const char *name, int *thread) {
    char head[64];
    int count = 0;
    snprintf(head, sizeof head, "{\"name\":\"%s\",", name);
    for (const char *at = text; (at = strstr(at, head)) != NULL; at += strlen(head)) {
        int on = 0;
        ck_assert_int_eq(sscanf(strstr(at, "\"tid\":"), "\"tid\":%d", &on), 1);
        if (count++ > 0) ck_assert_int_eq(on, *thread);
        *thread = on;
    }
    return count;
}

START_TEST(a_timeline_shows_batches_staged_on_a_thread_during_the_updates) {
    char hash[CM_HASH_HEX], path[192], *text;
    int stager = -1, learner = -1, finisher = -1;
    size_t size;
    snprintf(path, sizeof path, "%s.json", run_folder("trace"));
    ck_assert_int_eq(cm_trace_open(path), CM_OK);
    train("cuda", "updates_per_iteration=6 prefetch_threads=1", false, 18, hash);
    ck_assert_int_eq(cm_trace_close(), CM_OK);
    ck_assert_int_eq(cm_file_read(path, 1 << 24, &text, &size), CM_OK);
    ck_assert_int_eq(count_ranges(text, "stage", &stager), 18);
    ck_assert_int_eq(count_ranges(text, "update", &learner), 18);
    ck_assert_int_eq(count_ranges(text, "finish", &finisher), 18);
    ck_assert_int_eq(learner, finisher);
    ck_assert_int_ne(stager, learner);
    free(text);
}
END_TEST

/* The line that a run ends with, and the batch that it keeps, as the host has them. */
static void fail_to_train(const char *backend, const char *settings, char *line, size_t size, char **batch,
                          size_t *bytes) {
    char path[192];
    job j;
    cm_run_result result;
    ck_assert_msg(open_job(&j, backend, settings, false, 200) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_run_train(j.run, &result), CM_ERR_NOT_FINITE);
    snprintf(line, size, "%s", cm_error_message());
    ck_assert_ptr_nonnull(strstr(line, "; the batch is in "));
    *strstr(line, "; the batch is in ") = '\0';
    close_job(&j);
    snprintf(path, sizeof path, "%s/not-finite.safetensors", run_folder(backend));
    ck_assert_int_eq(cm_file_read(path, 1 << 24, batch, bytes), CM_OK);
}

START_TEST(a_number_that_is_not_finite_is_that_of_the_same_update_and_batch) {
    static const char *const settings[] = {
        "updates_per_iteration=9 optimizer=sgd learning_rate=1 weight_decay=10",
        "updates_per_iteration=9 optimizer=sgd learning_rate=1 weight_decay=10 gradient_accumulation=2",
        "updates_per_iteration=9 optimizer=sgd learning_rate=1 weight_decay=10 ema_decay=0.9 ema_bootstraps=true"};
    char near[512], far[512], *one, *other;
    int update;
    size_t size, same;
    fail_to_train("ref", settings[_i], near, sizeof near, &one, &size);
    cm_far_state.is_late = true;
    fail_to_train("cuda", settings[_i], far, sizeof far, &other, &same);
    ck_assert_str_eq(near, far);
    ck_assert_int_eq(sscanf(near, "update %d: ", &update), 1);
    ck_assert_int_ne(update % 9, 8); /* there was a batch after it in its iteration */
    ck_assert_uint_eq(size, same);
    ck_assert_mem_eq(one, other, size);
    free(one);
    free(other);
}
END_TEST

START_TEST(a_run_that_was_left_there_may_be_gone_on_with_on_the_host_and_the_other_way_round) {
    char half[CM_HASH_HEX], near[CM_HASH_HEX], far[CM_HASH_HEX], command[192];
    train("ref", kinds[0], false, 6, half);
    train("cuda", kinds[0], false, 6, far);
    ck_assert_str_eq(half, far);
    snprintf(command, sizeof command, "cd %s && mv ref cpu && mv cuda ref && mv cpu cuda", cm_test_folder);
    ck_assert_int_eq(system(command), 0);
    train("ref", kinds[0], true, 12, near);
    train("cuda", kinds[0], true, 12, far);
    ck_assert_str_ne(half, near);
    ck_assert_str_eq(near, far);
}
END_TEST

START_TEST(unless_it_is_told_a_device_takes_the_whole_batch_at_once_and_the_host_64_rows) {
    char far[CM_HASH_HEX], whole[CM_HASH_HEX], parts[CM_HASH_HEX];
    train("cuda", "batch_size=80", false, 2, far);
    train("ref", "batch_size=80 chunk_rows=80", false, 2, whole);
    ck_assert_int_eq(cm_directory_remove(run_folder("ref")), CM_OK);
    train("ref", "batch_size=80", false, 2, parts);
    ck_assert_str_eq(far, whole);
    ck_assert_str_ne(far, parts);
}
END_TEST

/* ---- plans of memory ---- */

/* The plan as it was printed, in bytes as far as two digits tell. */
static void read_plan(job *j, char *out, size_t size) {
    rewind(j->said);
    out[fread(out, 1, size - 1, j->said)] = '\0';
}

static cm_status open_with(size_t total, const char *settings) {
    job j;
    cm_far_state.total = total;
    cm_status status = open_job(&j, "cuda", settings, true, 8);
    close_job(&j);
    return status;
}

/* What a run takes at most, workspace of its streams included, and what its class says of each stream, is just enough:
 * not a byte less; where nothing is left to be recomputed. */
START_TEST(a_plan_is_what_the_run_takes_of_the_device_to_the_byte) {
    char hash[CM_HASH_HEX], text[256];
    snprintf(text, sizeof text, "%s recompute=full", kinds[_i]);
    train("cuda", text, false, 8, hash);
    const size_t most = cm_far_state.peak;
    ck_assert_uint_gt(most, 10000);
    size_t few = 0, enough = 32; /* streams */
    ck_assert_int_eq(open_with(most + enough * CM_FAR_STREAM_BYTES, text), CM_OK);
    while (enough - few > 1) {
        size_t middle = few + (enough - few) / 2;
        bool fits = open_with(most + middle * CM_FAR_STREAM_BYTES, text) == CM_OK;
        *(fits ? &enough : &few) = middle;
    }
    ck_assert_uint_gt(enough, 1);
    ck_assert_int_eq(open_with(most + enough * CM_FAR_STREAM_BYTES - 1, text), CM_ERR_MEMORY);
}
END_TEST

START_TEST(a_plan_is_printed_before_it_is_taken) {
    char text[8192];
    job j;
    cm_far_state.total = 80000000;
    ck_assert_msg(open_job(&j, "cuda", kinds[0], false, 8) == CM_OK, "%s", cm_error_message());
    read_plan(&j, text, sizeof text);
    static const char *const rows[] = {"parameters",
                                       "optimizer moments",
                                       "gradients",
                                       "averaged and target parameters",
                                       "activations",
                                       "hidden states",
                                       "search trees",
                                       "agents' parameters",
                                       "inputs and results",
                                       "streams",
                                       "(context and other programs)",
                                       "(pinned memory of the host)"};
    ck_assert_msg(strstr(text, "GPU       ") && strstr(text, "of memory, of 80 MB that are free"), "%s", text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(strstr(text, rows[i]) != NULL, "no row %s in %s", rows[i], text);
    ck_assert_msg(strstr(text, "search    trees and network on the GPU, one launch per move") != NULL, "%s", text);
    close_job(&j);
    ck_assert_int_eq(cm_directory_remove(run_folder("cuda")), CM_OK);
    ck_assert_int_eq(open_job(&j, "cuda", kinds[ON_DEVICE], false, 8), CM_OK);
    read_plan(&j, text, sizeof text);
    ck_assert_msg(strstr(text, "search    network on the GPU, trees on the CPU, ") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "search trees") == NULL, "%s", text);
    close_job(&j);
}
END_TEST

/* What joining takes is not taken via the device: it is planned for, and no part of what is compared. */
START_TEST(a_plan_of_ranks_that_are_joined_has_a_row_for_that) {
    char text[8192];
    cm_run_result result;
    cm_comm comm;
    job j;
    cm_comm_single(&comm);
    comm.device_bytes = 123000000;
    ranks = &comm;
    cm_far_state.total = 100000000;
    ck_assert_int_eq(open_job(&j, "cuda", kinds[0], false, 8), CM_ERR_MEMORY);
    ck_assert_msg(strstr(cm_error_message(), "most of it sums over ranks (an estimate)"), "%s", cm_error_message());
    close_job(&j);
    cm_far_state.total = SIZE_MAX;
    ck_assert_int_eq(open_job(&j, "cuda", kinds[0], false, 8), CM_OK);
    ck_assert_int_eq(cm_run_train(j.run, &result), CM_OK);
    read_plan(&j, text, sizeof text);
    ck_assert_msg(strstr(text, "  sums over ranks (an estimate)      123 MB"), "%s", text);
    int share = 0;
    ck_assert(sscanf(strstr(text, "GPU memory at most "), "GPU memory at most %*s %*s %d", &share) == 1);
    ck_assert_int_gt(share, 50);
    ck_assert_msg(strstr(text, "; besides it 0 B (context, libraries, other programs)"), "%s", text);
    close_job(&j);
    ranks = NULL;
}
END_TEST

START_TEST(a_plan_that_does_not_fit_names_a_key_and_the_largest_value_that_does) {
    static const struct {
        const char *settings, *key;
    } plans[] = {{"batch_size=4000 num_unroll_steps=3", "batch_size"},
                 {"batch_size=100 num_unroll_steps=3 prefetch_depth=64", "prefetch_depth"}};
    char text[256], key[32];
    job j;
    int value = 0;
    snprintf(text, sizeof text, "%s", plans[_i].settings);
    cm_far_state.total = 2000000;
    ck_assert_int_ne(open_job(&j, "cuda", text, false, 8), CM_OK);
    ck_assert_msg(sscanf(strstr(cm_error_message(), "set "), "set %31s to %d", key, &value) == 2, "%s",
                  cm_error_message());
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "memory of the GPU: this run plans for "));
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "2.0 MB are free: set "));
    close_job(&j);
    ck_assert_str_eq(key, plans[_i].key);
    ck_assert_int_gt(value, 0);
    for (int more = 1; more >= 0; more--) {
        snprintf(text, sizeof text, "%s %s=%d", plans[_i].settings, key, value + more);
        cm_status status = open_job(&j, "cuda", text, false, 8);
        ck_assert_msg((status == CM_OK) == (more == 0), "%d more: %s", more, cm_error_message());
        close_job(&j);
    }
}
END_TEST

START_TEST(a_reanalysis_that_does_not_fit_is_named) {
    static const char *const reanalyses[][2] = {
        {"reanalyse_ratio=0.5", "; or set reanalyse_ratio to 0"},
        {"reanalyse=buffer target_update_frequency=10", "; or set reanalyse to batch"}};
    static const char kind[] = "env_name=catch num_envs=64 num_simulations=64 memory_bytes=1000000";
    const long step = 100000;
    char text[256];
    long least = step; /* that a run without them needs, within a step */
    job j;
    for (bool fits = false; !fits; close_job(&j)) {
        least += step;
        snprintf(text, sizeof text, "%s memory_limit=%ld", kind, least);
        fits = open_job(&j, "cuda", text, false, 8) == CM_OK;
    }
    ck_assert_int_eq(cm_directory_remove(run_folder("cuda")), CM_OK);
    for (int less = 0; less < 2; less++) {
        snprintf(text, sizeof text, "%s %s memory_limit=%ld", kind, reanalyses[_i][0], least - less * step);
        ck_assert_int_ne(open_job(&j, "cuda", text, false, 8), CM_OK);
        const bool is_named = strstr(cm_error_message(), reanalyses[_i][1]) != NULL;
        ck_assert_msg(is_named == (less == 0), "%s", cm_error_message());
        close_job(&j);
    }
}
END_TEST

/* Values by which a plan of one byte more than is allowed fits; the run learns what it would with all memory. */
START_TEST(a_plan_that_does_not_fit_is_shrunk) {
    static const char kind[] = "env_name=tictactoe family=resnet num_blocks=2 conv_channels=16 batch_size=16";
    char text[256], kept[CM_HASH_HEX], shrunk[CM_HASH_HEX];
    cm_run_result result;
    job j;
    ck_assert_msg(open_job(&j, "cuda", kind, false, 4) == CM_OK, "%s", cm_error_message());
    const size_t bytes = j.run->planned;
    close_job(&j);
    ck_assert_int_eq(cm_directory_remove(run_folder("cuda")), CM_OK);
    train("ref", kind, false, 4, kept);
    snprintf(text, sizeof text, "%s memory_bytes=100000 memory_limit=%zu", kind, bytes - 1);
    ck_assert_msg(open_job(&j, "cuda", text, false, 4) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(j.configuration.trainer.recompute, CM_RECOMPUTE_BLOCKS);
    ck_assert_int_eq(cm_run_train(j.run, &result), CM_OK);
    memcpy(shrunk, result.hash, CM_HASH_HEX);
    close_job(&j);
    ck_assert_str_eq(kept, shrunk);
    ck_assert_int_eq(cm_directory_remove(run_folder("cuda")), CM_OK);
    snprintf(text, sizeof text, "%s memory_bytes=100000 memory_limit=%zu", kind, bytes / 2);
    ck_assert_int_eq(open_job(&j, "cuda", text, false, 4), CM_ERR_MEMORY);
    ck_assert_msg(strstr(cm_error_message(), "; or set auto_fit to true"), "%s", cm_error_message());
    close_job(&j);
    strcat(text, " auto_fit=true");
    ck_assert_msg(open_job(&j, "cuda", text, false, 4) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(j.configuration.trainer.batch_size * j.configuration.trainer.gradient_accumulation, 16);
    ck_assert_int_eq(cm_run_train(j.run, &result), CM_OK);
    close_job(&j);
}
END_TEST

START_TEST(the_limit_that_the_user_sets_counts_for_the_device_too) {
    job j;
    ck_assert_int_ne(open_job(&j, "cuda", "memory_bytes=10000 memory_limit=60000", false, 8), CM_OK);
    ck_assert_msg(strstr(cm_error_message(), "60 kB are allowed (Device.memory_limit): "), "%s", cm_error_message());
    close_job(&j);
    ck_assert_int_ne(open_job(&j, "cuda", "memory_limit=100 memory_bytes=10000", false, 8), CM_OK);
    ck_assert_msg(strstr(cm_error_message(), "no key alone is enough"), "%s", cm_error_message());
    close_job(&j);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, cm_test_folder_make, tear_down);
    suite_add_tcase(suite, tc);
    return tc;
}

int main(void) {
    Suite *suite = suite_create("far");
    TCase *kinds_of = add_case(suite, "kinds"), *tc = add_case(suite, "runs"), *plans = add_case(suite, "plans");
    /* What differs from one to the other is computed by one thread. */
    tcase_set_tags(kinds_of, "alone"), tcase_set_tags(plans, "alone");
    tcase_add_loop_test(kinds_of, a_run_computes_the_same_bits_where_the_host_cannot_see_the_memory, 0, KINDS);
    tcase_add_loop_test(tc, a_run_computes_the_same_bits_however_many_batches_are_prepared_ahead, 0, 4);
    tcase_add_test(tc, an_offline_run_computes_the_same_bits);
    tcase_add_loop_test(tc, updates_and_searches_never_wait_for_the_whole_device, 0, 2);
    tcase_add_test(tc, a_timeline_shows_batches_staged_on_a_thread_during_the_updates);
    tcase_add_loop_test(tc, a_number_that_is_not_finite_is_that_of_the_same_update_and_batch, 0, 3);
    tcase_add_test(tc, a_run_that_was_left_there_may_be_gone_on_with_on_the_host_and_the_other_way_round);
    tcase_add_test(tc, unless_it_is_told_a_device_takes_the_whole_batch_at_once_and_the_host_64_rows);
    tcase_add_loop_test(plans, a_plan_is_what_the_run_takes_of_the_device_to_the_byte, 0, 2);
    tcase_add_test(plans, a_plan_is_printed_before_it_is_taken);
    tcase_add_test(plans, a_plan_of_ranks_that_are_joined_has_a_row_for_that);
    tcase_add_loop_test(plans, a_plan_that_does_not_fit_names_a_key_and_the_largest_value_that_does, 0, 2);
    tcase_add_loop_test(plans, a_reanalysis_that_does_not_fit_is_named, 0, 2);
    tcase_add_test(plans, a_plan_that_does_not_fit_is_shrunk);
    tcase_add_test(plans, the_limit_that_the_user_sets_counts_for_the_device_too);
    return cm_test_main(suite);
}
