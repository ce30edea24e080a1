/* Threads, and the places where work ran: each is looked up once and gets a number of its own. */
#include "base/data/reserve.h"
#include "export/rows/build.h"

#include "base/poison.h"

/* The place with these numbers, the same for all rows of `stream` that have them. */
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

/* The item for an id, filled in if *fresh is false. */
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
    return export_text_string(rows, found->name, &(*thread)->name);
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
