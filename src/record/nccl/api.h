/* NCCL's interface to profiler plugins, versions 4 (NCCL 2.27), 5 (2.28) and 6 (2.29), as far as
 * the recorder uses it. NCCL looks for a symbol ncclProfiler_vN, takes the newest, and calls what
 * is in it (NVIDIA/nccl, src/include/plugin/profiler).
 */
#ifndef MP_RECORD_NCCL_API_H
#define MP_RECORD_NCCL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of the mask by which a plugin chooses events, and types of the events. */
enum nccl_event_type {
    NCCL_EVENT_COLL = 2,
    NCCL_EVENT_P2P = 4,
    NCCL_EVENT_GROUP_API = 256,
    NCCL_EVENT_COLL_API = 512,
    NCCL_EVENT_P2P_API = 1024,
    NCCL_EVENT_KERNEL_LAUNCH = 2048,
};

/* One layout for all three versions: what later versions have added comes after what is read
 * here. Version 4 has a type of one byte. */
struct nccl_event {
    union {
        uint64_t wide;
        uint8_t narrow;
    } type;
    void *parent; /* a handle of ours */
    int rank;
    union {
        struct {
            bool captured;
            int depth;
        } group_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            int root;
            void *stream;
            bool captured;
        } coll_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            void *stream;
            bool captured;
        } p2p_api;
        struct {
            uint64_t sequence;
            const char *function;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels;
            uint8_t warps;
            const char *algorithm;
            const char *protocol;
        } coll;
        struct {
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
        } p2p;
    } of;
};

_Static_assert(offsetof(struct nccl_event, parent) == 8 && offsetof(struct nccl_event, of) == 24 &&
                   offsetof(struct nccl_event, of.coll.algorithm) == 24 + 64 &&
                   offsetof(struct nccl_event, of.p2p.channels) == 24 + 36,
               "as NCCL lays it out");

/* All functions answer 0 for success. `log` is not used. */
struct nccl_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
                int rank, void *log);
    int (*start)(void *context, void **handle, struct nccl_event *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};

/* Versions 5 and 6. */
struct nccl_profiler_v5 {
    const char *name;
    int (*init)(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                int rank, void *log);
    int (*start)(void *context, void **handle, struct nccl_event *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};

#endif
