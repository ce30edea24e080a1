/* The rows of several event tables of one trace in order of time.
 *
 * Each chunk can be decoded alone, and its header holds the least and the greatest time in it. A
 * first pass over the headers lists the wanted chunks by their least time (40 bytes each). Then a
 * sweep over time decodes a chunk when it reaches the chunk's least time, and drops the chunk after
 * its last row:
 *
 *     kernel  [-----1-----][------3------]   [--5--
 *     call      [----2----]   [-----4-----][--6---
 *                      ^ time: 1 and 2 are in memory
 *
 * Memory holds the chunks that overlap in time: rows * (8 bytes a column + 4). For the chunks that
 * the recorder writes this is some MB, whatever the size of the file.
 *
 * The order is by time, then by the table's place in the list that was given, then by position in
 * the file. Rows whose time is 0 (unknown) are skipped and counted; so are damaged chunks. If a
 * header's least time is wrong (no writer makes such a file), its chunk comes late, and nothing
 * else happens.
 */
#ifndef MP_PROFILE_MERGE_H
#define MP_PROFILE_MERGE_H

#include <miniprof/trace.h>

#include "base/status.h"
#include "profile/activity.h"

#define MERGE_MAX_TABLES 16

struct merge_table {
    const struct mp_table_info *table;
    unsigned time;    /* index of the column to sort by */
    uint32_t columns; /* to deliver: bit i is table->columns[i]; `time` need not be among them; no
                         TEXT column */
};

/* A table of activities, to deliver these columns. */
static inline struct merge_table merge_activities(const struct activity_table *table,
                                                  uint32_t columns)
{
    return (struct merge_table){mp_table_by_id(table->table), table->start - 1u, columns};
}

struct merge_row {
    const uint64_t *const *columns; /* columns[i][row]; NULL where it was not asked for */
    uint64_t time;
    uint32_t row;
    unsigned table; /* index in the list of tables */
};

struct merge;

/* Reads the chunk headers. `tables` are copied; at most MERGE_MAX_TABLES, each only once. *merge
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

/* Adds to *damage the chunks that could not be decoded so far. Damage of the file's structure is
 * not added, because every cursor already counts it. */
void merge_add_damage(const struct merge *merge, struct mp_damage *damage);

/* Greatest number of rows that were in memory at the same time. */
uint64_t merge_max_rows(const struct merge *merge);

#endif
