# simgpu.mk: the software GPU and its self-test. Included by the top Makefile, which defines
# BUILD, OBJ, LINK, HAVE_CUDA and CUDA_CPPFLAGS and has the rule that makes an object of a .c file.
# Needs the toolkit's headers, neither its libraries nor a GPU.
#
#   simgpu            $(BUILD)/simgpu/libcuda.so.1, libcupti.so.13 (or .12, .11.8), libcupti.so
#   simgpu-selftest   builds and runs the self-test; its last line is 'N passed, N failed'

SIMGPU_OUT := $(BUILD)/simgpu
SIMGPU_OBJ := $(OBJ)/tests/simgpu
SIMGPU_GEN := $(SIMGPU_OBJ)/gen

SIMGPU_CUDA_OBJS := $(addprefix $(SIMGPU_OBJ)/, clock.o api.o init.o device.o context.o \
	schedule.o stream.o event.o module.o operation.o profile.o kernels.o launch.o memory.o \
	managed.o copy.o capture.o graph.o graph_clone.o graph_query.o)
SIMGPU_CUPTI_OBJS := $(addprefix $(SIMGPU_OBJ)/, cupti_activity.o cupti_buffer.o \
	cupti_callback.o cupti_faults.o cupti_layout.o cupti_misc.o cupti_profiler_metrics.o \
	cupti_profiler_session.o)
SIMGPU_TEST_OBJS := $(addprefix $(SIMGPU_OBJ)/, selftest.o selftest_client.o selftest_records.o \
	selftest_schedule.o selftest_managed.o selftest_api.o selftest_samples.o \
	selftest_profiler.o selftest_profiler_host.o)
SIMGPU_HEADERS := $(patsubst -isystem,,$(CUDA_CPPFLAGS)) /usr/include
simgpu_header = $(firstword $(wildcard $(addsuffix /$(1),$(SIMGPU_HEADERS))))
# The range profiler came with CUDA 12.6.
SIMGPU_CUPTI_OBJS += $(if $(call simgpu_header,cupti_range_profiler.h),$(addprefix \
	$(SIMGPU_OBJ)/cupti_profiler_,host.o range.o target.o))
# libcupti has the soname that the toolkit's has, since a client looks for no newer one than fits
# the driver.
SIMGPU_MAJOR := $(if $(HAVE_CUDA),$(shell \
	sed -n 's/^.define CUDA_VERSION \(..\)...$$/\1/p' $(call simgpu_header,cuda.h)))
SIMGPU_CUPTI := libcupti.so.$(if $(filter 11,$(SIMGPU_MAJOR)),11.8,$(SIMGPU_MAJOR))
SIMGPU_LIBS := $(addprefix $(SIMGPU_OUT)/,libcuda.so.1 $(SIMGPU_CUPTI) libcupti.so)
SIMGPU_SAMPLES := $(BUILD)/samples/vecadd $(BUILD)/samples/inference

ifdef HAVE_CUDA
ALL_TARGETS += $(SIMGPU_LIBS)

.PHONY: simgpu simgpu-selftest
simgpu: $(SIMGPU_LIBS)

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
	cuFuncGetName cuStreamGetId cuStreamGetCaptureInfo_v3 cuEventElapsedTime_v2 \
	cuGraphGetEdges_v2 cuGraphExecUpdate_v2 cuGraphInstantiateWithParams
SIMGPU_CUPTI_NAMES := $(addprefix CUpti_Activity,Kernel9 Kernel10 Memcpy6 Synchronization2 \
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
	$(SIMGPU_OBJ)/selftest_inject.o
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
$(SIMGPU_OUT)/libcupti.so: $(SIMGPU_OUT)/$(SIMGPU_CUPTI)
	ln -sf $(<F) $@

# The test programs find the two libraries beside them.
$(SIMGPU_OUT)/libselftest_inject.so: $(SIMGPU_OBJ)/selftest_inject.o \
		$(SIMGPU_OBJ)/selftest_client.o $(SIMGPU_LIBS)
	$(LINK) -shared -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o, $^) \
		$(SIMGPU_OUT)/$(SIMGPU_CUPTI) $(SIMGPU_OUT)/libcuda.so.1
$(SIMGPU_OUT)/selftest: $(SIMGPU_TEST_OBJS) $(SIMGPU_LIBS)
	$(LINK) -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o, $^) \
		$(SIMGPU_OUT)/$(SIMGPU_CUPTI) $(SIMGPU_OUT)/libcuda.so.1 -lpthread

simgpu-selftest: $(SIMGPU_OUT)/selftest $(SIMGPU_OUT)/libselftest_inject.so $(SIMGPU_SAMPLES)
	LD_LIBRARY_PATH=$(abspath $(SIMGPU_OUT)) $(SIMGPU_OUT)/selftest $(abspath $(SIMGPU_OUT)) \
		$(abspath $(BUILD)/samples)
endif
