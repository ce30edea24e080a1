/*
 * simgpu.h: the inside of the software libcuda.so.1.
 *
 * One big lock (`sg_lock`) guards every object below. An API call takes it after the client's
 * ENTER callback and drops it before EXIT; resource callbacks drop it around the call too, so a
 * client never runs under it. Side effects happen at once, in enqueue order; only the recorded
 * times follow the schedule (schedule.c).
 */
#ifndef SIMGPU_H
#define SIMGPU_H

/* cuda.h then exports what it declares; all else is hidden (-fvisibility=hidden). */
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT

#include "env.h"
#include "hooks.h"

/* cuda.h declares them only to those who ask for per-thread default streams. */
SIMGPU_EXPORT CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream);
SIMGPU_EXPORT CUresult CUDAAPI cuGraphUpload_ptsz(CUgraphExec hGraphExec, CUstream hStream);

#include <cudaProfiler.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* The 32-bit era's types, which generated_cuda_meta.h mentions and cuda.h no longer declares. */
typedef unsigned int CUdeviceptr_v1;
typedef struct CUDA_MEMCPY2D_v1_st CUDA_MEMCPY2D_v1;
typedef struct CUDA_MEMCPY3D_v1_st CUDA_MEMCPY3D_v1;
typedef struct CUDA_ARRAY_DESCRIPTOR_v1_st CUDA_ARRAY_DESCRIPTOR_v1;
typedef struct CUDA_ARRAY3D_DESCRIPTOR_v1_st CUDA_ARRAY3D_DESCRIPTOR_v1;
#include <cupti.h> /* with generated_cuda_meta.h, which has no include guard */

#include "compat.h"

#define SG_MAX_DEVICES  16
#define SG_MAX_PARAMS   32
#define SG_PLAN_SPANS   256
#define SG_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Device memory is host memory: an address of the one is a pointer of the other. */
static inline void *sg_pointer(CUdeviceptr address)
{
    void *pointer;

    memcpy(&pointer, &address, sizeof(pointer));
    return pointer;
}

/* Old ABI names that today's cuda.h no longer declares, and two whose header hides them. */
SIMGPU_EXPORT CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
SIMGPU_EXPORT CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
                                                     CUgraphNode *phErrorNode, char *logBuffer,
                                                     size_t bufferSize);
SIMGPU_EXPORT CUresult CUDAAPI cuProfilerStart(void);
SIMGPU_EXPORT CUresult CUDAAPI cuProfilerStop(void);

/* ---- costs.c: what being recorded costs ---- */

enum sg_cost {
    SG_COST_IN,     /* each call, inside of it */
    SG_COST_AROUND, /* each call, half before it and half after it */
    SG_COST_NODE,   /* each node of a graph, inside of the launch */
    SG_COST_GAP,    /* between two operations of a stream or of a graph */
    SG_COST_START,  /* from a launch to the begin of its work */
    SG_COST_FINISH, /* from the end of the work to the end of a wait for it */
    SG_COST_COUNT
};

/* In ns; 0 without libcupti. */
uint64_t sg_recordingCost(enum sg_cost cost);

/* ---- api.c: the frame of every exported function ---- */

enum sg_need { SG_BARE, SG_INIT, SG_CTX };

enum sg_api_index {
#define SIMGPU_API(name, cost, need) SG_API_##name,
#include "api.def"
#undef SIMGPU_API
    SG_API_COUNT
};

/* Opens a call: checks, ENTER callback, cost, lock. False when the body must not run; `call->
 * result` then says why. Either way sg_callExit must follow. */
bool sg_callEnter(struct simgpu_api_call *call, enum sg_api_index index, const void *params);
CUresult sg_callExit(struct simgpu_api_call *call);
/* This thread is in a callback of the client. */
bool sg_isInCallback(void);
/* The innermost open call of this thread, never NULL inside a body. */
struct simgpu_api_call *sg_currentCall(void);

/*
 * SG_FUNCTION(cuStreamQuery, (CUstream hStream), hStream) { ...body... } defines the exported
 * function and its body: the arguments are packed in the struct that CUPTI shows to clients, in
 * the order of the prototype.
 */
#define SG_FUNCTION(name, params, ...)                                                             \
    static CUresult body_##name params;                                                            \
    CUresult CUDAAPI name params                                                                   \
    {                                                                                              \
        name##_params packed = {__VA_ARGS__};                                                      \
        struct simgpu_api_call call;                                                               \
        if (sg_callEnter(&call, SG_API_##name, &packed)) {                                         \
            call.caller = __builtin_return_address(0);                                             \
            call.result = body_##name(__VA_ARGS__);                                                \
        }                                                                                          \
        return sg_callExit(&call);                                                                 \
    }                                                                                              \
    static CUresult body_##name params

#define SG_FUNCTION0(name)                                                                         \
    static CUresult body_##name(void);                                                             \
    CUresult CUDAAPI name(void)                                                                    \
    {                                                                                              \
        struct simgpu_api_call call;                                                               \
        if (sg_callEnter(&call, SG_API_##name, NULL))                                              \
            call.result = body_##name();                                                           \
        return sg_callExit(&call);                                                                 \
    }                                                                                              \
    static CUresult body_##name(void)

extern pthread_mutex_t sg_lock;
extern const char *const sg_apiName[SG_API_COUNT];

/* launch.c: the kernel that a call with these parameters launches; NULL for other calls. */
const char *sg_launchedName(enum sg_api_index index, const void *params);
extern void *const sg_apiAddress[SG_API_COUNT];

/* Calls the client's resource callback with the lock dropped. Call with the lock held. */
void sg_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor);
/* The same for the SYNCHRONIZE domain. */
void sg_notifySynchronized(uint32_t cbid, CUcontext context, CUstream stream);
/* Hands an activity to libcupti, if there is one. Call with the lock held. */
void sg_emit(const struct simgpu_activity *activity);
/* ledger.c: for counters over time */
void sg_ledgerNote(const struct simgpu_activity *activity);

/* ---- clock.c ---- */

uint64_t sg_now(void);                /* this thread's virtual time, free of charge */
void sg_advance(uint64_t ns);         /* this thread spends ns */
void sg_waitUntil(uint64_t when);     /* this thread waits for the device */
void sg_skip(uint64_t when);          /* the same on the virtual clock; in real time no wait */
void sg_joinHorizon(void);            /* this thread catches up with all others */
void sg_clockInCall(bool in_call);    /* this thread enters or leaves the driver */
uint64_t sg_clockSwap(uint64_t when); /* this thread acts as if at `when`; when it did before */
void sg_clockPlace(uint64_t when);    /* this thread, which is the driver's, acts as if at `when` */
uint64_t sg_hash(uint64_t counter);   /* counter-based noise, seeded by SIMGPU_SEED */

/* ---- init.c, device.c ---- */

bool sg_isInitialized(void);
bool sg_isForked(void);

enum sg_engine { SG_COMPUTE, SG_COPY_IN, SG_COPY_OUT, SG_COPY_DEVICE, SG_ENGINES };

/* From start to end, in ns. */
struct sg_span {
    uint64_t start, end;
};

/* When an engine is busy: spans in order, without overlap. Old ones are forgotten, and nothing can
 * be placed before `floor` any more. */
struct sg_plan {
    uint64_t floor;
    size_t count;
    struct sg_span busy[SG_PLAN_SPANS];
};

struct sg_device {
    int ordinal;
    struct sg_plan plans[SG_ENGINES]; /* copies share their engine, kernels only if serialised */
    uint64_t used;                    /* bytes allocated */
    CUcontext primary;
    int primary_refs;
    unsigned primary_flags;
    CUmemoryPool default_pool;
};

int sg_deviceCount(void);
struct sg_device *sg_device(CUdevice ordinal); /* NULL when there is none */
void sg_deviceUuid(int ordinal, uint8_t uuid[16]);
void sg_deviceEmit(int ordinal);

/* ---- context.c ---- */

struct CUctx_st {
    uint32_t id;
    struct sg_device *device;
    unsigned flags;
    bool primary;
    CUcontext parent;         /* of a green context; NULL: it is none */
    unsigned multiprocessors; /* of a green context */
    uint32_t next_stream_id;  /* green contexts count with their parent */
    CUstream null_stream;
    CUstream streams; /* all of them, null_stream included */
    CUcontext next;
};

#define SG_MULTIPROCESSORS 128 /* of a device */

CUcontext sg_context(void); /* the current one, or NULL */
CUcontext sg_contextList(void);
/* The primary context, one user more or less; it is made, or freed with its green contexts. */
CUcontext sg_primaryRetain(struct sg_device *device);
void sg_primaryRelease(struct sg_device *device);
/* A green context of this parent. NULL: no memory. */
CUcontext sg_contextNewGreen(CUcontext parent, unsigned multiprocessors);
void sg_contextFree(CUcontext context);
/* The stream after this one of a context and its green contexts; of NULL the first, NULL: none. */
CUstream sg_nextStream(CUcontext context, CUstream after);
/* Whether it is a green context that exists. */
bool sg_isGreen(CUcontext context);
/* Itself, or the parent of a green context. */
static inline CUcontext sg_contextRoot(CUcontext context)
{
    return context->parent ? context->parent : context;
}

/* ---- stream.c, event.c ---- */

struct sg_capture {
    CUgraph graph;
    CUstream origin;
    CUstreamCaptureMode mode;
    const void *thread; /* that began it: of its own */
    uint64_t id;
    bool invalid;
    struct sg_capture *next;
};

struct sg_nodes {
    CUgraphNode *items;
    size_t count, capacity;
};

struct CUstream_st {
    CUcontext context;
    uint32_t id;
    unsigned flags;
    int priority;
    uint64_t ready;    /* when everything enqueued so far is done */
    uint64_t sequence; /* operations so far, the counter of the noise */
    pthread_t owner;   /* of a per-thread default stream */
    bool per_thread;
    struct sg_capture *capture;
    struct sg_nodes tail;  /* in a capture: what the next node depends on */
    struct sg_span kernel; /* the stream's last operation, if it is a kernel that ran; else 0 */
    struct sg_held *held;  /* what waits for a value, and what follows it; owned */
    CUstream next;
};

/* How long the kernel `endless` runs, ns, as if it waited for the host: longer than any test. */
#define SG_ENDLESS UINT64_C(600000000000)

struct CUevent_st {
    CUcontext context;
    uint32_t id;
    unsigned flags;
    bool recorded;
    uint64_t time;
    uint64_t sync_id;
    uint64_t capture_id; /* last recorded in this capture, which may be over */
    bool whole;          /* stands for the work of its context */
    bool polled;         /* somebody has looked since */
    struct sg_nodes tail;
};

CUstream sg_streamNew(CUcontext context, unsigned flags, int priority, uint32_t id);
void sg_streamFree(CUstream stream);
/* As the program makes one: with its record and callback. NULL: no memory. */
CUstream sg_streamMake(CUcontext context, unsigned flags, int priority);
/* A handle as given by the application (NULL, legacy, per-thread) to the stream itself. */
CUstream sg_stream(CUcontext context, CUstream handle);
void sg_emitSync(uint32_t type, CUstream stream, CUevent event, uint64_t start, bool not_ready);

/* ---- schedule.c ---- */

uint64_t sg_streamReady(CUstream stream);    /* stream order and the legacy default stream rules */
uint64_t sg_contextReady(CUcontext context); /* all streams, with those of its green contexts */
/* The earliest start of a stream's next operation, submitted now. With a lead, it may begin that
 * long before the stream's last kernel ends, but not before that kernel. */
uint64_t sg_streamStart(CUstream stream, uint64_t lead);
/* That of a graph's node. `after`: when what it waits for has ended. `overlapped`: when those have
 * come far enough that it may overlap; 0: none. */
uint64_t sg_nodeStart(uint64_t after, uint64_t overlapped);
/* When it may begin beside this span, which it overlaps by its lead. */
uint64_t sg_overlapStart(struct sg_span before, uint64_t lead);
struct sg_span sg_schedule(CUstream stream, enum sg_engine engine, uint64_t earliest,
                           uint64_t duration);
uint64_t sg_gridRound(uint64_t ns); /* up to the next 32 ns, the H100's timestamp step */

/* ---- module.c, kernels.c ---- */

struct CUmod_st {
    CUcontext context;
    uint32_t id;
    char *image;
    CUfunction functions;
    CUmodule next;
};

struct CUfunc_st {
    const char *name; /* interned */
    CUmodule module;
    bool loaded;         /* lazily, by the first launch */
    simgpu_meeting meet; /* when its launches end; NULL: after their time */
    unsigned param_count;
    uint32_t param_offset[SG_MAX_PARAMS];
    uint32_t param_size[SG_MAX_PARAMS];
    uint32_t param_bytes;
    CUfunction next;
};

const char *sg_intern(const char *text, size_t length);

struct sg_launch {
    CUfunction function;
    uint32_t grid[3], block[3];
    uint32_t shared;
    uint8_t launch_type;
    uint64_t lead;   /* of programmatic dependent launch, in ns; 0: waits for all before it */
    uint8_t *params; /* a copy, laid out by param_offset */
};

void sg_kernelRun(const struct sg_launch *launch);
/* That of a launch that begins at `start`. The lock may be dropped meanwhile. */
uint64_t sg_kernelDuration(const struct sg_launch *launch, uint64_t counter, uint64_t start);

/* ---- memory.c ---- */

struct sg_allocation {
    uintptr_t address;
    size_t bytes;
    uint32_t kind; /* CUpti_ActivityMemoryKind: device or pinned */
    struct sg_device *device;
    CUmemoryPool pool;
    uint64_t serial;                /* allocations so far, this one included */
    const struct sg_device *holder; /* of managed memory: where its pages are; NULL: the host */
};

/* The allocation that holds address, or NULL: then it is pageable host memory. */
const struct sg_allocation *sg_findAllocation(uintptr_t address);
uint32_t sg_memoryKind(uintptr_t address);
/* Managed allocations: the one that holds address; the oldest one that is younger than `serial`.
 * NULL when there is none. */
struct sg_allocation *sg_findManaged(uintptr_t address);
struct sg_allocation *sg_nextManaged(uint64_t serial);
bool sg_isDeviceRange(CUdeviceptr address, size_t bytes);
void sg_emitPool(CUmemoryPool pool, uint32_t operation, uint64_t keep);
CUmemoryPool sg_defaultPool(struct sg_device *device);
void sg_releasePools(void);

/* module.c: other threads' calls wait until a module of their context is compiled. */
void sg_waitForCompiling(void);

/* ---- operation.c: what can stand in a stream or be a graph node ---- */

enum sg_op_type {
    SG_OP_EMPTY,
    SG_OP_KERNEL,
    SG_OP_COPY,
    SG_OP_SET,
    SG_OP_RECORD,
    SG_OP_WAIT,
    SG_OP_HOST,
    SG_OP_VALUE
};

/* A host function: one of the two. */
struct sg_host {
    CUhostFn function;
    CUstreamCallback callback;
    CUstream handle; /* what the callback is told */
    void *data;
};

/* A value that a stream writes, or waits for. */
struct sg_value {
    uint64_t address;
    uint64_t value;
    unsigned bits; /* 32 or 64 */
    bool waits;
    unsigned condition; /* of CUstreamWaitValue_flags */
};

struct sg_op {
    enum sg_op_type type;
    struct sg_launch launch;
    struct simgpu_copy copy;
    struct simgpu_set set;
    void *dst;
    const void *src;
    unsigned set_width;
    CUevent event;
    struct sg_host host;
    struct sg_value value;
};

/* Where an operation's record says it came from. */
struct sg_origin {
    CUstream stream;
    uint32_t correlation;
    uint32_t graph;
    uint64_t graph_node;
    uint64_t submitted;
};

/* Puts op in the stream: runs and schedules it, or adds it to the stream's capture. On success
 * takes over what op owns; `span` (may be NULL) is zero when captured. */
CUresult sg_submit(CUstream stream, struct sg_op *op, struct sg_span *span);
/* Checks a launch's shape and copies its parameters. On success op owns something. */
CUresult sg_kernelBuild(struct sg_op *op, void **params, void **extra);
void sg_opRun(const struct sg_op *op); /* not those of the host */
enum sg_engine sg_opEngine(const struct sg_op *op);
uint64_t sg_opDuration(const struct sg_op *op, uint64_t counter, uint64_t start);
void sg_opEmit(const struct sg_op *op, const struct sg_origin *origin, struct sg_span span);
struct sg_span sg_eventRecordAt(CUevent event, uint64_t when);
/* Runs it in the stream, schedules and tells it; frees what it owns. When, or zero. */
struct sg_span sg_opStart(CUstream stream, struct sg_op *op, const struct sg_origin *origin);
CUresult sg_opClone(struct sg_op *to, const struct sg_op *from);
void sg_opFree(struct sg_op *op);

/* ---- value.c: values in memory that streams write and wait for ---- */

/* An operation that is kept back, with the moment of its call. */
struct sg_held {
    struct sg_op op;
    struct sg_origin origin;
    struct sg_held *next;
};

/* Puts a wait or a write in the stream. */
CUresult sg_valuePut(CUstream stream, struct sg_op *op, const struct sg_origin *origin);
/* Keeps it back until the stream goes on; takes over what it owns. */
CUresult sg_hold(CUstream stream, struct sg_op *op, const struct sg_origin *origin);
/* A node of a graph writes. */
void sg_valueWriteAt(const struct sg_value *value, uint64_t when);
/* Refuses to wait for a stream that is held, or for a context that has one. */
CUresult sg_heldForbid(CUcontext context, CUstream stream);

/* ---- host.c: host functions, on a thread of the driver ---- */

/* Runs it as if at `start` or, while another one runs, later. The lock is dropped meanwhile. */
struct sg_span sg_hostRun(const struct sg_host *host, uint64_t start);
/* The thread that runs them; 0 before the first one. */
uint32_t sg_hostThread(void);
/* This thread is that one: it may not call the driver. */
bool sg_isHostThread(void);

/* ---- managed.c: what moves when managed memory is used where it is not ---- */

/* How much longer a kernel takes on this device because pages have to come; 0 for other operations.
 * sg_migrateIn moves them, from `start` on. */
uint64_t sg_migrationTime(const struct sg_op *op, const struct sg_device *device);
void sg_migrateIn(const struct sg_op *op, const struct sg_device *device, uint64_t start);
/* The host uses all managed memory: this thread waits for what is elsewhere. */
void sg_migrateBack(void);

/* ---- profile.c: launches under CUPTI's range profiler ---- */

/* How often a kernel has to run; 0 when nothing is profiled. */
uint32_t sg_profiledPasses(const struct CUctx_st *context);
/* The launching thread waits until what ran in `first` has run so often. */
void sg_profileWait(CUstream stream, struct sg_span first, uint32_t passes);

/* ---- capture.c, graph.c ---- */

struct CUgraphNode_st {
    CUgraph graph;
    uint32_t index; /* also its place in topological order: dependencies come first */
    struct sg_op op;
    CUgraphNode *deps;
    uint64_t *leads; /* for each of them; 0: it waits for its end */
    size_t dep_count;
    struct sg_span span; /* of the launch being scheduled */
    CUgraph child;       /* a child graph, its own clone, or the body; NULL: no such node */
    bool conditional;    /* it runs the body */
    unsigned passes;     /* so often */
    CUgraphNode twin;    /* while its graph is cloned: what stands for it there */
    CUgraphNode model;   /* what it was cloned from */
    CUgraphNode inside;  /* of an executable graph: the conditional node whose body has it; NULL */
    uint64_t early_id;   /* until its graph is merged into an executable one */
    bool gone;           /* it stood for a child graph whose nodes are among the others now */
    bool remade;         /* the client knows a node of this handle that was destroyed */
};

struct CUgraph_st {
    uint32_t id;
    CUgraph inner; /* what the client takes for its clone while an outer graph is instantiated */
    struct sg_nodes nodes;
};

struct CUgraphExec_st {
    CUgraph graph; /* its own clone, without child graphs: their nodes are its */
    uint64_t launches;
    uint64_t ready;  /* when it may run again: never beside itself */
    bool for_device; /* it may launch itself: SIMGPU_DEVICE_LAUNCHES */
};

/* How long before its predecessor's end an overlapping kernel begins: SIMGPU_PDL_LEAD_US. */
uint64_t sg_usualLead(void);
CUresult sg_nodesAdd(struct sg_nodes *nodes, CUgraphNode node);
CUresult sg_nodesMerge(struct sg_nodes *into, const struct sg_nodes *from);
CUgraph sg_graphNew(void);
void sg_graphFree(CUgraph graph);
/* Adds a node and tells the client; takes over what op owns on success. `leads`: those of its
 * edges; NULL: none. */
CUresult sg_graphAdd(CUgraph graph, const struct sg_nodes *deps, const uint64_t *leads,
                     struct sg_op *op, CUgraphNode *out);
CUgraph sg_graphAlloc(void);
uint32_t sg_graphNextId(void);
void sg_graphNotify(uint32_t cbid, CUpti_GraphData data);
/* A node without dependencies yet, owning op. */
CUgraphNode sg_nodeNew(CUgraph graph, const struct sg_op *op, size_t dep_count);
/* A graph of the same nodes, told to the client. `flat`: those of child graphs among them. */
CUgraph sg_graphClone(CUgraph original, bool flat);
uint64_t sg_nodeId(CUgraphNode node);
#ifndef SIMGPU_LACKS_cuGraphGetEdges_v2
CUgraphEdgeData sg_edgeData(uint64_t lead);
#endif
CUgraphNodeType sg_nodeType(const struct CUgraphNode_st *node);
CUresult sg_captureAdd(CUstream stream, struct sg_op *op);
CUresult sg_captureRecord(CUstream stream, CUevent event);
CUresult sg_captureWait(CUstream stream, CUevent event);
bool sg_eventIsCaptured(CUevent event);
/* A synchronising call on a context whose streams capture: breaks the captures, error 900. */
CUresult sg_captureForbid(CUcontext context, CUstream stream);

/* Refuses a potentially unsafe call of this thread, by its capture mode, and breaks the captures
 * that forbid it (CUDA's documentation of cuThreadExchangeStreamCaptureMode). */
CUresult sg_captureForbidUnsafe(void);

#endif
