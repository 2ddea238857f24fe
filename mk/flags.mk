# Compiler and linker flags, and the stamp that rebuilds everything when they change.
CFLAGS ?= -O3 -g
# Constants are enums, also where floats are computed with them.
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-enum-float-conversion $(if $(filter 1,$(WERROR)),-Werror)

# The whole program is compiled without contraction of a*b+c, so that every compiler and host gives the same bits.
# no code reads errno and trap flags; without them loops become vectors, with the same values.
# One set of objects for the programs and the shared library: its functions call each other directly.
PIC_FLAGS := -fPIC -fno-semantic-interposition
BASE_FLAGS := -std=c17 -D_GNU_SOURCE -Iinclude -Isrc $(PIC_FLAGS) -march=$(ARCH) -ffp-contract=off -fno-math-errno -fno-trapping-math $(WARN)

# KERNEL_FLAGS: of the arithmetic alone, kernels and reference, after CFLAGS; TILE_FLAGS: of what computes with vectors alone,
# the kernels and the steps of the search.
# Own SIMD code stands in files named after its instruction set; which one runs is chosen at run time.
SIMD_FLAGS = $(if $(filter %_avx2.c,$1),-mavx2 -mfma) \
             $(if $(filter %_avx512.c,$1),-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma) \
             $(if $(filter %_avx512bf16.c,$1),-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16 -mavx2 -mfma) \
             $(if $(filter %_avxvnni.c,$1),-mavx2 -mfma -mavxvnni) \
             $(if $(filter %_avx512vnni.c,$1),-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx2 -mfma) \
             $(if $(filter %_amx.c,$1),-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mamx-tile -mamx-int8 -mavx2 -mfma) \
             $(if $(filter src/core/%_avx512.c,$1),-mprefer-vector-width=512) \
             $(if $(findstring /kernels_,$1)$(filter src/backend/ref/%,$1),$(KERNEL_FLAGS)) $(if $(findstring /kernels_,$1)$(filter %_avx2.c,$1),$(TILE_FLAGS)) \
             $(if $(filter src/cli/% src/serve/% src/run/% src/export/% src/sweep/% src/config/%,$1),$(SMALL_FLAGS))

# SMALL_FLAGS: of what works once, or once an iteration, after CFLAGS: a fifth less of it to compile and to download.
SMALL_FLAGS ?= $(if $(filter -O3,$(CFLAGS)),-Os)
# TEST_FLAGS: of tests/*/test_*.c, after CFLAGS. They call what is optimized, and are compiled once for a run of a second.
TEST_FLAGS ?= $(if $(filter -O3,$(CFLAGS)),-O1)

comma := ,
DNNL_CFLAGS := $(if $(DNNL_ROOT),-isystem $(abspath $(DNNL_ROOT))/include)
DNNL_LIBS := $(if $(DNNL_ROOT),-L$(abspath $(DNNL_ROOT))/lib -Wl$(comma)-rpath$(comma)$(abspath $(DNNL_ROOT))/lib) -ldnnl
LIBS := $(DNNL_LIBS) -lcjson -lgif -lzstd -lxxhash -lmd -lgomp -lpthread -ldl -lm
# Of cumind serve alone: the program's, not the library's. DYGRAPHS=DIR: where its files are.
EVENT_LIBS ?= -levent_core
DYGRAPHS ?= /usr/share/javascript/dygraphs
TEST_LIBS := -lcheck -lsubunit -lrt -lm

# Tests are many programs: lld, where it is, links each in a third of the time.
TEST_LINK := $(shell $(CC) -fuse-ld=lld -Wl,--version >/dev/null 2>&1 && echo -fuse-ld=lld)

# A program for newer processors than every one of its architecture says so in its file: on an older one the dynamic linker ends
# it in one line, and Python's error is that line.
ISA_NEEDED := $(if $(filter x86-64-v%,$(ARCH)),-Wl$(comma)-z$(comma)$(ARCH))

# Modules (mk/cuda.mk) find the program's functions in the program.
EXPORT := -Wl$(comma)--export-dynamic

ALL_CFLAGS = $(BASE_FLAGS) $(DNNL_CFLAGS) $(CFLAGS)

ifeq ($(V),1)
Q :=
say :=
else
Q := @
say = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-5s %s\n' $1 '$2')
endif

# $(call stamp,FILE,TEXT): a recipe that writes TEXT into FILE only if it differs from what is there.
define stamp
$(shell mkdir -p $(@D))$(file >$1.new,$2)
@if cmp -s $1.new $1; then rm -f $1.new; else mv $1.new $1; fi
endef
