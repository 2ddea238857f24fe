/* How kernels for GPUs are written: once, as functions that compile as C17 and in a .cu file.
 *
 * A kernel is a function
 *
 *     CM_KERNEL void cm_softmax_runs(const cm_softmax_args *a, int64_t item, const cm_lanes *lanes)
 *
 * that does the work of one of `count` lanes for one item: an element, a row, a column. Items are independent and may
 * run in any order. The lanes of an item run at the same time; each takes every count-th element from its own index on,
 * and they synchronize in the functions below, which all lanes must call in the same order. So the sums of a kernel
 * have a fixed order, given by the number of lanes. On a GPU a lane is a thread: the counts are 1, 8 or 32 threads of a
 * warp, or a block of 256 (kernel.cuh). On a CPU whoever includes kernels defines these functions: the tests run lanes
 * interleaved, and one lane alone needs no partner (tests/support/lanes.c). The lanes of a block may also synchronize
 * warp by warp (cm_lanes_part), each warp as often as it likes.
 *
 * Memory. Between two barriers lanes run in any order, also those of a warp. So what one lane writes another may read,
 * or write, only after a barrier, and what one lane has read another may write only after a barrier: the functions
 * below are barriers in this sense, too. What is read, changed and written back is one lane's work. The tests' lanes
 * take turns in both orders, so that a barrier that is missing gives a wrong number in one of them.
 *
 * A launch of blocks may ask for memory that the lanes of an item share; it holds nothing of use at first.
 *
 * Numbers are float32; sums over lanes are made in double, but for cm_lanes_sum_16 and products. */
#ifndef CM_DEVICE_CUDA_LANES_H
#define CM_DEVICE_CUDA_LANES_H

#include <float.h>
#include <math.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CUDACC__
#define CM_KERNEL        static __device__ inline
#define CM_KERNEL_COPIED static __device__ __forceinline__ /* a part that is copied into all that calls it */
#define CM_KERNEL_CALLED static __device__ __noinline__    /* a part that is not copied into what calls it */
#else
#define CM_KERNEL        static inline
#define CM_KERNEL_COPIED static inline
#define CM_KERNEL_CALLED static inline
#endif

/* A loop from 0 to a constant, whose turns become code one after the other: what it indexes stays in registers. And
 * one whose turns are the same code. Compilers for hosts do not know the pragmas, also where nvcc gives them the file.
 */
#ifdef __CUDA_ARCH__
#define CM_UNROLL(i, n) _Pragma("unroll") for (int i = 0; i < (n); i++)
#define CM_ROLL(i, n)   _Pragma("unroll 1") for (int i = 0; i < (n); i++)
#else
#define CM_UNROLL(i, n) for (int i = 0; i < (n); i++)
#define CM_ROLL(i, n)   for (int i = 0; i < (n); i++)
#endif

/* A struct of arguments, of which nothing is there yet: cm_softmax_args args = CM_NOTHING. */
#ifdef __cplusplus
#define CM_NOTHING                                                                                                     \
    {}
#else
#define CM_NOTHING                                                                                                     \
    { 0 }
#endif

enum { CM_WARP = 32, CM_BLOCK = 256 };

/* Bytes of shared memory that are left to what a compiler keeps there. */
enum { CM_BLOCK_KEPT = 1024 };

typedef struct cm_lanes {
    int index, count; /* of this lane: index in [0, count) */
    void *barrier;    /* of whoever runs them */
    float *memory;    /* that the lanes of an item share, at a multiple of 16 bytes; NULL: the launch asked for none */
} cm_lanes;

/* The neighbours that a lane of a block is among if parts of it work by themselves: `count`, 8, 16 or CM_WARP. */
static CM_HD inline cm_lanes cm_lanes_part(const cm_lanes *block, int count) {
    cm_lanes part = *block;
    part.index = block->index & (count - 1);
    part.count = count;
    return part;
}

/* Lanes for rows of n elements: 1, 8, CM_WARP or CM_BLOCK. */
static inline int cm_lanes_for(int64_t n) { return n <= 4 ? 1 : n <= 16 ? 8 : n <= 2048 ? CM_WARP : CM_BLOCK; }

/* For sums of n numbers that lie apart, whose reading takes longer than a barrier: at most 16 for a lane, if it can be.
 */
static inline int cm_lanes_for_sum(int64_t n) { return n <= 16 ? 8 : n <= 256 ? CM_WARP : CM_BLOCK; }

/* Every element of a run that is this lane's. */
#define CM_EACH(i, lanes, n) for (int i = (lanes)->index; i < (n); i += (lanes)->count)

/* Where writes might change what is read next, a lane reads a few of its elements before it writes the first, so that
 * they come at the same time: those from i on, number j of them. After the last one it is element i again. */
enum { CM_FEW = 8 };
static CM_HD inline int cm_few_at(int i, int j, int n, const cm_lanes *lanes) {
    const int at = i + j * lanes->count;
    return at < n ? at : i;
}

/* A value with the place where it was found. */
typedef struct cm_found {
    float value;
    int at;
} cm_found;

/* The better of two for the smallest value: ties go to the first place. A NaN is never better. It has no branch. */
static CM_HD inline cm_found cm_found_least(cm_found a, cm_found b) {
    const bool better = (b.value < a.value) | ((b.value == a.value) & (b.at < a.at));
    const cm_found least = {better ? b.value : a.value, better ? b.at : a.at};
    return least;
}

/* What every lane gets: the sum of all values (a tree: lanes 16, 8, 4, 2, 1 apart, then warps in order), the largest,
 * the smallest with its first place. cm_lanes_sync is a barrier for its own sake. cm_lanes_sum_16 is for a warp whose
 * lanes 16 .. 31 have the values of 0 .. 15: the sum of these in float32 (lanes 8, 4, 2, 1 apart). cm_lanes_fetch is no
 * barrier: it says that these bytes are soon to be read.
 *
 * cm_lanes_product is for a warp: sum[16, 8] += a[16, 16] b[16, 8], of bfloat16 or else float16, in float32 and in an
 * order of the device's own. Lane 4 g + q brings pairs of neighbours along the sum, the first one in the low half, and
 * its sums:
 *     a    rows g, g + 8 from column 2 q on, then the same rows from column 2 q + 8 on
 *     b    column g from row 2 q on, then from row 2 q + 8 on
 *     sum  row g, columns 2 q and 2 q + 1, then row g + 8
 * It is no barrier where memory is concerned. cm_lanes_pair is no barrier at all: two numbers rounded to 16 bits.
 *
 * cm_lanes_product_32 is the same of float32, of a[16, 8] and b[8, 8]: sum gets what is large, rest what is small, and
 * sum + rest[0] + rest[1] is off by some 2^-22 of the factors at most, but for what adding costs: a device may cut what
 * it adds to sum to 24 bits, so chains of these are to be short. A factor that is not finite, or rounds to infinity in
 * 11 bits, makes NaN. Lane 4 g + q brings
 *     a    rows g, g + 8 of column q, then of column q + 4
 *     b    column g of row q, then of row q + 4
 * and sums as above.
 *
 * cm_lanes_product_8 is the same of whole numbers of 8 bits with a sign, a[16, 32] and b[32, 8], and is exact: sums are
 * of 32 bits. A word is four neighbours along the sum, the first one in the lowest bits. Lane 4 g + q brings
 *     a    rows g, g + 8 from column 4 q on, then the same rows from column 4 q + 16 on
 *     b    column g from row 4 q on, then from row 4 q + 16 on
 * and sums as above.
 *
 * Asynchronous copies: cm_lanes_send begins to copy 16 bytes of the device's memory into the block's, both at
 * multiples of 16. After cm_lanes_wait all that this lane has sent is there for it, and after a barrier for others.
 * Neither is a barrier. */
#ifdef __CUDACC__
static __device__ double cm_lanes_sum(const cm_lanes *lanes, double value);
static __device__ float cm_lanes_max(const cm_lanes *lanes, float value);
static __device__ cm_found cm_lanes_least(const cm_lanes *lanes, cm_found found);
static __device__ void cm_lanes_sync(const cm_lanes *lanes);
static __device__ float cm_lanes_sum_16(const cm_lanes *lanes, float value);
static __device__ void cm_lanes_fetch(const cm_lanes *lanes, const void *memory, size_t bytes);
static __device__ void cm_lanes_product(const cm_lanes *lanes, bool bfloat, const uint32_t a[4], const uint32_t b[2],
                                        float sum[4]);
static __device__ void cm_lanes_product_32(const cm_lanes *lanes, const float a[4], const float b[2], float sum[4],
                                           float rest[2][4]);
static __device__ void cm_lanes_product_8(const cm_lanes *lanes, const uint32_t a[4], const uint32_t b[2],
                                          int32_t sum[4]);
static __device__ uint32_t cm_lanes_pair(float low, float high, bool bfloat);
static __device__ void cm_lanes_send(const cm_lanes *lanes, void *to, const void *from);
static __device__ void cm_lanes_wait(const cm_lanes *lanes);
#else
double cm_lanes_sum(const cm_lanes *lanes, double value);
float cm_lanes_max(const cm_lanes *lanes, float value);
cm_found cm_lanes_least(const cm_lanes *lanes, cm_found found);
void cm_lanes_sync(const cm_lanes *lanes);
float cm_lanes_sum_16(const cm_lanes *lanes, float value);
void cm_lanes_fetch(const cm_lanes *lanes, const void *memory, size_t bytes);
void cm_lanes_product(const cm_lanes *lanes, bool bfloat, const uint32_t a[4], const uint32_t b[2], float sum[4]);
void cm_lanes_product_32(const cm_lanes *lanes, const float a[4], const float b[2], float sum[4], float rest[2][4]);
void cm_lanes_product_8(const cm_lanes *lanes, const uint32_t a[4], const uint32_t b[2], int32_t sum[4]);
uint32_t cm_lanes_pair(float low, float high, bool bfloat);
void cm_lanes_send(const cm_lanes *lanes, void *to, const void *from);
void cm_lanes_wait(const cm_lanes *lanes);
#endif

#ifdef __cplusplus
}
#endif
#endif
