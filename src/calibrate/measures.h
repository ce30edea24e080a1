/* What the probe measures, and how its answer is written.
 *
 * The probe is a child process that does the same work in each round, once bare and once recorded.
 * Its answer is a text file with a line for each sample:
 *
 *     call NAME BEGIN END COUNT      COUNT equal calls between two readings of the trace's clock
 *     time NAME NS                   anything else
 *     failed WHAT                    the first failure; nothing follows
 */
#ifndef MP_CALIBRATE_MEASURES_H
#define MP_CALIBRATE_MEASURES_H

#include <stdbool.h>

/* X(NAME, text): ns each time; of a call the time of the calling thread. */
#define MEASURES(X)                                                                                \
    X(LAUNCH, "launch")   /* a launch of an empty kernel */                                        \
    X(COPY, "copy")       /* a small copy to the device or within it */                            \
    X(CALL, "call")       /* cuEventRecord */                                                      \
    X(GRAPH_1, "graph_1") /* a launch of a graph of so many empty kernels */                       \
    X(GRAPH_100, "graph_100")                                                                      \
    X(GRAPH_400, "graph_400")                                                                      \
    X(KERNELS, "kernels")     /* of a kernel of a chain, all but its own work */                   \
    X(PAIRS, "pairs")         /* of a kernel and a copy of a chain, likewise */                    \
    X(NODES_100, "nodes_100") /* of a whole graph of so many kernels, likewise */                  \
    X(NODES_400, "nodes_400")                                                                      \
    X(BEGIN, "begin")             /* from before a launch until its kernel says that it runs */    \
    X(TRIP, "trip")               /* the same launch until the return of cuStreamSynchronize */    \
    X(GRAPH_BEGIN, "graph_begin") /* both for a graph of one kernel */                             \
    X(GRAPH_TRIP, "graph_trip")

enum measure {
#define X(name, text) MEASURE_##name,
    MEASURES(X)
#undef X
        MEASURE_COUNT
};

/* What one probe measured: medians of its samples. */
struct measured {
    double ns[MEASURE_COUNT];
    double inside[MEASURE_COUNT]; /* of calls: their duration in the trace; 0: not recorded */
    bool known[MEASURE_COUNT];
};

/* Name of a measure in the answer. */
const char *measure_name(enum measure measure);

/* The measure of that name; MEASURE_COUNT if there is none. */
enum measure measure_by_name(const char *name);

#endif
