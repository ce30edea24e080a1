/* The time line on files whose checksums fit, whatever they say: the events of a track never
 * overlap, groups hold what their events do, and all of it can be packed.
 */
#include "mutate.h"
#include "walk.h"

#include "page/page.h"
#include "page/timeline.h"
#include "page/timeline/timeline.h"

#define MAX_ROWS   20000 /* of a trace; bounds the time of one input */
#define FEW_EVENTS 7

static void expect_tracks(const struct timeline *timeline)
{
    size_t events = 0;

    for (size_t i = 0; i < timeline->track_count; i++) {
        const struct timeline_track *track = &timeline->tracks[i];
        const struct timeline_event *at = timeline->events + track->first;

        expect(track->first == events && track->count && track->lane < timeline->lane_count);
        for (uint32_t event = 0; event < track->count; event++) {
            expect(at[event].kind < timeline->kind_count);
            expect(at[event].begin >= timeline->origin);
            expect(at[event].begin + at[event].duration <= timeline->end);
            expect(!event || at[event - 1].begin + at[event - 1].duration <= at[event].begin);
        }
        events += track->count;
    }
    expect(events == timeline->event_count);
}

static void expect_busy(const struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->lane_count && i < FEW_EVENTS; i++) {
        uint64_t all, kernels;

        expect(timeline_busy(timeline, timeline->lanes[i].device, UINT32_MAX, &all) == MP_OK);
        expect(timeline_busy(timeline, timeline->lanes[i].device, 1u << DEPS_KERNEL, &kernels) ==
               MP_OK);
        expect(kernels <= all && all <= timeline->end - timeline->origin);
    }
}

static uint64_t *critical_of(const struct deps *deps)
{
    uint64_t *critical = calloc(deps->count + (size_t)1, sizeof *critical);
    struct deps_windows windows;
    struct deps_result result;

    expect(deps_windows_ranges(deps, 0, &windows, NULL) == MP_OK);
    expect(deps_result_init(deps, &result) == MP_OK);
    for (size_t i = 0; i < windows.count && i < FEW_EVENTS; i++)
        deps_path(deps, &windows.items[i], &result, critical);
    deps_result_free(&result);
    deps_windows_free(&windows);
    return critical;
}

/* A page must not have them but in its own tags. */
static void expect_document(const struct timeline *timeline, const struct html_kinds *kinds)
{
    char *text = NULL, *escaped = NULL;
    size_t bytes = 0, escaped_bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    html_timeline_json(out, timeline, kinds);
    fclose(out);
    out = open_memstream(&escaped, &escaped_bytes);
    html_put_json(out, text, bytes);
    fclose(out);
    expect(!strpbrk(escaped, "<>&"));
    free(escaped);
    free(text);
}

static void expect_packed(const struct timeline *timeline, const struct deps *deps)
{
    uint64_t *critical = critical_of(deps);
    struct mp_buffer blob = {.data = NULL};
    struct html_kinds kinds;

    expect(html_kinds_build(&kinds, timeline) == MP_OK);
    expect(html_timeline_pack(&blob, timeline, deps, &kinds, critical) == MP_OK);
    expect(blob.size >= 3 * timeline->event_count);
    expect_document(timeline, &kinds);
    html_kinds_free(&kinds);
    mp_buffer_free(&blob);
    free(critical);
}

static void expect_timeline(struct mp_trace *trace, struct deps *deps, uint64_t max)
{
    struct timeline_options options = {.max = max};
    struct timeline timeline;
    struct mp_error error;
    enum mp_status status = timeline_build(&timeline, trace, deps, &options, &error);

    if (status != MP_OK) {
        expect(status != MP_ERR_MEMORY && !timeline.events && !timeline.event_count);
        return;
    }
    expect(timeline.event_count <= max);
    expect_tracks(&timeline);
    expect_busy(&timeline);
    expect_packed(&timeline, deps);
    timeline_free(&timeline);
}

/* ---- The fuzzer ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_trace *trace = walk_open(data, size, NULL);
    struct deps_options options = {.fronts = false};
    struct deps deps;

    if (trace && walk_count(trace) <= MAX_ROWS &&
        deps_load(trace, &options, &deps, NULL) == MP_OK) {
        expect_timeline(trace, &deps, UINT64_MAX);
        expect_timeline(trace, &deps, FEW_EVENTS);
        deps_free(&deps);
    }
    mp_trace_close(trace);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_trace(data, size, max_size, seed);
}
