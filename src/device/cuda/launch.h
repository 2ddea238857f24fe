/* Entry points of kernels. The header that has kernels lists them once, X(name, args) of each: from this list the
 * header declares the entry points by CM_KERNEL_ENTRY, its .cu file defines them by CM_LAUNCHER (kernel.cuh), and the
 * tests, which run the same kernels on the CPU, by a macro of theirs. */
#ifndef CM_DEVICE_CUDA_LAUNCH_H
#define CM_DEVICE_CUDA_LAUNCH_H

#include <stdint.h>

/* The arguments of a kernel are at most so many bytes. */
enum { CM_LAUNCH_BYTES = 32764 };

/* int name_launch(args, items, lanes, queue): runs the kernel `name` on `items` items with `lanes` lanes each, in order
 * after what the queue (a cudaStream_t) holds. Returns 0 or a cudaError_t; does not wait. */
#ifdef __cplusplus
#define CM_KERNEL_ENTRY(name, args) extern "C" int name##_launch(const args *a, int64_t items, int lanes, void *queue);
#else
#define CM_KERNEL_ENTRY(name, args) int name##_launch(const args *a, int64_t items, int lanes, void *queue);
#endif

#endif
