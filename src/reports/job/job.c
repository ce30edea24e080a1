/* From traces to the parts of one graph: each trace is read alone, and its kernels of NCCL are
 * found among the sides of instances. merge.c joins the parts. Then the windows of a job: its
 * capture ranges, each from the first rank's begin to the last one's end, and iterations of one
 * rank.
 */
#include "reports/job/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/deps/deps.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* ---- Which kernel is which side of which instance ---- */

MP_COMPARE(compare_sides, struct job_side,
           MP_ORDER(a->process, b->process) ?: MP_ORDER(a->begin, b->begin) ?:
           MP_ORDER(a->length, b->length) ?: MP_ORDER(a->side, b->side));

bool job_same_kernel(const struct job *job, size_t at)
{
    const struct job_side *side = &job->sides[at];

    return at && side->process == side[-1].process && side->begin == side[-1].begin &&
           side->length == side[-1].length;
}

/* Fills job->sides and job->instances. MP_ERR_MEMORY. */
static enum mp_status list_sides(struct job *job)
{
    const struct ranks *ranks = job->ranks;

    job->sides = calloc(ranks->side_count + 1, sizeof *job->sides);
    job->instances = calloc(ranks->side_count + 1, sizeof *job->instances);
    if (!job->sides || !job->instances)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < ranks->side_count; i++) {
        const struct ranks_side *side = &ranks->sides[i];

        job->sides[i] = (struct job_side){.begin = side->start - job->axis,
                                          .length = side->end - side->start,
                                          .process = side->process,
                                          .side = (uint32_t)i};
    }
    for (size_t i = 0; i < ranks->instance_count; i++) {
        const struct ranks_instance *instance = &ranks->instances[i];

        for (uint32_t k = 0; k < instance->side_count; k++)
            job->instances[instance->first_side + k] = (uint32_t)i;
    }
    if (ranks->side_count)
        qsort(job->sides, ranks->side_count, sizeof *job->sides, compare_sides);
    return MP_OK;
}

/* The first side that does not stand before this kernel. */
static size_t find_side(const struct job *job, const struct job_side *kernel)
{
    return MP_SEARCH(0, job->ranks->side_count, i, compare_sides(&job->sides[i], kernel) < 0);
}

/* The first side of a kernel; DEPS_NONE. */
static uint32_t side_of(const struct job *job, uint32_t process, uint64_t begin, uint64_t length)
{
    const struct job_side kernel = {.begin = begin, .length = length, .process = process};
    size_t at = find_side(job, &kernel);
    const struct job_side *found = &job->sides[at];

    return at < job->ranks->side_count && found->process == process && found->begin == begin &&
                   found->length == length
               ? (uint32_t)at
               : DEPS_NONE;
}

bool job_has(const struct job *job, uint32_t process)
{
    const struct job_side first = {.process = process};
    size_t at = find_side(job, &first);

    return at < job->ranks->side_count && job->sides[at].process == process;
}

/* ---- The times of a part ---- */

static void place_other_times(const struct job *job, const struct job_part *part)
{
    const struct deps *deps = &part->deps;

    for (size_t i = 0; i < deps->wait_count; i++)
        deps->waits[i].woken = job_moment(job, part->process, deps->waits[i].woken);
    for (size_t i = 0; i < deps->stretch_count; i++) {
        struct deps_stretch *stretch = &deps->stretches[i];

        stretch->begin = job_moment(job, part->process, stretch->begin);
        stretch->end = job_moment(job, part->process, stretch->end);
    }
}

static void note_arrival(const struct job *job, struct job_part *part, uint32_t index,
                         uint32_t first)
{
    const struct deps *deps = &part->deps;
    size_t at = first;

    part->sides[index - deps->host_count] = first;
    part->split++;
    do {
        job->arrived[job->sides[at].side] = deps_alone_from(deps, &deps->activities[index]);
        at++;
    } while (at < job->ranks->side_count && job_same_kernel(job, at));
}

/* Gives the part the job's times, and finds its kernels among the sides. MP_ERR_MEMORY. */
static enum mp_status place_part(struct job *job, struct job_part *part)
{
    struct deps *deps = &part->deps;
    uint32_t work = deps->count - deps->host_count;
    uint64_t *lengths = calloc((size_t)work + 1, sizeof *lengths);

    part->sides = calloc((size_t)work + 1, sizeof *part->sides);
    if (!lengths || !part->sides) {
        free(lengths);
        return MP_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < work; i++) {
        const struct deps_activity *activity = &deps->activities[deps->host_count + i];

        lengths[i] = activity->end - activity->begin;
    }
    for (uint32_t i = 0; i < deps->count; i++) {
        deps->activities[i].begin = job_moment(job, part->process, deps->activities[i].begin);
        deps->activities[i].end = job_moment(job, part->process, deps->activities[i].end);
    }
    place_other_times(job, part);
    for (uint32_t i = 0; i < work; i++) {
        const struct deps_activity *kernel = &deps->activities[deps->host_count + i];
        uint32_t first = kernel->kind == DEPS_KERNEL
                             ? side_of(job, part->process, kernel->begin, lengths[i])
                             : DEPS_NONE;

        part->sides[i] = DEPS_NONE;
        if (first != DEPS_NONE)
            note_arrival(job, part, deps->host_count + i, first);
    }
    free(lengths);
    return MP_OK;
}

/* ---- What a kernel needs ---- */

/* When each side has all that it needs. */
void job_find_needs(struct job *job)
{
    const struct ranks *ranks = job->ranks;

    for (size_t i = 0; i < ranks->instance_count; i++) {
        const struct ranks_instance *instance = &ranks->instances[i];
        const struct ranks_side *sides = &ranks->sides[instance->first_side];
        const uint64_t *arrived = &job->arrived[instance->first_side];
        uint64_t last = 0;

        for (uint32_t k = 0; k < instance->side_count; k++) {
            if (ranks_is_awaited(instance, sides[k].rank) && arrived[k] > last)
                last = arrived[k];
        }
        for (uint32_t k = 0; k < instance->side_count; k++) {
            bool waits = ranks_waits(instance, sides[k].rank) && last > arrived[k];

            job->until[instance->first_side + k] = waits ? last : arrived[k];
        }
    }
}

uint64_t job_transfer_begin(const struct job *job, uint32_t first,
                            const struct deps_activity *kernel)
{
    size_t at = first;
    uint64_t begin = kernel->begin;

    do {
        uint64_t until = job->until[job->sides[at].side];

        begin = until > begin ? until : begin;
        at++;
    } while (at < job->ranks->side_count && job_same_kernel(job, at));
    return begin < kernel->end ? begin : kernel->end;
}

const char *job_function(const struct job *job, uint32_t first)
{
    uint32_t side = job->sides[first].side;
    const struct ranks_instance *instance = &job->ranks->instances[job->instances[side]];

    if (instance->from != RANKS_NONE) /* whose function is the sender's */
        return job->ranks->sides[side].rank == instance->from ? "Send" : "Recv";
    return ranks_function(job->ranks, instance->function);
}

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
    job->deps.profile = calloc(1, sizeof *job->deps.profile); /* of no trace */
    if (!job->arrivals || !job->transfers || !job->arrived || !job->until || !job->deps.profile)
        return MP_ERR_MEMORY;
    memset(job->arrivals, 0xff, sides * sizeof *job->arrivals); /* DEPS_NONE */
    memset(job->transfers, 0xff, sides * sizeof *job->transfers);
    return list_sides(job);
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
        status = MP_RESERVE(job->ranges.items, job->ranges.count, capacity);
        if (!status)
            job->ranges.items[job->ranges.count++] = window;
    }
    deps_windows_free(&found);
    return status;
}

static enum mp_status add_part(struct job *job, struct job_part *part, struct mp_error *error)
{
    enum mp_status status = MP_RESERVE(job->parts, job->part_count, job->part_capacity);

    if (status == MP_OK)
        status = add_ranges(job, part, error);
    if (status == MP_OK)
        status = place_part(job, part);
    MP_TRY(mp_error_from(error, status, "cannot analyse the trace"));
    job->parts[job->part_count++] = *part;
    return MP_OK;
}

enum mp_status job_add(struct job *job, struct mp_trace *trace, uint32_t process, uint32_t rank,
                       const struct deps_options *options, struct quality *quality,
                       struct mp_error *error)
{
    struct job_part part = {.process = process, .rank = rank};
    enum mp_status status = deps_load(trace, options, &part.deps, error);

    *quality = part.deps.quality; /* whose arrays go on as the caller's */
    if (status == MP_OK) {
        part.deps.quality = part.deps.profile->quality = (struct quality){0};
        status = add_part(job, &part, error);
    }
    if (status != MP_OK) {
        deps_free(&part.deps);
        free(part.sides);
    }
    return status;
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
