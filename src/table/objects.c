/* Rows of a table as JSON objects: the column key, and the number in its base unit. */
#include "table/formats.h"

#include "base/poison.h"

static void put_value(struct json_writer *json, const struct report_column *column,
                      const struct report_cell *cell)
{
    char buffer[REPORT_NUMBER_BYTES];

    switch (column->kind) {
    case REPORT_CELL_TEXT:
    case REPORT_CELL_GROUP:
        json_bytes(json, cell->text, cell->text_bytes);
        break;
    case REPORT_CELL_COUNT:
    case REPORT_CELL_ID:
    case REPORT_CELL_TIME:
    case REPORT_CELL_BYTES:
        json_number(json, cell->number);
        break;
    case REPORT_CELL_SIGNED:
    case REPORT_CELL_CHANGE:
        json_signed(json, (int64_t)cell->number);
        break;
    case REPORT_CELL_HEX:
        json_text(json, report_print_number(column, cell, MP_STYLE_OWN, buffer));
        break;
    case REPORT_CELL_BOOL:
        json_bool(json, cell->number != 0);
        break;
    case REPORT_CELL_MEAN:
    case REPORT_CELL_PERCENT:
    case REPORT_CELL_REAL:
    case REPORT_CELL_THROUGHPUT:
        json_real(json, cell->real);
        break;
    }
}

void report_json_row(struct report_table *table, const struct report_cell *cells)
{
    json_open_object(table->json);
    for (size_t i = 0; i < table->count; i++) {
        if (!table->columns[i].key)
            continue;
        json_key(table->json, table->columns[i].key);
        if (cells[i].absent)
            json_null(table->json);
        else
            put_value(table->json, &table->columns[i], &cells[i]);
    }
    json_close_object(table->json);
    if (!table->json->depth)
        json_end(table->json); /* JSON lines */
}
