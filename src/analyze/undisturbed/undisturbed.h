/* The run as it would have been without recording: what recording costs is taken out of the event
 * graph, and everything else happens as soon as it can (docs/undisturbed.md).
 *
 *     costs.c        what recording costs at each activity
 *     host.c         built-in costs on a host of another speed
 *     length.c       how long a replay is
 *     studied.c      a trace, its iterations, and both without the costs
 *     undisturbed.c  fits the costs to steps that were not recorded, and takes them out
 */
#ifndef MP_ANALYZE_UNDISTURBED_UNDISTURBED_H
#define MP_ANALYZE_UNDISTURBED_UNDISTURBED_H

#include <miniprof/trace.h>

#include "analyze/baseline/baseline.h"
#include "analyze/deps/deps.h"
#include "analyze/iterations/iterations.h"
#include "model/costs/costs.h"

/* Where the costs come from. */
enum undisturbed_source {
    UNDISTURBED_NONE, /* the times are as recorded; `why_not` */
    UNDISTURBED_BUILT_IN,
    UNDISTURBED_CALIBRATED_HERE,
    UNDISTURBED_CALIBRATED_THERE,
    UNDISTURBED_MEASURED, /* fitted to steps that were not recorded */
    UNDISTURBED_SOURCES
};

/* Its word in JSON. */
const char *undisturbed_source_key(enum undisturbed_source source);

struct deps_less; /* replay.h */

struct undisturbed {
    enum undisturbed_source source;
    const char *why_not;  /* static; NULL: nobody needs to know */
    double scale;         /* costs are multiplied by it; 1 unless MEASURED */
    uint64_t recorded;    /* ns: P50 of the latencies of iterations, or the windows together */
    uint64_t undisturbed; /* the same without the costs */
    size_t steps;         /* MEASURED: that were not recorded */
};

/* What to take the costs out of. */
struct undisturbed_input {
    struct mp_trace *trace;
    struct deps *deps;               /* with fronts */
    const struct baseline *baseline; /* NULL: not looked for */
    struct iterations_study *study;  /* NULL: none */
    struct deps_windows *windows;    /* NULL: none */
};

/* Takes the costs of recording out of the graph, and gives the study and the windows their new
 * times. If that is not possible, everything stays as recorded, and `result` says why.
 * O(activities) for each of at most 12 replays. Memory meanwhile: 64 bytes an activity, 8 bytes an
 * activity remain. MP_ERR_MEMORY: the graph is of no use then. */
enum mp_status undisturbed_apply(const struct undisturbed_input *input, struct undisturbed *result);

/* The same, but the costs are only found, for a graph that this one becomes a part of: the arrays
 * of *less are the caller's to free; NULL if there are none. MP_ERR_MEMORY. */
enum mp_status undisturbed_costs(const struct undisturbed_input *input, struct undisturbed *result,
                                 struct deps_less *less);

/* ---- A trace and its iterations ---- */

struct studied_options {
    struct deps_options graph;
    struct iterations_options iterations;
    bool as_recorded; /* leaves the costs in */
};

/* Zeroed, it holds nothing. */
struct studied {
    struct deps deps;
    struct baseline baseline;
    struct iterations_study study;
    struct undisturbed undisturbed;
};

/* Reads the event graph, finds and measures the iterations, and takes the costs of recording out.
 * Fails as deps_load and iterations_study do; studied_free is due in any case. */
enum mp_status studied_load(struct mp_trace *trace, const struct studied_options *options,
                            struct studied *studied, struct mp_error *error);

void studied_free(struct studied *studied);

#endif
