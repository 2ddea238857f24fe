/* How a kernel of lanes.h runs on a GPU. A .cu file includes the header of its kernels and this one, and says
 *
 *     CM_LAUNCHER(cm_softmax_rows, cm_softmax_args)
 *
 * for each: it defines the entry point that the header declares with CM_KERNEL_ENTRY. */
#ifndef CM_DEVICE_CUDA_KERNEL_CUH
#define CM_DEVICE_CUDA_KERNEL_CUH

#include "device/cuda/lanes.h"
#include "device/cuda/launch.h"

/* The lanes of an item are neighbours in a warp, or a whole block. */
static __device__ inline unsigned cm_lanes_mask(int count) {
    if (count >= CM_WARP) return 0xffffffffu;
    return ((1u << count) - 1u) << (threadIdx.x % CM_WARP & ~(unsigned)(count - 1));
}

/* Lanes of one warp meet, which shuffles alone do not do: they order no memory. Returns the mask for them. */
static __device__ inline unsigned cm_lanes_gather(const cm_lanes *lanes) {
    unsigned mask = cm_lanes_mask(lanes->count);
    __syncwarp(mask);
    return mask;
}

/* Every thread of the block gets value of each warp's lane 0 in shared memory. */
template <typename T> static __device__ inline const T *cm_lanes_share(T value) {
    __shared__ T warp[CM_BLOCK / CM_WARP];
    __syncthreads(); /* the last meeting has been read */
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

static __device__ inline void cm_lanes_meet(const cm_lanes *lanes) {
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

/* 1 << shift lanes per item: a division by a number that is not known would cost more than many a kernel's body. */
template <typename Args, void (*body)(const Args *, int64_t, const cm_lanes *)>
static __global__ void __launch_bounds__(CM_BLOCK)
    cm_kernel_of(const __grid_constant__ Args args, int64_t items, int shift) {
    int64_t thread = (int64_t)blockIdx.x * CM_BLOCK + threadIdx.x, item = thread >> shift;
    if (item >= items) return;
    cm_lanes lanes = {(int)(thread & ((1 << shift) - 1)), 1 << shift, nullptr};
    body(&args, item, &lanes);
}

static inline int cm_lanes_shift(int lanes) {
    int shift = 0;
    while (1 << shift < lanes) shift++;
    return shift;
}

/* 0, or a cudaError_t. */
#define CM_LAUNCHER(name, args)                                                                                        \
    extern "C" int name##_launch(const args *a, int64_t items, int lanes, void *queue) {                               \
        if (items <= 0) return 0;                                                                                      \
        unsigned blocks = (unsigned)((items * lanes + CM_BLOCK - 1) / CM_BLOCK);                                       \
        cm_kernel_of<args, name><<<blocks, CM_BLOCK, 0, (cudaStream_t)queue>>>(*a, items, cm_lanes_shift(lanes));      \
        return (int)cudaGetLastError();                                                                                \
    }

#endif
