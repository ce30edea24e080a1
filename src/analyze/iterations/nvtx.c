/* NVTX ranges as iterations: which name.
 *
 *     |- epoch ----------------------------------| |- epoch ...     repeats, holds all others
 *       |- iteration -| |- iteration -|                             repeats, but inside of epoch
 *         |- layer -|     |- layer -|
 *
 * Ranges inside of others that repeat are no candidates; of what is left the name with most time
 * wins, if the GPU was given work in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/iterations/build.h"
#include "analyze/nvtx/nvtx.h"
#include "model/nvtx/ranges.h"

#include "base/poison.h"

/* ---- When work was launched ---- */

/* Begins of the calls that launched work, thread by thread, and behind them those of the work whose
 * call is not known; each in order. */
struct moments {
    uint64_t *times;
    uint32_t *first; /* by thread's lane, and thread_count: of the work; and one more: the end */
};

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static uint32_t count_moments(const struct deps *deps, const uint8_t *launched)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < deps->host_count; i++)
        count += launched[i] != 0;
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        count += deps->activities[i].launch == DEPS_NONE;
    return count;
}

static enum mp_status moments_init(struct moments *moments, const struct deps *deps,
                                   const uint8_t *launched)
{
    uint32_t at = 0;

    moments->times = calloc((size_t)count_moments(deps, launched) + 1, sizeof *moments->times);
    moments->first = calloc((size_t)deps->thread_count + 2, sizeof *moments->first);
    if (!moments->times || !moments->first)
        return MP_ERR_MEMORY;
    for (uint32_t lane = 0; lane < deps->thread_count; lane++) {
        uint32_t first = deps->lanes[lane].first;

        moments->first[lane] = at;
        for (uint32_t i = first; i < first + deps->lanes[lane].count; i++) {
            if (launched[i])
                moments->times[at++] = deps->activities[i].begin;
        }
    }
    moments->first[deps->thread_count] = at;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (deps->activities[i].launch == DEPS_NONE)
            moments->times[at++] = deps->activities[i].begin;
    }
    moments->first[deps->thread_count + 1] = at;
    qsort(moments->times + moments->first[deps->thread_count],
          at - moments->first[deps->thread_count], sizeof *moments->times, compare_times);
    return MP_OK;
}

static bool any_in(const struct moments *moments, uint32_t list, const struct nvtx_span *span)
{
    uint32_t low = moments->first[list];
    uint32_t end = moments->first[list + 1];
    uint32_t high = end;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (moments->times[middle] < span->begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && moments->times[low] < span->end;
}

/* ---- Which name ---- */

/* What is known of a name. */
struct candidate {
    uint64_t finished; /* ranges, nested or not */
    uint64_t count;    /* that are in no range that repeats */
    uint64_t total;    /* ns, of these */
    bool has_work;
};

struct choice {
    const struct deps *deps;
    struct nvtx_spans spans;
    struct mp_intern names;
    struct definitions definitions;
    struct quality quality;
    struct moments moments;
    struct mp_map lanes;          /* the trace's number of a thread -> lane */
    struct candidate *candidates; /* by id in names */
    uint8_t *inside;              /* by node: it or one around it repeats */
};

static uint32_t nvtx_name_of(const struct choice *choice, uint32_t node)
{
    return choice->spans.kinds[choice->spans.nodes[node].kind].name;
}

static enum mp_status list_candidates(struct choice *choice)
{
    const struct nvtx_spans *spans = &choice->spans;

    choice->candidates = calloc((size_t)choice->names.count + 1, sizeof *choice->candidates);
    choice->inside = calloc(spans->node_count + 1, sizeof *choice->inside);
    if (!choice->candidates || !choice->inside)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < spans->kind_count; i++) {
        const struct nvtx_kind *kind = &spans->kinds[i];

        choice->candidates[kind->name].finished += kind->instances.calls - kind->unfinished;
    }
    for (uint32_t node = 0; node < spans->node_count; node++) {
        uint32_t parent = spans->nodes[node].parent;

        choice->inside[node] = choice->candidates[nvtx_name_of(choice, node)].finished >= 2 ||
                               (parent != NVTX_NONE && choice->inside[parent]);
    }
    return MP_OK;
}

/* `list` is that of the moments for the span's thread; none has its own list of no calls. */
static void count_span(struct choice *choice, const struct nvtx_span *span, uint32_t list)
{
    uint32_t parent = choice->spans.nodes[span->node].parent;
    struct candidate *candidate = &choice->candidates[nvtx_name_of(choice, span->node)];

    if (candidate->finished < 2 || (parent != NVTX_NONE && choice->inside[parent]))
        return;
    candidate->count++;
    candidate->total += span->end - span->begin;
    if (!candidate->has_work)
        candidate->has_work = (list != MP_MAP_ABSENT && any_in(&choice->moments, list, span)) ||
                              any_in(&choice->moments, choice->deps->thread_count, span);
}

static void count_spans(struct choice *choice)
{
    const struct nvtx_spans *spans = &choice->spans;

    for (size_t i = 0; i < spans->thread_count; i++) {
        const struct nvtx_thread *thread = &spans->threads[i];
        uint32_t list = mp_map_get(&choice->lanes, thread->number);

        for (uint32_t lane = 0; lane < thread->lane_count; lane++) {
            const struct nvtx_lane *nested = &spans->lanes[thread->first_lane + lane];

            for (uint32_t at = nested->first; at < nested->first + nested->count; at++)
                count_span(choice, &spans->spans[at], list);
        }
    }
}

static const char *best_name(const struct choice *choice)
{
    uint32_t best = 0;

    for (uint32_t id = 1; id <= choice->names.count; id++) {
        const struct candidate *candidate = &choice->candidates[id];

        if (candidate->count >= 2 && candidate->has_work &&
            (!best || candidate->total > choice->candidates[best].total))
            best = id;
    }
    return best ? mp_intern_get(&choice->names, best, NULL) : NULL;
}

static void choice_free(struct choice *choice)
{
    nvtx_spans_free(&choice->spans);
    mp_intern_free(&choice->names);
    definitions_free(&choice->definitions);
    quality_free(&choice->quality);
    mp_map_free(&choice->lanes);
    free(choice->moments.times);
    free(choice->moments.first);
    free(choice->candidates);
    free(choice->inside);
}

static enum mp_status map_lanes(const struct deps *deps, struct mp_map *lanes)
{
    for (uint32_t i = 0; i < deps->thread_count; i++)
        MP_TRY(mp_map_put(lanes, deps->lanes[i].id, i));
    return MP_OK;
}

static enum mp_status weigh(struct choice *choice, struct iterations_finder *finder)
{
    const struct nvtx_reading reading = {.range = finder->only,
                                         .names = &choice->names,
                                         .definitions = &choice->definitions,
                                         .quality = &choice->quality};

    MP_TRY(nvtx_spans_load(&choice->spans, finder->trace, &reading, finder->error));
    if (!choice->spans.span_count)
        return MP_OK;
    MP_TRY(map_lanes(finder->deps, &choice->lanes));
    MP_TRY(list_candidates(choice));
    MP_TRY(moments_init(&choice->moments, finder->deps, finder->result->launched));
    count_spans(choice);
    return MP_OK;
}

/* The name in finder->result->name; NULL: none. */
static enum mp_status choose_name(struct iterations_finder *finder)
{
    struct choice choice = {.deps = finder->deps};
    enum mp_status status;
    const char *name = NULL;

    definitions_init(&choice.definitions, finder->trace);
    quality_init(&choice.quality, finder->trace);
    status = weigh(&choice, finder);
    if (!status && choice.spans.span_count)
        name = best_name(&choice);
    snprintf(finder->none, sizeof finder->none,
             choice.spans.span_count ? "no NVTX range repeats and launches GPU work"
                                     : "no NVTX ranges");
    if (name && !status) {
        finder->result->name = strdup(name);
        status = finder->result->name ? MP_OK : MP_ERR_MEMORY;
    }
    choice_free(&choice);
    return status;
}

/* ---- Its ranges ---- */

static void say_none(struct iterations_finder *finder, const struct nvtx_ranges *found)
{
    if (found->count)
        snprintf(finder->none, sizeof finder->none,
                 "no NVTX range of that name begins in the capture range");
    else if (found->unfinished)
        snprintf(finder->none, sizeof finder->none,
                 "no NVTX range of that name ends inside the trace (%zu begin)", found->unfinished);
    else if (*found->others)
        snprintf(finder->none, sizeof finder->none,
                 "there is no NVTX range of that name; there are for example %s", found->others);
    else
        snprintf(finder->none, sizeof finder->none,
                 "there is no NVTX range of that name, nor any other");
}

static enum mp_status add_ranges(struct iterations_finder *finder, const struct nvtx_ranges *found)
{
    struct mp_map lanes = {.slots = NULL};
    enum mp_status status = map_lanes(finder->deps, &lanes);

    for (size_t i = 0; i < found->count && !status; i++) {
        const struct nvtx_range *range = &found->items[i];
        uint32_t lane = mp_map_get(&lanes, range->thread);

        if (!range->begin || (finder->only && !range_has_call(finder->only, range->begin)))
            continue;
        status = iterations_add(finder, range->begin, range->end,
                                lane == MP_MAP_ABSENT ? DEPS_NONE : lane);
    }
    mp_map_free(&lanes);
    return status;
}

enum mp_status iterations_by_nvtx(struct iterations_finder *finder, size_t least)
{
    struct iterations *result = finder->result;
    struct nvtx_ranges found;
    enum mp_status status;

    if (finder->options->name) {
        result->name = strdup(finder->options->name);
        if (!result->name)
            return MP_ERR_MEMORY;
    } else {
        MP_TRY(choose_name(finder));
        if (!result->name)
            return MP_OK;
    }
    MP_TRY(nvtx_ranges_load(&found, finder->trace, &finder->deps->definitions, result->name,
                            finder->error));
    status = add_ranges(finder, &found);
    if (!status && result->count < least)
        result->count = 0;
    if (!status && !result->count)
        say_none(finder, &found);
    result->unfinished = result->count ? found.unfinished : 0;
    nvtx_ranges_free(&found);
    return status;
}
