/* Opens a trace for export and hands out its rows. A first pass reads the definitions; then every
 * batch is gone through row by row, and what is filtered out is not described.
 */
#include "export/rows/rows.h"

#include <stdlib.h>
#include <string.h>

#include "export/rows/build.h"
#include "profile/reading.h"

#include "base/poison.h"

/* ---- Opening ---- */

static bool is_chosen(const struct export_rows *rows, const struct export_source *source)
{
    unsigned kinds = 1u << source->kind;

    if (source->table->table == MP_TABLE_nvtx)
        kinds |= 1u << EXPORT_MARK;
    return !rows->options.kinds || rows->options.kinds & kinds;
}

static enum mp_status open_cursor(struct export_rows *rows, struct mp_error *error)
{
    size_t count;
    const struct export_source *sources = export_sources(&count);

    MP_TRY(mp_cursor_open(rows->trace, &rows->cursor, error));
    reading_select(&(const struct reading){.table_count = 0}, rows->cursor);
    for (size_t i = 0; i < count; i++) {
        if (is_chosen(rows, &sources[i]))
            mp_cursor_select(rows->cursor, mp_table_by_id(sources[i].table->table), UINT32_MAX);
    }
    return MP_OK;
}

static void initialise(struct export_rows *rows)
{
    size_t limit = definitions_limit(rows->trace);

    dense_init(&rows->streams, sizeof(struct export_lane), limit);
    dense_init(&rows->threads, sizeof(struct export_lane), limit);
    for (size_t i = 0; i < EXPORT_MEMOS; i++)
        dense_init(&rows->memos[i], sizeof(struct export_memo), limit);
}

/* Analyses come first: threads and streams are looked up in them. */
static enum mp_status load(struct export_rows *rows, struct mp_error *error)
{
    initialise(rows);
    MP_TRY(export_definitions_load(rows, error));
    MP_TRY(export_analyses_load(rows, error));
    MP_TRY(export_filter_load(rows, error));
    return open_cursor(rows, error);
}

enum mp_status export_rows_open(struct mp_trace *trace, const struct export_options *options,
                                struct export_rows **result, struct mp_error *error)
{
    struct export_rows *rows = calloc(1, sizeof *rows);

    *result = NULL;
    if (!rows)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    rows->trace = trace;
    rows->options = *options;
    enum mp_status status = load(rows, error);
    if (status == MP_OK)
        *result = rows;
    else
        export_rows_close(rows);
    return status;
}

void export_rows_close(struct export_rows *rows)
{
    if (!rows)
        return;
    mp_cursor_close(rows->cursor);
    export_nvtx_free(&rows->nvtx);
    export_analyses_free(rows);
    mp_map_free(&rows->launched);
    dense_free(&rows->threads);
    dense_free(&rows->streams);
    free(rows->places);
    mp_intern_free(&rows->place_keys);
    mp_arena_free(&rows->arena);
    for (size_t i = 0; i < EXPORT_MEMOS; i++)
        dense_free(&rows->memos[i]);
    mp_buffer_free(&rows->clean);
    mp_intern_free(&rows->texts);
    export_definitions_free(rows);
    free(rows);
}

/* ---- Rows ---- */

static uint64_t cell(const struct export_row *row, unsigned column)
{
    return activity_value(row->columns, column, row->index);
}

static bool times_are_good(struct export_rows *rows, const struct export_row *row)
{
    if (row->start && (int64_t)row->duration >= 0)
        return true;
    if (row->start)
        rows->quality.reversed_times++;
    else
        rows->quality.unknown_times++;
    return false;
}

/* Finds the thread or stream of a row; of a host function, which has both, the stream. */
static enum mp_status find_lane(struct export_rows *rows, struct export_row *row,
                                struct export_lane **lane)
{
    const struct export_source *source = rows->source;

    *lane = NULL;
    if (source->table->thread && cell(row, source->table->thread)) {
        MP_TRY(export_thread(rows, cell(row, source->table->thread), lane));
        row->thread = *lane ? (*lane)->thread : NULL;
    }
    if (source->table->stream) {
        MP_TRY(export_stream(rows, cell(row, source->table->stream), lane));
        row->place = *lane ? (*lane)->place : NULL;
    }
    return MP_OK;
}

static void find_node(const struct export_rows *rows, struct export_row *row)
{
    uint64_t node = cell(row, rows->source->table->node);
    const struct definition_node *found = node ? dense_at(&rows->definitions.nodes, node) : NULL;

    if (!found || !found->defined)
        return;
    row->graph = found->graph;
    row->graph_node = found->graph_node;
}

/* Filters and describes a row whose columns and times are known. */
static enum mp_status finish_row(struct export_rows *rows, struct export_row *row, bool *wanted)
{
    const struct export_source *source = rows->source;
    struct export_lane *lane;

    *wanted = !rows->options.kinds || rows->options.kinds >> row->kind & 1;
    if (!*wanted)
        return MP_OK;
    row->correlation = cell(row, source->table->correlation);
    *wanted = export_filter_range(rows, source, row) && times_are_good(rows, row);
    if (!*wanted)
        return MP_OK;
    MP_TRY(find_lane(rows, row, &lane));
    *wanted = export_filter_device(rows, source, row, lane) &&
              export_analyses_row(rows, source, row, lane);
    if (!*wanted)
        return MP_OK;
    find_node(rows, row);
    return source->describe(rows, row);
}

static enum mp_status take_row(struct export_rows *rows, uint32_t index, struct export_row *row,
                               bool *wanted)
{
    *row = (struct export_row){.kind = (enum export_kind)rows->source->kind,
                               .activity = DEPS_NONE,
                               .columns = (const uint64_t *const *)rows->batch.columns,
                               .index = index};
    row->start = cell(row, rows->source->table->start);
    row->duration = cell(row, rows->source->table->duration);
    *wanted = true;
    if (rows->source->table->table == MP_TABLE_nvtx)
        MP_TRY(export_nvtx_take(rows, row, wanted));
    return *wanted ? finish_row(rows, row, wanted) : MP_OK;
}

static const struct export_source *find_source(unsigned table)
{
    size_t count;
    const struct export_source *sources = export_sources(&count);

    for (size_t i = 0; i < count; i++) {
        if (sources[i].table->table == table)
            return &sources[i];
    }
    return NULL;
}

/* Both passes meet the same gaps of the file, but damaged chunks only of what they read. */
static void finish_quality(struct export_rows *rows)
{
    struct mp_damage *damage = &rows->quality.damage;

    mp_cursor_damage(rows->cursor, damage);
    damage->chunks_damaged += rows->earlier.chunks_damaged;
    damage->rows_damaged += rows->earlier.rows_damaged;
}

/* Hands out what was open at the end. */
static enum mp_status next_open(struct export_rows *rows, struct export_row *row)
{
    bool wanted = false;

    rows->source = find_source(MP_TABLE_nvtx);
    while (!wanted) {
        MP_TRY(export_nvtx_next_open(rows, row));
        MP_TRY(finish_row(rows, row, &wanted));
    }
    return MP_OK;
}

enum mp_status export_rows_next(struct export_rows *rows, struct export_row *row)
{
    enum mp_status status;

    while (!rows->ended) {
        bool wanted = false;

        while (rows->source && rows->at < rows->batch.rows && !wanted)
            MP_TRY(take_row(rows, rows->at++, row, &wanted));
        if (wanted)
            return MP_OK;
        status = mp_cursor_next(rows->cursor, &rows->batch);
        rows->at = 0;
        if (status == MP_END)
            finish_quality(rows);
        else
            MP_TRY(status);
        rows->ended = status == MP_END;
        rows->source = rows->ended ? NULL : find_source(rows->batch.table->id);
    }
    return next_open(rows, row);
}

const struct export_options *export_rows_options(const struct export_rows *rows)
{
    return &rows->options;
}

const struct quality *export_rows_quality(const struct export_rows *rows)
{
    return &rows->quality;
}
