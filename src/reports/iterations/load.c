/* How much GPU work was launched when, and how much of it windows cover.
 *
 *     thread 1   |--- window ---|   a and b are the window's; so is c, if thread 2 never waits for
 *       calls      a    b           its work itself; otherwise it is another thread's business
 *     thread 2        c
 */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "profile/common/statistics.h"
#include "reports/iterations/build.h"

#include "base/poison.h"

/* Windows of a candidate whose work is compared; they lie evenly among all. */
#define COMPARED 4096u

/* ---- Sums ---- */

static bool is_work(const struct deps_activity *activity)
{
    return activity->kind != DEPS_HOST_FUNCTION;
}

/* First the work of each piece, then what lies before it. */
static void add_up(struct iterations_finder *finder)
{
    struct iterations_load *load = &finder->load;
    const struct deps *deps = load->deps;
    uint64_t before = 0;
    bool any = false;

    load->only_lane = DEPS_NONE;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        uint32_t lane = iterations_thread(deps, work);

        if (!is_work(work) || !iterations_wanted(finder, work))
            continue;
        if (load->only_lane != lane)
            load->only_lane = any ? DEPS_NONE : lane;
        any = true;
        load->total += work->end - work->begin;
        if (work->launch != DEPS_NONE)
            load->sums[work->launch] += work->end - work->begin;
    }
    for (uint32_t i = 0; i <= deps->host_count; i++) {
        uint64_t own = load->sums[i];

        load->sums[i] = before;
        before += own;
    }
}

static bool waits_twice(const struct deps *deps, const uint8_t *launched, uint32_t lane)
{
    struct iterations_segments segments = iterations_segments_of(deps, launched, lane);
    struct iterations_segment segment;
    bool once = iterations_segments_next(&segments, &segment);

    return once && iterations_segments_next(&segments, &segment);
}

enum mp_status iterations_load_init(struct iterations_finder *finder)
{
    struct iterations_load *load = &finder->load;
    const struct deps *deps = finder->deps;

    load->deps = deps;
    load->sums = calloc((size_t)deps->host_count + 1, sizeof *load->sums);
    load->independent = calloc((size_t)deps->thread_count + 1, sizeof *load->independent);
    if (!load->sums || !load->independent)
        return MP_ERR_MEMORY;
    for (uint32_t lane = 0; lane < deps->thread_count; lane++)
        load->independent[lane] = waits_twice(deps, finder->result->launched, lane);
    add_up(finder);
    return MP_OK;
}

void iterations_load_free(struct iterations_load *load)
{
    free(load->sums);
    free(load->independent);
    free(load->moments);
    free(load->all);
    free(load->helpers);
    *load = (struct iterations_load){.sums = NULL};
}

/* ---- All threads, in order of time ---- */

static uint64_t work_of(const struct iterations_load *load, uint32_t index)
{
    const struct deps *deps = load->deps;

    if (index < deps->host_count)
        return load->sums[index + 1] - load->sums[index];
    return deps->activities[index].end - deps->activities[index].begin;
}

static bool is_moment(const struct iterations_load *load, uint32_t index)
{
    const struct deps_activity *activity = &load->deps->activities[index];

    if (index < load->deps->host_count)
        return work_of(load, index) != 0;
    return activity->launch == DEPS_NONE && is_work(activity);
}

static void sum_moments(struct iterations_load *load)
{
    const struct deps *deps = load->deps;

    for (uint32_t i = 0; i < load->moment_count; i++) {
        uint32_t index = load->moments[i];
        bool helps = index >= deps->host_count || !load->independent[deps->activities[index].lane];
        uint64_t work = work_of(load, index);

        load->all[i + 1] = load->all[i] + work;
        load->helpers[i + 1] = load->helpers[i] + (helps ? work : 0);
    }
}

static enum mp_status make_moments(struct iterations_load *load)
{
    const struct deps *deps = load->deps;
    uint32_t *scratch;
    uint32_t count = 0;

    if (load->has_moments)
        return MP_OK;
    load->has_moments = true;
    for (uint32_t i = 0; i < deps->count; i++)
        count += is_moment(load, i);
    scratch = calloc((size_t)count + 1, sizeof *scratch);
    load->moments = calloc((size_t)count + 1, sizeof *load->moments);
    load->all = calloc((size_t)count + 1, sizeof *load->all);
    load->helpers = calloc((size_t)count + 1, sizeof *load->helpers);
    if (!scratch || !load->moments || !load->all || !load->helpers) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < deps->count; i++) {
        if (is_moment(load, i))
            load->moments[load->moment_count++] = i;
    }
    mp_sort(load->moments, count, scratch, iterations_begins_before, deps);
    free(scratch);
    sum_moments(load);
    return MP_OK;
}

/* ---- Cursors: times do not run backwards, so the search begins where the last one ended ---- */

struct cursor {
    const struct iterations_load *load;
    const uint32_t *order; /* moments; NULL: the activities of a lane as they stand */
    const uint64_t *sums;  /* work before each item */
    uint32_t at, end;
};

static struct cursor cursor_of_lane(const struct iterations_load *load, uint32_t lane)
{
    const struct deps_lane *of = &load->deps->lanes[lane];

    return (struct cursor){load, NULL, load->sums, of->first, of->first + of->count};
}

static uint64_t time_at(const struct cursor *cursor, uint32_t at)
{
    return cursor->load->deps->activities[cursor->order ? cursor->order[at] : at].begin;
}

/* The work that was launched before `time`. Doubles its steps, then halves them. */
static uint64_t work_until(struct cursor *cursor, uint64_t time)
{
    uint32_t step = 1;
    uint32_t low = cursor->at;

    while (cursor->end - low > step && time_at(cursor, low + step) < time) {
        low += step;
        step *= 2;
    }
    uint32_t high = cursor->end - low > step ? low + step : cursor->end;
    cursor->at = (uint32_t)MP_SEARCH(low, high, i, time_at(cursor, (uint32_t)i) < time);
    return cursor->sums ? cursor->sums[cursor->at] : 0;
}

/* ---- Windows ---- */

MP_COMPARE(by_thread, struct iteration,
           MP_ORDER(a->thread, b->thread) ?: MP_ORDER(a->begin, b->begin));

MP_COMPARE(by_begin, struct iteration, MP_ORDER(a->begin, b->begin));

static void sort(struct iteration *windows, size_t count,
                 int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < count; i++) {
        if (compare(&windows[i - 1], &windows[i]) > 0) {
            qsort(windows, count, sizeof *windows, compare);
            return;
        }
    }
}

struct share {
    struct iterations_load *load;
    struct iteration *windows;
    size_t count;
    bool everywhere;
    uint64_t *values; /* work of the windows that are compared, from their own threads */
    size_t value_count;
};

static bool is_independent(const struct share *share, const struct iteration *window)
{
    return !share->everywhere && window->thread != DEPS_NONE &&
           share->load->independent[window->thread];
}

/* Adds the work of a window as far as no earlier one covers it. */
static uint64_t cover(struct cursor *cursor, const struct iteration *window, uint64_t *to)
{
    uint64_t begin = window->begin > *to ? window->begin : *to;

    if (window->host_end <= begin)
        return 0;
    *to = window->host_end;
    uint64_t before = work_until(cursor, begin);
    return work_until(cursor, window->host_end) - before;
}

static void note_value(struct share *share, size_t index, uint64_t value)
{
    size_t step = share->count / COMPARED + 1;

    if (index % step == 0 && share->value_count < COMPARED)
        share->values[share->value_count++] = value;
}

/* What independent threads launch in their own windows. */
static uint64_t cover_own(struct share *share)
{
    struct cursor cursor = {.load = NULL};
    uint32_t thread = DEPS_NONE;
    uint64_t covered = 0;
    uint64_t to = 0;

    for (size_t i = 0; i < share->count; i++) {
        const struct iteration *window = &share->windows[i];

        if (!is_independent(share, window))
            continue;
        if (window->thread != thread) {
            thread = window->thread;
            cursor = cursor_of_lane(share->load, thread);
            to = 0;
        }
        uint64_t work = cover(&cursor, window, &to);
        covered += work;
        note_value(share, i, work);
    }
    return covered;
}

/* What all threads, or all helpers, launch in the windows of other threads, or of independent ones.
 */
static uint64_t cover_others(struct share *share, bool independent)
{
    const struct iterations_load *load = share->load;
    struct cursor cursor = {load, load->moments, independent ? load->helpers : load->all, 0,
                            load->moment_count};
    uint64_t covered = 0;
    uint64_t to = 0;

    if (!load->has_moments)
        cursor = cursor_of_lane(load, load->only_lane);
    for (size_t i = 0; i < share->count; i++) {
        const struct iteration *window = &share->windows[i];

        if (is_independent(share, window) != independent)
            continue;
        uint64_t work = cover(&cursor, window, &to);
        covered += work;
        if (!independent)
            note_value(share, i, work);
    }
    return covered;
}

/* 1 minus the mean distance from the median, in medians, none counted for more than one. */
static double regularity_of(uint64_t *values, size_t count)
{
    double median = (double)statistics_of(values, count).p50;
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        double value = (double)values[i];
        double far = value > median ? value - median : median - value;

        sum += far < median ? far / median : 1;
    }
    return count && median > 0 ? 1 - sum / (double)count : 0;
}

/* Work that was launched from the begin of the first window to the end of the last. */
static uint64_t work_around(const struct share *share)
{
    const struct iterations_load *load = share->load;
    struct cursor cursor = {load, load->moments, load->all, 0, load->moment_count};
    uint64_t last = 0, before;

    if (!load->has_moments)
        cursor = cursor_of_lane(load, load->only_lane);
    for (size_t i = 0; i < share->count; i++)
        last = share->windows[i].host_end > last ? share->windows[i].host_end : last;
    before = work_until(&cursor, share->windows[0].begin);
    return work_until(&cursor, last) - before;
}

static enum mp_status measure_share(struct share *share, struct iterations_candidate *candidate)
{
    struct iterations_load *load = share->load;
    bool one = load->only_lane != DEPS_NONE;

    sort(share->windows, share->count, by_thread);
    uint64_t covered = cover_own(share);
    if (!one)
        MP_TRY(make_moments(load));
    sort(share->windows, share->count, by_begin);
    if (!one || !load->independent[load->only_lane])
        covered += cover_others(share, true);
    covered += cover_others(share, false);
    if (covered > load->total)
        covered = load->total;
    uint64_t around = work_around(share);
    candidate->coverage = (double)covered / (double)load->total;
    candidate->coverage_of_time = covered < around ? (double)covered / (double)around : 1;
    candidate->regularity = regularity_of(share->values, share->value_count);
    return MP_OK;
}

enum mp_status iterations_load_share(struct iterations_load *load, struct iteration *windows,
                                     size_t count, bool everywhere,
                                     struct iterations_candidate *candidate)
{
    struct share share = {
        .load = load, .windows = windows, .count = count, .everywhere = everywhere};

    candidate->coverage = candidate->coverage_of_time = candidate->regularity = 0;
    if (!load->total || !count)
        return MP_OK;
    share.values = calloc(COMPARED, sizeof *share.values);
    if (!share.values)
        return MP_ERR_MEMORY;
    enum mp_status status = measure_share(&share, candidate);
    free(share.values);
    return status;
}
