/* Waits outside of CUDA, who woke them (D9), and how host code between calls is divided
 * (docs/dependency-analysis.md, sections 2 and 5).
 *
 *     waiter   |------------ wait ------------|
 *     waker      ...call...|..host code..^         the moment lies on the waker's lane
 */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* ---- Waits inside of calls ---- */

/* The lanes are sorted, and calls still whole. */
static void drop_in_lane(struct deps *deps, struct deps_lane *lane)
{
    uint32_t kept = 0;
    uint64_t call_end = 0;

    for (uint32_t i = 0; i < lane->count; i++) {
        const struct deps_activity *activity = &deps->activities[lane->first + i];

        if (activity->kind == DEPS_WAIT && activity->begin < call_end)
            continue;
        if (activity->kind == DEPS_CALL && activity->end > call_end)
            call_end = activity->end;
        deps->activities[lane->first + kept++] = *activity;
    }
    lane->count = kept;
}

void deps_drop_inner_waits(struct deps_builder *builder)
{
    struct deps *deps = builder->deps;

    if (!deps->wait_count)
        return;
    for (uint32_t i = 0; i < deps->thread_count; i++)
        drop_in_lane(deps, &deps->lanes[i]);
    deps_close_gaps(builder);
}

/* ---- Who woke whom ---- */

/* Host functions in the order of the threads that ran them, and of time. */
struct host_functions {
    const struct deps *deps;
    uint32_t *items; /* activities; owned */
    size_t count;
};

static int compare_host_functions(const void *left, const void *right, void *context)
{
    const struct deps *deps = context;
    uint32_t x = *(const uint32_t *)left;
    uint32_t y = *(const uint32_t *)right;
    const struct deps_activity *a = &deps->activities[x];
    const struct deps_activity *b = &deps->activities[y];

    return MP_ORDER(a->runner, b->runner) ?: MP_ORDER(a->begin, b->begin) ?: MP_ORDER(x, y);
}

static enum mp_status list_host_functions(struct deps *deps, struct host_functions *functions)
{
    size_t capacity = 0;

    *functions = (struct host_functions){.deps = deps};
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (deps->activities[i].kind != DEPS_HOST_FUNCTION ||
            deps->activities[i].runner == DEPS_NONE)
            continue;
        MP_TRY(MP_RESERVE(functions->items, functions->count, capacity));
        functions->items[functions->count++] = i;
    }
    if (functions->count)
        qsort_r(functions->items, functions->count, sizeof *functions->items,
                compare_host_functions, deps);
    return MP_OK;
}

/* The host function that a thread ran at a moment; DEPS_NONE. */
static uint32_t host_function_at(const struct host_functions *functions, uint32_t lane,
                                 uint64_t moment)
{
    const struct deps_activity *activities = functions->deps->activities;
    const uint32_t *items = functions->items;
    size_t low =
        MP_SEARCH(0, functions->count, i,
                  activities[items[i]].runner < lane || (activities[items[i]].runner == lane &&
                                                         activities[items[i]].begin <= moment));

    if (!low)
        return DEPS_NONE;
    const struct deps_activity *found = &activities[functions->items[low - 1]];
    return found->runner == lane && found->end >= moment ? functions->items[low - 1] : DEPS_NONE;
}

/* Whether the waker was inside a wait that another thread was still to end. Such a thread wakes
 * nobody. */
static bool was_asleep(const struct deps *deps, const struct deps_wait *how)
{
    if (how->piece == DEPS_NONE || how->host_function != DEPS_NONE)
        return false;
    const struct deps_activity *piece = &deps->activities[how->piece];
    if (piece->kind != DEPS_WAIT)
        return false;
    const struct deps_wait *own = deps_wait_of(deps, piece);
    return own->waker != DEPS_NONE && how->woken <= own->woken;
}

/* All waits are judged by the rows as they are, before any waker is forgotten: so their order does
 * not matter. */
static void forget_sleeping_wakers(struct deps *deps, bool *wrong)
{
    for (size_t i = 0; i < deps->wait_count; i++)
        wrong[i] = deps->waits[i].waker != DEPS_NONE && was_asleep(deps, &deps->waits[i]);
    for (size_t i = 0; i < deps->wait_count; i++) {
        if (!wrong[i])
            continue;
        deps->waits[i].waker = DEPS_NONE;
        deps->counts.wrong_wakers++;
    }
}

enum mp_status deps_find_wakers(struct deps *deps)
{
    struct host_functions functions;
    bool *wrong;

    if (!deps->wait_count)
        return MP_OK;
    wrong = calloc(deps->wait_count, sizeof *wrong);
    enum mp_status status = list_host_functions(deps, &functions);
    if (!wrong)
        status = MP_ERR_MEMORY;
    for (size_t i = 0; i < deps->wait_count && !status; i++) {
        struct deps_wait *wait = &deps->waits[i];

        if (wait->waker == DEPS_NONE)
            continue;
        wait->piece = deps_piece_before(deps, &deps->lanes[wait->waker], wait->woken);
        wait->host_function = host_function_at(&functions, wait->waker, wait->woken);
    }
    if (!status)
        forget_sleeping_wakers(deps, wrong);
    free(functions.items);
    free(wrong);
    return status;
}

/* ---- Threads that only watch ----
 *
 * The watchdog of PyTorch's NCCL asks whether events have come, and sleeps. Nothing that the
 * program computes needs its answers. But other threads may meet it at a lock.
 */

/* Whether a call lets its thread wait for the GPU: by its purpose, or in effect (D8). */
static bool waits_for_gpu(const struct deps *deps, const struct deps_activity *call)
{
    if (call->flags & DEPS_SYNCHRONISES)
        return true;
    return call->reason == DEPS_IN_EFFECT && call->awaited != DEPS_NONE &&
           deps->activities[call->awaited].end > call->begin;
}

static void find_parts(struct deps *deps)
{
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint32_t launch = deps->activities[i].launch;

        if (launch != DEPS_NONE)
            deps->lanes[deps->activities[launch].lane].takes_part = true;
    }
    for (uint32_t i = 0; i < deps->host_count; i++) {
        const struct deps_activity *call = &deps->activities[i];

        if (call->kind != DEPS_CALL)
            continue;
        if (call->flags & DEPS_ASKS)
            deps->lanes[call->lane].watches = true;
        else if (waits_for_gpu(deps, call))
            deps->lanes[call->lane].takes_part = true;
    }
}

/* The lane that ended a wait; DEPS_NONE. */
static uint32_t waker_of(const struct deps *deps, const struct deps_activity *wait)
{
    return wait->kind == DEPS_WAIT ? deps_wait_of(deps, wait)->waker : DEPS_NONE;
}

void deps_find_watchers(struct deps *deps)
{
    find_parts(deps);
    for (uint32_t i = 0; i < deps->host_count; i++) {
        const struct deps_activity *wait = &deps->activities[i];
        uint32_t waker = waker_of(deps, wait);

        if (waker != DEPS_NONE && !(wait->flags & DEPS_LOCKS))
            deps->lanes[waker].watches = false;
    }
    for (uint32_t i = 0; i < deps->thread_count; i++)
        deps->lanes[i].watches &= !deps->lanes[i].takes_part;
    for (uint32_t i = 0; i < deps->host_count; i++) {
        uint32_t waker = waker_of(deps, &deps->activities[i]);

        if (waker != DEPS_NONE && deps->lanes[waker].watches)
            deps->waits[deps->activities[i].wait].waker = DEPS_NONE;
    }
}

/* ---- Host code, divided ---- */

MP_COMPARE(compare_stretches, struct deps_stretch,
           MP_ORDER(a->lane, b->lane) ?: MP_ORDER(a->begin, b->begin) ?: MP_ORDER(a->end, b->end));

/* Takes calls and waits out of a stretch. The time of waits was blocked. */
static void subtract_pieces(const struct deps *deps, struct deps_stretch *stretch)
{
    const struct deps_lane *lane = &deps->lanes[stretch->lane];
    uint32_t at = deps_first_from(deps, lane, stretch->begin);
    uint64_t calls = 0;
    uint64_t waits = 0;

    if (at > lane->first)
        at--; /* it may reach into the stretch */
    for (; at < lane->first + lane->count && deps->activities[at].begin < stretch->end; at++) {
        const struct deps_activity *piece = &deps->activities[at];
        uint64_t begin = piece->begin > stretch->begin ? piece->begin : stretch->begin;
        uint64_t end = piece->end < stretch->end ? piece->end : stretch->end;

        if (end > begin)
            *(piece->kind == DEPS_WAIT ? &waits : &calls) += end - begin;
    }
    stretch->host = stretch->end - stretch->begin - calls - waits;
    stretch->blocked -= waits < stretch->blocked ? waits : stretch->blocked;
    if (stretch->blocked > stretch->host)
        stretch->blocked = stretch->host;
    if (stretch->ready > stretch->host - stretch->blocked)
        stretch->ready = stretch->host - stretch->blocked;
}

/* Stretches that overlap an earlier one, which only a damaged trace has, are left out. */
void deps_lay_stretches(struct deps *deps)
{
    size_t kept = 0;

    if (!deps->stretch_count)
        return;
    qsort(deps->stretches, deps->stretch_count, sizeof *deps->stretches, compare_stretches);
    for (size_t i = 0; i < deps->stretch_count; i++) {
        struct deps_stretch *stretch = &deps->stretches[i];

        if (kept && deps->stretches[kept - 1].lane == stretch->lane &&
            deps->stretches[kept - 1].end > stretch->begin)
            continue;
        subtract_pieces(deps, stretch);
        deps->stretches[kept++] = *stretch;
    }
    deps->stretch_count = kept;
}

/* The first stretch of the lane that ends after `time`, or one of a later lane. */
static size_t first_stretch(const struct deps *deps, uint32_t lane, uint64_t time)
{
    const struct deps_stretch *all = deps->stretches;

    return MP_SEARCH(0, deps->stretch_count, i,
                     all[i].lane < lane || (all[i].lane == lane && all[i].end <= time));
}

void deps_divide_host_code(const struct deps *deps, uint32_t lane, uint64_t begin, uint64_t end,
                           uint64_t parts[DEPS_PARTS])
{
    for (size_t i = first_stretch(deps, lane, begin); begin < end; i++) {
        const struct deps_stretch *stretch = i < deps->stretch_count ? &deps->stretches[i] : NULL;

        if (!stretch || stretch->lane != lane || stretch->begin >= end) {
            parts[DEPS_HOST_CODE] += end - begin;
            return;
        }
        if (stretch->begin > begin) {
            parts[DEPS_HOST_CODE] += stretch->begin - begin;
            begin = stretch->begin;
        }
        uint64_t until = stretch->end < end ? stretch->end : end;
        uint64_t blocked = mp_proportion(until - begin, stretch->blocked, stretch->host);
        uint64_t ready = mp_proportion(until - begin, stretch->ready, stretch->host);
        parts[DEPS_BLOCKED] += blocked;
        parts[DEPS_NOT_SCHEDULED] += ready;
        parts[DEPS_COMPUTING] += until - begin - blocked - ready;
        begin = until;
    }
}
