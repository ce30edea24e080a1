/* NCCL's operations: one row of `collective` for each that this process enqueued.
 *
 * Three sources report them, in the one order of their thread's NVTX events:
 *
 * - NVTX ranges of the domain NCCL say which function, and when; since NCCL 2.18 sizes; since 2.25
 *   the communicator. Both are read by the names of the fields.
 * - NCCL itself, by the profiler plugin (plugin.h), says everything, and which launch carries which
 *   operations.
 * - A CUDA graph's node was made inside of a launch.
 *
 * An operation is put together while it is pending: the range is pushed, the plugin reports the
 * call, the call returns, the launch carries it. All of that is matched by nesting on the thread or
 * by the ids that the plugin handed out, never by time. The row is written when nothing more can
 * come: at the end of the call, or of the group around it, or of the launch.
 *
 * Operations are numbered by communicator, in the order of the calls: collectives all together,
 * sends and receives by their peer. NCCL wants the same order on all ranks, so equal numbers on
 * several ranks are one operation, if all were recorded from the communicator's begin.
 *
 * Owned by the writer thread. Memory is bounded: OPS_MAX pending operations, COMMS_MAX
 * communicators, OPS_THREADS threads. What finds no room is counted.
 */
#ifndef MP_RECORD_NCCL_COLLECTIVES_H
#define MP_RECORD_NCCL_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/nccl/plugin.h"
#include "record/nvtx/nvtx.h"

#define OPS_MAX      4096u
#define OPS_THREADS  1024u
#define OPS_NESTED   16u /* NVTX ranges of NCCL in each other; deeper ones are left out */
#define OPS_LAUNCHES 16u /* of one group, that are kept separately */
#define OPS_ORIGINS  ((uint32_t)1 << 18) /* nodes of graphs whose launch is remembered */
#define COMMS_MAX    4096u
#define COMM_LAYOUTS 128u /* of payloads */

struct capture;
struct dictionary;

enum { OP_NONE = 0 }; /* no operation: they count from 1 */

struct op {
    uint32_t next; /* of the same thread; or the next free one */
    uint32_t tid;
    uint64_t start, end; /* end 0: not known yet */
    uint64_t api;        /* the plugin's id of the call; 0: it has not reported it */
    uint64_t group;      /* the plugin's id of the group call around it */
    uint64_t sequence, bytes, number;
    uint64_t correlation;
    uint32_t carrier;
    uint32_t comm; /* position in comms + 1; 0 unknown */
    uint32_t peer;
    uint32_t channels;
    bool used;
    bool open;      /* its NVTX range is open */
    bool by_range;  /* it has an NVTX range */
    bool described; /* its payload described it */
    bool by_plugin;
    bool carried; /* the plugin has reported what the launch carries */
    bool captured;
    char function[NCCL_WORD_BYTES];
    char operation[NCCL_WORD_BYTES];
    char datatype[NCCL_WORD_BYTES];
    char algorithm[NCCL_WORD_BYTES];
    char protocol[NCCL_WORD_BYTES];
};

struct op_launch {
    uint32_t carrier;
    uint32_t comm;        /* the plugin's number */
    uint64_t correlation; /* of its CUDA launch; 0 unknown */
};

/* What an NVTX range of NCCL is, on a thread's stack. */
enum op_range { OP_RANGE_OTHER, OP_RANGE_GROUP_START, OP_RANGE_GROUP_END, OP_RANGE_CALL };

struct op_thread {
    uint32_t tid;                   /* 0: free */
    uint32_t first, last;           /* its pending operations, in the order of the calls */
    uint32_t depth;                 /* of ranges; may exceed OPS_NESTED */
    uint8_t ranges[OPS_NESTED];     /* enum op_range */
    uint32_t range_ops[OPS_NESTED]; /* of OP_RANGE_CALL */
    uint32_t groups;                /* ncclGroupStart without its ncclGroupEnd */
    uint64_t group;                 /* the plugin's group call; 0: none */
    bool in_launch;
    uint32_t launch;       /* number of the last one; 0: none */
    uint32_t launch_comm;  /* the plugin's number of its communicator */
    uint64_t correlation;  /* of its CUDA launch; 0 unknown */
    uint32_t launch_count; /* of the group; may exceed OPS_LAUNCHES */
    struct op_launch launches[OPS_LAUNCHES];
};

/* What is known of a communicator. */
struct comm_fact {
    uint64_t hash;
    uint64_t parent;
    uint32_t plugin; /* the plugin's number; 0: only NVTX tells of it */
    uint32_t ranks;
    uint32_t rank;
    uint32_t device;
    uint32_t id; /* in the present file; 0: not defined there */
};

/* Which fields of a schema say what; UINT8_MAX: none does. */
struct comm_layout {
    const struct mp_nvtx_schema *schema;
    uint8_t comm, bytes, operation, root, peer, ranks, rank, device, parent;
};

struct collectives {
    const struct capture *capture; /* what is kept; NULL: everything */
    struct dictionary *dictionary;
    struct op *ops; /* OPS_MAX, by number - 1; NULL before the first */
    uint32_t fresh, free;
    struct op_thread *threads;
    uint32_t thread_count;
    struct mp_map thread_index; /* tid -> position in threads */
    struct mp_map by_api;       /* the plugin's id -> operation */
    struct mp_map origins;      /* number of a graph's node -> carrier */
    uint32_t carriers;          /* given */
    struct comm_fact *comms;
    uint32_t comm_count;
    uint32_t comm_ids;       /* given in the present file */
    struct mp_map by_hash;   /* -> the first one's position in comms */
    struct mp_map by_plugin; /* the plugin's number -> position */
    struct mp_intern counter_keys;
    uint64_t *counters;
    uint32_t counter_capacity;
    struct comm_layout layouts[COMM_LAYOUTS];
    uint32_t layout_count;
    const char *domain; /* the handler's name of the domain NCCL, once met */
    bool off;           /* MINIPROF_NCCL=off */
    uint64_t lost;
};

void collectives_close(struct collectives *collectives);

/* An NVTX event or a note, kept or not. */
void collectives_take(struct collectives *collectives, const struct mp_nvtx_event *event);

/* A thread has ended: its pending operations are written. */
void collectives_end_thread(struct collectives *collectives, uint32_t tid);

/* Writes all that is pending: the recording ends. */
void collectives_settle(struct collectives *collectives);

/* The launch by NCCL that made the node with this number (record/graphs/origins.h); 0: none. */
uint32_t collectives_carrier(const struct collectives *collectives, uint32_t origin);

/* The file was cut. */
void collectives_restart(struct collectives *collectives);

/* ---- Between the files of this folder ---- */

/* ops.c. A new operation of the thread, OP_NONE without room; the one with a number. */
uint32_t ops_new(struct collectives *collectives, struct op_thread *thread, uint64_t time);
struct op *ops_get(struct collectives *collectives, uint32_t number);

/* Writes the row, unless something may still come, and forgets the operation. */
void ops_finish(struct collectives *collectives, struct op_thread *thread, uint32_t number);

/* The same for all of the thread that its group `group` has; 0: for all. */
void ops_finish_group(struct collectives *collectives, struct op_thread *thread, uint64_t group);

/* The thread with this id; NULL without room. */
struct op_thread *ops_thread(struct collectives *collectives, uint32_t tid);

/* Gives the operation its number, if its communicator is known. */
void ops_number(struct collectives *collectives, struct op *op);

bool ops_has_root(const struct op *op);

/* The communicator with this hash, or of this number of the plugin's: its position + 1; 0
 * without room. */
uint32_t comms_by_hash(struct collectives *collectives, uint64_t hash);
uint32_t comms_by_plugin(struct collectives *collectives, uint32_t number);

/* Takes what a payload tells of a communicator; its position + 1, 0: nothing. */
uint32_t comms_learn(struct collectives *collectives, const struct comm_layout *layout,
                     const struct mp_nvtx_payload *payload);

/* The number of a communicator in the file, where it is defined. */
uint32_t comms_define(struct collectives *collectives, uint32_t comm);

/* Which fields of the schema say what; NULL without room. */
const struct comm_layout *comms_layout(struct collectives *collectives,
                                       const struct mp_nvtx_schema *schema);

#endif
