# Sources -> $(BUILD)/libcumind.a, $(BUILD)/cumind, one test program per tests/*/test_*.c
CFLAGS ?= -O3 -g
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror
ALL_CFLAGS = -DCM_TEST_CASES=\"$(CURDIR)/tests/cases\" -std=c17 -D_GNU_SOURCE -Isrc -march=$(ARCH) -ffp-contract=off $(WARN) $(CFLAGS)
LIBS := -ldnnl -lcjson -lzstd -lxxhash -lgomp -lpthread -lm

LIB_SRC := $(filter-out src/cli/%,$(wildcard src/*/*.c src/backend/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_SRC := $(wildcard src/cli/*.c)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
TEST_SRC := $(wildcard tests/*/test_*.c)
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
TEST_LIBS := $(shell pkg-config --libs check 2>/dev/null || echo -lcheck -lsubunit -lrt)

all: $(BUILD)/libcumind.a $(if $(CLI_SRC),$(BUILD)/cumind)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libcumind.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/cumind: $(CLI_OBJ) $(BUILD)/libcumind.a
	$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/tests/%: tests/%.c $(BUILD)/libcumind.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itests -MMD -MP $< $(LDFLAGS) $(BUILD)/libcumind.a $(LIBS) $(TEST_LIBS) -o $@

tests: $(TEST_BIN)
test: all tests
	@set -e; for t in $(TEST_BIN); do echo "== $$t"; $$t; done

clean:
	rm -rf $(BUILD)
.PHONY: all tests test clean
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_BIN:=.d)
