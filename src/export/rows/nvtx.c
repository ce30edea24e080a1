/* Ranges of NVTX from their rows. A range is handed out with the row that ends it; those that are
 * still open at the end of the trace come last, and end where `miniprof nvtx` lets them end: with
 * the last record, or with the capture range that was asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "export/rows/build.h"

#include "base/poison.h"

/* ---- Places for open ranges ---- */

static enum mp_status take_place(struct export_nvtx *nvtx, uint64_t *place)
{
    if (nvtx->free_count) {
        *place = nvtx->free[--nvtx->free_count];
        return MP_OK;
    }
    if (nvtx->count >= UINT32_MAX)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(nvtx->open, nvtx->count, nvtx->capacity));
    *place = nvtx->count++;
    return MP_OK;
}

static enum mp_status leave_place(struct export_nvtx *nvtx, uint64_t place)
{
    nvtx->open[place].used = false;
    MP_TRY(MP_RESERVE(nvtx->free, nvtx->free_count, nvtx->free_capacity));
    nvtx->free[nvtx->free_count++] = (uint32_t)place;
    return MP_OK;
}

/* ---- Rows ---- */

/* Makes `row` the range that nvtx->shown holds. */
static void show(struct export_nvtx *nvtx, struct export_row *row, uint64_t end, bool cut)
{
    const struct mp_row_nvtx *begin = &nvtx->shown.row;
#define ADDRESS(table, id, name, type, unit, codec, doc) &begin->name,
    const uint64_t *const columns[] = {MP_COLUMNS_nvtx(ADDRESS)};
#undef ADDRESS

    memcpy(nvtx->columns, columns, sizeof columns);
    *row = (struct export_row){
        .kind = EXPORT_RANGE,
        .start = end ? begin->time : 0,
        .duration = end - begin->time,
        .cut = cut || begin->cut,
        .pushed = begin->kind == MP_nvtx_kind_push,
        .depth = nvtx->shown.depth,
        .activity = DEPS_NONE,
        .columns = nvtx->columns,
    };
}

static enum mp_status begin_range(struct export_nvtx *nvtx, const struct nvtx_event *event,
                                  struct export_row *row, bool *is)
{
    struct export_open open = {.row = export_row_nvtx(row), .used = true};
    struct nvtx_event end;
    uint64_t place;

    if (nvtx_match_take_end(&nvtx->match, event, &end)) {
        nvtx->shown = open;
        show(nvtx, row, end.time, end.cut);
        *is = true;
        return MP_OK;
    }
    if (event->kind == MP_nvtx_kind_push &&
        nvtx_match_top(&nvtx->match, event->thread, event->domain, &place))
        open.depth = nvtx->open[place].depth + 1;
    MP_TRY(take_place(nvtx, &place));
    nvtx->open[place] = open;
    return nvtx_match_begin(&nvtx->match, event, place);
}

enum mp_status export_nvtx_take(struct export_rows *rows, struct export_row *row, bool *is)
{
    struct export_nvtx *nvtx = &rows->nvtx;
    const struct nvtx_event event = nvtx_event_at(row->columns, row->index, row->start);
    uint64_t place;

    *is = event.kind == MP_nvtx_kind_mark;
    if (*is)
        row->kind = EXPORT_MARK;
    if (nvtx_begins(&event))
        return begin_range(nvtx, &event, row, is);
    if (!nvtx_match_end(&nvtx->match, &event, &place))
        return nvtx_match_keep_end(&nvtx->match, &event);
    nvtx->shown = nvtx->open[place];
    show(nvtx, row, event.time, event.cut);
    *is = true;
    return leave_place(nvtx, place);
}

/* ---- The end ---- */

/* Finds the time of the last record in the headers of the chunks. */
static enum mp_status find_last_time(struct mp_trace *trace, uint64_t *last)
{
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    enum mp_status status;

    MP_TRY(mp_cursor_open(trace, &cursor, NULL));
    while ((status = mp_cursor_next_chunk(cursor, &chunk, false)) == MP_OK) {
        if (chunk.table && chunk.table->kind == MP_TABLE_EVENT && chunk.last_time > *last)
            *last = chunk.last_time;
    }
    mp_cursor_close(cursor);
    return status == MP_END ? MP_OK : status;
}

MP_COMPARE(compare_begins, struct export_open,
           MP_ORDER(a->row.time, b->row.time) ?: MP_ORDER(a->depth, b->depth));

/* Keeps only the ranges that are open, in order of begin. Nothing can be matched from here on. */
static enum mp_status begin_open(struct export_rows *rows)
{
    struct export_nvtx *nvtx = &rows->nvtx;
    size_t kept = 0;

    nvtx->ended = true;
    for (size_t i = 0; i < nvtx->count; i++) {
        if (nvtx->open[i].used)
            nvtx->open[kept++] = nvtx->open[i];
    }
    nvtx->count = kept;
    if (!kept)
        return MP_OK;
    qsort(nvtx->open, kept, sizeof *nvtx->open, compare_begins);
    return find_last_time(rows->trace, &nvtx->last);
}

enum mp_status export_nvtx_next_open(struct export_rows *rows, struct export_row *row)
{
    struct export_nvtx *nvtx = &rows->nvtx;

    if (!nvtx->ended)
        MP_TRY(begin_open(rows));
    if (nvtx->position == nvtx->count)
        return MP_END;
    nvtx->shown = nvtx->open[nvtx->position++];
    uint64_t begin = nvtx->shown.row.time;
    uint64_t end = nvtx->last;
    if (rows->range && rows->range->end_time < end)
        end = rows->range->end_time;
    show(nvtx, row, end > begin ? end : begin, false);
    row->open = true;
    return MP_OK;
}

enum mp_status export_nvtx_describe(struct export_rows *rows, struct export_row *row)
{
    const struct mp_row_nvtx nvtx = export_row_nvtx(row);
    static const char unnamed[] = "<unnamed>";

    MP_TRY(export_rows_string(rows, nvtx.domain, &row->domain));
    MP_TRY(export_rows_string(rows, nvtx.name, &row->name));
    if (!row->name.text)
        MP_TRY(export_text_put(rows, unnamed, strlen(unnamed), &row->name));
    row->raw_name = row->name;
    return MP_OK;
}

void export_nvtx_free(struct export_nvtx *nvtx)
{
    nvtx_match_free(&nvtx->match);
    free(nvtx->open);
    free(nvtx->free);
}
