/* What comes from the event graph: what each call launched, and the iterations. */
#include "export/kineto/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* ---- What calls launched ---- */

/* A counting sort of the device's work by the call that launched it. */

/* Host functions have a launch too, but they run on no stream. */
static bool is_launched(const struct deps_activity *work)
{
    return work->launch != DEPS_NONE && work->kind != DEPS_HOST_FUNCTION;
}

/* Counts what each call launched, at the call after it, and adds up. */
static void count_work(struct kineto_launched *launched)
{
    const struct deps *deps = launched->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (is_launched(&deps->activities[i]))
            launched->first[deps->activities[i].launch + 1]++;
    }
    for (uint32_t i = 0; i < deps->host_count; i++)
        launched->first[i + 1] += launched->first[i];
}

/* Puts each piece of work after that of earlier calls; `first` moves on to the next call's. */
static void place_work(struct kineto_launched *launched)
{
    const struct deps *deps = launched->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (is_launched(&deps->activities[i]))
            launched->work[launched->first[deps->activities[i].launch]++] = i;
    }
    for (uint32_t i = deps->host_count; i > 0; i--)
        launched->first[i] = launched->first[i - 1];
    launched->first[0] = 0;
}

enum mp_status kineto_launched_build(struct kineto_launched *launched, const struct deps *deps)
{
    size_t work = deps->count - deps->host_count;

    launched->deps = deps;
    launched->first = calloc((size_t)deps->host_count + 1, sizeof *launched->first);
    launched->work = calloc(work + 1, sizeof *launched->work);
    launched->projected = calloc((size_t)deps->lane_count + 1, sizeof *launched->projected);
    if (!launched->first || !launched->work || !launched->projected)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->thread_count; i++)
        MP_TRY(mp_map_put(&launched->threads, deps->lanes[i].id, i));
    count_work(launched);
    place_work(launched);
    return MP_OK;
}

void kineto_launched_free(struct kineto_launched *launched)
{
    free(launched->first);
    free(launched->work);
    free(launched->projected);
    mp_map_free(&launched->threads);
}

bool kineto_launched_any(const struct kineto_launched *launched, uint32_t call)
{
    return launched->deps && call < launched->deps->host_count &&
           launched->first[call] < launched->first[call + 1];
}

static void project(struct kineto_launched *launched, const struct deps_activity *work)
{
    struct kineto_projected *on = &launched->projected[work->lane];

    if (!on->end || work->begin < on->begin)
        on->begin = work->begin;
    if (work->end > on->end)
        on->end = work->end;
}

bool kineto_launched_project(struct kineto_launched *launched, uint64_t thread, uint64_t begin,
                             uint64_t end)
{
    const struct deps *deps = launched->deps;
    uint32_t lane = mp_map_get(&launched->threads, thread);

    if (!deps || lane == MP_MAP_ABSENT || end == UINT64_MAX)
        return false;
    uint32_t from = launched->first[deps_first_from(deps, &deps->lanes[lane], begin)];
    uint32_t until = launched->first[deps_first_from(deps, &deps->lanes[lane], end + 1)];
    if (from == until)
        return false;
    memset(launched->projected, 0, (size_t)deps->lane_count * sizeof *launched->projected);
    for (uint32_t i = from; i < until; i++)
        project(launched, &deps->activities[launched->work[i]]);
    return true;
}

/* ---- Iterations ---- */

/* Iterations as ProfilerStep#N, from which HTA takes them: on the thread that made it, and on each
 * stream from its first work to its last. A program that has such ranges itself keeps its own. */

#define NAME_BYTES 48

static enum mp_status add_step(struct kineto *kineto, const struct export_row *row, uint64_t key)
{
    MP_TRY(MP_RESERVE(kineto->step_items, kineto->step_count, kineto->step_capacity));
    MP_TRY(mp_map_put(&kineto->steps, key, (uint32_t)kineto->step_count));
    kineto->step_items[kineto->step_count++] = (struct kineto_step){
        .begin = row->start,
        .end = row->start + row->duration,
        .device = row->place->device,
        .stream = row->place->stream,
        .iteration = row->iteration,
    };
    return MP_OK;
}

enum mp_status kineto_note_step(struct kineto *kineto, const struct export_row *row)
{
    if (!row->iteration || !row->place || !row->start || row->duration > INT64_MAX)
        return MP_OK;
    uint64_t key = (uint64_t)row->iteration << 32 | row->place->id;
    uint32_t index = mp_map_get(&kineto->steps, key);
    if (index == MP_MAP_ABSENT)
        return add_step(kineto, row, key);
    struct kineto_step *step = &kineto->step_items[index];
    if (row->start < step->begin)
        step->begin = row->start;
    if (row->start + row->duration > step->end)
        step->end = row->start + row->duration;
    return MP_OK;
}

static void write_step(struct kineto *kineto, const char *category, uint32_t iteration,
                       uint64_t process, int64_t thread, uint64_t begin, uint64_t end)
{
    struct events *events = &kineto->events;
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "ProfilerStep#%" PRIu32, iteration);
    event_begin(events, 'X', category);
    event_literal_name(events, name);
    event_place(events, process, thread);
    event_time(events, begin);
    event_duration(events, end - begin);
    event_end(events);
}

/* Returns the thread of an iteration; the first one if it is not known. */
static int64_t thread_of(const struct deps *deps, uint32_t lane)
{
    if (lane == DEPS_NONE)
        lane = 0;
    return lane < deps->thread_count ? (int64_t)deps->lanes[lane].tid : 0;
}

static void write_on_host(struct kineto *kineto, uint32_t iteration)
{
    const struct iteration *at = &kineto->analyses->iterations.items[iteration - 1];

    write_step(kineto, "user_annotation", iteration, kineto->pid,
               thread_of(&kineto->analyses->deps, at->thread), at->begin, at->host_end);
}

void kineto_write_steps(struct kineto *kineto)
{
    uint32_t last = 0;

    if (kineto->own_steps || !kineto->analyses->known)
        return;
    for (size_t i = 0; i < kineto->step_count; i++) {
        const struct kineto_step *step = &kineto->step_items[i];

        write_step(kineto, "gpu_user_annotation", step->iteration, step->device,
                   (int64_t)step->stream, step->begin - 1, step->end + 1);
        if (step->iteration > last)
            last = step->iteration;
    }
    for (uint32_t iteration = 1; iteration <= last; iteration++)
        write_on_host(kineto, iteration);
}
