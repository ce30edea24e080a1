/* Which columns a trace has in each format, and what they show of a row. Titles, order and widths
 * of text and CSV are nvprof's. JSON has numbers where those have texts, and its times are those of
 * the recorder's clock.
 */
#include <math.h>

#include "base/data/algorithms.h"
#include "profile/reading.h"
#include "reports/trace/records.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- What must be known of all rows before the first one is printed ---- */

/* Bytes over ns, in bytes a second. */
static double trace_throughput(uint64_t bytes, uint64_t ns)
{
    return ns ? (double)bytes * 1e9 / (double)ns : 0;
}

static void take_times(struct trace_survey *survey, const struct activity_table *source,
                       const uint64_t *const *columns, uint32_t row)
{
    uint64_t start = activity_value(columns, source->start, row);
    uint64_t duration = activity_value(columns, source->duration, row);
    uint64_t bytes = activity_value(columns, source->bytes, row);
    double throughput = trace_throughput(bytes, duration);

    if ((int64_t)duration < 0)
        return;
    if (!survey->any || start < survey->first_start)
        survey->first_start = start;
    survey->any = true;
    survey->last_start = mp_max(survey->last_start, start);
    survey->duration = mp_max(survey->duration, duration);
    survey->bytes = mp_max(survey->bytes, bytes);
    if (throughput > survey->throughput)
        survey->throughput = throughput;
}

/* The pass over the rows. */
struct surveying {
    const struct trace_rows *rows;
    struct trace_survey *survey;
    bool units;
};

static enum mp_status take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct activity_table *source = activity_of(batch->table->id);
    const struct surveying *pass = context;
    enum trace_kind kind = 0;

    while (trace_activity(kind) != source)
        kind++;
    if (kind == TRACE_COPY)
        pass->survey->peers |= mp_copy_columns(batch->columns).kind[row] == MP_copy_kind_PtoP;
    if (pass->units && activity_value(batch->columns, source->start, row) &&
        trace_row_wanted(pass->rows, kind, batch->columns, row))
        take_times(pass->survey, source, batch->columns, row);
    return MP_OK;
}

/* The columns that are read of a table that has rows; without `units` only the direction of
 * copies. */
static uint32_t columns_of(const struct surveying *pass, enum trace_kind kind)
{
    const struct activity_table *source = trace_activity(kind);
    uint32_t mask = kind == TRACE_COPY ? MP_MASK(copy, kind) : 0;

    if (!(pass->rows->present >> kind & 1))
        return 0;
    if (pass->units)
        mask |= activity_mask(source->start) | activity_mask(source->duration) |
                activity_mask(source->bytes);
    if (pass->units && pass->rows->range && source->by_launch)
        mask |= activity_mask(source->correlation);
    return mask;
}

enum mp_status trace_survey(struct trace_rows *rows, bool units, struct trace_survey *survey,
                            struct mp_error *error)
{
    struct surveying pass = {.rows = rows, .survey = survey, .units = units};
    struct reading_table tables[TRACE_KINDS];
    const struct reading reading = {
        .trace = rows->trace,
        .what = "the records",
        .context = &pass,
        READING_TABLES(tables),
    };

    *survey = (struct trace_survey){.any = false};
    for (enum trace_kind kind = 0; kind < TRACE_KINDS; kind++)
        tables[kind] = (struct reading_table){trace_activity(kind)->table, columns_of(&pass, kind),
                                              .take_row = take_row};
    for (size_t i = 0; i < rows->shapes.count; i++) {
        const struct trace_shape *shape = dense_at(&rows->shapes, i);
        survey->static_shared = mp_max(survey->static_shared, shape->static_shared);
        survey->dynamic_shared = mp_max(survey->dynamic_shared, shape->dynamic_shared);
    }
    if (!units && !(rows->present >> TRACE_COPY & 1))
        return MP_OK;
    return reading_run(&reading, error);
}

/* ---- Columns ---- */

/* What a column needs to be there: rows of one of these kinds, or copies between devices. */
#define KERNELS (1u << TRACE_KERNEL)
#define COPIES  (1u << TRACE_COPY)
#define MEMORY  (COPIES | 1u << TRACE_SET)
#define STREAMS (KERNELS | MEMORY | 1u << TRACE_GRAPH)
#define UNIFIED (1u << TRACE_UNIFIED)
#define CALLS   (1u << TRACE_CALL)
#define NVTX    (1u << TRACE_NVTX)
#define PEERS   (1u << TRACE_KINDS)
#define MERGED  TRACE_PROCESSES
#define GRAPHS  TRACE_CAPTURED

/* A row, and what is computed from it. */
struct shown_row {
    const struct trace_row *row;
    const struct trace_shape *shape; /* NULL: none */
    uint64_t since;                  /* ns from the first begin */
    double throughput;               /* not a number: none */
    bool peer;                       /* a copy between devices */
    bool unified;
};

#define OF(member)     THROUGH(struct shown_row, row, member)
#define SHAPE(member)  THROUGH(struct shown_row, shape, member)
#define IF(member)     .when = REPORT_THROUGH(struct shown_row, row, member)
#define IF_ROW(member) WHEN(struct shown_row, member)
#define IN_TEXT        .formats = REPORT_IN_TEXT
#define IN_NVPROF      .formats = REPORT_IN_TEXT | REPORT_IN_CSV
#define IN_JSON        .formats = REPORT_IN_SHEET | REPORT_IN_JSON
#define IN_DATA        .formats = REPORT_IN_DATA
#define NUMBER(title, key, member)                                                                 \
    COLUMN(title, key, COUNT, 0, SHAPE(member), .needs = KERNELS, IN_DATA)

/* The ordinal is known also of rows that have no stream. */
static struct report_cell device_cell(const void *at, struct report_table *table)
{
    const struct trace_place *place = &((const struct shown_row *)at)->row->place;

    (void)table;
    return report_number_if(place->known || place->device_text, place->device);
}

static const struct report_column columns[] = {
    COLUMN("Process", "process", TEXT, 7, OF(process), .left = true, .needs = MERGED),
    COLUMN(NULL, "kind", TEXT, 0, OF(kind_name), IN_JSON),
    COLUMN("Start", NULL, TIME, 8, MEMBER(struct shown_row, since), .moment = true, IN_NVPROF),
    COLUMN(NULL, "start_ns", ID, 0, OF(start), IN_JSON),
    COLUMN("Duration", "duration_ns", TIME, 8, OF(duration), IF(has_duration)),
    COLUMN("Grid Size", NULL, TEXT, 19, SHAPE(grid_text), .needs = KERNELS, IN_TEXT, .drop = 2),
    NUMBER("Grid X", "grid_x", grid[0]),
    NUMBER("Grid Y", "grid_y", grid[1]),
    NUMBER("Grid Z", "grid_z", grid[2]),
    COLUMN("Block Size", NULL, TEXT, 14, SHAPE(block_text), .needs = KERNELS, IN_TEXT, .drop = 3),
    NUMBER("Block X", "block_x", block[0]),
    NUMBER("Block Y", "block_y", block[1]),
    NUMBER("Block Z", "block_z", block[2]),
    COLUMN("Regs*", NULL, COUNT, 8, SHAPE(registers), .needs = KERNELS, IN_TEXT, .drop = 6),
    NUMBER("Registers Per Thread", "registers", registers),
    COLUMN("SSMem*", NULL, BYTES, 8, SHAPE(static_shared), .roomy = true, .needs = KERNELS, IN_TEXT,
           .drop = 7),
    COLUMN("Static SMem", "static_shared_bytes", BYTES, 0, SHAPE(static_shared), .scaled = true,
           .needs = KERNELS, IN_DATA),
    COLUMN("DSMem*", NULL, BYTES, 8, SHAPE(dynamic_shared), .roomy = true, .needs = KERNELS,
           IN_TEXT, .drop = 7),
    COLUMN("Dynamic SMem", "dynamic_shared_bytes", BYTES, 0, SHAPE(dynamic_shared), .scaled = true,
           .needs = KERNELS, IN_DATA),
    COLUMN("Size", "bytes", BYTES, 8, OF(bytes), IF(has_bytes), .roomy = true, .scaled = true,
           .needs = MEMORY),
    COLUMN("Throughput", "bytes_per_second", THROUGHPUT, 10, MEMBER(struct shown_row, throughput),
           .scaled = true, .needs = MEMORY, .drop = 1),
    COLUMN("SrcMemType", "source_memory", TEXT, 10, OF(source_memory), .needs = MEMORY, .drop = 5),
    COLUMN("DstMemType", "target_memory", TEXT, 10, OF(target_memory), .needs = COPIES, .drop = 5),
    COLUMN("Device", NULL, TEXT, 15, OF(place.device_text), .cut = true, .needs = STREAMS | UNIFIED,
           IN_NVPROF, .drop = 4),
    COLUMN(NULL, "device", ID, 0, .cell = device_cell, .needs = STREAMS | UNIFIED, IN_JSON),
    COLUMN("Context", NULL, TEXT, 8, OF(place.context_text), .needs = STREAMS, IN_NVPROF,
           .drop = 8),
    COLUMN(NULL, "context", ID, 0, OF(place.context), IF(place.known), .needs = STREAMS, IN_JSON),
    COLUMN("Stream", NULL, TEXT, 8, OF(place.stream_text), .needs = STREAMS, IN_NVPROF),
    COLUMN(NULL, "stream", ID, 0, OF(place.stream), IF(place.known), .needs = STREAMS, IN_JSON),
    COLUMN("Src Dev", "source_device", TEXT, 15, OF(source_device), .cut = true, .needs = PEERS),
    COLUMN("Src Ctx", "source_context", ID, 8, OF(source_context), IF_ROW(peer), .needs = PEERS,
           .drop = 8),
    COLUMN("Dst Dev", "target_device", TEXT, 15, OF(target_device), .cut = true, .needs = PEERS),
    COLUMN("Dst Ctx", "target_context", ID, 8, OF(target_context), IF_ROW(peer), .needs = PEERS,
           .drop = 8),
    COLUMN("Unified Memory", NULL, TEXT, 20, OF(unified), .needs = UNIFIED, IN_NVPROF),
    COLUMN(NULL, "unified_value", COUNT, 0, OF(value), IF_ROW(unified), .needs = UNIFIED, IN_JSON),
    COLUMN("Virtual Address", "address", HEX, 15, OF(address), UNLESS_ZERO, IF_ROW(unified),
           .needs = UNIFIED),
    COLUMN(NULL, "thread", ID, 0, OF(thread), UNLESS_ZERO, .needs = CALLS | NVTX, IN_JSON),
    COLUMN("Name", NULL, TEXT, 4, OF(name), IN_NVPROF),
    COLUMN(NULL, "name", TEXT, 0, OF(own_name), IN_JSON),
    COLUMN(NULL, "kernel", TEXT, 0, OF(kernel), .needs = CALLS, IN_JSON),
    COLUMN(NULL, "domain", TEXT, 0, OF(domain), .needs = NVTX, IN_JSON),
    COLUMN(NULL, "captured_in", TEXT, 0, OF(captured), .needs = GRAPHS, IN_JSON),
    COLUMN("Correlation_ID", NULL, ID, 0, OF(correlation), UNLESS_ZERO, .formats = REPORT_IN_CSV),
    COLUMN(NULL, "correlation", ID, 0, OF(correlation), UNLESS_ZERO, IN_JSON),
};

bool trace_needs_units(const struct report_out *out)
{
    return (out->format == REPORT_CSV && !out->sheet) ||
           (out->format == REPORT_TEXT && out->units != REPORT_UNITS_AUTO);
}

/* nvprof chooses units by the max of each column. */
static void survey_units(struct trace_table *table, const struct trace_survey *survey)
{
    const struct trace_shape shape = {.static_shared = survey->static_shared,
                                      .dynamic_shared = survey->dynamic_shared};
    const struct trace_row row = {.duration = survey->duration,
                                  .bytes = survey->bytes,
                                  .has_duration = true,
                                  .has_bytes = true};

    report_survey(&table->table,
                  &(struct shown_row){.row = &row,
                                      .shape = &shape,
                                      .since = survey->last_start - survey->first_start,
                                      .throughput = survey->throughput});
}

void trace_table_begin(struct trace_table *table, const struct report_out *out,
                       struct json_writer *json, uint32_t present,
                       const struct trace_survey *survey)
{
    bool all = out->format == REPORT_CSV && out->sheet;
    struct report_layout layout = {REPORT_COLUMNS(columns), .measuring = REPORT_UNITS_ONLY};

    layout.there =
        all ? (present & MERGED) | ~(uint32_t)MERGED : present | (survey->peers ? PEERS : 0);
    *table = (struct trace_table){.out = out, .there = layout.there};
    if (out->format == REPORT_JSON) {
        report_open_json(&table->table, json, &layout);
        return;
    }
    report_open(&table->table, out, &layout);
    if (trace_needs_units(out) && survey->any)
        survey_units(table, survey);
}

void trace_table_put(struct trace_table *table, const struct trace_row *row)
{
    bool throughput = row->has_bytes && row->duration;

    if (!table->count++) {
        table->first_start = row->start;
        if (report_has_titles(table->out))
            report_header(&table->table);
    }
    report_put(
        &table->table,
        &(struct shown_row){
            .row = row,
            .shape = row->shape,
            .since = row->start - table->first_start,
            .throughput = throughput ? trace_throughput(row->bytes, row->duration) : (double)NAN,
            .peer = row->source_device || row->target_device,
            .unified = row->kind == TRACE_UNIFIED,
        });
}

void trace_print_notes(const struct trace_table *table)
{
    FILE *file = table->out->file;

    if (table->there & KERNELS)
        fputs("\nRegs: Registers of a thread, with those that driver and tools add.\n"
              "SSMem: Static shared memory of a block.\n"
              "DSMem: Dynamic shared memory of a block.\n",
              file);
    if (table->there & MEMORY)
        fprintf(file,
                "%sSrcMemType: Kind of memory that a copy reads, or that a memset writes.\n"
                "DstMemType: Kind of memory that a copy writes.\n",
                table->there & KERNELS ? "" : "\n");
}
