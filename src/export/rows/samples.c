/* Samples of counters: numbers become names, and stored values become numbers again. */
#include "export/rows/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/strings.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

struct counter {
    const char *name; /* NULL: not defined */
    uint64_t device, source;
    enum metric_unit unit;
    double step;
};

/* A stretch of time whose samples are wanted. */
struct span {
    uint64_t begin, end;
};

struct pass {
    const struct export_rows *rows;
    export_take_sample *take;
    void *context;
    struct span *spans; /* in order, apart from each other; owned */
    size_t span_count;
    struct dense counters; /* of struct counter */
};

static enum mp_status take_counter(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_counter_columns columns = mp_counter_columns(batch->columns);
    struct pass *pass = context;
    uint64_t unit = columns.unit[row], step = columns.step[row];
    const char *name = definitions_text(&pass->rows->definitions, columns.name[row]);
    enum mp_status status = dense_reach(&pass->counters, columns.id[row]);

    if (status || !name || strlen(name) > EXPORT_COUNTER_BYTES ||
        !utf8_is_valid(name, strlen(name)))
        return status == MP_ERR_LIMIT ? MP_OK : status;
    struct counter *counter = dense_at(&pass->counters, columns.id[row]);
    counter->name = name;
    counter->device = columns.device[row];
    counter->source = columns.source[row];
    counter->unit = unit <= METRIC_UNIT_CELSIUS ? (enum metric_unit)unit : METRIC_UNIT_NONE;
    memcpy(&counter->step, &step, sizeof step);
    return MP_OK;
}

static bool has_device(const struct pass *pass, uint64_t device)
{
    uint64_t devices = pass->rows->options.devices;

    return !devices || (device < 64 && (devices >> device & 1));
}

/* What was counted must be in a span as a whole, since it would count other work too. A reading is
 * of one moment, so what it stands for can be cut; the recorder has the same rule. */
static enum mp_status deliver(struct pass *pass, const struct export_sample *sample, bool reading)
{
    size_t at = MP_SEARCH(0, pass->span_count, i, pass->spans[i].end <= sample->start);

    for (; at < pass->span_count && pass->spans[at].begin < sample->end; at++) {
        const struct span *span = &pass->spans[at];
        struct export_sample part = *sample;

        part.start = span->begin > sample->start ? span->begin : sample->start;
        part.end = span->end < sample->end ? span->end : sample->end;
        if (reading || (part.start == sample->start && part.end == sample->end))
            MP_TRY(pass->take(pass->context, &part));
    }
    return MP_OK;
}

static enum mp_status take_sample(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_sample_columns columns = mp_sample_columns(batch->columns);
    struct pass *pass = context;
    uint64_t id = columns.counter[row], end = columns.time[row], length = columns.length[row];
    const struct counter *counter = dense_at(&pass->counters, id);

    if (!counter || !counter->name || length >= end || end > INT64_MAX)
        return MP_OK;
    struct export_sample sample =
        (struct export_sample){.counter = id,
                               .device = counter->device,
                               .name = counter->name,
                               .unit = counter->unit,
                               .start = end - length,
                               .end = end,
                               .value = sampled_unpack(columns.value[row], counter->step)};
    if (!isfinite(sample.value) || !has_device(pass, sample.device))
        return MP_OK;
    return deliver(pass, &sample, counter->source == SAMPLED_BY_NVML);
}

/* ---- What is wanted ---- */

/* Adds the part of an iteration, or of everything, that is in the range; NULL: there is no range.
 */
static void add_span(struct pass *pass, struct span span, const struct capture_range *range)
{
    struct span *last = pass->span_count ? &pass->spans[pass->span_count - 1] : NULL;

    if (range && span.begin < range->begin_time)
        span.begin = range->begin_time;
    if (range && span.end > range->end_time)
        span.end = range->end_time;
    if (span.begin >= span.end)
        return;
    if (!last || last->end < span.begin)
        pass->spans[pass->span_count++] = span;
    else if (last->end < span.end)
        last->end = span.end;
}

static enum mp_status find_spans(struct pass *pass, const struct capture_range *range,
                                 struct mp_error *error)
{
    const struct export_options *options = &pass->rows->options;
    const struct iterations *iterations = &pass->rows->analyses.iterations;
    uint64_t from = options->iterations_from, until = options->iterations_until;

    pass->spans = calloc(until ? until - from + 1 : 1, sizeof *pass->spans);
    if (!pass->spans)
        return mp_error_set(error, MP_ERR_MEMORY, "cannot read the samples: no memory");
    if (!until)
        add_span(pass, (struct span){.end = UINT64_MAX}, range);
    for (uint64_t i = from; until && i <= until && i <= iterations->count; i++) {
        const struct iteration *iteration = &iterations->items[i - 1];

        add_span(pass, (struct span){iteration->begin, iteration->end}, range);
    }
    return MP_OK;
}

enum mp_status export_samples(const struct export_rows *rows, export_take_sample *take,
                              void *context, struct mp_error *error)
{
    struct pass pass = {.rows = rows, .take = take, .context = context};
    static const struct reading_table tables[] = {
        {MP_TABLE_counter, MP_ALL_COLUMNS, .take_row = take_counter},
        {MP_TABLE_sample, MP_ALL_COLUMNS, .take_row = take_sample},
    };
    const struct reading reading = {
        .trace = rows->trace, .what = "the samples", .context = &pass, READING_TABLES(tables)};
    bool any;

    MP_TRY(reading_has_rows(rows->trace, MP_TABLE_sample, &any, error));
    if (!any)
        return MP_OK;
    dense_init(&pass.counters, sizeof(struct counter), 1u << 20);
    enum mp_status status = find_spans(&pass, rows->range, error);
    if (!status)
        status = reading_run(&reading, error);
    free(pass.spans);
    dense_free(&pass.counters);
    return status;
}
