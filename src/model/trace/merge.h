/* The rows of several event tables of one trace in order of time.
 *
 * Chunks stand alone, and their headers say the least and the greatest time in them. A pass over
 * the headers makes a directory of the wanted chunks by their least time (40 bytes each); then a
 * sweep over time decodes a chunk when it gets to its least time, and drops it when its last row is
 * delivered:
 *
 *     kernel  [-----1-----][------3------]   [--5--
 *     call      [----2----]   [-----4-----][--6---
 *                      ^ time: 1 and 2 are in memory
 *
 * Memory is that of the chunks that overlap in time: rows * (8 bytes a column + 4), which for the
 * chunks that the collector writes is some MB, whatever the size of the file.
 *
 * The order is by time, then by the table's place in the list that was given, then as in the file.
 * Rows whose time is 0 (unknown) are passed over and counted; so are damaged chunks. A chunk whose
 * header has a wrong least time (nothing writes such a file) comes late, and nothing else happens.
 */
#ifndef MP_MODEL_TRACE_MERGE_H
#define MP_MODEL_TRACE_MERGE_H

#include <miniprof/trace.h>

#include "base/status.h"

#define MERGE_MOST_TABLES 16

struct merge_table {
    const struct mp_table_info *table;
    unsigned time;    /* index of the column to sort by */
    uint32_t columns; /* to deliver: bit i is table->columns[i]; `time` need not be among them; no
                         TEXT column */
};

struct merge_row {
    const uint64_t *const *columns; /* columns[i][row]; NULL where it was not asked for */
    uint64_t time;
    uint32_t row;
    unsigned table; /* index in the list of tables */
};

struct merge;

/* Reads the chunk headers. `tables` are copied; at most MERGE_MOST_TABLES, each only once. *merge
 * is the caller's to close, before the trace. MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_ARGUMENT. */
enum mp_status merge_open(struct mp_trace *trace, const struct merge_table *tables, size_t count,
                          struct merge **merge, struct mp_error *error);

/* NULL is allowed. */
void merge_close(struct merge *merge);

/* The next row, valid until the next call. MP_OK, MP_END, or MP_ERR_IO, MP_ERR_MEMORY, after which
 * only closing is possible. */
enum mp_status merge_next(struct merge *merge, struct merge_row *row);

/* Rows of a table of the list as the chunk headers count them, before any is read. */
uint64_t merge_promised(const struct merge *merge, unsigned table);

/* Rows passed over so far because their time is unknown. */
uint64_t merge_unknown_times(const struct merge *merge);

/* Adds the chunks that could not be decoded so far to *damage; damage of the file's structure,
 * which any cursor meets, is not counted again. */
void merge_add_damage(const struct merge *merge, struct mp_damage *damage);

/* Most rows that were in memory at a time. */
uint64_t merge_most_rows(const struct merge *merge);

#endif
