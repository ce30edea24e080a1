/* Rows of the table `host_function` from what the preloaded library tells.
 *
 * A function in a stream comes with the ids of its launch. A function in a graph comes only with
 * the call that made its node. It belongs to one of the executable graphs that have a clone of that
 * node: the k-th run of a node to the k-th launch of its graph. So launches of graphs wait here for
 * the functions that run in them, and a function waits for its launch, since the two come by
 * different threads. A function that has waited in vain, and a launch for which there was no room,
 * still count: what comes later keeps its partner.
 *
 * Owned by the writer.
 */
#ifndef MP_RECORD_ROWS_HOST_ROWS_H
#define MP_RECORD_ROWS_HOST_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/core/call_log.h"
#include "record/graphs/origins.h"

#define HOST_ROWS_LAUNCHES 4096u /* of graphs, whose functions have not all run */
#define HOST_ROWS_RUNS     8192u /* of functions, whose launches have not come: two full logs */
#define HOST_ROWS_MISSED   256u
#define HOST_ROWS_NAMES    4096u
#define HOST_ROWS_MEMOS    256u

struct recording;

/* A launch of a graph with host functions. */
struct host_launch {
    uint64_t start;
    uint32_t graph;
    uint32_t correlation, context, stream;
    uint32_t left; /* functions that have not run in it */
};

/* A function in a graph that has run. */
struct host_run {
    struct call_entry entry;
    int64_t until_ms; /* of CLOCK_MONOTONIC: until then it waits for its launch */
    uint32_t tid;
    uint32_t rounds; /* for which it has waited */
};

/* How many functions there are in an executable graph. */
struct host_graph {
    uint32_t graph;
    uint32_t at; /* host_nodes_changes, when it was looked up; 0: never */
    uint32_t nodes;
};

/* What is known of a node in an executable graph. */
struct host_ran {
    uint64_t last;      /* when the launch began in which it ran last; 0: none is known */
    uint64_t since;     /* and the first of those that were forgotten before it ran in them */
    uint32_t forgotten; /* how many these are */
};

/* A function whose launch did not come in time. */
struct host_missed {
    uint64_t root; /* as in struct host_node */
    uint64_t begin;
};

struct host_rows {
    struct host_graph graphs[HOST_ROWS_MEMOS]; /* what was looked up last */
    struct host_clones clones[HOST_ROWS_MEMOS];
    struct host_launch launches[HOST_ROWS_LAUNCHES]; /* oldest first */
    struct host_run runs[HOST_ROWS_RUNS];            /* oldest first */
    struct host_missed missed[HOST_ROWS_MISSED];     /* oldest first */
    uint32_t launch_count, run_count, missed_count;
    struct mp_map places; /* node id -> position in `ran` */
    struct host_ran ran[HOST_NODES_MAX];
    uint32_t ran_count;
    uint64_t forgotten;  /* launches */
    struct mp_map names; /* address -> position in texts */
    char *texts[HOST_ROWS_NAMES];
    uint32_t text_count;
};

/* A graph was launched, a function has run: a call entry of the kind says which. */
void host_rows_take(struct recording *recording, uint32_t tid, const struct call_entry *entry);

/* The end of a round: appends what need not wait. `last`: nothing more comes. */
void host_rows_settle(struct recording *recording, bool last);

void host_rows_close(struct host_rows *rows);

#endif
