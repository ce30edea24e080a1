/* What libminiprof_preload.so offers to the recorder under the name MP_PRELOAD_SYMBOL: a struct
 * mp_preload that exists from the program's start to its end.
 *
 * Four things are noticed only by a library that stands before the program's calls:
 *
 *   - the calls of the driver with which recording begins. Launches are slower as soon as CUPTI is
 *     present, so CUPTI stays out of a process until something is to be recorded;
 *   - waits of host threads outside of CUDA, and who woke them;
 *   - the host functions that streams and graphs call, where CUPTI has no records of them;
 *   - what a step takes as long as CUPTI is not there (base/steps.h).
 *
 * The recorder sets the functions below; NULL: nobody asks. They are called in the program's
 * threads. Those of waits must neither wait nor take a lock.
 */
#ifndef MP_BASE_PRELOAD_H
#define MP_BASE_PRELOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MP_PRELOAD_SYMBOL  "miniprof_preload"
#define MP_PRELOAD_LIBRARY "libminiprof_preload.so"
#define MP_PRELOAD_VERSION 6u

enum mp_preload_call {
    MP_PRELOAD_PROFILER, /* cuProfilerStart, which cudaProfilerStart calls */
    MP_PRELOAD_GRAPH,    /* an empty graph is made */
    MP_PRELOAD_CAPTURE,  /* a stream capture begins */
    MP_PRELOAD_CAPTURED, /* a stream capture ends */
    MP_PRELOAD_STOP,     /* cuProfilerStop */
    /* The recorder does not hear of these: */
    MP_PRELOAD_LAUNCH,      /* a kernel, copy or set is launched */
    MP_PRELOAD_GRAPH_LAUNCH /* a graph is */
};

/* As enum wait_kind of trace/tables.def, which this side does not see. */
enum mp_preload_wait_kind {
    MP_WAIT_CONDITION = 1,
    MP_WAIT_MUTEX,
    MP_WAIT_JOIN,
    MP_WAIT_BARRIER,
    MP_WAIT_SEMAPHORE,
    MP_WAIT_POLL,
    MP_WAIT_EPOLL,
    MP_WAIT_SELECT,
    MP_WAIT_READ,
    MP_WAIT_FUTEX,
    MP_WAIT_SLEEP,
    MP_WAIT_RWLOCK
};

#define MP_WAIT_MIN_NS 2000u /* only longer waits are reported */

/* A wait of a host thread that has ended. Times are ns of `clock` below. */
struct mp_preload_wait {
    uint64_t begin;
    uint64_t end;
    uint64_t woken;  /* when it was woken; 0: unknown */
    uint64_t object; /* address, or number of the file */
    uint32_t thread; /* gettid of the one that waited, */
    uint32_t waker;  /* and of the one that woke it; 0: unknown */
    uint32_t kind;   /* enum mp_preload_wait_kind */
};

/* A host function. While the program gives it to the driver, the recorder fills in what only CUPTI
 * knows: the last five. */
struct mp_preload_host_function {
    uint64_t begin; /* in ns of `clock` */
    uint64_t end;
    uint64_t function;    /* its address */
    uint64_t handle;      /* of the graph's node that was made of it; 0: none */
    uint64_t node;        /* CUPTI's id of that node; 0 outside graphs */
    uint32_t stream;      /* CUPTI's ids of its stream, */
    uint32_t context;     /* its context, */
    uint32_t correlation; /* and the launching call; 0: unknown, or in a graph */
};

/* The code of a library, as addresses. `end` is written last; 0: none. */
struct mp_preload_code {
    _Atomic uintptr_t begin;
    _Atomic uintptr_t end;
};

#define MP_PRELOAD_CODES 2

struct mp_preload {
    uint32_t version; /* MP_PRELOAD_VERSION */
    /* Called before such a call, in the program's thread. */
    void (*_Atomic before)(enum mp_preload_call call);
    /* Called after a wait of more than 2 us, and after a host function. */
    void (*_Atomic waited)(const struct mp_preload_wait *wait);
    void (*_Atomic host_function)(const struct mp_preload_host_function *function);

    /* Set before `waited` and `host_function`. The clock of their times; NULL: CLOCK_MONOTONIC. */
    uint64_t (*_Atomic clock)(void);
    /* The processor's counter runs evenly in all threads, and `clock` is NULL. */
    _Atomic bool counter_is_even;
    /* Libraries whose own waits are not reported: the recorder and CUPTI. */
    struct mp_preload_code left_alone[MP_PRELOAD_CODES];
    /* This library's: the host function that the calling thread is giving to the driver; NULL: it
     * is in no such call. */
    struct mp_preload_host_function *(*launching)(void);
    /* This library's: CUPTI is about to come into the process; NULL: it does not care. */
    void (*attached)(void);
    /* This library's: host functions given to graphs that it does not tell of, for want of room. */
    _Atomic uint64_t host_functions_lost;
};

#endif
