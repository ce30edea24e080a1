# The tests. tests/README.md says how to run them, and what each tier is for.
#
#   make quick        build, unit cli golden laws, the oracle in short, house rules
#   make changed      of quick and check, the tests that changed files reach (tests/changed)
#   make check        quick, rules views computed readers exports zoo e2e python packages
#   make check-rest   what .ci/run adds: sanitizers, and clang-tidy for what changed
#   make check-all    everything
#   make check-SUITE  one suite
#
# T=PATTERN chooses among the tests of each of them by SUITE/NAME.
#
# A suite is a folder, a test a file in it:
#   unit/*/test_*.c       cmocka tests; those of a folder are one program, linked with the reader,
#                         unit/record with the recorder's objects too; malloc and its kin are
#                         wrapped, so that a test can make them fail
#   cli/*.sh e2e/*.sh     scripts, lib.sh is what they share; environment: BUILD and SOURCE
#                         (absolute), SAN; exit status 77: skipped
#   golden/run.sh         compares what the command prints with the committed texts
#   golden/terminal.sh    and what it prints on a terminal, where no line may be too wide
#   golden/computed.sh    whether it is true, by independent computations: the suite `computed`
#   laws/*.py             what holds for every trace and every view: the suites laws and views
#   oracle/run.py         random programs on the software GPU against an oracle of what awaits what
#   oracle/sweep.py       traces in which one thing moves step by step: no row may jump
#   html/run.sh           pages of `miniprof html` in headless Chromium: html/test_*.mjs
#   zoo/check_traces.sh   iterations in the traces of tests/data/zoo against their programs' own
#                         count; zoo/run.sh records them: make gpu-zoo
#   strangers/*           programs of kinds that the zoo lacks, for gpu/pairs.sh
#   readers/test_*.py     readers that share no code with src/
#   sweeps/*.py           every allocation fails once, every system call is denied once, signals
#                         come at random moments; sweep.py is what they share
#   exports/*.sh          exported files, by readers from npm that share no code with src/
#   exports/engines/*.sh  the same by databases, which are large
#   exports/test_*.py     what each format of miniprof export holds, read back
#   tools/*.c             programs that tests use, in BUILD/tests/tools; those of tools/dev are in
#                         BUILD/dev
#   python/test_*.py      the Python package: numbers, bad input, marking, the notebook
#   packages/*.sh         what make deb, make dist and make wheel make, on this system
#   roots/*.sh            the packages in a clean system of its own (debootstrap, chroot);
#                         readme_*.sh types README and the tutorial there: make check-readme
#   qemu/*                how unit, cli, golden and e2e run of a build for another processor
#   fuzz/fuzz_*.c         libFuzzer targets, which fuzz/run runs; fuzz/corpus: inputs that are kept
#   gpu/*.sh              need an NVIDIA GPU: make gpu-check; bench*.sh: make bench-gpu; growth.sh:
#                         make bench-growth; node_level.sh: make bench-nodes; close_time.sh:
#                         make bench-close; pairs.sh: make gpu-pairs; bare_cost.sh: make
#                         gpu-bare-cost
# tests/run.sh counts. All suites of a target share one pool of processes, so that none waits for
# the last test of another.

UNIT_SOURCES := $(sort $(wildcard tests/unit/*/test_*.c))
ifndef HAVE_CUDA
UNIT_SOURCES := $(filter-out tests/unit/record/%,$(UNIT_SOURCES))
endif
ifeq ($(PRELOAD_OBJECTS),)
UNIT_SOURCES := $(filter-out tests/unit/preload/%,$(UNIT_SOURCES))
endif
# They speak the payload extension too, which CUDA 11.8's NVTX headers do not know.
ifeq ($(wildcard $(CUDA_ROOT)/include/nvtx3/nvToolsExtPayload.h),)
UNIT_SOURCES := $(filter-out tests/unit/record/test_nvtx% \
	tests/unit/record/test_nccl_plugin.c,$(UNIT_SOURCES))
endif
ifeq ($(HAVE_SQLITE),)
UNIT_SOURCES := $(filter-out tests/unit/export/test_nvvp%,$(UNIT_SOURCES))
endif
# A sanitizer's own functions stand before libc's, which test_next looks for.
ifneq ($(SAN),)
UNIT_SOURCES := $(filter-out tests/unit/preload/test_next.c,$(UNIT_SOURCES))
endif
# ThreadSanitizer sees nothing in a test with one thread.
ifeq ($(SAN),thread)
UNIT_SOURCES := $(if $(UNIT_SOURCES),$(shell grep -l pthread_create $(UNIT_SOURCES)))
endif
UNIT_PROGRAMS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/unit/%)
# Code that several unit tests share: files without the prefix.
UNIT_SHARED := $(call objects,tests/unit)
UNIT_SHARED := $(foreach object,$(filter-out %/choose.o,$(UNIT_SHARED)),$(if \
	$(findstring /test_,$(object)),,$(object)))

# A folder is one program, BUILD/tests/unit/FOLDER/all, and each of its tests a link to it, by whose
# name it is started (choose.c): an edit of src links 20 programs, not 174. Tests of `command` and
# `preload` are programs of their own, since they bring functions that stand before those of the
# tested code. malloc and its kin go through failing_malloc.c everywhere.
UNIT_ALONE := command preload
UNIT_FOLDERS := $(filter-out $(UNIT_ALONE),$(sort $(foreach test,$(UNIT_SOURCES),\
	$(word 3,$(subst /, ,$(test))))))
UNIT_LINK = $(Q)$(LINK) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray -o $@ \
	$(filter %.o,$^) $(READER_LIB) -lcmocka $(READER_LIBS)

# gcc defines that name by itself; clang has another way to say it.
$(OBJ)/tests/unit/%.o: EXTRA_CPPFLAGS += -Itests \
	$(if $(findstring address,$(SAN)),-D__SANITIZE_ADDRESS__=1)
$(OBJ)/tests/unit/record/%.o: EXTRA_CPPFLAGS += $(CUDA_CPPFLAGS)

$(OBJ)/tests/unit/%/tests.h: FORCE
	@mkdir -p $(@D); printf 'TEST(%s)\n' $(basename $(notdir $(filter tests/unit/$*/%,\
		$(UNIT_SOURCES)))) >$@.$$$$; \
	if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi
$(OBJ)/tests/unit/%/choose.o: tests/unit/choose.c $(OBJ)/tests/unit/%/tests.h $(BUILD)/flags
	$(Q)$(COMPILE) -I$(@D) -MMD -MP -c -o $@ $<

# The second word of -Dmain is a prototype, which main does not need and test_NAME_main does.
define unit_folder
$(patsubst tests/unit/%.c,$(OBJ)/tests/unit/%.o,$(1)): \
	EXTRA_CPPFLAGS += '-Dmain=$$(*F)_main(void); int $$(*F)_main'
$(patsubst tests/unit/%.c,$(OBJ)/tests/unit/%.o,$(1)): tests/unit/choose.c
$(BUILD)/tests/unit/$(2)/all: $(OBJ)/tests/unit/$(2)/choose.o \
	$(patsubst %.c,$(OBJ)/%.o,$(1)) $(UNIT_SHARED) $(if $(filter record,$(2)),$(RECORD_OBJECTS)) \
	$(READER_LIB)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(UNIT_LINK)
$(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(1)): $(BUILD)/tests/unit/$(2)/all
	@ln -sfn all $$@
endef
$(foreach folder,$(UNIT_FOLDERS),$(eval $(call unit_folder,$(filter tests/unit/$(folder)/%,\
	$(UNIT_SOURCES)),$(folder))))

$(BUILD)/tests/unit/preload/test_host_calls: $(patsubst %,\
	$(OBJ)/src/preload/%.o,host_calls host_functions)

# Without the functions that stand in front of libc's.
$(BUILD)/tests/unit/preload/%: $(OBJ)/tests/unit/preload/%.o $(patsubst %,\
		$(OBJ)/src/preload/%.o,next objects channels) $(UNIT_SHARED) \
		$(READER_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(UNIT_LINK)

$(BUILD)/tests/unit/command/%: $(OBJ)/tests/unit/command/%.o $(UNIT_SHARED) $(READER_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(UNIT_LINK)

$(BUILD)/tests/unit/command/test_threads_cpu: $(OBJ)/tests/gpu/threads_cpu.o

TEST_TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(sort $(wildcard tests/tools/*.c)))
TEST_TOOLS += $(patsubst tools/dev/%.c,$(BUILD)/dev/%,$(sort $(wildcard tools/dev/*.c)))

$(OBJ)/tests/tools/%.o: EXTRA_CPPFLAGS += -Itests

$(BUILD)/tests/tools/%: $(OBJ)/tests/tools/%.o $(READER_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $^ $(READER_LIBS)

$(BUILD)/dev/%: $(OBJ)/tools/dev/%.o $(READER_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $^ $(READER_LIBS)

# Objects of test programs are kept.
.SECONDARY:

-include tests/e2e/e2e.mk
-include tests/oracle/oracle.mk
-include tests/coverage/coverage.mk

# ---- what single calls cost on a GPU -------------------------------------------------------------

# The runtime API by itself (CUDA 12.8 or later, static, so that one file serves a program and a
# Python process).
CUDART := $(if $(HAVE_CUDA),$(shell grep -qs cudaLibraryLoadData \
	$(CUDA_ROOT)/include/cuda_runtime_api.h && \
	echo $(firstword $(wildcard $(CUDA_ROOT)/lib64/libcudart_static.a))))
ifneq ($(CUDART),)
COST_PROGRAMS := $(addprefix $(BUILD)/gpu/,cost libcost.so)
endif

# Programs that run for a while or are killed, and CUPTI by itself: the driver API alone, so the
# software GPU runs them too.
GPU_PROGRAMS := $(addprefix $(BUILD)/gpu/,soak progress counters bare_calls gains)
ifdef HAVE_CUDA
ALL_TARGETS += $(GPU_PROGRAMS) $(addprefix $(BUILD)/gpu/,libbare_cupti.so node_level)
endif

# ---- suites -------------------------------------------------------------------------------------

RESULTS := build/results
space := $(subst ,, )
RUN_ENVIRONMENT = BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) JOBS=$(JOBS)
RUN = @$(RUN_ENVIRONMENT) SAN=$(SAN) tests/run.sh
export MPT_TRACES = $(subst $(space),:,$(wildcard \
	$(addprefix $(CURDIR)/tests/,data/*.mpt golden/*.mpt)))
# T=PATTERN of tests, for run.sh.
export T
# What quick and check run of suites that can run in part: random programs of the oracle, and among
# them for the what-if; of `computed` and exports/test_round_trip.py what has most to say.
SHORT := ORACLE_PROGRAMS=1000 ORACLE_WHAT_IF=200 CHECKS=short

# Where the recorder is built, which needs CUDA's headers, tidy looks at objects too.
TESTS_house   := tools/dev/tidy tools/dev/check_format tools/dev/check_modules
TESTS_unit    := $(UNIT_PROGRAMS)
TESTS_cli     := $(filter-out %/lib.sh,$(sort $(wildcard tests/cli/*.sh)))
TESTS_golden  := tests/golden/run.sh tests/golden/terminal.sh
TESTS_laws    := $(addprefix tests/laws/,ranges.py spellings.py totals.py)
TESTS_oracle  := tests/oracle/run.py tests/oracle/sweep.py
TESTS_rules   := $(filter-out %/lib.sh,$(sort $(wildcard tests/rules/*)))
TESTS_views   := $(addprefix tests/laws/,columns.py formats.py invariants.py same_everywhere.py)
TESTS_brief   := tests/laws/invariants.py
TESTS_computed := tests/golden/computed.sh
TESTS_readers := $(sort $(wildcard tests/readers/test_*.py))
TESTS_exports := $(filter-out %/lib.sh,$(sort $(wildcard tests/exports/*.sh \
	tests/exports/test_*.py)))
TESTS_zoo     := tests/zoo/check_traces.sh
TESTS_e2e     := $(filter-out %/lib.sh %/waits_lib.sh,$(sort $(wildcard tests/e2e/*.sh)))
TESTS_python  := $(sort $(wildcard tests/python/test_*.py))
TESTS_packages := $(filter-out %/lib.sh,$(sort $(wildcard tests/packages/*.sh)))
TESTS_timed   := $(sort $(wildcard tests/e2e/timed/*.sh))
TESTS_sweeps  := $(filter-out %/sweep.py,$(sort $(wildcard tests/sweeps/*.py)))
TESTS_html    := tests/html/run.sh
TESTS_engines := $(sort $(wildcard tests/exports/engines/*.sh))
TESTS_roots   := $(filter-out %/lib.sh %/pythons.sh tests/roots/readme_% tests/roots/fresh_%,\
	$(sort $(wildcard tests/roots/*.sh)))

# The suites of each tier. `all` adds tests that need the network (roots, engines), a browser (html)
# or real time (timed); the oracle and `computed` run whole there. `brief` are tests that quick runs
# in part, and check whole in another suite.
QUICK_SUITES := house unit cli golden laws oracle
BRIEF_SUITES := $(QUICK_SUITES) brief
CHECK_SUITES := $(QUICK_SUITES) rules views computed readers exports zoo e2e python packages
ALL_SUITES   := $(CHECK_SUITES) timed sweeps html engines roots
SUITES := $(ALL_SUITES)

# ---- under sanitizers ---------------------------------------------------------------------------

# One build serves AddressSanitizer, UndefinedBehaviorSanitizer and the fuzzers. Under it run all
# unit tests, what reads damaged files, prints reports and writes exports, how programs end, and
# what the fuzzers keep; in check-all all that runs the command.
SAN_BUILD := BUILD=build/san CC=clang CFLAGS='-O1 -gline-tables-only' \
	SAN=fuzzer-no-link,address,undefined
SAN_REPORTS := $(patsubst %,tests/%.sh,cli/bad_input cli/diff_html cli/export cli/export_kineto \
	cli/html exports/parquet golden/run)
SAN_E2E := bad_input exits life_cuda life_ends life_files life_processes losses
SAN_E2E_PROGRAMS := host life steps steps_setuid

# ThreadSanitizer is for the recorder: src/record and the parts of src/base and src/trace that it
# contains. Under it run the unit tests with threads, and programs with threads of their own or of
# the recorder's beside its writer. tests/tsan.supp has what is not ours.
THREAD_BUILD := SAN=thread
THREAD_E2E := baseline capture captured collectives definitions exits graph hostfn lag life_cuda \
	losses metrics open_ranges polling sampling settings

FUZZER := $(findstring fuzzer,$(SAN))
SAN_PROGRAMS := $(BUILD)/miniprof
ifeq ($(SAN),thread)
REST_SUITES := unit e2e
ALL_SUITES := $(REST_SUITES)
TESTS_e2e := $(THREAD_E2E:%=tests/e2e/%.sh)
SAN_E2E_PROGRAMS := $(notdir $(E2E_PROGRAMS))
else ifneq ($(SAN),)
REST_SUITES := unit reports e2e $(if $(FUZZER),fuzz)
ALL_SUITES := unit cli golden exports oracle e2e $(if $(FUZZER),fuzz)
TESTS_reports := $(SAN_REPORTS)
TESTS_cli := $(filter-out $(patsubst %,tests/cli/%.sh,claims docs_are_current documents install),\
	$(TESTS_cli))
TESTS_exports := $(filter %.sh,$(TESTS_exports))
TESTS_e2e := $(SAN_E2E:%=tests/e2e/%.sh)
SAN_PROGRAMS += $(TEST_TOOLS) $(ORACLE_PROGRAM)
endif
ifdef HAVE_CUDA
SAN_PROGRAMS += $(filter %/libminiprof.so %/libminiprof_preload.so $(SIMGPU_OUT)/% %/inference \
	$(SAN_E2E_PROGRAMS:%=$(BUILD)/tests/e2e/%) $(E2E_LIBRARIES),$(ALL_TARGETS))
endif

-include tests/qemu/qemu.mk

.PHONY: test-programs list-tests quick changed check-rest check-all fuzz-programs fuzz-corpus \
	lint-files check-readme check-fresh check-pythons $(SUITES:%=check-%)

# The software GPU tests itself: tests/e2e/simgpu_selftest.sh.
SIMGPU_SELFTEST := $(if $(HAVE_CUDA),$(BUILD)/simgpu/selftest $(BUILD)/simgpu/libselftest_inject.so)

ifeq ($(SAN),)
test-programs: programs $(if $(CROSS),,$(PACKAGE_PROGRAMS)) \
		$(UNIT_PROGRAMS) $(DEV_PROGRAMS) $(TEST_TOOLS) $(SIMGPU_SELFTEST)
else
test-programs: $(UNIT_PROGRAMS) $(SAN_PROGRAMS)
endif

# One suite, whole. Installing and packaging want the manual pages too.
$(SUITES:%=check-%): check-%: test-programs
	$(RUN) $* $(TESTS_$*)
check-packages check-roots: man

# Builds miniprof twice in each system, so it takes longer than other tests may.
check-readme: ## README and the tutorial, typed in a clean Debian 12 and Ubuntu 24.04 (20 minutes)
	@TEST_SECONDS=3600 $(RUN_ENVIRONMENT) tests/run.sh roots \
		$(sort $(wildcard tests/roots/readme_*.sh))
check-fresh: ## make demo and make check in a clean Debian 12 and Ubuntu 24.04 (1 hour)
	@TEST_SECONDS=3600 $(RUN_ENVIRONMENT) JOBS=1 tests/run.sh roots \
		$(sort $(wildcard tests/roots/fresh_*.sh))
# What is in that release changes from day to day.
check-pythons: programs $(TEST_TOOLS) ## stacks with Pythons of Debian's next release (5 minutes)
	@TEST_SECONDS=1200 $(RUN_ENVIRONMENT) tests/run.sh roots tests/roots/pythons.sh

# A line for run.sh's pool for each test of some suites: SUITE FILE BUILD SAN.
list-tests:
	@$(foreach suite,$(LISTED),$(foreach test,$(TESTS_$(suite)),\
		echo $(suite) $(test) $(abspath $(BUILD)$(if $(CROSS),/qemu)) $(SAN);))

# lists TIER: the same of a tier of a build, for instance `$(call lists,ALL) SAN=thread`.
lists = $(MAKE) --no-print-directory -s list-tests LISTED='$$($(1)_SUITES)'
# With RESULTS_FILE set, run.sh adds to it and leaves the verdict to `--total`.
POOL = RESULTS_FILE=$(RESULTS) $(RUN_ENVIRONMENT) tests/run.sh --pool
VERDICT = [ -z "$(TABLE)" ] || tests/run.sh --table $(RESULTS); tests/run.sh --total $(RESULTS)

quick: ## what to run while working: build, unit, reports, house rules (1 minute)
	@mkdir -p build; rm -f $(RESULTS)
	@$(SUBMAKE) test-programs
	@$(call lists,BRIEF) | $(SHORT) LAWS_SHORT=1 $(POOL)
	@$(VERDICT)

changed: ## FILES=...: the tests that these files reach (by default what git says has changed)
	@mkdir -p build; rm -f $(RESULTS)
	@$(SUBMAKE) test-programs
	@$(call lists,CHECK) | BUILD=$(BUILD) tests/changed $(FILES) | $(SHORT) $(POOL)
	@$(VERDICT)

check: ## deps, build, all that a change should pass before it is sent (5 minutes)
	@BUILD=$(BUILD) tools/dev/deps check
	@mkdir -p build; rm -f $(RESULTS)
	@$(SUBMAKE) all test-programs
	@$(call lists,CHECK) | $(SHORT) $(POOL)
	@$(VERDICT)

# Adds to the results of `make check`, which ran before.
check-rest: ## after make check: sanitizers, and clang-tidy for what changed (6 minutes)
	@BUILD=$(BUILD) tools/dev/deps all
	@$(SUBMAKE) $(SAN_BUILD) test-programs
	@$(SUBMAKE) $(THREAD_BUILD) test-programs
	@{ $(call lists,REST) $(SAN_BUILD); $(call lists,REST) $(THREAD_BUILD); \
		$(call lists,TIDY) ONLY_CHANGED=1; } | ONLY_CHANGED=1 $(SHORT) $(POOL)
	@$(VERDICT)

# What it looked at with clang-tidy and found good is what check-rest takes as known.
check-all: ## everything, for what an issue touched and before a release (1 hour)
	@BUILD=$(BUILD) tools/dev/deps all
	@mkdir -p build; rm -f $(RESULTS)
	@$(SUBMAKE) all test-programs
	@$(SUBMAKE) $(SAN_BUILD) test-programs
	@$(SUBMAKE) $(THREAD_BUILD) test-programs
	@$(if $(HAVE_QEMU),$(build_for_qemu),echo "$(NO_QEMU)")
	@{ $(call lists,ALL); $(call lists,ALL) $(SAN_BUILD); $(call lists,ALL) $(THREAD_BUILD); \
		$(if $(HAVE_QEMU),$(call lists,ALL) $(QEMU_BUILD);) $(call lists,LINT); } | \
		FUZZ_SHARE=$(FUZZ_SHARE) $(POOL)
	@$(VERDICT)
	@[ -n "$(T)" ] || tools/dev/changed_files --is-linted

# ---- fuzzer -------------------------------------------------------------------------------------

FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SOURCES := $(filter-out $(if $(HAVE_CUDA),,%/fuzz_ctl.c) \
	$(if $(HAVE_SQLITE),,%/fuzz_json.c %/fuzz_nvvp.c),$(FUZZ_SOURCES))
FUZZ_PROGRAMS := $(FUZZ_SOURCES:tests/fuzz/%.c=$(BUILD)/%)
FUZZ_SHARE := $(shell echo $$((($(FUZZ_SECONDS) + $(words $(FUZZ_SOURCES)) - 1) / \
	($(words $(FUZZ_SOURCES)) + !$(words $(FUZZ_SOURCES))))))
TESTS_fuzz := $(FUZZ_PROGRAMS)

$(BUILD)/fuzz_%: $(OBJ)/tests/fuzz/fuzz_%.o $(READER_LIB)
	$(call say,LINK,$@)
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(READER_LIB) $(READER_LIBS)

$(OBJ)/tests/fuzz/fuzz_ctl.o: EXTRA_CPPFLAGS += $(CUDA_CPPFLAGS)
$(BUILD)/fuzz_ctl: $(RECORD_OBJECTS)

fuzz-programs: $(FUZZ_PROGRAMS)
test-programs: $(if $(FUZZER),$(FUZZ_PROGRAMS))

fuzz: ## feed readers and the recorder broken input for FUZZ_SECONDS (clang's libFuzzer)
	@$(SUBMAKE) $(SAN_BUILD) fuzz-programs
	@BUILD=$(abspath build/san) SOURCE=$(CURDIR) FUZZ_SHARE=$(FUZZ_SHARE) JOBS=1 \
		tests/run.sh fuzz $(FUZZ_SOURCES:tests/fuzz/%.c=build/san/%)

# After a long run: 300 KB of all that the targets have found stay in the repository.
fuzz-corpus: ## renew tests/fuzz/corpus by what build/san/corpus has
	@$(SUBMAKE) $(SAN_BUILD) fuzz-programs
	@for target in $(FUZZ_SOURCES:tests/fuzz/%.c=build/san/%); do \
		BUILD=$(abspath build/san) SOURCE=$(CURDIR) tests/fuzz/run --keep $$target; done

# ---- lint ---------------------------------------------------------------------------------------

C_FILES := $(sort $(wildcard src/*/*.c src/*/*/*.c tools/*/*.c tools/*/*/*.c tests/*/*.c \
	tests/*/*/*.c samples/*.c))
H_FILES := $(sort $(wildcard include/miniprof/*.h src/*/*.h src/*/*/*.h \
	tests/*/*.h tests/*/*/*.h samples/*.h))
CUDA_FILES := $(filter src/record/% tests/simgpu/% tests/oracle/% samples/% tests/gpu/% \
	tests/fuzz/fuzz_ctl.c tests/unit/record/% tests/bench/bench_record_%,$(C_FILES))
# They need a later CUDA than the rest.
C_FILES := $(if $(CUDART),$(C_FILES),$(filter-out tests/gpu/cost.c tests/gpu/cost_loops.c,\
	$(C_FILES)))
LINT_FILES := $(if $(HAVE_CUDA),$(C_FILES),$(filter-out $(CUDA_FILES),$(C_FILES)))
# One needs the headers of the Python that loads it, the other a header that make writes.
LINT_FILES := $(filter-out tests/e2e/stacks/extension.c tests/unit/choose.c,$(LINT_FILES))
# With ONLY_CHANGED=1 those that changed since the commit in .ci/linted.
LINT_FILES := $(if $(ONLY_CHANGED),$(filter $(shell tools/dev/changed_files --to-lint),\
	$(LINT_FILES)),$(LINT_FILES))
LINT := build/lint

# Suites whose tests are folders: run.sh makes `lint-files` of each, so that they run beside others.
LINT_SUITES := tidy analyzer
TIDY_SUITES := tidy
TESTS_tidy := $(sort $(patsubst %/,%,$(dir $(LINT_FILES))))
TESTS_analyzer := $(filter src/% tools/%,$(TESTS_tidy))

lint: ## clang-format, house rules, clang-tidy and gcc -fanalyzer of everything (10 minutes)
	@mkdir -p build; rm -f $(RESULTS)
	@$(SUBMAKE) test-programs
	@$(MAKE) --no-print-directory -s list-tests LISTED='house rules $(LINT_SUITES)' | $(POOL)
	@$(VERDICT)

# CHECKER=tidy|analyzer FOLDER=...: the files of one folder.
lint-files: $(addprefix $(LINT)/$(CHECKER)/,$(filter $(wildcard $(FOLDER)/*.c),$(LINT_FILES)))

LINT_FLAGS = -std=gnu17 $(BASE_CPPFLAGS) -Itests -Isamples $(CUDA_CPPFLAGS)

# clang's analyzer takes nine tenths of clang-tidy's time: 5 s for a file of 400 lines at its own
# limit of 225,000 states for a function. With this one it takes 1 to 2 s. TIDY_STATES=225000 gives
# its own back.
TIDY_STATES ?= 50000
TIDY_FLAGS = $(LINT_FLAGS) -Xclang -analyzer-config -Xclang max-nodes=$(TIDY_STATES)

# A stamp for each file, and the headers that the file includes, so that only what changed is looked
# at again.
$(LINT)/tidy/%: % .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- $(TIDY_FLAGS) >$@.log 2>&1 || { \
		grep -E '(error|warning):' $@.log; echo "(more in $@.log)"; exit 1; }
	@gcc $(LINT_FLAGS) -MM -MP -MT $@ -MF $@.d $<
	@mv $@.log $@

# gcc 12 sees leaks and uninitialised values where a loop or a struct is too much for it; the
# sanitizers and clang's analyzer look for those.
ANALYZER := -O1 -fanalyzer -fdiagnostics-path-format=none -Werror \
	-Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-malloc-leak

$(LINT)/analyzer/%: %
	@mkdir -p $(@D)
	@gcc $(LINT_FLAGS) $(ANALYZER) -MMD -MP -MT $@ -MF $@.d -c -o /dev/null $< >$@.log 2>&1 || { \
		cat $@.log; exit 1; }
	@mv $@.log $@

-include $(shell find $(LINT) -name '*.d' 2>/dev/null)

# ---- with a GPU, and benchmarks -----------------------------------------------------------------

# One at a time: some of them measure.
gpu-check: export JOBS := 1
gpu-check: export TABLE := 1
gpu-check: export SOAK_SECONDS ?= 15
gpu-check: export SIGKILL_KILLS ?= 40
gpu-check: export RUNNING_ROUNDS ?= 5
gpu-check: export RUNNING_SOAK ?= 60
gpu-check: programs $(DEV_PROGRAMS) ## tests that need an NVIDIA GPU (tests/gpu)
	$(RUN) gpu $(filter-out tests/gpu/bench% %/close_time.sh %/growth.sh %/lib.sh \
		%/node_level.sh %/pairs.sh %/bare_cost.sh,$(sort $(wildcard tests/gpu/*.sh)))

gpu-zoo: programs ## what miniprof says of programs of many kinds, and what is true (tests/zoo)
	@BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) tests/zoo/run.sh

gpu-pairs: programs ## what recording costs, and what miniprof says of it (tests/gpu/pairs.sh)
	@BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) tests/gpu/pairs.sh

gpu-bare-cost: programs ## what the bare runs of run --pairs cost (tests/gpu/bare_cost.sh)
	@BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) tests/gpu/bare_cost.sh

gpu-gains: programs ## gains that advise and what-ifs foresee, and those taken (tests/gpu/gains.sh)
	@BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) tests/gpu/gains.sh

BENCH_SOURCES := $(sort $(wildcard tests/bench/bench_*.c))
ifndef HAVE_CUDA
BENCH_SOURCES := $(filter-out tests/bench/bench_record_%,$(BENCH_SOURCES))
endif
BENCH_SOURCES := $(filter-out $(if $(SIMGPU_NCCL),,%/bench_record_nccl.c),$(BENCH_SOURCES))
BENCH_PROGRAMS := $(BENCH_SOURCES:tests/bench/%.c=$(BUILD)/bench/%)

$(OBJ)/tests/bench/bench_record_%.o: EXTRA_CPPFLAGS += $(CUDA_CPPFLAGS)

$(BUILD)/bench/bench_record_%: $(OBJ)/tests/bench/bench_record_%.o $(RECORD_OBJECTS) $(READER_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $^ $(READER_LIBS)

# For Python to load.
BENCH_PROGRAMS += $(if $(HAVE_CUDA),$(BUILD)/bench/stacks.so)
$(OBJ)/tests/bench/stacks_library.o: EXTRA_CPPFLAGS += $(CUDA_CPPFLAGS)

$(BUILD)/bench/stacks.so: $(OBJ)/tests/bench/stacks_library.o $(RECORD_OBJECTS) $(READER_LIB)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $^ $(READER_LIBS) -lpthread -ldl

$(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(READER_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $^ $(READER_LIBS)

bench: programs $(BENCH_PROGRAMS) $(TEST_TOOLS) ## how fast writer and reader are (tests/bench)
	@echo "on $$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $$(nproc) cores"
	@for script in $(sort $(wildcard tests/bench/*.sh)); do \
		BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) $$script || exit 1; done

bench-compare: programs $(BENCH_PROGRAMS) ## OTHER=FOLDER: this build and another one, in turn
	@BUILD=$(abspath $(BUILD)) tests/bench/compare $(OTHER)

$(OBJ)/tests/gpu/%.o: EXTRA_CPPFLAGS += -Isamples $(CUDA_CPPFLAGS)

$(GPU_PROGRAMS): $(BUILD)/gpu/%: $(OBJ)/tests/gpu/%.o $(SAMPLES_OBJ)/common.o $(CUDA_STUB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(CUDA_STUB) -lpthread -ldl

$(BUILD)/gpu/soak: $(OBJ)/tests/gpu/threads_cpu.o
$(BUILD)/gpu/bare_calls: $(OBJ)/src/base/elf_symbols.o

$(BUILD)/gpu/libcost.so: $(OBJ)/tests/gpu/cost_loops.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^ $(CUDART) -ldl -lrt -lpthread

$(BUILD)/gpu/cost: $(OBJ)/tests/gpu/cost.o $(BUILD)/gpu/libcost.so $(CUDA_STUB)
	$(call say,LINK,$@)
	$(Q)$(LINK) -Wl,-rpath,'$$ORIGIN' -o $@ $^

$(BUILD)/gpu/libbare_cupti.so: $(OBJ)/tests/gpu/cost_bare_cupti.o $(RECORD_OBJECTS) $(TRACE_LIB)
	@mkdir -p $(@D)
	@rm -f $(@D)/librecord.a
	$(Q)ar qcs $(@D)/librecord.a $(RECORD_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(LINK) -shared -Wl,--gc-sections -o $@ $< $(@D)/librecord.a $(TRACE_LIB) -l:libzstd.a \
		-ldl -lpthread

$(BUILD)/gpu/node_level: $(OBJ)/tests/gpu/node_level.o $(SAMPLES_OBJ)/common.o \
		$(RECORD_OBJECTS) $(TRACE_LIB) $(CUDA_STUB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -Wl,--gc-sections -o $@ $(filter %.o,$^) $(TRACE_LIB) $(CUDA_STUB) -l:libzstd.a \
		-ldl -lpthread

bench-gpu: $(BUILD)/tests/tools/column_entropy
bench-gpu: programs $(COST_PROGRAMS) ## what recording costs on a GPU, with peers
	@BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) tests/gpu/bench.sh

bench-growth: programs ## what CUPTI costs the longer it records, on a GPU (tests/gpu/growth.sh)
	@BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) tests/gpu/growth.sh

bench-nodes: $(BUILD)/gpu/node_level ## what records of graph nodes cost, on a GPU
	@BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) tests/gpu/node_level.sh

bench-close: programs ## from cudaProfilerStop to a complete file, on a GPU (close_time.sh)
	@BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) tests/gpu/close_time.sh
