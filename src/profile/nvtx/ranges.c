/* The NVTX ranges of one name. Of nested pushes of the name the outermost counts. Every push inside
 * it is marked INSIDE, whatever its name, so a further push sees the mark of the one around it.
 */
#include "profile/nvtx/ranges.h"
#include "profile/nvtx/match.h"
#include "profile/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "trace/schema.h"

#include "base/poison.h"

/* Items of nvtx/match.h besides indices of `begun`. */
#define OUTSIDE UINT64_MAX
#define INSIDE  (UINT64_MAX - 1)

struct pass {
    struct nvtx_ranges *ranges;
    const struct definitions *definitions;
    const char *name;
    struct nvtx_match match;
    struct nvtx_range *begun; /* of the name; the `end` of a free one is the next free one, + 1 */
    size_t count, capacity;
    uint64_t free;             /* of begun, + 1; 0: none */
    size_t open;               /* of the name: pushes that are outermost, and starts */
    size_t cut;                /* of the name: only a part is in the capture range */
    struct mp_map other_names; /* string ids that stand in `others` */
    struct mp_map offered;     /* string ids that could have been meant */
    struct mp_meant meant;
};

static enum mp_status add_range(struct nvtx_ranges *ranges, const struct nvtx_range *range)
{
    if (range->end < range->begin)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&ranges->items, ranges->count, &ranges->capacity, sizeof *range));
    ranges->items[ranges->count++] = *range;
    return MP_OK;
}

/* Each name once: of two that are equally near neither is the one. */
static void offer(struct pass *pass, uint64_t name)
{
    const char *text = definitions_text(pass->definitions, name);

    if (!text || !foreign_is_harmless(text) || mp_map_get(&pass->offered, name) != MP_MAP_ABSENT ||
        mp_map_put(&pass->offered, name, 0) != MP_OK)
        return;
    if (!pass->meant.name || strcmp(pass->meant.name, text) != 0)
        mp_meant_offer(&pass->meant, text);
}

/* If a name was probably meant, it is the only one to list. */
static void list_meant(struct pass *pass)
{
    const char *name = mp_meant_name(&pass->meant);

    if (name && strlen(name) < NVTX_OTHERS_BYTES)
        snprintf(pass->ranges->others, NVTX_OTHERS_BYTES, "%s", name);
}

static void note_other(struct pass *pass, uint64_t name)
{
    char *others = pass->ranges->others;

    if (pass->other_names.count >= NVTX_OTHERS_MAX)
        return;
    const char *text = definitions_text(pass->definitions, name);
    size_t used = strlen(others);
    if (!text || used + strlen(text) + 3 >= NVTX_OTHERS_BYTES || !foreign_is_harmless(text) ||
        mp_map_get(&pass->other_names, name) != MP_MAP_ABSENT ||
        mp_map_put(&pass->other_names, name, 0) != MP_OK)
        return;
    snprintf(others + used, NVTX_OTHERS_BYTES - used, "%s%s", used ? ", " : "", text);
}

static bool has_name(struct pass *pass, uint64_t name)
{
    const char *text = definitions_text(pass->definitions, name);

    if (text && !strcmp(text, pass->name))
        return true;
    note_other(pass, name);
    offer(pass, name);
    return false;
}

static enum mp_status begin_named(struct pass *pass, const struct nvtx_event *event)
{
    uint64_t item = pass->free ? pass->free - 1 : pass->count;

    pass->open++;
    MP_TRY(MP_RESERVE(pass->begun, pass->count, pass->capacity));
    if (pass->free)
        pass->free = pass->begun[item].end;
    else
        pass->count++;
    pass->begun[item] = (struct nvtx_range){
        .begin = event->time, .thread = event->thread, .domain = event->domain, .cut = event->cut};
    return nvtx_match_begin(&pass->match, event, item);
}

static enum mp_status add_ended(struct pass *pass, struct nvtx_range range,
                                const struct nvtx_event *end)
{
    range.end = end->time;
    range.across = end->thread != range.thread;
    if (end->cut || range.cut) {
        pass->cut++;
        return MP_OK;
    }
    return add_range(pass->ranges, &range);
}

static enum mp_status take_start(struct pass *pass, const struct nvtx_event *event, bool named)
{
    struct nvtx_event end;
    const struct nvtx_range range = {
        .begin = event->time, .thread = event->thread, .domain = event->domain, .cut = event->cut};

    if (nvtx_match_take_end(&pass->match, event, &end))
        return named ? add_ended(pass, range, &end) : MP_OK;
    return named ? begin_named(pass, event) : nvtx_match_begin(&pass->match, event, OUTSIDE);
}

static enum mp_status take_begin(struct pass *pass, const struct nvtx_event *event)
{
    bool named = has_name(pass, event->name);
    uint64_t around = OUTSIDE;

    if (event->kind == MP_nvtx_kind_start)
        return take_start(pass, event, named);
    nvtx_match_top(&pass->match, event->thread, event->domain, &around);
    if (around != OUTSIDE)
        return nvtx_match_begin(&pass->match, event, INSIDE);
    if (!named)
        return nvtx_match_begin(&pass->match, event, OUTSIDE);
    return begin_named(pass, event);
}

static enum mp_status ranges_take_row(struct pass *pass, const struct nvtx_event *event)
{
    uint64_t item = OUTSIDE;

    if (nvtx_begins(event))
        return take_begin(pass, event);
    if (!nvtx_match_end(&pass->match, event, &item))
        return nvtx_match_keep_end(&pass->match, event);
    if (item == OUTSIDE || item == INSIDE)
        return MP_OK;
    struct nvtx_range range = pass->begun[item];
    pass->begun[item].end = pass->free;
    pass->free = item + 1;
    pass->open--;
    return add_ended(pass, range, event);
}

static enum mp_status take_nvtx(void *context, const struct mp_batch *batch, uint32_t row)
{
    const uint64_t time = mp_nvtx_columns(batch->columns).time[row];
    const struct nvtx_event event = nvtx_event_at(batch->columns, row, time);

    return ranges_take_row(context, &event);
}

static const struct reading_table tables[] = {
    {MP_TABLE_nvtx, NVTX_EVENT_COLUMNS | MP_MASK(nvtx, time), .take_row = take_nvtx},
};

static enum mp_status ranges_run_pass(struct pass *pass, struct mp_trace *trace,
                                      struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the NVTX ranges",
        .context = pass,
        READING_TABLES(tables),
    };

    return reading_run(&reading, error);
}

MP_COMPARE(ranges_compare, struct nvtx_range,
           MP_ORDER(a->begin, b->begin) ?: MP_ORDER(a->end, b->end));

enum mp_status nvtx_ranges_load(struct nvtx_ranges *ranges, struct mp_trace *trace,
                                const struct definitions *definitions, const char *name,
                                struct mp_error *error)
{
    struct pass pass = {
        .ranges = ranges, .definitions = definitions, .name = name, .meant.typed = name};

    *ranges = (struct nvtx_ranges){.items = NULL};
    enum mp_status status = ranges_run_pass(&pass, trace, error);
    ranges->unfinished = pass.open + pass.cut;
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, ranges_compare);
    free(pass.begun);
    nvtx_match_free(&pass.match);
    list_meant(&pass);
    mp_map_free(&pass.other_names);
    mp_map_free(&pass.offered);
    if (status)
        nvtx_ranges_free(ranges);
    return status;
}

void nvtx_ranges_free(struct nvtx_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct nvtx_ranges){.items = NULL};
}
