# packages.mk: what is handed out. Included by the top Makefile.
#
#   make dist   miniprof-VERSION-linux-MACHINE.tar.zst, and -debug.tar.zst
#   make deb    miniprof libminiprof libmptrace1 libmptrace-dev miniprof-dbg: *.deb
#   make wheel  the Python package with the same command and libraries: *.whl
#
# They put them into PACKAGE_FOLDER, and work with CROSS=... too. Like `make demo`, deb and dist
# look first whether all is there that they need, and install it as root; then none needs the
# network.
# docs/packages.md is for who uses them.

PACKAGES := $(BUILD)/packages
PACKAGE_FOLDER ?= $(PACKAGES)
# How hard dist (zstd) and deb (xz) compress; none: as well as they can.
PACKAGE_LEVEL ?=
PACKAGE_VERSION := $(word 2,$(VERSIONS))
# Who answers for the .deb: whoever makes it, as Debian's tools ask for the name (DEBFULLNAME,
# DEBEMAIL), or the author of the commit; without git an address that is well formed, as it must be.
NOBODY := miniprof's authors <authors@miniprof.example>
MAINTAINER ?= $(if $(DEBEMAIL),$(or $(DEBFULLNAME),$(DEBEMAIL)) <$(DEBEMAIL)>,$(or \
	$(shell git log -1 --format='%an <%ae>' 2>/dev/null),$(NOBODY)))

# The command as it is in the tar: it brings zstd, SQLite and zlib along and finds them beside
# it.
$(PACKAGES)/miniprof: $(TOOL_OBJECTS) $(READER_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK_COMMAND) -Wl,-rpath,'$$ORIGIN/../lib/miniprof' \
		$(patsubst -lstdc++,-l:libstdc++.a,$(READER_LIBS))

# libmptrace as it is in the wheel: zstd is inside, so it needs libc alone.
$(PACKAGES)/libmptrace.so.$(SOVERSION): $(TRACE_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -Wl,--gc-sections $(if $(SAN),,-Wl,-z,defs) \
		-static-libgcc -o $@ $(TRACE_OBJECTS) -l:libzstd.a -Wl,--exclude-libs,ALL

PACKAGE_PROGRAMS := $(PACKAGES)/miniprof $(PACKAGES)/libmptrace.so.$(SOVERSION)
PACKAGE_PARTS := $(BUILD)/libminiprof.so $(BUILD)/libminiprof_preload.so
package_needs = $(if $(wildcard $(PACKAGE_PARTS)),,echo "make $(@:-files=): no libminiprof.so: it" \
	"needs CUDA's headers (CUDA_HOME=...)" >&2; exit 1;) \
	$(if $(MAN_PAGES),,echo "make $(@:-files=): no manual pages: they need scdoc" >&2; exit 1;)
package_settings = BUILD=$(BUILD) OUT=$(PACKAGE_FOLDER) COMMAND=$(PACKAGES)/miniprof \
	MACHINE=$(MACHINE) CROSS=$(CROSS) \
	RUNNER='$(RUNNER)' SYSROOT=$(SYSROOT) CC='$(CC)' VERSION='$(PACKAGE_VERSION)' \
	MAINTAINER='$(subst ','\'',$(MAINTAINER))' MAKE='$(MAKE)' LEVEL=$(PACKAGE_LEVEL)

dist deb:
	@BUILD=$(BUILD) tools/dev/deps packages
	+@$(SUBMAKE) $@-files

dist: ## a relocatable tar.zst of command, libraries and manual pages
deb: ## Debian packages: miniprof, libminiprof, libmptrace-dev

dist-files: all $(PACKAGES)/miniprof
	@$(package_needs) $(package_settings) tools/packages/dist

wheel: programs $(PACKAGE_PROGRAMS) ## a Python wheel with command and libraries (docs/python.md)
	@$(if $(wildcard $(PACKAGE_PARTS)),,echo "make $@: no libminiprof.so: it needs CUDA's headers" \
		"(CUDA_HOME=...)" >&2; exit 1;) $(package_settings) \
		LIBRARY=$(PACKAGES)/libmptrace.so.$(SOVERSION) tools/packages/wheel

deb-files: all
	+@$(package_needs) $(package_settings) tools/packages/deb
