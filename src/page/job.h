/* What a page of several processes says of their job, if their operations of NCCL match: the
 * document `job` is what `deps --json` prints of the folder, `job_advise` what `advise --json`
 * prints first. In the time line the critical path is then that of the job, and each
 * process has a document `peers`: how long its kernels of NCCL waited for peers, from their begin
 * on, as recorded.
 *
 *     {"events": [number in the time line, ...], "waiting_ns": [...]}
 */
#ifndef MP_PAGE_JOB_H
#define MP_PAGE_JOB_H

#include <stdbool.h>

#include "base/status.h"
#include "page/timeline/timeline.h"
#include "reports/job/answer.h"
#include "reports/job/job.h"
#include "reports/ranks/print.h"

struct html_page;

struct html_job {
    struct job_study study; /* linked; without iterations `no_iterations` says why */
    struct ranks_report ranks;
    struct deps_windows windows; /* of the job */
    struct mp_error no_iterations;
    const struct peer_waits *waits; /* by process of the set; not owned; NULL: not known */
    uint64_t *critical;             /* by activity of the job, ns; html_job_add fills both; owned */
    uint64_t *peers;
};

/* Adds the two documents of the job. MP_ERR_MEMORY. */
enum mp_status html_job_add(struct html_page *page, struct html_job *job);

/* The critical path by activity of the graph of the set's process `process` alone, of which there
 * are `count`; nothing if it is not of the job. */
void html_job_path(const struct html_job *job, size_t process, uint64_t *critical, size_t count);

/* Adds the document `peers` of a process with that graph. MP_ERR_MEMORY. */
enum mp_status html_job_add_peers(struct html_page *page, const struct html_job *job,
                                  size_t process, const struct timeline *timeline,
                                  const struct deps *deps, const char *prefix);

/* ---- The ranks of a folder ---- */

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
