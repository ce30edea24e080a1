# coverage.mk: how much the tests test. Included by tests/tests.mk.
#
#   make coverage    runs what `make check` runs on a build with gcc's --coverage, and prints the
#                    lines and branches that ran, by folder
#   make mutants     changes lines of src one at a time, and prints the changes that no test notices

# Counters of a process that ends by a signal or _exit: save.c.
ifeq ($(BUILD),build/coverage)
$(BUILD)/libminiprof.so: $(OBJ)/tests/coverage/save.o
$(BUILD)/libminiprof.so: LDFLAGS += $(OBJ)/tests/coverage/save.o \
	-Wl,--wrap=raise,--wrap=sigaction,--wrap=mp_writer_close
endif

# Without optimisation, so that each branch of the source is one of the program. What fails in these
# tests is listed, and keeps the numbers from nobody.
COVERAGE_BUILD = BUILD=build/coverage EXTRA_CFLAGS= \
	CFLAGS="-O0 -g --coverage -fprofile-update=atomic -U_FORTIFY_SOURCE"
COVERAGE_POOL ?= $(filter-out packages,$(POOL))
COVERAGE_RESULTS := build/coverage/results

.PHONY: coverage mutants
coverage: ## lines and branches that make check runs (15 minutes; COVERAGE_POOL="unit cli")
	@$(SUBMAKE) $(COVERAGE_BUILD) all test-programs
	@find build/coverage -name '*.gcda' -delete; rm -f $(COVERAGE_RESULTS)
	@$(LIST) $(COVERAGE_BUILD) POOL="$(COVERAGE_POOL)" | $(SHORT_ORACLE) \
		GCOV_ERROR_FILE=$(abspath build/coverage/gcov.log) RESULTS_FILE=$(COVERAGE_RESULTS) \
		$(RUN_ENVIRONMENT) tests/run.sh --pool
	@tests/run.sh --total $(COVERAGE_RESULTS) || true
	@tools/dev/coverage build/coverage --below 80

MUTANTS ?= 100
SEED ?= 1
FILES ?= src/*
mutants: ## MUTANTS=100 SEED=1 FILES='src/record/*': changes that no test notices
	@tools/dev/mutants --count $(MUTANTS) --seed $(SEED) --files $(patsubst %,'%',$(FILES))
