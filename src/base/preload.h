/* What libminiprof_preload.so shows to the collector, under the name MP_PRELOAD_SYMBOL: a struct
 * mp_preload that is there from the program's start to its end.
 *
 * CUPTI's mere presence makes launches dearer, so it is left out of a process until something is to
 * be recorded. What begins that are calls of the driver, which without CUPTI nobody reports: the
 * preloaded library stands in front of a few of them (src/preload/preload.c).
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
