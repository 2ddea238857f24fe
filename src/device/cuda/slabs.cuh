/* Products of slabs (slabs.h) where tensor cores read shared memory by themselves: code for compute capability 9.0
 * alone (sm_90a). A .cu file includes this one before the header of its kernels. */
#ifndef CM_DEVICE_CUDA_SLABS_CUH
#define CM_DEVICE_CUDA_SLABS_CUH

#include "device/cuda/kernel.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define CM_SLABS_ARE_READ
#endif
#include "device/cuda/slabs.h"

#ifdef CM_SLABS_ARE_READ

static __device__ __forceinline__ void cm_slabs_publish(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* What a compiler has in registers of the sums is what the products leave there. */
static __device__ __forceinline__ void cm_slabs_wait(int ahead, int n, float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    if (ahead > 0) {
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); /* at most */
        return;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    CM_UNROLL(t, CM_SLAB_TILES)
    CM_UNROLL(i, n / 2) asm volatile("" : "+f"(sum[t][i])::"memory");
}

/* How a slab lies (PTX, "matrix descriptor", no swizzle, K-major), in units of 16 bytes: where it begins and from eight
 * columns to the next, which are a descriptor's low half; from eight rows to the next in its high half. Rows and pieces
 * further on are so many units more. */
static __device__ __forceinline__ uint32_t cm_slab_place(const cm_slab *slab) {
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(slab->first);
    return (at & 0x3ffffu) >> 4 | (uint32_t)(slab->pitch / CM_SLAB_PIECE) << 16;
}

/* Operands: eight sums from number o on. */
#define CM_SLAB_EIGHT(sum, o)                                                                                          \
    "+f"((sum)[(o) + 0]), "+f"((sum)[(o) + 1]), "+f"((sum)[(o) + 2]), "+f"((sum)[(o) + 3]), "+f"((sum)[(o) + 4]),      \
        "+f"((sum)[(o) + 5]), "+f"((sum)[(o) + 6]), "+f"((sum)[(o) + 7])
#define CM_SLAB_SUMS_16(sum) CM_SLAB_EIGHT(sum, 0), CM_SLAB_EIGHT(sum, 8)
#define CM_SLAB_NAMES_16     "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, da, db"
#define CM_SLAB_PAIR_16      "mov.b64 da, {%16, high}; mov.b64 db, {%17, high};"
#define CM_SLAB_SUMS_24(sum) CM_SLAB_EIGHT(sum, 0), CM_SLAB_EIGHT(sum, 8), CM_SLAB_EIGHT(sum, 16)
#define CM_SLAB_NAMES_24                                                                                               \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23}, da, db"
#define CM_SLAB_PAIR_24 "mov.b64 da, {%24, high}; mov.b64 db, {%25, high};"
#define CM_SLAB_SUMS_32(sum)                                                                                           \
    CM_SLAB_EIGHT(sum, 0), CM_SLAB_EIGHT(sum, 8), CM_SLAB_EIGHT(sum, 16), CM_SLAB_EIGHT(sum, 24)
#define CM_SLAB_NAMES_32                                                                                               \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%" \
    "30,%31}, da, db"
#define CM_SLAB_PAIR_32 "mov.b64 da, {%32, high}; mov.b64 db, {%33, high};"
#define CM_SLAB_SUMS_48(sum)                                                                                           \
    CM_SLAB_EIGHT(sum, 0), CM_SLAB_EIGHT(sum, 8), CM_SLAB_EIGHT(sum, 16), CM_SLAB_EIGHT(sum, 24),                      \
        CM_SLAB_EIGHT(sum, 32), CM_SLAB_EIGHT(sum, 40)
#define CM_SLAB_NAMES_48                                                                                               \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%" \
    "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47}, da, db"
#define CM_SLAB_PAIR_48 "mov.b64 da, {%48, high}; mov.b64 db, {%49, high};"
#define CM_SLAB_SUMS_64(sum)                                                                                           \
    CM_SLAB_EIGHT(sum, 0), CM_SLAB_EIGHT(sum, 8), CM_SLAB_EIGHT(sum, 16), CM_SLAB_EIGHT(sum, 24),                      \
        CM_SLAB_EIGHT(sum, 32), CM_SLAB_EIGHT(sum, 40), CM_SLAB_EIGHT(sum, 48), CM_SLAB_EIGHT(sum, 56)
#define CM_SLAB_NAMES_64                                                                                               \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%" \
    "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%" \
    "58,%59,%60,%61,%62,%63}, da, db"
#define CM_SLAB_PAIR_64 "mov.b64 da, {%64, high}; mov.b64 db, {%65, high};"

/* n rows of b, n / 2 sums of a lane. */
#define CM_SLAB_PRODUCT(n, half, type, sum, a, b)                                                                      \
    asm volatile("{ .reg .pred add; .reg .b32 high; .reg .b64 da, db; setp.eq.u32 add, 0, 0; mov.b32 high, "           \
                 "8; " CM_SLAB_PAIR_##half " wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type            \
                                           " " CM_SLAB_NAMES_##half ", add, 1, 1, 0, 0; }"                             \
                 : CM_SLAB_SUMS_##half(sum)                                                                            \
                 : "r"(a), "r"(b)                                                                                      \
                 : "memory")

/* The widths that there are kernels for. */
static __device__ __forceinline__ void cm_slab_product(bool bfloat, int n, float sum[CM_SLAB_SUMS], uint32_t a,
                                                       uint32_t b) {
#define CM_SLAB_CASE(width, half)                                                                                      \
    if (n == width && bfloat) CM_SLAB_PRODUCT(width, half, "bf16", sum, a, b);                                         \
    if (n == width && !bfloat) CM_SLAB_PRODUCT(width, half, "f16", sum, a, b);
    CM_SLAB_CASE(32, 16)
    CM_SLAB_CASE(48, 24)
    CM_SLAB_CASE(64, 32)
    CM_SLAB_CASE(96, 48)
    CM_SLAB_CASE(128, 64)
#undef CM_SLAB_CASE
}

/* For each set of tiles code of its own without a branch: between products that a branch may leave out a compiler does
 * not know which one is the last, and waits for all. */
template <unsigned tiles>
static __device__ __forceinline__ void cm_slabs_of(bool bfloat, int n, int depth, const cm_slab_set *set,
                                                   float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    const int a_pitch = set->a.pitch / CM_SLAB_PIECE, b_pitch = set->b.pitch / CM_SLAB_PIECE;
    const uint32_t a = cm_slab_place(&set->a) + set->row + set->column / CM_SLAB_PIECE * a_pitch;
    const uint32_t b = cm_slab_place(&set->b);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    CM_UNROLL(k, depth / CM_SLAB_DEPTH) {
        CM_UNROLL(t, CM_SLAB_TILES)
        if (tiles >> t & 1u)
            cm_slab_product(bfloat, n, sum[t], a + 2 * k * a_pitch + t * set->apart, b + 2 * k * b_pitch);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void cm_slabs_multiply(const cm_lanes *lanes, bool bfloat, int n, int depth,
                                                         const cm_slab_set *set,
                                                         float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    (void)lanes;
    switch (set->tiles) {
    case 7: cm_slabs_of<7>(bfloat, n, depth, set, sum); break;
    case 6: cm_slabs_of<6>(bfloat, n, depth, set, sum); break;
    case 4: cm_slabs_of<4>(bfloat, n, depth, set, sum); break;
    case 3: cm_slabs_of<3>(bfloat, n, depth, set, sum); break;
    case 2: cm_slabs_of<2>(bfloat, n, depth, set, sum); break;
    case 1: cm_slabs_of<1>(bfloat, n, depth, set, sum); break;
    default: cm_slabs_of<0>(bfloat, n, depth, set, sum);
    }
}

#endif

#endif
