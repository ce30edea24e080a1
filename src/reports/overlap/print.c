/* Prints what ran at the same time: one section a device, with text, CSV and JSON from the same
 * result.
 */
#include "reports/overlap/overlap.h"

#include <inttypes.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* Waiting for peers is no work, but a cause of idle time. */
static const char *const titles[OVERLAP_PEERS] = {
    [OVERLAP_KERNEL] = "Kernel", [OVERLAP_HTOD] = "HtoD",
    [OVERLAP_DTOH] = "DtoH",     [OVERLAP_COPY] = "Other copy",
    [OVERLAP_SET] = "Set",       [OVERLAP_COMMUNICATION] = "Communication",
};

static const char *const keys[OVERLAP_PEERS] = {
    [OVERLAP_KERNEL] = "kernel", [OVERLAP_HTOD] = "htod", [OVERLAP_DTOH] = "dtoh",
    [OVERLAP_COPY] = "copy",     [OVERLAP_SET] = "set",   [OVERLAP_COMMUNICATION] = "communication",
};

static double percent_of(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

#define DEVICE_BYTES 96

/* `H100 (0)`, or `unknown`. Returns `text`. */
static const char *device_text(const struct overlap_device *device, char text[DEVICE_BYTES])
{
    if (device->device == UINT64_MAX)
        snprintf(text, DEVICE_BYTES, "unknown");
    else
        snprintf(text, DEVICE_BYTES, "%.64s (%" PRIu64 ")", device->name ? device->name : "GPU",
                 device->device);
    return text;
}

/* What the tables are of; in CSV their first column is the device. */
struct shown_devices {
    const struct overlap *overlap;
    const struct overlap_device *devices;
    size_t count;
};

/* Rows begin with these members. */
struct device_line {
    const struct overlap_device *device;
};

static struct report_cell device_cell(const void *at, struct report_table *table)
{
    const struct overlap_device *device = ((const struct device_line *)at)->device;
    char text[DEVICE_BYTES];

    return report_text_cell(report_copy(table, device_text(device, text)));
}

static struct report_cell window_share(const struct report_table *table, uint64_t ns)
{
    const struct shown_devices *shown = table->of;

    return report_real_cell(percent_of(ns, shown->overlap->window));
}

#define DEVICE_COLUMN                                                                              \
    COLUMN("Device", "device_name", TEXT, 0, .cell = device_cell,                                  \
           .formats = REPORT_IN_CSV | REPORT_IN_SHEET)

/* ---- Activities ---- */

/* A set of activities of which at least one runs; or idle time. */
struct activity_line {
    const struct overlap_device *device;
    const char *title;
    uint64_t calls, busy, exposed;
    unsigned set; /* bits of enum overlap_activity; 0: idle */
    bool has_exposed;
};

#define OF(member) MEMBER(struct activity_line, member)
#define IF_SET     WHEN(struct activity_line, set)
#define IF_EXPOSED WHEN(struct activity_line, has_exposed)
#define ALL_RAN    (OVERLAP_SETS - 1)
#define TOGETHER(title, which)                                                                     \
    COLUMN(title, NULL, TIME, 8, .cell = together_cell, IF_SET, .index = OVERLAP_##which,          \
           .needs = 1u << OVERLAP_##which)

static struct report_cell busy_share_cell(const void *at, struct report_table *table)
{
    return window_share(table, ((const struct activity_line *)at)->busy);
}

static struct report_cell exposed_share_cell(const void *at, struct report_table *table)
{
    const struct activity_line *line = at;

    (void)table;
    return report_real_cell(percent_of(line->exposed, line->busy));
}

/* How long the set ran together with the activity that is the column's `index`. */
static struct report_cell together_cell(const void *at, struct report_table *table)
{
    const struct activity_line *line = at;
    const struct overlap_times *times = &line->device->times;
    unsigned other = table->column->index;

    if (line->set == 1u << other)
        return report_number_cell(times->twice[other]);
    return report_number_if(!(line->set >> other & 1),
                            overlap_time(times, 1u << other, line->set, 0));
}

/* The layout's `there` are the activities that ran. */
static const struct report_column activity_columns[] = {
    DEVICE_COLUMN,
    COLUMN("Activity", NULL, TEXT, 13, OF(title)),
    COLUMN("Calls", NULL, COUNT, 5, OF(calls), IF_SET),
    COLUMN("Busy", NULL, TIME, 8, OF(busy)),
    COLUMN("Window(%)", NULL, PERCENT, 7, .cell = busy_share_cell),
    COLUMN("Exposed", NULL, TIME, 8, OF(exposed), IF_EXPOSED),
    COLUMN("Exposed(%)", NULL, PERCENT, 7, .cell = exposed_share_cell, IF_EXPOSED),
    TOGETHER("& Kernel", KERNEL),
    TOGETHER("& HtoD", HTOD),
    TOGETHER("& DtoH", DTOH),
    TOGETHER("& Copy", COPY),
    TOGETHER("& Set", SET),
    TOGETHER("& Comm.", COMMUNICATION),
};
#undef OF

static unsigned activities_of(const struct overlap_device *device)
{
    unsigned ran = 0;

    for (int i = 0; i < OVERLAP_ACTIVITIES; i++)
        ran |= (unsigned)(device->times.calls[i] != 0) << i;
    return ran;
}

static uint64_t calls_of(const struct overlap_times *times, unsigned set)
{
    uint64_t calls = 0;

    for (int i = 0; i < OVERLAP_ACTIVITIES; i++)
        calls += set >> i & 1 ? times->calls[i] : 0;
    return calls;
}

static void take_set(struct report_table *table, report_take *take,
                     const struct overlap_device *device, const char *title, unsigned set)
{
    const struct overlap_times *times = &device->times;

    take(table, &(struct activity_line){
                    .device = device,
                    .title = title,
                    .calls = calls_of(times, set),
                    .busy = overlap_time(times, 0, set, 0),
                    .exposed = overlap_time(times, 0, set, 1u << OVERLAP_KERNEL),
                    .set = set,
                    .has_exposed = !(set & 1u << OVERLAP_KERNEL),
                });
}

static void each_activity(struct report_table *table, report_take *take)
{
    const struct shown_devices *shown = table->of;
    bool all = table->format == REPORT_CSV;

    for (size_t i = 0; i < shown->count; i++) {
        const struct overlap_device *device = &shown->devices[i];
        unsigned ran = activities_of(device);
        unsigned copies = ran & OVERLAP_COPIES;

        for (int j = 0; j < OVERLAP_PEERS; j++) {
            if (all || ran >> j & 1)
                take_set(table, take, device, titles[j], 1u << j);
        }
        if (all || copies & (copies - 1))
            take_set(table, take, device, "All copies", OVERLAP_COPIES);
        take_set(table, take, device, "Any", OVERLAP_WORK);
        take(table, &(struct activity_line){device, .title = "Idle", .busy = device->idle});
        if (shown->overlap->knows_peers)
            take(table, &(struct activity_line){device, .title = "Idle: for peers",
                                                .busy = device->idle_peers});
    }
}

static void print_activities(const struct report_out *out, const struct shown_devices *shown)
{
    struct report_layout layout = {REPORT_COLUMNS(activity_columns), .of = shown};

    if (out->format == REPORT_CSV)
        layout.there = ALL_RAN;
    for (size_t i = 0; i < shown->count; i++)
        layout.there |= activities_of(&shown->devices[i]);
    report_print(out, &layout, each_activity);
}

/* ---- Kernels at once ---- */

struct kernels_line {
    const struct overlap_device *device;
    const struct overlap_times *times;
    double mean;
};

#define OF(member) THROUGH(struct kernels_line, times, member)

static const struct report_column kernel_columns[] = {
    DEVICE_COLUMN,
    COLUMN("Kernels at once", NULL, REAL, 5, MEMBER(struct kernels_line, mean)),
    COLUMN("Most", NULL, COUNT, 4, OF(peak_kernels)),
    COLUMN("One", NULL, TIME, 8, OF(kernels[0])),
    COLUMN("Two", NULL, TIME, 8, OF(kernels[1])),
    COLUMN("Three", NULL, TIME, 8, OF(kernels[2])),
    COLUMN("Four or more", NULL, TIME, 8, OF(kernels[3])),
};
#undef OF

_Static_assert(OVERLAP_LEVELS == 4, "kernel_columns has a column for each level");

static void each_device(struct report_table *table, report_take *take)
{
    const struct shown_devices *shown = table->of;

    for (size_t i = 0; i < shown->count; i++) {
        const struct overlap_times *times = &shown->devices[i].times;

        if (times->calls[OVERLAP_KERNEL])
            take(table,
                 &(struct kernels_line){&shown->devices[i], times, overlap_mean_kernels(times)});
    }
}

/* Prints nothing if no kernel ran. */
static void print_kernels_at_once(const struct report_out *out, const struct shown_devices *shown)
{
    bool any = false;

    for (size_t i = 0; i < shown->count; i++)
        any |= shown->devices[i].times.calls[OVERLAP_KERNEL] != 0;
    if (any || !report_has_titles(out))
        report_print(
            out,
            &(struct report_layout){REPORT_COLUMNS(kernel_columns), .of = shown, .name = "kernels"},
            each_device);
}

/* ---- Streams ---- */

struct stream_line {
    const struct overlap_device *device;
    const struct overlap_stream *stream;
};

#define OF(member) THROUGH(struct stream_line, stream, member)
#define IF_DEFINED .when = REPORT_THROUGH(struct stream_line, stream, defined)

static struct report_cell stream_window_cell(const void *at, struct report_table *table)
{
    return window_share(table, ((const struct stream_line *)at)->stream->busy);
}

static struct report_cell overlapped_share_cell(const void *at, struct report_table *table)
{
    const struct overlap_stream *stream = ((const struct stream_line *)at)->stream;

    (void)table;
    return report_real_cell(percent_of(stream->overlapped, stream->busy));
}

static const struct report_column stream_columns[] = {
    DEVICE_COLUMN,
    COLUMN("Stream", "stream", ID, 6, OF(stream), IF_DEFINED),
    COLUMN("Context", "context", ID, 7, OF(context), IF_DEFINED),
    COLUMN("Calls", "calls", COUNT, 5, OF(calls)),
    COLUMN("Busy", "busy_ns", TIME, 8, OF(busy)),
    COLUMN("Window(%)", NULL, PERCENT, 7, .cell = stream_window_cell),
    COLUMN("Share(%)", "share_percent", PERCENT, 7, OF(share)),
    COLUMN("Overlapped", "overlapped_ns", TIME, 8, OF(overlapped)),
    COLUMN("Overlapped(%)", NULL, PERCENT, 7, .cell = overlapped_share_cell),
};

static void each_stream(struct report_table *table, report_take *take)
{
    const struct shown_devices *shown = table->of;

    for (size_t i = 0; i < shown->count; i++) {
        const struct overlap_device *device = &shown->devices[i];

        for (size_t j = 0; j < device->stream_count; j++)
            take(table, &(struct stream_line){device, &device->streams[j]});
    }
}

static struct report_layout streams_layout(const struct shown_devices *shown)
{
    return (struct report_layout){REPORT_COLUMNS(stream_columns), .of = shown, .name = "streams"};
}

static void print_streams(const struct report_out *out, const struct shown_devices *shown)
{
    const struct report_layout layout = streams_layout(shown);

    report_print(out, &layout, each_stream);
}

/* ---- Text and CSV ---- */

#define MAX_UNUSED 16 /* ids that are printed */

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
    char text[DEVICE_BYTES];

    if (!shown)
        return;
    print_prefix(out, trace);
    fprintf(out->file, "Note: %s stream%s that the program made ran nothing on ",
            mp_count(device->unused_count).text, device->unused_count == 1 ? "" : "s");
    foreign_put_text(out->file, device_text(device, text));
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
    if (overlap->graph_launches)
        print_note(out, trace,
                   "Note: %s launch%s of CUDA graphs recorded as a whole: each counts as one "
                   "kernel, from the begin of its first node to the end of its last.",
                   mp_count(overlap->graph_launches).text,
                   overlap->graph_launches == 1 ? "" : "es");
    if (overlap->migrations)
        print_note(out, trace, "Note: what unified memory moves is not counted.");
}

static void print_device(const struct report_out *out, const struct mp_trace *trace,
                         const struct overlap *overlap, const struct overlap_device *device)
{
    const struct shown_devices shown = {overlap, device, 1};
    char text[DEVICE_BYTES];

    print_prefix(out, trace);
    fputs("  Device \"", out->file);
    foreign_put_text(out->file, device_text(device, text));
    fputs("\"\n", out->file);
    print_activities(out, &shown);
    fputc('\n', out->file);
    if (device->times.calls[OVERLAP_KERNEL]) {
        print_kernels_at_once(out, &shown);
        fputc('\n', out->file);
    }
    print_streams(out, &shown);
    fputc('\n', out->file);
}

static void overlap_print_text(const struct report_out *out, const struct mp_trace *trace,
                               const struct overlap *overlap, uint64_t range)
{
    const struct shown_devices all = {overlap, overlap->devices, overlap->device_count};

    print_head(out, trace, &overlap->quality, range, ranges_count(&overlap->profile->ranges));
    if (quality_gap(&overlap->quality)) {
        print_gap(out, trace, quality_gap(&overlap->quality), "busy time and no overlap");
        if (report_has_titles(out))
            return;
    }
    if (!overlap->device_count)
        print_note(out, trace, "No kernels and no copies in the trace%s.",
                   overlap->recorded ? "" : ": MINIPROF_GPU=off");
    if (out->format == REPORT_CSV) {
        print_activities(out, &all);
        print_kernels_at_once(out, &all);
        print_streams(out, &all);
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
    JSON_FACTS(json, FACT("activity", keys[activity]), FACT("calls", times->calls[activity]),
               FACT("total_ns", times->total[activity]),
               FACT("busy_ns", overlap_time(times, set, 0, 0)),
               FACT_IF("exposed_ns", activity != OVERLAP_KERNEL,
                       overlap_time(times, set, 0, 1u << OVERLAP_KERNEL)));
    json_key_object(json, "with_ns");
    for (int i = 0; i < OVERLAP_PEERS; i++)
        JSON_FACTS(json,
                   FACT(keys[i], i == (int)activity ? times->twice[i]
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

static void json_device(struct json_writer *json, const struct overlap *overlap,
                        const struct overlap_device *device)
{
    const struct report_layout streams =
        streams_layout(&(struct shown_devices){overlap, device, 1});
    const struct overlap_times *times = &device->times;

    json_open_object(json);
    JSON_FACTS(json, FACT_IF("device", device->device != UINT64_MAX, device->device),
               FACT("name", device->name), FACT("busy_ns", device->busy),
               FACT("idle_ns", device->idle),
               FACT_IF("idle_peer_ns", overlap->knows_peers, device->idle_peers));
    json_key_array(json, "activities");
    for (int i = 0; i < OVERLAP_PEERS; i++)
        json_activity(json, times, (enum overlap_activity)i);
    json_close_array(json);
    JSON_KEY_OBJECT(
        json, "copies", FACT("busy_ns", overlap_time(times, 0, OVERLAP_COPIES, 0)),
        FACT("exposed_ns", overlap_time(times, 0, OVERLAP_COPIES, 1u << OVERLAP_KERNEL)));
    json_kernels(json, times);
    report_json_print(json, "streams", &streams, each_stream);
    json_key_numbers(json, "unused_streams", device->unused, device->unused_count);
    json_close_object(json);
}

static void overlap_print_json(FILE *out, const struct mp_trace *trace,
                               const struct overlap *overlap, uint64_t range)
{
    struct json_writer json;

    json_open_document(&json, out, 4);
    json_head(&json, trace, &overlap->quality, &overlap->profile->definitions, range,
              ranges_count(&overlap->profile->ranges));
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
        json_device(&json, overlap, &overlap->devices[i]);
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
