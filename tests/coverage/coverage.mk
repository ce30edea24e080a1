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

# Without optimisation, so that each branch of the source is one of the program. What fails is said,
# and does not stop it. Left out: what looks at the source or at packages.
COVERAGE_BUILD = BUILD=build/coverage EXTRA_CFLAGS= \
	CFLAGS="-O0 -g --coverage -fprofile-update=atomic -U_FORTIFY_SOURCE"
COVERAGE_SUITES = $(filter-out packages house rules,$(CHECK_SUITES))

.PHONY: coverage mutants
coverage: export GCOV_ERROR_FILE := $(abspath build/coverage/gcov.log)
coverage: RESULTS := build/coverage/results
coverage: ## lines and branches that make check runs (15 minutes; COVERAGE_SUITES="unit cli")
	@$(SUBMAKE) $(COVERAGE_BUILD) all test-programs
	@find build/coverage -name '*.gcda' -delete; rm -f $(RESULTS)
	@$(call lists,COVERAGE) $(COVERAGE_BUILD) | $(SHORT) $(POOL)
	@$(VERDICT) || true
	@tools/dev/coverage build/coverage --below 80

MUTANTS ?= 100
SEED ?= 1
FILES ?= src/*
mutants: ## MUTANTS=100 SEED=1 FILES='src/record/*' AGAIN=1: changes that no test notices
	@$(SHORT) tools/dev/mutants --count $(MUTANTS) --seed $(SEED) $(if $(AGAIN),--again) \
		--files $(patsubst %,'%',$(FILES))
