/* Segments of threads (segments.c) as iterations, in two ways.
 *
 *     requests   |=====|     |=====|  |=====|      of all threads; each ends with its wait
 *     syncs      |=======|=======|=======|         of one thread; each lasts until the next begins
 *
 * An iteration of `syncs` has as many segments as repeat together, such as two of a program that
 * waits for its loss after each step: base/data/algorithms.h finds how many, series.c where it
 * begins.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/data/storage.h"
#include "reports/iterations/build.h"

#include "base/poison.h"

#define REPEATS 3

static void say_none(struct iterations_finder *finder)
{
    snprintf(finder->none, sizeof finder->none, "no thread waits twice");
}

static bool next_wanted(const struct iterations_finder *finder,
                        struct iterations_segments *segments, struct iterations_segment *segment)
{
    while (iterations_segments_next(segments, segment)) {
        if (!finder->only || range_has_call(finder->only, segment->begin))
            return true;
    }
    return false;
}

/* ---- A thread that is asked for ---- */

enum mp_status iterations_asked_thread(struct iterations_finder *finder, uint32_t *lane)
{
    const char *asked = finder->options->name;
    char text[DEPS_REFUSAL_BYTES];

    *lane = DEPS_NONE;
    if (!asked || finder->options->way == ITERATIONS_AUTO)
        return MP_OK;
    *lane = deps_find_thread(finder->deps, asked);
    if (*lane != DEPS_NONE)
        return MP_OK;
    return mp_error_set(finder->error, MP_ERR_ARGUMENT, "%s",
                        deps_refuse_thread(finder->deps, asked, text));
}

/* ---- Requests ---- */

#define SHARED (MP_MAP_ABSENT - 1)

/* Segments of all threads. */
struct requests {
    struct iterations_finder *finder;
    struct mp_map lanes; /* symbol -> the lane that has it; several: SHARED */
    uint8_t *repeats;    /* by lane: it has two segments in one capture range; owned */
    bool several;        /* some lane does, or some share a symbol */
    const struct capture_range *range; /* of the segment before */
    bool counting;                     /* the first pass */
};

/* A thread that waits once, for work as no other thread's segment has it, serves no request: such
 * as the one that sets up, or that waits for the end. */
static bool serves(const struct requests *requests, uint32_t lane, uint32_t symbol)
{
    return !requests->several || requests->repeats[lane] ||
           mp_map_get(&requests->lanes, symbol) == SHARED;
}

static enum mp_status note_segment(struct requests *requests, uint32_t lane,
                                   const struct iterations_segment *segment, bool first)
{
    const struct capture_range *range =
        ranges_at(&requests->finder->deps->profile->ranges, segment->begin);
    uint32_t before = mp_map_get(&requests->lanes, segment->symbol);
    bool shared = before != MP_MAP_ABSENT && before != lane;

    if (!first && range == requests->range)
        requests->repeats[lane] = 1;
    requests->range = range;
    requests->several |= requests->repeats[lane] || shared;
    return mp_map_put(&requests->lanes, segment->symbol, shared ? SHARED : lane);
}

static enum mp_status take_segment(struct requests *requests, uint32_t lane,
                                   const struct iterations_segment *segment, bool first)
{
    if (requests->counting)
        return note_segment(requests, lane, segment, first);
    if (!serves(requests, lane, segment->symbol))
        return MP_OK;
    return iterations_add(requests->finder, segment->begin, segment->end, segment->end, lane);
}

static enum mp_status each_segment(struct requests *requests, uint32_t asked)
{
    struct iterations_finder *finder = requests->finder;

    for (uint32_t lane = 0; lane < finder->deps->thread_count; lane++) {
        struct iterations_segments segments =
            iterations_segments_of(finder->deps, finder->result->launched, lane);
        struct iterations_segment segment;

        for (bool first = true;
             (asked == DEPS_NONE || asked == lane) && next_wanted(finder, &segments, &segment);
             first = false)
            MP_TRY(take_segment(requests, lane, &segment, first));
    }
    return MP_OK;
}

enum mp_status iterations_by_requests(struct iterations_finder *finder)
{
    const struct iterations_candidate candidate = {.way = ITERATIONS_REQUESTS};
    struct requests requests = {.finder = finder, .counting = true};
    uint32_t asked;

    MP_TRY(iterations_asked_thread(finder, &asked));
    requests.repeats = calloc((size_t)finder->deps->thread_count + 1, sizeof *requests.repeats);
    enum mp_status status = requests.repeats ? each_segment(&requests, asked) : MP_ERR_MEMORY;
    requests.counting = false;
    if (!status)
        status = each_segment(&requests, asked);
    mp_map_free(&requests.lanes);
    free(requests.repeats);
    MP_TRY(status);
    say_none(finder);
    return iterations_offer(finder, &candidate);
}

/* ---- Syncs ---- */

struct waits {
    struct iterations_finder *finder;
    struct iterations_segment *items; /* owned */
    size_t count, capacity;
    uint32_t lane;
    struct iterations_series series;
};

/* The thread that launched most work and waits twice; DEPS_NONE. */
static uint32_t busiest(const struct iterations_finder *finder)
{
    const struct iterations_load *load = &finder->load;
    uint32_t best = DEPS_NONE;
    uint64_t max = 0;

    for (uint32_t i = 0; i < finder->deps->thread_count; i++) {
        const struct deps_lane *lane = &finder->deps->lanes[i];
        uint64_t work = load->sums[lane->first + lane->count] - load->sums[lane->first];

        if (load->independent[i] && (best == DEPS_NONE || work > max)) {
            best = i;
            max = work;
        }
    }
    return best;
}

static enum mp_status list_waits(const struct iterations_finder *finder, uint32_t lane,
                                 struct waits *waits)
{
    struct iterations_segments segments =
        iterations_segments_of(finder->deps, finder->result->launched, lane);
    struct iterations_segment segment;

    while (next_wanted(finder, &segments, &segment)) {
        MP_TRY(MP_RESERVE(waits->items, waits->count, waits->capacity));
        waits->items[waits->count++] = segment;
    }
    return MP_OK;
}

static uint64_t moment_at(const void *context, uint32_t at)
{
    const struct waits *waits = context;

    return waits->items[at].begin;
}

/* Recording may begin in the middle of the first segment, such as inside of a model's pass. */
static bool is_alike(const void *context, uint32_t a, uint32_t b)
{
    const struct waits *waits = context;
    const struct iterations_segments segments =
        iterations_segments_of(waits->finder->deps, waits->finder->result->launched, waits->lane);

    return waits->items[a].symbol == waits->items[b].symbol ||
           (!a && iterations_segments_end_alike(&segments, &waits->items[a], &waits->items[b]));
}

/* Mean time from the end of a segment to the one at this place, ns. */
static double pause_before(const void *context, uint32_t place)
{
    const struct waits *waits = context;
    const struct mp_period *period = &waits->series.period;
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t at = period->first + place; at < period->first + period->count;
         at += period->period) {
        if (!at)
            continue;
        sum += (double)(waits->items[at].begin - waits->items[at - 1].end);
        count++;
    }
    return count ? sum / count : 0;
}

/* Without a period every segment is one, and also where segments differ only in that some do more
 * now and then (segments.c). */
static enum mp_status find_period(struct waits *waits)
{
    struct iterations_series *series = &waits->series;
    bool alike = false;

    *series = (struct iterations_series){
        .finder = waits->finder,
        .symbols = calloc(waits->count + 1, sizeof *series->symbols),
        .count = (uint32_t)waits->count,
        .moment_at = moment_at,
        .is_alike = is_alike,
        .context = waits,
    };
    if (!series->symbols)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < waits->count; i++)
        series->symbols[i] = waits->items[i].symbol;
    MP_TRY(iterations_find_period(series, REPEATS));
    if (series->period.period > 1)
        MP_TRY(iterations_segments_alike(waits->finder, waits->lane, &alike));
    if (alike || !series->period.period) {
        series->period = (struct mp_period){1, 0, series->count};
        series->first = 0;
        series->end = series->count;
    }
    return iterations_find_starts(series, pause_before);
}

static enum mp_status add_waits(struct waits *waits)
{
    const struct iterations_series *series = &waits->series;

    for (size_t i = 0; i < series->start_count; i++) {
        const struct iterations_segment *first = &waits->items[series->starts[i]];
        const struct iterations_segment *last = first + series->period.period - 1;
        uint64_t end = last->end;

        if (iterations_next_start(series, i) != UINT32_MAX &&
            last[1].begin <= iterations_range_end(waits->finder, first->begin))
            end = last[1].begin;
        MP_TRY(iterations_add(waits->finder, first->begin, last->end, end, waits->lane));
    }
    return MP_OK;
}

static enum mp_status offer_syncs(struct waits *waits)
{
    const struct iterations_candidate candidate = {.way = ITERATIONS_SYNCS};

    MP_TRY(list_waits(waits->finder, waits->lane, waits));
    MP_TRY(find_period(waits));
    MP_TRY(add_waits(waits));
    waits->finder->result->period = waits->series.period.period;
    return iterations_offer(waits->finder, &candidate);
}

enum mp_status iterations_by_syncs(struct iterations_finder *finder)
{
    struct waits waits = {.finder = finder};

    say_none(finder);
    MP_TRY(iterations_asked_thread(finder, &waits.lane));
    if (waits.lane == DEPS_NONE)
        waits.lane = busiest(finder);
    if (waits.lane == DEPS_NONE)
        return MP_OK;
    enum mp_status status = offer_syncs(&waits);
    free(waits.items);
    iterations_series_free(&waits.series);
    return status;
}
