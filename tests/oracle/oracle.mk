# oracle.mk: the program that runs the oracle's programs on the software GPU. Included by
# tests/tests.mk; linked as the samples are, but with simgpu itself, whose clock it moves.

ifdef HAVE_CUDA
ORACLE_PROGRAM := $(BUILD)/tests/oracle/run_programs
ALL_TARGETS += $(ORACLE_PROGRAM)

$(OBJ)/tests/oracle/%.o: EXTRA_CPPFLAGS += -Isamples $(CUDA_CPPFLAGS)

$(ORACLE_PROGRAM): $(OBJ)/tests/oracle/run_programs.o $(SAMPLES_OBJ)/common.o \
		$(SIMGPU_OUT)/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(SIMGPU_OUT)/libcuda.so.1 -lpthread -ldl
endif
