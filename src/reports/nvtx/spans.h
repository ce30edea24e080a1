/* The NVTX ranges of a trace, ordered so that the ranges around a call are found quickly.
 *
 * A span is one range, from its push to its pop or from its start to its end. The spans of a thread
 * are put into lanes. Within a lane, spans are nested or apart, never overlapping in part. Pushes
 * and pops need one lane; start/end ranges may need more:
 *
 *     lane 0   |--- step ------------------|  |--- step ---|
 *                |- embed -| |- layer -|
 *     lane 1            |- request 1 ---------------|
 *
 * If two spans touch and a call takes no time, the call counts in the later span.
 *
 * A node stands for the spans of one kind (thread, domain, name) inside those of another node: the
 * calling context tree of the ranges of a lane. There are as many nodes as different nestings,
 * however often each nesting occurs.
 */
#ifndef MP_REPORTS_NVTX_SPANS_H
#define MP_REPORTS_NVTX_SPANS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/common/tally.h"
#include "profile/profile.h"
#include "profile/ranges.h"

#define NVTX_NONE UINT32_MAX
#define NVTX_MAX  (1u << 31) /* ranges */

struct nvtx_span {
    uint64_t begin; /* ns */
    uint64_t end;
    uint32_t parent; /* of spans; NVTX_NONE */
    uint32_t node;
    bool across; /* another thread ended it than began it */
};

struct nvtx_lane {
    uint32_t first; /* of spans, in order of begin */
    uint32_t count;
    uint32_t last_found; /* where the search begins */
};

struct nvtx_thread {
    uint64_t number; /* the trace's */
    uint32_t first_lane;
    uint32_t lane_count;
};

struct nvtx_kind {
    uint32_t thread; /* of threads */
    uint32_t domain; /* of names; 0: the default one */
    uint32_t name;   /* of names */
    struct tally instances;
    uint64_t unfinished; /* of the instances: neither ended nor cut */
    uint64_t cut;        /* they go on outside of their capture range */
};

struct nvtx_node {
    uint32_t parent; /* an earlier node; NVTX_NONE */
    uint32_t kind;
};

struct nvtx_spans {
    struct nvtx_thread *threads;
    size_t thread_count, thread_capacity;
    struct mp_map thread_index; /* by number */
    struct nvtx_kind *kinds;
    size_t kind_count, kind_capacity;
    struct nvtx_node *nodes;
    size_t node_count, node_capacity;
    struct nvtx_lane *lanes;
    size_t lane_count, lane_capacity;
    struct nvtx_span *spans;
    size_t span_count;
};

/* What reading needs. */
struct nvtx_reading {
    const struct capture_range *range; /* only ranges that begin in it; NULL: all */
    struct mp_intern *names;
    struct quality *quality; /* counts times that cannot be used, and names that are missing; NULL:
                                not wanted */
};

/* Reads the ranges in a pass of its own, and nothing when there are none. MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT (over NVTX_MAX ranges); nvtx_spans_free is due in any case. */
enum mp_status nvtx_spans_load(struct nvtx_spans *spans, const struct profile *profile,
                               const struct nvtx_reading *reading, struct mp_error *error);

void nvtx_spans_free(struct nvtx_spans *spans);

/* The innermost span of a lane that contains all of the time from `begin` to `end`: its node, or
 * NVTX_NONE. Fast when calls come in order of time. */
uint32_t nvtx_spans_find(struct nvtx_spans *spans, struct nvtx_lane *lane, uint64_t begin,
                         uint64_t end);

/* ---- Between spans.c, which reads, and lanes.c, which orders ---- */

/* A range as it was read. */
struct nvtx_instance {
    uint64_t begin;
    uint64_t end;
    uint32_t kind;
    uint32_t lane; /* found by lanes.c */
    bool cut;      /* it goes on outside of its capture range */
    bool across;   /* another thread ended it */
};

#define NVTX_OPEN UINT64_MAX /* `end` while it has none */

/* Makes lanes, nodes and spans of `count` instances that have an end. MP_OK or MP_ERR_MEMORY. */
enum mp_status nvtx_lanes_build(struct nvtx_spans *spans, struct nvtx_instance *instances,
                                size_t count);

#endif
