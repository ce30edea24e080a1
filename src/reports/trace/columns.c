/* Which columns a trace has in each format, and what they show of a row. Titles, order and widths
 * of text and CSV are nvprof's. JSON has numbers where those have texts, and its times are those of
 * the recorder's clock. */
#include <string.h>

#include "reports/trace/rows.h"

#include "base/poison.h"

enum trace_cell {
    CELL_PROCESS,
    CELL_KIND,
    CELL_START,
    CELL_START_TIME,
    CELL_DURATION,
    CELL_GRID,
    CELL_GRID_X,
    CELL_GRID_Y,
    CELL_GRID_Z,
    CELL_BLOCK,
    CELL_BLOCK_X,
    CELL_BLOCK_Y,
    CELL_BLOCK_Z,
    CELL_REGISTERS,
    CELL_STATIC_SHARED,
    CELL_DYNAMIC_SHARED,
    CELL_BYTES,
    CELL_THROUGHPUT,
    CELL_SOURCE_MEMORY,
    CELL_TARGET_MEMORY,
    CELL_DEVICE,
    CELL_DEVICE_NUMBER,
    CELL_CONTEXT,
    CELL_CONTEXT_NUMBER,
    CELL_STREAM,
    CELL_STREAM_NUMBER,
    CELL_SOURCE_DEVICE,
    CELL_SOURCE_CONTEXT,
    CELL_TARGET_DEVICE,
    CELL_TARGET_CONTEXT,
    CELL_UNIFIED,
    CELL_VALUE,
    CELL_ADDRESS,
    CELL_THREAD,
    CELL_NAME,
    CELL_OWN_NAME,
    CELL_KERNEL,
    CELL_DOMAIN,
    CELL_CAPTURED,
    CELL_CORRELATION
};

/* What a column needs to be there: rows of one of these kinds, or copies between devices. */
#define ALWAYS  0xFFFFFFFFu
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

#define SIZE_CELL_WIDTH 9 /* of `1.5000KiB`; nvprof's is one less */

#define TEXT (1u << REPORT_TEXT)
#define CSV  (1u << REPORT_CSV)
#define JSON (1u << REPORT_JSON)

static const struct {
    uint8_t cell;
    uint8_t formats;
    uint32_t needs;
    struct report_column column;
} all_columns[] = {
    {CELL_PROCESS,
     TEXT | CSV | JSON,
     MERGED,
     {.title = "Process", .key = "process", .kind = REPORT_CELL_TEXT, .width = 7, .left = true}},
    {CELL_KIND, JSON, ALWAYS, {.key = "kind", .kind = REPORT_CELL_TEXT}},
    {CELL_START,
     TEXT | CSV,
     ALWAYS,
     {.title = "Start", .kind = REPORT_CELL_TIME, .width = 8, .moment = true}},
    {CELL_START_TIME, JSON, ALWAYS, {.key = "start_ns", .kind = REPORT_CELL_ID}},
    {CELL_DURATION,
     TEXT | CSV | JSON,
     ALWAYS,
     {.title = "Duration", .key = "duration_ns", .kind = REPORT_CELL_TIME, .width = 8}},
    {CELL_GRID,
     TEXT,
     KERNELS,
     {.title = "Grid Size", .kind = REPORT_CELL_TEXT, .width = 19, .drop = 2}},
    {CELL_GRID_X,
     CSV | JSON,
     KERNELS,
     {.title = "Grid X", .key = "grid_x", .kind = REPORT_CELL_COUNT}},
    {CELL_GRID_Y,
     CSV | JSON,
     KERNELS,
     {.title = "Grid Y", .key = "grid_y", .kind = REPORT_CELL_COUNT}},
    {CELL_GRID_Z,
     CSV | JSON,
     KERNELS,
     {.title = "Grid Z", .key = "grid_z", .kind = REPORT_CELL_COUNT}},
    {CELL_BLOCK,
     TEXT,
     KERNELS,
     {.title = "Block Size", .kind = REPORT_CELL_TEXT, .width = 14, .drop = 3}},
    {CELL_BLOCK_X,
     CSV | JSON,
     KERNELS,
     {.title = "Block X", .key = "block_x", .kind = REPORT_CELL_COUNT}},
    {CELL_BLOCK_Y,
     CSV | JSON,
     KERNELS,
     {.title = "Block Y", .key = "block_y", .kind = REPORT_CELL_COUNT}},
    {CELL_BLOCK_Z,
     CSV | JSON,
     KERNELS,
     {.title = "Block Z", .key = "block_z", .kind = REPORT_CELL_COUNT}},
    {CELL_REGISTERS,
     TEXT,
     KERNELS,
     {.title = "Regs*", .kind = REPORT_CELL_COUNT, .width = 8, .drop = 6}},
    {CELL_REGISTERS,
     CSV | JSON,
     KERNELS,
     {.title = "Registers Per Thread", .key = "registers", .kind = REPORT_CELL_COUNT}},
    {CELL_STATIC_SHARED,
     TEXT,
     KERNELS,
     {.title = "SSMem*", .kind = REPORT_CELL_BYTES, .width = 8, .drop = 7}},
    {CELL_STATIC_SHARED,
     CSV | JSON,
     KERNELS,
     {.title = "Static SMem",
      .key = "static_shared_bytes",
      .kind = REPORT_CELL_BYTES,
      .scaled = true}},
    {CELL_DYNAMIC_SHARED,
     TEXT,
     KERNELS,
     {.title = "DSMem*", .kind = REPORT_CELL_BYTES, .width = 8, .drop = 7}},
    {CELL_DYNAMIC_SHARED,
     CSV | JSON,
     KERNELS,
     {.title = "Dynamic SMem",
      .key = "dynamic_shared_bytes",
      .kind = REPORT_CELL_BYTES,
      .scaled = true}},
    {CELL_BYTES,
     TEXT | CSV | JSON,
     MEMORY,
     {.title = "Size", .key = "bytes", .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true}},
    {CELL_THROUGHPUT,
     TEXT | CSV | JSON,
     MEMORY,
     {.title = "Throughput",
      .key = "bytes_per_second",
      .kind = REPORT_CELL_THROUGHPUT,
      .width = 10,
      .scaled = true,
      .drop = 1}},
    {CELL_SOURCE_MEMORY,
     TEXT | CSV | JSON,
     MEMORY,
     {.title = "SrcMemType",
      .key = "source_memory",
      .kind = REPORT_CELL_TEXT,
      .width = 10,
      .drop = 5}},
    {CELL_TARGET_MEMORY,
     TEXT | CSV | JSON,
     COPIES,
     {.title = "DstMemType",
      .key = "target_memory",
      .kind = REPORT_CELL_TEXT,
      .width = 10,
      .drop = 5}},
    {CELL_DEVICE,
     TEXT | CSV,
     STREAMS | UNIFIED,
     {.title = "Device", .kind = REPORT_CELL_TEXT, .width = 15, .cut = true, .drop = 4}},
    {CELL_DEVICE_NUMBER, JSON, STREAMS | UNIFIED, {.key = "device", .kind = REPORT_CELL_ID}},
    {CELL_CONTEXT,
     TEXT | CSV,
     STREAMS,
     {.title = "Context", .kind = REPORT_CELL_TEXT, .width = 8, .drop = 8}},
    {CELL_CONTEXT_NUMBER, JSON, STREAMS, {.key = "context", .kind = REPORT_CELL_ID}},
    {CELL_STREAM, TEXT | CSV, STREAMS, {.title = "Stream", .kind = REPORT_CELL_TEXT, .width = 8}},
    {CELL_STREAM_NUMBER, JSON, STREAMS, {.key = "stream", .kind = REPORT_CELL_ID}},
    {CELL_SOURCE_DEVICE,
     TEXT | CSV | JSON,
     PEERS,
     {.title = "Src Dev",
      .key = "source_device",
      .kind = REPORT_CELL_TEXT,
      .width = 15,
      .cut = true}},
    {CELL_SOURCE_CONTEXT,
     TEXT | CSV | JSON,
     PEERS,
     {.title = "Src Ctx", .key = "source_context", .kind = REPORT_CELL_ID, .width = 8, .drop = 8}},
    {CELL_TARGET_DEVICE,
     TEXT | CSV | JSON,
     PEERS,
     {.title = "Dst Dev",
      .key = "target_device",
      .kind = REPORT_CELL_TEXT,
      .width = 15,
      .cut = true}},
    {CELL_TARGET_CONTEXT,
     TEXT | CSV | JSON,
     PEERS,
     {.title = "Dst Ctx", .key = "target_context", .kind = REPORT_CELL_ID, .width = 8, .drop = 8}},
    {CELL_UNIFIED,
     TEXT | CSV,
     UNIFIED,
     {.title = "Unified Memory", .kind = REPORT_CELL_TEXT, .width = 20}},
    {CELL_VALUE, JSON, UNIFIED, {.key = "unified_value", .kind = REPORT_CELL_COUNT}},
    {CELL_ADDRESS,
     TEXT | CSV | JSON,
     UNIFIED,
     {.title = "Virtual Address", .key = "address", .kind = REPORT_CELL_HEX, .width = 15}},
    {CELL_THREAD, JSON, CALLS | NVTX, {.key = "thread", .kind = REPORT_CELL_ID}},
    {CELL_NAME, TEXT | CSV, ALWAYS, {.title = "Name", .kind = REPORT_CELL_TEXT, .width = 4}},
    {CELL_OWN_NAME, JSON, ALWAYS, {.key = "name", .kind = REPORT_CELL_TEXT}},
    {CELL_KERNEL, JSON, CALLS, {.key = "kernel", .kind = REPORT_CELL_TEXT}},
    {CELL_DOMAIN, JSON, NVTX, {.key = "domain", .kind = REPORT_CELL_TEXT}},
    {CELL_CAPTURED, JSON, GRAPHS, {.key = "captured_in", .kind = REPORT_CELL_TEXT}},
    {CELL_CORRELATION, CSV, ALWAYS, {.title = "Correlation_ID", .kind = REPORT_CELL_ID}},
    {CELL_CORRELATION, JSON, ALWAYS, {.key = "correlation", .kind = REPORT_CELL_ID}},
};

void trace_columns_choose(struct trace_columns *columns, const struct report_out *out,
                          uint32_t present, bool peers)
{
    bool all = out->format == REPORT_CSV && out->sheet;
    enum report_format format = all ? REPORT_JSON : out->format;
    uint32_t there = all ? (present & MERGED) | ~(uint32_t)MERGED : present | (peers ? PEERS : 0);

    *columns = (struct trace_columns){.has_shapes = there & KERNELS, .has_memory = there & MEMORY};
    for (size_t i = 0; i < sizeof all_columns / sizeof *all_columns; i++) {
        bool shown = all_columns[i].formats >> format & 1;
        bool filled = all_columns[i].needs == ALWAYS || all_columns[i].needs & there;

        if (!shown || !filled)
            continue;
        struct report_column *column = &columns->columns[columns->count];
        *column = all_columns[i].column;
        if (!column->title)
            column->title = column->key;
        if (column->kind == REPORT_CELL_BYTES && !out->nvprof)
            column->width = SIZE_CELL_WIDTH;
        columns->cells[columns->count++] = all_columns[i].cell;
    }
}

static struct report_cell number_if(bool there, uint64_t number)
{
    return there ? report_number_cell(number) : report_absent_cell();
}

static struct report_cell shape_cell(enum trace_cell cell, const struct trace_row *row)
{
    const struct trace_shape *shape = row->shape;

    if (!shape)
        return report_absent_cell();
    if (cell == CELL_GRID)
        return report_text_cell(shape->grid_text);
    if (cell == CELL_BLOCK)
        return report_text_cell(shape->block_text);
    if (cell >= CELL_GRID_X && cell <= CELL_GRID_Z)
        return report_number_cell(shape->grid[cell - CELL_GRID_X]);
    if (cell >= CELL_BLOCK_X && cell <= CELL_BLOCK_Z)
        return report_number_cell(shape->block[cell - CELL_BLOCK_X]);
    if (cell == CELL_REGISTERS)
        return report_number_cell(shape->registers);
    return report_number_cell(cell == CELL_STATIC_SHARED ? shape->static_shared
                                                         : shape->dynamic_shared);
}

static struct report_cell place_cell(enum trace_cell cell, const struct trace_row *row)
{
    const struct trace_place *place = &row->place;

    if (cell == CELL_DEVICE)
        return report_text_cell(place->device_text);
    if (cell == CELL_CONTEXT)
        return report_text_cell(place->context_text);
    if (cell == CELL_STREAM)
        return report_text_cell(place->stream_text);
    if (cell == CELL_DEVICE_NUMBER)
        return number_if(place->known || place->device_text, place->device);
    return number_if(place->known, cell == CELL_CONTEXT_NUMBER ? place->context : place->stream);
}

static struct report_cell memory_cell(enum trace_cell cell, const struct trace_row *row)
{
    bool peer = row->source_device || row->target_device;

    switch ((int)cell) {
    case CELL_BYTES:
        return number_if(row->has_bytes, row->bytes);
    case CELL_THROUGHPUT:
        return row->has_bytes && row->duration
                   ? report_real_cell(trace_throughput(row->bytes, row->duration))
                   : report_absent_cell();
    case CELL_SOURCE_MEMORY:
        return report_text_cell(row->source_memory);
    case CELL_TARGET_MEMORY:
        return report_text_cell(row->target_memory);
    case CELL_SOURCE_DEVICE:
        return report_text_cell(row->source_device);
    case CELL_TARGET_DEVICE:
        return report_text_cell(row->target_device);
    case CELL_SOURCE_CONTEXT:
        return number_if(peer, row->source_context);
    default:
        return number_if(peer, row->target_context);
    }
}

static struct report_cell other_cell(enum trace_cell cell, const struct trace_row *row)
{
    switch ((int)cell) {
    case CELL_PROCESS:
        return report_text_cell(row->process);
    case CELL_KIND:
        return report_text_cell(row->kind_name);
    case CELL_START_TIME:
        return report_number_cell(row->start);
    case CELL_DURATION:
        return number_if(row->has_duration, row->duration);
    case CELL_UNIFIED:
        return report_text_cell(row->unified);
    case CELL_VALUE:
        return number_if(row->kind == TRACE_UNIFIED, row->value);
    case CELL_ADDRESS:
        return number_if(row->kind == TRACE_UNIFIED && row->address, row->address);
    case CELL_THREAD:
        return number_if(row->thread != 0, row->thread);
    case CELL_NAME:
        return report_text_cell(row->name);
    case CELL_OWN_NAME:
        return report_text_cell(row->own_name);
    case CELL_KERNEL:
        return report_text_cell(row->kernel);
    case CELL_DOMAIN:
        return report_text_cell(row->domain);
    case CELL_CAPTURED:
        return report_text_cell(row->captured);
    default:
        return number_if(row->correlation != 0, row->correlation);
    }
}

void trace_columns_fill(const struct trace_columns *columns, const struct trace_row *row,
                        uint64_t first_start, struct report_cell cells[TRACE_MAX_COLUMNS])
{
    for (size_t i = 0; i < columns->count; i++) {
        enum trace_cell cell = (enum trace_cell)columns->cells[i];

        if (cell == CELL_START)
            cells[i] = report_number_cell(row->start - first_start);
        else if (cell >= CELL_GRID && cell <= CELL_DYNAMIC_SHARED)
            cells[i] = shape_cell(cell, row);
        else if (cell >= CELL_DEVICE && cell <= CELL_STREAM_NUMBER)
            cells[i] = place_cell(cell, row);
        else if (cell >= CELL_BYTES && cell <= CELL_TARGET_CONTEXT)
            cells[i] = memory_cell(cell, row);
        else
            cells[i] = other_cell(cell, row);
    }
}

void trace_columns_fill_survey(const struct trace_columns *columns,
                               const struct trace_survey *survey,
                               struct report_cell cells[TRACE_MAX_COLUMNS])
{
    for (size_t i = 0; i < columns->count; i++) {
        switch (columns->cells[i]) {
        case CELL_START:
            cells[i] = report_number_cell(survey->last_start - survey->first_start);
            break;
        case CELL_DURATION:
            cells[i] = report_number_cell(survey->duration);
            break;
        case CELL_STATIC_SHARED:
            cells[i] = report_number_cell(survey->static_shared);
            break;
        case CELL_DYNAMIC_SHARED:
            cells[i] = report_number_cell(survey->dynamic_shared);
            break;
        case CELL_BYTES:
            cells[i] = report_number_cell(survey->bytes);
            break;
        case CELL_THROUGHPUT:
            cells[i] = report_real_cell(survey->throughput);
            break;
        default:
            cells[i] = report_absent_cell();
        }
    }
}
