# qemu.mk: the tests of a build for another processor, in qemu's user mode. Included by
# tests/tests.mk. Nothing is emulated but the program itself: scripts, Python and the kernel are
# this machine's own.
#
#   make check-qemu     builds for aarch64 and runs them: a part of make check-all
#
# wrap.c and mirror make BUILD/qemu, in which each program can be started as if it were this
# machine's own; the scripts know nothing of it.

QEMU_MACHINE := aarch64
QEMU_BUILD = CROSS=$(QEMU_MACHINE)-linux-gnu- BUILD=build/$(QEMU_MACHINE) SAN= \
	CC="$(strip $(filter ccache,$(CC)) $(QEMU_MACHINE)-linux-gnu-gcc)"
# Looked for when check-all or check-qemu ask.
HAVE_QEMU = $(shell [ "$(MACHINE)" = x86_64 ] && command -v $(QEMU_MACHINE)-linux-gnu-gcc \
	>/dev/null && command -v qemu-$(QEMU_MACHINE) >/dev/null && echo 1)
NO_QEMU := note: no qemu-$(QEMU_MACHINE) or no compiler for it ('make deps' installs them): \
	left out the tests on $(QEMU_MACHINE)

ifneq ($(CROSS),)
ALL_SUITES := unit e2e qemu
TESTS_qemu := tests/qemu/reports.sh

# All unit tests but four. test_nvvp_bad writes hundreds of databases, which takes four minutes in
# qemu; test_profiled_lock needs a robust mutex, and qemu has no set_robust_list; test_gaps makes
# more timers than qemu has room for; test_stack_walk needs process_vm_readv, which it lacks.
TESTS_unit := $(filter-out %/export/test_nvvp_bad %/record/test_profiled_lock \
	%/record/test_gaps %/record/test_stack_walk,$(UNIT_PROGRAMS))
TESTS_unit := $(TESTS_unit:$(BUILD)/%=$(BUILD)/qemu/%)

# End-to-end tests that do not depend on what qemu lacks. Left out:
#   nvprof run_command settings several privacy life_processes attach zoo: programs that start
#     programs; the kernel cannot start those of another processor
#   wrapped: builds programs for the processor that it runs on
#   hostfn: looks into the program's file, which is the wrapper here
#   clients: brings a library that calls itself torch's
#   life_ends life_files life_cuda bad_input modes flight exits: signals, closed descriptors, limits
#     and empty roots meet qemu itself
#   measuring clock_renewal losses top versions waits waits_odd writer polling baseline captured: go
#     by times, or by what happens beside another thread, which is ten times as slow
QEMU_E2E := capture definitions edges graph iters lag layers metrics metrics_query metrics_sample \
	open_ranges simgpu_selftest
TESTS_e2e := $(QEMU_E2E:%=tests/e2e/%.sh)

$(BUILD)/wrap: tests/qemu/wrap.c
	@mkdir -p $(@D)
	$(Q)gcc -O2 -Wall -Wextra -static -DQEMU='"qemu-$(MACHINE)"' \
		-DSYSROOT='"$(abspath $(SYSROOT))"' -o $@ $<

.PHONY: qemu-programs
qemu-programs: test-programs $(BUILD)/wrap
	@tests/qemu/mirror $(BUILD) $(BUILD)/wrap
endif

build/lint/tidy/tests/qemu/wrap.c: LINT_FLAGS += -DQEMU='""' -DSYSROOT='""'

# The libraries come first: what the build finds in them decides what it builds.
define build_for_qemu
$(SUBMAKE) $(QEMU_BUILD) sysroot && $(SUBMAKE) $(QEMU_BUILD) qemu-programs
endef

.PHONY: check-qemu
check-qemu: test-programs
ifeq ($(CROSS),)
	@[ -n "$(HAVE_QEMU)" ] || { echo "$(NO_QEMU)"; exit 1; }
	@$(build_for_qemu)
	@$(call lists,ALL) $(QEMU_BUILD) | $(RUN_ENVIRONMENT) tests/run.sh --pool
endif
