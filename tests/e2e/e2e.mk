# e2e.mk: the small programs that the end-to-end tests profile, one for each programs/*.c, in
# BUILD/tests/e2e; steps/ has more of steps. Included by tests/tests.mk; linked as the samples are.

E2E_PROGRAMS := $(patsubst tests/e2e/programs/%.c,$(BUILD)/tests/e2e/%,$(sort $(wildcard \
	tests/e2e/programs/*.c)))

ifdef HAVE_CUDA
ALL_TARGETS += $(E2E_PROGRAMS)

$(OBJ)/tests/e2e/%.o: EXTRA_CPPFLAGS += -Isamples $(CUDA_CPPFLAGS)

$(BUILD)/tests/e2e/steps: $(OBJ)/tests/e2e/steps/host.o

$(BUILD)/tests/e2e/%: $(OBJ)/tests/e2e/programs/%.o $(SAMPLES_OBJ)/common.o $(CUDA_STUB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(CUDA_STUB) -lpthread -ldl
endif
