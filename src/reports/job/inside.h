/* Inside of job: the graphs of the ranks before they are one. */
#ifndef MP_REPORTS_JOB_INSIDE_H
#define MP_REPORTS_JOB_INSIDE_H

#include "reports/job/job.h"

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

/* Fills job->sides and job->instances. MP_ERR_MEMORY. */
enum mp_status job_list_sides(struct job *job);

/* Gives the part the job's times, and finds its kernels among the sides. MP_ERR_MEMORY. */
enum mp_status job_place(struct job *job, struct job_part *part);

/* Whether the side at `at` of job->sides is of the same kernel as the one before. */
bool job_same_kernel(const struct job *job, size_t at);

/* When each side has all that it needs. */
void job_find_needs(struct job *job);

/* When the transfer of a kernel begins that begins and ends then; `first` is its first side. */
uint64_t job_transfer_begin(const struct job *job, uint32_t first,
                            const struct deps_activity *kernel);

/* What it does, as AllReduce; of several operations the first. */
const char *job_function(const struct job *job, uint32_t first);

/* Makes job->deps of the parts, kernels of NCCL as two. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status job_merge(struct job *job);

/* Lets the transfers wait, and notes their sides. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status job_wait_for_peers(struct job *job);

#endif
