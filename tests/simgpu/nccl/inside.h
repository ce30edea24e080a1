/*
 * inside.h: the inside of the stand-in for libnccl.so.2.
 *
 *   nccl.h's functions -> group.c: operations wait for the end of their group
 *                      -> launch.c: one kernel for each communicator and kind
 *                      -> libcuda: calls back when the kernel's begin is known
 *                      -> play.c: asks meet.c when the other ranks' kernels begin; the end follows
 *
 * nvtx.c and plugin.c tell a profiler about it, as NCCL does.
 */
#ifndef SIMGPU_NCCL_INSIDE_H
#define SIMGPU_NCCL_INSIDE_H

#include "../env.h"
#include "nccl.h"

#include <pthread.h>
#include <stdbool.h>

enum sn_call {
    SN_COMM_INIT_RANK,
    SN_COMM_INIT_RANK_CONFIG,
    SN_COMM_SPLIT,
    SN_COMM_FINALIZE,
    SN_COMM_DESTROY,
    SN_COMM_ABORT,
    SN_GROUP_START,
    SN_GROUP_END,
    SN_ALL_GATHER,
    SN_ALL_REDUCE,
    SN_BROADCAST,
    SN_REDUCE_SCATTER,
    SN_REDUCE,
    SN_SEND,
    SN_RECV,
    SN_HOST_FUNCTION, /* what NCCL enqueues for its proxy thread */
    SN_CALLS
};

/* ---- meet.c: where processes meet ---- */

struct sn_shared; /* the memory that the ranks of a communicator share */

struct sn_meeting {
    struct sn_shared *shared;
    int file;
    int rank, nranks;
    uint64_t number;              /* meetings of all ranks so far */
    uint64_t sent[SIMNCCL_RANKS]; /* transfers so far, by the other rank */
    uint64_t received[SIMNCCL_RANKS];
    bool joined;
    char path[256];
};

/* What a rank brings to a meeting, and what the others find there. */
struct sn_word {
    uint64_t time;      /* on the shared axis */
    uint64_t signature; /* must be the same on all */
    int color, key;     /* of a split */
};

/* Opens the memory of this communicator; ncclSystemError when it cannot. */
ncclResult_t sn_meetingOpen(struct sn_meeting *meeting, uint64_t hash, int rank, int nranks);
void sn_meetingClose(struct sn_meeting *meeting);
/* All ranks bring a word and get everybody's. ncclRemoteError when one has ended, ncclSystemError
 * after SIMNCCL_TIMEOUT_MS, ncclInvalidUsage when the signatures differ. */
ncclResult_t sn_meetAll(struct sn_meeting *meeting, const struct sn_word *word,
                        struct sn_word words[SIMNCCL_RANKS]);
/* One side of a transfer: comes, and then learns of the other. Each arrival has its number. */
uint64_t sn_comeToPair(struct sn_meeting *meeting, int peer, bool sends,
                       const struct sn_word *word);
ncclResult_t sn_findPair(struct sn_meeting *meeting, int peer, bool sends, uint64_t number,
                         const struct sn_word *word, struct sn_word *other);

/* ---- comm.c ---- */

struct ncclComm {
    uint64_t hash;
    int rank, nranks, device;
    char name[64];
    struct sn_meeting meeting;
    CUcontext context;
    CUmodule module;
    CUfunction kernels[SN_CALLS][5][12]; /* those used so far, by call, reduction and type */
    unsigned splits;
    bool in_graphs;               /* a call was captured */
    bool is_idle;                 /* launches no kernel: a rank alone, as NCCL has it */
    uint64_t collectives;         /* played so far */
    uint64_t sequence[SN_CALLS];  /* calls so far that were not captured, as NCCL counts them */
    _Atomic ncclResult_t failure; /* the first one of a kernel */
    void *profiler;               /* the plugin's context */
    bool ended;
    ncclComm_t older; /* the one that ended before it */
};

/* ---- group.c ---- */

/* An operation as it was called. */
struct sn_op {
    enum sn_call call;
    const void *send;
    void *recv;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer; /* or the root; -1: there is none */
    ncclComm_t comm;
    CUstream stream;
    uint64_t bytes;  /* of the message */
    void *api_event; /* the plugin's */
    bool captured;
    size_t index; /* in its group */
};

size_t sn_typeBytes(ncclDataType_t type);
/* Adds the operation to this thread's group; without one it is launched at once. */
ncclResult_t sn_enqueue(struct sn_op *op);

/* ---- launch.c, play.c ---- */

/* What one kernel does: the operations of one communicator in one group, all of a kind. */
struct sn_work {
    ncclComm_t comm;
    struct sn_work *next; /* those of graphs are kept */
    void *group_event;    /* the plugin's event of the API's group */
    size_t count;
    struct sn_op ops[];
};

/* Loads the kernels into the current context. */
ncclResult_t sn_kernelsLoad(ncclComm_t comm);
/* Launches, and tells the plugin. */
ncclResult_t sn_launch(ncclComm_t comm, const struct sn_op *ops, size_t count, void *group_event);
bool sn_isTransfer(enum sn_call call);
/* Until when the kernel of this work runs that begins at `start`: a simgpu_meeting, whose parameter
 * is a pointer to the work. */
uint64_t sn_play(const void *params, uint64_t start);
/* The calling thread computes for so long. */
void sn_spend(uint64_t ns);

/* ---- nvtx.c ---- */

/* In the order of NCCL's payloads; which ones there are depends on the call. */
struct sn_values {
    uint64_t comm;
    size_t bytes;
    int first, second;
};

struct sn_init_values {
    uint64_t comm;
    int nranks, rank, device;
};

struct sn_split_values {
    uint64_t comm, parent;
    int nranks, rank, device, color, key;
};

void sn_nvtxPush(enum sn_call call);
void sn_nvtxPushOp(const struct sn_op *op);
void sn_nvtxPushInit(enum sn_call call, const struct sn_init_values *values);
void sn_nvtxPop(void);
/* With the payload on the pop; with the old layouts without. */
void sn_nvtxPopInit(enum sn_call call, const struct sn_init_values *values);
void sn_nvtxPopSplit(const struct sn_split_values *values);
void sn_nvtxPopFinalize(uint64_t comm);

/* ---- plugin.c ---- */

const char *sn_functionName(enum sn_call call); /* without "nccl" */
void sn_pluginOpen(ncclComm_t comm);
void sn_pluginClose(ncclComm_t comm);
/* The group of calls, from its first operation on. */
void *sn_pluginGroup(const struct sn_op *first, int depth);
void sn_pluginGroupEnds(void *group);
void sn_pluginGroupStop(void *group);
/* The call itself, inside of its group. */
void *sn_pluginApi(const struct sn_op *op, void *group);
void *sn_pluginLaunch(ncclComm_t comm, CUstream stream, void *group);
void sn_pluginStop(void *event);
/* What the kernel of this work does, after its launch. */
void sn_pluginTasks(const struct sn_work *work);

#endif
