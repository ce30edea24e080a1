/* Segments of threads (segments.c) as iterations, in two ways.
 *
 *     requests   |=====|     |=====|  |=====|      of all threads; each ends with its wait
 *     syncs      |=======|=======|=======|         of one thread; each lasts until the next begins
 *
 * An iteration of `syncs` has as many segments as repeat together, such as two of a program that
 * waits for its loss after each step: base/data/period.h finds how many, place.c where it begins.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/iterations/build.h"
#include "base/data/reserve.h"

#include "base/poison.h"

#define REPEATS 3

static void say_none(struct iterations_finder *finder)
{
    snprintf(finder->none, sizeof finder->none, "no thread waits twice");
}

static bool is_wanted(const struct iterations_finder *finder,
                      const struct iterations_segment *segment)
{
    return !finder->only || range_has_call(finder->only, segment->begin);
}

static bool next_wanted(const struct iterations_finder *finder,
                        struct iterations_segments *segments, struct iterations_segment *segment)
{
    while (iterations_segments_next(segments, segment)) {
        if (is_wanted(finder, segment))
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

/* Segments of all threads. */
struct requests {
    struct iterations_finder *finder;
    struct mp_map symbols; /* symbol -> how many segments have it */
    uint32_t *counts;      /* segments by lane; owned */
    size_t several;        /* not 0: some thread waits twice, or two threads for the same */
    bool counting;         /* the first pass */
};

/* A thread that waits once, for work as no other segment has it, serves no request: such as the one
 * that sets up, or that waits for the end. */
static bool serves(const struct requests *requests, uint32_t lane, uint32_t symbol)
{
    return !requests->several || requests->counts[lane] > 1 ||
           mp_map_get(&requests->symbols, symbol) > 1;
}

static enum mp_status take_segment(struct requests *requests, uint32_t lane,
                                   const struct iterations_segment *segment)
{
    uint32_t alike;

    if (!requests->counting)
        return serves(requests, lane, segment->symbol)
                   ? iterations_add(requests->finder, segment->begin, segment->end, segment->end,
                                    lane)
                   : MP_OK;
    alike = mp_map_get(&requests->symbols, segment->symbol);
    requests->counts[lane]++;
    requests->several += requests->counts[lane] == 2 || alike == 1;
    return mp_map_put(&requests->symbols, segment->symbol, alike == MP_MAP_ABSENT ? 1 : alike + 1);
}

static enum mp_status each_segment(struct requests *requests, uint32_t asked)
{
    struct iterations_finder *finder = requests->finder;

    for (uint32_t lane = 0; lane < finder->deps->thread_count; lane++) {
        struct iterations_segments segments =
            iterations_segments_of(finder->deps, finder->result->launched, lane);
        struct iterations_segment segment;

        while ((asked == DEPS_NONE || asked == lane) && next_wanted(finder, &segments, &segment))
            MP_TRY(take_segment(requests, lane, &segment));
    }
    return MP_OK;
}

enum mp_status iterations_by_requests(struct iterations_finder *finder)
{
    const struct iterations_candidate candidate = {.way = ITERATIONS_REQUESTS};
    struct requests requests = {.finder = finder, .counting = true};
    uint32_t asked;
    enum mp_status status;

    MP_TRY(iterations_asked_thread(finder, &asked));
    requests.counts = calloc((size_t)finder->deps->thread_count + 1, sizeof *requests.counts);
    status = requests.counts ? each_segment(&requests, asked) : MP_ERR_MEMORY;
    requests.counting = false;
    if (!status)
        status = each_segment(&requests, asked);
    mp_map_free(&requests.symbols);
    free(requests.counts);
    MP_TRY(status);
    say_none(finder);
    return iterations_offer(finder, &candidate);
}

/* ---- Syncs ---- */

struct waits {
    struct iterations_segment *items; /* owned */
    size_t count, capacity;
    struct mp_period period;
};

/* The thread that launched most work and waits twice; DEPS_NONE. */
static uint32_t busiest(const struct iterations_finder *finder)
{
    const struct iterations_load *load = &finder->load;
    uint32_t best = DEPS_NONE;
    uint64_t most = 0;

    for (uint32_t i = 0; i < finder->deps->thread_count; i++) {
        const struct deps_lane *lane = &finder->deps->lanes[i];
        uint64_t work = load->sums[lane->first + lane->count] - load->sums[lane->first];

        if (load->independent[i] && (best == DEPS_NONE || work > most)) {
            best = i;
            most = work;
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
        MP_TRY(mp_reserve((void **)&waits->items, waits->count, &waits->capacity,
                          sizeof *waits->items));
        waits->items[waits->count++] = segment;
    }
    return MP_OK;
}

/* Recording may begin in the middle of the first segment, such as inside of a model's pass. */
static void widen(const struct iterations_finder *finder, uint32_t lane, struct waits *waits)
{
    const struct iterations_segments segments =
        iterations_segments_of(finder->deps, finder->result->launched, lane);
    struct mp_period *period = &waits->period;

    if (period->first != 1 ||
        !iterations_segments_end_alike(&segments, &waits->items[0], &waits->items[period->period]))
        return;
    period->first = 0;
    period->count++;
}

/* Without a period every segment is one, and also where segments differ only in that some do more
 * now and then (alike.c). */
static enum mp_status find_period(const struct iterations_finder *finder, uint32_t lane,
                                  struct waits *waits)
{
    uint32_t *symbols = calloc(waits->count + 1, sizeof *symbols);
    bool alike = false;
    enum mp_status status;

    if (!symbols)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < waits->count; i++)
        symbols[i] = waits->items[i].symbol;
    status = mp_period_find(symbols, waits->count, REPEATS, &waits->period);
    free(symbols);
    if (!status && waits->period.period > 1)
        status = iterations_segments_alike(finder, lane, &alike);
    if (!status && waits->period.period && !alike)
        widen(finder, lane, waits);
    else
        waits->period = (struct mp_period){1, 0, (uint32_t)waits->count};
    return status;
}

/* Mean time from the end of a segment to the one at this place, ns. */
static double pause_before(const void *context, uint32_t place)
{
    const struct waits *waits = context;
    const struct mp_period *period = &waits->period;
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

static enum mp_status add_waits(struct iterations_finder *finder, const struct waits *waits,
                                uint32_t lane)
{
    const struct mp_period *period = &waits->period;
    uint32_t end = period->first + period->count;
    uint32_t at = period->first + iterations_place(period, waits->count, pause_before, waits);

    for (; at + period->period <= end; at += period->period) {
        uint32_t next = at + period->period;

        MP_TRY(iterations_add(finder, waits->items[at].begin, waits->items[next - 1].end,
                              next < end ? waits->items[next].begin : waits->items[next - 1].end,
                              lane));
    }
    return MP_OK;
}

static enum mp_status offer_syncs(struct iterations_finder *finder, struct waits *waits,
                                  uint32_t lane)
{
    const struct iterations_candidate candidate = {.way = ITERATIONS_SYNCS};

    MP_TRY(list_waits(finder, lane, waits));
    MP_TRY(find_period(finder, lane, waits));
    MP_TRY(add_waits(finder, waits, lane));
    finder->result->period = waits->period.period;
    return iterations_offer(finder, &candidate);
}

enum mp_status iterations_by_syncs(struct iterations_finder *finder)
{
    struct waits waits = {.items = NULL};
    uint32_t lane;
    enum mp_status status;

    say_none(finder);
    MP_TRY(iterations_asked_thread(finder, &lane));
    if (lane == DEPS_NONE)
        lane = busiest(finder);
    if (lane == DEPS_NONE)
        return MP_OK;
    status = offer_syncs(finder, &waits, lane);
    free(waits.items);
    return status;
}
