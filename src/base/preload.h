/* What libminiprof_preload.so offers to the recorder under the name MP_PRELOAD_SYMBOL: a struct
 * mp_preload that exists from the program's start to its end.
 *
 * Launches are slower as soon as CUPTI is present, so CUPTI stays out of a process until something
 * is to be recorded. Recording begins with certain calls of the driver, and without CUPTI nobody
 * reports them. Therefore the preloaded library intercepts these few calls (src/preload/preload.c).
 */
#ifndef MP_BASE_PRELOAD_H
#define MP_BASE_PRELOAD_H

#include <stdatomic.h>
#include <stdint.h>

#define MP_PRELOAD_SYMBOL  "miniprof_preload"
#define MP_PRELOAD_LIBRARY "libminiprof_preload.so"
#define MP_PRELOAD_VERSION 1u

enum mp_preload_call {
    MP_PRELOAD_PROFILER, /* cuProfilerStart, which cudaProfilerStart calls */
    MP_PRELOAD_GRAPH     /* a stream capture begins, or an empty graph is made */
};

struct mp_preload {
    uint32_t version; /* MP_PRELOAD_VERSION */
    /* Called before such a call, in the program's thread; NULL: nobody asks. */
    void (*_Atomic before)(enum mp_preload_call call);
};

#endif
