/* Prints what is inside a trace: properties, tables with their sizes, capture ranges, counters,
 * what still ran at its end. */
#include "reports/info/info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "profile/activity.h"
#include "profile/dense.h"
#include "profile/reading.h"
#include "reports/common/headline.h"
#include "reports/common/quality.h"

#include "base/poison.h"

#define TIME_BYTES  24
#define KEY_COLUMNS 28

/* ---- What still ran ----
 *
 * Work without times that the last flush brought (the counter `running_at_end`): it ran, or waited,
 * when the program ended. Its begin is not known. It began after its launch and after earlier work
 * of its stream. Two passes: the work of the device, then the calls that launched it.
 */

#define MAX_RUNNING 16u

struct running_work {
    char *name;      /* owned */
    unsigned source; /* enum activity_kind */
    uint64_t id;     /* of its name there */
    uint64_t stream; /* id in the trace */
    uint64_t correlation;
    uint64_t launched;   /* ns; 0: the call is not in the trace */
    uint64_t not_before; /* ns; 0: nothing is known */
};

struct running {
    struct running_work items[MAX_RUNNING]; /* the last in the file, in its order */
    uint32_t count;
};

struct running_pass {
    struct running *running;
    struct profile *profile;
    uint64_t max;
    uint64_t found;    /* rows without times; item i % MAX_RUNNING is the last of them */
    struct dense ends; /* uint64_t, by stream: the greatest end */
};

static enum mp_status note_end(struct running_pass *pass, uint64_t stream, uint64_t end)
{
    enum mp_status status = dense_reach(&pass->ends, stream);

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    uint64_t *last = dense_at(&pass->ends, stream);
    *last = end > *last ? end : *last;
    return MP_OK;
}

static enum mp_status take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct activity_table *source = activity_of(batch->table->id);
    uint64_t start = activity_value(batch->columns, source->start, row);
    uint64_t stream = activity_value(batch->columns, source->stream, row);
    struct running_pass *pass = context;

    if (start)
        return note_end(pass, stream,
                        start + activity_value(batch->columns, source->duration, row));
    pass->running->items[pass->found++ % MAX_RUNNING] = (struct running_work){
        .source = (enum activity_kind)(source - activity_tables),
        .id = activity_value(batch->columns, source->id, row),
        .stream = stream,
        .correlation = activity_value(batch->columns, source->correlation, row)};
    return MP_OK;
}

static enum mp_status take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct running *running = ((struct running_pass *)context)->running;

    for (uint32_t i = 0; i < running->count; i++)
        if (running->items[i].correlation == call.correlation[row])
            running->items[i].launched = call.start[row];
    return MP_OK;
}

/* Puts the last ones in the file to the front, in their order. */
static void keep_last(struct running_pass *pass)
{
    struct running *running = pass->running;
    struct running_work items[MAX_RUNNING];
    uint64_t count = pass->found < pass->max ? pass->found : pass->max;

    count = count < MAX_RUNNING ? count : MAX_RUNNING;
    for (uint64_t i = 0; i < count; i++)
        items[i] = running->items[(pass->found - count + i) % MAX_RUNNING];
    memcpy(running->items, items, count * sizeof *items);
    running->count = (uint32_t)count;
}

static enum mp_status finish(struct running_pass *pass)
{
    char buffer[NAMES_BYTES];

    for (uint32_t i = 0; i < pass->running->count; i++) {
        struct running_work *item = &pass->running->items[i];
        const struct activity_table *source = &activity_tables[item->source];
        const uint64_t *end = dense_at(&pass->ends, item->stream);
        const char *name =
            source->name(&pass->profile->definitions, NAMES_READABLE, item->id, buffer);

        item->not_before = end && *end > item->launched ? *end : item->launched;
        item->name = strdup(name ? name : source->unnamed ? source->unnamed : "?");
        if (!item->name)
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

static const struct reading_table work_tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, shape, start, duration, correlation, stream),
     .take_row = take_row},
    {MP_TABLE_copy, MP_MASK(copy, kind, start, duration, correlation, stream),
     .take_row = take_row},
    {MP_TABLE_set, MP_MASK(set, memory, start, duration, correlation, stream),
     .take_row = take_row},
};
static const struct reading_table call_tables[] = {
    {MP_TABLE_call, MP_MASK(call, start, correlation), .take_row = take_call},
};

static enum mp_status read_running(struct running_pass *pass, struct mp_error *error)
{
    struct reading reading = {.trace = pass->profile->trace,
                              .what = "the work that ran at the end",
                              .context = pass,
                              READING_TABLES(work_tables)};

    MP_TRY(reading_run(&reading, error));
    keep_last(pass);
    reading.tables = call_tables;
    reading.table_count = sizeof call_tables / sizeof *call_tables;
    MP_TRY(reading_run(&reading, error));
    return finish(pass) ? mp_error_set(error, MP_ERR_MEMORY, "out of memory") : MP_OK;
}

/* Reads the last of them. running_free gives back in any case. */
static enum mp_status running_build(struct profile *profile, struct running *running,
                                    struct mp_error *error)
{
    struct running_pass pass = {
        .running = running, .profile = profile, .max = profile->quality.running_at_end};

    *running = (struct running){.count = 0};
    if (!pass.max)
        return MP_OK;
    dense_init(&pass.ends, sizeof(uint64_t), definitions_limit(profile->trace));
    enum mp_status status = read_running(&pass, error);
    dense_free(&pass.ends);
    return status;
}

static void running_free(struct running *running)
{
    for (uint32_t i = 0; i < running->count; i++)
        free(running->items[i].name);
    running->count = 0;
}

/* ---- Printing ---- */

/* What is printed. */
struct info {
    const struct profile *profile;
    struct baseline baseline;
    struct running running;
};

static double ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

struct table_line {
    const char *name;
    const struct profile_table *sizes;
};

#define OF(member) THROUGH(struct table_line, sizes, member)

static struct report_cell bytes_per_row_cell(const void *at, struct report_table *table)
{
    const struct profile_table *sizes = ((const struct table_line *)at)->sizes;

    (void)table;
    return report_real_cell(ratio(sizes->bytes, sizes->rows));
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
    const struct profile *profile = table->of;
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < count; i++) {
        if (profile->tables[i].chunks)
            take(table, &(struct table_line){tables[i].name, &profile->tables[i]});
    }
}

static void info_print_table(const struct report_out *out, const struct profile *profile)
{
    struct report_table table;

    report_open(&table, out, &(struct report_layout){REPORT_COLUMNS(columns), .of = profile});
    each_table(&table, report_survey);
    report_header(&table);
    each_table(&table, report_put);
    report_flush(&table);
    if (out->format == REPORT_TEXT)
        report_put(&table, &(struct table_line){"all", &profile->total});
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

static void print_span(FILE *out, const struct profile *profile)
{
    char text[TIME_BYTES];

    fprintf(out, "%-28s%s\n", "time span",
            mp_format_time(text, sizeof text, profile->last_time - profile->first_time));
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

static void print_ranges(FILE *out, const struct profile *profile)
{
    char text[TIME_BYTES];

    fprintf(out, "%-28s%s\n", "capture ranges", mp_count(ranges_count(&profile->ranges)).text);
    for (size_t i = 0; i < ranges_count(&profile->ranges); i++) {
        const struct capture_range *range = dense_at(&profile->ranges.items, i);
        bool ended = range->end_time != UINT64_MAX && range->end_time >= range->begin_time;

        fprintf(out, "  range %-20" PRIu64 "%s", range->id,
                ended ? mp_format_time(text, sizeof text, range->end_time - range->begin_time)
                      : "not ended");
        print_loss(out, quality_range(&profile->quality, range->id));
        fputc('\n', out);
    }
}

static void print_counters(FILE *out, const struct profile *profile)
{
    size_t position = 0;
    const char *name;
    uint64_t value;

    while (
        quality_next_counter(&profile->quality, &profile->definitions, &position, &name, &value)) {
        if (!name)
            continue;
        print_key(out, name);
        fprintf(out, "%s\n", mp_count(value).text);
    }
}

/* Times count from the begin of what was recorded. */
static void print_running(FILE *out, const struct running *running, uint64_t begin)
{
    for (uint32_t i = 0; i < running->count; i++) {
        const struct running_work *item = &running->items[i];
        char text[TIME_BYTES];

        print_key(out, i ? "" : "running at the end");
        foreign_put_text(out, item->name);
        if (item->not_before > begin)
            fprintf(out, ", not begun before %s",
                    mp_format_time(text, sizeof text, item->not_before - begin));
        fputc('\n', out);
    }
}

static void json_running(struct json_writer *json, const struct running *running)
{
    json_key_array(json, "running_at_end");
    for (uint32_t i = 0; i < running->count; i++) {
        const struct running_work *item = &running->items[i];

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

/* Each green context, by CUPTI's id; nothing where there are none. */
static void print_green(FILE *out, const struct profile *profile)
{
    const struct dense *contexts = &profile->definitions.contexts.items;

    for (size_t id = 0; id < contexts->count; id++) {
        const struct context *context = dense_at(contexts, id);
        char key[2 * KEY_COLUMNS];

        if (!context->parent)
            continue;
        snprintf(key, sizeof key, "green context %zu", id);
        print_key(out, key);
        if (context->multiprocessors)
            fprintf(out, "%s ", mp_count(context->multiprocessors).text);
        fprintf(out, "SMs of device %" PRIu64 " for context %" PRIu64 "\n", context->device,
                context->parent);
    }
}

static void json_green(struct json_writer *json, const struct profile *profile)
{
    const struct dense *contexts = &profile->definitions.contexts.items;
    bool any = false;

    for (size_t id = 0; id < contexts->count; id++) {
        const struct context *context = dense_at(contexts, id);

        if (!context->parent)
            continue;
        if (!any)
            json_key_array(json, "green_contexts");
        any = true;
        JSON_OBJECT(json, FACT("context", (uint64_t)id), FACT("parent", context->parent),
                    FACT("device", context->device),
                    FACT_IF("multiprocessors", context->multiprocessors, context->multiprocessors));
    }
    if (any)
        json_close_array(json);
}

static void info_print_text(const struct report_out *out, const struct info *info)
{
    const struct profile *profile = info->profile;
    const struct mp_trace *trace = profile->trace;
    const char *key;
    const char *value;

    print_warning(out, trace, &profile->quality);
    print_baseline_note(out, trace, &profile->quality);
    print_callbacks_note(out, trace, &profile->quality);
    print_flight_note(out, trace);
    print_baseline(out, trace, &info->baseline);
    for (size_t i = 0; mp_trace_property_at(trace, i, &key, &value); i++)
        print_property(out->file, key, value);
    print_span(out->file, profile);
    print_ranges(out->file, profile);
    print_green(out->file, profile);
    print_nccl_sources(out->file, &profile->nccl_sources);
    print_counters(out->file, profile);
    print_running(out->file, &info->running, profile->first_time);
    fprintf(out->file, "%-28s%s\n", "dropped", mp_count(profile->quality.dropped).text);
    fputc('\n', out->file);
    info_print_table(out, profile);
    fprintf(out->file, "\n%-28s%s\n", "records", mp_count(profile->records).text);
    fprintf(out->file, "%-28s%s\n", "bytes", mp_count(profile->bytes).text);
    fprintf(out->file, "%-28s%s\n", "bytes per record",
            mp_rounded(ratio(profile->bytes, profile->records)).text);
}

static void json_ranges(struct json_writer *json, const struct profile *profile)
{
    json_key_array(json, "ranges");
    for (size_t i = 0; i < ranges_count(&profile->ranges); i++) {
        const struct capture_range *range = dense_at(&profile->ranges.items, i);
        const struct range_loss *loss = quality_range(&profile->quality, range->id);

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

static void json_sizes(struct json_writer *json, const struct profile *profile)
{
    JSON_FACTS(json, FACT("records", profile->records), FACT("bytes", profile->bytes),
               FACT("bytes_per_record", ratio(profile->bytes, profile->records)),
               FACT("rows", profile->total.rows), FACT("chunks", profile->total.chunks),
               FACT("raw_bytes", profile->total.raw_bytes),
               FACT("other_bytes", profile->other_bytes), FACT("first_ns", profile->first_time),
               FACT("last_ns", profile->last_time));
}

static void info_print_json(FILE *out, const struct info *info)
{
    const struct profile *profile = info->profile;
    struct json_writer json;

    json_open_document(&json, out, 2);
    json_properties(&json, profile->trace);
    json_flight(&json, profile->trace);
    json_sizes(&json, profile);
    json_ranges(&json, profile);
    report_json_print(&json, "tables",
                      &(struct report_layout){REPORT_COLUMNS(columns), .of = profile}, each_table);
    json_baseline(&json, &info->baseline);
    json_green(&json, profile);
    json_nccl_sources(&json, &profile->nccl_sources);
    json_running(&json, &info->running);
    json_key(&json, "quality");
    json_quality(&json, &profile->quality, &profile->definitions);
    json_close_document(&json);
}

static void info_print(const struct report_out *out, const struct info *info)
{
    const struct profile *profile = info->profile;

    if (out->format == REPORT_JSON) {
        info_print_json(out->file, info);
    } else if (out->format == REPORT_CSV) {
        print_warning(out, profile->trace, &profile->quality);
        print_baseline_note(out, profile->trace, &profile->quality);
        print_callbacks_note(out, profile->trace, &profile->quality);
        info_print_table(out, profile);
    } else {
        info_print_text(out, info);
    }
}

enum mp_status print_info(const struct report_out *out, struct profile *profile,
                          struct mp_error *error)
{
    struct info info = {.profile = profile};
    enum mp_status status = baseline_build(profile, &info.baseline, error);

    if (!status)
        status = running_build(profile, &info.running, error);
    if (!status)
        info_print(out, &info);
    running_free(&info.running);
    baseline_free(&info.baseline);
    return status;
}
