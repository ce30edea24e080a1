/* The CUDA driver as the probe calls it: loaded when asked for, without CUDA's headers.
 *
 * Handles are pointers, results are numbers with 0 for success, as in cuda.h since CUDA 11.4.
 */
#ifndef MP_CALIBRATE_DRIVER_H
#define MP_CALIBRATE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(field, symbol, parameters) */
#define DRIVER_FUNCTIONS(X)                                                                        \
    X(initialise, "cuInit", (unsigned flags))                                                      \
    X(version, "cuDriverGetVersion", (int *version))                                               \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                    \
    X(context_set, "cuCtxSetCurrent", (void *context))                                             \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                         \
    X(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))   \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                            \
    X(stream_wait, "cuStreamSynchronize", (void *stream))                                          \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                               \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                  \
    X(event_query, "cuEventQuery", (void *event))                                                  \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, void *begin, void *end))                    \
    X(host_allocate, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))              \
    X(allocate, "cuMemAlloc_v2", (uint64_t * memory, size_t bytes))                                \
    X(copy_in, "cuMemcpyHtoDAsync_v2",                                                             \
      (uint64_t to, const void *from, size_t bytes, void *stream))                                 \
    X(copy_within, "cuMemcpyDtoDAsync_v2",                                                         \
      (uint64_t to, uint64_t from, size_t bytes, void *stream))                                    \
    X(launch, "cuLaunchKernel",                                                                    \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters,       \
       void **extra))                                                                              \
    X(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                          \
    X(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                             \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                            \
      (void **executable, void *graph, unsigned long long flags))                                  \
    X(graph_launch, "cuGraphLaunch", (void *executable, void *stream))

#define DRIVER_STREAM_NON_BLOCKING  1
#define DRIVER_CAPTURE_RELAXED      2
#define DRIVER_ATTRIBUTE_CLOCK_RATE 13 /* kHz */
#define DRIVER_MEMORY_PORTABLE      1

struct driver {
#define X(field, symbol, parameters) int(*field) parameters;
    DRIVER_FUNCTIONS(X)
#undef X
    /* The clock of the trace: ns of CLOCK_MONOTONIC, or the software GPU's. */
    uint64_t (*clock)(void);
};

/* Loads libcuda.so.1. False: *missing says what there is not. */
bool driver_load(struct driver *driver, const char **missing);

#endif
