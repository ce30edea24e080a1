/* Prints what ran at the same time: one section a device, with text, CSV and JSON from the same
 * result.
 */
#include "reports/overlap/print.h"

#include <inttypes.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

#define MAX_UNUSED 16 /* ids that are printed */

/* ---- Text and CSV ---- */

static void print_window(const struct report_out *out, const struct mp_trace *trace,
                         const struct overlap *overlap)
{
    char time[MP_FORMATTED_BYTES];

    print_prefix(out, trace);
    fprintf(out->file, "Overlap: window %s, from the first to the last activity of the devices",
            mp_format_time(time, sizeof time, overlap->window));
    if (overlap->windows > 1)
        fprintf(out->file, " in each of %s capture ranges", mp_count(overlap->windows).text);
    fputs(".\n", out->file);
}

static void print_unused(const struct report_out *out, const struct mp_trace *trace,
                         const struct overlap_device *device)
{
    size_t shown = device->unused_count < MAX_UNUSED ? device->unused_count : MAX_UNUSED;
    char text[OVERLAP_DEVICE_BYTES];

    if (!shown)
        return;
    print_prefix(out, trace);
    fprintf(out->file, "Note: %s stream%s that the program made ran nothing on ",
            mp_count(device->unused_count).text, device->unused_count == 1 ? "" : "s");
    foreign_put_text(out->file, overlap_device_text(device, text));
    for (size_t i = 0; i < shown; i++)
        fprintf(out->file, "%s%" PRIu64, i ? ", " : ": ", device->unused[i]);
    fputs(shown < device->unused_count ? ", ...\n" : ".\n", out->file);
}

static void overlap_print_notes(const struct report_out *out, const struct mp_trace *trace,
                                const struct overlap *overlap)
{
    print_kernel_time(out, trace, &overlap->kernels);
    for (size_t i = 0; i < overlap->device_count; i++)
        print_unused(out, trace, &overlap->devices[i]);
    if (overlap->graph_launches) {
        print_prefix(out, trace);
        fprintf(out->file,
                "Note: %s launch%s of CUDA graphs recorded as a whole: each counts as one "
                "kernel, from the begin of its first node to the end of its last.\n",
                mp_count(overlap->graph_launches).text, overlap->graph_launches == 1 ? "" : "es");
    }
    if (overlap->migrations) {
        print_prefix(out, trace);
        fputs("Note: what unified memory moves is not counted.\n", out->file);
    }
}

static void print_device(const struct report_out *out, const struct mp_trace *trace,
                         const struct overlap *overlap, const struct overlap_device *device)
{
    char text[OVERLAP_DEVICE_BYTES];

    print_prefix(out, trace);
    fputs("  Device \"", out->file);
    foreign_put_text(out->file, overlap_device_text(device, text));
    fputs("\"\n", out->file);
    overlap_print_activities(out, overlap, device, 1);
    fputc('\n', out->file);
    if (device->times.calls[OVERLAP_KERNEL]) {
        overlap_print_kernels(out, device, 1);
        fputc('\n', out->file);
    }
    overlap_print_streams(out, overlap, device, 1);
    fputc('\n', out->file);
}

static void overlap_print_text(const struct report_out *out, const struct mp_trace *trace,
                               const struct overlap *overlap, uint64_t range)
{
    print_head(out, trace, &overlap->quality, range, overlap->capture_ranges);
    if (quality_gap(&overlap->quality)) {
        print_gap(out, trace, quality_gap(&overlap->quality), "busy time and no overlap");
        if (report_has_titles(out))
            return;
    }
    if (!overlap->device_count) {
        print_prefix(out, trace);
        fputs(overlap->recorded ? "No kernels and no copies in the trace.\n"
                                : "No kernels and no copies in the trace: MINIPROF_GPU=off.\n",
              out->file);
    }
    if (out->format == REPORT_CSV) {
        overlap_print_activities(out, overlap, overlap->devices, overlap->device_count);
        overlap_print_kernels(out, overlap->devices, overlap->device_count);
        overlap_print_streams(out, overlap, overlap->devices, overlap->device_count);
    } else if (overlap->device_count) {
        print_window(out, trace, overlap);
        for (size_t i = 0; i < overlap->device_count; i++)
            print_device(out, trace, overlap, &overlap->devices[i]);
    }
    overlap_print_notes(out, trace, overlap);
}

/* ---- JSON ---- */

static void json_activity(struct json_writer *json, const struct overlap_times *times,
                          enum overlap_activity activity)
{
    unsigned set = 1u << activity;

    json_open_object(json);
    JSON_FACTS(json, FACT("activity", overlap_keys[activity]),
               FACT("calls", times->calls[activity]), FACT("total_ns", times->total[activity]),
               FACT("busy_ns", overlap_time(times, set, 0, 0)),
               FACT_IF("exposed_ns", activity != OVERLAP_KERNEL,
                       overlap_time(times, set, 0, 1u << OVERLAP_KERNEL)));
    json_key_object(json, "with_ns");
    for (int i = 0; i < OVERLAP_ACTIVITIES; i++)
        JSON_FACTS(json, FACT(overlap_keys[i], i == (int)activity
                                                   ? times->twice[i]
                                                   : overlap_time(times, set | 1u << i, 0, 0)));
    json_close_object(json);
    json_close_object(json);
}

static void json_kernels(struct json_writer *json, const struct overlap_times *times)
{
    json_key_object(json, "kernels_at_once");
    JSON_FACTS(json, FACT("mean", overlap_mean_kernels(times)), FACT("max", times->peak_kernels));
    json_key_numbers(json, "time_ns", times->kernels, OVERLAP_LEVELS);
    json_close_object(json);
}

static void json_stream(struct json_writer *json, const struct overlap_stream *stream)
{
    JSON_OBJECT(json, FACT_IF("stream", stream->defined, stream->stream),
                FACT_IF("context", stream->defined, stream->context), FACT("calls", stream->calls),
                FACT("busy_ns", stream->busy), FACT("share_percent", stream->share),
                FACT("overlapped_ns", stream->overlapped));
}

static void json_device(struct json_writer *json, const struct overlap_device *device)
{
    const struct overlap_times *times = &device->times;

    json_open_object(json);
    JSON_FACTS(json, FACT_IF("device", device->device != UINT64_MAX, device->device),
               FACT("name", device->name), FACT("busy_ns", device->busy),
               FACT("idle_ns", device->idle));
    json_key_array(json, "activities");
    for (int i = 0; i < OVERLAP_ACTIVITIES; i++)
        json_activity(json, times, (enum overlap_activity)i);
    json_close_array(json);
    JSON_KEY_OBJECT(
        json, "copies", FACT("busy_ns", overlap_time(times, 0, OVERLAP_COPIES, 0)),
        FACT("exposed_ns", overlap_time(times, 0, OVERLAP_COPIES, 1u << OVERLAP_KERNEL)));
    json_kernels(json, times);
    json_key_array(json, "streams");
    for (size_t i = 0; i < device->stream_count; i++)
        json_stream(json, &device->streams[i]);
    json_close_array(json);
    json_key_numbers(json, "unused_streams", device->unused, device->unused_count);
    json_close_object(json);
}

static void overlap_print_json(FILE *out, const struct mp_trace *trace,
                               const struct overlap *overlap, uint64_t range)
{
    struct json_writer json;

    json_open_document(&json, out, 4);
    json_head(&json, trace, &overlap->quality, &overlap->definitions, range,
              overlap->capture_ranges);
    if (quality_gap(&overlap->quality)) {
        JSON_FACTS(&json, json_fact_null("window_ns"), json_fact_null("kernel_time"),
                   json_fact_null("devices"));
        json_close_document(&json);
        return;
    }
    JSON_FACTS(&json, FACT("window_ns", overlap->window), FACT("windows", overlap->windows),
               FACT("graph_launches", overlap->graph_launches),
               FACT("migrations", overlap->migrations));
    json_kernel_time(&json, &overlap->kernels);
    json_key_array(&json, "devices");
    for (size_t i = 0; i < overlap->device_count; i++)
        json_device(&json, &overlap->devices[i]);
    json_close_array(&json);
    json_close_document(&json);
}

void print_overlap(const struct report_out *out, const struct mp_trace *trace,
                   const struct overlap *overlap, uint64_t range)
{
    if (out->format == REPORT_JSON)
        overlap_print_json(out->file, trace, overlap, range);
    else
        overlap_print_text(out, trace, overlap, range);
}
