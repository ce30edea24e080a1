/* Collects what was lost and what looks wrong, and says it in one line. The causes are added up
 * separately, because each one needs another remedy.
 */
#include "model/trace/quality.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
}

void quality_select(struct mp_cursor *cursor)
{
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_quality),
                     MP_COLUMN_MASK(quality, name) | MP_COLUMN_MASK(quality, value));
}

enum mp_status quality_take(struct quality *quality, const struct mp_batch *batch)
{
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

void quality_finish(struct quality *quality, const struct mp_trace *trace,
                    const struct mp_cursor *cursor, const struct definitions *definitions)
{
    struct mp_index index;

    quality->dropped = 0;
    read_counters(quality, definitions);
    mp_trace_index(trace, &index);
    if (index.present && index.dropped > quality->dropped)
        quality->dropped = index.dropped;
    mp_cursor_damage(cursor, &quality->damage);
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

const char *quality_describe(const struct quality *quality, char *text, size_t size)
{
    struct line line = {.text = text, .size = size};
    char damage[256];

    *text = '\0';
    if (mp_damage_describe(&quality->damage, damage, sizeof damage))
        add_text(&line, damage);
    add_count(&line, quality->dropped, "record was dropped", "records were dropped");
    add_count(&line, quality->taken_over, "call whose records another CUPTI client got, at least",
              "calls whose records another CUPTI client got, at least");
    add_count(&line, quality->cupti_errors, "error of CUPTI", "errors of CUPTI");
    if (quality->forced_exits)
        add_text(&line, "the program ended before all of its records were written");
    add_count(&line, quality->unknown_times, "row without a begin time is left out",
              "rows without a begin time are left out");
    add_count(&line, quality->reversed_times, "row that ends before it begins is left out",
              "rows that end before they begin are left out");
    add_count(&line, quality->undefined, "row refers to a name that is not in the file",
              "rows refer to names that are not in the file");
    return text;
}
