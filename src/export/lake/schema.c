/* The tables of the fleet layout as data, from tables.def. */
#include "export/lake/schema.h"

#include "base/poison.h"

#define NULL_NULLED                        0
#define NULL_FULL                          TABLES_REQUIRED
#define COLUMN_OF(table, name, type, null) {#name, TABLES_##type, NULL_##null},
#define COLUMN_ARRAY(table, name)                                                                  \
    static const struct tables_column columns_##table[] = {LAKE_COLUMNS_##table(COLUMN_OF)};
LAKE_TABLES(COLUMN_ARRAY)

#define TABLE_OF(table, name) {#name, columns_##table, LAKE_##table##_COLUMNS},
const struct tables_table lake_tables[LAKE_TABLE_COUNT] = {LAKE_TABLES(TABLE_OF)};
