# simgpu.mk: the software GPU and its self-test. Included by the top Makefile, which defines
# BUILD, OBJ, LINK, HAVE_CUDA and CUDA_CPPFLAGS and has the rule that makes an object of a .c file.
# Needs the toolkit's headers, neither its libraries nor a GPU.
#
#   simgpu            $(BUILD)/simgpu/libcuda.so.1, libcupti.so.13 (or .12, .11.8), libcupti.so
#   simgpu            and libnccl.so.2, if the headers know NVTX's payloads
#   simgpu-selftest   builds and runs the self-test; its last line is 'N passed, N failed'

SIMGPU_OUT := $(BUILD)/simgpu
SIMGPU_OBJ := $(OBJ)/tests/simgpu
SIMGPU_GEN := $(SIMGPU_OBJ)/gen

SIMGPU_CUDA_OBJS := $(addprefix $(SIMGPU_OBJ)/, clock.o costs.o api.o init.o device.o context.o \
	schedule.o stream.o event.o value.o module.o operation.o profile.o ledger.o kernels.o launch.o \
	memory.o mapping.o managed.o copy.o green.o host.o capture.o graph.o graph_clone.o graph_node.o \
	graph_query.o)
SIMGPU_CUPTI_OBJS := $(addprefix $(SIMGPU_OBJ)/, cupti_activity.o cupti_buffer.o \
	cupti_callback.o cupti_faults.o cupti_layout.o cupti_misc.o cupti_profiler_metrics.o \
	cupti_profiler_session.o)
SIMGPU_TEST_OBJS := $(addprefix $(SIMGPU_OBJ)/, selftest.o selftest_client.o selftest_records.o \
	selftest_schedule.o selftest_overlap.o selftest_host.o selftest_managed.o selftest_api.o \
	selftest_samples.o selftest_profiler.o selftest_profiler_host.o)
SIMGPU_HEADERS := $(patsubst -isystem,,$(CUDA_CPPFLAGS)) /usr/include
simgpu_header = $(firstword $(wildcard $(addsuffix /$(1),$(SIMGPU_HEADERS))))
# The range profiler came with CUDA 12.6.
SIMGPU_CUPTI_OBJS += $(if $(call simgpu_header,cupti_range_profiler.h),$(addprefix \
	$(SIMGPU_OBJ)/cupti_profiler_,host.o range.o target.o))
SIMGPU_CUPTI_OBJS += $(if $(call simgpu_header,cupti_pmsampling.h),$(SIMGPU_OBJ)/cupti_pm.o)
# libcupti has the soname that the toolkit's has, since a client looks for no newer one than fits
# the driver.
SIMGPU_MAJOR := $(if $(HAVE_CUDA),$(shell \
	sed -n 's/^.define CUDA_VERSION \(..\)...$$/\1/p' $(call simgpu_header,cuda.h)))
SIMGPU_CUPTI := libcupti.so.$(if $(filter 11,$(SIMGPU_MAJOR)),11.8,$(SIMGPU_MAJOR))
SIMGPU_LIBS := $(addprefix $(SIMGPU_OUT)/,libcuda.so.1 $(SIMGPU_CUPTI) libcupti.so \
	libnvidia-ml.so.1)
# NCCL speaks NVTX's payload extension, which CUDA 11.8's headers do not know.
SIMGPU_NCCL := $(if $(call simgpu_header,nvtx3/nvToolsExtPayload.h),$(SIMGPU_OUT)/libnccl.so.2)
SIMGPU_NCCL_OBJS := $(addprefix $(SIMGPU_OBJ)/nccl/, collectives.o comm.o group.o launch.o meet.o \
	nvtx.o play.o plugin.o)
SIMGPU_NCCL_TOOL := $(if $(SIMGPU_NCCL),$(SIMGPU_OUT)/libselftest_nccl_tool.so)
SIMGPU_TEST_OBJS += $(if $(SIMGPU_NCCL),$(addprefix $(SIMGPU_OBJ)/nccl/, selftest_ranks.o \
	selftest_times.o selftest_told.o))
SIMGPU_SAMPLES := $(BUILD)/samples/vecadd $(BUILD)/samples/inference

ifdef HAVE_CUDA
ALL_TARGETS += $(SIMGPU_LIBS) $(SIMGPU_NCCL) $(SIMGPU_OUT)/versions

.PHONY: simgpu simgpu-selftest
simgpu: $(SIMGPU_LIBS) $(SIMGPU_NCCL) $(SIMGPU_OUT)/versions

# Names of errors and callbacks, taken from the toolkit's headers.
simgpu_pairs = sed -n 's/^ *\($(1)_SUCCESS\|$(1)_ERROR_[A-Z0-9_]*\) *= *\([0-9]*\).*/{\2, "\1"},/p'
simgpu_names = sed -n \
	's/^ *CUPTI_$(1)_TRACE_CBID_\(cu[A-Za-z0-9_]*\) *= *\([0-9]*\),.*/[\2] = "\1",/p'

$(SIMGPU_GEN)/error_names.inc: $(call simgpu_header,cuda.h)
	@mkdir -p $(@D)
	@$(call simgpu_pairs,CUDA) $< >$@
$(SIMGPU_GEN)/result_names.inc: $(call simgpu_header,cupti_result.h)
	@mkdir -p $(@D)
	@$(call simgpu_pairs,CUPTI) $< >$@
$(SIMGPU_GEN)/driver_names.inc: $(call simgpu_header,cupti_driver_cbid.h)
	@mkdir -p $(@D)
	@$(call simgpu_names,DRIVER) $< >$@
$(SIMGPU_GEN)/runtime_names.inc: $(call simgpu_header,cupti_runtime_cbid.h)
	@mkdir -p $(@D)
	@$(call simgpu_names,RUNTIME) $< >$@


# Which of the names that compat.h and api.def ask about the headers do not have. A driver function
# is there when CUPTI knows its parameters.
SIMGPU_DRIVER_NAMES := cuGetProcAddress_v2 cuCtxCreate_v4 cuCtxGetId cuModuleGetFunctionCount \
	cuFuncGetName cuStreamGetId cuStreamGetCaptureInfo_v3 cuEventElapsedTime_v2 cuCtxRecordEvent \
	cuGraphGetEdges_v2 cuGraphAddNode_v2 cuGraphExecUpdate_v2 cuGraphInstantiateWithParams \
	cuGreenCtxStreamCreate
SIMGPU_CUPTI_NAMES := $(addprefix CUpti_Activity,Kernel10 Memcpy6 Synchronization2 \
	CudaEvent2 Context2 Context3 Device5 Overhead2 Overhead3 Memory4 MemoryPool3 GraphTrace2 \
	UnifiedMemoryCounter3) \
	$(addprefix cuptiActivityEnable,DriverApi RuntimeApi CudaEventDeviceTimestamps \
	AllSyncRecords DeviceGraph AllocationSource HWTrace LaunchAttributes) \
	cuptiGetGraphExecId cuptiGetErrorMessage CUpti_SubscriberParams CUPTI_CB_DOMAIN_STATE \
	cuptiProfilerHostGetMaxNumHardwareMetricsPerPass \
	CUPTI_CONTEXT_CIG_MODE_NONE $(addprefix CUPTI_ACTIVITY_,THREAD_ID_TYPE_SIZE \
	OVERHEAD_LAZY_FUNCTION_LOADING ATTR_PER_THREAD_ACTIVITY_BUFFER \
	ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS)
SIMGPU_PROBED := $(wildcard $(foreach header,generated_cuda_meta.h cupti_activity.h \
	cupti_activity_deprecated.h cupti_callbacks.h cupti_result.h cupti_profiler_host.h,\
	$(call simgpu_header,$(header))))

$(SIMGPU_GEN)/lacks.h: $(SIMGPU_PROBED) tests/simgpu/simgpu.mk $(BUILD)/flags
	@mkdir -p $(@D)
	@for name in $(SIMGPU_DRIVER_NAMES:=_params) $(SIMGPU_CUPTI_NAMES); do \
		cat $(SIMGPU_PROBED) | grep -qw "$$name" || \
		echo "#define SIMGPU_LACKS_$${name%_params}"; done >$@

SIMGPU_ALL_OBJS := $(SIMGPU_CUDA_OBJS) $(SIMGPU_CUPTI_OBJS) $(SIMGPU_TEST_OBJS) \
	$(SIMGPU_OBJ)/nvml.o $(SIMGPU_OBJ)/selftest_inject.o $(SIMGPU_NCCL_OBJS) \
	$(SIMGPU_OBJ)/nccl/selftest_tool.o
$(SIMGPU_ALL_OBJS): $(SIMGPU_GEN)/lacks.h
$(SIMGPU_ALL_OBJS): EXTRA_CPPFLAGS += -I$(SIMGPU_GEN)
$(SIMGPU_OBJ)/device.o: $(SIMGPU_GEN)/error_names.inc

# CUPTI's cupti_profiler_host.h includes C++'s <string>, of which it uses nothing.
SIMGPU_NO_CXX := $(SIMGPU_GEN)/no_cxx
$(SIMGPU_NO_CXX)/string:
	@mkdir -p $(@D)
	@touch $@
SIMGPU_HOST_USERS := cupti_profiler_host selftest_profiler selftest_profiler_host
SIMGPU_HOST_OBJS := $(SIMGPU_HOST_USERS:%=$(SIMGPU_OBJ)/%.o)
SIMGPU_HOST_LINT := $(foreach lint,tidy analyzer,\
	$(SIMGPU_HOST_USERS:%=build/lint/$(lint)/tests/simgpu/%.c))
$(SIMGPU_HOST_OBJS) $(SIMGPU_HOST_LINT): $(SIMGPU_NO_CXX)/string
$(SIMGPU_HOST_OBJS): EXTRA_CPPFLAGS += -I$(SIMGPU_NO_CXX)
$(SIMGPU_HOST_LINT): LINT_FLAGS += -I$(SIMGPU_NO_CXX)

$(SIMGPU_OBJ)/cupti_misc.o: $(SIMGPU_GEN)/driver_names.inc $(SIMGPU_GEN)/runtime_names.inc \
	$(SIMGPU_GEN)/result_names.inc

$(SIMGPU_OUT)/libcuda.so.1: $(SIMGPU_CUDA_OBJS)
	@mkdir -p $(@D)
	$(LINK) -shared -Wl,-soname,libcuda.so.1 -o $@ $^ -lpthread -ldl
$(SIMGPU_OUT)/$(SIMGPU_CUPTI): $(SIMGPU_CUPTI_OBJS) $(SIMGPU_OUT)/libcuda.so.1
	$(LINK) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lpthread
$(SIMGPU_OUT)/libnvidia-ml.so.1: $(SIMGPU_OBJ)/nvml.o $(SIMGPU_OUT)/libcuda.so.1
	$(LINK) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lpthread
$(SIMGPU_OUT)/libcupti.so: $(SIMGPU_OUT)/$(SIMGPU_CUPTI)
	ln -sf $(<F) $@

$(SIMGPU_OUT)/libnccl.so.2: $(SIMGPU_NCCL_OBJS) $(SIMGPU_OUT)/libcuda.so.1
	$(LINK) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lpthread -ldl

# The versions that they claim, as the costs of recording name them (base/io.h).
$(SIMGPU_OUT)/versions: $(call simgpu_header,cuda.h) $(call simgpu_header,cupti_version.h) \
		$(BUILD)/flags
	@mkdir -p $(@D)
	@sed -n 's/^.define CUDA_VERSION */driver=/p; s/^.define CUPTI_API_VERSION */cupti=/p' \
		$(filter %.h,$^) >$@

# The test programs find the two libraries beside them.
$(SIMGPU_OUT)/libselftest_inject.so: $(SIMGPU_OBJ)/selftest_inject.o \
		$(SIMGPU_OBJ)/selftest_client.o $(SIMGPU_LIBS)
	$(LINK) -shared -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o, $^) \
		$(SIMGPU_OUT)/$(SIMGPU_CUPTI) $(SIMGPU_OUT)/libcuda.so.1
$(SIMGPU_NCCL_TOOL): $(SIMGPU_OBJ)/nccl/selftest_tool.o
	$(LINK) -shared -o $@ $^ -ldl
$(SIMGPU_OUT)/selftest: $(SIMGPU_TEST_OBJS) $(SIMGPU_LIBS) $(SIMGPU_NCCL) | $(SIMGPU_NCCL_TOOL)
	$(LINK) -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o, $^) $(SIMGPU_NCCL) \
		$(SIMGPU_OUT)/$(SIMGPU_CUPTI) $(SIMGPU_OUT)/libcuda.so.1 -lpthread

simgpu-selftest: $(SIMGPU_OUT)/selftest $(SIMGPU_OUT)/libselftest_inject.so $(SIMGPU_SAMPLES)
	LD_LIBRARY_PATH=$(abspath $(SIMGPU_OUT)) $(SIMGPU_OUT)/selftest $(abspath $(SIMGPU_OUT)) \
		$(abspath $(BUILD)/samples)
endif
