/* The footer: the schema, and where the columns of each group stand (parquet.thrift,
 * FileMetaData). Memory that is out shows in the buffer's status. */
#ifndef MP_EXPORT_PARQUET_FOOTER_H
#define MP_EXPORT_PARQUET_FOOTER_H

#include "export/parquet/pages.h"

/* Appends a RowGroup of `rows` rows; `chunks` are in the order of the table's columns. */
void footer_append_group(struct mp_buffer *groups, const struct parquet_table *table,
                         const struct chunk *chunks, uint32_t rows);

struct footer {
    const struct parquet_table *table;
    uint64_t rows;
    const struct mp_buffer *groups; /* what footer_append_group appended */
    uint32_t group_count;
    const struct parquet_note *notes; /* valid UTF-8 */
    unsigned note_count;
};

/* Appends the FileMetaData. */
void footer_append(struct mp_buffer *out, const struct footer *footer);

#endif
