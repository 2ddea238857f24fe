/* One macro for each pair of a list, so that a list of pairs is written once. */
#ifndef CM_CORE_EACH_PAIR_H
#define CM_CORE_EACH_PAIR_H

enum { CM_EACH_PAIR_MOST = 15 };

/* f(with, a, b) for every pair a, b of the other arguments, 1 to CM_EACH_PAIR_MOST pairs, one after the other:
 * CM_EACH_PAIR(f, with, x, "1", y, "2") is f(with, x, "1") f(with, y, "2"). */
#define CM_EACH_PAIR(f, with, ...)                                                                                     \
    CM_EACH_PAIR_PICK(__VA_ARGS__, CM_EACH_PAIR_15, odd, CM_EACH_PAIR_14, odd, CM_EACH_PAIR_13, odd, CM_EACH_PAIR_12,  \
                      odd, CM_EACH_PAIR_11, odd, CM_EACH_PAIR_10, odd, CM_EACH_PAIR_9, odd, CM_EACH_PAIR_8, odd,       \
                      CM_EACH_PAIR_7, odd, CM_EACH_PAIR_6, odd, CM_EACH_PAIR_5, odd, CM_EACH_PAIR_4, odd,              \
                      CM_EACH_PAIR_3, odd, CM_EACH_PAIR_2, odd, CM_EACH_PAIR_1, odd)                                   \
    (f, with, __VA_ARGS__)
#define CM_EACH_PAIR_PICK(a15, b15, a14, b14, a13, b13, a12, b12, a11, b11, a10, b10, a9, b9, a8, b8, a7, b7, a6, b6,  \
                          a5, b5, a4, b4, a3, b3, a2, b2, a1, b1, f, ...)                                              \
    f

#define CM_EACH_PAIR_1(f, with, a, b)       f(with, a, b)
#define CM_EACH_PAIR_2(f, with, a, b, ...)  f(with, a, b) CM_EACH_PAIR_1(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_3(f, with, a, b, ...)  f(with, a, b) CM_EACH_PAIR_2(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_4(f, with, a, b, ...)  f(with, a, b) CM_EACH_PAIR_3(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_5(f, with, a, b, ...)  f(with, a, b) CM_EACH_PAIR_4(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_6(f, with, a, b, ...)  f(with, a, b) CM_EACH_PAIR_5(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_7(f, with, a, b, ...)  f(with, a, b) CM_EACH_PAIR_6(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_8(f, with, a, b, ...)  f(with, a, b) CM_EACH_PAIR_7(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_9(f, with, a, b, ...)  f(with, a, b) CM_EACH_PAIR_8(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_10(f, with, a, b, ...) f(with, a, b) CM_EACH_PAIR_9(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_11(f, with, a, b, ...) f(with, a, b) CM_EACH_PAIR_10(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_12(f, with, a, b, ...) f(with, a, b) CM_EACH_PAIR_11(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_13(f, with, a, b, ...) f(with, a, b) CM_EACH_PAIR_12(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_14(f, with, a, b, ...) f(with, a, b) CM_EACH_PAIR_13(f, with, __VA_ARGS__)
#define CM_EACH_PAIR_15(f, with, a, b, ...) f(with, a, b) CM_EACH_PAIR_14(f, with, __VA_ARGS__)

#endif
