/* Writes the NVTX ranges that are open where a capture range begins, and ends those that are open
 * where it ends.
 */
#include "record/rows/carried.h"

#include "record/names/dictionary.h"

#include "base/poison.h"

void carried_open(struct carried *carried, const struct capture *capture,
                  struct dictionary *dictionary)
{
    *carried = (struct carried){.capture = capture, .dictionary = dictionary};
}

void carried_close(struct carried *carried)
{
    open_ranges_free(&carried->open);
}

/* ---- Rows ---- */

static void append_begin(struct carried *carried, const struct open_thread *thread,
                         const struct open_range *range, uint64_t time)
{
    struct dictionary *dictionary = carried->dictionary;

    mp_append_nvtx(dictionary->writer,
                   &(struct mp_row_nvtx){
                       .thread = dictionary_thread(dictionary, thread->tid),
                       .kind = range->range ? MP_nvtx_kind_start : MP_nvtx_kind_push,
                       .domain = dictionary_string(dictionary, range->domain),
                       .name = dictionary_text(dictionary, range->name, range->bytes),
                       .time = time,
                       .range = range->range,
                       .category = range->category,
                       .color = range->color,
                       .payload_type = range->payload_type,
                       .payload = range->payload,
                       .cut = true,
                   });
}

static void append_end(struct carried *carried, const struct open_thread *thread,
                       const struct open_range *range, uint64_t time)
{
    struct dictionary *dictionary = carried->dictionary;

    mp_append_nvtx(dictionary->writer,
                   &(struct mp_row_nvtx){
                       .thread = dictionary_thread(dictionary, thread->tid),
                       .kind = range->range ? MP_nvtx_kind_end : MP_nvtx_kind_pop,
                       .domain = dictionary_string(dictionary, range->domain),
                       .time = time,
                       .range = range->range,
                       .cut = true,
                   });
}

/* ---- Edges ---- */

static void take_begin(struct carried *carried, struct open_thread *thread, uint64_t time)
{
    carried->lost += thread->beyond;
    for (uint32_t i = 0; i < thread->count; i++)
        if (!thread->open[i].ended || thread->open[i].ended > time)
            append_begin(carried, thread, &thread->open[i], time);
}

/* What was met as ended already gets the row of its own end. */
static void take_end(struct carried *carried, struct open_thread *thread, uint64_t time)
{
    for (uint32_t i = thread->count; i--;)
        if (!thread->open[i].ended || thread->open[i].ended >= time)
            append_end(carried, thread, &thread->open[i], time);
}

/* The thread takes in the edges up to number `edges` that are not later than `time`. */
static void take_edges(struct carried *carried, struct open_thread *thread, uint64_t edges,
                       uint64_t time)
{
    uint64_t first;

    capture_edges(carried->capture, &first);
    if (thread->carried.edges < first) /* forgotten by now */
        thread->carried.edges = first;
    for (; thread->carried.edges < edges; thread->carried.edges++) {
        uint64_t edge = thread->carried.edges;
        uint64_t at = capture_edge_time(carried->capture, edge);

        if (at > time)
            return;
        thread->carried.time = at;
        thread->carried.inside = !(edge & 1);
        if (edge & 1)
            take_end(carried, thread, at);
        else
            take_begin(carried, thread, at);
    }
}

static uint64_t known(const struct carried *carried)
{
    uint64_t first;

    return capture_edges(carried->capture, &first);
}

struct open_thread *carried_take(struct carried *carried, const struct mp_nvtx_event *event)
{
    struct open_thread *thread = open_ranges_thread(&carried->open, event->tid);
    struct open_thread *owner =
        event->kind == MP_nvtx_kind_end ? open_ranges_owner(&carried->open, event->range) : NULL;
    uint64_t edges = known(carried);

    if (thread && thread->carried.edges < edges)
        take_edges(carried, thread, edges, event->time);
    if (owner && owner->carried.edges < edges)
        take_edges(carried, owner, edges, event->time);
    return open_ranges_take(&carried->open, event);
}

bool carried_keeps(const struct carried *carried, const struct open_thread *thread,
                   const struct mp_nvtx_event *event, uint64_t *time, bool *cut)
{
    *time = event->time;
    *cut = false;
    if (!thread || event->time >= thread->carried.time || event->kind == MP_nvtx_kind_mark)
        return capture_keeps_time(carried->capture, event->time);
    *time = thread->carried.time;
    *cut = event->kind == MP_nvtx_kind_push || event->kind == MP_nvtx_kind_start;
    return thread->carried.inside;
}

void carried_begin_drain(struct carried *carried)
{
    carried->asked = known(carried);
}

void carried_end_drain(struct carried *carried)
{
    if (carried->settled == carried->asked)
        return;
    for (uint32_t i = 0; i < carried->open.thread_count; i++)
        take_edges(carried, &carried->open.threads[i], carried->asked, UINT64_MAX);
    carried->settled = carried->asked;
}

void carried_restart(struct carried *carried)
{
    for (uint32_t i = 0; i < carried->open.thread_count; i++)
        carried->open.threads[i].carried = (struct carried_thread){.edges = 0};
    carried->settled = 0;
    carried->asked = 0;
}
