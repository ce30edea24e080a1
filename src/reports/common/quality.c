/* The lines that every report begins with: nvprof's prefix, what was lost, and what the times rest
 * on. A report on a damaged trace says so before any number.
 */
#include "reports/common/quality.h"

#include <inttypes.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/flight.h"

#include "base/poison.h"

void print_warning(const struct report_out *out, const struct mp_trace *trace,
                   const struct quality *quality)
{
    char text[QUALITY_TEXT_BYTES];

    if (!*quality_describe(quality, text, sizeof text))
        return;
    print_prefix(out, trace);
    fprintf(out->file, "Warning: %s.\n", text);
}

void print_profiled_note(const struct report_out *out, const struct mp_trace *trace,
                         const struct quality *quality)
{
    if (!quality->profiled)
        return;
    print_prefix(out, trace);
    fprintf(out->file,
            "Note: %s"
            " kernel%s run again for metrics: the times of %s are the profiler's, and "
            "launching calls waited for all passes.\n",
            mp_count(quality->profiled).text, quality->profiled == 1 ? " was" : "s were",
            quality->profiled == 1 ? "it" : "these");
}

void print_baseline_note(const struct report_out *out, const struct mp_trace *trace,
                         const struct quality *quality)
{
    if (!quality->baseline_unrecorded)
        return;
    print_prefix(out, trace);
    fprintf(out->file,
            "Note: %s of %s steps were not recorded, as --baseline asks: what is "
            "counted here is of the others.\n",
            mp_count(quality->baseline_unrecorded).text, mp_count(quality->baseline_steps).text);
}

void print_callbacks_note(const struct report_out *out, const struct mp_trace *trace,
                          const struct quality *quality)
{
    if (!quality->callbacks_taken)
        return;
    print_note(out, trace, "Note: " QUALITY_CALLBACKS_NOTE);
}

/* Notes on work of the device that CUPTI does not report, as far as the recorder can notice it. */
static void print_device_notes(const struct report_out *out, const struct mp_trace *trace,
                               const struct quality *quality)
{
    uint64_t graphs = quality->device_launches ? 0 : quality->device_graphs;

    if (graphs) {
        print_prefix(out, trace);
        fprintf(out->file,
                "Note: %s CUDA graph%s made that the device may launch by itself: such "
                "launches are not in the trace.\n",
                mp_count(graphs).text, graphs == 1 ? " was" : "s were");
    }
    if (quality->conditional_graphs) {
        print_prefix(out, trace);
        fprintf(out->file,
                "Note: %s CUDA graph%s made with conditional nodes: what their bodies run "
                "again on the device may be missing.\n",
                mp_count(quality->conditional_graphs).text,
                quality->conditional_graphs == 1 ? " was" : "s were");
    }
}

void print_head(const struct report_out *out, const struct mp_trace *trace,
                const struct quality *quality, uint64_t range, size_t range_count)
{
    const char *command = command_of(trace);

    print_warning(out, trace, quality);
    print_baseline_note(out, trace, quality);
    print_callbacks_note(out, trace, quality);
    print_flight_note(out, trace);
    print_profiled_note(out, trace, quality);
    print_device_notes(out, trace, quality);
    if (!report_has_titles(out))
        return;
    if (command) {
        print_prefix(out, trace);
        fputs("Profiling application: ", out->file);
        foreign_put_text(out->file, command);
        fputc('\n', out->file);
    }
    if (range) {
        print_prefix(out, trace);
        fprintf(out->file, "Capture range %" PRIu64 " of %s\n", range, mp_count(range_count).text);
    }
}

void print_gap(const struct report_out *out, const struct mp_trace *trace,
               const struct quality_gap *gap, const char *what)
{
    print_prefix(out, trace);
    fprintf(out->file, "No %s: %s.\n", what, gap->why);
    if (out->sheet)
        out->sheet->rowless = true;
}

static void json_damage(struct json_writer *json, const struct mp_damage *damage)
{
    JSON_KEY_OBJECT(json, "damage", FACT("bytes_skipped", damage->bytes_skipped),
                    FACT("chunks_damaged", damage->chunks_damaged),
                    FACT("rows_damaged", damage->rows_damaged),
                    FACT("chunks_missing", damage->chunks_missing),
                    FACT("chunks_unknown", damage->chunks_unknown),
                    FACT("truncated", damage->truncated), FACT("no_index", damage->no_index));
}

static void json_counters(struct json_writer *json, const struct quality *quality,
                          const struct definitions *definitions)
{
    size_t position = 0;
    const char *name;
    uint64_t value;

    json_key_object(json, "counters");
    while (quality_next_counter(quality, definitions, &position, &name, &value)) {
        if (name)
            JSON_FACTS(json, FACT(name, value));
    }
    json_close_object(json);
}

void json_quality(struct json_writer *json, const struct quality *quality,
                  const struct definitions *definitions)
{
    char text[QUALITY_TEXT_BYTES];

    quality_describe(quality, text, sizeof text);
    json_open_object(json);
    JSON_FACTS(json, FLAG("whole", !*text), FACT_IF("warning", *text, text),
               FACT("dropped", quality->dropped), FACT("unknown_times", quality->unknown_times),
               FACT("reversed_times", quality->reversed_times),
               FACT("undefined_names", quality->undefined));
    if (quality->untimed.without)
        JSON_FACTS(json, FACT("kernels_without_times", quality->untimed.without));
    if (quality_gap(quality))
        JSON_FACTS(json, FACT("gap", quality_gap(quality)->key));
    json_damage(json, &quality->damage);
    json_counters(json, quality, definitions);
    json_close_object(json);
}

void json_head(struct json_writer *json, const struct mp_trace *trace,
               const struct quality *quality, const struct definitions *definitions, uint64_t range,
               size_t range_count)
{
    const char *pid = mp_trace_property(trace, "pid");
    uint64_t number;

    JSON_FACTS(json, FACT_IF("pid", pid && mp_text_to_u64(pid, 0, UINT64_MAX, &number), number),
               FACT("command", command_of(trace)), FACT("ranges", range_count),
               FACT_IF("range", range, range));
    json_flight(json, trace);
    json_key(json, "quality");
    json_quality(json, quality, definitions);
}
