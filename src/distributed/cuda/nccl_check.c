/* The numbers and types that distributed/nccl.h has without NCCL's header are NCCL's; where the toolkit has none
 * nothing is checked. */
#include "distributed/nccl.h"

#if __has_include(<nccl.h>)
#include <nccl.h>

_Static_assert((int)CM_NCCL_UINT8 == (int)ncclUint8, "bytes");
_Static_assert((int)CM_NCCL_FLOAT32 == (int)ncclFloat32, "floats");
_Static_assert((int)CM_NCCL_SUM == (int)ncclSum, "sums");
_Static_assert((int)ncclSuccess == 0, "success");
_Static_assert(sizeof(cm_nccl_id) == sizeof(ncclUniqueId), "the id, which goes by value");
_Static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int), "enumerations");
_Static_assert(sizeof(ncclRedOp_t) == sizeof(int), "enumerations");

/* Each function is what the table calls it as, but for enumerations in the place of int. */
#define SAME(function, ...) _Static_assert(__builtin_types_compatible_p(__typeof__(&function), __VA_ARGS__), #function)

SAME(ncclGetVersion, ncclResult_t (*)(int *));
SAME(ncclGetErrorString, const char *(*)(ncclResult_t));
SAME(ncclGetLastError, const char *(*)(cm_nccl_ranks));
SAME(ncclGetUniqueId, ncclResult_t (*)(ncclUniqueId *));
SAME(ncclCommInitRank, ncclResult_t (*)(cm_nccl_ranks *, int, ncclUniqueId, int));
SAME(ncclAllReduce,
     ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, cm_nccl_ranks, cudaStream_t));
SAME(ncclAllGather, ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, cm_nccl_ranks, cudaStream_t));
SAME(ncclCommGetAsyncError, ncclResult_t (*)(cm_nccl_ranks, ncclResult_t *));
SAME(ncclCommDestroy, ncclResult_t (*)(cm_nccl_ranks));
SAME(ncclCommAbort, ncclResult_t (*)(cm_nccl_ranks));
#endif
