/* Findings as text, CSV and JSON.
 *
 *     advise.c       text, and a row for each finding in CSV
 *     json.c  the JSON document
 */
#ifndef MP_REPORT_ADVISE_ADVISE_H
#define MP_REPORT_ADVISE_ADVISE_H

#include "analyze/advise/advise.h"
#include "report/iterations/iterations.h"
#include "report/table/table.h"

/* Answers to print; nothing is owned. */
struct advise_report {
    struct iterations_report iterations; /* how they were found, and of which trace */
    const struct advice *advice;
};

void print_advise(const struct report_out *out, const struct advise_report *report);

/* ---- Between the files ---- */

void print_advise_json(FILE *out, const struct advise_report *report);

/* "by replay"; and the key in JSON. */
const char *advise_method_text(enum advise_method method);
const char *advise_method_key(enum advise_method method);

#endif
