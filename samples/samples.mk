# samples.mk: the sample programs in C. Included by the top Makefile; uses the same variables as
# tests/simgpu/simgpu.mk.
#
#   samples-c   $(BUILD)/samples/: vecadd, inference, whatif, metrics
#
# They are linked against the toolkit's stub of libcuda, or without one against the software GPU's.
# Both have the SONAME libcuda.so.1: the same binary runs on a driver and, with
# LD_LIBRARY_PATH=$(BUILD)/simgpu, on the software GPU.

SAMPLES_OUT    := $(BUILD)/samples
SAMPLES_OBJ    := $(OBJ)/samples
SAMPLES_C_BINS := $(addprefix $(SAMPLES_OUT)/,vecadd inference whatif metrics)

ifdef HAVE_CUDA
CUDA_STUB ?= $(firstword $(wildcard $(CUDA_ROOT)/lib64/stubs/libcuda.so) \
	$(BUILD)/simgpu/libcuda.so.1)
ALL_TARGETS += $(SAMPLES_C_BINS)

.PHONY: samples-c
samples-c: $(SAMPLES_C_BINS)

$(SAMPLES_OUT)/vecadd: $(SAMPLES_OBJ)/vecadd.o $(SAMPLES_OBJ)/common.o
$(SAMPLES_OUT)/inference: $(SAMPLES_OBJ)/inference.o $(SAMPLES_OBJ)/model.o $(SAMPLES_OBJ)/common.o
$(SAMPLES_OUT)/whatif: $(SAMPLES_OBJ)/whatif.o $(SAMPLES_OBJ)/common.o
$(SAMPLES_OUT)/metrics: $(addprefix $(SAMPLES_OBJ)/,metrics.o metrics_ptx.o common.o)
$(SAMPLES_C_BINS): $(CUDA_STUB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $(filter %.o, $^) $(CUDA_STUB) -lpthread -ldl
endif
