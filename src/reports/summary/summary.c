/* nvprof's summary. One pass tallies durations by the id that a table gives (shape, function,
 * kind); ids that turn out to have one name are merged afterwards, which is far cheaper than names
 * in the pass.
 */
#include "reports/summary/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "profile/common/tally.h"
#include "profile/identity.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "reports/summary/unified.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Rows ---- */

void summary_row_fill(struct summary_row *row, const char *name, const struct tally *tally,
                      uint64_t group_total)
{
    *row = (struct summary_row){
        .name = name,
        .tally = *tally,
        .mean = (double)tally->total / (double)tally->calls,
        .deviation = tally_deviation(tally),
        .percent = group_total ? 100.0 * (double)tally->total / (double)group_total : 0,
    };
}

MP_COMPARE(summary_compare_rows, struct summary_row,
           MP_ORDER(b->tally.total, a->tally.total) ?: strcmp(a->name, b->name));

void summary_rows_sort(struct summary_row *rows, size_t count)
{
    if (count)
        qsort(rows, count, sizeof *rows, summary_compare_rows);
}

enum mp_status summary_group_fill(struct summary_group *group, const struct dense *tallies)
{
    if (!tallies->count)
        return MP_OK;
    struct summary_row *rows = calloc(tallies->count, sizeof *rows);
    if (!rows)
        return MP_ERR_MEMORY;
    group->rows = rows;
    for (size_t id = 1; id < tallies->count; id++)
        group->total += ((const struct tally *)dense_at(tallies, id))->total;
    for (size_t id = 1; id < tallies->count; id++)
        summary_row_fill(&rows[group->row_count++],
                         mp_intern_get(&group->names, (uint32_t)id, NULL), dense_at(tallies, id),
                         group->total);
    summary_rows_sort(rows, group->row_count);
    return MP_OK;
}

void summary_group_free(struct summary_group *group)
{
    mp_intern_free(&group->names);
    free(group->rows);
}

/* ---- The pass over the file ---- */

struct pass {
    const struct summary_options *options;
    const struct capture_range *range; /* NULL: everything */
    struct summary *summary;
    struct tallies tallies[ACTIVITY_SUMMARISED]; /* by id; for each device, by pair */
    uint64_t limit;                              /* ids stay below it */
    bool per_device;
    struct called_from callers;
    struct summary_slots slots;
    struct summary_pairs pairs[ACTIVITY_SUMMARISED];
    uint64_t *ids; /* of the pairs of a batch's rows */
    size_t id_capacity;
    bool wants_kernels; /* kernel_time */
    struct kernel_time_pass kernels;
};

static bool summary_is_wanted(const struct pass *pass, const struct activity_table *source)
{
    unsigned parts = pass->options->parts ? pass->options->parts : SUMMARY_PARTS_BOTH;

    return source->group == SUMMARY_API ? parts & SUMMARY_PART_API
                                        : parts & (SUMMARY_PART_GPU | SUMMARY_PART_PER_GPU);
}

/* Work belongs to a capture range by its launch; calls belong by their begin. */
static bool is_correlated(const struct pass *pass, const struct activity_table *source)
{
    return pass->range && source->by_launch;
}

/* The device that a row ran on; UINT64_MAX: unknown. */
static uint64_t device_of(const struct pass *pass, const struct activity_table *source,
                          const struct mp_batch *batch, uint32_t row)
{
    const struct mp_unified_columns unified = mp_unified_columns(batch->columns);
    const struct definitions *definitions = &pass->summary->definitions;

    if (source->table == MP_TABLE_unified)
        return unified_device(definitions, unified.kind[row], unified.source[row],
                              unified.target[row]);
    const struct definition_stream *stream =
        dense_at(&definitions->streams, activity_value(batch->columns, source->stream, row));
    return stream && stream->defined ? stream->device : UINT64_MAX;
}

/* What a row's id is paired with: its device, or the line that it was called from. */
static enum mp_status slot_of(struct pass *pass, const struct activity_table *source,
                              const struct mp_batch *batch, uint32_t row, uint32_t *slot)
{
    if (!pass->options->by) {
        *slot = summary_slot(&pass->slots, device_of(pass, source, batch, row));
        return MP_OK;
    }
    *slot = 0;
    return !source->correlation
               ? MP_OK
               : called_from(&pass->callers,
                             activity_value(batch->columns, source->correlation, row),
                             activity_value(batch->columns, source->node, row), slot);
}

/* Pairs instead of the ids of a batch. */
static enum mp_status pair_ids(struct pass *pass, size_t index, const struct mp_batch *batch)
{
    const struct activity_table *source = &activity_tables[index];
    const uint64_t *ids = activity_column(batch->columns, source->id);

    if (batch->rows > pass->id_capacity) {
        uint64_t *pairs = reallocarray(pass->ids, batch->rows, sizeof *pairs);
        if (!pairs)
            return MP_ERR_MEMORY;
        pass->ids = pairs;
        pass->id_capacity = batch->rows;
    }
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint32_t slot;

        MP_TRY(slot_of(pass, source, batch, row, &slot));
        MP_TRY(summary_pair(&pass->pairs[index], slot, ids[row], pass->limit, &pass->ids[row]));
    }
    return MP_OK;
}

static enum mp_status take_rows(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;
    const struct activity_table *source = activity_of(batch->table->id);
    const size_t index = (size_t)(source - activity_tables);
    struct tally_rows rows = {
        .ids = activity_column(batch->columns, source->id),
        .starts = activity_column(batch->columns, source->start),
        .durations = activity_column(batch->columns, source->duration),
        .correlations = is_correlated(pass, source)
                            ? activity_column(batch->columns, source->correlation)
                            : NULL,
        .count = batch->rows,
        .batches = activity_column(batch->columns, source->calls),
    };

    if (pass->options->by || (pass->per_device && source->group == SUMMARY_GPU)) {
        MP_TRY(pair_ids(pass, index, batch));
        rows.ids = pass->ids;
    }
    if (pass->wants_kernels && source->table == MP_TABLE_kernel)
        MP_TRY(kernel_time_take(&pass->kernels, batch, pass->range));
    return tallies_add(&pass->tallies[index], &rows, pass->range);
}

/* The columns that the pass reads of a table; 0: not wanted. */
static uint32_t columns_of(const struct pass *pass, const struct activity_table *source)
{
    uint32_t mask = activity_mask(source->id) | activity_mask(source->start) |
                    activity_mask(source->duration) | activity_mask(source->calls);

    if (!summary_is_wanted(pass, source))
        return 0;
    if (is_correlated(pass, source) || pass->options->by)
        mask |= activity_mask(source->correlation);
    if (pass->options->by)
        mask |= activity_mask(source->node);
    if (pass->per_device)
        mask |= activity_mask(source->stream);
    if (pass->per_device && source->table == MP_TABLE_unified)
        mask |= MP_MASK(unified, source, target);
    if (pass->wants_kernels && source->table == MP_TABLE_kernel)
        mask |= kernel_time_columns(pass->range);
    return mask;
}

static enum mp_status summary_run_pass(struct pass *pass, struct mp_trace *trace,
                                       struct mp_error *error)
{
    struct reading_table tables[ACTIVITY_SUMMARISED];
    const struct reading reading = {
        .trace = trace,
        .what = "the records",
        .context = pass,
        READING_TABLES(tables),
        .quality = &pass->summary->quality,
        .definitions = &pass->summary->definitions,
    };

    for (size_t i = 0; i < ACTIVITY_SUMMARISED; i++)
        tables[i] = (struct reading_table){
            activity_tables[i].table, columns_of(pass, &activity_tables[i]), .take = take_rows};

    return reading_run(&reading, error);
}

/* ---- From tallies by id to rows by name ---- */

#define ALL_SLOTS UINT32_MAX

/* A group in the making. */
struct merge {
    struct summary_group *group;
    struct dense tallies; /* by the name's number in group->names */
    uint32_t slot;        /* of the device; ALL_SLOTS: of all */
};

/* Adds a tally to the row of that name. */
static enum mp_status merge_by_name(struct merge *merge, const char *name, size_t length,
                                    const struct tally *tally)
{
    uint32_t id = mp_intern_add(&merge->group->names, name, length);

    if (!id)
        return MP_ERR_MEMORY;
    MP_TRY(dense_reach(&merge->tallies, id));
    tally_merge(dense_at(&merge->tallies, id), tally);
    return MP_OK;
}

static enum mp_status merge_tally(struct pass *pass, const struct activity_table *source,
                                  const struct summary_pair *pair, const struct tally *tally,
                                  struct merge *merge)
{
    struct summary *summary = pass->summary;
    char buffer[NAMES_BYTES];
    const char *name = source->name(&summary->definitions, pass->options->style, pair->id, buffer);

    if (source->partly && (!name || !tally->total))
        return MP_OK;
    if (!name) {
        name = source->unnamed;
        if (merge->slot == ALL_SLOTS)
            summary->quality.undefined += tally->calls;
    }
    size_t length = activity_name_length(source, name);
    if (pass->options->by && source->correlation) {
        name = called_from_text(&pass->callers, name, length, pair->slot);
        if (!name)
            return MP_ERR_MEMORY;
        length = strlen(name);
    }
    return merge_by_name(merge, name, length, tally);
}

static enum mp_status merge_source(struct pass *pass, size_t index, struct merge *merge)
{
    const struct tallies *tallies = &pass->tallies[index];
    const struct summary_pairs *pairs = &pass->pairs[index];

    for (size_t i = 0; i < tallies->items.count; i++) {
        const struct tally *tally = dense_at(&tallies->items, i);
        bool is_pair = i < pairs->count;

        if (!tally->calls)
            continue;
        if (merge->slot != ALL_SLOTS && (!is_pair || pairs->items[i].slot != merge->slot))
            continue;
        MP_TRY(merge_tally(pass, &activity_tables[index],
                           is_pair ? &pairs->items[i] : &(struct summary_pair){.id = i}, tally,
                           merge));
    }
    return MP_OK;
}

/* The rows of one group; for GPU activities, those of a device's slot. */
static enum mp_status build_group(struct pass *pass, enum summary_group_index index, uint32_t slot,
                                  struct summary_group *group)
{
    struct merge merge = {.group = group, .slot = slot};
    enum mp_status status = MP_OK;

    dense_init(&merge.tallies, sizeof(struct tally), UINT32_MAX);
    for (size_t i = 0; i < ACTIVITY_SUMMARISED && !status; i++) {
        if (activity_tables[i].group == index)
            status = merge_source(pass, i, &merge);
    }
    if (!status)
        status = summary_group_fill(group, &merge.tallies);
    dense_free(&merge.tallies);
    return status;
}

static enum mp_status build_devices(struct pass *pass)
{
    struct summary *summary = pass->summary;

    if (!pass->slots.count)
        return MP_OK;
    summary->devices = calloc(pass->slots.count, sizeof *summary->devices);
    if (!summary->devices)
        return MP_ERR_MEMORY;
    for (uint32_t slot = 0; slot < pass->slots.count; slot++) {
        struct summary_device *device = &summary->devices[summary->device_count];

        device->device = pass->slots.devices[slot];
        const struct definition_device *defined =
            dense_at(&summary->definitions.devices, device->device);
        if (defined && defined->defined)
            device->name = definitions_text(&summary->definitions, defined->name);
        summary->device_count++;
        MP_TRY(build_group(pass, SUMMARY_GPU, slot, &device->group));
        if (!device->group.row_count) {
            mp_intern_free(&device->group.names);
            summary->device_count--;
        }
    }
    qsort(summary->devices, summary->device_count, sizeof *summary->devices, mp_compare_u64);
    return MP_OK;
}

/* ---- The whole ---- */

static enum mp_status build_groups(struct pass *pass, struct mp_error *error)
{
    struct quality *quality = &pass->summary->quality;
    enum mp_status status = MP_OK;

    for (int group = 0; group < SUMMARY_GROUPS && !status; group++)
        status = build_group(pass, (enum summary_group_index)group, ALL_SLOTS,
                             &pass->summary->groups[group]);
    if (!status && pass->per_device)
        status = build_devices(pass);
    if (!status && pass->wants_kernels)
        status = kernel_time_end(&pass->kernels);
    MP_TRY(mp_error_from(error, status, "cannot summarise the trace"));
    if (pass->wants_kernels)
        pass->summary->kernels = pass->kernels.sums;
    pass->summary->kernels.known &= !quality_gap(quality);
    for (size_t i = 0; i < ACTIVITY_SUMMARISED; i++) {
        quality->unknown_times += pass->tallies[i].unknown_times;
        quality->reversed_times += pass->tallies[i].reversed_times;
        if (!activity_tables[i].unnamed)
            quality->undefined += pass->tallies[i].beyond + pass->pairs[i].beyond;
    }
    return MP_OK;
}

static void summary_begin(struct pass *pass, const struct mp_trace *trace)
{
    struct summary *summary = pass->summary;

    *summary = (struct summary){.range_count = 0};
    summary->recorded[SUMMARY_GPU] = !property_is(trace, "MINIPROF_GPU", "off");
    summary->recorded[SUMMARY_API] = !property_is(trace, "MINIPROF_API", "none");
    definitions_init(&summary->definitions, trace);
    quality_init(&summary->quality, trace);
    summary->quality.only = pass->options->range;
    pass->limit = definitions_limit(trace);
    pass->per_device = pass->options->parts & SUMMARY_PART_PER_GPU;
    for (size_t i = 0; i < ACTIVITY_SUMMARISED; i++)
        tallies_init(&pass->tallies[i], definitions_limit(trace));
    kernel_time_begin(&pass->kernels, &summary->definitions, pass->limit);
    for (size_t i = 0; i < ACTIVITY_SUMMARISED; i++)
        pass->wants_kernels |= activity_tables[i].table == MP_TABLE_kernel &&
                               !pass->options->no_kernel_time &&
                               summary_is_wanted(pass, &activity_tables[i]);
}

static void summary_end(struct pass *pass)
{
    for (size_t i = 0; i < ACTIVITY_SUMMARISED; i++) {
        tallies_free(&pass->tallies[i]);
        summary_pairs_free(&pass->pairs[i]);
    }
    called_from_free(&pass->callers);
    kernel_time_free(&pass->kernels);
    free(pass->ids);
}

static enum mp_status run(struct pass *pass, struct mp_trace *trace, struct mp_error *error)
{
    MP_TRY(called_from_load(&pass->callers, trace, pass->options->by, error));
    if (pass->wants_kernels)
        MP_TRY(kernel_time_expect(&pass->kernels, trace, error));
    MP_TRY(summary_run_pass(pass, trace, error));
    return build_groups(pass, error);
}

enum mp_status summary_build(struct mp_trace *trace, const struct summary_options *options,
                             struct summary *summary, struct mp_error *error)
{
    struct pass pass = {.summary = summary, .options = options};
    const struct capture_ranges *ranges = options->ranges;
    struct capture_ranges own;

    summary_begin(&pass, trace);
    ranges_init(&own, trace);
    enum mp_status status = ranges ? MP_OK : ranges_load(&own, trace, error);
    ranges = ranges ? ranges : &own;
    if (!status)
        status = ranges_choose(ranges, options->range, &pass.range, error);
    summary->range_count = ranges_count(ranges);
    if (!status)
        status = run(&pass, trace, error);
    summary_end(&pass);
    ranges_free(&own);
    if (status)
        summary_free(summary);
    return status;
}

void summary_free(struct summary *summary)
{
    for (int group = 0; group < SUMMARY_GROUPS; group++)
        summary_group_free(&summary->groups[group]);
    for (size_t i = 0; i < summary->device_count; i++)
        summary_group_free(&summary->devices[i].group);
    free(summary->devices);
    quality_free(&summary->quality);
    definitions_free(&summary->definitions);
    *summary = (struct summary){.range_count = 0};
}
