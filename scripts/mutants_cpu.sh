#!/usr/bin/env bash
# Mutation test of kernels for CPUs: changes one sign, bound or count at a time in a copy of the products in 8 bits and of the von
# Mises draws, and expects tests/backend/cpu/test_cpu_int8.c or tests/core/test_von_mises.c to fail. Run by `make mutants-cpu`,
# which gives FLAGS, TEST_FLAGS, those of instruction sets, INT8_OBJECTS, ANGLES_OBJECTS (all of the tests but what is changed) and
# LIBS; takes some minutes. The test of the products has words of bytes and the tiles of AMX in plain C, so it is compiled again.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/mutants_loop.sh
. scripts/mutants_loop.sh

CC=${CC:-gcc}
SOURCE=src
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

mutants() {
    cat <<'END'
backend/cpu/gemm_int8.inc|k = g->tap[t], end = k + g->depth|k = 0, end = k + g->depth
backend/cpu/gemm_int8.inc|a[r] = g->a + g->row[i + r]|a[r] = g->a + g->row[i]
backend/cpu/gemm_int8.inc|(size_t)(j / CM_GEMM_PANEL) * g->b_panel, *a|(size_t)0 * g->b_panel, *a
backend/cpu/gemm_int8.inc|v % INT8_VECTORS * VL)|0)
backend/cpu/gemm_int8.inc|vi_set(a[r][k])|vi_set(a[0][k])
backend/cpu/gemm_int8.inc|(size_t)r * stride + v * VL|(size_t)r * stride
backend/cpu/gemm_int8.inc|t < g->taps; t++|t + 1 < g->taps; t++
backend/cpu/gemm_int8.inc|k < end; k++|k + 1 < end; k++
backend/cpu/int8_amx.inc|words * (int)sizeof(uint32_t) : AMX_LINE|2 * words : AMX_LINE
backend/cpu/int8_amx.inc|t < 6 ? AMX_SIDE : words|AMX_SIDE
backend/cpu/int8_amx.inc|i + k < g->m ? i + k : g->m - 1|i + k
backend/cpu/int8_amx.inc|!= r->step) r->step = 0|!= r->step) r->step = r->step
backend/cpu/int8_amx.inc|r->row[k] + at, words|r->row[k], words
backend/cpu/int8_amx.inc|return r->row[0] + at|return r->row[0]
backend/cpu/int8_amx.inc|amx_find(&bottom, g, i + AMX_SIDE)|amx_find(&bottom, g, i)
backend/cpu/int8_amx.inc|tile_load(7, b + g->b_panel|tile_load(7, b
backend/cpu/int8_amx.inc|k += words, b +=|k += words, b += 0 *
backend/cpu/int8_amx.inc|tile_dot(3, 5, 7)|tile_dot(3, 4, 7)
backend/cpu/int8_amx.inc|tile_store(2, sums + AMX_SIDE * AMX_BLOCK|tile_store(2, sums
backend/cpu/int8_amx.inc|tile_zero(3);|
backend/cpu/int8.c|*sum += number|*sum -= number
backend/cpu/int8.c|bits == 8 ? 0xffu : 0xffffu|0xffffu
backend/cpu/int8.c|<< (bits * i)|<< (bits * i / 2)
backend/cpu/int8.c|128 * sum|127 * sum
backend/cpu/int8.c|(size_t)(o / CM_GEMM_PANEL) * panel_words(l)|(size_t)0 * panel_words(l)
backend/cpu/int8.c|words + o % CM_GEMM_PANEL|words
backend/cpu/int8.c|k * l->numbers, inverse|k, inverse
backend/cpu/int8.c|p->stride * (i / columns * line|(i / columns * line
backend/cpu/int8.c|t / k * line + t % k * words|t % k * line + t / k * words
backend/cpu/int8.c|shift[j] = offset[j] - mean[j] * factor|shift[j] = offset[j] + mean[j] * factor
backend/cpu/int8.c|scale[j] *= factor;|
backend/cpu/int8.c|steps[j] * step|steps[j]
backend/cpu/int8.c|(l + p->pad) * (size_t)width + (size_t)p->pad|(l + p->pad) * (size_t)width
backend/cpu/int8.c|if (g.residual) g.residual += result;|
backend/cpu/int8.c|words[i] = p->kernels->zero|words[i] = 1
backend/cpu/int8.c|p->step % p->layout.numbers == 0;|true;
backend/cpu/int8.c|x += image, g.c += result|g.c += result
backend/cpu/int8_winograd.inc|2 * (d[0] - d[2]) + even|2 * (d[0] - d[2]) - even
backend/cpu/int8_winograd.inc|even - d[2] - d[1]|even - d[2] + d[1]
backend/cpu/int8_winograd.inc|d[3] - d[2] + 2 * twice|d[3] - d[2] + twice
backend/cpu/int8_winograd.inc|d[4] - d[2] - 2 * even|d[4] - d[2] + 2 * even
backend/cpu/int8_winograd.inc|far = d[4] - 4 * d[2]|far = d[4] - 2 * d[2]
backend/cpu/int8_winograd.inc|far_odd = d[3] - 4 * d[1]|far_odd = d[3] - 2 * d[1]
backend/cpu/int8_winograd.inc|4 * (d[0] - d[2]) + near|4 * (d[0] - d[2]) - near
backend/cpu/int8_winograd.inc|y[2 * to] = far - far_odd|y[2 * to] = far + far_odd
backend/cpu/int8_winograd.inc|near - 2 * near_odd|near - near_odd
backend/cpu/int8_winograd.inc|d[5] - d[3] - 4 * near_odd|d[5] - d[3] - 2 * near_odd
backend/cpu/int8_winograd.inc|column[r] = vs_load(d + (size_t)r * line + (size_t)q * (size_t)channels)|column[r] = vs_load(d + (size_t)r * line)
backend/cpu/int8_winograd.inc|m[0] + near + m[3]|m[0] - near + m[3]
backend/cpu/int8_winograd.inc|near_odd + 2 * m[3]|near_odd + m[3]
backend/cpu/int8_winograd.inc|near + 4 * m[3] + m[4]|near + 4 * m[3] - m[4]
backend/cpu/int8_winograd.inc|m[0] + near + far|m[0] + near - far
backend/cpu/int8_winograd.inc|near_odd + 2 * far_odd|near_odd + far_odd
backend/cpu/int8_winograd.inc|near + 4 * far;|near + 2 * far;
backend/cpu/int8_winograd.inc|2 * (4 * far_odd + m[5])|2 * (2 * far_odd + m[5])
backend/cpu/int8_winograd.inc|far_odd + m[5])|far_odd + 2 * m[5])
backend/cpu/int8_winograd.c|at[k] * (g[from] + at[k] * g|at[k] * (g[from] + g
backend/cpu/int8_winograd.c|{3, -3, -1, 1, 6}|{3, -3, 1, 1, 6}
backend/cpu/int8_winograd.c|{6, -4, -4, 1, 1, 12}|{6, -4, -4, 1, 1, 24}
backend/cpu/int8_winograd.c|side == 3 ? three : four|four
backend/cpu/int8_winograd.inc|sum * 954437177u|sum * 954437176u
backend/cpu/int8_winograd.inc|1 << cm_int8_bits(down, across)|1 << 2
backend/cpu/int8_winograd.inc|if (row < 0) continue;|
backend/cpu/int8_kernels.h|(across == 3 ? 1 : 3)|(across == 3 ? 1 : 2)
backend/cpu/int8_winograd.c|{0, 1, -1, 2, -2}|{0, 1, -1, 2, 2}
backend/cpu/int8_winograd.c|top + k / tile->across|top + k / tile->down
backend/cpu/int8_winograd.c|(size_t)(c / 2) * CM_GEMM_PANEL|(size_t)0 * CM_GEMM_PANEL
backend/cpu/int8_winograd.c|(size_t)top * p->line + (size_t)left|(size_t)top * p->line + (size_t)top
backend/cpu/int8_winograd.c|p->group[i].tile, o.weight|p->group[0].tile, o.weight
backend/cpu/int8_winograd.c|greater(elements, elements_of(p->group[i].tile))|elements_of(p->group[0].tile)
backend/cpu/int8_winograd.c|packs[group - p->group]|packs[0]
backend/cpu/int8_winograd.c|g.m = images * group->count|g.m = group->count
backend/cpu/int8_winograd.c|image + (size_t)i * p->image);|image);
backend/cpu/int8_winograd.c|g.c += (size_t)images * result;|g.c += result;
backend/cpu/int8_winograd.c|if (g.residual) g.residual += (size_t)images * result;|
backend/cpu/int8_winograd.c|weight->dim[0] < least |weight->dim[3] < least
backend/cpu/int8_winograd.c|LEAST_OF_BYTES = 32|LEAST_OF_BYTES = 33
backend/cpu/int8_board.c|(31 - bits)) / LARGEST|(32 - bits)) / LARGEST
backend/cpu/int8_board.c|board->across.fours > 0 ? 4 : 3|board->down.fours > 0 ? 4 : 3
backend/cpu/int8_board.c|4 * fours < places + 4|4 * fours < places
backend/cpu/int8_board.c|left > 0 ? (left + 2) / 3 : 0|(left + 2) / 3 + 1
backend/cpu/int8_board.c|4 * side.fours + 3 * i|3 * i
backend/cpu/int8_board.c|4 * side.fours + 3 * side.threes|4 * side.fours
backend/cpu/int8_winograd.c|h < p->height && w < p->width ?|h < p->height ?
core/von_mises_words.inc|(p1 >> 32) ^ c[1][g] ^ k0|(p0 >> 32) ^ c[1][g] ^ k0
core/von_mises_words.inc|key.word[1] += CM_PHILOX_KEY_1|key.word[1] += CM_PHILOX_KEY_0
core/von_mises_words.inc|step >> 32|wide_all(0)
core/von_mises_words.inc|&word[3 - w][k]|&word[w][k]
core/von_mises.inc|(1 + twice * twice) + twice)|(1 + twice * twice) - twice)
core/von_mises.inc|v.high = v.low + twice|v.high = v.low + kappa
core/von_mises.inc|CM_MATH(sqrt)(v.low / v.high)|(v.low / v.high)
core/von_mises.inc|(c - s) * (c + s)|(c - s) * (c - s)
core/von_mises.inc|*sine = 2 * s * c|*sine = s * c
core/von_mises.inc|low + (high - low) * cosine|low - (high - low) * cosine
core/von_mises.inc|<= y * CM_NAME(cm_short_exp)(1 - y)|<= CM_NAME(cm_short_exp)(1 - y)
core/von_mises.inc|<= y * CM_NAME(cm_short_exp)(1 - y)|<= y
core/von_mises.inc|is_steep = cosine < across|is_steep = cosine > across
core/von_mises.inc|is_wide ? small - large : small|is_wide ? large - small : small
core/von_mises.inc|is_wide ? large + small : large|large
core/von_mises.inc|1.57079632679489661923 - angle|1.57079632679489661923 + angle
core/von_mises.inc|return sine < 0 ? -size : size|return size
core/von_mises.inc|CM_MATH(sin)(mu), CM_MATH(cos)(mu)|CM_MATH(cos)(mu), CM_MATH(sin)(mu)
core/von_mises.inc|x < -pi ? (x + turn)|x < -pi ? (x - turn)
END
    # Survivors on other processors.
    grep -qw avx512_vnni /proc/cpuinfo && cat <<'END'
backend/cpu/kernels_int8_pairs_avx512vnni.c|(__m512i)acc, (__m512i)a, (__m512i)b|(__m512i)acc, (__m512i)a, (__m512i)a
backend/cpu/kernels_int8_pairs_avx512vnni.c|_mm512_dpwssd_epi32|_mm512_dpwssds_epi32
backend/cpu/int8_zmm_pairs.inc|(columns - k + 1) / 2|(columns - k) / 2
backend/cpu/int8_zmm_pairs.inc|vf_load(x + k)|vf_load(x)
END
    return 0
}

INT8=(int8 int8_board int8_winograd kernels_int8_base)
ANGLES=(von_mises von_mises_base)
if [ "$(uname -m)" = x86_64 ]; then
    INT8+=(kernels_int8_avx2 kernels_int8_avx512 kernels_int8_avx512vnni kernels_int8_avxvnni kernels_int8_amx)
    INT8+=(kernels_int8_pairs_avx512vnni kernels_int8_pairs_avxvnni)
    ANGLES+=(von_mises_avx2 von_mises_avx512)
fi

restore() {
    cp --parents src/backend/int8.h src/backend/cpu/*int8*.{c,h,inc} src/core/von_mises*.{c,h,inc} "$WORK"
}

flags_of() {
    case $1 in
    *_amx) echo "$FLAGS_AMX" ;;
    *_avx512vnni) echo "$FLAGS_AVX512VNNI" ;;
    *_avxvnni) echo "$FLAGS_AVXVNNI" ;;
    *_avx512) echo "$FLAGS_AVX512" ;;
    *_avx2) echo "$FLAGS_AVX2" ;;
    esac
}

# compile FOLDER NAME...: the sources of that folder
compile() {
    local folder=$1 name
    shift
    for name in "$@"; do
        # shellcheck disable=SC2046,SC2086  # flags are a list
        "$CC" -I"$WORK/src" $FLAGS $(flags_of "$name") -O1 -w -c "$WORK/src/$folder/$name.c" -o "$WORK/$name.o" || return 1
    done
}

objects() { printf "$WORK/%s.o " "$@"; }

# All that is of the products, or of the draws: a mutant of the other one changes nothing there.
build() {
    changed=${1:-}
    # shellcheck disable=SC2046,SC2086  # objects are lists
    if [[ $changed != core/* ]]; then
        compile backend/cpu "${INT8[@]}" && "$CC" -I"$WORK/src" -Itests $FLAGS $TEST_FLAGS -O1 -w -c \
            tests/backend/cpu/test_cpu_int8.c -o "$WORK/test.o" &&
            "$CC" "$WORK/test.o" $(objects "${INT8[@]}") $INT8_OBJECTS $LIBS -o "$WORK/int8" || return 1
    fi
    # shellcheck disable=SC2046,SC2086
    if [[ $changed != backend/* ]]; then
        compile core "${ANGLES[@]}" && "$CC" $(objects "${ANGLES[@]}") $ANGLES_OBJECTS $LIBS -o "$WORK/angles" || return 1
    fi
}

is_killed() {
    if [[ $changed != core/* ]]; then
        by=cpu_int8
        timeout 100 "$WORK/int8" >/dev/null 2>&1 || return 0
    fi
    if [[ $changed != backend/* ]]; then
        by=von_mises
        timeout 100 "$WORK/angles" >/dev/null 2>&1 || return 0
    fi
    return 1
}

# shellcheck disable=SC2016  # the words in backquotes are text
run_mutants "${1:-}" "${BUILD:-build}/mutants-cpu.md" '# Mutants of kernels for CPUs

What `make mutants-cpu` writes: each line is one change of a sign, a bound or a count in the products in 8 bits or the von Mises
draws, and the test that fails with it. KILLED are killed, SURVIVED survive.'
