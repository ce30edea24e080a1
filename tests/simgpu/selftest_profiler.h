/*
 * selftest_profiler.h: a client of the range profiler: the sequence that every one goes through.
 */
#ifndef SIMGPU_SELFTEST_PROFILER_H
#define SIMGPU_SELFTEST_PROFILER_H

#include "selftest.h"

#if __has_include(<cupti_range_profiler.h>)

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

/* A struct of parameters that has its size and the given fields, all else 0. */
#define PARAMS(name, type, ...)                                                                    \
    CUpti_##type##_Params name = {.structSize = CUpti_##type##_Params_STRUCT_SIZE, __VA_ARGS__}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct profiler {
    CUpti_Profiler_Host_Object *host;
    CUpti_RangeProfiler_Object *object;
    const char **names;
    size_t name_count;
    size_t passes;
    uint8_t *image, *fresh; /* counter data, and as it was when it was initialised */
    size_t image_size;
};

extern struct profiler profiler;

void profiler_initialize(void);
void profiler_openHost(void);
CUptiResult profiler_addMetrics(const char **names, size_t count);
/* The configuration image of what was added, to be freed; its passes are in `profiler`. */
uint8_t *profiler_getConfig(size_t *size);
CUptiResult profiler_enable(void);
CUptiResult profiler_start(void);
/* All up to the configuration, with the GPU and records of kernels. */
void profiler_open(const char **names, size_t count, size_t ranges);
/* The nth record of a kernel. */
const record_kernel *profiler_kernel(size_t nth);

#endif
#endif
