/*
 * selftest_records.h: of each kind of record the greatest struct that CUPTI's headers have. CUDA
 * 11.8 and 12.0 have the same CUPTI_API_VERSION, with which simgpu gives the kernels of 11.8.
 */
#ifndef SIMGPU_SELFTEST_RECORDS_H
#define SIMGPU_SELFTEST_RECORDS_H

#include "compat.h"

#if CUPTI_API_VERSION < 19
typedef CUpti_ActivityKernel8 record_kernel;
#elif defined(SIMGPU_LACKS_CUpti_ActivityKernel10)
typedef CUpti_ActivityKernel9 record_kernel;
#else
typedef CUpti_ActivityKernel10 record_kernel;
#endif
#ifdef SIMGPU_LACKS_CUpti_ActivityMemcpy6
typedef CUpti_ActivityMemcpy5 record_copy;
#else
typedef CUpti_ActivityMemcpy6 record_copy;
#endif
#ifdef SIMGPU_LACKS_CUpti_ActivitySynchronization2
typedef CUpti_ActivitySynchronization record_sync;
#else
typedef CUpti_ActivitySynchronization2 record_sync;
#endif
#ifdef SIMGPU_LACKS_CUpti_ActivityCudaEvent2
typedef CUpti_ActivityCudaEvent record_event;
#else
typedef CUpti_ActivityCudaEvent2 record_event;
#endif
#if defined(SIMGPU_LACKS_CUpti_ActivityContext2)
typedef CUpti_ActivityContext record_context;
#elif defined(SIMGPU_LACKS_CUpti_ActivityContext3)
typedef CUpti_ActivityContext2 record_context;
#else
typedef CUpti_ActivityContext3 record_context;
#endif
#ifdef SIMGPU_LACKS_CUpti_ActivityDevice5
typedef CUpti_ActivityDevice4 record_device;
#else
typedef CUpti_ActivityDevice5 record_device;
#endif
#if defined(SIMGPU_LACKS_CUpti_ActivityOverhead2)
typedef CUpti_ActivityOverhead record_overhead;
#elif defined(SIMGPU_LACKS_CUpti_ActivityOverhead3)
typedef CUpti_ActivityOverhead2 record_overhead;
#else
typedef CUpti_ActivityOverhead3 record_overhead;
#endif
#ifdef SIMGPU_LACKS_CUpti_ActivityMemory4
typedef CUpti_ActivityMemory3 record_memory;
#else
typedef CUpti_ActivityMemory4 record_memory;
#endif
#ifdef SIMGPU_LACKS_CUpti_ActivityMemoryPool3
typedef CUpti_ActivityMemoryPool2 record_pool;
#else
typedef CUpti_ActivityMemoryPool3 record_pool;
#endif
#ifdef SIMGPU_LACKS_CUpti_ActivityUnifiedMemoryCounter3
typedef CUpti_ActivityUnifiedMemoryCounter2 record_unified;
#else
typedef CUpti_ActivityUnifiedMemoryCounter3 record_unified;
#endif
#ifdef SIMGPU_LACKS_CUpti_ActivityGraphTrace2
typedef CUpti_ActivityGraphTrace record_graph;
#else
typedef CUpti_ActivityGraphTrace2 record_graph;
#endif

#endif
