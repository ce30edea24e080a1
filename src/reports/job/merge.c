/* The graphs of the ranks become one: lanes of threads first, then lanes of streams, each rank by
 * rank. All numbers that refer to something else move with it. A kernel of NCCL that has peers
 * becomes an arrival and a transfer, which stand in its stream by their begins.
 *
 *     began[]   where an activity of a part begins: its arrival, if it has one
 *     ended[]   what others wait for: its transfer, if it has one
 *
 * A transfer waits for the arrivals that its operation needs (rule peer, D10). The arrivals of an
 * instance that somebody waits for make one front, which all its waiting transfers share.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "reports/deps/lookup.h"
#include "reports/job/job.h"

#include "base/poison.h"

#define MAX_ACTIVITIES (DEPS_FRONT_BIT / 2)
#define PREFIX_BYTES   24

/* ---- Room ---- */

struct totals {
    uint64_t calls, work, threads, lanes, copies, waits, stretches, fronts, classes;
};

static void add_totals(struct totals *totals, const struct job_part *part)
{
    const struct deps *deps = &part->deps;

    totals->calls += deps->host_count;
    totals->work += (uint64_t)(deps->count - deps->host_count) + part->split;
    totals->threads += deps->thread_count;
    totals->lanes += deps->lane_count;
    totals->copies += deps->copy_count;
    totals->waits += deps->wait_count;
    totals->stretches += deps->stretch_count;
    totals->fronts += deps->fronts ? deps->fronts->count : 0;
    totals->classes += deps->launch_classes.count;
}

static enum mp_status reserve_all(struct deps *deps, const struct totals *totals, bool fronts)
{
    deps->activities = calloc(totals->calls + totals->work + 1, sizeof *deps->activities);
    deps->lanes = calloc(totals->lanes + 1, sizeof *deps->lanes);
    deps->copies = calloc(totals->copies + 1, sizeof *deps->copies);
    deps->waits = calloc(totals->waits + 1, sizeof *deps->waits);
    deps->stretches = calloc(totals->stretches + 1, sizeof *deps->stretches);
    deps->launch_latencies = calloc(totals->classes + 1, sizeof *deps->launch_latencies);
    deps->launch_class_capacity = (size_t)totals->classes + 1;
    deps->copy_capacity = (size_t)totals->copies + 1;
    deps->wait_capacity = (size_t)totals->waits + 1;
    deps->stretch_capacity = (size_t)totals->stretches + 1;
    if (!deps->activities || !deps->lanes || !deps->copies || !deps->waits || !deps->stretches ||
        !deps->launch_latencies)
        return MP_ERR_MEMORY;
    if (!fronts)
        return MP_OK;
    deps->fronts = calloc(1, sizeof *deps->fronts);
    if (!deps->fronts)
        return MP_ERR_MEMORY;
    deps->fronts->items = calloc(totals->fronts + 1, sizeof *deps->fronts->items);
    deps->fronts->capacity = (size_t)totals->fronts + 1;
    return deps->fronts->items ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status part_reserve(struct job_part *part)
{
    size_t work = part->deps.count - part->deps.host_count;

    part->host_count = part->deps.host_count;
    part->work_count = (uint32_t)work;
    part->names = calloc((size_t)part->deps.names.count + 1, sizeof *part->names);
    part->began = calloc(work + 1, sizeof *part->began);
    part->ended = calloc(work + 1, sizeof *part->ended);
    return part->names && part->began && part->ended ? MP_OK : MP_ERR_MEMORY;
}

/* Decides where each part goes. */
static enum mp_status lay_out(struct job *job)
{
    struct totals totals = {0}, before = {0};

    for (size_t i = 0; i < job->part_count; i++)
        add_totals(&totals, &job->parts[i]);
    if (totals.calls + totals.work > MAX_ACTIVITIES || totals.fronts > MAX_ACTIVITIES)
        return MP_ERR_LIMIT;
    for (size_t i = 0; i < job->part_count; i++) {
        struct job_part *part = &job->parts[i];

        part->at = (struct job_bases){
            .threads = (uint32_t)before.threads,
            .streams = (uint32_t)(totals.threads + before.lanes - before.threads),
            .calls = (uint32_t)before.calls,
            .copies = (uint32_t)before.copies,
            .waits = (uint32_t)before.waits,
            .fronts = (uint32_t)before.fronts,
            .classes = (uint32_t)before.classes,
        };
        add_totals(&before, part);
        MP_TRY(part_reserve(part));
    }
    job->deps.host_count = (uint32_t)totals.calls;
    job->deps.count = (uint32_t)totals.calls; /* so far; streams follow */
    job->deps.thread_count = (uint32_t)totals.threads;
    job->deps.lane_count = (uint32_t)totals.lanes;
    return reserve_all(&job->deps, &totals, job->part_count && job->parts[0].deps.fronts);
}

/* ---- Numbers ---- */

static enum mp_status name_in_job(struct job *job, uint32_t rank, const char *name, uint32_t *id)
{
    size_t size = strlen(name) + PREFIX_BYTES;
    char *text = malloc(size);

    if (!text)
        return MP_ERR_MEMORY;
    snprintf(text, size, "rank%" PRIu32 ":%s", rank, name);
    *id = mp_intern_add(&job->deps.names, text, strlen(text));
    free(text);
    return *id ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status move_name(struct job *job, struct job_part *part, uint32_t *name)
{
    uint32_t *known = &part->names[*name];

    if (*name && !*known)
        MP_TRY(name_in_job(job, part->rank, mp_intern_get(&part->deps.names, *name, NULL), known));
    *name = *known;
    return MP_OK;
}

static uint32_t move_lane(const struct job_part *part, uint32_t lane)
{
    if (lane == DEPS_NONE)
        return DEPS_NONE;
    return lane < part->deps.thread_count ? part->at.threads + lane
                                          : part->at.streams + lane - part->deps.thread_count;
}

static uint32_t move_call(const struct job_part *part, uint32_t call)
{
    return call == DEPS_NONE ? DEPS_NONE : part->at.calls + call;
}

/* What is waited for: an activity or a front. */
static uint32_t move_awaited(const struct job_part *part, uint32_t reference)
{
    if (reference == DEPS_NONE)
        return DEPS_NONE;
    if (deps_is_front(reference))
        return (part->at.fronts + deps_front_index(reference)) | DEPS_FRONT_BIT;
    return reference < part->deps.host_count ? move_call(part, reference)
                                             : part->ended[reference - part->deps.host_count];
}

/* A number of a launch's grid and blocks, the same on all ranks; shapes are a trace's. */
static uint32_t size_of(const struct job_part *part, uint32_t shape)
{
    const struct launch_shape *launch = shapes_find(&part->deps.profile->shapes, shape);
    uint64_t number = 0;

    for (int i = 0; i < 3 && launch; i++)
        number = mp_mix64(number ^ launch->grid[i]) ^ mp_mix64(launch->block[i]);
    return (uint32_t)number;
}

/* The numbers that only one kind has. */
static void move_own(const struct job_part *part, struct deps_activity *activity)
{
    if (activity->kind == DEPS_KERNEL)
        activity->shape = size_of(part, activity->shape);
    else if (activity->kind == DEPS_COPY)
        activity->copy += part->at.copies;
    else if (activity->kind == DEPS_WAIT)
        activity->wait += part->at.waits;
    else if (activity->kind == DEPS_HOST_FUNCTION && activity->runner != DEPS_NONE)
        activity->runner = move_lane(part, activity->runner);
}

static enum mp_status move_activity(struct job *job, struct job_part *part, uint32_t index,
                                    struct deps_activity *to)
{
    const struct deps_activity *from = &part->deps.activities[index];

    *to = *from;
    to->lane = move_lane(part, from->lane);
    to->front = move_awaited(part, from->front);
    if (deps_is_call(from)) {
        to->first_of_call = move_call(part, from->first_of_call);
        to->last_of_call = move_call(part, from->last_of_call);
        to->awaited = move_awaited(part, from->awaited);
    } else {
        to->launch = move_call(part, from->launch);
        to->own_lane = move_awaited(part, from->own_lane);
        to->other_lane = move_awaited(part, from->other_lane);
        to->overlapped = move_awaited(part, from->overlapped);
        if (deps_has_launch(from))
            to->launch_class = part->at.classes + from->launch_class;
    }
    move_own(part, to);
    return move_name(job, part, &to->name);
}

/* ---- Lanes of streams ---- */

/* An activity to be: a part's own, or one half of it. */
struct entry {
    uint64_t begin;
    uint32_t index; /* in the part */
    bool transfer;
};

MP_COMPARE(compare_entries, struct entry,
           MP_ORDER(a->begin, b->begin) ?: MP_ORDER(a->index, b->index) ?:
           (a->transfer - b->transfer));

static uint32_t first_side(const struct job_part *part, uint32_t index)
{
    return part->sides[index - part->deps.host_count];
}

/* Gives the activities of a stream their numbers, in the order of their begins. */
static enum mp_status number_stream(struct job *job, struct job_part *part, uint32_t number)
{
    const struct deps *deps = &part->deps;
    const struct deps_lane *lane = &deps->lanes[number];
    struct deps_lane *to = &job->deps.lanes[move_lane(part, number)];
    struct entry *entries = calloc(2 * (size_t)lane->count + 1, sizeof *entries);
    uint32_t count = 0;

    if (!entries)
        return MP_ERR_MEMORY;
    for (uint32_t i = lane->first; i < lane->first + lane->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        uint32_t side = first_side(part, i);

        entries[count++] = (struct entry){work->begin, i, false};
        if (side != DEPS_NONE)
            entries[count++] = (struct entry){job_transfer_begin(job, side, work), i, true};
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    to->first = job->deps.count;
    to->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = entries[i].index - deps->host_count;

        part->ended[index] = job->deps.count + i;
        if (!entries[i].transfer)
            part->began[index] = job->deps.count + i;
    }
    job->deps.count += count;
    free(entries);
    return MP_OK;
}

static void move_lanes(struct job *job, struct job_part *part, uint32_t process)
{
    for (uint32_t i = 0; i < part->deps.lane_count; i++) {
        struct deps_lane *lane = &job->deps.lanes[move_lane(part, i)];

        *lane = part->deps.lanes[i];
        lane->process = process;
        lane->group = move_lane(part, 0);
        if (lane->is_thread)
            lane->first += part->at.calls;
    }
}

static enum mp_status number_all(struct job *job)
{
    for (size_t i = 0; i < job->part_count; i++)
        move_lanes(job, &job->parts[i], (uint32_t)i);
    for (size_t i = 0; i < job->part_count; i++) {
        struct job_part *part = &job->parts[i];

        for (uint32_t k = part->deps.thread_count; k < part->deps.lane_count; k++)
            MP_TRY(number_stream(job, part, k));
    }
    return MP_OK;
}

/* ---- Activities ---- */

/* Takes a kernel apart, of which `arrival` has all so far. */
static enum mp_status split(struct job *job, const struct job_part *part, uint32_t index,
                            struct deps_activity *arrival)
{
    uint32_t at = index - part->deps.host_count;
    const struct deps_activity *kernel = &part->deps.activities[index];
    uint32_t first = part->sides[at];
    struct deps_activity *transfer = &job->deps.activities[part->ended[at]];
    char name[64];

    snprintf(name, sizeof name, "nccl%s", job_function(job, first));
    *transfer =
        deps_blank(job_transfer_begin(job, first, kernel), kernel->end, kernel->correlation);
    transfer->lane = arrival->lane;
    transfer->own_lane = part->began[at];
    transfer->kind = DEPS_TRANSFER;
    MP_TRY(name_in_job(job, part->rank, name, &transfer->name));
    arrival->end = deps_alone_from(&part->deps, kernel);
    arrival->flags |= DEPS_ARRIVES;
    for (size_t k = first; k == first || job_same_kernel(job, k); k++) {
        job->arrivals[job->sides[k].side] = part->began[at];
        job->transfers[job->sides[k].side] = part->ended[at];
        if (k + 1 == job->ranks->side_count)
            break;
    }
    return MP_OK;
}

static enum mp_status move_activities(struct job *job, struct job_part *part)
{
    const struct deps *deps = &part->deps;

    for (uint32_t i = 0; i < deps->host_count; i++)
        MP_TRY(move_activity(job, part, i, &job->deps.activities[part->at.calls + i]));
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        struct deps_activity *to = &job->deps.activities[part->began[i - deps->host_count]];

        MP_TRY(move_activity(job, part, i, to));
        if (first_side(part, i) != DEPS_NONE)
            MP_TRY(split(job, part, i, to));
    }
    return MP_OK;
}

/* ---- What else a graph has ---- */

static void move_waits(struct deps *to, const struct job_part *part)
{
    const struct deps *deps = &part->deps;

    for (size_t i = 0; i < deps->wait_count; i++) {
        struct deps_wait *wait = &to->waits[to->wait_count++];
        uint32_t function = deps->waits[i].host_function;

        *wait = deps->waits[i];
        wait->waker = move_lane(part, wait->waker);
        wait->piece = move_call(part, wait->piece);
        wait->host_function = function == DEPS_NONE ? DEPS_NONE : move_awaited(part, function);
    }
    for (size_t i = 0; i < deps->stretch_count; i++) {
        struct deps_stretch *stretch = &to->stretches[to->stretch_count++];

        *stretch = deps->stretches[i];
        stretch->lane = move_lane(part, stretch->lane);
    }
    for (size_t i = 0; i < deps->copy_count; i++)
        to->copies[to->copy_count++] = deps->copies[i];
    for (size_t i = 0; deps->fronts && i < deps->fronts->count; i++) {
        const struct deps_front *front = &deps->fronts->items[i];

        to->fronts->items[to->fronts->count++] =
            (struct deps_front){move_awaited(part, front->left), move_awaited(part, front->right),
                                move_awaited(part, front->best)};
    }
}

static enum mp_status move_classes(struct job *job, struct job_part *part)
{
    for (uint32_t i = 0; i < part->deps.launch_classes.count; i++) {
        uint32_t number = part->at.classes + i;
        struct deps_latency *class = &job->deps.launch_latencies[number];

        *class = part->deps.launch_latencies[i];
        MP_TRY(move_name(job, part, &class->call));
        MP_TRY(move_name(job, part, &class->work));
        MP_TRY(mp_map_put(&job->deps.launch_classes, number, number));
    }
    return MP_OK;
}

static void add_counts(struct deps *to, const struct deps *from)
{
    struct deps_counts *sum = &to->counts;
    const struct deps_counts *one = &from->counts;

    sum->dependencies += one->dependencies;
    sum->clamped += one->clamped;
    sum->contradicted += one->contradicted;
    sum->overlapping += one->overlapping;
    sum->unknown_events += one->unknown_events;
    sum->unknown_values += one->unknown_values;
    sum->unknown_wakers += one->unknown_wakers;
    sum->wrong_wakers += one->wrong_wakers;
    sum->unlaunched += one->unlaunched;
    sum->unknown_graphs += one->unknown_graphs;
    to->no_calls |= from->no_calls;
    to->no_syncs |= from->no_syncs;
}

/* What is not asked for any more. */
static void part_clear(struct job_part *part)
{
    deps_free(&part->deps);
    free(part->sides);
    free(part->names);
    free(part->began);
    part->sides = part->names = part->began = NULL;
}

static enum mp_status move_part(struct job *job, struct job_part *part)
{
    MP_TRY(move_activities(job, part));
    move_waits(&job->deps, part);
    MP_TRY(move_classes(job, part));
    add_counts(&job->deps, &part->deps);
    part_clear(part);
    return MP_OK;
}

static enum mp_status merge(struct job *job)
{
    struct deps *deps = &job->deps;

    MP_TRY(lay_out(job));
    deps->ranks = calloc(job->part_count + 1, sizeof *deps->ranks);
    if (!deps->ranks)
        return MP_ERR_MEMORY;
    deps->process_count = (uint32_t)job->part_count;
    for (size_t i = 0; i < job->part_count; i++)
        deps->ranks[i] = job->parts[i].rank;
    MP_TRY(number_all(job));
    for (size_t i = 0; i < job->part_count; i++)
        MP_TRY(move_part(job, &job->parts[i]));
    return MP_OK;
}

void job_free(struct job *job)
{
    for (size_t i = 0; i < job->part_count; i++) {
        part_clear(&job->parts[i]);
        free(job->parts[i].ended);
    }
    free(job->parts);
    deps_free(&job->deps);
    deps_windows_free(&job->ranges);
    free(job->arrivals);
    free(job->transfers);
    free(job->instances);
    free(job->arrived);
    free(job->until);
    free(job->sides);
    free(job->clocks);
    *job = (struct job){0};
}

/* ---- Peers ---- */

/* Joins what the sides of an instance that others wait for have to wait for. */
static enum mp_status join_arrivals(struct job *job, const struct ranks_instance *instance,
                                    uint32_t *front)
{
    const struct ranks_side *sides = &job->ranks->sides[instance->first_side];

    *front = DEPS_NONE;
    for (uint32_t i = 0; i < instance->side_count; i++) {
        uint32_t arrival = job->arrivals[instance->first_side + i];

        if (arrival != DEPS_NONE && ranks_is_awaited(instance, sides[i].rank))
            MP_TRY(deps_join(&job->deps, front, arrival));
    }
    return MP_OK;
}

static enum mp_status link_instance(struct job *job, const struct ranks_instance *instance)
{
    const struct ranks_side *sides = &job->ranks->sides[instance->first_side];
    uint32_t front;

    MP_TRY(join_arrivals(job, instance, &front));
    for (uint32_t i = 0; i < instance->side_count; i++) {
        uint32_t transfer = job->transfers[instance->first_side + i];

        if (transfer == DEPS_NONE || !ranks_waits(instance, sides[i].rank))
            continue;
        MP_TRY(deps_join(&job->deps, &job->deps.activities[transfer].front, front));
        job->deps.counts.dependencies++;
    }
    return MP_OK;
}

static enum mp_status wait_for_peers(struct job *job)
{
    struct deps *deps = &job->deps;

    for (size_t i = 0; i < job->ranks->instance_count; i++)
        MP_TRY(link_instance(job, &job->ranks->instances[i]));
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        struct deps_activity *transfer = &deps->activities[i];

        if (transfer->kind != DEPS_TRANSFER)
            continue;
        transfer->other_lane = deps_best(deps, transfer->front);
        transfer->reason = DEPS_PEER;
    }
    return MP_OK;
}

enum mp_status job_link(struct job *job)
{
    job_find_needs(job);
    MP_TRY(merge(job));
    MP_TRY(wait_for_peers(job));
    return deps_bind(&job->deps);
}

/* ---- From the job back to the graph of a rank alone ---- */

/* Both have the same activities in the same order, but a kernel of NCCL is two in the job. */
struct own {
    const struct deps *deps;
    const uint64_t *values;
    uint64_t *sums;
    size_t count, next;
};

/* Where the arrival of the transfer `index` is in the own graph: further back by each activity that
 * overlaps the kernel. */
static size_t place_of_arrival(const struct own *own, uint32_t index)
{
    const struct deps_activity *activities = own->deps->activities;
    size_t at = own->next - 1;

    for (uint32_t i = activities[index].own_lane + 1; i < index; i++)
        at -= activities[i].kind != DEPS_TRANSFER;
    return at;
}

static void add_lane(struct own *own, const struct deps_lane *lane)
{
    for (uint32_t i = lane->first; i < lane->first + lane->count; i++) {
        bool transfer = own->deps->activities[i].kind == DEPS_TRANSFER;
        size_t at = transfer ? place_of_arrival(own, i) : own->next++;

        if (at < own->count)
            own->sums[at] += own->values[i];
    }
}

void job_add_to_own(const struct job *job, uint32_t process, const uint64_t *values, uint64_t *own,
                    size_t count)
{
    struct own walk = {.deps = &job->deps, .values = values, .sums = own, .count = count};

    for (uint32_t i = 0; i < job->deps.lane_count; i++) {
        if (job->deps.lanes[i].process == process)
            add_lane(&walk, &job->deps.lanes[i]);
    }
}
