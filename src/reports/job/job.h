/* The event graph of a job: the graphs of its ranks (reports/deps), joined where NCCL joins them.
 *
 *     rank 0   ──a──(arrives)··············┌──transfer──┐──b──      a kernel of NCCL becomes two
 *                          ╲               │            │           activities: its arrival, which
 *     rank 1   ──────c──────────(arrives)──┴──transfer──┘──d──      takes no time, and its transfer
 *                          last ^
 *
 * The transfer waits for the arrivals of all that the operation needs: of all ranks, of the root,
 * of the other side of a send. The time between the own arrival and the transfer is waiting for
 * peers. It is no activity's, so a GPU idles in it, although the kernel spins.
 *
 * The result is a struct deps, so all that deps can say of one process it can say of the job: one
 * critical path, which changes ranks; slack; what-if. Times are those of the first process's clock;
 * between hosts, ranks' offsets are applied. Names begin with their rank: "rank1:gemm".
 *
 *     job.c      reads the ranks: which kernel is which side of which instance; capture ranges and
 *                iterations of a job
 *     merge.c    the graphs of the ranks become one; arrivals and transfers; and back again
 *     late.c     what-if over a job: late=0 besides what replay knows
 *     advice.c   findings: late ranks, bubbles, transfers
 *     answer.c   what reports begin with: who is late and why, and what balance would gain
 *     usage.c    what each rank's GPU did: computing, transferring, waiting for peers
 *     pace.c     how fast each rank's GPU is: the same kernels on all ranks
 *     print.c    the head, a row for each rank; the same for each iteration
 */
#ifndef MP_REPORTS_JOB_JOB_H
#define MP_REPORTS_JOB_JOB_H

#include "reports/deps/deps.h"
#include "reports/ranks/ranks.h"
#include "reports/replay/replay.h"

struct job_part; /* below */

/* A job. All arrays are owned. */
struct job {
    const struct trace_set *set;
    const struct ranks *ranks;
    uint64_t axis;          /* from ns since 1970 to the times of the graph */
    struct deps deps;       /* after job_link */
    uint32_t *arrivals;     /* by side of ranks: the activity; DEPS_NONE: not in its trace */
    uint32_t *transfers;    /* by side */
    uint32_t *instances;    /* by side: in ranks->instances */
    uint64_t *arrived;      /* by side: ns */
    uint64_t *until;        /* by side: ns, when all that it needs had arrived */
    struct job_side *sides; /* sorted by kernel */
    struct job_part *parts; /* until job_link, by process of the graph */
    size_t part_count, part_capacity;
    struct deps_windows ranges; /* the capture ranges of all parts; `thread` is the part */
    double *clocks; /* by process of the graph: mean clock of its SMs, Hz; not a number: unknown.
                       NULL: nobody asked; owned */
};

/* Sets up. `ranks` is finished, and both outlive the job. MP_ERR_MEMORY; job_free in any case. */
enum mp_status job_init(struct job *job, const struct trace_set *set, const struct ranks *ranks);

void job_free(struct job *job);

/* Whether any instance has a side in the set's process `process`: whether it is of the job. */
bool job_has(const struct job *job, uint32_t process);

/* Reads the trace of a process. `quality` gets what the trace lacks; it is the caller's to free,
 * also after a failure. Fails as deps_load does. */
enum mp_status job_add(struct job *job, struct mp_trace *trace, uint32_t process, uint32_t rank,
                       const struct deps_options *options, struct quality *quality,
                       struct mp_error *error);

/* Joins what was added: job->deps is complete. Memory meanwhile: that of the graph twice.
 * MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status job_link(struct job *job);

/* The set's process that is the process `process` of the graph. */
uint32_t job_process(const struct job *job, uint32_t process);

/* Adds values by activity of the job to those by activity of the own graph of its process
 * `process`, `count` of them: a kernel of NCCL has those of its arrival and transfer. */
void job_add_to_own(const struct job *job, uint32_t process, const uint64_t *values, uint64_t *own,
                    size_t count);

/* ---- Windows ---- */

/* The capture range `range` of all ranks together, or for 0 each range; one window for all if the
 * ranges of different ranks do not go together. MP_ERR_ARGUMENT: no such range. */
enum mp_status job_windows(const struct job *job, uint64_t range, struct deps_windows *windows,
                           struct mp_error *error);

/* Puts windows of the process `process` of the graph, as found in its trace alone, into the job.
 * MP_ERR_MEMORY. */
enum mp_status job_place_windows(const struct job *job, uint32_t process,
                                 struct deps_windows *windows);

/* ---- What if ---- */

/* What was taken from late ranks, ns: by name, and by process and part. */
struct job_taken {
    uint64_t *by_name; /* owned */
    uint64_t *by_part; /* process * DEPS_PARTS + part; owned */
};

/* As deps_replay, and with changes of `late` and `rank1:late`: how long a rank comes after the
 * first of those that wait for it in a collective. With `late=0` all ranks arrive together. The
 * time is taken from the longest steps of the late rank's path since both were last together.
 * Memory meanwhile: that of the graph once more. `taken`, unless NULL, is filled; job_taken_free in
 * any case. MP_ERR_MEMORY: the graph is of no use then. */
enum mp_status job_replay(struct job *job, const struct deps_changes *changes,
                          const struct deps_windows *windows, uint64_t *lengths,
                          struct job_taken *taken);

void job_taken_free(struct job_taken *taken);

/* The side of an instance that comes first, of those that wait for others; and how late another
 * one is, as `late` has it, ns: 0 for a send and its receive, as data cannot be there before it is
 * sent, and for sides that nobody waits for. */
size_t job_first_side(const struct job *job, size_t instance);
uint64_t job_lateness(const struct job *job, size_t instance, size_t first, uint32_t side);

/* As deps_changes_unmatched, which does not know `late`. */
const struct deps_change *job_changes_unmatched(const struct deps_changes *changes,
                                                const struct job *job);

/* ---- Advice ---- */

/* Findings on a job over the iterations of a rank, which are windows of its graph: late ranks,
 * bubbles of a pipeline, transfers. Needs fronts. The gains of `answer` are filled in, which knows
 * who is late; NULL: nobody asks for them. MP_ERR_MEMORY. advise_free gives the advice back. */
struct advice;
struct job_answer;
enum mp_status job_advise(struct job *job, const struct deps_windows *iterations,
                          struct job_answer *answer, struct advice *advice);

/* From the begin of the first iteration to the end of the last one, on their thread; there is one
 * at least. */
struct deps_window job_span(const struct deps_windows *iterations);

/* ---- What each rank did ---- */

/* Sums over windows, ns. */
struct job_rank {
    uint32_t rank;
    uint64_t critical;  /* of the critical path, on this rank; of that, */
    uint64_t host;      /* host code */
    uint64_t computing; /* at least one kernel, copy or set ran that is none of NCCL's with peers */
    uint64_t transfer;  /* at least one transfer ran */
    uint64_t hidden;    /* of it, while the GPU computed */
    uint64_t waiting;   /* at least one kernel of NCCL waited for peers */
    uint64_t idle;      /* of it, while the GPU neither computed nor transferred; of that, */
    uint64_t bubbles;   /* only sends and receives waited */
};

struct job_usage {
    struct job_rank *ranks; /* by process of the graph; owned */
    size_t count;
    uint64_t changes; /* times that the critical path goes from one rank to another */
};

/* MP_ERR_MEMORY; job_usage_free in any case. */
enum mp_status job_use(const struct deps *deps, const struct deps_windows *windows,
                       struct job_usage *usage);

void job_usage_free(struct job_usage *usage);

/* ---- How fast each rank is ---- */

#define JOB_SLOWER 1.05 /* times as long as on the other ranks: noise is less */

struct job_pace {
    double ratio; /* of the time of kernels that other ranks run too, with that name and shape, to
                     what these take; 0: not known, or it is that of a few kernels only */
    double clock; /* of its SMs' clock to that of the others; not a number: not known */
    uint64_t excess; /* ns that such kernels take longer than on the others */
};

struct job_paces {
    struct job_pace *items; /* by process of the graph; owned */
    uint32_t *excess;       /* by activity of the graph: ns of that; owned */
};

/* The mean clock of the SMs over all samples of a trace, Hz. Not a number: it was not sampled.
 * MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status job_read_clock(struct mp_trace *trace, double *mean, struct mp_error *error);

/* Compares the kernels in a window. MP_ERR_MEMORY; job_paces_free in any case. */
enum mp_status job_find_paces(const struct job *job, const struct deps_window *window,
                              struct job_paces *paces);

void job_paces_free(struct job_paces *paces);

/* ---- Between the files: the graphs of the ranks before they are one ---- */

/* A side of an instance, by the kernel that carries it. */
struct job_side {
    uint64_t begin, length; /* ns, of the kernel */
    uint32_t process;
    uint32_t side; /* in ranks->sides */
};

/* Where the arrays of a part begin in those of the job. */
struct job_bases {
    uint32_t threads, streams; /* lanes */
    uint32_t calls;            /* activities on threads */
    uint32_t copies, waits, fronts, classes;
};

/* The graph of one rank. */
struct job_part {
    struct deps deps;    /* its times are the job's */
    uint32_t process;    /* in the set */
    uint32_t rank;       /* in the job */
    uint32_t *sides;     /* by device activity: in job->sides, the first; DEPS_NONE; owned */
    uint32_t split;      /* how many kernels have sides */
    uint32_t *names;     /* by name: in the job's; 0: not asked for yet; owned */
    uint32_t *began;     /* by device activity: in the job, as what it depends on; owned */
    uint32_t *ended;     /* the same, as what others depend on; until job_free; owned */
    uint32_t host_count; /* of deps, which is gone after job_link */
    uint32_t work_count; /* device activities there */
    struct job_bases at; /* where merge.c puts it */
};

/* A time of a process, in the job. */
static inline uint64_t job_moment(const struct job *job, uint32_t process, uint64_t time)
{
    return ranks_moment(job->ranks, job->set, process, time) - job->axis;
}

/* Whether the side at `at` of job->sides is of the same kernel as the one before. */
bool job_same_kernel(const struct job *job, size_t at);

/* When the transfer of a kernel begins that begins and ends then; `first` is its first side. */
uint64_t job_transfer_begin(const struct job *job, uint32_t first,
                            const struct deps_activity *kernel);

/* What it does, as AllReduce; of several operations the first. */
const char *job_function(const struct job *job, uint32_t first);

/* When each side has all that it needs. */
void job_find_needs(struct job *job);

#endif
