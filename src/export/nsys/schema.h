/* Inside of nsys's exports: their tables (tables.def) by number, and the columns of each. */
#ifndef MP_EXPORT_NSYS_SCHEMA_H
#define MP_EXPORT_NSYS_SCHEMA_H

#include "export/nsys/tables.def"
#include "export/tables/tables.h"

#define NSYS_SCHEMA_VERSION "3.28.1"

#define NSYS_INDEX_ENTRY(table, name) NSYS_##table,
enum nsys_table { NSYS_TABLES(NSYS_INDEX_ENTRY) NSYS_TABLE_COUNT };
#undef NSYS_INDEX_ENTRY

/* NSYS_KERNEL_start and so on: the place of a column in its table. */
#define NSYS_COLUMN_ENTRY(table, column, type, null) NSYS_##table##_##column,
#define NSYS_COLUMN_ENUM(table, name)                                                              \
    enum nsys_##table{NSYS_COLUMNS_##table(NSYS_COLUMN_ENTRY) NSYS_##table##_COLUMNS};
NSYS_TABLES(NSYS_COLUMN_ENUM)
#undef NSYS_COLUMN_ENUM
#undef NSYS_COLUMN_ENTRY

extern const struct tables_table nsys_tables[NSYS_TABLE_COUNT];

#endif
