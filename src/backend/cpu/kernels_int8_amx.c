/* Products in 8 bits with AMX, and with AVX-512 VNNI where tiles do not fit. */
#include "backend/cpu/int8_zmm_vnni.inc"

/* The compiler's macros want tiles as literals, and do not tell it what they read: hence the barriers. */
#define tiles_read(p) __asm__ volatile("" : : "r"(p) : "memory")
#define tiles_configure(shapes)                                                                                        \
    (__extension__({                                                                                                   \
        tiles_read(shapes);                                                                                            \
        _tile_loadconfig(shapes);                                                                                      \
    }))
#define tiles_release() _tile_release()
#define tile_zero(t)    _tile_zero(t)
#define tile_load(t, from, stride)                                                                                     \
    (__extension__({                                                                                                   \
        tiles_read(from);                                                                                              \
        _tile_loadd(t, from, stride);                                                                                  \
    }))
#define tile_store(t, to, stride) _tile_stored(t, to, stride)
#define tile_dot(sums, a, b)      _tile_dpbusd(sums, a, b)

static inline void tile_row(uint32_t *to, const uint32_t *from, int words) {
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi32((__mmask16)((1u << words) - 1u), from));
}

#include "backend/cpu/int8_amx.inc"

const cm_int8_kernels cm_int8_amx = {
    .name = "AMX", .numbers = 4, .zero = 0x80808080u, .rows = int8_rows, .gemm = int8_amx_gemm};
