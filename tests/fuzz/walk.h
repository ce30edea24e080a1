/* What the fuzzers do with a file: everything that the public header offers. */
#ifndef MP_TESTS_FUZZ_WALK_H
#define MP_TESTS_FUZZ_WALK_H

#include <miniprof/trace.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

#define WALK_FILES      2
#define WALK_MAX_VALUES (1u << 22) /* bounds the time of one input; a chunk may hold 2 million */

/* Looks at every value, so that a sanitizer sees what is not there. */
static inline uint64_t walk_batch(const struct mp_batch *batch)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < batch->table->column_count; i++) {
        bool text = batch->table->columns[i].type == MP_TYPE_TEXT;
        for (uint32_t row = 0; row < batch->rows && batch->columns[i]; row++)
            sum += batch->columns[i][row];
        if (!text || !batch->text_end)
            continue;
        for (uint32_t row = 1; row < batch->rows; row++)
            if (batch->text_end[row] < batch->text_end[row - 1])
                abort();
        for (uint32_t at = 0; at < batch->text_end[batch->rows - 1]; at++)
            sum += (uint8_t)batch->text[at];
    }
    return sum;
}

static inline uint64_t walk_rows(struct mp_cursor *cursor)
{
    struct mp_batch batch;
    uint64_t sum = 0;
    uint64_t values = 0;
    while (values < WALK_MAX_VALUES && mp_cursor_next(cursor, &batch) == MP_OK) {
        sum += walk_batch(&batch);
        values += (uint64_t)batch.rows * batch.table->column_count;
    }
    return sum;
}

static inline uint64_t walk_chunks(struct mp_cursor *cursor)
{
    struct mp_chunk chunk;
    struct mp_damage damage;
    char line[160];
    uint64_t sum = 0;
    while (mp_cursor_next_chunk(cursor, &chunk, true) == MP_OK)
        sum += chunk.rows;
    mp_cursor_damage(cursor, &damage);
    if (mp_damage_describe(&damage, line, sizeof line) == !line[0] || strchr(line, '\n'))
        abort();
    return sum;
}

/* How many rows the chunks say that they have. */
static inline uint64_t walk_count(struct mp_trace *trace)
{
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    uint64_t rows = 0;

    if (mp_cursor_open(trace, &cursor, NULL) != MP_OK)
        return UINT64_MAX;
    while (mp_cursor_next_chunk(cursor, &chunk, false) == MP_OK)
        rows += chunk.rows;
    mp_cursor_close(cursor);
    return rows;
}

static inline uint64_t walk_trace(struct mp_trace *trace)
{
    struct mp_cursor *cursor;
    const char *key;
    const char *value;
    uint64_t sum = 0;
    for (size_t i = 0; mp_trace_property_at(trace, i, &key, &value); i++)
        sum += strlen(key) + strlen(value) + (mp_trace_property(trace, key) != NULL);
    if (mp_cursor_open(trace, &cursor, NULL) != MP_OK)
        return sum;
    sum += walk_chunks(cursor);
    mp_cursor_rewind(cursor);
    sum += walk_rows(cursor);
    mp_cursor_rewind(cursor);
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    for (size_t i = 0; i < count; i++) /* no, one or two columns */
        mp_cursor_select(cursor, &tables[i], i % 3 ? 1u << (i % 5) | 1u << (i % 7) : 0);
    sum += walk_rows(cursor);
    mp_cursor_close(cursor);
    return sum;
}

/* A file of these bytes: its path, which the next file of the same number takes. */
static inline const char *walk_file(unsigned number, const uint8_t *bytes, size_t size)
{
    static char paths[WALK_FILES][32];
    static int fds[WALK_FILES];

    if (!fds[number]) {
        fds[number] = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(paths[number], sizeof paths[number], "/proc/self/fd/%d", fds[number]);
    }
    expect(fds[number] > 0 && ftruncate(fds[number], 0) == 0);
    expect(pwrite(fds[number], bytes, size, 0) == (ssize_t)size);
    return paths[number];
}

/* Opens these bytes as a trace; NULL, and what is wrong in *error, if they are none. */
static inline struct mp_trace *walk_open(const uint8_t *bytes, size_t size, struct mp_error *error)
{
    struct mp_trace *trace;

    expect(mp_trace_open(walk_file(0, bytes, size), &trace, error) == MP_OK || !trace);
    return trace;
}

/* Opens these bytes as a trace and walks it. */
static inline void walk_bytes(const uint8_t *bytes, size_t size)
{
    static volatile uint64_t seen; /* keeps the reads from being optimised away */
    struct mp_error error = {.status = MP_OK};
    struct mp_trace *trace = walk_open(bytes, size, &error);
    if (trace)
        seen = walk_trace(trace);
    else if (!error.status || !error.text[0] || strchr(error.text, '\n'))
        abort();
    (void)seen;
    mp_trace_close(trace);
}

#endif
