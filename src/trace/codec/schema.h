/* What tables.def generates for C code: table ids, column positions, row structs.
 *
 *     MP_TABLE_kernel             id of the table on disk
 *     MP_INDEX_kernel             its position in mp_tables()
 *     MP_COLUMN_kernel_duration   position of the column in mp_table_info.columns, mp_batch.columns
 *     MP_MASK_kernel_duration     its bit for mp_cursor_select
 *     struct mp_row_kernel        one row, a uint64_t for each column; texts are struct mp_text
 */
#ifndef MP_TRACE_CODEC_SCHEMA_H
#define MP_TRACE_CODEC_SCHEMA_H

#include "trace/codec/enums.def"
#include "trace/codec/tables.def"

#include <miniprof/trace.h>

struct mp_text {
    const char *bytes;
    uint32_t length;
};

#define MP_ID_ENTRY(id, name, kind, since, doc) MP_TABLE_##name = id,
enum mp_table_id { MP_TABLES(MP_ID_ENTRY) };
#undef MP_ID_ENTRY

#define MP_INDEX_ENTRY(id, name, kind, since, doc) MP_INDEX_##name,
enum mp_table_index { MP_TABLES(MP_INDEX_ENTRY) MP_TABLE_COUNT };
#undef MP_INDEX_ENTRY

#define MP_COLUMN_ENTRY(table, id, name, type, unit, codec, doc) MP_COLUMN_##table##_##name,
#define MP_TABLE_COLUMN_ENUM(id, name, kind, since, doc)                                           \
    enum mp_column_##name{MP_COLUMNS_##name(MP_COLUMN_ENTRY) MP_COLUMN_COUNT_##name};
MP_TABLES(MP_TABLE_COLUMN_ENUM)
#undef MP_TABLE_COLUMN_ENUM
#undef MP_COLUMN_ENTRY

#define MP_COLUMN_MASK(table, column) (1u << MP_COLUMN_##table##_##column)

/* The C type of a cell by the column's type. */
#define MP_CELL_UINT        uint64_t
#define MP_CELL_INT         uint64_t
#define MP_CELL_TIME        uint64_t
#define MP_CELL_DURATION    uint64_t
#define MP_CELL_HEX         uint64_t
#define MP_CELL_BOOL        uint64_t
#define MP_CELL_TEXT        struct mp_text
#define MP_CELL_ENUM(names) uint64_t
#define MP_CELL_REF(table)  uint64_t

#define MP_ROW_CELL(table, id, name, type, unit, codec, doc) MP_CELL_##type name;
#define MP_ROW_STRUCT(id, name, kind, since, doc)                                                  \
    struct mp_row_##name {                                                                         \
        MP_COLUMNS_##name(MP_ROW_CELL)                                                             \
    };
MP_TABLES(MP_ROW_STRUCT)
#undef MP_ROW_STRUCT
#undef MP_ROW_CELL

/* Values of the enumerations: MP_copy_kind_HtoD and so on. */
#define MP_ENUM_VALUE(enumeration, value, name) MP_##enumeration##_##name = value,
/* clang-format off */
#define MP_ENUM_TYPE(enumeration)                                                                  \
    enum mp_##enumeration { MP_ENUM_##enumeration(MP_ENUM_VALUE) };
/* clang-format on */
MP_ENUMS(MP_ENUM_TYPE)
#undef MP_ENUM_TYPE
#undef MP_ENUM_VALUE

#endif
