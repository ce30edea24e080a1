/* What recording costs: measured where it can be, or else a rough estimate. All times of all
 * reports are as recorded (docs/recording-cost.md).
 *
 *     marks.c, aligned.c the steps of runs without CUPTI, by their marks
 *     keep.c             puts them into the trace
 *     baseline.c         steps with and without recording, from the trace
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

/* Where the cost is known from; the best source comes last. */
enum recording_cost_source {
    RECORDING_COST_UNKNOWN, /* `why_not` says why */
    RECORDING_COST_BUILT_IN,
    RECORDING_COST_CALIBRATED_HERE,
    RECORDING_COST_CALIBRATED_THERE, /* where the trace was recorded */
    RECORDING_COST_NOT_RECORDED,     /* steps that were not recorded, though CUPTI was there */
    RECORDING_COST_IN_RUN,           /* steps before CUPTI came */
    RECORDING_COST_PAIRED,           /* runs without CUPTI */
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
    uint64_t without;    /* `of` without that cost */
    uint64_t low, high;  /* `without` is between them, 95 of 100 times; NOT_RECORDED: half of the
                            steps are */
    /* From NOT_RECORDED on: */
    size_t steps;     /* without CUPTI, or that were not recorded */
    size_t pairs;     /* PAIRED: of runs */
    const char *name; /* of the steps: the baseline's */
};

/* What CUPTI's presence costs a launch, and a node of a graph, while nothing is recorded: ns, on an
 * H200 with CUDA 13.0 (docs/measurements.md, section 15). It stays in NOT_RECORDED. */
#define RECORDING_COST_FLOOR_NS 400

/* Notes in deps->recording what recording costs at each activity, where that is known, else in
 * deps->why_not_recording why not: the path, idle gaps, what-if and advice take it from there.
 * O(activities), and 12 bytes an activity from then on. Comes after deps->quality.only is set.
 * MP_ERR_MEMORY. */
enum mp_status recording_cost_lay(struct deps *deps, const struct mp_trace *trace);

/* Whether the time without recording was measured without CUPTI in the process. */
static inline bool recording_cost_is_bare(const struct recording_cost *cost)
{
    return cost->source >= RECORDING_COST_IN_RUN;
}

/* The cost of an iteration of `study`; `baseline` NULL: by the model. Needs deps_options.fronts,
 * and recording_cost_lay. O(activities), and 16 bytes an activity meanwhile. MP_ERR_MEMORY. */
enum mp_status recording_cost_find(const struct deps *deps, struct mp_trace *trace,
                                   const struct iterations_study *study,
                                   const struct baseline *baseline, struct recording_cost *result);

/* The best that was measured; UNKNOWN if nothing was. */
struct recording_cost recording_cost_measured(const struct baseline *baseline);

/* The factor from 0 to 8 by which all costs of deps->recording are multiplied so that the headline
 * of the run without them is as `cost` says, which is bare: as struct quality has it. It is
 * RECORDING_NO_SCALE if no factor leads into the interval, 0 if the costs are not known. A run that
 * may be as fast with recording as without it has no costs. deps->recording is of no use
 * afterwards. MP_ERR_MEMORY. */
enum mp_status recording_cost_fit(struct deps *deps, const struct mp_trace *trace,
                                  const struct iterations_study *study,
                                  const struct recording_cost *cost, uint64_t *scale);

/* ---- A trace and its iterations ---- */

struct trace_study_options {
    struct deps_options graph;
    struct iterations_options iterations;
    bool model;   /* the cost by the model, also where it was measured */
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
