/* Which kernel is which side of which instance, and when it has all that it needs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/job/inside.h"

#include "base/poison.h"

/* ---- The sides, by their kernels ---- */

static int compare_sides(const void *left, const void *right)
{
    const struct job_side *a = left;
    const struct job_side *b = right;

    return MP_ORDER(a->process, b->process) ?: MP_ORDER(a->begin, b->begin) ?:
           MP_ORDER(a->length, b->length) ?: MP_ORDER(a->side, b->side);
}

bool job_same_kernel(const struct job *job, size_t at)
{
    const struct job_side *side = &job->sides[at];

    return at && side->process == side[-1].process && side->begin == side[-1].begin &&
           side->length == side[-1].length;
}

enum mp_status job_list_sides(struct job *job)
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
    size_t first = 0, end = job->ranks->side_count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (compare_sides(&job->sides[middle], kernel) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
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

enum mp_status job_place(struct job *job, struct job_part *part)
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
