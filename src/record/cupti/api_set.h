/* Which CUDA calls are recorded, and which are watched for the dependencies that they make.
 *
 * CUPTI numbers the functions (cbid) and can name them, so the recorder chooses by name when the
 * process starts. This also finds functions that are newer than the headers of this build, and no
 * cbid is compiled in.
 *
 * Not all calls are recorded, because switching on RUNTIME or DRIVER as a whole costs every call of
 * the process 160 ns. PyTorch makes 3,000 calls an iteration, nearly all of them cudaGetDevice and
 * the like. Calls that are not switched on cost nothing (measured on an H100,
 * docs/measurements.md).
 *
 * Filled once in InitializeInjection, read-only afterwards.
 */
#ifndef MP_RECORD_CUPTI_API_SET_H
#define MP_RECORD_CUPTI_API_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/settings/config.h"
#include "record/cupti/cupti_api.h"
#include "trace/schema.h"

#define API_CBIDS 2048 /* CUDA 13.0 has 807 driver functions; later ones have no name here */
#define API_COUNT 3    /* indexed by enum mp_api of the trace: runtime 1, driver 2 */

enum api_function_flags {
    API_RECORD = 1,     /* make a row of `call` */
    API_PER_THREAD = 2, /* compiled for per-thread default streams: _ptsz, _ptds */
    API_OURS_TOO = 4,   /* driver: the recorder calls it itself, in callbacks */
    API_LAUNCH = 8,     /* it starts kernels, alone or in a graph */
    API_GRAPH = 16,     /* in a graph */
    API_STACK = 32      /* its caller's stack is taken */
};

/* Why the recorder wants to be called back for a driver function. */
enum api_role {
    API_ROLE_SYNC,          /* it makes or awaits a dependency: a row of `sync` */
    API_ROLE_RANGE_BEGIN,   /* cuProfilerStart */
    API_ROLE_RANGE_END,     /* cuProfilerStop */
    API_ROLE_CAPTURE_BEGIN, /* a stream capture begins: the context must not be synchronised ... */
    API_ROLE_CAPTURE_END,   /* ... until it has ended */
    API_ROLE_INSTANTIATE,   /* a graph becomes executable: its edges are read */
    API_ROLE_LAUNCH,        /* a kernel is launched, which may be profiled: MINIPROF_METRICS */
    API_ROLE_OVERLAP,       /* a kernel is launched, which may overlap the one before it */
    API_ROLE_HOST,          /* a host function is put into a stream */
    API_ROLE_VALUE,         /* a stream waits for a value in memory or writes one */
    API_ROLE_CONTEXT,       /* a context may have been made: MINIPROF_SAMPLE */
    API_ROLE_NONE           /* cuDriverGetVersion: the recorder itself calls it, for its id */
};

/* A watched function, and how it passes its handles: the numbers of the 8-byte arguments that hold
 * them, -1 for none. */
struct api_watch {
    const char *name; /* without version and _ptsz; with a * at its end, of all that begin so */
    enum api_role role;
    uint8_t sync_kind; /* of API_ROLE_VALUE its CUstreamBatchMemOpType, 0 for a batch */
    int8_t stream;
    int8_t event;
    bool indirect;     /* the argument points at the handle, which is there on EXIT */
    bool success_only; /* a query is of interest when it ends the polling */
};

struct api_set {
    const char *names[API_COUNT][API_CBIDS]; /* CUPTI's own strings, NULL for unused numbers */
    uint8_t flags[API_COUNT][API_CBIDS];     /* of enum api_function_flags */
    uint8_t watch[API_CBIDS];                /* driver: 1 + position in api_watches, 0 for none */
    uint32_t selected[API_COUNT];            /* functions with API_RECORD */
    bool all_driver;  /* MINIPROF_API is all or driver: our own calls would have rows too */
    bool whole_kinds; /* RUNTIME and DRIVER are switched as a whole: wanted, or CUPTI knows no less.
                         attach.c sets it too, before the kinds go on. */
    bool syncs;       /* rows of `sync` are wanted */
};

extern const struct api_watch api_watches[];

/* Asks CUPTI for all names and applies MINIPROF_API. */
void api_set_resolve(struct api_set *set, const struct cupti_api *cupti,
                     const struct mp_config *config);

/* The row of the watched driver function with this cbid; NULL if it is not watched. */
static inline const struct api_watch *api_set_watch(const struct api_set *set, uint32_t cbid)
{
    return cbid < API_CBIDS && set->watch[cbid] ? &api_watches[set->watch[cbid] - 1] : NULL;
}

/* Whether the watched function starts kernels, one by one or as a graph. */
static inline bool api_watch_launches(const struct api_watch *watch)
{
    return watch->role == API_ROLE_LAUNCH || watch->sync_kind == MP_sync_kind_graph_launch;
}

/* Whether the watched function ends steps (process/baseline.h). */
bool api_watch_steps(const struct api_watch *watch);

/* Switches CUPTI's records of the chosen calls on or off. Answers CUPTI's first refusal. */
CUptiResult api_set_enable(const struct api_set *set, const struct cupti_api *cupti, bool on);

/* Whether the call starts kernels. */
static inline bool api_set_launches(const struct api_set *set, unsigned api, uint32_t cbid)
{
    return cbid < API_CBIDS && (set->flags[api][cbid] & API_LAUNCH);
}

/* Whether that is a graph. */
static inline bool api_set_launches_graph(const struct api_set *set, unsigned api, uint32_t cbid)
{
    return cbid < API_CBIDS && (set->flags[api][cbid] & API_GRAPH);
}

/* Whether a record of this call is wanted; needed where CUPTI could only be asked for whole kinds.
 */
static inline bool api_set_wants(const struct api_set *set, unsigned api, uint32_t cbid)
{
    return cbid >= API_CBIDS || (set->flags[api][cbid] & API_RECORD);
}

#endif
