/* How a kernel of lanes.h runs on a GPU. A .cu file includes the header of its kernels and this one, and says
 *
 *     CM_SOFTMAX_KERNELS(CM_LAUNCHER)
 *
 * or CM_BLOCK_LAUNCHER for kernels of blocks whose lanes share memory: it defines the entry points of the header's list
 * (launch.h). */
#ifndef CM_DEVICE_CUDA_KERNEL_CUH
#define CM_DEVICE_CUDA_KERNEL_CUH

#include <stdlib.h>

#include "device/cuda/known.h"
#include "device/cuda/lanes.h"
#include "device/cuda/launch.h"

/* The lanes of an item are neighbours in a warp, or a whole block. */
static __device__ inline unsigned cm_lanes_mask(int count) {
    if (count >= CM_WARP) return 0xffffffffu;
    return ((1u << count) - 1u) << (threadIdx.x % CM_WARP & ~(unsigned)(count - 1));
}

/* Lanes of one warp synchronize, which shuffles alone do not do: they order no memory. Returns the mask for them. */
static __device__ inline unsigned cm_lanes_gather(const cm_lanes *lanes) {
    unsigned mask = cm_lanes_mask(lanes->count);
    __syncwarp(mask);
    return mask;
}

/* Every thread of the block gets value of each warp's lane 0 in shared memory. */
template <typename T> static __device__ inline const T *cm_lanes_share(T value) {
    __shared__ T warp[CM_BLOCK / CM_WARP];
    __syncthreads(); /* the last barrier has been read */
    if (threadIdx.x % CM_WARP == 0) warp[threadIdx.x / CM_WARP] = value;
    __syncthreads();
    return warp;
}

static __device__ double cm_lanes_sum(const cm_lanes *lanes, double value) {
    unsigned mask = cm_lanes_gather(lanes);
    for (int far = (lanes->count < CM_WARP ? lanes->count : CM_WARP) / 2; far > 0; far /= 2)
        value += __shfl_xor_sync(mask, value, far);
    if (lanes->count <= CM_WARP) return value;
    const double *warp = cm_lanes_share(value);
    double sum = warp[0];
    for (int i = 1; i < CM_BLOCK / CM_WARP; i++) sum += warp[i];
    return sum;
}

static __device__ float cm_lanes_max(const cm_lanes *lanes, float value) {
    unsigned mask = cm_lanes_gather(lanes);
    for (int far = (lanes->count < CM_WARP ? lanes->count : CM_WARP) / 2; far > 0; far /= 2)
        value = fmaxf(value, __shfl_xor_sync(mask, value, far));
    if (lanes->count <= CM_WARP) return value;
    const float *warp = cm_lanes_share(value);
    float most = warp[0];
    for (int i = 1; i < CM_BLOCK / CM_WARP; i++) most = fmaxf(most, warp[i]);
    return most;
}

static __device__ cm_found cm_lanes_least(const cm_lanes *lanes, cm_found found) {
    unsigned mask = cm_lanes_gather(lanes);
    for (int far = (lanes->count < CM_WARP ? lanes->count : CM_WARP) / 2; far > 0; far /= 2) {
        cm_found other = {__shfl_xor_sync(mask, found.value, far), __shfl_xor_sync(mask, found.at, far)};
        found = cm_found_least(found, other);
    }
    if (lanes->count <= CM_WARP) return found;
    const cm_found *warp = cm_lanes_share(found);
    cm_found least = warp[0];
    for (int i = 1; i < CM_BLOCK / CM_WARP; i++) least = cm_found_least(least, warp[i]);
    return least;
}

static __device__ inline void cm_lanes_sync(const cm_lanes *lanes) {
    if (lanes->count == 1) return;
    if (lanes->count <= CM_WARP) {
        cm_lanes_gather(lanes);
    } else {
        __syncthreads();
    }
}

static __device__ inline float cm_lanes_sum_16(const cm_lanes *lanes, float value) {
    unsigned mask = cm_lanes_gather(lanes);
    for (int far = 8; far > 0; far /= 2) value += __shfl_xor_sync(mask, value, far);
    return value;
}

/* Each lane a piece of a cache line. */
static __device__ inline void cm_lanes_fetch(const cm_lanes *lanes, const void *memory, size_t bytes) {
    enum { PIECE = 32 };
    const char *first = (const char *)memory;
    for (size_t at = (size_t)lanes->index * PIECE; at < bytes; at += (size_t)lanes->count * PIECE)
        asm volatile("prefetch.L1 [%0];" ::"l"(first + at));
}

/* Tensor cores multiply from compute capability 8.0 on; it must not be asked for below. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
#define CM_MULTIPLY(type, sum, a, b)                                                                                   \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, " \
                 "{%0,%1,%2,%3};"                                                                                      \
                 : "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3])                                      \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#define CM_PAIR(type, pair, low, high) asm("cvt.rn." type "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low))
#else
#define CM_MULTIPLY(type, sum, a, b)   __trap()
#define CM_PAIR(type, pair, low, high) __trap()
#endif

static __device__ inline void cm_lanes_product(const cm_lanes *lanes, bool bfloat, const uint32_t a[4],
                                               const uint32_t b[2], float sum[4]) {
    (void)lanes;
    if (bfloat) {
        CM_MULTIPLY("bf16", sum, a, b);
    } else {
        CM_MULTIPLY("f16", sum, a, b);
    }
}

static __device__ inline uint32_t cm_lanes_pair(float low, float high, bool bfloat) {
    uint32_t pair = 0;
    if (bfloat) {
        CM_PAIR("bf16", pair, low, high);
    } else {
        CM_PAIR("f16", pair, low, high);
    }
    return pair;
}

/* A number of float32 as the sum of two of 11 bits, which is what tensor cores read, to 2^-23 of it. A NaN is one in
 * the second. */
static __device__ inline void cm_lanes_split(float x, uint32_t part[2]) {
    enum : uint32_t { HALF = 0x1000, KEPT = 0xffffe000 }; /* of the last bit that is kept; all that are */
    part[0] = (__float_as_uint(x) + HALF) & KEPT;
    part[1] = __float_as_uint(x - __uint_as_float(part[0])) & KEPT;
}

/* sum += a b, of parts of numbers. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
static __device__ inline void cm_lanes_multiply_32(float sum[4], const uint32_t a[4][2], int of_a,
                                                   const uint32_t b[2][2], int of_b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0][of_a]), "r"(a[1][of_a]), "r"(a[2][of_a]), "r"(a[3][of_a]), "r"(b[0][of_b]),
                   "r"(b[1][of_b]));
}

static __device__ inline void cm_lanes_product_32(const cm_lanes *lanes, const float a[4], const float b[2],
                                                  float sum[4], float rest[2][4]) {
    uint32_t of_a[4][2], of_b[2][2];
    (void)lanes;
    for (int i = 0; i < 4; i++) cm_lanes_split(a[i], of_a[i]);
    for (int i = 0; i < 2; i++) cm_lanes_split(b[i], of_b[i]);
    cm_lanes_multiply_32(sum, of_a, 0, of_b, 0);
    cm_lanes_multiply_32(rest[0], of_a, 0, of_b, 1);
    cm_lanes_multiply_32(rest[1], of_a, 1, of_b, 0);
}
#else
/* Without such tensor cores: from lane to lane. */
static __device__ inline void cm_lanes_product_32(const cm_lanes *lanes, const float a[4], const float b[2],
                                                  float sum[4], float rest[2][4]) {
    const int row = lanes->index / 4 * 4, column = lanes->index % 4 * 8;
    (void)rest;
    CM_ROLL(q, 4) {
        CM_UNROLL(half, 2) {
            const float low = __shfl_sync(0xffffffffu, a[2 * half], row + q);
            const float high = __shfl_sync(0xffffffffu, a[2 * half + 1], row + q);
            const float one = __shfl_sync(0xffffffffu, b[half], column + q);
            const float next = __shfl_sync(0xffffffffu, b[half], column + 4 + q);
            sum[0] = fmaf(low, one, sum[0]);
            sum[1] = fmaf(low, next, sum[1]);
            sum[2] = fmaf(high, one, sum[2]);
            sum[3] = fmaf(high, next, sum[3]);
        }
    }
}
#endif

/* Whole numbers of 8 bits: on tensor cores from 8.0 on, else from lane to lane. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
static __device__ inline void cm_lanes_product_8(const cm_lanes *lanes, const uint32_t a[4], const uint32_t b[2],
                                                 int32_t sum[4]) {
    (void)lanes;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
static __device__ inline void cm_lanes_product_8(const cm_lanes *lanes, const uint32_t a[4], const uint32_t b[2],
                                                 int32_t sum[4]) {
    const int row = lanes->index / 4 * 4, column = lanes->index % 4 * 8;
    CM_ROLL(q, 4) {
        CM_UNROLL(half, 2) {
            const int low = (int)__shfl_sync(0xffffffffu, a[2 * half], row + q);
            const int high = (int)__shfl_sync(0xffffffffu, a[2 * half + 1], row + q);
            const int one = (int)__shfl_sync(0xffffffffu, b[half], column + q);
            const int next = (int)__shfl_sync(0xffffffffu, b[half], column + 4 + q);
            sum[0] = __dp4a(low, one, sum[0]);
            sum[1] = __dp4a(low, next, sum[1]);
            sum[2] = __dp4a(high, one, sum[2]);
            sum[3] = __dp4a(high, next, sum[3]);
        }
    }
}
#endif

/* Asynchronous copies, from compute capability 8.0 on. */
static __device__ inline void cm_lanes_send(const cm_lanes *lanes, void *to, const void *from) {
    (void)lanes;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
#else
    *(uint4 *)to = *(const uint4 *)from;
#endif
}

static __device__ inline void cm_lanes_wait(const cm_lanes *lanes) {
    (void)lanes;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* ---- launches that begin early ----
 *
 * From compute capability 9.0 on a launch may begin before that ahead of it in its stream has ended (programmatic
 * dependent launch). Each thread of such a one waits, ahead of all else, for the end of all that is ahead, and for its
 * writes. Then it lets the next one begin, which waits in its turn. So what is computed is what launches one after the
 * other compute, and what it takes to begin one is done while another runs. */
static __device__ inline void cm_kernel_begin() {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Does a kernel wait? Code for an older architecture does not, which a driver may have compiled for a newer one. A
 * graph holds such launches from CUDA 12.3 on. CUMIND_NO_EARLY_LAUNCH in the environment: none begins early. */
static inline bool cm_may_begin_early(const void *kernel) {
    enum : int { VERSION = 12030, ARCHITECTURE = 90 };
    cudaFuncAttributes attributes;
    int version = 0;
    if (getenv("CUMIND_NO_EARLY_LAUNCH")) return false;
    if (cudaDriverGetVersion(&version) == cudaSuccess && version >= VERSION &&
        cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess)
        return attributes.ptxVersion >= ARCHITECTURE;
    (void)cudaGetLastError(); /* or the next launch would say it */
    return false;
}

/* The same on the device that the calling thread is on. */
static inline bool cm_begins_early(const void *kernel, cm_known *early) {
    int device = 0;
    return cudaGetDevice(&device) == cudaSuccess && cm_known_on(early, device, cm_may_begin_early, kernel);
}

/* 0, or a cudaError_t. */
template <typename... Taken, typename... Given>
static inline int cm_launch(void (*kernel)(Taken...), cm_known *early, unsigned blocks, size_t bytes, void *queue,
                            const Given &...given) {
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = blocks;
    config.blockDim = CM_BLOCK;
    config.dynamicSmemBytes = bytes;
    config.stream = (cudaStream_t)queue;
    config.attrs = &attribute;
    config.numAttrs = cm_begins_early((const void *)kernel, early) ? 1 : 0;
    const cudaError_t result = cudaLaunchKernelEx(&config, kernel, given...);
    (void)cudaGetLastError();
    return (int)result;
}

/* 1 << shift lanes per item: a division by a number that is not known would cost more than many a kernel's body. */
template <typename Args, void (*body)(const Args *, int64_t, const cm_lanes *)>
static __global__ void __launch_bounds__(CM_BLOCK)
    cm_kernel_of(const __grid_constant__ Args args, int64_t items, int shift) {
    cm_kernel_begin();
    int64_t thread = (int64_t)blockIdx.x * CM_BLOCK + threadIdx.x, item = thread >> shift;
    if (item >= items) return;
    cm_lanes lanes = {(int)(thread & ((1 << shift) - 1)), 1 << shift, nullptr, nullptr};
    body(&args, item, &lanes);
}

static inline int cm_lanes_shift(int lanes) {
    int shift = 0;
    while (1 << shift < lanes) shift++;
    return shift;
}

#define CM_LAUNCHER(name, args)                                                                                        \
    extern "C" int name##_launch(const args *a, int64_t items, int lanes, void *queue) {                               \
        static cm_known early;                                                                                         \
        if (items <= 0) return 0;                                                                                      \
        const unsigned blocks = (unsigned)((items * lanes + CM_BLOCK - 1) / CM_BLOCK);                                 \
        return cm_launch(cm_kernel_of<args, name>, &early, blocks, 0, queue, *a, items, cm_lanes_shift(lanes));        \
    }

/* An item is a block, whose memory begins with the `used` bytes of the arguments: a kernel that looks at them by
 * numbers which it gets to know as it runs would wait for each cache line of the constants. */
extern __shared__ uint4 cm_block_memory[];

/* `shares`: so many blocks can be on a multiprocessor at a time, which bounds the registers of a lane. */
template <typename Args, void (*body)(const Args *, int64_t, const cm_lanes *), int shares>
static __global__ void __launch_bounds__(CM_BLOCK, shares) cm_kernel_of_blocks(const __grid_constant__ Args args) {
    static_assert(alignof(Args) == sizeof(uint4), "arguments are copied 16 bytes at a time");
    cm_kernel_begin();
    const uint4 *from = (const uint4 *)&args;
    asm("" : "+l"(from)); /* by any address, not as constants, of which the lanes of a warp read one at a time */
    for (int first = 0; first < (int)(sizeof(Args) / sizeof(uint4)); first += CM_BLOCK) {
        const int i = first + (int)threadIdx.x;
        if (i < (int)(args.used / sizeof(uint4))) cm_block_memory[i] = from[i];
    }
    __syncthreads();
    cm_lanes lanes = {(int)threadIdx.x, CM_BLOCK, nullptr, (float *)(cm_block_memory + args.used / sizeof(uint4))};
    body((const Args *)cm_block_memory, blockIdx.x, &lanes);
}

/* Lets a kernel of blocks have all the memory that a block of the device can, but CM_BLOCK_KEPT: any thread may say so
 * at any time. Returns 0 or a cudaError_t. */
static inline int cm_allow_memory(const void *kernel) {
    int device = 0, bytes = 0, result = (int)cudaGetDevice(&device);
    if (result == 0) result = (int)cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (result != 0) return result;
    result = (int)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes - CM_BLOCK_KEPT);
    if (result != 0) (void)cudaGetLastError(); /* or the next launch would say it */
    return result;
}

/* Of arguments that say in `used` how many bytes of them matter, a multiple of 16, and in `memory` how many bytes the
 * lanes of an item share. */
#define CM_BLOCK_LAUNCHER(name, args, shares)                                                                          \
    extern "C" int name##_launch(const args *a, int64_t items, int lanes, void *queue) {                               \
        (void)lanes;                                                                                                   \
        if (items <= 0) return 0;                                                                                      \
        static cm_known early;                                                                                         \
        const int result = cm_allow_memory((const void *)cm_kernel_of_blocks<args, name, shares>);                     \
        if (result != 0) return result;                                                                                \
        return cm_launch(cm_kernel_of_blocks<args, name, shares>, &early, (unsigned)items, a->used + a->memory, queue, \
                         *a);                                                                                          \
    }

/* The same where arguments are read as constants: all lanes look at the same ones at a time. One block is on a
 * multiprocessor, whose lanes have all its registers. */
template <typename Args, void (*body)(const Args *, int64_t, const cm_lanes *)>
static __global__ void __launch_bounds__(CM_BLOCK, 1) cm_kernel_of_wide_blocks(const __grid_constant__ Args args) {
    cm_kernel_begin();
    const cm_lanes lanes = {(int)threadIdx.x, CM_BLOCK, nullptr, (float *)cm_block_memory};
    body(&args, blockIdx.x, &lanes);
}

#define CM_WIDE_BLOCK_LAUNCHER(name, args)                                                                             \
    extern "C" int name##_launch(const args *a, int64_t items, int lanes, void *queue) {                               \
        (void)lanes;                                                                                                   \
        if (items <= 0) return 0;                                                                                      \
        static cm_known early;                                                                                         \
        const int result = cm_allow_memory((const void *)cm_kernel_of_wide_blocks<args, name>);                        \
        if (result != 0) return result;                                                                                \
        return cm_launch(cm_kernel_of_wide_blocks<args, name>, &early, (unsigned)items, a->memory, queue, *a);         \
    }

#endif
