/* Findings as text, CSV and JSON, on a trace or on several ranks together. */
#ifndef MP_REPORTS_ADVISE_PRINT_H
#define MP_REPORTS_ADVISE_PRINT_H

#include "reports/advise/advise.h"
#include "reports/iterations/print.h"
#include "reports/job/print.h"
#include "table/table.h"

/* Answers to print; nothing is owned. */
struct advise_report {
    struct iterations_report iterations; /* how they were found, and of which trace */
    const struct advice *advice;
};

/* MP_ERR_MEMORY: a part is missing. */
enum mp_status print_advise(const struct report_out *out, const struct advise_report *report);

/* Findings on a job; nothing is owned. */
struct advise_job_report {
    const struct job_report *job;
    const struct advice *advice;
    size_t iterations;
    uint32_t rank; /* whose iterations they are */
};

void print_job_advise(const struct report_out *out, const struct advise_job_report *report);

/* ---- Between the files ---- */

/* The findings alone, as text or as rows; and as the key `findings`. */
void print_advise_findings(const struct report_out *out, const struct advice *advice);
void json_advise_findings(struct json_writer *json, const struct advice *advice);

void print_advise_json(FILE *out, const struct advise_report *report);

/* "by replay"; and the key in JSON. */
const char *advise_method_text(enum advise_method method);
const char *advise_method_key(enum advise_method method);

/* "an estimate", "a bound"; and the key in CSV and JSON. */
const char *advise_certainty_text(enum advise_certainty certainty);
const char *advise_certainty_key(enum advise_certainty certainty);

#endif
