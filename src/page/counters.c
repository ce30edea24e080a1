/* The counters over time of a page: the document that says what there is, and the columns. */
#include <stdio.h>

#include "base/data/varint.h"
#include "base/text/json_write.h"
#include "page/analyses.h"
#include "reports/counters/counters.h"
#include "reports/counters/print.h"

#include "base/poison.h"

static const struct counters_bin *bins_of(const struct counters_bins *set, size_t place)
{
    return &set->values[place * set->max];
}

/* ---- What there is ---- */

static double max_value(const struct counters_bins *set, size_t place, double step)
{
    uint16_t max = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct counters_bin *bin = &bins_of(set, place)[i];

        if (bin->mean != SAMPLED_UNKNOWN && bin->max > max)
            max = bin->max;
    }
    return sampled_unpack(max, step);
}

static void json_set(struct json_writer *json, const struct counters_lines *lines,
                     const struct counters_bins *set)
{
    json_open_object(json);
    JSON_FACTS(json, FACT("device", set->device), FACT("bins", (uint64_t)set->count));
    json_key_array(json, "counters");
    for (size_t i = 0; i < set->width; i++) {
        const struct counters_counter *counter = &lines->result.counters[set->counters[i]];

        JSON_OBJECT(json, FACT("name", counter->name),
                    FACT("unit", counters_unit_name(counter->unit)),
                    FACT("source", counters_source_name(counter->by)), FACT("step", counter->step),
                    FACT("most", max_value(set, i, counter->step)));
    }
    json_close_array(json);
    json_close_object(json);
}

enum mp_status html_print_counter_lines(FILE *out, struct html_material *material,
                                        struct mp_error *error)
{
    const struct counters_window window = {.range = material->range,
                                           .from = material->timeline.origin,
                                           .until = material->timeline.end,
                                           .max = HTML_COUNTER_BINS};
    struct counters_lines *lines = &material->counters;
    struct json_writer json;

    MP_TRY(counters_lines_build(material->trace, &window, lines, error));
    if (!lines->count) {
        html_print_note(out, "No sampled counters in the trace.");
        return MP_OK;
    }
    json_open_document(&json, out, 2);
    json_key_array(&json, "sets");
    for (size_t i = 0; i < lines->count; i++)
        json_set(&json, lines, &lines->sets[i]);
    json_close_array(&json);
    json_close_document(&json);
    return MP_OK;
}

/* ---- Columns ---- */

static void pack_times(struct mp_buffer *blob, const struct counters_bins *set, uint64_t origin)
{
    uint64_t before = origin;

    for (size_t i = 0; i < set->count; i++) {
        mp_buffer_append_varint(blob, mp_delta(set->begins[i], before));
        before = set->ends[i];
    }
    for (size_t i = 0; i < set->count; i++)
        mp_buffer_append_varint(blob, set->ends[i] - set->begins[i]);
}

static void pack_values(struct mp_buffer *blob, const struct counters_bin *bins, size_t count)
{
    uint16_t last = 0;

    for (size_t i = 0; i < count; i++) {
        if (bins[i].mean == SAMPLED_UNKNOWN) {
            mp_buffer_append_varint(blob, 0);
            continue;
        }
        mp_buffer_append_varint(blob, 1 + mp_delta(bins[i].mean, last));
        last = bins[i].mean;
    }
    for (size_t i = 0; i < count; i++)
        if (bins[i].mean != SAMPLED_UNKNOWN)
            mp_buffer_append_varint(blob, (uint16_t)(bins[i].max - bins[i].mean));
    for (size_t i = 0; i < count; i++)
        if (bins[i].mean != SAMPLED_UNKNOWN)
            mp_buffer_append_varint(blob, (uint16_t)(bins[i].mean - bins[i].min));
}

enum mp_status html_pack_counter_lines(struct mp_buffer *blob, const struct counters_lines *lines,
                                       uint64_t origin)
{
    for (size_t i = 0; i < lines->count; i++) {
        const struct counters_bins *set = &lines->sets[i];

        pack_times(blob, set, origin);
        for (size_t place = 0; place < set->width; place++)
            pack_values(blob, bins_of(set, place), set->count);
    }
    return blob->status;
}
