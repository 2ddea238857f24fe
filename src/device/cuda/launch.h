/* Entry points of kernels: declared by the header that has the kernel, defined by CM_LAUNCHER of its .cu file (and by
 * the tests, which run the same kernel on the CPU). */
#ifndef CM_DEVICE_CUDA_LAUNCH_H
#define CM_DEVICE_CUDA_LAUNCH_H

#include <stdint.h>

/* The arguments of a kernel are at most so many bytes. */
enum { CM_LAUNCH_BYTES = 32764 };

/* int name_launch(args, items, lanes, queue): runs the kernel `name` on `items` items with `lanes` lanes each, in order
 * behind what the queue (a cudaStream_t) holds. Returns 0 or a cudaError_t; does not wait. */
#ifdef __cplusplus
#define CM_KERNEL_ENTRY(name, args) extern "C" int name##_launch(const args *a, int64_t items, int lanes, void *queue);
#else
#define CM_KERNEL_ENTRY(name, args) int name##_launch(const args *a, int64_t items, int lanes, void *queue);
#endif

#endif
