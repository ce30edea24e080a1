/* What tables.def generates for C code: table ids, column positions, row structs.
 *
 *     MP_TABLE_kernel             id of the table on disk
 *     MP_INDEX_kernel             its position in mp_tables()
 *     MP_COLUMN_kernel_duration   position of the column in mp_table_info.columns, mp_batch.columns
 *     MP_MASK(kernel, start, duration)   the bits of these columns for mp_cursor_select
 *     struct mp_row_kernel        one row, a uint64_t for each column; texts are struct mp_text
 *     struct mp_kernel_columns    the columns of a batch, by name
 *
 *     const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
 *     for (uint32_t row = 0; row < batch->rows; row++)
 *         total += kernel.duration[row];
 */
#ifndef MP_TRACE_SCHEMA_H
#define MP_TRACE_SCHEMA_H

#include "trace/tables.def"

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

/* Bits of columns for mp_cursor_select: MP_MASK(kernel, start, duration), up to 16 of them. */
#define MP_MASK(table, ...)                                                                        \
    (MP_MASK_BY_COUNT(__VA_ARGS__, MP_MASK_16, MP_MASK_15, MP_MASK_14, MP_MASK_13, MP_MASK_12,     \
                      MP_MASK_11, MP_MASK_10, MP_MASK_9, MP_MASK_8, MP_MASK_7, MP_MASK_6,          \
                      MP_MASK_5, MP_MASK_4, MP_MASK_3, MP_MASK_2,                                  \
                      MP_MASK_1, )(table, __VA_ARGS__))
#define MP_MASK_BY_COUNT(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16,    \
                         mask, ...)                                                                \
    mask
#define MP_MASK_1(t, column)       MP_COLUMN_MASK(t, column)
#define MP_MASK_2(t, column, ...)  MP_MASK_1(t, column) | MP_MASK_1(t, __VA_ARGS__)
#define MP_MASK_3(t, column, ...)  MP_MASK_1(t, column) | MP_MASK_2(t, __VA_ARGS__)
#define MP_MASK_4(t, column, ...)  MP_MASK_1(t, column) | MP_MASK_3(t, __VA_ARGS__)
#define MP_MASK_5(t, column, ...)  MP_MASK_1(t, column) | MP_MASK_4(t, __VA_ARGS__)
#define MP_MASK_6(t, column, ...)  MP_MASK_1(t, column) | MP_MASK_5(t, __VA_ARGS__)
#define MP_MASK_7(t, column, ...)  MP_MASK_1(t, column) | MP_MASK_6(t, __VA_ARGS__)
#define MP_MASK_8(t, column, ...)  MP_MASK_1(t, column) | MP_MASK_7(t, __VA_ARGS__)
#define MP_MASK_9(t, column, ...)  MP_MASK_1(t, column) | MP_MASK_8(t, __VA_ARGS__)
#define MP_MASK_10(t, column, ...) MP_MASK_1(t, column) | MP_MASK_9(t, __VA_ARGS__)
#define MP_MASK_11(t, column, ...) MP_MASK_1(t, column) | MP_MASK_10(t, __VA_ARGS__)
#define MP_MASK_12(t, column, ...) MP_MASK_1(t, column) | MP_MASK_11(t, __VA_ARGS__)
#define MP_MASK_13(t, column, ...) MP_MASK_1(t, column) | MP_MASK_12(t, __VA_ARGS__)
#define MP_MASK_14(t, column, ...) MP_MASK_1(t, column) | MP_MASK_13(t, __VA_ARGS__)
#define MP_MASK_15(t, column, ...) MP_MASK_1(t, column) | MP_MASK_14(t, __VA_ARGS__)
#define MP_MASK_16(t, column, ...) MP_MASK_1(t, column) | MP_MASK_15(t, __VA_ARGS__)
#define MP_ALL_COLUMNS             UINT32_MAX

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

/* The columns of a table by name: each has a value for each row of the batch that they come from. A
 * column that was not selected, or that holds text, is NULL. A column costs nothing until it is
 * used, so a function that handles one row may get them anew. */
#define MP_COLUMN_MEMBER(table, id, name, type, unit, codec, doc) const uint64_t *name;
#define MP_COLUMN_VALUE(table, id, name, type, unit, codec, doc)                                   \
    columns[MP_COLUMN_##table##_##name],
#define MP_COLUMNS_STRUCT(id, name, kind, since, doc)                                              \
    struct mp_##name##_columns {                                                                   \
        MP_COLUMNS_##name(MP_COLUMN_MEMBER)                                                        \
    };                                                                                             \
    static inline struct mp_##name##_columns mp_##name##_columns(const uint64_t *const *columns)   \
    {                                                                                              \
        return (struct mp_##name##_columns){MP_COLUMNS_##name(MP_COLUMN_VALUE)};                   \
    }
MP_TABLES(MP_COLUMNS_STRUCT)
#undef MP_COLUMNS_STRUCT
#undef MP_COLUMN_VALUE
#undef MP_COLUMN_MEMBER

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
