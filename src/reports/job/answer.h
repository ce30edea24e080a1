/* What one should know of a job at first: how long a step takes, which rank is late and why, how
 * long the others wait for it, and what balance would gain. `report`, `iters`, `advise` and the
 * page begin with it, so all of them have the same numbers.
 *
 *     ranks, lateness ──> who is late, and why ──┐
 *     use of the GPUs ──> who waits how long ────┼──> struct job_answer, which owns its text
 *     replay (advice.c) ──> gains ───────────────┘
 *
 * All of it is about the time from the begin of the first iteration to the end of the last one.
 */
#ifndef MP_REPORTS_JOB_ANSWER_H
#define MP_REPORTS_JOB_ANSWER_H

#include "profile/common/statistics.h"
#include "reports/advise/advise.h"
#include "reports/job/job.h"
#include "reports/ranks/load.h"
#include "reports/ranks/ranks.h"

#define JOB_UNKNOWN UINT64_MAX /* a gain that is not known */

/* Zeroed, it holds nothing. */
struct job_answer {
    uint64_t steps;         /* iterations; 0: there is no answer */
    struct statistics step; /* ns: latencies of the iterations */
    uint64_t basis;         /* ns: mean from the first begin to the last end, which gains are of */
    uint32_t rank;          /* whose iterations they are */
    uint32_t ranks;         /* of the graph */

    uint32_t late; /* process of the graph that is late longest, not since it waited for another
                      rank itself; RANKS_NONE: nobody */
    uint32_t late_rank;
    uint64_t last;             /* operations in which all others had begun before it */
    uint64_t of;               /* that it took part in */
    uint64_t behind;           /* ns of a step, likewise */
    double share;              /* percent of the same of all ranks */
    enum lateness_cause cause; /* that takes most of it */
    double pace;    /* as struct job_pace has them: how much longer its kernels take than on the
                       others, 0: not known, */
    double clock;   /* and its clock, of that of the others; not a number: not known */
    char *activity; /* whose time it is, as `ranks` has it; owned; NULL */

    uint64_t waiting; /* ns of a step: kernels of NCCL wait for peers; mean of the other ranks */
    uint64_t longest; /* the same of the rank that waits longest */
    uint32_t longest_rank; /* that one */

    uint64_t balanced; /* ns of a step that it gains if all ranks compute equally long */
    uint64_t in_time;  /* if the late rank is in time; JOB_UNKNOWN likewise */
    bool by_work; /* in time: it computes as long as the median of the others; else it comes to each
                     collective as early as the first rank */
};

/* Finds all of it, and the advice on the job (job_advise). `lateness` is finished; NULL: nobody
 * asked for causes. MP_ERR_MEMORY; then both hold nothing, else job_answer_free and advise_free. */
enum mp_status job_answer_find(struct job *job, const struct deps_windows *iterations,
                               const struct lateness *lateness, struct job_answer *answer,
                               struct advice *advice);

void job_answer_free(struct job_answer *answer);

/* ---- From matched traces ---- */

/* A job, and what is said of it first. Zeroed, it holds nothing. */
struct job_study {
    struct job job;
    struct deps_windows iterations; /* of its first rank */
    struct job_answer answer;
    struct advice advice;
};

/* Joins the ranks, finds the iterations, who is late and why, and what balance would gain. Fails as
 * matched_join and matched_iterations do; job_study_free in any case. */
enum mp_status job_study_load(struct matched *matched, const struct deps_options *graph,
                              const struct iterations_options *by, struct job_study *study,
                              struct mp_error *error);

/* The answer and the advice of a study whose ranks are joined and whose iterations are found. Reads
 * each trace once more. MP_ERR_MEMORY. */
enum mp_status job_study_answer(struct matched *matched, struct job_study *study);

void job_study_free(struct job_study *study);

#endif
