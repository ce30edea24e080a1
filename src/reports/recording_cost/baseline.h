/* What a step takes when it is recorded and when it is not, from the table `step`:
 *
 *     paired     in runs without CUPTI, in turn with recorded ones (--pairs)
 *     before     in this run, before CUPTI came
 *     recorded, unrecorded    in this run, with CUPTI in the process (--baseline): of the name that
 *                             took most of the time
 */
#ifndef MP_REPORTS_RECORDING_COST_BASELINE_H
#define MP_REPORTS_RECORDING_COST_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/common/statistics.h"
#include "profile/profile.h"

#define BASELINE_MIN 8 /* fewer steps of a kind tell nothing */

struct baseline_side {
    size_t count;
    struct statistics times; /* ns */
    uint64_t low, high;      /* the middle half of them lies between */
};

/* A time without CUPTI; ns. */
struct bare_time {
    size_t count;        /* pairs of runs, or steps before CUPTI came; 0: there are none */
    size_t steps;        /* without CUPTI */
    uint64_t without;    /* median of the runs' medians, or of the steps */
    uint64_t with;       /* the same of recorded ones */
    uint64_t low, high;  /* where the time of a run without CUPTI lies, 95 of 100 times */
    const char *why_not; /* static: there are steps, but they tell nothing; else NULL */
};

struct baseline {
    bool asked;   /* the trace was made with MINIPROF_BASELINE */
    size_t steps; /* of --baseline, of any name */
    char *name;   /* of those below; NULL without steps; owned */
    struct baseline_side recorded, unrecorded;
    char *bare_name; /* of these; NULL without them; owned */
    struct bare_time paired, before;
};

/* MP_ERR_MEMORY or MP_ERR_IO, with a text in *error. *baseline is to be freed whatever comes. */
enum mp_status baseline_build(const struct profile *profile, struct baseline *baseline,
                              struct mp_error *error);

void baseline_free(struct baseline *baseline);

/* A step: a row of the table. */
struct baseline_step {
    uint64_t name, duration;
    uint64_t run;
    bool recorded, bare;
};

/* Sets `paired`, or if the steps are of run 0 `before`. Changes the order of the steps.
 * MP_ERR_MEMORY. */
enum mp_status baseline_measure(struct baseline_step *steps, size_t count,
                                struct baseline *baseline);

/* Whether there are enough steps of both kinds. */
bool baseline_is_known(const struct baseline *baseline);

/* ---- Into the trace ---- */

/* The runs of one command, in order; the trace is of the last one. */
struct kept_runs {
    const char *folder; /* run I has left its marks in FOLDER/I, from 1 */
    unsigned count;     /* 1: nothing but what the recorded run did before CUPTI came; else */
    bool pairs;         /* odd runs are bare, even ones are recorded */
};

/* What was kept. */
struct kept_steps {
    size_t bare, recorded; /* steps of both kinds */
    unsigned runs_without; /* of count: in which no such step was found */
    const char *why_not;   /* static; NULL: something was kept */
};

/* Appends rows of `step` to the trace. Nothing is changed where nothing is found. MP_ERR_IO,
 * MP_ERR_DAMAGED, MP_ERR_MEMORY. */
enum mp_status steps_keep(const char *path, const struct kept_runs *runs, struct kept_steps *kept,
                          struct mp_error *error);

#endif
