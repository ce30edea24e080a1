/* The three tables of the overlap report: activities, kernels at the same time, streams. */
#include "reports/overlap/print.h"

#include <inttypes.h>

#include "base/poison.h"

const char *const overlap_titles[OVERLAP_ACTIVITIES] = {
    [OVERLAP_KERNEL] = "Kernel", [OVERLAP_HTOD] = "HtoD",
    [OVERLAP_DTOH] = "DtoH",     [OVERLAP_COPY] = "Other copy",
    [OVERLAP_SET] = "Set",       [OVERLAP_COMMUNICATION] = "Communication",
};

const char *const overlap_keys[OVERLAP_ACTIVITIES] = {
    [OVERLAP_KERNEL] = "kernel", [OVERLAP_HTOD] = "htod", [OVERLAP_DTOH] = "dtoh",
    [OVERLAP_COPY] = "copy",     [OVERLAP_SET] = "set",   [OVERLAP_COMMUNICATION] = "communication",
};

double overlap_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

const char *overlap_device_text(const struct overlap_device *device,
                                char text[OVERLAP_DEVICE_BYTES])
{
    if (device->device == UINT64_MAX)
        snprintf(text, OVERLAP_DEVICE_BYTES, "unknown");
    else
        snprintf(text, OVERLAP_DEVICE_BYTES, "%.64s (%" PRIu64 ")",
                 device->name ? device->name : "GPU", device->device);
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

static struct report_cell overlap_device_cell(const void *at, struct report_table *table)
{
    const struct overlap_device *device = ((const struct device_line *)at)->device;
    char text[OVERLAP_DEVICE_BYTES];

    return report_text_cell(report_say(table, "%s", overlap_device_text(device, text)));
}

static struct report_cell window_share(const struct report_table *table, uint64_t ns)
{
    const struct shown_devices *shown = table->of;

    return report_real_cell(overlap_percent(ns, shown->overlap->window));
}

#define DEVICE_COLUMN                                                                              \
    COLUMN("Device", "device_name", TEXT, 0, .cell = overlap_device_cell,                          \
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
    return report_real_cell(overlap_percent(line->exposed, line->busy));
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

        for (int j = 0; j < OVERLAP_ACTIVITIES; j++) {
            if (all || ran >> j & 1)
                take_set(table, take, device, overlap_titles[j], 1u << j);
        }
        if (all || copies & (copies - 1))
            take_set(table, take, device, "All copies", OVERLAP_COPIES);
        take_set(table, take, device, "Any", OVERLAP_SETS - 1);
        take(table, &(struct activity_line){device, .title = "Idle", .busy = device->idle});
    }
}

void overlap_print_activities(const struct report_out *out, const struct overlap *overlap,
                              const struct overlap_device *devices, size_t count)
{
    const struct shown_devices shown = {overlap, devices, count};
    struct report_layout layout = {REPORT_COLUMNS(activity_columns), .of = &shown};

    if (out->format == REPORT_CSV)
        layout.there = ALL_RAN;
    for (size_t i = 0; i < count; i++)
        layout.there |= activities_of(&devices[i]);
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

void overlap_print_kernels(const struct report_out *out, const struct overlap_device *devices,
                           size_t count)
{
    const struct shown_devices shown = {.devices = devices, .count = count};
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any |= devices[i].times.calls[OVERLAP_KERNEL] != 0;
    if (any || !report_has_titles(out))
        report_print(out,
                     &(struct report_layout){REPORT_COLUMNS(kernel_columns), .of = &shown,
                                             .name = "kernels"},
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
    return report_real_cell(overlap_percent(stream->overlapped, stream->busy));
}

static const struct report_column stream_columns[] = {
    DEVICE_COLUMN,
    COLUMN("Stream", NULL, ID, 6, OF(stream), IF_DEFINED),
    COLUMN("Context", NULL, ID, 7, OF(context), IF_DEFINED),
    COLUMN("Calls", NULL, COUNT, 5, OF(calls)),
    COLUMN("Busy", NULL, TIME, 8, OF(busy)),
    COLUMN("Window(%)", NULL, PERCENT, 7, .cell = stream_window_cell),
    COLUMN("Share(%)", NULL, PERCENT, 7, OF(share)),
    COLUMN("Overlapped", NULL, TIME, 8, OF(overlapped)),
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

void overlap_print_streams(const struct report_out *out, const struct overlap *overlap,
                           const struct overlap_device *devices, size_t count)
{
    const struct shown_devices shown = {.overlap = overlap, .devices = devices, .count = count};

    report_print(
        out,
        &(struct report_layout){REPORT_COLUMNS(stream_columns), .of = &shown, .name = "streams"},
        each_stream);
}
