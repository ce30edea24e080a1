/* Delivers the rows of several tables in order of time. A heap holds the decoded chunks by their
 * next row; a chunk is decoded when time reaches its first row, and dropped after its last one.
 */
#include "profile/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"

#include "base/poison.h"

/* A chunk of the directory. */
struct entry {
    uint64_t first_time;
    uint64_t offset; /* in the file */
    uint32_t table;
};

/* A decoded chunk: its columns, back to back, then the order of its rows. */
struct open_chunk {
    uint64_t *values; /* owned */
    uint32_t *order;  /* owned; rows by time, those without one left out */
    const uint64_t *columns[MP_MAX_COLUMNS];
    const uint64_t *times;
    uint64_t offset;
    uint32_t table;
    uint32_t rows;
    uint32_t count; /* in `order` */
    uint32_t at;    /* of the next row in `order` */
};

struct heap_item {
    uint64_t time; /* of the chunk's next row */
    struct open_chunk *chunk;
};

struct merge {
    struct merge_table tables[MERGE_MAX_TABLES];
    uint64_t promised[MERGE_MAX_TABLES];
    size_t table_count;
    struct mp_cursor *cursor;
    struct entry *entries; /* owned; sorted */
    size_t entry_count, entry_capacity, next_entry;
    struct heap_item *heap; /* owned, with its chunks; the one with the next row on top */
    size_t heap_count, heap_capacity;
    bool advance; /* the row on top was delivered */
    uint64_t unknown_times;
    uint64_t rows, max_rows;
    struct mp_damage walked; /* damage that the pass over the headers met */
};

/* ---- The directory ---- */

static unsigned find_table(const struct merge *merge, const struct mp_table_info *table)
{
    unsigned i = 0;

    while (i < merge->table_count && merge->tables[i].table != table)
        i++;
    return i;
}

MP_COMPARE(compare_entries, struct entry,
           MP_ORDER(a->first_time, b->first_time) ?: MP_ORDER(a->table, b->table) ?:
           MP_ORDER(a->offset, b->offset));

static enum mp_status read_directory(struct merge *merge)
{
    struct mp_chunk chunk;
    enum mp_status status;

    while ((status = mp_cursor_next_chunk(merge->cursor, &chunk, false)) == MP_OK) {
        unsigned table = find_table(merge, chunk.table);

        if (table == merge->table_count)
            continue;
        MP_TRY(MP_RESERVE(merge->entries, merge->entry_count, merge->entry_capacity));
        merge->entries[merge->entry_count++] =
            (struct entry){chunk.first_time, chunk.offset, table};
        merge->promised[table] += chunk.rows;
    }
    mp_cursor_damage(merge->cursor, &merge->walked);
    if (merge->entry_count)
        qsort(merge->entries, merge->entry_count, sizeof *merge->entries, compare_entries);
    return status == MP_END ? MP_OK : status;
}

static enum mp_status set_up(struct merge *merge, const struct merge_table *tables, size_t count)
{
    size_t known;
    const struct mp_table_info *all = mp_tables(&known);

    memcpy(merge->tables, tables, count * sizeof *tables);
    merge->table_count = count;
    for (size_t i = 0; i < known; i++)
        mp_cursor_select(merge->cursor, &all[i], 0);
    for (size_t i = 0; i < count; i++)
        mp_cursor_select(merge->cursor, tables[i].table, tables[i].columns | 1u << tables[i].time);
    return read_directory(merge);
}

enum mp_status merge_open(struct mp_trace *trace, const struct merge_table *tables, size_t count,
                          struct merge **result, struct mp_error *error)
{
    struct merge *merge = calloc(1, sizeof *merge);

    *result = NULL;
    if (!merge)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    enum mp_status status = mp_cursor_open(trace, &merge->cursor, error);
    if (status == MP_OK && count > MERGE_MAX_TABLES)
        status = mp_error_set(error, MP_ERR_ARGUMENT, "too many tables");
    if (status == MP_OK) {
        status = set_up(merge, tables, count);
        if (status)
            mp_error_set(error, status, "cannot read the chunks: %s", mp_status_name(status));
    }
    if (status) {
        merge_close(merge);
        return status;
    }
    *result = merge;
    return MP_OK;
}

static void chunk_free(struct open_chunk *chunk)
{
    if (!chunk)
        return;
    free(chunk->values);
    free(chunk->order);
    free(chunk);
}

void merge_close(struct merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->heap_count; i++)
        chunk_free(merge->heap[i].chunk);
    free(merge->heap);
    free(merge->entries);
    mp_cursor_close(merge->cursor);
    free(merge);
}

/* ---- Decoded chunks ---- */

static bool merge_is_before(const void *context, uint32_t a, uint32_t b)
{
    const uint64_t *times = context;

    return times[a] < times[b];
}

/* Rows that have a time, by time. */
static enum mp_status sort_rows(struct merge *merge, struct open_chunk *chunk)
{
    uint32_t *scratch = malloc(chunk->rows * sizeof *scratch);

    chunk->order = malloc(chunk->rows * sizeof *chunk->order);
    if (!scratch || !chunk->order) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < chunk->rows; i++) {
        if (chunk->times[i])
            chunk->order[chunk->count++] = i;
    }
    merge->unknown_times += chunk->rows - chunk->count;
    mp_sort(chunk->order, chunk->count, scratch, merge_is_before, chunk->times);
    free(scratch);
    return MP_OK;
}

/* The batch belongs to the cursor, so its columns are copied. */
static enum mp_status copy_columns(struct open_chunk *chunk, const struct mp_batch *batch,
                                   unsigned time)
{
    size_t columns = 0;

    for (unsigned i = 0; i < MP_MAX_COLUMNS; i++)
        columns += batch->columns[i] != NULL;
    uint64_t *values = malloc(columns * batch->rows * sizeof *values);
    if (!values)
        return MP_ERR_MEMORY;
    chunk->values = values;
    chunk->rows = batch->rows;
    for (unsigned i = 0; i < MP_MAX_COLUMNS; i++) {
        if (!batch->columns[i])
            continue;
        memcpy(values, batch->columns[i], batch->rows * sizeof *values);
        chunk->columns[i] = values;
        values += batch->rows;
    }
    chunk->times = chunk->columns[time];
    return MP_OK;
}

/* Decodes a chunk of the directory, which then stands at its first row. */
static enum mp_status decode(struct merge *merge, const struct entry *entry,
                             struct open_chunk **result)
{
    struct mp_batch batch;
    struct open_chunk *chunk;

    *result = NULL;
    MP_TRY(mp_cursor_read_chunk(merge->cursor, entry->offset, &batch));
    chunk = calloc(1, sizeof *chunk);
    if (!chunk)
        return MP_ERR_MEMORY;
    chunk->offset = entry->offset;
    chunk->table = entry->table;
    enum mp_status status = copy_columns(chunk, &batch, merge->tables[entry->table].time);
    if (!status)
        status = sort_rows(merge, chunk);
    if (status)
        chunk_free(chunk);
    else
        *result = chunk;
    return status;
}

/* ---- The heap of chunks by their next row ---- */

static uint64_t next_time(const struct open_chunk *chunk)
{
    return chunk->times[chunk->order[chunk->at]];
}

static bool item_before(const struct heap_item *a, const struct heap_item *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->chunk->table != b->chunk->table ? a->chunk->table < b->chunk->table
                                              : a->chunk->offset < b->chunk->offset;
}

static void swap_items(struct heap_item *a, struct heap_item *b)
{
    struct heap_item kept = *a;

    *a = *b;
    *b = kept;
}

static void sift_up(struct heap_item *heap, size_t at)
{
    for (; at && item_before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap_items(&heap[at], &heap[(at - 1) / 2]);
}

static void sift_down(struct heap_item *heap, size_t count)
{
    size_t at = 0;

    for (;;) {
        size_t min = at;

        for (size_t child = 2 * at + 1; child < 2 * at + 3 && child < count; child++) {
            if (item_before(&heap[child], &heap[min]))
                min = child;
        }
        if (min == at)
            return;
        swap_items(&heap[at], &heap[min]);
        at = min;
    }
}

/* Steps over the row that was delivered; drops the chunk after its last row. */
static void leave_row(struct merge *merge)
{
    struct heap_item *top = merge->heap;
    struct open_chunk *chunk = top->chunk;

    merge->advance = false;
    if (++chunk->at < chunk->count) {
        top->time = next_time(chunk);
    } else {
        merge->rows -= chunk->rows;
        *top = merge->heap[--merge->heap_count];
        merge->heap[merge->heap_count].chunk = NULL;
        chunk_free(chunk);
    }
    sift_down(merge->heap, merge->heap_count);
}

static enum mp_status open_chunk(struct merge *merge, const struct entry *entry)
{
    struct open_chunk *chunk;
    enum mp_status status = decode(merge, entry, &chunk);

    if (status == MP_ERR_DAMAGED)
        return MP_OK; /* the cursor counts it */
    MP_TRY(status);
    if (chunk->count)
        status = MP_RESERVE(merge->heap, merge->heap_count, merge->heap_capacity);
    if (!chunk->count || status) {
        chunk_free(chunk);
        return status;
    }
    merge->rows += chunk->rows;
    if (merge->rows > merge->max_rows)
        merge->max_rows = merge->rows;
    merge->heap[merge->heap_count] = (struct heap_item){next_time(chunk), chunk};
    sift_up(merge->heap, merge->heap_count++);
    return MP_OK;
}

/* Whether a chunk begins before the next row or at the same time: it may hold an earlier row. */
static bool is_due(const struct merge *merge)
{
    return merge->next_entry < merge->entry_count &&
           (!merge->heap_count ||
            merge->entries[merge->next_entry].first_time <= merge->heap[0].time);
}

enum mp_status merge_next(struct merge *merge, struct merge_row *row)
{
    if (merge->advance)
        leave_row(merge);
    while (is_due(merge))
        MP_TRY(open_chunk(merge, &merge->entries[merge->next_entry++]));
    if (!merge->heap_count)
        return MP_END;
    const struct heap_item *top = merge->heap;
    const struct open_chunk *chunk = top->chunk;
    *row = (struct merge_row){chunk->columns, top->time, chunk->order[chunk->at], chunk->table};
    merge->advance = true;
    return MP_OK;
}

/* ---- What was met ---- */

uint64_t merge_promised(const struct merge *merge, unsigned table)
{
    return merge->promised[table];
}

uint64_t merge_unknown_times(const struct merge *merge)
{
    return merge->unknown_times;
}

uint64_t merge_max_rows(const struct merge *merge)
{
    return merge->max_rows;
}

void merge_add_damage(const struct merge *merge, struct mp_damage *damage)
{
    struct mp_damage met;

    mp_cursor_damage(merge->cursor, &met);
    damage->chunks_damaged += met.chunks_damaged - merge->walked.chunks_damaged;
    damage->rows_damaged += met.rows_damaged - merge->walked.rows_damaged;
    if (!damage->first_offset || (met.first_offset && met.first_offset < damage->first_offset))
        damage->first_offset = met.first_offset;
}
