/* How much a GPU is used, of a stand-in for NVML: which GPU is asked, what is made of the answers, what is refused. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "device/cuda/gpu_use.h"
#include "support/main.h"

/* ---- the stand-in: each function answers with the result that stands there ---- */

static struct {
    const char *id; /* that it knows */
    int rates, samples, memory;
    int type;
    unsigned count;
    cm_nvml_sample sample[4];
    unsigned long long after; /* of the last question */
    unsigned asked;           /* for how many */
} fake;

static struct nvmlDevice_st *const gpu_of_fake = (void *)&fake;

static const char *fake_text(int result) { return result == CM_NVML_NOT_SUPPORTED ? "Not Supported" : "Not Found"; }

static int fake_find(const char *id, cm_nvml_device *out) {
    if (strcmp(id, fake.id) != 0) return CM_NVML_NOT_FOUND;
    *out = gpu_of_fake;
    return CM_NVML_OK;
}

static int fake_rates(cm_nvml_device device, cm_nvml_rates *out) {
    ck_assert_ptr_eq(device, gpu_of_fake);
    *out = (cm_nvml_rates){.gpu = 25, .memory = 90};
    return fake.rates;
}

static int fake_samples(cm_nvml_device device, int which, unsigned long long after, int *type, unsigned *count,
                        cm_nvml_sample *out) {
    ck_assert(device == gpu_of_fake && which == CM_NVML_USE_SAMPLES);
    fake.after = after, fake.asked = *count;
    *type = fake.type, *count = fake.count;
    memcpy(out, fake.sample, sizeof fake.sample);
    return fake.samples;
}

static int fake_memory(cm_nvml_device device, cm_nvml_bytes *out) {
    ck_assert_ptr_eq(device, gpu_of_fake);
    *out = (cm_nvml_bytes){.total = 80, .unused = 60, .used = 20};
    return fake.memory;
}

static const cm_nvml nvml = {
    .result_text = fake_text, .find = fake_find, .rates = fake_rates, .samples = fake_samples, .memory = fake_memory};

static const cm_cu_id id = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                            0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0xff};
static const char gpu_id[] = "GPU-01234567-89ab-cdef-0010-2030405060ff",
                  part_id[] = "MIG-01234567-89ab-cdef-0010-2030405060ff";
static cm_gpu_use gpu;

static void put(int i, unsigned long long stamp, unsigned percent) {
    fake.sample[i] = (cm_nvml_sample){.stamp = stamp, .value = {.number = percent}};
}

static void set_up(void) {
    memset(&fake, 0, sizeof fake);
    fake.id = gpu_id, fake.type = CM_NVML_UNSIGNED;
    ck_assert_int_eq(cm_gpu_use_find(&nvml, id, &gpu), CM_OK);
}

static double kernels(void) {
    double share;
    ck_assert_msg(cm_gpu_use_kernels(&gpu, &share) == CM_OK, "%s", cm_error_message());
    return share;
}

/* ---- the library ---- */

START_TEST(a_machine_without_nvml_says_so_and_where_it_comes_from) {
    cm_nvml none;
    ck_assert_int_eq(cm_nvml_load(&none, "libnvidia-ml-is-not-here.so.1"), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(),
                     "no NVML: libnvidia-ml-is-not-here.so.1 is not on this machine; it comes with NVIDIA's driver "
                     "(Debian: libnvidia-ml1; containers get it with NVIDIA_DRIVER_CAPABILITIES=compute,utility)");
    ck_assert_ptr_null(none.handle);
    cm_nvml_close(&none);
}
END_TEST

START_TEST(an_nvml_that_lacks_a_function_is_too_old) {
    cm_nvml none;
    ck_assert_int_eq(cm_nvml_load(&none, "libm.so.6"), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(), "NVML is too old: libm.so.6 has no nvmlInit_v2; install driver 525 or newer");
    ck_assert_ptr_null(none.handle);
}
END_TEST

/* ---- one GPU ---- */

START_TEST(a_gpu_and_a_part_of_one_are_found_by_their_id) {
    cm_gpu_use part;
    fake.id = part_id;
    ck_assert_int_eq(cm_gpu_use_find(&nvml, id, &part), CM_OK);
    ck_assert(part.device == gpu_of_fake && gpu.device == gpu_of_fake);
    fake.id = "";
    ck_assert_int_eq(cm_gpu_use_find(&nvml, id, &part), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(), "NVML does not know GPU-01234567-89ab-cdef-0010-2030405060ff: Not Found");
}
END_TEST

START_TEST(the_use_is_the_mean_of_the_samples_since_the_last_time) {
    fake.count = 3;
    put(0, 2000, 30), put(1, 3000, 80), put(2, 1000, 10);
    ck_assert_double_eq(kernels(), 0.4);
    ck_assert_uint_eq(fake.after, 0);
    ck_assert_uint_ge(fake.asked, 4);
    put(0, 3000, 80), put(1, 4000, 100), put(2, 5000, 50); /* one was there before */
    ck_assert_double_eq(kernels(), 0.75);
    ck_assert_uint_eq(fake.after, 3000);
    fake.count = 2;
    put(0, 6000, 4000000000u), put(1, 7000, 8); /* one is no percentage */
    ck_assert_double_eq(kernels(), 0.08);
}
END_TEST

START_TEST(without_new_samples_the_use_is_that_of_the_drivers_last_period) {
    fake.samples = CM_NVML_NOT_FOUND;
    ck_assert_double_eq(kernels(), 0.25);
    fake.samples = CM_NVML_OK;
    ck_assert_double_eq(kernels(), 0.25);
    fake.count = 1, fake.type = 0;
    put(0, 1000, 50); /* of another type */
    ck_assert_double_eq(kernels(), 0.25);
}
END_TEST

START_TEST(memory_is_the_share_that_is_taken) {
    double share;
    ck_assert_int_eq(cm_gpu_use_memory(&gpu, &share), CM_OK);
    ck_assert_double_eq(share, 0.25);
}
END_TEST

START_TEST(what_nvml_refuses_is_said_in_its_words) {
    double share = 1.0;
    fake.samples = fake.rates = CM_NVML_NOT_SUPPORTED;
    ck_assert_int_eq(cm_gpu_use_kernels(&gpu, &share), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(), "NVML does not say how much of the time kernels run: Not Supported, as with "
                                         "parts of GPUs (MIG) and with some virtual ones");
    ck_assert(isnan(share));
    share = 1.0, fake.memory = CM_NVML_NOT_FOUND;
    ck_assert_int_eq(cm_gpu_use_memory(&gpu, &share), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(), "NVML does not say how much memory is taken: Not Found");
    ck_assert(isnan(share));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device/gpu_use");
    TCase *tests = tcase_create("all");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, a_machine_without_nvml_says_so_and_where_it_comes_from);
    tcase_add_test(tests, an_nvml_that_lacks_a_function_is_too_old);
    tcase_add_test(tests, a_gpu_and_a_part_of_one_are_found_by_their_id);
    tcase_add_test(tests, the_use_is_the_mean_of_the_samples_since_the_last_time);
    tcase_add_test(tests, without_new_samples_the_use_is_that_of_the_drivers_last_period);
    tcase_add_test(tests, memory_is_the_share_that_is_taken);
    tcase_add_test(tests, what_nvml_refuses_is_said_in_its_words);
    return cm_test_main(suite);
}
