# miniprof: the only entry point. `make help` lists what it does.
#
# Everything that is made stands under build/ (or BUILD=...); a sanitizer has a folder of its own:
#   make SAN=address,undefined    -> build/san-address,undefined/
#
# Folders are read by wildcard, so a new .c file needs no line here:
#   src/base src/trace             -> libmptrace; libminiprof.so takes what it needs
#   src/record                     -> libminiprof.so (needs the CUDA headers)
#   src/preload                    -> libminiprof_preload.so
#   the other folders of src       -> miniprof, with the first two
# tests/simgpu/simgpu.mk, samples/samples.mk and tests/tests.mk add their own; they use
#   $(BUILD) $(OBJ) $(HAVE_CUDA) $(CUDA_CPPFLAGS) $(COMPILE) $(LINK) $(READER_LIB) $(READER_LIBS)
# and append what `make all` builds to ALL_TARGETS.

# The version of the latest tag; the one named here is for a source without tags.
VERSIONS := $(shell tools/packages/version 0.1.0)
VERSION  := $(word 1,$(VERSIONS))
SOVERSION := 1
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
# V=1 shows the commands; otherwise one line each.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-4s %s\n' '$(1)' '$(2)')

# ---- what a user may set ------------------------------------------------------------------------

# For another processor: CROSS=aarch64-linux-gnu- names the compiler and the tools beside it.
CROSS        ?=
ifeq ($(origin CC),default)
CC := $(CROSS)gcc
endif
SAN          ?=
WERROR       ?= 0
BUILD        ?= build$(if $(CROSS),/$(CROSS:%-linux-gnu-=%))$(if $(SAN),/san-$(SAN))
# Relative below the source, however it was given, so that each target has one name. The source
# itself stays ".", which rm refuses (make clean).
override BUILD := $(patsubst $(CURDIR),.,$(patsubst $(CURDIR)/%,%,$(abspath $(BUILD))))
PREFIX       ?= /usr/local
LIBDIR       ?= $(PREFIX)/lib
BINDIR       ?= $(PREFIX)/bin
INCLUDEDIR   ?= $(PREFIX)/include
MANDIR       ?= $(PREFIX)/share/man
DATADIR      ?= $(PREFIX)/share
DESTDIR      ?=
NVPROF       ?= 0
FUZZ_SECONDS ?= 60
JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
CFLAGS       ?= -O2 -g
CUDA_HOME    ?=# none: build without the CUDA headers
export CC

# ---- flags --------------------------------------------------------------------------------------

OBJ := $(BUILD)/obj
# The processor that is built for.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)))
include tools/packages/cross.mk

WARNINGS := -Wall -Wextra -Wshadow -Wcast-qual -Wcast-align -Wstrict-prototypes -Wundef \
	-Wpointer-arith -Wvla -Wformat=2 -Wwrite-strings -Wswitch-enum -Wmissing-prototypes
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
BASE_CPPFLAGS := -D_GNU_SOURCE= -DMP_VERSION='"$(VERSION)"' -Iinclude -Isrc
# _FORTIFY_SOURCE hides accesses from AddressSanitizer.
HARDENING := $(if $(SAN),,-D_FORTIFY_SOURCE=2 -fstack-protector-strong)
BASE_CFLAGS := -std=gnu17 $(WARNINGS) -fPIC -fvisibility=hidden -fno-semantic-interposition \
	-fno-math-errno -ffunction-sections -fdata-sections $(SAN_FLAGS)
ifeq ($(WERROR),1)
BASE_CFLAGS += -Werror
endif

COMPILE = $(CC) $(BASE_CPPFLAGS) $(EXTRA_CPPFLAGS) $(CPPFLAGS) $(BASE_CFLAGS) $(HARDENING) \
	$(CFLAGS) $(EXTRA_CFLAGS)
LINK = $(CC) $(SAN_FLAGS) $(CFLAGS) -Wl,-z,relro,-z,now $(LDFLAGS)

# CUDA's headers: CUDA_HOME, the folder of nvcc, /usr/local/cuda. CUPTI's lie beside or in extras/.
ifneq ($(CUDA_HOME),none)
NVCC := $(realpath $(shell command -v nvcc 2>/dev/null))
CUDA_ROOTS := $(CUDA_HOME) $(if $(NVCC),$(abspath $(dir $(NVCC))..)) /usr/local/cuda /usr
CUDA_ROOT := $(firstword $(foreach root,$(CUDA_ROOTS),\
	$(if $(wildcard $(root)/include/cuda.h),$(root))))
CUPTI_INCLUDE := $(if $(CUDA_ROOT),$(firstword $(patsubst %/cupti.h,%,$(wildcard \
	$(CUDA_ROOT)/include/cupti.h $(CUDA_ROOT)/extras/CUPTI/include/cupti.h))))
endif
HAVE_CUDA := $(if $(CUPTI_INCLUDE),1)
# Debian's toolkit stands in /usr/include, which must not be moved in the order of system headers.
CUDA_CPPFLAGS := $(if $(HAVE_CUDA),$(addprefix -isystem ,$(filter-out /usr/include,\
	$(sort $(CUDA_ROOT)/include $(CUPTI_INCLUDE)))))

# SQLite is wanted for files of nvprof and nsys (src/export) and by the command only; HAVE_SQLITE=
# builds without it.
ifeq ($(origin HAVE_SQLITE),undefined)
HAVE_SQLITE := $(shell echo '#include <sqlite3.h>' | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 && \
	echo 1)
endif

# zlib is wanted for what `miniprof export` writes compressed (.json.gz), and by the command only;
# HAVE_ZLIB= builds without it.
ifeq ($(origin HAVE_ZLIB),undefined)
HAVE_ZLIB := $(shell echo '#include <zlib.h>' | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 && echo 1)
endif

# ---- parts --------------------------------------------------------------------------------------

# The folders below each one named; a family is one folder deep.
objects = $(patsubst %.c,$(OBJ)/%.o,$(sort $(foreach folder,$(1),$(wildcard $(folder)/*.c \
	$(folder)/*/*.c))))

TRACE_OBJECTS  := $(call objects,src/base src/trace)
CORE_FOLDERS   := $(addprefix src/,profile table cli reports page export run calibrate nvprof)
CORE_OBJECTS   := $(call objects,$(CORE_FOLDERS))
CORE_OBJECTS   := $(filter-out $(if $(HAVE_SQLITE),%/export/no_sqlite.o,%/tables/sqlite.o \
	$(filter-out %/nvvp/nvvp.o,$(filter $(OBJ)/src/export/nvvp/%,$(CORE_OBJECTS)))),$(CORE_OBJECTS))
CORE_OBJECTS   := $(filter-out %/export/gzip$(if $(HAVE_ZLIB),_none).o,$(CORE_OBJECTS))
CORE_OBJECTS   += $(OBJ)/html_assets.o $(OBJ)/cbid_frame.o $(OBJ)/startup_frame.o
RECORD_OBJECTS := $(call objects,src/record)
# Its stubs are written for these processors.
PRELOAD_OBJECTS := $(if $(filter x86_64 aarch64,$(MACHINE)),$(call objects,src/preload) \
	$(OBJ)/src/base/elf_symbols.o)
TOOL_OBJECTS   := $(call objects,src/command)
TOOL_OBJECTS   += $(if $(TOOL_OBJECTS),$(OBJ)/build_id.o)

TRACE_LIB   := $(OBJ)/libtrace.a
READER_LIB  := $(OBJ)/libreader.a
# ThreadSanitizer is for the recorder. The reader and the command, which have one thread, are made of
# the plain build's objects, behind those that the recorder has too.
ifeq ($(SAN),thread)
READER_LIB := $(TRACE_LIB) build/obj/libreader.a
TOOL_OBJECTS := $(TOOL_OBJECTS:$(OBJ)/%=build/obj/%)
endif
READER_LIBS := -Wl,--as-needed -lzstd -lstdc++ -lm $(if $(HAVE_SQLITE),-lsqlite3) \
	$(if $(HAVE_ZLIB),-lz)

ALL_TARGETS := $(if $(TRACE_OBJECTS),$(BUILD)/libmptrace.a $(BUILD)/libmptrace.so.$(SOVERSION) \
	$(BUILD)/libmptrace.so)
ALL_TARGETS += $(if $(TOOL_OBJECTS),$(BUILD)/miniprof)
DEV_PROGRAMS := $(patsubst tools/dev/%.c,$(BUILD)/dev/%,$(wildcard tools/dev/*.c))
ifdef HAVE_CUDA
ALL_TARGETS += $(if $(RECORD_OBJECTS),$(BUILD)/libminiprof.so)
ALL_TARGETS += $(if $(PRELOAD_OBJECTS),$(BUILD)/libminiprof_preload.so)
endif

include tools/packages/packages.mk
-include tests/simgpu/simgpu.mk
-include samples/samples.mk
-include tests/tests.mk

.PHONY: all programs man demo quick changed check check-rest check-all bench gpu-check \
	gpu-zoo gpu-pairs gpu-bare-cost gpu-gains bench-compare bench-gpu bench-growth bench-nodes \
	bench-close fuzz lint install uninstall clean help deps deb dist deb-files dist-files wheel compdb hooks FORCE

all: programs man ## build everything (the default)

programs: $(ALL_TARGETS)
ifndef HAVE_CUDA
	@echo "note: no CUDA headers with CUPTI found (CUDA_HOME, nvcc, /usr/local/cuda):" \
		"left out libminiprof.so, samples and simgpu"
endif
ifeq ($(HAVE_SQLITE),)
	@echo "note: no sqlite3.h (Debian: libsqlite3-dev): left out nvprof's files (.nvvp) and nsys-sqlite"
endif
ifeq ($(HAVE_ZLIB),)
	@echo "note: no zlib.h (Debian: zlib1g-dev): left out compressed exports (.json.gz)"
endif

# ---- rules --------------------------------------------------------------------------------------

# TLS descriptors keep ld.so out of the libraries that libminiprof.so needs and are as quick as
# initial-exec, which could fail in a process whose static TLS is used up. clang 14 lacks them on x86.
TLS_CFLAGS := $(if $(filter x86_64,$(MACHINE)),$(shell printf 'int unused;' | $(CC) \
	-mtls-dialect=gnu2 -x c -c -o /dev/null - 2>/dev/null && echo -mtls-dialect=gnu2 || \
	echo -ftls-model=initial-exec))

# Objects depend on the flags they were made with; expanded here, because variables of a target
# reach what it depends on.
FLAGS_LINE := $(subst ','\'',$(COMPILE) $(CUDA_CPPFLAGS) $(TLS_CFLAGS) $(HAVE_SQLITE:1=sqlite) $(HAVE_ZLIB:1=zlib))

# What everything is built with is looked for where the flags are new, so before the first object.
NEEDED_HEADERS := xxhash.h zstd.h
BUT_DEPS = 'make deps' installs what building needs, or says how

define look_for_needs
command -v $(firstword $(CC)) >/dev/null || { \
	echo "error: no compiler '$(CC)': $(BUT_DEPS)" >&2; exit 1; }; \
for header in $(NEEDED_HEADERS); do \
	echo "#include <$$header>" | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 || { \
		echo "error: no $$header: $(BUT_DEPS)" >&2; exit 1; }; \
done
endef

$(BUILD)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(FLAGS_LINE)' >$@.$$$$; \
	if cmp -s $@.$$$$ $@; then rm $@.$$$$; exit 0; fi; \
	trap 'rm -f $@.$$$$' EXIT; $(look_for_needs); mv $@.$$$$ $@

$(OBJ)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

$(OBJ)/html_assets.c: tools/dev/embed tools/dev/check_modules tools/dev/frame $(BUILD)/packer \
	$(wildcard src/page/html/* src/page/html/*/*)
	@mkdir -p $(@D)
	$(call say,PAGE,$@)
	$(Q)tools/dev/embed src/page/html $@

# Texts that the program has packed: NAME_frame and NAME_frame_bytes. `make demo` does without the
# command zstd, which `make check` installs: then they are packed again.
$(BUILD)/packer: FORCE
	@mkdir -p $(@D); command -v zstd >$@.$$$$ || true; \
	if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi

$(OBJ)/cbid_frame.c: src/export/nvvp/cbid_names.txt
$(OBJ)/startup_frame.c: tools/python/startup/sitecustomize.py
$(OBJ)/%_frame.c: tools/dev/frame $(BUILD)/packer
	@mkdir -p $(@D)
	$(Q)tools/dev/frame $(*F)_frame $(filter-out $< $(BUILD)/packer,$^) >$@.$$$$ && mv $@.$$$$ $@

$(OBJ)/html_assets.o $(OBJ)/cbid_frame.o $(OBJ)/startup_frame.o: %.o: %.c $(BUILD)/flags
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

$(OBJ)/src/record/%.o $(OBJ)/tests/simgpu/%.o $(OBJ)/samples/%.o: EXTRA_CPPFLAGS += $(CUDA_CPPFLAGS)
$(OBJ)/src/record/%.o: EXTRA_CFLAGS += $(TLS_CFLAGS)

# Nothing unwinds through the command, so the tables for that, which are 0.1 MB, are left to
# debuggers (.debug_frame). What is loaded into other programs has them.
ifeq ($(SAN),)
$(foreach folder,$(CORE_FOLDERS) src/command,$(OBJ)/$(folder)/%.o): \
	EXTRA_CFLAGS += -fno-asynchronous-unwind-tables $(addprefix -falign-,functions=1 jumps=1 loops=1 \
	labels=1)

# What prints a report of some pages, or looks at what others have read or summed up, need not be
# fast, but small: analyses and exports take up to a tenth longer, and the command is a tenth
# smaller. `table` and `trace` print millions of rows; deps and replay walk graphs of millions.
SMALL_WORK := $(filter-out $(addprefix src/reports/,deps dump replay trace),$(wildcard src/reports/*)) \
	$(addprefix src/profile/,common names nvtx stacks) \
	$(addprefix src/base/,metrics settings text) \
	$(addprefix src/,cli export page run calibrate nvprof command)
$(foreach folder,$(SMALL_WORK),$(OBJ)/$(folder)/%.o): EXTRA_CFLAGS += -Os
# What is done once for each trace, or for each row of a page, not for each row of the trace.
$(addprefix $(OBJ)/src/,$(addprefix profile/,costs.o identity.o quality.o set.o merge.o) \
	$(addprefix reports/deps/,command.o iterations.o names.o print.o trace.o what_if.o) \
	$(addprefix table/,documents.o terminal.o view.o) \
	$(addprefix base/,elf_symbols.o io.o log.o process.o) trace/reader.o \
	reports/replay/changes.o reports/replay/gains.o reports/replay/paths.o \
	reports/trace/command.o trace/chunks.o): \
	EXTRA_CFLAGS += -Os
$(OBJ)/src/export/perfetto/proto.o: EXTRA_CFLAGS += -O2
endif

# Members are pulled in as needed: libminiprof.so takes the writing half of src/trace only.
$(TRACE_LIB): $(TRACE_OBJECTS)
$(OBJ)/libreader.a: $(TRACE_OBJECTS) $(CORE_OBJECTS)
$(TRACE_LIB) $(OBJ)/libreader.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(CROSS)ar qcs $@ $^

# Which commit this is, in a file of its own: a new commit compiles nothing else.

$(OBJ)/build_id.c: FORCE
	@mkdir -p $(@D); printf 'const char build_package[] = "%s";\nconst char build_commit[] = "%s";\n' \
		$(wordlist 2,3,$(VERSIONS)) >$@.$$$$; \
	if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi

$(OBJ)/build_id.o: $(OBJ)/build_id.c $(BUILD)/flags
	$(Q)$(COMPILE) -c -o $@ $<

LINK_COMMAND = $(LINK) -Wl,--gc-sections -o $@ $(TOOL_OBJECTS) $(READER_LIB)

$(BUILD)/miniprof: $(TOOL_OBJECTS) $(READER_LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK_COMMAND) $(READER_LIBS)

ifeq ($(SAN),thread)
.PHONY: plain
plain:
	@$(MAKE) --no-print-directory SAN= BUILD=build build/miniprof
$(TOOL_OBJECTS) build/obj/libreader.a: | plain
endif

# One relocatable object whose hidden names are local: nothing but the public header's can clash.
$(BUILD)/libmptrace.a: $(TRACE_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(CROSS)ld -r -o $(OBJ)/libmptrace.o $(TRACE_OBJECTS)
	$(Q)$(CROSS)objcopy --localize-hidden $(OBJ)/libmptrace.o
	$(Q)$(CROSS)ar rcs $@ $(OBJ)/libmptrace.o

$(BUILD)/libmptrace.so.$(SOVERSION): $(TRACE_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(LINK) -shared -Wl,-soname,libmptrace.so.$(SOVERSION) -Wl,--gc-sections \
		$(if $(SAN),,-Wl,-z,defs) -o $@ $(TRACE_OBJECTS) -lzstd

$(BUILD)/libmptrace.so: $(BUILD)/libmptrace.so.$(SOVERSION)
	$(Q)ln -sf $(notdir $<) $@

# The application may carry another zstd, so ours is inside and hidden; only libc is needed.
$(BUILD)/libminiprof.so: $(RECORD_OBJECTS) $(TRACE_LIB) src/record/exports.map
	$(call say,LINK,$@)
	$(Q)$(LINK) -shared -Wl,-soname,libminiprof.so -Wl,--version-script=src/record/exports.map \
		-Wl,--gc-sections -Wl,-z,nodelete $(if $(SAN),,-Wl,-z,defs) -static-libgcc \
		-o $@ $(RECORD_OBJECTS) $(TRACE_LIB) \
		-l:libzstd.a -Wl,--exclude-libs,ALL

# In every program that `miniprof run` starts: no sanitizer, whose runtime would have to come first.
# A lock takes up to 0.5 ns more where its function lies across lines of the cache.
$(PRELOAD_OBJECTS): EXTRA_CFLAGS += -falign-functions=64 $(if $(SAN),-fno-sanitize=all)
$(BUILD)/libminiprof_preload.so: $(PRELOAD_OBJECTS) src/preload/exports.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -Wl,-z,relro,-z,now $(LDFLAGS) -shared -Wl,-soname,$(@F) \
		-Wl,--version-script=src/preload/exports.map -Wl,-z,defs -static-libgcc -o $@ $(PRELOAD_OBJECTS)

# ---- manual pages -------------------------------------------------------------------------------

MAN_SOURCES := $(wildcard docs/man/*.scd)
SCDOC := $(shell command -v scdoc 2>/dev/null)
MAN_PAGES := $(if $(SCDOC),$(patsubst docs/man/%.scd,$(BUILD)/man/%.1,$(MAN_SOURCES:.1.scd=.scd)))

man: $(MAN_PAGES)
ifeq ($(SCDOC),)
	@echo "note: no scdoc ('make deps' installs it): left out the manual pages"
endif

$(BUILD)/man/%.1: docs/man/%.scd
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)scdoc <$< >$@
$(BUILD)/man/%.1: docs/man/%.1.scd
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)scdoc <$< >$@

# ---- what people run ----------------------------------------------------------------------------

# Sub-makes run in parallel unless the caller already chose.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

deps: ## install what building and testing need (as root on Debian and Ubuntu), or print how
	@BUILD=$(BUILD) tools/dev/deps all

demo: ## build, profile the sample on a GPU or the software GPU, print the summary
	@tools/dev/deps demo
	@mkdir -p $(BUILD); echo "== building miniprof (the compiler's output goes to $(BUILD)/demo.log)"
	@$(SUBMAKE) programs >$(BUILD)/demo.log 2>&1 || { cat $(BUILD)/demo.log; exit 1; }
	@BUILD=$(BUILD) tools/dev/demo

hooks: ## git's hooks: format and house rules before a commit, its subject and body
	@tools/dev/hooks install

# For each .c file, whether `make all` needs it or not; -B and -n name commands without running them.
# clang does not know all of gcc's flags.
COMPDB ?= compile_commands.json
COMPDB_OBJECTS = $(call objects,$(wildcard src/* tools/* tests/* samples))
compdb: ## compile_commands.json, for clangd, editors and clang-tidy -p
	@$(MAKE) -Bn --no-print-directory $(COMPDB_OBJECTS) | \
		sed -nE -e 's/ -mtls-dialect=[^ ]+//' -e 's/[\\"]/\\&/g' \
			-e 's|^(.* -c -o ([^ ]+) ([^ ]+\.c))$$|{"file": "\3", "output": "\2", "command": "\1"|p' | \
		sed -e 's|$$|, "directory": "$(CURDIR)"},|' -e '1s|^|[|' -e '$$s|,$$|]|' >$(COMPDB)
	@echo "$(COMPDB): $$(wc -l <$(COMPDB)) files"

help: ## this list
	@echo "miniprof $(VERSION): make TARGET [VARIABLE=...]"; echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## (.*)/  \1|\2/' | \
		while IFS='|' read -r name text; do printf '%-14s %s\n' "$$name" "$$text"; done
	@echo
	@echo "  SAN=address,undefined   build with sanitizers, in build/san-.../ (or SAN=thread)"
	@echo "  WERROR=1                warnings are errors"
	@echo "  V=1                     show the commands"
	@echo "  CC=clang CFLAGS=...     compiler and its optimisation flags"
	@echo "  CROSS=aarch64-linux-gnu-  build for another processor, in build/aarch64/"
	@echo "  CUDA_HOME=DIR|none      where CUDA's headers are; none builds the reader only"
	@echo "  PREFIX=DIR DESTDIR=DIR  where install and uninstall work (PREFIX=/usr/local)"
	@echo "  NVPROF=1                install: a link nvprof to miniprof, too"
	@echo "  FUZZ_SECONDS=60         how long fuzz and check-all feed the reader"
	@echo "  JOBS=2                  processes that build and test at a time (all cores)"
	@echo "  T=PATTERN               of the tests those whose SUITE/NAME matches it"
	@echo "  TABLE=1                 after the tests a table of what each one takes"

clean: ## remove build/
	rm -rf $(if $(filter build/% build,$(BUILD)),build,$(BUILD))

# ---- installation -------------------------------------------------------------------------------

define PKG_CONFIG
prefix=$(PREFIX)
libdir=$(LIBDIR)
includedir=$(INCLUDEDIR)

Name: libmptrace
Description: Reads the traces that miniprof records of CUDA programs
Version: $(VERSION)
Libs: -L$${libdir} -lmptrace
Libs.private: -lzstd
Cflags: -I$${includedir}
endef
export PKG_CONFIG

INSTALLED_LIBS := $(filter-out %/libmptrace.so,$(filter $(BUILD)/lib%,$(ALL_TARGETS)))
HEADERS := $(wildcard include/miniprof/*.h)

# Where the shells look for completions.
COMPLETION_bash = $(DATADIR)/bash-completion/completions/miniprof
COMPLETION_zsh  = $(DATADIR)/zsh/site-functions/_miniprof
COMPLETION_fish = $(DATADIR)/fish/vendor_completions.d/miniprof.fish

install: all ## copy libraries, command, headers, manual pages to DESTDIR/PREFIX
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/miniprof
	install -m 644 $(INSTALLED_LIBS) $(DESTDIR)$(LIBDIR)
	ln -sf libmptrace.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libmptrace.so
	install -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/miniprof
	printf '%s\n' "$$PKG_CONFIG" >$(DESTDIR)$(LIBDIR)/pkgconfig/libmptrace.pc
	$(if $(TOOL_OBJECTS),install -d $(DESTDIR)$(BINDIR) && \
		install -m 755 $(BUILD)/miniprof $(DESTDIR)$(BINDIR))
	$(if $(MAN_PAGES),install -d $(DESTDIR)$(MANDIR)/man1 && \
		install -m 644 $(MAN_PAGES) $(DESTDIR)$(MANDIR)/man1)
	$(if $(TOOL_OBJECTS),$(foreach shell,bash zsh fish,\
		install -d $(DESTDIR)$(dir $(COMPLETION_$(shell))) && \
		$(BUILD)/miniprof completions $(shell) >$(DESTDIR)$(COMPLETION_$(shell)) &&) true)
	$(if $(filter-out 0,$(NVPROF)),[ "$$(readlink $(DESTDIR)$(BINDIR)/nvprof)" = miniprof ] || \
		ln -s miniprof $(DESTDIR)$(BINDIR)/nvprof)

# A link of ours is one whose text is `miniprof`; CUDA's own nvprof stays.
uninstall: ## remove what install copied
	if [ "$$(readlink $(DESTDIR)$(BINDIR)/nvprof)" = miniprof ]; then \
		rm -f $(DESTDIR)$(BINDIR)/nvprof; fi
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libminiprof.so libminiprof_preload.so libmptrace.a libmptrace.so \
		libmptrace.so.$(SOVERSION) pkgconfig/libmptrace.pc)
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/miniprof/,$(notdir $(HEADERS)))
	rm -f $(DESTDIR)$(BINDIR)/miniprof $(addprefix $(DESTDIR)$(MANDIR)/man1/, \
		$(notdir $(patsubst %.scd,%.1,$(MAN_SOURCES:.1.scd=.scd))))
	rm -f $(foreach shell,bash zsh fish,$(DESTDIR)$(COMPLETION_$(shell)))
	-rmdir $(DESTDIR)$(INCLUDEDIR)/miniprof 2>/dev/null

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
