/* The reports by name on files whose checksums fit, whatever they say: summary, NVTX result,
 * layers, unified memory, allocations. Rows sum to their group, and groups of devices to that of
 * all.
 */
#include "mutate.h"
#include "walk.h"

#include "reports/counters/counters.h"
#include "reports/layers/layers.h"
#include "reports/live/live.h"
#include "reports/memory/memory.h"
#include "reports/nvtx/result.h"
#include "reports/summary/summary.h"
#include "reports/summary/unified.h"

#define MAX_ROWS 20000 /* of a trace; bounds the time of one input */

static void expect_rows(const struct summary_row *rows, size_t count, uint64_t total)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        expect(rows[i].name && rows[i].tally.calls && rows[i].tally.min <= rows[i].tally.max);
        sum += rows[i].tally.total;
    }
    expect(sum == total);
}

static void expect_summary(struct mp_trace *trace, enum names_style style)
{
    struct summary_options options = {.style = style,
                                      .parts = SUMMARY_PARTS_BOTH | SUMMARY_PART_PER_GPU};
    struct summary summary;
    uint64_t sum = 0;

    expect(summary_build(trace, &options, &summary, NULL) == MP_OK);
    for (int i = 0; i < SUMMARY_GROUPS; i++)
        expect_rows(summary.groups[i].rows, summary.groups[i].row_count, summary.groups[i].total);
    for (size_t i = 0; i < summary.device_count; i++) {
        const struct summary_group *group = &summary.devices[i].group;
        expect_rows(group->rows, group->row_count, group->total);
        sum += group->total;
    }
    expect(sum == summary.groups[SUMMARY_GPU].total);
    summary_free(&summary);
}

static void expect_nvtx(struct profile *profile, bool all_calls)
{
    struct nvtx_options options = {.style = NAMES_NVPROF, .all_calls = all_calls};
    struct nvtx_result result;

    expect(nvtx_result_build(profile, &options, &result, NULL) == MP_OK);
    for (size_t i = 0; i < result.range_count; i++) {
        const struct nvtx_named_range *range = &result.ranges[i];

        expect(range->name && range->instances.tally.calls &&
               range->unfinished <= range->instances.tally.calls);
        for (int j = 0; j < SUMMARY_GROUPS; j++)
            expect_rows(range->groups[j].rows, range->groups[j].row_count, range->groups[j].total);
    }
    nvtx_result_free(&result);
}

static void expect_counters(struct mp_trace *trace, enum counters_by by)
{
    const struct counters_options options = {.by = by, .style = NAMES_MANGLED};
    struct counters_result result;

    expect(counters_build(trace, &options, &result, NULL) == MP_OK);
    for (size_t i = 0; i < result.counter_count; i++) {
        const struct counters_cell *all = &result.counters[i].all;

        expect(all->p50 <= all->p95 && all->p95 <= all->max);
    }
    for (size_t i = 0; i < result.cell_count; i++) {
        const struct counters_cell *cell = &result.cells[i];

        expect(!(cell->mean < 0) && !(cell->error < 0) && cell->samples >= 0);
        expect(cell->p50 <= cell->p95 && cell->p95 <= cell->max);
    }
    counters_result_free(&result);
}

static void expect_layers(struct profile *profile, bool by_position)
{
    struct layers_options options = {
        .style = NAMES_READABLE, .all = true, .merge_numbers = true, .by_position = by_position};
    struct layers_result result;
    uint64_t selves = 0, outermost = 0;

    expect(layers_build(profile, &options, &result, NULL) == MP_OK);
    for (size_t i = 0; i < result.count; i++) {
        const struct layer *layer = &result.layers[i];

        expect(layer->parent == LAYER_NONE || layer->parent < i);
        expect(layer->calls <= layer->instances);
        selves += layer->self->device;
        outermost += layer->parent == LAYER_NONE ? layer->total->device : 0;
    }
    expect(selves == result.device && outermost == result.device);
    expect(result.positions.others <= result.positions.kernels);
    layers_free(&result);
}

static void expect_memory(struct mp_trace *trace)
{
    struct unified_options how = {.range = 0};
    struct allocations_options what = {.range = 0};
    struct unified unified;
    struct allocations allocations;

    expect(unified_build(trace, &how, &unified, NULL) == MP_OK);
    unified_free(&unified);
    expect(allocations_build(trace, &what, &allocations, NULL) == MP_OK);
    for (size_t i = 0; i < allocations.row_count; i++)
        expect(allocations.rows[i].unknown <= allocations.rows[i].frees);
    allocations_free(&allocations);
}

static void add_change(void *context, const struct memory_point *point)
{
    *(uint64_t *)context += (uint64_t)point->change;
}

static void expect_place_of_memory(struct mp_trace *trace)
{
    struct memory_options options = {.top = 5};
    struct memory memory;
    uint64_t live = 0;
    uint64_t changes = 0;

    expect(memory_build(trace, &options, &memory, NULL) == MP_OK);
    for (size_t i = 0; i < memory.device_count; i++) {
        const struct memory_totals *totals = &memory.devices[i].totals;

        expect(totals->unknown <= totals->frees && memory.devices[i].alive_shown <= options.top);
        live += totals->live;
    }
    expect(memory.churn.pairs <= memory.churn.allocations);
    expect(memory_each_change(&memory, add_change, &changes) == MP_OK);
    expect(changes == live);
    expect(memory_each_step(&memory, 3, add_change, &changes) == MP_OK);
    memory_free(&memory);
}

static void expect_live(struct mp_trace *trace)
{
    const struct live_options options = {.iteration = NULL};
    const struct live_sum *top[4];
    struct mp_cursor *cursor;
    struct mp_batch batch;
    struct live live;

    expect(mp_cursor_open(trace, &cursor, NULL) == MP_OK);
    expect(live_init(&live, trace, &options) == MP_OK);
    live_select(&live, cursor);
    while (mp_cursor_next(cursor, &batch) == MP_OK) {
        expect(live_take(&live, &batch) == MP_OK);
        live_tick(&live, trace, cursor, 1, false);
        live_next(&live);
    }
    live_tick(&live, trace, cursor, 1, true);
    expect(live_top(&live.layers, top, 4) <= 4);
    expect(live.kernels.all.count <= live.layers.all.count);
    live_free(&live);
    mp_cursor_close(cursor);
}

static void expect_of_profile(struct mp_trace *trace)
{
    struct profile profile;

    expect(profile_load(&profile, trace, DEFINITIONS_ALL, NULL) == MP_OK);
    expect_nvtx(&profile, true);
    expect_nvtx(&profile, false);
    expect_layers(&profile, false);
    expect_layers(&profile, true);
    profile_free(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_trace *trace = walk_open(data, size, NULL);

    if (trace && walk_count(trace) <= MAX_ROWS) {
        expect_summary(trace, NAMES_READABLE);
        expect_summary(trace, NAMES_NVPROF);
        expect_of_profile(trace);
        expect_counters(trace, COUNTERS_BY_KERNEL);
        expect_counters(trace, COUNTERS_BY_LAYER);
        expect_memory(trace);
        expect_place_of_memory(trace);
        expect_live(trace);
    }
    mp_trace_close(trace);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_trace(data, size, max_size, seed);
}
