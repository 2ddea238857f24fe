/* Products in 8 bits with AVX-512 VNNI. */
#include "backend/cpu/int8_zmm_vnni.inc"

const cm_int8_kernels cm_int8_avx512vnni = {.name = "AVX-512 VNNI",
                                            .numbers = 4,
                                            .zero = 0x80808080u,
                                            .rows = int8_rows,
                                            .gemm = int8_gemm,
                                            .pairs = &cm_int8_pairs_avx512vnni};
