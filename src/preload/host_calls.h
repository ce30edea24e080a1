/* The driver's functions by which a program gives a host function to a stream or a graph, or reads
 * it back, or waits for the GPU, and what stands before them.
 *
 *     host_calls.c      stands before these functions; it passes a function of ours instead of the
 *                       program's, and gives the program its own one back
 *     host_functions.c  what is known of such a host function, and the one of ours, which times it
 *
 * Nothing is replaced as long as the recorder does not ask for host functions. What was given to
 * the driver before then runs as it is.
 */
#ifndef MP_PRELOAD_HOST_CALLS_H
#define MP_PRELOAD_HOST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/preload.h"

/* Where a function of the driver has the host function: by the number of its argument. */
enum host_call_form {
    HOST_CALL_FUNCTION,    /* a CUhostFn, with its data behind it */
    HOST_CALL_CALLBACK,    /* a CUstreamCallback, with its data behind it */
    HOST_CALL_PARAMS,      /* a pointer to a CUDA_HOST_NODE_PARAMS */
    HOST_CALL_NODE,        /* a pointer to a CUgraphNodeParams, of any type of node */
    HOST_CALL_READ_PARAMS, /* the same two, which the function fills in */
    HOST_CALL_READ_NODE,
    HOST_CALL_WAITS, /* it has none: it waits for the GPU, */
    HOST_CALL_ASKS   /* or asks whether work is done (steps.h) */
};

/* X(NAME, BEFORE, FORM, ARGUMENT, NODE). BEFORE: from this version of CUDA on, cuGetProcAddress has
 * another function under the name, that of the next row if it is named alike; 0: never. A struct of
 * the driver may grow with the next major version. NODE: the number of the argument with the node
 * that gets another host function; -1: the call makes a new one. */
#define PRELOAD_HOST_CALLS(X)                                                                      \
    X(cuLaunchHostFunc, 0, HOST_CALL_FUNCTION, 1, -1)                                              \
    X(cuLaunchHostFunc_ptsz, 0, HOST_CALL_FUNCTION, 1, -1)                                         \
    X(cuStreamAddCallback, 0, HOST_CALL_CALLBACK, 1, -1)                                           \
    X(cuStreamAddCallback_ptsz, 0, HOST_CALL_CALLBACK, 1, -1)                                      \
    X(cuGraphAddHostNode, 14000, HOST_CALL_PARAMS, 4, -1)                                          \
    X(cuGraphHostNodeSetParams, 14000, HOST_CALL_PARAMS, 1, 0)                                     \
    X(cuGraphExecHostNodeSetParams, 14000, HOST_CALL_PARAMS, 2, 1)                                 \
    X(cuGraphHostNodeGetParams, 14000, HOST_CALL_READ_PARAMS, 1, 0)                                \
    X(cuGraphAddNode, 12030, HOST_CALL_NODE, 4, -1)                                                \
    X(cuGraphAddNode_v2, 0, HOST_CALL_NODE, 5, -1)                                                 \
    X(cuGraphNodeSetParams, 0, HOST_CALL_NODE, 1, 0)                                               \
    X(cuGraphExecNodeSetParams, 0, HOST_CALL_NODE, 2, 1)                                           \
    X(cuGraphNodeGetParams, 0, HOST_CALL_READ_NODE, 1, 0)                                          \
    X(cuStreamSynchronize, 0, HOST_CALL_WAITS, 0, -1)                                              \
    X(cuStreamSynchronize_ptsz, 0, HOST_CALL_WAITS, 0, -1)                                         \
    X(cuCtxSynchronize, 0, HOST_CALL_WAITS, 0, -1)                                                 \
    X(cuCtxSynchronize_v2, 0, HOST_CALL_WAITS, 0, -1)                                              \
    X(cuEventSynchronize, 0, HOST_CALL_WAITS, 0, -1)                                               \
    X(cuMemcpy, 0, HOST_CALL_WAITS, 0, -1)                                                         \
    X(cuMemcpy_ptds, 0, HOST_CALL_WAITS, 0, -1)                                                    \
    X(cuMemcpyHtoD_v2, 0, HOST_CALL_WAITS, 0, -1)                                                  \
    X(cuMemcpyHtoD_v2_ptds, 0, HOST_CALL_WAITS, 0, -1)                                             \
    X(cuMemcpyDtoH_v2, 0, HOST_CALL_WAITS, 0, -1)                                                  \
    X(cuMemcpyDtoH_v2_ptds, 0, HOST_CALL_WAITS, 0, -1)                                             \
    X(cuStreamQuery, 0, HOST_CALL_ASKS, 0, -1)                                                     \
    X(cuStreamQuery_ptsz, 0, HOST_CALL_ASKS, 0, -1)                                                \
    X(cuEventQuery, 0, HOST_CALL_ASKS, 0, -1)

/* ---- host_calls.c ---- */

/* The row of a function of the driver, asked for by `name` from a driver that chooses by `version`
 * and the `flags` of cuGetProcAddress, or, if the version is 0, by the very symbol; -1: it is none
 * of these. */
int preload_find_host_call(const char *name, int version, unsigned long flags);

/* What stands before `real`; `real` itself if there is no room, or if it is ours. */
void *preload_host_call_for(int row, void *real);

/* ---- host_functions.c ---- */

typedef void host_function(void *data);
typedef void host_callback(void *stream, int status, void *data);

struct host_record;

/* A record of the program's host function, to be given to the driver with one of the two functions
 * below. Kept ones run any number of times and are never freed; there is a limit. The others are
 * freed when they run. NULL: without memory, or beyond the limit. */
struct host_record *host_record_new(void *function, void *data, bool kept);

/* The driver has not taken it. */
void host_record_drop(struct host_record *record);

/* What the driver calls instead of the program's function. */
host_function host_record_run;
host_callback host_record_call_back;

/* The program's own, of a record that was given to the driver. */
void *host_record_function(const struct host_record *record);
void *host_record_data(const struct host_record *record);

/* It takes the place of what the node with this handle was made of. */
void host_record_replaces(struct host_record *record, uint64_t handle);

/* This thread is giving the record to the driver; NULL: no longer. */
void host_record_launching(struct host_record *record);

#endif
