/* Chooses how iterations are found. Without an order from the user all ways offer what they find,
 * and the candidate with the best score wins; a way that cannot win any more is not tried. If
 * nothing repeats, the whole trace is one iteration.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/units.h"
#include "reports/deps/lookup.h"
#include "reports/iterations/build.h"

#include "base/poison.h"

const char *iterations_way_key(enum iterations_way way)
{
    static const char *const keys[ITERATIONS_WAYS] = {
        [ITERATIONS_AUTO] = "auto",         [ITERATIONS_NVTX] = "nvtx",
        [ITERATIONS_RANGES] = "range",      [ITERATIONS_GRAPH] = "graph",
        [ITERATIONS_KERNELS] = "kernels",   [ITERATIONS_SYNCS] = "syncs",
        [ITERATIONS_REQUESTS] = "requests", [ITERATIONS_WHOLE] = "whole",
    };

    return keys[way];
}

/* ---- Capture ranges, the whole trace ---- */

static enum mp_status add_windows(struct iterations_finder *finder)
{
    struct deps_windows windows;

    MP_TRY(deps_windows_ranges(finder->deps, finder->options->range, &windows, finder->error));
    enum mp_status status = MP_OK;
    for (size_t i = 0; i < windows.count && !status; i++) {
        const struct deps_window *window = &windows.items[i];

        status = iterations_add(finder, window->begin, window->begin, window->host_end,
                                deps_window_thread(finder->deps, window));
    }
    deps_windows_free(&windows);
    return status;
}

static enum mp_status by_ranges(struct iterations_finder *finder)
{
    const struct iterations_candidate candidate = {.way = ITERATIONS_RANGES};
    size_t count = ranges_count(&finder->deps->profile->ranges);

    if (ranges_have_pauses(&finder->deps->profile->ranges)) {
        snprintf(finder->none, sizeof finder->none, "capture ranges are blocks of --baseline");
        return MP_OK;
    }
    if (count && finder->only)
        count = 1;
    if (!count || count < finder->min) {
        snprintf(finder->none, sizeof finder->none,
                 count ? "one capture range" : "no capture ranges");
        return MP_OK;
    }
    MP_TRY(add_windows(finder));
    return iterations_offer(finder, &candidate);
}

/* ---- Which way ---- */

static enum mp_status run_way(struct iterations_finder *finder, enum iterations_way way)
{
    switch (way) {
    case ITERATIONS_NVTX:
        return iterations_by_nvtx(finder);
    case ITERATIONS_RANGES:
        return by_ranges(finder);
    case ITERATIONS_GRAPH:
        return iterations_by_graph(finder);
    case ITERATIONS_KERNELS:
        return iterations_by_kernels(finder);
    case ITERATIONS_SYNCS:
        return iterations_by_syncs(finder);
    case ITERATIONS_REQUESTS:
        return iterations_by_requests(finder);
    case ITERATIONS_AUTO:
    case ITERATIONS_WHOLE:
    case ITERATIONS_WAYS:
    default:
        return MP_ERR_ARGUMENT;
    }
}

static void note_why_not(struct iterations_finder *finder)
{
    char *text = finder->result->why_whole;
    size_t used = strlen(text);

    if (!strstr(text, finder->none))
        snprintf(text + used, ITERATIONS_WHY_BYTES - used, "%s%s", used ? "; " : "", finder->none);
}

static enum mp_status take_whole(struct iterations_finder *finder)
{
    finder->result->way = ITERATIONS_WHOLE;
    return add_windows(finder);
}

/* Of a name that was found all ranges count, also those inside of others. */
static enum mp_status take_candidate(struct iterations_finder *finder)
{
    struct iterations *result = finder->result;

    if (result->way != ITERATIONS_NVTX || finder->options->name)
        return MP_OK;
    result->count = 0;
    return iterations_nvtx_ranges(finder, result->name, result->domain ? result->domain : "");
}

/* Kernels come before graphs, because a graph may be a part of what they show (candidates.c). */
static enum mp_status run_auto(struct iterations_finder *finder)
{
    static const enum iterations_way ways[] = {ITERATIONS_NVTX,    ITERATIONS_RANGES,
                                               ITERATIONS_KERNELS, ITERATIONS_GRAPH,
                                               ITERATIONS_SYNCS,   ITERATIONS_REQUESTS};
    struct iterations *result = finder->result;

    result->found = true;
    finder->min = 2;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        size_t before = result->candidate_count + result->candidates_left;
        bool late = finder->best_facts.score >= iterations_favour(ways[i]) &&
                    finder->best_facts.way != ITERATIONS_RANGES; /* they may be phases */

        if (late && !finder->options->all)
            continue;
        MP_TRY(run_way(finder, ways[i]));
        if (result->candidate_count + result->candidates_left == before)
            note_why_not(finder);
    }
    return iterations_take_best(finder) ? take_candidate(finder) : take_whole(finder);
}

/* Says why there is no iteration and, if it fits, what the trace has for other ways. */
static enum mp_status say_none(struct iterations_finder *finder)
{
    const struct deps *deps = finder->deps;
    size_t ranges = ranges_count(&deps->profile->ranges);
    char has[128];

    snprintf(has, sizeof has, "; the trace has %s capture range%s, %s kernels and copies",
             mp_count(ranges).text, ranges == 1 ? "" : "s",
             mp_count(deps->count - deps->host_count).text);
    if (strlen(finder->none) + strlen(has) >= MP_ERROR_TEXT_BYTES)
        *has = '\0';
    return mp_error_set(finder->error, MP_ERR_ARGUMENT, "%s%s", finder->none, has);
}

static enum mp_status iterations_run(struct iterations_finder *finder)
{
    const struct iterations_options *options = finder->options;

    MP_TRY(iterations_note_launches(finder->deps, finder->result));
    MP_TRY(iterations_load_init(finder));
    if (options->way == ITERATIONS_AUTO)
        return run_auto(finder);
    if (options->way == ITERATIONS_WHOLE)
        return take_whole(finder);
    finder->min = 1;
    MP_TRY(run_way(finder, options->way));
    return iterations_take_best(finder) ? take_candidate(finder) : say_none(finder);
}

MP_COMPARE(compare_iterations, struct iteration,
           MP_ORDER(a->begin, b->begin) ?: MP_ORDER(a->host_end, b->host_end) ?:
           MP_ORDER(a->thread, b->thread));

static void finder_free(struct iterations_finder *finder)
{
    iterations_load_free(&finder->load);
    free(finder->best);
    free(finder->best_facts.name);
    free(finder->best_facts.domain);
}

enum mp_status iterations_find(const struct deps *deps, struct mp_trace *trace,
                               const struct iterations_options *options,
                               struct iterations *iterations, struct mp_error *error)
{
    struct mp_error own = {.status = MP_OK};
    struct iterations_finder finder = {
        .deps = deps, .trace = trace, .options = options, .result = iterations, .error = &own};

    *iterations = (struct iterations){.count = 0};
    enum mp_status status =
        ranges_choose(&deps->profile->ranges, options->range, &finder.only, &own);
    if (!status)
        status = iterations_run(&finder);
    if (!status) {
        qsort(iterations->items, iterations->count, sizeof *iterations->items, compare_iterations);
        status = iterations_assign(&finder);
    }
    finder_free(&finder);
    if (!status)
        return MP_OK;
    iterations_free(iterations);
    if (!own.status)
        mp_error_set(&own, status, "cannot analyse the trace: %s", mp_status_name(status));
    if (error)
        *error = own;
    return status;
}

void iterations_free(struct iterations *iterations)
{
    free(iterations->items);
    free(iterations->of);
    free(iterations->launched);
    free(iterations->device_slots);
    free(iterations->name);
    free(iterations->domain);
    iterations_candidates_free(iterations->candidates, iterations->candidate_count);
    *iterations = (struct iterations){.count = 0};
}

/* ---- Finding and measuring in one call ---- */

enum mp_status iterations_study_of(const struct deps *deps, struct iterations_study *study)
{
    study->measures = calloc(study->iterations.count + 1, sizeof *study->measures);
    if (!study->measures)
        return MP_ERR_MEMORY;
    MP_TRY(iterations_measure(deps, &study->iterations, study->measures));
    MP_TRY(iterations_sum_up(deps, &study->iterations, study->measures, &study->summary));
    return iterations_by_thread(deps, &study->iterations, study->measures, &study->threads);
}

enum mp_status iterations_study(const struct deps *deps, struct mp_trace *trace,
                                const struct iterations_options *options,
                                struct iterations_study *study, struct mp_error *error)
{
    *study = (struct iterations_study){.measures = NULL};
    MP_TRY(iterations_find(deps, trace, options, &study->iterations, error));
    enum mp_status status = iterations_study_of(deps, study);
    return mp_error_from(error, status, "cannot measure iterations");
}

void iterations_study_free(struct iterations_study *study)
{
    iterations_summary_free(&study->summary);
    free(study->measures);
    free(study->threads);
    iterations_free(&study->iterations);
    *study = (struct iterations_study){.measures = NULL};
}
