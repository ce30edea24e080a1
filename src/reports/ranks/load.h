/* The traces of a job's ranks, matched: what `ranks` reports on, and what other commands do with a
 * folder of ranks.
 */
#ifndef MP_REPORTS_RANKS_LOAD_H
#define MP_REPORTS_RANKS_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "cli/options.h"
#include "profile/set.h"
#include "reports/iterations/iterations.h"
#include "reports/job/job.h"
#include "reports/ranks/print.h"
#include "reports/ranks/ranks.h"

struct ranks_loading {
    const char *command; /* for complaints */
    const struct trace_set *set;
    bool quick;      /* pass over traces without operations of NCCL */
    bool quiet;      /* no complaints: whoever reports on the traces has them */
    char **warnings; /* by process: receives what its trace lacks, to be freed; NULL: unwanted */
    int *code;       /* exit code, made worse */
};

/* Reads the traces one after the other and matches. MP_ERR_MEMORY; ranks_free in any case. */
enum mp_status ranks_load(const struct ranks_loading *loading, struct ranks *ranks);

/* For the table of options; the offset is that of a bool. */
#define ONE_CLOCK_OPTION(offset_)                                                                  \
    {                                                                                              \
        .name = "one-clock", .kind = OPTION_FLAG, .offset = (offset_),                             \
        .help = "all processes read one clock, though their host names differ: containers of "     \
                "one host"                                                                         \
    }

/* Traces whose operations of NCCL are matched. */
struct matched {
    const char *command;
    struct trace_set traces;
    struct ranks ranks;
    char **warnings;          /* by process: what its trace lacks; NULL: nothing; owned */
    struct peer_waits *peers; /* by process; owned */
    bool one_clock;
    int code; /* the exit code so far */
};

/* Reads and matches the traces of the arguments. False: nothing is left, or memory is out; a line
 * has said so, and the code is set. matched_free in any case. */
bool matched_open(struct matched *matched, const char *command, int count, char **arguments,
                  bool one_clock);

void matched_free(struct matched *matched);

/* How long kernels of NCCL in this trace waited for their peers; NULL: it is none of a job. */
const struct peer_waits *matched_peers(const struct matched *matched, const char *path);

/* Raises the exit code to `code`, or to that of what could not be matched. */
void matched_worsen(struct matched *matched, int code);
void matched_judge(struct matched *matched);

/* What its report says of it. */
struct ranks_report matched_report(const struct matched *matched);

/* Whether these arguments are one folder in which NCCL's operations were matched: a job. Then
 * *matched is open, and the exit code set; otherwise nothing is open. Its exit code also says
 * whether there was no memory to find out, which has been complained of. */
bool matched_is_job(struct matched *matched, const char *command, int count, char **arguments,
                    bool one_clock);

/* Complains about what the folder of a job holds besides, unless a report on each trace does. */
void matched_complain(struct matched *matched);

/* Reads the graphs of all ranks into one.
 * MP_ERR_MEMORY, MP_ERR_LIMIT; job_free in any case. A
 * trace that cannot be read is left out, which a line says. */
enum mp_status matched_join(struct matched *matched, const struct deps_options *options,
                            struct job *job, struct mp_error *error);

/* Finds the iterations of the job's first rank, as windows of the job. Fails as deps_load and
 * iterations_find do; deps_windows_free. */
enum mp_status matched_iterations(struct matched *matched, const struct job *job,
                                  const struct iterations_options *by, struct deps_windows *windows,
                                  struct mp_error *error);

/* Reads each trace once more to find why ranks were late. A trace that cannot be read is left out,
 * which a line says. MP_ERR_MEMORY; lateness_free in any case. */
enum mp_status matched_follow(struct matched *matched, struct lateness *lateness);

/* Opens the trace of a process of the job's graph; NULL: it cannot be read any more, which a line
 * says. */
struct mp_trace *matched_open_process(struct matched *matched, const struct job *job,
                                      uint32_t process);

#endif
