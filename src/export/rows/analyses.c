/* What the analyses know of rows: which activity of the event graph a row is, and so to which
 * iteration it belongs and how much of it is on a critical path.
 *
 * Rows that are no activities (NVTX, sync, memory, ...) belong to the last iteration that has begun
 * and whose host part has not ended, of their thread if both are known.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/rows/build.h"

#include "base/data/algorithms.h"
#include "base/text/units.h"
#include "reports/deps/lookup.h"
#include "reports/recording_cost/recording_cost.h"

#include "base/poison.h"

/* ---- Loading ---- */

/* Adds the pieces of a call to its first one. */
static void fold_pieces(const struct deps *deps, uint64_t *critical)
{
    for (uint32_t i = 0; i < deps->host_count; i++) {
        const struct deps_activity *piece = &deps->activities[i];

        if (piece->first_of_call == i)
            continue;
        critical[piece->first_of_call] += critical[i];
        critical[i] = 0;
    }
}

static enum mp_status find_paths(struct export_analyses *analyses)
{
    struct deps_windows windows;
    struct deps_result result;

    analyses->critical = calloc((size_t)analyses->deps.count + 1, sizeof *analyses->critical);
    if (!analyses->critical)
        return MP_ERR_MEMORY;
    MP_TRY(iterations_windows(&analyses->deps, &analyses->iterations, &windows));
    enum mp_status status = deps_result_init(&analyses->deps, &result);
    if (status == MP_OK) {
        for (size_t i = 0; i < windows.count; i++)
            deps_path(&analyses->deps, &windows.items[i], &result, analyses->critical);
        deps_result_free(&result);
        fold_pieces(&analyses->deps, analyses->critical);
    }
    deps_windows_free(&windows);
    return status;
}

/* Notes the last host end up to each iteration, so that a search backwards knows when to stop. */
static enum mp_status note_latest(struct export_rows *rows)
{
    const struct iterations *iterations = &rows->analyses.iterations;
    uint64_t latest = 0;

    rows->latest = calloc(iterations->count + 1, sizeof *rows->latest);
    if (!rows->latest)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < iterations->count; i++) {
        if (iterations->items[i].host_end > latest)
            latest = iterations->items[i].host_end;
        rows->latest[i] = latest;
    }
    return MP_OK;
}

static enum mp_status say_memory(enum mp_status status, struct mp_error *error)
{
    return mp_error_from(error, status, "cannot analyse the trace");
}

static enum mp_status analyse(struct export_rows *rows, struct mp_error *error)
{
    struct export_analyses *analyses = &rows->analyses;
    const struct deps_options graph = {.style = rows->options.style, .fronts = true};
    struct iterations_options how = {.way = ITERATIONS_AUTO};

    if (rows->options.how)
        how = *rows->options.how;
    how.range = rows->options.range;
    MP_TRY(deps_load(rows->trace, &graph, &analyses->deps, error));
    if (quality_gap(&analyses->deps.quality))
        return mp_error_set(error, MP_ERR_UNSUPPORTED, "%s",
                            quality_gap(&analyses->deps.quality)->why);
    MP_TRY(say_memory(recording_cost_lay(&analyses->deps, rows->trace), error));
    MP_TRY(iterations_find(&analyses->deps, rows->trace, &how, &analyses->iterations, error));
    MP_TRY(say_memory(find_paths(analyses), error));
    return say_memory(note_latest(rows), error);
}

static enum mp_status check_iterations(const struct export_rows *rows, struct mp_error *error)
{
    uint64_t last = rows->options.iterations_until;
    size_t count = rows->analyses.iterations.count;

    if (!last)
        return MP_OK;
    if (!rows->analyses.known)
        return mp_error_set(error, MP_ERR_ARGUMENT, "iterations are not known: %s",
                            *rows->analyses.why_not ? rows->analyses.why_not
                                                    : "the analyses are off");
    if (last > count)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "there is no iteration %" PRIu64 "; there %s %s", last,
                            count == 1 ? "is" : "are", mp_count(count).text);
    return MP_OK;
}

enum mp_status export_analyses_load(struct export_rows *rows, struct mp_error *error)
{
    struct mp_error why = {.status = MP_OK};
    enum mp_status status = MP_OK;

    if (rows->options.analyses) {
        status = analyse(rows, &why);
        rows->analyses.known = status == MP_OK;
    }
    if (status == MP_OK)
        return check_iterations(rows, error);
    export_analyses_free(rows);
    if (status == MP_ERR_IO || status == MP_ERR_MEMORY ||
        (rows->options.how && status == MP_ERR_ARGUMENT))
        return mp_error_set(error, status, "%s", why.text);
    memcpy(rows->analyses.why_not, why.text, sizeof rows->analyses.why_not);
    return check_iterations(rows, error);
}

void export_analyses_free(struct export_rows *rows)
{
    iterations_free(&rows->analyses.iterations);
    deps_free(&rows->analyses.deps);
    free(rows->analyses.critical);
    free(rows->latest);
    rows->latest = NULL;
    rows->analyses = (struct export_analyses){.known = false};
}

const struct export_analyses *export_rows_analyses(const struct export_rows *rows)
{
    return &rows->analyses;
}

/* ---- Lanes ---- */

uint32_t export_analyses_thread(const struct export_rows *rows, uint64_t thread)
{
    const struct deps *deps = &rows->analyses.deps;

    for (uint32_t i = 0; rows->analyses.known && i < deps->thread_count; i++) {
        if (deps->lanes[i].id == thread)
            return i;
    }
    return DEPS_NONE;
}

/* A stream whose definition was lost has a lane of no context (reports/deps/count.c). */
uint32_t export_analyses_stream(const struct export_rows *rows, uint64_t row,
                                const struct export_place *place)
{
    const struct deps *deps = &rows->analyses.deps;
    uint64_t context = place ? place->context : UINT32_MAX;
    uint64_t stream = place ? place->stream : row;

    if (!rows->analyses.known)
        return DEPS_NONE;
    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        if (deps->lanes[i].id == stream && deps->lanes[i].context == context)
            return i;
    }
    return DEPS_NONE;
}

/* ---- Activities ---- */

static bool is_activity(const struct deps_activity *activity, const struct export_source *source,
                        const struct export_row *row)
{
    return activity->begin == row->start && activity->kind == source->activity &&
           activity->correlation == row->correlation && !(activity->flags & DEPS_CONTINUED);
}

/* Rows come nearly in the order of their lane, so the next activity is tried first. */
static uint32_t find_activity(const struct export_rows *rows, const struct export_source *source,
                              const struct export_row *row, struct export_lane *known)
{
    const struct deps *deps = &rows->analyses.deps;
    uint32_t at = known->next;

    if (known->lane == DEPS_NONE)
        return DEPS_NONE;
    const struct deps_lane *lane = &deps->lanes[known->lane];
    if (at >= lane->first + lane->count || !is_activity(&deps->activities[at], source, row))
        at = deps_first_from(deps, lane, row->start);
    for (; at < lane->first + lane->count && deps->activities[at].begin == row->start; at++) {
        if (!is_activity(&deps->activities[at], source, row))
            continue;
        known->next = at + 1;
        return at;
    }
    return DEPS_NONE;
}

/* ---- Iterations ---- */

/* Finds an iteration by time and thread: its number, 0 if there is none. */
static uint32_t iteration_at(const struct export_rows *rows, uint64_t time, uint32_t lane)
{
    const struct iterations *iterations = &rows->analyses.iterations;
    size_t low = MP_SEARCH(0, iterations->count, i, iterations->items[i].begin <= time);

    for (; low && rows->latest[low - 1] > time; low--) {
        const struct iteration *iteration = &iterations->items[low - 1];
        bool same =
            iteration->thread == DEPS_NONE || lane == DEPS_NONE || iteration->thread == lane;

        if (same && iteration->host_end > time)
            return (uint32_t)low;
    }
    return 0;
}

bool export_analyses_row(const struct export_rows *rows, const struct export_source *source,
                         struct export_row *row, struct export_lane *lane)
{
    const struct export_options *options = &rows->options;

    row->activity = DEPS_NONE;
    if (!rows->analyses.known)
        return true;
    if (source->activity != DEPS_KINDS && lane)
        row->activity = find_activity(rows, source, row, lane);
    if (row->activity == DEPS_NONE)
        row->iteration = iteration_at(rows, row->start, lane ? lane->lane : DEPS_NONE);
    else if (rows->analyses.iterations.of[row->activity] != DEPS_NONE)
        row->iteration = rows->analyses.iterations.of[row->activity] + 1;
    return !options->iterations_until || (row->iteration >= options->iterations_from &&
                                          row->iteration <= options->iterations_until);
}
