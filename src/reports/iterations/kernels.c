/* A repeating sequence of kernels as iterations, for programs that mark none.
 *
 * The sequence holds the kernels (and whole graphs) of one thread, in order of launch. Candidates
 * are the thread that launched most kernels and, if that one only helps, the one with most of those
 * that wait for their own work: what autograd's thread launches is a part of its iterations.
 *
 * base/data/algorithms.h finds the period of their launch shapes. At first two kernels count as
 * equal only if the thread also copied and waited in the same way since the kernel before.
 * Otherwise identical layers would look like iterations:
 *
 *     HtoD a b a b a b DtoH wait HtoD a b a b a b DtoH wait ...      6 kernels, not 2
 *
 * If there is no such period, waits do not count: a caching allocator, for example, asks for events
 * whenever it likes. If there still is none, only the shapes count. An iteration is one period;
 * series.c says where it begins.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/text/units.h"
#include "reports/deps/lookup.h"
#include "reports/iterations/build.h"

#include "base/poison.h"

#define REPEATS 3

struct sequence {
    struct iterations_finder *finder;
    uint32_t thread; /* lane; DEPS_NONE: of kernels without a call */
    uint64_t min;    /* kernels of which the periods must have half */
    bool by_time;    /* some have no correlation id */
    uint32_t *items; /* activities; owned */
    uint32_t count;
    struct iterations_series series;
};

static bool is_kernel(const struct iterations_finder *finder, const struct deps_activity *work)
{
    return (work->kind == DEPS_KERNEL || work->kind == DEPS_GRAPH) &&
           iterations_wanted(finder, work);
}

/* ---- Which kernels ---- */

/* Counts kernels by lane; those without a call at last. The caller frees them; NULL: no memory. */
static uint32_t *count_kernels(struct iterations_finder *finder)
{
    const struct deps *deps = finder->deps;
    uint32_t *counts = calloc((size_t)deps->thread_count + 1, sizeof *counts);

    finder->result->kernels_all = 0;
    for (uint32_t i = deps->host_count; counts && i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        uint32_t thread = iterations_thread(deps, work);

        if (!is_kernel(finder, work))
            continue;
        finder->result->kernels_all++;
        counts[thread == DEPS_NONE ? deps->thread_count : thread]++;
    }
    return counts;
}

/* The lane with most kernels; of threads that wait for their own work, if only those are asked for.
 */
static uint32_t busiest(const struct iterations_finder *finder, const uint32_t *counts,
                        bool independent)
{
    uint32_t none = finder->deps->thread_count;
    uint32_t best = none;

    for (uint32_t i = 0; i < none; i++) {
        if ((!independent || finder->load.independent[i]) &&
            counts[i] > (independent && best == none ? 0 : counts[best]))
            best = i;
    }
    return best;
}

static bool is_launched_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sequence *sequence = context;
    const struct deps_activity *x = &sequence->finder->deps->activities[a];
    const struct deps_activity *y = &sequence->finder->deps->activities[b];

    if (!sequence->by_time && x->correlation != y->correlation)
        return x->correlation < y->correlation;
    return x->begin < y->begin;
}

static enum mp_status list_kernels(struct sequence *sequence)
{
    const struct deps *deps = sequence->finder->deps;
    uint32_t *scratch = calloc((size_t)sequence->count + 1, sizeof *scratch);
    uint32_t count = 0;

    sequence->items = calloc((size_t)sequence->count + 1, sizeof *sequence->items);
    if (!scratch || !sequence->items) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (!is_kernel(sequence->finder, work) || iterations_thread(deps, work) != sequence->thread)
            continue;
        sequence->items[count++] = i;
        sequence->by_time |= !work->correlation;
    }
    mp_sort(sequence->items, count, scratch, is_launched_before, sequence);
    free(scratch);
    return MP_OK;
}

/* What two launches of the same kernel have in common: the shape, else the name. */
static uint32_t symbol(const struct deps_activity *work)
{
    static const uint32_t named = 1u << 31;

    return work->shape == DEPS_NONE ? named | work->name : work->shape;
}

/* What a thread did between two of its kernels, as bits above those of the shape's number. */
enum between { COPIED_TO_DEVICE = 1 << 28, COPIED = 1 << 29, WAITED = 1 << 30 };

static uint32_t between(const struct iterations_finder *finder, uint32_t before, uint32_t call)
{
    uint32_t marks = 0;

    for (uint32_t at = before + 1; at < call; at++) {
        uint8_t launched = finder->result->launched[at];

        if (iterations_is_wait(&finder->deps->activities[at]))
            marks |= WAITED;
        if (launched & ITERATIONS_LAUNCHED_HTOD)
            marks |= COPIED_TO_DEVICE;
        if (launched & ITERATIONS_LAUNCHED_COPY)
            marks |= COPIED;
    }
    return marks;
}

static void spell(const struct sequence *sequence, uint32_t marks, uint32_t *symbols)
{
    const struct deps_activity *activities = sequence->finder->deps->activities;
    uint32_t before = DEPS_NONE;

    for (uint32_t i = 0; i < sequence->count; i++) {
        const struct deps_activity *work = &activities[sequence->items[i]];

        symbols[i] = symbol(work);
        if (marks && before != DEPS_NONE && work->launch != DEPS_NONE)
            symbols[i] |= between(sequence->finder, before, work->launch) & marks;
        before = work->launch;
    }
}

static bool is_alike(const void *context, uint32_t a, uint32_t b)
{
    const struct sequence *sequence = context;
    const struct deps_activity *activities = sequence->finder->deps->activities;

    return symbol(&activities[sequence->items[a]]) == symbol(&activities[sequence->items[b]]);
}

/* ---- Where the iterations begin ---- */

static const struct deps_activity *kernel_at(const struct sequence *sequence, uint32_t at)
{
    return &sequence->finder->deps->activities[sequence->items[at]];
}

static uint64_t moment_at(const void *context, uint32_t at)
{
    const struct sequence *sequence = context;

    return deps_launched_at(sequence->finder->deps, kernel_at(sequence, at));
}

/* Mean time from the launch before to the launch at `place` of the period, ns. */
static double mean_gap(const void *context, uint32_t place)
{
    const struct sequence *sequence = context;
    const struct mp_period *period = &sequence->series.period;
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t at = period->first + place; at < period->first + period->count;
         at += period->period) {
        uint64_t before = at ? moment_at(sequence, at - 1) : 0;
        uint64_t here = moment_at(sequence, at);

        if (!at)
            continue;
        sum += here > before ? (double)(here - before) : 0;
        count++;
    }
    return count ? sum / count : 0;
}

/* When the work of the period that begins at `first` has ended, and its calls too. */
static uint64_t period_end(const struct sequence *sequence, uint32_t first)
{
    const struct deps *deps = sequence->finder->deps;
    uint64_t end = 0;

    for (uint32_t at = first; at < first + sequence->series.period.period; at++) {
        const struct deps_activity *work = kernel_at(sequence, at);
        uint64_t call = work->launch == DEPS_NONE ? 0 : iterations_call_end(deps, work->launch);

        end = mp_max(end, work->end);
        if (call > end)
            end = call;
    }
    return end;
}

/* ---- Iterations ---- */

/* Up to the next period in the same capture range, also an incomplete one; or until all has ended
 * and was waited for, but not beyond the next kernel of the thread. */
static uint64_t last_end(struct sequence *sequence, size_t index, uint64_t begin)
{
    const struct iterations_series *series = &sequence->series;
    const struct mp_period *period = &series->period;
    uint32_t first = series->starts[index];
    uint32_t next = first + period->period;
    const struct deps_activity *last = kernel_at(sequence, next - 1);
    uint64_t end = period_end(sequence, first);
    uint64_t limit = UINT64_MAX;

    if (next < sequence->count)
        limit = iterations_begin(sequence->finder, kernel_at(sequence, next), begin + 1);
    if (limit <= iterations_range_end(sequence->finder, begin) &&
        (iterations_next_start(series, index) == next ||
         (next > period->first && next < period->first + period->count)))
        return limit;
    uint64_t awaited = last->launch == DEPS_NONE
                           ? 0
                           : iterations_awaited(sequence->finder, begin, last->launch, limit);
    end = awaited > end ? awaited : end;
    return limit < end ? limit : end;
}

/* MP_OK without iterations if the periods do not follow each other in time, as when one launch made
 * all of them. */
static enum mp_status add_periods(struct sequence *sequence)
{
    struct iterations_series *series = &sequence->series;
    uint32_t length = series->period.period;
    struct iterations *result = sequence->finder->result;
    uint64_t before = 0;

    MP_TRY(iterations_find_starts(series, mean_gap));
    if ((uint64_t)series->start_count * length * 2 < sequence->min)
        return MP_OK;
    for (size_t i = 0; i < series->start_count; i++) {
        uint32_t first = series->starts[i];
        uint64_t begin = iterations_begin(sequence->finder, kernel_at(sequence, first), before);

        if (result->count && begin <= result->items[result->count - 1].begin) {
            result->count = 0;
            result->unfinished = 0;
            return MP_OK;
        }
        MP_TRY(iterations_add(sequence->finder, begin, moment_at(sequence, first + length - 1),
                              last_end(sequence, i, begin), sequence->thread));
        before = moment_at(sequence, first) + 1;
    }
    result->period = length;
    result->kernels = (uint64_t)length * result->count;
    return MP_OK;
}

static enum mp_status find(struct sequence *sequence)
{
    static const uint32_t marks[] = {WAITED | COPIED | COPIED_TO_DEVICE, COPIED | COPIED_TO_DEVICE,
                                     0};
    struct iterations *result = sequence->finder->result;

    if (sequence->count < REPEATS)
        return MP_OK;
    MP_TRY(list_kernels(sequence));
    sequence->series = (struct iterations_series){
        .finder = sequence->finder,
        .symbols = calloc((size_t)sequence->count + 1, sizeof *sequence->series.symbols),
        .count = sequence->count,
        .moment_at = moment_at,
        .is_alike = is_alike,
        .context = sequence,
    };
    if (!sequence->series.symbols)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < sizeof marks / sizeof *marks && !result->count; i++) {
        result->unfinished = 0;
        spell(sequence, marks[i], sequence->series.symbols);
        MP_TRY(iterations_find_period(&sequence->series, REPEATS));
        if (sequence->series.period.period)
            MP_TRY(add_periods(sequence));
    }
    return MP_OK;
}

/* One kernel that is launched again and again, and neither waited for nor given an input: nothing
 * says where an iteration begins. */
static void drop_single(const struct sequence *sequence)
{
    struct iterations_finder *finder = sequence->finder;
    struct iterations *result = finder->result;

    if (finder->options->way == ITERATIONS_AUTO && sequence->series.period.period == 1 &&
        !iterations_are_paced(finder, sequence->thread)) {
        result->count = 0;
        snprintf(finder->none, sizeof finder->none,
                 "one kernel repeats, and no wait and no input says where an iteration begins");
    }
}

static enum mp_status offer_thread(struct iterations_finder *finder, const uint32_t *counts,
                                   uint32_t lane, uint64_t min)
{
    const struct iterations_candidate candidate = {.way = ITERATIONS_KERNELS};
    struct sequence sequence = {
        .finder = finder,
        .thread = lane == finder->deps->thread_count ? DEPS_NONE : lane,
        .count = counts[lane],
        .min = min,
    };
    enum mp_status status = find(&sequence);

    free(sequence.items);
    iterations_series_free(&sequence.series);
    MP_TRY(status);
    drop_single(&sequence);
    return iterations_offer(finder, &candidate);
}

/* A thread that helps does not wait for its work. */
static enum mp_status offer_threads(struct iterations_finder *finder, const uint32_t *counts)
{
    uint32_t max = busiest(finder, counts, false);
    uint32_t waits = busiest(finder, counts, true);
    bool helps = max == finder->deps->thread_count || !finder->load.independent[max];

    MP_TRY(offer_thread(finder, counts, max, finder->result->kernels_all));
    if (!helps || waits == finder->deps->thread_count)
        return MP_OK;
    return offer_thread(finder, counts, waits, counts[waits]);
}

enum mp_status iterations_by_kernels(struct iterations_finder *finder)
{
    uint32_t asked;

    MP_TRY(iterations_asked_thread(finder, &asked));
    uint32_t *counts = count_kernels(finder);
    if (!counts)
        return MP_ERR_MEMORY;
    snprintf(finder->none, sizeof finder->none,
             finder->result->kernels_all
                 ? "no sequence of kernels repeats %d times over half of the %s"
                 : "no kernels",
             REPEATS, mp_count(finder->result->kernels_all).text);
    enum mp_status status = asked == DEPS_NONE ? offer_threads(finder, counts)
                                               : offer_thread(finder, counts, asked, counts[asked]);
    free(counts);
    return status;
}
