/* Cells of `miniprof dump`: a row of any table becomes text by the column's unit. It works from
 * the schema alone, so a new table needs no line here.
 */
#include "reports/dump/dump_table.h"

#include <inttypes.h>

#include "base/poison.h"

/* Times and sizes stay whole numbers: a dump loses nothing. */
static enum report_kind cell_kind_of(const struct mp_column_info *column, bool raw)
{
    switch (column->type) {
    case MP_TYPE_INT:
    case MP_TYPE_DURATION:
        return REPORT_CELL_SIGNED;
    case MP_TYPE_HEX:
        return REPORT_CELL_HEX;
    case MP_TYPE_BOOL:
        return REPORT_CELL_BOOL;
    case MP_TYPE_ENUM:
    case MP_TYPE_REF:
        return raw ? REPORT_CELL_ID : REPORT_CELL_TEXT;
    case MP_TYPE_TEXT:
        return REPORT_CELL_TEXT;
    case MP_TYPE_UINT:
    case MP_TYPE_TIME:
        return REPORT_CELL_ID;
    }
    return REPORT_CELL_ID;
}

static const char *unit_name(enum mp_unit unit)
{
    switch (unit) {
    case MP_UNIT_NS:
        return "ns";
    case MP_UNIT_BYTES:
        return "B";
    case MP_UNIT_KHZ:
        return "kHz";
    case MP_UNIT_KBYTES_PER_S:
        return "kB/s";
    case MP_UNIT_NONE:
    case MP_UNIT_COUNT:
        break;
    }
    return NULL;
}

void dump_begin(struct dump_table *dump, const struct mp_table_info *table,
                const struct report_out *out, struct json_writer *json,
                struct definitions *definitions, bool named)
{
    size_t count = 0;

    dump->table = table;
    dump->definitions = definitions;
    dump->named = named;
    dump->begun = false;
    if (named)
        dump->columns[count++] = (struct report_column){
            .title = "table", .key = "table", .kind = REPORT_CELL_TEXT, .left = true};
    for (unsigned i = 0; i < table->column_count; i++) {
        const struct mp_column_info *column = &table->columns[i];
        enum report_kind kind = cell_kind_of(column, !definitions);

        dump->columns[count++] = (struct report_column){.title = column->name,
                                                        .key = column->name,
                                                        .unit = unit_name(column->unit),
                                                        .kind = kind,
                                                        .left = kind == REPORT_CELL_TEXT};
    }
    report_begin(&dump->printer, out, dump->columns, count);
    dump->printer.json = json;
}

/* A value that has no name keeps its number. */
static struct report_cell name_cell(const char *name, uint64_t value, char *buffer)
{
    if (!name) {
        snprintf(buffer, DUMP_TEXT_BYTES, "#%" PRIu64, value);
        name = buffer;
    }
    return report_text_cell(name);
}

static struct report_cell reference_cell(struct dump_table *dump, const char *table, uint64_t id,
                                         char *buffer)
{
    const char *label = definitions_label(dump->definitions, table, id, buffer, DUMP_TEXT_BYTES);

    return label || id ? name_cell(label, id, buffer) : report_absent_cell();
}

static struct report_cell text_cell(const struct mp_batch *batch, uint32_t row)
{
    uint32_t begin = row ? batch->text_end[row - 1] : 0;

    return (struct report_cell){.text = batch->text + begin,
                                .text_bytes = batch->text_end[row] - begin};
}

static struct report_cell value_cell(struct dump_table *dump, const struct mp_batch *batch,
                                     unsigned column, uint32_t row)
{
    const struct mp_column_info *info = &dump->table->columns[column];
    char *buffer = dump->texts[column];

    if (info->type == MP_TYPE_TEXT)
        return text_cell(batch, row);
    uint64_t value = batch->columns[column][row];
    if (dump->definitions && info->type == MP_TYPE_REF)
        return reference_cell(dump, info->reference, value, buffer);
    if (dump->definitions && info->type == MP_TYPE_ENUM)
        return name_cell(mp_enum_name(info->reference, value), value, buffer);
    return report_number_cell(value);
}

static void dump_table_each_row(struct dump_table *dump, const struct mp_batch *batch,
                                void (*take)(struct report_table *, const struct report_cell *))
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        size_t count = 0;

        if (dump->named)
            dump->cells[count++] = report_text_cell(dump->table->name);
        for (unsigned i = 0; i < dump->table->column_count; i++)
            dump->cells[count++] = value_cell(dump, batch, i, row);
        take(&dump->printer, dump->cells);
    }
}

void dump_header(struct dump_table *dump)
{
    if (!dump->begun)
        report_header(&dump->printer);
    dump->begun = true;
}

void dump_batch(struct dump_table *dump, const struct mp_batch *batch)
{
    if (!dump->begun && dump->printer.format == REPORT_TEXT)
        dump_table_each_row(dump, batch, report_measure);
    dump_header(dump);
    dump_table_each_row(dump, batch, report_row);
}
