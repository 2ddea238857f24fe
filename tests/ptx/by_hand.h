/* Kernels whose text a test has by hand, and what a launch of one is expected to do. */
#ifndef TESTS_PTX_BY_HAND_H
#define TESTS_PTX_BY_HAND_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ptx/profile.h"
#include "ptx/ptx.h"

enum { TEXT = 8192, WARP = 32, WORDS = 1 << 15 };

/* Memory that kernels are given the address of, and what the last run said. */
static _Alignas(32) uint32_t words[WORDS]; /* a sector of memory at a time */
static char why[PTX_LINE];

/* Registers of every kernel here: %p, %h of 16, %r and %f of 32, %d and %g of 64 bits. %d0 is the address of `words`,
 * %r0 the thread, %d1 the address of its word. */
#define BEGIN BEGIN_FOR("sm_90", "64")
#define BEGIN_FOR(target, threads)                                                                                     \
    ".version 9.0\n.target " target "\n.address_size 64\n"                                                             \
    ".extern .shared .align 16 .b8 asked[];\n"                                                                         \
    ".entry _Z6kernel(.param .u64 words)\n.maxntid " threads ", 1, 1\n{\n"                                             \
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<33>; .reg .f32 %f<33>; .reg .b64 %d<9>; .reg .f64 %g<9>;\n"       \
    ".shared .align 8 .b8 own[256];\n"                                                                                 \
    "ld.param.u64 %d0, [words]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;\n"
#define END "\nret; }\n"

static inline bool run_with(const char *text, int threads, int64_t blocks, size_t shared, bool backwards) {
    char local[PTX_LINE];
    void *address = words;
    ptx_module *module = ptx_open(text, local);
    const ptx_function *entry = module ? ptx_entry(module, "kernel", local) : NULL;
    const ptx_launch launch = {.blocks = blocks,
                               .threads = threads,
                               .shared = shared,
                               .parameters = {&address},
                               .backwards = backwards,
                               .threads_backwards = backwards};
    ptx_machine *machine = ptx_machine_open();
    const bool ok = machine && entry && ptx_run(machine, entry, &launch, local);
    ptx_machine_close(machine);
    ptx_close(module);
    snprintf(why, sizeof why, "%s", ok ? "" : local);
    return ok;
}

/* In both orders of the threads. */
static inline void expect_ok(const char *text, int threads, int64_t blocks) {
    for (int backwards = 0; backwards < 2; backwards++)
        ck_assert_msg(run_with(text, threads, blocks, 64, backwards), "%s", why);
}

static inline void expect_failure(const char *text, int threads, int64_t blocks, const char *part) {
    for (int backwards = 0; backwards < 2; backwards++) {
        ck_assert_msg(!run_with(text, threads, blocks, 64, backwards), "it is not seen: %s", part);
        ck_assert_msg(strstr(why, part), "\"%s\" does not say %s", why, part);
    }
}

/* `from` with another text in every place of a word. */
static inline void fill(char text[TEXT], const char *from, const char *word, const char *with) {
    size_t length = 0;
    for (const char *next; (next = strstr(from, word)); from = next + strlen(word))
        length += (size_t)snprintf(text + length, TEXT - length, "%.*s%s", (int)(next - from), from, with);
    snprintf(text + length, TEXT - length, "%s", from);
}

/* What a block of it costs (ptx/profile.h). */
static inline ptx_cost cost_of_text(const char *text, int threads) {
    char local[PTX_LINE];
    void *address = words;
    ptx_module *module = ptx_open(text, local);
    ck_assert_msg(module, "%s", module ? "" : local);
    const ptx_function *entry = ptx_entry(module, "kernel", local);
    ptx_profile *profile = ptx_profile_open(entry);
    ptx_machine *machine = ptx_machine_open();
    const ptx_launch launch = {.blocks = 1, .threads = threads, .parameters = {&address}, .profile = profile};
    ck_assert_msg(ptx_run(machine, entry, &launch, local), "%s", local);
    const ptx_cost cost = ptx_profile_total(profile);
    ptx_machine_close(machine);
    ptx_profile_close(profile);
    ptx_close(module);
    return cost;
}

#endif
