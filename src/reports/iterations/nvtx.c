/* NVTX ranges as iterations: which names.
 *
 *     |- epoch ----------------------------------| |- epoch ...     repeats, holds all others
 *       |- iteration -| |- iteration -|                             repeats, but inside of epoch
 *         |- layer -|     |- layer -|
 *
 * The ranges of a name in a domain are a candidate, as far as they are not inside of others that
 * repeat. Ranges of libraries count for nothing there, and are listed without competing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/units.h"
#include "profile/nvtx/ranges.h"
#include "reports/iterations/build.h"
#include "reports/nvtx/nvtx.h"

#include "base/poison.h"

/* ---- Which names ---- */

/* What is known of a name in a domain. */
struct label {
    uint32_t name; /* of names */
    uint32_t domain;
    uint64_t finished; /* ranges, nested or not */
    uint32_t first;    /* in `order`: those in no range that repeats */
    uint32_t count;
    bool library;
};

struct choice {
    struct iterations_finder *finder;
    struct nvtx_spans spans;
    struct mp_intern names;
    struct mp_map lanes;  /* the trace's number of a thread -> lane */
    struct mp_map by_key; /* domain and name -> labels */
    struct label *labels;
    uint32_t label_count;
    uint32_t *of_kind; /* labels */
    uint8_t *inside;   /* by node: it or one around it repeats */
    uint32_t *order;   /* spans, label by label */
    uint32_t *threads; /* by span in `order`: lane */
};

static uint32_t label_of(const struct choice *choice, uint32_t node)
{
    return choice->of_kind[choice->spans.nodes[node].kind];
}

static enum mp_status list_labels(struct choice *choice)
{
    const struct nvtx_spans *spans = &choice->spans;

    choice->labels = calloc(spans->kind_count + 1, sizeof *choice->labels);
    choice->of_kind = calloc(spans->kind_count + 1, sizeof *choice->of_kind);
    if (!choice->labels || !choice->of_kind)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < spans->kind_count; i++) {
        const struct nvtx_kind *kind = &spans->kinds[i];
        uint64_t key = (uint64_t)kind->domain << 32 | kind->name;
        uint32_t at = mp_map_get(&choice->by_key, key);

        if (at == MP_MAP_ABSENT) {
            const char *domain =
                kind->domain ? mp_intern_get(&choice->names, kind->domain, NULL) : NULL;

            at = choice->label_count++;
            choice->labels[at] = (struct label){.name = kind->name,
                                                .domain = kind->domain,
                                                .library = iterations_library_domain(domain)};
            MP_TRY(mp_map_put(&choice->by_key, key, at));
        }
        choice->of_kind[i] = at;
        choice->labels[at].finished += kind->instances.calls - kind->unfinished - kind->cut;
    }
    return MP_OK;
}

/* Nodes stand behind those around them. */
static enum mp_status mark_inside(struct choice *choice)
{
    const struct nvtx_spans *spans = &choice->spans;

    choice->inside = calloc(spans->node_count + 1, sizeof *choice->inside);
    if (!choice->inside)
        return MP_ERR_MEMORY;
    for (uint32_t node = 0; node < spans->node_count; node++) {
        const struct label *label = &choice->labels[label_of(choice, node)];
        uint32_t parent = spans->nodes[node].parent;

        choice->inside[node] = (label->finished >= 2 && !label->library) ||
                               (parent != NVTX_NONE && choice->inside[parent]);
    }
    return MP_OK;
}

/* Whether it repeats and is in no other that does. */
static bool counts(const struct choice *choice, const struct nvtx_span *span)
{
    const struct nvtx_node *node = &choice->spans.nodes[span->node];

    return choice->labels[choice->of_kind[node->kind]].finished >= 2 &&
           (node->parent == NVTX_NONE || !choice->inside[node->parent]);
}

/* A counting sort. */
static enum mp_status order_spans(struct choice *choice)
{
    const struct nvtx_spans *spans = &choice->spans;
    uint32_t at = 0;

    choice->order = calloc(spans->span_count + 1, sizeof *choice->order);
    choice->threads = calloc(spans->span_count + 1, sizeof *choice->threads);
    if (!choice->order || !choice->threads)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < spans->span_count; i++)
        choice->labels[label_of(choice, spans->spans[i].node)].count +=
            counts(choice, &spans->spans[i]);
    for (uint32_t i = 0; i < choice->label_count; i++) {
        choice->labels[i].first = at;
        at += choice->labels[i].count;
        choice->labels[i].count = 0;
    }
    return MP_OK;
}

static void put_span(struct choice *choice, uint32_t index, uint32_t lane)
{
    const struct nvtx_span *span = &choice->spans.spans[index];
    struct label *label = &choice->labels[label_of(choice, span->node)];

    if (!counts(choice, span))
        return;
    choice->order[label->first + label->count] = index;
    choice->threads[label->first + label->count] = span->across ? DEPS_NONE : lane;
    label->count++;
}

static void put_spans(struct choice *choice)
{
    const struct nvtx_spans *spans = &choice->spans;

    for (size_t i = 0; i < spans->thread_count; i++) {
        const struct nvtx_thread *thread = &spans->threads[i];
        uint32_t lane = mp_map_get(&choice->lanes, thread->number);

        lane = lane == MP_MAP_ABSENT ? DEPS_NONE : lane;
        for (uint32_t at = 0; at < thread->lane_count; at++) {
            const struct nvtx_lane *nested = &spans->lanes[thread->first_lane + at];

            for (uint32_t span = nested->first; span < nested->first + nested->count; span++)
                put_span(choice, span, lane);
        }
    }
}

static enum mp_status offer_label(const struct choice *choice, const struct label *label)
{
    struct iterations_finder *finder = choice->finder;
    const struct nvtx_spans *spans = &choice->spans;
    struct iterations_candidate candidate = {
        .way = ITERATIONS_NVTX,
        .library = label->library,
        /* Copied when it is kept. */
        .name = (char *)(uintptr_t)mp_intern_get(&choice->names, label->name, NULL),
        .domain = label->domain
                      ? (char *)(uintptr_t)mp_intern_get(&choice->names, label->domain, NULL)
                      : NULL,
    };

    for (uint32_t at = label->first; at < label->first + label->count; at++) {
        const struct nvtx_span *span = &spans->spans[choice->order[at]];

        MP_TRY(iterations_add(finder, span->begin, span->end, span->end, choice->threads[at]));
    }
    return iterations_offer(finder, &candidate);
}

static void choice_free(struct choice *choice)
{
    nvtx_spans_free(&choice->spans);
    mp_intern_free(&choice->names);
    mp_map_free(&choice->lanes);
    mp_map_free(&choice->by_key);
    free(choice->labels);
    free(choice->of_kind);
    free(choice->inside);
    free(choice->order);
    free(choice->threads);
}

static enum mp_status map_lanes(const struct deps *deps, struct mp_map *lanes)
{
    for (uint32_t i = 0; i < deps->thread_count; i++)
        MP_TRY(mp_map_put(lanes, deps->lanes[i].id, i));
    return MP_OK;
}

static enum mp_status offer_each(const struct choice *choice)
{
    const struct label *label = choice->labels;

    for (uint32_t i = 0; i < choice->label_count; i++, label++)
        MP_TRY(offer_label(choice, label));
    return MP_OK;
}

static enum mp_status offer_labels(struct choice *choice)
{
    struct iterations_finder *finder = choice->finder;
    const struct nvtx_reading reading = {.range = finder->only, .names = &choice->names};

    MP_TRY(nvtx_spans_load(&choice->spans, finder->deps->profile, &reading, finder->error));
    if (!choice->spans.span_count)
        return MP_OK;
    MP_TRY(map_lanes(finder->deps, &choice->lanes));
    MP_TRY(list_labels(choice));
    MP_TRY(mark_inside(choice));
    MP_TRY(order_spans(choice));
    put_spans(choice);
    return offer_each(choice);
}

static enum mp_status offer_names(struct iterations_finder *finder)
{
    struct choice choice = {.finder = finder};
    size_t min = finder->min;

    finder->min = 2;
    enum mp_status status = offer_labels(&choice);
    finder->min = min;
    snprintf(finder->none, sizeof finder->none,
             choice.spans.span_count ? "no NVTX range repeats and launches GPU work"
                                     : "no NVTX ranges");
    choice_free(&choice);
    return status;
}

/* ---- The ranges of one name ---- */

static void say_none(struct iterations_finder *finder, const struct nvtx_ranges *found,
                     const char *name)
{
    char *text = finder->none;
    size_t size = sizeof finder->none;

    if (found->count)
        snprintf(text, size, "no NVTX range '%.40s' begins in the capture range", name);
    else if (found->unfinished)
        snprintf(text, size, "no NVTX range '%.40s' ends inside the trace (%s begin)", name,
                 mp_count(found->unfinished).text);
    else if (*found->others)
        snprintf(text, size, "there is no NVTX range '%.40s'; there are for example %s", name,
                 found->others);
    else
        snprintf(text, size, "there is no NVTX range '%.40s', nor any other", name);
}

static bool is_in_domain(const struct iterations_finder *finder, const struct nvtx_range *range,
                         const char *domain)
{
    const char *text;

    if (!domain)
        return true;
    text =
        range->domain ? definitions_text(&finder->deps->profile->definitions, range->domain) : "";
    return text && !strcmp(text, domain);
}

static enum mp_status add_ranges(struct iterations_finder *finder, const struct nvtx_ranges *found,
                                 const char *domain)
{
    struct mp_map lanes = {.slots = NULL};
    enum mp_status status = map_lanes(finder->deps, &lanes);

    for (size_t i = 0; i < found->count && !status; i++) {
        const struct nvtx_range *range = &found->items[i];
        uint32_t lane = mp_map_get(&lanes, range->thread);

        if (!range->begin || (finder->only && !range_has_call(finder->only, range->begin)) ||
            !is_in_domain(finder, range, domain))
            continue;
        status = iterations_add(finder, range->begin, range->end, range->end,
                                lane == MP_MAP_ABSENT || range->across ? DEPS_NONE : lane);
    }
    mp_map_free(&lanes);
    return status;
}

enum mp_status iterations_nvtx_ranges(struct iterations_finder *finder, const char *name,
                                      const char *domain)
{
    struct iterations *result = finder->result;
    struct nvtx_ranges found;

    MP_TRY(nvtx_ranges_load(&found, finder->trace, &finder->deps->profile->definitions, name,
                            finder->error));
    enum mp_status status = add_ranges(finder, &found, domain);
    if (!status && !result->count)
        say_none(finder, &found, name);
    result->unfinished = result->count ? result->unfinished + found.unfinished : 0;
    nvtx_ranges_free(&found);
    return status;
}

/* NAME@DOMAIN, if no range has all of that as its name. */
static enum mp_status in_domain(struct iterations_finder *finder, const char *text)
{
    const char *at = strrchr(text, '@');
    char *name = at ? strndup(text, (size_t)(at - text)) : NULL;
    char none[sizeof finder->none];

    if (!at)
        return MP_OK;
    if (!name)
        return MP_ERR_MEMORY;
    memcpy(none, finder->none, sizeof none);
    enum mp_status status = iterations_nvtx_ranges(finder, name, at + 1);
    if (!finder->result->count)
        memcpy(finder->none, none, sizeof none);
    free(name);
    return status;
}

static enum mp_status offer_asked(struct iterations_finder *finder, const char *text)
{
    struct iterations_candidate candidate = {.way = ITERATIONS_NVTX};
    const char *at = strrchr(text, '@');

    MP_TRY(iterations_nvtx_ranges(finder, text, NULL));
    char *name = strdup(text);
    if (!name)
        return MP_ERR_MEMORY;
    enum mp_status status = MP_OK;
    if (!finder->result->count) {
        status = in_domain(finder, text);
        if (at && finder->result->count)
            name[at - text] = '\0';
        candidate.domain = at ? name + (at - text) + 1 : NULL;
    }
    candidate.name = name;
    if (!status)
        status = iterations_offer(finder, &candidate);
    free(name);
    return status;
}

enum mp_status iterations_by_nvtx(struct iterations_finder *finder)
{
    if (finder->options->way == ITERATIONS_NVTX && finder->options->name)
        return offer_asked(finder, finder->options->name);
    return offer_names(finder);
}
