/* The NVTX ranges in which host code ran that made a rank late. NCCL's own ranges do not count.
 */
#include "reports/ranks/inside.h"

#include <stdlib.h>
#include <string.h>

#include "profile/nvtx/open.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct sweep {
    struct lateness *lateness;
    const struct definitions *definitions;
    struct lateness_moments *moments; /* sorted */
    struct mp_map next;               /* thread -> its next moment */
    struct nvtx_open open;
};

static int compare_moments(const void *left, const void *right)
{
    const struct lateness_moment *a = left;
    const struct lateness_moment *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->instance > b->instance) - (a->instance < b->instance);
}

static bool is_nccls(const struct sweep *sweep, const struct nvtx_event *event)
{
    const char *domain = definitions_text(sweep->definitions, event->domain);

    return domain && !strcmp(domain, "NCCL");
}

/* Answers for the moments of a thread before `time`. */
static enum mp_status answer(struct sweep *sweep, uint64_t thread, uint64_t time)
{
    const struct lateness_moments *moments = sweep->moments;
    uint32_t at = mp_map_get(&sweep->next, thread);
    const struct nvtx_open_range *range = nvtx_open_innermost(&sweep->open, thread);
    const char *name = range ? definitions_text(sweep->definitions, range->name) : NULL;
    uint32_t id = 0;

    if (at == MP_MAP_ABSENT || moments->items[at].time >= time)
        return MP_OK;
    if (name) {
        id = mp_intern_add(&sweep->lateness->names, name, strlen(name));
        if (!id)
            return MP_ERR_MEMORY;
    }
    while (at < moments->count && moments->items[at].thread == thread &&
           moments->items[at].time < time)
        sweep->lateness->whys[moments->items[at++].instance].activity = id;
    if (at < moments->count && moments->items[at].thread == thread)
        return mp_map_put(&sweep->next, thread, at);
    mp_map_remove(&sweep->next, thread);
    return MP_OK;
}

static enum mp_status take_range(void *context, const struct mp_batch *batch, uint32_t row)
{
    const uint64_t time = mp_nvtx_columns(batch->columns).time[row];
    const struct nvtx_event event = nvtx_event_at(batch->columns, row, time);
    struct sweep *sweep = context;

    if (event.kind == MP_nvtx_kind_mark || !time || is_nccls(sweep, &event))
        return MP_OK;
    MP_TRY(answer(sweep, event.thread, time));
    return nvtx_open_take(&sweep->open, &event, NULL);
}

static const struct reading_table tables[] = {
    {MP_TABLE_nvtx, NVTX_EVENT_COLUMNS | MP_MASK(nvtx, time), .take_row = take_range},
};

static enum mp_status find_first(struct sweep *sweep)
{
    const struct lateness_moment *items = sweep->moments->items;

    for (size_t i = 0; i < sweep->moments->count && i < MP_MAP_ABSENT; i++) {
        if (!i || items[i].thread != items[i - 1].thread)
            MP_TRY(mp_map_put(&sweep->next, items[i].thread, (uint32_t)i));
    }
    return MP_OK;
}

/* Behind the last row of a thread. */
static enum mp_status answer_rest(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->moments->count; i++)
        MP_TRY(answer(sweep, sweep->moments->items[i].thread, UINT64_MAX));
    return MP_OK;
}

enum mp_status lateness_name_ranges(struct lateness *lateness, struct mp_trace *trace,
                                    const struct definitions *definitions,
                                    struct lateness_moments *moments, struct mp_error *error)
{
    struct sweep sweep = {.lateness = lateness, .definitions = definitions, .moments = moments};
    const struct reading reading = {
        .trace = trace, .what = "the NVTX ranges", .context = &sweep, READING_TABLES(tables)};
    enum mp_status status;

    if (!moments->count)
        return MP_OK;
    qsort(moments->items, moments->count, sizeof *moments->items, compare_moments);
    status = find_first(&sweep);
    if (!status)
        status = reading_run(&reading, error);
    if (!status)
        status = answer_rest(&sweep);
    if (status == MP_ERR_MEMORY)
        mp_error_set(error, status, "cannot read the NVTX ranges: out of memory");
    mp_map_free(&sweep.next);
    nvtx_open_free(&sweep.open);
    return status;
}
