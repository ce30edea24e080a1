/* From traces to one graph: each trace is read alone, then all are joined and bound anew. Then the
 * windows of a job: its capture ranges, each from the first rank's begin to the last one's end, and
 * iterations of one rank.
 */
#include "reports/job/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/deps/deps.h"
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

/* ---- Windows ---- */

/* All ranges with this id, or for 0 all of them, as one; whether every part has it. */
static bool unite(const struct job *job, uint64_t id, struct deps_window *window)
{
    size_t found = 0;

    *window = (struct deps_window){.begin = UINT64_MAX, .thread = DEPS_NONE, .fixed_begin = true};
    for (size_t i = 0; i < job->ranges.count; i++) {
        const struct deps_window *range = &job->ranges.items[i];

        if (id && range->id != id)
            continue;
        window->begin = range->begin < window->begin ? range->begin : window->begin;
        window->end = mp_max(window->end, range->end);
        window->host_end = mp_max(window->host_end, range->host_end);
        found++;
    }
    if (!id && window->begin > window->end)
        window->begin = window->end;
    window->from = window->begin;
    window->until = window->end;
    return found == job->part_count;
}

/* The ranges of the first part, united with those of the others; whether they go together. */
static bool unite_each(const struct job *job, struct deps_windows *windows)
{
    for (size_t i = 0; i < job->ranges.count && job->ranges.items[i].thread == 0; i++) {
        struct deps_window *window = &windows->items[windows->count];

        if (!unite(job, job->ranges.items[i].id, window) ||
            (windows->count && window->begin < window[-1].end))
            return false;
        windows->count++;
    }
    return windows->count > 0;
}

enum mp_status job_windows(const struct job *job, uint64_t range, struct deps_windows *windows,
                           struct mp_error *error)
{
    *windows =
        (struct deps_windows){.items = calloc(job->ranges.count + 1, sizeof *windows->items)};
    if (!windows->items)
        return mp_error_set(error, MP_ERR_MEMORY, "cannot analyse the job: out of memory");
    if (range) {
        windows->count = 1;
        if (unite(job, range, windows->items))
            return MP_OK;
        deps_windows_free(windows);
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "there is no capture range %" PRIu64 " that all ranks have", range);
    }
    if (!unite_each(job, windows)) {
        unite(job, 0, windows->items);
        windows->count = 1;
    }
    return MP_OK;
}

/* To which window the job's device activities belong. */
static enum mp_status place_work(const struct job *job, const struct job_part *part,
                                 struct deps_windows *windows)
{
    uint32_t *of;

    if (!windows->of)
        return MP_OK;
    of = malloc(((size_t)job->deps.count + 1) * sizeof *of);
    if (!of)
        return MP_ERR_MEMORY;
    memset(of, 0xff, job->deps.count * sizeof *of); /* DEPS_NONE */
    for (uint32_t i = 0; i < part->work_count; i++)
        of[part->ended[i]] = windows->of[part->host_count + i];
    free(windows->of);
    windows->of = of;
    return MP_OK;
}

enum mp_status job_place_windows(const struct job *job, uint32_t process,
                                 struct deps_windows *windows)
{
    const struct job_part *part = &job->parts[process];

    for (size_t i = 0; i < windows->count; i++) {
        struct deps_window *window = &windows->items[i];
        uint64_t *times[] = {&window->begin, &window->end, &window->host_end, &window->from,
                             &window->until};

        for (size_t k = 0; k < sizeof times / sizeof *times; k++)
            *times[k] = job_moment(job, part->process, *times[k]);
        if (window->thread != DEPS_NONE)
            window->thread += part->at.threads;
        window->range = NULL;
    }
    return place_work(job, part, windows);
}
