/* Three passes: the ranges; the calls inside them; the work that these calls launched. Calls and
 * work are summed up for the innermost ranges around them, by nesting, and then handed outwards. */
#include "reports/nvtx/result.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/common/source_names.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "reports/nvtx/calls.h"
#include "reports/nvtx/spans.h"
#include "trace/schema.h"

#include "base/poison.h"

struct pass {
    const struct nvtx_options *options;
    const struct capture_range *range; /* NULL: everything */
    struct nvtx_result *result;
    struct nvtx_spans spans;
    struct nvtx_calls calls;
    struct nvtx_sums nodes; /* of each nesting, without what is nested in it */
    struct nvtx_sums kinds; /* of each thread, domain and name, with all inside */
    struct source_names names;
};

/* ---- Rows ---- */

/* Whether the times can be used. Times that cannot are counted. */
static bool times_are_good(struct quality *quality, uint64_t start, uint64_t duration)
{
    if (__builtin_expect(start && start <= INT64_MAX && duration <= INT64_MAX - start, 1))
        return true;
    quality->unknown_times += !start;
    quality->reversed_times += start != 0;
    return false;
}

#define FUNCTION_LIMIT (1u << 30)

static enum mp_status result_take_call(struct pass *pass, struct nvtx_thread *thread,
                                       struct nvtx_call *call, uint64_t start)
{
    for (uint32_t i = 0; i < thread->lane_count; i++) {
        call->node = nvtx_spans_find(&pass->spans, &pass->spans.lanes[thread->first_lane + i],
                                     start, start + call->duration);
        if (call->node != NVTX_NONE)
            MP_TRY(nvtx_calls_add(&pass->calls, call));
    }
    return MP_OK;
}

static enum mp_status take_calls(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;
    const struct mp_call_columns calls = mp_call_columns(batch->columns);
    uint64_t number = 0;
    uint32_t thread = MP_MAP_ABSENT;

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t function = calls.function[row];
        struct nvtx_call call = {.correlation = calls.correlation[row],
                                 .duration = calls.duration[row]};

        if (pass->range && !range_has_call(pass->range, calls.start[row]))
            continue;
        if (!times_are_good(&pass->result->quality, calls.start[row], calls.duration[row]))
            continue;
        if (!row || number != calls.thread[row]) {
            number = calls.thread[row];
            thread = mp_map_get(&pass->spans.thread_index, number);
        }
        if (thread == MP_MAP_ABSENT)
            continue;
        call.function = function < FUNCTION_LIMIT ? (uint32_t)function : 0;
        MP_TRY(result_take_call(pass, &pass->spans.threads[thread], &call, calls.start[row]));
    }
    pass->result->no_calls = false;
    return MP_OK;
}

/* Adds a piece of work to the nodes of the calls that launched it. */
static enum mp_status add_work(struct pass *pass, size_t first, uint32_t name,
                               const struct tally *tally)
{
    const uint64_t correlation = nvtx_calls_at(&pass->calls, first)->correlation;

    for (size_t i = first; i < pass->calls.count; i++) {
        struct nvtx_call *call = nvtx_calls_at(&pass->calls, i);

        if (call->correlation != correlation)
            break;
        call->launched = true;
        if (!call->again)
            MP_TRY(
                nvtx_sums_add(&pass->nodes, call->node, nvtx_sum_name(name, SUMMARY_GPU), tally));
    }
    return MP_OK;
}

static enum mp_status result_take_work(void *context, const struct mp_batch *batch)
{
    const struct activity_table *source = activity_of(batch->table->id);
    const enum activity_kind index = (enum activity_kind)(source - activity_tables);
    struct pass *pass = context;
    const uint64_t *correlations = activity_column(batch->columns, source->correlation);
    const uint64_t *starts = activity_column(batch->columns, source->start);
    const uint64_t *durations = activity_column(batch->columns, source->duration);

    for (uint32_t row = 0; row < batch->rows; row++) {
        size_t call = correlations[row] ? nvtx_calls_position(&pass->calls, correlations[row])
                                        : pass->calls.count;
        uint32_t name;

        if (call == pass->calls.count ||
            !times_are_good(&pass->result->quality, starts[row], durations[row]))
            continue;
        MP_TRY(source_names_find(&pass->names, index,
                                 activity_value(batch->columns, source->id, row), &name));
        struct tally tally = tally_of(durations[row], activity_calls(source, batch->columns, row));
        MP_TRY(add_work(pass, call, name, &tally));
    }
    return MP_OK;
}

/* ---- The passes ---- */

static const struct reading_table call_tables[] = {
    {MP_TABLE_call, MP_MASK(call, function, start, duration, correlation, thread),
     .take = take_calls},
};
static const struct reading_table work_tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, shape, start, duration, correlation),
     .take = result_take_work},
    {MP_TABLE_copy, MP_MASK(copy, kind, start, duration, correlation, count),
     .take = result_take_work},
    {MP_TABLE_set, MP_MASK(set, memory, start, duration, correlation), .take = result_take_work},
    {MP_TABLE_graph, MP_MASK(graph, graph, start, duration, correlation), .take = result_take_work},
};

/* Reads either the calls or the work. */
static enum mp_status read_group(struct pass *pass, enum summary_group_index group,
                                 struct mp_error *error)
{
    struct nvtx_result *result = pass->result;
    struct reading reading = {.trace = result->profile->trace,
                              .what = "the NVTX ranges",
                              .context = pass,
                              READING_TABLES(call_tables),
                              .joined = &result->quality};

    if (group == SUMMARY_GPU) {
        reading.tables = work_tables;
        reading.table_count = sizeof work_tables / sizeof *work_tables;
    }
    return reading_run(&reading, error);
}

/* ---- From nodes to ranges ---- */

static enum mp_status add_calls(struct pass *pass)
{
    for (size_t i = 0; i < pass->calls.count; i++) {
        const struct nvtx_call *call = &pass->calls.items[i];
        const struct tally tally = tally_of(call->duration, 1);
        uint32_t name;

        if (!call->launched && !pass->options->all_calls)
            continue;
        MP_TRY(source_names_find(&pass->names, ACTIVITY_CALL, call->function, &name));
        MP_TRY(nvtx_sums_add(&pass->nodes, call->node, nvtx_sum_name(name, SUMMARY_API), &tally));
    }
    return MP_OK;
}

/* Adds the sums of every node to its kind and to the node around it, which has a smaller number. */
static enum mp_status hand_outwards(struct pass *pass)
{
    for (size_t i = pass->spans.node_count; i-- > 0;) {
        const struct nvtx_node *node = &pass->spans.nodes[i];

        for (uint32_t at = pass->nodes.first[i]; at != NVTX_NONE; at = pass->nodes.items[at].next) {
            struct nvtx_sum sum = pass->nodes.items[at]; /* the array can move */

            MP_TRY(nvtx_sums_add(&pass->kinds, node->kind, sum.name, &sum.tally));
            if (node->parent != NVTX_NONE)
                MP_TRY(nvtx_sums_add(&pass->nodes, node->parent, sum.name, &sum.tally));
        }
    }
    return MP_OK;
}

static uint64_t group_total(const struct pass *pass, uint32_t kind, uint32_t group)
{
    uint64_t total = 0;

    for (uint32_t at = pass->kinds.first[kind]; at != NVTX_NONE; at = pass->kinds.items[at].next) {
        if ((pass->kinds.items[at].name & 1) == group)
            total += pass->kinds.items[at].tally.total;
    }
    return total;
}

/* Appends the rows of a group to the `*used` rows that exist. */
static void fill_group(struct pass *pass, uint32_t kind, uint32_t index, size_t *used,
                       struct nvtx_group *group)
{
    struct nvtx_result *result = pass->result;
    struct summary_row *rows = result->rows ? result->rows + *used : NULL;

    group->rows = rows;
    group->total = group_total(pass, kind, index);
    for (uint32_t at = pass->kinds.first[kind]; at != NVTX_NONE; at = pass->kinds.items[at].next) {
        const struct nvtx_sum *sum = &pass->kinds.items[at];

        if ((sum->name & 1) == index)
            summary_row_fill(&rows[group->row_count++],
                             mp_intern_get(&result->names, sum->name >> 1, NULL), &sum->tally,
                             group->total);
    }
    summary_rows_sort(rows, group->row_count);
    *used += group->row_count;
}

static void fill_range(struct pass *pass, uint32_t index, size_t *used)
{
    struct nvtx_result *result = pass->result;
    const struct nvtx_kind *kind = &pass->spans.kinds[index];
    struct nvtx_named_range *range = &result->ranges[result->range_count];

    if (!kind->instances.calls)
        return;
    *range = (struct nvtx_named_range){
        .thread = pass->spans.threads[kind->thread].number,
        .domain = mp_intern_get(&result->names, kind->domain, NULL),
        .name = mp_intern_get(&result->names, kind->name, NULL),
        .unfinished = kind->unfinished,
        .cut = kind->cut,
    };
    summary_row_fill(&range->instances, range->name, &kind->instances, kind->instances.total);
    range->instances.percent = 100;
    for (uint32_t group = 0; group < SUMMARY_GROUPS; group++)
        fill_group(pass, index, group, used, &range->groups[group]);
    result->unfinished += kind->unfinished;
    result->cut += kind->cut;
    result->range_count++;
}

MP_COMPARE(compare_ranges, struct nvtx_named_range,
           nvtx_key_compare((struct nvtx_key){a->thread, a->domain, a->name},
                            (struct nvtx_key){b->thread, b->domain, b->name}));

static enum mp_status fill_ranges(struct pass *pass)
{
    struct nvtx_result *result = pass->result;
    size_t used = 0;

    if (!pass->spans.kind_count)
        return MP_OK;
    result->ranges = calloc(pass->spans.kind_count, sizeof *result->ranges);
    if (pass->kinds.count)
        result->rows = calloc(pass->kinds.count, sizeof *result->rows);
    if (!result->ranges || (pass->kinds.count && !result->rows))
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->spans.kind_count; i++)
        fill_range(pass, (uint32_t)i, &used);
    qsort(result->ranges, result->range_count, sizeof *result->ranges, compare_ranges);
    return MP_OK;
}

/* ---- The whole ---- */

static enum mp_status read_calls_and_work(struct pass *pass, struct mp_error *error)
{
    pass->result->no_calls = true;
    MP_TRY(read_group(pass, SUMMARY_API, error));
    enum mp_status status = nvtx_calls_sort(&pass->calls);
    MP_TRY(mp_error_from(error, status, "cannot sort the calls"));
    if (!pass->calls.count)
        return MP_OK;
    return read_group(pass, SUMMARY_GPU, error);
}

static enum mp_status result_add_up(struct pass *pass, struct mp_error *error)
{
    enum mp_status status = add_calls(pass);

    nvtx_calls_free(&pass->calls);
    if (!status)
        status = hand_outwards(pass);
    nvtx_sums_free(&pass->nodes);
    if (!status)
        status = fill_ranges(pass);
    return mp_error_from(error, status, "cannot add up the NVTX ranges");
}

static enum mp_status result_build(struct pass *pass, struct mp_error *error)
{
    struct nvtx_result *result = pass->result;
    struct nvtx_reading reading = {
        .range = pass->range, .names = &result->names, .quality = &result->quality};

    MP_TRY(nvtx_spans_load(&pass->spans, result->profile, &reading, error));
    if (!pass->spans.span_count)
        return MP_OK;
    if (nvtx_sums_init(&pass->nodes, pass->spans.node_count) ||
        nvtx_sums_init(&pass->kinds, pass->spans.kind_count))
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    MP_TRY(read_calls_and_work(pass, error));
    return result_add_up(pass, error);
}

static void result_end(struct pass *pass)
{
    nvtx_spans_free(&pass->spans);
    nvtx_calls_free(&pass->calls);
    nvtx_sums_free(&pass->nodes);
    nvtx_sums_free(&pass->kinds);
    source_names_free(&pass->names);
}

enum mp_status nvtx_result_build(struct profile *profile, const struct nvtx_options *options,
                                 struct nvtx_result *result, struct mp_error *error)
{
    struct pass pass = {.options = options, .result = result};

    *result = (struct nvtx_result){.profile = profile, .quality = profile->quality};
    result->quality.only = options->range;
    pass.names = (struct source_names){.names = &result->names,
                                       .definitions = &profile->definitions,
                                       .quality = &result->quality,
                                       .style = options->style};
    source_names_init(&pass.names, profile->trace);
    enum mp_status status = ranges_choose(&profile->ranges, options->range, &pass.range, error);
    if (!status)
        status = result_build(&pass, error);
    if (!status)
        status = nvtx_captured_build(result, options, pass.range, error);
    result_end(&pass);
    if (status)
        nvtx_result_free(result);
    return status;
}

void nvtx_result_free(struct nvtx_result *result)
{
    free(result->ranges);
    free(result->rows);
    free(result->captured);
    free(result->captured_rows);
    mp_intern_free(&result->names);
    *result = (struct nvtx_result){.range_count = 0};
}
