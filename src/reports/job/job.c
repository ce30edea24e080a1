/* From traces to one graph: each trace is read alone, then all are joined and bound anew.
 */
#include "reports/job/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "reports/deps/lookup.h"
#include "reports/job/inside.h"

#include "base/poison.h"

enum mp_status job_init(struct job *job, const struct trace_set *set, const struct ranks *ranks)
{
    size_t sides = ranks->side_count + 1;

    *job = (struct job){.set = set, .ranks = ranks};
    if (sides >= DEPS_NONE)
        return MP_ERR_LIMIT;
    job->axis = set->count ? set->processes[0].offset : 0;
    job->arrivals = malloc(sides * sizeof *job->arrivals);
    job->transfers = malloc(sides * sizeof *job->transfers);
    job->arrived = calloc(sides, sizeof *job->arrived);
    job->until = calloc(sides, sizeof *job->until);
    if (!job->arrivals || !job->transfers || !job->arrived || !job->until)
        return MP_ERR_MEMORY;
    memset(job->arrivals, 0xff, sides * sizeof *job->arrivals); /* DEPS_NONE */
    memset(job->transfers, 0xff, sides * sizeof *job->transfers);
    return job_list_sides(job);
}

/* The capture ranges of a part, in the times of the job. */
static enum mp_status add_ranges(struct job *job, struct job_part *part, struct mp_error *error)
{
    struct deps_windows found;
    size_t capacity = job->ranges.count; /* they are few */
    enum mp_status status = deps_windows_ranges(&part->deps, 0, &found, error);

    for (size_t i = 0; !status && i < found.count; i++) {
        struct deps_window window = found.items[i];

        window.begin = job_moment(job, part->process, window.begin);
        window.end = job_moment(job, part->process, window.end);
        window.host_end = job_moment(job, part->process, window.host_end);
        window.thread = (uint32_t)job->part_count;
        window.range = NULL;
        status =
            mp_reserve((void **)&job->ranges.items, job->ranges.count, &capacity, sizeof window);
        if (!status)
            job->ranges.items[job->ranges.count++] = window;
    }
    deps_windows_free(&found);
    return status;
}

static enum mp_status add_part(struct job *job, struct job_part *part, struct mp_error *error)
{
    enum mp_status status =
        mp_reserve((void **)&job->parts, job->part_count, &job->part_capacity, sizeof *part);

    if (status == MP_OK)
        status = add_ranges(job, part, error);
    if (status == MP_OK)
        status = job_place(job, part);
    if (status != MP_OK)
        return mp_error_set(error, status, "cannot analyse the trace: %s", mp_status_name(status));
    job->parts[job->part_count++] = *part;
    return MP_OK;
}

enum mp_status job_add(struct job *job, struct mp_trace *trace, uint32_t process, uint32_t rank,
                       const struct deps_options *options, struct quality *quality,
                       struct mp_error *error)
{
    struct job_part part = {.process = process, .rank = rank};
    enum mp_status status = deps_load(trace, options, &part.deps, error);

    *quality = part.deps.quality; /* which goes on as the caller's */
    part.deps.quality = (struct quality){0};
    if (status == MP_OK)
        status = add_part(job, &part, error);
    if (status != MP_OK) {
        deps_free(&part.deps);
        free(part.sides);
    }
    return status;
}

enum mp_status job_link(struct job *job)
{
    job_find_needs(job);
    MP_TRY(job_merge(job));
    MP_TRY(job_wait_for_peers(job));
    return deps_bind(&job->deps);
}

uint32_t job_process(const struct job *job, uint32_t process)
{
    return job->parts[process].process;
}
