/*
 * plugin.h: the interface of NCCL's profiler plugins, versions 4 to 6 (NCCL 2.27 to 2.29), by its
 * documented members: as far as a library without a network has it.
 */
#ifndef SIMGPU_NCCL_PLUGIN_H
#define SIMGPU_NCCL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of events, and the bits of the mask that a plugin sets. */
enum {
    SN_EVENT_GROUP = 1 << 0, /* a launched kernel's operations */
    SN_EVENT_COLL = 1 << 1,
    SN_EVENT_P2P = 1 << 2,
    SN_EVENT_GROUP_API = 1 << 8,
    SN_EVENT_COLL_API = 1 << 9,
    SN_EVENT_P2P_API = 1 << 10,
    SN_EVENT_KERNEL_LAUNCH = 1 << 11
};

/* States of a GROUP_API event. */
enum { SN_STATE_GROUP_START_STOP = 23, SN_STATE_GROUP_END_START = 24 };

/* Version 5's, and version 6's for these events. In version 4 the type is its first byte alone, and
 * parentGroup is missing: the members before it lie where they lie here. */
struct sn_descriptor {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct {
            bool captured;
            int depth;
        } group_api;
        struct {
            const char *function;
            size_t count;
            const char *type;
            int root;
            void *stream;
            bool captured;
        } coll_api;
        struct {
            const char *function;
            size_t count;
            const char *type;
            void *stream;
            bool captured;
        } p2p_api;
        struct {
            void *stream;
        } launch;
        struct {
            uint64_t sequence;
            const char *function;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *type;
            uint8_t channels, warps;
            const char *algorithm;
            const char *protocol;
            void *group;
        } coll;
        struct {
            const char *function;
            void *buffer;
            const char *type;
            size_t count;
            int peer;
            uint8_t channels;
            void *group;
        } p2p;
    };
};

typedef void (*sn_logger)(int level, unsigned long flags, const char *file, int line,
                          const char *format, ...);

/* What `ncclProfiler_v5` and `ncclProfiler_v6` are; results are ncclResult_t's. */
struct sn_profiler {
    const char *name;
    int (*init)(void **context, uint64_t comm, int *mask, const char *name, int nodes, int nranks,
                int rank, sn_logger logger);
    int (*start)(void *context, void **event, struct sn_descriptor *descriptor);
    int (*stop)(void *event);
    int (*state)(void *event, int state, void *arguments);
    int (*finalize)(void *context);
};

/* `ncclProfiler_v4`: it differs in the order of init's parameters. */
struct sn_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *name, uint64_t comm, int nodes, int nranks,
                int rank, sn_logger logger);
    int (*start)(void *context, void **event, struct sn_descriptor *descriptor);
    int (*stop)(void *event);
    int (*state)(void *event, int state, void *arguments);
    int (*finalize)(void *context);
};

#endif
