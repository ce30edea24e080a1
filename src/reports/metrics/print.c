/* nvprof's "Event result" and "Metric result". Column widths are measured by device first, because
 * nvprof fits them to the longest name.
 */
#include "reports/metrics/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text/foreign.h"
#include "reports/common/quality.h"
#include "reports/metrics/json.h"
#include "reports/metrics/sheets.h"
#include "reports/metrics/text.h"

#include "base/poison.h"

#define NAME_WIDTH     40 /* nvprof's; the longest name has one more space before it */
#define MAX_OF_TABLE   8
#define WIDEST_COLUMN  255
#define WIDTH_OF_VALUE 10

/* Events have a total and no description. */
struct section {
    bool event;
    const char *title;
    struct report_column columns[MAX_OF_TABLE];
    size_t count;
};

#define ITEM(title_, width_)                                                                       \
    {                                                                                              \
        .title = title_, .kind = REPORT_CELL_TEXT, .width = width_, .ranked = true                 \
    }

#define NAME_COLUMN(title_, drop_)                                                                 \
    {                                                                                              \
        .title = title_, .kind = REPORT_CELL_TEXT, .width = NAME_WIDTH, .name = !(drop_),          \
        .drop = drop_                                                                              \
    }

static const struct section sections[] = {
    {
        .event = true,
        .title = "Event result:",
        .columns = {ITEM("Invocations", 11), NAME_COLUMN("Event Name", 0),
                    ITEM("Min", WIDTH_OF_VALUE), ITEM("Max", WIDTH_OF_VALUE),
                    ITEM("Avg", WIDTH_OF_VALUE), ITEM("Total", WIDTH_OF_VALUE)},
        .count = 6,
    },
    {
        .event = false,
        .title = "Metric result:",
        .columns = {ITEM("Invocations", 11), NAME_COLUMN("Metric Name", 0),
                    NAME_COLUMN("Metric Description", 1), ITEM("Min", WIDTH_OF_VALUE),
                    ITEM("Max", WIDTH_OF_VALUE), ITEM("Avg", WIDTH_OF_VALUE)},
        .count = 6,
    },
};

#define SECTION_COUNT (sizeof sections / sizeof *sections)

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* ---- Rows ---- */

struct row_texts {
    char invocations[MP_FORMATTED_BYTES];
    char values[4][METRIC_TEXT_BYTES]; /* min, max, avg, total */
};

static void fill_texts(struct row_texts *texts, const struct metrics_row *row,
                       enum report_format format, enum mp_style style)
{
    const double values[4] = {row->min, row->max, row->mean, row->total};

    mp_show_count(texts->invocations, sizeof texts->invocations, row->invocations, style);
    for (size_t i = 0; i < 4; i++)
        metric_text(texts->values[i], row->metric->unit, row->values ? values[i] : (double)NAN,
                    format, style);
}

static void take_text_row(struct report_table *table, const struct section *section,
                          const struct metrics_row *row,
                          void (*take)(struct report_table *, const struct report_cell *))
{
    const double values[] = {row->min, row->max, row->mean, row->total};
    struct report_cell cells[MAX_OF_TABLE];
    struct row_texts texts;
    size_t count = 0;

    fill_texts(&texts, row, REPORT_TEXT, table->style);
    cells[count] = report_text_cell(texts.invocations);
    cells[count++].real = (double)row->invocations;
    cells[count++] = report_text_cell(or_empty(row->metric->name));
    if (!section->event)
        cells[count++] = report_text_cell(or_empty(row->metric->description));
    for (size_t i = 0; count < section->count; i++) {
        cells[count] = report_text_cell(texts.values[i]);
        cells[count++].real = values[i];
    }
    take(table, cells);
}

static void print_csv_row(FILE *out, const struct section *section, const char *device,
                          const struct metrics_row *row)
{
    struct row_texts texts;
    size_t values = section->event ? 4 : 3;

    fill_texts(&texts, row, REPORT_CSV, MP_STYLE_NVPROF);
    foreign_put_csv_text(out, device);
    fputc(',', out);
    foreign_put_csv_text(out, row->kernel);
    fprintf(out, ",%s,", texts.invocations);
    foreign_put_csv_text(out, row->metric->name);
    if (!section->event) {
        fputc(',', out);
        foreign_put_csv_text(out, row->metric->description);
    }
    for (size_t i = 0; i < values; i++)
        fprintf(out, ",%s", texts.values[i]);
    fputc('\n', out);
}

/* ---- Tables ---- */

static bool belongs(const struct section *section, const struct metrics_row *row)
{
    return row->metric->event == section->event;
}

static void widen(struct report_column *column, const char *text)
{
    size_t width = strlen(or_empty(text)) + 1;

    if (width > WIDEST_COLUMN)
        width = WIDEST_COLUMN;
    if (width > column->width)
        column->width = (uint8_t)width;
}

static void fit_columns(const struct section *section, const struct metrics_result *result,
                        struct report_column columns[MAX_OF_TABLE])
{
    memcpy(columns, section->columns, sizeof section->columns);
    for (size_t i = 0; i < result->row_count; i++) {
        if (!belongs(section, &result->rows[i]))
            continue;
        widen(&columns[1], result->rows[i].metric->name);
        if (!section->event)
            widen(&columns[2], result->rows[i].metric->description);
    }
}

static void print_device(const struct report_out *out, const struct metrics_result *result,
                         uint64_t device)
{
    char name[METRIC_DEVICE_BYTES];
    char line[METRIC_DEVICE_BYTES + 16];

    metric_device_text(name, result, device);
    snprintf(line, sizeof line, "Device \"%s\"", name);
    metric_put_line(out, line);
}

static void print_kernel(const struct report_out *out, const char *kernel)
{
    static const char title[] = "    Kernel: ";

    fputs(title, out->file);
    report_put_name(out->file, out->view, sizeof title - 1, kernel);
    fputc('\n', out->file);
}

static void print_text_table(const struct report_out *out, const struct section *section,
                             const struct metrics_result *result)
{
    struct report_column columns[MAX_OF_TABLE];
    const struct metrics_row *last = NULL;
    struct report_table table;

    fit_columns(section, result, columns);
    report_begin(&table, out, columns, section->count);
    for (size_t i = 0; i < result->row_count && table.rows; i++) {
        if (belongs(section, &result->rows[i]))
            take_text_row(&table, section, &result->rows[i], report_measure);
    }
    report_header(&table);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct metrics_row *row = &result->rows[i];
        bool other = !last || last->metric->device != row->metric->device;

        if (!belongs(section, row))
            continue;
        if (other || last->order != row->order)
            report_flush(&table);
        if (other)
            print_device(out, result, row->metric->device);
        if (other || last->order != row->order)
            print_kernel(out, row->kernel);
        take_text_row(&table, section, row, report_row);
        last = row;
    }
    report_end(&table);
}

static void print_csv_table(const struct report_out *out, const struct section *section,
                            const struct metrics_result *result)
{
    char device[METRIC_DEVICE_BYTES];

    fprintf(out->file, "\"Device\",\"Kernel\"");
    for (size_t i = 0; i < section->count; i++)
        fprintf(out->file, ",\"%s\"", section->columns[i].title);
    fputc('\n', out->file);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct metrics_row *row = &result->rows[i];

        if (belongs(section, row))
            print_csv_row(out->file, section,
                          metric_device_text(device, result, row->metric->device), row);
    }
}

static void print_section(const struct report_out *out, const struct mp_trace *trace,
                          const struct section *section, const struct metrics_result *result)
{
    print_prefix(out, trace);
    fprintf(out->file, "%s\n", section->title);
    if (out->format == REPORT_CSV)
        print_csv_table(out, section, result);
    else
        print_text_table(out, section, result);
}

static bool has_rows(const struct section *section, const struct metrics_result *result)
{
    for (size_t i = 0; i < result->row_count; i++) {
        if (belongs(section, &result->rows[i]))
            return true;
    }
    return false;
}

void print_metrics(const struct report_out *out, const struct mp_trace *trace,
                   const struct metrics_result *result)
{
    bool printed = false;

    if (out->format == REPORT_JSON) {
        print_metrics_json(out->file, trace, result);
        return;
    }
    if (!report_has_titles(out))
        print_metrics_sheet(out, result);
    if (!result->asked)
        return;
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (!has_rows(&sections[i], result))
            continue;
        if (!report_has_titles(out)) {
            printed = true;
            continue;
        }
        if (printed)
            fputc('\n', out->file);
        print_section(out, trace, &sections[i], result);
        printed = true;
    }
    if (!printed)
        print_no_metrics(out, trace);
    print_metric_notes(out, trace, result);
}
