/* Prints what is inside a trace: properties, tables with their sizes, capture ranges, counters. */
#include "reports/info/info.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/recording_cost.h"

#include "base/poison.h"

#define TIME_BYTES  24
#define KEY_COLUMNS 28

static double ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

struct table_line {
    const char *name;
    const struct table_contents *contents;
};

#define OF(member) THROUGH(struct table_line, contents, member)

static struct report_cell bytes_per_row_cell(const void *at, struct report_table *table)
{
    const struct table_contents *contents = ((const struct table_line *)at)->contents;

    (void)table;
    return report_real_cell(ratio(contents->bytes, contents->rows));
}

static const struct report_column columns[] = {
    COLUMN("Table", "table", TEXT, 12, MEMBER(struct table_line, name), .left = true),
    COLUMN("Rows", "rows", COUNT, 9, OF(rows)),
    COLUMN("Chunks", "chunks", COUNT, 7, OF(chunks)),
    COLUMN("Bytes", "bytes", COUNT, 9, OF(bytes), .unit = "B"),
    COLUMN("Bytes/Row", "bytes_per_row", REAL, 0, .cell = bytes_per_row_cell, .unit = "B"),
    COLUMN("Raw bytes", "raw_bytes", COUNT, 9, OF(raw_bytes), .unit = "B"),
};

/* A row for each table that is in the file. */
static void each_table(struct report_table *table, report_take *take)
{
    const struct contents *contents = table->of;
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < contents->table_count && i < count; i++) {
        if (contents->tables[i].chunks)
            take(table, &(struct table_line){tables[i].name, &contents->tables[i]});
    }
}

static void summary_info_print_table(const struct report_out *out, const struct contents *contents)
{
    struct report_table table;

    report_open(&table, out, &(struct report_layout){REPORT_COLUMNS(columns), .of = contents});
    each_table(&table, report_survey);
    report_header(&table);
    each_table(&table, report_put);
    report_flush(&table);
    if (out->format == REPORT_TEXT)
        report_put(&table, &(struct table_line){"all", &contents->total});
    report_end(&table);
}

static void print_key(FILE *out, const char *key)
{
    size_t used = utf8_count(key, strlen(key));

    foreign_put_text(out, key);
    fprintf(out, "%*s", used < KEY_COLUMNS ? (int)(KEY_COLUMNS - used) : 0, "");
}

static void print_property(FILE *out, const char *key, const char *value)
{
    print_key(out, key);
    foreign_put_text(out, value);
    fputc('\n', out);
}

static void print_span(FILE *out, const struct contents *contents)
{
    char text[TIME_BYTES];

    fprintf(out, "%-28s%s\n", "time span",
            mp_format_time(text, sizeof text, contents->last_time - contents->first_time));
}

static void print_loss(FILE *out, const struct range_loss *loss)
{
    char text[TIME_BYTES];

    if (loss && loss->unanswered > 0)
        fprintf(out, ", %s launched kernel%s no record", mp_count((uint64_t)loss->unanswered).text,
                loss->unanswered == 1 ? " has" : "s have");
    if (loss && loss->earlier > 0)
        fprintf(out, ", work from before it ran for %s",
                mp_format_time(text, sizeof text, (uint64_t)loss->earlier));
    if (loss && loss->dropped > 0)
        fprintf(out, ", up to %s records were dropped", mp_count((uint64_t)loss->dropped).text);
}

static void print_ranges(FILE *out, const struct contents *contents)
{
    char text[TIME_BYTES];

    fprintf(out, "%-28s%s\n", "capture ranges", mp_count(ranges_count(&contents->ranges)).text);
    for (size_t i = 0; i < ranges_count(&contents->ranges); i++) {
        const struct capture_range *range = dense_at(&contents->ranges.items, i);
        bool ended = range->end_time != UINT64_MAX && range->end_time >= range->begin_time;

        fprintf(out, "  range %-20" PRIu64 "%s", range->id,
                ended ? mp_format_time(text, sizeof text, range->end_time - range->begin_time)
                      : "not ended");
        print_loss(out, quality_range(&contents->quality, range->id));
        fputc('\n', out);
    }
}

static void print_counters(FILE *out, const struct contents *contents)
{
    size_t position = 0;
    const char *name;
    uint64_t value;

    while (quality_next_counter(&contents->quality, &contents->definitions, &position, &name,
                                &value)) {
        if (!name)
            continue;
        print_key(out, name);
        fprintf(out, "%s\n", mp_count(value).text);
    }
}

/* Times count from the begin of what was recorded. */
static void print_running(FILE *out, const struct contents *contents)
{
    for (uint32_t i = 0; i < contents->running.count; i++) {
        const struct running_work *item = &contents->running.items[i];
        char text[TIME_BYTES];

        print_key(out, i ? "" : "running at the end");
        foreign_put_text(out, item->name);
        if (item->not_before > contents->first_time)
            fprintf(out, ", not begun before %s",
                    mp_format_time(text, sizeof text, item->not_before - contents->first_time));
        fputc('\n', out);
    }
}

static void json_running(struct json_writer *json, const struct contents *contents)
{
    json_key_array(json, "running_at_end");
    for (uint32_t i = 0; i < contents->running.count; i++) {
        const struct running_work *item = &contents->running.items[i];

        JSON_OBJECT(json, FACT("name", item->name),
                    FACT_IF("launched_ns", item->launched, item->launched),
                    FACT_IF("not_before_ns", item->not_before, item->not_before));
    }
    json_close_array(json);
}

/* Which source tells of NCCL's operations; nothing where there are none. */
static void print_nccl_sources(FILE *out, const struct nccl_sources *sources)
{
    const struct {
        uint64_t count;
        const char *source;
    } parts[] = {{sources->by_plugin, "by NCCL's profiler plugin"},
                 {sources->by_nvtx, "by NVTX"},
                 {sources->by_name, "by NVTX names only (no sizes, no communicators)"}};
    const char *before = "";

    if (sources->by_plugin + sources->by_nvtx + sources->by_name == 0) {
        if (sources->kernels)
            fprintf(
                out, "%-28s%s\n", "collectives",
                "unknown: NCCL ran and told nothing (NCCL_NVTX_DISABLE=1 or MINIPROF_NCCL=off)");
        return;
    }
    fprintf(out, "%-28s", "collectives");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].count)
            continue;
        fprintf(out, "%s%s %s", before, mp_count(parts[i].count).text, parts[i].source);
        before = ", ";
    }
    fputc('\n', out);
}

static void json_nccl_sources(struct json_writer *json, const struct nccl_sources *sources)
{
    if (sources->by_plugin + sources->by_nvtx + sources->by_name == 0)
        return;
    json_key_object(json, "collectives");
    JSON_FACTS(json, FACT("by_plugin", sources->by_plugin), FACT("by_nvtx", sources->by_nvtx),
               FACT("by_name", sources->by_name));
    json_close_object(json);
}

static void summary_info_print_text(const struct report_out *out, const struct mp_trace *trace,
                                    const struct contents *contents)
{
    const char *key;
    const char *value;

    print_warning(out, trace, &contents->quality);
    print_baseline_note(out, trace, &contents->quality);
    print_callbacks_note(out, trace, &contents->quality);
    print_flight_note(out, trace);
    print_baseline(out, trace, &contents->baseline);
    for (size_t i = 0; mp_trace_property_at(trace, i, &key, &value); i++)
        print_property(out->file, key, value);
    print_span(out->file, contents);
    print_ranges(out->file, contents);
    print_nccl_sources(out->file, &contents->nccl_sources);
    print_counters(out->file, contents);
    print_running(out->file, contents);
    fprintf(out->file, "%-28s%s\n", "dropped", mp_count(contents->quality.dropped).text);
    fputc('\n', out->file);
    summary_info_print_table(out, contents);
    fprintf(out->file, "\n%-28s%s\n", "records", mp_count(contents->records).text);
    fprintf(out->file, "%-28s%s\n", "bytes", mp_count(contents->bytes).text);
    fprintf(out->file, "%-28s%s\n", "bytes per record",
            mp_rounded(ratio(contents->bytes, contents->records)).text);
}

static void json_ranges(struct json_writer *json, const struct contents *contents)
{
    json_key_array(json, "ranges");
    for (size_t i = 0; i < ranges_count(&contents->ranges); i++) {
        const struct capture_range *range = dense_at(&contents->ranges.items, i);
        const struct range_loss *loss = quality_range(&contents->quality, range->id);

        json_open_object(json);
        JSON_FACTS(json, FACT("range", range->id), FACT("begin_ns", range->begin_time),
                   FACT_IF("end_ns", range->end_time != UINT64_MAX, range->end_time));
        if (loss && loss->unanswered > 0)
            JSON_FACTS(json, FACT("unanswered_launches", (uint64_t)loss->unanswered));
        if (loss && loss->earlier > 0)
            JSON_FACTS(json, FACT("earlier_work_ns", (uint64_t)loss->earlier));
        if (loss && loss->dropped > 0)
            JSON_FACTS(json, FACT("dropped_at_most", (uint64_t)loss->dropped));
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_properties(struct json_writer *json, const struct mp_trace *trace)
{
    const char *key;
    const char *value;

    json_key_object(json, "properties");
    for (size_t i = 0; mp_trace_property_at(trace, i, &key, &value); i++)
        JSON_FACTS(json, FACT(key, value));
    json_close_object(json);
}

static void json_sizes(struct json_writer *json, const struct contents *contents)
{
    JSON_FACTS(json, FACT("records", contents->records), FACT("bytes", contents->bytes),
               FACT("bytes_per_record", ratio(contents->bytes, contents->records)),
               FACT("rows", contents->total.rows), FACT("chunks", contents->total.chunks),
               FACT("raw_bytes", contents->total.raw_bytes),
               FACT("other_bytes", contents->other_bytes), FACT("first_ns", contents->first_time),
               FACT("last_ns", contents->last_time));
}

static void summary_info_print_json(FILE *out, const struct mp_trace *trace,
                                    const struct contents *contents)
{
    struct json_writer json;

    json_open_document(&json, out, 2);
    json_properties(&json, trace);
    json_flight(&json, trace);
    json_sizes(&json, contents);
    json_ranges(&json, contents);
    report_json_print(&json, "tables",
                      &(struct report_layout){REPORT_COLUMNS(columns), .of = contents}, each_table);
    json_baseline(&json, &contents->baseline);
    json_nccl_sources(&json, &contents->nccl_sources);
    json_running(&json, contents);
    json_key(&json, "quality");
    json_quality(&json, &contents->quality, &contents->definitions);
    json_close_document(&json);
}

void print_info(const struct report_out *out, const struct mp_trace *trace,
                const struct contents *contents)
{
    if (out->format == REPORT_JSON) {
        summary_info_print_json(out->file, trace, contents);
    } else if (out->format == REPORT_CSV) {
        print_warning(out, trace, &contents->quality);
        print_baseline_note(out, trace, &contents->quality);
        print_callbacks_note(out, trace, &contents->quality);
        summary_info_print_table(out, contents);
    } else {
        summary_info_print_text(out, trace, contents);
    }
}
