# oracle.mk: the program that runs the oracle's programs on the software GPU. Included by
# tests/tests.mk; linked as the samples are, but with simgpu itself, whose clock it moves. The
# recorder finds its miniprof_preload by name (-rdynamic).

ifdef HAVE_CUDA
ORACLE_PROGRAM := $(BUILD)/tests/oracle/run_programs
ALL_TARGETS += $(ORACLE_PROGRAM)

$(OBJ)/tests/oracle/%.o: EXTRA_CPPFLAGS += -Isamples $(CUDA_CPPFLAGS)

ORACLE_PARTS := run_programs lines nodes functions values green waits preload

$(ORACLE_PROGRAM): $(ORACLE_PARTS:%=$(OBJ)/tests/oracle/%.o) $(SAMPLES_OBJ)/common.o \
		$(SIMGPU_OUT)/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -rdynamic -o $@ $(filter %.o,$^) $(SIMGPU_OUT)/libcuda.so.1 -lpthread -ldl
endif
