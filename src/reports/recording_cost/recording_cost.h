/* What recording costs: measured in steps that were not recorded, or else a rough estimate. No
 * other number follows from it: all times of all reports are as recorded (docs/recording-cost.md).
 *
 *     baseline.c         steps with and without recording
 *     activities.c       what recording costs at each activity of the event graph, and the run
 *                        without these costs, solved as a what-if
 *     recording_cost.c   how much shorter that is
 */
#ifndef MP_REPORTS_RECORDING_COST_RECORDING_COST_H
#define MP_REPORTS_RECORDING_COST_RECORDING_COST_H

#include <miniprof/trace.h>

#include "profile/costs.h"
#include "reports/deps/deps.h"
#include "reports/iterations/iterations.h"
#include "reports/recording_cost/baseline.h"
#include "reports/replay/replay.h"

/* Where the cost is known from. */
enum recording_cost_source {
    RECORDING_COST_UNKNOWN, /* `why_not` says why */
    RECORDING_COST_BUILT_IN,
    RECORDING_COST_CALIBRATED_HERE,
    RECORDING_COST_CALIBRATED_THERE, /* where the trace was recorded */
    RECORDING_COST_MEASURED,         /* steps with and without recording (baseline.h) */
    RECORDING_COST_SOURCES
};

/* Its word in JSON. */
const char *recording_cost_source_key(enum recording_cost_source source);

/* Times are ns. */
struct recording_cost {
    enum recording_cost_source source;
    const char *why_not; /* static */
    uint64_t of;         /* P50 with recording: of the iterations' headline, or of the steps */
    uint64_t cost;       /* of that; an estimate is rounded to two digits; 0: none was found */
    /* MEASURED: */
    uint64_t without;   /* P50 of the steps that were not recorded */
    uint64_t low, high; /* the middle half of them lies between */
    size_t steps;       /* that were not recorded */
    const char *name;   /* of the steps: the baseline's */
};

/* Why a trace cannot tell what recording costs at each activity; NULL: it can. Static. */
const char *recording_cost_why_not(const struct deps *deps, const struct mp_trace *trace);

/* Notes in deps->recording what recording costs at each activity, where that is known: the path,
 * idle gaps, what-if and advice take it from there. O(activities), and 12 bytes an activity from
 * then on. Comes after deps->quality.only is set. MP_ERR_MEMORY. */
enum mp_status recording_cost_lay(struct deps *deps, const struct mp_trace *trace);

/* The cost of an iteration of `study`. Needs deps_options.fronts, and recording_cost_lay.
 * O(activities), and 16 bytes an activity meanwhile. MP_ERR_MEMORY. */
enum mp_status recording_cost_find(const struct deps *deps, struct mp_trace *trace,
                                   const struct iterations_study *study,
                                   const struct baseline *baseline, struct recording_cost *result);

/* What a baseline says that is known. */
struct recording_cost recording_cost_measured(const struct baseline *baseline);

/* ---- A trace and its iterations ---- */

struct trace_study_options {
    struct deps_options graph;
    struct iterations_options iterations;
    bool no_cost; /* nobody asks for recording_cost, and fronts are not needed for it */
};

/* Zeroed, it holds nothing. */
struct trace_study {
    struct deps deps;
    struct baseline baseline;
    struct iterations_study study;
    struct recording_cost recording_cost;
};

/* Reads the event graph, finds and measures the iterations, and what recording them costs. Fails as
 * deps_load and iterations_study do; trace_study_free in any case. */
enum mp_status trace_study_load(struct mp_trace *trace, const struct trace_study_options *options,
                                struct trace_study *trace_study, struct mp_error *error);

void trace_study_free(struct trace_study *trace_study);

/* ---- Between the files ---- */

/* The headline of the iterations in the run without deps->recording, by replay. MP_ERR_MEMORY. */
enum mp_status recording_cost_headline(const struct deps *deps,
                                       const struct iterations_study *study, uint64_t *headline);

/* Whose costs deps->recording are. */
enum recording_cost_source recording_cost_model_source(const struct deps *deps,
                                                       const struct mp_trace *trace);

/* What each activity cost, into `less`, whose arrays have deps->count items. MP_ERR_MEMORY. */
enum mp_status recording_cost_by_activity(const struct deps *deps, const struct costs *costs,
                                          struct deps_less *less);

/* Built-in costs on a host of another speed: they are multiplied by what its launches take, divided
 * by what they take on the host that the costs are of. MP_ERR_MEMORY. */
enum mp_status recording_cost_scale_host(const struct deps *deps, struct costs *costs);

#endif
