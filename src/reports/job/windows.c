/* The windows of a job: its capture ranges, each from the first rank's begin to the last one's end,
 * and iterations of one rank.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/job/inside.h"

#include "base/poison.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* All ranges with this id as one; whether every part has it. */
static bool unite(const struct job *job, uint64_t id, struct deps_window *window)
{
    size_t found = 0;

    *window = (struct deps_window){.begin = UINT64_MAX, .thread = DEPS_NONE, .fixed_begin = true};
    for (size_t i = 0; i < job->ranges.count; i++) {
        const struct deps_window *range = &job->ranges.items[i];

        if (range->id != id)
            continue;
        window->begin = range->begin < window->begin ? range->begin : window->begin;
        window->end = later(window->end, range->end);
        window->host_end = later(window->host_end, range->host_end);
        found++;
    }
    window->from = window->begin;
    window->until = window->end;
    return found == job->part_count;
}

/* The whole job. */
static struct deps_window unite_all(const struct job *job)
{
    struct deps_window all = {.begin = UINT64_MAX, .thread = DEPS_NONE, .fixed_begin = true};

    for (size_t i = 0; i < job->ranges.count; i++) {
        const struct deps_window *range = &job->ranges.items[i];

        all.begin = range->begin < all.begin ? range->begin : all.begin;
        all.end = later(all.end, range->end);
        all.host_end = later(all.host_end, range->host_end);
    }
    all.begin = all.begin < all.end ? all.begin : all.end;
    all.from = all.begin;
    all.until = all.end;
    return all;
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
        windows->items[0] = unite_all(job);
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
