/* What a report on a job says besides the event graph: its ranks, and what each of them did. */
#ifndef MP_REPORTS_JOB_PRINT_H
#define MP_REPORTS_JOB_PRINT_H

#include "reports/job/answer.h"
#include "reports/job/job.h"
#include "reports/ranks/print.h"

/* ---- What reports begin with ---- */

#define JOB_ANSWERS      5
#define JOB_ANSWER_BYTES 1024

struct job_line {
    char text[JOB_ANSWER_BYTES]; /* with names of the program as they are */
};

/* The answer in sentences; returns how many. None without iterations. */
size_t job_answer_lines(const struct job_answer *answer, struct job_line lines[JOB_ANSWERS]);

/* The same above tables, and as the key `job`; NULL: not asked for, and null. */
void print_job_answer(const struct report_out *out, const struct job_answer *answer);
void json_job_answer(struct json_writer *json, const struct job_answer *answer);

/* ---- The ranks ---- */

/* Nothing is owned. */
struct job_report {
    const struct job_answer *answer; /* NULL: it is not asked for */
    const struct ranks_report *ranks;
    const struct job_usage *usage;
    uint64_t window; /* ns: of all windows together */
};

/* The iterations of a job; nothing is owned. */
struct job_iterations_report {
    struct job_report job;        /* its usage is that of all iterations */
    const struct job_usage *each; /* of each iteration */
    const struct deps_windows *windows;
    uint32_t rank; /* whose iterations they are */
    uint64_t one;  /* only this one, from 1; 0: all */
    bool rows;     /* a row for each iteration and rank; else sums by rank */
};

/* MP_ERR_MEMORY. */
enum mp_status print_job_iterations(const struct report_out *out,
                                    const struct job_iterations_report *report);

/* A row for each rank. As the keys `path_changes` and `by_rank` of a document. */
void print_job_ranks(const struct report_out *out, const struct job_report *report);
void json_job_ranks(struct json_writer *json, const struct job_report *report);

#endif
