/* The critical path of one rank to its kernel of NCCL, as times by cause and activity, and the NVTX
 * ranges in which its host code ran.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/nvtx/open.h"
#include "profile/reading.h"
#include "reports/deps/lookup.h"
#include "reports/ranks/inside.h"
#include "trace/schema.h"

#include "base/poison.h"

/* A path on its way into entries. Until it is complete, activities are names of the graph. */
struct walk {
    struct lateness *lateness;
    const struct deps *deps;
    const struct lateness_question *question;
    size_t first;  /* of its entries */
    uint32_t home; /* lane of the thread that launches the operation; DEPS_NONE: not known yet */
    struct deps_step longest; /* of that thread's host code */
};

/* The kernel of NCCL that begins at a moment; DEPS_NONE. */
static uint32_t find_kernel(const struct deps *deps, uint64_t begin)
{
    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];
        uint32_t at = deps_first_from(deps, lane, begin);

        for (; at < lane->first + lane->count && deps->activities[at].begin == begin; at++) {
            if (deps->activities[at].kind == DEPS_KERNEL &&
                ranks_is_nccl(deps_name(deps, &deps->activities[at])))
                return at;
        }
    }
    return DEPS_NONE;
}

/* ---- Steps ---- */

static enum mp_status add_time(struct walk *walk, enum lateness_cause cause, uint32_t name,
                               uint64_t time)
{
    struct lateness *lateness = walk->lateness;

    if (!time)
        return MP_OK;
    MP_TRY(MP_RESERVE(lateness->entries, lateness->entry_count, lateness->entry_capacity));
    lateness->entries[lateness->entry_count++] =
        (struct lateness_entry){walk->question->instance, name, (int64_t)time, (uint8_t)cause};
    return MP_OK;
}

static enum lateness_cause cause_of_call(const char *name)
{
    if (strstr(name, "Launch") || strstr(name, "Async"))
        return LATENESS_LAUNCH;
    return strstr(name, "Memcpy") || strstr(name, "Memset") ? LATENESS_COPY : LATENESS_CALL;
}

static enum lateness_cause cause_of(const struct deps *deps, const struct deps_activity *activity)
{
    const char *name = deps_name(deps, activity);

    switch (activity->kind) {
    case DEPS_CALL:
        return cause_of_call(name);
    case DEPS_KERNEL:
        return ranks_is_nccl(name) ? LATENESS_COLLECTIVE : LATENESS_KERNEL;
    case DEPS_GRAPH:
        return LATENESS_KERNEL;
    case DEPS_COPY:
    case DEPS_SET:
        return LATENESS_COPY;
    case DEPS_HOST_FUNCTION:
        return LATENESS_HOST;
    case DEPS_WAIT:
        return LATENESS_BLOCKED;
    default:
        return LATENESS_OTHER;
    }
}

/* The path has left the thread for the one that it waited for: so it was blocked all the time. */
static enum mp_status add_elsewhere(struct walk *walk, const struct deps_step *step)
{
    const struct deps *deps = walk->deps;
    uint32_t call = deps_piece_before(deps, &deps->lanes[walk->home], step->end);
    const struct deps_activity *wait = call == DEPS_NONE || deps->activities[call].kind != DEPS_WAIT
                                           ? NULL
                                           : &deps->activities[call];

    return add_time(walk, LATENESS_BLOCKED, wait ? wait->name : 0, step->end - step->begin);
}

static bool is_elsewhere(struct walk *walk, uint32_t lane)
{
    if (walk->home == DEPS_NONE)
        walk->home = lane;
    return lane != walk->home && lane != DEPS_NONE;
}

static enum mp_status add_host_code(struct walk *walk, const struct deps_step *step)
{
    uint64_t parts[DEPS_PARTS] = {0};

    if (is_elsewhere(walk, step->lane))
        return add_elsewhere(walk, step);
    if (step->end - step->begin > walk->longest.end - walk->longest.begin)
        walk->longest = *step;
    if (step->lane == DEPS_NONE)
        return add_time(walk, LATENESS_HOST, 0, step->end - step->begin);
    deps_divide_host_code(walk->deps, step->lane, step->begin, step->end, parts);
    MP_TRY(add_time(walk, LATENESS_HOST, 0, parts[DEPS_HOST_CODE] + parts[DEPS_COMPUTING]));
    MP_TRY(add_time(walk, LATENESS_NO_PROCESSOR, 0, parts[DEPS_NOT_SCHEDULED]));
    return add_time(walk, LATENESS_BLOCKED, 0, parts[DEPS_BLOCKED]);
}

/* Time that belongs to a call or wait, the last one of its thread that begins before a moment: from
 * the begin of a launching call on, or up to the end of one that waited for the device. */
static enum mp_status add_call(struct walk *walk, const struct deps_step *step, uint64_t before)
{
    const struct deps *deps = walk->deps;
    uint32_t call = DEPS_NONE;

    if (is_elsewhere(walk, step->lane))
        return add_elsewhere(walk, step);
    if (step->lane != DEPS_NONE)
        call = deps_piece_before(deps, &deps->lanes[step->lane], before);
    if (call == DEPS_NONE)
        return add_time(walk, LATENESS_OTHER, 0, step->end - step->begin);
    enum lateness_cause cause = step->part == DEPS_LAUNCH_LATENCY
                                    ? LATENESS_LAUNCH
                                    : cause_of(deps, &deps->activities[call]);
    return add_time(walk, cause, deps->activities[call].name, step->end - step->begin);
}

static enum mp_status add_step(struct walk *walk, const struct deps_step *step)
{
    const struct deps *deps = walk->deps;

    if (step->activity != DEPS_NONE) {
        const struct deps_activity *activity = &deps->activities[step->activity];

        if (deps->lanes[activity->lane].is_thread && is_elsewhere(walk, activity->lane))
            return add_elsewhere(walk, step);
        return add_time(walk, cause_of(deps, activity), activity->name, step->end - step->begin);
    }
    if (step->part == DEPS_HOST_CODE)
        return add_host_code(walk, step);
    if (step->part == DEPS_LAUNCH_LATENCY)
        return add_call(walk, step, step->begin + 1);
    if (step->part == DEPS_RETURN)
        return add_call(walk, step, step->end);
    return add_time(walk, LATENESS_OTHER, 0, step->end - step->begin);
}

/* ---- Entries ---- */

MP_COMPARE(compare_entries, struct lateness_entry,
           MP_ORDER(a->cause, b->cause) ?: MP_ORDER(a->activity, b->activity));

/* One entry for each cause and activity. */
static void merge_entries(struct walk *walk)
{
    struct lateness_entry *entries = &walk->lateness->entries[walk->first];
    size_t count = walk->lateness->entry_count - walk->first, kept = 0;

    if (!count)
        return;
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 1; i < count; i++) {
        if (!compare_entries(&entries[kept], &entries[i]))
            entries[kept].time += entries[i].time;
        else
            entries[++kept] = entries[i];
    }
    walk->lateness->entry_count = walk->first + kept + 1;
}

/* Names become those of all traces. */
static enum mp_status finish_entry(struct walk *walk, struct lateness_entry *entry)
{
    size_t bytes = 0;
    const char *name = mp_intern_get(&walk->deps->names, entry->activity, &bytes);

    if (name && entry->cause == LATENESS_COLLECTIVE)
        name = ranks_function_in(name, &bytes);
    entry->activity = name ? mp_intern_add(&walk->lateness->names, name, bytes) : 0;
    if (walk->question->typical)
        entry->time = -entry->time;
    return name && !entry->activity ? MP_ERR_MEMORY : MP_OK;
}

static enum mp_status finish_entries(struct walk *walk)
{
    for (size_t i = walk->first; i < walk->lateness->entry_count; i++)
        MP_TRY(finish_entry(walk, &walk->lateness->entries[i]));
    return MP_OK;
}

static enum mp_status add_moment(struct lateness_moments *moments, const struct walk *walk)
{
    const struct deps_step *longest = &walk->longest;

    if (longest->begin == longest->end || longest->lane == DEPS_NONE || walk->question->typical)
        return MP_OK;
    MP_TRY(MP_RESERVE(moments->items, moments->count, moments->capacity));
    moments->items[moments->count++] = (struct lateness_moment){
        walk->deps->lanes[longest->lane].id, longest->begin + (longest->end - longest->begin) / 2,
        walk->question->instance};
    return MP_OK;
}

static enum mp_status take_path(struct walk *walk, uint32_t kernel, uint64_t since)
{
    struct deps_steps steps;
    enum mp_status status = deps_path_before(walk->deps, kernel, since, &steps);

    /* backwards, as the first thread that is met then is the one that launched */
    for (size_t i = steps.count; i && !status; i--)
        status = add_step(walk, &steps.items[i - 1]);
    free(steps.items);
    MP_TRY(status);
    merge_entries(walk);
    return finish_entries(walk);
}

enum mp_status lateness_walk(struct lateness *lateness, const struct deps *deps,
                             const struct lateness_question *question,
                             struct lateness_moments *moments)
{
    const struct lateness_reason *why = &lateness->reasons[question->instance];
    const struct ranks_instance *instance = &lateness->ranks->instances[question->instance];
    const struct ranks_side *side =
        &lateness->ranks
             ->sides[instance->first_side + (question->typical ? why->typical : why->last)];
    uint32_t kernel = find_kernel(deps, side->recorded);
    struct walk walk = {.lateness = lateness,
                        .deps = deps,
                        .question = question,
                        .first = lateness->entry_count,
                        .home = DEPS_NONE};

    if (kernel == DEPS_NONE)
        return MP_OK;
    if (deps->activities[kernel].launch != DEPS_NONE)
        walk.home = deps->activities[deps->activities[kernel].launch].lane;
    MP_TRY(take_path(&walk, kernel, side->recorded - (side->start - why->since)));
    return add_moment(moments, &walk);
}

/* ---- NVTX ranges ---- */

/* The NVTX ranges in which host code ran that made a rank late. NCCL's own ranges do not count.
 */

struct sweep {
    struct lateness *lateness;
    const struct definitions *definitions;
    struct lateness_moments *moments; /* sorted */
    struct mp_map next;               /* thread -> its next moment */
    struct nvtx_open open;
};

MP_COMPARE(compare_moments, struct lateness_moment,
           MP_ORDER(a->thread, b->thread) ?: MP_ORDER(a->time, b->time) ?:
           MP_ORDER(a->instance, b->instance));

static bool is_nccls(const struct sweep *sweep, const struct nvtx_event *event)
{
    const char *domain = definitions_text(sweep->definitions, event->domain);

    return domain && !strcmp(domain, "NCCL");
}

/* Answers for the moments of a thread before `time`. */
static enum mp_status answer(struct sweep *sweep, uint64_t thread, uint64_t time)
{
    const struct lateness_moments *moments = sweep->moments;
    uint32_t at = mp_map_get(&sweep->next, thread);
    const struct nvtx_open_range *range = nvtx_open_innermost(&sweep->open, thread);
    const char *name = range ? definitions_text(sweep->definitions, range->name) : NULL;
    uint32_t id = 0;

    if (at == MP_MAP_ABSENT || moments->items[at].time >= time)
        return MP_OK;
    if (name) {
        id = mp_intern_add(&sweep->lateness->names, name, strlen(name));
        if (!id)
            return MP_ERR_MEMORY;
    }
    while (at < moments->count && moments->items[at].thread == thread &&
           moments->items[at].time < time)
        sweep->lateness->reasons[moments->items[at++].instance].activity = id;
    if (at < moments->count && moments->items[at].thread == thread)
        return mp_map_put(&sweep->next, thread, at);
    mp_map_remove(&sweep->next, thread);
    return MP_OK;
}

static enum mp_status take_range(void *context, const struct mp_batch *batch, uint32_t row)
{
    const uint64_t time = mp_nvtx_columns(batch->columns).time[row];
    const struct nvtx_event event = nvtx_event_at(batch->columns, row, time);
    struct sweep *sweep = context;

    if (event.kind == MP_nvtx_kind_mark || !time || is_nccls(sweep, &event))
        return MP_OK;
    MP_TRY(answer(sweep, event.thread, time));
    return nvtx_open_take(&sweep->open, &event, NULL);
}

static const struct reading_table tables[] = {
    {MP_TABLE_nvtx, NVTX_EVENT_COLUMNS | MP_MASK(nvtx, time), .take_row = take_range},
};

static enum mp_status find_first(struct sweep *sweep)
{
    const struct lateness_moment *items = sweep->moments->items;

    for (size_t i = 0; i < sweep->moments->count && i < MP_MAP_ABSENT; i++) {
        if (!i || items[i].thread != items[i - 1].thread)
            MP_TRY(mp_map_put(&sweep->next, items[i].thread, (uint32_t)i));
    }
    return MP_OK;
}

/* After the last row of a thread. */
static enum mp_status answer_rest(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->moments->count; i++)
        MP_TRY(answer(sweep, sweep->moments->items[i].thread, UINT64_MAX));
    return MP_OK;
}

enum mp_status lateness_name_ranges(struct lateness *lateness, struct mp_trace *trace,
                                    const struct definitions *definitions,
                                    struct lateness_moments *moments, struct mp_error *error)
{
    struct sweep sweep = {.lateness = lateness, .definitions = definitions, .moments = moments};
    const struct reading reading = {
        .trace = trace, .what = "the NVTX ranges", .context = &sweep, READING_TABLES(tables)};

    if (!moments->count)
        return MP_OK;
    qsort(moments->items, moments->count, sizeof *moments->items, compare_moments);
    enum mp_status status = find_first(&sweep);
    if (!status)
        status = reading_run(&reading, error);
    if (!status)
        status = answer_rest(&sweep);
    if (status == MP_ERR_MEMORY)
        mp_error_set(error, status, "cannot read the NVTX ranges: out of memory");
    mp_map_free(&sweep.next);
    nvtx_open_free(&sweep.open);
    return status;
}
