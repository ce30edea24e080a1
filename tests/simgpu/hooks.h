/*
 * hooks.h: the private seam between the two halves of simgpu.
 *
 * libcuda.so.1 is the software device and driver; libcupti.so.13 turns what happens in it into
 * CUPTI callbacks and records. libcuda works alone: it calls through `simgpu_hooks` only when
 * libcupti has been loaded and has set that pointer. Everything here is in host byte order and in
 * natural C layout; the byte layouts of the real CUPTI records live in cupti_layout.c only.
 *
 * Times are nanoseconds of the virtual clock (clock.c).
 */
#ifndef SIMGPU_HOOKS_H
#define SIMGPU_HOOKS_H

/* A driver has its deprecated functions too. */
#ifndef CUDA_ENABLE_DEPRECATED
#define CUDA_ENABLE_DEPRECATED
#endif

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#define SIMGPU_EXPORT __attribute__((visibility("default")))

/* CUPTI_ACTIVITY_KIND_..., which older headers lack. */
#define SIMGPU_KIND_JIT                52
#define SIMGPU_KIND_DEVICE_GRAPH_TRACE 53
#define SIMGPU_KIND_GRAPH_HOST_NODE    56
#define SIMGPU_KIND_HOST_LAUNCH        58

/* One driver API call, alive from its ENTER to its EXIT. `params` points at the cbid's
 * *_params struct of generated_cuda_meta.h. */
struct simgpu_api_call {
    uint32_t cbid;
    const char *name;
    const void *params;
    const char *symbol; /* the kernel's name for launches, else NULL */
    const void *caller; /* where the call returns to */
    CUresult result;
    uint64_t start;
    uint64_t end;
    uint32_t correlation;
    CUcontext context;
    uint32_t context_uid;
    uint64_t correlation_data; /* the client's, from ENTER to EXIT */
    bool entered;              /* ENTER was delivered, so EXIT is due */
    bool traced;               /* libcupti wants a record of it */
};

struct simgpu_kernel {
    const char *name; /* interned, lives as long as the process */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t static_shared;
    uint32_t dynamic_shared;
    uint32_t registers;
    uint64_t grid_id;
    uint64_t submitted;
    uint8_t launch_type; /* CUpti_ActivityLaunchType */
};

struct simgpu_copy {
    uint64_t bytes;
    uint8_t copy_kind; /* CUpti_ActivityMemcpyKind */
    uint8_t src_kind;  /* CUpti_ActivityMemoryKind */
    uint8_t dst_kind;
    bool async;
    uint32_t src_device, src_context;
    uint32_t dst_device, dst_context;
};

struct simgpu_set {
    uint64_t bytes;
    uint32_t value;
    uint16_t memory_kind;
    bool async;
};

struct simgpu_api_record {
    uint32_t cbid;
    uint32_t result;
};

struct simgpu_sync {
    uint32_t type; /* CUpti_ActivitySynchronizationType */
    uint32_t event_id;
    uint64_t event_sync_id;
    uint32_t result;
    bool not_ready; /* a query that found work outstanding */
};

struct simgpu_event_record {
    uint32_t event_id;
    uint64_t event_sync_id;
    uint64_t device_time;
};

struct simgpu_memory {
    uint32_t operation; /* CUpti_ActivityMemoryOperationType */
    uint32_t kind;      /* CUpti_ActivityMemoryKind */
    uint64_t address;
    uint64_t bytes;
    bool async;
    uint64_t program_counter;
    uint64_t pool; /* address of the pool, 0 without one */
    uint64_t pool_size;
    uint64_t pool_used;
};

struct simgpu_pool {
    uint32_t operation; /* CUpti_ActivityMemoryPoolOperationType */
    uint64_t address;
    uint64_t size;
    uint64_t used;
    uint64_t keep;
    uint64_t threshold;
};

struct simgpu_unified {
    uint32_t counter; /* CUpti_ActivityUnifiedMemoryCounterKind */
    uint64_t value;
    uint64_t address;
    uint32_t source, target;
    uint32_t flags;
};

struct simgpu_overhead {
    uint32_t kind; /* CUpti_ActivityOverheadKind */
    uint32_t thread;
};

struct simgpu_stream_record {
    uint32_t priority;
    uint32_t flag; /* CUpti_ActivityStreamFlag */
};

struct simgpu_context_record {
    uint32_t parent; /* of a green context; 0: it is none */
    uint16_t multiprocessors;
};

struct simgpu_device_record {
    const char *name;
    uint8_t uuid[16];
};

/* What happened, before it has the bytes of any CUPTI version. `kind` is a CUpti_ActivityKind
 * and selects the member of the union. Instants have start == end. */
struct simgpu_activity {
    uint32_t kind;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint32_t graph;      /* id of the executable graph, 0 outside graphs */
    uint64_t graph_node; /* 0 outside graphs */
    uint32_t process;    /* filled by libcupti */
    uint32_t thread;     /* filled by libcupti if 0 */
    uint64_t start, end;
    union {
        struct simgpu_kernel kernel;
        struct simgpu_copy copy;
        struct simgpu_set set;
        struct simgpu_api_record api;
        struct simgpu_sync sync;
        struct simgpu_event_record event;
        struct simgpu_memory memory;
        struct simgpu_pool pool;
        struct simgpu_unified unified;
        struct simgpu_overhead overhead;
        struct simgpu_stream_record stream_info;
        struct simgpu_context_record context_info;
        struct simgpu_device_record device_info;
    };
};

/* Filled by libcupti. Except for `activity` and `profiled_passes`, which run under the driver's
 * lock and must not call the client, every hook is called without any simgpu lock held. */
struct simgpu_hooks {
    void (*api_enter)(struct simgpu_api_call *call);
    void (*api_exit)(struct simgpu_api_call *call);
    void (*activity)(const struct simgpu_activity *activity);
    void (*resource)(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor);
    void (*synchronized)(uint32_t cbid, CUcontext context, CUstream stream);
    /* How often a kernel of this context has to run for the range profiler; 0: it is not started.
     */
    uint32_t (*profiled_passes)(uint32_t context);
};

SIMGPU_EXPORT extern const struct simgpu_hooks *simgpu_hooks;

/* For tests that wait for what a client does: how many calls of cuptiActivityFlushAll have begun
 * and ended, how often CONCURRENT_KERNEL was switched on or off, how many buffers CUPTI has,
 * and the function that it asks for them. */
SIMGPU_EXPORT extern _Atomic uint64_t simgpu_flushes_begun, simgpu_flushes_ended, simgpu_switches;
SIMGPU_EXPORT extern _Atomic uint64_t simgpu_buffers_out;
SIMGPU_EXPORT extern _Atomic uint64_t simgpu_attributes; /* of CUPTI, read */
SIMGPU_EXPORT extern _Atomic uint64_t simgpu_profiled;   /* launches that begin to wait for it */
SIMGPU_EXPORT extern _Atomic uint64_t simgpu_readings;   /* by NVML, of why clocks are low */
SIMGPU_EXPORT extern void *_Atomic simgpu_buffer_client;

/* The virtual clock as seen by the calling thread; each call costs that thread 20 ns. */
SIMGPU_EXPORT uint64_t simgpu_clock_ns(void);
/* What is over: the furthest any thread that uses the driver has come, and the caller if it is one
 * of them. Records that end at or before it are complete. Costs nothing. */
SIMGPU_EXPORT uint64_t simgpu_horizon_ns(void);
/* The calling thread waits (in virtual time) until `when`. For clients and tests. */
SIMGPU_EXPORT void simgpu_wait_until_ns(uint64_t when);
/* Waits until all contexts have done their work. Meanwhile no other thread gets into the driver. */
SIMGPU_EXPORT void simgpu_wait_for_work(void);
/* What comes next in this stream of the current context begins after all work of the context, as if
 * memory ordered it: nothing tells of it. */
SIMGPU_EXPORT void simgpu_hold(CUstream stream);

/* Identities for the cuptiGet*Id functions; false when the handle names nothing. */
SIMGPU_EXPORT bool simgpu_context_ids(CUcontext context, uint32_t *id, uint32_t *device);
SIMGPU_EXPORT bool simgpu_stream_id(CUcontext context, CUstream stream, bool per_thread,
                                    uint32_t *id);
SIMGPU_EXPORT uint32_t simgpu_graph_id(CUgraph graph);
SIMGPU_EXPORT uint64_t simgpu_graph_node_id(CUgraphNode node);
SIMGPU_EXPORT uint32_t simgpu_graph_exec_id(CUgraphExec exec);
/* From now on kernels run one after the other on each device, or beside each other again. */
SIMGPU_EXPORT void simgpu_serialize_kernels(bool serial);
/* When a kernel ends that waits for kernels of other processes. Called with the packed parameters
 * of the launch and with its begin, in the order in which the launches are made. The launching
 * thread waits for the answer in real time, without any simgpu lock. */
typedef uint64_t (*simgpu_meeting)(const void *params, uint64_t start);
/* From now on launches of this function end when `meet` says. */
SIMGPU_EXPORT void simgpu_kernel_meets(CUfunction function, simgpu_meeting meet);
/* From this process's clock to the one that all processes share, and back: SIMGPU_CLOCK_OFFSET_NS
 * and SIMGPU_CLOCK_DRIFT_PPB say how this host's clock is off. */
SIMGPU_EXPORT uint64_t simgpu_common_ns(uint64_t local);
SIMGPU_EXPORT uint64_t simgpu_local_ns(uint64_t common);
/* cuInit has succeeded. */
SIMGPU_EXPORT bool simgpu_is_initialized(void);
/* What counters of a device were over a stretch of time (ledger.c): percent, and bytes a ns. */
struct simgpu_usage {
    double busy, sms, tensor, issue, occupancy, read, write, slower;
    double bus_in, bus_out, nvlink_in, nvlink_out;
};
/* From now on kernels and copies are noted; those before a time may be forgotten. */
SIMGPU_EXPORT void simgpu_ledger_keep(void);
SIMGPU_EXPORT void simgpu_ledger_forget(uint32_t device, uint64_t before);
SIMGPU_EXPORT struct simgpu_usage simgpu_usage(uint32_t device, uint64_t from, uint64_t to);
/* Emits DEVICE, CONTEXT or STREAM activities for what exists now. */
SIMGPU_EXPORT void simgpu_dump_existing(uint32_t kind);

#endif
