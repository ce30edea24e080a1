#include "analyze/summary.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tally.h"
#include "model/names.h"
#include "model/ranges.h"
#include "trace/schema.h"

#include "base/poison.h"

#define NO_COLUMN UINT_MAX

/* ---- What is summed up, from which columns, under which name ---- */

/* Names an id of a source's id column: `buffer`, or text owned elsewhere; NULL when it has no name.
 */
typedef const char *name_id(struct definitions *definitions, bool demangle, uint64_t id,
                            char buffer[NAMES_BYTES]);

static const char *name_kernel(struct definitions *definitions, bool demangle, uint64_t shape,
                               char buffer[NAMES_BYTES])
{
    (void)buffer;
    return definitions_kernel(definitions, shape, demangle);
}

static const char *name_copy(struct definitions *definitions, bool demangle, uint64_t kind,
                             char buffer[NAMES_BYTES])
{
    (void)definitions, (void)demangle;
    return names_copy(kind, buffer, NAMES_BYTES);
}

static const char *name_set(struct definitions *definitions, bool demangle, uint64_t memory,
                            char buffer[NAMES_BYTES])
{
    (void)definitions, (void)demangle, (void)memory, (void)buffer;
    return "[CUDA memset]";
}

static const char *name_graph(struct definitions *definitions, bool demangle, uint64_t graph,
                              char buffer[NAMES_BYTES])
{
    (void)definitions, (void)demangle;
    return names_graph(graph, buffer, NAMES_BYTES);
}

static const char *name_call(struct definitions *definitions, bool demangle, uint64_t function,
                             char buffer[NAMES_BYTES])
{
    (void)demangle, (void)buffer;
    return definitions_function(definitions, function);
}

struct source {
    enum mp_table_id table;
    enum summary_group_index group;
    unsigned id; /* columns */
    unsigned start;
    unsigned duration;
    unsigned correlation; /* NO_COLUMN: belongs to a range by time */
    name_id *name;
    const char *unnamed;
};

#define SOURCE(table, group, id, correlation, name, unnamed)                                       \
    {                                                                                              \
        MP_TABLE_##table, group, MP_COLUMN_##table##_##id, MP_COLUMN_##table##_start,              \
            MP_COLUMN_##table##_duration, correlation, name, unnamed                               \
    }
static const struct source sources[] = {
    SOURCE(kernel, SUMMARY_GPU, shape, MP_COLUMN_kernel_correlation, name_kernel,
           "[unnamed kernel]"),
    SOURCE(copy, SUMMARY_GPU, kind, MP_COLUMN_copy_correlation, name_copy, NULL),
    SOURCE(set, SUMMARY_GPU, memory, MP_COLUMN_set_correlation, name_set, NULL),
    SOURCE(graph, SUMMARY_GPU, graph, MP_COLUMN_graph_correlation, name_graph, NULL),
    SOURCE(call, SUMMARY_API, function, NO_COLUMN, name_call, "[unnamed call]"),
};
#undef SOURCE

#define SOURCE_COUNT (sizeof sources / sizeof *sources)

/* ---- The pass over the file ---- */

struct pass {
    struct tallies tallies[SOURCE_COUNT];
    const struct capture_range *range; /* NULL: everything */
    struct summary *summary;
};

static void select_columns(struct mp_cursor *cursor, bool with_range)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < count; i++)
        mp_cursor_select(cursor, &tables[i], 0);
    definitions_select(cursor, false);
    quality_select(cursor);
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        const struct source *source = &sources[i];
        uint32_t mask = 1u << source->id | 1u << source->start | 1u << source->duration;
        if (with_range && source->correlation != NO_COLUMN)
            mask |= 1u << source->correlation;
        mp_cursor_select(cursor, mp_table_by_id(source->table), mask);
    }
}

static enum mp_status take_batch(struct pass *pass, const struct mp_batch *batch)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        const struct source *source = &sources[i];
        bool correlated = pass->range && source->correlation != NO_COLUMN;
        struct tally_rows rows = {
            .ids = batch->columns[source->id],
            .starts = batch->columns[source->start],
            .durations = batch->columns[source->duration],
            .correlations = correlated ? batch->columns[source->correlation] : NULL,
            .count = batch->rows,
        };
        if (source->table == batch->table->id)
            return tallies_add(&pass->tallies[i], &rows, pass->range);
    }
    MP_TRY(definitions_take(&pass->summary->definitions, batch));
    return quality_take(&pass->summary->quality, batch);
}

static enum mp_status run_pass(struct pass *pass, struct mp_trace *trace, struct mp_error *error)
{
    struct summary *summary = pass->summary;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    enum mp_status status;

    MP_TRY(mp_cursor_open(trace, &cursor, error));
    select_columns(cursor, pass->range != NULL);
    while ((status = mp_cursor_next(cursor, &batch)) == MP_OK) {
        status = take_batch(pass, &batch);
        if (status != MP_OK)
            break;
    }
    quality_finish(&summary->quality, trace, cursor, &summary->definitions);
    mp_cursor_close(cursor);
    if (status == MP_END)
        return MP_OK;
    return mp_error_set(error, status, "cannot summarise the trace: %s", mp_status_name(status));
}

/* ---- From tallies by id to rows by name ---- */

/* Adds a tally to the row of that name; `merged` holds them by the name's number in `group->names`.
 */
static enum mp_status merge_by_name(struct summary_group *group, struct dense *merged,
                                    const char *name, size_t length, const struct tally *tally)
{
    uint32_t id = mp_intern_add(&group->names, name, length);

    if (!id)
        return MP_ERR_MEMORY;
    MP_TRY(dense_reach(merged, id));
    tally_merge(dense_at(merged, id), tally);
    return MP_OK;
}

static enum mp_status merge_source(struct summary *summary, const struct source *source,
                                   const struct tallies *tallies, bool demangle,
                                   struct dense *merged)
{
    for (size_t id = 0; id < tallies->items.count; id++) {
        const struct tally *tally = dense_at(&tallies->items, id);
        char buffer[NAMES_BYTES];
        const char *name;
        size_t length;

        if (!tally->calls)
            continue;
        name = source->name(&summary->definitions, demangle, id, buffer);
        if (!name) {
            name = source->unnamed;
            summary->quality.undefined += tally->calls;
        }
        length = source->group == SUMMARY_API ? names_api_length(name) : strlen(name);
        MP_TRY(merge_by_name(&summary->groups[source->group], merged, name, length, tally));
    }
    return MP_OK;
}

static int compare_rows(const void *left, const void *right)
{
    const struct summary_row *a = left;
    const struct summary_row *b = right;

    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void fill_row(struct summary_row *row, const char *name, const struct tally *tally,
                     uint64_t group_total)
{
    *row = (struct summary_row){
        .name = name,
        .calls = tally->calls,
        .total = tally->total,
        .least = tally->least,
        .greatest = tally->greatest,
        .mean = (double)tally->total / (double)tally->calls,
        .percent = group_total ? 100.0 * (double)tally->total / (double)group_total : 0,
    };
}

static enum mp_status fill_group(struct summary_group *group, const struct dense *merged)
{
    if (!merged->count)
        return MP_OK;
    struct summary_row *rows = calloc(merged->count, sizeof *rows);
    if (!rows)
        return MP_ERR_MEMORY;
    group->rows = rows;
    for (size_t id = 1; id < merged->count; id++)
        group->total += ((const struct tally *)dense_at(merged, id))->total;
    for (size_t id = 1; id < merged->count; id++)
        fill_row(&rows[group->row_count++], mp_intern_get(&group->names, (uint32_t)id, NULL),
                 dense_at(merged, id), group->total);
    qsort(rows, group->row_count, sizeof *rows, compare_rows);
    return MP_OK;
}

static enum mp_status build_group(struct pass *pass, enum summary_group_index group, bool demangle)
{
    struct dense merged;
    enum mp_status status = MP_OK;

    dense_init(&merged, sizeof(struct tally), UINT32_MAX);
    for (size_t i = 0; i < SOURCE_COUNT && !status; i++) {
        if (sources[i].group == group)
            status = merge_source(pass->summary, &sources[i], &pass->tallies[i], demangle, &merged);
    }
    if (!status)
        status = fill_group(&pass->summary->groups[group], &merged);
    dense_free(&merged);
    return status;
}

/* ---- The whole ---- */

static enum mp_status find_range(struct capture_ranges *ranges, uint64_t id, struct pass *pass,
                                 struct mp_error *error)
{
    size_t count = ranges_count(ranges);

    pass->summary->range_count = count;
    if (!id)
        return MP_OK;
    pass->range = ranges_find(ranges, id);
    if (pass->range)
        return MP_OK;
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "there is no capture range %" PRIu64 "; the trace has %zu", id, count);
}

static enum mp_status build_groups(struct pass *pass, bool demangle, struct mp_error *error)
{
    struct quality *quality = &pass->summary->quality;
    enum mp_status status = MP_OK;

    for (int group = 0; group < SUMMARY_GROUPS && !status; group++)
        status = build_group(pass, (enum summary_group_index)group, demangle);
    if (status)
        return mp_error_set(error, status, "cannot summarise the trace: %s",
                            mp_status_name(status));
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        quality->unknown_times += pass->tallies[i].unknown_times;
        quality->reversed_times += pass->tallies[i].reversed_times;
        if (!sources[i].unnamed)
            quality->undefined += pass->tallies[i].beyond;
    }
    return MP_OK;
}

enum mp_status summary_build(struct mp_trace *trace, const struct summary_options *options,
                             struct summary *summary, struct mp_error *error)
{
    struct pass pass = {.summary = summary};
    struct capture_ranges ranges;
    enum mp_status status;

    *summary = (struct summary){.range_count = 0};
    definitions_init(&summary->definitions, trace);
    quality_init(&summary->quality, trace);
    ranges_init(&ranges, trace);
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        tallies_init(&pass.tallies[i], definitions_limit(trace));

    status = ranges_load(&ranges, trace, error);
    if (!status)
        status = find_range(&ranges, options->range, &pass, error);
    if (!status)
        status = run_pass(&pass, trace, error);
    if (!status)
        status = build_groups(&pass, options->demangle, error);

    for (size_t i = 0; i < SOURCE_COUNT; i++)
        tallies_free(&pass.tallies[i]);
    ranges_free(&ranges);
    if (status)
        summary_free(summary);
    return status;
}

void summary_free(struct summary *summary)
{
    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        mp_intern_free(&summary->groups[group].names);
        free(summary->groups[group].rows);
    }
    quality_free(&summary->quality);
    definitions_free(&summary->definitions);
    *summary = (struct summary){.range_count = 0};
}
