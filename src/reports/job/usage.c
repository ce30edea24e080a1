/* What each rank's GPU did in the windows, and how much of the critical path is on it.
 *
 *     stream 7    |==gemm==|   |==gemm==|
 *     stream 20       |~~waiting~~|====transfer====|
 *                              ^^^ nothing else ran: idle for peers
 *                                 ^^^^^^ hidden: computing at the same time
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/deps/lookup.h"
#include "reports/job/job.h"

#include "base/poison.h"

/* ---- The path ---- */

static enum mp_status add_path(const struct deps *deps, const struct deps_window *window,
                               struct job_usage *usage)
{
    struct deps_steps steps;
    uint32_t before = DEPS_NONE;

    MP_TRY(deps_path_steps(deps, window, &steps));
    for (size_t i = steps.count; i-- > 0;) {
        const struct deps_step *step = &steps.items[i];
        uint64_t ns = step->end - step->begin;

        if (step->lane == DEPS_NONE)
            continue;
        uint32_t process = deps->lanes[step->lane].process;
        usage->ranks[process].critical += ns;
        if (step->activity == DEPS_NONE && step->part == DEPS_HOST_CODE)
            usage->ranks[process].host += ns;
        usage->changes += before != DEPS_NONE && process != before;
        before = process;
    }
    free(steps.items);
    return MP_OK;
}

/* ---- The GPU ---- */

enum use { USE_COMPUTING, USE_TRANSFER, USE_WAITING, USE_WAITING_FOR_STAGE, USES };

/* Where a use begins or ends. */
struct edge {
    uint64_t time;
    int8_t change;
    uint8_t use;
};

struct sweep {
    struct edge *edges; /* owned */
    size_t count, capacity;
};

static enum mp_status add_use(struct sweep *sweep, const struct deps_window *window, enum use use,
                              uint64_t begin, uint64_t end)
{
    begin = begin > window->begin ? begin : window->begin;
    end = end < window->end ? end : window->end;
    if (begin >= end)
        return MP_OK;
    for (int i = 0; i < 2; i++) {
        MP_TRY(MP_RESERVE(sweep->edges, sweep->count, sweep->capacity));
        sweep->edges[sweep->count++] = (struct edge){i ? end : begin, i ? -1 : 1, (uint8_t)use};
    }
    return MP_OK;
}

/* Whether a transfer is a send or a receive, or begins with one. */
static bool is_pair(const struct deps *deps, const struct deps_activity *transfer)
{
    const char *name = strrchr(deps_name(deps, transfer), ':');

    return name && (!strcmp(name, ":ncclSend") || !strcmp(name, ":ncclRecv"));
}

static enum mp_status add_work(const struct deps *deps, const struct deps_activity *work,
                               const struct deps_window *window, struct sweep *sweep)
{
    if (work->kind == DEPS_HOST_FUNCTION || work->flags & DEPS_ARRIVES)
        return MP_OK;
    if (work->kind != DEPS_TRANSFER)
        return add_use(sweep, window, USE_COMPUTING, work->begin, work->end);
    enum use waiting = is_pair(deps, work) ? USE_WAITING_FOR_STAGE : USE_WAITING;
    MP_TRY(add_use(sweep, window, waiting, deps->activities[work->own_lane].end, work->begin));
    return add_use(sweep, window, USE_TRANSFER, work->begin, work->end);
}

MP_COMPARE(compare_edges, struct edge, MP_ORDER(a->time, b->time));

static void add_stretch(struct job_rank *rank, const uint32_t running[USES], uint64_t ns)
{
    bool computing = running[USE_COMPUTING];
    bool waiting = running[USE_WAITING] || running[USE_WAITING_FOR_STAGE];
    bool idle = waiting && !computing && !running[USE_TRANSFER];

    rank->computing += computing ? ns : 0;
    rank->transfer += running[USE_TRANSFER] ? ns : 0;
    rank->hidden += computing && running[USE_TRANSFER] ? ns : 0;
    rank->waiting += waiting ? ns : 0;
    rank->idle += idle ? ns : 0;
    rank->bubbles += idle && !running[USE_WAITING] ? ns : 0;
}

static void sweep_over(struct sweep *sweep, struct job_rank *rank)
{
    uint32_t running[USES] = {0};

    if (sweep->count)
        qsort(sweep->edges, sweep->count, sizeof *sweep->edges, compare_edges);
    for (size_t i = 0; i < sweep->count; i++) {
        const struct edge *edge = &sweep->edges[i];

        if (i)
            add_stretch(rank, running, edge->time - edge[-1].time);
        running[edge->use] += (uint32_t)edge->change;
    }
    sweep->count = 0;
}

/* The first activity of a stream that may reach into the window. */
static uint32_t first_in(const struct deps *deps, const struct deps_lane *lane,
                         const struct deps_window *window)
{
    uint32_t at = deps_first_from(deps, lane, window->begin);

    while (at > lane->first && deps->activities[at - 1].end > window->begin)
        at--;
    return at;
}

/* Whether an activity, with the time that it waited for peers, begins after the window. */
static bool begins_after(const struct deps *deps, const struct deps_window *window,
                         const struct deps_activity *work)
{
    uint64_t begin =
        work->kind == DEPS_TRANSFER ? deps->activities[work->own_lane].end : work->begin;

    return begin >= window->end;
}

static enum mp_status add_gpu(const struct deps *deps, const struct deps_window *window,
                              uint32_t process, struct sweep *sweep, struct job_rank *rank)
{
    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];

        if (lane->process != process)
            continue;
        for (uint32_t k = first_in(deps, lane, window); k < lane->first + lane->count; k++) {
            if (begins_after(deps, window, &deps->activities[k]))
                break;
            MP_TRY(add_work(deps, &deps->activities[k], window, sweep));
        }
    }
    sweep_over(sweep, rank);
    return MP_OK;
}

enum mp_status job_use(const struct deps *deps, const struct deps_windows *windows,
                       struct job_usage *usage)
{
    struct sweep sweep = {0};
    enum mp_status status = MP_OK;

    *usage = (struct job_usage){.count = deps->process_count,
                                .ranks = calloc(deps->process_count + 1, sizeof *usage->ranks)};
    if (!usage->ranks)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->process_count; i++)
        usage->ranks[i].rank = deps->ranks[i];
    for (size_t i = 0; i < windows->count && !status; i++) {
        status = add_path(deps, &windows->items[i], usage);
        for (uint32_t k = 0; k < deps->process_count && !status; k++)
            status = add_gpu(deps, &windows->items[i], k, &sweep, &usage->ranks[k]);
    }
    free(sweep.edges);
    return status;
}

void job_usage_free(struct job_usage *usage)
{
    free(usage->ranks);
    *usage = (struct job_usage){0};
}
