# e2e.mk: what the end-to-end tests profile, in BUILD/tests/e2e. Included by tests/tests.mk; linked
# as the samples are.
#
#   programs/*.c   a program each; steps/ has more of steps, and what it shares with others
#   ranks/         more of the program ranks, which needs the stand-in for NCCL; what starts it
#   preload/*.c    a shared library each, for LD_PRELOAD or dlopen
#   steps_setuid   steps that finds the software GPU where LD_LIBRARY_PATH is not looked at

E2E_PROGRAMS := $(patsubst tests/e2e/programs/%.c,$(BUILD)/tests/e2e/%,$(sort $(wildcard \
	tests/e2e/programs/*.c))) $(BUILD)/tests/e2e/steps_setuid
# NCCL's stand-in speaks NVTX's payload extension; reach asks cuGetProcAddress as since CUDA 12, and
# stream_values has the functions for values of CUDA 12.
E2E_PROGRAMS := $(filter-out $(if $(SIMGPU_NCCL),,%/ranks %/collectives) \
	$(if $(filter 11,$(SIMGPU_MAJOR)),%/reach %/stream_values),$(E2E_PROGRAMS))
E2E_LIBRARIES := $(patsubst tests/e2e/preload/%.c,$(BUILD)/tests/e2e/%.so,$(sort $(wildcard \
	tests/e2e/preload/*.c)))

ifdef HAVE_CUDA
ALL_TARGETS += $(E2E_PROGRAMS) $(E2E_LIBRARIES) $(BUILD)/tests/e2e/plugin_two.so

$(OBJ)/tests/e2e/%.o: EXTRA_CPPFLAGS += -Isamples -Itests $(CUDA_CPPFLAGS)

$(BUILD)/tests/e2e/steps $(BUILD)/tests/e2e/steps_setuid: $(OBJ)/tests/e2e/steps/host.o \
	$(OBJ)/tests/e2e/steps/graphs.o $(OBJ)/tests/gpu/threads_cpu.o
$(addprefix $(BUILD)/tests/e2e/,steps steps_setuid life): $(OBJ)/tests/e2e/steps/sandbox.o
$(addprefix $(BUILD)/tests/e2e/,steps steps_setuid life crash): \
	$(OBJ)/tests/e2e/steps/awaits.o $(OBJ)/src/base/process.o

$(BUILD)/tests/e2e/%: $(OBJ)/tests/e2e/programs/%.o $(SAMPLES_OBJ)/common.o $(CUDA_STUB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(CUDA_STUB) -lpthread -ldl

# The software GPU tells it what is true.
$(BUILD)/tests/e2e/ranks: $(addprefix $(OBJ)/tests/e2e/,programs/ranks.o ranks/iterations.o \
		ranks/plants.o ranks/truth.o) $(SAMPLES_OBJ)/common.o $(SIMGPU_NCCL) \
		$(BUILD)/simgpu/libcuda.so.1
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -rdynamic -o $@ $^ -lpthread -ldl

$(BUILD)/tests/e2e/host $(BUILD)/tests/e2e/headless: $(BUILD)/tests/e2e/%: \
		$(OBJ)/tests/e2e/programs/%.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $< -ldl -lpthread

$(BUILD)/tests/e2e/steps_setuid: $(OBJ)/tests/e2e/programs/steps.o $(SAMPLES_OBJ)/common.o \
		$(CUDA_STUB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(CUDA_STUB) -lpthread -ldl \
		-Xlinker -rpath -Xlinker $(abspath $(BUILD)/simgpu)

# Never with sanitizers, whose runtime would have to come first: those tests leave them out.
$(E2E_LIBRARIES): $(BUILD)/tests/e2e/%.so: tests/e2e/preload/%.c src/base/preload.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CUDA_CPPFLAGS) $(CPPFLAGS) -std=gnu17 -O1 -g -Wall -Wextra -fPIC -fno-builtin \
		-shared -o $@ $< $(if $(findstring _user,$@),$(CUDA_STUB)) -ldl
$(BUILD)/tests/e2e/gpu_user.so $(BUILD)/tests/e2e/host_user.so: $(CUDA_STUB)

# The same code with another name and a greater frame, to take the place of plugin_one.so in memory.
$(BUILD)/tests/e2e/plugin_two.so: tests/e2e/preload/plugin_one.c
	$(call say,LINK,$@)
	$(Q)$(CC) -std=gnu17 -O1 -g -Wall -Wextra -fPIC -fno-builtin -DPLUGIN=plugin_two -DROOM=512 \
		-shared -o $@ $<
endif
