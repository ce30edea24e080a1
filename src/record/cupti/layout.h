/* CUPTI's activity records as the recorder reads them.
 *
 * CUPTI emits the newest layout that the *loaded* library knows, which may be newer than the
 * headers of this build. Every layout since CUDA 11.8 extends the one before. So the views here
 * hold the prefix that all supported versions have, plus fields that came later. The recorder reads
 * a later field only after a check of the loaded version (MP_CUPTI_SINCE_*): in an older library
 * its place belongs to the next record. The views' sizes are never used to find the next record;
 * cuptiActivityGetNextRecord knows the sizes.
 *
 * layout.c checks the offsets against the headers of this build.
 */
#ifndef MP_RECORD_CUPTI_LAYOUT_H
#define MP_RECORD_CUPTI_LAYOUT_H

#include <stdint.h>

#include "base/settings/config.h"

/* CUPTI_API_VERSION of the releases that changed something here (CUPTI release notes). */
#define MP_CUPTI_SINCE_OVERHEAD_IDS   20 /* 12.2: correlation id in overhead records */
#define MP_CUPTI_SINCE_THREAD_BUFFERS 21 /* 12.3: PER_THREAD_ACTIVITY_BUFFER */
#define MP_CUPTI_SINCE_GREEN_CONTEXTS 22 /* 12.4: parents in context records */
#define MP_CUPTI_SINCE_GREEN_SMS      23 /* 12.5: their multiprocessors */
#define MP_CUPTI_SINCE_API_BY_CBID    23 /* 12.5: cuptiActivityEnableDriverApi, ...RuntimeApi */
#define MP_CUPTI_SINCE_COPY_COUNT     26 /* 12.8: batched copies */
#define MP_CUPTI_SINCE_UNIFIED_PROCESSORS                                                          \
    26 /* 12.8: a mask at the end of unified memory's records */

#define MP_CUPTI_SINCE_JIT           26 /* 12.8 or before: JIT */
#define MP_CUPTI_SINCE_DEVICE_GRAPHS 26 /* 12.8: DEVICE_GRAPH_TRACE */
#define MP_CUPTI_SINCE_DEVICE_KERNELS                                                              \
    130000 /* 13.0: kernels tell that the device launched them                                     \
            */

#define MP_CUPTI_SINCE_HOST_FUNCTIONS 130100 /* 13.1: GRAPH_HOST_NODE, HOST_LAUNCH */
#define MP_CUPTI_SINCE_SEVERAL_CLIENTS                                                             \
    130200 /* 13.2: allowMultipleSubscribers of CUpti_SubscriberParams */

#define MP_CUPTI_KIND_JIT             52
#define MP_CUPTI_KIND_GRAPH_HOST_NODE 56 /* CUPTI_ACTIVITY_KIND_..., which older headers lack */
#define MP_CUPTI_KIND_HOST_LAUNCH     58
#define MP_CUPTI_KIND_DEVICE_GRAPH_TRACE                                                           \
    53 /* CUPTI_ACTIVITY_KIND_..., which older headers lack                                        \
        */

/* Every record starts with its CUpti_ActivityKind. */
struct record_any {
    uint32_t kind;
};

/* CUpti_ActivityKernel8 and later: CONCURRENT_KERNEL */
struct record_kernel {
    uint32_t kind;
    uint8_t cache_config;
    uint8_t shared_memory_config;
    uint16_t registers;
    uint32_t partitioned_cache_requested;
    uint32_t partitioned_cache_executed;
    uint64_t start;
    uint64_t end;
    uint64_t completed;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    int32_t grid[3];
    int32_t block[3];
    int32_t static_shared_memory;
    int32_t dynamic_shared_memory;
    uint32_t local_memory_per_thread;
    uint32_t local_memory_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved0;
    uint64_t queued;
    uint64_t submitted;
    uint8_t launch_type;
    uint8_t carveout_requested;
    uint8_t carveout;
    uint8_t padding;
    uint32_t shared_memory_executed;
    uint64_t graph_node;
    uint32_t shared_memory_limit;
    uint32_t graph;
    void *access_policy;
    uint32_t channel;
    uint32_t channel_type;
    uint32_t cluster[3];
    uint32_t cluster_policy;
};

/* CUpti_ActivityKernel10 and later, MP_CUPTI_SINCE_DEVICE_KERNELS */
struct record_kernel_10 {
    struct record_kernel kernel;
    uint64_t local_memory_total;
    uint32_t max_cluster_blocks;
    uint32_t max_active_clusters;
    uint8_t device_launched;
};

/* CUpti_ActivityMemcpy5 and later: MEMCPY */
struct record_copy {
    uint32_t kind;
    uint8_t copy_kind;
    uint8_t source_kind;
    uint8_t target_kind;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t correlation;
    uint32_t runtime_correlation;
    uint32_t padding;
    void *reserved0;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t channel;
    uint32_t channel_type;
    uint8_t device_launched;
    uint8_t padding2[3];
    uint64_t count; /* MP_CUPTI_SINCE_COPY_COUNT */
};

/* CUpti_ActivityMemcpyPtoP4 and later: MEMCPY2 */
struct record_peer_copy {
    uint32_t kind;
    uint8_t copy_kind;
    uint8_t source_kind;
    uint8_t target_kind;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t source_device;
    uint32_t source_context;
    uint32_t target_device;
    uint32_t target_context;
    uint32_t correlation;
    void *reserved0;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t channel;
};

/* CUpti_ActivityMemset4 and later: MEMSET */
struct record_set {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t correlation;
    uint16_t flags;
    uint16_t memory_kind;
    uint32_t padding;
    void *reserved0;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t channel;
};

/* CUpti_ActivityAPI: RUNTIME, DRIVER, INTERNAL_LAUNCH_API */
struct record_call {
    uint32_t kind;
    uint32_t cbid;
    uint64_t start;
    uint64_t end;
    uint32_t process;
    uint32_t thread;
    uint32_t correlation;
    uint32_t result;
};

/* CUpti_ActivityGraphTrace and later: GRAPH_TRACE */
struct record_graph {
    uint32_t kind;
    uint32_t correlation;
    uint64_t start;
    uint64_t end;
    uint32_t device;
    uint32_t graph;
    uint32_t context;
    uint32_t stream;
    void *reserved;
};

/* CUpti_ActivityDeviceGraphTrace: DEVICE_GRAPH_TRACE, MP_CUPTI_SINCE_DEVICE_GRAPHS */
struct record_device_graph {
    uint32_t kind;
    uint32_t device;
    uint64_t start;
    uint64_t end;
    uint32_t graph;
    uint32_t launcher;
    uint32_t launch_mode;
    uint32_t context;
    uint64_t stream;
};

/* CUpti_ActivityHostLaunch: HOST_LAUNCH, MP_CUPTI_SINCE_HOST_FUNCTIONS. This one and the next are
 * the members that the documentation lists, in its order, naturally aligned. No header of that
 * version was at hand, so the records are checked before they are believed. */
struct record_host_launch {
    uint32_t kind;
    uint32_t stream;
    uint32_t context;
    uint32_t device;
    uint32_t correlation;
    uint32_t process;
    uint32_t thread;
    uint32_t padding;
    uint64_t start;
    uint64_t end;
};

/* CUpti_ActivityGraphHostNode: GRAPH_HOST_NODE, MP_CUPTI_SINCE_HOST_FUNCTIONS */
struct record_host_node {
    uint32_t kind;
    uint32_t stream;
    uint32_t context;
    uint32_t device;
    uint32_t correlation;
    uint32_t graph;
    uint64_t graph_node;
    uint32_t process;
    uint32_t thread;
    uint64_t start;
    uint64_t end;
};

/* CUpti_ActivityMemory3 and later: MEMORY2 */
struct record_memory {
    uint32_t kind;
    uint32_t operation;
    uint32_t memory_kind;
    uint32_t correlation;
    uint64_t address;
    uint64_t bytes;
    uint64_t time;
    uint64_t program_counter;
    uint32_t process;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    const char *name;
    uint32_t asynchronous;
    uint32_t padding;
    uint32_t pool_type;
    uint32_t padding2;
    uint64_t pool_address;
    uint64_t pool_threshold;
    uint64_t pool_size; /* of local pools; an imported one has the process id here */
    uint64_t pool_used;
};

/* CUpti_ActivityMemoryPool2 and later: MEMORY_POOL */
struct record_pool {
    uint32_t kind;
    uint32_t operation;
    uint32_t pool_type;
    uint32_t correlation;
    uint32_t process;
    uint32_t device;
    uint64_t bytes_kept;
    uint64_t address;
    uint64_t size;
    uint64_t threshold;
    uint64_t time;
    uint64_t used;
};

/* CUpti_ActivityOverhead and later: OVERHEAD */
struct record_overhead {
    uint32_t kind;
    uint32_t overhead_kind;
    uint32_t object_kind;
    uint32_t object[3]; /* process and thread when object_kind is 2 */
    uint64_t start;
    uint64_t end;
    uint32_t correlation; /* MP_CUPTI_SINCE_OVERHEAD_IDS */
};

/* CUpti_ActivityJit and later: JIT */
struct record_jit {
    uint32_t kind;
    uint32_t entry;
    uint32_t operation;
    uint32_t device;
    uint64_t start;
    uint64_t end;
    uint32_t correlation;
    uint32_t padding;
    uint64_t unit;
    uint64_t cache_bytes;
};

/* CUpti_ActivityUnifiedMemoryCounter2 and later: UNIFIED_MEMORY_COUNTER */
struct record_unified {
    uint32_t kind;
    uint32_t counter;
    uint64_t value;
    uint64_t start;
    uint64_t end; /* of some counters only */
    uint64_t address;
    uint32_t source;
    uint32_t target;
    uint32_t stream;
    uint32_t process;
    uint32_t flags;
    uint32_t padding;
};

/* CUpti_ActivityContext and later: CONTEXT */
struct record_context {
    uint32_t kind;
    uint32_t context;
    uint32_t device;
    uint16_t compute_api;
    uint16_t null_stream;
};

/* CUpti_ActivityContext2 and later, MP_CUPTI_SINCE_GREEN_CONTEXTS */
struct record_context_2 {
    struct record_context context;
    uint32_t parent;
    uint8_t is_green;
    uint8_t padding;
    uint16_t multiprocessors; /* MP_CUPTI_SINCE_GREEN_SMS; of a green context only */
};

/* CUpti_ActivityStream: STREAM */
struct record_stream {
    uint32_t kind;
    uint32_t context;
    uint32_t stream;
    uint32_t priority;
    uint32_t flag;
    uint32_t correlation;
};

/* CUpti_ActivityDevice4 and later: DEVICE */
struct record_device {
    uint32_t kind;
    uint32_t flags;
    uint64_t memory_bandwidth;
    uint64_t memory;
    uint32_t constant_memory;
    uint32_t l2_cache;
    uint32_t warp_threads;
    uint32_t core_clock;
    uint32_t copy_engines;
    uint32_t multiprocessors;
    uint32_t max_ipc;
    uint32_t sm_warps;
    uint32_t sm_blocks;
    uint32_t sm_shared_memory;
    uint32_t sm_registers;
    uint32_t block_registers;
    uint32_t block_shared_memory;
    uint32_t block_threads;
    uint32_t block_dimensions[3];
    uint32_t grid_dimensions[3];
    uint32_t compute_major;
    uint32_t compute_minor;
    uint32_t id;
    uint32_t ecc;
    uint8_t uuid[16];
    const char *name;
};

/* CUPTI's correlation ids have 32 bits and wrap after two hours of launches. This extends an id to
 * the 64-bit value nearest to `max`, the largest one met so far. 0, "none", stays 0. The id does
 * not count as met. */
static inline uint64_t correlation_nearest(uint64_t max, uint32_t correlation)
{
    int32_t step = (int32_t)(correlation - (uint32_t)max);

    /* The first id, or one from before it: a range may begin after billions of calls. */
    if (!correlation || !max || (step < 0 && (uint64_t) - (int64_t)step > max))
        return correlation;
    return max + (uint64_t)(int64_t)step;
}

/* Like correlation_nearest, but the id counts as met. */
static inline uint64_t correlation_extend(uint64_t *max, uint32_t correlation)
{
    uint64_t extended = correlation_nearest(*max, correlation);

    if (correlation && (!*max || (int32_t)(correlation - (uint32_t)*max) >= 0))
        *max = extended;
    return extended;
}

#endif
