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

/* A value that has no name keeps its number. */
static struct report_cell named_cell(struct report_table *table, const char *name, uint64_t value)
{
    return report_text_cell(name ? name : report_say(table, "#%" PRIu64, value));
}

static struct report_cell reference_cell(struct report_table *table, const struct dump_table *dump,
                                         const char *kind, uint64_t id)
{
    char text[DUMP_TEXT_BYTES];
    const char *label = definitions_label(dump->definitions, kind, id, text, sizeof text);

    if (label && label >= text && label < text + sizeof text)
        label = report_copy(table, label);
    return label || id ? named_cell(table, label, id) : report_absent_cell();
}

static struct report_cell text_cell(const struct mp_batch *batch, uint32_t row)
{
    uint32_t begin = row ? batch->text_end[row - 1] : 0;

    return (struct report_cell){.text = batch->text + begin,
                                .text_bytes = batch->text_end[row] - begin};
}

/* A row of a batch; the column's `index` is that of the table. */
struct dump_row {
    const struct mp_batch *batch;
    uint32_t row;
};

static struct report_cell value_cell(const void *at, struct report_table *table)
{
    const struct dump_row *row = at;
    const struct dump_table *dump = table->of;
    const struct mp_column_info *info = &dump->table->columns[table->column->index];

    if (info->type == MP_TYPE_TEXT)
        return text_cell(row->batch, row->row);
    uint64_t value = row->batch->columns[table->column->index][row->row];
    if (dump->definitions && info->type == MP_TYPE_REF)
        return reference_cell(table, dump, info->reference, value);
    if (dump->definitions && info->type == MP_TYPE_ENUM)
        return named_cell(table, mp_enum_name(info->reference, value), value);
    return report_number_cell(value);
}

static struct report_cell table_cell(const void *at, struct report_table *table)
{
    (void)at;
    return report_text_cell(((const struct dump_table *)table->of)->table->name);
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
        dump->columns[count++] = (struct report_column){.title = "table",
                                                        .key = "table",
                                                        .kind = REPORT_CELL_TEXT,
                                                        .left = true,
                                                        .cell = table_cell};
    for (unsigned i = 0; i < table->column_count; i++) {
        const struct mp_column_info *column = &table->columns[i];
        enum report_kind kind = cell_kind_of(column, !definitions);

        dump->columns[count++] = (struct report_column){.title = column->name,
                                                        .key = column->name,
                                                        .unit = unit_name(column->unit),
                                                        .kind = kind,
                                                        .left = kind == REPORT_CELL_TEXT,
                                                        .cell = value_cell,
                                                        .index = i};
    }
    report_open(&dump->printer, out,
                &(struct report_layout){.columns = dump->columns, .count = count, .of = dump});
    dump->printer.json = json;
}

void dump_header(struct dump_table *dump)
{
    if (!dump->begun)
        report_header(&dump->printer);
    dump->begun = true;
}

static void each_row(struct dump_table *dump, report_take *take, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++)
        take(&dump->printer, &(struct dump_row){batch, row});
}

void dump_batch(struct dump_table *dump, const struct mp_batch *batch)
{
    if (!dump->begun && dump->printer.format == REPORT_TEXT)
        each_row(dump, report_survey, batch);
    dump_header(dump);
    each_row(dump, report_put, batch);
}
