/* nvprof's GPU trace and API trace. Units are chosen for a whole column, as nvprof does, so the
 * rows are measured in a separate pass before they are printed.
 */
#include "reports/trace/trace.h"

#include <string.h>

#include "reports/common/quality.h"
#include "reports/trace/rows.h"

#include "base/poison.h"

/* A table that is being printed. */
struct printing {
    const struct report_out *out;
    struct trace_rows *rows;
    struct trace_table table;
    struct json_writer json;
};

/* Chooses the columns, and their units where they have some. */
static enum mp_status begin_table(struct printing *printing, struct mp_error *error)
{
    struct trace_survey survey;

    MP_TRY(trace_survey(printing->rows, trace_needs_units(printing->out), &survey, error));
    if (printing->out->format == REPORT_JSON)
        json_begin(&printing->json, printing->out->file, 2);
    trace_table_begin(&printing->table, printing->out, &printing->json, printing->rows->present,
                      &survey);
    return MP_OK;
}

static enum mp_status print_rows(struct printing *printing, struct mp_error *error)
{
    struct trace_row row;
    enum mp_status status;

    if (!report_has_titles(printing->out))
        report_header(&printing->table.table);
    while ((status = trace_rows_next(printing->rows, &row)) == MP_OK) {
        trace_table_put(&printing->table, &row);
        if (report_failed(printing->out))
            break; /* nobody reads on; the caller sees it */
    }
    report_end(&printing->table.table);
    if (status != MP_OK && status != MP_END)
        return mp_error_set(error, status, "cannot read the records: %s", mp_status_name(status));
    trace_rows_finish(printing->rows);
    return MP_OK;
}

/* ---- Text and CSV ---- */

static void print_instead(const struct report_out *out, const struct mp_trace *trace,
                          const char *line)
{
    print_csv_prefix(out, trace);
    fputs(line, out->file);
}

void trace_print_empty(const struct report_out *out, const struct mp_trace *trace,
                       const struct traces_options *options, uint32_t kinds)
{
    if (options->gpu && !(kinds & TRACE_GPU))
        print_instead(out, trace, "No kernels were profiled.\n");
    if (options->api && !(kinds & TRACE_API))
        print_instead(out, trace, "No API activities were profiled.\n");
}

/* Warns of damage and doubtful rows that were found while printing and are not in the head. */
static void print_later_warning(const struct printing *printing, const char *earlier)
{
    const struct trace_rows *rows = printing->rows;
    char text[QUALITY_TEXT_BYTES];

    if (strcmp(quality_describe(rows->quality, text, sizeof text), earlier) != 0)
        print_warning(printing->out, rows->trace, rows->quality);
}

static enum mp_status print_trace_rows(struct printing *printing, struct mp_error *error)
{
    const struct report_out *out = printing->out;
    const struct trace_rows *rows = printing->rows;
    char earlier[QUALITY_TEXT_BYTES] = "";

    if (rows->options->head) {
        print_head(out, rows->trace, rows->quality, rows->options->range,
                   ranges_count(&rows->ranges));
        quality_describe(rows->quality, earlier, sizeof earlier);
    } else if (rows->options->reported) {
        quality_describe(rows->options->reported, earlier, sizeof earlier);
    }
    if (report_has_titles(out))
        print_note(out, rows->trace, "Profiling result:");
    if (rows->present)
        trace_print_empty(out, rows->trace, rows->options, rows->present);
    MP_TRY(print_rows(printing, error));
    if (!printing->table.count)
        trace_print_empty(out, rows->trace, rows->options, 0);
    else if (out->format == REPORT_TEXT)
        trace_print_notes(&printing->table);
    print_later_warning(printing, earlier);
    return MP_OK;
}

/* ---- JSON ---- */

static enum mp_status print_document(struct printing *printing, struct mp_error *error)
{
    struct trace_rows *rows = printing->rows;
    struct json_writer *json = &printing->json;

    json_open_object(json);
    json_head(json, rows->trace, rows->quality, &rows->definitions, rows->options->range,
              ranges_count(&rows->ranges));
    json_key_array(json, "rows");
    MP_TRY(print_rows(printing, error));
    json_close_array(json);
    json_key(json, "quality_of_rows");
    json_quality(json, rows->quality, &rows->definitions);
    json_close_document(json);
    return MP_OK;
}

/* ---- Both ---- */

enum mp_status print_traces(const struct report_out *out, struct mp_trace *trace,
                            const struct traces_options *options, struct quality *quality,
                            struct mp_error *error)
{
    struct trace_rows rows;
    struct printing printing = {.out = out, .rows = &rows};
    enum mp_status status = trace_rows_open(&rows, trace, options, quality, error);

    if (status == MP_OK)
        status = begin_table(&printing, error);
    if (status == MP_OK)
        status = out->format == REPORT_JSON ? print_document(&printing, error)
                                            : print_trace_rows(&printing, error);
    trace_rows_free(&rows);
    return status;
}
