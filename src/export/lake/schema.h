/* Inside of the fleet layout: its tables (tables.def) by number, and the columns of each. */
#ifndef MP_EXPORT_LAKE_SCHEMA_H
#define MP_EXPORT_LAKE_SCHEMA_H

#include "export/lake/tables.def"
#include "export/tables/tables.h"

#define LAKE_INDEX_ENTRY(table, name) LAKE_##table,
enum lake_table { LAKE_TABLES(LAKE_INDEX_ENTRY) LAKE_TABLE_COUNT };
#undef LAKE_INDEX_ENTRY

#define LAKE_FIRST_EVENTS LAKE_KERNEL /* before it stands the summary tier */

/* LAKE_KERNEL_start_ns and so on: the place of a column in its table. */
#define LAKE_COLUMN_ENTRY(table, column, type, null) LAKE_##table##_##column,
#define LAKE_COLUMN_ENUM(table, name)                                                              \
    enum lake_##table{LAKE_COLUMNS_##table(LAKE_COLUMN_ENTRY) LAKE_##table##_COLUMNS};
LAKE_TABLES(LAKE_COLUMN_ENUM)
#undef LAKE_COLUMN_ENUM
#undef LAKE_COLUMN_ENTRY

extern const struct tables_table lake_tables[LAKE_TABLE_COUNT];

#endif
