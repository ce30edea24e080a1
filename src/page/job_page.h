/* The job that the page of a folder is of, if NCCL's operations match across its traces. */
#ifndef MP_PAGE_JOB_PAGE_H
#define MP_PAGE_JOB_PAGE_H

#include <stdbool.h>

#include "page/page.h"
#include "reports/ranks/load.h"

struct job_page {
    struct matched matched;
    struct html_job job;
};

struct job_page_options {
    const char *command; /* for complaints */
    enum names_style style;
    uint64_t range; /* capture range; 0: everything */
    bool one_clock;
};

/* Reads the ranks and joins them. False: the arguments are no job, or it cannot be joined, which a
 * line says. What is wrong with the traces makes *code worse. job_page_close in any case. */
bool job_page_open(struct job_page *page, const struct job_page_options *options, int count,
                   char **arguments, int *code);

void job_page_close(struct job_page *page);

#endif
