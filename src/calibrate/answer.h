/* What a probe measures, its answer, read back, and what the trace of a recorded one says of its
 * calls.
 */
#ifndef MP_CALIBRATE_ANSWER_H
#define MP_CALIBRATE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- Measures ----
 *
 * What the probe measures, and how its answer is written.
 *
 * The probe is a child process that does the same work in each round, once bare and once recorded.
 * Its answer is a text file with a line for each sample:
 *
 *     call NAME BEGIN END COUNT      COUNT equal calls between two readings of the trace's clock
 *     time NAME NS                   anything else
 *     failed WHAT                    the first failure; nothing follows
 */

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

/* ---- The answer ----
 *
 * The answer of a probe, read back, and what the trace of a recorded one says of its calls.
 */

#define ANSWER_SAMPLES 2048

struct answer_sample {
    enum measure measure;
    double ns;           /* of one call, or the time */
    uint64_t begin, end; /* of calls; else 0 */
    uint64_t count;      /* calls */
    uint64_t found;      /* calls of the trace between begin and end ... */
    uint64_t inside;     /* ... and what they took together */
};

struct answer {
    size_t count;
    struct answer_sample samples[ANSWER_SAMPLES];
};

/* Whose costs they are, from a trace; texts are cut. */
struct answer_key {
    char gpu[256];
    unsigned long driver;
    unsigned long cupti;
};

/* MP_ERR_UNSUPPORTED with the probe's own words if it failed; MP_ERR_IO, MP_ERR_DAMAGED. */
enum mp_status answer_read(const char *path, struct answer *answer, struct mp_error *error);

/* Adds up the calls of the trace that lie in the samples, and finds the key of `device`. The trace
 * must be whole: MP_ERR_DAMAGED otherwise. */
enum mp_status answer_read_trace(const char *path, unsigned device, struct answer *answer,
                                 struct answer_key *key, struct mp_error *error);

/* Medians of the samples. MP_ERR_DAMAGED if a measure is missing other than the begins of kernels,
 * or if calls of a measure were recorded in part. */
enum mp_status answer_sum_up(const struct answer *answer, struct measured *measured,
                             struct mp_error *error);

#endif
