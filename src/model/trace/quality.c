/* Collects what was lost and what looks wrong, and says it in one line. The causes are added up
 * separately, because each one needs another remedy.
 */
#include "model/trace/quality.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"

#include "trace/codec/schema.h"

#include "base/poison.h"

void quality_init(struct quality *quality, const struct mp_trace *trace)
{
    *quality = (struct quality){.dropped = 0};
    dense_init(&quality->counters, sizeof(struct quality_counter), definitions_limit(trace));
}

void quality_free(struct quality *quality)
{
    dense_free(&quality->counters);
    free(quality->rows);
    free(quality->ranges);
    quality->rows = NULL;
    quality->ranges = NULL;
    quality->row_count = quality->row_capacity = quality->range_count = 0;
}

void quality_select(struct mp_cursor *cursor)
{
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_quality),
                     MP_COLUMN_MASK(quality, name) | MP_COLUMN_MASK(quality, value));
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_loss),
                     MP_COLUMN_MASK(loss, range) | MP_COLUMN_MASK(loss, name) |
                         MP_COLUMN_MASK(loss, value));
}

static enum mp_status take_losses(struct quality *quality, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        MP_TRY(mp_reserve((void **)&quality->rows, quality->row_count, &quality->row_capacity,
                          sizeof *quality->rows));
        quality->rows[quality->row_count++] = (struct loss_row){
            batch->columns[MP_COLUMN_loss_range][row], batch->columns[MP_COLUMN_loss_name][row],
            (int64_t)batch->columns[MP_COLUMN_loss_value][row]};
    }
    return MP_OK;
}

enum mp_status quality_take(struct quality *quality, const struct mp_batch *batch)
{
    if (batch->table->id == MP_TABLE_loss)
        return take_losses(quality, batch);
    if (batch->table->id != MP_TABLE_quality)
        return MP_OK;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t name = batch->columns[MP_COLUMN_quality_name][row];
        enum mp_status status = dense_reach(&quality->counters, name);

        if (status == MP_ERR_LIMIT)
            continue;
        MP_TRY(status);
        *(struct quality_counter *)dense_at(&quality->counters, name) =
            (struct quality_counter){batch->columns[MP_COLUMN_quality_value][row], true};
    }
    return MP_OK;
}

bool quality_next_counter(const struct quality *quality, const struct definitions *definitions,
                          size_t *position, const char **name, uint64_t *value)
{
    const struct quality_counter *counter;

    while ((counter = dense_at(&quality->counters, *position)) && !counter->present)
        (*position)++;
    if (!counter)
        return false;
    *name = definitions_text(definitions, *position);
    *value = counter->value;
    (*position)++;
    return true;
}

/* docs/trace-format.md explains the counters. Lost records have one counter for each cause. */
static void read_counters(struct quality *quality, const struct definitions *definitions)
{
    const struct {
        const char *name;
        uint64_t *value;
    } known[] = {
        {"dropped_taken_over", &quality->taken_over},
        {"cupti_errors", &quality->cupti_errors},
        {"forced_exits", &quality->forced_exits},
        {"profiled_kernels", &quality->profiled},
        {"device_graphs", &quality->device_graphs},
        {"conditional_graphs", &quality->conditional_graphs},
        {"device_launches", &quality->device_launches},
        {"baseline_steps", &quality->baseline_steps},
        {"baseline_unrecorded", &quality->baseline_unrecorded},
        {"unanswered_launches", &quality->unanswered},
        {"zero_timestamps", &quality->zero_times},
    };
    size_t position = 0;
    const char *name;
    uint64_t value;

    while (quality_next_counter(quality, definitions, &position, &name, &value)) {
        if (!name)
            continue;
        if (!strncmp(name, "dropped_", strlen("dropped_")))
            quality->dropped += value;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name))
                *known[i].value = value;
    }
}

/* ---- By capture range ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct loss_row *a = left;
    const struct loss_row *b = right;

    return (a->range > b->range) - (a->range < b->range);
}

static void add_loss(struct range_loss *loss, const struct loss_row *row, const char *name)
{
    if (!name)
        return;
    if (!strncmp(name, "dropped_", strlen("dropped_")))
        loss->dropped += row->value;
    else if (!strcmp(name, "unanswered_launches"))
        loss->unanswered += row->value;
}

/* Without memory the ranges stay unknown, and the totals are said for each of them. */
static void sum_ranges(struct quality *quality, const struct definitions *definitions)
{
    free(quality->ranges);
    quality->range_count = 0;
    quality->ranges =
        quality->row_count ? reallocarray(NULL, quality->row_count, sizeof *quality->ranges) : NULL;
    if (!quality->ranges)
        return;
    qsort(quality->rows, quality->row_count, sizeof *quality->rows, compare_rows);
    for (size_t i = 0; i < quality->row_count;) {
        struct range_loss loss = {.range = quality->rows[i].range};

        for (; i < quality->row_count && quality->rows[i].range == loss.range; i++)
            add_loss(&loss, &quality->rows[i],
                     definitions_text(definitions, quality->rows[i].name));
        if (loss.dropped > 0 || loss.unanswered > 0)
            quality->ranges[quality->range_count++] = loss;
    }
}

static int compare_ranges(const void *key, const void *item)
{
    const uint64_t *range = key;
    const struct range_loss *loss = item;

    return (*range > loss->range) - (*range < loss->range);
}

const struct range_loss *quality_range(const struct quality *quality, uint64_t range)
{
    return quality->range_count ? bsearch(&range, quality->ranges, quality->range_count,
                                          sizeof *quality->ranges, compare_ranges)
                                : NULL;
}

void quality_finish(struct quality *quality, const struct mp_trace *trace,
                    const struct mp_cursor *cursor, const struct definitions *definitions)
{
    struct mp_index index;

    quality->dropped = 0;
    read_counters(quality, definitions);
    sum_ranges(quality, definitions);
    mp_trace_index(trace, &index);
    if (index.present && index.dropped > quality->dropped)
        quality->dropped = index.dropped;
    mp_cursor_damage(cursor, &quality->damage);
}

enum mp_status quality_count_untimed(struct quality *quality, struct mp_trace *trace,
                                     struct mp_error *error)
{
    return quality->zero_times ? untimed_count(&quality->untimed, trace, error) : MP_OK;
}

bool quality_has_times(const struct quality *quality)
{
    return !untimed_is_too_many(&quality->untimed);
}

bool quality_is_whole(const struct quality *quality)
{
    char text[QUALITY_TEXT_BYTES];

    return *quality_describe(quality, text, sizeof text) == '\0';
}

struct line {
    char *text;
    size_t size;
    size_t used;
};

static void add_text(struct line *line, const char *text)
{
    int length = snprintf(line->text + line->used, line->size - line->used, "%s%s",
                          line->used ? "; " : "", text);

    line->used += length > 0 ? (size_t)length : 0;
    if (line->used >= line->size)
        line->used = line->size - 1;
}

static void add_count(struct line *line, uint64_t count, const char *one, const char *many)
{
    char text[128];

    if (!count)
        return;
    snprintf(text, sizeof text, "%" PRIu64 " %s", count, count == 1 ? one : many);
    add_text(line, text);
}

/* An older trace does not tell which ranges lack something: then all may. */
static void describe_losses(struct line *line, const struct quality *quality)
{
    add_count(line, quality->dropped, "record was dropped", "records were dropped");
    add_count(line, quality->unanswered, "launched kernel has no record",
              "launched kernels have no record");
}

static void describe_ranges(struct line *line, const struct quality *quality)
{
    char text[96];

    if (quality->only || !quality->range_count)
        return;
    if (quality->range_count == 1)
        snprintf(text, sizeof text, "capture range %" PRIu64 " is not whole",
                 quality->ranges[0].range);
    else
        snprintf(text, sizeof text, "%zu capture ranges are not whole, the first is %" PRIu64,
                 quality->range_count, quality->ranges[0].range);
    add_text(line, text);
}

static void describe_range(struct line *line, const struct range_loss *loss)
{
    if (loss && loss->dropped > 0)
        add_count(line, (uint64_t)loss->dropped,
                  "record was dropped, perhaps of this capture range",
                  "records were dropped, some or all of this capture range");
    if (loss && loss->unanswered > 0)
        add_count(line, (uint64_t)loss->unanswered,
                  "kernel launched in this capture range has no record",
                  "kernels launched in this capture range have no record");
}

/* Rows that are left out, but for kernels that the line has named. */
static uint64_t other_unknown_times(const struct quality *quality)
{
    uint64_t named = quality_has_times(quality) ? 0 : quality->untimed.without;

    return quality->unknown_times > named ? quality->unknown_times - named : 0;
}

const char *quality_describe(const struct quality *quality, char *text, size_t size)
{
    struct line line = {.text = text, .size = size};
    char untimed[256], damage[256];

    *text = '\0';
    if (*untimed_describe(&quality->untimed, untimed, sizeof untimed))
        add_text(&line, untimed);
    if (mp_damage_describe(&quality->damage, damage, sizeof damage))
        add_text(&line, damage);
    if (quality->only && quality->ranges)
        describe_range(&line, quality_range(quality, quality->only));
    else
        describe_losses(&line, quality);
    add_count(&line, quality->taken_over, "call whose records another CUPTI client got, at least",
              "calls whose records another CUPTI client got, at least");
    add_count(&line, quality->cupti_errors, "error of CUPTI", "errors of CUPTI");
    if (quality->forced_exits)
        add_text(&line, "the program ended before all of its records were written");
    add_count(&line, other_unknown_times(quality), "row without a begin time is left out",
              "rows without a begin time are left out");
    add_count(&line, quality->reversed_times, "row that ends before it begins is left out",
              "rows that end before they begin are left out");
    add_count(&line, quality->undefined, "row refers to a name that is not in the file",
              "rows refer to names that are not in the file");
    describe_ranges(&line, quality);
    return text;
}
