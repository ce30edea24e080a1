/* A repeating sequence of kernels as iterations, for programs that mark none.
 *
 * The sequence holds the kernels (and whole graphs) of one thread, in order of launch. Candidates
 * are the thread that launched most kernels and, if that one only helps, the one with most of those
 * that wait for their own work: what autograd's thread launches is a part of its iterations.
 *
 * base/data/period.h finds the period of their launch shapes. At first two kernels count as equal
 * only if the thread also copied and waited in the same way since the kernel before. Otherwise
 * identical layers would look like iterations:
 *
 *     HtoD a b a b a b DtoH wait HtoD a b a b a b DtoH wait ...      6 kernels, not 2
 *
 * If there is no such period, waits do not count: a caching allocator, for example, asks for events
 * whenever it likes. If there still is none, only the shapes count. An iteration is one period;
 * place.c says where it begins.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/iterations/build.h"
#include "base/data/reserve.h"
#include "base/data/sort.h"

#include "base/poison.h"

#define REPEATS 3

struct sequence {
    struct iterations_finder *finder;
    uint32_t thread;   /* lane; DEPS_NONE: of kernels without a call */
    uint64_t least;    /* kernels of which the stretch must have half */
    bool by_time;      /* some have no correlation id */
    uint32_t *items;   /* activities; owned */
    uint32_t *symbols; /* of them, as the period was found in; owned */
    uint32_t count;
    struct mp_period period;
    uint32_t *starts; /* of items: where a period begins; owned */
    size_t start_count, start_capacity;
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

    return work->detail == DEPS_NONE ? named | work->name : work->detail;
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

static bool is_alike(const struct sequence *sequence, uint32_t a, uint32_t b)
{
    const struct deps_activity *activities = sequence->finder->deps->activities;

    return symbol(&activities[sequence->items[a]]) == symbol(&activities[sequence->items[b]]);
}

/* Extends the stretch to the items around it by their shapes alone, because nothing is known of
 * what came before the first kernel. */
static void widen(struct sequence *sequence)
{
    struct mp_period *period = &sequence->period;

    while (period->first &&
           is_alike(sequence, period->first - 1, period->first - 1 + period->period)) {
        period->first--;
        period->count++;
    }
    while (period->first + period->count < sequence->count &&
           is_alike(sequence, period->first + period->count,
                    period->first + period->count - period->period))
        period->count++;
}

static enum mp_status find_period(struct sequence *sequence, uint32_t marks)
{
    spell(sequence, marks, sequence->symbols);
    MP_TRY(mp_period_find(sequence->symbols, sequence->count, REPEATS, &sequence->period));
    if (sequence->period.period)
        widen(sequence);
    return MP_OK;
}

/* ---- Where the iterations begin ---- */

static const struct deps_activity *kernel_at(const struct sequence *sequence, uint32_t at)
{
    return &sequence->finder->deps->activities[sequence->items[at]];
}

static uint64_t moment_at(const struct sequence *sequence, uint32_t at)
{
    return deps_launched_at(sequence->finder->deps, kernel_at(sequence, at));
}

/* Mean time from the launch before to the launch at `place` of the period, ns. */
static double mean_gap(const void *context, uint32_t place)
{
    const struct sequence *sequence = context;
    const struct mp_period *period = &sequence->period;
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

    for (uint32_t at = first; at < first + sequence->period.period; at++) {
        const struct deps_activity *work = kernel_at(sequence, at);
        uint64_t call = work->launch == DEPS_NONE ? 0 : iterations_call_end(deps, work->launch);

        if (work->end > end)
            end = work->end;
        if (call > end)
            end = call;
    }
    return end;
}

/* ---- Where a period stands ---- */

static enum mp_status add_start(struct sequence *sequence, uint32_t at)
{
    MP_TRY(mp_reserve((void **)&sequence->starts, sequence->start_count, &sequence->start_capacity,
                      sizeof *sequence->starts));
    sequence->starts[sequence->start_count++] = at;
    return MP_OK;
}

/* The failure function of Knuth, Morris and Pratt (Fast pattern matching in strings, 1977) for the
 * items of a period behind its first one, whose marks say what was before. NULL: no memory. */
static uint32_t *borders_of(const uint32_t *pattern, uint32_t length)
{
    uint32_t *borders = calloc((size_t)length + 1, sizeof *borders);
    uint32_t matched = 0;

    for (uint32_t i = 1; borders && i < length; i++) {
        while (matched && pattern[i] != pattern[matched])
            matched = borders[matched - 1];
        matched += pattern[i] == pattern[matched];
        borders[i] = matched;
    }
    return borders;
}

/* Whole periods from the item `from` up to `to` that are like the one at `model`, the first ones
 * that do not overlap: what came between others does not hide them. */
static enum mp_status add_whole(struct sequence *sequence, uint32_t model, uint32_t from,
                                uint32_t to)
{
    const uint32_t *pattern = &sequence->symbols[model + 1];
    uint32_t length = sequence->period.period - 1;
    uint32_t *borders = borders_of(pattern, length);
    uint32_t matched = 0, free_from = from;
    enum mp_status status = borders ? MP_OK : MP_ERR_MEMORY;

    for (uint32_t i = from; i < to && !status; i++) {
        while (length && matched && (matched == length || sequence->symbols[i] != pattern[matched]))
            matched = borders[matched - 1];
        matched += length && sequence->symbols[i] == pattern[matched];
        if (matched < length || i < free_from + length || !is_alike(sequence, i - length, model))
            continue;
        status = add_start(sequence, i - length);
        free_from = i + 1;
        matched = 0;
    }
    free(borders);
    return status;
}

/* All periods of the stretch, and others before and behind it. */
static enum mp_status find_starts(struct sequence *sequence)
{
    const struct mp_period *period = &sequence->period;
    uint32_t first = period->first + iterations_place(period, sequence->count, mean_gap, sequence);
    uint32_t end = first;

    sequence->start_count = 0;
    if (first + 2 * period->period > period->first + period->count)
        return MP_OK;
    MP_TRY(add_whole(sequence, first + period->period, 0, first));
    for (; end + period->period <= period->first + period->count; end += period->period)
        MP_TRY(add_start(sequence, end));
    return add_whole(sequence, first + period->period, end, sequence->count);
}

/* ---- Iterations ---- */

/* Where the next period begins in the list, or the next kernel; UINT32_MAX: there is none. */
static uint32_t next_of(const struct sequence *sequence, size_t index)
{
    uint32_t next = sequence->starts[index] + sequence->period.period;

    return next < sequence->count ? next : UINT32_MAX;
}

static bool is_followed(const struct sequence *sequence, size_t index)
{
    return index + 1 < sequence->start_count &&
           sequence->starts[index + 1] == next_of(sequence, index);
}

/* Up to the next period, also an incomplete one; or until all has ended and was waited for, but not
 * beyond the next kernel of the thread. */
static uint64_t last_end(const struct sequence *sequence, size_t index, uint64_t begin)
{
    const struct mp_period *period = &sequence->period;
    uint32_t first = sequence->starts[index];
    uint32_t next = next_of(sequence, index);
    const struct deps_activity *last = kernel_at(sequence, first + period->period - 1);
    uint64_t end = period_end(sequence, first);
    uint64_t limit = UINT64_MAX;
    uint64_t awaited;

    if (next != UINT32_MAX)
        limit = iterations_begin(sequence->finder, kernel_at(sequence, next), begin + 1);
    if (is_followed(sequence, index) ||
        (next > period->first && next < period->first + period->count))
        return limit;
    awaited = last->launch == DEPS_NONE
                  ? 0
                  : iterations_awaited(sequence->finder, begin, last->launch, limit);
    end = awaited > end ? awaited : end;
    return limit < end ? limit : end;
}

/* MP_OK without iterations if the periods do not follow each other in time, as when one launch made
 * all of them. */
static enum mp_status add_periods(struct sequence *sequence)
{
    uint32_t length = sequence->period.period;
    struct iterations *result = sequence->finder->result;
    uint64_t before = 0;

    MP_TRY(find_starts(sequence));
    for (size_t i = 0; i < sequence->start_count; i++) {
        uint32_t first = sequence->starts[i];
        uint64_t begin = iterations_begin(sequence->finder, kernel_at(sequence, first), before);

        if (result->count && begin <= result->items[result->count - 1].begin) {
            result->count = 0;
            result->unfinished = 0;
            return MP_OK;
        }
        if (i && is_followed(sequence, i - 1))
            iterations_last_until(sequence->finder, begin);
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
    sequence->symbols = calloc((size_t)sequence->count + 1, sizeof *sequence->symbols);
    if (!sequence->symbols)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < sizeof marks / sizeof *marks && !result->count; i++) {
        MP_TRY(find_period(sequence, marks[i]));
        if (sequence->period.period && (uint64_t)sequence->period.count * 2 >= sequence->least)
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

    if (finder->options->way == ITERATIONS_AUTO && sequence->period.period == 1 &&
        !iterations_are_paced(finder, sequence->thread))
        result->count = 0;
}

static enum mp_status offer_thread(struct iterations_finder *finder, const uint32_t *counts,
                                   uint32_t lane, uint64_t least)
{
    const struct iterations_candidate candidate = {.way = ITERATIONS_KERNELS};
    struct sequence sequence = {
        .finder = finder,
        .thread = lane == finder->deps->thread_count ? DEPS_NONE : lane,
        .count = counts[lane],
        .least = least,
    };
    enum mp_status status = find(&sequence);

    free(sequence.items);
    free(sequence.symbols);
    free(sequence.starts);
    MP_TRY(status);
    drop_single(&sequence);
    return iterations_offer(finder, &candidate);
}

/* A thread that helps does not wait for its work. */
static enum mp_status offer_threads(struct iterations_finder *finder, const uint32_t *counts)
{
    uint32_t most = busiest(finder, counts, false);
    uint32_t waits = busiest(finder, counts, true);
    bool helps = most == finder->deps->thread_count || !finder->load.independent[most];

    MP_TRY(offer_thread(finder, counts, most, finder->result->kernels_all));
    if (!helps || waits == finder->deps->thread_count)
        return MP_OK;
    return offer_thread(finder, counts, waits, counts[waits]);
}

enum mp_status iterations_by_kernels(struct iterations_finder *finder)
{
    enum mp_status status;
    uint32_t *counts;
    uint32_t asked;

    MP_TRY(iterations_asked_thread(finder, &asked));
    counts = count_kernels(finder);
    if (!counts)
        return MP_ERR_MEMORY;
    snprintf(finder->none, sizeof finder->none,
             finder->result->kernels_all
                 ? "no sequence of kernels repeats %d times over half of the %llu"
                 : "no kernels",
             REPEATS, (unsigned long long)finder->result->kernels_all);
    status = asked == DEPS_NONE ? offer_threads(finder, counts)
                                : offer_thread(finder, counts, asked, counts[asked]);
    free(counts);
    return status;
}
