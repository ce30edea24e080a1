/* The three tables of the overlap report as columns and rows. Each table is walked twice: first to
 * measure, then to print.
 */
#include "reports/overlap/tables.h"

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

/* A table whose first column is that of the device, in CSV only. */
struct device_table {
    struct report_table table;
    struct report_column columns[REPORT_MAX_COLUMNS];
    size_t count;
    const char *name; /* NULL: the main table */
    bool with_device;
    char device[OVERLAP_DEVICE_BYTES];
    struct report_cell cells[REPORT_MAX_COLUMNS];
    size_t filled;
    void (*take)(struct report_table *, const struct report_cell *);
};

#define ITEM(title_, kind_, width_)                                                                \
    (struct report_column)                                                                         \
    {                                                                                              \
        .title = (title_), .kind = REPORT_CELL_##kind_, .width = (width_)                          \
    }

static void add_column(struct device_table *table, struct report_column column)
{
    table->columns[table->count++] = column;
}

static void begin_columns(struct device_table *table, const struct report_out *out)
{
    *table = (struct device_table){.with_device = out->format == REPORT_CSV};
    if (table->with_device)
        add_column(table, (struct report_column){
                              .title = "Device", .key = "device_name", .kind = REPORT_CELL_TEXT});
}

static void begin_row(struct device_table *table, const struct overlap_device *device)
{
    table->filled = 0;
    if (table->with_device)
        table->cells[table->filled++] =
            report_text_cell(overlap_device_text(device, table->device));
}

static void overlap_tables_put(struct device_table *table, struct report_cell cell)
{
    table->cells[table->filled++] = cell;
}

static void put_number(struct device_table *table, bool there, uint64_t number)
{
    overlap_tables_put(table, there ? report_number_cell(number) : report_absent_cell());
}

static void put_real(struct device_table *table, bool there, double number)
{
    overlap_tables_put(table, there ? report_real_cell(number) : report_absent_cell());
}

static void end_row(struct device_table *table)
{
    table->take(&table->table, table->cells);
}

/* Passes all rows to `rows` twice: first to be measured, then to be printed. */
static void overlap_tables_print_table(struct device_table *table, const struct report_out *out,
                                       void (*rows)(struct device_table *, const void *),
                                       const void *context)
{
    report_begin(&table->table, out, table->columns, table->count);
    table->table.name = table->name;
    table->take = out->format == REPORT_TEXT ? report_measure : report_measure_units;
    rows(table, context);
    report_header(&table->table);
    table->take = report_row;
    rows(table, context);
    report_end(&table->table);
}

/* ---- Activities ---- */

struct activities {
    const struct overlap *overlap;
    const struct overlap_device *devices;
    size_t count;
    bool all;     /* also those that never ran */
    unsigned ran; /* bits of enum overlap_activity: on any of the devices */
};

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

/* The row of a set of activities of which at least one runs. */
static void put_set(struct device_table *table, const struct activities *activities,
                    const struct overlap_device *device, const char *title, unsigned set)
{
    const struct overlap_times *times = &device->times;
    uint64_t busy = overlap_time(times, 0, set, 0);
    uint64_t exposed = overlap_time(times, 0, set, 1u << OVERLAP_KERNEL);
    bool has_exposed = !(set & 1u << OVERLAP_KERNEL);

    begin_row(table, device);
    overlap_tables_put(table, report_text_cell(title));
    overlap_tables_put(table, report_number_cell(calls_of(times, set)));
    overlap_tables_put(table, report_number_cell(busy));
    overlap_tables_put(table, report_real_cell(overlap_percent(busy, activities->overlap->window)));
    put_number(table, has_exposed, exposed);
    put_real(table, has_exposed, overlap_percent(exposed, busy));
    for (int i = 0; i < OVERLAP_ACTIVITIES; i++) {
        if (!activities->all && !(activities->ran >> i & 1))
            continue;
        if (set == 1u << i)
            put_number(table, true, times->twice[i]);
        else
            put_number(table, !(set >> i & 1), overlap_time(times, 1u << i, set, 0));
    }
    end_row(table);
}

static void put_idle(struct device_table *table, const struct activities *activities,
                     const struct overlap_device *device)
{
    begin_row(table, device);
    overlap_tables_put(table, report_text_cell("Idle"));
    overlap_tables_put(table, report_absent_cell());
    overlap_tables_put(table, report_number_cell(device->idle));
    overlap_tables_put(
        table, report_real_cell(overlap_percent(device->idle, activities->overlap->window)));
    while (table->filled < table->count)
        overlap_tables_put(table, report_absent_cell());
    end_row(table);
}

static void each_activity(struct device_table *table, const void *context)
{
    const struct activities *activities = context;

    for (size_t i = 0; i < activities->count; i++) {
        const struct overlap_device *device = &activities->devices[i];
        unsigned ran = activities_of(device);
        unsigned copies = ran & OVERLAP_COPIES;

        for (int j = 0; j < OVERLAP_ACTIVITIES; j++) {
            if (activities->all || ran >> j & 1)
                put_set(table, activities, device, overlap_titles[j], 1u << j);
        }
        if (activities->all || copies & (copies - 1))
            put_set(table, activities, device, "All copies", OVERLAP_COPIES);
        put_set(table, activities, device, "Any", OVERLAP_SETS - 1);
        put_idle(table, activities, device);
    }
}

void overlap_print_activities(const struct report_out *out, const struct overlap *overlap,
                              const struct overlap_device *devices, size_t count)
{
    struct activities activities = {overlap, devices, count, out->format == REPORT_CSV, 0};
    struct device_table table;

    for (size_t i = 0; i < count; i++)
        activities.ran |= activities_of(&devices[i]);
    begin_columns(&table, out);
    add_column(&table, ITEM("Activity", TEXT, 13));
    add_column(&table, ITEM("Calls", COUNT, 5));
    add_column(&table, ITEM("Busy", TIME, 8));
    add_column(&table, ITEM("Window(%)", PERCENT, 7));
    add_column(&table, ITEM("Exposed", TIME, 8));
    add_column(&table, ITEM("Exposed(%)", PERCENT, 7));
    for (int i = 0; i < OVERLAP_ACTIVITIES; i++) {
        static const char *const titles[OVERLAP_ACTIVITIES] = {"& Kernel", "& HtoD", "& DtoH",
                                                               "& Copy",   "& Set",  "& Comm."};

        if (activities.all || activities.ran >> i & 1)
            add_column(&table, ITEM(titles[i], TIME, 8));
    }
    overlap_tables_print_table(&table, out, each_activity, &activities);
}

/* ---- Kernels at once ---- */

struct devices {
    const struct overlap *overlap;
    const struct overlap_device *devices;
    size_t count;
};

static void each_device(struct device_table *table, const void *context)
{
    const struct devices *devices = context;

    for (size_t i = 0; i < devices->count; i++) {
        const struct overlap_times *times = &devices->devices[i].times;

        if (!times->calls[OVERLAP_KERNEL])
            continue;
        begin_row(table, &devices->devices[i]);
        overlap_tables_put(table, report_real_cell(overlap_mean_kernels(times)));
        overlap_tables_put(table, report_number_cell(times->peak_kernels));
        for (int level = 0; level < OVERLAP_LEVELS; level++)
            overlap_tables_put(table, report_number_cell(times->kernels[level]));
        end_row(table);
    }
}

void overlap_print_kernels(const struct report_out *out, const struct overlap_device *devices,
                           size_t count)
{
    static const char *const titles[OVERLAP_LEVELS] = {"One", "Two", "Three", "Four or more"};
    const struct devices all = {.devices = devices, .count = count};
    struct device_table table;

    begin_columns(&table, out);
    table.name = "kernels";
    add_column(&table, ITEM("Kernels at once", REAL, 5));
    add_column(&table, ITEM("Most", COUNT, 4));
    for (int level = 0; level < OVERLAP_LEVELS; level++)
        add_column(&table, ITEM(titles[level], TIME, 8));
    for (size_t i = 0; i < count && report_has_titles(out); i++) {
        if (!devices[i].times.calls[OVERLAP_KERNEL])
            continue;
        overlap_tables_print_table(&table, out, each_device, &all);
        break;
    }
    if (!report_has_titles(out))
        overlap_tables_print_table(&table, out, each_device, &all);
}

/* ---- Streams ---- */

static void each_stream(struct device_table *table, const void *context)
{
    const struct devices *devices = context;

    for (size_t i = 0; i < devices->count; i++) {
        const struct overlap_device *device = &devices->devices[i];

        for (size_t j = 0; j < device->stream_count; j++) {
            const struct overlap_stream *stream = &device->streams[j];

            begin_row(table, device);
            put_number(table, stream->defined, stream->stream);
            put_number(table, stream->defined, stream->context);
            overlap_tables_put(table, report_number_cell(stream->calls));
            overlap_tables_put(table, report_number_cell(stream->busy));
            overlap_tables_put(
                table, report_real_cell(overlap_percent(stream->busy, devices->overlap->window)));
            overlap_tables_put(table, report_real_cell(stream->share));
            overlap_tables_put(table, report_number_cell(stream->overlapped));
            overlap_tables_put(table,
                               report_real_cell(overlap_percent(stream->overlapped, stream->busy)));
            end_row(table);
        }
    }
}

void overlap_print_streams(const struct report_out *out, const struct overlap *overlap,
                           const struct overlap_device *devices, size_t count)
{
    const struct devices all = {overlap, devices, count};
    struct device_table table;

    begin_columns(&table, out);
    table.name = "streams";
    add_column(&table, ITEM("Stream", ID, 6));
    add_column(&table, ITEM("Context", ID, 7));
    add_column(&table, ITEM("Calls", COUNT, 5));
    add_column(&table, ITEM("Busy", TIME, 8));
    add_column(&table, ITEM("Window(%)", PERCENT, 7));
    add_column(&table, ITEM("Share(%)", PERCENT, 7));
    add_column(&table, ITEM("Overlapped", TIME, 8));
    add_column(&table, ITEM("Overlapped(%)", PERCENT, 7));
    overlap_tables_print_table(&table, out, each_stream, &all);
}
