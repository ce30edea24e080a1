/* What rows refer to by number, looked up once and kept by that number: texts, which are made valid
 * UTF-8, the names of definitions, threads, and the places where work ran.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/strings.h"
#include "export/rows/build.h"

#include "base/poison.h"

uint32_t export_rows_intern(struct export_rows *rows, const char *text, size_t bytes)
{
    if (utf8_is_valid(text, bytes))
        return mp_intern_add(&rows->texts, text, bytes);
    mp_buffer_clear(&rows->clean);
    if (utf8_append_valid(&rows->clean, text, bytes) != MP_OK)
        return 0;
    return mp_intern_add(&rows->texts, rows->clean.data, rows->clean.size);
}

enum mp_status export_rows_text(struct export_rows *rows, uint32_t id, struct export_text *text)
{
    text->id = id;
    text->text = mp_intern_get(&rows->texts, id, &text->bytes);
    return text->text ? MP_OK : MP_ERR_MEMORY;
}

enum mp_status export_text_put(struct export_rows *rows, const char *text, size_t bytes,
                               struct export_text *result)
{
    return export_rows_text(rows, export_rows_intern(rows, text, bytes), result);
}

/* ---- Names of definitions ---- */

static enum mp_status put(struct export_rows *rows, const char *text, size_t bytes, uint32_t *id)
{
    *id = export_rows_intern(rows, text, bytes);
    return *id ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status name_string(struct export_rows *rows, uint64_t string,
                                  struct export_memo *memo)
{
    const char *text = definitions_text(&rows->definitions, string);

    memo->undefined = !text;
    return put(rows, text ? text : "", text ? strlen(text) : 0, &memo->name);
}

static enum mp_status name_shape(struct export_rows *rows, uint64_t shape, struct export_memo *memo)
{
    const char *name = definitions_kernel(&rows->definitions, shape, rows->options.style);
    const char *raw = definitions_kernel(&rows->definitions, shape, NAMES_MANGLED);

    memo->undefined = !name;
    if (!name)
        name = ACTIVITY_UNNAMED_KERNEL;
    if (!raw)
        raw = name;
    MP_TRY(put(rows, raw, strlen(raw), &memo->raw));
    return put(rows, name, strlen(name), &memo->name);
}

static enum mp_status name_function(struct export_rows *rows, uint64_t function,
                                    struct export_memo *memo)
{
    const char *name = definitions_function(&rows->definitions, function);

    memo->undefined = !name;
    if (!name)
        name = ACTIVITY_UNNAMED_CALL;
    MP_TRY(put(rows, name, strlen(name), &memo->raw));
    return put(rows, name, names_api_length(name), &memo->name);
}

static enum mp_status name_metric(struct export_rows *rows, uint64_t metric,
                                  struct export_memo *memo)
{
    const uint64_t *string = dense_at(&rows->metrics, metric);
    const char *name = string ? definitions_text(&rows->definitions, *string) : NULL;

    memo->undefined = !name;
    if (!name)
        name = "[unnamed metric]";
    MP_TRY(put(rows, name, strlen(name), &memo->name));
    memo->raw = memo->name;
    return MP_OK;
}

/* An id beyond what the file can justify is looked up each time. */
static enum mp_status look_up(struct export_rows *rows, enum export_memo_index index, uint64_t id,
                              struct export_memo *memo)
{
    static enum mp_status (*const name[EXPORT_MEMOS])(struct export_rows *, uint64_t,
                                                      struct export_memo *) = {
        [EXPORT_MEMO_STRING] = name_string,
        [EXPORT_MEMO_SHAPE] = name_shape,
        [EXPORT_MEMO_FUNCTION] = name_function,
        [EXPORT_MEMO_METRIC] = name_metric,
    };
    struct dense *memos = &rows->memos[index];
    const struct export_memo *known = dense_at(memos, id);

    if (known && known->name) {
        *memo = *known;
        return MP_OK;
    }
    *memo = (struct export_memo){.name = 0};
    MP_TRY(name[index](rows, id, memo));
    enum mp_status status = dense_reach(memos, id);
    if (status == MP_OK)
        *(struct export_memo *)dense_at(memos, id) = *memo;
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

enum mp_status export_rows_string(struct export_rows *rows, uint64_t string,
                                  struct export_text *text)
{
    struct export_memo memo;

    *text = (struct export_text){.text = NULL};
    if (!string)
        return MP_OK;
    MP_TRY(look_up(rows, EXPORT_MEMO_STRING, string, &memo));
    return memo.undefined ? MP_OK : export_rows_text(rows, memo.name, text);
}

enum mp_status export_text_name(struct export_rows *rows, enum export_memo_index index, uint64_t id,
                                struct export_row *row)
{
    struct export_memo memo;

    MP_TRY(look_up(rows, index, id, &memo));
    rows->quality.undefined += memo.undefined;
    MP_TRY(export_rows_text(rows, memo.raw, &row->raw_name));
    return export_rows_text(rows, memo.name, &row->name);
}

/* ---- Threads and places ---- */

/* Finds the place with these numbers, the same for all rows of `stream` that have them. */
static enum mp_status reach_place(struct export_rows *rows, const struct definition_stream *stream,
                                  struct export_place **place)
{
    const uint64_t key[3] = {stream->device, stream->context, stream->stream};
    uint32_t before = rows->place_keys.count;
    uint32_t id = mp_intern_add(&rows->place_keys, key, sizeof key);

    if (!id)
        return MP_ERR_MEMORY;
    MP_TRY(mp_reserve((void **)&rows->places, id, &rows->place_capacity, sizeof(void *)));
    if (id > before) {
        rows->places[id] = mp_arena_alloc(&rows->arena, sizeof **rows->places);
        if (!rows->places[id])
            return MP_ERR_MEMORY;
        *rows->places[id] = (struct export_place){key[0], key[1], key[2], id};
    }
    *place = rows->places[id];
    return MP_OK;
}

/* Finds the item for an id; it is filled in unless *fresh. */
static enum mp_status reach(struct dense *array, uint64_t id, struct export_lane **lane,
                            bool *fresh)
{
    enum mp_status status = dense_reach(array, id);

    *lane = NULL;
    *fresh = false;
    if (status == MP_ERR_LIMIT)
        return MP_OK;
    MP_TRY(status);
    *lane = dense_at(array, id);
    *fresh = !(*lane)->known;
    return MP_OK;
}

enum mp_status export_stream(struct export_rows *rows, uint64_t stream, struct export_lane **lane)
{
    const struct definition_stream *found = dense_at(&rows->definitions.streams, stream);
    bool fresh;

    MP_TRY(reach(&rows->streams, stream, lane, &fresh));
    if (!fresh)
        return MP_OK;
    if (found && found->defined)
        MP_TRY(reach_place(rows, found, &(*lane)->place));
    (*lane)->lane = export_analyses_stream(rows, stream, (*lane)->place);
    (*lane)->next = DEPS_NONE;
    (*lane)->known = true;
    return MP_OK;
}

static enum mp_status make_thread(struct export_rows *rows, const struct definition_thread *found,
                                  struct export_thread **thread)
{
    *thread = mp_arena_alloc(&rows->arena, sizeof **thread);
    if (!*thread)
        return MP_ERR_MEMORY;
    **thread = (struct export_thread){.tid = found->tid, .id = ++rows->thread_count};
    return export_rows_string(rows, found->name, &(*thread)->name);
}

enum mp_status export_thread(struct export_rows *rows, uint64_t thread, struct export_lane **lane)
{
    const struct definition_thread *found =
        thread ? dense_at(&rows->definitions.threads, thread) : NULL;
    bool fresh;

    MP_TRY(reach(&rows->threads, thread, lane, &fresh));
    if (!fresh)
        return MP_OK;
    if (found && found->defined)
        MP_TRY(make_thread(rows, found, &(*lane)->thread));
    (*lane)->lane = export_analyses_thread(rows, thread);
    (*lane)->next = DEPS_NONE;
    (*lane)->known = true;
    return MP_OK;
}

enum mp_status export_rows_thread(struct export_rows *rows, uint64_t number,
                                  const struct export_thread **thread)
{
    struct export_lane *lane;

    MP_TRY(export_thread(rows, number, &lane));
    *thread = lane ? lane->thread : NULL;
    return MP_OK;
}

/* ---- GPUs ---- */

const char *export_uuid(uint64_t high, uint64_t low, char text[EXPORT_UUID_BYTES])
{
    if (!high && !low)
        return NULL;
    snprintf(text, EXPORT_UUID_BYTES, "%08x-%04x-%04x-%04x-%012" PRIx64, (unsigned)(high >> 32),
             (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xffff), (unsigned)(low >> 48),
             low & 0xffffffffffff);
    return text;
}
