/*
 * compat.h: what the headers of older CUDA toolkits (11.8 and later) lack.
 *
 * lacks.h comes from the toolkit's headers at build time (simgpu.mk): it defines SIMGPU_LACKS_name
 * for each name in its list that they do not have. So nothing here has to know in which release
 * something came, and a linter that reads a file alone sees what the newest headers give.
 *
 * Driver functions that the headers lack are left out, as their cbids are unknown. CUPTI's are
 * compiled and stay hidden: only what the headers declare is exported. Enumerators have their
 * numbers of CUDA 13.0. Included after <cupti.h>.
 */
#ifndef SIMGPU_COMPAT_H
#define SIMGPU_COMPAT_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#if __has_include("lacks.h")
#include "lacks.h"
#endif

/* ---- enumerators and constants ---- */

#ifdef SIMGPU_LACKS_CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING
#define CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING (5 << 16)
#endif
#ifdef SIMGPU_LACKS_CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE
#define CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE 2
#endif
#ifdef SIMGPU_LACKS_CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER
#define CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER 9
#endif
#ifdef SIMGPU_LACKS_CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS
#define CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS 10
#endif
#ifdef SIMGPU_LACKS_CUPTI_CONTEXT_CIG_MODE_NONE
#define CUPTI_CONTEXT_CIG_MODE_NONE 0
#endif

/* ---- CUPTI functions ---- */

#ifdef SIMGPU_LACKS_CUpti_SubscriberParams
#define CUPTI_SUBSCRIBER_NAME_MAX_LEN 53
typedef struct {
    size_t structSize;
    const char *subscriberName;
    char *oldSubscriberName;
    size_t oldSubscriberSize;
} CUpti_SubscriberParams;
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
                                       CUpti_CallbackFunc callback, void *userdata,
                                       CUpti_SubscriberParams *pParams);
#endif
#ifdef SIMGPU_LACKS_cuptiActivityEnableDriverApi
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable);
#endif
#ifdef SIMGPU_LACKS_cuptiActivityEnableRuntimeApi
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable);
#endif
#ifdef SIMGPU_LACKS_cuptiActivityEnableCudaEventDeviceTimestamps
CUptiResult CUPTIAPI cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable);
#endif
#ifdef SIMGPU_LACKS_cuptiActivityEnableAllSyncRecords
CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t enable);
#endif
#ifdef SIMGPU_LACKS_cuptiActivityEnableDeviceGraph
CUptiResult CUPTIAPI cuptiActivityEnableDeviceGraph(uint8_t enable);
#endif
#ifdef SIMGPU_LACKS_cuptiActivityEnableAllocationSource
CUptiResult CUPTIAPI cuptiActivityEnableAllocationSource(uint8_t enable);
#endif
#ifdef SIMGPU_LACKS_cuptiActivityEnableHWTrace
CUptiResult CUPTIAPI cuptiActivityEnableHWTrace(uint8_t enable);
#endif
#ifdef SIMGPU_LACKS_cuptiActivityEnableLaunchAttributes
CUptiResult CUPTIAPI cuptiActivityEnableLaunchAttributes(uint8_t enable);
#endif
#ifdef SIMGPU_LACKS_cuptiGetGraphExecId
CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId);
#endif
#ifdef SIMGPU_LACKS_cuptiGetErrorMessage
CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char **str);
#endif

#endif
