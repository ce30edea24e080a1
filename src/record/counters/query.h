/* MINIPROF_QUERY=metrics: which metrics the GPUs of this machine have, as a trace.
 *
 * The program is one of ours (src/run/query.c). For each device it makes the primary
 * context current and calls cuProfilerStart, at which the recorder asks that device. CUPTI 13.0
 * does not answer before there is a context. At the end the program calls cuProfilerStop, which
 * completes the file.
 *
 * The trace has rows of `device` and `metric` and nothing else. With `raw` in MINIPROF_METRICS the
 * names of CUPTI's own metrics, without rollups, follow nvprof's.
 */
#ifndef MP_RECORD_METRICS_QUERY_H
#define MP_RECORD_METRICS_QUERY_H

#include <cuda.h>

struct gpu;
struct profiling;

/* Asks the device of the current context. */
void metric_query_ask(struct profiling *profiling, struct gpu *gpu, CUcontext context);

#endif
