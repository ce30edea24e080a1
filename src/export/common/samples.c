/* Samples of counters: numbers become names, and stored values become numbers again. */
#include "export/common/samples.h"

#include <math.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/text/utf8.h"
#include "model/trace/ranges.h"
#include "model/trace/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])

struct counter {
    const char *name; /* NULL: not defined */
    uint64_t device;
    enum metric_unit unit;
    double step;
};

struct pass {
    const struct export_process *process;
    export_take_sample *take;
    void *context;
    const struct capture_range *range; /* NULL: everything */
    struct dense counters;             /* of struct counter */
    struct definitions definitions;
    struct quality quality;
};

static enum mp_status take_counter(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t unit = CELL(counter, unit), step = CELL(counter, step);
    const char *name = definitions_text(&pass->definitions, CELL(counter, name));
    enum mp_status status = dense_reach(&pass->counters, CELL(counter, id));
    struct counter *counter;

    if (status || !name || strlen(name) > EXPORT_COUNTER_BYTES ||
        !utf8_is_valid(name, strlen(name)))
        return status == MP_ERR_LIMIT ? MP_OK : status;
    counter = dense_at(&pass->counters, CELL(counter, id));
    counter->name = name;
    counter->device = CELL(counter, device);
    counter->unit = unit <= METRIC_UNIT_CELSIUS ? (enum metric_unit)unit : METRIC_UNIT_NONE;
    memcpy(&counter->step, &step, sizeof step);
    return MP_OK;
}

static bool is_wanted(const struct pass *pass, const struct export_sample *sample)
{
    uint64_t devices = pass->process->options->devices;

    if (devices && (sample->device >= 64 || !(devices >> sample->device & 1)))
        return false;
    return !pass->range ||
           (sample->start >= pass->range->begin_time && sample->end <= pass->range->end_time);
}

static enum mp_status take_sample(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t id = CELL(sample, counter), end = CELL(sample, time), length = CELL(sample, length);
    const struct counter *counter = dense_at(&pass->counters, id);
    struct export_sample sample;

    if (!counter || !counter->name || length >= end || end > INT64_MAX)
        return MP_OK;
    sample = (struct export_sample){.counter = id,
                                    .device = counter->device,
                                    .name = counter->name,
                                    .unit = counter->unit,
                                    .start = end - length,
                                    .end = end,
                                    .value = sampled_unpack(CELL(sample, value), counter->step)};
    if (!isfinite(sample.value) || !is_wanted(pass, &sample))
        return MP_OK;
    return pass->take(pass->context, &sample);
}

static enum mp_status take_batch(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;
    unsigned table = batch->table->id;

    if (table != MP_TABLE_counter && table != MP_TABLE_sample) {
        MP_TRY(definitions_take(&pass->definitions, batch));
        return quality_take(&pass->quality, batch);
    }
    for (uint32_t row = 0; row < batch->rows; row++)
        MP_TRY(table == MP_TABLE_counter ? take_counter(pass, batch, row)
                                         : take_sample(pass, batch, row));
    return MP_OK;
}

static void select_samples(struct mp_cursor *cursor, void *context)
{
    (void)context;
    definitions_select(cursor, false);
    quality_select(cursor);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_counter), UINT32_MAX);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_sample), UINT32_MAX);
}

enum mp_status export_samples(const struct export_process *process, export_take_sample *take,
                              void *context, struct mp_error *error)
{
    struct pass pass = {.process = process, .take = take, .context = context};
    const struct reading reading = {.trace = process->trace,
                                    .what = "the samples",
                                    .context = &pass,
                                    .select = select_samples,
                                    .take = take_batch,
                                    .quality = &pass.quality,
                                    .definitions = &pass.definitions};
    struct capture_ranges ranges;
    enum mp_status status;
    bool any;

    MP_TRY(reading_has_rows(process->trace, MP_TABLE_sample, &any, error));
    if (!any)
        return MP_OK;
    definitions_init(&pass.definitions, process->trace);
    quality_init(&pass.quality, process->trace);
    ranges_init(&ranges, process->trace);
    dense_init(&pass.counters, sizeof(struct counter), 1u << 20);
    status = ranges_load(&ranges, process->trace, error);
    if (!status)
        status = ranges_choose(&ranges, process->options->range, &pass.range, error);
    if (!status)
        status = reading_run(&reading, error);
    dense_free(&pass.counters);
    ranges_free(&ranges);
    quality_free(&pass.quality);
    definitions_free(&pass.definitions);
    return status;
}
