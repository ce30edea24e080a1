/* CUPTI and the few driver functions that the recorder calls, found at run time.
 *
 * The recorder links neither library: the application brings its own, and one libminiprof.so serves
 * CUDA 11.8 to 13.x. A process must not have two copies of CUPTI, so one that is already loaded is
 * used.
 *
 * Filled once in InitializeInjection, read-only afterwards.
 */
#ifndef MP_RECORD_CUPTI_CUPTI_API_H
#define MP_RECORD_CUPTI_CUPTI_API_H

#include <cupti.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef void cupti_request_function(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void cupti_complete_function(CUcontext context, uint32_t stream, uint8_t *buffer,
                                     size_t bytes, size_t valid_bytes);
typedef uint64_t cupti_clock_function(void);

/* Mirrors CUpti_SubscriberParams (CUPTI 13.0), which older headers lack. */
struct cupti_subscriber_params {
    size_t struct_size;
    const char *name;
    char *old_name;
    size_t old_name_size;
};

/* F(field, symbol, parameters). Without an optional function a feature is missing; without a
 * required one the library cannot be used. Handles of types that some headers lack are void
 * pointers. */
#define CUPTI_REQUIRED(F)                                                                          \
    F(get_version, cuptiGetVersion, (uint32_t *))                                                  \
    F(get_result_string, cuptiGetResultString, (CUptiResult, const char **))                       \
    F(get_callback_name, cuptiGetCallbackName, (CUpti_CallbackDomain, uint32_t, const char **))    \
    F(subscribe, cuptiSubscribe, (CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *))           \
    F(enable_callback, cuptiEnableCallback,                                                        \
      (uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId))                  \
    F(get_stream_id, cuptiGetStreamIdEx, (CUcontext, CUstream, uint8_t, uint32_t *))               \
    F(register_callbacks, cuptiActivityRegisterCallbacks,                                          \
      (cupti_request_function *, cupti_complete_function *))                                       \
    F(enable, cuptiActivityEnable, (CUpti_ActivityKind))                                           \
    F(disable, cuptiActivityDisable, (CUpti_ActivityKind))                                         \
    F(flush_all, cuptiActivityFlushAll, (uint32_t))                                                \
    F(next_record, cuptiActivityGetNextRecord, (uint8_t *, size_t, CUpti_Activity **))             \
    F(dropped_records, cuptiActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *))         \
    F(set_attribute, cuptiActivitySetAttribute, (CUpti_ActivityAttribute, size_t *, void *))       \
    F(register_clock, cuptiActivityRegisterTimestampCallback, (cupti_clock_function *))

#define CUPTI_OPTIONAL(F)                                                                          \
    F(subscribe_v2, cuptiSubscribe_v2,                                                             \
      (CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *, struct cupti_subscriber_params *))    \
    F(unsubscribe, cuptiUnsubscribe, (CUpti_SubscriberHandle))                                     \
    F(set_thread_id_type, cuptiSetThreadIdType, (int))                                             \
    F(get_attribute, cuptiActivityGetAttribute, (CUpti_ActivityAttribute, size_t *, void *))       \
    F(enable_and_dump, cuptiActivityEnableAndDump, (CUpti_ActivityKind))                           \
    F(enable_runtime_api, cuptiActivityEnableRuntimeApi, (CUpti_CallbackId, uint8_t))              \
    F(enable_driver_api, cuptiActivityEnableDriverApi, (CUpti_CallbackId, uint8_t))                \
    F(configure_unified_memory, cuptiActivityConfigureUnifiedMemoryCounter,                        \
      (CUpti_ActivityUnifiedMemoryCounterConfig *, uint32_t))                                      \
    F(enable_device_graph, cuptiActivityEnableDeviceGraph, (uint8_t))                              \
    F(get_device_id, cuptiGetDeviceId, (CUcontext, uint32_t *))                                    \
    F(get_graph_node_id, cuptiGetGraphNodeId, (CUgraphNode, uint64_t *))                           \
    F(get_graph_exec_id, cuptiGetGraphExecId, (CUgraphExec, uint32_t *))

struct cupti_api {
#define CUPTI_FIELD(field, symbol, parameters) CUptiResult(*field) parameters;
    CUPTI_REQUIRED(CUPTI_FIELD)
    CUPTI_OPTIONAL(CUPTI_FIELD)
#undef CUPTI_FIELD
    uint32_t version;    /* CUPTI_API_VERSION of the loaded library */
    char path[PATH_MAX]; /* the file that it came from */
};

/* F(field, symbol, parameters). cuCtxRecordEvent came with CUDA 12.5. */
#define DRIVER_FUNCTIONS(F)                                                                        \
    F(get_version, cuDriverGetVersion, (int *version))                                             \
    F(synchronize, cuCtxSynchronize, (void))                                                       \
    F(push_context, cuCtxPushCurrent_v2, (CUcontext context))                                      \
    F(pop_context, cuCtxPopCurrent_v2, (CUcontext * context))                                      \
    F(get_current, cuCtxGetCurrent, (CUcontext * context))                                         \
    F(primary_state, cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active))  \
    F(primary_retain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))            \
    F(primary_release, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                            \
    F(get_device, cuCtxGetDevice, (CUdevice * device))                                             \
    F(get_device_count, cuDeviceGetCount, (int *count))                                            \
    F(get_name, cuDeviceGetName, (char *name, int size, CUdevice device))                          \
    F(get_bus_id, cuDeviceGetPCIBusId, (char *id, int size, CUdevice device))                      \
    F(is_capturing, cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status))        \
    F(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))      \
    F(create_event, cuEventCreate, (CUevent * event, unsigned flags))                              \
    F(destroy_event, cuEventDestroy_v2, (CUevent event))                                           \
    F(query_event, cuEventQuery, (CUevent event))                                                  \
    F(record_context, cuCtxRecordEvent, (CUcontext context, CUevent event))                        \
    F(get_edges, cuGraphGetEdges,                                                                  \
      (CUgraph graph, CUgraphNode * from, CUgraphNode * to, size_t * count))                       \
    F(get_edges_v2, cuGraphGetEdges_v2,                                                            \
      (CUgraph graph, CUgraphNode * from, CUgraphNode * to, void *data, size_t *count))

/* The driver that loaded us. All optional: NULL where this driver lacks them. */
struct driver_api {
#define DRIVER_FIELD(field, symbol, parameters) CUresult(*field) parameters;
    DRIVER_FUNCTIONS(DRIVER_FIELD)
#undef DRIVER_FIELD
    int version; /* as CUDA_VERSION: 13000; 0 if unknown */
};

/* Looks at the libcuda.so.1 that is loaded. */
void driver_api_load(struct driver_api *driver);

/* Finds and opens CUPTI. `requested` is MINIPROF_CUPTI or empty. On failure *error says in one line
 * what is wrong and what to do, and everything that was opened is closed again. */
enum mp_status cupti_api_load(struct cupti_api *cupti, const struct driver_api *driver,
                              const char *requested, struct mp_error *error);

/* Puts the next record of `buffer` into *record, where NULL means that there was none yet. False
 * when there is no further record. Zeroes also end a buffer (activity_recover). */
bool cupti_next(const struct cupti_api *cupti, uint8_t *buffer, size_t valid_bytes,
                CUpti_Activity **record);

#define CUPTI_NO_STREAM UINT32_MAX

/* CUPTI's id of a stream by its handle; CUPTI_NO_STREAM when CUPTI does not know it. Also takes the
 * handles of the legacy and the per-thread default stream, and ignores `per_thread` for them. */
uint32_t cupti_stream_id(const struct cupti_api *cupti, CUcontext context, uintptr_t handle,
                         bool per_thread);

/* What the call of a callback returned; on EXIT only. */
static inline uint32_t cupti_call_result(const CUpti_CallbackData *data)
{
    return data->functionReturnValue ? *(const uint32_t *)data->functionReturnValue : 0;
}

/* CUPTI's words for a result, never NULL. */
const char *cupti_result_text(const struct cupti_api *cupti, CUptiResult result);

/* ---- Which of CUPTI's known faults the loaded version has (quirks.def) ---- */

enum quirk {
#define QUIRK(name, first, fixed, answer, what, done, source) QUIRK_##name,
#include "record/cupti/quirks.def"
#undef QUIRK
    QUIRK_COUNT
};

/* `version`: CUPTI_API_VERSION of the loaded library. Any thread. */
bool quirk_is_in(enum quirk quirk, uint32_t version);

/* Logs, at level info, each fault of this version that the recorder cannot work around. */
void quirks_tell(uint32_t version);

#endif
