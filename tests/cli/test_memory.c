/* Files that ask for more memory than their run has a use for: one line, and no memory. */
#include <math.h>
#include <sys/resource.h>
#include <xxhash.h>
#include <zstd.h>

#include "cli/strange.h"

static const char trained[] =
    "train --quiet --run small --set env_steps=256 --set min_memory_steps=64 --set hidden_dim=16 --set num_envs=2"
    " --set evaluation_interval=0 --set final_evaluation_episodes=0";

/* Reads a file of the run into `text`, that is to be freed. */
static void read_text(const char *name, char **text) {
    char path[640];
    size_t size;
    snprintf(path, sizeof path, "%s/small/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_file_read(path, 1 << 14, text, &size), CM_OK);
}

/* Another value of hidden_dim, in the run's configuration and in what its checkpoint says of it. */
static void widen(const char *to) {
    static const char from[] = "\"hidden_dim\": 16";
    char path[640], changed[1 << 15], *config, *state;
    read_text("config.json", &config);
    read_text("latest/state.json", &state);
    const char *at = strstr(config, from);
    ck_assert_msg(at != NULL, "%s", config);
    snprintf(path, sizeof path, "%s/small/config.json", cm_test_folder);
    snprintf(changed, sizeof changed, "%.*s\"hidden_dim\": %s%s", (int)(at - config), config, to, at + strlen(from));
    ck_assert_int_eq(cm_file_write(path, changed, strlen(changed)), CM_OK);
    snprintf(path, sizeof path, "\"hidden_dim\": \"%s\"", to);
    change_state("small", state, "\"hidden_dim\": \"16\"", path);
    free(config);
    free(state);
}

/* A tree of such a text takes some 40 times its bytes. */
START_TEST(texts_are_as_long_as_runs_write_them) {
    enum { LONG = 8 << 20 };
    static char text[LONG];
    char path[640];
    for (size_t i = 0; i < LONG; i++) text[i] = i % 2 ? '1' : ',';
    text[0] = '[', text[LONG - 1] = ']';
    expect_ok(trained);
    replace("small", "state.json", text, LONG);
    expect_refused("eval --run small --episodes 1",
                   "state.json: 8388608 bytes, where this run has at most 1048576: it is of another run, or damaged");
    snprintf(path, sizeof path, "%s/small/config.json", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, LONG), CM_OK);
    expect_refused("eval --run small --episodes 1", "config.json: 8388608 bytes, but at most 1048576 are accepted");
}
END_TEST

/* Of the longest one that is read, and of one that is too long. */
START_TEST(a_manifest_takes_no_more_than_that_of_many_ranks) {
    static char text[CM_MANIFEST_BYTES + 1];
    char path[640];
    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 32 == 1 ? '"' : i % 32 == 31 ? '"' : i % 32 == 0 ? ',' : 'x';
    text[0] = '[', text[CM_MANIFEST_BYTES - 1] = '"', text[CM_MANIFEST_BYTES] = ']';
    expect_ok(trained);
    file_of("small", "manifest.json", path);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text), CM_OK);
    run("inspect --run small");
    cm_program_expect_error(&result, 1, "manifest.json: 8388609 bytes, but at most 8388608 are accepted");
    text[CM_MANIFEST_BYTES - 32] = ']';
    ck_assert_int_eq(cm_file_write(path, text, CM_MANIFEST_BYTES - 31), CM_OK);
    run("inspect --run small");
    cm_program_expect_error(&result, 1, "manifest.json: format: missing");
    cm_program_expect_memory(&result, 72 << 10);
}
END_TEST

/* The last number of an array file, whose bytes are the last of the file, becomes `number`. */
static void put_number(const char *name, float number) {
    char path[640], *data;
    size_t size;
    file_of("small", name, path);
    ck_assert_int_eq(cm_file_read(path, 1 << 24, &data, &size), CM_OK);
    memcpy(data + size - sizeof number, &number, sizeof number);
    replace("small", name, data, size);
    free(data);
}

/* Where the checksums are right. */
START_TEST(numbers_that_cannot_be_are_named_with_file_and_tensor) {
    expect_ok(trained);
    put_number("optimizer.safetensors", -1.0f);
    expect_refused("train --quiet --resume small", "optimizer.safetensors: tensor \"second/");
    ck_assert_msg(strstr(result.err, " holds -1 ") && strstr(result.err, "cannot be below 0"), "%s", result.err);
    put_number("optimizer.safetensors", NAN);
    expect_refused("train --quiet --resume small", "optimizer.safetensors: tensor \"second/");
    put_number("average.safetensors", INFINITY);
    expect_refused("eval --run small --episodes 1", "average.safetensors: tensor \"");
    ck_assert_msg(strstr(result.err, " holds inf (number ") && strstr(result.err, "(--checkpoint N)"), "%s",
                  result.err);
}
END_TEST

/* 8192 x 8192 numbers of a layer are 268 MB, and a run has several of them several times. */
START_TEST(a_configuration_of_a_wide_network_is_held_against_the_file_first) {
    static const char says[] = "has shape [16, 4], this network has [8192, 4]: ";
    expect_ok(trained);
    widen("8192");
    expect_refused("eval --run small --episodes 1", says);
    expect_refused("inspect --run small", says);
    expect_refused("train --quiet --resume small", says);
}
END_TEST

START_TEST(pictures_that_need_too_much_are_told_to_be_smaller) {
    static const char text[] = "row = [[0.0]] * 200\n"
                               "class Eye:\n    actions, max_steps = 2, 9\n"
                               "    def reset(self): return [row] * 200\n"
                               "    def step(self, action): return [row] * 200, 0.0, False\n";
    char path[640];
    snprintf(path, sizeof path, "%s/eye.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    run("train --env ./eye.py --set memory_steps=100000000 --set num_envs=1 --env-steps 64");
    cm_program_expect_error(&result, 1, "; smaller pictures (84 x 84) than those of 200 x 200 x 1 take a fraction");
}
END_TEST

/* Puts a frame of 1 GiB of zeros into the run, as a segment file of its replay or its state: some 100 kB. */
static void put_bomb(const char *prefix) {
    enum { HEADER = 64, PART = 1 << 20, PARTS = 1024 };
    char *zeros = calloc(1, PART), *bomb = malloc(PART), path[640], name[CM_MANIFEST_NAME] = "";
    size_t size, used = HEADER;
    cm_manifest manifest = {0};
    cm_dir dir;
    file_of("small", "", path);
    ck_assert_int_eq(cm_dir_open(&dir, path), CM_OK);
    ck_assert_int_eq(cm_manifest_read(&manifest, &dir), CM_OK);
    for (int i = 0; i < manifest.count; i++)
        if (strncmp(manifest.file[i].name, prefix, strlen(prefix)) == 0) strcpy(name, manifest.file[i].name);
    cm_manifest_reset(&manifest);
    cm_dir_close(&dir);
    char *old;
    file_of("small", name, path);
    ck_assert_int_eq(cm_file_read(path, 1 << 26, &old, &size), CM_OK);
    memcpy(bomb, old, HEADER);
    free(old);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    for (int i = 0; i < PARTS; i++) {
        ZSTD_outBuffer out = {bomb, PART, used};
        ZSTD_inBuffer in = {zeros, PART, 0};
        while (in.pos < in.size) ck_assert(!ZSTD_isError(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_continue)));
        if (i == PARTS - 1)
            while (ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_end) > 0) continue;
        used = out.pos;
    }
    ZSTD_freeCCtx(zstd);
    const uint64_t sizes[2] = {(uint64_t)PART * PARTS, used - HEADER};
    const uint32_t packed = 1;
    memcpy(bomb + 8, &packed, sizeof packed);
    memcpy(bomb + 40, sizes, sizeof sizes);
    const uint64_t sum = XXH3_64bits_withSeed(bomb + HEADER, used - HEADER, XXH3_64bits(bomb, HEADER - 8));
    memcpy(bomb + 56, &sum, sizeof sum);
    replace("small", name, bomb, used);
    free(zeros);
    free(bomb);
}

START_TEST(what_unpacks_to_more_than_the_replay_is_refused_before_it_does) {
    expect_ok(trained);
    put_bomb(_i ? "replay-state" : "replay-segment");
    expect_refused("train --quiet --resume small",
                   _i ? "/replay-state.bin: replay state: 1073741824 bytes unpacked, where this replay has at most "
                      : "segment file: segment 0: 0 steps, must be in 1 .. 500");
    if (_i == 0)
        expect_refused("train --quiet --run other --replay-from small --set hidden_dim=16 --set num_envs=2",
                       "segment file: segment 0: 0 steps, must be in 1 .. 500");
}
END_TEST

static void expect_limit(const char *arguments, const char *says) {
    run(arguments);
    cm_program_expect_error(&result, 1, says);
    cm_program_expect_memory(&result, 128 << 10);
}

/* All that is said here is more than what the limit, or the memory that is allowed, would hold. */
START_TEST(a_plan_beyond_the_limit_is_refused_before_it_costs_memory) {
    static const char small[] = "train --quiet --run no --set memory_limit=100000000 --set hidden_dim=";
    char line[512];
    snprintf(line, sizeof line, "%s8192", small);
    expect_limit(line, "Device.memory_limit: the run needs at least 3.2 GB, 100 MB are allowed; most of it is par");
    snprintf(line, sizeof line, "%s256 --set memory_steps=70000 --set batch_size=65536", small);
    expect_limit(line, "Device.memory_limit: the run needs 1.2 GB, 100 MB are allowed; most of it is gradients: low");
    snprintf(line, sizeof line, "%s16 --set memory_steps=100000000", small);
    expect_limit(line, ", Device.memory_limit is 100 MB: set Memory.memory_bytes or lower Memory.memory_steps");
    expect_ok(trained);
    expect_limit("eval --run small --episodes 1 --set memory_limit=10000", "of the 10 kB of Device.memory_limit ");
    expect_limit("inspect --run small --set memory_limit=1000", "of the 1.0 kB of Device.memory_limit 1.0 kB are left");
}
END_TEST

START_TEST(what_a_process_may_take_is_told_and_judged) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit most = {900000000, 900000000};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &most), 0);
    run("doctor");
    ck_assert_msg(strstr(result.out, " are available (ulimit -v allows 900 MB)\n") != NULL, "%s", result.out);
    expect_limit("train --quiet --run no --set hidden_dim=256 --set memory_steps=70000 --set batch_size=65536",
                 " are available (ulimit -v allows 900 MB)");
#endif
}
END_TEST

/* Its record may become 10^7 actions long, of which it has some hundred: neither they nor a copy of them, nor a file of
 * them, is there for the others. */
START_TEST(the_record_of_an_environment_in_python_is_as_long_as_its_episode) {
    static const char forever[] = "class Forever:\n"
                                  "    actions = 2\n"
                                  "    def reset(self, seed=None):\n"
                                  "        return [0.0]\n"
                                  "    def step(self, action):\n"
                                  "        return [1.0], float(action), False\n";
    char path[640], *saved;
    size_t size;
    snprintf(path, sizeof path, "%s/forever.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, forever, sizeof forever - 1), CM_OK);
    expect_ok("train --quiet --run small --set env_name=./forever.py --set max_steps=10000000 --set num_envs=4"
              " --set env_steps=512 --set min_memory_steps=64 --set hidden_dim=16 --set evaluation_interval=0"
              " --set final_evaluation_episodes=0 --set td_steps=5");
    cm_program_expect_memory(&result, 256 << 10); /* Python itself has 120 MB */
    file_of("small", "environments.bin", path);
    ck_assert_msg(cm_file_read(path, 1 << 14, &saved, &size) == CM_OK, "%s", cm_error_message());
    free(saved);
    expect_ok("train --quiet --resume small --env-steps 1024");
    cm_program_expect_memory(&result, 256 << 10); /* Python itself has 120 MB */
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/memory");
    TCase *c = tcase_create("memory");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(c, a_configuration_of_a_wide_network_is_held_against_the_file_first);
    tcase_add_test(c, pictures_that_need_too_much_are_told_to_be_smaller);
    tcase_add_loop_test(c, what_unpacks_to_more_than_the_replay_is_refused_before_it_does, 0, 2);
    tcase_add_test(c, a_plan_beyond_the_limit_is_refused_before_it_costs_memory);
    tcase_add_test(c, what_a_process_may_take_is_told_and_judged);
    tcase_add_test(c, the_record_of_an_environment_in_python_is_as_long_as_its_episode);
    tcase_add_test(c, numbers_that_cannot_be_are_named_with_file_and_tensor);
    tcase_add_test(c, texts_are_as_long_as_runs_write_them);
    tcase_add_test(c, a_manifest_takes_no_more_than_that_of_many_ranks);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
