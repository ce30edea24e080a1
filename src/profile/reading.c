/* Runs one pass over a trace. It separates the end of the trace from a failure, and tells the
 * analysis about damaged chunks, so that no analysis does this on its own.
 */
#include "profile/reading.h"

#include "trace/schema.h"

#include "base/poison.h"

void reading_select(const struct reading *reading, struct mp_cursor *cursor)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    uint32_t masks[MP_TABLE_COUNT] = {0};

    if (reading->definitions)
        definitions_columns(masks, reading->kept);
    if (reading->shapes)
        shapes_columns(masks);
    if (reading->ranges)
        ranges_columns(masks);
    if (reading->quality)
        quality_columns(masks);
    for (; reading; reading = reading->with)
        for (size_t i = 0; i < reading->table_count; i++)
            masks[mp_table_by_id(reading->tables[i].table) - tables] |= reading->tables[i].columns;
    for (size_t i = 0; i < count; i++)
        mp_cursor_select(cursor, &tables[i], masks[i]);
}

static enum mp_status take_tables(const struct reading *reading, const struct mp_batch *batch)
{
    for (size_t i = 0; i < reading->table_count; i++) {
        const struct reading_table *table = &reading->tables[i];
        if (table->table != batch->table->id || !table->columns)
            continue;
        if (table->take)
            MP_TRY(table->take(reading->context, batch));
        for (uint32_t row = 0; table->take_row && row < batch->rows; row++)
            MP_TRY(table->take_row(reading->context, batch, row));
    }
    return MP_OK;
}

enum mp_status reading_take(const struct reading *reading, const struct mp_batch *batch)
{
    if (reading->definitions)
        MP_TRY(definitions_take(reading->definitions, batch));
    if (reading->shapes)
        MP_TRY(shapes_take(reading->shapes, batch));
    if (reading->ranges)
        MP_TRY(ranges_take(reading->ranges, batch));
    if (reading->quality)
        MP_TRY(quality_take(reading->quality, batch));
    for (; reading; reading = reading->with)
        MP_TRY(take_tables(reading, batch));
    return MP_OK;
}

enum mp_status reading_run(const struct reading *reading, struct mp_error *error)
{
    struct quality *quality = reading->quality;
    struct mp_damage damage;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    enum mp_status status;

    MP_TRY(mp_cursor_open(reading->trace, &cursor, error));
    reading_select(reading, cursor);
    while ((status = mp_cursor_next(cursor, &batch)) == MP_OK) {
        status = reading_take(reading, &batch);
        if (status != MP_OK)
            break;
    }
    if (reading->joined) {
        mp_cursor_damage(cursor, &damage);
        quality_join(reading->joined, &damage);
    }
    if (status == MP_END && reading->definitions) {
        enum mp_status finished = definitions_finish(reading->definitions);
        status = finished ? finished : MP_END;
    }
    if (status == MP_END && reading->then)
        status = reading->then(reading->context, cursor);
    if (quality)
        quality_finish(quality, reading->trace, cursor, reading->definitions);
    mp_cursor_close(cursor);
    if (status == MP_END)
        return quality ? quality_examine(quality, reading->trace, error) : MP_OK;
    return mp_error_set(error, status, "cannot read %s: %s", reading->what, mp_status_name(status));
}

enum mp_status reading_has_rows(struct mp_trace *trace, unsigned table, bool *found,
                                struct mp_error *error)
{
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    enum mp_status status;

    *found = false;
    MP_TRY(mp_cursor_open(trace, &cursor, error));
    while (!*found && (status = mp_cursor_next_chunk(cursor, &chunk, false)) == MP_OK)
        *found = chunk.table && chunk.table->id == table;
    mp_cursor_close(cursor);
    if (*found || status == MP_END)
        return MP_OK;
    return mp_error_set(error, status, "cannot read the trace: %s", mp_status_name(status));
}
