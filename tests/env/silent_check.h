/* Check's assertions without their cost: ck_assert writes a mark to a file each time, which millions of them cannot
 * pay. */
#ifndef TESTS_ENV_SILENT_CHECK_H
#define TESTS_ENV_SILENT_CHECK_H

#include <check.h>

#define must(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) ck_abort_msg("%s", #condition);                                                              \
    } while (0)

#define must_msg(condition, ...)                                                                                       \
    do {                                                                                                               \
        if (!(condition)) ck_abort_msg(__VA_ARGS__);                                                                   \
    } while (0)

#define must_equal(got, want)                                                                                          \
    do {                                                                                                               \
        long long got_ = (long long)(got), want_ = (long long)(want);                                                  \
        if (got_ != want_) ck_abort_msg("%s is %lld, not %lld (%s)", #got, got_, want_, #want);                        \
    } while (0)

#endif
